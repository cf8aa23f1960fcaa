"""A figure of matplotlib as a model reads it that gets no picture: its titles, axes and series.

One rule: it only looks, a bounded part of each; what fails when it is looked at is not named.
Charts of other libraries, which are JSON, are in `charts.py`.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lmc_jupyter.content import shorten

MAX_AXES = 6
MAX_SERIES = 8
"""Of one kind, in one pair of axes."""
MAX_LABELS = 12
MAX_WORD = 200
"""Characters of a title, a label or a name."""
MAX_TEXT = 1_500
"""Characters of the whole."""

MAX_KNOWN = 200
"""Images whose texts are known, the newest."""

_NUMBER = re.compile(
    r"[-+\u2212$]*\d[\d., ]*(?:e[-+\u2212]?\d+)?%?|\$\\mathdefault\{.*\}\$", re.IGNORECASE
)
_MIDNIGHT = re.compile(r"[T ]00:00:00(?:\.0+)?$")


def describe(figure: Any) -> str:
    """The titles, labels, limits, series with their first and last values, and legends."""
    try:
        axes = list(figure.axes)
        parts = [*_title(figure.get_suptitle())]
    except Exception:  # noqa: BLE001 - a class of anybody's, or an old matplotlib
        return ""
    for number, each in enumerate(axes[:MAX_AXES], 1):
        which = f"axes {number} of {len(axes)}: " if len(axes) > 1 else ""
        parts.append(which + "; ".join(_axes(each)))
    if len(axes) > MAX_AXES:
        parts.append(f"{len(axes) - MAX_AXES} more axes")
    return shorten.head("\n".join(filter(None, parts)), MAX_TEXT)


_texts: OrderedDict[bytes, str] = OrderedDict()
"""Digest of an image -> what is in it, for this kernel's life."""


def learn(image: bytes, text: str) -> None:
    """Know what is in this image of a figure."""
    if text:
        _texts[_digest(image)] = text
        while len(_texts) > MAX_KNOWN:
            _texts.popitem(last=False)


def text_of(image: bytes) -> str:
    """What is in this image, where it is of a figure of this kernel; else ""."""
    return _texts.get(_digest(image), "")


def _digest(image: bytes) -> bytes:
    return hashlib.blake2b(image, digest_size=16).digest()


def _axes(axes: Any) -> list[str]:
    makers: tuple[Callable[[Any], Iterator[str]], ...] = (
        _titles, _lines, _bars, _points, _images, _others, _legend,
    )  # fmt: skip
    texts: list[str] = []
    for make in makers:
        try:
            texts += make(axes)
        except Exception:  # noqa: BLE001 - an artist of anybody's
            continue
    return texts


def _titles(axes: Any) -> Iterator[str]:
    yield from _title(axes.get_title())
    if axes.axison:
        for name in ("x", "y"):
            axis = getattr(axes, f"{name}axis")
            low, high = map(_value, getattr(axes, f"get_{name}lim")())
            label = f" {_quote(text)}" if (text := axis.get_label_text()) else ""
            labels = [each.get_text() for each in axis.get_ticklabels()]
            words = [_word(each) for each in labels if each and not _NUMBER.fullmatch(each)]
            at = f" with {_some(words)}" if words else f" from {low} to {high}"
            yield f"{name}{label}{at}"


def _lines(axes: Any) -> Iterator[str]:
    for line in axes.lines[:MAX_SERIES]:
        yield f"line{_name(line)} of {_points_of(line.get_xdata(), line.get_ydata())}"
    yield from _more(axes.lines, "lines")


def _bars(axes: Any) -> Iterator[str]:
    bars = [each for each in axes.containers if getattr(each, "patches", None)]
    for each in bars[:MAX_SERIES]:
        values = list(each.datavalues)
        ends = f"{_value(values[0])} … {_value(values[-1])}" if values else ""
        yield f"{len(values):,} bars{_name(each)}: {ends}"
    yield from _more(bars, "series of bars")


def _points(axes: Any) -> Iterator[str]:
    clouds = [each for each in axes.collections if type(each).__name__ == "PathCollection"]
    for each in clouds[:MAX_SERIES]:
        offsets = each.get_offsets()
        yield f"points{_name(each)}: {_points_of(offsets[:, 0], offsets[:, 1])}"
    yield from _more(clouds, "series of points")


def _images(axes: Any) -> Iterator[str]:
    meshes = [each for each in axes.collections if type(each).__name__ == "QuadMesh"]
    for each in [*axes.images, *meshes][:MAX_SERIES]:
        shape = " x ".join(str(side) for side in each.get_array().shape)
        low, high = map(_value, each.get_clim())
        yield f"image of {shape} values from {low} to {high}"


def _others(axes: Any) -> Iterator[str]:
    bars = {id(patch) for each in axes.containers for patch in getattr(each, "patches", ())}
    drawn = [each for each in axes.patches if id(each) not in bars]
    drawn += [
        each
        for each in axes.collections
        if type(each).__name__ not in ("PathCollection", "QuadMesh")
    ]
    kinds = [type(each).__name__ for each in drawn]
    for kind in dict.fromkeys(kinds):
        yield f"{kinds.count(kind)} {kind}"
    if words := [_word(each.get_text()) for each in axes.texts if each.get_text().strip()]:
        yield f"texts {_some(words)}"


def _legend(axes: Any) -> Iterator[str]:
    if legend := axes.get_legend():
        names = [_word(each.get_text()) for each in legend.get_texts()]
        yield f"legend {_some([*filter(None, [_word(legend.get_title().get_text())]), *names])}"


def _points_of(xs: Sequence[Any], ys: Sequence[Any]) -> str:
    count = len(ys)
    if not count:
        return "0 points"
    ends = [f"({_value(xs[at])}, {_value(ys[at])})" for at in (0, count - 1)]
    return f"{count:,} points, {' … '.join(dict.fromkeys(ends))}"


def _name(artist: Any) -> str:
    label = str(artist.get_label())
    return "" if label.startswith("_") or not label else f" {_quote(label)}"


def _title(text: str) -> Iterator[str]:
    if text.strip():
        yield f"title {_quote(text)}"


def _more(series: Sequence[Any], what: str) -> Iterator[str]:
    if len(series) > MAX_SERIES:
        yield f"{len(series) - MAX_SERIES} more {what}"


def _some(words: Sequence[str]) -> str:
    """The words, the first and the last of many."""
    if len(words) <= MAX_LABELS:
        return ", ".join(words)
    half = MAX_LABELS // 2
    return ", ".join([*words[:half], f"… {len(words) - 2 * half} more …", *words[-half:]])


def _value(value: Any) -> str:
    try:
        return f"{float(value):.4g}"
    except (TypeError, ValueError):
        return _word(_MIDNIGHT.sub("", str(value)))


def _quote(text: str) -> str:
    return repr(_word(text))


def _word(text: str) -> str:
    return shorten.line(" ".join(str(text).split()), MAX_WORD)
