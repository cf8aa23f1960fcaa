"""SQL: DuckDB in this process, over the DataFrames of the person's namespace, by their names.

One rule: DuckDB reads the frames in place (pandas, polars and Arrow), without a copy. The last
result stays in the namespace as `_sql`.

Which connection: the person's own where the namespace has exactly one DuckDB connection, or one
of the name `con`; else the one that `duckdb.sql(...)` uses, so that the tables of blocks and
those of the person's cells are the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.lookups import has_package
from lmc_jupyter.computer.process.engine import BlockLanguage, ForeignBlock
from lmc_jupyter.content import shorten
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import Chunk

RESULT = "_sql"
"""The name of the last result in the namespace, a DataFrame."""
MAX_VECTORS = 489
"""Vectors of 2,048 rows that are fetched of a result: a million rows; a line says when there are
more."""
MAX_SHOWN = 20
"""Rows that are shown of a result, half of them from its end."""
MAX_ERROR = 4_000
"""Characters of an error."""
_INNER = re.compile(r'\nDid you mean "(?:pg_|sqlite_|duckdb_|information_schema)[^"\n]*"\?')
"""A table of DuckDB's own that it proposes for a missing one."""
_COUNT_KINDS = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO", "CREATE", "COPY"})

_FRAMES = frozenset(
    {
        ("pandas", "DataFrame"),
        ("polars", "DataFrame"),
        ("polars", "LazyFrame"),
        ("pyarrow", "Table"),
    }
)
"""(package, name) of each type that is a table for DuckDB."""


class Python(Protocol):
    """The part of the live python that SQL needs."""

    @property
    def shell(self) -> Any:
        """An IPython shell; its `user_ns` is the namespace."""
        ...


class SQL(BlockLanguage):
    """Runs SQL by DuckDB, statement by statement. An error ends the block.

    Parameters
    ----------
    python : the namespace of its shell has the frames, and gets the result
    """

    name = "sql"
    aliases = ("duckdb",)
    hint = "DuckDB, on the DataFrames of python"

    def __init__(self, python: Python) -> None:
        super().__init__()
        self._python = python
        self._used = ""  # the name of the last block's connection

    def availability(self) -> Availability:
        """Whether DuckDB and pandas are installed; nothing is imported."""
        for package in ("duckdb", "pandas"):
            if package not in sys.modules and not has_package(package):
                return Availability("DuckDB", "sql needs DuckDB: `pip install duckdb pandas`")
        return Availability("DuckDB, over the DataFrames of the namespace")

    def _block(self, code: str) -> ForeignBlock:
        if missing := self.availability().missing:
            raise ComputerError(f"{missing}; nothing was run")
        return _Statements(self, code, self._python.shell.user_ns)

    def close(self) -> None:
        """Stop. The connection and its tables are the person's and stay."""
        self.stop()

    def _connection(self, namespace: Mapping[str, Any]) -> tuple[str, Any, str]:
        """(its name, the connection, a note on it for the first line of output)."""
        import duckdb

        theirs: dict[int, tuple[str, Any]] = {}
        for name, value in list(namespace.items()):
            if not isinstance(value, duckdb.DuckDBPyConnection) or name.startswith("_"):
                continue
            if name == "con" or id(value) not in theirs:
                theirs[id(value)] = name, value
        candidates = [each for each in theirs.values() if each[0] == "con"] or list(theirs.values())
        if len(candidates) == 1:
            name, connection = candidates[0]
            return name, connection, "" if name == self._used else f"[on the connection {name}]"
        note = ""
        if candidates:
            names = ", ".join(sorted(name for name, _ in candidates))
            note = f"[there are the connections {names}: the one called con is used, else duckdb's]"
        return "", duckdb.default_connection(), note


