"""What code of a model may do: the person's `Policy`, the `Guard` of code that runs, and the
`Limits` that a conversation sets beside it, with the texts that come in one piece.

One rule: policy is deny before ask before allow, and limits only ever forbid. Two limits together
are the stricter of both in each, so that what comes with a file can take away what may happen, and
never give.

Source: settings.function_calls and settings.atomic_sequences of the GLM chat history; docs/glm.md
says what each means here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

from lmc_jupyter.errors import GateError, ProtocolError
from lmc_jupyter.lmc import LANGUAGES, Chunk, canonical
from lmc_jupyter.stream import partial_suffix

Verdict = Literal["deny", "ask", "allow"]
Uses = Callable[[str, str], Collection[str]]
"""(language, code) -> every language that the code really runs; `!ls` in python uses shell."""

BYTES_A_TOKEN = 4
"""Tokens of code are counted as so many bytes of UTF-8 each, rounded up: the same whoever the
model is, and known without its tokenizer."""
MAX_MARK = 32
"""Characters of the beginning or the end of an atomic sequence."""

LIFT = "the user can lift it: lmc_jupyter.current_session().limits = None"


@dataclass(frozen=True)
class Policy:
    """What may run unasked, and what may never run.

    Parameters
    ----------
    allow, deny : languages, by any of their names; "*" is every language
    changes : whether Python runs unasked too that only reads and makes new names

    Denying a language also denies code of another one that uses it: a policy that denies
    shell refuses `!ls` in python.

    Raises
    ------
    GateError
        For a word that is a mistyped name of a language of the protocol: it would forbid nothing.
    """

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    changes: bool = False

    def __post_init__(self) -> None:
        for name in ("allow", "deny"):
            words = _words(getattr(self, name))
            for word in words:
                _check_spelling(name, word)
            object.__setattr__(self, name, frozenset(canonical(word) for word in words))

    @classmethod
    def of(
        cls, run: bool | Collection[str], deny: Collection[str], *, changes: bool = False
    ) -> Policy:
        """The policy that lets these run unasked (True is every language) and denies those."""
        allow = ({"*"} if run else ()) if isinstance(run, bool) else run
        return cls(_words(allow), _words(deny), changes)

    @property
    def asks_for_changes(self) -> bool:
        """Whether Python that only reads and makes new names runs unasked."""
        return self.changes and not self.deny & {"*", "python"}

    @property
    def runs_unasked(self) -> bool:
        """Whether there is code that it lets run unasked."""
        return bool(self.allow - self.deny) and "*" not in self.deny

    def verdict(self, uses: Collection[str]) -> tuple[Verdict, str]:
        """Judge code that uses these languages; the second value says why, for a person."""
        languages = {canonical(language) for language in uses}
        if forbidden := sorted(languages if "*" in self.deny else languages & self.deny):
            return "deny", f"your policy forbids {' and '.join(forbidden)}"
        if "*" in self.allow or languages <= self.allow:
            return "allow", "your policy lets it run unasked"
        return "ask", ""


def _words(words: Collection[str]) -> frozenset[str]:
    return frozenset({words} if isinstance(words, str) else words)


def _check_spelling(what: str, word: str) -> None:
    """Refuse what is nearly a language; any other unknown word may be one that comes later."""
    names = [each for name, aliases in LANGUAGES.items() for each in (name, *aliases)]
    text = word.strip().lower()
    near = get_close_matches(text, names, 1, 0.8) if text not in names else []
    if near:
        raise GateError(
            f"{word!r} is not a language that can be {_VERBS[what]}: did you mean {near[0]!r}?"
        )


_VERBS = {"allow": "let run unasked", "deny": "forbidden"}


class Guard:
    """Keeps code from more than it was granted, while it runs.

    Parameters
    ----------
    policy : to begin with
    uses : what a piece of code uses
    """

    def __init__(self, policy: Policy, uses: Uses) -> None:
        self._policy, self._uses = policy, uses
        self._threads: list[int] = []  # those that run code now
        self._verdict: Verdict = "ask"
        self._granted: frozenset[str] = frozenset()

    @property
    def policy(self) -> Policy:
        """What may run unasked, and what never; a GateError where granted code sets it."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self.check_change("to change what may run")
        self._policy = policy

    def watch(
        self, pieces: Iterable[Chunk], verdict: Verdict, uses: frozenset[str]
    ) -> Generator[Chunk, None, None]:
        """The pieces of code that runs; until their end it is guarded.

        Parameters
        ----------
        verdict, uses : of the code, as it was granted
        """
        self._verdict, self._granted = verdict, uses
        self._threads.append(thread := threading.get_ident())
        try:
            yield from pieces
        finally:
            self._threads.remove(thread)

    def check_run(self, language: str, code: str) -> None:
        """As `check`, for code that is run past the gate."""
        if self._threads:
            self.check({canonical(language), *self._uses(language, code)})

    def check_change(self, what: str) -> None:
        """Allow a change of settings; a GateError where granted code makes it."""
        if self._threads:
            raise GateError(
                f"{what}: code that a model wrote cannot do that, do it in a cell of your own"
            )

    def check(self, uses: Collection[str]) -> None:
        """Let granted code use these languages too; a person's own cell is not asked for.

        Raises
        ------
        GateError
            When policy denies one of them, or would have asked about it before the run.
        """
        if not self._threads:
            return
        verdict, reason = self.policy.verdict(uses)
        if verdict == "deny":
            raise GateError(reason)
        if verdict == "ask" and self._verdict == "allow" and not set(uses) <= self._granted:
            new = " and ".join(sorted(set(uses) - self._granted))
            raise GateError(
                f"this code runs unasked and your policy wants to be asked about {new}: write "
                "that word itself into the code, so that it is seen before it runs"
            )


