"""Files of GLM chat histories that want to do harm: a sentence each, and nothing is done or built.

That it is quick is told by what was built: counts of events and fields, not a clock. The benchmark
"a hostile file" has the seconds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import strict_json, strict_yaml
from lmc_jupyter.formats.glm import as_json, as_protobuf, as_yaml, dictionary

PB = as_protobuf
BOMB = "a: &a [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

YAMLS = {
    "aliases of collections": (BOMB, r"line 2: \*a repeats a list or a mapping"),
    "a mapping of aliases": ("a: &a {x: 1}\nb: [*a, *a]", "repeats a list or a mapping"),
    "a list in itself": ("&a [*a]", "repeats a list or a mapping"),
    "braces": ("{" * 500, "a key is a list or a mapping"),
    # what the parser refuses by itself, or hands on event by event, as its version has it
    "many braces": ("{" * 2000, "a key is a list or a mapping|line 1: it is nested deeper than 64"),
    "many braces with keys": ("{a: " * 2000, "line 1: it is nested deeper than 64"),
    "brackets": ("[" * 2000, "nested deeper than 64"),
    "dashes": ("- " * 2000, "nested deeper than 64"),
    "question marks": ("? " * 2000, "must be text"),
    "merge keys": ("a: {<<: {b: 1}}", "merge key"),
    "a command": ("!!python/object/apply:os.system ['touch HARM']", r"tag !!python/object/apply"),
    "a command, said in full": (
        "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch HARM']",
        "the tag !!python/object/apply:os.system is not read",
    ),
    "a new object": ("!!python/object/new:os.system ['touch HARM']", "is not read"),
    "a module": ("!!python/module:os", "is not read"),
    "a tag like one that is taken": (
        "history: [{role: !!python/object/apply:evil.ConversationRoles [USER]}]",
        "evil.ConversationRoles is not read",
    ),
    "a role's tag at a mapping": ("history: [{role: !ConversationRole {a: 1}}]", "is no word"),
    "binary": ("history: !!binary aGk=", "!!binary is not read"),
    "a set": ("!!set {a, b}", "!!set is not read"),
    "an ordered mapping": ("!!omap [a: 1]", "!!omap is not read"),
    "two documents": ("history: []\n---\nhistory: []", "a second document begins"),
    "a key twice": ("history: []\nhistory: []", "the key 'history' is there twice"),
    "a key twice by an alias": ("&a history: []\n*a : []", "the key 'history' is there twice"),
    "a number without end": (f"history: {'9' * 5000}", "its 'history' is a text"),
    "a binary number without end": (f"history: 0b{'1' * 5000}", "its 'history' is a text"),
    "a float over all": ("history: 1.0e+999", "is no number that can be kept"),
    "not a number": ("history: .nan", "is no number"),
    "a wrong plain tag": ("history: !!int x", "is no int"),
    "a null character": ("history: a\x00b", "not allowed"),
    "nothing": ("", "it is empty"),
    "a text": ("hello", "it is a text"),
    "no history": ("settings: {}", "it needs a list 'history'"),
    "history of text": ("history: abc", "its 'history' is a text"),
    "no end": ("history: [", "no YAML that can be read: line"),
    "tabs": ("history:\n\t- a", "no YAML that can be read: line 2"),
    "an anchor of nobody": ("history: *nobody", "repeats a list or a mapping"),
    "what LMC is not": (
        "history: [{user: {content: a, meta: {lmc: {messages: [{type: bomb}]}}}}]",
        "entry 1 of its history: unknown type 'bomb'",
    ),
    "messages that are none": (
        "history: [{user: {content: a, meta: {lmc: {messages: [1]}}}}]",
        "must be a list of mappings",
    ),
}


@pytest.mark.parametrize("name", YAMLS)
def test_hostile_yaml_is_a_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, said = YAMLS[name]
    with pytest.raises(FormatError, match=said) as caught:
        as_yaml.read(text.encode())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [b"\xff\xfe\xfd", b"history: \xff", b"\xfe\xff\xd8"])
def test_bytes_that_are_no_text(data: bytes) -> None:
    with pytest.raises(FormatError, match="no text in UTF-8"):
        as_yaml.read(data)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the events that the parser is asked for."""
    asked = [0]
    parse = yaml.parse

    def count(*given: Any, **more: Any) -> Any:
        for event in parse(*given, **more):
            asked[0] += 1
            yield event

    monkeypatch.setattr(strict_yaml.yaml, "parse", count)
    return asked


