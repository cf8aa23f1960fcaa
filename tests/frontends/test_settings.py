"""The settings: each says what it is for, and counts from the next question on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripted import ScriptedModel, code, drive, said
from traitlets import TraitError
from traitlets.config import Config

from lmc_jupyter import current_session
from lmc_jupyter.errors import GateError, SessionError
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.keys import reveal
from lmc_jupyter.session import Session

ROOT = Path(__file__).parents[2]
TRAITS = sorted(LMC.class_own_traits(config=True))


@pytest.fixture
def loaded(shell):
    shell.extension_manager.load_extension("lmc_jupyter")
    yield shell
    shell.extension_manager.unload_extension("lmc_jupyter")


def test_these_are_the_settings():
    assert TRAITS == [
        "agents", "api_base", "ask", "auto_run", "context", "context_values",
        "custom_instructions",
        "deny",
        "max_cost",
        "max_day_cost", "max_session_cost", "max_turns", "model", "options", "profile",
        "receipts", "start_worker", "system_message", "tools", "transcription_model", "tutor",
        "vision",
    ]  # fmt: skip


@pytest.mark.parametrize("name", TRAITS)
def test_each_setting_says_what_it_is_for(name):
    help_ = LMC.class_own_traits()[name].help
    assert len(help_) > 20
    assert help_.endswith(".")


def test_config_lists_them_with_their_help(loaded, capsys):
    loaded.run_line_magic("config", "LMC")
    shown = capsys.readouterr().out
    for name in TRAITS:
        assert f"LMC.{name}=" in shown


def test_a_session_of_the_settings_is_a_session_of_the_defaults():
    session = Session(**LMC().session_arguments())
    plain = Session()
    for name in (
        "auto_run",
        "context",
        "context_values",
        "system_message",
        "max_turns",
    ):
        assert getattr(session, name) == getattr(plain, name)


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("LMC.auto_run = True", "auto_run", True),
        ("LMC.auto_run = ['python']", "auto_run", ["python"]),
        ("LMC.context = False", "context", "none"),
        ("LMC.context = 'names'", "context", "names"),
        ("LMC.context_values = True", "context_values", True),
        ("LMC.system_message = 'Be brief.'", "system_message", "Be brief."),
        ("LMC.max_turns = 3", "max_turns", 3),
        ("LMC.deny = ['shell']", "deny", ["shell"]),
    ],
)
def test_a_setting_that_is_changed_counts_from_the_next_question(loaded, line, name, value):
    loaded.run_line_magic("config", line)
    assert getattr(current_session(), name) == value


def test_another_model_by_config_answers_the_next_question(loaded, tmp_path):
    recording = tmp_path / "r.jsonl"
    recording.write_text(
        '{"recording": "a small test"}\n'
        '{"role": "assistant", "type": "message", "start": true}\n'
        '{"role": "assistant", "type": "message", "content": "Recorded."}\n'
        '{"role": "assistant", "type": "message", "end": true}\n'
        '{"reply": "end"}\n'
    )
    session = current_session()
    session.choose_model(ScriptedModel([said("Scripted.")]))
    drive(session.ask("1"))
    loaded.run_line_magic("config", f"LMC.model = 'replay/{recording}'")
    drive(session.ask("2"))
    assert [message.content for message in session.messages] == ["1", "Scripted.", "2", "Recorded."]


def test_the_address_and_the_options_reach_the_model(loaded, monkeypatch):
    made = []

    def get(name, **options):
        made.append((name, options))
        return ScriptedModel([said("Hi.")])

    monkeypatch.setattr("lmc_jupyter.models.choice.get_model", get)
    loaded.run_line_magic("config", "LMC.model = 'openai/m'")
    loaded.run_line_magic("config", "LMC.options = {'temperature': 0}")
    loaded.run_line_magic("config", "LMC.api_base = 'http://127.0.0.1:1/v1'")
    drive(current_session().ask("Go."))
    assert made == [("openai/m", {"temperature": 0, "api_base": "http://127.0.0.1:1/v1"})]


def test_a_policy_of_the_settings_is_the_policy_of_the_gate(loaded):
    loaded.run_line_magic("config", "LMC.auto_run = True")
    loaded.run_line_magic("config", "LMC.deny = ['python']")
    session = current_session()
    session.choose_model(ScriptedModel([code("6*7")], [said("ok")]))
    drive(session.ask("Go."))
    assert "your policy forbids python" in session.messages[2].content


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('LMC.agents = "nothing"', ['agents must be "ask" or "off"', "'nothing'"]),
        ('LMC.context = "nothing"', ['context must be "notebook", "names" or "none"', "'nothing'"]),
        ("LMC.max_turns = 0", ["max_turns should not be less than 1", "0"]),
        ('LMC.max_turns = "x"', ["max_turns expected an int", "'x'"]),
        ('LMC.deny = ["shel"]', ["'shel' is not a language", "did you mean 'shell'?"]),
    ],
)
def test_config_says_in_a_sentence_why_a_value_is_refused(loaded, capsys, caplog, line, words):
    before = LMC.instance().session_options()
    loaded.run_line_magic("config", line)
    shown = capsys.readouterr().err
    assert all(word in shown for word in words), shown
    assert "trait" not in shown
    assert shown.endswith(" Nothing was changed.\n")
    assert caplog.text == "", "IPython's own way is `ERROR:root:…`"
    assert LMC.instance().session_options() == before


@pytest.mark.parametrize(
    ("name", "value"), [("max_turns", 0), ("context", "perhaps"), ("auto_run", 7), ("deny", 1)]
)
def test_a_value_that_makes_no_sense_is_refused_and_nothing_changes(loaded, name, value):
    settings = LMC.instance()
    before = getattr(settings, name)
    with pytest.raises(TraitError):
        setattr(settings, name, value)
    assert getattr(settings, name) == before


@pytest.mark.parametrize("refused", ["max_turns = 0", "max_turns = 'many'", "auto_run = ['pythn']"])
def test_what_config_refuses_does_not_count_after_a_reload_either(loaded, refused):
    loaded.run_line_magic("config", "LMC.max_turns = 7")
    loaded.run_line_magic("config", f"LMC.{refused}")
    loaded.extension_manager.reload_extension("lmc_jupyter")
    assert LMC.instance().max_turns == 7
    assert LMC.instance().auto_run is False
    assert current_session().max_turns == 7


def test_a_mistyped_language_is_refused_and_nothing_changes(loaded):
    with pytest.raises(GateError, match=r"'shel' is not a language .* did you mean 'shell'"):
        loaded.configurables[-1].deny = ["shel"]
    assert loaded.configurables[-1].deny == []
    assert current_session().gate.policy.deny == frozenset()


def test_what_the_shell_was_configured_with_counts_from_the_start(shell):
    shell.config.merge(Config({"LMC": {"model": "openai/configured", "auto_run": ["python"]}}))
    shell.extension_manager.load_extension("lmc_jupyter")
    session = current_session()
    assert session.model.name == "openai/configured"
    assert session.auto_run == ["python"]
    shell.extension_manager.unload_extension("lmc_jupyter")


def test_a_configuration_that_cannot_be_is_a_sentence_and_can_be_set_right(shell):
    shell.config.merge(Config({"LMC": {"max_turns": 0}}))
    with pytest.raises(
        SessionError, match=r"your configuration has a value that is not allowed: .*max_turns"
    ):
        shell.extension_manager.load_extension("lmc_jupyter")
    shell.config.LMC.max_turns = 3
    shell.extension_manager.load_extension("lmc_jupyter")
    assert current_session().max_turns == 3
    shell.extension_manager.unload_extension("lmc_jupyter")


def test_a_config_file_of_ipython_sets_them_and_the_line_of_the_page_loads_the_extension(tmp_path):
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    (line,) = re.findall(r"^c\.InteractiveShellApp\..*$", page, re.M)
    (tmp_path / "profile_default").mkdir()
    (tmp_path / "profile_default" / "ipython_config.py").write_text(
        f"c = get_config()\nc.LMC.model = 'openai/from-the-file'\nc.LMC.max_turns = 7\n{line}\n"
    )
    env = {**os.environ, "IPYTHONDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    env.pop("LMC_MODEL", None)
    told = "from lmc_jupyter import current_session as s; print(s().model.name, s().max_turns)"
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "-c", told],
        env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.strip().endswith("openai/from-the-file 7"), done.stdout + done.stderr


def test_nothing_of_the_settings_holds_a_key():
    assert not any("key" in name for name in TRAITS)


def test_limits_of_cost_count_from_the_next_question_on(loaded):
    for name in ("max_cost", "max_session_cost", "max_day_cost"):
        loaded.run_line_magic("config", f"LMC.{name} = 0.25")
        assert getattr(current_session(), name) == 0.25
        loaded.run_line_magic("config", f"LMC.{name} = None")
        assert getattr(current_session(), name) is None


def test_the_page_says_of_each_setting_what_its_help_says():
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `([^`]*)` \| (.*) \|$", page, re.M)
    assert sorted(name for name, _, _ in rows) == TRAITS
    settings = LMC()
    for name, default, line in rows:
        assert line == LMC.class_own_traits()[name].help, name
        value = getattr(settings, name)
        assert default == ("none" if value is None else repr(value))


def test_a_key_in_the_options_is_in_no_configuration(shell):
    key = "sk-Qa1Ws2Ed3Rf4Tg5Yh6Uj7Ik8"
    shell.config.merge(Config({"LMC": {"options": {"api_key": key, "temperature": 0}}}))
    shell.extension_manager.load_extension("lmc_jupyter")
    try:
        assert key not in f"{shell.config} {LMC.instance().config}"
        shell.run_line_magic("config", f"LMC.options = {{'api_key': '{key}x'}}")
        assert key not in f"{shell.config} {LMC.instance().config} {LMC.instance().options}"
        assert reveal(LMC.instance().model_options()) == {"api_key": f"{key}x"}
    finally:
        shell.extension_manager.unload_extension("lmc_jupyter")
