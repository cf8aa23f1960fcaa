"""Languages by one program a block: every one that this machine has, run for real."""

from __future__ import annotations

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

from lmc_jupyter.computer import Computer, lookups
from lmc_jupyter.computer.languages.oneshot import TABLE, OneShot, one_shots
from lmc_jupyter.computer.process.engine import Patience
from lmc_jupyter.errors import ComputerError

HELLO = {
    "ruby": 'puts "héllo #{6 * 7}"',
    "perl": 'print "héllo ", 6 * 7, "\\n";',
    "lua": 'print("héllo " .. 6 * 7)',
    "php": 'echo "héllo ", 6 * 7, "\\n";',
    "java": 'System.out.println("héllo " + 6 * 7);',
    "go": 'import "fmt"\nfunc main() { fmt.Println("héllo", 6 * 7) }',
    "c": "#include <math.h>\n#include <stdio.h>\n"
    'int main(int n, char **v) { printf("héllo %.0f\\n", sqrt(1764.0 * n)); return 0; }',
    "cpp": '#include <iostream>\nint main() { std::cout << "héllo " << 6 * 7 << std::endl; }',
    "rust": 'println!("héllo {}", 6 * 7);',
    "fortran": 'program hello\n  print "(a,i0)", "héllo ", 6 * 7\nend program',
    "julia": 'println("héllo ", 6 * 7)',
    "octave": 'printf("héllo %d\\n", 6 * 7)',
    "swift": 'print("héllo \\(6 * 7)")',
    "powershell": 'Write-Output "héllo $(6 * 7)"',
    "applescript": 'return "héllo " & 6 * 7',
    "cmd": "set /a x=6*7 >nul\necho héllo %x%",
}
FAILS = {
    "ruby": ("x = 1\nraise 'nope'", "-:2:in", "nope"),
    "perl": ("my $x;\ndie 'nope';", "line 2", "nope"),
    "lua": ("x = 1\nerror('nope')", "stdin:2:", "nope"),
    "php": ("$x = 1;\nthrow new Exception('nope');", "main.php:2", "nope"),
    "java": ('int x = 1;\nthrow new Exception("nope");', "Main.java:2", "nope"),
    "go": ('import "os"\nfunc main() { println("nope"); os.Exit(3) }', "nope"),
    "c": ("int main(void) {\n  return nope;\n}", "main.c:2:", "nope"),
    "cpp": ("int main() {\n  return nope;\n}", "main.cpp:2:", "nope"),
    "rust": ("let x = 1;\nlet y: i32 = nope;", "main.rs:2:", "nope"),
    "fortran": ("program a\n  call nope(\nend program", "main.f90:2", "rror"),
    "julia": ('x = 1\nerror("nope")', "main.jl:2", "nope"),
    "octave": ("x = 1;\nerror('nope')", "nope"),
    "swift": ('let x: Int = "nope"', "main.swift:1", "nope"),
    "powershell": ("$x = 1\nthrow 'nope'", "nope"),
    "cmd": ("echo nope\nexit /b 3", "nope"),
    "applescript": ('error "nope" number 3', "nope"),
}
posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals are of POSIX")


def made(name):
    language = TABLE[name]()
    there = language.availability()
    if not there:
        pytest.skip(f"not run: {there.missing}")
    return language


def python(code="{file}", **more):
    """A language whose program is python itself."""
    return OneShot("snake", [sys.executable, "-u", code], ".py", **more)


def said(language, code):
    return "".join(piece.content for piece in language.run(code))


def read(pieces, word):
    """What is said up to that word."""
    text = ""
    while word not in text:
        text += str(next(pieces).content)
    return text


