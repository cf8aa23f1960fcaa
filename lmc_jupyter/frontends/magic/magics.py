"""`%%lmc` asks the language model; `%lmc` shows and changes the conversation.

One rule: loading registers, and imports next to nothing. What the magics do is made at their first
use (`cell_magic.py`), or at once where something of before counts here: a file of the folder, a
chosen model, a setting of the session, the conversation of a kernel that was restarted.
"""

# mypy: disallow-untyped-decorators=False
# IPython's decorators are untyped

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from traitlets import TraitError

from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.config.traces import has_instructions, has_traces
from lmc_jupyter.kernel.cells import CellRecorder
from lmc_jupyter.kernel.control import Sender, listen
from lmc_jupyter.kernel.document import Document
from lmc_jupyter.kernel.frontend import connection_file, kernel_of, kind, notebook_path, parent_of
from lmc_jupyter.kernel.line import LineReading

if TYPE_CHECKING:
    from lmc_jupyter.agent import Reply
    from lmc_jupyter.frontends.agents.door import Door
    from lmc_jupyter.frontends.cell.live_display import LiveDisplay
    from lmc_jupyter.frontends.config.place import Place
    from lmc_jupyter.frontends.config.tool_files import ToolFiles
    from lmc_jupyter.frontends.magic.cell_magic import CellMagic
    from lmc_jupyter.frontends.magic.commands import Commands
    from lmc_jupyter.session import Session

__all__ = ["LMCMagics", "say"]

_COMMAND = re.compile(r"`([^`\n]+)`")


@magics_class
class LMCMagics(Magics):
    """The magics of one shell, and the one conversation that its cells share."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell
        try:
            self.settings = LMC.instance(parent=shell)
        except TraitError as error:
            raise SessionError(
                f"your configuration has a value that is not allowed: {error}"
            ) from None
        self._configurables = cast("list[Any]", shell.configurables)  # where %config looks
        self._configurables.append(self.settings)
        self.remarks: list[str] = []
        """Sentences for the person on where this kernel's settings come from."""
        self.cells = CellRecorder(shell)
        self.document = Document(shell)
        self._folder = _folder_of(shell)  # whatever directory the person goes to
        self._lines = LineReading(shell, self._complete)
        self._making = threading.RLock()
        self._magic: CellMagic | None = None
        self._place: Place | None = None
        self._door: Door | None = None
        self._shut_door: Callable[[], None] = lambda: None
        try:
            notebook, connection = notebook_path(shell), connection_file(kernel_of(shell))
            if has_traces(self.settings, self._folder, notebook, connection):
                self._begin(notebook)
            elif has_instructions(self._folder):
                self._offer_instructions()
        except BaseException:  # such as a mistyped language: it can be set right, and loaded then
            self._close_parts()
            self._configurables.remove(self.settings)
            raise
        self.settings.observe(self.apply_change)
        self.warm_up()
        self._listen_to_agents(shell)

    def _begin(self, notebook: str) -> None:
        from lmc_jupyter.frontends.config import sources

        remarks = sources.begin(self.settings, notebook)  # before the session is made of them
        self.remarks = self.magic.begin(remarks)

    def _offer_instructions(self) -> None:
        if offer := self.place.offer_once():
            say(offer)

    @property
    def magic(self) -> CellMagic:
        """What `%%lmc` and `%lmc` do; it is made here."""
        with self._making:
            if self._magic is None:
                from lmc_jupyter.frontends.magic.cell_magic import CellMagic

                self._magic = CellMagic(self, self._shell, self._folder)
            return self._magic

    @property
    def session(self) -> Session:
        """The conversation that the cells share."""
        return self.magic.session

    @property
    def commands(self) -> Commands:
        """What can follow `%lmc`."""
        return self.magic.commands

    @property
    def place(self) -> Place:
        """The instructions of the notebook's folder; reading them needs no session."""
        with self._making:
            if self._place is None:
                from lmc_jupyter.frontends.config.place import Place

                self._place = Place(self._folder)
            return self._place

    @property
    def tool_files(self) -> ToolFiles:
        """The files that name MCP servers."""
        return self.magic.tool_files

    @property
    def stage(self) -> LiveDisplay:
        """What draws answers in cells."""
        return self.magic.stage

    def play(self, reply: Reply) -> None:
        """Show an answer, in the cell that runs."""
        self.magic.play(reply)

    def _complete(self, text: str) -> tuple[str, list[tuple[str, str]]] | None:
        return self.magic.completion.complete(text) if "%lmc" in text else None

    def _listen_to_agents(self, shell: InteractiveShell) -> None:
        """Let agents outside the notebook knock; nothing is imported before one does."""
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
            self.magic.run_command(line)
            return
        try:
            options = parse_argstring(self.lmc, line)
        except UsageError as error:
            from lmc_jupyter.frontends.magic.cell_magic import with_suggestion

            raise UsageError(with_suggestion(str(error), line)) from None
        except ValueError as error:  # a quotation mark without another
            raise UsageError(f"{line!r} cannot be read: {error}") from None
        if options.words:
            raise UsageError(
                "%%lmc takes options on its first line, not words such as "
                f"{' '.join(options.words)!r}: write the question below it"
            )
        self.magic.ask(cell.strip(), options)

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
        name, missing = _name_of(self.settings.model), ""
        if not _asks_a_provider(name):
            from lmc_jupyter import models

            missing = models.describe_missing(name)
            if name == "local":
                name = f"{models.embedded_title()} (runs on this machine, makes mistakes)"
        line = f"{missing or f'Model: {name}.'} `%lmc help` lists the commands.".replace("`", "")
        hint = "" if kernel is None else "\nCtrl+Alt+L (⌘ ⌥ L) opens the chat panel."
        sys.stdout.write(f"{line}{hint}\n")

    def apply_change(self, change: dict[str, Any]) -> None:
        """Apply a setting that was changed: it counts from the next question on."""
        try:
            magic = self.magic
        except LMCError:  # there is no session yet, and none could be made with this value
            self.settings.unobserve(self.apply_change)
            setattr(self.settings, change["name"], change["old"])
            self.settings.observe(self.apply_change)
            raise
        magic.apply_change(change)

    def warm_up(self) -> None:
        """Start the worker of a provider's model, and import what the first question needs."""
        name = self.settings.model
        if self.settings.start_worker and _asks_a_provider(_name_of(name)):
            threading.Thread(
                target=_prepare, args=(name, self.shell), name="lmc-ahead", daemon=True
            ).start()

    def close(self) -> None:
        """Undo what loading the extension did."""
        self._shut_door()
        if self._door is not None:
            self._door.close()
        self._close_parts()
        if self._magic is not None:
            self._magic.close()
        for each in (self.settings, self):
            self._configurables.remove(each)

    def _close_parts(self) -> None:
        self._lines.close()
        self.cells.close()
        self.document.close()
        self.settings.unobserve_all()
        LMC.clear_instance()


