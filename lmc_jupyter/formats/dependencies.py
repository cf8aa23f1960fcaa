"""Which python has to run again because later code depends on its names: cells of the person, and
passages that failed or were stopped half-way.

One rule: of code that failed or was stopped, only the whole statements before that one run again,
as its output shows; where it does not show, none. Nothing is run to learn this: the code is parsed.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from lmc_jupyter.content.code_names import assigned_names, read_names
from lmc_jupyter.conversation import OwnCell
from lmc_jupyter.formats.passages import Passage, is_text
from lmc_jupyter.lmc import canonical

_LINE = re.compile(
    r"^Traceback \(most recent call last\):\n  line (\d+)$|Cell In\s?\[\d+\], line (\d+)|"
    r'^  File "<[^>\n]+>", line (\d+), in <module>$',
    re.MULTILINE,
)
_LINE_OF_CELL = re.compile(
    r"^\s*Cell In\s?\[\d+\], line (\d+)|^Traceback \(most recent call last\):\n  line (\d+)$",
    re.MULTILINE,
)
_LINE_OF_STOP = re.compile(r"^It was at line (\d+)\.\nKeyboardInterrupt$", re.MULTILINE)
_MAGIC = re.compile(r"^([ \t]*)(?:(\w+)[ \t]*=[ \t]*)?[%!].*$", re.MULTILINE)
_HELP = re.compile(r"^([ \t]*)(?:\?{1,2}[\w.]+|[\w.]+\?{1,2})[ \t]*$", re.MULTILINE)
_TIME = re.compile(r"^([ \t]*)%time[ \t]+(?=\S)", re.MULTILINE)
_AROUND = re.compile(r"%%(?:time|capture)\b[^\n]*")
"""A magic of a cell whose body is python."""
_RUN = re.compile(r"^[ \t]*(%run[ \t]+\S+)", re.MULTILINE)

_OF_IPYTHON = {
    *("get_ipython", "display", "exit", "quit", "In", "Out", "_", "__", "___"),
    *("__name__", "__builtins__", "__doc__"),
}
_LOOKS = {
    *("head", "tail", "describe", "info", "sample", "value_counts", "nunique", "unique", "count"),
    *("isna", "isnull", "notna", "duplicated", "sum", "mean", "median", "std", "var", "min", "max"),
    *("quantile", "corr", "groupby", "agg", "size", "plot", "hist", "boxplot", "show", "keys"),
    *("items", "values", "round", "nlargest", "nsmallest", "sort_values", "to_string"),
    *("any", "all"),
}
"""Methods by which people look at a table; they change nothing."""
_SETS = {
    *("set_option", "set_printoptions", "set_theme", "set_style", "set_loglevel", "seed"),
    *("manual_seed", "use", "rc", "register_matplotlib_converters", "filterwarnings"),
    *("setlocale", "basicConfig", "simplefilter", "chdir"),
}
"""Functions by which people set up a module."""
_CHANGES = {"setattr", "delattr", "exec", "eval", "next"}


@dataclass
class NotebookStep:
    """One piece of python of a notebook, in its place.

    Parameters
    ----------
    statements : what of it can run again
    optional : whether it is there only because code behind it needs what it makes
    cell : the person's cell that it is; None for a passage
    place : of the passage; -1 for a cell
    """

    statements: Sequence[ast.stmt]
    optional: bool = False
    cell: OwnCell | None = None
    place: int = -1

    @property
    def lines(self) -> int:
        """How many lines its statements take."""
        return max((each.end_lineno or each.lineno for each in self.statements), default=0)


@dataclass
class Dependencies:
    """What the code of a conversation depends on.

    Parameters
    ----------
    lines : place of a passage that failed or was stopped -> how many of its lines run again
    cells : the person's cells that run again, each as it is written
    missing : names that nothing makes
    run : the `%run` lines among the person's cells, which may have made them
    """

    lines: dict[int, int] = field(default_factory=dict)
    cells: list[OwnCell] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    run: list[str] = field(default_factory=list)


def find_dependencies(
    passages: Sequence[Passage], cells: Sequence[OwnCell] = (), saved: Sequence[str] = ()
) -> Dependencies:
    """The lines and cells that must run so that these passages can run again.

    Parameters
    ----------
    saved : cells of the notebook's file, whose place among the passages nobody knows: those that
        change names which nothing else makes run first
    """
    again = _closure(list(_steps(passages, cells)))
    missing = _missing(again)
    wanted: set[str] = set()
    while saved and not wanted.issuperset(missing):
        wanted.update(missing)
        first = [OwnCell(0, source) for source in saved if _changed_by_cell(source) & wanted]
        again = _closure(list(_steps(passages, [*first, *cells])))
        missing = _missing(again)
    result = Dependencies(missing=missing)
    for step in again:
        if step.cell is not None:
            result.cells.append(OwnCell(step.cell.at, _lines(step.cell.source, step)))
        elif step.optional:
            result.lines[step.place] = step.lines
    result.run = [line for cell in cells for line in _RUN.findall(cell.source)]
    return result


def _steps(passages: Sequence[Passage], cells: Sequence[OwnCell]) -> Iterator[NotebookStep]:
    """The python of a notebook, the person's cells in their places."""
    waiting, at = list(cells), 0
    for place, passage in enumerate(passages):
        while waiting and waiting[0].at <= at:
            yield _of_cell(waiting.pop(0))
        if passage.is_code and _is_python(passage) and passage.fate in ("ran", "failed", "stopped"):
            yield NotebookStep(_statements_that_ran(passage), passage.fate != "ran", place=place)
        at += len(passage.messages)


