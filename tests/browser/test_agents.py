"""An agent outside the notebook, by the MCP SDK's own client, against a real JupyterLab."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import Future
from typing import Any

import pytest
from conftest import ROOT
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import Implementation
from panel_page import SETUP, Panel, hue, press, show
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

PATIENCE = 300  # seconds: only what fails waits so long
COMMAND = """
import sys
from lmc_jupyter.frontends import command
from lmc_jupyter.frontends.agents import kernels
kernels.HELLO_SECONDS = 20.0  # for a busy machine
sys.exit(command.main())
"""
WAIT = "while not Path({go!r}).exists(): time.sleep(0.05)"
RUN_ALL = "Run all blocks from Claude Code (until one minute of silence)"


class Agent:
    """An agent and its `lmc-jupyter mcp`, on a thread of its own: Playwright has the main one."""

    def __init__(self, lab: Any, title: str) -> None:
        self._server = StdioServerParameters(
            command=sys.executable,
            args=["-c", COMMAND, "mcp", "--wait", str(PATIENCE)],
            env={"JUPYTER_RUNTIME_DIR": str(lab.root.parent / "runtime"), "PYTHONPATH": str(ROOT)},
        )
        self._info = Implementation(name=title.lower(), title=title, version="1")
        self._session: Future[ClientSession] = Future()
        self._loop = asyncio.new_event_loop()
        self._gone = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._live(),))
        self._thread.start()
        self._session.result(PATIENCE)

    async def _live(self) -> None:
        try:
            async with (
                stdio_client(self._server) as (read, write),
                ClientSession(read, write, client_info=self._info) as session,
            ):
                await session.initialize()
                self._session.set_result(session)
                await self._gone.wait()
        except BaseException as error:
            if not self._session.done():
                self._session.set_exception(error)
            raise

    def call(self, tool: str, **arguments: Any) -> Future[Any]:
        """Call a tool; the result comes while the test does what a person does."""
        session = self._session.result()
        return asyncio.run_coroutine_threadsafe(session.call_tool(tool, arguments), self._loop)

    def ask(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that needs nobody."""
        return self.call(tool, **arguments).result(PATIENCE)

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._gone.set)
        self._thread.join(PATIENCE)
        self._loop.close()


def words(result: Any) -> str:
    """The text of a result."""
    return "\n".join(each.text for each in result.content if each.type == "text")


@pytest.fixture(scope="module")
def claude(lab):
    agent = Agent(lab, "Claude Code")
    yield agent
    agent.end()


@pytest.fixture(scope="module")
def codex(lab):
    agent = Agent(lab, "Codex")
    yield agent
    agent.end()


def notifications(page):
    return page.locator(".Toastify__toast")


def hide_panel(chat) -> None:
    chat.notebook.command("lmc:toggle")
    expect(chat.root).to_be_hidden()


def bring(page, name: str) -> None:
    """The notebook of this name comes to the front."""
    page.evaluate(
        "path => window.jupyterapp.commands.execute('docmanager:open', { path }).then(() => {})",
        name,
    )
    page.wait_for_function(
        "path => window.jupyterapp.shell.currentWidget?.context?.path === path", arg=name
    )


def sources(page) -> list[str]:
    """The text of each cell of the notebook in front."""
    return page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets"
        ".map(({ model }) => model.sharedModel.getSource())"
    )


# The card -----------------------------------------------------------------------------------------


@pytest.mark.day
def test_code_of_an_agent_runs_by_the_persons_press_with_the_notebooks_variables(chat, claude):
    chat.do("apples = 20")
    listed = claude.ask("list_notebooks").structured_content["notebooks"]
    assert [each["name"] for each in listed] == ["test_agents.ipynb"]
    result = claude.call("run_code", code="pears = apples + 1\nprint(pears)")
    expect(chat.card.locator(".lmc-agent")).to_have_text("Claude Code (agent)")
    expect(chat.button(RUN_ALL)).to_be_visible()
    expect(chat.button("Run everything in this answer")).to_have_count(0)
    expect(chat.log.locator(".lmc-agent:visible")).to_have_count(0)  # the card says it
    assert not result.done()
    chat.press("Run")
    assert "21" in words(result.result(PATIENCE))
    assert chat.value("pears") == 21
    expect(chat.log.locator(".lmc-agent:visible")).to_have_text("Claude Code (agent)")
    expect(chat.log.get_by_text("runs code here")).to_be_hidden()
    expect(chat.button("Ask again")).to_have_count(0)


