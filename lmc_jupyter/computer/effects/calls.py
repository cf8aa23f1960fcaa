"""What a call in Python does: harmless, named, or that it "may do more".

One rule: what was said to do more is not doubted again; a function of this code that is handed on
is called with whatever else is in the call.
"""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from lmc_jupyter.computer.effects import tables
from lmc_jupyter.computer.effects import value as values
from lmc_jupyter.computer.effects.shell import add_shell, shell_object
from lmc_jupyter.computer.effects.sql import sql_effects
from lmc_jupyter.computer.effects.tables import HONEST, module_in
from lmc_jupyter.computer.effects.value import NOTHING, OWN, THEIRS, UNKNOWN, Value, mix, source
from lmc_jupyter.computer.tools import PATH as TOOLS
from lmc_jupyter.content.effect import EffectKind

if TYPE_CHECKING:
    from lmc_jupyter.computer.effects.walk import Walk

_SETTINGS = re.compile(r"rcParams|\.options|(?:^|\.)(?:config|flags|backend|rc)\b|^sys\.ps")
_SQL = {"execute", "executemany", "executescript", "sql", "read_sql", "read_sql_query", "query"}
_DICT_CHANGES = {"update", "pop", "clear", "setdefault", "__setitem__", "popitem", "__delitem__"}
_LIST_CHANGES = {"append", "insert", "extend", "remove", "pop", "clear", "__setitem__"}
_SAME_ELEMENTS = {"list", "tuple", "sorted", "reversed", "iter"}
_SAME_TEXT = {"str", "os.fspath", "os.path.abspath", "os.path.expanduser"}
_JOINS = {"pathlib.Path": "pathlib.Path()", "pathlib.PurePath": "pathlib.Path()",
          "os.path.join": "str()"}  # fmt: skip


class Given(NamedTuple):
    """An argument."""

    node: ast.expr
    value: Value


@dataclass
class CallSite:
    """A call with its arguments.

    Parameters
    ----------
    is_open : whether nobody knows which argument is which: `*a`, `**d`
    handed : the function is handed on, and nobody knows its arguments
    me : the object whose method it is
    place : of what is called: "os.remove", "pandas.DataFrame().pop"; a method of what this code
        makes has its name alone
    """

    node: ast.expr
    args: list[Given]
    keywords: dict[str, Given]
    is_open: bool = False
    handed: bool = False
    me: Given | None = None
    place: str = ""

    @property
    def name(self) -> str:
        """The last word of the place."""
        return self.place.rpartition(".")[2]

    @property
    def first(self) -> Value:
        """The first argument."""
        return self.args[0].value if self.args else UNKNOWN

    def all(self) -> list[Given]:
        """All arguments."""
        return [*self.args, *self.keywords.values()]

    def at(self, index: int, keywords: str) -> Given | None:
        """The argument of this position or of the first such keyword."""
        starred = any(isinstance(each.node, ast.Starred) for each in self.args[: index + 1])
        named = (self.keywords[each] for each in self.keywords if re.fullmatch(keywords, each))
        return self.args[index] if index < len(self.args) and not starred else next(named, None)

    @property
    def function(self) -> str:
        """The function as it is written."""
        return source(self.node.func if isinstance(self.node, ast.Call) else self.node)


def is_setting(place: str) -> bool:
    """Whether an attribute of this is a setting of a library, such as `plt.rcParams`."""
    return _SETTINGS.search(place) is not None


def result_of(place: str) -> str:
    """The kind of what a method of a library's object gives: of the library."""
    library = module_in(place, HONEST) or module_in(place, tables.PURE)
    return f"{library or module_in(place, tables.NETWORK) or place.partition('()')[0]}()"


def hand_on(walk: Walk, value: Value, node: ast.expr, given: Value = UNKNOWN) -> Value:
    """A value goes where it is not seen what becomes of it: if it is a function, it is called, with
    what is given; gives what that returns."""
    it = CallSite(node, [Given(node, given)], {}, handed=True)
    if values.is_iterator(value.live):
        walk.change(value.roots)
    if value.functions:
        return _run(walk, value, it)
    live = values.find(value.kind) if value.is_place else NOTHING
    is_module = values.is_module(live) or value.kind in HONEST | tables.PURE | tables.MIXED.keys()
    if (value.is_place and value.kind.startswith(TOOLS)) or value.kind == "globals()":
        walk.add("unknown", source(node), "is handed on: it may call any tool or set any name")
    elif value.kind == THEIRS and type(value.live) in values.FUNCTIONS:
        walk.add("unknown", f"{source(node)}()")
    elif is_module:
        if not tables.is_harmless(value.kind) or value.kind in tables.MIXED:
            walk.add("unknown", source(node), "is handed on")
    elif (value.is_place or value.owner is not None) and value.kind != "get_ipython":
        is_data = live is not NOTHING and not callable(live)  # `math.pi`
        return UNKNOWN if is_data else call(walk, value, replace(it, args=[]))
    return UNKNOWN


