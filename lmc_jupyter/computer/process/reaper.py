"""No process of ours outlives this one, however this one ends: kill -9, restart or exit.

One rule: a small process of its own has one end of a pipe and a list of sessions; when the pipe
closes, it ends all their processes, and then removes their directories. (Measured: without it,
shells and their jobs live on after a restart of the kernel.)

On Windows nothing is watched: it has no sessions, and `select` reads no pipes there.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading

_CODE = r"""
import os, select, signal, sys, time

for name in ("SIGINT", "SIGHUP", "SIGTERM"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
parent, leaders, directories, text = int(sys.argv[1]), {}, set(), b""
ended = False

def started(pid):
    "When a process started, so that a number used again is not taken for it."
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rsplit(")", 1)[1].split()[19]
    except OSError:
        return None

def everybody():
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        import subprocess
        listed = subprocess.run(["ps", "-A", "-o", "pid="], capture_output=True).stdout
        return [int(word) for word in listed.split()]

def members(leader):
    for pid in everybody():
        try:
            if os.getsid(pid) == leader:
                yield pid
        except OSError:
            continue

while not ended:
    if not select.select([0], [], [], 2.0)[0]:
        if os.getppid() == parent:
            continue
        break  # a forked child of the parent may hold the pipe open
    more = os.read(0, 4096)
    if not more:
        break
    *lines, text = (text + more).split(b"\n")
    for line in lines:
        if line[:1] == b"*":
            directories.add(line[1:])
        elif line[:1] == b"!":
            directories.discard(line[1:])
        elif line == b".":
            ended = True
        elif line[:1] == b"+":
            leaders[int(line[1:])] = started(int(line[1:]))
        else:
            leaders.pop(int(line[1:]), None)

for number in (signal.SIGTERM, signal.SIGKILL):
    left = 0
    for leader, start in leaders.items():
        if start is not None and started(leader) not in (start, None):
            continue
        for pid in members(leader):
            try:
                os.kill(pid, number)
                left += 1
            except OSError:
                continue
    if not left:
        break
    if number == signal.SIGTERM:
        time.sleep(0.5)
if directories:
    import shutil
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)
"""

_END_SECONDS = 10.0
"""Seconds that the end of the interpreter waits for the reaper."""

_lock = threading.Lock()
_reaper: _Reaper | None = None


def watch(leader: int) -> None:
    """End the session of this leader after our end. The first call starts the reaper."""
    _tell(f"+{leader}\n", begin=True)


def forget(leader: int) -> None:
    """Watch this session no longer: it has ended."""
    _tell(f"-{leader}\n")


def watch_directory(path: str) -> None:
    """Remove this directory after our end. Its name has no line end."""
    _tell(f"*{path}\n", begin=True)


def forget_directory(path: str) -> None:
    """Watch this directory no longer: it was removed."""
    _tell(f"!{path}\n")


def _tell(line: str, begin: bool = False) -> None:
    global _reaper
    if sys.platform == "win32":
        return
    with _lock:
        if begin and (_reaper is None or not _reaper.is_ours()):
            _reaper = _Reaper()
        if _reaper is not None and _reaper.is_ours():
            _reaper.tell(line)


def _close() -> None:
    """End the reaper with the interpreter, after its work."""
    global _reaper
    with _lock:
        if _reaper is not None and _reaper.is_ours():
            _reaper.close()
        _reaper = None


# Registered now, before those of our users: so it runs after them, who end their own processes.
atexit.register(_close)


class _Reaper:
    def __init__(self) -> None:
        self._made_by = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _CODE, str(self._made_by)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    def is_ours(self) -> bool:
        """Whether it is alive and belongs to this process, and not to the parent of a fork."""
        return self._made_by == os.getpid() and self._process.poll() is None

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it was killed: the next `watch` makes another
            self._process.stdin.write(os.fsencode(line))
            self._process.stdin.flush()

    def close(self) -> None:
        """Ask it to do its work and end; wait for that, but not for ever."""
        assert self._process.stdin is not None
        self.tell(".\n")  # a forked child may hold the pipe open
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
