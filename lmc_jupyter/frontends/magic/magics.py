"""`%%lmc` asks the language model; `%lmc` shows and changes the conversation.

One rule: parse, call, nothing else.
"""

# mypy: disallow-untyped-decorators=False
# IPython's decorators are untyped

from __future__ import annotations

import difflib
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from traitlets import TraitError

from lmc_jupyter import models
from lmc_jupyter.agent import Reply
from lmc_jupyter.computer import default_computer
from lmc_jupyter.content import terminal
from lmc_jupyter.context.cells import CellChoice, read_choice
from lmc_jupyter.errors import LMCError, SessionError, Stopped
from lmc_jupyter.frontends.cell.live_display import LiveDisplay
from lmc_jupyter.frontends.config import first_cells, profiles, saved_model
from lmc_jupyter.frontends.config.place import Place
from lmc_jupyter.frontends.config.settings import LMC, OF_MODEL
from lmc_jupyter.frontends.config.tool_files import ToolFiles
from lmc_jupyter.frontends.magic.commands import Commands, WrongCommand, asking, model
from lmc_jupyter.frontends.magic.completion import Completion
from lmc_jupyter.frontends.magic.current import current_session
from lmc_jupyter.frontends.panel.attachments import messages_of_paths
from lmc_jupyter.kernel.cells import Cells
from lmc_jupyter.kernel.control import Sender, listen
from lmc_jupyter.kernel.document import Document
from lmc_jupyter.kernel.frontend import kernel_of, kind, notebook_path, parent_of
from lmc_jupyter.kernel.line import Lines
from lmc_jupyter.kernel.namespace import matching
from lmc_jupyter.lmc import Message
from lmc_jupyter.session import Session
from lmc_jupyter.turn.options import NAMES, context_level
from lmc_jupyter.turn.turns import Turn

if TYPE_CHECKING:
    from lmc_jupyter.frontends.agents.door import Door

__all__ = ["LMCMagics", "current_session"]


