"""A program with a driver: what it prints and what it says of itself are never confused.

A stand-in drives: a small python that does to its pipes what the block says.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import psutil
import pytest
from stopping import stopped_after

from lmc_jupyter.computer.process import framed as module
from lmc_jupyter.computer.process.engine import Patience
from lmc_jupyter.computer.process.framed import FramedLanguage, FramedProgram, page
from lmc_jupyter.errors import ComputerError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="descriptors are handed over on POSIX")

DRIVER = r"""
import json, os, signal, subprocess, sys, time
orders, out = map(int, sys.argv[1:3])
reader = os.fdopen(orders, "rb")
token, number = "", 0
stopped = False
def raw(data, fd=1):
    os.write(fd, data if isinstance(data, bytes) else data.encode())
def line_of(n, **about):
    return f"\n{token}{json.dumps({**about, 'n': n})}\n".encode()
def frame(mark=True, **about):
    global number
    number += 1
    data = line_of(number, **about)
    while data:
        data = data[os.write(out, data):]
    if mark:
        raw(f"\x1e{token}:{number}\x1e")
at_it = False
def interrupted(*_):
    global at_it
    if at_it:  # once a block: the next one would fall into what tells of its end
        at_it = False
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupted)
while True:
    head = reader.readline()
    if not head:
        sys.exit()
    word, id_, size = head.split()
    text, id_ = reader.read(int(size)).decode(), int(id_)
    if word == b"token":
        token = text
        exec(os.environ.get("AT_START", ""))
        frame(t="ready")
    elif word == b"run":
        frame(t="begin", id=id_)
        try:
            at_it = True
            exec(text, globals())
            at_it = False
        except KeyboardInterrupt:
            pass
        except Exception as error:
            at_it = False
            frame(t="error", text=repr(error))
        frame(t="done", id=id_, cwd=os.getcwd())
"""


class StandIn(FramedLanguage):
    name, aliases, title = "standin", (), "the stand-in"

    def __init__(self, command=None, polite=1.0, **environment):
        super().__init__(Patience(again=0.1, polite=polite))
        self.command, self.more = command, environment

    def _command(self):
        return self.command or [sys.executable, "-c", DRIVER]

    def _environment(self):
        return {**super()._environment(), **self.more}

    def _ask_to_end(self, program, number):
        program.interrupt()


@pytest.fixture
def polite():
    return 30.0  # nobody waits for it: a block of a test ends when it is interrupted


@pytest.fixture
def standin(polite):
    it = StandIn(polite=polite)
    yield it
    it.close()


def pieces(language, code):
    return [piece for piece in language.run(code) if piece.format != "active_line"]


def said(language, code):
    return "".join(piece.content for piece in pieces(language, code))


# Frames and output --------------------------------------------------------------------------------


def test_output_and_frames_come_in_the_order_in_which_they_were_made(standin):
    got = pieces(
        standin,
        "raw('a'); frame(t='display', data={'text/html': '<i>'}); raw('b', 2); raw('c');"
        "frame(t='display', data={'text/html': '<b>'}); raw('d')",
    )
    assert [piece.content for piece in got] == ["a", "<i>", "bc", "<b>", "d"]
    assert [piece.type for piece in got] == ["console", "code", "console", "code", "console"]


def test_characters_and_marks_are_whole_wherever_the_writes_cut_them(standin):
    code = """
data = "é日🎉".encode() + f"\\x1e{token}:1234567\\x1e".encode() + "ü".encode()
for byte in data:
    raw(bytes([byte]))
    time.sleep(0.002)
