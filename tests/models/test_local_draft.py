"""How a small model's code is read: what goes on, what is mended, what is asked again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmc_jupyter.models.local.draft import Draft, bound


def importable(module: str) -> bool:
    return module not in ("sympy", "scipy")


def read(code: str, *, names: tuple[str, ...] = (), cut: int = 3, **more: object) -> Draft:
    """The draft after the code has come in pieces of `cut` characters."""
    draft = Draft(names, importable=importable, **more)  # type: ignore[arg-type]
    shown = ""
    for index in range(0, len(code), cut):
        shown += "".join(draft.feed(code[index : index + cut]))
    shown += "".join(draft.finish())
    assert shown == draft.text
    return draft


def test_sound_code_is_let_through_as_it_is() -> None:
    code = "import math\n\nfor n in range(3):\n    print(math.sqrt(n))\nelse:\n    print('end')\n"
    draft = read(code)
    assert draft.text == code
    assert draft.problem == ""


@pytest.mark.parametrize(
    ("code", "rest"),
    [
        ("print(f(100))  # Output: 7\n", "print(f(100))\n"),
        ("print(1)  # output: 1\nprint(2)  # Expected output: 3\n", "print(1)\nprint(2)\n"),
        ("print(1)\n# Output:\n# 1\n# 2\nprint(2)\n", "print(1)\nprint(2)\n"),
        ("print(1)  # -> 2\nprint(2)  # => 2\n", "print(1)\nprint(2)\n"),
        ("for n in [1]:\n    print(n)  # Result: 1\n", "for n in [1]:\n    print(n)\n"),
        ("print(1)\n# Output:\n# 1\n", "print(1)\n"),
    ],
)
def test_a_guess_at_what_the_code_prints_is_taken_away(code: str, rest: str) -> None:
    draft = read("f = abs\n" + code)
    assert draft.text.rstrip() == ("f = abs\n" + rest).rstrip()
    assert draft.problem == ""


def test_text_that_looks_like_such_a_guess_stays() -> None:
    text = '"""\n# Output: 7\n"""'
    code = f"print({text}, '# Output: 8')\n# print the outputs\nprint(1)\n"
    assert read(code).text == code


def test_a_statement_is_let_through_as_soon_as_the_next_begins() -> None:
    draft = Draft(importable=importable)
    assert list(draft.feed("x = (1 +\n")) == []
    assert list(draft.feed("     2)\n")) == []
    assert list(draft.feed("print(x)\n")) == ["x = (1 +\n     2)\n"]
    assert list(draft.finish()) == ["print(x)\n"]


def test_comments_stay_with_the_statement_behind_them() -> None:
    draft = Draft(importable=importable)
    assert list(draft.feed("# first\nx = 1\n# second\nprint(x)\n")) == ["# first\nx = 1\n"]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("print(np.pi)\n", "import numpy as np\n"),
        ("plt.plot([1, 2])\n", "import matplotlib.pyplot as plt\n"),
        ("print(math.pi)\n", "import math\n"),
        ("print(Counter('abc'))\n", "from collections import Counter\n"),
        ("def f(x):\n    return math.sin(x)\nprint(f(1))\n", "import math\n"),
    ],
)
def test_a_well_known_import_that_is_missing_is_put_before(code: str, line: str) -> None:
    assert read(code).text == line + code


def test_an_import_is_not_put_before_when_the_notebook_has_the_name() -> None:
    assert read("print(np.pi)\n", names=("np",)).text == "print(np.pi)\n"


def test_a_name_that_nobody_made_stops_the_draft_before_its_statement() -> None:
    draft = read("x = 1\nprint(notebook[::-1], x)\nprint(2)\n")
    assert draft.problem == "there is no name 'notebook'"
    assert draft.text == "x = 1\n"


@pytest.mark.parametrize(
    "code",
    [
        "print([n * m for n in range(3) for m in range(n)])\n",
        "print((lambda a: a + 1)(2))\n",
        "def f():\n    return g()\ndef g():\n    return 1\nprint(f())\n",
        "with open('a') as file:\n    print(file.read())\n",
        "class A:\n    b = 1\n    def c(self):\n        return self.b\nprint(A().c())\n",
        "try:\n    print(1)\nexcept ValueError as error:\n    print(error)\n",
        "if (n := 3) > 2:\n    print(n)\n",
        "%matplotlib inline\nprint(1)\n",
    ],
)
def test_names_of_every_kind_are_known(code: str) -> None:
    draft = read(code)
    assert draft.problem == ""
    assert draft.text == code


