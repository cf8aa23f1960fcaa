"""Jobs that a block gives to Spark: an interrupt of the block cancels them.

One rule: only jobs that the block began; those of the person's own cells and threads go on. A tag
tells them apart. Spark is never imported here, nor called where this process has no context of it,
and nothing of this runs in a kernel that has not imported it, for a block that does not name it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import uuid
from collections.abc import Callable
from time import monotonic
from types import FrameType
from typing import Any

from lmc_jupyter.kernel.stop import Interruptible

PATIENCE_SECONDS = 2.0
"""How long code may wait for Spark after an interrupt, until it is interrupted like other code."""


class SparkJobs:
    """The jobs of one block, on the thread that runs it."""

    def __init__(self, block: Interruptible) -> None:
        self._block = block
        self._tag = ""
        self._context: Any = None
        self._since = 0.0

    def run(self, code: Callable[[], BaseException | None]) -> BaseException | None:
        """Call `code`, and cancel its jobs where an interrupt ends it.

        Parameters
        ----------
        code : returns the exception that ended it, or None; this returns the same
        """
        before = _context()
        was_interrupted = True
        try:
            if before is not None:
                self._begin(before)
            error = code()
            ends = isinstance(error, (KeyboardInterrupt, asyncio.CancelledError))
            was_interrupted = self._block.stopped or ends
            return error
        finally:
            self._end(_context() if before is None else None, was_interrupted)

    def _begin(self, context: Any) -> None:
        self._tag = f"lmc-{uuid.uuid4().hex}"
        try:
            context.addJobTag(self._tag)
        except Exception:  # noqa: BLE001 - before Spark 3.5, or its JVM has ended: the code will say
            return
        self._context = context
        self._block.cancel = self._cancel

    def _end(self, own_context: Any, was_interrupted: bool) -> None:
        """Take the tag off this thread.

        Parameters
        ----------
        own_context : the context that the block itself made: all of its jobs are the block's
        """
        self._block.cancel = None
        try:
            if was_interrupted and own_context is not None:
                own_context.cancelAllJobs()
            if self._context is not None:
                if was_interrupted:
                    self._context.cancelJobsWithTag(self._tag)
                self._context.removeJobTag(self._tag)
        except Exception as error:  # noqa: BLE001 - the border to code of others
            if was_interrupted:
                sys.stderr.write(f"Jobs of Spark may go on: {type(error).__name__}: {error}\n")

    def _cancel(self, frame: FrameType | None) -> bool:
        """Within the signal: have the jobs cancelled, where the code waits for Spark.

        An exception within py4j would close its connection, and with it those of all threads;
        their jobs would be sent to Spark a second time. A cancelled job ends the wait instead.
        """
        if not _is_in_py4j(frame):
            return False
        self._since = self._since or monotonic()
        if monotonic() - self._since > PATIENCE_SECONDS:
            return False
        threading.Thread(target=self._cancel_there, name="lmc-spark", daemon=True).start()
        return True

    def _cancel_there(self) -> None:
        """On a thread, and so a connection, that does not wait for the job."""
        self._block.stop()  # it comes again, for a job that had not begun
        with contextlib.suppress(Exception):  # `_end` tries once more, and says why it fails
            self._context.cancelJobsWithTag(self._tag)


def _context() -> Any:
    """The SparkContext of this process; None when there is none."""
    kind = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(kind, "_active_spark_context", None)


def _is_in_py4j(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("py4j."):
            return True
        frame = frame.f_back
    return False
