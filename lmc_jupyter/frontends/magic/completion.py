"""Completion of `%lmc` and `%%lmc` lines: our commands, their words, our options.

One rule: it only reads. Pressing Tab chooses, downloads and runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.magic.commands import CELL_OPTIONS, COMMANDS, Commands, files, model
from lmc_jupyter.frontends.magic.commands.table import (
    Candidate,
    Command,
    Complete,
    Prefix,
    WrongCommand,
    find,
)

MOST = 200
"""Candidates at once."""


class Completion:
    """Completes lines of one session's commands.

    Parameters
    ----------
    variables : the person's variables whose names begin so, as (name, type, shape)
    """

    def __init__(
        self, commands: Commands, variables: Callable[[str], Iterable[tuple[str, str, str]]]
    ) -> None:
        self._commands, self._variables = commands, variables

    def complete(self, text: str) -> tuple[str, list[Candidate]] | None:
        """The completions of this text.

        Parameters
        ----------
        text : the cell up to the cursor

        Returns
        -------
        (the word to replace, the candidates); None where this is no line of ours.
        """
        first, newline, body = text.partition("\n")
        if first.lstrip().startswith("%%"):
            magic, blank, rest = first.lstrip().partition(" ")
            if magic != "%%lmc":
                return None
            if newline:
                return self._reference(body)
            return self._cell_line(rest) if blank else None
        line = text.rpartition("\n")[2].lstrip()
        magic, blank, rest = line.partition(" ")
        if magic != "%lmc" or not blank:
            return None
        return self._line(rest.lstrip())

    def _line(self, rest: str) -> tuple[str, list[Candidate]]:
        name, blank, text = rest.partition(" ")
        if not blank:
            return name, _beginning(name, ((each.name, each.help) for each in COMMANDS))
        text = text.lstrip()
        try:
            command = find(name)
        except WrongCommand:
            return text, []
        if len(command.parameters) == 1 and command.parameters[0].rest:
            return self._reference(text) or (
                text,
                self._offer(command.parameters[0].complete, text),
            )
        return self._words(command, text)

    def _words(self, command: Command, text: str) -> tuple[str, list[Candidate]]:
        """The last of several words."""
        before, word = _last_word(text)
        options = {each.option: each for each in command.options}
        last = before[-1] if before else ""
        if last in options and options[last].word:
            return word, self._offer(options[last].complete, word)
        if word.startswith("-"):
            rest = [(name, "option") for name in options if name not in before]
            return word, _beginning(word, rest)
        takes_word = {name for name, option in options.items() if option.word}
        words = [
            each
            for at, each in enumerate(before)
            if each not in options and not (at and before[at - 1] in takes_word)
        ]
        if len(words) >= len(command.parameters):
            return word, _beginning(word, [(each, "option") for each in options])
        return word, self._offer(command.parameters[len(words)].complete, word, words)

    def _cell_line(self, rest: str) -> tuple[str, list[Candidate]]:
        before, word = _last_word(rest)
        last = before[-1] if before else ""
        if last in ("-m", "--model"):
            return word, self._offer(model.names, word)
        if last in ("--image", "--file", "--audio"):
            return word, self._offer(files.paths, word)
        if last == "--api-base":
            return word, []
        names = [(option.partition(" ")[0], does.lstrip("… ")) for option, does in CELL_OPTIONS]
        names = [("--model", does) if name == "-m" else (name, does) for name, does in names]
        several = ("--image", "--file", "--audio")
        remaining = [(name, does) for name, does in names if name in several or name not in before]
        return word, _beginning(word, [each for each in remaining if each[0]])

    def _reference(self, text: str) -> tuple[str, list[Candidate]] | None:
        """A variable after `@` or `{{`."""
        word = text.split()[-1] if text and not text[-1].isspace() else ""
        at = max(word.rfind("@"), word.rfind("{{") + 1)
        if at < 0 or (not word.startswith("@") and "{{" not in word):
            return None
        prefix = word[at + 1 :]
        if prefix and not prefix.isidentifier():
            return None
        close = "}}" if word[at] == "{" else ""
        matches = self._variables(prefix)
        return prefix, [
            (f"{name}{close}", f"{kind} {shape}".strip()) for name, kind, shape in matches
        ]

    def _offer(
        self, complete: Complete | None, text: str, before: Sequence[str] = ()
    ) -> list[Candidate]:
        """The candidates for a word, of those that its parameter allows."""
        if complete is None:
            return []
        try:
            return _beginning(text, complete(Prefix(self._commands, text, before, self._variables)))
        except (LMCError, OSError):
            return []  # the command says why when the line is entered


def _last_word(text: str) -> tuple[list[str], str]:
    """The words before the last one, and that one; quotation marks hold words together."""
    words, word, quote = [], "", ""
    for char in text:
        if char.isspace() and not quote:
            if word:
                words.append(word)
            word = ""
            continue
        if char in "\"'" and quote in ("", char):
            quote = "" if quote else char
        word += char
    return words, word


def _beginning(text: str, candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that begin with the text, in any case; it may have a quotation mark before."""
    prefix = text.lstrip("\"'").lower()
    matches = [each for each in candidates if each[0].lstrip("\"'").lower().startswith(prefix)]
    return matches[:MOST]
