"""What code will do, as it is said before it runs."""

from __future__ import annotations

import types

import numpy as np
import pandas as pd
import pytest

from lmc_jupyter.computer.effects import find_effects
from lmc_jupyter.content.effect import Effect


def kinds(code, names, language="python"):
    return {(each.kind, each.name) for each in find_effects(language, code, names)}


@pytest.mark.parametrize(
    "code",
    [
        "a = 1",
        "a: int = 1",
        "a, *b = 1, 2",
        "a += 1",
        "(a := 1)",
        "[(a := i) for i in range(3)]",
        "for a in range(3): pass",
        "with open('x') as a: pass",
        "import numpy as a",
        "from os import path as a",
        "def a(): pass",
        "class a: pass",
        "def f():\n    global a\n    a = 1\nf()",
        "match [1]:\n    case [a]: pass",
        "match {}:\n    case {**a}: pass",
        "a = !ls",
        "%time a = 1",
        "%%time\na = 1",
        "%%capture a\nprint(1)",
        "globals()['a'] = 1",
        "if True:\n    a = 1",
        "async def f(): pass\nasync with f() as a: pass",
    ],
)
def test_a_name_of_the_person_s_that_is_bound_anew_is_named(code):
    assert ("overwrites", "a") in kinds(code, {"a": 5})


@pytest.mark.parametrize(
    "code",
    [
        "[a for a in range(3)]",
        "lambda a: a",
        "def f(a): a = 1\nf(2)",
        "class C:\n    a = 1",
        "a: int",
        "print(a)",
        "%timeit a = 1",
        "b = {a: 1 for a in 'x'}",
        "def f():\n    global a\n    a = 1",
    ],
)
def test_a_name_that_keeps_its_value_is_not_named(code):
    assert not [each for each in kinds(code, {"a": 5}) if each[1] == "a"]


def test_a_variable_is_described_by_its_type_and_size_alone():
    class Spy(list):
        def __repr__(self):
            raise AssertionError("nobody calls this")

        __len__ = __str__ = __getattribute__ = __repr__

    names = {"rows": [1, 2, 3], "spy": Spy()}
    assert find_effects("python", "rows = spy = 1", names) == (
        Effect("overwrites", "rows", "list, 3 items"),
        Effect("overwrites", "spy", "Spy"),
    )


def test_an_import_of_the_very_same_value_is_no_news():
    import json

    code = "import json\nfrom json import dumps"
    assert find_effects("python", code, {"json": json, "dumps": json.dumps}) == ()
    assert kinds(code, {"json": 1, "dumps": 2}) == {("overwrites", "json"), ("overwrites", "dumps")}


def test_code_that_is_no_python_has_no_effects():
    (said,) = find_effects("python", "x = = 1", {"x": 1})
    assert (said.kind, said.name) == ("reads", "")


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("view = arr[:2]\nview[0] = 5", True),
        ("row = arr[0]\nrow += 1", True),
        ("copy = arr[arr > 1]\ncopy[0] = 5", False),
        ("copy = arr.copy()\ncopy[0] = 5", False),
        ("for row in arr:\n    row.sort()", True),
        ("for row in arr.tolist():\n    row.sort()", False),
    ],
)
def test_a_slice_of_a_numpy_array_is_a_view(code, changes):
    assert (("changes", "arr") in kinds(code, {"arr": np.zeros((3, 3))})) is changes


def test_a_slice_of_a_list_has_the_same_elements():
    names = {"rows": [{}]}
    assert ("changes", "rows") not in kinds("part = rows[:]\npart.append(1)", names)
    assert ("changes", "rows") in kinds("part = rows[:]\npart[0]['x'] = 1", names)


def test_changes_of_modules_and_classes_are_seen_by_their_type_alone():
    class Meta(type):
        def __getattribute__(cls, name):
            raise AssertionError("nobody asks it")

    class Odd(metaclass=Meta):
        __module__ = "__main__"

    assert ("overwrites", "Odd") in kinds("Odd = 1", {"Odd": Odd})
    assert ("unknown", "Odd()") in kinds("x = Odd()", {"Odd": Odd})


