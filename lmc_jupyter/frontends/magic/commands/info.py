"""Commands for settings, profiles and keys; and those that show the state and the help.

One rule: its trait checks a setting, `profiles` checks a profile, and nothing shows a key.
"""

from __future__ import annotations

import ast
import difflib
import os
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from traitlets import TraitError

from lmc_jupyter.content import shorten
from lmc_jupyter.context.parts import text_of
from lmc_jupyter.context.question import describe as describe_parts
from lmc_jupyter.frontends.config import profiles
from lmc_jupyter.frontends.magic.commands import model
from lmc_jupyter.frontends.magic.commands.conversation import describe
from lmc_jupyter.frontends.magic.commands.table import (
    COMMANDS,
    Candidate,
    Invocation,
    Prefix,
    WrongCommand,
    columns,
    command,
    find,
)
from lmc_jupyter.turn.options import LEVELS

MOST_OF_A_VALUE = 300
"""Characters of a setting's value that are shown."""


def settings(prefix: Prefix) -> Iterable[Candidate]:
    """The settings, by name."""
    if prefix.commands.settings is None:
        return []
    traits = prefix.commands.settings.class_own_traits(config=True)
    return [(name, traits[name].help.partition(". ")[0]) for name in sorted(traits)]


def values(prefix: Prefix) -> Iterable[Candidate]:
    """The values that the setting before can have."""
    name, of_kernel = prefix.before[0], prefix.commands.settings
    trait = of_kernel.traits().get(name) if of_kernel is not None else None
    if trait is None:
        return []
    if name == "model":
        return model.names(prefix)
    if isinstance(trait.default(), bool):
        return [("True", "value"), ("False", "value")]
    if name == "context":
        return [(level, "value") for level in LEVELS]
    return [(repr(getattr(of_kernel, name)), "value")]


@command(
    "config",
    "[NAME] [VALUE]",
    help="list the settings; with a name, show one; with a value, change it",
    complete={"NAME": settings, "VALUE": values},
    rest=True,
)
def config(call: Invocation, name: str | None, value: str | None) -> str:
    traits = call.settings.class_own_traits(config=True)
    if name is None:
        rows = [[each, _value(getattr(call.settings, each))] for each in sorted(traits)]
        return "\n".join([*columns(rows), "`%lmc config NAME` explains a setting."])
    name = name.removeprefix("LMC.")
    if name not in traits:
        near = difflib.get_close_matches(name, list(traits), 1)
        hint = f"did you mean {near[0]!r}?" if near else "`%lmc config` lists them"
        raise WrongCommand(f"there is no setting {name!r:.60}: {hint}")
    if value is None:
        return f"{name} = {_value(getattr(call.settings, name))}\n    {traits[name].help}"
    try:
        setattr(call.settings, name, _literal(value))
    except TraitError as error:
        why = re.sub(r"^The '\w+' trait of an? \w+ instance expected", f"{name} takes", str(error))
        raise WrongCommand(why.partition("\n")[0]) from None
    return f"{name} = {_value(getattr(call.settings, name))}"


@command(
    "profile",
    "[NAME] [--show]",
    help="list the profiles; with a name, use that profile",
    more="--show only shows the profile.",
    complete={"NAME": lambda _: [(name, "profile") for name in profiles.names()]},
)
def profile(call: Invocation, name: str | None, show: bool) -> str:
    of_kernel = call.settings
    if name is None:
        there = profiles.names()
        lines = [f"{'*' if each == of_kernel.profile else ' '} {each}" for each in there]
        lines = lines or ["There is no profile yet."]
        return "\n".join([*lines, f"Profiles are YAML files in {profiles.folder()}."])
    changes = profiles.profile(name)
    if show:
        return "\n".join(f"{each}: {_value(value)}" for each, value in changes.items())
    of_kernel.profile = None  # so that it is read anew where it is used already
    of_kernel.profile = name
    return f"Profile: {name} ({', '.join(changes) or 'no settings'})."


def keys(prefix: Prefix) -> Iterable[Candidate]:  # noqa: ARG001
    """The names of the providers' keys."""
    from lmc_jupyter.models.offers import KEYS

    return [*KEYS.items(), ("LMC_API_KEY", "any")]


@command(
    "key",
    "[NAME] [--keep] [--forget]",
    help="type the model's key, hidden; it stays in memory until the kernel ends",
    more="NAME is the environment variable, such as OPENAI_API_KEY. --keep puts the key into "
    "the keyring of your system, --forget removes it.",
    complete={"NAME": keys},
)
def key(call: Invocation, name: str | None, keep: bool, forget: bool) -> str:
    from lmc_jupyter import keys as store
    from lmc_jupyter.models import key_name

    if name is None:
        model_name = call.session.choice.spec
        if model_name is not None and not isinstance(model_name, str):
            raise WrongCommand("this model is an object of your own: give the key to that object")
        name = key_name(model_name, call.session.choice.api_base)
    if not store.NAME.fullmatch(name):
        raise WrongCommand(
            "give the name of the key, not the key itself: "
            "`%lmc key OPENAI_API_KEY`; then you are asked for it"
        )
    if forget:
        return f"{name} was removed." if store.forget(name) else f"There is no key {name}."
    # LMC_API_KEY is sent in place of a provider's own
    if first := next((each for each in ("LMC_API_KEY", name) if os.environ.get(each)), ""):
        raise WrongCommand(
            f"{first} is in the environment, and takes precedence: a key that you type would "
            f'not be used. Run `import os; del os.environ["{first}"]` in a cell, then type '
            f"`%lmc key {name}` again"
        )
    value = call.front.secret(name)
    if not value.strip():
        return "Nothing was changed."
    secret = store.hold(name, value)
    if not keep:
        return f"{name} stays in memory until this kernel ends."
    store.keep(secret)
    return f"{name} is in your keyring now, under {store.SERVICE}."