@magics_class
class LMCMagics(Magics):
    """The magics of one shell, and the one conversation that its cells share."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        try:
            self.settings = LMC.instance(parent=shell)
        except TraitError as error:
            raise SessionError(
                f"your configuration has a value that is not allowed: {error}"
            ) from None
        self._configurables = cast("list[Any]", shell.configurables)  # where %config looks
        self._configurables.append(self.settings)
        self.remarks = _begin_with_profiles(self.settings)
        """Sentences for the person on where this kernel's settings come from."""
        self.remarks += _begin_with_the_chosen_model(self.settings, shell)
        try:
            self.session = Session(**self.settings.session_arguments())
        except BaseException:  # such as a mistyped language: it can be set right, and loaded then
            self._configurables.remove(self.settings)
            LMC.clear_instance()
            raise
        self.session.conversation.pick_up()  # after a restart; `notice` says what was unreadable
        self.cells = Cells(shell)
        self.session.prompt.cells = self.cells.recent
        self._document = Document(shell)
        self.place = Place(_folder_of(shell))
        self.session.prompt.folder_instructions = self.place.text
        self.tool_files = ToolFiles(
            _folder_of(shell), lambda values: self.session.computer.put(values, hide=True)
        )
        self.session.prompt.tools = self.tool_files.servers
        self.remarks += self.tool_files.begin()
        self.commands = Commands(
            self.session,
            self.settings,
            self.cells,
            self.place,
            self.tool_files,
            self._document.is_on_screen,
        )
        self.settings.observe(self._apply_change)
        self._warm_up()
        self.stage = LiveDisplay(shell)
        completion = Completion(self.commands, lambda prefix: matching(shell, prefix))
        self._lines = Lines(shell, completion.complete)
        self._door: Door | None = None
        self._listen_to_agents(shell)
        other_model = self.session.conversation.other_model  # a panel says it by itself
        offers = self.place.offer_once(), self.tool_files.offer_once()
        for each in [*self.remarks, other_model, *offers]:
            if each:
                _say(each)

    def _listen_to_agents(self, shell: InteractiveShell) -> None:
        """Let agents outside the notebook knock; nothing is imported before one does."""
        self._shut_door: Callable[[], None] = lambda: None
        kernel = kernel_of(shell)
        if kernel is None:
            return

        def receive(content: dict[str, Any], sender: Sender) -> None:
            if self._door is None:
                from lmc_jupyter.frontends.agents.door import Door

                self._door = Door(self)
            self._door.receive(content, sender)

        self._shut_door = listen(kernel, receive)

    @no_var_expand
    @magic_arguments()
    @argument("-m", "--model", help="another model for this cell: any name that LiteLLM knows")
    @argument("--api-base", help="the address of an OpenAI-compatible server")
    @argument("--auto-run", action="store_true", help="run the code of this cell without asking")
    @argument("--new", action="store_true", help="start a new conversation")
    @argument("--image", action="append", metavar="FILE", help="send this image to the model")
    @argument("--file", action="append", metavar="FILE", help="send this file to the model")
    @argument("--audio", action="append", metavar="FILE", help="send this wav file to the model")
    @argument("--cells", metavar="CELLS", help="send these of your cells: 3-5, 2,4 or none")
    @argument("--context", metavar="LEVEL", help="send of the notebook: notebook, names or none")
    @argument("--no-context", action="store_true", help="the same as --context none")
    @argument("words", nargs="*", help="of %%lmc: a command, see `%%lmc help`")
    @line_cell_magic
    def lmc(self, line: str, cell: str | None = None) -> None:
        """Ask the language model; run the code it writes in this notebook, if you say so."""
        if cell is None:
            self._command(line)
            return
        try:
            options = parse_argstring(self.lmc, line)
        except UsageError as error:
            raise UsageError(_with_suggestion(str(error), line)) from None
        except ValueError as error:  # a quotation mark without another
            raise UsageError(f"{line!r} cannot be read: {error}") from None
        if options.words:
            raise UsageError(
                "%%lmc takes options on its first line, not words such as "
                f"{' '.join(options.words)!r}: write the question below it"
            )
        self._ask(cell.strip(), options)

    def greet(self) -> None:
        """Print the model and the next step, where a person has loaded the extension.

        The panel loads it too, where nobody would read this line.
        """
        kernel = kernel_of(self.shell)
        if kernel is None:
            if kind(self.shell) != "terminal":
                return
        elif "load_ext" not in parent_of(kernel).get("content", {}).get("code", ""):
            return
        missing = models.describe_missing(self.session.choice.spec)
        name = self.session.choice.spec or os.environ.get("LMC_MODEL") or "local"
        if name == "local":
            name = f"{models.embedded_title()} (runs on this machine, makes mistakes)"
        line = f"{missing or f'Model: {name}.'} `%lmc help` lists the commands."
        _say(line if kernel is None else f"{line}\nCtrl+Alt+L (⌘ ⌥ L) opens the chat panel.")

    def _apply_change(self, change: dict[str, Any]) -> None:
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
            session.choose_model(self.settings.model, **self.settings.model_options())
            self._warm_up()
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
            _say(f"This setting counts until the kernel ends: {error}.")

    def _warm_up(self) -> None:
        if self.settings.start_worker:
            models.warm_up(self.settings.model, self._prepare)

    def _prepare(self) -> None:
        """Import and look up what the first question would wait for."""
        import filelock  # noqa: F401 - of the conversation's file

        import lmc_jupyter.computer.effects
        import lmc_jupyter.frontends.cell.asking
        import lmc_jupyter.frontends.cell.cell

        with suppress(LMCError):  # a source tree that was not built: the first use says so
            import lmc_jupyter.frontends.panel.widget  # noqa: F401 - of `%%lmc`

        default_computer(self.shell).words()

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
        self.settings.unobserve(self._apply_change)
        setattr(self.settings, name, old)
        self.settings.observe(self._apply_change)

    def _ask(self, question: str, options: Namespace) -> None:
        paths = _paths_of(options)
        if not (question or paths) and (options.new or not asking.can_resume(self.session)):
            raise UsageError("the cell is empty: write your question below %%lmc")
        real_paths: list[Path] = []
        try:
            attachments = messages_of_paths(
                paths, Path.cwd(), lambda path: _resolve(path, real_paths)
            )
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
        for offer in (self.place.offer_once(), self.tool_files.offer_once()):
            if offer:  # the file is new, or has changed
                _say(offer)
        with _for_this_cell(self.session, options, level, self.settings):
            if any(message.type == "image" for message in attachments):
                self._warn_unseen()
            reply = self.session.ask(
                question or None, attachments=attachments, insert=True, cells=cells
            )
            if words := first_cells.notice(self.session):
                _say(words)
            self.play(reply)

    def _warn_unseen(self) -> None:
        """Say where the model will only read about an image."""
        why, can_go = self.session.choice.blind()
        if why and self.session.choice.vision():
            more = " If it does see, run `%config LMC.vision = True` and ask again."
            _say(f"{why}. It only gets the format and size of yours.{more if can_go else ''}")

    def play(self, reply: Reply) -> None:
        """Show an answer, in this cell."""
        try:
            self.stage.play(self.session, reply)
        except Stopped:
            return  # the view says so; the next cells may run

    def _command(self, line: str) -> None:
        try:
            text = self.commands.run(line, _InCell(self))
        except WrongCommand as error:
            raise UsageError(str(error)) from None
        if text:
            _say(text)

    def close(self) -> None:
        """Undo what loading the extension did."""
        self._shut_door()
        if self._door is not None:
            self._door.close()
        self._lines.close()
        self.cells.close()
        self._document.close()
        self.session.close()
        self.tool_files.close()
        self.stage.close()
        self.settings.unobserve_all()
        for each in (self.settings, self):
            self._configurables.remove(each)
        LMC.clear_instance()


