"""The engines that the person already has, so that the model can use them: clusters, databases.

One rule: they are known by the names of their classes, and what is said of them is what they hold
in their own dictionaries. Nothing is imported or called, so that a cluster that is dead or far
away costs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from lmc_jupyter.kernel.namespace import module_of

MAX_ENGINES = 10

_LARGE = "use it for work that outgrows this machine"


def engines(names: Mapping[str, Any]) -> dict[str, str]:
    """Name -> what it is and what for, of the last `MAX_ENGINES` of a namespace.

    Examples
    --------
    >>> engines({"x": 1})
    {}
    """
    found: dict[str, str] = {}
    for name, value in list(names.items()):
        kind = type(value)
        say = _KNOWN.get((module_of(kind), type.__getattribute__(kind, "__name__")))
        if say is not None and type(name) is str and not name.startswith("_"):
            found[name] = say(value)
    found = dict(list(found.items())[-MAX_ENGINES:])
    if _ray_runs():
        found.setdefault("ray", f"Ray, connected; {_LARGE}")
    return found


def _dask(client: Any) -> str:
    own = _own(client)
    if own.get("status") not in (None, "running"):
        return f"a Dask client, {own['status']}"
    known = own.get("_scheduler_identity")
    count = known.get("n_workers") if isinstance(known, dict) else None
    return f"a Dask client{_with(count, 'worker')}; {_LARGE}"


def _ipyparallel(client: Any) -> str:
    if _own(client).get("_closed"):
        return "an ipyparallel client, closed"
    ids = _traits(client).get("_ids")
    return f"an ipyparallel client{_with(_count(ids), 'engine')}; {_LARGE}"


def _view(view: Any) -> str:
    traits = _traits(view)
    count = _count(traits.get("targets"))
    how = "" if traits.get("block") is True else ", whose calls end with .get()"
    return f"an ipyparallel view{_with(count, 'engine')}{how}; {_LARGE}"


def _sqlalchemy(engine: Any) -> str:
    dialect = getattr(_own(engine).get("dialect"), "name", None)
    which = f" ({dialect[:20]})" if type(dialect) is str else ""
    return f"a SQLAlchemy engine{which}; let it do queries where the data is"


def _duckdb(_: Any) -> str:
    return "a DuckDB connection; use it for tables that outgrow memory"


def _spark(_: Any) -> str:
    return f"a Spark session; {_LARGE}"


_KNOWN: dict[tuple[str, str], Callable[[Any], str]] = {
    ("distributed", "Client"): _dask,
    ("ipyparallel", "Client"): _ipyparallel,
    ("ipyparallel", "DirectView"): _view,
    ("ipyparallel", "BroadcastView"): _view,
    ("ipyparallel", "LoadBalancedView"): _view,
    ("pyspark", "SparkSession"): _spark,
    ("duckdb", "DuckDBPyConnection"): _duckdb,
    ("_duckdb", "DuckDBPyConnection"): _duckdb,
    ("sqlalchemy", "Engine"): _sqlalchemy,
    ("sqlalchemy", "AsyncEngine"): lambda _: "an asynchronous SQLAlchemy engine",
}


def _ray_runs() -> bool:
    ray = sys.modules.get("ray")
    runs = getattr(ray, "is_initialized", None)  # it looks at a flag of this process
    try:
        return runs is not None and runs() is True
    except Exception:  # noqa: BLE001 - a Ray that is half imported, or shut down
        return False


def _own(value: Any) -> dict[str, Any]:
    """The dictionary of an object of a library."""
    try:
        own: dict[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own


def _traits(value: Any) -> dict[str, Any]:
    traits = _own(value).get("_trait_values")
    return traits if type(traits) is dict else {}


def _count(value: Any) -> int | None:
    return len(value) if type(value) in (list, tuple) else 1 if type(value) is int else None


def _with(count: Any, what: str) -> str:
    if type(count) is not int or count < 0:
        return ""
    return f" with {count} {what}{'' if count == 1 else 's'}"