@command("context", help="show what the next question takes along of the notebook")
def context(call: Invocation) -> str:
    companions = call.session.prompt.companions()
    parts, unseen = companions.listed, companions.unseen
    listed = call.session.prompt.list_parts(call.session.glm.for_prompt())
    always = [f"With every question: {sum(each.tokens for each in listed):,} tokens."]
    always += columns([[each.title, f"{each.tokens:,} tokens"] for each in listed])
    always += filter(None, ["" if call.commands.cells is None else call.cells.unknown])
    level = call.session.options.context
    if not parts:
        why = {
            "notebook": "no cell has run since your last question, or the model reads no cells",
            "names": "the setting `context` is 'names': only names, types and shapes go",
        }.get(str(level), "the setting `context` is 'none'")
        return "\n".join([f"No cell goes with the next question: {why}.", *always])
    rows = [[each.title, f"{each.tokens:,} tokens"] for each in parts]
    if unseen is not None:
        rows.append([unseen.title, f"not sent: {unseen.why}"])
    return "\n".join(
        [
            f"With the next question: {describe_parts(parts)}.",
            *columns(rows),
            *always,
            "",
            text_of(parts),
        ]
    )


@command(
    "instructions",
    "[ANSWER]",
    help="show the AGENTS.md of the notebook's folder, and ask whether it is sent",
    more="ANSWER is yes or no; it counts until the file changes.",
    complete={"ANSWER": lambda _: [(each, "answer") for each in ("yes", "no", "show")]},
)
def instructions(call: Invocation, answer: str | None) -> str:
    if answer in (None, "show"):
        return call.session.prompt.redact(call.place.show())
    if answer not in ("yes", "no"):
        raise WrongCommand(f"{answer!r:.60} is no answer: `%lmc instructions` takes yes or no")
    call.session.gate.guard.check_change("an answer to instructions for models")
    return call.session.prompt.redact(call.place.answer(answer == "yes"))


@command("panel", help="show the chat panel here", in_panel=False)
def panel(call: Invocation) -> None:
    call.front.show_panel()


@command(
    "state",
    help="show the model, the conversation and what waits; the same as %lmc alone",
)
def state(call: Invocation) -> str:
    session = call.session
    lines = [model.describe(call.commands), f"Conversation: {describe(session)}"]
    if session.pending is not None:
        lines.append("Code waits for your answer: `%lmc resume` asks you again.")
    current, journal = session.conversation, session.journal
    lines += filter(None, [current.notice, current.other_model, journal.problem])
    if earlier := journal.earlier():
        lines.append(
            f"This notebook's last conversation was {earlier.title!r}: "
            f"`%lmc open {earlier.id}` continues it."
        )
    elif not session.messages and journal.conversations and journal.conversations.list():
        lines.append("`%lmc history` lists the saved conversations.")
    return "\n".join([*lines, "`%lmc help` lists the commands."])


@command(
    "help",
    "[COMMAND]",
    help="list the commands, or explain one",
    complete={"COMMAND": lambda _: [(each.name, each.help) for each in COMMANDS]},
    also=("-h", "--help", "?"),
)
def show_help(call: Invocation, command: str | None) -> str:  # noqa: ARG001
    if command is None:
        return help_text()
    entry = find(command.removeprefix("%").removeprefix("lmc").strip() or command)
    return "\n".join(filter(None, [entry.usage, f"    {entry.help}", entry.more]))


CELL_OPTIONS: tuple[tuple[str, str], ...] = (
    ("", "ask the model; the cell is the question"),
    ("-m MODEL", "… another model, for this cell"),
    ("--api-base URL", "… at this OpenAI-compatible server"),
    ("--auto-run", "… run the code of this cell without asking"),
    ("--new", "… in a new conversation"),
    ("--cells 3-5", "… with these of your cells (`none`: with none)"),
    ("--context LEVEL", "… with this of the notebook: `notebook`, `names` or `none`"),
    ("--no-context", "… the same as `--context none`"),
    ("--image FILE", "… with this image, for a model that reads images"),
    ("--file FILE", "… with this file"),
    ("--audio FILE", "… with this wav file, for a model that takes sound"),
)
"""(option, its effect) for the first line of a `%%lmc` cell."""


def help_text() -> str:
    """The text of `%lmc help`, in lines of at most 80 characters: an output of Jupyter breaks
    longer ones within words.
    """
    rows = [(f"%%lmc {option}".rstrip(), does) for option, does in CELL_OPTIONS]
    rows += [("%lmc", "show the model, the conversation and what waits")]
    rows += [(each.usage, each.help) for each in COMMANDS if each.name != "state"]
    width = min(30, max(len(usage) for usage, _ in rows))
    lines, indent = [], " " * (width + 2)
    for usage, does in rows:
        begin = f"{usage:<{width}}  "
        if len(usage) > width:
            lines.append(usage)
            begin = indent
        lines += textwrap.wrap(does, 80, initial_indent=begin, subsequent_indent=indent)
    lines.append("In a question @name and {{name}} put in the value of a variable.")
    lines.append("@cell sends the last cell along, and @cell 12 that of In [12].")
    return "\n".join(lines)


def _literal(text: str) -> Any:
    """The value that was typed: as Python writes it, or the text as it stands."""
    words = {"true": True, "on": True, "yes": True, "none": None, "auto": None}
    words |= {"false": False, "off": False, "no": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _value(value: Any) -> str:
    return shorten.line(repr(value), MOST_OF_A_VALUE)
