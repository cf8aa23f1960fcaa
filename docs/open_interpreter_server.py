"""The server that the migration guide's JavaScript talks to: each chunk is a line of JSON.

    pip install fastapi uvicorn
    python docs/open_interpreter_server.py          the application is the computer
    python docs/open_interpreter_server.py --run    code runs in this process, without a question

It answers on 127.0.0.1 only, and no page of another site can use it. Any program on this machine
can, also one of another user: with --run it runs what they ask for, as you.
"""

import argparse
import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any

import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import StreamingResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware

from lmc_jupyter import OpenInterpreter

HEAD = {"role": "computer", "type": "console", "recipient": "user"}


def refuse_other_sites(request: Request) -> None:
    """A browser lets any page send a body that is not called JSON, without asking the server."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "the content type must be application/json")
    origin = request.headers.get("origin")
    if origin is not None and origin != f"http://{request.headers['host']}":
        raise HTTPException(403, f"pages of {origin} may not use this server")


def app_of(agent: OpenInterpreter, *, run: bool = False) -> FastAPI:
    """The application of this agent; with `run` its code runs here, else in the client."""
    app = FastAPI()
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])

    @app.post("/", dependencies=[Depends(refuse_other_sites)])
    async def answer(request: Request, asked: dict[str, Any]) -> StreamingResponse:
        return StreamingResponse(lines(request, asked), media_type="application/x-ndjson")

    async def lines(request: Request, asked: dict[str, Any]) -> AsyncIterator[str]:
        """Read on a thread, which goes on to the end: a stop reaches code only while it is read."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any] | None]()

        def read() -> None:
            for chunk in chunks(asked):
                loop.call_soon_threadsafe(queue.put_nowait, chunk)
            loop.call_soon_threadsafe(queue.put_nowait, None)

        leaving = asyncio.create_task(stop_when_left(request))
        threading.Thread(target=read, daemon=True).start()
        chunk: dict[str, Any] | None = HEAD
        try:
            while (chunk := await queue.get()) is not None:
                yield json.dumps(chunk) + "\n"
        finally:
            leaving.cancel()
            if chunk is not None:  # the server heard first that the client has left
                agent.stop()

    def chunks(asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            with closing(agent.chat(asked["messages"], display=False, stream=True)) as stream:
                for chunk in stream:
                    if chunk["type"] != "confirmation":  # the guide's client has no place for one
                        yield chunk
                    elif not run:
                        break  # the code is the last message: the application runs it, or not
        except Exception as error:  # noqa: BLE001 - the client is to see whatever it was
            said = f"{type(error).__name__}: {error}"
            yield {**HEAD, "start": True}
            yield {**HEAD, "format": "output", "content": said}
            yield {**HEAD, "end": True}

    async def stop_when_left(request: Request) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            """There is nothing else to hear."""
        agent.stop()

    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--run", action="store_true", help="run code here, without a question")
    given = parser.parse_args()
    uvicorn.run(app_of(OpenInterpreter(), run=given.run), host="127.0.0.1", port=given.port)
