"""The chat in the sidebar of a real JupyterLab and Notebook 7: whose panel is shown, and when."""

from __future__ import annotations

import re

import pytest
from conftest import visit
from panel_page import show
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


class Sidebar:
    """Our panel at the side of the page."""

    def __init__(self, page: Page) -> None:
        self.page, self.root = page, page.locator("#lmc-sidebar")

    def toggle(self) -> None:
        self.page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('lmc:toggle')")
        self.page.evaluate("() => { window.jupyterapp.commands.execute('lmc:toggle'); }")

    def wait(self, state: str) -> None:
        self.page.locator(f'#lmc-sidebar[data-state="{state}"]').wait_for()

    def ready(self):
        """The composer of the panel that is shown."""
        self.wait("ready")
        composer = self.root.locator(".lmc[data-ready]:visible textarea")
        composer.wait_for()
        return composer

    def insert(self, code: str, language: str) -> bool:
        """What the panel does when a person clicks its button; whether JupyterLab took it."""
        return self.root.locator(".lmc:visible").first.evaluate(
            "(node, detail) => !node.dispatchEvent(new CustomEvent('lmc:insert-cell', "
            "{bubbles: true, composed: true, cancelable: true, detail}))",
            {"code": code, "language": language},
        )


@pytest.fixture
def sidebar(page):
    return Sidebar(page)


MODEL = """
from scripted import ScriptedModel, said
from lmc_jupyter import current_session
%load_ext lmc_jupyter
current_session().choose_model(ScriptedModel(*[[said('It is {name}.')] for _ in range(9)]))
"""


def says(sidebar: Sidebar, words: str) -> None:
    """The panel that is shown answers, with these words: it is the one of that kernel."""
    sidebar.ready().fill("Who is it?")
    # a click, since JupyterLab takes the focus back to a cell some time after it has run
    sidebar.root.locator(".lmc:visible").get_by_role("button", name="Send", exact=True).click()
    expect(sidebar.root.get_by_text(words, exact=True).locator("visible=true").last).to_be_visible()


def js_notebook(expression: str) -> str:
    return f"() => {{ const nb = window.jupyterapp.shell.currentWidget; {expression} }}"


HAS_RUN = js_notebook(
    "const { model } = nb.content.widgets[0];"
    "return model.executionCount === 1 && model.executionState !== 'running'"
)
"""The first cell has ended; it has its number when it begins."""


# Opening ------------------------------------------------------------------------------------------


def test_the_icon_opens_it_on_a_fresh_notebook(lab, open_notebook, page, sidebar):
    open_notebook(lab.write("icon.ipynb"))
    page.locator('.jp-SideBar [data-id="lmc-sidebar"]').click()
    sidebar.ready()


def channel_of(message: str | bytes) -> str:
    """The channel of a message on the wire, by jupyter_server's v1.kernel.websocket protocol."""
    assert isinstance(message, bytes)
    begin, end = (int.from_bytes(message[at : at + 8], "little") for at in (8, 16))
    return message[begin:end].decode()


def test_where_the_answer_is_lost_it_says_so_and_tries_by_a_new_connection(lab, own_page):
    connections, deaf = [], []

    def route(socket) -> None:
        server = socket.connect_to_server()
        connections.append(server)

        def send(message: str | bytes) -> None:
            if server not in deaf or channel_of(message) != "shell":
                socket.send(message)

        server.on_message(send)

    own_page.route_web_socket(re.compile(r"/channels\b"), route)
    visit(own_page, lab, lab.write("lost.ipynb"))
    deaf += connections
    sidebar = Sidebar(own_page)
    sidebar.toggle()
    sidebar.wait("message")
    expect(sidebar.root).to_contain_text("The kernel's answer has not come")
    sidebar.root.get_by_role("button", name="Try again").click()
    sidebar.ready()
    assert connections[-1] not in deaf


def test_the_command_opens_and_closes_it(lab, open_notebook, sidebar):
    open_notebook(lab.write("command.ipynb"))
    sidebar.toggle()
    sidebar.ready()
    sidebar.toggle()
    expect(sidebar.root).to_be_hidden()


@pytest.mark.day
def test_the_shortcut_opens_it_and_the_next_letters_go_to_its_composer(
    lab, open_notebook, page, sidebar
):
    open_notebook(lab.write("shortcut.ipynb"))
    page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('lmc:toggle')")
    page.keyboard.press("Control+Alt+l")
    expect(sidebar.ready()).to_be_focused()


