"""The loop: ask the model, offer its code, run it once it is granted, and ask again.

One rule: it does no I/O and no waiting of its own. It yields chunks; at a confirmation the
caller sends a `Decision` back; closing the generator means stop. Each block of code is
offered as soon as it is whole, so that its result stands right behind it in the history.

The protocol: docs/protocol.md, section "The loop".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from lmc_jupyter.content.error_text import fails
from lmc_jupyter.content.remarks import NOT_RUN
from lmc_jupyter.conversation.history import History
from lmc_jupyter.errors import CallError, ComputerError, GateError, LMCError, ModelError, Stopped
from lmc_jupyter.gate import Decision, Gate, Grant, Runner
from lmc_jupyter.limits import Atomic, Limits
from lmc_jupyter.lmc import (
    EDITED,
    PARTIAL,
    SECONDS,
    Chunk,
    Message,
    Note,
    clean,
    confirmation,
    is_code,
    is_partial,
    is_proposal,
)
from lmc_jupyter.stream import delimit

Pieces = Generator[Chunk, None, None]
"""What a model or a language makes; closing it stops whatever makes them."""

Reply = Generator[Chunk, Decision | None, None]
"""What a view drives: chunks out, one Decision back per confirmation."""

STRANGE = "it came with the conversation from a file, so you are asked"

MAX_MISTAKES = 2
"""Calls in a row that make no sense, after which the person reads why, and the model is not asked
again."""

LONG = 2.0
"""Seconds of a block from which on its result says how long it took."""

PROPOSED = (
    "The person sees this proposal, and nothing has run. If they put it into a cell, you read so "
    "before their next words."
)
"""What a model reads behind a proposal."""

MAX_DECLINED = 3
"""Blocks in a row without a yes, after which the model is not asked again."""


class Model(Protocol):
    """A language model: reads the conversation, writes pieces.

    A reply that is not whole ends with a `ModelError`, never quietly.
    """

    def respond(self, messages: list[Message]) -> Pieces: ...


def respond(
    messages: list[Message] | History,
    model: Model,
    computer: Runner,
    *,
    gate: Gate | None = None,
    max_turns: int = 20,
    max_blocks: int = 100,
    limits: Limits | None = None,
    strange: Collection[str | None] = (),
    asks: str = "",
    meanwhile: Callable[[], Iterable[Message]] = tuple,
) -> Reply:
    """Yield the chunks of one whole answer; every finished message is appended to `messages`.

    Parameters
    ----------
    messages : list of Message, or History
        The conversation. If it ends in assistant code that has not run, that is offered
        first, without asking the model.
    gate : Gate, optional
        Default: one that asks for everything. A confirmation that gets no Decision declines.
    max_turns, max_blocks : int
        How many replies, and how many blocks of code in all, before it stops and says so.
    limits : Limits, optional
        Limits on code beside the gate's policy. Code that they refuse is neither offered nor run,
        and the person and the model read why.
    strange : ids of messages
        Code of these is asked for even where policy lets it run: it came with a file.
    asks : str, optional
        Why all code of this answer is asked for even where policy lets it run. What of it is not
        run is over: it does not wait for another answer.
    meanwhile : callable, optional
        Returns what the user has said since; asked before each request but the first.

    Raises
    ------
    ModelError
        The model failed. What it had written stays in `messages`, marked as partial.
    """
    limits = limits or Limits()
    gate = gate or Gate()
    history = messages if isinstance(messages, History) else History(messages)
    loop = _Loop(
        history, model, computer, gate, max_turns, max_blocks, limits, strange, asks, meanwhile
    )
    return loop.respond()


@dataclass
class _Loop:
    """The state of one answer."""

    history: History
    model: Model
    computer: Runner
    gate: Gate
    max_turns: int
    max_blocks: int
    limits: Limits
    strange: Collection[str | None]
    asks: str
    meanwhile: Callable[[], Iterable[Message]]
    turn: int = 0
    blocks: int = 0
    before: int = 0  # blocks that came before this reply
    declines: int = 0  # in a row
    mistakes: int = 0  # in a row
    fate: str = ""  # of the block before in this reply, where it did not run to its end
    proposals: set[str] = field(default_factory=set)
    goes_on: bool = False  # whether the reply ends with a proposal that is a new one

    def respond(self) -> Reply:
        self.gate.doubt = ""
        try:
            last = self.history.last
            if last is not None and is_code(last):
                yield from self.offer(last)
            for turn in range(1, self.max_turns + 1):
                self.turn, self.before, self.fate = turn, self.blocks, ""
                if turn > 1:
                    for message in self.meanwhile():
                        self.history.append(message.stamped())
                try:
                    yield from self.reply()
                except CallError as error:
                    yield from self.send_back(error)
                    continue
                self.mistakes = 0
                if self.blocks == self.before and not self.goes_on:
                    return
                if self.declines >= MAX_DECLINED:
                    yield from self.note(
                        f"Stopped: {self.declines} blocks of code in a row were not run. "
                        "Ask again to go on."
                    )
                    return
                if self.blocks >= self.max_blocks:
                    break
            yield from self.note(
                f"Stopped after {self.turn} replies and {self.blocks} blocks of code, "
                "which is the limit for one question. Ask again to go on."
            )
        finally:
            self.gate.withdraw()
            last = self.history.last
            if self.asks and last is not None and is_code(last):  # nobody is to go on with it
                self.history.answer(_not_run("the user stopped it"))

    def reply(self) -> Reply:
        """One reply of the model, with the code in it run as it comes."""
        silent, self.goes_on = True, False
        atomic = Atomic(self.limits.atomic_sequences)
        pieces = _of_model(self.model, self.history[:])
        try:
            for chunk in delimit(atomic.of(pieces)):
                silent = False
                whole = self.history.grow(chunk)
                yield chunk
                if whole is not None:
                    self.goes_on = False  # its words stand behind what it has proposed
                if whole is not None and is_proposal(whole):
                    yield from self.propose(whole)
                elif whole is not None and is_code(whole):
                    yield from self.offer(whole)
                    if self.blocks >= self.max_blocks or self.declines >= MAX_DECLINED:
                        return
            if silent and not (self.blocks or self.proposals):
                raise ModelError(
                    "the model sent an empty reply: ask again, or choose another model "
                    "with %lmc model NAME"
                )
        except CallError:
            first = self.history.open
            if first is not None and first.type == "message" and atomic.buffer is None:
                end = replace(first, content=None, start=False, end=True)
                self.history.grow(end)  # nobody stopped the words before the call
                yield end
            raise
        finally:
            self.keep(atomic.buffer)
            pieces.close()

    def send_back(self, error: CallError) -> Reply:
        """Let the model read its mistake and go on, unless it has made too many."""
        self.mistakes += 1
        if self.mistakes > MAX_MISTAKES:
            raise error
        yield from self.tell_model(str(error))

    def propose(self, proposal: Message) -> Reply:
        """Let the model know that the person sees it: nothing is asked for, and nothing runs. A
        reply that ends with it is gone on with, unless the model only repeats itself.
        """
        self.goes_on = proposal.content not in self.proposals
        self.proposals.add(proposal.content)
        yield from self.tell_model(PROPOSED)

    def offer(self, code: Message) -> Reply:
        """Ask for a yes, then run; or say that it was not run, and why."""
        self.blocks += 1
        if not code.content.strip():
            yield from self.decline("it was empty")
            return
        if reason := self.limits.refuses(code.content, self.blocks - self.before - 1):
            yield from self.decline(reason)
            return
        strange = STRANGE if code.id in self.strange else ""
        asks, remark = self.asks or strange, strange or self.fate
        decision = proposal = None
        while proposal is None or self.gate.is_outdated(proposal, decision):
            proposal = self.gate.propose(
                self.turn, self.blocks, code.format or "", code.content, asks=asks, remark=remark
            )
            if proposal.verdict == "deny":
                yield from self.decline(proposal.reason)
                return
            decision = yield confirmation(proposal.language, proposal.code)
        if decision is None:
            decision = Decision(proposal.verdict == "allow", reason="nobody answered")
        if not decision.run:
            yield from self.decline(decision.reason or "the user declined")
            return
        try:
            grant = self.gate.grant(proposal, decision.code)
            final = self.gate.proposal_of(grant)
        except GateError as error:
            yield from self.decline(str(error))
            return
        if final.edited:  # the history keeps what really runs
            at = len(self.history) - 1
            while self.history[at].id != code.id:  # it is the last one, as a rule
                at -= 1
            message = replace(self.history[at], content=final.code).marked(**{EDITED: True})
            self.history.rewrite(at, message)
        self.declines = 0
        yield from self.run(grant, final.language)

    def run(self, grant: Grant, language: str) -> Reply:
        """Run the code of a grant; each whole result is appended, an empty one only if it is all.

        An empty result stands there before anything runs: whatever happens, code that has
        begun has its answer in the history, and is never offered again.
        """
        is_whole = False
        failure: list[str] = []
        nothing = Message("computer", "console", "output", "").stamped()
        empty = nothing.marked(**{PARTIAL: True})
        self.history.append(empty)
        start, began = len(self.history) - 1, time.monotonic()
        pieces = _of_computer(self.gate, grant, self.computer, failure)
        try:
            for chunk in delimit(pieces):
                self.history.grow(chunk)
                yield chunk
            is_whole = True
        finally:
            self.keep()
            pieces.close()
            if is_whole and not failure and self.history.last is empty:
                self.history.rewrite(len(self.history) - 1, nothing)
            seconds = time.monotonic() - began
            if seconds > LONG or not is_whole:
                self.history.mark(len(self.history) - 1, {SECONDS: round(seconds, 1)})
        for text in failure:
            yield from self.note(text)
        texts = [each.content for each in self.history[start:] if each.format == "output"]
        is_failed = failure or any(fails(text, language) for text in texts)
        self.fate = "the block before it failed" if is_failed else ""

    def decline(self, reason: str) -> Reply:
        self.declines += 1
        self.fate = "the block before it was not run"
        self.gate.withdraw()
        yield from self.note(_not_run(reason).content)

    def note(self, text: str) -> Reply:
        """Add a text of the computer, for the person and the model."""
        self.history.answer(_note(text))
        yield from delimit([Chunk("computer", "console", "output", text)])

    def tell_model(self, text: str) -> Reply:
        """Add a text of the computer for the model alone; the person can unfold it."""
        self.history.append(replace(_note(text), recipient="assistant"))
        yield from delimit([Chunk("computer", "console", "output", text, "assistant")])

    def keep(self, buffer: Chunk | None = None) -> None:
        """Keep the text of a message that was stopped, and the text in the buffer."""
        history = self.history
        if buffer is not None:
            if buffer.start or (history.open is not None and history.open.key != buffer.key):
                history.flush()
            history.grow(replace(buffer, start=history.open is None))
        history.flush()


def _note(text: str) -> Message:
    return Note("computer", "console", "output", text).stamped()


def _not_run(reason: str) -> Message:
    return _note(f"{NOT_RUN}: {reason.rstrip('.')}.")


def can_go_on(last: Message) -> bool:
    """Whether a conversation that ends with this message is in the middle of an answer."""
    return last.role != "assistant" or is_code(last) or is_partial(last)


def _of_model(model: Model, messages: list[Message]) -> Pieces:
    """The model's pieces; whatever it raises becomes a ModelError, whatever it forges too."""
    pieces: Iterable[Chunk] = ()
    try:
        pieces = model.respond(messages)
        for piece in pieces:
            if piece.role != "assistant" or piece.type == "confirmation":
                raise ModelError(
                    f"the model sent a {piece.role}/{piece.type} piece: "
                    "a model may only speak as assistant"
                )
            yield _readable(piece)
    except LMCError:
        raise
    except Exception as error:
        raise ModelError(f"the model failed: {type(error).__name__}: {error}") from error
    finally:
        if isinstance(pieces, Generator):
            pieces.close()


