"""Languages by name: runs code in any of them, and offers what only some of them can do.

One rule: `_find` alone looks a language up; its error names the languages that there are. The
languages of other packages (`installed.py`) are searched for at the first call that needs them.

What the person's own python can do besides (`names`, `value`, `cells`, `put`, `changes`,
`restore`) are methods of the computer, so that a caller need not know which language it is.
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
    availability_of,
    check_language,
    words_of,
)
from lmc_jupyter.computer.lookups import results
from lmc_jupyter.computer.screen import Screen
from lmc_jupyter.content.code_names import loop_variables
from lmc_jupyter.content.effect import Effect
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.errors import ComputerError, UnknownLanguageError
from lmc_jupyter.lmc import LANGUAGES, Chunk, canonical


class RunGuard(Protocol):
    """Lets code of a model run, and keeps that code from running more than it was granted."""

    def check_run(self, language: str, code: str) -> None:
        """Raise a GateError when granted code may not run this."""
        ...

    def check_change(self, what: str) -> None:
        """Raise a GateError while granted code runs."""
        ...


Search = Callable[[Mapping[str, Language], Collection[str]], Iterable[Language]]
"""(languages by every word for them, names of those that give way) -> further languages."""


class Computer:
    """Languages by name.

    Parameters
    ----------
    *languages : `Language` objects, see `register`
    search : callable, optional
        Yields the installed languages, see `lmc_jupyter.computer.installed`. It is called often,
        so that it finds what the person installs meanwhile, and must be cheap.
    """

    def __init__(self, *languages: Language, search: Search | None = None) -> None:
        self._languages: dict[str, Language] = {}
        self._words: dict[str, str] = {}
        self._gives_way: set[str] = set()
        self._search = search
        self._searching = threading.RLock()
        self._words_of_state: tuple[object, dict[str, tuple[str, ...]]] | None = None
        self._screen: Screen | None = None
        self.guards: weakref.WeakSet[RunGuard] = weakref.WeakSet()
        """They check every run and every replacement of a language; a session adds its gate."""
        for language in languages:
            self.register(language)

    def register(self, language: Language, *, gives_way: bool = False) -> None:
        """Add a language; it replaces one of the same name.

        Parameters
        ----------
        gives_way : whether an installed Jupyter kernel of this language is used in its place

        Raises
        ------
        ComputerError
            When it is no `Language`; nothing changes.
        GateError
            When code of a model would so replace another language.
        """
        name, words = words_of(check_language(language))
        if any(self._words.get(word) not in (None, name) for word in words) or (
            self._languages.get(name, language) is not language
        ):
            for guard in list(self.guards):
                guard.check_change(f"{name} takes the place of another language")
        self._add(language, gives_way=gives_way)

    def _add(self, language: Language, *, gives_way: bool = False, takes: bool = True) -> None:
        """Add it; unless it `takes` words, languages that do not give way keep theirs."""
        name, words = words_of(language)
        self._words_of_state = None
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
        """Name -> language, in the order of their registration."""
        self._look()
        return dict(self._languages)

    @property
    def screen(self) -> Screen | None:
        """The front end's screen for the languages; the driver of an answer sets it."""
        return self._screen

    @screen.setter
    def screen(self, screen: Screen | None) -> None:
        self._screen = screen
        for language in list(self._languages.values()):
            self._lend(language)

    def availability(self) -> dict[str, Availability]:
        """Name -> whether it can run here, and how, in the order of `languages`."""
        return {name: availability_of(language) for name, language in self.languages.items()}

    def words(self) -> dict[str, tuple[str, ...]]:
        """Name -> the other words that mean it, of the languages that can run here; each is asked
        again after some seconds, and before its code runs.
        """
        state, known = results(), self._words_of_state
        if known is None or known[0] is not state:
            words = {
                name: tuple(dict.fromkeys((*language.aliases, *LANGUAGES.get(name, ()))))
                for name, language in self.languages.items()
                if availability_of(language)
            }
            known = self._words_of_state = state, words
        return dict(known[1])

    def hints(self, names: Iterable[str]) -> dict[str, str]:
        """Name -> the hint on this language of `words` for the model, or ""."""
        return {name: str(getattr(self._languages[name], "hint", "")) for name in names}

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        """Run code and yield its output as it comes; closing the generator stops it.

        Raises
        ------
        UnknownLanguageError
            At the call, before anything runs: there is no such language, or it cannot run here.
        GateError
            At the call, when code of a model calls this and policy does not allow it.
        """
        for guard in list(self.guards):
            guard.check_run(language, code)
        return self.run_granted(language, code)

    def run_granted(
        self, language: str, code: str, *, is_promised: bool = False
    ) -> Generator[Chunk, None, None]:
        """As `run`, for code with a grant; no guard is asked.

        Parameters
        ----------
        is_promised : whether the code runs unasked because it only reads and makes new names; a
            language that can watch for that has `run_promised`
        """
        target, screen = self._find(language), self._screen
        if is_promised and (run := getattr(target, "run_promised", None)) is not None:
            pieces: Generator[Chunk, None, None] = run(code)
            return pieces
        hears = hasattr(target, "hears_pages") or getattr(target, "native", False)
        if screen is None or hears:  # of what the kernel itself shows no report is waited for
            return target.run(code)
        from lmc_jupyter.computer.languages.html import listen

        return listen(target.run(code), screen)

    def uses(self, language: str, code: str) -> frozenset[str]:
        """Every language that this code runs: `!ls` in python uses shell.

        Raises
        ------
        UnknownLanguageError
            When the computer cannot run it at all.
        """
        target = self._find(language)
        uses = getattr(target, "uses", None)
        more: Collection[str] = uses(code) if uses is not None else ()
        return frozenset({target.name, *(canonical(word) for word in more)})

    def effects(self, language: str, code: str) -> tuple[Effect, ...]:
        """What this code will do, see `lmc_jupyter.computer.effects`; that it only reads is
        said, too, and variables of loops are left out.

        Raises
        ------
        UnknownLanguageError
            When the computer cannot run it at all.
        """
        from lmc_jupyter.computer.effects import find_effects  # at the first code that is shown

        target = self._find(language)
        effects = getattr(target, "effects", None)
        found = find_effects(target.name, code) if effects is None else tuple(effects(code))
        if target.name == "python":  # a name that it binds in passing is nobody's news
            loops = loop_variables(code)
            found = tuple(
                each
                for each in found
                if each.kind != "makes" or each.name not in loops or each.detail
            )
        if found or (effects is None and target.name not in ("shell", "sql")):
            return found
        return (Effect("reads", "", "only reads, and shows output"),)

    def canonical(self, language: str) -> str:
        """The name of the language that this word means here; raises as `run`."""
        return self._find(language).name

    def names(
        self,
        values: bool = False,
        mentions: Collection[str] = (),
        loops: Collection[str] = (),
    ) -> str:
        """A line per variable of the person's namespace, for the model; "" without python.

        Parameters
        ----------
        values : whether the lines have short values, and the first rows of frames
        mentions, loops : words of the question, and variables of loops: these names matter most,
            and least
        """
        names = getattr(self._languages.get("python"), "names", None)
        if names is None:
            return ""
        given = {"values": values, "mentions": mentions, "loops": loops}
        return str(names(**{name: value for name, value in given.items() if value}))

    def value(self, name: str) -> str | None:
        """The value of a variable of the person's, in some lines; None where there is none."""
        value = getattr(self._languages.get("python"), "value", None)
        text: str | None = None if value is None else value(name)
        return text

    def cells(self) -> list[tuple[str, str]]:
        """The person's cells so far: (source, text of its traceback or "") of each."""
        cells = getattr(self._languages.get("python"), "cells", None)
        return [] if cells is None else list(cells())

    def put(self, functions: Mapping[str, Any], *, hide: bool = False) -> None:
        """Let python code use these functions by these names.

        Parameters
        ----------
        hide : whether they do not count among the person's variables

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
        if hide:
            put(functions, hide=True)
        else:
            put(functions)

    def changes(self) -> Names | None:
        """The person's names that the last block of python changed, once; None for none."""
        changes = getattr(self._languages.get("python"), "changes", None)
        names: Names | None = changes() if changes is not None else None
        return names

    def restore(self, names: Names) -> str:
        """Restore the person's names as they were before that block.

        Returns
        -------
        Sentences on what was restored, and what was not.

        Raises
        ------
        ComputerError
            When they cannot be restored now, or no longer.
        """
        python: Any = self._languages.get("python")
        return str(python.restore(names))

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
        """Register the languages that were installed since the last look."""
        if self._search is None:
            return
        with self._searching:
            there = {word: self._languages[name] for word, name in self._words.items()}
            for language in self._search(there, frozenset(self._gives_way)):
                self._add(language, takes=False)

    def _name_of(self, language: str) -> str | None:
        word = language.strip().lower()
        return self._words.get(word) or self._words.get(canonical(word))

    def _find(self, language: str) -> Language:
        name = self._name_of(language)
        if name is None or name in self._gives_way:
            self._look()
            name = self._name_of(language)
        if name is None:
            raise UnknownLanguageError(
                f"this computer has no language {language!r}: it has {self._there()}; "
                "computer.register(...) adds one"
            )
        target = self._languages[name]
        if missing := availability_of(target).missing:
            raise UnknownLanguageError(
                f"{name} cannot run here: {missing.rstrip('.')}. This computer has {self._there()}"
            )
        return target

    def _there(self) -> str:
        return ", ".join(self.words()) or "none"


def as_computer(value: Any) -> Computer | None:
    """The value as the computer of a session; None for None.

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

    No language starts or is searched for before its first block. The languages of Jupyter kernels
    and packages are searched for at the first call that needs them.
    """
    from lmc_jupyter.computer.installed import InstalledLanguages
    from lmc_jupyter.computer.languages.html import Browser, Html
    from lmc_jupyter.computer.languages.javascript import JavaScript, TypeScript
    from lmc_jupyter.computer.languages.oneshot import one_shots
    from lmc_jupyter.computer.languages.python import LivePython
    from lmc_jupyter.computer.languages.r import R
    from lmc_jupyter.computer.languages.sql import SQL

    python, node = LivePython(shell), JavaScript()
    languages: list[Language] = [python, _shell(), node, R(), Html(), Browser(), SQL(python)]
    computer = Computer(*languages, TypeScript(node), search=InstalledLanguages())
    for each in one_shots():
        computer.register(each, gives_way=True)
    return computer


def _shell() -> Language:
    if os.name == "posix":
        from lmc_jupyter.computer.languages.shell import Shell

        return Shell()
    from lmc_jupyter.computer.languages.windows_shell import WindowsShell

    return WindowsShell()
