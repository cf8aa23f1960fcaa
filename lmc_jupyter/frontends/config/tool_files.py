"""The files that name MCP servers: the person's own `mcp.json`, and one in the notebook's folder.

One rule: nothing of the folder's file is started before the person has been shown its commands and
addresses and has said yes to these very bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lmc_jupyter.content import shorten
from lmc_jupyter.content.folder_file import read_file
from lmc_jupyter.errors import ComputerError, FormatError, SessionError
from lmc_jupyter.frontends.config.answers import Consents
from lmc_jupyter.frontends.config.traces import TOOLS, own_tools

if TYPE_CHECKING:
    from lmc_jupyter.computer.tools.catalogue import Server
    from lmc_jupyter.computer.tools.config import ServerConfig

MAX_BYTES = 100_000
"""Of an mcp.json."""

_ANSWERS = Consents("tools")
_HOW = "`%lmc tools` shows its commands and asks"
MAX_LISTED = 20
"""Tools of a server that `%lmc tools` lists; all of one with its name."""
MAX_SHOWN = 300
"""Characters of a command or an address in the list of servers."""
MAX_OFFER = 2_000
"""Characters of a command in a folder's file: a longer one is not offered, so that nobody says yes
to what they have not seen."""


@dataclass(frozen=True)
class _File:
    path: Path
    digest: str
    servers: tuple[ServerConfig, ...]
    mistakes: tuple[str, ...]


class ToolFiles:
    """The servers of one notebook.

    Parameters
    ----------
    folder : the notebook's; None where there is none
    put : puts `tools` into the person's namespace, by name, and has models told of `servers`;
        raises where the name is in use
    """

    def __init__(self, folder: Path | None, put: Callable[[dict[str, object]], None]) -> None:
        self._folder, self._put = folder, put
        self._shown = ""  # digest of what the person was shown
        self._offered = ""  # the sentence that was said last
        self._has_begun = False
        """Whether there was an mcp.json: without one, nothing of the tools is imported."""

    def begin(self) -> list[str]:
        """Start the servers that are to run; returns sentences for the person."""
        own, here = self._own(), self._here()
        files = [own] if own is not None else []
        if here is not None and _ANSWERS.of(here.path, here.digest) == "yes":
            files.append(here)
        if not (files or self._has_begun):
            return []
        from lmc_jupyter.computer.tools.namespace import the_tools
        from lmc_jupyter.computer.tools.servers import servers

        self._has_begun = True
        configs: dict[str, ServerConfig] = {}
        sentences = [each for file in files for each in file.mistakes]
        for each in (server for file in files for server in file.servers):
            if configs.setdefault(each.name, each) is not each:
                sentences.append(
                    f"{files[-1].path} names a server {each.name!r} that your own mcp.json has "
                    "already: yours is used."
                )
        servers.use(configs.values())
        if configs:
            try:
                self._put({"tools": the_tools()})
            except ComputerError:
                sentences.append(
                    "The notebook has a variable `tools` of yours, so those of MCP servers are "
                    "`lmc_jupyter.tools`."
                )
        return sentences

    def servers(self, seconds: float) -> list[Server]:
        """The servers, after a wait of at most so many seconds for those that start."""
        from lmc_jupyter.computer.tools.servers import servers

        if seconds:
            servers.wait_once(seconds)
        return servers.current()

    def close(self) -> None:
        """End every server."""
        if self._has_begun:
            from lmc_jupyter.computer.tools.servers import servers

            servers.close()

    def offer(self) -> str:
        """A sentence on a file of the folder that waits for an answer; "" for none."""
        here = self._here()
        answer = "" if here is None else _ANSWERS.of(here.path, here.digest)
        if here is None or answer in ("yes", "no"):
            return ""
        if not here.servers and here.mistakes:
            return here.mistakes[0]
        count = len(here.servers)
        what = f"names {count} MCP server{'' if count == 1 else 's'}"
        if answer == "another":
            what = f"has changed since you answered, and {what}"
        return f"{here.path.name} in this folder {what}: {_HOW}."

    def offer_once(self) -> str:
        """The same, but "" where that sentence was the last one."""
        last, self._offered = self._offered, self.offer()
        return "" if self._offered == last else self._offered

    def show(self, name: str | None = None) -> str:
        """The servers, their state and their tools; with the name of one, all of its tools.

        Raises
        ------
        ToolError
            When there is no server of that name.
        """
        from lmc_jupyter.computer.tools.servers import servers

        sentences = self.begin()
        lines = [] if name else [*sentences, *self._ask()]
        found = servers.current()
        if name is not None:
            found = [servers.find(name)]
        shown = {each.name: shorten.line(each.shown, MAX_SHOWN) for each in servers.configs()}
        for server in found:
            count = len(server.tools) + server.more
            state = f"{server.state}, {count:,} tools" if server.tools else server.state
            state += f": {server.why}" if server.why and server.state != "ready" else ""
            lines.append(f"{server.name} ({shown[server.name]}): {state}")
            most = len(server.tools) if name else MAX_LISTED
            lines += [f"    {shorten.line(each.line(110), 110)}" for each in server.tools[:most]]
            left = count - min(most, len(server.tools))
            if left:
                lines.append(f"    … and {left:,} more: `%lmc tools {server.name}`")
        if not lines:
            return (
                f"There is no MCP server. Put an mcp.json into {own_tools().parent}, such as "
                '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}, then '
                "run `%lmc tools`."
            )
        return "\n".join(lines)

    def answer(self, yes: bool) -> str:
        """Save the person's answer to the folder's file; a yes to what they have not been shown
        shows it first.

        Raises
        ------
        SessionError
            Where there is no such file, and where the answer cannot be saved.
        """
        here = self._here()
        if here is None:
            raise SessionError(
                f"there is no mcp.json in {self._folder or 'this folder'}: your own is "
                f"{own_tools()}"
            )
        if yes and self._shown != here.digest and _ANSWERS.of(here.path, here.digest) != "yes":
            text = "\n".join(self._ask())
            return f"Read it first, then say `%lmc tools yes` once more.\n{text}"
        _ANSWERS.save(here.path, here.digest, yes)
        sentences = self.begin()
        if not yes:
            return f"No server of {here.path.name} in this folder is started."
        names = ", ".join(each.name for each in here.servers) or "no server"
        return "\n".join([f"Started: {names}. `%lmc tools` lists their tools.", *sentences])

    def _ask(self) -> list[str]:
        """The folder's file where it waits for an answer, as the person is asked about it."""
        here = self._here()
        answer = "" if here is None else _ANSWERS.of(here.path, here.digest)
        if here is None or answer == "yes":
            return []
        if answer == "no":
            return [f"You said no to {here.path.name} in this folder: `%lmc tools yes` asks again."]
        self._shown = here.digest
        lines = [
            f"{here.path.name} in this folder would start these programs, or reach these addresses:"
        ]
        for each in here.servers:
            names = [n if n in os.environ else f"{n} (not set now)" for n in each.variables]
            gets = f" (it gets your {', '.join(names)})" if names else ""
            lines.append(f"│ {each.name}: {each.shown}{gets}")
        lines += here.mistakes
        lines.append(
            "They run with your rights. `%lmc tools yes` starts them now and whenever this "
            "notebook opens, `%lmc tools no` does not. When the file changes you are asked again."
        )
        return lines

    def _own(self) -> _File | None:
        return _read(own_tools())

    def _here(self) -> _File | None:
        for name in TOOLS if self._folder is not None else ():
            path = self._folder / name  # type: ignore[operator]
            if (file := _read(path, self._folder)) is not None:
                return None if path == own_tools() else _offerable(file)
        return None


def _offerable(file: _File) -> _File:
    """The file without the servers that are too long to be shown whole."""
    long = [each for each in file.servers if len(each.shown) > MAX_OFFER]
    mistakes = [
        f"{file.path}: the command of the server {each.name!r} has {len(each.shown):,} characters, "
        f"and at most {MAX_OFFER:,} are offered, so it is not started: put it into a script, or "
        f"the server into {own_tools()}."
        for each in long
    ]
    servers = tuple(each for each in file.servers if each not in long)
    return replace(file, servers=servers, mistakes=(*file.mistakes, *mistakes))


def _read(path: Path, inside: Path | None = None) -> _File | None:
    """The file; None where there is none."""
    try:
        data = read_file(path, MAX_BYTES, inside=inside)
    except FormatError as error:
        return _File(path, "", (), (f"{error}, so none of its servers is used.",))
    if data is None:
        return None
    from lmc_jupyter.computer.tools import config

    found, mistakes = config.read(data, path)
    digest = hashlib.sha256(data)
    if mistakes:  # such as a variable that is not set: the yes is for the servers that were shown
        digest.update(json.dumps([each.name for each in found]).encode())
    return _File(path, digest.hexdigest(), tuple(found), tuple(mistakes))
