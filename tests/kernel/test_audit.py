"""Code that has promised to read and make names only: each event outside of that waits for a yes,
before it happens."""

from __future__ import annotations

import builtins
import gc
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedModel, code, said

from lmc_jupyter import Session
from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.kernel import audit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its programs are POSIX's")

EVENTS = {
    "open": "with open('out', 'w') as file:\n    n = file.write('1')",
    "open to append": "open('out', 'ab').close()",
    "os.open": "import os\nos.close(os.open('out', os.O_CREAT | os.O_WRONLY))",
    "pathlib": "from pathlib import Path\nPath('out').write_text('1')",
    "mkdir": "from pathlib import Path\nPath('out').mkdir()",
    "rename": "import os\nos.rename('there', 'out')",
    "copy": "import shutil\nshutil.copy('there', 'out')",
    "link": "import os\nos.symlink('there', 'out')",
    "sqlite": (
        "import sqlite3\nit = sqlite3.connect('out')\nit.execute('create table t (a)')\nit.close()"
    ),
    "pandas": "import pandas as pd\npd.DataFrame({'a': [1]}).to_csv('out')",
    "numpy": "import numpy as np\nnp.arange(3).tofile('out')",
    "program": "import subprocess\nsubprocess.run(['touch', 'out'])",
    "system": "import os\n_ = os.system('touch out')",
    "spawn": "import os\nos.waitpid(os.posix_spawn('/bin/touch', ['touch', 'out'], {}), 0)",
    "a temporary file elsewhere": (
        "import os, tempfile\nhandle, name = tempfile.mkstemp(dir='.')\nos.close(handle)"
    ),
    "a temporary file that becomes another": (
        "import os, tempfile\nhandle, name = tempfile.mkstemp()\nos.close(handle)\n"
        "os.replace(name, 'out')"
    ),
    "out of a folder of its own": "open('__pycache__/../out', 'w').close()",
    "another program of that name": (
        "import subprocess\nsubprocess.run(['fc-list', 'out'], executable='/bin/touch')"
    ),
    "a thread": (
        "import threading\n"
        "thread = threading.Thread(target=lambda: open('out', 'w').close())\n"
        "thread.start()\nthread.join()"
    ),
    "in except": (
        "try:\n    open('out', 'w').close()\nexcept Exception:\n    print('went on by another way')"
    ),
}
"""Each makes `out`, or another file, where it may."""
GONE = {
    "remove": "import os\nos.remove('there')",
    "unlink": "from pathlib import Path\nPath('there').unlink()",
    "rmtree": "import shutil\nshutil.rmtree('folder')",
    "rmdir": "import os\nos.rmdir('folder/empty')",
    "truncate": "import os\nos.truncate('there', 0)",
    "empty": "open('there', 'w').close()",
}
HONEST = {
    "reading": "with open('there') as file:\n    text = file.read()\nopen('there', 'rb').close()",
    "os": "import os\nnames = os.listdir('.')\nsize = os.stat('there').st_size",
    "null": "import os\nopen(os.devnull, 'w').close()",
    "temporary": (
        "import tempfile\nwith tempfile.NamedTemporaryFile() as file:\n    n = file.write(b'1')"
    ),
    "a database in memory": (
        "import sqlite3\nc = sqlite3.connect(':memory:')\nr = c.execute('select 1')\nc.close()"
    ),
    "numpy": "import numpy as np\na = np.linalg.inv(np.eye(3))",
    "pandas": (
        "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})\n"
        "t = df.groupby('b').a.sum()\nt"
    ),
    "polars": "import polars as pl\np = pl.DataFrame({'a': [1]}).with_columns(b=pl.col('a'))\np",
    "matplotlib": (
        "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n"
        "fig, ax = plt.subplots()\nline = ax.plot([1, 2])\nfig.canvas.draw()\nplt.close()"
    ),
    "plotly": "import plotly.express as px\nfigure = px.line(x=[1], y=[2])\nj = figure.to_json()",
    "altair": "import altair as alt\nc = alt.Chart().mark_bar().to_dict(validate=False)",
    "duckdb": "import duckdb\nn = duckdb.sql('select 42').fetchall()",
    "pillow": "from PIL import Image\ni = Image.new('RGB', (3, 3)).resize((2, 2))",
    "pyarrow": "import pyarrow as pa\nt = pa.table({'a': [1]}).num_rows",
    "requests": "import requests\nq = requests.Request('GET', 'http://x').prepare()",
    "processor": "import platform\nname = platform.processor()",
    "json": "import json\nd = json.loads('[1]')",
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor() as pool:\n    r = list(pool.map(abs, [-1]))"
    ),
}


