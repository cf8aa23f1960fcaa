"""Which languages a block of python runs, with a shell that knows its magics and without one."""

from __future__ import annotations

import pytest

from lmc_jupyter.computer.languages.python_uses import uses

CASES = [
    ("x = 1\nprint('!ls')", set()),
    ("!ls", {"shell"}),
    ("files = !ls", {"shell"}),
    ("for i in range(2):\n    !ls", {"shell"}),
    ("!!ls", {"shell"}),
    ("%sx ls", {"shell"}),
    ("%pip install x", {"shell"}),
    ("%time !ls", {"shell"}),
    ("%time 1 + 1", set()),
    ("%timeit -n1 -r 1 os.system('echo a b')", {"shell"}),
    ("%%timeit -n1 -r1 x = 1\n!ls", {"shell"}),
    ("%timeit -n1 -r1 1 + 1", set()),
    ("%%time\n!ls", {"shell"}),
    ("%%time\nx = 1", set()),
    ("%%bash\nls", {"shell"}),
    ("%%sh\nls", {"shell"}),
    ("%%capture out\n%%bash\nls", {"shell"}),
    ("%%script perl\n1", {"shell"}),
    ("%%javascript\nalert(1)", {"javascript"}),
    ("%%js\nalert(1)", {"javascript"}),
    ("%%R\nx <- 1", {"r"}),
    ("%%html\n<b>", set()),
    ("%%writefile a\n!ls", set()),
    ("%%perl\n1", {"perl"}),
    ("import os\nos.system('ls')", {"shell"}),
    ("import os\nos.popen('ls')", {"shell"}),
    ("import os\nos.getcwd()", set()),
    ("import subprocess", {"shell"}),
    ("from subprocess import run", {"shell"}),
    ("get_ipython().system('ls')", {"shell"}),
    ("import platform\nplatform.system()", set()),
    ("share(df, to='R')", {"r"}),
    ("lmc_jupyter.share(df, 'bash', name='x')", {"shell"}),
    ("share(df, to=where)", set()),
    ("screen.share()", set()),
    ("current_session().computer.run('js', '1')", {"javascript"}),
    ("computer.run(word, '1')", set()),
    ("model.run('r', data)", set()),
    ("this is no python", set()),
]


@pytest.mark.parametrize(("code", "languages"), CASES)
def test_without_a_shell(code, languages):
    assert uses(code, None) == languages


@pytest.mark.parametrize(
    "code",
    [
        "from os import system; system('ls')",
        "__import__('subprocess').run(['ls'])",
        "%%debug\n!ls",
        "from os import *\nsystem('ls')",
        "import os as o\no.popen('ls')",
        "import posix\nposix.execv('/bin/ls', ['ls'])",
        "__import__('os').popen('ls')",
        "import asyncio.subprocess as a\nawait a.create_subprocess_shell('ls')",
        "from asyncio import create_subprocess_exec",
    ],
)
def test_plain_ways_around_are_seen_too(code):
    assert "shell" in uses(code, None)
