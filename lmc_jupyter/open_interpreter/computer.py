"""`interpreter.computer`: runs code that the app itself wants to run.

One rule: nobody is asked, because no model wrote it; what a model wrote goes through the session.
"""

from __future__ import annotations

import weakref
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal, overload

from lmc_jupyter.conversation.history import History
from lmc_jupyter.errors import SessionError
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.open_interpreter.absent import (
    NO_SKILLS,
    NO_TOOLS,
    MissingPart,
    Strict,
    Unused,
    switch,
)
from lmc_jupyter.open_interpreter.threads import on_main_thread, on_one_thread
from lmc_jupyter.stream import Assembler, delimit

if TYPE_CHECKING:
    from lmc_jupyter.computer import Language
    from lmc_jupyter.open_interpreter.interpreter import OpenInterpreter

Dict = dict[str, Any]


class Ai:
    """`computer.ai`: one question to the model, beside the conversation; no code runs."""

    def __init__(self, interpreter: OpenInterpreter) -> None:
        self._interpreter = interpreter

    def chat(self, text: str) -> str:
        """What the model answers."""
        return self._interpreter.ask_aside(text)

    def query(self, text: str, query: str) -> str:
        """What the model answers to a question about a text, which it is sent whole."""
        return self.chat(f"{query}\n\nThe text:\n\n{text}")

    def summarize(self, text: str) -> str:
        """The model's summary of a text, which it is sent whole."""
        return self.query(text, "Summarise this text in one short paragraph.")


class InterpreterComputer(Strict):
    """The computer of an interpreter: runs code that the app itself wants to run, without asking.

    What it shows goes to the caller and not into the conversation: append it, if the model is to
    know it.
    """

    _shown_name = "computer"
    verbose, debug, offline, save_skills = switch(), switch(), switch(), switch(True)
    emit_images = Unused(True, instead="images that code shows always reach the app")
    import_computer_api = Unused(False, instead=NO_TOOLS)
    import_skills = Unused(False, instead=NO_SKILLS)
    api_base = Unused(None, instead="nothing here asks a server of Open Interpreter's")
    screenshot = MissingPart("computer.screenshot", NO_TOOLS)
    view = MissingPart("computer.view", NO_TOOLS)
    mouse = MissingPart("computer.mouse", NO_TOOLS)
    keyboard = MissingPart("computer.keyboard", NO_TOOLS)
    display = MissingPart("computer.display", NO_TOOLS)
    clipboard = MissingPart("computer.clipboard", NO_TOOLS)
    mail = MissingPart("computer.mail", NO_TOOLS)
    sms = MissingPart("computer.sms", NO_TOOLS)
    calendar = MissingPart("computer.calendar", NO_TOOLS)
    contacts = MissingPart("computer.contacts", NO_TOOLS)
    browser = MissingPart("computer.browser", NO_TOOLS)
    os = MissingPart("computer.os", NO_TOOLS)
    vision = MissingPart("computer.vision", "ask a model that sees, with the image as a message")
    docs = MissingPart("computer.docs", NO_TOOLS)
    files = MissingPart("computer.files", NO_TOOLS)
    skills = MissingPart("computer.skills", NO_SKILLS)

    def __init__(self, interpreter: OpenInterpreter) -> None:
        self._of = weakref.ref(interpreter)

    @property
    def interpreter(self) -> OpenInterpreter:
        """Whose computer this is."""
        return self._interpreter

    @property
    def terminal(self) -> InterpreterComputer:
        """This: it runs code."""
        return self

    @property
    def ai(self) -> Ai:
        """Asks the model outside the conversation."""
        return Ai(self._interpreter)

    @property
    def max_output(self) -> int:
        """The same as `interpreter.max_output`."""
        return self._interpreter.max_output

    @max_output.setter
    def max_output(self, value: int) -> None:
        self._interpreter.max_output = value

    def exec(self, code: str) -> list[Dict]:
        """Run shell code; the messages that it makes."""
        return self.run("shell", code)

    @property
    def _interpreter(self) -> OpenInterpreter:
        interpreter = self._of()
        if interpreter is None:
            raise SessionError("the interpreter of this computer is gone: keep it while you use it")
        return interpreter

    @property
    def languages(self) -> list[Language]:
        """What it can run, in order; each has a `name` and `aliases`."""
        return list(self._interpreter.session.computer.languages.values())

    @languages.setter
    def languages(self, _: Any) -> None:
        raise SessionError(
            "computer.languages cannot be set: forbid a language by `interpreter.session.deny = "
            "[NAME]`, add one by `interpreter.session.computer.register(LANGUAGE)`"
        )

    @overload
    def run(
        self, language: str, code: str, *, stream: Literal[True], display: bool = False
    ) -> Generator[Dict, None, None]: ...

    @overload
    def run(
        self, language: str, code: str, stream: Literal[False] = False, display: bool = False
    ) -> list[Dict]: ...

    def run(self, language: str, code: str, stream: bool = False, display: bool = False) -> Any:
        """Run code; the messages that it makes, or a generator of their chunks.

        Closing the generator, or breaking out of its loop, halts the code.

        Raises
        ------
        UnknownLanguageError
            At the call: there is no such language, or it cannot run here.
        """
        interpreter = self._interpreter
        computer = interpreter.session.computer
        before = interpreter.show_python(display and on_main_thread())
        try:
            pieces = computer.run(language, code)  # whether it is shown is settled here
            entry = computer.languages.get(computer.canonical(language))
            chunks = self._chunks(pieces, display and not getattr(entry, "native", False))
        finally:
            interpreter.show_python(before)
        chunks = on_one_thread(chunks)
        if stream:
            return _as_dicts(chunks)
        assembler = Assembler()
        with closing(chunks):
            whole = [message for chunk in chunks if (message := assembler.feed(chunk)) is not None]
        return [message.to_dict() for message in whole if message.content != ""]

    def _chunks(
        self, pieces: Generator[Chunk, None, None], show: bool
    ) -> Generator[Chunk, None, None]:
        history = History()
        view = self._interpreter.text_view(None, history) if show else None
        try:
            for chunk in delimit(pieces):
                if view is not None:
                    history.grow(chunk)
                yield chunk
        finally:
            pieces.close()
            if view is not None:
                view.close()

    def stop(self) -> None:
        """Interrupt whatever runs, from any thread; returns at once."""
        self._interpreter.session.computer.stop()

    def terminate(self) -> None:
        """End what the languages have started; each begins anew at its next block.

        The python is the one of this process: its names stay.
        """
        self._interpreter.session.computer.close()


def _as_dicts(chunks: Generator[Chunk, None, None]) -> Generator[Dict, None, None]:
    with closing(chunks):
        for chunk in chunks:
            yield chunk.to_dict()
