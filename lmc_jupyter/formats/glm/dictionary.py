"""The GLM chat history: the specification's dictionary <-> a conversation.

One rule: nothing that is read is lost. An entry of the history becomes messages; the keys that
messages cannot have stay beside them, and writing joins both: the dictionary that was read is the
dictionary that is written. Nothing here decides what a file may do; see `settings`.

The specification has the keys history, meta, settings and system, and no place for what the
computer answers, nor for ids and images: they stand in `meta.lmc` ("additional keys are allowed"),
and results as text in `return` of the call, as the programs write that use the format. docs/glm.md
has the whole mapping.

Why one file: an entry is stored as it was read only where writing its messages would not give it
back, so that reading calls writing and writing calls reading. Why not a fixed mapping alone: other
programs write keys that nobody has listed, and their files must come out as they went in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from lmc_jupyter.conversation import Action, Conversation
from lmc_jupyter.errors import FormatError, ProtocolError
from lmc_jupyter.formats.foreign import unique
from lmc_jupyter.formats.losses import is_plain, plain
from lmc_jupyter.lmc import FEEDBACK, SENTIMENT, Message, clean

FAMILY = "glm"
"""The key of `Conversation.extra` and `Message.extra` that holds what has no place in LMC."""
MAX_DEPTH = 60
"""Levels of a dictionary that is written; the loaders read 64."""

MAX_ENTRIES = 100_000
MAX_CALLS = 100_000
"""Of a dictionary that is read."""

_ROLES = ("user", "assistant", "user_interaction", "computer")
_OF_META = ("token_count", "completion_time")
_NOTHING = object()
_NAME = re.compile(r"[^\W\d]\w{0,79}(?:\.[^\W\d]\w{0,79}){0,7}")

Path = tuple["str | int", ...]
"""Where in an entry a text stands."""


def from_dict(document: Any, what: str = "this") -> Conversation:
    """The conversation that a dictionary of the specification holds.

    Parameters
    ----------
    document : the dictionary; or what older programs wrote: a list of entries, or a dictionary
        with a `tracker`, in place of `history`
    what : what it is, to begin a sentence

    Raises
    ------
    FormatError
        When it is none, or `meta.lmc` holds what LMC does not allow.
    """
    document = _normal(document, what)
    messages: list[Message] = []
    losses: list[str] = []
    strange = 0
    events: list[tuple[int | None, int, dict[str, Any]]] = []
    for number, entry in enumerate(document["history"], 1):
        try:
            read, event = _read(entry)
        except ProtocolError as error:
            raise FormatError(f"{what}: entry {number} of its history: {error}") from None
        if event is not None:
            strange += FAMILY in event
            lmc = _lmc(event)
            at = lmc.get("at") if isinstance(lmc, dict) else None
            if not isinstance(at, int) or isinstance(at, bool) or at < 0:
                at = None
            else:
                event = _without_lmc(event, "at")
            events.append((at, len(messages), event))
        messages += read
    if strange:
        losses.append(
            f"LMC has no kind of message for {strange} of its entries: they are saved again, and "
            "not shown."
        )
    rest = {key: value for key, value in document.items() if key != "history"}
    lmc, rest = _lmc(rest), _without_lmc(rest)
    lmc = lmc if isinstance(lmc, dict) else {}
    began, rest = _pop_meta(rest, "chat_started")
    model, rest = _pop_meta(rest, "used_model")
    others = lmc.get("extra")
    extra: dict[str, Any] = dict(others) if isinstance(others, dict) else {}
    if rest:
        extra[FAMILY] = rest
    return Conversation(
        unique(messages, losses),
        _text_of(lmc, "title"),
        model,
        began,
        _text_of(lmc, "notebook"),
        [Action(here if at is None else at, data) for at, here, data in events],
        extra,
        losses,
    )


def to_dict(
    conversation: Conversation, max_depth: int = MAX_DEPTH
) -> tuple[dict[str, Any], list[str]]:
    """The specification's dictionary of a conversation, and sentences on what it cannot carry.

    Parameters
    ----------
    max_depth : levels that it may have; what is deeper becomes a text, and that is said
    """
    others = dict(conversation.extra)
    family = others.get(FAMILY)
    rest = dict(others.pop(FAMILY)) if isinstance(family, Mapping) and family else {}
    rest.pop("history", None)
    before = rest.pop("meta", None) if "meta" in rest else _NOTHING
    meta = dict(before) if isinstance(before, Mapping) else {}
    for key, value in (("chat_started", conversation.began), ("used_model", conversation.model)):
        if value and _time_text(meta.get(key)) != value:
            meta[key] = value
    lmc = {"title": conversation.title, "notebook": conversation.notebook, "extra": others}
    if lmc := {key: value for key, value in lmc.items() if value}:
        meta["lmc"] = lmc
    document: dict[str, Any] = {"history": list(_history(conversation))}
    if meta and not isinstance(before, Mapping) and before not in (None, _NOTHING):
        meta["meta"] = before  # it was no mapping
    if meta or before is not _NOTHING:
        document["meta"] = meta or before
    document |= rest
    losses: dict[str, None] = {}
    plain = {clean(k): _plain(v, k, max_depth - 1, losses) for k, v in document.items()}
    return plain, list(losses)


def messages_of(entry: Mapping[str, Any]) -> list[Message]:
    """The messages of an entry of a dictionary that was written."""
    role = _role(entry)
    if not role or role == "user_interaction":
        return []
    messages = [message for message, _ in _read_keys(dict(entry), role)]
    return _add_details(messages, _lmc_of(entry[role]))


# Shapes -------------------------------------------------------------------------------------------


def _normal(value: Any, what: str) -> dict[str, Any]:
    """A file's dictionary in the specification's shape: keys move, nothing is dropped."""
    if isinstance(value, list):
        value = {"history": value}
    if not isinstance(value, dict):
        raise FormatError(
            f"{what} is not a GLM chat history: it is {_kind(value)}, and not a mapping with "
            "'history'"
        )
    document: dict[str, Any] = dict(value)
    if "history" not in document and "tracker" in document:
        document = {"history": document.pop("tracker"), **document}
        _move(document, "metadata", (), "meta")
        _move(document, "system_message", ("system",), "system_message")
        _move(document, "user_info", ("system",), "available_user_info")
    history = document.get("history")
    if not isinstance(history, list):
        problem = f"its 'history' is {_kind(history)}" if "history" in document else "it has none"
        raise FormatError(
            f"{what} is not a GLM chat history: it needs a list 'history', and {problem}"
        )
    if len(history) > MAX_ENTRIES:
        raise FormatError(
            f"{what} has {len(history):,} entries in its history, and {MAX_ENTRIES:,} are the most "
            "that are read"
        )
    document["history"] = [one for entry in history for one in _apart(_normal_entry(entry))]
    if (calls := sum(map(_calls_in, document["history"]))) > MAX_CALLS:
        raise FormatError(
            f"{what} has {calls:,} calls in its history, and {MAX_CALLS:,} are the most that are "
            "read"
        )
    return document


def _move(document: dict[str, Any], key: str, under: Sequence[str], name: str) -> None:
    """Put what stands at the top where the specification has it, if nothing is there yet."""
    into: Any = document
    for each in under:
        into = into.get(each, {})
    if key not in document or not isinstance(into, dict) or name in into:
        return
    if name == "meta" and not isinstance(document[key], dict):
        return
    value = document.pop(key)
    if under:
        document[under[0]] = {**into, name: value}
    else:
        document[name] = value


def _normal_entry(entry: Any) -> Any:
    """`{role: user, content: ...}` as `{user: {content: ...}}`."""
    if isinstance(entry, dict) and isinstance(entry.get("role"), str):
        role = entry["role"].lower()
        if role in _ROLES:
            return {role: {key: value for key, value in entry.items() if key != "role"}}
    return entry


def _apart(entry: Any) -> Iterator[Any]:
    """`{user: ..., assistant: ...}` as two entries: a dash was forgotten between them."""
    if isinstance(entry, dict) and len(entry) > 1 and all(key in _ROLES for key in entry):
        yield from ({role: body} for role, body in entry.items())
    else:
        yield entry


def _calls_in(entry: Any) -> int:
    """How many calls, and details of messages, have to be gone through for this entry."""
    count = 0
    for body in entry.values() if isinstance(entry, dict) else ():
        if isinstance(body, dict):
            for each in (body.get("function_calls"), _lmc_of(body)):
                count += len(each) if isinstance(each, list) else 0
    return count


def _role(entry: Mapping[str, Any]) -> str:
    """Whose entry it is, or ""."""
    entry = _normal_entry(entry)
    roles = [key for key in entry if key in _ROLES]
    return roles[0] if len(roles) == 1 else ""


# Reading an entry ---------------------------------------------------------------------------------


def _read(entry: Any) -> tuple[list[Message], dict[str, Any] | None]:
    """(messages, None) of an entry; or ([], event) for an action, or an entry without messages."""
    role = _role(entry) if isinstance(entry, dict) else ""
    if not role:
        return [], {FAMILY: {"entry": entry}}
    if role == "user_interaction":
        return _read_interaction(entry)
    pairs = list(_read_keys(entry, role))
    messages = _add_details([message for message, _ in pairs], _lmc_of(entry[role]))
    if not messages:
        return [], {FAMILY: {"entry": entry}}
    if _write_entry(messages) != (entry, len(messages)):
        paths = [list(path) for _, path in pairs]
        skeleton = _with(entry, [(path, "") for path in paths])
        skeleton = {**skeleton, role: _without_lmc(skeleton[role], "messages")}
        messages[0] = messages[0].marked(**{FAMILY: {"entry": skeleton, "paths": paths}})
    return messages, None


def _read_interaction(entry: dict[str, Any]) -> tuple[list[Message], dict[str, Any] | None]:
    body = entry["user_interaction"]
    if not isinstance(body, dict) or len(entry) > 1 or FAMILY in body:
        return [], {FAMILY: {"entry": entry}}
    if isinstance(_lmc_of(body), list):
        return _add_details([], _lmc_of(body)), None
    return [], body


def _read_keys(entry: dict[str, Any], role: str) -> Iterator[tuple[Message, Path]]:
    """(message, path of its text) for each message that the specification's own keys hold."""
    body = entry[role]
    if not isinstance(body, dict):
        if body is not None:
            text, path = _text(body, (role,))
            yield _text_message(role, text, {}), path
        return
    extra = _read_extra(body)
    calls = list(_calls(body, role))
    content = body.get("content")
    if content is not None and (content != "" or not calls):
        text, path = _text(content, (role, "content"))
        yield _text_message(role, text, extra), path
        extra = {}
    for message, path in calls:
        yield (replace(message, extra=extra) if extra else message), path
        extra = {}


