"""A conversation as a notebook: clean, valid, safe to open, and true to what its cells say."""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conversations import PNG, conversations
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from lmc_jupyter import formats
from lmc_jupyter.content.nested import nested_document
from lmc_jupyter.conversation import Action, Conversation, OwnCell
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import markdown, notebook
from lmc_jupyter.formats.dependencies import find_dependencies
from lmc_jupyter.formats.passages import passages
from lmc_jupyter.lmc import Message

TRACE = (
    "Traceback (most recent call last):\n  line {}\n    f()\nNameError: name 'f' is not defined\n"
)
NO = "This code was not run: the user declined."


def user(text: str) -> Message:
    return Message("user", "message", content=text).stamped()


def said(text: str) -> Message:
    return Message("assistant", "message", content=text).stamped()


def code(text: str, language: str = "python", **extra: Any) -> Message:
    return Message("assistant", "code", language, text, extra=extra).stamped()


def out(text: str, type_: str = "console", format_: str = "output", **extra: Any) -> Message:
    return Message("computer", type_, format_, text, extra=extra).stamped()


def cells(*messages: Message, **beside: Any) -> list[Any]:
    """The cells of a conversation, but for the one that names what its code needs."""
    found = made(*messages, **beside).cells
    return [each for each in found if each.metadata["lmc"].get("is") != "needs"]


def made(*messages: Message, **beside: Any) -> Any:
    data, _ = notebook.write(Conversation(messages, **beside))
    found = nbformat.reads(data.decode(), as_version=4)
    nbformat.validate(found)
    return found


def shown_by(source: str) -> str:
    """The document that a cell puts into its frame."""
    tree = ast.parse(source)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    names: dict[str, Any] = {}
    exec(compile(tree, "cell", "exec"), names)
    put_out = eval(compile(ast.Expression(last.value), "cell", "eval"), names).data
    return unescape(re.search('srcdoc="([^"]*)"', put_out)[1])


def read(value: Any) -> Conversation:
    return notebook.read(nbformat.writes(value).encode())


@pytest.mark.long
@given(conversations())
def test_it_is_always_valid_and_the_same_twice(conversation: Conversation) -> None:
    data, _ = notebook.write(conversation)
    nbformat.validate(nbformat.reads(data.decode(), as_version=4))
    assert notebook.write(conversation)[0] == data


def test_talk_is_markdown_and_code_that_ran_is_code_with_its_outputs() -> None:
    import base64

    png = base64.b64encode(PNG).decode()
    question, text, block, picture = cells(
        user("What is 6*7?\n\nAnd a picture."),
        said("I work it out."),
        code("print(6*7)"),
        out("42\n"),
        Message("computer", "console", "output", "for the model", "assistant"),
        code("plot()"),
        out(png, "image", "base64.png"),
    )
    assert question.source == "> **You:**\n>\n> What is 6*7?\n>\n> And a picture."
    assert text.source == "I work it out."
    assert (block.cell_type, block.source) == ("code", "print(6*7)")
    assert block.outputs[0].text == "42\n"
    assert picture.outputs[0].data["image/png"].strip() == png
    assert png not in json.dumps(picture.metadata), "no image is there twice"


def test_the_title_is_a_heading_and_what_is_beside_comes_back() -> None:
    beside = {"model": "m", "began": "2026", "notebook": "a.ipynb", "extra": {"glm": {"x": 1}}}
    events = [Action(1, {"action": "run"})]
    found = made(user("x"), title="Prices", events=events, **beside)
    assert found.cells[0].source == "# Prices\n\n*m, 2026*"
    back = read(found)
    assert (back.title, back.model, back.extra) == ("Prices", "m", {"glm": {"x": 1}})
    assert [(each.at, each.data) for each in back.events] == [(1, {"action": "run"})]
    found.cells[0].source = "# Costs\n\n*m, 2026*"
    assert read(found).title == "Costs"