def say(text: str) -> None:
    """Print a text, which may have names and words of any file.

    Backticks around a command are for views that draw it; a line that quotes a file stays.
    """
    from lmc_jupyter.content import terminal

    lines = terminal.plain(text).split("\n")
    shown = [each if each.startswith("│") else _COMMAND.sub(r"\1", each) for each in lines]
    sys.stdout.write("\n".join(shown) + "\n")


def _name_of(model: str | None) -> str:
    return (model or os.environ.get("LMC_MODEL") or "local").strip()


def _asks_a_provider(name: str) -> bool:
    """Whether a worker process asks this model."""
    return name.partition("/")[0] not in ("local", "replay")


def _prepare(model: str | None, shell: InteractiveShell) -> None:
    """Start the worker, and import and look up what the first question would wait for."""
    from lmc_jupyter import models

    models.warm_up(model)
    import filelock  # noqa: F401 - of the conversation's file

    import lmc_jupyter.computer.effects
    import lmc_jupyter.frontends.cell.asking
    import lmc_jupyter.frontends.cell.cell
    import lmc_jupyter.frontends.magic.cell_magic
    from lmc_jupyter.computer import default_computer
    from lmc_jupyter.context import instructions

    with suppress(LMCError):  # a source tree that was not built: the first use says so
        import lmc_jupyter.frontends.panel.widget  # noqa: F401 - of `%%lmc`

    default_computer(shell).words()
    instructions.default({})  # the versions of packages, which are read once


def _folder_of(shell: InteractiveShell) -> Path | None:
    """The notebook's folder where its path is known, else the working directory if it is there."""
    folder = Path(notebook_path(shell) or ".").parent
    try:
        return folder if folder.is_absolute() and folder.is_dir() else Path.cwd()
    except OSError:
        return None
