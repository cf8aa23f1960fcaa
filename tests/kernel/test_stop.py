"""Stop and the kernel's interrupt button, whatever the code does; the next block is clean."""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
import sys
import threading
import traceback
import weakref

import pytest

from lmc_jupyter.computer.output_buffer import OutputBuffer
from lmc_jupyter.kernel.capture import Capture
from lmc_jupyter.kernel.stop import Interruptible, interrupt_main, without_handler

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

WAITS = {
    "sleep": "import time\nprint('started')\ntime.sleep(600)",
    "lock": "lock = threading.Lock(); lock.acquire()\nprint('started')\nlock.acquire()",
    "queue": "print('started')\nqueue.Queue().get()",
}
CODES = {
    **WAITS,
    "busy loop": "print('started')\nwhile True: pass",
    "subprocess": "import subprocess\nprint('started')\nsubprocess.run(['sleep', '600'])",
    "await": "import asyncio\nprint('started')\nawait asyncio.sleep(600)",
    "busy loop after await": (
        "import asyncio\nawait asyncio.sleep(0)\nprint('started')\nwhile True: pass"
    ),
    "input": "print('started')\ninput()",
}


def press_interrupt(frontend):
    frontend.interrupt()


def press_stop(frontend):
    assert frontend.control("stop_request", {})["status"] == "ok"


@pytest.mark.parametrize("press", [press_interrupt, press_stop])
@pytest.mark.parametrize("code", CODES.values(), ids=CODES.keys())
def test_code_ends_and_with_it_the_turn(frontend, code, press):
    cell = frontend.start(f"told = text({code + chr(10) + 'print(0)'!r}, 'print(1)')")
    frontend.shows(cell, "started\n")
    if press is press_interrupt and code in WAITS.values():
        frontend.interrupt_wait(lambda: frontend.is_idle(cell))
    else:
        press(frontend)
    frontend.finish(cell)
    first, *rest = frontend.value("told")
    assert first.startswith("started\n")
    assert first.endswith("KeyboardInterrupt\n")
    assert "0" not in first
    assert rest == ["KeyboardInterrupt"]
    assert frontend.told("print(2)") == ["2\n"]


def test_a_process_of_the_code_that_takes_the_interrupt_itself_ends_too(frontend):
    cell = frontend.start("told = text('print(\"started\")\\n!sleep 600\\nwhile True: pass')")
    frontend.shows(cell, "started\n")
    press_stop(frontend)
    frontend.finish(cell)
    assert frontend.value("told")[-1] == "KeyboardInterrupt"


def test_code_that_catches_the_interrupt_once_is_told_again(frontend):
    code = (
        "import time\n"
        "print('started')\n"
        "for i in range(2):\n"
        "    try: time.sleep(600)\n"
        "    except KeyboardInterrupt: print('caught')\n"
        "time.sleep(600)"
    )
    cell = frontend.start(f"told = text({code!r})")
    frontend.shows(cell, "started\n")
    press_stop(frontend)
    frontend.finish(cell)
    assert frontend.value("told") == [
        "started\ncaught\ncaught\nIt was at line 6.\nKeyboardInterrupt\n",
        "KeyboardInterrupt",
    ]


def test_code_that_answers_the_button_by_itself_goes_on(frontend):
    code = (
        "import time\n"
        "print('started')\n"
        "try:\n"
        "    while True: time.sleep(0.01)\n"
        "except KeyboardInterrupt: print('caught')"
    )
    cell = frontend.start(f"told = text({code!r}, '1')")
    frontend.shows(cell, "started\n")
    press_interrupt(frontend)
    frontend.finish(cell)
    assert frontend.value("told") == ["started\ncaught\n", "1\n"]


@pytest.mark.parametrize("press", [press_interrupt, press_stop])
def test_waiting_for_a_model_ends(frontend, press):
    frontend.run("released = threading.Event(); on = []")
    frontend.run(
        "def let_go(): on.append(threading.current_thread().name); released.set()\n"
        "python_stop = python.stop\n"
        "python.stop = let_go\n"
    )
    cell = frontend.start(
        "def wait():\n"
        "    print('waiting'); released.wait(); return 'let go'\n"
        "result = runner.run_blocking(wait, stop=let_go)"
    )
    frontend.shows(cell, "waiting\n")
    press(frontend)
    frontend.finish(cell)
    assert frontend.status == "ok"
    assert frontend.value("(result, on[0] == 'MainThread')") == (
        "let go",
        press is press_interrupt,
    )
    frontend.run("python.stop = python_stop")


