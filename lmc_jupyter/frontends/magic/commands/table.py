"""The table of commands, the parser of their lines, and the arguments of a command.

One rule: a command returns its text, or raises a sentence; it shows nothing. It calls a `Front`
where it needs a front end, to play an answer or to ask for a key.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from lmc_jupyter.errors import SessionError
from lmc_jupyter.frontends.config.place import Place
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.config.tool_files import ToolFiles
from lmc_jupyter.lmc import Message
from lmc_jupyter.session import Session

if TYPE_CHECKING:
    from lmc_jupyter.models import Offer
    from lmc_jupyter.turn.turns import Turn


class WrongCommand(SessionError):  # noqa: N818 - it is the person's word that is wrong
    """Words that are no command."""


# Arguments of a command ---------------------------------------------------------------------------


class Front(Protocol):
    """The front end that a command was typed in."""

    shows_notes: bool
    """Whether the person sees there what is put into the conversation."""

    def ask(self, question: str | Message, insert: bool) -> bool:
        """Put a question, and show its answer; see `Session.ask` for `insert`.

        Returns whether the answer is over; else it is given meanwhile.
        """

    def resume(self) -> None:
        """Go on with the answer; called when there is something to go on with."""

    def retry(self, turn: Turn) -> None:
        """Ask the question of this turn again."""

    def show_panel(self) -> None:
        """Show the panel."""

    def choose(self, name: str, api_base: str | None) -> str:
        """Go on with another model, see `model.choose`."""

    def progress(self, text: str) -> None:
        """Show how far a command is that Ctrl-C ends; "" when it is over.

        Raises a sentence where it could not be stopped.
        """

    def secret(self, name: str) -> str:
        """Ask for this key, which nobody sees; raises a sentence where nobody can be asked."""


class PersonsCells(Protocol):
    """The person's own cells, as far as a command asks for them."""

    @property
    def last(self) -> str:
        """The source of the last one; "" where there was none."""

    @property
    def last_end(self) -> float:
        """A time since which none ended, in seconds since the epoch; 0 where none ran."""

    @property
    def failure(self) -> tuple[str, BaseException, str] | None:
        """The last one that failed, its error, and the name under which it was compiled."""

    @property
    def unknown(self) -> str:
        """A sentence on what of the notebook is not known in this front end; "" for nothing."""

    def source_of(self, name: str) -> str | None:
        """The source of a function or class of this name, else its value; None: there is none."""

    def hide(self, *, ids: Collection[str] = (), number: int = 0) -> None:
        """Cells of these ids, or of this number, go to no model."""


class Commands:
    """The commands of one session.

    Parameters
    ----------
    session : what they work on
    settings : stores a chosen model; None for a session of the person's own
    cells : the person's cells, where there are some
    place : the instructions of the notebook's folder; None for a session of the person's own
    tool_files : the files that name MCP servers; None for a session of the person's own
    is_on_screen : whether a file has what stands on the screen; None where that is not known
    """

    def __init__(
        self,
        session: Session,
        settings: LMC | None = None,
        cells: PersonsCells | None = None,
        place: Place | None = None,
        tool_files: ToolFiles | None = None,
        is_on_screen: Callable[[Path], bool | None] = lambda _: None,
    ) -> None:
        self.session, self.settings, self.cells, self.place = session, settings, cells, place
        self.tool_files, self.is_on_screen = tool_files, is_on_screen
        self.list_ids: list[str] = []
        """The ids of the conversations in the list that was shown last."""
        self.offers: tuple[float, list[Offer]] | None = None
        """(time, models) of the last look-up for completion."""

    def run(self, line: str, front: Front) -> str:
        """Run the command of this line, the text after `%lmc`, and return its text.

        Raises
        ------
        LMCError
            For words that are no command, or one that cannot be done now.
        """
        name, _, rest = line.strip().partition(" ")
        entry = find(name or "state")
        return entry.do(Invocation(self, front), **entry.read(rest.strip())) or ""


@dataclass(frozen=True)
class Invocation:
    """A command that somebody entered: its session, and its front end."""

    commands: Commands
    front: Front

    @property
    def session(self) -> Session:
        """The session that it is for."""
        return self.commands.session

    @property
    def settings(self) -> LMC:
        """The settings of the kernel; raises where the session is somebody's own."""
        if self.commands.settings is None:
            raise WrongCommand(
                "this conversation belongs to a Session that you made: set its attributes instead"
            )
        return self.commands.settings

    @property
    def cells(self) -> PersonsCells:
        """The person's cells; raises where there are none."""
        if self.commands.cells is None:
            raise WrongCommand(
                "this session does not belong to a notebook, so there are no cells here"
            )
        return self.commands.cells

    @property
    def place(self) -> Place:
        """The instructions of the notebook's folder; raises where the session is somebody's own."""
        if self.commands.place is None:
            raise WrongCommand(
                "this conversation belongs to a Session that you made: set its "
                "custom_instructions instead"
            )
        return self.commands.place

    @property
    def tool_files(self) -> ToolFiles:
        """The files that name MCP servers; raises where the session is somebody's own."""
        if self.commands.tool_files is None:
            raise WrongCommand(
                "this conversation belongs to a Session that you made: MCP servers belong to the "
                "notebook's own"
            )
        return self.commands.tool_files


# The table ----------------------------------------------------------------------------------------

Candidate = tuple[str, str]
"""(what to type, what it is)."""


@dataclass(frozen=True)
class Prefix:
    """The beginning of a word that somebody is typing, for completion.

    Parameters
    ----------
    text : the word so far
    before : the words of the command before it
    variables : the person's variables whose names begin so, as (name, type, shape)
    """

    commands: Commands
    text: str
    before: Sequence[str]
    variables: Callable[[str], Iterable[tuple[str, str, str]]]


