"""The settings of a GLM chat history: what each means here, and which of them apply.

One rule: a file can only make limits stricter. Whatever else it asks for (a model, options of a
model, words to the model) is shown to the person, who may choose it, and never applies by itself.
docs/glm.md lists it setting by setting.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from lmc_jupyter.content import shorten
from lmc_jupyter.content.hidden import split_hidden
from lmc_jupyter.context.functions import Function
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.formats.glm.counts import without_own
from lmc_jupyter.formats.glm.dictionary import FAMILY, from_dict
from lmc_jupyter.formats.glm.sequences import sequences
from lmc_jupyter.limits import Limits, quantity
from lmc_jupyter.lmc import clean

OPTIONS = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "stop",
    "max_tokens",
)
"""Of `model_specific_settings`: what may be offered to the person. Nothing else in them is looked
at: no address, no key, no model, no header."""

MAX_FUNCTIONS = 32
MAX_NAME = 40
"""Of a function that a file names: a model is told which names are not there, and a name should
not become a speech to it."""
MAX_SHOWN = 1_000
"""Characters of a text of the file in a sentence for the person."""
_ON = "yes", "y", "on", "true", "1", "enabled"


def limits_of(conversation: Conversation) -> Limits:
    """The limits that the settings put on code; a value that is not understood is the strictest."""
    settings = _mapping(_document(conversation).get("settings"))
    limits = _limits(settings)  # where they are in each other twice, both hold
    inner = settings.get("settings")
    return limits.stricter(_limits(inner)) if isinstance(inner, Mapping) else limits


def _limits(settings: Mapping[str, Any]) -> Limits:
    calls = _calls(settings)
    trust = calls.get("compiler_trust_level")
    return Limits(
        max_blocks=_count(calls.get("max_calls_per_output")),
        max_block_tokens=_count(calls.get("max_tokens_per_code_segment")),
        run=_is_on(calls.get("enabled")),
        ask_always=trust is not None and not (_is_number(trust) and trust >= 1),
        atomic_sequences=sequences(settings)[0],
        functions=tuple(_names(calls.get("available_functions"))),
    )


def model_options(conversation: Conversation) -> dict[str, Any]:
    """The plain options of a model that the file asks for, for a person to take over.

    They are `OPTIONS` with numbers, and `stop` with texts: nothing that could change where a
    question goes, what it is signed with or who pays.
    """
    settings = _mapping(_settings(conversation).get("model_specific_settings"))
    return {
        name: settings[name]
        for name in OPTIONS
        if name in settings and _is_plain(name, settings[name])
    }


def greeting(conversation: Conversation) -> str:
    """`system.primary_message`: what the file says to the person; "" where it says nothing."""
    system = _mapping(_document(conversation).get("system"))
    text = system.get("primary_message")
    return clean(text) if isinstance(text, str) else ""


def about(conversation: Conversation) -> dict[str, Any]:
    """`available_user_info` and `service_info`, those that there are."""
    system = _mapping(_document(conversation).get("system"))
    inner = _mapping(system.get("system"))
    entries = {
        "available_user_info": system.get("available_user_info", inner.get("user_info")),
        "service_info": system.get("service_info", inner.get("background")),
    }
    return {name: value for name, value in entries.items() if value}


def instructions(conversation: Conversation) -> str:
    """What older programs wrote as instructions to the model, as a text; or ""."""
    system = _mapping(_document(conversation).get("system"))
    text = system.get("system_message", system.get("content"))
    return clean(text) if isinstance(text, str) else ""


def with_settings(
    extra: Mapping[str, Any],
    limits: Limits,
    functions: Iterable[Function] = (),
    options: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """What a conversation holds beside LMC, with what is stricter of these than its settings, and
    with the plain options of its model.

    Limits that the person has lifted for a session stay in the file.
    """
    before = limits_of(Conversation(extra=dict(extra)))
    limits = before.stricter(limits)
    document = dict(_mapping(extra.get(FAMILY)))
    settings = dict(_mapping(document.get("settings")))
    calls = dict(_calls(settings))
    if limits.max_blocks != before.max_blocks:
        calls["max_calls_per_output"] = limits.max_blocks
    if limits.max_block_tokens != before.max_block_tokens:
        calls["max_tokens_per_code_segment"] = limits.max_block_tokens
    if before.run and not limits.run:
        calls["enabled"] = False
    if limits.ask_always and not before.ask_always:
        calls["compiler_trust_level"] = 0
    if new := [each for each in functions if each.name not in before.functions]:
        entries = calls.get("available_functions")
        calls["available_functions"] = [
            *(entries if isinstance(entries, list) else []),
            *(
                {
                    "name": each.name,
                    "args": list(each.args),
                    "kwargs": dict(each.kwargs),
                    "help": each.help,
                }
                for each in new
            ),
        ]
    if calls != _calls(settings):
        settings["function_calls"] = calls
    if limits.atomic_sequences != before.atomic_sequences:
        settings["atomic_sequences"] = [list(pair) for pair in limits.atomic_sequences]
    used = {name: options[name] for name in OPTIONS if _is_plain(name, options.get(name))}
    if used:
        model_settings = _mapping(settings.get("model_specific_settings"))
        settings["model_specific_settings"] = {**model_settings, **used}
    if settings != _mapping(document.get("settings")):
        return {**extra, FAMILY: {**document, "settings": settings}}
    return dict(extra)


def conversation_of(document: Any) -> Conversation:
    """The conversation of a file's dictionary, with sentences on what its settings do."""
    conversation = from_dict(without_own(document), "the file")
    conversation.losses += sentences(conversation)
    return conversation


