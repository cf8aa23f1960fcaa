"""Chat messages of the OpenAI protocol, both ways.

One rule: nothing is shortened. What is written keeps to the protocol (known roles, every call
answered right behind it) and reads back as it was, but for what `write` names.

Source: the API reference of chat completions; the requests that Open Interpreter makes, with the
older `function_call` and role `function`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmc_jupyter.content.chat import (
    FUNCTION,
    IMAGES,
    NOT_RUN,
    PROPOSE,
    audio_part,
    decode_base64,
    fence,
    image_part,
    is_wav,
    number_of_cell,
    proposal_call,
    text_part,
    tool_call,
)
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import strict_json
from lmc_jupyter.formats.foreign import as_json, at_most
from lmc_jupyter.formats.losses import beside, differences, dumps, plain_keys
from lmc_jupyter.lmc import (
    CELL,
    LANGUAGES,
    WAS,
    Message,
    Role,
    canonical,
    cell_of,
    is_code,
    is_partial,
    is_proposal,
    is_thought,
)

NAME = "openai"
EXTENSIONS = (".openai.json", ".openai.jsonl")

_DATA = "data:image/"
_WORDS = {word for name, aliases in LANGUAGES.items() for word in (name, *aliases)}


# Write --------------------------------------------------------------------------------------------


def write(conversation: Conversation) -> tuple[bytes, list[str]]:
    """A list of chat messages; a dict with it where the file that was read had one."""
    losses = beside(conversation, keeps=("extra",) if set(conversation.extra) <= {NAME} else ())
    messages = plain_keys(conversation.messages, losses)
    chat = _ChatWriter()
    for message in messages:
        chat.add(message)
    chat.answer()
    own = _own(conversation)
    lines = _with_system(chat.messages, own.get("system"))
    request = own.get("request")
    value = {**request, "messages": lines} if isinstance(request, dict) and request else lines
    losses += differences(messages, _ChatReader(lines).conversation().messages)
    return (dumps(value) + "\n").encode(), losses


def _own(conversation: Conversation) -> Mapping[str, Any]:
    own = conversation.extra.get(NAME)
    return own if isinstance(own, dict) else {}


def _with_system(chat: list[dict[str, Any]], system: Any) -> list[Any]:
    """The chat with its system messages where they stood."""
    messages: list[Any] = list(chat)
    for each in system if isinstance(system, list) else ():
        if isinstance(each, dict) and isinstance(each.get("message"), dict):
            at = each.get("at")
            messages.insert(
                at if isinstance(at, int) and at >= 0 else len(messages), each["message"]
            )
    return messages


class _ChatWriter:
    """The chat so far; `calls` are those of the last assistant message, not answered yet."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.calls: dict[str, list[str]] = {}
        self.images: list[dict[str, Any]] = []
        self.joins = False
        self.count = 0

    def add(self, message: Message) -> None:
        if message.type == "confirmation" or message.format == "active_line":
            return
        if is_code(message) or is_proposal(message):
            self.code(message)
        elif message.role == "computer" and self.calls:
            self.result(message)
        else:
            self.answer()
            self.say(message)

    def say(self, message: Message) -> None:
        role = "assistant" if message.role == "assistant" else "user"
        part = _part_of(message)
        content: Any = part
        if isinstance(part, dict):
            content = [part] if role == "user" else _in_words(message)
        extra = message.extra.get(NAME)
        more = {k: v for k, v in extra.items() if k not in _OURS} if isinstance(extra, dict) else {}
        if is_thought(message):
            content, more = "", {**more, THOUGHT: content}
        is_answer = role == "assistant" and content and not more
        if is_answer and self.messages and _is_thought_alone(self.messages[-1]):
            self.messages[-1]["content"] = content
        else:
            self.messages.append({"role": role, "content": content, **more})
        self.joins = role == "assistant"

    def code(self, message: Message) -> None:
        if self.images or any(self.calls.values()):
            self.answer()
        self.count += 1
        id_, language = f"call{self.count:05d}", message.format or "text"
        call = (
            proposal_call(id_, language, message.content, cell_of(message))
            if is_proposal(message)
            else tool_call(id_, language, message.content)
        )
        if not (self.joins or self.calls):
            self.messages.append({"role": "assistant", "content": None})
        self.messages[-1].setdefault("tool_calls", []).append(call)
        self.calls[call["id"]] = []

    def result(self, message: Message) -> None:
        """What came of the last call."""
        part = _part_of(message, plainly=True)
        if isinstance(part, dict):
            self.images.append(part)
        else:
            self.calls[next(reversed(self.calls))].append(part)

    def answer(self) -> None:
        """Put the results behind their calls."""
        for number, (name, texts) in enumerate(self.calls.items(), 1):
            has_images = self.images and number == len(self.calls)
            nothing = IMAGE_FOLLOWS if has_images else NOT_RUN
            content: Any = texts[0] if len(texts) == 1 else list(map(text_part, texts)) or nothing
            self.messages.append({"role": "tool", "tool_call_id": name, "content": content})
        if self.images:
            self.messages.append({"role": "user", "content": [text_part(IMAGES), *self.images]})
        self.calls, self.images = {}, []
        self.joins = False


