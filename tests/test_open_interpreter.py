"""The face of the migration guide: its snippets, Open Interpreter's own tests, the guide's client.

Snippets that stand in a test word for word are marked "guide:".
"""

# ruff: noqa: E501 - the guide's lines are as long as they are

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pexpect
import pytest
from model_server import ModelServer, Turn, text, tool
from scripted import (
    EchoComputer,
    Endless,
    Held,
    PreparedComputer,
    ScriptedModel,
    assert_stream,
    assert_valid,
    code,
    line,
    picture,
    printed,
    said,
)
from test_stream import comparable, in_node, ours, without_confirmations

from lmc_jupyter import Chunk, Decision, Message, OpenInterpreter
from lmc_jupyter.computer import Computer, default_computer
from lmc_jupyter.context.instructions import INSTRUCTIONS
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.conversation.events import Noted, Renamed, Replaced
from lmc_jupyter.errors import (
    ModelError,
    ProtocolError,
    SessionError,
    UnknownLanguageError,
)
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.keys import Secret
from lmc_jupyter.models.spending import CostError
from lmc_jupyter.open_interpreter import LOOP_BREAKERS, LOOP_MESSAGE

PLOT = (
    "plot = create_plot_from_data('data')\ndisplay_as_image(plot)\ndisplay_as_html(plot)"  # guide:
)


class Echo(Computer):
    """Says python and shell back, and counts what was run."""

    def __init__(self) -> None:
        self.echo = EchoComputer()
        super().__init__(Said("python", self.echo), Said("shell", self.echo))

    def stop(self) -> None:
        """It is never slow."""


class Said:
    aliases = ()

    def __init__(self, name: str, echo: EchoComputer) -> None:
        self.name, self.echo = name, echo

    def run(self, program: str) -> Any:
        return self.echo.run(self.name, program)

    def close(self) -> None:
        """It has nothing open."""


def agent(*replies: Any, computer: Any = None, **options: Any) -> OpenInterpreter:
    """An interpreter whose model gives these replies, on an echo computer."""
    made = OpenInterpreter(computer=computer or Echo(), conversation_history=False, **options)
    made.llm.model = ScriptedModel(*replies)
    return made


def ran(interpreter: OpenInterpreter) -> Any:
    return interpreter.session.computer.echo.ran


def plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As the guide writes them: without the stamps that its tips advise."""
    return [{k: v for k, v in each.items() if k not in ("id", "created_at")} for each in messages]


def kinds(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["role"], each["type"]) for each in messages]


def until_confirmation(chunks: Any) -> dict[str, Any]:
    for chunk in chunks:
        if chunk["type"] == "confirmation":
            return chunk
    raise AssertionError("no confirmation came")


# A New Start --------------------------------------------------------------------------------------


def test_the_class_and_the_ready_instance_are_imported_as_the_guide_says() -> None:
    program = (
        "from lmc_jupyter import OpenInterpreter\n"
        "agent = OpenInterpreter()\n"
        "from lmc_jupyter import interpreter\n"
        "import lmc_jupyter, sys\n"
        "assert isinstance(interpreter, OpenInterpreter) and interpreter is not agent\n"
        "from lmc_jupyter import interpreter as again\n"
        "assert again is interpreter is lmc_jupyter.interpreter\n"
        "assert 'litellm' not in sys.modules and 'IPython' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[1])


def test_importing_the_package_makes_no_instance() -> None:
    program = "import lmc_jupyter, sys; assert 'lmc_jupyter.open_interpreter' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[1])


def test_chat_without_a_message_asks_on_the_keyboard_until_exit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    it = agent([said("Hello!")], [code("1 + 1")], [said("It is 2.")])
    lines = iter(["Hi", "", "Add.", "y", "exit"])
    monkeypatch.setattr(it, "_keyboard", lambda: lambda _prompt: next(lines))
    messages = it.chat()  # guide: agent.chat()
    assert [each["content"] for each in messages if each["role"] != "computer"] == [
        "Hi",
        "Hello!",
        "Add.",
        "1 + 1",
        "It is 2.",
    ]
    assert ran(it) == [("python", "1 + 1")]
    assert "Hello!" in capsys.readouterr().out


def test_chat_without_a_message_where_nobody_can_be_asked_is_a_sentence() -> None:
    with pytest.raises(SessionError, match="give it a message"):
        agent().chat()


# New Parameters -----------------------------------------------------------------------------------

MOVED = {  # guide: "All stateless LLM attributes have been moved to interpreter.llm"
    "model": "llm.model",
    "api_key": "llm.api_key",
    "llm_supports_vision": "llm.supports_vision",
    "supports_function_calling": "llm.supports_functions",
    "max_tokens": "llm.max_tokens",
    "context_window": "llm.context_window",
    "temperature": "llm.temperature",
    "api_version": "llm.api_version",
    "api_base": "llm.api_base",
}


@pytest.mark.parametrize("old", MOVED)
def test_every_attribute_that_has_moved_says_where(old: str) -> None:
    it, new = agent(), MOVED[old].removeprefix("llm.")
    with pytest.raises(AttributeError, match=rf"interpreter\.llm\.{new}\b"):
        setattr(it, old, None)
    with pytest.raises(AttributeError, match=rf"interpreter\.llm\.{new}\b"):
        getattr(it, old)
    setattr(it.llm, new, None)
    assert getattr(it.llm, new) is None


def test_a_setting_that_there_is_not_is_refused() -> None:
    with pytest.raises(AttributeError, match="no 'autorun'"):
        agent().autorun = True
    with pytest.raises(AttributeError):
        agent().llm.temprature = 1


DEFAULTS = {  # what Open Interpreter's constructor has, and this package has no use for
    "offline": False, "debug": False, "shrink_images": True, "disable_telemetry": False,
    "in_terminal_interface": False, "conversation_filename": None, "os": False,
    "speak_messages": False, "user_message_template": "{content}",
    "always_apply_user_message_template": False, "code_output_sender": "user",
    "sync_computer": False, "import_computer_api": False, "skills_path": None,
    "import_skills": False, "multi_line": True, "contribute_conversation": False,
    "plain_text_display": False,
}  # fmt: skip


def test_open_interpreters_settings_are_taken_at_their_defaults() -> None:
    it = OpenInterpreter(**DEFAULTS, computer=Echo(), conversation_history=False)
    for name, value in DEFAULTS.items():
        setattr(it, name, value)
        assert getattr(it, name) == value
    it.computer.import_computer_api = it.computer.verbose = it.computer.debug = False
    it.computer.emit_images = True
    it.llm.vision_renderer = it.llm.completions = None
    it.llm.load()
    assert it.responding is False


@pytest.mark.parametrize("name", ["offline", "disable_telemetry", "multi_line", "debug"])
def test_a_switch_of_what_is_not_here_is_taken_either_way(name: str) -> None:
    for value in (True, False):
        it = OpenInterpreter(computer=Echo(), **{name: value})
        assert getattr(it, name) is value


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("os", True, "packages that you have"),
        ("sync_computer", True, "packages that you have"),
        ("import_skills", True, "session.functions"),
        ("anonymized_telemetry", True, "there is no telemetry"),
        ("conversation_filename", "talk.json", r"session\.save"),
        ("code_output_template", "It said {content}", "custom_instructions"),
    ],
)
def test_a_setting_of_open_interpreters_that_would_do_nothing_says_what_does(
    name: str, value: Any, instead: str
) -> None:
    said = rf"{name} = {value!r} has no meaning here: .*{instead}"
    with pytest.raises(SessionError, match=said):
        setattr(agent(), name, value)
    with pytest.raises(SessionError, match=said):
        agent(**{name: value})
    with pytest.raises(TypeError, match="no 'autorun'"):
        agent(autorun=True)


def test_a_part_that_is_not_here_is_refused_when_it_is_used() -> None:
    it = agent()
    mouse, server = it.computer.mouse, it.server
    assert "computer.mouse of Open Interpreter is not part of lmc-jupyter" in repr(mouse)
    for use in (
        lambda: mouse.click("OK"),
        lambda: it.computer.vision.ocr("x.png"),
        lambda: it.computer.view(),
        lambda: server.run(),
        lambda: setattr(it, "server", 1),
        lambda: setattr(it.computer, "mouse", 1),
        lambda: setattr(it.computer.skills, "path", "x"),
        lambda: setattr(it.computer, "languages", []),
    ):
        with pytest.raises(SessionError, match=r"not part of lmc-jupyter|session\.deny"):
            use()
    with pytest.raises(AttributeError, match="computer has no 'mose'"):
        _ = it.computer.mose
    with pytest.raises(AttributeError, match="computer has no 'verbos'"):
        it.computer.verbos = True


def test_computer_ai_asks_the_model_beside_the_conversation(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("It is about cats."))]
    it = OpenInterpreter(computer=Echo(), conversation_history=False)
    it.llm.model, it.llm.api_base = "openai/m", model_server.base
    assert it.computer.ai.summarize("A cat sat.") == "It is about cats."
    sent = model_server.requests[0].body["messages"]
    assert "A cat sat." in sent[-1]["content"]
    assert it.messages == []
    it.chat("2 + 2?", display=False)
    assert "A cat sat." not in str(model_server.requests[1].body["messages"])


def test_computer_ai_runs_no_code() -> None:
    it = agent([said("I run: "), code("1 + 1")], auto_run=True)
    assert it.computer.ai.chat("Add.") == "I run: "
    assert ran(it) == []


def test_chat_without_a_message_goes_on_from_what_the_app_took_away_or_changed() -> None:
    it = agent([said("First.")], [said("Second.")], [said("Third.")])
    it.chat("Hi.", display=False)
    del it.messages[-1]
    it.chat()
    assert contents(it) == ["Hi.", "Second."]
    it.messages[0]["content"] = "Hello."
    it.chat()
    assert contents(it) == ["Hello.", "Second.", "Third."]


def test_what_the_app_puts_into_the_conversation_is_not_shown_as_part_of_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    it = agent([said("Seen.")], [said("Once more.")])
    shown = {"role": "computer", "type": "console", "format": "output"}
    it.messages = [{"role": "user", "type": "message", "content": "Look."}]
    it.messages.append({**shown, "content": "of the app"})
    it.messages.append({**shown, "content": "for the model", "recipient": "assistant"})
    it.chat(display=True)
    it.messages[0]["content"] = "Look again."
    it.chat("And now?", display=True)
    out = capsys.readouterr().out
    assert "Seen." in out
    assert "Once more." in out
    assert "of the app" not in out
    assert "for the model" not in out


def test_verbose_writes_every_chunk_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    it = agent([said("Hello.")], verbose=True)
    it.chat("Hi", display=False)
    assert "'content': 'Hello.'" in capsys.readouterr().err
    it.verbose = False
    it.llm.model = ScriptedModel([said("Bye.")])
    it.chat("Hi", display=False)
    assert capsys.readouterr().err == ""


def test_a_budget_is_the_conversations_limit() -> None:
    it = agent([said("Hello.")])
    it.max_budget = 0.5
    assert it.llm.max_budget == 0.5
    with pytest.raises(CostError, match="max_session_cost is set"):
        it.chat("Hi", display=False)  # a model whose cost nobody can count
    assert it.session.max_session_cost == 0.5


def test_the_computers_other_names_run_code_too() -> None:
    it = agent()
    assert (
        it.computer.exec("ls")[0]["content"]
        == it.computer.terminal.run("shell", "ls")[0]["content"]
    )
    it.computer.max_output = 99
    assert it.max_output == 99
    assert it.computer.interpreter is it


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", "hot"),
        ("max_tokens", True),
        ("supports_vision", "yes"),
        ("api_base", 80),
        ("context_window", "large"),
    ],
)
def test_a_wrong_value_is_a_sentence(name: str, value: Any) -> None:
    with pytest.raises(SessionError, match=rf"llm\.{name} is {value!r}"):
        setattr(agent().llm, name, value)


def test_llm_settings_reach_the_provider_as_they_were_set(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("Hello."))]
    it = OpenInterpreter(computer=Computer(), conversation_history=False)
    it.llm.model, it.llm.api_base, it.llm.api_key = "openai/m", model_server.base, "sk-" + "k" * 20
    it.llm.temperature, it.llm.max_tokens, it.llm.supports_functions = 0, 77, False
    it.chat("Hi.", display=False)
    body, headers = model_server.requests[0].body, model_server.requests[0].headers
    assert (body["temperature"], body["max_tokens"]) == (0, 77)
    assert "tools" not in body
    assert headers["authorization"] == "Bearer sk-" + "k" * 20
    it.llm.temperature, it.llm.supports_functions = 0.5, True
    it.chat("Again.", display=False)
    body = model_server.requests[1].body
    assert body["temperature"] == 0.5
    assert body["tools"]
    assert len(body["messages"]) == 4


def test_the_key_is_shown_nowhere() -> None:
    key = "sk-" + "q" * 30
    it = OpenInterpreter(computer=Computer(), conversation_history=False)
    it.llm.api_key, it.llm.model = key, "openai/m"
    _ = it.messages
    it._configure()
    session = it.session
    for where in (it, it.llm, it.llm.api_key, vars(it), it.llm._values, vars(session)):
        assert key not in repr(where)
        assert key not in str(where)
    assert isinstance(it.llm.api_key, Secret)
    with pytest.raises(SessionError) as error:
        it.llm.api_key = [key]
    assert key not in str(error.value)


def test_a_model_in_this_process_takes_no_address() -> None:
    it = OpenInterpreter(computer=Computer(), conversation_history=False)
    it.llm.model, it.llm.api_base = "local", "http://127.0.0.1:1/v1"
    with pytest.raises(SessionError, match=r"llm\.api_base is set, but the model 'local'"):
        it.chat("Hi.", display=False)
    assert it.messages == []


def test_without_a_model_it_is_the_one_of_the_notebooks_settings(
    model_server: ModelServer,
) -> None:
    model_server.turns = [Turn(text("Hello."))]
    settings = LMC.instance(model="openai/chosen", api_base=model_server.base, deny=["shell"])
    try:
        it = OpenInterpreter(computer=Echo(), conversation_history=False)
        it.chat("Hi.", display=False)
        assert model_server.requests[0].body["model"] == "chosen"
        assert list(it.session.deny) == ["shell"]
        settings.deny = ["shell", "r"]
        it.chat("Hi again.", display=False)
        assert list(it.session.deny) == ["shell", "r"]
    finally:
        LMC.clear_instance()


# New Static Messages Structure --------------------------------------------------------------------

STATIC: list[dict[str, Any]] = [  # guide:
    {"role": "user", "type": "message", "content": "Please create a plot from this data and display it as an image and then as HTML."},
    {"role": "user", "type": "image", "format": "path", "content": "path/to/image.png"},
    {"role": "user", "type": "file", "content": "/path/to/file.pdf"},
    {"role": "assistant", "type": "message", "content": "Processing your request to generate a plot."},
    {"role": "assistant", "type": "code", "format": "python", "content": PLOT},
    {"role": "computer", "type": "image", "format": "base64.png", "content": "base64"},
    {"role": "computer", "type": "code", "format": "html", "content": "<html>Plot in HTML format</html>"},
    {"role": "computer", "type": "console", "format": "output", "content": "{HTML errors}"},
    {"role": "assistant", "type": "message", "content": "Plot generated successfully."},
]  # fmt: skip


def test_the_guides_messages_are_passed_in_and_come_out_as_they_were() -> None:
    message_list = json.loads(json.dumps(STATIC))
    interpreter = agent([said("Anything else?")])
    interpreter.messages = message_list  # guide:
    assert plain(interpreter.messages) == STATIC
    assert all(each["id"] and each["created_at"] for each in interpreter.messages)
    interpreter.chat("Thanks.", display=False)
    assert plain(interpreter.messages)[: len(STATIC)] == STATIC
    assert [m.content for m in interpreter.llm.model.seen[0]] == [
        *(each["content"] for each in STATIC),
        "Thanks.",
    ]


def test_a_format_that_the_guide_calls_implied_may_be_written_and_stays_as_it_was() -> None:
    implied = {"message": "text", "file": "path"}  # guide: "implied format: text", "... path"
    written = [{**each, "format": each.get("format", implied.get(each["type"]))} for each in STATIC]
    interpreter = agent([said("Anything else?")], [said("Yes.")])
    interpreter.messages = json.loads(json.dumps(written))
    assert plain(interpreter.messages) == written
    first = interpreter.messages[0]["id"]
    client = plain(interpreter.messages)
    client[0] = STATIC[0]  # a client of the guide's may leave it out again
    interpreter.chat(
        [*client, {"role": "user", "type": "message", "format": "text", "content": "Thanks."}],
        display=False,
    )
    assert plain(interpreter.messages)[: len(written)] == written
    assert interpreter.messages[0]["id"] == first, "it is the same conversation"


def test_messages_are_json_and_their_own_ids_and_keys_stay() -> None:
    it = agent()
    given = {"role": "user", "type": "message", "content": "Hi", "id": 7, "created_at": 1.5, "x": 1}
    it.messages = [given]
    assert json.loads(json.dumps(it.messages)) == [given]


def test_messages_that_lmc_does_not_allow_are_a_sentence_and_change_nothing() -> None:
    it = agent(messages=STATIC)
    with pytest.raises(ProtocolError, match="unknown role 'system'"):
        it.messages = [{"role": "system", "type": "message", "content": "x"}]
    assert plain(it.messages) == STATIC


def test_messages_are_the_same_list_always() -> None:
    it = agent([said("Hello.")])
    held = it.messages
    it.chat("Hi.", display=False)
    assert held is it.messages
    assert [each["content"] for each in held] == ["Hi.", "Hello."]
    it.reset()
    assert held == []


def test_what_an_app_appends_counts_from_the_next_answer() -> None:
    it = agent([said("Hello.")], [said("So be it.")])
    it.chat("Hi.", display=False)
    it.messages.append({"role": "user", "type": "file", "content": "/path/to/file.pdf"})
    assert len(it.session.messages) == 2
    it.chat("Read it.", display=False)
    assert [m.content for m in it.llm.model.seen[1]] == [
        "Hi.",
        "Hello.",
        "/path/to/file.pdf",
        "Read it.",
    ]
    assert_valid(it.session.messages)
    first_ids = [each["id"] for each in it.messages]
    assert len(set(first_ids)) == 5


def test_what_an_app_changes_in_the_middle_counts_from_the_next_answer() -> None:
    it = agent([said("Hello.")], [said("Right.")])
    it.chat("Hi.", display=False)
    ids = [each["id"] for each in it.messages]
    it.messages[1]["content"] = "Good morning."
    it.chat("Again.", display=False)
    assert [m.content for m in it.llm.model.seen[1]] == ["Hi.", "Good morning.", "Again."]
    assert [each["id"] for each in it.messages][:2] == ids
    del it.messages[:2]
    it.chat(None, display=False) if it.messages[-1]["role"] == "user" else it.chat("So?", False)
    assert [m.content for m in it.llm.model.seen[2]] == ["Again.", "Right.", "So?"]


def test_an_appended_message_that_is_wrong_is_a_sentence_and_stays_to_be_mended() -> None:
    it = agent([said("Hello.")])
    it.messages.append({"role": "user", "content": "no type"})
    with pytest.raises(ProtocolError, match="'type' is missing"):
        it.chat("Hi.", display=False)
    assert it.session.messages == []
    it.messages[0]["type"] = "message"
    assert plain(it.chat("Hi.", display=False)) == [
        {"role": "assistant", "type": "message", "content": "Hello."}
    ]


def test_what_was_appended_is_not_lost_when_the_question_is_refused() -> None:
    it = agent([said("Hello.")], [said("Yes.")])
    it.chat("Hi.", display=False)
    it.messages[0]["content"] = "Ho."
    it.messages.append({"role": "user", "type": "message", "content": "Listen."})
    with pytest.raises(SessionError, match="empty"):
        it.chat(" ", display=False)
    assert [each["content"] for each in it.messages] == ["Ho.", "Hello.", "Listen."]
    it.chat("Well?", display=False)
    assert [m.content for m in it.llm.model.seen[1]] == ["Ho.", "Hello.", "Listen.", "Well?"]
    assert len(it.messages) == 5


# chat(message) ------------------------------------------------------------------------------------


def test_chat_takes_a_text_a_dict_and_a_list_and_returns_the_new_messages() -> None:
    it = agent([said("One.")], [said("Two.")], [said("Three.")], [said("Four.")])
    assert plain(it.chat("Hi.", display=False)) == [
        {"role": "assistant", "type": "message", "content": "One."}
    ]
    image = {"type": "image", "format": "path", "content": "a.png"}
    assert plain(it.chat(image, display=False))[0]["content"] == "Two."
    assert it.messages[2]["role"] == "user"
    whole = [{"role": "user", "type": "message", "content": "Anew."}]
    assert plain(it.chat(whole, display=False))[0]["content"] == "Three."
    assert [each["content"] for each in it.messages] == ["Anew.", "Three."]
    it.messages.append({"role": "user", "type": "message", "content": "More."})
    assert plain(it.chat(display=False))[0]["content"] == "Four."


def test_chat_refuses_what_is_no_message() -> None:
    it = agent()
    for wrong, words in (
        ("  ", "empty"),
        (7, "chat\\(\\) was given 7"),
        ([], "conversation is empty"),
    ):
        with pytest.raises(SessionError, match=words):
            it.chat(wrong, display=False)
    with pytest.raises(SessionError, match="the conversation is empty"):
        it.chat(None, display=False)
    with pytest.raises(ProtocolError, match="'type' is missing"):
        it.chat({"content": "no type"}, display=False)
    assert it.messages == []


def test_what_open_interpreter_of_any_version_wrote_is_taken() -> None:
    it = agent([said("One.")], [said("Two.")], [said("Three.")])
    it.chat({"role": "user", "message": "As 0.1 wrote it."}, display=False)
    old = [
        {"role": "user", "message": "Add."},
        {"role": "assistant", "message": "So:", "code": "1+1", "language": "python", "output": "2"},
        {"role": "user", "message": "And?"},
    ]
    it.chat(old, display=False)
    assert [each["content"] for each in it.messages] == ["Add.", "So:", "1+1", "2", "And?", "Two."]
    status = {"role": "server", "type": "status", "content": "complete"}
    it.messages.append(status)
    with pytest.warns(RuntimeWarning, match="is of no kind that LMC has"):
        it.chat("More.", display=False)
    assert "complete" not in [m.content for m in it.llm.model.seen[2] if m.recipient != "user"]


def test_a_list_that_begins_with_the_conversation_goes_on_with_it() -> None:
    """A client sends back all it has, without ids, each time."""
    it = agent([said("One.")], [said("Two.")])
    it.chat("Hi.", display=False)
    ids = [each["id"] for each in it.messages]
    sent = [*plain(it.messages), {"role": "user", "type": "message", "content": "More."}]
    it.chat(sent, display=False)
    assert [each["id"] for each in it.messages][:2] == ids
    assert len(it.session.turns) == 2


# New Streaming Structure --------------------------------------------------------------------------

CHUNKS: list[dict[str, Any]] = [  # guide: its True is true, and its lines are numbers
    {"role": "assistant", "type": "message", "start": True},
    {"role": "assistant", "type": "message", "content": "Pro"},
    {"role": "assistant", "type": "message", "content": "cessing"},
    {"role": "assistant", "type": "message", "content": "your request"},
    {"role": "assistant", "type": "message", "content": "to generate a plot."},
    {"role": "assistant", "type": "message", "end": True},
    {"role": "assistant", "type": "code", "format": "python", "start": True},
    {"role": "assistant", "type": "code", "format": "python", "content": "plot = create_plot_from_data"},
    {"role": "assistant", "type": "code", "format": "python", "content": "('data')\ndisplay_as_image(plot)"},
    {"role": "assistant", "type": "code", "format": "python", "content": "\ndisplay_as_html(plot)"},
    {"role": "assistant", "type": "code", "format": "python", "end": True},
    {"role": "computer", "type": "confirmation", "format": "execution", "content": {
        "type": "code",
        "format": "python",
        "content": "plot = create_plot_from_data('data')\ndisplay_as_image(plot)\ndisplay_as_html(plot)",
    }},
    {"role": "computer", "type": "console", "start": True},
    {"role": "computer", "type": "console", "format": "output", "content": "a printed statement"},
    {"role": "computer", "type": "console", "format": "active_line", "content": "1"},
    {"role": "computer", "type": "console", "format": "active_line", "content": "2"},
    {"role": "computer", "type": "console", "format": "active_line", "content": "3"},
    {"role": "computer", "type": "console", "format": "output", "content": "another printed statement"},
    {"role": "computer", "type": "console", "end": True},
]  # fmt: skip


def as_ours(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The guide's stream as we send it: lines are ints, and a block's last one is None."""
    found = [
        {**each, "content": int(each["content"])} if each.get("format") == "active_line" else each
        for each in chunks
    ]
    end = {"role": "computer", "type": "console", "format": "active_line", "content": None}
    return [*found[:-1], end, found[-1]]


