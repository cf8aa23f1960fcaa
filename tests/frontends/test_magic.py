"""`%%lmc` and `%lmc` in a real IPython shell, in this process: its terminal view."""

from __future__ import annotations

import builtins
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from scripted import ScriptedModel, assert_valid, code, said

import lmc_jupyter
from lmc_jupyter import current_session
from lmc_jupyter.computer import Availability
from lmc_jupyter.errors import ModelError, SessionError
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.models import Offer, litellm
from lmc_jupyter.session import Session

ROOT = Path(__file__).parents[2]


class Notebook:
    """A shell with the extension, and somebody who runs cells in it."""

    def __init__(self, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
        self.shell, self.capsys = shell, capsys

    @property
    def session(self) -> Session:
        return current_session()

    def model(self, *replies) -> ScriptedModel:
        model = ScriptedModel(*replies)
        self.session.choose_model(model)
        return model

    def cell(self, text: str) -> str:
        """Run a cell; what it shows."""
        self.capsys.readouterr()
        result = self.shell.run_cell(text)
        self.error = result.error_in_exec or result.error_before_exec
        return self.capsys.readouterr().out

    def refuses(self, text: str) -> str:
        """Run a cell that must fail with a usage error; the sentence."""
        shown = self.cell(text)
        assert isinstance(self.error, UsageError), shown
        assert "Traceback" not in shown
        return str(self.error)

    def asked(self) -> list[str]:
        return [each.content for each in self.session.messages if each.role == "user"]


@pytest.fixture
def notebook(shell, capsys, monkeypatch):
    monkeypatch.delenv("LMC_MODEL", raising=False)
    shell.extension_manager.load_extension("lmc_jupyter")
    yield Notebook(shell, capsys)
    if "lmc_jupyter" in shell.extension_manager.loaded:
        shell.extension_manager.unload_extension("lmc_jupyter")


@pytest.fixture
def keyboard(monkeypatch):
    """What the person types at each question; a callable may look around before it answers."""
    typed, asked = [], []

    def input_(prompt: str = "") -> str:
        asked.append(prompt)
        answer = typed.pop(0)
        return answer() if callable(answer) else answer

    monkeypatch.setattr(builtins, "input", input_)
    typed_and_asked = typed, asked
    yield typed_and_asked
    assert typed == []


# Loading ------------------------------------------------------------------------------------------


def traces(shell: InteractiveShell) -> dict[str, object]:
    return {
        "line": sorted(shell.magics_manager.magics["line"]),
        "cell": sorted(shell.magics_manager.magics["cell"]),
        "registry": sorted(shell.magics_manager.registry),
        "configurables": list(map(id, shell.configurables)),
        "settings": LMC.initialized(),
        "events": {name: list(each) for name, each in shell.events.callbacks.items()},
        "names": sorted(shell.user_ns),
        "own": sorted(vars(shell)),
    }


def test_unloading_leaves_the_shell_as_it_was(shell):
    before = traces(shell)
    manager = shell.extension_manager
    manager.load_extension("lmc_jupyter")
    assert traces(shell) != before
    assert manager.load_extension("lmc_jupyter") == "already loaded"
    manager.unload_extension("lmc_jupyter")
    assert traces(shell) == before
    with pytest.raises(SessionError, match="%load_ext lmc_jupyter"):
        current_session()


def test_unloading_ends_what_the_computer_started(notebook, monkeypatch):
    closed = []
    monkeypatch.setattr(notebook.session.computer, "close", lambda: closed.append(1))
    notebook.shell.extension_manager.unload_extension("lmc_jupyter")
    assert closed == [1]


def test_reloading_begins_a_new_conversation(notebook):
    notebook.model([said("Hi.")])
    notebook.cell("%%lmc\nHello")
    notebook.shell.extension_manager.reload_extension("lmc_jupyter")
    assert notebook.session.messages == []
    notebook.model([said("Again.")])
    assert "Again." in notebook.cell("%%lmc\nHello")


def test_what_was_never_loaded_can_be_unloaded(shell):
    lmc_jupyter.unload_ipython_extension(shell)


def test_the_public_names_are_there():
    for name in lmc_jupyter.__all__:
        assert getattr(lmc_jupyter, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        lmc_jupyter.nothing  # noqa: B018


def test_loading_imports_neither_a_model_nor_anywidget(tmp_path):
    told = (
        "import sys; from IPython.core.interactiveshell import InteractiveShell as S; "
        "S.instance().extension_manager.load_extension('lmc_jupyter'); "
        "print(sorted({'litellm', 'anywidget', 'ipywidgets', 'xllamacpp', 'openai', 'httpx', "
        "'filelock', 'lmc_jupyter.models.local', 'lmc_jupyter.models.litellm'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", told],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_protocol_alone_imports_no_ipython():
    told = "import sys, lmc_jupyter; print('IPython' in sys.modules, 'traitlets' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", told],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stdout.strip() == "False False", done.stdout + done.stderr


# A question ---------------------------------------------------------------------------------------


def test_the_answer_is_shown_and_kept(notebook):
    notebook.model([said("It is "), said("42.")])
    assert "It is 42." in notebook.cell("%%lmc\nWhat is 6*7?")
    assert notebook.asked() == ["What is 6*7?"]
    assert notebook.error is None


def test_cells_share_one_conversation(notebook):
    model = notebook.model([said("One.")], [said("Two.")])
    notebook.cell("%%lmc\n1")
    notebook.cell("%%lmc\n2")
    assert [message.content for message in model.seen[1]] == ["1", "One.", "2"]


@pytest.mark.parametrize(
    "question",
    [
        "Format {x} and {x!r:>10}, please",
        "$x costs $5, $HOME not",
        "f'{x}' {{}} {",
        "%d %s %%lmc ?",
        "!ls\n?help\n%magic",
        "What is this? for_me",
        "don't \"quote",
        "日本語 \u202e \N{GRINNING FACE}",
        "line\n\n    indented\n\tline",
    ],
)
def test_the_question_is_just_text(notebook, question):
    notebook.shell.user_ns["x"] = "EXPANDED"
    notebook.model([said("ok")])
    notebook.cell(f"%%lmc\n{question}")
    assert notebook.error is None
    assert notebook.asked() == [question]


def test_code_runs_in_the_namespace_after_a_yes(notebook, keyboard):
    typed, asked = keyboard
    typed.append("y")
    notebook.shell.user_ns["x"] = 40
    notebook.model([said("I add."), code("y = x + 2\nprint(y)")], [said("It is 42.")])
    shown = notebook.cell("%%lmc\nAdd 2 to x.")
    assert notebook.shell.user_ns["y"] == 42
    assert len(asked) == 1
    assert "Run this python code?" in asked[0]
    assert shown.index("y = x + 2") < shown.index("42") < shown.index("It is 42.")
    assert shown.count("42\n") == 1, "the shell shows the output, and nobody else"
    assert_valid(notebook.session.messages)


def test_a_no_with_a_reason_tells_the_model(notebook, keyboard):
    keyboard[0].append("use numpy")
    model = notebook.model([code("y = 1")], [said("Fine.")])
    shown = notebook.cell("%%lmc\nGo.")
    assert "y" not in notebook.shell.user_ns
    assert model.seen[1][-1].content == "This code was not run: use numpy."
    assert "Not run: use numpy." in shown


def test_an_error_is_its_sentence_and_what_came_stays(notebook):
    notebook.model([said("Half a sen"), ModelError("the connection broke")], [said("Back.")])
    shown = notebook.cell("%%lmc\nGo.")
    assert isinstance(notebook.error, ModelError)
    assert "Half a sen" in shown
    assert shown.strip().endswith("ModelError: the connection broke")
    assert "Traceback" not in shown
    assert ".py" not in shown
    assert notebook.session.messages[-1].extra == {"partial": True}
    assert "Back." in notebook.cell("%%lmc\nGo on.")


@pytest.mark.parametrize("again", ["%lmc resume", "%%lmc\n\n"])
def test_an_interrupt_at_the_question_runs_nothing_and_the_code_can_be_asked_again(
    notebook, keyboard, again
):
    def interrupt():
        raise KeyboardInterrupt

    keyboard[0].extend([interrupt, "y"])
    notebook.model([code("y = 42")], [said("Done.")])
    shown = notebook.cell("%%lmc\nGo.")
    assert isinstance(notebook.error, KeyboardInterrupt)
    assert "the answer was stopped; the text so far stays" in shown
    assert ".py" not in shown
    assert "y" not in notebook.shell.user_ns
    assert notebook.session.pending is not None
    assert "%lmc resume asks you again" in notebook.cell("%lmc")
    assert "Done." in notebook.cell(again)
    assert notebook.shell.user_ns["y"] == 42
    assert_valid(notebook.session.messages)


def test_resume_goes_on_with_an_answer_that_broke_off(notebook):
    notebook.model([said("Half "), ModelError("broke")], [said("and whole.")])
    notebook.cell("%%lmc\nGo.")
    assert "and whole." in notebook.cell("%lmc resume")
    assert notebook.asked() == ["Go."]


def test_resume_says_when_nothing_waits(notebook):
    notebook.model([said("Hi.")])
    assert "no code waits" in notebook.refuses("%lmc resume")
    notebook.cell("%%lmc\nHello")
    assert "no code waits" in notebook.refuses("%lmc resume")


def test_the_end_of_the_keyboard_is_a_no(notebook, keyboard):
    def end():
        raise EOFError

    keyboard[0].append(end)
    notebook.model([code("y = 42")], [said("Done.")])
    notebook.cell("%%lmc\nGo.")
    assert notebook.error is None
    assert "y" not in notebook.shell.user_ns
    assert "This code was not run" in notebook.session.messages[2].content


@pytest.mark.parametrize("cell", ["%%lmc\n   \n\n", "%%lmc --auto-run\n\n"])
def test_an_empty_cell_says_what_to_do(notebook, cell):
    assert "write your question below" in notebook.refuses(cell)
    assert notebook.session.messages == []


def test_an_empty_cell_with_new_takes_nothing_away(notebook):
    notebook.model([said("Hi.")])
    notebook.cell("%%lmc\nHello")
    assert "write your question below" in notebook.refuses("%%lmc --new\n\n")
    assert len(notebook.session.messages) == 2


# Options of one cell ------------------------------------------------------------------------------


def test_another_model_for_one_cell(notebook, monkeypatch):
    made = []

    def get(name, **options):
        if not isinstance(name, str):
            return name
        made.append((name, options))
        return ScriptedModel([said(f"I am {name}.")])

    monkeypatch.setattr("lmc_jupyter.models.choice.get_model", get)
    mine = notebook.model([said("I am mine.")])
    assert "I am openai/m." in notebook.cell(
        "%%lmc -m openai/m --api-base http://127.0.0.1:1/v1\nWho?"
    )
    assert made == [("openai/m", {"api_base": "http://127.0.0.1:1/v1"})]
    assert notebook.session.model is mine
    assert "I am mine." in notebook.cell("%%lmc\nWho?")
    assert len(notebook.session.messages) == 4


def test_auto_run_for_one_cell_asks_nobody(notebook, keyboard):
    notebook.model([code("y = 1")], [said("ok")], [code("z = 1")], [said("ok")])
    notebook.cell("%%lmc --auto-run\nGo.")
    assert notebook.shell.user_ns["y"] == 1
    assert keyboard[1] == []
    keyboard[0].append("n")
    notebook.cell("%%lmc\nGo.")
    assert "z" not in notebook.shell.user_ns


def test_new_begins_a_conversation(notebook):
    model = notebook.model([said("One.")], [said("Two.")])
    notebook.cell("%%lmc\n1")
    notebook.cell("%%lmc --new\n2")
    assert [message.content for message in model.seen[1]] == ["2"]


def test_a_setting_of_the_model_leaves_a_model_that_was_chosen_in_python(notebook):
    model = notebook.model([said("a")])
    notebook.cell("%config LMC.vision = True\n%config LMC.options = {'temperature': 0.5}")
    assert notebook.session.model is model
    notebook.session.choose_model("openai/mine", api_base="http://127.0.0.1:9/v1")
    notebook.cell("%config LMC.vision = False")
    choice = notebook.session.choice
    assert (choice.spec, choice.api_base) == ("openai/mine", "http://127.0.0.1:9/v1")
    assert choice.options["vision"] is False
    notebook.cell("%config LMC.model = 'openai/yours'")
    assert (notebook.session.choice.spec, notebook.session.choice.api_base) == (
        "openai/yours",
        None,
    )


def test_no_context_for_one_cell(notebook):
    seen = []

    class Model(ScriptedModel):
        def with_brief(self, brief, notify):
            seen.append("secret_name" in brief().namespace)
            return self

    notebook.session.choose_model(Model([said("a")], [said("b")], [said("c")]))
    notebook.cell("secret_name = 1")
    for line in ("%%lmc", "%%lmc --no-context", "%%lmc"):
        notebook.cell(f"{line}\nGo.")
    assert seen == [True, False, True]


def test_the_options_of_a_cell_are_taken_back_when_it_fails(notebook, monkeypatch):
    broken = ScriptedModel([said("x"), ModelError("broke")])
    monkeypatch.setattr(
        "lmc_jupyter.models.choice.get_model",
        lambda name, **_: broken if name == "openai/m" else name,
    )
    mine = notebook.model([said("ok")])
    session = notebook.session
    notebook.cell("%%lmc -m openai/m --auto-run --no-context\nGo.")
    assert isinstance(notebook.error, ModelError)
    assert session.model is mine
    assert session.auto_run is False
    assert session.gate.policy.allow == frozenset()
    assert session.context == "notebook"


def test_a_model_that_cannot_be_made_is_a_sentence_and_asks_nothing(notebook):
    shown = notebook.cell("%%lmc -m replay/nowhere.jsonl\nGo.")
    assert isinstance(notebook.error, ModelError)
    assert "nowhere.jsonl" in shown
    assert "Traceback" not in shown
    assert notebook.session.messages == []


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("%%lmc What is 2+2?\nGo.", "write the question below it"),
        ("%%lmc don't\nGo.", "write the question below it"),
        ('%%lmc "open\nGo.', "No closing quotation"),
        ("%%lmc", "Did you mean the line magic %lmc"),
        ("%%lmc --nonsense\nGo.", "--nonsense"),
        ("%%lmc -m\nGo.", "expected one argument"),
        ("%lmc nonsense", "no command 'nonsense'"),
        ("%lmc What is 2+2?", "under %%lmc"),
        ("%lmc --auto-run", "are %%lmc's"),
        ("%lmc undo twice", "does not take 'twice'"),
        ("%lmc reset --api-base http://127.0.0.1:1", "does not take '--api-base http:"),
        ("%lmc model a b", "does not take 'b'"),
    ],
)
def test_a_mistake_in_the_line_is_a_sentence_and_nothing_is_asked(notebook, cell, sentence):
    assert sentence in notebook.refuses(cell)
    assert notebook.session.messages == []


