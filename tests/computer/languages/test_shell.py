"""The shell: its state from block to block, its output, and that it can always be stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import pytest
from stopping import stopped_after

from lmc_jupyter.computer.languages.shell import NOT_KEPT, Shell
from lmc_jupyter.computer.process.engine import Patience
from lmc_jupyter.computer.process.program import _Programs
from lmc_jupyter.computer.process.sessions import session
from lmc_jupyter.errors import ComputerError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="bash is not registered on Windows")


@pytest.fixture
def polite():
    """Seconds until what does not end by SIGINT gets another signal."""
    return 60.0  # only what fails waits so long


@pytest.fixture
def shell(polite):
    it = Shell(Patience(again=0.1, polite=polite))
    yield it
    it.close()


def said(shell, code):
    return "".join(piece.content for piece in shell.run(code))


def test_directory_variables_and_functions_are_kept(shell, tmp_path):
    assert said(shell, f'cd {tmp_path}; X=5; hi() {{ echo "hi $1"; }}') == ""
    assert said(shell, "pwd; hi $X") == f"{tmp_path}\nhi 5\n"


def test_both_outputs_are_told_and_a_status_that_is_not_0(shell):
    text = said(shell, "echo out; echo err >&2; (exit 4)")
    assert sorted(text.split("\n")[:2]) == ["err", "out"]
    assert text.endswith("[exit status 4]\n")


def test_programs_write_line_by_line_while_they_run(shell):
    pieces = shell.run(f"{sys.executable} -c \"print('one'); input()\" < <(sleep 60)")
    assert next(pieces).content.startswith("one")
    pieces.close()


def test_code_may_have_any_size_quotes_and_heredocs(shell):
    big = "x" * 300_000
    assert said(shell, f"echo '{big}' | wc -c").strip() == "300001"
    assert said(shell, "cat <<'END'\na \"b\" $c\n\nd\nEND") == 'a "b" $c\n\nd\n'


def test_characters_are_whole_wherever_the_reads_cut(shell):
    assert said(shell, "printf '\\xc3'; sleep 0.05; printf '\\xa9'; printf '\\xff'") == "é\ufffd"


def test_a_block_has_no_keyboard(shell):
    assert said(shell, 'read x; echo "got [$x] $?"') == "got [] 1\n"


STATE = [
    ("cd '{folder}'", "pwd", "{folder}\n"),
    ("x=$'a\\nb\\377 \"$y\" \\'`* UID=1'", "printf %s \"$x\" | od -An -c | tr -d ' \\n'",
     "a\\nb377\"$y\"'`*UID=1"),
    ("export x=5", "x=6; env | grep ^x=", "x=6\n"),
    ("unset HOME", "env | grep ^HOME= || echo gone", "gone\n"),
    ("a=(1 '2 3'); declare -A m=(['x y']=$'z\\n')", "echo ${a[1]} ${m[x y]}", "2 3 z\n"),
    ("declare -A m; declare -x y", "m[x]=5 y=7; echo ${m[x]} $(env | grep ^y=)", "5 y=7\n"),
    ("declare -i n=4; declare -n ref=n", "n=n+3; echo $ref", "7\n"),
    ("declare -r x=1", "echo $x; x=2", "1\nbash: line 1: x: readonly variable\n[exit status 1]\n"),
    ("IFS=,", "x=a,b; printf '%s;' $x", "a;b;"),
    ("f() {{ echo \"f $1\"; }}; export -f f", "f 1; bash -c 'f 2'", "f 1\nf 2\n"),
    ("shopt -s extglob\nf() {{ [[ $1 == +(a) ]] && echo yes; }}", "f aa", "yes\n"),
    ("alias x='echo alias' cd=false unset=false", "x", "alias\n"),
    ("shopt -s nocasematch; random=5", "[[ A == a ]] && echo $random", "5\n"),
    ("set -o pipefail", "false | true || echo failed", "failed\n"),
    ("set -e", "false; echo NOT", "[exit status 1]\n"),
    ("set -C", "echo $-", "hBCc\n"),
    ("set -t", "echo a; echo b", "a\nb\n"),
    ("umask 027", "umask", "0027\n"),
    ("printf() {{ :; }}; declare() {{ :; }}; x=5", "echo $x", "5\n"),
    ("set() {{ echo MINE; }}; set -u", "echo a", "MINE\na\n"),
    ("builtin() {{ :; }}; x=5", "echo $x", "5\n"),
    ("EPOCHS=10 EPOCH=3", "echo $EPOCHS $EPOCH", "10 3\n"),
    ("f() {{ echo F; }}; export -f f; readonly -f f", "f", "F\n"),
    ("x=1 y=2; f() {{ local x=3 IFS=,; g; }}; g() {{ local x=4 y=5; exit; }}; f",
     'echo "$x $y"; printf %q "$IFS"', "1 2\n$' \\t\\n'"),
    ("set -e; readonly x=1; y=2; f() {{ local y=3; false; }}; f",
     "echo $x $y", "1 2\n"),
    ("cd /usr; cd /; x=1", "cd - >/dev/null; pwd", "/usr\n"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "next_code", "text"), STATE)
def test_state_is_kept_over_blocks_and_a_failure_of_one(shell, tmp_path, code, next_code, text):
    said(shell, code.format(folder=tmp_path))
    said(shell, "(exit 7)")
    assert said(shell, next_code) == text.format(folder=tmp_path)


@pytest.mark.parametrize(
    "code", ["x=1; exit 3", "set -e; x=1; (exit 3)", "x=1; source <(echo exit 3)"]
)
def test_a_block_that_exits_leaves_its_state(shell, code):
    assert said(shell, code) == "[exit status 3]\n"
    assert said(shell, "echo $x") == "1\n"


@pytest.mark.parametrize(
    "code",
    ["exec true", "kill -KILL $$", "trap 'echo bye' EXIT; exit", "trap '' INT TERM; exec true"],
)
def test_a_block_that_leaves_no_state_is_said_and_the_one_before_counts(shell, tmp_path, code):
    said(shell, f"cd '{tmp_path}'; x=1")
    said(shell, f"cd /; x=2; {code}")
    assert said(shell, "pwd; echo $x") == f"{NOT_KEPT}\n{tmp_path}\n1\n"
    assert said(shell, "echo $x") == "1\n"


def test_a_folder_that_is_gone_is_said_and_the_block_runs(shell, tmp_path):
    gone = tmp_path / "gone"
    said(shell, f"mkdir '{gone}'; cd '{gone}'; rmdir '{gone}'; x=1")
    text = said(shell, "echo $x")
    assert str(gone) in text
    assert text.endswith(f"[this block runs in {Path.cwd()}]\n1\n")


def test_a_state_that_cannot_be_read_back_is_said_and_the_block_runs(shell):
    said(shell, "x=1")
    shell._state = shell._state.replace(b"__lmc_whole=yes", b"f() { (\n__lmc_whole=yes")
    text = said(shell, "echo $x")
    assert "syntax error" in text
    assert text.endswith("[part of the state of the shell could not be read]\n1\n")


def test_an_exit_trap_of_the_codes_own_runs_and_the_state_is_kept(shell):
    assert said(shell, "trap 'echo bye' EXIT; x=1") == "bye\n"
    assert said(shell, "echo $x") == "1\n"


def test_the_state_of_the_shell_is_nowhere_on_disk_between_two_blocks(shell, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said(shell, "export SECRET=hidden")
    listed = f"ls -ld '{tmp_path}'/* | cut -c1-10; echo $SECRET"
    assert said(shell, listed) == "drwx------\nhidden\n"
    assert list(tmp_path.iterdir()) == []


def test_what_a_job_in_the_background_prints_later_is_told_with_the_next_block(shell, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    said(shell, f"(cat '{gate}'; yes | head -n 100000; echo done > '{gate}') & ")
    gate.write_text("late\n")
    assert gate.read_text() == "done\n"  # a job whose output nobody took would wait, or have failed
    text = said(shell, "echo now")
    assert text.startswith("[printed after the end of an earlier block:]\nlate\ny\n")
    assert text.endswith("y\nnow\n")


def test_a_prompt_command_of_the_codes_own_does_not_matter(shell):
    assert said(shell, "PROMPT_COMMAND='echo prompt'; PS1='$ '; echo a") == "a\n"
    assert said(shell, "set +x; echo b").endswith("b\n")


def test_output_that_the_code_sends_elsewhere_for_good_is_not_waited_for(shell, tmp_path):
    log = tmp_path / "log"
    assert said(shell, f"exec > {log}; echo logged") == ""
    assert log.read_text() == "logged\n"


def test_a_job_in_the_background_outlives_its_block_and_a_stop(shell):
    said(shell, "sleep 600 & job=$!")
    _, told = stopped_after(shell, "echo on; sleep 600", "on")
    assert told
    assert said(shell, "kill -0 $job && echo alive") == "alive\n"


def test_a_flood_is_bounded(shell):
    text = said(shell, "yes abcdefg | head -c 5000000; echo the end")
    assert len(text) < 1_200_000
    assert "characters were shown and not saved" in text
    assert text.endswith("the end\n")


def test_a_nul_character_is_refused(shell):
    with pytest.raises(ComputerError, match="NUL"):
        next(shell.run("echo a\0b"))


def test_a_reader_that_goes_away_ends_the_block(shell):
    for piece in shell.run("X=1; while :; do echo line; done"):
        if piece.content:
            break
    assert said(shell, "echo $X") == "1\n"


def test_a_block_that_was_left_half_read_ends_when_the_next_begins(shell):
    left = shell.run("X=1; while :; do echo line; done")
    next(left)
    assert said(shell, "echo $X") == "1\n"
    with pytest.raises(KeyboardInterrupt):
        list(left)


def test_close_does_not_wait_for_a_reader_that_has_gone_away(shell):
    left = shell.run("while :; do echo line; done")
    next(left)
    shell.close()
    left.close()
    assert said(shell, "echo again") == "again\n"


def test_two_threads_take_turns(shell):
    texts = {}

    def work(name):
        code = f"for i in 1 2 3; do echo {name}$i; sleep 0.01; done"
        texts[name] = said(shell, code)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {name: f"{name}1\n{name}2\n{name}3\n" for name in "abc"}


CASES = [
    "echo on; sleep 600",
    "echo on; sleep 600; echo NOT",
    "echo on; while :; do :; done",
    "echo on; while :; do sleep 300; done",
    f'echo on; {sys.executable} -c "while True: pass"',
    "echo on; yes | cat > /dev/null",
    "echo on; (sleep 600; echo NOT)",
    "f() { sleep 600; }; echo on; f; echo NOT",
    "f() { while :; do :; done; }; echo on; f; echo NOT",
    "echo on; sleep 600 & wait",
    "echo on; echo $(sleep 600; echo NOT)",
    # Once `timeout` waits: a SIGINT as it starts ends it as if its program had ended well, and
    # bash goes on behind it, in a terminal too.
    "timeout 600 sh -c 'until grep -q State:.S /proc/$PPID/status; do :; done; echo on; sleep 600'"
    "; echo NOT",
    "echo on; yes | cat > /dev/null; echo NOT",
    "echo on; while :; do sleep 0.2; done; echo NOT",
    "echo on; while :; do x=$(sleep 600; echo NOT); done",
]


@pytest.mark.parametrize("code", CASES)
def test_everything_can_be_stopped_and_the_state_is_kept(shell, code):
    said(shell, "KEPT=yes")
    text, told = stopped_after(shell, code, "on")
    assert told
    assert "NOT" not in text
    assert said(shell, "trap - INT; echo $KEPT") == "yes\n"


@pytest.mark.parametrize("polite", [0.4])
@pytest.mark.parametrize(
    "code",
    [
        'trap "" INT; echo on; sleep 600; trap - INT',
        "echo on; sh -c \"trap '' INT; sleep 600\"",
    ],
)
def test_what_ignores_sigint_ends_by_sigterm_and_the_state_is_kept(shell, code, monkeypatch):
    monkeypatch.setattr(_Programs, "kill", _Programs.terminate)  # a slow machine may come to it
    monkeypatch.setattr(_Programs, "abandon", _Programs.terminate)
    test_everything_can_be_stopped_and_the_state_is_kept(shell, code)


def test_a_program_that_bash_waits_for_hears_the_stop_and_may_end_in_its_own_way(shell):
    code = "sh -c 'trap \"echo heard; exit 3\" INT; echo on; while :; do sleep 0.1; done'"
    text, told = stopped_after(shell, code, "on")
    assert told
    assert "heard" in text


def test_a_parent_comes_before_its_child_whatever_their_numbers(shell, monkeypatch):
    """SIGINT in this order: else bash takes the child's end for one of its own accord."""
    block = shell.run("(sleep 600 & echo $$; wait; true); true")
    leader = int(next(block).content)
    pids = psutil.pids
    for turned in (False, True):
        monkeypatch.setattr(psutil, "pids", lambda turned=turned: sorted(pids(), reverse=turned))
        found = session(leader)
        assert [each.ppid() for each in found[1:]] == [each.pid for each in found[:2]]
    block.close()


