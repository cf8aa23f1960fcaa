"""Validate an RO-Crate by the validator of the format, without a network.

    python validate_crate.py CRATE CACHE

One rule: it runs in an environment of its own, `.venv-libraries`: the validator needs versions that
ours does not have. Its requests, for the context, is answered by what ro-crate-py has brought.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import requests
import rocrate
from requests.adapters import BaseAdapter
from requests_cache import CachedSession
from urllib3 import HTTPResponse

CONTEXTS = [f"https://w3id.org/ro/crate/{version}/context" for version in ("1.1", "1.2", "1.3")]


class Library(BaseAdapter):
    """Answers every request with the context of RO-Crate."""

    def send(self, request: Any, **_: Any) -> requests.Response:
        body = (Path(rocrate.__file__).parent / "data" / "ro-crate.jsonld").read_bytes()
        answer = requests.Response()
        answer.status_code, answer.url, answer.request = 200, request.url, request
        answer.headers["Content-Type"] = "application/ld+json"
        answer.raw = HTTPResponse(
            io.BytesIO(body), dict(answer.headers), status=200, preload_content=False,
            request_url=request.url,
        )  # fmt: skip
        return answer

    def close(self) -> None:
        """Nothing is open."""


def main(crate: str, cache: str) -> int:
    """0 when it is valid; its report goes to stdout."""
    with CachedSession(cache, expire_after=-1) as session:
        session.mount("https://", Library())
        for address in CONTEXTS:
            session.get(address)
    validator = Path(sys.executable).with_name("rocrate-validator")
    command = [str(validator), "-y", "--disable-color", "validate", "--offline", "--no-paging"]
    return subprocess.run([*command, "--cache-path", cache, "-v", crate], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
