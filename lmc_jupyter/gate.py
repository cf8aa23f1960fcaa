"""The approval gate: nothing runs without a grant for these very bytes.

One rule: code reaches a computer only through `Gate.run`, with a `Grant` that this gate made,
that is used once, is fresh, and is bound to the exact code. Policy is deny before ask before
allow; what policy cannot judge is asked.

The gate is a review step, not a sandbox: code that a person let run has that person's rights.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from lmc_jupyter.content.hidden import count_hidden
from lmc_jupyter.errors import GateError, LMCError
from lmc_jupyter.limits import Policy, Verdict
from lmc_jupyter.lmc import Chunk, canonical

Uses = Callable[[str, str], Collection[str]]
"""(language, code) -> every language that the code really runs; `!ls` in python uses shell."""

GRANT_SECONDS = 60.0
"""How long a grant lives between the decision and the run."""


class Runner(Protocol):
    """Whatever runs code: it yields console pieces, images, HTML as they come."""

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]: ...


@dataclass(frozen=True)
class Proposal:
    """Code that waits for a decision: the very bytes that would run."""

    id: str
    turn: int
    block: int
    language: str
    code: str
    digest: str
    verdict: Verdict
    reason: str = ""
    edited: bool = False
    uses: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Decision:
    """The answer to a confirmation: run it, run this edit of it, or don't, and why."""

    run: bool
    code: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Grant:
    """The right to run one proposal once. Only a gate can make one that its gate will take."""

    id: str
    digest: str
    expires: float = field(repr=False)


