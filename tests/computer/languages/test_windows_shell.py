"""The shell of Windows, by a program that behaves like PowerShell: it takes the same arguments,
and understands of the scripts what ours put around a block; the blocks are sh."""

from __future__ import annotations

import os
import sys
import threading

import psutil
import pytest

from lmc_jupyter.computer.languages.windows_shell import WindowsShell
from lmc_jupyter.errors import ComputerError

POWERSHELL = r"""#!{python}
import os, re, subprocess, sys
*flags, script = sys.argv[1:]
assert flags == ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File"], flags
raw = open(script, "rb").read()
assert raw.startswith(b"\xef\xbb\xbf")  # Windows PowerShell takes it for the old code page else
text = raw.decode("utf-8-sig")
value = r"'((?:[^']|'')*)'"
block = re.search(r"^  \. " + value + "$", text, re.M)[1].replace("''", "'")
where = re.search(r"WriteAllText\(" + value + r", \(Get-Location", text)[1].replace("''", "'")
code = open(block, encoding="utf-8-sig").read()
end = 'printf %s "$PWD" >"$LMC_WHERE"'  # the finally: after an exit, too
status = subprocess.call(["sh", "-c", "trap '%s' EXIT\n%s" % (end, code)],
                         env={{**os.environ, "LMC_WHERE": where}})
sys.exit(status)
"""
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts")


def put(tmp_path, name, text):
    program = tmp_path / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(text.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)


@pytest.fixture(params=["pwsh", "powershell"])
def shell(request, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    put(tmp_path, request.param, POWERSHELL)
    it = WindowsShell()
    assert request.param in it.availability().how
    yield it
    it.close()


def said(shell, code):
    return "".join(piece.content for piece in shell.run(code))


def read(pieces, word):
    """What is said up to that word."""
    text = ""
    while word not in text:
        text += str(next(pieces).content)
    return text


def test_the_directory_is_kept_whatever_its_name(shell, tmp_path, monkeypatch):
    here = tmp_path / "it's hé re"
    here.mkdir()
    assert said(shell, f'cd "{here}"') == ""
    assert said(shell, "pwd") == f"{here}\n"
    assert said(shell, "cd ..; false") == "[exit status 1]\n"
    assert said(shell, "pwd") == f"{tmp_path}\n"
    shell.close()
    monkeypatch.chdir(tmp_path)
    assert said(shell, "pwd") == f"{os.path.realpath(tmp_path)}\n"


def test_a_directory_that_is_gone_is_left(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    said(shell, f"cd '{gone}'")
    gone.rmdir()
    assert said(shell, "pwd") == f"{os.path.realpath(tmp_path)}\n"


def test_output_in_any_script_and_the_status_are_told(shell):
    assert said(shell, "echo héllo\necho more >&2\nexit 3") == "héllo\nmore\n[exit status 3]\n"


def test_it_is_stopped_with_all_that_it_started(shell):
    pieces = shell.run("sleep 600 & echo $!\nwait")
    process = psutil.Process(int(read(pieces, "\n")))
    threading.Thread(target=shell.stop).start()
    with pytest.raises(KeyboardInterrupt):
        list(pieces)
    assert psutil.wait_procs([process], timeout=60)[1] == []
    assert said(shell, "echo more") == "more\n"


def test_without_any_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    shell = WindowsShell()
    assert "powershell is not on the PATH" in shell.availability().missing
    with pytest.raises(ComputerError, match="powershell is not on the PATH"):
        next(shell.run("dir"))