def test_the_panel_leaves_no_trace_in_the_namespace_and_the_history(lab, open_notebook, sidebar):
    seen = "sorted(n for n in globals() if 'lmc' in n.lower()), len(In)"
    notebook = open_notebook(lab.write("trace.ipynb", seen))
    sidebar.toggle()
    sidebar.ready()
    notebook.run(0)
    notebook.wait_done(0)
    assert notebook.outputs(0)[0]["data"]["text/plain"] == "([], 2)"


WAIT = """import pathlib, time
print('begun', flush=True)
while not pathlib.Path('{file}').exists(): time.sleep(0.05)"""
"""A cell that runs until there is a file."""


@pytest.mark.parametrize("status", ["busy", "idle"])
def test_it_opens_while_a_cell_runs(lab, open_notebook, page, sidebar, status):
    notebook = open_notebook(lab.write(f"running-{status}.ipynb", WAIT.format(file=status)))
    notebook.run(0)
    expect(notebook.cell(0).locator(".jp-OutputArea")).to_contain_text("begun")
    if status == "idle":  # JupyterLab takes it for that after any message that is handled meanwhile
        kernel = "nb.sessionContext.session.kernel"
        page.evaluate(
            js_notebook(f"return {kernel}.requestCreateSubshell({{}}).done.then(() => 0)")
        )
        page.wait_for_function(js_notebook(f"return {kernel}.status === 'idle'"))
    sidebar.toggle()
    sidebar.ready()
    assert page.evaluate(js_notebook("return nb.content.widgets[0].model.executionCount")) is None
    (lab.root / status).touch()
    notebook.wait_done(0)


def test_without_subshells_it_says_that_it_waits_for_the_running_cell(lab, open_notebook, sidebar):
    notebook = open_notebook(lab.write("plain.ipynb", WAIT.format(file="go on"), kernel="plain"))
    notebook.run(0)
    expect(notebook.cell(0).locator(".jp-OutputArea")).to_contain_text("begun")
    sidebar.toggle()
    sidebar.wait("waiting")
    expect(sidebar.root).to_contain_text("when the running cell has finished")
    (lab.root / "go on").touch()
    sidebar.ready()


# Whose panel --------------------------------------------------------------------------------------


def test_it_follows_the_notebook_and_is_blank_before_it_shows_another(
    lab, open_notebook, page, sidebar
):
    notebook = open_notebook(lab.write("one.ipynb", MODEL.format(name="the first")))
    notebook.run(0)
    notebook.wait_done(0)
    sidebar.toggle()
    says(sidebar, "It is the first.")
    sidebar.ready().fill("a draft")
    page.evaluate(
        "() => window.jupyterapp.shell.currentChanged.connect(() => "
        "(window.statesAtChange ??= []).push(document.querySelector('#lmc-sidebar').dataset.state))"
    )
    second = lab.write("two.ipynb", MODEL.format(name="the second"))
    page.evaluate(
        "path => window.jupyterapp.commands.execute('docmanager:open', {path}).then(() => {})",
        second,
    )
    page.wait_for_function(
        js_notebook("return nb.context.path === 'two.ipynb' && nb.sessionContext.isReady")
    )
    notebook.run(0)
    page.wait_for_function(HAS_RUN)
    expect(sidebar.ready()).to_have_value("")
    says(sidebar, "It is the second.")
    expect(sidebar.root.get_by_text("It is the first.").locator("visible=true")).to_have_count(0)
    page.evaluate(
        "() => { const { dataset } = document.querySelector('#lmc-sidebar'); window.onTheWay = [];"
        " new MutationObserver(() => window.onTheWay.push(dataset.state))"
        ".observe(document.querySelector('#lmc-sidebar'), { attributeFilter: ['data-state'] }); }"
    )
    page.evaluate(
        "path => window.jupyterapp.commands.execute('docmanager:open', {path}).then(() => {})",
        "one.ipynb",
    )
    expect(sidebar.ready()).to_have_value("a draft")
    states = page.evaluate("() => window.statesAtChange")
    assert states
    assert "ready" not in states
    on_the_way = page.evaluate("() => window.onTheWay")
    assert on_the_way[-1] == "ready"
    assert "waiting" not in on_the_way, "its panel is here: nothing is connected anew"


def test_without_a_notebook_it_asks_for_one(lab, own_page):
    page, sidebar = own_page, Sidebar(own_page)
    page.goto(f"{lab.url}/lab?token={lab.token}&reset")
    sidebar.toggle()
    sidebar.wait("message")
    expect(sidebar.root).to_contain_text("Open a notebook")


