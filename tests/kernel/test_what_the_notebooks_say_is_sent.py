"""What notebooks 01 and 03 say leaves the notebook is what a request holds.

The cells of notebook 03, section 5, run in a real kernel: answered by a server that records its
requests, and by the worker of the embedded model with prepared replies.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Turn, text, tool
from test_cell_magic import Person
from test_notebooks import cells_of, sit_before

pytestmark = [pytest.mark.kernel, pytest.mark.long]

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
NAME = "03-staying-in-charge.ipynb"
BODY = "current_session().turns[-1].requests[0].body"
COUNT = "print(len(visitors))"


def words(name: str) -> str:
    """All the words of a notebook."""
    cells = cells_of(next(NOTEBOOKS.glob(f"{name}-*.ipynb")))
    return "\n".join("".join(cell["source"]) for cell in cells)


def request_of_section_5(frontend: Any) -> str:
    """Run the section's own cell and its question; the request that carried the question."""
    sources = ["".join(cell["source"]) for cell in cells_of(NOTEBOOKS / NAME)]
    table = next(source for source in sources if "visitors = pd.DataFrame" in source)
    question = next(source for source in sources if "How many rows does the table" in source)
    frontend.run("from lmc_jupyter import current_session")
    frontend.run("unspoken = 'secret-' + 'value'")
    frontend.run(table)
    frontend.run("print('shown', 7 * 11 * 13)")
    begun = frontend.start(question)
    sit_before(frontend, Person(frontend), begun, "run")
    frontend.finish(begun)
    return str(frontend.value(BODY))


def test_any_other_model_gets_the_cells_with_their_output_and_the_names(make_frontend):
    with ModelServer() as server:
        server.turns = [Turn(tool("python", COUNT)), Turn(text("Three."))]
        frontend = make_frontend()
        frontend.run("%load_ext lmc_jupyter")
        frontend.run(
            f"%config LMC.model = 'openai/m'\n%config LMC.api_base = {server.base!r}\n"
            "%config LMC.options = {'api_key': 'not-a-key', 'tools': True, 'free': True}"
        )
        request_of_section_5(frontend)
        first = json.dumps(server.requests[0].body)
    assert "visitors = pd.DataFrame" in first
    assert "120" in first
    assert "143" in first
    assert "shown 1001" in first
    assert "unspoken" in first
    assert "secret-value" not in first
    assert "visitors" in first
    for name in ("01", "03"):
        said = words(name).replace("**", "")
        assert "the source of your own cells that ran since your last question, with their" in said
        assert "the Markdown above your question" in said
        assert "the names, types and shapes of your variables" in said
    assert "`120` and `143` would go" in words("03")


def test_the_embedded_model_gets_no_cell_and_the_names_that_the_question_speaks_of(
    tmp_path, make_frontend
):
    weights = tmp_path / "own.gguf"
    weights.write_text(json.dumps({"replies": [COUNT, "Three.", "not asked for"]}))
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "models" / "stand_in")])
    own = {"LMC_MODEL": "", "LMC_LOCAL_MODEL": str(weights), "XDG_DATA_HOME": str(tmp_path)}
    frontend = make_frontend(env={"PYTHONPATH": path, **own})
    frontend.run("%load_ext lmc_jupyter")
    body = request_of_section_5(frontend)
    assert "How many rows does the table visitors have?" in body
    assert "visitors" in body.replace("the table visitors have", "")
    for absent in ("pd.DataFrame(", "120", "143", "shown 1001", "unspoken", "secret-value"):
        assert absent not in body, absent
    assert "sometimes the question before it with the code of its answer" in words("03")
    assert "Not one of your cells is in it" in words("03")
    assert "only those that the question speaks of" in words("03")
