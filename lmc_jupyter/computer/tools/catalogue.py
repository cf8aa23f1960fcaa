"""What servers offer, as Python names it: identifiers, signatures and texts.

One rule: everything here came from a server, so it is data. Names are ASCII identifiers without a
leading underscore, texts are bounded, and hidden characters in them are marks.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard, Union

from lmc_jupyter.content import shorten
from lmc_jupyter.content.hidden import split_hidden
from lmc_jupyter.content.terminal import plain

MAX_NAME = 60
MAX_SIGNATURE = 300
"""Characters of a signature in a list."""
MAX_HELP = 4_000
MAX_CHOICES = 8
"""Values of an enumeration that the signature lists."""
MAX_DEPTH = 3
"""How deep the type of an argument is read."""

State = Literal["starting", "ready", "ended", "failed"]

_TYPES: dict[str, Any] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "object": dict, "array": list,
    "null": None,
}  # fmt: skip


@dataclass(frozen=True)
class Tool:
    """A tool.

    Parameters
    ----------
    name : as the server knows it
    path : as code calls it: `tools.filesystem.read_file`
    parameters : Python's name of an argument -> the server's
    defaults : the server's name of an argument that it requires -> the value that its schema gives,
        which is sent where the code gives none
    """

    name: str
    path: str
    signature: inspect.Signature
    parameters: Mapping[str, str]
    help: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identifier(self) -> str:
        """The last part of its path."""
        return self.path.rpartition(".")[2]

    @property
    def summary(self) -> str:
        """The first line of its help."""
        return self.help.partition("\n")[0]

    def line(self, most: int) -> str:
        """Its call and its summary, in so many characters."""
        call = shorten.line(f"{self.path}{_signature_text(self.signature)}", MAX_SIGNATURE)
        return shorten.line(f"{call}: {self.summary}" if self.summary else call, most)


@dataclass(frozen=True)
class Server:
    """A server as it is now.

    Parameters
    ----------
    name : as mcp.json writes it
    identifier : as code calls it
    why : the reason of its end, if it has ended or failed
    more : the number of further tools that it has and that are left out
    """

    name: str
    identifier: str
    state: State = "starting"
    why: str = ""
    tools: tuple[Tool, ...] = field(default=(), repr=False)
    more: int = 0


def clean(text: str, most: int) -> str:
    """Foreign text: without escapes, its hidden characters as marks, not too long."""
    text = plain(text[: 2 * most])
    return shorten.head("".join(piece for piece, _ in split_hidden(text)), most).strip()


def clean_line(text: str, most: int) -> str:
    """The same, on one line."""
    return shorten.line(" ".join(clean(text, 2 * most).split()), most)


def identifiers(names: Iterable[str], taken: Collection[str] = ()) -> list[str]:
    """A valid and different Python name for each; equal ones are numbered."""
    found: list[str] = []
    used = set(taken)
    for name in names:
        base = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:MAX_NAME] or "tool"
        if base[0].isdigit():
            base = f"n{base}"
        if keyword.iskeyword(base) or keyword.issoftkeyword(base):
            base += "_"
        new, number = base, 1
        while new in used:
            number += 1
            new = f"{base}_{number}"
        used.add(new)
        found.append(new)
    return found


def read_tools(server: str, listed: Sequence[Mapping[str, Any]]) -> tuple[Tool, ...]:
    """The tools of a server's list; `server` is its identifier."""
    names = identifiers(str(each.get("name", "")) for each in listed)
    return tuple(
        _tool(f"tools.{server}.{name}", each) for name, each in zip(names, listed, strict=True)
    )


def _tool(path: str, listed: Mapping[str, Any]) -> Tool:
    schema = listed.get("schema")
    schema = schema if isinstance(schema, dict) else {}
    signature, parameters, defaults, lines = _read_schema(schema)
    text = clean(str(listed.get("description", "")), MAX_HELP)
    first, _, rest = text.partition("\n")
    help_text = "\n".join(filter(None, [first, rest.rstrip()]))
    if lines:
        help_text += "\n\nParameters\n----------\n" + "\n".join(lines)
    return Tool(str(listed.get("name", "")), path, signature, parameters, help_text, defaults)


def _read_schema(
    schema: Mapping[str, Any],
) -> tuple[inspect.Signature, dict[str, str], dict[str, Any], list[str]]:
    """The signature, the names of its arguments for the server, the defaults of those that it
    requires, and a line on each of them.
    """
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    required = [each for each in required if each in properties] if _is_list(required) else []
    # Playwright's server requires what has a default: the library that writes its schema does so
    defaults = {each: properties[each]["default"] for each in required if _has(properties, each)}
    wanted = [each for each in properties if each in required and each not in defaults]
    order = [*wanted, *(each for each in properties if each not in wanted)]
    names = identifiers(order, {"self"})
    parameters = []
    lines = []
    for name, key in zip(names, order, strict=True):
        value = properties[key] if isinstance(properties[key], dict) else {}
        default = inspect.Parameter.empty if key in wanted else _default(value)
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=default,
                annotation=_type(value),
            )
        )
        if isinstance(text := value.get("description"), str) and text:
            lines.append(f"{name} : {clean_line(text, MAX_SIGNATURE)}")
    more = schema.get("additionalProperties")
    if isinstance(more, dict) or more is True or (more is None and "properties" not in schema):
        (name,) = identifiers(["more"], names)
        parameters.append(inspect.Parameter(name, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters), dict(zip(names, order, strict=True)), defaults, lines


def _has(properties: Mapping[str, Any], name: str) -> bool:
    """Whether the schema of this property gives a default."""
    return isinstance(properties[name], dict) and "default" in properties[name]


def _default(schema: Mapping[str, Any]) -> Any:
    """What the signature shows for an argument that need not be given."""
    value = schema.get("default")
    if isinstance(value, str):
        return clean_line(value, MAX_NAME)
    return value if isinstance(value, (bool, int, float)) else None


def _type(schema: Any, depth: int = 0) -> Any:
    """The Python type of a value with this schema; `Any` where it says no more."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return Any
    values = schema.get("enum")
    if _is_list(values) and 0 < len(values) <= MAX_CHOICES:
        if all(isinstance(each, str) and each == clean_line(each, MAX_NAME) for each in values):
            return Literal[tuple(values)]
        return Any
    several = schema.get("anyOf") or schema.get("oneOf") or schema.get("type")
    if _is_list(several) and 0 < len(several) <= MAX_CHOICES:
        types = [
            _type(each if isinstance(each, dict) else {"type": each}, depth + 1) for each in several
        ]
        return Any if Any in types else Union[tuple(types)]  # noqa: UP007 - it is made of a list
    kind = schema.get("type")
    if kind == "array":
        return list[_type(schema.get("items"), depth + 1)]  # type: ignore[misc]
    return _TYPES.get(kind, Any) if isinstance(kind, str) else Any


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _signature_text(signature: inspect.Signature) -> str:
    return str(signature).replace("typing.", "").replace(" | None = None", " = None")
