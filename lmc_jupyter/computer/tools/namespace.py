"""The object `tools`: the tools of MCP servers as functions, `tools.NAME.TOOL(...)`.

One rule: a call is a call of Python, so code that calls a tool goes through the gate as any code.
What comes back is data: nothing here reads it as anything else.
"""

from __future__ import annotations

import base64
import inspect
import io
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from lmc_jupyter.computer.tools import PATH
from lmc_jupyter.computer.tools import servers as workers
from lmc_jupyter.computer.tools.catalogue import Server, Tool

MAX_LINE = 200
"""Characters of a tool in a list."""
MAX_FOUND = 30
"""Tools that one search lists."""
MAX_LISTED = 40
START_SECONDS = 120.0
"""Seconds that a first call waits for its server."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
"""Of pictures: Pillow would run a program for some others, such as Ghostscript for EPS."""
MAX_PIXELS = 50_000_000
"""Of a picture; of a larger one its bytes are the result."""


class PlainText(str):
    """A text that shows itself as it is, and not as its repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str.__str__(self)


class ToolServer:
    """The tools of one server, as functions."""

    def __init__(self, name: str, identifier: str, tools: Tools) -> None:
        self._name, self._identifier, self._tools = name, identifier, tools

    def __getattr__(self, name: str) -> Any:
        """A tool that is not there yet: its server may be starting."""
        if name.startswith("_"):
            raise AttributeError(name)
        servers = self._tools._servers
        servers.wait(START_SECONDS, self._name)
        self._tools._refresh()
        if name in self.__dict__:
            return self.__dict__[name]
        server = next((each for each in servers.current() if each.name == self._name), None)
        if server is None:
            raise AttributeError(f"the server {self._name} is no longer in mcp.json")
        if server.state != "ready":
            why = server.why or "it starts"
            raise AttributeError(
                f"the server {self._name} is not ready: {why}. `%lmc tools` shows it"
            )
        raise AttributeError(
            f"the server {self._name} has no tool {name!r:.60}: `tools.search({name!r:.60})` finds "
            "tools by words"
        )

    def __dir__(self) -> list[str]:
        self._tools._refresh()
        return sorted(name for name in self.__dict__ if not name.startswith("_"))

    def __repr__(self) -> str:
        self._tools._refresh()
        for server in self._tools._servers.current():
            if server.name == self._name:
                return _text_of(server, MAX_LISTED)
        return f"the server {self._name} is no longer in mcp.json"


