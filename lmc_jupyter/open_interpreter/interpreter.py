"""`OpenInterpreter`: a session as the migration guide has it.

One rule: what is set here goes to the session before the next answer, and what the session makes
comes out as dicts; nothing is decided here that a session decides.

The file is long because the guide's class is one: a third of it are its settings and what they
mean, the rest is `chat`, which may be a stream, a whole answer, an answer on a thread, or a
conversation on the keyboard. Each of these is a reading of the one generator `_replies`.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import closing, suppress
from inspect import GEN_SUSPENDED, getgeneratorstate
from typing import TYPE_CHECKING, Any, Literal, overload

from lmc_jupyter.agent import Reply, can_go_on
from lmc_jupyter.computer import Computer
from lmc_jupyter.context.instructions import INSTRUCTIONS
from lmc_jupyter.errors import LMCError, SessionError, Stopped
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.view import play
from lmc_jupyter.gate import Decision
from lmc_jupyter.kernel.frontend import can_ask, current_shell, kernel_of, kind
from lmc_jupyter.lmc import Message
from lmc_jupyter.open_interpreter.absent import (
    NO_SKILLS,
    NO_TOOLS,
    MissingPart,
    Strict,
    Unused,
    switch,
)
from lmc_jupyter.open_interpreter.computer import InterpreterComputer
from lmc_jupyter.open_interpreter.dicts import Dict, MessageList, read
from lmc_jupyter.open_interpreter.llm import LLM
from lmc_jupyter.open_interpreter.threads import (
    between_cells_of_kernel,
    on_main_thread,
    on_one_thread,
)
from lmc_jupyter.session import Session

if TYPE_CHECKING:
    from lmc_jupyter.conversation.history import History
    from lmc_jupyter.frontends.terminal.text import TextView

Answer = Decision | bool | None
"""What an app may send at a confirmation: None, going on, runs the code as it stands."""

Chunks = Generator[Dict, Answer, None]
"""A streamed answer."""

LOOP_BREAKERS = (
    "The task is done.",
    "The task cannot be done.",
    "What should I do next?",
    "I need to know more.",
)
"""With one of these sentences in its last message a model ends the loop."""

LOOP_MESSAGE = (
    "Go on with the task; you can run code. If nothing is left to do, or you need the person, end "
    f"with exactly one of these sentences: {' '.join(LOOP_BREAKERS)}"
)

SAFE_MODES = ("off", "ask", "auto")

_NEW_NAMES = {
    "model": "llm.model",
    "api_key": "llm.api_key",
    "llm_supports_vision": "llm.supports_vision",
    "supports_function_calling": "llm.supports_functions",
    "max_tokens": "llm.max_tokens",
    "context_window": "llm.context_window",
    "temperature": "llm.temperature",
    "api_version": "llm.api_version",
    "api_base": "llm.api_base",
}
"""The guide's "New Parameters": where each attribute has gone."""

_NO_TERMINAL = "the program for terminals is `%%lmc` in IPython"
_OWN_PLACE = "conversations have their own place; `interpreter.session.save(PATH)` writes a file"
_NO_TEMPLATE = "messages are sent as they are; say the rest in `custom_instructions`"

_OWN = ("auto_run", "custom_instructions", "system_message")
"""Options that the interpreter has of its own; the others are the notebook's."""


