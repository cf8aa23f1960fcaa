"""What `%lmc` does: one table of commands, for the magic, the panel, completion and the docs.

One rule: a command returns what there is to say, or raises a sentence; it shows nothing. What
needs a front end (to play an answer, to ask for a key) it asks of a `Front`.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from IPython.core.getipython import get_ipython
from traitlets import TraitError

from lmc_jupyter.agent import is_code
from lmc_jupyter.content.error_text import short
from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.frontends.config import profiles
from lmc_jupyter.frontends.config.remembered import Chosen, remember
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.models.keys import address, redacted
from lmc_jupyter.session import Session

if TYPE_CHECKING:
    from lmc_jupyter.computer.share import Shared
    from lmc_jupyter.turns import Turn

Say = Callable[[str], None]


class WrongCommand(SessionError):  # noqa: N818 - it is the person's word that is wrong
    """Words that are no command."""


class Front(Protocol):
    """What a command needs of where it was typed."""

    def ask(self, question: str, insert: bool) -> None:
        """Put a question, and show its answer; see `Session.ask` for `insert`."""

    def resume(self) -> None:
        """Go on with the answer; called when there is something to go on with."""

    def retry(self, turn: Turn) -> None:
        """Ask the question of this turn again."""

    def show_panel(self) -> None:
        """Show the panel."""

    def choose(self, name: str, api_base: str | None) -> str:
        """Go on with another model, see `Commands.choose`."""

    def secret(self, name: str) -> str:
        """Ask for this key, which nobody sees; raises a sentence where nobody can be asked."""


class Cells(Protocol):
    """The person's own cells, as far as a command asks for them."""

    @property
    def last(self) -> str:
        """The source of the last one; "" where there was none."""

    @property
    def failed(self) -> tuple[str, BaseException, str] | None:
        """The last one that failed, its error, and the name under which it was compiled."""

    def shown(self, name: str) -> str | None:
        """The source of a function or class of this name, else its value; None: there is none."""


# The table ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Takes:
    """A word that a command takes.

    Parameters
    ----------
    word : as the help names it
    kind : what it is, for completion: "model", "file", ...; "" for a word of the person's own
    needed : whether the command needs it
    rest : whether it is all that follows, as it stands
    """

    word: str
    kind: str = ""
    needed: bool = False
    rest: bool = False

    def __str__(self) -> str:
        return self.word if self.needed else f"[{self.word}]"


@dataclass(frozen=True)
class Option:
    """An option of a command: `--format NAME`; without a word, a switch."""

    name: str
    word: str = ""
    kind: str = ""

    def __str__(self) -> str:
        return f"[{self.name} {self.word}]" if self.word else f"[{self.name}]"


@dataclass(frozen=True)
class Call:
    """A command that somebody entered: on what, where, and what stood after its name."""

    commands: Commands
    front: Front
    given: argparse.Namespace


@dataclass(frozen=True)
class Command:
    """A command: its name, what it takes, one line of help, and what it does."""

    name: str
    help: str
    do: Callable[[Call], str | None]
    takes: tuple[Takes, ...] = ()
    options: tuple[Option, ...] = ()
    more: str = ""
    """More help, for `%lmc help NAME`."""
    in_panel: bool = True
    """Whether the panel offers it too."""

    @property
    def usage(self) -> str:
        """As it is typed: `%lmc save [PATH] [--format NAME]`."""
        return " ".join(["%lmc", self.name, *map(str, (*self.takes, *self.options))])

    def read(self, rest: str) -> argparse.Namespace:
        """The words and options after its name.

        Raises
        ------
        WrongCommand
            For what it does not take.
        """
        parser = _Parser(prog=f"%lmc {self.name}", add_help=False, allow_abbrev=False)
        for takes in self.takes:
            parser.add_argument(takes.word, nargs=None if takes.needed else "?")
        for option in self.options:
            flag: dict[str, Any] = {} if option.word else {"action": "store_true"}
            parser.add_argument(option.name, **flag)
        if any(takes.rest for takes in self.takes):
            words = _rest(rest, len(self.takes))
            given = parser.parse_args(["--", *words] if words else [])
            more: list[str] = []
        else:
            given, more = parser.parse_known_args(split(rest))
        if more:
            raise WrongCommand(
                f"`%lmc {self.name}` does not take {' '.join(more)!r}: see `%lmc help {self.name}`"
            )
        return given


