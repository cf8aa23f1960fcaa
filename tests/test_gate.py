"""The gate against everybody who wants past it: replay, forgery, time, edits, aliases, races."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Collection, Generator
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
)
from sampling import amount
from scripted import EchoComputer

from lmc_jupyter import Chunk
from lmc_jupyter.content.effect import Effect, EffectKind
from lmc_jupyter.errors import ComputerError, GateError
from lmc_jupyter.gate import GRANT_SECONDS, Gate, Grant, Proposal
from lmc_jupyter.limits import Policy


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def propose(gate: Gate, code: str = "1+1", language: str = "python", block: int = 1) -> Proposal:
    return gate.propose(1, block, language, code)


def run(gate: Gate, grant: Grant, computer: EchoComputer) -> None:
    for _ in gate.run(grant, computer):
        pass


def refused(gate: Gate, grant: Grant) -> str:
    """The grant lets nothing run; returns why."""
    computer = EchoComputer()
    with pytest.raises(GateError):
        gate.proposal_of(grant)
    with pytest.raises(GateError) as caught:
        run(gate, grant, computer)
    assert computer.ran == []
    return str(caught.value)


# The way through ---------------------------------------------------------------------------------


def test_a_proposal_says_what_its_code_will_do_and_an_edit_of_it_does_not():
    gate = Gate(effects=lambda language, code: [Effect("makes", f"{language} {code}")])
    proposal = propose(gate, "x = 1")
    assert proposal.effects == (Effect("makes", "python x = 1"),)
    assert gate.proposal_of(gate.grant(proposal, "y = 1")).effects == ()


def test_effects_that_cannot_be_found_are_said_and_stop_nothing():
    def effects(language, code):
        raise RuntimeError("broken on purpose")

    gate = Gate(effects=effects)
    proposal = propose(gate)
    assert [each.kind for each in proposal.effects] == ["unknown"]
    assert "RuntimeError" in proposal.effects[0].detail
    gate.grant(proposal)


def test_granted_code_runs_byte_for_byte() -> None:
    gate, computer = Gate(), EchoComputer()
    code = "print('Ж 👩\u200d🚀')\t\n\n# \u202e end "
    run(gate, gate.grant(propose(gate, code)), computer)
    assert computer.ran == [("python", code)]


def test_windows_line_ends_become_plain_before_anybody_sees_them() -> None:
    gate, computer = Gate(), EchoComputer()
    proposal = propose(gate, "a\r\nb\rc")
    assert proposal.code == "a\nb\rc"
    run(gate, gate.grant(proposal, "a\r\nb\rc"), computer)
    assert computer.ran == [("python", "a\nb\rc")]


def test_language_runs_by_its_one_name() -> None:
    gate, computer = Gate(), EchoComputer()
    run(gate, gate.grant(propose(gate, "ls", " Bash ")), computer)
    assert computer.ran == [("shell", "ls")]


def test_pending_is_what_waits_and_only_while_it_waits() -> None:
    gate = Gate()
    assert gate.pending is None
    proposal = propose(gate)
    assert gate.pending is proposal
    gate.grant(proposal)
    assert gate.pending is None


def test_proposal_of_tells_what_would_run_and_uses_nothing_up() -> None:
    gate, computer = Gate(), EchoComputer()
    grant = gate.grant(propose(gate))
    assert gate.proposal_of(grant).code == gate.proposal_of(grant).code == "1+1"
    run(gate, grant, computer)
    assert len(computer.ran) == 1


# Past it -----------------------------------------------------------------------------------------


def test_replay_is_refused() -> None:
    gate, computer = Gate(), EchoComputer()
    grant = gate.grant(propose(gate))
    run(gate, grant, computer)
    assert "used" in refused(gate, grant)
    assert len(computer.ran) == 1


def test_grant_is_used_up_even_if_nobody_reads_the_output() -> None:
    gate = Gate()
    grant = gate.grant(propose(gate))
    gate.run(grant, EchoComputer())
    refused(gate, grant)


def test_grant_is_used_up_even_if_the_computer_refuses() -> None:
    class Refusing:
        def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
            raise ComputerError("no")

    gate = Gate()
    grant = gate.grant(propose(gate))
    with pytest.raises(ComputerError):
        gate.run(grant, Refusing())
    refused(gate, grant)


def test_expired_grant_is_refused_and_the_sentence_says_its_age() -> None:
    clock = Clock()
    gate = Gate(clock=clock)
    grant = gate.grant(propose(gate))
    clock.now += GRANT_SECONDS
    assert gate.proposal_of(grant).code == "1+1"
    clock.now += 0.001
    assert f"{GRANT_SECONDS:.0f} s" in refused(gate, grant)


def test_forged_grants_are_refused() -> None:
    gate = Gate()
    proposal = propose(gate)
    refused(gate, Grant("0" * 32, proposal.digest, 1e12))
    refused(gate, Grant(proposal.id, proposal.digest, 1e12))
    grant = gate.grant(proposal)
    for change in ({"id": "0" * 32}, {"digest": "0" * 64}, {"expires": 1e12}):
        refused(gate, dataclasses.replace(grant, **change))
    assert gate.proposal_of(grant).code == "1+1", "and none of them spoilt the real one"


def test_another_gates_grant_is_refused() -> None:
    one, other = Gate(), Gate()
    mine, theirs = one.grant(propose(one)), other.grant(propose(other))
    assert mine.digest != theirs.digest, "the digest is bound to the session"
    refused(one, theirs)
    refused(other, mine)


def test_another_gates_proposal_is_refused() -> None:
    one, other = Gate(), Gate()
    propose(one)
    with pytest.raises(GateError, match="no longer waits"):
        one.grant(propose(other))


def test_forged_proposal_is_refused() -> None:
    gate = Gate()
    proposal = propose(gate)
    for forged in (
        dataclasses.replace(proposal, code="import os"),
        dataclasses.replace(proposal, verdict="allow"),
        dataclasses.replace(proposal),
    ):
        with pytest.raises(GateError, match="no longer waits"):
            gate.grant(forged)
    assert gate.pending is proposal


def test_earlier_proposal_is_refused_once_another_waits() -> None:
    gate = Gate()
    early = propose(gate, "early")
    late = propose(gate, "late", block=2)
    with pytest.raises(GateError, match="no longer waits"):
        gate.grant(early)
    assert gate.proposal_of(gate.grant(late)).code == "late"


def test_second_yes_to_the_same_question_is_refused() -> None:
    gate = Gate()
    proposal = propose(gate)
    grant = gate.grant(proposal)
    with pytest.raises(GateError, match="no longer waits"):
        gate.grant(proposal)
    assert gate.proposal_of(grant) is proposal


def test_new_proposal_kills_earlier_grants() -> None:
    gate = Gate()
    grant = gate.grant(propose(gate))
    propose(gate, "other", block=2)
    assert "withdrawn" in refused(gate, grant)


def test_withdraw_kills_the_question_and_the_grant() -> None:
    gate = Gate()
    grant = gate.grant(propose(gate))
    gate.withdraw()
    refused(gate, grant)
    proposal = propose(gate)
    gate.withdraw()
    with pytest.raises(GateError, match="no longer waits"):
        gate.grant(proposal)


def test_grants_of_equal_code_are_not_interchangeable() -> None:
    gate = Gate()
    first = propose(gate, block=1)
    second = propose(gate, block=2)
    assert first.digest != second.digest
    assert gate.propose(2, 2, "python", "1+1").digest != second.digest
    assert gate.propose(1, 2, "shell", "1+1").digest != second.digest
    assert gate.propose(1, 2, "python", "1+2").digest != second.digest
    again = gate.propose(1, 2, "python", "1+1")
    assert again.digest == second.digest
    assert again.id != second.id


@pytest.mark.parametrize(
    ("run", "deny", "policy", "unasked"),
    [
        (False, (), Policy(), False),
        (True, (), Policy(frozenset({"*"})), True),
        ("py", "bash", Policy(frozenset({"python"}), frozenset({"shell"})), True),
        (["python"], ["python"], Policy(frozenset({"python"}), frozenset({"python"})), False),
        (True, ["*"], Policy(frozenset({"*"}), frozenset({"*"})), False),
        (["python"], ["*"], Policy(frozenset({"python"}), frozenset({"*"})), False),
    ],
)
def test_a_policy_is_made_of_what_a_person_says(run, deny, policy: Policy, unasked: bool) -> None:
    assert Policy.of(run, deny) == policy
    assert policy.runs_unasked is unasked


def test_a_changed_policy_voids_the_question_and_the_grant() -> None:
    """What was shown and granted was judged by another policy: ask again."""
    gate = Gate()
    proposal = propose(gate, "ls", "shell")
    gate.policy = Policy(deny={"shell"})
    with pytest.raises(GateError, match="policy"):
        gate.grant(proposal)
    gate.policy = Policy()
    grant = gate.grant(propose(gate, "ls", "shell"))
    gate.policy = Policy(deny={"shell"})
    assert "policy" in refused(gate, grant)


def test_digest_cannot_be_shifted_between_fields() -> None:
    gate = Gate()
    one = gate.propose(1, 11, "python", "x")
    other = gate.propose(11, 1, "python", "x")
    assert one.digest != other.digest
    assert propose(gate, "a\0b").digest != propose(gate, "a").digest


def test_lone_surrogates_are_code_like_any_other() -> None:
    gate, computer = Gate(), EchoComputer()
    run(gate, gate.grant(propose(gate, "'\ud800'")), computer)
    assert computer.ran == [("python", "'\ud800'")]


# Edits -------------------------------------------------------------------------------------------


def test_edit_runs_instead_and_is_known_as_one() -> None:
    gate, computer = Gate(), EchoComputer()
    grant = gate.grant(propose(gate, "1+1"), "2+2")
    assert gate.proposal_of(grant).edited
    run(gate, grant, computer)
    assert computer.ran == [("python", "2+2")]


def test_edit_that_changes_nothing_is_no_edit() -> None:
    gate = Gate()
    proposal = propose(gate, "a\nb")
    assert not gate.proposal_of(gate.grant(proposal, "a\r\nb")).edited


def test_edit_is_judged_by_policy_too() -> None:
    def uses(language: str, code: str) -> Collection[str]:
        return ("python", "shell") if code.startswith("!") else ("python",)

    gate = Gate(Policy(deny={"shell"}), uses)
    proposal = propose(gate, "1+1")
    with pytest.raises(GateError, match="forbids shell"):
        gate.grant(proposal, "!rm -rf data")
    assert gate.pending is proposal, "the person may still answer"


# Policy ------------------------------------------------------------------------------------------


def test_default_is_ask_for_everything() -> None:
    for language in ("python", "shell", "html", "javascript", "brainfuck", ""):
        assert propose(Gate(), "x", language).verdict == "ask"


@pytest.mark.parametrize("allow", [{"python"}, {"PY"}, "python3", {"*"}, ["ipython", "r"]])
def test_allow_knows_aliases(allow: Collection[str]) -> None:
    policy = Policy(allow=allow)  # type: ignore[arg-type]
    assert propose(Gate(policy), "x", "Python").verdict == "allow"


@pytest.mark.parametrize("deny", [{"shell"}, {"bash"}, "SH", {"zsh"}, {"*"}])
@pytest.mark.parametrize("word", ["shell", "bash", "Sh", " zsh ", "BASH"])
def test_deny_knows_every_alias_and_beats_allow(deny: Collection[str], word: str) -> None:
    gate = Gate(Policy(allow={"*"}, deny=deny))  # type: ignore[arg-type]
    proposal = propose(gate, "ls", word)
    assert proposal.verdict == "deny"
    assert "forbids shell" in proposal.reason
    with pytest.raises(GateError, match="forbids shell"):
        gate.grant(proposal)
    with pytest.raises(GateError, match="forbids shell"):
        gate.grant(proposal, "ls")


def test_deny_reaches_code_that_uses_the_language() -> None:
    gate = Gate(Policy(allow={"*"}, deny={"bash"}), uses=lambda language, code: (language, "sh"))
    assert propose(gate, "!ls").verdict == "deny"


def test_allow_of_one_language_does_not_reach_what_it_uses() -> None:
    gate = Gate(Policy(allow={"python"}), uses=lambda language, code: (language, "shell"))
    assert propose(gate, "!ls").verdict == "ask"


def test_uses_cannot_leave_the_language_itself_out() -> None:
    gate = Gate(Policy(deny={"shell"}), uses=lambda language, code: ())
    assert propose(gate, "ls", "bash").verdict == "deny"


def test_code_that_cannot_be_judged_is_never_run() -> None:
    def uses(language: str, code: str) -> Collection[str]:
        raise ComputerError("no language 'cobol'; there are python, shell")

    gate = Gate(Policy(allow={"*"}), uses)
    proposal = propose(gate, "x", "cobol")
    assert proposal.verdict == "deny"
    assert "'cobol'" in proposal.reason
    with pytest.raises(GateError, match="'cobol'"):
        gate.grant(proposal)


def test_code_whose_judging_fails_is_asked_for_and_still_denied_by_its_language() -> None:
    def uses(language: str, code: str) -> Collection[str]:
        raise MemoryError("the parser's stack is full")

    proposal = propose(Gate(Policy(allow={"*"}), uses))
    assert proposal.verdict == "ask"
    assert "MemoryError" in proposal.reason
    assert propose(Gate(Policy(deny={"python"}), uses)).verdict == "deny"


def test_ran_is_what_was_let_run_last() -> None:
    gate = Gate()
    grant = gate.grant(propose(gate), "2+2")
    assert gate.ran is None
    run(gate, grant, EchoComputer())
    assert gate.ran is not None
    assert (gate.ran.code, gate.ran.edited) == ("2+2", True)


def test_allowed_code_with_hidden_characters_is_asked_for_all_the_same() -> None:
    gate = Gate(Policy(allow={"*"}))
    proposal = propose(gate, "x = 'a\u200bb\u202e'")
    assert proposal.verdict == "ask"
    assert "hidden characters (2)" in proposal.reason
    assert propose(Gate(Policy(deny={"*"})), "\u200b").verdict == "deny"


def test_policy_cannot_be_changed_in_place() -> None:
    policy = Policy(allow={"python"})  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.allow = frozenset({"*"})  # type: ignore[misc]
    assert isinstance(policy.allow, frozenset)
    assert isinstance(policy.deny, frozenset)


# Races -------------------------------------------------------------------------------------------


def together(count: int, act) -> list[object]:
    """Let so many threads act at the same moment; what each got, or its GateError."""
    barrier, results = threading.Barrier(count), [None] * count

    def one(index: int) -> None:
        barrier.wait()
        try:
            results[index] = act()
        except GateError as error:
            results[index] = error

    threads = [threading.Thread(target=one, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_a_hundred_threads_with_one_grant_get_one_run() -> None:
    gate, computer = Gate(), EchoComputer()
    grant = gate.grant(propose(gate))
    results = together(100, lambda: run(gate, grant, computer))
    assert len(computer.ran) == 1
    assert sum(isinstance(result, GateError) for result in results) == 99


class Unlocked(Gate):
    """A gate without its lock, where all look before one has taken the grant."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._lock = nullcontext()  # type: ignore[assignment]
        self._all = threading.Barrier(count)

    def _check(self, grant: Grant) -> Proposal:
        found = super()._check(grant)
        self._all.wait(10)
        return found

    def run(self, grant: Grant, computer: Any) -> Any:
        self._check(grant)
        return computer.run(grant.id, "")


