"""Recorded replies, played word for word, and the recording of them.

One rule: a recording never pretends to be a model. Its label says what it is, and it refuses a
question that it does not have.

A recording is a JSON Lines file: a line `{"recording": NAME_OF_THE_MODEL}`, then for each
question a line `{"question": TEXT}` and its replies, each of them LMC chunks, one a line, and
a line `{"reply": "end"}`. Replies before the first question answer any question.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmc_jupyter.errors import ModelError, ProtocolError
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models.brief import Brief, Briefable, Notify, Stoppable, name_of
from lmc_jupyter.models.openai import to_chat
from lmc_jupyter.models.request import Record, Recordable, Request
from lmc_jupyter.stream import Assembler, delimit

if TYPE_CHECKING:
    from lmc_jupyter.agent import Model


@dataclass(frozen=True, slots=True)
class _Answer:
    """The replies to one question; None for any question."""

    question: str | None
    replies: list[list[Chunk]] = field(default_factory=list)


class ReplayModel:
    """Plays a recording.

    The conversation decides which reply comes next: its last question, and how much of the
    recorded answer follows it already. So cells can be run again, and in any order.

    Parameters
    ----------
    path : the recording
    **_ : options of any model (temperature, ...); a recording ignores them

    Raises
    ------
    ModelError
        When there is no such file, or it is no recording.
    """

    def __init__(self, path: str | Path, **_: Any) -> None:
        self.path = Path(path)
        self.name = f"replay/{path}"
        name, self._answers = _read(self.path)
        self.label = f"recording of {name}"
        self._brief: Callable[[], Brief] = Brief
        self._record: Record | None = None

    def __repr__(self) -> str:
        return f"ReplayModel({str(self.path)!r})"

    def with_brief(self, brief: Callable[[], Brief], notify: Notify) -> ReplayModel:  # noqa: ARG002
        """The same recording; `Request.body` shows the brief that a model would have received."""
        clone = copy.copy(self)
        clone._brief = brief
        return clone

    def with_record(self, record: Record) -> ReplayModel:
        """The same recording; it gives `record` each request that a model would have received."""
        clone = copy.copy(self)
        clone._record = record
        return clone

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        """Yield the recorded pieces of the next reply; raise `ModelError` if there is none."""
        if self._record is not None:
            chat = to_chat(messages, self._brief(), tools=True, vision=True)
            sentence = "A recording answers: a model would have received this. Nothing was sent."
            request = Request(self.label, {"recording": sentence, "messages": chat})
            request.free = True
            self._record(request)
            request.end()
        yield from self._next(messages)

    def _next(self, messages: list[Message]) -> list[Chunk]:
        at = max((i for i, each in enumerate(messages) if _asks(each)), default=-1)
        question = _question(messages[at]) if at >= 0 else ""
        answers = [answer for answer in self._answers if answer.question == question]
        answers = answers or [answer for answer in self._answers if answer.question is None]
        if not answers:
            questions = "; ".join(repr(each.question) for each in self._answers[:5])
            raise ModelError(
                f"the recording {self.path.name} has no answer to {question[:80]!r}: "
                f"it answers {questions or 'nothing'}. Choose a model with %lmc model NAME"
            )
        earlier = sum(_asks(each) and _question(each) == question for each in messages[:at])
        answer = answers[min(earlier, len(answers) - 1)]
        replies = sum(each.role == "assistant" for each in messages[at + 1 :])
        for reply in answer.replies:
            if replies <= 0:
                return reply
            replies -= _count(reply)
        raise ModelError(
            f"the recording {self.path.name} ends here: it has {len(answer.replies)} replies "
            f"to {question[:80]!r}. Choose a model with %lmc model NAME to go on"
        )


def record(model: Model, path: str | Path) -> Model:
    """A model that answers as `model` does and adds each whole reply to the file at `path`."""
    return _Recorder(model, Path(path))


class _Recorder:
    def __init__(self, model: Model, path: Path) -> None:
        self.name = name_of(model)
        self.label = getattr(model, "label", self.name)
        self._model, self._path = model, path

    def with_brief(self, brief: Callable[[], Brief], notify: Notify) -> Model:
        model = self._model
        inner = model.with_brief(brief, notify) if isinstance(model, Briefable) else model
        return _Recorder(inner, self._path)

    def with_record(self, record: Record) -> Model:
        model = self._model
        inner = model.with_record(record) if isinstance(model, Recordable) else model
        return _Recorder(inner, self._path)

    def stop(self) -> None:
        if isinstance(self._model, Stoppable):
            self._model.stop()

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        at = max((i for i, each in enumerate(messages) if _asks(each)), default=-1)
        lines: list[dict[str, Any]] = []
        if at >= 0 and not any(each.role == "assistant" for each in messages[at + 1 :]):
            lines.append({"question": _question(messages[at])})
        pieces = self._model.respond(messages)
        try:
            for piece in pieces:
                lines.append(piece.to_dict())
                yield piece
        finally:
            pieces.close()
        lines.append({"reply": "end"})
        if not self._path.exists():
            lines.insert(0, {"recording": self.label})
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(text)


def _asks(message: Message) -> bool:
    return message.role == "user"


def _question(message: Message) -> str:
    return " ".join(str(message.content).split())


def _count(reply: list[Chunk]) -> int:
    """How many messages a reply makes in a conversation."""
    assembler = Assembler()
    return sum(assembler.feed(chunk) is not None for chunk in delimit(reply))


def _read(path: Path) -> tuple[str, list[_Answer]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"the recording {path} cannot be read: {error}") from None
    of, answers = "a model", [_Answer(None)]
    reply: list[Chunk] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            if "question" in data:
                answers.append(_Answer(" ".join(str(data["question"]).split())))
            elif "recording" in data:
                of = str(data["recording"])
            elif data.get("reply") == "end":
                answers[-1].replies.append(reply)
                reply = []
            else:
                reply.append(_piece(data))
        except (ValueError, TypeError, AttributeError, ProtocolError) as error:
            raise ModelError(f"line {number} of the recording {path} is wrong: {error}") from None
    if reply:
        raise ModelError(f"the recording {path} breaks off: its last reply has no end")
    return of, [answer for answer in answers if answer.replies]


def _piece(data: dict[str, Any]) -> Chunk:
    piece = Chunk.from_dict(data)
    if piece.role != "assistant":
        raise ProtocolError(f"a reply may only hold assistant chunks, not {piece.role!r}")
    return piece