@dataclass(frozen=True)
class Limits:
    """The limits on code of a model.

    Parameters
    ----------
    max_blocks : blocks of code that one reply may run; None is no limit
    max_block_tokens : tokens of one block, counted as `tokens` does; None is no limit
    run : whether code may run at all
    ask_always : whether code is asked for even where the person's policy lets it run unasked
    atomic_sequences : (beginning, end) of texts that always come as one chunk, such as
        ("$$", "$$"); one pair, or several
    functions : names of functions that the conversation speaks of; naming them grants
        nothing

    Raises
    ------
    ProtocolError
        For a number below 0, what is no pair, or a mark of a sequence that is empty or too long.
    """

    max_blocks: int | None = None
    max_block_tokens: int | None = None
    run: bool = True
    ask_always: bool = False
    atomic_sequences: tuple[tuple[str, str], ...] = ()
    functions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("max_blocks", "max_block_tokens"):
            number = getattr(self, name)
            if number is not None and (type(number) is not int or number < 0):
                raise ProtocolError(f"{name} is {number!r:.40}: it must be 0 or more, or None")
        pairs: tuple[Any, ...] = tuple(self.atomic_sequences)
        if len(pairs) == 2 and all(isinstance(each, str) for each in pairs):
            pairs = (pairs,)  # the specification's own example is one pair
        for pair in pairs:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(map(is_mark, pair)):
                raise ProtocolError(
                    f"{pair!r:.60} is not an atomic sequence: it must be a beginning and an end, "
                    f"each a text of 1 to {MAX_MARK} characters"
                )
        object.__setattr__(self, "atomic_sequences", tuple((begin, end) for begin, end in pairs))

    def stricter(self, other: Limits) -> Limits:
        """Both together: the lower number, the stricter yes or no, and the sequences of both."""
        pairs = dict.fromkeys((*self.atomic_sequences, *other.atomic_sequences))
        return replace(
            self,
            max_blocks=_lower(self.max_blocks, other.max_blocks),
            max_block_tokens=_lower(self.max_block_tokens, other.max_block_tokens),
            run=self.run and other.run,
            ask_always=self.ask_always or other.ask_always,
            atomic_sequences=tuple(pairs),
            functions=tuple(dict.fromkeys((*self.functions, *other.functions))),
        )

    def refuses(self, code: str, before: int) -> str:
        """Why this block is not run, or "".

        Parameters
        ----------
        before : blocks of the same reply that came before it
        """
        if not self.run:
            return f"this conversation lets no code run (function_calls.enabled: false; {LIFT})"
        if self.max_blocks is not None and before >= self.max_blocks:
            return (
                f"this conversation lets a reply run {quantity(self.max_blocks, 'block')} of code "
                f"(max_calls_per_output: {self.max_blocks}; {LIFT})"
            )
        size = tokens(code)
        if self.max_block_tokens is not None and size > self.max_block_tokens:
            return (
                f"it has about {size:,} tokens ({BYTES_A_TOKEN} bytes each), and this conversation "
                f"lets a block have {self.max_block_tokens:,} (max_tokens_per_code_segment; {LIFT})"
            )
        return ""


