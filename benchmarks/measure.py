"""What `bench.py` measures, as it is run inside a real kernel: one function for each row.

One rule: ours and its neighbour take turns in the same process, and each figure is the median
of what was measured. Nothing of the package is replaced; two places are listened to (LiteLLM's
hand-over, the message that shows a token).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import json
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from IPython.core.getipython import get_ipython

from lmc_jupyter import ChatPanel, Chunk, Message, Session, current_session, get_model
from lmc_jupyter.computer import Computer, default_computer
from lmc_jupyter.computer.languages.r import R
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.kernel import display
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.litellm import load
from lmc_jupyter.models.litellm.stream import stream
from lmc_jupyter.models.litellm.window import ContextWindow
from lmc_jupyter.models.openai import Conversion

Figures = dict[str, float]


def median(times: list[float]) -> float:
    return statistics.median(times)


def timed(act: Callable[[], object], clock: Callable[[], float]) -> float:
    gc.collect()
    begun = clock()
    act()
    return clock() - begun


def by_turns(count: int, clock: Callable[[], float], **acts: Callable[[], object]) -> Figures:
    """Median seconds of each act; they take turns, so that what the machine does hits all."""
    times: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(count):
        for name, act in acts.items():
            times[name].append(timed(act, clock))
    return {name: median(each) for name, each in times.items()}


class Scripted:
    """A model that writes one prepared piece of code, or a text, and then ends."""

    label = "a script"

    def __init__(self, code: str = "", text: str = "Done.") -> None:
        self.code, self.text = code, text

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        if self.code and messages[-1].role == "user":
            yield Chunk("assistant", "code", "python", self.code, None, end=True)
        else:
            yield Chunk("assistant", "message", content=self.text)


def ask(model: Any, options: str = "") -> None:
    """One `%%lmc` cell, answered by this model, in a conversation of its own."""
    session = current_session()
    session.choose_model(model)
    get_ipython().run_cell_magic("lmc", f"--new {options}", "Go on.")


# The stream --------------------------------------------------------------------------------------


class Listener:
    """Knows when LiteLLM handed a reply's first token over, and when it was on its way out."""

    def __init__(self, token: str) -> None:
        import litellm

        self.token, self.handed, self.shown = token, 0.0, 0.0
        self.showing = threading.Event()
        stream, publish = litellm.CustomStreamWrapper, display.publish
        following = stream.__anext__

        async def listened(wrapper: Any) -> Any:
            part = await following(wrapper)
            if not self.handed and part.choices and part.choices[0].delta.content:
                self.handed = time.perf_counter()
            return part

        def publishing(kernel: Any, parent: Any, kind: str, content: dict[str, Any]) -> None:
            publish(kernel, parent, kind, content)
            if not self.showing.is_set() and self.token in str(content["data"]):
                self.shown = time.perf_counter()
                self.showing.set()

        stream.__anext__, display.publish = listened, publishing

    def begin(self) -> None:
        self.handed = self.shown = 0.0
        self.showing.clear()


def first_token(base: str, count: int = 15) -> Figures:
    """Milliseconds from LiteLLM's hand-over of the first token until it is sent to be shown."""
    model = get_model("openai/bench", api_base=base, api_key="none", tools=False)
    ask(model)  # loads LiteLLM
    listener, delays = Listener("word0"), []
    for _ in range(count):
        listener.begin()
        ask(model)
        delays.append(1000 * (listener.shown - listener.handed))
    return {"median": median(delays), "longest": max(delays)}


