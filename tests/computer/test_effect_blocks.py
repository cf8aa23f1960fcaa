"""Blocks of code as models write them, each labelled by hand with what it really does.

The labels were written before the function saw the blocks (`effects/blocks.txt`).
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import NamedTuple

import matplotlib.figure
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lmc_jupyter.computer import Computer
from lmc_jupyter.computer.effects import find_effects
from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.computer.languages.python_uses import uses
from lmc_jupyter.content.effect import Effect
from lmc_jupyter.gate import Gate
from lmc_jupyter.limits import Policy

BLOCKS = Path(__file__).parent / "effects" / "blocks.txt"
RIGHT = 0.95
"""The share of blocks whose effects are exactly right."""


def type_of(name, module):
    """A type as a library's, for libraries that tests do not install."""
    return type(name, (), {"__module__": module})


def helper(values):
    """A function of the person's own."""
    return values


Account = type_of("Account", "__main__")
helper.__module__ = "__main__"


@pytest.fixture(scope="module")
def live():
    """Every variable that a block may name."""
    figure = matplotlib.figure.Figure()
    return {
        "df": pd.DataFrame({"species": ["setosa"], "id": [1], "sepal_length": [5.1]}),
        "sales": pd.DataFrame({"id": [1], "price": [2.5]}),
        "s": pd.Series([1.0, 2.0]),
        "arr": np.arange(20),
        "lst": [3, 1, 2],
        "rows": [{"city": "Oslo", "price": 2, "quantity": 3}],
        "d": {"key": 0},
        "seen": {1},
        "count": 3,
        "name": "Ann",
        "path": "data/in.csv",
        "folder": Path("results"),
        "model": type_of("LinearRegression", "sklearn.linear_model._base")(),
        "scaler": type_of("StandardScaler", "sklearn.preprocessing._data")(),
        "session": type_of("Session", "requests.sessions")(),
        "con": sqlite3.connect(":memory:"),
        "fig": figure,
        "ax": figure.subplots(),
        "helper": helper,
        "Account": Account,
        "account": Account(),
        "np": np,
        "pd": pd,
        "plt": plt,
    }


class Block(NamedTuple):
    language: str
    names: tuple[str, ...]
    code: str
    effects: frozenset[str]


def read_blocks():
    text = BLOCKS.read_text("utf-8")
    for match in re.finditer(r"^@@ (\w+) :(.*)\n((?:.*\n)*?)@@ does :(.*)$", text, re.MULTILINE):
        language, names, code, effects = match.groups()
        words = tuple(filter(None, map(str.strip, names.split(","))))
        labels = frozenset(filter(None, map(str.strip, effects.split("|"))))
        yield Block(language, words, code.removesuffix("\n"), labels)


def label(effect):
    """An effect as the labels have it."""
    if effect.kind == "unknown":
        return f"unknown {effect.name}".strip()
    if effect.kind == "renames":
        return f"renames {effect.name} to {effect.detail}"
    return f"{effect.kind} {effect.name or effect.detail}"


def found(block, live):
    names = {name: live[name] for name in {*block.names, "np", "pd", "plt"}}
    return frozenset(map(label, find_effects(block.language, block.code, names)))


@pytest.fixture(scope="module")
def wrong(live):
    """The blocks that are not exactly right, with what was found."""
    pairs = [(block, found(block, live)) for block in read_blocks()]
    return [(block, effects) for block, effects in pairs if effects != block.effects]


def test_nearly_all_blocks_are_exactly_right(wrong):
    count = len(list(read_blocks()))
    assert count >= 200
    report = "\n".join(
        f"{block.code}\n  too many: {effects - block.effects}, missing: {block.effects - effects}"
        for block, effects in wrong
    )
    assert 1 - len(wrong) / count >= RIGHT, report


def test_no_name_of_the_person_s_that_is_bound_anew_is_left_out(wrong):
    silent = [
        block.code
        for block, effects in wrong
        if any(
            each.startswith(("overwrites", "deletes")) and each not in effects
            for each in block.effects
        )
    ]
    assert silent == []


UNASKED = 0.9
"""The share of blocks that only read and make names which run unasked under `ask = "changes"`."""
HARMLESS_LABELS = ("makes", "reads")


def is_harmless(block):
    return bool(block.effects) and all(each.startswith(HARMLESS_LABELS) for each in block.effects)


def test_no_block_that_changes_something_runs_unasked_and_nearly_all_others_do(
    live, record_property
):
    unasked, honest, wrong = 0, 0, []
    for block in read_blocks():
        names = {name: live[name] for name in {*block.names, "np", "pd", "plt"}}
        gate = Gate(
            Policy(changes=True),
            uses=lambda language, code: (language, *uses(code, None)),
            effects=lambda language, code, names=names: (
                find_effects(language, code, names) or (Effect("reads", ""),)
            ),
        )
        runs = gate.propose(1, 1, block.language, block.code).verdict == "allow"
        if is_harmless(block) or not block.effects:
            honest += block.language == "python"
            unasked += runs
        elif runs:
            wrong.append(block.code)
    assert wrong == []
    assert unasked >= UNASKED * honest
    record_property("figure", f"{unasked} of {honest} blocks that only read and make names")


TOUCHES = {
    "us": "from lmc_jupyter import current_session\ncurrent_session().reset()",
    "our settings": "from lmc_jupyter import current_session\ncurrent_session().auto_run = True",
    "the kernel": "get_ipython().kernel.do_shutdown(False)",
    "the shell": "import IPython\nIPython.get_ipython().ex('df = 1')",
    "modules": "import sys\nsys.modules.clear()",
    "the path": "import sys\nsys.path.insert(0, 'x')",
    "Python's own names": "print = 1",
    "all names": "g = globals()\ng['df'] = 1",
    "code as text": "exec('x = 1')",
    "the page": "from IPython.display import HTML\nHTML(text)",
    "scripts of the page": "from IPython.display import Javascript\nJavascript('1')",
    "a bundle": "from IPython.display import display\ndisplay({'text/html': '<b>'}, raw=True)",
    "its own page": "class A:\n    def _repr_html_(self):\n        return '<b>'",
    "a magic": "%load_ext x",
    "a module of the folder": "import mymodule",
    "a pickle": "import pickle\nx = pickle.loads(b'')",
    "C": "import ctypes\nctypes.CDLL(None).system(b'touch x')",
    "a file system of Arrow": "import pyarrow.fs as fs\nfs.LocalFileSystem().delete_file('x')",
}
QUIET = {
    "a magic": "%matplotlib inline",
    "time": "%%time\nx = 1",
    "help": "df?",
    "a table": "df",
    "a figure": "import matplotlib.pyplot as plt\nax = df.plot()",
    "Markdown": "from IPython.display import Markdown\nMarkdown('# x')",
}


@pytest.mark.parametrize("code", TOUCHES.values(), ids=TOUCHES)
def test_what_touches_us_jupyter_or_python_itself_is_asked_for(shell, code):
    computer = Computer(LivePython(shell))
    gate = Gate(Policy(changes=True), uses=computer.uses, effects=computer.effects)
    assert gate.propose(1, 1, "python", code).verdict == "ask"


@pytest.mark.parametrize("code", QUIET.values(), ids=QUIET)
def test_what_a_person_does_all_day_is_not(shell, code):
    shell.user_ns["df"] = pd.DataFrame({"a": [1]})
    computer = Computer(LivePython(shell))
    gate = Gate(Policy(changes=True), uses=computer.uses, effects=computer.effects)
    assert gate.propose(1, 1, "python", code).verdict == "allow"
