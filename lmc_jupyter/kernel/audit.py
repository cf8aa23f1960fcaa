"""What code does to files, to the network and with programs, seen by Python's own audit events.

One rule: an event is looked at before it happens, and only while code runs that has promised none.
Idle, the hook is one look at a list. It is a seat belt and no wall: native code and what other
processes do raise no event (docs/security-in-detail.md).

Source: https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

Act = Literal["file", "network", "program", "library", "tracing"]
Answer = Literal["go on", "go on with such", "stop"]
Ask = Callable[[str], Answer]
"""(what the code wants to do, as the end of a sentence) -> the person's answer."""

Found = tuple[Act, str] | None
"""What an event is, and the end of "it wants to …"; None for one that is none."""


class OutsidePromise(BaseException):
    """Code was about to do what it had not said, and may not. No `except Exception` takes it."""


_promises: list[Promise] = []
_is_hooked = False


class Promise:
    """Code that reads and makes new names, and nothing else, until it ends.

    Parameters
    ----------
    ask : asks the person, on the thread of the code, before something else happens
    is_foreign : whether this thread works for other code now
    """

    def __init__(self, ask: Ask, is_foreign: Callable[[], bool]) -> None:
        self._ask, self._is_foreign = ask, is_foreign
        self._others: frozenset[int] = frozenset()
        self._allowed: set[Act] = set()
        self._temporary: set[str] = set()
        self._asking = threading.local()

    def __enter__(self) -> Promise:
        global _is_hooked
        if not _is_hooked:
            _is_hooked = True
            sys.addaudithook(_hear)
        threads = frozenset(each.ident or 0 for each in threading.enumerate())
        self._others = threads - {threading.get_ident()}
        _promises.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _promises.remove(self)

    def meet(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Look at an event of this thread; ask, where it is outside of the promise.

        Raises
        ------
        OutsidePromise
            When the person says no, or nobody can be asked.
        """
        __tracebackhide__ = True
        if threading.get_ident() in self._others or getattr(self._asking, "now", False):
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
            answer = self._ask(what)
            if answer == "stop":
                raise OutsidePromise(f"it wanted to {what}, which was not allowed")
            if answer == "go on with such":
                self._allowed.add(act)
        finally:
            self._asking.now = False

    def _is_temporary(self, event: str, arguments: tuple[Any, ...]) -> bool:
        """Whether it is a file that `tempfile` has made for this very code, and stays one."""
        paths = arguments[: 2 if event in _OF_TWO else 1]
        return bool(paths) and all(map(self._temporary.__contains__, map(str, paths)))


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    __tracebackhide__ = True
    if not _promises or event not in _EVENTS:
        return
    if event == "open" and not arguments[2] & _WRITES:
        return  # by far the most that honest code does
    _promises[-1].meet(event, arguments)


# What each event is -------------------------------------------------------------------------------

_OF_TWO = frozenset({"os.rename", "os.link", "os.symlink"})
"""Events of two paths: the second one is what is made."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _file(verb: str) -> Callable[[tuple[Any, ...]], Found]:
    def look(arguments: tuple[Any, ...]) -> Found:
        path = arguments[0] if arguments else ""
        if isinstance(path, int) or _is_own(path):
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
    if isinstance(arguments[0], (str, bytes)) and os.path.isdir(arguments[0]):  # noqa: PTH112
        return None  # no folder is written: `tempfile` names one, and opens a file in it
    return _file("write")(arguments)


def _database(arguments: tuple[Any, ...]) -> Found:
    path = arguments[0] if arguments else ""
    return None if path in (":memory:", "", b"") else ("file", f"open the database {_shown(path)}")


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


def _started(arguments: tuple[Any, ...]) -> Found:
    command = arguments[1] if len(arguments) > 1 else arguments[0] if arguments else ""
    words = tuple(map(str, command)) if isinstance(command, (list, tuple)) else (str(command),)
    # matplotlib looks for fonts once a machine; `platform.processor()`
    is_honest = words[:1] == ("fc-list",) or words == ("uname", "-p")
    if is_honest and arguments[0] == words[0]:
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


def _is_own(path: object) -> bool:
    """Whether it is a file that the interpreter and known libraries write for themselves."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return False
    text = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - `..` leads out of a folder
    if text == os.devnull or "__pycache__" in Path(text).parts[:-1]:
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
