"""A conversation as Markdown: it reads well, and loads nothing."""

from __future__ import annotations

import base64

import mistune
import pytest
from conversations import PNG, conversations
from hypothesis import given

from lmc_jupyter import formats
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import markdown
from lmc_jupyter.lmc import Message

PICTURE = base64.b64encode(PNG).decode()


def text(*messages: Message, **beside: str) -> str:
    return markdown.write(Conversation(messages, **beside))[0].decode()


def test_it_reads_as_a_conversation() -> None:
    assert text(
        Message("user", "message", content="How many?\n\nQuick."),
        Message("assistant", "message", content="So:"),
        Message("assistant", "code", "shell", "ls | wc -l"),
        Message("computer", "console", "output", "\x1b[32m7\x1b[0m\n"),
        Message("assistant", "code", "python", "rm()"),
        Message("computer", "console", "output", "This code was not run: the user declined."),
        title="Files",
        model="m",
    ) == (
        "# Files\n\n*m*\n\n**You:**\n\n> How many?\n>\n> Quick.\n\nSo:\n\n"
        "```bash\nls | wc -l\n```\n\n```\n7\n```\n\n"
        "*This was not run (you declined it):*\n\n```python\nrm()\n```\n"
    )


def test_fences_are_longer_than_any_inside() -> None:
    block = Message("assistant", "code", "python", 'x = """\n````\n"""')
    assert text(block).count("`````") == 2


def test_what_is_long_or_for_the_model_is_folded() -> None:
    long = Message("computer", "console", "output", "x\n" * 21)
    short = Message("computer", "console", "output", "x\n" * 20)
    told = Message("computer", "console", "output", "secret of the model", "assistant")
    code = Message("assistant", "code", "python", "f()")
    assert "<summary>Output, 21 lines</summary>" in text(code, long)
    assert "<details>" not in text(code, short)
    assert "<summary>For the model</summary>" in text(code, told)
    assert text(told, told).count("<summary>For the model</summary>") == 2


def test_images_are_data_at_the_end_and_nobody_else_says_what_they_show() -> None:
    image = Message("computer", "image", "base64.png", PICTURE)
    liar = Message("assistant", "message", content="[image-1]: http://evil.example/x.png")
    written = text(Message("assistant", "code", "python", "p()"), image, liar, image)
    assert written.endswith(f"[image--2]: data:image/png;base64,{PICTURE}\n")
    html = str(mistune.create_markdown(escape=False)(written))
    assert html.count("<img") == 2
    assert "evil.example" not in html


@given(conversations())
def test_whatever_is_in_it_only_data_is_loaded(conversation: Conversation) -> None:
    html = str(mistune.create_markdown(escape=False)(text(*conversation.messages)))
    for part in html.split("<img")[1:]:
        assert part.lstrip().startswith('src="data:image/')
    for loads in ("<svg", "<style", "<iframe", "<script", "<link", "<object"):
        assert loads not in html.lower()


def test_what_it_does_not_hold_is_named_and_it_is_not_read() -> None:
    line = Message("computer", "console", "active_line", 3)
    _, lost = markdown.write(Conversation([line], notebook="a.ipynb"))
    assert lost == [
        "The notebook's path 'a.ipynb' is not in the file.",
        "Not in the file, because they only matter while code runs: message 1.",
        "Markdown is for reading only: you cannot load the messages back from it.",
    ]
    with pytest.raises(FormatError, match="is for reading only: it cannot be opened"):
        formats.read(b"# Files", "markdown")
