"""What a block did to the names, and the way back; without touching what is not known."""

from __future__ import annotations

import types
import weakref

import numpy as np
import pandas as pd
import pytest
from test_namespace import Liar, Trap

from lmc_jupyter.kernel import changes, snapshot
from lmc_jupyter.kernel.changes import Changes, MadeNames, RecentChanges, Watch


@pytest.fixture(autouse=True)
def copy_on_write():
    """As pandas 3 has it, also with pandas 2."""
    if int(pd.__version__.partition(".")[0]) >= 3:
        yield
    else:
        with pd.option_context("mode.copy_on_write", True):
            yield


def shell(**names):
    return types.SimpleNamespace(user_ns=names, user_ns_hidden={})


def run(code, **names):
    """Run code on these names; the namespace after it and what it did."""
    it = shell(**names)
    watch = Watch(it, code)
    exec(code, it.user_ns)
    it.user_ns.pop("__builtins__", None)
    return it.user_ns, watch.changes()


def test_a_loop_variable_that_a_block_made_is_no_news_to_the_next_block():
    it = shell(i=7, a=1)
    for made, changed in (({"i"}, ()), ((), ("i",))):
        watch = Watch(it, "for i in (1, 2): pass", made)
        it.user_ns["i"] += 1
        assert watch.changes().changed == changed


IN_PASSING = ("json", "o", "i", "Counter")


def said(changes):
    return changes.new, changes.changed, changes.removed


@pytest.mark.parametrize(
    ("code", "new", "changed", "removed"),
    [
        ("pass", (), (), ()),
        ("a", (), (), ()),
        ("b = 1; c = 2", ("b", "c"), (), ()),
        ("a = 6", (), ("a",), ()),
        ("a = None; n = None", ("n",), ("a",), ()),
        ("a = 5", (), (), ()),
        ("a = 2 + 3.0", (), ("a",), ()),
        ("s = 'te' + 'xt'", (), (), ()),
        ("nan = float('nan')", (), (), ()),
        ("zero = -0.0", (), ("zero",), ()),
        ("del a", (), (), ("a",)),
        ("b = a; del a", ("b",), (), ("a",)),
        ("import json; import os as o", (), (), ()),
        ("_x = 1; __y = 2", (), (), ()),
        ("l.append(1)", (), ("l",), ()),
        ("l[0] = 9", (), ("l",), ()),
        ("l.append(1); l.pop()", (), (), ()),
        ("d['k'] = 1", (), ("d",), ()),
        ("d[1] = d.pop(1)", (), (), ()),
        ("t.add(9)", (), ("t",), ()),
        ("t.remove(1); t.add(7)", (), ("t",), ()),
        ("y[0] = 9", (), ("y",), ()),
        ("grow()", (), ("l",), ()),
        ("globals()['l'].append(1)", (), ("l",), ()),
        ("alias = l; alias.clear()", ("alias",), ("l",), ()),
        ("def grow(): pass", (), ("grow",), ()),
        ("from collections import Counter\nfor i in 'ab': b = i", ("b",), (), ()),
        ("for a in (1, 2): pass", (), ("a",), ()),
        ("for b in (1, 2): pass\nb = 3", ("b",), (), ()),
    ],
)
def test_what_a_block_did(code, new, changed, removed):
    def names():
        it = {
            "a": 5, "s": "text", "l": [[1], 2], "d": {1: 2}, "t": {1, 2}, "y": bytearray(b"ab"),
            "nan": float("nan"), "zero": 0.0,
        }  # fmt: skip
        exec("def grow(): more()\ndef more(): l.append(3)", it)
        it.pop("__builtins__")
        return it

    before = names()
    kept = dict(before)
    contents = {name: repr(value) for name, value in before.items()}
    it = types.SimpleNamespace(user_ns=before, user_ns_hidden={})
    watch = Watch(it, code)
    exec(code, before)
    before.pop("__builtins__", None)
    found = watch.changes()
    assert said(found) == (new, changed, removed)
    assert bool(found) == bool(new or changed or removed)
    assert found.lost == ""
    if found:
        found.restore(before)
        mine = {name: value for name, value in before.items() if not name.startswith("_")}
        mine = {name: value for name, value in mine.items() if name not in IN_PASSING}
        assert {name: repr(value) for name, value in mine.items()} == contents
        for name in ("l", "d", "t", "y"):  # in place: whoever else holds it sees it too
            assert mine[name] is kept[name]


