"""What a model costs the kernel that asks it: the first table of docs/speed.md.

One rule: each row is measured from outside, by the public names in a real kernel and by the same
server that its neighbours ask, and the two take turns; so a row means the same whoever does the
work behind the public names.
"""

from __future__ import annotations

import compileall
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import psutil
from processes import ROOT, Kernel, Missing, Peer, open_interpreter
from table import Row, Run, missing, reported, row

CLIENT = "bare openai client"
MODULE = "measure_cost"
QUESTION = "What is 2380*3875?"
TALK = "Explain in detail how a list differs from a dict."

median = statistics.median


class Ours:
    """A kernel with the extension whose session asks the provider's model, and is warm."""

    def __init__(self, kernel: Kernel, run: Run, way: str, words: int, *, warm: bool = True):
        self.kernel, self.run = kernel, run
        self.base = f"{run.base}/{way}/v1"
        kernel.value(f"%load_ext lmc_jupyter\nimport {MODULE}")
        self.choose(words)
        if warm:
            self.value(f"choose({run.base + '/stamp/v1'!r}, 10)")
            self.value("answer()")
            self.choose(words)

    def choose(self, words: int) -> None:
        self.value(f"choose({self.base!r}, {words})")

    def value(self, call: str) -> Any:
        return self.kernel.value(f"_value = {MODULE}.{call}", "_value")


# Memory and loading ------------------------------------------------------------------------------


def memory(run: Run) -> list[Row]:
    """What 20 turns leave in a kernel, beside the same kernel with the extension alone."""
    grown, before, beside = [], [], []
    for _ in range(run.size(3)):
        with Kernel() as kernel:
            kernel.value(f"%load_ext lmc_jupyter\nimport {MODULE}")
            before.append(kernel.value("", f"{MODULE}.own_memory()") / 1e6)
            kernel.value(f"{MODULE}.choose({run.base + '/fast/v1'!r}, 50)")
            for _turn in range(run.size(20, 2)):
                kernel.value(f"{MODULE}.get_ipython().run_cell_magic('lmc', '', 'Go on.')")
            grown.append(kernel.value("", f"{MODULE}.own_memory()") / 1e6 - before[-1])
            children = psutil.Process(kernel.pid).children(recursive=True)
            beside.append(sum(each.memory_full_info().uss for each in children) / 1e6)
    what = "memory of a kernel that 20 turns add (USS)"
    return [
        row(what, median(grown), median(before), 10, "MB", name="the kernel before"),
        reported("… of the processes that it has started", f"{median(beside):.1f} MB"),
    ]


def loading(run: Run) -> list[Row]:
    """CPU of `%load_ext lmc_jupyter`, beside that of `import IPython` in a bare Python."""
    # as pip leaves a package that it installs, whatever PYTHONDONTWRITEBYTECODE says here
    compileall.compile_dir(ROOT / "lmc_jupyter", quiet=1)
    ours, bare = [], []
    for _ in range(run.size(5)):
        with Kernel() as kernel:
            ours.append(
                kernel.value(
                    "import sys, time\n_begun = time.process_time()\n"
                    "get_ipython().run_line_magic('load_ext', 'lmc_jupyter')\n"
                    "_took = time.process_time() - _begun",
                    "_took",
                )
            )
            names = ("litellm", "openai", "aiohttp", "tiktoken", "anywidget")
            loaded = kernel.value("", f"[m for m in {names} if m in sys.modules]")
            assert loaded == [], f"{loaded} are imported with the extension"
        bare.append(import_ipython())
    what, name = "`%load_ext lmc_jupyter`, CPU", "`import IPython`"
    return [row(what, median(ours), median(bare), 0.5, "s", times=True, digits=3, name=name)]


def import_ipython() -> float:
    """CPU seconds of `import IPython` in a bare Python."""
    source = "import time\nb = time.process_time()\nimport IPython\nprint(time.process_time() - b)"
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


# From the question to the request ----------------------------------------------------------------


def arrival(answered: dict[str, Any]) -> float:
    """Milliseconds from the question until the server had the request."""
    return 1000 * (float(answered["text"].split()[0]) - float(answered["begun"]))


