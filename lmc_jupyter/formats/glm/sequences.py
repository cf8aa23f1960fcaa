"""The `atomic_sequences` of a GLM chat history, in every shape that people write them.

One rule: each value becomes pairs, or a sentence for the person says that it does not.

The specification's own example is a flat pair, ("$$", "$$"); files of programs hold lists of
pairs, or mappings with `start` and `end`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from lmc_jupyter.limits import MAX_MARK, is_mark

MAX_SEQUENCES = 16
"""Of one file; each costs time at every character of every answer."""
MAX_LITERAL = 4_000
"""Characters of a Python literal that stands in a text."""
MAX_SHOWN = 5
"""Values that are named where they cannot be read."""

Pair = tuple[str, str]


def sequences(settings: Mapping[str, Any]) -> tuple[tuple[Pair, ...], list[str]]:
    """The pairs (beginning, end) of these settings, and sentences on what is none."""
    pairs: dict[Pair, None] = {}
    wrong: list[Any] = []
    for key in ("atomic_sequences", "preserved_sequences"):
        for pair in _candidates(settings.get(key)):
            if _is_pair(pair) and all(map(is_mark, pair)):
                pairs[pair[0], pair[1]] = None
            else:
                wrong.append(pair)
    sentences = []
    if wrong:
        examples = ", ".join(f"{each!r:.60}" for each in wrong[:MAX_SHOWN])
        more = f" and {len(wrong) - MAX_SHOWN:,} more" if len(wrong) > MAX_SHOWN else ""
        sentences.append(
            f"Its atomic_sequences have {examples}{more}, which cannot be read: a sequence is a "
            f"beginning and an end of 1 to {MAX_MARK} characters each, such as [$$, $$]."
        )
    if len(pairs) > MAX_SEQUENCES:
        sentences.append(
            f"It has {len(pairs):,} atomic_sequences: the first {MAX_SEQUENCES} count, the others "
            "do not."
        )
    return tuple(pairs)[:MAX_SEQUENCES], sentences


def _candidates(value: Any) -> Iterator[Any]:
    """The values that may be pairs; the caller checks each."""
    value = _literal(value)
    if value is None:
        return
    if isinstance(value, Mapping):
        if "start" in value and "end" in value:
            yield value["start"], value["end"]
        else:
            for each in value.values():
                yield from _one(each)
    elif _is_pair(value) and not any(_literal(each) is not each for each in value):
        yield tuple(value)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _one(each)
    else:
        yield value


def _one(value: Any) -> Iterator[Any]:
    """As `_candidates`, of a value within a list: a text alone is no pair there."""
    read = _literal(value)
    yield from _candidates(read) if isinstance(read, (Mapping, list, tuple)) and read else [value]


def _is_pair(value: Any) -> bool:
    two = isinstance(value, (list, tuple)) and len(value) == 2
    return two and all(isinstance(each, str) for each in value)


def _literal(value: Any) -> Any:
    """The tuple or list that a text such as '("$$", "$$")' writes; any other value as it is."""
    if not isinstance(value, str) or value.strip()[:1] not in ("(", "["):
        return value
    if len(value) > MAX_LITERAL:
        return value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\[" is no escape, and what people write
            read = ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    return read if isinstance(read, (tuple, list)) else value