def test_without_a_title_the_first_question_is_the_heading_with_model_and_day() -> None:
    asked = user("Which columns of `df` have *missing* values?\nPlot how many.")
    asked = replace(asked, created_at="2026-11-25T17:00:00+00:00")
    found = made(asked, model="openai/m")
    assert found.cells[0].source == (
        "# Which columns of \\`df\\` have \\*missing\\* values? Plot how many.\n\n"
        "*openai/m, 2026-11-25*"
    )
    assert found.cells[1].source.startswith("> **You:**")
    back = read(found)
    assert back.title == ""
    assert [each.content for each in back.messages] == [asked.content]
    found.cells[0].source = "# Gaps"
    assert read(found).title == "Gaps"


def test_code_that_did_not_run_is_left_out_on_request_but_not_what_later_code_needs(
    tmp_path: Path,
) -> None:
    messages = [
        user("Do it."),
        code("import os"), out("This code was not run: keep it"),
        code("f()"), out(TRACE.format(1)),
        code("base = 2\nf()"), out(TRACE.format(2)),
        code("print(base)"), out("2\n"),
        said("It is 2."),
    ]  # fmt: skip
    events = [Action(at, {"action": action}) for at, action in ((2, "decline"), (8, "run"))]
    given = Conversation(messages, cells=[OwnCell(7, "y = 1")], events=events)
    path = tmp_path / "talk.ipynb"
    losses = formats.write(given, path, only_ran=True)
    assert "is left out: 4 messages." in losses[-1]
    written = path.read_text()
    assert "import os" not in written
    assert "base = 2" in written
    back = notebook.read(path.read_bytes())
    assert [each.content for each in back.messages] == [
        each.content for each in [messages[0], *messages[5:]]
    ]
    assert [(each.at, each.data["action"]) for each in back.events] == [(4, "run")]
    text = tmp_path / "talk.markdown"
    formats.write(given, text, only_ran=True)
    assert "import os" not in text.read_text()
    assert not any("left out" in each for each in formats.write(given, path, replace=True))
    assert "import os" in path.read_text()


@pytest.mark.parametrize(
    ("language", "source", "begins"),
    [
        ("shell", "ls", "%%bash\n"),
        ("r", "x <- 1", "%%R\n"),
        ("javascript", "console.log(1)", "%%script node\n"),
        ("ruby", "puts 1", "%%ruby\n"),
        ("html", "<h3>Hi</h3><p>words</p>", "%%html\n"),
        ("html", "<script>1</script>", "# A page with scripts"),
        ("html", '<p onclick="x()">', "# A page with scripts"),
        ("html", '<p title="> <b class=" onfocus=x() title="class">a</p>', "# A page with scripts"),
        ("html", "<p title='> <b class=' onmouseover=x() title='class'>a</p>", "# A page with"),
        ("html", '<div class="jp-Dialog">covers</div>', "# A page with scripts"),
        ("html", "<svg><style><a title='</style><img src onerror=x()>'>", "# A page with scripts"),
        ("html", '<img src="http://a.example/x">', "# A page with scripts"),
        ("html", '<p style="position:fixed">', "# A page with scripts"),
        ("html", "<p <script>", "# A page with scripts"),
        ("browser", "document.title", "# A page with scripts"),
    ],
)
def test_other_languages_are_cells_that_jupyter_can_run(
    language: str, source: str, begins: str
) -> None:
    found = made(code(source, language), out("done"))
    cell = found.cells[-1]
    assert cell.cell_type == "code"
    assert cell.source.startswith(begins)
    if begins.startswith("#"):
        shown = shown_by(cell.source)
        assert "frame-src 'none'; child-src 'none'" in shown
        assert '"isStill": true' in shown
        page = f"<script>\n{source}\n</script>" if language == "browser" else source
        assert shown == nested_document(page, "html", is_still=True)
    cell.metadata = {}
    again = read(found).messages
    assert (again[-2].format, again[-2].content) == (
        ("html", f"<script>\n{source}\n</script>") if language == "browser" else (language, source)
    )


def ran(source: str) -> dict[str, Any]:
    """The names that the cell of a page makes, as Jupyter runs it."""
    names: dict[str, Any] = {"HTML": str}
    lines = source.replace("from IPython.display import HTML\n", "")
    exec(TransformerManager().transform_cell(lines), names)
    return names


