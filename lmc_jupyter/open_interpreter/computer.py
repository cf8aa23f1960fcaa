"""`interpreter.computer`: runs code that the app itself wants to run.

One rule: nobody is asked, because no model wrote it; what a model wrote goes through the session.
"""

from __future__ import annotations

import weakref
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal, overload

from lmc_jupyter.errors import SessionError
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.open_interpreter.threads import on_main_thread, on_one_thread
from lmc_jupyter.stream import Assembler, delimit

if TYPE_CHECKING:
    from lmc_jupyter.computer import Language
    from lmc_jupyter.open_interpreter.interpreter import OpenInterpreter

Dict = dict[str, Any]


class InterpreterComputer:
    """The computer of an interpreter: runs code that the app itself wants to run, without asking.

    What it shows goes to the caller and not into the conversation: append it, if the model is to
    know it.
    """

    def __init__(self, interpreter: OpenInterpreter) -> None:
        self._of = weakref.ref(interpreter)

    @property
    def _interpreter(self) -> OpenInterpreter:
        found = self._of()
        if found is None:
            raise SessionError("the interpreter of this computer is gone: keep it while you use it")
        return found

    @property
    def languages(self) -> list[Language]:
        """What it can run, in order; each has a `name` and `aliases`."""
        return list(self._interpreter.session.computer.languages.values())

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
            found = computer.languages.get(computer.canonical(language))
            chunks = self._chunks(pieces, display and not getattr(found, "native", False))
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
        view = self._interpreter.text_view(None) if show else None
        try:
            for chunk in delimit(pieces):
                if view is not None:
                    view.show(chunk)
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
