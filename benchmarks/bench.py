"""The speed table: ours beside plain LiteLLM and a plain kernel, in one run; `make bench`.

    python benchmarks/bench.py [--only WORD] [--json FILE] [--beside FOLDER]

With `--beside` each part is measured in another checkout too, by that one's own `bench.py`, right
after it is measured here: `git worktree add FOLDER COMMIT`, and `make js` in it for the rows of the
panel. Two more columns show what it took there, and ours over it.

Open Interpreter is measured beside it where LMC_BENCH_OPEN_INTERPRETER names a Python that has it
(`pip install "open-interpreter==0.4.3" "setuptools<81"` in an environment of its own, 740 MB); a
turn after 10,000 messages takes it a quarter of an hour.

One rule: everything is measured in a real kernel, against a real HTTP server on 127.0.0.1 that
speaks the OpenAI protocol (in a process of its own, so that its time is not counted), and what
a person sees in a real JupyterLab in Chromium (`browser.py`).
Limits are shown, not enforced: a busy machine is no failure of the code.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import browser
import psutil
from jupyter_client.manager import KernelManager
from table import Row, row

HERE = Path(__file__).parent
TOKENS = 5000
SERVER = """
import json, sys, threading
sys.path.insert(0, sys.argv[1])
from model_server import STALL, ModelServer, Turn, text
words = " ".join(f"word{n}" if n % 12 else f"word{n}.\\n\\n" for n in range(int(sys.argv[2])))
with ModelServer() as long, ModelServer() as stalled:
    long.turns = [Turn(text(words))]
    stalled.turns = [Turn(text("word0 word1 word2"), STALL)]
    print(json.dumps([long.base, stalled.base]), flush=True)
    sys.stdin.read()
"""


SHORT = """
import sys
sys.path.insert(0, sys.argv[1])
from model_server import ModelServer, Turn, text
with ModelServer() as short:
    short.turns = [Turn(text("I do."))]
    print(short.base, flush=True)
    sys.stdin.read()
"""
OPEN_INTERPRETER = "LMC_BENCH_OPEN_INTERPRETER"
"""The variable that holds the path of a Python with open-interpreter 0.4.3 in it."""


class Kernel:
    """A fresh kernel that gives back the value of an expression as JSON."""

    def __init__(self) -> None:
        self.manager = KernelManager(kernel_name="python3")
        self.folder = tempfile.TemporaryDirectory(prefix="lmc-")
        if os.name == "posix":  # sockets in a folder of our own instead of open ports
            self.manager.transport = "ipc"
            self.manager.ip = str(Path(self.folder.name, "kernel"))
        path = os.pathsep.join(map(str, (HERE.parent, HERE, HERE.parent / "tests")))
        env = {**os.environ, "PYTHONPATH": path}
        for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
            env[name] = str(Path(self.folder.name, "data"))  # and not the person's own
        self.manager.start_kernel(env=env)
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.folder.cleanup()

    def value(self, source: str, expression: str) -> Any:
        """Run the source; the expression's value afterwards."""
        reply = self.client.execute_interactive(
            source,
            allow_stdin=False,
            output_hook=lambda _: None,
            user_expressions={"value": f"__import__('json').dumps({expression})"},
            timeout=900,
        )["content"]
        if reply["status"] != "ok":
            raise RuntimeError("\n".join(reply["traceback"]))
        value = reply["user_expressions"]["value"]
        if value["status"] != "ok":
            raise RuntimeError("\n".join(value["traceback"]))
        # the text form of a str is its repr
        return json.loads(eval(value["data"]["text/plain"], {"__builtins__": {}}))

    def measure(self, call: str) -> dict[str, float]:
        self.value("%load_ext lmc_jupyter\nimport measure", "0")
        return dict(self.value(f"_figures = measure.{call}", "_figures"))


