"""The process that speaks to the models: what reaches it, how it ends, and who notices."""

from __future__ import annotations

import contextlib
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import patched_worker
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_server import STALL, Fault, ModelServer, Turn, text
from sampling import SEED, amount

from lmc_jupyter.errors import ModelError, Stopped
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.cancel import ignore
from lmc_jupyter.models.litellm import LiteLLMModel, access, worker_process
from lmc_jupyter.models.litellm.worker.main import join
from lmc_jupyter.models.values import CallDelta, Delta

KEY = "sk-verysecret0123456789abcdef"
GO = [Message("user", "message", content="Go.")]
WORDS = " ".join(map(str, range(300)))
SOON = 60.0  # seconds, in which a process has to be gone: only a failing test waits so long


def model_at(server: ModelServer, **options: Any) -> LiteLLMModel:
    options = {"api_base": server.base, "api_key": KEY, "tools": False, **options}
    return LiteLLMModel("openai/some-model", **options)


def said(model: LiteLLMModel) -> str:
    return "".join(chunk.content or "" for chunk in model.respond(GO))


def in_time(holds: Callable[[], bool]) -> bool:
    """Whether this holds within 240 s."""
    end = time.monotonic() + 240.0
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def kill(worker: worker_process.LiteLLMWorker, number: int = signal.SIGKILL) -> None:
    os.kill(worker.pid, number)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[worker_process.LiteLLMWorker]:
    """A worker from which an answer is wanted soon; it is ready."""
    with patched_worker.patched() as worker:
        monkeypatch.setattr(worker_process, "_workers", [worker])
        worker_process.load()
        worker.patience = 2.0
        yield worker
        for each in worker_process._workers:
            each.end()
            each.wait()


