"""A table in another language: its types, what is missing, and whom policy lets hand it over."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from lmc_jupyter.computer import Availability, Computer, default_computer
from lmc_jupyter.computer.share import share
from lmc_jupyter.errors import ComputerError, UnknownLanguageError
from lmc_jupyter.lmc import Chunk


@pytest.fixture(scope="module")
def computer():
    it = default_computer()
    yield it
    it.close()


@pytest.fixture
def table():
    """A column of every kind, each with something that is easily lost."""
    return pd.DataFrame(
        {
            "truth": [True, False, True],
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "huge": [2**60 + 1, 2, 3],
            "x": [0.1 + 0.2, np.nan, np.inf],
            "word": ["NA", "", 'a "q",\nß 😀'],
            "gap": ["a", None, "c"],
            "day": [dt.date(2024, 2, 29), None, dt.date(1969, 1, 1)],
            "at": pd.to_datetime(["2024-02-29 12:34:56.789", None, "1969-12-31 23:00:00.000"]),
            "zoned": pd.to_datetime(
                ["2024-07-01 12:00", "2024-01-01 12:00", None]
            ).tz_localize("Europe/Berlin"),
            "span": pd.to_timedelta(["1h", None, "2s"]),
            "kind": pd.Categorical(["b", "a", None], categories=["b", "a", "c"], ordered=True),
            "any thing": [[1], {"a": 1}, None],
        }
    )  # fmt: skip


def said(computer, language, code):
    pieces = computer.run(language, code)
    return "".join(piece.content for piece in pieces if piece.format == "output")


def test_r_has_a_data_frame_with_the_types_of_pandas(computer, table, tmp_path):
    shared = share(computer, table, "R", "df", tmp_path)
    assert (shared.to, shared.rows, shared.columns) == ("r", 3, 13)
    assert list(tmp_path.iterdir()) == []
    checks = {
        'paste(sapply(df, function(x) class(x)[1]), collapse = " ")': (
            "logical logical integer character numeric character character Date POSIXct POSIXct "
            "difftime ordered character"
        ),
        "names(df)[13]": "any thing",
        "df$maybe": "TRUE NA FALSE",
        "df$count": "1 NA 3",
        "df$huge[1]": str(2**60 + 1),
        "df$x == c(0.1 + 0.2, NA, Inf)": "TRUE NA TRUE",
        "is.na(df$word)": "FALSE FALSE FALSE",
        'df$word == c("NA", "", "a \\"q\\",\\n\\u00df \\U0001f600")': "TRUE TRUE TRUE",
        "is.na(df$gap)": "FALSE TRUE FALSE",
        "format(df$day)": "2024-02-29 NA 1969-01-01",
        'format(df$at, "%Y-%m-%d %H:%M:%OS3")[c(1, 3)]': (
            "2024-02-29 12:34:56.789 1969-12-31 23:00:00.000"
        ),
        'format(df$zoned, "%H:%M %Z")': "12:00 CEST 12:00 CET NA",
        'as.numeric(df$span, units = "mins")': "60 NA 0.03333333",
        "levels(df$kind)": "b a c",
        "df$kind < 'a'": "TRUE FALSE NA",
    }
    for code, expected in checks.items():
        assert said(computer, "r", f"cat({code})").strip() == expected, code


def test_javascript_has_objects_with_the_types_of_pandas(computer, table, tmp_path):
    table.loc[1, "zoned"] = pd.Timestamp("2024-07-01 12:00", tz="Europe/Berlin")
    shared = share(computer, table, "node", "df", tmp_path)
    assert "an array of objects (3 rows, 13 columns)" in repr(shared)
    checks = {
        "df.map(row => row.truth)": "[true,false,true]",
        "df.map(row => row.maybe)": "[true,null,false]",
        "df.map(row => row.count)": "[1,null,3]",
        "df[0].huge === 2n ** 60n + 1n": "true",
        "[df[0].x === 0.1 + 0.2, df[1].x, df[2].x === Infinity]": "[true,null,true]",
        "df.map(row => row.word)": '["NA","","a \\"q\\",\\nß 😀"]',
        "df.map(row => row.gap)": '["a",null,"c"]',
        "df.map(row => row.day)": '["2024-02-29",null,"1969-01-01"]',
        "df.map(row => row.at instanceof Date)": "[true,false,true]",
        "df.map(row => row.at)": '["2024-02-29T12:34:56.789Z",null,"1969-12-31T23:00:00.000Z"]',
        "df[1].zoned": '"2024-07-01T10:00:00.000Z"',
        "df.map(row => row.span)": "[3600,null,2]",
        "df.map(row => row.kind)": '["b","a",null]',
        "Object.keys(df[0]).at(-1)": '"any thing"',
    }
    for code, expected in checks.items():
        printed = said(computer, "javascript", f"console.log(JSON.stringify({code}))")
        assert printed.strip() == expected, code


def test_r_gets_what_is_no_plain_frame_too(computer, tmp_path):
    frame = pd.DataFrame({("a", "x"): [1.5], ("a", "y"): [2.5]}, index=pd.Index(["k"], name="key"))
    share(computer, frame, "r", "wide", tmp_path)
    assert said(computer, "r", "cat(names(wide), wide$a_y)").strip() == "key a_x a_y 2.5"
    nothing = pd.DataFrame({"a": pd.array([None], dtype="Int64"), "b": [np.nan]})
    share(computer, nothing, "r", "nothing", tmp_path)
    assert said(computer, "r", "cat(is.na(nothing$a), class(nothing$a))").strip() == "TRUE integer"
    share(computer, pd.DataFrame({"a": []}), "r", "none", tmp_path)
    assert said(computer, "r", "cat(dim(none))").strip() == "0 1"
    share(computer, pd.Series([3, 4], name="s"), "r", "one", tmp_path)
    assert said(computer, "r", "cat(sum(one$s))").strip() == "7"


def test_the_shell_has_the_path_of_a_file(computer, tmp_path):
    folder = tmp_path / "it's here"
    shared = share(computer, {"a": [1, 2], "b": ["x", None]}, "bash", "table1", folder)
    assert said(computer, "shell", 'cat "$table1"') == "a,b\n1,x\n2,\n"
    assert shared.path == folder / "table1.csv"
    assert "$table1 is in shell now" in repr(shared)
    with pytest.raises(ComputerError, match="has a variable PATH already"):
        share(computer, {"a": [1]}, "shell", "PATH", folder)


class Own:
    """A language that keeps what it is given and answers what it was told to."""

    aliases = ()

    def __init__(self, name, answer=""):
        self.name, self.answer, self.ran = name, answer, []

    def run(self, code):
        self.ran.append(code)
        yield Chunk("computer", "console", "output", self.answer)

    def close(self): ...


def test_any_other_language_gets_a_file_and_runs_nothing(tmp_path):
    own = Own("cobol")
    shared = share(Computer(own), pd.DataFrame({"a": [1]}), "cobol", "df", tmp_path)
    assert shared.path.read_text() == "a\n1\n"
    assert str(shared.path) in repr(shared)
    assert own.ran == []


def test_a_language_that_does_not_take_it_in_is_said(tmp_path):
    failing = Computer(Own("r", "Error: no memory\nTraceback:\n1. x"))
    with pytest.raises(ComputerError, match=r"r could not read the table: Error: no memory$"):
        share(failing, {"a": [1]}, "r", "df", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "to", "name", "why"),
    [
        (7, "r", "df", "7 is no table \\(int\\): give a DataFrame"),
        ({"a": [1]}, "python", "df", "python has it already"),
        ({"a": [1]}, "html", "df", "cannot read files"),
        ({"a": [1]}, "r", "my df", "'my df' is not a name"),
        ({"a": [1]}, "r", '"); system("ls', "is not a name"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "r", "df", "two columns are called 'a'"),
        ({"a": [1]}, "js", "process", "node itself uses process: give another name"),
        ({"a": [1]}, "bash", "IFS", "the shell itself uses IFS: give another name"),
        ({"a": [1]}, "bash", "LD_PRELOAD", "the shell itself uses LD_PRELOAD"),
        ({"__proto__": [1]}, "js", "df", "'__proto__' cannot be a property"),
    ],
)
def test_what_cannot_be_handed_over_is_said(tmp_path, value, to, name, why):
    computer = Computer(*map(Own, ("python", "html", "r", "javascript", "shell")))
    with pytest.raises(ComputerError, match=why):
        share(computer, value, to, name, tmp_path)


def test_a_language_that_is_not_there_is_said(tmp_path):
    absent = Own("r")
    absent.availability = lambda: Availability("R", "install R")
    with pytest.raises(UnknownLanguageError, match="r cannot run here: install R"):
        share(Computer(absent), {"a": [1]}, "r", "df", tmp_path)
