"""In order, joined, bounded, and counted beyond the bounds."""

from __future__ import annotations

import pytest

from lmc_jupyter.computer import output_buffer as module
from lmc_jupyter.computer.output_buffer import OutputBuffer
from lmc_jupyter.lmc import Chunk


def image(content="AAAA"):
    return Chunk("computer", "image", "base64.png", content, end=True)


def line(number):
    return Chunk("computer", "console", "active_line", number)


def contents(box):
    return [chunk.content for chunk in box.take()]


def test_writes_that_follow_each_other_are_one_piece():
    box = OutputBuffer()
    for text in ("a", "\n", "", "b"):
        box.text(text)
    assert contents(box) == ["a\nb"]
    assert contents(box) == []


def test_the_order_of_text_images_and_lines_is_kept():
    box = OutputBuffer()
    box.put(line(1))
    box.text("a")
    box.put(image())
    box.text("b")
    box.put(line(2))
    box.put(line(3))
    assert contents(box) == [1, "a", "AAAA", "b", 3]


def test_a_line_that_has_begun_is_left_once_so_that_it_comes_as_one_piece():
    box = OutputBuffer()

    def taken():
        return [chunk.content for chunk in box.take(whole_lines=True)]

    box.text("adding")
    assert taken() == []
    for text in (" ", "3", "\n", "addi"):
        box.text(text)
    assert taken() == ["adding 3\n"]
    box.text("ng")
    assert taken() == ["adding"]  # it stands there for a while: live output goes on
    box.text(" 4")
    assert taken() == []
    box.put(image())
    box.text("\nnext")
    assert taken() == [" 4", "AAAA"]
    assert taken() == ["\nnext"]


def test_an_active_line_cuts_no_line_that_is_written_in_pieces():
    box = OutputBuffer()
    for text in ("whole\n", "adding"):
        box.text(text)
    box.put(line(3))
    box.text(" 3\n")
    box.put(line(4))
    box.text("next\n")
    assert contents(box) == ["whole\nadding 3\n", 4, "next\n"]


def test_a_line_stands_by_itself():
    box = OutputBuffer()
    box.text("open")
    box.line("whole")
    assert contents(box) == ["open\nwhole\n"]
    box.line("next")
    box.text("open")
    assert contents(box) == ["next\nopen"]
    box.line("after what was taken")
    assert contents(box) == ["\nafter what was taken\n"]


def test_a_muted_thread_is_not_heard():
    import threading

    box = OutputBuffer()
    box.muted_threads.add(threading.get_ident())
    box.text("a")
    box.line("b")
    assert contents(box) == []


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "HEAD", 10)
    monkeypatch.setattr(module, "TAIL", 4)
    monkeypatch.setattr(module, "RICH", 8)
    return OutputBuffer()


def test_the_head_and_the_tail_are_kept_and_the_middle_is_counted(small):
    for n in range(100):
        small.text(f"{n:02}")
    small.finish()
    assert (
        "".join(contents(small)) == "0001020304\n… 186 characters were shown and not saved …\n9899"
    )


def test_one_write_may_be_beyond_both_bounds(small):
    small.text("x" * 1_000_000)
    small.finish()
    assert "".join(contents(small)) == (
        "x" * 10 + "\n… 999,986 characters were shown and not saved …\n" + "x" * 4
    )


def test_an_image_comes_behind_the_tail_before_it(small):
    small.text("x" * 20)
    small.put(image())
    small.text("end")
    small.finish()
    assert contents(small)[1:] == ["AAAA", "end"]


def test_images_beyond_the_bound_are_counted(small):
    for _ in range(5):
        small.put(image())
    small.finish()
    assert contents(small) == [
        "AAAA",
        "AAAA",
        "\n… 3 more images or displays were shown and not saved …\n",
    ]


def test_half_a_surrogate_pair_cannot_break_a_front_end():
    box = OutputBuffer()
    box.text("a\ud800b")
    assert contents(box) == ["a?b"]


def test_control_what_is_cut_or_half_is_no_text_by_itself(record_property):
    data = "é日🎉".encode()
    broken = 0
    for at in range(1, len(data)):
        try:
            data[:at].decode()
        except UnicodeDecodeError:
            broken += 1
    with pytest.raises(UnicodeEncodeError):
        "a\ud800b".encode()
    assert broken
    record_property("figure", f"{broken} of {len(data) - 1} cuts, read by themselves, are no text")


def test_displays_without_end_are_counted_and_lines_are_not_displays(monkeypatch):
    monkeypatch.setattr(module, "DISPLAYS", 3)
    box = OutputBuffer()
    for number in range(10):
        box.put(line(number))
        box.put(image())
    box.finish()
    found = list(box.take())
    assert [c.type for c in found].count("image") == 3
    assert "7 more images or displays were shown" in found[-1].content


def test_a_loop_that_prints_without_end_is_bounded_though_its_line_moves(small):
    for number in range(1_000):
        small.put(line(number))
        small.text("x" * 10)
    small.finish()
    text = "".join(each for each in contents(small) if isinstance(each, str))
    assert text == "x" * 10 + "\n… 9,986 characters were shown and not saved …\n" + "x" * 4


def test_a_line_begins_on_a_line_of_its_own_though_the_active_line_has_moved():
    outbox = OutputBuffer()
    outbox.text("half")
    outbox.put(Chunk("computer", "console", "active_line", 2))
    outbox.line("Error: why")
    assert "".join(str(c.content) for c in outbox.take() if c.format == "output") == (
        "half\nError: why\n"
    )


def test_a_line_after_text_that_was_read_begins_on_a_line_of_its_own():
    outbox = OutputBuffer()
    outbox.text("half")
    read = [c.content for c in outbox.take()]
    outbox.put(Chunk("computer", "console", "active_line", 2))
    outbox.line("Error: why")
    assert read == ["half"]
    assert [c.content for c in outbox.take() if c.format == "output"] == ["\nError: why\n"]