# Commands -----------------------------------------------------------------------------------------


def test_lmc_alone_says_what_is_going_on(notebook):
    notebook.model([said("Hi.")])
    notebook.cell("%%lmc\nHello")
    shown = notebook.cell("%lmc")
    assert "Model: ScriptedModel" in shown
    assert "2 messages" in shown
    assert "%lmc help" in shown
    assert "Code waits" not in shown


def test_help_names_every_command_and_option(notebook):
    shown = notebook.cell("%lmc help")
    for word in ("-m MODEL", "--api-base", "--auto-run", "--new", "--no-context",
                 "resume", "undo", "reset", "stop", "model", "languages", "help"):  # fmt: skip
        assert word in shown


def test_languages_are_told_with_how_they_run_or_what_to_install(notebook):
    class Away:
        name, aliases = "away", ()

        def availability(self):
            return Availability("by away 1.0", "there is no away on the PATH: install away")

        def run(self, code):
            raise AssertionError("it is not run")

        def close(self): ...

    notebook.session.computer.register(Away())
    here, missing = notebook.cell("%lmc languages").split("Not available:\n")
    assert re.search(r"^  python +Python 3\.\d+\.\d+, in this kernel$", here, re.M)
    assert re.search(r"^  shell +\w", here, re.M)
    assert re.search("^  away +there is no away on the PATH: install away$", missing, re.M)
    assert "away" not in here


