"""What a course lets a pupil have of a model: everything, hints, or nothing.

One rule: in a process it only gets stricter. What a folder's file has set no session, setting or
magic takes back; a new kernel reads the file again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lmc_jupyter.errors import SessionError

if TYPE_CHECKING:
    from lmc_jupyter.conversation.events import Acted

MODES = ("", "hints", "off")
"""From most to least: a model answers; `%lmc hint` says one step, and no model answers; no model
and no hints."""

_REFUSALS = {
    "hints": (
        "this course gives hints and no answers: `%lmc hint` says one step about your exercise, "
        "and `%lmc test` says which of its tests fail"
    ),
    "off": "in this course no model is asked and no hint is given: `%lmc test` runs the tests",
}

_required = ""


def read_mode(value: object) -> str:
    """One of `MODES`; False, which YAML makes of a bare off, is "off".

    Raises
    ------
    SessionError
        For anything else, and for what is looser than the course.
    """
    word = _known("off" if value is False else value)
    if MODES.index(word) < MODES.index(_required):
        raise SessionError(
            f'this course has set tutor = "{_required}", and nothing makes that looser'
        )
    return word


def _known(value: object) -> str:
    if value not in MODES:
        raise SessionError(f'tutor must be "", "hints" or "off", not {value!r:.60}')
    return str(value)


def require(mode: str) -> None:
    """From now on every session of this process is at least as strict."""
    global _required
    _required = max(_required, mode, key=MODES.index)


def mode(*wished: str) -> str:
    """The strictest one of what is wished, by a session or a tag, and of what the course requires.

    Raises
    ------
    SessionError
        For what is no mode.
    """
    return max(_required, *map(_known, wished), key=MODES.index)


def check(wished: str, tell: Callable[[Acted], None] | None = None) -> None:
    """Whether a model may be asked, or an agent's code be taken.

    Parameters
    ----------
    tell : notes in the conversation that it may not, with the mode

    Raises
    ------
    SessionError
        Where it may not, with what there is instead.
    """
    if refusal := _REFUSALS.get(mode(wished)):
        if tell is not None:
            from lmc_jupyter.conversation.events import Acted  # not as the extension is loaded

            tell(Acted({"action": "refused", "mode": mode(wished)}, at=0))
        raise SessionError(refusal)