def test_control_without_the_lock_one_grant_gives_many_runs(record_property: Any) -> None:
    gate, computer = Unlocked(100), EchoComputer()
    grant = gate.grant(propose(gate))
    together(100, lambda: run(gate, grant, computer))
    assert len(computer.ran) > 1
    record_property("figure", f"one grant, 100 threads: {len(computer.ran)} runs")


def test_a_hundred_threads_that_say_yes_get_one_grant() -> None:
    gate = Gate()
    proposal = propose(gate)
    results = together(100, lambda: gate.grant(proposal))
    assert sum(isinstance(result, Grant) for result in results) == 1


# The gate as a machine ---------------------------------------------------------------------------


class GateMachine(RuleBasedStateMachine):
    """Any order of propose, grant, run, withdraw, waiting: at most what is granted runs."""

    proposals = Bundle("proposals")
    grants = Bundle("grants")

    @initialize()
    def begin(self) -> None:
        self.clock, self.computer = Clock(), EchoComputer()
        self.gate = Gate(Policy(deny={"shell"}), clock=self.clock)  # type: ignore[arg-type]
        self.waits: Proposal | None = None
        self.live: dict[str, tuple[str, float]] = {}  # grant id -> (code, expiry)
        self.expected: list[tuple[str, str]] = []
        self.count = 0

    @rule(target=proposals, language=st.sampled_from(["python", "r", "sh"]), code=st.text())
    def propose(self, language: str, code: str) -> Proposal:
        self.count += 1
        self.waits = self.gate.propose(1, self.count, language, code)
        self.live.clear()
        return self.waits

    @rule(target=grants, proposal=proposals, edit=st.one_of(st.none(), st.text()))
    def grant(self, proposal: Proposal, edit: str | None) -> Grant:
        if self.waits is not proposal or proposal.language == "shell":
            with pytest.raises(GateError):
                self.gate.grant(proposal, edit)
            return Grant("nothing", "nothing", 1e12)
        grant = self.gate.grant(proposal, edit)
        code = proposal.code if edit is None else edit.replace("\r\n", "\n")
        self.waits = None
        self.live[grant.id] = (code, self.clock.now + GRANT_SECONDS)
        return grant

    @rule(grant=grants)
    def use(self, grant: Grant) -> None:
        known = self.live.get(grant.id)
        if known is None or self.clock.now > known[1]:
            with pytest.raises(GateError):
                run(self.gate, grant, self.computer)
            return
        language = self.gate.proposal_of(grant).language
        run(self.gate, grant, self.computer)
        del self.live[grant.id]
        self.expected.append((language, known[0]))

    @rule(grant=consumes(grants))
    def forge(self, grant: Grant) -> None:
        with pytest.raises(GateError):
            run(self.gate, dataclasses.replace(grant, digest="0" * 64), self.computer)

    @rule()
    def withdraw(self) -> None:
        self.gate.withdraw()
        self.waits = None
        self.live.clear()

    @rule(seconds=st.sampled_from([1.0, GRANT_SECONDS, GRANT_SECONDS + 1]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def only_what_was_granted_ran(self) -> None:
        if hasattr(self, "gate"):
            assert self.computer.ran == self.expected
            assert self.gate.pending is self.waits
            assert all(language != "shell" for language, _ in self.computer.ran)


TestGateMachine = GateMachine.TestCase
TestGateMachine.settings = settings(max_examples=amount(40, 300), stateful_step_count=30)


def test_code_that_runs_cannot_change_what_may_run() -> None:
    gate = Gate()

    class Computer:
        def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
            with pytest.raises(GateError, match="to change what may run: code that a model"):
                gate.policy = Policy(allow=frozenset({"*"}))
            yield Chunk("computer", "console", "output", "tried")

    proposal = gate.propose(1, 1, "python", "current_session().auto_run = True")
    pieces = gate.run(gate.grant(proposal), Computer())
    assert [piece.content for piece in pieces] == ["tried"]
    assert gate.propose(1, 2, "python", "1").verdict == "ask"
    gate.policy = Policy(allow=frozenset({"*"}))
    assert gate.propose(1, 3, "python", "1").verdict == "allow"


def test_a_run_that_is_closed_is_over() -> None:
    gate = Gate()

    class Computer:
        def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
            yield Chunk("computer", "console", "output", "begun")

    pieces = gate.run(gate.grant(gate.propose(1, 1, "python", "1")), Computer())
    next(pieces)
    pieces.close()
    gate.policy = Policy(allow=frozenset({"*"}))


@pytest.mark.parametrize("word", ["shel", "pyton", "Javascrpt", "bashh"])
def test_a_mistyped_language_is_refused_not_taken_for_one_that_forbids_nothing(word: str) -> None:
    for policy in ({"deny": {word}}, {"allow": {word}}):
        with pytest.raises(GateError, match=rf"{word!r} is not a language .* did you mean"):
            Policy(**policy)


@pytest.mark.parametrize("word", ["cobol", "rscript", "ruby", "sql", "ts", "julia", "page", "*"])
def test_a_language_that_may_come_later_can_be_denied_now(word: str) -> None:
    assert word in Policy(deny={word}).deny


# What is told, and what code may do while it runs -------------------------------------------------


def test_identifiers_are_sixteen_bytes_that_nobody_guesses() -> None:
    gate = Gate()
    proposal = propose(gate)
    for word in (gate.session, proposal.id, gate.grant(proposal).id):
        assert len(bytes.fromhex(word)) == 16
    assert len({Gate().session for _ in range(100)}) == 100


def test_a_remark_stands_where_nothing_else_is_said_and_code_is_asked_for() -> None:
    gate = Gate()
    assert gate.propose(1, 1, "python", "1", remark="It is long.").reason == "It is long."
    assert gate.propose(1, 1, "python", "1").reason == ""
    assert gate.propose(1, 1, "python", "1", asks="", remark="").reason == ""
    # where everything is asked for, a reason to ask is none, and a warning without one is not read
    assert gate.propose(1, 1, "python", "1", asks="It comes from Codex.").reason == ""
    allowing = Gate(Policy(allow=frozenset({"python"})))
    asked = allowing.propose(1, 1, "python", "1", asks="It came from a file.", remark="It is long.")
    assert (asked.verdict, asked.reason) == ("ask", "It came from a file.")
    allowed = allowing.propose(1, 1, "python", "1", remark="It is long.")
    assert (allowed.verdict, allowed.reason) == ("allow", "your policy lets it run unasked")


def test_what_code_will_do_is_not_asked_of_code_that_is_denied() -> None:
    looked: list[str] = []

    def effects(language: str, code: str) -> Collection[Effect]:
        looked.append(code)
        return ()

    gate = Gate(Policy(deny=frozenset({"shell"})), effects=effects)
    gate.propose(1, 1, "shell", "ls")
    assert looked == []
    gate.propose(1, 1, "python", "1")
    assert looked == ["1"]


def test_what_it_does_that_cannot_be_told_has_no_name() -> None:
    def effects(language: str, code: str) -> Collection[Effect]:
        raise ValueError("no")

    (effect,) = Gate(effects=effects).effects("python", "1")
    assert (effect.kind, effect.name) == ("unknown", "")
    assert "ValueError" in repr(effect)


def test_an_edit_keeps_its_place_and_its_languages() -> None:
    gate = Gate(uses=lambda language, code: (language, "shell") if "!" in code else (language,))
    proposal = gate.propose(3, 2, "python", "1")
    assert proposal.uses == {"python"}
    edit = gate.proposal_of(gate.grant(proposal, "!ls"))
    assert (edit.turn, edit.block, edit.edited) == (3, 2, True)
    assert edit.uses == {"python", "shell"}
    assert len(edit.digest) == 64


# Ask for changes ----------------------------------------------------------------------------------

CHANGES = Policy(changes=True)


def gate_that_sees(*kinds: str, policy: Policy = CHANGES, uses: Any = None) -> Gate:
    effects = tuple(Effect(kind, "x") for kind in kinds)  # type: ignore[arg-type]
    return Gate(policy, uses=uses, effects=lambda *_: effects)


class Watching(EchoComputer):
    """A computer that holds code to its promise."""

    def run_promised(self, language: str, code: str) -> Generator[Chunk, None, None]:
        self.ran.append(("promised", code))
        yield Chunk("computer", "console", "output", "ok")


@pytest.mark.parametrize("kinds", [("makes",), ("reads",), ("makes", "reads")])
def test_what_only_reads_and_makes_names_runs_unasked_and_is_held_to_it(kinds) -> None:
    gate, computer = gate_that_sees(*kinds), Watching()
    proposal = propose(gate)
    assert (proposal.verdict, proposal.is_promised) == ("allow", True)
    assert "only reads and makes new names" in proposal.reason
    run(gate, gate.grant(proposal), computer)
    assert computer.ran == [("promised", proposal.code)]


def test_what_was_asked_for_has_promised_nothing_and_a_plain_computer_watches_nothing() -> None:
    for gate, computer, ran in (
        (gate_that_sees("changes"), Watching(), ("python", "1+1")),
        (gate_that_sees("reads"), EchoComputer(), ("python", "1+1")),
    ):
        run(gate, gate.grant(propose(gate)), computer)
        assert computer.ran == [ran]


def test_a_name_that_hides_one_of_pythons_own_is_no_new_name() -> None:
    def verdict(kind: EffectKind) -> str:
        effects = (Effect(kind, "list", "a name of Python's own"),)
        return propose(Gate(CHANGES, effects=lambda *_: effects)).verdict

    assert verdict("makes") == "ask"
    assert verdict("reads") == "allow"


@pytest.mark.parametrize(
    "kind",
    ["overwrites", "changes", "loses", "empties", "deletes", "writes", "renames", "removes",
     "network", "shell", "tools", "unknown"],
)  # fmt: skip
def test_all_else_is_asked_for(kind) -> None:
    assert propose(gate_that_sees("makes", kind)).verdict == "ask"


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("overwrites", "allow"), ("deletes", "allow"),
     ("changes", "ask"), ("loses", "ask"), ("empties", "ask")],
)  # fmt: skip
def test_names_that_the_conversation_made_may_be_bound_anew_and_not_changed_in_place(
    kind, verdict
) -> None:
    """In place it could be a value that a name of the person's has too."""
    effects = (Effect(kind, "x", is_theirs=False),)
    assert propose(Gate(CHANGES, effects=lambda *_: effects)).verdict == verdict