def test_another_language_is_named(lab, open_notebook, sidebar):
    open_notebook(lab.write("other.ipynb", kernel="other"))
    sidebar.toggle()
    sidebar.wait("message")
    expect(sidebar.root).to_contain_text("this notebook's runs echo")


def test_a_change_of_the_kernel_is_followed(lab, open_notebook, page, sidebar):
    open_notebook(lab.write("change.ipynb"))
    sidebar.toggle()
    sidebar.ready()
    page.evaluate(js_notebook("nb.sessionContext.changeKernel({name: 'other'})"))
    sidebar.wait("message")
    page.evaluate(js_notebook("nb.sessionContext.changeKernel({name: 'python3'})"))
    sidebar.ready()
    page.evaluate(js_notebook("nb.sessionContext.shutdown()"))
    sidebar.wait("message")
    expect(sidebar.root).to_contain_text("no kernel")


def test_a_closed_notebook_takes_its_panel_with_it(lab, open_notebook, page, sidebar):
    open_notebook(lab.write("close.ipynb"))
    sidebar.toggle()
    sidebar.ready()
    page.evaluate(js_notebook("return nb.context.save().then(() => nb.close())"))
    sidebar.wait("message")
    expect(sidebar.root).to_contain_text("Open a notebook")


def test_where_the_package_is_missing_it_says_what_to_run(lab, open_notebook, sidebar):
    notebook = open_notebook(lab.write("bare.ipynb", "1 + 1", "install()", kernel="bare"))
    sidebar.toggle()
    sidebar.wait("message")
    expect(sidebar.root).to_contain_text("not installed")
    expect(sidebar.root.locator("pre")).to_have_text("%pip install lmc-jupyter")
    sidebar.root.get_by_role("button", name="Try again").click()
    expect(sidebar.root.locator("pre")).to_have_text("%pip install lmc-jupyter")
    notebook.run(1)
    sidebar.ready()


# Kernels that end ---------------------------------------------------------------------------------


def answers_anew(sidebar: Sidebar, notebook) -> None:
    """The view of the kernel before is gone, and the new one is that of this kernel."""
    sidebar.page.wait_for_function(
        "() => !document.body.contains(window.oldView) && "
        "document.querySelector('#lmc-sidebar').dataset.state === 'ready'"
    )
    sidebar.ready()
    notebook.run(0)
    notebook.wait_done(0)
    says(sidebar, "It is me.")


@pytest.fixture
def opened(lab, open_notebook, page, sidebar):
    def open_(name: str, *more: str):
        notebook = open_notebook(lab.write(name, MODEL.format(name="me"), *more))
        sidebar.toggle()
        sidebar.ready()
        page.evaluate("() => { window.oldView = document.querySelector('#lmc-sidebar textarea') }")
        return notebook

    return open_


@pytest.mark.day
def test_it_survives_a_restart(opened, page, sidebar):
    notebook = opened("restart.ipynb")
    page.evaluate(js_notebook("nb.sessionContext.restartKernel()"))
    answers_anew(sidebar, notebook)


def test_it_survives_a_crash(opened, page, sidebar):
    notebook = opened("crash.ipynb", "import os; os._exit(1)")
    notebook.run(1)
    # "The kernel appears to have died. It will restart automatically."
    page.locator(".jp-Dialog").get_by_role("button").last.click()
    answers_anew(sidebar, notebook)


def test_it_survives_a_restart_from_outside(opened, page, sidebar, lab):
    notebook = opened("outside.ipynb")
    (session,) = (each for each in lab.api("GET", "sessions") if each["path"] == "outside.ipynb")
    lab.api("POST", f"kernels/{session['kernel']['id']}/restart", {})
    answers_anew(sidebar, notebook)


def saves_the_open_sidebar(response) -> bool:
    """Whether JupyterLab keeps its layout, with the sidebar in sight."""
    request = response.request
    if request.method != "PUT" or "/workspaces/" not in request.url:
        return False
    layout = request.post_data_json["data"].get("layout-restorer:data", {})
    right = layout.get("right", {})
    return right.get("current") == "lmc-sidebar" and not right.get("collapsed")


def test_it_comes_back_by_itself_with_the_page(lab, open_notebook, page, sidebar):
    notebook = open_notebook(lab.write("reload.ipynb", MODEL.format(name="still me")))
    notebook.run(0)
    notebook.wait_done(0)
    with page.expect_response(saves_the_open_sidebar):
        sidebar.toggle()
        says(sidebar, "It is still me.")
    page.reload()
    sidebar.ready()
    expect(sidebar.root.get_by_text("It is still me.", exact=True)).to_be_visible()


