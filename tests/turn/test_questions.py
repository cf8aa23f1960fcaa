"""What is said to a session becomes messages; what was said before is recognised."""

from __future__ import annotations

import pytest

from lmc_jupyter.errors import ProtocolError, SessionError
from lmc_jupyter.lmc import Message
from lmc_jupyter.turn import questions

ASKED = Message("user", "message", content="6*7?").stamped()
ANSWER = Message("assistant", "message", content="42").stamped()
PICTURE = Message("user", "image", "base64.png", "iVBORw0KGgo=").stamped()


def test_a_message_stays_the_very_same_and_a_dict_becomes_one() -> None:
    assert questions.as_message(ASKED) is ASKED
    assert questions.as_message(ASKED.to_dict()) == ASKED
    with pytest.raises(ProtocolError):
        questions.as_message({"role": "nobody", "type": "message", "content": "x"})


@pytest.mark.parametrize("value", ["a text", 7, None])
def test_what_is_no_list_is_no_conversation(value: object) -> None:
    with pytest.raises(ProtocolError, match="is not a conversation: give a list of messages"):
        questions.as_messages(value)  # type: ignore[arg-type]


def test_an_edited_question_has_its_values_put_in_once() -> None:
    values = {"x": "7"}
    asked = questions.as_question("What is @x?", values.get)
    assert asked.content != "What is @x?"
    assert str(asked.content).endswith("x = 7")
    assert questions.as_written(str(asked.content), [PICTURE, asked]) == "What is @x?"
    assert questions.as_written("Else?", [asked]) == "Else?"
    assert questions.as_written("x = 7", [ASKED]) == "x = 7", "nothing was put in there"
    assert questions.as_written("x = 7", []) == "x = 7"


def test_a_question_without_values_is_the_text_to_the_character() -> None:
    assert questions.as_question(" What is {{x}}?\n").content == " What is {{x}}?\n"
    with pytest.raises(SessionError, match="there is no variable 'x'"):
        questions.as_question("What is {{x}}?", {}.get)


def test_what_is_said_again_is_new_and_has_what_was_attached() -> None:
    again = questions.repeat([PICTURE, ASKED], None)
    assert [each.content for each in again] == [PICTURE.content, ASKED.content]
    assert not {each.id for each in again} & {PICTURE.id, ASKED.id}
    other = Message("user", "message", content="6*8?")
    edited = questions.repeat([PICTURE, ASKED], other)
    assert [each.content for each in edited] == [PICTURE.content, "6*8?"]
    added = questions.repeat([PICTURE], other)
    assert [each.content for each in added] == [PICTURE.content, "6*8?"]
    assert edited[-1].id


@pytest.mark.parametrize(
    ("messages", "at"),
    [
        ([], 0),
        ([ANSWER], 0),
        ([ASKED, ANSWER, ASKED], 2),
        ([ASKED, ANSWER, PICTURE, PICTURE, ASKED, ANSWER], 2),
        ([PICTURE, ASKED], 0),
    ],
)
def test_where_the_last_question_begins(messages: list[Message], at: int) -> None:
    assert questions.last(messages) == at


def test_a_note_is_the_computer_s_and_may_be_for_the_model_alone() -> None:
    note = questions.note("It was restarted.", "assistant")
    assert (note.role, note.type, note.format) == ("computer", "console", "output")
    assert (note.content, note.recipient) == ("It was restarted.", "assistant")
    assert note.id
    assert questions.note("It was restarted.").recipient is None
