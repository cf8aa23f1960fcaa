"""A day's talk with a model that thinks: in the sidebar, with a provider that refuses whatever its
own would refuse.

One rule: a person's presses and the provider's requests are looked at, not our insides.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from panel_page import press
from playwright.sync_api import expect
from strict_wires import Anthropic, DeepSeek, Step, Wire

pytestmark = pytest.mark.browser

LONG = "\n".join(f"column_{n} = df['b'] * {n}  # a line of a long block" for n in range(40))
FIGURE = "import matplotlib.pyplot as plt\nplt.plot(df['a'], df['b']);"
ENDLESS = "print('begun')\nwhile True: pass"

TALK: list[tuple[str, list[Step], list[str]]] = [
    ("Make a table.", [
        ("I make it.", "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3], 'b': [2, 4, 9]})"),
        ("I look at it.", "df.describe()"),
        ("It has three rows.", None),
    ], ["Run", "Run"]),
    ("Plot it.", [("I plot.", FIGURE), ("It rises.", None)], ["Run"]),
    ("Double it.", [("I double b.", "df['b'] *= 2"), ("As you wish.", None)], ["Don't run"]),
    ("Add a column.", [("I add c.", "df['c'] = 1"), ("It has c.", None)], ["Run"]),
    ("What is column d?", [
        ("I look.", "df['d']"),
        ("It has none; I make it.", "df['d'] = df['a']"),
        ("Now it has d.", None),
    ], ["Run", "Run"]),
    ("Make many columns.", [("I make them.", LONG), ("There they are.", None)], ["Run"]),
    ("Wait for ever.", [("I wait.", ENDLESS)], ["Run", "Stop"]),
    ("Why was that?", [("You stopped it.", None)], []),
    ("Which columns are there?", [("I look.", "list(df)"), ("a, b, c, d.", None)], ["Run"]),
    ("And the mean of b?", [("I take it.", "df['b'].mean()"), ("It is 5.", None)], ["Run"]),
    ("Thanks.", [("You are welcome.", None)], []),
    ("One more thing: how many rows?", [("I count.", "len(df)"), ("Three.", None)], ["Run"]),
]  # fmt: skip
"""Questions, the steps of their answers, and what the person presses."""

STEPS = [step for _, steps, _ in TALK for step in steps]


def claude(server: Any) -> tuple[Wire, str]:
    options = "tools=True, thinking={'type': 'enabled', 'budget_tokens': 1024}, max_tokens=2048"
    name = f"'anthropic/claude-sonnet-4-5', api_base={server.root!r}, {options}"
    return Anthropic(STEPS, is_append_only=True), name


def deepseek(server: Any) -> tuple[Wire, str]:
    return DeepSeek(STEPS), f"'openai/deepseek-reasoner', api_base={server.base!r}, tools=True"


@pytest.mark.parametrize("provider", [claude, deepseek])
def test_a_talk_with_a_model_that_thinks_is_never_refused(chat, model_server, provider) -> None:
    wire, choice = provider(model_server)
    model_server.answer = wire.answer
    chat.do(f"current_session().choose_model({choice}, api_key='none')")
    try:
        for question, steps, presses in TALK:
            chat.ask(question)
            for name in presses:
                if name == "Stop":
                    expect(chat.log).to_contain_text("begun")
                    chat.button("Stop").click()
                elif name == "Don't run":
                    chat.card.get_by_label("Reason for not running it").fill("I need b as it is.")
                    press(chat.card, name)
                else:
                    press(chat.card, name)
            if "Stop" not in presses:
                expect(chat.log).to_contain_text(steps[-1][0])
            chat.state("stopped" if "Stop" in presses else "done")
        assert wire.refusals == []
        assert wire.count == len(STEPS)
        everything = json.dumps(wire.bodies[-1])
        assert "I need b as it is." in everything
        assert "The person stopped it after" in everything
        thoughts = chat.panel.get_by_text("Thoughts")
        expect(thoughts).to_have_count(len(STEPS))
        first = chat.log.get_by_text("tep 1.")  # Step 1., and: I think of step 1.
        expect(first).to_be_hidden()
        thoughts.first.click()
        expect(first).to_be_visible()
    finally:
        model_server.answer = None