def test_a_language_registered_in_a_cell_is_one(notebook):
    notebook.cell(
        "from lmc_jupyter import Chunk, current_session\n"
        "class Loud:\n"
        "    name, aliases = 'loud', ('shout',)\n"
        "    def run(self, code):\n"
        "        yield Chunk('computer', 'console', 'output', code.upper())\n"
        "    def close(self): ...\n"
        "current_session().computer.register(Loud())"
    )
    notebook.model([code("hi", "shout")], [said("Done.")])
    assert "HI" in notebook.cell("%%lmc --auto-run\nShout.")
    assert "loud" in notebook.session.computer.languages


def test_the_question_mark_shows_the_options(notebook):
    assert "--no-context" in notebook.shell.find_line_magic("lmc").__doc__


def test_undo_takes_back_the_last_question(notebook):
    notebook.model([said("One.")], [said("Two.")])
    notebook.cell("%%lmc\n1")
    notebook.cell("%%lmc\n2")
    assert "Removed the last question and its answer" in notebook.cell("%lmc undo")
    assert notebook.asked() == ["1"]


def test_reset_begins_a_new_conversation(notebook):
    notebook.model([said("One.")])
    notebook.cell("%%lmc\n1")
    assert "new conversation" in notebook.cell("%lmc reset")
    assert notebook.session.messages == []