@pytest.mark.parametrize("auto_run", [False, True])
def test_the_stream_is_the_one_that_the_guide_prints(auto_run: bool) -> None:
    """Chunk by chunk; the confirmation comes before every run, also with auto_run."""
    console = [
        Chunk.from_dict(each) for each in CHUNKS if "content" in each and each["role"] == "computer"
    ][1:]
    it = agent(
        [
            Chunk.from_dict(each)
            for each in CHUNKS
            if "content" in each and each["role"] != "computer"
        ],
        [said("Plot generated successfully.")],
        computer=PreparedComputer(*console),
        auto_run=auto_run,
    )
    chunks = list(it.chat("Please create a plot.", display=False, stream=True))
    assert chunks[: len(CHUNKS) + 1] == as_ours(CHUNKS)
    assert_stream([Chunk.from_dict(each) for each in chunks])
    assert it.session.computer.ran == 1


def test_a_stream_begins_when_it_is_read() -> None:
    it = agent([said("Hello.")])
    chunks = it.chat("Hi.", display=False, stream=True)
    assert it.messages == []
    assert next(chunks)["start"] is True
    assert [each["content"] for each in it.messages] == ["Hi."]


def test_breaking_at_the_confirmation_runs_nothing_and_the_code_is_offered_again() -> None:
    it = agent([said("So:"), code("x = 1")], [said("Done.")])
    for chunk in it.chat("Go.", display=False, stream=True):
        if chunk["type"] == "confirmation":
            break
    assert ran(it) == []
    assert it.messages[-1]["content"] == "x = 1"
    chunks = list(it.chat(display=False, stream=True))
    assert chunks[0]["type"] == "confirmation"
    assert ran(it) == [("python", "x = 1")]
    assert len(it.llm.model.seen) == 2


