"""What `own.py` measures, as it is run inside a real kernel: one function for each row.

One rule: ours and its neighbour take turns in the same process, and each figure is the median
of what was measured. Nothing of the package is replaced.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

from lmc_jupyter import Chunk, Message, Session, current_session, get_model
from lmc_jupyter.computer import Computer, default_computer
from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.computer.languages.r import R
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.openai import Abilities, Sent

Figures = dict[str, float]


def running_shell() -> InteractiveShell:
    """That of the kernel in which this runs."""
    shell = get_ipython()
    assert shell is not None
    return shell


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
    running_shell().run_cell_magic("lmc", f"--new {options}", "Go on.")


# The computer ------------------------------------------------------------------------------------


def one_plus_one(count: int) -> dict[str, Figures]:
    """Milliseconds of `1+1` through the computer, beside a plain `run_cell` of it, by the clock
    of the processor (all threads of the kernel) and by the one on the wall."""
    computer, shell = current_session().computer, running_shell()

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


def latency(language: str, engine: str, count: int) -> Figures:
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

    plain = partial(running_shell().run_cell, "1+1")
    block()  # starts it
    line()
    try:
        figures = by_turns(count, time.perf_counter, ours=block, bare=line, plain=plain)
    finally:
        ours.close()
        bare.close()
    return {name: 1000 * seconds for name, seconds in figures.items()}


def run_cell_latency(count: int) -> Figures:
    """CPU milliseconds of a block of python that computes for some 20, through the computer and
    by `run_cell`; of one line see `one_plus_one`."""
    computer, shell = current_session().computer, running_shell()
    source = "for _step in range(1_000_000):\n    pass\nprint('done')"

    def ours() -> None:
        pieces = list(computer.run("python", source))
        assert "done" in "".join(str(piece.content) for piece in pieces)

    figures = by_turns(count, time.process_time, ours=ours, plain=lambda: shell.run_cell(source))
    return {name: 1000 * seconds for name, seconds in figures.items()}


def effects(count: int) -> Figures:
    """Milliseconds to find the effects of a block of 100 lines beside 1,000 names, and to parse it,
    as Python does anyway; each block is a new one."""
    import ast
    import itertools

    computer, shell = current_session().computer, running_shell()
    shell.user_ns.update({f"name_{index}": [index] for index in range(1_000)})
    lines = [
        line
        for index in range(20)
        for line in (
            f"name_{index} = sorted(name_{index + 1}, key=lambda each: -each)",
            f"for _row in name_{index + 20}:",
            f"    print(f'{{_row:>10}}', name_{index + 40}[0])",
            f"name_{index + 60}.append(sum(value**2 for value in name_{index}))",
            f"total_{index} = open(f'result_{{name_{index}}}.txt', 'w').write('{index}')",
        )
    ]
    numbers = itertools.count()

    def block() -> str:
        return "\n".join([*lines, f"last = {next(numbers)}"])

    def ours() -> None:
        found = computer.effects("python", block())
        assert {"overwrites", "changes", "makes", "writes"} == {each.kind for each in found}

    figures = by_turns(count, time.perf_counter, ours=ours, plain=lambda: ast.parse(block()))
    return {name: 1000 * seconds for name, seconds in figures.items()}


def stop_languages(count: int, most: int) -> dict[str, Figures]:
    """Milliseconds from `stop` on another thread until a block that never ends has ended, of so
    many languages.
    """
    from languages import ROWS, STAND_INS

    figures: dict[str, Figures] = {}
    for row in ROWS:
        if len(figures) == most:
            break
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
    shell = running_shell()
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


def block(source: str, *, is_promised: bool = False) -> float:
    """CPU seconds of this code as a block: of all code, or of such as has promised to read only."""
    python = LivePython(running_shell())
    run = python.run_promised if is_promised else python.run
    return timed(lambda: list(run(source)), time.process_time)


def cell(source: str) -> float:
    """CPU seconds of this code as a cell of the person's own."""
    return timed(lambda: running_shell().run_cell(source), time.process_time)


# A turn ------------------------------------------------------------------------------------------


def history(sizes: list[int], base: str, count: int) -> Figures:
    """CPU milliseconds of a turn of our own, after so many messages; of their conversion; and of
    a turn with a model that reads 8,192 tokens, which is sent what fits.
    """
    sessions: dict[int, Session] = {}
    for size in sizes:
        sessions[size] = Session(model=Scripted(), computer=Computer())
        sessions[size].messages = [
            Message("assistant" if n % 2 else "user", "message", content=f"message {n}")
            for n in range(size)
        ]
    figures: Figures = {}
    gc.collect()
    for size, session in sessions.items():
        figures[f"turn {size}"] = 1000 * turn(session, count)
        messages, sent = session.messages[:size], Sent()
        times = []
        for _ in range(count):
            messages.append(Message("user", "message", content="Go on.").stamped())
            begun = time.process_time()
            sent.request(messages, Brief(), Abilities(tools=True, vision=False))
            times.append(time.process_time() - begun)
            messages.append(Message("assistant", "message", content="I do.").stamped())
        figures[f"conversion {size}"] = 1000 * median(times)
    options = {"api_base": base, "api_key": "none", "tools": False, "context_window": 8_192}
    for session in sessions.values():
        session.choose_model("openai/bench", **options)
        turn(session, 1)  # the first one counts the tokens of all
    for size, session in sessions.items():
        figures[f"sent {size}"] = 1000 * turn(session, count)
    return figures


def turn(session: Session, count: int) -> float:
    """CPU seconds of a question and its answer, the median of so many."""
    times = []
    for _ in range(count):
        begun = time.process_time()
        for _chunk in session.ask("Go on."):
            pass
        times.append(time.process_time() - begun)
    return median(times)


