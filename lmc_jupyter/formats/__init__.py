"""Files of conversations: one module for each format, chosen by name or by the file's name.

One rule: a file is data. Reading one runs nothing and allows nothing; a sentence names whatever
cannot be carried over, and nothing is dropped in silence.

A format is a module here with `NAME`, `EXTENSIONS`, `read(data) -> Conversation` and
`write(conversation) -> (bytes, sentences)`, and a line in `_MODULES`; one that is only read or
only written has only that.
"""

from __future__ import annotations

import errno
import importlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.conversation.disk import write_whole
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import strict_json

_MODULES = (
    "lmc_json",
    "glm.as_yaml",
    "glm.as_json",
    "glm.as_protobuf",
    "openai_chat",
    "notebook",
    "markdown",
    "jupyter_ai",
)


@cache
def formats() -> Mapping[str, ModuleType]:
    """The modules of the formats, by the name of the format."""
    modules = {}
    for word in _MODULES:
        module = importlib.import_module(f"{__name__}.{word}")
        modules[cast(str, module.NAME)] = module
    return modules


def read(
    source: str | os.PathLike[str] | bytes, format: str | None = None, *, name: str = ""
) -> Conversation:
    """The conversation of a file.

    Parameters
    ----------
    source : a path, or the bytes of a file
    format : a name of `formats`; default: by the file's name, and where that is .json or there is
        none, by a look at what is in it
    name : what the file is called, where `source` is its bytes

    Raises
    ------
    FormatError
        When it cannot be read as that, or nobody can say what it is.
    OSError
        When there is no such file, or it cannot be opened.
    """
    name = name if isinstance(source, bytes) else os.fspath(source)
    data = source if isinstance(source, bytes) else _bytes(Path(source))
    module = _module_named(format) if format else _of_file(name, data)
    if not hasattr(module, "read"):
        raise FormatError(
            f"a file of the format {module.NAME} is for reading only: it cannot be opened"
        )
    conversation = cast(Conversation, module.read(data))
    if len(conversation.losses) > _SENTENCES:
        more = len(conversation.losses) - _SENTENCES
        conversation.losses[_SENTENCES:] = [f"And {more:,} more of that kind."]
    return conversation


_SENTENCES = 100
"""The most sentences on losses that are shown of one file; more would not be read."""


def written_as(path: str | os.PathLike[str], format: str | None = None) -> str:
    """The name of the format in which `write` writes this file; raises as that does."""
    module = _module_named(format) if format else _by_extension(os.fspath(path), "write")
    return cast(str, module.NAME)


def write(
    conversation: Conversation,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    replace: bool = False,
    only_ran: bool = False,
    thoughts: bool = False,
) -> list[str]:
    """Write a conversation to a file; returns sentences on what it cannot carry.

    Parameters
    ----------
    path : where to; it has the person's usual rights, and is whole or not there at all
    format : a name of `formats`; default: by the path's ending
    replace : whether a file that is there already may go
    only_ran : whether to leave out code that was declined, failed or was stopped; of code that
        failed what later code needs stays
    thoughts : whether to write what the model said to itself; LMC JSON has it always

    Raises
    ------
    FormatError
        When there is no such format, or a file is there already.
    OSError
        When it cannot be written.
    """
    target = Path(os.path.realpath(path))
    module = _module_named(format) if format else _by_extension(os.fspath(path), "write")
    if not hasattr(module, "write"):
        raise FormatError(f"the format {module.NAME} is only read: choose another to write")
    if target.exists() and not replace:
        raise FormatError(
            f"the file {os.fspath(path)!r} exists already: choose another name, or replace it "
            "with replace=True"
        )
    whole = len(conversation.messages)
    if not thoughts and module.NAME != "lmc":  # which is for going on with it as it was
        conversation = _without_thoughts(conversation)
    count = len(conversation.messages)
    thought_count = whole - count
    if only_ran:
        conversation = _only_ran(conversation)
    data, losses = cast(Callable[[Conversation], tuple[bytes, list[str]]], module.write)(
        conversation
    )
    write_whole(target, data, mode=0o666, sync=True)
    if count := count - len(conversation.messages):
        losses = [
            *losses,
            f"Code that you declined, that failed or that was stopped is left out: {count} "
            f"{'message' if count == 1 else 'messages'}.",
        ]
    if thought_count:
        losses = [
            *losses,
            f"The model's thoughts are left out ({thought_count} "
            f"{'message' if thought_count == 1 else 'messages'}): "
            "`%lmc export PATH --thoughts` writes them too.",
        ]
    if len(data) > strict_json.MAX_BYTES:
        losses = [
            *losses,
            f"It has {len(data):,} bytes, more than are read of one: it cannot be opened here.",
        ]
    return losses


