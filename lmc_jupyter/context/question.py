"""What goes with a question: the parts that the person sees listed, and the figures.

One rule: what is listed is what is sent, to the character; it stands in the question's own message.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.content.cell import Cell, Figure
from lmc_jupyter.content.chat import without_delimiters
from lmc_jupyter.context.cells import (
    LIMITS,
    MAX_FIGURES,
    CellChoice,
    Known,
    choose,
    figures_of,
    make_parts,
    normal_code,
    output_of,
)
from lmc_jupyter.context.parts import Part, extra_of, of_question, to_extra
from lmc_jupyter.errors import SessionError
from lmc_jupyter.keys.source import without_passwords
from lmc_jupyter.lmc import EDITED, FIGURE_OF, Message, is_code, is_proposal

IMAGE_TOKENS = 1_600
"""Tokens of a figure as it is sent, see `lmc_jupyter.models.budget`."""

_WORD = re.compile(r"(?<![\w.@/\\+\-])@(above|output|selection)\b(?![.\w]*\()")
_POINTER = re.compile(r"(?<![\w.@/\\+\-])@cell(?:[ \t]+(\d{1,6})\b|\b(?![ \t]*\w*\())")


@dataclass(frozen=True)
class Unseen:
    """Figures that do not go with a question, because its model gets no images.

    Parameters
    ----------
    numbers : those of their cells
    why : such as "strong-1 is not known to see images"
    can_go : whether the setting `vision` would send them
    """

    numbers: tuple[int, ...]
    why: str
    can_go: bool

    @property
    def title(self) -> str:
        """ "figure of In [13]" """
        cells = ", ".join(f"In [{number}]" for number in self.numbers)
        return f"figure{'s' if len(self.numbers) > 1 else ''} of {cells}"

    @property
    def advice(self) -> str:
        """What to type so that they go; "" where nothing helps."""
        if not self.can_go:
            return ""
        cells = " and ".join(f"@cell {number}" for number in self.numbers)
        return f"If it does see, run `%config LMC.vision = True` and ask again about {cells}."


@dataclass(frozen=True)
class Companions:
    """What goes with one question.

    Parameters
    ----------
    parts, figures : the texts; images of cells, each with its cell
    until : the number of the last cell that had run
    kernel : which kernel's cells they are
    about : the id of the one cell that the question points at, "" for none
    unseen : figures that do not go, because the model gets no images
    named : the numbers of cells that the person has named, which go whatever the settings say
    """

    parts: tuple[Part, ...] = ()
    figures: tuple[tuple[Cell, Figure], ...] = ()
    until: int = 0
    kernel: str = ""
    about: str = ""
    unseen: Unseen | None = None
    named: frozenset[int] = frozenset()

    @property
    def listed(self) -> list[Part]:
        """All of it, a line each: the figures beside the texts."""
        figures = [
            Part("figure", f"figure of {cell.label}", "", IMAGE_TOKENS, _figure_id(cell, figure))
            for cell, figure in self.figures
        ]
        return [*self.parts, *figures]

    def attachments(self) -> list[Message]:
        """The figures as messages before the question."""
        return [
            Message(
                "user",
                "image",
                f"base64.{figure.format}",
                figure.content,
                extra={FIGURE_OF: cell.label},
            )
            for cell, figure in self.figures
        ]

    def into(self, question: Message) -> Message:
        """The question with the parts."""
        if not (self.parts or self.until):
            return question
        more: dict[str, Any] = {"about": self.about} if self.about else {}
        if self.unseen is not None:
            more[_UNSEEN] = asdict(self.unseen)
        more |= {"named": sorted(self.named)} if self.named else {}
        extra = to_extra(self.parts, until=self.until, kernel=self.kernel, **more)
        return replace(question, extra={**question.extra, **extra})


def order_of(part: Part) -> tuple[int, int]:
    """Where a part stands in the list: by kind, cells and figures by their numbers."""
    number = re.search(r"\d+", part.id)
    kinds = ("markdown", "cell", "output", "selection")
    place = kinds.index(part.kind) if part.kind in kinds else len(kinds)
    return place, int(number[0]) if number else sys.maxsize


def companions(
    cells: Sequence[Cell],
    messages: Sequence[Message],
    choice: CellChoice,
    *,
    kernel: str,
    about: str,
    blind: Callable[[], tuple[str, bool]],
    redact: Callable[[str], str],
    words: Collection[str] = (),
    changes: str = "",
) -> Companions:
    """What goes with the next question of this conversation.

    Parameters
    ----------
    cells : all that ran in this kernel, the newest last
    kernel : tells this kernel from others
    about : the id of the one cell that the question points at, "" for none
    blind : (why the model gets no images, "" where it does; whether the setting `vision` would
        send them); asked where there is one
    redact : takes keys out of a text
    words : those of `pointed_words`
    changes : a line on the names that have changed since the last question

    Raises
    ------
    SessionError
        For a word that points at nothing.
    """
    since, before = _sent(messages, kernel)
    run, selected = _selected(cells, choice)
    if run is not None and choice.only is None and run.label not in before:
        choice = replace(choice, pointed=choice.pointed | {run.number})
    chosen = choose(cells, since, before, choice)
    output = _last(cells, choice, "@output") if "output" in words else None
    shown = chosen if output is None or output in chosen else [*chosen, output]
    figures, unseen, unsent = _figures(shown, choice, blind)
    known = Known(unsent, _blocks(messages), choice.places)
    parts = [*_markdown(choice, "above" in words), *make_parts(chosen, known=known)]
    if choice.only is None and changes:
        parts.append(Part("names", "changed names", changes, id="changed names"))
    if choice.only is None and selected:
        parts.append(Part("cell", "selected cell", selected, id="selected"))
    if output is not None and output not in chosen:
        title, text = f"output of {output.label}", output_of(output, known)
        parts.append(Part("output", title, text, id=f"output {output.number}"))
    if "selection" in words:
        parts.append(_selection(choice, run))
    parts = [
        replace(each, content=without_delimiters(redact(without_passwords(each.content))))
        for each in parts
    ]
    sent = {part.content for each in messages for part in of_question(each)}
    return Companions(
        tuple(
            each
            for each in parts
            if each.id not in choice.without and not (each.id in _ONCE and each.content in sent)
        ),
        figures,
        cells[-1].number if cells else 0,
        kernel,
        about,
        unseen,
    )


def _figures(
    cells: Sequence[Cell], choice: CellChoice, blind: Callable[[], tuple[str, bool]]
) -> tuple[tuple[tuple[Cell, Figure], ...], Unseen | None, dict[tuple[int, int], str]]:
    """(the figures of these cells that go; those that the model gets no image of; why each other
    one does not go).
    """
    newest = figures_of(cells)
    wanted = [each for each in newest if _figure_id(*each) not in choice.without]
    why, can_go = blind() if wanted else ("", False)
    numbers = tuple(dict.fromkeys(cell.number for cell, _ in wanted))
    unsent = {
        (cell.number, cell.figures.index(each)): (
            f"only the newest {MAX_FIGURES} go along"
            if (cell, each) not in newest
            else "the person left it out"
            if (cell, each) not in wanted
            else "you get no images"
        )
        for cell in cells
        for each in cell.figures
        if why or (cell, each) not in wanted
    }
    return () if why else tuple(wanted), Unseen(numbers, why, can_go) if why else None, unsent


def _blocks(messages: Sequence[Message]) -> dict[str, tuple[str, str]]:
    """The model's blocks and proposals of Python as `Known.blocks`; of equal ones the last."""
    blocks: dict[str, tuple[str, str]] = {}
    code, count = "", 0
    for each in messages:
        if is_code(each) or is_proposal(each):
            count += is_code(each)
            is_its_own = each.format == "python" and not each.extra.get(EDITED)
            code = normal_code(str(each.content)) if is_its_own else ""
            first = shorten.line(code.partition("\n")[0], _MAX_FIRST)
            name = f"your block {count}" if is_code(each) else "the cell that you proposed"
            blocks[code] = f"{name} (`{first}`)", ""
        elif each.type == "console" and each.format == "output" and each.role == "computer":
            name, printed = blocks.get(code, ("", ""))
            blocks[code] = name, printed + str(each.content)
    blocks.pop("", None)
    return blocks


