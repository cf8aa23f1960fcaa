"""The checks of the notebook `06-every-language`.

One rule: that of `exercises`. What is right is asked of the languages themselves.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exercises import Answer, Checks, code, declined, images
from palmerpenguins import load_penguins

check = Checks()


def said(computer: Any, language: str, source: str) -> str:
    """The console output of a block that a check runs."""
    pieces = computer.run(language, source)
    return "".join(
        str(piece.content)
        for piece in pieces
        if piece.type == "console" and piece.format == "output" and piece.content is not None
    )


def missing(computer: Any, language: str) -> str:
    """What a language lacks here, as a sentence; "" when it can run."""
    if language in computer.words():
        return ""
    found = computer.availability().get(language)
    why = found.missing if found is not None else "see %lmc languages"
    return f"{language} cannot run here: {why}"


@check.exercise("remember", "The shell remembers it, from one cell to the next.")
def _remember(computer: Any) -> str:
    if lacks := missing(computer, "shell"):
        return lacks
    planet = said(computer, "shell", 'echo "$planet"').strip()
    if not planet:
        return (
            "The shell has no variable `planet`: run the cell with planet=... between the quotes "
            "(no spaces around the equals sign: the shell is strict about that)."
        )
    return ""


@check.exercise("predict", "Right! JavaScript sorts numbers as if they were words, unless told.")
def _predict(computer: Any, order: Any = None) -> str:
    if lacks := missing(computer, "javascript"):
        return lacks
    if order is None:
        return "Write a list of the three numbers in place of None, such as [1, 2, 3]."
    found = said(computer, "javascript", "console.log(JSON.stringify([10, 9, 1].sort()))")
    right = json.loads(found)
    if order == right:
        return ""
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(map(str, right)):
        return f"`order` must be a list of 10, 9 and 1 in some order, not {order!r:.60}."
    return f"You say {order}; run it and look: javascript, [10, 9, 1].sort()"


@check.exercise("letter", "Written by one language, read by another: they share the folder.")
def _letter(text: str = "letter.txt") -> str:
    letter = Path(text)
    if not letter.exists():
        return (
            f"There is no file {text} in this folder. In the shell, `echo` prints a word, and > "
            "sends what is printed into a file, as in `ls > list.txt`."
        )
    if "hello" not in letter.read_text("utf-8", "replace").lower():
        return f"{text} is there, but the word hello is not in it. Write it once more."
    return ""


@check.exercise("r", "R and Python agree: the data arrived whole.")
def _r(computer: Any, median: Any = None) -> str:
    if lacks := missing(computer, "r"):
        return lacks
    right = load_penguins()["flipper_length_mm"].median()
    if median is None:
        return "Write the number that R printed in place of None."
    if isinstance(median, bool) or not isinstance(median, (int, float)):
        return f"`median` must be a number, not {median!r:.40}."
    if median == right:
        return ""
    mean = load_penguins()["flipper_length_mm"].mean()
    if abs(median - mean) < 0.5:
        return "That is the mean. The median is the one in the middle: median(...), not mean(...)."
    return (
        f"It is not {median}: run the line of the exercise in R, and copy the number behind [1]. "
        "`na.rm = TRUE` leaves out what is missing."
    )


@check.exercise("sql", "One sentence of SQL, three years of field work.")
def _sql(computer: Any, query: Any = "") -> str:
    if lacks := missing(computer, "sql"):
        return lacks
    if not isinstance(query, str) or not query.strip():
        return 'Write your SQL between the quotes: "SELECT ... FROM birds GROUP BY ..."'
    found = said(computer, "sql", query)
    wanted = load_penguins()["year"].value_counts()
    for year, count in wanted.items():
        line = next((each for each in found.splitlines() if str(year) in each), "")
        if str(count) not in line.replace(str(year), ""):
            return (
                f"Your query does not say how many penguins were measured in {year}: it needs a "
                "row for each year (group by it), with the year and the number of rows. "
                f"It says: {' / '.join(found.split(chr(10)))[:160]}"
            )
    return ""


@check.exercise("plot", "R drew it; you and the model both got the picture.", words="box plot")
def _plot(answer: Answer) -> str:
    if not code(answer):
        return "The model wrote no code this time: run the %%lmc cell again."
    if declined(answer):
        return "The code was not run: run the %%lmc cell again, read it, and press Run."
    if not images(answer):
        return "The code ran, but no picture came: read its output above."
    return ""
