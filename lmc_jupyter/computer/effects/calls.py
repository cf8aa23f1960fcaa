"""The effects of a call in Python: files, network, programs, and values that it changes.

One rule: the tables name functions by their place in a library ("os.remove"), and methods by their
name alone where no other method has it ("to_csv").
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from lmc_jupyter.computer.effects import values
from lmc_jupyter.computer.effects.magics import read_magic
from lmc_jupyter.computer.effects.origins import source
from lmc_jupyter.computer.effects.shell import shell_effects
from lmc_jupyter.computer.effects.sql import change_of
from lmc_jupyter.computer.tools.namespace import PATH as TOOLS
from lmc_jupyter.content.effect import EffectKind

if TYPE_CHECKING:
    from lmc_jupyter.computer.effects.python import Block
    from lmc_jupyter.computer.effects.scopes import Scope

_Place = tuple[int, str]
"""Where an argument stands: its position, and its keyword."""

_WRITE_METHODS: dict[str, _Place] = {
    "to_csv": (0, "path_or_buf"), "to_json": (0, "path_or_buf"), "to_excel": (0, "excel_writer"),
    "to_parquet": (0, "path"), "to_feather": (0, "path"), "to_pickle": (0, "path"),
    "to_hdf": (0, "path_or_buf"), "to_stata": (0, "path"), "to_html": (0, "buf"),
    "to_latex": (0, "buf"), "to_markdown": (0, "buf"), "to_xml": (0, "path_or_buffer"),
    "to_orc": (0, "path"), "to_netcdf": (0, "path"), "to_zarr": (0, "store"),
    "to_file": (0, "filename"), "to_sql": (0, "name"), "tofile": (0, "fid"),
    "savefig": (0, "fname"), "save": (0, "fp"), "save_model": (0, "path"),
    "save_weights": (0, "filepath"), "save_pretrained": (0, "save_directory"),
    "write_csv": (0, "file"), "write_parquet": (0, "file"), "write_json": (0, "file"),
    "write_ndjson": (0, "file"), "write_excel": (0, "workbook"), "write_ipc": (0, "file"),
    "sink_csv": (0, "path"), "sink_parquet": (0, "path"), "write_html": (0, "file"),
    "write_image": (0, "file"),
}  # fmt: skip
_WRITE_FUNCTIONS: dict[str, _Place] = {
    "numpy.save": (0, "file"), "numpy.savez": (0, "file"), "numpy.savez_compressed": (0, "file"),
    "numpy.savetxt": (0, "fname"), "joblib.dump": (1, "filename"), "torch.save": (1, "f"),
    "shutil.copy": (1, "dst"), "shutil.copy2": (1, "dst"), "shutil.copyfile": (1, "dst"),
    "shutil.copytree": (1, "dst"), "shutil.move": (1, "dst"),
    "shutil.make_archive": (0, "base_name"),
    "shutil.unpack_archive": (1, "extract_dir"), "os.rename": (1, "dst"), "os.replace": (1, "dst"),
    "os.mkdir": (0, "path"), "os.makedirs": (0, "name"), "os.symlink": (1, "dst"),
    "os.link": (1, "dst"), "urllib.request.urlretrieve": (1, "filename"),
    "pandas.ExcelWriter": (0, "path"), "pandas.HDFStore": (0, "path"),
    "shelve.open": (0, "filename"),
    "sqlite3.connect": (0, "database"), "duckdb.connect": (0, "database"),
    "matplotlib.pyplot.imsave": (0, "fname"), "cv2.imwrite": (0, "filename"),
    "imageio.imwrite": (0, "uri"), "imageio.imsave": (0, "uri"), "imageio.mimsave": (0, "uri"),
    "imageio.v3.imwrite": (0, "uri"), "imageio.v2.imwrite": (0, "uri"),
    "soundfile.write": (0, "file"), "scipy.io.savemat": (0, "file_name"),
    "scipy.io.wavfile.write": (0, "filename"), "logging.FileHandler": (0, "filename"),
    "nbformat.write": (1, "fp"), "skimage.io.imsave": (0, "fname"),
}  # fmt: skip
_REMOVE_FUNCTIONS: dict[str, _Place] = {
    "os.remove": (0, "path"), "os.unlink": (0, "path"), "os.rmdir": (0, "path"),
    "os.removedirs": (0, "name"), "os.rename": (0, "src"), "os.replace": (0, "src"),
    "shutil.rmtree": (0, "path"), "shutil.move": (0, "src"), "send2trash.send2trash": (0, "paths"),
}  # fmt: skip
_OPENERS: dict[str, tuple[_Place, str]] = {
    "open": ((1, "mode"), "r"), "io.open": ((1, "mode"), "r"), "codecs.open": ((1, "mode"), "r"),
    "gzip.open": ((1, "mode"), "r"), "bz2.open": ((1, "mode"), "r"),
    "lzma.open": ((1, "mode"), "r"),
    "zipfile.ZipFile": ((1, "mode"), "r"), "tarfile.open": ((1, "mode"), "r"),
    "h5py.File": ((1, "mode"), "r"), "netCDF4.Dataset": ((1, "mode"), "r"),
    "numpy.memmap": ((2, "mode"), "r+"),
}  # fmt: skip
"""Function -> where its mode stands, and the mode without it."""
_OWN_METHODS: dict[str, EffectKind] = {
    "write_text": "writes", "write_bytes": "writes", "mkdir": "writes", "touch": "writes",
    "unlink": "removes", "rmdir": "removes",
}  # fmt: skip
"""Methods of a path -> what they do to it."""
_NETWORK = frozenset({
    "requests", "httpx", "aiohttp", "urllib.request", "urllib3", "http.client", "ftplib", "smtplib",
    "imaplib", "paramiko", "boto3", "openai", "anthropic", "litellm", "websockets", "websocket",
    "yfinance", "kaggle", "kagglehub", "gdown", "wget", "tweepy", "praw", "wikipedia", "gspread",
    "pymongo", "psycopg2", "psycopg", "redis", "huggingface_hub", "selenium", "feedparser",
    "pandas_datareader", "xmlrpc.client", "socket", "Bio.Entrez", "wbgapi", "googlesearch",
})  # fmt: skip
_DOWNLOADS = {"datasets.load_dataset", "nltk.download", "seaborn.load_dataset"}
_NO_NETWORK = re.compile(r"Response|exceptions|\.gethostname$|Timeout$|\.quote")
_URL = re.compile(r"(?:https?|ftp|s3|gs|gcs|az|hf)://", re.IGNORECASE)
_FETCHES = ("read", "load", "scan", "open", "url", "fetch", "download", "imread", "genfrom", "get")
_PROGRAMS = re.compile(
    r"subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)$"
    r"|os\.(?:system|popen|exec\w+|spawn\w+|posix_spawnp?|startfile)$"
    r"|asyncio\.create_subprocess_\w+$|pexpect\.(?:run|spawn)$"
)
_CHANGING = {
    "random.shuffle", "numpy.random.shuffle", "heapq.heappush", "heapq.heappop", "heapq.heapify",
    "heapq.heapreplace", "heapq.heappushpop", "bisect.insort", "bisect.insort_left",
    "bisect.insort_right", "numpy.put", "numpy.place", "numpy.copyto", "numpy.putmask",
    "numpy.fill_diagonal", "numpy.put_along_axis", "setattr", "delattr", "operator.setitem",
    "operator.delitem", "list.append", "list.sort", "dict.update", "object.__setattr__",
}  # fmt: skip
"""Functions that change their first argument."""
_READERS = {"list", "len", "sorted", "dict", "set", "tuple", "print", "exec", "eval", "display"}
"""Functions that may get a namespace: they only read it, or say themselves that they do more."""
_LOOKS = {"help", "print", "dir", "display", "repr", "str", "len", "hasattr"}
"""Functions that call no tool that they get."""
ANY_TOOL = "may call any tool"
_ENDS = {"exit", "quit", "os._exit", "os.abort"}
_MEMORY = re.compile(r"(?:io\.|BytesIO|StringIO|sys\.std)|(?:open|ExcelWriter|File|HDFStore)\(\)$")
"""Where a text goes to memory, or to a file that was named when it was opened."""


def read_call(block: Block, node: ast.Call, scope: Scope) -> None:
    """Find the effects of one call; those of its arguments were found before."""
    function = node.func
    name = getattr(function, "attr", getattr(function, "id", ""))
    path = block.origins.dotted(function, scope) or ""
    if path.startswith(("posix.", "nt.")):
        path = f"os.{path.partition('.')[2]}"
    if is_tools(path):  # a tool may have any name
        if "._" in path and "()" not in path:
            block.add("unknown", source(function), ANY_TOOL)
        elif "()" not in path and path != f"{TOOLS}.search":
            block.add("tools", path.removeprefix(f"{TOOLS}."))
        if "()" not in path:
            return
    elif path not in _LOOKS:
        _read_handed_tools(block, node, scope)
    _read_python(block, node, name, path)
    _read_files(block, node, scope, name, path)
    _read_network(block, node, scope, name, path)
    _read_programs(block, node, scope, path)
    _read_changes(block, node, scope, name, path)


def _read_python(block: Block, node: ast.Call, name: str, path: str) -> None:
    """Calls that reach names or code that the code does not say."""
    if path in ("exec", "eval", "execfile", "builtins.exec", "builtins.eval"):
        block.add("unknown", f"{path.removeprefix('builtins.')}()")
    elif path in ("runpy.run_path", "runpy.run_module", "importlib.reload"):
        block.add("unknown", f"{path}()")
    elif path == "os.chdir":
        block.add("unknown", "os.chdir()", "changes the folder in which code runs")
    elif path in _ENDS:
        block.add("deletes", "", "all your variables: it ends the kernel")
    elif path.startswith("get_ipython()"):
        _read_shell_object(block, node, path.removeprefix("get_ipython()."))
    owner = getattr(node.func, "value", None)
    passed = [node.args[0]] if name == "setattr" and node.args else []
    if owner is not None and name in ("update", "pop", "clear", "setdefault", "__setitem__"):
        passed.append(owner)
    elif name not in _READERS:
        passed += [*node.args, *(each.value for each in node.keywords)]
    for each in passed:
        if block.is_namespace(each):
            block.add("unknown", source(each), "is handed on: any name may change")


def _read_shell_object(block: Block, node: ast.Call, method: str) -> None:
    """`get_ipython().run_line_magic(…)`: a magic or a `!` line, as IPython has read it."""
    texts = [each.value if isinstance(each, ast.Constant) else "" for each in node.args]
    words = [each if isinstance(each, str) else "" for each in [*texts, "", "", ""]]
    if method in ("system", "getoutput", "getoutput_assign", "system_raw", "system_piped"):
        add_shell(block, words[0])
    elif method == "run_line_magic":
        read_magic(block, words[0], words[1], None)
    elif method == "run_cell_magic":
        read_magic(block, words[0], words[1], words[2])
    elif method in ("run_cell", "ex", "push", "reset", "magic", "del_var", "safe_execfile", "ev"):
        block.add("unknown", f"get_ipython().{method}()")


def add_shell(block: Block, code: str) -> None:
    """The effects of shell code within Python, every program named."""
    for effect in shell_effects(code, every=True):
        block.add(effect.kind, effect.name, effect.detail)


def _argument(node: ast.Call, place: _Place) -> ast.expr | None:
    index, keyword = place
    for each in node.keywords:
        if each.arg == keyword:
            return each.value
    if index < len(node.args) and not any(
        isinstance(each, ast.Starred) for each in node.args[: index + 1]
    ):
        return node.args[index]
    return None


def _read_files(block: Block, node: ast.Call, scope: Scope, name: str, path: str) -> None:
    function = node.func
    place = _WRITE_FUNCTIONS.get(path)
    if place is None and isinstance(function, ast.Attribute):
        place = _WRITE_METHODS.get(name)
    if place is not None:
        _add_file(block, "writes", _argument(node, place), scope)
    if path in _REMOVE_FUNCTIONS:
        _add_file(block, "removes", _argument(node, _REMOVE_FUNCTIONS[path]), scope)
    if path == "logging.basicConfig":
        _add_file(block, "writes", _argument(node, (99, "filename")), scope)
    if path in _OPENERS:
        at, default = _OPENERS[path]
        if _writes(_argument(node, at), default):
            _add_file(block, "writes", _argument(node, (0, "file")), scope)
    if not isinstance(function, ast.Attribute):
        return
    if name in _OWN_METHODS:
        kind = _OWN_METHODS[name]
        block.add(
            "writes" if kind == "writes" else "removes", block.origins.shown(function.value, scope)
        )
    elif path.startswith("pathlib.") and name in ("rename", "replace"):
        block.add("removes", block.origins.shown(function.value, scope))
        _add_file(block, "writes", _argument(node, (0, "target")), scope)
    elif path.startswith("pathlib.") and name == "open":
        if _writes(_argument(node, (0, "mode")), "r"):
            block.add("writes", block.origins.shown(function.value, scope))
    elif name in ("extractall", "extract") and not path.startswith(("pandas.", "re.")):
        if not isinstance(function.value, ast.Attribute) or function.value.attr != "str":
            place = (0, "path") if name == "extractall" else (1, "path")
            given = _argument(node, place)
            block.add("writes", "." if given is None else block.origins.shown(given, scope))
    elif name in ("execute", "executemany", "executescript", "sql") and node.args:
        word = change_of(block.origins.text(node.args[0], scope) or "")
        if word:
            block.add("writes", "database", word)


def _writes(mode: ast.expr | None, default: str) -> bool:
    """Whether a file is opened to be written; a mode that is not written out may be any."""
    if mode is None:
        return any(letter in default for letter in "wax+")
    if isinstance(mode, ast.Constant) and isinstance(mode.value, str):
        return any(letter in mode.value for letter in "wax+")
    return True


def _add_file(block: Block, kind: EffectKind, node: ast.expr | None, scope: Scope) -> None:
    if node is None or (isinstance(node, ast.Constant) and not isinstance(node.value, str)):
        return
    made_by = block.origins.dotted(node, scope)
    if made_by is not None and _MEMORY.search(made_by):
        return
    text = block.origins.shown(node, scope)
    if text != ":memory:":
        block.add(kind, text)


def _read_network(block: Block, node: ast.Call, scope: Scope, name: str, path: str) -> None:
    top, _, rest = path.partition(".")
    for library in (top, f"{top}.{rest.partition('.')[0]}"):
        if library in _NETWORK and not _NO_NETWORK.search(path):
            block.add("network", library)
            return
    downloads = any(
        each.arg == "download" and getattr(each.value, "value", None) is True
        for each in node.keywords
    )
    is_fetch = name == "from_pretrained" or (name.startswith("fetch_") and top == "sklearn")
    if downloads or is_fetch or path in _DOWNLOADS:
        block.add("network", top or name)
    elif name.startswith(_FETCHES) and node.args:
        text = block.origins.text(node.args[0], scope)
        if text is not None and _URL.match(text):
            block.add("network", top or text)


def _read_programs(block: Block, node: ast.Call, scope: Scope, path: str) -> None:
    if not _PROGRAMS.match(path):
        return
    command = node.args[0] if node.args else None
    text = None if command is None else block.origins.text(command, scope)
    if isinstance(command, (ast.List, ast.Tuple)):
        text = " ".join(_quote(_word(block, each, scope)) for each in command.elts)
    if text:
        add_shell(block, text)
    else:
        block.add("shell", f"{path}()")


def _word(block: Block, node: ast.expr, scope: Scope) -> str:
    if block.origins.dotted(node, scope) == "sys.executable":
        return "python"
    return block.origins.text(node, scope) or f"{{{source(node)}}}"


def _quote(word: str) -> str:
    return f"'{word}'" if re.search(r"[\s;&|<>()]", word) and "'" not in word else word


def _read_changes(block: Block, node: ast.Call, scope: Scope, name: str, path: str) -> None:
    """Values that the call changes in place."""
    function, origins = node.func, block.origins
    if node.args and (path in _CHANGING or name == "shuffle"):
        block.change(origins.roots(node.args[0], scope))
    for keyword in node.keywords:
        if keyword.arg in ("out", "ax"):
            for root in origins.roots(keyword.value, scope):
                if keyword.arg == "out" or values.is_drawn_on(block.names.get(root)):
                    block.change({root})
    if not isinstance(function, ast.Attribute):
        return
    in_place = any(
        each.arg == "inplace" and getattr(each.value, "value", True) is not False
        for each in node.keywords
    )
    is_part = not isinstance(function.value, ast.Name)
    for root in origins.roots(function.value, scope):
        value = block.names.get(root)
        if in_place or values.is_changed_by(value, name, is_part=is_part):
            block.change({root})


def is_tools(path: str) -> bool:
    """Whether this is the object `tools`, or a tool of it, or what comes of one."""
    return path == TOOLS or path.startswith(f"{TOOLS}.")


def _read_handed_tools(block: Block, node: ast.Call, scope: Scope) -> None:
    """Tools that are handed on, to be called where it is not seen."""
    for each in [*node.args, *(keyword.value for keyword in node.keywords)]:
        given = block.origins.dotted(each, scope) or ""
        if is_tools(given) and "()" not in given:
            block.add("unknown", source(each), "is handed on: any of its tools may be called")
