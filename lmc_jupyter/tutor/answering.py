"""The tutor as the model of a conversation: whatever a pupil asks, a hint is the answer.

One rule: it writes words only, and the model that words its hints never writes to the conversation.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from pathlib import Path

from lmc_jupyter.agent import Model, Pieces
from lmc_jupyter.errors import LMCError, ModelError, Stopped
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models.brief import Brief, Notify, Stoppable, give_brief
from lmc_jupyter.models.cancel import ignore
from lmc_jupyter.models.request import Record, Recordable
from lmc_jupyter.session import Session
from lmc_jupyter.tutor import exercises
from lmc_jupyter.tutor.exercises import Exercise
from lmc_jupyter.tutor.tutor import Tutor, Work

Find = Callable[["str | None"], tuple[Exercise, Work, Path]]
"""(id, None for the one that ran last) -> the exercise, the pupil's cell, the notebook's folder."""


def wish(id: str, expected: str) -> str:
    """What a pupil says who wants a hint for this exercise, and no more."""
    return f"A hint for {id}, please.{f' I expected: {expected}' if expected else ''}"


_WISH = re.compile(r"A hint for .+?, please\.(?: I expected: (.*))?", re.S)


class TutorModel:
    """Answers each question with the next hint of the ladder.

    Parameters
    ----------
    find : raises an LMCError where there is no exercise
    folder : of the notebook
    """

    label = "Tutor"

    def __init__(self, session: Session, find: Find, folder: Path) -> None:
        self._session, self._find, self._folder = session, find, folder
        self._notify: Notify = ignore
        self._record: Record | None = None
        self._writer: list[Model] = []

    def with_brief(self, brief: Callable[[], Brief], notify: Notify) -> TutorModel:  # noqa: ARG002
        """The same tutor, which says what it waits for; a hint needs nothing of the brief."""
        clone = copy.copy(self)
        clone._notify, clone._writer = notify, []
        return clone

    def with_record(self, record: Record) -> TutorModel:
        """The same tutor, whose model gives each request to `record`; see `Recordable`."""
        clone = copy.copy(self)
        clone._record = record
        return clone

    def stop(self) -> None:
        """End the request that is under way; see `Stoppable`."""
        for each in self._writer:
            if isinstance(each, Stoppable):
                each.stop()

    def respond(self, messages: list[Message]) -> Pieces:
        """The next hint, or what the pupil has to do first."""
        asked = [each for each in messages if each.role == "user" and each.type == "message"]
        question = str(asked[-1].content) if asked else ""
        try:
            exercise, work, folder = self._find(self._named(question))
            tutor = Tutor(self._session, folder)
            match = _WISH.fullmatch(question)
            if match is None:
                tutor.note_question(exercise, question)
            expected = (match[1] or "") if match else ""
            text = tutor.hint(exercise, work, expected, question=question, write=self._write).text
        except Stopped:
            raise
        except LMCError as error:
            text = f"This course gives hints and no answers. There is none now: {error}."
        yield Chunk("assistant", "message", content=text, start=True, end=True)

    def _named(self, question: str) -> str | None:
        """The exercise that a question names; None for none."""
        with suppress(LMCError):  # it is said when the exercise is looked for
            return _first_of(exercises.read(self._folder), question)
        return None

    def _write(self, instructions: str, question: str) -> str:
        """What the session's model makes of it: words, or nothing."""
        try:
            return self._words(instructions, question)
        except ModelError as error:
            self._notify(f"the hint comes in fixed words: {error}")
            return ""

    def _words(self, instructions: str, question: str) -> str:
        model = self._session.model
        if not getattr(model, "rephrases", True):
            return ""
        if isinstance(model, Recordable) and self._record is not None:
            model = model.with_record(self._record)
        return ask(model, instructions, question, self._notify, self._writer)


def ask(
    model: Model,
    instructions: str,
    question: str,
    notify: Notify = ignore,
    writer: list[Model] | None = None,
) -> str:
    """The words that a model answers; "" where it answers with code.

    Parameters
    ----------
    notify : takes what it waits for
    writer : gets the model that answers, for who wants to stop it
    """
    brief = Brief(instructions, languages={}, only_words=True)
    model = give_brief(model, lambda: brief, notify)
    if writer is not None:
        writer[:] = [model]
    text = ""
    with closing(model.respond([Message("user", "message", content=question)])) as pieces:
        for piece in pieces:
            if piece.type != "message":
                return ""
            text += str(piece.content or "")
    return text


def _first_of(names: Collection[str], text: str) -> str | None:
    places = {name: re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names}
    found = {name: match.start() for name, match in places.items() if match}
    return min(found, key=found.__getitem__, default=None)
