"""The size of the package, as a table: `python benchmarks/shape.py [FOLDER ...]`.

One rule: it counts what Python itself reads (by `ast`), so that no density of lines helps. Give
the package of another checkout as a second folder to have both side by side.
"""

from __future__ import annotations

import ast
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).parents[1] / "lmc_jupyter"


def measure(package: Path) -> dict[str, int]:
    """Counts of one package, by what they count."""
    files = sorted(package.rglob("*.py"))
    texts = [file.read_text("utf-8") for file in files]
    trees = [ast.parse(text) for text in texts]
    nodes = [node for tree in trees for node in ast.walk(tree)]
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
        "lines of the five files to read first": sum(
            count
            for file, count in zip(files, lines, strict=True)
            if file.parent == package and file.stem in ("lmc", "stream", "agent", "gate", "session")
        ),
        "nodes of syntax": len(nodes),
    }


def main() -> None:
    packages = [Path(each) for each in sys.argv[1:]] or [HERE]
    columns = [measure(package) for package in packages]
    for name in columns[0]:
        values = "".join(f"{column[name]:>10,}" for column in columns)
        sys.stdout.write(f"{name:40}{values}\n")


if __name__ == "__main__":
    main()
