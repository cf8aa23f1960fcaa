"""The keyboard of code that runs between the cells: there, nobody but us can ask the person.

One rule: the code gets ipykernel's own `input` and `getpass`, as in a cell, and references to them
work in cells later; only their request to the front end is replaced while the code runs.
"""

from __future__ import annotations

import builtins
import getpass
import io
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from lmc_jupyter.kernel.frontend import can_ask

Ask = Callable[[str, bool], str]
"""(prompt, whether it is a password) -> what the person types, on the thread of whoever asks."""


class Keyboard:
    """While entered, `input`, `getpass`, `sys.stdin` and `breakpoint` ask the person by `ask`.

    Parameters
    ----------
    kernel : an ipykernel
    ask : None where nobody can be asked; then they say so at once
    """

    def __init__(self, kernel: Any, ask: Ask | None) -> None:
        self._kernel = kernel
        self._ask = ask if hasattr(kernel, "_input_request") else None
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> None:
        kernel, ask = self._kernel, self._ask
        before = can_ask(kernel)
        self._undo.append(lambda: setattr(kernel, "_allow_stdin", before))
        kernel._allow_stdin = ask is not None
        if ask is None:
            self._replace(builtins, "input", _no_input)
            self._replace(getpass, "getpass", _no_getpass)
            return

        def request(
            prompt: str, _ident: object = None, _parent: object = None, password: bool = False
        ) -> str:
            __tracebackhide__ = True
            return ask(str(prompt), password)

        attributes = vars(kernel)
        # beside it a subshell may run a cell, whose beginning and end would take the keyboard away
        for name, new in (
            ("_input_request", request),
            ("_forward_input", lambda *_, **__: None),
            ("_restore_input", lambda *_, **__: None),
        ):
            attributes[name] = new  # past traitlets
            self._undo.append(partial(attributes.pop, name, None))
        self._replace(builtins, "input", kernel.raw_input)
        self._replace(getpass, "getpass", kernel.getpass)
        self._replace(sys, "stdin", _Stdin(ask))
        if not getattr(getattr(kernel, "debugger", None), "is_started", False):
            # debugpy's hook does nothing while no front end debugs; pdb asks on the keyboard
            self._replace(sys, "breakpointhook", sys.__breakpointhook__)

    def __exit__(self, *_: object) -> None:
        while self._undo:
            self._undo.pop()()

    def _replace(self, owner: Any, name: str, new: Any) -> None:
        before = getattr(owner, name)
        setattr(owner, name, new)

        def undo() -> None:
            if getattr(owner, name) is new:  # else the code has put another there
                setattr(owner, name, before)

        self._undo.append(undo)


class _Stdin(io.TextIOBase):
    """Standard input whose lines the person types; Ctrl-D is its end."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._rest = ""

    def readable(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        if not self._rest:
            try:
                self._rest = self._ask("", False) + "\n"
            except EOFError:
                return ""
        size = len(self._rest) if size is None or size < 0 else size
        line, self._rest = self._rest[:size], self._rest[size:]
        return line

    def read(self, size: int | None = -1, /) -> str:
        if size is not None and size >= 0:
            return self.readline(size) if size else ""
        return "".join(iter(self.readline, ""))


def _no_input(_prompt: object = "", /) -> str:
    __tracebackhide__ = True
    raise _not_here("input()")


def _no_getpass(*_: object, **__: object) -> str:
    __tracebackhide__ = True
    raise _not_here("getpass()")


def _not_here(what: str) -> Exception:
    from IPython.core.error import StdinNotImplementedError

    return StdinNotImplementedError(
        f"{what} cannot ask here: code of the chat panel has no keyboard. Write the value into "
        "the code, or run this code in a cell."
    )