def test_what_an_agent_would_lose_of_the_persons_warns_as_of_the_model(chat, claude):
    chat.do("ships = {'a': 1, 'b': 2}\nfleet = {'a': 1}")
    block = "deepest = min(ships); del ships[deepest]"
    chat.do(f"session = current_session(); script([code({block!r}, end=True)], [said('Done.')])")
    chat.ask()
    line = chat.card.locator(".lmc-card-effects")
    shown = []
    for result in (None, claude):
        if result is not None:
            result = claude.call("run_code", code=block)
            expect(chat.card.locator(".lmc-agent")).to_have_text("Claude Code (agent)")
        expect(line.locator("strong")).to_have_text("deletes an item of your ships (dict, 2 items)")
        shown.append((line.text_content(), hue(line.locator("strong")), hue(line)))
        chat.press("Don't run")
        chat.state("done")
    assert shown[0] == shown[1]
    assert shown[0][1:] == ("red", "grey")


def test_the_person_edits_it_and_the_agent_reads_what_ran(chat, claude):
    result = claude.call("run_code", code="total = 1")
    chat.press("Edit")
    chat.card.get_by_label("The code, to edit").fill("total = 1_000")
    chat.press("Run edited")
    assert "1_000" in words(result.result(PATIENCE)) + str(result.result().structured_content)
    assert chat.value("total") == 1_000


def test_the_person_declines_and_the_agent_reads_why(chat, claude):
    result = claude.call("run_code", code="gone = 1")
    chat.card.get_by_label("Reason for not running it").fill("I need this name myself")
    chat.press("Don't run")
    assert "I need this name myself" in words(result.result(PATIENCE))
    assert not chat.value("'gone' in globals()")


def test_the_person_stops_it_while_it_runs(chat, claude):
    code = "print('begun', flush=True)\nthreading.Event().wait(600)\nover = 1"
    result = claude.call("run_code", code=code)
    chat.press("Run")
    expect(chat.log.get_by_text("begun", exact=True)).to_be_visible()
    chat.button("Stop").click()
    assert result.result(PATIENCE).is_error
    assert not chat.value("'over' in globals()")


def test_run_all_is_for_the_next_blocks_of_this_agent_alone(chat, claude, codex):
    first = claude.call("run_code", code="steps = [1]")
    chat.press(RUN_ALL)
    first.result(PATIENCE)
    claude.ask("run_code", code="steps.append(2)")  # unasked
    other = codex.call("run_code", code="steps.append(3)")
    expect(chat.card.locator(".lmc-agent")).to_have_text("Codex (agent)")
    chat.press("Don't run")
    other.result(PATIENCE)
    assert chat.value("steps") == [1, 2]
    claude.ask("stop")  # which ends it


def test_two_agents_take_turns_each_under_its_name(chat, claude, codex):
    first = claude.call("run_code", code="who = ['claude']")
    expect(chat.card.locator(".lmc-agent")).to_have_text("Claude Code (agent)")
    second = codex.call("run_code", code="who.append('codex')")
    chat.press("Run")
    first.result(PATIENCE)
    expect(chat.card.locator(".lmc-agent")).to_have_text("Codex (agent)")
    chat.press("Run")
    second.result(PATIENCE)
    assert chat.value("who") == ["claude", "codex"]


# Beside the panel ---------------------------------------------------------------------------------


def test_where_the_panel_is_closed_a_notification_leads_to_the_card(chat, claude):
    page = chat.page
    hide_panel(chat)
    result = claude.call("run_code", code="seen = True")
    note = notifications(page)
    expect(note).to_contain_text("Claude Code wants to run code in test_agents.ipynb.")
    expect(note.get_by_role("button", name="Run")).to_have_count(0)
    note.get_by_role("button", name="Show the code").click()
    expect(chat.card).to_be_focused()
    expect(note).to_have_count(0)
    chat.press("Run")
    result.result(PATIENCE)
    assert chat.value("seen")


