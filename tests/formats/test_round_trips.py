"""What is written is read again, equal but for what is named; what is named differs."""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from conversations import PNG, WAV, conversations, rows
from hypothesis import given
from hypothesis import strategies as st

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import formats
from lmc_jupyter.lmc import (
    CELL,
    FORMATS,
    KEYS,
    RECIPIENTS,
    ROLES,
    TAKINGS,
    Message,
    cell_of,
    clean,
    is_code,
    is_proposal,
)

BESIDE = {
    "title": "The title",
    "model": "The name of the model",
    "began": "The time of its beginning",
    "notebook": "The notebook's path",
    "events": "The record of the buttons",
    "extra": "What an imported file had",
}
OF_MESSAGES = {
    "kind": "is read back as",
    "content": "The content changes",
    "id": "The id is not in the file",
    "created_at": "The time of creation",
    "recipient": "The recipient is not",
    "extra": "Other keys (",
    "gone": "The file lacks some messages",
    "added": "more messages are read back than were saved",
}


KEPT_BY = {
    "LMC": ["lmc"],
    "notebooks": ["notebook"],
    "GLM": ["glm-yaml", "glm-json", "glm-protobuf"],
    "chat messages": ["openai"],
}
"""Words of the table of our keys -> names of formats."""


def exact(value: Any) -> str:
    """As JSON, in which 1 and 1.0 and true are three values."""
    return json.dumps(value, sort_keys=True)


def kinds(messages: Sequence[Message]) -> list[tuple[Any, ...]]:
    return [(each.role, each.type, each.format) for each in messages]


def beside(lost: Sequence[str]) -> set[str]:
    return {name for name, words in BESIDE.items() if any(each.startswith(words) for each in lost)}


def of_messages(lost: Sequence[str]) -> set[str]:
    return {name for name, words in OF_MESSAGES.items() if any(words in each for each in lost)}


def carried(module: Any, conversation: Conversation) -> tuple[Conversation, list[str]]:
    data, lost = module.write(conversation)
    again = module.read(data)
    twice, _ = module.write(again)
    assert module.read(twice).messages == again.messages, "reading and writing again changes it"
    return again, lost


def assert_exact(before: Conversation, after: Conversation, lost: list[str]) -> None:
    """What differs is named, and what is named differs."""
    for name in BESIDE:
        one, other = getattr(before, name), getattr(after, name)
        if name == "events":
            one, other = ([(e.at, dict(e.data)) for e in each] for each in (one, other))
        assert (exact(one) != exact(other)) == (name in beside(lost)), (name, lost)
    named = of_messages(lost)
    ones = [exact(each.to_dict()) for each in before.messages]
    others = [exact(each.to_dict()) for each in after.messages]
    assert (ones != others) == bool(named), lost
    count = sum(int(each.split()[0]) for each in lost if OF_MESSAGES["added"] in each)
    gone = sum(numbers(each) for each in lost if OF_MESSAGES["gone"] in each)
    assert len(after.messages) == len(before.messages) - gone + count
    if "gone" in named or "added" in named:
        assert_nothing_unnamed(before, after, named)
        return
    pairs = list(zip(before.messages, after.messages, strict=True))
    for name in ("content", "id", "created_at", "recipient", "extra"):
        differ = [
            i
            for i, (one, other) in enumerate(pairs, 1)
            if exact(as_data(getattr(one, name))) != exact(as_data(getattr(other, name)))
        ]
        assert bool(differ) == (name in named), (name, lost)
        said = [each for each in lost if OF_MESSAGES[name] in each]
        assert len(differ) == sum(map(numbers, said)), (name, lost)
    changed = kinds(before.messages) != kinds(after.messages)
    assert changed == ("kind" in named), lost


def assert_nothing_unnamed(before: Conversation, after: Conversation, named: set[str]) -> None:
    """Where the places do not tell which message became which: no value that was not there."""
    for name in ("content", "id", "created_at", "recipient", "extra"):
        if name not in named and "added" not in named:
            ones, others = (
                Counter(exact(as_data(getattr(each, name))) for each in side.messages)
                for side in (before, after)
            )
            assert not others - ones, name


def as_data(value: Any) -> Any:
    return dict(value) if hasattr(value, "keys") else value


def numbers(sentence: str) -> int:
    """How many messages a sentence names."""
    many = re.search(r"(\d+) messages \(", sentence)
    return int(many[1]) if many else 1


@pytest.mark.parametrize("name", ["lmc", "notebook", "openai"])
@given(conversation=conversations())
def test_round_trip(name: str, conversation: Conversation) -> None:
    after, lost = carried(formats()[name], conversation)
    assert_exact(conversation, after, lost)
    # a notebook has no escape sequences and no C1, which `assert_exact` has seen named
    if name == "notebook" and not re.search(r"\\x(1b|[89][0-9a-f])", repr(conversation)):
        assert not of_messages(lost)
        assert not beside(lost)
    if name == "lmc":
        paths = any(each.type == "image" and each.format is None for each in conversation.messages)
        assert of_messages(lost) <= ({"kind"} if paths else set()), "such an image is by its path"


READ_AND_WRITTEN = [
    name
    for name, module in formats().items()
    if hasattr(module, "read") and hasattr(module, "write")
]


