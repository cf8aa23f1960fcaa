"""The names of Python code are the same in each version of Python."""

from __future__ import annotations

import pytest

from lmc_jupyter.content import code_names
from lmc_jupyter.content.code_names import (
    assigned_names,
    names_of,
    passing_names,
    read_names,
    symbol_table,
)

COMPREHENSIONS = [
    ("x = [y for y in z if y]", {"x"}, {"z"}),
    ("x = {y for y in z}", {"x"}, {"z"}),
    ("x = {k: v + w for k, v in z.items()}", {"x"}, {"z", "w"}),
    ("x = (y for y in z)", {"x"}, {"z"}),
    ("x = [[b for b in a] for a in z]", {"x"}, {"z"}),
    ("y = 1\nx = [y for y in z]\nprint(y)", {"x", "y"}, {"z", "y", "print"}),
    ("x = [(n := y) for y in z]", {"x", "n"}, {"z"}),
    ("def f():\n    return [y for y in z]", {"f"}, {"z"}),
    ("class A:\n    b = [y for y in z]", {"A"}, {"z"}),
    ("print([y for y in z], *{c for c in d})", set(), {"print", "z", "d"}),
    ("x = f'{[y for y in z]}'", {"x"}, {"z"}),
]


@pytest.mark.parametrize("inlined", [True, code_names.IS_INLINED])
@pytest.mark.parametrize(("code", "makes", "reads"), COMPREHENSIONS)
def test_the_variable_of_a_comprehension_is_its_own(code, makes, reads, inlined, monkeypatch):
    monkeypatch.setattr(code_names, "IS_INLINED", inlined)
    names_of.cache_clear()
    assert names_of(code) == (makes, reads)
    assert assigned_names(code) == makes


@pytest.mark.parametrize("code", ["[a for a in b]", "{a for a in b}", "{a: 1 for a in b}"])
def test_where_a_comprehension_has_no_scope_it_gets_that_of_a_generator(code, monkeypatch):
    monkeypatch.setattr(code_names, "IS_INLINED", True)
    table = symbol_table(code)
    assert table is not None
    assert [each.get_name() for each in table.get_children()] == ["genexpr"]
    assert read_names(f"import a\ndef f():\n    return {code}") == (set(), {"b"})


def test_what_functions_read_is_read_when_they_are_called():
    code = "def f():\n    return a + sum(b for _ in c)\nd = [e for e in g]\nlambda: h"
    assert read_names(code) == ({"g"}, {"a", "b", "c", "h", "sum"})


def test_a_function_is_no_comprehension_by_its_name():
    assert read_names("def test_expr():\n    return a") == (set(), {"a"})


def test_a_name_that_code_only_declares_is_not_bound():
    assert assigned_names("global a\nprint(a)") == set()


def test_what_only_loops_and_imports_bind_is_bound_in_passing():
    code = "import os\nfor i in [j for j in range(3)]:\n    x = {k: i for k in os.environ}"
    assert passing_names(code) == {"os", "i"}


@pytest.mark.parametrize("code", ["x = (", "def f(a, a): pass", "x = \0", "nonlocal a", "-" * 9999])
def test_what_is_no_python_has_no_scopes(code):
    assert symbol_table(code) is None
