"""GLM chat histories: the specification's every key, the shapes of real files, any conversation."""

from __future__ import annotations

import builtins
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from conversations import VALUES, conversations
from hypothesis import given
from hypothesis import strategies as st

from lmc_jupyter.conversation import Action, Conversation
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import formats, read
from lmc_jupyter.formats.glm import as_json, as_protobuf, as_yaml, dictionary
from lmc_jupyter.formats.glm.settings import about, greeting, limits_of, model_options
from lmc_jupyter.limits import Limits
from lmc_jupyter.lmc import Message

FILES = Path(__file__).parents[2] / "files" / "glm"
FORMS = [as_yaml, as_json, as_protobuf]
EXACT = [as_yaml, as_json]


def specification() -> dict[str, Any]:
    """The dictionary with every key that the specification names, and some that it does not."""
    loaded = yaml.safe_load((FILES / "specification.yaml").read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def file(name: str) -> Conversation:
    return read(FILES / name)


def texts(value: Any) -> Iterator[Any]:
    """Every leaf, and every key."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    else:
        yield value


def said(conversation: Conversation) -> list[tuple[str, str, str]]:
    return [(each.role, each.type, each.content) for each in conversation.messages]


# The specification --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.NAME)
def test_the_dictionary_comes_back_equal(form: Any) -> None:
    document = specification()
    conversation = dictionary.from_dict(document)
    data, lost = form.write(conversation)
    assert lost == []
    assert dictionary.to_dict(form.read(data)) == (document, [])


def test_what_each_key_of_the_history_becomes() -> None:
    conversation = file("specification.yaml")
    assert said(conversation) == [
        ("user", "message", specification()["history"][0]["user"]["content"]),
        ("assistant", "message", "I look at the table first."),
        ("assistant", "code", "hot = df[df.t > 30]\nhot.station.unique()"),
        ("assistant", "code", "get_station('Konstanz', unit='C', years=[2022, 2023])"),
        ("user", "message", "Thanks: two of them."),
        ("assistant", "message", ""),
    ]
    asked, answer = conversation.messages[:2]
    assert (asked.extra["token_count"], asked.extra["sentiment"]) == (21, "curious")
    assert (answer.extra["completion_time"], answer.extra["feedback"]) == (2.75, "up")
    assert conversation.messages[5].extra["feedback"] == "The answer came late."
    [event] = conversation.events
    assert (event.at, event.data["target"]) == (4, "show-map")
    assert conversation.began == "2023-10-06T12:30:00+02:00"
    assert conversation.model == "llama-2-13b-chat"


def test_what_the_settings_hold_code_to() -> None:
    assert limits_of(file("specification.yaml")) == Limits(
        max_blocks=2,
        max_block_tokens=400,
        run=True,
        ask_always=True,
        atomic_sequences=(("$$", "$$"), ("\\[", "\\]")),
        functions=("get_station", "plot_map"),
    )


def test_what_the_file_asks_for_is_told_and_not_taken() -> None:
    conversation = file("specification.yaml")
    assert model_options(conversation) == {"temperature": 0.2, "top_p": 0.9}
    assert greeting(conversation) == "Ask me about the weather of Baden."
    assert about(conversation)["available_user_info"]["preferred_name"] == "Kim"
    told = "\n".join(conversation.losses)
    assert "It greets you: Ask me about the weather of Baden." in told
    assert "current_session().choose_options(temperature=0.2, top_p=0.9)" in told
    assert "never used: api_base, n_gpu_layers" in told
    assert "198.51.100.7" not in told


def test_a_thumb_and_a_press_are_written_where_the_specification_has_them() -> None:
    conversation = Conversation(
        [
            Message("user", "message", content="Hi."),
            Message("assistant", "message", content="Hello.", extra={"feedback": "down"}),
        ],
        events=[Action(2, {"action": "run", "time": "2026-11-21T22:00:00+00:00", "message": "a1"})],
    )
    assert dictionary.to_dict(conversation)[0]["history"] == [
        {"user": {"content": "Hi."}},
        {"assistant": {"content": "Hello.", "feedback": "down"}},
        {
            "user_interaction": {
                "action": "run",
                "time": "2026-11-21T22:00:00+00:00",
                "message": "a1",
            }
        },
    ]


def test_code_and_what_it_said_are_a_call_and_its_return() -> None:
    conversation = Conversation(
        [
            Message("assistant", "message", content="I count."),
            Message("assistant", "code", "python", "len(df)"),
            Message("computer", "console", "output", "344"),
            Message("computer", "image", "base64.png", "iVBORw0KGgo="),
        ]
    )
    [entry] = dictionary.to_dict(conversation)[0]["history"]
    [call] = entry["assistant"]["function_calls"]
    kwargs = {"language": "python", "code": "len(df)"}
    assert call == {
        "name": "execute",
        "parameters": {"args": [], "kwargs": kwargs},
        "return": "344",
    }
    assert entry["assistant"]["content"] == "I count."
    assert dictionary.from_dict({"history": [entry]}).messages == conversation.messages


def test_what_was_read_stays_when_a_thumb_and_new_messages_come() -> None:
    conversation = dictionary.from_dict(specification())
    messages = [each.stamped() for each in conversation.messages]
    messages[5] = messages[5].marked(feedback="up")
    more = [*messages, Message("user", "message", content="Good.").stamped()]
    document, _ = dictionary.to_dict(replace(conversation, messages=more))
    before = specification()
    assert document["history"][1]["assistant"]["meta"]["backend"] == "a server of ours"
    assert document["history"][5 - 1]["assistant"]["feedback"] == "up"
    assert len(document["history"]) == len(before["history"]) + 1
    again = dictionary.from_dict(document)
    assert [each.id for each in again.messages] == [each.id for each in more]


def test_what_was_edited_is_written_as_it_is_now() -> None:
    conversation = dictionary.from_dict(specification())
    messages = list(conversation.messages)
    messages[2] = replace(messages[2], content="df.t.max()")
    document, _ = dictionary.to_dict(replace(conversation, messages=messages))
    first, _ = document["history"][1]["assistant"]["function_calls"]
    assert first["parameters"]["kwargs"]["code"] == "df.t.max()"
    assert document["history"][1]["assistant"]["meta"]["backend"] == "a server of ours"


# The four shapes of real files --------------------------------------------------------------------

SHAPES = sorted(path.name for path in FILES.glob("shape-*.yaml"))


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.NAME)
def test_a_real_shape_is_read_and_nothing_of_it_is_lost(name: str, form: Any) -> None:
    conversation = file(name)
    data, lost = form.write(conversation)
    assert lost == []
    written = dictionary.to_dict(form.read(data))[0]
    assert set(written) >= {"history"}
    there = list(map(json.dumps, texts(written)))
    for each in texts(shape(name)):
        moved = {"tracker": "history", "metadata": "meta", "user_info": "available_user_info"}
        if each != "role":
            assert json.dumps(each) in there or json.dumps(moved.get(str(each))) in there
    assert form.read(form.write(form.read(data))[0]).messages == form.read(data).messages


def shape(name: str) -> Any:
    """The file by another loader: PyYAML's own, with the tags as words."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.yaml_implicit_resolvers = {
        key: [(tag, at) for tag, at in each if not tag.endswith(":timestamp")]
        for key, each in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def word(loader: Any, *more: Any) -> str:
        node = more[-1]
        scalar = node if isinstance(node, yaml.ScalarNode) else node.value[0]
        return str(scalar.value).lower()

    Loader.add_constructor("!ConversationRole", word)
    Loader.add_multi_constructor("tag:yaml.org,2002:python/object/apply:", word)
    return yaml.load((FILES / name).read_text("utf-8"), Loader=Loader)


def test_shape_1_the_one_real_file() -> None:
    conversation = file("shape-1-chat.yaml")
    assert [role for role, _, _ in said(conversation)] == ["user", "assistant", "user"]
    assert limits_of(conversation).run is False, "in settings of settings, too"
    assert limits_of(conversation).functions == ("get_weather", "plot")
    assert "German" in str(about(conversation))
    assert any("instructions, which the model does not get" in each for each in conversation.losses)
    assert dictionary.to_dict(conversation)[0] == shape("shape-1-chat.yaml")


def test_shape_2_a_bare_list_with_tags_of_python() -> None:
    assert said(file("shape-2-roles.yaml")) == [
        ("user", "message", "What is the weather in Berlin?"),
        ("assistant", "message", "It is sunny."),
    ]


def test_shape_3_a_tracker_with_calls_and_keys_that_are_aliases() -> None:
    conversation = file("shape-3-tracker.yaml")
    assert said(conversation) == [
        ("user", "message", "How many rows has it?"),
        ("assistant", "message", "I count them."),
        ("assistant", "code", "len(df)"),
        ("computer", "console", "344"),
    ]
    document = dictionary.to_dict(conversation)[0]
    assert document["system"] == {
        "system_message": "You are an assistant.",
        "available_user_info": {"name": "Kim"},
    }
    assert document["inversion_scheme"]["stop"]["USER".upper()] == "stop"
    assert "no kind of message for 1 of its entries" in conversation.losses[0], (
        "a system entry is no message"
    )


def test_shape_4_a_tracker_of_2025() -> None:
    conversation = file("shape-4-2025.yaml")
    assert said(conversation) == [
        ("user", "message", "How many rows has it?"),
        ("assistant", "message", "I count them."),
        ("assistant", "code", "n = len(df)\nn\n"),
        ("computer", "console", "344"),
        ("assistant", "message", "It has 344 rows."),
    ]
    document = dictionary.to_dict(conversation)[0]
    assert document["meta"] == {"session": 17}
    assert document["data"] == {"open_tab": "table"}
    assert document["history"][1]["assistant"]["feedback"] == "good"


# Any conversation, any dictionary -----------------------------------------------------------------


def same(before: Conversation, after: Conversation, *, exactly: bool) -> None:
    for name in ("messages", "title", "model", "began", "notebook", "events", "extra"):
        one, other = getattr(before, name), getattr(after, name)
        if name == "messages":
            one, other = ([each.to_dict() for each in each] for each in (one, other))
        elif name == "events":
            one, other = ([(each.at, dict(each.data)) for each in each] for each in (one, other))
        assert one == other, name
        if exactly:
            assert json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize("form", EXACT, ids=lambda form: form.NAME)
@given(conversation=conversations())
def test_any_conversation_comes_back_as_it_was(form: Any, conversation: Conversation) -> None:
    data, lost = form.write(conversation)
    assert lost == []
    after = form.read(data)
    same(conversation, after, exactly=True)
    assert form.read(form.write(after)[0]) == after


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, {"mine": 1}], ids=repr)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.NAME)
def test_whatever_stands_under_our_own_name_comes_back(form: Any, value: Any) -> None:
    data, lost = form.write(Conversation(model="m", extra={"glm": value}))
    assert lost == []
    assert form.read(data).extra == {"glm": value}
    assert form.read(data).model == "m"