def _begin_with_profiles(settings: LMC) -> list[str]:
    """Apply the chosen profile, then that of the working directory; returns remarks on both."""
    lines: list[str] = []
    if settings.profile is not None:
        what = f"the profile {settings.profile!r}"
        try:
            values, problems = profiles.read_profile(settings.profile)
            if problems:
                lines.append(
                    f"{profiles.name_problems(what, problems)} {_only_stricter(settings, values)}"
                )
            else:
                profiles.apply(settings, values)
        except LMCError as error:
            lines.append(f"{error}.")
    what = f"{profiles.IN_FOLDER} in this folder"
    try:
        found = profiles.of_folder(Path.cwd())
        if found is None:
            return lines
        values, problems = found
        if problems:
            lines.append(profiles.name_problems(what, problems))
        changes, beyond = _make_stricter(settings, values)
    except (LMCError, OSError) as error:
        return [*lines, f"{error}."]
    line = (
        f"{what} makes these settings stricter: {', '.join(changes)}."
        if changes
        else f"{what} changes nothing."
    )
    if beyond:
        line += f" Ignored (a folder can only make settings stricter): {', '.join(beyond)}."
    return [*lines, line]


def _make_stricter(settings: LMC, values: profiles.Values) -> tuple[profiles.Values, list[str]]:
    """Apply what makes the settings stricter; returns it, and the names of the others."""
    current = {name: getattr(settings, name) for name in settings.trait_names(config=True)}
    changes, beyond = profiles.stricter(current, values)
    profiles.apply(settings, changes)
    return changes, beyond


def _only_stricter(settings: LMC, values: profiles.Values) -> str:
    """Apply what of a profile with mistakes makes the settings stricter; a sentence on it."""
    changes, _ = _make_stricter(settings, values)
    if not changes:
        return "None of its settings apply."
    return f"Of its settings only those apply that make yours stricter: {', '.join(changes)}."


def _begin_with_the_chosen_model(settings: LMC, shell: InteractiveShell) -> list[str]:
    """Take the model that the person chose for this notebook, else the one for all of theirs.

    What a configuration or a variable of the environment says comes before the one for all.
    """
    where = "for this notebook"
    try:
        choice = saved_model.of_notebook(notebook_path(shell))
        if choice is None and settings.model is None and not os.environ.get("LMC_MODEL"):
            choice, where = saved_model.of_all(), "for all notebooks"
    except SessionError as error:
        return [f"{error}: choose it again with `%lmc model NAME`."]
    if choice is None:
        return []
    try:
        settings.take_saved(choice.settings)
    except SessionError as error:
        return [f"{error}: choose it again with `%lmc model NAME`."]
    if (choice.model, choice.api_base) == (settings.model, settings.api_base):
        return []
    settings.model, settings.api_base = choice.model, choice.api_base
    return [f"Model: {choice.model} (remembered {where})."]


def _folder_of(shell: InteractiveShell) -> Path | None:
    """The notebook's folder where its path is known, else the working directory if it is there."""
    folder = Path(notebook_path(shell) or ".").parent
    try:
        return folder if folder.is_absolute() and folder.is_dir() else Path.cwd()
    except OSError:
        return None


class _InCell:
    """The front of a command that was typed in a cell."""

    def __init__(self, magics: LMCMagics) -> None:
        self._magics = magics

    def ask(self, question: str | Message, insert: bool) -> bool:
        cells = CellChoice() if insert else None
        self._magics.play(self._magics.session.ask(question, insert=insert, cells=cells))
        return True

    def resume(self) -> None:
        self._magics.play(self._magics.session.ask())

    def retry(self, turn: Turn) -> None:
        self._magics.play(self._magics.session.retry(turn))

    def show_panel(self) -> None:
        from lmc_jupyter.frontends.panel.panel import the_panel

        self._magics.stage.show(the_panel(self._magics).bundle())

    def choose(self, name: str, api_base: str | None) -> str:
        magics = self._magics
        return model.choose(
            magics.commands, name, api_base, ask=magics.stage.ask, say=_say, progress=_progress
        )

    def progress(self, text: str) -> None:
        _progress(f"{text} …" if text else "")
        if not text:
            sys.stdout.write("\r")

    def secret(self, name: str) -> str:
        return self._magics.stage.secret(f"{name}: ")


@contextmanager
def _for_this_cell(
    session: Session, options: Namespace, level: str | None, settings: LMC
) -> Iterator[None]:
    """Set the options of one cell, and reset them at its end."""
    with ExitStack() as undo:
        if options.model or options.api_base:
            more = settings.model_options()
            if options.api_base:
                more["api_base"] = options.api_base
            choice = session.choice
            session.choose_model(options.model or settings.model, **more)
            undo.callback(session.choose, choice)
        for name, value, is_wanted in (
            ("auto_run", True, options.auto_run),
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


def _with_suggestion(sentence: str, line: str) -> str:
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


def _resolve(path: Path, real_paths: list[Path]) -> Path:
    """The path without links, which is also added to `real_paths`."""
    real_paths.append(path.resolve(strict=True))
    return real_paths[-1]


def _progress(text: str) -> None:
    sys.stdout.write(f"\r{text:<79}")
    sys.stdout.flush()


_COMMAND = re.compile(r"`([^`\n]+)`")


def _say(text: str) -> None:
    """Print a text, which may have names and words of any file.

    Backticks around a command are for views that draw it; a line that quotes a file stays.
    """
    lines = terminal.plain(text).split("\n")
    shown = [each if each.startswith("│") else _COMMAND.sub(r"\1", each) for each in lines]
    sys.stdout.write("\n".join(shown) + "\n")