def test_a_new_question_leaves_the_code_behind_and_says_so() -> None:
    it = agent([code("x = 1")], [said("Very well.")])
    until_confirmation(it.chat("Go.", display=False, stream=True))
    it.chat("y", display=False)
    assert ran(it) == []
    assert "This code was not run" in it.messages[2]["content"]


def test_an_app_edits_the_code_while_it_waits() -> None:
    it = agent([code("x = 1")], [said("Done.")])
    for chunk in it.chat("Go.", display=False, stream=True):
        if chunk["type"] == "confirmation":
            it.messages[-1]["content"] = "x = 2"
    assert ran(it) == [("python", "x = 2")]
    assert [each["content"] for each in it.messages][1] == "x = 2"
    assert it.messages[1]["edited"] is True


@pytest.mark.parametrize("no", [False, Decision(False, reason="too long")])
def test_an_app_declines_and_the_model_is_told(no: Any) -> None:
    it = agent([code("x = 1")], [said("Then not.")])
    stream = it.chat("Go.", display=False, stream=True)
    until_confirmation(stream)
    stream.send(no)
    assert list(stream)[-1]["end"] is True
    assert ran(it) == []
    assert "This code was not run" in it.messages[2]["content"]
    assert it.messages[-1]["content"] == "Then not."


def test_what_is_no_answer_to_a_confirmation_is_refused_and_nothing_runs() -> None:
    it = agent([code("x = 1")])
    stream = it.chat("Go.", display=False, stream=True)
    until_confirmation(stream)
    with pytest.raises(SessionError, match="'yes' is not an answer"):
        stream.send("yes")
    assert ran(it) == []
    assert not it.session.busy


def test_breaking_while_code_runs_stops_it_and_the_next_block_starts_clean(shell: Any) -> None:
    slow = "import time\nfor i in range(10_000):\n    print(i)\n    time.sleep(0.01)"
    it = agent([code(slow)], [code("print('i =', i < 9_999)")], [said("Done.")],
               computer=default_computer(shell))  # fmt: skip
    for chunk in it.chat("Count.", display=False, stream=True):
        if chunk.get("format") == "output":
            break
    assert it.messages[-1]["partial"] is True
    for _ in it.chat("And?", display=False, stream=True):
        pass
    outputs = [each["content"] for each in it.messages if each["type"] == "console"]
    assert outputs[-1] == "i = True\n"


def test_breaking_while_text_streams_keeps_what_came() -> None:
    it = agent()
    it.llm.model = Endless()
    for count, _ in enumerate(it.chat("Sing.", display=False, stream=True)):
        if count == 20:
            break
    assert it.messages[-1]["content"] == "la " * 20
    assert it.messages[-1]["partial"] is True
    assert plain(it.chat("And?", display=False))[-1]["content"] == "Here I am again."


def test_a_stream_that_is_held_but_left_ends_with_the_next_question() -> None:
    it = agent([code("x = 1")], [said("Fine.")])
    held = it.chat("Go.", display=False, stream=True)
    until_confirmation(held)
    it.chat("Leave it.", display=False)
    assert ran(it) == []
    assert list(held) == []


def test_a_model_error_is_raised_and_what_came_stays() -> None:
    it = agent([said("Once upon"), ModelError("the line broke")])
    with pytest.raises(ModelError, match="the line broke"):
        list(it.chat("Tell.", display=False, stream=True))
    assert it.messages[-1]["content"] == "Once upon"


def test_messages_grow_while_text_comes_and_while_a_block_runs(shell: Any) -> None:
    program = "for i in range(3):\n    print(i, flush=True)\n'end'"
    it = agent([said("Let "), said("me see."), code(program)], [said("Done.")],
               computer=default_computer(shell))  # fmt: skip
    grown: list[list[str]] = []
    for chunk in it.chat("Go.", display=False, stream=True):
        last = it.messages[-1]
        if "content" in chunk and chunk["type"] in ("message", "console"):
            assert (last["role"], last["type"]) == (chunk["role"], chunk["type"])
            if chunk.get("format") != "active_line":
                assert last["partial"] is True
                assert last["content"].endswith(chunk["content"])
                grown.append([last["type"], last["content"]])
        if "end" in chunk and chunk["type"] != "console":
            assert "partial" not in last
    assert grown[:2] == [["message", "Let "], ["message", "Let me see."]]
    assert ["console", "0\n"] in grown
    assert ["console", "0\n1\n2\n'end'\n"] in grown
    assert grown[-1] == ["message", "Done."]
    assert it.messages == [each.to_dict() for each in it.session.messages]
    assert kinds(it.messages) == [
        ("user", "message"),
        ("assistant", "message"),
        ("assistant", "code"),
        ("computer", "console"),
        ("assistant", "message"),
    ]


def test_what_came_is_there_when_a_client_goes_away_in_the_middle(shell: Any) -> None:
    """It leaves its stream as it is: nobody closes that, before the next question."""
    it = agent([code("for i in range(10**6):\n    print(i, flush=True)")], [said("Done.")],
               computer=default_computer(shell))  # fmt: skip
    stream = it.chat("Go.", display=False, stream=True)
    for chunk in stream:
        if chunk.get("content") == "1\n":
            break
    output = it.messages[-1]
    assert (output["content"], output["partial"]) == ("0\n1\n", True)
    assert it.messages == it.messages
    it.messages.append({"role": "user", "type": "message", "content": "By the way"})
    it.chat("And?", display=False)
    assert [each["content"] for each in it.messages[1:3]][1].startswith("0\n1\n")
    assert [each["content"] for each in it.messages[3:]] == ["By the way", "And?", "Done."]


def test_a_stream_that_the_main_thread_makes_is_read_from_any_thread(shell: Any) -> None:
    """As an `async` endpoint does: the stream is made on the loop, and read in a pool."""
    it = agent([code("print(1, flush=True)\nprint(2, flush=True)")], [said("Done.")],
               computer=default_computer(shell))  # fmt: skip
    stream, chunks = it.chat("Go.", display=False, stream=True), []

    def read() -> None:
        with contextlib.suppress(StopIteration):
            chunks.append(next(stream))

    while not chunks or chunks[-1].get("content") != "Done.":
        thread = threading.Thread(target=read)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
    assert it.messages[2]["content"] == "1\n2\n"
    stream.close()


def test_a_stream_is_read_from_any_thread(shell: Any) -> None:
    """As a web server does: each chunk is asked for by another thread."""
    program = (
        "import threading\nprint(1, flush=True)\nprint(2, flush=True)\n"
        "name = threading.current_thread().name"
    )
    it = agent([code(program)], [said("Done.")], computer=default_computer(shell))
    chunks: list[dict[str, Any]] = []
    streams: list[Any] = []

    def in_a_thread(act: Callable[[], None]) -> None:
        thread = threading.Thread(target=act)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()

    in_a_thread(lambda: streams.append(it.chat("Go.", display=False, stream=True)))
    ended = threading.Event()

    def read() -> None:
        try:
            chunks.append(next(streams[0]))
        except StopIteration:
            ended.set()

    while not ended.is_set():
        in_a_thread(read)
    assert_stream([Chunk.from_dict(each) for each in chunks])
    assert it.messages[2]["content"] == "1\n2\n"
    assert shell.user_ns["name"] == "lmc-stream"


# The app is the computer --------------------------------------------------------------------------


