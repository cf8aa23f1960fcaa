"""The journal: what a conversation leaves on disk for the kernel that comes after."""

from __future__ import annotations

import json
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmc_jupyter.history import Journal
from lmc_jupyter.lmc import Message


def said(text, role="user", **extra):
    return Message(role, "message", content=text).stamped().marked(**extra)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lmc-kernel-1.jsonl"


def test_a_conversation_comes_back_as_it_was(path):
    image = Message("computer", "image", "base64.png", "aGk=").stamped()
    told = [said("Größe?"), said("a\nb", "assistant", partial=True), image]
    Journal(path).keep(told)
    assert Journal(path).read() == told


def test_there_is_nothing_where_nothing_was_kept(path):
    assert Journal(path).read() == []
    assert not path.exists()


def test_only_its_owner_can_read_it(path):
    before = os.umask(0)
    try:
        Journal(path).keep([said("secret")])
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_new_is_added_and_the_rest_is_not_written_again(path):
    journal, told = Journal(path), [said("one")]
    journal.keep(told)
    first = path.read_bytes()
    path.write_bytes(first.replace(b"one", b"ONE"))  # would be put right by a second writing
    told.append(said("two"))
    journal.keep(told)
    assert [json.loads(line)["content"] for line in path.read_bytes().splitlines()] == [
        "ONE",
        "two",
    ]


def test_with_the_last_message_the_file_goes(path):
    journal = Journal(path)
    journal.keep([said("one")])
    journal.keep([])
    assert not path.exists()
    journal.keep([said("two")])
    assert [message.content for message in Journal(path).read()] == ["two"]


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=8))
def test_whatever_becomes_of_a_conversation_the_file_is_in_step(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("journal") / "j.jsonl"
    journal, words = Journal(path), [said(f"{n} {'x' * n}") for n in range(4)]
    for step in steps:
        told = [words[n] for n in step]
        journal.keep(told)
        assert Journal(path).read() == told


def test_a_journal_that_was_read_goes_on(path):
    Journal(path).keep([said("one"), said("two")])
    journal = Journal(path)
    told = journal.read()
    journal.keep([*told, said("three")])
    assert [message.content for message in Journal(path).read()] == ["one", "two", "three"]


DEEP = b"[" * 100_000 + b"\n"


@pytest.mark.parametrize("cut", [b'{"role": "us', b"\xff\n", b'{"role": "robot"}\n', b"[]\n", DEEP])
def test_a_line_that_a_dying_kernel_has_cut_is_counted_and_written_over(path, cut):
    Journal(path).keep([said("one")])
    with path.open("ab") as file:
        file.write(cut)
    journal = Journal(path)
    told = journal.read()
    assert [message.content for message in told] == ["one"]
    assert journal.lost == 1
    journal.keep([*told, said("two")])
    assert [message.content for message in Journal(path).read()] == ["one", "two"]


def test_journals_of_kernels_that_are_gone_are_removed(tmp_path):
    for name in ("kernel-a", "kernel-b"):
        (tmp_path / f"{name}.json").write_text("{}")
        Journal.of_kernel(tmp_path / f"{name}.json").keep([said(name)])
    (tmp_path / "kernel-a.json").unlink()
    journal = Journal.of_kernel(tmp_path / "kernel-b.json")
    assert [message.content for message in journal.read()] == ["kernel-b"]
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["lmc-kernel-b.jsonl"]
