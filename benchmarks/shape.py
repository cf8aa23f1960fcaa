"""The size of the package, as a table: `python benchmarks/shape.py [FOLDER ...]`.

One rule: it counts what Python itself reads (by `ast`), so that no density of lines helps. Give
the package of another checkout as a second folder to have both side by side. The last rows count
the modules that do what one module is for; `tests/test_shape.py` holds them to it.
"""

from __future__ import annotations

import ast
import functools
import re
import statistics
import sys
from pathlib import Path

from lmc_jupyter.lmc import KEYS

HERE = Path(__file__).parents[1] / "lmc_jupyter"
CORE = ("lmc", "stream", "agent", "gate", "limits", "session")
"""What CONTRIBUTING.md tells to read first."""

ESCAPE = r"\\\\(?:x1b|033|u001b)|\\x1b"
"""ESC in a regular expression, or in a string."""
PLACES = {
    "add to contents by hand": r"(?:\.content|\['content'\]) \+=",
    "redact keys, or values by their names": r"\[redacted|gsk\|hf|AKIA|A\[KS\]IA",
    # a slice beside the sentence that counts the rest, or beside `…`
    "truncate text": (
        r"(?:lines|characters) (?:left out|more)|\[:[^\]\n]*\](?:\.rstrip\(\))?\}…['\"]"
    ),
    "remove terminal escapes": rf"compile\([^)]*(?:{ESCAPE})|sub\([^,]*(?:{ESCAPE})",
    "name a key of LMC by hand": (
        r"extra(?:\.get\(|\[)'(?:KEYS)'|marked\((?:KEYS)=".replace("KEYS", "|".join(KEYS))
    ),
    "tell whether a model wrote code": (
        r"role == 'assistant' and [^\n]*type == 'code'|type == 'code' and [^\n]*role == 'assistant'"
    ),
    # delimiter.startswith(text[n:]) or text.endswith(delimiter[:n]) with a variable n
    "look for the beginning of a delimiter": (
        r"\.(?:startswith\(\w+\[\w+:\]\)|endswith\(\w+\[:\w+\]\))"
    ),
}
"""What there is one of, as the code that does it."""


def places(pattern: str, package: Path = HERE) -> set[str]:
    """The modules with code that matches; comments and docstrings do not count."""
    return {name for name, text in _code(package).items() if re.search(pattern, text)}


@functools.cache
def tree(path: Path) -> ast.Module:
    """What Python reads of a file, parsed once; nobody changes it."""
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def _code(package: Path) -> dict[str, str]:
    """The code of each module, without comments and docstrings."""
    return {
        path.relative_to(package).as_posix(): ast.unparse(
            _without_docstrings(ast.parse(path.read_text("utf-8")))
        )
        for path in sorted(package.rglob("*.py"))
    }


def _without_docstrings(module: ast.Module) -> ast.Module:
    for node in ast.walk(module):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [each for each in node.body if not is_text(each)] or [ast.Pass()]
    return module


def is_text(node: ast.stmt) -> bool:
    """Whether this is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr))


def measure(package: Path) -> dict[str, int]:
    """Counts of one package, by what they count."""
    files = sorted(package.rglob("*.py"))
    texts = [file.read_text("utf-8") for file in files]
    nodes = [node for file in files for node in ast.walk(tree(file))]
    functions = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    lengths = [(node.end_lineno or 0) - node.lineno + 1 for node in functions]
    lines = [text.count("\n") for text in texts]
    doors = {
        file.relative_to(package).parts[0]
        for file in files
        if file.name != "__init__.py" or file.parent != package
    }
    return {
        "doors (folders and modules at the top)": len(doors),
        "modules": len(files),
        "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
        "functions": len(functions),
        "lines of a function, median": int(statistics.median(lengths)),
        "lines of a function, longest": max(lengths),
        "lines": sum(lines),
        "files over 400 lines": sum(count > 400 for count in lines),
        "lines of the core, six files": sum(
            count
            for file, count in zip(files, lines, strict=True)
            if file.parent == package and file.stem in CORE
        ),
        "nodes of syntax": len(nodes),
        **{
            f"modules that {what}": len(places(pattern, package))
            for what, pattern in PLACES.items()
        },
    }


def main() -> None:
    packages = [Path(each) for each in sys.argv[1:]] or [HERE]
    columns = [measure(package) for package in packages]
    for name in columns[0]:
        values = "".join(f"{column[name]:>10,}" for column in columns)
        sys.stdout.write(f"{name:52}{values}\n")


if __name__ == "__main__":
    main()