def test_the_app_may_be_the_computer() -> None:
    """The guide's second tip, with the chunks and calls that it names."""
    interpreter = agent([said("I compute."), code("2380*3875")], [said("It is 9222500.")])
    for chunk in interpreter.chat("What is 2380*3875?", display=False, stream=True):
        if chunk["type"] == "confirmation":
            break
    messages = interpreter.messages  # guide:
    messages.append(
        {"role": "computer", "type": "console", "format": "output", "content": "9222500"}
    )
    new = interpreter.chat(messages, display=False)  # guide: interpreter.chat(messages)
    assert plain(new) == [{"role": "assistant", "type": "message", "content": "It is 9222500."}]
    assert ran(interpreter) == []
    assert kinds(messages) == [
        ("user", "message"),
        ("assistant", "message"),
        ("assistant", "code"),
        ("computer", "console"),
        ("assistant", "message"),
    ]
    assert_valid(interpreter.session.messages)


def test_the_app_is_the_computer_without_leaving_the_stream() -> None:
    it = agent([code("2380*3875")], [said("It is 9222500.")])
    chunks = []
    for chunk in it.chat("What is 2380*3875?", display=False, stream=True):
        chunks.append(chunk)
        if chunk["type"] == "confirmation":
            it.messages.append(
                {"role": "computer", "type": "console", "format": "output", "content": "9222500"}
            )
    assert ran(it) == []
    assert [each["content"] for each in it.messages][1:] == [
        "2380*3875",
        "9222500",
        "It is 9222500.",
    ]
    assert_stream([Chunk.from_dict(each) for each in chunks])


def test_the_app_answers_with_images_too_and_a_question_behind() -> None:
    it = agent([code("plot()")], [said("I see.")])
    until_confirmation(it.chat("Plot.", display=False, stream=True))
    it.messages.append(
        {"role": "computer", "type": "image", "format": "base64.png", "content": "AAAA"}
    )
    it.messages.append({"role": "computer", "type": "console", "format": "output", "content": ""})
    it.chat("What does it show?", display=False)
    assert kinds(it.messages) == [
        ("user", "message"),
        ("assistant", "code"),
        ("computer", "image"),
        ("computer", "console"),
        ("user", "message"),
        ("assistant", "message"),
    ]


def test_with_a_real_provider_the_apps_output_answers_the_models_call(
    model_server: ModelServer,
) -> None:
    model_server.turns = [Turn(tool("python", "2380*3875")), Turn(text("It is 9222500."))]
    it = OpenInterpreter(computer=default_computer(), conversation_history=False)
    it.llm.model, it.llm.api_base, it.llm.api_key = "openai/m", model_server.base, "x"
    it.llm.supports_functions = True
    until_confirmation(it.chat("What is 2380*3875?", display=False, stream=True))
    it.messages.append(
        {"role": "computer", "type": "console", "format": "output", "content": "9222500"}
    )
    assert it.chat(it.messages, display=False)[0]["content"] == "It is 9222500."
    sent = model_server.requests[1].body["messages"]
    assert sent[-2]["tool_calls"][0]["function"]["name"] == "execute"
    assert sent[-1]["role"] == "tool"
    assert "9222500" in sent[-1]["content"]


# Who says yes -------------------------------------------------------------------------------------


def test_without_a_stream_nothing_runs_unasked() -> None:
    it = agent([said("So:"), code("x = 1")], [said("Done.")])
    with pytest.warns(RuntimeWarning, match="code waits for an answer and was not run"):
        new = it.chat("Go.", display=False)
    assert kinds(new) == [("assistant", "message"), ("assistant", "code")]
    assert ran(it) == []
    it.auto_run = True
    assert it.chat(display=False)[-1]["content"] == "Done."
    assert ran(it) == [("python", "x = 1")]


def test_auto_run_may_be_languages() -> None:
    it = agent([code("x = 1"), code("ls", "shell")], auto_run=["python"])
    with pytest.warns(RuntimeWarning, match="code waits"):
        it.chat("Go.", display=False)
    assert ran(it) == [("python", "x = 1")]
    assert it.messages[-1]["format"] == "shell"


@pytest.mark.parametrize("mode", ["ask", "auto"])
def test_in_safe_mode_nothing_runs_unasked(mode: str) -> None:
    it = agent([code("x = 1")], auto_run=True, safe_mode=mode)
    with pytest.warns(RuntimeWarning, match="code waits"):
        it.chat("Go.", display=False)
    assert ran(it) == []
    assert it.auto_run is True
    it.safe_mode = "off"
    it.chat(display=False)
    assert ran(it) == [("python", "x = 1")]
    with pytest.raises(SessionError, match="safe_mode is 'on'"):
        it.safe_mode = "on"


@pytest.mark.parametrize("answers", [["y"], ["n"], ["not now"]])
def test_with_display_a_person_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answers: list[str]
) -> None:
    for stream in (False, True):
        it = agent([code("x = 1")], [said("Done.")])
        asked: list[str] = []

        def ask(prompt: str, asked: list[str] = asked) -> str:
            asked.append(prompt)
            return answers[0]

        monkeypatch.setattr(it, "_keyboard", lambda: ask)
        if stream:
            list(it.chat("Go.", stream=True))
        else:
            it.chat("Go.")
        assert len(asked) == 1
        assert bool(ran(it)) == (answers == ["y"])
        assert it.messages[-1]["content"] == "Done."
        assert "x = 1" in capsys.readouterr().out


