"""The answers of a session: one at a time, until it is over or stopped.

One rule: after a stop nothing begins, even with a yes from before; and an event comes before its
chunk is shown.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence

from lmc_jupyter.agent import Model, Reply
from lmc_jupyter.computer import Computer
from lmc_jupyter.conversation import TurnRecord, events
from lmc_jupyter.conversation.events import Acted, Began, Ended
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.errors import LMCError, SessionError, Stopped
from lmc_jupyter.gate import Decision, Gate, Runner
from lmc_jupyter.interrupts import delay_interrupt
from lmc_jupyter.keys.redactor import redact_output
from lmc_jupyter.lmc import RECEIPTS, Chunk, Message
from lmc_jupyter.models.brief import Stoppable
from lmc_jupyter.models.request import Recordable, Request
from lmc_jupyter.models.spending import Spending
from lmc_jupyter.turn.receipts import find_receipts
from lmc_jupyter.turn.turns import KEPT_TURNS, Blocks, ReplyMeasure, Turn


class Answers:
    """Gives the answers of one session.

    Parameters
    ----------
    history : the session's conversation, which an answer adds to
    gate : where its code is asked for
    spending : counts what its requests cost
    changes : tells, once, what the last block of code did to the person's names
    receipts : whether the numbers of closing words are looked up
    """

    def __init__(
        self,
        history: History,
        gate: Gate,
        spending: Spending,
        changes: Callable[[], Names | None],
        receipts: Callable[[], bool],
    ) -> None:
        self.turns: list[Turn] = []
        """Of every question that was asked here and stands in the messages."""
        self._history, self._gate = history, gate
        self._spending, self._changes, self._receipts = spending, changes, receipts
        self._busy, self._stop = threading.Lock(), threading.Event()
        self._model: Model | None = None  # while it answers
        self._turn: Turn | None = None  # whose answer is being given
        self._begins = 0  # where the messages of the last turn begin

    @property
    def busy(self) -> bool:
        """Whether an answer is being given."""
        return self._busy.locked()

    @property
    def stopped(self) -> bool:
        """Whether the last answer was stopped by `stop`."""
        return self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until no answer is being given; returns whether none is."""
        if not self._busy.acquire(timeout=seconds):
            return False
        self._busy.release()
        return True

    def idle(self, what: str) -> Idle:
        """A lock against answers; `what` names the step that cannot be done during one.

        Raises
        ------
        SessionError
            Where it is entered while an answer is being given.
        """
        return Idle(self._busy, what)

    def stop(self) -> None:
        """Let nothing more begin, and end the model's reply; from any thread."""
        with delay_interrupt():  # an event has a lock of its own, which a Ctrl-C may leave taken
            self._stop.set()
        if isinstance(self._model, Stoppable):
            self._model.stop()

    def ready(self) -> None:
        """Clear the stop before the next answer."""
        with delay_interrupt():
            self._stop.clear()

    def is_giving(self, at: int) -> bool:
        """Whether the message at this place belongs to an answer that is being given."""
        return self.busy and at >= self._begins

    def restore(self, records: Sequence[TurnRecord]) -> None:
        """Have the turns of an earlier kernel whose question stands in the messages."""
        there = {message.id: message for message in self._history}
        last = {(each.anchor, each.said): each for each in records}
        self.turns[:] = [
            Turn.of_record(each, [there[id] for id in each.said])
            for each in last.values()
            if each.anchor in there and all(id in there for id in each.said)
        ]

    def forget(self) -> None:
        """Remove the turns whose question is no longer in the messages."""
        there = {message.id for message in self._history}
        self.turns[:] = [
            turn
            for turn in self.turns
            if turn.anchor in there and all(each.id in there for each in turn.said)
        ]

    def place(self, turn: events.TurnLike) -> int:
        """Where the question of this turn begins in the messages.

        Raises
        ------
        SessionError
            When it is not there any more, or there was none.
        """
        self.forget()
        if turn not in self.turns:
            raise SessionError(
                "this question is no longer in the conversation: ask it as a new question"
            )
        if not turn.said:
            raise SessionError(
                "this answer continued the one before it and has no question of its own: "
                "retry that question"
            )
        start = self._history.place(turn.anchor or "")
        assert start is not None, "the turn would have been forgotten"
        return start

    def give(self, turn: Turn, begin: Callable[[Turn], Reply]) -> Reply:
        """The answer of this turn, whose question stands at the end of the messages.

        Parameters
        ----------
        begin : begins the reply, by a model of `record_model`, on a computer of `until_stopped`

        Raises
        ------
        SessionError
            While another one is being given.
        """
        reply: Reply | None = None
        error: BaseException | None = None
        blocks = Blocks(self._gate, self._history.tell, self._changes)
        try:
            self._start(turn)
            reply = begin(turn)
            yield from self._drive(reply, blocks, turn)
        except Stopped:
            return
        except KeyboardInterrupt as stop:  # the code that a stop has ended
            if not self._stop.is_set():
                error = stop
                raise
        except BaseException as failure:
            error = failure
            if isinstance(failure, Exception) and not self._stop.is_set():
                turn.failure = str(failure) if isinstance(failure, LMCError) else repr(failure)
            raise
        finally:
            try:
                if reply is not None:
                    reply.close()
            finally:
                try:
                    self._end(turn, blocks, error)
                except KeyboardInterrupt:  # it came before the end, or behind it
                    self._end(turn, blocks, error)
                    raise

    def _start(self, turn: Turn) -> None:
        with delay_interrupt():
            if not self._busy.acquire(blocking=False):
                raise SessionError("an answer is still in progress: stop it first")
            self._turn = turn
            self.turns.append(turn)
            self._begins = max(0, len(self._history) - max(1, len(turn.said)))
            self._spending.begin_turn()
            self._history.tell(Began(turn))

    def _end(self, turn: Turn, blocks: Blocks, error: BaseException | None) -> None:
        """End this turn, once."""
        with delay_interrupt():
            if self._turn is not turn:
                return
            try:
                self._model = None
                turn.end()
                for old in self.turns[:-KEPT_TURNS]:
                    for request in old.requests:
                        request.drop_body()
                blocks.end()
                if error is None and not turn.failure and self._receipts():
                    self._add_receipts()
            finally:
                if self._stop.is_set():
                    self._history.tell(Acted({"action": "stop"}))
                self._history.tell(Ended(turn, error))
                self._turn = None
                self._busy.release()

    def _add_receipts(self) -> None:
        """Mark the closing words with where their numbers stand."""
        if receipts := find_receipts(self._history, self._begins):
            self._history.mark(len(self._history) - 1, {RECEIPTS: receipts})

    def _drive(self, reply: Reply, blocks: Blocks, turn: Turn) -> Reply:
        answer: Decision | None = None
        chunk: Chunk | None = None
        while not self._stop.is_set() or _announces(chunk):
            try:
                chunk = reply.send(answer)
            except StopIteration:
                return
            if chunk.type == "confirmation":
                turn.pause()
            blocks.before(chunk)
            if chunk.type == "confirmation":
                answer = yield chunk
                turn.go_on()
                blocks.take_answer(answer)
            else:
                blocks.after(chunk)
                answer = yield chunk

    def record_model(self, model: Model, turn: Turn) -> Model:
        """The same model, which records its requests, their time and their cost in the turn."""
        if isinstance(model, Recordable):

            def record(request: Request) -> None:
                self._spending.record(request)  # first: one that a limit forbids is not sent
                turn.record(request)

            model = model.with_record(record)
        else:
            self._spending.check_model(model)
        self._model = model
        return _Stopwatch(model, turn)

    def until_stopped(self, computer: Computer, begins: Callable[[], None]) -> Runner:
        """The computer of an answer, with keys redacted in its output.

        Parameters
        ----------
        begins : is called before a block of code begins
        """
        return _UntilStopped(computer, self._stop, begins)


