"""`@name` and `{{name}}` in a question: the values of variables, put below what was written.

One rule: the person's own words stay unchanged, to the character; the values stand below them, so
that the history shows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lmc_jupyter.content import shorten
from lmc_jupyter.content.chat import fence
from lmc_jupyter.errors import SessionError
from lmc_jupyter.lmc import INSERTED, Message

Look = Callable[[str], "str | None"]
"""The name of a variable -> its value as text; None where there is none of that name."""

MAX_NAMES = 12
MAX_CHARACTERS = 16_000
"""Of all values of one question."""

_HEADING = "The values of these variables, when this was asked:"
_CODE = re.compile(
    r"(?ms)^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)|(`+)(?!`).+?(?<!`)\2(?!`)"
)
_REFERENCE = re.compile(
    r"(?<![\w.@/\\+\-])@(?P<at>[^\W\d]\w*)"  # not within an address or a path
    r"|(?<!\{)\{\{[ \t]*(?P<braces>[^\W\d]\w*)[ \t]*\}\}(?!\})"
)


def insert(text: str, look: Look) -> tuple[str, str]:
    """The question with the values of the variables that it names.

    `@name` that names no variable is only text. What stands between backticks is never a name.

    Returns
    -------
    (the text to send, its lines with the values); "" where there are no values.

    Raises
    ------
    SessionError
        For `{{name}}` where there is no such variable.
    """
    bare = _CODE.sub(lambda match: " " * len(match[0]), text)
    values: dict[str, str] = {}
    for match in _REFERENCE.finditer(bare):
        name = match["at"] or match["braces"]
        if name in values:
            continue
        value = look(name)
        if value is not None:
            values[name] = value
        elif match["braces"]:
            raise SessionError(
                f"there is no variable {name!r} for {match[0]}: define it first, or put "
                f"backticks around it, `{match[0]}`, if it is only text"
            )
    if not values:
        return text, ""
    if len(values) > MAX_NAMES:
        raise SessionError(
            f"{len(values)} variables are named: at most {MAX_NAMES} go with one question"
        )
    room = MAX_CHARACTERS // len(values)
    lines = [_line(name, value, room) for name, value in values.items()]
    below = "\n\n" + "\n".join([_HEADING, *lines])
    return text + below, below


def _line(name: str, value: str, room: int) -> str:
    value = shorten.head(value, room)
    if "\n" not in value:
        return f"{name} = {value}"
    return f"{name}:\n{fence('', value)}"


def without_values(text: str, below: object) -> str:
    """The question without the values below it, so that new values can be inserted."""
    if isinstance(below, str) and below.strip() and text.rstrip().endswith(below.strip()):
        return text.rstrip()[: -len(below.strip())].rstrip()
    return text


def split(message: Message) -> tuple[str, str]:
    """(the person's own words, the lines with the values that were put below them)."""
    text, length = str(message.content), message.extra.get(INSERTED)
    if message.type != "message" or not isinstance(length, int) or not 0 < length <= len(text):
        return text, ""
    return text[:-length], text[-length:]