def test_display_false_shows_nothing_whatever_the_code_prints(
    shell: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    it = agent([code("print('loud')\n40 + 2")], [said("Done.")],
               computer=default_computer(shell), auto_run=True)  # fmt: skip
    it.chat("Go.", display=False)
    assert it.messages[2]["content"] == "loud\n42\n"
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("", "")
    assert [each["content"] for each in it.computer.run("python", "print('on')")] == ["on\n"]
    assert capfd.readouterr().out == ""
    it.computer.run("python", "print('shown')", display=True)
    assert capfd.readouterr().out == "shown\n"
    it.computer.run("shell", "echo from the shell", display=True)
    assert capfd.readouterr().out == "from the shell\n"
    it.computer.terminate()


def test_display_says_what_the_model_waits_for_and_no_later_chat_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", out := Terminal())
    it = agent([said("One.")], [said("Two.")])
    for _ in it.chat("Hi.", stream=True):
        it.session.history.tell(Noted("loading"))
    assert "[loading]" in out.getvalue()
    out.truncate(0)
    it.session.history.tell(Noted("loading"))
    it.chat("Hi.", display=False)
    it.session.history.tell(Noted("loading"))
    assert out.getvalue() == ""


def test_display_shows_text_and_what_code_prints_once(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    it = agent([said("Look:"), code("print('printed', 'once')")], [said("Done.")],
               computer=default_computer(shell), auto_run=True)  # fmt: skip
    list(it.chat("Go.", stream=True))
    shown = capsys.readouterr().out
    assert shown.count("printed once") == 1
    assert "Look:" in shown
    assert "Done." in shown


@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_stream_with_display_shows_what_code_prints_once(
    where: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a script, where nobody can be asked, and in a server, which reads it on a thread."""
    it = agent([code("print('printed', 'once')\n'the' + ' value'")], [said("Done.")],
               computer=default_computer(shell), auto_run=True)  # fmt: skip
    got: list[str] = []

    def read_it() -> None:
        for chunk in it.chat("Go.", stream=True, display=True):
            if chunk.get("format") == "output" and "content" in chunk:
                got.append(chunk["content"])
                sys.stdout.write("the app itself\n")

    if where == "main":
        read_it()
    else:
        reader = threading.Thread(target=read_it)
        reader.start()
        reader.join()
    assert "".join(got) == "printed once\n'the value'\n"
    shown = capsys.readouterr().out
    assert shown.count("printed once") == shown.count("'the value'") == 1
    assert shown.count("the app itself") == len(got)
    assert not it.python().quiet


def test_code_of_an_app_on_a_thread_is_shown_once_and_the_app_is_not_heard(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    it = agent(computer=default_computer(shell))
    got: list[str] = []

    def read_it() -> None:
        for chunk in it.computer.run("python", "print(1)\n2", stream=True, display=True):
            if chunk.get("format") == "output" and "content" in chunk:
                got.append(chunk["content"])
                sys.stdout.write("the app itself\n")

    reader = threading.Thread(target=read_it)
    reader.start()
    reader.join()
    assert "".join(got) == "1\n2\n"
    assert capsys.readouterr().out.replace("the app itself\n", "") == "1\n2\n"


# Instructions, output, loop -----------------------------------------------------------------------


def test_instructions_reach_the_model_and_are_each_instances_own(
    model_server: ModelServer,
) -> None:
    model_server.turns = [Turn(text("Hello."))]

    def told(it: OpenInterpreter) -> str:
        it.chat("Hi.", display=False)
        return str(model_server.requests[-1].body["messages"][0]["content"])

    made = []
    for _ in range(3):
        it = OpenInterpreter(computer=default_computer(), conversation_history=False)
        it.llm.model, it.llm.api_base = "openai/m", model_server.base
        made.append(it)
    one, two, three = made
    one.system_message = "Speak like a pirate."
    two.system_message += "\nAnswer in French."
    three.custom_instructions = "The person is a biologist."
    assert one.system_message == "Speak like a pirate."
    assert two.system_message != one.system_message
    assert told(one).startswith("Speak like a pirate.")
    assert INSTRUCTIONS not in told(one)
    assert INSTRUCTIONS in told(two)
    assert "You can run: python" in told(two)
    assert "\nAnswer in French." in told(two)
    assert "\nThe person is a biologist." in told(three)


def test_max_output_is_what_the_model_gets_of_a_result(model_server: ModelServer) -> None:
    model_server.turns = [Turn(text("Long."))]
    it = OpenInterpreter(computer=default_computer(), conversation_history=False, max_output=200)
    it.llm.model, it.llm.api_base = "openai/m", model_server.base
    it.messages = [
        {"role": "user", "type": "message", "content": "Go."},
        {"role": "assistant", "type": "code", "format": "python", "content": "print(x)"},
        {"role": "computer", "type": "console", "format": "output", "content": "a" * 9_000 + "END"},
        {"role": "user", "type": "message", "content": "Well?"},
    ]
    it.chat(display=False)
    sent = json.dumps(model_server.requests[0].body["messages"])
    assert 50 < sent.count("a" * 10) * 10 < 400
    assert "END" in sent
    assert len(it.messages[2]["content"]) == 9_003
    with pytest.raises(SessionError, match="max_output is 0"):
        it.max_output = 0


def test_a_loop_goes_on_until_the_model_says_a_breaker() -> None:
    it = agent([said("I begin.")], [said("Half of it.")], [said(f"All. {LOOP_BREAKERS[0]}")])
    it.loop = True
    it.chat("Work.", display=False)
    assert [each["content"] for each in it.messages] == [
        "Work.",
        "I begin.",
        LOOP_MESSAGE,
        "Half of it.",
        LOOP_MESSAGE,
        f"All. {LOOP_BREAKERS[0]}",
    ]
    for breaker in LOOP_BREAKERS:
        assert breaker in LOOP_MESSAGE


def test_a_loop_has_words_of_ones_own_and_an_end() -> None:
    it = agent(*([[said("La la.")]] * 40), loop=True, loop_message="More!", loop_breakers=["fin"])
    it.session.max_turns = 3
    with pytest.warns(RuntimeWarning, match="ended after 3 rounds"):
        it.chat("Sing.", display=False)
    assert [each["content"] for each in it.messages].count("More!") == 3
    it.llm.model = ScriptedModel([said("FIN")])
    it.chat("And now?", display=False)
    assert it.messages[-1]["content"] == "FIN"


def test_a_loop_stops_at_code_that_waits() -> None:
    it = agent([code("x = 1")], loop=True)
    with pytest.warns(RuntimeWarning, match="code waits"):
        it.chat("Work.", display=False)
    assert it.messages[-1]["type"] == "code"


# Open Interpreter's own tests ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt",
    ["Hello World", "What is 1+1?", "Plot it.", "Two blocks, please."],
)
def test_generator(prompt: str, shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """test_generator: every chunk's shape, and one start and one end for each message."""
    it = agent([said("Here"), said(" it is:"), code("x = 1\nprint(x)")], [said("Done.")],
               computer=default_computer(shell), auto_run=True)  # fmt: skip
    flags: dict[tuple[Any, ...], list[int]] = {}
    formats = set()
    for chunk in it.chat(prompt, stream=True, display=True):
        assert chunk["role"] in ("user", "assistant", "computer")
        assert chunk["type"] in ("message", "code", "console", "confirmation")
        if "format" in chunk:
            assert isinstance(chunk["format"], str)
            formats.add(chunk["format"])
        if chunk["type"] == "confirmation":
            continue
        key = chunk["role"], chunk["type"]
        count = flags.setdefault(key, [0, 0])
        if "start" in chunk:
            count[0] += 1
        elif "end" in chunk:
            count[1] += 1
        else:
            assert "content" in chunk
    assert flags[("assistant", "code")] == [1, 1]
    assert flags[("computer", "console")] == [1, 1]
    assert flags[("assistant", "message")] == [2, 2]
    assert {"output", "active_line"} <= formats
    capsys.readouterr()


def test_break_execution(shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """test_break_execution: breaking out of a streamed `computer.run` halts the code.

    It looks for words of several writes within one chunk.
    """
    it, file = agent(computer=default_computer(shell)), tmp_path / "numbers.txt"
    program = (
        "import time\n"
        f"with open({str(file)!r}, 'a', buffering=1) as file:\n"
        "    for i in range(1, 6):\n"
        "        print('adding', i, 'to file')\n"
        "        print(i, file=file)\n"
        "        print('starting to sleep')\n"
        "        time.sleep(0.05)\n"
    )
    for chunk in it.computer.run("python", program, stream=True, display=True):
        if chunk.get("format") == "output" and "adding 3 to file" in chunk["content"]:
            break
    assert file.read_text().split()[:2] == ["1", "2"]
    assert "5" not in file.read_text()
    assert capsys.readouterr().out.count("adding 3 to file") == 1
    assert it.messages == []


def test_computer_run_gives_messages_and_its_languages(shell: Any) -> None:
    it = agent(computer=default_computer(shell))
    assert it.computer.run("python", "print('a')\n34 / 24") == [
        {
            "role": "computer",
            "type": "console",
            "format": "output",
            "content": "a\n1.4166666666666667\n",
        }
    ]
    names = [language.name for language in it.computer.languages]
    assert {"python", "shell", "javascript", "html", "r", "applescript"} <= set(names)
    with pytest.raises(UnknownLanguageError, match="no language 'cobol'"):
        it.computer.run("cobol", "STOP RUN.")
    it.computer.run("shell", "X=5")
    assert it.computer.run("bash", "echo $X")[0]["content"] == "5\n"
    it.computer.terminate()
    assert it.computer.run("shell", "echo [$X]")[0]["content"] == "[]\n"
    it.computer.terminate()


def test_hello_world() -> None:
    assert plain(
        agent([said("Hello, World!")]).chat("Reply with Hello, World!", display=False)
    ) == [{"role": "assistant", "type": "message", "content": "Hello, World!"}]


def test_math(shell: Any) -> None:
    it = agent([code("2380*3875")], [said("9222500")], computer=default_computer(shell),
               auto_run=True)  # fmt: skip
    assert "9222500" in it.chat("What's 2380*3875?", display=False)[-1]["content"]
    assert it.messages[2]["content"] == "9222500\n"


def test_write_to_file_is_read_back_in_a_new_conversation(shell: Any, tmp_path: Path) -> None:
    file = str(tmp_path / "file.txt")
    it = agent(
        [code(f"from pathlib import Path\nPath({file!r}).write_text('Washington')")],
        [said("Written.")],
        [code(f"print(Path({file!r}).read_text())")],
        [said("Washington")],
        computer=default_computer(shell),
        auto_run=True,
    )
    it.chat("Write it.", display=False)
    it.messages = []
    assert it.chat("Read it.", display=False)[1]["content"] == "Washington\n"


def test_files() -> None:
    messages = [{"role": "user", "type": "file", "content": "/Users/me/file.txt"}]
    assert agent([said("I can't.")]).chat(messages, display=False)[0]["content"] == "I can't."


def test_reset() -> None:
    it = agent([said("Hello.")])
    it.chat("Hi.", display=False)
    it.reset()
    assert it.messages == []


def test_async() -> None:
    """test_async, and what ends it is raised where it is waited for."""
    go = threading.Event()
    it = agent()
    it.llm.model = Held(said("Hello"), go, said(" there."))
    assert it.chat("Hi.", display=False, blocking=False) is None
    with pytest.raises(SessionError, match="another answer is still in progress"):
        it.chat("And?", display=False, blocking=False)
    go.set()
    assert plain(it.wait()) == [{"role": "assistant", "type": "message", "content": "Hello there."}]
    it.llm.model = ScriptedModel([ModelError("the line broke")])
    it.chat("Again.", display=False, blocking=False)
    with pytest.raises(ModelError, match="the line broke"):
        it.wait()
    assert it.wait() == []


def test_stop_ends_an_answer_on_a_thread() -> None:
    it = agent()
    go = threading.Event()
    it.llm.model = Held(said("Hello"), go, said(" never"))
    stream = it.chat("Hi.", display=False, stream=True)
    next(stream)
    next(stream)
    stopper = threading.Thread(target=it.stop)
    stopper.start()
    assert list(stream) == []
    stopper.join()
    assert it.messages[-1]["content"] == "Hello"


def test_malformed_calls_never_run_as_they_are() -> None:
    """test_hallucinations runs them; what a model did not say well is never guessed here."""
    it = agent(auto_run=True)
    wrong = {"role": "assistant", "type": "code", "format": "python"}
    it.messages = [{**wrong, "content": '{"language": "python", "code": "print(22)"}'}]
    it.llm.model = ScriptedModel([said("Hm.")])
    it.chat(display=False)
    assert ran(it) == [("python", '{"language": "python", "code": "print(22)"}')]


# The guide's JavaScript ---------------------------------------------------------------------------

MEDIA = [
    line(1),
    printed("one\n"),
    line(2),
    picture("iVBORw0KGgo="),
    picture("R0lGODlhAQABAAAAACw="),
    Chunk("computer", "code", "html", "<b>bold</b>", end=True),
    Chunk("computer", "console", "output", "for the model", "assistant"),
    line(7),
    printed("two ✓\n"),
]


def test_the_guides_processchunk_makes_our_messages_of_a_stream_with_every_medium() -> None:
    it = agent(
        [said("Look "), said("here:"), code("plot()\n"), code("show()")],
        [said("Thought.", recipient="user"), said("Seen."), code("ls", "shell")],
        [said("Done.")],
        computer=PreparedComputer(*MEDIA),
        auto_run=True,
    )
    chunks = list(it.chat("Go.", display=False, stream=True))
    assert_stream([Chunk.from_dict(each) for each in chunks])
    wire = without_confirmations(chunks)
    (theirs,) = in_node([wire])
    assert comparable(theirs) == comparable(ours(wire))
    kept = [each for each in plain(it.messages[1:]) if each["content"]]
    assert comparable([each for each in theirs if each["content"]]) == comparable(kept)
    assert {"image", "code", "console", "message"} == {each["type"] for each in theirs}
    assert all(each["activeLine"] is None for each in theirs if each["type"] == "console")


class Endpoint(ThreadingHTTPServer):
    """The Python server that the guide's client talks to: each chunk is a line of JSON."""

    def __init__(self, interpreter: OpenInterpreter) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.interpreter, self.left = interpreter, threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        stream = self.server.interpreter.chat(asked["messages"], display=False, stream=True)
        with contextlib.closing(stream):
            try:
                for chunk in stream:
                    if chunk["type"] != "confirmation":  # the client has no place for one
                        self.send(json.dumps(chunk).encode() + b"\n")
                self.send(b"")
            except OSError:
                self.close_connection = True
                stream.close()
                self.server.left.set()

    def send(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def client(interpreter: OpenInterpreter, *arguments: str) -> Iterator[tuple[Any, Endpoint]]:
    """The guide's client in node: ask(message) gives all its messages after the answer."""
    node = shutil.which("node")
    assert node is not None, "node is needed here: `make test` installs it"
    with Endpoint(interpreter) as endpoint:
        thread = threading.Thread(target=endpoint.serve_forever)
        thread.start()
        script = Path(__file__).with_name("guide_client.mjs")
        process = subprocess.Popen(
            [node, str(script), endpoint.url, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip

        def ask(content: str) -> list[dict[str, Any]]:
            message = {"role": "user", "type": "message", "content": content}
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        try:
            yield ask, endpoint
        finally:
            process.stdin.close()
            process.stdout.close()
            process.wait(60)
            endpoint.shutdown()
            thread.join(60)


def test_the_guides_client_holds_a_conversation_with_a_server_of_ours(shell: Any) -> None:
    it = agent(
        [said("I compute: "), code("x = 2380*3875\nprint(x)")],
        [said("It is 9222500.")],
        [said("You "), said("are welcome.")],
        computer=default_computer(shell),
        auto_run=True,
    )
    with client(it) as (ask, _):
        first = ask("What is 2380*3875?")
        assert [each["content"] for each in first] == [
            "What is 2380*3875?",
            "I compute: ",
            "x = 2380*3875\nprint(x)",
            "9222500\n",
            "It is 9222500.",
        ]
        ids = [each["id"] for each in it.messages]
        second = ask("Thanks!")
    assert [each["content"] for each in second][-2:] == ["Thanks!", "You are welcome."]
    assert comparable(plain(it.messages)) == comparable(second)
    assert [each["id"] for each in it.messages][:5] == ids


def test_the_guides_stop_button_halts_the_code(shell: Any) -> None:
    endless = (
        "import time\ni = 0\nwhile True:\n    i += 1\n    print(i, flush=True)\n"
        "    time.sleep(0.01)"
    )
    it = agent([code(endless)], [said("Done.")], computer=default_computer(shell), auto_run=True)
    with client(it, "stops") as (ask, endpoint):
        ask("Count.")
        assert endpoint.left.wait(60), "the server was not told"
    assert not it.session.busy
    assert it.messages[-1]["role"] == "computer"
    assert it.messages[-1]["partial"] is True


# A plain script -----------------------------------------------------------------------------------

SCRIPT = """\
import sys
sys.path.insert(0, {tests!r})
from scripted import ScriptedModel, code, said
from lmc_jupyter import OpenInterpreter

x = 40
agent = OpenInterpreter(conversation_history=False)
agent.llm.model = ScriptedModel(
    [said("I add:"), code("y = x + 2\\nprint('y is', y)")], [said("It is 42.")], [said("Bye.")]
)
new = agent.chat({first!r})
print("new:", [each["content"] for each in new], "y" in globals())
agent.chat()
print("messages:", len(agent.messages))
"""


def test_in_a_terminal_a_script_asks_and_its_names_are_the_codes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parent), first="Add."))
    root = str(Path(__file__).parents[1])
    child = pexpect.spawn(
        sys.executable, [str(script)], encoding="utf-8", timeout=120, echo=False,
        env={**os.environ, "PYTHONPATH": root, "TERM": "dumb"}, dimensions=(50, 200),
    )  # fmt: skip
    try:
        child.expect_exact("Run this python code?")
        assert "I add:" in child.before
        child.sendline("y")
        child.expect_exact("y is 42")
        child.expect_exact("It is 42.")
        child.expect_exact("new: ['I add:', \"y = x + 2\\nprint('y is', y)\", 'y is 42\\n'")
        child.expect_exact("True")
        child.expect_exact("Ask (or exit): ")
        child.sendline("Bye?")
        child.expect_exact("Bye.")
        child.expect_exact("Ask (or exit): ")
        child.sendline("exit")
        child.expect_exact("messages: 7")
        child.expect(pexpect.EOF)
    finally:
        child.close(force=True)
    assert child.exitstatus == 0


def test_where_nobody_can_be_asked_a_script_runs_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parent), first="Add."))
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert "code waits for an answer and was not run" in done.stderr
    assert "False" in done.stdout
    assert "y is" not in done.stdout.split("new:")[0].replace("print('y is', y)", "")


def test_the_conversation_is_kept_like_any_other_or_not() -> None:
    kept = OpenInterpreter(computer=Echo())
    kept.llm.model = ScriptedModel([said("Hello.")])
    kept.chat("Keep this, please.", display=False)
    it = agent([said("Hello.")])
    it.chat("Forget this, please.", display=False)
    titles = [each.title for each in kept.session.journal.conversations.list()]
    assert any("Keep this" in title for title in titles)
    assert not any("Forget this" in title for title in titles)
    assert it.session.journal.conversations is None
    kept.session.close()


# What an app does in the middle -------------------------------------------------------------------


def contents(interpreter: OpenInterpreter) -> list[Any]:
    return [each["content"] for each in interpreter.messages]


def test_a_message_appended_in_the_middle_stays_behind_what_comes() -> None:
    it = agent([said("Hello.")], [said("Bye.")])
    for chunk in it.chat("Hi", display=False, stream=True):
        if chunk.get("start"):
            it.messages.append({"role": "user", "type": "message", "content": "later"})
    assert contents(it) == ["Hi", "Hello.", "later"]
    it.chat("Next", display=False)
    assert contents(it) == ["Hi", "Hello.", "later", "Next", "Bye."]


@pytest.mark.parametrize("way", ["edit", "insert", "delete"])
def test_what_an_app_does_at_a_confirmation_loses_nothing_that_comes(way: str) -> None:
    it = agent([code("1 + 1")], [said("It is 2.")], [said("Bye.")])
    new = {"role": "user", "type": "message", "content": "Hello!"}
    for chunk in it.chat("Hi", display=False, stream=True):
        if chunk["type"] == "confirmation":
            if way == "insert":
                it.messages.insert(0, new)
            elif way == "delete":
                del it.messages[0]
            else:
                it.messages[0]["content"] = "Hello!"
        _ = it.messages  # while code runs too
    first = {"edit": ["Hello!"], "insert": ["Hello!", "Hi"], "delete": []}[way]
    it.chat("Next", display=False)
    assert [each for each in contents(it) if each != "Hi" or way == "insert"] == [
        *first,
        "1 + 1",
        "1 + 1\n",
        "It is 2.",
        "Next",
        "Bye.",
    ]
    assert ran(it) == [("python", "1 + 1")]


def test_what_an_app_put_in_between_stands_there_once_when_the_question_is_refused() -> None:
    it = agent([said("Hello.")], [said("Bye.")])
    it.chat("Hi", display=False)
    it.messages.insert(1, {"role": "user", "type": "message", "content": "between"})
    it.messages.append({"role": "user", "type": "message", "content": "later"})
    with pytest.raises(SessionError, match="empty"):
        it.chat(" ", display=False)
    assert contents(it) == ["Hi", "between", "Hello.", "later"]
    it.chat("Next", display=False)
    assert contents(it) == ["Hi", "between", "Hello.", "later", "Next", "Bye."]


@pytest.mark.parametrize("with_ids", [True, False])
def test_copies_that_an_app_puts_in_the_place_of_all_messages_are_the_same_conversation(
    with_ids: bool,
) -> None:
    it = agent([said("Hello.")], [said("Bye.")])
    it.chat("Hi", display=False)
    ids = [each["id"] for each in it.messages]
    it.messages[:] = [dict(each) for each in it.messages] if with_ids else plain(it.messages)
    it.chat("Next", display=False)
    assert contents(it) == ["Hi", "Hello.", "Next", "Bye."]
    assert [each["id"] for each in it.messages][:2] == ids
    it.messages[:] = [{"role": "user", "type": "message", "content": "Anew"}]
    it.llm.model = ScriptedModel([said("Well.")])
    it.chat(display=False)
    assert contents(it) == ["Anew", "Well."]


def test_an_assigned_list_counts_and_not_what_was_changed_in_the_one_before() -> None:
    it = agent()
    it.messages = [{"role": "user", "type": "message", "content": "Hi"}]
    same = [dict(it.messages[0])]
    it.messages[0]["content"] = "Ho"
    it.messages = same
    assert contents(it) == ["Hi"]


def test_code_that_an_app_puts_in_the_place_of_what_waits_is_what_runs() -> None:
    it = agent([code("x = 1")], [said("Done.")])
    for chunk in it.chat("Go.", display=False, stream=True):
        if chunk["type"] == "confirmation":
            it.messages[-1] = {
                "role": "assistant",
                "type": "code",
                "format": "python",
                "content": "x = 2",
            }
    assert ran(it) == [("python", "x = 2")]
    assert contents(it) == ["Go.", "x = 2", "x = 2\n", "Done."]


def test_what_could_not_be_kept_of_a_list_is_said() -> None:
    it = agent()
    with pytest.warns(RuntimeWarning, match="description of an image"):
        it.messages = [
            {"role": "user", "type": "message", "content": "Hi"},
            {"role": "computer", "type": "image", "format": "description", "content": "a cat"},
        ]


def test_code_of_the_app_between_chunks_leaves_python_as_quiet_as_it_was() -> None:
    it = agent([code("1")], [said("Well.")])
    it.session.computer.languages["python"].quiet = False
    python = it.python()
    for chunk in it.chat("Hi", display=False, stream=True):
        if chunk["type"] == "confirmation":
            it.computer.run("shell", "ls", display=True)
            assert python.quiet
    assert not python.quiet


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError, GeneratorExit])
def test_whatever_ends_an_app_s_loop_at_any_chunk_the_conversation_goes_on(stop: Any) -> None:
    def asked() -> OpenInterpreter:
        return agent([said("So: "), code("1 + 1"), said("and "), code("2")], [said("Done.")])

    length = len(list(asked().chat("Hi", display=False, stream=True)))
    for at in range(length):
        it = asked()
        stream = it.chat("Hi", display=False, stream=True)
        for _ in range(at + 1):
            next(stream)
        with contextlib.suppress(stop):
            stream.throw(stop())
        runs = list(ran(it))
        assert_valid(it.session.messages)
        assert it.messages == [each.to_dict() for each in it.session.messages]
        assert not it.session.busy
        it.chat("Next", display=False)
        assert contents(it)[-2:][0] == "Next" or it.session.pending is not None
        assert list(ran(it)) == runs, "nothing that waited was run"


