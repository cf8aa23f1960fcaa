"""The commands of the tutor: a hint, and the tests of an exercise.

One rule: what is said of a cell is found by running it against the teacher's tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmc_jupyter.content.cell import exercise_of
from lmc_jupyter.content.notebook_file import read_cells, source_of
from lmc_jupyter.frontends.magic.commands.files import notebook_file
from lmc_jupyter.frontends.magic.commands.table import Invocation, WrongCommand, command
from lmc_jupyter.turn import course

if TYPE_CHECKING:
    from lmc_jupyter.session import Session
    from lmc_jupyter.tutor.answering import TutorModel
    from lmc_jupyter.tutor.attempt import Attempt
    from lmc_jupyter.tutor.exercises import Exercise
    from lmc_jupyter.tutor.tutor import Work


@command(
    "hint",
    "[ID] [--expected WORDS]",
    help="get a hint for an exercise, one step at a time",
    more="ID is that of the tag `lmc-exercise: ID`; without it, it is the exercise that you ran "
    "last. The next step comes when you have changed the cell and run it. --expected says what you "
    "expected to happen, and may be left out.",
)
def hint(call: Invocation, id: str | None, expected: str | None) -> str | None:
    from lmc_jupyter.tutor.answering import wish
    from lmc_jupyter.tutor.tutor import Tutor

    if course.mode(call.session.tutor) == "off":
        course.check("off")
    if course.mode(call.session.tutor) == "hints":
        call.front.ask(wish(id or "my exercise", expected or ""), insert=False)
        return None
    exercise, work, folder = find_work(call.session, id)
    given = Tutor(call.session, folder).hint(exercise, work, expected or "")
    return "" if given.is_new and call.front.shows_notes else given.text


@command(
    "test",
    "[ID]",
    help="run an exercise's cell against its tests, without any model",
    more="ID is that of the tag `lmc-exercise: ID`; without it, it is the exercise that you ran "
    "last. The cell runs in a fresh process, with the cells above that it rests on.",
)
def test(call: Invocation, id: str | None) -> str:
    from lmc_jupyter.tutor.tutor import Tutor

    exercise, work, folder = find_work(call.session, id)
    return "\n".join(_report(exercise, Tutor(call.session, folder).test(exercise, work)))


@command(
    "report",
    "[PATH] [--name NAME]",
    help="write a page of your own work in this notebook, to hand in",
    more="The page has your attempts and hints, what you asked and what you expected. You are in "
    "it by a pseudonym; --name puts your name there, if your course wants that. PATH is that of "
    "the notebook with -report.html, unless you name one; the page that was there is replaced.",
)
def report(call: Invocation, path: str | None, name: str | None) -> str:
    from lmc_jupyter.tutor.course import report as pages
    from lmc_jupyter.tutor.tutor import Tutor, pseudonym

    folder = _folder(call.session)
    book = notebook_file(call.session.journal.notebook or "notebook.ipynb")
    to = folder / (path or f"{book.stem}-report.html")
    if to.is_dir():
        raise WrongCommand(f"{str(to)!r} is a folder: name a file in it")
    done = Tutor(call.session, folder).actions()
    made = datetime.now(timezone.utc).isoformat(timespec="seconds")
    work = pages.Submission(
        name or pseudonym(), book.name, made, done["attempt"], done["hint"], done["question"]
    )
    pages.write(to, pages.of_pupil(work))
    return (
        f"Your work in this notebook is in {to}, as {work.pupil}. Read it, and hand it in if you "
        "want to: nothing was sent to anybody."
    )


def _report(exercise: Exercise, tried: Attempt) -> Iterator[str]:
    match tried.stage:
        case "passed":
            yield f"{exercise.id}: all {tried.tests} tests pass."
        case "setup":
            yield f"{exercise.id}: a cell that this one rests on fails: {_error(tried)}"
        case "time":
            yield f"{exercise.id}: the cell did not come to an end."
        case "cell":
            where = f" in line {tried.line}" if tried.line else ""
            yield f"{exercise.id}: the cell fails{where}: {_error(tried)}"
        case _:
            yield f"{exercise.id}: {tried.passed} of {tried.tests} tests pass. The next one fails:"
            yield (
                f"  {tried.message or tried.error}"
                if (tried.error == "AssertionError")
                else f"  {_error(tried)}"
            )


def _error(tried: Attempt) -> str:
    return f"{tried.error}: {tried.message}" if tried.message else tried.error


def tutor_of(session: Session) -> TutorModel:
    """What answers in a session of a course with hints."""
    from lmc_jupyter.tutor.answering import TutorModel

    return TutorModel(session, lambda id: find_work(session, id), _folder(session))


def _folder(session: Session) -> Path:
    notebook = session.journal.notebook
    return notebook_file(notebook).parent if notebook else Path.cwd()


def find_work(session: Session, id: str | None) -> tuple[Exercise, Work, Path]:
    """The exercise, the pupil's cell, and the folder of the notebook.

    Parameters
    ----------
    id : None for the exercise whose cell ran last

    Raises
    ------
    WrongCommand
        Where no cell of this exercise is known.
    """
    from lmc_jupyter.tutor import exercises
    from lmc_jupyter.tutor.tutor import Work

    notebook, folder = session.journal.notebook, _folder(session)
    cells = session.prompt.cells()
    ran = [each for each in cells if each.exercise and id in (None, each.exercise)]
    if ran:
        cell = ran[-1]
        exercise = exercises.find(folder, cell.exercise)
        before = tuple(each.source for each in cells if each.number < cell.number
                       and each.exercise != cell.exercise)  # fmt: skip
        return exercise, Work(cell.source, before, has_run=True, mode=cell.tutor), folder
    found = list(_in_file(notebook, id))
    if len(found) != 1:
        raise WrongCommand(
            "run the cell of the exercise first, or name it: its tag is `lmc-exercise: ID`"
            if id is None
            else f"there is no cell with the tag `lmc-exercise: {id}` that has run or is saved"
        )
    name, source = found[0]
    sources = [each.source for each in cells]
    has_run = source.strip() in sources
    before = tuple(sources[: sources.index(source.strip())] if has_run else sources)
    return exercises.find(folder, name), Work(source, before, has_run), folder


def _in_file(notebook: str, id: str | None) -> Iterator[tuple[str, str]]:
    """(id, source) of the exercises of the saved notebook: for front ends that name no tags."""
    for cell in read_cells(str(notebook_file(notebook))) if notebook else ():
        metadata: Any = cell.get("metadata")
        name = exercise_of(metadata.get("tags") if isinstance(metadata, dict) else None)
        if name and id in (None, name):
            yield name, source_of(cell)
