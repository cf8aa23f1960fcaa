"""The rows of the speed table that a person sees: the panel in a real JupyterLab in Chromium.

One rule: every time is taken in the page, by its own clock, between things that a person would
see; what it is compared with runs in the same page or the same kernel, taking turns with it.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from table import Row, row

ROOT = Path(__file__).parent.parent
STATIC = ROOT / "lmc_jupyter" / "static"
sys.path += [str(ROOT / "tests" / "browser"), str(ROOT / "tests")]

FRAME_MS = 33
LONGEST_MS = 100
SCROLL_MS = 50
WORK = "… longest piece of work in it, by its own CPU"
FETCHED = ("katex.js", "highlight.js")
MESSAGES = 2_000
RATE = 600

# What the page is asked ---------------------------------------------------------------------------

CLOCKS = """
const Native = window.WebSocket;
window.WebSocket = class extends Native {
  constructor(...given) {
    super(...given);
    this.addEventListener('message', ({ data }) => {
      const text = typeof data === 'string' ? data
        : data instanceof ArrayBuffer ? new TextDecoder('latin1').decode(data) : '';
      if (/"kind": ?"snapshot"/.test(text)) window.benchSnapshot ??= performance.now();
    });
  }
};
window.benchFrames = [];
window.benchRecord = on => {
  window.benchRecording = on;
  window.benchFrames = on ? [] : window.benchFrames;
  let last = 0;
  const frame = now => {
    if (!window.benchRecording) return;
    if (last) window.benchFrames.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  if (on) requestAnimationFrame(frame);
};
"""

# seconds from the command until the panel takes a question
OPEN = """() => new Promise((resolve, reject) => {
  const begun = performance.now();
  const look = () => {
    const panel = document.querySelector('#lmc-sidebar[data-state=ready] .lmc-panel[data-ready]');
    if (panel?.checkVisibility()) resolve((performance.now() - begun) / 1000);
    else requestAnimationFrame(look);
  };
  window.jupyterapp.commands.execute('lmc:toggle');
  look();
  setTimeout(() => reject(new Error('the panel did not open within a minute: '
    + document.querySelector('#lmc-sidebar')?.innerText)), 60_000);
})"""

# the same for a long conversation, from the snapshot's arrival to its last message in sight
OPEN_LONG = """last => new Promise((resolve, reject) => {
  const begun = performance.now();
  window.benchRecord(true);
  const look = () => {
    const log = document.querySelector('#lmc-sidebar .lmc-panel[data-ready] [role=log]');
    const end = [...log?.querySelectorAll('article') ?? []].pop();
    if (end?.innerText.includes(last)) {
      const [inner, outer] = [end.getBoundingClientRect(), log.getBoundingClientRect()];
      if (inner.height > 0 && inner.bottom <= outer.bottom + 1 && inner.top < outer.bottom) {
        const at = performance.now();
        window.benchRecord(false);
        const [snapshot, command] = [at - window.benchSnapshot, at - begun];
        return resolve({ snapshot: snapshot / 1000, command: command / 1000 });
      }
    }
    requestAnimationFrame(look);
  };
  window.jupyterapp.commands.execute('lmc:toggle');
  look();
  setTimeout(() => reject(new Error('the panel did not open within a minute: '
    + document.querySelector('#lmc-sidebar')?.innerText)), 60_000);
})"""

STOPS = """() => {
  const panel = document.querySelector('#lmc-sidebar .lmc-panel');
  window.benchStops = [];
  let pressed = 0;
  panel.addEventListener('click', event => {
    if (event.target.closest('.lmc-stop')) pressed = performance.now();
  }, true);
  new MutationObserver(() => {
    if (panel.dataset.state !== 'stopped' || !pressed) return;
    window.benchStops.push(performance.now() - pressed);
    pressed = 0;
  }).observe(panel, { attributes: true, attributeFilter: ['data-state'] });
}"""

# What the kernel is given -------------------------------------------------------------------------

LONG = """
from lmc_jupyter import current_session
%load_ext lmc_jupyter
def message(role, type, content, format=None):
    more = {"format": format} if format else {}
    return {"role": role, "type": type, "content": content, **more}
CODE = '''kept = frame[frame['c%d'] > 0.5]
for name in kept.columns:
    print(name, kept[name].mean())
len(kept)'''
TEXT = '''Column **c%d** has `%d` rows that are kept:

- nothing in it is *missing*
- the mean is %d

| column | mean |
|:--|--:|
| c%d | %d.5 |

So the answer to question %d is 42.'''
said = []
for n in range(MESSAGES // 4):
    lines = "".join(f"c{k}  {k * n / 7:.3f}\\n" for k in range(8))
    said += [message("user", "message", f"Question {n}: what is in column {n}?"),
             message("assistant", "code", CODE % n, "python"),
             message("computer", "console", lines, "output"),
             message("assistant", "message", TEXT % (n, 3 * n, n, n, n, n))]
current_session().messages = said
"""

TALKS = f"""
import time
from scripted import ScriptedModel, code, said
from lmc_jupyter import current_session
%load_ext lmc_jupyter
class Talks:
    label = "a script"
    def respond(self, messages):
        begun, word = time.perf_counter(), 0
        while True:
            word += 1
            time.sleep(max(0.0, begun + word / {RATE} - time.perf_counter()))
            yield said(f"word{{word}} ")
"""


class World:
    """One JupyterLab, one Chromium."""

    def __init__(self, lab: Any, chromium: Any) -> None:
        self.lab, self.chromium = lab, chromium

    @contextmanager
    def page(self) -> Iterator[Any]:
        """A page with our clocks in it; the kernels that were begun in it end with it."""
        context = self.chromium.new_context(viewport={"width": 1400, "height": 1000})
        context.add_init_script(CLOCKS)
        page = context.new_page()
        page.set_default_timeout(120_000)
        try:
            yield page
        finally:
            context.close()
            for session in self.lab.api("GET", "sessions"):
                self.lab.api("DELETE", f"sessions/{session['id']}")

    def visit(self, page: Any, name: str) -> Any:
        """Load JupyterLab with a notebook, and wait for its kernel and for our command."""
        from conftest import visit

        page.goto("about:blank")  # a page that shows JupyterLab would only open another tab in it
        notebook = visit(page, self.lab, name)
        page.wait_for_function("() => window.jupyterapp.commands.hasCommand('lmc:toggle')")
        return notebook


@contextmanager
def world() -> Iterator[World]:
    """A JupyterLab with this tree's package, and the Chromium of this machine."""
    from conftest import jupyter, launch  # tests/browser
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory(prefix="lmc-") as folder,
        jupyter(Path(folder), "jupyterlab", "LabApp") as lab,
        sync_playwright() as playwright,
    ):
        chromium = launch(playwright)
        try:
            yield World(lab, chromium)
        finally:
            chromium.close()


# The rows -----------------------------------------------------------------------------------------


def bundle(_: World) -> list[Row]:
    """What the widget ships, beside what it fetches only where there is math, or code."""
    fetched = sum(_kilobytes(name) for name in FETCHED)
    what, name = "bundle of the widget, minified", "KaTeX and highlight.js, fetched at need"
    return [row(what, _kilobytes("widget.js"), fetched, 200, "kB", name=name)]


def _kilobytes(name: str) -> float:
    return (STATIC / name).stat().st_size / 1000


def sidebar(world: World, count: int = 5) -> list[Row]:
    """From the command to a composer that takes a question: in a kernel that is alive but has
    not seen the package, and in one that has the panel already."""
    fresh: list[float] = []
    again: list[float] = []
    for number in range(count):
        name = world.lab.write(f"open{number}.ipynb", "1 + 1")
        with world.page() as page:
            for times in (fresh, again):
                world.visit(page, name)
                times.append(page.evaluate(OPEN))
    what, other = "sidebar opens, a kernel without the package loaded", {"name": "with it loaded"}
    middle = statistics.median
    return [
        row(what, middle(fresh), middle(again), 0.5, "s", digits=2, **other),
        row("… the longest", max(fresh), max(again), 0.5, "s", digits=2, **other),
    ]


def markdown(world: World, count: int = 3) -> list[Row]:
    """A reply of 20 kB at 600 chunks a second, beside drawing all of it again."""
    context = world.chromium.new_context(viewport={"width": 420, "height": 900})
    page = context.new_page()
    page.set_default_timeout(300_000)
    try:
        script = built("stream.ts")
        style = ".bench-log { height: 860px; overflow-y: auto }"
        html = f"<!doctype html><meta charset=utf-8><style>{style}</style>"
        page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))
        for name in FETCHED:
            file = {"path": STATIC / name, "content_type": "text/javascript"}
            page.route(f"**/{name}", partial(_fulfill, file=file))
        page.goto("http://127.0.0.1:9/")
        page.add_style_tag(content=(STATIC / "widget.css").read_text("utf-8"))
        page.add_script_tag(content=script)
        size = page.evaluate("() => [bench.characters, bench.chunks]")

        def each(way: str) -> list[float]:
            return list(page.evaluate("way => bench.each(way)", way))

        def paced(way: str) -> dict[str, Any]:
            with traced(world, page) as work:
                got = page.evaluate("([way, rate]) => bench.paced(way, rate)", [way, RATE])
            return {**got, "cpu": work.seconds, "work": work.longest_ms}

        each("ours")  # the browser compiles what it has seen often
        tenths = [each("ours") for _ in range(2 * count - 1)]
        whole_tenths = each("whole per chunk")
        ways = ("ours", "whole per frame")
        runs: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
        for _ in range(count):
            for way in ways:
                runs[way].append(paced(way))
        chunkwise = paced("whole per chunk")
    finally:
        context.close()
    first, last = (statistics.median(run[at] for run in tenths) for at in (0, -1))
    of = {way: merged(each) for way, each in runs.items()}
    ours, whole = of["ours"], of["whole per frame"]
    what = f"markdown, {size[0] / 1000:.0f} kB in {size[1]:,} chunks: "
    beside_cpu = (
        f"{whole['cpu']:.2f} s all per frame; {chunkwise['cpu']:.2f} s all per chunk"
        f" ({chunkwise['behind']:.1f} s behind)"
    )
    grown = whole_tenths[-1] / whole_tenths[0]
    return [
        Row(
            f"{what}cost of a chunk, last tenth beside first",
            f"{last:.0f} µs",
            f"{first:.0f} µs; all of it again: {whole_tenths[-1]:.0f} beside {whole_tenths[0]:.0f}"
            f" ({grown:.1f}x)",
            f"{last / first:.2f}x",
            "≤ 1.5x",
            last / first <= 1.5,
        ),
        Row(
            f"… CPU of the page for {ours['seconds']:.1f} s at {RATE} chunks/s",
            f"{ours['cpu']:.2f} s",
            beside_cpu,
            f"{ours['cpu'] / whole['cpu']:.2f}x, {ours['cpu'] / chunkwise['cpu']:.2f}x",
            "-",
            True,
        ),
        frames("… 99 of 100 frames within", ours["p99"], whole["p99"], FRAME_MS, "all per frame"),
        frames("… longest frame", ours["longest"], whole["longest"], LONGEST_MS, "all per frame"),
        frames(WORK, ours["work"], whole["work"], LONGEST_MS, "all per frame"),
    ]