class OpenInterpreter(Strict):
    """A conversation with a model that runs code, as Open Interpreter's migration guide has it.

    Parameters
    ----------
    messages : list of dicts, optional
        The conversation to begin with.
    auto_run : bool or languages
        Whether code runs unasked. It is announced by a confirmation chunk all the same.
    safe_mode : "off", "ask" or "auto"
        Unless it is "off", `auto_run` counts for nothing: no code runs unasked. Both words mean
        this; no code is scanned, a person or the app has to judge it.
    system_message, custom_instructions : str, optional
        In place of our instructions to the model; and what it is told behind them.
    max_output : int
        Characters of one result that the model gets, head and tail; the person has it all.
    loop : bool
        Whether the model is told to go on until it says one of `loop_breakers`.
    conversation_history : bool
        Whether the conversation is kept on disk, as every conversation of this package is.
    computer : Computer, optional
        Default: the live python of this process, and every other language.
    verbose : bool
        Whether every chunk is also written to stderr, as a dict in a line.
    **unused
        Other settings of Open Interpreter's: a value that changes nothing here is taken, any other
        is refused with a sentence (docs/open-interpreter.md).

    Examples
    --------
    >>> from lmc_jupyter import OpenInterpreter
    >>> agent = OpenInterpreter()
    >>> agent.llm.model = "ollama_chat/qwen2.5-coder:7b"
    >>> for chunk in agent.chat("What is 2380*3875?", display=False, stream=True):  # doctest: +SKIP
    ...     print(chunk)
    """

    _shown_name = "OpenInterpreter"
    custom_instructions: str = ""
    loop: bool = False
    loop_message: str = LOOP_MESSAGE
    loop_breakers: Collection[str] = LOOP_BREAKERS
    verbose: bool = False
    """Whether every chunk is also written to stderr, as a dict in a line."""

    debug, highlight_active_line = switch(), switch(True)
    offline, disable_telemetry = switch(), switch()
    anonymous_telemetry = Unused(False, instead="there is no telemetry")
    anonymized_telemetry = Unused(False, instead="there is no telemetry")
    contribute_conversation = Unused(False, instead="no conversation leaves this machine by itself")
    multi_line, plain_text_display = switch(True), switch()
    in_terminal_interface = Unused(False, instead=_NO_TERMINAL)
    speak_messages = Unused(False, instead="nothing speaks here")
    os = Unused(False, instead=NO_TOOLS)
    shrink_images = Unused(True, instead="images are always scaled to what the model takes")
    sync_computer = Unused(False, instead=NO_TOOLS)
    import_computer_api = Unused(False, instead=NO_TOOLS)
    import_skills = Unused(False, instead=NO_SKILLS)
    skills_path = Unused(None, instead=NO_SKILLS)
    conversation_filename = Unused(None, instead=_OWN_PLACE)
    conversation_history_path = Unused(None, instead=_OWN_PLACE)
    user_message_template = Unused("{content}", instead=_NO_TEMPLATE)
    always_apply_user_message_template = switch()
    code_output_template = Unused(None, instead=_NO_TEMPLATE)
    empty_code_output_template = Unused(None, instead=_NO_TEMPLATE)
    code_output_sender = Unused("user", instead=_NO_TEMPLATE)
    server = MissingPart("the server", "a server of yours streams what `chat(stream=True)` gives")
    local_setup = MissingPart("the wizard", "`%lmc model` lists the models that can be used now")

    def __init__(
        self,
        messages: Iterable[Message | Mapping[str, Any]] | None = None,
        *,
        auto_run: bool | Collection[str] = False,
        safe_mode: str = "off",
        system_message: str | None = None,
        custom_instructions: str = "",
        max_output: int | None = None,
        loop: bool = False,
        loop_message: str = LOOP_MESSAGE,
        loop_breakers: Collection[str] = LOOP_BREAKERS,
        conversation_history: bool = True,
        computer: Computer | None = None,
        verbose: bool = False,
        **unused: Any,
    ) -> None:
        self._llm, self._face = LLM(), InterpreterComputer(self)
        self._computer, self._keep = computer, conversation_history
        self._parts: tuple[Session, MessageList] | None = None
        self._lock = threading.RLock()  # of making these two
        self._streams: weakref.WeakSet[Chunks] = weakref.WeakSet()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._first_new = 0
        self._auto_run: bool | Collection[str] = False
        self._safe_mode, self._system_message = "off", INSTRUCTIONS
        self.auto_run, self.safe_mode = auto_run, safe_mode
        if system_message is not None:
            self.system_message = system_message
        self.custom_instructions, self.loop = custom_instructions, loop
        self.loop_message, self.loop_breakers = loop_message, loop_breakers
        self.verbose = verbose
        for name, value in unused.items():
            if not isinstance(getattr(type(self), name, None), Unused):
                raise TypeError(self._unknown(name))
            setattr(self, name, value)
        self._max_output: int | None = None
        if max_output is not None:
            self.max_output = max_output
        if messages is not None:
            self.messages = messages

    def __repr__(self) -> str:
        return f"<OpenInterpreter with {self._llm!r}>"

    def _unknown(self, name: str) -> str:
        if name in _NEW_NAMES:
            return (
                f"{name!r} has moved, as the migration guide says: use "
                f"`interpreter.{_NEW_NAMES[name]}`"
            )
        return f"{super()._unknown(name)}, and what of Open Interpreter is left out"

    # The conversation -----------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session whose face this is, made at first use."""
        return self._session_and_list()[0]

    def _session_and_list(self) -> tuple[Session, MessageList]:
        with self._lock:
            if self._parts is None:
                settings = {**_of_settings(), "receipts": False}  # nobody shows them here
                session = Session(computer=self._computer, keep=self._keep, **settings)
                session.auto_run = _policy(self._auto_run, self._safe_mode)
                self._parts = session, MessageList(session.history)
            return self._parts

    @property
    def messages(self) -> list[Dict]:
        """The conversation as a flat list of dicts, always the same list.

        It grows while an answer comes: the message that is not yet whole is its last one, and
        `partial`. What is appended to it, or changed in it, counts from the next answer on; each
        whole message has an `id` and a `created_at`, as the guide's tips advise. Assign a list to
        go on from it.
        """
        app_list = self._session_and_list()[1]
        app_list.grow()
        return app_list.list

    @messages.setter
    def messages(self, messages: Iterable[Message | Mapping[str, Any]]) -> None:
        self._end_streams()
        session, app_list = self._session_and_list()
        session.messages = messages
        app_list.begin()
        self._first_new = len(session.history)
        if session.conversation.notice:  # what could not be kept as it was
            warnings.warn(session.conversation.notice, RuntimeWarning, stacklevel=3)

    def reset(self) -> None:
        """Begin a new conversation; an answer that is still open ends. Variables stay."""
        self._end_streams()
        session, app_list = self._session_and_list()
        session.reset()
        app_list.begin()
        self._first_new = 0

    @overload
    def chat(
        self,
        message: str | Mapping[str, Any] | Iterable[Any] | None = None,
        display: bool = True,
        *,
        stream: Literal[True],
        blocking: bool = True,
    ) -> Chunks: ...

    @overload
    def chat(
        self,
        message: str | Mapping[str, Any] | Iterable[Any] | None = None,
        display: bool = True,
        stream: bool = False,
        blocking: bool = True,
    ) -> Any: ...

    def chat(
        self,
        message: str | Mapping[str, Any] | Iterable[Any] | None = None,
        display: bool = True,
        stream: bool = False,
        blocking: bool = True,
    ) -> Any:
        """Ask, and have the answer.

        Parameters
        ----------
        message : str, dict, list of dicts, or None
            A text or one message goes to the end of the conversation (a dict without a role is
            the user's); a list takes its place. None goes on from where it stands; where nothing
            is there to go on with, you are asked on the keyboard, question after question, until
            you type `exit`.
        display : whether it is shown here; where a person can be asked, code is asked about
        stream : whether to return a generator of chunks in place of the new messages
        blocking : False answers on a thread, and `wait` gives the messages. Nobody can be asked
            there

        Returns
        -------
        The new messages; or a generator of chunks. It begins with its first `next`. At a
        confirmation chunk, going on runs the code (as it then stands at the end of `messages`),
        sending False or a `Decision` declines, and closing the generator runs nothing: the code
        stays last, and `chat()` offers it again. None when not blocking.

        Warns
        -----
        RuntimeWarning
            When it returns before its end because code waits and nobody can be asked. Nothing was
            run.

        Raises
        ------
        SessionError
            While another answer is being given, or when there is nothing to answer.
        ProtocolError
            For a message that LMC does not allow; the conversation is as it was.
        ModelError
            When the model failed. What had come stays in `messages`.
        """
        if stream:
            if not blocking:
                raise SessionError("a stream gives its chunks as you ask: take blocking=True")
            chunks = on_one_thread(self._stream(message, display))
            self._streams.add(chunks)
            return chunks
        self._end_streams()
        if not blocking:
            self._answer_on_a_thread(message, display)
            return None
        if message is None and display and not self._can_go_on():
            return self._converse()
        self._answer(message, display, self._keyboard())
        return self._new_messages()

    def wait(self) -> list[Dict]:
        """Wait for `chat(..., blocking=False)`, and return its new messages.

        Raises
        ------
        LMCError
            What ended the answer too early; or a SessionError in a cell of a notebook, when the
            code of the answer waits for this very cell to end.
        """
        thread = self._thread
        if thread is not None:
            kernel = kernel_of(current_shell()) is not None and on_main_thread()
            python = self.python()
            while thread.is_alive():
                if kernel and getattr(python, "waits_for_cell", False):
                    raise SessionError(
                        "python code of this answer runs when the cell has ended: call wait() in a "
                        "later cell"
                    )
                thread.join(0.05 if kernel else None)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return self._new_messages()

    def stop(self) -> None:
        """Stop the answer that is being given, from any thread; what has come so far is kept."""
        self.session.stop()

    # Settings -------------------------------------------------------------------------------------

    @property
    def llm(self) -> LLM:
        """The model and what it is asked with."""
        return self._llm

    @property
    def computer(self) -> InterpreterComputer:
        """Runs code for the app."""
        return self._face

    @property
    def max_budget(self) -> float | None:
        """US dollars that the conversation may cost; the same as `llm.max_budget`."""
        budget: float | None = self._llm.max_budget
        return budget

    @max_budget.setter
    def max_budget(self, value: float | None) -> None:
        self._llm.max_budget = value

    @property
    def responding(self) -> bool:
        """Whether an answer is being given."""
        return self._parts is not None and self._parts[0].busy

    @property
    def auto_run(self) -> bool | Collection[str]:
        """Whether code runs unasked: every language, or these; see `safe_mode`."""
        return self._auto_run

    @auto_run.setter
    def auto_run(self, value: bool | Collection[str]) -> None:
        self._set_policy(value, self._safe_mode)
        self._auto_run = value

    @property
    def safe_mode(self) -> str:
        """Unless it is "off" (so "ask" or "auto"), no code runs unasked, whatever `auto_run` is."""
        return self._safe_mode

    @safe_mode.setter
    def safe_mode(self, value: str) -> None:
        if value not in SAFE_MODES:
            raise SessionError(f"safe_mode is {value!r}: it must be one of {', '.join(SAFE_MODES)}")
        self._set_policy(self._auto_run, value)
        self._safe_mode = value

    @property
    def system_message(self) -> str:
        """What the model is told first; ours, until another is set. `+=` adds to it."""
        return self._system_message

    @system_message.setter
    def system_message(self, value: str) -> None:
        if not isinstance(value, str):
            raise SessionError(f"system_message is {value!r:.60}: it must be a str")
        self._system_message = value

    @property
    def max_output(self) -> int:
        """Characters of one result that the model gets."""
        return self.session.prompt.max_output if self._max_output is None else self._max_output

    @max_output.setter
    def max_output(self, value: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise SessionError(f"max_output is {value!r}: it must be a number of characters")
        self._max_output = value

    def _set_policy(self, auto_run: bool | Collection[str], safe_mode: str) -> None:
        if self._parts is not None:
            self._parts[0].auto_run = _policy(auto_run, safe_mode)

    def ask_aside(self, text: str) -> str:
        """What the model answers to one question outside the conversation; it can run no code."""
        session = Session(computer=Computer(), keep=False, **{**_of_settings(), "max_turns": 1})
        session.system_message = "Answer in words. You cannot run code."
        model, options = self._llm.choice(_settings())
        session.choose_model(model, **options)
        reply = session.ask(text)
        words = [c for c in reply if (c.role, c.type) == ("assistant", "message")]
        return "".join(chunk.content or "" for chunk in words)

    def _configure(self) -> None:
        """What was set since the last answer counts from now on."""
        session, settings = self.session, _settings()
        if settings is not None and list(settings.deny) != list(session.deny):
            session.deny = list(settings.deny)
        ours = self._system_message.startswith(INSTRUCTIONS)
        more = self._system_message.removeprefix(INSTRUCTIONS).strip("\n") if ours else ""
        session.system_message = None if ours else self._system_message
        of_notebook = "" if settings is None else settings.custom_instructions
        parts = [more, of_notebook, self.custom_instructions]
        session.custom_instructions = "\n".join(filter(None, parts))
        if self._max_output is not None:
            session.prompt.max_output = self._max_output
        self.llm.apply(session, settings)

    # Answers --------------------------------------------------------------------------------------

    def _ask(self, message: Any) -> Reply:
        """Put the question, with what the app has done to the list."""
        session, app_list = self._session_and_list()
        self._configure()
        before, new = app_list.read()
        if session.history[:] != before:
            behind = app_list.behind()
            session.messages = before
            app_list.show(behind)
        messages: list[Message] | None = None
        if isinstance(message, (Mapping, Message)):
            new += _question(message)
        elif not (message is None or isinstance(message, str) or message is app_list.list):
            messages = read(_check_list(message))
            length = len(session.history)
            if 0 < length == session.history.same_until(messages):
                new, messages = messages[length:], None
        if messages is not None:
            reply = session.ask(messages)
        elif isinstance(message, str):
            reply = session.ask(message, attachments=new)
        else:
            reply = session.ask(new[-1] if new else None, attachments=new[:-1])
        app_list.show()
        self._first_new = len(session.history)
        return reply

    def _replies(self, message: Any, *, alone: bool = False) -> Reply:
        """The whole answer; in a loop, until the model says that it has ended.

        Parameters
        ----------
        alone : whether nobody can be asked: it ends where code waits that may not run by itself
        """
        session, rounds = self.session, 0
        reply = self._ask(message)
        while True:
            yield from self._relay(reply, alone)
            if not (self.loop and self._is_unfinished()):
                return
            if rounds == session.max_turns:
                warnings.warn(
                    f"the loop was ended after {rounds} rounds: the model said none of the "
                    "sentences of `loop_breakers`",
                    RuntimeWarning,
                    stacklevel=2,
                )
                return
            rounds += 1
            reply = session.ask(self.loop_message)

    def _relay(self, reply: Reply, alone: bool) -> Reply:
        decision: Decision | None = None
        with closing(reply):
            while True:
                try:
                    chunk = reply.send(decision)
                except StopIteration:
                    return
                if self.verbose:
                    print(chunk.to_dict(), file=sys.stderr)  # noqa: T201 - this is the setting
                if alone and chunk.type == "confirmation":
                    proposal = self.session.gate.pending
                    if proposal is None or proposal.verdict != "allow":
                        return
                decision = yield chunk

    def _is_unfinished(self) -> bool:
        """Whether the answer ended in words, and in none that end the loop."""
        session = self.session
        last = session.messages[-1] if session.messages else None
        if last is None or session.stopped or (last.role, last.type) != ("assistant", "message"):
            return False
        text = last.content.lower()
        return not any(breaker.lower() in text for breaker in self.loop_breakers)

    def _stream(self, message: Any, display: bool) -> Chunks:
        """The chunks of an answer as dicts."""
        self._end_streams()
        ask = self._keyboard() if display else None
        view = self.text_view(ask) if display else None
        self.show_python(display and on_main_thread())
        reply = self._replies(message)
        decision: Decision | None = None
        try:
            while True:
                try:
                    chunk = reply.send(decision)
                except StopIteration:
                    return
                decision = None
                if chunk.end or chunk.type == "confirmation":
                    _ = self.messages
                answer = yield chunk.to_dict()
                if chunk.type != "confirmation":
                    continue
                code, has_result = self._done_by_the_app()
                if (
                    has_result
                ):  # it was the computer itself: the model goes on from what it appended
                    reply.close()
                    reply = self._replies(None)
                elif view is not None and ask is not None and answer is None and code is None:
                    decision = view.confirm(chunk)
                else:
                    decision = _decision(answer, code)
        except (LMCError, KeyboardInterrupt) as error:
            reply.close()
            if view is not None:
                view.fail(error)
            raise
        finally:
            reply.close()
            self.show_python(True)
            if view is not None:
                view.close()
            _ = self.messages

    def _done_by_the_app(self) -> tuple[str | None, bool]:
        """What an app did while code waited: its edit of the code; whether it answered itself."""
        session, app_list = self._session_and_list()
        if session.pending is None:
            return None, False
        if any(each.role == "computer" for each in read(app_list.behind())):
            return None, True
        return app_list.read_edit(), False

    def _answer(self, message: Any, display: bool, ask: Callable[[str], str] | None) -> None:
        """Have a whole answer, shown or not; code that nobody can be asked about stays last."""
        alone = not display or ask is None
        reply = self._replies(message, alone=alone)
        self.show_python(display and on_main_thread())
        try:
            if not display:
                for _ in reply:
                    pass
            else:
                self._play(reply, ask)
        except Stopped:
            pass
        finally:
            reply.close()
            self.show_python(True)
        if alone and self.session.pending is not None:
            warnings.warn(
                "code waits for an answer and was not run: `chat()` asks about it where somebody "
                "can be asked, `chat(stream=True)` offers it in a confirmation chunk"
                + ("" if self._auto_run else ", and with `auto_run = True` code runs unasked"),
                RuntimeWarning,
                stacklevel=3,
            )

    def _play(self, reply: Reply, ask: Callable[[str], str] | None) -> None:
        """Show it in the cell, else as text."""
        shell: Any = current_shell()
        if kernel_of(shell) is not None and on_main_thread():
            from lmc_jupyter.frontends.cell.live_display import LiveDisplay

            LiveDisplay(shell).play(self.session, reply)
        else:
            play(reply, self.text_view(ask))

    def _answer_on_a_thread(self, message: Any, display: bool) -> None:
        if self._thread is not None and self._thread.is_alive():
            raise SessionError("another answer is still in progress: wait() for it, or stop() it")
        self._failure = None

        def work() -> None:
            try:
                with between_cells_of_kernel():
                    self._answer(message, display, None)
            except BaseException as error:  # noqa: BLE001 - `wait` raises it
                self._failure = error

        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(work,), name="lmc-chat", daemon=True
        )
        self._thread.start()

    def _converse(self) -> list[Dict]:
        """Question after question, from the keyboard."""
        ask = self._keyboard()
        if ask is None:
            raise SessionError(
                "chat() without a message asks you on the keyboard, and nobody can be asked here: "
                "give it a message"
            )
        new = len(self.messages)
        while True:
            try:
                question = ask("Ask (or exit): ").strip()
            except (EOFError, KeyboardInterrupt):
                break
            if question.lower() in ("exit", "quit"):
                break
            if not question:
                continue
            try:
                self._answer(question, True, ask)
            except KeyboardInterrupt:
                continue  # what came is kept, and the view has said it
            except LMCError as error:
                sys.stdout.write(f"{error}\n")
        self._first_new = new
        return self._new_messages()

    def _new_messages(self) -> list[Dict]:
        return self.messages[self._first_new :]

    def _can_go_on(self) -> bool:
        """Whether the conversation, with what the app did to it, is in the midst of an answer."""
        session, app_list = self._session_and_list()
        before, new = app_list.read()
        if new or session.history[:] != before:
            return True
        last = session.history.last
        return last is not None and can_go_on(last)

    def _end_streams(self) -> None:
        """A stream that an app has left without closing it ends now; its code is not run."""
        for stream in list(self._streams):
            if getgeneratorstate(stream) == GEN_SUSPENDED:
                with suppress(ValueError):  # another thread has gone on with it meanwhile
                    stream.close()

    # Where it is shown ----------------------------------------------------------------------------

    def _keyboard(self) -> Callable[[str], str] | None:
        """Asks the person; None where nobody can be asked."""
        if not on_main_thread():
            return None
        where = kind()
        if where == "kernel":
            return _input if can_ask(kernel_of(current_shell())) else None
        stdin = sys.stdin
        return _input if where == "terminal" or (stdin is not None and stdin.isatty()) else None

    def text_view(
        self, ask: Callable[[str], str] | None, history: History | None = None
    ) -> TextView:
        from lmc_jupyter.frontends.terminal.text import TextView

        return TextView(self.session, sys.stdout, ask, history)

    def python(self) -> Any:
        return getattr(self.session.computer, "languages", {}).get("python")

    def show_python(self, display: bool) -> bool:
        """Whether the cell or the terminal shows what python prints, as it shows it of a cell.

        Returns
        -------
        What was so before.
        """
        python = self.python()
        before = not getattr(python, "quiet", False)
        if hasattr(python, "quiet"):
            python.quiet = not display
        return before


