"""The provider of the speed table: a real HTTP server on 127.0.0.1, in a process of its own.

    python benchmarks/server.py

It prints its address as one line of JSON, and ends when its standard input does. What it
answers hangs on the path of the address, so that whoever asks need not know about it:

/stamp      the time at which the request had arrived, by time.monotonic(), which all processes of
            one machine share; nothing else
/fast       as many words as max_tokens says, at once
/paced      the same, RATE words a second
/stalled    three words, then nothing more until the client goes
/two        two words
/turn       to each question code, 1+1; and "ok" once that has run

One rule: it knows nothing of who asks; ours and its neighbours get the same bytes.
"""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from model_server import (
    DONE,
    END,
    HEAD,
    STALL,
    Answer,
    ModelServer,
    Request,
    Turn,
    chunked,
    event,
    text,
    tool,
)

RATE = 600


class Words:
    """A reply of so many words."""

    def __init__(self, count: int, *, paced: bool) -> None:
        self.count, self.paced = count, paced


@functools.cache
def body(count: int) -> list[bytes]:
    """The events of a reply of so many words, each in a piece of its own."""
    words = [event({"content": f"word{n} "}) for n in range(count)]
    return [chunked(each) for each in (*words, event({}, "stop"), DONE)]


class BenchServer(ModelServer):  # type: ignore[misc]  # the tests have no types
    """Answers by the first part of the path."""

    def _pick(self, request: Request) -> Any:
        way, asked = request.path.split("/")[1], request.body
        if "messages" not in asked:  # it is asked what it has, not for an answer
            return super()._pick(request)
        count = int(asked.get("max_tokens") or asked.get("max_completion_tokens") or 10)
        roles = [each["role"] for each in asked["messages"]]
        given = "assistant" in roles[len(roles) - roles[::-1].index("user") :]
        answers: dict[str, Answer | Words] = {
            "stamp": Turn(text(f"{time.monotonic():.6f}"), cut="all"),
            "fast": Words(count, paced=False),
            "paced": Words(count, paced=True),
            "two": Turn(text("I do.")),
            "stalled": Turn(text("word0 word1 word2"), STALL),
            "turn": Turn(text("ok")) if given else Turn(tool("python", "1+1")),
        }
        return answers[way]

    async def _answer(
        self, answer: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if not isinstance(answer, Words):
            return bool(await super()._answer(answer, reader, writer))
        writer.write(HEAD)
        begun, pieces = time.monotonic(), body(answer.count)
        if answer.paced:
            for number, piece in enumerate(pieces):
                wait = begun + number / RATE - time.monotonic()
                if wait > 0:
                    await asyncio.sleep(wait)
                writer.write(piece)
                await writer.drain()
        else:
            writer.write(b"".join(pieces))
        writer.write(END)
        await writer.drain()
        return True


if __name__ == "__main__":
    with BenchServer() as server:
        print(json.dumps(server.base.removesuffix("/v1")), flush=True)
        sys.stdin.read()
