"""What is known of a notebook's code as an RO-Crate: a folder with the notebook, the pages, and a
description in JSON-LD that other programs read.

One rule: the crate is made by the library of its makers, ro-crate-py; here stands only what of ours
is which entity. Each block is a `CreateAction`, as in the profile Process Run Crate.

Source: https://www.researchobject.org/ro-crate/ and
https://www.researchobject.org/workflow-run-crate/profiles/process_run_crate/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lmc_jupyter.content.file_read import FileRead
from lmc_jupyter.errors import LMCError
from lmc_jupyter.formats.methods.findings import ALLOWED, BlockEntry, Methods, digest
from lmc_jupyter.formats.methods.pages import html, markdown

PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
NO_LICENSE = "The authors of the notebook have stated none."
_ENDED = {"ran", "edited, then ran"}
_ENDINGS = {"python": ".py", "shell": ".sh", "javascript": ".js", "r": ".R", "sql": ".sql"}


def write(methods: Methods, notebook: Path, folder: Path) -> None:
    """Write the crate into this folder, which may be there.

    Raises
    ------
    LMCError
        Where ro-crate-py is not installed.
    OSError
        When something cannot be written.
    """
    try:
        from rocrate.rocrate import ROCrate
    except ImportError:
        raise LMCError(
            "an RO-Crate is written by ro-crate-py, which is not installed: "
            "`%pip install rocrate`, or give the path of a .markdown or .html file"
        ) from None
    pages = {"methods.markdown": markdown(methods), "methods.html": html(methods)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, "utf-8")
    crate = ROCrate(version="1.1")  # which the profile rests on
    crate.name = f"Who wrote and ran the code of {methods.name}"
    crate.description = f"{methods.made}. {' '.join(methods.unknown)}"
    crate.root_dataset["license"] = NO_LICENSE
    crate.root_dataset.append_to("conformsTo", _entity(crate, _A_PROFILE, PROFILE, **_PROFILE))
    file = crate.add_file(
        str(notebook),
        methods.name,
        properties={
            "name": methods.name,
            "encodingFormat": "application/x-ipynb+json",
            "sha256": _of_file(notebook),
        },
    )
    for name, kind in (("methods.markdown", "text/markdown"), ("methods.html", "text/html")):
        about = {"name": name, "encodingFormat": kind, "about": {"@id": file.id}}
        crate.add_file(str(folder / name), name, properties=about)
    crate.root_dataset["mainEntity"] = file
    for action in _actions(crate, folder, methods.blocks, file):
        crate.root_dataset.append_to("mentions", action)
    crate.write(str(folder))


_A_PROFILE = ["CreativeWork", "Profile"]
_PROFILE = {"name": "Process Run Crate", "version": "0.5"}


def _entity(crate: Any, kind: str | list[str], id: str, **properties: Any) -> Any:
    """An entity that is no file of the crate; one that is there is given again."""
    from rocrate.model import ContextEntity

    if (found := crate.get(id)) is not None:
        return found
    return crate.add(ContextEntity(crate, id, properties={"@type": kind, **properties}))


def _actions(
    crate: Any, folder: Path, blocks: Sequence[BlockEntry], notebook: Any
) -> Iterator[Any]:
    """An entity of each block, with those that it speaks of."""
    person = _entity(crate, "Person", "#person", name="the person at the notebook")
    python = _entity(
        crate, "SoftwareApplication", "#kernel", name="the kernel of the notebook",
        version="not recorded", url="https://jupyter.org",
    )  # fmt: skip
    for number, block in enumerate(blocks, 1):
        author = _entity(crate, "SoftwareApplication", f"#author-{digest(block.by)[:8]}",
                         name=block.by or "a model", url=f"#author-{digest(block.by)[:8]}",
                         version="not recorded")  # fmt: skip
        name = f"block-{number}{_ENDINGS.get(block.language, '.txt')}"
        (folder / name).write_text(block.code, "utf-8", "surrogatepass")
        code = crate.add_file(
            str(folder / name),
            name,
            properties={
                "@type": ["File", "SoftwareSourceCode"], "name": f"block {number}",
                "programmingLanguage": block.language, "sha256": digest(block.code),
                "isPartOf": {"@id": notebook.id},
            },
        )  # fmt: skip
        code["author"] = author
        has_run = block.fate in _ENDED
        yield _entity(
            crate,
            "CreateAction",
            f"#block-{number}",
            name=f"block {number}: {block.fate}",
            description=_description(block),
            instrument=python,
            agent=person if block.allowed == ALLOWED["clicked"] else author,
            object=[code, *(_read(crate, each) for each in block.read)],
            result=[
                _entity(crate, "PropertyValue", f"#block-{number}-{what}-{at}", name=name,
                        value=what)
                for what, names in (("made", block.new), ("changed", block.changed),
                                    ("removed", block.removed))
                for at, name in enumerate(names, 1)
            ],
            endTime=block.time,
            actionStatus={"@id": f"http://schema.org/{'Completed' if has_run else 'Failed'}"
                          "ActionStatus"},
        )  # fmt: skip


def _description(block: BlockEntry) -> str:
    breach = f"; unasked: {block.breach}" if block.breach else ""
    return f"{block.fate}; allowed: {block.allowed}{breach}"


def _read(crate: Any, file: FileRead) -> Any:
    """A file that was read; it is described, and no part of the crate."""
    known = {"sha256": file.sha256} if file.sha256 else {}
    id = f"#file-{digest(f'{file.path} {file.sha256}')[:12]}"
    return _entity(crate, "CreativeWork", id, name=file.path, contentSize=str(file.size), **known)


def _of_file(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()
