"""Show what a language yields: `show(computer.run("shell", "ls"))`.

One rule: each piece is shown as it comes, so that you see what streams and what does not.
"""

from __future__ import annotations

import base64
import html
import sys
from collections.abc import Iterable

from IPython.display import HTML, Image, display

from lmc_jupyter import Chunk


def show(pieces: Iterable[Chunk]) -> None:
    """Print console output, and display pictures and pages, as they come.

    A page of HTML stands in a frame of its own, which nothing gets out of.
    """
    for piece in pieces:
        if piece.content is None or piece.format == "active_line":
            continue
        if piece.type == "image" and str(piece.format).startswith("base64"):
            display(Image(data=base64.b64decode(piece.content)))
        elif piece.type == "code" and piece.format == "html":
            frame = f'<iframe sandbox srcdoc="{html.escape(piece.content)}" width="100%"></iframe>'
            display(HTML(frame))
        else:
            sys.stdout.write(str(piece.content))
            sys.stdout.flush()
