"""What a language is: its interface for the computer, and whether it can run here.

One rule: a language must have what `Language` names, and `check_language` says what one lacks. Any
other ability is an attribute that the computer looks for when it needs it.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import dataclass
from typing import Any, Protocol

from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import Chunk, canonical


@dataclass(frozen=True)
class Availability:
    """Whether a language can run here.

    Parameters
    ----------
    how : how it runs, or would run, in a few words: "node 20.19", "R by IRkernel"
    missing : a sentence that says what is missing and how to get it; "" when it can run
    """

    how: str
    missing: str = ""

    def __bool__(self) -> bool:
        return not self.missing


class Language(Protocol):
    """Runs code of one language, and keeps its state from one block to the next.

    A language may also have

    - `uses(code)`: the other languages that the code runs;
    - `effects(code)`: what the code will do, as `Effect` values of the gate, for the person who is
      asked; without it a sentence says that this is not known;
    - `stop()`: ends the block that runs, from any thread; must not block;
    - `native`: True when the person sees its output without us;
    - `availability()`: an `Availability`, cheap, by what is installed; without it the language
      counts as available;
    - `hint`: a few words for the model on what is special: "each block by itself";
    - `hears_pages`: True when it asks the screen itself for the report of each page that it
      shows; for other languages the computer asks, after their block;
    - `screen`: None at first; the computer sets it to the screen of the front end, see `Screen`.
    """

    @property
    def name(self) -> str:
        """The word for code in it; an attribute will do."""
        ...

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other words for it."""
        ...

    def run(self, code: str) -> Generator[Chunk, None, None]:
        """Yield the output of the code as it comes: the pieces of `lmc_jupyter.stream`.

        Closing the generator stops the code. When somebody interrupts the code itself, the
        generator ends with a KeyboardInterrupt, so that the whole answer ends.
        """
        ...

    def close(self) -> None:
        """End all its processes; the next block starts the language anew."""
        ...


def words_of(language: Language) -> tuple[str, list[str]]:
    """(its name, every word for it, its name included)."""
    name = language.name.strip().lower()
    return name, [canonical(name), name, *(word.strip().lower() for word in language.aliases)]


def check_language(language: Any) -> Language:
    """The language, or a ComputerError that says what it lacks."""
    if isinstance(language, type):
        name = language.__name__
        raise ComputerError(f"{name} is a class: register an object of it, {name}()")
    kind = type(language).__name__
    lacks = [name for name in ("name", "aliases", "run", "close") if not hasattr(language, name)]
    if lacks:
        raise ComputerError(
            f"{kind} is no language: it lacks {', '.join(lacks)}, see lmc_jupyter.computer.Language"
        )
    if not isinstance(language.name, str) or not language.name.strip():
        raise ComputerError(f"the name of {kind} is {language.name!r:.60}: it must be a word")
    words = language.aliases
    several = isinstance(words, Collection) and not isinstance(words, str)
    if not several or not all(isinstance(word, str) for word in words):
        raise ComputerError(
            f"the aliases of {kind} are {words!r:.60}: they must be several words, or one with a "
            'comma behind it, as in aliases = ("mirror",)'
        )
    valid: Language = language
    return valid


def availability_of(language: Language) -> Availability:
    """Whether it can run here; a language without `availability` counts as available."""
    availability = getattr(language, "availability", None)
    if availability is None:
        return Availability(f"by {type(language).__name__}")
    try:
        result: Availability = availability()
        return result
    except Exception as error:  # noqa: BLE001 - the border to code of others
        kind = type(language).__name__
        why = f"{kind}.availability() failed: {type(error).__name__}: {error}; mend {kind}"
        return Availability(kind, why)