@given(conversation=conversations())
def test_any_conversation_comes_back_from_protobuf_but_for_large_numbers(
    conversation: Conversation,
) -> None:
    data, lost = as_protobuf.write(conversation)
    after = as_protobuf.read(data)
    if lost:
        assert all("cannot hold an integer exactly" in each for each in lost)
        assert [each.id for each in after.messages] == [each.id for each in conversation.messages]
    else:
        same(conversation, after, exactly=False)


KEYS = st.sampled_from(
    ["content", "meta", "function_calls", "sentiment", "feedback", "code", "return_value", "name",
     "parameters", "args", "kwargs", "language", "return", "original_call", "token_count", "lmc",
     "messages", "at", "role", "type", "user", "assistant", "more", "x"]
)  # fmt: skip
BODIES = st.recursive(
    VALUES | st.sampled_from(["execute", "up", "down", "user", "f"]),
    lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=2),
    max_leaves=12,
)
ENTRIES = st.one_of(
    st.dictionaries(
        st.sampled_from(["user", "assistant", "user_interaction", "computer", "system"]),
        st.dictionaries(KEYS.filter(lambda key: key != "meta"), BODIES, max_size=5)
        | st.fixed_dictionaries(
            {"content": VALUES},
            optional={
                "meta": st.dictionaries(KEYS.filter(lambda key: key != "lmc"), BODIES, max_size=3),
                "function_calls": BODIES,
                "feedback": BODIES,
            },
        )
        | VALUES,
        max_size=2,
    ),
    VALUES,
)
DOCUMENTS = st.fixed_dictionaries(
    {"history": st.lists(ENTRIES, max_size=4)},
    optional={
        "meta": VALUES | st.fixed_dictionaries({"chat_started": VALUES, "used_model": VALUES}),
        "settings": BODIES,
        "system": BODIES,
        "more": BODIES,
    },
)