def long_conversation(world: World, count: int = 3) -> list[Row]:
    """2,000 messages: the panel opens on them, and is scrolled through by a wheel."""
    opened, commanded = [], []
    runs: dict[str, list[dict[str, Any]]] = {"moved": [], "still": []}

    def recorded(which: str, act: Callable[[Any], object], page: Any) -> None:
        with traced(world, page) as work:
            page.evaluate("() => window.benchRecord(true)")
            act(page)
            page.evaluate("() => window.benchRecord(false)")
        seen = page.evaluate("() => window.benchFrames")
        runs[which].append({"frames": seen, "work": work.longest_ms})

    name = world.lab.write("long.ipynb", "1 + 1")
    with world.page() as page:
        last = f"question {MESSAGES // 4 - 1} is"
        for number in range(count):
            world.visit(page, name)
            if number == 0:
                do(page, f"MESSAGES = {MESSAGES}\n{LONG}")
            took = page.evaluate(OPEN_LONG, last)
            opened.append(took["snapshot"])
            commanded.append(took["command"])
            for way in (-1, 1):
                recorded("moved", partial(scroll, way=way), page)
            recorded("still", partial(rest, seconds=3), page)
        drawn = page.locator("#lmc-sidebar article").count()
        assert drawn == MESSAGES, f"{drawn} messages are in the list"
    what = f"{MESSAGES:,} messages: from the snapshot to the last one in sight"
    moved, still = merged(runs["moved"]), merged(runs["still"])
    wheel, beside = "… scrolled through by wheel, 99 of 100 frames within", "the page at rest"
    middle, since = statistics.median, {"digits": 2, "name": "from the command"}
    return [
        row(what, middle(opened), middle(commanded), 1, "s", **since),
        row("… the longest", max(opened), max(commanded), 1, "s", **since),
        frames(wheel, moved["p99"], still["p99"], SCROLL_MS, beside),
        frames("… longest frame", moved["longest"], still["longest"], SCROLL_MS, beside),
        frames(WORK, moved["work"], still["work"], SCROLL_MS, beside),
    ]


