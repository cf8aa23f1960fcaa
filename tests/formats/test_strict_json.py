"""JSON of strangers: a sentence, no harm, soon."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmc_jupyter import formats
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import strict_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(VALUES, st.booleans())
def test_any_json_is_read_as_the_standard_library_does(value: object, ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    notes: list[str] = []
    found = strict_json.loads(data, notes)
    clean = not notes
    assert (json.dumps(found) == json.dumps(value)) == clean


BOMBS = {
    "deep lists": (b"[" * 100_000, "deep"),
    "deep and closed": (b"[" * 65 + b"]" * 65, "more than 64 deep"),
    "deep objects": (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "deep"),
    "deep in both": (b'[{"a":' * 40 + b"1" + b"}]" * 40, "deep"),
    "wide": (b"[" + b"[]," * 3_000_000 + b"[]]", "commas, brackets and lines, and"),
    "many strings": (b"[" + b'"",' * 3_100_000 + b'""]', "commas, brackets and lines, and"),
    "small objects": (b"[" + b'{"a":1},' * 1_100_000 + b"{}]", "commas, brackets and lines, and"),
    "lone surrogates": (b'["' + b"\\ud800" * 2_100_000 + b'"]', "commas, brackets and lines, and"),
    "many quotation marks": (b'"' * 8_000_000, "not JSON"),
    "a string without end": (b'["' + b"\\" * 5_000_001, "not JSON"),
    "a key twice": (b'[{"role": "user", "role": "computer"}]', "'role' stands twice"),
    "a key twice by an escape": (b'[{"a": 1, "\\u0061": 2}]', "'a' stands twice"),
    "NaN": (b"[NaN]", "NaN is no number"),
    "infinity": (b"[-Infinity]", "-Infinity is no number"),
    "too large for a float": (b"[1e999]", "1e999 is no number"),
    "a long number": (b"[" + b"9" * 5_000 + b"]", "more than 300 digits"),
    "a very long number": (b"[" + b"1" * 10_000_000 + b"]", "more than 300 digits"),
    "no UTF-8": (b'["\xff"]', "no text in UTF-8"),
    "half a UTF-16": (b"\xff\xfe[", "no text|not JSON"),
    "nothing": (b"", "not JSON"),
    "only a mark": (b"\xef\xbb\xbf", "not JSON"),
    "a control character": (b'["a\x00"]', "not JSON"),
    "two values": (b"[] []", "not JSON"),
    "a comma too many": (b"[1,]", "not JSON"),
    "not closed": (b'[{"role": "user"', "not JSON|close"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_a_sentence(name: str) -> None:
    data, words = BOMBS[name]
    with pytest.raises(FormatError, match=words) as told:
        strict_json.loads(data)
    assert len(str(told.value)) < 400
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("format_", ["lmc", "openai", "notebook", "jupyter-ai"])
def test_a_bomb_is_a_sentence_in_every_format(format_: str) -> None:
    for name, (data, _) in BOMBS.items():
        try:
            found = formats.read(data, format_)
        except FormatError:
            continue
        pytest.fail(f"{name} was read: {found!r:.200}")


def test_more_than_64_megabytes_are_not_looked_at() -> None:
    with pytest.raises(FormatError, match="67,108,865 bytes"):
        strict_json.loads(b" " * ((64 << 20) + 1))


def test_a_file_of_more_is_not_read_whole(tmp_path) -> None:
    path = tmp_path / "long.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a sparse file: reading it whole would take the memory
    with pytest.raises(FormatError, match="more than 67,108,864 bytes"):
        formats.read(path)


def test_what_is_at_a_limit_is_read_and_one_more_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(strict_json, "MAX_BYTES", 12)
    assert strict_json.loads(b"[1, 2, 3, 4]") == [1, 2, 3, 4]
    with pytest.raises(FormatError, match=r"13 bytes, and 12 .* split$"):
        strict_json.loads(b"[1, 2, 3, 4] ")
    monkeypatch.setattr(strict_json, "MAX_VALUES", 4)
    assert strict_json.lines(b"[1]\n[2]\n") == [[1], [2]]
    with pytest.raises(FormatError, match=r"has 5 commas, .* 4 are the most that are read$"):
        strict_json.lines(b"[1]\n[2]\n\n")
    monkeypatch.setattr(strict_json, "MAX_DIGITS", 3)
    assert strict_json.loads(b"[999]") == [999]
    with pytest.raises(FormatError, match="more than 3 digits"):
        strict_json.loads(b"[1000]")


@pytest.mark.parametrize(
    ("data", "name"),
    [(b'["\xff"]', "UTF-8 (byte 2)"), (b'\xef\xbb\xbf["\xff"]', "UTF-8 (byte 2)")],
)
def test_bytes_that_are_no_text_are_counted_and_their_encoding_named(data, name) -> None:
    with pytest.raises(FormatError) as refusal:
        strict_json.loads(data)
    assert f"no text in {name}: it is not JSON" in str(refusal.value)


def test_of_several_keys_the_one_that_stands_twice_is_named() -> None:
    with pytest.raises(FormatError, match="'b' stands twice"):
        strict_json.loads(b'[{"a": 1, "b": 2, "c": 3, "b": 4}]')


def test_64_levels_and_brackets_in_strings_are_no_bomb() -> None:
    assert strict_json.loads(b"[" * 64 + b"]" * 64) == json.loads("[" * 64 + "]" * 64)
    text = "[" * 500 + '{"\\"' * 500 + "\\"
    assert strict_json.loads(json.dumps([text]).encode()) == [text]


def test_lone_surrogates_become_characters_and_are_said() -> None:
    notes: list[str] = []
    found = strict_json.loads(rb'{"a\ud800": ["\udc00x", "\ud83d\ude00", "\\ud800"]}', notes)
    assert found == {"a\N{REPLACEMENT CHARACTER}": ["\N{REPLACEMENT CHARACTER}x", "😀", "\\ud800"]}
    assert notes == [
        "2 characters of it are none (lone surrogates): each became \N{REPLACEMENT CHARACTER}."
    ]


def test_one_lone_surrogate_is_one_character_beside_those_that_stood_there() -> None:
    there = "\N{REPLACEMENT CHARACTER}"
    for read, text in ((strict_json.loads, r'["\uD800%s"]'), (strict_json.lines, r'"\uD800%s"')):
        notes: list[str] = []
        assert read((text % there).encode(), notes) == [there * 2]
        assert notes == [f"1 character of it is none (lone surrogates): each became {there}."]
        assert read((text % there).encode()) == [there * 2], "nobody reads the notes"
    notes = []
    assert strict_json.lines(b'"\\ud800"\n"\\udc00"\n', notes) == [there, there]
    assert len(notes) == 1, "one sentence for all lines"
    assert "2 characters" in notes[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_encodings(encoding: str) -> None:
    data = '["é€😀"]'.encode(encoding)
    if encoding == "utf-16-le":
        data = b"\xff\xfe" + data
    assert strict_json.loads(data) == ["é€😀"]


def test_lines_say_where_it_is_wrong() -> None:
    assert strict_json.lines(b'{"a": 1}\n\n{"b": 2}\n') == [{"a": 1}, {"b": 2}]
    with pytest.raises(FormatError, match="in line 3: it is not JSON"):
        strict_json.lines(b'{"a": 1}\n\n{"b": 2\n')


def test_lone_surrogates_are_found_whatever_the_encoding() -> None:
    assert strict_json.loads(r'["\ud800"]'.encode("utf-16")) == ["\N{REPLACEMENT CHARACTER}"]
