"""What a kernel's shell has started ends with the kernel, however that ends."""

from __future__ import annotations

import os

import psutil
import pytest

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.name != "posix", reason="bash is not registered on Windows"),
]

END = {
    "kill -9": lambda it: it.manager.signal_kernel(9),
    "restart": lambda it: it.manager.restart_kernel(now=False),
    "shutdown": lambda it: it.manager.shutdown_kernel(now=False),
}


@pytest.mark.parametrize("end", END.values(), ids=END.keys())
def test_nothing_is_left(make_frontend, end):
    it = make_frontend()
    it.run(
        "computer = default_computer()\n"
        "pids = ''.join(c.content for c in computer.run('bash', 'sleep 600 & echo pid=$$'))"
    )
    leader = int(it.value("pids.split('pid=')[1].split()[0]"))
    session = [p for p in psutil.process_iter() if _session(p.pid) == leader]
    assert len(session) >= 2
    end(it)
    assert psutil.wait_procs(session, timeout=60)[1] == []


def _session(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None