def kept(count: int, conversations_count: int) -> Figures:
    """A conversation of so many messages on the disk: seconds of CPU to open and to search it,
    milliseconds to add a message and for the sync (by the clock), and of CPU for a turn; and
    milliseconds of CPU to list so many conversations.
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
        journal = session.journal._journal
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
        which = "" if size == count else f" {size}"
        figures[f"turn{which}"] = 1000 * median(turns)
        figures[f"append{which}"] = 1000 * max(times)
    figures["sync"] = 1000 * median(syncs)
    figures["bare sync"] = 1000 * median([_synced() for _ in range(20)])
    assert conversations is not None
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
    for n in range(conversations_count):
        conversations.path(f"{n:012}").write_bytes(data)
    figures["list first"] = 1000 * timed(conversations.list, time.process_time)
    figures["list"] = 1000 * timed(conversations.list, time.process_time)
    return figures


def _synced() -> float:
    """Seconds of the sync of a file to which as much was added."""
    with tempfile.NamedTemporaryFile(dir=os.environ["XDG_DATA_HOME"], delete=True) as file:
        file.write(_LOREM.encode())
        file.flush()
        begun = time.perf_counter()
        os.fsync(file.fileno())
        return time.perf_counter() - begun


_LOREM = "lorem ipsum dolor sit amet " * 8


# Stop --------------------------------------------------------------------------------------------


def stop_while_streaming(base: str, count: int) -> Figures:
    """Milliseconds from `session.stop()` on another thread to the end of the cell."""
    options = {"api_base": base, "api_key": "none", "tools": False}
    model, delays, shown = get_model("openai/bench", **options), [], threading.Event()

    def hear(event: object) -> None:
        if type(event).__name__ == "Grown":
            shown.set()

    current_session().history.subscribe(hear)
    for _ in range(count + 1):
        shown.clear()
        delays.append(stopped(lambda: ask(model), shown))
    del delays[0]  # of the first one what a view needs is loaded
    return {"median": median(delays), "longest": max(delays)}


def stop_in_code(count: int) -> Figures:
    """The same while `while True: pass` runs."""
    shell, delays = running_shell(), []
    for _ in range(count):
        begun = shell.user_ns["_begun"] = threading.Event()
        model = Scripted("_begun.set()\nwhile True:\n    pass")
        delays.append(stopped(partial(ask, model, "--auto-run"), begun))
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


# The person's cells -------------------------------------------------------------------------------


NOTEBOOK_CELL = """\
# Step {0}: what comes in by month, less what was returned
months_{0} = list(range(12))
def share_{0}(value, of=total_{1}):
    if not of:
        return 0.0
    return round(100 * value / of, 2)
total_{0} = sum(month * {0} for month in months_{0}) + total_{1}
rows_{0} = [(month, share_{0}(month * {0}, total_{0}), str(month)) for month in months_{0}]
best_{0} = max(rows_{0}, key=lambda row: row[1])
for month, percent, name in rows_{0}[:3]:
    print(f"{{name:>10}}: {{percent:6.2f}} % of {{total_{0}:,}}")
best_{0}
"""
"""A cell as people write them; the next one uses a name that it makes."""


def notebook(count: int) -> None:
    """Run so many cells as a person does."""
    shell = running_shell()
    shell.run_cell("total_0 = 0", store_history=True)
    for number in range(1, count):
        shell.run_cell(NOTEBOOK_CELL.format(number, number - 1), store_history=True)
    sys.stdout.flush()


def remembered_cell(count: int, rounds: int) -> Figures:
    """CPU milliseconds of a cell, the mean of so many, with the extension and without it; the
    median of so many rounds."""
    shell = running_shell()
    times: dict[str, list[float]] = {"ours": [], "plain": []}

    def cells() -> None:
        for number in range(count):
            shell.run_cell(f"x = {number}\nprint(x)\n[x] * 3", store_history=True)
        sys.stdout.flush()

    for _ in range(rounds):
        for name, turn in (("ours", "load_ext"), ("plain", "unload_ext")):
            shell.run_line_magic(turn, "lmc_jupyter")
            cells()
            times[name].append(1000 * timed(cells, time.process_time) / count)
    return {name: median(each) for name, each in times.items()}


def remembered_memory(count: int) -> float:
    """Bytes that so many cells with much output and figures add to the kernel, whose own record of
    them is deleted."""
    import psutil
    from IPython.display import Image

    shell = running_shell()
    shell.user_ns |= {"noise": os.urandom, "Image": Image}
    warm = "print('é' * 100)\nImage(data=noise(10), format='png')"
    shell.run_cell(warm, store_history=True)

    def own() -> int:
        assert shell.history_manager is not None
        shell.history_manager.reset()
        for name in [each for each in shell.user_ns if each.startswith("_") and each[1:].isdigit()]:
            del shell.user_ns[name]
        gc.collect()
        return int(psutil.Process().memory_full_info().uss)

    before = own()
    for number in range(count):
        shell.run_cell(
            f"# {'word ' * 1_500}\nprint('é{number}' * 10_000)\n"
            "display(Image(data=noise(100_000), format='png'))",
            store_history=True,
        )
    sys.stdout.flush()
    if shell.extension_manager and "lmc_jupyter" in shell.extension_manager.loaded:
        current_session().prompt.companions()
    return own() - before


def cells_context(count: int, more: int) -> Figures:
    """Milliseconds to make what goes with a question in a notebook of so many cells: the first
    time, and the median of the later ones."""
    current_session().choose_model(Scripted())
    notebook(count)
    prompt = current_session().prompt
    first = timed(prompt.companions, time.perf_counter)
    later = [timed(prompt.companions, time.perf_counter) for _ in range(more)]
    assert prompt.companions().parts
    return {"first": 1000 * first, "later": 1000 * median(later)}
