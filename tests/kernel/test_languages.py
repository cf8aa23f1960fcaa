"""Several languages in one answer, in a real kernel, and a table that goes between them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.kernel

SCRIPT = f"""
import sys
sys.path.append({str(Path(__file__).parents[1])!r})
%load_ext lmc_jupyter
import pandas as pd
from lmc_jupyter import ChatPanel, current_session, share
from scripted import ScriptedModel, code, said

session = current_session()
df = pd.DataFrame({{"a": [1, 2, 3], "b": [True, False, None]}})

def answer(*blocks):
    session.choose_model(ScriptedModel(*[[each] for each in blocks], [said("Done.")]))
    session.reset()
    get_ipython().run_cell_magic("lmc", "--auto-run", "Go.")

def outputs():
    return [m.content for m in session.messages if m.type == "console"]
"""


@pytest.fixture
def lab(make_frontend):
    it = make_frontend()
    it.run(SCRIPT)
    return it


@pytest.mark.long
def test_a_table_goes_from_python_to_every_other_language(lab):
    lab.run("""answer(
        code("share(df, to='r'), share(df, to='javascript'), share(df, to='shell')"),
        code("cat(sum(df$a), sum(is.na(df$b)))", "r"),
        code("console.log(df.length, df[1].b)", "js"),
        code('tail -n 2 "$df"', "bash"),
        code("select sum(a) as total from df", "sql"),
    )""")
    python, r, node, bash, sql = lab.value("outputs()")
    assert "df is in r now" in python
    assert "6 1" in r
    assert "3 false" in node
    assert bash.splitlines() == ["2,False", "3,"]
    assert sql.split()[:2] in (["total", "6.0"], ["total", "6"])


def test_policy_holds_for_tables_and_the_persons_own_call_is_theirs(lab):
    lab.run("""session.deny = ["r"]
answer(code("share(df, to='R')"), code("to = 'R'; share(df, to)"))
mine = share(df, to="r")
""")
    seen, hidden = lab.value("outputs()")
    assert "This code was not run: your policy forbids r" in seen
    assert "GateError: your policy forbids r" in hidden
    assert "df is in r now" in lab.value("repr(mine)")


def test_the_panel_tells_the_languages(lab):
    lab.run("panel = ChatPanel(session)")
    told = lab.value("panel._requests.answer({'kind': 'command', 'line': 'languages'})[0]")
    assert "in this kernel" in told
    assert "R by IRkernel" in told
