"""Code of a turn that no cell waits for: on the main thread, between the cells, shown by us."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace

import pytest

from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.kernel.between_cells import between_cells, is_between_cells, schedule

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

SET_UP = """
import asyncio, time, comm as _comm
from lmc_jupyter.kernel.between_cells import between_cells

def tell(text):
    '''Say something to the front end past everything that could be captured.'''
    content = {'name': 'stdout', 'text': text + '|'}
    publish(kernel, {'header': {'msg_id': 'told'}}, 'stream', content)

class Turn(threading.Thread):
    '''A turn of a panel: blocks on a thread that nothing waits for.'''
    def __init__(self, name, codes):
        super().__init__(name=name)
        self.codes, self.said = codes, []
        turns[name] = self
    def run(self):
        with between_cells():
            for code in self.codes:
                chunks = []
                self.said.append(chunks)
                try:
                    for chunk in python.run(code): chunks.append(chunk.to_dict())
                except KeyboardInterrupt:
                    self.said.append('KeyboardInterrupt')
                    break
        tell(f'{self.name} is over')
    def text(self):
        return [each if isinstance(each, str) else text_of(each) for each in self.said]

turns, waits, release = {}, [], threading.Event()
python.on_wait = lambda waiting: (waits.append(waiting), tell(f'waits {waiting}'))

def on_turn(stream, ident, message):
    Turn(message['content']['name'], message['content']['codes']).start()
    kernel.session.send(stream, 'turn_reply', {'status': 'ok'}, message, ident)

kernel.control_handlers['turn_request'] = on_turn

def on_release(stream, ident, message):
    release.set()
    kernel.session.send(stream, 'release_reply', {'status': 'ok'}, message, ident)

kernel.control_handlers['release_request'] = on_release

def seen(line):
    '''Whether the turn that began last has been told this line.'''
    said = list(turns.values())[-1].said[-1]
    return any(c.get('format') == 'active_line' and c['content'] == line for c in said)
