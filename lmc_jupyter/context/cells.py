"""The person's cells that go with a question: which of them, and how much of each.

One rule: pure functions of values; the same cells and the same choice make the same parts, so that
what a person sees listed is what is sent.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.content.cell import Cell, Figure
from lmc_jupyter.content.code_names import loop_variables, names_of
from lmc_jupyter.content.tokens import estimate
from lmc_jupyter.context.parts import Part
from lmc_jupyter.errors import SessionError

MAX_TOKENS = 2_000
"""Tokens of all cells that go with one question; those that the person names go beside them."""

LIMITS = {"source": 2_000, "output": 1_000, "error": 1_500, "markdown": 2_000, "figure": 1_000}
"""Characters of each part of a cell, and of Markdown: the head and the tail are sent."""

MAX_FIGURES = 2
"""The newest figures, for a model that sees."""

MAX_PROVIDERS = 3
"""Earlier cells that go along because the others use names that they make."""

LOOK_BACK = 50
"""How many earlier cells are searched for such names."""

MAX_READ = 30_000
"""Characters of those that are read for it, so that it takes a few milliseconds."""


@dataclass(frozen=True)
class Selected:
    """The cell that is selected in the notebook's document.

    Parameters
    ----------
    id : the cell's id, as `Cell.id`
    source : as it stands in the document
    text : what is selected in it, "" for nothing
    """

    id: str
    source: str
    text: str = ""


@dataclass(frozen=True)
class CellChoice:
    """What the person has chosen of their cells.

    Parameters
    ----------
    only : numbers of cells that go, and no others; None: by the rules
    pointed : numbers of cells that go whatever the rules say
    left_out : numbers of cells that do not go
    without : the `Part.id` of what else does not go
    above : the Markdown directly above the question, or above the selected cell
    selected : the selected cell, where the document is known
    places : id of a cell -> where it stands, where the document is known
    """

    only: frozenset[int] | None = None
    pointed: frozenset[int] = frozenset()
    left_out: frozenset[int] = frozenset()
    without: frozenset[str] = frozenset()
    above: str = ""
    selected: Selected | None = None
    places: Mapping[str, str] = field(default_factory=dict, hash=False)


def read_choice(text: str) -> CellChoice:
    """What `--cells` says: "3-5", "2,4", or "none".

    Raises
    ------
    SessionError
        For anything else.
    """
    if text.strip().lower() == "none":
        return CellChoice(only=frozenset())
    numbers: set[int] = set()
    for word in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", word)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < first + LOOK_BACK:
            raise SessionError(
                f"{text!r:.60} names no cells: write numbers of In [N], such as 3-5 or 2,4 "
                f"({LOOK_BACK} at most), or none"
            )
        numbers.update(range(first, last + 1))
    return CellChoice(only=frozenset(numbers))


def choose(
    cells: Sequence[Cell], since: int, before: Collection[str], choice: CellChoice
) -> list[Cell]:
    """The cells that go with a question, in the order in which they ran.

    By default those that ran since the last question, as many of the newest as have room, and the
    few before them whose names they use.

    Parameters
    ----------
    cells : all that ran, the newest last
    since : the number of the last cell that had run at the last question
    before : labels of cells that went with earlier questions of the conversation
    """
    visible = [each for each in cells if not each.hidden and each.number not in choice.left_out]
    if choice.only is not None:
        return [each for each in visible if each.number in choice.only | choice.pointed]
    chosen = [each for each in visible if each.number in choice.pointed]
    room = MAX_TOKENS
    for cell in reversed(visible):
        if cell.number <= since or room <= 0:
            break
        if cell not in chosen:
            room -= estimate(text_of(cell))
            if room < 0 and chosen:
                break
            chosen.append(cell)
    for cell in _providers(visible, chosen):
        if cell.label not in before:
            room -= estimate(text_of(cell))
            if room < 0:
                break
            chosen.append(cell)
    return sorted(chosen, key=lambda each: each.number)


@dataclass(frozen=True)
class Known:
    """What is known of cells beside themselves.

    Parameters
    ----------
    unsent : (number of a cell, place of a figure in it) -> why the figure does not go
    blocks : code of a model, as `normal_code` -> (what it is called: "your block 2", what it
        printed)
    places : id of a cell -> where it stands in the notebook
    """

    unsent: Mapping[tuple[int, int], str] = field(default_factory=dict)
    blocks: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)

    def label(self, cell: Cell) -> str:
        """The name of the cell, and its place: "In [9] (cell 8 of 12)"."""
        place = self.places.get(cell.id, "") if cell.id else ""
        return f"{cell.label} ({place})" if place else cell.label


NOTHING_KNOWN = Known()


def normal_code(source: str) -> str:
    """The code without what its copy in a cell may lack: blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def make_parts(
    cells: Iterable[Cell], redact: Callable[[str], str] = str, known: Known = NOTHING_KNOWN
) -> list[Part]:
    """A part for each of these cells, without keys."""
    return [
        Part(
            "cell",
            each.label,
            redact(text_of(each, known)),
            id=f"cell {each.number}",
            # a block of the model's is no more here than where it stands
            makes=()
            if normal_code(each.source) in known.blocks
            else (*sorted(made_by(each.source)),),
        )
        for each in cells
    ]


