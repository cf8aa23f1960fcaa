"""A model as a person chose it: its name, or the object itself, and its options.

One rule: a choice never changes; another one takes its place. Its model is made once, at first
use.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lmc_jupyter.errors import ModelError, SessionError
from lmc_jupyter.keys import Secret, hide
from lmc_jupyter.lmc import Message
from lmc_jupyter.models import get_model
from lmc_jupyter.models.brief import Brief, Counted, Model, Preloadable, name_of

if TYPE_CHECKING:
    from lmc_jupyter.models.budget import Tokens


class Choice:
    """One choice; see `lmc_jupyter.models.get_model`.

    Parameters
    ----------
    named : str or object with `respond(messages)`, optional
    options : api_base, api_key, temperature, ...; keys in them are held as secrets
    """

    def __init__(self, named: str | Model | None, options: dict[str, Any]) -> None:
        self.named, self.options = named, hide(options)
        self.made: Model | None = None
        """Its model, once it was used."""

    @property
    def model(self) -> Model:
        """Its model, made at first use.

        Raises
        ------
        ModelError
            When there can be no such model.
        """
        if self.made is None:
            self.made = get_model(self.named, **self.options)
        return self.made

    @property
    def name(self) -> str:
        """The name by which the person chose it; "" where none was given."""
        return self.named if isinstance(self.named, str) else ""

    @property
    def label(self) -> str:
        """Its model as a person reads it; "" where there can be no such model."""
        try:
            return label(self.model)
        except ModelError:
            return ""

    @property
    def api_base(self) -> str | None:
        """The address that was said with the name; None where there was none."""
        return self.options.get("api_base")

    def preload(self) -> None:
        """Have its model begin to load, where that takes a while; returns at once."""
        with suppress(ModelError):  # the question says it
            if isinstance(self.model, Preloadable):
                self.model.preload()

    def vision(self) -> str:
        """Whether the model sees images: "yes", "no", or "unknown", where they are described to
        it too; "" where the model is an object that does not say.

        The first time it may load LiteLLM, which takes seconds.
        """
        says = getattr(self.model, "vision", None)
        return str(says()) if callable(says) else ""

    def tokens(self, messages: list[Message], brief: Brief) -> Tokens:
        """How much of the model's window the next request would take, by part.

        Raises
        ------
        SessionError
            When the model does not tell how much it reads.
        """
        if not isinstance(self.model, Counted):
            raise SessionError(f"{label(self.model)} does not tell how many tokens it reads")
        return self.model.tokens(messages, brief)

    def secrets(self) -> list[Secret]:
        """The keys among its options, which must never be written down."""
        return [each for each in self.options.values() if isinstance(each, Secret)]

    def but(self, options: dict[str, Any]) -> Choice:
        """The same model with these options; one that is None is taken back."""
        changed = {**self.options, **options}
        kept = {name: value for name, value in changed.items() if value is not None}
        return Choice(self.named, kept)


def label(model: Model) -> str:
    """The model as a person reads it."""
    return str(getattr(model, "label", "") or name_of(model))
