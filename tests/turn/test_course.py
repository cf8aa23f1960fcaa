"""The mode of a course: it gets stricter, never looser."""

from __future__ import annotations

import pytest

from lmc_jupyter.errors import SessionError
from lmc_jupyter.session import Session
from lmc_jupyter.turn import course


@pytest.fixture(autouse=True)
def no_course(monkeypatch):
    monkeypatch.setattr(course, "_required", "")


def test_a_course_is_a_floor_for_every_session():
    assert course.mode("") == ""
    course.require("hints")
    course.require("")
    assert [course.mode(each) for each in course.MODES] == ["hints", "hints", "off"]
    assert Session(keep=False).tutor == "hints"
    course.require("off")
    assert course.mode("hints") == "off"


def test_who_asks_is_told_what_there_is_instead():
    session = Session(keep=False, tutor="hints")
    with pytest.raises(SessionError, match="`%lmc hint` says one step"):
        session.ask("Write it.")
    with pytest.raises(SessionError, match="gives hints and no answers"):
        session.offer("python", "x = 1", by="Somebody")
    session.tutor = "off"
    with pytest.raises(SessionError, match="no model is asked"):
        session.ask("Write it.")
    assert session.messages == []


@pytest.mark.parametrize("value", ["all", None, 3, "Hints"])
def test_what_is_no_mode_is_a_sentence(value):
    with pytest.raises(SessionError, match='tutor must be "", "hints" or "off"'):
        Session(keep=False, tutor=value)
    with pytest.raises(SessionError, match="tutor must be"):
        course.read_mode(value)


def test_a_bare_off_of_yaml_is_off():
    assert course.read_mode(False) == "off"
    course.require("off")
    with pytest.raises(SessionError, match="nothing makes that looser"):
        course.read_mode("hints")