@pytest.mark.parametrize(
    "text",
    [
        *('"' * count for count in range(1, 10)),
        *("'" * count for count in range(1, 10)),
        *("\\" * count + '"' * 4 for count in range(1, 4)),
        *('"' * count + ";raise SystemExit#" for count in range(1, 10)),
        *("\\", "\\N{DIGIT ONE}", "\\n{x}", "\\u0041", "</script>", "\r", "\r\n", "a\n\n\tb\n"),
        *("\0", "\f", "\x85", "\u2028", "\u202e", "\ufeff", "é∑😀", "\n%%bash\n!ls\n?x\n%who\n"),
        *(">>>", "\n>>> 1\n... 2", "\n  >>>\tx", ">>>>>>", "\n...\n>>>"),
    ],
    ids=ascii,
)
def test_a_page_of_any_characters_is_shown_and_read_as_it_is(text: str) -> None:
    for page in (f"<script>{text}</script>{text}", f"{text}<script>", f"<p>{text}a"):
        found = made(code(page, "html"), out("done"))
        [cell] = found.cells
        assert cell.source.startswith("# A page")
        assigned = next(e for e in ast.parse(cell.source).body if isinstance(e, ast.Assign))
        assert ast.literal_eval(assigned.value) == page
        assert ran(cell.source)["page"] == page
        cell.metadata = {}
        assert read(found).messages[0].content == page


@given(st.text(st.sampled_from("\"'\\\n\r<>{}N#a\u2028\0")))
def test_no_text_of_a_page_becomes_python(text: str) -> None:
    [cell] = made(code(f"<script>{text}", "html"), out("done")).cells
    kinds = [type(each).__name__ for each in ast.parse(cell.source).body]
    assert kinds == ["Import", "ImportFrom", "ImportFrom", *["Assign"] * 3, "Expr"]
    assert ran(cell.source)["page"] == f"<script>{text}"


def test_half_a_surrogate_pair_in_a_page_is_the_replacement_character() -> None:
    [cell] = made(code("<script>\ud800", "html"), out("done")).cells
    assert ran(cell.source)["page"] == "<script>\ufffd"


def test_a_page_that_somebody_made_python_of_is_python() -> None:
    found = made(code("<script>PAGE", "html"), out("done"))
    [cell] = found.cells
    for text in ('""" + """', '""", """', '"""' + "(" * 2000 + '"""'):
        changed = cell.source.replace("PAGE", text)
        found.cells[0].source = changed
        assert read(found).messages[0].format == "python"
        found.cells[0].source = cell.source = changed.replace(text, "PAGE")


def test_what_has_no_cell_is_text_and_named() -> None:
    data, lost = notebook.write(
        Conversation([code("select 1", "sql"), out("1"), code("ls", "shell"), out("a"),
                      code("ls", "shell"), out("a")])
    )  # fmt: skip
    first = json.loads(data)["cells"][0]
    assert first["cell_type"] == "markdown"
    assert "```sql\n" in "".join(first["source"])
    assert lost == [
        "Jupyter has no cells of sql: this code is in the notebook as text, and does not run: "
        "message 1.",
        "Each of the 2 shell cells runs in a process of its own: none has the variables of "
        "another.",
    ]


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([out(TRACE.format(1))], "This was tried and failed"),
        ([out("  This code, line 1\n    (\nSyntaxError: '(' was never closed\n")], "failed"),
        ([out(NO)], r"This was not run (you declined it)"),
        ([out("1\n2\n", partial=True)], "This was stopped"),
        ([], "This was not run"),
    ],
)
def test_what_did_not_go_well_is_text(results: list[Message], words: str) -> None:
    [cell] = cells(code("f()"), *results)
    assert cell.cell_type == "markdown"
    assert words in cell.source
    assert "```python\nf()\n```" in cell.source


def own(*sources: str) -> list[OwnCell]:
    return [OwnCell(0, source) for source in sources]


