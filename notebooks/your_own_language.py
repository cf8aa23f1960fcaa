"""The checks of the notebook `07-your-own-language`, and the drawing of its turtle.

One rule: that of `exercises`: a check tries out a language of its own, made from the learner's
class, and leaves the one in the notebook as it is.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from itertools import islice
from typing import Any

from exercises import Answer, Checks, declined, images
from PIL import Image, ImageDraw

from lmc_jupyter import Chunk, LMCError

check = Checks()

SIDE = 320  # pixels of a picture
_FINE = 3  # drawn so many times larger, then made smaller: smooth lines

NOT_PRINT = (
    "`print` writes into the notebook, and a model does not get it: write `yield Chunk(...)` in "
    "place of `print(...)`, with the same text as its content."
)

Line = tuple[float, float, float, float, str]
"""From x, y to x, y, in a color."""


def picture(lines: Iterable[Line]) -> Chunk:
    """The lines as an image that fits, as a piece of LMC. y grows upwards."""
    lines = list(lines)
    xs = [x for line in lines for x in (line[0], line[2])] or [0.0]
    ys = [y for line in lines for y in (line[1], line[3])] or [0.0]
    size, edge = max(max(xs) - min(xs), max(ys) - min(ys), 1.0), 20 * _FINE
    scale, middle = (SIDE * _FINE - 2 * edge) / size, SIDE * _FINE / 2
    x0, y0 = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2

    def place(x: float, y: float) -> tuple[float, float]:
        return middle + (x - x0) * scale, middle - (y - y0) * scale

    canvas = Image.new("RGB", (SIDE * _FINE, SIDE * _FINE), "white")
    pen = ImageDraw.Draw(canvas)
    for x, y, to_x, to_y, color in lines:
        pen.line([place(x, y), place(to_x, to_y)], fill=color, width=3 * _FINE)
    png = io.BytesIO()
    canvas.resize((SIDE, SIDE), Image.Resampling.LANCZOS).save(png, "PNG")
    content = base64.b64encode(png.getvalue()).decode("ascii")
    return Chunk("computer", "image", "base64.png", content, end=True)


def outputs(pieces: Iterable[Any] | None) -> Iterator[str]:
    """The console output among the pieces."""
    if pieces is None:
        raise LMCError(f"`run` yields nothing. {NOT_PRINT}")
    for piece in pieces:
        if not isinstance(piece, Chunk):
            raise TypeError(f"run must yield Chunk(...) objects, not {piece!r:.60}")
        if piece.type == "console" and piece.format == "output":
            yield str(piece.content)


@check.exercise("backwards", "!thgiR Registered, and found by both of its names.")
def _backwards(computer: Any) -> str:
    language = computer.languages.get("backwards")
    if language is None:
        return "There is no language `backwards` yet: run the cell with the class."
    if "mirror" not in language.aliases:
        return (
            f"`aliases` is {language.aliases!r}: it must hold the word mirror. "
            'With one word in it, mind the comma: ("mirror",)'
        )
    said = "".join(outputs(computer.run("mirror", "stressed")))
    if said.strip() != "desserts":
        return f'"stressed" gave {said.strip()!r:.60}, and should give "desserts": code[::-1]'
    return ""


@check.exercise("stream", "Each number comes when it is due: that is streaming.")
def _stream(Rocket: Any) -> str:  # noqa: N803 - a class
    with redirect_stdout(io.StringIO()) as printed:
        said = list(outputs(Rocket().run("3")))
    joined = "".join(said)
    if "3" in printed.getvalue() and "3" not in joined:
        return f"The numbers are printed. {NOT_PRINT}"
    if joined.split()[:3] != ["3", "2", "1"] or "Lift-off" not in joined:
        return f"The code 3 should count 3, 2, 1 and say Lift-off!, but it said {joined!r:.80}."
    if len(said) < 4:
        return (
            f"All of it came in {len(said)} piece(s), at the end: put a `yield` inside of the "
            "loop, one for each number."
        )
    return ""


@check.exercise("error", "A sentence instead of a crash: a model can read it, and mend its code.")
def _error(Rocket: Any) -> str:  # noqa: N803
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            said = "".join(outputs(Rocket().run("five")))
    except ValueError as error:
        return (
            f'The code "five" still ends in an exception ({error}). Put '
            "`except ValueError:` under a `try:`, and yield a sentence there."
        )
    if printed.getvalue().strip() and "five" not in said:
        return f"Your sentence is printed. {NOT_PRINT}"
    if "five" not in said:
        return (
            f'For the code "five" it says {said.strip()!r:.80}: repeat what was wrong, "five", '
            "so that the model sees what you mean."
        )
    if "Lift-off" in said:
        return "It complains, and then starts all the same: add a `return` after the complaint."
    if "".join(outputs(Rocket().run("1"))).split()[:1] != ["1"]:
        return "Now it complains about 1 as well, which is a good number: look at the `try`."
    return ""


@check.exercise("stop", "It hears Stop in the middle, and starts afresh the next time.")
def _stop(Rocket: Any) -> str:  # noqa: N803
    rocket = Rocket()
    if not callable(getattr(rocket, "stop", None)):
        return "There is no method `stop` yet."
    said = outputs(rocket.run("1000"))
    next(said)
    rocket.stop()
    try:
        more = list(islice(said, 3))
    except KeyboardInterrupt:
        pass
    else:
        if not more:
            return "It ends quietly after Stop: `raise KeyboardInterrupt`, so that all know why."
        return (
            "It counts on after Stop. `stop` must set the event, and the loop must look at it: "
            "`if self.stopped.wait(0.3): raise KeyboardInterrupt`."
        )
    try:
        again = next(outputs(rocket.run("3")))
    except KeyboardInterrupt:
        return "After a Stop it never starts again: `run` must begin with `self.stopped.clear()`."
    return "" if again.strip() == "3" else f"After a Stop, the code 3 begins with {again!r:.40}."


@check.exercise("left", "It turns both ways, so it can draw anything.")
def _left(computer: Any) -> str:
    turtle = computer.languages.get("turtle")
    if turtle is None:
        return "There is no language `turtle` yet: run the cells above."
    trial = type(turtle)()
    try:
        for _ in trial.run("left 90\nforward 10"):
            pass
    except Exception as error:  # noqa: BLE001 - it is the learner's
        return f'The code "left 90" ended with {type(error).__name__}: {error}.'
    if not trial.lines:
        return 'The turtle does not know "left" yet: write the method do_left, and run its cell.'
    x, y = trial.lines[-1][2:4]
    if round(x) == 0 and round(y) == 10:
        return ""
    if round(y) == -10:
        return "Your left is its right: here angles grow to the left, so add to self.heading."
    return (
        f'After "left 90" and "forward 10" it should be at (0, 10), but is at ({x:.0f}, {y:.0f}).'
    )


@check.exercise("model", "Your language, the model's drawing, your yes.", words="turtle")
def _model(answer: Answer) -> str:
    blocks = [m for m in answer if m.role == "assistant" and m.type == "code"]
    if not blocks:
        return "The model wrote no code this time: run the %%lmc cell again."
    if declined(answer):
        return "The code was not run: run the %%lmc cell again, read it, and press Run."
    if all(block.format not in ("turtle", "logo") for block in blocks):
        return (
            f"The model wrote {blocks[0].format}, not turtle: say `in the language turtle`, and "
            "what it knows: forward, right, left, color."
        )
    if not images(answer):
        return "Turtle code ran, but no picture came: read the error in its output."
    return ""
