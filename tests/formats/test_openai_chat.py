"""OpenAI chat messages both ways; nothing is shortened, every call is answered."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from conversations import PNG, WAV, conversations
from hypothesis import given
from strict_provider import assert_acceptable

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import openai_chat
from lmc_jupyter.lmc import Message

PICTURE = base64.b64encode(PNG).decode()
SOUND = base64.b64encode(WAV).decode()


def user(text: str) -> Message:
    return Message("user", "message", content=text)


def said(text: str) -> Message:
    return Message("assistant", "message", content=text)


def code(text: str, language: str = "python") -> Message:
    return Message("assistant", "code", language, text)


def out(text: str) -> Message:
    return Message("computer", "console", "output", text)


def written(*messages: Message) -> list[dict[str, Any]]:
    data, lost = openai_chat.write(Conversation(messages))
    assert lost == []
    assert list(openai_chat.read(data).messages) == list(messages)
    found: list[dict[str, Any]] = json.loads(data)
    return found


def read(*chat: Any) -> Conversation:
    return openai_chat.read(json.dumps(chat).encode())


def shape(conversation: Conversation) -> list[tuple[str, str, str | None, Any]]:
    return [(each.role, each.type, each.format, each.content) for each in conversation.messages]


def test_a_conversation_as_chat_messages() -> None:
    assert written(user("Go."), said("So:"), code("6*7"), out("42\n"), said("It is 42.")) == [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": "So:",
            "tool_calls": [
                {
                    "id": "call00001",
                    "type": "function",
                    "function": {
                        "name": "execute",
                        "arguments": '{"language": "python", "code": "6*7"}',
                    },
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call00001", "content": "42\n"},
        {"role": "assistant", "content": "It is 42."},
    ]


def test_calls_in_a_row_pictures_and_outputs_keep_their_places() -> None:
    picture = Message("computer", "image", "base64.png", PICTURE)
    sound = Message("computer", "audio", "wav", SOUND)
    assert_acceptable(
        written(user("a"), code("1"), code("2"), out("2"), code("3"), picture, said("b"))
    )
    written(code("1"), out("1"), out("and 1"), picture, sound, picture, user("next"))
    written(code("1"), code("2"), user("not run, both"))
    written(user("one"), user("two"), said("three"), said("four"), code("5"))
    written(
        Message("user", "image", "base64.jpeg", PICTURE), Message("user", "audio", "wav", SOUND)
    )


def test_nothing_is_shortened() -> None:
    long = "".join(f"{n}\n" for n in range(100_000))
    _, _, answer = written(user("x"), code("f()"), out(long))
    assert answer["content"] == long


@given(conversations())
def test_every_call_is_answered_right_behind_it(conversation: Conversation) -> None:
    waiting: list[str] = []
    for each in json.loads(openai_chat.write(conversation)[0]):
        if each["role"] == "tool":
            assert each["tool_call_id"] == waiting.pop(0)
        else:
            assert waiting == []
        waiting += [call["id"] for call in each.get("tool_calls", ())]
    assert waiting == []


def test_what_open_interpreter_sent_is_read() -> None:
    found = read(
        {"role": "system", "content": "You are."},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "", "function_call":
            {"name": "execute", "arguments": '{"language": "shell", "code": "ls"}'}},
        {"role": "function", "name": "execute", "content": "a.txt"},
        {"role": "assistant", "content": None, "function_call":
            {"name": "python", "arguments": "print(1)"}},
        {"role": "function", "name": "python", "content": "1"},
    )  # fmt: skip
    assert shape(found) == [
        ("user", "message", None, "Go."),
        ("assistant", "code", "shell", "ls"),
        ("computer", "console", "output", "a.txt"),
        ("assistant", "code", "python", "print(1)"),
        ("computer", "console", "output", "1"),
    ]
    assert found.losses == [
        "Kept beside the conversation, because LMC has no such role: 1 message of the system."
    ]
    again = json.loads(openai_chat.write(found)[0])
    assert again[0] == {"role": "system", "content": "You are."}


def test_answers_find_their_calls_wherever_they_stand() -> None:
    calls = [
        {"id": name, "type": "function", "function":
            {"name": "execute", "arguments": json.dumps({"language": "python", "code": name})}}
        for name in ("a", "b")
    ]  # fmt: skip
    found = read(
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "content": "of b"},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "of a"}]},
        {"role": "tool", "tool_call_id": "nobody", "content": "of nobody"},
    )
    assert [each.content for each in found.messages] == ["a", "of a", "b", "of b", "of nobody"]


def test_parts_of_every_kind() -> None:
    url = f"data:image/jpeg;base64,{PICTURE}"
    found = read(
        {"role": "user", "name": "Ada", "content": [
            {"type": "text", "text": "Look:"},
            {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
            {"type": "image_url", "image_url": url.replace("jpeg", "webp")},
            {"type": "image_url", "image_url": {"url": "https://a.example/x.png"}},
            {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
            {"type": "file", "file": {"file_id": "f"}},
        ]},
        {"role": "assistant", "content": None, "refusal": "No."},
    )  # fmt: skip
    assert shape(found)[:5] == [
        ("user", "message", None, "Look:"),
        ("user", "image", "base64.jpeg", PICTURE),
        ("user", "image", "base64", PICTURE),
        ("user", "message", None, "(image: https://a.example/x.png)"),
        ("user", "audio", "wav", SOUND),
    ]
    assert found.messages[0].extra == {"openai": {"name": "Ada"}}
    assert [each.recipient for each in found.messages[5:7]] == ["user", "user"]
    assert shape(found)[7] == ("assistant", "message", None, "No.")
    assert len(found.losses) == 4
    assert json.loads(openai_chat.write(found)[0])[0]["name"] == "Ada"


def test_a_call_of_another_function_is_a_text_and_never_code() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "rm", "arguments": '{"code": "x"}'}}
    found = read({"role": "assistant", "content": None, "tool_calls": [call]},
                 {"role": "tool", "tool_call_id": "1", "content": "done"})  # fmt: skip
    assert shape(found) == [
        ("assistant", "message", None, '```json\nrm({"code": "x"})\n```'),
        ("computer", "console", "output", "done"),
    ]
    assert "'rm'" in found.losses[0]


def test_a_request_is_read_and_given_back() -> None:
    request = {"model": "gpt-x", "temperature": 0, "messages": [{"role": "user", "content": "x"}]}
    found = openai_chat.read(json.dumps(request).encode())
    assert found.model == "gpt-x"
    assert "model, temperature" in found.losses[0]
    assert json.loads(openai_chat.write(found)[0]) == request
    lines = "\n".join(json.dumps(request) for _ in range(3)).encode()
    assert openai_chat.read(lines).losses[0].startswith("The file holds 3 conversations")


# What is written ----------------------------------------------------------------------------------


def lines(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    """The chat that is written, whatever it does not keep."""
    found: list[dict[str, Any]] = json.loads(
        openai_chat.write(Conversation(list(messages), **more))[0]
    )
    return found


def call(id_: str, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": id_, "type": "function", "function": function}


def test_what_stands_beside_the_messages_and_is_not_kept_is_said() -> None:
    kept = Conversation([user("x")], extra={"openai": {"system": []}})
    assert openai_chat.write(kept)[1] == []
    for extra in ({"glm": {"a": 1}}, {"openai": {}, "glm": {"a": 1}}):
        [loss] = openai_chat.write(Conversation([user("x")], extra=extra))[1]
        assert "glm" in loss
    strange = Message("user", "message", content="x", extra={"openai": {"mine": {1}}})
    losses = openai_chat.write(Conversation([strange], title="T"))[1]
    assert any("T" in loss for loss in losses)
    assert any("saved as text: message 1." in loss for loss in losses)


@pytest.mark.parametrize(
    ("request_", "written_"), [({}, list), ([1], list), ("x", list), ({"model": "m"}, dict)]
)
def test_a_request_is_written_where_one_was_read(request_: Any, written_: type) -> None:
    assert isinstance(lines(user("x"), extra={"openai": {"request": request_}}), written_)
    assert isinstance(lines(user("x"), extra={"openai": 5}), list)


@pytest.mark.parametrize(
    ("system", "places"),
    [
        ([{"at": 0, "message": {"role": "system"}}], [0]),
        ([{"at": 1, "message": {"role": "system"}}], [1]),
        ([{"at": -1, "message": {"role": "system"}}], [2]),
        ([{"at": "0", "message": {"role": "system"}}], [2]),
        ([{"message": {"role": "system"}}], [2]),
        ([5, {"at": 0, "message": 5}, {"at": 0}], []),
        ("x", []),
    ],
)
def test_the_system_stands_where_it_stood_or_at_the_end(system: Any, places: list[int]) -> None:
    chat = lines(user("a"), user("b"), extra={"openai": {"system": system}})
    assert [at for at, each in enumerate(chat) if each["role"] == "system"] == places
    assert [each["content"] for each in chat if each["role"] == "user"] == ["a", "b"]


def test_questions_to_the_person_and_lines_that_ran_are_not_written() -> None:
    asks = Message("computer", "confirmation", "execution",
                   {"type": "code", "format": "python", "content": "1"})  # fmt: skip
    line = Message("computer", "console", "active_line", 1)
    assert lines(user("a"), asks, code("1"), line, out("1")) == lines(
        user("a"), code("1"), out("1")
    )
    assert lines(asks, line) == []


def test_a_proposal_is_a_call_of_its_own() -> None:
    proposal = Message("assistant", "code", "python", "x = 1", "user", extra={"cell": 7})
    other = Message("assistant", "code", "r", "y <- 1", "user")
    [asked, answer, more, last] = lines(proposal, user("ok"), other)[:4]
    assert asked == {
        "role": "assistant", "content": None,
        "tool_calls": [call("call00001", "propose_cell", cell=7, source="x = 1")],
    }  # fmt: skip
    assert answer["tool_call_id"] == "call00001"
    assert more == {"role": "user", "content": "ok"}
    assert last["tool_calls"] == [
        call("call00002", "propose_cell", cell="new", source="y <- 1", language="r")
    ]
    assert written(proposal, user("ok"), other)


def test_code_without_a_language_is_text() -> None:
    [asked, _] = lines(Message("assistant", "code", None, "x"))
    assert asked["tool_calls"] == [call("call00001", "execute", language="text", code="x")]


def test_calls_are_answered_by_what_came_of_them() -> None:
    picture = Message("computer", "image", "base64.png", PICTURE)
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
    showed = {"role": "user", "content": [{"type": "text", "text": openai_chat.IMAGES}, image]}
    chat = lines(code("1"), code("2"), picture, user("next"))
    assert [each["role"] for each in chat] == ["assistant", "tool", "tool", "user", "user"]
    assert [each["content"] for each in chat[1:3]] == [
        "This code was not run.", openai_chat.IMAGE_FOLLOWS
    ]  # fmt: skip
    assert chat[3:] == [showed, {"role": "user", "content": "next"}]
    chat = lines(code("1"), picture, code("2"), out("a"), out("b"), code("3"))
    assert [each["role"] for each in chat] == [
        "assistant", "tool", "user", "assistant", "tool", "assistant", "tool"
    ]  # fmt: skip
    assert chat[2] == showed
    assert chat[3] == {"role": "assistant", "content": None, "tool_calls": [
        call("call00002", "execute", language="python", code="2")]}  # fmt: skip
    assert chat[4]["content"] == [{"type": "text", "text": text} for text in "ab"]
    assert [len(each["tool_calls"]) for each in chat if each["role"] == "assistant"] == [1, 1, 1]


def test_code_joins_the_words_before_it_and_no_others() -> None:
    chat = lines(said("a"), code("1"), out("1"), code("2"), user("b"), said("c"), code("3"))
    assert [(each["role"], each["content"]) for each in chat] == [
        ("assistant", "a"), ("tool", "1"), ("assistant", None), ("tool", "This code was not run."),
        ("user", "b"), ("assistant", "c"), ("tool", "This code was not run."),
    ]  # fmt: skip


def test_a_thought_joins_the_answer_behind_it_and_nothing_else() -> None:
    thinks = Message("assistant", "message", None, "Hm.", "user")
    named = said("x").marked(openai={"name": "Ada", "content": "no"})
    for more, chat in (
        ([said("x")], [{"content": "x", "reasoning_content": "Hm."}]),
        ([said("x"), said("y")], [{"content": "x", "reasoning_content": "Hm."}, {"content": "y"}]),
        ([user("x")], [{"content": "", "reasoning_content": "Hm."}, {"content": "x"}]),
        ([thinks], [{"content": "", "reasoning_content": "Hm."}] * 2),
        ([said("")], [{"content": "", "reasoning_content": "Hm."}, {"content": ""}]),
        ([named], [{"content": "", "reasoning_content": "Hm."}, {"content": "x", "name": "Ada"}]),
    ):
        found = lines(thinks, *more)
        assert [{key: each[key] for key in each if key != "role"} for each in found] == chat
    chat = lines(thinks, code("1"), said("x"))
    assert [each.get("content") for each in chat] == ["", "This code was not run.", "x"]
    assert lines(said("a"), said("b")) == [
        {"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}
    ]  # fmt: skip


WORDS = [
    (Message("user", "image", "path", "a/b.png"), "(image: a/b.png)"),
    (Message("user", "image", "path", "AAAA"), "(image: AAAA)"),
    (Message("user", "file", None, "/a.pdf"), "(file: /a.pdf)"),
    (Message("user", "file", None, "AAAA"), "(file: AAAA)"),
    (Message("user", "audio", "wav", "AAAA"), "(audio)"),
    (Message("user", "audio", "wav", "no base64!"), "(audio: no base64!)"),
    (Message("assistant", "image", "base64.png", PICTURE), "(image)"),
    (Message("assistant", "audio", "wav", SOUND), "(audio)"),
    (Message("user", "code", "python", "1"), "```python\n1\n```"),
    (Message("user", "code", None, "1"), "```\n1\n```"),
    (Message("computer", "console", "output", "1"), "```\n1\n```"),
    (Message("user", "code", "r", "1", extra={"partial": True}),
     "```r\n1\n```\n(This was cut off, and not run.)"),
    (Message("assistant", "message", None, "1", extra={"partial": True}), "1"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "text"), WORDS, ids=[text for _, text in WORDS])
def test_what_has_no_place_in_a_chat_is_said_in_words(message: Message, text: str) -> None:
    [found] = lines(message)
    role = "assistant" if message.role == "assistant" else "user"
    assert found == {"role": role, "content": text}


@pytest.mark.parametrize(
    ("format_", "kind"), [("base64.png", "png"), ("base64.jpeg", "jpeg"), ("base64", "png")]
)
def test_images_of_a_person_are_parts(format_: str, kind: str) -> None:
    [found] = lines(Message("user", "image", format_, PICTURE))
    url = f"data:image/{kind};base64,{PICTURE}"
    assert found["content"] == [{"type": "image_url", "image_url": {"url": url}}]


def test_a_result_is_written_plainly() -> None:
    html = Message("computer", "code", "html", "<b>1</b>")
    assert [each["content"] for each in lines(code("1"), html)] == [None, "<b>1</b>"]


# What is read -------------------------------------------------------------------------------------


def test_losses_and_marks_are_heard_of_lists_and_of_lines() -> None:
    entry = '{"role": "user", "content": "\\ud800"}'
    for mark in ("", "\N{ZERO WIDTH NO-BREAK SPACE}", " \t\r\n"):
        for text in (f"[{entry}]", f"{entry}\n{entry}"):
            found = openai_chat.read((mark + text).encode())
            assert [each.content for each in found.messages][:1] == ["\N{REPLACEMENT CHARACTER}"]
            assert "lone surrogates" in found.losses[0]
    for bad in (b"[1,", b"x", b"{"):
        with pytest.raises(FormatError, match="not JSON"):
            openai_chat.read(bad)


def test_of_several_requests_the_first_is_read() -> None:
    requests = [{"messages": [{"role": "user", "content": text}]} for text in "ab"]
    for count in (1, 2):
        found = openai_chat.read(json.dumps(requests[:count]).encode())
        assert [each.content for each in found.messages] == ["a"]
        assert found.extra == {}
        assert len(found.losses) == count - 1
    assert "holds 2 conversations" in found.losses[0]


@pytest.mark.parametrize(("model", "name"), [("m", "m"), (5, ""), (None, "")])
def test_the_model_of_a_request_is_its_name(model: Any, name: str) -> None:
    request = {"model": model, "b": 1, "messages": []}
    found = openai_chat.read(json.dumps(request).encode())
    assert found.model == name
    assert found.extra == {"openai": {"request": {"model": model, "b": 1}}}
    assert found.losses == ["The other keys of the request (b, model) are not used."]


def test_what_has_no_list_is_said_to_have_none() -> None:
    with pytest.raises(FormatError, match=r"^there are no chat messages in it: .* list of them$"):
        openai_chat.read(b"5")


@pytest.mark.parametrize(("count", "words"), [(1, "1 message of"), (2, "2 messages of")])
def test_the_system_is_kept_beside_the_conversation(count: int, words: str) -> None:
    system = [{"role": role, "content": role} for role in ("system", "developer")][:count]
    found = read({"role": "user", "content": "x"}, *system)
    assert shape(found) == [("user", "message", None, "x")]
    assert found.extra == {
        "openai": {"system": [{"at": at, "message": each} for at, each in enumerate(system, 1)]}
    }
    [loss] = found.losses
    assert words in loss
    assert read({"role": "user", "content": "x"}).extra == {}


NO_MESSAGE = [5, {"role": "robot", "content": "x"}, ["a"]]


@pytest.mark.parametrize("odd", NO_MESSAGE, ids=str)
def test_an_entry_that_is_no_message_is_text_for_the_person(odd: Any) -> None:
    found = read({"role": "user", "content": "x"}, odd)
    message = found.messages[1]
    assert (message.role, message.type, message.recipient) == ("computer", "message", "user")
    assert json.loads(message.content) == odd
    assert found.losses == [
        "Entry 2 is no chat message: it was read as text for you, and no model gets it."
    ]


IMAGES_FOLLOW = {"role": "user", "content": [
    {"type": "text", "text": openai_chat.IMAGES},
    {"type": "image_url", "image_url": {"url": f"data:image/jpg;base64,{PICTURE}"}},
    {"type": "image_url", "image_url": {"url": "https://a.example/x.png"}},
]}  # fmt: skip
EXECUTES = {"role": "assistant", "content": None,
            "tool_calls": [call("1", "execute", language="python", code="f()")]}  # fmt: skip
FOLLOWS = {"role": "tool", "tool_call_id": "1", "content": openai_chat.IMAGE_FOLLOWS}


def test_images_behind_a_result_are_the_computers() -> None:
    found = read(EXECUTES, FOLLOWS, IMAGES_FOLLOW, {"role": "user", "content": "x"})
    assert shape(found) == [
        ("assistant", "code", "python", "f()"),
        ("computer", "image", "base64.jpeg", PICTURE),
        ("computer", "message", None, "(image: https://a.example/x.png)"),
        ("user", "message", None, "x"),
    ]
    [loss] = found.losses
    assert loss.startswith("The image of entry 3 is at an address")
    assert loss.endswith("the text has the address.")


@pytest.mark.parametrize(
    "before", [[], [EXECUTES, FOLLOWS, 5], [EXECUTES, FOLLOWS, {"role": "user", "content": "x"}],
               [EXECUTES, FOLLOWS, {"role": "assistant", "content": "x"}]], ids=len,
)  # fmt: skip
def test_such_images_elsewhere_are_the_persons(before: list[Any]) -> None:
    found = read(*before, IMAGES_FOLLOW)
    assert [each.role for each in found.messages[-3:]] == ["user"] * 3
    assert [each.type for each in found.messages[-3:]] == ["message", "image", "message"]


def test_a_part_that_is_not_here_is_text_for_the_person_and_says_where_it_stood() -> None:
    video = {"type": "video", "url": "v.mp4"}
    found = read({"role": "user", "content": [video]}, {"role": "assistant", "content": [video]},
                 EXECUTES, {"role": "tool", "tool_call_id": "1", "content": [video]})  # fmt: skip
    texts = [each for each in found.messages if each.type == "message"]
    assert [each.role for each in texts] == ["user", "assistant", "computer"]
    assert [each.recipient for each in texts] == ["user"] * 3
    assert [json.loads(each.content) for each in texts] == [video] * 3
    assert [each.extra.get("was") for each in texts] == [None, {"type": "video"}, None]
    assert [loss.partition(" has")[0] for loss in found.losses] == ["Entry 1", "Entry 2", "Entry 4"]
    assert "the type 'video', which" in found.losses[0]
    assert found.losses[0].endswith("was read as text for you, and no model gets it.")


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("plain", "plain"),
        ({"type": "text", "text": "a"}, "a"),
        ({"type": "input_text", "text": "a"}, "a"),
        ({"type": "output_text", "text": "a"}, "a"),
        ({"type": "refusal", "refusal": "no", "text": "a"}, "no"),
    ],
)
def test_a_text_is_one_by_whatever_name(part: Any, text: str) -> None:
    assert shape(read({"role": "assistant", "content": [part]})) == [
        ("assistant", "message", None, text)
    ]


@pytest.mark.parametrize("kind", ["image_url", "input_image"])
@pytest.mark.parametrize(("type_", "format_"), [("png", "png"), ("jpeg", "jpeg"), ("jpg", "jpeg")])
def test_images_are_read_by_both_names(kind: str, type_: str, format_: str) -> None:
    part = {"type": kind, "image_url": f"data:image/{type_};base64,{PICTURE}"}
    assert shape(read({"role": "user", "content": [part]})) == [
        ("user", "image", f"base64.{format_}", PICTURE)
    ]


def test_an_image_of_another_kind_is_unchanged_and_said() -> None:
    kind = "x" * 30
    part = {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,AA;base64,BB"}}
    found = read({"role": "user", "content": [part]})
    assert found.messages[0].content == "AA;base64,BB"
    assert found.messages[0].extra == {"was": {"type": kind}}
    [loss] = found.losses
    assert loss == f"The image of entry 1, a {kind[:20]}, is unchanged: models may not read it."
    for url in ("data:audio/wav;base64,AAAA", "data:image/png,AAAA", 7, None):
        part = {"type": "image_url", "image_url": url}
        assert shape(read({"role": "user", "content": [part]}))[0][1:3] == ("message", None)


def test_a_refusal_and_a_thought_stand_beside_the_words() -> None:
    entry = {"role": "assistant", "content": "c", "refusal": "r", "reasoning_content": "t"}
    found = read(entry)
    assert [(each.content, each.recipient) for each in found.messages] == [
        ("t", "user"), ("c", None), ("r", None)
    ]  # fmt: skip
    for empty in (5, "", None):
        assert shape(read({"role": "assistant", "content": "c", "reasoning_content": empty})) == [
            ("assistant", "message", None, "c")
        ]
    assert shape(read({"role": "assistant", "content": ""})) == [("assistant", "message", None, "")]


CALLS = [
    (call("1", "execute", language="shell", code="ls"), ("code", "shell", "ls", None)),
    (call("1", "functions.execute", language="r", code="1"), ("code", "r", "1", None)),
    (call("1", "Python", code="1", language="r"), ("code", "Python", "1", None)),
    (call("1", "propose_cell", cell=7, source="1"), ("code", "python", "1", "user")),
    (call("1", "propose_cell", cell="new", source="1", language="r"), ("code", "r", "1", "user")),
    (call("1", "propose_cell", source="1", language=""), ("code", "python", "1", "user")),
    (call("1", "propose_cell", source="1", language=5), ("code", "python", "1", "user")),
    ({"function": {"name": "py", "arguments": "1 +"}}, ("code", "python", "1 +", None)),
    ({"function": {"name": "python", "arguments": "\ud800"}},
     ("code", "python", "\N{REPLACEMENT CHARACTER}", None)),
    ({"function": {"name": "execute", "arguments": {"language": "r", "code": "1"}}},
     ("code", "r", "1", None)),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "shown"), CALLS, ids=[str(each[0])[-70:] for each in CALLS])
def test_a_call_that_is_known_is_code(asked: dict[str, Any], shown: tuple[Any, ...]) -> None:
    found = read({"role": "assistant", "content": None, "tool_calls": [asked]})
    [message] = found.messages
    assert message.role == "assistant"
    assert (message.type, message.format, message.content, message.recipient) == shown
    assert message.extra == ({"cell": 7} if 'cell\\": 7' in json.dumps(asked) else {})


TEXTS = [
    (call("1", "rm", code="x"), 'rm({"code": "x"})'),
    (call("1", "execute", code="x"), 'execute({"code": "x"})'),
    (call("1", "rm", language="python", code="x"), 'rm({"language": "python", "code": "x"})'),
    (call("1", "execute", source="x"), 'execute({"source": "x"})'),
    (call("1", "propose_cell", code="x"), 'propose_cell({"code": "x"})'),
    ({"function": {"arguments": "x"}}, "(x)"),
    ({"function": {"name": "f", "arguments": {"a": 1}}}, 'f({\n "a": 1\n})'),
    (5, "?(5)"),
]


@pytest.mark.parametrize(("asked", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_a_call_that_is_not_known_is_text(asked: Any, text: str) -> None:
    found = read({"role": "assistant", "content": None, "tool_calls": [asked]})
    assert shape(found) == [("assistant", "message", None, f"```json\n{text}\n```")]
    [loss] = found.losses
    assert loss.startswith("In entry 1 the model called the function '")
    assert loss.endswith("which is not here: the call was read as text.")


def test_the_name_of_a_function_is_cut() -> None:
    name = "f" * 99
    [loss] = read({"role": "assistant", "content": None, "tool_calls": [call("1", name)]}).losses
    assert f"{'f' * 60!r}" in loss


def test_an_answer_without_an_id_is_that_of_the_last_call() -> None:
    older = {"role": "assistant", "content": "",
             "function_call": {"name": "python", "arguments": "1"}}  # fmt: skip
    answer = {"role": "function", "name": "python", "content": "of 1"}
    assert [each.content for each in read(older, answer, answer).messages] == ["1", "of 1", "of 1"]
    assert [each.content for each in read(older, 5, answer).messages] == ["1", "of 1", "5"]
    found = read(EXECUTES, older, answer, {"role": "tool", "tool_call_id": "1", "content": "of f"})
    assert [each.content for each in found.messages] == ["f()", "of f", "1", "of 1"]
    tool = {"role": "tool", "tool_call_id": "nobody", "content": "of nobody"}
    found = read(EXECUTES, older, tool, answer)
    assert [each.content for each in found.messages] == ["f()", "1", "of nobody", "of 1"]
    found = read(
        EXECUTES, {"role": "tool", "tool_call_id": "1", "content": "This code was not run."}
    )
    assert [each.content for each in found.messages] == ["f()"]


def test_other_keys_stay_with_the_first_message_or_are_named() -> None:
    entry = {"role": "user", "name": "Ada", "empty": None, "mine": 1}
    found = read({**entry, "content": ["a", "b"]}, {**entry, "content": []})
    assert [each.extra for each in found.messages] == [{"openai": {"name": "Ada", "mine": 1}}, {}]
    assert found.losses == ["An empty message had other keys (name, mine), which are left out."]


ODD: list[Any] = [
    7, None, [], "x", {}, {"role": 7}, {"role": "user"}, {"role": "user", "content": 7},
    {"role": "user", "content": [7, None, {"type": 3}, {"type": "text"}, {"type": ["text"]}]},
    {"role": "user", "content": [{"type": "image_url", "image_url": 7}]},
    {"role": "assistant", "content": None}, {"role": "assistant", "tool_calls": 7},
    {"role": "assistant", "tool_calls": [7, {"function": {"name": 7, "arguments": 8}}]},
    {"role": "assistant", "tool_calls": [{"function": {"name": "execute", "arguments": "{"}}]},
    {"role": "tool", "content": "x"}, {"role": "function"}, {"role": "tool", "tool_call_id": []},
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_whatever_stands_there_is_read_without_harm(odd: Any) -> None:
    found = read({"role": "user", "content": "x"}, odd, {"role": "user", "content": "y"})
    assert [found.messages[0].content, found.messages[-1].content] == ["x", "y"]
    openai_chat.write(found)


@pytest.mark.parametrize("bad", ["7", '"x"', "{}", '{"messages": 7}'])
def test_what_has_no_chat_messages_is_a_sentence(bad: str) -> None:
    with pytest.raises(FormatError, match="chat messages"):
        openai_chat.read(bad.encode())
