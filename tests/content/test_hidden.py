"""Hidden characters: every one is found, in Python as on the page, and no plain one."""

from __future__ import annotations

import ast
import json
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import sample

from lmc_jupyter.content import hidden as patterns
from lmc_jupyter.content.hidden import count_hidden, split_hidden

EVERY = [chr(point) for point in range(sys.maxunicode + 1)]
IGNORABLE = [
    *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810)),
    *(*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164),
    *(*range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0, *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4)),
    *(*range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)),
]
"""Unicode's Default_Ignorable_Code_Point: what a page draws as nothing."""
BLANK = [0x2800, 0xFFFC, 0x1D159]  # drawn as an empty glyph, though they are symbols
HIDDEN_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Co", "Cs", "Cn", "Zs"}
FRAMES = ["x = 'a{}b'", "# a{}b", "a{}b = 1", "{}", "a{}", "{}b", "'1{}'", "'#{}'", "'+{}+'"]


@pytest.mark.parametrize("category", sorted(HIDDEN_CATEGORIES))
def test_every_code_point_of_an_invisible_category_is_hidden(
    category: str, record_property
) -> None:
    points = [c for c in EVERY if unicodedata.category(c) == category and c not in " \n\t"]
    assert points
    assert count_hidden("".join(points)) == len(points)
    record_property("figure", f"{len(points):,} code points of category {category}")


@pytest.mark.parametrize("frame", FRAMES)
def test_every_ignorable_code_point_is_hidden_wherever_it_stands(frame: str) -> None:
    for point in [*IGNORABLE, *BLANK]:
        assert count_hidden(frame.format(chr(point))) == 1, f"U+{point:04X} in {frame}"


def is_latin_for_python(char: str) -> bool:
    """Whether it is a name of Python by itself, written with other letters."""
    name = unicodedata.normalize("NFKC", char)
    category = unicodedata.category(char)
    return char.isidentifier() and not char.isascii() and name.isascii() and category != "Lm"


def test_every_letter_that_python_reads_as_a_latin_one_is_marked_but_ones_that_show_it() -> None:
    plain = {c for c in EVERY if is_latin_for_python(c) and not count_hidden(c)}
    assert count_hidden("".join(c * 2 for c in plain)) >= 2 * len(plain - {"ª", "º"})
    assert {c for c in plain if not "\u2100" <= c <= "\u218f"} == {"ª", "º"}


def test_no_other_code_point_is_called_hidden() -> None:
    ignorable = {*map(chr, IGNORABLE), *map(chr, BLANK)}
    plain = [
        c
        for c in EVERY
        if c in " \n\t"
        or (
            unicodedata.category(c) not in HIDDEN_CATEGORIES
            and c not in ignorable
            and not is_latin_for_python(c)
        )
    ]
    assert len(plain) > 100_000
    assert count_hidden(" ".join(plain)) == 0


@pytest.mark.parametrize(
    "emoji",
    [
        "👩\u200d🚀",
        "❤️",
        "1️⃣",
        "#️⃣",
        "🏳️\u200d🌈",
        "👩🏽\u200d⚕️",
        "👍🏽",
        "‼️",
        "☎️",
        "↔️",
    ],
)
def test_emoji_are_plain_to_see(emoji: str) -> None:
    assert count_hidden(f"print('{emoji}')") == 0


@pytest.mark.parametrize(
    "code",
    [
        "x1\ufe0f = 2",  # another name than x1
        "\u2139\ufe0f = 2",
        "'a\ufe0f'",
        "'#\ufe0f'",
        "'+\ufe0f'",
        "\ufe0f",
        "'a\u200d+b'",
        "'\u200d🚀'",
        "'👩\u200d'",
        "'🚀\u200d\u200d🚀'",
        "a\u200d💥",
    ],
)
def test_joiners_and_selectors_outside_an_emoji_are_hidden(code: str) -> None:
    assert count_hidden(code) >= 1


MIXED = [
    ("p\u0430ss = 1", 1),
    ("\u0440\u0430ypal(\u0441ode)", 3),
    ("\u0391BC + x\u03bf_1", 2),
    ("\u0441\u043e\u0440\u0443 = '\u043d\u0435\u0442 no'", 4),
    ("shutil.\u0441\u043e\u0440\u0443(a, b); \u0585\u0440\u0435\u0578(a)", 8),
    ("'\u0441 \u043e\u0441\u0430 \u0430 \u0443 \u0441\u043e\u0440'", 0),
    ("\uff50\uff52\uff49\uff4e\uff54(1)", 5),
    ("\ufb01le = 1; \U0001d431\U0001d432 = 2; \uff58 = 3; pr\u2170nt", 5),
    ("'\uff21\uff22\uff23\u793e 5\u00ba x\u207f \u211d \u2161 \u00aa caf\u00e9 \u00b5m'", 0),
    ("'\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937'", 0),
    ("'\u0645\u200c a\u200c\u0645 \u0645\u200c\u200c\u0645 x\u200cy'", 5),
    ("\u03b1_max + \u0394t + \u03c1_water + \u03bdx + \u03c72", 0),
    ("\U0001f600 \U0001f600x p\u0430", 1),
    ("print('\\n\u0421\u0423\u041c\u041c\u0410: %d\u0440\u0443\u0431 %.2f\u0420')", 0),
    ("df_\u043f\u0440\u043e\u0434\u0430\u0436\u0438 = read('sales_\u0433\u043e\u0434.csv')", 0),
    ("\u0394\u03a4_max + T_\u041c\u0410\u041a\u0421 + \u03b1max + sin\u03b1 + \u03c1_water", 0),
    ("e\u03bdal + in\u03c1ut + p\u03b1yp\u03b1l", 4),
    ("\u0585s.sy\u0455tem + \u0261et + \u0251bs + caf\u00e9\u0430", 5),
    ("\\nam\u0435 %d\u0430ta + \u0394\u0430x", 2),
]