def _announces(chunk: Chunk | None) -> bool:
    """Whether the output of code follows this chunk at once.

    That output was made before the stop: the person has seen it in the cell already.
    """
    if chunk is None or chunk.role != "computer":
        return False
    is_line = chunk.format == "active_line" and chunk.content is not None
    return is_line or (chunk.start and chunk.content is None)


class Idle:
    """Locks a session's turns for a moment, or raises a sentence."""

    def __init__(self, lock: threading.Lock, what: str) -> None:
        self.lock, self.what = lock, what

    def __enter__(self) -> None:
        is_mine = False
        try:
            with delay_interrupt():
                is_mine = self.lock.acquire(blocking=False)
                if not is_mine:
                    text = f"cannot {self.what} while an answer is in progress: stop it first"
                    raise SessionError(text)
        except KeyboardInterrupt:
            if is_mine:
                self.lock.release()
            raise

    @property
    def __exit__(self) -> Callable[..., None]:
        """The lock's own, which no Ctrl-C comes into."""
        return self.lock.__exit__


class _Stopwatch:
    """The model of one answer, which records in the turn how long each reply took."""

    def __init__(self, model: Model, turn: Turn) -> None:
        self._model, self._turn = model, turn

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        measure = ReplyMeasure(messages[-1].id if messages else None)
        self._turn.replies.append(measure)
        start = time.monotonic()
        pieces = self._model.respond(messages)
        try:
            for piece in pieces:
                measure.seconds += time.monotonic() - start
                yield piece
                start = time.monotonic()
            measure.seconds += time.monotonic() - start
        finally:
            if isinstance(pieces, Generator):
                pieces.close()


class _UntilStopped:
    """The computer of one answer."""

    def __init__(
        self, computer: Computer, stop: threading.Event, begins: Callable[[], None]
    ) -> None:
        self._computer, self._stop, self._begins = computer, stop, begins

    def run_promised(self, language: str, code: str) -> Generator[Chunk, None, None]:
        """As `run`, for code that is held to what it said."""
        return self.run(language, code, is_promised=True)

    def run(
        self, language: str, code: str, *, is_promised: bool = False
    ) -> Generator[Chunk, None, None]:
        self._begins()
        pieces = self._computer.run_granted(language, code, is_promised=is_promised)
        # from here on its own `stop` reaches it
        if self._stop.is_set():
            pieces.close()
            raise Stopped("stopped before the code was run")
        return redact_output(pieces)
