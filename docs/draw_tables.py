"""Draws the tables of docs/commands.md, docs/settings.md and CONTRIBUTING.md anew: `make docs`.

One rule: what a table says stands in the code; a page is changed here only where one stands.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import grimp

from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.magic.commands import CELL_OPTIONS, COMMANDS

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES = (DOCS / "commands.md", DOCS / "settings.md", ROOT / "CONTRIBUTING.md")


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


def house() -> list[str]:
    """The doors of the package in the order of the import contract, by the graph of imports."""
    contract = (ROOT / "pyproject.toml").read_text("utf-8")
    layers = re.findall(r"^layers = \[(.*?)^\]", contract, re.M | re.S)[0]
    doors = re.findall(r"lmc_jupyter\.(\w+)", layers)
    graph = grimp.build_graph("lmc_jupyter")
    rows = []
    for door in doors:
        file = ROOT / "lmc_jupyter" / door / "__init__.py"
        is_folder = file.exists()
        file = file if is_folder else file.parent.with_suffix(".py")
        doc = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
        knows = [
            f"`{other}`"
            for other in doors
            if other != door
            and graph.direct_import_exists(
                importer=f"lmc_jupyter.{door}", imported=f"lmc_jupyter.{other}", as_packages=True
            )
        ]
        name = f"{door}/" if is_folder else f"{door}.py"
        what = " ".join(doc.split("\n\n")[0].split())
        rows.append(f"| `{name}` | {what} | {', '.join(knows)} |")
    return ["| door | what it is | it imports |", "|---|---|---|", *rows]


def row(cells: tuple[str, str]) -> str:
    return f"| `{cells[0]}` | {cells[1]} |"


def sentence(text: str) -> str:
    return text if text.endswith("…") else f"{text}."


def drawn(page: str) -> str:
    """The page with its tables as the code has them."""
    tables = {table[0]: table for table in (cell_options(), commands(), settings(), house())}
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
    for path in PAGES:
        path.write_text(drawn(path.read_text("utf-8")), "utf-8")