Complete = Callable[[Prefix], Iterable[Candidate]]
"""Gives all candidates for a word; completion filters those that do not begin like it."""


@dataclass(frozen=True)
class Parameter:
    """A word or an option of a command.

    Parameters
    ----------
    word : as the help names it; "" for an option that is a switch
    option : such as "--format"; "" for a word that stands alone
    complete : gives what Tab offers
    required : whether the command needs it
    rest : whether it is all that follows, as it stands
    """

    word: str
    option: str = ""
    complete: Complete | None = None
    required: bool = False
    rest: bool = False


@dataclass(frozen=True)
class Command:
    """A command: its name, what it takes, one line of help, and what it does."""

    name: str
    syntax: str
    help: str
    more: str
    do: Callable[..., str | None]
    parameters: list[Parameter]
    options: list[Parameter]
    also: tuple[str, ...]
    in_panel: bool

    @property
    def usage(self) -> str:
        """As it is typed: `%lmc save [PATH] [--format NAME]`."""
        return f"%lmc {self.name} {self.syntax}".rstrip()

    def read(self, rest: str) -> dict[str, Any]:
        """The words and options after its name, as arguments of its function.

        Raises
        ------
        WrongCommand
            For what it does not take.
        """
        parser = _Parser(self)
        if any(parameter.rest for parameter in self.parameters):
            words = ["--", *rest.split(maxsplit=len(self.parameters) - 1)] if rest else []
        else:
            words = split(rest)
        arguments, more = parser.parse_known_args(words)
        if more:
            raise WrongCommand(
                f"`%lmc {self.name}` does not take {' '.join(more)!r}: see `%lmc help {self.name}`"
            )
        return {name.lower(): value for name, value in vars(arguments).items()}


COMMANDS: list[Command] = []
"""Every command, in the order of the help."""

_Do = TypeVar("_Do", bound=Callable[..., "str | None"])
_SYNTAX = re.compile(r"\[(--[a-z-]+)(?: ([A-Z]+))?\]|(\[?[A-Z]+\]?)")


def command(
    name: str,
    syntax: str = "",
    *,
    help: str,
    more: str = "",
    complete: Mapping[str, Complete] | None = None,
    rest: bool = False,
    also: Sequence[str] = (),
    in_panel: bool = True,
) -> Callable[[_Do], _Do]:
    """Put a function into the table of commands.

    The function gets the `Invocation`, and by their names in lower case the words and the options:
    `[PATH] [--format NAME]` are its arguments `path` and `format`. What was not given is None, or
    False for an option without a value. It returns its text.

    Parameters
    ----------
    syntax : the words and options as the help shows them, in brackets what may be left out
    help : one line, for the list of commands
    more : sentences that follow it in `%lmc help NAME` and in docs/commands.md
    complete : word -> what Tab offers for it
    rest : whether the last word is all that follows, as it stands
    also : words of other programs that mean this command
    in_panel : whether the panel offers it too
    """

    def add(do: _Do) -> _Do:
        if any(each.name == name for each in COMMANDS):
            raise ValueError(f"there is a command {name!r} already: give this one another name")
        parameters = [_parameter(each, complete or {}) for each in _SYNTAX.finditer(syntax)]
        words = [each for each in parameters if not each.option]
        if rest:
            words[-1] = replace(words[-1], rest=True)
        options = [each for each in parameters if each.option]
        entry = Command(name, syntax, help, more, do, words, options, tuple(also), in_panel)
        COMMANDS.append(entry)
        return do

    return add


def _parameter(match: re.Match[str], complete: Mapping[str, Complete]) -> Parameter:
    option, value, word = match.groups("")
    name = value or word.strip("[]")
    return Parameter(name, option, complete.get(name), required=bool(word) and word == name)


def find(name: str) -> Command:
    """The command of this name, or the one that a word of other programs means.

    Raises
    ------
    WrongCommand
        When there is none; the sentence says which one was probably meant.
    """
    for each in COMMANDS:
        if name == each.name or name in each.also:
            return each
    if name.startswith("-"):
        raise WrongCommand(
            f"{name} is no command: `%lmc help` lists them; the options -m, --auto-run, --new, "
            "--cells, --context, --image, --file, --audio and the like are %%lmc's"
        )
    near = difflib.get_close_matches(name, [each.name for each in COMMANDS], 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise WrongCommand(
        f"%lmc has no command {name!r}: {hint}`%lmc help` lists them; a question goes into a "
        "cell of its own, under %%lmc, or after `%lmc ask`"
    )


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


class _Parser(argparse.ArgumentParser):
    """Reads what stands after the name of a command."""

    def __init__(self, read: Command) -> None:
        super().__init__(prog=f"%lmc {read.name}", add_help=False, allow_abbrev=False)
        self._command = read
        for parameter in read.parameters:
            self.add_argument(parameter.word, nargs=None if parameter.required else "?")
        for option in read.options:
            flag: dict[str, Any] = {} if option.word else {"action": "store_true"}
            self.add_argument(option.option, **flag)

    def error(self, message: str) -> NoReturn:
        name, missing = self._command.name, "the following arguments are required: "
        if message.startswith(missing):
            raise WrongCommand(
                f"{self._command.usage}: {message.removeprefix(missing)} is missing; "
                f"see `%lmc help {name}`"
            )
        raise WrongCommand(f"`%lmc {name}` is wrong: {message}; see `%lmc help {name}`")


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """These rows as lines, each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
