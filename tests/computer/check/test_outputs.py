"""What counts as the same output."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_output

from lmc_jupyter.computer.check.outputs import Outputs


def stream(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def shown(**data):
    return new_output("display_data", {key.replace("_", "/"): each for key, each in data.items()})


def result(text, **more):
    return new_output("execute_result", {"text/plain": text, **more}, execution_count=3)


def failure(name, message):
    return new_output("error", ename=name, evalue=message, traceback=["a", "b"])


def difference(saved, new):
    return Outputs.of(saved).difference(Outputs.of(new))


FIGURE = {"image_png": "aGk=", "text_plain": "<Figure size 640x480 with 1 Axes>"}

SAME = {
    "text in other pieces": ([stream("a\n"), stream("b\n")], [stream("a\nb\n")]),
    "text as a list of lines": ([{**stream(""), "text": ["a\n", "b"]}], [stream("a\nb")]),
    "blanks at the ends": ([stream("a  \n\n")], [stream("a")]),
    "colours": ([stream("\x1b[31mred\x1b[0m")], [stream("red")]),
    "the end of a progress bar": ([stream("10%\r50%\r100%")], [stream("100%")]),
    "addresses": ([result("<A at 0x7f3a2b1c>")], [result("<A at 0x55aa66bb77>")]),
    "the times of %time": (
        [stream("CPU times: user 4 ms, sys: 2 ms, total: 6 ms\nWall time: 9 ms\n"), result("45")],
        [stream("CPU times: total: 0 ns\nWall time: 1 s\n"), result("45")],
    ),
    "the times of %timeit": (
        [stream("5 ns ± 1 ns per loop (mean ± std. dev. of 7 runs, 100 loops each)")],
        [stream("7 ns ± 2 ns per loop (mean ± std. dev. of 7 runs, 100 loops each)")],
    ),
    "what %time and %timeit say of a slow machine": (
        [stream("5 ns ± 1 ns per loop (mean ± std. dev. of 7 runs, 100 loops each)\n9")],
        [
            stream(
                "The slowest run took 277.33 times longer than the fastest. This could mean that "
                "an intermediate result is being cached.\nCompiler time: 0.14 s\nParser   : 0.3 s\n"
                "5 us ± 1 us per loop (mean ± std. dev. of 7 runs, 100 loops each)\n9"
            )
        ],
    ),
    "a number of the cell": ([{**result("1"), "execution_count": 9}], [result("1")]),
    "stderr or none": ([stream("a\n"), stream("W1", "stderr")], [stream("a\n")]),
    "other stderr": ([stream("W1", "stderr")], [stream("W2", "stderr")]),
    "stderr among the text, as exported": (
        [stream("a\nW: /tmp/ipykernel_12/345.py:1: old\n2\n")],
        [stream("a\n"), stream("W: /tmp/ipykernel_99/678.py:1: old", "stderr"), result("2")],
    ),
    "a result that was printed": ([stream("2\n")], [result("2")]),
    "another picture": ([shown(**FIGURE)], [shown(**{**FIGURE, "image_png": "aG8="})]),
    "a picture as exported": (
        [shown(image_png="aGk=", text_plain="(an image)")],
        [shown(**FIGURE)],
    ),
    "the ids of a page": (
        [shown(text_html="<p id='a1'>x</p><script>1</script>", text_plain="<HTML object>")],
        [shown(text_html="<p id='b2'>x</p><script>2</script>", text_plain="<HTML object>")],
    ),
    "an error in another traceback": ([failure("KeyError", "'a'")], [failure("KeyError", "'a'")]),
}


@pytest.mark.parametrize(("saved", "new"), SAME.values(), ids=SAME.keys())
def test_this_is_the_same(saved, new):
    assert difference(saved, new) == []
    assert difference(new, saved) == []


DIFFERENT = {
    "a number": ([result("0.5")], [result("0.7")], "saved: 0.5", "now:   0.7"),
    "a later line": ([stream("a\nb")], [stream("a\nc")], "saved: b", "now:   c"),
    "a line less": ([stream("a\nb")], [stream("a")], "saved: b", "now:   no output"),
    "any output": ([], [stream("a")], "saved: no output", "now:   a"),
    "the words of a page": (
        [shown(text_html="<b>one</b>", text_plain="<HTML object>")],
        [shown(text_html="<b>two</b>", text_plain="<HTML object>")],
        "saved: one",
        "now:   two",
    ),
    "no figure": ([shown(**FIGURE)], [], "saved: 1 figure", "now:   no figure"),
    "figures": ([shown(**FIGURE)], [shown(**FIGURE)] * 2, "saved: 1 figure", "now:   2 figures"),
    "no error": ([failure("KeyError", "'a'")], [], "saved: KeyError: 'a'", "now:   no error"),
    "a time of the person's own": ([stream("3 s")], [stream("5 s")], "saved: 3 s", "now:   5 s"),
    "a short hexadecimal number": (
        [result("0x1f")],
        [result("0x2f")],
        "saved: 0x1f",
        "now:   0x2f",
    ),
}


@pytest.mark.parametrize(("saved", "new", "was", "now"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_this_is_different(saved, new, was, now):
    assert difference(saved, new) == [was, now]


def test_a_long_line_is_truncated():
    (was, _) = difference([result("x" * 500)], [result("y")])
    assert len(was) < 120
    assert was.endswith("…")
