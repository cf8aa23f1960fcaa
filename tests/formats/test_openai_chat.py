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
