"""What code does to files, to the network and with programs, seen by Python's own audit events.

One rule: an event is looked at before it happens, and only while code runs that has promised none.
Idle, the hook is one look at a list. It is a seat belt and no wall: native code and what other
processes do raise no event (docs/security-in-detail.md); of what these do in the working folder,
the files are compared when the code has ended.

Source: https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from lmc_jupyter.errors import ComputerError

Act = Literal["file", "network", "program", "library", "tracing"]
ANSWERS = (("y", "Go on"), ("a", "Go on with all such"), ("n", "Stop here"))
"""(what is answered, what it means) to code that wants to do more than it said."""
Ask = Callable[[str], str]
"""(question) -> one of `ANSWERS`; no answer, or an error of the way to the person, is a no."""

Found = tuple[Act, str] | None
"""What an event is, and the end of "it wants to …"; None for one that is none."""


Listing = dict[str, dict[str, tuple[int, int]]]
"""folder -> name -> (bytes, nanoseconds of the last change) of a file, zeros of a folder."""
MAX_FOUND = 4
"""Names and files in a sentence."""
MAX_ENTRIES = 1_000
"""Files and folders in and below the working folder that are compared, by whole folders."""


class OutsidePromise(BaseException):
    """Code was about to do what it had not said, and may not. No `except Exception` takes it."""


Reader = tuple[set[object], Callable[[object], None]]
"""(paths that it has had, gets another one that is about to be opened for reading)."""
readers: list[Reader] = []
"""Of the blocks that run; only the last one is told."""
_promises: list[Promise] = []
_is_hooked = False


def hook() -> None:
    """Hear audit events from now on: a hook cannot be taken away."""
    global _is_hooked
    if not _is_hooked:
        _is_hooked = True
        sys.addaudithook(_hear)


class Promise:
    """Code that reads and makes new names, and nothing else, until it ends.

    Parameters
    ----------
    ask : asks the person, on the thread of the code, before something else happens
    is_foreign : whether this thread works for other code now
    """

    def __init__(self, ask: Ask, is_foreign: Callable[[], bool]) -> None:
        self._ask, self._is_foreign = ask, is_foreign
        self._others: frozenset[threading.Thread] = frozenset()  # the number of one is used again
        self._allowed: set[Act] = set()
        self._allowed_paths: set[str] = set()
        self._root, self._listing = "", Listing()
        self._temporary: set[str] = set()
        self._asking = threading.local()
        self._collecting = 0  # the thread on which garbage is collected now
        self._finalized: list[str] = []

    def __enter__(self) -> Promise:
        hook()
        gc.callbacks.append(self._note_collection)
        self._others = frozenset(threading.enumerate()) - {threading.current_thread()}
        with suppress(FileNotFoundError):  # the working folder was removed: it has no files
            self._root = os.getcwd()  # noqa: PTH109
        self._listing = _list_files(self._root)
        _promises.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _promises.remove(self)
        gc.callbacks.remove(self._note_collection)

    def _note_collection(self, phase: str, _: dict[str, int]) -> None:
        self._collecting = threading.get_ident() if phase == "start" else 0

    def breach(self, names: Iterable[str]) -> str:
        """What was done beside reading and new names, found when the code has ended.

        Parameters
        ----------
        names : those of the person that it has changed or removed

        Returns
        -------
        "`df` was changed and `out.parquet` was made"; "" for nothing.
        """
        found = [*(f"`{name}` was changed" for name in names), *self._finalized]
        if "file" not in self._allowed:
            files = _compare(self._root, self._listing, _list_files(self._root))
            found += [what for path, what in files if path not in self._allowed_paths]
        if len(found) > MAX_FOUND:
            found[MAX_FOUND - 1 :] = [f"{len(found) - MAX_FOUND + 1} more were changed"]
        return " and ".join(filter(None, [", ".join(found[:-1]), *found[-1:]]))

    def meet(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Look at an event of this thread; ask, where it is outside of the promise.

        Raises
        ------
        OutsidePromise
            When the person says no, or nobody can be asked.
        """
        __tracebackhide__ = True
        if getattr(self._asking, "now", False) or threading.current_thread() in self._others:
            return
        self._asking.now = True  # what looking and asking do is not the code's
        try:
            if self._is_foreign() or threading.current_thread().name.startswith("lmc-"):
                return
            found = _EVENTS[event](arguments)
            if event == "tempfile.mkstemp" and _is_in_temporary_folder(arguments[0]):
                self._temporary.add(str(arguments[0]))
            if found is None or found[0] in self._allowed or self._is_temporary(event, arguments):
                return
            act, what = found
            if self._collecting == threading.get_ident():  # of who knows whose objects, long ago
                if act != "file":  # files are compared when the code has ended
                    self._finalized.append(f"a finalizer did this: {what}")
                return
            answer = self._answer(what)
            if answer not in ("y", "a"):
                raise OutsidePromise(f"it wanted to {what}, which was not allowed")
            if answer == "a":
                self._allowed.add(act)
            self._allowed_paths.update(map(_absolute, filter(_is_path, _paths(event, arguments))))
        finally:
            self._asking.now = False

    def _answer(self, what: str) -> str:
        question = f"This code ran unasked because it only reads. Now it wants to {what}."
        try:
            return self._ask(question).strip().lower()[:1]
        except (EOFError, RuntimeError, ComputerError):  # there is nobody
            return "n"

    def _is_temporary(self, event: str, arguments: tuple[Any, ...]) -> bool:
        """Whether it is a file that `tempfile` has made for this very code, and stays one."""
        paths = _paths(event, arguments)
        return bool(paths) and all(map(self._temporary.__contains__, map(str, paths)))


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    __tracebackhide__ = True
    if not readers and not _promises:
        return
    if event == "open" and not arguments[2] & _WRITES:  # by far the most that honest code does
        if readers:
            seen, meet = readers[-1]
            path = arguments[0]
            if type(path) is not str or path not in seen:
                meet(path)
    elif _promises and event in _EVENTS:
        _promises[-1].meet(event, arguments)


