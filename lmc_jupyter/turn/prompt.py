"""The text that the model of a session gets beside the conversation, as it is now.

One rule: it joins the parts that `context/` makes of the session, anew for every reply; keys are
redacted in all of them.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from lmc_jupyter.computer import Computer
from lmc_jupyter.content.cell import Cell
from lmc_jupyter.context import parts
from lmc_jupyter.context.cells import LOOK_BACK, CellChoice, only_in_loops
from lmc_jupyter.context.functions import by_name, describe
from lmc_jupyter.context.names import describe_changes
from lmc_jupyter.context.question import (
    Companions,
    companions,
    order_of,
    pointed_cells,
    pointed_words,
    unseen_of,
)
from lmc_jupyter.context.readable import Readable
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.conversation.events import Event, Exchanged, Replaced
from lmc_jupyter.conversation.history import History
from lmc_jupyter.formats.glm.settings import with_settings
from lmc_jupyter.keys import redact
from lmc_jupyter.lmc import Message, is_code
from lmc_jupyter.models.brief import MAX_OUTPUT, Brief
from lmc_jupyter.models.choice import Choice
from lmc_jupyter.turn import questions
from lmc_jupyter.turn.rules import Rules

if TYPE_CHECKING:
    from lmc_jupyter.computer.tools.catalogue import Server
    from lmc_jupyter.models.openai import Exchanges

TOOLS_SECONDS = 5.0
"""Seconds that a request waits for MCP servers that start."""
EVERY_CELL = CellChoice()
"""The cells that go by the rules."""


class Prompt:
    """The material of one session's prompts.

    Parameters
    ----------
    history, files, rules : of the session
    choice, computer : the model that answers now, and what runs its code
    """

    def __init__(
        self,
        history: History,
        files: Readable,
        rules: Rules,
        choice: Callable[[], Choice],
        computer: Callable[[], Computer],
    ) -> None:
        self.max_output = MAX_OUTPUT
        """Characters of one result, or of one file, that the model gets."""
        self.functions: Mapping[str, Callable[..., Any]] = {}
        """Functions that the model may call through code, by name; see `give`."""
        self.cells: Callable[[], Sequence[Cell]] = lambda: ()
        """The person's cells that ran, the newest last; whoever records them sets this."""
        self.folder_instructions: Callable[[], str] = lambda: ""
        """The AGENTS.md that the person has said yes to; whoever asks them sets this."""
        self.tools: Callable[[float], Sequence[Server]] = lambda _: ()
        """(seconds to wait for those that start) -> the MCP servers whose tools code can call;
        whoever has read mcp.json sets this."""
        self._exchanges: Exchanges | None = None
        self._making = threading.Lock()
        history.subscribe(self._hear)
        self._last_names: str | None = None  # as the model got them last
        self._kernel = uuid.uuid4().hex[:8]
        self._history, self._files, self._rules = history, files, rules
        self._choice, self._computer = choice, computer

    def give(
        self, functions: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]]
    ) -> None:
        """Let the model call these functions, and no others, through code.

        Raises
        ------
        GateError
            When code of a model is at work.
        SessionError
            For what cannot be called, or has no name.
        ComputerError
            When something else in the notebook has the name.
        """
        self._rules.gate.guard.check_change("the functions that a model is given")
        named_functions = by_name(functions)
        if named_functions:
            self._computer().put(named_functions)
        self.functions = named_functions

    @property
    def exchanges(self) -> Exchanges:
        """What of the conversation went to each model, and came from it; made at first use."""
        from lmc_jupyter.models.openai import Exchanges  # the load does not need it

        with self._making:  # two threads would make two
            if self._exchanges is None:
                self._exchanges = Exchanges(lambda data: self._history.tell(Exchanged(data)))
        return self._exchanges

    def _hear(self, event: Event) -> None:
        if isinstance(event, Replaced) and (self._exchanges or event.conversation.sent):
            self.exchanges.begin(event.conversation.sent, event.conversation.messages)

    def redact(self, text: str) -> str:
        """The text without keys."""
        return redact(text, self._choice().secrets())

    def value(self, name: str) -> str | None:
        """The value of a variable as text, without keys; None where there is none of that name."""
        text = self._computer().value(name)
        return None if text is None else self.redact(text)

    def brief(self, *others: str) -> Brief:
        """All text beside the conversation; `others` stand below the parts of the context."""
        words = self._computer().words()
        self._last_names = self._names()
        return Brief(
            parts.join_parts(parts.make_parts(self._material(words, wait=True)), *others),
            self._last_names,
            words,
            self._files.folders,
            self._files.files,
            self.max_output,
            self.exchanges,
        )

    def list_parts(self, *others: str) -> list[parts.Part]:
        """The parts of `brief`, as they are listed for the person: every request has them."""
        names = self._choice().describe_names(self._names(), self.exchanges)
        listed = [parts.Part("names", "names of your variables", names)] if names else []
        if not self._choice().reads_notebook:  # it has instructions of its own
            return listed
        made = parts.make_parts(self._material(self._computer().words()))
        data = [parts.Part("data", "data of the conversation", each) for each in others if each]
        return [*made, *data, *listed]

    def _material(
        self, words: Mapping[str, tuple[str, ...]], *, wait: bool = False
    ) -> parts.Material:
        options = self._rules.options
        return parts.Material(
            self._computer().hints(words),
            self._history,
            self.functions,
            self._rules.limits.functions,
            options.system_message,
            options.custom_instructions,
            self.folder_instructions(),
            self.redact,
            self._tools(wait),
            self._choice().reads_little,
        )

    def _tools(self, wait: bool) -> Sequence[Server]:
        """The MCP servers; a request waits for those that start."""
        there = self.tools(0.0)
        if (
            wait
            and any(each.state == "starting" for each in there)
            and self._choice().reads_notebook
        ):
            return self.tools(TOOLS_SECONDS)
        return there

    def _names(self) -> str:
        options = self._rules.options
        if options.context == "none":
            return ""
        words = (str(each.content) for each in reversed(self._history) if each.role == "user")
        mentions = frozenset(re.findall(r"\w+", next(words, "")))
        codes = [each.source for each in self.cells()][-LOOK_BACK:]
        older = (each for each in self._history[::-1] if each.type == "code" and is_code(each))
        codes += [str(each.content) for each in islice(older, LOOK_BACK)]
        loops = only_in_loops(codes)
        return self._computer().names(options.context_values, mentions, loops)

    def companions(self, question: str = "", choice: CellChoice | None = None) -> Companions:
        """What of the notebook goes with the next question.

        Parameters
        ----------
        question : its text, which may point at cells
        choice : what the person has chosen of their cells

        Raises
        ------
        SessionError
            For `@cell 12` where there is no such cell, or a hidden one; for `@above`, `@output` and
            `@selection` where there is none, and no variable of that name.
        """
        cells, choice = self.cells(), choice or CellChoice()
        pointed = pointed_cells(question, cells, choice)
        about = next((each.id for each in cells if {each.number} == pointed), "")
        choice = replace(choice, pointed=choice.pointed | pointed)
        named = choice.pointed | (choice.only or frozenset())
        if not self._gives_notebook:
            choice = replace(choice, only=choice.only or frozenset())
        model = self._choice()
        found = companions(
            cells,
            self._history,
            choice,
            kernel=self._kernel,
            about=about,
            blind=model.blind,
            redact=self.redact,
            words=self._pointed_words(question),
            changes="" if model.knows_names or choice.only is not None else self._changes(),
        )
        return replace(found, named=named)

    @property
    def _gives_notebook(self) -> bool:
        """Whether cells go along at which nobody points."""
        return self._rules.options.context == "notebook" and self._choice().reads_notebook

    def _pointed_words(self, question: str) -> frozenset[str]:
        return pointed_words(question, lambda name: self._computer().value(name) is not None)

    def _changes(self) -> str:
        """What changed in the names since the model was last told of them, in this conversation."""
        if self._last_names is None or not self._history:
            return ""
        return describe_changes(self._last_names, self._names())

    def question(
        self, text: str, cells: CellChoice | None = EVERY_CELL, *, insert: bool = True
    ) -> list[Message]:
        """The message of a question, behind the figures that go with it.

        Parameters
        ----------
        insert : whether its `@name` and `{{name}}` put in the values of variables
        cells : which of the person's cells go with it; None: none

        Raises
        ------
        SessionError
            For a text without a word, an unknown `{{name}}`, and `@cell 12` of no cell.
        """
        question = questions.as_question(text, self.value if insert else None)
        if cells is None:
            return [question]
        companions = self.companions(text, cells)
        self._last_names = self._names()  # also for a model that reads no brief
        figures = [each.stamped() for each in companions.attachments()]
        return [*figures, companions.into(question)]

    def edit(
        self, said: Sequence[Message], text: str, insert: bool, cells: CellChoice | None
    ) -> Message:
        """The message of another question in the place of one, with what went with that one.

        Parameters
        ----------
        said : what the user said to begin that turn
        insert : as of `question`; values that were put below the question before are left out
        cells : of these only what the text or the person points at goes along besides
        """
        if insert:
            text = questions.as_written(text, said)
        only_pointed = None if cells is None else replace(cells, only=frozenset())
        *_, question = self.question(text, only_pointed, insert=insert)
        return question if cells is None else questions.with_parts(question, said)

    def again(self, said: Sequence[Message], question: Message | None) -> list[Message]:
        """The messages of a question that is asked again, or of another one in its place, by the
        settings of now: cells that are not given any more stay out, and figures that did not go
        before go, where the model gets images by now."""
        messages = questions.repeat(said, question)
        is_here = parts.extra_of(messages[-1]).get("kernel") == self._kernel
        messages = questions.without_cells(
            messages,
            {each.label for each in self.cells() if each.hidden and is_here},
            only_named=not self._gives_notebook,
            above="above" in self._pointed_words(str(messages[-1].content)),
        )
        *before, last = messages
        unseen = unseen_of(last)
        if unseen is None or not is_here:
            return messages
        seen = self.companions(choice=CellChoice(only=frozenset(unseen.numbers)))
        if seen.unseen is not None or not seen.figures:
            return messages
        figures = [each.stamped() for each in seen.attachments()]
        return [*figures, *before, questions.with_figures(last, seen.parts)]

    def listed(self, question: str, choice: CellChoice) -> list[tuple[parts.Part, bool]]:
        """What could go with a question, each with whether it goes: what `companions` gives, and
        what the choice leaves out of it.

        Raises
        ------
        SessionError
            As `companions`.
        """
        goes = self.companions(question, choice).listed
        ids = {each.id for each in goes}
        whole = replace(choice, left_out=frozenset(), without=frozenset())
        numbers = {f"cell {each}" for each in choice.left_out}
        others = [
            each
            for each in self.companions(question, whole).listed
            if each.id not in ids and each.id in choice.without | numbers
        ]
        together = [(each, True) for each in goes] + [(each, False) for each in others]
        return sorted(together, key=lambda each: order_of(each[0]))

    def with_settings(self, conversation: Conversation) -> Conversation:
        """The conversation with the settings of this session, for a file."""
        functions = [describe(*each, self.redact) for each in self.functions.items()]
        options, limits = self._choice().options, self._rules.limits
        extra = with_settings(conversation.extra, limits, functions, options)
        return replace(conversation, extra=extra)