SPEAKERS = {"user", "assistant", "user_interaction", "computer"}


def apart(history: list[Any]) -> Iterator[Any]:
    """What two say in one entry is two entries."""
    for entry in history:
        two = isinstance(entry, dict) and len(entry) > 1 and set(entry) <= SPEAKERS
        yield from ({role: said} for role, said in entry.items()) if two else [entry]


def test_an_entry_that_lacks_the_dash_between_two_is_read_as_two() -> None:
    entries = [{"user": "How many rows?", "assistant": {"content": "12."}}, {"user": "Thanks."}]
    conversation = dictionary.from_dict({"history": entries})
    assert [each.content for each in conversation.messages] == ["How many rows?", "12.", "Thanks."]
    assert conversation.losses == []


@given(DOCUMENTS)
def test_any_dictionary_is_written_as_it_was_read(document: dict[str, Any]) -> None:
    conversation = dictionary.from_dict(document)
    for message in conversation.messages:
        json.dumps(message.to_dict())
    written, lost = dictionary.to_dict(conversation)
    assert lost == []
    assert written == {**document, "history": [*apart(document["history"])]}
    limits_of(conversation)
    model_options(conversation)


# Protobuf -----------------------------------------------------------------------------------------


PACKAGE = Path(as_protobuf.__file__).parent


