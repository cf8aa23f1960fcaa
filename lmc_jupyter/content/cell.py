"""A cell of the person's notebook as it ran: its source, and what came out of it.

One rule: values only; `kernel/cells.py` makes them, `context/cells.py` chooses what of them goes to
a model.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lmc_jupyter.content import shorten

MAX_CELLS = 500
"""Of a notebook whose cells have places."""
MAX_HEADING = 80
"""Characters of a heading."""

_OURS = re.compile(
    r"^[ \t]*%(?:lmc\b|(?:re|un)?load_ext[ \t]+lmc_jupyter\b|config[ \t]+LMC\b).*$", re.MULTILINE
)


HIDE = "lmc-hide"
"""The tag of a cell that no model gets."""


EXERCISE = "lmc-exercise:"
"""Begins the tag of the cell of an exercise; its id follows."""


def exercise_of(tags: object) -> str:
    """The id of the exercise that a cell with these tags is; "" for none."""
    for tag in tags if isinstance(tags, (list, tuple)) else ():
        if isinstance(tag, str) and tag.startswith(EXERCISE):
            return tag.removeprefix(EXERCISE).strip()
    return ""


MODES = {"lmc-off": "off", "lmc-hints": "hints"}
"""Tag of a notebook or a cell -> the mode of a course that it asks for; the strictest first."""


def mode_of(tags: object) -> str:
    """What a course lets a pupil have in what has these tags; "" where they say nothing of it."""
    there = tags if isinstance(tags, (list, tuple)) else ()
    return next((mode for tag, mode in MODES.items() if tag in there), "")


def own_code(source: str) -> str:
    """The code of a cell without the lines that speak to us; "" where nothing is left."""
    return "" if source.startswith("%%lmc") else _OURS.sub("", source).strip("\n")


def read_places(outline: object) -> dict[str, str]:
    """id of a cell -> where it stands: "cell 8 of 12, below 'Load' > 'Clean'".

    Parameters
    ----------
    outline : what a front end says: of each cell from the top its id, and its headings where it is
        Markdown (`Outline` of protocol.ts); anything else has no places
    """
    if not isinstance(outline, list) or len(outline) > MAX_CELLS:
        return {}
    places: dict[str, str] = {}
    above: dict[int, str] = {}
    for number, each in enumerate(outline, 1):
        match each:
            case [str(id), str(headings)]:
                titles = [above[level] for level in sorted(above)]
                below = f", below {' > '.join(titles)}" if titles else ""
                places[id] = f"cell {number} of {len(outline)}{below}"
                for line in headings.splitlines():
                    marks, _, title = line.partition(" ")
                    above = {level: text for level, text in above.items() if level < len(marks)}
                    above[len(marks)] = repr(shorten.line(title.strip(), MAX_HEADING))
    return places


class Figure(NamedTuple):
    """An image that a cell has shown.

    Parameters
    ----------
    format : "png" or "jpeg"
    content : the image, as base64
    text : what is in it, for a model that gets no image; "" where that is not known
    """

    format: str
    content: str
    text: str = ""


class Cell(NamedTuple):
    """One run of a cell.

    Parameters
    ----------
    number : N of its `In [N]`
    source : as it was typed
    output : the text that it printed and showed, in order; a long one with a gap in its middle
    error : its short traceback, "" where it did not fail
    figures : the images that it showed; the oldest ones may be gone
    id : the cell's id in the notebook, "" where the front end names none
    hidden : whether the person has hidden it from models, by the tag `lmc-hide`
    left_out : characters that the output lacks beside those of its gap's own line
    lines_out : lines that it lacks beside that line; None where others were cut
    exercise : the id of the exercise that the cell is, by its tag; "" for none
    tutor : the mode of a course that its tags ask for, see `mode_of`
    """

    number: int
    source: str
    output: str = ""
    error: str = ""
    figures: tuple[Figure, ...] = ()
    id: str = ""
    hidden: bool = False
    left_out: int = 0
    lines_out: int | None = None
    exercise: str = ""
    tutor: str = ""

    @property
    def label(self) -> str:
        """The name by which the person knows it: "In [12]"."""
        return f"In [{self.number}]"