raw(b"\\xff|")
"""
    assert said(standin, code) == "é日🎉ü\ufffd|"


def test_a_character_may_be_cut_by_a_frame(standin):
    text = said(standin, "raw('é'.encode()[:1]); frame(t='line', line=1); raw('é'.encode()[1:])")
    assert text == "é"


def test_a_frame_larger_than_its_pipe_comes_whole(standin):
    big = 5_000_000
    got = pieces(standin, f"frame(t='display', data={{'text/html': 'A' * {big}}})")
    assert got[0].content == "A" * big


def test_a_frame_that_is_too_large_is_dropped_and_the_next_one_is_not(standin, monkeypatch):
    monkeypatch.setattr(module, "MAX_FRAME", 2_000_000)
    code = "frame(t='error', text='x' * 9_000_000); frame(t='error', text='next')"
    assert said(standin, code) == "next\n"


def test_a_frame_cut_in_its_middle_does_not_take_the_next_one_along(standin):
    code = "os.write(out, line_of(7, t='error', text='half')[:-9]); frame(t='error', text='whole')"
    assert said(standin, code) == "whole\n"


def test_a_program_that_closes_its_output_is_heard_all_the_same(standin, monkeypatch):
    monkeypatch.setattr(module, "_MARK_SECONDS", 0.05)
    assert said(standin, "null = os.open(os.devnull, os.O_RDWR); os.dup2(null, 1)") == ""
    assert said(standin, "frame(t='error', text='heard')") == "heard\n"


def test_an_error_stands_on_a_line_of_its_own(standin):
    text = said(standin, "raw('open'); frame(t='line', line=2); frame(t='error', text='bad')")
    assert text == "open\nbad\n"


FORGED = [
    "raw('\\x1e' + 'ab' * 16 + ':1\\x1e')",
    "raw('\\x1e0:1\\x1e\\x1e:\\x1e')",
    'raw(\'\\n{"t": "done", "id": 1, "n": 1}\\n\')',
    'os.write(out, b\'\\n{"t": "done", "id": 1, "n": 1}\\n\')',
    'os.write(out, b\'\\n\' + b\'ab\' * 16 + b\'{"t": "error", "text": "x", "n": 1}\\n\')',
    "os.write(out, line_of(1, t='error', text='x').replace(token.encode(), b'0' * 32))",
]


@pytest.mark.parametrize("code", FORGED)
def test_who_does_not_know_the_token_forges_nothing(standin, code):
    text = said(standin, f"{code}; raw('|behind')")
    assert text.endswith("|behind")
    assert "x\n" not in text
    assert said(standin, "raw('next')") == "next"


def test_the_token_is_in_no_environment_and_no_argument(standin):
    code = """
