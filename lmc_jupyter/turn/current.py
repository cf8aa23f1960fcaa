"""The conversation that a session is in: how questions get into it, how another takes its place,
and how it becomes a file.

One rule: another conversation begins without permissions. Nothing that the person allowed before
counts in it, nothing in it is run, and code at its end waits for an answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from lmc_jupyter import formats
from lmc_jupyter.content.chat import place_of_cell
from lmc_jupyter.content.notebook_file import code_that_ran
from lmc_jupyter.content.remarks import NOT_RUN
from lmc_jupyter.context.readable import Readable
from lmc_jupyter.conversation import Conversation, Rating
from lmc_jupyter.conversation.conversations import copy_of, display_title
from lmc_jupyter.conversation.events import Changed, Configured, Renamed, Replaced, TurnLike
from lmc_jupyter.conversation.history import History
from lmc_jupyter.conversation.writer import RESTART_NOTICE, JournalWriter
from lmc_jupyter.errors import SessionError
from lmc_jupyter.gate import Gate
from lmc_jupyter.lmc import TAKEN, TAKINGS, Message, Note, cell_of, is_code, is_proposal
from lmc_jupyter.models.choice import Choice
from lmc_jupyter.models.spending import Spending
from lmc_jupyter.turn import questions, saving
from lmc_jupyter.turn.answering import Answers

_ONLY_HERE = (
    "this conversation could not be saved and would be lost: write it to a file first "
    "(`%lmc save NAME.ipynb`, or Save as in the panel's menu), or repeat the command to discard it"
)
_NOTHING = "the conversation is empty: ask a question first"
_LOADED = datetime.now(timezone.utc).isoformat()
"""What was said before is of another kernel."""
_ELSEWHERE = (
    "This conversation goes on in another kernel: the variables of the one before are not in it."
)


class CurrentConversation:
    """The conversation of one session.

    Parameters
    ----------
    history, journal : its messages, and the same on disk
    answers : gives the answers; during one no other conversation takes this one's place
    gate, files, spending : what the person has allowed, and what it has cost
    cells : the person's own cells that ran before its code
    choice : the model that answers now
    limit : applies the limits in the settings of a conversation to code of the model
    complete : adds to the conversation the values that only the session has
    """

    def __init__(
        self,
        history: History,
        journal: JournalWriter,
        answers: Answers,
        *,
        gate: Gate,
        files: Readable,
        spending: Spending,
        cells: saving.OwnCells,
        choice: Callable[[], Choice],
        limit: Callable[[Conversation], None],
        complete: Callable[[Conversation], Conversation],
    ) -> None:
        self.notice = ""
        """A sentence on what could not be read of the conversation that was taken up; else ""."""
        self.foreign: frozenset[str | None] = frozenset()
        """Ids of the messages whose code came from a file: it is asked for."""
        self._history, self._journal, self._answers = history, journal, answers
        self._gate, self._files, self._spending, self._cells = gate, files, spending, cells
        self._choice, self._limit, self._complete = choice, limit, complete
        self._safe: Message | None = None  # the last one when it was saved, or not to be
        self._notes: list[Message] = []  # for the model, of what happened during an answer

    @property
    def other_model(self) -> str:
        """A sentence while another model is to answer than the one that did so last; else ""."""
        before = self._journal.about.model
        if not self._history or not before:  # then no model is made to know its label
            return ""
        now = self._choice().label
        if not now or before == now:
            return ""
        return f"Model changed from {before} to {now} (see `%lmc model`)."

    # Another one ----------------------------------------------------------------------------------

    def may_leave(self) -> None:
        """For what a person presses or types: whether another conversation may take this one's
        place.

        Raises
        ------
        SessionError
            While this one is in memory only, and in no file that `save` wrote either: it would be
            gone. Once for what is in it: who asks for the same again means it.
        """
        last = self._history.last
        if self._answers.busy or last is None or last is self._safe:
            return
        if self._is_only_here():
            self._safe = last
            raise SessionError(_ONLY_HERE)

    def _is_only_here(self) -> bool:
        """Whether it cannot be saved now either."""
        if self._journal.problem:
            self._journal.retry()
        return bool(self._journal.problem)

    def begin(self) -> None:
        """Begin a new one.

        Raises
        ------
        SessionError
            While an answer is being given; so do all of these.
        """
        with self._answers.idle("begin a new conversation"):
            self._enter(Replaced(Conversation()))

    def take(self, conversation: Conversation) -> None:
        """Go on from a conversation of any origin; the one before stays in the list."""
        messages = [each.stamped() for each in conversation.messages]
        with self._answers.idle("take another conversation"):
            self._enter(Replaced(replace(conversation, messages=messages)))

    def open(self, id: str) -> str:
        """Go on with a conversation of the list; the one before stays in it.

        Returns
        -------
        Sentences for the person: how many messages there are, whether it goes on as a copy
        (another kernel writes it), what of it could not be read, whether another model answered.

        Raises
        ------
        SessionError
            When there is no such conversation, or it cannot be read. The session goes on with its
            own then.
        """
        with self._answers.idle("open another conversation"):
            event, remarks = self._journal.open(id)
            if event is not None:
                self._enter(event)
                if self._is_of_before() and not self._waits():
                    self._notes = [questions.note(_ELSEWHERE, "assistant")]
            self.notice = remarks
        number = len(self._history)
        count = f"{number} message{'' if number == 1 else 's'}"
        first = f"Opened {self._journal.title!r} ({count})."
        pending = "Its last code waits for your decision." if self._waits() else ""
        return " ".join(filter(None, [first, remarks, pending, self.other_model]))

    def fork(self, id: str | None = None) -> str:
        """Go on with a copy of a conversation; default: of this one. See `open`.

        Raises
        ------
        SessionError
            Also when nothing is in this one yet.
        """
        if id is not None and id != self._journal.id:
            return self.open(self._journal.there().fork(id))
        with self._answers.idle("copy the conversation"):
            if not self._history:
                raise SessionError("the conversation is empty: there is nothing to copy")
            if self._is_only_here():
                raise SessionError("this conversation could not be saved, so it cannot be copied")
            copy = self.value()
            self._history.tell(Replaced(replace(copy, title=copy_of(copy.title))))
            self._spending.begin_conversation()  # as of every copy: what was spent, the other cost
            self._history.tell(Changed())
        return f"This is a copy of {copy.title!r}. The original does not change."

    def pick_up(self) -> None:
        """After a restart of the kernel, go on with the conversation that it had open;
        `notice` says what could not be read of it.
        """
        with self._answers.idle("take up the conversation from before"):
            try:
                event, notice = self._journal.pick_up()
            except SessionError as error:
                self.notice = (
                    f"The conversation from before the restart could not be opened: {error}."
                )
                return
            if event is not None:  # one whose only question was undone has no message
                note = [questions.note(RESTART_NOTICE)] if event.conversation.messages else []
                self._enter(event, *note)
            self.notice = notice

    def assign(self, messages: list[Message]) -> None:
        """Put these in its place. What is the same again stays the very same; of which nothing
        stays, that conversation is over, and another one begins.
        """
        if self._history and not self._history.same_until(messages):
            new = [each.stamped() for each in messages]
            self._history.tell(Replaced(Conversation(new)))
            self._limit(self._journal.about)
            self._spending.begin_conversation()
        else:
            self._history.replace(messages)

    def _enter(self, event: Replaced, *notes: Message) -> None:
        """Go on with another one: nothing that was allowed in the one before is."""
        self._history.tell(event)
        for note in notes:
            self._history.append(note)
        self._answers.restore(event.conversation.turns)
        self._spending.begin_conversation(self._journal.cost)
        self._files.forget()
        self._gate.withdraw()
        self._notes.clear()
        self._limit(self._journal.about)
        self.foreign = frozenset(each.id for each in self._history if is_code(each))
        self.notice = ""
        self.announce_change()

    def announce_change(self) -> None:
        """Remove turns without their question, and tell the readers that the messages changed."""
        self._answers.forget()
        self._history.tell(Changed())

    # Its messages ---------------------------------------------------------------------------------

    def put(self, messages: list[Message]) -> list[Message]:
        """Put these at its end: a question, or no message to go on from the last one."""
        if not (messages or self._history):
            raise SessionError(_NOTHING)
        messages = [each.stamped() for each in messages]
        notes = []
        if self._waits() and messages and messages[0].role != "computer":
            notes = [questions.note(f"{NOT_RUN}: the user went on without it.")]
        self._history.put(len(self._history), [*notes, *self.take_notes(), *messages])
        return messages

    def put_whole(self, messages: list[Message], attachments: list[Message]) -> list[Message]:
        """Put these in its place, as `assign`; returns the question at their end."""
        if not messages:
            raise SessionError(_NOTHING)
        self.assign([*messages[:-1], *attachments, messages[-1]])
        self._answers.forget()
        question = self._history[-1 - len(attachments) :]
        return question if question[-1].role == "user" else []

    def put_again(self, turn: TurnLike, messages: list[Message]) -> list[Message]:
        """Put these messages of a question in the place of a turn and of all after it.

        Raises
        ------
        SessionError
            When the turn is no longer there, or had no question of its own.
        """
        self._history.put(self._answers.place(turn), messages)
        self._answers.forget()
        return messages

    def undo(self) -> list[Message]:
        """Remove the last question and all that came after it; returns the removed messages."""
        with self._answers.idle("undo"):
            start = questions.last(self._history)
            messages = self._history[start:]
            self._history.cut(start)
            self.announce_change()
            return messages

    def tell_model(self, note: Message) -> None:
        """Let the model know of something that the person did; code that waits goes on waiting."""
        if self._history:
            pending = self._history[-1:] if self._waits() else []  # the note is no answer to it
            self._history.put(len(self._history) - len(pending), [note, *pending])
            self.announce_change()

    def tell_person(self, text: str) -> None:
        """Put a note for the person at the end, which no model reads; code that waits goes on
        waiting.

        Raises
        ------
        SessionError
            While an answer is being given.
        """
        with self._answers.idle("put a note into the conversation"):
            pending = self._history[-1:] if self._waits() else []
            note = questions.note(text, "user")
            self._history.put(len(self._history) - len(pending), [note, *pending])
            self.announce_change()

    def take_proposal(self, message_id: str, how: str) -> None:
        """The person has put a proposal into a cell: it has that mark, and the model reads of it
        with its next request.

        Parameters
        ----------
        how : a key of `TAKINGS`

        Raises
        ------
        SessionError
            When there is no such proposal.
        """
        at = self._history.place(message_id)
        if at is None or not is_proposal(self._history[at]):
            raise SessionError("this proposal is no longer in the conversation")
        if how not in TAKINGS:
            raise SessionError(f"a proposal is {', '.join(TAKINGS)}, not {how!r:.40}")
        proposal = self._history.mark(at, {TAKEN: how})
        which = place_of_cell(cell_of(proposal))
        text = f"The person took your proposal for {which}: they {TAKINGS[how]}."
        note = Note("computer", "console", "output", text, "assistant").stamped()
        if self._answers.busy:
            self._notes.append(note)
        else:
            self.tell_model(note)

    def take_notes(self) -> list[Message]:
        """What the model has not read yet of what the person did during an answer."""
        notes, self._notes = self._notes, []
        return notes

    def interject(self, text: str) -> None:
        """Put a note for the model at the end, before something that is no answer to it; code that
        waits is not run.
        """
        notes = []
        if self._waits():
            notes = [questions.note(f"{NOT_RUN}: other code came in between.")]
        note = questions.note(text, "assistant")
        self._history.put(len(self._history), [*notes, note])

    def _is_of_before(self) -> bool:
        """Whether its last message is older than this kernel."""
        last = self._history.last
        return last is not None and str(last.created_at or _LOADED) < _LOADED

    def _waits(self) -> bool:
        last = self._history.last
        return last is not None and is_code(last)

    # In the list ----------------------------------------------------------------------------------

    def rename(self, title: str, id: str | None = None) -> None:
        """Give a conversation a title; default: this one.

        Raises
        ------
        SessionError
            For an empty title; when there is no such conversation, or another kernel writes it.
        """
        if id is not None and id != self._journal.id:
            self._journal.there().rename(id, title)
            return
        if not title.strip():
            raise SessionError("the title is empty: write what the conversation is about")
        self._history.tell(Renamed(title))
        self._history.tell(Configured())

    def delete(self, id: str) -> str:
        """Take a conversation off the disk. If it is this one, a new one begins.

        Raises
        ------
        SessionError
            When there is no such conversation, another kernel writes it, or the disk refuses.
        """
        there = self._journal.there()
        if id != self._journal.id:
            title = display_title(there.read(id))
            there.delete(id)
            return f"Deleted{f' {title!r}' if title else ''}."
        with self._answers.idle("delete this conversation"):
            title = self._journal.title
            self._enter(Replaced(Conversation(), keep=False))
        if (path := there.path(id)).exists():
            raise SessionError(f"{title!r} could not be deleted: {path} is still there")
        return f"Deleted {title!r}. A new conversation begins."

    def rate(self, message_id: str, rating: Rating | None) -> None:
        """Put the person's thumb on an answer: "up", "down", or None to take it back.

        Raises
        ------
        SessionError
            When there is no such answer, or it is being given.
        """
        if rating not in ("up", "down", None):
            raise SessionError(f"a rating is 'up', 'down' or None, not {rating!r:.40}")
        at = self._history.place(message_id)
        if at is None or self._history[at].role != "assistant":
            raise SessionError("this answer is no longer in the conversation")
        if self._answers.is_giving(at):
            raise SessionError("this answer is still in progress: wait for its end")
        self._history.mark(at, {"feedback": rating})

    # Files ----------------------------------------------------------------------------------------

    def value(self) -> Conversation:
        """The conversation as a value, for a file of any format."""
        journal = self._journal.conversation()
        messages = saving.add_measures(journal.messages, self._answers.turns)
        model = journal.model or self._choice().name
        return self._complete(replace(journal, messages=messages, model=model))

    def for_a_file(
        self, conversation: Conversation | None = None
    ) -> tuple[Conversation, list[str]]:
        """The conversation with keys redacted, and sentences on the redactions."""
        value = self.value() if conversation is None else conversation
        return saving.for_a_file(value, self._journal.about.title, self._choice().secrets())

    def save(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        replace: bool = False,
        only_ran: bool = False,
        thoughts: bool = False,
    ) -> list[str]:
        """Write it to a file, without any key in it.

        Parameters
        ----------
        path : where to, from the working directory
        format : a name of `lmc_jupyter.formats.formats`; default: by the path's ending
        replace : whether a file that is there already may go
        only_ran : whether to leave out code that was declined, failed or was stopped
        thoughts : whether to write what the model said to itself; LMC JSON has it always

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
        last, value = self._history.last, self.value()
        if formats.written_as(path, format) == "notebook":
            value.cells = list(self._cells.of(value.messages))
            if value.notebook == self._journal.notebook:
                value.saved_cells = code_that_ran(value.notebook)
            for folder in self._files.folders:
                value.files = saving.files_of(value.messages, folder)
        conversation, remarks = self.for_a_file(value)
        target = Path(path).expanduser()
        losses = formats.write(
            conversation, target, format, replace=replace, only_ran=only_ran, thoughts=thoughts
        )
        # without its thoughts it is safe: all that was said and done is there, and Markdown, which
        # cannot be read at all, counts too
        self._safe = self._safe if only_ran else last
        return remarks + losses

    def load(self, path: str | os.PathLike[str], format: str | None = None) -> list[str]:
        """Go on from the conversation in a file; the one before stays in the list. See `take`.

        Returns
        -------
        Sentences on what of the file could not be carried over.

        Raises
        ------
        FormatError
            When the file cannot be read as a conversation; this one goes on then.
        OSError
            When there is no such file, or it cannot be opened.
        """
        conversation = formats.read(Path(path).expanduser(), format)
        self.take(conversation)
        return conversation.losses