def interrupted(act: Callable[[], Any], at: int) -> bool:
    """Do it, with an interrupt before its line so many of dicts.py; whether it came."""
    seen = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal seen
        if not frame.f_code.co_filename.endswith("dicts.py"):
            return None
        seen += event == "line"
        if event == "line" and seen == at:
            signal.raise_signal(signal.SIGINT)
        return trace

    old = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(old)
    return False


CHANGES: dict[str, Callable[[Any], Any]] = {
    "append": lambda history: history.append(user("c")),
    "cut": lambda history: history.cut(1),
    "rewrite": lambda history: history.rewrite(1, user("c")),
    "put": lambda history: history.put(1, [user("c"), user("d")]),
    "another": lambda history: history.tell(Replaced(Conversation([user("c"), user("d")]))),
    "grow": lambda history: history.grow(said("Hel")),
}


def user(content: str) -> Message:
    return Message("user", "message", content=content).stamped()


@pytest.mark.parametrize("change", CHANGES)
def test_an_interrupt_at_any_line_leaves_the_list_right(change: str) -> None:
    later = {"role": "user", "type": "message", "content": "later"}
    at, came = 0, True
    while came:
        at += 1
        it = agent(messages=[{**later, "content": each} for each in "ab"])
        it.messages.append(later)
        history = it.session.history
        if change == "grow":
            history.grow(Chunk("assistant", "message", start=True))

        def act(it: OpenInterpreter = it, history: Any = history) -> None:
            CHANGES[change](history)
            _ = it.messages

        came = interrupted(act, at)
        expected = [each.to_dict() for each in it.session.messages]
        if (unfinished := history.growing_message()) is not None:
            expected.append(unfinished.to_dict())
        assert it.messages == [*expected, later], f"after an interrupt at line {at}"
    assert at > 10