def _readable(piece: Chunk) -> Chunk:
    """The piece as every file and front end can hold it."""
    content = clean(piece.content) if isinstance(piece.content, str) else piece.content
    format_ = None if piece.format is None else clean(piece.format)
    if content is piece.content and format_ is piece.format:
        return piece
    return replace(piece, content=content, format=format_)


def _of_computer(gate: Gate, grant: Grant, computer: Runner, failure: list[str]) -> Pieces:
    """The computer's pieces, then the `active_line` None that ends every block.

    A failure of the computer itself (not of the code, whose errors are its output) is put
    into `failure`: the loop goes on, and the person and the model read it.
    """
    pieces: Iterable[Chunk] = ()
    try:
        pieces = gate.run(grant, computer)
        for piece in pieces:
            if piece.role != "computer" or piece.type == "confirmation":
                raise ComputerError(
                    f"it sent a {piece.role}/{piece.type} piece: it may only speak as computer"
                )
            yield piece
    except Stopped:
        raise
    except LMCError as error:
        failure.append(f"The computer failed: {error}")
    except Exception as error:  # noqa: BLE001 - the border to code of others: any Language
        failure.append(f"The computer failed: {type(error).__name__}: {error}")
    finally:
        if isinstance(pieces, Generator):
            pieces.close()
    yield Chunk("computer", "console", "active_line", None)
