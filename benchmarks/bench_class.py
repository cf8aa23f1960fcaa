"""What a class of thirty costs one shared server of a small model: waiting, and memory.

One rule: the server is llama.cpp's own, with places for several requests at once; each pupil's
request is the one that words a hint (`lmc_jupyter.tutor.wording`).

`python benchmarks/bench_class.py [--pupils 30] [--write]`
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import threading
import time
from itertools import cycle, islice
from pathlib import Path
from urllib.request import Request, urlopen

import psutil
import rows
from bench_tutor import hints

from lmc_jupyter.tutor.wording import INSTRUCTIONS, requests

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from llama_server import llama_server

PAGE = Path(__file__).parents[1] / "docs" / "hub.md"
TOKENS = 160
"""Of an answer."""


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
    table = [
        f"| {options.pupils} pupils ask once | first word, median | all of it, median | longest |"
        " memory of the server |",
        "| --- | --- | --- | --- | --- |",
    ]
    with llama_server() as server:
        ask(server.address, "Say hello.")
        for name, seconds in (("at the same moment", 0.0), ("within five minutes", 300.0)):
            found = measure(server.address, options.pupils, seconds)
            first, whole = zip(*found, strict=True)
            memory = psutil.Process(server.pid).memory_info().rss / 1e6
            table.append(
                f"| {name} | {statistics.median(first):.0f} s | {statistics.median(whole):.0f} s | "
                f"{max(whole):.0f} s | {memory:,.0f} MB |"
            )
    text = "\n".join(table)
    sys.stdout.write(f"{text}\n")
    if options.write:
        rows.write("class", text, PAGE)


if __name__ == "__main__":
    main()
