"""Kernels of other languages: real ones, and one whose every habit is bad."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import pytest
from stopping import stopped_after

from lmc_jupyter.computer import lookups
from lmc_jupyter.computer.languages import jupyter_kernel
from lmc_jupyter.computer.languages.jupyter_kernel import wait_for
from lmc_jupyter.computer.languages.subkernel import SubKernel, kernelspec_for, kernelspecs
from lmc_jupyter.computer.process import reaper
from lmc_jupyter.computer.process.engine import Patience
from lmc_jupyter.errors import ComputerError

pytestmark = pytest.mark.long

posix = pytest.mark.skipif(os.name != "posix", reason="sessions and signals are of POSIX")
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 40).decode()


def said(kernel, code):
    return "".join(str(piece.content) for piece in kernel.run(code))


def read(pieces, word):
    """What is said up to that word."""
    text = ""
    while word not in text:
        text += str(next(pieces).content)
    return text


@pytest.fixture(scope="module")
def shared_python():
    it = SubKernel("python3", "snake")
    yield it
    it.close()


@pytest.fixture
def python(shared_python):
    """A python kernel, the same for all tests; those that end it leave a new one."""
    yield shared_python
    shared_python.screen = None


@pytest.fixture(scope="module")
def shared_r():
    if kernelspec_for("r") is None:
        pytest.skip("not run: there is no Jupyter kernel for R (IRkernel)")
    it = SubKernel("", "r")
    yield it
    it.close()


@pytest.fixture
def r(shared_r):
    yield shared_r
    shared_r.screen = None


class Person:
    """A front end in which somebody answers."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def expect(self, code):
        return None

    def ask(self, prompt, password=False):
        self.asked.append((prompt, password, threading.get_ident()))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


# Which kernels there are --------------------------------------------------------------------------


def kernelspec(place, name, argv, language, **more):
    directory = place / "kernels" / name
    directory.mkdir(parents=True)
    spec = {"argv": argv, "display_name": name, "language": language, **more}
    (directory / "kernel.json").write_text(json.dumps(spec))


