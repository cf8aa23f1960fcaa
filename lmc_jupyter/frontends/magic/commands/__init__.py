"""What `%lmc` does, by subject: asking, conversations, files, the model, settings and information.

One rule: a command is one function with the decorator `command`, which names what it takes, its
help and its completion; help, completion, the panel's list and docs/commands.md are made from it.
"""

# the order of the help:
from lmc_jupyter.frontends.magic.commands import asking, conversation, files, check, methods, tutor  # isort: skip
from lmc_jupyter.frontends.magic.commands import model, tools, info  # isort: skip
from lmc_jupyter.frontends.magic.commands.info import CELL_OPTIONS, help_text
from lmc_jupyter.frontends.magic.commands.table import COMMANDS, Commands, WrongCommand, command

__all__ = [
    "CELL_OPTIONS",
    "COMMANDS",
    "Commands",
    "WrongCommand",
    "asking",
    "check",
    "command",
    "conversation",
    "files",
    "help_text",
    "info",
    "methods",
    "model",
    "tools",
    "tutor",
]
