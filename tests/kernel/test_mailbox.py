"""Clicks reach Python while a cell is busy, once each, and nothing else is touched."""

from __future__ import annotations

import random

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

SET_UP = """
import comm as _comm, time
mailbox = Mailbox(kernel)
ours = _comm.create_comm(target_name='lmc.test')
other = _comm.create_comm(target_name='other.test')
clicks, others, woken = [], [], queue.Queue()

def receive(content):
    clicks.append(content['n']); woken.put(content)

mailbox.open(ours.comm_id, receive)
ours.on_msg(lambda m: mailbox.deliver(ours.comm_id, m['content']['data']['content']))
other.on_msg(lambda m: others.append(m['content']['data']['content']['n']))

def turn(work):
    try:
        return runner.run_blocking(work, stop=lambda: woken.put(None), poll=mailbox.poll)
    finally:
        mailbox.release()

def one_click():
    print('waiting')
    return woken.get()
"""


@pytest.fixture(scope="module")
def box(frontend):
    frontend.run(SET_UP)
    frontend.ours = frontend.value("ours.comm_id")
    frontend.other = frontend.value("other.comm_id")
    return frontend


@pytest.fixture(autouse=True)
def empty(box):
    box.run("clicks.clear(); others.clear()\nwhile not woken.empty(): woken.get()")


def by_control(frontend, content):
    reply = frontend.control("lmc_request", {"comm_id": frontend.ours, "content": content})
    assert reply == {"msg_type": "lmc_reply", "status": "ok"}


def by_comm(frontend, content, comm_id=None):
    data = {"method": "custom", "content": content}
    return frontend.send("comm_msg", {"comm_id": comm_id or frontend.ours, "data": data})


def acknowledged(frontend, message_id):
    def found():
        return any(
            m["msg_type"] == "comm_msg"
            and m["content"]["data"].get("content") == {"kind": "ack", "of": message_id}
            for m in frontend.messages
        )

    frontend.until(found, "the ack")


WAYS = pytest.mark.parametrize("way", [by_control, by_comm])


@WAYS
def test_a_click_arrives_while_the_cell_waits(box, way):
    cell = box.start("got = turn(one_click)")
    box.shows(cell, "waiting\n")
    way(box, {"id": f"wait-{way.__name__}", "n": 1})
    box.finish(cell)
    assert box.value("(clicks, got['n'])") == ([1], 1)
    acknowledged(box, f"wait-{way.__name__}")


@WAYS
@pytest.mark.parametrize(
    "code",
    ["while not clicks: pass", "while not clicks: time.sleep(0.01)", "import asyncio\n"
     "while not clicks: await asyncio.sleep(0.01)"],
    ids=["busy loop", "sleep", "await"],
)  # fmt: skip
def test_a_click_arrives_while_code_runs(box, way, code):
    block = f"print('waiting')\n{code}"
    cell = box.start(
        f"def work():\n    return text_of([c.to_dict() for c in python.run({block!r})])\n"
        "got = turn(work)"
    )
    box.shows(cell, "waiting\n")
    way(box, {"id": f"{way.__name__}-{code}", "n": 2})
    box.finish(cell)
    assert box.value("(clicks, got)") == ([2], "waiting\n")


def test_a_click_that_comes_by_every_way_is_one_click(box):
    click = {"id": "twice", "n": 3}
    cell = box.start("got = turn(lambda: (one_click(), one_click()))")
    box.shows(cell, "waiting\n")
    by_control(box, click)
    by_comm(box, click)
    by_control(box, click)
    acknowledged(box, "twice")
    by_comm(box, {"id": "last", "n": 4})
    box.finish(cell)
    assert box.value("clicks") == [3, 4]


def test_an_idle_kernel_takes_clicks_too(box):
    by_comm(box, {"id": "idle", "n": 5})
    acknowledged(box, "idle")
    assert box.value("clicks") == [5]


def test_foreign_comms_keep_their_order_and_their_handler(box):
    cell = box.start("got = turn(one_click)")
    box.shows(cell, "waiting\n")
    for n in range(5):
        by_comm(box, {"n": n}, box.other)
    after = box.start("seen = list(others)")
    for n in range(5, 8):
        by_comm(box, {"n": n}, box.other)
    by_comm(box, {"id": "through", "n": 6})
    box.finish(cell)
    box.finish(after)
    assert box.value("seen") == [0, 1, 2, 3, 4]
    assert box.value("others") == list(range(8))
    assert box.value("clicks") == [6]


@WAYS
def test_after_a_click_the_cell_is_still_busy(box, way):
    cell = box.start("got = turn(lambda: (one_click(), one_click()))")
    box.shows(cell, "waiting\n")
    before = len(box.messages)
    way(box, {"id": f"busy-{way.__name__}", "n": 7})

    def says_busy():
        states = [m for m in box.messages[before:] if m["msg_type"] == "status"]
        if not any(m["content"]["execution_state"] == "idle" for m in states):
            return False
        last = states[-1]
        return (
            last["content"]["execution_state"] == "busy" and last["parent_header"]["msg_id"] == cell
        )

    box.until(says_busy, "busy")
    way(box, {"id": f"busy2-{way.__name__}", "n": 8})
    box.finish(cell)
    assert box.value("clicks") == [7, 8]