def test_a_page_that_is_loaded_while_a_cell_runs_says_why_no_chat_opens(
    lab, open_notebook, page, sidebar
):
    notebook = open_notebook(lab.write("again.ipynb", WAIT.format(file="over")))
    with page.expect_response(saves_the_open_sidebar):
        sidebar.toggle()
        sidebar.ready()
    notebook.run(0)
    expect(notebook.cell(0).locator(".jp-OutputArea")).to_contain_text("begun")
    page.reload()
    expect(sidebar.root).to_contain_text("a cell may run")
    (lab.root / "over").touch()
    sidebar.ready()


# Cells --------------------------------------------------------------------------------------------


def test_code_is_inserted_as_a_cell_that_runs(lab, open_notebook, page, sidebar):
    notebook = open_notebook(lab.write("insert.ipynb", "1", "2"))
    sidebar.toggle()
    sidebar.ready()
    page.evaluate(js_notebook("nb.content.activeCellIndex = 0"))
    assert sidebar.insert("print('from', 'bash'.upper())", "python")
    assert sidebar.insert("echo $((6 * 7))", "shell")
    sources = page.evaluate(
        js_notebook("return nb.content.widgets.map(c => c.model.sharedModel.getSource())")
    )
    assert sources == ["1", "print('from', 'bash'.upper())", "%%bash\necho $((6 * 7))", "2"]
    notebook.run(2)
    notebook.wait_done(2)
    assert notebook.outputs(2)[0]["text"] == "42\n"


FOCUSED = js_notebook(
    "const { activeCell, mode } = nb.content;"
    "return mode === 'edit' && activeCell.editor?.hasFocus() && activeCell.model.sharedModel.source"
)


def test_the_next_keys_after_an_insert_are_the_new_cells(lab, open_notebook, page, sidebar):
    open_notebook(lab.write("insert-keys.ipynb", "1", "2"))
    sidebar.toggle()
    sidebar.ready().focus()
    assert sidebar.insert("6 * 7", "python")
    page.wait_for_function(FOCUSED)
    page.keyboard.press("Shift+Enter")
    page.wait_for_function(js_notebook("return nb.content.widgets[1].model.executionCount === 1"))


# Elsewhere ----------------------------------------------------------------------------------------


def test_it_stands_on_the_left_where_the_settings_say_so(lab, own_page):
    page, sidebar = own_page, Sidebar(own_page)
    body = {"raw": '{"area": "left"}'}
    lab.api("PUT", "lmc-jupyter:panel", body, base="lab/api/settings")
    try:
        visit(page, lab, lab.write("left.ipynb"))
        sidebar.toggle()
        sidebar.ready()
        expect(page.locator("#jp-left-stack #lmc-sidebar")).to_be_visible()
        sidebar.toggle()
        expect(sidebar.root).to_be_hidden()
    finally:
        lab.api("PUT", "lmc-jupyter:panel", {"raw": "{}"}, base="lab/api/settings")


@pytest.mark.day
def test_the_same_bundle_works_in_notebook_7(notebook7, own_page):
    page, sidebar = own_page, Sidebar(own_page)
    name = notebook7.write("seven.ipynb", MODEL.format(name="seven"))
    page.goto(f"{notebook7.url}/notebooks/{name}?token={notebook7.token}")
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
    sidebar.toggle()
    sidebar.ready()
    page.evaluate(js_notebook("nb.content.activeCellIndex = 0"))
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-cell') }")
    page.wait_for_function(HAS_RUN)
    says(sidebar, "It is seven.")
    assert sidebar.insert("1 + 1", "python")
    page.wait_for_function(FOCUSED)
    sidebar.toggle()
    expect(sidebar.root).to_be_hidden()
    for session in notebook7.api("GET", "sessions"):
        notebook7.api("DELETE", f"sessions/{session['id']}")


def test_it_opens_wide_enough_for_code_and_then_as_wide_as_the_person_makes_it(own_page, lab):
    page = own_page
    panel = show(page, visit(page, lab, lab.write("wide.ipynb", "1")))
    page.wait_for_function("() => document.querySelector('#lmc-sidebar').clientWidth >= 400")
    edge = panel.root.bounding_box()
    page.mouse.move(edge["x"] - 3, 400)
    page.mouse.down()
    page.mouse.move(edge["x"] - 130, 400, steps=3)
    page.mouse.up()
    wide = "() => document.querySelector('#lmc-sidebar').clientWidth > 500"
    page.wait_for_function(wide)
    for _ in range(2):
        page.evaluate("() => window.jupyterapp.commands.execute('lmc:toggle')")
    panel.composer.wait_for()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert page.evaluate(wide)