class Person:
    """Answers every question with the same word."""

    def __init__(self, word: str) -> None:
        self.word, self.asked = word, []

    def __call__(self, prompt: str = "") -> str:
        self.asked.append(prompt)
        if self.word == "nobody":
            raise EOFError
        return self.word


@pytest.fixture
def run(shell, tmp_path, monkeypatch):
    """Run code in a folder of its own: (what it printed, the questions)."""
    (tmp_path / "folder" / "empty").mkdir(parents=True)
    (tmp_path / "there").write_text("there")
    (tmp_path / "__pycache__").mkdir()
    monkeypatch.chdir(tmp_path)

    def run(code: str, word: str = "n", *, is_promised: bool = True) -> tuple[str, list[str]]:
        person = Person(word)
        monkeypatch.setattr(builtins, "input", person)
        python = LivePython(shell)
        pieces = python.run_promised(code) if is_promised else python.run(code)
        text = "".join(str(each.content) for each in pieces if each.format == "output")
        return text, person.asked

    return run


def state(folder: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("code", [*EVENTS.values(), *GONE.values()], ids=[*EVENTS, *GONE])
@pytest.mark.parametrize("word", ["n", "", "nobody"])
def test_without_a_yes_it_does_not_happen(run, tmp_path, code, word):
    before = state(tmp_path)
    text, asked = run(code, word)
    assert state(tmp_path) == before
    assert len(asked) == 1
    assert "went on by another way" not in text
    assert "which was not allowed" in text or "thread" in code


@pytest.mark.parametrize("code", [*EVENTS.values(), *GONE.values()], ids=[*EVENTS, *GONE])
def test_with_a_yes_it_does(run, tmp_path, code):
    before = state(tmp_path)
    _, asked = run(code, "y")
    assert asked
    assert state(tmp_path) != before


@pytest.mark.parametrize("code", [*EVENTS.values(), *GONE.values()], ids=[*EVENTS, *GONE])
def test_control_code_that_has_promised_nothing_is_not_asked(run, tmp_path, code):
    before = state(tmp_path)
    _, asked = run(code, is_promised=False)
    assert asked == []
    assert state(tmp_path) != before


@pytest.mark.parametrize("code", HONEST.values(), ids=HONEST)
def test_what_reads_computes_and_draws_is_not_asked(run, code):
    text, asked = run(code)
    assert asked == []
    assert "not allowed" not in text
    assert "Error" not in text


def test_a_yes_to_all_such_counts_for_this_code_alone(run, tmp_path):
    code = "for n in range(3):\n    open(f'out{n}', 'w').close()"
    _, asked = run(code, "a")
    assert len(asked) == 1
    assert "write out0" in asked[0]
    _, asked = run(code, "a")
    assert len(asked) == 1


def test_a_connection_is_asked_for_before_it_is_made(run):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        code = (
            "import socket\nwith socket.socket() as it:\n"
            f"    it.connect(('127.0.0.1', {server.getsockname()[1]}))"
        )
        _, asked = run(code)
        with pytest.raises(BlockingIOError):
            server.accept()
        assert "connect to 127.0.0.1" in asked[0]
        run(code, "y")
        server.accept()[0].close()


def test_a_name_that_is_looked_up_is_asked_for(run):
    text, asked = run("import socket\nsocket.getaddrinfo('example.invalid', 80)")
    assert "connect to example.invalid" in asked[0]
    assert "not allowed" in text


def test_what_others_do_meanwhile_is_not_the_codes(run, shell, tmp_path):
    begin, end = threading.Event(), threading.Event()

    def other() -> None:
        begin.wait(60)
        (tmp_path / "theirs").write_text("1")
        end.set()

    thread = threading.Thread(target=other)
    thread.start()
    shell.user_ns.update(begin=begin, end=end)
    _, asked = run("begin.set()\nend.wait(60)")
    thread.join()
    assert asked == []
    assert (tmp_path / "theirs").exists()


@pytest.mark.parametrize("name", ["system", "unlink"])
def test_what_is_called_of_the_systems_library_is_asked_for(run, name):
    _, asked = run(f"import ctypes\ncall = ctypes.CDLL('libc.so.6').{name}")
    assert f"call {name} of the system's own library" in asked[0]


def test_what_we_write_meanwhile_is_not_the_codes(shell, tmp_path, monkeypatch):
    """On one thread, as in a terminal: the conversation is on the disk before it is shown."""
    for name in ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    person = Person("n")
    monkeypatch.setattr(builtins, "input", person)
    lines = "for n in range(50):\n    print(n)\nlast = n"
    it = Session(model=ScriptedModel([code(lines)], [said("Done.")]), ask="changes")
    for _ in it.ask("Go."):
        pass
    assert person.asked == []
    assert it.messages[-2].content.endswith("49\n")
    assert it.journal.problem == ""
    it.close()
    assert list((tmp_path / "data").rglob("*.jsonl"))


PARQUET = "import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table({'a': [1]}), 'out')"
MADE_UNASKED = {
    "arrow": (PARQUET, "`out` was made"),
    "polars": ("import polars as pl\npl.DataFrame({'a': [1]}).write_csv('folder/out')",
               "`folder/out` was made"),
    "duckdb": ("import duckdb\nr = duckdb.sql(\"copy (select 1) to 'there'\")",
               "`there` was changed"),
}  # fmt: skip
"""Native code: no event tells of it."""


def breach_of(shell, code: str) -> str:
    python = LivePython(shell)
    list(python.run_promised(code))
    changes = python.changes()
    return "" if changes is None else changes.breach


MAKE_GARBAGE = (
    "class Old:\n    def __del__(self):\n        {act}\nold = Old()\nold.itself = old\ndel old"
)


def test_garbage_of_before_that_is_collected_meanwhile_asks_nothing(run, shell):
    gc.collect()
    gc.disable()
    try:
        shell.run_cell(MAKE_GARBAGE.format(act="__import__('os').remove('there')"))
        assert breach_of(shell, "import gc\nn = gc.collect()") == "`there` was removed"
    finally:
        gc.enable()


def test_what_a_finalizer_does_beside_files_is_listed_when_the_code_has_ended(run, shell):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        act = f"with __import__('socket').socket() as it: it.connect(('127.0.0.1', {port}))"
        code = f"import gc\n{MAKE_GARBAGE.format(act=act)}\nn = gc.collect()"
        found = breach_of(shell, code)
    assert found == f"a finalizer did this: connect to 127.0.0.1:{port}"


@pytest.mark.parametrize(("code", "breach"), MADE_UNASKED.values(), ids=MADE_UNASKED)
def test_files_that_native_code_wrote_are_found_when_it_has_ended(run, shell, code, breach):
    assert breach_of(shell, code) == breach
    assert breach_of(shell, "n = 1") == ""


def test_a_file_that_was_allowed_is_none(run, shell, monkeypatch):
    monkeypatch.setattr(builtins, "input", Person("y"))
    assert breach_of(shell, "open('out', 'w').close()") == ""
    assert breach_of(shell, f"open('one', 'w').close()\n{PARQUET}") == "`out` was changed"
    monkeypatch.setattr(builtins, "input", Person("a"))
    assert breach_of(shell, f"open('two', 'w').close()\n{PARQUET}") == ""


def test_names_and_files_make_one_sentence_and_many_are_counted(run, shell):
    shell.user_ns["mine"] = []
    assert breach_of(shell, f"{PARQUET}\nmine.append(1)") == "`mine` was changed and `out` was made"
    write = "pl.DataFrame({'a': [n]}).write_csv(f'of{n}')"
    breach = breach_of(shell, f"import polars as pl\nfor n in range(6):\n    {write}")
    assert breach == "`of0` was made, `of1` was made, `of2` was made and 3 more were changed"


def test_a_library_that_was_installed_without_byte_code_is_compiled_unasked(
    run, tmp_path, monkeypatch
):
    """As uv installs: the first import makes the folder, too."""
    library = tmp_path / "folder" / "uncompiled"
    library.mkdir()
    (library / "__init__.py").touch()
    monkeypatch.syspath_prepend(library.parent)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert run("import uncompiled")[1] == []
    assert (library / "__pycache__").is_dir()


@pytest.mark.parametrize("name", [".hidden", "notebook.ipynb", "__pycache__/it"])
def test_what_jupyter_and_python_save_by_themselves_is_none(run, shell, name):
    assert breach_of(shell, PARQUET.replace("out", name)) == ""


def test_a_folder_with_more_than_it_compares_is_left_out(run, shell, tmp_path, monkeypatch):
    monkeypatch.setattr(audit, "MAX_ENTRIES", 5)
    for n in range(6):
        (tmp_path / "folder" / f"of{n}").touch()
    assert breach_of(shell, PARQUET.replace("out", "folder/out")) == ""
    assert breach_of(shell, PARQUET) == "`out` was made"


def test_idle_it_looks_at_nothing(run):
    run("1")
    assert audit._promises == []
