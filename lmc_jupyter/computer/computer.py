"""Languages by name: runs code in any of them, and asks each for what it can do besides.

One rule: a language is looked up in one place, and one that is missing is said at the call,
with those there are. What other packages have installed (`installed.py`) is looked for when
somebody first asks, not before.

What the person's own python can do besides (`names`, `value`, `cells`, `put`, `changes`,
`restore`) is asked here, so that whoever has a computer need not know which of its languages
that is.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from typing import Any, Protocol

from lmc_jupyter.computer.language import (
    Availability,
    Language,
    Pictured,
    availability_of,
    checked,
    words_of,
)
from lmc_jupyter.computer.lookups import one_look
from lmc_jupyter.computer.screen import Screen
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.errors import ComputerError, UnknownLanguageError
from lmc_jupyter.lmc import LANGUAGES, Chunk, canonical


class Guard(Protocol):
    """Whoever lets code of a model run, and does not let that code run more than was let."""

    def check_run(self, language: str, code: str) -> None:
        """Raise a GateError when code that it let run may not run this."""
        ...

    def check_change(self, what: str) -> None:
        """Raise a GateError when code that it let run is at work."""
        ...


Search = Callable[[Mapping[str, Language], Collection[str]], Iterable[Language]]
"""(languages by every word that means them, names of those that give way) -> what else is there."""


class Computer:
    """Languages by name.

    Parameters
    ----------
    *languages : `Language` objects, see `register`
    search : callable, optional
        Tells what was installed besides, see `lmc_jupyter.computer.installed`. It is asked again
        and again, so that what the person installs meanwhile is found, and must be cheap.
    """

    def __init__(self, *languages: Language, search: Search | None = None) -> None:
        self._languages: dict[str, Language] = {}
        self._words: dict[str, str] = {}
        self._gives_way: set[str] = set()
        self._search = search
        self._searching = threading.RLock()
        self._screen: Screen | None = None
        self.guards: weakref.WeakSet[Guard] = weakref.WeakSet()
        """Asked when somebody runs or replaces a language here; a session adds its gate."""
        for language in languages:
            self.register(language)

    def register(self, language: Language, *, gives_way: bool = False) -> None:
        """Add a language; of two with one name, the later one is used.

        Parameters
        ----------
        gives_way : whether an installed Jupyter kernel of this language is used in its place

        Raises
        ------
        ComputerError
            When it is no `Language`; nothing was changed.
        GateError
            When code that a model wrote would so put it in the place of another one.
        """
        name, words = words_of(checked(language))
        if any(self._words.get(word) not in (None, name) for word in words) or (
            self._languages.get(name, language) is not language
        ):
            for guard in list(self.guards):
                guard.check_change(f"{name} takes the place of another language")
        self._add(language, gives_way=gives_way)

    def _add(self, language: Language, *, gives_way: bool = False, takes: bool = True) -> None:
        """Have it; unless it `takes` words, those of languages that don't give way stay theirs."""
        name, words = words_of(language)
        before = self._languages.get(name)
        self._languages[name] = language
        (self._gives_way.add if gives_way else self._gives_way.discard)(name)
        self._lend(language)
        for word in words:
            if takes or self._words.get(word, name) in {name, *self._gives_way}:
                self._words[word] = name
        if before is not None and before is not language:
            before.close()

    @property
    def languages(self) -> dict[str, Language]:
        """Name -> language, in the order in which they were registered."""
        self._look()
        return dict(self._languages)

    @property
    def screen(self) -> Screen | None:
        """What the front end lends to the languages; set by whoever drives an answer."""
        return self._screen

    @screen.setter
    def screen(self, screen: Screen | None) -> None:
        self._screen = screen
        for language in list(self._languages.values()):
            self._lend(language)

    @one_look
    def availability(self) -> dict[str, Availability]:
        """Name -> whether it can run here, and how, in the order of `languages`."""
        return {name: availability_of(language) for name, language in self.languages.items()}

    @one_look
    def words(self) -> dict[str, tuple[str, ...]]:
        """Name -> the other words that mean it, of the languages that can run here."""
        return {
            name: tuple(dict.fromkeys((*language.aliases, *LANGUAGES.get(name, ()))))
            for name, language in self.languages.items()
            if availability_of(language)
        }

    def hints(self, names: Iterable[str]) -> dict[str, str]:
        """Name -> what the model is told of this language, "" for nothing."""
        languages = self.languages
        return {name: str(getattr(languages[name], "hint", "")) for name in names}

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        """Run code and yield what it shows, as it comes; closing the generator stops it.

        Raises
        ------
        UnknownLanguageError
            At the call, before anything runs: there is no such language, or it cannot run here.
        GateError
            At the call, when code that a model wrote calls this and policy does not let it.
        """
        for guard in list(self.guards):
            guard.check_run(language, code)
        return self.granted(language, code)

    def granted(self, language: str, code: str) -> Generator[Chunk, None, None]:
        """As `run`, for what a gate has let run; nobody is asked."""
        found, screen = self._find(language), self._screen
        if screen is None or hasattr(found, "hears_pages"):
            return found.run(code)
        from lmc_jupyter.computer.languages.html import heard

        return heard(found.run(code), screen, lambda: bool(getattr(found, "native", False)))

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

    def canonical(self, language: str) -> str:
        """The name of the language that this word means here; raises as `run`."""
        return self._find(language).name

    def names(self, values: bool = False) -> str:
        """A line per variable of the person's namespace, for the model; "" without python.

        Parameters
        ----------
        values : whether short values, and the first rows of frames, are told too
        """
        names = getattr(self._languages.get("python"), "names", None)
        if names is None:
            return ""
        return str(names(values=True) if values else names())

    def value(self, name: str) -> str | None:
        """What a variable of the person's holds, in some lines; None where there is none."""
        value = getattr(self._languages.get("python"), "value", None)
        found: str | None = None if value is None else value(name)
        return found

    def cells(self) -> list[tuple[str, str]]:
        """The person's cells so far: the source of each, and its traceback's text if it failed."""
        cells = getattr(self._languages.get("python"), "cells", None)
        return [] if cells is None else list(cells())

    def put(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        """Let python code call these functions by these names.

        Raises
        ------
        ComputerError
            When something else has one of the names.
        """
        put = getattr(self._languages.get("python"), "put", None)
        if put is None:
            raise ComputerError(
                "this computer has no live Python, so it cannot be given functions: define them in "
                "its own language"
            )
        put(functions)

    def changes(self) -> Names | None:
        """What the last block of python did to the person's names, once; None for nothing."""
        changes = getattr(self._languages.get("python"), "changes", None)
        found: Names | None = changes() if changes is not None else None
        return found

    def restore(self, names: Names) -> str:
        """Bring the person's names back as they were before that block.

        Returns
        -------
        Sentences on what was brought back, and what was not.

        Raises
        ------
        ComputerError
            When that cannot be done now, or no longer.
        """
        python: Any = self._languages.get("python")
        return str(python.restore(names))

    def take_pictures(self, wanted: bool) -> None:
        """Whether languages that show pages give pictures of them to a model that sees."""
        for language in self.languages.values():
            if isinstance(language, Pictured):
                language.picture = wanted

    def stop(self) -> None:
        """Interrupt whatever runs, from any thread; returns at once."""
        for language in list(self._languages.values()):
            stop = getattr(language, "stop", None)
            if stop is not None:
                stop()

    def close(self) -> None:
        """Stop, and end every process that a language started."""
        self.stop()
        for language in list(self._languages.values()):
            language.close()

    def _lend(self, language: Any) -> None:
        if hasattr(language, "screen"):
            language.screen = self._screen

    def _look(self) -> None:
        """Register what has been installed since the last look."""
        if self._search is None:
            return
        with self._searching:
            there = {word: self._languages[name] for word, name in self._words.items()}
            for language in self._search(there, frozenset(self._gives_way)):
                self._add(language, takes=False)

    def _named(self, language: str) -> str | None:
        word = language.strip().lower()
        return self._words.get(word) or self._words.get(canonical(word))

    @one_look
    def _find(self, language: str) -> Language:
        name = self._named(language)
        if name is None or name in self._gives_way:
            self._look()
            name = self._named(language)
        if name is None:
            raise UnknownLanguageError(
                f"this computer has no language {language!r}: it has {self._there()}; "
                "computer.register(...) adds one"
            )
        found = self._languages[name]
        if missing := availability_of(found).missing:
            raise UnknownLanguageError(
                f"{name} cannot run here: {missing.rstrip('.')}. This computer has {self._there()}"
            )
        return found

    def _there(self) -> str:
        return ", ".join(self.words()) or "none"


def as_computer(value: Any) -> Computer | None:
    """The computer that somebody gives to a session; None for none.

    Raises
    ------
    ComputerError
        For what is no Computer.
    """
    if not isinstance(value, Computer | None):
        raise ComputerError(
            f"a {type(value).__name__} object is no Computer: give Computer(language, ...) "
            "or an object of a subclass"
        )
    return value


def default_computer(shell: Any | None = None) -> Computer:
    """The live python of `shell` (default: the running one), and every other language.

    Nothing is started, and nothing looked for, before its first block. Whatever Jupyter kernels
    and packages bring besides is found when it is asked for.
    """
    from lmc_jupyter.computer.installed import Installed
    from lmc_jupyter.computer.languages.html import Browser, Html
    from lmc_jupyter.computer.languages.javascript import JavaScript, TypeScript
    from lmc_jupyter.computer.languages.oneshot import one_shots
    from lmc_jupyter.computer.languages.python import LivePython
    from lmc_jupyter.computer.languages.r import R
    from lmc_jupyter.computer.languages.sql import SQL

    python, node = LivePython(shell), JavaScript()
    languages: list[Language] = [python, _shell(), node, R(), Html(), Browser(), SQL(python)]
    computer = Computer(*languages, TypeScript(node), search=Installed())
    for each in one_shots():
        computer.register(each, gives_way=True)
    return computer


def _shell() -> Language:
    if os.name == "posix":
        from lmc_jupyter.computer.languages.shell import Shell

        return Shell()
    from lmc_jupyter.computer.languages.windows_shell import WindowsShell

    return WindowsShell()
