"""The command for the tools of MCP servers.

One rule: nothing of a folder's mcp.json is started before the person has said yes to it here.
"""

from __future__ import annotations

from collections.abc import Iterable

from lmc_jupyter.frontends.magic.commands.table import (
    Candidate,
    Invocation,
    Prefix,
    WrongCommand,
    command,
)

_ANSWERS = ("yes", "no")
_ON_SERVER = ("restart", "errors")


def words(prefix: Prefix) -> Iterable[Candidate]:
    """What can stand behind the command."""
    return [*((each, "answer") for each in _ANSWERS), *((each, "command") for each in _ON_SERVER),
            *names(prefix)]  # fmt: skip


def names(prefix: Prefix) -> Iterable[Candidate]:  # noqa: ARG001
    """The names of the servers."""
    from lmc_jupyter.computer.tools.servers import servers

    return [(each.name, each.state) for each in servers.current()]


@command(
    "tools",
    "[WHAT] [NAME]",
    help="list the MCP servers and their tools, which code calls as functions",
    more="WHAT is the name of a server, to list all its tools; `restart` or `errors` with a NAME, "
    "to start a server again or read its standard error; `yes` or `no`, for an mcp.json in the "
    "notebook's folder.",
    complete={"WHAT": words, "NAME": names},
)
def tools(call: Invocation, what: str | None, name: str | None) -> str:
    from lmc_jupyter.computer.tools.servers import servers

    redact = call.session.prompt.redact
    if what in _ANSWERS:
        call.session.gate.guard.check_change("an answer to MCP servers")
        return redact(call.tool_files.answer(what == "yes"))
    if what == "restart":
        call.session.gate.guard.check_change("to start MCP servers again")
        call.tool_files.begin()
        servers.restart(name)
        return f"{name or 'Every server'} starts again: `%lmc tools` shows it."
    if what == "errors":
        if name is None:
            raise WrongCommand("name the server: `%lmc tools errors NAME`")
        return redact("\n".join(servers.errors(name))) or f"{name} has written no errors."
    if name is not None:
        raise WrongCommand(f"`%lmc tools` does not take {what!r:.60}: see `%lmc help tools`")
    call.session.gate.guard.check_change("to start MCP servers")
    return redact(call.tool_files.show(what))
