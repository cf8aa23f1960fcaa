"""The parts of chat messages of the OpenAI protocol, for a model or a file.

One rule: pure functions of single values; the caller truncates and scales before.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

FUNCTION = "execute"
"""The function by which a model runs code: execute(language, code)."""
FORM = f'Its form: {FUNCTION}({{"language": "python", "code": "print(1)"}}).'
"""The form of that function, for a model that got it wrong."""
PROPOSE = "propose_cell"
"""The function by which a model gives the person code for a cell: propose_cell(cell, source)."""
PROPOSE_FORM = f'Its form: {PROPOSE}({{"cell": 7, "source": "print(1)"}}), or "cell": "new".'
"""The form of that function."""
NOT_RUN = "This code was not run."
"""The text of a tool message for a call without a result."""
IMAGES = "The images that the code showed:"
"""The text before the images of a result: a tool message is text only, so the user's has them."""

TAG = "output-"
"""Begins the name of the delimiters around what no model should obey; a word follows that the text
between them cannot know."""
_DELIMITER = re.compile(rf"</?\s*{TAG}[^<>\n]{{0,200}}>?", re.IGNORECASE)


def without_delimiters(text: str) -> str:
    """The text without what looks like one of these delimiters."""
    return _DELIMITER.sub("[…]", text)  # not "": the rest could join into another one


def tool_call(id: str, language: str, code: str) -> dict[str, Any]:
    """A tool call of the assistant that runs code."""
    arguments = json.dumps({"language": language, "code": code}, ensure_ascii=False)
    return {
        "id": id,
        "type": "function",
        "function": {"name": FUNCTION, "arguments": arguments},
    }


def proposal_call(id: str, language: str, code: str, cell: int | None) -> dict[str, Any]:
    """A tool call of the assistant that proposes a cell; the language stands there if it is not
    the notebook's own.
    """
    more = {} if language == "python" else {"language": language}
    arguments = {"cell": "new" if cell is None else cell, "source": code, **more}
    return {
        "id": id,
        "type": "function",
        "function": {"name": PROPOSE, "arguments": json.dumps(arguments, ensure_ascii=False)},
    }


def number_of_cell(value: Any) -> int | None:
    """N of a cell as a model writes it: 7, "7", "In [7]", "cell 7"; None for a new cell."""
    match = re.fullmatch(r"\D{0,20}?(\d{1,9})\]?", str(value).strip())
    return int(match[1]) or None if match else None


def place_of_cell(cell: int | None) -> str:
    """What a proposal is for, as a person reads it: "In [7]"."""
    return "a new cell" if cell is None else f"In [{cell}]"


def proposal_fence(language: str, code: str, cell: int | None) -> str:
    """A proposal as a block of Markdown."""
    return fence(f"{language} cell={'new' if cell is None else cell}", code)


def text_part(text: str) -> dict[str, Any]:
    """A text as a part of a message."""
    return {"type": "text", "text": text}


def image_part(kind: str, data: str) -> dict[str, Any]:
    """An image in base64, as a part of a message; `kind` is png or jpeg."""
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{data}"}}


def audio_part(data: str) -> dict[str, Any]:
    """A wav in base64, as a part of a message."""
    return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}


def file_part(name: str, data: str) -> dict[str, Any]:
    """A PDF in base64, as a part of a message."""
    return {
        "type": "file",
        "file": {"filename": name, "file_data": f"data:application/pdf;base64,{data}"},
    }


def fence(language: str, code: str) -> str:
    """A block of code of Markdown, its fence longer than any in the code."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{code}\n{ticks}"


def decode_base64(content: str) -> bytes:
    """The bytes of base64, b"" if it is none."""
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""


def is_wav(data: bytes | str) -> bool:
    """Whether these are the bytes of a wav file."""
    return isinstance(data, bytes) and data[:4] == b"RIFF" and data[8:12] == b"WAVE"
