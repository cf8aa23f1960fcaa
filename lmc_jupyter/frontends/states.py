"""The states of an answer, in a cell, in a terminal and in the panel.

One rule: what a state is called, and whether it ends an answer, stands here alone; the front end
gets this table with its snapshot. So does how a person reads the time that one took.
"""

from __future__ import annotations

from typing import TypedDict


class State(TypedDict):
    """A state: what a person reads, and whether no answer is being given in it."""

    label: str
    over: bool


STATES: dict[str, State] = {
    "idle": {"label": "Ready", "over": True},
    "thinking": {"label": "Thinking…", "over": False},
    "writing": {"label": "Writing…", "over": False},
    "waiting": {"label": "Waiting for your decision", "over": False},
    "running": {"label": "Running…", "over": False},
    "done": {"label": "Done", "over": True},
    "stopped": {"label": "Stopped", "over": True},
    "failed": {"label": "Failed", "over": True},
}


def is_over(state: str) -> bool:
    """Whether no answer is being given in this state."""
    return STATES[state]["over"]


SHORTEST_SPAN = 0.05
"""Seconds from which on a block says how long it ran: "0.0 s" tells nobody anything."""


def span(seconds: float) -> str:
    """Seconds for a person: `3.2 s`, `48 s`, `2 min 05 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{int(seconds)} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