@pytest.mark.parametrize(
    ("before", "uses", "wanted"),
    [
        (["a = 1", "b = 2"], "a", ["a = 1"]),
        (["a = 1", "a = 2"], "a", ["a = 2"]),
        (["a = 1", "a += 2"], "a", ["a = 1", "a += 2"]),
        (["a = 1", "b = a", "c = b"], "c", ["a = 1", "b = a", "c = b"]),
        (["import os", "def f():\n    return os.sep"], "f()", "all"),
        (["def f():\n    return later", "later = 1"], "f()", "all"),
        (["d = {}", "d['x'] = 1", "d.pop('x')"], "d", "all"),
        (
            ["d = []", "d.head()", "print(d)", "d", "d.describe().round(1)", "len(d)"],
            "d",
            ["d = []"],
        ),
        (["d = []", "send_mail(d)", "d.to_sql('prod', 7)"], "d", ["d = []"]),
        (["import os", "os.remove('data.csv')"], "os.sep", ["import os"]),
        (["import numpy as np", "np.random.seed(1)"], "np", "all"),
        (["from shutil import rmtree", "rmtree('x')"], "rmtree", ["from shutil import rmtree"]),
        (["d = []", "e = d.groupby('a').b.sum()", "def f():\n    d.pop()"], "d", ["d = []"]),
        (["d = []", "e = d.pop()"], "d", "all"),
        (["d = []", "d.a.b = 1", "del d[0]", "d.sort().reverse()"], "d", "all"),
        (["import os", "os.chdir('.')", "x = os.listdir()"], "os", ["import os", "os.chdir('.')"]),
        (["if 1:\n    a = 1", "a = a or 2"], "a", "all"),
        (["for a in range(3):\n    pass"], "a", "all"),
        (["%%time\na = 1"], "a", "all"),
        (["%time a = 1\na?"], "a", "all"),
        (["files = !ls\n%matplotlib inline"], "files", "all"),
        (["%%bash\na=1"], "a", []),
        (["from math import *"], "floor(2.5)", "all"),
        (["from not_there import *"], "floor(2.5)", "all"),
        (["import a.b as c, d.e"], "c, d", "all"),
        (["a = (", "a = 1"], "[a for b in [1]]", ["a = 1"]),
    ],
)
def test_of_the_persons_cells_those_that_are_needed_run_again(
    before: list[str], uses: str, wanted: list[str] | str
) -> None:
    found = find_dependencies(passages([code(uses), out("")]), own(*before))
    assert [each.source for each in found.cells] == (before if wanted == "all" else wanted)


@pytest.mark.parametrize(
    ("codes", "missing"),
    [
        (["print(len([1]))", "get_ipython()", "display(1)"], []),
        (["df.head()"], ["df"]),
        (["x = [y for y in z]", "y"], ["z", "y"]),
        (["def f(a, *b):\n    c = a\n    return c, b, d\nf(1)", "d = 2"], []),
        (["def f():\n    return g()"], ["g"]),
        (["for i in range(3):\n    t = i", "t"], []),
        (["try:\n    import a\nexcept ImportError as e:\n    print(e)", "a"], []),
        (["with open('x') as f:\n    s = f.read()", "s, f"], []),
        (["class A:\n    b = 1\n    def m(self): return self.b, A\nA()"], []),
        (["total += 1"], ["total"]),
        (["def f():\n    global a\n    a = 1\nf()", "a"], ["a"]),  # nobody looks into functions
        (["f = lambda u: u + v"], ["v"]),
        (["from not_there import *", "anything"], []),
        (["if (n := 3):\n    print(n)"], []),
    ],
)
def test_names_that_nothing_makes_are_known(codes: list[str], missing: list[str]) -> None:
    talk = [each for one in codes for each in (code(one), out(""))]
    assert find_dependencies(passages(talk)).missing == missing


