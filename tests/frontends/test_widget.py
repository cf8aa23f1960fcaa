"""What the widget sends is JSON that any front end can read."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from scripted import said

from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.widget import Widget

ANY_TEXT = st.text(st.characters(exclude_categories=()))
CONTENT = st.dictionaries(
    ANY_TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers() | ANY_TEXT,
        lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(ANY_TEXT, inner),
    ),
)


def widget_and_its_wire() -> tuple[Widget, list[dict]]:
    widget, sent = Widget("panel", "one"), []
    widget.comm.publish_msg = lambda *_, data=None, **__: sent.append(data["content"])
    return widget, sent


@given(CONTENT)
def test_whatever_is_sent_utf_8_can_hold(content):
    widget, sent = widget_and_its_wire()
    widget.send(content)
    text = json.dumps(sent[0], ensure_ascii=False)
    assert json.loads(text.encode()) == sent[0]
    written = json.dumps(content)
    if "\\ud" not in written:  # all else goes as it is
        assert text == json.dumps(content, ensure_ascii=False)


def test_of_what_streams_the_halves_of_a_character_are_joined_and_lone_ones_replaced():
    widget, sent = widget_and_its_wire()
    batch = Batch(widget.send)
    with batch.lock:
        for half in ("a\ud83d", "\ude00b\udc80"):
            batch.add_chunk(said(half))
    batch.flush()
    assert [each["grown"]["content"] for each in sent[0]["events"]] == ["a\U0001f600b\ufffd"]
