"""What a call in Python does: harmless, named, or that it "may do more".

One rule: what was said to do more is not doubted again; a function of this code that is handed on
is called with whatever else is in the call.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from lmc_jupyter.computer.effects import tables
from lmc_jupyter.computer.effects import value as values
from lmc_jupyter.computer.effects.magics import add_shell, shell_object
from lmc_jupyter.computer.effects.sql import sql_effects
from lmc_jupyter.computer.effects.value import (
    NOTHING,
    OWN,
    THEIRS,
    UNKNOWN,
    Value,
    join,
    mix,
    short,
    source,
)
from lmc_jupyter.computer.tools.namespace import PATH as TOOLS
from lmc_jupyter.content.effect import EffectKind

if TYPE_CHECKING:
    from lmc_jupyter.computer.effects.walk import Walk

_SETTINGS = re.compile(r"rcParams|\.options|(?:^|\.)(?:config|flags|backend|rc)\b|^sys\.ps")
_SQL = {"execute", "executemany", "executescript", "sql", "read_sql", "read_sql_query", "query"}
_DICT_CHANGES = {"update", "pop", "clear", "setdefault", "__setitem__", "popitem", "__delitem__"}
_PLAIN = {f"{kind}()" for kind in ("str", "list", "dict", "set", "int", "float", "bytes", "tuple")}
_SAME_ELEMENTS = {"list", "tuple", "sorted", "reversed", "iter"}
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
    is_open : whether nobody knows which argument is which: `*a`, `**d`
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

    def text(self, index: int = 0) -> str | None:
        """The text of the argument at this position, where it is known."""
        return self.args[index].value.text if index < len(self.args) else None

    @property
    def function(self) -> str:
        """The function as it is written."""
        return source(self.node.func if isinstance(self.node, ast.Call) else self.node)


def is_setting(place: str) -> bool:
    """Whether an attribute of this is a setting of a library, such as `plt.rcParams`."""
    return _SETTINGS.search(place) is not None


def result_of(place: str) -> str:
    """The kind of what a method of a library's object gives: of the library."""
    library = tables.module_in(place, tables.HONEST) or tables.module_in(place, tables.PURE)
    if library == "pathlib":
        return "pathlib.Path()"
    return f"{library or tables.module_in(place, tables.NETWORK) or place.partition('()')[0]}()"


def hand_on(walk: Walk, value: Value, node: ast.expr, given: Value = UNKNOWN) -> Value:
    """A value goes where it is not seen what becomes of it: if it is a function, it is called, with
    what is given; gives what that returns."""
    if values.is_iterator(value.live):
        walk.change(value.roots)
    if value.functions:
        it = Call(node, [Given(node, given)], {}, handed=True)
        return _run(walk, value, it)
    if _is_tools(value.kind) and "()" not in value.kind:
        walk.add("unknown", source(node), ANY_TOOL)
    elif value.kind == "globals()":
        walk.add("unknown", source(node), "is handed on: any name may change")
    elif value.kind == THEIRS and value.live is not NOTHING:
        if values.is_function(value.live):
            walk.add("unknown", f"{source(node)}()")
        elif values.runs_when_used(value.live):
            walk.add("unknown", source(node), "runs code of its class")
    elif value.is_place and (values.is_data(value.kind) or value.kind == "get_ipython"):
        return UNKNOWN
    elif value.is_place and values.is_module_place(value.kind):
        if not tables.is_harmless(value.kind) or value.kind in tables.MIXED:
            walk.add("unknown", source(node), "is handed on")
    elif value.is_place or (value.owner is not None and value.name):
        return call(walk, value, Call(node, [], {}, handed=True))
    return UNKNOWN


def _run(walk: Walk, callee: Value, it: Call) -> Value:
    """Call all functions of this code that the value may be."""
    if callee.parts and not it.handed:  # `partial(f, df)` adds arguments of its own
        more = Given(it.node, Value(roots=callee.parts, parts=callee.parts))
        it = replace(it, args=[*it.args, more], is_open=True)
    functions = sorted(callee.functions, key=lambda each: (each.node.lineno, each.node.col_offset))
    return mix([walk.run(each, it) for each in functions])