def warm(run: Run) -> list[Row]:
    """From `ask` until the server has the request."""
    base = f"{run.base}/stamp/v1"
    ours: list[float] = []
    client: list[float] = []
    other: list[float] = []
    why = ""
    with ExitStack() as stack:
        kernel = Ours(stack.enter_context(Kernel()), run, "stamp", 10)
        bare = stack.enter_context(Peer("openai", base))
        interpreter = None
        try:
            python = open_interpreter(install=not run.quick)
            interpreter = stack.enter_context(Peer("open-interpreter", base, python))
        except Missing as missed:
            why = str(missed)
        for _ in range(run.size(21)):
            ours.append(arrival(kernel.value("answer()")))
            client.append(arrival(bare.ask(base=base, words=10)))
            if interpreter is not None:
                other.append(arrival(interpreter.ask(base=base, words=10)))
    what, limit = "from `ask` to the request at the server, warm", 2
    rows = [row(what, median(ours), median(client), limit, "ms", times=True, name=CLIENT)]
    what = "… beside Open Interpreter"
    if not other:
        return [*rows, missing(what, why, "≤ 1x")]
    return [*rows, row(what, median(ours), median(other), 1, "ms", times=True)]


def cold(run: Run) -> list[Row]:
    """The same for the first question of a kernel, 5 s after the extension was loaded: as
    long as a person takes to write it."""
    base = f"{run.base}/stamp/v1"
    ours, client = [], []
    env = {"LMC_MODEL": "openai/bench", "LMC_API_BASE": base, "LMC_API_KEY": "none"}
    with Peer("openai", base) as bare:
        for _ in range(run.size(3)):
            with Kernel(**env) as kernel:
                kernel.value(f"%load_ext lmc_jupyter\nimport {MODULE}")
                time.sleep(run.size(5, 0))
                asked = kernel.value(f"_value = {MODULE}.answer()", "_value")
                ours.append(arrival(asked))
            client.append(arrival(bare.ask(base=base, words=10)))
    what = "… the first question of a kernel, 5 s after `%load_ext`"
    return [row(what, median(ours), median(client), 2, "ms", times=True, name=CLIENT)]


# A reply as it streams ---------------------------------------------------------------------------


def panel_turn(ours: Ours) -> dict[str, Any]:
    """One answer in a panel, asked for by its front end: CPU seconds of the kernel."""
    kernel = ours.kernel
    kernel.value("_turns.begin()")
    begun = kernel.value("import time", "time.process_time()")
    kernel.tell(kernel.value("", "_turns.panel.model_id"), ask_message())
    return {
        "cpu": kernel.value("_turns.wait(_turns.over)", "time.process_time()") - begun,
        "text": kernel.value("", "_turns.session.messages[-1].content"),
    }


def cpu_of(processes: list[psutil.Process]) -> float:
    """CPU seconds that these have taken since they began."""
    times = [each.cpu_times() for each in processes]
    return float(sum(each.user + each.system for each in times))


def ask_message() -> dict[str, Any]:
    """A question as the panel's front end sends it."""
    return {"kind": "ask", "id": str(time.monotonic_ns()), "text": "Go on."}


def chunk_cpu(run: Run) -> list[Row]:
    """CPU of the kernel for each chunk of a reply at 600 chunks a second."""
    words = run.size(3_000, 60)
    base = f"{run.base}/paced/v1"
    took: dict[str, list[float]] = {}
    with Kernel() as kernel, Peer("openai", base) as bare:
        ours = Ours(kernel, run, "paced", words)
        started = psutil.Process(kernel.pid).children(recursive=True)
        begun = cpu_of(started)
        kernel.value(f"_turns = {MODULE}.PanelTurns()\n_turns.panel.close()")
        ways: dict[str, Callable[[], dict[str, Any]]] = {
            "without a view": lambda: ours.value("answer()"),
            "in a `%%lmc` cell": lambda: ours.value("cell()"),
            "in the panel": lambda: panel_turn(ours),
            "client": lambda: bare.ask(base=base, words=words),
        }
        for _ in range(run.size(3)):
            for way, act in ways.items():
                if way == "in the panel":
                    kernel.value(f"_turns = {MODULE}.PanelTurns()")
                answered = act()
                if way == "in the panel":
                    kernel.value("_turns.panel.close()")
                assert f"word{words - 1}" in answered["text"], f"{way}: not a whole reply"
                took.setdefault(way, []).append(1000 * answered["cpu"] / words)
        beside = cpu_of(started) - begun
    middle = {way: median(each) for way, each in took.items()}
    limits = {"without a view": 0.125, "in a `%%lmc` cell": 0.375, "in the panel": 0.25}
    rows = [
        row(f"CPU of the kernel a chunk, at 600/s, {way}", middle[way], middle["client"], limit,
            "ms", times=True, digits=4, name=CLIENT)
        for way, limit in limits.items()
    ]  # fmt: skip
    what = "… of the processes that it has started, for each of these"
    return [
        *rows,
        reported(what, f"{1000 * beside / words / (len(took) - 1) / run.size(3):.4f} ms"),
    ]


