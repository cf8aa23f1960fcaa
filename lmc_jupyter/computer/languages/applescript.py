"""AppleScript: each block is handed to macOS' `osascript`.

One rule: it runs where `osascript` is found, and elsewhere says why it cannot. Its state is that
of the programs that it tells what to do.
"""

from __future__ import annotations

import shutil

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.languages.oneshot import OneShot
from lmc_jupyter.lmc import LANGUAGES


class AppleScript(OneShot):
    """Runs a block by `osascript`, which prints its last value."""

    def __init__(self) -> None:
        super().__init__("applescript", ["osascript", "-"], aliases=LANGUAGES["applescript"])

    def availability(self) -> Availability:
        """Whether `osascript` is on the PATH."""
        if shutil.which("osascript") is None:
            return Availability(
                "osascript",
                "AppleScript runs on macOS only: there is no osascript on the PATH here; "
                "use another language",
            )
        return Availability("osascript, each block a script of its own")