def test_stop_when_nothing_runs_does_no_harm(notebook):
    notebook.model([said("One.")])
    notebook.cell("%lmc stop")
    assert notebook.error is None
    assert "One." in notebook.cell("%%lmc\n1")


def test_model_lists_what_is_found_and_chooses_none(notebook, monkeypatch):
    base = "http://127.0.0.1:1234/v1"
    offers = [
        Offer("openai/qwen", "LM Studio runs on this machine", {"api_base": base}),
        Offer("anthropic/c", "ANTHROPIC_API_KEY is in the environment"),
    ]
    monkeypatch.setattr("lmc_jupyter.models.find_offers", lambda: offers)
    before = notebook.model()
    shown = notebook.cell("%lmc model")
    assert f"%lmc model openai/qwen --api-base {base} " in shown
    assert "%lmc model anthropic/c " in shown
    assert notebook.session.model is before


def test_model_goes_on_with_another_and_keeps_the_conversation(notebook):
    notebook.model([said("One.")])
    notebook.cell("%%lmc\n1")
    shown = notebook.cell("%lmc model openai/some-model --api-base http://127.0.0.1:1/v1")
    assert "Model: openai/some-model at http://127.0.0.1:1/v1" in shown
    assert notebook.session.model.name == "openai/some-model"
    assert LMC.instance().model == "openai/some-model"
    assert LMC.instance().api_base == "http://127.0.0.1:1/v1"
    assert len(notebook.session.messages) == 2