def call(walk: Walk, callee: Value, it: Call) -> Value:
    """Find the effects of one call; those of its arguments were found before."""
    owner, place = callee.owner, callee.kind
    result = UNKNOWN
    if callee.functions:
        result = _run(walk, callee, it)
        if owner is None or owner.kind == OWN:
            return result
    if place in (THEIRS, ""):
        walk.add("unknown", f"{it.function}()")
        return result
    if owner is not None and not owner.is_place:
        given = _hand_on_all(walk, it, owner, callee.name)
        node = it.node.func if isinstance(it.node, ast.Call) else it.node
        if isinstance(node, ast.Call) and node.args:
            node = node.args[0]  # `getattr(df, "pop")("a")`
        return _method(walk, owner, callee.name, it, getattr(node, "value", node), given)
    if not callee.is_place:
        if place != OWN and not _is_tools(place) and not tables.is_harmless(place):
            walk.add("unknown", f"{it.function}()")
        given = _hand_on_all(walk, it, callee, place)
        reach = callee.reach | given.reach  # `ref()`, `itemgetter("a")(d)`
        return Value(place, reach, reach)
    if it.args and values.is_unbound(place, bool(it.args[0].value.roots)):
        first = it.args[0].value  # `Path.unlink(p)`, `list.append(items, 1)`
        kind = f"{place.rpartition('.')[0]}()" if first.kind == OWN else first.kind
        more = Call(it.node, it.args[1:], it.keywords, it.is_open)
        name = place.rpartition(".")[2]
        given = _hand_on_all(walk, more, first, name)
        return _method(walk, first._replace(kind=kind), name, more, it.args[0].node, given)
    return _function(walk, place, it)


def _hand_on_all(walk: Walk, it: Call, owner: Value, name: str) -> Value:
    """The arguments go to a library: what is in them, and what functions among them give."""
    each = [given.value for given in it.all()]
    inside = [value for value in (owner, *each) if not value.functions] or each
    mixture = mix([*inside, *map(walk.element, inside)])._replace(text=None, live=NOTHING)
    if tables.module_in(owner.kind, tables.HONEST):
        reach = walk.without_copies(mixture.reach)
        mixture = mixture._replace(roots=reach, parts=reach)
    mixture = mixture._replace(roots=mixture.reach)
    if name in tables.LOOKS:
        return mix(each)
    return mix([*each, *(hand_on(walk, one.value, one.node, mixture) for one in it.all())])


# Functions ----------------------------------------------------------------------------------------


def _function(walk: Walk, place: str, it: Call) -> Value:
    name = place.rpartition(".")[2]
    if place == "getattr" and not it.handed:
        return _get_attribute(walk, it)
    given = _hand_on_all(walk, it, Value(f"{place}()"), place)
    if _is_tools(place):
        return _tool(walk, place, it)
    if place in ("importlib.import_module", "__import__") and it.text() is not None:
        module = it.text() or ""
        walk.load_module(module)
        top = module.partition(".")[0]
        return Value(tables.place_of(top if place == "__import__" else module))
    if place.startswith("os.environ.") and name in _DICT_CHANGES:
        walk.add("changes", "os.environ")
    elif place in ("globals", "locals", "vars") and not it.args and not it.handed:
        return Value("globals()")
    elif place in tables.ENDS:
        walk.add("deletes", "", "all your variables: it ends the kernel")
        return UNKNOWN
    elif place in ("os.chdir", "os.fchdir", "contextlib.chdir"):
        walk.add("unknown", f"{place}()", "changes the folder in which code runs")
        return UNKNOWN
    library = tables.module_in(place, tables.HONEST)
    found = _files(walk, place, name, it)
    found |= _network(walk, place, name, it) | _programs(walk, place, it)
    found |= _sql(walk, UNKNOWN, name, it) if library or "sql" in place else False
    found |= _values(walk, place, name, it)
    found = found or bool(library and _named_like_writing(walk, place, name, it))
    if place == "vars" and it.args and it.args[0].value.is_place:
        walk.add("unknown", source(it.node), "may do more")
    elif not found and not tables.is_harmless(place) and not _is_excused(place, it):
        walk.add("unknown", f"{it.function}()")
        found = True
    return _result(walk, place, it, given, found)


