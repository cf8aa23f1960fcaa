"""What a call in Python does: harmless, named, or that it "may do more".

One rule: a function that is handed on counts as called, with arguments that nobody knows.

The file is long because the kinds of calls (of a builtin, of a library, of a method, of a value of
the person's) decide in one order, and the first that knows the call names it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lmc_jupyter.computer.effects import tables, values
from lmc_jupyter.computer.effects.shell import shell_effects
from lmc_jupyter.computer.effects.sql import sql_effects
from lmc_jupyter.computer.effects.value import NOTHING, OWN, THEIRS, UNKNOWN, Value
from lmc_jupyter.computer.tools.namespace import PATH as TOOLS
from lmc_jupyter.content import shorten
from lmc_jupyter.content.effect import EffectKind

if TYPE_CHECKING:
    from lmc_jupyter.computer.effects.walk import Walk

_SHELLS = {"!", "sx", "system", "bash", "sh", "cmd"}
_PACKAGES = {"pip", "conda", "mamba", "micromamba", "uv"}
_PYTHON = {"time", "capture", "prun", "memit", "mprun", "lprun", "debug"}
_QUIET_MAGICS = {
    "matplotlib", "who", "who_ls", "whos", "pwd", "pinfo", "pinfo2", "psource", "pdoc", "pdef",
    "pfile", "history", "hist", "lsmagic", "magic", "quickref", "precision", "autosave", "dirs",
    "ls", "ll", "xmode", "colors", "page", "latex", "markdown", "svg", "SVG", "html", "HTML",
}  # fmt: skip
_OPTIONS = re.compile(r"(?:-{1,2}\w+(?:[ =]?\d+)?[ \t]+)*")
_SETTINGS = re.compile(r"rcParams|\.options|(?:^|\.)(?:config|flags|backend|rc)\b|^sys\.ps")
_SQL = {"execute", "executemany", "executescript", "sql", "read_sql", "read_sql_query", "query"}
_DICT_CHANGES = {"update", "pop", "clear", "setdefault", "__setitem__", "popitem", "__delitem__"}
_PLAIN = {f"{kind}()" for kind in ("str", "list", "dict", "set", "int", "float", "bytes", "tuple")}
ANY_TOOL = "may call any tool"


class Given(NamedTuple):
    """An argument."""

    node: ast.expr
    value: Value


@dataclass
class Call:
    """A call with its arguments.

    Parameters
    ----------
    is_open : whether more arguments come from `*a` or `**d`
    handed : the function is handed on, and nobody knows its arguments
    """

    node: ast.expr
    args: list[Given]
    keywords: dict[str, Given]
    is_open: bool = False
    handed: bool = False

    def all(self) -> list[Given]:
        """All arguments."""
        return [*self.args, *self.keywords.values()]

    def at(self, place: tables.Place) -> Given | None:
        """The argument of this position or keyword."""
        index, keyword = place
        if keyword in self.keywords:
            return self.keywords[keyword]
        starred = any(isinstance(each.node, ast.Starred) for each in self.args[: index + 1])
        return self.args[index] if index < len(self.args) and not starred else None

    @property
    def function(self) -> str:
        """The function as it is written."""
        from lmc_jupyter.computer.effects.walk import source

        return source(self.node.func if isinstance(self.node, ast.Call) else self.node)


def is_setting(place: str) -> bool:
    """Whether an attribute of this is a setting of a library, such as `plt.rcParams`."""
    return _SETTINGS.search(place) is not None


def result_of(place: str) -> str:
    """The kind of what a method of a library's object gives: of the library."""
    library = tables.module_in(place, tables.HONEST) or tables.module_in(place, tables.PURE)
    if library == "pathlib":
        return "pathlib.Path()"
    if not library:
        library = tables.module_in(place, tables.NETWORK) or place.partition("()")[0]
    return f"{library}()"


