"""The site, built from nothing and walked: pages, notebooks with their figures, search, dark,
narrow; and no page asks another address for anything."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.long]

ROOT = Path(__file__).parents[2]
HTML = ROOT / ".cache" / "site" / "html"
NARROW = 400


class Files(http.server.SimpleHTTPRequestHandler):
    """The site's files; it says nothing."""

    def __init__(self, *args, **more):
        super().__init__(*args, directory=str(HTML), **more)

    def log_message(self, *_):
        """Nobody reads it."""


@pytest.fixture(scope="module")
def site():
    """Its address, after `make site`."""
    command = [sys.executable, str(ROOT / "docs" / "site" / "make.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def visit(chromium, site):
    """Opens a page of the site in a browser of these options; all that is asked for is noted."""
    asked, contexts = [], []

    def open_page(path, **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(site + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith((site, "data:", "about:"))] == []


PAGES = ["/", "/README/", "/docs/security/", "/docs/trust/", "/docs/commands/", "/api/"]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_there_and_no_wider_than_a_narrow_screen(visit, path):
    page = visit(path, viewport={"width": NARROW, "height": 800})
    expect(page.locator("h1").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    broken = "[...document.images].filter(one => one.complete && !one.naturalWidth).length"
    assert page.evaluate(broken) == 0


def test_the_front_page_shows_the_code_that_waits_and_leads_on(visit):
    page = visit("/")
    expect(page.get_by_role("img", name="Run, Edit and Don't run")).to_be_visible()
    page.get_by_role("link", name="read the first notebook").click()
    expect(page.locator("h1").first).to_contain_text("A first conversation")


def test_all_notebooks_are_there_with_what_they_gave(visit):
    page = visit("/notebooks/")
    names = page.locator(".bd-article .toctree-wrapper a")
    assert names.count() == len(list((ROOT / "notebooks").glob("*.ipynb")))
    page = visit("/notebooks/01-first-conversation/")
    expect(page.get_by_text("you ran this").first).to_be_visible()
    figure = page.locator(".bd-article .cell_output img").first
    figure.scroll_into_view_if_needed()
    page.wait_for_function("one => one.naturalWidth > 100", arg=figure.element_handle())


def test_search_finds_a_word(visit):
    page = visit("/search/?q=redact")
    expect(page.get_by_text("matching the search query")).to_be_visible()
    assert page.locator("#search-results li").count() > 3


def test_dark_is_dark(visit):
    light = visit("/", color_scheme="light").evaluate("getComputedStyle(document.body).color")
    dark = visit("/", color_scheme="dark").evaluate("getComputedStyle(document.body).color")
    assert light != dark


def test_programs_find_a_list_of_the_pages(visit, site):
    page = visit("/")
    answer = page.request.get(f"{site}/llms.txt")
    assert answer.ok
    assert "lmc-jupyter" in answer.text()