_MAX_FIRST = 60
"""Characters of the first line of a block, by which it is known."""

_UNSEEN = "unseen"
"""The key beside a question's parts of the figures that did not go."""

_ONCE = ("markdown", "selected")
"""Parts that do not go again as long as they are the same."""


def _figure_id(cell: Cell, figure: Figure) -> str:
    return f"figure {cell.number}.{cell.figures.index(figure)}"


def _markdown(choice: CellChoice, is_pointed: bool) -> Iterator[Part]:
    """The Markdown above the question, or above the selected cell."""
    text = shorten.middle(terminal.plain(choice.above).strip(), LIMITS["markdown"])
    if is_pointed and not text:
        raise SessionError(
            "@above names the Markdown directly above, and there is none: write some above the "
            "cell, or leave @above out"
        )
    if text and (is_pointed or choice.only is None):
        where = "the question" if choice.selected is None else "the selected cell"
        content, id = f"Markdown above {where}:\n{text}", "above" if is_pointed else "markdown"
        yield Part("markdown", "Markdown", content, id=id)


def _selected(cells: Sequence[Cell], choice: CellChoice) -> tuple[Cell | None, str]:
    """(the last run of the selected cell; its text where that has not run as it stands now)."""
    selected = choice.selected
    if selected is None:
        return None, ""
    run = next((each for each in reversed(cells) if each.id and each.id == selected.id), None)
    if run is not None and (run.hidden or run.source == selected.source):
        return (None if run.hidden else run), ""
    source = shorten.middle(terminal.plain(selected.source), LIMITS["source"])
    why = "it has not run" if run is None else f"it has changed since it ran as {run.label}"
    if place := choice.places.get(selected.id):
        why = f"{place}; {why}"
    return run, f"The selected cell ({why}):\n{source}" if source.strip() else ""