# What each event is -------------------------------------------------------------------------------

_OF_TWO = frozenset({"os.rename", "os.link", "os.symlink"})
"""Events of two paths: the second one is what is made."""


def _paths(event: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return arguments[: 2 if event in _OF_TWO else 1]


_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _file(verb: str) -> Callable[[tuple[Any, ...]], Found]:
    def look(arguments: tuple[Any, ...]) -> Found:
        path = arguments[0] if arguments else ""
        if isinstance(path, int):
            return "file", f"{verb} an open file"
        if _is_own(path):
            return None
        return "file", f"{verb} {_shown(path)}"

    return look


def _from_to(verb: str) -> Callable[[tuple[Any, ...]], Found]:
    def look(arguments: tuple[Any, ...]) -> Found:
        if all(map(_is_own, arguments[:2])):
            return None
        return "file", f"{verb} {_shown(arguments[0])} to {_shown(arguments[1])}"

    return look


def _opened(arguments: tuple[Any, ...]) -> Found:
    if isinstance(arguments[0], int):
        return None  # it is open already
    if isinstance(arguments[0], (str, bytes)) and os.path.isdir(arguments[0]):  # noqa: PTH112
        return None  # no folder is written: `tempfile` names one, and opens a file in it
    return _file("write")(arguments)


def _database(arguments: tuple[Any, ...]) -> Found:
    path = _shown(arguments[0]) if arguments else ""  # Python 3.10 has bytes there
    return None if path in (":memory:", "") else ("file", f"open the database {path}")


def _network(arguments: tuple[Any, ...]) -> Found:
    address = arguments[-1] if arguments else ""
    return "network", f"connect to {_shown(address)}"


def _looked_up(arguments: tuple[Any, ...]) -> Found:
    host = arguments[0] if arguments else ""
    return None if not host else ("network", f"connect to {_shown(host)}")


def _bound(arguments: tuple[Any, ...]) -> Found:
    address = arguments[-1] if arguments else ()
    is_look = isinstance(address, tuple) and address[:2] == ("::1", 0)  # whether there is IPv6
    return None if is_look else ("network", f"listen on {_shown(address)}")


_LOOKS = frozenset(
    {
        ("uname", "-p"),  # `platform.processor()`
        ("lscpu", "--parse=core"),  # joblib counts the cores
    }
)
"""Programs that libraries start to look at the machine."""


def _started(arguments: tuple[Any, ...]) -> Found:
    command = arguments[1] if len(arguments) > 1 else arguments[0] if arguments else ""
    words = tuple(map(str, command)) if isinstance(command, (list, tuple)) else (str(command),)
    is_look = words in _LOOKS or words[:1] == ("fc-list",)  # matplotlib, once a machine
    if is_look and arguments[0] == words[0]:
        return None
    return "program", f"start {_shown(' '.join(words))}"


def _ran(arguments: tuple[Any, ...]) -> Found:
    return "program", f"start {_shown(arguments[0] if arguments else 'a program')}"


def _forked(_: tuple[Any, ...]) -> Found:
    return "program", "start a process of its own"


_OF_C = ("libc.", "libm.", "msvcrt")
"""Libraries of the system itself: not they are an event, but what is called of them."""
_HARMLESS_IN_C = frozenset({"mprotect"})
"""polars asks the processor what it can do."""


def _loaded(arguments: tuple[Any, ...]) -> Found:
    path = arguments[0] if arguments else None
    is_ours = path is None or str(path).startswith((*_LIBRARIES, *_OF_C))
    return None if is_ours else ("library", f"load the native library {_shown(path)}")


def _called(arguments: tuple[Any, ...]) -> Found:
    library, name = (*arguments, "")[:2]
    is_of_c = str(getattr(library, "_name", "")).startswith(_OF_C)
    if not is_of_c or name in _HARMLESS_IN_C:
        return None
    return "library", f"call {_shown(name)} of the system's own library"


def _traced(_: tuple[Any, ...]) -> Found:
    return "tracing", "trace what Python runs"


_EVENTS: dict[str, Callable[[tuple[Any, ...]], Found]] = {
    "open": _opened, "tempfile.mkstemp": lambda _: None,
    "os.remove": _file("remove"), "os.rename": _from_to("rename"), "os.rmdir": _file("remove"),
    "os.mkdir": _file("make the folder"), "os.truncate": _file("empty"),
    "os.chmod": _file("change the rights of"), "os.chown": _file("change the owner of"),
    "os.utime": _file("change the time of"), "os.setxattr": _file("mark"),
    "os.removexattr": _file("mark"),
    "os.link": _from_to("link"), "os.symlink": _from_to("link"),
    "sqlite3.connect": _database,
    "socket.connect": _network, "socket.sendto": _network, "socket.bind": _bound,
    "socket.getaddrinfo": _looked_up, "socket.gethostbyname": _looked_up,
    "subprocess.Popen": _started, "os.system": _ran, "os.posix_spawn": _ran, "os.exec": _ran,
    "os.spawn": _ran, "os.startfile": _ran, "os.fork": _forked, "os.forkpty": _forked,
    "ctypes.dlopen": _loaded, "ctypes.dlsym": _called,
    "sys.settrace": _traced, "sys.setprofile": _traced,
}  # fmt: skip

_LIBRARIES = tuple({sys.prefix, sys.base_prefix, *filter(None, sys.path)})
"""Where the native parts of packages lie."""


def _is_path(value: object) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


def _absolute(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - `..` leads out of a folder


def _is_own(path: object) -> bool:
    """Whether it is a file that the interpreter and known libraries write for themselves."""
    if not _is_path(path):
        return False
    text = _absolute(path)
    if text == os.devnull or "__pycache__" in Path(text).parts:
        return True
    return any(text.startswith(folder) for folder in _own_folders())


def _is_in_temporary_folder(path: object) -> bool:
    """Whether `tempfile` has named it where it does so by itself."""
    return isinstance(path, str) and Path(path).parent == Path(tempfile.gettempdir())


def _own_folders() -> list[str]:
    """The cache and configuration of matplotlib, and the shared memory of joblib."""
    folders = ["/dev/shm/joblib_"]
    if (matplotlib := sys.modules.get("matplotlib")) is not None:
        folders += [str(matplotlib.get_cachedir()), str(matplotlib.get_configdir())]
    return folders


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        value = ":".join(map(str, value[:2]))
    text = os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)
    return text if len(text) <= 120 else f"{text[:60]} … {text[-50:]}"


# The files of the working folder ------------------------------------------------------------------


def _list_files(root: str) -> Listing:
    """This folder and those below it, the nearest first, as far as whole ones fit.

    Hidden ones are left out, and notebooks, which the front end saves by itself.
    """
    listing: Listing = {}
    folders, room = deque([root]), MAX_ENTRIES
    while folders:
        folder = folders.popleft()
        try:
            with os.scandir(folder) as found:
                entries = [each for each in islice(found, room + 1) if not _is_left_out(each.name)]
                files = {each.name: _state(each) for each in entries}
        except OSError:
            continue  # it is gone, or nobody may read it
        if len(files) <= room:
            room -= len(files)
            listing[folder] = files
            folders.extend(each.path for each in entries if each.is_dir(follow_symlinks=False))
    return listing


def _is_left_out(name: str) -> bool:
    return name.startswith((".", "__pycache__")) or name.endswith(".ipynb")


def _state(entry: os.DirEntry[str]) -> tuple[int, int]:
    if entry.is_dir(follow_symlinks=False):
        return 0, 0
    status = entry.stat(follow_symlinks=False)
    return status.st_size, status.st_mtime_ns


def _compare(root: str, before: Listing, after: Listing) -> Iterable[tuple[str, str]]:
    """(path, "`out.csv` was made") of each file below `root` that is not as it was."""
    for folder in filter(after.__contains__, before):
        then, now = before[folder], after[folder]
        for name in sorted(then.keys() | now.keys()):
            if then.get(name) == now.get(name):
                continue
            does = "made" if name not in then else "changed" if name in now else "removed"
            path = os.path.join(folder, name)  # noqa: PTH118 - as `scandir` has them
            yield path, f"`{_shown(os.path.relpath(path, root))}` was {does}"
