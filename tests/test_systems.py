"""Calls that Linux, macOS or Windows does not have stand where docs/systems.md says, and nothing of
ours needs them to be imported.

mypy, with `--platform`, looks whether they are guarded (`make lint`).
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "lmc_jupyter"
NOT_EVERYWHERE = {
    "os": (
        "fork forkpty getuid geteuid getgid getsid setsid getpgid getpgrp killpg kill mkfifo "
        "openpty posix_spawn posix_spawnp POSIX_SPAWN_DUP2 wait waitpid WNOHANG set_blocking "
        "startfile register_at_fork fdatasync fchmod fchown chown sched_getaffinity statvfs "
        "uname getloadavg pread pwrite sendfile ttyname O_NOFOLLOW O_CLOEXEC O_NONBLOCK "
        "O_DIRECTORY O_BINARY"
    ),
    "signal": (
        "pthread_kill pthread_sigmask sigwait setitimer alarm siginterrupt SIGKILL SIGUSR1 "
        "SIGUSR2 SIGCHLD SIGQUIT SIGPIPE SIGHUP SIGALRM SIGTSTP SIGCONT CTRL_C_EVENT "
        "CTRL_BREAK_EVENT"
    ),
    "fcntl": "F_FULLFSYNC F_SETPIPE_SZ",
    "socket": "AF_UNIX SO_REUSEPORT",
    "subprocess": "CREATE_NEW_PROCESS_GROUP CREATE_NO_WINDOW",
    "time": "tzset",
}
"""Names that one of the three systems lacks, by their module."""
MODULES = {"fcntl", "grp", "msvcrt", "pty", "pwd", "resource", "select", "syslog", "termios", "tty"}
WORDS = {"pass_fds", "preexec_fn", "process_group", "start_new_session"}
"""Arguments of `subprocess.Popen`."""
OF = {name: module for module, names in NOT_EVERYWHERE.items() for name in names.split()}


def calls_in(tree: ast.AST) -> set[str]:
    """What of the tables a module names; also in code that it gives to another process."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {each.name for each in names if each.name in MODULES}
            case ast.ImportFrom(module=str(module)) if module in MODULES:
                found.add(module)
            case ast.Attribute(value=ast.Name(id=module), attr=name) if OF.get(name) == module:
                found.add(f"{module}.{name}")
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=name), *_]
            ) if name in OF:
                found.add(f"{OF[name]}.{name}")
            case ast.keyword(arg=str(word)) if word in WORDS:
                found.add(word)
            case ast.Constant(value=str(text)):
                if text in OF and text.isupper():  # for name in ("O_BINARY", "O_CLOEXEC")
                    found.add(f"{OF[text]}.{text}")
                found |= {
                    place for place in ("/proc", "/dev") if re.search(rf"(?<!\w){place}/", text)
                }
                found |= set(re.findall(r"^\s*import (\w+)$", text, re.M)) & MODULES
    return found


def calls() -> dict[str, set[str]]:
    """The files of the package that name each call."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        for call in calls_in(ast.parse(path.read_text(encoding="utf-8"))):
            found[call].add(path.relative_to(PACKAGE).as_posix())
    return found


def rows() -> dict[str, set[str]]:
    """The files that docs/systems.md names for each call."""
    table: dict[str, set[str]] = defaultdict(set)
    for line in (ROOT / "docs" / "systems.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            first, _, files, answer = line.strip("| ").split(" | ")
            assert answer, line
            for call in re.findall("`([^`]+)`", first):
                table[call] |= set(re.findall("`([^`]+)`", files))
    return table


TEXT = "kill = getattr(os, 'killpg', None)\nX = 'with open(\"/proc/1/stat\") as s: pass'"


def test_a_call_that_a_system_lacks_is_seen():
    assert calls_in(ast.parse(TEXT)) == {"os.killpg", "/proc"}
    assert calls_in(ast.parse("import os, resource\nos.fork()")) == {"os.fork", "resource"}


def test_each_call_that_a_system_lacks_stands_where_the_table_says():
    table = rows()
    missing = {
        call: sorted(files - table.get(call, set()))
        for call, files in calls().items()
        if files - table.get(call, set())
    }
    assert missing == {}, "docs/systems.md needs a row of each, with what is done there"


def test_each_row_of_the_table_is_of_a_call_that_is_there():
    found = calls()
    names = [call for call in rows() if call in found or call.startswith(("os.", "signal."))]
    gone = {call: sorted(rows()[call]) for call in names if call not in found}
    assert gone == {}
    for call, files in rows().items():
        for name in files:
            assert (PACKAGE / name).exists(), f"{call}: {name}"


WITHOUT = """
import importlib, os, pkgutil, signal, subprocess, sys
import IPython, anywidget, ipykernel.ipkernel, jupyter_client.asynchronous, litellm, mcp, nbclient
import asyncio, multiprocessing, psutil, filelock, keyring, platformdirs, tempfile, shutil, uuid
import lmc_jupyter
missing = {missing!r}
for module, names in missing.items():
    for name in names:
        if hasattr(sys.modules[module], name) and name not in {needed!r}:
            delattr(sys.modules[module], name)
for name in {modules!r}:
    sys.modules[name] = None
failed = []
for each in pkgutil.walk_packages(lmc_jupyter.__path__, "lmc_jupyter."):
    if each.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(each.name)
    except (ImportError, AttributeError) as error:
        failed.append(f"{{each.name}}: {{error}}")
print("\\n".join(failed))
"""
NEEDED = {"kill", "waitpid", "uname", "O_CLOEXEC", "WNOHANG"}
"""What libraries call while they are imported; Windows has a `kill` and a `waitpid` of its own."""


@pytest.mark.long
def test_no_module_needs_them_to_be_imported():
    missing = {name: NOT_EVERYWHERE[name].split() for name in ("os", "signal")}
    code = WITHOUT.format(
        missing=missing, needed=NEEDED, modules=sorted(MODULES - {"select", "msvcrt"})
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
