"""What every language does alike, with the real ones that are on this machine.

The snippets are in `languages.py`. A language that is not here is skipped with `NOT_RUN`, and
`.ci/test.py` tells it by its name at the end; what `.ci/tools` installs must be here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import psutil
import pytest
from languages import FLOOD, GATE, ROWS, UNTRIED, osascript
from sampling import LONG

from lmc_jupyter.computer import default_computer
from lmc_jupyter.errors import UnknownLanguageError

PATIENCE = 240.0
"""Seconds; only a test that fails waits so long."""
NOT_RUN = "not run: "
EXPECTED = {
    *("python", "shell", "javascript", "html", "browser", "sql", "ruby"),
    *("R by IRkernel", "R itself"),
}
"""What is there wherever all tests are run: `.ci/tools` and the environment see to it."""

MISSING = {row.id: row.missing() for row in ROWS}


COMPILED = {"c", "cpp", "fortran", "go", "java", "rust", "swift"}
"""Each block is compiled first, which takes seconds. All run by the same code as perl and ruby do,
with which every test is run: so by day C stands for these, in the tests with `compiled=True`."""


def rows(wanted=lambda _: True, *, compiled=False):
    """One test for each language that is here."""
    here = [row for row in ROWS if not MISSING[row.id] and wanted(row)]
    by_day = {"c"} if compiled else set()
    here = [row for row in here if LONG or row.id not in COMPILED - by_day]
    return pytest.mark.parametrize("row", here, ids=[row.id for row in here])


@pytest.fixture(scope="module", autouse=True)
def stand_ins(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = osascript(tmp_path_factory.mktemp("bin"))
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        yield


@pytest.fixture(scope="module")
def made():
    """The languages by their row, each started once."""
    languages = {}
    yield languages
    for each in languages.values():
        each.close()


@pytest.fixture
def language(row, made):
    if row.id not in made:
        made[row.id] = row.make()
    return made[row.id]


class Watched:
    """A block that is stopped when a test has waited too long for it, and fails then."""

    def __init__(self, language, code):
        self.language, self.code, self.late = language, code, False
        self.text = ""

    def __enter__(self):
        self.pieces = self.language.run(self.code)
        self.timer = threading.Timer(PATIENCE, self.give_up)
        self.timer.start()
        return self

    def __exit__(self, *_):
        self.timer.cancel()
        self.pieces.close()
        assert not self.late, f"it took too long; so far: {self.text[-500:]!r}"

    def give_up(self):
        self.late = True
        self.language.stop()

    def until(self, word):
        """Read until the word has come."""
        while word not in self.text:
            piece = next(self.pieces, None)
            assert piece is not None, f"{word!r} never came: {self.text[-500:]!r}"
            self.take(piece)
        return self.text

    def rest(self):
        for piece in self.pieces:
            self.take(piece)
        return self.text

    def take(self, piece):
        if piece.type in ("console", "code") and isinstance(piece.content, str):
            self.text += piece.content


def said(language, code):
    with Watched(language, code) as block:
        return block.rest()


# What it shows ------------------------------------------------------------------------------------


@rows(compiled=True)
def test_it_says_what_it_prints(row, language):
    assert "hello" in said(language, row.echo)


@rows()
def test_every_character_arrives(row, language):
    assert "ß 漢字 😀" in said(language, row.unicode)


@rows(lambda row: row.stream)
def test_output_comes_while_the_block_runs(row, language, tmp_path):
    gate = tmp_path / "gate"
    with Watched(language, row.stream.replace(GATE, str(gate))) as block:
        assert "two" not in block.until("one")
        gate.write_text("a\n1\n")
        assert "two" in block.rest()


@rows(compiled=True)
def test_an_error_is_output_and_the_next_block_runs(row, language):
    assert row.says in said(language, row.error)
    assert "hello" in said(language, row.echo)


@pytest.mark.long
@rows(lambda row: row.flood)
def test_ten_megabytes_are_bounded_and_counted(row, language):
    text = said(language, row.flood)
    assert len(text) < FLOOD * 1000 / 5
    assert "were shown and not saved" in text
    assert text.rstrip().endswith("the end")


# State --------------------------------------------------------------------------------------------


@rows(lambda row: row.set)
def test_what_a_block_sets_is_there_for_the_next(row, language):
    said(language, row.set)
    assert "42" in said(language, row.get)


@rows(lambda row: not row.set)
def test_one_block_after_the_other(row, language):
    assert ["hello" in said(language, row.echo) for _ in range(2)] == [True, True]


@pytest.mark.long
@rows()
def test_after_close_it_begins_anew(row):
    language = row.make()
    try:
        if row.set:
            said(language, row.set)
        language.close()
        language.close()
        assert "hello" in said(language, row.echo)
        if row.set:
            assert ("42" in said(language, row.get)) is row.kept
    finally:
        language.close()


# Stop ---------------------------------------------------------------------------------------------


@rows(compiled=True)
def test_a_stop_from_another_thread_ends_it(row, language):
    if row.set:
        said(language, row.set)
    with Watched(language, row.busy) as block:
        block.until("begun")
        stopper = threading.Thread(target=language.stop)
        stopper.start()
        with pytest.raises(KeyboardInterrupt):
            block.rest()
        stopper.join()
    assert "hello" in said(language, row.echo)
    if row.set:
        assert "42" in said(language, row.get)


@rows()
def test_a_reader_that_goes_away_ends_it(row, language):
    with Watched(language, row.busy) as block:
        block.until("begun")
        block.pieces.close()
    assert "hello" in said(language, row.echo)


@rows()
def test_a_stop_before_its_first_piece_reaches_it(row, language):
    """Starting an engine takes a while, in which a person may press Stop."""
    with Watched(language, row.busy) as block:
        language.stop()
        with pytest.raises(KeyboardInterrupt):
            block.rest()
    assert "hello" in said(language, row.echo)


@rows()
def test_a_stop_while_nothing_runs_is_no_harm(row, language):
    language.stop()
    assert "hello" in said(language, row.echo)


# Its processes ------------------------------------------------------------------------------------

KERNEL = """
import sys
from languages import ROWS
language = next(row for row in ROWS if row.id == sys.argv[1]).make()
text = ""
for piece in language.run(sys.stdin.read()):
    text += str(piece.content)
    if "begun" in text:
        print("begun", flush=True)
        text = ""
