"""Try a built wheel on one Python of any system: the tests of kernel, cells, languages and formats.

    python .ci/systems.py --uv uv --wheel dist/lmc_jupyter-*.whl --python 3.12 --oldest

One rule: what is tried is the wheel that people install. The tests are copied beside it, without
the package's source, into .cache/systems, so that nothing imports the source in its place.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".cache" / "systems"
COPIED = ["tests", "notebooks", "docs", "benchmarks", "js/src", "pyproject.toml", "README.md"]
TESTS = [
    "tests/test_gate.py", "tests/test_limits.py", "tests/test_stream.py", "tests/test_lmc.py",
    "tests/test_formats.py", "tests/content", "tests/conversation", "tests/formats",
    "tests/frontends", "tests/computer", "tests/kernel",
]  # fmt: skip
EXTRAS = "test,local,languages"
WINDOWS = os.name == "nt"


def copy_tests(folder: Path) -> None:
    """Copy what the tests read beside the package."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)


def main() -> int:
    """The exit code of the tests."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--uv", default="uv", help="the program uv")
    options.add_argument(
        "--wheel", required=True, help="the wheel, from here; * stands for its version"
    )
    options.add_argument("--python", default=sys.executable, help="a version, or a path")
    options.add_argument(
        "--oldest", action="store_true", help="with the oldest dependencies that are promised"
    )
    options.add_argument("tests", nargs="*", default=TESTS, help="in place of all of them")
    given = options.parse_args()
    wheels = list(ROOT.glob(given.wheel))
    if len(wheels) != 1:
        sys.exit(f"There must be one wheel {given.wheel!r}, and there are {len(wheels)}.")
    uv = str(Path(given.uv).resolve()) if Path(given.uv).exists() else given.uv
    environment = FOLDER / "venv"
    copy_tests(FOLDER / "tests")
    subprocess.run([uv, "venv", "-q", "--clear", "--python", given.python, environment], check=True)
    bin = environment / ("Scripts" if WINDOWS else "bin")
    resolution = ["--resolution", "lowest-direct", "--only-binary", ":all:"] if given.oldest else []
    what = f"lmc-jupyter[{EXTRAS}] @ {wheels[0].as_uri()}"
    where = ["--python", str(environment)]
    subprocess.run([uv, "pip", "install", "-q", *where, *resolution, what], check=True)
    path = os.pathsep.join([str(bin), os.environ.get("PATH", "")])
    # an old library may warn of a newer Python, and we do not mend it
    warns = ["-W", "default", "--disable-warnings"] if given.oldest else []
    marks = ["-m", "not browser and not local_model and not checkout"]
    command = [str(bin / "pytest"), "-q", "-p", "no:cacheprovider", "-n", "2", *warns, *marks]
    variables = {**os.environ, "PATH": path, "LMC_TEST_LONG": ""}
    ended = subprocess.run(
        [*command, "--dist", "loadfile", *given.tests],
        cwd=FOLDER / "tests", env=variables, check=False,
    )  # fmt: skip
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