class _Statements(ForeignBlock):
    """One block: its statements run on a thread of its own, so that they can be interrupted."""

    def __init__(self, sql: SQL, code: str, namespace: dict[str, Any]) -> None:
        super().__init__()
        self._sql, self._code, self._namespace = sql, code, namespace
        self._connection: Any = None

    def interrupt(self) -> None:
        if (connection := self._connection) is not None:
            connection.interrupt()

    # On a thread of its own -----------------------------------------------------------------------

    def work(self) -> None:
        try:
            self._statements(self._namespace)
        except Exception as error:  # noqa: BLE001 - the block reports any error
            if not self.stop_flag.is_set():
                self.outbox.line(_error(error))
                if "does not exist" in str(error) and (there := self._frames()):
                    self.outbox.line(f"[DataFrames of the namespace: {there}]")
        finally:
            self._connection = None

    def _statements(self, namespace: dict[str, Any]) -> None:
        self._sql._used, connection, note = self._sql._connection(namespace)
        if note:
            self.outbox.line(note)
        at = 0
        with _NoProgressBar(connection):
            for statement in connection.extract_statements(self._code):
                if self.stop_flag.is_set():
                    return
                query = statement.query.strip()
                begins = max(at, self._code.find(query, at))
                at = begins + len(query)
                line = self._code.count("\n", 0, begins) + 1
                self.outbox.put(Chunk("computer", "console", "active_line", line))
                self._connection = connection  # from now on there is something to interrupt
                # DuckDB looks for an unknown table among the variables of its caller
                names = {"__lmc_connection": connection, "__lmc_statement": statement}
                eval("__lmc_connection.execute(__lmc_statement)", namespace, names)
                self._show(connection, statement.type.name, namespace)
                self._connection = None

    def _frames(self) -> str:
        """The names of the frames in the namespace, at most 20."""
        names = [
            name
            for name, value in list(self._namespace.items())
            if not name.startswith("_")
            and (type(value).__module__.split(".")[0], type(value).__name__) in _FRAMES
        ]
        return ", ".join(names[:20]) + (", …" if len(names) > 20 else "")

    def _show(self, connection: Any, kind: str, namespace: dict[str, Any]) -> None:
        columns = [column[0] for column in connection.description or ()]
        if columns == ["Success"] or not columns:
            return
        if columns == ["Count"] and kind in _COUNT_KINDS:
            count = connection.fetchone()[0]
            self.outbox.line(f"{count:,} row{'' if count == 1 else 's'} {_verb(kind)}")
        elif columns == ["explain_key", "explain_value"]:
            for _, plan in connection.fetchall():
                self.outbox.line(plan)
        else:
            self._table(connection, namespace)

    def _table(self, connection: Any, namespace: dict[str, Any]) -> None:
        frame = connection.fetch_df_chunk(MAX_VECTORS)
        more = len(frame) == MAX_VECTORS * 2048 and connection.fetchone() is not None
        for at, column in enumerate(connection.description):
            if str(column[1]) in ("HUGEINT", "UHUGEINT"):  # the type of every sum of integers
                frame.isetitem(at, _whole(frame.iloc[:, at]))
        namespace[RESULT] = frame
        self.outbox.show(_bundle(frame))
        if more:
            self.outbox.line(
                f"[these are the first {MAX_VECTORS * 2048:,} rows, the rest was not fetched: "
                "CREATE TABLE … AS keeps all of them]"
            )


class _NoProgressBar:
    """Without DuckDB's progress bar, which Jupyter would show in whichever cell runs then."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._was = connection, False

    def __enter__(self) -> None:
        import duckdb

        try:
            result = self._connection.execute("SELECT current_setting('enable_progress_bar')")
            self._was = bool(result.fetchone()[0])
            if self._was:
                self._connection.execute("SET enable_progress_bar = false")
        except duckdb.Error:  # in a failed transaction DuckDB accepts only a ROLLBACK
            self._was = False

    def __exit__(self, *_: object) -> None:
        import duckdb

        if self._was:
            try:
                self._connection.execute("SET enable_progress_bar = true")
            except duckdb.Error:  # it was closed, or its transaction has failed
                return


def _verb(kind: str) -> str:
    words = {"INSERT": "inserted", "UPDATE": "updated", "DELETE": "deleted", "COPY": "copied"}
    return words.get(kind, "written")


def _bundle(frame: Any) -> dict[str, str]:
    """A result as a MIME bundle: HTML for the person, text for the model; without row numbers."""
    size = f"[{len(frame):,} rows, {len(frame.columns):,} columns]"
    options: dict[str, Any] = {"max_rows": MAX_SHOWN, "index": False, "na_rep": "NULL"}
    text = frame.to_string(max_cols=MAX_SHOWN, max_colwidth=80, **options) if len(frame) else ""
    if not len(frame):
        text = f"no rows of {', '.join(map(str, frame.columns))}"
    elif len(frame) > MAX_SHOWN or len(frame.columns) > MAX_SHOWN:
        text = f"{text}\n{size}"
    html = frame.to_html(
        max_cols=MAX_SHOWN, border=0, show_dimensions=len(frame) > MAX_SHOWN, **options
    )
    return {"text/html": html, "text/plain": text}


def _whole(column: Any) -> Any:
    """A column of floats as integers, where all are exact."""
    if len(column) and column.notna().any() and column.abs().max() >= 2**53:
        return column
    return column.astype("Int64" if column.isna().any() else "int64")


def _error(error: Exception) -> str:
    import duckdb

    text = str(error).strip()
    if not isinstance(error, duckdb.Error):
        text = f"{type(error).__name__}: {text}"
    text = _INNER.sub("", text)
    return shorten.head(text, MAX_ERROR)
