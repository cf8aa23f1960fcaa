"""The output of running code, passed to a listener in exact order.

One rule: every patch is on one instance, is removed at the end, and does nothing from then on, even
where other code has stored it. In a cell each call goes to the original first, so that everybody
still sees its output. Where no cell shows it, the listener alone gets it; output of other code goes
to the original only. Output that the code itself redirects is not seen, here or in the cell.

Why one file: the patches share the muted threads, the unsent streams and the end. Why not
IPython's `capture_output`: it takes the output away from the cell, loses the order of text and
displays, hears no other process, and gives nothing before the code has ended.
"""

from __future__ import annotations

import builtins
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

from lmc_jupyter.kernel.stop import HIDE_BELOW, without_handler

_MOST_LOOKS, _EMPTY_LOOKS, _LOOK_SECONDS = 1_000, 5, 0.001
"""How long a block waits, at its end: for a process that does not stop writing, and for one that
has."""


class Listener(Protocol):
    """Gets the output of the code, on the thread that writes it."""

    @property
    def muted_threads(self) -> set[int]:
        """Threads whose text is not the code's."""
        ...

    def foreign(self) -> bool:
        """Whether what is shown here and now is not of the code; asked where no cell shows it."""
        ...

    def text(self, text: str) -> None: ...
    def flush_text(self) -> None: ...
    def display(self, bundle: Mapping[str, Any], display_id: str | None, update: bool) -> None: ...
    def clear_output(self, wait: bool) -> None: ...
    def error(self, error: BaseException) -> None: ...

    def is_stop(self, error: BaseException) -> bool:
        """Whether the person has stopped the code, which is no error: a view says so."""
        ...

    def traceback(self, error: BaseException, lines: list[str]) -> list[str]:
        """The lines of its traceback that a cell shows."""
        ...

    def delay_stop(self) -> AbstractContextManager[None]:
        """While its error is drawn: a stop would be drawn in its place."""
        ...


