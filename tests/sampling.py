"""How much of an exhaustive test a run tries: a sample by day, the whole in `make test-long`.

One rule: every sample is drawn with one seed, which is 0 by day and a random one in a long run.
The first lines of a run print it, and `LMC_TEST_SEED=...` draws the same samples again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

LONG = os.environ.get("LMC_TEST_LONG") == "1"
"""Whether this run tries everything."""
SEED = int(
    os.environ.get("LMC_TEST_SEED") or (random.SystemRandom().randrange(1_000_000) if LONG else 0)
)
os.environ["LMC_TEST_SEED"] = str(SEED)  # the other processes of this run draw with the same one


def sample(cases: Iterable[T], count: int) -> list[T]:
    """As many of these as that, in their order; all of them in a long run."""
    every = list(cases)
    if LONG or len(every) <= count:
        return every
    drawn = random.Random(SEED).sample(range(len(every)), count)
    return [every[at] for at in sorted(drawn)]


def amount(by_day: int, in_full: int) -> int:
    """How often a random thing is tried in this run."""
    return in_full if LONG else by_day
