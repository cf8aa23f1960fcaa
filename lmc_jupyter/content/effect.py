"""One thing that code will do if it runs: what a person reads before they let it.

One rule: a value without words; `frontends/effect_words.py` has those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EffectKind = Literal[
    "makes", "overwrites", "changes", "loses", "empties", "deletes", "writes", "renames", "removes",
    "network", "shell", "tools", "page", "unknown", "reads",
]  # fmt: skip
"""Of names: makes, overwrites, changes (in place), loses (an item of it), empties (loses all of
them), deletes. Of files: writes, renames (its detail is the new name), removes. Of tools of MCP
servers: tools. Of Jupyter's own page: page (HTML or JavaScript that it shows with its rights).
Nothing else: reads."""

OF_NAMES: frozenset[EffectKind] = frozenset(
    {"overwrites", "changes", "loses", "empties", "deletes"}
)
"""Effects on names that there are."""


@dataclass(frozen=True)
class Effect:
    """One thing that code will do if it runs, as far as the code says it.

    Parameters
    ----------
    name : of the variable, the file, the module or the program; "" for none. It is foreign text
    detail : what the variable is now, such as "list, 3 items"; without a name, the whole sentence
    is_theirs : whether a cell of the person's made this name, and no code of a model or an agent
    """

    kind: EffectKind
    name: str
    detail: str = ""
    is_theirs: bool = True
