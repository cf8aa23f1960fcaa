"""A conversation as passages: each message or piece of code, with the results that belong to it.

One rule: the messages behind a passage show whether it ran, as the agent writes them; in doubt the
passage counts as failed, and is not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from lmc_jupyter.content import remarks
from lmc_jupyter.content.error_text import fails
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.lmc import Message, is_partial, is_proposal, is_thought

Fate = Literal["ran", "failed", "stopped", "declined", "waits"]


@dataclass
class Passage:
    """One message and what belongs to it.

    Parameters
    ----------
    first : code, or anything else
    results : what the computer answered to code; the same question, asked again
    """

    first: Message
    results: list[Message] = field(default_factory=list)

    @property
    def messages(self) -> list[Message]:
        """`first` and `results`, in order."""
        return [self.first, *self.results]

    @property
    def is_code(self) -> bool:
        """Whether it is code that somebody wrote to be run."""
        is_written = self.first.type == "code" and self.first.role != "computer"
        return is_written and not is_proposal(self.first)

    @property
    def visible(self) -> list[Message]:
        """The results that a person is to see."""
        return [each for each in self.results if is_shown(each)]

    @property
    def fate(self) -> Fate:
        """Whether the code ran, failed, was stopped or declined, or waits to run."""
        texts = [each for each in self.results if is_text(each)]
        if is_partial(self.first) or any(map(is_partial, texts)):
            return "stopped"
        if not self.results:
            return "waits" if self.first.role == "assistant" else "ran"
        if texts and str(texts[0].content).startswith(remarks.NOT_RUN):
            return "declined"
        failed = any(fails(str(each.content), self.first.format) for each in texts)
        return "failed" if failed else "ran"

    @property
    def why_not(self) -> str:
        """The reason why code was not run, for the person; "" without."""
        text = next((str(each.content) for each in self.results if is_text(each)), "")
        return remarks.why_not(text)


def is_text(message: Message) -> bool:
    """Whether this message is text that a program wrote to the console."""
    return message.type == "console" and message.format != "active_line"


def is_shown(message: Message) -> bool:
    """Whether a person sees this message: it is neither temporary nor for the model alone."""
    return (
        message.type != "confirmation"
        and message.format != "active_line"
        and message.recipient != "assistant"
        and not (is_text(message) and message.content == "")
    )


def passages(messages: Sequence[Message]) -> list[Passage]:
    """The passages of a conversation, in order.

    A message that no person sees belongs to the passage before it, and so does a question that was
    asked again because nobody had answered it.
    """
    result: list[Passage] = []
    for message in messages:
        last = result[-1] if result else None
        follows = last is not None and (
            (last.is_code and message.role == "computer")
            or not is_shown(message)
            or _asks_again(last.first, message)
        )
        if last is not None and follows:
            last.results.append(message)
        else:
            result.append(Passage(message))
    return result


def only_ran(conversation: Conversation, needed: Container[int] = ()) -> Conversation:
    """The conversation without code that was declined, failed, was stopped or waits to run.

    Parameters
    ----------
    needed : the places of passages that stay all the same
    """
    stays: list[bool] = []
    for place, passage in enumerate(passages(conversation.messages)):
        is_left = not passage.is_code or passage.fate == "ran" or place in needed
        stays += [is_left] * len(passage.messages)
    left, move = _leave_out(conversation, stays)
    events = [
        each._replace(at=move(each.at))
        for each in conversation.events
        if not 0 < each.at <= len(stays) or stays[each.at - 1]  # else it was about that code
    ]
    return replace(left, events=events)


def without_thoughts(conversation: Conversation) -> Conversation:
    """The conversation without what a model said to itself."""
    stays = [not is_thought(each) for each in conversation.messages]
    return _leave_out(conversation, stays)[0]


def _leave_out(
    conversation: Conversation, stays: Sequence[bool]
) -> tuple[Conversation, Callable[[int], int]]:
    """The conversation with those messages that stay, all else at its place between them; and the
    new place of each old one.
    """
    messages: list[Message] = []
    before: list[int] = []
    for message, is_left in zip(conversation.messages, stays, strict=True):
        before.append(len(messages))
        messages += [message] if is_left else []

    def move(at: int) -> int:
        return before[at] if at < len(before) else len(messages)

    left = replace(
        conversation,
        messages=messages,
        events=[each._replace(at=move(each.at)) for each in conversation.events],
        cells=[each._replace(at=move(each.at)) for each in conversation.cells],
    )
    return left, move


def _asks_again(question: Message, message: Message) -> bool:
    """Whether this is the question that stands before it, word for word."""
    both = {(each.role, each.type) for each in (question, message)}
    return both == {("user", "message")} and message.content == question.content
