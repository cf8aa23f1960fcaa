"""An error as a model reads it: the lines of its own code, then what went wrong.

One rule: plain text, short, and made from the exception itself, never from what a terminal or
a notebook shows.
"""

from __future__ import annotations

import builtins
import linecache
import re
import textwrap
import traceback
from types import FrameType, TracebackType

from lmc_jupyter.content import shorten

MAX_FRAMES = 6
MAX_CAUSES = 3
"""Errors of a group."""
MAX_CAUSE = 400
"""Characters on the first error of a chain."""
MAX_TEXT = 4_000
"""Characters of the error's own text."""

_concealed: set[str] = set()


def conceal(filename: str) -> None:
    """Show no line of the code that was compiled under this name, in any error from now on."""
    _concealed.add(filename)


def is_concealed(filename: str | None = None) -> bool:
    """Whether no line of the code of this name may be shown; of None: whether any code is such."""
    return bool(_concealed) if filename is None else filename in _concealed


_SOURCE_LINE = re.compile(
    r"^(?:[ \t>|+-]*\d+[ \t:|]|[ \t>|+]{4,})[ \t|]*(\S.*?)[ \t]*$", re.MULTILINE
)
"""A line of code in a traceback: indented, or with its number before it."""
HIDDEN_LINE = "(a line of a hidden cell)"


def without_concealed(text: str) -> str:
    """A text that a cell printed, such as a traceback, without lines of concealed code."""
    lines = {line.strip() for name in _concealed for line in linecache.getlines(name)}
    lines = {line for line in lines if any(map(str.isalnum, line))}
    if not lines:
        return text
    return _SOURCE_LINE.sub(
        lambda found: found[0].replace(found[1], HIDDEN_LINE) if found[1] in lines else found[0],
        text,
    )


def short(error: BaseException, filename: str) -> str:
    """The error in a few lines: of a chain the last, and the first in a line.

    Parameters
    ----------
    error : with its traceback
    filename : the name of the block's code; its frames are shown, and the innermost of others
    """
    if isinstance(error, KeyboardInterrupt):
        return "KeyboardInterrupt\n"
    text = _one(error, filename)
    from lmc_jupyter.content.near_names import hints  # at the first error

    more = "" if _SUGGESTION in text else hints(error)
    return f"{text}{_cause(error)}{more}"


def stopped(error: BaseException, filename: str) -> str:
    """What an interrupt says: the line of the block that ran, where it has begun."""
    lines = (
        number
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == filename
    )
    line = next(lines, None)
    return "KeyboardInterrupt" if line is None else f"It was at line {line}.\nKeyboardInterrupt"


_STOP = re.compile(r"^(It was at line \d+\.\n)?KeyboardInterrupt\n?\Z", re.MULTILINE)


def without_stop(text: str) -> str:
    """The output of a stopped block for a person, whom its head tells that it was stopped."""
    found = _STOP.search(text)
    if found is None or (found[1] is None and _FAILS.search(text)):
        return text  # the last line of a traceback, as of a program that bash ran
    return text[: found.start()]


_SUGGESTION = "Did you mean"
"""Python's own words, from 3.12 on."""


def _cause(error: BaseException) -> str:
    """A line on the first error of a chain, where it says something else than the last."""
    chain = [error]
    ids = {id(error)}
    while (before := _before(chain[-1])) is not None and id(before) not in ids:
        chain.append(before)
        ids.add(id(before))
    if _text(chain[-1]) == _text(error):
        return ""
    return f"It came from {shorten.line(_text(chain[-1]), MAX_CAUSE)}\n"


def _before(error: BaseException) -> BaseException | None:
    """The error that this one came from, or while which it came."""
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def _text(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(type(error), error)[-1:]).strip()


def _one(error: BaseException, filename: str) -> str:
    text = "".join(traceback.format_exception_only(type(error), error))
    text = text.replace(f'File "{filename}"', "This code")
    text = shorten.middle(text, MAX_TEXT)
    text += _members(error, filename)
    frames = _frame_lines(error.__traceback__, filename)
    if not frames:
        return text
    return "".join(["Traceback (most recent call last):\n", *frames, text])


def _members(error: BaseException, filename: str) -> str:
    """The errors of an exception group, each in a few lines."""
    members = getattr(error, "exceptions", ()) if _is_group(error) else ()
    lines = []
    for number, member in enumerate(members[:MAX_CAUSES], start=1):
        text = textwrap.indent(_one(member, filename), "    ")
        lines.append(f"  {number} of {len(members)}:\n{text}")
    return "".join(lines)


def _is_group(error: BaseException) -> bool:
    group = getattr(builtins, "BaseExceptionGroup", None)  # from Python 3.11 on
    return group is not None and isinstance(error, group)


def _frame_lines(trace: TracebackType | None, filename: str) -> list[str]:
    """The block's own frames, the last ones of many, and where outside of it it was raised."""
    frames = list(traceback.walk_tb(trace))
    own = [at for at in frames if at[0].f_code.co_filename == filename]
    if not own:
        return []
    visible = own[:1] + own[-(MAX_FRAMES - 1) :] if len(own) > MAX_FRAMES else own
    lines = [_frame(*at, filename) for at in visible]
    if len(visible) < len(own):
        lines.insert(1, f"  … {len(own) - len(visible)} more frames …\n")
    if frames[-1][0].f_code.co_filename != filename:
        lines.append(_frame(*frames[-1], filename))
    return lines


def _frame(frame: FrameType, number: int, filename: str) -> str:
    summary = traceback.StackSummary.extract(iter([(frame, number)]))[0]
    name = summary.name
    if summary.filename == filename:
        where = f"line {number}" if name == "<module>" else f"line {number}, in {name}"
    else:
        where = f'File "{summary.filename}", line {number}, in {name}'
    line = "" if summary.filename in _concealed else summary.line
    return f"  {where}\n" + (f"    {line}\n" if line else "")


_FAILS = re.compile(
    r"^(?:Traceback \(most recent call last\):|  This code, line \d+$)", re.MULTILINE
)
_FAILS_LAST = re.compile(
    r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?\Z|"
    r"^\[exit status \d+\]\Z|^Error in .*|^Execution halted\Z|^The computer failed: .*\Z",
    re.MULTILINE,
)


def fails(text: str, language: str | None) -> bool:
    """Whether what code of this language put out says that it failed."""
    text = text[-20_000:].rstrip()
    if language not in (None, "python"):
        return _FAILS_LAST.search(text[-2_000:]) is not None or bool(_FAILS.search(text))
    last = text.rpartition("\n")[2]
    return bool(_FAILS.search(text)) or _FAILS_LAST.match(last) is not None
