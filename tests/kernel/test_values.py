"""What `@name` puts into a question, of each kind of value."""

from __future__ import annotations

import types

import numpy as np
import pandas as pd
import polars
import pytest

from lmc_jupyter.kernel import values
from lmc_jupyter.kernel.values import value_of

COLUMNS = {f"c{number}": [number, number] for number in range(30)}


def text_of(value: object) -> str:
    shell = types.SimpleNamespace(user_ns={"x": value}, user_ns_hidden={})
    text = value_of(shell, "x")
    assert text is not None
    return text


@pytest.mark.parametrize("library", [pd, polars])
def test_a_frame_is_all_its_columns_what_is_missing_and_distinct_and_its_head(library) -> None:
    frame = library.DataFrame({**COLUMNS, "name": ["x", None], "lists": [[1], [1]]})
    lines = text_of(frame).splitlines()
    assert lines[0].startswith("DataFrame, 2 rows, columns ")
    assert ": c0, c1, " in lines[0]
    assert "lists" in lines[0]
    assert lines[1] == "Missing values: name 1."
    assert lines[2].startswith("Distinct values: c0 1, c1 1,")
    assert lines[2].endswith(" c19 1.")
    assert "c1" in lines[3] + lines[4] + lines[5]


def test_columns_whose_values_cannot_be_compared_have_no_number() -> None:
    frame = pd.DataFrame({"a": [1, 2], "lists": [[1], [2]]})
    assert "Missing values: none.\nDistinct values: a 2.\n" in text_of(frame)


def test_values_of_a_very_long_frame_are_not_counted(monkeypatch) -> None:
    monkeypatch.setattr(values, "MAX_COUNTED", 5)
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3]})
    assert "were not counted" in text_of(frame)


def test_a_frame_of_a_thousand_columns_is_short() -> None:
    assert len(text_of(pd.DataFrame(np.zeros((3, 1000))))) < values.MAX_TABLE + 400


def test_what_is_no_frame_is_its_value() -> None:
    assert text_of(5) == "5"
    assert text_of("a") == "'a'"
