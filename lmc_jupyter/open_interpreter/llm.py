"""`interpreter.llm`: the model and what it is asked with, as the guide's "New Parameters" say.

One rule: it only stores options; the session makes its model of them before the next answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lmc_jupyter.errors import SessionError
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.keys import Secret
from lmc_jupyter.open_interpreter.absent import Strict, Unused
from lmc_jupyter.session import Session

if TYPE_CHECKING:
    from lmc_jupyter.agent import Model


class _LLMOption:
    """An attribute of `LLM`: its value is kept with the others, and checked."""

    def __init__(self, kinds: tuple[type, ...], what: str) -> None:
        self._kinds, self._what = kinds, what

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, llm: LLM | None, owner: type | None = None) -> Any:
        return self if llm is None else llm._values.get(self._name)

    def __set__(self, llm: LLM, value: Any) -> None:
        if value is not None and (
            not isinstance(value, self._kinds)
            or (isinstance(value, bool) and bool not in self._kinds)
        ):
            text = type(value).__name__ if self._name == "api_key" else f"{value!r:.60}"
            raise SessionError(f"llm.{self._name} is {text}: it must be {self._what}")
        if self._name == "api_key" and isinstance(value, str):
            value = Secret(value)
        llm._values[self._name] = value


class LLM(Strict):
    """The language model; each of these counts from the next answer on, None is the default.

    Without a `model` it is the one that the notebook's settings or LMC_MODEL name, else the
    embedded one. An `api_key` is held so that nothing shows it.
    """

    _shown_name = "llm"
    model = _LLMOption((object,), "a name that LiteLLM knows, or an object with `respond`")
    api_key = _LLMOption((str, Secret), "a str")
    supports_vision = _LLMOption((bool,), "True or False")
    supports_functions = _LLMOption((bool,), "True or False")
    max_tokens = _LLMOption((int,), "a number of tokens")
    context_window = _LLMOption((int,), "a number of tokens")
    temperature = _LLMOption((int, float), "a number")
    api_version = _LLMOption((str,), "a str")
    api_base = _LLMOption((str,), "an address")
    max_budget = _LLMOption((int, float), "US dollars")

    completions = Unused(None, instead="set `llm.model` to an object with `respond(messages)`")
    vision_renderer = Unused(
        None, instead="images are described to a model that does not see them, without a model"
    )
    execution_instructions = Unused(
        None, False, "", instead="add to `interpreter.custom_instructions`"
    )

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._last_choice: tuple[Any, dict[str, Any]] = (None, {})

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._values.items())
        return f"LLM({values})"

    def load(self) -> None:
        """Nothing: a model is loaded when it is asked."""

    def apply(self, session: Session, settings: LMC | None) -> None:
        """Have the session go on with this model, if it is another than before.

        Raises
        ------
        SessionError
            When it has an address or a key, and is a model that runs in this process.
        """
        if "max_budget" in self._values:
            session.max_session_cost = self._values["max_budget"]
        choice = self.choice(settings)
        if choice != self._last_choice:
            session.choose_model(choice[0], **choice[1])
            self._last_choice = choice

    def choice(self, settings: LMC | None) -> tuple[str | Model | None, dict[str, Any]]:
        """The model and its options.

        Raises
        ------
        SessionError
            When it has an address or a key, and is a model that runs in this process.
        """
        values = {name: value for name, value in self._values.items() if value is not None}
        values.pop("max_budget", None)
        model: str | Model | None = values.pop("model", None)
        options = {_OPTION_NAMES.get(name, name): value for name, value in values.items()}
        if model is None and settings is not None:
            model, options = settings.model, {**settings.model_options(), **options}
        if isinstance(model, str) and model.partition("/")[0] in ("local", "replay"):
            for name in ("api_base", "api_key", "api_version"):
                if name in values:
                    raise SessionError(
                        f"llm.{name} is set, but the model {model!r} runs in this process: choose "
                        "another with `llm.model = NAME`, or set it to None"
                    )
            options = {name: options[name] for name in options if name not in _OF_PROVIDERS}
        return model, options


_OPTION_NAMES = {"supports_vision": "vision", "supports_functions": "tools"}
"""Attributes that an option of the model of another name means."""
_OF_PROVIDERS = ("vision", "tools", "context_window")
"""Options that tell LiteLLM what it cannot know; the embedded model knows itself."""
