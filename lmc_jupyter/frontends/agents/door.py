"""The kernel's door for agents outside the notebook: their requests come in here.

One rule: an agent may read what the person's own model may read, and bring code that waits for the
person's click. No decision ever comes in by this door.
"""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Callable, Mapping
from traceback import format_exception_only
from typing import TYPE_CHECKING, Any

from lmc_jupyter.content import shorten
from lmc_jupyter.conversation.events import Configured, Event, Replaced, Stopping
from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.frontends.agents import reading
from lmc_jupyter.frontends.agents.guest import WAITS_FOR_PERSON, WAITS_FOR_TURN, AgentBlock
from lmc_jupyter.frontends.agents.page import KernelPage
from lmc_jupyter.frontends.agents.process import Process
from lmc_jupyter.frontends.agents.result import Result, not_run, of_block, refused
from lmc_jupyter.frontends.cell.html import visible
from lmc_jupyter.kernel.control import Sender
from lmc_jupyter.kernel.frontend import kernel_of, notebook_path
from lmc_jupyter.keys import redact
from lmc_jupyter.lmc import clean
from lmc_jupyter.turn import course

if TYPE_CHECKING:
    from lmc_jupyter.agent import Reply
    from lmc_jupyter.frontends.panel.panel import ChatPanel
    from lmc_jupyter.session import Session

MAX_CALLS = 20
"""Requests that are open at once in a kernel; more are refused."""
MAX_CHARACTERS = 200_000
"""Of all texts of a request."""
MAX_NAME = 60
"""Characters of an agent's name."""
MAX_WAIT = 3_600.0
"""Seconds that a block may wait for the person."""
QUIET_SECONDS = 60.0
""""Run all" holds until an agent has been quiet so long."""
_LOOK_SECONDS = 1.0
_TURN_SECONDS = 0.05
SHUT = (
    'this notebook lets no agent in: its person has set `%config LMC.agents = "off"`, and only '
    "they can change it"
)

UNLOADED = "lmc-jupyter was unloaded in this notebook"


