"""What is listed before a question is what its request has, over random notebooks.

One real kernel goes through all of them, so that a notebook has the cells of those before it too.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Turn, text
from sampling import sample

pytestmark = pytest.mark.kernel

SUPPORT = """
import json, os
import pandas as pd
from IPython.display import Markdown, display
from PIL import Image
from lmc_jupyter.context.cells import CellChoice, read_choice
from dataclasses import replace

def listed(question, cells, level, above):
    session = current_session()
    level_before = session.context
    session.context = level or level_before
    try:
        choice = replace(read_choice(cells) if cells else CellChoice(), above=above)
        it = session.prompt.companions(question, choice)
        return json.dumps({
            "parts": [each.content for each in it.parts],
            "listed": [[each.kind, each.title] for each in it.listed],
            "figures": [figure.content for _, figure in it.figures],
            "labels": [cell.label for cell, _ in it.figures],
        })
    finally:
        session.context = level_before

def figure(number):
    display(Image.new("RGB", (4, 4), (number % 256, number // 256, 7)))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as it:
        it.turns = [Turn(text("Well."))] * 50
        yield it


@pytest.fixture(scope="module")
def lab(server: ModelServer, frontend: Any, tmp_path_factory: Any) -> Any:
    path = tmp_path_factory.mktemp("notebook") / "a.ipynb"
    frontend.run(f"import os; os.environ['JPY_SESSION_NAME'] = {str(path)!r}")
    frontend.run("%load_ext lmc_jupyter\nfrom lmc_jupyter import current_session")
    frontend.run(
        f"%config LMC.model = 'openai/m'\n%config LMC.api_base = {server.base!r}\n"
        "%config LMC.options = {'api_key': 'not-a-key', 'tools': True, 'free': True}\n"
        "%config LMC.vision = True"
    )
    it = Lab(frontend, path)
    it.silently(SUPPORT)
    return it


class Lab:
    """The kernel of all notebooks.

    Parameters
    ----------
    path : the notebook's file
    """

    def __init__(self, frontend: Any, path: Path) -> None:
        self.frontend, self.path = frontend, path
        self.hidden: set[str] = set()
        """What was in hidden cells, of all notebooks so far."""
        self.functions: list[str] = []

    def silently(self, source: str, expression: str = "None") -> Any:
        """Run what is no cell of the person's; the expression's value."""
        cell = self.frontend.client.execute(
            source, store_history=False, user_expressions={"value": expression}
        )
        self.frontend.finish(cell)
        content = self.frontend.reply(cell)["content"]
        assert content["status"] == "ok", content
        return ast.literal_eval(content["user_expressions"]["value"]["data"]["text/plain"])

    def numbers(self) -> list[int]:
        """The numbers of the cells that are known."""
        return list(self.silently("", "[each.number for each in current_session().prompt.cells()]"))


NAMES = re.compile(
    r"\A(?:Names in the notebook's namespace|New names|Changed names|Names that are gone):"
    r".*?(?:\n\n|\Z)",
    re.DOTALL,
)
"""What a request says of the names, before all else of the question."""


class Notebook:
    """A person's random cells and questions."""

    def __init__(self, lab: Any, server: ModelServer, number: int) -> None:
        self.lab, self.server, self.random = lab, server, random.Random(number)
        self.numbers: list[int] = []
        self.hidden: set[int] = set()
        self.name = f"n{number}"
        self.count = 0

    def canary(self) -> str:
        self.count += 1
        return f"canary-{self.name}-{self.count}-{self.random.randrange(10**9)}"

    def run(self, source: str, **metadata: Any) -> str:
        """Run a cell as a front end does; its id."""
        message = self.lab.frontend.client.session.msg(
            "execute_request",
            {"code": source, "silent": False, "store_history": True, "user_expressions": {},
             "allow_stdin": True, "stop_on_error": False},
            metadata={"cellId": f"{self.name}-{self.count}", **metadata},
        )  # fmt: skip
        self.lab.frontend.client.shell_channel.send(message)
        cell = str(message["header"]["msg_id"])
        self.lab.frontend.finish(cell)
        return cell

    def cell(self) -> None:
        """One of the person's: it prints, shows or fails, and may be hidden."""
        word, it = self.canary(), self.count
        name = f"{self.name}_{it}"
        earlier = [f"{self.name}_{each}" for each in range(1, it)]
        uses = self.random.choice([*earlier, "len"])
        calls = self.random.choice(self.lab.functions or ["len"])
        source = self.random.choice([
            f"{name} = 1\nprint('{word}')",
            f"{name} = ['{word}']\n{name} * 2",
            f"{name} = 2\nraise ValueError('{word}')",
            f"{name} = 3\nfigure({self.random.randrange(65_536)})  # {word}",
            f"{name} = pd.DataFrame({{'a': ['{word}'] * 3, 'b': range(3)}})\n{name}",
            f"{name} = 'sk-proj-{'Ab3' * 16}'  # {word}\nprint({name})",
            f"{name} = 4\nprint('{word}\\n' * 400)",
            f"# {word}\n" + f"{name} = 5\n" * 300,
            f"{name} = str({uses}).count  # {word}",
            f"def {name}():\n    return 1 / 0  # {word}",
            f"{name} = {calls}()  # {word}",
            f"{name} = 6  # {word}\ndisplay(Markdown('**{word}**'))",
            f"{name} = 6\nprint('\\x1b[31m{word}\\x1b[0m é😀')",
            f"%%capture\n{name} = 9  # {word}\nprint({name})",
            f"{name} = 7\nwarn = __import__('sys').stderr.write('{word}\\n')",
            f"def {name}(:  # {word}",
            f"%time {name} = 8  # {word}",
        ])  # fmt: skip
        if source.startswith(f"def {name}()"):
            self.lab.functions.append(name)
        hide = self.random.random() < 0.25
        id = self.run(source, **({"tags": ["lmc-hide"]} if hide else {}))
        number = self.lab.frontend.reply(id)["content"]["execution_count"]
        self.numbers.append(number)
        if hide:
            self.hidden.add(number)
            self.lab.hidden.add(word)

    def question(self) -> None:
        """A question with random choices: what was listed before it is what the server gets."""
        draw = self.random
        words = f"Why? {self.canary()}"
        pointed = draw.choice(self.numbers) if self.numbers and draw.random() < 0.3 else None
        if pointed is not None:
            words += f" See @cell {pointed}."
        first = draw.choice(self.numbers or [1])
        cells = draw.choice([None, None, None, "none", f"{first}", f"{first}-{first + 3}"])
        level = draw.choice([None, None, None, "names", "none"])
        above = f"# Title {self.canary()}\n\nText." if draw.random() < 0.4 else ""
        self._write_document(above)
        options = (f" --cells {cells}" if cells else "") + (f" --context {level}" if level else "")
        if pointed in self.hidden:
            self._is_refused(f"%%lmc{options}\n{words}")
            return
        wanted = json.loads(
            self.lab.silently("", f"listed({words!r}, {cells!r}, {level!r}, {above!r})")
        )
        shown = ""
        if not (options or above or pointed) and wanted["parts"]:
            shown = self.lab.frontend.text(self.run("%lmc context"))
        before = len(self.server.requests)
        self.run(f"%%lmc{options}\n{words}", cellId="question")
        assert len(self.server.requests) == before + 1
        body = self.server.requests[-1].body
        texts, images = received(body)
        assert texts == [*(f"A figure of {each}:" for each in wanted["labels"]),
                         *(["\n\n".join(wanted["parts"])] if wanted["parts"] else []), words], (
            f"notebook {self.name}, {options!r}: the request is not what was listed"
        )  # fmt: skip
        assert len(images) == len(wanted["figures"])
        if shown:
            assert shown.partition("\n\n")[2].rstrip("\n") == "\n\n".join(wanted["parts"])

    def _is_refused(self, source: str) -> None:
        before = len(self.server.requests)
        self.run(source, cellId="question")
        assert self.lab.frontend.status == "error"
        assert len(self.server.requests) == before

    def _write_document(self, above: str) -> None:
        cells = [{"cell_type": "markdown", "id": "m", "source": [above]}] if above else []
        cells.append({"cell_type": "code", "id": "question", "source": ["%%lmc"]})
        self.lab.path.write_text(json.dumps({"cells": cells, "number": self.canary()}))


def received(body: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The texts and the images of the last message of the user, without our delimiters."""
    content = [each for each in body["messages"] if each["role"] == "user"][-1]["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts, images = [], []
    for each in parts:
        if each["type"] == "image_url":
            images.append(each["image_url"]["url"])
            continue
        text = NAMES.sub("", each["text"])
        found = re.fullmatch(
            r"<output-(\w+) of the notebook>\n(.*)\n</output-\1>(?:\n\n(.*))?",
            text,
            re.DOTALL,
        )
        texts += [found[2], *filter(None, [found[3]])] if found else filter(None, [text])
    return texts, images


@pytest.mark.parametrize("number", sample(range(200), 8))
def test_what_is_listed_is_what_is_sent(lab, server, number):
    notebook, first = Notebook(lab, server, number), len(server.requests)
    notebook.run("%lmc reset")
    for _ in range(notebook.random.randint(1, 3)):
        for _ in range(notebook.random.randint(0, 5)):
            notebook.cell()
        notebook.question()
        if notebook.random.random() < 0.2:
            notebook.run("%lmc undo")
            notebook.question()
    assert [cell for cell in lab.numbers() if cell in notebook.numbers] == notebook.numbers
    everything = json.dumps([request.body for request in server.requests[first:]])
    assert [word for word in lab.hidden if word in everything] == []
    assert "Ab3Ab3" not in everything