def stop_in_panel(world: World, count: int = 7) -> list[Row]:
    """From the click on Stop until the panel says that it is stopped."""
    from panel_page import Panel

    with world.page() as page:
        notebook = world.visit(page, world.lab.write("stop.ipynb", "1 + 1"))
        page.evaluate(OPEN)
        chat = Panel(page, notebook)
        chat.do(TALKS)
        page.evaluate(STOPS)
        for _ in range(count):
            chat.do("current_session().reset(); current_session().choose_model(Talks())")
            chat.ask()
            chat.state("writing")
            chat.button("Stop").click()
            chat.state("stopped")
        text = page.evaluate("() => window.benchStops.splice(0)")
        loop = "begun = True\\nwhile True:\\n    pass"
        for _ in range(count):
            chat.do(
                "current_session().reset()\n"
                f"current_session().choose_model(ScriptedModel([code('{loop}', end=True)]))"
            )
            chat.ask()
            chat.press("Run")
            chat.state("running")
            chat.button("Stop").click()
            chat.state("stopped")
        code = page.evaluate("() => window.benchStops.splice(0)")
    assert len(text) == len(code) == count
    rows = []
    for what, times in (("while text streams", text), ("in a busy loop", code)):
        rows.append(row(f"Stop in the panel {what}", statistics.median(times), None, 300, "ms"))
        rows.append(row("… the longest", max(times), None, 300, "ms"))
    return rows