def busy_loop(run: Run) -> list[Row]:
    """How fast a loop of the person's runs while the panel's answer streams at 600 a second."""
    seconds = run.size(20, 2) / 20
    alone, streaming = [], []
    with Kernel() as kernel:
        ours = Ours(kernel, run, "paced", 600 * run.size(20, 5))
        kernel.value(f"_turns = {MODULE}.PanelTurns()")
        comm = kernel.value("", "_turns.panel.model_id")
        for _ in range(run.size(7)):
            alone.append(ours.value(f"busy({seconds})"))
            kernel.value("_turns.begin()")
            kernel.tell(comm, ask_message())
            kernel.value("_turns.wait(_turns.grown)")
            streaming.append(ours.value(f"busy({seconds})"))
            ended = kernel.value("", "_turns.over.is_set()")
            assert not ended, "the answer ended before the loop did"
            kernel.value("_turns.session.stop()\n_turns.wait(_turns.over)")
    what = "a busy loop of the person's while the panel streams at 600 chunks/s"
    pairs = [with_it / without for with_it, without in zip(streaming, alone, strict=True)]
    ratio = median(pairs)
    return [
        Row(
            what,
            f"{median(streaming):,.0f} steps/s",
            f"{median(alone):,.0f} steps/s alone",
            f"{ratio:.3f}x",
            "≥ 0.97x",
            ratio >= 0.97,
        )
    ]


def long_reply(run: Run) -> list[Row]:
    """A reply of 5,000 chunks that the server sends at once, on the wall."""
    words = run.size(5_000, 50)
    base = f"{run.base}/fast/v1"
    took: dict[str, list[float]] = {"ours": [], "openai": [], "litellm": []}
    with Kernel() as kernel, Peer("openai", base) as client, Peer("litellm", base) as litellm:
        ours = Ours(kernel, run, "fast", words)
        for _ in range(run.size(7)):
            for name, answered in (
                ("ours", ours.value("answer()")),
                ("openai", client.ask(base=base, words=words)),
                ("litellm", litellm.ask(base=base, words=words)),
            ):
                assert f"word{words - 1}" in answered["text"], f"{name}: not a whole reply"
                took[name].append(1000 * answered["wall"])
    middle = {name: median(each) for name, each in took.items()}
    what = "a reply of 5,000 chunks sent at once, on the wall"
    return [
        row(what, middle["ours"], middle["openai"], 1.3, "ms", times=True, name=CLIENT),
        row("… beside bare LiteLLM", middle["ours"], middle["litellm"], 0.3, "ms", times=True),
    ]


# A whole turn ------------------------------------------------------------------------------------


def whole_turn(run: Run) -> list[Row]:
    """The model writes 1+1, it runs, the model says ok; beside Open Interpreter."""
    what, limit = "a whole turn: writes 1+1, runs it, says ok", 0.03
    base = f"{run.base}/turn/v1"
    ours: list[float] = []
    theirs: list[float] = []
    why = ""
    with ExitStack() as stack:
        kernel = Ours(stack.enter_context(Kernel()), run, "turn", 1_000)
        kernel.value("cell('--auto-run')")
        interpreter = None
        try:
            python = open_interpreter(install=not run.quick)
            interpreter = stack.enter_context(Peer("open-interpreter", base, python))
        except Missing as missed:
            why = str(missed)
        for _ in range(run.size(7)):
            ours.append(whole(kernel.value("cell('--auto-run')")))
            if interpreter is not None:
                theirs.append(whole(interpreter.ask(base=base, words=1_000)))
    if not theirs:
        return [
            missing(what, f"Open Interpreter: {why}", f"≤ {limit:g}x", f"{median(ours):.1f} ms")
        ]
    name = "Open Interpreter 0.4.3"
    return [row(what, median(ours), median(theirs), limit, "ms", times=True, name=name)]


def whole(answered: dict[str, Any]) -> float:
    """Milliseconds of a turn that came to its end."""
    assert answered["text"].endswith("ok"), f"not a whole turn: {answered['text']!r}"
    return 1000 * float(answered["wall"])


# The embedded model ------------------------------------------------------------------------------


def seconds_of_server(endpoint: Any, body: str, code: str) -> float:
    """Seconds until the server's own reply to this body holds the code, or is over."""
    address = urlsplit(endpoint.base)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=120)
    headers = {"Authorization": f"Bearer {endpoint.key}", "Content-Type": "application/json"}
    begun, text = time.monotonic(), ""
    try:
        connection.request("POST", "/v1/chat/completions", body.encode(), headers)
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"the embedded model's server: {response.read(500)!r}")
        while line := response.readline():
            if line.startswith(b"data: {"):
                for choice in json.loads(line[6:]).get("choices") or ():
                    text += choice["delta"].get("content") or ""
                if code.strip() in text:
                    break
        return time.monotonic() - begun
    finally:
        connection.close()


