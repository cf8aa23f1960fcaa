"""YAML from strangers: plain values and nothing else, in one bounded pass.

One rule: no tag makes anything, and nothing grows. Values are built straight from the parser's
events, so that depth, counts and sizes are known before anything is made of them.

What is read is YAML 1.1 as PyYAML reads it, but for this: a key is its text (`1:` is "1"), dates,
sexagesimal numbers and numbers of more than `MAX_DIGITS` are text; merge keys, aliases of
collections, tags of other programs, double keys, NaN and infinity are refused.

Why not PyYAML's loader behind a pass over the events: to compose its nodes and to construct values
of them takes 2 s of processor time for `MAX_EVENTS`, the events alone with what is here 0.6 s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from lmc_jupyter.errors import FormatError

MAX_CHARS = 64 << 20
"""Of a text, and of all its scalars together, those that aliases repeat counted each time."""
MAX_DEPTH = 64
_TOO_DEEP = f"it is nested deeper than {MAX_DEPTH} levels"
MAX_EVENTS = 300_000
"""Of the parser: one for a scalar, two for a list or a mapping."""
MAX_DIGITS = 300
"""Characters of a number, as in `strict_json`."""

Tag = Callable[[Any], Any]
"""Makes a value of the plain value that a tag stands at, or raises ValueError with a reason."""

_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_YAML = "tag:yaml.org,2002:"
_TYPES: dict[str, Any] = {"int": int, "float": (float, int), "bool": bool, "null": type(None)}
_MAKE: dict[str, Callable[[yaml.ScalarNode], Any]] = {
    f"{_YAML}{name}": getattr(yaml.constructor.SafeConstructor(), f"construct_yaml_{name}")
    for name in _TYPES
}
_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers


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
    build = _Build(yaml.parse(text, Loader=_PARSER), tags or {})
    try:
        return build.document()
    except _Refusal as refusal:
        line = build.event.start_mark.line + 1
        raise FormatError(f"{what} is YAML that is not read: line {line}: {refusal}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if _is_too_deep(error):
            line = getattr(error, "problem_mark", build.event.start_mark).line + 1
            raise FormatError(
                f"{what} is YAML that is not read: line {line}: {_TOO_DEEP}"
            ) from None
        raise FormatError(f"{what} is no YAML that can be read: {_problem(error)}") from None


def events(value: Any) -> int:
    """How many of `MAX_EVENTS` a value takes when it is written down."""
    if isinstance(value, dict):
        return 2 + len(value) + sum(map(events, value.values()))
    if isinstance(value, list):
        return 2 + sum(map(events, value))
    return 1


class _Refusal(Exception):  # noqa: N818 - it says why
    """It is YAML, but not for us."""


class _Build:
    """Builds the value from the parser's events."""

    def __init__(self, parser_events: Iterator[Any], tags: dict[str, Tag]) -> None:
        self._parser_events, self._tags = parser_events, tags
        self.event: Any = None  # the last one
        self._events = self._chars = 0
        self._anchors: dict[str, Any] = {}  # of scalars

    def document(self) -> Any:
        self._next()  # the stream begins
        if type(self._next()) is yaml.StreamEndEvent:
            return None
        value = self._value(self._next(), 0)
        self._next()  # the document ends
        if type(self._next()) is not yaml.StreamEndEvent:
            raise _Refusal("a second document begins, and a file holds one")
        return value

    def _next(self) -> Any:
        """The next event; for the alias of a scalar that scalar."""
        self._events += 1
        self.event = event = next(self._parser_events)
        if self._events > MAX_EVENTS:
            raise _Refusal(f"it has more than {MAX_EVENTS:,} values and brackets")
        anchor = getattr(event, "anchor", None)
        if type(event) is yaml.AliasEvent:
            if anchor not in self._anchors:
                raise _Refusal(
                    f"*{anchor:.60} repeats a list or a mapping, which could grow without bound: "
                    "write it out"
                )
            event = self._anchors[anchor]
        elif anchor:
            self._anchors.pop(anchor, None)
            if type(event) is yaml.ScalarEvent:
                self._anchors[anchor] = event
        if type(event) is yaml.ScalarEvent:
            self._chars += len(event.value)
            if self._chars > MAX_CHARS:
                raise _Refusal(f"its texts have more than {MAX_CHARS:,} characters in all")
        return event

    def _value(self, event: Any, depth: int) -> Any:
        if type(event) is yaml.ScalarEvent:
            return self._scalar(event)
        if depth >= MAX_DEPTH:
            raise _Refusal(_TOO_DEEP)
        plain = event.tag in (None, "!", f"{_YAML}map", f"{_YAML}seq")
        tag = None if plain else self._tag(event.tag)
        value: Any
        if type(event) is yaml.MappingStartEvent:
            value = {}
            while type(event := self._next()) is not yaml.MappingEndEvent:
                key = self._key(event)
                if key in value:
                    raise _Refusal(f"the key {key!r:.60} is there twice")
                value[key] = self._value(self._next(), depth + 1)
        else:
            value = []
            while type(event := self._next()) is not yaml.SequenceEndEvent:
                value.append(self._value(event, depth + 1))
        return value if tag is None else _apply_tag(tag, value)

    def _key(self, event: Any) -> str:
        if type(event) is not yaml.ScalarEvent:
            raise _Refusal("a key is a list or a mapping, and must be text")
        text: str = event.value
        if event.tag is None:
            if text == "<<" and event.implicit[0]:
                raise _Refusal("the merge key << is not read: write the keys out")
            return text
        value = self._scalar(event)
        return value if isinstance(value, str) else text

    def _scalar(self, event: Any) -> Any:
        text, name = event.value, event.tag
        if name is None:
            return _plain(text) if event.implicit[0] else text
        if name in ("!", f"{_YAML}str"):
            return text
        if name not in _MAKE:
            return _apply_tag(self._tag(name), text)
        value, word = _plain(text), name[len(_YAML) :]
        if (type(value) is bool and word != "bool") or not isinstance(value, _TYPES[word]):
            raise _Refusal(f"{text!r:.60} is no {word}, which its tag says")
        return value

    def _tag(self, name: str) -> Tag:
        if name not in self._tags:
            short_name = name.replace(_YAML, "!!")
            raise _Refusal(f"the tag {short_name:.80} is not read: only plain values are")
        return self._tags[name]


