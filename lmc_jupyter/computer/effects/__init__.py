"""What code will do if it runs, as far as the code and the person's names say it.

One rule: it only reads. No code runs, and of a value only its type and its shape are read. What it
cannot know it says, by an effect of the kind "unknown".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmc_jupyter.computer.effects.shell import shell_effects
from lmc_jupyter.computer.effects.sql import sql_effects
from lmc_jupyter.computer.effects.walk import python_effects
from lmc_jupyter.content.effect import Effect

MAX_CODE = 100_000
"""Characters of code that are read; of longer code that alone is said."""

_APART = frozenset({"r", "javascript", "typescript", "ruby", "perl", "julia", "java"})
"""Languages whose programs are processes of their own."""
_FRAMED = frozenset({"html", "browser"})
"""Languages that run in a frame of the page, which reaches neither files nor the network."""


def find_effects(
    language: str, code: str, names: Mapping[str, Any] | None = None, shell: Any | None = None
) -> tuple[Effect, ...]:
    """What the code will do, in the order of `EffectKind`.

    Parameters
    ----------
    language : its canonical name
    names : the person's variables; they matter to Python alone
    shell : an IPython shell, which knows its own magics; None for the usual ones
    """
    sentence = f"what this {language} code does is not known before it runs"
    if len(code) > MAX_CODE:
        sentence = f"the code is too long to be read ({len(code):,} characters)"
    elif language == "python":
        return python_effects(code, names or {}, shell)
    elif language == "shell":
        return shell_effects(code)
    elif language == "sql":
        return sql_effects(code)
    elif language in _FRAMED:
        return ()
    elif language in _APART:
        sentence += "; it cannot change your names in Python"
    return (Effect("unknown", "", sentence),)