PARTS: list[Callable[[World], list[Row]]] = [
    bundle,
    sidebar,
    markdown,
    long_conversation,
    stop_in_panel,
]


# What they share ----------------------------------------------------------------------------------


def built(name: str) -> str:
    """A script of benchmarks/page, bundled by the esbuild that builds the widget."""
    modules = ROOT / "js" / "node_modules"
    esbuild = modules / ".bin" / ("esbuild.cmd" if os.name == "nt" else "esbuild")
    if not esbuild.exists():
        raise RuntimeError(
            f"{esbuild} is not there: the front end was not built on this machine. "
            "Give `make js`, then `make bench` again."
        )
    node = shutil.which("node")
    folder = f"{Path(node).parent}{os.pathsep}" if node else ""
    done = subprocess.run(
        [esbuild, ROOT / "benchmarks" / "page" / name, "--bundle", "--minify", "--format=iife",
         "--target=es2022"],
        env={**os.environ, "NODE_PATH": str(modules), "PATH": f"{folder}{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{name} could not be bundled:\n{done.stderr}")
    return done.stdout


def _fulfill(route: Any, file: dict[str, Any]) -> None:
    route.fulfill(**file)


def do(page: Any, code: str) -> None:
    """Run this in the notebook's kernel, without a cell."""
    page.evaluate(
        """async code => {
          const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
          const { content } = await kernel.requestExecute({ code, store_history: false }).done;
          if (content.status !== 'ok') throw new Error(content.traceback.join('\\n'));
        }""",
        code,
    )


def scroll(page: Any, way: int) -> None:
    """Turn the wheel over the list until it is at its other end."""
    # found once: to look it up again takes 20 ms of the page each time
    log = page.locator("#lmc-sidebar [role=log]:visible").element_handle()
    box = log.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    below = "log => log.scrollHeight - log.clientHeight - log.scrollTop"
    left = "log => log.scrollTop" if way < 0 else below
    assert log.evaluate(left) > 10_000, "there is nothing to scroll through"
    for _ in range(2_000):
        for _turn in range(12):
            page.mouse.wheel(0, way * 700)
        if log.evaluate(left) < 2:
            return
    raise RuntimeError("the list has no end")


def rest(page: Any, seconds: float) -> None:
    """Let the page alone."""
    page.evaluate("s => new Promise(resolve => setTimeout(resolve, 1000 * s))", seconds)


class Work:
    """What the page's main thread did, by its own CPU time: other work on the machine is not in
    it, as it is in the time between two frames."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.longest_ms = 0.0


@contextmanager
def traced(world: World, page: Any) -> Iterator[Work]:
    """Chromium's own record of its tasks, from here to the end."""
    work = Work()
    world.chromium.start_tracing(page=page, categories=["toplevel"])
    try:
        yield work
    finally:
        events = json.loads(world.chromium.stop_tracing())["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    task = "ThreadControllerImpl::RunTask"
    took: dict[tuple[int, int], list[int]] = {thread: [] for thread in main}
    for event in events:
        thread = (event["pid"], event["tid"])
        if event.get("ph") == "X" and event["name"] == task and thread in main:
            took[thread].append(event.get("tdur", 0))
    busiest = max(took.values(), key=sum)  # the page; others are Chromium's own
    work.seconds, work.longest_ms = sum(busiest) / 1e6, max(busiest) / 1e3


def merged(runs: list[dict[str, Any]]) -> dict[str, float]:
    """The frames of all runs together; of the rest the medians."""
    every = sorted(frame for run in runs for frame in run["frames"])
    found = {"p99": every[int(0.99 * (len(every) - 1))], "longest": every[-1]}
    found["work"] = max(run["work"] for run in runs)
    for name in ("cpu", "seconds", "behind"):
        if name in runs[0]:
            found[name] = statistics.median(run[name] for run in runs)
    return found


def frames(what: str, ours: float, beside: float, limit: float, name: str) -> Row:
    """In whole milliseconds: the screen has sixty frames a second, and two of them take 33.3."""
    return row(what, round(ours), round(beside), limit, "ms", digits=0, name=name)
