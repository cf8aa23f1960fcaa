"""Adding a command and a setting touches what docs/extending.md says, and nothing else."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from scripted import ScriptedModel, said

from lmc_jupyter import current_session, panel
from lmc_jupyter.frontends.magic.commands import COMMANDS, command

DOCS = Path(__file__).parents[2] / "docs"


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
    assert panel.tables()["commands"][-1] == {
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
