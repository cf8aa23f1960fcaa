"""The widgets that code showed, and their text at the end: a progress bar shows how far it came.

One rule: the person has the live widget, by the id of its model; the language model gets its text.
Nothing is imported, and a widget without text gives none.
"""

from __future__ import annotations

import base64
import html
import re
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

MAX_WIDGETS = 20
MAX_TEXT = 500
POUR_SECONDS = 0.1
"""Between two changes of what an `Output` widget shows."""

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
        self._widgets: dict[str, tuple[Any, str]] = {}

    def saw(self, bundle: Mapping[str, Any]) -> None:
        """A mime bundle was shown; of a widget, remember what it said."""
        key = model_of(bundle)
        if key and len(self._widgets) < MAX_WIDGETS:
            widget = _instances().get(key)
            if widget is not None:
                self._widgets[key] = widget, str(bundle.get("text/plain", ""))

    def news(self) -> Iterator[str]:
        """The text of each that says something else by now."""
        for widget, before in self._widgets.values():
            text = _text(widget)
            if text and text != before:
                yield text[:MAX_TEXT]


def output_widget() -> Any | None:
    """The `Output` widget that takes what is shown here and now (`with out:`); None for none."""
    instances = _instances()
    for widget in reversed(
        list(instances.values())
    ):  # of nested ones the inner is the newer, mostly
        if getattr(widget, "_model_name", "") == "OutputModel" and widget.msg_id:
            return widget
    return None


class WidgetOutput:
    """What a block shows within `with out:` where no cell does: it stands in the widget.

    A front end puts there what comes from a cell; here it goes into the widget's own list. Text is
    gathered, because each change sends the whole list. Each method returns the text that has now
    come into a widget.
    """

    def __init__(self) -> None:
        self._text: list[str] = []
        self._widget: Any = None
        self._to_clear: Any = None
        self._pour_time = 0.0

    def text(self, widget: Any, text: str) -> str:
        """This was printed into it."""
        before = "" if widget is self._widget else self.pour()
        self._widget = widget
        self._text.append(text)
        return before + (self.pour() if time.monotonic() - self._pour_time > POUR_SECONDS else "")

    def display(self, widget: Any, bundle: Mapping[str, Any]) -> str:
        """This was displayed in it."""
        before = self.pour()
        data = {
            mime: base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
            for mime, value in bundle.items()
        }
        self._add(widget, {"output_type": "display_data", "data": data, "metadata": {}})
        return before

    def clear(self, widget: Any, wait: bool) -> str:
        """It is emptied, now or when the next thing is shown in it."""
        before = self.pour()
        if wait:
            self._to_clear = widget
        else:
            widget.outputs = ()
        return before

    def pour(self) -> str:
        """Put the text where it belongs."""
        widget, text = self._widget, "".join(self._text)
        self._text, self._widget, self._pour_time = [], None, time.monotonic()
        if not text:
            return ""
        before = () if self._to_clear is widget else widget.outputs
        last = before[-1] if before else {}
        if last.get("output_type") == "stream" and last.get("name") == "stdout":
            widget.outputs = (*before[:-1], {**last, "text": last["text"] + text})
            self._to_clear = None
        else:
            self._add(widget, {"output_type": "stream", "name": "stdout", "text": text})
        return text

    def _add(self, widget: Any, output: dict[str, Any]) -> None:
        before = () if self._to_clear is widget else widget.outputs
        self._to_clear = None
        widget.outputs = (*before, output)


def _instances() -> Mapping[str, Any]:
    """All live widgets by their ids."""
    widget = sys.modules.get("ipywidgets.widgets.widget")
    instances = getattr(widget, "_instances", None)
    if instances is None:  # ipywidgets 7
        instances = getattr(getattr(widget, "Widget", None), "widgets", None)
    return instances if isinstance(instances, Mapping) else {}


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
