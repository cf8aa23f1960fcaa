"""Commands that write the conversation to a file, and read one.

One rule: no file is replaced unless the person says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lmc_jupyter.formats import formats, written_as
from lmc_jupyter.frontends.magic.commands.conversation import describe
from lmc_jupyter.frontends.magic.commands.table import (
    Candidate,
    Complete,
    Invocation,
    Prefix,
    WrongCommand,
    command,
)

MOST_LISTED = 1_000
"""Names of a folder that completion looks at."""


def paths(prefix: Prefix) -> Iterable[Candidate]:
    """Files and folders; one whose name has a blank in it is put in quotation marks."""
    bare = prefix.text.lstrip("\"'")
    quote = prefix.text[: len(prefix.text) - len(bare)]
    folder, slash, start = bare.rpartition("/")
    for path in sorted(Path(f"{folder}{slash}" or ".").expanduser().iterdir())[:MOST_LISTED]:
        if not path.name.startswith(start) or (path.name.startswith(".") and not start):
            continue
        name = f"{folder}{slash}{path.name}"
        mark = quote or ('"' if any(char.isspace() for char in name) else "")
        yield (f"{mark}{name}/", "folder") if path.is_dir() else (f"{mark}{name}{mark}", "file")


def format_names(does: str) -> Complete:
    """Completes the formats that `does`: "read" or "write"."""
    return lambda _: [
        (name, ", ".join(each.EXTENSIONS))
        for name, each in formats().items()
        if hasattr(each, does)
    ]


_WRITES = {"PATH": paths, "NAME": format_names("write")}


@command(
    "save",
    "[PATH] [--format NAME] [--replace] [--thoughts]",
    help="write this conversation to a file that `load` reads",
    more="The file's extension selects the format; without a path, the format is LMC JSON, which "
    "has the model's thoughts. --thoughts writes them in any other format too.",
    complete=_WRITES,
)
def save(
    call: Invocation, path: str | None, format: str | None, replace: bool, thoughts: bool
) -> str:
    return _write(call, path, format, ".json", replace=replace, thoughts=thoughts)


@command(
    "load",
    "PATH [--format NAME]",
    help="continue with a conversation from a file",
    more="The current conversation stays in the history. Code in the file does not run.",
    complete={"PATH": paths, "NAME": format_names("read")},
)
def load(call: Invocation, path: str, format: str | None) -> str:
    call.session.conversation.may_leave()
    try:
        losses = call.session.load(Path(path).expanduser(), format)
    except OSError as error:
        raise WrongCommand(f"{path!r} cannot be read: {error.strerror}") from None
    return "\n".join([f"Conversation: {describe(call.session)}", *losses])


@command(
    "export",
    "[PATH] [--format NAME] [--replace] [--only-ran] [--thoughts]",
    help="export this conversation: a notebook that runs without a model, Markdown, …",
    more="The file's extension selects the format; without a path, the format is a notebook. "
    "--only-ran leaves out code that you declined, that failed or that was stopped. --thoughts "
    "writes the model's thoughts too.",
    complete=_WRITES,
)
def export(
    call: Invocation,
    path: str | None,
    format: str | None,
    replace: bool,
    only_ran: bool,
    thoughts: bool,
) -> str:
    return _write(
        call, path, format, ".ipynb", replace=replace, only_ran=only_ran, thoughts=thoughts
    )


def _write(
    call: Invocation,
    path: str | None,
    name: str | None,
    ending: str,
    *,
    replace: bool,
    thoughts: bool,
    only_ran: bool = False,
) -> str:
    """Write the conversation to a file; without a path, to one of its title."""
    if not call.session.messages:
        raise WrongCommand("the conversation is empty: there is nothing to save")
    target = Path(path).expanduser() if path else _free(call.session.journal.title, name, ending)
    check_target(target, replace=replace)
    try:
        losses = call.session.save(
            target, name, replace=replace, only_ran=only_ran, thoughts=thoughts
        )
    except OSError as error:
        raise WrongCommand(f"{str(target)!r} cannot be written: {error.strerror}") from None
    lines = [f"Wrote {target}.", *losses]
    if written_as(target, name) == "notebook":
        lines.append(f"`%lmc check {quote(str(target))}` shows whether it runs again.")
    return "\n".join(lines)


def notebook_file(name: str) -> Path:
    """The file of a notebook; older servers name it from their own folder."""
    path = Path(name)
    return path if path.is_absolute() else Path(path.name)


def check_target(target: Path, *, replace: bool) -> None:
    """Raise a sentence where no file is to be written here."""
    if target.is_dir():
        raise WrongCommand(f"{str(target)!r} is a folder: name a file in it")
    if target.exists() and not replace:
        raise WrongCommand(
            f"there is a file {str(target)!r} already: choose another name, or add --replace"
        )
    if not target.parent.is_dir():
        raise WrongCommand(f"there is no folder {str(target.parent)!r}: make it first")


def quote(path: str) -> str:
    """A path as a word of a command."""
    return f'"{path}"' if any(char.isspace() for char in path) else path


def _free(title: str, name: str | None, ending: str) -> Path:
    """A file in the working directory with the conversation's title, that is not there yet."""
    module: Any = formats().get(name) if name is not None else None
    ending = module.EXTENSIONS[0] if module is not None else ending
    stem = re.sub(r"[^\w\- ]+", "", title).strip()[:60] or "conversation"
    path, number = Path(f"{stem}{ending}"), 1
    while path.exists():
        number += 1
        path = Path(f"{stem}-{number}{ending}")
    return path