class Door:
    """The door of one kernel.

    Parameters
    ----------
    magics : the kernel's `LMCMagics`
    """

    def __init__(self, magics: Any) -> None:
        self._magics = magics
        self._session: Session = magics.session
        self._kernel: Any = kernel_of(magics.shell)
        self._lock = threading.Lock()
        self._calls: dict[tuple[str, str], _DoorRequest] = {}
        self._line: list[_DoorRequest] = []  # blocks, in the order in which they came
        self._known: set[str] = set()
        self._all: dict[tuple[str, str], float] = {}  # of each agent: until when all of its runs
        self._unsubscribe = self._session.history.subscribe(self._hear)

    def receive(self, content: Mapping[str, Any], sender: Sender) -> None:
        """A request, on the control thread; nothing here waits."""
        call = _DoorRequest(content, sender)
        if call.kind == "hello":
            sender.reply({"kind": "hello", "call": call.id, **self._introduce()})
            return
        if call.kind == "cancel":
            self._cancel(call.key)
            return
        with self._lock:
            is_new = call.key not in self._calls
            has_room = call.kind == "stop" or len(self._calls) < MAX_CALLS
            if is_new and has_room:
                self._calls[call.key] = call
        if not is_new:
            call.answer(refused("a request with this id is open already"))
        elif not has_room:
            call.answer(refused(f"{MAX_CALLS} requests wait in this notebook: try again later"))
        else:
            context = contextvars.copy_context()
            if hasattr(self._kernel, "_shell_parent"):  # ipykernel 7.0 has none on this thread
                context.run(self._kernel._shell_parent.set, sender.message)
            thread = threading.Thread(
                target=context.run, args=(self._answer, call), name="lmc-agent", daemon=True
            )
            thread.start()

    def close(self) -> None:
        """Withdraw what waits and runs: the extension goes."""
        self._unsubscribe()
        for call in list(self._calls.values()):
            call.withdraw(UNLOADED)

    def _hear(self, event: Event) -> None:
        """A stop, another conversation and a shut door end "run all"; told on any thread."""
        is_shut = self._is_shut()
        if isinstance(event, (Stopping, Replaced)) or is_shut:
            self._all.clear()
        if is_shut and isinstance(event, Configured):
            for call in list(self._calls.values()):
                call.wake.set()

    def _introduce(self) -> dict[str, Any]:
        if self._is_shut():
            return {"open": False}
        path = notebook_path(self._magics.shell)
        return {
            "path": on_a_line(path),
            "name": on_a_line(os.path.basename(path)),  # noqa: PTH119 - it may be of another system
            "pid": os.getpid(),
            "open": True,
            "busy": self._session.busy,
            "context": self._session.options.context,
        }

    def _cancel(self, key: tuple[str, str]) -> None:
        with self._lock:
            call = self._calls.get(key)
        if call is not None:
            call.withdraw("the agent cancelled its request")

    # One request, on a thread of its own ----------------------------------------------------------

    def _answer(self, call: _DoorRequest) -> None:
        try:
            result = self._do(call)
            if call.reason == UNLOADED and result["data"].get("ran") is False:
                result = not_run(UNLOADED)  # whatever took its card away first
        except LMCError as error:
            result = refused(str(error))
        except BaseException as error:  # noqa: BLE001 - a repr of anybody's; the agent reads it
            words = "".join(format_exception_only(error)).strip()
            result = refused(visible(redact(f"the notebook could not do this: {words}")))
        finally:
            with self._lock:
                self._calls.pop(call.key, None)
        call.answer(result)

    def _do(self, call: _DoorRequest) -> Result:
        call.check()
        self._check_open()
        self._announce(call.agent)
        session = self._session
        match call.kind:
            case "run":
                return self._run(call)
            case "stop":
                return self._stop(call)
            case "variables":
                return reading.variables(session)
            case "inspect":
                return reading.inspect(session, call.text("name"))
            case "cells":
                return reading.cells(session, call.text("cells"))
            case "add":
                page = KernelPage(self._kernel, self._magics.stage.mailbox)
                return page.add(call.agent, call.text("source"), call.text("type") or "code")
            case kind:
                raise SessionError(f"there is no request {kind!r:.60}")

    def _is_shut(self) -> bool:
        return self._session.options.agents == "off" or bool(course.mode(self._session.tutor))

    def _check_open(self) -> None:
        if self._is_shut():
            raise SessionError(SHUT)

    def _announce(self, agent: str) -> None:
        """Say once in the panel that this agent is here."""
        with self._lock:
            is_new = agent not in self._known
            self._known.add(agent)
        if is_new:
            self._panel().note(
                f"{agent}, an agent outside this notebook, has connected. "
                '`%config LMC.agents = "off"` shuts the door.'
            )

    def _panel(self) -> ChatPanel:
        from lmc_jupyter.frontends.panel.panel import the_panel  # anywidget: at the first request

        return the_panel(self._magics)

    # A block of code ------------------------------------------------------------------------------

    def _run(self, call: _DoorRequest) -> Result:
        """Offer a block, and wait for what becomes of it."""
        language, code = call.text("language") or "python", call.text("code")
        if not code.strip():
            return not_run("it was empty")
        panel, session = self._panel(), self._session
        page = KernelPage(self._kernel, self._magics.stage.mailbox)
        who = call.program, call.agent
        block = AgentBlock(
            self._session.history,
            call.agent,
            lambda: self._all.get(who, 0.0) > time.monotonic() and not self._is_shut(),
            lambda: self._all.update({who: time.monotonic() + QUIET_SECONDS}),
            lambda waits: page.ask(call.agent) if waits else page.close(),
            call.wake.set,
        )
        unsubscribe: list[Callable[[], None]] = []

        def ask() -> Reply:
            self._check_open()
            unsubscribe.append(self._session.history.subscribe(block.hear))
            return session.offer(language, code, by=call.agent)

        watch = threading.Thread(
            target=self._watch, args=(call, block, panel), name="lmc-agent-watch", daemon=True
        )
        watch.start()
        self._line.append(call)
        try:
            while self._line[0] is not call or not panel.offer(ask, block):
                if call.reason:
                    return not_run(call.reason)
                time.sleep(_TURN_SECONDS)
        finally:
            self._line.remove(call)
            block.is_over = True
            call.wake.set()
            watch.join()
            for each in unsubscribe:
                each()
        if block.fate in ("stopped", "not run") or session.stopped:
            self._all.pop(who, None)
        elif block.is_free:
            self._all[who] = time.monotonic() + QUIET_SECONDS
        if not block.messages:
            why = "another answer began first: try again"
            return not_run(call.reason or (f"{block.error}" if block.error else why))
        prompt = session.prompt
        fate, names = block.fate, block.names
        result = of_block(block.messages, fate, names, prompt.max_output, prompt.redact)
        if call.reason and result["data"]["ran"]:
            result["text"] += f"\nIt was stopped because {call.reason}."
        return result

    def _watch(self, call: _DoorRequest, block: AgentBlock, panel: ChatPanel) -> None:
        """Withdraw the block when its agent is gone or its time is over; tell how it stands."""
        said, second = "", 0
        while not block.is_over:
            call.wake.wait(_TURN_SECONDS if call.reason else _LOOK_SECONDS)
            call.wake.clear()
            if not call.reason and not call.is_there():
                call.withdraw("the agent has ended")
            if not call.reason and call.is_late():
                time_over = f"{call.wait:.0f} second{'' if call.wait == 1 else 's'}"
                if block.state == WAITS_FOR_TURN:
                    call.withdraw(f"another answer was in progress for {time_over}")
                elif block.state == WAITS_FOR_PERSON:  # who may have said yes just now
                    panel.withdraw(block, f"nobody answered within {time_over}", stop=False)
            if not call.reason and self._is_shut():
                call.withdraw(SHUT)
            if call.reason:
                panel.withdraw(block, call.reason)
            second += 1
            if block.state != said or second % 5 == 0:
                said = block.state
                call.tell({"kind": "state", "state": said})

    def _stop(self, call: _DoorRequest) -> Result:
        """Withdraw the blocks of this agent, and no others."""
        own = [
            each
            for each in list(self._calls.values())
            if each.kind == "run" and each.program == call.program
        ]
        for each in own:
            each.withdraw("the agent stopped it")
        self._all.pop((call.program, call.agent), None)
        count = len(own)
        text = f"Stopped {count} block{'' if count == 1 else 's'} of yours."
        return {"text": text, "images": [], "data": {"stopped": count}, "failed": False}


