"""Jobs that a block gives to Spark: an interrupt of the block cancels them.

One rule: only jobs that the block began; those of the person's own cells and threads go on. A tag
tells them apart. Spark is never imported here, nor called where this process has no context of it,
and nothing of this runs in a kernel that has not imported it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import uuid
from time import monotonic
from types import FrameType
from typing import Any

from lmc_jupyter.kernel.stop import Interruptible

PATIENCE_SECONDS = 2.0
"""How long code may wait for Spark after an interrupt, until it is interrupted like other code."""


class SparkJobs:
    """The jobs of one block, on the thread that runs it; of a context that it makes, all."""

    def __init__(self, block: Interruptible) -> None:
        self._block = block
        self._tag = ""
        self._before: Any = None
        self._context: Any = None
        self._since = 0.0

    def begin(self) -> None:
        """Tag the jobs of this thread from here on, where there is a context."""
        self._before = _context()
        if self._before is None:
            return
        self._tag = f"lmc-{uuid.uuid4().hex}"
        try:
            self._before.addJobTag(self._tag)
        except Exception:  # noqa: BLE001 - before Spark 3.5, or its JVM has ended: the code will say
            return
        self._context = self._before
        self._block.cancel = self._cancel

    def end(self, error: BaseException | None) -> None:
        """Untag the thread; where an interrupt, `error`, ended the code, cancel the jobs."""
        self._block.cancel = None
        was_interrupted = self._block.stopped or isinstance(
            error, (KeyboardInterrupt, asyncio.CancelledError)
        )
        try:
            if was_interrupted and self._before is None and (own_context := _context()) is not None:
                own_context.cancelAllJobs()
            if self._context is not None:
                if was_interrupted:
                    self._context.cancelJobsWithTag(self._tag)
                self._context.removeJobTag(self._tag)
        except Exception as failure:  # noqa: BLE001 - the border to code of others
            if was_interrupted:
                sys.stderr.write(f"Jobs of Spark may go on: {type(failure).__name__}: {failure}\n")

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
