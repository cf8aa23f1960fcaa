"""The table of commands: help, parsing and docs say the same; and what the commands do."""

from __future__ import annotations

import builtins
import json
import re
import runpy
from pathlib import Path

import pytest
from IPython.core.error import UsageError
from scripted import ScriptedModel, code, said

from lmc_jupyter import current_session
from lmc_jupyter.errors import SessionError
from lmc_jupyter.frontends.config import profiles
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.magic.commands import CELL_OPTIONS, COMMANDS
from lmc_jupyter.frontends.magic.commands.conversation import saved_conversations
from lmc_jupyter.frontends.magic.commands.table import Prefix
from lmc_jupyter.frontends.magic.current import current_magics
from lmc_jupyter.models.budget import Tokens, Window
from lmc_jupyter.models.request import Request

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def cells(shell, capsys, monkeypatch, tmp_path):
    """Runs cells in a shell with the extension; gives what each has written."""
    monkeypatch.delenv("LMC_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    shell.extension_manager.load_extension("lmc_jupyter")

    def run(text: str) -> str:
        capsys.readouterr()
        result = shell.run_cell(text, store_history=True)
        run.error = result.error_in_exec or result.error_before_exec
        return capsys.readouterr().out

    def refused(text: str) -> str:
        shown = run(text)
        assert isinstance(run.error, (UsageError, SessionError)), shown
        assert "Traceback" not in shown
        return str(run.error)

    run.refused = refused
    run.shell = shell
    current_session().choose_model(ScriptedModel(*[[said("Well.")]] * 30))
    yield run
    if "lmc_jupyter" in shell.extension_manager.loaded:
        shell.extension_manager.unload_extension("lmc_jupyter")


def asked() -> str:
    """The last question."""
    return [each.content for each in current_session().messages if each.role == "user"][-1]


# The table ----------------------------------------------------------------------------------------


def test_these_are_the_commands():
    assert [command.name for command in COMMANDS] == [
        "ask", "fix", "explain", "resume", "retry", "undo", "restore", "stop", "reset",
        "history", "open", "fork", "rename", "delete", "save", "load", "export", "check",
        "methods", "hint", "test", "report", "model", "models", "languages", "tokens", "cost",
        "tools", "config", "profile", "key", "context", "instructions", "panel", "state", "help",
    ]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_each_command_has_its_line_of_help(cells, command):
    assert 10 < len(command.help) < 80
    shown = cells(f"%lmc help {command.name}")
    plain = command.help.replace("`", "")  # what is printed has no Markdown
    assert shown.startswith(f"{command.usage}\n    {plain}\n")
    if command.name != "state":
        assert command.usage in cells("%lmc help")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_what_a_command_does_not_take_is_a_sentence(cells, command):
    if any(takes.rest for takes in command.parameters):
        if command.parameters[0].required:
            assert command.parameters[0].word in cells.refused(f"%lmc {command.name}")
        return
    words = " ".join("x" for _ in command.parameters)
    assert "does not take 'much'" in cells.refused(f"%lmc {command.name} {words} much")
    assert "--nonsense" in cells.refused(f"%lmc {command.name} {words} --nonsense")
    assert "cannot be read" in cells.refused(f"%lmc {command.name} 'open")


@pytest.mark.parametrize(
    ("name", "tables"),
    [("docs/commands.md", 2), ("docs/settings.md", 1), ("CONTRIBUTING.md", 1)],
)
@pytest.mark.checkout
def test_the_tables_of_a_page_are_drawn_from_the_code(name, tables):
    """`make docs` draws them."""
    draw = runpy.run_path(str(DOCS / "draw_tables.py"))
    page = (DOCS.parent / name).read_text("utf-8")
    assert draw["drawn"](page) == page
    heads = [draw[table]()[0] for table in ("cell_options", "commands", "settings", "house")]
    assert sum(page.count(f"{head}\n") for head in heads) == tables


def test_the_options_of_a_cell_are_those_that_it_takes(cells):
    taken = cells.shell.find_line_magic("lmc").parser.format_help()
    for option, _ in CELL_OPTIONS:
        assert option.partition(" ")[0] in taken
    given = {each for each in re.findall(r"--[a-z-]+", taken) if each != "--model"}
    assert given == {o.partition(" ")[0] for o, _ in CELL_OPTIONS if o.startswith("--")}


# Asking -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "What is this?",
        "what is df",
        "don't you see it?",
        "an open (bracket, {brace} and $dollar $HOME",
        'a "quotation',
        "-m is no option here --auto-run",
        "日本語?",
        "100% of %d; !ls",
        "is it 2 * 3 ?",
        "one??",
    ],
)
def test_a_question_needs_no_cell_of_its_own(cells, question):
    cells.shell.user_ns["brace"] = cells.shell.user_ns["dollar"] = "EXPANDED"
    assert "Well." in cells(f"%lmc ask {question}")
    assert cells.error is None
    assert asked() == question


