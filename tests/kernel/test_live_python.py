"""Code of a turn in a real kernel: seen by the notebook, shown natively, told in order."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]


def kinds(messages):
    """What the kernel itself showed, in order."""
    shown = []
    for message in messages:
        kind, content = message["msg_type"], message["content"]
        if kind == "stream" and shown and shown[-1][0] == content["name"]:
            shown[-1] = content["name"], shown[-1][1] + content["text"]  # sent in pieces
        elif kind == "stream":
            shown.append((content["name"], content["text"]))
        elif kind == "error":
            shown.append((kind, content["ename"]))
        elif kind in ("display_data", "execute_result"):
            shown.append((kind, content["data"].get("text/plain")))
    return shown


def formats(chunks):
    return [(c["type"], c.get("format"), c.get("recipient")) for c in chunks]


def test_the_code_sees_the_notebook_and_the_next_cell_sees_the_code(frontend):
    frontend.run("x = 20")
    assert frontend.told("y = x + 1", "y") == ["", "21\n"]
    assert frontend.value("y") == 21


def test_run_all_keeps_its_order(frontend, tmp_path):
    sent = tmp_path / "sent"
    frontend.run(f"import time; from pathlib import Path; order, sent = [], Path({str(sent)!r})")
    code = 'while not sent.exists(): time.sleep(0.01)\norder.append("code")'
    cells = [
        frontend.start("order.append('before')"),
        frontend.start(f"said = text({code!r})"),
        frontend.start("order.append('after')"),
    ]
    sent.touch()
    for cell in cells:
        frontend.finish(cell)
    assert frontend.value("order") == ["before", "code", "after"]


def test_everything_is_told_in_exact_order_and_shown_natively(frontend):
    code = (
        "import sys\n"
        "print('one')\n"
        "print('two', file=sys.stderr)\n"
        "display('three')\n"
        "print('four')\n"
        "get_ipython().system('echo five')\n"
        "'six'\n"
    )
    cell = frontend.start(f"told = text({code!r})")
    shown = kinds(frontend.finish(cell))
    assert shown[:3] == [("stdout", "one\n"), ("stderr", "two\n"), ("display_data", "'three'")]
    assert shown[-1] == ("execute_result", "'six'")
    assert frontend.value("told") == ["one\ntwo\n'three'\nfour\nfive\n'six'\n"]


COUNT_FLUSHES = """
import sys
kind, flushed = type(sys.stdout), []
flush = kind.flush
def counted(stream):
    flushed.append(stream.name)
    flush(stream)
kind.flush, kind.flush_interval = counted, 60  # seconds: on a slow machine it flushes by itself
"""


@pytest.mark.parametrize(
    ("code", "text", "streams"),
    [("6 * 7", [], []), ("print('so', end='')\n6 * 7", [("stdout", "so")], ["stdout"])],
)
def test_a_value_waits_for_the_text_before_it_and_for_nothing_else(frontend, code, text, streams):
    frontend.run(COUNT_FLUSHES)
    cell = frontend.start(f"flushed.clear(); told = text({code!r}); seen = list(flushed)")
    assert kinds(frontend.finish(cell)) == [*text, ("execute_result", "42")]
    assert frontend.value("seen") == streams
    assert frontend.value("told") == ["".join(f"{said}\n" for _, said in text) + "42\n"]
    frontend.run("kind.flush, kind.flush_interval = flush, 0.2")


# A stream says that it holds nothing from the moment at which its thread begins to send.
SEND_SLOWLY = """
import sys, threading
thread, block = sys.stdout.pub_thread, []
sending, went_on = threading.Event(), threading.Event()
schedule = thread.schedule
def scheduled(function):
    if sending.is_set() and threading.get_ident() in block:
        went_on.set()
    schedule(function)
class Echo:
    def write(self, text):
        pass
    def flush(self):
        if block and not sending.is_set():
            sending.set()
            went_on.wait(60)