def test_it_leads_to_the_notebook_that_is_not_in_front_and_goes_with_the_card(
    chat, claude, lab, pages
):
    page = chat.page
    bring(page, lab.write("in_front.ipynb", "1"))
    result = claude.call("run_code", code="late = 1", notebook="test_agents.ipynb")
    note = notifications(page)
    expect(note).to_contain_text("test_agents.ipynb")
    claude.ask("stop", notebook="test_agents.ipynb")
    expect(note).to_have_count(0)
    assert result.result(PATIENCE).is_error
    again = claude.call("run_code", code="late = 2", notebook="test_agents.ipynb")
    note.get_by_role("button", name="Show the code").click()
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.context.path === 'test_agents.ipynb'"
    )
    expect(chat.card).to_be_focused()
    chat.press("Don't run")
    again.result(PATIENCE)
    assert not chat.value("'late' in globals()")
    pages.end()


def test_a_page_that_is_loaded_later_shows_it_too(pages, lab, claude):
    page, name = pages.page(), "agents_later.ipynb"
    chat = pages.open(page, name)
    result = claude.call("run_code", code="later = 1", notebook=name)
    expect(chat.card).to_be_visible()
    page.goto(f"{lab.url}/lab/tree/{name}?token={lab.token}&reset")  # where the panel is closed
    note = notifications(page)
    expect(note).to_contain_text(f"An agent wants to run code in {name}.")
    note.get_by_role("button", name="Show the code").click()
    card = Panel(page, chat.notebook).card
    expect(card).to_be_focused()
    expect(card.locator(".lmc-agent")).to_have_text("Claude Code (agent)")
    expect(note).to_have_count(0)
    press(card, "Run")
    result.result(PATIENCE)
    assert chat.value("later") == 1
    pages.end(page)


def test_an_agent_adds_a_cell_that_nobody_runs_and_one_undo_removes(chat, claude, lab):
    page, go = chat.page, lab.root / "go_on"
    at = chat.cell("mine = 1")
    chat.do("from lmc_jupyter.frontends.agents import page; page.ANSWER_SECONDS = 60.0")
    still = page.add_style_tag(content=".Toastify__progress-bar { animation: none !important }")
    chat.run(WAIT.format(go=str(go)))  # the page answers beside a running cell
    page.evaluate(
        "at => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = at; }", at
    )
    before = sources(page)
    result = claude.ask("add_cell", source="print('never run')")
    assert not result.is_error, words(result)
    expect(notifications(page)).to_contain_text("Claude Code added a cell to test_agents.ipynb.")
    assert sources(page) == [*before[: at + 1], "print('never run')", *before[at + 1 :]]
    active = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
    assert page.evaluate(active) == at
    notifications(page).get_by_role("button", name="Show", exact=True).click()
    still.evaluate("style => style.remove()")  # the end of its bar closes a notification
    page.wait_for_function(f"at => ({active})() === at", arg=at + 1)
    added = page.locator(".jp-NotebookPanel:visible .jp-Cell").nth(at + 1)
    expect(added.locator(".jp-InputPrompt")).to_have_text("[ ]:")
    go.touch()
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:undo-cell-action')")
    assert sources(page) == before


def test_a_restart_takes_the_notification_away_and_the_next_kernel_is_heard(pages, lab, claude):
    page = pages.page()
    chat = pages.open(page, "agents_restart.ipynb")
    hide_panel(chat)
    result = claude.call("run_code", code="x = 1", notebook="agents_restart.ipynb")
    note = notifications(page)
    expect(note).to_contain_text("agents_restart.ipynb")
    page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
    )
    expect(note).to_have_count(0)
    assert result.result(PATIENCE).is_error
    chat.do(SETUP)
    again = claude.call("run_code", code="x = 2", notebook="agents_restart.ipynb")
    note.get_by_role("button", name="Show the code").click()
    card = show(page, chat.notebook).card
    press(card, "Run")
    again.result(PATIENCE)
    assert chat.value("x") == 2
    pages.end(page)


def test_in_notebook_7_too(notebook7, open_in_notebook7):
    notebook = open_in_notebook7(notebook7.write("agents.ipynb"))
    page = notebook.page
    Panel(page, notebook).do(SETUP)
    agent = Agent(notebook7, "Claude Code")
    result = agent.call("run_code", code="print(6 * 7)")
    notifications(page).get_by_role("button", name="Show the code").click()
    card = Panel(page, notebook).card
    expect(card).to_be_focused()
    press(card, "Run")
    assert "42" in words(result.result(PATIENCE))
    agent.end()
