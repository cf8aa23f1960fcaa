"""The end of a conversation as a small model reads it: a question, and the code run for it.

One rule: the result of code is read from its output alone, because a conversation from a file has
nothing else.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lmc_jupyter.content import shorten
from lmc_jupyter.content.html import html_text
from lmc_jupyter.context.parts import of_question, text_of
from lmc_jupyter.lmc import Message, is_proposal, is_written_code

GAP = "The model could not write the rest: "
"""Begins the comment at the end of code that is not whole."""

MAX_CELLS = 1_500
"""Characters of the cells that go with a question."""

ERROR = re.compile(
    r"^(?:\w+\.)*(\w*(?:Error|Exception|Interrupt|Warning|Exit|Iteration))\b(?::[^\n]*)?$", re.M
)
"""The last line of a traceback."""

REFUSAL = re.compile(r"^This code was not run: (.*?)\.?$", re.S)


@dataclass(frozen=True)
class Round:
    """One block of code and its result."""

    code: str
    output: str = ""
    figures: int = 0

    @property
    def error(self) -> str:
        """The last line of the traceback, or ""."""
        matches = [match.group(0) for match in ERROR.finditer(self.output)]
        lines = self.output.rstrip().splitlines()
        if not matches or not ("Traceback" in self.output or matches[-1] == lines[-1]):
            return ""
        return matches[-1]

    @property
    def failure(self) -> tuple[str, str]:
        """(the code before the statement that failed, that statement); ("", "") where unknown."""
        match = re.search(r"Traceback.*?\bline (\d+)", self.output, re.S)
        try:
            body = ast.parse(self.code).body
        except (SyntaxError, ValueError):
            return "", ""
        for node in body:
            if match and node.lineno <= int(match.group(1)) <= (node.end_lineno or node.lineno):
                lines = self.code.splitlines(keepends=True)
                cut = node.lineno - 1
                return "".join(lines[:cut]), "".join(lines[cut : node.end_lineno])
        return "", ""

    @property
    def gap(self) -> str:
        """Why the code is not whole, or ""."""
        last = self.code.rstrip().rpartition("\n")[2]
        return last.partition(GAP)[2].rstrip(".")

    @property
    def refusal(self) -> str | None:
        """Why it was not run; None when it was."""
        match = REFUSAL.match(self.output.strip())
        return match.group(1) if match else None


@dataclass(frozen=True)
class Task:
    """A question, and the blocks of code for it so far; `previous` is the exchange before."""

    question: str
    rounds: tuple[Round, ...] = ()
    previous: Task | None = field(default=None, repr=False)


def read(messages: Sequence[Message]) -> Task:
    """The last question and the one before it, as text, without what is for the person alone."""
    tasks: list[Task] = []
    questions: list[str] = []
    rounds: list[Round] = []

    def close() -> None:
        if questions or rounds:
            tasks.append(Task("\n".join(questions), tuple(rounds)))

    has_answer = True
    for message in _recent(messages):
        if message.recipient == "user" and not is_proposal(message):
            continue
        if message.role == "user":
            if has_answer:
                close()
                questions, rounds, has_answer = [], [], False
            if isinstance(message.content, str) and message.type in ("message", "code"):
                questions.append(message.content.strip())
                if cells := text_of(of_question(message)):
                    questions.append(shorten.middle(cells, MAX_CELLS))
            elif message.format == "path" or message.type == "file":
                questions.append(f"File: {message.content}")
            continue
        has_answer = True
        if is_written_code(message):
            rounds.append(Round(message.content))
        elif message.role == "computer" and rounds:
            rounds[-1] = _more(rounds[-1], message)
    close()
    if not tasks:
        return Task("")
    last = tasks[-1]
    return Task(last.question, last.rounds, tasks[-2] if len(tasks) > 1 else None)


def _recent(messages: Sequence[Message]) -> Sequence[Message]:
    """The end of the conversation, with the last two questions."""
    starts = 0
    for index in range(len(messages) - 1, 0, -1):
        if messages[index].role == "user" and messages[index - 1].role != "user":
            starts += 1
            if starts == 4:  # two questions, and two more that may be the person's own notes
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
