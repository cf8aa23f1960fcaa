"""Two things that IPython does with a line before anybody runs it: it completes it, and takes a
`?` at its end for a question to itself.

One rule: only we complete lines of `%lmc`, and a `?` at the end of one belongs to the question;
every other line stays unchanged.
"""

from __future__ import annotations

import tokenize
from collections.abc import Callable
from typing import Any

from IPython.core.completer import SimpleCompletion, context_matcher
from IPython.core.inputtransformer2 import EscapedCommand

Complete = Callable[[str], "tuple[str, list[tuple[str, str]]] | None"]
"""The cell up to the cursor -> what the offers take the place of, and (offer, what it is)."""


class LineReading:
    """Our part in how one shell reads lines, until `close`."""

    def __init__(self, shell: Any, complete: Complete) -> None:
        self._completer = getattr(shell, "Completer", None)
        self._transformers = shell.input_transformer_manager.token_transformers
        self._matcher = _matcher(complete)
        if self._completer is not None:
            self._completer.custom_matchers.append(self._matcher)
        self._transformers.append(_AskLine)

    def close(self) -> None:
        """Remove both."""
        if self._completer is not None and self._matcher in self._completer.custom_matchers:
            self._completer.custom_matchers.remove(self._matcher)
        if _AskLine in self._transformers:
            self._transformers.remove(_AskLine)


def _matcher(complete: Complete) -> Any:
    def lmc_matcher(context: Any) -> dict[str, Any]:
        lines = context.full_text.split("\n")
        before = [*lines[: context.cursor_line]]
        line = lines[context.cursor_line] if context.cursor_line < len(lines) else ""
        completion = complete("\n".join([*before, line[: context.cursor_position]]))
        if completion is None:
            return {"completions": []}
        fragment, offers = completion
        offers = offers or [(fragment, "")]  # else IPython offers what fits Python
        return {
            "completions": [SimpleCompletion(text, type=what or "text") for text, what in offers],
            "suppress": True,
            "matched_fragment": fragment,
            "ordered": True,
        }

    return context_matcher()(lmc_matcher)


class _AskLine(EscapedCommand):
    """`%lmc ask What is this?` is a call of the magic, not of IPython's help on `this`."""

    priority = 4  # IPython's own `?` has 5

    @classmethod
    def find(cls, tokens_by_line: Any) -> _AskLine | None:
        for line in tokens_by_line:
            words = [
                token for token in line if token.type not in (tokenize.INDENT, tokenize.DEDENT)
            ]
            if [token.string for token in words[:2]] == ["%", "lmc"] and (
                len(words) > 2 and words[2].string not in ("?", "\n", "")
            ):
                return cls(words[0].start)
        return None
