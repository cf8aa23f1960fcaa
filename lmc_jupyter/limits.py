"""What a conversation holds a model to, beside the person's policy.

One rule: limits only ever forbid. Two of them together are the stricter of both in each, so that
what comes with a file can take away what may happen, and never give.

Sources: the seed document "format_specifications.md", settings.function_calls and
atomic_sequences; docs/glm.md tells what each means here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lmc_jupyter.errors import ProtocolError

BYTES_A_TOKEN = 4
"""Tokens of code are counted as so many bytes of UTF-8 each, rounded up: the same whoever the
model is, and known without its tokenizer."""
MAX_MARK = 32
"""Characters of the beginning or the end of an atomic sequence."""

LIFT = "the user can lift it: lmc_jupyter.current_session().limits = None"


@dataclass(frozen=True)
class Limits:
    """What code of a model is held to.

    Parameters
    ----------
    max_blocks : blocks of code that one reply may run; None is no limit
    max_block_tokens : tokens of one block, counted as `tokens` does; None is no limit
    run : whether code may run at all
    ask_always : whether code is asked for even where the person's policy lets it run unasked
    atomic_sequences : (beginning, end) of texts that always come as one chunk, such as
        ("$$", "$$"); one pair, or several
    functions : names of functions that the conversation speaks of; that they are named gives
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
                f"this conversation lets a reply run {counted(self.max_blocks, 'block')} of code "
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


def counted(number: int, what: str) -> str:
    """A limit in words: no block, 1 block, 2 blocks."""
    return f"no {what}" if number == 0 else f"{number:,} {what}{'s' * (number != 1)}"