@pytest.mark.parametrize(
    ("failed", "line", "later", "lines"),
    [
        ("import math\nr = 2\nf(r)", 3, "math.pi * r", 2),
        ("import math\nr = 2\nf(r)", 3, "r = 3\nprint(r)", 0),
        ("df['a'] = 1\nf()", 2, "print(df)", 1),
        ("def g():\n    return 1\n\nf()", 4, "g()", 2),
        ("f()\nx = 1", 1, "x", 0),
        ("x = (\n  1,\n  f(),\n)", 3, "x", 0),
        ("%matplotlib inline\nx = !ls\nf()", 3, "x", 2),
        ("x = 1\nf()", 2, "%%bash\necho x", 0),
        ("%%time\nx = 1\nf()", 3, "x", 0),
        ("x = 1\n(", 2, "x", 0),
    ],
)
def test_of_code_that_failed_what_later_code_needs_runs_again(
    failed: str, line: int, later: str, lines: int
) -> None:
    talk = [code(failed), out(TRACE.format(line)), code(later), out("")]
    assert find_dependencies(passages(talk)).lines == ({0: lines} if lines else {})
    found = cells(*talk)
    if lines:
        assert found[0].source == "\n".join(failed.split("\n")[:lines])
        assert found[1].cell_type == "markdown"
    assert read(made(*talk)).messages == talk


def test_of_code_that_was_stopped_what_later_code_needs_runs_again() -> None:
    stop = out("0\nIt was at line 3.\nKeyboardInterrupt\n", partial=True)
    talk = [code("a = 1\nb = 2\nwhile True:\n    a += 1"), stop, code("print(a)"), out("1\n")]
    assert find_dependencies(passages(talk)).lines == {0: 2}
    first, second, *_ = cells(*talk)
    assert (first.cell_type, first.source) == ("code", "a = 1\nb = 2")
    assert "This was stopped" in second.source
    assert "while True" in second.source
    assert read(made(*talk)).messages == talk


def test_cells_of_the_notebooks_file_make_what_nothing_else_makes() -> None:
    talk = [code("print(fl.late.mean(), known)"), out("1\n")]
    saved = [
        "import pandas as pd",
        "fl = pd.read_csv('fl.csv')",
        "fl['late'] = fl.delay > 15",
        "known = 'the file does not know when this ran'",
        "send_mail(fl)",
        "fl.head()",
    ]
    found = find_dependencies(passages(talk), own("known = 1"), saved)
    assert [each.source for each in found.cells] == [*saved[:3], "known = 1"]
    assert found.missing == []
    sources = [each.source for each in cells(*talk, cells=own("known = 1"), saved_cells=saved)]
    assert sources[1:5] == [*saved[:3], "known = 1"]


# Read back ----------------------------------------------------------------------------------------

TALK = [user("Count."), said("So:"), code("print(1)"), out("1\n"), code("f()"), out(NO)]


def edited(change: Callable[[Any], None]) -> list[Message]:
    found = made(*TALK)
    change(found.cells)
    return list(read(found).messages)


def test_a_question_that_was_edited_says_what_it_says_now() -> None:
    def change(cells: Any) -> None:
        cells[0].source = "> **You:**\n>\n> Count to *two*."

    first, *rest = edited(change)
    assert (first.role, first.content, first.id) == ("user", "Count to *two*.", TALK[0].id)
    assert rest == TALK[1:]


def test_an_answer_that_was_edited_says_what_it_says_now() -> None:
    def change(cells: Any) -> None:
        cells[1].source = "Look:"

    messages = edited(change)
    assert (messages[1].role, messages[1].content) == ("assistant", "Look:")


def test_code_that_was_edited_and_run_again_has_its_new_output() -> None:
    def change(cells: Any) -> None:
        cells[2].source = "print(1)\n2 + 2"
        cells[2].outputs.append(
            nbformat.v4.new_output("execute_result", {"text/plain": "4"}, execution_count=1)
        )

    messages = edited(change)
    assert (messages[2].content, messages[2].id) == ("print(1)\n2 + 2", TALK[2].id)
    assert [each.content for each in messages[3:5]] == ["1\n", "4"]
    assert messages[5:] == TALK[4:]


def test_an_output_that_was_cleared_is_empty_and_the_code_does_not_wait() -> None:
    def change(cells: Any) -> None:
        cells[2].outputs = []

    messages = edited(change)
    assert (messages[3].role, messages[3].content) == ("computer", "")