def chunks(base: str, tokens: int, count: int = 5) -> Figures:
    """CPU milliseconds for each chunk of a long reply: of LiteLLM by itself, sync and async; as
    our one reader of it takes them; through the loop; and in a `%%lmc` cell."""
    model = get_model("openai/bench", api_base=base, api_key="none", tools=False)
    ask(model)  # loads LiteLLM
    import litellm

    request: dict[str, Any] = {
        "model": "openai/bench",
        "api_base": base,
        "api_key": "none",
        "messages": [{"role": "user", "content": "Go on."}],
        "stream": True,
    }

    def bare() -> None:
        seen = sum(1 for _ in litellm.completion(**request))
        assert seen >= tokens

    async def asynchronous() -> None:
        seen = 0
        async for _ in await litellm.acompletion(**request):
            seen += 1
        assert seen >= tokens

    asked = {name: value for name, value in request.items() if name != "stream"}

    def read() -> None:
        seen = sum(1 for _ in stream(lambda _: None, **asked))
        assert seen >= tokens

    def core() -> None:
        session = Session(model=model, computer=Computer())
        seen = sum(1 for _ in session.ask("Go on."))
        assert seen >= tokens

    loop = asyncio.new_event_loop()

    def bare_async() -> None:
        thread = threading.Thread(target=lambda: loop.run_until_complete(asynchronous()))
        thread.start()
        thread.join()

    figures = by_turns(
        count,
        time.process_time,
        bare=bare,
        bare_async=bare_async,
        read=read,
        core=core,
        cell=lambda: ask(model),
    )
    loop.close()
    return {name: 1000 * seconds / tokens for name, seconds in figures.items()}


# The computer ------------------------------------------------------------------------------------


def one_plus_one(count: int = 101) -> dict[str, Figures]:
    """Milliseconds of `1+1` through the computer, beside a plain `run_cell` of it, by the clock
    of the processor (all threads of the kernel) and by the one on the wall."""
    computer, shell = current_session().computer, get_ipython()

    def ours() -> None:
        pieces = list(computer.run("python", "1+1"))
        assert "2" in "".join(str(piece.content) for piece in pieces)

    def plain() -> None:
        assert shell.run_cell("1+1").result == 2

    ours()
    figures = {}
    for name, clock in (("cpu", time.process_time), ("wall", time.perf_counter)):
        found = by_turns(count, clock, ours=ours, plain=plain)
        figures[name] = {which: 1000 * seconds for which, seconds in found.items()}
    return figures


BARE = {
    # the nearest that there is to a line of that language without us: a process that is there
    # already, a line to its stdin, and its answer on stdout
    "shell": (["bash"], "echo {}\n"),
    "javascript": (["node", "-i"], "console.log('{}')\n"),
    "r": (["R", "--no-echo", "--no-save", "--no-restore", "--no-readline"], "cat('{}\\n')\n"),
}
SAY = {"shell": "echo {}", "javascript": "console.log('{}')", "r": "cat('{}\n')"}


class Bare:
    """A process that is spoken to by lines, with nothing between."""

    def __init__(self, language: str) -> None:
        argv, self.line = BARE[language]
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(self.line.format(word))
        self.process.stdin.flush()
        while word not in self.process.stdout.readline():
            assert self.process.poll() is None

    def close(self) -> None:
        self.process.communicate()


def latency(language: str, engine: str = "", count: int = 51) -> Figures:
    """Milliseconds of a block that says a word, beside the same through a bare process."""
    ours: Any = R(kernel=engine == "kernel") if engine else default_computer().languages[language]
    bare = Bare(language)
    numbers = itertools.count()

    def block() -> None:
        word = f"word{next(numbers)}"
        said = "".join(str(piece.content) for piece in ours.run(SAY[language].format(word)))
        assert word in said

    def line() -> None:
        bare.say(f"word{next(numbers)}")

    block()  # starts it
    line()
    try:
        figures = by_turns(count, time.perf_counter, ours=block, bare=line)
    finally:
        ours.close()
        bare.close()
    return {name: 1000 * seconds for name, seconds in figures.items()}


def run_cell_latency(count: int = 51) -> Figures:
    """CPU milliseconds of a block of python that computes for some 20, through the computer and
    by `run_cell`; of one line see `one_plus_one`."""
    computer, shell = current_session().computer, get_ipython()
    source = "for _step in range(1_000_000):\n    pass\nprint('done')"

    def ours() -> None:
        pieces = list(computer.run("python", source))
        assert "done" in "".join(str(piece.content) for piece in pieces)

    figures = by_turns(count, time.process_time, ours=ours, plain=lambda: shell.run_cell(source))
    return {name: 1000 * seconds for name, seconds in figures.items()}


def stop_languages(count: int = 5) -> dict[str, Figures]:
    """Milliseconds from `stop` on another thread until a block that never ends has ended."""
    from languages import ROWS, STAND_INS

    figures = {}
    for row in ROWS:
        if row.id in STAND_INS or row.missing() or not row.processes or "sub-kernel" in row.id:
            continue
        language = row.make()
        try:
            delays = [_stopped(language, row.busy) for _ in range(count)]
        finally:
            language.close()
        figures[row.id] = {"median": median(delays), "longest": max(delays)}
    return figures


