"""`%%lmc` asks the language model; `%lmc` shows and changes the conversation.

One rule: parse, call, nothing else.
"""

# mypy: disallow-untyped-decorators=False
# IPython's decorators are untyped

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from lmc_jupyter.commands import Commands, WrongCommand, current_session
from lmc_jupyter.errors import LMCError, Stopped
from lmc_jupyter.lmc import Message
from lmc_jupyter.session import Session
from lmc_jupyter.settings import LMC
from lmc_jupyter.views.attachments import messages_of_paths
from lmc_jupyter.views.stage import Stage

__all__ = ["LMCMagics", "current_session"]


@magics_class
class LMCMagics(Magics):
    """The magics of one shell, and the one conversation that its cells share."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.settings = LMC.instance(parent=shell)
        self._configurables = cast("list[Any]", shell.configurables)  # where %config looks
        self._configurables.append(self.settings)
        self.session = Session(**self.settings.session_arguments())
        self.session.pick_up()  # after a restart; what cannot be read of it is `session.notice`
        self.commands = Commands(self.session, self.settings)
        self.settings.observe(self._changed)
        self.stage = Stage(shell)

    @no_var_expand
    @magic_arguments()
    @argument("-m", "--model", help="another model for this cell: any name that LiteLLM knows")
    @argument("--api-base", help="the address of an OpenAI-compatible server")
    @argument("--auto-run", action="store_true", help="run the code of this cell unasked")
    @argument("--new", action="store_true", help="begin a new conversation")
    @argument("--image", action="append", metavar="FILE", help="show the model this image")
    @argument("--file", action="append", metavar="FILE", help="give the model this file")
    @argument("--audio", action="append", metavar="FILE", help="let the model hear this wav")
    @argument("--no-context", action="store_true", help="don't tell the model your variables")
    @argument("words", nargs="*", help="of %%lmc: a command, see `%%lmc help`")
    @line_cell_magic
    def lmc(self, line: str, cell: str | None = None) -> None:
        """Ask the language model; run the code it writes in this notebook, if you say so."""
        try:
            options = parse_argstring(self.lmc, line)
        except ValueError as error:  # a quotation mark without another
            raise UsageError(f"{line!r} cannot be read: {error}") from None
        if cell is None:
            self._command(options)
        elif options.words:
            raise UsageError(
                "%%lmc takes options on its first line, not words such as "
                f"{' '.join(options.words)!r}: write the question below it"
            )
        else:
            self._ask(cell.strip(), options)

    def _changed(self, change: dict[str, Any]) -> None:
        """A setting was changed in the middle: the next question goes by it."""
        name, session = change["name"], self.session
        if name in ("model", "api_base", "options", "transcription_model"):
            session.choose_model(self.settings.model, **self.settings.model_options())
        elif name in _OF_SESSION:
            try:
                setattr(session, name, change["new"])
            except LMCError:  # such as a mistyped language: the setting says what counts
                setattr(self.settings, name, change["old"])
                raise

    def _ask(self, question: str, options: Namespace) -> None:
        named = _named(options)
        if not (question or named) and (options.new or not self.commands.can_resume()):
            raise UsageError("the cell is empty: write your question below %%lmc")
        allowed: list[Path] = []
        try:
            attached = messages_of_paths(named, Path.cwd(), lambda path: _noted(path, allowed))
        except LMCError as error:
            raise UsageError(str(error)) from None
        if options.new:
            self.session.reset()
        for path in allowed:
            self.session.allow_file(path)
        with _for_this_cell(self.session, options, self.settings):
            self._play(question or None, attached)

    def _play(self, question: str | None, attached: Sequence[Message] = ()) -> None:
        try:
            self.stage.play(self.session, self.session.ask(question, attachments=attached))
        except Stopped:
            return  # the view says so; the next cells may run

    def _command(self, options: Namespace) -> None:
        if options.model or options.auto_run or options.new or options.no_context:
            raise UsageError("the options -m, --auto-run, --new and --no-context are %%lmc's")
        if _named(options):
            raise UsageError("the options --image, --file and --audio are %%lmc's")
        try:
            said = self.commands.run(
                options.words,
                options.api_base,
                resume=lambda: self._play(None),
                panel=self._show_panel,
                choose=lambda name, base: self.commands.choose(
                    name, base, ask=self.stage.ask, say=_say, progress=_progress
                ),
            )
        except WrongCommand as error:
            raise UsageError(str(error)) from None
        if said:
            _say(said)

    def _show_panel(self) -> None:
        from lmc_jupyter.panel import the_panel

        self.stage.show(the_panel(self).bundle())

    def close(self) -> None:
        """Undo what loading the extension did."""
        self.session.close()
        self.stage.close()
        self.settings.unobserve_all()
        for each in (self.settings, self):
            self._configurables.remove(each)
        LMC.clear_instance()


_OF_SESSION = (
    "auto_run",
    "deny",
    "context",
    "context_values",
    "system_message",
    "max_turns",
    "html_pictures",
)
"""Settings that are a session's attributes of the same name."""


class _for_this_cell:  # noqa: N801 - reads as a phrase
    """The options of one cell, taken back at its end."""

    def __init__(self, session: Session, options: Namespace, settings: LMC) -> None:
        self.session, self.options, self.settings = session, options, settings
        self.undo: list[Callable[[], None]] = []

    def __enter__(self) -> None:
        session, options = self.session, self.options
        if options.model or options.api_base:
            more = self.settings.model_options()
            if options.api_base:
                more["api_base"] = options.api_base
            self.undo.append(session.choose_for_now(options.model or self.settings.model, **more))
        if options.auto_run:
            before = session.auto_run
            session.auto_run = True
            self.undo.append(lambda: setattr(session, "auto_run", before))
        if options.no_context:
            shown = session.context
            session.context = False
            self.undo.append(lambda: setattr(session, "context", shown))

    def __exit__(self, *_: object) -> None:
        for undo in reversed(self.undo):
            undo()


def _named(options: Namespace) -> list[tuple[str, str]]:
    """The files that the first line of a cell names; IPython leaves quotation marks on."""
    return [
        (what, path[1:-1] if path[0] in "'\"" and path[0] == path[-1] else path)
        for what in ("image", "file", "audio")
        for path in getattr(options, what) or ()
    ]


def _noted(path: Path, allowed: list[Path]) -> Path:
    """To be allowed when all is well; its own path, without links."""
    allowed.append(path.resolve(strict=True))
    return allowed[-1]


def _progress(text: str) -> None:
    sys.stdout.write(f"\r{text:<79}")
    sys.stdout.flush()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