def figures_of(cells: Sequence[Cell], most: int = MAX_FIGURES) -> list[tuple[Cell, Figure]]:
    """The newest figures of these cells, in their order."""
    figures = [(cell, figure) for cell in cells for figure in cell.figures]
    return figures[-most:] if most else []


def text_of(cell: Cell, known: Known = NOTHING_KNOWN) -> str:
    """A cell as a model reads it; of a block of its own it has the source."""
    block, printed = known.blocks.get(normal_code(cell.source), ("", ""))
    if not block:
        source = shorten.middle(terminal.plain(cell.source), LIMITS["source"])
        return "\n".join([f"{known.label(cell)}:", source, *_output_of(cell, known)])
    is_same = bool(printed) and printed.strip() == cell.output.strip()
    text = (
        f"{known.label(cell)} is {block}, unchanged{', with the same output' if is_same else ''}."
    )
    return "\n".join([text, *_output_of(cell._replace(output="") if is_same else cell, known)])


def read_part(part: Part) -> tuple[str, str]:
    """(source, error) of a cell that was sent, as its part has them; "" of a block of a model."""
    head, _, rest = part.content.partition("\n")
    if not head.endswith(":"):
        return "", ""
    label = re.escape(part.title)
    pieces = re.split(
        rf"^(?:(Output|Error) of {label}:|It showed \d+ figures?\.)$\n?", rest, flags=re.MULTILINE
    )
    errors = [
        text for kind, text in zip(pieces[1::2], pieces[2::2], strict=True) if kind == "Error"
    ]
    return pieces[0].removesuffix("\n"), "".join(errors[-1:])


def output_of(cell: Cell, known: Known = NOTHING_KNOWN) -> str:
    """What a cell put out, as a model reads it."""
    return "\n".join(_output_of(cell, known)) or f"{cell.label} put nothing out."


def _output_of(cell: Cell, known: Known) -> list[str]:
    lines = []
    if cell.output.strip():
        text, more, rows = cell.output.strip("\n"), cell.left_out, cell.lines_out
        output = shorten.middle(text, LIMITS["output"], more=more, more_lines=rows, seen=True)
        lines += [f"Output of {cell.label}:", output]
    if cell.figures:
        count = len(cell.figures)
        lines.append(f"It showed {count} figure{'s' if count > 1 else ''}.")
        reasons = {at: known.unsent.get((cell.number, at), "") for at in range(count)}
        lines += [
            _in_words(cell.figures[at], f" {at + 1}" if count > 1 else "", why)
            for at, why in reasons.items()
            if why
        ]
    if cell.error:
        error = shorten.middle(cell.error.strip("\n"), LIMITS["error"], seen=True)
        lines += [f"Error of {cell.label}:", error]
    return lines


def _in_words(figure: Figure, which: str, why: str) -> str:
    """A line on a figure that is not sent, and what is in it."""
    text = shorten.head(figure.text, LIMITS["figure"])
    return f"Figure{which} is not sent: {why}." + (f" It has:\n{text}" if text else "")


# Which cells a cell rests on ----------------------------------------------------------------------


def _providers(cells: Sequence[Cell], chosen: Sequence[Cell]) -> list[Cell]:
    """The last cells before the chosen ones that make names which those use, newest first."""
    if not chosen:
        return []
    first = min(each.number for each in chosen)
    wanted: set[str] = set()
    made: set[str] = set()
    for cell in sorted(chosen, key=lambda each: each.number):
        makes, uses = names_of(cell.source)
        wanted |= uses - made
        made |= makes
    wanted -= _BUILTINS
    providers: list[Cell] = []
    earlier = [each for each in cells if each.number < first]
    room = MAX_READ
    for cell in reversed(earlier[-LOOK_BACK:]):
        if not wanted or len(providers) == MAX_PROVIDERS:
            break
        if not any(name in cell.source for name in wanted):
            continue
        room -= len(cell.source)
        if room < 0:
            break
        makes, _ = names_of(cell.source)
        if found := wanted & makes:
            wanted -= found
            providers.append(cell)
    return providers


_BUILTINS = frozenset(dir(builtins))


def only_in_loops(sources: Iterable[str]) -> frozenset[str]:
    """The names that are but variables of loops in all of this code."""
    codes = list(sources)
    loops = frozenset[str]().union(*map(loop_variables, codes))
    return loops.difference(*map(made_by, codes)) if loops else loops


def made_by(source: str) -> frozenset[str]:
    """The names that the code makes to stay: no imports, no variables of its loops."""
    return names_of(source)[0] - loop_variables(source)
