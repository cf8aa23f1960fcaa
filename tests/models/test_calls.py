"""Calls of a model: their arguments become code as they come, whatever their JSON holds."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import amount
from test_reply import pieces, read

from lmc_jupyter.lmc import LANGUAGES
from lmc_jupyter.models.reply import Reply

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3)
    ),
)


@given(
    st.dictionaries(st.text(max_size=5), JSON, max_size=3),
    st.text(max_size=30),
    st.booleans(),
    st.booleans(),
    st.integers(1, 7),
)
def test_the_code_of_a_call_is_what_json_says(
    extra: dict[str, Any], code: str, first: bool, ascii_: bool, step: int
) -> None:
    given_ = {"language": "python", "code": code}
    given_ = {**extra, **given_} if first else {**given_, **extra, **given_}
    text = json.dumps(given_, ensure_ascii=ascii_)
    parts = [text[i : i + step] for i in range(0, len(text), step)]
    messages, error, _ = read(pieces([("tool", (0, "c", "execute"), parts)]))
    assert error == ""
    assert messages == [["code", "python", None, code]]


@given(st.text(alphabet='{}[]":,\\ un0a1e-', max_size=40), st.integers(1, 4))
@settings(max_examples=amount(100, 500))
def test_no_arguments_pass_that_json_refuses(text: str, step: int) -> None:
    text = '{"language": "python", "code": "1"' + text
    parts = [text[i : i + step] for i in range(0, len(text), step)]
    messages, error, _ = read(pieces([("tool", (0, "c", "execute"), parts)]))
    try:
        json.loads(text, strict=False)
    except ValueError:
        assert error
    else:
        assert messages or "twice" in error


def test_a_value_that_is_not_needed_is_read_over_and_a_long_one_refused() -> None:
    text = '{"more": [%s], "language": "python", "code": "1"}'
    for count, good in ((1_000, True), (10_000, False)):
        parts = list(text % ",".join("0" * count))
        messages, error, _ = read(pieces([("tool", (0, "c", "execute"), parts)]))
        assert messages == ([["code", "python", None, "1"]] if good else [])
        assert ("the value of 'more'" in error) is not good


def test_code_of_a_call_streams_while_its_json_is_partial() -> None:
    reply = Reply(LANGUAGES)
    assert list(reply.tool(0, "c", "execute", '{"language": "python", "code": "')) == []
    assert [piece.content for piece in reply.tool(0, None, None, "x = \\")] == ["x = "]
    assert [piece.content for piece in reply.tool(0, None, None, 'n1"')] == ["\n1"]
    assert [piece.end for piece in reply.tool(0, None, None, "}")] == [True]
