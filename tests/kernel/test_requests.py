"""What is said of the requests of a kernel, when we have taken back what was put into it."""

from __future__ import annotations

import threading

import pytest

from lmc_jupyter.kernel import mailbox, requests

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]


def test_nobody_says_busy_again_for_a_cell_that_ended_after_we_had_left(make_frontend):
    """As a click does whose answer is on its way while the extension is unloaded."""
    lab = make_frontend()
    lab.run(
        "from lmc_jupyter.kernel.requests import Requests\n"
        "requests = Requests.of(get_ipython().kernel)"
    )
    cell = lab.start("requests.forget()")
    lab.finish(cell)
    lab.run("requests.say_busy_again()")
    assert lab.is_idle(cell)


@pytest.mark.parametrize(("module", "name"), [(requests, "Requests"), (mailbox, "Mailbox")])
def test_a_kernel_has_one_also_where_two_threads_want_it_at_once(monkeypatch, module, name):
    made, settled = [], threading.Event()

    def get():
        made.append(getattr(module, name).of(kernel))
        settled.set()

    second = threading.Thread(target=get)

    class Kernel:
        def __getattr__(self, name):
            """While the first one is made, the second thread gets one, or waits for the lock."""
            if not second.ident:
                second.start()
                assert settled.wait(30)
            raise AttributeError(name)

        def get_parent(self, _channel):
            return {}

    class Lock:
        def __enter__(self):
            if threading.current_thread() is second:
                settled.set()
            usual.acquire()

        def __exit__(self, *_):
            usual.release()

    usual, kernel = threading.RLock(), Kernel()
    monkeypatch.setattr(module, "_making", Lock(), raising=False)
    get()
    second.join(30)
    assert made[0] is made[1]
