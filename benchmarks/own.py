"""What our own code costs beside the model: the second table of docs/speed.md.

One rule: what is measured runs in a real kernel (`measure.py`), beside a neighbour that takes turns
with it: a bare `run_cell`, a bare process, `json.loads`, plain LiteLLM. Where there is none, the
neighbour is `import IPython` in the same run, so that the limit holds on any machine; only what a
person waits for has a limit in seconds.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil
from cost import import_ipython, median
from processes import HERE, Kernel, Missing, Peer, open_interpreter
from table import Row, Run, missing, row


def turns(run: Run) -> list[Row]:
    """A whole turn after a long conversation, through HTTP, with what is kept on disk."""
    sizes = [100, 1_000, 10_000] if not run.quick else [4]
    kinds = {"ours": (sys.executable, sizes), "litellm": (sys.executable, sizes)}
    why = ""
    try:  # after 10,000 messages a turn of it takes minutes
        kinds["open-interpreter"] = (
            open_interpreter(install=not run.quick),
            [n for n in sizes if n < 10_000],
        )
    except Missing as missed:
        why = str(missed)
    seconds: dict[str, dict[str, float]] = {}
    for kind, (python, counts) in kinds.items():
        base = f"{run.base}/two/v1"
        turn = [python, str(HERE / "turn.py"), kind, base, *map(str, counts)]
        done = subprocess.run(turn, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{kind}: {done.stderr[-2000:]}")
        seconds[kind] = json.loads(done.stdout.splitlines()[-1])
    rows = []
    for size in map(str, sizes):
        what = f"CPU of a turn after {int(size):,} messages"
        mine, plain = seconds["ours"][size], seconds["litellm"][size]
        more = {"times": True, "digits": 3}
        rows.append(row(f"{what}, through HTTP, all processes", mine, plain, 1.5, "s", **more,
                        name="plain LiteLLM"))  # fmt: skip
        theirs = seconds.get("open-interpreter", {}).get(size)
        if why:
            rows.append(missing(f"… and {what}", f"Open Interpreter: {why}", "≤ 1x"))
        elif theirs is not None:
            rows.append(row(f"… and {what}", mine, theirs, 1, "s", **more,
                            name="Open Interpreter"))  # fmt: skip
    return rows


def one_plus_one(run: Run) -> list[Row]:
    with Kernel() as kernel:
        figures: dict[str, Any] = kernel.measure(f"one_plus_one({run.size(101)})")
    return [
        row(what, f["ours"], f["plain"], 1.2, "ms", digits=2, times=True, name="run_cell")
        for what, f in (
            ("a block of one line, 1+1, through the computer, CPU", figures["cpu"]),
            ("… on the wall", figures["wall"]),
        )
    ]


def python_block(run: Run) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure(f"run_cell_latency({run.size(51)})")
    what = "a block of python that computes a little, through the computer, CPU"
    return [row(what, f["ours"], f["plain"], 1.2, "ms", digits=2, times=True, name="run_cell")]


def effects(run: Run) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure(f"effects({run.size(101)})")
    what = "to say what a block of 100 lines will do, beside 1,000 names"
    return [row(what, f["ours"], f["plain"], 5, "ms", digits=2, name="`ast.parse` of it")]


def other_languages(run: Run) -> list[Row]:
    rows = []
    for what, language, engine, limit in (
        ("a block of shell", "shell", "", 15),
        ("a block of javascript", "javascript", "", 15),
        ("a block of R by its own driver", "r", "driver", None),
        ("a block of R by IRkernel", "r", "kernel", None),
    ):
        with Kernel() as kernel:
            f = kernel.measure(f"latency({language!r}, {engine!r}, {run.size(51)})")
        over = (f["ours"] - f["bare"]) / f["plain"]
        bare = f"{f['bare']:.2f} ms a line to a bare process, {f['plain']:.2f} ms `run_cell('1+1')`"
        shown = "reported" if limit is None else f"≤ {limit:g} `run_cell` over it: {over:.1f}"
        ratio = f"{f['ours'] / f['bare']:.2f}x"
        within = limit is None or over <= limit
        rows.append(Row(what, f"{f['ours']:.2f} ms", bare, ratio, shown, within))
    return rows


def stop_languages(run: Run) -> list[Row]:
    with Kernel() as kernel:
        figures: dict[str, Any] = kernel.measure(f"stop_languages({run.size(5)}, {run.size(100)})")
    return [
        row(f"Stop while {name} computes, the longest", f["longest"], None, 1000, "ms")
        for name, f in figures.items()
    ]


AT_WORK = """
import os, threading
from languages import IRKERNEL, JAVASCRIPT, RUBY, SHELL
from lmc_jupyter.computer import default_computer
computer, begun = default_computer(), []
def work(language, code, event):
    for piece in computer.run(language, code):
        if "begun" in str(piece.content):
            event.set()