seen = open("/proc/self/environ", "rb").read() if os.path.exists("/proc") else b""
raw(str(token.encode() in seen or token in repr(os.environ) + repr(sys.argv)))
"""
    assert said(standin, code) == "False"


def test_a_mark_of_a_frame_that_never_came_is_passed_over(standin):
    assert said(standin, "raw(f'a\\x1e{token}:999\\x1eb')") == "ab"


# Between blocks -----------------------------------------------------------------------------------

LATER = "import threading; threading.Timer(0, lambda: (go.wait(), {what}, gone.set())).start()"


def test_what_is_printed_after_its_block_is_told_in_the_next_one(standin):
    said(standin, "import threading; go, gone = threading.Event(), threading.Event()")
    said(standin, LATER.format(what="raw('late')"))
    standin._program.order("run", -1, "go.set(); gone.wait()")  # nobody reads
    text = said(standin, "raw('new')")
    assert text == "[printed after the end of an earlier block:]\nlate\n[this block:]\nnew"


# Ends ---------------------------------------------------------------------------------------------


def test_a_program_that_ends_is_said_and_begun_anew_where_it_was(standin, tmp_path):
    assert said(standin, f"os.chdir({str(tmp_path)!r}); x = 1") == ""
    text = said(standin, "raw('last words'); os._exit(3)")
    assert text == (
        "last words\n[the stand-in ended with status 3; its variables are lost; "
        "the next block starts a new one]\n"
    )
    assert said(standin, "raw(os.getcwd() + str('x' in globals()))") == f"{tmp_path}False"


def test_a_directory_that_is_gone_does_not_keep_it_from_starting(standin, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    said(standin, f"os.chdir({str(gone)!r})")
    said(standin, "os._exit(0)")
    gone.rmdir()
    assert said(standin, "raw('here')") == "here"


def test_a_program_that_is_killed_is_said(standin):
    text = said(standin, "os.kill(os.getpid(), signal.SIGKILL)")
    assert text.startswith("[the stand-in was ended by signal 9; ")


def test_a_program_that_was_killed_between_two_blocks_is_said_in_the_next(standin):
    pid = int(said(standin, "raw(str(os.getpid()))"))
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs([standin._program._process], timeout=60)
    text = said(standin, "raw('here')")
    assert text.startswith("[the stand-in was killed by another program: its variables are lost")
    assert text.endswith("here")


def test_the_end_is_heard_although_a_child_holds_the_pipes(standin):
    said(standin, "child = subprocess.Popen(['sleep', '600'], close_fds=False)")
    text = said(standin, "raw(str(child.pid)); os._exit(0)")
    child = psutil.Process(int(text.split("\n")[0]))
    assert "ended with status 0" in text
    assert child.is_running()
    standin.close()
    assert psutil.wait_procs([child], timeout=60)[1] == []


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_the_end_is_heard_although_a_forked_worker_holds_our_pipes(standin):
    """Workers of `multiprocessing` have all that was open as they were forked."""
    said(standin, "raw('x')")
    held, go = os.pipe()
    worker = os.fork()
    if not worker:
        os.close(go)
        os.read(held, 1)
        os._exit(0)
    try:
        reader = threading.Thread(target=lambda: text.append(said(standin, "os._exit(3)")))
        text = []
        reader.start()
        reader.join(60)
        assert "ended with status 3" in "".join(text)
    finally:
        os.close(go)
        os.waitpid(worker, 0)
        os.close(held)


def test_a_program_that_does_not_start_says_why():
    it = StandIn(AT_START="print('no library', flush=True); sys.exit(7)")
    with pytest.raises(ComputerError, match=r"did not start \(status 7\): no library"):
        said(it, "1")
    it.close()


def test_a_program_that_is_not_there_is_a_sentence():
    it = StandIn(["/nonexistent/program"])
    with pytest.raises(ComputerError, match="/nonexistent/program does not start"):
        said(it, "1")
    it.close()


def test_code_may_have_any_size_and_any_character(standin):
    big = "é" * 2_000_000
    assert said(standin, f"raw(str(len('{big}')))") == "2000000"
    assert said(standin, "raw('\ud83d' + 'x')").endswith("x")


# Stop ---------------------------------------------------------------------------------------------

WAYS = [
    "raw('on'); time.sleep(600)",
    "raw('on')\nwhile True: pass",
    "while True: raw('on ' * 100)",
    "raw('on'); subprocess.run(['sleep', '600'])",
]


@pytest.mark.parametrize("code", WAYS)
def test_a_block_can_be_stopped_and_the_state_is_kept(standin, code):
    said(standin, "kept = 'yes'")
    _, told = stopped_after(standin, code)
    assert told
    assert said(standin, "raw(kept)") == "yes"


@pytest.mark.parametrize("polite", [0.2])
def test_a_program_that_does_not_answer_to_a_stop_is_ended_and_that_is_said(standin):
    said(standin, "x = 1")
    text, told = stopped_after(
        standin, "signal.signal(signal.SIGINT, signal.SIG_IGN); raw('on'); time.sleep(600)"
    )
    assert told
    assert "did not react to Stop and was killed: its variables are lost" in text
    assert said(standin, "raw(str('x' in globals()))") == "False"


@pytest.mark.long
@pytest.mark.parametrize("polite", [2.0])
def test_a_program_that_a_block_waits_for_is_ended_when_it_does_not_hear(standin, monkeypatch):
    monkeypatch.setattr(module._FramedBlock, "abandon", lambda block: block.kill())
    said(standin, "kept = 'yes'")
    code = """