def frame():
    return pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [object(), object()]})


@pytest.mark.parametrize(
    "code",
    [
        "df.loc[0, 'a'] = 9",
        "df['d'] = 1",
        "df.pop('b')",
        "df.columns = ['x', 'y', 'z']",
        "df.insert(0, 'first', 0); df.index = ['r', 's']",
        "df['d'] = 1; df = df.head(1)",
        "df.loc[0, 'a'] = 9; del df",
    ],
)
def test_a_frame_is_taken_back(code):
    df = frame()
    before = df.copy()
    names, found = run(code, df=df, same=df)
    assert "df" in found.changed + found.removed
    assert found.lost == ""
    found.restore(names)
    pd.testing.assert_frame_equal(names["df"], before)
    pd.testing.assert_frame_equal(names["same"], before)
    names["df"].loc[1, "a"] = 5  # and may be written to


@pytest.mark.parametrize("code", ["df.sum(numeric_only=True)", "df.values", "df.to_numpy(); df.T"])
def test_reading_a_frame_does_not_change_it(code):
    df = frame()
    for name in "efg":
        df[name] = 1  # a block each, until somebody reads them all
    assert not run(code, df=df)[1]


def test_a_series_too():
    series = pd.Series([1, 2])
    names, found = run("s[0] = 5", s=series)
    assert found.changed == ("s",)
    found.restore(names)
    assert names["s"].tolist() == [1, 2]


@pytest.mark.parametrize("code", ["a[0] = 9", "a += 1", "a.sort()"])
def test_a_small_array_is_taken_back_in_place(code):
    array = np.array([3.0, np.nan, 1.0])
    names, found = run(code, a=array)
    assert said(found) == ((), ("a",), ())
    assert found.lost == ""
    found.restore(names)
    assert names["a"] is array
    np.testing.assert_array_equal(array, [3.0, np.nan, 1.0])


def test_what_cannot_be_undone_is_named(monkeypatch):
    monkeypatch.setattr(changes, "MAX_COPY", 31)
    monkeypatch.setattr(snapshot, "MAX_FRAME", 3)
    names, found = run("l.append(1); df['n'] = 1; x = 1", l=[1] * 4, df=frame())
    assert said(found) == (("x",), ("l", "df"), ())
    assert found.lost == "Changes inside `l` and `df` cannot be undone."
    sentence = found.restore(names)
    assert sentence == f"Removed the variable `x`. {found.lost}"
    assert "x" not in names


def test_what_may_have_happened_inside_is_named():
    class Model:
        fitted = False

    _, found = run("model.fitted = True; y = 1", model=Model(), other=Model())
    assert said(found) == (("y",), (), ())
    assert found.lost == "Changes inside `model`, if there are any, cannot be undone."


def test_nothing_of_an_unknown_class_is_called():
    trap, liar = Trap(), Liar()
    array = np.empty(1, dtype=object)
    array[0] = trap
    it = shell(trap=trap, liar=liar, l=[trap, liar], d={1: trap}, arr=array)
    watch = Watch(it, "trap; liar; l; d; arr")
    it.user_ns["l"][0] = 1
    it.user_ns["d"][1] = liar
    it.user_ns.update(trap=liar, liar=trap)
    found = watch.changes()
    assert found.changed == ("trap", "liar", "l", "d")
    found.restore(it.user_ns)
    assert it.user_ns["trap"] is trap
    assert it.user_ns["l"][0] is trap
    assert it.user_ns["d"][1] is trap


