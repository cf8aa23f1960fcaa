"""The text that the model of a session gets beside the conversation, as it is now.

One rule: it joins the parts that `context/` makes of the session, anew for every reply; keys are
redacted in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from lmc_jupyter.computer import Computer
from lmc_jupyter.computer.lookups import one_look
from lmc_jupyter.context import parts
from lmc_jupyter.context.functions import Function, by_name, describe_all
from lmc_jupyter.context.readable import Readable
from lmc_jupyter.conversation import Conversation
from lmc_jupyter.conversation.history import History
from lmc_jupyter.formats.glm.settings import with_settings
from lmc_jupyter.keys import redact
from lmc_jupyter.models.brief import MAX_OUTPUT, Brief
from lmc_jupyter.models.choice import Choice
from lmc_jupyter.turn.rules import Rules


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
        self._rules.gate.check_change("the functions that a model is given")
        named_functions = by_name(functions)
        if named_functions:
            self._computer().put(named_functions)
        self.functions = named_functions

    def redact(self, text: str) -> str:
        """The text without keys."""
        return redact(text, self._choice().secrets())

    def value(self, name: str) -> str | None:
        """The value of a variable as text, without keys; None where there is none of that name."""
        text = self._computer().value(name)
        return None if text is None else self.redact(text)

    @one_look
    def brief(self, *others: str) -> Brief:
        """All text beside the conversation; `others` stand below the parts of the context."""
        computer, options = self._computer(), self._rules.options
        words = computer.words()
        material = parts.Material(
            computer.hints(words),
            self._history,
            self.functions,
            self._rules.limits.functions,
            options.system_message,
            options.custom_instructions,
            self.redact,
        )
        names = computer.names(options.context_values) if options.context else ""
        return Brief(
            parts.join_parts(material, *others),
            names,
            words,
            self._files.folders,
            self._files.files,
            self.max_output,
        )

    def with_settings(self, conversation: Conversation) -> Conversation:
        """The conversation with the settings of this session, for a file."""
        functions: list[Function] = describe_all(self.functions, self.redact)
        options, limits = self._choice().options, self._rules.limits
        extra = with_settings(conversation.extra, limits, functions, options)
        return replace(conversation, extra=extra)
