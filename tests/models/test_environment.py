"""What LiteLLM's import leaves of the environment, while a cell may change it too."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from lmc_jupyter.models import environment
from lmc_jupyter.models.environment import unchanged_environment


def test_what_a_library_sets_and_removes_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMC_TEST_OWN", "mine")
    monkeypatch.setenv("LMC_TEST_GONE", "here")
    monkeypatch.delenv("LMC_TEST_NEW", raising=False)
    before = dict(os.environ)
    with unchanged_environment(LMC_TEST_MODE="PRODUCTION"):
        assert os.environ["LMC_TEST_MODE"] == "PRODUCTION"
        os.environ["LMC_TEST_OWN"] = "theirs"
        os.environ["LMC_TEST_NEW"] = "theirs"
        del os.environ["LMC_TEST_GONE"]
    assert dict(os.environ) == before


def test_it_is_undone_after_an_error_too() -> None:
    def fail() -> None:
        with unchanged_environment():
            os.environ["LMC_TEST_NEW"] = "theirs"
            raise ImportError

    before = dict(os.environ)
    with pytest.raises(ImportError):
        fail()
    assert dict(os.environ) == before


def test_what_a_cell_sets_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMC_TEST_CELL", raising=False)
    cell = threading.Thread(target=monkeypatch.setenv, args=("LMC_TEST_CELL", "mine"))
    with unchanged_environment(LMC_TEST_MODE="PRODUCTION"):
        cell.start()
        cell.join()
    assert os.environ["LMC_TEST_CELL"] == "mine"
    assert "LMC_TEST_MODE" not in os.environ


def test_a_second_use_waits_for_the_end_of_the_first() -> None:
    """Else what the first one had put there would be put back by the second, for good."""
    before = dict(os.environ), os.putenv, os.unsetenv
    seen: list[str | None] = []

    def use() -> None:
        with unchanged_environment(LMC_TEST_B="b"):
            seen.append(os.environ.get("LMC_TEST_A"))

    second = threading.Thread(target=use)
    with ThreadPoolExecutor(1) as pool, unchanged_environment(LMC_TEST_A="a"):
        assert pool.submit(environment._one_at_a_time.acquire, blocking=False).result() is False
        second.start()
    second.join(60)
    assert seen == [None]
    assert (dict(os.environ), os.putenv, os.unsetenv) == before