def _text_message(role: str, text: str, extra: dict[str, Any]) -> Message:
    if role == "computer":
        return Message("computer", "console", "output", text, extra=extra)
    return Message("user" if role == "user" else "assistant", "message", content=text, extra=extra)


def _read_extra(body: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `extra` that a message has under the names of the specification."""
    meta = body.get("meta")
    extra = {k: meta[k] for k in _OF_META if k in meta} if isinstance(meta, dict) else {}
    if "sentiment" in body:
        extra[SENTIMENT] = body["sentiment"]
    if "feedback" in body:
        extra[FEEDBACK] = body["feedback"]
    return extra


def _calls(body: Mapping[str, Any], role: str) -> Iterator[tuple[Message, Path]]:
    """Code, and what it returned: of the specification's calls, and of the programs' own keys."""
    speaker = role if role == "user" else "assistant"
    calls = body.get("function_calls")
    is_list = isinstance(calls, list)
    for index, call in enumerate(calls if isinstance(calls, list) else [calls]):
        if not isinstance(call, dict):
            continue
        path: Path = (role, "function_calls", index) if is_list else (role, "function_calls")
        code = _code_of(call)
        if code is None:
            continue
        language, text, below = code
        yield _code(speaker, language, text), (*path, *below) if below else ()
        for key in ("return", "return_value"):
            if call.get(key) is not None:
                output, at = _text(call[key], (*path, key))
                yield Message("computer", "console", "output", output), at
                break
    if isinstance(body.get("code"), str) and body["code"]:
        yield _code(speaker, "python", body["code"]), (role, "code")
        if body.get("return_value") is not None:
            output, at = _text(body["return_value"], (role, "return_value"))
            yield Message("computer", "console", "output", output), at


def _code(speaker: str, language: str | None, text: str) -> Message:
    return Message("user" if speaker == "user" else "assistant", "code", language, text)


def _code_of(call: dict[str, Any]) -> tuple[str | None, str, Path] | None:
    """(language, code, where the code stands) of a call; of a function's, python that calls it."""
    if isinstance(call.get("original_call"), str):
        return "python", call["original_call"], ("original_call",)
    name, parameters = call.get("name"), call.get("parameters")
    if not isinstance(name, str):
        return None
    if parameters is None:
        parameters = {}
    args: Any = []
    below: Path = ("parameters",)
    if isinstance(parameters, dict) and set(parameters) <= {"args", "kwargs"}:
        args, kwargs = parameters.get("args") or [], parameters.get("kwargs") or {}
        below = ("parameters", "kwargs")
    else:
        kwargs = parameters
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return None
    if name == "execute" and not args and set(kwargs) <= {"language", "code"}:
        language = kwargs.get("language")
        if isinstance(kwargs.get("code"), str) and (language is None or isinstance(language, str)):
            return language or None, kwargs["code"], (*below, "code")
    if not _NAME.fullmatch(name) or not all(map(str.isidentifier, kwargs)):
        return None
    arguments = [repr(each) for each in args] + [
        f"{key}={value!r}" for key, value in kwargs.items()
    ]
    return "python", f"{name}({', '.join(arguments)})", ()


def _text(value: Any, path: Path) -> tuple[str, Path]:
    """A value as a text, and where it stands if it is one already."""
    if isinstance(value, str):
        return value, path
    return json.dumps(value, ensure_ascii=False), ()


# What LMC knows and the specification does not ----------------------------------------------------

_DETAILS = ("type", "format", "recipient", "id", "created_at")


def _add_details(messages: list[Message], details: Any) -> list[Message]:
    """The messages with what `meta.lmc.messages` says of each, and those that only it has."""
    if details is None:
        return messages
    if not isinstance(details, list) or not all(isinstance(each, dict) for each in details):
        raise ProtocolError("its meta.lmc.messages must be a list of mappings")
    result = list(messages)
    for index, each in enumerate(details):
        if "role" in each:
            whole = Message.from_dict(each)
            result[index : index + 1] = [whole]
        elif index < len(messages):
            changes = {key: each[key] for key in _DETAILS if key in each}
            extra = each.get("extra")
            if isinstance(extra, dict):
                changes["extra"] = {**result[index].extra, **extra}
            result[index] = replace(result[index], **changes)
        else:
            raise ProtocolError(f"its meta.lmc.messages say {each!r:.60} of no message")
    return result


def _details(plain: Sequence[Message], messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The keys of `messages` that differ from `plain`, which an entry gives by itself."""
    details: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        one = plain[index] if index < len(plain) else None
        extra = _extra(message)
        if (
            one is None
            or (one.role, one.content) != (message.role, message.content)
            or type(one.content) is not type(message.content)
            or not set(one.extra) <= set(extra)
        ):
            details.append(replace(message, extra=extra).to_dict())
            continue
        differ = {
            k: getattr(message, k) for k in _DETAILS if getattr(message, k) != getattr(one, k)
        }
        more = {k: v for k, v in extra.items() if k not in one.extra or one.extra[k] != v}
        details.append({**differ, "extra": more} if more else differ)
    while details and not details[-1]:
        details.pop()
    return details


def _extra(message: Message) -> dict[str, Any]:
    return {key: value for key, value in message.extra.items() if key != FAMILY}


def _lmc(body: Mapping[str, Any]) -> Any:
    meta = body.get("meta")
    return meta.get("lmc") if isinstance(meta, dict) else None


def _lmc_of(body: Any) -> Any:
    """`meta.lmc.messages` of an entry, or None."""
    lmc = _lmc(body) if isinstance(body, dict) else None
    return lmc.get("messages") if isinstance(lmc, dict) else None


def _without_lmc(body: Any, key: str | None = None) -> Any:
    """The same without `meta.lmc` (or this key of it), and without what is empty then."""
    if not isinstance(body, dict) or not isinstance(_lmc(body), dict):
        return body
    lmc = {} if key is None else {k: v for k, v in _lmc(body).items() if k != key}
    meta = {k: v for k, v in body["meta"].items() if k != "lmc"}
    if lmc:
        meta["lmc"] = lmc
    rest = {k: v for k, v in body.items() if k != "meta"}
    return {**rest, "meta": meta} if meta else rest


def _with_lmc(body: dict[str, Any], **keys: Any) -> dict[str, Any]:
    meta = body.get("meta") or {}
    return {**body, "meta": {**meta, "lmc": {**(meta.get("lmc") or {}), **keys}}}


# Writing ------------------------------------------------------------------------------------------


def _history(conversation: Conversation) -> Iterator[Any]:
    """The entries of the history: the messages, and between them the actions of the person."""
    messages, events = list(conversation.messages), list(conversation.events)
    index = next_event = 0
    while index < len(messages) or next_event < len(events):
        while next_event < len(events) and (
            events[next_event].at <= index or index >= len(messages)
        ):
            yield _interaction(events[next_event], index)
            next_event += 1
        if index < len(messages):
            entry, count = _write_entry(messages, index)
            yield entry
            index += count


def _interaction(event: Action, index: int) -> Any:
    data = dict(event.data)
    family = data.get(FAMILY)
    if isinstance(family, Mapping) and "entry" in family:
        return family["entry"]
    if event.at != index and isinstance(data.get("meta") or {}, Mapping):
        data = _with_lmc(data, at=event.at)
    return {"user_interaction": data}


def _write_entry(messages: Sequence[Message], index: int = 0) -> tuple[dict[str, Any], int]:
    """(entry, count): the entry that begins at this message, and how many messages it holds."""
    original = messages[index].extra.get(FAMILY)
    if original is not None:
        entry = _restore_entry(original, messages, index)
        if entry is not None:
            return entry, len(original["paths"])
    first = messages[index]
    count = 1
    body: dict[str, Any] = {}
    role = first.role if first.role != "computer" else "user_interaction"
    code = first if first.type == "code" and role != "user_interaction" else None
    if role != "user_interaction":
        body["content"] = first.content if code is None and isinstance(first.content, str) else ""
        if first.type == "message" and first.content != "" and first.recipient is None:
            after = messages[index + 1] if index + 1 < len(messages) else None
            if after is not None and (after.type, after.role) == ("code", role):
                code, count = (after, 2) if FAMILY not in after.extra else (None, 1)
        if code is not None and isinstance(code.content, str):
            body["function_calls"] = [_call(code)]
    results = list(_results(messages, index + count))
    if code is not None and results:
        outputs = [each.content for each in results if each.type == "console"]
        if outputs and all(isinstance(each, str) for each in outputs):
            body["function_calls"][0]["return"] = "".join(outputs)
    count += len(results)
    if role != "user_interaction":
        _write_extra(body, first)
    entry = {role: body}
    return _with_details(entry, role, messages[index : index + count]), count


def _call(code: Message) -> dict[str, Any]:
    language = {} if code.format is None else {"language": code.format}
    kwargs = {**language, "code": code.content}
    return {"name": "execute", "parameters": {"args": [], "kwargs": kwargs}}


def _results(messages: Sequence[Message], index: int) -> Iterator[Message]:
    """The messages of the computer from `index` on."""
    while index < len(messages) and messages[index].role == "computer":
        if FAMILY in messages[index].extra:
            return
        yield messages[index]
        index += 1


def _write_extra(body: dict[str, Any], first: Message) -> None:
    """The keys of the specification that a message keeps under their own names."""
    extra = first.extra
    for key in ("sentiment", "feedback"):
        if key in extra:
            body[key] = extra[key]
        else:
            body.pop(key, None)
    there = {key: extra[key] for key in _OF_META if key in extra}
    if there or body.get("meta"):
        others = {k: v for k, v in body.get("meta", {}).items() if k not in _OF_META}
        body["meta"] = {**there, **others}


def _with_details(entry: dict[str, Any], role: str, messages: Sequence[Message]) -> dict[str, Any]:
    plain = [] if role == "user_interaction" else [each for each, _ in _read_keys(entry, role)]
    details = _details(plain, messages)
    if not details and role != "user_interaction":
        return entry
    return {**entry, role: _with_lmc(entry[role], messages=details)}


def _restore_entry(original: Any, messages: Sequence[Message], index: int) -> dict[str, Any] | None:
    """The entry as it was read, with what its messages say now; None where that does not fit."""
    if not isinstance(original, Mapping) or not isinstance(original.get("entry"), dict):
        return None
    paths = original.get("paths")
    entry: dict[str, Any] = original["entry"]
    role = _role(entry)
    if not role or role == "user_interaction" or not isinstance(paths, list) or not paths:
        return None
    now = messages[index : index + len(paths)]
    if len(now) < len(paths) or any(FAMILY in each.extra for each in now[1:]):
        return None
    texts = [
        (path, message.content)
        for path, message in zip(paths, now, strict=True)
        if isinstance(path, list) and path and isinstance(message.content, str)
    ]
    entry = _with(entry, texts)
    if isinstance(entry[role], dict):
        if not isinstance(entry[role].get("meta") or {}, dict):
            return None
        entry = {**entry, role: dict(entry[role])}
        _write_extra(entry[role], now[0])
    plain = [each for each, _ in _read_keys(entry, role)]
    if [each.content for each in plain] != [each.content for each in now]:
        return None
    if details := _details(plain, now):
        if not isinstance(entry[role], dict):
            return None
        entry = {**entry, role: _with_lmc(entry[role], messages=details)}
    return entry


def _with(value: Any, texts: Iterable[tuple[Sequence[str | int], str]]) -> Any:
    """The same value with these texts at their places; as it is where there is no such place."""
    below: dict[str | int, list[tuple[Sequence[str | int], str]]] = {}
    for path, text in texts:
        if path:
            if isinstance(path[0], (str, int)):  # what a file says of places may be anything
                below.setdefault(path[0], []).append((path[1:], text))
        elif isinstance(value, str):
            return text
    if isinstance(value, dict):
        return {**value, **{key: _with(value[key], below[key]) for key in below if key in value}}
    if isinstance(value, list):
        result = list(value)
        for key, within in below.items():
            if isinstance(key, int) and 0 <= key < len(result):
                result[key] = _with(result[key], within)
        return result
    return value


# Beside the history -------------------------------------------------------------------------------


def _pop_meta(rest: dict[str, Any], key: str) -> tuple[str, dict[str, Any]]:
    """A value of `meta` that a conversation has a place for, and the rest without it."""
    meta = rest.get("meta")
    value = meta.get(key) if isinstance(meta, dict) else None
    if not isinstance(meta, dict) or not isinstance(value, str) or not value:
        return _time_text(value), rest
    meta = {name: each for name, each in meta.items() if name != key}
    others = {name: each for name, each in rest.items() if name != "meta"}
    return value, {**others, "meta": meta} if meta else others


def _time_text(value: Any) -> str:
    """A text unchanged; seconds since 1970 as ISO 8601; "" for any other value."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 4e9:
        return datetime.fromtimestamp(value, timezone.utc).isoformat()
    return ""


def _text_of(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _plain(value: Any, where: str, levels: int, losses: dict[str, None]) -> Any:
    """The value as every one of the three forms has it; what they have not becomes text."""
    if isinstance(value, str) or is_plain(value):
        return plain(value)
    if not isinstance(value, (Mapping, list, tuple)):
        losses[f"A file cannot hold the value of {where!r:.60}: it was saved as text."] = None
        return plain(value)
    if levels <= 0:
        losses[f"{where!r:.60} is nested too deeply: what is inside was saved as text."] = None
        return clean(json.dumps(value, ensure_ascii=False, default=str))
    if isinstance(value, Mapping):
        return {clean(str(k)): _plain(v, str(k), levels - 1, losses) for k, v in value.items()}
    return [_plain(each, where, levels - 1, losses) for each in value]


def _kind(value: Any) -> str:
    return {dict: "a mapping", list: "a list", str: "a text", type(None): "empty"}.get(
        type(value), f"{value!r:.40}"
    )
