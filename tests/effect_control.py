# ruff: noqa: T201 - it prints, as a script
"""What a block of code really touches, seen by running it in a copy of the process, beside the line
of effects that a person would read before it runs.

One rule: the label of a block is what the control saw, never what its author meant. Each block runs
in a fork of one process that has the person's names, in a new folder with the person's files, under
an audit hook, and is killed after `SECONDS`.

    python tests/effect_control.py [WORD ...]    every block (with these words) whose line falls
                                                 short, what it touched and what the line said
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import gc
import hashlib
import importlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

BLOCKS = Path(__file__).parent / "computer" / "effects"
SECONDS = 20
"""How long a block may run."""


class Block(NamedTuple):
    title: str
    code: str


class Seen(NamedTuple):
    """Of one block.

    Parameters
    ----------
    touched : of each kind (file, name, network, process, program, value), what was touched; a
        `name` is another object now or gone, a `value` was changed in place
    error : that the block raised
    effects : (kind, name) of each effect that the line names
    line : as the person reads it
    """

    touched: dict[str, list[str]]
    error: str
    effects: list[tuple[str, str]]
    line: str


def read_blocks(name: str) -> list[Block]:
    """Of touching.txt or honest.txt: `# --- title` and the code below it."""
    parts = re.split(r"^# --- (.*)\n", (BLOCKS / name).read_text("utf-8"), flags=re.M)
    return [Block(title, code) for title, code in zip(parts[1::2], parts[2::2], strict=True)]


# The line, and what is asked of it ----------------------------------------------------------------


def read_line(code: str, shell: Any) -> tuple[list[tuple[str, str]], str]:
    """The one place that knows how effects are found."""
    from lmc_jupyter.computer.effects import find_effects
    from lmc_jupyter.frontends.effect_words import plain_text
    from lmc_jupyter.kernel.namespace import own_names

    effects = find_effects("python", code, own_names(shell), shell)
    return [(each.kind, each.name) for each in effects], plain_text(effects)


HARMLESS = {"makes", "reads"}
MAY_DO_MORE = {"unknown"}
LOSSES = {"overwrites", "loses", "empties", "deletes", "renames", "removes"}
NAME_KINDS = ("name", "value")
NAMES = {"overwrites", "changes", "loses", "empties", "deletes"}
SAYS = {
    "file": {"writes", "renames", "removes", "shell"},
    "network": {"network", "shell"},
    "program": {"shell", "writes", "renames", "removes", "network"},
    "process": NAMES | {"shell"},
}
"""Which effects say that something of this kind is touched: what a program does is its own."""


def verdict(seen: Seen) -> str:
    """Of a block that touches something: named, may do more, silent, only harmless, or incomplete:
    it names some of it and not all."""
    kinds = {kind for kind, _ in seen.effects}
    names = {re.split(r"[.\[]", name)[0] for kind, name in seen.effects if kind in NAMES}
    if ("deletes", "") in seen.effects:  # all of them
        names.update(
            each.split(".")[0] for kind in NAME_KINDS for each in seen.touched.get(kind, [])
        )
    missing = [kind for kind in seen.touched if kind in SAYS and not SAYS[kind] & kinds]
    missing += [name for name in seen.touched.get("name", []) if name.split(".")[0] not in names]
    values = {value.split(".")[0] for value in seen.touched.get("value", [])}
    if values and not values & names:  # one object may be in several names
        missing += sorted(values)
    if not missing:
        return "named"
    if MAY_DO_MORE & kinds:
        return "may do more"
    return "silent" if not kinds else "only harmless" if kinds <= HARMLESS else "incomplete"


def false_claims(seen: Seen) -> list[str]:
    """Of a block that touches nothing: what its line says beside the harmless.

    Whether it shows a page of its own is not seen here, where there is no page.
    """
    silent = HARMLESS | MAY_DO_MORE | {"page"}
    return [f"{kind} {name}" for kind, name in seen.effects if kind not in silent]


# The control --------------------------------------------------------------------------------------


def fingerprint(value: Any, depth: int = 8) -> Any:
    """A value that is equal as long as nothing in this one was changed; it calls no code of it."""
    import matplotlib.artist
    import numpy as np
    import pandas as pd

    def inside(each: Any) -> Any:
        return fingerprint(each, depth - 1)

    kind = type(value)
    if depth < 0:
        return id(value)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, bytearray)):
        return kind.__name__, repr(value)
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), value.flags.writeable, inside(value.tolist())
    if isinstance(value, pd.DataFrame):
        columns = [inside(value.iloc[:, at]) for at in range(value.shape[1])]
        return "frame", inside(value.columns), inside(value.index), columns, inside(value.attrs)
    if isinstance(value, pd.Series):
        rest = inside(value.index), inside(value.attrs)
        return "series", repr(value.name), str(value.dtype), repr(value.tolist()), rest
    if isinstance(value, pd.Index):
        return "index", repr(list(value.names)), str(value.dtype), repr(value.tolist())
    if isinstance(value, matplotlib.artist.Artist):
        return describe_artist(value)
    if isinstance(value, dict):
        return kind.__name__, [(inside(k), inside(v)) for k, v in dict.items(value)]
    if isinstance(value, (set, frozenset)):
        return kind.__name__, sorted(map(repr, value))
    if isinstance(value, types.FunctionType):
        cells = [inside(each.cell_contents) for each in value.__closure__ or ()]
        rest = inside(value.__defaults__), inside(value.__kwdefaults__), inside(value.__dict__)
        return "function", id(value.__code__), cells, rest
    if isinstance(value, types.ModuleType):
        return "module", id(value)
    own = getattr(value, "__module__", "") == "__main__"
    if isinstance(value, type):
        return "class", id(value), [(k, inside(v)) for k, v in vars(value).items() if own]
    if hasattr(value, "__length_hint__"):
        return kind.__name__, value.__length_hint__()
    items = (
        [inside(each) for each in value]
        if isinstance(value, tuple) or hasattr(value, "append")
        else []
    )
    return id(kind), items, inside(getattr(value, "__dict__", None) if own else None)


def describe_artist(artist: Any) -> Any:
    of = ["title", "xlabel", "ylabel", "xlim", "ylim", "xscale", "yscale", "label", "visible",
          "alpha", "color", "linewidth", "text"]  # fmt: skip
    getters = [getattr(artist, f"get_{name}", None) for name in of]
    has = [repr(get()) for get in getters if get]
    if hasattr(artist, "get_ticklocs"):  # each drawing makes its ticks and moves its label
        return type(artist).__name__
    return type(artist).__name__, has, [describe_artist(each) for each in artist.get_children()]


def look_at_names(names: dict[str, Any], first: dict[str, Any]) -> dict[str, tuple[int, Any]]:
    """Of each name its object and its fingerprint; the attributes of the modules that were there
    at first."""
    import builtins

    found = {name: (id(value), fingerprint(value)) for name, value in names.items()}
    for name, module in {"builtins": builtins, **first}.items():
        if isinstance(module, types.ModuleType):
            for key, value in list(vars(module).items()):
                if not key.startswith(("_", "last_")) and not isinstance(value, types.ModuleType):
                    found[f"{name}.{key}"] = (id(value), 0)
    return found


def persons_names(shell: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in shell.user_ns.items()
        if not name.startswith("_") and name not in shell.user_ns_hidden
    }


def look_at_files(folder: Path) -> dict[str, Any]:
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        content: Any = str(path.readlink()) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            content = hashlib.sha256(path.read_bytes()).hexdigest(), status.st_mtime_ns
        found[str(path.relative_to(folder))] = status.st_mode, status.st_nlink, content
    return found


def audited(event: str, arguments: tuple[Any, ...]) -> tuple[str, str] | None:
    """The kind and the text of what is touched, or None."""
    first = str(arguments[0]) if arguments else ""
    if event == "open" and not isinstance(arguments[0], int):
        writes = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        return ("file", first) if writes and not first.startswith("/dev/") else None
    if event in FILE_EVENTS:
        return "file", f"{event} {first}"
    if event in PROGRAM_EVENTS:
        return "program", f"{event} {arguments[1] if len(arguments) > 1 else first}"
    if event in {"socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo"}:
        return "network", f"{event} {arguments[1] if event != 'socket.getaddrinfo' else first}"
    return ("process", f"{event} {first}") if event in PROCESS_EVENTS else None


FILE_EVENTS = {
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod",
    "os.chown", "os.truncate", "os.utime", "os.setxattr", "os.removexattr",
}  # fmt: skip
PROGRAM_EVENTS = {
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.kill", "os.killpg",
    "subprocess.Popen", "pty.spawn", "signal.pthread_kill",
}  # fmt: skip
PROCESS_EVENTS = {"os.chdir", "os.fchdir", "os.putenv", "os.unsetenv"}


def run_watched(code: str, shell: Any, folder: Path) -> tuple[dict[str, list[str]], str]:
    """Run this block here and now; the process is of no use after it."""
    events: list[tuple[str, str]] = []
    is_on = False
    process = os.getpid()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if is_on and os.getpid() == process:
            with contextlib.suppress(IndexError):
                found = audited(event, arguments)
                if found:
                    events.append(found)

    names = persons_names(shell)
    before, files = look_at_names(names, names), look_at_files(folder)
    sys.addaudithook(hook)
    is_on = True
    result = shell.run_cell(code, store_history=False)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    gc.collect()
    atexit._run_exitfuncs()
    is_on = False
    still = {name: shell.user_ns[name] for name in names if name in shell.user_ns}
    after = look_at_names(still, names)
    now = look_at_files(folder)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new:
            whole = "." not in name and (new is None or old is None or old[0] != new[0])
            events.append(("name" if whole else "value", name))
    events += [("file", name) for name in sorted(files.keys() | now.keys())
               if files.get(name) != now.get(name)]  # fmt: skip
    touched: dict[str, list[str]] = {}
    for kind, text in dict.fromkeys(events):
        touched.setdefault(kind, []).append(text.replace(str(folder), "."))
    error = result.error_before_exec or result.error_in_exec
    return touched, "" if error is None else f"{type(error).__name__}: {error}"


def run_in_copy(code: str, shell: Any, home: Path) -> Seen:
    """Fork, run it there, and kill all that it left running."""
    from effect_person import make_files

    effects, line = read_line(code, shell)
    folder = Path(tempfile.mkdtemp(dir=home))
    make_files(folder)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setsid()
            os.chdir(folder)
            atexit._clear()
            os.write(writer, json.dumps(run_watched(code, shell, folder)).encode())
        except BaseException:
            os.write(writer, json.dumps([{}, "the control: " + traceback.format_exc()]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    report = b""
    while select.select([reader], [], [], SECONDS)[0] and (piece := os.read(reader, 65536)):
        report += piece
        with contextlib.suppress(ValueError):
            json.loads(report)
            break  # whole; a program that it started may have the pipe open
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    ended: tuple[dict[str, list[str]], str] = {"process": ["it ended or hung"]}, ""
    touched, error = json.loads(report) if report else ended
    return Seen(touched, error, effects, line)


def make_shell(home: Path) -> Any:
    """A shell with the person's names, as their own cells made them."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    import seaborn as sns
    from effect_person import CELLS
    from IPython.core.history import HistoryManager
    from IPython.core.interactiveshell import InteractiveShell

    for name in ("duckdb", "polars"):  # what they set when they are imported is no block's
        importlib.import_module(name)
    HistoryManager.enabled = False
    shell = InteractiveShell.instance()
    sys.path.insert(0, "")
    sns.lineplot(x=[1, 2], y=[3, 4])
    plt.gcf().savefig(os.devnull, format="png")
    plt.close("all")
    gc.collect()
    gc.freeze()  # a copy looks for garbage of its own alone
    shell.run_cell(CELLS, store_history=False).raise_error()
    shell.user_ns["fig"].canvas.draw()  # its limits and ticks are made when it is drawn
    plt.close("all")  # as a notebook does when a cell has ended
    read_line("1", shell)
    names = persons_names(shell)
    look_at_names(names, names)
    return shell


