"""A worker of LiteLLM in which a test has patched something, and what happened there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lmc_jupyter.models.litellm import worker_process

NOTE = """
import os
def note(words):
    with open(os.environ["LMC_TEST_NOTES"], "a") as file:
        file.write(f"{words}\\n")
"""


class Notes:
    """What the worker has noted, by now."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self) -> list[str]:
        return self._file.read_text().splitlines() if self._file.exists() else []


def program(patch: str) -> str:
    """What a worker runs with this before it begins; there `note(words)` notes something."""
    last = "main(**options)"
    assert worker_process.BEGIN.count(last) == 1
    return worker_process.BEGIN.replace(last, f"{NOTE}{patch}\n{last}")


@contextmanager
def patched(patch: str = "", **options: Any) -> Iterator[worker_process.LiteLLMWorker]:
    """A worker that runs this first."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(worker_process, "BEGIN", program(patch))
        worker = worker_process.LiteLLMWorker(**options)
    try:
        yield worker
    finally:
        worker.end()
        worker.wait()


def use(
    worker: worker_process.LiteLLMWorker, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Notes:
    """Have this worker answer until the end of the test; returns what it notes meanwhile."""
    assert worker.is_alive, worker.why()
    monkeypatch.setattr(worker_process, "_workers", [worker])
    monkeypatch.setenv("LMC_TEST_NOTES", str(folder / "notes"))
    return Notes(folder / "notes")
