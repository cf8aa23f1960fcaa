"""Adding a command and a setting touches what docs/extending.md says, and nothing else."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from scripted import ScriptedModel, said

from lmc_jupyter import current_session
from lmc_jupyter.frontends.magic.commands import COMMANDS, command
from lmc_jupyter.frontends.panel.wire import tables

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def shout():
    """A command that is there for one test."""

    @command(
        "shout",
        "[WORD] [--twice]",
        help="say the last answer in capitals",
        more="WORD replaces the answer.",
        complete={"WORD": lambda typed: [("aloud", "a word"), ("below", typed.text)]},
        also=("cry",),
    )
    def shout(call, word, twice):
        text = (word or call.session.messages[-1].content).upper()
        return f"{text} {text}" if twice else text

    yield COMMANDS[-1]
    del COMMANDS[-1]


@pytest.mark.checkout
def test_a_command_is_one_function_with_a_decorator(shout, shell, capsys):
    shell.extension_manager.load_extension("lmc_jupyter")
    try:
        current_session().choose_model(ScriptedModel([said("Well.")]))
        for _ in current_session().ask("Are you there?"):
            pass

        def line(text):
            capsys.readouterr()
            shell.run_line_magic("lmc", text)
            return capsys.readouterr().out

        def offers(text):
            with provisionalcompleter():
                return [each.text for each in shell.Completer.completions(text, len(text))]

        assert line("shout") == "WELL.\n"
        assert line("cry hello --twice") == "HELLO HELLO\n"
        usage = "%lmc shout [WORD] [--twice]"
        assert line("help shout") == (
            f"{usage}\n    say the last answer in capitals\nWORD replaces the answer.\n"
        )
        assert f"{usage}     say the last answer in capitals\n" in line("help")
        assert offers("%lmc sho") == ["shout"]
        assert offers("%lmc shout al") == ["aloud"]
        assert offers("%lmc shout aloud --") == ["--twice"]
    finally:
        shell.extension_manager.unload_extension("lmc_jupyter")
    assert tables()["commands"][-1] == {
        "name": "shout",
        "takes": "WORD",
        "does": "say the last answer in capitals",
        "also": ("cry",),
    }
    drawn = runpy.run_path(str(DOCS / "draw_tables.py"))["drawn"]
    page = drawn((DOCS / "commands.md").read_text("utf-8"))
    assert f"| `{usage}` | say the last answer in capitals. WORD replaces the answer. |" in page


def test_two_commands_of_one_name_are_refused(shout):
    with pytest.raises(ValueError, match="there is a command 'shout' already"):
        command("shout", help="another")(print)


FIELD = "    patience: int = 3\n"
TRAIT = """\
    patience = Integer(
        Options.patience, min=1, help="How often the session tries. Then it gives up."
    ).tag(config=True, stricter="smaller")
"""
USES = """
import runpy
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from lmc_jupyter import Session, current_session

assert Session(patience=7).options.patience == 7
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "lmc_jupyter")  # lmc.yaml in this folder says 2
assert current_session().options.patience == 2
shell.run_line_magic("lmc", "config patience 5")
assert current_session().options.patience == 5
shell.run_line_magic("config", "LMC.patience = 4")
assert current_session().options.patience == 4
shell.run_line_magic("lmc", "profile brave")
assert current_session().options.patience == 9
current_session().configure(patience=6)
assert current_session().options.patience == 6
try:
    shell.run_line_magic("lmc", "config patience 0")
except Exception as error:
    assert "patience" in str(error), error
assert current_session().options.patience == 6
with provisionalcompleter():
    [offered] = shell.Completer.completions("%lmc config pat", 15)
    assert offered.text == "patience"
row = "| `patience` | `3` | How often the session tries. Then it gives up. |"
assert row in runpy.run_path("DRAW")["settings"]()
"""


@pytest.mark.checkout
def test_a_setting_is_one_field_of_options_and_one_trait(tmp_path):
    package = tmp_path / "with" / "lmc_jupyter"
    built = shutil.ignore_patterns("static", "labextension", "__pycache__")
    shutil.copytree(ROOT / "lmc_jupyter", package, ignore=built)
    for name, before, added in (
        ("turn/options.py", "    max_turns: int = 20\n", FIELD),
        ("frontends/config/settings.py", "    max_turns = Integer(\n", TRAIT),
    ):
        text = (package / name).read_text("utf-8")
        assert text.count(before) == 1
        (package / name).write_text(text.replace(before, added + before), "utf-8")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "lmc.yaml").write_text("patience: 2\n")
    home = tmp_path / "home"
    profiles = home / "lmc-jupyter" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "brave.yaml").write_text("patience: 9\n")
    env = {**os.environ, "PYTHONPATH": str(package.parent), "XDG_CONFIG_HOME": str(home)}
    env |= {"IPYTHONDIR": str(tmp_path / "ipython"), "XDG_DATA_HOME": str(tmp_path / "data")}
    env.pop("LMC_MODEL", None)
    done = subprocess.run(
        [sys.executable, "-c", USES.replace("DRAW", str(DOCS / "draw_tables.py"))],
        cwd=folder, env=env, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lmc.yaml in this folder makes these settings stricter: patience." in done.stdout
