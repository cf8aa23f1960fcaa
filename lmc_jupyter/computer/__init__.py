"""The computer: runs code in any language it knows, by name or by another word for it.

One rule: a language is looked up in one place, and one that is missing is said at the call,
with those there are. To add a language, write a class with `name`, `aliases`, `run` and
`close`, and `register` it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Generator
from typing import Any, Protocol

from lmc_jupyter.errors import UnknownLanguageError
from lmc_jupyter.lmc import LANGUAGES, Chunk, canonical


class Language(Protocol):
    """Runs code of one language, and keeps its state from one block to the next.

    A language may also have `uses(code)` (the other languages that the code runs), `stop()`
    (ends the block that runs, from any thread; must not block) and `native` (True when the
    person sees its output without us).
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
        for language in languages:
            self.register(language)

    def register(self, language: Language) -> None:
        """Add a language; of two with one name, the later one is used."""
        name = language.name.strip().lower()
        self._languages[name] = language
        for word in (canonical(name), name, *language.aliases):
            self._words[word.strip().lower()] = name

    @property
    def languages(self) -> dict[str, Language]:
        """Name -> language, in the order in which they were registered."""
        return dict(self._languages)

    def words(self) -> dict[str, tuple[str, ...]]:
        """Name -> the other words that mean it."""
        return {
            name: tuple(dict.fromkeys((*language.aliases, *LANGUAGES.get(name, ()))))
            for name, language in self._languages.items()
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
