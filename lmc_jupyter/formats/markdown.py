"""A conversation as Markdown, for people: one file that reads well anywhere.

One rule: it is only written. Text of others loads nothing when it is opened; images are in it, as
data; what is long, or was for the model, is folded away.
"""

from __future__ import annotations

from collections.abc import Iterator

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.formats.blocks import Block, blocks, is_shown, is_text
from lmc_jupyter.formats.cells import ANSI, as_fence, in_words, why_not
from lmc_jupyter.formats.losses import beside, numbered, plain_keys
from lmc_jupyter.formats.safe_markdown import folded, quoted
from lmc_jupyter.lmc import Message

NAME = "markdown"
EXTENSIONS = (".md", ".markdown")

LINES = 20
"""Lines of an output that are shown; a longer one is folded."""

_MOMENT = ("confirmation", "active_line")


def write(conversation: Conversation) -> tuple[bytes, list[str]]:
    """The whole conversation; it cannot be read back."""
    lost: list[str] = []
    messages = plain_keys(conversation.messages, lost)
    title = " ".join(conversation.title.split())
    parts = [f"# {title}"] if title else []
    known = [part for part in (conversation.model, conversation.began[:10]) if part]
    if known:
        parts.append(f"*{', '.join(known)}*")
    for block in blocks(messages):
        parts += _block(block)
    lost += beside(conversation, keeps=("title", "model", "began"))
    moment = [n for n, each in enumerate(messages, 1) if _is_of_the_moment(each)]
    if moment:
        lost.append(f"Not in the file, because it was of the moment: {numbered(moment)}.")
    if messages:
        lost.append("Markdown is for people: the messages cannot be read back from it.")
    return ("\n\n".join(parts) + "\n").encode(), lost


def _is_of_the_moment(message: Message) -> bool:
    return message.type in _MOMENT or message.format in _MOMENT


def _block(block: Block) -> Iterator[str]:
    first = block.first
    if block.is_code:
        why = why_not(block)
        if why:
            yield why
        yield as_fence(first.format, str(first.content))
    elif first.recipient == "assistant":
        yield _for_the_model(first)
    elif not _is_of_the_moment(first):
        said = _shown(first)
        yield f"**You:**\n\n{quoted(said)}" if first.role == "user" else said
    for result in block.results:
        if block.is_code and block.fate == "declined" and is_text(result):
            continue
        if is_shown(result):
            yield _shown(result)
        elif result.recipient == "assistant" and not _is_of_the_moment(result):
            yield _for_the_model(result)


def _for_the_model(message: Message) -> str:
    return folded("For the model", in_words(message))


def _shown(message: Message) -> str:
    said = in_words(message)
    if not is_text(message):
        return said
    lines = ANSI.sub("", str(message.content)).rstrip("\n").count("\n") + 1
    return said if lines <= LINES else folded(f"Output, {lines:,} lines", said)