def hand_on(walk: Walk, value: Value, node: ast.expr) -> None:
    """A value goes where it is not seen what becomes of it: if it is a function, it is called."""
    from lmc_jupyter.computer.effects.walk import source

    if values.is_iterator(value.live):
        walk.change(value.roots)
    if _is_tools(value.kind) and "()" not in value.kind:
        walk.add("unknown", source(node), ANY_TOOL)
    elif value.kind == "globals()":
        walk.add("unknown", source(node), "is handed on: any name may change")
    elif value.kind == THEIRS and value.live is not NOTHING:
        if values.is_function(value.live):
            walk.add("unknown", f"{source(node)}()")
        elif values.runs_when_used(value.live):
            walk.add("unknown", source(node), "runs code of its class")
    elif value.is_place or (value.owner is not None and value.name):
        if value.is_place and (values.is_data(value.kind) or value.kind == "get_ipython"):
            return
        if value.is_place and values.is_module(value.kind):
            if not tables.is_harmless(value.kind) or value.kind in tables.MIXED:
                walk.add("unknown", source(node), "is handed on")
            return
        call(walk, value, Call(node, [], {}, handed=True))


def call(walk: Walk, callee: Value, it: Call) -> Value:
    """Find the effects of one call; those of its arguments were found before."""
    owner, name = callee.owner, callee.name
    if callee.kind == THEIRS:
        walk.add("unknown", f"{it.function}()")
        return UNKNOWN
    if owner is None or owner.is_place:
        place = callee.kind
        if not callee.is_place:
            if callee.kind == "":
                walk.add("unknown", f"{it.function}()")
                return UNKNOWN
            if _is_tools(place) or "()" not in place or tables.is_harmless(place):
                return Value(callee.kind if "()" in callee.kind else OWN)
            walk.add("unknown", f"{it.function}()")
            return UNKNOWN
        unbound = place.rpartition(".")[0]
        kind = unbound.rpartition(".")[2]
        if it.args and values.is_unbound(place, unbound, kind, bool(it.args[0].value.roots)):
            # `Path.unlink(p)`, `list.append(items, 1)`
            mine = it.args[0].value
            mine = mine._replace(kind=mine.kind or f"{unbound}()")
            more = Call(it.node, it.args[1:], it.keywords, it.is_open)
            return _method(walk, mine, name or place.rpartition(".")[2], more, it.args[0].node)
        return _function(walk, place, it)
    node = it.node.func if isinstance(it.node, ast.Call) else it.node
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]  # `getattr(df, "pop")("a")`
    return _method(walk, owner, name, it, getattr(node, "value", node))


# Functions ----------------------------------------------------------------------------------------


def _function(walk: Walk, place: str, it: Call) -> Value:
    if place in ("getattr", "operator.attrgetter", "operator.methodcaller") and not it.handed:
        return _get_attribute(walk, place, it)
    if _is_tools(place):
        if "._" in place:
            walk.add("unknown", it.function, ANY_TOOL)
        elif it.handed:
            walk.add("unknown", it.function, "is handed on: any of its tools may be called")
        elif place != f"{TOOLS}.search":
            walk.add("tools", place.removeprefix(f"{TOOLS}."))
        return Value(OWN)
    if place in ("importlib.import_module", "__import__") and not it.handed:
        name = it.args[0].value.text if it.args else None
        if name is None:
            walk.add("unknown", f"{place}()")
            return UNKNOWN
        walk.load_module(name)
        top = name.partition(".")[0]
        return Value(tables.place_of(top if place == "__import__" else name))
    if place.startswith("os.environ.") and place.rpartition(".")[2] in _DICT_CHANGES:
        walk.add("changes", "os.environ")
    if place in ("globals", "locals", "vars") and not it.args and not it.handed:
        return Value("globals()")
    if place in tables.ENDS:
        walk.add("deletes", "", "all your variables: it ends the kernel")
        return Value(OWN)
    if place in ("os.chdir", "os.fchdir", "contextlib.chdir"):
        walk.add("unknown", f"{place}()", "changes the folder in which code runs")
        return Value(OWN)
    library = tables.module_in(place, tables.HONEST)
    name = place.rpartition(".")[2]
    found = _files(walk, place, name, it)
    found |= _network(walk, place, name, it) | _programs(walk, place, it)
    found |= _sql(walk, name, it) if library or "sql" in place else False
    found |= _values(walk, place, name, it)
    if library and not found:
        found = _named_like_writing(walk, place, name, it)
    if place == "vars" and it.args and it.args[0].value.is_place:
        walk.add("unknown", shorten.line(ast.unparse(it.node), 60), "may do more")
    elif not found and not tables.is_harmless(place) and not _is_excused(place, it):
        walk.add("unknown", f"{it.function}()")
    return _result(walk, place, it)