def _is_thought_alone(entry: Mapping[str, Any]) -> bool:
    """Whether what was said after that thought goes into the same chat message."""
    return THOUGHT in entry and entry["content"] == ""


IMAGE_FOLLOWS = "It showed what follows."
"""The answer to a call that put out no text, but an image."""
THOUGHT = "reasoning_content"
"""The key of a chat message that has what the model thought, as most servers write it."""
_OURS = {"role", "content", "tool_calls", "tool_call_id", "function_call", THOUGHT}


def _part_of(message: Message, *, plainly: bool = False) -> str | dict[str, Any]:
    """A message as a part with its data, or as text; `plainly` the text of a result alone."""
    content: str = message.content
    if message.type == "image" and message.format != "path":
        return image_part("jpeg" if message.format == "base64.jpeg" else "png", content)
    if message.type == "audio" and is_wav(decode_base64(content)):
        return audio_part(content)
    if message.type in ("image", "audio", "file"):
        return _in_words(message)
    if message.type == "message" or plainly:
        return content
    what = message.format if message.type == "code" else ""
    text = fence(what or "", content)
    return f"{text}\n(This was cut off, and not run.)" if is_partial(message) else text


def _in_words(message: Message) -> str:
    """What has a place here by its name only."""
    names = message.type == "file" or message.format == "path" or not decode_base64(message.content)
    return f"({message.type}: {message.content})" if names else f"({message.type})"


# Read ---------------------------------------------------------------------------------------------


def read(data: bytes) -> Conversation:
    """A list of chat messages, a request that has one, or JSON Lines of either.

    Raises
    ------
    FormatError
        When it is no JSON, or there are no chat messages in it.
    """
    losses: list[str] = []
    try:
        value = strict_json.loads(data, losses)
    except FormatError:
        if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            raise
        value = strict_json.lines(data, losses)
    if isinstance(value, list) and value and all(_is_request(each) for each in value):
        if len(value) > 1:
            losses.append(f"The file holds {len(value)} conversations: only the first is read.")
        value = value[0]
    request = {}
    if _is_request(value):
        request = {key: each for key, each in value.items() if key != "messages"}
        value = value["messages"]
    if not isinstance(value, list):
        raise FormatError("there are no chat messages in it: it should be a list of them")
    reader = _ChatReader(at_most(value), losses)
    conversation = reader.conversation()
    if request:
        conversation.extra.setdefault(NAME, {})["request"] = request
        model = request.get("model")
        conversation.model = model if isinstance(model, str) else ""
        beside_it = ", ".join(sorted(map(str, request)))
        losses.append(f"The other keys of the request ({beside_it}) are not used.")
    return conversation