class _DoorRequest:
    """One request."""

    def __init__(self, content: Mapping[str, Any], sender: Sender) -> None:
        self.sender = sender
        words = [content.get(key) for key in ("call", "kind", "program")]
        self.id, self.kind, self.program = (
            each[:100] if isinstance(each, str) else "" for each in words
        )
        self.key = self.program, self.id
        self.agent = agent_name(content.get("agent"))
        self.wake = threading.Event()
        """Set when there is news of it."""
        self.reason = ""
        """Why it is withdrawn; "" where it is not."""
        wait: Any = content.get("wait")
        is_number = isinstance(wait, (int, float)) and 1 <= wait <= MAX_WAIT  # no NaN either
        self.wait = float(wait) if is_number else 55.0
        self._end = time.monotonic() + self.wait
        self._content = content
        self._process: Process | None = None

    def check(self) -> None:
        """Refuse what is too long, or from nobody.

        Raises
        ------
        SessionError
            With the sentence for the agent.
        """
        texts = [each for each in self._content.values() if isinstance(each, str)]
        if sum(map(len, texts)) > MAX_CHARACTERS:
            raise SessionError(
                f"the request has {sum(map(len, texts)):,} characters, and {MAX_CHARACTERS:,} are "
                "allowed: write it to a file, and read that in the notebook"
            )
        try:
            self._process = Process(self._content.get("pid"))
        except LookupError as error:
            raise SessionError(f"the agent is not here: {error}") from None

    def text(self, key: str) -> str:
        """A text of it; "" where it has none."""
        value = self._content.get(key)
        if value is not None and not isinstance(value, str):
            raise SessionError(f"{key!r} must be text, not {type(value).__name__}")
        return clean(value or "")

    def is_there(self) -> bool:
        """Whether the agent's process is there."""
        return self._process is not None and self._process.is_alive

    def is_late(self) -> bool:
        """Whether it has waited as long as it may."""
        return time.monotonic() > self._end

    def withdraw(self, reason: str) -> None:
        """It is not to run any more; the first reason counts."""
        self.reason = self.reason or reason
        self.wake.set()

    def tell(self, content: dict[str, Any]) -> None:
        self.sender.reply({"call": self.id, **content})

    def answer(self, result: Result) -> None:
        self.tell({"kind": "result", **result})


def on_a_line(text: str) -> str:
    """The text on one line, with its hidden characters marked."""
    return visible(" ".join(clean(text).splitlines()))


def agent_name(value: object) -> str:
    """An agent's name for a person: on one line, its hidden characters marked, bounded."""
    text = " ".join(clean(value[:1_000]).split()) if isinstance(value, str) else ""
    return shorten.head(visible(text[:MAX_NAME]), MAX_NAME) or "An agent"
