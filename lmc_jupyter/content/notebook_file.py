"""The cells of a notebook's file, as they stand in it.

One rule: what cannot be read is nothing; the file lacks what a person has not saved.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lmc_jupyter.content.cell import HIDE, own_code


def read_cells(path: str) -> list[dict[str, Any]]:
    """The cells of this file; none where it is being written, or is no notebook."""
    cells = _read(path).get("cells")
    return [each for each in cells if isinstance(each, dict)] if isinstance(cells, list) else []


def _read(path: str) -> dict[str, Any]:
    try:
        with Path(path).open(encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def read_tags(path: str) -> object:
    """The tags of the notebook itself, as its metadata have them; None where there are none."""
    metadata = _read(path).get("metadata")
    return metadata.get("tags") if isinstance(metadata, dict) else None


def source_of(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def code_that_ran(path: str) -> list[str]:
    """The person's code cells that have run, without those that are hidden from models."""
    found = []
    for each in read_cells(path) if path else ():
        metadata = each.get("metadata")
        tags = metadata.get("tags") if isinstance(metadata, dict) else None
        is_hidden = isinstance(tags, list) and HIDE in tags
        if each.get("execution_count") is not None and not is_hidden:
            found.append(own_code(source_of(each)))
    return list(filter(None, found))