def embedded(run: Run) -> list[Row]:
    """The embedded model: from a question to its first code, and beside a busy cell."""
    from lmc_jupyter.models import weights
    from lmc_jupyter.models.local.process import worker
    from lmc_jupyter.models.weights import DEFAULT

    first, again = "embedded model: question to first code, from nothing", "… once it is loaded"
    busy = "… its speed while a cell keeps one core busy"
    path = weights.locate(DEFAULT)
    if path is None or not weights.has_runtime():
        why = "its weights are not here (`make weights`)"
        limits = ((first, "≤ 1.5 s more"), (again, "≤ 0.1 s more"), (busy, "≥ 0.4x"))
        return [missing(what, why, limit) for what, limit in limits]
    nothing: list[float] = []
    loaded: list[float] = []
    bare: list[float] = []
    bare_loaded: list[float] = []
    alone: list[float] = []
    beside: list[float] = []
    server = worker(path, DEFAULT)
    try:
        endpoint = server.ready(lambda _: None)
        for _ in range(run.size(3)):
            with Kernel() as kernel:
                asked = kernel.measure(f"embedded({QUESTION!r})", MODULE)
                nothing.append(asked["seconds"])
                sent = endpoint, asked["body"], asked["code"]
                seconds_of_server(*sent)  # an idle one frees its weights, and is warm then
                bare.append(seconds_of_server(*sent))
                for _again in range(run.size(3)):
                    asked = kernel.measure(f"embedded({QUESTION!r})", MODULE)
                    loaded.append(asked["seconds"])
                    bare_loaded.append(seconds_of_server(*sent))
                for into, cell in ((alone, False), (beside, True)):
                    call = f"embedded_rate({TALK!r}, beside_a_cell={cell})"
                    into.append(kernel.measure(call, MODULE))
    finally:
        server.close()
    return [
        more(first, median(nothing), median(bare), 1.5),
        more(again, median(loaded), median(bare_loaded), 0.1),
        row(busy, median(beside), median(alone), 0.4, "tokens/s", times=True, least=True,
            name="alone"),
    ]  # fmt: skip


def more(what: str, ours: float, bare: float, limit: float) -> Row:
    """A row whose limit is how many seconds ours may take over the same request to its server."""
    return Row(
        what,
        f"{ours:.2f} s",
        f"{bare:.2f} s the same request to its server",
        f"{ours / bare:.2f}x",
        f"≤ {limit:g} s more: {ours - bare:.2f}",
        ours - bare <= limit,
    )


# Stop --------------------------------------------------------------------------------------------


def stop_answer(run: Run) -> list[Row]:
    """From Stop to the end of the panel's answer: while it streams, and when what reads the
    network for the kernel hangs."""
    streaming: list[float] = []
    hanging: list[float] = []
    is_process = False
    with Kernel() as kernel:
        ours = Ours(kernel, run, "stalled", 10)
        kernel.value(f"_turns = {MODULE}.PanelTurns()")
        comm = kernel.value("", "_turns.panel.model_id")
        parent = psutil.Process(kernel.pid)
        for into, hangs in [(streaming, False), (hanging, True)] * run.size(5):
            ours.choose(10)
            kernel.value("_turns.begin()")
            kernel.tell(comm, ask_message())
            kernel.value("_turns.wait(_turns.grown)")
            children = parent.children() if hangs else []
            is_process = is_process or bool(children)
            try:
                for child in children:
                    child.suspend()
                took = kernel.value(
                    "import time\n_begun = time.perf_counter()\n_turns.session.stop()\n"
                    "_turns.wait(_turns.over)\n_took = time.perf_counter() - _begun",
                    "_took",
                )
                into.append(1000 * took)
            finally:
                for child in children:
                    with suppress(psutil.NoSuchProcess):  # what hangs may be ended
                        child.resume()
    rows = [row("Stop while a reply streams", median(streaming), None, 100, "ms"),
            row("… the longest", max(streaming), None, 100, "ms")]  # fmt: skip
    what = "Stop while the process that reads the reply hangs, the longest"
    if not is_process:
        why = "no process beside the kernel reads the reply here"
        return [*rows, missing(what, why, "≤ 2,000 ms")]
    return [*rows, row(what, max(hanging), None, 2000, "ms")]


PARTS: list[Callable[[Run], list[Row]]] = [
    memory,
    loading,
    warm,
    cold,
    chunk_cpu,
    busy_loop,
    long_reply,
    whole_turn,
    embedded,
    stop_answer,
]