def _result(walk: Walk, place: str, it: Call, given: Value, found: bool) -> Value:
    """What is known of what a function gives."""
    texts = [each.value.text for each in it.args]
    text: str | None
    first = it.args[0].value if it.args else UNKNOWN
    if place in tables.VIEWS and values.is_buffer(first.live):
        return Value("numpy()", first.here, first.here)
    if place == "type" and len(it.args) == 1 and first.kind.endswith("()"):
        return Value(first.kind.removesuffix("()"))
    if place in ("zip", "enumerate") and it.args:
        items = (UNKNOWN,) * (place == "enumerate") + tuple(each.value for each in it.args)
        return Value("zip()", parts=given.reach, items=items, functions=given.functions)
    if place in ("next", "min", "max"):
        return walk.element(first)
    if place in _SAME_ELEMENTS:
        element = walk.element(first)
        return Value("list()", parts=element.reach, items=(element,) * 2, functions=given.functions)
    if place in ("str", "os.fspath", "os.path.abspath", "os.path.expanduser") and texts:
        return Value("str()", text=texts[0])
    if place in ("pathlib.Path", "pathlib.PurePath", "os.path.join") and texts and texts[0]:
        text = texts[0]
        for argument, each in zip(it.args[1:], texts[1:], strict=True):
            text = join(text, f"{{{ast.unparse(argument.node)}}}" if each is None else each)
        kind = "pathlib.Path()" if place.startswith("pathlib") else "str()"
        return Value(kind, text=short(text))
    if place == "copy.deepcopy" or tables.module_in(place, tables.HONEST):
        given = UNKNOWN  # they copy
    if place == "copy.copy" or place == "dict":
        given = walk.element(first).or_else(mix(each.value for each in it.keywords.values()))
    if place in ("collections.ChainMap", "vars"):  # they write into the first
        return Value("dict()", first.roots, first.reach)
    found = found and not tables.module_in(place, tables.NETWORK)
    kind = f"{place}()" if not found else "open()" if place in tables.FILES else OWN
    text = texts[0] if place == "sqlite3.connect" and texts else None
    return Value(kind, parts=given.reach, text=text, functions=given.functions)


def _tool(walk: Walk, place: str, it: Call) -> Value:
    if "._" in place:
        walk.add("unknown", it.function, ANY_TOOL)
    elif it.handed:
        walk.add("unknown", it.function, "is handed on: any of its tools may be called")
    elif place != f"{TOOLS}.search":
        walk.add("tools", place.removeprefix(f"{TOOLS}."))
    return UNKNOWN


def _is_tools(place: str) -> bool:
    """Whether this is the object `tools`, or a tool of it, or what comes of one."""
    return place == TOOLS or place.startswith(f"{TOOLS}.")


def _get_attribute(walk: Walk, it: Call) -> Value:
    """`getattr(os, "system")`."""
    name = it.text(1)
    if name is not None:
        return walk.attribute(it.args[0].value, name, it.node)
    walk.add("unknown", source(it.node))
    return UNKNOWN


def _is_excused(place: str, it: Call) -> bool:
    """Functions that do more with some arguments only."""
    if it.handed or it.is_open:
        return False
    if place == "numpy.load":
        return "allow_pickle" not in it.keywords
    if place.startswith("yaml."):
        loader = it.at((1, "Loader"))
        return loader is not None and "Safe" in loader.value.kind
    return re.search(r"\.(?:eval|query)$", place) is not None and "@" not in (it.text() or "@")


# Methods ------------------------------------------------------------------------------------------


def _method(walk: Walk, owner: Value, name: str, it: Call, node: ast.expr, given: Value) -> Value:
    """A method of a value."""
    kind = owner.kind
    place = f"{kind}.{name}" if kind not in ("", OWN) else name
    if kind == "get_ipython()":
        shell_object(walk, name, [each.value.text or "" for each in it.args])
        return UNKNOWN
    if kind == "globals()":
        if name in _DICT_CHANGES:
            walk.add("unknown", "globals()", "is handed on: any name may change")
        return UNKNOWN
    found = False
    if kind not in _PLAIN:
        found = _path_method(walk, owner, name, it, node)
        found = found or _files(walk, place, name, it, is_method=True)
        found |= _network(walk, place, name, it) | _programs(walk, place, it)
        found |= name in _SQL and _sql(walk, owner, name, it)
    found |= _changes(walk, owner, name, it, is_part=not isinstance(node, ast.Name))
    if not found and tables.module_in(kind, tables.HONEST):
        found = _named_like_writing(walk, place, name, it)
    elif not found and name in ("dump", "save") and it.text() is not None:
        found = _add_file(walk, "writes", it.args[0], it)
    if name in tables.FILE_WRITES and values.is_open_file(owner.live):
        walk.add("writes", it.function.rpartition(".")[0])
    elif not found and not _is_harmless_method(kind, place, it):
        walk.add("unknown", f"{it.function}()")
    return _of_method(walk, owner, name, it, given)