def test_cells_that_were_added_removed_and_moved_are_told_as_they_stand() -> None:
    def change(cells: Any) -> None:
        del cells[1]
        cells.insert(0, nbformat.v4.new_markdown_cell("My notes"))
        cells.append(
            nbformat.v4.new_code_cell(
                "%%bash\nls",
                outputs=[nbformat.v4.new_output("stream", text="a\n")],
            )
        )
        cells.append(nbformat.v4.new_code_cell(""))

    messages = edited(change)
    assert [(each.role, each.type, each.content) for each in messages] == [
        ("user", "message", "My notes"),
        ("user", "message", "Count."),
        ("assistant", "code", "print(1)"),
        ("computer", "console", "1\n"),
        ("assistant", "code", "f()"),
        ("computer", "console", NO),
        ("user", "code", "ls"),
        ("computer", "console", "a\n"),
    ]
    assert messages[6].format == "shell"


def test_a_text_that_was_printed_in_pieces_is_one_message() -> None:
    def stream(name: str, text: str) -> Any:
        return nbformat.v4.new_output("stream", name=name, text=text)

    def change(cells: Any) -> None:
        value = nbformat.v4.new_output("execute_result", {"text/plain": "4"}, execution_count=1)
        pieces = [stream("stdout", "epoch"), stream("stdout", " 1\n"), stream("stderr", "warm\n")]
        cells[2].outputs = [*pieces, value, stream("stdout", "a"), stream("stdout", "b")]

    texts = [each.content for each in edited(change)[3:7]]
    assert texts == ["epoch 1\n", "warm\n", "4", "ab"]


def test_an_output_that_says_what_the_code_says_stays_an_output() -> None:
    found = made(code("1"), out("1"))
    found.cells[0].source = "2"
    assert [each.content for each in read(found).messages] == ["2", "1"]


def test_an_error_and_rich_outputs_of_any_notebook_are_read() -> None:
    cell = nbformat.v4.new_code_cell("x")
    cell.outputs = [
        nbformat.v4.new_output("error", ename="E", evalue="v", traceback=["\x1b[31mE\x1b[0m: v"]),
        nbformat.v4.new_output("display_data", {"text/html": "<b>1</b>", "text/plain": "1"}),
        nbformat.v4.new_output("display_data", {"application/x-unknown": "?"}),
    ]
    back = read(nbformat.v4.new_notebook(cells=[cell]))
    assert [(each.type, each.content) for each in back.messages[1:]] == [
        ("console", "E: v"),
        ("code", "<b>1</b>"),
        ("console", "(application/x-unknown)"),
    ]
    assert back.losses == [
        "An output is of a kind that LMC does not have (application/x-unknown): it is left out."
    ]


def test_a_notebook_of_version_3_is_read() -> None:
    old = {
        "nbformat": 3, "nbformat_minor": 0, "metadata": {},
        "worksheets": [{"metadata": {}, "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["Hi"]},
            {"cell_type": "code", "metadata": {}, "language": "python", "input": ["1+1"],
             "outputs": [], "collapsed": False, "prompt_number": 1},
        ]}],
    }  # fmt: skip
    messages = notebook.read(json.dumps(old).encode()).messages
    assert [each.content for each in messages] == ["Hi", "1+1"]


HOSTILE_METADATA: list[Any] = [
    {"messages": 7},
    {"messages": [7]},
    {"messages": [{"message": 7}]},
    {"messages": [{"message": {"role": "nobody", "type": "x"}, "content": "source"}]},
    {"messages": [{"message": {"role": "user", "type": "message"}, "content": 10**9}]},
    {"messages": [{"message": {"role": "user", "type": "message"}, "content": -1}]},
    {"messages": [{"message": {"role": "user", "type": "message"}, "content": True}]},
    {"messages": [{"message": {"role": "user", "type": "message"}, "content": "attachment:x"}]},
    {
        "messages": [{"message": {"role": "assistant", "type": "code", "content": "rm"}}],
        "lines": -1,
    },
    {"messages": [{"message": {"role": "assistant", "type": "code", "content": "rm"}}] * 3},
    {"is": "title"},
    {"is": "setup"},
    {"is": "rest"},
    "text",
    [],
]


