"""Widgets that code has shown, and what they say in the end: a progress bar says where it got.

One rule: the person has the live widget, by the id of its model; this is its text, for the model.
Nothing is imported, and a widget that cannot say anything says nothing.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

MAX_WIDGETS = 20
MAX_TEXT = 500

_VIEW = "application/vnd.jupyter.widget-view+json"
_MODEL = re.compile(r"[\w-]{1,64}", re.ASCII)
_TAG = re.compile(r"<[^>]{0,200}>")


def model_of(bundle: Mapping[str, Any]) -> str:
    """The id of the widget's model that a mime bundle shows; "" when it shows none."""
    view = bundle.get(_VIEW)
    key = view.get("model_id") if isinstance(view, Mapping) else None
    return key if isinstance(key, str) and _MODEL.fullmatch(key) else ""


class Widgets:
    """The widgets of one block."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[Any, str]] = {}

    def saw(self, bundle: Mapping[str, Any]) -> None:
        """A mime bundle was shown; of a widget, remember what it said."""
        key = model_of(bundle)
        if key and len(self._shown) < MAX_WIDGETS:
            widget = _instances().get(key)
            if widget is not None:
                self._shown[key] = widget, str(bundle.get("text/plain", ""))

    def news(self) -> Iterator[str]:
        """The text of each that says something else by now."""
        for widget, before in self._shown.values():
            text = _text(widget)
            if text and text != before:
                yield text[:MAX_TEXT]


def _instances() -> Mapping[str, Any]:
    """All live widgets by their ids."""
    widget = sys.modules.get("ipywidgets.widgets.widget")
    found = getattr(widget, "_instances", None)
    if found is None:  # ipywidgets 7
        found = getattr(getattr(widget, "Widget", None), "widgets", None)
    return found if isinstance(found, Mapping) else {}


def _text(widget: Any) -> str:
    try:
        return str(widget._repr_mimebundle_()["text/plain"])
    except ReferenceError:  # the bar of tqdm is gone; what it has written is still there
        return _words(getattr(widget, "children", ()))
    except Exception:  # noqa: BLE001 - a widget of anybody's
        return ""


def _words(children: Any) -> str:
    values = [getattr(child, "value", None) for child in children]
    words = [html.unescape(_TAG.sub("", value)) for value in values if isinstance(value, str)]
    return " ".join(" ".join(words).split())