def _is_harmless_method(kind: str, place: str, it: Call) -> bool:
    if kind == OWN or (kind == "" and it.handed) or "open" in kind:
        return True
    return tables.is_harmless(place) or _is_excused(place, it)


def _of_method(walk: Walk, owner: Value, name: str, it: Call, given: Value) -> Value:
    """What is known of what a method gives."""
    kind = owner.kind
    if name in ("get", "setdefault"):
        return walk.part(owner)._replace(kind=walk.element(owner).kind, chain=frozenset())
    if name in ("values", "items"):
        element = walk.element(owner)
        pair = Value(parts=element.reach, items=(UNKNOWN, element), functions=element.functions)
        each = pair if name == "items" else element
        return Value("list()", parts=each.reach, items=(each,) * 2, functions=each.functions)
    if name in tables.VIEW_METHODS and values.is_buffer(owner.live):
        return Value("numpy()", owner.here, owner.here)
    if name == "copy":
        return Value(kind, parts=walk.element(owner).roots, functions=owner.functions)
    if kind == "str()":
        if name == "join" and it.args:
            texts = [each.text for each in it.args[0].value.items]
            known = [each for each in texts if each is not None]
            whole = (owner.text or "").join(known) if len(known) == len(texts) else None
            return Value("str()", text=whole)
        text = owner.text if name == "format" else None
        return Value("list()" if "split" in name else "str()", text=text)
    if tables.module_in(kind, tables.HONEST):
        return Value(result_of(f"{kind}.{name}"))
    text = owner.text if kind.startswith("sqlite3") else None
    reach = owner.reach | given.reach
    kind = OWN if kind in ("", OWN) else result_of(f"{kind}.{name}")
    return Value(kind, walk.without_copies(owner.roots | owner.parts), reach, text=text,
                 functions=given.functions | owner.functions)  # fmt: skip


# Effects of both ----------------------------------------------------------------------------------


def _values(walk: Walk, place: str, name: str, it: Call) -> bool:
    """Values that a function changes in place."""
    found = place in tables.CHANGE_FIRST or tables.CHANGES_FIRST.match(place) is not None
    function = values.find(place)
    count = function.nin if type(function).__name__ == "ufunc" else 0
    for each in it.args[count:] if count else it.all() if "into" in name else []:
        walk.change(each.value.here)
    if found and it.args:
        first = it.args[0].value
        walk.change(first.here, loses=place in ("delattr", "operator.delitem"))
        if place == "setattr" and len(it.args) > 2:
            walk.set_attribute(it.text(1) or "", it.args[2].value)
        if first.is_place and not is_setting(first.kind):
            walk.add("unknown", f"{it.function}()", "changes a library")
    _outputs(walk, it)
    if name in ("exec", "eval") and it.handed:
        walk.add("unknown", f"{name}()")
    return found


def _outputs(walk: Walk, it: Call) -> None:
    for keyword in {"out", "ax"} & it.keywords.keys():
        here = it.keywords[keyword].value.here
        drawn = {root for root in here if values.is_drawn_on(walk.names.get(root))}
        walk.change(here if keyword == "out" else drawn)


def _changes(walk: Walk, owner: Value, name: str, it: Call, *, is_part: bool) -> bool:
    """Whether a method is known to change its value in place."""
    _outputs(walk, it)
    keyword = it.keywords.get("inplace")
    may = it.is_open and name in tables.IN_PLACE
    in_place = name in tables.CHANGING_DUNDERS or may or (
        keyword is not None and getattr(keyword.node, "value", True) is not False
    )  # fmt: skip
    loses = name in tables.LOSING or (in_place and name == "dropna")
    for each in it.all() if "into" in name else it.args[:1] if name == "shuffle" else []:
        walk.change(each.value.here)
    if owner.kind.startswith("os.environ") and name in _DICT_CHANGES:
        walk.add("changes", "os.environ")
    found = in_place and not (may and not owner.here)
    for root in owner.here:
        live = walk.names.get(root)
        if in_place or values.is_changed_by(live, name, is_part=is_part):
            walk.change({root}, loses=loses and not values.is_drawn_on(live))
            found = True
    return found