LARGE: dict[str, tuple[Callable[[], str], int]] = {
    "a bomb": (lambda: BOMB, 40),
    "braces": (lambda: "{" * 1_000_000, 8),
    "brackets": (lambda: "[" * 1_000_000, 70),
    "a list without end": (lambda: "[" + "a," * 2_000_000 + "]", strict_yaml.MAX_EVENTS + 1),
    "empty lists": (lambda: "[" + "[]," * 2_000_000 + "]", strict_yaml.MAX_EVENTS + 1),
    "a text without end": (lambda: "a" * (strict_yaml.MAX_CHARS + 1), 0),
    "a text told again and again": (
        lambda: "[&a " + "x" * 1_000_000 + "," + "*a," * 1_000 + "]",
        strict_yaml.MAX_CHARS // 1_000_000 + 5,
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_text_is_given_up_after_so_many_events(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, most = LARGE[name]
    asked = counted(monkeypatch)
    with pytest.raises(FormatError):
        strict_yaml.load(make(), "it")
    assert asked[0] <= most


def test_scalars_are_what_yaml_says() -> None:
    text = (
        "{a: 1.5, b: 010, c: 0x1f, d: yes, e: ~, f: 2020-01-01, g: 1:30, 1: x, h: !!str 3, "
        "i: !!float 3, j: '1', k: -3, l: 1e5, m: 0b11, n: 1_000, o: .5, p: 1., q: OFF, yes: z, "
        "r: ! 7, s: !!bool on, t: '', u: , v: 08, w: 1.5e+3}"
    )
    assert strict_yaml.load(text, "it") == {
        "a": 1.5, "b": 8, "c": 31, "d": True, "e": None, "f": "2020-01-01", "g": "1:30", "1": "x",
        "h": "3", "i": 3, "j": "1", "k": -3, "l": "1e5", "m": 3, "n": 1000, "o": 0.5, "p": 1.0,
        "q": False, "yes": "z", "r": "7", "s": True, "t": "", "u": None, "v": "08", "w": 1500.0,
    }  # fmt: skip


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["yes", "1.5e3", "0x1f", "<<", "=", "~", "1:30", "2020-01-01", "- a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)  # fmt: skip


@given(VALUES)
def test_what_pyyaml_writes_is_read_as_it_was(value: Any) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    assume(yaml.safe_load(text) == value)  # it writes U+0085 as a line break
    assert strict_yaml.load(text, "it") == value


@given(st.text("ab:-[]{}&*!<>|'\"#%@,? \n\t0.~", max_size=30))
def test_what_is_read_is_what_pyyaml_reads_or_refused(text: str) -> None:
    assume(not re.search(r"!(?=[\s,\]}:]|$)", text))  # a text by YAML, not so for PyYAML
    try:
        mine = strict_yaml.load(text, "it")
    except FormatError:
        return
    try:
        theirs = yaml.load(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, TypeError):
        return  # dates that are none, keys that are lists
    assert plain(mine) == plain(theirs)


def plain(value: Any) -> Any:
    """As `strict_yaml` has it: keys are texts, as far as that can be told afterwards."""
    if isinstance(value, dict):
        return [plain(each) for each in value.values()]
    return [plain(each) for each in value] if isinstance(value, list) else value


# JSON ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"history": ' * 1000,
        '{"history": [], "history": []}',
        '{"history": [NaN]}',
        f'{{"history": [{"9" * 5000}]}}',
        '{"history": [1e999]}',
        '{"history": {}}',
        '{"history": 1}',
        "[[[]]]"[:-1],
        "null",
    ],
)
def test_hostile_json_is_a_sentence(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        as_json.read(text.encode())
    assert "\n" not in str(caught.value)


class Calls(list[Any]):
    """Calls, and how often somebody has gone through all of them."""

    passes = 0

    def __iter__(self) -> Any:
        self.passes += 1
        return super().__iter__()

    def __getitem__(self, key: Any) -> Any:
        self.passes += isinstance(key, slice)
        return super().__getitem__(key)


def test_many_calls_of_one_entry_do_not_cost_their_square() -> None:
    call = {"name": "execute", "parameters": {"language": "python", "code": "1"}, "more": 1}
    calls = Calls([call] * 500)
    found = dictionary.from_dict({"history": [{"assistant": {"function_calls": calls}}]})
    assert len(found.messages) == 500
    assert calls.passes < 10
    assert dictionary.to_dict(found)[0]["history"] == [
        {"assistant": {"function_calls": [call] * 500}}
    ]


def test_so_many_entries_and_no_more() -> None:
    with pytest.raises(FormatError, match="100,001 entries"):
        dictionary.from_dict({"history": [{}] * (dictionary.MAX_ENTRIES + 1)})
    calls = [{"name": "f"}] * 1_000
    many = [{"assistant": {"function_calls": calls}}] * (dictionary.MAX_CALLS // 1_000 + 1)
    with pytest.raises(FormatError, match="101,000 calls"):
        dictionary.from_dict({"history": many})


# Protobuf -----------------------------------------------------------------------------------------


def whole() -> bytes:
    """A file with every key."""
    text = (Path(__file__).parents[2] / "files" / "glm" / "specification.yaml").read_text("utf-8")
    return PB.write(dictionary.from_dict(yaml.safe_load(text)))[0]


def outcome(data: bytes) -> str:
    """What reading gives: "read", or the sentence."""
    try:
        PB.read(data)
    except FormatError as error:
        told = str(error)
    else:
        told = "read"
    assert "\n" not in told
    return told


def test_a_file_cut_at_every_byte() -> None:
    data = whole()
    outcomes = [outcome(data[:at]) for at in range(len(data))]
    assert sum(each != "read" for each in outcomes) > len(data) * 0.9
    # what is read was cut between two fields of the outermost message
    assert outcomes[0] == "read"


def test_a_file_with_wrong_bytes_anywhere() -> None:
    data, rng = whole(), random.Random(5)
    for _ in range(500):
        wrong = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            wrong[rng.randrange(len(wrong))] = rng.randrange(256)
        outcome(bytes(wrong))


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    outcome(data)


def key(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(number: int, content: bytes) -> bytes:
    return key(number, 2) + varint(len(content)) + content


def nested(levels: int) -> bytes:
    """Lists within lists, so many levels, under `more`."""
    value = b""
    for _ in range(levels):
        value = field(6, field(1, value))  # Value.list_value, ListValue.values
    return field(15, field(1, field(1, b"a") + field(2, value)))


PROTOBUFS = {
    "a length of 2 GB": (key(1, 2) + varint(1 << 31), "or damaged"),
    "a length of 2^63": (key(1, 2) + varint(1 << 63), "or damaged"),
    "a number without end": (b"\xff" * 100, "or damaged"),
    "deep": (nested(60), "or damaged"),
    "very deep": (nested(5_000), "or damaged"),
    "a group": (key(1, 3) + key(1, 4), "read"),
    "a group without end": (key(1, 3), "or damaged"),
    "no such kind": (key(1, 7), "or damaged"),
    "a number for a message": (key(1, 0) + b"\x01", ""),
    "text that is no UTF-8": (
        field(2, field(1, b"\xff\xfe")),
        "not a GLM chat history in protobuf",
    ),
    "not a number": (
        field(15, field(1, field(1, b"a") + field(2, key(2, 1) + b"\0\0\0\0\0\0\xf8\x7f"))),
        "a number that is none",
    ),
    "entries without end": (b"\x0a\x00" * (PB.MAX_VALUES + 1), "more than 400,000 values"),
    "values without end": (
        field(15, field(1, field(2, field(6, b"\x0a\x00" * PB.MAX_VALUES)))),
        "more than 400,000 values",
    ),
    "bytes without end": (bytes(PB.MAX_BYTES + 1), "the most that are read"),
}


@pytest.mark.parametrize("name", PROTOBUFS)
def test_hostile_protobuf_is_a_sentence(name: str) -> None:
    data, said = PROTOBUFS[name]
    told = outcome(data)
    assert said in told
    assert len(told) < 300


def test_fields_of_nobody_are_left_out_and_said() -> None:
    conversation = PB.read(whole() + field(99, b"hello") + key(98, 0) + b"\x01")
    assert conversation.losses[0] == (
        "11 of its bytes are fields that glm.proto has not: they were left out."
    )


def test_a_nesting_that_is_written_is_read() -> None:
    value: Any = "x"
    for _ in range(200):
        value = {"a": [value]}
    _, lost = dictionary.to_dict(dictionary.Conversation(extra={"glm": {"deep": value}}))
    assert "is nested too deeply" in lost[0]
    for form in (as_yaml, as_json, PB):
        data, lost = form.write(dictionary.Conversation(extra={"glm": {"deep": value}}))
        assert "is nested too deeply" in lost[0]
        assert "deep" in form.read(data).extra["glm"]
    assert strict_json.MAX_DEPTH > dictionary.MAX_DEPTH