@pytest.mark.parametrize(("code", "count"), MIXED)
def test_letters_of_another_script_that_look_alike_are_marked_in_a_name(
    code: str, count: int
) -> None:
    assert count_hidden(code) == count


def test_the_page_marks_the_same_letters() -> None:
    source = (Path(__file__).parents[2] / "js/src/render/hidden.ts").read_text("utf-8")
    for name, pattern in (("LOOK_ALIKE", patterns._LOOK_ALIKES), ("OTHER", patterns._OTHERS)):
        found = re.search(rf"{name} =\s+/(\[.*\])/;", source)
        assert found is not None
        assert found[1].encode().decode("unicode_escape") == pattern.pattern
    twins = re.search(r'TWINS =\s+"(.*)";\s+const LATIN = "(.*)";', source)
    assert twins is not None
    letters = twins[1].encode().decode("unicode_escape")
    assert str.maketrans(letters, twins[2]) == patterns._TWINS
    assert f"/^({patterns._SHADOWED.pattern})$/" in source
    joined = re.search(r"JOINED = /(.*)/;", source)
    assert joined is not None
    assert joined[1].encode().decode("unicode_escape") == patterns._JOINED.pattern


def test_trojan_source_is_revealed() -> None:
    code = "if access != 'user\u202e \u2066# admin\u2069 \u2066':"
    assert count_hidden(code) == 4
    shown = "".join(text for text, _ in split_hidden(code))
    assert shown == "if access != 'user⟨U+202E⟩ ⟨U+2066⟩# admin⟨U+2069⟩ ⟨U+2066⟩':"


@given(st.text(st.characters()))
def test_revealed_shows_every_character_once_in_order(code: str) -> None:
    parts = list(split_hidden(code))
    back = "".join(chr(int(text[3:-1], 16)) if is_hidden else text for text, is_hidden in parts)
    assert back == code
    assert count_hidden(code) == sum(is_hidden for _, is_hidden in parts)
    assert all(count_hidden(text) == 0 for text, is_hidden in parts if is_hidden), (
        "a mark is visible"
    )


def test_control_pythons_own_rule_lets_some_through(record_property) -> None:
    through = [chr(point) for point in [*IGNORABLE, *BLANK] if chr(point).isprintable()]
    assert len(through) > 5
    assert count_hidden("".join(through)) == len(through)
    record_property("figure", f"`str.isprintable` lets {len(through)} of them through")


# Code that people write ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_cells() -> list[str]:
    """Functions and classes of installed packages, as somebody might paste them into a cell."""
    cells = []
    folders = [Path(json.__file__).parents[1], Path(pytest.__file__).parents[1]]
    paths = [path for folder in folders for path in sorted(folder.glob("*/*.py"))]
    for path in sample(paths, 700):  # about 5,000 cells, as the promise says
        try:
            text = path.read_text("utf-8")
            tree = ast.parse(text)
        except (UnicodeDecodeError, SyntaxError, ValueError):
            continue  # test data, of another encoding or another Python
        lines = text.splitlines(keepends=True)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                cells.append("".join(lines[node.lineno - 1 : node.end_lineno]))
    return cells


def is_of_a_list(char: str) -> bool:
    """Whether a character is hidden by Unicode's own lists, which know nothing of this package."""
    return char not in " \n\t" and (
        unicodedata.category(char) in HIDDEN_CATEGORIES or ord(char) in {*IGNORABLE, *BLANK}
    )


@pytest.mark.long
def test_real_code_is_not_marked_but_for_what_is_hidden(real_cells, record_property) -> None:
    cells = real_cells
    marked = [cell for cell in cells if count_hidden(cell)]
    wrong = [cell for cell in marked if not any(map(is_of_a_list, cell))]
    assert len(cells) > 300
    assert len(wrong) <= len(cells) / 1_000, [cell[:200] for cell in wrong]
    record_property(
        "figure",
        f"{len(cells):,} real cells: {len(marked)} marked, of which {len(wrong)} have none of "
        "Unicode's hidden characters",
    )


@pytest.mark.long
def test_control_a_plain_rule_marks_more_real_code(real_cells, record_property) -> None:
    cells = real_cells
    marked = sum(not cell.isascii() for cell in cells)
    assert marked > len(cells) / 1_000
    record_property("figure", f"'not ASCII' marks {marked} of {len(cells):,}")
