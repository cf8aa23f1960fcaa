"""Kills a process in the middle of a turn, again and again, and looks at what is left.

    python killing.py KILLS SEED [lazy]

One process after the other goes on with the same conversation in a real `Session`: it says on a
pipe what anybody was shown (after it was shown), and is killed with SIGKILL at a random instant
after a random number of such lines: so a slow machine kills at the same steps as a fast one.
Then every message, piece of text, decision and title that it had said must be in the file. It
prints one line of JSON. With `lazy` the journal is a writer that keeps lines to itself for a
while: the control, which must lose something.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripted import Machine, code, printed, said
from watcher import Watcher

from lmc_jupyter.agent import is_code
from lmc_jupyter.conversation import Conversation, disk
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.conversation.journal import read_bytes
from lmc_jupyter.errors import SessionError
from lmc_jupyter.gate import Decision
from lmc_jupyter.session import Session

Tell = Callable[[list[Any]], Any]

KILLS_EACH = 40  # then another conversation
MOST = 80  # lines that it says before it is killed
LONGEST = 0.002  # seconds between the last of them and the kill


class Model:
    """Talks, writes code, talks; each reply of another length, no two words the same."""

    name = label = "killed"

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.blocks = dice, 0

    def respond(self, messages):
        for _ in range(self.dice.randint(1, 12)):
            yield said(f"word{self.dice.randrange(1 << 40)} ")
        if messages[-1].role == "user" or self.dice.random() < 0.5:
            self.blocks += 1
            for _ in range(self.dice.randint(1, 5)):
                yield code(f"step({self.dice.randrange(1 << 40)})\n")


class Slow(Machine):
    """Says that it runs before it puts anything out."""

    def __init__(self, tell, dice):
        super().__init__()
        self.tell, self.dice = tell, dice

    def run(self, language, code):
        self.tell(["runs"])
        for n in range(self.dice.randint(0, 12)):
            yield printed(f"line {n}\n")


class Teller(Watcher):
    """Says what it is shown; it comes after the one that keeps."""

    def __init__(self, session, tell):
        self.session, self.tell = session, tell

    def asked(self):
        last = self.session.messages[-1]
        self.tell(["id", self.session.journal.id])
        if last.role == "user":
            self.tell(["asked", last.content])

    open = False

    def edited(self, event):
        said = getattr(event, "message", None)
        if not self.open and said is not None and said.role == "computer" and said.content:
            self.tell(["chunk", said.role, said.type, None, True, False])  # what the loop says
            self.tell(["chunk", said.role, said.type, said.content, False, True])

    def shown(self, chunk):
        self.open = not chunk.end
        if chunk.format != "active_line":
            self.tell(["chunk", chunk.role, chunk.type, chunk.content, chunk.start, chunk.end])

    def waits(self, proposal):
        self.tell(["waits"])

    def answered(self, proposal, decision):
        self.tell(["decided", decision.run])

    def ended(self, turn, error):
        self.tell(["ended"])


def telling(out: int) -> Tell:
    """Says things on a pipe, each in one piece."""
    return lambda what: os.write(out, json.dumps(what).encode() + b"\n")


def change(session: Session, tell: Tell, dice: random.Random) -> None:
    """Undo, rename or rate, and say so before and after."""
    which = dice.choice(["undo", "title", "rate"])
    if which == "undo":
        tell(["will", which])
        session.undo()
        tell(["undone", len(session.messages)])
    elif which == "title":
        title = f"title {dice.random()}"
        tell(["will", which, title])
        session.conversation.rename(title)
        tell(["title", title])
    else:
        answer = next((m for m in reversed(session.messages) if m.role == "assistant"), None)
        if answer is not None:
            tell(["will", which])
            session.rate(answer.id, "up")
            tell(["rated", answer.id])


def work(id_: str, out: int, seed: int) -> None:
    """Go on with the conversation until the end comes."""
    dice, tell = random.Random(seed), telling(out)
    session = Session(model=Model(dice), computer=Slow(tell, dice))
    if id_:
        session.conversation.open(id_)
        assert session.journal.id == id_, "it was opened as a copy"
    session.history.subscribe(Teller(session, tell))
    for turn in range(10_000):
        if turn and dice.random() < 0.5:
            change(session, tell, dice)
        reply = session.ask(f"question {turn} {dice.random()}" if session.pending is None else None)
        answer = None
        while True:
            try:
                chunk = reply.send(answer)
            except StopIteration:
                break
            asked = chunk.type == "confirmation"
            answer = Decision(dice.random() < 0.8) if asked else None


class Lazy(disk.Calls):
    """Keeps what it is given to itself until there is enough of it: the control."""

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}

    def write(self, descriptor: int, data: bytes) -> int:
        kept = self.kept.get(descriptor, b"") + data
        if len(kept) > 2000:
            os.write(descriptor, kept)
            kept = b""
        self.kept[descriptor] = kept
        return len(data)

    def status(self, descriptor: int) -> Any:
        found = os.fstat(descriptor)
        size = found.st_size + len(self.kept.get(descriptor, b""))
        return os.stat_result([*found[:6], size, *found[7:10]])

    def truncate(self, descriptor: int, size: int) -> None:
        self.kept.pop(descriptor, None)
        os.ftruncate(descriptor, size)


class Told:
    """What the killed ones have said, and whether it is there."""

    def __init__(self) -> None:
        self.id = self.title = self.next_title = ""
        self.messages: list[dict[str, Any]] = []  # role, type, text, over
        self.undoing = self.undid = False
        self.rated: set[str] = set()
        self.runs = False
        self.decisions = 0
        self.found: Conversation | None = None
        """What is there, after `look`; None: it cannot be read, or there is none."""

    def hear(self, what: list[Any]) -> None:
        kind, *rest = what
        if kind == "id":
            self.id = rest[0]
        elif kind == "asked":
            self.messages.append({"role": "user", "type": "message", "text": rest[0], "over": True})
        elif kind == "chunk":
            role, type_, content, start, end = rest
            if start:
                self.messages.append({"role": role, "type": type_, "text": "", "over": False})
            self.messages[-1]["text"] += content or ""
            self.messages[-1]["over"] = end
            self.runs = self.runs and role == "computer"
        elif kind == "decided":
            self.decisions += 1
        elif kind == "runs":
            self.runs = True
        elif kind == "will" and rest[0] == "undo":
            self.undoing = self.undid = True
        elif kind == "will" and rest[0] == "title":
            self.next_title = rest[1]
        elif kind == "undone":
            self.undoing = False
            self.messages = self.messages[: rest[0]]
        elif kind == "title":
            self.title = rest[0]
        elif kind == "rated":
            self.rated.add(rest[0])

    def look(self, conversations: Conversations) -> list[str]:
        """What is not there."""
        self.found = None
        if not self.id:
            return []
        try:
            found = self.found = conversations.read(self.id)
        except SessionError as error:
            self.id, self.messages = "", []
            return [str(error)]
        missing = [f"damaged: {said}" for said in found.losses]
        if self.undoing:
            self.messages = self.messages[: len(found.messages)]
        if self.messages and not self.messages[-1]["text"]:
            self.messages.pop()  # it had begun, and nobody had seen a word of it
        for at, told in enumerate(self.messages):
            if at >= len(found.messages):
                missing.append(f"message {at} of {len(self.messages)}: {told}")
                break
            there = found.messages[at]
            same = (there.role, there.type) == (told["role"], told["type"])
            whole = there.content == told["text"] and not there.extra.get("partial")
            if not same or not there.content.startswith(told["text"]):
                missing.append(f"message {at}: {told} is {there}")
            elif told["over"] and told["text"] and not whole:
                missing.append(f"message {at} is not whole: {told} is {there}")
        if self.runs and found.messages and is_code(found.messages[-1]):
            missing.append("code that has begun waits again")
        if self.title and found.title not in (self.title, self.next_title):
            missing.append(f"the title {self.title} is {found.title!r}")
        there_rated = {m.id for m in found.messages if m.extra.get("feedback") == "up"}
        there = {m.id for m in found.messages}
        missing += [f"the thumb on {each}" for each in self.rated & there - there_rated]
        made = sum(event.data.get("action") in ("run", "decline") for event in found.events)
        if not self.undid and made < self.decisions:
            missing.append(f"{self.decisions - made} decisions")
        # what was not said any more is there all the same: the next one begins with it
        self.messages = [{**_told(m), "over": not m.extra.get("partial")} for m in found.messages]
        self.runs = self.undoing = self.undid = False
        self.decisions = made
        self.title = found.title
        self.next_title = ""
        return missing


def _told(message):
    return {"role": message.role, "type": message.type, "text": message.content}


def kill_one(told: Told, seed: int, dice: random.Random) -> int:
    """Begin a process, let it work until it has said some lines, kill it; how many it said."""
    into, out = os.pipe()
    child = os.fork()
    if not child:
        os.close(into)
        try:
            work(told.id, out, seed)
        finally:
            os._exit(1)
    os.close(out)
    heard, enough = b"", 1 + int(dice.random() ** 2 * MOST)
    while heard.count(b"\n") < enough and select.select([into], [], [], 60)[0]:
        if not (part := os.read(into, 1 << 16)):
            break
        heard += part
    time.sleep(dice.random() * LONGEST)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while part := os.read(into, 1 << 16):
        heard += part
    os.close(into)
    if os.WIFEXITED(status):
        raise RuntimeError("it ended by itself")
    *whole, _ = heard.split(b"\n")
    for line in whole:
        told.hear(json.loads(line))
    return len(whole)


def main(kills: int, seed: int, lazy: bool) -> None:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        conversations = Conversations()
        missing: list[str] = []
        said_all = longest = in_turn = 0
        told = Told()
        for kill in range(kills):
            if kill % KILLS_EACH == 0:
                told = Told()
            if lazy:
                real, disk.calls.__class__ = disk.calls.__class__, Lazy
                disk.calls.kept = {}
            said_all += kill_one(told, dice.randrange(1 << 30), dice)
            if lazy:
                disk.calls.__class__ = real
            begun = time.perf_counter()
            in_turn += any(not m["over"] for m in told.messages) or told.runs
            missing += told.look(conversations)
            longest = max(longest, time.perf_counter() - begun)
            if missing and not lazy:
                data = read_bytes(conversations.path(told.id))
                missing.append(data[-3000:].decode("utf-8", "replace"))
                break
        listed = len(conversations.list())
    sys.stdout.write(
        json.dumps(
            {
                "kills": kill + 1,
                "said": said_all,
                "in_turn": in_turn,
                "missing": missing[:20],
                "lost": len(missing),
                "listed": listed,
                "slowest_read": round(longest, 4),
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), "lazy" in sys.argv[3:])
