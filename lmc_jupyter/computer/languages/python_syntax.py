"""Code of a cell as Python's syntax tree, with IPython's magics and `!` lines as calls.

One rule: nothing of it runs. IPython's own transformers say what a line of its syntax means.
"""

from __future__ import annotations

import ast
import functools
import re
from typing import Any

_PROMPT = re.compile(r"\s*In ?\[")
"""Of a copied cell: `In [1]: x = 1` is an annotation of Python too."""


def parse(code: str, shell: Any | None) -> ast.Module:
    """The tree of the code.

    Parameters
    ----------
    code : may hold magics and `!` lines
    shell : an IPython shell, which knows its own magics; None for the usual ones

    Raises
    ------
    SyntaxError, ValueError, RecursionError, MemoryError
        For code that cannot run.
    """
    if not _may_be_transformed(code, shell):
        try:
            return _parse_plain(code)  # the transformers take longer than all else
        except SyntaxError:
            pass  # it has syntax of IPython, or it is wrong: the next line tells
    return _parse_plain(_transform(code, shell))


@functools.lru_cache(maxsize=1)
def _parse_plain(code: str) -> ast.Module:
    """The tree of Python code; of a block several readers want it, one after the other."""
    return ast.parse(code)


def _may_be_transformed(code: str, shell: Any | None) -> bool:
    """Whether the shell may read it in another way, although it is valid Python."""
    if "\n" not in code.strip() or _PROMPT.match(code):
        return True  # a single line may be a magic without its `%`: `reset -f`
    return bool(getattr(shell, "input_transformers_post", ()))


def _transform(code: str, shell: Any | None) -> str:
    if shell is not None:
        return str(shell.transform_cell(code))
    from IPython.core.inputtransformer2 import TransformerManager

    return str(TransformerManager().transform_cell(code))
