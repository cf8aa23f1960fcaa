"""The states of an answer, in a cell, in a terminal and in the panel.

One rule: what a state is called, and whether it ends an answer, stands here alone; the front end
gets this table with its snapshot.
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