@pytest.mark.parametrize("name", READ_AND_WRITTEN)
def test_every_row_of_the_protocol_by_every_role(name: str) -> None:
    """Hypothesis may miss one; here is each, by itself and behind all the others."""
    each = [
        Message(role, type_, format_, content, recipient).stamped()
        for role in ROLES
        for type_, format_ in rows()
        for recipient in (None, *RECIPIENTS)
        for content in [CONTENTS.get(format_ or "", CONTENTS.get(type_, "print(1)"))]
    ]
    assert {(m.role, m.type) for m in each} == {(r, t) for r in ROLES for t in FORMATS}
    alone = [[m for m in each if (m.type, m.format) == row and not m.recipient] for row in rows()]
    for some in (each, *alone):
        conversation = Conversation(some)
        after, lost = carried(formats()[name], conversation)
        if name.startswith("glm") or name in ("lmc", "notebook"):
            kept = [m for m in some if (m.type, m.format) != ("image", None)]
            assert [m for m in after.messages if m in kept] == kept, lost
        if not name.startswith("glm"):
            assert_exact(conversation, after, lost)


CONTENTS: dict[str, Any] = {
    "active_line": 3,
    "confirmation": {"type": "code", "format": "python", "content": "1"},
    "execution": {"type": "code", "format": "python", "content": "1"},
    "image": base64.b64encode(PNG).decode(),
    "audio": base64.b64encode(WAV).decode(),
    "path": "a/b.png",
}


@pytest.mark.parametrize("name", ["lmc", "notebook", "openai"])
def test_what_json_has_not_becomes_text_and_is_named(name: str) -> None:
    odd = {"nan": math.nan, "set": {1}, "bytes": b"x", 7: "key", "long": 10**400, "lone": "\ud800"}
    message = Message("user", "message", content="a\udc00b", extra=odd)
    data, lost = formats()[name].write(Conversation([message]))
    assert any(
        "Values that JSON cannot hold were saved as text: message 1" in each for each in lost
    )
    [after] = formats()[name].read(data).messages
    assert after.content == "a\N{REPLACEMENT CHARACTER}b"
    same = replace(message, content="a", extra={})
    assert formats()[name].write(Conversation([same]))[1] == []


def test_a_loss_is_told_by_the_number_of_its_message() -> None:
    said = [
        Message("user", "message", content="Hi."),
        Message("user", "file", content="a.csv"),
        Message("computer", "console", "active_line", 3),
    ]
    _, lost = formats()["openai"].write(Conversation(said, title="Hello"))
    assert lost == [
        "The title 'Hello' is not in the file.",
        "A message of the kind user file is read back as user message: message 2.",
        "The file lacks some messages, or has them at another place: message 3.",
        "The content changes: message 2.",
    ]


READ_AND_WRITTEN = [
    name
    for name, each in sorted(formats().items())
    if hasattr(each, "read") and hasattr(each, "write")
]


@pytest.mark.parametrize("name", READ_AND_WRITTEN)
@given(code=st.text(max_size=60), language=st.sampled_from(["python", "shell", "html"]))
def test_code_that_was_cut_off_never_waits_after_it_was_written_and_read(
    name: str, code: str, language: str
) -> None:
    module = formats()[name]
    question = Message("user", "message", content="Delete them.")
    cut = Message("assistant", "code", language, f"import os\n{code}").marked(partial=True)
    try:
        data, _ = module.write(Conversation([question.stamped(), cut.stamped()]))
        again = module.read(data).messages
    except FormatError:
        return  # a format that is only written, or holds no such text
    assert not (again and is_code(again[-1]))


@pytest.mark.parametrize("name", READ_AND_WRITTEN)
@given(
    code=st.text(max_size=60).map(clean),
    language=st.sampled_from(["python", "shell", "html"]),
    cell=st.none() | st.integers(1, 10**6),
    taken=st.none() | st.sampled_from(sorted(TAKINGS)),
)
def test_a_proposal_that_was_written_and_read_is_one_and_never_waits(
    name: str, code: str, language: str, cell: int | None, taken: str | None
) -> None:
    module = formats()[name]
    question = Message("user", "message", content="Write it as a function.")
    extra = {key: each for key, each in (("cell", cell), ("taken", taken)) if each is not None}
    proposal = Message("assistant", "code", language, f"import os\n{code}", "user", extra=extra)
    try:
        data, _ = module.write(Conversation([question.stamped(), proposal.stamped()]))
        again = module.read(data).messages
    except FormatError:
        return  # a format that holds no such text
    assert not any(map(is_code, again))
    [found] = filter(is_proposal, again)
    assert (found.format, found.recipient, cell_of(found)) == (language, "user", cell)


@pytest.mark.parametrize("key", KEYS)
def test_the_table_of_keys_says_which_files_keep_them(key):
    recipient = "user" if key == CELL else None
    code = Message("assistant", "code", "python", "1+1", recipient, extra={key: 7})
    found = set()
    for name, format_ in formats().items():
        if not (hasattr(format_, "read") and hasattr(format_, "write")):
            continue
        data, _ = format_.write(Conversation([code]))
        if key in format_.read(data).messages[0].extra:
            found.add(name)
    assert found == {each for word in KEYS[key][2].split(", ") for each in KEPT_BY[word]}
