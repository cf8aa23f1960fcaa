"""Draws the tables of docs/commands.md and docs/settings.md anew: `make docs`.

One rule: what a table says stands in the code; a page is changed here only where one stands.
"""

from __future__ import annotations

from pathlib import Path

from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.magic.commands import CELL_OPTIONS, COMMANDS

DOCS = Path(__file__).parent


def cell_options() -> list[str]:
    rows = [(f"%%lmc {option}".rstrip(), does.lstrip("… ")) for option, does in CELL_OPTIONS]
    return ["| first line of the cell | what it does |", "|---|---|", *map(row, rows)]


def commands() -> list[str]:
    rows = [
        (each.usage, f"{sentence(each.help)} {each.more}" if each.more else each.help)
        for each in COMMANDS
    ]
    return ["| command | what it does |", "|---|---|", *map(row, rows)]


def settings() -> list[str]:
    rows = []
    for name, trait in sorted(LMC.class_own_traits(config=True).items()):
        default = trait.default()
        shown = "none" if default is None else repr(default)
        rows.append(f"| `{name}` | `{shown}` | {trait.help} |")
    return ["| setting | default | what it is for |", "|---|---|---|", *rows]


def row(cells: tuple[str, str]) -> str:
    return f"| `{cells[0]}` | {cells[1]} |"


def sentence(text: str) -> str:
    return text if text.endswith("…") else f"{text}."


def drawn(page: str) -> str:
    """The page with its tables as the code has them."""
    tables = {table[0]: table for table in (cell_options(), commands(), settings())}
    lines: list[str] = []
    inside = False
    for line in page.split("\n"):
        if line in tables:
            inside = True
            lines += tables[line]
        inside = inside and line.startswith("|")
        if not inside:
            lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    for name in ("commands.md", "settings.md"):
        path = DOCS / name
        path.write_text(drawn(path.read_text("utf-8")), "utf-8")
