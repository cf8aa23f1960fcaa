"""AppleScript by macOS' osascript, or by a program that behaves like it."""

from __future__ import annotations

import os
import shutil
import sys
import threading

import pytest

from lmc_jupyter.computer.languages.oneshot import TABLE
from lmc_jupyter.errors import ComputerError

STAND_IN = r'''#!{python}
"""What osascript does, as far as we use it: `osascript -` reads a script from its stdin, prints
its last value, logs on stderr, and says errors with their place and number, with status 1."""
import re, sys, time

if sys.argv[1:] != ["-"]:
    sys.exit("osascript: %s: No such file or directory" % sys.argv[1])
values, result, at = {{}}, None, 0
for line in sys.stdin.read().splitlines():
    end, words = at + len(line), line.strip()
    if found := re.fullmatch(r'log "(.*)"', words):
        print(found[1], file=sys.stderr, flush=True)
    elif found := re.fullmatch(r"set (\w+) to (.+)", words):
        values[found[1]] = result = eval(found[2], dict(values))
    elif found := re.fullmatch(r"return (.+)", words):
        result = eval(found[1], dict(values))
    elif found := re.fullmatch(r"delay (\d+)", words):
        time.sleep(int(found[1]))
    elif found := re.fullmatch(r'error "(.*)" number (-?\d+)', words):
        print("%d:%d: execution error: %s (%s)" % (at, end, found[1], found[2]), file=sys.stderr)
        sys.exit(1)
    elif words and not words.startswith("--"):
        print("%d:%d: syntax error: A identifier can't go after this identifier. (-2740)"
              % (at, end), file=sys.stderr)
        sys.exit(1)
    at = end + 1
if result is not None:
    print(result)
'''
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in is a script")


@pytest.fixture
def language(tmp_path, monkeypatch):
    program = tmp_path / "osascript"
    program.write_text(STAND_IN.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    it = TABLE["applescript"]()
    yield it
    it.close()


def said(language, code):
    return "".join(piece.content for piece in language.run(code))


def read(pieces, word):
    """What is said up to that word."""
    text = ""
    while word not in text:
        text += str(next(pieces).content)
    return text


def test_a_script_is_read_whole_and_its_value_shown(language):
    assert language.availability()
    assert said(language, 'set x to "hé\'s"\nset y to x + " here"\nreturn y') == "hé's here\n"


def test_an_error_is_shown_with_its_place_and_the_status(language):
    text = said(language, 'set x to 1\nerror "No such app" number -1728')
    assert text == "11:43: execution error: No such app (-1728)\n[exit status 1]\n"
    assert "syntax error" in said(language, "tell the truth")


def test_output_comes_while_it_runs_and_it_is_stopped(language):
    pieces = language.run('log "on"\ndelay 600')
    assert read(pieces, "\n") == "on\n"
    threading.Thread(target=language.stop).start()
    with pytest.raises(KeyboardInterrupt):
        list(pieces)
    assert said(language, "return 1 + 1") == "2\n"


def test_elsewhere_it_says_where_it_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("osascript") is None
    language = TABLE["applescript"]()
    assert language.name == "applescript"
    assert "osascript" in language.aliases
    assert "runs on macOS only" in language.availability().missing
    with pytest.raises(ComputerError, match=r"AppleScript runs on macOS only.*nothing was run"):
        next(language.run("return 1"))
