"""Kills a real kernel in the middle of a turn, again and again, and looks at what is left.

    python killing_kernels.py KILLS SEED [lazy]

As `killing.py`, but what is killed is an ipykernel with its sockets, its threads and a shell, and
a front end that sends cells, presses the buttons and reads what is shown below them. The model
talks in a `%%lmc` cell, and its python runs in that kernel. The next kernel has the same
connection file, as after a restart, and must go on with the same conversation by itself.

What must be in the file is what a watcher behind the writer was shown, as there, and what the
front end has got to see; but not what code prints while it runs: the kernel shows that by itself,
a moment before or after it is written down (`early` counts the lines). It prints one line of
JSON; `at` says in which states the kernels were killed.

A kernel takes two seconds to import what it needs, so each is a fork of one process which has
done that, and has begun no thread, no event loop and no socket.

KILLS counts those that hit a turn; `kills` in the line counts all.
"""

from __future__ import annotations

import gc
import json
import os
import random
import re
import select
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import uuid
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import ipykernel
import zmq
from ipykernel.kernelapp import IPKernelApp
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.connect import write_connection_file
from killing import Lazy, Model, Tell, Teller, Told, change

from lmc_jupyter import current_session
from lmc_jupyter.content.remarks import for_person
from lmc_jupyter.conversation import disk
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.conversation.writer import RESTART_NOTICE
from lmc_jupyter.errors import SessionError

KILLS_EACH = 20  # then another conversation
PATIENCE = 60.0  # seconds: only what fails waits so long
PAUSE = 0.006  # seconds, the longest between two words or two lines
THINKS = 0.03  # seconds, the longest before the person presses a button
WIDGET = "application/vnd.jupyter.widget-view+json"

AIMS = {
    "opens": (10, 0.01),
    "went on": (6, 0.04),
    "asked": (30, 0.1),
    "wrote code": (4, 0.2),
    "waits": (20, 0.15),
    "decided": (8, 0.004),
    "runs": (8, 0.02),
    "said all": (8, 0.002),
    "will": (6, 0.001),
}
"""What a kernel says before its last instant: how often, and how many seconds before at most."""

NEEDED = (
    "ipykernel.ipkernel",
    "ipykernel.kernelspec",
    "ipykernel.zmqshell",
    "pygments.lexers.python",
    "lmc_jupyter.frontends.magic.magics",
    "lmc_jupyter.computer.languages.jupyter_kernel",
    "lmc_jupyter.computer.languages.python",
    "lmc_jupyter.frontends.panel.widget",
    "killing_kernels",  # this file is __main__, and its first cell imports it
)
"""What a kernel imports before it has answered, and takes long."""
TOLD = "LMC_TEST_TOLD"
"""The variable that holds a kernel's end of the pipe."""

# In the kernel ------------------------------------------------------------------------------------

SET_UP = """
import os
from killing import telling
from killing_kernels import TOLD, begin, lazily
tell = telling(int(os.environ[TOLD]))
{lazily}
tell(["opens"])
__import__("lmc_jupyter").load_ipython_extension(get_ipython())  # it greets nobody so
step, changes = begin(tell, {seed})
"""


class Streaming(Model):
    """With pauses between the words, as they come over a network."""

    def __init__(self, tell: Tell, dice: random.Random) -> None:
        super().__init__(dice)
        self.tell = tell

    def respond(self, messages):
        for chunk in super().respond(messages):
            time.sleep(self.dice.random() * PAUSE)
            yield chunk
        self.tell(["wrote code" if chunk.type == "code" else "said all"])


def begin(tell: Tell, seed: int):
    """What the cells need: the function that the model calls, and one that changes something."""
    session, dice = current_session(), random.Random(seed)
    session.choose_model(Streaming(tell, dice))
    session.history.subscribe(Teller(session, tell))

    def step(number):
        tell(["runs"])
        for line in range(dice.randint(0, 4)):
            print(f"line {line} of {number}", flush=dice.random() < 0.5)  # noqa: T201
            time.sleep(dice.random() * PAUSE)

    there = [[m.role, m.type, m.content, "partial" in m.extra] for m in session.messages]
    tell(["went on", session.journal.id, there, session.conversation.notice])
    return step, lambda: change(session, tell, dice)


def lazily() -> None:
    disk.calls.__class__ = Lazy
    disk.calls.kept = {}


# Kernels ------------------------------------------------------------------------------------------


