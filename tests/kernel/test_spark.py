"""Jobs that a block began in Spark end with the block when it is interrupted.

The stand-in for pyspark keeps its books as Spark does: a tag belongs to a thread, a call waits on
a socket within py4j, and what interrupts it there closes the connections of all threads.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.long]

PY4J = """
import socket, threading

busy = threading.local()
closed, waiting = [], set()

def send_command(answers):
    '''Wait for the answer of the JVM.'''
    if getattr(busy, 'waits', False):
        raise RuntimeError('reentrant call: this connection waits for another answer')
    busy.waits = True
    try:
        waiting.add(threading.current_thread().name)
        return answers.recv(100).decode()
    except KeyboardInterrupt:
        closed.append(threading.current_thread().name)
        raise
    finally:
        waiting.discard(threading.current_thread().name)
        busy.waits = False

def call():
    '''A call that the JVM answers at once.'''
    answers, jvm = socket.socketpair()
    jvm.send(b'done')
    send_command(answers)
"""

PYSPARK = """
import signal, socket, threading
from py4j import clientserver

class SparkContext:
    _active_spark_context = None

    def __init__(self):
        SparkContext._active_spark_context = self
        self.jobs, self.dead, self._of_thread = {}, False, threading.local()

        def signal_handler(signum, frame):
            try:
                self.cancelAllJobs()
            finally:
                raise KeyboardInterrupt

        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal_handler)

    def getJobTags(self):
        return self._of_thread.__dict__.setdefault('tags', set())

    def addJobTag(self, tag):
        self._call()
        self.getJobTags().add(tag)

    def removeJobTag(self, tag):
        self._call()
        self.getJobTags().discard(tag)

    def cancelJobsWithTag(self, tag):
        self._call()
        self._end([name for name, (_, tags) in self.jobs.items() if tag in tags])

    def cancelAllJobs(self):
        self._call()
        self._end(list(self.jobs))

    def begin(self, name):
        '''Begin a job, and do not wait for it.'''
        answers, jvm = socket.socketpair()
        self.jobs[name] = (jvm, frozenset(self.getJobTags()))
        return answers

    def collect(self, name):
        answer = clientserver.send_command(self.begin(name))
        if answer != 'done':
            raise RuntimeError(f'{name}: {answer}')

    def wait_for_other_things(self):
        '''A call of the JVM that is no job.'''
        self.other, jvm = socket.socketpair()
        self.jvm = jvm
        clientserver.send_command(self.other)

    def _call(self):
        if self.dead:
            raise ConnectionError('the JVM has ended')
        clientserver.call()

    def _end(self, names):
        for name in names:
            self.jobs.pop(name)[0].send(b'cancelled')
"""

SET_UP = """
import threading, time
from lmc_jupyter.kernel import spark as jobs
from py4j import clientserver

def context():
    import pyspark
    return pyspark.SparkContext._active_spark_context

def look(true, file):
    '''Make the file when it is true, while the cell waits.

    Words would not do: ipykernel 6 may lose what a thread prints.
    '''
    def wait():
        while not true():
            time.sleep(0.05)
        open(file, 'x').close()
    threading.Thread(target=wait, daemon=True).start()

jobs.PATIENCE_SECONDS = 600.0
"""


@pytest.fixture(scope="module")
def kernel(frontend, tmp_path_factory):
    """A front end of a kernel that finds the stand-in."""
    folder = tmp_path_factory.mktemp("libraries")
    for name, source in (("py4j/clientserver.py", PY4J), ("pyspark/__init__.py", PYSPARK)):
        (folder / name).parent.mkdir()
        (folder / name).write_text(source)
    (folder / "py4j" / "__init__.py").touch()
    frontend.run(f"folder = {str(folder)!r}\nsys.path.insert(0, folder)\n{SET_UP}")
    return frontend


@pytest.fixture
def spark(kernel):
    """The same, with a context of the person's and a job that their own thread waits for."""
    kernel.run(
        "import pyspark\n"
        "clientserver.closed.clear()\n"
        "sc = pyspark.SparkContext()\n"
        "def wait_for_mine():\n"
        "    try: sc.collect('mine')\n"
        "    except RuntimeError: pass\n"  # at the end it is cancelled
        "mine = threading.Thread(target=wait_for_mine, daemon=True)\n"
        "mine.start()\n"
        "while 'mine' not in sc.jobs: time.sleep(0.01)"
    )
    yield kernel
    kernel.run(
        "sc.dead = False; sc.cancelAllJobs(); mine.join()\n"
        "pyspark.SparkContext._active_spark_context = None"
    )