def _only_ran(conversation: Conversation) -> Conversation:
    from lmc_jupyter.formats.dependencies import find_dependencies  # not with the extension
    from lmc_jupyter.formats.passages import only_ran, passages

    parts = passages(conversation.messages)
    needs = find_dependencies(parts, conversation.cells, conversation.saved_cells)
    return only_ran(conversation, [place for place, lines in needs.lines.items() if lines])


def _without_thoughts(conversation: Conversation) -> Conversation:
    from lmc_jupyter.formats.passages import without_thoughts  # not with the extension

    return without_thoughts(conversation)


_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}


class _NoFileError(FormatError):
    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(f"{str(path)!r} is {kind}, not a file: name the file of a conversation")


def _bytes(path: Path) -> bytes:
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        handle = os.open(path, os.O_RDONLY | flags)  # a pipe that nobody writes to does not block
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise _NoFileError(path, "a socket or a device") from None
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise _NoFileError(path, _KINDS.get(stat.S_IFMT(mode), "a device"))
    with os.fdopen(handle, "rb") as file:
        data = file.read(strict_json.MAX_BYTES + 1)
    if len(data) > strict_json.MAX_BYTES:
        raise FormatError(
            f"the file {str(path)!r} has more than {strict_json.MAX_BYTES:,} bytes, the most that "
            "are read"
        )
    return data


def _module_named(name: str) -> ModuleType:
    module = formats().get(name.strip().lower())
    if module is None:
        raise FormatError(f"there is no format {name!r:.60}: there are {', '.join(formats())}")
    return module


def _endings() -> Iterator[tuple[str, ModuleType]]:
    for module in formats().values():
        for ending in module.EXTENSIONS:
            yield ending, module


def _by_extension(path: str, what: str = "read") -> ModuleType:
    """The first format with the longest ending that the path has."""
    fit = [each for each in _endings() if path.lower().endswith(each[0])]
    if not fit:
        able = [each for each in _endings() if hasattr(each[1], what)]
        raise FormatError(
            f"the name {path!r:.120} does not tell the format: end it in "
            f"{', '.join(dict.fromkeys(ending for ending, _ in able))}, or name the format: "
            f"{', '.join(dict.fromkeys(module.NAME for _, module in able))}"
        )
    return max(fit, key=lambda each: len(each[0]))[1]


def _of_file(path: str, data: bytes) -> ModuleType:
    if path and not path.lower().endswith(".json"):
        with suppress(FormatError):
            return _by_extension(path)
    if path.lower().endswith(".json") and _by_extension(path).EXTENSIONS[0] != ".json":
        return _by_extension(path)
    return _module_named(_look(data, path))


def _look(data: bytes, path: str) -> str:
    """The name of the format, by the content of the file."""
    first = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if not first:
        raise FormatError(f"{path or 'this'!r:.120} is empty: there is no conversation in it")
    if first not in (b"[", b"{"):
        raise FormatError(
            f"the content of {path or 'this'!r:.120} shows no format: name its format, "
            "one of "
            f"{', '.join(name for name, each in formats().items() if hasattr(each, 'read'))}"
        )
    try:
        value = strict_json.loads(data)
    except FormatError:
        if first == b"{" and b"\n" in data.strip():
            return "lmc"  # JSON Lines; what is wrong with it is said there
        raise
    return _shape(value)


def _shape(value: Any) -> str:
    if isinstance(value, dict):
        messages = value.get("messages")
        if "cells" in value and "nbformat" in value:
            return "notebook"
        if isinstance(messages, list):
            return "jupyter-ai" if "users" in value or _has(messages, "sender") else "openai"
        return "lmc" if {"role", "type", "content"} <= set(value) else "glm-json"
    if _has(value, "role") and not _has(value, "type") and not _has(value, "message"):
        glm = ("meta", "metadata", "function_calls", "code", "return_value")
        return "glm-json" if any(_has(value, key) for key in glm) else "openai"
    entries = {"user", "assistant", "user_interaction", "computer"}
    if any(isinstance(each, dict) and len(each) == 1 and set(each) <= entries for each in value):
        return "glm-json"
    return "lmc"


def _has(values: list[Any], key: str) -> bool:
    return any(isinstance(each, dict) and key in each for each in values)
