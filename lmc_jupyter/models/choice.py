"""A model as a person chose it: its name, or the object itself, and its options.

One rule: a choice never changes; a new one replaces it. Its model is made once, at first use.
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lmc_jupyter.errors import ModelError, SessionError
from lmc_jupyter.keys import Secret, hide
from lmc_jupyter.lmc import Message
from lmc_jupyter.models import get_model
from lmc_jupyter.models.brief import (
    Brief,
    Briefable,
    Countable,
    Preloadable,
    name_of,
)
from lmc_jupyter.models.offers import OWN_SERVERS

if TYPE_CHECKING:
    from lmc_jupyter.agent import Model
    from lmc_jupyter.models.budget import Tokens
    from lmc_jupyter.models.openai import Exchanges


class Choice:
    """One choice of a model; see `lmc_jupyter.models.get_model`.

    Parameters
    ----------
    spec : the name of the model, or an object with `respond(messages)`; None: the default one
    options : api_base, api_key, temperature, ...; keys in them become `Secret` values
    """

    def __init__(self, spec: str | Model | None, options: dict[str, Any]) -> None:
        self.spec, self.options = spec, hide(options)
        self.instance: Model | None = None
        """Its model; None before its first use."""

    @property
    def model(self) -> Model:
        """Its model, made at first use.

        Raises
        ------
        ModelError
            When there can be no such model.
        """
        if self.instance is None:
            self.instance = get_model(self.spec, **self.options)
        return self.instance

    @property
    def name(self) -> str:
        """The name by which the person chose it; "" where none was given."""
        return self.spec if isinstance(self.spec, str) else ""

    @property
    def label(self) -> str:
        """Its model as a person reads it; "" where there can be no such model."""
        try:
            return label(self.model)
        except ModelError:
            return ""

    @property
    def api_base(self) -> str | None:
        """The address of the server that the person chose; None where they chose none."""
        return self.options.get("api_base")

    def preload(self) -> None:
        """Let its model begin to load, where that takes a while; return at once."""
        with suppress(ModelError):  # the next question reports it
            if isinstance(self.model, Preloadable):
                self.model.preload()

    def vision(self) -> str:
        """Whether the model sees images: "yes", "no", or "unknown", where it gets a description of
        them too; "" where the model is an object that does not say.

        The first time it may load LiteLLM, which takes seconds.
        """
        vision = getattr(self.model, "vision", None)
        return str(vision()) if callable(vision) else ""

    def blind(self) -> tuple[str, bool]:
        """(Why the model gets no images, "" where it gets them; whether the setting `vision` would
        send them.) As slow as `vision`.
        """
        match self.vision():
            case "yes":
                return "", False
            case "unknown":
                return f"{self.label} is not known to see images", True
            case "no":
                return f"{self.label} does not see images", False
        return f"{self.label} does not say whether it sees images", False

    @property
    def reads_notebook(self) -> bool:
        """Whether the model is large enough for more of the notebook than a question points at."""
        return bool(getattr(self.model, "reads_notebook", True))

    @property
    def reads_little(self) -> bool:
        """Whether the model's window is known to be small."""
        with suppress(ModelError):  # the next question reports it
            reads_little = getattr(self.model, "reads_little", None)
            return bool(reads_little()) if callable(reads_little) else False
        return False

    @property
    def knows_names(self) -> bool:
        """Whether the model gets the names of the notebook with each request; see `Briefable`."""
        return isinstance(self.model, Briefable)

    def describe_names(self, namespace: str, exchanges: Exchanges) -> str:
        """What the next request says of the names in the notebook's namespace.

        Parameters
        ----------
        exchanges : what this conversation has sent before
        """
        access = getattr(self.model, "access", None)
        if not callable(access):
            return namespace
        return exchanges.of(name_of(self.model), access()[0]).describe_names(namespace)

    @property
    def is_remote(self) -> bool:
        """Whether requests leave this machine, as far as its address says; False for a model
        without one.
        """
        access = getattr(self.model, "access", None)
        if not callable(access):
            return False
        base, _ = access()
        if not base:
            return name_of(self.model).partition("/")[0] not in OWN_SERVERS
        host = urlsplit(base if "//" in base else f"//{base}").hostname or ""
        try:
            return not ip_address(host).is_loopback
        except ValueError:  # a name
            return host != "localhost" and not host.endswith(".localhost")

    def tokens(self, messages: list[Message], brief: Brief) -> Tokens:
        """How many tokens of the model's window the next request would take, by part.

        Raises
        ------
        SessionError
            When the model does not count its tokens.
        """
        if not isinstance(self.model, Countable):
            raise SessionError(f"{label(self.model)} does not tell how many tokens it reads")
        return self.model.tokens(messages, brief)

    def secrets(self) -> list[Secret]:
        """The keys among its options, which no file may contain."""
        return [each for each in self.options.values() if isinstance(each, Secret)]

    def with_options(self, options: dict[str, Any]) -> Choice:
        """The same model with these options besides; None removes an option."""
        together = {**self.options, **options}
        return Choice(
            self.spec, {name: each for name, each in together.items() if each is not None}
        )


def label(model: Model) -> str:
    """The model as a person reads it."""
    return str(getattr(model, "label", "") or name_of(model))
