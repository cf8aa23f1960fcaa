"""Commands that ask, stop and undo.

One rule: only the session changes the conversation; a command calls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher, unified_diff

from lmc_jupyter.agent import can_go_on
from lmc_jupyter.content.chat import fence
from lmc_jupyter.content.error_text import short
from lmc_jupyter.content.hidden import split_hidden
from lmc_jupyter.context.parts import to_extra
from lmc_jupyter.frontends.magic.commands.table import (
    Candidate,
    Invocation,
    Prefix,
    WrongCommand,
    command,
)
from lmc_jupyter.keys import redact
from lmc_jupyter.lmc import Message, canonical, is_code, is_proposal
from lmc_jupyter.session import Session


@command("ask", "QUESTION", help="ask a question in one line", rest=True, in_panel=False)
def ask(call: Invocation, question: str) -> None:
    call.front.ask(question, True)


@command(
    "fix",
    "[WORDS]",
    help="send the last exception to the model, with its cell",
    more=(
        "WORDS replace the default question. In a cell, what code of the answer would change of "
        "yours is shown below it, line by line; your cell stays as it is."
    ),
    rest=True,
)
def fix(call: Invocation, words: str | None) -> str | None:
    failure = call.cells.failure
    if failure is None:
        raise WrongCommand(
            "no cell has failed since the extension was loaded; one with the tag lmc-hide goes to "
            "no model"
        )
    cell, error, filename = failure
    question = words or "This cell failed. Say why, and fix it."
    text = f"{question}\n\n{_block(cell, 'python')}\n\n{_block(short(error, filename))}"
    runs = (each for each in reversed(call.session.prompt.cells()) if each.error)
    about = next((each.id for each in runs if each.source == cell), "")
    message = Message("user", "message", content=text, extra=to_extra((), about=about))
    is_over = call.front.ask(message if about else text, insert=False)
    return _difference(redact(cell), call.session) if is_over else None


SIMILAR = 0.5
"""How much of a cell and a block of code is the same, from 0 to 1, where one is the other's new
version."""


def _difference(cell: str, session: Session) -> str | None:
    """The lines that the answer's last block of code which resembles the cell changes of it; None
    where there is none.
    """
    blocks: list[str] = []
    for message in session.messages:
        if message.role == "user":
            blocks.clear()
        elif not (is_code(message) or is_proposal(message)):
            continue
        elif canonical(message.format or "") == "python":
            blocks.append(message.content)
    for block in reversed(blocks):
        if SequenceMatcher(None, _words(cell), _words(block)).ratio() >= SIMILAR:
            lines = (cell.strip().splitlines(), block.strip().splitlines())
            text = "\n".join(unified_diff(*lines, "your cell", "the answer", lineterm=""))
            return "".join(part for part, _ in split_hidden(text)) or None
    return None


def _words(code: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", code)


def variables(prefix: Prefix) -> Iterable[Candidate]:
    """The person's variables."""
    return [
        (name, f"{kind} {shape}".strip()) for name, kind, shape in prefix.variables(prefix.text)
    ]


@command(
    "explain",
    "[NAME]",
    help="explain the last cell, or a variable or function",
    complete={"NAME": variables},
)
def explain(call: Invocation, name: str | None) -> None:
    cells = call.cells
    if name is None:
        if not cells.last:
            raise WrongCommand(
                "no cell has run since the extension was loaded, or the last one has the tag "
                "lmc-hide and goes to no model"
            )
        call.front.ask(f"Explain this cell.\n\n{_block(cells.last, 'python')}", insert=False)
        return
    source = cells.source_of(name.removeprefix("@"))
    if source is None:
        raise WrongCommand(
            f"there is no variable {name!r} here: name a variable, or give no name to "
            "explain the last cell"
        )
    call.front.ask(f"Explain `{name}`, which is this:\n\n{_block(source)}", insert=False)


@command("resume", help="ask again about waiting code, or continue an interrupted answer")
def resume(call: Invocation) -> None:
    if not can_resume(call.session):
        raise WrongCommand(
            "no code waits and no answer was interrupted: ask a question in a cell, under %%lmc"
        )
    call.front.resume()


def can_resume(session: Session) -> bool:
    """Whether the conversation stands in the middle of an answer."""
    last = session.history.last
    return last is not None and can_go_on(last)


@command("retry", help="ask the last question again")
def retry(call: Invocation) -> None:
    turns = [turn for turn in call.session.turns if turn.said]
    if not turns:
        raise WrongCommand(
            "no question was asked in this kernel yet: ask one in a cell, under %%lmc"
        )
    call.front.retry(turns[-1])


@command("undo", help="remove the last question and its answer")
def undo(call: Invocation) -> str:
    messages = call.session.undo()
    if not messages:
        raise WrongCommand("the conversation is empty: there is no question to remove")
    answer = " and its answer" if len(messages) > 1 else ""
    return f"Removed the last question{answer}. Your variables did not change."


@command("restore", help="restore the variables that the last block of code changed")
def restore(call: Invocation) -> str:
    return call.session.restore()


@command("stop", help="stop the current answer")
def stop(call: Invocation) -> str | None:
    running = call.session.busy
    call.session.stop()
    return None if running else "There is no answer to stop."  # one that runs says so by itself


@command("reset", help="begin a new conversation", also=("new", "clear"))
def reset(call: Invocation) -> str:
    call.session.conversation.may_leave()
    call.session.reset()
    return "Started a new conversation. Your variables did not change."


def _block(text: str, language: str = "") -> str:
    """A block that no backticks of its own can end, without keys."""
    return fence(language, redact(text).strip())