@pytest.fixture(autouse=True)
def _nothing_is_left_in_the_temporary_directory(tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield
    assert list(place.iterdir()) == []


def test_the_table_is_tested_whole():
    assert set(HELLO) == set(FAILS) == set(TABLE)
    offered = {one.name for one in one_shots()}
    assert offered == set(TABLE) - (set() if os.name == "nt" else {"cmd"})


@pytest.mark.parametrize("name", TABLE)
def test_a_block_runs_and_speaks_any_script(name, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")  # as in many a container
    assert said(made(name), HELLO[name]).replace("\r\n", "\n") == "héllo 42\n"


@pytest.mark.parametrize("name", TABLE)
def test_an_error_is_shown_with_its_line_and_the_status(name):
    code, *words = FAILS[name]
    text = said(made(name), code)
    assert [word for word in words if word not in text] == []
    assert text.rstrip().splitlines()[-1].startswith("[exit status ")
    assert "\x1b" not in text  # nor colours, although it writes on a terminal
    assert tempfile.gettempdir() not in text


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("class Helper {}\npublic class Hello { // class Not\n"
         '  public static void main(String[] a) { System.out.println("hello"); } }', "hello\n"),
        ("package a.b;\nclass Hello { static class In { int x; }\n"
         '  public static void main(String... a) { System.out.println("hello"); } }', "hello\n"),
        ('class A { String s = "class B {"; }\nclass C { static class D { } \n'
         '  public static final void main(String[] a) { System.out.println("C"); } }', "C\n"),
        ("import java.util.List;\nimport static java.lang.Math.*;\n"
         "System.out.println(List.of(max(1, 2)));", "[2]\n"),
    ],
)  # fmt: skip
def test_java_finds_its_class_whatever_it_is_called(code, says):
    assert said(made("java"), code) == says


def test_whole_programs_are_left_as_they_are():
    assert said(made("rust"), 'fn main() { println!("{}", f()); }\nfn f() -> i32 { 3 }') == "3\n"


@posix
def test_output_comes_while_the_program_runs_even_where_it_would_be_held_back(tmp_path):
    pieces = made("perl").run('print "one\\n"; sleep 600')  # perl holds it back but on a terminal
    assert read(pieces, "\n") == "one\n"
    pieces.close()


def test_both_outputs_come_in_their_order():
    code = (
        "import sys\nfor i in range(50): print(i, file=(sys.stdout, sys.stderr)[i % 2], flush=True)"
    )
    assert said(python(), code).split() == [str(i) for i in range(50)]


def test_a_block_has_no_keyboard_and_the_directory_of_the_kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = said(python(), "import os, sys\nprint(repr(sys.stdin.read()), os.getcwd())")
    assert text.split() == ["''", str(Path.cwd())]


def test_code_on_stdin_may_be_long():
    code = "x = 1\n" * 100_000 + "print(x)"
    assert said(OneShot("snake", [sys.executable, "-"]), code) == "1\n"


def test_without_a_place_for_the_file_it_comes_last():
    assert said(OneShot("snake", [sys.executable, "-u"], ".py"), "print(1)") == "1\n"


@posix
def test_the_path_of_the_block_is_left_out_however_it_is_cut():
    code = (
        "import os, sys, time\n"
        "path = __file__.encode()\n"
        "for i in range(len(path)): os.write(1, path[i:i + 1]); time.sleep(0.001)\n"
        "os.write(1, b' ' + path + b' ' + path[:5])"
    )
    assert said(python(), code) == f"main.py main.py {tempfile.gettempdir()[:5]}"


@posix
def test_a_mark_that_the_code_writes_itself_ends_nothing():
    text = said(python(), r"print('\x1e' * 40 + 'a' * 32 + '\x1e', flush=True); print('end')")
    assert text.endswith("end\n")


def test_a_flood_is_bounded():
    text = said(python(), "for i in range(100): print('abcdefg' * 15_000)\nprint('the end')")
    assert len(text) < 1_200_000
    assert "characters were shown and not saved" in text
    assert text.endswith("the end\n")


@posix
def test_a_program_that_a_signal_ends_says_so():
    assert said(python(), "import os; os.kill(os.getpid(), 11)") == "[ended by SIGSEGV]\n"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("perl", "$| = 1; print 'on'; sleep 600 while 1;"),
        ("ruby", "puts 'on'; loop {}"),
        ("lua", "print('on') while true do end"),
        pytest.param(
            *("java", 'System.out.println("on"); while (true) Thread.sleep(9);'),
            marks=pytest.mark.long,
        ),
        ("c", '#include <stdio.h>\nint main(void) { puts("on"); for (;;); }'),
        ("rust", 'println!("on"); loop {}'),
    ],
)
def test_it_stops_at_once_and_the_next_block_runs(name, code):
    language = made(name)
    text, told = stopped_after(language, code)
    assert told
    assert "exit status" not in text
    assert said(language, HELLO[name]) == "héllo 42\n"


@posix
def test_a_compiler_is_stopped_too():
    build = [sys.executable, "-u", "-c", "print('on'); import time; time.sleep(600)"]
    text, told = stopped_after(python(build=build), "print('never')")
    assert told
    assert "never" not in text


