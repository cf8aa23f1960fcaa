"""Requests of agents outside the notebook, on the control channel; the answers go to their sender.

One rule: the handler hands a request on and returns: on its thread the kernel also takes
interrupts. Replies may come at any time, from any thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

AGENT_REQUEST, AGENT_REPLY = "lmc_agent_request", "lmc_agent_reply"
_BUSY_AGAIN_SECONDS = 0.05


class Sender:
    """Who sent one request: what is said to them goes to nobody else. Made on the control thread.

    Parameters
    ----------
    message : the request
    """

    def __init__(self, kernel: Any, stream: Any, ident: Any, message: dict[str, Any]) -> None:
        self.message = message
        self._kernel, self._stream, self._ident = kernel, stream, ident
        self._loop = asyncio.get_running_loop()

    def reply(self, content: dict[str, Any]) -> None:
        """Send this, from any thread."""
        with suppress(RuntimeError):  # the kernel ends, and its control thread has
            self._loop.call_soon_threadsafe(self._send, content)

    def _send(self, content: dict[str, Any]) -> None:
        session = self._kernel.session
        session.send(self._stream, AGENT_REPLY, content, self.message, self._ident)


def listen(kernel: Any, receive: Callable[[dict[str, Any], Sender], None]) -> Callable[[], None]:
    """Hand each request of an agent to `receive`, until the returned function is called.

    Parameters
    ----------
    receive : called on the control thread; must not block
    """
    handlers = getattr(kernel, "control_handlers", None)
    if not isinstance(handlers, dict):
        return lambda: None

    def take(stream: Any, ident: Any, message: dict[str, Any]) -> None:
        if isinstance(message["content"], dict):
            receive(message["content"], Sender(kernel, stream, ident, message))
        # the kernel says idle when we return, and front ends take it for that of what runs
        from lmc_jupyter.kernel.requests import Requests  # at the first request

        busy_again = Requests.of(kernel).say_busy_again
        asyncio.get_running_loop().call_later(_BUSY_AGAIN_SECONDS, busy_again)

    handlers[AGENT_REQUEST] = take
    return lambda: handlers.pop(AGENT_REQUEST, None)
