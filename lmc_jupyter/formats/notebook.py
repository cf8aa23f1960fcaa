"""A conversation as a notebook that runs again without any model, and back.

One rule: the cells count. Their metadata has the messages; where somebody has changed a cell, or
it has no metadata, its text is read instead.

Source: the notebook format 4.5 (nbformat). `cells` says what a block of code becomes.

Why one file: what `read` takes for ours is what `write` has written, mark by mark. Why not only
the messages in the metadata: somebody edits a cell, and its text is what counts from then on; nor
only the cells: they have no ids, no times and no place for what a person has pressed.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmc_jupyter.content import shorten, terminal
from lmc_jupyter.conversation import Action, Conversation, OwnCell
from lmc_jupyter.errors import FormatError, ProtocolError
from lmc_jupyter.formats import strict_json
from lmc_jupyter.formats.cells import (
    NewCell,
    can_run,
    cells_of,
    code_of,
    messages_of,
    text,
    text_of,
)
from lmc_jupyter.formats.dependencies import Dependencies, find_dependencies
from lmc_jupyter.formats.foreign import at_most, read_messages, unique
from lmc_jupyter.formats.losses import differences, message_numbers, plain, plain_keys
from lmc_jupyter.formats.passages import Passage, passages
from lmc_jupyter.formats.safe_markdown import line, plain_line, safe
from lmc_jupyter.lmc import Message, canonical, is_thought

NAME = "notebook"
EXTENSIONS = (".ipynb",)

_KEY = "lmc"
_WORDS = {
    "title": "The title",
    "model": "The name of the model",
    "began": "The time of its beginning",
    "notebook": "The notebook's path",
    "events": "The record of the buttons",
    "extra": "What an imported file had",
}
_BESIDE = ("title", "model", "began", "notebook")
_LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
_KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
_R = """\
# R in this notebook: by rpy2 where it is installed, else an Rscript for each cell
try:
    %load_ext rpy2.ipython
except ImportError:
    %alias_magic --cell R script -p "Rscript -\""""

MOST_HEADING = 80
"""Characters of a question that is the heading of a conversation without a title."""

_OWN = "### From your notebook"
"""Stands above cells of the person's own which the code behind them needs."""
_NEEDS = "### This notebook needs"
_FILES = "# Files that were attached to questions"
_WRITE_FILES = """\
from base64 import b64decode
from pathlib import Path

for name, data in attached.items():
    path = Path(name)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b64decode(data))"""


# Write --------------------------------------------------------------------------------------------