thread.schedule, sys.stdout.echo = scheduled, Echo()
"""


def test_a_value_waits_for_the_text_that_is_being_sent(frontend):
    frontend.run(SEND_SLOWLY)
    code = "block.append(threading.get_ident())\nprint('so')\nsending.wait(60)"
    cell = frontend.start(f"told = text({code!r})")
    shown = kinds(frontend.finish(cell))
    frontend.run("sys.stdout.echo = None; del thread.schedule")
    assert shown == [("stdout", "so\n"), ("execute_result", "True")]


def test_an_error_is_short_for_the_model_and_whole_for_the_person(frontend):
    code = "def f(n):\n    return 1 / n\nprint('a')\nf(0)\nprint('b')"
    cell = frontend.start(f"told = text({code!r})")
    assert ("error", "ZeroDivisionError") in kinds(frontend.finish(cell))
    assert frontend.status == "ok"  # the cell goes on
    assert frontend.value("told") == [
        "a\nTraceback (most recent call last):\n  line 4\n    f(0)\n"
        "  line 2, in f\n    return 1 / n\nZeroDivisionError: division by zero\n"
    ]


def test_a_syntax_error_says_where(frontend):
    (told,) = frontend.told("a = 1\nb = = 2")
    assert told.startswith("  This code, line 2\n    b = = 2\n")
    assert told.endswith("SyntaxError: invalid syntax\n")


def test_a_figure_is_one_image_even_as_the_last_value(frontend):
    frontend.run("import matplotlib.pyplot as plt")
    said = frontend.blocks(
        "plt.plot([1, 2]); print(1)", "fig, ax = plt.subplots(); ax.plot([1, 2])\nfig"
    )
    for chunks in said:
        images = [c for c in chunks if c["type"] == "image"]
        assert [c["format"] for c in images] == ["base64.png"]
        assert images[0]["content"].startswith("iVBORw0KGgo")
        assert images[0]["end"] is True


def test_a_frame_is_html_for_the_person_and_text_for_the_model(frontend):
    frontend.run("import pandas as pd")
    (chunks,) = frontend.blocks("pd.DataFrame({'a': [1, 2]})")
    shown = [c for c in chunks if c.get("format") != "active_line"]
    assert formats(shown) == [("code", "html", "user"), ("console", "output", "assistant")]
    assert "<table" in shown[0]["content"]
    assert shown[1]["content"] == "   a\n0  1\n1  2\n"


def test_html_without_a_text_of_its_own_is_for_both(frontend):
    (chunks,) = frontend.blocks("from IPython.display import HTML\nHTML('<b>x</b>')")
    assert [(c.get("recipient"), c["content"]) for c in chunks if c["type"] == "code"] == [
        (None, "<b>x</b>")
    ]


def test_a_widget_is_its_text(frontend):
    (told,) = frontend.told("import ipywidgets; ipywidgets.IntSlider()")
    assert told == "IntSlider(value=0)\n"


def test_updates_are_told_and_a_clear_takes_nothing_back(frontend):
    frontend.run("cleared = []; python.on_clear = cleared.append")
    code = (
        "h = display('v1', display_id=True); h.update('v2')\n"
        "from IPython.display import clear_output\n"
        "clear_output(wait=True); print('end')"
    )
    assert frontend.told(code) == ["'v1'\n'v2'\nend\n"]
    assert frontend.value("cleared") == [True]
    frontend.run("python.on_clear = None")


def test_of_many_updates_the_last_one_is_told(frontend):
    code = "h = display(0, display_id=True)\nfor i in range(1, 500): h.update(i)\n"
    (told,) = frontend.told(code)
    lines = told.split()
    assert lines[0] == "0"
    assert lines[-1] == "499"
    assert len(lines) < 20


def test_top_level_await_runs_on_the_kernels_own_loop(frontend):
    frontend.run(
        "import asyncio\n"
        "future = asyncio.get_running_loop().create_future()\n"
        "asyncio.get_running_loop().call_later(0.1, future.set_result, 'mine')\n"
        "ticks = []\n"
        "async def tick():\n"
        "    while True:\n"
        "        ticks.append(1); await asyncio.sleep(0.01)\n"
        "ticking = asyncio.get_running_loop().create_task(tick())\n"
    )
    told = frontend.told(
        "ticks.clear(); print(await future)\nwhile len(ticks) < 3: await asyncio.sleep(0)\nTrue"
    )
    assert told == ["mine\nTrue\n"]
    frontend.run("ticking.cancel()")


def test_an_await_that_fails_shows_its_own_line(frontend):
    (told,) = frontend.told("await asyncio.sleep(0)\n1/0")
    assert "line 2" in told
    assert told.endswith("ZeroDivisionError: division by zero\n")


def test_magics_work(frontend):
    told = frontend.told("%time 1+1", "!echo hi", "%%capture c\nprint(5)", "c.stdout")
    assert told[0].startswith("CPU times")
    assert told[1:] == ["hi\n", "", "'5\\n'\n"]


def test_processes_that_write_by_themselves_are_told(frontend):
    assert frontend.told("import os\nos.system('echo low');") == ["low\n"]


def test_a_semicolon_hides_the_result_of_the_block_that_has_it(frontend):
    assert frontend.told("5;", "6") == ["", "6\n"]
    frontend.run("told = text('7');")
    assert frontend.value("told") == ["7\n"]


@pytest.mark.parametrize("word", ["exit()", "quit()", "exit", "import sys; sys.exit(3)"])
def test_exit_ends_the_block_and_not_the_kernel(frontend, word):
    told = frontend.told(f"print(1)\n{word}\nprint(2)", "3")
    if word == "exit":  # a word alone on its line is only a name
        assert told[-1] == "3\n"
    else:
        assert told == ["1\nexit() ended this block only: the kernel goes on.\n", "3\n"]
    assert frontend.value("1 + 1") == 2


def test_in_out_and_counts_stay_sane(frontend):
    frontend.run("before = get_ipython().execution_count, len(In)")
    frontend.told("7", "8")
    assert frontend.value(
        "(get_ipython().execution_count, len(In)) == tuple(n + 2 for n in before)"
    )
    assert frontend.value("[each for each in In if each in ('7', '8')]") == []


def test_a_result_of_the_cell_after_a_block_is_still_its_result(frontend):
    cell = frontend.start("text('1'); 'mine'")
    results = [m for m in frontend.finish(cell) if m["msg_type"] == "execute_result"]
    assert results[-1]["content"]["data"]["text/plain"] == "'mine'"


def test_a_result_that_cannot_be_shown_does_not_fail_the_cell(frontend):
    code = "class Bad:\n    def __repr__(self): raise ValueError('no repr')\nBad()"
    (told,) = frontend.told(code)
    assert told.endswith("ValueError: no repr\n")


def test_threads_of_the_user_may_print_meanwhile(frontend):
    frontend.run(
        "go = threading.Event()\n"
        "def chatter():\n"
        "    while not go.wait(0.01):\n"  # a reader must keep up with it
        "        print('.', end=''); display(0)\n"
        "noisy = threading.Thread(target=chatter); noisy.start()\n"
    )
    try:
        (told,) = frontend.told("for i in range(200): print('line', i)")
    finally:
        frontend.run("go.set(); noisy.join()")
    assert "line 199" in told
    assert frontend.told("1") == ["1\n"]


def test_threads_of_the_code_are_told(frontend):
    code = "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()"
    assert frontend.told(code) == ["thread\n"]


def test_what_the_reader_prints_is_not_the_codes(frontend):
    frontend.run(
        "def work():\n"
        "    for chunk in python.run('print(1)\\nprint(2)'):\n"
        "        print('reader'); got.append(chunk)\n"
        "got = []\n"
        "runner.run_blocking(work, stop=python.stop)\n"
    )
    assert frontend.value("text_of([c.to_dict() for c in got])") == "1\n2\n"


def test_a_flood_is_bounded_and_the_count_is_said(frontend):
    (told,) = frontend.value(
        "[(len(t), t[:10], t[-12:], t[1_000_000:1_000_060])"
        ' for t in text(\'print("x" * 2_000_000)\\nprint("the end")\')]'
    )
    length, head, tail, note = told
    assert length < 1_100_000
    assert head == "x" * 10
    assert tail.endswith("the end\n")
    assert "936,000 characters were shown and not saved" in note


def test_active_lines_come_as_the_code_moves_on(frontend):
    code = (
        "while 1 not in lines: time.sleep(.01)\n\n# first\n"
        "while 4 not in lines: time.sleep(.01)\n"
        "def f():\n"
        "    while 6 not in lines: time.sleep(.01)\n"
        "f()\n"
    )
    frontend.run(
        "import time\n"
        "lines = []\n"
        "def work():\n"
        f"    for chunk in python.run({code!r}):\n"
        "        if chunk.format == 'active_line': lines.append(chunk.content)\n"
        "runner.run_blocking(work, stop=python.stop)\n"
    )
    lines = frontend.value("lines")
    assert [line for line in lines if line in (1, 4, 6)] == [1, 4, 6]  # 5 and 7 are soon over


def test_input_asks_where_the_front_end_allows_it(frontend):
    cell = frontend.start("told = text('print(input(\"name? \"))')")
    request = frontend.client.get_stdin_msg(timeout=60)
    assert request["content"]["prompt"] == "name? "
    frontend.client.input("Ada")
    frontend.finish(cell)
    assert frontend.value("told") == ["Ada\n"]


def test_input_says_so_where_nobody_can_answer_and_errors_are_text_there(frontend):
    messages = frontend.run("told = text('input()')", allow_stdin=False)
    assert [m for m in messages if m["msg_type"] == "error"] == []
    assert "StdinNotImplementedError" in kinds(messages)[-1][1]
    assert "does not support input" in frontend.value("told")[0]


def test_a_cell_of_the_users_own_may_read_a_block(frontend):
    cell = frontend.start(
        "for chunk in python.run('print(1)\\nprint(2)\\n3'):\n"
        "    if chunk.format == 'output': print('<' + chunk.content.strip() + '>')\n"
    )
    assert frontend.finish(cell)
    lines = frontend.text(cell).split()
    assert [w for w in lines if w.startswith("<") and len(w) > 2] == ["<1>", "<2>", "<3>"]


def test_a_cell_that_goes_away_halts_the_code(frontend):
    frontend.run(
        "done = []\n"
        "g = python.run('for i in range(100): print(i); done.append(i)')\n"
        "for chunk in g:\n"
        "    if chunk.format == 'output' and chunk.content.startswith('5'): break\n"
        "g.close()\n"
    )
    assert frontend.value("len(done) <= 6") is True
    assert frontend.told("1") == ["1\n"]


def test_a_block_that_was_left_half_read_ends_when_the_next_begins(frontend):
    code = "try:\n    print(1)\n    print(2)\nfinally:\n    ends.append(1)"
    frontend.run(f"ends = []\ng = python.run({code!r})\nnext(g); next(g)")
    assert frontend.value("ends") == []
    assert frontend.told("ends") == ["[1]\n"]
    frontend.run("del g")


def test_await_in_a_block_read_by_a_cell_streams_between_its_steps(frontend):
    frontend.run(
        "import asyncio\nseen = []\n"
        "code = 'for i in range(3):\\n    print(i)\\n    await asyncio.sleep(.01)'\n"
        "for chunk in python.run(code):\n"
        "    if chunk.format == 'output': seen.append(chunk.content)\n"
    )
    assert frontend.value("''.join(seen)") == "0\n1\n2\n"
    assert frontend.value("len(seen) > 1") is True


def test_a_block_may_itself_run_blocks(frontend):
    code = "print([c.content for c in python.run('print(5)') if c.format == 'output'])"
    (told,) = frontend.told(code)
    assert "5" in told
    frontend.run("inner = []")
    frontend.told("%%time\ninner.append(text('6'))")
    assert frontend.value("inner") == [["6\n"]]


def test_a_worker_thread_without_a_serving_cell_runs_the_code_itself(frontend):
    frontend.run(
        "told = []\n"
        "def work():\n"
        "    chunks = python.run('print(threading.current_thread().name)')\n"
        "    told.extend(c.content for c in chunks if c.format == 'output')\n"
        "t = threading.Thread(target=work, name='elsewhere'); t.start(); t.join()\n"
    )
    assert frontend.value("''.join(told)") == "elsewhere\n"


def test_a_block_that_was_stopped_before_anybody_read_it_does_not_begin(frontend):
    frontend.run(
        "begun, ended = [], []\n"
        "for _ in range(2):\n"
        "    pieces = python.run('begun.append(1)')\n"
        "    python.stop()\n"
        "    try:\n"
        "        list(pieces)\n"
        "    except KeyboardInterrupt:\n"
        "        ended.append('stopped')\n"
        "del pieces\n"
        "python.run('begun.append(2)').close()"
    )
    assert frontend.value("(begun, ended, len(python._open))") == ([], ["stopped"] * 2, 0)
    assert frontend.told("print('the next')") == ["the next\n"]