def test_ask_stands_among_other_lines(cells):
    assert "Well." in cells("for i in range(2):\n    %lmc ask Really?\nafter = i")
    assert cells.shell.user_ns["after"] == 1
    assert len(current_session().messages) == 4
    cells("text = '''\n%lmc ask No?\n'''")
    assert cells.shell.user_ns["text"] == "\n%lmc ask No?\n"
    assert len(current_session().messages) == 4


def test_a_mistyped_command_is_offered_as_it_is_written(cells):
    assert "did you mean 'history'? " in cells.refused("%lmc hstory")
    assert "did you mean" not in cells.refused("%lmc zebra")


def test_help_of_ipython_is_as_it_was(cells):
    assert "Docstring" in cells("%lmc?")
    assert "no command" not in cells("%lmc ?")
    cells("word = 1")
    assert "int" in cells("word?")


def test_a_question_that_is_not_there_is_a_sentence(cells):
    assert "QUESTION" in cells.refused("%lmc ask")


def test_code_of_an_answer_to_ask_is_confirmed(cells, monkeypatch):
    monkeypatch.setattr(builtins, "input", lambda prompt="": "y")
    current_session().choose_model(ScriptedModel([code("made = 1")], [said("Done.")]))
    assert "Done." in cells("%lmc ask Make it")
    assert cells.shell.user_ns["made"] == 1


def test_retry_asks_the_last_question_again(cells):
    cells("%lmc ask One?")
    cells("%lmc ask Two?")
    assert "Well." in cells("%lmc retry")
    assert [each.content for each in current_session().messages] == [
        "One?", "Well.", "Two?", "Well."
    ]  # fmt: skip
    cells("%lmc reset")
    assert "no question" in cells.refused("%lmc retry")


def test_fix_sends_the_last_exception_with_its_cell(cells):
    assert "no cell has failed" in cells.refused("%lmc fix")
    cells("def broken(x):\n    return 1 / x")
    cells("y = 3\nbroken(y - 3)")
    cells("fine = 1")
    cells("%lmc nonsense")
    cells("%lmc fix")
    assert "y = 3\nbroken(y - 3)" in asked()
    assert "ZeroDivisionError: division by zero" in asked()
    assert "return 1 / x" in asked()
    assert "site-packages" not in asked()
    cells("%lmc fix in two words")
    assert asked().startswith("in two words\n\n```python\n")


@pytest.mark.parametrize(
    ("cell", "words"),
    [("if True\n    x = 1", "SyntaxError"), ("x = {{nobody for nobody in 'ab'}}", "TypeError")],
)
def test_fix_knows_errors_of_syntax_and_puts_no_values_in(cells, cell, words):
    cells(cell)
    cells("%lmc fix")
    assert cell in asked()
    assert words in asked()


def test_fix_of_a_cell_with_backticks_is_one_block(cells):
    cells("'''\n```\n'''; 1/0")
    cells("%lmc fix")
    assert asked().count("````") == 2


def fixed_by(cells, monkeypatch, *blocks: str) -> list[str]:
    """The lines of the difference that `%lmc fix` shows; no block is run."""
    monkeypatch.setattr(builtins, "input", lambda prompt="": "n")
    cells("rate = 3\nvalues = [1, 2]\nvalues[0] / (rate - 3)")
    replies = [[said("So:"), code(each)] for each in blocks]
    current_session().choose_model(ScriptedModel(*replies, [said("That is all.")]))
    lines = cells("%lmc fix").splitlines()
    return lines[lines.index("--- your cell") :] if "--- your cell" in lines else []