def test_what_has_changed_since_stays():
    names, found = run("a = 2; b = 2; c = 2; l.append(2)", a=1, b=1, l=[1], other=1)
    names["a"] = 3
    del names["b"]
    names["l"].append(3)
    assert found.restore(names) == (
        "Removed the variable `c`. `l`, `a` and `b` have changed since then and stay unchanged."
    )
    assert names == {"a": 3, "l": [1, 2, 3], "other": 1}


def test_the_last_block_first_and_then_the_one_before():
    names, first = run("a = 2; l.append(2)", a=1, l=[1])
    _, second = run("a = 3; l.append(3)", **names)
    names.update(a=3)
    second.restore(names)
    assert names == {"a": 2, "l": [1, 2]}
    first.restore(names)
    assert names == {"a": 1, "l": [1]}


def test_once():
    names, found = run("a = 2", a=1)
    assert found.restorable
    assert found.restore(names) == "Restored `a`."
    assert not found.restorable
    assert found.restore(names) == "Nothing was restored."


def test_what_cannot_be_written_to_is_said():
    names, found = run("y.append(1)", y=bytearray(b"a"))
    with memoryview(names["y"]):
        assert "`y` could not be written to." in found.restore(names)


def test_many_names_are_counted():
    _, found = run("\n".join(f"n{i} = {i}" for i in range(150)))
    assert len(found.new) == changes.MAX_NAMES + 1
    assert found.new[-1] == "… 50 more"
    assert "and 142 more" in found.restore({f"n{i}": i for i in range(150)})


def test_hidden_names_are_not_theirs():
    it = shell()
    it.user_ns_hidden["plt"] = it.user_ns_hidden["exit"] = value = [1]
    watch = Watch(it, "")
    it.user_ns.update(plt=value, Out={}, In=[])
    assert not watch.changes()


def test_a_value_too_large_is_not_kept(monkeypatch):
    monkeypatch.setattr(changes, "MAX_MEMORY", 100)
    names, found = run("big = 0; x = 1", big="b" * 101, x=0)
    assert found.changed == ("big", "x")
    assert found.lost == "`big` was too large to be restored."
    found.restore(names)
    assert names == {"big": 0, "x": 0}


def test_a_large_value_can_be_freed_while_the_code_runs(monkeypatch):
    monkeypatch.setattr(changes, "MAX_MEMORY", 100)
    monkeypatch.setattr(changes, "MAX_COPY", 100)
    it = shell(big=np.zeros(100), kept=np.zeros(100), other=np.zeros(100))
    ref = weakref.ref(it.user_ns["big"])
    watch = Watch(it, "big; kept; other")
    assert ref() is not None
    del it.user_ns["big"]
    assert ref() is None
    it.user_ns["other"] = it.user_ns["other"][:50]
    found = watch.changes()
    assert said(found) == ((), ("other",), ("big",))
    assert found.lost == (
        "`big` and `other` were too large to be restored. "
        "Changes inside `kept`, if there are any, cannot be undone."
    )
    assert not Watch(it, "kept").changes()


def test_old_values_are_kept_within_bounds(monkeypatch):
    monkeypatch.setattr(changes, "MAX_MEMORY", 100)
    kept = RecentChanges()
    all_ = [run("s = 0", s="x" * 40)[1] for _ in range(3)]
    for each in all_:
        kept.add(each)
    assert [each.restorable for each in all_] == [False, True, True]
    many = [run("a = 2", a=1)[1] for _ in range(changes.MAX_BLOCKS)]
    for each in many:
        kept.add(each)
    assert not any(each.restorable for each in all_)
    kept.clear()
    assert not any(each.restorable for each in many)


def test_where_nothing_was_done_it_is_false():
    assert not Changes()


