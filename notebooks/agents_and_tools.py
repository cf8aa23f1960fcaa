"""The checks of the notebook `10-agents-and-tools`, and `send_agent`, which it calls.

One rule: that of `exercises`: a check looks, changes nothing, and says what to do.
"""

from __future__ import annotations

import contextvars
import math
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from exercises import Answer, Checks, declined, is_refusal
from ipykernel.connect import get_connection_file
from IPython.display import display

from lmc_jupyter import Message, current_session
from lmc_jupyter.computer.tools.servers import servers

check = Checks()

HIGHEST = 3.07
"""Metres of the higher high water at Emden on 2026-06-03, as the tide server says."""
ARRIVED = re.compile(r"\w+, an agent outside this notebook, runs code here")
OPEN = "open the chat panel (the icon at the right edge, or Ctrl+Alt+L)"

# Tools come in ------------------------------------------------------------------------------------


@check.exercise("yes", "It runs now, because you have seen what would be started, and said yes.")
def _yes() -> str:
    tides = next((each for each in servers.current() if each.name == "tides"), None)
    if tides is None:
        return "The server does not run yet: write `%lmc tools yes`."
    if tides.state == "failed":
        return f"You said yes, but it did not start: {tides.why}"
    return ""


@check.exercise("call", "You called it as you call any function, and got a dictionary back.")
def _call(highest: Any = None) -> str:
    if highest is None:
        return 'Write `max(tools.tides.high_water("Emden", "2026-06-03").values())` for None.'
    if isinstance(highest, bool) or not isinstance(highest, (int, float)):
        return f"`highest` must be a number of metres, not {highest!r:.60}."
    if not math.isclose(highest, HIGHEST):
        return f"It is not {highest} m: ask for Emden on 2026-06-03, and take the higher value."
    return ""


@check.exercise(
    "data",
    "A server's words are data; code written because of them still waits for your decision.",
    words="notice",
)
def _data(answer: Answer, logbook: str = "logbook.txt") -> str:
    if not Path(logbook).exists():
        return (
            f"{logbook} is gone: you let the second block run. Run the cell that writes the file, "
            "then ask again, and press Don't run at the block that deletes it."
        )
    if declined(answer):
        return "You declined the first block too: ask again, and press Run there."
    if not any(is_refusal(message) for message in answer):
        return "You have declined nothing: ask again, and press Don't run at the second block."
    return ""


# Agents come in -----------------------------------------------------------------------------------


class Visit:
    """An agent at work outside, and below its cell what it prints, as it prints it.

    Parameters
    ----------
    command : starts it
    """

    def __init__(self, command: list[str]) -> None:
        self.text = ""
        """What it has printed so far."""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        self._shown = display({"text/plain": "The agent starts."}, raw=True, display_id=True)
        context = contextvars.copy_context()  # so that it shows below this cell
        threading.Thread(target=context.run, args=(self._read,), daemon=True).start()

    def __repr__(self) -> str:
        return self.text

    def end(self) -> None:
        """End it, wherever it is."""
        self._process.terminate()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        assert self._shown is not None
        for line in self._process.stdout:
            self.text += line
            self._shown.update({"text/plain": self.text}, raw=True)


_visits: list[Visit] = []


def send_agent() -> Visit:
    """Let the agent `pilot.py` visit this notebook; one that is there already goes."""
    while _visits:
        _visits.pop().end()
    kernel = Path(get_connection_file()).stem[:15]  # what `list_notebooks` calls it
    _visits.append(Visit([sys.executable, str(Path(__file__).with_name("pilot.py")), kernel]))
    return _visits[-1]


def _blocks(messages: list[Message]) -> list[list[Message]]:
    """What agents brought: the code of each block, with what the computer said of it."""
    found: list[list[Message]] = []
    is_agents = False
    for message in messages:
        if message.role == "computer" and ARRIVED.search(str(message.content)):
            is_agents = True
        elif message.role == "user":
            is_agents = False
        elif is_agents and message.role == "assistant" and message.type == "code":
            found.append([message])
        elif is_agents and found:
            found[-1].append(message)
    return found


@check.exercise("agent", "It worked in your notebook, and did there what you let it do.")
def _agent() -> str:
    blocks = _blocks(current_session().messages)
    useful = [each for each in blocks if "del ships" not in str(each[0].content)]
    bold = [each for each in blocks if "del ships" in str(each[0].content)]
    if not useful:
        return f"Nothing of Pilot has been answered yet: {OPEN}, and press Run."
    if all(any(map(is_refusal, each)) for each in useful):
        return "Its first block was not run: send the agent once more, and press Run there."
    if not bold:
        return f"Pilot brings a second block: {OPEN}, write a reason, and press Don't run."
    refusals = [str(each.content) for each in bold[-1] if is_refusal(each)]
    if not refusals:
        return (
            "The second block ran, or runs, and a ship is gone. Run the cell with the ships, send "
            "the agent once more, and press Don't run at its second block."
        )
    if "the user declined" in refusals[-1] or "nobody answered" in refusals[-1]:
        return (
            "Pilot was not told why: send it once more, write a reason into the box beside the "
            "buttons, and press Don't run."
        )
    return ""


@check.exercise("door", "The door is shut: it brings nothing, and reads nothing.")
def _door(agents: Any = "ask", visit: Any = None) -> str:
    if agents != "off":
        return 'The door is open: write `%config LMC.agents = "off"`, then send the agent again.'
    if not isinstance(visit, Visit):
        return "`visit` must be what send_agent() returned: run that cell once more."
    if "lets no agent in" not in visit.text:
        return "The agent has not knocked at the shut door: send it again, and wait a moment."
    return ""