def test_fix_shows_what_the_answer_changes_of_the_cell(cells, monkeypatch):
    block = "rate = 3\nvalues = [1, 2]\nvalues[0] / (rate - 2)\n"
    assert fixed_by(cells, monkeypatch, block, "print('something else')") == [
        "--- your cell",
        "+++ the answer",
        "@@ -1,3 +1,3 @@",
        " rate = 3",
        " values = [1, 2]",
        "-values[0] / (rate - 3)",
        "+values[0] / (rate - 2)",
    ]
    assert cells.shell.user_ns["rate"] == 3


def test_fix_shows_what_a_proposal_changes_of_the_cell(cells, monkeypatch):
    monkeypatch.setattr(builtins, "input", lambda prompt="": "n")
    cells("rate = 3\nrate / 0")
    proposal = code("rate = 3\nrate / 2", recipient="user", cell=1, end=True)
    current_session().choose_model(ScriptedModel([proposal], [said("That is all.")]))
    assert cells("%lmc fix").splitlines()[-2:] == ["-rate / 0", "+rate / 2"]


def test_the_difference_marks_what_would_not_be_seen(cells, monkeypatch):
    block = "rate = 3\nvalues = [1, 2]\nvalues[0] / (rate - 2)  # \u202e"
    assert fixed_by(cells, monkeypatch, block)[-1].endswith("# ⟨U+202E⟩")


@pytest.mark.parametrize(
    "blocks",
    [(), ("import os\nos.getcwd()",), ("rate = 3\nvalues = [1, 2]\nvalues[0] / (rate - 3)",)],
)
def test_fix_shows_no_difference_where_no_block_is_the_cell_anew(cells, monkeypatch, blocks):
    assert fixed_by(cells, monkeypatch, *blocks) == []


def test_explain_takes_the_last_cell_or_a_variable(cells):
    assert "no cell has run" in cells.refused("%lmc explain")
    cells("def double(x):\n    return 2 * x")
    cells("%lmc")
    cells("%lmc explain")
    assert asked() == "Explain this cell.\n\n```python\ndef double(x):\n    return 2 * x\n```"
    cells("numbers = list(range(9999))")
    cells("%lmc explain double")
    assert "return 2 * x" in asked()
    cells("%lmc explain numbers")
    assert "[0, 1, 2" in asked()
    assert len(asked()) < 1000
    assert "no variable 'nobody'" in cells.refused("%lmc explain nobody")


# `@name` and `{{name}}` ---------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["%lmc ask {}", "%%lmc\n{}"])
def test_a_variable_is_put_in_and_shown_in_the_message(cells, how):
    cells.shell.user_ns["x"] = 41
    cells(how.format("What is @x and {{x}}, but not `@x` or {x}?"))
    assert asked() == (
        "What is @x and {{x}}, but not `@x` or {x}?\n\n"
        "The values of these variables, when this was asked:\nx = 41"
    )


def test_an_unknown_name_in_braces_sends_nothing(cells):
    assert "no variable 'nobody'" in cells.refused("%%lmc\nWhat is {{nobody}}?")
    assert current_session().messages == []


def test_a_question_that_is_edited_gets_the_values_anew(cells):
    session = current_session()
    cells.shell.user_ns["x"] = 41
    cells("%lmc ask What is @x?")
    cells.shell.user_ns["x"] = 42
    before = asked()
    for _ in session.edit(session.turns[-1], f"So: {before}", insert=True):
        pass
    assert asked() == (
        "So: What is @x?\n\nThe values of these variables, when this was asked:\nx = 42"
    )


def test_a_secret_of_the_environment_does_not_slip_in(cells, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "abcdefghijkl'\"mnop")
    cells("import os; everything = dict(os.environ); frame = [os.environ['SOME_TOKEN']]")
    cells.shell.user_ns["everything"] = {"t": cells.shell.user_ns["frame"][0]}
    cells("%lmc ask What is in @everything and @frame?")
    assert "abcdefghijkl" not in asked()
    assert asked().count("[redacted: SOME_TOKEN]") == 2


