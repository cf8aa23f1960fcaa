"""The options of a session: one value, changed as a whole."""

from __future__ import annotations

import pytest

from lmc_jupyter import Session
from lmc_jupyter.errors import GateError, SessionError
from lmc_jupyter.limits import Limits
from lmc_jupyter.models.spending import CostError
from lmc_jupyter.turn.options import NAMES, Options


def test_the_attributes_of_a_session_are_its_options():
    session = Session(max_turns=3, deny=["shell"], max_cost=0.5, keep=False)
    assert session.options == Options(max_turns=3, deny=["shell"], max_cost=0.5)
    session.context = False
    session.auto_run = ["python"]
    assert session.options.context == "none"
    assert session.options.auto_run == ["python"]
    attributes = {name: "asks" if name == "ask" else name for name in NAMES}
    assert {name: getattr(session, attributes[name]) for name in NAMES} == {
        name: getattr(session.options, name) for name in NAMES
    }


def test_when_the_person_is_asked_is_decided_by_all_that_has_a_part_in_it():
    session = Session(keep=False)
    assert (session.asks, session.asks_now, session.runs_unasked) == ("always", "always", False)
    session.asks = "changes"
    assert (session.asks_now, session.runs_unasked) == ("changes", False)
    session.limits = Limits(ask_always=True)
    assert (session.asks, session.asks_now) == ("changes", "always")
    session.limits = None
    session.deny = ["python"]
    assert session.asks_now == "always"
    session.configure(ask="never", deny=())
    assert (session.asks_now, session.runs_unasked) == ("never", True)
    session.configure(ask="always", auto_run=True)
    assert session.asks_now == "never", "the older name counts as before"
    with pytest.raises(SessionError, match='ask must be "always", "changes" or "never"'):
        session.asks = "sometimes"


@pytest.mark.parametrize(
    ("wrong", "error"), [({"deny": ["pyhton"]}, GateError), ({"max_day_cost": -1}, CostError)]
)
def test_all_of_a_change_is_taken_or_nothing(wrong, error):
    session = Session(keep=False)
    policy = session.gate.policy
    with pytest.raises(error):
        session.configure(max_turns=7, max_cost=0.1, auto_run=True, **wrong)
    assert session.options == Options()
    assert session.gate.policy == policy
    assert session.spending.turn is None


def test_a_name_that_is_no_option_is_a_sentence():
    session = Session(keep=False)
    with pytest.raises(
        SessionError, match="a session has no option 'max_turn': it has agents, ask, auto_run"
    ):
        session.configure(max_turn=7)
