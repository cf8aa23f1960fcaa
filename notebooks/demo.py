"""The first notebook's conversation in a terminal; `make demo` runs this.

One rule: it is a front end and nothing more. The notebook's own cells run in a real kernel; this
prints what the kernel shows, as it comes, and asks the person what the kernel asks.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

from lmc_jupyter.content import terminal

NOTEBOOK = Path(__file__).with_name("01-first-conversation.ipynb")
RUN = "Run this"
"""How the view's question about code begins; any other question is the code's own `input()`."""


class Terminal:
    """Prints a kernel's messages: what was shown once is never printed again, only what is new."""

    def __init__(self) -> None:
        self.live = sys.stdout.isatty()
        self.bodies: dict[str, str] = {}
        self.heads: dict[str, str] = {}
        self.state, self.at_line_start, self.shows_display = "", True, False

    def write(self, text: str) -> None:
        if not text:
            return
        self._forget_state()
        sys.stdout.write(text)
        sys.stdout.flush()
        self.at_line_start = text.endswith("\n")

    def line(self, text: str = "") -> None:
        """Write on a line of its own."""
        self._forget_state()
        self.write(("" if self.at_line_start else "\n") + text + ("\n" if text else ""))

    def output(self, message: dict[str, Any]) -> None:
        """Print one message of the iopub channel, if there is something to see in it."""
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            if self.shows_display:
                self.line()  # the code above ends without a line's end
            self.shows_display = False
            self.write(terminal.plain(content["text"]))
        elif kind in ("display_data", "update_display_data", "execute_result"):
            self._display(content)
        elif kind == "error":
            self.line(terminal.plain("\n".join(content["traceback"])))

    def _display(self, content: dict[str, Any]) -> None:
        text = terminal.plain(str(content["data"].get("text/plain", "")))
        display_id = content.get("transient", {}).get("display_id")
        if display_id is None:
            self.line(text)
            return
        head, body = _parted(text)
        if head and not body and display_id not in self.bodies:
            self._show_state(display_id, head)
            return
        self.shows_display = True
        before = self.bodies.get(display_id)
        if before is None:
            self.line()
            self.line(f"── {head.split(',')[0]} ──" if head else "")
        elif not body.startswith(before):
            self.line()  # it was drawn anew, as an edit is
        self.write(body[len(before) :] if before and body.startswith(before) else body)
        self.bodies[display_id] = body
        status = head.partition(", ")[2]
        if status and status != self.heads.get(display_id) and _lasts(status):
            self.line(f"[{status}]")
        self.heads[display_id] = status

    def _show_state(self, display_id: str, state: str) -> None:
        """The line that says what is going on: kept at the end of a terminal, else its last."""
        is_new = state not in self.heads.values()  # it comes twice: updates may be unseen
        self.heads[display_id] = state
        if not is_new:
            return
        if self.live and self.at_line_start:
            self._forget_state()
            sys.stdout.write(f"\x1b[2m{state}\x1b[0m")
            sys.stdout.flush()
            self.state = state
        elif state.startswith(("Done", "Stopped", "Failed")):
            self.line(f"[{state}]")

    def _forget_state(self) -> None:
        if self.state:
            sys.stdout.write("\r\x1b[K")
            self.state = ""


def _parted(text: str) -> tuple[str, str]:
    """(what is in the brackets of the first line, the rest); ("", text) without brackets."""
    first, _, rest = text.partition("\n")
    return (first[1:-1], rest) if first.startswith("[") and first.endswith("]") else ("", text)


def _lasts(status: str) -> bool:
    return not status.endswith("…") and status != "waits for your decision"


def cells() -> Iterator[tuple[str, str]]:
    """The notebook's cells: (its type, its text)."""
    for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]:
        yield cell["cell_type"], "".join(cell["source"])


def answer(question: str, *, yes: bool) -> str:
    """What the person says; the end of the input is a no."""
    sys.stdout.flush()
    if yes and question.startswith(RUN):
        sys.stdout.write(f"{question}y\n")
        return "y"
    try:
        return input(question)
    except EOFError:
        return "n"


def main() -> int:
    """0 when every question has got an answer."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--yes", action="store_true", help="let all code run")
    yes = options.parse_args().yes
    can_ask = yes or sys.stdin.isatty()
    if not can_ask:
        sys.stdout.write("Nobody can be asked here, so no code runs: `make demo YES=1` says yes.\n")
    terminal, failed = Terminal(), False
    manager = KernelManager(kernel_name="python3")
    folder = tempfile.TemporaryDirectory(prefix="lmc-")
    if os.name == "posix":  # sockets in a folder of our own instead of open ports
        manager.transport, manager.ip = "ipc", str(Path(folder.name, "kernel"))
    manager.start_kernel(cwd=str(NOTEBOOK.parent))
    client = manager.blocking_client()
    client.start_channels()

    def ask(message: dict[str, Any]) -> None:
        terminal.line()
        client.input(answer(message["content"]["prompt"], yes=yes))

    try:
        client.wait_for_ready(timeout=60)
        for kind, source in cells():
            if kind == "markdown":
                for heading in re.findall("^#+ .*", source, re.M):
                    terminal.line(f"\n{heading}")
                continue
            terminal.line("\n" + "\n".join(f">>> {each}" for each in source.split("\n")))
            reply = client.execute_interactive(
                source,
                allow_stdin=can_ask,
                stop_on_error=False,
                output_hook=terminal.output,
                stdin_hook=ask,
            )
            terminal.line()
            failed |= reply["content"]["status"] != "ok" and source.startswith("%")
    except KeyboardInterrupt:
        terminal.line("Stopped.")
        manager.shutdown_kernel(now=True)
        return 130
    finally:
        client.stop_channels()
        if manager.has_kernel:
            manager.shutdown_kernel()
        folder.cleanup()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
