"""A day's talk with a model that thinks: in the sidebar, with a provider that refuses whatever its
own would refuse.

One rule: a person's presses and the provider's requests are looked at, not our insides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from model_server import ModelServer
from panel_page import Panel, press
from playwright.sync_api import Locator, expect
from strict_wires import Anthropic, DeepSeek, Step, Wire, proposed
from test_proposals_in_lab import number, source

pytestmark = pytest.mark.browser

THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
THEME_IS = """theme => document.body.dataset.jpThemeName === theme
  && !document.getElementById('jupyterlab-splash')
  && !document.getAnimations().some(each => each.playState === 'running' &&
    each.effect.getComputedTiming().iterations !== Infinity)"""
BOXES = "all => all.map(each => each.getBoundingClientRect().toJSON())"
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

OLD, HALF, THIRD = (f"rate = 3\nhalf = rate / {by}" for by in (0, 2, 3))
TOOK = "took your proposal"
PROPOSALS: list[tuple[str, Callable[[int], str], str, str]] = [
    ("Write a function that doubles.", lambda n: proposed("def double(x):\n    return 2 * x"),
     "Insert below", f"The person {TOOK} for a new cell: they inserted it as a new cell."),
    ("Write my cell again.", lambda n: proposed(HALF, n),
     "Replace", "for In [{n}]: they put it in the place of the cell."),
    ("By three, and look.", lambda n: proposed(f"{THIRD}\nhalf", n),
     "Replace and run", "for In [{n}]: they put it in the place of the cell and ran the cell."),
    ("And by four?", lambda n: proposed(OLD.replace("0", "4"), n), "Cancel", ""),
]  # fmt: skip
"""Questions, what is proposed for cell n, what the person presses, what the model reads of it."""


def steps_of(n: int) -> list[Step]:
    """All steps, for a talk in which the person's cell is In [n]."""
    more: list[Step] = []
    for _, propose, _, _ in PROPOSALS:
        more += [("I propose it.", propose(n)), ("It is yours to take.", None)]
    return [*STEPS, *more, ("Thank you.", None)]


def look(chat: Panel, name: str) -> None:
    """Screenshots in both themes, and of a narrow window, for whoever asked for them."""
    if folder := os.environ.get("LMC_SCREENSHOTS"):
        for theme in ("Dark", "Light"):
            chat.page.evaluate(THEME, f"JupyterLab {theme}")
            chat.page.wait_for_function(THEME_IS, arg=f"JupyterLab {theme}")
            chat.page.screenshot(path=Path(folder) / f"{name}-{theme}.png")
        chat.page.set_viewport_size({"width": 900, "height": 1000})
        chat.page.screenshot(path=Path(folder) / f"{name}-900.png")
        chat.page.set_viewport_size({"width": 1400, "height": 1000})


def claude(server: ModelServer, n: int) -> tuple[Wire, str]:
    options = "tools=True, thinking={'type': 'enabled', 'budget_tokens': 1024}, max_tokens=2048"
    name = f"'anthropic/claude-sonnet-4-5', api_base={server.root!r}, {options}"
    return Anthropic(steps_of(n), is_append_only=True), name


def deepseek(server: ModelServer, n: int) -> tuple[Wire, str]:
    choice = f"'openai/deepseek-reasoner', api_base={server.base!r}, tools=True"
    return DeepSeek(steps_of(n)), choice


@pytest.mark.parametrize("provider", [claude, deepseek])
def test_a_talk_with_a_model_that_thinks_is_never_refused(chat, model_server, provider) -> None:
    name = provider.__name__
    at = chat.run(OLD)
    chat.notebook.wait_done(at)
    n = number(chat, at)
    wire, choice = provider(model_server, n)
    model_server.answer = wire.answer
    chat.do(f"current_session().choose_model({choice}, api_key='none')")
    try:
        for question, steps, presses in TALK:
            chat.ask(question)
            for button in presses:
                if button == "Stop":
                    expect(chat.log).to_contain_text("begun")
                    look(chat, f"{name}-runs")
                    chat.button("Stop").click()
                elif button == "Don't run":
                    chat.card.get_by_label("Reason for not running it").fill("I need b as it is.")
                    press(chat.card, button)
                else:
                    if steps[0][1] == LONG:
                        look(chat, f"{name}-long")
                    press(chat.card, button)
            if "Stop" not in presses:
                expect(chat.log).to_contain_text(steps[-1][0])
            chat.state("stopped" if "Stop" in presses else "done")
        look(chat, f"{name}-talk")
        everything = json.dumps(wire.bodies[-1])
        assert "I need b as it is." in everything
        assert "The person stopped it after" in everything

        for question, _, button, _ in PROPOSALS:
            chat.ask(question)
            chat.state("done")
            take(chat, chat.record("code").last, n, button, f"{name}-{button}")
        chat.ask("Thanks again.")
        expect(chat.log).to_contain_text("Thank you.")
        chat.state("done")
        look(chat, f"{name}-end")
        assert source(chat, at) == proposed(f"{THIRD}\nhalf", n)
        assert chat.value("half") == 1.0
        assert chat.value("'double' in globals()") is False

        assert wire.refusals == []
        assert wire.count == len(steps_of(n))
        texts = [*map(wire.text, wire.bodies)]
        assert all(now.startswith(before) for before, now in pairwise(texts))
        for place, (_, _, _, words) in enumerate(PROPOSALS, 1):
            news = [texts[len(STEPS) + 2 * place + more] for more in (-1, 0)]
            read = news[1].removeprefix(news[0])
            assert words.format(n=n) in read
            assert read.count(TOOK) == bool(words)
        thoughts = chat.panel.get_by_text("Thoughts")
        expect(thoughts).to_have_count(wire.count)
        first = chat.log.get_by_text("tep 1.")  # Step 1., and: I think of step 1.
        expect(first).to_be_hidden()
        thoughts.first.click()
        expect(first).to_be_visible()
        look(chat, f"{name}-thoughts")
    finally:
        model_server.answer = None


