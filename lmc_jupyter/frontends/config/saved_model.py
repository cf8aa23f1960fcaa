"""The model that a person chose: for one notebook, and for all of theirs.

One rule: it is read from the person's own data directory, where only their own choice puts it.
Nothing in a notebook, or in its folder, chooses a model; and no key is written here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lmc_jupyter.conversation.disk import calls, write_whole
from lmc_jupyter.conversation.journal import read_bytes
from lmc_jupyter.errors import SessionError
from lmc_jupyter.frontends.config.traces import model_file
from lmc_jupyter.keys import address


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A model by its name, and its address where one was given; of a notebook's, the settings that
    go with it."""

    model: str
    api_base: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def of_notebook(notebook: str) -> SavedModel | None:
    """The model chosen in this notebook; None for none, and where it has no path.

    Raises
    ------
    SessionError
        When the file is there and cannot be read.
    """
    return _read(model_file(notebook)) if notebook else None


def of_all() -> SavedModel | None:
    """The model chosen for all notebooks; see `of_notebook`."""
    return _read(model_file(""))


def remember(notebook: str, choice: SavedModel) -> None:
    """Save a choice: for this notebook, or with "" for all.

    Raises
    ------
    SessionError
        When it cannot be written, or its address holds a password.
    """
    if choice.api_base and address(choice.api_base) != choice.api_base:
        raise SessionError("its address holds a key, and keys are written to no file")
    path = model_file(notebook)
    try:
        calls.make_folder(path.parent)
        write_whole(path, json.dumps({"notebook": notebook, **asdict(choice)}).encode())
    except OSError as error:
        raise SessionError(f"{path} cannot be written ({error})") from None


def _read(path: Path) -> SavedModel | None:
    try:
        values = json.loads(read_bytes(path))
        model, base = values["model"], values.get("api_base")
        settings = dict(values.get("settings", {}))
    except FileNotFoundError:
        return None
    except (OSError, SessionError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise SessionError(f"the chosen model cannot be read from {path} ({error})") from None
    if not isinstance(model, str) or not (base is None or isinstance(base, str)):
        raise SessionError(f"the chosen model cannot be read from {path}: it holds no name")
    return SavedModel(model, base, settings)