def test_a_repr_that_fails_is_no_failure(cells):
    cells("class Bad:\n    def __repr__(self): 1/0\nbad = Bad()")
    cells("%lmc ask What is @bad?")
    assert "bad = <Bad instance at 0x" in asked()


# Conversations ------------------------------------------------------------------------------------


def test_the_history_lists_searches_and_opens(cells):
    cells("%lmc ask How many penguins are there?")
    cells("%lmc reset")
    cells("%lmc ask What about albatrosses?")
    cells("%lmc rename The large birds")
    shown = cells("%lmc history")
    assert re.search(r"^1 +The large birds .* 2$", shown, re.M)
    assert re.search(r"^2 +How many penguins are there\? .* 2$", shown, re.M)
    found = cells("%lmc history penguins")
    assert re.search("^2 +How many", found, re.M), "the number is that of the whole list"
    assert "large birds" not in found
    assert "No conversation contains" in cells("%lmc history zebra crossing")
    cells("%lmc open 2")
    assert current_session().messages[0].content == "How many penguins are there?"
    cells("%lmc open The large birds")
    assert current_session().messages[0].content == "What about albatrosses?"
    cells("%lmc fork")
    cells("%lmc ask And gulls?")
    assert len(current_session().messages) == 4
    assert cells("%lmc history").count("large birds") == 2
    assert "nobody" in cells.refused("%lmc open nobody")
    assert "is a part of" in cells.refused("%lmc delete penguins")
    assert "eleted" in cells("%lmc delete How many penguins are there?")
    assert "penguins" not in cells("%lmc history")


def test_a_number_is_that_of_the_list_that_was_shown(cells):
    for bird in ("Auks", "Boobies", "Cranes"):
        cells("%lmc reset")
        cells(f"%lmc ask {bird}?")
    cells("%lmc history")
    assert "Cranes?" in cells("%lmc delete 1")
    assert "conversation 1 of the list was deleted" in cells.refused("%lmc open 1")
    offered = saved_conversations(Prefix(current_magics().commands, "", (), lambda _: ()))
    numbers = {word: title for word, title in offered if title != "conversation"}
    assert [numbers.get(word) for word in "123"] == [None, "Boobies?", "Auks?"]
    assert "Auks?" in cells("%lmc open 3")
    cells("%lmc ask More of them?")
    assert "Boobies?" in cells("%lmc delete 2")
    assert re.search(r"^1 +Auks\? .* 4$", cells("%lmc history"), re.M)
    assert "Auks?" in cells("%lmc open 1")


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    """A data directory in which no other test has conversations."""
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))


def test_several_are_deleted_by_their_numbers_and_all_others_once_their_count_was_said(
    own_data,  # first: the cells' session has its list there
    cells,
):
    for bird in ("Auks", "Boobies", "Cranes", "Ducks", "Eiders", "Finches"):
        cells("%lmc reset")
        cells(f"%lmc ask {bird}?")
    cells("%lmc history")
    gone = cells("%lmc delete 2 3")
    assert "Eiders?" in gone
    assert "Ducks?" in gone
    said = cells("%lmc delete all")
    assert "%lmc delete all 3 deletes 3 conversations" in said
    assert "all but the 1 open now" in said
    shown = cells("%lmc history")
    assert shown.count("?") == 4, "nothing is deleted yet"
    assert "there are not 2" in cells.refused("%lmc delete all 2")
    assert cells("%lmc history") == shown
    assert cells("%lmc delete all 3").strip() == "Deleted 3 conversations."
    left = cells("%lmc history")
    assert left.count("?") == 1
    assert "Finches?" in left
    assert current_session().messages[0].content == "Finches?"
    assert "no conversation to delete" in cells("%lmc delete all")


EVIL = "\x1b]0;mine\x07\x1b[2J\x9b31m\u202eevil\r\x08"


def test_no_control_character_of_a_file_reaches_the_terminal(cells, tmp_path):
    asked = {"role": "user", "type": "message", "content": f"A {EVIL} title"}
    (tmp_path / "evil.json").write_text(json.dumps([asked]), "utf-8")
    for line in ("load evil.json", "", "history", "history evil",
                 "reset", "history title", "open 1", "fork", "history", "delete 1"):  # fmt: skip
        shown = cells(f"%lmc {line}")
        assert cells.error is None, shown
        assert not set(shown) & {"\x1b", "\x07", "\x08", "\x9b", "\r"}, line
    assert "\u202e" not in cells("%lmc history")
    assert "\x1b" not in cells.refused("%lmc open title")