def _stopped(language: Any, busy: str) -> float:
    begun, at, text = threading.Event(), [], ""

    def stop() -> None:
        assert begun.wait(60), "the block never began"
        at.append(time.perf_counter())
        language.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    with contextlib.suppress(KeyboardInterrupt):
        for piece in language.run(busy):
            text += str(piece.content)
            if "begun" in text:
                begun.set()
    over = time.perf_counter()
    thread.join()
    return 1000 * (over - at[0])


def code(source: str, count: int) -> Figures:
    """Seconds that this code takes by its own clock: in a `%%lmc` cell, and in a plain one."""
    shell = get_ipython()
    timing = (
        "import time as _time, sys as _sys\n_begun = _time.perf_counter()\n"
        f"{source}\n_sys.stdout.flush()\n_took.append(_time.perf_counter() - _begun)"
    )
    ours: list[float] = []
    plain: list[float] = []
    for _ in range(count):
        for took, run in (
            (plain, lambda: shell.run_cell(timing)),
            (ours, lambda: ask(Scripted(timing), "--auto-run")),
        ):
            shell.user_ns["_took"] = took
            gc.collect()
            run()
    assert len(ours) == len(plain) == count
    return {"ours": median(ours), "plain": median(plain)}


# A turn ------------------------------------------------------------------------------------------


def history(sizes: list[int], count: int = 201) -> Figures:
    """CPU milliseconds of a turn of our own, after so many messages; of their conversion; and of
    choosing what of them is sent to a window of 8,192 tokens.
    """
    sessions: dict[int, Session] = {}
    for size in sizes:
        sessions[size] = Session(model=Scripted(), computer=Computer())
        sessions[size].messages = [
            Message("assistant" if n % 2 else "user", "message", content=f"message {n}")
            for n in range(size)
        ]

    def turn(session: Session) -> None:
        for _ in session.ask("Go on."):
            pass

    figures: Figures = {}
    gc.collect()
    for size, session in sessions.items():
        times = []
        for _ in range(count):
            begun = time.process_time()
            turn(session)
            times.append(time.process_time() - begun)
        figures[f"turn {size}"] = 1000 * median(times)
        messages, conversion = session.messages[:size], Conversion()
        times = []
        for _ in range(count):
            messages.append(Message("user", "message", content="Go on.").stamped())
            begun = time.process_time()
            conversion.to_chat(messages, Brief(), tools=True, vision=False)
            times.append(time.process_time() - begun)
            messages.append(Message("assistant", "message", content="I do.").stamped())
        figures[f"conversion {size}"] = 1000 * median(times)
        window, messages = ContextWindow("openai/m", 8_192, {}), session.messages[:size]
        load()
        times = []
        for _ in range(count):
            messages.append(Message("user", "message", content="Go on.").stamped())
            begun = time.process_time()
            window.fit(messages, Brief(), True, False, False)
            times.append(time.process_time() - begun)
            messages.append(Message("assistant", "message", content="I do.").stamped())
        figures[f"sent {size}"] = 1000 * median(times)
    return figures


