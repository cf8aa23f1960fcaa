"""The engines that the person already has, so that the model can use them: clusters, databases.

One rule: the names of their classes identify them, and their description comes from their own
dictionaries. Nothing is imported or called, so that a cluster that is dead or far away costs
nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from lmc_jupyter.kernel.namespace import module_of

MAX_ENGINES = 10

_LARGE = "use it for work that outgrows this machine"


class _Engine(NamedTuple):
    """How one class of engines is described; a path names keys and attributes, such as `a.b`."""

    text: str
    use: str = _LARGE
    number: str = ""
    """The path of a number, or of a list, of…"""
    unit: str = ""
    """…what."""


_VIEW = _Engine("an ipyparallel view", number="_trait_values.targets", unit="engine")
_SQL = _Engine("a SQLAlchemy engine", "let it do queries where the data is")
_DUCKDB = _Engine("a DuckDB connection", "use it for tables that outgrow memory")
_ENGINES = {
    ("distributed", "Client"): _Engine(
        "a Dask client", number="_scheduler_identity.n_workers", unit="worker"
    ),
    ("ipyparallel", "Client"): _Engine(
        "an ipyparallel client", number="_trait_values._ids", unit="engine"
    ),
    ("ipyparallel", "DirectView"): _VIEW,
    ("ipyparallel", "BroadcastView"): _VIEW,
    ("ipyparallel", "LoadBalancedView"): _VIEW,
    ("pyspark", "SparkSession"): _Engine("a Spark session"),
    ("duckdb", "DuckDBPyConnection"): _DUCKDB,
    ("_duckdb", "DuckDBPyConnection"): _DUCKDB,
    ("sqlalchemy", "Engine"): _SQL,
    ("sqlalchemy", "AsyncEngine"): _Engine("an asynchronous SQLAlchemy engine", _SQL.use),
}

LIBRARIES = frozenset({"ray", *(library for library, _ in _ENGINES)})
"""Where none of these is imported there is no engine."""


def engines(names: Mapping[str, Any]) -> dict[str, str]:
    """Name -> what it is and what for, of the last `MAX_ENGINES` of a namespace.

    Examples
    --------
    >>> engines({"x": 1})
    {}
    """
    result: dict[str, str] = {}
    for name, value in list(names.items()):
        kind = type(value)
        engine = _ENGINES.get((module_of(kind), type.__getattribute__(kind, "__name__")))
        if engine is not None and type(name) is str and not name.startswith("_"):
            result[name] = _describe(engine, value)
    result = dict(list(result.items())[-MAX_ENGINES:])
    if _ray_runs():
        result.setdefault("ray", f"Ray, connected; {_LARGE}")
    return result


def _describe(engine: _Engine, value: Any) -> str:
    """`a Dask client with 2 workers; use it for work that outgrows this machine`."""
    text = engine.text
    status = "closed" if _at(value, "_closed") else _at(value, "status")
    if status not in (None, "running"):
        return f"{text}, {status}"
    count = _at(value, engine.number)
    if type(count) in (list, tuple):
        count = len(count)
    elif engine is _VIEW and count is not None:
        count = 1  # a number is the name of one engine
    if type(count) is int:
        text += f" with {count} {engine.unit}{'s' * (count != 1)}"
    if engine is _VIEW and _at(value, "_trait_values.block") is not True:
        text += ", whose calls end with .get()"
    if engine is _SQL:
        dialect = getattr(_at(value, "dialect"), "name", None)
        text += f" ({dialect[:20]})" if type(dialect) is str else ""
    return f"{text}; {engine.use}"


def _at(value: Any, path: str) -> Any:
    """What stands at a path in the dictionaries of an object; None where there is nothing."""
    for key in path.split("."):
        if not issubclass(type(value), dict):
            try:
                value = object.__getattribute__(value, "__dict__")
            except AttributeError:
                return None
        value = dict.get(value, key)
    return value


def _ray_runs() -> bool:
    ray = sys.modules.get("ray")
    runs = getattr(ray, "is_initialized", None)  # it looks at a flag of this process
    try:
        return runs is not None and runs() is True
    except Exception:  # noqa: BLE001 - a Ray that is half imported, or shut down
        return False
