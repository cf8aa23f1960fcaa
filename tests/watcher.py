"""A reader of a session's events with a method for each kind: tests override what they hear."""

from __future__ import annotations

from typing import NoReturn

from lmc_jupyter.conversation import events
from lmc_jupyter.conversation.events import Event, Fate
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.gate import Decision, Proposal
from lmc_jupyter.lmc import Chunk


class Watcher:
    """Hears of every turn of a session, however it was asked. Override what you want to hear."""

    def __call__(self, event: Event) -> None:
        """Call the method of this event."""
        match event:
            case events.Asked():
                self.asked()
            case events.Began(turn):
                self.began(turn)
            case events.Grown(chunk):
                self.shown(chunk)
            case events.Noted(text):
                self.noted(text)
            case events.Waits(proposal):
                self.waits(proposal)
            case events.Answered(proposal, decision):
                self.answered(proposal, decision)
            case events.Became(fate, seconds, code):
                self.became(fate, seconds, code)
            case events.NamesChanged(names):
                self.named(names)
            case events.NamesRestored(names):
                self.restored(names)
            case events.Saved(problem):
                self.saved(problem)
            case events.Ended(turn, error):
                self.ended(turn, error)
            case events.Changed():
                self.changed()
            case events.Configured() | events.Renamed():
                self.configured()
            case events.Stopping():
                self.stopping()
            case (
                events.Appended()
                | events.Rewritten()
                | events.Cut()
                | events.Replaced()
                | events.Marked()
            ):
                self.edited(event)
            case events.Runs() | events.Acted() | events.Described() | events.Exchanged():
                pass
            case _:
                _never(event)

    def asked(self) -> None:
        """A question was put; it stands at the end of the session's messages."""

    def began(self, turn: events.TurnLike) -> None:
        """The answer to it begins."""

    def shown(self, chunk: Chunk) -> None:
        """The next chunk of the answer."""

    def edited(self, event: events.MessageEvent) -> None:
        """The messages of the conversation have changed."""

    def noted(self, text: str) -> None:
        """The model says what it waits for: "loading LiteLLM"."""

    def waits(self, proposal: Proposal) -> None:
        """Code needs an answer before it runs; also where policy has already said yes."""

    def answered(self, proposal: Proposal, decision: Decision | None) -> None:
        """The answer to it."""

    def became(self, fate: Fate, seconds: float, code: str | None) -> None:
        """What became of the last block of code; `code` is what runs, if it was edited."""

    def named(self, names: Names) -> None:
        """What the last block of code did to the person's names; after `became`."""

    def restored(self, names: Names) -> None:
        """These names are again as they were before their block; after `changed`."""

    def saved(self, problem: str) -> None:
        """The conversation is written to disk again (""), or not any more, and why."""

    def ended(self, turn: events.TurnLike, error: BaseException | None) -> None:
        """The answer is over, and the messages are as they stay; `error` is what ended it."""

    def changed(self) -> None:
        """The conversation is another one: undo, reset, messages assigned."""

    def configured(self) -> None:
        """Another model, another policy, or another title."""

    def stopping(self) -> None:
        """Somebody wants the answer to stop; called on any thread."""


def _never(event: NoReturn) -> NoReturn:
    """No event is left out: mypy checks it."""
    raise AssertionError(f"{event!r} is no event")