for row in (SHELL, JAVASCRIPT, IRKERNEL, RUBY):
    language = row.make().name
    begun.append(threading.Event())
    threading.Thread(target=work, args=(language, row.busy, begun[-1]), daemon=True).start()
_all = all(event.wait(60) for event in begun)
"""


def orphans(run: Run) -> list[Row]:
    took = []
    for _ in range(run.size(3)):
        with Kernel() as kernel:
            kernel.value(AT_WORK)
            pid, all_begun = kernel.value("", "[os.getpid(), _all]")
            assert all_begun, "not every language has begun"
            started = psutil.Process(pid).children(recursive=True)
            begun = time.perf_counter()
            kernel.manager.signal_kernel(signal.SIGKILL)
            assert started, "nothing was started"
            while left := [process for process in started if _works(process)]:
                assert time.perf_counter() < begun + 60, f"still there after a minute: {left}"
                time.sleep(0.01)
            took.append(time.perf_counter() - begun)
    what = "shell, node, R and ruby at work: all gone after kill -9, the longest"
    return [row(what, max(took), None, 2, "s", digits=2)]


def _works(process: psutil.Process) -> bool:
    """Whether it is there; one that has ended and waits for init to be noticed is not."""
    try:
        return process.is_running() and bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def hot_loop(run: Run) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure(
            f"code('for _step in range({run.size(10_000_000)}):\\n    pass', {run.size(5)})"
        )
    what = "hot loop of 10 M steps in a %%lmc cell"
    return [row(what, f["ours"], f["plain"], 1.05, "s", digits=3, times=True, name="run_cell")]


def watched(run: Run) -> list[Row]:
    """Code that is held to a promise, a block whose reads are noted, and a cell of the person's
    once there is a hook for both."""
    opens = f"for _step in range({run.size(10_000)}):\n    open({str(HERE / 'own.py')!r}).close()"
    loop = f"for _step in range({run.size(10_000_000)}):\n    pass"
    rows = []
    for what, source, limit in (("10 M steps", loop, 1.1), ("10,000 files read", opens, 1.3)):
        calls = {
            "bare": f"cell({source!r})",
            "idle": f"cell({source!r})",
            "noted": f"block({source!r})",
            "ours": f"block({source!r}, is_promised=True)",
        }
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        with Kernel() as plain, Kernel() as hooked:
            hooked.measure("block('1', is_promised=True)")  # its hook stays
            for _ in range(run.size(15)):
                for name, call in calls.items():
                    seconds[name].append((plain if name == "bare" else hooked).measure(call))
        least = {name: min(each) for name, each in seconds.items()}
        ways = (
            ("idle", 1.01, "a cell, the hook idle"),
            ("noted", limit, "a block"),
            ("ours", limit, "watched"),
        )
        for name, most, how in ways:
            rows.append(
                row(f"{what}, {how}", least[name], least["bare"], most, "s", digits=3, times=True,
                    name="a cell without the hook")
            )  # fmt: skip
    return rows


def prints(run: Run) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure(
            f"code('for _step in range({run.size(100_000)}):\\n    print(_step)', {run.size(5)})"
        )
    what = "100,000 prints in a %%lmc cell"
    return [row(what, f["ours"], f["plain"], 1.5, "s", digits=3, times=True, name="run_cell")]


def history(run: Run) -> list[Row]:
    """A turn must not grow with the conversation behind it."""
    sizes = [10, 1_000, 10_000] if not run.quick else [2, 4]
    with Kernel() as kernel:
        f = kernel.measure(f"history({sizes}, {run.base + '/two/v1'!r}, {run.size(201)})")
    rows = []
    for what, name, of, limit in (
        ("own CPU of a turn", "turn", "turn", 1.5),
        ("… the conversion of a turn for the provider", "conversion", "turn", 0.3),
        ("… a turn through HTTP that sends what fits 8,192 tokens", "sent", "sent", 1.5),
    ):
        beside = f"a turn after {sizes[0]}"
        more = {"times": True, "digits": 2, "name": beside}
        for size in sizes:
            ours, first = f[f"{name} {size}"], f[f"{of} {sizes[0]}"]
            rows.append(row(f"{what}, after {size:,} messages", ours, first, limit, "ms", **more))
    return rows


def kept(run: Run) -> list[Row]:
    """A conversation of 100,000 messages on the disk."""
    count = run.size(100_000, 200)
    with Kernel() as kernel:
        f = kernel.measure(f"kept({count}, {run.size(1000, 2)})")
    raw = {"times": True, "digits": 2, "name": "`json.loads` of it"}
    size = f"{count:,} messages ({f['bytes'] / 1e6:.0f} MB)"
    return [
        row(f"to open {size}, CPU", f["open"], f["raw"], 1.5, "s", **raw),
        row("… to search it, CPU", f["search"], f["raw"], 1, "s", **raw),
        row("… to add one to it, less the sync, the slowest of 20", f["append"], f["append 100"],
            5, "ms", times=True, name="to 100"),
        row("… own CPU of a turn in it", f["turn"], f["turn 100"], 2, "ms", times=True,
            name="after 100"),
        row("… the sync, median", f["sync"], f["bare sync"], 1.5, "ms", times=True, digits=2,
            name="of a bare file"),
        row("to list 1,000 conversations, CPU", f["list"], f["list first"], 0.5, "ms", times=True,
            name="the first time"),
    ]  # fmt: skip


def remembering(run: Run) -> list[Row]:
    """The person's own cells are recorded, for the questions that they go with."""
    with Kernel() as kernel:
        f = kernel.measure(f"remembered_cell({run.size(300, 2)}, {run.size(7)})")
    over = f["ours"] - f["plain"]
    shown = f"{f['ours']:.2f} ms", f"{f['plain']:.2f} ms without the extension"
    ratio = f"{f['ours'] / f['plain']:.2f}x"
    what = "a small cell of the person's, which is remembered, CPU"
    rows = [Row(what, *shown, ratio, f"≤ 0.2 ms over it: {over:.2f}", over <= 0.2)]
    count = run.size(500, 3)
    with Kernel() as kernel:
        ours = kernel.measure(f"remembered_memory({count})")
    with Kernel() as kernel:
        kernel.value("import measure")
        plain = kernel.value("", f"measure.remembered_memory({count})")
    what = f"memory of {count} remembered cells with 8 kB of code, 40 kB of output, a figure each"
    rows.append(row(what, (ours - plain) / 1e6, None, 16, "MB"))
    with Kernel() as kernel:
        f = kernel.measure(f"cells_context({count}, {run.size(21)})")
    what = f"to make what goes with a question, in a notebook of {count} cells"
    rows.append(row(f"{what}, the first time", f["first"], None, 20, "ms"))
    return [*rows, row("… later", f["later"], None, 20, "ms")]


