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
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, field, replace
from typing import Protocol

from lmc_jupyter.content.effect import Effect, EffectKind
from lmc_jupyter.content.hidden import count_hidden
from lmc_jupyter.errors import GateError, LMCError
from lmc_jupyter.limits import Guard, Policy, Uses, Verdict
from lmc_jupyter.lmc import Chunk, canonical

GRANT_SECONDS = 60.0
"""How long a grant lives between the decision and the run."""

HARMLESS: frozenset[EffectKind] = frozenset({"makes", "reads"})
"""All that code does which runs unasked where the person is asked for changes. A name that hides
one of Python's own, which a detail says, is no new name."""


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
    is_promised: bool = False
    """Whether it runs unasked because it only reads and makes new names: it is watched for that."""
    effects: tuple[Effect, ...] = ()
    """As the names were when it was proposed; of an edit it has none, see `Gate.effects`."""


@dataclass(frozen=True)
class Decision:
    """The answer to a confirmation: run it, run this edit of it, or don't, and why."""

    run: bool
    code: str | None = None
    reason: str = ""
    asked: bool = True
    """Whether the person was asked about this block; else a yes of before covers it."""


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
    effects : callable, optional
        (language, code) -> what the code will do, for the person who is asked.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        uses: Uses | None = None,
        clock: Callable[[], float] = time.monotonic,
        effects: Callable[[str, str], Collection[Effect]] = lambda *_: (),
    ) -> None:
        self.session = secrets.token_hex(16)
        self.pending: Proposal | None = None
        """What waits for a decision now; a view draws its question from this."""
        self.doubt = ""
        """Why the next code of this answer is asked for: what ran unasked has done more than it
        said. The next answer begins without it."""
        self.ran: Proposal | None = None
        """The last proposal that ran; a view learns from it whether a yes counted."""
        self._uses = uses or (lambda language, _: (language,))
        self.guard = Guard(policy or Policy(), self._uses)
        self._clock = clock
        self._effects = effects
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
        return self.guard.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self.guard.policy = policy

    def propose(
        self, turn: int, block: int, language: str, code: str, *, asks: str = "", remark: str = ""
    ) -> Proposal:
        """Take code in; nothing runs yet. Windows line ends become plain ones.

        Parameters
        ----------
        asks : why it is asked for even where policy lets it run; "" for no such reason
        remark : what the person has to know where it is asked for anyway
        """
        proposal = self._proposal(turn, block, language, code, asks or self.doubt)
        if proposal.verdict != "deny":
            proposal = replace(proposal, effects=self.effects(proposal.language, proposal.code))
        if proposal.verdict == "ask" and not proposal.reason:
            lets = self.policy.asks_for_changes and _is_harmless(proposal)
            if lets and not (asks or self.doubt):
                proposal = replace(proposal, verdict="allow", reason=_UNASKED, is_promised=True)
            else:
                proposal = replace(proposal, reason=(asks if lets else "") or self.doubt or remark)
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
        # a computer of somebody's own may watch nothing
        run = getattr(computer, "run_promised", None) if proposal.is_promised else None
        pieces = (run or computer.run)(proposal.language, proposal.code)
        return self.guard.watch(pieces, proposal.verdict, proposal.uses)

    def effects(self, language: str, code: str) -> tuple[Effect, ...]:
        """What this code will do, of the person's own edit too; nothing runs."""
        try:
            return tuple(self._effects(canonical(language), _plain(code)))
        except Exception as error:  # noqa: BLE001 - the border to code of others: any Language
            return (Effect("unknown", "", f"what it does cannot be told ({type(error).__name__})"),)

    def is_outdated(self, proposal: Proposal, decision: Decision | None = None) -> bool:
        """Whether the policy was changed since this was shown: it is judged anew, but for a no."""
        return (decision is None or decision.run) and self._digest(proposal) != proposal.digest

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
        if self.is_outdated(proposal):
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
            self.policy.changes,
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


_UNASKED = "as far as can be seen it only reads and makes new names, so it runs unasked"


def _is_harmless(proposal: Proposal) -> bool:
    """Whether it is Python that only reads and makes new names, as far as can be seen."""
    is_plain_python = proposal.uses == {"python"} and not count_hidden(proposal.code)
    return is_plain_python and bool(proposal.effects) and all(map(_is_quiet, proposal.effects))


def _is_quiet(effect: Effect) -> bool:
    if effect.kind in ("overwrites", "deletes"):  # in place it could be a value of the person's
        return not effect.is_theirs
    return effect.kind in HARMLESS and (effect.kind != "makes" or not effect.detail)


def _plain(code: str) -> str:
    return code.replace("\r\n", "\n")
