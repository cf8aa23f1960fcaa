"""What the tests of the protocol core share: a scripted model, an echo computer, two judges.

One rule: nothing here imitates our own code. `assert_stream` and `assert_valid` say what the
rules are (a stream's grammar, a conversation's invariants) in their own words.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

from lmc_jupyter.computer import Computer
from lmc_jupyter.errors import Stopped
from lmc_jupyter.lmc import FORMATS, Chunk, Message

STREAMS = Path(__file__).parent / "streams"


def said(text: str, **more: Any) -> Chunk:
    return Chunk("assistant", "message", content=text, **more)


def code(text: str, language: str = "python", **more: Any) -> Chunk:
    return Chunk("assistant", "code", language, text, **more)


def printed(text: str, **more: Any) -> Chunk:
    return Chunk("computer", "console", "output", text, **more)


def line(number: int | None) -> Chunk:
    return Chunk("computer", "console", "active_line", number)


def picture(data: str = "iVBORw0KGgo=") -> Chunk:
    return Chunk("computer", "image", "base64.png", data, end=True)


def question(text: str = "Go.") -> Message:
    return Message("user", "message", content=text).stamped()


class ScriptedModel:
    """Gives one prepared reply after the other; an exception among the pieces is raised there.

    It keeps what it was shown at each call (`seen`) and how many of its replies were closed.
    """

    def __init__(self, *replies: Iterable[Chunk | BaseException]) -> None:
        self.replies = [list(reply) for reply in replies]
        self.seen: list[list[Message]] = []
        self.closed = 0

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        self.seen.append(list(messages))
        number = len(self.seen) - 1
        reply = self.replies[number] if number < len(self.replies) else [said("No more to say.")]
        try:
            for piece in reply:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            self.closed += 1


class Waiting:
    """A model that says what it has, then is silent until it is stopped."""

    def __init__(self, *pieces: Chunk, on_silent: Callable[[], None] = lambda: None) -> None:
        self.pieces, self.on_silent = pieces, on_silent
        self.silent, self.stopped = threading.Event(), threading.Event()
        self.calls = 0

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        self.calls += 1
        if self.calls > 1:
            yield said("Here I am again.")
            return
        yield from self.pieces
        self.silent.set()
        self.on_silent()
        assert self.stopped.wait(600), "nobody stopped it"
        raise Stopped("stopped")

    def stop(self) -> None:
        self.stopped.set()


class Held:
    """Says its pieces; at an event among them it waits until the test sets it, or stops it."""

    def __init__(self, *pieces: Chunk | threading.Event) -> None:
        self.pieces, self.stopped = pieces, threading.Event()
        self.calls = 0

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        self.calls += 1
        if self.calls > 1:
            yield said("Here I am again.")
            return
        for piece in self.pieces:
            if isinstance(piece, Chunk):
                yield piece
                continue
            assert piece.wait(600), "nobody set it"
            if self.stopped.is_set():
                raise Stopped("stopped")

    def stop(self) -> None:
        self.stopped.set()
        for piece in self.pieces:
            if isinstance(piece, threading.Event):
                piece.set()


class Endless:
    """A model that never stops talking by itself; the second time it answers."""

    def __init__(self) -> None:
        self.calls = 0

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        self.calls += 1
        if self.calls > 1:
            yield said("Here I am again.")
            return
        while True:
            yield said("la ")


class OwnComputer(Computer):
    """A computer without a language, of which a test says what running does."""

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        raise NotImplementedError

    def run_granted(
        self, language: str, code: str, *, is_promised: bool = False
    ) -> Generator[Chunk, None, None]:
        return self.run(language, code)

    def uses(self, language: str, code: str) -> frozenset[str]:
        return frozenset((language,))

    def words(self) -> dict[str, tuple[str, ...]]:
        return {"python": ()}

    def hints(self, names: Iterable[str]) -> dict[str, str]:
        return dict.fromkeys(names, "")


class EchoComputer(OwnComputer):
    """Runs nothing: says each line of the code back, with its active line. Counts its runs."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[tuple[str, str]] = []
        self.closed = 0

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        self.ran.append((language, code))
        try:
            for number, text in enumerate(code.split("\n"), 1):
                yield line(number)
                yield printed(f"{text}\n")
        finally:
            self.closed += 1


