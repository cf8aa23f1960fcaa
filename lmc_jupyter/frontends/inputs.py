"""What running programs ask the person for, a line each: `input()`, `getpass()`.

One rule: an interrupt may come at any line, since the call waits within the person's own code. So
nothing here locks; the front end learns of a question on another thread, and no answer is stored.
"""

from __future__ import annotations

import itertools
import queue
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Literal

from lmc_jupyter.computer.screen import Choices
from lmc_jupyter.lmc import clean

MOST_PROMPT = 2_000
"""Characters of a prompt that are shown with the question; all of it is in the console."""
_WAIT_SECONDS = 0.25  # not every system wakes a waiting main thread for a signal


class Inputs:
    """The questions of one answer, the oldest first; used from any thread.

    Parameters
    ----------
    on_change : called when another question is open than before, or none; within the code that
        asks, so it must be one call of something that no interrupt leaves half done
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._open: list[_InputRequest] = []
        self._over = False

    def ask(
        self, prompt: str, password: bool = False, key: bool = False, choices: Choices = ()
    ) -> str:
        """What the person types; on the thread of whoever asks.

        Parameters
        ----------
        key : it is no code that asks, but we, for the key of the name `prompt`
        choices : we ask, and these are the answers

        Raises
        ------
        EOFError
            When they give no answer (Ctrl-D), or the answer that it belongs to has ended.
        KeyboardInterrupt
            When the answer is stopped meanwhile.
        """
        __tracebackhide__ = True
        question = _InputRequest(prompt, password, key, choices)
        try:
            self._open.append(question)
            if self._over:
                raise EOFError
            self._on_change()
            return question.wait()
        finally:
            if question in self._open:
                self._open.remove(question)
            self._on_change()

    def current(self, *others: Inputs) -> dict[str, Any] | None:
        """The question to show, `Input` of protocol.ts; None when there is none.

        Parameters
        ----------
        others : the oldest of all is shown, so that none takes the place of one into which the
            person types
        """
        each = [each._first() for each in (self, *others)]
        questions = sorted(filter(None, each), key=lambda question: question.number)
        return questions[0].wire() if questions else None

    def _first(self) -> _InputRequest | None:
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
        """Interrupt every waiting call; on the main thread a signal does that."""
        main = threading.main_thread().ident
        for question in list(self._open):
            if question.thread != main:
                question.tell("stop")

    def close(self) -> None:
        """The answer has ended: nobody is asked any more."""
        self._over = True
        for question in list(self._open):
            question.tell("end")
        self._on_change()


_numbers = itertools.count()


class _InputRequest:
    """One that waits."""

    def __init__(self, prompt: str, password: bool, key: bool, choices: Choices) -> None:
        self.id = uuid.uuid4().hex
        self.number = next(_numbers)
        self.thread = threading.get_ident()
        self._prompt, self._password, self._key = prompt, password, key
        self._choices = choices
        self._answers: queue.SimpleQueue[tuple[Literal["text", "end", "stop"], str]] = (
            queue.SimpleQueue()
        )

    def wire(self) -> dict[str, Any]:
        prompt = self._prompt
        if len(prompt) > MOST_PROMPT:  # its end says what is wanted
            prompt = f"… {prompt[-MOST_PROMPT:]}"
        wire = {
            "id": self.id,
            "prompt": prompt,
            "password": self._password,
            "key": self._key,
        }
        return {**wire, "choices": self._choices} if self._choices else wire

    def tell(self, kind: Literal["text", "end", "stop"], text: str = "") -> None:
        self._answers.put((kind, text))

    def wait(self) -> str:
        __tracebackhide__ = True
        while True:
            try:
                kind, text = self._answers.get(timeout=_WAIT_SECONDS)
            except queue.Empty:
                continue
            if kind == "text":
                return text
            raise EOFError if kind == "end" else KeyboardInterrupt
