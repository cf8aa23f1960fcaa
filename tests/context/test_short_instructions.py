"""The instructions: whole ones for a model that reads much, short ones for a small window."""

from __future__ import annotations

from importlib import metadata

import pytest

from lmc_jupyter import Session
from lmc_jupyter.context.instructions import INSTRUCTIONS, SHORT_INSTRUCTIONS, default
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.openai import Abilities, Sent, to_chat


def of_window(tokens: int) -> str:
    model = {"model": "openai/m", "api_base": "http://127.0.0.1:9/v1", "context_window": tokens}
    return Session(keep=False, **model).brief().instructions


def test_a_model_that_reads_little_gets_short_instructions() -> None:
    assert of_window(4_096).startswith(SHORT_INSTRUCTIONS)
    assert of_window(128_000).startswith(INSTRUCTIONS)
    assert len(SHORT_INSTRUCTIONS) < 1_000 < len(INSTRUCTIONS)
    assert Session("replay/none", keep=False).brief().instructions.startswith(INSTRUCTIONS)


@pytest.mark.parametrize(
    ("words", "short"),
    [
        ("begins with `_`", False),  # its own temporary names
        ("larger where blocks run unasked", False),
        ("Look first where an answer rests on what you have not seen", False),
        ("in a sentence or two", True),  # how to end
        ("with what the question asks for (numbers, reasons, caveats) and no more", False),
        ("Answer in the", True),  # language of the person
        ("it does not run", True),  # what is proposed
    ],
)
def test_each_clause_is_there(words: str, short: bool) -> None:
    assert words in " ".join(default({"python": ""}).split())
    assert (words in default({"python": ""}, is_short=True)) == short


def test_instructions_of_the_persons_own_stay_alone() -> None:
    session = Session("replay/none", keep=False, system_message="Be brief.")
    assert session.brief().instructions == "Be brief."


def test_a_model_reads_how_code_is_written_only_as_it_can_write_it() -> None:
    question = Message("user", "message", content="Go.")
    by_tools = {}
    for tools in (True, False):
        sent = Sent().request([question], Brief("Be brief."), Abilities(tools, vision=False))
        by_tools[tools] = sent[0]["content"]
        assert (
            by_tools[tools]
            == to_chat([question], Brief("Be brief."), tools=tools, vision=False)[0]["content"]
        )
    assert "Run code with execute" in by_tools[True]
    assert "only shown" in by_tools[True]
    assert "```python" not in by_tools[True]
    assert "execute" not in by_tools[False]
    assert "```python" in by_tools[False]
    nothing = to_chat([question], Brief("Be brief.", languages={}), tools=True, vision=False)
    assert "execute" not in nothing[0]["content"]


def test_the_versions_of_installed_packages_stand_in_the_long_instructions_alone() -> None:
    version = ".".join(metadata.version("numpy").split(".")[:2])
    assert f"It has numpy {version}, " in default({"python": ""})
    assert "numpy" not in default({"python": ""}, is_short=True)
    assert "torch" not in default({"python": ""})
