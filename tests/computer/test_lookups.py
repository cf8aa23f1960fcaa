"""What languages look for on this machine, once."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from lmc_jupyter import Chunk, Session
from lmc_jupyter.computer import Availability, Computer, lookups
from lmc_jupyter.computer.languages.oneshot import TABLE, OneShot


def program(file: Path) -> None:
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


class Clock:
    """The time that lookups go by."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now

    def pass_by(self) -> None:
        """The results hold no more."""
        self.now += lookups.SECONDS


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(lookups, "time", clock)
    return clock


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that were really looked for."""
    names: list[str] = []
    which = lookups.shutil.which

    def looking(name: str) -> str | None:
        names.append(name)
        return which(name)

    monkeypatch.setattr(lookups.shutil, "which", looking)
    return names


class Model:
    label = "a script"

    def with_brief(self, brief, notify):  # type: ignore[no-untyped-def]
        brief()
        return self

    def respond(self, messages):  # type: ignore[no-untyped-def]
        yield Chunk("assistant", "message", content="I do.")


@pytest.mark.usefixtures("path", "clock")
def test_a_second_question_looks_for_no_program(looked: list[str]) -> None:
    computer = Computer(*(make() for make in TABLE.values()))
    session = Session(model=Model(), computer=computer, keep=False)
    list(session.ask("Go on."))
    assert {"ruby", "cc", "gcc", "rustc"} <= set(looked)
    assert len(looked) == len(set(looked)), "a program was looked for twice"
    looked.clear()
    list(session.ask("Go on."))
    assert looked == []


def test_what_came_or_went_is_seen_some_seconds_later(
    path: Path, looked: list[str], clock: Clock
) -> None:
    assert lookups.which("newcomer") is lookups.which("newcomer") is None
    program(path / "newcomer")
    clock.pass_by()
    assert lookups.which("newcomer") == str(path / "newcomer")
    (path / "newcomer").unlink()
    clock.pass_by()
    assert lookups.which("newcomer") is None
    assert looked == ["newcomer"] * 3


@pytest.mark.usefixtures("clock")
def test_another_path_is_looked_through_anew(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked: list[str]
) -> None:
    program(path / "newcomer")
    assert lookups.which("newcomer") is not None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lookups.which("newcomer") is None
    assert looked == ["newcomer"] * 2


def test_a_package_that_is_installed_meanwhile_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert not lookups.has_package("lmc_newcomer")
    (tmp_path / "lmc_newcomer.py").touch()
    importlib.invalidate_caches()
    clock.pass_by()
    assert lookups.has_package("lmc_newcomer")


def test_a_program_that_is_gone_is_said_before_its_code_runs(path: Path, clock: Clock) -> None:
    program(path / "newcomer")
    computer = Computer(OneShot("new", ["newcomer"]))
    assert "new" in computer.words()
    (path / "newcomer").unlink()
    clock.pass_by()
    with pytest.raises(Exception, match="there is no newcomer on the PATH"):
        computer.run("new", "1")


class Counting:
    """A language that counts how often it is asked whether it can run."""

    name, aliases = "counting", ()

    def __init__(self) -> None:
        self.count = 0

    def availability(self) -> Availability:
        self.count += 1
        return Availability("here")

    def run(self, code: str):  # type: ignore[no-untyped-def]
        yield Chunk("computer", "console", "output", code)

    def close(self) -> None:
        """There is nothing to end."""


def test_a_language_is_asked_again_some_seconds_later_and_before_it_runs(clock: Clock) -> None:
    language = Counting()
    computer = Computer(language)
    assert computer.words() == computer.words() == {"counting": ()}
    assert language.count == 1
    clock.pass_by()
    computer.words()
    assert language.count == 2
    list(computer.run("counting", "1"))
    assert language.count == 3
    other = Counting()
    other.name = "other"
    computer.register(other)
    assert [*computer.words()] == ["counting", "other"]
