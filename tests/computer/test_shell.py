"""One bash from block to block: its state, its output, and that it can always be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import psutil
import pytest
from stopping import stopped_after

from lmc_jupyter.computer import shell as module
from lmc_jupyter.computer.bash import session
from lmc_jupyter.computer.shell import Shell
from lmc_jupyter.errors import ComputerError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="bash is not registered on Windows")


@pytest.fixture
def shell():
    it = Shell()
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


@pytest.mark.parametrize("code", ["exit 3", "set -e; echo before; false", "exec true"])
def test_a_shell_that_ends_is_begun_anew_where_it_was(shell, tmp_path, code):
    said(shell, f"cd '{tmp_path}'")
    text = said(shell, code)
    assert "[the shell has ended with status" in text
    assert "exit\n" not in text
    assert said(shell, "pwd") == f"{tmp_path}\n"


def test_a_shell_that_was_killed_between_two_blocks_is_begun_anew(shell):
    pid = int(said(shell, "echo $$"))
    os.kill(pid, signal.SIGKILL)
    psutil.Process(pid).wait()
    assert said(shell, "echo here") == "here\n"


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
    assert "characters were shown, not kept" in text
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
    'trap "" INT; echo on; sleep 600; trap - INT',
    "echo on; sleep 600 & wait",
    "echo on; echo $(sleep 600; echo NOT)",
    "echo on; sh -c \"trap '' INT; sleep 600\"",
    # Once `timeout` waits: a SIGINT as it starts ends it as if its program had ended well, and
    # bash goes on behind it, in a terminal too.
    "timeout 600 sh -c 'until grep -q State:.S /proc/$PPID/status; do :; done; echo on; sleep 600'"
    "; echo NOT",
    "echo on; yes | cat > /dev/null; echo NOT",
    "echo on; while :; do sleep 0.2; done; echo NOT",
    "echo on; while :; do x=$(sleep 600; echo NOT); done",
]


@pytest.mark.parametrize("code", CASES)
def test_everything_can_be_stopped_and_the_state_is_kept(shell, code, monkeypatch):
    if "trap" in code:
        monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.7)  # these ignore SIGINT on purpose
    said(shell, "KEPT=yes")
    text, told = stopped_after(shell, code, "on")
    assert told
    assert "NOT" not in text
    assert said(shell, "trap - INT; echo $KEPT") == "yes\n"


def test_a_program_that_bash_waits_for_hears_the_stop_and_may_end_in_its_own_way(shell):
    """It is suspended while bash is hit, and goes on then."""
    code = "sh -c 'trap \"echo heard; exit 3\" INT; echo on; while :; do sleep 0.1; done'"
    text, told = stopped_after(shell, code, "on")
    assert told
    assert "heard" in text


def test_a_parent_comes_before_its_child_whatever_their_numbers(shell, monkeypatch):
    """SIGINT in this order: else bash takes the child's end for one of its own accord."""
    leader = int(said(shell, "echo $$"))
    block = shell.run("(sleep 600 & echo on; wait; true); true")
    assert next(block).content == "on\n"
    pids = psutil.pids
    for turned in (False, True):
        monkeypatch.setattr(psutil, "pids", lambda turned=turned: sorted(pids(), reverse=turned))
        found = session(leader)
        assert [each.ppid() for each in found[1:]] == [each.pid for each in found[:2]]
    block.close()


def test_what_ignores_every_polite_signal_is_killed(shell, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.4)
    code = "trap '' INT TERM; echo on; sh -c \"trap '' INT TERM; while :; do :; done\""
    _, told = stopped_after(shell, code, "on")
    assert told
    assert said(shell, "trap - INT TERM; echo fine") == "fine\n"


def test_a_python_that_ignores_sigint_starts_a_bash_that_does_not():
    """A process that was begun in the background of a script ignores it, and so would its bash."""
    code = (
        "import signal, threading; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from lmc_jupyter.computer.shell import Shell\n"
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
    said(shell, "sleep 600 &")
    leader = int(said(shell, "echo $$"))
    started = session(leader)
    assert len(started) >= 2
    shell.close()
    assert psutil.wait_procs(started, timeout=60)[1] == []
    assert said(shell, "echo again") == "again\n"


def test_a_stop_in_the_very_moment_in_which_a_program_starts_keeps_the_state(shell):
    """A child that bash has forked and that has not become its program yet is hit too."""
    said(shell, "KEPT=yes")
    for _ in range(60):
        text, told = stopped_after(shell, "echo on; sleep 600; echo NOT", "on")
        assert told
        assert "NOT" not in text
    assert said(shell, "echo $KEPT") == "yes\n"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_what_bash_says_of_itself_is_left_out_however_it_is_cut(cut):
    of_bash = "bash: [22394: 2 (255)] tcsetattr: Inappropriate ioctl for device\n"
    errors = f"first\n{of_bash}bash: x: not found\n"
    text, held = "", ""
    for start in range(0, len(errors), cut):
        more, held = module._without_bash(held + errors[start : start + cut])
        text += more
    assert text + held == "first\nbash: x: not found\n"