def test_a_second_interrupt_while_the_worker_ends_is_harmless(frontend):
    frontend.run("ending, end = threading.Event(), threading.Event()")
    cell = frontend.start(
        "def work():\n"
        "    print('waiting'); ending.wait(); print('ending'); end.wait(); return 1\n"
        "said = []\n"
        "def stop():\n"
        "    said.append(1); ending.set()\n"
        "    if len(said) == 2: end.set()\n"
        "result = runner.run_blocking(work, stop=stop)"
    )
    frontend.shows(cell, "waiting\n")
    press_interrupt(frontend)
    frontend.shows(cell, "ending\n")
    press_interrupt(frontend)
    frontend.finish(cell)
    assert frontend.value("(result, len(said))") == (1, 2)


def test_a_reader_that_goes_away_ends_the_code(frontend):
    frontend.run(
        "code = 'print(1)\\nwhile True: pass'\n"
        "def work():\n"
        "    for chunk in python.run(code):\n"
        "        if chunk.format == 'output': return 'gone'\n"
        "result = runner.run_blocking(work, stop=python.stop)"
    )
    assert frontend.value("result") == "gone"
    assert frontend.told("1") == ["1\n"]


def test_a_stop_never_hits_a_cell_of_the_users_own(frontend):
    cell = frontend.start(
        "print('started')\n"
        "held = threading.Event()\n"
        "kernel.control_handlers['go_request'] = lambda s, i, m: (\n"
        "    held.set(), kernel.session.send(s, 'go_reply', {'status': 'ok'}, m, i))\n"
        "held.wait()"
    )
    frontend.shows(cell, "started\n")
    press_stop(frontend)
    frontend.control("go_request", {})
    frontend.finish(cell)
    assert frontend.status == "ok"


def test_many_stops_at_any_moment_leave_a_kernel_that_works(frontend):
    """The edges: a stop before the code begins, as it ends, and between two blocks."""
    frontend.run(
        "import random, time\n"
        "def storm(n):\n"
        "    said = []\n"
        "    for i in range(n):\n"
        "        delay = random.random() * 0.006\n"
        "        t = threading.Timer(delay, python.stop); t.start()\n"
        "        said.append(text('for i in range(3000): pass', 'i')[-1])\n"
        "        t.join()\n"
        "    return set(said)"
    )
    assert frontend.value("storm(60)") <= {"KeyboardInterrupt", "2999\n"}
    assert frontend.told("print('fine')") == ["fine\n"]


INTERRUPTS = """
import io, os, random, signal, sys, threading
caught = threading.Event()
def storm(run, n, begun=None):
    found = []
    for i in range(n):
        delay = random.random() * 0.006
        over = threading.Event()
        if begun: begun.clear()
        def press():
            if begun: begun.wait()
            if not over.is_set(): os.kill(os.getpid(), signal.SIGINT)
        t = threading.Timer(delay, press)
        try:
            t.start()
            found.append(run())
            over.set(); t.cancel(); t.join()
        except KeyboardInterrupt: found.append('outside')
        finally: t.join()
    return found
def block(): return text('for i in range(3000): pass', 'i')[-1]
def plain():
    shown, sys.stdout = sys.stdout, io.StringIO()
    caught.set()
    while True: pass
    sys.stdout = shown
"""


def printed(frontend, code):
    """What a cell prints."""
    cell = frontend.start(code)
    frontend.finish(cell)
    return frontend.text(cell)


def test_many_interrupts_of_the_kernel_leave_one_that_works(frontend):
    frontend.run(INTERRUPTS)
    assert len(frontend.value("storm(block, 60)")) == 60
    assert frontend.told("print('fine')") == ["fine\n"]
    assert printed(frontend, "print('fine')") == "fine\n"


def test_control_where_output_is_caught_without_a_guard_they_leave_one_that_prints_nothing(
    make_frontend, record_property
):
    frontend = make_frontend()
    frontend.run(INTERRUPTS)
    found = frontend.value("storm(plain, 60, caught)")
    assert found == ["outside"] * 60
    assert printed(frontend, "print('fine')") == ""
    record_property(
        "figure",
        f"{found.count('outside')} of 60 interrupts come while the output is caught, "
        "and the kernel prints nothing any more",
    )


# Without a kernel ---------------------------------------------------------------------------------


def test_a_stop_before_the_code_keeps_it_from_beginning():
    block, ran = Interruptible(), []
    block.stop()
    with pytest.raises(KeyboardInterrupt):
        block.run(lambda: ran.append(1))
    assert ran == []


def test_code_on_another_thread_is_stopped_too():
    block, began, ended = Interruptible(), threading.Event(), []

    def spin():
        began.set()
        while True:
            pass

    def work():
        try:
            block.run(spin)
        except KeyboardInterrupt:
            ended.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    block.stop()
    thread.join()
    assert ended == [1]