def test_the_descriptor_says_what_the_schema_says() -> None:
    """glm.descriptor.pb is the output of protoc --descriptor_set_out, for glm.proto as it is."""
    from google.protobuf import descriptor_pb2

    data = (PACKAGE / "glm.descriptor.pb").read_bytes()
    [found] = descriptor_pb2.FileDescriptorSet.FromString(data).file
    text = re.sub(r"//.*", "", (PACKAGE / "glm.proto").read_text("utf-8"))
    messages = {
        name: re.findall(r"(?:(optional|repeated) )?([\w.]+) (\w+) = (\d+);", body)
        for name, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.S)
    }
    assert len(messages) > 5
    assert f'syntax = "{found.syntax}";\n\npackage {found.package};' in text
    types = descriptor_pb2.FieldDescriptorProto.Type
    assert messages == {
        message.name: [
            (
                "repeated" if field.label == field.LABEL_REPEATED
                else "optional" if field.proto3_optional else "",
                field.type_name.removeprefix(f".{found.package}.").removeprefix(".")
                or types.Name(field.type)[5:].lower(),
                field.name,
                str(field.number),
            )
            for field in message.field
        ]
        for message in found.message_type
    }  # fmt: skip


def test_the_keys_of_the_specification_have_fields_of_their_own() -> None:
    message = as_protobuf._chat_history()()
    message.ParseFromString(as_protobuf.write(dictionary.from_dict(specification()))[0])
    assert message.history[0].user.meta.token_count == 21
    assert message.history[1].assistant.function_calls[0].parameters.kwargs.fields["code"]
    assert message.history[0].user.meta.more.fields["client"].string_value == "web"
    assert message.settings.function_calls.available_functions[0].help == "Values of a station."
    assert message.settings.function_calls.compiler_trust_level == 0
    assert message.settings.function_calls.HasField("compiler_trust_level")
    assert message.system.primary_message.startswith("Ask me")
    assert list(message.more.fields) == ["notes"]


def test_without_the_runtime_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def gone(name: str, *more: Any, **others: Any) -> Any:
        if name.startswith("google"):
            raise ImportError(name)
        return real(name, *more, **others)

    for name in [each for each in sys.modules if each.startswith("google.protobuf")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", gone)
    as_protobuf._chat_history.cache_clear()
    try:
        with pytest.raises(FormatError, match=r"pip install 'lmc-jupyter\[protobuf\]'"):
            as_protobuf.write(Conversation())
    finally:
        as_protobuf._chat_history.cache_clear()


def test_the_formats_are_found_by_name_and_by_ending(tmp_path: Path) -> None:
    from lmc_jupyter.formats import write

    conversation = dictionary.from_dict(specification())
    for ending in ("yaml", "glm.yaml", "glm.json", "glm.pb"):
        path = tmp_path / f"chat.{ending}"
        write(conversation, path)
        assert dictionary.to_dict(read(path))[0] == specification()
    plain = tmp_path / "chat.json"
    write(conversation, plain, "glm-json")
    assert read(plain).messages == conversation.messages, "by a look at what is in it"
    assert {"glm-yaml", "glm-json", "glm-protobuf"} <= set(formats())


def test_the_example_of_the_documentation_opens() -> None:
    page = (FILES.parents[2] / "docs" / "glm.md").read_text("utf-8")
    example = page.rpartition("```yaml\n")[2].partition("```")[0]
    conversation = as_yaml.read(example.encode())
    assert [content for _, _, content in said(conversation)] == [
        "What is the area of a circle of radius 2?",
        "I compute it.",
        "import math; math.pi * 2**2",
        "12.566370614359172",
    ]
    assert conversation.losses[0] == "It greets you: Ask me about circles."
    assert limits_of(conversation).max_blocks == 2
