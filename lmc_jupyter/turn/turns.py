"""A turn: one question and its answer, with the requests and times, and the fate of its code.

One rule: these classes count and tell events, and change nothing of the answer.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import NamedTuple

from lmc_jupyter.conversation import TurnRecord, events
from lmc_jupyter.conversation.events import Event, Fate
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.gate import Decision, Gate, Proposal
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models.request import Request

KEPT_TURNS = 50
"""The bodies of the requests of so many last turns are kept."""


@dataclass
class ReplyMeasure:
    """What one reply of the model took.

    Parameters
    ----------
    behind : the id of the message that the reply follows
    seconds : that the model took to write it, without the time in which its code waited or ran
    request : the request that made it; None for a model that tells none
    """

    behind: str | None
    seconds: float = 0.0
    request: Request | None = None


class Turn:
    """One turn.

    Parameters
    ----------
    where : where it was asked: "panel", "cell" (which a script is too), or "agent", where an agent
        outside the notebook brought code
    model : the model as a person reads it
    said : what the user said to begin it; empty when it went on from where things stood
    anchor : the id of the message that it begins at
    """

    def __init__(self, where: str, model: str, said: list[Message], anchor: str | None) -> None:
        self.id = uuid.uuid4().hex
        self.where, self.model = where, model
        self.said, self.anchor = said, anchor
        self.begun = datetime.now(timezone.utc)
        self.over = False
        self.failure = ""
        """The sentence of the error that ended it; "" where none did."""
        self.requests: list[Request] = []
        """What the model got, in order; `body` of each shows it."""
        self.replies: list[ReplyMeasure] = []
        """What the model's replies took, in order."""
        self._clock: tuple[float, float | None] = 0.0, time.monotonic()
        """Seconds of work before, and since when it works again; one value for all threads."""

    @classmethod
    def of_record(cls, record: TurnRecord, said: list[Message]) -> Turn:
        """A turn of an earlier kernel; the bodies of its requests are gone."""
        turn = cls(record.where, record.model, said, record.anchor)
        turn.over, turn._clock = True, (record.seconds, None)
        for sent, received, cost, seconds, cached, estimate in record.requests:
            request = Request(record.model, {})
            request.drop_body()
            request.seconds, request.cost = seconds, cost
            request.prompt_tokens, request.completion_tokens = sent, received
            request.cached_tokens, request.estimate = cached, estimate
            turn.requests.append(request)
        if turn.requests:
            turn.requests[-1].left_out = record.left_out
        return turn

    def __repr__(self) -> str:
        return f"<turn {self.id[:8]} by {self.model}, {self.seconds:.1f} s>"

    @property
    def seconds(self) -> float:
        """Of work from the question to the end, or to now; the person's thinking is none."""
        before, since = self._clock
        return before if since is None else before + time.monotonic() - since

    @property
    def prompt_tokens(self) -> int | None:
        """Of all its requests, as far as they were counted; None when none was."""
        return _sum(each.prompt_tokens for each in self.requests)

    @property
    def completion_tokens(self) -> int | None:
        """Of all its requests, as far as they were counted; None when none was."""
        return _sum(each.completion_tokens for each in self.requests)

    @property
    def cached_tokens(self) -> int | None:
        """Those of the prompts that came from the provider's cache; None where it does not say."""
        return _sum(each.cached_tokens for each in self.requests)

    @property
    def estimate(self) -> int | None:
        """Tokens by our own count of requests that the provider did not count; None for none."""
        return _sum(each.estimate for each in self.requests)

    @property
    def cost(self) -> float | None:
        """US dollars, as far as the prices are known; None when none is."""
        costs = [each.cost for each in list(self.requests) if each.cost is not None]
        return sum(costs) if costs else None

    @property
    def left_out(self) -> str:
        """A sentence on what of the conversation the last request did not hold; "" for nothing."""
        return next((each.left_out for each in reversed(self.requests) if each.left_out), "")

    def record(self, request: Request) -> None:
        """A request goes out."""
        if self.requests:
            request.follows(self.requests[-1])
        self.requests.append(request)
        if self.replies:
            self.replies[-1].request = request

    def pause(self) -> None:
        """The person is asked: their time is not the turn's."""
        self._clock = self.seconds, None

    def go_on(self) -> None:
        """The person has answered."""
        self._clock = self.seconds, time.monotonic()

    def end(self) -> None:
        self.pause()
        self.over = True


