"""The computer: runs code in any language it knows, by name or by another word for it.

One rule: code of every language runs by a `Computer`, also of a language from another package.
To add one, write a class with `name`, `aliases`, `run` and `close`, and `register` it.
"""

from lmc_jupyter.computer.computer import Computer, RunGuard, as_computer, default_computer
from lmc_jupyter.computer.language import Availability, Language, check_language

__all__ = [
    "Availability",
    "Computer",
    "Language",
    "RunGuard",
    "as_computer",
    "check_language",
    "default_computer",
]
