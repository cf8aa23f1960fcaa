"""Text of others in Markdown: no reader of it loads anything, and ordinary text stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser

import mistune
import pytest
from conversations import conversations
from hostile_markdown import names, shapes
from hypothesis import given
from markdown_it import MarkdownIt
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.formats import markdown, notebook
from lmc_jupyter.formats.safe_markdown import html_block, line, plain, plain_line, safe
from lmc_jupyter.lmc import Message

AT = "http://evil.example"
READERS: dict[str, Callable[[str], str]] = {
    "mistune": lambda text: str(mistune.create_markdown(escape=False)(text)),
    "markdown-it": MarkdownIt("commonmark", {"html": True}).enable("table").render,
    "nbconvert": lambda text: markdown2html_mistune(text.replace("(attachment:", "(data:image/")),
}


class Loads(HTMLParser):
    """What a page of this HTML would ask for, or could."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            harmless = name in ("href", "class", "id", "align", "start", "alt", "title", "colspan")
            if name == "src" and str(value).startswith(("data:image/", "attachment:")):
                continue
            if name == "src" and value == "#harmful-link":
                continue  # so mistune writes an attachment, which it does not know
            if not harmless or "mermaid" in str(value) or tag in ("link", "base", "image", "use"):
                self.found.append(f"{tag} {name}={value}")

    def handle_comment(self, data: str) -> None:
        self.found.append(f"comment {data}")


def written(conversation: Conversation) -> list[str]:
    """The texts that a reader of Markdown gets of it: each cell, and the file."""
    cells = json.loads(notebook.write(conversation)[0])["cells"]
    texts = ["".join(each["source"]) for each in cells if each["cell_type"] == "markdown"]
    return [*texts, markdown.write(conversation)[0].decode()]


def what_loads(conversation: Conversation) -> list[str]:
    return [
        f"{name}: {found} in {text!r}"
        for text in written(conversation)
        for name, read in READERS.items()
        for found in Loads(read(text)).found
    ]


@pytest.mark.parametrize("text", shapes(AT))
def test_a_message_loads_nothing(text: str) -> None:
    code = Message("assistant", "code", "html", text)
    out = Message("computer", "console", "output", text)
    said = [Message(role, "message", content=text) for role in ("user", "assistant")]
    assert not what_loads(Conversation([*said, code, out, said[1], said[0], code]))


@pytest.mark.parametrize("name", names(AT))
def test_a_title_a_name_and_a_reason_load_nothing(name: str) -> None:
    code = Message("assistant", "code", name, "f()")
    no = Message("computer", "console", "output", f"This code was not run: {name}")
    file = Message("user", "file", "path", name)
    picture = Message("computer", "image", "path", name)
    given = Conversation([file, code, no, picture], title=name, model=name, began=name)
    assert not what_loads(given)
    assert notebook.read(notebook.write(given)[0]).title == " ".join(name.split())


@given(conversations())
def test_no_conversation_loads_anything(conversation: Conversation) -> None:
    assert not what_loads(conversation)


@pytest.mark.parametrize(
    "text", ["![x]({at})", "\n\n![x]({at})\n\n", "a\r\r<img src={at}>", "`$$`"]
)
def test_a_table_loads_nothing(text: str) -> None:
    cell = text.replace("{at}", AT).replace("<", "&lt;")
    table = f"<table><tr><td>{cell}</td></tr></table>"
    given = Conversation([Message("computer", "code", "html", table)])
    assert not what_loads(given)
    assert html_block(table).count("\n\n") == 0


ORDINARY = """\
Let me look at **both** files & compare, a<1, x < y and `df[df.a > 1]`:

1. Install it:
   ```bash
   pip install "x[all]"  # ~5 MB
   ```
2. Then $\\bar x < y_1$, and

```python title=a.py
if a < b:
    print("ok!")
```

| a | b |
|---|:-:|
| 1 | [link](https://a.example "A title") |

> A quotation, <https://a.example/b?c=d>.

- ~~old~~ *new*
  - costs $5 or "$6"
"""


def test_ordinary_text_is_left_as_it_is() -> None:
    assert safe(ORDINARY) == ORDINARY
    assert line("Sales of 2024 (my_df), R&D: 50 %!") == "Sales of 2024 (my_df), R&D: 50 %!"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Use `<div>` here.", "<p>Use <code>&lt;div&gt;</code> here.</p>"),
        ("Is $a<b$ so?", "<p>Is $a&lt; b$ so?</p>"),
        ("Is a<b so?", "<p>Is a&lt;b so?</p>"),
        ("No ![x](y).", '<p>No !<a href="y">x</a>.</p>'),
        ("```html\n<p>\n```", '<pre><code class="language-html">&lt;p&gt;\n</code></pre>'),
        (
            "- a\n  ```\n  <p>\n  ```",
            "<ul>\n<li><p>a</p>\n<pre><code>&lt;p&gt;</code></pre>\n\n</li>\n</ul>",
        ),
    ],
)  # fmt: skip
def test_what_could_load_is_shown_as_it_stands(text: str, shown: str) -> None:
    assert READERS["mistune"](safe(text)).strip() == shown


@pytest.mark.parametrize(
    "text", ["Use `<div>`.", "a<b", "![x](y)", "```html\n<p>\n```", "a \\n *b*"]
)
def test_what_was_broken_is_whole_again_when_it_is_read(text: str) -> None:
    assert plain(safe(text)) == text
    assert plain_line(line(text)) == " ".join(text.split())