# Other threads ------------------------------------------------------------------------------------


def test_a_watcher_may_read_the_messages_on_another_thread_while_it_is_told() -> None:
    """As where the panel renames a conversation while an answer comes."""
    it = agent([said("Hello.")])
    waits: list[bool] = []

    def watch(_: Any) -> None:
        reader = threading.Thread(target=lambda: it.messages, daemon=True)
        reader.start()
        reader.join(20)
        waits.append(reader.is_alive())

    it.session.history.subscribe(watch)
    asking = threading.Thread(target=lambda: it.chat("Hi.", display=False))
    asking.start()
    it.session.history.tell(Renamed("Another title"))
    asking.join(60)
    assert it.session.history.last.content == "Hello."
    assert waits
    assert not any(waits)


class Watched:
    """A lock that says when somebody begins to wait for it."""

    def __init__(self, lock: Any, waited_for: threading.Event) -> None:
        self._lock, self._waited_for = lock, waited_for

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._waited_for.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def locked(self) -> bool:
        return bool(self._lock.locked())


def reading(whole: bool, at: int) -> list[Any] | None:
    """What another thread reads at this line, while a message becomes whole or is broken off."""
    it = agent(messages=[{"role": "user", "type": "message", "content": "Hi"}])
    history, count, readers = it.session.history, 0, []
    history.grow(Chunk("assistant", "message", start=True))
    history.grow(said("Hello."))
    seen: list[Any] = []
    has_read_or_waits = threading.Event()
    for owner in (it, it._session_and_list()[1], history):
        for name, lock in vars(owner).items():
            if hasattr(lock, "acquire"):
                setattr(owner, name, Watched(lock, has_read_or_waits))

    def read() -> None:
        seen.extend(contents(it))
        has_read_or_waits.set()

    def look(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.endswith(("history.py", "dicts.py")):
            return None
        count += event == "line"
        if event == "line" and count == at:
            readers.append(threading.Thread(target=read, daemon=True))
            readers[0].start()
            # where it waits for a lock, it reads behind the next lines
            assert has_read_or_waits.wait(60), "it waits for something that is no lock of ours"
        return look

    old = sys.gettrace()
    sys.settrace(look)
    try:
        history.grow(Chunk("assistant", "message", end=True)) if whole else history.flush()
    finally:
        sys.settrace(old)
    for each in readers:
        each.join(60)
    return seen if readers else None


@pytest.mark.parametrize("whole", [True, False])
def test_no_message_is_missing_or_doubled_for_another_thread(whole: bool) -> None:
    at = 1
    while (seen := reading(whole, at)) is not None:
        assert seen == ["Hi", "Hello."], f"at line {at}"
        at += 1
    assert at > 20
