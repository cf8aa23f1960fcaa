"""What languages look for on this machine, once."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from types import FrameType

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


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that were really looked for; what has just been changed counts as settled."""
    monkeypatch.setattr(lookups, "_UNSURE_NS", 0)
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


@pytest.mark.usefixtures("path")
def test_a_second_question_looks_for_no_program(looked: list[str]) -> None:
    computer = Computer(*(make() for make in TABLE.values()))
    session = Session(model=Model(), computer=computer, keep=False)
    list(session.ask("Go on."))
    assert {"ruby", "cc", "gcc", "rustc"} <= set(looked)
    assert len(looked) == len(set(looked)), "a program was looked for twice"
    looked.clear()
    list(session.ask("Go on."))
    assert looked == []


def test_what_was_not_there_is_found_when_it_comes(path: Path, looked: list[str]) -> None:
    assert lookups.which("newcomer") is lookups.which("newcomer") is None
    os.utime(path, ns=(1, 1))
    program(path / "newcomer")
    assert lookups.which("newcomer") == str(path / "newcomer")
    os.utime(path, ns=(1, 1))
    (path / "newcomer").unlink()
    assert lookups.which("newcomer") is None
    assert looked == ["newcomer"] * 3


def test_a_change_in_the_same_tick_of_the_clock_is_seen(path: Path) -> None:
    for _ in range(200):
        assert lookups.which("newcomer") is None
        program(path / "newcomer")
        assert lookups.which("newcomer") == str(path / "newcomer")
        (path / "newcomer").unlink()


def test_another_path_is_looked_through_anew(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked: list[str]
) -> None:
    program(path / "newcomer")
    assert lookups.which("newcomer") is not None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lookups.which("newcomer") is None
    assert looked == ["newcomer"] * 2


def test_a_package_that_is_installed_meanwhile_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert not lookups.has_package("lmc_newcomer")
    (tmp_path / "lmc_newcomer.py").touch()
    assert lookups.has_package("lmc_newcomer")


def test_a_program_that_is_gone_is_said_before_its_code_runs(path: Path, looked: list[str]) -> None:
    program(path / "newcomer")
    computer = Computer(OneShot("new", ["newcomer"]))
    assert "new" in computer.words()
    os.utime(path, ns=(1, 1))
    (path / "newcomer").unlink()
    with pytest.raises(Exception, match="there is no newcomer on the PATH"):
        computer.run("new", "1")


@pytest.mark.usefixtures("looked")
def test_a_ctrl_c_at_any_call_of_a_look_leaves_nothing_old(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computer = Computer(*(make() for make in TABLE.values()))
    calls = at = 0

    def trace(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename == lookups.__file__
        if calls == at:
            raise KeyboardInterrupt

    def words(where: int) -> int:
        nonlocal calls, at
        calls, at = 0, where
        sys.settrace(trace)
        try:
            with contextlib.suppress(KeyboardInterrupt):
                computer.words()
        finally:
            sys.settrace(None)
        return calls

    for where in range(1, words(-1) + 1):
        monkeypatch.setenv("LMC_CHANGES", str(where))  # so that it looks anew
        assert words(where) == where
        program(path / "ruby")
        os.utime(path, ns=(where, where))
        assert "ruby" in computer.words(), f"after a Ctrl-C at call {where}"
        (path / "ruby").unlink()
        os.utime(path, ns=(where, 10**9 + where))
        assert "ruby" not in computer.words()


@pytest.mark.usefixtures("path")
def test_a_change_where_packages_are_makes_no_program_be_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked: list[str]
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert lookups.which("newcomer") is None
    (tmp_path / "notebook.ipynb").touch()
    os.utime(tmp_path, ns=(1, 1))
    assert lookups.which("newcomer") is None
    assert looked == ["newcomer"]


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


@pytest.mark.usefixtures("looked")
def test_a_language_is_asked_again_when_a_program_may_have_come_and_before_it_runs(
    path: Path,
) -> None:
    language = Counting()
    computer = Computer(language)
    assert computer.words() == computer.words() == {"counting": ()}
    assert language.count == 1
    program(path / "new")
    computer.words()
    assert language.count == 2
    list(computer.run("counting", "1"))
    assert language.count == 3
    other = Counting()
    other.name = "other"
    computer.register(other)
    assert [*computer.words()] == ["counting", "other"]
