"""A real JupyterLab and Notebook 7 on 127.0.0.1 and a real Chromium; one of each for all tests.

One rule: JupyterLab is loaded once. It takes a page five seconds of CPU to load it and one to open
another notebook, so that the page of a test that passed is the next one's, with nothing open in it;
a test that changes more than notebooks and our panel has its `own_page`.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from panel_page import Shared, SparePages
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright
from ports import free_port

expect.set_options(timeout=60_000)  # a machine with other work: it is only waited for what fails
ROOT = Path(__file__).parents[2]


class Lab:
    """A running JupyterLab whose kernels import the package from this tree.

    `restart` ends the server, and with it all kernels, and starts it at the same address.
    """

    def __init__(self, url: str, token: str, root: Path, restart: Callable[[], None]) -> None:
        self.url, self.token, self.root, self.restart = url, token, root, restart

    def api(self, method: str, path: str, body: Any = None, base: str = "api") -> Any:
        request = urllib.request.Request(
            f"{self.url}/{base}/{path}",
            method=method,
            headers={"Authorization": f"token {self.token}"},
            data=None if body is None else json.dumps(body).encode(),
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def write(self, name: str, *sources: str, kernel: str = "python3") -> str:
        """A notebook with these code cells, for the kernel of this name."""
        cells = [
            {"cell_type": "code", "id": f"c{n}", "metadata": {}, "outputs": [], "source": source,
             "execution_count": None}
            for n, source in enumerate(sources)
        ]  # fmt: skip
        spec = {"display_name": kernel, "language": "python", "name": kernel}
        notebook = {
            "cells": cells,
            "metadata": {"kernelspec": spec},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.root / name).write_text(json.dumps(notebook), "utf-8")
        return name


def _write_kernel_specs(folder: Path) -> None:
    """Kernels beside python3: of the oldest ipykernel, without the package or subshells, …"""
    for name, language in {"bare": "python", "plain": "python", "other": "echo"}.items():
        (folder / name).mkdir(parents=True)
        module = f"browser.{name}_kernel"
        spec = {
            "argv": [sys.executable, "-m", module, "-f", "{connection_file}"],
            "display_name": name,
            "language": language,
        }
        (folder / name / "kernel.json").write_text(json.dumps(spec), "utf-8")
    old = os.environ.get("LMC_TEST_OLD_PYTHON") or ROOT / ".venv-ipykernel6" / "bin" / "python"
    if not Path(old).exists():  # it is of long runs
        return
    argv = [str(old), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "ipykernel6", "language": "python"}
    (folder / "ipykernel6").mkdir()
    (folder / "ipykernel6" / "kernel.json").write_text(json.dumps(spec), "utf-8")


@contextmanager
def jupyter(
    folder: Path,
    module: str,
    app: str,
    kernels: Callable[[Path], None] = lambda _: None,
    python: str = sys.executable,
) -> Iterator[Lab]:
    """A JupyterLab or a Notebook 7 with nothing of this machine's settings, data and kernels.

    `kernels` writes the specs of those that it has beside python3; `python` runs the server.
    """
    token, port = secrets.token_hex(8), free_port()
    names = ("root", "settings", "config", "data", "runtime", "ipython")
    root, settings, config, data, runtime, ipython = (folder / name for name in names)
    for path in (root, settings, config, data / "labextensions", runtime, ipython):
        path.mkdir(parents=True)
    built = ROOT / "lmc_jupyter" / "labextension"
    assert (built / "package.json").exists(), "the JupyterLab extension is not built: `make js`"
    (data / "labextensions" / "lmc-jupyter").symlink_to(built)
    kernels(data / "kernels")
    env = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(data),
        "JUPYTER_PATH": str(data),  # before the environment: the sidebar of this tree
        "JUPYTER_RUNTIME_DIR": str(runtime),
        "IPYTHONDIR": str(ipython),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
        "PYTHONFAULTHANDLER": "1",
    }
    env.pop("LMC_MODEL", None)
    quiet = {
        "@jupyterlab/apputils-extension:notification": {
            "fetchNews": "false",
            "checkForUpdates": False,
        }
    }
    (settings / "overrides.json").write_text(json.dumps(quiet))
    log = (folder / "server.log").open("wb")
    argv = [
        *(python, "-m", module, "--no-browser", "--ip=127.0.0.1", f"--port={port}"),
        *("--ServerApp.port_retries=0", f"--IdentityProvider.token={token}", "--allow-root"),
        *(f"--ServerApp.root_dir={root}", f"--{app}.app_settings_dir={settings}"),
        f"--{app}.expose_app_in_browser=True",
    ]

    def start() -> None:
        process = subprocess.Popen(argv, env=env, stdout=log, stderr=log)
        running.append(process)
        for _ in range(600):
            try:
                found.api("GET", "status")
                return
            except OSError:
                assert process.poll() is None, (
                    f"{module} ended: {Path(log.name).read_text()[-2000:]}"
                )
                time.sleep(0.1)
        raise TimeoutError(f"{module} does not answer: {Path(log.name).read_text()[-2000:]}")

    def end() -> None:
        for process in running:
            process.terminate()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGABRT)  # faulthandler writes where it stands
                process.wait()
                last = Path(log.name).read_text(errors="replace")[-4000:]
                raise RuntimeError(f"{module} did not end within 120 s: {last}") from None
        running.clear()

    def restart() -> None:
        end()
        start()

    running: list[subprocess.Popen[bytes]] = []
    found = Lab(f"http://127.0.0.1:{port}", token, root, restart)
    try:
        start()
        yield found
    finally:
        end()
        log.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    with jupyter(
        tmp_path_factory.mktemp("lab"), "jupyterlab", "LabApp", _write_kernel_specs
    ) as server:
        yield server


@pytest.fixture(scope="session")
def notebook7(tmp_path_factory):
    with jupyter(tmp_path_factory.mktemp("nb7"), "notebook", "JupyterNotebookApp") as server:
        yield server


def launch(playwright: Playwright, *more: str) -> Browser:
    """The Chromium of this machine, with these flags besides."""
    path = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    assert path, "no Chromium was found: `make test` installs it, or `apt-get install chromium`"
    flags = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
    return playwright.chromium.launch(executable_path=path, args=[*flags, *more])


_made: dict[str, Any] = {}
_open = ExitStack()
"""Chromium and its pages, until the next test is one of another folder: Playwright's event loop
runs as long as it is there, and tests of kernels want one of their own."""


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem):
    if nextitem is None or nextitem.path.parent != Path(__file__).parent:
        _made.clear()
        _open.close()


@pytest.fixture(scope="module")
def playwright():
    """There can be one at a time: whatever else is launched is launched by this one."""
    if "playwright" not in _made:
        _made["playwright"] = _open.enter_context(sync_playwright())
    return _made["playwright"]


@pytest.fixture(scope="module")
def chromium(playwright):
    if "chromium" not in _made:
        _made["chromium"] = launch(playwright)
        _open.callback(_made["chromium"].close)
    return _made["chromium"]


@pytest.fixture(scope="module")
def spare(chromium, request):
    if "spare" not in _made:
        _made["spare"] = SparePages(chromium, lambda: request.session.testsfailed)
    return _made["spare"]


@contextmanager
def sessions_ended(lab: Lab) -> Iterator[None]:
    """End the kernels that began meanwhile; that of a module's notebook goes on."""
    before = {session["id"] for session in lab.api("GET", "sessions")}
    yield
    for session in lab.api("GET", "sessions"):
        if session["id"] not in before:
            lab.api("DELETE", f"sessions/{session['id']}")


@pytest.fixture
def page(spare, lab):
    page = spare.take(1200)
    with sessions_ended(lab):
        yield page
        spare.give(page)


@pytest.fixture
def own_page(spare, lab):
    """A page that no other test had, nor gets."""
    page = spare.new(1200)
    with sessions_ended(lab):
        yield page
        page.context.close()


class Notebook:
    """A notebook that is open in JupyterLab."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def command(self, name: str) -> None:
        """A command of JupyterLab, not waited for."""
        self.page.evaluate("name => { window.jupyterapp.commands.execute(name, {}); }", name)

    def run(self, index: int) -> None:
        self.page.evaluate(
            "i => { const nb = window.jupyterapp.shell.currentWidget.content; "
            "nb.activeCellIndex = i; nb.deselectAll(); }",
            index,
        )
        self.command("notebook:run-cell")

    def run_code(self, index: int) -> None:
        """Run the code cell of this number; other cells are not counted."""
        self.run(
            self.page.evaluate(
                "i => window.jupyterapp.shell.currentWidget.content.widgets"
                ".map((c, at) => [c.model.type, at]).filter(c => c[0] === 'code')[i][1]",
                index,
            )
        )

    def cell(self, index: int):
        return self.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(index)

    def outputs(self, index: int) -> list[dict[str, Any]]:
        return self.page.evaluate(
            "i => window.jupyterapp.shell.currentWidget.content.widgets.filter("
            "c => c.model.type === 'code')[i].model.outputs.toJSON()",
            index,
        )

    def wait_done(self, index: int, timeout: float | None = None) -> None:
        """Until the cell has its execution count: it has run to its end; `timeout` in ms."""
        self.page.wait_for_function(
            "i => window.jupyterapp.shell.currentWidget.content.widgets.filter("
            "c => c.model.type === 'code')[i].model.executionCount !== null && "
            "window.jupyterapp.shell.currentWidget.content.widgets.filter("
            "c => c.model.type === 'code')[i].model.executionState !== 'running'",
            arg=index,
            timeout=timeout,
        )

    def wait_for_queue(self) -> None:
        """Until the kernel takes cells again: one that fails empties the queue behind it."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
            ".requestKernelInfo().then(() => {})"
        )


OPEN = """async name => {
  const { shell, commands } = window.jupyterapp;
  for (const widget of [...shell.widgets('main')]) widget.dispose();
  await commands.execute('docmanager:open', { path: name });
}"""


READY = """name => {
  const shell = window.jupyterapp?.shell;
  const found = shell && [...shell.widgets('main')].find(each => each.context?.path === name);
  if (!found) return false;
  // a launcher comes where all else was closed, perhaps before it
  if (shell.currentWidget !== found) shell.activateById(found.id);
  const kernel = found.sessionContext.session?.kernel;
  return shell.currentWidget === found && found.isVisible
    && kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""


FRAMES = """async () => {
  for (let n = 0; n < 4; n++) await new Promise(requestAnimationFrame);
}"""
"""A notebook that is brought to the front takes the focus two frames later."""


def visit(page: Page, lab: Lab, name: str) -> Notebook:
    """Open a notebook in JupyterLab, and nothing else, and wait for its kernel."""
    if page.url.startswith(f"{lab.url}/lab"):
        page.evaluate(OPEN, name)
    else:
        # its layout is its own: a page that a test is done with may keep its empty one late
        workspace = f"workspaces/{secrets.token_hex(4)}"
        page.goto(f"{lab.url}/lab/{workspace}/tree/{name}?token={lab.token}&reset")
    page.wait_for_function(READY, arg=name)
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
    page.evaluate(FRAMES)
    return Notebook(page)


@pytest.fixture
def open_notebook(page, lab):
    return lambda name: visit(page, lab, name)


@pytest.fixture
def open_in_notebook7(own_page, notebook7):
    """Opens a notebook in Notebook 7."""

    def open_it(name: str) -> Notebook:
        own_page.goto(f"{notebook7.url}/notebooks/{name}?token={notebook7.token}")
        own_page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
        own_page.wait_for_function(READY, arg=name)
        own_page.evaluate(FRAMES)
        return Notebook(own_page)

    with sessions_ended(notebook7):
        yield open_it


@pytest.fixture(scope="module")
def pages(spare, lab, request):
    """Pages with our panel; see `Shared`."""
    shared = Shared(spare, lab, visit, f"{request.path.stem}.ipynb")
    yield shared
    shared.close()


@pytest.fixture
def chat(pages, request):
    """The panel of this module's notebook, with an empty conversation."""
    return pages.panel(request.session.testsfailed)
