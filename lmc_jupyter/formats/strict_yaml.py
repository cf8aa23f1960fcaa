"""YAML from strangers: plain values and nothing else, in one bounded pass.

One rule: no tag makes anything, and nothing grows. Values are built straight from the parser's
events, so that depth, counts and sizes are known before anything is made of them.

What is read is YAML 1.1 as PyYAML reads it, but for this: a key is its text (`1:` is "1"), dates
and sexagesimal numbers are text; merge keys, aliases of collections, tags of other programs,
double keys, NaN and infinity are refused. (security.md, 2.10)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import yaml

from lmc_jupyter.errors import FormatError

MAX_CHARS = 64 << 20
"""Of a text, and of all its scalars together, those that aliases repeat counted each time."""
MAX_DEPTH = 64
MAX_EVENTS = 300_000
"""Of the parser: one for a scalar, two for a list or a mapping."""
MAX_DIGITS = 300
"""Of a whole number, as in `strict_json`."""

Tag = Callable[[Any], Any]
"""Makes a value of the plain value that a tag stands at, or raises ValueError with a reason."""

_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("map", "seq")}
_STR = "tag:yaml.org,2002:str"
_SCALAR_TAGS: dict[str, tuple[type, ...]] = {
    "tag:yaml.org,2002:int": (int,),
    "tag:yaml.org,2002:float": (float, int),
    "tag:yaml.org,2002:bool": (bool,),
    "tag:yaml.org,2002:null": (type(None),),
}
_WORDS: dict[str, Any] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
for _value, _words in ((True, ("true", "yes", "on")), (False, ("false", "no", "off"))):
    for _word in _words:
        _WORDS |= dict.fromkeys((_word, _word.title(), _word.upper()), _value)
_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)")
_FLOAT = re.compile(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
)
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NUMBER_STARTS = frozenset("-+.0123456789")


def load(text: str, what: str, tags: dict[str, Tag] | None = None) -> Any:
    """The one value of a YAML text: None, bool, int, float, str, lists and dicts of them.

    Parameters
    ----------
    text : at most `MAX_CHARS` characters
    what : what it is, to begin a sentence: "chat.yaml", "the profile 'fast'"
    tags : tags that are taken beside YAML's plain ones, by their whole name

    Raises
    ------
    FormatError
        With one sentence on what is wrong, and the line.
    """
    if len(text) > MAX_CHARS:
        raise FormatError(
            f"{what} is too large: {len(text):,} characters of YAML, and at most {MAX_CHARS:,} "
            "are read"
        )
    build = _Build(tags or {})
    try:
        build.take(yaml.parse(text, Loader=_PARSER))
    except _Refused as refused:
        line = "" if build.event is None else f"line {build.event.start_mark.line + 1}: "
        raise FormatError(f"{what} is YAML that is not taken: {line}{refused}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise FormatError(f"{what} is no YAML that can be read: {_problem(error)}") from None
    return build.value


def events(value: Any) -> int:
    """How many of `MAX_EVENTS` a value takes when it is written down."""
    if isinstance(value, dict):
        return 2 + len(value) + sum(map(events, value.values()))
    if isinstance(value, list):
        return 2 + sum(map(events, value))
    return 1


class _Refused(Exception):  # noqa: N818 - it says why
    """It is YAML, but not for us."""


class _Build:
    """Builds the value from events, with a stack of its own instead of recursion."""

    def __init__(self, tags: dict[str, Tag]) -> None:
        self.tags = tags
        self.value: Any = None
        self.event: Any = None  # the one that is looked at
        self.chars = self.documents = 0
        self.scalars: dict[str, tuple[Any, str]] = {}
        # the container that is filled, its tag, the key that waits for its value; and the same of
        # those around it
        self.at: dict[str, Any] | list[Any] | None = None
        self.at_tag: Tag | None = None
        self.key: str | None = None
        self.around: list[tuple[dict[str, Any] | list[Any] | None, Tag | None, str | None]] = []

    def take(self, events: Iterable[Any]) -> None:
        for number, event in enumerate(events, 1):
            self.event = event
            if number > MAX_EVENTS:
                raise _Refused(f"it has more than {MAX_EVENTS:,} values and brackets")
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self.scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self.begin(event, {} if kind is yaml.MappingStartEvent else [])
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                value, tag = self.at, self.at_tag
                self.at, self.at_tag, self.key = self.around.pop()
                self.put(value if tag is None else _tagged(tag, value))
            elif kind is yaml.AliasEvent:
                self.alias(event.anchor)
            elif kind is yaml.DocumentStartEvent:
                self.documents += 1
                if self.documents > 1:
                    raise _Refused("a second document begins, and a file holds one")

    def begin(self, event: Any, container: dict[str, Any] | list[Any]) -> None:
        if type(self.at) is dict and self.key is None:
            raise _Refused("a key is a list or a mapping, and must be text")
        if len(self.around) >= MAX_DEPTH:
            raise _Refused(f"it is nested deeper than {MAX_DEPTH} levels")
        if event.anchor:
            self.scalars.pop(event.anchor, None)
        tag = None if event.tag in (None, "!", *_PLAIN_TAGS) else self.tag(event.tag)
        self.around.append((self.at, self.at_tag, self.key))
        self.at, self.at_tag, self.key = container, tag, None

    def scalar(self, event: Any) -> None:
        text: str = event.value
        self.chars += len(text)
        if self.chars > MAX_CHARS:
            raise _too_long()
        name = event.tag
        plain = name is None and event.implicit[0]
        if plain:
            value = text if self.key is None and type(self.at) is dict else _plain(text)
        elif name in (None, "!", _STR):
            value = text
        elif name in _SCALAR_TAGS:
            value = _plain(text)
            if type(value) not in _SCALAR_TAGS[name]:
                raise _Refused(f"{text!r:.60} is no {name.rpartition(':')[2]}, which its tag says")
        else:
            value = _tagged(self.tag(name), text)
        if event.anchor:
            self.scalars[event.anchor] = value, text
        self.put(value, text, plain=plain)

    def alias(self, anchor: str) -> None:
        if anchor not in self.scalars:
            raise _Refused(
                f"*{anchor:.60} repeats a list or a mapping, which could grow without bound: "
                "write it out"
            )
        value, text = self.scalars[anchor]
        self.chars += len(text)
        if self.chars > MAX_CHARS:
            raise _too_long()
        self.put(value, text)

    def put(self, value: Any, text: str | None = None, *, plain: bool = False) -> None:
        """A value is whole: it is a key, belongs to what is open, or is all there is."""
        container = self.at
        if container is None:
            self.value = value
        elif isinstance(container, list):
            container.append(value)
        elif self.key is None:
            key = value if isinstance(value, str) else text
            assert key is not None  # `begin` refuses any other
            if plain and key == "<<":
                raise _Refused("the merge key << is not taken: write the keys out")
            if key in container:
                raise _Refused(f"the key {key!r:.60} is there twice")
            self.key = key
        else:
            container[self.key] = value
            self.key = None

    def tag(self, name: str) -> Tag:
        for known, make in self.tags.items():
            if name == known:
                return make
        shown = name.replace("tag:yaml.org,2002:", "!!")
        raise _Refused(f"the tag {shown:.80} is not taken: only plain values are")


def _too_long() -> _Refused:
    return _Refused(f"its texts have more than {MAX_CHARS:,} characters in all")


def _tagged(tag: Tag, value: Any) -> Any:
    try:
        return tag(value)
    except ValueError as error:
        raise _Refused(str(error)) from None


def _plain(text: str) -> Any:
    """What a scalar without quotes and without a tag means."""
    if len(text) <= 5 and text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _INT.fullmatch(text):
        digits = text.replace("_", "")
        if len(digits) > MAX_DIGITS:
            raise _Refused(f"a number has {len(digits):,} digits")
        sign, digits = (-1 if digits[0] == "-" else 1), digits.lstrip("-+")
        base = {"0b": 2, "0x": 16}.get(digits[:2], 8 if digits[0] == "0" and digits != "0" else 10)
        digits = digits[2:] if base in (2, 16) else digits
        return sign * int(digits, base) if digits else text
    if _FLOAT.fullmatch(text):
        number = float(text.replace("_", ""))
        if abs(number) == float("inf"):
            raise _Refused(f"the number {text:.60} is larger than any that can be kept")
        return number
    if _NO_NUMBER.fullmatch(text):
        raise _Refused(f"{text} is no number: put it in quotes if it is a text")
    return text


def _problem(error: Exception) -> str:
    """The parser's own words, and where."""
    mark = getattr(error, "problem_mark", None)
    where = "" if mark is None else f"line {mark.line + 1}: "
    if isinstance(error, yaml.reader.ReaderError):
        return f"{error.reason}"
    said = getattr(error, "problem", None) or type(error).__name__
    return f"{where}{said}"
