"""What can be typed next after `%lmc` and `%%lmc`: our commands, their words, our options.

One rule: it offers and looks; nothing is chosen, fetched or run because somebody pressed Tab.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.magic.commands import CELL_OPTIONS, COMMANDS, Commands, files, model
from lmc_jupyter.frontends.magic.commands.table import (
    Command,
    Complete,
    Offered,
    Typed,
    WrongCommand,
    find,
)

MOST = 200
"""Offers at once."""


class Completion:
    """Completes lines of one session's commands.

    Parameters
    ----------
    variables : the person's variables whose names begin so, as (name, type, shape)
    """

    def __init__(
        self, commands: Commands, variables: Callable[[str], Iterable[tuple[str, str, str]]]
    ) -> None:
        self._commands, self._variables = commands, variables

    def complete(self, text: str) -> tuple[str, list[Offered]] | None:
        """What fits after this text.

        Parameters
        ----------
        text : the cell up to the cursor

        Returns
        -------
        What the offers take the place of, and the offers; None where this is no line of ours.
        """
        first, newline, body = text.partition("\n")
        if first.lstrip().startswith("%%"):
            magic, blank, rest = first.lstrip().partition(" ")
            if magic != "%%lmc":
                return None
            if newline:
                return self._reference(body)
            return self._cell_line(rest) if blank else None
        line = text.rpartition("\n")[2].lstrip()
        magic, blank, rest = line.partition(" ")
        if magic != "%lmc" or not blank:
            return None
        return self._line(rest.lstrip())

    def _line(self, rest: str) -> tuple[str, list[Offered]]:
        name, blank, typed = rest.partition(" ")
        if not blank:
            return name, _beginning(name, ((each.name, each.help) for each in COMMANDS))
        typed = typed.lstrip()
        try:
            command = find(name)
        except WrongCommand:
            return typed, []
        if len(command.takes) == 1 and command.takes[0].rest:
            return self._reference(typed) or (typed, self._offer(command.takes[0].complete, typed))
        return self._words(command, typed)

    def _words(self, command: Command, typed: str) -> tuple[str, list[Offered]]:
        """The last of several words."""
        before, word = _last_word(typed)
        options = {each.option: each for each in command.options}
        last = before[-1] if before else ""
        if last in options and options[last].word:
            return word, self._offer(options[last].complete, word)
        if word.startswith("-"):
            left = [(name, "option") for name in options if name not in before]
            return word, _beginning(word, left)
        takes_word = {name for name, option in options.items() if option.word}
        said = [
            each
            for at, each in enumerate(before)
            if each not in options and not (at and before[at - 1] in takes_word)
        ]
        if len(said) >= len(command.takes):
            return word, _beginning(word, [(each, "option") for each in options])
        return word, self._offer(command.takes[len(said)].complete, word, said)

    def _cell_line(self, rest: str) -> tuple[str, list[Offered]]:
        before, word = _last_word(rest)
        last = before[-1] if before else ""
        if last in ("-m", "--model"):
            return word, self._offer(model.names, word)
        if last in ("--image", "--file", "--audio"):
            return word, self._offer(files.paths, word)
        if last == "--api-base":
            return word, []
        names = [(option.partition(" ")[0], does.lstrip("… ")) for option, does in CELL_OPTIONS]
        names = [("--model", does) if name == "-m" else (name, does) for name, does in names]
        several = ("--image", "--file", "--audio")
        left = [(name, does) for name, does in names if name in several or name not in before]
        return word, _beginning(word, [each for each in left if each[0]])

    def _reference(self, text: str) -> tuple[str, list[Offered]] | None:
        """A variable after `@` or `{{`."""
        word = text.split()[-1] if text and not text[-1].isspace() else ""
        at = max(word.rfind("@"), word.rfind("{{") + 1)
        if at < 0 or (not word.startswith("@") and "{{" not in word):
            return None
        typed = word[at + 1 :]
        if typed and not typed.isidentifier():
            return None
        close = "}}" if word[at] == "{" else ""
        found = self._variables(typed)
        return typed, [(f"{name}{close}", f"{kind} {shape}".strip()) for name, kind, shape in found]

    def _offer(
        self, complete: Complete | None, text: str, before: Sequence[str] = ()
    ) -> list[Offered]:
        """What begins as this word does, of all that can stand in its place."""
        if complete is None:
            return []
        try:
            return _beginning(text, complete(Typed(self._commands, text, before, self._variables)))
        except (LMCError, OSError):
            return []  # whoever enters the line is told why


def _last_word(typed: str) -> tuple[list[str], str]:
    """The words before the last one, and that one; quotation marks hold words together."""
    words, word, quote = [], "", ""
    for char in typed:
        if char.isspace() and not quote:
            if word:
                words.append(word)
            word = ""
            continue
        if char in "\"'" and quote in ("", char):
            quote = "" if quote else char
        word += char
    return words, word


def _beginning(typed: str, offered: Iterable[Offered]) -> list[Offered]:
    """Those that begin so; upper and lower case are one. A quotation mark may stand before."""
    wanted = typed.lstrip("\"'").lower()
    found = [each for each in offered if each[0].lstrip("\"'").lower().startswith(wanted)]
    return found[:MOST]