def _sum(numbers: Iterator[int | None]) -> int | None:
    counts = [each for each in numbers if each is not None]
    return sum(counts) if counts else None


class _Approval(NamedTuple):
    """The yes to a block of code; `at` is in seconds, monotonic."""

    asked: bool
    ran_before: Proposal | None
    at: float


class _Running(NamedTuple):
    """A block that runs; `code` is what runs, if it was edited, `since` in seconds, monotonic."""

    fate: Fate
    since: float
    code: str | None


class Blocks:
    """Follows the chunks of an answer and tells the fate of each block.

    Parameters
    ----------
    changes : tells, once, what the last block did to the person's names
    """

    def __init__(
        self, gate: Gate, tell: Callable[[Event], None], changes: Callable[[], Names | None]
    ) -> None:
        self._gate, self._tell, self._changes = gate, tell, changes
        self._whole = False  # a block is whole, and its fate is still open
        self._proposal: Proposal | None = None
        self._approval: _Approval | None = None
        self._running: _Running | None = None

    def before(self, chunk: Chunk) -> None:
        """Take a chunk before the view shows it."""
        if chunk.type == "confirmation":
            self._whole, self._proposal = False, self._gate.pending
            if self._proposal is not None:
                self._tell(events.Waits(self._proposal))
        elif chunk.role == "assistant":
            self._whole = chunk.type == "code" and chunk.end and chunk.recipient != "user"
        elif self._approval is not None:
            self._see(self._approval)
        elif self._whole:
            self._whole = False
            self._become("not run")

    def take_answer(self, decision: Decision | None) -> None:
        """Take the view's answer to the confirmation."""
        proposal, self._proposal = self._proposal, None
        if proposal is None:
            return
        self._tell(events.Answered(proposal, decision))
        if self._gate.is_outdated(proposal, decision):
            return  # its next proposal tells
        if proposal.verdict == "allow" if decision is None else decision.run:
            asked = proposal.verdict != "allow" and decision is not None and decision.asked
            self._approval = _Approval(asked, self._gate.ran, time.monotonic())
            self._changes()  # of code that somebody ran past the session
        else:
            self._become("not run")

    def after(self, chunk: Chunk) -> None:
        """Take a chunk after its event."""
        if chunk.format == "active_line" and chunk.content is None and self._running is not None:
            running, self._running = self._running, None
            self._has_run(running, running.fate)

    def end(self) -> None:
        """The answer is over."""
        if self._approval is not None:  # it had a yes, and no output before the stop
            self._see(self._approval)
        if self._running is not None:
            self._has_run(self._running, "stopped")
        elif self._proposal is not None:
            self._become("not run")

    def _see(self, approval: _Approval) -> None:
        """Tell whether it really runs: the gate may refuse in spite of the yes."""
        self._approval, ran = None, self._gate.ran
        if ran is approval.ran_before or ran is None:
            self._become("not run")
            return
        fate: Fate = "edited" if ran.edited else "ran"
        if not approval.asked:
            fate = "ran unasked"
        code = ran.code if ran.edited else None
        self._running = _Running(fate, approval.at, code)  # many a block is silent until its end
        self._become("running", 0.0, code)

    def _has_run(self, block: _Running, fate: Fate) -> None:
        self._become(fate, time.monotonic() - block.since, block.code)
        names = self._changes()
        if names is None:
            return
        if names.new or names.changed or names.removed or names.breach:
            self._tell(events.NamesChanged(names))
        if names.read:
            self._tell(events.FilesRead(names.read))
        if names.breach:
            self._gate.doubt = f"while the block before ran unasked, {names.breach}"

    def _become(self, fate: Fate, seconds: float = 0.0, code: str | None = None) -> None:
        self._tell(events.Became(fate, seconds, code))
