"""What people write into cells, as blocks of a turn: it works, and the model reads what came."""

from __future__ import annotations

import re
import sys

import pytest

pytestmark = pytest.mark.kernel


def shown(frontend, code):
    """What the person sees of a block: (kind of message, its text or its mime types)."""
    cell = frontend.start(f"told = text({code!r})", allow_stdin=True)
    found = []
    for message in frontend.finish(cell):
        content = message["content"]
        if message["msg_type"] == "stream":
            found.append(("stream", content["text"]))
        elif message["msg_type"] in ("display_data", "execute_result"):
            found.append((message["msg_type"], sorted(content["data"])))
        elif message["msg_type"] == "error":
            found.append(("error", content["ename"]))
    assert frontend.status == "ok"
    return found, frontend.value("told")[0]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        # magics
        ("%%timeit -n 2 -r 2\n1 + 1", r"(The slowest run .*\n)?[\d.]+ .?s . .* per loop .*\n"),
        (
            "%%time\nx = sum(range(10))\nprint(x)",
            r"45\nCPU times: .*\nWall time: .*\n(Compiler : .*\n)?(Parser   : .*\n)?",
        ),
        ("%%bash\necho out", "out\n"),
        ("%%bash\necho err >&2", "err\n"),
        ("%%sh\necho sh", "sh\n"),
        ("%%python\nprint('another python')", "another python\n"),
        ("%%capture held\nprint(5)", ""),
        ("held.show()", "5\n"),
        ("%%writefile complete.txt\nhello", "Writing complete.txt\n"),
        ("!cat complete.txt && rm complete.txt", "hello\n"),
        ("%%markdown\n# T", "# T\n"),
        ("%%nosuch\nx", "UsageError: Cell magic `%%nosuch` not found.\n"),
        ("%nosuch", "UsageError: Line magic function `%nosuch` not found.\n"),
        ("%alias_magic tt time\n%tt 1", r"(?s).*Wall time: .*\n"),
        ("%run complete.py", r"run as __main__\n"),
        ("from_run", "1\n"),
        ("%env LMC_COMPLETE=1", "env: LMC_COMPLETE=1\n"),
        ("%matplotlib inline", ""),
        ("len?", r"(?s).*Return the number of items.*"),
        # the shell's own syntax
        ("files = !echo a; echo b\nfiles", r"\['a', 'b'\]\n"),
        ("!exit 3\n_exit_code", "3\n"),
        ("n = 4\n!echo {n} $n", "4 4\n"),
        ("!echo to stderr >&2", "to stderr\n"),
        # text of every origin
        ("import sys; print('e', file=sys.stderr); sys.stdout.write('w')", "e\nw\n1\n"),
        ("print('ünï ✓ 🎉')", "ünï ✓ 🎉\n"),
        ("import warnings; warnings.warn('careful')", r"(?s).*UserWarning: careful\n.*"),
        ("import logging; logging.warning('logged')", "WARNING:root:logged\n"),
        ("import subprocess; subprocess.run(['echo', 'low']);", "low\n"),
        ("help(abs)", r"(?s)Help on built-in function abs.*"),
        # threads, processes, tasks
        ("t = threading.Thread(target=print, args=('t',)); t.start(); t.join()", "t\n"),
        (
            "from concurrent.futures import ThreadPoolExecutor as Pool\n"
            "with Pool(2) as pool: print(sorted(pool.map(abs, [-1, 2])), pool.submit(print, 1)"
            ".result())",
            r"1\n\[1, 2\] None\n",
        ),
        (
            "import asyncio\n"
            "async def task(n):\n    await asyncio.sleep(0); print('task', n); return n\n"
            "await asyncio.gather(task(1), task(2))",
            r"task 1\ntask 2\n\[1, 2\]\n",
        ),
        (
            "async def many():\n    for i in range(2): yield i\n"
            "async for i in many(): print(i)\n[i async for i in many()]",
            r"0\n1\n\[0, 1\]\n",
        ),
        (
            "class Door:\n    async def __aenter__(self): return 'in'\n"
            "    async def __aexit__(self, *_): print('out')\n"
            "async with Door() as where: print(where)",
            "in\nout\n",
        ),
        ("await asyncio.create_task(task(3))", "task 3\n3\n"),
        # progress
        ("for i in range(3): print(f'\\r{i}', end='')", "\r0\r1\r2"),
        # exit
        ("import sys\nsys.exit('why')", "why\nexit\\(\\) ended this block only.*\n"),
        ("raise SystemExit(2)", "exit\\(\\) ended this block only.*\n"),
    ],
)
def test_what_the_model_reads(frontend, tmp_path_factory, code, told):
    frontend.run(
        "import os, pathlib\n"
        f"os.chdir({str(tmp_path_factory.getbasetemp())!r})\n"
        "pathlib.Path('complete.py').write_text('print(\"run as\", __name__); from_run = 1')"
    )
    frontend.told("get_ipython().Completer")  # nothing of the block before is left over
    (found,) = frontend.told(code)
    assert re.fullmatch(told, found), found


