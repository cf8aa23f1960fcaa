"""Show what a language yields: `show(computer.run("shell", "ls"))`.

One rule: each piece is shown as it comes, so that you see what streams and what does not; what is
only for the model is left out.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterable

from IPython.display import Image, display

from lmc_jupyter import Chunk
from lmc_jupyter.content.nested import frame


def show(pieces: Iterable[Chunk]) -> None:
    """Print console output, and display pictures and pages, as they come.

    A page of HTML stands in a sandbox, which nothing gets out of; drag its corner to enlarge it.
    """
    for piece in pieces:
        if piece.content is None or piece.recipient == "assistant":
            continue
        if piece.type == "image" and str(piece.format).startswith("base64"):
            display(Image(data=base64.b64decode(piece.content)))
        elif piece.type == "code" and piece.format in ("html", "javascript"):
            style = "height:150px;overflow:auto;resize:vertical"
            page = f'<div style="{style}">{frame(piece.content, piece.format)}</div>'
            display({"text/html": page, "text/plain": piece.content}, raw=True)
        elif piece.type == "console" and piece.format == "output":
            sys.stdout.write(str(piece.content))
            sys.stdout.flush()