def _policy(auto_run: bool | Collection[str], safe_mode: str) -> bool | Collection[str]:
    """Which code runs unasked, both settings considered."""
    return auto_run if safe_mode == "off" else False


def _question(message: Mapping[str, Any] | Message) -> list[Message]:
    """A dict without a role is the user's."""
    return read([message if isinstance(message, Message) else {"role": "user", **message}])


def _check_list(message: Any) -> Iterable[Any]:
    if not isinstance(message, Iterable):
        raise SessionError(
            f"chat() was given {message!r:.60}: give it a text, a message as a dict, or a list"
        )
    return message


def _decision(answer: Answer, code: str | None) -> Decision:
    """Going on runs the code; an app may also send what it wants."""
    if isinstance(answer, Decision):
        return answer
    if answer is None or answer is True:
        return Decision(True, code)
    if answer is False:
        return Decision(False)
    raise SessionError(
        f"{answer!r:.60} is not an answer to a confirmation: send a Decision or a bool"
    )


def _settings() -> LMC | None:
    """The notebook's settings, where the extension is loaded."""
    return LMC.instance() if LMC.initialized() else None


def _of_settings() -> Dict:
    """What they say of every session."""
    settings = _settings()
    options: Dict = {} if settings is None else settings.session_options()
    return {name: value for name, value in options.items() if name not in _OWN}


def _input(prompt: str) -> str:
    return input(prompt)
