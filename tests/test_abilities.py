"""Bringing names back, which some blocks only can."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lmc_jupyter.conversation.names import RestorableNames
from lmc_jupyter.errors import SessionError


def names(*, restorable: bool = True) -> Any:
    return SimpleNamespace(restorable=restorable)


class Restores:
    """A computer that remembers what it was asked to bring back."""

    def __init__(self) -> None:
        self.back: list[Any] = []

    def restore(self, given: Any) -> str:
        self.back.append(given)
        return "x is back."


def test_the_last_block_that_can_be_restored_is_and_only_once() -> None:
    done, computer = RestorableNames(), Restores()
    assert done.add(None) is None
    first, second = names(), names()
    for each in (first, second, names(restorable=False)):
        assert done.add(each) is each
    assert done.restore(computer.restore) == (second, "x is back.")
    assert done.restore(computer.restore) == (first, "x is back.")
    with pytest.raises(SessionError, match="there is nothing to restore"):
        done.restore(computer.restore)
    assert computer.back == [second, first]


def test_a_block_that_is_named_is_the_one_that_is_restored() -> None:
    done, computer = RestorableNames(), Restores()
    first, second = names(), names()
    done.add(first)
    done.add(second)
    assert done.restore(computer.restore, first)[0] is first
    assert done.restore(computer.restore)[0] is second
