"""The shape of the package: one direction, one place to join chunks, one list of names."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import lmc_jupyter

PACKAGE = Path(lmc_jupyter.__file__).parent
ROOT = PACKAGE.parent
sys.path.append(str(ROOT / "benchmarks"))
from shape import PLACES, is_text, measure, places, tree  # noqa: E402 - it is no package


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_imports_go_one_way() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint_imports, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_public_names_are_frozen_there_and_documented() -> None:
    assert lmc_jupyter.__all__ == [
        "FORMATS",
        "Assembler",
        "ChatPanel",
        "Chunk",
        "Decision",
        "LMCError",
        "Message",
        "OpenInterpreter",
        "Session",
        "current_session",
        "delimit",
        "get_model",
        "interpreter",
        "panel_model_id",
        "respond",
        "share",
        "tools",
    ]
    for name in lmc_jupyter.__all__:
        value = getattr(lmc_jupyter, name)
        assert name == "FORMATS" or (value.__doc__ or "").strip(), f"{name} has no docstring"


def test_unknown_name_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = lmc_jupyter.nonsense


def test_every_module_says_what_it_is() -> None:
    offenders = []
    for path in modules():
        module = tree(path)
        if module.body and not ast.get_docstring(module):
            offenders.append(str(path.relative_to(PACKAGE)))
    assert offenders == []


def test_only_stream_joins_chunks() -> None:
    """`message["content"] += ...` or `message.content += ...` anywhere is a second one."""
    assert places(PLACES["add to contents by hand"]) == set()


def loaded_after(code: str, instructions: str = "") -> set[str]:
    """Names of modules, and the words that were printed, in a folder with or without AGENTS.md."""
    with tempfile.TemporaryDirectory() as empty:
        if instructions:
            Path(empty, "AGENTS.md").write_text(instructions)
        done = subprocess.run(
            [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
            cwd=empty, capture_output=True, text=True, check=True,
        )  # fmt: skip
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import lmc_jupyter",
        "from lmc_jupyter import *",
        "from lmc_jupyter import Session; Session(model='gpt-5-mini')",
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell.instance().run_line_magic('load_ext', 'lmc_jupyter')",
    ],
)
def test_loading_imports_neither_litellm_nor_anywidget(code: str) -> None:
    loaded = loaded_after(code)
    assert "lmc_jupyter" in loaded
    for heavy in ("litellm", "openai", "anywidget", "ipywidgets", "matplotlib", "pandas"):
        assert heavy not in loaded, f"{heavy} is imported too early"


LOAD = (
    "from IPython.core.interactiveshell import InteractiveShell\n"
    "InteractiveShell.instance().run_line_magic('load_ext', 'lmc_jupyter')\n"
)


def test_loading_registers_and_the_rest_comes_with_the_first_use(tmp_path, monkeypatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("LMC_MODEL", raising=False)
    ours = [name for name in loaded_after(LOAD) if name.startswith("lmc_jupyter")]
    assert len(ours) <= 25, sorted(ours)  # a ceiling: it may only fall
    used = f"{LOAD}InteractiveShell.instance().run_line_magic('lmc', '')"
    assert "lmc_jupyter.session" in loaded_after(used) - {*ours}


def test_instructions_in_the_folder_are_offered_without_a_session(tmp_path, monkeypatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("LMC_MODEL", raising=False)
    loaded = loaded_after(LOAD, "Use polars.")
    assert {"AGENTS.md", "instructions"} <= loaded
    ours = [name for name in loaded if name.startswith("lmc_jupyter")]
    assert len(ours) <= 35, sorted(ours)  # a ceiling: it may only fall


def test_the_protocol_core_imports_nothing_outside_the_standard_library() -> None:
    loaded = loaded_after("import lmc_jupyter.agent")
    assert "lmc_jupyter.agent" in loaded
    outside = {
        name.split(".")[0] for name in loaded if not name.startswith(("_", "lmc_jupyter"))
    } - set(sys.stdlib_module_names)
    site = {"sitecustomize", "usercustomize", "distutils-precedence", "google"}
    assert outside <= site, f"the core imports {sorted(outside)}"


def test_nothing_large_is_kept_in_the_repository():
    """Weights, wheels and environments are made by make; once they were nearly committed."""
    if not (ROOT / ".git").exists():
        return  # an archive of the sources holds what the repository holds
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = [name for name in listed.stdout.decode().split("\0") if name]
    assert names
    sizes = {name: (ROOT / name).stat().st_size for name in names if (ROOT / name).exists()}
    assert {name: size for name, size in sizes.items() if size > 300_000} == {}
    assert sum(sizes.values()) < 10_000_000


@pytest.mark.parametrize(
    "lock", ["js/package-lock.json", "js/lab/package-lock.json", "tests/servers/package-lock.json"]
)
def test_a_lock_names_packages_and_no_registry(lock: str) -> None:
    """js/.npmrc sees to it; an npm that is told otherwise would write where it got them from."""
    packages = json.loads((ROOT / lock).read_text("utf-8"))["packages"]
    installed = {name: package for name, package in packages.items() if name}
    assert installed
    assert [name for name, package in installed.items() if "resolved" in package] == []
    assert [name for name, package in installed.items() if "integrity" not in package] == []
    assert "://registry" not in (ROOT / lock).read_text("utf-8")


def test_the_version_stands_in_one_place() -> None:
    built = json.loads((ROOT / "lmc_jupyter/labextension/package.json").read_text("utf-8"))
    assert built["version"] == lmc_jupyter.__version__
    for name in ("js/package.json", "js/lab/package.json"):
        assert "version" not in json.loads((ROOT / name).read_text("utf-8"))
    assert '\nversion = "' not in (ROOT / "pyproject.toml").read_text("utf-8")


# One of each ------------------------------------------------------------------------------------


def test_terminal_escapes_are_removed_in_one_place():
    assert places(PLACES["remove terminal escapes"]) == {"content/terminal.py"}


def test_keys_are_redacted_in_one_place():
    """Beside it, the values of options by their names, and the strings that a cell gives to a name
    such as `password`."""
    named = places(PLACES["redact keys, or values by their names"])
    assert named == {"keys/redactor.py", "models/request.py", "keys/source.py"}
    assert places(r"gsk\|hf|AKIA|A\[KS\]IA") == {"keys/redactor.py"}


def test_text_is_truncated_in_one_place():
    assert places(PLACES["truncate text"]) == {"content/shorten.py"}


def test_the_beginning_of_a_delimiter_is_looked_for_in_one_place():
    assert places(PLACES["look for the beginning of a delimiter"]) == {"stream.py"}


def test_the_keys_of_a_message_stand_in_one_table():
    assert places(PLACES["name a key of LMC by hand"]) == set()


def test_whether_a_model_wrote_code_is_told_in_one_place():
    assert places(PLACES["tell whether a model wrote code"]) == {"lmc.py"}


def test_a_file_is_written_in_one_step_in_one_place():
    """Beside it, weights take their name when their SHA-256 was checked."""
    assert places(r"O_EXCL|calls\.replace\(|os\.rename\(") == {"conversation/disk.py"}


def test_the_small_things_are_there_once():
    assert places(r"getattr\(\w+, 'name', type\(\w+\)\.__name__\)") == {"models/brief.py"}
    assert places(r"getattr\(\w+, 'label', ''\) or") == {"models/choice.py"}
    assert places(r"b'RIFF' and") == {"content/chat.py"}
    assert places(r"findall\('`\{3,\}'|fence \+= '`'") == {"content/chat.py"}


def test_one_word_has_one_meaning():
    """A class of ours that is named as another one, private or not, sends its reader astray."""
    homes: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.lstrip("_"), []).append(str(path.relative_to(PACKAGE)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


CEILINGS = {
    "modules": 312,
    "classes": 425,
    "lines": 59_475,
    "files over 400 lines": 21,
    "lines of a function, median": 7,
    "lines of a function, longest": 81,
    "lines of the core, six files": 2_153,
}
"""They fall: who makes the package smaller lowers them. They rose for `ask`,
`%lmc methods`, the receipts and the tutor, by 4,930 lines."""


def test_the_house_grows_no_more():
    sizes = measure(PACKAGE)
    assert {name: sizes[name] for name, most in CEILINGS.items() if sizes[name] > most} == {}


def test_one_function_does_nothing():
    """A callback that does nothing is a lambda; a method may have to be there."""
    found = {
        node.name
        for path in modules()
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef) and all(map(is_text, node.body))
    }
    assert found == {"ignore"}, "one, of models/cancel.py"


def test_no_two_test_files_have_the_same_name() -> None:
    names = [each.name for each in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names)), "pytest imports each by its name"


def test_the_style_sheets_of_lab_and_panel_share_no_class_but_the_place() -> None:
    """Both are in the one page: a rule for a dialog would draw the chips of the panel."""

    def classes(*sheets: Path) -> set[str]:
        return {
            name for sheet in sheets for name in re.findall(r"\.(lmc-[\w-]+)", sheet.read_text())
        }

    panel = classes(*(ROOT / "js" / "src").rglob("*.css"))
    assert len(panel) > 100
    lab = classes(*(ROOT / "js" / "lab" / "style").glob("*.css"))
    assert lab & panel == {"lmc-sidebar"}
