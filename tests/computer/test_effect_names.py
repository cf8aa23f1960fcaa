"""Random code is really run, and every name that it binds anew was named before."""

from __future__ import annotations

import contextlib
import sys
import textwrap

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sampling import amount

from lmc_jupyter.computer.effects import find_effects

NAMES = ("a", "b", "c", "d")

GROUPS = (
    ("try:\n    raise ExceptionGroup('', [OSError()])\nexcept* OSError as N:\n    pass",)
    if sys.version_info >= (3, 11)
    else ()
)
BINDINGS = (
    "N = object()",
    "N: object = object()",
    "N += 1",
    "N = M = object()",
    "N, *M = 1, 2",
    "[N, (M, *rest)] = 1, (2, 3)",
    "(N := object())",
    "print(N := 1, end='')",
    "[(N := i) for i in range(3)]",
    "{(N := i): 1 for i in 'x'}",
    "[[(N := j) for j in 'y'] for i in 'x']",
    "f'{(N := 1)}'",
    "if N := 1:\n    pass",
    "while N := 0:\n    pass",
    "assert (N := 1)",
    "x = [0]\nx[(N := 0)] = 1",
    "for N in 'xy':\n    pass",
    "for x, (N, *M) in [(1, (2, 3))]:\n    pass",
    "with context() as N:\n    pass",
    "with context() as x, context() as (N, M):\n    pass",
    "import json as N",
    "import os.path as N",
    "from os import path as N",
    "def N():\n    pass",
    "class N:\n    pass",
    "async def N():\n    pass",
    "def f(p=(N := 1)):\n    pass",
    "def f(*, p: (N := int) = 1) -> (M := str):\n    pass",
    "x = lambda p=(N := 1): p",
    "class K(metaclass=(N := type)):\n    pass",
    "@(N := lambda f: f)\ndef f():\n    pass",
    "try:\n    1 / 0\nexcept ZeroDivisionError as N:\n    pass",
    "try:\n    pass\nexcept ZeroDivisionError as N:\n    pass\nelse:\n    M = 1",
    *GROUPS,
    "match [1, 2, 3]:\n    case [N, *M]:\n        pass",
    "match {'k': 1, 'l': 2}:\n    case {'k': N, **M}:\n        pass",
    "match 5:\n    case int() as N:\n        pass",
    "match 5:\n    case str(N) | int(N):\n        pass",
    "del N",
    "del (N, [M])",
    "globals()['N'] = 1",
    *(("type N = int",) if sys.version_info >= (3, 12) else ()),
    "class K:\n    global N\n    N = 1",
    "def g():\n    global N\n    N = 1\ng()",
    "def g():\n    global N\n    del N\ng()",
    "def g():\n    global N\n    import json as N\nlist(map(lambda _: g(), 'x'))",
    "def o():\n    def i():\n        global N\n        N = 1\n    i()\no()",
    "class K:\n    def m(self):\n        global N\n        N = 1\nK().m()",
    "def g():\n    global N\n    return [(N := 1) for _ in 'x']\nx = [g]\nx[0]()",
)
"""Code that binds or deletes N, and M where it has one."""
NO_BINDINGS = (
    "[N for N in range(3)]",
    "(lambda N: N)(1)",
    "(lambda: [(N := 1) for _ in 'x'])()",
    "def f(N):\n    N = 1\nf(2)",
    "class K:\n    N = 1",
    "x: 'N'",
    "N",
)
AROUND = (
    "if True:\nBODY",
    "if False:\n    pass\nelse:\nBODY",
    "for _ in range(2):\nBODY",
    "while True:\nBODY\n    break",
    "try:\nBODY\nfinally:\n    pass",
    "try:\n    1 / 0\nexcept Exception:\nBODY",
    "with context():\nBODY",
    "def F():\n    global a, b, c, d\nBODY\nF()",
    "def F():\nBODY\nF()",
    "class F:\nBODY",
)


@contextlib.contextmanager
def context():
    yield 1, 2


def in_names(draw, template):
    one, other = draw(st.permutations(NAMES))[:2]
    return template.replace("'N'", f"'{one}'").replace("N", one).replace("M", other)


@st.composite
def code(draw, depth=3):
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.booleans()):
            around = draw(st.sampled_from(AROUND))
            body = textwrap.indent(draw(code(depth=depth - 1)), "    ")
            parts.append(around.replace("F", f"f{depth}").replace("BODY", body))
        else:
            parts.append(in_names(draw, draw(st.sampled_from(BINDINGS + NO_BINDINGS))))
    return "\n".join(parts)


def check(text):
    """Run it, and compare."""
    compiled = compile(text, "block", "exec", dont_inherit=True)
    before = {name: 1000 + index for index, name in enumerate(NAMES)}
    namespace = {**before, "context": context}
    with contextlib.suppress(Exception):
        exec(compiled, namespace)
    nothing = object()
    bound = {name for name in NAMES if namespace.get(name, nothing) is not before[name]}
    effects = find_effects("python", text, before)
    assert bound <= {
        each.name for each in effects if each.kind in ("overwrites", "deletes", "changes")
    }


@pytest.mark.parametrize("template", BINDINGS)
def test_every_form_of_binding_is_named(template):
    text = template.replace("N", "a").replace("M", "b")
    check(text)


@settings(max_examples=amount(100, 5_000), deadline=None)
@given(code())
def test_no_name_that_code_binds_anew_is_left_out(text):
    try:
        compile(text, "block", "exec", dont_inherit=True)
    except SyntaxError:  # `a` is both global and a parameter, or this Python is too old
        assume(False)
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        "exec('a = 1')",
        "eval('globals().update(a=1)')",
        "from os.path import *",
        "names = globals()\nnames['a'] = 1",
        "globals().update(a=1)",
        "vars().pop('a')",
        "get_ipython().user_ns['a'] = 1",
        "get_ipython().run_cell('a = 1')",
        "%run script.py",
        "%store -r",
        "import builtins\nbuiltins.exec('a = 1')",
        "setattr(__import__('__main__'), 'a', 1)",
        "import __main__\n__main__.a = 1",
        "import sys\nsys.modules['__main__'].a = 1",
        "import sys\nsys._getframe().f_globals['a'] = 1",
    ],
)
def test_code_that_may_bind_any_name_says_that_it_may_do_more(text):
    assert "unknown" in {each.kind for each in find_effects("python", text, {"a": 1})}