def hostile_files(run: Run) -> list[Row]:
    """The file of each format that takes longest to refuse."""
    from hostile import slowest

    reference = import_ipython()
    more = {"times": True, "digits": 2, "name": "`import IPython`"}
    return [
        row(f"to refuse a hostile {name} file ({what}), CPU", seconds, reference, 10, "s", **more)
        for name, what, seconds in slowest(run.size(100))
    ]


def endless_formulas(run: Run) -> list[Row]:
    """Beginnings of formulas that nothing ends."""
    from hostile import MANY, slowest_formula

    opens, seconds = slowest_formula(run.size(100))
    what = f"to draw {MANY:,} formulas without an end ({opens.strip()}), CPU"
    more = {"times": True, "digits": 2, "name": "`import IPython`"}
    return [row(what, seconds, import_ipython(), 10, "s", **more)]


def stop_streaming(run: Run) -> list[Row]:
    with Kernel() as kernel:
        base = f"{run.base}/stalled/v1"
        f = kernel.measure(f"stop_while_streaming({base!r}, {run.size(7)})")
    rows = [row("Stop while a `%%lmc` cell streams", f["median"], None, 100, "ms")]
    return [*rows, row("… the longest", f["longest"], None, 100, "ms")]


def stop_code(run: Run) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure(f"stop_in_code({run.size(7)})")
    rows = [row("Stop while code runs", f["median"], None, 300, "ms")]
    return [*rows, row("… the longest", f["longest"], None, 300, "ms")]


