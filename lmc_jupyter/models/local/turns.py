"""The end of a conversation as a small model reads it: a question, and the code run for it.

One rule: what became of code is read from its output alone, because a conversation that was
opened from a file has nothing else.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lmc_jupyter.content.html import html_text
from lmc_jupyter.lmc import Message

UNFINISHED = "The model could not write the rest: "
"""Begins the comment at the end of code that is not whole."""

ERROR = re.compile(
    r"^(?:\w+\.)*(\w*(?:Error|Exception|Interrupt|Warning|Exit|Iteration))\b(?::[^\n]*)?$", re.M
)
"""The last line of a traceback."""

DECLINED = re.compile(r"^This code was not run: (.*?)\.?$", re.S)


@dataclass(frozen=True)
class Round:
    """One block of code and what came of it."""

    code: str
    output: str = ""
    figures: int = 0

    @property
    def error(self) -> str:
        """The line that says what failed, or ""."""
        found = [match.group(0) for match in ERROR.finditer(self.output)]
        lines = self.output.rstrip().splitlines()
        if not found or not ("Traceback" in self.output or found[-1] == lines[-1]):
            return ""
        return found[-1]

    @property
    def failed(self) -> tuple[str, str]:
        """The code before the statement that failed, and that statement; where it can be told."""
        found = re.search(r"Traceback.*?\bline (\d+)", self.output, re.S)
        try:
            body = ast.parse(self.code).body
        except (SyntaxError, ValueError):
            return "", ""
        for node in body:
            if found and node.lineno <= int(found.group(1)) <= (node.end_lineno or node.lineno):
                lines = self.code.splitlines(keepends=True)
                cut = node.lineno - 1
                return "".join(lines[:cut]), "".join(lines[cut : node.end_lineno])
        return "", ""

    @property
    def unfinished(self) -> str:
        """Why the code is not whole, or ""."""
        last = self.code.rstrip().rpartition("\n")[2]
        return last.partition(UNFINISHED)[2].rstrip(".")

    @property
    def declined(self) -> str | None:
        """Why it was not run; None when it was."""
        found = DECLINED.match(self.output.strip())
        return found.group(1) if found else None


@dataclass(frozen=True)
class Turn:
    """A question, and what was done about it so far; `previous` is the exchange before."""

    question: str
    rounds: tuple[Round, ...] = ()
    previous: Turn | None = field(default=None, repr=False)


def read(messages: Sequence[Message]) -> Turn:
    """The last question and the one before it, as text, without what is for the person alone."""
    turns: list[Turn] = []
    questions: list[str] = []
    rounds: list[Round] = []

    def close() -> None:
        if questions or rounds:
            turns.append(Turn("\n".join(questions), tuple(rounds)))

    answered = True
    for message in _recent(messages):
        if message.recipient == "user":
            continue
        if message.role == "user":
            if answered:
                close()
                questions, rounds, answered = [], [], False
            if isinstance(message.content, str) and message.type in ("message", "code"):
                questions.append(message.content.strip())
            elif message.format == "path" or message.type == "file":
                questions.append(f"File: {message.content}")
            continue
        answered = True
        if message.role == "assistant" and message.type == "code":
            rounds.append(Round(message.content))
        elif message.role == "computer" and rounds:
            rounds[-1] = _more(rounds[-1], message)
    close()
    if not turns:
        return Turn("")
    last = turns[-1]
    return Turn(last.question, last.rounds, turns[-2] if len(turns) > 1 else None)


def _recent(messages: Sequence[Message]) -> Sequence[Message]:
    """The end of the conversation that has the last two questions in it, however long it is."""
    starts = 0
    for index in range(len(messages) - 1, 0, -1):
        if messages[index].role == "user" and messages[index - 1].role != "user":
            starts += 1
            if starts == 4:  # two, and as many again that may be the person's own notes
                return messages[index:]
    return messages


def _more(before: Round, message: Message) -> Round:
    if message.type == "image":
        return Round(before.code, before.output, before.figures + 1)
    if message.type in ("console", "code") and isinstance(message.content, str):
        is_page = (message.type, message.format) == ("code", "html")
        text = f"{html_text(message.content)}\n" if is_page else message.content
        return Round(before.code, before.output + text, before.figures)
    return before