class Machine(OwnComputer):
    """A computer that a session takes; it puts out what it is given."""

    def __init__(self, *pieces: Chunk) -> None:
        super().__init__()
        self.pieces = pieces or (printed("done\n"),)

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        yield from self.pieces


class PreparedComputer(OwnComputer):
    """Gives the same prepared pieces for every run."""

    def __init__(self, *pieces: Chunk | BaseException) -> None:
        super().__init__()
        self.pieces, self.ran = pieces, 0

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        self.ran += 1
        for piece in self.pieces:
            if isinstance(piece, BaseException):
                raise piece
            yield piece


def drive(reply: Generator[Chunk, Any, None], *answers: Any) -> list[Chunk]:
    """Run a reply to its end; the n-th confirmation gets the n-th answer, later ones none."""
    chunks: list[Chunk] = []
    left = list(answers)
    answer = None
    while True:
        try:
            chunk = reply.send(answer)
        except StopIteration:
            return chunks
        chunks.append(chunk)
        answer = left.pop(0) if chunk.type == "confirmation" and left else None


def kinds(messages: Sequence[Message]) -> list[tuple[str, str, Any]]:
    return [(message.role, message.type, message.content) for message in messages]


def assert_stream(chunks: Iterable[Chunk], *, whole: bool = True) -> None:
    """One start and one end each, flags and contents bare: docs/protocol.md, section "A stream"."""
    opened: Chunk | None = None
    for chunk in chunks:
        if chunk.type == "confirmation":
            assert opened is None, "a confirmation stands inside a message"
            assert not chunk.start, "a confirmation carries a flag"
            assert not chunk.end, "a confirmation carries a flag"
            continue
        assert not (chunk.start and chunk.end), f"both flags: {chunk}"
        if chunk.start:
            assert opened is None, f"{chunk} opens inside {opened}"
            opened = chunk
        assert opened is not None, f"{chunk} belongs to no message"
        assert chunk.key == opened.key, f"{chunk} is in a message of {opened}"
        if chunk.start or chunk.end:
            assert chunk.content is None, f"a flag carries content: {chunk}"
            if chunk.type == "console":
                assert chunk.format is None, f"a console's flag carries a format: {chunk}"
        else:
            assert chunk.content != "", f"empty content: {chunk}"
        if chunk.end:
            opened = None
    if whole:
        assert opened is None, f"{opened} never ends"


def assert_valid(messages: Sequence[Message]) -> None:
    """A conversation's invariants, at rest, whatever happened to it.

    Every message is one that LMC allows and survives JSON, has its own id and time, none is of
    the moment; assistant code that is whole is followed by the computer's answer, unless it is
    the last and still waits.
    """
    ids = [message.id for message in messages]
    assert None not in ids, "a message without id"
    assert len(set(ids)) == len(ids), "two messages of one id"
    for index, message in enumerate(messages):
        assert message.type in FORMATS
        assert message.type != "confirmation", "a confirmation was stored"
        assert message.format != "active_line", "an active line was stored"
        assert message.created_at is not None
        assert Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message
        is_code = message.role == "assistant" and message.type == "code"
        if is_code and not message.extra.get("partial") and index + 1 < len(messages):
            after = messages[index + 1]
            assert after.role == "computer", f"code without an answer before {after}"


def stream_names() -> list[str]:
    """The recorded streams: `NAME.jsonl` gives the messages of `NAME.messages.jsonl`."""
    return sorted(
        path.name.removesuffix(".jsonl")
        for path in STREAMS.glob("*.jsonl")
        if not path.name.endswith(".messages.jsonl")
    )


def read_lines(name: str) -> list[dict[str, Any]]:
    lines = (STREAMS / name).read_text("utf-8").split("\n")  # U+2028 is no end of line in JSON
    return [json.loads(each) for each in lines if each]