def first_word(run: Run) -> list[Row]:
    """From the server's first word to the message that shows it, as the front end gets it."""
    base = f"{run.base}/stamp/v1"
    ours, client = [], []
    with Kernel() as kernel, Peer("openai", base) as bare:
        kernel.value(
            f"%load_ext lmc_jupyter\nimport measure_cost\nmeasure_cost.choose({base!r}, 10)"
        )

        def hear(message: dict[str, Any]) -> None:
            if found := re.search(r"\d+\.\d{6}\b", str(message["content"].get("data", ""))):
                at.setdefault(found[0], time.monotonic())

        for _ in range(run.size(15) + 1):
            at: dict[str, float] = {}
            kernel.value("measure_cost.cell()", hear=hear)
            # earlier ones are in the line on what was sent: cells that ran since, with their output
            stamp, shown = max(at.items(), key=lambda each: float(each[0]))
            ours.append(1000 * (shown - float(stamp)))
            asked = bare.ask(base=base, words=10)
            client.append(1000 * (asked["begun"] + asked["first"] - float(asked["text"])))
    del ours[0]  # the first one loads what a view needs
    what = "first word: from the server to the message that shows it"
    rows = [row(what, median(ours), median(client), 20, "ms", name="bare openai client")]
    return [*rows, row("… the longest", max(ours), max(client), 40, "ms")]


def requests(run: Run) -> list[Row]:
    """What of a talk with strict providers each request has of the one before: the least of all."""
    with Kernel() as kernel:
        wires = kernel.measure(f"wires({run.size(5)})", "measure_requests")
    least = {name: min(each[name] for each in wires.values()) for name in ("share", "saving")}
    plain, name = wires["DeepSeek"], "written anew"
    what = "ten questions to five strict providers: a request has of the one before it"
    share = row(
        what, 100 * least["share"], 100 * plain["share_anew"], 90, "%", least=True, name=name
    )
    price = row(
        "… price of the input, where what is cached costs a tenth",
        100 - 100 * least["saving"], 100 - 100 * plain["saving_anew"], 20, "%", name=name,
    )  # fmt: skip
    # more by the thoughts that go back, and by names that are said where they came
    characters = row(
        "… characters, with the thoughts",
        plain["characters"] / 1e3, plain["characters_anew"] / 1e3, 1.1, "k", times=True,
        name=f"{name}, without thoughts",
    )  # fmt: skip
    return [share, price, characters]


PARTS: list[Callable[[Run], list[Row]]] = [
    requests,
    first_word,
    one_plus_one,
    python_block,
    effects,
    other_languages,
    hot_loop,
    watched,
    prints,
    history,
    kept,
    remembering,
    turns,
    hostile_files,
    endless_formulas,
    stop_streaming,
    stop_code,
    stop_languages,
    orphans,
]
