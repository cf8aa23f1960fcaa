"""The command that says who wrote and ran the code of the notebook."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from lmc_jupyter.content.notebook_file import read_cells
from lmc_jupyter.frontends.magic.commands.files import check_target, notebook_file, paths
from lmc_jupyter.frontends.magic.commands.table import Invocation, WrongCommand, command

_MARKDOWN, _HTML = (".md", ".markdown"), (".html", ".htm")


@command(
    "methods",
    "[PATH] [--replace]",
    help="say who wrote, allowed and ran the code of this notebook",
    more="For the appendix of a paper: PATH.markdown is written as Markdown, PATH.html as a page "
    "with all the code and the figures, PATH/ as an RO-Crate, a folder that other programs "
    "read. It is made of the saved notebook and its conversations on this computer, and says "
    "what cannot be known.",
    complete={"PATH": paths},
)
def methods(call: Invocation, path: str | None, replace: bool) -> str:
    from lmc_jupyter.formats import methods as pages

    journal = call.session.journal
    notebook = journal.notebook
    if not notebook or journal.conversations is None:
        raise WrongCommand("the file of this notebook is not known here: open it in Jupyter")
    file = notebook_file(notebook)
    if not file.is_file():
        raise WrongCommand(f"there is no file {notebook!r}: save the notebook first")
    version = sys.modules["lmc_jupyter"].__version__
    entries = [each for each in journal.conversations.list() if each.notebook == notebook]
    found = pages.find(
        file.name,
        read_cells(str(file)),
        [journal.conversations.read(each.id) for each in entries],
        f"Made on {time.strftime('%Y-%m-%d')} by lmc-jupyter {version}",
    )
    if path is None:
        return pages.markdown(found)
    target = Path(path).expanduser()
    try:
        if path.endswith(("/", "\\")):
            if not replace and target.exists() and any(target.iterdir()):
                raise WrongCommand(
                    f"the folder {str(target)!r} is not empty: choose another name, or add "
                    "--replace, which leaves other files in it as they are"
                )
            from lmc_jupyter.formats.methods.crate import write

            write(found, file, target)
            return f"Wrote the RO-Crate {target}."
        if not target.name.endswith((*_MARKDOWN, *_HTML)):
            raise WrongCommand(
                f"{path!r} says no format: end it with .markdown, .html, or / for an RO-Crate"
            )
        check_target(target, replace=replace)
        is_html = target.name.endswith(_HTML)
        target.write_text(pages.html(found) if is_html else pages.markdown(found), "utf-8")
    except OSError as error:
        raise WrongCommand(f"{str(target)!r} cannot be written: {error.strerror}") from None
    return f"Wrote {target}."