"""


@pytest.fixture(scope="module")
def panel(frontend):
    frontend.run(SET_UP)
    frontend.turns = 0
    return frontend


def begin(panel, *codes):
    """Begin a turn while the kernel may be busy; its name."""
    panel.turns += 1
    name = f"turn {panel.turns}"
    panel.control("turn_request", {"name": name, "codes": codes})
    return name


def begin_waiting(panel, *codes):
    """Begin a turn whose first block finds a cell that runs; its name."""
    said = panel.text("told").count("waits True|")
    name = begin(panel, *codes)
    panel.until(lambda: panel.text("told").count("waits True|") > said, "the wait")
    return name


def told(panel, text):
    panel.shows("told", f"{text}|")


def end(panel, name):
    """The console text of each block of a turn, when it is over."""
    told(panel, f"{name} is over")
    return panel.value(f"turns[{name!r}].text()")


def turn(panel, *codes):
    return end(panel, begin(panel, *codes))


def chunks(panel, *codes):
    name = begin(panel, *codes)
    told(panel, f"{name} is over")
    return json.loads(panel.value(f"__import__('json').dumps(turns[{name!r}].said)"))


def let_go(panel):
    """Let the cell go on that waits for `release`."""
    assert panel.control("release_request", {})["status"] == "ok"


def stop(panel):
    assert panel.control("stop_request", {})["status"] == "ok"


def native(panel):
    """What the kernel showed for our own requests, but for busy and idle."""
    return [
        (m["msg_type"], m["content"])
        for m in list(panel.messages)
        if m["parent_header"].get("msg_type") == "lmc_run"
        and m["msg_type"] not in ("status", "comm_open", "comm_msg", "comm_close")
    ]


@pytest.fixture(autouse=True)
def nothing_is_shown_natively(request):
    if "panel" not in request.fixturenames:
        yield
        return
    panel = request.getfixturevalue("panel")
    before = len(native(panel))
    panel.run("waits.clear(); release.clear()")
    yield
    panel.run("pass")
    assert native(panel)[before:] == []


# What it sees and what is seen of it --------------------------------------------------------------


def test_it_runs_on_the_main_thread_in_the_notebooks_namespace(panel):
    panel.run("x = 20")
    said = turn(panel, "y = x + 1; print(threading.current_thread().name)", "y")
    assert said == ["MainThread\n", "21\n"]
    assert panel.value("y") == 21


def test_in_out_underscores_counts_and_the_context_stay_the_cells(panel):
    panel.run("5")
    panel.run("before = (_, dict(Out), len(In), get_ipython().execution_count); None")
    name = begin(
        panel, "7", "8", "print('wombat')", "import decimal; decimal.getcontext().prec = 9", "_"
    )
    told(panel, f"{name} is over")
    assert panel.value(
        "(_ == before[0], Out == before[1], len(In) - before[2],"
        " get_ipython().execution_count - before[3])"
    ) == (True, True, 1, 1)
    kept = "str(getattr(get_ipython().history_manager, 'outputs', ''))"
    assert panel.value(f"'wom' + 'bat' in {kept}") is False
    assert end(panel, name) == ["7\n", "8\n", "wombat\n", "", "5\n"]
    assert panel.value("decimal.getcontext().prec") == 9  # the cells' own context


def test_everything_is_told_in_order_and_nothing_is_shown_natively(panel):
    code = (
        "import os, sys\n"
        "print('one')\n"
        "print('two', file=sys.stderr)\n"
        "display('three')\n"
        "os.system('echo four')\n"
        "!echo five\n"
        "t = threading.Thread(target=print, args=('six',)); t.start(); t.join()\n"
        "'seven'\n"
    )
    assert turn(panel, code) == ["one\ntwo\n'three'\nfour\nfive\nsix\n'seven'\n"]


def test_a_figure_is_one_image(panel):
    panel.run("import matplotlib.pyplot as plt")
    for said in chunks(
        panel,
        "plt.plot([1, 2]); print(1)",
        "fig, ax = plt.subplots(); ax.plot([1, 2])\nfig",
        "await asyncio.sleep(0); plt.plot([1, 2]); plt.show()",
    ):
        images = [c for c in said if c["type"] == "image"]
        assert [c["format"] for c in images] == ["base64.png"]


def test_frames_widgets_updates_and_clears(panel):
    panel.run("import pandas as pd, ipywidgets; cleared = []; python.on_clear = cleared.append")
    frame, widget, update = chunks(
        panel,
        "pd.DataFrame({'a': [1, 2]})",
        "out = ipywidgets.Output()\nwith out: print('in the widget')\nout.clear_output()\n"
        "ipywidgets.IntSlider()",
        "h = display('v1', display_id=True); h.update('v2')\n"
        "from IPython.display import clear_output\nclear_output(wait=True); print('end')",
    )
    assert [(c["type"], c.get("recipient")) for c in frame[1:]] == [
        ("code", "user"),
        ("console", "assistant"),
    ]
    assert panel.value(f"text_of({widget!r})") == "in the widget\nIntSlider(value=0)\n"
    assert panel.value(f"text_of({update!r})") == "'v1'\n'v2'\nend\n"
    assert panel.value("cleared") == [True]  # of the widget, the conversation is not cleared
    panel.run("python.on_clear = None")


def test_what_stands_in_an_output_widget_stands_there_only(panel):
    """As in a cell: `interact` would else have a dead first result above the live one."""
    panel.run("import ipywidgets, matplotlib.pyplot as plt")
    (said,) = chunks(
        panel,
        "def f(x):\n    print('x is', x); plt.plot([1, x]); plt.show()\n"
        "shown = ipywidgets.interact(f, x=3).widget",
    )
    loud = [c for c in said if c["role"] == "computer" and c.get("recipient") != "assistant"]
    loud = [c for c in loud if c.get("format") != "active_line" and c.get("content")]
    assert ["interactive(children" in str(c["content"]) for c in loud] == [True]
    quiet = [c for c in said if c.get("recipient") == "assistant" and c.get("content")]
    assert [c["type"] for c in quiet] == ["console", "image"]
    assert quiet[0]["content"] == "x is 3\n"
    kinds = "[(o.get('text'), 'image/png' in o.get('data', ())) for o in shown.out.outputs]"
    assert panel.value(kinds) == [("x is 3\n", False), (None, True)]


def test_an_output_widget_is_emptied_by_its_own_clear(panel):
    (said,) = turn(
        panel,
        "out = ipywidgets.Output()\nfrom IPython.display import clear_output\n"
        "with out:\n    print('one'); clear_output(wait=True); print('two')\nprint('after')",
    )
    assert said == "one\ntwo\nafter\n"
    assert panel.value("[o['text'] for o in out.outputs]") == ["two\n"]


def test_a_progress_bar_of_widgets(panel):
    (said,) = turn(
        panel,
        "bar = ipywidgets.IntProgress(max=3); display(bar)\n"
        "for bar.value in range(4): pass\nbar.close()",
    )
    assert said.startswith("IntProgress")


def test_a_pager_is_told_and_does_not_open_in_the_next_cell(panel):
    (said,) = turn(panel, "len?")
    assert "Return the number of items" in said
    cell = panel.start("1")
    panel.finish(cell)
    assert panel.reply(cell)["content"]["payload"] == []
    (said,) = turn(panel, "get_ipython().set_next_input('x')")
    assert said == "(set_next_input is for cells: it has no effect on code of the chat panel)\n"


def test_children_that_were_forked_are_told(panel):
    code = (
        "import os, sys\n"
        "write = sys.stdout.write\n"  # print writes the end of a line by itself, and may be parted
        "child = os.fork()\n"
        "if not child:\n"
        "    write('of a child\\n'); os._exit(0)\n"
        "os.waitpid(child, 0); write('of the parent\\n');\n"
    )
    (said,) = turn(panel, code)
    lines = [line for line in said.splitlines() if line.startswith("of ")]  # Python may warn
    assert sorted(lines) == ["of a child", "of the parent"]


def test_active_lines(panel):
    code = (
        "while not seen(1): time.sleep(.01)\n"
        "def f():\n"
        "    while not seen(3): time.sleep(.01)\n"
        "f()\n"
    )
    (said,) = chunks(panel, code)
    lines = [c["content"] for c in said if c.get("format") == "active_line"]
    assert [line for line in lines if line in (1, 3)] == [1, 3]  # 2 and 4 are soon over


def test_the_active_line_is_that_of_the_code_as_it_was_written(panel):
    (said,) = chunks(
        panel, "\n  \n# a word\nwhile not seen(4): time.sleep(.01)\nwhile not seen(5): pass"
    )
    assert [c["content"] for c in said if c.get("format") == "active_line"] == [4, 5]


def test_an_error_is_told_and_fails_nothing(panel):
    mark = f"held {panel.turns}"
    cells = [panel.start(f"tell({mark!r}); release.wait()")]
    told(panel, mark)
    name = begin_waiting(panel, "def f(): return 1 / 0\nf()", "b = = 2")
    cells += [panel.start(f"ran = {i}") for i in range(3)]
    let_go(panel)
    first, second = end(panel, name)
    assert first.endswith("ZeroDivisionError: division by zero\n")
    assert second.endswith("SyntaxError: invalid syntax\n")
    for cell in cells:
        panel.finish(cell)
        assert panel.status == "ok"
    assert panel.value("ran") == 2


def test_a_cell_that_fails_does_not_take_the_block_with_it(panel):
    cell = panel.start(f"tell('failing {panel.turns}'); release.wait(); 1/0")
    told(panel, f"failing {panel.turns}")
    name = begin_waiting(panel, "print('ran all the same')")
    let_go(panel)
    panel.finish(cell)
    assert panel.status == "error"
    assert end(panel, name) == ["ran all the same\n"]


@pytest.mark.parametrize("word", ["exit()", "quit()", "import sys; sys.exit(3)"])
def test_exit_ends_the_block_and_not_the_kernel(panel, word):
    assert turn(panel, f"print(1)\n{word}\nprint(2)", "3") == [
        "1\nexit() ended this block only: the kernel goes on.\n",
        "3\n",
    ]


@pytest.mark.parametrize(
    "call", ["input('name? ')", "__import__('getpass').getpass(prompt='key? ')"]
)
def test_nobody_is_asked_on_the_keyboard(panel, call):
    (said,) = turn(panel, f"print('a')\n{call}")
    what = "input()" if call.startswith("input") else "getpass()"
    assert said.startswith("a\nTraceback (most recent call last):\n  line 2\n")
    assert said.endswith(
        f"StdinNotImplementedError: {what} cannot ask here: code of the chat panel has no "
        "keyboard. Write the value into the code, or run this code in a cell.\n"
    )
    assert "File" not in said
    cell = panel.start("name = input('name? ')")
    panel.client.get_stdin_msg(timeout=60)
    panel.client.input("Ada")
    panel.finish(cell)
    assert panel.value("name") == "Ada"


def test_top_level_await_runs_on_the_kernels_own_loop(panel):
    panel.run(
        "loop = asyncio.get_running_loop()\n"
        "future = loop.create_future()\n"
        "ticks = []\n"
        "async def tick():\n"
        "    while True:\n"
        "        ticks.append(1); print('tick'); await asyncio.sleep(0.01)\n"
        "ticking = loop.create_task(tick())\n"
        "loop.call_later(0.2, future.set_result, 'mine')\n"
    )
    said = turn(
        panel,
        "print(await future); ticks.clear()\nwhile len(ticks) < 3: await asyncio.sleep(0)\nTrue",
        "await asyncio.to_thread(print, 'elsewhere')\n"
        "await asyncio.gather(*(asyncio.sleep(0.01) for _ in range(3)))\nprint('here')",
        "await asyncio.sleep(0)\n1/0",
    )
    panel.run("ticking.cancel()")
    assert said[:2] == ["mine\nTrue\n", "elsewhere\nhere\n"]
    assert said[2].endswith("ZeroDivisionError: division by zero\n")


def test_a_block_may_itself_run_blocks(panel):
    code = "print([c.content for c in python.run('print(5)') if c.format == 'output'])"
    (said,) = turn(panel, code)
    assert "5" in said


def test_threads_of_a_cell_print_into_a_cell_and_are_not_told(panel):
    displays = panel.value("hasattr(kernel, '_shell_parent')")  # 6 knows the cell of text alone
    panel.run(
        "asked, count = queue.SimpleQueue(), 0\n"
        "def chatter():\n"
        "    global count\n"
        "    while asked.get():\n"
        "        print('mine')\n"
        f"        if {displays}: display('mine too')\n"
        "        count += 1\n"
        "noisy = threading.Thread(target=chatter); noisy.start()\n"
    )
    code = "for i in range(5):\n    print(i); asked.put(1)\n    while count == i: pass"
    since = len(panel.messages)
    assert turn(panel, code) == ["0\n1\n2\n3\n4\n"]
    panel.run("asked.put(0); noisy.join()")

    def shown():
        cells = [
            m["content"]
            for m in panel.messages[since:]
            if m["parent_header"].get("msg_type") == "execute_request"
        ]
        texts = "".join(c.get("text", "") for c in cells).count("mine")
        return texts, sum("'mine too'" in str(c) for c in cells)

    panel.until(lambda: shown() == (5, 5 if displays else 0), "what the thread has shown")


def test_a_flood_is_bounded_and_the_count_is_said(panel):
    name = begin(panel, "for i in range(3000): print('x' * 6000)\nprint('the end')")
    told(panel, f"{name} is over")
    length, tail = panel.value(f"[(len(t), t[-8:]) for t in turns[{name!r}].text()][0]")
    assert length < 1_100_000
    assert tail == "the end\n"
    assert (
        panel.value(f"'characters were shown and not saved' in turns[{name!r}].text()[0]") is True
    )
    panel.run(f"turns.pop({name!r})")


# Among the cells ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cell", ["order.append('cell')", "await asyncio.sleep(0); order.append('cell')"]
)
@pytest.mark.parametrize("pause", ["time.sleep(0.01)", "await asyncio.sleep(0.01)"])
def test_a_cell_that_is_sent_meanwhile_runs_after_the_block(panel, tmp_path, pause, cell):
    panel.run("from pathlib import Path; order = []")
    wait = f"while not Path({str(tmp_path / 'sent')!r}).exists(): {pause}"
    name = begin(
        panel, f"order.append('begin'); tell('began {panel.turns}')\n{wait}\norder.append('end')"
    )
    told(panel, f"began {panel.turns - 1}")
    sent = panel.start(cell)
    (tmp_path / "sent").touch()
    panel.finish(sent)
    assert end(panel, name) == [""]
    assert panel.value("order") == ["begin", "end", "cell"]


@pytest.mark.parametrize("pause", ["time.sleep(0.01)", "await asyncio.sleep(0.01)"])
def test_a_block_waits_for_the_cell_that_runs_and_says_so(panel, pause):
    panel.run("order = []")
    mark = f"busy {panel.turns}"
    cell = panel.start(f"tell({mark!r})\nwhile not release.is_set(): {pause}\norder.append('cell')")
    told(panel, mark)
    name = begin_waiting(panel, "order.append('block')")
    let_go(panel)
    panel.finish(cell)
    end(panel, name)
    assert panel.value("(order, waits)") == (["cell", "block"], [True, False])


def test_run_all_beside_turns_keeps_every_order(panel):
    panel.run("ran, blocks_ran, inside = [], [], []")
    names, cells = [], []
    for i in range(30):
        code = f"ran.append({i})" if i % 3 else f"await asyncio.sleep(0.01); ran.append({i})"
        cells.append(panel.start(code))
        if i % 5 == 0:
            wait = "await asyncio.sleep(0.005)" if i % 2 else "time.sleep(0.005)"
            body = f"n = len(ran)\n{wait}\ninside.append(len(ran) - n)\nblocks_ran.append({i})"
            names.append(begin(panel, body, body))
    for cell in cells:
        panel.finish(cell)
        assert panel.status == "ok"
    for name in names:
        assert end(panel, name) == ["", ""]
    assert panel.value("ran") == list(range(30))
    assert sorted(panel.value("blocks_ran")) == sorted([0, 5, 10, 15, 20, 25] * 2)
    assert set(panel.value("inside")) == {0}  # no cell has run within a block


def test_a_cell_of_ours_afterwards_is_as_ever(panel):
    assert turn(panel, "print('panel')") == ["panel\n"]
    cell = panel.start("said = text('print(\"cell\"); 5')")
    messages = panel.finish(cell)
    assert panel.text(cell) == "cell\n"
    assert [m["content"]["data"] for m in messages if m["msg_type"] == "execute_result"] == [
        {"text/plain": "5"}
    ]
    assert panel.value("(said, python.native)") == (["cell\n5\n"], True)


def test_a_turn_beside_a_cell_of_ours_waits_for_that_cell(panel):
    panel.run("order = []")
    mark = f"serving {panel.turns}"
    codes = f"tell({mark!r}); release.wait(); order.append(1)", "order.append(2)"
    cell = panel.start(f"text(*{codes!r})")
    told(panel, mark)
    name = begin_waiting(panel, "order.append('panel')")
    let_go(panel)
    panel.finish(cell)
    end(panel, name)
    assert panel.value("order") == [1, 2, "panel"]


# Stop ---------------------------------------------------------------------------------------------

CODES = {
    "busy loop": "tell({!r})\nwhile True: pass",
    "sleep": "tell({!r})\ntime.sleep(600)",
    "await": "tell({!r})\nawait asyncio.sleep(600)",
    "busy loop after await": "await asyncio.sleep(0)\ntell({!r})\nwhile True: pass",
    "subprocess": "import subprocess\ntell({!r})\nsubprocess.run(['sleep', '600'])",
}


@pytest.mark.parametrize("press", ["stop", "interrupt"])
@pytest.mark.parametrize("code", CODES.values(), ids=CODES.keys())
def test_a_stop_and_the_kernels_button_end_the_block(panel, code, press):
    mark = f"runs {panel.turns}"
    name = begin(panel, code.format(mark), "print('never')")
    told(panel, mark)
    after = panel.start("after = 'ran'")
    if press == "stop":
        stop(panel)
    elif code == CODES["sleep"]:
        panel.interrupt_wait(lambda: f"{name} is over|" in panel.text("told"))
    else:
        panel.interrupt()
    first, second = end(panel, name)
    assert first.strip().endswith("KeyboardInterrupt")
    assert second == "KeyboardInterrupt"
    panel.finish(after)
    assert panel.status == "ok"
    assert turn(panel, "print('fine')") == ["fine\n"]


def test_a_stop_while_the_block_waits_ends_the_wait_and_leaves_the_cell_alone(panel):
    panel.run("ran = []")
    mark = f"long {panel.turns}"
    cell = panel.start(f"tell({mark!r})\nrelease.wait(); ran.append('cell')")
    told(panel, mark)
    name = begin_waiting(panel, "ran.append('block')")
    stop(panel)
    told(panel, f"{name} is over")  # while the cell still runs
    let_go(panel)
    panel.finish(cell)
    assert panel.status == "ok"
    assert panel.value(f"turns[{name!r}].text()") == ["", "KeyboardInterrupt"]
    assert turn(panel, "ran.append('next')") == [""]
    assert panel.value("ran") == ["cell", "next"]


def test_an_interrupt_ends_the_wait_for_a_block_of_another_thread(panel):
    mark = f"held {panel.turns}"
    # no turn: ipykernel 6 would show a value of it for the request that runs, which may be ours
    code = f"tell({mark!r}); released = release.wait()"
    panel.run(f"t = threading.Thread(target=lambda: list(python.run({code!r}))); t.start()")
    told(panel, mark)
    name = begin(panel, "print('never')")
    panel.interrupt_wait(lambda: f"{name} is over|" in panel.text("told"))
    let_go(panel)
    panel.run("t.join()")
    assert end(panel, name) == ["", "KeyboardInterrupt"]


def test_an_interrupt_before_the_first_line_of_our_handler_ends_the_block(panel):
    """The kernel drops the request then, and nothing of ours has run."""
    panel.run(
        "from lmc_jupyter.kernel import between_cells as module\n"
        "def interrupted(*_):\n"
        "    raise KeyboardInterrupt\n"
        "ours, module._on_run = module._on_run, interrupted"
    )
    try:
        assert turn(panel, "print('never')") == ["", "KeyboardInterrupt"]
    finally:
        panel.run("module._on_run = ours")
    assert turn(panel, "print('next')") == ["next\n"]


@pytest.mark.long
def test_many_stops_at_any_moment_leave_a_kernel_that_works(panel):
    panel.run(
        "import random\n"
        "def storm(n):\n"
        "    for i in range(n):\n"
        "        turn = Turn(f'storm {i}', ['for i in range(3000): pass', 'i'])\n"
        "        t = threading.Timer(random.random() * 0.03, python.stop)\n"
        "        turn.start(); t.start(); turn.join(); t.join()\n"
        "        results.add(turn.text()[-1])\n"
        "    tell('storm is over')\n"
        "results = set()\n"
        "threading.Thread(target=storm, args=(40,)).start()"
    )
    told(panel, "storm is over")
    assert panel.value("results") <= {"KeyboardInterrupt", "2999\n"}
    assert turn(panel, "print('fine')") == ["fine\n"]
    assert panel.told("print('cell')") == ["cell\n"]


# Clicks -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clicks(panel):
    panel.run(
        "mailbox = Mailbox.of(kernel)\n"
        "ours, other = (_comm.create_comm(target_name=n) for n in ('lmc.test', 'other.test'))\n"
        "clicks, others = [], []\n"
        "mailbox.open(ours.comm_id, lambda content: clicks.append(content['n']))\n"
        "ours.on_msg(lambda m: mailbox.deliver(ours.comm_id, m['content']['data']['content']))\n"
        "other.on_msg(lambda m: others.append(m['content']['data']['content']['n']))\n"
    )
    panel.ours, panel.other = panel.value("(ours.comm_id, other.comm_id)")
    yield panel
    panel.run("mailbox.close(ours.comm_id)")


def by_comm(panel, comm_id, content):
    data = {"method": "custom", "content": content}
    panel.send("comm_msg", {"comm_id": comm_id, "data": data})


def states(panel, since):
    return [
        (m["content"]["execution_state"], m["parent_header"])
        for m in panel.messages[since:]
        if m["msg_type"] == "status"
    ]


@pytest.mark.parametrize(
    "wait",
    ["while not clicks: pass", "while not clicks: time.sleep(0.01)",
     "while not clicks: await asyncio.sleep(0.01)"],
    ids=["busy loop", "sleep", "await"],
)  # fmt: skip
def test_clicks_arrive_while_a_block_runs_and_others_keep_their_order(clicks, wait):
    clicks.run("clicks.clear(); others.clear()")
    mark = f"waits for a click {clicks.turns}"
    name = begin(clicks, f"tell({mark!r})\n{wait}\nlen(others)")
    told(clicks, mark)
    for n in range(5):
        by_comm(clicks, clicks.other, {"n": n})
    cell = clicks.start("seen = list(others)")
    by_comm(clicks, clicks.other, {"n": 5})
    by_comm(clicks, clicks.ours, {"id": mark, "n": 1})
    end(clicks, name)
    clicks.finish(cell)
    assert clicks.value("(clicks, seen, others)") == ([1], [0, 1, 2, 3, 4], list(range(6)))


@pytest.mark.parametrize("way", ["comm", "control"])
def test_after_a_click_the_block_is_still_busy_and_idle_comes_at_its_end(clicks, way):
    clicks.run("clicks.clear()")
    mark = f"busy {clicks.turns}"
    name = begin(clicks, f"tell({mark!r})\nwhile len(clicks) < 2: time.sleep(0.01)")
    told(clicks, mark)
    since = len(clicks.messages)
    click = {"id": f"{mark} 1", "n": 1}
    if way == "comm":
        by_comm(clicks, clicks.ours, click)
    else:
        clicks.control("lmc_request", {"comm_id": clicks.ours, "content": click})

    def said_again():
        said = states(clicks, since)
        return (
            any(state == "idle" for state, _ in said)
            and said[-1][0] == "busy"
            and said[-1][1]["msg_type"] == "lmc_run"
        )

    clicks.until(said_again, "busy")
    by_comm(clicks, clicks.ours, {"id": f"{mark} 2", "n": 2})
    end(clicks, name)
    assert states(clicks, 0)[-1][0] == "idle"


@pytest.mark.parametrize("code", ["time.sleep(0.01)", "await asyncio.sleep(0.01)"])
def test_after_a_click_the_users_own_cell_is_still_busy(clicks, code):
    clicks.run("clicks.clear(); done = False")
    mark = f"own {clicks.turns} {code}"
    cell = clicks.start(f"tell({mark!r})\nwhile len(clicks) < 2: {code}")
    told(clicks, mark)
    since = len(clicks.messages)
    clicks.control("lmc_request", {"comm_id": clicks.ours, "content": {"id": f"{mark} 1", "n": 1}})

    def said_again():
        said = states(clicks, since)
        return (
            any(state == "idle" for state, _ in said)
            and said[-1][0] == "busy"
            and said[-1][1]["msg_id"] == cell
        )

    clicks.until(said_again, "busy")
    clicks.control("lmc_request", {"comm_id": clicks.ours, "content": {"id": f"{mark} 2", "n": 2}})
    clicks.finish(cell)
    clicks.run("time.sleep(0.1)")
    assert states(clicks, 0)[-1][0] == "idle"


# Without a kernel ---------------------------------------------------------------------------------


def test_a_kernel_without_a_queue_that_we_know_says_what_to_do():
    with pytest.raises(ComputerError, match=r"no queue that code of the panel could wait in: ask"):
        schedule(SimpleNamespace(), lambda: None, lambda: None)


def test_on_the_main_thread_and_outside_there_is_no_such_turn():
    seen = []

    def work():
        seen.append((is_between_cells(), LivePython().native))
        with between_cells():
            seen.append((is_between_cells(), LivePython().native))
        seen.append(is_between_cells())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, True), (True, False), False]
    with between_cells():
        assert not is_between_cells()  # the main thread would wait for itself
