"""What a computer may be able to do: one that can does it, one that lacks it is let be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scripted import printed

from lmc_jupyter.computer import Computer, abilities
from lmc_jupyter.conversation.names import RestorableNames
from lmc_jupyter.errors import SessionError
from lmc_jupyter.gate import Gate


class Bare:
    """A computer that somebody made."""

    def run(self, language: str, code: str) -> Any:
        yield printed(f"{language}: {code}")

    def words(self) -> dict[str, tuple[str, ...]]:
        return {"python": ("py",), "forth": ()}


def test_a_computer_that_lacks_all_of_it_is_let_be() -> None:
    bare = Bare()
    abilities.guard(bare, Gate())
    abilities.take_pictures(bare, True)
    assert abilities.changes(bare) is None
    assert abilities.value(bare, "x") is None
    assert abilities.hints(bare) == {"python": "", "forth": ""}
    (piece,) = abilities.granted(bare, "forth", "1 .")
    assert piece.content == "forth: 1 ."


def test_one_that_can_is_asked() -> None:
    computer, gate = Computer(), Gate()
    abilities.guard(computer, gate)
    assert gate in computer.guards
    names = SimpleNamespace()
    able = SimpleNamespace(
        run=None,
        changes=lambda: names,
        value=lambda name: f"{name} is 7",
        hints=lambda: {"forth": "gforth 0.7"},
        granted=lambda language, code: (language, code),
    )
    assert abilities.changes(able) is names
    assert abilities.value(able, "x") == "x is 7"
    assert abilities.hints(able) == {"forth": "gforth 0.7"}
    assert abilities.granted(able, "forth", "1 .") == ("forth", "1 .")


def test_only_languages_that_show_pages_are_told_of_pictures() -> None:
    html, shell = SimpleNamespace(picture=False), SimpleNamespace()
    computer = SimpleNamespace(languages={"html": html, "shell": shell})
    abilities.take_pictures(computer, True)
    assert html.picture is True
    assert vars(shell) == {}


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