class Zygote:
    """The process that kernels are forks of. It does one thing after the other."""

    def __init__(self, log: Path) -> None:
        self._here, there = socket.socketpair()
        self._pid = os.fork()
        if not self._pid:
            try:
                self._here.close()
                _breed(there, log)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        there.close()

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *_: object) -> None:
        self._here.close()
        os.waitpid(self._pid, 0)

    def begin(self, connection_file: Path, out: int) -> int:
        """Begin a kernel, which has this end of a pipe too; returns its process id."""
        socket.send_fds(self._here, [os.fsencode(connection_file)], [out])
        return self._answer()

    def kill(self, pid: int) -> None:
        """Kill it, and return when it is gone."""
        os.kill(pid, signal.SIGKILL)
        self._here.send(b"wait")
        status = self._answer()
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            raise RuntimeError(f"the kernel had ended by itself: status {status}")

    def _answer(self) -> int:
        if not select.select([self._here], [], [], PATIENCE)[0] or not (
            said := self._here.recv(64)
        ):
            raise RuntimeError("the process that kernels are forks of does not answer")
        return int(said)


def _breed(there: socket.socket, log: Path) -> None:
    for name in NEEDED:
        import_module(name)
    assert threading.active_count() == 1, threading.enumerate()
    tasks = Path("/proc/self/task")
    assert not tasks.is_dir() or len(list(tasks.iterdir())) == 1, "something has begun a thread"
    gc.freeze()  # what is never collected is not copied
    while True:
        file, fds, *_ = socket.recv_fds(there, 4096, 1)
        if not file:
            return
        pid = os.fork()
        if not pid:
            there.close()
            os.environ[TOLD] = str(fds[0])
            _launch(os.fsdecode(file), log)
        os.close(fds[0])
        there.send(b"%d" % pid)
        if not there.recv(64):  # whoever wanted it is gone
            os.kill(pid, signal.SIGKILL)
            return
        there.send(b"%d" % os.waitpid(pid, 0)[1])


