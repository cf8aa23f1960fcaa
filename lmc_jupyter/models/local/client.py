"""A request to the worker's server, and its reply as it streams.

One rule: it speaks to a process of ours on this machine, so it uses nothing of the person's
environment: no proxy, no header, no redirect, no compression. `http.client` has none of them, and
the kernel has imported it already.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.models.budget import WindowError
from lmc_jupyter.models.cancel import Cancel, receive
from lmc_jupyter.models.local.process import Endpoint
from lmc_jupyter.models.values import Delta, NetworkLimits, Usage

COUNT_SECONDS = 2.0
"""Seconds that the count of the tokens may come after the last of them."""

MOST_OF_REFUSAL = 100_000
"""Bytes of a refusal that are read."""


class NoAnswer(ModelError):  # noqa: N818 - it may be asked again
    """The server has ended before its reply began."""


def encode(body: Mapping[str, Any]) -> bytes:
    """The body as JSON.

    Raises
    ------
    ModelError
        When an option is no value of JSON.
    """
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"the embedded model cannot be given one of its options ({error}): give numbers, "
            "texts, lists and dicts"
        ) from None


def stream(
    title: str, endpoint: Endpoint, body: bytes, cancel: Cancel, limits: NetworkLimits | None = None
) -> Generator[Delta, None, None]:
    """Yield the pieces of the reply to this body; closing the generator closes the connection.

    Parameters
    ----------
    title : of the model, for the sentences

    Raises
    ------
    ModelError
        When the reply is not whole; a `WindowError` when the request is longer than the window.
    Stopped
        `cancel` was set.
    """
    with cancel.box() as box:
        call = _LocalCompletion(title, endpoint, body, limits or NetworkLimits(), box.put)
        threading.Thread(target=call.run, name="lmc-local", daemon=True).start()
        try:
            while (item := receive(box)) is not None:
                cancel.check()  # after a cancel, deltas that have come are dropped
                if isinstance(item, LMCError):
                    raise item
                yield item
        finally:
            call.close()


class _LocalCompletion:
    """One request, on a thread of its own, so that any wait for it can be ended.

    Parameters
    ----------
    put : takes each `Delta`, or the error; None is the end
    """

    def __init__(
        self,
        title: str,
        endpoint: Endpoint,
        body: bytes,
        limits: NetworkLimits,
        put: Callable[[Delta | LMCError | None], None],
    ) -> None:
        self._title, self._endpoint, self._body = title, endpoint, body
        self._limits, self._put = limits, put
        self._start = time.monotonic()
        self._socket: socket.socket | None = None
        self._has_begun = self._is_closed = False

    def run(self) -> None:
        """Send the request, and put the deltas of the reply."""
        try:
            self._ask()
        except Exception as error:  # noqa: BLE001 - the person must see any error
            self._put(self._failure(error))
        finally:
            self._put(None)

    def close(self) -> None:
        """End it at once; from any thread."""
        self._is_closed = True
        if self._socket is not None:
            with suppress(OSError):  # it has ended by itself
                self._socket.shutdown(socket.SHUT_RDWR)

    def _ask(self) -> None:
        address = urlsplit(self._endpoint.base)
        connection = HTTPConnection(
            address.hostname or "", address.port, timeout=self._limits.connect
        )
        try:
            connection.connect()
            self._socket = connection.sock
            if self._is_closed:
                return
            self._socket.settimeout(self._limits.first_byte)
            headers = {
                "Authorization": f"Bearer {self._endpoint.key}",
                "Content-Type": "application/json",
            }
            connection.request("POST", "/v1/chat/completions", self._body, headers)
            with connection.getresponse() as response:
                if response.status != 200:
                    raise self._refusal(response)
                self._socket.settimeout(self._limits.idle)
                self._read(response)
        finally:
            connection.close()

    def _read(self, response: HTTPResponse) -> None:
        finish = ""
        count: dict[str, int] = {}
        try:
            for event in self._events(response):
                if "error" in event:
                    raise ModelError(f"{self._title} failed: {event['error'].get('message')}")
                count = event.get("usage") or count
                for choice in event.get("choices") or ():
                    if text := choice["delta"].get("content"):
                        self._has_begun = True
                        self._put(Delta(text))
                    if choice.get("finish_reason") and self._socket is not None:
                        finish = choice["finish_reason"]
                        self._socket.settimeout(COUNT_SECONDS)
        except OSError:
            if not finish:  # else only the count is lost
                raise
        if not finish:
            raise ConnectionError("the connection ended")
        if finish == "length":
            raise ModelError(
                "the reply is longer than the limit for one reply, and was cut there: raise "
                "max_tokens, or ask for a shorter answer"
            )
        prompt, reply = (count.get(f"{each}_tokens") for each in ("prompt", "completion"))
        seconds = time.monotonic() - self._start
        self._put(Delta(finish=finish, usage=Usage(prompt, reply, 0.0, seconds)))

    def _events(self, response: HTTPResponse) -> Iterator[dict[str, Any]]:
        """The events of the stream; each is one line of JSON behind the word `data:`."""
        size = 0
        while line := response.readline(self._limits.event + 1):
            size += len(line)
            self._check(len(line), size)
            if line.startswith(b"data:"):
                data = line.removeprefix(b"data:").strip()
                if data == b"[DONE]":
                    return
                yield json.loads(data)

    def _check(self, event: int, size: int) -> None:
        limits = self._limits
        for number, most, unit in (
            (event, limits.event, "bytes in one event"),
            (size, limits.size, "bytes"),
            (time.monotonic() - self._start, limits.whole, "seconds"),
        ):
            if number > most:
                raise ModelError(
                    f"the reply of {self._title} has taken more than {most:,.0f} {unit}: it was "
                    "cut there, and the part that arrived is here"
                )

    def _refusal(self, response: HTTPResponse) -> ModelError:
        """The server's refusal as an error; it has llama.cpp's form, or is any text."""
        text = response.read(MOST_OF_REFUSAL).decode("utf-8", "replace")
        try:
            error = dict(json.loads(text)["error"])
        except (ValueError, KeyError, TypeError):
            error = {"message": text}
        if error.get("type") == "exceed_context_size_error":
            return WindowError(
                f"your question and the code before it have {error['n_prompt_tokens']:,} tokens, "
                f"and this small model reads {error['n_ctx']:,}: nothing was answered. Ask "
                "something shorter, put the data into a variable or a file, or choose a larger "
                "model with %lmc model NAME"
            )
        why = str(error.get("message"))[:300]
        return ModelError(f"{self._title} refused the request ({response.status}): {why}")

    def _failure(self, error: Exception) -> LMCError:
        if isinstance(error, LMCError):
            return error
        why = str(error) or type(error).__name__
        if self._has_begun:
            return ModelError(
                f"the reply of {self._title} stopped before its end: the part that arrived is "
                f"here; ask it to continue ({why})"
            )
        if isinstance(error, TimeoutError):
            return ModelError(
                f"{self._title} did not answer within {self._limits.first_byte:.0f} s: try again"
            )
        return NoAnswer(f"{self._title} ended without an answer: ask again ({why})")