def _run(walk: Walk, callee: Value, it: CallSite) -> Value:
    """Call all functions of this code that the value may be."""
    functions = sorted(callee.functions, key=lambda each: (each.node.lineno, each.node.col_offset))
    return mix([walk.run(each, it) for each in functions])


def call(walk: Walk, callee: Value, it: CallSite) -> Value:
    """Find the effects of one call; those of its arguments were found before."""
    owner, place = callee.owner, callee.kind
    result = _run(walk, callee, it) if callee.functions else UNKNOWN
    if callee.functions and (owner is None or owner.kind == OWN):
        return result
    if place in (THEIRS, ""):
        walk.add("unknown", f"{it.function}()")
        return result
    if owner is not None and not owner.is_place:
        node = it.node.func if isinstance(it.node, ast.Call) else it.node
        if isinstance(node, ast.Call) and node.args:
            node = node.args[0]  # `getattr(df, "pop")("a")`
        it = replace(it, me=Given(getattr(node, "value", node), owner))
        place = callee.name if owner.kind in (OWN, "") else f"{owner.kind}.{callee.name}"
    elif callee.is_place and it.args and isinstance(values.find(place.rpartition(".")[0]), type):
        parent, _, name = place.rpartition(".")  # `Path.unlink(p)`, `list.append(items, 1)`
        me = it.first._replace(kind=f"{parent}()" if it.first.kind == OWN else it.first.kind)
        it = replace(it, args=it.args[1:], me=Given(it.args[0].node, me))
        place = f"{me.kind}.{name}"
    elif not callee.is_place:
        if place != OWN and not place.startswith(TOOLS) and not tables.is_harmless(place):
            walk.add("unknown", f"{it.function}()")
        reach = callee.reach | _hand_on_all(walk, it, callee).reach  # `itemgetter("a")(d)`
        return Value(place, reach, reach)
    return _library(walk, replace(it, place=place))


def _hand_on_all(walk: Walk, it: CallSite, owner: Value) -> Value:
    """The arguments go to a library: what is in them, and what functions among them give."""
    each = [given.value for given in it.all()]
    if it.place in tables.LOOKS:
        return mix(each)
    inside = [value for value in (owner, *each) if not value.functions] or each
    mixture = mix([*inside, *map(walk.element, inside)])._replace(text=None, live=NOTHING)
    mixture = mixture._replace(roots=mixture.reach)
    return mix([*each, *(hand_on(walk, one.value, one.node, mixture) for one in it.all())])


def _library(walk: Walk, it: CallSite) -> Value:
    """A function of a library, or a method."""
    place, owner = it.place, it.me.value if it.me else None
    given = _hand_on_all(walk, it, owner or Value(f"{place}()"))
    special = _special(walk, it)
    if special is not None:
        return special
    found = sum(each(walk, it) for each in (_files, _network, _programs, _sql, _changes)) > 0
    if not found and not _is_harmless(it):
        walk.add("unknown", f"{it.function}()")
        found = owner is None
    return _result(walk, it, given, found)


def _special(walk: Walk, it: CallSite) -> Value | None:
    """What a call does that no table has; None for all others."""
    place, kind = it.place, it.me.value.kind if it.me else ""
    if kind == "get_ipython()":
        shell_object(walk, it.name, [each.value.text or "" for each in it.args])
    elif kind == "globals()":
        if it.name not in ("keys", "__contains__"):
            walk.add("unknown", "globals()", "is handed on: any name may change")
    elif place.startswith(f"{TOOLS}."):
        if it.handed or "._" in place:
            walk.add("unknown", it.function, "any of its tools may be called")
        elif place != f"{TOOLS}.search":
            walk.add("tools", place.removeprefix(f"{TOOLS}."))
    elif place in ("importlib.import_module", "__import__") and it.first.text is not None:
        walk.load_module(it.first.text)
        return Value(tables.place_of(it.first.text))
    elif place == "getattr" and len(it.args) > 1:
        if (text := it.args[1].value.text) is not None:
            return walk.attribute(it.first, text, it.node)
        walk.add("unknown", source(it.node))
    elif place in ("globals", "locals", "vars") and not it.args and not it.handed:
        return Value("globals()")
    elif place == "vars" and it.first.is_place:
        walk.add("unknown", source(it.node), "may do more")
    elif place in tables.ENDS:
        walk.add("deletes", "", "all your variables: it ends the kernel")
    else:
        if place.startswith("os.environ") and it.name in _DICT_CHANGES:
            walk.add("changes", "os.environ")
        elif place.startswith("sys.path.") and it.name in _LIST_CHANGES:
            walk.add("changes", "sys.path")
        elif place.startswith("IPython.") and (it.name in tables.PAGES or "raw" in it.keywords):
            walk.add("page", it.name)
        return None
    return UNKNOWN