def write(conversation: Conversation) -> tuple[bytes, list[str]]:
    """A notebook: talk as Markdown, code that ran as code, with its outputs.

    Raises
    ------
    FormatError
        When what comes out is no valid notebook.
    """
    import nbformat

    losses: list[str] = []
    whole = plain_keys(conversation.messages, losses)
    messages = [_clean(each) for each in whole]
    parts = passages(messages)
    cells = [*_head(conversation, messages)]
    needs = find_dependencies(parts, conversation.cells, conversation.saved_cells)
    own, at = list(needs.cells), 0
    cells += [*_missing(needs), *_files(conversation.files)]
    first_r = next((place for place, passage in enumerate(parts) if _runs(passage) == "r"), None)
    for place, passage in enumerate(parts):
        before = [each for each in own if each.at <= at]
        own, at = own[len(before) :], at + len(passage.messages)
        cells += _own_nodes(before)
        if place == first_r:
            cells.append(_node(NewCell("code", _R), {"is": "setup"}))
        cells += _nodes(passage, needs.lines.get(place, 0))
    for number, cell in enumerate(cells, 1):
        cell["id"] = f"lmc-{number}"
    beside = {name: getattr(conversation, name) for name in _BESIDE if getattr(conversation, name)}
    if conversation.events:
        beside["events"] = [{"at": e.at, "data": dict(e.data)} for e in conversation.events]
    if conversation.extra:
        beside["extra"] = conversation.extra
    losses += [
        f"{_WORDS[name]} has no escape sequences of a terminal in the file."
        for name, value in beside.items()
        if _without_escapes(value) != value
    ]
    document = _without_escapes(
        {
            "cells": cells,
            "metadata": {
                "kernelspec": _KERNEL,
                "language_info": _LANGUAGE,
                _KEY: {"version": 1, **plain(beside)},
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )
    notebook = nbformat.from_dict(document)
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        raise FormatError(f"no notebook can be made of this conversation: {error}") from None
    data = (nbformat.writes(notebook) + "\n").encode()
    losses += differences(whole, _read(document, []).messages)
    if needs.cells:
        count = len(needs.cells)
        was, its, it = ("was", "its", "it") if count == 1 else ("were", "their", "them")
        losses.append(
            f"{count} of your own cells {was} included, because the code needs {its} variables. "
            f"Read {it} before you share the notebook."
        )
    if needs.missing:
        what = " ".join(_lacking(needs))
        losses.append(f"The notebook does not run alone: no cell in it defines {what}")
    return data, [*losses, *_run_differences(parts)]


def _clean(message: Message) -> Message:
    """The message without escape sequences: a reader's terminal would obey them. A page has them
    as escapes of Python, so that it stays as it is.
    """
    if message.type == "code" and canonical(message.format or "") in ("html", "browser"):
        return message
    content = _without_escapes(message.content)
    return message if content == message.content else replace(message, content=content)


def _without_escapes(value: Any) -> Any:
    """The same value, with no escape sequence in any of its texts."""
    if isinstance(value, str):
        return terminal.without_escapes(value)
    if isinstance(value, Mapping):
        return {_without_escapes(key): _without_escapes(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_escapes(each) for each in value]
    return value


def _head(conversation: Conversation, messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """The first cell: the title, else the first question; the model and the day."""
    stamp = conversation.began or str((messages[0].created_at if messages else None) or "")
    details = [part for part in (line(conversation.model), line(stamp[:10])) if part]
    if not (conversation.title or conversation.model):  # no session of ours has neither
        return
    asked = next(
        (each for each in messages if each.role == "user" and each.type == "message"), None
    )
    question = shorten.line(str(asked.content), MOST_HEADING) if asked is not None else ""
    heading = line(conversation.title) or line(question) or "Conversation"
    parts = [f"# {heading}", *([f"*{', '.join(details)}*"] if details else [])]
    yield _node(NewCell("markdown", "\n\n".join(parts)), {"is": "title", "heading": heading})


def _own_nodes(cells: Sequence[OwnCell]) -> Iterator[dict[str, Any]]:
    """The person's own cells, with a line above them."""
    if cells:
        yield _node(NewCell("markdown", _OWN), {"is": "own"})
    for each in cells:
        yield _node(NewCell("code", each.source), {"is": "own"})


def _missing(needs: Dependencies) -> Iterator[dict[str, Any]]:
    """What is to be made before the notebook runs, as its first cell."""
    if needs.missing:
        what, maker = _lacking(needs, "`")
        text = safe(f"{_NEEDS}\n\nNo cell here defines {what}\n\n{maker}")
        yield _node(NewCell("markdown", text), {"is": "needs"})


def _lacking(needs: Dependencies, mark: str = "") -> tuple[str, str]:
    """The names that nothing in the file makes and what to do, and who may have made them."""
    names = ", ".join(f"{mark}{name}{mark}" for name in needs.missing)
    them = "it" if len(needs.missing) == 1 else "them"
    lines = ", ".join(f"`{line}`" for line in dict.fromkeys(needs.run))
    return (
        f"{names} before the code that needs {them}. Define {them} in a cell above that code.",
        f"Perhaps {lines} in your notebook defines {them}."
        if lines
        else f"Perhaps another notebook defined {them}, or this one before a kernel restart.",
    )


def _files(files: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    """A cell that puts attached files where the code looks for them."""
    if files:
        lines = [f"    {name!r}: {b64encode(data).decode()!r}," for name, data in files.items()]
        source = "\n".join([_FILES, "attached = {", *lines, "}", _WRITE_FILES])
        yield _node(NewCell("code", source), {"is": "files"})


def _runs(passage: Passage) -> str:
    """The language in which this runs again; "" where it does not."""
    runs = passage.is_code and passage.fate == "ran" and can_run(passage.first.format)
    return canonical(passage.first.format or "") if runs else ""


def _run_differences(parts: Sequence[Passage]) -> Iterator[str]:
    """What is not the same when the notebook runs."""
    alone: dict[str, int] = {}
    none: dict[str, list[int]] = {}
    at = 1
    for passage in parts:
        language = _runs(passage)
        if language in ("shell", "javascript", "ruby", "perl", "applescript"):
            alone[language] = alone.get(language, 0) + 1
        elif passage.is_code and passage.fate == "ran" and not language:
            none.setdefault(passage.first.format or "no language", []).append(at)
        at += len(passage.messages)
    for language, numbers in none.items():
        yield (
            f"Jupyter has no cells of {language}: this code is in the notebook as text, and does "
            f"not run: {message_numbers(numbers)}."
        )
    for language, count in alone.items():
        if count > 1:
            yield (
                f"Each of the {count} {language} cells runs in a process of its own: none has the "
                "variables of another."
            )


def _nodes(passage: Passage, lines: int) -> list[dict[str, Any]]:
    first, *rest = cells_of(passage, lines)
    own: dict[str, Any] = {
        "messages": [_entry(each, first, each is passage.first) for each in passage.messages]
    }
    if lines:
        own["lines"] = lines
    return [_node(first, own), *(_node(cell, {"is": "rest"}) for cell in rest)]


def _entry(message: Message, cell: NewCell, is_first: bool) -> dict[str, Any]:
    """A message, without its content where that stands in the cell as it is."""
    own = message.to_dict()
    where = "source" if is_first and message.content == cell.source else _place(message, cell)
    if where is None:
        return {"message": own}
    del own["content"]
    return {"message": own, "content": where}


def _place(message: Message, cell: NewCell) -> str | int | None:
    """Where among the outputs and images of a cell this content stands."""
    if not message.content:
        return None
    is_image = message.type == "image"
    for number, output in enumerate(cell.outputs):
        if message.content in (_images(output) if is_image else [output.get("text")]):
            return number
    for name, data in cell.attachments.items() if is_image else ():
        if message.content in data.values():
            return f"attachment:{name}"
    return None


def _images(output: Mapping[str, Any]) -> list[str]:
    data = output.get("data", {})
    return [text(data[mime]) for mime in ("image/png", "image/jpeg") if mime in data]


def _node(cell: NewCell, own: dict[str, Any]) -> dict[str, Any]:
    node: dict[str, Any] = {
        "cell_type": cell.kind,
        "metadata": {_KEY: own},
        "source": cell.source,
    }
    if cell.kind == "code":
        node |= {"execution_count": None, "outputs": cell.outputs}
    if cell.attachments:
        node["attachments"] = cell.attachments
    return node


# Read ---------------------------------------------------------------------------------------------


def read(data: bytes) -> Conversation:
    """The conversation in a notebook; of one that was not made by us, its cells as messages.

    Raises
    ------
    FormatError
        When it is no notebook.
    """
    losses: list[str] = []
    return _read(_version_4(strict_json.loads(data, losses)), losses)


def _version_4(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("nbformat"), int):
        raise FormatError("it is not a notebook: it has no 'nbformat'")
    if value["nbformat"] == 4:
        return value
    import nbformat

    try:
        notebook = nbformat.convert(nbformat.from_dict(value), 4)
    except Exception as error:  # noqa: BLE001 - nbformat raises whatever it stumbles upon
        raise FormatError(
            f"a notebook of version {value['nbformat']!r:.20} that cannot be brought to version 4: "
            f"{type(error).__name__}: {error!s:.120}"
        ) from None
    return dict(notebook)


def _read(document: Mapping[str, Any], losses: list[str]) -> Conversation:
    cells = document.get("cells")
    if not isinstance(cells, list):
        raise FormatError("it is not a notebook: it has no list of cells")
    own = _own(document)
    conversation = Conversation(losses=losses)
    for name in _BESIDE:
        if isinstance(own.get(name), str):
            setattr(conversation, name, own[name])
    conversation.events = _events(own.get("events"))
    if isinstance(own.get("extra"), dict):
        conversation.extra = dict(own["extra"])
    messages: list[Message] = []
    rest: list[NewCell] = []
    own_cells: list[OwnCell] = []
    for node in at_most(cells):
        if not isinstance(node, dict):
            raise FormatError(f"it is not a notebook: a cell is {node!r:.40}")
        cell, what = _cell(node), _own(node)
        if what.get("is") == "title" and cell.source.startswith("# "):
            heading = cell.source[2:].partition("\n")[0]
            if heading != what.get("heading", line(conversation.title)):
                conversation.title = plain_line(heading)
            continue
        if what.get("is") == "own" and cell.kind == "code":
            own_cells.append(OwnCell(len(messages), cell.source))
            continue
        ours = _is_ours(what.get("is"), cell)
        if ours or (what.get("is") == "rest" and any(cell.same(each) for each in rest)):
            continue
        new, rest = _messages(cell, what, losses)
        messages += new
    conversation.messages = unique(messages, losses)
    conversation.cells = own_cells
    return conversation


def _is_ours(what: Any, cell: NewCell) -> bool:
    """Whether we wrote this cell beside the conversation."""
    return (
        (what == "setup" and cell.source == _R)
        or (what == "own" and cell.source == _OWN)
        or (what == "needs" and cell.source.startswith(_NEEDS))
        or (what == "files" and cell.source.startswith(_FILES))
    )


def _own(node: Mapping[str, Any]) -> dict[str, Any]:
    metadata = node.get("metadata")
    own = metadata.get(_KEY) if isinstance(metadata, dict) else None
    return own if isinstance(own, dict) else {}


def _events(values: Any) -> list[Action]:
    return [
        Action(each["at"], each["data"])
        for each in (values if isinstance(values, list) else ())
        if isinstance(each, dict)
        and isinstance(each.get("at"), int)
        and isinstance(each.get("data"), dict)
    ]


def _cell(node: Mapping[str, Any]) -> NewCell:
    """What a reader sees of a cell."""
    outputs = node.get("outputs")
    attachments = node.get("attachments")
    return NewCell(
        str(node.get("cell_type")),
        text(node.get("source")),
        [_visible_output(each) for each in outputs if isinstance(each, dict)]
        if isinstance(outputs, list)
        else [],
        {
            str(name): {mime: text(data) for mime, data in bundle.items()}
            for name, bundle in (attachments if isinstance(attachments, dict) else {}).items()
            if isinstance(bundle, dict)
        },
    )


def _visible_output(output: Mapping[str, Any]) -> dict[str, Any]:
    if output.get("output_type") == "stream":
        return {
            "output_type": "stream",
            "name": output.get("name"),
            "text": text(output.get("text")),
        }
    data = output.get("data")
    if output.get("output_type") == "error" or not isinstance(data, dict):
        return dict(output)
    bundle = {mime: text(value) for mime, value in data.items()}
    return {"output_type": output.get("output_type"), "data": bundle, "metadata": {}}


def _messages(
    cell: NewCell, own: Mapping[str, Any], losses: list[str]
) -> tuple[list[Message], list[NewCell]]:
    """The messages of a cell, and the cells that must follow it."""
    wires = _wires(cell, own.get("messages"))
    messages = _parse_messages(wires, losses)
    if not messages:
        return _new_messages(cell, losses), []
    parts = passages(messages)
    lines = own.get("lines")
    if len(parts) != 1 or (lines is not None and not _is_count(lines, parts[0])):
        return _new_messages(cell, losses), []
    passage = parts[0]
    expected, *rest = cells_of(passage, lines or 0)
    if expected.same(cell):
        return passage.messages, rest
    if expected.kind != cell.kind:
        return _new_messages(cell, losses), []
    return _edited_messages(passage, expected, cell, losses), rest


def _parse_messages(wires: list[dict[str, Any]], losses: list[str]) -> list[Message]:
    try:
        return [Message.from_dict(each) for each in wires]
    except ProtocolError:  # the metadata is as foreign as any file
        return read_messages(wires, losses, anything=True)


def _is_count(lines: Any, passage: Passage) -> bool:
    return (
        type(lines) is int
        and lines > 0
        and passage.is_code
        and passage.fate in ("failed", "stopped")
    )


def _wires(cell: NewCell, entries: Any) -> list[dict[str, Any]]:
    """The messages of the metadata, with what stands in the cell put in."""
    messages: list[dict[str, Any]] = []
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("message"), dict):
            return []
        message, where = dict(entry["message"]), entry.get("content")
        if where is not None:
            content = _content(cell, where, message.get("type"))
            if content is None:  # that output is gone, and what was told of the others with it
                return [*messages, _NOTHING] if messages else []
            message = _in_order(message, content)
        messages.append(message)
    return messages


_NOTHING = {"role": "computer", "type": "console", "format": "output", "content": ""}


def _in_order(message: dict[str, Any], content: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        key: message[key] for key in ("role", "type", "format") if key in message
    }
    result["content"] = content
    return result | message


def _content(cell: NewCell, where: Any, type_: Any) -> str | None:
    if where == "source":
        return cell.source
    if isinstance(where, str):
        data = list(cell.attachments.get(where.removeprefix("attachment:"), {}).values())
        return data[0] if data else None
    if type(where) is not int or not 0 <= where < len(cell.outputs):
        return None
    output = cell.outputs[where]
    texts = _images(output) if type_ == "image" else [output.get("text")]
    return texts[0] if texts and isinstance(texts[0], str) else None


def _edited_messages(
    passage: Passage, expected: NewCell, cell: NewCell, losses: list[str]
) -> list[Message]:
    """The messages of a passage whose cell somebody has changed."""
    first, results = passage.first, passage.results
    if cell.kind == "code":
        if cell.source != expected.source:
            language, code = code_of(cell.source, first.format)
            same = canonical(first.format or "") == language
            first = replace(first, format=first.format if same else language, content=code)
        if cell.outputs != expected.outputs:
            results = messages_of(cell.outputs, losses) or [Message.from_dict(_NOTHING)]
        return [first, *results]
    if first.type == "message":
        new = text_of(cell.source)
        results = [each for each in results if each.content != first.content]  # asked again
        if is_thought(new):
            first = replace(first, recipient=new.recipient)
        return [replace(first, role=new.role, content=new.content), *results]
    return _new_messages(cell, losses)


def _new_messages(cell: NewCell, losses: list[str]) -> list[Message]:
    """A cell that somebody wrote."""
    if cell.kind == "code":
        language, code = code_of(cell.source)
        if not (code.strip() or cell.outputs):
            return []
        return [Message("user", "code", language, code), *messages_of(cell.outputs, losses)]
    new = text_of(cell.source)
    if not new.content.strip():
        return []
    return [replace(new, role="user") if cell.source == new.content else new]
