"""A table, copied from python to another language.

One rule: a file in a private folder carries the data, and at most one statement of ours reads it
there, which prints a word when it has worked. The other side guesses no type: ours names each.

Dates and truth values of a CSV file arrive in R as text unless `read.csv` gets their types, and
JSON has no dates, no infinity and no whole numbers beyond 2**53 (both measured).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from lmc_jupyter.errors import ComputerError

if TYPE_CHECKING:
    from lmc_jupyter.computer import Computer

_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
_MISSING = f"missing_{secrets.token_hex(8)}"
"""Stands for a missing value in the CSV file: "" and "NA" are texts, Namibia's code among them."""
_OWN = {
    "javascript": (
        "node",
        re.compile(
            "process|console|global|globalThis|module|exports|require|display|html|Buffer|fetch"
            "|performance|queueMicrotask|structuredClone|(set|clear)(Timeout|Interval|Immediate)"
            "|URL|JSON|Math|Reflect|Atomics|Object|Array|String|Number|Boolean|BigInt|Date|Map|Set"
            "|Symbol|Promise|Proxy|RegExp|Error|Function|Intl|undefined|NaN|Infinity"
        ),
    ),
    "shell": (
        "the shell",
        re.compile(
            "(BASH|COMP|HIST|LC_|LD_|DYLD_)[A-Z0-9_]*|IFS|PS[0-4]|ENV|CDPATH|FUNCNAME|GLOBIGNORE"
            "|DIRSTACK|EUID|GROUPS|LINENO|OPTARG|OPTERR|OPTIND|PIPESTATUS|POSIXLY_CORRECT|PPID"
            "|PROMPT_COMMAND|PROMPT_DIRTRIM|RANDOM|REPLY|SECONDS|SHELLOPTS|SRANDOM|TIMEFORMAT|TMOUT"
            "|UID|EPOCH(SECONDS|REALTIME)"
        ),
    ),
}
"""Names that a language needs itself; another value would break it for good."""
_INTEGER, _EXACT = 2**31 - 1, 2**53
"""The largest whole number of R's integer, and the largest that a double tells from its next."""


@dataclass(frozen=True, repr=False)
class Shared:
    """The copy of a table in another language.

    Parameters
    ----------
    name : the variable there, of the table or of its path
    to : the language
    rows, columns : of the table, its index included where that is no mere count
    path : the file, where there is one that stays as long as the session
    sentence : all of that for a person
    """

    name: str
    to: str
    rows: int
    columns: int
    path: Path | None
    sentence: str

    def __repr__(self) -> str:
        return self.sentence


def share(computer: Computer, value: Any, to: str, name: str, folder: Path) -> Shared:
    """Copy a table to another language.

    Parameters
    ----------
    value : a pandas DataFrame, or what pandas makes one of: a Series, a dict or list of columns or
        rows, anything with `to_pandas()` (polars, Arrow) or `df()` (DuckDB)
    to : a language of the computer
    name : of the variable there
    folder : for files that others cannot read

    Raises
    ------
    UnknownLanguageError
        When there is no such language, or it cannot run here.
    ComputerError
        When the value is no table, the name is not valid, or the language could not read it.
    """
    to = computer.canonical(to)
    if not _NAME.fullmatch(name):
        raise ComputerError(
            f"{name!r} is not a name that every language accepts: letters, digits and _ after a "
            "letter, "
            "as in share(df, to='r', name='df')"
        )
    if to in _OWN and _OWN[to][1].fullmatch(name):
        raise ComputerError(
            f"{_OWN[to][0]} itself uses {name}: give another name, as in "
            f"share(df, to={to!r}, name='table')"
        )
    if to == "python":
        raise ComputerError("python has it already: say which other language, as in to='r'")
    if to in ("html", "browser"):
        raise ComputerError(
            f"{to} cannot read files: put the table into the code, as df.to_html() writes it"
        )
    frame = _frame_of(value)
    size = f"{_count_of(len(frame), 'row')}, {_count_of(len(frame.columns), 'column')}"
    shape = len(frame), len(frame.columns)
    if to == "sql":
        return Shared(
            name, to, *shape, None, f"sql sees every table of python by its name ({size})"
        )
    folder.mkdir(parents=True, exist_ok=True)
    ways: dict[str, Callable[..., str]] = {"r": _to_r, "javascript": _to_javascript}
    if way := ways.get(to):
        path = folder / f"{name}-{secrets.token_hex(4)}"
        try:
            what = way(computer, frame, path, name)
        finally:
            for file in folder.glob(f"{path.name}*"):
                file.unlink()
        return Shared(name, to, *shape, None, f"{name} is in {to} now: {what} ({size})")
    path = folder / f"{name}.csv"
    frame.to_csv(path, index=False, encoding="utf-8")
    if to == "shell":
        _to_shell(computer, path, name)
        sentence = f"${name} is in shell now: the path of a CSV file ({size})"
    else:
        sentence = f"{name} is a CSV file that {to} can read ({size}): {path}"
    return Shared(name, to, *shape, path, sentence)


