"""The process that speaks to the models: requests come in, answers go out, as lines of JSON.

One rule: it ends with the process that started it (`content/worker_loop.py`), and after a long time
without a request.

A line from the kernel has `do` (a request: `call`, `transcribe`, `facts`, `count`, `close`, or
`load`), its `number`, and `changes` of the environment since the line before; or `cancel`, a
number. A line to the kernel has the `number` of its request and one of `deltas`, `body`,
`notice`, `answer` and `failed`; the last one of each request has `end`. Keys come in these lines
only.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import os
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from lmc_jupyter.content.worker_loop import Take, Write, serve
from lmc_jupyter.errors import LMCError
from lmc_jupyter.models.failure import Problem
from lmc_jupyter.models.litellm.worker import loading, lookups
from lmc_jupyter.models.litellm.worker.call import Item, ModelCall, TranscriptionCall
from lmc_jupyter.models.values import Body, CallDelta, Delta, NetworkLimits

JOIN_SECONDS = 0.05
"""Seconds after a line in which pieces wait for the next line, joined where they are of one kind:
the kernel pays for each line, and a cell is drawn as often."""


class ModelCalls:
    """The requests in progress.

    Parameters
    ----------
    write : writes a line to the kernel
    idle : seconds without a request after which the process ends
    """

    def __init__(self, write: Write, idle: float) -> None:
        self._write, self._idle = write, idle
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._changes: list[dict[str, Any]] = []
        """Changes of the environment that are not made yet, in their order."""
        self._loading: asyncio.Future[BaseException | None] | None = None
        self._last = time.monotonic()
        self._idling = self._loop.create_task(self._end_when_idle())

    def take(self, line: dict[str, Any]) -> None:
        """Carry out a line of the kernel."""
        self._last = time.monotonic()
        if "cancel" in line:
            task = self._tasks.get(line["cancel"])
            if task is not None:
                task.cancel()
            else:
                self._write({"number": line["cancel"], "end": True})
        else:
            if changes := line.pop("changes", None):
                self._changes.append(changes)  # they are made even if this request is cancelled
            number = line["number"]
            self._tasks[number] = task = self._loop.create_task(self._answer(**line))
            # called also for a task that is cancelled before it begins
            task.add_done_callback(lambda _: self._end(number))

    async def _end_when_idle(self) -> NoReturn:
        """End the process after a long time without a request."""
        while True:
            await asyncio.sleep(min(self._idle, 60.0))
            if not self._tasks and time.monotonic() - self._last >= self._idle:
                os._exit(0)

    def _end(self, number: int) -> None:
        del self._tasks[number]
        self._write({"number": number, "end": True})

    async def _answer(self, number: int, do: str, **arguments: Any) -> None:
        def write(**answer: Any) -> None:
            self._write({"number": number, **answer})

        try:
            if self._loading is None:
                self._change()  # LiteLLM reads the environment during its import
                self._loading = self._loop.create_future()
                threading.Thread(target=self._load, args=(self._loading,), daemon=True).start()
            failure = await asyncio.shield(self._loading)
            self._change()
            if failure is not None:
                sentence = f"LiteLLM cannot be imported ({type(failure).__name__}: {failure})"
                write(failed={"sentence": sentence})
                self._loading = None  # after a new installation the next request tries again
            elif do in ("call", "transcribe"):
                await _CALLS[do](write, **arguments)
            elif do != "load":
                write(answer=await asyncio.to_thread(_LOOKUPS[do], **arguments))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - Rust's panic is no Exception
            write(failed={"problem": Problem.of(error).to_dict()})

    def _change(self) -> None:
        """Make the environment and the folder equal to those of the kernel."""
        while self._changes:
            changes = self._changes.pop(0)
            for name in changes["unset"]:
                os.environ.pop(name, None)
            os.environ.update(changes["set"])
            if changes["folder"]:
                with suppress(OSError):  # it was deleted: no request needs it
                    os.chdir(changes["folder"])

    def _load(self, future: asyncio.Future[BaseException | None]) -> None:
        failure: BaseException | None = None
        try:
            loading.load()
        except BaseException as error:  # noqa: BLE001 - a broken installation may raise anything
            failure = error
        self._loop.call_soon_threadsafe(future.set_result, failure)
        if failure is None:
            try:
                loading.warm_up()
            except Exception:  # noqa: BLE001 - the first request is only slower to begin
                traceback.print_exc()
            gc.freeze()  # LiteLLM's objects stay: to look through them again takes 0.1 s


# Calls --------------------------------------------------------------------------------------------


class _Pieces:
    """Writes the pieces of a reply: the first at once, those that come soon after it together."""

    def __init__(self, write: Callable[..., None], messages: Any) -> None:
        self._write, self._messages = write, messages
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Delta] = []
        self._next = 0.0
        """The time of the loop from which more may be written."""
        self._timer: asyncio.TimerHandle | None = None

    def put(self, item: Item) -> None:
        if isinstance(item, Delta):
            both = self._waiting and join(self._waiting[-1], item)
            if both:
                self._waiting[-1] = both
            else:
                self._waiting.append(item)
            if item.finish is not None or self._loop.time() >= self._next:
                self.flush()
            elif self._timer is None:
                self._timer = self._loop.call_at(self._next, self.flush)
            return
        self.flush()
        if isinstance(item, Body):
            body = dict(item.data)
            if is_same := body.get("messages") == self._messages:
                body["messages"] = None  # the kernel has them
            self._write(body=body, same=is_same)
        elif isinstance(item, Problem):
            self._write(failed={"problem": item.to_dict()})
        elif isinstance(item, LMCError):
            self._write(failed={"sentence": str(item)})
        else:
            self._write(notice=item)

    def flush(self) -> None:
        """Write the pieces that wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            self._write(deltas=[each.to_dict() for each in self._waiting])
            self._waiting.clear()
            self._next = self._loop.time() + JOIN_SECONDS