def _result(walk: Walk, place: str, it: Call) -> Value:
    """What is known of what a function gives."""
    from lmc_jupyter.computer.effects.walk import join

    texts = [each.value.text for each in it.args]
    parts = frozenset[str]()
    items: tuple[Value, ...] = ()
    first = it.args[0].value if it.args else UNKNOWN
    if place in tables.VIEWS and values.is_buffer(first.live):
        return Value("numpy()", first.roots, first.alias, first.alias)
    if place == "type" and len(it.args) == 1 and first.kind.endswith("()"):
        return Value(first.kind.removesuffix("()"))
    if place == "collections.ChainMap" or (place == "vars" and it.args):
        return Value("dict()", first.roots, first.alias)  # it writes into the first
    if place == "dict":
        more = [each.value for each in it.keywords.values()]
        parts = walk._elements(first).union(*(each.alias | each.parts for each in more))
        return Value("dict()", parts=parts)
    if place in ("list", "tuple", "sorted", "reversed", "iter", "enumerate", "zip", "tqdm.tqdm"):
        parts = parts.union(*(walk._elements(each.value) for each in it.args))
        if place in ("zip", "enumerate") and it.args:
            items = tuple(each.value for each in it.args)
            items = (Value(OWN), *items) if place == "enumerate" else items
            return Value("zip()", parts=parts, items=items)
        if first.live is NOTHING and place in ("list", "tuple", "sorted", "reversed", "iter"):
            element = walk.element(first)
            return Value("list()", parts=parts, items=(element, element))
        return Value("list()", parts=parts, live=first.live)
    if place in ("str", "os.fspath", "os.path.abspath", "os.path.expanduser") and texts:
        return Value("str()", text=texts[0])
    if place in ("pathlib.Path", "pathlib.PurePath", "os.path.join") and texts and texts[0]:
        text = texts[0]
        for given, each in zip(it.args[1:], texts[1:], strict=True):
            text = join(text, f"{{{ast.unparse(given.node)}}}" if each is None else each)
        kind = "pathlib.Path()" if place.startswith("pathlib") else "str()"
        return Value(kind, text=text if len(text) <= values.MAX_TEXT else None)
    if place in ("next", "min", "max"):
        return walk.element(first)
    if place in ("copy.copy", "copy.deepcopy"):
        parts = walk._elements(first) if place == "copy.copy" else parts
        return Value(first.kind or OWN, parts=parts)
    if not tables.module_in(place, tables.HONEST):  # those copy; others keep what they get
        parts = parts.union(*(each.value.alias | each.value.parts for each in it.all()))
    return Value(f"{place}()", parts=parts)


def _get_attribute(walk: Walk, place: str, it: Call) -> Value:
    """`getattr(os, "system")`, `methodcaller("unlink")`."""
    at = 1 if place == "getattr" else 0
    name = it.args[at].value.text if len(it.args) > at else None
    if place == "getattr":
        if name is None:
            walk.add("unknown", shorten.line(ast.unparse(it.node), 60))
            return Value(OWN)
        return walk.attribute(it.args[0].value, name, it.node)
    if name is None or (place.endswith("methodcaller") and name not in tables.METHODS):
        walk.add("unknown", f"{it.function}()")
    return UNKNOWN


