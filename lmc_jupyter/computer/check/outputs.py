"""What counts as the same output of a cell, after it has run again.

One rule: text counts, without what changes with every run (addresses, the times that IPython's own
magics print). Of a figure, a widget or any other output that is no text, it counts only that it is
there.

The rules are written down for people in docs/formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.content.html import html_text

MOST_OF_A_LINE = 100
"""Characters of a line that is quoted."""

_TEXTS = ("text/html", "text/markdown", "text/latex", "text/plain")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_CELL_FILE = re.compile(r"ipykernel_\d+([/\\])\d+")
"""The file name that ipykernel gives to a cell: the ids of the process and of the source."""
_TIMES = re.compile(
    r"(?:CPU times: |Wall time: |Compiler : |Compiler time: |Parser : |The slowest run took ).*"
    r"|.* per loop \(mean ± .*"
)
"""Whole lines that `%time` and `%timeit` print, some of them on a slow machine only."""


@dataclass
class Outputs:
    """The outputs of a cell, as far as they count.

    Parameters
    ----------
    lines : of text, without the blank ones
    errors : those of `lines` that were written to stderr, by their places
    figures : how many outputs are no text
    failure : (type, message) of the error that ended the cell; None without one
    """

    lines: list[str] = field(default_factory=list)
    errors: set[int] = field(default_factory=set)
    figures: int = 0
    failure: tuple[str, str] | None = None

    @classmethod
    def of(cls, outputs: Sequence[Mapping[str, Any]]) -> Outputs:
        """Those of a cell, in nbformat's form."""
        result = cls()
        text = ""
        was_error = False
        for output in outputs:
            kind, is_error = output.get("output_type"), output.get("name") == "stderr"
            if kind == "stream":
                if is_error != was_error:
                    result._add(text, was_error)
                    text, was_error = "", is_error
                text += _joined(output.get("text"))
                continue
            result._add(text, was_error)
            text, was_error = "", False
            if kind == "error":
                result.failure = str(output.get("ename")), _plain(str(output.get("evalue")))
            else:
                result._show(output.get("data") or {})
        result._add(text, was_error)
        return result

    def _add(self, text: str, is_error: bool = False) -> None:
        for line in _plain(text).split("\n"):
            if (words := " ".join(line.split())) and not _TIMES.fullmatch(words):
                if is_error:
                    self.errors.add(len(self.lines))
                self.lines.append(words)

    def _show(self, data: Mapping[str, Any]) -> None:
        if not set(data) <= set(_TEXTS):
            self.figures += 1
            return
        mime = next((each for each in _TEXTS if each in data), None)
        if mime is not None:
            text = _joined(data[mime])
            self._add(html_text(text) if mime == "text/html" else text)

    @property
    def printed(self) -> list[str]:
        """The lines without those of stderr."""
        return [line for place, line in enumerate(self.lines) if place not in self.errors]

    def difference(self, new: Outputs) -> list[str]:
        """Lines that tell how the new outputs differ from these; none where they are the same.

        stderr (warnings, logs, progress bars) may be there or not. An exported notebook has it
        among the other text, so all of the text may be equal as well.
        """
        texts = self.printed, self.lines
        if not any(each in (new.printed, new.lines) for each in texts):
            return _first_difference(self.printed, new.printed)
        if self.figures != new.figures:
            return _versus(_figures(self.figures), _figures(new.figures))
        if self.failure != new.failure:
            return _versus(_ending(self.failure), _ending(new.failure))
        return []


def _first_difference(saved: list[str], now: list[str]) -> list[str]:
    place = next(
        (at for at, (a, b) in enumerate(zip(saved, now, strict=False)) if a != b),
        min(len(saved), len(now)),
    )
    return _versus(*("".join(each[place : place + 1]) or "no output" for each in (saved, now)))


def _versus(saved: str, now: str) -> list[str]:
    return [
        f"{what:<6} {shorten.line(text, MOST_OF_A_LINE)}"
        for what, text in (("saved:", saved), ("now:", now))
    ]


def _figures(count: int) -> str:
    return {0: "no figure", 1: "1 figure"}.get(count, f"{count} figures")


def _ending(failure: tuple[str, str] | None) -> str:
    return "no error" if failure is None else error_line(*failure)


def error_line(name: str, message: str) -> str:
    """An error in one line."""
    line = " ".join(message.split())
    return shorten.line(f"{name}: {line}" if line else name, 2 * MOST_OF_A_LINE)


def _plain(text: str) -> str:
    return _CELL_FILE.sub(r"ipykernel_…\1…", _ADDRESS.sub("0x…", terminal.plain(text)))


def _joined(value: Any) -> str:
    """A text of a notebook: one string, or its lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")