def tokens(code: str) -> int:
    """About how many tokens a block of code has: its bytes in UTF-8 by `BYTES_A_TOKEN`."""
    return -(-len(code.encode("utf-8", "replace")) // BYTES_A_TOKEN)


def is_mark(value: object) -> bool:
    """Whether an atomic sequence can begin or end with this."""
    return isinstance(value, str) and 0 < len(value) <= MAX_MARK


def _lower(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def quantity(number: int, what: str) -> str:
    """A limit in words: no block, 1 block, 2 blocks."""
    return f"no {what}" if number == 0 else f"{number:,} {what}{'s' * (number != 1)}"


MAX_BUFFER = 2_000
"""Characters after the beginning of an atomic sequence that are buffered until its end comes; a
beginning without an end is text like any other."""


class Atomic:
    """Lets each atomic sequence of an assistant's text come as one piece, however it was cut.

    Parameters
    ----------
    pairs : (beginning, end) of each kind, such as ("$$", "$$")

    Text is buffered only while it may still turn out to be in a sequence. Of two kinds that begin
    at the same place the longer beginning counts.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._ends: dict[str, str] = {}
        for begin, end in pairs:
            self._ends.setdefault(begin, end)
        longest_first = sorted(self._ends, key=len, reverse=True)
        self._begin = re.compile("|".join(map(re.escape, longest_first)))
        self._piece: Chunk | None = None  # the buffered text belongs to it
        self._text = ""
        self._opens = False  # whether the next chunk opens the message
        self._after_other = False  # whether something else may be open, such as code

    def of(self, pieces: Iterable[Chunk]) -> Iterator[Chunk]:
        """The same pieces, cut anew; where they end in an error, the buffered text comes first."""
        if not self._ends:
            yield from pieces
            return
        try:
            for piece in pieces:
                yield from self._feed(piece)
        except Exception:
            yield from self._release()
            raise
        yield from self._release()

    @property
    def buffer(self) -> Chunk | None:
        """The buffered text as a chunk; it has `start` where it opens a message."""
        if self._piece is None or not self._text:
            return None
        return replace(self._piece, content=self._text, start=self._opens, end=False)

    def _feed(self, piece: Chunk) -> Iterator[Chunk]:
        is_text = piece.role == "assistant" and piece.type == "message" and piece.content
        if not is_text or self._piece is None or piece.start or piece.key != self._piece.key:
            yield from self._release()
        if not is_text:
            self._after_other = True
            yield piece
            return
        if self._piece is None:
            if self._after_other:
                yield replace(piece, content="", start=False, end=False)  # ends what came before
            self._piece, self._opens, self._after_other = piece, piece.start, False
        self._text += piece.content
        yield from self._emit(whole=piece.end)
        if piece.end:
            yield replace(piece, content=None, start=False)
            self._piece = None

    def _release(self) -> Iterator[Chunk]:
        if self._piece is not None:
            yield from self._emit(whole=True)
            self._piece = None

    def _emit(self, *, whole: bool) -> Iterator[Chunk]:
        piece = self._piece
        assert piece is not None
        parts, rest = self._cut(self._text, whole=whole)
        for index, part in enumerate(parts):
            self._text = "".join(parts[index + 1 :]) + rest
            opens, self._opens = self._opens, False
            yield replace(piece, content=part, start=opens, end=False)

    def _cut(self, text: str, *, whole: bool) -> tuple[list[str], str]:
        """(the parts that no later text can change, the rest); a whole text has no rest."""
        parts: list[str] = []
        plain = at = 0
        while True:
            match = self._begin.search(text, at)
            limit = len(text) if whole else at + partial_suffix(text[at:], self._ends)
            if match is None or limit <= match.start():
                break
            stop = match.end() + MAX_BUFFER
            end = text.find(self._ends[match[0]], match.end(), stop)
            if end >= 0:
                at = end + len(self._ends[match[0]])
                parts += [text[plain : match.start()], text[match.start() : at]]
                plain = at
            elif whole or len(text) >= stop:
                at = match.end()  # it begins nothing
            else:
                limit = match.start()
                break
        parts.append(text[plain:limit])
        return [part for part in parts if part], text[limit:]
