"""`%%lmc` asks the language model; `%lmc` shows and changes the conversation.

One rule: parse, call, nothing else.
"""

# mypy: disallow-untyped-decorators=False
# IPython's decorators are untyped

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any, cast

from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from lmc_jupyter.agent import is_code
from lmc_jupyter.errors import LMCError, SessionError, Stopped
from lmc_jupyter.session import Session
from lmc_jupyter.settings import LMC
from lmc_jupyter.views.stage import Stage

HELP = """\
%%lmc                ask the model; the cell is the question
%%lmc -m MODEL       … another model, for this cell
%%lmc --auto-run     … and let its code run unasked, in this cell
%%lmc --new          … in a new conversation
%%lmc --no-context   … without the names of your variables
%lmc                 what is going on
%lmc model [NAME]    which models there are; go on with another (with --api-base URL, if it needs)
%lmc resume          be asked again about code that waits; go on after a break
%lmc undo            take back the last question and what came after it
%lmc reset           begin a new conversation
%lmc stop            stop what is being answered
%lmc help            this
"""


@magics_class
class LMCMagics(Magics):
    """The magics of one shell, and the one conversation that its cells share."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.settings = LMC.instance(parent=shell)
        self._configurables = cast("list[Any]", shell.configurables)  # where %config looks
        self._configurables.append(self.settings)
        self.session = Session(**self.settings.session_arguments())
        self.settings.observe(self._changed)
        self.stage = Stage(shell)

    @no_var_expand
    @magic_arguments()
    @argument("-m", "--model", help="another model for this cell: any name that LiteLLM knows")
    @argument("--api-base", help="the address of an OpenAI-compatible server")
    @argument("--auto-run", action="store_true", help="run the code of this cell unasked")
    @argument("--new", action="store_true", help="begin a new conversation")
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
        if name in ("model", "api_base", "options"):
            session.choose_model(self.settings.model, **self.settings.model_options())
        elif name in ("auto_run", "deny", "context", "system_message", "max_turns"):
            setattr(session, name, change["new"])

    def _ask(self, question: str, options: Namespace) -> None:
        if not question and (options.new or not self._can_resume()):
            raise UsageError("the cell is empty: write your question below %%lmc")
        if options.new:
            self.session.reset()
        with _for_this_cell(self.session, options, self.settings):
            self._play(question or None)

    def _play(self, question: str | None) -> None:
        try:
            self.stage.play(self.session, self.session.ask(question))
        except Stopped:
            return  # the view says so; the next cells may run

    def _can_resume(self) -> bool:
        """Whether the conversation stands in the middle of an answer."""
        messages = self.session.messages
        if not messages:
            return False
        last = messages[-1]
        return last.role != "assistant" or is_code(last) or bool(last.extra.get("partial"))

    def _command(self, options: Namespace) -> None:
        name, *rest = options.words or ["state"]
        command = getattr(self, f"_do_{name}", None)
        if command is None:
            raise UsageError(
                f"%lmc has no command {name!r}: `%lmc help` lists them; "
                "a question goes into a cell of its own, under %%lmc"
            )
        if options.model or options.auto_run or options.new or options.no_context:
            raise UsageError("the options -m, --auto-run, --new and --no-context are %%lmc's")
        if name == "model" and len(rest) < 2:
            self._do_model("".join(rest) or None, options.api_base)
        elif rest or options.api_base:
            said = " ".join([*rest, *(["--api-base"] if options.api_base else [])])
            raise UsageError(f"`%lmc {name}` does not take {said!r}: see `%lmc help`")
        else:
            command()

    def _do_state(self) -> None:
        session = self.session
        _say(f"Model: {self._model_name()}")
        _say(f"Conversation: {len(session.messages)} messages")
        if session.pending is not None:
            _say("Code waits for your answer: `%lmc resume` asks you again.")
        _say("`%lmc help` lists the commands.")

    def _do_help(self) -> None:
        _say(HELP.rstrip())

    def _do_resume(self) -> None:
        if not self._can_resume():
            raise UsageError("nothing waits and nothing broke off: ask in a cell, under %%lmc")
        self._play(None)

    def _do_undo(self) -> None:
        taken = self.session.undo()
        _say(f"Took back {len(taken)} messages; variables stay as they are.")

    def _do_reset(self) -> None:
        self.session.reset()
        _say("A new conversation; variables stay as they are.")

    def _do_stop(self) -> None:
        self.session.stop()

    def _do_model(self, name: str | None = None, base: str | None = None) -> None:
        from lmc_jupyter.models import found, prepare

        if name is None:
            _say(f"Model: {self._model_name()}")
            offers = found()
            if offers:
                _say("Also usable now, each only when you say so:")
            for offer in offers:
                at = offer.options.get("api_base")
                _say(
                    f"  %lmc model {offer.name}{f' --api-base {at}' if at else ''}    ({offer.why})"
                )
            _say("Any other name that LiteLLM knows will do; its key belongs in the environment.")
            return
        if not prepare(name, ask=self.stage.ask, say=_say, progress=_progress):
            _say("Nothing was changed.")
            return
        before = self.settings.model, self.settings.api_base
        with self.settings.hold_trait_notifications():
            self.settings.model = name
            self.settings.api_base = base  # the address of the model before is not its own
        self.session.choose_model(name, **self.settings.model_options())
        try:
            said = self._model_name()
        except LMCError:
            self.settings.model, self.settings.api_base = before
            raise
        _say(f"Model: {said}. The conversation goes on.")

    def _model_name(self) -> str:
        model, base = self.session.model, self.settings.api_base
        name = str(getattr(model, "label", "") or getattr(model, "name", type(model).__name__))
        return f"{name} at {base}" if base else name

    def close(self) -> None:
        """Undo what loading the extension did."""
        self.session.close()
        self.stage.close()
        self.settings.unobserve_all()
        for each in (self.settings, self):
            self._configurables.remove(each)
        LMC.clear_instance()


def current_session() -> Session:
    """The session that the `%%lmc` cells of this kernel share.

    Raises
    ------
    SessionError
        Where the extension is not loaded.
    """
    shell = get_ipython()
    magics = shell.magics_manager.registry.get("LMCMagics") if shell is not None else None
    if magics is None:
        raise SessionError("there are no %%lmc cells here: run `%load_ext lmc_jupyter` first")
    session: Session = magics.session
    return session


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


def _progress(text: str) -> None:
    sys.stdout.write(f"\r{text:<79}")
    sys.stdout.flush()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
