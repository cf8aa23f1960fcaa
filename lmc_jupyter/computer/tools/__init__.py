"""The tools of MCP servers, as functions that code calls: `tools.NAME.TOOL(...)`.

One rule: the kernel imports nothing of the protocol. Worker processes speak it, one for each
server, and end with the kernel; `config` reads which servers there are, `catalogue` makes names and
signatures of what they offer, `namespace` is the object `tools`, and `servers` asks the workers.

Nothing of it is imported before there is an mcp.json, but for the guards of its calls.

Source: the Model Context Protocol, https://modelcontextprotocol.io/specification.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Collection
from typing import Any, Protocol

PATH = "lmc_jupyter.tools"
"""What `path_of` gives for `tools`; of a tool it gives PATH.NAME.TOOL."""


class CallGuard(Protocol):
    """Keeps code of a model from calling what its policy does not allow."""

    def check(self, uses: Collection[str]) -> None:
        """Raise a GateError when code that was granted may not use these."""
        ...


guards: weakref.WeakSet[CallGuard] = weakref.WeakSet()
"""They check every call of a tool; a session adds its gate."""


def path_of(value: Any) -> str | None:
    """Where a value of ours stands: PATH, PATH.NAME or PATH.NAME.TOOL; None for all others."""
    namespace = sys.modules.get(f"{__name__}.namespace")  # without it there is no such value
    return None if namespace is None else namespace.path_in_tools(value)