def test_a_module_that_is_not_installed_is_said_and_led_away_from() -> None:
    draft = read("import sympy\nprint(sympy.pi)\n")
    assert draft.problem == "there is no module 'sympy'"
    assert list(draft.again()) == ["# sympy is not installed here\nimport numpy as np\n"]
    list(draft.feed("print(np.pi)\n"))
    list(draft.finish())
    assert draft.problem == ""


def test_a_variable_that_the_question_is_about_is_not_made_up_anew() -> None:
    code = "import pandas as pd\ndf = pd.DataFrame({'city': ['Rome']})\nprint(df)\n"
    draft = read(code, names=("df",), protected=("df",))
    assert draft.problem == "df is there already"
    assert draft.text == "import pandas as pd\n"
    assert list(draft.again()) == ["# df is there already\n"]
    assert read(code, names=("df",)).problem == ""


def test_a_variable_may_be_changed() -> None:
    code = "df = df.sort_values('a')\nprint(df)\n"
    assert read(code, names=("df",), protected=("df",)).text == code


def test_code_that_is_not_python_is_never_let_through() -> None:
    draft = read("x = 1\nThe answer is x\n")
    assert draft.problem.startswith("it is not Python")
    assert draft.text == "x = 1\n"


def test_a_reply_that_was_cut_off_keeps_its_whole_statements() -> None:
    draft = read("x = 1\nprint(x)\nprint('unfin")
    assert draft.text == "x = 1\nprint(x)\n"
    assert draft.problem != ""


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("2380 * 3875\n", ""),  # a notebook shows its last expression
        ("x = 2380 * 3875\n", "x\n"),
        ("x = 3\ny = 4\nprint(y)\n", ""),  # something is shown
        ("n = 0\nfor c in 'abc':\n    n += 1\n", "n\n"),
        ("def f(x):\n    y = x\n    return y\n", ""),
        ("df['b'] = df.a * 2\n", "df\n"),
        ("import matplotlib.pyplot as plt\nbars = plt.bar([1], [2])\n", ""),
        ("x = 1\nprint(x)\n", ""),
    ],
)
def test_where_nothing_would_be_shown_the_last_value_is(code: str, shown: str) -> None:
    assert read(code, names=("df",)).text == code + shown


def test_a_bare_value_in_the_middle_is_printed() -> None:
    draft = read("2380 * 3875\nx = [1, 2]\nlen(x)\nprint(x)\n")
    assert draft.text == "print(2380 * 3875)\nx = [1, 2]\nprint(len(x))\nprint(x)\n"


def test_with_more_to_come_the_value_is_printed_and_a_comment_leads_on() -> None:
    draft = Draft(importable=importable)
    list(draft.feed("2 * 3"))
    list(draft.finish(more=True))
    list(draft.lead("plot  it\nnow"))
    list(draft.feed("x = 1"))
    list(draft.finish())
    assert draft.text == "print(2 * 3)\n\n# plot it now\nx = 1\nx\n"


def test_a_comment_alone_does_nothing() -> None:
    assert read("# nothing\n").problem == "it does nothing"


def test_a_beginning_that_ran_is_taken_over() -> None:
    draft = Draft(importable=importable)
    assert list(draft.begin("x = 1\n")) == ["x = 1\n"]
    list(draft.feed("print(x)\n"))
    list(draft.finish())
    assert draft.text == "x = 1\nprint(x)\n"
    assert draft.problem == ""


def test_bound_names_are_read_without_running() -> None:
    assert bound("import numpy as np\nx = 1\ndef f(y):\n    z = 2\n") == {"np", "x", "f"}
    assert bound("not python at all") == set()


CODE = """\
import math
# a sum
total = sum(
    n for n in [1, 2]
)
if total:
    print(total)
else:
    print('no')
math.pi
"""


@given(cuts=st.lists(st.integers(1, len(CODE) - 1), max_size=12))
def test_however_the_text_is_cut_the_draft_is_the_same(cuts: list[int]) -> None:
    draft = Draft(importable=importable)
    places = [0, *sorted(set(cuts)), len(CODE)]
    for begin, end in pairwise(places):
        list(draft.feed(CODE[begin:end]))
    list(draft.finish())
    assert draft.text == CODE