signal.signal(signal.SIGINT, lambda *_: None)
child = subprocess.Popen(["sh", "-c", "trap '' INT TERM; echo on; while :; do sleep 1; done"])
child.wait()
signal.signal(signal.SIGINT, interrupted)
"""
    _, told = stopped_after(standin, code)
    assert told
    assert said(standin, "raw(kept)") == "yes"


def test_what_earlier_blocks_started_outlives_a_stop(standin):
    said(standin, "child = subprocess.Popen(['sleep', '600'])")
    _, told = stopped_after(standin, WAYS[0])
    assert told
    assert said(standin, "raw(str(child.poll()))") == "None"


def test_a_reader_that_goes_away_ends_the_block(standin):
    it = standin.run("x = 1\nwhile True: raw('on ')")
    next(it)
    it.close()
    assert said(standin, "raw(str(x))") == "1"


def test_a_block_that_was_left_half_read_ends_when_the_next_begins(standin):
    left = standin.run("x = 1\nwhile True: raw('on ')")
    next(left)
    assert said(standin, "raw(str(x))") == "1"
    with pytest.raises(KeyboardInterrupt):
        list(left)


def test_a_block_that_was_never_begun_ends_at_once(standin):
    standin.run("raw('never')")
    assert said(standin, "raw('next')") == "next"


def test_close_does_not_wait_for_a_reader_that_has_gone_away(standin):
    left = standin.run("while True: raw('on ')")
    next(left)
    standin.close()
    left.close()
    assert said(standin, "raw('again')") == "again"


def test_close_ends_the_block_of_another_thread(standin):
    begun, ended = threading.Event(), []

    def work():
        try:
            for _ in standin.run("raw('on'); time.sleep(600)"):
                begun.set()
        except KeyboardInterrupt:
            ended.append("told")

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    standin.close()
    thread.join()
    assert ended == ["told"]


def test_two_threads_take_turns(standin):
    texts = {}

    def work(name):
        texts[name] = said(standin, f"[raw({name!r} + str(i)) or time.sleep(0.01) for i in '123']")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {name: f"{name}1{name}2{name}3" for name in "abc"}


def test_a_flood_is_bounded(standin):
    text = said(standin, "for _ in range(100): raw('x' * 99_999 + '\\n')\nraw('the end')")
    assert len(text) < 1_200_000
    assert "characters were shown and not saved" in text
    assert text.endswith("the end")


def descriptors():
    for each in threading.enumerate():
        if "(_await)" in each.name:  # it closes what it has
            each.join()
    return len(list(Path("/dev/fd").iterdir()))


def test_no_descriptor_is_left_behind():
    before = None
    for _ in range(3):
        it = StandIn()
        said(it, "raw('x')")
        said(it, "os._exit(0)")
        said(it, "1")
        it.close()
        before = descriptors() if before is None else before  # the reaper's pipe is there now
    assert descriptors() <= before


def test_a_program_that_cannot_be_started_leaves_no_descriptor():
    before = descriptors()
    with pytest.raises(FileNotFoundError):
        FramedProgram(["/nonexistent/program"], None, {})
    assert descriptors() == before


@pytest.mark.long
def test_a_program_that_reads_no_orders_is_left_without_an_error():
    program = FramedProgram(["/bin/sh", "-c", "exec sleep 1000"], None, {})
    program.order("run", 1, "x" * 5_000_000)
    program.listen()  # the rest waits for room
    program.leave()
    program.order("run", 2, "too late")
    assert program.listen() == []
    program.kill()
    program.release()


# Pages --------------------------------------------------------------------------------------------


def test_a_page_carries_what_lies_beside_it_and_nothing_else(tmp_path):
    (tmp_path / "secret.js").write_text("secret")
    root = tmp_path / "page"
    (root / "lib").mkdir(parents=True)
    (root / "lib" / "a.js").write_text("let s = '</script>'")
    (root / "lib" / "a.css").write_text("b { color: red }")
    (root / "lib" / "a.png").write_bytes(b"\x89PNG")
    (root / "index.html").write_text(
        '<script src="lib/a.js"></script><link href="lib/a.css" rel="stylesheet">'
        '<img src="lib/a.png"><script src="../secret.js"></script>'
        '<script src="https://example.org/b.js"></script>'
    )
    text = page(root / "index.html")
    assert "<script>let s = '<\\/script>'</script>" in text
    assert "<style>b { color: red }</style>" in text
    assert '<img src="data:image/png;base64,iVBORw==">' in text
    assert "secret</script>" not in text
    assert "https://example.org/b.js" in text
