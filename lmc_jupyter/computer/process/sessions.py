"""The processes of a program that we have started: listed, signalled and ended together.

One rule: they are one session, whose leader we started with `start_new_session=True`: `timeout`
leaves its process group, and a daemon its parent. Windows has no sessions: there they are the tree
below the program.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable

import psutil

END_SECONDS = 2.0
"""How long a process that was killed may take to be gone: one in a call of the disk goes later."""


def plain_environment() -> dict[str, str]:
    """Our environment, for programs that write without colours and pagers, and ask no question.

    A program that gets both NO_COLOR and FORCE_COLOR complains (node) or obeys either.
    """
    names = ("FORCE_COLOR", "CLICOLOR_FORCE")
    ours = {name: value for name, value in os.environ.items() if name not in names}
    plain = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat"}
    return {**ours, **plain, "GIT_TERMINAL_PROMPT": "0"}


def pids(leader: int) -> list[int]:
    """The ids of the processes in the session of this leader, which may have ended."""
    if not hasattr(os, "getsid"):
        return [process.pid for process in _tree(leader)]
    members = []
    for pid in psutil.pids():
        try:
            if os.getsid(pid) == leader:
                members.append(pid)
        except (ProcessLookupError, PermissionError):  # it has ended, or is none of ours
            continue
    return members


def session(leader: int) -> list[psutil.Process]:
    """The processes of this session; each behind its parent."""
    processes, parents = [], {}
    for pid in pids(leader):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            parents[pid] = process.ppid()
            processes.append(process)

    def depth(process: psutil.Process) -> int:
        pid, above = process.pid, 0
        while pid != leader and pid in parents and above < len(parents):
            pid, above = parents[pid], above + 1
        return above

    return sorted(processes, key=depth)


def tell(processes: Iterable[psutil.Process], number: int) -> None:
    """Signal them, but for those that are gone or not ours."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def end(leader: int) -> None:
    """End the whole session at once, with processes that start meanwhile, and see it gone."""
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)  # on Windows that ends it at once
    until = time.monotonic() + END_SECONDS
    while processes := [each for each in session(leader) if lives(each)]:
        tell(processes, kill)
        if time.monotonic() > until:
            return
        time.sleep(0.001)


def interrupt(leader: int) -> None:
    """Ctrl-C for the whole session; on Windows, where it must lead a process group, Ctrl-Break."""
    if hasattr(os, "getsid"):
        tell(session(leader), signal.SIGINT)
    else:
        with contextlib.suppress(OSError):
            os.kill(leader, getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))


def lives(process: psutil.Process) -> bool:
    """Whether it is alive: there, and no zombie."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _tree(leader: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(leader)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []
