"""A real JupyterLab on 127.0.0.1 and a real Chromium; one of each for all the tests here."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[2]


class Lab:
    """A running JupyterLab whose kernels import the package from this tree."""

    def __init__(self, url: str, token: str, root: Path) -> None:
        self.url, self.token, self.root = url, token, root

    def api(self, method: str, path: str) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/{path}",
            method=method,
            headers={"Authorization": f"token {self.token}"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def write(self, name: str, *sources: str) -> str:
        """A notebook with these code cells."""
        cells = [
            {"cell_type": "code", "id": f"c{n}", "metadata": {}, "outputs": [], "source": source,
             "execution_count": None}
            for n, source in enumerate(sources)
        ]  # fmt: skip
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        notebook = {
            "cells": cells,
            "metadata": {"kernelspec": kernel},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.root / name).write_text(json.dumps(notebook), "utf-8")
        return name


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    root, token, port = tmp_path_factory.mktemp("lab"), secrets.token_hex(8), _free_port()
    apart = {
        name: str(tmp_path_factory.mktemp(name))
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    env = {**os.environ, **apart, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    env.pop("LMC_MODEL", None)
    settings = tmp_path_factory.mktemp("settings")
    quiet = {
        "@jupyterlab/apputils-extension:notification": {
            "fetchNews": "false",
            "checkForUpdates": False,
        }
    }
    (settings / "overrides.json").write_text(json.dumps(quiet))
    log = (tmp_path_factory.mktemp("log") / "jupyterlab.log").open("wb")
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser"),
            *("--ip=127.0.0.1", f"--port={port}"),
            *("--ServerApp.port_retries=0", f"--IdentityProvider.token={token}", "--allow-root"),
            *(f"--ServerApp.root_dir={root}", f"--LabApp.app_settings_dir={settings}"),
            "--LabApp.expose_app_in_browser=True",
        ],
        env=env, stdout=log, stderr=log,
    )  # fmt: skip
    found = Lab(f"http://127.0.0.1:{port}", token, root)
    try:
        for _ in range(600):
            try:
                found.api("GET", "status")
                break
            except OSError:
                assert server.poll() is None, (
                    f"JupyterLab ended: {Path(log.name).read_text()[-2000:]}"
                )
                time.sleep(0.1)
        yield found
    finally:
        server.terminate()
        server.wait(30)
        log.close()


@pytest.fixture(scope="module")  # its event loop runs as long as it is there: not beside kernels
def chromium():
    path = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    assert path, "no Chromium was found: `make test` installs it, or `apt-get install chromium`"
    flags = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(flags))
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, lab):
    context = chromium.new_context(viewport={"width": 1200, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()
    for session in lab.api("GET", "sessions"):
        lab.api("DELETE", f"sessions/{session['id']}")


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

    def wait_done(self, index: int) -> None:
        """Until the cell has its execution count: it has run to its end."""
        self.page.wait_for_function(
            "i => window.jupyterapp.shell.currentWidget.content.widgets.filter("
            "c => c.model.type === 'code')[i].model.executionCount !== null && "
            "window.jupyterapp.shell.currentWidget.content.widgets.filter("
            "c => c.model.type === 'code')[i].model.executionState !== 'running'",
            arg=index,
        )


@pytest.fixture
def open_notebook(page, lab):
    def open_(name: str) -> Notebook:
        page.goto(f"{lab.url}/lab/tree/{name}?token={lab.token}&reset")
        page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
        page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel"
            "?.connectionStatus === 'connected' && "
            "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
        )
        return Notebook(page)

    return open_