def _is_excused(place: str, it: Call) -> bool:
    """Functions that do more with some arguments only."""
    if it.handed or it.is_open:
        return False
    if place == "numpy.load":
        return "allow_pickle" not in it.keywords
    if place.startswith("yaml."):
        loader = it.keywords.get("Loader") or (it.args[1] if len(it.args) > 1 else None)
        return loader is not None and "Safe" in loader.value.kind
    if re.search(r"\.(?:eval|query)$", place):
        text = it.args[0].value.text if it.args else None
        return text is not None and "@" not in text.replace("@", "@", 1).partition("(")[0]
    return False


# Methods ------------------------------------------------------------------------------------------


def _method(walk: Walk, owner: Value, name: str, it: Call, node: ast.expr) -> Value:
    """A method of a value."""
    kind = owner.kind
    place = f"{kind}.{name}" if kind not in ("", OWN) else name
    if kind == "get_ipython()":
        _shell_object(walk, name, it)
        return UNKNOWN
    if kind == "globals()":
        if name in _DICT_CHANGES:
            walk.add("unknown", "globals()", "is handed on: any name may change")
        return UNKNOWN
    if kind == THEIRS:
        walk.add("unknown", f"{it.function}()")
        return UNKNOWN
    if name in walk.methods and kind in ("", OWN) and name not in tables.METHODS:
        return Value(OWN)
    is_plain = kind in (
        "str()",
        "list()",
        "dict()",
        "set()",
        "int()",
        "float()",
        "bytes()",
        "tuple()",
    )
    found = False
    if not is_plain:
        found = _path_method(walk, owner, name, it, node)
        found = found or _files(walk, place, name, it, is_method=True)
        found |= _network(walk, place, name, it) | _programs(walk, place, it)
        found |= name in _SQL and _sql(walk, name, it)
    found |= _changes(walk, owner, name, it, is_part=not isinstance(node, ast.Name))
    library = tables.module_in(kind, tables.HONEST)
    if library and not found:
        found = _named_like_writing(walk, place, name, it)
    elif not found and name in ("dump", "save") and it.args and it.args[0].value.text is not None:
        found = _add_file(walk, "writes", it.args[0], it)
    if not found and not _is_quiet_method(walk, owner, name, place, it):
        walk.add("unknown", f"{it.function}()")
    return _of_method(walk, owner, name, it)


def _is_quiet_method(walk: Walk, owner: Value, name: str, place: str, it: Call) -> bool:
    kind = owner.kind
    if owner.live is not NOTHING and name in tables.FILE_WRITES and values.is_open_file(owner.live):
        walk.add("writes", it.function.rpartition(".")[0])
        return True
    if it.handed and kind in ("", OWN):
        return True  # an attribute, as far as anyone can tell
    if kind in ("", OWN) or "()" not in kind:
        return name in tables.METHODS or name in walk.methods or name in walk.attributes
    is_library = tables.module_in(kind, tables.HONEST) or tables.module_in(kind, tables.PURE)
    if is_library and not kind.startswith(("str()", "list()")):
        return tables.is_harmless(place) or _is_excused(place, it)
    top = kind.partition("()")[0]
    if top in tables.BUILTINS and not (top[:1].isupper()):
        return top != "open" or name in tables.METHODS | tables.FILE_WRITES
    return name in tables.METHODS or top in tables.BUILTINS or "open" in kind


def _of_method(walk: Walk, owner: Value, name: str, it: Call) -> Value:
    """What is known of what a method gives."""
    if name in ("get", "setdefault"):
        roots = owner.roots | owner.parts
        alias = walk._without_copies(roots)
        kind = walk.element(owner).kind
        return Value(kind, roots, alias)
    if name in ("values", "items"):
        element = walk.element(owner)
        if name == "items":
            pair = (Value(OWN), element._replace(roots=element.alias))
            return Value("list()", parts=element.alias, items=(
                Value(OWN, element.alias, element.alias, items=pair),) * 2)  # fmt: skip
        return Value("list()", parts=element.alias, items=(element, element))
    if name in tables.VIEW_METHODS and values.is_buffer(owner.live):
        return Value("numpy()", owner.roots, owner.alias, owner.alias)
    if name == "copy":
        return Value(owner.kind, parts=walk._elements(owner))
    if owner.kind == "str()":
        if name == "format":
            return Value("str()", text=owner.text)
        if name == "join" and it.args:
            texts = [each.text for each in it.args[0].value.items]
            known = [each for each in texts if each is not None]
            whole = (owner.text or "").join(known) if len(known) == len(texts) else None
            return Value("str()", text=whole)
        return Value("list()" if "split" in name else "str()")
    if owner.kind in ("", OWN):
        return Value(OWN if name in tables.METHODS or name in walk.methods else "")
    return Value(result_of(f"{owner.kind}.{name}"))