@pytest.mark.parametrize("ending", ["json", "yaml", "ipynb"])
def test_a_conversation_is_saved_and_loaded(cells, tmp_path, ending):
    cells("%lmc ask One?")
    assert f"Wrote {Path('my talk')}" in cells(f"%lmc save 'my talk.{ending}'")
    assert (tmp_path / f"my talk.{ending}").exists()
    assert "already" in cells.refused(f"%lmc save 'my talk.{ending}'")
    assert "Wrote" in cells(f"%lmc save 'my talk.{ending}' --replace")
    cells("%lmc reset")
    assert "2 messages" in cells(f"%lmc load 'my talk.{ending}'")
    assert [each.content for each in current_session().messages] == ["One?", "Well."]


def test_an_export_has_a_head_and_on_request_only_the_code_that_ran(cells, tmp_path):
    current_session().choose_model(
        ScriptedModel([code("print('kept')")], [code("1 / 0")], [said("Done.")])
    )
    current_session().auto_run = True
    cells("%lmc ask Divide?")
    assert "is left out" not in cells("%lmc export whole.ipynb")
    assert "that failed or that was stopped is left out: 2 messages." in cells(
        "%lmc export short.ipynb --only-ran"
    )
    whole, short = (json.loads((tmp_path / f"{n}.ipynb").read_text()) for n in ("whole", "short"))
    day = str(current_session().messages[0].created_at)[:10]
    for book in (whole, short):
        assert "".join(book["cells"][0]["source"]) == f"# Divide?\n\n*ScriptedModel, {day}*"
        assert "print('kept')" in json.dumps(book)
    assert "1 / 0" in json.dumps(whole)
    assert "1 / 0" not in json.dumps(short)


def test_files_without_a_name_get_one(cells, tmp_path):
    assert "nothing to save" in cells.refused("%lmc save")
    cells("%lmc ask Where/are my: penguins?")
    cells("%lmc save")
    cells("%lmc save")
    cells("%lmc export")
    cells("%lmc export --format markdown")
    assert sorted(each.suffix for each in tmp_path.iterdir()) == [".ipynb", ".json", ".json", ".md"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("load nowhere.json", "nowhere.json"),
        ("save nowhere/x.json", "no folder"),
        ("save .", "is a folder"),
        ("save x.json --format dance", "no format 'dance'"),
        ("load", "PATH"),
    ],
)
def test_a_file_that_cannot_be_is_a_sentence(cells, line, sentence):
    cells("%lmc ask One?")
    shown = cells(f"%lmc {line}")
    assert cells.error is not None
    assert "Traceback" not in shown
    assert sentence in str(cells.error)


# Settings -----------------------------------------------------------------------------------------


def test_config_shows_and_sets_with_the_settings_own_checks(cells):
    shown = cells("%lmc config")
    for name in LMC.class_own_traits(config=True):
        assert re.search(f"^{name} ", shown, re.M)
    assert LMC.class_own_traits()["max_turns"].help in cells("%lmc config max_turns")
    assert cells("%lmc config max_turns 3") == "max_turns = 3\n"
    assert current_session().max_turns == 3
    assert "max_turns" in cells.refused("%lmc config max_turns many")
    assert "max_turns" in cells.refused("%lmc config max_turns 0")
    assert current_session().max_turns == 3
    cells("%lmc config LMC.context off")
    assert current_session().context == "none"
    cells("%lmc config auto_run ['python', 'r']")
    assert list(current_session().auto_run) == ["python", "r"]
    cells("%lmc config system_message Be brief, don't shout")
    assert current_session().system_message == "Be brief, don't shout"
    assert "did you mean 'max_turns'" in cells.refused("%lmc config max_turn 3")


