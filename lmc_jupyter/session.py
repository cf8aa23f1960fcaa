"""A session: one conversation, its model, its computer, its gate.

One rule: it puts the parts together and draws nothing; who wants to see something drives the
generator that `ask` returns. One turn at a time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmc_jupyter import formats
from lmc_jupyter.agent import Model, Reply, is_code, respond
from lmc_jupyter.computer import Computer, abilities, default_computer
from lmc_jupyter.context.functions import Function, all_described, named, told
from lmc_jupyter.context.instructions import of_computer
from lmc_jupyter.context.readable import Readable
from lmc_jupyter.conversation import Action, Conversation, Rating, events
from lmc_jupyter.conversation.conversations import ConversationEntry, Conversations, called, copy_of
from lmc_jupyter.conversation.events import (
    Asked,
    Changed,
    Configured,
    NamesRestored,
    Noted,
    Renamed,
    Replaced,
    Runs,
    Stopping,
)
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.names import Done, Names
from lmc_jupyter.conversation.writer import RESTARTED, JournalWriter
from lmc_jupyter.errors import SessionError
from lmc_jupyter.formats.glm.session import Glm
from lmc_jupyter.gate import Gate
from lmc_jupyter.keys import redact
from lmc_jupyter.limits import Limits, Policy
from lmc_jupyter.lmc import Message, canonical
from lmc_jupyter.models.brief import MAX_OUTPUT, Brief, Counted, briefed
from lmc_jupyter.models.budget import Tokens
from lmc_jupyter.models.choice import Choice, label
from lmc_jupyter.models.spending import Spending, is_limit
from lmc_jupyter.turn import questions, saving
from lmc_jupyter.turn.answering import Answers
from lmc_jupyter.turn.options import NAMES, Option, Options
from lmc_jupyter.turn.turns import Turn, Watcher

if TYPE_CHECKING:
    from lmc_jupyter.computer.share import Shared

_ONLY_HERE = (
    "this conversation could not be saved and would be lost: write it to a file first "
    "(`%lmc save NAME.ipynb`, or Save as in the panel's menu), or repeat the command to discard it"
)
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
    auto_run : bool or languages
        Whether code runs unasked: True for every language, or the languages that may.
    system_message : str, optional
        Instructions to the model that replace the default ones.
    custom_instructions : str
        Instructions to the model that follow the others.
    context : bool
        Whether the model is told the names, types and shapes in the namespace.
    context_values : bool
        Whether it is told their values too: short ones, and the first rows of frames.
    deny : languages that never run, whatever is said elsewhere
    max_turns : int
        Replies to one question before it stops and says so.
    html_pictures : bool
        Whether a model that sees gets a picture of the HTML that is shown, by a Chrome, Chromium
        or Edge of this machine.
    keep : bool
        Whether the conversation is kept on disk, in the person's data directory.
    max_cost, max_session_cost, max_day_cost : float, optional
        US dollars that one question, this conversation, and all sessions of a day may cost; a
        request that might cost more is not made. Default: no limit.
    limits : Limits, optional
        What code of the model is held to beside the policy: how many blocks a reply may run, how
        long one may be, what always comes as one chunk.
    **options
        Handed to the model: api_base, api_key, temperature, max_tokens, ...

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
        custom_instructions: str = "",
        context_values: bool = False,
        deny: Collection[str] = (),
        max_turns: int = 20,
        html_pictures: bool = False,
        keep: bool = True,
        max_cost: float | None = None,
        max_session_cost: float | None = None,
        max_day_cost: float | None = None,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        more = {name: options.pop(name) for name in NAMES & options.keys()}
        given = Options(
            auto_run=auto_run,
            deny=deny,
            context=context,
            context_values=context_values,
            system_message=system_message,
            custom_instructions=custom_instructions,
            max_turns=max_turns,
            max_cost=max_cost,
            max_session_cost=max_session_cost,
            max_day_cost=max_day_cost,
            html_pictures=html_pictures,
        )
        self._choice = Choice(model, options)
        self._computer = computer
        self.max_output = MAX_OUTPUT
        """Characters of one result, or of one file, that the model gets."""
        self.history = History()
        """The messages, and the one stream of events that tells what changes."""
        self._done = Done()
        self._spending = Spending()
        self._spending.notify = self._note
        self._writer = JournalWriter(  # the first reader: what is shown is written by then
            self.history, Conversations() if keep else None, lambda: self._choice.secrets()
        )
        self._readable = Readable()
        self._own_cells = saving.OwnCells()
        self._strange: frozenset[str | None] = frozenset()  # code that came from a file, by id
        self._notice = ""
        self._safe: Message | None = None  # the last one when it was saved, or not to be
        self.notify: Callable[[str], None] = lambda _: None
        """Takes a short sentence about what the model waits for; a view sets it."""
        self.gate = Gate(uses=self._uses)
        self._answers = Answers(
            self.history,
            self.gate,
            self._spending,
            lambda: self._done.add(abilities.changes(self.computer)),
        )
        self.glm = Glm(self, self._writer, self._for_a_file, self._redact)
        """What the conversation says in the words of the GLM chat history; see docs/glm.md."""
        self._own_limits = self._limits = limits or Limits()
        self._functions: dict[str, Callable[..., Any]] = {}
        self.options = Options()
        """Everything that `configure` changes."""
        self._furnish()
        self._apply(given.changed(more))

    # The parts ------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The model, made at first use."""
        return self._choice.model

    def vision(self) -> str:
        """Whether the model sees images: "yes", "no", or "unknown", where they are described to
        it too; "" where the model is an object that does not say.

        The first time it may load LiteLLM, which takes seconds.
        """
        says = getattr(self.model, "vision", None)
        return str(says()) if callable(says) else ""

    def choose_model(self, model: str | Model | None, **options: Any) -> None:
        """Go on with another model; the conversation stays."""
        self._choice = Choice(model, options)
        self.history.tell(Configured())

    def choose_options(self, **options: Any) -> None:
        """Go on with other options of the same model, such as temperature=0.2; None takes one
        back. The others stay, and so does the conversation.
        """
        self._choice = self._choice.but(options)
        self.history.tell(Configured())

    def choose_for_now(self, model: str | Model | None, **options: Any) -> Callable[[], None]:
        """Another model until the returned function is called."""
        before = self._choice
        self.choose_model(model, **options)

        def back() -> None:
            self._choice = before
            self.history.tell(Configured())

        return back

    @property
    def named(self) -> str | Model | None:
        """The model as it was said; None where nothing was said and the default is used."""
        return self._choice.named

    @property
    def api_base(self) -> str | None:
        """The address that was said with the model; None where there was none."""
        return self._choice.options.get("api_base")

    @property
    def computer(self) -> Computer:
        """The computer, made at first use."""
        if self._computer is None:
            self._computer = default_computer()
            self._furnish()
        return self._computer

    def _furnish(self) -> None:
        if self._computer is not None:
            abilities.guard(self._computer, self.gate)
            if self.options.html_pictures:
                abilities.take_pictures(self._computer, True)

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
            abilities.take_pictures(self._computer, options.html_pictures)
        self.gate.policy = policy
        self._spending.turn, self._spending.session, self._spending.day = turn, session, day
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

    def _hold_to(self, conversation: Conversation) -> None:
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

    def _described(self) -> list[Function]:
        return all_described(self._functions, self._redact)

    def _redact(self, text: str) -> str:
        return redact(text, self._choice.secrets())

    def _uses(self, language: str, code: str) -> Collection[str]:
        uses, words = self.computer.uses(language, code), self.computer.words()
        others = {canonical(word) for name in uses for word in words.get(name, ())}
        return uses | (others & self.gate.policy.deny)  # denied by a name of the computer's own

    # The conversation -----------------------------------------------------------------------------

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
            self._replace(read)
            self._notice = " ".join(lost)
            self._was_changed()

    @property
    def turns(self) -> list[Turn]:
        """Every question that was asked in this conversation and still stands in it."""
        return list(self._answers.turns)

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Let somebody hear of every turn, however it is asked; call the value to end it.

        A watcher is told on the thread that drives the answer, and must not block. One that
        fails is dropped with a warning; the answer goes on.
        """
        return self.history.subscribe(watcher)

    @property
    def folder(self) -> Path:
        """A private folder for what is attached to questions; it goes when the session does."""
        return self._readable.folder

    def allow_file(self, path: Path) -> Path:
        """Let the model read this file, wherever it is: the person has named it. Until `reset`.

        Returns
        -------
        Its path without links: the one that may be read.

        Raises
        ------
        OSError
            When there is no such file.
        """
        return self._readable.allow(path)

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
                said = self._go_on_with(attached)
            elif isinstance(question, str):
                if not question.strip():
                    raise SessionError("the question is empty: write a question first")
                said = self._go_on_with([*attached, self._question(question, insert)])
            elif isinstance(question, (Message, Mapping)):
                said = self._go_on_with([*attached, questions.as_message(question)])
            else:
                said = self._begin_with(questions.as_messages(question), attached)
            return self._begin(model, said, where)

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
        if not text.strip():
            raise SessionError("the question is empty: write a question first")
        return self._again(turn, self._question(text, insert), where)

    def _question(self, text: str, insert: bool) -> Message:
        def look(name: str) -> str | None:
            found = abilities.value(self.computer, name)
            return None if found is None else self._redact(found)

        return questions.as_question(text, look if insert else None)

    def _again(self, turn: events.Turn, asked: Message | None, where: str) -> Reply:
        model = self.model
        with self._answers.idle("ask a question again"):
            self._answers.forget()
            if turn not in self._answers.turns:
                raise SessionError(
                    "this question is no longer in the conversation: ask it as a new question"
                )
            if not turn.said:
                raise SessionError(
                    "this answer continued the one before it and has no question of its own: "
                    "retry that question"
                )
            said = questions.said_again(turn.said, asked)
            start = self.history.place(turn.anchor or "")
            assert start is not None, "the turn would have been forgotten"
            self.history.put(start, said)
            self._answers.forget()
            return self._begin(model, said, where)

    def _go_on_with(self, asked: list[Message]) -> list[Message]:
        """Put these at the end of the conversation."""
        if not (asked or self.history):
            raise SessionError(_NOTHING)
        asked = [each.stamped() for each in asked]
        notes = []
        if self.pending is not None and asked and asked[0].role != "computer":
            notes = [questions.note("This code was not run: the user went on without it.")]
        self.history.put(len(self.history), [*notes, *asked])
        return asked

    def _begin_with(self, messages: list[Message], attached: list[Message]) -> list[Message]:
        """Put these in place of the conversation; returns the question at their end."""
        if not messages:
            raise SessionError(_NOTHING)
        self._replace([*messages[:-1], *attached, messages[-1]])
        self._answers.forget()
        asked = self.history[-1 - len(attached) :]
        return asked if asked[-1].role == "user" else []

    def _replace(self, messages: list[Message]) -> None:
        """Put these in place of the conversation. What is the same again stays the very same.

        Of which nothing stays, that conversation is over, and another one begins.
        """
        if self.history and not self.history.same_until(messages):
            stamped = [each.stamped() for each in messages]
            self.history.tell(Replaced(Conversation(stamped)))
            self._hold_to(self._writer.about)
            self._spending.begin_conversation()
        else:
            self.history.replace(messages)

    def _begin(self, model: Model, said: list[Message], where: str) -> Reply:
        """The messages are in place, and a new turn begins."""
        self._answers.ready()
        self.history.tell(Asked())
        anchor = said[0].id if said else self.history[-1].id

        def begin(turn: Turn) -> Reply:
            return respond(
                self.history,
                self._answers.recorded(briefed(model, self.brief, self._note), turn),
                self._answers.until_stopped(self.computer, self._block_begins),
                gate=self.gate,
                max_turns=self.max_turns,
                limits=self._limits,
                strange=self._strange,
            )

        return self._answers.give(Turn(where, label(model), said, anchor), begin)

    def _block_begins(self) -> None:
        self.history.tell(Runs())
        self._own_cells.note(self.history[:], len(abilities.cells(self.computer)))

    def _was_changed(self) -> None:
        self._answers.forget()
        self.history.tell(Changed())

    def _note(self, text: str) -> None:
        self.notify(text)
        self.history.tell(Noted(text))

    def brief(self) -> Brief:
        """What the model is told beside the conversation, as it is now."""
        own = of_computer(self.computer) if self.system_message is None else self.system_message
        functions = told(self._described(), self._limits.functions)
        also = self.custom_instructions, functions, self.glm.told()
        instructions = "\n".join([own, *filter(None, also)])
        names = ""
        if self.context:
            more = {"values": True} if self.context_values else {}  # a computer of somebody's own
            names = self.computer.names(**more)
        folders, files = self._readable.folders, self._readable.files
        words = self.computer.words()
        return Brief(instructions, names, words, folders, files, self.max_output)

    def share(self, value: Any, to: str, name: str | None = None) -> Shared:
        """Hand a table to another language of the computer: `share(df, to="r")`.

        In r it becomes a data.frame, in javascript an array of objects; in shell a variable holds
        the path of a CSV file; any other language gets such a file. Types are kept: truth values,
        dates, categories, what is missing.

        Parameters
        ----------
        value : a DataFrame, or what becomes one (a Series, rows, a table of polars or Arrow)
        name : of the variable there; default: the name that it has where this is called, or the
            column's own

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
        return share(self.computer, value, to, name, self.folder)

    # What it takes --------------------------------------------------------------------------------

    def tokens(self) -> Tokens:
        """How much of the model's window the next request would take, by part.

        Raises
        ------
        SessionError
            When the model does not tell how much it reads.
        """
        model = self.model
        if not isinstance(model, Counted):
            raise SessionError(f"{label(model)} does not tell how many tokens it reads")
        return model.tokens(self.history[:], self.brief())

    @property
    def cost(self) -> float | None:
        """US dollars that this conversation has cost, as far as it is known; None for nothing."""
        return self._spending.cost

    @property
    def spending(self) -> Spending:
        """What this conversation has cost, and the limits; `str` says it to the person."""
        return self._spending

    @property
    def uncounted(self) -> int:
        """Requests of this conversation whose cost is not known."""
        return self._spending.uncounted

    # The conversations that are kept ------------------------------------------------------------

    @property
    def conversations(self) -> Conversations | None:
        """Every conversation that is kept; None for a session that keeps none."""
        return self._writer.conversations

    @property
    def conversation_id(self) -> str:
        """The id of this conversation among those that are kept; "" while it is not."""
        return self._writer.id

    @property
    def title(self) -> str:
        """What this conversation is called in the list; "" for a new one."""
        return self._writer.title

    @property
    def notebook(self) -> str:
        """The path of this kernel's notebook; "" where there is none."""
        return self._writer.notebook

    def unsaved_news(self) -> str:
        """`unsaved`, said once for each trouble: "" where nothing has changed since the last call.

        For views that show it below an answer.
        """
        return self._writer.news()

    @property
    def unsaved(self) -> str:
        """A sentence while this conversation cannot be written to disk; "" when all is well."""
        return self._writer.problem

    def may_leave(self) -> None:
        """For what a person presses or types: whether another conversation may take this one's
        place.

        Raises
        ------
        SessionError
            While this one is in memory only, and in no file that `save` wrote either: it would be
            gone. Once for what is in it: who asks for the same again means it.
        """
        last = self.history.last
        if self.busy or last is None or last is self._safe:
            return
        if self._is_only_here():
            self._safe = last
            raise SessionError(_ONLY_HERE)

    def _is_only_here(self) -> bool:
        """Whether it cannot be kept now either."""
        if self.unsaved:
            self._writer.retry()
        return bool(self.unsaved)

    @property
    def earlier(self) -> ConversationEntry | None:
        """The last conversation of this notebook, while none has begun here; None without."""
        return self._writer.earlier()

    @property
    def notice(self) -> str:
        """A sentence on what could not be read of the conversation that was taken up; else ""."""
        return self._notice

    @property
    def other_model(self) -> str:
        """A sentence while another model is to answer than the one that did so last; else ""."""
        before, now = self._writer.about.model, self._choice.label
        if not self.history or not before or not now or before == now:
            return ""
        return f"{before} answered here before. Now the model is {now} (see `%lmc model`)."

    @property
    def events(self) -> list[Action]:
        """What the person did beside the messages, such as pressing Run, oldest first."""
        return self._writer.actions

    def open(self, id: str) -> str:
        """Go on with a conversation that is kept; the one before stays in the list.

        Returns
        -------
        Sentences for the person: how many messages there are, whether it goes on as a copy
        (another kernel writes it), what of it could not be read, whether another model answered.

        Raises
        ------
        SessionError
            While an answer is being given; when there is no such conversation, or it cannot be
            read. The session goes on with its own then.
        """
        with self._answers.idle("open another conversation"):
            event, said = self._writer.open(id)
            if event is not None:
                self._go_on(event)
            self._notice = said
        waits = "" if self.pending is None else "Its last code waits for your decision."
        number = len(self.history)
        count = f"{number} message{'' if number == 1 else 's'}"
        first = f"Opened {self.title!r} ({count})."
        return " ".join(filter(None, [first, said, waits, self.other_model]))

    def fork(self, id: str | None = None) -> str:
        """Go on with a copy of a conversation; default: of this one. See `open`.

        Raises
        ------
        SessionError
            Also when nothing is in this one yet.
        """
        if id is not None and id != self.conversation_id:
            kept = self._writer.there()
            return self.open(kept.fork(id))
        with self._answers.idle("copy the conversation"):
            if not self.history:
                raise SessionError("the conversation is empty: there is nothing to copy")
            if self._is_only_here():
                raise SessionError("this conversation could not be saved, so it cannot be copied")
            copy = self.conversation()
            self.history.tell(Replaced(replace(copy, title=copy_of(copy.title))))
            self._spending.begin_conversation()  # as of every copy: what was spent, the other cost
            self.history.tell(Changed())
        return f"This is a copy of {copy.title!r}. The original does not change."

    def rename(self, title: str, id: str | None = None) -> None:
        """Give a conversation a title; default: this one.

        Raises
        ------
        SessionError
            For an empty title; when there is no such conversation, or another kernel writes it.
        """
        if id is not None and id != self.conversation_id:
            self._writer.there().rename(id, title)
            return
        if not title.strip():
            raise SessionError("the title is empty: write what the conversation is about")
        self.history.tell(Renamed(title))
        self.history.tell(Configured())

    def delete(self, id: str) -> str:
        """Take a conversation off the disk. If it is this one, a new one begins.

        Raises
        ------
        SessionError
            While an answer is being given in it; when there is no such conversation, another
            kernel writes it, or the disk refuses.
        """
        kept = self._writer.there()
        if id != self.conversation_id:
            title = called(kept.read(id))
            kept.delete(id)
            return f"Deleted{f' {title!r}' if title else ''}."
        with self._answers.idle("delete this conversation"):
            title = self.title
            self._go_on(Replaced(Conversation(), keep=False))
        if (path := kept.path(id)).exists():
            raise SessionError(f"{title!r} could not be deleted: {path} is still there")
        return f"Deleted {title!r}. A new conversation begins."

    def pick_up(self) -> str:
        """After a restart of the kernel, go on with the conversation that was held in it.

        Returns
        -------
        A sentence on what could not be read of it; "" when all is there, or there was none.
        """
        with self._answers.idle("take up the conversation from before"):
            try:
                event, self._notice = self._writer.pick_up()
            except SessionError as error:
                self._notice = (
                    f"The conversation from before the restart could not be opened: {error}."
                )
                return self._notice
            if event is not None and event.conversation.messages:
                notice = self._notice
                self._go_on(event, questions.note(RESTARTED))
                self._notice = notice
        return self._notice

    def rate(self, message_id: str, rating: Rating | None) -> None:
        """Put the person's thumb on an answer: "up", "down", or None to take it back.

        Raises
        ------
        SessionError
            When there is no such answer, or it is being given.
        """
        if rating not in ("up", "down", None):
            raise SessionError(f"a rating is 'up', 'down' or None, not {rating!r:.40}")
        at = self.history.place(message_id)
        if at is None or self.history[at].role != "assistant":
            raise SessionError("this answer is no longer in the conversation")
        if self._answers.is_giving(at):
            raise SessionError("this answer is still in progress: wait for its end")
        self.history.mark(at, {"feedback": rating})

    def conversation(self) -> Conversation:
        """The conversation as a value, for a file of any format."""
        held = self._writer.conversation()
        return replace(
            held,
            messages=saving.measured(held.messages, self._answers.turns),
            model=held.model or self._choice.name,
            extra=self.glm.extra(held.extra, self._limits, self._described(), self._choice.options),
        )

    def _for_a_file(self, conversation: Conversation) -> tuple[Conversation, list[str]]:
        title, secrets = self._writer.about.title, self._choice.secrets()
        return saving.for_a_file(conversation, title, secrets)

    def take(self, conversation: Conversation) -> None:
        """Go on from a conversation of any origin; the one before stays in the list.

        Nothing in it is run, allowed or chosen: code at its end waits for an answer.

        Raises
        ------
        SessionError
            While an answer is being given.
        """
        messages = [each.stamped() for each in conversation.messages]
        with self._answers.idle("take another conversation"):
            self._go_on(Replaced(replace(conversation, messages=messages)))

    def save(
        self, path: str | os.PathLike[str], format: str | None = None, *, replace: bool = False
    ) -> list[str]:
        """Write this conversation to a file, without any key in it.

        Parameters
        ----------
        path : where to, from the working directory
        format : a name of `lmc_jupyter.formats.formats`; default: by the path's ending
        replace : whether a file that is there already may go

        Returns
        -------
        Sentences on what the file does not hold.

        Raises
        ------
        FormatError
            When there is no such format, or a file is there already.
        OSError
            When it cannot be written.
        """
        last = self.history.last
        held = self.conversation()
        if self._computer is not None and formats.written_as(path, format) == "notebook":
            held.cells = list(self._own_cells.of(held.messages, abilities.cells(self._computer)))
            held.files = saving.files_of(held.messages, self.folder)
        conversation, said = self._for_a_file(held)
        lost = formats.write(conversation, Path(path).expanduser(), format, replace=replace)
        self._safe = last
        return said + lost

    def load(self, path: str | os.PathLike[str], format: str | None = None) -> list[str]:
        """Go on from the conversation in a file; the one before stays in the list. See `take`.

        Returns
        -------
        Sentences on what of the file could not be carried over.

        Raises
        ------
        FormatError
            When the file cannot be read as a conversation; this one goes on then.
        SessionError
            While an answer is being given.
        OSError
            When there is no such file, or it cannot be opened.
        """
        conversation = formats.read(Path(path).expanduser(), format)
        self.take(conversation)
        return conversation.lost

    def _go_on(self, event: Replaced, *notes: Message) -> None:
        """With another conversation: nothing that was allowed in the one before is."""
        self.history.tell(event)
        for note in notes:
            self.history.append(note)
        self._spending.begin_conversation(self._writer.cost)
        self._readable.forget()
        self.gate.withdraw()
        self._hold_to(self._writer.about)
        self._strange = frozenset(each.id for each in self.history if is_code(each))
        self._notice = ""
        self._was_changed()

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

    @property
    def pending(self) -> Message | None:
        """The code that waits for its answer at the end of the conversation, if there is some."""
        last = self.history.last
        return last if last is not None and is_code(last) else None

    def stop(self) -> None:
        """Stop the answer that is being given, from any thread; what has come so far is kept."""
        self._answers.stop()
        if self._computer is not None:
            self._computer.stop()
        self.history.tell_now(Stopping())

    def undo(self) -> list[Message]:
        """Take back the last question and all that came after it; returns what was taken."""
        with self._answers.idle("undo"):
            start = questions.last(self.history)
            taken = self.history[start:]
            self.history.cut(start)
            self._was_changed()
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
                told = f"The user restored the notebook's variables. {said}"
                pending = self.history[-1:] if self.pending else []  # the note is no answer to it
                note = questions.note(told, "assistant")
                self.history.put(len(self.history) - len(pending), [note, *pending])
                self._was_changed()
            self.history.tell(NamesRestored(names))
            return f"{said} Files, the network and other programs were not restored."

    def reset(self) -> None:
        """Begin a new conversation. Variables and shells of the computer stay as they are."""
        with self._answers.idle("begin a new conversation"):
            self._go_on(Replaced(Conversation()))

    def close(self) -> None:
        """Stop, and end what the computer and the model started; keep no more."""
        self.stop()
        self._writer.close()
        for each in (self._computer, self._choice.made):
            close = getattr(each, "close", None)  # a model may have none
            if close is not None:
                close()
