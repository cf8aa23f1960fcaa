"""Commands for the model: which one answers, what it can run, how full its window is, its cost.

One rule: a model that cannot be made is not chosen; the one before goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from lmc_jupyter import models
from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.frontends.config.saved_model import SavedModel, remember
from lmc_jupyter.frontends.magic.commands.table import (
    Candidate,
    Commands,
    Invocation,
    Prefix,
    WrongCommand,
    command,
)
from lmc_jupyter.keys import address
from lmc_jupyter.models.choice import label
from lmc_jupyter.models.request import describe_tokens
from lmc_jupyter.session import Session

_FRESH = 30.0
"""Seconds for which completion believes what servers offered."""

Say = Callable[[str], None]


def names(prefix: Prefix) -> Iterable[Candidate]:
    """The models that can be used now."""
    commands, now = prefix.commands, time.monotonic()
    if commands.offers is None or now - commands.offers[0] > _FRESH:
        commands.offers = now, models.find_offers()
    return [*((each.name, each.why) for each in commands.offers[1]), ("local", "built in")]


@command(
    "model",
    "[NAME] [--api-base URL] [--keep]",
    help="list the available models; with a name, use that model",
    more="This notebook remembers it, also after a restart. --keep makes it the model of every "
    "notebook that has no other.",
    complete={"NAME": names},
)
def model(call: Invocation, name: str | None, api_base: str | None, keep: bool) -> str:
    if name is not None:
        answer = call.front.choose(name, api_base)
        if not keep or call.session.choice.spec != name:
            return answer
        remember("", SavedModel(name, api_base))
        return f"{answer} New notebooks start with it too."
    if keep:
        raise WrongCommand("--keep belongs to a model: `%lmc model NAME --keep`")
    if api_base:
        raise WrongCommand("--api-base belongs to a model: `%lmc model NAME --api-base URL`")
    return list_models(call)


@command("models", help="list the models that are available")
def list_models(call: Invocation) -> str:
    lines, offers = [describe(call.commands)], models.find_offers()
    if offers:
        lines.append("Also available; you choose one with:")
    for offer in offers:
        lines.append(f"  %lmc model {offer.words}    ({offer.why})")
    lines.append(
        f"Or any LiteLLM name, such as {models.EXAMPLE}. Put its key into an environment "
        "variable, or type it with `%lmc key`."
    )
    return "\n".join(lines)


def describe(commands: Commands) -> str:
    """One line: the model in use, or what to do where there is none yet."""
    missing = models.describe_missing(commands.session.choice.spec)
    return missing or f"Model: {in_use(commands)}"


def in_use(commands: Commands) -> str:
    """The model as a person reads it, with its address."""
    name, settings = label(commands.session.model), commands.settings
    base = settings.api_base if settings is not None else None
    return f"{name} at {address(base)}" if base else name


def choose(
    commands: Commands,
    name: str,
    api_base: str | None = None,
    *,
    ask: Callable[[str], str] | None,
    say: Say,
    progress: Say,
) -> str:
    """Go on with another model; the embedded one may have to be fetched first.

    Parameters
    ----------
    ask, say, progress : see `lmc_jupyter.models.prepare`
    """
    session, settings = commands.session, commands.settings
    if not models.prepare(name, ask=ask, say=say, progress=progress):
        return "Nothing was changed."
    if settings is None:
        chosen_before = session.choice
        session.choose_model(name, **({"api_base": api_base} if api_base else {}))
        try:
            return f"Model: {in_use(commands)}.{_conversation(session)}"
        except LMCError:
            session.choose(chosen_before)
            raise
    settings.check_floor("model", name)
    settings.check_floor("api_base", api_base)
    before = settings.model, settings.api_base
    with settings.hold_trait_notifications():
        settings.model = name
        settings.api_base = api_base  # the address of the model before is not its own
    session.choose_model(name, **settings.model_options())
    try:
        text = in_use(commands)
    except LMCError:
        settings.model, settings.api_base = before
        raise
    try:
        if session.journal.notebook:
            saved = SavedModel(name, api_base, settings.saved_options())
            remember(session.journal.notebook, saved)
    except SessionError as error:
        return f"Model: {text}, until this kernel ends: {error}.{_conversation(session)}"
    other = models.suggest(name, session.choice.api_base)
    doubt = f" This name is not known: {other}" if other else ""
    return f"Model: {text}.{_conversation(session)}{doubt}"


def _conversation(session: Session) -> str:
    """What becomes of the conversation, where there is one."""
    return " The conversation continues." if session.messages else ""


@command(
    "languages",
    help="list the languages that can run here, and what to install for the others",
)
def languages(call: Invocation) -> str:
    there = call.session.computer.availability()
    width = max(map(len, there), default=0)
    lines = ["Available:"]
    lines += [f"  {name:<{width}}  {it.how}".rstrip() for name, it in there.items() if it]
    if missing := [(name, it.missing) for name, it in there.items() if it.missing]:
        lines.append("Not available:")
        lines += [f"  {name:<{width}}  {what}" for name, what in missing]
    lines.append(
        "Other Jupyter kernels that you install are found by their language; "
        "`current_session().computer.register(...)` adds one of your own."
    )
    return "\n".join(lines)


@command("tokens", help="show how much of the context window is used")
def tokens(call: Invocation) -> str:
    session = call.session
    lines = [str(session.choice.tokens(session.messages, session.brief()))]
    for request in reversed([each for turn in session.turns for each in turn.requests]):
        counted = (request.prompt_tokens or 0) + (request.completion_tokens or 0)
        took = describe_tokens(counted, request.cached_tokens or 0, request.estimate or 0)
        if took:
            lines.append(f"The last request and its reply took {took}.")
            break
    return "\n".join(lines)


@command("cost", help="show what this conversation has cost")
def cost(call: Invocation) -> str:
    return str(call.session.spending)
