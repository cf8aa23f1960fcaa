"""ipykernel 7.0 to 7.3 may stop hearing a front end: its replies go out the right way here.

One rule: where that version's own way is not found exactly, nothing is touched.

It sends replies on the very socket that a stream of its event loop reads. Sending uses up the
event that tells the loop of a request which came at that moment, and that request and all that
follow are read no more. ipykernel 7.4 sends through the stream, and so does this. A panel makes
it likely: its messages come while cells run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def send_through_the_stream(kernel: Any) -> Callable[[], None]:
    """Patch the kernel, if it needs it; returns a function that removes the patch."""
    thread: Any = getattr(kernel, "shell_channel_thread", None)
    manager = getattr(thread, "manager", None)
    pair = getattr(manager, "_main_to_shell_channel", None)
    usual = getattr(manager, "_send_on_shell_channel", None)
    stream = getattr(pair, "to_stream", None)
    if stream is None or usual is None or not hasattr(manager, "_shell_socket"):
        return lambda: None

    def use(receiver: Callable[[Any], None]) -> None:
        thread.io_loop.add_callback(lambda: stream.on_recv(receiver, copy=False))

    attributes, send = vars(manager), kernel.shell_stream.send_multipart
    attributes["_send_on_shell_channel"] = send  # for subshells that are yet to come
    use(send)

    def undo() -> None:
        attributes.pop("_send_on_shell_channel", None)
        use(usual)

    return undo
