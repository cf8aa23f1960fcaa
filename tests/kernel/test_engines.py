"""Engines that are there already are told in a line, and nothing of them is called."""

from __future__ import annotations

import sys
import types
from functools import partial

import pytest
from test_namespace import Trap

from lmc_jupyter.kernel.engines import MAX_ENGINES, engines

LARGE = "use it for work that outgrows this machine"


def of(module, name, **own):
    """An object of a class of this name, which fails when it is touched."""

    def fail(self, *_):
        raise AssertionError("it was touched")

    touched = ("__repr__", "__str__", "__len__", "__bool__", "__getattr__", "__getattribute__")
    kind = type(name, (), {**dict.fromkeys(touched, fail), "__module__": module})
    it = kind()
    object.__getattribute__(it, "__dict__").update(own)
    return it


def engine(module, name, **own):
    """Makes one; pytest itself would touch it."""
    return partial(of, module, name, **own)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            engine(
                "distributed.client",
                "Client",
                status="running",
                _scheduler_identity={"n_workers": 2},
            ),
            f"a Dask client with 2 workers; {LARGE}",
        ),
        (engine("distributed.client", "Client"), f"a Dask client; {LARGE}"),
        (engine("distributed.client", "Client", status="closed"), "a Dask client, closed"),
        (
            engine("ipyparallel.client.client", "Client", _trait_values={"_ids": [0]}),
            f"an ipyparallel client with 1 engine; {LARGE}",
        ),
        (
            engine("ipyparallel.client.client", "Client", _closed=True),
            "an ipyparallel client, closed",
        ),
        (
            engine("ipyparallel.client.view", "DirectView", _trait_values={"targets": [0, 1]}),
            f"an ipyparallel view with 2 engines, whose calls end with .get(); {LARGE}",
        ),
        (
            engine("ipyparallel.client.view", "DirectView", _trait_values={"block": True}),
            f"an ipyparallel view; {LARGE}",
        ),
        (
            engine("ipyparallel.client.view", "DirectView", _trait_values={"targets": 3}),
            f"an ipyparallel view with 1 engine, whose calls end with .get(); {LARGE}",
        ),
        (engine("pyspark.sql.session", "SparkSession"), f"a Spark session; {LARGE}"),
        (
            engine("duckdb", "DuckDBPyConnection"),
            "a DuckDB connection; use it for tables that outgrow memory",
        ),
        (
            engine(
                "sqlalchemy.engine.base", "Engine", dialect=types.SimpleNamespace(name="sqlite")
            ),
            "a SQLAlchemy engine (sqlite); let it do queries where the data is",
        ),
    ],
)
def test_a_line(make, said):
    it = make()
    assert engines({"x": 1, "it": it, "_it": it, "trap": Trap()}) == {"it": said}


def test_a_class_of_the_same_name_from_elsewhere_is_none():
    assert engines({"it": of("mine", "Client")}) == {}


def test_the_last_ones_of_many():
    many = {f"c{n}": of("pyspark.sql", "SparkSession") for n in range(30)}
    assert list(engines(many)) == [f"c{n}" for n in range(30 - MAX_ENGINES, 30)]


@pytest.mark.parametrize(
    ("runs", "said"), [(True, {"ray": f"Ray, connected; {LARGE}"}), (False, {}), (None, {})]
)
def test_ray_is_there_when_it_says_so(monkeypatch, runs, said):
    ray = types.ModuleType("ray")
    if runs is not None:
        ray.is_initialized = lambda: runs
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert engines({}) == said


def test_a_real_connection_is_known():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    with duckdb.connect() as connection:
        assert "DuckDB" in engines({"con": connection})["con"]
