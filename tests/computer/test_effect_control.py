"""Code that nobody wrote for the tables: the line of effects beside what a control saw it touch."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
from effect_control import (
    LOSSES,
    MAY_DO_MORE,
    Block,
    Seen,
    false_claims,
    read_blocks,
    run_blocks,
    verdict,
)
from sampling import sample

TOUCHING = read_blocks("touching.txt")
HONEST = read_blocks("honest.txt")

MOST_SHORT = 0.0
"""The share of touching blocks whose line is silent, only harmless or incomplete."""
MOST_FALSE = 0.0
"""The share of honest blocks whose line claims what does not happen; no line may
claim a loss."""
MOST_MORE = 0.10
"""The share of honest blocks that "may do more"."""


class Runs(NamedTuple):
    touching: list[tuple[Block, Seen]]
    honest: list[tuple[Block, Seen]]


@pytest.fixture(scope="module")
def runs() -> Runs:
    touching, honest = sample(TOUCHING, 12), sample(HONEST, 8)
    seen = list(run_blocks([*touching, *honest]))
    count = len(touching)
    return Runs(
        list(zip(touching, seen[:count], strict=True)), list(zip(honest, seen[count:], strict=True))
    )


def most(share: float, count: int) -> int:
    """Of so many drawn blocks; a sample may have more than its share, but of 0 it has none."""
    return int(share * count + 3 * math.sqrt(share * (1 - share) * count))


def test_there_are_enough_blocks_and_no_two_are_the_same() -> None:
    assert len({each.code.strip() for each in TOUCHING}) == len(TOUCHING) >= 300
    assert len({each.code.strip() for each in HONEST}) == len(HONEST) >= 200
    for blocks in (TOUCHING, HONEST):
        assert len({each.title for each in blocks}) == len(blocks)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_control_sees_what_each_block_touches(runs: Runs) -> None:
    assert [block.title for block, seen in runs.touching if not seen.touched] == []
    assert [
        (block.title, seen.touched, seen.error)
        for block, seen in runs.honest
        if seen.touched or seen.error
    ] == []


@pytest.mark.timeout(1800)
def test_the_line_names_what_is_touched_or_says_that_it_may_do_more(runs: Runs) -> None:
    short = [
        (block.title, seen.touched, seen.line)
        for block, seen in runs.touching
        if verdict(seen) not in {"named", "may do more"}
    ]
    assert len(short) <= most(MOST_SHORT, len(runs.touching)), short


@pytest.mark.timeout(1800)
def test_the_line_of_an_honest_block_claims_nothing_and_seldom_doubts(runs: Runs) -> None:
    false = [(block.title, seen.line) for block, seen in runs.honest if false_claims(seen)]
    assert len(false) <= most(MOST_FALSE, len(runs.honest)), false
    claims = {claim.split()[0] for _, seen in runs.honest for claim in false_claims(seen)}
    assert claims & LOSSES == set(), false
    more = [
        (block.title, seen.line)
        for block, seen in runs.honest
        if any(kind in MAY_DO_MORE for kind, _ in seen.effects)
    ]
    assert len(more) <= most(MOST_MORE, len(runs.honest)), more