def _launch(connection_file: str, log: Path) -> None:
    """Become a kernel, as `python -m ipykernel_launcher` does."""
    os.setsid()
    for number, to in enumerate((os.devnull, log, log)):
        os.dup2(os.open(to, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number)
    parent = f"--IPKernelApp.parent_handle={os.getppid()}"
    IPKernelApp.launch_instance(["-f", connection_file, parent])


# The front end ------------------------------------------------------------------------------------


class FrontEnd:
    """What a notebook in a browser does with one kernel: it sends cells, shows what comes, and
    somebody there presses Run, or Don't run.
    """

    def __init__(self, context: zmq.Context, connection_file: Path, dice: random.Random) -> None:
        self.dice = dice
        self.client = BlockingKernelClient(connection_file=str(connection_file), context=context)
        self.client.load_connection_file()
        self.client.start_channels(hb=False)
        self.iopub = self.client.iopub_channel.socket
        self.ended = self.iopub.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self.busy = self.heard = False
        self.due: tuple[float, str, dict[str, Any]] | None = None
        """When a button is pressed, of which widget, and what that says."""
        self._cell, self._sent = "", 0.0
        self._begins = ""  # the cell that loads the extension, which prints sentences of its own
        self.forget()

    def close(self) -> None:
        self.iopub.disable_monitor()
        self.ended.close()
        self.client.stop_channels()

    def forget(self) -> None:
        """What was shown is to be taken back."""
        self.shown: dict[str, str] = {}  # by display
        self.printed = ""

    def begin(self, code: str) -> None:
        """Run the cell that loads the extension."""
        self.run(code)
        self._begins = self._cell

    def run(self, code: str) -> None:
        self.busy, self._sent = True, time.monotonic()
        self._cell = self.client.execute(code, allow_stdin=True)

    def listen(self) -> None:
        """Take in all that has come."""
        while True:
            try:
                _, message = self.client.session.recv(self.iopub)
            except zmq.Again:
                return
            if message is None:
                return
            self.heard = True
            self._take(message["msg_type"], message["content"], message["parent_header"])

    def go_on(self) -> None:
        """Press a button when its time has come; say a first cell again that nobody showed."""
        now = time.monotonic()
        if self.due is not None and now >= self.due[0]:
            _, widget, content = self.due
            self.due = None
            self._send(widget, content)
        if not self.heard and now > self._sent + 5:
            self.run("None")  # its status went by before our socket had found the kernel

    def drain(self) -> None:
        """The kernel is gone: take in what it had sent."""
        if not self.ended.poll(PATIENCE * 1000):
            raise RuntimeError("the kernel is gone, its socket is not")
        self.listen()

    def _take(self, kind: str, content: dict[str, Any], parent: dict[str, Any]) -> None:
        ours = parent.get("msg_id") == self._cell
        if kind == "status":
            if ours and content["execution_state"] == "idle":
                self.busy = False
        elif kind == "error":
            raise RuntimeError("\n".join(content["traceback"]))
        elif kind == "stream" and ours and self._cell != self._begins:
            self.printed += content["text"]
        elif kind == "comm_open" and "kind" in content["data"].get("state", {}):  # it is ours
            self._send(content["comm_id"], {"kind": "hello"})
        elif kind == "comm_msg":
            custom = content["data"].get("content", {})
            if custom.get("kind") == "ask":
                click = {"proposal": custom["proposal"], "digest": custom["digest"]}
                click["decision"] = "run" if self.dice.random() < 0.8 else "decline"
                when = time.monotonic() + self.dice.random() * THINKS
                self.due = when, content["comm_id"], {"kind": "decision", **click}
        elif kind in ("display_data", "update_display_data"):
            bundle = content["data"]
            if WIDGET in bundle:
                self._send(bundle[WIDGET]["model_id"], {"kind": "ready"})
            elif ours:
                self.shown[content["transient"]["display_id"]] = bundle["text/plain"]

    def _send(self, widget: str, content: dict[str, Any]) -> None:
        data = {"method": "custom", "content": {"id": uuid.uuid4().hex, **content}}
        message = self.client.session.msg("comm_msg", {"comm_id": widget, "data": data})
        self.client.shell_channel.send(message)

    def look(self, messages: list[Any]) -> tuple[list[str], int]:
        """What was shown below the last cell and is in none of these messages; and how many lines
        that code printed which is shown as running: those may wait 20 ms for the next ones.
        """
        missing, running = [], ""
        for text in self.shown.values():
            head, _, below = text.partition("\n")
            is_code = head.startswith("[python")
            if head.startswith("[") and not is_code:
                assert " · " in head, head  # the line that says how long it took
                continue
            if "running" in head:
                running += below
            # below code stands a line on what it will do, which is no part of the message
            said = (re.sub(r"\n\[[^\n]*\]\s*\Z", "", below) if is_code else text).strip()
            if not any(
                words.strip().startswith(said) and is_code == (m.type == "code")
                for m in messages
                for words in (m.content, for_person(m.content))
            ):
                missing.append(f"shown: {text!r}")
        there = {line for m in messages if m.role == "computer" for line in m.content.split("\n")}
        lines = [line for line in self.printed.split("\n")[:-1] if line not in there]
        early = [line for line in lines if any(word in running for word in line.split()[-1:])]
        return missing + [f"printed: {line!r}" for line in lines if line not in early], len(early)


# Killing ------------------------------------------------------------------------------------------


class ToldByKernels(Told):
    """A kernel also says with what it has gone on."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.state = ""
        """What the kernel was at when it said its last word."""

    def hear(self, what: list[Any]) -> None:
        super().hear(what)
        kind, *rest = what
        self.state = self._state(kind, rest)
        if kind == "went on":
            id_, messages, notice = rest
            there = [{**_message(m), "over": not partial} for *m, partial in messages]
            note = {**_message(("computer", "console", RESTART_NOTICE)), "over": True}
            if self.id and (id_, there) != (self.id, self.messages + [note] * bool(self.messages)):
                self.wrong.append(f"the next kernel did not go on with {self.id}, but with {rest}")
            if notice:
                self.wrong.append(notice)
            self.id, self.messages = id_, there

    def _state(self, kind: str, rest: list[Any]) -> str:
        if kind == "chunk":
            role, *_, start, _ = rest
            if role == "computer":
                return self.state
            over = not start and self.state in ("wrote code", "ends")
            return self.state if over else "streams"
        return STATES.get(kind, self.state)


def _message(message: Any) -> dict[str, Any]:
    return dict(zip(("role", "type", "text"), message, strict=True))


STATES = {
    "opens": "opens",
    "went on": "between cells",
    "asked": "asked",
    "waits": "waits",
    "decided": "was answered",
    "runs": "runs",
    "wrote code": "wrote code",
    "said all": "ends",
    "ended": "cell ends",
    "will": "changes",
    "undone": "between cells",
    "title": "between cells",
    "rated": "between cells",
}
IN_TURN = ("asked", "streams", "wrote code", "waits", "was answered", "runs", "ends")


class Killer:
    """Kills one kernel after the other, and keeps count."""

    def __init__(self, folder: Path, zygote: Zygote, dice: random.Random, lazy: bool) -> None:
        self.folder, self.zygote, self.dice = folder, zygote, dice
        self.aims = random.Random(dice.random())
        """A dice of their own: the other one is thrown as often as a kernel is fast."""
        self.lazily = "lazily()" * lazy
        self.context = zmq.Context()
        self.context.setsockopt(zmq.RECONNECT_IVL, 5)  # the kernel is about to make its sockets
        self.conversations = Conversations()
        self.file, self.told = folder, ToldByKernels()
        self.said = self.shown = self.early = self.files = 0
        self.states: Counter[str] = Counter()
        self.missing: list[str] = []

    @property
    def in_turn(self) -> int:
        """How many were killed in a turn."""
        return sum(self.states[state] for state in IN_TURN)

    def _hear(self, data: bytes) -> tuple[set[str], bytes]:
        """Hear whole lines; their kinds, and the rest."""
        *lines, rest = data.split(b"\n")
        said = [json.loads(line) for line in lines]
        for what in said:
            self.told.hear(what)
        self.said += len(said)
        return {what[0] for what in said}, rest

    def another(self) -> None:
        """The next kernels are those of another notebook."""
        self.files += 1
        self.file = self.folder / f"kernel-{self.files}.json"
        write_connection_file(
            str(self.file), transport="ipc", ip=str(self.folder / str(self.files))
        )
        self.told = ToldByKernels()

    def kill_one(self) -> None:
        """Begin a kernel, let it work until an instant of a turn, and kill it."""
        into, out = os.pipe()
        pid = self.zygote.begin(self.file, out)
        os.close(out)
        front = FrontEnd(self.context, self.file, self.dice)
        try:
            seed = self.dice.randrange(1 << 30)
            front.begin(SET_UP.format(lazily=self.lazily, seed=seed))
            heard = self._let_live(front, into)
            self.zygote.kill(pid)
            while part := os.read(into, 1 << 16):
                heard += part
            self._hear(heard)
            front.drain()
            self.states[self.told.state] += 1
            self.missing += self.told.look(self.conversations) + self.told.wrong
            self.told.wrong = []
            if self.told.found is not None:
                missing, early = front.look(self.told.found.messages)
                self.missing += missing
                self.early += early
            self.shown += len(front.shown) + front.printed.count("\n")
        finally:
            os.close(into)
            front.close()

    def _let_live(self, front: FrontEnd, into: int) -> bytes:
        """Until its last instant; returns what it has said of its next word."""
        weights = [often for often, _ in AIMS.values()]
        aim = self.aims.choices([*AIMS], weights)[0]
        changes = aim == "will"
        heard, end = b"", time.monotonic() + PATIENCE
        last = None
        poller = zmq.Poller()
        poller.register(into, zmq.POLLIN)
        poller.register(front.iopub, zmq.POLLIN)
        while (now := time.monotonic()) < (last or end):
            next_ = min(last or end, front.due[0] if front.due else end)
            ready = dict(poller.poll(max(0, int((next_ - now) * 1000))))
            if into in ready:
                part = os.read(into, 1 << 16)
                if not part:
                    raise RuntimeError("the kernel has ended by itself")
                kinds, heard = self._hear(heard + part)
                if last is None and aim in kinds:
                    last = time.monotonic() + self.dice.random() * AIMS[aim][1]
            front.listen()
            front.go_on()
            if not front.busy:
                front.forget()
                if changes and self.told.messages:
                    front.run("changes()")
                else:
                    front.run(f"%%lmc\nquestion {self.dice.random()}")
                    self.told.state = "cell begins"
                changes = self.dice.random() < 0.2
        if last is None:
            raise RuntimeError(f"the kernel never said {aim!r}; it {self.told.state}")
        return heard

    def look_at_all(self) -> int:
        """Every journal opens, whoever was told of it or not; how many there are."""
        paths = list(self.conversations.folder.glob("*.jsonl"))
        for path in paths:
            try:
                self.conversations.open(path.stem)[0].close()
            except SessionError as error:
                self.missing.append(str(error))
        return len(paths)


def main(kills: int, seed: int, lazy: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
            os.environ[variable] = name
        log = folder / "kernels.log"
        with Zygote(log) as zygote:
            killer = Killer(folder, zygote, random.Random(seed), lazy)
            try:
                while killer.in_turn < kills:
                    if (before := killer.states.total()) > 10 + 3 * kills:
                        raise RuntimeError(f"few kills hit a turn: {killer.states}")
                    if before % KILLS_EACH == 0:
                        killer.another()
                    killer.kill_one()
                    if killer.missing and not lazy:
                        break
            except BaseException:
                sys.stderr.write(log.read_text("utf-8", "replace")[-5000:])
                raise
        journals = killer.look_at_all()
    found = {
        "ipykernel": ipykernel.__version__,
        "kills": killer.states.total(),
        "in_turn": killer.in_turn,
        "at": dict(killer.states.most_common()),
        "said": killer.said,
        "shown": killer.shown,
        "early": killer.early,
        "journals": journals,
        "missing": killer.missing[:20],
        "lost": len(killer.missing),
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), "lazy" in sys.argv[3:])