def test_nothing_is_harmless_of_which_nothing_is_known() -> None:
    assert propose(gate_that_sees()).verdict == "ask"


def test_other_languages_and_those_in_it_are_asked_for() -> None:
    gate = gate_that_sees("reads")
    assert gate.propose(1, 1, "r", "1").verdict == "ask"
    mixed = gate_that_sees("reads", uses=lambda language, _: (language, "shell"))
    assert propose(mixed).verdict == "ask"


def test_hidden_characters_strangers_and_doubts_are_asked_for_and_deny_stays() -> None:
    gate = gate_that_sees("reads")
    assert propose(gate, "x = 1 # \u202e").verdict == "ask"
    asked = gate.propose(1, 1, "python", "1", asks="it came with a file")
    assert (asked.verdict, asked.reason) == ("ask", "it came with a file")
    gate.doubt = "the block before did more"
    assert propose(gate).reason == "the block before did more"
    denied = gate_that_sees("reads", policy=Policy(deny=frozenset({"python"}), changes=True))
    assert propose(denied).verdict == "deny"
    assert not denied.policy.asks_for_changes


def test_a_grant_of_before_counts_no_more_when_the_person_wants_to_be_asked_for_all() -> None:
    gate = gate_that_sees("reads")
    grant = gate.grant(propose(gate))
    gate.policy = Policy()
    with pytest.raises(GateError, match="policy was changed"):
        gate.proposal_of(grant)


