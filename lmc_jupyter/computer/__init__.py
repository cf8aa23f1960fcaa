"""The computer: runs code in any language it knows, by name or by another word for it.

One rule: a language is looked up in one place, and one that is missing is said at the call,
with those there are. To add a language, write a class with `name`, `aliases`, `run` and
`close`, and `register` it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Generator
from dataclasses import dataclass
from typing import Any, Protocol

from lmc_jupyter.computer.screen import Screen
from lmc_jupyter.errors import UnknownLanguageError
from lmc_jupyter.lmc import LANGUAGES, Chunk, canonical


@dataclass(frozen=True)
class Availability:
    """Whether a language can run here.

    Parameters
    ----------
    how : how it runs, or would run, in a few words: "node 20.19", "R by IRkernel"
    missing : what is not there and how to get it, as a sentence; "" when it can run
    """

    how: str
    missing: str = ""

    def __bool__(self) -> bool:
        return not self.missing


class Language(Protocol):
    """Runs code of one language, and keeps its state from one block to the next.

    A language may also have

    - `uses(code)`: the other languages that the code runs;
    - `stop()`: ends the block that runs, from any thread; must not block;
    - `native`: True when the person sees its output without us;
    - `availability()`: an `Availability`, asked often, so it must be cheap; without it the
      language counts as there;
    - `screen`: None at first; the computer sets it to what the front end lends, see `Screen`.
    """

    name: str
    aliases: tuple[str, ...]

    def run(self, code: str) -> Generator[Chunk, None, None]:
        """Yield what the code shows, as it comes: the pieces of `lmc_jupyter.stream`.

        Closing the generator stops the code. When somebody interrupts the code itself, the
        generator ends with a KeyboardInterrupt, so that the whole answer ends.
        """
        ...

    def close(self) -> None:
        """End what was started; the language can be used again, from its beginning."""
        ...


class Computer:
    """Languages by name.

    Parameters
    ----------
    *languages : `Language` objects, see `register`
    """

    def __init__(self, *languages: Language) -> None:
        self._languages: dict[str, Language] = {}
        self._words: dict[str, str] = {}
        self._screen: Screen | None = None
        for language in languages:
            self.register(language)

    def register(self, language: Language) -> None:
        """Add a language; of two with one name, the later one is used."""
        name = language.name.strip().lower()
        self._languages[name] = language
        self._lend(language)
        for word in (canonical(name), name, *language.aliases):
            self._words[word.strip().lower()] = name

    @property
    def languages(self) -> dict[str, Language]:
        """Name -> language, in the order in which they were registered."""
        return dict(self._languages)

    @property
    def screen(self) -> Screen | None:
        """What the front end lends to the languages; set by whoever drives an answer."""
        return self._screen

    @screen.setter
    def screen(self, screen: Screen | None) -> None:
        self._screen = screen
        for language in self._languages.values():
            self._lend(language)

    def availability(self) -> dict[str, Availability]:
        """Name -> whether it can run here, and how, in the order of `languages`."""
        return {name: _availability(language) for name, language in self._languages.items()}

    def words(self) -> dict[str, tuple[str, ...]]:
        """Name -> the other words that mean it, of the languages that can run here."""
        return {
            name: tuple(dict.fromkeys((*language.aliases, *LANGUAGES.get(name, ()))))
            for name, language in self._languages.items()
            if _availability(language)
        }

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        """Run code and yield what it shows, as it comes; closing the generator stops it.

        Raises
        ------
        UnknownLanguageError
            At the call, before anything runs.
        """
        return self._find(language).run(code)

    def uses(self, language: str, code: str) -> frozenset[str]:
        """Every language that this code runs: `!ls` in python uses shell.

        Raises
        ------
        UnknownLanguageError
            When the computer cannot run it at all.
        """
        found = self._find(language)
        uses = getattr(found, "uses", None)
        more: Collection[str] = uses(code) if uses is not None else ()
        return frozenset({found.name, *(canonical(word) for word in more)})

    def names(self) -> str:
        """A line per variable of the person's namespace, for the model; "" without python."""
        names = getattr(self._languages.get("python"), "names", None)
        return str(names()) if names is not None else ""

    def stop(self) -> None:
        """Interrupt whatever runs, from any thread; returns at once."""
        for language in self._languages.values():
            stop = getattr(language, "stop", None)
            if stop is not None:
                stop()

    def close(self) -> None:
        """Stop, and end every process that a language started."""
        self.stop()
        for language in self._languages.values():
            language.close()

    def _lend(self, language: Any) -> None:
        if hasattr(language, "screen"):
            language.screen = self._screen

    def _find(self, language: str) -> Language:
        word = language.strip().lower()
        name = self._words.get(word) or self._words.get(canonical(word))
        if name is None:
            there = ", ".join(self._languages) or "none"
            raise UnknownLanguageError(
                f"this computer has no language {language!r}: it has {there}; "
                "computer.register(...) adds one"
            )
        return self._languages[name]


def _availability(language: Language) -> Availability:
    availability = getattr(language, "availability", None)
    return Availability("") if availability is None else availability()


def default_computer(shell: Any | None = None) -> Computer:
    """The live python of `shell` (default: the running one) and, where there is bash, a shell.

    Nothing is started before its first block.
    """
    from lmc_jupyter.computer.python import LivePython

    computer = Computer(LivePython(shell))
    if os.name == "posix":
        from lmc_jupyter.computer.shell import Shell

        computer.register(Shell())
    return computer
