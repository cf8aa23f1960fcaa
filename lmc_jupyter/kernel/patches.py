"""Every member of IPython, ipykernel and the process that this package replaces, in one table.

One rule: what is not in `PATCHES` is not replaced; a test looks for each replacement in the code.
`docs/how-it-works.md` shows the table as `markdown` draws it.
"""

from __future__ import annotations

from typing import NamedTuple

_IPYKERNEL = "https://github.com/ipython/ipykernel"
_BLOCK, _CHAT = "a block", "a block of the chat"
_OPEN = "from the first chat or answer in a cell on"
_EXTENSION = "while the extension is loaded"


class Patch(NamedTuple):
    """Members of one object that one module replaces."""

    module: str
    """Beside this one, or its path in the package."""
    owner: str
    members: tuple[str, ...]
    duration: str
    versions: str
    reason: str


PATCHES = (
    Patch("capture", "sys.stdout, sys.stderr", ("write", "flush"), _BLOCK, "all",
          "The model reads what the block prints, in order."),
    Patch("capture", "shell.display_pub", ("publish", "clear_output"), _BLOCK, "all",
          "The model sees what the block displays."),
    Patch("capture", "shell.displayhook",
          ("write_output_prompt", "finish_displayhook", "write_format_data"), _BLOCK, "all",
          "The model sees the value of the last expression; a terminal prints it to stdout."),
    Patch("capture", "shell.displayhook", ("update_user_ns",), _CHAT, "all",
          "A block of the chat does not change `_` and `Out`."),
    Patch("capture", "shell.history_manager", ("outputs",), _CHAT, "IPython 9",
          "IPython keeps there what a cell has shown."),
    Patch("capture", "shell", ("_showtraceback", "showtraceback", "_get_exc_info"), _BLOCK, "all",
          "The model reads a short traceback, also of exception groups; frames of ours are cut."),
    Patch("execute", "shell.compile", ("get_code_name",), _BLOCK, "all",
          "The name under which a block is compiled finds the line that runs."),
    Patch("execute", "shell.displayhook", ("quiet",), _BLOCK, "all",
          "A semicolon at the end is looked for in the block, not in the cell around it."),
    Patch("execute", "shell.displayhook", ("exec_result", "msg"), "put back after a block", "all",
          "The result of the cell around the block stays its own."),
    Patch("execute", "shell", ("_last_traceback_during_displayhook",), "put back after a block",
          "ipykernel 7", "It would make the cell around the block fail."),
    Patch("computer/languages/python_block.py", "shell", ("ask_exit",), _BLOCK, "all",
          "`exit()` ends the block and not the kernel."),
    Patch("keyboard", "kernel",
          ("_allow_stdin", "_input_request", "_forward_input", "_restore_input"), _CHAT, "all",
          "No cell runs that a front end would ask for: the panel asks the person."),
    Patch("keyboard", "builtins, getpass, sys", ("input", "getpass", "stdin", "breakpointhook"),
          _CHAT, "all", "The same for code that asks in another way."),
    Patch("between_cells", "kernel.shell_handlers", ("RUN",), "from the first block of the chat on",
          "all", "A block of the chat waits in the queue of the cells, as a message of ours."),
    Patch("mailbox", "kernel.control_handlers", ("REQUEST",), _OPEN, "all",
          "A click arrives while a cell is busy."),
    Patch("mailbox", "kernel.shell_stream", ("on_recv",), _OPEN, "all",
          "The same for a front end that has no control channel for us."),
    Patch("requests", "kernel", ("_publish_status",), _OPEN, "all",
          "Front ends take the idle of our messages for that of the cell: busy is said again."),
    Patch("requests", "kernel", ("set_parent",), _OPEN, "ipykernel 7",
          "Threads of the last cell print into that cell, not into our request "
          f"([#1451]({_IPYKERNEL}/pull/1451))."),
    Patch("requests", "subshell manager", ("_send_on_shell_channel", "on_recv"), _OPEN,
          "ipykernel 7.0 to 7.3",
          "A reply on the raw socket loses a request that comes meanwhile "
          f"([#1554]({_IPYKERNEL}/issues/1554))."),
    Patch("cells", "shell.events", ("pre_run_cell", "post_run_cell"), _EXTENSION, "all",
          "The cells that ran go with a question; `%lmc fix` knows the last one that failed."),
    Patch("cells", "shell.displayhook", ("write_format_data",), _EXTENSION, "all",
          "The value of a cell's last expression goes with it."),
    Patch("cells", "shell.display_formatter", ("format",), _EXTENSION, "all",
          "What is in a figure of matplotlib is told to a model that gets no image of it."),
    Patch("control", "kernel.control_handlers", ("AGENT_REQUEST",), _EXTENSION, "all",
          "Agents outside the notebook ask here ([agents.md](agents.md))."),
    Patch("line", "shell.Completer", ("custom_matchers",), _EXTENSION, "all",
          "Tab completes `%lmc`."),
    Patch("line", "shell.input_transformer_manager", ("token_transformers",), _EXTENSION, "all",
          "A question mark at the end of `%lmc ask` is no call of IPython's help."),
)  # fmt: skip


def markdown() -> str:
    """The table as Markdown, a line per patch."""
    lines = ["| of | is replaced | for | needed by | why | in |", "|---|---|---|---|---|---|"]
    for patch in PATCHES:
        members = ", ".join(f"`{name}`" for name in patch.members)
        module = patch.module if "/" in patch.module else f"kernel/{patch.module}.py"
        lines.append(
            f"| `{patch.owner}` | {members} | {patch.duration} | {patch.versions} "
            f"| {patch.reason} | `{module}` |"
        )
    return "\n".join(lines)