def join(first: Delta, then: Delta) -> Delta | None:
    """Both in one, where they are text, or reasoning, or arguments of the same tool call."""
    if first.finish is not None or then.finish is not None:
        return None
    if first.more or then.more or any(each.more for each in (*first.calls, *then.calls)):
        return None  # the kernel puts these together, once
    if not (first.calls or then.calls):
        if not (first.reasoning or then.reasoning):
            return Delta(first.text + then.text)
        if not (first.text or then.text):
            return Delta("", first.reasoning + then.reasoning)
    elif len(first.calls) == len(then.calls) == 1 and not (
        first.text or first.reasoning or then.text or then.reasoning
    ):
        one, more = first.calls[0], then.calls[0]
        if one.index == more.index and not (more.id or more.name):
            arguments = (one.arguments or "") + (more.arguments or "")
            return Delta(calls=(CallDelta(one.index, one.id, one.name, arguments),))
    return None


async def _call(write: Callable[..., None], *, limits: dict[str, Any], **options: Any) -> None:
    pieces = _Pieces(write, options["request"].get("messages"))
    try:
        await ModelCall(limits=NetworkLimits(**limits), put=pieces.put, **options).run()
    finally:
        pieces.flush()


async def _transcribe(
    write: Callable[..., None], *, limits: dict[str, Any], wav: str, **options: Any
) -> None:
    options["request"]["file"] = ("recording.wav", base64.b64decode(wav))
    pieces = _Pieces(write, None)
    await TranscriptionCall(limits=NetworkLimits(**limits), put=pieces.put, **options).run()
    pieces.flush()


_CALLS: dict[str, Callable[..., Any]] = {"call": _call, "transcribe": _transcribe}
_LOOKUPS: dict[str, Callable[..., Any]] = {
    "facts": lambda model: lookups.facts(model).to_dict(),
    "count": lookups.count,
    "close": lookups.close,
    "window": lookups.window,
}


# The process --------------------------------------------------------------------------------------


def main(idle: float, parent: int) -> NoReturn:
    """Answer until the kernel has ended, or is idle for long.

    Parameters
    ----------
    idle : see `ModelCalls`
    parent : the process that started this one
    """

    def begin(write: Write) -> Take:
        calls = ModelCalls(write, idle)
        write({"up": os.getpid()})
        return calls.take

    serve(parent, begin)
