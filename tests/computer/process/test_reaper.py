"""Nothing outlives the process that started it, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from lmc_jupyter.computer.process import sessions

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="sessions are of POSIX"),
    pytest.mark.long,
]

CODE = """
import sys
from lmc_jupyter.computer.languages.shell import Shell
shell = Shell()
for code in ("sleep 600 & a=$!; sleep 601 & echo $a $!", {code!r}):
    for piece in shell.run(code): print(piece.content, end="", flush=True)
"""


def started(code):
    """A process with a shell, two jobs in its background, and the bash of a block that runs."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE.format(code=code)], stdout=subprocess.PIPE, text=True
    )
    lines = iter(process.stdout.readline, "")
    pids = next([int(w) for w in line.split()] for line in lines if not line.startswith("["))
    on = next(line for line in lines if line.startswith("on "))
    return process, [psutil.Process(pid) for pid in pids], int(on.split()[1])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_after_the_end_of_the_process_nothing_is_left(number):
    process, jobs, leader = started("trap '' TERM HUP; echo on $$; while :; do sleep 1; done")
    session = sessions.session(leader)
    assert session
    with process:
        process.send_signal(number)
    assert psutil.wait_procs([*session, *jobs], timeout=60)[1] == []


def test_a_process_that_ends_by_itself_leaves_nothing():
    process, jobs, _ = started("echo on $$")
    with process:
        process.wait()
    assert psutil.wait_procs(jobs, timeout=60)[1] == []


ENDS = """
import os, signal, sys
from lmc_jupyter.computer.process import reaper
reaper._END_SECONDS = 120  # of a loaded machine
reaper.watch_directory(sys.argv[1])
reads, writes = os.pipe()
if not (pid := os.fork()):  # it holds our end of the reaper's pipe
    os.setsid()
    os.write(writes, b"on")
    os.close(1), os.close(2)
    signal.pause()
os.read(reads, 2)  # it leads a session: before, nobody could find it as one
reaper.watch(pid)
print(pid)
"""


def test_at_the_end_of_the_process_the_reaper_ends_too_and_is_waited_for(tmp_path):
    used = tmp_path / "used"
    used.mkdir()
    told = subprocess.run(
        [sys.executable, "-W", "default", "-c", ENDS, str(used)], capture_output=True, text=True
    )
    assert (told.returncode, told.stderr) == (0, "")  # no warning of a process that still runs
    pid = int(told.stdout)
    killed = sessions.session(pid)  # it may be ending still
    assert psutil.wait_procs(killed, timeout=60)[1] == []
    assert not used.exists()