# Effects of both ----------------------------------------------------------------------------------


def _values(walk: Walk, place: str, name: str, it: Call) -> bool:
    """Values that a function changes in place."""
    found = place in tables.MAY_CHANGE_FIRST or tables.CHANGES_FIRST.match(place) is not None
    count = values.inputs_of(place)
    changed = it.args[count:] if count else it.all() if "into" in name else []
    for each in changed:
        walk.change(each.value.roots)
    if found and it.args:
        first = it.args[0].value
        walk.change(first.roots, loses=place in ("delattr", "operator.delitem"))
        if first.is_place and not is_setting(first.kind):
            walk.add("unknown", f"{it.function}()", "changes a library")
    _outputs(walk, it)
    if name in ("exec", "eval") and it.handed:
        walk.add("unknown", f"{name}()")
    return found


def _outputs(walk: Walk, it: Call) -> None:
    for keyword in ("out", "ax"):
        if keyword in it.keywords:
            for root in it.keywords[keyword].value.roots:
                if keyword == "out" or values.is_drawn_on(walk.names.get(root)):
                    walk.change({root})


def _changes(walk: Walk, owner: Value, name: str, it: Call, *, is_part: bool) -> bool:
    """Whether a method is known to change its value in place."""
    _outputs(walk, it)
    keyword = it.keywords.get("inplace")
    in_place = keyword is not None and not (
        isinstance(keyword.node, ast.Constant) and keyword.node.value is False
    )
    in_place = in_place or (it.is_open and name in tables.IN_PLACE)
    in_place = in_place or name in tables.CHANGING_DUNDERS
    loses = name in tables.LOSING or (in_place and name == "dropna")
    for each in it.all() if "into" in name else it.args[:1] if name == "shuffle" else []:
        walk.change(each.value.roots)
    found = False
    if owner.kind.startswith("os.environ") and name in _DICT_CHANGES:
        walk.add("changes", "os.environ")
    for root in owner.roots:
        value = walk.names.get(root)
        if in_place or values.is_changed_by(value, name, is_part=is_part):
            walk.change({root}, loses=loses and not values.is_drawn_on(value))
            found = True
    return found or (in_place and not (it.is_open and name in tables.IN_PLACE and not owner.roots))


def _add_file(walk: Walk, kind: EffectKind, given: Given | None, it: Call, to: str = "") -> bool:
    """Name a file; False where there is none."""
    from lmc_jupyter.computer.effects.walk import source

    if given is None:
        if it.handed or it.is_open:
            walk.add("unknown", f"{it.function}()")
            return True
        return False
    if isinstance(given.node, ast.Constant) and not isinstance(given.node.value, str):
        return True
    if tables.IN_MEMORY.match(given.value.kind):
        return True
    text = source(given.node) if given.value.text is None else given.value.text
    if text != ":memory:":
        walk.add(kind, text, to)
    return True


def _shown(given: Given | None) -> str:
    from lmc_jupyter.computer.effects.walk import source

    if given is None:
        return "?"
    return source(given.node) if given.value.text is None else given.value.text