def _is_harmless(it: CallSite) -> bool:
    """Whether the tables know it as harmless, or its arguments make it so."""
    place, kind = it.place, it.me.value.kind if it.me else "?"
    if kind == OWN or tables.is_harmless(place) or ("open" in kind and "extract" not in place):
        return True
    return it.name in ("eval", "query") and it.me is not None and "@" not in (it.first.text or "@")


def _result(walk: Walk, it: CallSite, given: Value, found: bool) -> Value:
    """What a function of a library, or a method, gives."""
    place, name, first = it.place, it.name, it.first
    of = it.me.value if it.me else first
    element = walk.element(of)
    if name in tables.VIEWS and values.is_buffer(of.live):
        return Value("numpy()", of.here, of.here)
    if place in _SAME_ELEMENTS or (it.me and name in ("values", "items")):
        return Value("list()", parts=element.reach, items=(element,) * 2, functions=given.functions)
    if it.me is not None:
        return _of_method(walk, it, given, of, element)
    if place == "type" and len(it.args) == 1 and first.kind.endswith("()"):
        return Value(first.kind.removesuffix("()"))
    if place in ("next", "min", "max"):
        return element
    if place in _SAME_TEXT:
        return Value("str()", text=first.text)
    if place in _JOINS and first.text:
        path = posixpath.join(*(each.value.shown(each.node) for each in it.args))
        return Value(_JOINS[place], text=path)
    if place == "copy.deepcopy" or module_in(place, HONEST):
        given = UNKNOWN  # they copy
    if place in ("collections.ChainMap", "vars"):  # they write into the first
        return Value("dict()", first.roots, first.reach)
    found = found and not module_in(place, tables.NETWORK)
    kind = f"{place}()" if not found else "open()" if place in tables.FILES else OWN
    text = first.text if place == "sqlite3.connect" else None
    return Value(kind, parts=given.reach, text=text, functions=given.functions)


def _of_method(walk: Walk, it: CallSite, given: Value, owner: Value, element: Value) -> Value:
    kind = owner.kind
    if it.name in ("get", "setdefault"):
        roots = walk.part(owner).roots | mix(each.value for each in it.args[1:]).reach
        return Value(element.kind, roots, owner.parts, functions=owner.functions)
    if it.name == "copy":
        return Value(kind, parts=element.roots, functions=owner.functions)
    if module_in(kind, HONEST):
        return Value(result_of(it.place))
    return Value(
        OWN if kind in ("", OWN) else result_of(it.place),
        walk.without_copies(owner.reach),
        owner.reach | given.reach,
        text=owner.text if kind.startswith("sqlite3") else None,
        functions=given.functions | owner.functions,
    )


def _changes(walk: Walk, it: CallSite) -> bool:
    """Whether it is known to change a value in place."""
    first, name = it.first, it.name
    for keyword in {"out", "ax"} & it.keywords.keys():
        walk.change(it.keywords[keyword].value.here)
    function = values.find(it.place)
    count = function.nin if type(function).__name__ == "ufunc" else 0
    for each in it.args[count:] if count else it.all() if "into" in name else []:
        walk.change(each.value.here)
    if it.me is not None:
        walk.change(first.here if name == "shuffle" else ())
        return _changes_me(walk, it, it.me)
    found = tables.CHANGES_FIRST.match(it.place) is not None
    if found and it.args:
        walk.change(first.here, "loses" if "del" in it.place else "changes")
        if it.place == "setattr" and len(it.args) > 2:
            walk.set_attribute(it.args[1].value.text or "", it.args[2].value)
        if first.is_place and not is_setting(first.kind):
            walk.add("unknown", f"{it.function}()", "changes a library")
    return found


def _changes_me(walk: Walk, it: CallSite, me: Given) -> bool:
    """Whether a method changes its object."""
    keyword, name, here = it.keywords.get("inplace"), it.name, me.value.here
    may = it.is_open and name in tables.IN_PLACE
    is_on = keyword is not None and getattr(keyword.node, "value", True) is not False
    in_place = may or is_on or tables.CHANGING_DUNDERS.match(name) is not None
    loses = name in tables.LOSING or (in_place and name == "dropna")
    kind: EffectKind = "empties" if name == "clear" else "loses" if loses else "changes"
    found = in_place and not (may and not here)
    for root in here:
        live = walk.names.get(root)
        if in_place or values.is_changed_by(live, name, not isinstance(me.node, ast.Name)):
            walk.change({root}, "changes" if values.library_of(live) == "matplotlib" else kind)
            found = True
    return found


