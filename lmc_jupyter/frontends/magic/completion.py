"""What can be typed next after `%lmc` and `%%lmc`: our commands, their words, our options.

One rule: it offers and looks; nothing is chosen, fetched or run because somebody pressed Tab.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.config import profiles
from lmc_jupyter.frontends.magic.commands import BY_NAME, CELL_OPTIONS, COMMANDS, Command, Commands

if TYPE_CHECKING:
    from lmc_jupyter.models import Offer

Offered = tuple[str, str]
"""What to type, and what it is."""

MOST = 200
_FRESH = 30.0
"""Seconds for which what servers offer is believed."""


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
        self._offers: tuple[float, list[Offer]] | None = None

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
        command = BY_NAME.get(name)
        if command is None:
            return typed, []
        typed = typed.lstrip()
        if command.takes and command.takes[-1].rest and len(command.takes) == 1:
            kind = command.takes[0].kind
            return self._reference(typed) or (typed, self._of_kind(kind, typed))
        return self._words(command, typed)

    def _words(self, command: Command, typed: str) -> tuple[str, list[Offered]]:
        """The last of several words."""
        before, word = _last_word(typed)
        options = {option.name: option for option in command.options}
        last = before[-1] if before else ""
        if last in options and options[last].word:
            return word, self._of_kind(options[last].kind, word)
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
        takes = command.takes[len(said)]
        if takes.kind == "value":
            return word, self._values(said[0], word)
        return word, self._of_kind(takes.kind, word)

    def _cell_line(self, rest: str) -> tuple[str, list[Offered]]:
        before, word = _last_word(rest)
        last = before[-1] if before else ""
        if last in ("-m", "--model"):
            return word, self._of_kind("model", word)
        if last in ("--image", "--file", "--audio"):
            return word, self._of_kind("file", word)
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

    def _of_kind(self, kind: str, typed: str) -> list[Offered]:
        try:
            return _beginning(typed, self._all_of_kind(kind, typed))
        except (LMCError, OSError):
            return []  # whoever enters the line is told why

    def _all_of_kind(self, kind: str, typed: str) -> Iterable[Offered]:
        """What there is of a kind of word; for some kinds only what begins so."""
        if kind == "command":
            return [(each.name, each.help) for each in COMMANDS]
        if kind == "conversation":
            return self._commands.titles()
        if kind == "variable":
            return [(name, f"{what} {s}".strip()) for name, what, s in self._variables(typed)]
        if kind == "model":
            return self._models()
        if kind == "file":
            return self._files(typed)
        if kind == "profile":
            return [(name, "profile") for name in profiles.names()]
        if kind == "key":
            from lmc_jupyter.models.found import KEYS

            return [*((name, model) for name, model in KEYS.items()), ("LMC_API_KEY", "any")]
        if kind == "setting" and self._commands.settings is not None:
            traits = self._commands.settings.class_own_traits(config=True)
            return [(name, traits[name].help.partition(". ")[0]) for name in sorted(traits)]
        if kind in ("format read", "format written"):
            from lmc_jupyter.formats import formats

            does = "read" if kind == "format read" else "write"
            return [
                (name, ", ".join(each.EXTENSIONS))
                for name, each in formats().items()
                if hasattr(each, does)
            ]
        return []

    def _models(self) -> list[Offered]:
        from lmc_jupyter.models import found

        now = time.monotonic()
        if self._offers is None or now - self._offers[0] > _FRESH:
            self._offers = now, found()
        return [*((each.name, each.why) for each in self._offers[1]), ("local", "built in")]

    def _values(self, name: str, typed: str) -> list[Offered]:
        settings = self._commands.settings
        trait = settings.traits().get(name) if settings is not None else None
        if trait is None:
            return []
        if name == "model":
            return self._of_kind("model", typed)
        value = getattr(settings, name)
        known = ["True", "False"] if isinstance(trait.default(), bool) else [repr(value)]
        return _beginning(typed, ((each, "value") for each in known))

    def _files(self, typed: str) -> list[Offered]:
        """Files and folders; one whose name has a blank in it is put in quotation marks."""
        bare = typed.lstrip("\"'")
        quote = typed[: len(typed) - len(bare)]
        folder, _, start = bare.rpartition("/")
        where = Path(f"{folder}/" if folder or bare.startswith("/") else ".").expanduser()
        found = []
        for path in sorted(where.iterdir())[: MOST * 5]:
            if not path.name.startswith(start) or (path.name.startswith(".") and not start):
                continue
            name = f"{folder}/{path.name}" if folder or bare.startswith("/") else path.name
            if path.is_dir():
                name = f"{name}/"
            mark = quote or ('"' if any(char.isspace() for char in name) else "")
            done = "" if path.is_dir() else mark
            found.append((f"{mark}{name}{done}", "folder" if path.is_dir() else "file"))
        return found


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
