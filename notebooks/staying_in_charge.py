"""The checks of the notebook `04-staying-in-charge`: each looks at what you did.

One rule: a check reads the conversation and the variables and changes nothing; where something is
missing it says what, and what to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lmc_jupyter import Message, current_session

Answer = list[Message]
"""A question and all that came after it, up to the next one."""


def answers(messages: Iterable[Message]) -> list[Answer]:
    """The conversation, cut before each question."""
    found: list[Answer] = []
    for message in messages:
        if message.role == "user" or not found:
            found.append([])
        found[-1].append(message)
    return found


def check(exercise: str, **given: Any) -> None:
    """Print what is right or wrong about an exercise.

    Parameters
    ----------
    exercise : "run", "edit", "decline", "stop" or "read"
    **given : variables that the exercise is about
    """
    if exercise not in _CHECKS:
        raise ValueError(f"there is no exercise {exercise!r}: choose one of {', '.join(_CHECKS)}")
    words, verdict = _CHECKS[exercise]
    asked = [
        answer
        for answer in answers(current_session().messages)
        if words in str(answer[0].content).lower()
    ]
    wrong = verdict(asked[-1], **given) if asked else _NOT_ASKED
    print(f"✗ {wrong}" if wrong else f"✓ {_WELL_DONE[exercise]}")  # noqa: T201 - it talks to you


_NOT_ASKED = "You have not asked yet: run the %%lmc cell above, answer it, then run this cell."

_WELL_DONE = {
    "run": "You read the code and let it run: its variable is yours now.",
    "edit": "Your own words ran, and the conversation says that you edited them.",
    "decline": "Nothing was lost, and the model was told why.",
    "stop": "Stopped: what the code printed is kept, and the notebook goes on.",
    "read": "Right: that is what left your notebook, and nothing else of it.",
}


def _run(answer: Answer, squares: Any = None) -> str:
    if not _code(answer):
        return "The model wrote no code this time. Run the %%lmc cell again."
    if squares is None:
        if _declined(answer):
            return "The code was not run. Run the %%lmc cell again, read the code, and press Run."
        return (
            "The code ran, but there is no variable `squares`: look at the code, the model chose "
            "another name. Ask once more; small models are like that."
        )
    if list(squares) != [n * n for n in range(1, 11)]:
        return (
            f"There is a `squares`, but it is {squares!r:.60}: not the squares of 1 to 10. "
            "You let wrong code run! Read it, and ask once more."
        )
    return ""


def _edit(answer: Answer, warmest: Any = None, temperatures: Iterable[float] = ()) -> str:
    code = _code(answer)
    if not code:
        return "The model wrote no code this time. Run the %%lmc cell again."
    if _declined(answer):
        return "The code was not run. Run the %%lmc cell again, and press Edit instead."
    if not any(message.extra.get("edited") for message in code):
        return (
            "The code ran just as the model wrote it. Run the %%lmc cell again, press Edit, "
            "add the line, and press Run edited."
        )
    if warmest is None:
        return "You edited the code, but it made no variable `warmest`: add `warmest = max(...)`."
    if not math.isclose(float(warmest), max(temperatures)):
        return f"`warmest` is {warmest!r:.40}, but the warmest day had {max(temperatures)}."
    return ""


def _decline(answer: Answer, diary: str = "diary.txt") -> str:
    if not Path(diary).exists():
        return (
            f"{diary} is gone: you let the code run. It happens to everybody once. Run the cell "
            "that writes the file, then ask again, and press Don't run."
        )
    declined = [message.content for message in answer if _is_refusal(message)]
    if not declined:
        return "You have not said no yet: run the %%lmc cell again, and press Don't run."
    if all("the user declined" in content for content in declined):
        return (
            "You said no, but not why: run the %%lmc cell again, write a reason into the box "
            "beside the buttons, and press Don't run. See what the model makes of it."
        )
    return ""


def _stop(answer: Answer) -> str:
    if not _code(answer):
        return "No code came before you stopped: run the %%lmc cell again, and press Run first."
    if _declined(answer):
        return "The code was not run. This time, let it run, watch it for a while, and stop it."
    printed = "".join(
        str(message.content)
        for message in answer
        if message.role == "computer" and message.type == "console"
    )
    if not printed.replace("KeyboardInterrupt", "").strip():
        return "You stopped it before it printed anything: let it run for a few seconds."
    if answer[-1].role == "assistant" and answer[-1].type == "message":
        return (
            "The code ended by itself, so there was nothing to stop: the model did not write an "
            "endless loop. Run the %%lmc cell again, and edit it to `while True:` if need be."
        )
    return ""


def _read(answer: Answer, seen: Any = (), sent: str = "") -> str:
    del answer  # it is about what was sent
    if not isinstance(seen, (list, tuple, set)) or not all(isinstance(name, str) for name in seen):
        return f"`seen` must be a list of names in quotes, such as ['squares'], not {seen!r:.60}."
    if not seen:
        return "`seen` is empty: write the names of your variables that you find in the request."
    invented = [name for name in seen if name not in sent]
    if invented:
        return f"The request does not hold {invented[0]!r}: look again, at the text above."
    return ""


def _code(answer: Answer) -> list[Message]:
    return [each for each in answer if each.role == "assistant" and each.type == "code"]


def _is_refusal(message: Message) -> bool:
    return message.role == "computer" and "This code was not run" in str(message.content)


def _declined(answer: Answer) -> bool:
    """Whether every block of it was left out."""
    refused = sum(_is_refusal(message) for message in answer)
    return bool(refused) and refused >= len(_code(answer))


_CHECKS: dict[str, tuple[str, Callable[..., str]]] = {
    "run": ("squares", _run),
    "edit": ("temperatures", _edit),
    "decline": ("diary.txt", _decline),
    "stop": ("endless loop", _stop),
    "read": ("how many rows", _read),
}
