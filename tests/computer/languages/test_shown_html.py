"""HTML and JavaScript of the page: what is put out, what is told, how a wait and a picture end."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from scripted import printed

from lmc_jupyter.computer import Computer
from lmc_jupyter.computer.languages.html import (
    MAX_CODE,
    MAX_PAGES,
    Browser,
    Html,
    format_console,
    listen,
    may_speak,
)
from lmc_jupyter.computer.screen import Page
from lmc_jupyter.content.nested import INNER_POLICY, OUTER_POLICY, element, nested_document
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import Chunk

ROOT = Path(__file__).parents[3]


class Expected:
    """A page of which this became, once `ready` is set."""

    def __init__(self, page):
        self.page, self.over = page, threading.Event()
        self.waits = threading.Event()
        self.stopped = False
        if page is not None:
            self.over.set()

    def wait(self, seconds):
        self.waits.set()
        self.over.wait(60)  # a test that waits for nothing fails by its own time
        return self.page

    def stop(self):
        self.stopped = True
        self.over.set()


class Screen:
    """Tells of each page what was prepared for it."""

    def __init__(self, *pages):
        self.pages, self.expected, self.made = list(pages), [], []
        self.asked = threading.Event()

    def expect(self, code):
        self.expected.append(code)
        self.made.append(Expected(self.pages.pop(0)))
        self.asked.set()
        return self.made[-1]

    def ask(self, prompt, password=False):
        raise ComputerError("nobody")


def run(language, code, screen=None):
    computer = Computer(language)
    computer.screen = screen
    return list(computer.run(language.name, code))


def told(pieces):
    return [(p.type, p.format, p.recipient, p.content) for p in pieces]


# What is put out ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "format_"), [(Html(), "html"), (Browser(), "javascript")])
def test_it_is_shown_whole_then_its_lines_for_both_then_its_text_for_the_model(language, format_):
    screen = Screen(Page(("drawn", "error: no"), "Sales\n2025", 600, 240))
    pieces = run(language, "<b>it</b>", screen)
    assert screen.expected == ["<b>it</b>"]
    assert told(pieces) == [
        ("code", format_, "user", "<b>it</b>"),
        ("console", "output", None, "drawn\nerror: no\n"),
        (
            "console",
            "output",
            "assistant",
            "(It is shown to the person, 600 by 240 px. Its text:)\nSales\n2025\n",
        ),
    ]
    assert pieces[0].end
    assert screen.made[0].stopped  # nobody is left waiting


def test_a_page_is_expected_before_it_is_put_out():
    language, screen = Html(), Screen(Page())
    language.screen = screen
    running = language.run("x")
    assert screen.expected == []
    assert next(running).type == "code"
    assert screen.expected == ["x"]
    running.close()
    assert screen.made[0].stopped


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (Page(height=20, width=300), "without text"),
        (Page(), "shows nothing and printed nothing"),
    ],
)
def test_a_page_without_text_is_told_in_a_sentence(page, words):
    _, last = run(Html(), "<hr>", Screen(page))
    assert last.recipient == "assistant"
    assert words in last.content


def test_a_page_that_only_speaks_needs_no_further_sentence():
    assert told(run(Browser(), "6*7", Screen(Page(("42",)))))[1:] == [
        ("console", "output", None, "42\n")
    ]


def test_where_no_browser_is_the_model_is_told_so_at_once():
    shown, last = run(Html(), "<b>it</b>", None)
    assert (shown.format, shown.recipient) == ("html", "user")
    assert (last.recipient, "no browser is open" in last.content) == ("assistant", True)

    class Deaf(Screen):
        def expect(self, code):
            return None

    assert told(run(Html(), "<b>it</b>", Deaf()))[1:] == told([last])


def test_a_browser_that_says_nothing_is_told_to_the_model(monkeypatch):
    screen = Screen(None)
    running = Html()
    running.screen = screen
    pieces = running.run("x")
    next(pieces)
    screen.made[0].over.set()  # its time is over
    (last,) = pieces
    assert last.recipient == "assistant"
    assert "reported nothing within 15 s" in last.content


def test_equal_lines_are_counted():
    assert format_console(["a", "a", "b", "a"]) == "a  (2 times)\nb\na\n"


def test_what_is_too_long_is_refused_with_its_length():
    with pytest.raises(ComputerError, match=r"8,000,001 characters of html are too many"):
        Html().run("x" * (MAX_CODE + 1))


# Stop ---------------------------------------------------------------------------------------------


def test_stop_ends_the_wait_and_the_block():
    language, screen = Html(), Screen(None)
    language.screen = screen
    pieces: list[Chunk] = []
    ended: list[type] = []

    def read():
        try:
            pieces.extend(language.run("x"))
        except KeyboardInterrupt:
            ended.append(KeyboardInterrupt)

    reader = threading.Thread(target=read)
    running = language.run("y")
    next(running)
    assert screen.made[0].over.is_set() is False
    language.stop()
    assert screen.made[0].stopped
    with pytest.raises(KeyboardInterrupt):
        list(running)

    screen.pages = [None]
    screen.asked.clear()
    reader.start()
    assert screen.asked.wait(60)
    assert screen.made[1].waits.wait(60)
    language.stop()
    reader.join(60)
    assert ended == [KeyboardInterrupt]


def test_a_stop_before_the_first_piece_waits_for_nothing():
    language, screen = Html(), Screen(None)
    language.screen = screen
    running = language.run("x")
    language.close()
    with pytest.raises(KeyboardInterrupt):
        list(running)
    assert screen.made[0].stopped


# HTML that other languages show -------------------------------------------------------------------


def shown(html, recipient=None):
    return Chunk("computer", "code", "html", html, recipient, end=True)


class Language:
    """Says prepared pieces."""

    name, aliases = "python", ()

    def __init__(self, *pieces, native=False):
        self.pieces, self.native = pieces, native

    def run(self, code):
        yield from self.pieces

    def close(self): ...


def test_errors_of_html_that_code_shows_come_after_the_block():
    screen = Screen(Page(("error: draw is not defined",)), Page())
    language = Language(
        shown("<script>draw()</script>"), printed("more\n"), shown("<img src=x>", "user")
    )
    pieces = run(language, "plot", screen)
    assert [p.content for p in pieces[2:]] == ["<img src=x>", "error: draw is not defined\n"]
    assert pieces[-1].recipient is None
    assert all(each.stopped for each in screen.made)


def test_nobody_waits_for_a_plain_table_nor_where_the_kernel_shows_it():
    screen = Screen()
    run(Language(shown("<table><tr><td>1</td></tr></table>")), "df", screen)
    run(Language(shown("<script>1</script>"), native=True), "df", screen)
    run(Language(shown("<script>1</script>", "assistant")), "df", screen)
    assert screen.expected == []


def test_only_the_first_pages_of_a_block_are_listened_to():
    screen = Screen(*[Page()] * 20)
    run(Language(*[shown(f"<script>{i}</script>") for i in range(20)]), "x", screen)
    assert len(screen.expected) == MAX_PAGES


def test_a_block_that_is_interrupted_is_not_waited_for():
    def interrupted():
        yield shown("<script>1</script>")
        raise KeyboardInterrupt

    screen = Screen(None)
    running = listen(interrupted(), screen)
    next(running)
    with pytest.raises(KeyboardInterrupt):
        next(running)
    assert screen.made[0].stopped


@pytest.mark.parametrize(
    ("html", "speaks"),
    [
        ("<p>plain</p>", False),
        ("<style>td { color: red }</style><table border=1><td>only = words</td></table>", False),
        ("<SCRIPT>1</SCRIPT>", True),
        ("<b onclick='x()'>b</b>", True),
        ("<img src='x.png'>", True),
        ("<style>a { background: url(x.png) }</style>", True),
        ("<link rel=stylesheet href=x.css>", True),
    ],
)
def test_only_what_may_speak_is_listened_to(html, speaks):
    assert may_speak(html) is speaks


# The frames ---------------------------------------------------------------------------------------


@pytest.mark.checkout
def test_the_frames_are_those_of_the_front_end():
    built = (ROOT / "lmc_jupyter" / "static" / "widget.js").read_text("utf-8")
    assert INNER_POLICY in built
    assert OUTER_POLICY in built
    assert "frame-src 'none'; child-src 'none'" in OUTER_POLICY
    assert OUTER_POLICY.startswith(INNER_POLICY)


@pytest.mark.checkout
def test_what_a_frame_may_do_stands_in_one_file():
    """Python, TypeScript and an exported notebook are made from it."""
    sources = [*(ROOT / "js" / "src").rglob("*.ts*"), *(ROOT / "lmc_jupyter").rglob("*.py")]
    sources += (ROOT / "lmc_jupyter" / "content").glob("frames.*")
    words = ("allow-scripts", "default-src", "allow-same-origin")
    found = [each.name for each in sources if any(w in each.read_text("utf-8") for w in words)]
    assert found == ["frames.json"]


def test_what_is_shown_cannot_leave_its_attribute_nor_its_script():
    document = nested_document('<p title="a&amp;b">"</script><script>top.x', "html")
    assert document.count("</script>") == 1
    assert document.endswith("</script>")
    assert "</script><b>" not in nested_document("x = '</script><b>'", "javascript")
    framed = element(document)
    assert framed.count('"') == 2 * framed.count('="')
