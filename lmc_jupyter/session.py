"""A session: one conversation, its model, its computer, its gate.

One rule: it puts the parts together and draws nothing; who wants to see something drives the
generator that `ask` returns. One turn at a time. What a part can do is asked of that part:

history, journal    the messages and the events that change them; the same on disk
conversation        how another conversation takes its place, and how it becomes a file
choice, computer    the model that answers, and what runs its code
gate, options       what may run, and how the session answers
queue               what the person writes while an answer is given
prompt, files       the text that the model gets beside it, and the files it may read
spending            what the answers have cost
glm                 the conversation in the words of the GLM chat history
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lmc_jupyter.agent import Model, Reply, respond
from lmc_jupyter.computer import Computer, as_computer, default_computer
from lmc_jupyter.computer.tools import guards
from lmc_jupyter.context.cells import CellChoice
from lmc_jupyter.context.readable import Readable
from lmc_jupyter.conversation import Rating, events
from lmc_jupyter.conversation.conversations import Conversations
from lmc_jupyter.conversation.events import Asked, Configured, NamesRestored, Noted, Runs, Stopping
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.names import Names, RestorableNames
from lmc_jupyter.conversation.writer import JournalWriter
from lmc_jupyter.formats.glm.session import Glm
from lmc_jupyter.gate import Gate
from lmc_jupyter.limits import Limits
from lmc_jupyter.lmc import Message, canonical, is_code
from lmc_jupyter.models.brief import Brief, give_brief
from lmc_jupyter.models.choice import Choice, label
from lmc_jupyter.models.spending import Spending
from lmc_jupyter.turn import course, questions, saving
from lmc_jupyter.turn.answering import Answers
from lmc_jupyter.turn.current import CurrentConversation
from lmc_jupyter.turn.one_block import OneBlock, reason_to_ask
from lmc_jupyter.turn.options import NAMES, Options, WithOptions
from lmc_jupyter.turn.prompt import Prompt
from lmc_jupyter.turn.queue import Queue
from lmc_jupyter.turn.rules import Rules
from lmc_jupyter.turn.turns import Turn

if TYPE_CHECKING:
    from lmc_jupyter.computer.share import Shared


class Session(WithOptions):
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
        Limits on code of the model beside the policy: blocks of a reply, their length, ...
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
        context: str | bool = "notebook",
        *,
        keep: bool = True,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        own = {name: options.pop(name) for name in NAMES & options.keys()}
        own |= {"auto_run": auto_run, "system_message": system_message, "context": context}
        self.choice = Choice(model, options)
        """The model and its options; `choose` takes another."""
        self.notify: Callable[[str], None] = lambda _: None
        """Takes a short sentence about what the model waits for; yours to set."""
        self._computer = as_computer(computer)
        self._making = threading.RLock()
        self.history = History()
        self.journal = JournalWriter(  # the first reader: what is shown is written by then
            self.history, Conversations() if keep else None, lambda: self.choice.secrets()
        )
        self.gate = Gate(
            uses=self._uses, effects=lambda language, code: self.computer.effects(language, code)
        )
        guards.add(self.gate.guard)
        self.files = Readable()
        self.hints: Callable[[], Model] | None = None
        """Makes what answers in a course with hints, in the place of the model; else nothing."""
        self.queue = Queue()
        """What the person writes while an answer is given; it goes to the model's next request."""
        self.spending = Spending()
        self.spending.notify = self._note
        self._rules = Rules(
            self.history, self.gate, self.spending, Options(**own), limits or Limits()
        )
        self.prompt = Prompt(
            self.history, self.files, self._rules, lambda: self.choice, lambda: self.computer
        )
        self._restorable = RestorableNames()
        self._answers = Answers(
            self.history,
            self.gate,
            self.spending,
            lambda: self._restorable.add(self.computer.changes()),
            lambda: self.receipts,
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
            limit=lambda conversation: self._rules.add(self.glm.begin(conversation)),
            complete=self.prompt.with_settings,
        )
        self.glm = Glm(self.history, self.gate, self.journal, self.conversation, self.prompt.redact)
        if self._computer is not None:
            self._furnish(self._computer)

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
        """Change options of the same model, such as temperature=0.2; None removes one."""
        self.choose(self.choice.with_options(options))

    @property
    def computer(self) -> Computer:
        """The computer, made at first use."""
        if self._computer is None:
            with self._making:  # two threads would make two, and wait for each other
                if self._computer is None:
                    self._computer = self._furnish(default_computer())
        return self._computer

    def _furnish(self, computer: Computer) -> Computer:
        computer.guards.add(self.gate.guard)
        return computer

    def share(self, value: Any, to: str, name: str | None = None) -> Shared:
        """Hand a table to another language of the computer, if policy lets the calling code use
        it: `share(df, to="r")`, under the same name. See `lmc_jupyter.computer.share.share`.
        """
        from lmc_jupyter.computer.share import name_of, share

        name = name or name_of(value, sys._getframe(1))
        self.gate.guard.check(self._uses(to, ""))
        return share(self.computer, value, to, name, self.files.folder)

    # The options ----------------------------------------------------------------------------------

    def configure(self, **changes: Any) -> None:
        """Change some of `options`; all of them are changed, or none. See `Rules.configure`."""
        self._rules.configure(changes)

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
        losses: list[str] = []
        read = questions.as_messages(messages, losses)
        with self._answers.idle("take another conversation"):
            self.conversation.assign(read)
            self.conversation.notice = " ".join(losses)
            self.conversation.announce_change()

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
        cells: CellChoice | None = None,
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
        cells : which of the person's cells go with a text; None: none

        Raises
        ------
        SessionError
            While another answer is given, with nothing to answer, or for an unknown `{{name}}`.
        ProtocolError
            For a message that LMC does not allow; the conversation is as it was.
        ModelError
            When there can be no such model; the conversation is as it was.
        """
        model = self._answering(question)
        before = [questions.as_message(each).stamped() for each in attachments]
        with self._answers.idle("answer a second question"):
            if question is None:
                messages = self.conversation.put(before)
            elif isinstance(question, str):
                made = self.prompt.question(question, cells, insert=insert)
                messages = self.conversation.put([*before, *made])
            elif isinstance(question, (Message, Mapping)):
                messages = self.conversation.put([*before, questions.as_message(question)])
            else:
                messages = self.conversation.put_whole(questions.as_messages(question), before)
            return self._begin(model, messages, where)

    def retry(self, turn: events.TurnLike, *, where: str = "cell") -> Reply:
        """Ask the question of this turn again; what came of it, and all after it, goes.

        Raises
        ------
        SessionError
            While an answer is being given; when the turn is no longer in the conversation, or
            had no question of its own. The conversation is as it was then.
        """
        return self._again(turn, None, where)

    def edit(
        self,
        turn: events.TurnLike,
        text: str,
        *,
        where: str = "cell",
        insert: bool = False,
        cells: CellChoice | None = None,
    ) -> Reply:
        """Ask this in place of the question of a turn, else as `retry`; see `Prompt.edit`."""
        return self._again(turn, self.prompt.edit(turn.said, text, insert, cells), where)

    def _answering(self, question: object) -> Model:
        """The model that answers this; in a course with hints that is its tutor."""
        is_question = bool(question) and isinstance(question, (str, Message, Mapping))
        if is_question and self.hints is not None and course.mode(self.tutor) == "hints":
            return self.hints()
        course.check(self.tutor, self.history.tell)
        return self.model

    def _again(self, turn: events.TurnLike, question: Message | None, where: str) -> Reply:
        model = self._answering(question or next(iter(turn.said), None))
        with self._answers.idle("ask a question again"):
            messages = self.prompt.again(turn.said, question) if turn.said else []
            return self._begin(model, self.conversation.put_again(turn, messages), where)

    def offer(self, language: str, code: str, *, by: str) -> Reply:
        """Offer one block of code that an agent outside this notebook wrote: a turn without a
        question, in which the person is asked whatever `auto_run` says.

        Parameters
        ----------
        by : the agent's name as a person reads it, such as "Claude Code"

        Raises
        ------
        SessionError
            While an answer is being given.
        """
        course.check(self.tutor, self.history.tell)
        model = OneBlock(by, language, code)
        with self._answers.idle("take code of an agent"):
            self.conversation.interject(f"{by}, an agent outside this notebook, runs code here.")
            return self._begin(model, [], "agent", asks=reason_to_ask(by))

    def _begin(self, model: Model, messages: list[Message], where: str, *, asks: str = "") -> Reply:
        """The messages are in place, and a new turn begins.

        Parameters
        ----------
        asks : why the person is asked about all of its code; "" where policy decides
        """
        is_own = where != "agent"
        if is_own:
            self.choice.preload()  # while the context is made
        self._answers.ready()
        self.history.tell(Asked())
        anchor = messages[0].id if messages else self.history[-1].id

        def begin(turn: Turn) -> Reply:
            return respond(
                self.history,
                self._answers.record_model(give_brief(model, self.brief, self._note), turn),
                self._answers.until_stopped(self.computer, self._block_begins),
                gate=self.gate,
                max_turns=self.max_turns,
                limits=self._rules.limits,
                strange=self.conversation.foreign,
                asks=asks,
                meanwhile=lambda: self._said_meanwhile() if is_own else (),
            )

        return self._answers.give(Turn(where, label(model), messages, anchor), begin)

    def _said_meanwhile(self) -> list[Message]:
        """What the person has done and said since the last request of an answer."""
        return [*self.conversation.take_notes(), *self.queue.take(self.prompt.question)]

    def _block_begins(self) -> None:
        self.history.tell(Runs())
        self._own_cells.note(self.history[:])

    def _note(self, text: str) -> None:
        self.notify(text)
        self.history.tell(Noted(text))

    def brief(self) -> Brief:
        """The text that the model gets beside the conversation, as it is now."""
        return self.prompt.brief(self.glm.for_prompt() if self.glm.names else "")

    # The conversation -----------------------------------------------------------------------------

    def save(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        replace: bool = False,
        only_ran: bool = False,
        thoughts: bool = False,
    ) -> list[str]:
        """Write this conversation to a file, without any key in it; returns sentences on what the
        file does not hold. See `CurrentConversation.save`.
        """
        return self.conversation.save(
            path, format, replace=replace, only_ran=only_ran, thoughts=thoughts
        )

    def load(self, path: str | os.PathLike[str], format: str | None = None) -> list[str]:
        """Go on from the conversation in a file; returns sentences on what of the file could not
        be carried over. See `CurrentConversation.load`.
        """
        return self.conversation.load(path, format)

    def rate(self, message_id: str, rating: Rating | None) -> None:
        """Put the person's thumb on an answer: "up", "down", or None to take it back."""
        self.conversation.rate(message_id, rating)

    def take_proposal(self, message_id: str, how: str) -> None:
        """Note that the person has put code that a model proposed into a cell; the model reads so.
        See `CurrentConversation.take_proposal`.
        """
        self.conversation.take_proposal(message_id, how)

    def reset(self) -> None:
        """Begin a new conversation. Variables and shells of the computer stay as they are."""
        self.conversation.begin()

    def undo(self) -> list[Message]:
        """Remove the last question and all that came after it; returns the removed messages."""
        return self.conversation.undo()

    def restore(self, names: Names | None = None) -> str:
        """Restore the person's names as they were before a block of code, by default the last one
        that can be restored. The model reads of it; returns sentences on what was restored.
        See `RestorableNames.restore`.
        """
        with self._answers.idle("restore names"):
            names, text = self._restorable.restore(
                lambda changes: self.computer.restore(changes), names
            )
            said = f"The user restored the notebook's variables. {text}"
            self.conversation.tell_model(questions.note(said, "assistant"))
            self.history.tell(NamesRestored(names))
            return f"{text} Files, the network and other programs were not restored."

    # Control --------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether an answer is being given."""
        return self._answers.busy

    def wait(self, seconds: float) -> bool:
        """Wait until no answer is being given; returns whether none is."""
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
        """Stop, end what the computer and the model started, and close the journal."""
        self.stop()
        self.journal.close()
        for each in (self._computer, self.choice.instance):
            close = getattr(each, "close", None)  # a model may have none
            if close is not None:
                close()