def test_a_path_from_a_variable_has_no_keys():
    key = "sk-proj-" + "abcDEF123456" * 4
    (effect,) = find_effects("python", "open(path, 'w')", {"path": f"out/{key}.txt"})
    assert effect.kind == "writes"
    assert key not in effect.name


def test_code_that_is_made_to_be_slow_is_read_up_to_a_bound_and_that_is_said():
    calls = "\n".join(f"f('{number}')" for number in range(2_000))
    slow = "def f(a):\n" + "    x = a.b(1)\n" * 2_000 + calls
    assert "unknown" in {kind for kind, _ in kinds(slow, {})}
    assert kinds("x = 1\n" * 50_000, {"x": 1}) == {("unknown", "")}
    assert ("unknown", "") in kinds(f"x = {'1 + ' * 20_000}1", {"x": 1})


def test_a_text_that_code_doubles_in_every_line_is_not_built():
    code = "path = 'xxxxxxxxxx'\n" + "path = path + path\n" * 2_000 + "open(path, 'w')"
    assert ("writes", "path") in kinds(code, {})


def test_what_a_module_puts_off_is_not_loaded():
    class Lazy(types.ModuleType):
        def __getattribute__(self, name):
            raise AssertionError("nobody asks it")

    names = {"lazy": Lazy("lazy"), "count": 1}
    assert kinds("lazy.f(1)\nlazy.x = 1\ncount = lazy.y", names) == {
        ("unknown", "lazy.f()"),
        ("changes", "lazy"),
        ("overwrites", "count"),
    }


@pytest.mark.parametrize("language", ["html", "browser"])
def test_what_runs_in_a_frame_of_the_page_has_no_effects(language):
    assert find_effects(language, "<b>x</b>") == ()


def test_of_another_language_it_is_said_that_it_cannot_be_known():
    (effect,) = find_effects("r", "x <- 1")
    assert effect.detail.startswith("what this r code does is not known")
    assert "your names in Python" in effect.detail
    (effect,) = find_effects("fortran", "end")
    assert "names" not in effect.detail


class Ship:
    """A class of the person's own."""

    @property
    def speed(self):
        """Runs code, though it is read as a value."""
        return 1

    def sail(self):
        """Of the person's own."""

    def __add__(self, other):
        return self


Ship.__module__ = "__main__"


@pytest.mark.parametrize(
    ("code", "effect"),
    [
        ("getattr(os, 'system')('touch x')", ("writes", "x")),
        ("getattr(os, word)('touch x')", ("unknown", "getattr(os, word)")),
        ("__import__('os').remove('x')", ("removes", "x")),
        (
            "from importlib import import_module as get\nget('o' + 's').remove('x')",
            ("removes", "x"),
        ),
        ("list(map(os.system, ['ls']))", ("shell", "os.system()")),
        ("import functools\nfunctools.partial(os.system, 'ls')()", ("shell", "os.system()")),
        ("import shutil\nshutil.os.remove('x')", ("removes", "x")),
        ("import ctypes\nctypes.CDLL(None)", ("unknown", "ctypes.CDLL()")),
        ("import builtins\nbuiltins.open('x', 'w')", ("writes", "x")),
        ("a = ('x', 'w')\nopen(*a)", ("unknown", "open()")),
        ("import io\nio.FileIO('x', 'w')", ("writes", "x")),
        ("os.open('x', os.O_CREAT | os.O_WRONLY)", ("writes", "x")),
        ("import gzip\ngzip.GzipFile('x.gz', 'w')", ("writes", "x.gz")),
        ("from pathlib import Path\nPath('a').symlink_to('b')", ("writes", "a")),
        ("import asyncio\nawait asyncio.open_connection('h', 80)", ("network", "asyncio")),
        ("df.__setitem__('x', 1)", ("changes", "df")),
        ("getattr(df, 'pop')('a')", ("loses", "df")),
        ("df.drop(columns=['a'], **{'inplace': True})", ("loses", "df")),
        ("df.drop(columns=['a'], **options)", ("loses", "df")),
        ("import pickle\npickle.loads(b'')", ("unknown", "pickle.loads()")),
        ("import cProfile\ncProfile.run('x = 1')", ("unknown", "cProfile.run()")),
        ("import a_module_of_the_folder", ("unknown", "import a_module_of_the_folder")),
        ("g = globals\ng()['df'] = 1", ("overwrites", "df")),
        ("f = [os.system][0]\nf('ls')", ("shell", "ls")),
        ("def run(f):\n    f('x')\nrun(os.remove)", ("removes", "x")),
        ("f = print\nif df is None:\n    f = os.remove\nf('x')", ("unknown", "f()")),
        ("f = df.pop\nf('a')", ("loses", "df")),
        ("pd.DataFrame.pop(df, 'a')", ("loses", "df")),
        ("pd.DataFrame.head = None", ("unknown", "pd.DataFrame.head")),
        ("df.query('@os.system(word)')", ("unknown", "df.query()")),
        ("ship.speed", ("unknown", "ship.speed")),
        ("ship + 1", ("unknown", "ship")),
        ("[*map(ship.sail, 'x')]", ("unknown", "ship.sail()")),
        ("fleet[0].update()", ("unknown", "fleet[0].update()")),
        ("@unknown_to_all\ndef f(): pass", ("unknown", "unknown_to_all()")),
        ("with ship: pass", ("unknown", "ship")),
        ("os.rename('a', 'b')", ("renames", "a")),
        ("del ships['x']", ("loses", "ships")),
        ("ships.clear()", ("empties", "ships")),
        ("import threading\nthreading.Thread(target=os.remove)", ("unknown", "os.remove()")),
        ("sorted('ab', key=lambda x: os.remove(x))", ("removes", "x")),
        ("vars(os)['remove']('x')", ("unknown", "vars(os)")),
        ("import atexit\n@atexit.register\ndef f(): os.remove('x')", ("removes", "x")),
        (
            "import functools\n@functools.partial(map, str)\ndef f(): os.remove('x')",
            ("removes", "x"),
        ),
    ],
)
def test_nothing_is_silent_where_it_is_not_known(code, effect):
    import os

    names = {"df": pd.DataFrame({"a": [1]}), "pd": pd, "os": os, "ships": {"x": 1}}
    assert effect in kinds(code, {**names, "ship": Ship(), "fleet": [Ship()]})


