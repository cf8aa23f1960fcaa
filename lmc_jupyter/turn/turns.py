"""A turn: one question and all that was done to answer it, and what became of its code.

One rule: what is counted and told here changes nothing of the answer.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import NamedTuple

from lmc_jupyter.conversation import events
from lmc_jupyter.conversation.events import Event, Fate
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.gate import Decision, Gate, Proposal
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models.sent import Request

KEPT_TURNS = 50
"""The bodies of the requests of so many last turns are kept."""


@dataclass
class Measure:
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
    where : where it was asked: "panel" or "cell" (which a script is too)
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
        self.requests: list[Request] = []
        """What the model got, in order; `body` of each shows it."""
        self.replies: list[Measure] = []
        """What the model's replies took, in order."""
        self._clock, self._seconds = time.monotonic(), 0.0

    def __repr__(self) -> str:
        return f"<turn {self.id[:8]} by {self.model}, {self.seconds:.1f} s>"

    @property
    def seconds(self) -> float:
        """From the question to the end, or to now while it is not over."""
        return self._seconds if self.over else time.monotonic() - self._clock

    @property
    def prompt_tokens(self) -> int | None:
        """Of all its requests, as far as they were counted; None when none was."""
        return _sum(each.prompt_tokens for each in self.requests)

    @property
    def completion_tokens(self) -> int | None:
        """Of all its requests, as far as they were counted; None when none was."""
        return _sum(each.completion_tokens for each in self.requests)

    @property
    def cost(self) -> float | None:
        """US dollars, as far as the prices are known; None when none is."""
        known = [each.cost for each in list(self.requests) if each.cost is not None]
        return sum(known) if known else None

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

    def end(self) -> None:
        self._seconds, self.over = self.seconds, True


def _sum(numbers: Iterator[int | None]) -> int | None:
    known = [each for each in numbers if each is not None]
    return sum(known) if known else None


class _Approved(NamedTuple):
    """Code that somebody let run; `at` is in seconds, monotonic."""

    proposal: Proposal
    ran_before: Proposal | None
    at: float


class _Running(NamedTuple):
    """A block that runs; `code` is what runs, if it was edited, `since` in seconds, monotonic."""

    fate: Fate
    since: float
    code: str | None


class Blocks:
    """Follows the chunks of an answer and tells what becomes of each block.

    Parameters
    ----------
    changes : tells, once, what the last block did to the person's names
    """

    def __init__(
        self, gate: Gate, tell: Callable[[Event], None], changes: Callable[[], Names | None]
    ) -> None:
        self._gate, self._tell, self._changes = gate, tell, changes
        self._whole = False  # a block is whole and nothing is known of it yet
        self._asked: Proposal | None = None
        self._approved: _Approved | None = None
        self._running: _Running | None = None

    def before(self, chunk: Chunk) -> None:
        """The loop has made this chunk."""
        if chunk.type == "confirmation":
            self._whole, self._asked = False, self._gate.pending
            if self._asked is not None:
                self._tell(events.Waits(self._asked))
        elif chunk.role == "assistant":
            self._whole = chunk.type == "code" and chunk.end
        elif self._approved is not None:
            self._see(self._approved)
        elif self._whole:
            self._whole = False
            self._become("not run")

    def answered(self, decision: Decision | None) -> None:
        """The view has answered the confirmation."""
        asked, self._asked = self._asked, None
        if asked is None:
            return
        self._tell(events.Answered(asked, decision))
        if asked.verdict == "allow" if decision is None else decision.run:
            self._approved = _Approved(asked, self._gate.ran, time.monotonic())
            self._changes()  # of code that somebody ran past the session
        else:
            self._become("not run")

    def after(self, chunk: Chunk) -> None:
        """The chunk has been told."""
        if chunk.format == "active_line" and chunk.content is None and self._running is not None:
            running, self._running = self._running, None
            self._has_run(running, running.fate)

    def end(self) -> None:
        """The answer is over."""
        if self._approved is not None:  # it was let run, and put out nothing before it was stopped
            self._see(self._approved)
        if self._running is not None:
            self._has_run(self._running, "stopped")
        elif self._asked is not None:
            self._become("not run")

    def _see(self, approved: _Approved) -> None:
        """Whether it really runs: the gate may refuse in spite of the yes."""
        self._approved, ran = None, self._gate.ran
        if ran is approved.ran_before or ran is None:
            self._become("not run")
            return
        fate: Fate = "edited" if ran.edited else "ran"
        if approved.proposal.verdict == "allow":
            fate = "ran unasked"
        code = ran.code if ran.edited else None
        self._running = _Running(fate, approved.at, code)  # many a block is silent until its end
        self._become("running", 0.0, code)

    def _has_run(self, block: _Running, fate: Fate) -> None:
        self._become(fate, time.monotonic() - block.since, block.code)
        names = self._changes()
        if names is not None:
            self._tell(events.NamesChanged(names))

    def _become(self, fate: Fate, seconds: float = 0.0, code: str | None = None) -> None:
        self._tell(events.Became(fate, seconds, code))
