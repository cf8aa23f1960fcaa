"""What a class of thirty costs one shared server of a small model: waiting, and memory.

One rule: the server is llama.cpp's own, with places for several requests at once; each pupil's
request is the one that words a hint (`lmc_jupyter.tutor.wording`).

`python benchmarks/bench_class.py [--pupils 30] [--write]`
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import sys
import threading
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil
import rows
from bench_tutor import hints

from lmc_jupyter.models import weights
from lmc_jupyter.tutor.wording import INSTRUCTIONS, requests

PAGE = Path(__file__).parents[1] / "docs" / "hub.md"
SLOTS = 4
"""Requests that the server works on at once."""
CONTEXT, TOKENS = 2_048, 160
"""Tokens of a request with its answer, and of an answer."""


def serve(connection: Any) -> None:
    """The shared server, in a process of its own."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights.locate("qwen2.5-coder-0.5b"))
    params.n_ctx, params.n_parallel = CONTEXT * SLOTS, SLOTS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count() or 1
    params.n_gpu_layers, params.fit_params, params.verbosity = 0, False, 0
    params.hostnames, params.port, params.ui = ["127.0.0.1"], 0, False
    server = xllamacpp.Server(params)
    connection.send(server.listening_address)
    connection.recv()  # until the benchmark is over


def ask(base: str, text: str) -> tuple[float, float]:
    """Seconds to the first word, and to the last."""
    body = {"messages": [{"role": "system", "content": INSTRUCTIONS},
                         {"role": "user", "content": text}],
            "max_tokens": TOKENS, "temperature": 0, "stream": True}  # fmt: skip
    begun, first = time.monotonic(), 0.0
    asked = Request(f"{base}/v1/chat/completions", json.dumps(body).encode(),
                    {"Content-Type": "application/json"})  # fmt: skip
    with urlopen(asked) as reply:
        for line in reply:
            if not first and b'"content":"' in line.replace(b" ", b""):
                first = time.monotonic() - begun
    return first, time.monotonic() - begun


def measure(base: str, pupils: int, seconds: float) -> list[tuple[float, float]]:
    """What each of so many pupils waits who ask once within this time.

    The moments are drawn by a fixed seed.
    """
    draw = random.Random(0)
    cases = list(hints(60))
    texts = []
    for exercise, _, hint, _ in islice(cycle(cases), pupils):
        texts.append(next(requests(exercise, hint, "")))
    found: list[tuple[float, float]] = []

    def pupil(text: str, wait: float) -> None:
        time.sleep(wait)
        found.append(ask(base, text))

    threads = [
        threading.Thread(target=pupil, args=(text, draw.uniform(0, seconds))) for text in texts
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


def main() -> None:
    """Measure, and print the table; with --write it stands in docs/hub.md too."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pupils", type=int, default=30)
    parser.add_argument("--write", action="store_true", help="write the table into the docs")
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    process.start()
    base = ours.recv()
    ask(base, "Say hello.")
    table = [
        f"| {options.pupils} pupils ask once | first word, median | all of it, median | longest |"
        " memory of the server |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, seconds in (("at the same moment", 0.0), ("within five minutes", 300.0)):
        found = measure(base, options.pupils, seconds)
        first, whole = zip(*found, strict=True)
        memory = psutil.Process(process.pid).memory_info().rss / 1e6
        table.append(
            f"| {name} | {statistics.median(first):.0f} s | {statistics.median(whole):.0f} s | "
            f"{max(whole):.0f} s | {memory:,.0f} MB |"
        )
    ours.send(None)
    process.join()
    text = "\n".join(table)
    sys.stdout.write(f"{text}\n")
    if options.write:
        rows.write("class", text, PAGE)


if __name__ == "__main__":
    main()
