"""What the loop itself says in a conversation, in the words of the person who reads it.

One rule: the conversation, and so models and files, have the sentence as the loop wrote it. What
is drawn for a person is `for_person` of it, and nobody else has words of their own.
"""

from __future__ import annotations

import re

NOT_RUN = "This code was not run"
"""Begins what the computer answers to code that did not run."""
_USER = re.compile(r"the user (declined(?=\.?$))?")
_LIMIT = re.compile(
    r"Stopped(: \d+ blocks of code in a row were not run| after \d+ replies and \d+ blocks of "
    r"code, which is the limit for one question)\. Ask again to go on\."
)


def why_not(text: str) -> str:
    """The reason in a sentence about code that was not run, for the person; "" without."""
    reason = text.removeprefix(NOT_RUN).removeprefix(":").strip()
    found = _USER.match(reason)
    if found is None:
        return reason
    return ("you declined it" if found[1] else "you ") + reason[found.end() :]


def for_person(text: str) -> str:
    """The sentence as the person reads it: "Not run: you declined it."."""
    if not text.startswith(NOT_RUN):
        return text
    reason = why_not(text).removesuffix(".")
    return f"Not run: {reason}." if reason else "Not run."


def is_remark(text: str) -> bool:
    """Whether a whole message of the computer with this text is one of ours: it says why code was
    not run, or that the loop has reached its limit. Printed text ends with its line, ours does not.
    """
    return bool(_LIMIT.fullmatch(text)) or (text.startswith(NOT_RUN) and text.endswith("."))