@pytest.mark.parametrize(
    ("code", "person", "model"),
    [
        (
            "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('2nd') from e",
            "ValueError",
            "Traceback (most recent call last):\n  line 4\n"
            "    raise ValueError('2nd') from e\nValueError: 2nd\n"
            "It came from ZeroDivisionError: division by zero\n",
        ),
        (
            "class Odd(Exception):\n    def __str__(self): raise RuntimeError\nraise Odd",
            "RuntimeError",
            "Odd: <exception str() failed>",
        ),
        ("def deep(n): deep(n + 1)\ndeep(0)", "RecursionError", "more frames …"),
        ("raise ValueError('x' * 50_000)", "ValueError", "characters left out …"),
        ("%%bash\nexit 3", "CalledProcessError", "returned non-zero exit status 3"),
        ("async def fails(): 1/0\nawait fails()", "ZeroDivisionError", "line 1, in fails"),
    ],
)
def test_an_error_is_whole_for_the_person_and_short_for_the_model(frontend, code, person, model):
    found, told = shown(frontend, code)
    assert ("error", person) in found
    assert model in told
    assert len(told) < 5_000
    assert "\x1b" not in told
    assert "lmc_jupyter" not in told


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups are from Python 3.11")
def test_a_group_of_errors_is_whole_for_the_person_and_short_for_the_model(frontend):
    inner = "ExceptionGroup('inner', [TypeError('b')])"
    found, told = shown(frontend, f"raise ExceptionGroup('many', [ValueError('a'), {inner}])")
    assert any("Exception Group Traceback" in text for kind, text in found if kind == "stream")
    head, _, members = told.partition("ExceptionGroup: many (2 sub-exceptions)\n")
    assert head.startswith("Traceback (most recent call last):\n  line 1\n")
    assert members == (
        "  1 of 2:\n    ValueError: a\n  2 of 2:\n    ExceptionGroup: inner (1 sub-exception)\n"
        "      1 of 1:\n        TypeError: b\n"
    )


def test_a_pager_opens_for_the_person_and_is_read_by_the_model(frontend):
    cell = frontend.start("told = text('len?')")
    frontend.finish(cell)
    (payload,) = frontend.reply(cell)["content"]["payload"]
    assert "Return the number of items" in payload["data"]["text/plain"]
    assert "Return the number of items" in frontend.value("told")[0]


def test_a_progress_bar_of_text(frontend):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    found, told = shown(frontend, "from tqdm import tqdm\nfor i in tqdm(range(20)): pass")
    assert all(kind == "stream" for kind, _ in found)
    assert "".join(text for _, text in found) == told
    assert told.rpartition("\r")[2].startswith("100%")


@pytest.mark.parametrize(("stop", "at"), [("", "100%"), (": \n  if i == 5: break", "5/20")])
def test_a_progress_bar_of_widgets_says_where_it_got(frontend, stop, at):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    code = f"from tqdm.notebook import tqdm\nfor i in tqdm(range(20)){stop or ': pass'}"
    found, told = shown(frontend, code)
    kinds = [kinds for kind, kinds in found if kind == "display_data"]
    assert kinds == [["application/vnd.jupyter.widget-view+json", "text/plain"]]
    first, last = told.splitlines()
    assert "0/20" in first
    assert at in last


def test_a_widget_is_live_and_its_last_text_is_for_the_model_alone(frontend):
    frontend.run("import ipywidgets")
    code = (
        "s = ipywidgets.IntSlider()\n"
        "s.observe(lambda change: print('seen', change['new']), 'value')\n"
        "display(s)\ns.value = 4"
    )
    (chunks,) = frontend.blocks(code)
    texts = [(c["content"], c.get("recipient")) for c in chunks if c.get("format") == "output"]
    assert "".join(said for said, whom in texts if whom is None) == "IntSlider(value=0)\nseen 4\n"
    assert texts[-1] == ("IntSlider(value=4)\n", "assistant")
    frontend.run("s.value = 7")
    assert frontend.value("s.value") == 7
    assert frontend.told("s")[0] == "IntSlider(value=7)\n"
    assert frontend.told("1") == ["1\n"]  # what was shown before is not told again


def test_interact_and_an_output_widget(frontend):
    (told,) = frontend.told("ipywidgets.interact(lambda x: print('x is', x), x=3);")
    assert told.startswith("x is 3\ninteractive(children=(IntSlider(")
    (told,) = frontend.told("out = ipywidgets.Output()\nwith out: print('inside')\nout")
    assert "inside" in told


def test_every_figure_is_an_image_in_its_place(frontend):
    frontend.run("import matplotlib.pyplot as plt")
    code = "for i in range(2):\n    print(i); plt.figure(); plt.plot([1, i]); plt.show()"
    (chunks,) = frontend.blocks(code)
    order = [
        "an image|" if c["type"] == "image" else c["content"]
        for c in chunks
        if c["type"] == "image" or c.get("format") == "output"
    ]
    assert "".join(order) == "0\nan image|1\nan image|"  # a line may come in pieces
