"""Fixtures that several test modules share, in one section for each part of the package."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

import filelock  # noqa: F401 - its hooks of a fork are to stand inside of ours
import pytest
from hypothesis import HealthCheck, settings
from IPython.core.interactiveshell import InteractiveShell
from model_server import ModelServer
from sampling import LONG, SEED, amount
from traitlets.config import Config

from lmc_jupyter.keys import secret

# Conversations are kept in the person's data directory, and no test writes there. What a test
# starts, a kernel or a whole JupyterLab, inherits it. The names are those that platformdirs reads.
_DATA = tempfile.mkdtemp(prefix="lmc-data-")
for _name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
    os.environ[_name] = _DATA
# All kernels of a machine share one history: IPython waits five seconds for another kernel that
# writes to it, and then takes the file for broken and moves it away.
os.environ["IPYTHONDIR"] = f"{_DATA}/ipython"


@atexit.register
def _remove_data(owner: int = os.getpid()) -> None:
    if os.getpid() == owner:  # and not a fork of it
        shutil.rmtree(_DATA, ignore_errors=True)


# nbformat imports jsonschema, and that builds a parser of addresses in any script, which takes each
# worker 1.5 s; jsonschema does without it, and no test has such an address.
sys.modules["rfc3987_syntax"] = None

# pytest-xdist says with it which run this is, in the 32 hexadecimal digits that our tokens have.
os.environ.pop("PYTEST_XDIST_TESTRUNUID", None)

# The garbage collector closes what a test leaves open, a conversation among it. Where it does so
# while filelock's hook of a fork reads the table of all locks, that hook fails: the table changes.
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=gc.disable, after_in_parent=gc.enable, after_in_child=gc.enable)

# How long an example takes says something of the machine, not of the code; and what one run finds
# every run finds, but for long runs, which draw anew with a seed that they print.
settings.register_profile(
    "long" if LONG else "day",
    deadline=None,
    derandomize=not LONG,
    max_examples=amount(25, 300),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("long" if LONG else "day")


def pytest_report_header() -> str:
    """How much of what is exhaustive this run tries, and the seed that draws its samples."""
    return f"{'everything' if LONG else 'samples'}: LMC_TEST_SEED={SEED}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser shows little that a kernel and vitest do not: `day` names what only it shows."""
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if "local_model" in marks or ("browser" in marks and "day" not in marks):
            item.add_marker(pytest.mark.long)


@pytest.fixture(autouse=True)
def _no_key_of_another_test() -> Iterator[None]:
    """A key is known while anybody holds it, and the last traceback of a test may: what begins as
    that key does would wait in the next test's output."""
    yield
    secret._alive.clear()


# Models -------------------------------------------------------------------------------------------


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server that speaks the OpenAI protocol, and an environment without keys."""
    for name in ("OPENAI_API_KEY", "LMC_API_BASE", "LMC_API_KEY", "LMC_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer() as server:
        yield server


# Shells -------------------------------------------------------------------------------------------


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """An IPython shell of the test's own, which is the running one meanwhile."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    InteractiveShell.clear_instance()
    it = InteractiveShell.instance(config=config, user_ns={})
    yield it
    gc.freeze()  # IPython has its garbage collected here, and a whole test run's is much
    it.atexit_operations()
    gc.unfreeze()
    atexit.unregister(it.atexit_operations)
    InteractiveShell.clear_instance()
