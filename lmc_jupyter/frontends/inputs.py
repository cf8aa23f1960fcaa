"""What running programs ask the person for, a line each: `input()`, `getpass()`.

One rule: an interrupt may hit at any point of it, since it waits within the person's own code. So
nothing here holds a lock; who shows the question is told on another thread, and what was typed
is kept nowhere.
"""

from __future__ import annotations

import itertools
import queue
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Literal

from lmc_jupyter.lmc import clean

MOST_PROMPT = 2_000
"""Characters of a prompt that are shown with the question; all of it is in the console."""
_WAIT_SECONDS = 0.25  # not every system wakes a waiting main thread for a signal


class Inputs:
    """The questions of one answer, the oldest first; used from any thread.

    Parameters
    ----------
    changed : called when another question is open than before, or none; within the code that
        asks, so it must be one call of something that no interrupt leaves half done
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._open: list[_Question] = []
        self._over = False

    def ask(self, prompt: str, password: bool = False, key: bool = False) -> str:
        """What the person types; on the thread of whoever asks.

        Parameters
        ----------
        key : it is no code that asks, but we, for the key of the name `prompt`

        Raises
        ------
        EOFError
            When they give no answer (Ctrl-D), or the answer that it belongs to has ended.
        KeyboardInterrupt
            When the answer is stopped meanwhile.
        """
        __tracebackhide__ = True
        question = _Question(prompt, password, key)
        try:
            self._open.append(question)
            if self._over:
                raise EOFError
            self._changed()
            return question.wait()
        finally:
            if question in self._open:
                self._open.remove(question)
            self._changed()

    def asked(self, *others: Inputs) -> dict[str, Any] | None:
        """The question to show, `Input` of protocol.ts; None when there is none.

        Parameters
        ----------
        others : the oldest of all is shown, so that none takes the place of one into which the
            person types
        """
        each = [each._first() for each in (self, *others)]
        found = sorted(filter(None, each), key=lambda question: question.number)
        return found[0].wire() if found else None

    def _first(self) -> _Question | None:
        return None if self._over else next(iter(self._open), None)

    def answer(self, content: Mapping[str, Any]) -> None:
        """The person's answer, as protocol.ts has it; of two to one question the first counts."""
        text = content.get("text")
        if text is not None and not isinstance(text, str):
            return
        for question in list(self._open):
            if question.id == content.get("input"):
                question.tell("end" if text is None else "text", clean(text or ""))

    def stop(self) -> None:
        """Whoever waits is interrupted. On the main thread that is done by a signal."""
        main = threading.main_thread().ident
        for question in list(self._open):
            if question.thread != main:
                question.tell("stop")

    def close(self) -> None:
        """The answer has ended: nobody is asked any more."""
        self._over = True
        for question in list(self._open):
            question.tell("end")
        self._changed()


_numbers = itertools.count()


class _Question:
    """One that waits."""

    def __init__(self, prompt: str, password: bool, key: bool) -> None:
        self.id = uuid.uuid4().hex
        self.number = next(_numbers)
        self.thread = threading.get_ident()
        self._prompt, self._password, self._key = prompt, password, key
        self._said: queue.SimpleQueue[tuple[Literal["text", "end", "stop"], str]] = (
            queue.SimpleQueue()
        )

    def wire(self) -> dict[str, Any]:
        shown = self._prompt
        if len(shown) > MOST_PROMPT:  # its end says what is wanted
            shown = f"… {shown[-MOST_PROMPT:]}"
        return {
            "id": self.id,
            "prompt": clean(shown),
            "password": self._password,
            "key": self._key,
        }

    def tell(self, kind: Literal["text", "end", "stop"], text: str = "") -> None:
        self._said.put((kind, text))

    def wait(self) -> str:
        __tracebackhide__ = True
        while True:
            try:
                kind, text = self._said.get(timeout=_WAIT_SECONDS)
            except queue.Empty:
                continue
            if kind == "text":
                return text
            raise EOFError if kind == "end" else KeyboardInterrupt