def kept(count: int) -> Figures:
    """A conversation of so many messages on the disk: seconds of CPU to open and to search it,
    milliseconds to add a message and for the sync (by the clock), and of CPU for a turn; and
    milliseconds of CPU to list 1,000 conversations.
    """
    figures: Figures = {}
    for size in (100, count):
        session = Session(model=Scripted(), computer=Computer())
        session.conversation.take(Conversation([
            Message("assistant" if n % 2 else "user", "message", content=f"message {n} {_LOREM}")
            for n in range(size)
        ]))  # fmt: skip
        conversations, kept = session.journal.conversations, session.journal.id
        assert conversations is not None
        session.close()
        session = Session(model=Scripted(), computer=Computer())
        figures["open"] = timed(partial(session.conversation.open, kept), time.process_time)
        times, syncs, turns = [], [], []
        journal = session.journal._state.journal
        assert journal is not None
        for _ in range(20):
            begun = time.process_time()
            for _chunk in session.ask("Go on."):
                pass
            turns.append(time.process_time() - begun)
            message = Message("user", "message", content=_LOREM).stamped()
            begun = time.perf_counter()
            session.history.append(message)
            times.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            journal.sync()
            syncs.append(time.perf_counter() - begun)
        figures["turn" if size == count else f"turn {size}"] = 1000 * median(turns)
    figures["append"], figures["sync"] = 1000 * max(times), 1000 * median(syncs)
    path = conversations.path(kept)
    figures["bytes"] = path.stat().st_size
    figures["raw"] = timed(
        lambda: [json.loads(line) for line in path.read_bytes().splitlines()], time.process_time
    )
    figures["search"] = timed(lambda: conversations.list("message 77 "), time.process_time)
    session.reset()
    conversations.delete(kept)
    (one,) = conversations.list()
    data = conversations.path(one.id).read_bytes()
    for n in range(1000):
        conversations.path(f"{n:012}").write_bytes(data)
    figures["list first"] = 1000 * timed(conversations.list, time.process_time)
    figures["list"] = 1000 * timed(conversations.list, time.process_time)
    return figures


_LOREM = "lorem ipsum dolor sit amet " * 8


# The panel ---------------------------------------------------------------------------------------


class Paced:
    """A model that says so many words, so many a second."""

    label = "a script"

    def __init__(self, words: int, rate: float) -> None:
        self.words, self.rate = words, rate

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:  # noqa: ARG002
        begun = time.perf_counter()
        for word in range(self.words):
            wait = begun + word / self.rate - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            yield Chunk("assistant", "message", content=f"word{word} ")


def panel(words: int, rate: float, count: int = 3) -> Figures:
    """CPU milliseconds for each chunk of a turn: of the turn by itself, and what a panel that
    watches it adds, in the whole process and on the turn's own thread."""
    clocks = {"process": time.process_time, "thread": time.thread_time}
    took: dict[str, list[float]] = {f"{c} {w}": [] for c in clocks for w in ("without", "with")}
    for _ in range(count):
        for which in ("without", "with"):
            session = Session(model=Paced(words, rate), computer=Computer())
            shown = ChatPanel(session) if which == "with" else None
            gc.collect()
            begun = {name: clock() for name, clock in clocks.items()}
            seen = sum(1 for _ in session.ask("Go on."))
            for name, clock in clocks.items():
                took[f"{name} {which}"].append(clock() - begun[name])
            assert seen >= words
            if shown is not None:
                shown.close()
    of = {name: 1000 * median(each) / words for name, each in took.items()}
    return {
        "turn": of["process without"],
        "panel": of["process with"] - of["process without"],
        "thread": of["thread without"],
        "watching": of["thread with"] - of["thread without"],
    }


# Stop --------------------------------------------------------------------------------------------


def stop_while_streaming(base: str, count: int = 7) -> Figures:
    """Milliseconds from `session.stop()` on another thread to the end of the cell."""
    model = get_model("openai/bench", api_base=base, api_key="none", tools=False)
    listener, delays = Listener("word0"), []

    def act() -> None:
        listener.begin()
        delays.append(stopped(lambda: ask(model), listener.showing))

    import litellm  # noqa: F401 - its loading is not what is measured

    for _ in range(count):
        act()
    return {"median": median(delays), "longest": max(delays)}


def stop_in_code(count: int = 7) -> Figures:
    """The same while `while True: pass` runs."""
    shell, delays = get_ipython(), []
    for _ in range(count):
        begun = shell.user_ns["_begun"] = threading.Event()
        model = Scripted("_begun.set()\nwhile True:\n    pass")
        delays.append(stopped(lambda model=model: ask(model, "--auto-run"), begun))
    return {"median": median(delays), "longest": max(delays)}


def stopped(answer: Callable[[], None], begun: threading.Event) -> float:
    """Answer, stop it from another thread once `begun` is set; milliseconds until it is over."""
    at: list[float] = []

    def stop() -> None:
        assert begun.wait(60), "the answer never began"
        at.append(time.perf_counter())
        current_session().stop()

    thread = threading.Thread(target=stop)
    thread.start()
    with contextlib.suppress(KeyboardInterrupt):
        answer()
    over = time.perf_counter()
    thread.join()
    return 1000 * (over - at[0])
