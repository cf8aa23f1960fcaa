"""What a page in the two frames makes the browser connect to: names and TCP, not requests."""

from __future__ import annotations

import re
import socket
import threading

import pytest
from browser.conftest import launch

from lmc_jupyter.content.nested import element, frame, nested_document

pytestmark = pytest.mark.browser

ASK = (
    "<meta http-equiv=refresh content='0;url=URL'><iframe src='URL'></iframe>"
    "<link rel=preconnect href='URL'>"
)
INSIDE = ASK.replace("'", "&#39;")
PARSED = {
    "noscript": f'<noscript><p title="</noscript>{ASK}"></noscript>',
    "nostyle": f"<noscript><style></noscript>{ASK}</style></noscript>",
    "nocomment": f"<noscript><!--</noscript>{ASK}--></noscript>",
    "noselect": f'<select><noscript><option title="</noscript></select>{ASK}"></select>',
    "nosvg": f'<svg><noscript><a title="</noscript>{ASK}"></a></noscript></svg>',
    "nomath": f'<math><mtext><noscript><p title="</noscript>{ASK}"></noscript></mtext></math>',
    "noshadow": "<p><template shadowrootmode=open><noscript>"
    f'<p title="</noscript>{ASK}"></noscript></template></p>',
    "nosrcdoc": "<iframe srcdoc='<noscript><p title=\"</noscript>"
    f"{INSIDE}\"></noscript>'></iframe>",
    "nonested": f'<noscript><noscript><p title="</noscript></noscript>{ASK}"></noscript>',
    "nohead": f'<head><noscript><link title="</noscript>{ASK}"></noscript></head>',
    "frameset": '<iframe srcdoc="<frameset><frame src=URL></frameset>"></iframe>',
    "replaced": f"<iframe srcdoc='{INSIDE}<frameset></frameset>'></iframe>{ASK}<frameset>",
    "noembed": f'<noembed><p title="</noembed>{ASK}"></noembed>',
    "noframes": f'<noframes><p title="</noframes>{ASK}"></noframes>',
    "xmp": f'<svg><xmp><a title="</xmp>{ASK}"></a></xmp></svg>',
    "plaintext": f"<svg><plaintext><!--</plaintext>{ASK}--></svg>",
    "rawiframe": f'<svg><iframe><a title="</iframe>{ASK}"></a></iframe></svg>',
    "svgstyle": f"<svg><style><!--</style>{ASK}--></style></svg>",
    "svgtitle": f'<svg><title><a title="</title>{ASK}"></a></title></svg>',
    "cdata": f"<svg><![CDATA[>{ASK}]]></svg>",
    "moved": f"<form><math><mtext></form><form><mglyph><style></math>{ASK}</style></mglyph></form>",
    "table": f"<math><mtext><table><mglyph><style><!--</style>{ASK}--></style>",
}
"""What one reader of HTML sees as words, and another as elements: with scripts, the words of a
`noscript` are text up to its first end."""
BY_ITSELF = {
    "refresh": "<meta http-equiv=refresh content='0;url=URL'>",
    "iframe": "<iframe src='URL'></iframe>",
    "hidden": "<iframe style='display:none' sandbox src='URL'></iframe>",
    "srcdoc": '<iframe srcdoc="<iframe src=URL></iframe>"></iframe>',
    "template": "<p><template shadowrootmode=open><iframe src='URL'></iframe></template></p>",
    "mathml": "<math><mtext><table><mglyph><style><!--</style><iframe src='URL'></iframe>-->",
    "prefetch": "<link rel=prefetch href='URL'><link rel=prerender href='URL'>",
    "hints": "<link rel=dns-prefetch href='URL'><link rel=preconnect href='URL'>",
    "object": "<object data='URL'></object><embed src='URL'>",
    "image": "<img src='URL'><video poster='URL'></video>",
    "style": "<style>@import 'URL'; body { background: url(URL) }</style>",
    "base": "<base href='URL'><img src=x>",
    **PARSED,
}
"""HTML that asks for an address without a script and without a person."""
BY_CLICK = {
    "link": "<a href='URL'>press</a>",
    "popup": "<a target=_blank href='URL'>press</a>",
    "download": "<a download href='URL'>press</a>",
    "svg": "<svg height=30><a href='URL'><text y=20>press</text></a></svg>",
    "form": "<form action='URL'><button>press</button></form>",
}
"""HTML that does so when a person clicks on it."""
BY_SCRIPT = {
    "pressed": "<a id=a href='URL'></a><script>a.click()</script>",
    "made": "<script>Object.assign(document.createElement('a'),{href:'URL'}).click()</script>",
    "saves": "<a id=a download href='URL'></a><script>a.click()</script>",
    "sent": "<form id=f action='URL'></form><script>f.submit()</script>",
    "opened": "<script>open('URL')</script>",
    "fetched": "<script>fetch('URL'); new Image().src = 'URL'</script>",
    "socket": "<script>new WebSocket('URL'.replace('http', 'ws'))</script>",
    "speculation": '<script type=speculationrules>{"prefetch":[{"source":"list",'
    '"urls":["URL"],"eagerness":"immediate"}]}</script>',
    "handler": "<img src='data:,' onerror=\"window.open('URL')\">",
}
REMAINS = {
    "location": "<script>location = 'URL'</script>",
    "later": "<script>document.body.append(Object.assign(document.createElement('iframe'),"
    "{src: 'URL'}))</script>",
}
"""What a script that runs can still do: see docs/security.md."""


