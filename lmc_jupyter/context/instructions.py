"""The instructions to a model on itself and the computer, unless the person replaces them.

One rule: they list what is there, in few words, and nothing of the conversation or the notebook.
How code is written (as a call, or in a fence) stands behind them in the request of each model.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from lmc_jupyter.context.parts import Material, part

INSTRUCTIONS = """\
You are a language model with a computer, inside a person's live Jupyter notebook.
- Python runs in their kernel, on their variables; yours stay for them. A name that only a step \
needs begins with `_`: nobody sees it listed. Change what is theirs only if they ask; else \
make a new variable.
- They see each block and decide whether it runs. Say in a sentence what it is for; let it be one \
step whose output can be judged, larger where blocks run unasked.
- What is to stand in their notebook (a cell rewritten, a function) you propose, whole, and \
don't repeat in words: it does not run.
- You see names, types and columns, and of the cells only those that a question brings (In [9]). \
Look first where an answer rests on what you have not seen: values, units, gaps, whether a key is \
unique.
- They see what code prints, its last expression, figures and tables: don't repeat them.
- End with the answer, in a sentence or two, with what the question asks for (numbers, reasons, \
caveats) and no more; tell apart what you checked and what you suppose. No code unless asked.
- If code fails, mend it and try once more; if it fails again, say what you found and ask. If they \
did not let it run, go by their reason, or ask.
- Answer in their language."""

SHORT_INSTRUCTIONS = """\
You are a language model with a computer, inside a person's live Jupyter notebook.
- You can run code. Python runs in their kernel: their variables are there, and yours stay.
- The person sees every block and decides whether it runs. Write short blocks, one step at a \
time; then wait for the output before you go on. Say in a sentence what a block is for.
- A cell that is to be added or written again you propose, whole: it does not run.
- What code prints, its last expression, figures and tables are shown in the notebook by \
themselves: don't repeat them. When you have the answer, say it in a sentence or two, without code.
- If code fails, read the error, mend it and try once more; if it fails again, say what you found. \
If the person did not let it run, ask or answer without it.
- Answer in the language of the question."""
"""For a model that reads little."""


FOLDER_INSTRUCTIONS = (
    "The user agrees to these instructions, from AGENTS.md of the notebook's folder:"
)
"""Stands before the text of that file."""


@part
def instructions(material: Material) -> str:
    """The person's system message, or our own."""
    message = material.system_message
    return default(material.languages, material.is_short) if message is None else message


@part
def folder_instructions(material: Material) -> str:
    """The AGENTS.md of the notebook's folder, once the person has said yes to it."""
    text = material.redact(material.folder_instructions)
    return f"{FOLDER_INSTRUCTIONS}\n{text}" if text else ""


@part
def custom_instructions(material: Material) -> str:
    """The person's custom instructions."""
    return material.custom_instructions


def default(languages: Mapping[str, str], is_short: bool = False) -> str:
    """Our own instructions, with these languages and where the kernel is."""
    ours = SHORT_INSTRUCTIONS if is_short else INSTRUCTIONS
    packages = "" if is_short else _packages()
    return "\n".join(filter(None, (ours, _languages(languages), _where(), packages)))


def _languages(hints: Mapping[str, str]) -> str:
    """A sentence on the languages that can run, and on what they share."""
    alike: dict[str, list[str]] = {}
    for name, hint in hints.items():
        alike.setdefault(hint or name, []).append(name)
    there = [
        ", ".join(names) + ("" if hint in names else f" ({hint})") for hint, names in alike.items()
    ]
    text = f"You can run: {'; '.join(there)}."
    others = [name for name in _TAKES if name in hints]
    if others and "python" in hints:
        text += (
            " They share only the directory: "
            f"in python, `from lmc_jupyter import share; share(df, to={others[0]!r})` hands a "
            "DataFrame over."
        )
    return text


_TAKES = ("r", "javascript", "shell")
"""Languages that a table is handed to; the first that is there is the model's example."""


def _where() -> str:
    return (
        f"The kernel is Python {platform.python_version()} on {platform.system()}, "
        f"in the directory {Path.cwd()}."
    )


PACKAGES = (
    "numpy", "pandas", "polars", "pyarrow", "scipy", "scikit-learn", "statsmodels", "torch",
    "matplotlib", "seaborn", "plotly", "altair",
)  # fmt: skip
"""Packages whose versions differ in how code for them is written."""


@functools.cache
def _packages() -> str:
    """The versions of the packages that code of a notebook rests on; "" where there is none."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {'.'.join(metadata.version(name).split('.')[:2])}")
        except metadata.PackageNotFoundError:
            continue
    return f"It has {', '.join(found)}." if found else ""