def test_without_copy_on_write_a_small_frame_is_copied_and_a_larger_one_is_not(monkeypatch):
    monkeypatch.setattr(snapshot, "_copies_on_write", lambda: False)
    names, found = run("df['new'] = 1; df.loc[0, 'a'] = 9", df=frame())
    assert (found.changed, found.lost) == (("df",), "")
    found.restore(names)
    assert list(names["df"]) == ["a", "b", "c"]
    assert names["df"]["a"].tolist() == [1, 2]
    monkeypatch.setattr(changes, "MAX_COPY", 3)
    names, found = run("df['new'] = 1", df=frame())
    assert found.changed == ("df",)
    assert found.lost == "Changes inside `df` cannot be undone."
    assert not found.restorable
    assert found.restore(names) == f"Nothing was restored. {found.lost}"


def test_all_copies_of_a_block_share_one_limit(monkeypatch):
    monkeypatch.setattr(changes, "MAX_COPY", 100)
    names, found = run("a.append(1); b.append(1)", a=[0] * 10, b=[0] * 10)
    assert found.changed == ("a", "b")
    assert found.lost == "Changes inside `b` cannot be undone."
    found.restore(names)
    assert (len(names["a"]), len(names["b"])) == (10, 11)


def test_a_large_frame_is_not_copied_and_not_read(monkeypatch):
    large = pd.DataFrame({"a": np.zeros(9_000_000)})
    array = np.zeros(200_000)
    for kind in (pd.DataFrame, pd.Series):
        for name in ("copy", "equals", "items", "to_numpy"):
            monkeypatch.setattr(kind, name, lambda *_, **__: pytest.fail("it was read"))
    assert large.size * 8 > snapshot.MAX_FRAME
    assert array.nbytes > snapshot.MAX_COPY
    it = shell(large=large, array=array)
    watch = Watch(it, "large; array")
    large["b"] = 1
    found = watch.changes()
    assert said(found) == ((), ("large",), ())
    assert found.lost == (
        "Changes inside `large` cannot be undone. "
        "Changes inside `array`, if there are any, cannot be undone."
    )


def test_frames_that_two_blocks_have_changed_go_back_step_by_step():
    df = frame()
    names, first = run("df.loc[0, 'a'] = 8", df=df)
    _, second = run("df['new'] = 1", **names)
    assert second.restore(names) == "Restored `df`."
    assert list(df) == ["a", "b", "c"]
    assert first.restore(names) == "Restored `df`."
    assert df["a"].tolist() == [1, 2]


@pytest.mark.filterwarnings("ignore:Setting the dtype:DeprecationWarning")  # of NumPy 2.5
def test_the_name_of_an_array_that_has_another_shape_by_now_gets_the_copy():
    array = np.arange(6)
    names, found = run("a.resize((2, 3), refcheck=False)", a=array)
    assert found.changed == ("a",)
    assert found.restore(names) == "Restored `a`."
    assert names["a"].tolist() == [0, 1, 2, 3, 4, 5]
    names, found = run("a.dtype = 'float64'", a=np.arange(6))
    assert found.restore(names) == "Restored `a`."
    assert names["a"].dtype == np.arange(6).dtype


def test_an_array_of_objects_is_compared_by_identity_and_restored():
    trap = Trap()
    array = np.empty(2, dtype=object)
    array[0] = trap
    names, found = run("a[0] = 1", a=array)
    assert found.changed == ("a",)
    found.restore(names)
    assert array[0] is trap


def test_a_weak_reference_of_the_users_own_is_a_value_like_any_other():
    names, found = run("ref = None", ref=weakref.ref(types.SimpleNamespace))
    assert found.lost == ""
    found.restore(names)
    assert names["ref"]() is types.SimpleNamespace


def test_a_name_is_the_conversations_until_a_cell_binds_it_anew():
    made, namespace = MadeNames(), {"df": [1]}
    made.add(["df"], set(), namespace | {"fig": object()})
    assert made.names(namespace) == set()
    namespace["fig"] = object()
    made.add(["df"], set(), namespace)
    assert made.names(namespace) == {"fig"}
    before, mine = tuple(namespace), made.names(namespace)
    namespace.update(fig=object(), df=[2])  # the next block overwrites both
    made.add(before, mine, namespace)
    assert made.names(namespace) == {"fig"}
    namespace["fig"] = object()  # a cell
    assert made.names(namespace) == set()
