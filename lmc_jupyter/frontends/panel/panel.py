"""The chat panel: a session in a widget, in a cell's output or in JupyterLab's sidebar.

One rule: it works beside the kernel's main thread and never on it. What a front end says comes
in on any thread and is done on another; what it sees is the mirror's numbered events
(js/src/protocol.ts). Answers are the driver's.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import uuid
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython

from lmc_jupyter.agent import Reply
from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.frontends.magic.commands import Commands
from lmc_jupyter.frontends.magic.current import current_magics
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.conversations import Answer
from lmc_jupyter.frontends.panel.driver import ANSWERED, Driver, Guest
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.frontends.panel.requests import PanelRequests, settings
from lmc_jupyter.frontends.panel.wire import tables
from lmc_jupyter.kernel.between_cells import after_cells
from lmc_jupyter.kernel.frontend import kernel_of
from lmc_jupyter.session import Session

if TYPE_CHECKING:
    from lmc_jupyter.frontends.panel.widget import Widget

_QUICK = ("hello", "ready", "sync", "focus", "names", "sent", "console", "asset", "page")
"""What a front end says often: it changes nothing, takes no time, and is done on one thread."""


class ChatPanel:
    """A chat with a model that works in this kernel; the value of a cell shows it.

    Parameters
    ----------
    session : Session, optional
        Default: the one that the `%%lmc` cells share. The extension is loaded if it is not.

    Raises
    ------
    LMCError
        Where there is no Jupyter kernel, or the bundle was not built.
    """

    def __init__(self, session: Session | None = None) -> None:
        magics = _magics()
        mailbox = magics.stage.mailbox
        from lmc_jupyter.frontends.panel.widget import Widget  # anywidget: at the first panel

        self.session: Session = magics.session if session is None else session
        shared = self.session is magics.session
        commands = magics.commands if shared else Commands(self.session, cells=magics.cells)
        self.model_id = uuid.uuid4().hex
        self._context = contextvars.copy_context()
        self._quick: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._widget: Widget | None = None
        self._batch = Batch(self._send)
        self._mirror = Mirror(self.session, self._batch, partial(settings, self.session))
        self._driver = Driver(
            commands,
            self._mirror,
            self._start_thread,
            self._quick.put,
            partial(after_cells, kernel_of(magics.shell)),
        )
        self._requests = PanelRequests(commands, self._driver, self._mirror, magics.shell)
        self._batch.start(self._context.run)
        self._start_thread(self._do_quick)
        self._mailbox = mailbox
        mailbox.open(self.model_id, self._receive, twice=(*_QUICK, "models"))
        self._widget = Widget("panel", self.model_id)
        self._widget.on_msg(self._by_comm)
        if self.session.conversation.notice:
            self._mirror.note(self.session.conversation.notice, "error")
        if self.session.conversation.other_model:
            self._mirror.note(self.session.conversation.other_model)
        offers = magics.place.offer(), magics.tool_files.offer()
        for each in [*magics.remarks, *offers] if shared else ():
            if each:
                self._mirror.note(each)
        self._closing: list[Callable[[], None]] = magics.stage.closing
        self._closing.append(self.close)
        self._shell = magics.shell
        self._shell.events.register("post_run_cell", self._cell_ended)

    def __repr__(self) -> str:
        return "<lmc-jupyter chat panel>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return self.bundle()

    def bundle(self) -> dict[str, Any]:
        """The mime bundle that shows it."""
        if self._widget is None:
            raise LMCError("this panel is closed: make another one with ChatPanel()")
        return self._widget.bundle()

    @property
    def alive(self) -> bool:
        """Whether a front end can still reach it."""
        widget = self._widget
        return widget is not None and widget.comm is not None and not widget.closed_there

    def close(self) -> None:
        """Take it away. The conversation stays; a turn that it drives is stopped."""
        widget = self._widget
        if widget is None:
            return
        self._shell.events.unregister("post_run_cell", self._cell_ended)
        self._driver.close()
        self._mirror.close()
        self._batch.close()
        self._widget = None
        self._quick.put(None)
        if self.close in self._closing:  # nobody need close it any more, nor keep it for that
            self._closing.remove(self.close)
        self._mailbox.close(self.model_id)
        widget.close()

    # Code of agents -------------------------------------------------------------------------------

    def offer(self, ask: Callable[[], Reply], guest: Guest) -> bool:
        """Offer code of an agent outside the notebook, see `Driver.offer`."""
        return self._context.copy().run(self._driver.offer, ask, guest)

    def withdraw(self, guest: Guest, reason: str, *, stop: bool = True) -> None:
        """Take the code of an agent away, see `Driver.withdraw`."""
        self._driver.withdraw(guest, reason, stop=stop)

    def note(self, text: str) -> None:
        """Put a line for the person into the panel."""
        self._mirror.note(text)

    def _cell_ended(self, result: Any) -> None:
        info = getattr(result, "info", None)
        if info is not None and info.store_history:
            number = result.execution_count or 0
            self._quick.put(lambda: self._mirror.cell_ended(number))

    # What the front end says ----------------------------------------------------------------------

    def _by_comm(self, _: object, content: dict[str, Any], __: object) -> None:
        self._mailbox.deliver(self.model_id, content)

    def _receive(self, content: dict[str, Any]) -> None:
        """A message, on any thread; nothing here waits."""
        match content.get("kind"):
            case "decision":
                self._driver.decide(content)
            case "input":
                self._driver.enter(content)
            case "stop":
                self._driver.stop()
            case kind if kind == "earlier" or kind in _QUICK:
                self._quick.put(partial(self._answer, content))
            case _:
                self._start_thread(partial(self._answer, content))

    def _start_thread(self, work: Callable[[], None]) -> None:
        context = self._context.copy()
        threading.Thread(target=context.run, args=(work,), name="lmc-panel", daemon=True).start()

    def _do_quick(self) -> None:
        """A thread for each would cost ipykernel two file descriptors each, for ten seconds."""
        for work in iter(self._quick.get, None):
            try:
                work()
            except Exception as error:  # noqa: BLE001 - the next one may be answered
                warnings.warn(
                    f"the panel could not answer its front end: {type(error).__name__}: {error}",
                    RuntimeWarning,
                    stacklevel=2,
                )

    def _answer(self, content: dict[str, Any]) -> None:
        match content.get("kind"):
            case "hello" | "ready":
                self._batch.snapshot(self._snapshot)
            case "sync":
                if not self._batch.repeat(content.get("epoch"), content.get("have")):
                    self._batch.snapshot(self._snapshot)
            case "earlier":
                earlier = partial(self._mirror.earlier, content.get("before"))
                self._batch.snapshot(earlier, "earlier")
            case "page":
                self._driver.report(content)
            case "focus":
                self.session.choice.preload()
            case kind if kind in ANSWERED:
                self._reply(content, self._begin_answer)
            case "queue":
                self._reply(content, self._change_queue)
            case _:
                self._reply(content, self._requests.answer)

    def _snapshot(self) -> dict[str, Any]:
        return {**self._mirror.snapshot(), "tables": tables()}

    def _begin_answer(self, content: Mapping[str, Any]) -> Answer:
        self._driver.answer(content)
        return (None,)

    def _change_queue(self, content: Mapping[str, Any]) -> Answer:
        self._driver.change_queue(content)
        return (None,)

    def _reply(
        self, content: Mapping[str, Any], answer: Callable[[Mapping[str, Any]], Answer]
    ) -> None:
        """Send the value that answers a request, or the sentence on why there is none."""
        buffers: list[bytes] = []
        reply: dict[str, Any]
        try:
            value, *buffers = answer(content)
            reply = {"ok": True, "value": value}
        except LMCError as error:
            reply = {"ok": False, "error": str(error)}
        except Exception as error:  # noqa: BLE001 - the person reads it in the panel
            sentence = f"the panel could not do this: {type(error).__name__}: {error}"
            reply = {"ok": False, "error": sentence}
        self._send({"kind": "reply", "of": content.get("id"), **reply}, buffers)

    def _send(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        widget = self._widget
        if widget is not None and widget.comm is not None:
            widget.send(content, buffers or None)


_panels: list[ChatPanel] = []
"""The kernel's one panel, once it is made."""
_making = threading.RLock()


def panel_model_id() -> str:
    """The widget model's id of the one panel of this kernel, made at the first call.

    For the sidebar, which shows it.
    """
    return the_panel().model_id


def the_panel(magics: Any = None) -> ChatPanel:
    """The one panel of this kernel, made at the first call and again when it was closed."""
    with _making:  # the sidebar may ask on two threads at once: one of them waits for a cell
        session = (magics or _magics()).session
        if not _panels or not _panels[0].alive or _panels[0].session is not session:
            for old in _panels:
                old.close()
            _panels[:] = [ChatPanel()]
        return _panels[0]


def _magics() -> Any:
    """Our magics in this kernel; the extension is loaded if it is not."""
    try:
        return current_magics()
    except SessionError:
        shell = get_ipython()
        if shell is None:
            raise LMCError(
                "there is no notebook here: the panel needs a Jupyter kernel. "
                "From a script use lmc_jupyter.Session"
            ) from None
        extensions: Any = shell.extension_manager
        extensions.load_extension("lmc_jupyter")
        return current_magics()