def _is_request(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


class _ChatReader:
    """Chat messages -> LMC; a result follows its own call, wherever it stood."""

    def __init__(self, chat: Sequence[Any], losses: list[str] | None = None) -> None:
        self.chat = chat
        self.losses: list[str] = [] if losses is None else losses
        self.groups: list[list[Message]] = []
        self.waiting: dict[str, list[Message]] = {}
        self.last: list[Message] | None = None
        self.system: list[dict[str, Any]] = []

    def conversation(self) -> Conversation:
        for number, entry in enumerate(self.chat, 1):
            if isinstance(entry, dict):
                self.entry(number, entry)
            else:
                self.odd(number, entry)
        extra: dict[str, Any] = {NAME: {"system": self.system}} if self.system else {}
        if self.system:
            count = len(self.system)
            self.losses.append(
                f"Kept beside the conversation, because LMC has no such role: {count} "
                f"message{'s' if count > 1 else ''} of the system."
            )
        messages = [message for group in self.groups for message in group]
        return Conversation(messages, extra=extra, losses=self.losses)

    def entry(self, number: int, entry: Mapping[str, Any]) -> None:
        role = entry.get("role")
        if role in ("system", "developer"):
            self.system.append({"at": number - 1, "message": dict(entry)})
        elif role == "user":
            self.user(number, entry)
        elif role == "assistant":
            self.assistant(number, entry)
        elif role in ("tool", "function"):
            self.result(number, entry)
        else:
            self.odd(number, entry)

    def odd(self, number: int, entry: Any) -> None:
        self.losses.append(
            f"Entry {number} is no chat message: it was read as text for you, and no model gets it."
        )
        self.groups.append([Message("computer", "message", None, as_json(entry), "user")])

    def user(self, number: int, entry: Mapping[str, Any]) -> None:
        content = entry.get("content")
        if (
            self.last is not None
            and self.groups[-1] is self.last
            and isinstance(content, list)
            and content[:1] == [text_part(IMAGES)]
        ):
            self.last += self.parts(number, "computer", content[1:])
        else:
            self.groups.append(self.with_other_keys(entry, self.parts(number, "user", content)))
            self.last = None

    def assistant(self, number: int, entry: Mapping[str, Any]) -> None:
        calls = self.calls(entry)
        content, thought = entry.get("content"), entry.get(THOUGHT)
        messages: list[Message] = []
        if isinstance(thought, str) and thought:
            messages.append(Message("assistant", "message", None, thought, "user"))
        if content != "" or not (calls or messages):
            messages += self.parts(number, "assistant", content)
        if isinstance(entry.get("refusal"), str) and entry["refusal"]:
            messages.append(Message("assistant", "message", None, entry["refusal"]))
        if messages:
            self.groups.append(self.with_other_keys(entry, messages))
        self.last = None
        for name, function in calls:
            group = [self.call_message(number, function)]
            self.groups.append(group)
            self.waiting[name] = self.last = group

    def calls(self, entry: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Each call's id, and what it calls."""
        pairs = []
        calls = entry.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and isinstance(call.get("function"), dict):
                pairs.append((str(call.get("id")), call["function"]))
            else:
                pairs.append(("", {"name": "?", "arguments": as_json(call)}))
        if isinstance(entry.get("function_call"), dict):
            pairs.append(("", entry["function_call"]))
        return pairs

    def call_message(self, number: int, function: Mapping[str, Any]) -> Message:
        """Code, where it is the one function that LMC knows, or a language's own."""
        name, arguments = str(function.get("name") or ""), function.get("arguments")
        values: Any = arguments
        if isinstance(arguments, str):
            try:
                values = strict_json.loads(arguments.encode("utf-8", "replace"))
            except FormatError:
                values = None
        last = name.rpartition(".")[2]
        if last == PROPOSE and isinstance(values, dict) and isinstance(values.get("source"), str):
            word, cell = values.get("language"), number_of_cell(values.get("cell"))
            format_ = word if isinstance(word, str) and word else "python"
            extra = {} if cell is None else {CELL: cell}
            return Message("assistant", "code", format_, values["source"], "user", extra=extra)
        language = last if last.lower() in _WORDS else None
        if isinstance(values, dict) and isinstance(values.get("code"), str):
            if last == FUNCTION and isinstance(values.get("language"), str):
                language = values["language"]
            if language:
                return Message("assistant", "code", language, values["code"])
        elif language and isinstance(arguments, str):
            return Message("assistant", "code", canonical(language), arguments)
        self.losses.append(
            f"In entry {number} the model called the function {name[:60]!r}, which is not here: "
            "the call was read as text."
        )
        text = arguments if isinstance(arguments, str) else as_json(arguments)
        return Message("assistant", "message", None, fence("json", f"{name}({text})"))

    def result(self, number: int, entry: Mapping[str, Any]) -> None:
        group = self.waiting.pop(str(entry.get("tool_call_id")), None)
        if group is None and entry.get("role") == "function":
            group = self.last
        if group is None:
            group = []
            self.groups.append(group)
        content = entry.get("content")
        if content not in (NOT_RUN, IMAGE_FOLLOWS):
            group += self.parts(number, "computer", content)
        self.last = self.groups[-1]

    def parts(self, number: int, role: Role, content: Any) -> list[Message]:
        if content is None:
            return []
        if not isinstance(content, list):
            return [self.part(number, role, {"type": "text", "text": content})]
        return [self.part(number, role, each) for each in content]

    def part(self, number: int, role: Role, part: Any) -> Message:
        """One part of a message, as what it is."""
        kind = part.get("type") if isinstance(part, dict) else None
        text = part if isinstance(part, str) else None
        if isinstance(part, dict) and kind in ("text", "input_text", "output_text", "refusal"):
            text = part.get("refusal" if kind == "refusal" else "text")
        if isinstance(text, str):
            if role == "computer":
                return Message(role, "console", "output", text)
            return Message(role, "message", None, text)
        if kind in ("image_url", "input_image"):
            return self.image(number, role, part)
        sound = part.get("input_audio") if isinstance(part, dict) else None
        if (
            isinstance(sound, dict)
            and sound.get("format") == "wav"
            and isinstance(sound.get("data"), str)
        ):
            return Message(role, "audio", "wav", sound["data"])
        self.losses.append(
            f"Entry {number} has a part of the type {kind!r:.60}, which LMC does not have: it "
            "was read as text for you, and no model gets it."
        )
        was = {WAS: {"type": kind}} if role == "assistant" else {}  # so that it is no thought
        return Message(role, "message", None, as_json(part), "user", extra=was)

    def image(self, number: int, role: Role, part: Mapping[str, Any]) -> Message:
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        head, inside, data = url.partition(";base64,") if isinstance(url, str) else ("", "", "")
        if inside and head.startswith(_DATA):
            kind = head.removeprefix(_DATA)
            if kind in ("png", "jpeg", "jpg"):
                return Message(role, "image", f"base64.{kind.replace('jpg', 'jpeg')}", data)
            self.losses.append(
                f"The image of entry {number}, a {kind[:20]}, is unchanged: models may not read it."
            )
            return Message(role, "image", "base64", data, extra={WAS: {"type": kind}})
        self.losses.append(
            f"The image of entry {number} is at an address, and is not downloaded: the text has "
            "the address."
        )
        return Message(role, "message", None, f"(image: {url})")

    def with_other_keys(self, entry: Mapping[str, Any], messages: list[Message]) -> list[Message]:
        """What else a chat message says stays with the first message that is made of it."""
        more = {key: each for key, each in entry.items() if key not in _READ and each is not None}
        if more and messages:
            messages[0] = messages[0].marked(**{NAME: more})
        elif more:
            self.losses.append(
                f"An empty message had other keys ({', '.join(more)}), which are left out."
            )
        return messages


_READ = _OURS | {"refusal"}
