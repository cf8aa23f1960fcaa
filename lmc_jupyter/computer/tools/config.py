"""Which servers there are: `mcp.json`, in the form that other programs read too.

One rule: a mistake is a sentence with the file, the server and the value, and takes no other server
away. Values of `env` and `headers` may be keys: nothing shows them.

Source: https://code.claude.com/docs/en/mcp (`mcpServers`, and variables in its values).
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmc_jupyter.content import shorten
from lmc_jupyter.content.hidden import split_hidden
from lmc_jupyter.keys import Secret, address, is_secret, looks_like_key, redact, reveal

MAX_SERVERS = 50
MAX_NAME = 60
"""Characters of a server's name."""
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_KEY = re.compile(r"(?![./~])[^\s'\"`$;|&<>()\\*?!#]+")
"""What is hidden where it may be a key: no path, and nothing that a program might run."""
_BLANKS = re.compile(r" {2,}|\t|\r\n|[\n\r\v\f\x85\u2028\u2029]")
_TYPES = {"stdio": "stdio", "http": "http", "streamable-http": "http", "streamableHttp": "http"}
_PUBLIC_HEADERS = {"accept", "accept-language", "content-type", "user-agent"}


@dataclass(frozen=True)
class ServerConfig:
    """How one server is started or reached.

    Parameters
    ----------
    name : as the file writes it
    shown : its whole command or address as the file writes it, on one line, without keys
    variables : names of variables of the environment that it gets, whether they are set or not
    spec : command, args, env, cwd; or url and headers. Keys in it are secrets
    """

    name: str
    shown: str
    variables: tuple[str, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def secrets(self) -> list[Secret]:
        """Every value of `env` and `headers`, and what of `args` may be a key: no text of this
        server may have one.
        """
        values = [*self.spec.get("env", {}).values(), *self.spec.get("headers", {}).values()]
        values += _keys_of(self.spec.get("args", ()))
        return [each if isinstance(each, Secret) else Secret(each, self.name) for each in values]

    def is_same(self, other: ServerConfig | None) -> bool:
        """Whether the other one starts or reaches the same."""
        return other is not None and self.plain_spec() == other.plain_spec()

    def plain_spec(self) -> dict[str, Any]:
        """The spec with its keys as plain text, for the worker alone."""
        return reveal(self.spec)


class _Mistake(Exception):  # noqa: N818 - it becomes a sentence
    pass


def read(data: bytes, path: Path) -> tuple[list[ServerConfig], list[str]]:
    """The servers of an mcp.json, and a sentence on each mistake.

    A program begins in the folder of the file, so that one of the person's own runs nothing that
    lies in a notebook's folder: npx and Python look for packages where they begin.
    """
    where = str(path)
    try:
        try:
            values = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            why = " ".join(str(error).split())[:120]
            raise _Mistake(f"is no JSON ({why}), so none of its servers is used") from None
        servers = values.get("mcpServers") if isinstance(values, dict) else None
        if not isinstance(servers, dict):
            raise _Mistake('has no object "mcpServers", so it names no server')
        if len(servers) > MAX_SERVERS:
            raise _Mistake(f"names {len(servers):,} servers: at most {MAX_SERVERS} can be used")
    except _Mistake as mistake:
        return [], [f"{where} {mistake}."]
    found, sentences = [], []
    for name, entry in servers.items():
        try:
            config = _server(name, entry, path.parent)
        except _Mistake as mistake:
            sentences.append(f"{where}: the server {_show(name, MAX_NAME)!r} {mistake}.")
        else:
            found += [config] if config is not None else []
    return found, sentences


def _server(name: str, entry: Any, begin: Path) -> ServerConfig | None:
    """One server; None for one that is switched off."""
    if not name.strip() or len(name) > MAX_NAME or name != _show(name, MAX_NAME):
        raise _Mistake(f"needs a name of 1 to {MAX_NAME} plain characters")
    if not isinstance(entry, dict):
        raise _Mistake(f"is {_value(entry)}: it must be an object with a command or a url")
    if entry.get("disabled") is True:
        return None
    command, url, kind = entry.get("command"), entry.get("url"), entry.get("type")
    if kind is not None and (not isinstance(kind, str) or kind not in _TYPES):
        raise _Mistake(f'has the type {_value(kind)}: "stdio" and "http" can be used')
    if (command is None) == (url is None):
        raise _Mistake('must have either a "command" or a "url"')
    variables: dict[str, None] = {}
    if command is not None:
        arguments = _texts(entry, "args")
        folder = _text(entry.get("cwd"), "cwd", variables) if entry.get("cwd") else ""
        spec: dict[str, Any] = {
            "command": _text(command, "command", variables),
            "args": [_expand(each, variables) for each in arguments],
            "env": _mapping(entry, "env", variables),
            "cwd": str(begin / Path(folder).expanduser()),
        }
        shown = " ".join(
            [f"{_quote(n)}={_public(n, v)}" for n, v in (entry.get("env") or {}).items()]
            + [_quote(redact(each)) for each in (command, *arguments)]
        )
        if folder:
            shown += f" (in {_quote(entry['cwd'])})"
    else:
        spec = {
            "url": _text(url, "url", variables),
            "headers": _mapping(entry, "headers", variables),
        }
        if not re.match(r"https?://[^/\s]+", spec["url"]):
            raise _Mistake(f"has the url {_value(address(str(url)))}: it must begin with https://")
        headers = ", ".join(
            f"{_quote(n)}: {_public(n, v, 'headers')}"
            for n, v in (entry.get("headers") or {}).items()
        )
        where = address(str(url))
        where = where if re.fullmatch(r"[!-&(-~…]+", where) else _quote(where)
        shown = where + (f" with {headers}" if headers else "")
    return ServerConfig(name, _mark_blanks(redact(shown)), tuple(variables), spec)


def _text(value: Any, key: str, variables: dict[str, None]) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise _Mistake(f'has the "{key}" {_value(value)}: it must be a text')
    return _expand(value, variables)


def _texts(entry: Mapping[str, Any], key: str) -> list[str]:
    value = entry.get(key) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _Mistake(f'has the "{key}" {_value(value)}: it must be a list of texts')
    return value


def _mapping(entry: Mapping[str, Any], key: str, variables: dict[str, None]) -> dict[str, Any]:
    """Names -> values; one that may be a key is a secret."""
    value = entry.get(key) or {}
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise _Mistake(f'has an "{key}" that is no object of texts')
    expanded = {name: _expand(each, variables) for name, each in value.items()}
    return {
        name: Secret(each, name) if _may_be_key(key, name, each) else each
        for name, each in expanded.items()
    }


def _may_be_key(key: str, name: str, value: str) -> bool:
    if key == "headers":
        return name.lower() not in _PUBLIC_HEADERS
    return is_secret(name, value) or looks_like_key(value)


def _keys_of(arguments: Iterable[str]) -> Iterator[str]:
    """Values that may be keys: by the option before them, or by their look.

    Paths and packages look like keys, but the errors of a server name them.
    """
    before = ""
    for each in arguments:
        name, mark, value = each.partition("=")
        option, word = (name, value) if mark else (before, each)
        is_value = bool(mark) or (option.startswith("-") and not word.startswith("-"))
        is_place = re.search(r"^[@.~]?[\\/]|^[A-Za-z]:|.[\\/@]", word) is not None
        if (is_value and is_secret(option, word)) or (looks_like_key(word) and not is_place):
            yield word
        before = each


def _public(name: str, written: str, of: str = "env") -> str:
    """A value of `env` or `headers` as it is shown: what the file writes, where that is no key."""
    is_reference = re.fullmatch(rf"(?:\w+ )?{_VARIABLE.pattern}", written) is not None
    if not is_reference and _may_be_key(of, name, written) and _KEY.fullmatch(written):
        return "…"
    return _quote(written if is_reference else redact(written))


def _quote(text: str) -> str:
    """The text as one word of a shell; `${NAME}`, which we put in ourselves, needs no quotes."""
    is_bare = shlex.quote(_VARIABLE.sub("V", text)) == _VARIABLE.sub("V", text)
    return text if is_bare else shlex.quote(text)


def _mark_blanks(text: str) -> str:
    """The text on one line, each line break, blank run and hidden character as a mark."""
    parts = _BLANKS.split(text)
    marks = [_blank_mark(each) for each in _BLANKS.findall(text)]
    return "".join(
        "".join(_pieces(part)) + mark for part, mark in zip(parts, [*marks, ""], strict=True)
    )


def _blank_mark(run: str) -> str:
    if run.startswith(" "):
        return f"⟨{len(run)} blanks⟩"
    return "⟨tab⟩" if run == "\t" else "⟨line break⟩"


def _expand(text: str, variables: dict[str, None]) -> str:
    """The text with the values of its variables: `${NAME}` and `${NAME:-default}`."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        variables[name] = None
        if name in os.environ:
            return os.environ[name]
        if default is None:
            raise _Mistake(f"needs the variable {name} of the environment, which is not set")
        return str(default)

    return _VARIABLE.sub(value, text)


def _value(value: Any) -> str:
    return repr(_show(redact(value if isinstance(value, str) else json.dumps(value)), 60))


def _show(text: str, most: int) -> str:
    """Foreign text on one line, its hidden characters as marks."""
    return shorten.line(_mark(text), most)


def _mark(text: str) -> str:
    return "".join(_pieces(" ".join(text.split())))


def _pieces(text: str) -> Iterator[str]:
    for piece, _ in split_hidden(text):
        yield piece
