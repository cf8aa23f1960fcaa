"""A conversation as Markdown, for people: one file that reads well anywhere.

One rule: it is only written, never read. Foreign text loads nothing when the file is opened; images
are data at its end; long text, and text for the model, is folded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from lmc_jupyter.content import terminal
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.formats.cells import as_fence, proposal_text, why_not, words_of
from lmc_jupyter.formats.losses import beside, message_numbers, plain_keys
from lmc_jupyter.formats.passages import Passage, is_shown, is_text, passages
from lmc_jupyter.formats.safe_markdown import fold, line, quote, quote_safely
from lmc_jupyter.lmc import Message, is_proposal, is_thought

NAME = "markdown"
EXTENSIONS = (".md", ".markdown")

LINES = 20
"""Lines of an output that are shown; a longer one is folded."""

_MOMENT = ("confirmation", "active_line")


def write(conversation: Conversation) -> tuple[bytes, list[str]]:
    """The whole conversation; it cannot be read back."""
    losses: list[str] = []
    messages = plain_keys(conversation.messages, losses)
    title = line(conversation.title)
    parts = [f"# {title}"] if title else []
    details = [part for part in (line(conversation.model), line(conversation.began[:10])) if part]
    if details:
        parts.append(f"*{', '.join(details)}*")
    pictures = _Pictures(messages)
    for passage in passages(messages):
        parts += _passage(passage, pictures)
    parts += pictures.data
    losses += beside(conversation, keeps=("title", "model", "began"))
    moment = [n for n, each in enumerate(messages, 1) if _is_of_the_moment(each)]
    if moment:
        losses.append(
            f"Not in the file, because they only matter while code runs: {message_numbers(moment)}."
        )
    if messages:
        losses.append("Markdown is for reading only: you cannot load the messages back from it.")
    return ("\n\n".join(parts) + "\n").encode(), losses


def _folded_case(text: str) -> str:
    """The text as the names of images are compared: some readers take a dotless i for an i."""
    return text.upper().lower()


def _is_of_the_moment(message: Message) -> bool:
    return message.type in _MOMENT or message.format in _MOMENT


class _Pictures:
    """Images stand at the end of the file, so that the text can be read as it is.

    Their names are in no text: nobody else says what one of them shows.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self.data: list[str] = []
        texts = [_folded_case(str(each.content)) for each in messages if each.type != "image"]
        self._name = next(
            name
            for name in (f"image{'-' * n}" for n in itertools.count(1))
            if not any(name in text for text in texts)
        )

    def words(self, message: Message) -> str:
        """A message as Markdown; its image by name."""
        text, images = words_of(message)
        for name, data in images.items():
            [(mime, content)] = data.items()
            label = f"{self._name}{len(self.data) + 1}"
            text = text.replace(f"(attachment:{name})", f"[{label}]")
            self.data.append(f"[{label}]: data:{mime};base64,{''.join(content.split())}")
        return text


def _passage(passage: Passage, pictures: _Pictures) -> Iterator[str]:
    first = passage.first
    if passage.is_code:
        why = why_not(passage)
        if why:
            yield why
        yield as_fence(first.format, str(first.content))
    elif is_proposal(first):
        yield proposal_text(first)
    elif first.recipient == "assistant":
        yield _for_the_model(first, pictures)
    elif is_thought(first):
        yield fold("Thoughts", pictures.words(first))
    elif not _is_of_the_moment(first):
        if first.role != "user":
            yield _visible_text(first, pictures)
        else:
            is_prose = first.type == "message"
            text = (
                quote_safely(str(first.content))
                if is_prose
                else quote(_visible_text(first, pictures))
            )
            yield f"**You:**\n\n{text}"
    for result in passage.results:
        if passage.is_code and passage.fate == "declined" and is_text(result):
            continue
        if is_shown(result):
            yield _visible_text(result, pictures)
        elif result.recipient == "assistant" and not _is_of_the_moment(result):
            yield _for_the_model(result, pictures)


def _for_the_model(message: Message, pictures: _Pictures) -> str:
    return fold("For the model", pictures.words(message))


def _visible_text(message: Message, pictures: _Pictures) -> str:
    text = pictures.words(message)
    if not is_text(message):
        return text
    lines = terminal.plain(str(message.content)).rstrip("\n").count("\n") + 1
    return text if lines <= LINES else fold(f"Output, {lines:,} lines", text)
