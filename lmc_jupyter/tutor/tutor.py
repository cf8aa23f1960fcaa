"""The tutor of one conversation: which hint comes, and when none does.

One rule: what a pupil had is read from the conversation, each time anew, so that it holds over
restarts; nothing else is remembered.
"""

from __future__ import annotations

import ast
import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from lmc_jupyter.conversation import Action
from lmc_jupyter.conversation.disk import write_whole
from lmc_jupyter.conversation.events import Acted
from lmc_jupyter.session import Session
from lmc_jupyter.tutor.attempt import Attempt, attempt
from lmc_jupyter.tutor.exercises import Exercise, ExerciseError
from lmc_jupyter.tutor.faults import Fault, find_fault, has_code
from lmc_jupyter.tutor.hints import LEVELS, Hint, template
from lmc_jupyter.tutor.leaks import find_leak
from lmc_jupyter.tutor.wording import Write, word

AN_HOUR = 12
"""Hints of all exercises together."""


@dataclass(frozen=True)
class Work:
    """A pupil's cell.

    Parameters
    ----------
    code : its source, as it ran last or stands in the file
    before : sources of the cells that ran before it, the oldest first
    has_run : whether it has run as it stands
    mode : of a course, by the tags of the cell
    """

    code: str
    before: tuple[str, ...]
    has_run: bool
    mode: str = ""


_STATES = {"plan": "to begin", "debug": "to find the mistake", "improve": "to make it better"}


class GivenHint(NamedTuple):
    """A hint, and what is left.

    Parameters
    ----------
    left : hints of this exercise that can still be had
    is_new : whether it counts: the same cell gets the same hint again
    """

    exercise: Exercise
    hint: Hint
    state: str
    left: int
    is_new: bool

    @property
    def text(self) -> str:
        """As a pupil reads it."""
        step = f"{LEVELS[self.hint.level - 1]}, {_STATES[self.state]}"
        left = f"{self.left} of {self.exercise.quota} hints left"
        again = "" if self.is_new else " Change the cell and run it for the next one."
        return f"Hint for {self.exercise.id} ({step}; {left})\n\n{self.hint.text}{again}"


