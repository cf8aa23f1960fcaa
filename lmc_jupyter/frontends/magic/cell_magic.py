"""What `%%lmc` and `%lmc` do: a session with its commands, made at the first use of them.

One rule: it knows the shell by the magics that have made it, and draws in the cell that runs.
"""

from __future__ import annotations

import difflib
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from lmc_jupyter.agent import Reply
from lmc_jupyter.content.cell import mode_of
from lmc_jupyter.context.cells import CellChoice, read_choice
from lmc_jupyter.errors import LMCError, SessionError, Stopped
from lmc_jupyter.frontends.cell.live_display import LiveDisplay
from lmc_jupyter.frontends.config import first_cells, profiles, saved_model
from lmc_jupyter.frontends.config.settings import LMC, OF_MODEL
from lmc_jupyter.frontends.config.tool_files import ToolFiles
from lmc_jupyter.frontends.magic.commands import Commands, WrongCommand, asking, model
from lmc_jupyter.frontends.magic.commands.tutor import tutor_of
from lmc_jupyter.frontends.magic.completion import Completion
from lmc_jupyter.frontends.magic.magics import say
from lmc_jupyter.kernel.frontend import tags_of_the_cell
from lmc_jupyter.kernel.namespace import matching
from lmc_jupyter.lmc import Message
from lmc_jupyter.session import Session
from lmc_jupyter.turn import course
from lmc_jupyter.turn.options import NAMES, context_level
from lmc_jupyter.turn.turns import Turn

if TYPE_CHECKING:
    from lmc_jupyter.frontends.magic.magics import LMCMagics


class CellMagic:
    """The one conversation that the cells of a shell share, and what its commands work on.

    Parameters
    ----------
    magics : of this shell, with its settings, cells and document
    folder : of the notebook; None where it is not there
    """

    def __init__(self, magics: LMCMagics, shell: InteractiveShell, folder: Path | None) -> None:
        self.settings = magics.settings
        self.session = Session(**self.settings.session_arguments())
        self.session.conversation.pick_up()  # after a restart; `notice` says what was unreadable
        self.session.prompt.cells = magics.cells.recent
        self._document = magics.document
        self.place = magics.place
        self.session.prompt.folder_instructions = self.place.text
        self.tool_files = ToolFiles(folder, self._put_tools)
        self.session.hints = lambda: tutor_of(self.session)
        self.commands = Commands(
            self.session,
            self.settings,
            magics.cells,
            self.place,
            self.tool_files,
            self._document.is_on_screen,
        )
        self.stage, self._shell = LiveDisplay(shell), shell
        self.completion = Completion(self.commands, lambda prefix: matching(shell, prefix))
        self.magics = magics

    def begin(self, remarks: list[str]) -> list[str]:
        """Say what the person has to know of this folder and conversation; returns all remarks.

        Parameters
        ----------
        remarks : on where the settings come from
        """
        remarks = [*remarks, *self.tool_files.begin()]
        other_model = self.session.conversation.other_model  # a panel says it by itself
        for each in [*remarks, other_model, *self._offers()]:
            if each:
                say(each)
        return remarks

    def ask(self, question: str, options: Namespace) -> None:
        """Answer the question of a cell, with the options of its first line."""
        paths = _paths_of(options)
        if not (question or paths) and (options.new or not asking.can_resume(self.session)):
            raise UsageError("the cell is empty: write your question below %%lmc")
        real_paths: list[Path] = []
        try:
            attachments = _attachments(paths, real_paths) if paths else []
            cells = read_choice(options.cells) if options.cells else CellChoice()
            level = context_level(options.context) if options.context else None
        except LMCError as error:
            raise UsageError(str(error)) from None
        above, places = self._document.above(), self._document.places()
        cells = replace(cells, above=above, places=places)
        if options.new:
            self.session.conversation.may_leave()
            self.session.reset()
        for path in real_paths:
            self.session.files.allow(path)
        for offer in self._offers():
            say(offer)
        with _for_this_cell(self.session, options, level, self.settings, self._mode()):
            if any(message.type == "image" for message in attachments):
                self._warn_unseen()
            reply = self.session.ask(
                question or None, attachments=attachments, insert=True, cells=cells
            )
            if words := first_cells.notice(self.session):
                say(words)
            self.play(reply)

    def _offers(self) -> list[str]:
        """Sentences on the files of this folder that are new, or have changed."""
        files = (self.place, self.tool_files) if self.place.has_tools else (self.place,)
        return [offer for each in files if (offer := each.offer_once())]

    def _put_tools(self, values: dict[str, object]) -> None:
        self.session.prompt.tools = self.tool_files.servers
        self.session.computer.put(values, hide=True)

    def _mode(self) -> str:
        """What a course lets a pupil have in the cell that runs."""
        return course.mode(self.session.tutor, mode_of(tags_of_the_cell(self._shell)))

    def _warn_unseen(self) -> None:
        """Say where the model will only read about an image."""
        why, can_go = self.session.choice.blind()
        if why and self.session.choice.vision():
            more = " If it does see, run `%config LMC.vision = True` and ask again."
            say(f"{why}. It only gets the format and size of yours.{more if can_go else ''}")

    def play(self, reply: Reply) -> None:
        """Show an answer, in this cell."""
        try:
            self.stage.play(self.session, reply)
        except Stopped:
            return  # the view says so; the next cells may run

    def run_command(self, line: str) -> None:
        """Run the command of this line, and print its text."""
        try:
            text = self.commands.run(line, _InCell(self))
        except WrongCommand as error:
            raise UsageError(str(error)) from None
        if text:
            say(text)

    def apply_change(self, change: dict[str, Any]) -> None:
        """Apply a setting that was changed: it counts from the next question on."""
        name, session = change["name"], self.session
        if name == "profile":
            self._use_profile(change["old"], change["new"])
        elif name in NAMES:
            try:
                session.configure(**{name: change["new"]})
            except LMCError:  # such as a mistyped language: the setting says what counts
                self._set_back(name, change["old"])
                raise
        elif name in self.settings.class_own_traits(config=True):
            if name == "model" or session.choice.spec == self.settings.model:
                session.choose_model(self.settings.model, **self.settings.model_options())
            elif name != "start_worker":  # a model chosen in Python stays, with its other options
                new = change["new"]
                session.choose_options(**(new if name == "options" else {name: new}))
            self.magics.warm_up()
            if name in {*OF_MODEL, "options"}:
                self._remember_options()

    def _remember_options(self) -> None:
        """They stay with the model that is chosen in this notebook."""
        notebook, settings = self.session.journal.notebook, self.settings
        try:
            saved = saved_model.of_notebook(notebook)
            if saved is not None and saved.model == settings.model:
                saved = replace(saved, settings=settings.saved_options())
                saved_model.remember(notebook, saved)
        except SessionError as error:
            say(f"This setting counts until the kernel ends: {error}.")

    def _use_profile(self, old: str | None, new: str | None) -> None:
        if new is None:
            return
        try:
            profiles.apply(self.settings, profiles.profile(new))
        except LMCError:
            self._set_back("profile", old)  # nothing of the new one counts
            raise

    def _set_back(self, name: str, old: Any) -> None:
        """Let a setting have its old value again, which is in force."""
        self.settings.unobserve(self.magics.apply_change)
        setattr(self.settings, name, old)
        self.settings.observe(self.magics.apply_change)

    def close(self) -> None:
        """End the conversation."""
        self.session.close()
        self.tool_files.close()
        self.stage.close()


