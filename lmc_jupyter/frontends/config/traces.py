"""Whether something of before counts in a kernel: a file of its folder, a chosen model, a setting
of the session, a conversation. Where nothing does, loading the extension imports next to nothing;
instructions that are near are offered, and what reads them is all that is imported for it.

One rule: it looks whether files are there, and reads none but the end of the notebook, where its
own tags stand. The names of these files stand here.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import platformdirs
from jupyter_core import paths

from lmc_jupyter.content.cell import MODES
from lmc_jupyter.conversation.of_kernel import conversation_file
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.turn.options import NAMES

IN_FOLDER = "lmc.yaml"
"""The settings of a working directory."""

INSTRUCTIONS = "AGENTS.md"
"""The instructions of a notebook's folder, or of one above it."""

TOOLS = ("mcp.json", ".mcp.json")
"""The tools of a notebook's folder."""

_OF_SESSION = ("profile", *NAMES)
"""Settings whose value may be refused, which the person reads as the extension is loaded."""


def has_traces(
    settings: LMC, folder: Path | None, notebook: str, connection_file: str | None
) -> bool:
    """Whether there is such a thing.

    Parameters
    ----------
    folder : of the notebook; None where it is not there
    notebook : its path; "" where it is not known
    connection_file : of the kernel; None where it has none
    """
    if any(getattr(settings, name) != settings.trait_defaults(name) for name in _OF_SESSION):
        return True
    files = [own_tools(), model_file(""), *(each / IN_FOLDER for each in administrators())]
    if notebook:
        if may_have_a_mode(notebook):
            return True
        files.append(model_file(notebook))
    if connection_file is not None:
        files.append(conversation_file(connection_file))
    if folder is not None:
        files += [folder / name for name in TOOLS]
    try:
        files.append(Path.cwd() / IN_FOLDER)
    except OSError:  # a working directory that is gone
        return True
    return is_any_there(files)


TAIL = 20_000
"""Bytes at the end of a notebook, where its own metadata stand."""


def administrators() -> list[Path]:
    """Jupyter's folders of configuration that are the environment's and the system's."""
    return [Path(each) for each in (*paths.ENV_CONFIG_PATH, *paths.SYSTEM_CONFIG_PATH)]


def may_have_a_mode(notebook: str) -> bool:
    """Whether the notebook, not its cells, may have a tag that sets the mode of a course."""
    try:
        with Path(notebook).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            tail = file.read(TAIL)
    except OSError:  # it is not saved yet, or its path is one of the server's
        return False
    return any(f'"{tag}"'.encode() in tail for tag in MODES)


def has_instructions(folder: Path | None) -> bool:
    """Whether instructions may be near; `place.find` looks which of them are this folder's."""
    near = (folder, *folder.parents) if folder is not None else ()
    return is_any_there([each / INSTRUCTIONS for each in near])


def is_any_there(files: list[Path]) -> bool:
    """Whether one of them is, or may be, there."""
    try:
        return any(file.exists() for file in files)
    except OSError:  # a folder that is gone, or that may not be read: what reads it says so
        return True


def own_tools() -> Path:
    """The person's own file of tools."""
    return platformdirs.user_config_path("lmc-jupyter") / TOOLS[0]


def model_file(notebook: str) -> Path:
    """The file of the model that was chosen in this notebook, or with "" for all: the path of a
    notebook may have characters that no file name has.
    """
    name = hashlib.sha256(notebook.encode("utf-8", "replace")).hexdigest()[:32] if notebook else ""
    return platformdirs.user_data_path("lmc-jupyter") / "models" / f"{name or 'all'}.json"