class Tools:
    """The MCP servers of this kernel. `tools.NAME.TOOL(...)` calls a tool; `dir`, Tab, `help()`
    and `?` say what there is, and `tools.search("words")` finds tools by words.
    """

    def __init__(self, servers: workers.Servers) -> None:
        self._servers = servers
        self._seen: list[Server] = []
        self._lock = threading.RLock()
        servers.changed = self._refresh

    def search(self, words: str) -> PlainText:
        """The tools whose name or description has all these words, a line for each."""
        self._refresh()
        wanted = words.lower().split()
        found = [
            tool
            for server in self._servers.current()
            for tool in server.tools
            if all(word in f"{tool.path} {tool.help}".lower() for word in wanted)
        ]
        lines = [each.line(MAX_LINE) for each in found[:MAX_FOUND]]
        if len(found) > MAX_FOUND:
            lines.append(f"… and {len(found) - MAX_FOUND:,} more: search for more words")
        return PlainText("\n".join(lines) or f"No tool has the words {words!r:.80}.")

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            self._refresh()
            if name in self.__dict__:
                return self.__dict__[name]
            there = ", ".join(each.identifier for each in self._servers.current()) or "none"
            raise AttributeError(
                f"there is no server {name!r:.60}: there are {there}. `%lmc tools` lists them"
            )
        raise AttributeError(name)

    def __dir__(self) -> list[str]:
        self._refresh()
        return sorted(["search", *(name for name in self.__dict__ if not name.startswith("_"))])

    def __repr__(self) -> str:
        self._refresh()
        found = self._servers.current()
        if not found:
            return "There is no MCP server: `%lmc tools` says where mcp.json belongs."
        most = max(1, MAX_LISTED // len(found))
        return "\n".join(_text_of(each, most) for each in found)

    def _refresh(self) -> None:
        """Have an attribute for each server, and one of it for each tool."""
        with self._lock:
            listed = self._servers.current()
            if listed != self._seen:
                self._change(listed)
                self._seen = listed

    def _change(self, listed: list[Server]) -> None:
        own = {"_servers", "_seen", "_lock"}
        there = {each.identifier: each for each in listed}
        for name in self.__dict__.keys() - own - there.keys():
            self.__dict__.pop(name, None)
        for name, server in there.items():
            before = self.__dict__.get(name)
            if type(before) is not ToolServer or before._name != server.name:
                before = ToolServer(server.name, name, self)
            functions = {
                tool.identifier: _function(self._servers, server, tool) for tool in server.tools
            }
            fresh = {n: v for n, v in before.__dict__.items() if n.startswith("_")} | functions
            before.__dict__.update(fresh)
            for old in before.__dict__.keys() - fresh.keys():
                del before.__dict__[old]
            self.__dict__[name] = before


def path_in_tools(value: Any) -> str | None:
    """See `lmc_jupyter.computer.tools.path_of`."""
    if type(value) is Tools:
        return PATH
    if type(value) is ToolServer:
        return f"{PATH}.{object.__getattribute__(value, '_identifier')}"
    if type(value) is types.FunctionType:
        module = value.__module__
        if isinstance(module, str) and module.startswith(f"{PATH}."):
            return f"{module}.{value.__name__}"
    return None


def _text_of(server: Server, most: int) -> str:
    if server.state != "ready":
        return f"tools.{server.identifier}: {server.state}" + (
            f" ({server.why})" * bool(server.why)
        )
    lines = [each.line(MAX_LINE) for each in server.tools[:most]]
    if (left := len(server.tools) - most) > 0:
        lines.append(f'… and {left:,} more of {server.identifier}: tools.search("words")')
    return "\n".join(lines) or f"tools.{server.identifier}: no tools"


def _function(servers: workers.Servers, server: Server, tool: Tool) -> Callable[..., Any]:
    """The function of a tool."""
    parameters = tool.signature.parameters
    is_open = any(each.kind == each.VAR_KEYWORD for each in parameters.values())

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = tool.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{tool.path}: {error}: it is {tool.line(MAX_LINE)}") from None
        given: dict[str, Any] = dict(tool.defaults)
        for name, value in bound.arguments.items():
            if is_open and name not in tool.parameters:
                given.update(value)
            elif value is not None or parameters[name].default is inspect.Parameter.empty:
                given[tool.parameters[name]] = value
        return result_of(servers.call(server.name, tool.name, given, tool.path))

    call.__name__ = tool.identifier
    call.__qualname__ = f"{server.identifier}.{tool.identifier}"
    call.__module__ = f"{PATH}.{server.identifier}"
    call.__doc__ = tool.help or None
    call.__signature__ = tool.signature  # type: ignore[attr-defined]
    call.__annotations__ = {
        name: each.annotation
        for name, each in parameters.items()
        if each.annotation is not inspect.Parameter.empty
    }
    return call


# Results ------------------------------------------------------------------------------------------


def result_of(result: dict[str, Any]) -> Any:
    """A result of the protocol as Python's values.

    Structured content is a dict or a list, text a str, an image a PIL image, a file str or bytes;
    several are a list, none is None. An image beside other values is shown, too.
    """
    values = [_value(each) for each in result.get("content", ())]
    structured = result.get("structuredContent")
    if structured is not None or len(values) > 1:
        for each in values:
            if _is_image(each):
                _show(each)
    if structured is not None:
        return structured
    return values if len(values) > 1 else next(iter(values), None)


def _value(block: dict[str, Any]) -> Any:
    kind = block.get("type")
    if kind == "text":
        return block.get("text", "")
    if kind == "image":
        return _image(_bytes(block.get("data")), str(block.get("mimeType")))
    if kind == "audio":
        return _bytes(block.get("data"))
    if kind == "resource":
        resource = block.get("resource", {})
        return resource["text"] if "text" in resource else _bytes(resource.get("blob"))
    return block


def _bytes(text: Any) -> bytes:
    try:
        return base64.b64decode(text or "")
    except (ValueError, TypeError):
        return str(text).encode()


def _image(data: bytes, mime: str) -> Any:
    """A picture of `FORMATS`; one of IPython where PIL cannot read it, and bytes where it is none
    or too large."""
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
        if image.width * image.height > MAX_PIXELS:
            return data
        image.load()
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        form = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif"}.get(mime)
        if form is None or "IPython" not in sys.modules:
            return data
        from IPython.display import Image as Shown

        return Shown(data=data, format=form)
    return image


def _is_image(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in ("PIL", "IPython")


def _show(image: Any) -> None:
    if "IPython" in sys.modules:
        from IPython.display import display

        display(image)


def show_progress(text: str) -> None:
    """A line that the next one takes the place of; "" clears it."""
    width = _width[0]
    _width[0] = len(text)
    sys.stdout.write(f"\r{text.ljust(width)}" + ("\r" if not text else ""))
    sys.stdout.flush()


_width = [0]
"""Characters of the last line of progress."""

_the_tools = Tools(workers.servers)
workers.servers.show = show_progress


def the_tools() -> Tools:
    """The object `tools` of this process."""
    return _the_tools