def test_control_without_it_the_same_is_asked_for() -> None:
    proposal = propose(gate_that_sees("reads", policy=Policy()))
    assert (proposal.verdict, proposal.is_promised) == ("ask", False)


class Nested:
    """A computer whose code runs more code, past the gate."""

    def __init__(self, gate: Gate, language: str, code: str) -> None:
        self.gate, self.more, self.ran = gate, (language, code), False

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]:
        self.gate.guard.check_run(*self.more)
        self.ran = True
        yield Chunk("computer", "console", "output", "ok")


def uses_shell(language: str, code: str) -> Collection[str]:
    return (language, "shell") if code.startswith("!") else (language,)


@pytest.mark.parametrize(
    ("allow", "deny", "code", "more", "runs"),
    [
        ({"python"}, set(), "run(...)", ("python", "1"), True),
        ({"python"}, set(), "run(...)", ("py", "1"), True),
        ({"python"}, set(), "run(...)", ("r", "1"), False),
        ({"python"}, set(), "run(...)", ("python", "!ls"), False),
        ({"python", "shell"}, set(), "run(...)", ("bash", "ls"), True),
        (set(), set(), "run(...)", ("r", "1"), True),
        (set(), {"r"}, "run(...)", ("R", "1"), False),
        (set(), {"shell"}, "run(...)", ("python", "!ls"), False),
    ],
)
def test_code_that_runs_more_code_meets_the_same_policy(allow, deny, code, more, runs) -> None:
    """Code that the person saw may run more; code that runs unasked, what is let run unasked."""
    gate = Gate(Policy(frozenset(allow), frozenset(deny)), uses=uses_shell)
    grant = gate.grant(propose(gate, code))
    computer = Nested(gate, *more)
    if runs:
        run(gate, grant, computer)
    else:
        with pytest.raises(GateError, match=r"shell|\br\b"):
            run(gate, grant, computer)
    assert computer.ran == runs


