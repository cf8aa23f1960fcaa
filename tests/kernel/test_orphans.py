"""What a kernel's shell has started ends with the kernel, however that ends."""

from __future__ import annotations

import os

import psutil
import pytest
from languages import IRKERNEL, JAVASCRIPT, RUBY, SHELL

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.ipykernel,
    pytest.mark.skipif(os.name != "posix", reason="bash is not registered on Windows"),
    pytest.mark.long,
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
    assert session
    end(it)
    assert psutil.wait_procs(session, timeout=60)[1] == []


BUSY = {"shell": SHELL, "javascript": JAVASCRIPT, "r": IRKERNEL, "ruby": RUBY}

AT_ONCE = """
import os, threading
computer, begun = default_computer(), {{name: threading.Event() for name in {codes}}}
def work(name, code):
    text = ""
    for piece in computer.run(name, code):
        text = text[-100:] + str(piece.content)
        if "begun" in text:
            begun[name].set()
for name, code in {codes}.items():
    threading.Thread(target=work, args=(name, code), daemon=True).start()
all_begun = all(event.wait(60) for event in begun.values())
"""


@pytest.mark.parametrize("end", END.values(), ids=END.keys())
def test_of_several_languages_at_work_nothing_is_left(make_frontend, end):
    it = make_frontend()
    it.run(AT_ONCE.format(codes={name: row.busy for name, row in BUSY.items()}))
    assert it.value("all_begun") is True
    started = psutil.Process(it.value("os.getpid()")).children(recursive=True)
    assert len(started) > len(BUSY)  # and the reaper
    end(it)
    assert psutil.wait_procs(started, timeout=60)[1] == []


def _session(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None
