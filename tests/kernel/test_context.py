"""What of the notebook goes with a question: a real kernel, and a server that records requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from model_server import ModelServer, Turn, text, tool

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as it:
        yield it


@pytest.fixture(scope="module")
def kernel(server: ModelServer, frontend: Any) -> Any:
    frontend.run("%load_ext lmc_jupyter")
    frontend.run(
        f"%config LMC.model = 'openai/m'\n%config LMC.api_base = {server.base!r}\n"
        "%config LMC.options = {'api_key': 'not-a-key', 'tools': True, 'free': True}\n"
        "%config LMC.vision = True"
    )
    return frontend


@pytest.fixture
def lab(kernel: Any, server: ModelServer) -> Any:
    """A kernel whose cells so far have been sent: the next question takes only newer ones."""
    kernel.run("%lmc reset")
    kernel.run("%config LMC.context = 'notebook'")
    server.turns = [Turn(text("Seen."))]
    kernel.run("%%lmc\nBefore.")
    return kernel


def sent(server: ModelServer) -> str:
    """The last message of the user as the server got it, its images as [image]."""
    message = [each for each in server.requests[-1].body["messages"] if each["role"] == "user"][-1]
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n\n".join(each.get("text", "[image]") for each in content)


def run(lab: Any, source: str, **metadata: Any) -> None:
    """Run a cell with metadata, as JupyterLab sends those of the cell."""
    message = lab.client.session.msg(
        "execute_request",
        {"code": source, "silent": False, "store_history": True, "user_expressions": {},
         "allow_stdin": True, "stop_on_error": True},
        metadata=metadata,
    )  # fmt: skip
    lab.client.shell_channel.send(message)
    lab.finish(str(message["header"]["msg_id"]))


def test_the_cells_since_the_last_question_go_with_their_output_and_error(lab, server):
    lab.run("rate = 3\nprint('the rate is', rate)")
    lab.finish(lab.start("rate / 0"))
    lab.run("%%lmc\nWhat happened?")
    text = sent(server)
    assert text.endswith("\n\nWhat happened?")
    assert "rate = 3\nprint('the rate is', rate)\nOutput of" in text
    assert "the rate is 3" in text
    assert "ZeroDivisionError: division by zero" in text
    assert "Before." not in text  # an earlier message has it


def test_what_went_with_a_question_does_not_go_again_unless_it_is_needed(lab, server):
    lab.run("first = 11\nprint('canary-one')")
    lab.run("%%lmc\nOne?")
    assert "canary-one" in sent(server)
    lab.run("unrelated = 2")
    lab.run("%%lmc\nTwo?")
    assert "canary-one" not in sent(server)
    assert "unrelated = 2" in sent(server)
    lab.run("%%lmc\nThree?")
    assert sent(server) == "Three?"


def test_a_cell_goes_whose_names_the_others_use(lab, server):
    lab.run("base = 11\nprint('the-provider')")
    lab.run("%lmc reset")
    lab.run("%%lmc --cells none\nNothing?")
    lab.run("total = base + 1")
    lab.run("%%lmc\nWhy?")
    text = sent(server)
    assert text.index("base = 11") < text.index("total = base + 1")


def test_a_figure_goes_to_a_model_that_sees(lab, server):
    lab.run(
        "from IPython.display import Image, display\nimport base64\n"
        "display(Image(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
        "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='), format='png'))"
    )
    lab.run("%%lmc\nWhat is on it?")
    text = sent(server)
    assert "[image]" in text
    assert "A figure of In [" in text
    assert text.endswith("What is on it?")


def test_of_a_figure_that_a_model_cannot_see_it_reads_what_is_in_it(lab, server):
    lab.run("%config LMC.vision = False")
    lab.run(
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2, 4], [5, 6, 7.5])\n"
        "plt.title('Delay by month')\nplt.show()"
    )
    lab.run("%%lmc\nWhat is on it?")
    lab.run("%config LMC.vision = True")
    text = sent(server)
    assert "[image]" not in text
    assert "It showed 1 figure.\nFigure is not sent: you get no images. It has:\n" in text
    assert "title 'Delay by month'; x from" in text
    assert "line of 3 points, (1, 5) … (4, 7.5)" in text


def test_of_a_figure_of_its_own_block_it_reads_the_same(lab, server):
    lab.run("%lmc reset\n%config LMC.vision = False")
    source = "plt.plot([1, 2], [5, 7.5])\nplt.title('Own figure')\nplt.show()"
    code = f"%matplotlib inline\nimport matplotlib.pyplot as plt\n{source}"
    server.turns = [Turn(tool("python", code)), Turn(text("Seen."))]
    lab.run("%%lmc --auto-run\nDraw it.")
    lab.run("%config LMC.vision = True")
    result = server.requests[-1].body["messages"][-1]["content"]
    assert "you cannot see images.) It has:\ntitle 'Own figure'; x from" in result
    assert "line of 2 points, (1, 5) … (2, 7.5)" in result


def test_a_cell_has_the_place_that_the_front_end_says(lab, server):
    run(lab, "placed = 'canary-place'", cellId="a7")
    outline = [["m1", "# Load\n## Clean"], ["a7", ""], ["q", ""]]
    data = {"cell": "q", "above": "", "outline": outline}
    content = {"comm_id": "of-places", "target_name": "lmc-jupyter:document", "data": data}
    lab.client.shell_channel.send(lab.client.session.msg("comm_open", content))
    run(lab, "%%lmc\nWhere?", cellId="q")
    assert " (cell 2 of 3, below 'Load' > 'Clean'):\nplaced = 'canary-place'" in sent(server)
    run(lab, "again = 1", cellId="a7")
    run(lab, "%%lmc\nAnd now?", cellId="q")
    assert "]:\nagain = 1" in sent(server), "of another run nobody has said it"


def test_the_value_of_the_last_expression_goes(lab, server):
    lab.run("[number * 111 for number in range(3)]")
    lab.run("%%lmc\nWhat are they?")
    assert "[0, 111, 222]" in sent(server)


def test_names_level_sends_no_cell_and_none_no_name(lab, server):
    lab.run("secret_of_cell = 'canary-two'")
    lab.run("%%lmc --context names\nOne?")
    whole = json.dumps(server.requests[-1].body)
    assert "canary-two" not in whole
    assert "secret_of_cell" in whole
    lab.run("%lmc reset")
    lab.run("%%lmc --context none\nTwo?")
    assert "secret_of_cell" not in json.dumps(server.requests[-1].body)
    assert lab.value("__import__('lmc_jupyter').current_session().context") == "notebook"


def test_cells_can_be_named_by_number_and_left_out(lab, server):
    numbers = []
    for word in ("alpha", "beta", "gamma"):
        numbers.append(lab.value("len(In)"))
        lab.run(f"{word} = '{word}-canary'")
    lab.run(f"%%lmc --cells {numbers[1]}\nWhich?")
    assert "beta-canary" in sent(server)
    assert "alpha-canary" not in sent(server)
    assert "gamma-canary" not in sent(server)
    lab.run(f"%%lmc\nWhat is @cell {numbers[0]}?")
    assert "alpha-canary" in sent(server)


def test_a_hidden_cell_goes_into_no_request(lab, server):
    run(lab, "hidden_value = 'canary-three'\nprint(hidden_value)", cellId="a1", tags=["lmc-hide"])
    number = lab.value("len(In) - 2")
    lab.run("after = hidden_value[0]")
    lab.run("%%lmc\nWhy?")
    assert "canary-three" not in json.dumps(server.requests[-1].body)
    count = len(server.requests)
    lab.finish(lab.start(f"%%lmc\nWhat is @cell {number}?"))
    assert lab.status == "error"
    assert len(server.requests) == count


def test_a_hidden_cell_is_in_no_traceback_of_another_and_in_no_command(lab, server):
    run(lab, "def hidden_raise():\n    return 1 / 0  # canary-six", tags=["lmc-hide"])
    for command in ("%lmc explain", "%lmc fix"):
        count = len(server.requests)
        lab.finish(lab.start(command))
        assert len(server.requests) == count or "canary-six" not in sent(server)
    lab.finish(lab.start("hidden_raise()"))
    lab.run("%%lmc\nWhy?")
    assert "in hidden_raise" in sent(server)
    lab.run("%lmc fix")
    assert "in hidden_raise" in sent(server)
    run(lab, "1 / 0  # canary-seven", tags=["lmc-hide"])
    lab.run("%lmc fix")
    turns = [Turn(tool("python", "hidden_raise()")), Turn(text("Oh."))]
    server.turns = [Turn(text("Seen."))] * 50
    lab.run("%lmc reset")
    server.turns = turns
    lab.run("%%lmc --auto-run\nCall it.")
    whole = json.dumps([request.body for request in server.requests])
    assert "ZeroDivisionError" in json.dumps(server.requests[-1].body["messages"][-1])
    assert "canary-six" not in whole
    assert "canary-seven" not in whole


def test_a_hidden_cell_is_in_no_traceback_that_another_cell_prints(lab, server):
    run(lab, "def hidden_print():\n    secret = 'canary-ten'; return 1 / 0", tags=["lmc-hide"])
    tries = "try:\n    hidden_print()\nexcept ZeroDivisionError:\n    "
    lab.run(f"import traceback, logging\n{tries}traceback.print_exc()")
    lab.run(f"{tries}print(traceback.format_exc())")
    lab.run(f"{tries}logging.exception('failed')")
    lab.run(f"{tries}get_ipython().showtraceback()")
    lab.run("print('    secret', 'a line of the same look')")
    lab.run("%%lmc\nWhy?")
    assert sent(server).count("(a line of a hidden cell)") >= 3
    assert "in hidden_print" in sent(server)
    assert "    secret a line of the same look" in sent(server)
    assert "canary-ten" not in sent(server)


def test_a_cell_that_runs_another_one_has_its_number_and_its_error(lab, server):
    lab.finish(lab.start("%%capture\ninner = 1"))
    number = lab.value("len(In) - 2")
    lab.finish(lab.start("get_ipython().run_cell('inner = 2')\nraise ValueError('canary-eight')"))
    lab.run("%%lmc\nWhy?")
    assert f"In [{number}]:\n%%capture" in sent(server)
    assert "canary-eight" in sent(server)
    assert "Error of In [" in sent(server)


def test_keys_in_cells_are_redacted(lab, server):
    lab.run("key = 'sk-proj-" + "Ab3" * 16 + "'\nprint(key)")
    lab.run("%%lmc\nIs it right?")
    assert "Ab3Ab3" not in json.dumps(server.requests[-1].body)


def test_what_the_command_lists_is_what_is_sent(lab, server):
    lab.run("listed = 5\nprint('listed-canary')")
    cell = lab.start("%lmc context")
    lab.finish(cell)
    shown = lab.text(cell)
    assert "1 cell" in shown
    lab.run("%%lmc\nWhat?")
    body = shown.partition("\n\n")[2].strip()
    assert body in sent(server)


@pytest.mark.long
def test_a_flood_of_output_is_bounded(lab, server):
    lab.run("for number in range(100_000): print('line', number)")
    lab.run("%%lmc\nWhat?")
    text = sent(server)
    assert len(text) < 3_000
    assert "line 0\n" in text
    assert "line 99999" in text


def test_the_markdown_above_a_question_goes_with_it_once(lab, server, tmp_path):
    path = tmp_path / "a.ipynb"
    lab.run(f"import os; os.environ['JPY_SESSION_NAME'] = {str(path)!r}")
    cells = [("markdown", "m1", "# Not directly above"), ("code", "c1", "1 + 1"),
             ("markdown", "m2", "We want **canary-four**"), ("markdown", "m3", "by species."),
             ("code", "c2", "%%lmc\nDo it.")]  # fmt: skip
    path.write_text(json.dumps({"cells": [
        {"cell_type": kind, "id": id, "source": [source]} for kind, id, source in cells
    ]}))  # fmt: skip
    run(lab, "%%lmc\nDo it.", cellId="c2")
    text = sent(server)
    assert "We want **canary-four**\n\nby species.\n" in text
    assert "Not directly above" not in text
    run(lab, "%%lmc\nAgain.", cellId="c2")
    assert "canary-four" not in sent(server)
    run(lab, "%%lmc\nWhere?", cellId="unknown")
    path.write_text("no notebook")
    run(lab, "%%lmc\nDo it.", cellId="c2")
    assert sent(server) == "Do it."


def test_names_that_changed_since_the_last_answer_are_said(lab, server):
    lab.run("old_one = 1\nchanging = [1]\nkept = 2")
    lab.run("%%lmc\nOne?")
    lab.run("%%lmc\nTwo?")
    assert sent(server) == "Two?"
    lab.run("del old_one; changing = 'text'; brand_new = 3")
    lab.run("%%lmc\nWhat changed?")
    assert "New names:\nbrand_new: int\nChanged names:\nchanging: str, 4 characters" in sent(server)
    assert "Names that are gone: old_one." in sent(server)
    assert "brand_new" not in server.requests[-1].body["messages"][0]["content"]


def test_a_password_that_is_written_into_a_cell_is_not_sent(lab, server):
    lab.run("password = 'hunter2'\nsafe = 'tell-this'")
    lab.run("%%lmc\nIs it right?")
    assert "hunter2" not in json.dumps(server.requests[-1].body)
    assert "tell-this" in sent(server)