def serve() -> None:
    """In a process of its own: blocks as lines of JSON come in, what was seen goes out."""
    out = os.fdopen(os.dup(1), "w")
    quiet = os.open(os.devnull, os.O_RDWR)
    home = Path.cwd()
    shell = make_shell(home)
    codes = [base64.b64decode(line).decode() for line in sys.stdin]
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    for code in codes:
        print(json.dumps(run_in_copy(code, shell, home)), file=out, flush=True)


def run_blocks(blocks: list[Block]) -> Iterator[Seen]:
    """What each does, one after the other."""
    with tempfile.TemporaryDirectory() as home:
        own = {
            "HOME": home,
            "IPYTHONDIR": home,
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLBACKEND": "agg",
        }
        threads = dict.fromkeys(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"], "1")
        with subprocess.Popen(
            [sys.executable, __file__, "--serve"], cwd=home, env={**os.environ, **own, **threads},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as server:  # fmt: skip
            assert server.stdin is not None
            assert server.stdout is not None
            lines = b"\n".join(base64.b64encode(each.code.encode()) for each in blocks)
            server.stdin.write(lines)
            server.stdin.close()
            for _, line in zip(blocks, server.stdout, strict=True):
                touched, error, effects, text = json.loads(line)
                yield Seen(touched, error, [(kind, name) for kind, name in effects], text)


def main(words: list[str]) -> None:
    def show(title: str, judge: Callable[[Seen], str], good: set[str], name: str) -> None:
        blocks = [each for each in read_blocks(name) if all(word in str(each) for word in words)]
        verdicts: Counter[str] = Counter()
        for block, seen in zip(blocks, run_blocks(blocks), strict=True):
            judged = judge(seen)
            verdicts[judged] += 1
            if judged not in good or words:
                print(f"# --- {block.title} [{judged}]\n{block.code.strip()}")
                few = {kind: each[:6] for kind, each in seen.touched.items()}
                print(f"#   touched {few} {seen.error}\n#   line    {seen.line!r}\n")
        print(f"== {title}: {len(blocks)}")
        for judged, count in verdicts.most_common():
            print(f"   {judged:14} {count:4} {100 * count / len(blocks):5.1f} %")

    def judge_touching(seen: Seen) -> str:
        return verdict(seen) if seen.touched else "TOUCHES NOTHING"

    def judge_honest(seen: Seen) -> str:
        if seen.touched or seen.error:
            return "NOT HONEST"
        more = any(kind in MAY_DO_MORE for kind, _ in seen.effects)
        return "false claim" if false_claims(seen) else "may do more" if more else "quiet"

    show("touching", judge_touching, {"named", "may do more"}, "touching.txt")
    show("honest", judge_honest, {"quiet"}, "honest.txt")


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main(sys.argv[1:])
