"""Clusters that the person has: the agent's code uses both workers, and Stop leaves them alive;
the kernel's own interrupt does to them what it does without us.

Real ones, of two workers each, on 127.0.0.1; whatever they start is gone at the end.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.long]

SET_UP = """
import os, time
from pathlib import Path
import psutil

def processes():
    '''The pids that this kernel has started, but the one with which Python itself tidies up.'''
    found = psutil.Process().children(recursive=True)
    return {each.pid for each in found if not any('resource_tracker' in a for a in each.cmdline())}

def until(flag, mark):
    '''On a worker: say that it is at it, and wait for a file.'''
    import os, time
    from pathlib import Path
    Path(mark + str(os.getpid())).touch()
    while not Path(flag).exists():
        time.sleep(0.05)
    return os.getpid()
"""


class Dask:
    library = "distributed"
    start = """
from distributed import Client, LocalCluster
cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, host='127.0.0.1', dashboard_address=None,
)
client = Client(cluster)
client.wait_for_workers(2)
workers = client.run(os.getpid)

def on_each(task, *arguments):
    '''A task for each worker.'''
    return [client.submit(task, *arguments, workers=[each], pure=False) for each in workers]

pids = sorted(workers.values())
"""
    end = "client.close(); cluster.close()"
    said = "client: a Dask client with 2 workers; use it for work that outgrows this machine"
    uses = "for pid in client.gather(on_each(os.getpid)): print(pid)"
    waits = "client.gather(on_each(until, 'go', 'at it '))"


class IPyParallel:
    library = "ipyparallel"
    start = """
import ipyparallel
cluster = ipyparallel.Cluster(n=2, profile_dir=os.getcwd(), controller_ip='127.0.0.1')
cluster.start_cluster_sync()
client = cluster.connect_client_sync(timeout=120)
client.wait_for_engines(2, timeout=120)
view = client[:]
pids = sorted(view.apply_sync(os.getpid))
"""
    end = "client.close(); cluster.stop_cluster_sync()"
    said = (
        "client: an ipyparallel client with 2 engines; use it for work that outgrows this machine"
    )
    uses = "for pid in view.apply_sync(os.getpid): print(pid)"
    waits = "view.apply_async(until, 'go', 'at it ').get()"  # apply_sync catches an interrupt


@pytest.fixture(scope="module", params=[Dask, IPyParallel])
def kind(request):
    if find_spec(request.param.library) is None:
        pytest.skip(f"{request.param.library} is not installed")
    return request.param


@pytest.fixture(scope="module")
def cluster(kind, frontend, tmp_path_factory):
    """A front end of a kernel with such a cluster in it."""
    folder = str(tmp_path_factory.mktemp(kind.library))
    frontend.run(f"{SET_UP}\nhome = os.getcwd()\nos.chdir({folder!r})\nbefore = processes()")
    try:
        frontend.run(kind.start)
        yield frontend
    finally:
        frontend.run("started = [psutil.Process(pid) for pid in processes() - before]")
        frontend.run(kind.end)
        frontend.run("gone, left = psutil.wait_procs(started, timeout=60)\nassert not left, left")
        frontend.run("os.chdir(home)")


def pids(text):
    return sorted(int(line) for line in text.split() if line.isdigit())


def test_the_code_of_a_block_gets_results_of_both_workers(cluster, kind):
    workers = cluster.value("pids")
    assert len(set(workers)) == 2
    assert pids(cluster.told(kind.uses)[0]) == workers


def test_the_model_is_told_of_it(cluster, kind):
    assert kind.said in cluster.value("python.names()").splitlines()


def test_a_stop_leaves_the_workers_alive_and_usable(cluster, kind):
    workers = cluster.value("pids")
    cluster.run("for file in Path().glob('at it *'): file.unlink()")
    code = f"print('begun')\n{kind.waits}\nprint('over')"
    cell = cluster.start(
        "import threading\n"
        "def look():\n"
        "    while len(list(Path().glob('at it *'))) < 2: time.sleep(0.05)\n"
        "    print('both are at it')\n"
        "threading.Thread(target=look, daemon=True).start()\n"
        f"said = text({code!r})"
    )
    cluster.shows(cell, "both are at it\n")
    cluster.control("stop_request", {})
    cluster.finish(cell)
    assert cluster.value("said[-1]") == "KeyboardInterrupt"
    assert "over" not in cluster.value("said[0]")
    cluster.run("Path('go').touch()")
    assert cluster.value("[psutil.pid_exists(pid) for pid in pids]") == [True, True]
    assert pids(cluster.told(kind.uses)[0]) == workers


# Jupyter's own interrupt, which goes to the whole process group of the kernel


@pytest.mark.parametrize("wraps", ["{}", "said = text({!r})"], ids=["a plain cell", "a block"])
def test_the_kernels_interrupt_ends_dasks_workers_with_us_and_without(
    make_frontend, tmp_path, wraps
):
    if find_spec("distributed") is None:
        pytest.skip("distributed is not installed")
    lab = make_frontend()
    lab.run(f"{SET_UP}\nos.chdir({str(tmp_path)!r})")
    lab.run(Dask.start)
    lab.run("begun = [psutil.Process(pid) for pid in pids]")
    cell = lab.start(wraps.format(Dask.waits))
    lab.until(lambda: len(list(tmp_path.glob("at it *"))) == 2, "both workers")
    lab.interrupt()
    lab.finish(cell)
    lab.run("gone, left = psutil.wait_procs(begun, timeout=60)\nassert not left, left")
    lab.run(Dask.end)
