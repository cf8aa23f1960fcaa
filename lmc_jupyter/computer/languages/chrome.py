"""A picture of a page, by the Chrome, Chromium or Edge of this machine, started once for it.

One rule: the page can reach nothing. It is in two nested frames without network, names resolve to
nothing, any other request goes to a proxy that is not there, and the profile is a new folder that
is removed with the process. Chrome's own sandbox stays on, but for root in a container: as root
Chrome does not start with it, and the container is the sandbox then.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from lmc_jupyter.computer.process import reaper, sessions
from lmc_jupyter.computer.screen import Page
from lmc_jupyter.content import images
from lmc_jupyter.content.images import ImageError
from lmc_jupyter.content.nested import nested_document

TIMEOUT_SECONDS = 20.0
SETTLE_MS = 1_500
"""Milliseconds of the page's own clock before the picture."""
WIDTH, HEIGHT = 960, 540
"""Pixels, where no front end has said how large the page is."""
LEAST_WINDOW = 300
"""Pixels of the height of Chrome's window: in a lower one it hangs at times, before the picture.
(Measured with 156: at 72 pixels in 19 of 660 starts, at 300 and more in none of 760.)"""

_NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "microsoft-edge-stable", "msedge"),
)
_PLACES = {
    "darwin": (
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    ),
    "win32": (
        r"C:\Program Files\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
    ),
}
_FLAGS = (
    *("--headless", "--no-first-run", "--no-default-browser-check", "--disable-gpu"),
    *("--hide-scrollbars", "--mute-audio", "--disable-extensions", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--no-pings"),
    "--disable-features=IsolateSandboxedIframes",  # else the frame has a clock of its own,
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=http://127.0.0.1:9"),
    *(
        "--proxy-bypass-list=<-loopback>",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    ),
)


def browser() -> str | None:
    """The path of a Chrome, Chromium or Edge; None when there is none."""
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    return next((place for place in _PLACES.get(sys.platform, ()) if Path(place).is_file()), None)


class Snapshot:
    """One picture of a page.

    Parameters
    ----------
    code, language : of the page; "html" or "javascript"
    page : the report of the person's browser, with its size; None without one
    """

    def __init__(self, code: str, language: str, page: Page | None) -> None:
        self._code, self._language = code, language
        self._width = _within(page.width if page else 0, 320, 1_600) or WIDTH
        self._height = _within(page.height if page else 0, 40, 2_400) or HEIGHT
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False
        self._lock = threading.Lock()

    def take(self) -> str:
        """The picture as base64 of a PNG.

        Raises
        ------
        NoPicture
            With the reason, a sentence without a full stop.
        """
        program = browser()
        if program is None:
            raise NoPicture("no Chrome, Chromium or Edge is installed")
        with tempfile.TemporaryDirectory(prefix="lmc-chrome-", ignore_cleanup_errors=True) as name:
            return self._take(program, Path(name))

    def stop(self) -> None:
        """End `take` now, from any thread."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                sessions.end(self._process.pid)

    def _take(self, program: str, folder: Path) -> str:
        page, picture = folder / "page.html", folder / "page.png"
        page.write_text(
            nested_document(self._code, self._language), encoding="utf-8", errors="replace"
        )
        command = [
            *(program, *_FLAGS, *_sandbox()),
            *(f"--user-data-dir={folder / 'profile'}", f"--virtual-time-budget={SETTLE_MS}"),
            f"--window-size={self._width},{max(self._height, LEAST_WINDOW)}",
            *(f"--screenshot={picture}", page.as_uri()),
        ]
        with self._lock:
            if self._is_stopped:
                raise NoPicture("it was stopped")
            try:
                process = self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=folder,
                    env={**os.environ, "TMPDIR": str(folder)},
                    start_new_session=True,
                )
            except OSError as error:
                raise NoPicture(f"{program} does not start: {error}") from error
        reaper.watch(process.pid)
        try:
            process.wait(TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise NoPicture(f"the page was not ready within {TIMEOUT_SECONDS:.0f} s") from None
        finally:
            with self._lock:
                sessions.end(process.pid)  # its children may outlive it
            process.wait()
            reaper.forget(process.pid)
        if self._is_stopped:
            raise NoPicture("it was stopped")
        if not picture.is_file():
            raise NoPicture(f"{Path(program).name} ended with {process.returncode} and made none")
        try:
            png = images.top_of(picture.read_bytes(), self._height, "the picture")
        except ImageError as error:
            raise NoPicture(str(error)) from None
        return base64.b64encode(png).decode("ascii")


class NoPicture(Exception):  # noqa: N818 - its text is shown; it never reaches a caller
    """There is no picture; the text says why."""


def _within(value: int, least: int, most: int) -> int:
    """The value, limited to this range; 0 stays 0."""
    return min(most, max(least, value)) if value > 0 else 0


def _sandbox() -> tuple[str, ...]:
    """The flags that Chrome needs to start here; none where its sandbox works."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return ()
    if not in_container():
        raise NoPicture(
            "as root, Chrome starts only without its sandbox, and this is not a container"
        )
    return ("--no-sandbox",)


def in_container() -> bool:
    """Whether this is a container, as far as Docker, Podman, systemd and Kubernetes tell."""
    return (
        Path("/.dockerenv").exists()
        or Path("/run/.containerenv").exists()
        or bool(os.environ.get("container"))  # noqa: SIM112 - systemd's and Podman's own name
        or bool(os.environ.get("KUBERNETES_SERVICE_HOST"))
    )