# What reaches it ----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
def test_no_key_is_in_its_arguments_or_in_the_environment_that_others_read(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-9876543210")
    monkeypatch.setenv("MY_DATABASE", "postgres://me:of-a-database@host/db")
    model_server.turns = [Turn(text("ok"))]
    with patched_worker.patched() as worker:
        monkeypatch.setattr(worker_process, "_workers", [worker])
        assert said(model_at(model_server)) == "ok"
        for name in ("cmdline", "environ"):
            shown = Path(f"/proc/{worker.pid}/{name}").read_text()
            assert shown
            for secret in (KEY, "of-the-environment", "of-a-database"):
                assert secret not in shown


def test_what_is_set_and_unset_later_reaches_it(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_server.turns = [Turn(text("ok"))]
    model = LiteLLMModel("openai/gpt-4o-mini")
    assert access.missing(model.name) == ("OPENAI_API_KEY",)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-first-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.base)
    assert said(model) == "ok"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-second-0123456789")
    assert said(model) == "ok"
    assert [each.headers["authorization"] for each in model_server.requests] == [
        "Bearer sk-first-0123456789", "Bearer sk-second-0123456789"
    ]  # fmt: skip
    monkeypatch.delenv("OPENAI_API_KEY")
    assert access.missing(model.name) == ("OPENAI_API_KEY",)
    with pytest.raises(ModelError, match="set OPENAI_API_KEY"):
        said(model)


SLOW_LOAD = """
import time
from lmc_jupyter.models.litellm.worker import loading
load = loading.load
def slow():
    while not os.path.exists(os.environ["LMC_TEST_GO"]):
        time.sleep(0.01)
    loading.load = load
    return load()
loading.load = slow
"""


@pytest.mark.long
def test_what_is_set_while_it_loads_reaches_it_though_the_request_with_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    monkeypatch.setenv("LMC_TEST_GO", str(go))
    begins = """
from lmc_jupyter.models.litellm.worker import main as worker
answer = worker.ModelCalls._answer
async def begin(self, number, do, **arguments):
    if do == "facts":
        note(do)
    await answer(self, number, do, **arguments)
worker.ModelCalls._answer = begin
"""
    with patched_worker.patched(SLOW_LOAD + begins) as worker:
        begun = patched_worker.use(worker, tmp_path, monkeypatch)
        worker.send(worker.new_number(), "load", {}, ignore)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-stopped-question-0123")
        number = worker.new_number()
        worker.send(number, "facts", {"model": "gpt-4o"}, ignore)
        assert in_time(lambda: begun() == ["facts"])
        worker.close(number)
        assert in_time(lambda: number not in worker._boxes)
        assert not worker_process.is_loaded(), "the end of what was stopped says nothing of it"
        go.touch()
        assert worker_process.look_up("facts", model="gpt-4o")["missing"] == []
        assert worker.is_alive, "it is the same one"


@pytest.mark.long
def test_the_folder_may_be_deleted_before_it_has_heard_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, folder = tmp_path / "go", tmp_path / "folder"
    monkeypatch.setenv("LMC_TEST_GO", str(go))
    folder.mkdir()
    with patched_worker.patched(SLOW_LOAD) as worker:
        monkeypatch.setattr(worker_process, "_workers", [worker])
        worker.send(worker.new_number(), "load", {}, ignore)
        monkeypatch.chdir(folder)
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        worker.send(worker.new_number(), "facts", {"model": "gpt-4o"}, answers.put)
        monkeypatch.chdir(tmp_path)
        folder.rmdir()
        go.touch()
        assert "answer" in answers.get(timeout=60.0)


def test_an_option_that_is_an_object_is_refused_by_its_name() -> None:
    with pytest.raises(ModelError, match=r"the option client is an object \(object\)"):
        LiteLLMModel("openai/m", client=object())
    with pytest.raises(ModelError, match="the option metadata"):
        LiteLLMModel("openai/m", metadata={"call": print})


@pytest.mark.long
def test_what_a_library_prints_there_is_no_answer(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_server.turns = [Turn(text("ok"))]
    noisy = """
from lmc_jupyter.models.litellm.worker import lookups
counts = lookups.counts_tokens
def loud(model):
    print('{"number": 1, "end": true}', flush=True)
    os.write(1, b"noise")
    return counts(model)
lookups.counts_tokens = loud
"""
    with patched_worker.patched(noisy) as worker:
        monkeypatch.setattr(worker_process, "_workers", [worker])
        assert said(model_at(model_server)) == "ok"


def test_what_is_installed_beside_us_is_found_there(tmp_path: Path) -> None:
    """By `pip install --target`, and `sys.path.insert` in the notebook."""
    (tmp_path / "lmc_jupyter").symlink_to(Path(worker_process.__file__).parents[2])
    (tmp_path / "beside_us.py").write_text("import os; os._exit(7)")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from lmc_jupyter.models.litellm import worker_process
worker_process.BEGIN = worker_process.BEGIN.replace("main(**", "import beside_us; main(**")
print(worker_process.LiteLLMWorker()._python.process.wait())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert ran.stdout == "7\n", ran.stderr


# Pieces -------------------------------------------------------------------------------------------


def test_pieces_that_come_soon_after_each_other_come_together(model_server: ModelServer) -> None:
    words = " ".join(map(str, range(5_000)))
    model_server.turns = [Turn(text(words))]
    pieces = [chunk.content or "" for chunk in model_at(model_server).respond(GO)]
    assert "".join(pieces) == words
    assert len(pieces) < 2_500


CALLS = st.builds(
    CallDelta,
    st.integers(0, 1),
    st.none() | st.just("c"),
    st.none() | st.just("execute"),
    st.none() | st.text(max_size=3),
)
DELTAS = st.one_of(
    st.builds(Delta, st.text(max_size=3), st.just("")),
    st.builds(Delta, st.just(""), st.text(max_size=3)),
    st.builds(Delta, st.text(max_size=2), st.text(max_size=2)),
    st.builds(lambda calls: Delta(calls=tuple(calls)), st.lists(CALLS, max_size=2)),
    st.just(Delta(finish="stop")),
)


def flat(deltas: list[Delta]) -> list[Any]:
    """What they say, letter by letter, in its order."""
    found: list[Any] = []
    for each in deltas:
        found += [("reasoning", letter) for letter in each.reasoning]
        found += [("text", letter) for letter in each.text]
        for call in each.calls:
            begins = [(call.index, call.id, call.name)] if call.id or call.name else []
            found += begins
            found += [("argument", call.index, letter) for letter in call.arguments or ""]
        found += [each.finish] if each.finish else []
    return found


@given(st.lists(DELTAS, max_size=12))
def test_joined_pieces_say_the_same(deltas: list[Delta]) -> None:
    joined: list[Delta] = []
    for each in deltas:
        both = joined and join(joined[-1], each)
        if both:
            joined[-1] = both
        else:
            joined.append(each)
    assert flat(joined) == flat(deltas)
    assert [Delta.from_dict(each.to_dict()) for each in joined] == joined


# It dies ------------------------------------------------------------------------------------------


def when_asked(
    server: ModelServer, worker: worker_process.LiteLLMWorker, number: int = signal.SIGKILL
) -> Any:
    """A thread that sends the worker this signal when the server has been asked."""
    thread = threading.Thread(target=lambda: server.asked.wait(60) and kill(worker, number))
    thread.start()
    return thread


@pytest.mark.long
def test_a_request_of_which_nothing_has_come_is_sent_again_unseen(
    model_server: ModelServer, impatient: worker_process.LiteLLMWorker
) -> None:
    model_server.first = [Fault(b"", stall=True)]
    model_server.turns = [Turn(text("ok"))]
    thread = when_asked(model_server, impatient)
    assert said(model_at(model_server)) == "ok"
    thread.join()
    assert len(model_server.requests) == 2


@pytest.mark.long
def test_a_reply_that_has_begun_ends_in_a_sentence_and_the_next_question_works(
    model_server: ModelServer, impatient: worker_process.LiteLLMWorker
) -> None:
    model_server.turns = [Turn(text("one two"), STALL)]
    reply = model_at(model_server).respond(GO)
    assert next(reply).content == "one"
    kill(impatient)
    rest = []
    with pytest.raises(ModelError, match="has ended: the part that arrived is here; ask again"):
        rest.extend(reply)
    assert "".join(each.content or "" for each in rest).strip() in ("", "two")
    model_server.turns = [Turn(text("ok"))]
    assert said(model_at(model_server)) == "ok"


@pytest.mark.long
def test_one_that_dies_again_is_said_with_its_last_words_and_without_the_key(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = """
import sys
from lmc_jupyter.models.litellm.worker import main as worker
async def die(write, *, access, **_):
    sys.stderr.write(f"Fatal: cannot use {access['api_key']} here\\n")
    sys.stderr.flush()
    os._exit(3)
worker._CALLS["call"] = die
"""
    monkeypatch.setattr(worker_process, "BEGIN", patched_worker.program(dying))
    monkeypatch.setattr(worker_process, "_workers", [])
    with pytest.raises(ModelError, match=r"has ended: ask again \(Fatal: cannot use ") as caught:
        said(model_at(model_server))
    assert KEY not in str(caught.value)


def test_one_that_writes_what_is_no_answer_is_ended_and_said(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    babbling = """
from lmc_jupyter.content import worker_loop
worker_loop.json.dumps = lambda *_, **__: "{"
"""
    monkeypatch.setattr(worker_process, "BEGIN", patched_worker.program(babbling))
    monkeypatch.setattr(worker_process, "_workers", [])
    with pytest.raises(ModelError, match="it wrote a line that is no answer"):
        said(model_at(model_server))


@pytest.mark.long
def test_its_last_words_are_cut_where_no_key_is(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-" + "0123456789abcdef" * 10
    dying = """
import sys
from lmc_jupyter.models.litellm.worker import main as worker
async def die(write, *, access, **_):
    sys.stderr.write(f"cannot use {access['api_key']} here: {'no ' * 70}\\n")
    sys.stderr.flush()
    os._exit(3)
worker._CALLS["call"] = die
"""
    monkeypatch.setattr(worker_process, "BEGIN", patched_worker.program(dying))
    monkeypatch.setattr(worker_process, "_workers", [])
    with pytest.raises(ModelError, match="has ended: ask again") as caught:
        said(model_at(model_server, api_key=key))
    assert "no no no" in str(caught.value)
    assert key[-20:] not in str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["BaseException", "SystemExit"])
def test_what_is_no_exception_ends_a_request_with_a_sentence(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A panic of Rust's is none: the tokenizers and pydantic are written in it."""
    panic = f"""
from lmc_jupyter.models.litellm.worker import loading, main as worker
def panic(*_, **__):
    raise {kind}("it panicked")
worker._LOOKUPS["count"] = panic
"""
    with patched_worker.patched(panic) as worker:
        monkeypatch.setattr(worker_process, "_workers", [worker])
        with pytest.raises(ModelError, match="it panicked"):
            worker_process.look_up("count", model="gpt-4o", tokenizer="openai", texts=["a"])
        assert worker.is_alive
    with patched_worker.patched(f"{panic}loading.load = panic") as worker:
        monkeypatch.setattr(worker_process, "_workers", [worker])
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        worker.send(worker.new_number(), "load", {}, answers.put)
        sentence = f"LiteLLM cannot be imported ({kind}: it panicked)"
        assert answers.get(timeout=60.0)["failed"] == {"sentence": sentence}


@pytest.mark.long
def test_killed_at_any_moment_the_next_question_works(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing half comes as whole: a reply is the whole one, or an error says that it is not."""
    monkeypatch.setattr(worker_process, "_workers", [])
    model_server.turns = [Turn(text(WORDS))]
    draw, model = random.Random(SEED), model_at(model_server)
    began = time.monotonic()
    said(model)  # from nothing
    cold = time.monotonic() - began
    for number in range(amount(5, 60)):
        worker = worker_process.worker()
        killer = threading.Timer(draw.uniform(0, cold * (number % 5 == 0) + 0.1), worker.end)
        killer.start()
        came = ""
        try:
            for chunk in model.respond(GO):
                came += chunk.content or ""
            why = ""
        except ModelError as error:
            why = str(error)
        assert came == WORDS or "the part that arrived is here" in why, (came, why)
        assert WORDS.startswith(came)
        killer.join()
        worker.wait()
    assert said(model) == WORDS


# It hangs -----------------------------------------------------------------------------------------


def is_gone(worker: worker_process.LiteLLMWorker) -> bool:
    try:
        psutil.Process(worker.pid).wait(SOON)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


@pytest.mark.long
def test_stop_does_not_wait_for_one_that_is_frozen_and_it_is_ended(
    model_server: ModelServer, impatient: worker_process.LiteLLMWorker
) -> None:
    model_server.turns = [Turn(text("one"), STALL)]
    impatient.patience = 5.0  # so long nobody ends it
    told = model_at(model_server).with_brief(Brief, lambda _: None)
    reply = told.respond(GO)
    assert next(reply).content == "one"
    kill(impatient, signal.SIGSTOP)
    told.stop()
    with pytest.raises(Stopped):
        next(reply)
    assert impatient.is_alive, "nobody has waited for its end"
    assert is_gone(impatient)


@pytest.mark.long
def test_requests_that_are_stopped_before_it_begins_them_do_not_end_it(
    model_server: ModelServer, impatient: worker_process.LiteLLMWorker
) -> None:
    impatient.patience = 60.0  # longer than `in_time`: one that is not ended fails there
    for _ in range(20):
        number = impatient.new_number()
        impatient.send(number, "facts", {"model": "gpt-4o"}, ignore)
        impatient.close(number)
    assert in_time(lambda: not impatient._boxes)
    assert impatient.is_alive


def test_stop_while_it_starts_does_not_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"  # a folder of packages on a network is slow
    slow = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)"
    with patched_worker.patched(slow, patience=0.2) as worker:
        monkeypatch.setattr(worker_process, "_workers", [worker])
        number = worker.new_number()
        worker.send(number, "load", {}, ignore)
        worker.close(number)
        worker._cancel_timers[number].join()
        worker.patience = 60.0  # from now on
        go.touch()
        assert in_time(lambda: number not in worker._boxes)
        assert worker.is_alive


def test_a_request_that_was_stopped_while_it_started_has_its_whole_time_from_then_on(
    tmp_path: Path,
) -> None:
    slow = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)"
    with patched_worker.patched(slow, patience=60.0) as worker:
        number = worker.new_number()
        worker.send(number, "load", {}, ignore)
        worker.close(number)
        first = worker._cancel_timers[number]
        worker._hear({})  # it is up
        assert first.finished.is_set()
        assert not worker._cancel_timers[number].finished.is_set()


def test_whether_it_is_loaded_can_be_asked_while_it_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Closing:
        is_loaded = True

        @property
        def is_alive(self) -> bool:
            worker_process._workers.clear()  # as `close` does on another thread
            return True

    worker: Any = Closing()
    monkeypatch.setattr(worker_process, "_workers", [worker])
    assert worker_process.is_loaded()


# It is not wanted any more ------------------------------------------------------------------------


@pytest.mark.long
def test_one_that_is_not_asked_for_long_ends_and_another_is_started(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_server.turns = [Turn(text("ok"))]
    with patched_worker.patched(idle=0.2) as idle:
        monkeypatch.setattr(worker_process, "_workers", [idle])
        worker_process.load()
        idle.wait()
        assert said(model_at(model_server)) == "ok"
        assert worker_process.worker() is not idle


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_neither_uses_nor_ends_it(
    model_server: ModelServer, impatient: worker_process.LiteLLMWorker
) -> None:
    impatient.patience = 60.0
    model_server.turns = [Turn(text("ok"))]
    child = os.fork()
    if child == 0:
        os._exit(
            7 if not worker_process._workers and worker_process._lock.acquire(timeout=1) else 1
        )
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert said(model_at(model_server)) == "ok"
    assert worker_process.worker() is impatient


ORPHAN = """
import os, subprocess, sys, time
from lmc_jupyter.models.litellm import worker_process
worker = worker_process.worker()
if sys.argv[1] == "loaded":
    worker_process.load()
if sys.argv[2] == "forked" and os.fork() == 0:
    os.write(1, b"fork %d\\n" % os.getpid())
    time.sleep(600)
os.write(1, b"worker %d\\n" % worker.pid)
if sys.argv[3] == "killed":
    time.sleep(600)
"""


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9")
@pytest.mark.parametrize("state", ["starts", "loaded"])
@pytest.mark.parametrize("fork", ["alone", "forked"])
@pytest.mark.parametrize("end", ["killed", "ended"])
def test_it_is_gone_with_its_process_however_that_ends(state: str, fork: str, end: str) -> None:
    """A fork may hold its pipes, as the worker of a pool does."""
    script = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, state, fork, end], stdout=subprocess.PIPE, text=True
    )
    assert script.stdout is not None
    lines = [script.stdout.readline().split() for _ in range(2 if fork == "forked" else 1)]
    started, workers = [], []
    for what, pid in lines:
        with contextlib.suppress(psutil.NoSuchProcess):  # it is gone already
            started.append(psutil.Process(int(pid)))
            workers += started[-1:] if what == "worker" else []
    if end == "killed":
        script.kill()
    script.wait()
    script.stdout.close()
    try:
        left = psutil.wait_procs(workers, timeout=SOON)[1]
        assert [each for each in left if each.status() != psutil.STATUS_ZOMBIE] == []
        assert end == "ended" or workers
    finally:
        for each in started:
            if each not in workers and each.is_running():
                each.kill()
