"""An agent for the tests: the official SDK's client, which starts `lmc-jupyter mcp` over stdio."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, Implementation

PATIENCE = 240.0  # seconds: only what fails waits so long
ROOT = Path(__file__).parents[1]


class Agent:
    """One agent with a server of its own, until `close`.

    Parameters
    ----------
    name : what it calls itself
    options : of `lmc-jupyter mcp`
    hello : seconds within which a kernel must answer to be found
    """

    def __init__(
        self, name: str = "Claude Code", *options: str, mode: str = "auto", hello: float = 60.0
    ) -> None:
        self.progress: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._over = asyncio.Event()
        code = (
            "from lmc_jupyter.frontends import command; "
            "from lmc_jupyter.frontends.agents import kernels; "
            f"kernels.HELLO_SECONDS = {hello}; raise SystemExit(command.main())"
        )
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-c", code, "mcp", *options],
            env={**os.environ, "PYTHONPATH": path},
        )
        info = Implementation(name=name.lower().replace(" ", "-"), title=name, version="1")
        ready: Future[Any] = Future()

        async def live() -> None:
            try:
                async with Client(parameters, client_info=info, mode=mode) as client:
                    ready.set_result(client)
                    await self._over.wait()
            except BaseException as error:
                if not ready.done():
                    ready.set_exception(error)

        self._life = self._run(live())
        self.client: Client = ready.result(PATIENCE)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def begin(self, tool: str, **arguments: Any) -> Future[CallToolResult]:
        """Call a tool; cancelling the future cancels the request."""

        async def on_progress(done: float, total: float | None, message: str | None) -> None:
            self.progress.append(message or "")

        return self._run(self.client.call_tool(tool, arguments, progress_callback=on_progress))

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        return self.begin(tool, **arguments).result(PATIENCE)

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of a result that is no error."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    def refused(self, tool: str, **arguments: Any) -> str:
        """The text of a result that is an error."""
        result = self.call(tool, **arguments)
        assert result.is_error, text_of(result)
        return text_of(result)

    def run(self, work: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
        return self._run(work(self.client)).result(PATIENCE)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._life.result(PATIENCE)
        self._run(_settle()).result(PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()


async def _settle() -> None:
    """Let the pipes of the process that has ended be closed, which takes a few rounds."""
    for _ in range(20):
        await asyncio.sleep(0)


def text_of(result: CallToolResult) -> str:
    return "\n".join(each.text for each in result.content if each.type == "text")
