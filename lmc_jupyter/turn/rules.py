"""What a person lets a session do: its options, and the limits that its conversation sets.

One rule: a value that is wrong is an error before anything has changed. What the code of a model
may do is never changed while such code runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lmc_jupyter.conversation.events import Configured
from lmc_jupyter.conversation.history import History
from lmc_jupyter.gate import Gate
from lmc_jupyter.limits import Limits, Policy
from lmc_jupyter.models.spending import Spending, is_limit
from lmc_jupyter.turn.options import Options


class Rules:
    """The options of one session, and the limits on its code beside the policy.

    Parameters
    ----------
    options, limits : the person's own, to begin with
    """

    def __init__(
        self, history: History, gate: Gate, spending: Spending, options: Options, limits: Limits
    ) -> None:
        self._history, self.gate, self._spending = history, gate, spending
        self._own_limits = self._limits = limits
        self._apply(options)

    def configure(self, changes: Mapping[str, Any]) -> None:
        """Change some of the options; all of them are changed, or none.

        Raises
        ------
        SessionError
            For a name that is no option.
        GateError
            For a language that is written as another one's name, and while code of a model runs.
        CostError
            For a limit that is no amount of money.
        """
        self._apply(self.options.with_changes(changes))
        self._history.tell(Configured())

    def _apply(self, options: Options) -> None:
        policy = self._policy(options)
        costs = options.max_cost, options.max_session_cost, options.max_day_cost
        turn, session, day = map(is_limit, costs)
        self.gate.policy = policy
        self._spending.turn, self._spending.session, self._spending.day = turn, session, day
        self.options = replace(options, max_cost=turn, max_session_cost=session, max_day_cost=day)
        """The current options; `configure` changes them."""

    @property
    def limits(self) -> Limits:
        """The person's own, and those of the file that the conversation came from, whichever is
        stricter. Assigning takes the file's away; None is no limit.
        """
        return self._limits

    @limits.setter
    def limits(self, value: Limits | None) -> None:
        self.gate.guard.check_change("the limits of a conversation")
        self._own_limits = self._limits = value or Limits()
        self.gate.policy = self._policy(self.options)
        self._history.tell(Configured())

    def add(self, limits: Limits) -> None:
        """Apply these limits, of another conversation, beside the person's own."""
        self._limits = self._own_limits.stricter(limits)
        self.gate.policy = self._policy(self.options)

    @property
    def runs_unasked(self) -> bool:
        """Whether any code runs unasked now: `limits` may be stricter than `auto_run`."""
        return self.gate.policy.runs_unasked and self._limits.run

    @property
    def asks(self) -> str:
        """When the person is asked now, one of `ASK`."""
        if self.runs_unasked:
            return "never"
        return "changes" if self.gate.policy.asks_for_changes and self._limits.run else "always"

    def _policy(self, options: Options) -> Policy:
        if self._limits.ask_always:
            return Policy.of(False, options.deny)
        run = True if options.ask == "never" else options.auto_run
        return Policy.of(run, options.deny, changes=options.ask == "changes")