@pytest.mark.parametrize("metadata", HOSTILE_METADATA, ids=str)
@pytest.mark.parametrize("kind", ["code", "markdown", "raw"])
def test_metadata_of_strangers_does_no_harm_and_the_cell_counts(metadata: Any, kind: str) -> None:
    cell: dict[str, Any] = {
        "cell_type": kind,
        "metadata": {"lmc": metadata},
        "source": ["print", "(1)"],
    }
    if kind == "code":
        cell |= {"outputs": [{"output_type": "stream", "name": "stdout", "text": 7}, 8, {}]}
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"lmc": metadata}, "cells": [cell]}
    messages = notebook.read(json.dumps(document).encode()).messages
    assert any("print(1)" in str(each.content) for each in messages)


@pytest.mark.parametrize(
    "bad",
    ["{}", "[]", "7", '{"nbformat": 4}', '{"nbformat": "4", "cells": []}',
     '{"nbformat": 4, "cells": [7]}', '{"nbformat": 1, "cells": 7}', '{"nbformat": 99}'],
)  # fmt: skip
def test_what_is_no_notebook_is_a_sentence(bad: str) -> None:
    with pytest.raises(FormatError, match="notebook"):
        notebook.read(bad.encode())


# Safe to open -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "![x](http://evil.example/p.png?secret)",
        "![x][a]\n\n[a]: http://evil.example",
        r"\\![x](http://evil.example)",
        "<img src=http://evil.example>",
        '<IMG\nSRC="http://evil.example">',
        "<svg><image href='http://evil.example'/></svg>",
        "<style>@import 'http://evil.example'</style>",
        "<!--\n```\n-->\n![x](http://evil.example)\n```",
        "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
        "> quoted\n\n<script>alert(1)</script>",
        "```\n   ```\n![x](http://evil.example)\n```",
        "~~~\r~~~\r![x](http://evil.example)\n~~~",
        "``` a`b\n![x](http://evil.example)\n```",
        "<div>\n```\n\n![x](http://evil.example)\n\n```",
        "```\n![x](http://evil.example)",
        "````\n```\n````\n![x](http://evil.example)\n```",
    ],
)
@pytest.mark.parametrize("who", [user, said])
def test_text_of_strangers_loads_nothing_when_it_is_opened(
    text: str, who: Callable[[str], Message]
) -> None:
    import mistune

    found = made(who(text))
    html = str(mistune.create_markdown(escape=False)(found.cells[0].source)).lower()
    for loads in ("<img", "<image", "<svg", "<style", "<iframe", "<script"):
        assert loads not in html, found.cells[0].source
    assert read(found).messages[0].content == text


def test_code_in_a_fence_is_left_as_it_is() -> None:
    text = "Look:\n\n```html\n<img src=x>\n![a](b)\n```\n\nand `img`."
    assert cells(said(text))[0].source == text


