"""A model as a person chose it: nothing of a choice changes, and its model is made once."""

from __future__ import annotations

from scripted import ScriptedModel

from lmc_jupyter.keys import Secret
from lmc_jupyter.models.choice import Choice, label


def test_its_model_is_made_once_and_not_before_it_is_used() -> None:
    choice = Choice("openai/x", {})
    assert choice.instance is None
    assert choice.model.name == "openai/x"
    assert choice.model is choice.instance
    assert choice.name == "openai/x"


def test_an_object_is_its_own_model_and_has_no_name() -> None:
    model = ScriptedModel()
    assert Choice(model, {}).model is model
    assert Choice(model, {}).name == Choice(None, {}).name == ""


def test_other_options_are_another_choice() -> None:
    first = Choice("openai/x", {"temperature": 0.2, "seed": 1, "api_key": "sk-very-secret-012345"})
    other = first.with_options({"temperature": None, "top_p": 0.5})
    assert other.spec == "openai/x"
    assert set(other.options) == {"seed", "api_key", "top_p"}
    assert set(first.options) == {"temperature", "seed", "api_key"}
    assert other.model is not first.model


def test_its_keys_are_secrets_in_every_choice() -> None:
    choice = Choice("openai/x", {"api_key": "sk-very-secret-012345"})
    for each in (choice, choice.with_options({"seed": 1})):
        (key,) = each.secrets()
        assert isinstance(key, Secret)
        assert key.reveal() == "sk-very-secret-012345"
    assert choice.with_options({"api_key": None}).secrets() == []


def test_a_model_is_called_by_its_label_its_name_or_its_class() -> None:
    model = ScriptedModel()
    assert label(model) == "ScriptedModel"
    model.name = "scripted"  # type: ignore[attr-defined]
    assert label(model) == "scripted"
    model.label = "Scripted (small)"  # type: ignore[attr-defined]
    assert label(model) == "Scripted (small)"
