"""`OpenInterpreter`: a session as the migration guide has it.

One rule: what is set here goes to the session before the next answer, and what the session makes
comes out as dicts; nothing is decided here that a session decides.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import suppress
from inspect import GEN_SUSPENDED, getgeneratorstate
from typing import TYPE_CHECKING, Any, Literal, overload

from lmc_jupyter.agent import Reply, is_code
from lmc_jupyter.computer import Computer
from lmc_jupyter.context.instructions import INSTRUCTIONS
from lmc_jupyter.errors import LMCError, SessionError, Stopped
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.view import play
from lmc_jupyter.gate import Decision
from lmc_jupyter.kernel.frontend import can_ask, current_shell, kernel_of, kind
from lmc_jupyter.lmc import Message, distinct
from lmc_jupyter.open_interpreter.computer import InterpreterComputer
from lmc_jupyter.open_interpreter.dicts import Dicts, read
from lmc_jupyter.open_interpreter.llm import LLM
from lmc_jupyter.open_interpreter.loop import LOOP_BREAKERS, LOOP_MESSAGE
from lmc_jupyter.open_interpreter.theirs import NO_SKILLS, NO_TOOLS, Missing, Theirs, switch
from lmc_jupyter.open_interpreter.threads import apart, on_main_thread, on_one_thread
from lmc_jupyter.session import Session

if TYPE_CHECKING:
    from lmc_jupyter.frontends.terminal.text import TextView

Dict = dict[str, Any]
"""A message or a chunk as the guide writes it."""

Answer = Decision | bool | None
"""What an app may send at a confirmation: None, going on, runs the code as it stands."""

Chunks = Generator[Dict, Answer, None]
"""A streamed answer."""

SAFE_MODES = ("off", "ask", "auto")

_MOVED = {
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


class OpenInterpreter:
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
    **theirs
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

    custom_instructions: str = ""
    loop: bool = False
    loop_message: str = LOOP_MESSAGE
    loop_breakers: Collection[str] = LOOP_BREAKERS
    verbose: bool = False
    """Whether every chunk is also written to stderr, as a dict in a line."""

    debug, highlight_active_line = switch(), switch(True)
    offline, disable_telemetry = switch(), switch()
    anonymous_telemetry = Theirs(False, instead="there is no telemetry")
    anonymized_telemetry = Theirs(False, instead="there is no telemetry")
    contribute_conversation = Theirs(False, instead="no conversation leaves this machine by itself")
    multi_line, plain_text_display = switch(True), switch()
    in_terminal_interface = Theirs(False, instead=_NO_TERMINAL)
    speak_messages = Theirs(False, instead="nothing speaks here")
    os = Theirs(False, instead=NO_TOOLS)
    shrink_images = Theirs(True, instead="images are always scaled to what the model takes")
    sync_computer = Theirs(False, instead=NO_TOOLS)
    import_computer_api = Theirs(False, instead=NO_TOOLS)
    import_skills = Theirs(False, instead=NO_SKILLS)
    skills_path = Theirs(None, instead=NO_SKILLS)
    conversation_filename = Theirs(None, instead=_OWN_PLACE)
    conversation_history_path = Theirs(None, instead=_OWN_PLACE)
    user_message_template = Theirs("{content}", instead=_NO_TEMPLATE)
    always_apply_user_message_template = switch()
    code_output_template = Theirs(None, instead=_NO_TEMPLATE)
    empty_code_output_template = Theirs(None, instead=_NO_TEMPLATE)
    code_output_sender = Theirs("user", instead=_NO_TEMPLATE)
    server = Missing("the server", "a server of yours streams what `chat(stream=True)` gives")
    local_setup = Missing("the wizard", "`%lmc model` lists the models that can be used now")

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
        **theirs: Any,
    ) -> None:
        self._llm, self._face = LLM(), InterpreterComputer(self)
        self._computer, self._keep = computer, conversation_history
        self._session: Session | None = None
        self._dicts = Dicts()
        self._lock = threading.RLock()
        self._streams: weakref.WeakSet[Chunks] = weakref.WeakSet()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._waits_for_cell = threading.Event()
        self._new = 0
        self._auto_run: bool | Collection[str] = False
        self._safe_mode, self._system_message = "off", INSTRUCTIONS
        self.auto_run, self.safe_mode = auto_run, safe_mode
        if system_message is not None:
            self.system_message = system_message
        self.custom_instructions, self.loop = custom_instructions, loop
        self.loop_message, self.loop_breakers = loop_message, loop_breakers
        self.verbose = verbose
        for name, value in theirs.items():
            if not isinstance(getattr(type(self), name, None), Theirs):
                raise TypeError(_no_setting(name))
            setattr(self, name, value)
        self._max_output: int | None = None
        if max_output is not None:
            self.max_output = max_output
        if messages is not None:
            self.messages = messages

    def __repr__(self) -> str:
        return f"<OpenInterpreter with {self._llm!r}>"

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what is no setting: it would be set and do nothing."""
        if not name.startswith("_") and not hasattr(type(self), name):
            raise AttributeError(_no_setting(name))
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_no_setting(name))

    # The conversation -----------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session whose face this is, made at first use."""
        with self._lock:
            if self._session is None:
                self._session = self._new_session()
            return self._session

    @property
    def messages(self) -> list[Dict]:
        """The conversation as a flat list of dicts, always the same list.

        It grows while an answer comes: the message that is not yet whole is its last one, and
        `partial`. What is appended to it, or changed in it, counts from the next answer on; each
        whole message has an `id` and a `created_at`, as the guide's tips advise. Assign a list to
        go on from it.
        """
        with self._lock:
            self._dicts.follow(self.session.history.so_far())
            return self._dicts.list

    @messages.setter
    def messages(self, messages: Iterable[Message | Mapping[str, Any]]) -> None:
        self._end_streams()
        with self._lock:
            self.session.messages = messages
            self._dicts.show(self.session.messages)
            self._new = len(self._dicts.list)
        if self.session.notice:  # what could not be kept as it was
            warnings.warn(self.session.notice, RuntimeWarning, stacklevel=3)

    def reset(self) -> None:
        """Begin a new conversation; an answer that is still open ends. Variables stay."""
        self._end_streams()
        with self._lock:
            self.session.reset()
            self._dicts.show(self.session.messages)
            self._new = 0

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
            with self._lock:
                self._streams.add(chunks)
            return chunks
        self._end_streams()
        if not blocking:
            self._answer_on_a_thread(message, display)
            return None
        if message is None and display and not self._can_go_on():
            return self._converse()
        self._answer(message, display, self._keyboard())
        return self._news()

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
            while thread.is_alive():
                if kernel and self._waits_for_cell.is_set():
                    raise SessionError(
                        "python code of this answer runs when the cell has ended: call wait() in a "
                        "later cell"
                    )
                thread.join(0.05 if kernel else None)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return self._news()

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
        return self._session is not None and self._session.busy

    @property
    def auto_run(self) -> bool | Collection[str]:
        """Whether code runs unasked: every language, or these; see `safe_mode`."""
        return self._auto_run

    @auto_run.setter
    def auto_run(self, value: bool | Collection[str]) -> None:
        before, self._auto_run = self._auto_run, value
        try:
            self._set_policy()
        except LMCError:
            self._auto_run = before
            raise

    @property
    def safe_mode(self) -> str:
        """Unless it is "off" (so "ask" or "auto"), no code runs unasked, whatever `auto_run` is."""
        return self._safe_mode

    @safe_mode.setter
    def safe_mode(self, value: str) -> None:
        if value not in SAFE_MODES:
            raise SessionError(f"safe_mode is {value!r}: it must be one of {', '.join(SAFE_MODES)}")
        before, self._safe_mode = self._safe_mode, value
        try:
            self._set_policy()
        except LMCError:
            self._safe_mode = before
            raise

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
        return self.session.max_output if self._max_output is None else self._max_output

    @max_output.setter
    def max_output(self, value: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise SessionError(f"max_output is {value!r}: it must be a number of characters")
        self._max_output = value

    @property
    def _policy(self) -> bool | Collection[str]:
        """Which code runs unasked, both settings considered."""
        return self._auto_run if self._safe_mode == "off" else False

    def _set_policy(self) -> None:
        if self._session is not None:
            self._session.auto_run = self._policy

    def _new_session(self) -> Session:
        session = Session(computer=self._computer, keep=self._keep, **_of_settings())
        session.auto_run = self._policy
        return session

    def ask_apart(self, text: str) -> str:
        """What the model answers to one question outside the conversation; it can run no code."""
        session = Session(computer=Computer(), keep=False, **{**_of_settings(), "max_turns": 1})
        session.system_message = "Answer in words. You cannot run code."
        model, options = self._llm.chosen(_settings())
        session.choose_model(model, **options)
        reply = session.ask(text)
        mine = [c for c in reply if (c.role, c.type) == ("assistant", "message")]
        return "".join(chunk.content or "" for chunk in mine)

    def _configure(self) -> None:
        """What was set since the last answer counts from now on."""
        session, settings = self.session, _settings()
        if settings is not None and list(settings.deny) != list(session.deny):
            session.deny = list(settings.deny)
        ours = self._system_message.startswith(INSTRUCTIONS)
        added = self._system_message.removeprefix(INSTRUCTIONS).strip("\n") if ours else ""
        session.system_message = None if ours else self._system_message
        of_notebook = "" if settings is None else settings.custom_instructions
        said = [added, of_notebook, self.custom_instructions]
        session.custom_instructions = "\n".join(filter(None, said))
        if self._max_output is not None:
            session.max_output = self._max_output
        self.llm.apply(session, settings)

    # Answers --------------------------------------------------------------------------------------

    def _ask(self, message: Any) -> Reply:
        """Put the question, with what the app has done to the list."""
        session = self.session
        self._configure()
        with self._lock:
            appended = self._taken()
            if isinstance(message, str):
                return self._begun(session.ask(message, attachments=appended))
            if isinstance(message, (Mapping, Message)):
                appended += _question(message)
            elif message is not None and message is not self._dicts.list:
                listed = read(_listed(message))
                if not _continues(session.messages, listed):
                    return self._begun(session.ask(listed))
                appended = listed[len(session.messages) :]
            if appended:
                reply = session.ask(appended[-1], attachments=appended[:-1])
            else:
                reply = session.ask(None)
            return self._begun(reply)

    def _begun(self, reply: Reply) -> Reply:
        self._new = len(self.session.messages)
        self._dicts.show(self.session.messages)
        return reply

    def _taken(self) -> list[Message]:
        """What the app has changed in the list goes into the session; what it added is returned."""
        dicts, session = self._dicts, self.session
        dicts.follow(session.messages)
        if not dicts.changed():
            return []
        before, added = dicts.read(session.messages)
        if before is not None:
            session.messages = before
        dicts.settle(session.messages)
        return added

    def _replies(self, message: Any) -> Reply:
        """The whole answer; the list of messages grows with it."""
        reply = self._rounds(message)
        decision: Decision | None = None
        try:
            while True:
                try:
                    chunk = reply.send(decision)
                except StopIteration:
                    return
                if self.verbose:
                    print(chunk.to_dict(), file=sys.stderr)  # noqa: T201 - this is the setting
                decision = yield chunk
        finally:
            reply.close()

    def _rounds(self, message: Any) -> Reply:
        """The whole answer; in a loop, until the model says that it has ended."""
        session = self.session
        yield from self._ask(message)
        rounds = 0
        while self.loop and self._is_unfinished():
            if rounds == session.max_turns:
                warnings.warn(
                    f"the loop was ended after {rounds} rounds: the model said none of the "
                    "sentences of `loop_breakers`",
                    RuntimeWarning,
                    stacklevel=2,
                )
                return
            rounds += 1
            yield from session.ask(self.loop_message)

    def _is_unfinished(self) -> bool:
        """Whether the answer ended in words, and in none that end the loop."""
        session = self.session
        last = session.messages[-1] if session.messages else None
        if last is None or session.stopped or (last.role, last.type) != ("assistant", "message"):
            return False
        said = last.content.lower()
        return not any(breaker.lower() in said for breaker in self.loop_breakers)

    def _stream(self, message: Any, display: bool) -> Chunks:
        """The chunks of an answer as dicts."""
        self._end_streams()
        self.session.notify = lambda _: None
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
                if view is not None:
                    view.show(chunk)
                if chunk.end or chunk.type == "confirmation":
                    _ = self.messages
                answer = yield chunk.to_dict()
                if chunk.type != "confirmation":
                    continue
                code, acted = self._done_by_the_app()
                if acted:  # it was the computer itself: the model goes on from what it appended
                    reply.close()
                    reply = self._replies(None)
                elif view is not None and ask is not None and answer is None and code is None:
                    decision = view.confirm(chunk)
                else:
                    decision = _decision(answer, code)
                    if view is not None:
                        view.decided(decision)
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
        with self._lock:
            dicts, pending = self._dicts, self.session.pending
            if pending is None or not dicts.changed():
                return None, False
            _, added = dicts.read(self.session.messages)
            if any(each.role == "computer" for each in added):
                return None, True
            return dicts.edited(pending), False

    def _answer(self, message: Any, display: bool, ask: Callable[[str], str] | None) -> None:
        """Have a whole answer, shown or not; code that nobody can be asked about stays last."""
        self.session.notify = lambda _: None
        reply = self._replies(message)
        if not display or ask is None:
            reply = self._unasked(reply)
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
            with self._lock:
                _ = self.messages
        if (not display or ask is None) and self.session.pending is not None:
            warnings.warn(
                "code waits for an answer and was not run: `chat()` asks about it where somebody "
                "can be asked, `chat(stream=True)` offers it in a confirmation chunk"
                + ("" if self._auto_run else ", and with `auto_run = True` code runs unasked"),
                RuntimeWarning,
                stacklevel=3,
            )

    def _unasked(self, reply: Reply) -> Reply:
        """The reply, as far as it goes without asking anybody."""
        answer: Decision | None = None
        try:
            while True:
                try:
                    chunk = reply.send(answer)
                except StopIteration:
                    return
                if chunk.type == "confirmation":
                    proposal = self.session.gate.pending
                    if proposal is None or proposal.verdict != "allow":
                        return
                answer = yield chunk
        finally:
            reply.close()

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
        self._failure, python = None, self.python()
        self._waits_for_cell = threading.Event()
        if hasattr(python, "on_wait"):
            waits = self._waits_for_cell
            python.on_wait = lambda begins: waits.set() if begins else waits.clear()

        def work() -> None:
            try:
                with apart():
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
        self._new = new
        return self._news()

    def _news(self) -> list[Dict]:
        with self._lock:
            return self.messages[self._new :]

    def _can_go_on(self) -> bool:
        """Whether the conversation, with what the app appended, is in the midst of an answer."""
        messages = self.session.messages
        self._dicts.follow(messages)
        if self._dicts.changed():
            return True
        if not messages:
            return False
        last = messages[-1]
        return last.role != "assistant" or is_code(last) or bool(last.extra.get("partial"))

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

    def text_view(self, ask: Callable[[str], str] | None) -> TextView:
        from lmc_jupyter.frontends.terminal.text import TextView

        return TextView(self.session, sys.stdout, ask)

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


def _question(message: Mapping[str, Any] | Message) -> list[Message]:
    """A dict without a role is the user's."""
    return read([message if isinstance(message, Message) else {"role": "user", **message}])


def _listed(message: Any) -> Iterable[Any]:
    if not isinstance(message, Iterable):
        raise SessionError(
            f"chat() was given {message!r:.60}: give it a text, a message as a dict, or a list"
        )
    return message


def _continues(there: list[Message], listed: list[Message]) -> bool:
    """Whether the list begins with the conversation that is there."""
    return 0 < len(there) <= len(listed) and all(map(_same, there, listed))


def _same(old: Message, new: Message) -> bool:
    """Whether the new one is the old one; a client may have lost its id, or a console's format."""
    return (
        (old.role, old.type, old.recipient) == (new.role, new.type, new.recipient)
        and (
            distinct(old.type, old.format) == distinct(new.type, new.format)
            or (new.type == "console" and new.format is None)
        )
        and new.id in (None, old.id)
        and old.content == new.content
    )


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


def _no_setting(name: str) -> str:
    if name in _MOVED:
        return f"{name!r} has moved, as the migration guide says: use `interpreter.{_MOVED[name]}`"
    return (
        f"OpenInterpreter has no {name!r}: docs/open-interpreter.md lists what there is, and what "
        "of Open Interpreter is left out"
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