@pytest.mark.long
@pytest.mark.parametrize(
    ("head", "unit", "count"),
    [("", "```x\n", 10_000), ("", "\\", 100_000), ("", "<", 30_000), ("", "![", 30_000),
     ("", "\n", 30_000), ("<", "a", 100_000), ("~~~\n", "`", 100_000),
     ("x = !\n", "\n ", 20_000)],
)  # fmt: skip
@pytest.mark.parametrize("language", ["python", "html", "shell"])
def test_no_text_takes_longer_than_its_length(
    head: str, unit: str, count: int, language: str
) -> None:
    """Eight times the text takes about eight times the work, and would take 64 times by its square.

    Counted in seconds of this thread, which other work on the machine may add to, and never takes
    from; what is less than a fiftieth of one tells nothing.
    """

    def is_in_proportion() -> bool:
        short, long = (cpu_seconds(head + unit * n, language) for n in (count // 8, count))
        return long < 24 * max(short, 0.02)

    assert any(is_in_proportion() for _ in range(5))


def cpu_seconds(text: str, language: str) -> float:
    conversation = Conversation(
        [user(text), said(text), code(text, language), out(text), code(text), out("")]
    )
    begun = time.thread_time()
    written, _ = notebook.write(conversation)
    assert len(notebook.read(written).messages) == 6
    return time.thread_time() - begun


FRAME = """<div>
<style scoped>
    .dataframe tbody tr th {
        vertical-align: top;
    }
</style>
<table border="1" class="dataframe">
  <thead><tr style="text-align: right;"><th></th><th>city</th></tr></thead>
  <tbody><tr><th>0</th><td>Ulm</td></tr></tbody>
</table>
</div>"""


@pytest.mark.parametrize("write", ["notebook", "markdown"])
def test_a_frame_of_pandas_is_a_table(write: str) -> None:
    shown = Conversation([code("df"), out(FRAME, "code", "html")])
    if write == "markdown":
        text = markdown.write(shown)[0].decode()
    else:
        [cell] = cells(*shown.messages)
        text = cell.outputs[0].data["text/html"]
    assert "<td>Ulm</td>" in text
    assert "<style" not in text


def test_html_is_a_plain_table_or_its_text() -> None:
    table = "<table><tr><td>1</td></tr></table>"
    page = "<p>Hello</p><script>alert(1)</script>"
    [cell] = cells(code("x"), out(table, "code", "html"), out(page, "code", "html"))
    first, second = cell.outputs
    assert first.data["text/html"] == "<table><tbody><tr><td>1</td></tr></tbody></table>"
    assert dict(second.data) == {"text/plain": "Hello"}


ORDERS = [
    *("\x1b[31m", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x1b\\", "\x9b2J", "\x1bc"),
    "\x9d0;t\x9c",
]


@pytest.mark.parametrize("order", ORDERS)
def test_nothing_in_the_file_is_an_order_to_a_terminal(order: str) -> None:
    text = f"a{order}b"
    messages = [
        Message("user", "message", None, text),
        Message("assistant", "code", "python", f"print('{text}')"),
        Message("computer", "console", "output", f"{text}\r50 %\n", extra={"more": [text]}),
        Message("computer", "code", "html", f"<p>{text}</p>"),
        Message("assistant", "code", "cobol", text),
        Message("computer", "console", "output", text),
        Message("assistant", "message", None, text),
    ]
    conversation = Conversation(
        messages=messages, title=text, model=text, extra={text: {"deep": [text]}},
        events=[Action(1, {"what": text})], cells=(OwnCell(1, f"a = '{text}'"),),
    )  # fmt: skip
    data, losses = notebook.write(conversation)
    texts = list(strings(json.loads(data)))
    assert any("a" in each and "b" in each for each in texts)
    assert [each for each in texts if re.search("[\x1b\x80-\x9f]", each)] == []
    assert any("\r" in each for each in texts), "a bar of progress stays one"
    assert any("The content changes" in each for each in losses)
    assert "The title has no escape sequences of a terminal in the file." in losses
    assert [each.content for each in notebook.read(data).messages][-1] == "ab"


def strings(value: Any) -> Iterator[str]:
    """Every text of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for each in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings(each)


def proposal(text: str, **extra: Any) -> Message:
    return Message("assistant", "code", "python", text, "user", extra=extra).stamped()


def test_a_proposal_is_text_and_one_that_was_taken_stands_in_the_cell_of_the_person_alone() -> None:
    mine = OwnCell(3, "def double(x):\n    return 2 * x")
    talk = [
        user("Write it as a function."),
        proposal(mine.source, taken="inserted"),
        proposal("half = 1", cell=7),
        user("Use it."),
        code("double(2)"),
        out("4"),
    ]
    found = made(*talk, cells=[mine])
    sources = [each.source for each in found.cells]
    assert sources.count(mine.source) == 1
    assert sum("2 * x" in each for each in sources) == 1
    assert "*Proposed for a new cell, and taken: the code stands in your notebook.*" in sources
    [text] = [each for each in found.cells if "half = 1" in each.source]
    assert (text.cell_type, text.source) == (
        "markdown",
        "*Proposed for In [7], and not run:*\n\n```python\nhalf = 1\n```",
    )
    again = notebook.read(nbformat.writes(found).encode()).messages
    assert [each.to_dict() for each in again] == [each.to_dict() for each in talk]
    written = markdown.write(Conversation(talk))[0].decode()
    assert "Proposed for In [7], and not run" in written
    assert "2 * x" not in written
