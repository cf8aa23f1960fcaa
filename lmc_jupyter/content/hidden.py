"""Hidden characters in code: what a page shows as nothing, or as something else.

One rule: what you see is what runs. `js/src/render/hidden.ts` finds the same characters, and both
are tested on the same codes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Co", "Cs", "Cn"}
_LETTERS = {"Lu", "Ll", "Lt", "Lo", "Nl"}
# drawn as nothing
_FILLERS = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC, 0x1D159}
_EMOJI_LETTERS = {  # emoji that Unicode counts as letters, punctuation or modifiers
    *"\u203c\u2049\u3030\u303d",  # not U+2139: a name may have a selector after it
    *map(chr, range(0x1F3FB, 0x1F400)),  # skin tones
}
_KEYCAP = "\u20e3"
# letters of Greek, Cyrillic, Armenian and phonetic script that look like Latin ones
_LOOK_ALIKES = re.compile(
    "[\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03f2\u03f3\u03f9\u037f"
    "\u0405\u0406\u0408\u0410\u0412\u0415\u0417\u041a\u041c-\u041e\u0420-\u0423\u0425\u0430\u0435\u043e\u0440\u0441\u0443\u0445"
    "\u0455\u0456\u0458\u04ae\u04af\u04ba\u04bb\u04c0\u04cf\u0501\u050c\u051a-\u051d\u0251\u0261\u03b1\u03bd\u03c1\u0555\u0570\u0578\u057d\u0585]"
)
_TWINS = str.maketrans(
    "\u0430\u0441\u0501\u0435\u04bb\u0456\u0458\u04cf\u043e\u0440\u051b\u0455\u0443\u051d\u0445"
    "\u03b1\u03bf\u03c1\u0578\u0570\u057d\u0585\u0261\u0251",
    "acdehijlopqsywxaopnhuoga",
)
"""Small letters of other scripts -> the Latin ones that they look like."""
_SHADOWED = re.compile(
    "all and any as ascii async asyncio class code copy csv del else exec hash help hex id in "
    "io is json len locals logging nonlocal open os pass pow pwd queue shlex slice ssl sys "
    "uuid while yield".replace(" ", "|")
)
"""Names of Python that can be written with those letters alone, those that somebody would use."""
_JOINED = re.compile("[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\u0900-\u0dff]")
"""Letters of Arabic and Indic scripts, in whose words a joiner is a part of the spelling."""
_SYMBOLS = "\u03b1\u03bd\u03c1"  # alpha, nu, rho: at the edge of a word they are a formula's
_WORD = re.compile(r"\\[nrt]|%[-+ #0-9.]*[dfs]|([^\W\d_]+)")
_LATIN = re.compile("[A-Za-z]")
_OTHERS = re.compile("[^A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]")
_ODD_SPACES = {0x00A0, 0x1680, 0x202F, 0x205F, 0x3000, *range(0x2000, 0x200B)}


def split_hidden(code: str) -> Iterator[tuple[str, bool]]:
    """Split code into (text, hidden) parts: a hidden part is a mark such as `⟨U+202E⟩`.

    Hidden is every character that a page shows as nothing or as something else: control and
    format characters, bidirectional overrides, fillers, unassigned and private ones; a letter
    of another script that looks like a Latin one, in a word with Latin letters and no other
    foreign ones, or in one that reads like a name of Python; and a letter that Python takes for
    a Latin one, such as U+FF50. A joiner between letters of Arabic or Indic scripts is spelling.
    Marks are for a person's eyes; what runs is `code`.
    """
    plain = 0
    look_alikes = _look_alike_places(code)
    for index, char in enumerate(code):
        if char < "\x7f" and (char >= " " or char in "\n\t"):
            continue
        if index not in look_alikes and not _is_hidden(code, index):
            continue
        if plain < index:
            yield code[plain:index], False
        yield f"⟨U+{ord(char):04X}⟩", True
        plain = index + 1
    if plain < len(code):
        yield code[plain:], False


def _look_alike_places(code: str) -> frozenset[int]:
    """The indices of letters that look like Latin ones, or are such ones for Python.

    `_`, a dot and digits part words, and so do escapes such as `\\n` and `%d`: a name in two
    scripts (`df_продажи`) is everyday code, and so is a letter of a formula at its edge.
    """
    if code.isascii():
        return frozenset()
    places: set[int] = set()
    for match in _WORD.finditer(code):
        word, start = match[1] or "", match.start()
        if word.isascii():
            continue
        if _SHADOWED.fullmatch(word.translate(_TWINS)):
            places.update(start + at for at, char in enumerate(word) if char > "\x7f")
            continue
        if _is_latin_for_python(word):
            places.update(start + at for at, char in enumerate(word) if _is_other_form(char))
            continue
        word = word.rstrip(_SYMBOLS)
        start += len(word) - len(word.lstrip(_SYMBOLS))
        word = word.lstrip(_SYMBOLS)
        others = [each.start() for each in _OTHERS.finditer(word) if each[0].isalpha()]
        if _LATIN.search(word) and all(_LOOK_ALIKES.match(word, at) for at in others):
            places.update(start + at for at in others)
    return frozenset(places)


def _is_latin_for_python(word: str) -> bool:
    """Whether Python reads this word as a name of ASCII letters alone.

    Raised and lowered letters look like what they are, and so does a symbol such as U+211D alone.

    Source: https://docs.python.org/3/reference/lexical_analysis.html#identifiers (NFKC)
    """
    if len(word) == 1 and ("\u2100" <= word <= "\u218f" or not _is_other_form(word)):
        return False
    return unicodedata.normalize("NFKC", word).isascii()


def _is_other_form(char: str) -> bool:
    """Whether it is a letter of another form than ASCII's, and neither raised nor lowered."""
    return char > "\x7f" and char not in "ªº" and unicodedata.category(char) in _LETTERS


def count_hidden(code: str) -> int:
    """The number of hidden characters in the code."""
    return sum(is_hidden for _, is_hidden in split_hidden(code))


def _is_hidden(code: str, index: int) -> bool:
    char = code[index]
    point = ord(char)
    before = code[index - 1] if index else ""
    after = code[index + 1 : index + 2]
    if point == 0xFE0F:  # asks for the picture form of the emoji before it: plain to see
        return not (_is_emoji(before) or (before and before in "0123456789#*" and after == _KEYCAP))
    if point in (0x200C, 0x200D) and _JOINED.match(before) and _JOINED.match(after):
        return False
    if point == 0x200D:  # joins two emoji into one
        return not ((_is_emoji(before) or before == "\ufe0f") and _is_emoji(after))
    if point in _FILLERS or point in _ODD_SPACES or 0xFE00 <= point <= 0xFE0E:
        return True
    if 0xE0100 <= point <= 0xE01EF or 0x180B <= point <= 0x180F:  # more variation selectors
        return True
    return unicodedata.category(char) in _INVISIBLE_CATEGORIES


def _is_emoji(char: str) -> bool:
    """Whether a selector or joiner beside it belongs to a picture: symbols outside ASCII."""
    if not char or char < "\x7f" or ord(char) in _FILLERS:
        return False
    return char in _EMOJI_LETTERS or unicodedata.category(char) in ("So", "Sm")