@pytest.mark.parametrize("polite", [0.4])
def test_what_ignores_every_polite_signal_is_killed(shell):
    code = "trap '' INT TERM; echo on; sh -c \"trap '' INT TERM; while :; do :; done\""
    _, told = stopped_after(shell, code, "on")
    assert told
    assert said(shell, "echo fine") == f"{NOT_KEPT}\nfine\n"


def test_a_python_that_ignores_sigint_starts_a_bash_that_does_not():
    """A process that was begun in the background of a script ignores it, and so would its bash."""
    code = (
        "import signal, threading; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from lmc_jupyter.computer.languages.shell import Shell\n"
        "shell = Shell()\n"
        "try:\n"
        "    for piece in shell.run('echo on; sleep 600'):\n"
        "        threading.Thread(target=shell.stop).start()\n"
        "except KeyboardInterrupt: print('stopped')\n"
        "finally: shell.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "stopped\n"


def test_close_ends_everything_that_was_started(shell):
    started = [psutil.Process(int(said(shell, "sleep 600 & echo $!"))) for _ in range(2)]
    shell.close()
    assert psutil.wait_procs(started, timeout=60)[1] == []
    assert said(shell, "echo again") == "again\n"


@pytest.mark.long
def test_a_stop_in_the_very_moment_in_which_a_program_starts_keeps_the_state(shell):
    """A child that bash has forked and that has not become its program yet is hit too."""
    said(shell, "KEPT=yes")
    for _ in range(60):
        text, told = stopped_after(shell, "echo on; sleep 600; echo NOT", "on")
        assert told
        assert "NOT" not in text
    assert said(shell, "echo $KEPT") == "yes\n"
