"""The checks of the notebook `08-save-share-rerun`: each looks at the files that you made.

One rule: that of `exercises`: look, change nothing, and say what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from exercises import Checks

from lmc_jupyter import Message, current_session, formats

check = Checks()

QUESTION = "a ball falls"
RIGHT = {
    "yourself, tomorrow": "lmc",
    "a friend who only reads": "markdown",
    "a class that runs it": "notebook",
    "another program that talks to models": "openai",
}


@check.exercise("friend", "Your friend can read it, on a phone, on paper, anywhere.")
def _friend() -> str:
    path = Path("friend.md")
    if not path.exists():
        return "There is no file friend.md yet: take away the # before the line, and run it."
    if QUESTION not in path.read_text("utf-8").lower():
        return "friend.md does not hold the question: ask it in section 1, then save again."
    return ""


@check.exercise("remembers", "Right: that format has no place for it, and `save` told you so.")
def _remembers(remembers: str = "") -> str:
    if not isinstance(remembers, str) or remembers.strip().lower() not in ("yes", "no"):
        return 'Write "yes" or "no" between the quotation marks.'
    if remembers.strip().lower() == "yes":
        return "Read the sentences once more: one of them is about the time."
    return ""


@check.exercise("higher", "The same conversation, another height, and no model was asked.")
def _higher() -> str:
    path = Path("higher.ipynb")
    if not path.exists():
        return "There is no file higher.ipynb yet: run the cell above."
    messages = formats.read(path).messages
    if not messages:
        return "higher.ipynb is empty: ask the question in section 1, then go on from there."
    if "height = 45" not in "".join(each.content for each in messages if each.type == "code"):
        return (
            "The ball still falls from 20 metres: write 45.0 in place of the second 20.0, and run "
            "the cell again."
        )
    if " 45.00 m" not in _printed(messages):
        return "The height is 45 metres now, but the cells were not run: run the cell above again."
    return ""


@check.exercise("open", "There it is again, and none of its code was run by that.")
def _open() -> str:
    said = [each for each in current_session().messages if each.role == "user"]
    if not any(QUESTION in str(each.content).lower() for each in said):
        return 'The ball is not in the conversation: write session.load("ball.json") and run it.'
    return ""


@check.exercise("whom", "Each has the file that it needs.")
def _whom(whom: object = None) -> str:
    if not isinstance(whom, Mapping):
        return "`whom` must be a dictionary, as it stood in the cell: {'somebody': 'format', ...}."
    for who, name in RIGHT.items():
        given = str(whom.get(who, "")).strip().lower()
        if given not in RIGHT.values():
            return f"For {who}: write one of {', '.join(sorted(RIGHT.values()))}."
        if given != name:
            return _WHY_NOT[who].format(given)
    return ""


_WHY_NOT = {
    "yourself, tomorrow": "Tomorrow you want to go on just where you were, with all that is in "
    "the conversation: {} is not the plainest file for that.",
    "a friend who only reads": "Your friend has no Python, and does not want {}: which one reads "
    "well as it is?",
    "a class that runs it": "In {} there is nothing that a class could run.",
    "another program that talks to models": "Most such programs do not know {}: which format is "
    "named after the protocol that they speak?",
}


def _printed(messages: list[Message]) -> str:
    return "".join(str(each.content) for each in messages if each.type == "console")
