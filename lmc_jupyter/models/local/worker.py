"""The worker of the embedded model: a process of its own that owns the weights.

One rule: it never outlives the process that started it. It serves an OpenAI-compatible API on
127.0.0.1, at a port that the system picks, to requests with its own random key; it prints one
JSON line `{"base": address, "key": key, "pid": pid}` when it is ready, or
`{"error": sentence}`, and it ends with its standard input.

It is run by its path, isolated and without the site's packages, and imports nothing of ours:
near it lie modules with the names of libraries. Its only argument is a JSON object: `model`
(path), `runtime` (the folder that xllamacpp is in), `threads`, `n_ctx`, `idle` (seconds until
it frees memory).
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
import time
from typing import Any, NoReturn

PARENT_SECONDS = 2.0
"""Seconds between two checks that its parent is alive."""


def serve(options: dict[str, Any]) -> Any:
    """Load the weights and listen; return the server, which needs a reference to live."""
    sys.path.append(options["runtime"])
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options["model"]
    params.n_ctx = options["n_ctx"]
    params.n_parallel = 1  # one person; more would share out the context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options["threads"]
    params.n_gpu_layers = 0
    params.fit_params = False  # it would load the weights twice, to see what a GPU has room for
    params.warmup = False  # the first question does it
    params.verbosity = 0
    params.cache_ram_mib = 0  # the library would keep up to 8 GiB of old prompts
    params.sleep_idle_seconds = options["idle"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [options["key"]]
    params.cors_origins = ""
    params.ui = False
    params.endpoint_slots = False
    return xllamacpp.Server(params)


def end_with(parent: int) -> None:
    """End after the parent, even if a fork of it still has our standard input."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(0)


def main(argument: str) -> NoReturn:
    """Serve until the standard input ends."""
    parent = os.getppid()
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    # what native code prints must not mix with the ready line
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    options = json.loads(argument) | {"key": secrets.token_urlsafe(24)}
    try:
        server = serve(options)
        ready = {"base": server.listening_address, "key": options["key"], "pid": os.getpid()}
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent must be told
        ready = {"error": f"{type(error).__name__}: {error}"}
    answer.write(json.dumps(ready) + "\n")
    answer.flush()
    while "error" not in ready and sys.stdin.buffer.read(1):
        pass  # nothing is ever sent: only its end matters
    os._exit(0)  # a reply may be under way in native threads


if __name__ == "__main__":
    main(sys.argv[1])
