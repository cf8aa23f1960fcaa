"""What of a conversation goes into a file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lmc_jupyter.conversation import Action, Conversation
from lmc_jupyter.keys import Secret
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.request import Request
from lmc_jupyter.turn.saving import add_measures, for_a_file
from lmc_jupyter.turn.turns import ReplyMeasure, Turn

KEY = "correct-horse-battery"


def talk(*said: str) -> list[Message]:
    """Questions and answers, in turn."""
    return [
        Message(("user", "assistant")[at % 2], "message", content=each).stamped()
        for at, each in enumerate(said)
    ]


def turn(asked: Message, *counts: int | None, over: bool = True) -> Turn:
    """The turn of this question, with replies right behind it that had so many tokens."""
    found = Turn("cell", "m", [asked], asked.id)
    for count in counts:
        request = Request("m", {"messages": []})
        request.completion_tokens = count
        found.replies.append(ReplyMeasure(asked.id, 1.23456))
        found.record(request)
    if over:
        found.end()
    return found


def test_the_last_answer_of_each_turn_says_what_its_reply_took() -> None:
    messages = talk("a?", "a.", "b?", "b.", "c?", "c.")
    a, b, c = messages[::2]
    found = add_measures(messages, [turn(a, 3, 5), turn(b, None), turn(c, 8, over=False)])
    assert [each.extra.get("token_count") for each in found] == [None, 5, *[None] * 4]
    times = [each.extra.get("completion_time") for each in found]
    assert times == [None, 1.235, None, 1.235, None, None], "also where nobody has counted"
    assert not any(each.extra for each in messages), "the conversation itself is as it was"


def test_a_reply_of_several_entries_says_its_time_once_and_no_count() -> None:
    [asked, text, after] = talk("a?", "I try.", "b?")
    code = Message("assistant", "code", "python", "1").stamped()
    out = Message("computer", "console", "output", "1").stamped()
    last = Message("assistant", "message", content="Done.").stamped()
    for said, count in (([text, code, out], 7), ([text, code, out, last], None)):
        found = add_measures([asked, *said, after], [turn(asked, 7)])
        assert found[1].extra == {"completion_time": 1.235} | ({"token_count": 7} if count else {})
        assert not any(each.extra for each in found[2:])


def test_a_turn_without_an_answer_marks_no_other() -> None:
    messages = talk("a?", "a.", "b?")
    found = add_measures(messages, [turn(messages[0], 3), turn(messages[2], 5)])
    assert [each.extra.get("token_count") for each in found] == [None, 3, None]


def test_no_file_says_what_nobody_said_or_where_the_notebook_is() -> None:
    messages = talk("a?", "a.")
    held = Conversation(
        messages, "a?", began=str(messages[0].created_at), notebook="/home/me/secret/b.ipynb"
    )
    found, said = for_a_file(held, "", [])
    assert (found.title, found.began, found.notebook, said) == ("", "", "b.ipynb", [])
    assert all(one is other for one, other in zip(found.messages, messages, strict=True))
    earlier = replace(held, began="2026-01-02T03:04:05+00:00")
    found, _ = for_a_file(earlier, "Mine", [])
    assert (found.title, found.began) == ("Mine", "2026-01-02T03:04:05+00:00")
    assert for_a_file(replace(earlier, messages=[]), "", [])[0].began == ""


@pytest.mark.parametrize(("places", "said"), [(1, "1 message."), (2, "2 messages.")])
def test_keys_are_taken_out_of_all_of_it_and_it_is_said(places: int, said: str) -> None:
    messages = talk(*[f"It is {KEY}"] * places, "Ok.")
    held = Conversation(
        messages, events=[Action(1, {"reason": KEY})], extra={"notes": [{"key": KEY}]}
    )
    found, lost = for_a_file(held, f"about {KEY}", [Secret(KEY)])
    assert KEY not in f"{found.messages} {found.events} {found.extra} {found.title}"
    assert found.messages[-1] is messages[-1]
    assert lost == [f"Keys were removed from {said}"]
    assert KEY in str(held.messages[0].content), "the conversation itself is as it was"


def test_nobody_is_told_that_keys_were_removed_where_there_were_none() -> None:
    why = {"numbers": (7,), "why": "m is not known to see images", "can_go": True}
    question = Message("user", "message", content="What is in it?", extra={"context": {"no": why}})
    found, said = for_a_file(Conversation([question], "a?"), "", [])
    assert said == []
    assert found.messages[0] is question
