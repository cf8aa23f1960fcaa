"""Terminal IPython through a pty: what a person types and sees."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pexpect
import pytest
from model_server import STALL, ModelServer, Turn, text

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
PATIENCE = 240

SET_UP = """
from IPython import get_ipython
from IPython.core.completer import provisionalcompleter
from lmc_jupyter import current_session
from scripted import Endless, ScriptedModel, Waiting, assert_valid, code, said

def scripted(*replies):
    session.reset(); session.choose_model(ScriptedModel(*replies))

def use(model):
    session.reset(); session.choose_model(model)

def contents():
    assert_valid(session.messages)
    return [m.content for m in session.messages]

def draw(png, metadata=None):  # as IPython.core.kitty does
    print(f"\\x1b_Ga=T,f=100;{png}\\x1b\\\\[drawn]")

def offered(line):
    with provisionalcompleter():
        found = get_ipython().Completer.completions(line, len(line))
        return [each.text for each in found]
"""


class Terminal:
    """IPython in a pty."""

    def __init__(self, home: Path) -> None:
        (home / "set_up.py").write_text(SET_UP)
        env = {
            **os.environ,
            "IPYTHONDIR": str(home / "ipython"),  # IPython takes this one off its path
            "PYTHONPATH": f"{ROOT}{os.pathsep}{TESTS}{os.pathsep}{home}",
            "TERM": "dumb",
        }
        for name in ("LMC_MODEL", "LMC_API_BASE", "LMC_API_KEY"):
            env.pop(name, None)
        self.process = pexpect.spawn(
            sys.executable,
            ["-m", "IPython", "--no-banner", "--simple-prompt", "--colors=NoColor", "--classic"],
            env=env,
            encoding="utf-8",
            timeout=PATIENCE,
            echo=False,
            # a shell's background job ignores Ctrl-C, and so would all that it starts
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.process.expect_exact(">>> ")
        self.run("%load_ext lmc_jupyter")
        self.run(
            "from set_up import *; import set_up; session = set_up.session = current_session()"
        )

    def start(self, *lines: str) -> None:
        """Type these lines; a cell magic ends with two empty ones."""
        for line in lines:
            self.process.sendline(line)
        if lines[0].startswith("%%"):
            self.process.sendline("")
            self.process.sendline("")

    def until_prompt(self) -> str:
        """Everything up to the next prompt."""
        self.process.expect(r"(?:\.\.\. )*>>> ")
        return str(self.process.before)

    def run(self, *lines: str) -> str:
        self.start(*lines)
        return self.until_prompt()

    def value(self, expression: str) -> str:
        return self.run(expression).strip()

    def until(self, words: str) -> str:
        self.process.expect_exact(words)
        return str(self.process.before)

    def ctrl_c(self) -> None:
        self.process.sendintr()

    def ctrl_c_at_a_question(self, words: str) -> str:
        """Press until `words` come.

        CPython hears a signal that falls between the prompt it has written and its read only
        with the next key (seen: with a pause there, one Ctrl-C is not heard, the second is): no
        person is as fast as that, this test is.
        """
        for _ in range(4):
            self.ctrl_c()
            if self.process.expect_exact([words, pexpect.TIMEOUT], timeout=PATIENCE / 4) == 0:
                return str(self.process.before)
        raise AssertionError(f"{words!r} did not come; shown: {self.process.before!r}")

    def close(self) -> None:
        self.process.kill(signal.SIGKILL)  # `close` alone waits a tenth of a second for its end
        self.process.wait()
        self.process.close()


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    it = Terminal(tmp_path_factory.mktemp("ipython"))
    yield it
    it.close()


def test_an_answer_is_written_and_the_prompt_comes_back(terminal):
    terminal.run("scripted([said('It is 42.')])")
    shown = terminal.run("%%lmc", "What is 6*7?")
    assert "It is 42." in shown
    assert terminal.value("contents()") == "['What is 6*7?', 'It is 42.']"


def test_yes_runs_the_code_in_the_namespace_and_its_output_is_there_once(terminal):
    terminal.run("x = 40")
    terminal.run(
        "scripted([said('I add.'), code('y = x + 2\\nprint(\"y\", \"is\", y)')], [said('Done.')])"
    )
    terminal.start("%%lmc", "Add.")
    before = terminal.until("or say why not: ")
    assert "I add." in before
    assert "── python ──" in before
    assert "y = x + 2" in before
    assert "Run this python code?" in before
    terminal.process.sendline("y")
    shown = terminal.until_prompt()
    assert shown.count("y is 42") == 1
    assert "Done." in shown
    assert terminal.value("y") == "42"


def test_a_no_and_a_reason_run_nothing_and_the_model_is_told(terminal):
    terminal.run("z = 0; scripted([code('z = 1')], [code('z = 2')], [said('Fine.')])")
    terminal.start("%%lmc", "Go.")
    terminal.until("or say why not: ")
    terminal.process.sendline("n")
    terminal.until("or say why not: ")
    terminal.process.sendline("use numpy")
    assert "Not run: use numpy." in terminal.until_prompt()
    assert terminal.value("z") == "0"
    assert "This code was not run: use numpy." in terminal.value("contents()")


def test_only_changes_are_asked_for_and_what_was_not_seen_waits_at_its_place(terminal, tmp_path):
    terminal.run("%config LMC.ask = 'changes'")
    terminal.run("from lmc_jupyter.computer import effects; look = effects.find_effects")
    terminal.run(
        "mine = [1]; scripted([code('new = 6 * 7')], [code('mine.append(2)')], [said('')])"
    )
    terminal.start("%%lmc", "Go.")
    terminal.until("or say why not: ")
    assert terminal.process.before.count("Run this python code?") == 1, "of the change alone"
    terminal.process.sendline("y")
    terminal.until_prompt()
    assert terminal.value("new, mine") == "(42, [1, 2])"
    terminal.run("effects.find_effects = lambda *_: look('python', '1')")
    path = tmp_path / "out"
    write = f"n = open({str(path)!r}, 'w').write('1')"
    terminal.run(f"scripted([code({write!r})], [said('ok')])")
    terminal.start("%%lmc", "Go.")
    asked = terminal.until("n: Stop here) ")
    assert f"Now it wants to write {path}." in asked
    assert not path.exists()
    terminal.process.sendline("n")
    assert "which was not allowed" in terminal.until_prompt()
    assert not path.exists()
    terminal.run("effects.find_effects = look")
    terminal.run("%config LMC.ask = 'always'")


def test_output_of_a_shell_block_is_shown(terminal):
    terminal.run("scripted([code('echo one two | tr a-z A-Z', 'shell')], [said('ok')])")
    shown = terminal.run("%%lmc --auto-run", "Go.")
    assert shown.count("ONE TWO") == 1


def test_ctrl_c_while_the_model_is_silent(terminal):
    terminal.run(
        "use(Waiting(said('Half a sen'), on_silent=lambda: print('<silent>', flush=True)))"
    )
    terminal.start("%%lmc", "Go.")
    terminal.until("<silent>")
    terminal.ctrl_c()
    assert ".py" not in terminal.until("the text so far stays")
    terminal.until_prompt()
    assert terminal.value("contents()") == "['Go.', 'Half a sen']"
    assert "Here I am again." in terminal.run("%%lmc", "There?")


def test_ctrl_c_while_the_model_talks_without_end(terminal):
    terminal.run("use(Endless())")
    terminal.start("%%lmc", "Go.")
    terminal.until("la la la")
    terminal.ctrl_c()
    terminal.until("the text so far stays")
    terminal.until_prompt()
    assert terminal.value("contents()[1].startswith('la la')") == "True"
    assert "Here I am again." in terminal.run("%%lmc", "There?")


@pytest.mark.long
def test_ctrl_c_while_a_real_server_streams(terminal):
    with ModelServer() as server:
        server.turns = [Turn(text("Half a sentence"), STALL, cut="all")]
        terminal.run(
            "session.reset(); session.choose_model('openai/m', "
            f"api_base={server.base!r}, api_key='none')"
        )
        terminal.start("%%lmc", "Go.")
        terminal.until("Half a sentence")
        terminal.ctrl_c()
        assert ".py" not in terminal.until("the text so far stays")
        terminal.until_prompt()
        assert server.dropped.wait(PATIENCE), "the connection stays open"
    assert terminal.value("contents()") == "['Go.', 'Half a sentence']"


# it says so when it sleeps: a Ctrl-C that falls between two lines is heard after the sleep
SLEEPS = (
    "import threading, time\\nthreading.Timer(0.3, print, ['begun'], {'flush': True}).start()"
    "\\ntime.sleep(1000)"
)


@pytest.mark.parametrize(
    ("language", "endless"),
    [
        ("python", "print('now')\\nprint('begun', flush=True)\\nwhile True: pass"),
        ("python", SLEEPS),
        ("shell", "echo begun; sleep 1000"),
    ],
    ids=["loop", "sleep", "shell"],
)
def test_ctrl_c_while_code_runs(terminal, language, endless):
    terminal.run(f'scripted([code("{endless}", "{language}")], [said("Never.")])')
    terminal.start("%%lmc --auto-run", "Go.")
    terminal.until("begun\r\n")
    terminal.ctrl_c()
    shown = terminal.until("the text so far stays")
    assert "lmc_jupyter" not in shown
    assert "Never." not in shown
    terminal.until_prompt()
    if "now" in endless or language == "shell":
        assert ("now" if language == "python" else "begun") in terminal.value("contents()[2]")
    terminal.run("scripted([code('again = 1')], [said('Back.')])")
    assert "Back." in terminal.run("%%lmc --auto-run", "There?")


def test_ctrl_c_at_the_question_runs_nothing_and_it_can_be_asked_again(terminal):
    terminal.run("w = 0; scripted([code('w += 1')], [said('ok')])")
    terminal.start("%%lmc", "Go.")
    terminal.until("or say why not: ")
    terminal.ctrl_c_at_a_question("the text so far stays")
    terminal.until_prompt()
    assert terminal.value("w, session.pending.content") == "(0, 'w += 1')"
    terminal.start("%lmc resume")
    terminal.until("or say why not: ")
    terminal.process.sendline("y")
    terminal.until_prompt()
    assert terminal.value("w") == "1"


def test_ctrl_d_at_the_question_is_a_no(terminal):
    terminal.run("w = 0; scripted([code('w += 1')], [said('Fine.')])")
    terminal.start("%%lmc", "Go.")
    terminal.until("or say why not: ")
    terminal.process.sendeof()
    assert "Fine." in terminal.until_prompt()
    assert terminal.value("w") == "0"


HOSTILE = "\\x1b]0;title\\x07\\x1b[2J\\x1b[31mred\\x9b2J\\x08\\x08\\rover\\x1bPq\\x1b\\\\\\x7f"


def control_characters(shown: str) -> set[str]:
    return {
        char for char in shown if (char < " " and char not in "\r\n") or "\x7f" <= char < "\xa0"
    }


def test_no_control_character_of_the_model_reaches_the_terminal(terminal):
    terminal.run(f"scripted([said('{HOSTILE}'), code('h = 1 # {HOSTILE}')], [said('{HOSTILE}')])")
    terminal.start("%%lmc", "Go.")
    shown = terminal.until("or say why not: ")
    terminal.process.sendline("n")
    shown += terminal.until_prompt()
    assert "red" in shown
    assert control_characters(shown) == set()
    assert "⟨U+001B⟩" in shown, "hidden characters of code are shown as such"


def test_no_control_character_of_a_shell_block_reaches_the_terminal(terminal):
    terminal.run(
        "scripted([code(r\"printf 'a\\033[2Jb\\033]0;t\\007c\\n'\", 'shell')], [said('ok')])"
    )
    shown = terminal.run("%%lmc --auto-run", "Go.")
    output = shown.rpartition("\n'")[2] if "\n'" in shown else shown
    assert "abc" in output
    assert control_characters(shown) == set()


def test_an_error_is_one_sentence(terminal):
    terminal.run("from lmc_jupyter.errors import ModelError")
    terminal.run("scripted([said('Half '), ModelError('the connection broke')])")
    shown = terminal.run("%%lmc", "Go.")
    assert "Half" in shown
    assert "ModelError: the connection broke" in shown
    assert "Traceback" not in shown


def test_the_commands_answer(terminal):
    assert "%lmc help" in terminal.run("%lmc")
    assert "--auto-run" in terminal.run("%lmc help")
    assert "no command 'nonsense'" in terminal.run("%lmc nonsense")


def test_a_question_needs_no_cell_and_may_end_with_its_mark(terminal):
    terminal.run("x = 41; scripted([said('It is 41.')])")
    assert "It is 41." in terminal.run("%lmc ask What is @x, don't you know?")
    asked = terminal.value("contents()[0]")
    assert asked.startswith("\"What is @x, don't you know?")
    assert "x = 41" in asked


def test_the_last_error_is_sent(terminal):
    terminal.run("scripted([said('By one.')])")
    assert "ZeroDivisionError" in terminal.run("1 / 0")
    assert "By one." in terminal.run("%lmc fix")
    assert "1 / 0" in terminal.value("contents()[0]")


def test_tab_offers_only_our_words(terminal):
    assert terminal.value("offered('%lmc his')") == "['history']"
    assert terminal.value("offered('%%lmc --ne')") == "['--new']"


def test_a_key_is_typed_unseen(terminal):
    terminal.start("%lmc key SOME_API_KEY")
    terminal.until("SOME_API_KEY: ")
    terminal.process.sendline("sk-" + "k" * 30)
    shown = terminal.until_prompt()
    assert "in memory until this kernel ends" in shown
    assert "kkk" not in shown
    terminal.run("%lmc key SOME_API_KEY --forget")


def use_server(terminal, server):
    """Begin a conversation with the model of this server, which sees."""
    server.turns = [Turn(text("Seen."))] * 9
    options = f"api_base={server.base!r}, api_key='none', free=True, vision=True"
    terminal.run(f"session.reset(); session.choose_model('openai/m', {options})")


def test_cells_go_with_their_output_and_it_is_said_that_markdown_is_not_known(terminal):
    with ModelServer() as server:
        use_server(terminal, server)
        terminal.run("%%lmc", "Before.")
        terminal.run("rate = 3; print('the rate is', rate)")
        terminal.run("[rate] * 2")
        terminal.run("rate / 0")
        number = int(terminal.value("len(In)")) - 2
        shown = terminal.run("%lmc context")
        terminal.run("%%lmc", f"Why? See @cell {number}.")
        asked = server.requests[-1].body["messages"][-1]["content"]
    assert "In a terminal there is no Markdown" in shown
    assert "With every question: " in shown
    for of_cell in (
        "rate = 3; print('the rate is', rate)\nOutput of In [",
        "]:\nthe rate is 3\n",
        f"In [{number - 1}]:\n[rate] * 2\nOutput of In [{number - 1}]:\n[3, 3]",
        f"In [{number}]:\nrate / 0\n",
        "ZeroDivisionError: division by zero",
    ):
        assert of_cell in asked
        assert of_cell in shown.replace("\r\n", "\n")
    assert asked.endswith(f"Why? See @cell {number}.")


def test_a_figure_that_the_terminal_shows_goes_with_the_question(terminal):
    """IPython's way for terminals that draw images: `mime_renderers`, which kitty has at once."""
    terminal.run("from set_up import draw; ip = get_ipython()")
    terminal.run("ip.display_formatter.active_types = ['text/plain', 'image/png']")
    terminal.run("ip.mime_renderers['image/png'] = draw")
    terminal.run("%matplotlib inline")
    with ModelServer() as server:
        use_server(terminal, server)
        shown = terminal.run("import matplotlib.pyplot as plt; _ = plt.plot([1, 4, 2])")
        listed = terminal.run("%lmc context")
        terminal.run("%%lmc", "Why is this plot bent?")
        asked = server.requests[-1].body["messages"][-1]["content"]
    number = int(terminal.value("len(In)")) - 4
    terminal.run("ip.display_formatter.active_types = ['text/plain']; ip.mime_renderers.clear()")
    assert len(shown) > 5_000, "the terminal draws it"
    assert "1 figure" in listed
    texts = [each["text"] for each in asked if each["type"] == "text"]
    images = [each["image_url"]["url"] for each in asked if each["type"] == "image_url"]
    assert f"A figure of In [{number}]:" in texts
    assert [url[:22] for url in images] == ["data:image/png;base64,"]
    assert f"Output of In [{number}]:\n[drawn]\nIt showed 1 figure.\n" in "".join(texts)


