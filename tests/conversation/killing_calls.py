"""Kills a kernel at each call that one step makes of the disk, and looks at what is left.

    python killing_calls.py STEP

A process that is as a kernel (it has a connection file) takes a step in a conversation; the first
time it is killed before its first call of the operating system, then before the second, and so
on, until one lives. After each the next process must find the conversation from before that
step or from after it, by the word beside the connection file, and every journal must open. It
prints one line of JSON: how often it was killed, and what was wrong.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripted import Machine, ScriptedModel, drive, said

from lmc_jupyter.conversation import Conversation, disk, writer
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.errors import SessionError
from lmc_jupyter.lmc import Message
from lmc_jupyter.session import Session


def take_up(it: Session) -> None:
    it.conversation.pick_up()


ONE, TWO, OTHER = ([question, "First."] for question in ("One?", "Two?", "Other?"))
STEPS: dict[str, tuple[Callable[[Session], Any], list[str], list[tuple[list[str], list[str]]]]] = {
    "take up": (take_up, ONE, [(ONE, [])]),
    "begin": (lambda it: ask(it, "Two?"), [], [([], TWO)]),
    "ask": (lambda it: ask(it, "Two?"), ONE, [(ONE, TWO)]),
    "undo": (lambda it: [str(it.undo())], ONE, [(ONE, []), ([], [])]),
    "open": (lambda it: it.conversation.open(other(it)), ONE, [(ONE, []), (OTHER, [])]),
    "fork": (lambda it: (it.conversation.fork(), ask(it, "Two?")), ONE, [(ONE, TWO)]),
    "take": (
        lambda it: it.conversation.take(Conversation(messages=two())),
        ONE,
        [(ONE, []), (TWO, [])],
    ),
    "set": (lambda it: setattr(it, "messages", two()), ONE, [(ONE, []), (TWO, [])]),
    "reset": (lambda it: (it.reset(), ask(it, "Two?")), ONE, [(ONE, []), ([], TWO)]),
    "rename": (lambda it: it.conversation.rename("Mine"), ONE, [(ONE, [])]),
    "delete": (lambda it: it.conversation.delete(it.journal.id), ONE, [(ONE, []), ([], [])]),
}
"""What is done, the texts that there were before, and those that must be there after it, each with
those that may have been added."""


class Dying(disk.Calls):
    """Kills this process before its N-th call."""

    at = count = 0

    def __getattribute__(self, name: str) -> Any:
        if name in CALLS:
            Dying.count += 1
            if Dying.count == Dying.at:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__getattribute__(name)


CALLS = frozenset(name for name in vars(disk.Calls) if not name.startswith("_"))


def ask(it: Session, question: str) -> None:
    drive(it.ask(question))


def two() -> list[Message]:
    return [
        Message("user", "message", content=TWO[0]),
        Message("assistant", "message", content=TWO[1]),
    ]


def other(it: Session) -> str:
    return next(each.id for each in it.journal.conversations.list() if each.title == "Other?")


def in_a_kernel(file: Path, work: Callable[[Session], Any], at: int = 0) -> tuple[bool, Any]:
    """Do this in a process of its own; whether it was killed, and what came of it."""
    into, out = os.pipe()
    child = os.fork()
    if not child:
        try:
            writer.connection_file = lambda kernel: str(file)
            it = Session(model=ScriptedModel([said("First.")]), computer=Machine())
            if work is not take_up:
                it.conversation.pick_up()
            Dying.at, Dying.count = at, 0
            found = work(it)
            os.write(out, json.dumps(found).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(out)
    with os.fdopen(into, "rb") as pipe:
        found = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True, None
    if os.WEXITSTATUS(status):
        raise RuntimeError("it failed")
    return False, json.loads(found)


def there(it: Session) -> list[Any]:
    texts = [m.content for m in it.messages if m.content != writer.RESTART_NOTICE]
    return [texts, it.conversation.notice, it.journal.problem]


def is_on_the_way(texts: list[str], must: list[str], may: list[str]) -> bool:
    """Whether these are those that must be there, and of the others as many as had come."""
    whole = [*must, *may]
    *most, last = texts or [""]
    return (
        texts[: len(must)] == must
        and most == whole[: len(most)]
        and "".join(whole[len(most) : len(texts)]).startswith(last)
    )


def look(step: str, at: int, folder: Path) -> tuple[bool, list[str]]:
    """Whether it was killed at this call, and what is wrong after it."""
    work, before, after = STEPS[step]
    os.environ["XDG_DATA_HOME"] = str(folder / "data")
    file, elsewhere = folder / "kernel-1.json", folder / "kernel-2.json"
    for each, first in ((elsewhere, OTHER), (file, before)):
        each.write_text("{}")
        if first:
            in_a_kernel(each, lambda it, first=first: ask(it, first[0]))
    killed, _ = in_a_kernel(file, work, at)
    _, (texts, *said) = in_a_kernel(file, there)
    wrong = [each for each in said if each]
    if not any(is_on_the_way(texts, *each) for each in after):
        wrong.append(f"there is {texts}")
    conversations = Conversations()
    for path in conversations.folder.glob("*.jsonl"):
        try:
            conversations.open(path.stem)[0].close()
        except SessionError as error:
            wrong.append(str(error))
    return killed, [f"killed at call {at}: {each}" for each in wrong]


def main(step: str) -> None:
    disk.calls.__class__ = Dying
    at, killed, wrong = 0, True, []
    while killed:
        at += 1
        with tempfile.TemporaryDirectory() as folder:
            killed, more = look(step, at, Path(folder))
        wrong += more
    sys.stdout.write(json.dumps({"killed": at - 1, "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1])