def test_a_kernel_is_found_by_its_language_once_the_last_look_holds_no_more(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setattr(lookups, "SECONDS", 0.0)
    (tmp_path / "kernels").mkdir()
    assert kernelspec_for("Klingon") is None
    assert "no Jupyter kernel for klingon" in SubKernel("", "klingon").availability().missing
    kernelspec(tmp_path, "kl", ["kl", "{connection_file}"], "Klingon")
    assert kernelspec_for("KLINGON") == "kl"
    assert "'kl'" in SubKernel("", "klingon").availability().how
    found = kernelspecs()
    found.clear()
    assert kernelspec_for("klingon") == "kl"


def test_a_kernel_that_is_not_there_is_a_sentence():
    with pytest.raises(ComputerError, match=r"no Jupyter kernel named 'nope'.*nothing was run"):
        next(SubKernel("nope", "nope").run("1"))
    with pytest.raises(ComputerError, match="no Jupyter kernel for klingon: install one"):
        next(SubKernel("", "klingon").run("1"))


@pytest.mark.parametrize("language", ["python", "klingon"])  # by a file, and by ports
def test_a_kernel_that_does_not_start_says_its_last_words(tmp_path, monkeypatch, language):
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(tmp_path.iterdir())
    dies = [sys.executable, "-c", "raise SystemExit('no such luck')", "{connection_file}"]
    kernelspec(tmp_path, "dies", dies, language)
    kernelspec(tmp_path, "void", [str(tmp_path / "no-program"), "{connection_file}"], language)
    says = "ended while it started" + (": no such luck" if os.name == "posix" else "")
    with pytest.raises(ComputerError, match=f"{says}; nothing was run"):
        next(SubKernel("dies", "x").run("1"))
    with pytest.raises(ComputerError, match=r"could not be started .*no-program"):
        next(SubKernel("void", "x").run("1"))
    assert set(tmp_path.iterdir()) - before == {tmp_path / "kernels"}


# Python -------------------------------------------------------------------------------------------


def test_nothing_is_started_before_the_first_block(monkeypatch):
    monkeypatch.setattr(jupyter_kernel, "start_kernel", None)
    kernel = SubKernel("python3", "snake", ("sn",))
    assert (kernel.name, kernel.aliases) == ("snake", ("sn",))
    assert kernel.availability()
    kernel.stop()
    kernel.close()


def test_state_is_kept_and_results_are_shown(python):
    assert said(python, "x = 'hé'") == ""
    assert said(python, "x + '…😀'") == "'hé…😀'\n"
    assert said(python, "print(x, end='')\nimport sys\nsys.stderr.write('err\\n');") == "héerr\n"


def test_it_works_where_the_kernel_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kernel = SubKernel("python3", "snake")
    try:
        assert said(kernel, "import os; print(os.getcwd())") == f"{Path.cwd()}\n"
    finally:
        kernel.close()


def test_output_comes_while_the_code_runs(python, tmp_path):
    go = tmp_path / "go"
    pieces = python.run(
        f"print('one', flush=True)\nimport os, time\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\nprint('two')"
    )
    assert read(pieces, "\n") == "one\n"
    go.touch()
    assert "".join(piece.content for piece in pieces) == "two\n"


def test_an_error_is_shown_with_its_line_and_without_colours(python):
    text = said(python, "def f():\n    raise ValueError('no')\nf()\n")
    assert "ValueError: no" in text
    assert "line 3" in text or "f()" in text
    assert "\x1b" not in text
    assert "-----" not in text
    assert "SyntaxError" in said(python, "1 +")
    long = said(python, "raise ValueError('x' * 100_000)")
    assert len(long) < 10_000
    assert "characters left out …" in long


def test_displays_are_pieces_and_the_same_image_is_shown_once(python):
    code = (
        "from IPython.display import HTML, display, publish_display_data\n"
        f"for _ in range(2): publish_display_data({{'image/png': {PNG!r}, 'text/plain': 'fig'}})\n"
        "display(HTML('<table><tr><td>1</td></tr></table>'))\n"
        "publish_display_data({'text/html': '<b>1</b>', 'text/plain': '1'})\n"
        "at = display('0', display_id=True)\n"
        "for i in range(1, 100): at.update(str(i))\n"
    )
    found = [(piece.type, piece.format, piece.content) for piece in python.run(code)]
    assert found[0] == ("image", "base64.png", PNG)
    assert [kind for kind, *_ in found].count("image") == 1
    assert ("code", "html", "<table><tr><td>1</td></tr></table>") in found
    assert [kind for kind, *_ in found].count("code") == 1  # what is only text again is left out
    text = "".join(content for _, kind, content in found if kind == "output")
    assert text.startswith("1\n'0'\n'1'\n")
    assert text.endswith("'10'\n'99'\n")


def test_help_for_a_pager_is_text(python):
    assert "Prints the values" in said(python, "print?")


@pytest.mark.parametrize("code", ["import time; time.sleep(600)", "while True: pass"])
def test_it_is_stopped_and_keeps_its_state(python, code):
    said(python, "kept = 42")
    text, told = stopped_after(python, f"print('on', flush=True)\n{code}")
    assert told
    assert "Traceback" not in text
    assert said(python, "kept") == "42\n"


def test_one_that_goes_on_after_the_interrupt_is_told_again(python):
    code = (
        "import time\n"
        "try:\n    print('on', flush=True); time.sleep(600)\n"
        "except KeyboardInterrupt: print('again', flush=True)\n"
        "time.sleep(600)"
    )
    text, told = stopped_after(python, code)
    assert told
    assert "again" in text
    assert said(python, "1 + 1") == "2\n"


def test_closing_the_pieces_ends_the_block(python):
    pieces = python.run("print('on', flush=True)\nimport time\ntime.sleep(600)")
    assert read(pieces, "\n") == "on\n"
    pieces.close()
    assert said(python, "1 + 1") == "2\n"


def test_a_block_that_was_begun_and_left_is_ended_by_the_next(python):
    left = python.run("print('on', flush=True)\nimport time\ntime.sleep(600)")
    read(left, "on")
    assert said(python, "1 + 1") == "2\n"
    left.close()


def test_blocks_of_several_threads_come_in_turn(python):
    found = []
    said(python, "count = 0")

    def one():
        found.append(
            said(python, "before = count\nfor _ in range(999): pass\ncount = before + 1; count")
        )

    threads = [threading.Thread(target=one) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [f"{i}\n" for i in range(1, 6)]


def test_a_flood_is_bounded(python):
    text = said(python, "for i in range(100): print('abcdefg' * 15_000)\nprint('the end')")
    assert len(text) < 1_200_000
    assert "characters were shown and not saved" in text
    assert text.endswith("the end\n")


def test_what_a_job_says_after_its_block_comes_with_the_next(python, tmp_path):
    go = tmp_path / "go"
    said(
        python,
        "import os, threading, time\n"
        "def late():\n"
        f"    while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
        "    print('late', flush=True)\n"
        "thread = threading.Thread(target=late); thread.start()",
    )
    go.touch()
    assert "late\n" in said(python, "thread.join()")


def test_questions_are_asked_on_the_readers_thread(python):
    python.screen = person = Person("Ada", "s3cret")
    code = (
        "import getpass\nname = input('Name? ')\nprint('hi', name, len(getpass.getpass('Key: ')))"
    )
    text = said(python, code)
    assert text.splitlines() == ["Name? Ada", "Key: ", "hi Ada 6"]
    here = threading.get_ident()
    assert person.asked == [("Name? ", False, here), ("Key: ", True, here)]


def test_no_answer_is_the_end_of_the_input(python):
    python.screen = Person(EOFError())
    assert (
        said(python, "try:\n    input('? ')\nexcept EOFError:\n    print('none')") == "? \nnone\n"
    )


def test_where_nobody_answers_the_answer_is_empty_and_that_is_said(python):
    text = said(python, "repr(input('Name? '))")
    assert text == "Name? \n[nobody can be asked here: the answer was empty]\n\"''\"\n"
    python.screen = Person(ComputerError("the person has left"))
    assert "[the person has left; the answer was empty]" in said(python, "input('Name? ')")


def test_stopping_at_a_question_ends_the_block(python):
    python.screen = Person(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        said(python, "input('Name? ')\nprint('never')")
    assert said(python, "1 + 1") == "2\n"


@posix
def test_a_kernel_that_dies_says_so_and_the_next_one_is_new(python):
    said(python, "x = 1")
    text = said(python, "import os; os.kill(os.getpid(), 9)")
    assert "its state is lost; the next block starts a new one" in text
    assert "NameError" in said(python, "x")


@posix
def test_a_kernel_that_died_between_two_blocks_is_said(python):
    pid = int(said(python, "import os; os.getpid()"))
    os.kill(pid, signal.SIGKILL)
    psutil.Process(pid).wait()
    text = said(python, "1 + 1")
    assert "the snake kernel before had ended: its state is lost" in text
    assert text.endswith("2\n")


def test_code_that_leaves_ends_the_kernel(python):
    assert said(python, "x = 1; exit()").endswith("has ended; the next block starts a new one]\n")
    assert "NameError" in said(python, "x")


@pytest.mark.parametrize(
    "moment", ["at once", pytest.param("when its process is there", marks=posix)]
)
def test_it_is_stopped_while_it_starts(moment, monkeypatch):
    kernel = SubKernel("python3", "snake")
    begun, there, ends, watch = threading.Event(), threading.Event(), [], reaper.watch

    def watched(pid):
        watch(pid)
        ends.append(psutil.Process(pid))
        there.set()

    monkeypatch.setattr(reaper, "watch", watched)

    def run():
        begun.set()
        try:
            ends.append(said(kernel, "1"))
        except KeyboardInterrupt:
            ends.append("stopped")

    reader = threading.Thread(target=run)
    reader.start()
    (begun if moment == "at once" else there).wait()
    while reader.is_alive():  # it may not have come to `run` yet
        kernel.stop()
        reader.join(0.01)
    try:
        assert ends.pop() == "stopped"
        assert psutil.wait_procs(ends, timeout=60)[1] == []
        assert said(kernel, "1 + 1") == "2\n"
    finally:
        kernel.close()


@posix
def test_close_ends_the_kernel_and_all_that_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kernel = SubKernel("python3", "snake")
    code = (
        "import os, subprocess\n"
        "jobs = [subprocess.Popen(['sleep', '600'], process_group=0)"
        " if hasattr(os, 'setpgid') and __import__('sys').version_info >= (3, 11)"
        " else subprocess.Popen(['sleep', '600'])]\n"
        "print(os.getpid(), jobs[0].pid)"
    )
    left = [psutil.Process(int(word)) for word in said(kernel, code).split()]
    assert list(tmp_path.glob("lmc-kernel-*")) != []
    kernel.close()
    assert psutil.wait_procs(left, timeout=60)[1] == []
    assert list(tmp_path.glob("lmc-kernel-*")) == []
    kernel.close()
    assert said(kernel, "1 + 1") == "2\n"  # it can be used again
    kernel.close()


def test_close_ends_a_block_that_another_thread_reads():
    kernel = SubKernel("python3", "snake")
    begun, ends = threading.Event(), []

    def run():
        try:
            for piece in kernel.run("print('on', flush=True)\nimport time\ntime.sleep(600)"):
                ends.append(piece.content)
                begun.set()
        except KeyboardInterrupt:
            ends.append("stopped")

    reader = threading.Thread(target=run)
    reader.start()
    begun.wait()
    kernel.close()
    reader.join()
    assert "".join(ends).startswith("on")
    assert ends[-1] == "stopped"
    assert "state is lost" not in "".join(ends)


STARTED = """
import sys
from lmc_jupyter.computer.languages.subkernel import SubKernel
kernel = SubKernel({name!r}, "x")
for piece in kernel.run({code!r}):
    print(piece.content, end="", flush=True)
"""


@posix
@pytest.mark.parametrize("ends", ["killed", "by itself"])
@pytest.mark.parametrize("name", ["python3", "ir"])
def test_after_our_own_end_nothing_is_left(name, ends, request, tmp_path):
    code = (
        "import os, subprocess; p = subprocess.Popen(['sleep', '600']); print(os.getpid(), p.pid)"
    )
    if name == "ir":
        request.getfixturevalue("shared_r")  # or it is said that there is none
        code = 'cat(Sys.getpid(), system("sleep 600 >/dev/null & echo $!", intern = TRUE), "\\n")'
        code += "\nflush.console()"
    if ends == "killed":
        code += "\nimport time; time.sleep(600)" if name == "python3" else "\nrepeat {}"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", STARTED.format(name=name, code=code)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as ours:
        left = [psutil.Process(int(word)) for word in ours.stdout.readline().split()]
        if ends == "killed":
            reapers = psutil.Process(ours.pid).children()
            ours.send_signal(signal.SIGKILL)
        else:
            reapers = []
    assert len(left) == 2
    assert psutil.wait_procs([*left, *reapers], timeout=60)[1] == []
    assert ours.returncode == (-signal.SIGKILL if ends == "killed" else 0)
    assert list(tmp_path.glob("lmc-kernel-*")) == []


# R ------------------------------------------------------------------------------------------------


def test_r_keeps_its_state_and_shows_what_it_displays(r):
    assert said(r, "x <- c(a = 1, b = 2)") == ""
    assert said(r, "x").split() == ["a", "b", "1", "2"]
    assert said(r, 'cat("hé\\n"); message("err")').startswith("hé\nerr\n")
    assert said(r, "list(1, 'a'); invisible(3)").startswith("[[1]]\n")  # no HTML of text


def test_r_shows_tables_for_the_person_and_plots(r):
    found = list(r.run("data.frame(a = 1:2, b = c('x', 'y'))\nplot(1:3)"))
    table = next(piece for piece in found if piece.type == "code")
    assert (table.format, table.recipient) == ("html", "user")
    assert "<table" in table.content
    text = "".join(piece.content for piece in found if piece.recipient == "assistant")
    assert text.split() == ["a", "b", "1", "1", "x", "2", "2", "y"]
    assert [piece.format for piece in found if piece.type == "image"] == ["base64.png"]


def test_an_error_of_r_is_short(r):
    assert said(r, "f <- function() stop('no'); f()").startswith(
        "Error in f(): no\nTraceback:\n1. f()"
    )
    assert said(r, "nope").endswith("object 'nope' not found\n")
    assert "unexpected end of input" in said(r, "1 +")


@pytest.mark.parametrize("code", ["Sys.sleep(600)", "repeat {}"])
def test_r_is_stopped_and_keeps_its_state(r, code):
    said(r, "kept <- 42")
    _, told = stopped_after(r, f"cat('on'); flush.console(); {code}")
    assert told
    assert said(r, "kept") == "[1] 42\n"


@pytest.mark.parametrize("show", ["cat(i, '\\n')", "print(i)", "writeLines(as.character(i))"])
def test_what_r_prints_comes_while_its_expression_runs(r, tmp_path, show):
    go = tmp_path / "go"
    pieces = r.run(f"""for (i in 41:42) {{
        {show}
        if (i == 41) while (!file.exists("{go}")) Sys.sleep(0.01)
    }}""")
    assert "42" not in read(pieces, "41")  # it goes on only when that is here
    go.touch()
    read(pieces, "42")
    assert list(pieces) == []


def test_what_r_has_printed_is_kept_when_it_is_stopped(r):
    # so much at once that it is not handed over piece by piece
    code = "for (i in 1) {for (j in 1:3000) cat(j, '\\n'); repeat {}}"
    text, told = stopped_after(r, code, "1 \n")
    assert told
    last = int(said(r, "cat(j)"))
    assert text.split() in (
        [str(i) for i in range(1, last + 1)],
        [str(i) for i in range(1, last)],  # stopped before it was printed
    )


def test_what_prints_in_r_is_as_it_was_but_for_that(r):
    assert said(r, "x <- capture.output({cat('b'); print(1)}); x") == '[1] "b[1] 1"\n'
    assert said(r, "cat('a '); y <- capture.output(cat('b')); cat(y)") == "a b"
    assert said(r, "sink(tempfile()); cat('hidden'); sink(); cat('shown')") == "shown"
    assert said(r, "cat(list(list(1)))").splitlines()[0].endswith("cannot be handled by 'cat'")
    assert said(r, "withVisible(print(1))$visible") == "[1] 1\n[1] FALSE\n"
    assert said(r, "utils::isS3stdGeneric(print)").split() == ["print", "TRUE"]
    assert said(r, "bindingIsLocked('cat', baseenv())") == "[1] TRUE\n"
    assert said(r, "names(formals(cat))[2]") == '[1] "file"\n'
    assert said(r, "environmentName(environment(cat))") == '[1] "base"\n'


def test_r_has_no_names_of_ours(monkeypatch):
    if kernelspec_for("r") is None:
        pytest.skip("not run: there is no Jupyter kernel for R (IRkernel)")
    found = []
    for _ in range(2):
        it = SubKernel("", "r")
        found.append(said(it, "cat(ls(globalenv(), all.names = TRUE), search())"))
        it.close()
        monkeypatch.setattr(jupyter_kernel, "_FIRST", {})
    assert found[0] == found[1] != ""


def test_a_kernel_that_cannot_be_prepared_says_so_and_runs(tmp_path, monkeypatch):
    first = tmp_path / "first.py"
    first.write_text("raise ValueError('not like this')")
    monkeypatch.setitem(jupyter_kernel._FIRST, "python", first)
    it = SubKernel("python3", "snake")
    try:
        assert said(it, "print(6 * 7, In)") == (
            "[what is printed may come late, and be lost when it is stopped: not like this]\n"
            "42 ['', 'print(6 * 7, In)']\n"  # ours is no input of theirs
        )
        assert said(it, "1 + 1") == "2\n"
    finally:
        it.close()


def test_r_may_ask(r):
    assert said(r, "nchar(readline('Name? '))").endswith("[1] 0\n")
    r.screen = person = Person("Ada")
    assert said(r, "cat('hi', readline('Name? '))") == "Name? Ada\nhi Ada"
    assert person.asked[0][:2] == ("Name? ", False)


@posix
def test_what_programs_write_that_r_starts_is_shown(r):
    assert said(r, "invisible(system('echo from a program'))") == "from a program\n"


def test_q_ends_r_and_the_next_block_has_a_new_one(r):
    said(r, "gone <- 1")
    assert said(r, "q()") == "[the r kernel has ended; the next block starts a new one]\n"
    assert "object 'gone' not found" in said(r, "gone")


# A kernel with bad habits -------------------------------------------------------------------------

ODD = """
import threading, time
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

class Odd(Kernel):
    implementation = "odd"; implementation_version = "1"; banner = ""
    language_info = {"name": "odd", "mimetype": "text/plain", "file_extension": ".odd"}

    def say(self, text, parent=None):
        self.session.send(self.iopub_socket, "stream", {"name": "stdout", "text": text},
                          parent=parent, ident=b"stream")

    def do_execute(self, code, silent, store_history=True, user_expressions=None,
                   allow_stdin=False, **more):
        if code == "late":  # like Deno: most of the output comes when it is idle
            def flood():
                for i in range(300):
                    self.say("%d\\n" % i)
                    time.sleep(0.001)
            threading.Thread(target=flood).start()
        elif code == "fails":  # like Deno: an error in the reply alone
            return {"status": "error", "ename": "", "evalue": "Execution failed", "traceback": []}
        elif code == "aborts":
            return {"status": "aborted"}
        elif code == "leaves":  # like IRkernel: it stays, and waits to be ended
            return {"status": "ok", "execution_count": 1, "user_expressions": {},
                    "payload": [{"source": "ask_exit", "keepkernel": False}]}
        elif code == "deaf":
            text = "on\\n"
            while True:
                try:
                    self.say(text)
                    time.sleep(600)
                except KeyboardInterrupt:
                    text = "what?\\n"
        elif code == "hangs":  # it answers, and is busy for ever then
            import asyncio
            asyncio.get_running_loop().call_soon(time.sleep, 600)
            self.say("on\\n")
        elif code == "chatters":  # of a job that it has left running
            def chatter():
                while True:
                    self.say("on\\n")
                    time.sleep(0.01)
            threading.Thread(target=chatter, daemon=True).start()
        elif code == "babbles":
            self.session.send(self.iopub_socket, "display_data",
                              {"data": 5, "metadata": 7, "transient": 7})
            self.say("on\\n")
        elif code == "breaks":
            raise ValueError("a fault of its own")
        elif code == "asks":
            self._allow_stdin = allow_stdin
            self.say("got %r\\n" % self.raw_input("Name? "))
        elif code == "sleeps":
            try:
                self.say("on\\n")
                time.sleep(600)
            except KeyboardInterrupt:
                return {"status": "error", "ename": "Interrupted", "evalue": "", "traceback": []}
        else:
            self.say(code + "\\n")
        return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}

IPKernelApp.launch_instance(kernel_class=Odd)
"""


@pytest.fixture(scope="module", params=["signal", "message"])
def odd_place(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("odd")
    (place / "odd.py").write_text(ODD)
    argv = [sys.executable, "-W", "ignore", str(place / "odd.py"), "-f", "{connection_file}"]
    kernelspec(place, "odd", argv, "odd", interrupt_mode=request.param)
    return place


@pytest.fixture
def patience():
    return None


@pytest.fixture
def odd(odd_place, monkeypatch, patience):
    monkeypatch.setenv("JUPYTER_PATH", str(odd_place))
    it = SubKernel("", "odd", patience=patience)
    yield it
    it.close()


def test_output_after_it_is_idle_is_the_blocks_or_the_nexts_but_never_lost(odd):
    text = said(odd, "late")
    while not text.endswith("299\n"):
        text += said(odd, "more").replace("more\n", "")
    assert text.split() == [str(i) for i in range(300)]


def test_an_error_in_the_reply_alone_is_shown(odd):
    assert said(odd, "fails") == "Execution failed\n"
    assert said(odd, "aborts") == "[the kernel has dropped this block without running it]\n"
    assert said(odd, "leaves") == "[the odd kernel has ended; the next block starts a new one]\n"
    assert "has not answered to this block, which may have run in part" in said(odd, "breaks")
    assert said(odd, "asks").endswith("got ''\n")


def test_it_is_interrupted_in_the_way_that_its_kernelspec_says(odd):
    text, told = stopped_after(odd, "sleeps")
    assert told
    assert "state is lost" not in text
    assert said(odd, "more") == "more\n"


@pytest.mark.parametrize("patience", [Patience(again=0.1, polite=0.3)])
def test_one_that_does_not_answer_to_stop_is_ended_and_said(odd):
    text, told = stopped_after(odd, "deaf")
    assert told
    assert "the odd kernel did not answer to Stop and was ended: its state is lost" in text
    assert said(odd, "more") == "more\n"


@pytest.mark.parametrize("patience", [Patience(again=0.1, polite=0.3)])
def test_one_that_is_busy_behind_its_answer_is_ended_by_stop(odd):
    text, told = stopped_after(odd, "hangs")
    assert told
    assert "did not answer to Stop and was ended: its state is lost" in text
    assert said(odd, "more") == "more\n"


def test_a_job_that_prints_for_ever_keeps_no_block_waiting(odd, monkeypatch):
    monkeypatch.setattr(jupyter_kernel, "_MOST_DRAIN_SECONDS", 0.2)
    said(odd, "chatters")
    assert "more\n" in said(odd, "more")


def test_what_is_of_another_shape_is_said_and_hides_nothing_after_it(odd):
    text = said(odd, "babbles")
    assert "the kernel sent what cannot be shown (AttributeError" in text
    assert text.endswith("on\n")
    assert said(odd, "more") == "more\n"


def test_what_the_loop_does_is_told_elsewhere():
    async def answer():
        return threading.current_thread().name

    assert wait_for(answer()) == "lmc sub-kernels"
