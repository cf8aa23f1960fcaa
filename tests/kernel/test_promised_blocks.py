"""Code under `ask = "changes"`, really run: what it does beyond reading and new names does not
happen without a yes, and what keeps its promise ends as it does in a cell.

Each hostile block runs with the watch, where nobody says yes, and without it, as the control: there
the folder or the server must tell of it.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import itertools
import re
import socket
import socketserver
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.utils.capture import capture_output
from sampling import sample

from lmc_jupyter.computer.effects import find_effects
from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.gate import HARMLESS

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="its files and programs are those of Linux"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FILES = {
    "open": "open('out', 'w').close()",
    "open to make": "open('out', 'x').close()",
    "open to append": "open('there', 'a').write('more')",
    "open to update": "with open('there', 'r+') as file: file.write('new')",
    "io": "import io\nio.open('out', 'wb').close()",
    "FileIO": "import io\nio.FileIO('out', 'w').close()",
    "codecs": "import codecs\ncodecs.open('out', 'w', 'utf-8').close()",
    "os.open": "import os\nos.close(os.open('out', os.O_CREAT | os.O_RDWR))",
    "os.open of a folder": (
        "import os\nf = os.open('.', os.O_RDONLY)\n"
        "os.close(os.open('out', os.O_CREAT | os.O_WRONLY, dir_fd=f))\nos.close(f)"
    ),
    "write_text": "from pathlib import Path\nPath('out').write_text('1')",
    "write_bytes": "from pathlib import Path\nPath('out').write_bytes(b'1')",
    "touch": "from pathlib import Path\nPath('out').touch()",
    "mkdir": "from pathlib import Path\nPath('out').mkdir()",
    "makedirs": "import os\nos.makedirs('out/of')",
    "rename": "import os\nos.rename('there', 'out')",
    "replace": "from pathlib import Path\nPath('there').replace('out')",
    "copy": "import shutil\nshutil.copyfile('there', 'out')",
    "copytree": "import shutil\nshutil.copytree('folder', 'out')",
    "move": "import shutil\nshutil.move('there', 'out')",
    "archive": "import shutil\nshutil.make_archive('out', 'zip', 'folder')",
    "symlink": "import os\nos.symlink('there', 'out')",
    "link": "import os\nos.link('there', 'out')",
    "remove": "import os\nos.remove('there')",
    "unlink": "from pathlib import Path\nPath('there').unlink()",
    "rmtree": "import shutil\nshutil.rmtree('folder')",
    "rmdir": "import os\nos.rmdir('folder/empty')",
    "truncate": "import os\nos.truncate('there', 1)",
    "chmod": "import os\nos.chmod('there', 0o777)",
    "an open file's rights": "import os\nf = open('there')\nos.fchmod(f.fileno(), 0o777)",
    "utime": "import os\nos.utime('there', (1, 1))",
    "zip": "import zipfile\nwith zipfile.ZipFile('out', 'w') as z: z.writestr('a', 'b')",
    "tar": "import tarfile\nwith tarfile.open('out', 'w') as t: t.add('there')",
    "gzip": "import gzip\ngzip.open('out', 'wb').close()",
    "bz2": "import bz2\nbz2.open('out', 'wb').close()",
    "lzma": "import lzma\nlzma.open('out', 'wb').close()",
    "csv": "import csv\nwith open('out', 'w') as f: csv.writer(f).writerow([1])",
    "json": "import json\nwith open('out', 'w') as f: json.dump([1], f)",
    "pickle": "import pickle\nwith open('out', 'wb') as f: pickle.dump([1], f)",
    "shelve": "import shelve\nwith shelve.open('out') as s: s['a'] = 1",
    "dbm": "import dbm.dumb\nwith dbm.dumb.open('out') as d: d['a'] = '1'",
    "sqlite": (
        "import sqlite3\nc = sqlite3.connect('out')\nc.execute('create table t (a)')\nc.close()"
    ),
    "logging": "import logging\nh = logging.FileHandler('out')\nh.close()",
    "configuration": (
        "import configparser\nc = configparser.ConfigParser()\n"
        "with open('out', 'w') as f: c.write(f)"
    ),
    "xml": "import xml.etree.ElementTree as e\ne.ElementTree(e.Element('a')).write('out')",
    "wave": (
        "import wave\nw = wave.open('out', 'wb')\nw.setparams((1, 2, 8000, 0, 'NONE', ''))\n"
        "w.writeframes(b'')\nw.close()"
    ),
    "in place": (
        "import fileinput\nwith fileinput.input('there', inplace=True) as f:\n"
        "    for each in f: print(each * 2)"
    ),
    "temporary elsewhere": "import tempfile\nt = tempfile.mkdtemp(dir='.')",
    "temporary that stays": (
        "import tempfile, os\nt = tempfile.NamedTemporaryFile(delete=False)\n"
        "os.replace(t.name, 'out')"
    ),
    "numpy.save": "import numpy as np\nnp.save('out', np.arange(3))",
    "numpy.savez": "import numpy as np\nnp.savez('out', a=np.arange(3))",
    "numpy.savetxt": "import numpy as np\nnp.savetxt('out', np.arange(3))",
    "numpy.memmap": "import numpy as np\nm = np.memmap('out', 'u1', 'w+', shape=3)",
    "to_csv": "import pandas as pd\npd.DataFrame({'a': [1]}).to_csv('out')",
    "to_json": "import pandas as pd\npd.DataFrame({'a': [1]}).to_json('out')",
    "to_pickle": "import pandas as pd\npd.DataFrame({'a': [1]}).to_pickle('out')",
    "to_html": "import pandas as pd\npd.DataFrame({'a': [1]}).to_html('out')",
    "savefig": (
        "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n"
        "plt.figure().savefig('out.png')"
    ),
    "Image.save": "from PIL import Image\nImage.new('L', (2, 2)).save('out.png')",
    "write_html": "import plotly.express as px\npx.line(x=[1], y=[1]).write_html('out')",
    "altair": "import altair as alt\nalt.Chart().mark_bar().save('out.json', validate=False)",
}
"""What changes the folder."""
PROGRAMS = {
    "run": "import subprocess\nsubprocess.run(['touch', 'out'])",
    "of a shell": "import subprocess\nsubprocess.run('touch out', shell=True)",
    "Popen": "import subprocess\nsubprocess.Popen(['touch', 'out']).wait()",
    "getoutput": "import subprocess\nsubprocess.getoutput('touch out')",
    "check_output": "import subprocess\nsubprocess.check_output(['touch', 'out'])",
    "system": "import os\nn = os.system('touch out')",
    "popen": "import os\nos.popen('touch out').close()",
    "posix_spawn": (
        "import os\nos.waitpid(os.posix_spawn('/bin/touch', ['touch', 'out'], os.environ), 0)"
    ),
    "spawn": "import os\nn = os.spawnlp(os.P_WAIT, 'touch', 'touch', 'out')",
    "fork": (
        "import os\np = os.fork()\nif p == 0:\n    open('out', 'w').close()\n    os._exit(0)\n"
        "os.waitpid(p, 0)"
    ),
    "pty": (
        "import os, pty\np, f = pty.fork()\nif p == 0:\n    open('out', 'w').close()\n"
        "    os._exit(0)\nos.waitpid(p, 0)"
    ),
    "multiprocessing": (
        "import multiprocessing\n"
        "p = multiprocessing.get_context('fork').Process(target=open, args=('out', 'w'))\n"
        "p.start()\np.join()"
    ),
    "asyncio": (
        "import asyncio\nl = asyncio.new_event_loop()\n"
        "p = l.run_until_complete(asyncio.create_subprocess_exec('touch', 'out'))\n"
        "n = l.run_until_complete(p.wait())\nl.close()"
    ),
}
CONNECTIONS = {
    "connect": "import socket\ns = socket.socket()\ns.connect(('127.0.0.1', PORT))\ns.close()",
    "connect_ex": (
        "import socket\ns = socket.socket()\nn = s.connect_ex(('127.0.0.1', PORT))\ns.close()"
    ),
    "create_connection": "import socket\nsocket.create_connection(('127.0.0.1', PORT)).close()",
    "by name": "import socket\nsocket.create_connection(('localhost', PORT)).close()",
    "urllib": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:PORT').close()",
    "http": (
        "import http.client\nc = http.client.HTTPConnection('127.0.0.1', PORT)\n"
        "c.connect()\nc.close()"
    ),
    "requests": "import requests\nr = requests.get('http://127.0.0.1:PORT')",
    "httpx": "import httpx\nr = httpx.get('http://127.0.0.1:PORT', trust_env=False)",
    "ftp": (
        "import ftplib\ntry: ftplib.FTP().connect('127.0.0.1', PORT, 9)\nexcept Exception: pass"
    ),
    "mail": (
        "import smtplib\ntry: smtplib.SMTP('127.0.0.1', PORT, timeout=9)\nexcept Exception: pass"
    ),
    "xmlrpc": (
        "import xmlrpc.client\ntry: xmlrpc.client.ServerProxy('http://127.0.0.1:PORT').a()\n"
        "except Exception: pass"
    ),
    "asyncio": (
        "import asyncio\nl = asyncio.new_event_loop()\n"
        "r, w = l.run_until_complete(asyncio.open_connection('127.0.0.1', PORT))\n"
        "w.close()\nl.close()"
    ),
    "pandas": "import pandas as pd\nd = pd.read_csv('http://127.0.0.1:PORT/a.csv')",
    "numpy": "import numpy as np\nd = np.loadtxt('http://127.0.0.1:PORT/a.csv')",
}
"""What a server counts."""
PLACES = {
    "as it is": "{0}",
    "in a function": "def it():\n{1}\nit()",
    "in a class": "class It:\n    def __enter__(self): pass\n    def __exit__(self, *a):\n{2}\n"
    "with It(): pass",
    "in a thread": "import threading\ndef it():\n{1}\nt = threading.Thread(target=it)\nt.start()\n"
    "t.join()",
    "in except": "try:\n{1}\nexcept Exception:\n    print('went on by another way')",
}
"""Where the code does it."""


class Server(socketserver.ThreadingTCPServer):
    """Remembers who connects, and answers an empty table."""

    daemon_threads = True

    def __init__(self) -> None:
        self.accepted: list[Any] = []
        self.changed = threading.Condition()
        super().__init__(("127.0.0.1", 0), Answer)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.changed:
            self.accepted.append(client_address)
            self.changed.notify_all()
        super().process_request(request, client_address)

    def count(self) -> int:
        """How many have connected until now, this question not among them."""
        with socket.create_connection(self.server_address) as mine:
            address = mine.getsockname()
            with self.changed:
                assert self.changed.wait_for(lambda: address in self.accepted, 60)
                self.accepted.remove(address)
                return len(self.accepted)


class Answer(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        with contextlib.suppress(OSError):
            self.request.settimeout(0.2)  # a client may say nothing, and wait for us
            self.request.recv(1000)
        with contextlib.suppress(OSError):
            self.request.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\n1\n2\n")


@pytest.fixture(autouse=True, scope="module")
def _garbage_of_these_blocks_is_collected_here() -> Iterator[None]:
    """What was stopped half made complains when it goes: here, and not in the test of another. The
    last shell holds some of it, and the last traceback."""
    yield
    sys.last_value = sys.last_traceback = None
    gc.collect()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    place = tmp_path / "place"  # what code writes beside it is looked at, too
    (place / "folder" / "empty").mkdir(parents=True)
    (place / "there").write_text("there\n")
    monkeypatch.chdir(place)
    return place


def state(folder: Path) -> dict[str, Any]:
    """Each file: its mode, its time and its bytes; each folder."""

    def of(path: Path) -> Any:
        if not path.is_file():
            return None
        return path.lstat().st_mode, path.stat().st_mtime_ns, path.read_bytes()

    return {str(path.relative_to(folder)): of(path) for path in folder.rglob("*")}


def put(code: str, place: str) -> str:
    """The code in this place."""
    return PLACES[place].format(code, *(textwrap.indent(code, " " * n) for n in (4, 8)))


def run(shell: Any, code: str, *, is_promised: bool) -> str:
    python = LivePython(shell)
    pieces = python.run_promised(code) if is_promised else python.run(code)
    return "".join(str(each.content) for each in pieces if each.format == "output")


HOSTILE = [
    pytest.param(put(code, place), id=f"{name} {place}")
    for (name, code), place in itertools.product(
        [*FILES.items(), *PROGRAMS.items(), *CONNECTIONS.items()], PLACES
    )
]


@pytest.mark.parametrize("code", sample(HOSTILE, 8))
def test_what_is_outside_the_promise_does_not_happen(shell, folder, server, monkeypatch, code):
    questions: list[str] = []
    monkeypatch.setattr(builtins, "input", lambda prompt="": questions.append(prompt) or "n")
    code = code.replace("PORT", str(server.server_address[1]))
    before = state(folder), server.count()
    text = run(shell, code, is_promised=True)
    assert (state(folder), server.count()) == before
    assert questions
    assert "went on by another way" not in text
    # the control: nobody watches
    questions.clear()
    run(shell, code, is_promised=False)
    assert questions == []
    assert (state(folder), server.count()) != before
    gc.collect()  # what was stopped half made holds descriptors


# What goes round the watch, and the two other eyes ------------------------------------------------

ROUND = {
    "mkfifo": ("import os\nos.mkfifo('out')", True),
    "mknod": ("import os\nos.mknod('out')", True),
    "arrow": (
        "import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table({'a': [1]}), 'out')",
        True,
    ),
    "arrow's own files": (
        "import pyarrow.fs as fs\nfs.LocalFileSystem().create_dir('out')",
        True,
    ),
    "polars csv": ("import polars as pl\npl.DataFrame({'a': [1]}).write_csv('out')", True),
    "polars parquet": ("import polars as pl\npl.DataFrame({'a': [1]}).write_parquet('out')", True),
    "polars sink": ("import polars as pl\npl.LazyFrame({'a': [1]}).sink_csv('out')", True),
    "pandas parquet": ("import pandas as pd\npd.DataFrame({'a': [1]}).to_parquet('out')", True),
    "duckdb": ("import duckdb\nr = duckdb.sql(\"copy (select 1 as a) to 'out'\")", True),
    "duckdb file": ("import duckdb\nduckdb.connect('out').close()", True),
    "a program without an event": (
        "import _posixsubprocess, os\nr, w = os.pipe()\n"
        "p = _posixsubprocess.fork_exec([b'touch', b'out'], [b'/bin/touch'], True, (w,), None,"
        " None, -1, -1, -1, -1, -1, -1, r, w, False, False, -1, None, None, None, -1, None"
        + (", False)" if sys.version_info < (3, 14) else ")")
        + "\nos.close(w)\nos.waitpid(p, 0)",
        True,
    ),
    "elsewhere": (
        "import polars as pl\npl.DataFrame({'a': [1]}).write_csv('../elsewhere')",
        False,
    ),
}
"""Code without an event, and whether the listing of the folder finds what it did."""


@pytest.mark.parametrize(
    ("code", "is_found"), [pytest.param(*each, id=name) for name, each in sample(ROUND.items(), 3)]
)
def test_what_goes_round_the_watch_is_asked_for_before_or_found_after(
    shell, folder, monkeypatch, code, is_found
):
    questions: list[str] = []
    monkeypatch.setattr(builtins, "input", lambda prompt="": questions.append(prompt) or "n")
    if "fork_exec" in code and sys.version_info < (3, 11):
        pytest.skip("its arguments are others")
    effects = find_effects("python", code, shell.user_ns, shell)
    assert any(each.kind not in HARMLESS for each in effects)
    before = state(folder.parent)
    python = LivePython(shell)
    list(python.run_promised(code))
    assert questions == []
    assert state(folder.parent) != before
    changes = python.changes()
    assert ("" if changes is None else changes.breach) == ("`out` was made" if is_found else "")


# What keeps its promise ---------------------------------------------------------------------------

SET_UP = """
import numpy as np, pandas as pd, polars as pl
df = pd.DataFrame({
    'city': ['Oslo', 'Bergen', 'Oslo', 'Paris', 'Bergen', 'Oslo'],
    'price': [3.5, 2.0, 7.25, 1.0, 9.5, 4.0],
    'units': [1, 2, 3, 4, 5, 6],
    'day': pd.date_range('2026-01-01', periods=6),
})
ar = np.arange(12.0).reshape(3, 4)
words = 'the quick brown fox jumps over the lazy dog'.split()
lf = pl.DataFrame({'a': [1, 2, 3, 4], 'b': ['x', 'y', 'x', 'y']})
"""
NUMBERS = (1, 2, 3, 5, 8)
COLUMNS = ("price", "units", "city", "day", "index")
HOW = ("mean", "sum", "min", "max", "count")
HONEST = {
    "df.head({0})": NUMBERS,
    "df.tail({0})": NUMBERS,
    "df.nlargest({0}, 'price')": NUMBERS,
    "df.sample({0}, random_state=1, replace=True)": NUMBERS,
    "df.groupby('city').price.{0}()": HOW,
    "df.groupby('city').units.agg('{0}')": HOW,
    "df.pivot_table(index='city', values='price', aggfunc='{0}')": HOW,
    "df.price.rolling(2).{0}()": HOW,
    "df.set_index('day').price.resample('2D').{0}()": HOW,
    "print(df.reset_index()['{0}'].describe())": COLUMNS,
    "df.reset_index()['{0}'].value_counts()": COLUMNS,
    "df.reset_index().sort_values('{0}').iloc[0]": COLUMNS,
    "df.reset_index()['{0}'].isna().sum()": COLUMNS,
    "best = df[df.units > {0}]\nbest": NUMBERS,
    "more = df.assign(total=df.price * {0})\nmore.total.round(2).tolist()": NUMBERS,
    "cut = pd.cut(df.price, {0})\ncut.cat.categories.size": NUMBERS,
    "both = df.merge(df.head({0}), on='city')\nboth.shape": NUMBERS,
    "z = (df.price - df.price.mean()) / df.price.std()\nprint(z.round({0}).tolist())": NUMBERS,
    "text = df.head({0}).to_csv(index=False)\nprint(text)": NUMBERS,
    "text = df.head({0}).to_json()\nprint(text)": NUMBERS,
    "d = df.head({0}).to_dict('records')\nlen(d)": NUMBERS,
    "np.linspace(0, 1, {0})": NUMBERS,
    "(ar ** {0}).sum()": NUMBERS,
    "np.linalg.norm(ar, axis=0) * {0}": NUMBERS,
    "np.random.default_rng({0}).normal(size=3)": NUMBERS,
    "np.percentile(ar, [{0}, 50])": NUMBERS,
    "np.fft.rfft(ar[0], n={0} + 1)": NUMBERS,
    "inverse = np.linalg.inv(np.eye({0}) * 2)\ninverse.trace()": NUMBERS,
    "lf.head({0})": NUMBERS,
    "lf.filter(pl.col('a') >= {0})": NUMBERS,
    "lf.group_by('b').agg(pl.col('a').{0}()).sort('b')": HOW,
    "lf.lazy().select(pl.col('a') * {0}).collect()": NUMBERS,
    "from collections import Counter\nCounter(words).most_common({0})": NUMBERS,
    "sorted(words, key=len)[:{0}]": NUMBERS,
    "for word in words[:{0}]:\n    print(word.upper())": NUMBERS,
    "def double(value):\n    return 2 * value\n[double(n) for n in range({0})]": NUMBERS,
    "class Point:\n    def __init__(self, x):\n        self.x = x\nPoint({0}).x": NUMBERS,
    "import math\nmath.factorial({0})": NUMBERS,
    "import statistics\nstatistics.quantiles(range(10), n={0} + 1)": NUMBERS,
    "from fractions import Fraction\nFraction({0}, 7) + 1": NUMBERS,
    "from datetime import date, timedelta\ndate(2026, 1, 1) + timedelta({0})": NUMBERS,
    "from zoneinfo import ZoneInfo\nfrom datetime import datetime\n"
    "datetime(2026, {0}, 1, tzinfo=ZoneInfo('Europe/Oslo')).utcoffset()": NUMBERS,
    "import json\nprint(json.dumps({{'a': [{0}]}}, indent=1))": NUMBERS,
    "import re\nre.findall(r'\\w{{{0}}}', ' '.join(words))": NUMBERS,
    "import itertools\nlist(itertools.combinations(range(4), {0}))": NUMBERS,
    "import textwrap\nprint(textwrap.fill(' '.join(words), 10 + {0}))": NUMBERS,
    "import random\nrandom.Random({0}).choice(words)": NUMBERS,
    "import hashlib\nhashlib.sha256(b'{0}').hexdigest()": NUMBERS,
    "import os\nsorted(os.listdir('.'))[:{0}]": NUMBERS,
    "from pathlib import Path\nPath('there').read_text() * {0}": NUMBERS,
    "with open('there') as file:\n    lines = file.readlines()\nlines[:{0}]": NUMBERS,
    "pd.read_csv('there', nrows={0})": NUMBERS,
    "import sqlite3\nsqlite3.connect(':memory:').execute('select {0} + 1').fetchall()": NUMBERS,
    "import duckdb\nduckdb.sql('select {0} + 1').fetchall()": NUMBERS,
    "import io\nbuffer = io.StringIO()\ndf.head({0}).to_csv(buffer)\nbuffer.getvalue()": NUMBERS,
    "try:\n    1 / (1 - {0})\nexcept ZeroDivisionError as error:\n    print(error)": NUMBERS,
    "missing_{0}": NUMBERS,
    "import tempfile\nwith tempfile.TemporaryFile() as file:\n"
    "    n = file.write(b'1' * {0})\nn": NUMBERS,
    "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n"
    "figure, axes = plt.subplots()\nlines = axes.plot(range({0}))\nfigure.canvas.draw()\n"
    "plt.close(figure)\nlen(lines)": NUMBERS,
    "import plotly.express as px\nlen(px.bar(df.head({0}), x='city', y='price').data)": NUMBERS,
    "import altair as alt\n"
    "alt.Chart(df.head({0})).mark_bar().to_dict(validate=False)['mark']": NUMBERS,
}
CODES = [template.format(each) for template, values in HONEST.items() for each in values]


def printed_in_a_cell(shell: Any, code: str) -> str:
    """What a cell prints, without the colours and places of a traceback."""
    shell.user_ns.pop("_", None)
    with capture_output() as output:
        shell.run_cell(code)
    return output.stdout


@pytest.fixture
def set_up(shell, folder):
    shell.run_cell(SET_UP)
    before = dict(shell.user_ns)
    yield
    for name in set(shell.user_ns) - set(before):
        del shell.user_ns[name]


@pytest.mark.parametrize("code", sample(CODES, 8), ids=str)
def test_what_keeps_its_promise_ends_as_in_a_cell(shell, folder, set_up, monkeypatch, code):
    questions: list[str] = []
    monkeypatch.setattr(builtins, "input", lambda prompt="": questions.append(prompt) or "n")
    before = state(folder)
    with capture_output() as shown:
        python = LivePython(shell)
        list(python.run_promised(code))
    changes = python.changes()
    assert questions == []
    assert changes is None or changes.breach == ""
    assert state(folder) == before
    expected = printed_in_a_cell(shell, code)
    assert _plain(shown.stdout) == _plain(expected)
    assert ("Error" in expected) is code.startswith("missing")


def _plain(text: str) -> str:
    """Without colours, the numbers of cells and their files' names."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return re.sub(r"Out\[\d+\]|<ipython-input-\d+-\w+>|In\[\d+\]|Cell In ?\[\d+\]", "", text)


def test_there_are_three_hundred_of_each():
    assert len(HOSTILE) >= 300
    assert len(CODES) >= 300
    assert len(set(CODES)) == len(CODES)