class Gate:
    """Stores the proposal, makes grants, and is the only way to a run.

    Parameters
    ----------
    policy : Policy
        Default: ask for everything.
    uses : callable, optional
        Tells which languages a piece of code runs; code that cannot be run at all raises
        `LMCError` and is denied, after any other failure it is asked for. Default: the
        language itself.
    clock : callable, optional
        Seconds, monotonic.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        uses: Uses | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._running = 0
        self._policy = policy or Policy()
        self.session = secrets.token_hex(16)
        self.pending: Proposal | None = None
        """What waits for a decision now; a view draws its question from this."""
        self.ran: Proposal | None = None
        """The last proposal that ran; a view learns from it whether a yes counted."""
        self._uses = uses or (lambda language, _: (language,))
        self._clock = clock
        self._lock = threading.RLock()  # an interrupt may leave it locked: its thread goes on
        self._grants: dict[str, tuple[Grant, Proposal]] = {}

    @property
    def policy(self) -> Policy:
        """What may run unasked, and what never; it counts from the next proposal on.

        Raises
        ------
        GateError
            When it is set while code runs that this gate let run: no code lifts its own limits.
        """
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        if self._running:
            raise GateError(
                "code that a model wrote cannot change what may run: change it in a cell of your "
                "own"
            )
        self._policy = policy

    def propose(
        self, turn: int, block: int, language: str, code: str, *, asks: str = ""
    ) -> Proposal:
        """Take code in; nothing runs yet. Windows line ends become plain ones.

        Parameters
        ----------
        asks : why it is asked for even where policy lets it run; "" for no such reason
        """
        proposal = self._proposal(turn, block, language, code, asks)
        with self._lock:
            self._grants.clear()  # grants from before belong to an earlier question
            self.pending = proposal
        return proposal

    def grant(self, proposal: Proposal, code: str | None = None) -> Grant:
        """Say yes to what is pending, or to the person's own edit of it.

        Raises
        ------
        GateError
            When something else is pending by now, or policy denies the code or the edit.
        """
        if code is not None and _plain(code) != proposal.code:
            final = self._proposal(
                proposal.turn, proposal.block, proposal.language, code, edited=True
            )
        else:
            final = proposal
        with self._lock:
            if self.pending is not proposal:
                raise GateError("this code no longer waits for an answer: ask again")
            self._check_policy(proposal)
            if final.verdict == "deny":
                raise GateError(final.reason)
            grant = Grant(secrets.token_hex(16), final.digest, self._clock() + GRANT_SECONDS)
            self._grants[grant.id] = grant, final
            self.pending = None
        return grant

    def proposal_of(self, grant: Grant) -> Proposal:
        """The proposal that this grant lets run; reading it does not use the grant up.

        Raises
        ------
        GateError
            When this gate did not make the grant, or it is used, withdrawn or expired.
        """
        with self._lock:
            return self._check(grant)

    def run(self, grant: Grant, computer: Runner) -> Generator[Chunk, None, None]:
        """Use the grant up and run exactly the code that it was made for.

        Raises
        ------
        GateError
            As `proposal_of`. Nothing has run then.
        """
        with self._lock:
            proposal = self._check(grant)
            del self._grants[grant.id]
            self.ran = proposal
        run = getattr(computer, "granted", computer.run)  # a computer of somebody's own has none
        return self._count_running(run(proposal.language, proposal.code))

    def _count_running(self, pieces: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        self._running += 1
        try:
            yield from pieces
        finally:
            self._running -= 1

    def check_run(self, language: str, code: str) -> None:
        """As `check`, for code that is run past this gate."""
        if self._running:
            self.check({canonical(language), *self._uses(language, code)})

    def check_change(self, what: str) -> None:
        """Allow a change of settings, unless code that this gate let run makes it.

        Raises
        ------
        GateError
            When such code is at work.
        """
        if self._running:
            raise GateError(
                f"{what}: code that a model wrote cannot do that, do it in a cell of your own"
            )

    def check(self, uses: Collection[str]) -> None:
        """Let code that runs use these languages too, as far as policy lets it.

        What a person does in a cell of their own is not asked for.

        Raises
        ------
        GateError
            When code that this gate let run is at work, and policy denies one of them, or would
            have asked about it before the run.
        """
        if not self._running or self.ran is None:
            return
        verdict, reason = self.policy.verdict(uses)
        if verdict == "deny":
            raise GateError(reason)
        if verdict == "ask" and self.ran.verdict == "allow" and not set(uses) <= self.ran.uses:
            new = " and ".join(sorted(set(uses) - self.ran.uses))
            raise GateError(
                f"this code runs unasked and your policy wants to be asked about {new}: write "
                "that word itself into the code, so that it is seen before it runs"
            )

    def withdraw(self) -> None:
        """Forget what is pending and every grant: the turn was stopped or declined."""
        with self._lock:
            self.pending = None
            self._grants.clear()

    def _check(self, grant: Grant) -> Proposal:
        entry = self._grants.get(grant.id)
        if entry is None or entry[0] != grant:
            raise GateError(
                "this code has no approval: the approval was used or withdrawn, or was never given"
            )
        if self._clock() > grant.expires:
            raise GateError(f"the approval is older than {GRANT_SECONDS:.0f} s: ask for it again")
        self._check_policy(entry[1])
        return entry[1]

    def _check_policy(self, proposal: Proposal) -> None:
        if self._digest(proposal) != proposal.digest:
            raise GateError("the policy was changed since this code was shown: ask for it again")

    def _digest(self, proposal: Proposal) -> str:
        """The digest that binds a grant to its code and to the policy."""
        bound = (
            self.session,
            proposal.turn,
            proposal.block,
            proposal.language,
            sorted(self.policy.allow),
            sorted(self.policy.deny),
            proposal.code,
        )
        return hashlib.sha256(repr(bound).encode("utf-8")).hexdigest()

    def _proposal(
        self,
        turn: int,
        block: int,
        language: str,
        code: str,
        asks: str = "",
        *,
        edited: bool = False,
    ) -> Proposal:
        language, code = canonical(language), _plain(code)
        verdict: Verdict
        uses = frozenset({language})
        try:
            uses |= {canonical(each) for each in self._uses(language, code)}
            verdict, reason = self.policy.verdict(uses)
        except LMCError as error:
            verdict, reason = "deny", str(error)
        except Exception as error:  # noqa: BLE001 - the border to code of others: any Language
            verdict, reason = self.policy.verdict(uses)
            if verdict != "deny":
                verdict, reason = "ask", f"what it uses cannot be told ({type(error).__name__})"
        if verdict == "allow" and not edited and (count := count_hidden(code)):
            asks = f"it has hidden characters ({count}), so you are asked"
        if verdict == "allow" and asks:
            verdict, reason = "ask", asks
        proposal = Proposal(
            secrets.token_hex(16), turn, block, language, code, "", verdict, reason, edited, uses
        )
        return replace(proposal, digest=self._digest(proposal))


def _plain(code: str) -> str:
    return code.replace("\r\n", "\n")