def interrupted(kernel, code, when, press="stop"):
    """The console text of a block that is interrupted at a time, and what ended it."""
    file = Path(kernel.value("folder")) / uuid.uuid4().hex
    cell = kernel.start(f"look(lambda: {when}, {str(file)!r})\nsaid = text({code!r})")
    kernel.until(file.exists, when)
    if press == "stop":
        kernel.control("stop_request", {})
    else:
        kernel.interrupt_wait(lambda: kernel.is_idle(cell))
    kernel.finish(cell)
    return kernel.value("said")


@pytest.mark.parametrize("press", ["stop", "interrupt"])
def test_an_interrupt_cancels_the_job_of_the_block_and_no_other(spark, press):
    spark.run("sc.addJobTag('my own')")
    said = interrupted(spark, "sc.collect('its')\nprint('over')", "'its' in sc.jobs", press)
    assert said[-1] == "KeyboardInterrupt"
    assert "its: cancelled" in said[0]
    assert "over" not in said[0]
    assert spark.value("list(sc.jobs)") == ["mine"]
    assert spark.value("clientserver.closed") == []
    assert spark.value("sc.getJobTags()") == {"my own"}


def test_code_that_begins_another_job_after_the_interrupt_loses_that_one_too(spark):
    code = "for n in range(3):\n    try: sc.collect(n)\n    except RuntimeError: print(n)"
    said = interrupted(spark, code, "0 in sc.jobs")
    assert said == ["0\n1\n2\n", "KeyboardInterrupt"]
    assert spark.value("list(sc.jobs)") == ["mine"]


def test_a_job_that_the_block_does_not_wait_for_ends_with_its_interrupt_alone(spark):
    spark.told("first = sc.begin('first')")
    said = interrupted(spark, "sc.begin('its')\nwhile True: pass", "'its' in sc.jobs")
    assert said[-1] == "KeyboardInterrupt"
    assert spark.value("sorted(sc.jobs)") == ["first", "mine"]


def test_a_call_of_spark_that_is_no_job_is_interrupted_as_other_code_is(spark):
    spark.run("jobs.PATIENCE_SECONDS = 0.2")
    waits = "hasattr(sc, 'jvm') and 'MainThread' in clientserver.waiting"
    said = interrupted(spark, "sc.wait_for_other_things()", waits)
    assert said[-1] == "KeyboardInterrupt"
    assert spark.value("clientserver.closed") == ["MainThread"]
    spark.run("jobs.PATIENCE_SECONDS = 600.0")


@pytest.mark.parametrize("press", ["stop", "interrupt"])
def test_all_jobs_of_a_context_that_the_block_made_are_its_own(kernel, press):
    code = "import pyspark\nsc = pyspark.SparkContext()\nsc.collect('its')"
    said = interrupted(kernel, code, "context() and context().jobs", press)
    assert said[-1] == "KeyboardInterrupt"
    assert kernel.value("sc.jobs") == {}
    kernel.run("pyspark.SparkContext._active_spark_context = None")


@pytest.mark.parametrize("press", ["stop", "interrupt"])
def test_so_are_those_where_a_module_of_the_persons_is_the_first_to_import_it(kernel, press):
    module = "import pyspark\nsc = pyspark.SparkContext()\ndef work(): sc.collect('its')\n"
    (Path(kernel.value("folder")) / "cluster_of_mine.py").write_text(module)
    kernel.run("sys.modules.pop('pyspark', None); sys.modules.pop('cluster_of_mine', None)")
    kernel.run("import importlib; importlib.invalidate_caches()")
    seen = "'pyspark' in sys.modules and context() and context().jobs"
    said = interrupted(kernel, "import cluster_of_mine\ncluster_of_mine.work()", seen, press)
    assert said[-1] == "KeyboardInterrupt"
    assert kernel.value("cluster_of_mine.sc.jobs") == {}
    kernel.run("context().__class__._active_spark_context = None")


def test_a_spark_that_has_ended_breaks_no_block(spark):
    spark.run("sc.dead = True")
    assert spark.told("6*7") == ["42\n"]


def test_a_cancellation_that_fails_is_told(spark):
    said = interrupted(spark, "sc.dead = True\nwhile True: pass", "sc.dead")
    assert said[0].endswith(
        "KeyboardInterrupt\nJobs of Spark may go on: ConnectionError: the JVM has ended\n"
    )
    assert said[1:] == ["KeyboardInterrupt"]
