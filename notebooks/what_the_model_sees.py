"""The checks of the notebook `09-what-the-model-sees`: each looks at what went with a question.

One rule: that of `exercises`: look, change nothing, and say what to do.
"""

from __future__ import annotations

from typing import Any

from exercises import Answer, Checks

from lmc_jupyter.context.parts import Part, of_question

check = Checks()


def _parts(answer: Answer) -> list[Part]:
    """What of the notebook went with the question."""
    return of_question(answer[0])


@check.exercise(
    "count",
    "Right: so many of your cells left the notebook with this question.",
    words="which month looks wrong",
)
def _count(answer: Answer, count: Any = 0) -> str:
    cells = sum(part.kind == "cell" for part in _parts(answer))
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        return f"`count` must be a whole number, not {count!r:.40}."
    if count != cells:
        return (
            f"It was not {count}. Open the line below the question, and count the parts that "
            "begin with `In [...]`."
        )
    return ""


@check.exercise(
    "point", "The cell that you pointed at went along, whatever the rules say.", words="explain"
)
def _point(answer: Answer) -> str:
    if "@cell" not in str(answer[0].content):
        return "Write @cell into the question: it stands for the last cell that ran."
    if not _parts(answer):
        return "No cell went along: run a cell of your own first, then ask again."
    return ""


@check.exercise(
    "private", "Nothing but the question and the names of your variables went.", words="mean of"
)
def _private(answer: Answer) -> str:
    parts = _parts(answer)
    if not parts:
        return ""
    cells = [part for part in parts if part.kind == "cell"]
    diary = next((cell for cell in cells if "diary" in cell.content), None)
    what = f"The cell with your diary, {diary.title}," if diary else (cells or parts)[-1].title
    return f"{what} went along: write `--cells none` behind %%lmc, and ask once more."


@check.exercise("level", "From now on only names, types and shapes go with a question.")
def _level(level: Any = "notebook") -> str:
    if level != "names":
        return f'The setting is {level!r:.40}: write `%config LMC.context = "names"`.'
    return ""


@check.exercise(
    "effects", "Yes. You knew it before it ran, and could have said no.", words="to tens"
)
def _effects(answer: Answer, overwrites: Any = "") -> str:
    del answer  # it is about the line on the card
    if not isinstance(overwrites, str) or not overwrites.strip():
        return "Write the name of the variable between the quotation marks."
    if overwrites.strip() != "rain":
        return f"Not {overwrites.strip()!r:.40}: read the line between the code and the buttons."
    return ""