def _closure(steps: Sequence[NotebookStep]) -> list[NotebookStep]:
    """The steps that run again: what their functions read, which may be called much later, may
    need more of them."""
    names: set[str] = set()
    while True:
        again = _live(steps, names)
        more = {
            n for step in again for each in step.statements for n in _read_names(each)[1]
        } - names
        if not more:
            return again
        names |= more


def _live(steps: Sequence[NotebookStep], names: set[str]) -> list[NotebookStep]:
    """The steps that make what later ones, or functions that are called, read."""
    result = []
    modules = _modules(steps)
    live = set(names)  # names that are read behind this place before they are made anew
    for step in reversed(steps):
        if step.optional:
            find = partial(_changed_by_person, modules=modules) if step.cell else _changed_names
            changes = {name for each in step.statements for name in find(each)}
            if not (changes & live or (live and _ANY in changes)):
                continue
        result.append(step)
        for statement in reversed(step.statements):
            live -= _names_set_anew(statement)
            now, later = _read_names(statement)
            live |= now | later
    return result[::-1]


def _missing(steps: Sequence[NotebookStep]) -> list[str]:
    """Names that are read and that nothing before has made; in a function, nothing at all."""
    names = {*dir(builtins), *_OF_IPYTHON}
    missing: dict[str, None] = {}
    in_functions: dict[str, None] = {}
    for step in steps:
        for statement in step.statements:
            now, later = _read_names(statement)
            own = _bound_names(statement)
            if isinstance(statement, (ast.For, ast.While, ast.If, ast.With, ast.Try)):
                now -= own
            missing.update(dict.fromkeys(sorted(now - names)))
            in_functions.update(dict.fromkeys(sorted(later)))
            names |= own
            if _ANY in names:
                return list(missing)
    missing.update((name, None) for name in in_functions if name not in names)
    return list(missing)


def _changed_by_cell(source: str) -> set[str]:
    """The names that a cell of the person binds or changes."""
    step = _of_cell(OwnCell(0, source))
    modules = _modules([step])
    return {name for each in step.statements for name in _changed_by_person(each, modules)}


# One piece ----------------------------------------------------------------------------------------


def _is_python(passage: Passage) -> bool:
    return canonical(passage.first.format or "") == "python"


def _statements_that_ran(passage: Passage) -> list[ast.stmt]:
    """Its statements; of a passage that failed or was stopped, those before the one that did."""
    tree = _parse(str(passage.first.content), passage.fate == "ran")
    if tree is None or passage.fate == "ran":
        return [] if tree is None else tree.body
    text = "".join(str(each.content) for each in passage.results if is_text(each))
    line = _LINE if passage.fate == "failed" else _LINE_OF_STOP
    return _until_failed(tree, line.findall(text)[-1:])


def _of_cell(cell: OwnCell) -> NotebookStep:
    tree = _parse(cell.source, not cell.error)
    statements = [] if tree is None else tree.body
    if tree is not None and cell.error:  # its own frame comes first, those that it called follow
        statements = _until_failed(tree, _LINE_OF_CELL.findall(cell.error)[:1])
    return NotebookStep(statements, optional=True, cell=cell)


