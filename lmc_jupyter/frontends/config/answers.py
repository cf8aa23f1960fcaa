"""The person's yes or no to a file of a notebook's folder.

One rule: an answer counts for the path and the very bytes that they were shown.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import platformdirs

from lmc_jupyter.conversation.disk import calls, write_whole
from lmc_jupyter.conversation.journal import read_bytes
from lmc_jupyter.errors import SessionError


class Consents:
    """The answers to files of one kind.

    Parameters
    ----------
    kind : the name of their folder in the person's data directory
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def of(self, path: Path, digest: str) -> str:
        """ "yes" or "no" for the file as it is, "another" for an answer to other bytes, else ""."""
        try:
            values = json.loads(read_bytes(self._file(path)))
            answer, answered = values["answer"], values["sha256"]
        except (OSError, SessionError, ValueError, LookupError, TypeError):
            return ""  # there is none, or a damaged one: the file is offered
        if answer not in ("yes", "no"):
            return ""
        return str(answer) if answered == digest else "another"

    def save(self, path: Path, digest: str, yes: bool) -> None:
        """Save an answer.

        Raises
        ------
        SessionError
            When it cannot be saved.
        """
        file, answer = self._file(path), "yes" if yes else "no"
        values = {"path": str(path), "sha256": digest, "answer": answer}
        try:
            calls.make_folder(file.parent)
            write_whole(file, json.dumps(values).encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise SessionError(f"{file} cannot be written ({error})") from None

    def _file(self, path: Path) -> Path:
        """Where the answer to a file is saved."""
        name = hashlib.sha256(str(path).encode("utf-8", "replace")).hexdigest()[:32]
        return platformdirs.user_data_path("lmc-jupyter") / self._kind / f"{name}.json"
