"""What requests cost, and the limits on it.

One rule: a limit is checked before a request goes out, with the most that the request can cost.
An unknown cost never counts as nothing: where a limit is set and a price is not known, the request
is not made.

The day's sum is kept in a file to which all kernels of this person add what a request did cost,
when it has ended. Of two kernels that ask at the same moment neither sees the other's request.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from lmc_jupyter.errors import ModelError
from lmc_jupyter.models.brief import name_of
from lmc_jupyter.models.request import Request

MAX_FILE = 100_000_000
"""Bytes of a day's file that are read: half a million requests."""

_NEEDS_LOCK = os.name != "posix"


class CostError(ModelError):
    """A request that would break a limit, or whose cost cannot be known; it was not made."""


class Ledger:
    """What was spent today, by every kernel of this person.

    Parameters
    ----------
    folder : of the files, one a day; default: in the person's data directory
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._unsaved: tuple[str, float] = "", 0.0  # the day's file, and what it did not take
        self.bad_lines = 0
        """Lines of today's file that cannot be read."""
        self.problem = ""
        """Why the file cannot be read or written; "" where it can."""

    @property
    def folder(self) -> Path:
        return self._folder or platformdirs.user_data_path("lmc-jupyter") / "spent"

    @property
    def path(self) -> Path:
        """Today's file."""
        return self.folder / f"{date.today().isoformat()}.jsonl"

    def today(self) -> float:
        """US dollars of today's requests, of all kernels."""
        total, self.bad_lines = self._unsaved_today(), 0
        try:
            with self.path.open("rb") as file:
                lines = file.read(MAX_FILE).split(b"\n")[:-1]
        except FileNotFoundError:
            lines = []
        except OSError as error:
            self.problem, lines = f"{self.path} cannot be read ({error.strerror or error})", []
        for line in filter(bytes.strip, lines):
            cost = _read(line)
            if cost is None:
                self.bad_lines += 1
            else:
                total += cost
        return total

    def add(self, cost: float, model: str) -> None:
        """Add what a request did cost; what cannot be written counts in this kernel."""
        line = json.dumps({"cost": cost, "model": model}, ensure_ascii=True).encode() + b"\n"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
            descriptor = os.open(self.path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
            try:
                with self._alone():
                    count = os.write(descriptor, line)  # whole lines: others add to it too
                    if count < len(line):
                        os.write(descriptor, b"\n")  # so that the next line is whole
                        raise OSError(28, "only a part of the line was written")
            finally:
                os.close(descriptor)
        except OSError as error:
            self._unsaved = self.path.name, self._unsaved_today() + cost
            self.problem = f"{self.path} cannot be written ({error.strerror or error})"
        else:
            self.problem = ""

    def _unsaved_today(self) -> float:
        day, cost = self._unsaved
        return cost if day == self.path.name else 0.0

    def _alone(self) -> AbstractContextManager[Any]:
        """A lock where an append is not atomic: on Windows."""
        if not _NEEDS_LOCK:
            return nullcontext()
        from filelock import FileLock

        return FileLock(f"{self.path}.lock", timeout=5)

    def remarks(self) -> str:
        """Sentences on what is wrong with the day's sum, or ""."""
        sentences = []
        if self.problem:
            sentences.append(f"The day's sum counts this kernel only: {self.problem}.")
        if self.bad_lines:
            lines = "line" if self.bad_lines == 1 else "lines"
            sentences.append(f"{self.bad_lines:,} damaged {lines} of {self.path} are not counted.")
        return " ".join(sentences)


def _read(line: bytes) -> float | None:
    """The cost of a line; None for a damaged one."""
    try:
        cost = json.loads(line)["cost"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    is_cost = isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < 1e9
    return float(cost) if is_cost else None


class _Limit(NamedTuple):
    """A limit, and its names in a sentence."""

    name: str
    most: float
    of: str
    where: str


class Spending:
    """What a session spends, and its limits, all in US dollars; None: no limit.

    Parameters
    ----------
    turn, session, day : the most for one question, one conversation, and one day of all sessions
    ledger : the file of the day's sum

    Raises
    ------
    CostError
        For what is no amount of money.
    """

    def __init__(
        self,
        turn: float | None = None,
        session: float | None = None,
        day: float | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.turn, self.session, self.day = is_limit(turn), is_limit(session), is_limit(day)
        self.ledger = ledger or Ledger()
        self.cost: float | None = None
        """US dollars of this conversation so far, as far as known; None where nothing is known."""
        self.unknown_costs = 0
        """Requests of this conversation without a known cost."""
        self.notify: Callable[[str], None] = lambda _: None
        self._pending: dict[object, float] = {}
        self._of_turn: dict[object, float] = {}
        self._remarks = ""

    def _limits(self) -> list[_Limit]:
        return [
            _Limit(name, most, of, where)
            for name, most, of, where in (
                ("max_cost", self.turn, "one question", "this question"),
                ("max_session_cost", self.session, "this conversation", "this conversation"),
                ("max_day_cost", self.day, "a day", "today"),
            )
            if most is not None
        ]

    def __str__(self) -> str:
        """Sentences for the person: what was spent, and the limits."""
        if self.cost is None and not self.unknown_costs:
            lines = ["This conversation has cost nothing yet."]
        elif self.cost is None:
            lines = ["What this conversation has cost is not known: its model has no known price."]
        else:
            lines = [f"This conversation has cost {dollars(self.cost)}."]
        if self.cost is not None and self.unknown_costs:
            requests = "request is" if self.unknown_costs == 1 else "requests are"
            lines.append(f"{self.unknown_costs:,} {requests} not counted: their cost is not known.")
        today = self.ledger.today()
        if today:
            lines.append(f"Today, all sessions together: {dollars(today)}.")
        lines += [
            f"The limit for {each.of} is {dollars(each.most)} ({each.name})."
            for each in self._limits()
        ]
        return "\n".join([*lines, *filter(None, [self.ledger.remarks()])])

    def begin_turn(self) -> None:
        """The next question: its costs are counted from 0."""
        self._of_turn = {}

    def begin_conversation(self, cost: float | None = None, unknown_costs: int = 0) -> None:
        """Another conversation, which has cost so many US dollars before."""
        self.cost, self.unknown_costs = cost, unknown_costs
        self._pending, self._of_turn = {}, {}

    def check_model(self, model: object) -> None:
        """Check that a model which does not report its requests may be asked.

        Raises
        ------
        CostError
            When there is a limit: its costs cannot be counted.
        """
        if self._limits() and getattr(model, "free", False) is not True:
            name = name_of(model)
            raise CostError(
                f"what {name} costs cannot be counted, and {self._names()} is set: nothing was "
                "sent. Give it the attribute `free = True` if it costs nothing, or remove the "
                "limit"
            )

    def record(self, request: Request) -> None:
        """Count a request that is about to go out.

        Raises
        ------
        CostError
            When it might break a limit; it must not be sent.
        """
        if request.free:
            request.on_end = self._over_free
            return
        most = request.most()
        if self._limits():
            self._check(request, most)
        key = object()
        if most is not None:
            self._pending[key] = self._of_turn[key] = most

        def over(request: Request) -> None:
            self._over(request, key, most)

        request.on_end = over

    def _over_free(self, request: Request) -> None:
        request.cost = 0.0
        self.cost = self.cost or 0.0

    def _over(self, request: Request, key: object, most: float | None) -> None:
        self._pending.pop(key, None)
        cost = request.cost
        if cost is None:
            cost = request.cost_so_far() if most is not None else None
            if cost is None:
                cost = most
            if cost != 0:
                self.unknown_costs += 1
        else:
            self.cost = (self.cost or 0.0) + cost
        if cost is not None:
            self._of_turn[key] = cost
            if cost:
                self.ledger.add(cost, request.model)

    def _names(self) -> str:
        return " and ".join(each.name for each in self._limits())

    def _check(self, request: Request, most: float | None) -> None:
        if most is None:
            raise CostError(
                f"the price of {request.model} is not known, so {self._names()} cannot be "
                "checked: nothing was sent. Give its price with the options input_cost_per_token "
                "and output_cost_per_token (US dollars), or free=True if it costs nothing, or "
                "remove the limit"
            )
        for limit in self._limits() if most else ():
            total = self._total(limit)
            if total + most > limit.most:
                raise CostError(
                    f"the next request to {request.model} may cost up to {dollars(most)}, and "
                    f"{dollars(total)} of the {dollars(limit.most)} for {limit.where} "
                    f"({limit.name}) are spent: nothing was sent. Raise {limit.name}, set a "
                    "smaller max_tokens, or choose a cheaper model with %lmc model NAME"
                )

    def _total(self, limit: _Limit) -> float:
        """US dollars that count against this limit, without the next request."""
        if limit.name == "max_cost":
            return sum(self._of_turn.values())
        if limit.name == "max_session_cost":
            return (self.cost or 0.0) + sum(self._pending.values())
        total = self.ledger.today() + sum(self._pending.values())
        self._remark()
        return total

    def _remark(self) -> None:
        remarks = self.ledger.remarks()
        if remarks and remarks != self._remarks:
            self.notify(remarks)
        self._remarks = remarks


def dollars(amount: float) -> str:
    """An amount as a person reads it: "$0.0123", "$12.50"; "$0.000021", which is not nothing."""
    if amount >= 1 or amount <= 0:
        return f"${amount:,.2f}"
    digits = 4 if amount >= 0.0001 else min(12, 1 - math.floor(math.log10(amount)))
    return f"${amount:.{digits}f}"


def is_limit(value: Any) -> float | None:
    """The value as a limit in US dollars; None for none, and for infinity.

    Raises
    ------
    CostError
        For what is no amount of money.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise CostError(
            f"a limit of {value!r} is not an amount: give US dollars, such as max_cost=0.50"
        )
    return None if value == math.inf else float(value)
