"""A plain script, without a kernel: the same python, in the script's own namespace."""

from __future__ import annotations

import subprocess
import sys
import textwrap

BEGIN = """
import sys
from lmc_jupyter.computer.languages.python import LivePython
python = LivePython()
def told(code):
    return "".join(c.content for c in python.run(code) if c.format == "output")
def say(*words):
    print(*words, file=sys.stderr)
"""


def script(code, check=True):
    """Run a script; what it printed natively, and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_variables_are_those_of_the_script_both_ways():
    _, said = script("x = 20; told('y = x + 1'); say(y, told('y'))")
    assert said == "21 21\n\n"


def test_what_is_printed_is_shown_once_and_told_once():
    shown, said = script("say(repr(told('print(1)\\nprint(2)')))")
    assert shown == "1\n2\n"
    assert said == "'1\\n2\\n'\n"


def test_pieces_come_while_the_code_runs():
    _, said = script(
        """
        seen, told = [], {}
        for chunk in python.run('for i in range(3):\\n    print(i); seen.append(i)'):
            if chunk.format == 'output':  # a slow machine hands over the line end by itself
                told[len(seen)] = told.get(len(seen), '') + chunk.content
        say(told)
        """
    )
    assert said == "{0: '0\\n', 1: '1\\n', 2: '2\\n'}\n"


def test_a_line_that_is_printed_in_pieces_after_a_pause_comes_as_one():
    _, said = script(
        """
        code = "import time\\nfor i in '012':\\n    time.sleep(0.05); print('adding', i, 'to it')"
        say([c.content for c in python.run(code) if c.format == 'output'])
        """
    )
    assert said == "['adding 0 to it\\n', 'adding 1 to it\\n', 'adding 2 to it\\n']\n"


def test_a_line_that_stays_open_comes_with_the_next_write():
    _, said = script(
        """
        import lmc_jupyter.computer.languages.python_greenlet as module
        now = [1.0]
        module.monotonic = lambda: now[0]
        done = []
        code = "for i in range(3):\\n    print('.', end=''); now[0] += 1; done.append(i)"
        for chunk in python.run(code):
            if chunk.format == 'output': say(chunk.content, done)
        """
    )
    assert said == ".. [0]\n. [0, 1]\n"


def test_text_without_a_line_end_comes_when_it_is_flushed():
    _, said = script(
        """
        done = []
        for chunk in python.run("print('…', end='', flush=True); done.append(1)"):
            if chunk.format == 'output': say(ascii(chunk.content), done)
        """
    )
    assert said == "'\\u2026' []\n"


def test_going_away_halts_the_code_where_it_is_and_cleans_up():
    _, said = script(
        """
        done = []
        code = 'for i in range(100): print(i); done.append(i)'
        code = f'try:\\n    {code}\\nfinally: done.append("end")'
        for chunk in python.run(code):
            if chunk.format == 'output' and '2' in chunk.content: break
        del chunk
        say(done, repr(told('1')))
        """
    )
    assert said.splitlines()[-1] == "[0, 1, 'end'] '1\\n'"


def test_code_that_refuses_to_end_never_goes_on():
    _, said = script(
        """
        done = []
        code = 'while True:\\n    try: print(1); done.append(1)\\n    except BaseException: pass'
        pieces = python.run(code)
        next(pieces); next(pieces)
        pieces.close()
        say(done == [], repr(told('2')), done == [])
        """
    )
    assert said.splitlines()[-1] == "True '2\\n' True"


def test_an_interrupt_ends_the_code_and_then_the_reader():
    _, said = script(
        """
        import threading
        code = 'print("on")\\nwhile True: pass'
        text, stopper = '', threading.Thread(target=python.stop)
        try:
            for chunk in python.run(code):
                if chunk.format == 'output':
                    if not text: stopper.start()
                    text += chunk.content
        except KeyboardInterrupt:
            stopper.join()
            say('ended', repr(text), repr(told('3')))
        """
    )
    assert said.splitlines()[-1] in {  # it may come before the first line has ended
        rf"ended 'on\nIt was at line {line}.\nKeyboardInterrupt\n' '3\n'" for line in (1, 2)
    }


def test_errors_results_figures_and_await():
    _, said = script(
        """
        say(repr(told('1/0')))
        say(repr(told('import asyncio\\nawait asyncio.sleep(0)\\n5')))
        code = 'import matplotlib.pyplot as plt\\nplt.plot([1, 2]);'
        say([c.format for c in python.run(code) if c.type == 'image'])
        """
    )
    lines = said.splitlines()
    assert lines[0].endswith("ZeroDivisionError: division by zero\\n'")
    assert lines[1] == "'5\\n'"
    assert lines[2] == "['base64.png']"


def test_exit_ends_the_block_and_not_the_script():
    _, said = script("say(repr(told('exit()'))); say(repr(told('import sys; sys.exit(3)')))")
    assert [line for line in said.splitlines() if line.startswith("'exit()")] == [
        "'exit() ended this block only: the kernel goes on.\\n'"
    ] * 2


def test_a_forked_child_of_the_code_does_not_come_back_as_the_script():
    shown, said = script(
        """
        code = '''
        import os, warnings
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # Python 3.12 warns of forks beside threads
            pid = os.fork()
        if pid == 0:
            print('child', flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        print('parent')
        '''
        import textwrap
        say(told(textwrap.dedent(code)).split(), 'end')
        """
    )
    assert said == "['parent'] end\n"
    assert sorted(shown.split()) == ["child", "parent"]


def test_no_history_is_written():
    _, said = script(
        """
        told('1')
        history = python.shell.history_manager
        say(history.enabled, history.hist_file)
        """
    )
    assert said == "False :memory:\n"


def test_variables_are_told_for_the_model():
    _, said = script("answer = 42; told('1'); say(python.names())")
    assert "answer: int" in said


def test_a_script_ends_with_its_shell_open_and_leaves_nothing():
    _, said = script(
        """
        from lmc_jupyter.computer import default_computer
        computer = default_computer()
        say(''.join(c.content for c in computer.run('shell', 'sleep 600 & echo $!')))
        """
    )
    import psutil

    job = int(said)
    gone = [p for p in psutil.process_iter() if p.pid == job]
    psutil.wait_procs(gone, timeout=60)
    assert not psutil.pid_exists(job)