def _files(walk: Walk, place: str, name: str, it: Call, *, is_method: bool = False) -> bool:
    """Files that it writes, moves and deletes."""
    if place in tables.WRITE_FUNCTIONS:
        if place.startswith("tempfile."):
            walk.add("writes", "a temporary file")
            return True
        return _add_file(walk, "writes", it.at(tables.WRITE_FUNCTIONS[place]), it) or True
    if place in tables.REMOVE_FUNCTIONS:
        return _add_file(walk, "removes", it.at(tables.REMOVE_FUNCTIONS[place]), it) or True
    if place in tables.MOVE_FUNCTIONS:
        source = it.at(tables.MOVE_FUNCTIONS[place])
        return _add_file(walk, "renames", source, it, _shown(it.at((1, "dst")))) or True
    if place == "os.open":
        flags = it.at((1, "flags"))
        if it.handed or flags is None or flags.value.kind != "os.O_RDONLY":
            _add_file(walk, "writes", it.at((0, "path")), it)
        return True
    if place in tables.OPENERS:
        at, default = tables.OPENERS[place]
        if it.handed or it.is_open:
            walk.add("unknown", f"{it.function}()")
        elif _writes(it.at(at), default):
            first = it.args[0] if it.args else it.at((0, "file")) or it.at((0, "filename"))
            _add_file(walk, "writes", first, it)
        return True
    if name in tables.WRITE_METHODS and (is_method or tables.module_in(place, tables.HONEST)):
        given = it.at(tables.WRITE_METHODS[name])
        if given is None and name in ("save", "write_image") and it.keywords:
            given = next(iter(it.keywords.values()))
        return _add_file(walk, "writes", given, it) or True
    if (
        is_method
        and name in ("extractall", "extract")
        and not tables.module_in(place, frozenset({"pandas", "polars", "re", "sklearn"}))
    ):
        given = it.at((0 if name == "extractall" else 1, "path"))
        if given is None and it.handed:
            return False
        walk.add("writes", "." if given is None else _shown(given))
        return True
    return False


def _writes(mode: Given | None, default: str) -> bool:
    """Whether a file is opened to be written; a mode that is not written out may be any."""
    if mode is None:
        return any(letter in default for letter in "wax+")
    return mode.value.text is None or any(letter in mode.value.text for letter in "wax+")


def _path_method(walk: Walk, owner: Value, name: str, it: Call, node: ast.expr) -> bool:
    """`path.unlink()`, `path.rename(to)`, `path.open("w")`."""
    me = Given(node, owner)
    if name in tables.PATH_METHODS:
        kind: EffectKind = "removes" if tables.PATH_METHODS[name] == "removes" else "writes"
        return _add_file(walk, kind, me, it)
    is_path = owner.kind.startswith("pathlib.")
    if is_path and name in ("rename", "replace"):
        return _add_file(walk, "renames", me, it, _shown(it.at((0, "target"))))
    if is_path and name == "open" and not it.handed:
        return not _writes(it.at((0, "mode")), "r") or _add_file(walk, "writes", me, it)
    return False


def _named_like_writing(walk: Walk, place: str, name: str, it: Call) -> bool:
    """A function of a library of data that is called as those that write a file."""
    if tables.WRITE_NAMES.match(name) is None or name == "dumps" or place.startswith("yaml."):
        return False
    given = next((each for each in it.all() if each.value.text is not None), None)
    if given is not None:
        return _add_file(walk, "writes", given, it)
    if it.all() and not tables.IN_MEMORY.match(it.args[-1].value.kind if it.args else ""):
        walk.add("unknown", f"{it.function}()")
    return bool(it.all())


def _network(walk: Walk, place: str, name: str, it: Call) -> bool:
    library = tables.module_in(place, tables.NETWORK)
    if library:
        if not tables.NO_NETWORK.search(place):
            walk.add("network", library)
        return True
    top = place.partition(".")[0].removesuffix("()")
    download = it.keywords.get("download")
    if (
        tables.DOWNLOADS.match(place)
        or name == "from_pretrained"
        or (download is not None and getattr(download.node, "value", None) is True)
    ):
        walk.add("network", top or name)
        return True
    if name.startswith(tables.FETCHES) and it.args:
        text = it.args[0].value.text
        if text is not None and tables.URL.match(text):
            walk.add("network", top or text)
        elif (
            text is None
            and re.search(r"(?i)url|https?\b|\buri|link\b", ast.unparse(it.args[0].node))
            and tables.module_in(place, tables.HONEST)
        ):
            walk.add("network", top)
    return False