def test_changed_names_go_along_cells_can_be_left_out_and_what_is_not_there_is_said(terminal):
    with ModelServer() as server:
        use_server(terminal, server)
        terminal.run("price = [1]")
        terminal.run("%%lmc", "Before.")
        terminal.run("price = {'a': 1}; secret_plan = 1")

        def asked() -> str:
            return str(server.requests[-1].body["messages"][-1]["content"])

        terminal.run("%%lmc", "What changed?")
        assert "New names:\nsecret_plan: int\nChanged names:\nprice: dict" in asked()
        terminal.run("secret_plan = 2")
        terminal.run("%%lmc --cells none", "And now?")
        assert asked() == "And now?"
        count = len(server.requests)
        for word, words in (
            ("@selection", "none is: select some in JupyterLab, or write the text itself into"),
            ("@above", "@above names the Markdown directly above, and there is none"),
        ):
            assert words in terminal.run("%%lmc", f"What of {word}?")
        assert len(server.requests) == count


def test_a_proposed_cell_is_the_next_input_and_has_not_run(terminal):
    terminal.run(
        "scripted([said('So:'), code('made = 1\\x1b[2J', recipient='user', cell=3, end=True)])"
    )
    shown = terminal.run("%%lmc", "Write cell 3 again.")
    assert "python, proposed for In [3], not run here" in shown
    assert terminal.value("get_ipython().rl_next_input") == "'made = 1'"
    assert terminal.value("'made' in globals()") == "False"
