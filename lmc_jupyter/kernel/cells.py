"""The person's own cells as they ran: source, output, error, figures.

One rule: it only records, a bounded part of each; blocks of a model and cells that only speak to
us do not count.

Text is heard where ipykernel sends it, on its own thread and some times a second, so that a `print`
costs nothing more.
"""

from __future__ import annotations

import base64
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from IPython.core.error import UsageError

from lmc_jupyter.content import error_text, shorten, terminal
from lmc_jupyter.content.cell import HIDE, Cell, Figure, exercise_of, mode_of, own_code
from lmc_jupyter.errors import LMCError
from lmc_jupyter.kernel.frontend import kernel_of, parent_of
from lmc_jupyter.kernel.namespace import module_of

MAX_SOURCE = 8_000
"""Characters of a cell, or of a function's source."""
MAX_OUTPUT = 8_000
"""Characters of a cell's output: its head and its tail."""
MAX_CELLS = 500
"""The newest ones are remembered, as far as they have room."""
MAX_TEXT = 6_000_000
"""Bytes of all their texts; the oldest cells go first."""
MAX_FIGURES = 8_000_000
"""Characters of all figures, as base64; the oldest go first."""

_IMAGES = {"image/png": "png", "image/jpeg": "jpeg"}


@dataclass(eq=False)
class _CellRun:
    """A cell that runs, or has run."""

    number: int
    source: str
    id: str
    hidden: bool
    exercise: str = ""
    tutor: str = ""
    request: str = ""
    """The id of the message that asked for it."""
    name: Callable[[], str] = str
    """Under which it was compiled, as its tracebacks have it; slow to make."""
    head: str = ""
    tail: str = ""
    gap: int = 0
    """Characters that were left out between head and tail."""
    gap_lines: int = 0
    """The ends of lines among them."""
    error: str = ""
    figures: list[Figure] = field(default_factory=list)
    size: int = 0
    """Bytes of its texts, once it has ended."""
    _ends: tuple[int, int] = (0, 0)
    _cell: Cell | None = None
    """Has the text while nothing is added to it; `head` and `tail` are empty then."""

    def write(self, text: str) -> None:
        """Add to the output; of a long one the head and the tail stay."""
        self._thaw()
        room = MAX_OUTPUT // 2 - len(self.head)
        if room > 0 and not self.gap:
            self.head, text = self.head + text[:room], text[room:]
        self.tail += text
        if len(self.tail) > MAX_OUTPUT:  # not at each piece
            self._shorten()

    def write_line(self, text: str) -> None:
        """Add a line of its own to the output."""
        self._thaw()
        if self.head and not (self.tail or self.head).endswith("\n"):
            self.write("\n")
        self.write(text + "\n")

    def show(self, figure: Figure) -> None:
        """Add a figure."""
        self._thaw()
        self.figures.append(figure)

    def drop_figures(self, count: int) -> None:
        """Forget so many figures, the oldest ones."""
        self._thaw()
        del self.figures[:count]

    def end(self, number: int, error: str) -> None:
        """It has run, as this `In [N]`."""
        self._thaw()
        self.number, self.error = number, error

    def hide(self) -> None:
        """No model gets it, nor any line of it in the traceback of another cell."""
        self.hidden = True
        error_text.conceal(self.name())
        self._thaw()

    def clear(self) -> None:
        self._thaw()
        self.head = self.tail = ""
        self.gap = self.gap_lines = 0
        self.figures.clear()

    def cell(self) -> Cell:
        """The run as a value, made once for each change of its output."""
        if self._cell is None:
            self._cell = self._make()
            self.head = self.tail = ""
        return self._cell

    def _shorten(self) -> None:
        """Leave lines out between head and tail, whole ones unless they are very long."""
        first, most = len(self.tail) - MAX_OUTPUT // 2, len(self.tail) - MAX_OUTPUT // 4
        stop = self.tail.find("\n", first - 1, most) + 1 or first
        end = self.head.rfind("\n", MAX_OUTPUT // 4) + 1 or len(self.head)
        rest, self.head = self.head[end:], self.head[:end]
        self.gap += len(rest) + stop
        self.gap_lines += self.tail[:stop].count("\n")
        self.tail = self.tail[stop:]

    def _make(self) -> Cell:
        if len(self.tail) > MAX_OUTPUT // 2 + (0 if self.gap else shorten.GAIN):
            self._shorten()
        is_whole = self.head.endswith("\n") and self.gap_lines > 0
        if self.gap:
            self.head, self.tail = terminal.plain(self.head), terminal.plain(self.tail)
        else:  # an escape sequence may stand in both
            output = terminal.plain(self.head + self.tail)
            self.head, self.tail = output[: MAX_OUTPUT // 2], output[MAX_OUTPUT // 2 :]
        out = shorten.lines_out(self.gap_lines) if is_whole else shorten.left_out(self.gap)
        mark = f"{'' if is_whole else chr(10)}{out} …\n" if self.gap else ""
        self._ends = len(self.head), len(self.tail)
        return Cell(
            self.number,
            self.source,
            f"{self.head}{mark}{self.tail}",
            self.error,
            tuple(self.figures),
            self.id,
            self.hidden,
            max(0, self.gap - len(mark)),
            self.gap_lines - 1 if is_whole else None,
            self.exercise,
            self.tutor,
        )

    def _thaw(self) -> None:
        """Something changes: take the text out of the value again."""
        cell, self._cell = self._cell, None
        if cell is not None:
            first, last = self._ends
            self.head, self.tail = cell.output[:first], cell.output[len(cell.output) - last :]


class CellRecorder:
    """Records the cells of one shell from now on, until `close`."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._kernel = kernel_of(shell)
        self._lock = threading.Lock()
        self._runs: deque[_CellRun] = deque()
        self._size = 0  # of all of them
        self._late: set[_CellRun] = set()
        """Those that have shown something since they were measured."""
        self._open: list[tuple[Any, _CellRun | None]] = []
        """The cells that run, as IPython knows them: a cell can run another one."""
        self._by_request: dict[str, _CellRun] = {}
        self._last = ""
        # of the cells before the extension was loaded nobody knows when they ended
        self._last_end = time.time() if shell.execution_count > 1 else 0.0
        self._failure: tuple[str, BaseException] | None = None
        self._plot = "", ""
        """The text of the last figure of matplotlib that was formatted, and what is in it."""
        self._undo: list[Callable[[], None]] = []
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)
        if self._kernel is not None:
            self._listen()

    def close(self) -> None:
        """Stop recording, and forget all cells."""
        self._shell.events.unregister("pre_run_cell", self._begin)
        self._shell.events.unregister("post_run_cell", self._end)
        while self._undo:
            self._undo.pop()()
        with self._lock:
            self._failure = None
            self._open.clear()
            self._runs.clear()
            self._late.clear()
            self._size = 0
            self._by_request.clear()

    def _listen(self) -> None:
        """Hear what the cells show, as ipykernel sends it."""
        streams: tuple[Any, ...] = (sys.stdout, sys.stderr)
        for stream in streams:
            if not hasattr(stream, "pub_thread"):  # somebody has replaced it
                continue
            schedule = stream.pub_thread.schedule  # hooks are of one thread: of the one that sends
            schedule(partial(stream.register_hook, self._hear))
            self._undo.append(partial(schedule, partial(stream.unregister_hook, self._hear)))
        publisher = self._shell.display_pub
        publisher.register_hook(self._hear)
        self._undo.append(partial(publisher.unregister_hook, self._hear))
        formatter, hook = self._shell.display_formatter, self._shell.displayhook
        make, write = formatter.format, hook.write_format_data

        def format(value: Any, *args: Any, **options: Any) -> Any:
            made = make(value, *args, **options)
            if module_of(type(value)) == "matplotlib":
                self._describe_plot(value, made[0])
            return made

        def write_format_data(bundle: Mapping[str, Any], *args: Any, **options: Any) -> None:
            write(bundle, *args, **options)
            run = self._open[-1][1] if self._open else None
            if run is not None and threading.current_thread() is threading.main_thread():
                with self._lock:
                    self._show(run, bundle)

        self._replace(formatter, "format", format)
        self._replace(hook, "write_format_data", write_format_data)

    def _replace(self, owner: Any, name: str, replacement: Callable[..., Any]) -> None:
        """Give the object another method, until `close`."""
        attributes = owner.__dict__
        attributes[name] = replacement

        def restore() -> None:
            if attributes.get(name) is replacement:
                del attributes[name]

        self._undo.append(restore)

    # What a cell does -----------------------------------------------------------------------------

    def _begin(self, info: Any) -> None:
        self._open.append((info, self._run_of(info)))

    def _run_of(self, info: Any) -> _CellRun | None:
        """A new run, for a cell that counts."""
        source = (info.raw_cell or "").strip()
        if not info.store_history or not source or is_ours(source):
            return None
        parent = {} if self._kernel is None else parent_of(self._kernel)
        metadata = parent.get("metadata") or {}
        id = str(getattr(info, "cell_id", None) or metadata.get("cellId") or "")
        tags = metadata.get("tags")
        hidden = isinstance(tags, (list, tuple)) and HIDE in tags
        request = str((parent.get("header") or {}).get("msg_id") or "")
        number = self._shell.execution_count
        code = info.raw_cell
        name = partial(self._shell.compile.get_code_name, code, code, number)
        if len(code) > MAX_SOURCE:  # which is not held
            name = partial(str, name())
        own = exercise_of(tags), mode_of(tags)
        run = _CellRun(number, cut(source), id, hidden, *own, request, name)
        if hidden:
            run.hide()
        with self._lock:
            if self._runs:
                self._late.add(self._runs[-1])
            while self._late:
                self._measure(self._late.pop())
            if len(self._runs) == MAX_CELLS:
                self._forget_oldest()
            self._runs.append(run)
            if request:
                self._by_request[request] = run
        return run

    def _end(self, result: Any) -> None:
        info, run = getattr(result, "info", None), None
        while self._open:
            begun, run = self._open.pop()
            if begun is info:
                break
            run = None
        if info is None or not info.store_history:
            return
        cell = info.raw_cell.strip()
        if cell and not is_ours(cell):
            self._last, self._last_end = cell, time.time()
        error = result.error_before_exec or result.error_in_exec
        text = "" if error is None or run is None else error_text.short(error, _filename(error))
        if run is not None:
            with self._lock:  # in `_begin` the number is the next one, from IPython 9 on
                run.end(result.execution_count or run.number, cut(text))
            if run.hidden:
                self._last = ""
                return
        if error is None or isinstance(error, (KeyboardInterrupt, LMCError, UsageError)):
            return
        self._failure = cell, error

    def _hear(self, message: Any) -> Any:
        """What ipykernel sends to the front ends; it goes on as it is."""
        request = message["parent_header"].get("msg_id")
        with self._lock:
            run = self._by_request.get(request)
            if run is not None:
                if run.size:
                    self._late.add(run)
                content = message["content"]
                if message["msg_type"] == "stream":
                    run.write(content["text"])
                elif message["msg_type"] == "display_data":
                    self._show(run, content["data"])
                elif message["msg_type"] == "clear_output":
                    run.clear()
        return message

    def _describe_plot(self, figure: Any, bundle: Mapping[str, Any]) -> None:
        """Look what is in a figure of matplotlib, while it is there: the next display is of it."""
        from lmc_jupyter.content import plots  # at the first figure

        text = plots.describe(figure)
        self._plot = str(bundle.get("text/plain")), text
        for image in filter(None, map(bundle.get, _IMAGES)):
            plots.learn(image if isinstance(image, bytes) else base64.b64decode(image), text)

    def _show(self, run: _CellRun, bundle: Mapping[str, Any]) -> None:
        from lmc_jupyter.content import charts  # at the first display

        name, text = self._plot
        chart = charts.sentence(bundle) or (text if bundle.get("text/plain") == name else "")
        for mime, format in _IMAGES.items():
            data = bundle.get(mime)
            if isinstance(data, bytes):
                data = base64.b64encode(data).decode()
            if isinstance(data, str) and data:
                run.show(Figure(format, data.replace("\n", ""), chart))
                self._drop_old_figures()
                return
        shown = chart or bundle.get("text/plain")
        if isinstance(shown, str) and shown:
            run.write_line(shown)

    def _drop_old_figures(self) -> None:
        room = MAX_FIGURES
        for run in reversed(self._runs):
            for at in reversed(range(len(run.figures))):
                room -= len(run.figures[at].content)
                if room < 0:
                    run.drop_figures(at + 1)
                    break

    def _measure(self, run: _CellRun) -> None:
        """Count the bytes of a run that has ended; the lock is held."""
        if self._kernel is None and not run.size:
            self._look_up(run)
        cell = run.cell()
        size = sum(map(sys.getsizeof, (cell.source, cell.output, cell.error)))
        self._size += size - run.size
        run.size = size
        while self._size > MAX_TEXT and self._runs[0] is not run:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        oldest = self._runs.popleft()
        self._size -= oldest.size
        self._late.discard(oldest)
        self._by_request.pop(oldest.request, None)

    # What is asked of it --------------------------------------------------------------------------

    def recent(self) -> list[Cell]:
        """The cells that ran since the extension was loaded, the newest last."""
        with self._lock:
            open = {id(run) for _, run in self._open}
            runs = [run for run in self._runs if id(run) not in open]
            count = len(self._runs)
            for run in runs:
                if not run.size:
                    self._measure(run)
            cells = [run.cell() for run in runs[count - len(self._runs) :]]
        return [_without_hidden(each) for each in cells] if error_text.is_concealed() else cells

    def hide(self, *, ids: Collection[str] = (), number: int = 0) -> None:
        """These cells, so far as they have run, go to no model from now on.

        Parameters
        ----------
        ids : of cells in the notebook
        number : that of an `In [number]`
        """
        with self._lock:
            for run in self._runs:
                if run.number == number or (run.id and run.id in ids):
                    run.hide()
                    if run is self._runs[-1]:
                        self._last, self._failure = "", None

    def _look_up(self, run: _CellRun) -> None:
        """In a terminal IPython itself remembers what was shown, from its version 9 on."""
        manager = self._shell.history_manager
        outputs = getattr(manager, "outputs", {}).get(run.number, ())
        run.clear()
        for each in outputs:
            stream = each.bundle.get("stream")
            if stream is None:
                self._show(run, each.bundle)
            else:
                run.write(terminal.plain("".join(stream)))  # a drawn image is one long escape

    @property
    def last(self) -> str:
        """The source of the last cell; "" where there was none."""
        return cut(self._last)

    @property
    def last_end(self) -> float:
        """A time since which no cell ended, in seconds since the epoch; 0 where none ran."""
        return self._last_end

    @property
    def failure(self) -> tuple[str, BaseException, str] | None:
        """(source, error, file name) of the last cell that failed; None where none did."""
        if self._failure is None:
            return None
        cell, error = self._failure
        return cut(cell), error, _filename(error)

    @property
    def unknown(self) -> str:
        """A sentence on what of the notebook is not known in a terminal; "" in a kernel."""
        if self._kernel is not None:
            return ""
        if hasattr(self._shell.history_manager, "outputs"):
            return "In a terminal there is no Markdown above a question that could go with it."
        return (
            "In a terminal there is no Markdown that could go with a question, and this IPython "
            "does not tell what cells put out: version 9 does."
        )

    def source_of(self, name: str) -> str | None:
        """The source of a function or class of this name, else its value; None: there is none."""
        from lmc_jupyter.kernel.values import value_of  # at the first question that names one

        return value_of(self._shell, name, MAX_SOURCE)


def _without_hidden(cell: Cell) -> Cell:
    """The cell without lines of hidden cells in what it printed, such as a traceback."""
    output = error_text.without_concealed(cell.output)
    return cell if cell.hidden or output == cell.output else cell._replace(output=output)


def is_ours(source: str) -> bool:
    """Whether a cell is one of ours, which counts as no cell of the person."""
    return not own_code(source).strip()


def history(shell: Any) -> list[tuple[str, str]]:
    """Every cell of this kernel so far: its source, and the text of its traceback if it failed.

    The place of a cell in the list is its number less one. Which cells failed is known from
    IPython 9 on; before, a cell that failed looks like any other.
    """
    manager = shell.history_manager
    if manager is None:
        return []
    errors = getattr(manager, "exceptions", {})
    return [
        (str(source), _traceback(errors.get(number)))
        for number, source in enumerate(manager.input_hist_raw)
        if number
    ]


def _traceback(error: Any) -> str:
    lines = error.get("traceback") if isinstance(error, dict) else None
    return terminal.plain("\n".join(map(str, lines))) if isinstance(lines, list) else ""


def _filename(error: BaseException) -> str:
    """The cell's own name in the traceback: the first frame that is not IPython's."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if not str(frame.f_globals.get("__name__", "")).startswith(("IPython", "ipykernel")):
            return frame.f_code.co_filename
    return ""


def cut(text: str) -> str:
    """The text, truncated to `MAX_SOURCE` characters."""
    return shorten.middle(text, MAX_SOURCE)
