"""SQL by DuckDB over the frames of a namespace."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from lmc_jupyter.computer.languages import sql as module
from lmc_jupyter.computer.languages.sql import RESULT, SQL
from lmc_jupyter.errors import ComputerError

ENDLESS = (  # of a hash DuckDB's optimizer knows nothing: it proves that `% 7 = 9` is never so
    "SELECT count(*) FROM range(100000000000) a, range(1000) b "
    "WHERE hash(a.range + b.range) % 7 = 3"
)


@pytest.fixture
def names():
    return {}


@pytest.fixture
def sql(names):
    duckdb = pytest.importorskip("duckdb", reason="not run: sql needs duckdb")
    it = SQL(SimpleNamespace(shell=SimpleNamespace(user_ns=names)))
    yield it
    it.close()
    default = duckdb.default_connection()
    for table, kind in default.execute(
        "SELECT table_name, table_type FROM information_schema.tables"
    ).fetchall():
        default.execute(f'DROP {"VIEW" if kind == "VIEW" else "TABLE"} "{table}"')


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas", reason="not run: the frames need pandas")


def ran(sql, code):
    """(what the model reads, the HTML for the person)."""
    pieces = list(sql.run(code))
    told = [p.content for p in pieces if p.format == "output"]
    return "".join(told), [p.content for p in pieces if p.type == "code"]


def test_a_frame_is_a_table_by_its_name_and_the_result_a_frame(sql, names, pandas):
    names["people"] = pandas.DataFrame({"name": ["Ada", "Bé", None], "age": [36, 7, 50]})
    told, html = ran(sql, "SELECT name, age + 1 AS next FROM people WHERE age > 10 ORDER BY age")
    assert [line.split() for line in told.splitlines()] == [
        ["name", "next"],
        ["Ada", "37"],
        ["NULL" if pandas.__version__ >= "3" else "None", "51"],
    ]
    assert len(html) == 1
    assert "<td>37</td>" in html[0]
    assert names[RESULT]["next"].tolist() == [37, 51]
    assert ran(sql, f"SELECT max(next) AS m FROM {RESULT}")[0].split() == ["m", "51"]


def test_a_frame_is_read_where_it_lies_and_never_changed(sql, names, pandas):
    names["df"] = frame = pandas.DataFrame({"x": range(1000)})
    before = frame["x"].to_numpy()
    ran(sql, "SELECT max(x) FROM df")
    assert names["df"] is frame
    assert frame["x"].to_numpy() is before or (frame["x"].to_numpy() == before).all()
    frame.loc[0, "x"] = 5000  # it was no copy that the view was made of
    assert ran(sql, "SELECT max(x) AS m FROM df")[0].split() == ["m", "5000"]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_frames_are_tables_too(sql, names, library):
    found = pytest.importorskip(library, reason=f"not run: {library} is not installed")
    pytest.importorskip("pyarrow", reason="not run: it needs pyarrow")
    make = found.DataFrame if library == "polars" else found.table
    names["frame"] = make({"x": [1, 2, 3]})
    assert ran(sql, "SELECT max(x) AS m FROM frame")[0].split() == ["m", "3"]


def test_tables_are_kept_and_are_those_of_duckdb_sql(sql, names):
    import duckdb

    assert ran(sql, "CREATE TABLE t AS SELECT * FROM range(5);\nINSERT INTO t VALUES (1)")[0] == (
        "5 rows written\n1 row inserted\n"
    )
    assert ran(sql, "UPDATE t SET range = 9; DELETE FROM t WHERE range = 8")[0] == (
        "6 rows updated\n0 rows deleted\n"
    )
    assert duckdb.sql("SELECT count(*) FROM t").fetchall() == [(6,)]
    assert ran(sql, "SET threads = 2; BEGIN; COMMIT; -- nothing to show")[0] == ""


def test_the_line_of_each_statement_is_told(sql):
    code = "-- a; comment\nSELECT ';';\n\nSELECT ';'; SELECT 2\n; SELECT 3"
    lines = [p.content for p in sql.run(code) if p.format == "active_line"]
    assert lines[0] in (1, 2)  # with its comment, or without it
    assert lines[1:] == [4, 4, 5]


def test_ones_own_connection_is_used_where_there_is_one(sql, names):
    import duckdb

    names["db"] = names["same"] = duckdb.connect()
    names["_hidden"] = duckdb.connect()
    names["db"].execute("CREATE TABLE mine AS SELECT 42 AS x")
    assert ran(sql, "SELECT x FROM mine")[0].split("\n")[0] == "[on the connection db]"
    assert "connection" not in ran(sql, "SELECT x FROM mine")[0]
    names["other"] = duckdb.connect()
    told, _ = ran(sql, "SELECT x FROM mine")
    assert "[there are the connections db, other: the one called con is used" in told
    assert "mine does not exist" in told
    names["con"] = names["db"]
    assert "42" in ran(sql, "SELECT x FROM mine")[0]
    for name in ("db", "_hidden", "other"):
        names[name].close()
    assert "onnection" in ran(sql, "SELECT x FROM mine")[0]  # it is closed: duckdb says so


def read(pieces, word):
    """What is said up to that word."""
    text = ""
    while word not in text:
        text += str(next(pieces).content)
    return text


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("SELEC 1", "Parser Error"),
        ("SELECT * FROM nope", "Table with name nope does not exist"),
        ("SELECT 'a'::INT", "Could not convert string 'a'"),
    ],
)
def test_an_error_is_short_and_ends_the_block(sql, code, says):
    told, _ = ran(sql, f"{code}; SELECT 'never'")
    assert says in told
    assert "Traceback" not in told
    assert "never" not in told.split("LINE 1")[0]


def test_a_table_that_there_is_not_names_the_frames_that_there_are(sql, names, pandas):
    assert "DataFrames" not in ran(sql, "SELECT * FROM peple")[0]
    names.update(people=pandas.DataFrame({"x": [1]}), _hidden=pandas.DataFrame(), number=1)
    told = ran(sql, "FROM peple")[0]
    assert told.endswith("[DataFrames of the namespace: people]\n")
    assert "Did you mean" not in told  # a table of DuckDB's own
    ran(sql, "CREATE TEMP TABLE persons AS SELECT 1")
    assert 'Did you mean "persons"' in ran(sql, "FROM person")[0]
    ran(sql, "DROP TABLE persons")


def test_sums_of_whole_numbers_are_whole(sql, names, pandas):
    names["t"] = pandas.DataFrame({"n": [3, 5], "big": [2**62, 2**62]})
    ran(sql, "SELECT sum(n) AS s, sum(n) FILTER (n > 9) AS none, sum(big) AS big FROM t")
    found = names["_sql"]
    assert found.dtypes.astype(str).to_dict() == {"s": "int64", "none": "Int64", "big": "float64"}
    assert found["s"].tolist() == [8]
    assert found["big"].tolist() == [2.0**63]


def test_a_long_result_is_shown_by_its_ends_and_kept(sql, names, pandas):
    told, html = ran(sql, "SELECT range AS n FROM range(5000)")
    assert len(told.splitlines()) < 30
    assert "4999" in told
    assert "[5,000 rows, 1 columns]" in told
    assert len(html[0]) < 5000
    assert len(names[RESULT]) == 5000


def test_a_result_without_end_is_fetched_in_part_and_said(sql, names, pandas, monkeypatch):
    monkeypatch.setattr(module, "MAX_VECTORS", 2)
    told, _ = ran(sql, "SELECT range AS n FROM range(1000000000000)")
    assert "these are the first 4,096 rows" in told
    assert len(names[RESULT]) == 4096
    assert "the first" not in ran(sql, "SELECT range AS n FROM range(4096)")[0]


def test_a_plan_and_an_empty_result_are_text(sql, pandas):
    assert "range" in ran(sql, "EXPLAIN SELECT * FROM range(3)")[0].lower()
    assert ran(sql, "SELECT 1 AS a, 2 AS b WHERE false")[0] == "no rows of a, b\n"
    assert ran(sql, "-- nothing at all") == ("", [])


def test_it_is_stopped_from_another_thread_and_goes_on_working(sql):
    pieces = sql.run(
        f"CREATE TABLE kept AS SELECT 1 AS x; {ENDLESS}; CREATE TABLE never AS SELECT 1"
    )
    text = read(pieces, "written")
    threading.Thread(target=sql.stop).start()
    with pytest.raises(KeyboardInterrupt):
        text += "".join(str(piece.content) for piece in pieces)
    assert "rror" not in text
    assert "kept" in ran(sql, "SHOW TABLES")[0]
    assert "never" not in ran(sql, "SHOW TABLES")[0]


def test_closing_the_pieces_ends_the_statement(sql):
    pieces = sql.run(ENDLESS)
    next(pieces)
    pieces.close()
    assert not sql._turns.blocks
    assert "1" in ran(sql, "SELECT 1 AS one")[0]


def test_the_progress_bar_is_off_while_a_block_runs_and_then_as_it_was(sql):
    import duckdb

    default = duckdb.default_connection()
    default.execute("SET enable_progress_bar = true")
    try:
        assert "False" in ran(sql, "SELECT current_setting('enable_progress_bar') AS bar")[0]
        assert default.execute("SELECT current_setting('enable_progress_bar')").fetchone() == (
            True,
        )
    finally:
        default.execute("SET enable_progress_bar = false")


@pytest.mark.parametrize("missing", ["duckdb", "pandas"])
def test_without_duckdb_or_pandas_it_says_what_to_install(monkeypatch, missing):
    pytest.importorskip(missing, reason="not run: sql needs duckdb and pandas")
    assert SQL(SimpleNamespace(shell=None)).availability()
    monkeypatch.delitem(sys.modules, missing)
    importlib.import_module("jupyter_core.paths")  # what is looked up imports it, and it goes, too
    without = [each for each in sys.path if not Path(each, missing).exists()]
    monkeypatch.setattr(sys, "path", without)
    sql = SQL(SimpleNamespace(shell=None))
    assert "pip install duckdb" in sql.availability().missing
    with pytest.raises(ComputerError, match="pip install duckdb pandas"):
        next(sql.run("SELECT 1"))