def take(chat: Panel, card: Locator, n: int, button: str, name: str) -> None:
    """Press a button of a proposal, and of the dialog that it opens."""
    look(chat, f"{name}-card")
    if button == "Insert below":
        card.get_by_role("button", name=button).click()
        expect(card).to_contain_text("inserted as a cell")
        look(chat, f"{name}-done")
        return
    opens = "Replace and run…" if button == "Replace and run" else f"Replace cell {n}…"
    card.get_by_role("button", name=opens).click()
    dialog = chat.page.get_by_role("dialog")
    expect(dialog.locator(".lmc-diff")).to_contain_text("half = rate / ")
    look(chat, f"{name}-dialog")
    dialog.get_by_role("button", name=button, exact=True).click()
    expect(dialog).to_be_hidden()
    if button == "Cancel":
        expect(card).not_to_contain_text("cell replaced")
        return
    expect(card).to_contain_text(
        "cell replaced and run" if button != "Replace" else "cell replaced"
    )
    look(chat, f"{name}-done")


def test_below_cells_that_ask_a_model_that_thinks_is_never_refused(chat: Panel, model_server):
    chat.page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
    at = chat.run(OLD)
    chat.notebook.wait_done(at)
    n = number(chat, at)
    wire = Anthropic(
        [
            ("I look.", "rate"),
            ("It is three.", None),
            ("I propose it.", proposed(HALF, n)),
            ("It is yours to take.", None),
            ("You are welcome.", None),
        ],
        is_append_only=True,
    )
    model_server.answer = wire.answer
    choice = claude(model_server, n)[1]
    chat.do(f"current_session().choose_model({choice}, api_key='none')")
    try:
        first = chat.run("%%lmc\nWhat is the rate?")
        card = chat.notebook.cell(first).locator("[data-proposal]")
        card.wait_for()
        look(chat, "cell-asks")
        press(card, "Run")
        chat.notebook.wait_done(first)
        second = chat.run("%%lmc\nWrite my cell again.")
        chat.notebook.wait_done(second)
        output = chat.notebook.cell(second)
        button = output.get_by_role("button", name=f"Replace cell {n}…")
        button.scroll_into_view_if_needed()
        look(chat, "cell-proposes")
        in_panel = chat.record("code").last.locator(".lmc-offers button")
        assert len({box["y"] for box in in_panel.evaluate_all(BOXES)}) == 1, "in one row"
        chat.page.set_viewport_size({"width": 900, "height": 1000})
        for box in output.locator(".lmc-proposal-row button").evaluate_all(BOXES):
            assert box["height"] < 30, "no label is broken"
        _, state, details = output.locator(".lmc-bar > *").evaluate_all(BOXES)
        assert state["bottom"] <= details["top"], "not beside the middle of several lines"
        chat.page.set_viewport_size({"width": 1400, "height": 1000})
        button.click()
        dialog = chat.page.get_by_role("dialog")
        expect(dialog.locator(".lmc-diff")).to_contain_text("half = rate / 2")
        dialog.get_by_role("button", name="Replace and run", exact=True).click()
        expect(chat.record("code").last).to_contain_text("cell replaced and run")
        chat.page.wait_for_function(
            "at => window.jupyterapp.shell.currentWidget.content.widgets[at]"
            ".model.sharedModel.getSource().includes('/ 2')",
            arg=at,
        )
        third = chat.run("%%lmc\nThanks.")
        chat.notebook.wait_done(third)
        look(chat, "cell-end")
        assert source(chat, at) == proposed(HALF, n)
        assert chat.value("half") == 1.5
        assert wire.refusals == []
        assert wire.count == 5
        texts = [*map(wire.text, wire.bodies)]
        assert all(now.startswith(before) for before, now in pairwise(texts))
        news = texts[4].removeprefix(texts[3])
        assert "they put it in the place of the cell and ran the cell." in news
    finally:
        model_server.answer = None
        chat.page.evaluate(
            "() => window.jupyterapp.commands.execute('application:toggle-left-area')"
        )