def _shown(given: Given | None) -> str:
    if given is None:
        return "?"
    return source(given.node) if given.value.text is None else given.value.text


def _add_file(walk: Walk, kind: EffectKind, given: Given | None, it: Call, to: str = "") -> bool:
    """Name a file; False where there is none."""
    if given is None:
        if it.handed or it.is_open:
            walk.add("unknown", f"{it.function}()")
        return it.handed or it.is_open
    is_text = not isinstance(given.node, ast.Constant) or isinstance(given.node.value, str)
    if is_text and not tables.IN_MEMORY.match(given.value.kind) and _shown(given) != ":memory:":
        walk.add(kind, _shown(given), to)
    return True


def _files(walk: Walk, place: str, name: str, it: Call, *, is_method: bool = False) -> bool:
    """Files that it writes, moves and deletes."""
    if place in tables.FILES:
        kind, at, mode = tables.FILES[place]
        first = it.at(at)
        if kind == "temporary":
            walk.add("writes", "a temporary file")
        elif kind == "renames":
            _add_file(walk, "renames", first, it, _shown(it.at((1, "dst"))))
        elif kind != "opens":
            _add_file(walk, kind, first, it)  # type: ignore[arg-type]
        elif it.handed or it.is_open:
            walk.add("unknown", f"{it.function}()")
        elif _writes(it.at(mode), "r+" if mode[0] == 2 else "r"):
            _add_file(walk, "writes", first or next(iter(it.all()), None), it)
        return True
    if name in tables.WRITE_METHODS and (is_method or tables.module_in(place, tables.HONEST)):
        given = it.at(tables.WRITE_METHODS[name])
        if given is None and name in ("save", "write_image"):
            given = next(iter(it.keywords.values()), None)
        return _add_file(walk, "writes", given, it) or True
    library = tables.module_in(place, frozenset({"pandas", "polars", "re", "sklearn"}))
    if not is_method or library or it.handed or name not in ("extractall", "extract"):
        return False
    given = it.at((0 if name == "extractall" else 1, "path"))
    walk.add("writes", "." if given is None else _shown(given))
    return True


def _writes(mode: Given | None, default: str) -> bool:
    """Whether a file is opened to be written; a mode that is not written out may be any."""
    if mode is None:
        return "+" in default
    text = mode.value.text
    is_read = mode.value.kind == "os.O_RDONLY" or (text and not set("wax+") & set(text))
    return not is_read


def _path_method(walk: Walk, owner: Value, name: str, it: Call, node: ast.expr) -> bool:
    """`path.unlink()`, `path.rename(to)`, `path.open("w")`."""
    me = Given(node, owner)
    if name in tables.PATH_METHODS:
        return _add_file(walk, "removes" if name in ("unlink", "rmdir") else "writes", me, it)
    if not owner.kind.startswith("pathlib."):
        return False
    if name in ("rename", "replace"):
        return _add_file(walk, "renames", me, it, _shown(it.at((0, "target"))))
    is_open = name == "open" and not it.handed
    return is_open and (not _writes(it.at((0, "mode")), "r") or _add_file(walk, "writes", me, it))


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
    is_on = download is not None and getattr(download.node, "value", None) is True
    if tables.DOWNLOADS.match(place) or name == "from_pretrained" or is_on:
        walk.add("network", top or name)
        return True
    if name.startswith(tables.FETCHES) and it.args:
        text = it.text() or source(it.args[0].node)
        is_named = it.text() is None and tables.module_in(place, tables.HONEST)
        if tables.URL.match(text) or (is_named and tables.URL_NAMES.search(text)):
            walk.add("network", top if "." in place else text)
    return False


def _programs(walk: Walk, place: str, it: Call) -> bool:
    if not tables.PROGRAMS.match(place) or place.isupper():
        return False
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


def _sql(walk: Walk, owner: Value, name: str, it: Call) -> bool:
    """Statements of SQL, as far as their text is known, and the file of the database."""
    text = it.text()
    if name not in _SQL or text is None:
        return False
    for effect in sql_effects(text):
        if effect.kind != "writes" or owner.text != ":memory:":
            walk.add(effect.kind, effect.name, effect.detail)
            if effect.kind == "writes" and owner.text is not None:
                walk.add("writes", owner.text)
    return name != "query"
