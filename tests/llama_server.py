"""llama.cpp's own server with the embedded model, as a class shares it.

One rule: it runs in a process of its own, and ends with it.
"""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import NamedTuple
from urllib.request import Request, urlopen

from lmc_jupyter.models import weights

SLOTS = 4
"""Requests that the server works on at once."""
CONTEXT = 2_048
"""Tokens of a request with its answer."""


class LlamaServer(NamedTuple):
    address: str
    pid: int

    def count_written(self, key: str) -> int:
        """The tokens that its model has written since it began."""
        asked = Request(f"{self.address}/metrics", headers={"Authorization": f"Bearer {key}"})
        with urlopen(asked) as reply:
            found = re.search(rb"^llamacpp:tokens_predicted_total (\d+)", reply.read(), re.M)
        assert found is not None
        return int(found[1])


@contextmanager
def llama_server(keys: Sequence[str] = ()) -> Iterator[LlamaServer]:
    """The server on 127.0.0.1, which answers who has one of these keys; without keys, all."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_serve, args=(theirs, list(keys)), daemon=True)
    process.start()
    theirs.close()  # so that a server that does not begin is an EOFError, and no waiting for ever
    try:
        assert process.pid is not None
        yield LlamaServer(ours.recv(), process.pid)
    finally:
        ours.close()  # that ends it
        process.join()


def _serve(connection: Connection, keys: list[str]) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights.locate("qwen2.5-coder-0.5b"))
    params.n_ctx, params.n_parallel = CONTEXT * SLOTS, SLOTS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count() or 1
    params.n_gpu_layers, params.fit_params, params.verbosity = 0, False, 0
    params.hostnames, params.port, params.ui = ["127.0.0.1"], 0, False
    params.api_keys, params.endpoint_metrics = keys, True
    server = xllamacpp.Server(params)
    connection.send(server.listening_address)
    with suppress(EOFError):
        connection.recv()  # until the test or the benchmark is over