def test_the_handler_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    Interruptible().run(lambda: None)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_that_the_code_installs_stays():
    before = signal.getsignal(signal.SIGINT)
    try:
        Interruptible().run(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_where_nothing_of_ours_runs_nothing_is_interrupted():
    assert interrupt_main() is False


def test_a_pause_is_not_interrupted_but_ends_with_the_interrupt():
    block, seen = Interruptible(), []

    def code():
        block.pause(lambda: (block.stop(), seen.append("paused")))

    with pytest.raises(KeyboardInterrupt):
        block.run(code)
    assert seen == ["paused"]


def test_a_stop_that_falls_into_a_finalizer_lets_it_do_all_its_work():
    """Python drops what a finalizer raises: the journal of another conversation would stay open."""
    block, ended = Interruptible(), []

    def end():
        thread = threading.Thread(target=block.stop)
        thread.start()
        thread.join()
        ended.append("all of it")

    def code():
        weakref.finalize(Interruptible(), end)  # nobody else has it: it is finalized at once
        while True:
            pass

    with pytest.raises(KeyboardInterrupt):
        block.run(code)
    assert ended == ["all of it"]
    assert block.hits == 1


def test_a_stop_that_falls_where_an_error_is_drawn_lets_it_be_drawn(frontend):
    """IPython takes a while for it, and would say KeyboardInterrupt in its place."""
    code = (
        "class Bad(Exception):\n"
        "    def _render_traceback_(self): python.stop(); return ['drawn']\n"
        "raise Bad('told')"
    )
    messages = frontend.run(f"told = text({code!r})")
    assert [m["content"]["traceback"] for m in messages if m["msg_type"] == "error"] == [["drawn"]]
    first, *rest = frontend.value("told")
    assert "Bad: told" in first
    assert rest == ["KeyboardInterrupt"]


def test_code_that_is_hit_again_as_it_ends_shows_no_frame_of_ours():
    """`!program` ends its program when it is interrupted, and may be told again meanwhile."""
    block = Interruptible()

    def code():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as found:
        block.run(code)
    without_handler(found.value)
    before = found.value.__context__
    assert isinstance(before, KeyboardInterrupt)
    for error in (found.value, before):
        frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
        assert frames[-1] is code.__code__


def test_an_interrupt_within_a_print_shows_the_line_that_prints_and_nothing_below(shell):
    """Below ours stands what wrote before: IPython's copy for its history, or the kernel's."""
    block = Interruptible()

    class Interrupting(io.StringIO):
        def write(self, text):
            signal.raise_signal(signal.SIGINT)

    def code():
        with contextlib.redirect_stdout(Interrupting()), Capture(shell, OutputBuffer()):
            print("now")  # noqa: T201 - it is what is tried

    with pytest.raises(KeyboardInterrupt) as found:
        block.run(code)
    without_handler(found.value)
    frames = [frame.f_code for frame, _ in traceback.walk_tb(found.value.__traceback__)]
    assert frames[-1] is code.__code__


def test_another_error_below_a_print_of_ours_shows_where_it_came_up(shell):
    class Broken(io.StringIO):
        def write(self, text):
            raise ValueError(text)

    with (
        pytest.raises(ValueError, match="now") as found,
        contextlib.redirect_stdout(Broken()),
        Capture(shell, OutputBuffer()),
    ):
        print("now")  # noqa: T201
    without_handler(found.value)
    frames = [frame.f_code for frame, _ in traceback.walk_tb(found.value.__traceback__)]
    assert frames[-1] is Broken.write.__code__


AFTER_A_STOP = """
import sys, threading
from lmc_jupyter.computer.output_buffer import OutputBuffer
from lmc_jupyter.kernel.capture import Capture
from lmc_jupyter.kernel.stop import Interruptible

def code():
    begun.set()
    while True:
        pass

def run():
    try:
        block.run(code)
    except KeyboardInterrupt:
        stopped.set()

for _ in range(3):
    begun, stopped, block = threading.Event(), threading.Event(), Interruptible()
    worker = threading.Thread(target=run)
    worker.start()
    assert begun.wait(60)
    block.stop()
    worker.join()
    assert stopped.is_set()

def traced():
    return sum(n for n in range(10))

sys.settrace(lambda *_: None)
print(traced())
"""


def test_a_stop_on_another_thread_leaves_no_mark_on_the_process():
    """To ask for nothing to be raised (SetAsyncExc of NULL) hangs a traced CPython 3.11."""
    done = subprocess.run(
        [sys.executable, "-c", AFTER_A_STOP], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "45\n"
