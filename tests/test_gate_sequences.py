"""Random sequences of everything that can be done with a gate: code runs by one fresh grant for
these very bytes, and by nothing else. The control is the same harness with a gate that does not
look.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Generator

from sampling import SEED, amount

from lmc_jupyter import Chunk
from lmc_jupyter.errors import LMCError
from lmc_jupyter.gate import GRANT_SECONDS, Gate, Grant, Proposal
from lmc_jupyter.limits import Policy

SEQUENCES, STEPS = amount(300, 20_000), 30
CODES = ["1+1", "print('a')", "x = 1\r\ny = 2", "import os", "a\u202eb = 1", "!ls", ""]


class Unchecked(Gate):
    """A gate with its defence switched off: whatever is handed in runs."""

    def _check(self, grant: Grant) -> Proposal:
        latest = self.pending or self._last
        return next((p for g, p in self._grants.values() if g == grant), latest)

    def run(self, grant, computer):
        proposal = self._check(grant)
        return computer.run(proposal.language, proposal.code)

    def propose(self, *args, **more):
        self._last = super().propose(*args, **more)
        return self._last


class Counting:
    """Notes what it is given."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str]] = []

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        self.ran.append((language, code))
        yield Chunk("computer", "console", "output", "ok")


class Sequence:
    """One gate, a second one of somebody else, and what a correct gate would let run."""

    def __init__(self, make: type[Gate], seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.gate, self.other = make(clock=lambda: self.now), Gate(clock=lambda: self.now)
        self.computer = Counting()
        self.waiting: Proposal | None = None
        self.proposals: list[Proposal] = []
        self.grants: list[Grant] = []
        self.good: dict[str, tuple[str, str, float, Policy]] = {}
        """Unused grants: language, code, their end, and the policy that they were made under."""
        self.tried = self.wrong = 0

    def step(self) -> None:
        act = self.random.choice(
            [self.propose, self.propose, self.yes, self.yes, self.edit, self.run, self.run,
             self.run, self.replay, self.forge, self.foreign, self.withdraw, self.later,
             self.change_policy, self.old_yes]
        )  # fmt: skip
        act()

    def propose(self) -> None:
        code = self.random.choice(CODES)
        self.waiting = self.gate.propose(len(self.proposals), 0, "python", code)
        self.proposals.append(self.waiting)
        self.good.clear()

    def _grant(self, proposal: Proposal, code: str | None) -> None:
        try:
            grant = self.gate.grant(proposal, code)
        except LMCError:
            return
        self.grants.append(grant)
        if proposal is self.waiting:
            final = proposal.code if code is None else code.replace("\r\n", "\n")
            self.good[grant.id] = "python", final, self.now + GRANT_SECONDS, self.gate.policy
            self.waiting = None

    def yes(self) -> None:
        if self.proposals:
            self._grant(self.proposals[-1], None)

    def old_yes(self) -> None:
        if self.proposals:
            self._grant(self.random.choice(self.proposals), None)

    def edit(self) -> None:
        if self.proposals:
            self._grant(self.proposals[-1], self.random.choice(CODES))

    def _run(self, grant: Grant) -> None:
        before = len(self.computer.ran)
        self.tried += 1
        allowed = self.good.pop(grant.id, None)
        if allowed is not None and (
            self.now > allowed[2] or self.gate.policy != allowed[3] or grant not in self.grants
        ):
            self.good[grant.id] = allowed  # a forgery does not use it up
            allowed = None
        try:
            for _ in self.gate.run(grant, self.computer):
                pass
        except LMCError:
            pass
        ran = self.computer.ran[before:]
        self.wrong += ran != ([allowed[:2]] if allowed else [])

    def run(self) -> None:
        if self.grants:
            self._run(self.grants[-1])

    def replay(self) -> None:
        if self.grants:
            self._run(self.random.choice(self.grants))

    def forge(self) -> None:
        if self.grants:
            what = self.random.choice(["id", "digest"])
            value = self.random.choice([each.digest for each in self.proposals])
            self._run(dataclasses.replace(self.grants[-1], **{what: value[::-1]}))
        elif self.proposals:
            self._run(Grant(self.proposals[-1].id, self.proposals[-1].digest, 1e12))

    def foreign(self) -> None:
        code = self.random.choice(CODES)
        theirs = self.other.grant(self.other.propose(0, 0, "python", code))
        if self.proposals:
            self._run(theirs)

    def withdraw(self) -> None:
        self.gate.withdraw()
        self.waiting = None
        self.good.clear()

    def later(self) -> None:
        self.now += self.random.choice([0.001, 1.0, GRANT_SECONDS, GRANT_SECONDS + 1])

    def change_policy(self) -> None:
        self.gate.policy = Policy(deny=frozenset(self.random.choice([["r"], ["node"], []])))


def tried(make: type[Gate], count: int) -> tuple[int, int, int]:
    """Attempts to run, runs, and runs that no fresh grant allowed (or that one did not get)."""
    attempts = runs = wrong = 0
    for seed in range(count):
        sequence = Sequence(make, SEED * 1_000_003 + seed)
        for _ in range(STEPS):
            sequence.step()
        attempts += sequence.tried
        runs += len(sequence.computer.ran)
        wrong += sequence.wrong
    return attempts, runs, wrong


def test_no_sequence_runs_code_without_one_fresh_grant_for_it(record_property):
    attempts, runs, wrong = tried(Gate, SEQUENCES)
    assert wrong == 0
    assert runs > SEQUENCES / 2, "those that are good do run"
    record_property(
        "figure",
        f"{SEQUENCES:,} sequences, {attempts:,} attempts, {runs:,} runs: {wrong} without a grant",
    )


def test_control_a_gate_that_does_not_look_runs_them(record_property):
    attempts, _, wrong = tried(Unchecked, 300)
    assert wrong > attempts / 4
    record_property("figure", f"{wrong:,} of {attempts:,} attempts run without a grant")