def _apply_tag(tag: Tag, value: Any) -> Any:
    try:
        return tag(value)
    except ValueError as error:
        raise _Refusal(str(error)) from None


def _plain(text: str) -> Any:
    """What a scalar without quotes and without a tag means."""
    if len(text) > MAX_DIGITS or ":" in text:  # no number, or a sexagesimal one
        return text
    for tag, pattern in _RESOLVERS.get(text[:1], ()):
        if tag in _MAKE and pattern.match(text):
            break
    else:
        return text
    try:
        value = _MAKE[tag](yaml.ScalarNode(tag, text))
    except ValueError:  # no digits, such as 0x_
        return text
    if isinstance(value, float) and not math.isfinite(value):
        raise _Refusal(f"{text:.60} is no number that can be kept: put a text in quotes")
    return value


def _is_too_deep(error: Exception) -> bool:
    """Whether the parser itself gave up: newer ones read ahead to 1,000 levels at most,
    and refuses more before the first of them is an event.
    """
    is_depth = "nesting depth" in str(getattr(error, "problem", ""))
    return is_depth or isinstance(error, RecursionError)


def _problem(error: Exception) -> str:
    """The parser's own words, and where."""
    mark = getattr(error, "problem_mark", None)
    where = "" if mark is None else f"line {mark.line + 1}: "
    if isinstance(error, yaml.reader.ReaderError):
        return f"{error.reason}"
    return f"{where}{getattr(error, 'problem', None) or type(error).__name__}"