def _programs(walk: Walk, place: str, it: Call) -> bool:
    if not tables.PROGRAMS.match(place):
        return False
    if place in ("subprocess.PIPE", "subprocess.DEVNULL", "subprocess.STDOUT") or "Error" in place:
        return True
    is_command = not it.handed and not place.startswith(("webbrowser.", "multiprocessing."))
    command = it.at((0, "args")) if is_command else None
    text = None if command is None else command.value.text
    if command is not None and isinstance(command.node, (ast.List, ast.Tuple)):
        pairs = zip(command.node.elts, command.value.items, strict=False)
        text = " ".join(_word(Given(node, value)) for node, value in pairs)
    if text:
        add_shell(walk, text)
    else:
        walk.add("shell", f"{place}()")
    return True


def _word(given: Given) -> str:
    if given.value.kind == "sys.executable":
        return "python"
    word = given.value.text or f"{{{ast.unparse(given.node)}}}"
    return f"'{word}'" if re.search(r"[\s;&|<>()]", word) and "'" not in word else word


def add_shell(walk: Walk, code: str) -> None:
    """The effects of shell code within Python, every program named."""
    for effect in shell_effects(code, every=True):
        walk.add(effect.kind, effect.name, effect.detail)


def _sql(walk: Walk, name: str, it: Call) -> bool:
    """Statements of SQL, as far as their text is known."""
    if name not in _SQL or not it.args:
        return False
    text = it.args[0].value.text
    if text is None:
        return False
    for effect in sql_effects(text):
        walk.add(effect.kind, effect.name, effect.detail)
    return name != "query"


# IPython ------------------------------------------------------------------------------------------


def _shell_object(walk: Walk, method: str, it: Call) -> None:
    """`get_ipython().run_line_magic(…)`: a magic or a `!` line, as IPython has read it."""
    first, second, third, *_ = *(each.value.text or "" for each in it.args), "", "", ""
    if method in ("system", "getoutput", "getoutput_assign", "system_raw", "system_piped"):
        add_shell(walk, first)
    elif method == "run_line_magic":
        read_magic(walk, first, second, None)
    elif method == "run_cell_magic":
        read_magic(walk, first, second, third)
    else:
        walk.add("unknown", f"get_ipython().{method}()")


def read_magic(walk: Walk, name: str, line: str, cell: str | None) -> None:
    """Find the effects of `%name line`, or of `%%name line` over a cell."""
    sign = "%" if cell is None else "%%"
    words = line.split()
    if name in _SHELLS:
        add_shell(walk, cell or line)
    elif name in _PACKAGES:
        walk.add("shell", " ".join([name, *words[:1]]))
    elif name == "script":
        walk.add("shell", words[0] if words else "script")
    elif name == "timeit":
        walk.read_more(_OPTIONS.sub("", line, count=1), apart=True)
        walk.read_more(cell or "", apart=True)
    elif name in _PYTHON:
        if name == "capture":
            for word in _names(words):
                walk.bind_here(word)
        else:
            walk.read_more(_OPTIONS.sub("", line, count=1))
        walk.read_more(cell or "")
    elif name in ("writefile", "file"):
        walk.add("writes", words[-1] if words else f"{sign}{name}")
    elif name in ("cd", "pushd", "popd"):
        walk.add("unknown", f"%{name}", "changes the folder in which code runs")
    elif name == "reset":
        walk.add("deletes", "", "all your variables")
    elif name == "xdel" and words:
        walk.unbind(words[-1])
    elif name not in _QUIET_MAGICS and not (name in ("env", "config") and not line.strip()):
        walk.add("unknown", f"{sign}{name}", "may do more")


def _names(words: list[str]) -> Iterator[str]:
    return (word for word in words if not word.startswith("-"))


def _is_tools(place: str) -> bool:
    """Whether this is the object `tools`, or a tool of it, or what comes of one."""
    return place == TOOLS or place.startswith(f"{TOOLS}.")