@contextmanager
def server() -> Iterator[tuple[str, str]]:
    """The model server: (a base that sends a long reply, a base that stalls in the middle)."""
    command = [sys.executable, "-c", SERVER, str(HERE.parent / "tests"), str(TOKENS)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        long, stalled = json.loads(process.stdout.readline())
        yield long, stalled
    finally:
        process.stdin.close()
        process.wait(30)


def turns(_: tuple[str, str]) -> list[Row]:
    """A whole turn after a long conversation, through HTTP, with what is kept on disk."""
    sizes = [100, 1_000, 10_000]
    theirs = os.environ.get(OPEN_INTERPRETER, "")
    pythons = {"ours": sys.executable, "litellm": sys.executable, "open-interpreter": theirs}
    command = [sys.executable, "-c", SHORT, str(HERE.parent / "tests")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    seconds: dict[str, dict[str, float]] = {}
    try:
        base = process.stdout.readline().strip()
        for kind, python in pythons.items():
            if python:
                turn = [python, str(HERE / "turn.py"), kind, base, *map(str, sizes)]
                done = subprocess.run(turn, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise RuntimeError(f"{kind}: {done.stderr[-2000:]}")
                seconds[kind] = json.loads(done.stdout.splitlines()[-1])
    finally:
        process.stdin.close()
        process.wait(30)
    rows = []
    for size in map(str, sizes):
        what = f"CPU of a turn after {int(size):,} messages"
        mine, plain = seconds["ours"][size], seconds["litellm"][size]
        more = {"times": True, "digits": 3, "name": "plain LiteLLM"}
        rows.append(row(f"{what}, through HTTP", mine, plain, 1.5, "s", **more))
        if theirs:
            named = {"times": True, "digits": 3, "name": "Open Interpreter"}
            other = seconds["open-interpreter"][size]
            rows.append(row(f"… and {what}", mine, other, 1.5, "s", **named))
        else:
            beside = f"set {OPEN_INTERPRETER}=PYTHON"
            rows.append(Row(f"… and {what}", f"{mine:.3f} s", beside, "-", "-", True))
    return rows


def loading(_: tuple[str, str]) -> list[Row]:
    # as pip leaves a package that it installs, whatever PYTHONDONTWRITEBYTECODE says here
    compileall.compile_dir(HERE.parent / "lmc_jupyter", quiet=1)
    ours, litellm = [], []
    for statement, into in (
        ("get_ipython().run_line_magic('load_ext', 'lmc_jupyter')", ours),
        ("import litellm", litellm),
    ):
        for _again in range(3):
            with Kernel() as kernel:
                source = (
                    "import sys, time\n_begun = time.process_time()\n"
                    f"{statement}\n_took = time.process_time() - _begun"
                )
                into.append(kernel.value(source, "_took"))
                if into is ours:
                    loaded = kernel.value(
                        "", "[m in sys.modules for m in ('litellm', 'anywidget')]"
                    )
                    assert loaded == [False, False], "litellm or anywidget was imported"
    return [
        row(
            "%load_ext lmc_jupyter, CPU",
            statistics.median(ours),
            statistics.median(litellm),
            0.10,
            "s",
            digits=3,
            name="import litellm",
        )
    ]


def first_token(bases: tuple[str, str]) -> list[Row]:
    with Kernel() as kernel:
        figures = kernel.measure(f"first_token({bases[0]!r})")
    rows = [row("first token shown after LiteLLM's hand-over", figures["median"], None, 20, "ms")]
    return [*rows, row("… the longest", figures["longest"], None, 20, "ms")]


def chunks(bases: tuple[str, str]) -> list[Row]:
    with Kernel() as kernel:
        figures = kernel.measure(f"chunks({bases[0]!r}, {TOKENS})")
    bare, read = figures["bare_async"], figures["read"]
    beside = f"{bare:.3f} ms bare LiteLLM, {figures['bare']:.3f} its sync form"
    return [
        Row(
            f"CPU per chunk in all, {what} ({TOKENS:,} tokens)",
            f"{figures[name]:.3f} ms",
            beside,
            f"{figures[name] / bare:.2f}x",
            f"{limit:g} ms over our reader of LiteLLM ({read:.3f}): {figures[name] - read:.3f}",
            figures[name] - read <= limit,
        )
        for what, name, limit in (("core", "core", 0.03), ("cell view", "cell", 0.15))
    ]


def one_plus_one(_: tuple[str, str]) -> list[Row]:
    with Kernel() as kernel:
        figures: dict[str, Any] = kernel.measure("one_plus_one()")
    return [
        row(what, f["ours"], f["plain"], 1.2, "ms", digits=2, times=True, name="run_cell")
        for what, f in (
            ("a block of one line, 1+1, through the computer, CPU", figures["cpu"]),
            ("… on the wall", figures["wall"]),
        )
    ]


def python_block(_: tuple[str, str]) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure("run_cell_latency()")
    what = "a block of python that computes a little, through the computer, CPU"
    return [row(what, f["ours"], f["plain"], 1.2, "ms", digits=2, times=True, name="run_cell")]


def other_languages(_: tuple[str, str]) -> list[Row]:
    rows = []
    for what, call, limit in (
        ("a block of shell", "latency('shell')", 10.0),
        ("a block of javascript", "latency('javascript')", 10.0),
        ("a block of R by its own driver", "latency('r', 'driver')", None),
        ("a block of R by IRkernel", "latency('r', 'kernel')", None),
    ):
        with Kernel() as kernel:
            f = kernel.measure(call)
        over = f["ours"] - f["bare"]
        shown = "reported" if limit is None else f"≤ {limit:g} ms over it: {over:.2f}"
        rows.append(
            Row(
                what,
                f"{f['ours']:.2f} ms",
                f"{f['bare']:.2f} ms a line to a bare process",
                f"{f['ours'] / f['bare']:.2f}x",
                shown,
                limit is None or over <= limit,
            )
        )
    return rows


def stop_languages(_: tuple[str, str]) -> list[Row]:
    with Kernel() as kernel:
        figures: dict[str, Any] = kernel.measure("stop_languages()")
    return [
        row(f"Stop while {name} computes, the longest of 5", f["longest"], None, 1000, "ms")
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


def orphans(_: tuple[str, str]) -> list[Row]:
    took = []
    for _again in range(3):
        with Kernel() as kernel:
            kernel.value(AT_WORK, "0")
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
    what = "shell, node, R and ruby at work: all gone after kill -9, the longest of 3"
    return [row(what, max(took), None, 2, "s", digits=2)]


def _works(process: psutil.Process) -> bool:
    """Whether it is there; one that has ended and waits for init to be noticed is not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def hot_loop(_: tuple[str, str]) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure("code('for _step in range(10_000_000):\\n    pass', 5)")
    what = "hot loop of 10 M steps in a %%lmc cell"
    return [row(what, f["ours"], f["plain"], 1.05, "s", digits=3, times=True, name="run_cell")]


def prints(_: tuple[str, str]) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure("code('for _step in range(100_000):\\n    print(_step)', 5)")
    what = "100,000 prints in a %%lmc cell"
    return [row(what, f["ours"], f["plain"], 1.5, "s", digits=3, times=True, name="run_cell")]


def history(_: tuple[str, str]) -> list[Row]:
    sizes = [10, 1_000, 10_000]
    with Kernel() as kernel:
        f = kernel.measure(f"history({sizes})")
    base = f["turn 10"]
    rows = [
        Row(
            f"own CPU of a turn after {size:,} messages",
            f"{f[f'turn {size}']:.2f} ms",
            f"{base:.2f} ms after 10",
            f"{f[f'turn {size}'] / base:.2f}x",
            "flat",
            f[f"turn {size}"] <= 1.5 * base,
        )
        for size in sizes
    ]
    for size in sizes:
        rows.append(
            Row(
                f"… and the conversion of a turn for the provider, {size:,}",
                f"{f[f'conversion {size}']:.2f} ms",
                f"{f[f'conversion {sizes[0]}']:.2f} ms after {sizes[0]}",
                f"{f[f'conversion {size}'] / f[f'conversion {sizes[0]}']:.2f}x",
                "≤ 0.3 ms more",
                f[f"conversion {size}"] - f[f"conversion {sizes[0]}"] <= 0.3,
            )
        )
    for size in sizes:
        rows.append(
            Row(
                f"… and what of it fits a window of 8,192 tokens, {size:,}",
                f"{f[f'sent {size}']:.2f} ms",
                f"{f[f'sent {sizes[0]}']:.2f} ms after {sizes[0]}",
                f"{f[f'sent {size}'] / f[f'sent {sizes[0]}']:.2f}x",
                "≤ 0.3 ms more",
                f[f"sent {size}"] - f[f"sent {sizes[0]}"] <= 0.3,
            )
        )
    return rows


def kept(_: tuple[str, str]) -> list[Row]:
    """A conversation of 100,000 messages on the disk."""
    with Kernel() as kernel:
        f = kernel.measure("kept(100_000)")
    size = f"100,000 messages ({f['bytes'] / 1e6:.0f} MB)"
    return [
        row(f"to open {size}, CPU", f["open"], f["raw"], 1.5, "s", digits=2, name="json.loads"),
        row("… to add one to it, less the sync, the slowest of 20", f["append"], None, 5, "ms"),
        row("… the sync, median", f["sync"], None, 50, "ms"),
        row("… own CPU of a turn in it", f["turn"], f["turn 100"], 5, "ms", name="after 100"),
        row("… to search it, CPU", f["search"], None, 1.5, "s", digits=2),
        row("to list 1,000 conversations, CPU", f["list"], f["list first"], 200, "ms",
            name="the first time"),
    ]  # fmt: skip


def hostile_files(_: tuple[str, str]) -> list[Row]:
    """The file of each format that takes longest to refuse."""
    from hostile import slowest

    return [
        row(f"to refuse a hostile {name} file ({what})", seconds, None, 1, "s", digits=2)
        for name, what, seconds in slowest()
    ]


def endless_formulas(_: tuple[str, str]) -> list[Row]:
    """Beginnings of formulas that nothing ends."""
    from hostile import MANY, slowest_formula

    opens, seconds = slowest_formula()
    what = f"to draw {MANY:,} formulas without an end ({opens.strip()})"
    return [row(what, seconds, None, 1, "s", digits=2)]


def stop_streaming(bases: tuple[str, str]) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure(f"stop_while_streaming({bases[1]!r})")
    rows = [row("Stop while it streams", f["median"], None, 300, "ms")]
    return [*rows, row("… the longest", f["longest"], None, 300, "ms")]


def stop_code(_: tuple[str, str]) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure("stop_in_code()")
    rows = [row("Stop while code runs", f["median"], None, 300, "ms")]
    return [*rows, row("… the longest", f["longest"], None, 300, "ms")]


def panel_in_the_kernel(_: tuple[str, str]) -> list[Row]:
    with Kernel() as kernel:
        f = kernel.measure(f"panel({TOKENS}, 600)")
    what = f"kernel CPU for the panel per chunk ({TOKENS:,} at 600/s), beside the turn itself"
    ours = row(what, f["panel"], f["turn"], 0.15, "ms", digits=4, name="without it")
    of_it = row(
        "… of it on the turn's own thread", f["watching"], f["thread"], 0.15, "ms", digits=4
    )
    return [ours, of_it]


PARTS: list[Callable[[tuple[str, str]], list[Row]]] = [
    loading,
    first_token,
    chunks,
    one_plus_one,
    python_block,
    other_languages,
    hot_loop,
    prints,
    history,
    kept,
    turns,
    hostile_files,
    endless_formulas,
    stop_streaming,
    stop_code,
    stop_languages,
    orphans,
    panel_in_the_kernel,
]


def load() -> str:
    """How busy the machine is, which all times hang on; ratios less."""
    if not hasattr(os, "getloadavg"):
        return "load unknown"
    now, cores = os.getloadavg()[0], os.cpu_count() or 1
    return f"load average {now:.1f}" + (" (a loaded machine)" if now > cores else "")


def elsewhere(tree: Path, part: str) -> dict[str, str]:
    """What the other checkout takes for the rows of this part, by what they measure."""
    with tempfile.TemporaryDirectory(prefix="lmc-") as folder:
        rows = Path(folder, "rows.json")
        command = [sys.executable, str(tree / "benchmarks" / "bench.py")]
        subprocess.run(
            [*command, "--only", part, "--json", str(rows)],
            env={**os.environ, "PYTHONPATH": str(tree)}, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        return {row["what"]: row["ours"] for row in json.loads(rows.read_text("utf-8"))}


def over(ours: str, theirs: str) -> str:
    """Ours in theirs, both as `12.3 ms`."""
    mine, other = (float(each.split()[0].replace(",", "")) for each in (ours, theirs))
    return f"{mine / other:.2f}x" if other else "-"


def main() -> int:
    """Print the table; 0 when everything could be measured."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="the parts whose name has this word")
    options.add_argument("--json", type=Path, help="write the rows to this file too")
    options.add_argument("--beside", type=Path, help="measure this other checkout too, in turns")
    chosen = options.parse_args()
    tree = chosen.beside and chosen.beside.resolve()
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
          f"{os.cpu_count()} cores, {load()}\n")  # fmt: skip
    heads = [
        "what",
        "ours",
        "beside it",
        "ratio",
        "limit",
        "",
        *(("there", "ours") if tree else ()),
    ]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    rows: list[Row] = []

    def measure(parts: list[Callable[..., list[Row]]], beside: Any) -> None:
        for part in parts:
            if chosen.only not in part.__name__:
                continue
            measured = part(beside)
            there = elsewhere(tree, part.__name__) if tree else {}
            for each in measured:
                rows.append(each)
                mark = "held" if each.held else "**over**"
                cells = [each.what, each.ours, each.beside, each.ratio, each.limit, mark]
                if tree:
                    theirs = there.get(each.what)
                    cells += [theirs, over(each.ours, theirs)] if theirs else ["-", "-"]
                print(f"| {' | '.join(cells)} |", flush=True)

    with server() as bases:
        measure(PARTS, bases)
    if any(chosen.only in part.__name__ for part in browser.PARTS):
        with browser.world() as world:
            measure(browser.PARTS, world)
    print(f"\nAt the end: {load()}")
    if chosen.json:
        chosen.json.write_text(json.dumps([vars(each) for each in rows], indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