class Collector:
    """Counts connections, whatever is said on them."""

    def __init__(self):
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.connections = 0
        self.sent = b""
        self._came = threading.Condition()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self):
        while True:
            connection, _ = self._server.accept()
            if self._server.fileno() < 0:
                return
            with connection:
                connection.settimeout(2)
                try:
                    data = connection.recv(1000)
                except OSError:
                    data = b""
            if data == b"close":
                return
            with self._came:
                self.connections += 1
                self.sent += data
                self._came.notify_all()

    def wait(self, data):
        with self._came:
            assert self._came.wait_for(lambda: data in self.sent, timeout=60)

    def wait_connections(self, least):
        with self._came:
            assert self._came.wait_for(lambda: self.connections >= least, timeout=60)

    def close(self):
        with socket.create_connection(("127.0.0.1", self.port)) as end:
            end.sendall(b"close")
        self._thread.join()
        self._server.close()


@pytest.fixture
def visit(tmp_path, playwright):
    """Shows pages in a browser of their own, and gives (names looked up, connections opened)."""
    collector = Collector()
    log = tmp_path / "net.json"
    flags = (
        "--host-resolver-rules=MAP * 127.0.0.1",
        f"--log-net-log={log}",
        "--net-log-capture-mode=Everything",
    )

    def go(pages, made, clicks=(), least=0):
        browser = launch(playwright, *flags)
        page = browser.new_page(viewport={"width": 700, "height": 100 * len(pages)})
        shown = [
            f"<div id={name} style='height:100px'>"
            f"{made(source, f'http://{name}.test:{collector.port}/x')}</div>"
            for name, source in pages.items()
        ]
        page.set_content("".join(shown), wait_until="domcontentloaded")
        for name in pages:
            inner = page.locator(f"#{name}").frame_locator("iframe").frame_locator("iframe")
            inner.locator("body").wait_for(state="attached")
            if name in clicks:
                inner.get_by_text("press").click()
                inner.get_by_text("press").click(modifiers=["Control"])
                inner.get_by_text("press").click(button="middle")
        last = browser.new_page()  # whatever was asked for before it has been asked for now
        last.set_content(f"<img src='http://control.test:{collector.port}/last'>")
        collector.wait(b"/last")
        collector.wait_connections(least + 1)
        browser.close()
        text = log.read_text("utf-8", "replace")
        names = set(re.findall(rf"//(\w+)\.test:{collector.port}", text)) - {"control"}
        return names, collector.connections - 1

    yield go
    collector.close()


def live(source, address):
    document = nested_document(source.replace("URL", address), "html")
    return element(document, ' style="width:600px;height:100px"')


def kept(source, address):
    page = source.replace("URL", address)
    return frame(page, "html", picture=page)


def test_a_record_looks_up_no_name_and_opens_no_connection(visit):
    pages = {**BY_ITSELF, **BY_CLICK, **BY_SCRIPT, **REMAINS}
    assert visit(pages, kept, BY_CLICK) == (set(), 0)


def test_a_live_page_connects_to_nothing_but_by_a_script_that_goes_away(visit):
    pages = {**BY_ITSELF, **BY_CLICK, **BY_SCRIPT}
    assert visit(pages, live, BY_CLICK) == (set(), 0)


def test_what_remains_is_what_the_docs_say(visit):
    names, connections = visit(REMAINS, live, least=len(REMAINS))
    assert names == set(REMAINS)
    assert connections >= len(REMAINS)


def test_a_person_runs_the_scripts_of_a_record_again(chromium):
    page = chromium.new_page()
    source = "<p id=p>still</p><script>p.textContent = 'run'</script>"
    page.set_content(f"<div style='height:200px'>{frame(source, 'html')}</div>")
    around = page.frame_locator("iframe")
    shown = around.frame_locator("iframe").locator("#p")
    shown.wait_for()
    assert shown.text_content() == "still"
    around.get_by_role("button", name="Run its scripts").click()
    around.frame_locator("iframe").get_by_text("run", exact=True).wait_for()
    page.close()
