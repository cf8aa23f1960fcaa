"""The text of a PDF, for models that read no PDF files.

One rule: a PDF may be hostile, so pypdf reads it in a process of its own, with bounds of bytes,
pages, characters, time and memory, and without the person's environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass

BEGINS = b"%PDF-"
MAX_BYTES = 20_000_000
MAX_PAGES = 300
MAX_CHARS = 400_000
MAX_SECONDS = 30
MAX_MEMORY = 1 << 30

_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "SYSTEMROOT", "HOME", "LANG")
"""What Python needs to find itself and its packages."""

_READER = """
import sys
sys.path = [each for each in sys.path if each]  # never the working directory
import contextlib, io, json, logging
pages, chars, seconds, memory = map(int, sys.argv[1:])
with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has none; time is bounded too
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
answer = {}
try:
    import pypdf
    logging.disable()
    reader = pypdf.PdfReader(io.BytesIO(sys.stdin.buffer.read()))
    if reader.is_encrypted and not reader.decrypt(""):
        answer["why"] = "it is locked with a password"
    else:
        answer["pages"], text = len(reader.pages), []
        for page in reader.pages[:pages]:
            text.append(page.extract_text())
            if sum(map(len, text)) > chars:
                break
        answer["read"], answer["text"] = len(text), "\\n\\n".join(text)[:chars]
except ImportError as error:
    answer["why"] = f"pypdf is missing here ({error}): pip install pypdf"
except MemoryError:
    answer["why"] = "reading it takes too much memory"
except Exception as error:
    answer["why"] = f"it is broken ({type(error).__name__})"
sys.stdout.buffer.write(json.dumps(answer).encode("ascii", "replace"))
"""


@dataclass(frozen=True)
class Pdf:
    """The text of a PDF.

    Parameters
    ----------
    pages : how many it has
    read : how many of them were read
    text : their text; "" for a scan
    """

    pages: int
    read: int
    text: str


def text_of(data: bytes) -> Pdf | str:
    """The text of a PDF, or why it cannot be had: the end of a sentence."""
    if len(data) > MAX_BYTES:
        return f"it has {len(data):,} bytes, more than the {MAX_BYTES:,} that are read"
    bounds = map(str, (MAX_PAGES, MAX_CHARS, MAX_SECONDS, MAX_MEMORY))
    try:
        process = subprocess.run(
            [sys.executable, "-c", _READER, *bounds],
            input=data,
            capture_output=True,
            timeout=MAX_SECONDS,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            check=False,
        )
        answer = json.loads(process.stdout)
    except subprocess.TimeoutExpired:
        return f"reading it takes more than {MAX_SECONDS} s"
    except (OSError, ValueError):  # it was ended in the middle
        return "reading it was stopped"
    if "why" in answer:
        return str(answer["why"])
    return Pdf(int(answer["pages"]), int(answer["read"]), str(answer["text"]).strip())
