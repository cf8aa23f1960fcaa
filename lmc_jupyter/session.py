"""A session: one conversation, its model, its computer, its gate.

One rule: it puts the parts together and draws nothing; who wants to see something drives the
generator that `ask` returns. One turn at a time. What a part can do is asked of that part:

history, journal    the messages and the events that change them; the same on disk
conversation        how another conversation takes its place, and how it becomes a file
choice, computer    the model that answers, and what runs its code
gate, options       what may run, and how the session answers
files, spending     what the model may read, and what the answers have cost
glm                 the conversation in the words of the GLM chat history
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lmc_jupyter.agent import Model, Reply, is_code, respond
from lmc_jupyter.computer import Computer, default_computer
from lmc_jupyter.context import parts
from lmc_jupyter.context.functions import all_described, named
from lmc_jupyter.context.readable import Readable
from lmc_jupyter.conversation import Conversation, Rating, events
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.conversation.events import Asked, Configured, NamesRestored, Noted, Runs, Stopping
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.names import Names, RestorableNames
from lmc_jupyter.conversation.writer import JournalWriter
from lmc_jupyter.errors import ComputerError, SessionError
from lmc_jupyter.formats.glm.session import Glm
from lmc_jupyter.formats.glm.settings import with_settings
from lmc_jupyter.gate import Gate
from lmc_jupyter.keys import redact
from lmc_jupyter.limits import Limits, Policy
from lmc_jupyter.lmc import Message, canonical
from lmc_jupyter.models.brief import MAX_OUTPUT, Brief, briefed
from lmc_jupyter.models.choice import Choice, label
from lmc_jupyter.models.spending import Spending, is_limit
from lmc_jupyter.turn import questions, saving
from lmc_jupyter.turn.answering import Answers
from lmc_jupyter.turn.current import CurrentConversation
from lmc_jupyter.turn.options import NAMES, Option, Options
from lmc_jupyter.turn.turns import Turn

if TYPE_CHECKING:
    from lmc_jupyter.computer.share import Shared

_NOTHING = "the conversation is empty: ask a question first"


class Session:
    """A conversation with a model that works on a computer.

    Parameters
    ----------
    model : str or object with `respond(messages)`, optional
        Any name that LiteLLM knows, `local`, `replay/PATH`. Default: the environment's
        LMC_MODEL, else the embedded model.
    computer : Computer, optional
        Default: the live Python kernel and a shell.
    auto_run, system_message, context
        As in `lmc_jupyter.turn.options.Options`.
    keep : bool
        Whether the conversation is kept on disk, in the person's data directory.
    limits : Limits, optional
        What code of the model is held to beside the policy: how many blocks a reply may run, how
        long one may be, what always comes as one chunk.
    **options
        The other fields of `Options`: deny, max_turns, max_cost, ... Whatever has another name is
        handed to the model: api_base, api_key, temperature, max_tokens, ...

    Examples
    --------
    >>> session = Session(model="ollama_chat/qwen2.5-coder:7b")  # doctest: +SKIP
    >>> for chunk in session.ask("What is 2380*3875?"): ...  # doctest: +SKIP

    A confirmation that gets no answer declines: send a `Decision` back, or use `play` with a
    view. Closing the generator stops.
    """

    def __init__(
        self,
        model: str | Model | None = None,
        computer: Computer | None = None,
        auto_run: bool | Collection[str] = False,
        system_message: str | None = None,
        context: bool = True,
        *,
        keep: bool = True,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        own = {name: options.pop(name) for name in NAMES & options.keys()}
        own |= {"auto_run": auto_run, "system_message": system_message, "context": context}
        self.choice = Choice(model, options)
        """The model and its options; `choose` takes another."""
        self.options = Options()
        """Everything that `configure` changes."""
        self.max_output = MAX_OUTPUT
        """Characters of one result, or of one file, that the model gets."""
        self.notify: Callable[[str], None] = lambda _: None
        """Takes a short sentence about what the model waits for; a view sets it."""
        if not isinstance(computer, Computer | None):
            raise ComputerError(
                f"a {type(computer).__name__} object is no Computer: give Computer(language, ...) "
                "or an object of a subclass"
            )
        self._computer = computer
        self._functions: dict[str, Callable[..., Any]] = {}
        self._own_limits = self._limits = limits or Limits()
        self.history = History()
        self.journal = JournalWriter(  # the first reader: what is shown is written by then
            self.history, Conversations() if keep else None, lambda: self.choice.secrets()
        )
        self.gate = Gate(uses=self._uses)
        self.files = Readable()
        self.spending = Spending()
        self.spending.notify = self._note
        self._done = RestorableNames()
        self._answers = Answers(
            self.history,
            self.gate,
            self.spending,
            lambda: self._done.add(self.computer.changes()),
        )
        self._own_cells = saving.OwnCells(lambda: self._computer.cells() if self._computer else [])
        self.conversation = CurrentConversation(
            self.history,
            self.journal,
            self._answers,
            gate=self.gate,
            files=self.files,
            spending=self.spending,
            cells=self._own_cells,
            choice=lambda: self.choice,
            limit=self._limit,
            complete=self._complete,
        )
        self.glm = Glm(self.history, self.gate, self.journal, self.conversation, self._redact)
        self._furnish()
        self._apply(self.options.changed(own))

    # The model and the computer -------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The model, made at first use."""
        return self.choice.model

    def choose(self, choice: Choice) -> None:
        """Go on with this model and its options; the conversation stays."""
        self.choice = choice
        self.history.tell(Configured())

    def choose_model(self, model: str | Model | None, **options: Any) -> None:
        """Go on with another model; the conversation stays."""
        self.choose(Choice(model, options))

    def choose_options(self, **options: Any) -> None:
        """Go on with other options of the same model, such as temperature=0.2; None takes one
        back. The others stay, and so does the conversation.
        """
        self.choose(self.choice.but(options))

    @property
    def computer(self) -> Computer:
        """The computer, made at first use."""
        if self._computer is None:
            self._computer = default_computer()
            self._furnish()
        return self._computer

    def _furnish(self) -> None:
        if self._computer is not None:
            self._computer.guards.add(self.gate)
            if self.options.html_pictures:
                self._computer.take_pictures(True)

    def share(self, value: Any, to: str, name: str | None = None) -> Shared:
        """Hand a table to another language of the computer: `share(df, to="r")`; its default name
        is the one that it has where this is called. See `lmc_jupyter.computer.share.share`.

        Raises
        ------
        GateError
            When code that a model wrote calls this, and policy does not let it use that language.
        ComputerError
            When it cannot be handed over.
        """
        from lmc_jupyter.computer.share import name_of, share

        name = name or name_of(value, sys._getframe(1))
        self.gate.check(self._uses(to, ""))
        return share(self.computer, value, to, name, self.files.folder)

    # The options ----------------------------------------------------------------------------------

    auto_run = Option[bool | Collection[str]]("Which code runs unasked.")
    deny = Option[Collection[str]]('Languages that never run; "*" is every language.')
    context = Option[bool]("Whether the model is told the names, types and shapes of variables.")
    context_values = Option[bool]("Whether it is told short values and first rows too.")
    system_message = Option[str | None]("Instructions that replace the default ones.")
    custom_instructions = Option[str]("What the model is told behind the instructions.")
    max_turns = Option[int]("Replies to one question before it stops and says so.")
    max_cost = Option[float | None]("US dollars that one question may cost; None: no limit.")
    max_session_cost = Option[float | None]("US dollars that this conversation may cost.")
    max_day_cost = Option[float | None]("US dollars that all sessions of a day may cost.")
    html_pictures = Option[bool]("Whether a model that sees gets a picture of shown HTML.")

    def configure(self, **changes: Any) -> None:
        """Change some of `options`; all of them are changed, or none.

        Raises
        ------
        SessionError
            For a name that is no option.
        GateError
            For a language that is written as another one's name.
        CostError
            For a limit that is no amount of money.
        """
        self._apply(self.options.changed(changes))
        self.history.tell(Configured())

    def _apply(self, options: Options) -> None:
        policy = self._policy(options)
        costs = options.max_cost, options.max_session_cost, options.max_day_cost
        turn, session, day = map(is_limit, costs)
        if self._computer is not None and options.html_pictures != self.options.html_pictures:
            self._computer.take_pictures(options.html_pictures)
        self.gate.policy = policy
        self.spending.turn, self.spending.session, self.spending.day = turn, session, day
        self.options = replace(options, max_cost=turn, max_session_cost=session, max_day_cost=day)

    def _policy(self, options: Options) -> Policy:
        return Policy.of(False if self._limits.ask_always else options.auto_run, options.deny)

    @property
    def runs_unasked(self) -> bool:
        """Whether any code runs unasked now: `limits` may be stricter than `auto_run`."""
        return self.gate.policy.runs_unasked and self._limits.run

    @property
    def limits(self) -> Limits:
        """What code of a model is held to beside the policy: your own, and those of the file that
        the conversation came from, whichever is stricter. Assigning takes the file's away; None is
        no limit.
        """
        return self._limits

    @limits.setter
    def limits(self, value: Limits | None) -> None:
        self.gate.check_change("the limits of a conversation")
        self._own_limits = self._limits = value or Limits()
        self.gate.policy = self._policy(self.options)
        self.history.tell(Configured())

    def _limit(self, conversation: Conversation) -> None:
        """Hold code to what this conversation's settings say too; the one before is over."""
        self._limits = self._own_limits.stricter(self.glm.begin(conversation))
        self.gate.policy = self._policy(self.options)

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """Functions that a model may call through code, by name: it is told their signatures and
        their help. Assign a list of functions, or a dict where a name should be another.

        Raises
        ------
        SessionError
            For what cannot be called, or has no name.
        ComputerError
            When something else in the notebook has the name.
        """
        return dict(self._functions)

    @functions.setter
    def functions(
        self, value: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]]
    ) -> None:
        self.gate.check_change("the functions that a model is given")
        functions = named(value)
        if functions:
            self.computer.put(functions)
        self._functions = functions

    def _redact(self, text: str) -> str:
        return redact(text, self.choice.secrets())

    def _uses(self, language: str, code: str) -> Collection[str]:
        uses, words = self.computer.uses(language, code), self.computer.words()
        others = {canonical(word) for name in uses for word in words.get(name, ())}
        return uses | (others & self.gate.policy.deny)  # denied by a name of the computer's own

    # Asking ---------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[Message]:
        """The whole conversation so far, as a list of your own: what you do to it changes nothing
        here. Assign a list of messages or dicts to go on from that.
        """
        return self.history[:]

    @messages.setter
    def messages(self, messages: Iterable[Message | Mapping[str, Any]]) -> None:
        lost: list[str] = []
        read = questions.as_messages(messages, lost)
        with self._answers.idle("take another conversation"):
            self.conversation.assign(read)
            self.conversation.notice = " ".join(lost)
            self.conversation.changed()

    @property
    def turns(self) -> list[Turn]:
        """Every question that was asked in this conversation and still stands in it."""
        return list(self._answers.turns)

    @property
    def pending(self) -> Message | None:
        """The code that waits for its answer at the end of the conversation, if there is some."""
        last = self.history.last
        return last if last is not None and is_code(last) else None

    def ask(
        self,
        question: str | Mapping[str, Any] | Message | Iterable[Any] | None = None,
        *,
        attachments: Iterable[Message | Mapping[str, Any]] = (),
        where: str = "cell",
        insert: bool = False,
    ) -> Reply:
        """Put a question and return the generator of its answer.

        Parameters
        ----------
        question : str, message, list of messages, or None
            A text or one message goes to the end of the conversation; a list takes its place;
            None goes on from where it stands, and offers code that waits for its answer.
        attachments : messages of the user, such as images and files
            They go in before the question, in the same step.
        where : "cell" or "panel"
            Where it was asked, for those who watch.
        insert : bool
            Whether a text's `@name` and `{{name}}` put in the values of variables.

        Raises
        ------
        SessionError
            While another answer is still being given, or when there is nothing to answer; with
            `insert`, for `{{name}}` of no variable.
        ProtocolError
            For a message that LMC does not allow; the conversation is as it was.
        ModelError
            When there can be no such model; the conversation is as it was.
        """
        model = self.model
        attached = [questions.as_message(each).stamped() for each in attachments]
        with self._answers.idle("answer a second question"):
            if question is None:
                asked = self._put(attached)
            elif isinstance(question, str):
                asked = self._put([*attached, self._question(question, insert)])
            elif isinstance(question, (Message, Mapping)):
                asked = self._put([*attached, questions.as_message(question)])
            else:
                asked = self._put_whole(questions.as_messages(question), attached)
            return self._begin(model, asked, where)

    def retry(self, turn: events.Turn, *, where: str = "cell") -> Reply:
        """Ask the question of this turn again; what came of it, and all after it, goes.

        Raises
        ------
        SessionError
            While an answer is being given; when the turn is no longer in the conversation, or
            had no question of its own. The conversation is as it was then.
        """
        return self._again(turn, None, where)

    def edit(
        self, turn: events.Turn, text: str, *, where: str = "cell", insert: bool = False
    ) -> Reply:
        """Ask this in place of the question of a turn, with what was attached; else as `retry`.

        With `insert` as in `ask`; values that were put below the question before are left out.
        """
        if insert:
            text = questions.as_written(text, turn.said)
        return self._again(turn, self._question(text, insert), where)

    def _again(self, turn: events.Turn, question: Message | None, where: str) -> Reply:
        model = self.model
        with self._answers.idle("ask a question again"):
            start = self._answers.place(turn)
            asked = questions.said_again(turn.said, question)
            self.history.put(start, asked)
            self._answers.forget()
            return self._begin(model, asked, where)

    def _question(self, text: str, insert: bool) -> Message:
        def look(name: str) -> str | None:
            found = self.computer.value(name)
            return None if found is None else self._redact(found)

        return questions.as_question(text, look if insert else None)

    def _put(self, asked: list[Message]) -> list[Message]:
        """Put these at the end of the conversation."""
        if not (asked or self.history):
            raise SessionError(_NOTHING)
        asked = [each.stamped() for each in asked]
        notes = []
        if self.pending is not None and asked and asked[0].role != "computer":
            notes = [questions.note("This code was not run: the user went on without it.")]
        self.history.put(len(self.history), [*notes, *asked])
        return asked

    def _put_whole(self, messages: list[Message], attached: list[Message]) -> list[Message]:
        """Put these in place of the conversation; returns the question at their end."""
        if not messages:
            raise SessionError(_NOTHING)
        self.conversation.assign([*messages[:-1], *attached, messages[-1]])
        self._answers.forget()
        asked = self.history[-1 - len(attached) :]
        return asked if asked[-1].role == "user" else []

    def _begin(self, model: Model, asked: list[Message], where: str) -> Reply:
        """The messages are in place, and a new turn begins."""
        self._answers.ready()
        self.history.tell(Asked())
        anchor = asked[0].id if asked else self.history[-1].id

        def begin(turn: Turn) -> Reply:
            return respond(
                self.history,
                self._answers.recorded(briefed(model, self.brief, self._note), turn),
                self._answers.until_stopped(self.computer, self._block_begins),
                gate=self.gate,
                max_turns=self.max_turns,
                limits=self._limits,
                strange=self.conversation.foreign,
            )

        return self._answers.give(Turn(where, label(model), asked, anchor), begin)

    def _block_begins(self) -> None:
        self.history.tell(Runs())
        self._own_cells.note(self.history[:])

    def _note(self, text: str) -> None:
        self.notify(text)
        self.history.tell(Noted(text))

    def brief(self) -> Brief:
        """What the model is told beside the conversation, as it is now."""
        material = parts.Material(
            self.computer,
            self.history,
            self._functions,
            self._limits.functions,
            self.system_message,
            self.custom_instructions,
            self._redact,
        )
        names = ""
        if self.context:
            more = {"values": True} if self.context_values else {}  # a computer of somebody's own
            names = self.computer.names(**more)
        return Brief(
            parts.told(material, self.glm.for_prompt()),
            names,
            self.computer.words(),
            self.files.folders,
            self.files.files,
            self.max_output,
        )

    # The conversation -----------------------------------------------------------------------------

    def save(
        self, path: str | os.PathLike[str], format: str | None = None, *, replace: bool = False
    ) -> list[str]:
        """Write this conversation to a file, without any key in it; returns sentences on what the
        file does not hold. See `CurrentConversation.save`.
        """
        return self.conversation.save(path, format, replace=replace)

    def load(self, path: str | os.PathLike[str], format: str | None = None) -> list[str]:
        """Go on from the conversation in a file; returns sentences on what of the file could not
        be carried over. See `CurrentConversation.load`.
        """
        return self.conversation.load(path, format)

    def rate(self, message_id: str, rating: Rating | None) -> None:
        """Put the person's thumb on an answer: "up", "down", or None to take it back."""
        self.conversation.rate(message_id, rating)

    def _complete(self, conversation: Conversation) -> Conversation:
        """The conversation with the settings that hold in this session."""
        functions = all_described(self._functions, self._redact)
        options = self.choice.options
        extra = with_settings(conversation.extra, self._limits, functions, options)
        return replace(conversation, extra=extra)

    def reset(self) -> None:
        """Begin a new conversation. Variables and shells of the computer stay as they are."""
        self.conversation.begin()

    def undo(self) -> list[Message]:
        """Take back the last question and all that came after it; returns what was taken."""
        with self._answers.idle("undo"):
            start = questions.last(self.history)
            taken = self.history[start:]
            self.history.cut(start)
            self.conversation.changed()
            return taken

    def restore(self, names: Names | None = None) -> str:
        """Bring the person's names back as they were before a block of code; the model is told.

        Parameters
        ----------
        names : what a watcher was told of that block; default: the last one that can be restored

        Returns
        -------
        Sentences on what was brought back, and what was not.

        Raises
        ------
        SessionError
            While an answer is being given, or when there is nothing to restore.
        ComputerError
            While a cell is running, or when the values from before are kept no longer.
        """
        with self._answers.idle("restore names"):
            names, said = self._done.restore(lambda done: self.computer.restore(done), names)
            if self.history:
                pending = self.history[-1:] if self.pending else []  # the note is no answer to it
                text = f"The user restored the notebook's variables. {said}"
                note = questions.note(text, "assistant")
                self.history.put(len(self.history) - len(pending), [note, *pending])
                self.conversation.changed()
            self.history.tell(NamesRestored(names))
            return f"{said} Files, the network and other programs were not restored."

    # Control --------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether an answer is being given."""
        return self._answers.busy

    def wait(self, seconds: float) -> bool:
        """Wait until no answer is being given; whether that is so."""
        return self._answers.wait(seconds)

    @property
    def stopped(self) -> bool:
        """Whether the last answer was stopped by `stop`."""
        return self._answers.stopped

    def stop(self) -> None:
        """Stop the answer that is being given, from any thread; what has come so far is kept."""
        self._answers.stop()
        if self._computer is not None:
            self._computer.stop()
        self.history.tell_now(Stopping())

    def close(self) -> None:
        """Stop, and end what the computer and the model started; keep no more."""
        self.stop()
        self.journal.close()
        for each in (self._computer, self.choice.made):
            close = getattr(each, "close", None)  # a model may have none
            if close is not None:
                close()