def _last(cells: Sequence[Cell], choice: CellChoice, word: str) -> Cell:
    """The selected cell where it has run, else the last one that ran."""
    run, _ = _selected(cells, choice)
    if run is None and not cells:
        raise SessionError(f"{word} names the last cell, and none has run yet: run one first")
    cell = run or cells[-1]
    if cell.hidden:
        raise SessionError(_HIDDEN.format(cell.label))
    return cell


def _selection(choice: CellChoice, run: Cell | None) -> Part:
    text = "" if choice.selected is None else terminal.plain(choice.selected.text)
    if not text.strip():
        raise SessionError(
            "@selection names the text that is selected in a cell, and none is: select some in "
            "JupyterLab, or write the text itself into the question"
        )
    where = "the selected cell" if run is None else run.label
    content = f"Selected in {where}:\n{shorten.middle(text, LIMITS['source'])}"
    return Part("selection", "selection", content, id="selection")


_HIDDEN = (
    "{} has the tag lmc-hide, so no model gets it: take the tag off, run the cell again and ask "
    "again"
)


def pointed_words(text: str, is_name: Callable[[str], bool]) -> frozenset[str]:
    """Which of `@above`, `@output` and `@selection` a question has; no names of variables."""
    return frozenset(word for word in _WORD.findall(text) if not is_name(word))


def pointed_cells(
    text: str, cells: Sequence[Cell], choice: CellChoice | None = None
) -> frozenset[int]:
    """The numbers of the cells that `@cell` and `@cell 12` in a question name.

    Raises
    ------
    SessionError
        For a number of no cell, and for a cell that the person has hidden.
    """
    by_number = {each.number: each for each in cells}
    numbers = set()
    for match in _POINTER.finditer(text):
        number = int(match[1]) if match[1] else _last(cells, choice or CellChoice(), "@cell").number
        if number not in by_number:
            raise SessionError(
                f"{match[0]} names no cell that ran in this kernel: run it first, or give the "
                "number of its In [N]"
            )
        if by_number[number].hidden:
            raise SessionError(_HIDDEN.format(by_number[number].label))
        numbers.add(number)
    return frozenset(numbers)


def about_of(message: Message) -> str:
    """The id of the cell that a question is about; "" for none."""
    about = extra_of(message).get("about")
    return about if isinstance(about, str) else ""


def unseen_of(message: Message) -> Unseen | None:
    """The figures that did not go with a question; None where there were none."""
    match extra_of(message).get(_UNSEEN):
        case {"numbers": [*numbers], "why": str(why), "can_go": bool(can_go)}:
            return Unseen(tuple(each for each in numbers if isinstance(each, int)), why, can_go)
    return None


def _sent(messages: Sequence[Message], kernel: str) -> tuple[int, Collection[str]]:
    """(the number of the last cell at the last question, labels of the cells that were sent)."""
    since, labels = 0, set()
    for message in messages:
        extra = extra_of(message)
        if extra.get("kernel") == kernel:
            until = extra.get("until")
            since = until if isinstance(until, int) else since
            labels |= {part.title for part in of_question(message)}
    return since, labels


_ALONE = ("markdown", "names", "output", "selection")
"""Kinds of which there is one."""


def describe(parts: Sequence[Part], always: Sequence[Part] = ()) -> str:
    """The parts in a line: "3 cells · 1 figure · 420 tokens"; "" for none.

    Parameters
    ----------
    always : parts of every question, which are counted beside: "+ 708 always"
    """
    if always:
        goes = describe(parts) or "nothing of the notebook · 0 tokens"
        return f"{goes} + {sum(each.tokens for each in always):,} always"
    if not parts:
        return ""
    words = [
        kind if kind in _ALONE else f"{count} {kind}{'s' if count > 1 else ''}"
        for kind, count in _count(parts)
    ]
    return f"{' · '.join(words)} · {sum(each.tokens for each in parts):,} tokens"


def _count(parts: Sequence[Part]) -> Iterator[tuple[str, int]]:
    kinds = dict.fromkeys(each.kind for each in parts)
    for kind in kinds:
        yield kind, sum(each.kind == kind for each in parts)