class Capture:
    """While entered, `listener` gets the output of `shell` and of the standard streams.

    Parameters
    ----------
    shell : an IPython shell
    listener : see `Listener`
    error_as_text : show tracebacks on stderr, so that a runner of notebooks which counts error
        outputs (papermill) does not take a mistake that was mended for a failed cell
    show : whether the kernel or terminal shows it too; if not, results are not remembered as
        those of a cell (`_`, `Out`) either
    """

    def __init__(
        self, shell: Any, listener: Listener, *, error_as_text: bool = False, show: bool = True
    ) -> None:
        self._shell, self._listener, self._error_as_text = shell, listener, error_as_text
        self._show, self._over = show, False
        self._showing = 0
        """The thread on which the shell now sends the value of an expression."""
        self._patches: list[tuple[dict[str, Any], str, Any, Any]] = []
        self._streams: list[Any] = []
        self._unsent: set[int] = set()
        """Streams whose text may be on its way still, by `id`."""
        self._pipes: list[int] = []
        """File descriptors from which ipykernel reads what processes write to its own."""

    def __enter__(self) -> Capture:
        shell = self._shell
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is not None and not any(stream is other for other in self._streams):
                self._streams.append(stream)
                self._patch_stream(name, stream)
                if isinstance(pipe := getattr(stream, "_fid", None), int):
                    self._pipes.append(pipe)
        publisher, hook = shell.display_pub, shell.displayhook
        members: list[tuple[Any, str, Callable[[Any], Any]]] = [
            (publisher, "publish", self._publish),
            (publisher, "clear_output", self._clear_output),
            (hook, "write_output_prompt", self._quiet),
            (hook, "finish_displayhook", self._finish_value),
            (hook, "write_format_data", self._write_format_data),
            (shell, "_showtraceback", self._showtraceback),
            (shell, "showtraceback", self._draw_error),
            (shell, "_get_exc_info", self._get_exc_info),
        ]
        if not self._show:
            history = getattr(shell, "history_manager", None)
            members += [
                (hook, "update_user_ns", self._unless_the_codes),
                (history, "outputs", lambda _: _NoOutputs()),
            ]
        for owner, name, make in members:
            if hasattr(owner, name):  # else this IPython, or this kernel, works without it
                self._patch(owner, name, make)
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        while self._patches:
            attributes, name, was, new = self._patches.pop()
            if not _is_ours(attributes.get(name), new):
                continue  # somebody has put another in its place
            if was is None:
                del attributes[name]
            else:
                attributes[name] = was

    def drain(self) -> None:
        """Wait until what processes wrote to the kernel's own file descriptors has arrived: until
        the pipes were empty at so many looks in a row, in which ipykernel's thread writes what it
        has taken out of them.
        """
        empty = 0
        for _ in range(_MOST_LOOKS if self._pipes else 0):  # no time: this process may stand still
            empty = 0 if select.select(self._pipes, [], [], 0)[0] else empty + 1
            if empty == _EMPTY_LOOKS:
                return
            time.sleep(_LOOK_SECONDS)

    # Patches --------------------------------------------------------------------------------------

    def _patch(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Set an attribute of the instance, past traitlets, and remember how to undo it."""
        before, attributes = getattr(owner, name), owner.__dict__
        was = before if name in attributes else None
        new = attributes[name] = make(before)
        self._patches.append((attributes, name, was, new))

    def _patch_stream(self, name: str, stream: Any) -> None:
        try:
            self._patch(stream, "write", lambda write: self._write(write, id(stream)))
            self._patch(stream, "flush", lambda flush: self._flush(flush, id(stream)))
        except (AttributeError, TypeError):  # an instance without attributes of its own
            wrapper = _WrappedStream(stream, self._write(stream.write, id(stream)))
            attributes = vars(sys)
            attributes[name] = wrapper
            self._patches.append((attributes, name, stream, wrapper))

    def _write(self, write: Callable[[str], Any], stream: int) -> Callable[[str], Any]:
        hear, unsent = self._listener.text, self._unsent

        def replacement(text: str) -> Any:
            __tracebackhide__ = HIDE_BELOW
            if self._over:
                return write(text)
            result = write(text)
            unsent.add(stream)
            hear(text)
            return result

        def replacement_alone(text: str) -> Any:
            __tracebackhide__ = HIDE_BELOW
            if not isinstance(text, str) or self._is_passed_on():
                return write(text)
            if _is_child:
                return _to_the_kernel(write, text)
            hear(text)
            return len(text)

        return replacement if self._show else replacement_alone

    def _flush(self, flush: Callable[[], Any], stream: int) -> Callable[[], Any]:
        unsent = self._unsent

        def replacement() -> Any:
            __tracebackhide__ = HIDE_BELOW
            if self._is_passed_on():
                return flush()
            # ipykernel says that nothing is held as soon as it begins to send: text that was
            # written since a whole flush is waited for, whatever it says
            if (
                self._showing == threading.get_ident()
                and stream not in unsent
                and not _may_hold_text(flush)
            ):
                return None  # two threads would wait for each other, for nothing
            unsent.discard(stream)  # first: another thread may write meanwhile
            result = flush() if self._show else None
            self._listener.flush_text()
            return result

        return replacement

    def _publish(self, publish: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(data: Mapping[str, Any], *args: Any, **options: Any) -> None:
            __tracebackhide__ = HIDE_BELOW
            if not self._show and not isinstance(data, Mapping):
                publish(data, *args, **options)  # it says what is wrong with it
                return
            if self._shown_by(publish, data, *args, **options):
                transient = options.get("transient") or {}
                self._listener.display(
                    data, transient.get("display_id"), bool(options.get("update", False))
                )

        return replacement

    def _clear_output(self, clear: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(wait: bool = False) -> None:
            __tracebackhide__ = HIDE_BELOW
            if self._shown_by(clear, wait):
                self._listener.clear_output(wait)

        return replacement

    def _write_format_data(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(bundle: Mapping[str, Any], *args: Any, **options: Any) -> None:
            if self._shown_by(write, bundle, *args, **options):
                self._listener.display(bundle, None, update=False)

        return replacement

    def _draw_error(self, draw: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(*args: Any, **options: Any) -> Any:
            if self._over or threading.get_ident() in self._listener.muted_threads:
                return draw(*args, **options)
            value: BaseException | None = (args[0] if args and args[0] else sys.exc_info())[1]
            with self._listener.delay_stop():
                if value is None or not _is_group(value) or self._is_passed_on():
                    return draw(*args, **options)
                if self._show:  # IPython prints it, and calls nothing that we would hear
                    self._quietly(draw, *args, **options)
                self._listener.error(value)
            return None

        return replacement

    def _showtraceback(self, show: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(kind: type[BaseException], value: BaseException, lines: list[str]) -> None:
            if self._show and not self._over and self._listener.is_stop(value):
                self._listener.error(value)
            elif self._error_as_text and self._show and not self._over:
                self._quietly(sys.stderr.write, "\n".join(lines) + "\n")
                self._listener.error(value)
            else:
                if self._show and not self._over:
                    lines = self._listener.traceback(value, lines)
                if self._shown_by(show, kind, value, lines):
                    self._listener.error(value)

        return replacement

    def _unless_the_codes(self, remember: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(result: Any) -> None:
            if self._is_passed_on():
                remember(result)

        return replacement

    # Receivers ------------------------------------------------------------------------------------

    def _shown_by(self, function: Callable[..., Any], *args: Any, **options: Any) -> bool:
        """Call the original if it may show this; returns whether the listener gets it."""
        if self._is_passed_on():
            function(*args, **options)
            return False
        if self._show:
            self._quietly(function, *args, **options)
        return True

    def _is_passed_on(self) -> bool:
        """Whether only the original gets it, and the listener does not."""
        return self._over or (not self._show and self._listener.foreign())

    def _get_exc_info(self, get: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(*args: Any, **options: Any) -> Any:
            info = get(*args, **options)
            without_handler(info[1])
            return info

        return replacement

    def _quiet(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **options: self._quietly(function, *args, **options)

    def _finish_value(self, finish: Callable[..., Any]) -> Callable[..., Any]:
        """ipykernel flushes both streams there, so that the value comes after the text."""

        def replacement(*args: Any, **options: Any) -> Any:
            self._showing = threading.get_ident()
            try:
                return self._quietly(finish, *args, **options)
            finally:
                self._showing = 0

        return replacement

    def _quietly(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call it with this thread muted: in a terminal it writes to stdout, which counts once."""
        threads, me = self._listener.muted_threads, threading.get_ident()
        if me in threads:
            return function(*args, **options)
        threads.add(me)
        try:
            return function(*args, **options)
        finally:
            threads.discard(me)


class _WrappedStream:
    """A stream whose instance takes no attributes, with another `write`."""

    def __init__(self, stream: Any, write: Callable[[str], Any]) -> None:
        self._stream = stream
        self.write = write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _NoOutputs(dict[Any, list[Any]]):
    """Takes the place of IPython 9's lists of what each cell has shown, and stores none."""

    def __missing__(self, _: object) -> list[Any]:
        return []


def _is_ours(current: Any, new: Any) -> bool:
    """Whether this is our patch, or IPython's copy for its history around it.

    IPython 9 puts one around `write` for the time of a cell, and leaves it there when the cell
    is interrupted at the wrong moment.
    """
    return current is new or getattr(current, "__qualname__", "").endswith("_tee.<locals>.write")


def _may_hold_text(flush: Callable[[], Any]) -> bool:
    """Whether a flush of this stream would send something; only of ipykernel's is that known."""
    return getattr(getattr(flush, "__self__", None), "_flush_pending", True) is not False


_is_child = False
"""Whether this process is a forked child of the code, which has no listener."""


def _note_fork() -> None:
    global _is_child
    _is_child = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def _to_the_kernel(write: Callable[[str], Any], text: str) -> Any:
    """Text of a forked child, into the file descriptor that its kernel reads."""
    fd = getattr(getattr(write, "__self__", None), "_original_stdstream_fd", None)
    if fd is None:
        return write(text)
    data = text.encode(errors="replace")
    with suppress(BrokenPipeError):  # the kernel has ended
        while data:
            data = data[os.write(fd, data) :]
    return len(text)


def _is_group(error: BaseException) -> bool:
    """Whether it is an exception group, or came up while one was handled, as IPython asks."""
    group = getattr(builtins, "BaseExceptionGroup", None)  # from Python 3.11 on
    at: BaseException | None = error
    while group is not None and at is not None:
        if isinstance(at, group):
            return True
        at = at.__context__
    return False