def test_model_that_does_not_exist_is_met_with_what_was_meant(notebook):
    litellm.load(lambda _: None)
    shown = notebook.cell("%lmc model openai/gpt5")
    assert "This name is not known: did you mean openai/gpt-5" in shown
    assert "did you mean" not in notebook.cell("%lmc model openai/gpt-5")
    assert "did you mean" not in notebook.cell(
        "%lmc model openai/gpt5 --api-base http://127.0.0.1:1/v1"
    )


def test_model_that_a_server_here_has_under_another_name_is_met_with_what_was_meant(
    notebook, monkeypatch
):
    base = "http://127.0.0.1:11434"
    offers = [Offer("ollama_chat/qwen2.5-coder:7b", "Ollama runs here", {"api_base": base})]
    monkeypatch.setattr("lmc_jupyter.models.find_offers", lambda: offers)
    shown = notebook.cell("%lmc model ollama_chat/qwen2.5-coder:7")
    words = f"ollama_chat/qwen2.5-coder:7b --api-base {base}"
    assert f"This name is not known: did you mean {words}?" in shown
    assert "did you mean" not in notebook.cell(f"%lmc model {words}")


def test_model_takes_effect_also_when_the_setting_has_that_name_already(notebook):
    notebook.cell("%lmc model openai/some-model")
    notebook.model([said("Another.")])
    notebook.cell("%lmc model openai/some-model")
    assert notebook.session.model.name == "openai/some-model"


def test_model_that_cannot_be_made_changes_nothing(notebook):
    notebook.cell("%lmc model openai/some-model")
    shown = notebook.cell("%lmc model replay/nowhere.jsonl")
    assert isinstance(notebook.error, ModelError)
    assert "nowhere.jsonl" in shown
    assert notebook.session.model.name == "openai/some-model"


def test_the_embedded_model_is_not_fetched_without_a_yes(notebook, keyboard, monkeypatch, tmp_path):
    from lmc_jupyter.models import weights

    def fetch(*_):
        raise AssertionError("it was fetched")

    monkeypatch.setattr(weights, "locate", lambda *_: None)
    monkeypatch.setattr(weights, "fetch", fetch)
    keyboard[0].append("n")
    assert "Nothing was changed." in notebook.cell("%lmc model local")


# In places of their own ---------------------------------------------------------------------------


def test_run_cell_magic_is_the_same(notebook):
    notebook.model([said("Hi.")])
    notebook.cell('get_ipython().run_cell_magic("lmc", "", "Hello {x} $x")')
    assert notebook.error is None
    assert notebook.asked() == ["Hello {x} $x"]


def test_a_question_asked_by_the_code_of_an_answer_is_refused_with_a_sentence(notebook):
    nested = 'get_ipython().run_cell_magic("lmc", "", "again")'
    notebook.model([code(nested)], [said("So I can't.")])
    shown = notebook.cell("%%lmc --auto-run\nGo.")
    assert "while an answer is in progress" in shown
    assert notebook.asked() == ["Go."]
    assert "So I can't." in shown
    assert "SessionError" in notebook.session.messages[2].content
    assert_valid(notebook.session.messages)


def test_capture_takes_the_answer(notebook):
    notebook.model([said("Captured.")])
    shown = notebook.cell("%%capture out\n%%lmc\nHello")
    assert "Captured." not in shown
    notebook.cell("")
    assert "Captured." in notebook.shell.user_ns["out"].stdout


def test_the_session_of_the_cells_is_there_for_python(notebook):
    notebook.model([said("Hi.")])
    notebook.cell("from lmc_jupyter import current_session\ns = current_session()")
    assert notebook.shell.user_ns["s"] is notebook.session