def sentences(conversation: Conversation) -> list[str]:
    """Sentences for the person who opens it: what its settings do, and what they ask for."""
    result = list(_sentences(conversation))
    if any("current_session()" in each for each in result):
        result.append("For these: from lmc_jupyter import current_session")
    return result


def _sentences(conversation: Conversation) -> Iterator[str]:
    limits, settings = limits_of(conversation), _settings(conversation)
    if (text := greeting(conversation)).strip():
        yield _greeting(text)
    restrictions = list(_restrictions(limits))
    yield from restrictions
    if restrictions:
        yield "current_session().limits = None lifts that."
    yield from map(_short, sequences(settings)[1])
    if limits.functions:
        yield (
            f"It speaks of the functions {', '.join(limits.functions)}: a model may call those "
            "that you give it, with current_session().functions = [...]."
        )
    model_settings = _mapping(settings.get("model_specific_settings"))
    available = model_options(conversation)
    if available:
        text = ", ".join(f"{name}={value!r}" for name, value in available.items())
        yield (
            "It has options for the model, which are not used: "
            f"current_session().choose_options({_short(text)}) sets them."
        )
    if others := [name for name in model_settings if name not in available]:
        text = _short(", ".join(map(str, others)))
        yield f"It has other settings of a model, which are never used: {text}."
    if isinstance(chat_format := settings.get("chat_format"), str) and chat_format:
        yield (
            f"It names the chat format {_short(chat_format)}. That changes nothing, because each "
            "model's own format is used; it is saved again."
        )
    if names := list(about(conversation)):
        yield (
            f"It has {' and '.join(names)}, which the model does not get: "
            f"current_session().glm.for_model = {names!r} sends it."
        )
    if instructions(conversation):
        yield (
            "It has instructions, which the model does not get: put them into "
            "current_session().custom_instructions, if it should follow them."
        )


def _greeting(text: str) -> str:
    """The whole message, with its line breaks; several lines are quoted, so that none of them
    passes for a sentence of ours."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    lines = ["".join(part for part, _ in split_hidden(each)) for each in lines]
    if len(lines) == 1:
        return f"It greets you: {lines[0]}"
    return "\n".join(["It greets you:", *(f"> {each}" for each in lines)])


def _restrictions(limits: Limits) -> Iterator[str]:
    if not limits.run:
        yield "Its settings let no code run."
        return
    if limits.ask_always:
        yield "Its settings ask for every block of code, whatever runs unasked elsewhere."
    if limits.max_blocks is not None:
        yield f"Its settings let a reply run {quantity(limits.max_blocks, 'block')} of code."
    if limits.max_block_tokens is not None:
        most = quantity(limits.max_block_tokens, "token")
        yield f"Its settings let a block of code have {most}."


def _document(conversation: Conversation) -> Mapping[str, Any]:
    return _mapping(conversation.extra.get(FAMILY))


def _settings(conversation: Conversation) -> Mapping[str, Any]:
    """The settings; the first program that wrote the format put them in each other twice."""
    settings = _mapping(_document(conversation).get("settings"))
    inner = settings.get("settings")
    return {**settings, **inner} if isinstance(inner, Mapping) else settings


def _calls(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """`function_calls`; a word in its place says whether code may run."""
    calls = settings.get("function_calls")
    return calls if isinstance(calls, Mapping) else {} if calls is None else {"enabled": calls}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _count(value: Any) -> int | None:
    """A limit; None for a number below 0 and for None; 0, the strictest, for what is no number."""
    if value is None:
        return None
    if not _is_number(value):
        return 0
    return None if value < 0 else int(min(value, 1 << 62))


def _is_on(value: Any) -> bool:
    if value is None or value is True:
        return True
    if isinstance(value, str):
        return value.strip().lower() in _ON
    return _is_number(value) and value > 0


def _is_plain(name: str, value: Any) -> bool:
    if name == "stop":
        texts = value if isinstance(value, list) else [value]
        return len(texts) <= 16 and all(isinstance(each, str) and each for each in texts)
    return _is_number(value) and abs(value) < 1 << 31


def _names(value: Any) -> Iterator[str]:
    """The names of functions, from a list of names or of {"name": ...}."""
    names: set[str] = set()
    for each in value if isinstance(value, list) else []:
        name = each.get("name") if isinstance(each, Mapping) else each
        if (
            isinstance(name, str)
            and len(name) <= MAX_NAME
            and name.isascii()
            and name.isidentifier()
            and not keyword.iskeyword(name)
            and name not in names
            and len(names) < MAX_FUNCTIONS
        ):
            names.add(name)
            yield name


def _short(text: str) -> str:
    """A text of the file within a sentence: one line of it, and nothing that is not seen."""
    text = " ".join(text[: 2 * MAX_SHOWN].split())
    text = "".join(part for part, _ in split_hidden(text))
    return shorten.line(text, MAX_SHOWN)