@pytest.mark.parametrize(
    "code",
    [
        "df.groupby('a').agg(['mean', 'std']).round(2).sort_values(('a', 'mean')).head()",
        "for name, f in {'mean': np.mean, 'std': np.std}.items():\n    print(name, f([1, 2]))",
        "for ax in plt.subplots(2, 2)[1].flat:\n    ax.hist(df['a']); ax.set(title='x')",
        "print(np.pi, np.random.default_rng(0).normal(size=3).mean())",
        "from sklearn.cluster import KMeans\nKMeans(3).fit(df).labels_",
        "import statsmodels.api as sm\nsm.OLS(df['a'], sm.add_constant(df['a'])).fit().summary()",
        "import json, re, math, os\nprint(re.findall('a', json.dumps([math.pi, os.sep])))",
    ],
)
def test_honest_work_with_data_is_not_said_to_do_more(code):
    import matplotlib.pyplot as plt

    names = {"df": pd.DataFrame({"a": [1]}), "np": np, "plt": plt}
    assert {kind for kind, _ in kinds(code, names)} <= {"makes"}


def test_a_method_that_only_begins_as_one_that_writes_a_file_names_none() -> None:
    sheet = type("Worksheet", (), {"__module__": "xlsxwriter.worksheet"})()
    assert "writes" not in {
        kind for kind, _ in kinds("sheet.write_column('A1', [1])", {"sheet": sheet})
    }


def test_a_new_name_of_a_step_alone_is_not_named_and_one_of_the_persons_is() -> None:
    effects = find_effects("python", "_d = 1; total = _d; _mine = 2", {"_mine": 1})
    assert [(each.kind, each.name) for each in effects] == [
        ("makes", "total"), ("overwrites", "_mine"),
    ]  # fmt: skip


def test_scopes_that_are_too_deep_to_be_read_are_asked_for():
    """It runs; of what is around it to read its scopes, one more level is too many for Python."""
    deep = "\n".join(f"{' ' * (level + 1)}if 1:" for level in range(98))
    code = f"def f():\n global df\n{deep}\n{' ' * 99}df = 5\nf()"
    compile(code, "<cell>", "exec")
    assert ("unknown", "") in kinds(code, {"df": [1]})