class Tutor:
    """Hints for the exercises of a session's notebook.

    Parameters
    ----------
    folder : of the notebook
    """

    def __init__(self, session: Session, folder: Path) -> None:
        self._session, self._folder = session, folder

    def test(self, exercise: Exercise, work: Work) -> Attempt:
        """Run the cell against the exercise's tests, and note that.

        Raises
        ------
        ExerciseError
            Where it cannot be tried.
        """
        found = attempt(exercise, work.code, work.before, self._folder)
        self._note(
            "attempt", exercise, work, passed=found.has_passed, test=found.test[:200],
            tests=[found.passed, found.tests],
        )  # fmt: skip
        return found

    def hint(
        self,
        exercise: Exercise,
        work: Work,
        expected: str = "",
        *,
        question: str = "",
        write: Write | None = None,
    ) -> GivenHint:
        """The next hint for this cell.

        Parameters
        ----------
        expected : what the pupil says that they expected; "" for nothing
        question : what the pupil asked in words, for the model that words the hint
        write : asks the model that words the hint, for an answer that shows it; None: it comes in
            our own words, into the conversation

        Raises
        ------
        ExerciseError
            Where there is none now, with what to do first.
        """
        if work.mode == "off":
            raise ExerciseError(
                "this exercise is done without hints: `%lmc test` says which of its tests fail"
            )
        if not work.has_run and has_code(work.code):
            raise ExerciseError(
                "run the cell first: a hint is about what you have tried (an empty cell gets one "
                "without)"
            )
        before = [each for each in self._actions("hint") if each["exercise"] == exercise.id]
        last = before[-1] if before else None
        counted = len(before)
        is_same = last is not None and last.get("sha256") == _digest(work.code)
        if not is_same:
            self._check_quota(exercise, counted)
        tried = attempt(exercise, work.code, work.before, self._folder)
        fault = find_fault(exercise, tried)
        level = self._level(last, fault, is_same=is_same)
        hint = self._choose(exercise, tried, fault, level, work)
        if last is not None and is_same and isinstance(last.get("text"), str):
            hint = hint._replace(text=str(last["text"]))
        elif write is not None:
            hint = word(write, exercise, work.code, hint, question)
        left = max(0, exercise.quota - counted - (not is_same))
        given = GivenHint(exercise, hint, fault.state, left, not is_same)
        if given.is_new:
            if write is None:
                self._session.conversation.tell_person(given.text)  # also: so that it is saved
            self._note(
                "hint", exercise, work, level=level, kind=fault.kind, line=fault.line,
                expected=expected[:500], text=hint.text,
            )  # fmt: skip
        return given

    def note_question(self, exercise: Exercise, text: str) -> None:
        """Note what the pupil asked."""
        note = {"action": "question", "exercise": exercise.id, "text": text[:500]}
        self._session.history.tell(Acted(note, at=0))

    def actions(self) -> dict[str, tuple[Mapping[str, Any], ...]]:
        """What the pupil did in this notebook: kind -> its notes, the oldest first."""
        return {kind: tuple(self._actions(kind)) for kind in ("attempt", "hint", "question")}

    @staticmethod
    def _level(last: Mapping[str, Any] | None, fault: Fault, *, is_same: bool) -> int:
        """A step up for the same kind of fault in a cell that has changed; else from the first."""
        if last is None or last.get("kind") != fault.kind:
            return 1
        before = last.get("level")
        level = before if isinstance(before, int) else 1
        return level if is_same else min(level + 1, len(LEVELS))

    def _choose(
        self, exercise: Exercise, tried: Attempt, fault: Fault, level: int, work: Work
    ) -> Hint:
        """The hint of this level, the teacher's where there is one."""
        if level == 3 and (text := self._of_teacher(exercise, tried, work)):
            return Hint(text, level, fault.line)
        hint = template(tried, fault, level)
        if find_leak(hint.text, exercise, work.code):  # by what an error says: the first step has
            return template(tried, fault, 1)._replace(level=level)  # nothing of that
        return hint

    def _of_teacher(self, exercise: Exercise, tried: Attempt, work: Work) -> str:
        """The teacher's hint for the common mistake that this cell makes; "" for none."""
        for mistake in exercise.mistakes:
            other = attempt(exercise, mistake.code, work.before, self._folder)
            is_like = _outcome(other) == _outcome(tried)
            if is_like and not find_leak(mistake.hint, exercise, work.code):
                return mistake.hint
        return ""

    def _check_quota(self, exercise: Exercise, counted: int) -> None:
        if counted >= exercise.quota:
            raise ExerciseError(
                f"you had all {exercise.quota} hints of this exercise: go on by yourself, or ask "
                "your teacher. `%lmc test` still says which tests fail"
            )
        an_hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
        recent = [each for each in self._actions("hint") if _time(each) > an_hour_ago]
        if len(recent) >= AN_HOUR:
            raise ExerciseError(
                f"you had {AN_HOUR} hints within an hour: work on what they say, and ask again "
                "later"
            )

    def _actions(self, action: str) -> Iterator[Mapping[str, Any]]:
        """What was noted of this kind in all conversations of the notebook, the oldest first."""
        found = [
            each.data
            for events in self._events()
            for each in events
            if each.data.get("action") == action and isinstance(each.data.get("exercise"), str)
        ]
        yield from sorted(found, key=_time)

    def _events(self) -> Iterator[Sequence[Action]]:
        journal = self._session.journal
        yield journal.conversation().events
        if journal.notebook and journal.conversations is not None:
            for entry in journal.conversations.list():
                if entry.notebook == journal.notebook and entry.id != journal.id:
                    yield journal.conversations.read(entry.id).events

    def _note(self, action: str, exercise: Exercise, work: Work, **data: Any) -> None:
        note = {"action": action, "exercise": exercise.id, "sha256": _digest(work.code)}
        # before all messages: an undo of a question gives no hint back
        self._session.history.tell(Acted({**note, **data}, at=0))


def _outcome(tried: Attempt) -> tuple[object, ...]:
    """By what two attempts are the same mistake."""
    left = tried.left.repr if tried.left is not None else ""
    return tried.stage, tried.test, tried.error, tried.message, left


def pseudonym() -> str:
    """The word that stands for this person in reports; made at the first of them."""
    path = platformdirs.user_data_path("lmc-jupyter") / "pseudonym"
    try:
        return path.read_text("utf-8").strip() or "pupil"
    except FileNotFoundError:
        name = f"pupil-{secrets.token_hex(3)}"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, name.encode())
        return name


def _digest(code: str) -> str:
    """Of what the code does: a comment or a blank more is no change."""
    try:
        text = ast.dump(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        text = code.strip()
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _time(data: Mapping[str, Any]) -> datetime:
    """When it was noted; long ago where that cannot be read."""
    try:
        found = datetime.fromisoformat(str(data.get("time")))
    except ValueError:
        return datetime.min.replace(tzinfo=timezone.utc)
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