class _InCell:
    """The front of a command that was typed in a cell."""

    shows_notes = False

    def __init__(self, magic: CellMagic) -> None:
        self._magic = magic

    def ask(self, question: str | Message, insert: bool) -> bool:
        cells = CellChoice() if insert else None
        self._magic.play(self._magic.session.ask(question, insert=insert, cells=cells))
        return True

    def resume(self) -> None:
        self._magic.play(self._magic.session.ask())

    def retry(self, turn: Turn) -> None:
        self._magic.play(self._magic.session.retry(turn))

    def show_panel(self) -> None:
        from lmc_jupyter.frontends.panel.panel import the_panel

        self._magic.stage.show(the_panel(self._magic.magics).bundle())

    def choose(self, name: str, api_base: str | None) -> str:
        magic = self._magic
        return model.choose(
            magic.commands, name, api_base, ask=magic.stage.ask, say=say, progress=_progress
        )

    def progress(self, text: str) -> None:
        _progress(f"{text} …" if text else "")
        if not text:
            sys.stdout.write("\r")

    def secret(self, name: str) -> str:
        return self._magic.stage.secret(f"{name}: ")


@contextmanager
def _for_this_cell(
    session: Session, options: Namespace, level: str | None, settings: LMC, tutor: str
) -> Iterator[None]:
    """Set the options of one cell, and reset them at its end."""
    with ExitStack() as undo:
        if options.model or options.api_base:
            settings.check_floor("model", options.model or settings.model)
            settings.check_floor("api_base", options.api_base or settings.api_base)
            more = settings.model_options()
            if options.api_base:
                more["api_base"] = options.api_base
            choice = session.choice
            session.choose_model(options.model or settings.model, **more)
            undo.callback(session.choose, choice)
        for name, value, is_wanted in (
            ("auto_run", True, options.auto_run),
            ("tutor", tutor, tutor != session.tutor),
            ("context", "none" if options.no_context else level, options.no_context or level),
        ):
            if is_wanted:
                undo.callback(setattr, session, name, getattr(session, name))
                setattr(session, name, value)
        yield


_OPTIONS = (
    *("--model", "--api-base", "--auto-run", "--new"),
    *("--image", "--file", "--audio", "--cells", "--context", "--no-context"),
)


def with_suggestion(sentence: str, line: str) -> str:
    """The sentence of argparse on the first line of a cell, with the most similar option."""
    wrong = [word for word in line.split() if word.startswith("--") and word not in _OPTIONS]
    near = difflib.get_close_matches(wrong[0], _OPTIONS, 1) if wrong else []
    return f"{sentence}. Did you mean {near[0]}?" if near else sentence


def _paths_of(options: Namespace) -> list[tuple[str, str]]:
    """The files that the first line of a cell names; IPython leaves quotation marks on."""
    return [
        (what, path[1:-1] if path[0] in "'\"" and path[0] == path[-1] else path)
        for what in ("image", "file", "audio")
        for path in getattr(options, what) or ()
    ]


def _attachments(named: list[tuple[str, str]], real_paths: list[Path]) -> list[Message]:
    """The messages that these files mean; `real_paths` gets those that may be read later, without
    links.
    """
    from lmc_jupyter.frontends.panel.attachments import messages_of_paths

    def allow(path: Path) -> Path:
        real_paths.append(path.resolve(strict=True))
        return real_paths[-1]

    return messages_of_paths(named, Path.cwd(), allow)


def _progress(text: str) -> None:
    sys.stdout.write(f"\r{text:<79}")
    sys.stdout.flush()