def split(line: str) -> list[str]:
    """The words of a line; quotation marks hold words together.

    Raises
    ------
    WrongCommand
        For a quotation mark without another.
    """
    words = shlex.shlex(line, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters = True, ""
    if os.name == "nt":
        words.escape = ""  # it stands between folders
    try:
        return list(words)
    except ValueError as error:
        raise WrongCommand(f"{line!r} cannot be read: {error}") from None


def _rest(line: str, most: int) -> list[str]:
    """At most so many words; the last one is all that is left, as it stands."""
    return line.split(maxsplit=most - 1) if most > 1 else [line] if line else []


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        name = self.prog.removeprefix("%lmc ")
        missing = "the following arguments are required: "
        if message.startswith(missing):
            raise WrongCommand(
                f"{BY_NAME[name].usage}: {message.removeprefix(missing)} is missing; "
                f"see `%lmc help {name}`"
            )
        raise WrongCommand(f"`{self.prog}` is wrong: {message}; see `%lmc help {name}`")


class Commands:
    """The commands of one session.

    Parameters
    ----------
    session : what they work on
    settings : where a chosen model is kept; None for a session of somebody's own
    cells : the person's cells, where there are some
    """

    def __init__(
        self, session: Session, settings: LMC | None = None, cells: Cells | None = None
    ) -> None:
        self.session, self.settings, self.cells = session, settings, cells
        self._listed: list[str] = []  # the ids in the list that was shown last

    def run(self, line: str, front: Front) -> str:
        """Do what this line says (what stands after `%lmc`), and return what there is to say.

        Raises
        ------
        LMCError
            For words that are no command, or one that cannot be done now.
        """
        name, _, rest = line.strip().partition(" ")
        if not name:
            return self.state()
        command = BY_NAME.get(MEANT.get(name, name))
        if command is None:
            raise self._no_command(name)
        return command.do(Call(self, front, command.read(rest.strip()))) or ""

    def _no_command(self, name: str) -> WrongCommand:
        if name.startswith("-"):
            return WrongCommand(
                f"{name} is no command: `%lmc help` lists them; the options -m, --auto-run, --new, "
                "--no-context, --image, --file and --audio are %%lmc's"
            )
        near = difflib.get_close_matches(name, list(BY_NAME), 1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        return WrongCommand(
            f"%lmc has no command {name!r}: {meant}`%lmc help` lists them; a question goes into a "
            "cell of its own, under %%lmc, or after `%lmc ask`"
        )

    # What is going on -----------------------------------------------------------------------------

    def state(self) -> str:
        """The model, the conversation, and what waits."""
        session = self.session
        lines = [f"Model: {self.model_name()}", f"Conversation: {self._conversation()}"]
        if session.pending is not None:
            lines.append("Code waits for your answer: `%lmc resume` asks you again.")
        lines += filter(None, [session.notice, session.other_model, session.unsaved])
        if earlier := session.earlier:
            lines.append(
                f"This notebook's last conversation was {earlier.title!r}: "
                f"`%lmc open {earlier.id}` continues it."
            )
        elif not session.messages and session.conversations and session.conversations.list():
            lines.append("`%lmc history` lists the saved conversations.")
        return "\n".join([*lines, "`%lmc help` lists the commands."])

    def _conversation(self) -> str:
        title, count = self.session.title, len(self.session.messages)
        said = f"{count} message{'' if count == 1 else 's'}"
        return f"{title} ({said})" if title else said

    def languages(self) -> str:
        """Every language of the computer: how it runs, or what to install so that it does."""
        there = self.session.computer.availability()
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

    def help(self, name: str | None = None) -> str:
        """All commands, or one of them."""
        if name is None:
            return help_text()
        name = name.removeprefix("%").removeprefix("lmc").strip() or name
        command = BY_NAME.get(name)
        if command is None:
            raise self._no_command(name)
        return "\n".join(filter(None, [command.usage, f"    {command.help}", command.more]))

    # Asking ---------------------------------------------------------------------------------------

    def resume(self, front: Front) -> None:
        """Go on where the conversation stands."""
        if not self.can_resume():
            raise WrongCommand(
                "no code waits and no answer was interrupted: ask a question in a cell, under %%lmc"
            )
        front.resume()

    def can_resume(self) -> bool:
        """Whether the conversation stands in the middle of an answer."""
        messages = self.session.messages
        if not messages:
            return False
        last = messages[-1]
        return last.role != "assistant" or is_code(last) or bool(last.extra.get("partial"))

    def retry(self, front: Front) -> None:
        """Ask the last question again."""
        turns = [turn for turn in self.session.turns if turn.said]
        if not turns:
            raise WrongCommand(
                "no question was asked in this kernel yet: ask one in a cell, under %%lmc"
            )
        front.retry(turns[-1])

    def fix(self, words: str | None, front: Front) -> None:
        """Send the last exception to the model, with its cell."""
        failed = self._cells().failed
        if failed is None:
            raise WrongCommand("no cell has failed since the extension was loaded")
        cell, raised, filename = failed
        error = short(raised, filename)
        front.ask(
            f"{words or 'This cell failed. Say why, and fix it.'}\n\n"
            f"{_fenced(cell, 'python')}\n\n{_fenced(error)}",
            insert=False,
        )

    def explain(self, name: str | None, front: Front) -> None:
        """Ask the model what the last cell, or this variable, is."""
        cells = self._cells()
        if name is None:
            cell = cells.last
            if not cell:
                raise WrongCommand("no cell has run since the extension was loaded")
            front.ask(f"Explain this cell.\n\n{_fenced(cell, 'python')}", insert=False)
            return
        shown = cells.shown(name.removeprefix("@"))
        if shown is None:
            raise WrongCommand(
                f"there is no variable {name!r} here: name a variable, or give no name to "
                "explain the last cell"
            )
        front.ask(f"Explain `{name}`, which is this:\n\n{_fenced(shown)}", insert=False)

    def _cells(self) -> Cells:
        if self.cells is None:
            raise WrongCommand(
                "this session does not belong to a notebook, so there are no cells here"
            )
        return self.cells

    def stop(self) -> str | None:
        """Stop what is being answered; an answer that runs says by itself that it was stopped."""
        running = self.session.busy
        self.session.stop()
        return None if running else "There is no answer to stop."

    def undo(self) -> str:
        """Take back the last question and what came after it."""
        taken = self.session.undo()
        if not taken:
            raise WrongCommand("the conversation is empty: there is no question to remove")
        answer = " and its answer" if len(taken) > 1 else ""
        return f"Removed the last question{answer}. Your variables did not change."

    def reset(self) -> str:
        """Begin a new conversation."""
        self.session.may_leave()
        self.session.reset()
        return "Started a new conversation. Your variables did not change."

    # Conversations that are kept ------------------------------------------------------------------

    def history(self, words: str | None = None) -> str:
        """The conversations that are kept, the last one first; with words, those that hold them."""
        everything = self._kept().list()
        found = self._kept().list(words) if words else everything
        if not found:
            return (
                f"No conversation contains {words!r}." if words else "No conversation is saved yet."
            )
        self._listed = [each.id for each in everything]
        numbers = {id: number for number, id in enumerate(self._listed, start=1)}
        shown = found[:MOST_SHOWN]
        rows = [
            [
                str(numbers.get(each.id, "")),
                _cut(each.title or "(no title)", 40),
                _cut(os.path.basename(each.notebook), 24),  # noqa: PTH119 - not of this machine
                str(each.changed)[:16].replace("T", " "),
                _cut(each.model, 24),
                f"{each.messages:,}",
            ]
            for each in shown
        ]
        lines = _columns([["", "title", "notebook", "changed", "model", "messages"], *rows])
        for index, each in reversed(list(enumerate(shown, start=1))):
            if words and each.found:
                lines.insert(index + 1, f"      {_cut(each.found, 90)}")
        if len(found) > len(shown):
            lines.append(f"… and {len(found) - len(shown):,} more: `%lmc history WORDS` searches.")
        lines.append("`%lmc open` takes a number, a title or the first characters of an id.")
        return "\n".join(lines)

    def open(self, which: str) -> str:
        """Go on with a conversation that is kept."""
        meant = self._meant(which)
        self.session.may_leave()
        return str(self.session.open(meant.id))

    def fork(self, which: str | None) -> str:
        """Go on with a copy."""
        meant = None if which is None else self._meant(which).id
        if meant is not None:
            self.session.may_leave()
        return str(self.session.fork(meant))

    def rename(self, title: str) -> str:
        """Give this conversation a title."""
        self.session.rename(title)
        return f"Conversation: {self._conversation()}"

    def delete(self, which: str) -> str:
        """Take a conversation away for good."""
        kept, word = self._meant(which), which.strip()
        # what is gone for good was named in full, not by a part of its title
        if not word.isdecimal() and word.casefold() not in (kept.title.casefold(), kept.id):
            raise WrongCommand(
                f"{word!r} is a part of {kept.title!r}: to delete it permanently, give its number "
                f"in the list, its whole title, or its id {kept.id}"
            )
        said = self.session.delete(kept.id)
        return said or f"Deleted “{kept.title or kept.id}”."

    def _meant(self, which: str) -> Any:
        """The conversation that a person means; a number is that of the list that they saw.

        The list itself moves with each answer and each deletion.
        """
        word = which.strip()
        if not (word.isdecimal() and len(word) < 6 and 0 < int(word) <= len(self._listed)):
            return self._kept().find(which)
        id = self._listed[int(word) - 1]
        there = next((each for each in self._kept().list() if each.id == id), None)
        if there is None:
            raise WrongCommand(
                f"conversation {word} of the list was deleted: `%lmc history` shows the current "
                "list"
            )
        return there

    def _kept(self) -> Any:
        conversations = self.session.conversations
        if conversations is None:
            raise WrongCommand(self.session.unsaved or "this session does not save conversations")
        return conversations

    # Files ----------------------------------------------------------------------------------------

    def save(self, path: str | None, name: str | None, replace: bool, ending: str = ".json") -> str:
        """Write the conversation to a file; without a path, to one of its title."""
        if not self.session.messages:
            raise WrongCommand("the conversation is empty: there is nothing to save")
        target = Path(path).expanduser() if path else _free(self.session.title, name, ending)
        if target.is_dir():
            raise WrongCommand(f"{path!r} is a folder: name a file in it")
        if target.exists() and not replace:
            raise WrongCommand(
                f"there is a file {str(target)!r} already: choose another name, or add --replace"
            )
        if not target.parent.is_dir():
            raise WrongCommand(f"there is no folder {str(target.parent)!r}: make it first")
        try:
            lost = self.session.save(target, name, replace=replace)
        except OSError as error:
            raise WrongCommand(f"{str(target)!r} cannot be written: {error.strerror}") from None
        return "\n".join([f"Wrote {target}.", *lost])

    def load(self, path: str, name: str | None) -> str:
        """Go on with the conversation of a file."""
        self.session.may_leave()
        try:
            lost = self.session.load(Path(path).expanduser(), name)
        except OSError as error:
            raise WrongCommand(f"{path!r} cannot be read: {error.strerror}") from None
        return "\n".join([f"Conversation: {self._conversation()}", *lost])

    # What it takes --------------------------------------------------------------------------------

    def tokens(self) -> str:
        """How full the model's window is, and with what."""
        return str(self.session.tokens())

    def cost(self) -> str:
        """What the conversation has cost, and what it may cost."""
        return str(self.session.spending)

    # Settings -------------------------------------------------------------------------------------

    def config(self, name: str | None, value: str | None) -> str:
        """The settings; with a name, that one; with a value, set it."""
        settings = self._settings()
        traits = settings.class_own_traits(config=True)
        if name is None:
            lines = _columns([[each, _value(getattr(settings, each))] for each in sorted(traits)])
            return "\n".join([*lines, "`%lmc config NAME` explains a setting."])
        name = name.removeprefix("LMC.")
        if name not in traits:
            near = difflib.get_close_matches(name, list(traits), 1)
            meant = f"did you mean {near[0]!r}?" if near else "`%lmc config` lists them"
            raise WrongCommand(f"there is no setting {name!r:.60}: {meant}")
        if value is not None:
            try:
                setattr(settings, name, _literal(value))
            except TraitError as error:
                said = re.sub(r"^The '\w+' trait of an? \w+ instance expected", "", str(error))
                if said == str(error):
                    raise WrongCommand(said.partition("\n")[0]) from None
                raise WrongCommand(f"{name} takes{said}".partition("\n")[0]) from None
            return f"{name} = {_value(getattr(settings, name))}"
        return f"{name} = {_value(getattr(settings, name))}\n    {traits[name].help}"

    def profile(self, name: str | None, show: bool) -> str:
        """The profiles that there are; with a name, use that one, or show it."""
        settings = self._settings()
        if name is None:
            there = profiles.names()
            lines = [f"{'*' if each == settings.profile else ' '} {each}" for each in there]
            lines = lines or ["There is no profile yet."]
            return "\n".join([*lines, f"Profiles are YAML files in {profiles.folder()}."])
        values = profiles.profile(name)
        if show:
            return "\n".join(f"{each}: {_value(value)}" for each, value in values.items())
        settings.profile = None  # so that it is read anew where it is used already
        settings.profile = name
        return f"Profile: {name} ({', '.join(values) or 'no settings'})."

    def key(self, name: str | None, keep: bool, forget: bool, front: Front) -> str:
        """Ask for a key that nobody sees; it is held until the kernel ends."""
        from lmc_jupyter.models import key_name, keys

        if name is None:
            model = self.session.named
            if model is not None and not isinstance(model, str):
                raise WrongCommand(
                    "this model is an object of your own: give the key to that object"
                )
            name = key_name(model, self.session.api_base)
        if not keys.NAME.fullmatch(name):
            raise WrongCommand(
                "give the name of the key, not the key itself: "
                "`%lmc key OPENAI_API_KEY`; then you are asked for it"
            )
        if forget:
            return f"{name} was removed." if keys.forget(name) else f"There is no key {name}."
        # LMC_API_KEY is sent in place of a provider's own
        if first := next((each for each in ("LMC_API_KEY", name) if os.environ.get(each)), ""):
            raise WrongCommand(
                f"{first} is in the environment, and takes precedence: a key that you type would "
                f'not be used. Run `import os; del os.environ["{first}"]` in a cell, then type '
                f"`%lmc key {name}` again"
            )
        typed = front.secret(name)
        if not typed.strip():
            return "Nothing was changed."
        secret = keys.hold(name, typed)
        if not keep:
            return f"{name} stays in memory until this kernel ends."
        keys.keep(secret)
        return f"{name} is in your keyring now, under {keys.SERVICE}."

    def _settings(self) -> LMC:
        if self.settings is None:
            raise WrongCommand(
                "this conversation belongs to a Session that you made: set its attributes instead"
            )
        return self.settings

    # Help for completion --------------------------------------------------------------------------

    def titles(self) -> list[tuple[str, str]]:
        """The conversations that are kept, as (what to type, what it is)."""
        conversations = self.session.conversations
        found = conversations.list()[:MOST_SHOWN] if conversations is not None else []
        there = {each.id: each for each in found}
        numbers = [
            (str(number), there[id].title or "(no title)")
            for number, id in enumerate(self._listed or there, start=1)
            if id in there
        ]
        return [*numbers, *((each.title, "conversation") for each in found if each.title)]

    # Models ---------------------------------------------------------------------------------------

    def model(self, name: str | None, api_base: str | None, keep: bool, front: Front) -> str:
        """Which models there are; with a name, go on with that one."""
        if name is not None:
            said = front.choose(name, api_base)
            if not keep or self.session.named != name:
                return said
            remember("", Chosen(name, api_base))
            return f"{said} New notebooks start with it too."
        if keep:
            raise WrongCommand("--keep belongs to a model: `%lmc model NAME --keep`")
        if api_base:
            raise WrongCommand("--api-base belongs to a model: `%lmc model NAME --api-base URL`")
        return self.models()

    def models(self) -> str:
        """The model, and which others could be used now."""
        from lmc_jupyter.models import found

        lines, offers = [f"Model: {self.model_name()}"], found()
        if offers:
            lines.append("Also available; you choose one with:")
        for offer in offers:
            at = offer.options.get("api_base")
            base = f" --api-base {at}" if at else ""
            lines.append(f"  %lmc model {offer.name}{base}    ({offer.why})")
        lines.append(
            "Any other name that LiteLLM knows works too. Put its key into an environment "
            "variable, or type it with `%lmc key`."
        )
        return "\n".join(lines)

    def choose(
        self,
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
        from lmc_jupyter.models import meant, prepare

        session, settings = self.session, self.settings
        if not prepare(name, ask=ask, say=say, progress=progress):
            return "Nothing was changed."
        if settings is None:
            back = session.choose_for_now(name, **({"api_base": api_base} if api_base else {}))
            try:
                return f"Model: {self.model_name()}. The conversation continues."
            except LMCError:
                back()
                raise
        before = settings.model, settings.api_base
        with settings.hold_trait_notifications():
            settings.model = name
            settings.api_base = api_base  # the address of the model before is not its own
        session.choose_model(name, **settings.model_options())
        try:
            said = self.model_name()
        except LMCError:
            settings.model, settings.api_base = before
            raise
        try:
            if session.notebook:
                remember(session.notebook, Chosen(name, api_base))
        except SessionError as error:
            return f"Model: {said}, until this kernel ends: {error}. The conversation continues."
        other = "" if session.api_base else meant(name)
        doubt = f" LiteLLM does not know this name: {other}" if other else ""
        return f"Model: {said}. The conversation continues.{doubt}"

    def model_name(self) -> str:
        """The model as a person reads it."""
        model = self.session.model
        base = self.settings.api_base if self.settings is not None else None
        name = str(getattr(model, "label", "") or getattr(model, "name", type(model).__name__))
        return f"{name} at {address(base)}" if base else name


MOST_SHOWN = 50
"""Conversations in a list; the others are found by a search."""


def _fenced(text: str, language: str = "") -> str:
    """A block that no backticks of its own can end, without keys."""
    text, fence = redacted(text), "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.strip()}\n{fence}"


def _free(title: str, name: str | None, ending: str) -> Path:
    """A file in the working directory with the conversation's title, that is not there yet."""
    if name is not None:
        from lmc_jupyter.formats import formats

        module: Any = formats().get(name)
        ending = module.EXTENSIONS[0] if module is not None else ending
    stem = re.sub(r"[^\w\- ]+", "", title).strip()[:60] or "conversation"
    path, number = Path(f"{stem}{ending}"), 1
    while path.exists():
        number += 1
        path = Path(f"{stem}-{number}{ending}")
    return path


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
    text = repr(value)
    return text if len(text) <= MOST_OF_A_VALUE else f"{text[: MOST_OF_A_VALUE - 1]}…"


MOST_OF_A_VALUE = 300


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


COMMANDS: tuple[Command, ...] = (
    Command(
        "ask",
        "ask a question in one line",
        lambda it: it.front.ask(it.given.QUESTION, True),
        (Takes("QUESTION", needed=True, rest=True),),
        in_panel=False,
    ),
    Command(
        "fix",
        "send the last exception to the model, with its cell",
        lambda it: it.commands.fix(it.given.WORDS, it.front),
        (Takes("WORDS", rest=True),),
        more="WORDS replace the default question.",
    ),
    Command(
        "explain",
        "explain the last cell, or a variable or function",
        lambda it: it.commands.explain(it.given.NAME, it.front),
        (Takes("NAME", "variable"),),
    ),
    Command(
        "resume",
        "ask you again about code that waits, or continue an interrupted answer",
        lambda it: it.commands.resume(it.front),
    ),
    Command("retry", "ask the last question again", lambda it: it.commands.retry(it.front)),
    Command(
        "undo",
        "remove the last question and its answer",
        lambda it: it.commands.undo(),
    ),
    Command(
        "restore",
        "restore the variables that the last block of code changed",
        lambda it: it.commands.session.restore(),
    ),
    Command(
        "stop",
        "stop the current answer",
        lambda it: it.commands.stop(),
    ),
    Command("reset", "begin a new conversation", lambda it: it.commands.reset()),
    Command(
        "history",
        "list the saved conversations, or those that contain these words",
        lambda it: it.commands.history(it.given.WORDS),
        (Takes("WORDS", rest=True),),
    ),
    Command(
        "open",
        "open a saved conversation by its number, title or id",
        lambda it: it.commands.open(it.given.CONVERSATION),
        (Takes("CONVERSATION", "conversation", needed=True, rest=True),),
    ),
    Command(
        "fork",
        "copy this conversation, or another, and continue in the copy",
        lambda it: it.commands.fork(it.given.CONVERSATION),
        (Takes("CONVERSATION", "conversation", rest=True),),
    ),
    Command(
        "rename",
        "give this conversation a title",
        lambda it: it.commands.rename(it.given.TITLE),
        (Takes("TITLE", needed=True, rest=True),),
    ),
    Command(
        "delete",
        "delete a conversation permanently",
        lambda it: it.commands.delete(it.given.CONVERSATION),
        (Takes("CONVERSATION", "conversation", needed=True, rest=True),),
    ),
    Command(
        "save",
        "write this conversation to a file that `load` reads",
        lambda it: it.commands.save(it.given.PATH, it.given.format, it.given.replace),
        (Takes("PATH", "file"),),
        (Option("--format", "NAME", "format written"), Option("--replace")),
        more="The file's extension selects the format; without a path, the format is LMC JSON.",
    ),
    Command(
        "load",
        "continue with a conversation from a file",
        lambda it: it.commands.load(it.given.PATH, it.given.format),
        (Takes("PATH", "file", needed=True),),
        (Option("--format", "NAME", "format read"),),
        more="The current conversation stays in the history. Code in the file does not run.",
    ),
    Command(
        "export",
        "export this conversation: a notebook that runs without a model, Markdown, …",
        lambda it: it.commands.save(it.given.PATH, it.given.format, it.given.replace, ".ipynb"),
        (Takes("PATH", "file"),),
        (Option("--format", "NAME", "format written"), Option("--replace")),
        more="The file's extension selects the format; without a path, the format is a notebook.",
    ),
    Command(
        "model",
        "list the available models; with a name, use that model",
        lambda it: it.commands.model(it.given.NAME, it.given.api_base, it.given.keep, it.front),
        (Takes("NAME", "model"),),
        (Option("--api-base", "URL"), Option("--keep")),
        more="This notebook remembers it, also after a restart. --keep makes it the model of every "
        "notebook that has no other.",
    ),
    Command(
        "models",
        "list the models that are available",
        lambda it: it.commands.models(),
    ),
    Command(
        "languages",
        "list the languages that can run here, and what to install for the others",
        lambda it: it.commands.languages(),
    ),
    Command(
        "tokens", "show how much of the context window is used", lambda it: it.commands.tokens()
    ),
    Command("cost", "show what this conversation has cost", lambda it: it.commands.cost()),
    Command(
        "config",
        "list the settings; with a name, show one; with a value, change it",
        lambda it: it.commands.config(it.given.NAME, it.given.VALUE),
        (Takes("NAME", "setting"), Takes("VALUE", "value", rest=True)),
    ),
    Command(
        "profile",
        "list the profiles; with a name, use that profile",
        lambda it: it.commands.profile(it.given.NAME, it.given.show),
        (Takes("NAME", "profile"),),
        (Option("--show"),),
        more="--show only shows the profile.",
    ),
    Command(
        "key",
        "type the model's key, hidden; it stays in memory until the kernel ends",
        lambda it: it.commands.key(it.given.NAME, it.given.keep, it.given.forget, it.front),
        (Takes("NAME", "key"),),
        (Option("--keep"), Option("--forget")),
        more="NAME is the environment variable, such as OPENAI_API_KEY. --keep puts the key into "
        "the keyring of your system, --forget removes it.",
    ),
    Command("panel", "show the chat panel here", lambda it: it.front.show_panel(), in_panel=False),
    Command(
        "state",
        "show the model, the conversation and what waits; the same as %lmc alone",
        lambda it: it.commands.state(),
    ),
    Command(
        "help",
        "list the commands, or explain one",
        lambda it: it.commands.help(it.given.COMMAND),
        (Takes("COMMAND", "command"),),
    ),
)
"""Every command, in the order of the help."""

MEANT = {"-h": "help", "--help": "help", "?": "help", "new": "reset", "clear": "reset"}
"""Words of other programs, and the commands of ours that they mean."""
BY_NAME = {command.name: command for command in COMMANDS}

CELL_OPTIONS: tuple[tuple[str, str], ...] = (
    ("", "ask the model; the cell is the question"),
    ("-m MODEL", "… another model, for this cell"),
    ("--api-base URL", "… at this OpenAI-compatible server"),
    ("--auto-run", "… run the code of this cell without asking"),
    ("--new", "… in a new conversation"),
    ("--no-context", "… without the names of your variables"),
    ("--image FILE", "… with this image, for a model that reads images"),
    ("--file FILE", "… with this file"),
    ("--audio FILE", "… with this wav file, for a model that takes sound"),
)
"""What may stand after `%%lmc`, and what it does."""


def help_text() -> str:
    """What `%lmc help` says."""
    rows = [(f"%%lmc {option}".rstrip(), does) for option, does in CELL_OPTIONS]
    rows += [("%lmc", "show the model, the conversation and what waits")]
    rows += [(command.usage, command.help) for command in COMMANDS if command.name != "state"]
    width = min(30, max(len(usage) for usage, _ in rows))
    lines = []
    for usage, does in rows:
        if len(usage) > width:
            lines += [usage, f"{'':<{width}}  {does}"]
        else:
            lines.append(f"{usage:<{width}}  {does}")
    lines.append("In a question @name and {{name}} put in the value of a variable.")
    return "\n".join(lines)


# This kernel --------------------------------------------------------------------------------------


def current_session() -> Session:
    """The session that the `%%lmc` cells of this kernel share.

    Raises
    ------
    SessionError
        Where the extension is not loaded.
    """
    session: Session = current_magics().session
    return session


def share(value: Any, to: str, name: str | None = None) -> Shared:
    """Hand a table to another language of this kernel's `%%lmc` cells, see `Session.share`."""
    from lmc_jupyter.computer.share import name_of

    return current_session().share(value, to, name or name_of(value, sys._getframe(1)))


def current_magics() -> Any:
    """The `LMCMagics` of this kernel; raises as `current_session`."""
    shell = get_ipython()
    magics = shell.magics_manager.registry.get("LMCMagics") if shell is not None else None
    if magics is None:
        raise SessionError("there are no %%lmc cells here: run `%load_ext lmc_jupyter` first")
    return magics
