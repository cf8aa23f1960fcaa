"""What Tab offers after `%lmc` and `%%lmc`: our words only, and nothing elsewhere."""

from __future__ import annotations

import pytest
from IPython.core.completer import provisionalcompleter
from scripted import ScriptedModel, said

from lmc_jupyter import current_session
from lmc_jupyter.frontends.config import profiles
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.magic.commands import COMMANDS
from lmc_jupyter.models import Offer


@pytest.fixture
def offers(shell, monkeypatch, tmp_path):
    """The completions at the end of a text: what the cell would be with each of them."""
    monkeypatch.chdir(tmp_path)
    found = [Offer("openai/gpt", "a key"), Offer("ollama_chat/q", "Ollama", {"api_base": "u"})]
    monkeypatch.setattr("lmc_jupyter.models.find_offers", lambda: found)
    shell.Completer.use_jedi = False
    shell.extension_manager.load_extension("lmc_jupyter")

    def complete(text: str, after: str = "") -> list[str]:
        with provisionalcompleter():
            found = list(shell.Completer.completions(text + after, len(text)))
        return [text[: each.start] + each.text + text[each.end :] for each in found]

    complete.shell = shell
    yield complete
    if "lmc_jupyter" in shell.extension_manager.loaded:
        shell.extension_manager.unload_extension("lmc_jupyter")


def test_all_commands_are_offered_in_the_order_of_the_help(offers):
    assert offers("%lmc ") == [f"%lmc {command.name}" for command in COMMANDS]


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("%lmc mo", ["%lmc model", "%lmc models"]),
        ("x = 1\n%lmc lang", ["x = 1\n%lmc languages"]),
        ("    %lmc pan", ["    %lmc panel"]),
        ("%lmc model ", ["%lmc model openai/gpt", "%lmc model ollama_chat/q", "%lmc model local"]),
        ("%lmc model op", ["%lmc model openai/gpt"]),
        ("%lmc model openai/g", ["%lmc model openai/gpt"]),
        (
            "%lmc model openai/gpt ",
            ["%lmc model openai/gpt --api-base", "%lmc model openai/gpt --keep"],
        ),
        (
            "%lmc model openai/gpt --",
            ["%lmc model openai/gpt --api-base", "%lmc model openai/gpt --keep"],
        ),
        ("%lmc help ret", ["%lmc help retry"]),
        ("%lmc explain num", ["%lmc explain number"]),
        ("%lmc ask What is @num", ["%lmc ask What is @number"]),
        ("%lmc ask What is {{num", ["%lmc ask What is {{number}}"]),
        ("%lmc config max_t", ["%lmc config max_turns"]),
        (
            "%lmc config context ",
            [
                "%lmc config context notebook",
                "%lmc config context names",
                "%lmc config context none",
            ],
        ),
        ("%lmc config max_turns ", ["%lmc config max_turns 20"]),
        ("%lmc config model lo", ["%lmc config model local"]),
        ("%lmc profile ", ["%lmc profile careful"]),
        ("%lmc key OPENAI", ["%lmc key OPENAI_API_KEY"]),
        ("%lmc key LMC_API_KEY --f", ["%lmc key LMC_API_KEY --forget"]),
        ("%lmc load a", ["%lmc load a.json"]),
        ("%lmc load t", ['%lmc load "two words.json"']),
        ('%lmc load "two w', ['%lmc load "two words.json"']),
        ("%lmc load sub/", ["%lmc load sub/inner.yaml"]),
        ("%lmc save x.json --format open", ["%lmc save x.json --format openai"]),
        ("%lmc save x --format ma", ["%lmc save x --format markdown"]),
        ("%lmc load x --format j", ["%lmc load x --format jupyter-ai"]),
        ("%lmc save x.json --format openai --r", ["%lmc save x.json --format openai --replace"]),
        ("%%lmc --m", ["%%lmc --model"]),
        ("%%lmc --auto-run --n", ["%%lmc --auto-run --new", "%%lmc --auto-run --no-context"]),
        ("%%lmc -m op", ["%%lmc -m openai/gpt"]),
        ("%%lmc --model lo", ["%%lmc --model local"]),
        ("%%lmc --file a", ["%%lmc --file a.json"]),
        ("%%lmc\nWhat is @num", ["%%lmc\nWhat is @number"]),
        ("%%lmc\nWhat is {{num", ["%%lmc\nWhat is {{number}}"]),
    ],
)
def test_only_what_fits_is_offered(offers, tmp_path, monkeypatch, text, offered):
    offers.shell.user_ns["number"] = 5
    (tmp_path / "sub").mkdir()
    for name in ("a.json", "two words.json", "sub/inner.yaml", ".hidden.json"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(profiles, "names", lambda: ["careful"])
    assert offers(text) == offered


@pytest.mark.parametrize(
    "text",
    ["%lmc undo ", "%lmc ask What is ma", "%lmc nonsense ma", "%lmc model zzz", "%lmc rename pri",
     "%lmc load nowhere/", "%%lmc --api-base htt", "%%lmc pri", "%lmc ask me@num"],
)  # fmt: skip
def test_where_nothing_fits_nothing_of_python_is_offered(offers, text):
    offers.shell.user_ns["number"] = 5
    assert offers(text) == [text]


def test_conversations_are_offered_by_number_and_title(offers):
    session = current_session()
    session.choose_model(ScriptedModel([said("One.")], [said("Two.")]))
    for question in ("Terns at sea", "Gulls on land"):
        session.reset()
        for _ in session.ask(question):
            pass
    assert offers("%lmc open ")[:2] == ["%lmc open 1", "%lmc open 2"]
    assert offers("%lmc open tern") == ["%lmc open Terns at sea"]
    assert offers("%lmc delete Terns at") == ["%lmc delete Terns at sea"]


def test_every_setting_is_offered(offers):
    names = sorted(LMC.class_own_traits(config=True))
    assert offers("%lmc config ") == [f"%lmc config {name}" for name in names]


@pytest.mark.parametrize("text", ["pri", "import sy", "%tim", "%%tim", "%lm", "%lmcx p", "'%lmc m"])
def test_other_lines_are_as_they_were(offers, text):
    with_us = offers(text)
    offers.shell.extension_manager.unload_extension("lmc_jupyter")
    without = [each for each in with_us if each not in ("%lmc", "%%lmc")]
    assert offers(text) == without


def test_the_text_behind_the_cursor_does_not_matter(offers):
    assert offers("%lmc mo", " and more\nprint(1)") == ["%lmc model", "%lmc models"]


def test_nothing_is_asked_of_a_server_twice_in_a_row(offers, monkeypatch):
    offers("%lmc model ")
    monkeypatch.setattr("lmc_jupyter.models.find_offers", lambda: pytest.fail("asked again"))
    assert offers("%lmc model op") == ["%lmc model openai/gpt"]


def test_unloading_takes_it_back(offers):
    manager = offers.shell.input_transformer_manager
    offers.shell.extension_manager.unload_extension("lmc_jupyter")
    assert offers.shell.Completer.custom_matchers == []
    assert all("lmc" not in each.__module__ for each in manager.token_transformers)
    assert "%lmc model" not in offers("%lmc mo")
