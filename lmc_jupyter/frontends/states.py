"""The words for what is going on, in a cell, in a terminal and in the panel.

One rule: a state is named here alone; the front end gets this table with its snapshot.
"""

from __future__ import annotations

STATES = {
    "idle": "Ready",
    "thinking": "Thinking…",
    "writing": "Writing…",
    "waiting": "Waiting for you",
    "running": "Running…",
    "done": "Done",
    "stopped": "Stopped",
    "failed": "Failed",
}
