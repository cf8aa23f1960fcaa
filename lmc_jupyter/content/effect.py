"""One thing that code will do if it runs: what a person reads before they let it.

One rule: a value without words; `frontends/effect_words.py` has those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EffectKind = Literal[
    "makes", "overwrites", "changes", "deletes", "writes", "removes", "network", "shell", "tools",
    "unknown",
]  # fmt: skip
"""Of names: makes, overwrites, changes (in place), deletes. Of files: writes, removes. Of tools of
MCP servers: tools."""


@dataclass(frozen=True)
class Effect:
    """One thing that code will do if it runs, as far as the code says it.

    Parameters
    ----------
    name : of the variable, the file, the module or the program; "" for none. It is foreign text
    detail : what the variable is now, such as "list, 3 items"; without a name, the whole sentence
    """

    kind: EffectKind
    name: str
    detail: str = ""
