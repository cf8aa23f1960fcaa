"""The columns of a frame as a model reads them: all of them, in few words, and what changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmc_jupyter.content.columns import Frame, describe_change, fit, of_frame, read

MANY = [f"c{number}" for number in range(20)]


def line(labels: list[object], dtypes: list[object], rows: int = 4, more: int = 0) -> str:
    return f"DataFrame, {rows} rows, columns {of_frame(labels, dtypes, more)}"


def test_few_columns_stand_with_their_types_and_many_by_type() -> None:
    assert line(["a", "b"], ["int64", "str"]).endswith("columns a (int64), b (str)")
    many = line([*MANY, "name"], ["int64"] * 20 + ["str"])
    assert many.endswith(f"columns int64: {', '.join(MANY)}; str: name")


label = st.one_of(st.text(max_size=30), st.integers(), st.tuples(st.integers(), st.integers()))
dtype = st.sampled_from(["int64", "datetime64[ns, UTC]", "Struct({'x': Int64, 'y': String})"])


@given(st.dictionaries(label, dtype, min_size=1, max_size=30), st.integers(0, 5000))
def test_what_is_written_is_read(columns: dict[object, str], more: int) -> None:
    text = line([*columns], [*columns.values()], more=more)
    frame = read(text)
    assert frame is not None
    assert str(frame) == text
    assert (frame.count, frame.more) == (len(columns) + more, more)
    assert list(frame.columns.values()).count("int64") == list(columns.values()).count("int64")
    assert len(text.splitlines()) == 1


def test_what_is_no_frame_is_not_read_and_not_cut() -> None:
    assert read("list, 3 items") is None
    assert fit("a" * 500, 10) == "a" * 500


def test_of_too_many_columns_the_named_ones_and_the_newest_stay() -> None:
    labels = [*(f"sensor_{number}" for number in range(300)), "air time", "delay_c"]
    whole = line(labels, ["int64"] * 300 + ["float64"] * 2)
    short = fit(whole, 200, "Is sensor_7 a matter of air time?")
    assert len(short) <= 200
    frame = read(short)
    assert frame is not None
    assert {"sensor_7", "air time", "delay_c", "sensor_299"} <= {*frame.columns}
    assert "sensor_150" not in frame.columns
    assert frame.count == 302
    assert short.endswith(" more")


def test_of_a_changed_frame_the_columns_are_said() -> None:
    before = line(["a", "b"], ["int64", "str"])
    now = line(["a", "c d", "e"], ["float64", "str", "bool"], rows=3)
    assert describe_change(before, now) == (
        "DataFrame, 3 rows; new columns c d (str), e (bool); without the columns b; "
        "other types: a (float64, was int64)"
    )
    assert describe_change(before, line(["a", "b"], ["int64", "str"], rows=3)) == (
        "DataFrame, 3 rows; the same columns"
    )
    assert describe_change(before, "list, 3 items") == "list, 3 items"
    assert describe_change(before, line(["x"], ["int64"])).endswith("columns x (int64)")


def test_a_frame_of_which_other_columns_are_named_has_not_changed() -> None:
    whole = line([f"sensor_{number}" for number in range(300)], ["int64"] * 300)
    one, other = fit(whole, 120, "sensor_1"), fit(whole, 120, "")
    assert one != other
    assert describe_change(one, other).startswith("DataFrame, 4 rows; columns also sensor_")
    assert describe_change(other, other.replace("sensor_299, ", "").replace("294", "295")) == ""


def test_the_first_rows_stay_behind_the_columns() -> None:
    text = line(["a"], ["int64"]) + "; begins (1) (2)"
    frame = read(text)
    assert frame == Frame("DataFrame, 4 rows", {"a": "int64"}, 0, "; begins (1) (2)")
