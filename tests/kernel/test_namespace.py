"""What a model is told of the person's variables, without touching what is not known."""

from __future__ import annotations

import types
from collections import OrderedDict

import numpy as np
import pandas as pd
import pytest

from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.kernel.namespace import MAX_FRAME, describe, summary


def shell(**names):
    return types.SimpleNamespace(user_ns=names, user_ns_hidden={"hidden": 1})


class Trap:
    """Any look at it fails."""

    def _fail(self, *args):
        raise AssertionError("it was touched")

    __repr__ = __str__ = __len__ = __bool__ = __getattr__ = __iter__ = __eq__ = __hash__ = _fail
    shape = property(_fail)


class Liar(list):
    def __len__(self):
        raise AssertionError("it was asked")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (5, "int"),
        (2.5, "float"),
        (None, "None"),
        (True, "bool"),
        ("sk-secret", "str, 9 characters"),
        ("x" * 5000, "str, 5,000 characters"),
        (b"abc", "bytes, 3 bytes"),
        ([1, 2], "list, 2 items"),
        ({"a": 1}, "dict, 1 items"),
        (10**100_000, "int"),
        (np.zeros((3, 4)), "ndarray, shape 3 x 4, float64"),
        (np.float64(2), "float64, shape (), float64"),
        (pd.DataFrame({"a": [1], "b": ["x"]}), "DataFrame, 1 rows, columns a (int64), b (str)"),
        (pd.Series([1, 2]), "Series, shape 2, int64"),
        (lambda a, b=1: a, "function(a, b)"),
        (dict, "class dict"),
        (object(), "object"),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_a_line(value, said):
    line = describe("x", value)
    if isinstance(value, pd.DataFrame):
        assert line.startswith("x: DataFrame, 1 rows, columns a (int64), b (")
    else:
        assert line == f"x: {said}"


def test_nothing_of_an_unknown_class_is_called():
    assert describe("x", Trap()).endswith("Trap")
    assert describe("x", Liar()).endswith("Liar")
    assert describe("x", Trap) == "x: class Trap"


def test_private_hidden_and_modules_are_left_out():
    assert summary(shell(a=1, _b=2, np=np, hidden=1, In=[], Out={}, exit=1)) == "a: int"


def test_a_hidden_name_that_the_user_has_taken_is_told():
    assert summary(shell(hidden=[1])) == "hidden: list, 1 items"


def test_the_newest_come_when_there_are_many_and_of_the_rest_a_dozen_names_and_the_number():
    text = summary(shell(**{f"v{n}": n for n in range(100)}), limit=3)
    assert text.splitlines() == [
        "… and 97 more names (v96, v95, v94, v93, v92, v91, v90, v89, v88, v87, v86, v85, …)",
        "v97: int", "v98: int", "v99: int",
    ]  # fmt: skip


def test_of_many_names_those_of_the_question_stay_then_the_persons_then_a_models():
    it = shell(flights=[1], dict_of=OrderedDict, k=1, late=2, **{f"v{n}": n for n in range(80)})
    python = LivePython(it)
    python.made.add(("flights", "dict_of", "k", "late"), set(), it.user_ns)
    lines = python.names(mentions={"v3", "and"}, loops={"k"}).splitlines()
    assert lines[0].startswith("… and 24 more names (v")
    assert [line.partition(":")[0] for line in lines[-3:]] == ["flights", "late", "v3"]
    assert not [line for line in lines if line.startswith(("k:", "dict_of:"))]


def test_all_columns_of_a_frame_are_told_and_of_thousands_a_part():
    frame = pd.DataFrame({f"a_rather_long_column_{n}": [1] for n in range(60)})
    frame["delay_c"] = 1.5
    line = describe("wide", frame)
    assert all(f"a_rather_long_column_{n}" in line for n in range(60))
    assert line.endswith("; float64: delay_c")
    many = describe("m", pd.DataFrame(np.zeros((1, 5000))))
    assert len(many) <= MAX_FRAME
    assert many.endswith("; … 3,000 more")


def test_what_is_no_frame_is_one_short_line():
    assert len(describe("f", type("C" * 500, (), {}))) == 200


def test_the_whole_is_bounded():
    names = {f"{'n' * 80}{i}": "x" * 40 for i in range(500)}
    assert len(summary(shell(**names), limit=500, characters=1000)) < 1100


def test_what_was_said_before_comes_first_and_once():
    it = shell(a=1, cl=2, b=3)
    assert summary(it, first={"cl": "a cluster", "ray": "Ray"}).splitlines() == [
        "cl: a cluster", "ray: Ray", "a: int", "b: int",
    ]  # fmt: skip


def test_values_are_told_only_when_they_are_asked_for():
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "b": ["x", "y" * 90, Trap(), None]})
    it = shell(n=5, s="text", long="x" * 500, big=10**5000, f=2.5, t=Trap(), df=frame, l=[1])
    assert "text" not in summary(it)
    lines = dict(line.split(": ", 1) for line in summary(it, values=True).splitlines())
    assert lines["n"] == "int = 5"
    assert lines["s"] == "str, 4 characters = 'text'"
    assert lines["long"] == "str, 500 characters"
    assert lines["big"] == "int"
    assert lines["f"] == "float = 2.5"
    assert lines["l"] == "list, 1 items"
    assert lines["t"].endswith("Trap")
    begins = lines["df"].partition("; begins ")[2]
    assert begins == f"(1, 'x') (2, '{'y' * 39}…') (3, Trap)"


def test_what_fails_when_looked_at_is_its_type():
    class Broken(pd.DataFrame):
        __module__ = "pandas.core"

        @property
        def columns(self):
            raise RuntimeError("deleted")

    assert describe("b", Broken()) == "b: Broken"