def test_profiles_are_listed_shown_and_used(cells):
    assert "no profile yet" in cells("%lmc profile")
    profiles.folder().mkdir(parents=True, exist_ok=True)
    path = profiles.folder() / "careful.yaml"
    path.write_text("max_turns: 2\ndeny: [shell]\n")
    try:
        assert "  careful" in cells("%lmc profile")
        assert cells("%lmc profile careful --show") == "max_turns: 2\ndeny: ['shell']\n"
        assert current_session().max_turns == 20
        assert "max_turns, deny" in cells("%lmc profile careful")
        assert current_session().max_turns == 2
        assert current_session().deny == ["shell"]
        assert "* careful" in cells("%lmc profile")
        path.write_text("max_turns: 4\ndeny: [shel]\n")
        cells("%lmc profile careful")
        assert "did you mean 'shell'" in str(cells.error)
        assert current_session().max_turns == 2, "all or nothing"
        shown = cells("%lmc profile fast")
        assert "there is no profile 'fast'" in shown
    finally:
        path.unlink()


def test_tokens_and_cost_are_told(cells):
    assert "cost nothing yet" in cells("%lmc cost")
    cells("%lmc config max_session_cost 2.5")
    cells("%lmc config max_cost 0.0001")
    assert "The limit for this conversation is $2.50 (max_session_cost)." in cells("%lmc cost")
    assert "The limit for one question is $0.0001 (max_cost)." in cells("%lmc cost")
    cells("%lmc config max_cost none")
    assert "max_cost)" not in cells("%lmc cost")
    assert "does not tell how many tokens" in str(cells.refused("%lmc tokens"))


class Counting(ScriptedModel):
    """Says what its window holds; its server says what a request took."""

    def with_record(self, record):
        self.record = record
        return self

    def respond(self, messages):
        request = Request("m", {})
        self.record(request)
        yield from super().respond(messages)
        request.cached_tokens = 1000
        request.end(1200, 34, None)

    def tokens(self, messages, brief):
        return Tokens(Window(8192, "default", 2048), 1, 1, 1, 1, "roughly")


def test_tokens_says_what_the_last_request_took_by_the_servers_word(cells):
    current_session().choose_model(Counting([said("Well.")]))
    assert "The last request" not in cells("%lmc tokens")
    cells("%%lmc\nGo.")
    last = cells("%lmc tokens").splitlines()[-1]
    assert "1,234 tokens (counted, 1,000 cached)" in last


def test_where_there_is_nothing_to_do_that_is_said(cells):
    assert cells("%lmc stop") == "There is no answer to stop.\n"
    assert "no question to remove" in cells.refused("%lmc undo")
    current_session().messages = [{"role": "user", "type": "message", "content": "Only this."}]
    assert "Removed the last question." in cells("%lmc undo")
    assert cells.refused("%lmc open") == (
        "%lmc open CONVERSATION: CONVERSATION is missing; see `%lmc help open`"
    )
    refused = cells.refused("%lmc config max_turns many")
    assert refused == "max_turns takes an int, not the str 'many'."


def test_an_empty_conversation_is_told_of_those_that_are_kept(cells):
    hint = "%lmc history lists the saved conversations."
    cells("%%lmc\nIs this kept?")
    assert hint not in cells("%lmc")
    cells("%lmc reset")
    assert hint in cells("%lmc")


def test_every_name_is_in_the_table_once():
    words = [word for command in COMMANDS for word in (command.name, *command.also)]
    assert len(words) == len(set(words))


def test_who_answered_before_is_said_where_another_model_goes_on(cells):
    cells("%lmc ask Dodos?")
    assert "answered here" not in cells("%lmc")
    cells("%lmc reset")
    cells("%lmc model openai/other")
    said_so = "Model changed from ScriptedModel to openai/other"
    assert said_so in cells("%lmc open Dodos?")
    assert said_so in cells("%lmc")


def test_a_conversation_continues_with_another_model_where_there_is_one(cells):
    assert "continues" not in cells("%lmc model openai/other")
    cells("%lmc ask Dodos?")
    assert "The conversation continues." in cells("%lmc model openai/another")


@pytest.mark.parametrize("word", ["new", "clear"])
def test_words_of_other_programs_begin_a_new_conversation(cells, word):
    cells("%lmc ask Gulls?")
    cells(f"%lmc {word}")
    assert current_session().messages == []


def test_an_option_that_is_almost_right_is_met_with_what_was_meant(cells):
    assert "Did you mean --auto-run?" in cells.refused("%%lmc --autorun\nGulls?")
