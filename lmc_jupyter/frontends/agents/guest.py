"""One block of code of an agent, as it waits for its turn, for the person, and runs.

One rule: it hears what becomes of its block, and decides nothing about it but that it is withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable

from lmc_jupyter.content.hidden import count_hidden
from lmc_jupyter.conversation import events
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.gate import Proposal
from lmc_jupyter.lmc import Message
from lmc_jupyter.turn.one_block import reason_to_ask

WAITS_FOR_TURN, WAITS_FOR_PERSON = "waits for its turn", "waits for the person"
BEGINS, RUNS, OVER = "begins", "runs", "is over"
"""The states of a block, as its agent reads them."""


class AgentBlock:
    """A block of code of an agent, a `Guest` of the panel.

    Parameters
    ----------
    history : of the session that it is offered in
    by : the agent's name
    is_covered : whether the person lets all code of this agent run now
    allow_all : is called when they say so
    waits : is called with True when the person begins to be asked, and with False at the end of it
    changed : is called when its state is another one
    """

    def __init__(
        self,
        history: History,
        by: str,
        is_covered: Callable[[], bool],
        allow_all: Callable[[], None],
        waits: Callable[[bool], None],
        changed: Callable[[], None],
    ) -> None:
        self.is_over = False
        """Whether nobody offers it any more."""
        self.state = WAITS_FOR_TURN
        self.fate: events.Fate | None = None
        self.names: Names | None = None
        self.error: BaseException | None = None
        """What ended its turn too early."""
        self.messages: list[Message] = []
        """The code and its output, once it is over."""
        self.is_free = False
        """Whether it runs, or has run, because the person lets all code of this agent run."""
        self._allow_all = allow_all
        self._history, self._all, self._waits = history, is_covered, waits
        self._changed = changed
        self._reason = reason_to_ask(by)
        self._turn: events.TurnLike | None = None

    @property
    def runs(self) -> bool:
        """Whether its code runs now."""
        return self.state == RUNS

    def is_covered(self, proposal: Proposal) -> bool:
        """Whether "run all" covers this code: not where a person must see something in it."""
        is_plain = proposal.reason in ("", self._reason) and not count_hidden(proposal.code)
        self.is_free = self._all() and proposal.verdict == "ask" and is_plain
        return self.is_free

    def allow_all(self) -> None:
        """The person lets it run, and all code of this agent that comes next."""
        self.is_free = True
        self._allow_all()

    def wait(self, waits: bool) -> None:
        """The person is asked, or no longer."""
        self._enter(WAITS_FOR_PERSON if waits else BEGINS)
        self._waits(waits)

    def hear(self, event: events.Event) -> None:
        """What becomes of it; it hears nothing before it is offered."""
        match event:
            case events.Began(turn) if turn.where == "agent":
                self._turn = turn
            case _ if self._turn is None:
                return
            case events.Became("running"):
                self._enter(RUNS)
            case events.Became(fate):
                self.fate = fate
                self._enter(OVER)
            case events.NamesChanged(names):
                self.names = names
            case events.Ended(turn, error) if turn is self._turn:
                start = self._history.place(turn.anchor or "")
                self.messages = [] if start is None else self._history[start + 1 :]
                self.error = error
                self._enter(OVER)

    def _enter(self, state: str) -> None:
        self.state = state
        self._changed()