def _shown(given: Given | None) -> str:
    if given is None:
        return "?"
    return source(given.node) if given.value.text is None else given.value.text


def _add_file(
    walk: Walk, kind: EffectKind, given: Given | None, it: CallSite, to: str = ""
) -> None:
    """Name a file, where there is one."""
    if given is None:
        if it.handed or it.is_open:
            walk.add("unknown", f"{it.function}()")
        return
    is_text = not isinstance(given.node, ast.Constant) or isinstance(given.node.value, str)
    if is_text and not tables.IN_MEMORY.match(given.value.kind) and _shown(given) != ":memory:":
        walk.add(kind, _shown(given), to)


def _files(walk: Walk, it: CallSite) -> bool:
    """Files that it writes, moves and deletes."""
    kind, index = tables.FILES.get(it.place, ("", 0))
    given, mode = it.at(index, tables.FILE_KEYWORDS), 1
    me = it.me.value if it.me else UNKNOWN
    is_path = me.kind.startswith("pathlib.")
    is_honest = bool(module_in(it.place, HONEST))
    if it.me is not None and it.name in tables.PATH_METHODS:
        kind, given = ("removes" if it.name in ("unlink", "rmdir") else "writes"), it.me
    elif is_path and it.name in ("rename", "replace", "open"):
        kind, given, mode = ("opens" if it.name == "open" else "renames"), it.me, 0
    elif tables.WRITE_METHODS.match(it.name) and (it.me is not None or is_honest):
        kind = kind or "writes"
    elif it.name in tables.FILE_WRITES and values.library_of(me.live) in values.FILES:
        walk.add("writes", it.function.rpartition(".")[0])
    if kind == "renames":
        to = it.at(0, "target") if is_path else it.at(1, "dst")
        _add_file(walk, "renames", given or it.at(0, "src|old"), it, _shown(to))
    elif kind in ("writes", "removes"):
        _add_file(walk, kind, given, it)  # type: ignore[arg-type]
    elif kind and (it.handed or it.is_open):
        walk.add("unknown", f"{it.function}()")
    elif kind:
        how = it.at(mode, "mode|flags")
        text = "r" if how is None else how.value.text  # one that is not written out may be any
        if text is None or not set("wax+").isdisjoint(text):
            _add_file(walk, "writes", given, it)
    return bool(kind)


def _network(walk: Walk, it: CallSite) -> bool:
    place, name = it.place, it.name
    library = module_in(place, tables.NETWORK)
    if library:
        if not tables.NO_NETWORK.search(place):
            walk.add("network", library)
        return True
    top = place.partition(".")[0].removesuffix("()")
    if tables.DOWNLOADS.match(place):
        walk.add("network", top)
        return True
    if name.startswith(tables.FETCHES) and it.args:
        text = it.first.text or source(it.args[0].node)
        is_named = it.first.text is None and module_in(place, HONEST)
        if tables.URL.match(text) or (is_named and tables.URL_NAMES.search(text)):
            walk.add("network", top if "." in place else text)
    return False


def _programs(walk: Walk, it: CallSite) -> bool:
    if not tables.PROGRAMS.match(it.place) or it.place.isupper():
        return False
    is_command = not it.handed and not it.place.startswith(("webbrowser.", "multiprocessing."))
    command = it.at(0, "args") if is_command else None
    text = None if command is None else command.value.text
    if command is not None and isinstance(command.node, (ast.List, ast.Tuple)):
        pairs = zip(command.node.elts, command.value.items, strict=False)
        words = (
            "python" if value.kind == "sys.executable" else value.shown(node)
            for node, value in pairs
        )
        text = shlex.join(words)
    if text:
        add_shell(walk, text)
    else:
        walk.add("shell", f"{it.place}()")
    return True


def _sql(walk: Walk, it: CallSite) -> bool:
    """Statements of SQL, as far as their text is known, and the file of the database."""
    file = it.me.value.text if it.me else None
    is_sql = it.me is not None or module_in(it.place, HONEST) or "sql" in it.place
    if it.name not in _SQL or it.first.text is None or not is_sql:
        return False
    for effect in sql_effects(it.first.text):
        if effect.kind != "writes" or file != ":memory:":
            walk.add(effect.kind, effect.name, effect.detail)
            if effect.kind == "writes" and file is not None:
                walk.add("writes", file)
    return it.name != "query"
