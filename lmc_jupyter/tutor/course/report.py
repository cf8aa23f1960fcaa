"""What pupils did in a course: one page of HTML that needs nothing else, for a pupil or a class.

One rule: a page has only what its pupil has read before handing it in; the pupils are there by
pseudonym unless they gave a name.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from html import escape
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from lmc_jupyter.conversation.disk import write_whole
from lmc_jupyter.tutor.exercises import ExerciseError
from lmc_jupyter.tutor.hints import LEVELS

MAX_BYTES = 20_000_000
MOST_ROWS = 8
"""Failing tests, or questions of one group, on a page."""
_DATA = re.compile(r'<script type="application/json" id="lmc-submission">(.*?)</script>', re.S)

GROUPS = (
    ("asked for the solution",
     r"\b(solutions?|answers?|solve|just the code|code for|write (it|the)|do it|lösung)\b"),
    ("asked about an error",
     r"\b(errors?|exceptions?|traceback|fail(s|ed)?|wrong|work(s|ing)?|fehler|falsch)\b"),
    ("asked what or why", r"\b(what|why|how|where|when|mean(s|ing)?|understand|was|warum|wie)\b"),
    ("other", ""),
)  # fmt: skip
"""(name, pattern) of the groups of questions; the first one that fits counts."""


@dataclass(frozen=True)
class Submission:
    """What one pupil did in one notebook.

    Parameters
    ----------
    pupil : a pseudonym, or the name that they gave
    notebook : its file's name
    made : when this was collected, ISO 8601
    attempts : {"exercise", "time", "passed", "test", "tests": [passed, all]}, the oldest first
    hints : {"exercise", "time", "level", "kind", "line", "expected"}
    questions : {"exercise", "time", "text"}
    """

    pupil: str
    notebook: str
    made: str
    attempts: tuple[Mapping[str, Any], ...] = ()
    hints: tuple[Mapping[str, Any], ...] = ()
    questions: tuple[Mapping[str, Any], ...] = ()

    @property
    def exercises(self) -> list[str]:
        """The ids of those that the pupil worked on, in their order."""
        every = sorted((*self.attempts, *self.hints, *self.questions), key=_time)
        return list(dict.fromkeys(str(each.get("exercise")) for each in every))


def read(path: Path) -> Submission:
    """What stands in a page that a pupil handed in.

    Raises
    ------
    ExerciseError
        Where it is no such page.
    """
    if path.stat().st_size > MAX_BYTES:
        raise ExerciseError(f"{path.name} is larger than {MAX_BYTES:,} bytes")
    match = _DATA.search(path.read_text("utf-8", errors="replace"))
    try:
        found = json.loads(match[1]) if match else {}
        kinds = ("attempts", "hints", "questions")
        lists = {kind: tuple(map(_checked, found[kind])) for kind in kinds}
        texts = {key: str(found[key]) for key in ("pupil", "notebook", "made")}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ExerciseError(f"{path.name} is no page that `%lmc report` made") from None
    return Submission(
        texts["pupil"], texts["notebook"], texts["made"],
        lists["attempts"], lists["hints"], lists["questions"],
    )  # fmt: skip


def _checked(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("exercise"), str):
        raise TypeError("it is no entry of a report")
    datetime.fromisoformat(str(value["time"]))
    return value


def write(path: Path, text: str) -> None:
    """Write a page in one step."""
    write_whole(path, text.encode())


# The page -----------------------------------------------------------------------------------------

_STYLE = """
:root { color-scheme: light dark; background: Canvas; color: CanvasText; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: .6em 0 1.4em; }
th, td { border-bottom: 1px solid #8886; padding: .25em 1em .25em 0; text-align: left;
  vertical-align: top; font-variant-numeric: tabular-nums; }
td { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
"""


def of_pupil(submission: Submission) -> str:
    """The page of one pupil, which they read before they hand it in."""
    data = json.dumps(asdict(submission), ensure_ascii=False).replace("<", "\\u003c")
    words = (
        "<p>This is all that your teacher gets if you hand this file in: your attempts, the hints "
        "that you had, what you asked, and what you expected. You are there as "
        f"<b>{escape(submission.pupil)}</b>.</p>"
    )
    script = f'<script type="application/json" id="lmc-submission">{data}</script>'
    return _page(f"My work in {submission.notebook}", [words, *_sections([submission])], script)


def of_class(submissions: Sequence[Submission]) -> str:
    """The page of all pupils together."""
    in_time = sorted(submissions, key=attrgetter("made"))
    latest = {(each.pupil, each.notebook): each for each in in_time}
    found = list(latest.values())
    pupils = {each.pupil for each in found}
    words = f"<p>{len(pupils)} pupil{'' if len(pupils) == 1 else 's'}, {len(found)} "
    words += f"notebook{'' if len(found) == 1 else 's'}.</p>"
    return _page("What the class did", [words, *_sections(found)], "")


def _page(title: str, parts: Iterable[str], script: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n" + "\n".join(parts) + f"\n</main>\n{script}</body>\n</html>\n"
    )


def _sections(submissions: Sequence[Submission]) -> Iterator[str]:
    ids = list(dict.fromkeys(id for submission in submissions for id in submission.exercises))
    if not ids:
        yield "<p>No exercise was tried yet.</p>"
        return
    found = [_Tally(id, submissions) for id in ids]
    head = ("exercise", "tried", "passed", "attempts", "minutes to the first pass",
            *LEVELS)  # fmt: skip
    yield "<h2>All exercises</h2>"
    yield _table(head, (each.row() for each in found), "Attempts and minutes are medians.")
    for each in found:
        yield f"<h2>{escape(each.id)}</h2>"
        yield from each.parts()


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    cells = "".join(f'<th scope="col">{escape(each)}</th>' for each in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    after = f"<p>{escape(note)}</p>" if note else ""
    return f'<div class="wide"><table><thead><tr>{cells}</tr></thead>{body}</table></div>{after}'


def _cell(value: object) -> str:
    return f"<td>{escape(str(value))}</td>"


class _Pupil(NamedTuple):
    """What one pupil did in one exercise, the oldest first."""

    name: str
    attempts: list[Mapping[str, Any]]
    hints: list[Mapping[str, Any]]

    @property
    def minutes(self) -> float | None:
        """From the first attempt or hint to the first pass; None for none."""
        passes = [_time(each) for each in self.attempts if each.get("passed") is True]
        if not passes:
            return None
        first = min(map(_time, (*self.attempts, *self.hints)))
        return (min(passes) - first).total_seconds() / 60


class _Tally:
    """What all pupils did in one exercise."""

    def __init__(self, id: str, submissions: Sequence[Submission]) -> None:
        self.id = id
        every = [
            _Pupil(each.pupil, _of(id, each.attempts), _of(id, each.hints)) for each in submissions
        ]
        self.pupils = [each for each in every if each.attempts or each.hints]
        self.hints = [hint for each in self.pupils for hint in each.hints]
        self.questions = [
            each for submission in submissions for each in _of(id, submission.questions)
        ]

    def row(self) -> list[object]:
        """Of the table of all exercises."""
        minutes = [each.minutes for each in self.pupils if each.minutes is not None]
        levels = Counter(each.get("level") for each in self.hints)
        counts = [len(each.attempts) for each in self.pupils]
        return [
            self.id,
            len(self.pupils),
            len(minutes),
            _short(median(counts)) if counts else "",
            _short(median(minutes)) if minutes else "",
            *(levels.get(number, 0) for number in range(1, len(LEVELS) + 1)),
        ]

    def parts(self) -> Iterator[str]:
        """The tables below the exercise's own heading."""
        failed = [
            [each for each in pupil.attempts if each.get("passed") is not True]
            for pupil in self.pupils
        ]
        tests = Counter(str(each[0].get("test") or "the cell itself") for each in failed if each)
        if tests:
            yield _table(("first failing test", "pupils"), tests.most_common(MOST_ROWS))
        kinds = Counter(str(each.get("kind")) for each in self.hints)
        if kinds:
            yield _table(("hints about", "number"), kinds.most_common(MOST_ROWS))
        rows = [
            (each.name, len(each.attempts), _when(each.minutes), len(each.hints),
             sum(bool(hint.get("expected")) for hint in each.hints))
            for each in self.pupils
        ]  # fmt: skip
        head = ("pupil", "attempts", "minutes to the first pass", "hints", "expectations")
        yield _table(head, rows)
        yield from self._questions()

    def _questions(self) -> Iterator[str]:
        expected = [str(each.get("expected") or "") for each in self.hints]
        texts = [str(each.get("text") or "") for each in self.questions]
        said = [each for each in dict.fromkeys([*texts, *expected]) if each.strip()]
        groups: dict[str, list[str]] = {}
        for text in said:
            groups.setdefault(_group(text), []).append(text)
        rows = [(name, text) for name, _ in GROUPS for text in groups.get(name, ())[:MOST_ROWS]]
        if rows:
            yield _table(("questions and expectations", "in the pupil's words"), rows)


def _of(id: str, entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted((each for each in entries if each.get("exercise") == id), key=_time)


def _time(entry: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(str(entry["time"]))


def _group(text: str) -> str:
    return next(name for name, pattern in GROUPS if re.search(pattern, text, re.I))


def _when(minutes: float | None) -> object:
    return "not yet" if minutes is None else _short(minutes)


def _short(number: float) -> float:
    return round(number, 1) if number % 1 else int(number)