"""


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is of POSIX")
@rows(lambda row: row.processes)
def test_nothing_is_left_when_its_kernel_is_killed(row):
    kernel = subprocess.Popen(
        [sys.executable, "-c", KERNEL, row.id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    with kernel:
        kernel.stdin.write(row.busy)
        kernel.stdin.close()
        assert kernel.stdout.readline() == "begun\n"
        started = psutil.Process(kernel.pid).children(recursive=True)
        assert len(started) >= 2  # the reaper, and what runs
        kernel.send_signal(signal.SIGKILL)
    left = psutil.wait_procs(started, timeout=PATIENCE)[1]
    for each in left:
        each.kill()
    assert left == []


# Which there are ----------------------------------------------------------------------------------


def test_every_language_of_the_computer_has_a_row_or_is_told():
    assert MISSING.keys() >= EXPECTED
    computer = default_computer()
    known = {row.make().name for row in ROWS} | set(UNTRIED)
    brought = {name for name, it in computer.languages.items() if hasattr(it, "kernel")}
    assert set(computer.languages) - brought <= known


@pytest.mark.parametrize("name", [*MISSING, *UNTRIED])
def test_what_could_not_be_run_here_is_told(name):
    why = UNTRIED.get(name, MISSING.get(name, ""))
    if not why:
        return
    assert name not in EXPECTED, f"{why}; `.ci/tools` installs it"
    if name in MISSING:
        with pytest.raises(UnknownLanguageError, match="This computer has python, shell"):
            default_computer().run(name, "1")
    pytest.skip(NOT_RUN + (why if why.startswith(name) else f"{name}: {why}"))
