"""A network that is cut: the panel has what it missed as soon as the connection is back.

What JupyterLab adds before: it tries the kernel's connection again after a random 0 to 1, 3, 7,
15, 31 and 63 seconds (22 s after a cut of 30 s). And its dialogs "Server Connection Error" and, of
a notebook that was to be saved meanwhile, "File Save Error", which may lie over all of the page,
take each press until a person closes them.
"""

from __future__ import annotations

import logging
import selectors
import socket
import threading
from urllib.parse import urlsplit

import pytest
from panel_page import SETUP, press, show
from playwright.sync_api import expect
from ports import free_port
from sampling import LONG, amount

pytestmark = pytest.mark.browser

log = logging.getLogger(__name__)
CUT_MS = 30_000 if LONG else 3_000

WATCH = """() => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  window.times = { connected: null, card: null };
  kernel.connectionStatusChanged.connect((_, status) => {
    if (status === 'connected') window.times.connected = performance.now();
  });
  new MutationObserver(() => {
    if (document.querySelector('#lmc-sidebar [data-proposal]'))
      window.times.card ??= performance.now();
  }).observe(document.querySelector('#lmc-sidebar'), { childList: true, subtree: true });
}"""


class Proxy:
    """Passes TCP on to a port of this machine, until it is cut; then it refuses whoever comes."""

    def __init__(self, port: int) -> None:
        self._to, self.port = port, free_port()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._lock, self._open = threading.Lock(), True
        self._server = socket.create_server(("127.0.0.1", self.port))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                came, _ = self._server.accept()
            except OSError:
                return
            with self._lock:
                if not self._open:
                    came.close()
                    continue
                goes = socket.create_connection(("127.0.0.1", self._to))
                self._pairs[came] = goes
            threading.Thread(target=self._pass, args=(came, goes), daemon=True).start()

    def _pass(self, came: socket.socket, goes: socket.socket) -> None:
        other = {came: goes, goes: came}
        with selectors.DefaultSelector() as ready:
            for each in other:
                ready.register(each, selectors.EVENT_READ)
            try:
                while True:
                    for key, _ in ready.select():
                        data = key.fileobj.recv(65_536)
                        if not data:
                            return
                        other[key.fileobj].sendall(data)
            except OSError:
                return  # it was cut
            finally:
                with self._lock:
                    self._pairs.pop(came, None)
                for each in other:
                    each.close()

    def cut(self) -> None:
        """End all connections, and let in no other."""
        with self._lock:
            self._open = False
            for pair in self._pairs.items():
                for each in pair:
                    each.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        with self._lock:
            self._open = True

    def close(self) -> None:
        self.cut()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture
def proxy(lab):
    found = Proxy(urlsplit(lab.url).port)
    yield found
    found.close()


@pytest.mark.timeout(1800)
def test_a_card_that_came_while_the_network_was_cut_is_there_and_takes_a_press(
    own_page, lab, proxy, pages
):
    page, name = own_page, lab.write("cut.ipynb", "%load_ext lmc_jupyter")
    through = type(lab)(f"http://127.0.0.1:{proxy.port}", lab.token, lab.root, lab.restart)
    chat = show(page, pages.visit(page, through, name))
    chat.do(SETUP)
    error = page.locator(".jp-Dialog[aria-label*=Error]").first
    close = error.get_by_role("button").last
    page.add_locator_handler(error, lambda: close.click(), no_wait_after=True)  # one by one
    for number in range(amount(1, 10)):
        chat.do(
            "gate = threading.Event()\n"
            f"choose(Held(said('A moment.'), gate, code('seen_{number} = 1', end=True)))"
        )
        chat.ask()
        expect(chat.record("message", "assistant").last).to_contain_text("A moment.")
        page.evaluate(WATCH)
        chat.do("threading.Timer(1.0, gate.set).start()")
        proxy.cut()
        page.wait_for_timeout(CUT_MS)  # the cut itself
        proxy.mend()
        mended = page.evaluate("() => performance.now()")
        chat.card.wait_for(timeout=200_000)
        times = page.evaluate("() => window.times")
        took = times["card"] - times["connected"]
        log.info(
            "the connection came %.0f ms after the network, and the card %.0f ms after that",
            times["connected"] - mended,
            took,
        )
        if LONG:
            assert took < 2_000
        press(chat.card, "Run")
        chat.state("done")
        assert chat.value(f"seen_{number}") == 1