def _until_failed(tree: ast.Module, lines: Sequence[str | tuple[str, ...]]) -> list[ast.stmt]:
    if not lines:
        return []
    line = int(next(filter(None, [lines[0]] if isinstance(lines[0], str) else lines[0]))[:9])
    ends = ((each, each.end_lineno or each.lineno) for each in tree.body)
    return [each for each, _ in itertools.takewhile(lambda pair: pair[1] < line, ends)]


def _lines(source: str, step: NotebookStep) -> str:
    """The source of a cell; of one that failed, as far as it ran."""
    tree = _parse(source)
    if tree is None or len(tree.body) == len(step.statements):
        return source
    return "\n".join(source.split("\n")[: step.lines])


def _parse(code: str, whole: bool = True) -> ast.Module | None:
    """The statements of python code without its magics; None where it is something else.

    Parameters
    ----------
    whole : whether it ran to its end; in `%%time` nobody can say where it failed
    """
    if whole and _AROUND.match(code):
        code = _AROUND.sub("", code, count=1)
    if code.startswith("%%"):
        return None
    code = _HELP.sub(r"\1pass", _TIME.sub(r"\1", code))
    try:
        return ast.parse(_MAGIC.sub(_without_magic, code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _without_magic(match: re.Match[str]) -> str:
    space, name = match.groups()
    return f"{space}{name} = None" if name else f"{space}pass"


# Names --------------------------------------------------------------------------------------------

_ANY = "*"
"""Stands for names that are not known: `from module import *`."""


def _read_names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names of the notebook that it reads: at once, and in functions, when they are called."""
    now, later = read_names(ast.unparse(statement))
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        now.add(statement.target.id)
    return now, later


def _bound_names(statement: ast.stmt) -> set[str]:
    """The names of the notebook that it may bind."""
    names = assigned_names(ast.unparse(statement))
    for node in ast.walk(statement):
        if isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names):
            names |= _of_module(node.module or "")
    return names


def _of_module(name: str) -> set[str]:
    """What `import *` takes from a module, where it is there already."""
    module = sys.modules.get(name)
    if module is None:
        return {_ANY}
    names = vars(module).get("__all__")
    return set(names) if names is not None else {n for n in vars(module) if n[:1] != "_"}


def _names_set_anew(statement: ast.stmt) -> set[str]:
    """The names that a statement sets, whatever their values were before."""
    match statement:
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            return {name}
        case ast.AnnAssign(value=None):
            return set()
        case ast.Assign() | ast.AnnAssign() | ast.Import() | ast.ImportFrom():
            return _bound_names(statement) - {_ANY}
        case ast.For() | ast.With():
            return _bound_names(statement) - {_ANY} - _read_names(statement)[0]
        case _:
            return set()


def _changed_names(statement: ast.stmt) -> Iterator[str]:
    """Names that are bound, or whose value may be changed in place."""
    yield from _bound_names(statement)
    for node in ast.walk(statement):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            yield from _base(node)


def _changed_by_person(statement: ast.stmt, modules: set[str]) -> Iterator[str]:
    """As `_changed_names`, but stricter: a cell of the person that only might change a name is left
    out, because it may delete a file or send a message where the notebook runs.

    Parameters
    ----------
    modules : names of modules. `pd.set_option(...)` changes one, `os.remove(...)` does not
    """
    if _only_looks(statement):
        return
    yield from _bound_names(statement)
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return  # it changes something when it is called
    for node in ast.walk(statement):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            yield from _base(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method, base = node.func.attr, set(_base(node.func))
            if method in _SETS or not (
                base & modules or method in _LOOKS or method.startswith("to_")
            ):
                yield from base


def _base(node: ast.expr) -> Iterator[str]:
    """The name at the beginning of `name.a[0].b`, also behind calls."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id


def _modules(steps: Sequence[NotebookStep]) -> set[str]:
    """The names that imports bind in this notebook: modules, and what is in them."""
    imports = [
        node
        for step in steps
        for statement in step.statements
        for node in ast.walk(statement)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    return {alias.asname or alias.name.partition(".")[0] for n in imports for alias in n.names}


def _only_looks(statement: ast.stmt) -> bool:
    """Whether it shows something and changes nothing, as `df.head()` and `print(x)` do."""
    if not isinstance(statement, ast.Expr):
        return False
    for node in ast.walk(statement):
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
            return False
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name):
                name = function.id
                if name != "display" and (name in _CHANGES or not hasattr(builtins, name)):
                    return False
            elif not (isinstance(function, ast.Attribute) and function.attr in _LOOKS):
                return False
    return True
