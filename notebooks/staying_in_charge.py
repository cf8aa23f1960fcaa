"""The checks of the notebook `03-staying-in-charge`: each looks at what you did.

One rule: that of `exercises`: look, change nothing, and say what to do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from exercises import Answer, Checks, code, declined, is_refusal, printed

check = Checks()


@check.exercise(
    "run", "You read the code and let it run: its variable is yours now.", words="squares"
)
def _run(answer: Answer, squares: Any = None) -> str:
    if not code(answer):
        return "The model wrote no code this time. Run the %%lmc cell again."
    if squares is None:
        if declined(answer):
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


@check.exercise(
    "edit",
    "Your own words ran, and the conversation says that you edited them.",
    words="temperatures",
)
def _edit(answer: Answer, warmest: Any = None, temperatures: Iterable[float] = ()) -> str:
    if not code(answer):
        return "The model wrote no code this time. Run the %%lmc cell again."
    if declined(answer):
        return "The code was not run. Run the %%lmc cell again, and press Edit instead."
    if not any(message.extra.get("edited") for message in code(answer)):
        return (
            "The code ran just as the model wrote it. Run the %%lmc cell again, press Edit, "
            "add the line, and press Run edited."
        )
    if warmest is None:
        return "You edited the code, but it made no variable `warmest`: add `warmest = max(...)`."
    if not math.isclose(float(warmest), max(temperatures)):
        return f"`warmest` is {warmest!r:.40}, but the warmest day had {max(temperatures)}."
    return ""


@check.exercise("decline", "Nothing was lost, and the model was told why.", words="diary.txt")
def _decline(answer: Answer, diary: str = "diary.txt") -> str:
    if not any(Path(name).exists() for name in (diary, f"old-{diary}")):
        return (
            f"{diary} is gone: you let the code run. It happens to everybody once. Run the cell "
            "that writes the file, then ask again, and press Don't run."
        )
    refusals = [message.content for message in answer if is_refusal(message)]
    if not refusals:
        return "You have not said no yet: run the %%lmc cell again, and press Don't run."
    if all("the user declined" in content for content in refusals):
        return (
            "You said no, but not why: run the %%lmc cell again, write a reason into the box "
            "beside the buttons, and press Don't run. See what the model makes of it."
        )
    return ""


@check.exercise(
    "ask",
    "Right: what only looks ran by itself, and what changes your list waited for you.",
    words="append 20.0",
)
def _ask(answer: Answer, asked: Any = None, temperatures: Iterable[float] = ()) -> str:
    if not code(answer):
        return "The model wrote no code this time. Run the %%lmc cell again."
    if not declined(answer) and 20.0 not in list(temperatures):
        return (
            "The code ran and appended nothing: the model wrote something else. Read what it "
            "wrote, and ask once more."
        )
    if asked not in ("highest", "append"):
        return f'`asked` is {asked!r:.40}: write "highest" or "append" into it.'
    if asked == "highest":
        return (
            "Look again: to find the highest one changes nothing, so it ran by itself. The other "
            "one says below its code that it changes `temperatures`."
        )
    return ""


@check.exercise(
    "stop",
    "Stopped: what the code printed is kept, and the notebook goes on.",
    words="endless loop",
)
def _stop(answer: Answer) -> str:
    if not code(answer):
        return "No code came before you stopped: run the %%lmc cell again, and press Run first."
    if declined(answer):
        return "The code was not run. This time, let it run, watch it for a while, and stop it."
    if not printed(answer).replace("KeyboardInterrupt", "").strip():
        return "You stopped it before it printed anything: let it run for a few seconds."
    if answer[-1].role == "assistant" and answer[-1].type == "message":
        return (
            "The code ended by itself, so there was nothing to stop: the model did not write an "
            "endless loop. Run the %%lmc cell again, and edit it to `while True:` if need be."
        )
    return ""


@check.exercise(
    "read",
    "Right: the model got these names. With the embedded one they stayed on your machine.",
    words="how many rows",
)
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
