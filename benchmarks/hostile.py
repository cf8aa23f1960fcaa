"""What takes longest of what is made to take long: files that are refused, text that is drawn.

One rule: processor seconds of this process, from the bytes to the sentence or the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice

from lmc_jupyter import formats
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import strict_json, strict_yaml
from lmc_jupyter.formats.glm import as_protobuf
from lmc_jupyter.frontends.cell import html

FILES: dict[str, dict[str, Callable[[], bytes]]] = {
    "glm-yaml": {
        "an alias bomb": lambda: b"a: &a [x,x]\nb: [*a,*a]",
        "a list without end": lambda: b"[" + b"a," * 16_000_000 + b"]",
        "lists in lists": lambda: b"[" * 32_000_000,
        "braces": lambda: b"{" * 32_000_000,
        "mappings without end": lambda: b"- {a: b}\n" * 4_000_000,
        "keys of one length": lambda: b"".join(b"k%08d: 1\n" % n for n in range(400_000)),
        "a text with an alias": lambda: b"[&a " + b"x" * 4_000_000 + b",*a" * 1_000 + b"]",
        "escapes": lambda: b'"' + b"\\n" * 33_000_000 + b'"',
        "comments": lambda: b"# x\n" * 16_000_000,
        "a number": lambda: b"9" * 60_000_000,
    },
    "glm-json": {
        "brackets": lambda: b"[" * 60_000_000,
        "a list without end": lambda: b"[" + b"1," * 30_000_000 + b"1]",
        "entries": lambda: b'{"history":[' + b"{}," * 900_000 + b"{}]}",
        "calls": lambda: b'{"history":[{"user":{"function_calls":[' + b"{}," * 900_000 + b"{}]}}]}",
        "a number": lambda: b"9" * 60_000_000,
    },
    "glm-protobuf": {
        "fields without end": lambda: b"\x0a\x00" * (as_protobuf.MAX_BYTES // 2),
        "a length beyond": lambda: b"\x0a\xff\xff\xff\xff\x07" + bytes(60_000_000),
        "zeros": lambda: bytes(as_protobuf.MAX_BYTES),
    },
}  # fmt: skip
"""By format: what it is, and how its bytes are made."""


def slowest(most: int) -> list[tuple[str, str, float]]:
    """(format, which file, seconds) of the file of each format that takes longest to refuse,
    of so many of each format."""
    assert strict_yaml.MAX_CHARS == strict_json.MAX_BYTES
    formats.formats()
    found = []
    for name, files in FILES.items():
        took = []
        for what, make in islice(files.items(), most):
            data = make()
            begun = time.process_time()
            try:
                formats.read(data, name)
            except FormatError:
                took.append((time.process_time() - begun, what))
            else:
                raise AssertionError(f"{what} was read as {name}")
        seconds, what = max(took)
        found.append((name, what, seconds))
    return found


FORMULAS = ("\\( ", "\\[ ", "$$ ", "$a ", "$$a\n", "\\(a\\", "$\\")
"""Beginnings of formulas that nothing ends."""
MANY = 20_001


def slowest_formula(most: int) -> tuple[str, float]:
    """(beginning, seconds) of the beginning of a formula that takes longest to draw many times,
    of so many."""
    took = []
    for opens in FORMULAS[:most]:
        begun = time.process_time()
        html.markdown(opens * MANY)
        took.append((time.process_time() - begun, opens))
    seconds, opens = max(took)
    return opens, seconds
