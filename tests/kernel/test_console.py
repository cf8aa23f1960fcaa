"""A real `jupyter console`: a front end that shows no update of what it has printed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

PROGRAM = "\n".join(f"line_{n} = {n}" for n in range(1, 8))


@pytest.fixture
def console(frontend: Any) -> Iterator[pexpect.spawn]:
    frontend.run(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "%load_ext lmc_jupyter\n"
        "from lmc_jupyter import current_session\n"
        "from lmc_jupyter.frontends.cell import asking\n"
        "asking.HELLO_SECONDS = 0\n"
        "from scripted import ScriptedModel, code, said\n"
        f"program = {PROGRAM!r}\n"
        "cut = [code(piece) for piece in program.splitlines(keepends=True)]\n"
        "session = current_session()\n"
        "session.choose_model(ScriptedModel([said('I set '), said('seven lines.'), *cut],\n"
        "                                   [said('They are '), said('**set**.')]))"
    )
    it = pexpect.spawn(
        sys.executable,
        [
            "-c",
            "from jupyter_client.channels import HBChannel; HBChannel.time_to_dead = 60.0; "
            "from jupyter_console.app import main; main()",
            "--simple-prompt",
            "--existing",
            frontend.manager.connection_file,
        ],
        env={**os.environ, "TERM": "dumb", "JUPYTER_PLATFORM_DIRS": "1"},
        encoding="utf-8",
        timeout=240,
        echo=False,
    )
    it.expect_exact("In [")
    yield it
    it.kill(signal.SIGKILL)
    it.wait()
    it.close()


def test_the_whole_code_stands_above_the_question_once_and_the_whole_answer(
    console: pexpect.spawn, frontend: Any
) -> None:
    console.sendline("%lmc ask Set them.")
    console.expect_exact("or say why not: ")
    shown = str(console.before)
    assert shown.count("I set seven lines.") == 1
    for line in PROGRAM.splitlines():
        assert shown.count(line) == 1
    assert shown.index("line_7") < shown.index("Run this python code?")
    console.sendline("y")
    console.expect_exact("In [")
    assert str(console.before).count("They are **set**.") == 1
    assert frontend.value("line_7") == 7
