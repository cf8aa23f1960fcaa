"""Instructions of place: the `AGENTS.md` of the notebook's folder, or of one above it.

One rule: a model gets its text only after the person has been shown it and has said yes. What they
were shown is what is sent, to the character, and the answer counts for these bytes alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lmc_jupyter.content.folder_file import read_file
from lmc_jupyter.content.hidden import split_hidden
from lmc_jupyter.content.tokens import estimate
from lmc_jupyter.errors import FormatError, SessionError
from lmc_jupyter.frontends.config.answers import Consents
from lmc_jupyter.frontends.config.traces import INSTRUCTIONS, TOOLS, is_any_there

MAX_BYTES = 16_000
"""Of a file that goes to a model: it is in every request."""

_ANSWERS = Consents("instructions")
_HOW = "`%lmc instructions` shows them and asks"


@dataclass(frozen=True)
class Found:
    """A file as it is now.

    Parameters
    ----------
    path : where it is, without links
    digest : SHA-256 of its bytes, in hexadecimal digits
    text : as it is shown and sent: a hidden character is a mark such as `⟨U+202E⟩`
    hidden : how many of these marks there are
    """

    path: Path
    digest: str
    text: str
    hidden: int

    @property
    def lines(self) -> str:
        """How many there are: "12 lines"."""
        count = self.text.count("\n") + 1
        return f"{count:,} line{'' if count == 1 else 's'}"


def find(folder: Path | None) -> Found | None:
    """The nearest file, from this folder up; None where there is none, or an empty one.

    It is looked for up to the root of the repository or the person's home directory; in a folder
    that is below neither, in that folder alone.

    Raises
    ------
    SessionError
        For one that cannot go to a model.
    """
    for each in _folders(folder.resolve()) if folder is not None else ():
        path = each / INSTRUCTIONS
        if _is_there(path):
            return _read(path)
    return None


def _folders(start: Path) -> list[Path]:
    try:
        home = Path.home().resolve()
    except (RuntimeError, OSError):  # a user without a home directory
        home = None
    chain = [start, *start.parents]
    for at, folder in enumerate(chain):
        if folder == home or _is_there(folder / ".git"):
            return chain[: at + 1]
    return chain[:1]


def _is_there(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()  # one to itself is said
    except OSError:  # a folder that is not the person's to read
        return False


def _read(path: Path) -> Found | None:
    try:
        data = read_file(path, MAX_BYTES, inside=path.parent)
    except FormatError as error:
        raise SessionError(
            f"{error}, so it is not sent: put what matters into the setting `custom_instructions`"
        ) from None
    if data is None:
        return None
    text, hidden = _visible(data)
    return Found(path.resolve(), hashlib.sha256(data).hexdigest(), text, hidden) if text else None


@lru_cache(maxsize=4)
def _visible(data: bytes) -> tuple[str, int]:
    """The text with its hidden characters as marks, and how many they are."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n").strip()
    pieces = list(split_hidden(text))
    return "".join(piece for piece, _ in pieces), sum(is_hidden for _, is_hidden in pieces)


class Place:
    """The instructions of one folder, and the person's answer to them.

    Parameters
    ----------
    folder : the notebook's; None where there is none
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._shown = ""  # digest of what the person was shown
        self._offered = ""  # the sentence that was said last

    @property
    def has_tools(self) -> bool:
        """Whether the folder itself has a file that names MCP servers."""
        return self._folder is not None and is_any_there([self._folder / each for each in TOOLS])

    def text(self) -> str:
        """What a model gets: "" unless the person has said yes to the file as it is."""
        try:
            found = find(self._folder)
        except SessionError:  # `offer` says it
            return ""
        if found is None or _ANSWERS.of(found.path, found.digest) != "yes":
            return ""
        return found.text

    def offer(self) -> str:
        """A sentence on a file that waits for an answer, or cannot be sent; "" for none."""
        try:
            found = find(self._folder)
        except SessionError as error:
            return f"{error}."
        if found is None or (answer := _ANSWERS.of(found.path, found.digest)) in ("yes", "no"):
            return ""
        where = self._where(found)
        if answer == "another":
            return f"{where} has changed since you answered ({found.lines} now): {_HOW}."
        return f"{where} has instructions for models ({found.lines}): {_HOW}."

    def offer_once(self) -> str:
        """The same, but "" where that sentence was the last one."""
        last, self._offered = self._offered, self.offer()
        return "" if self._offered == last else self._offered

    def show(self) -> str:
        """The text, and what the person may answer.

        Raises
        ------
        SessionError
            Where there is none, or one that cannot go to a model.
        """
        found = self._find()
        self._shown = found.digest
        end = {
            "yes": "You said yes: it goes with every question. `%lmc instructions no` ends that.",
            "no": "You said no: it goes to no model. `%lmc instructions yes` sends it.",
        }.get(
            _ANSWERS.of(found.path, found.digest),
            "`%lmc instructions yes` sends this text with every question, `%lmc instructions no` "
            "does not. When the file changes you are asked again.",
        )
        marks = []
        if found.hidden:
            plural = "" if found.hidden == 1 else "s"
            marks = [f"It has {found.hidden} hidden character{plural}, written as ⟨U+…⟩."]
        head = f"{self._where(found)}: {found.lines}, about {estimate(found.text):,} tokens."
        quote = [f"│ {line}" for line in found.text.split("\n")]
        return "\n".join([head, end, *marks, *quote])

    def answer(self, yes: bool) -> str:
        """Save the person's answer; a yes to what they have not been shown shows it first.

        Raises
        ------
        SessionError
            As `show`, and where the answer cannot be saved.
        """
        found = self._find()
        if yes and self._shown != found.digest and _ANSWERS.of(found.path, found.digest) != "yes":
            return f"Read it first, then say `%lmc instructions yes` once more.\n{self.show()}"
        _ANSWERS.save(found.path, found.digest, yes)
        if not yes:
            return f"{self._where(found)} goes to no model."
        return (
            f"{self._where(found)} goes with every question now, about "
            f"{estimate(found.text):,} tokens. `%lmc instructions no` ends that."
        )

    def _find(self) -> Found:
        found = find(self._folder)
        if found is None:
            raise SessionError(
                f"there is no {INSTRUCTIONS} in {self._folder or 'this folder'}, nor above it in "
                "its repository: your own instructions are the setting `custom_instructions`"
            )
        return found

    def _where(self, found: Found) -> str:
        here = self._folder is not None and found.path.parent == self._folder.resolve()
        return f"{INSTRUCTIONS} in {'this folder' if here else found.path.parent}"