def test_code_that_runs_unasked_may_use_what_it_was_seen_to_use() -> None:
    gate = Gate(Policy(frozenset({"python"})), uses=lambda *_: ("python", "shell"))
    proposal = propose(gate)
    assert proposal.verdict == "ask"
    run(gate, gate.grant(proposal), Nested(gate, "shell", "ls"))


def test_a_cell_of_the_persons_own_is_asked_for_by_no_guard() -> None:
    gate = Gate(Policy(deny=frozenset({"shell"})), uses=uses_shell)
    gate.guard.check_run("shell", "ls")
    gate.guard.check({"shell"})
    run(gate, gate.grant(propose(gate)), EchoComputer())
    gate.guard.check_run("shell", "ls")


def test_why_code_does_not_run_is_a_whole_sentence() -> None:
    gate = Gate(Policy(deny=frozenset({"shell", "r"})), uses=lambda *_: ("python", "shell", "r"))
    assert propose(gate).reason == "your policy forbids r and shell"
    gate = Gate()
    first = propose(gate)
    propose(gate, "2")
    with pytest.raises(GateError, match=r"^this code no longer waits for an answer: ask again$"):
        gate.grant(first)
    grant = gate.grant(gate.pending or first)
    gate.policy = Policy(deny=frozenset({"r"}))
    assert refused(gate, grant).startswith("the policy was changed since this code was shown")
    gate.withdraw()
    assert refused(gate, grant).startswith("this code has no approval: the approval was used")