def test_an_idle_kernel_is_not_said_to_be_busy_after_a_click(box):
    by_control(box, {"id": "calm", "n": 9})
    messages = box.run("time.sleep(0.1)")
    assert messages
    states = [m["content"]["execution_state"] for m in box.messages if m["msg_type"] == "status"]
    assert states[-1] == "idle"


def test_a_click_for_a_widget_that_is_gone_is_answered_with_an_error(box):
    reply = box.control("lmc_request", {"comm_id": "nobody", "content": {"id": "x"}})
    assert reply["status"] == "error"
    assert "nobody" in reply["evalue"]


def test_state_of_our_own_widget_goes_its_usual_way(box):
    box.run("states = []\nours.on_msg(lambda m: states.append(m['content']['data']['method']))")
    box.send("comm_msg", {"comm_id": box.ours, "data": {"method": "update", "state": {}}})
    assert box.value("states") == ["update"]
    box.run("ours.on_msg(lambda m: mailbox.deliver(ours.comm_id, m['content']['data']['content']))")


def test_stress_every_cell_every_click_and_every_foreign_message_in_order(box):
    """150 executions and 900 comm messages at random moments."""
    rng = random.Random(1)
    box.run("ran = []")
    cells, n_ours, n_other = [], 0, 0
    plan = ["cell"] * 150 + ["ours"] * 450 + ["other"] * 450
    rng.shuffle(plan)
    for step in plan:
        if step == "cell":
            i = len(cells)
            code = f"ran.append({i})"
            if i % 5 == 0:
                code = f"turn(lambda: [c for c in python.run('ran.append({i})')]);"
            cells.append(box.start(code))
        elif step == "ours":
            by_comm(box, {"id": f"s{n_ours}", "n": n_ours})
            n_ours += 1
        else:
            by_comm(box, {"n": n_other}, box.other)
            n_other += 1
    for cell in cells:
        assert box.reply(cell)["content"]["status"] == "ok"
    assert box.value("ran") == list(range(150))
    assert box.value("clicks") == list(range(450))
    assert box.value("others") == list(range(450))


def test_uninstall_takes_everything_back(make_frontend):
    it = make_frontend()
    it.run(
        "import ipykernel\n"
        "def mended():\n"
        "    thread = getattr(kernel, 'shell_channel_thread', None)\n"
        "    return thread is not None and '_send_on_shell_channel' in vars(thread.manager)\n"
        "names = '_publish_status', 'set_parent'\n"
        "def patched(): return [n for n in names if n in vars(kernel)], mended()\n"
        "before = dict(kernel.control_handlers), kernel.shell_stream._recv_callback, patched()\n"
        + SET_UP
    )
    old = it.value("(7,) <= ipykernel.version_info < (7, 4)")
    new = it.value("hasattr(kernel, '_shell_parent')")
    assert it.value("patched()") == (["_publish_status", "set_parent"][: 1 + new], old)
    assert it.value("'lmc_request' in kernel.control_handlers") is True
    it.run("mailbox.uninstall()")
    assert it.value("kernel.control_handlers == before[0]") is True
    assert it.value("before[2] == patched() == ([], False)") is True
    it.ours = it.value("ours.comm_id")
    by_comm(it, {"id": "late", "n": 1})
    assert it.value("(1, clicks)") == (1, [])


def test_what_must_happen_once_is_known_for_as_long_as_a_cell_keeps_its_second_way_back(box):
    """On ipykernel 6 a comm's message waits until the cell has ended; looks come meanwhile."""
    box.run(
        "import lmc_jupyter.kernel.mailbox as module\n"
        "usual, module._MAX_IDS = module._MAX_IDS, 100\n"
        "mailbox.close(ours.comm_id)\n"
        "mailbox.open(ours.comm_id, receive, twice=('look',))\n"
        "mailbox.deliver(ours.comm_id, {'id': 'once', 'kind': 'click', 'n': 1})\n"
        "for n in range(300):\n"
        "    mailbox.deliver(ours.comm_id, {'id': f'look {n}', 'kind': 'look', 'n': 2})\n"
        "mailbox.deliver(ours.comm_id, {'id': 'look 0', 'kind': 'look', 'n': 3})\n"
        "mailbox.deliver(ours.comm_id, {'id': 'odd', 'kind': ['look'], 'n': 4})\n"
        "mailbox.deliver(ours.comm_id, {'id': 'once', 'kind': 'click', 'n': 5})\n"
    )
    assert box.value("sorted(set(clicks)), clicks.count(2)") == ([1, 2, 3, 4], 300)
    box.run(
        "module._MAX_IDS = usual\nmailbox.close(ours.comm_id); mailbox.open(ours.comm_id, receive)"
    )