def _count_of(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def name_of(value: object, frame: FrameType | None) -> str:
    """The name of a variable of the caller that is this very object.

    A column that is no variable, as in `share(df["n"], to="r")`, has a name of its own.

    Raises
    ------
    ComputerError
        When it has none.
    """
    for names in (frame.f_locals, frame.f_globals) if frame is not None else ():
        for name, each in list(names.items()):
            if each is value and _NAME.fullmatch(name):
                return name
    own = getattr(value, "name", None)
    if isinstance(own, str) and _NAME.fullmatch(own):
        return own
    raise ComputerError("the table has no name here: give it one, share(..., name='df')")


# The table ----------------------------------------------------------------------------------------


def _frame_of(value: Any) -> Any:
    """A new DataFrame whose column names are text, and whose index is a mere count."""
    if find_spec("pandas") is None:
        raise ComputerError("share needs pandas, which is not installed: %pip install pandas")
    import pandas as pd

    for convert in ("to_pandas", "df"):
        if not isinstance(value, (pd.DataFrame, pd.Series)) and callable(
            method := getattr(value, convert, None)
        ):
            value = method()
    try:
        frame = value.to_frame() if isinstance(value, pd.Series) else pd.DataFrame(value)
    except (TypeError, ValueError):
        raise ComputerError(
            f"{value!r:.60} is no table ({type(value).__name__}): give a DataFrame, a Series, or "
            "columns or rows of the same length"
        ) from None
    index = frame.index
    if not (
        isinstance(index, pd.RangeIndex) and index.name is None and index.equals(_count(index))
    ):
        frame = frame.reset_index()
    names = [
        "_".join(str(part) for part in each if part != "") if isinstance(each, tuple) else str(each)
        for each in frame.columns
    ]
    if twice := sorted({each for each in names if names.count(each) > 1}):
        raise ComputerError(f"two columns are called {twice[0]!r}: rename one of them")
    return frame.set_axis(names, axis=1)


def _count(index: Any) -> Any:
    import pandas as pd

    return pd.RangeIndex(len(index))


_KINDS = {
    "boolean": "bool",
    "integer": "integer",
    "categorical": "category",
    "date": "date",
    **dict.fromkeys(("floating", "mixed-integer-float", "decimal"), "float"),
    **dict.fromkeys(("datetime", "datetime64"), "time"),
    **dict.fromkeys(("timedelta", "timedelta64"), "span"),
}
"""pandas' word for the values of a column -> ours; all other values travel as text."""


def _kind(column: Any) -> str:
    """bool, integer, whole, big, float, date, time, span, category or text."""
    from pandas.api.types import infer_dtype

    kind = _KINDS.get(infer_dtype(column, skipna=True), "text")
    if kind == "integer" and len(values := column.dropna()):
        largest = max(abs(int(values.min())), abs(int(values.max())))
        kind = "integer" if largest <= _INTEGER else "whole" if largest <= _EXACT else "big"
    return kind


def _plain(column: Any, kind: str) -> Any:
    """The column as a text file has it, with None for missing values."""
    import pandas as pd

    if kind == "time":
        column = pd.to_datetime(column, utc=True).dt.strftime("%Y-%m-%dT%H:%M:%S.%f")
    elif kind == "span":
        column = pd.to_timedelta(column).dt.total_seconds()
    elif kind == "float":
        column = column.astype("float64")
    elif kind != "bool" and kind not in ("integer", "whole"):
        column = column.map(_text, na_action="ignore")
    column = column.astype(object)
    return column.where(column.notna(), None)


def _text(value: object) -> str:
    return json.dumps(value, default=str) if isinstance(value, (dict, list, tuple)) else str(value)


# The languages ------------------------------------------------------------------------------------


_R_CLASSES = {
    "bool": "logical",
    "integer": "integer",
    **dict.fromkeys(("whole", "float", "span"), "numeric"),
}
_OF_TEXT = {
    "date": "as.Date({0})",
    "span": 'as.difftime({0}, units = "secs")',
    "time": 'as.POSIXct({0}, format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC")',
    "category": "factor({0}, c({levels}), ordered = {ordered})",
}
"""Kind -> what R makes of the column of a CSV file."""


def _to_r(computer: Computer, frame: Any, path: Path, name: str) -> str:
    """Copy by a CSV file, which R reads with the types of the columns; its kind there, in words."""
    columns = [frame.iloc[:, at] for at in range(len(frame.columns))]
    kinds = list(map(_kind, columns))
    plain = {f"c{at}": _plain(*each) for at, each in enumerate(zip(columns, kinds, strict=True))}
    table = frame.iloc[:, :0].assign(**plain).set_axis(frame.columns, axis=1)
    table.to_csv(path, index=False, encoding="utf-8", na_rep=_MISSING)
    classes = ", ".join(json.dumps(_R_CLASSES.get(kind, "character")) for kind in kinds)
    lines = [
        f"x <- read.csv({_quote(path)}, check.names = FALSE, na.strings = {json.dumps(_MISSING)}, "
        f'encoding = "UTF-8", blank.lines.skip = FALSE, colClasses = c({classes}))'
    ]
    for at, (column, kind) in enumerate(zip(columns, kinds, strict=True), 1):
        of = {}
        if kind == "category":
            levels = (json.dumps(_text(each), ensure_ascii=False) for each in column.cat.categories)
            of = {"levels": ", ".join(levels), "ordered": str(bool(column.cat.ordered)).upper()}
        if kind in _OF_TEXT:
            lines.append(f"x[[{at}]] <- {_OF_TEXT[kind].format(f'x[[{at}]]', **of)}")
        zone = str(getattr(column.dtype, "tz", None) or "UTC")
        if kind == "time" and re.fullmatch(r"[A-Za-z]+(/[A-Za-z_/+-]+)?", zone):
            lines.append(f'attr(x[[{at}]], "tzone") <- {json.dumps(zone)}')
    lines.append(f'assign("{name}", x, envir = globalenv())')
    _do(computer, "r", "local({\n" + "\n".join(lines) + "\n})", "cat({})")
    return "a data.frame"


_CONVERSIONS = {
    "time": "v => new Date(v.slice(0, 23) + 'Z')",
    "big": "BigInt",
    **dict.fromkeys(("float", "span"), "Number"),
}
"""Kind -> what JavaScript makes of a value that JSON cannot hold."""


def _to_javascript(computer: Computer, frame: Any, path: Path, name: str) -> str:
    """Copy the columns by a file of JSON; its kind there, in words.

    There it is an array of objects; times become Date, big numbers BigInt.
    """
    if "__proto__" in frame.columns:
        raise ComputerError(
            "a column called '__proto__' cannot be a property of an object: rename it"
        )
    columns: dict[str, list[Any]] = {}
    conversions: dict[str, str] = {}
    for at, key in enumerate(frame.columns):
        kind = _kind(frame.iloc[:, at])
        columns[key] = _plain(frame.iloc[:, at], kind).tolist()
        if kind in ("float", "span"):
            columns[key] = list(map(_finite, columns[key]))
        if kind in _CONVERSIONS:
            conversions[key] = _CONVERSIONS[kind]
    path.write_text(json.dumps(columns, ensure_ascii=False, default=_number), "utf-8")
    makes = ", ".join(f"[{json.dumps(key)}]: {code}" for key, code in conversions.items())
    code = f"""var {name} = (() => {{
const columns = JSON.parse(require("fs").readFileSync({_quote(path)}, "utf8")), make = {{{makes}}};
for (const key in make) columns[key] = columns[key].map(v => v === null ? v : make[key](v));
const keys = Object.keys(columns), rows = new Array({len(frame)});
for (let i = 0; i < rows.length; i++) {{
  const row = rows[i] = {{}};
  for (const key of keys) row[key] = columns[key][i];
}}
return rows;
}})();"""
    _do(computer, "javascript", code, "console.log({})")
    return "an array of objects"


def _to_shell(computer: Computer, path: Path, name: str) -> None:
    if name in os.environ:
        raise ComputerError(
            f"the environment has a variable {name} already: give another name, as in "
            "share(df, to='shell', name='table')"
        )
    text = "'" + str(path).replace("'", "'\\''") + "'"
    _do(computer, "shell", f"export {name}={text}", "printf %s {}")


def _quote(path: Path) -> str:
    return json.dumps(path.as_posix(), ensure_ascii=False)


def _number(value: Any) -> Any:
    """A number of numpy as one of Python, for JSON."""
    return value.item()


def _finite(value: float | None) -> float | str | None:
    """The value, with a text for infinity, which JSON does not have and JavaScript converts."""
    return f"{'-' * (value < 0)}Infinity" if value is not None and math.isinf(value) else value


# Running it ---------------------------------------------------------------------------------------


def _do(computer: Computer, language: str, code: str, say: str) -> None:
    """Run a statement of ours; a ComputerError when it has not worked."""
    word = secrets.token_hex(8)
    output = _run(computer, language, f"{code}\n{say.format(json.dumps(word))}")
    if word not in output:
        raise ComputerError(f"{language} could not read the table: {_short(output)}")


def _short(output: str) -> str:
    return output.partition("Traceback")[0].strip() or "it gave no answer"


def _run(computer: Computer, language: str, code: str) -> str:
    with contextlib.closing(computer.run(language, code)) as pieces:
        return "".join(
            piece.content
            for piece in pieces
            if piece.format == "output" and isinstance(piece.content, str)
        )
