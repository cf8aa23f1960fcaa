"""Conversations for Hypothesis: every row of the protocol, by every role, with all that may come
along; and the same without what JSON itself cannot hold."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from hypothesis import strategies as st

from lmc_jupyter.conversation import Action, Conversation
from lmc_jupyter.lmc import FORMATS, LANGUAGES, RECIPIENTS, ROLES, Message, clean

TEXTS = st.text(max_size=60).map(clean) | st.sampled_from(
    [
        "",
        " ",
        "\n",
        "What's 2380*3875?",
        "> quoted",
        "# Title",
        "```python\nx\n```",
        "````",
        "~~~\na",
        "![a](http://evil.example/p.png)",
        r"\![a](b) \\![c](d)",
        "<img src=x onerror=alert(1)><!-- ",
        "<details><summary>x</summary>",
        "$$a<b$$",
        "%%bash\nls",
        "\x1b[31mred\x1b[0m\r\n",
        "\u2028\x0b\x85",
        "e\u0301\u202e👩‍👩‍👧",
        "This code was not run.",
        "This code was not run: the user declined.",
        "It showed what follows.",
        "The images that the code showed:",
        "Traceback (most recent call last):\n  line 2\n    f()\nNameError: 'f' is not defined\n",
        '"""\\',
        "x" * 3000,
    ]
)
WORDS = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.just(10**200)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
CODES = TEXTS | st.sampled_from(
    ["2380*3875", "import math\nr = 2\nf(r)\ny = 1", "print(r)", "cd /tmp", "x = !ls", "%timeit 1"]
)
PNG = (
    b"\x89PNG\r\n\x1a\n"
    + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (
            (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
            (b"IDAT", zlib.compress(b"\0\0")),
            (b"IEND", b""),
        )
    )
)  # fmt: skip
WAV = b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + struct.pack(
    "<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16
) + b"data" + struct.pack("<I", 0)  # fmt: skip
BINARY = st.sampled_from([PNG, WAV]).map(lambda data: base64.b64encode(data).decode()) | TEXTS


def rows() -> list[tuple[str, str | None]]:
    """Every type with each of its formats; code with the seed's languages and others."""
    found: list[tuple[str, str | None]] = []
    for type_, row in FORMATS.items():
        formats = (
            (*LANGUAGES, "sql", "browser", "Brain f*ck") if row.formats is None else row.formats
        )
        found += [(type_, each) for each in (*formats, None)]
    return found


def _content(type_: str, format_: str | None) -> st.SearchStrategy[Any]:
    if format_ == "active_line":
        return st.none() | st.integers(0, 10**17)
    if type_ == "confirmation":
        return st.builds(lambda f, c: {"type": "code", "format": f, "content": c}, WORDS, CODES)
    if type_ in ("image", "audio") and format_ != "path":
        return BINARY
    if type_ == "code":
        return CODES | st.just("<table><tr><td>1</td></tr></table>")
    return TEXTS


@st.composite
def messages(draw: st.DrawFn, *, stamped: bool = False) -> Message:
    """One message of any row, by any role."""
    type_, format_ = draw(st.sampled_from(rows()))
    keys = WORDS.filter(lambda key: key not in ("role", "type", "format", "content", "recipient",
                                                "id", "start", "end", "was"))  # fmt: skip
    extra = draw(st.dictionaries(keys, VALUES, max_size=2))
    if draw(st.integers(0, 9)) == 0:
        extra["partial"] = True
    message = Message(
        draw(st.sampled_from(ROLES)),
        type_,
        format_,
        draw(_content(type_, format_)),
        draw(st.none() | st.sampled_from(RECIPIENTS)),
        None,
        draw(st.none() | st.just("2026-11-21T22:00:00+00:00") | NUMBERS | TEXTS),
        extra,
    )
    return message.stamped() if stamped or draw(st.booleans()) else message


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """A question, code and what came of it, as a session keeps them."""
    language = draw(st.sampled_from([*LANGUAGES, "sql"]))
    said = [
        Message("user", "message", content=draw(TEXTS)),
        Message("assistant", "message", content=draw(TEXTS)),
        Message("assistant", "code", language, draw(CODES)),
    ]
    results = st.lists(messages().filter(lambda m: m.role == "computer"), max_size=3)
    return [each.stamped() for each in [*said, *draw(results)]]


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """A conversation with all that may be known beside it."""
    pieces = draw(st.lists(messages().map(lambda m: [m]) | turns(), max_size=4))
    found = [message for piece in pieces for message in piece]
    events = st.builds(Action, st.integers(0, 9), st.dictionaries(WORDS, VALUES, max_size=2))
    return Conversation(
        found,
        title=draw(TEXTS),
        model=draw(TEXTS),
        began=draw(st.just("") | st.just("2026-11-21T22:00:00+00:00")),
        notebook=draw(st.just("") | st.just("work/a.ipynb")),
        events=draw(st.lists(events, max_size=2)),
        extra=draw(st.dictionaries(WORDS, VALUES, max_size=1)),
    )
