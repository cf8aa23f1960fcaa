"""The processes that a program of ours has started, as one: found, signalled and ended together.

One rule: what belongs together is a session, led by the program that we started with
`start_new_session=True`: a process group is left by `timeout`, and a parent is lost by a daemon.
Windows has no sessions: there it is the tree below that program.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

import psutil  # type: ignore[import-untyped]  # ships no types


def plain_environment() -> dict[str, str]:
    """Ours, for programs that are to write without colours and pagers, and not ask on a terminal.

    Whoever sees both NO_COLOR and FORCE_COLOR complains (node) or obeys either.
    """
    forced = ("FORCE_COLOR", "CLICOLOR_FORCE")
    ours = {name: value for name, value in os.environ.items() if name not in forced}
    plain = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat"}
    return {**ours, **plain, "GIT_TERMINAL_PROMPT": "0"}


def pids(leader: int) -> list[int]:
    """The ids of the processes of the session that this one leads, or led."""
    if not hasattr(os, "getsid"):
        return [process.pid for process in _tree(leader)]
    found = []
    for pid in psutil.pids():
        try:
            if os.getsid(pid) == leader:
                found.append(pid)
        except (ProcessLookupError, PermissionError):  # it has ended, or is none of ours
            continue
    return found


def session(leader: int) -> list[psutil.Process]:
    """The processes of that session; each behind its parent."""
    found, parents = [], {}
    for pid in pids(leader):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            parents[pid] = process.ppid()
            found.append(process)

    def depth(process: psutil.Process) -> int:
        pid, above = process.pid, 0
        while pid != leader and pid in parents and above < len(parents):
            pid, above = parents[pid], above + 1
        return above

    return sorted(found, key=depth)


def tell(processes: Iterable[psutil.Process], number: int) -> None:
    """Signal them; those that are gone or not ours to signal are left."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def end(leader: int) -> None:
    """End the whole session at once; who starts more meanwhile is ended too."""
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)  # on Windows that ends it at once
    for _ in range(3):
        if not (found := [each for each in session(leader) if lives(each)]):
            return
        tell(found, kill)


def interrupt(leader: int) -> None:
    """Ctrl-C for the whole session; on Windows, where it must lead a process group, Ctrl-Break."""
    if hasattr(os, "getsid"):
        tell(session(leader), signal.SIGINT)
    else:
        with contextlib.suppress(OSError):
            os.kill(leader, getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))


def lives(process: psutil.Process) -> bool:
    """Whether it is there and has not ended."""
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
