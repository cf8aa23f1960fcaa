"""What `%lmc` does, as calls that give back their text: for the magic and for the panel.

One rule: a command returns what there is to say, or raises a sentence; it shows nothing.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.getipython import get_ipython

from lmc_jupyter.agent import is_code
from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.session import Session
from lmc_jupyter.settings import LMC

if TYPE_CHECKING:
    from lmc_jupyter.computer.share import Shared

HELP = """\
%%lmc                ask the model; the cell is the question
%%lmc -m MODEL       … another model, for this cell
%%lmc --auto-run     … and let its code run unasked, in this cell
%%lmc --new          … in a new conversation
%%lmc --no-context   … without the names of your variables
%lmc                 what is going on
%lmc panel           show the chat panel here
%lmc model [NAME]    which models there are; go on with another (with --api-base URL, if it needs)
%lmc languages       which languages can run here, how, and what to install for the others
%lmc resume          be asked again about code that waits; go on after a break
%lmc undo            take back the last question and what came after it
%lmc restore         bring back the variables that the last block of code changed
%lmc reset           begin a new conversation
%lmc stop            stop what is being answered
%lmc help            this
"""

Say = Callable[[str], None]


class WrongCommand(SessionError):  # noqa: N818 - it is the person's word that is wrong
    """Words that are no command."""


class Commands:
    """The commands of one session.

    Parameters
    ----------
    session : what they work on
    settings : where a chosen model is kept; None for a session of somebody's own
    """

    def __init__(self, session: Session, settings: LMC | None = None) -> None:
        self.session, self.settings = session, settings

    def run(
        self,
        words: Sequence[str],
        api_base: str | None = None,
        *,
        resume: Callable[[], None],
        panel: Callable[[], None],
        choose: Callable[[str, str | None], str],
    ) -> str:
        """Do what these words say, and return what there is to say about it.

        Parameters
        ----------
        resume : goes on with the answer; called when there is something to go on with
        panel : shows the panel
        choose : goes on with another model, see `Commands.choose`

        Raises
        ------
        LMCError
            For words that are no command, or one that cannot be done now.
        """
        name, *rest = words or ["state"]
        if name == "model" and len(rest) < 2:
            return choose(rest[0], api_base) if rest else self.models(api_base)
        plain: dict[str, Callable[[], str | None]] = {
            "state": self.state,
            "help": HELP.rstrip,
            "undo": self.undo,
            "restore": self.session.restore,
            "reset": self.reset,
            "stop": self.session.stop,
            "panel": panel,
            "languages": self.languages,
            "resume": lambda: self.resume(resume),
            "model": lambda: None,
        }
        command = plain.get(name)
        if command is None:
            raise WrongCommand(
                f"%lmc has no command {name!r}: `%lmc help` lists them; "
                "a question goes into a cell of its own, under %%lmc"
            )
        if rest or api_base:
            said = " ".join([*rest, *(["--api-base"] if api_base else [])])
            raise WrongCommand(f"`%lmc {name}` does not take {said!r}: see `%lmc help`")
        return command() or ""

    def state(self) -> str:
        """The model, the conversation, and what waits."""
        session = self.session
        lines = [f"Model: {self.model_name()}", f"Conversation: {len(session.messages)} messages"]
        if session.pending is not None:
            lines.append("Code waits for your answer: `%lmc resume` asks you again.")
        return "\n".join([*lines, "`%lmc help` lists the commands."])

    def languages(self) -> str:
        """Every language of the computer: how it runs, or what to install so that it does."""
        there = self.session.computer.availability()
        width = max(map(len, there), default=0)
        lines = ["Here:"]
        lines += [f"  {name:<{width}}  {it.how}".rstrip() for name, it in there.items() if it]
        if missing := [(name, it.missing) for name, it in there.items() if it.missing]:
            lines.append("Not here:")
            lines += [f"  {name:<{width}}  {what}" for name, what in missing]
        lines.append(
            "Other Jupyter kernels that you install are found by their language; "
            "`current_session().computer.register(...)` adds one of your own."
        )
        return "\n".join(lines)

    def resume(self, go_on: Callable[[], None]) -> None:
        """Go on where the conversation stands."""
        if not self.can_resume():
            raise WrongCommand("nothing waits and nothing broke off: ask in a cell, under %%lmc")
        go_on()

    def can_resume(self) -> bool:
        """Whether the conversation stands in the middle of an answer."""
        messages = self.session.messages
        if not messages:
            return False
        last = messages[-1]
        return last.role != "assistant" or is_code(last) or bool(last.extra.get("partial"))

    def undo(self) -> str:
        """Take back the last question and what came after it."""
        taken = self.session.undo()
        return f"Took back {len(taken)} messages; variables stay as they are."

    def reset(self) -> str:
        """Begin a new conversation."""
        self.session.reset()
        return "A new conversation; variables stay as they are."

    def models(self, api_base: str | None = None) -> str:
        """The model, and which others could be used now."""
        from lmc_jupyter.models import found

        if api_base:
            raise WrongCommand("--api-base belongs to a model: `%lmc model NAME --api-base URL`")
        lines, offers = [f"Model: {self.model_name()}"], found()
        if offers:
            lines.append("Also usable now, each only when you say so:")
        for offer in offers:
            at = offer.options.get("api_base")
            base = f" --api-base {at}" if at else ""
            lines.append(f"  %lmc model {offer.name}{base}    ({offer.why})")
        lines.append(
            "Any other name that LiteLLM knows will do; its key belongs in the environment."
        )
        return "\n".join(lines)

    def choose(
        self,
        name: str,
        api_base: str | None = None,
        *,
        ask: Callable[[str], str] | None,
        say: Say,
        progress: Say,
    ) -> str:
        """Go on with another model; the embedded one may have to be fetched first.

        Parameters
        ----------
        ask, say, progress : see `lmc_jupyter.models.prepare`
        """
        from lmc_jupyter.models import prepare

        session, settings = self.session, self.settings
        if not prepare(name, ask=ask, say=say, progress=progress):
            return "Nothing was changed."
        if settings is None:
            back = session.choose_for_now(name, **({"api_base": api_base} if api_base else {}))
            try:
                return f"Model: {self.model_name()}. The conversation goes on."
            except LMCError:
                back()
                raise
        before = settings.model, settings.api_base
        with settings.hold_trait_notifications():
            settings.model = name
            settings.api_base = api_base  # the address of the model before is not its own
        session.choose_model(name, **settings.model_options())
        try:
            said = self.model_name()
        except LMCError:
            settings.model, settings.api_base = before
            raise
        return f"Model: {said}. The conversation goes on."

    def model_name(self) -> str:
        """The model as a person reads it."""
        model = self.session.model
        base = self.settings.api_base if self.settings is not None else None
        name = str(getattr(model, "label", "") or getattr(model, "name", type(model).__name__))
        return f"{name} at {base}" if base else name


def read_line(line: str) -> tuple[list[str], str | None]:
    """The words of a command line, and its `--api-base`.

    Raises
    ------
    LMCError
        For a line that cannot be read.
    """
    parser = _Parser(prog="%lmc", add_help=False)
    parser.add_argument("--api-base")
    parser.add_argument("words", nargs="*")
    try:
        read = parser.parse_args(shlex.split(line))
    except ValueError as error:  # a quotation mark without another
        raise WrongCommand(f"{line!r} cannot be read: {error}") from None
    return read.words, read.api_base


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WrongCommand(f"`%lmc` cannot be read so: {message}; see `%lmc help`")


def current_session() -> Session:
    """The session that the `%%lmc` cells of this kernel share.

    Raises
    ------
    SessionError
        Where the extension is not loaded.
    """
    session: Session = current_magics().session
    return session


def share(value: Any, to: str, name: str | None = None) -> Shared:
    """Hand a table to another language of this kernel's `%%lmc` cells, see `Session.share`."""
    from lmc_jupyter.computer.share import name_of

    return current_session().share(value, to, name or name_of(value, sys._getframe(1)))


def current_magics() -> Any:
    """The `LMCMagics` of this kernel; raises as `current_session`."""
    shell = get_ipython()
    magics = shell.magics_manager.registry.get("LMCMagics") if shell is not None else None
    if magics is None:
        raise SessionError("there are no %%lmc cells here: run `%load_ext lmc_jupyter` first")
    return magics