@pytest.mark.long
@posix
@pytest.mark.parametrize("deaf", ["INT", "INT TERM"])
def test_a_program_that_is_deaf_is_ended_with_all_that_it_started(deaf):
    code = f"trap '' {deaf}; sleep 601 & echo $! on; while :; do wait; done"
    text, told = stopped_after(
        OneShot("sh", ["sh", "{file}"], ".sh", patience=Patience(again=0.1, polite=0.2)), code
    )
    assert told
    try:
        job = psutil.Process(int(text.split()[0]))
    except psutil.NoSuchProcess:
        return
    assert psutil.wait_procs([job], timeout=60)[1] == []


@posix
def test_what_a_block_leaves_running_goes_on_until_close():
    language = OneShot("sh", ["sh", "{file}"], ".sh")
    job = psutil.Process(int(said(language, "sleep 600 >/dev/null & echo $!")))
    holder = psutil.Process(int(said(language, "sleep 600 & echo $!")))  # with the terminal open
    assert said(language, "echo more") == "more\n"
    assert job.is_running()
    language.close()
    assert psutil.wait_procs([job, holder], timeout=60)[1] == []
    assert said(language, "echo again") == "again\n"


@posix
def test_closing_the_pieces_ends_the_program():
    pieces = python().run("import os, time\nprint(os.getpid())\ntime.sleep(600)")
    process = psutil.Process(int(read(pieces, "\n")))
    pieces.close()
    assert not process.is_running()


def test_two_blocks_run_beside_each_other_and_stop_ends_both():
    language = python()
    ends = []

    def one():
        ends.append(stopped_after(language, "print('on')\nimport time\ntime.sleep(600)", "never"))

    threads = [threading.Thread(target=one) for _ in range(2)]
    pieces = language.run("print('on')\nimport time\ntime.sleep(600)")
    read(pieces, "on")
    for thread in threads:
        thread.start()
    while len(language._turns.blocks) < 3:
        threading.Event().wait(0.01)
    language.stop()
    for thread in threads:
        thread.join()
    with pytest.raises(KeyboardInterrupt):
        list(pieces)
    assert [told for _, told in ends] == [True, True]


def test_close_ends_a_block_that_another_thread_reads():
    language, pids, ends = python(), [], []
    begun = threading.Event()

    def run():
        try:
            for piece in language.run("import os, time\nprint(os.getpid())\ntime.sleep(600)"):
                pids.append(piece.content)
                if "\n" in "".join(pids):
                    begun.set()
        except KeyboardInterrupt:
            ends.append("stopped")

    reader = threading.Thread(target=run)
    reader.start()
    begun.wait()
    language.close()
    assert not psutil.pid_exists(int("".join(pids).split()[0]))
    reader.join()
    assert ends == ["stopped"]


def test_a_language_that_is_not_there_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    language = TABLE["c"]()
    assert "cc or gcc or clang" in language.availability().missing
    with pytest.raises(ComputerError, match="on the PATH: install it; nothing was run"):
        next(language.run("int main() {}"))
    java = TABLE["java"]().availability().missing
    assert "javac and java" in java


def test_a_program_that_comes_later_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(lookups, "SECONDS", 0.0)
    monkeypatch.setenv("PATH", str(tmp_path))
    language = OneShot("late", ["nope|late", "{file}"], ".txt")
    assert not language.availability()
    program = tmp_path / "late"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint(open(sys.argv[1]).read())\n")
    program.chmod(0o755)
    assert "late" in language.availability().how
    assert said(language, "hello") == "hello\n"


def test_a_language_of_ones_own_is_registered():
    computer = Computer(python(aliases=["sn"]))
    assert "".join(piece.content for piece in computer.run("SN", "print(2)")) == "2\n"


KILLED = """
from lmc_jupyter.computer.languages.oneshot import OneShot
for piece in OneShot("sh", ["sh", "{file}"], ".sh").run("sleep 600 & echo $$ $!; sleep 601"):
    print(piece.content, end="", flush=True)
"""


@posix
def test_after_the_kernel_is_killed_nothing_is_left():
    environment = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, env=environment
    ) as kernel:
        left = [psutil.Process(int(pid)) for pid in kernel.stdout.readline().split()]
        reapers = [each for each in psutil.Process(kernel.pid).children() if each not in left]
        assert len(list(Path(tempfile.gettempdir()).iterdir())) == 1
        kernel.send_signal(signal.SIGKILL)
    assert len(left) == 2
    assert psutil.wait_procs(left, timeout=60)[1] == []
    # when the reaper has ended, its work is done: see the fixture for the directory
    assert psutil.wait_procs(reapers, timeout=60)[1] == []
