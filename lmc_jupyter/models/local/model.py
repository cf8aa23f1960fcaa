"""The small model's part in the loop: one question, one block of code, one closing sentence.

One rule: every reply is either words or one block of code, decided before the model is asked,
because a model of this size does not decide it well itself.

The code is let through statement by statement (`draft`), not token by token: a statement that
cannot work is written anew, at a higher temperature, from where the sound ones end. A few
tokens later on the screen is a fair price for that, and `notify` says what is being done.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from lmc_jupyter.errors import Stopped
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models import litellm
from lmc_jupyter.models.brief import Brief, Notify
from lmc_jupyter.models.litellm import Cancel, Delta, Usage
from lmc_jupyter.models.local import prompts, provider
from lmc_jupyter.models.local.draft import Draft, bound

DEFAULT = "qwen2.5-coder-0.5b"

CODE_TOKENS = 400
ANSWER_TOKENS = 90
TALK_TOKENS = 300

RESAMPLES = 3
"""How often a statement that cannot work is written anew."""

RESAMPLE_TEMPERATURE = 0.7

REPAIRS = 1
"""How often code that failed is written anew; more does not help a small model."""

Pieces = Generator[Chunk, None, None]


class LocalModel:
    """The embedded model of that name; a `Model` that is `Briefed` and `Stoppable`.

    Parameters
    ----------
    name : a key of `weights.CATALOGUE`
    **options : handed to LiteLLM with each request (temperature, max_tokens, seed, ...)

    `respond` raises `ModelError` when the weights or the runtime are not here, saying what to
    do; it never fetches anything.
    """

    def __init__(self, name: str = DEFAULT, **options: Any) -> None:
        self.name = name.removeprefix(f"{provider.PROVIDER}/")
        self.options = options
        self._brief: Callable[[], Brief] = Brief
        self._notify: Notify = lambda _: None
        self._cancel = Cancel()
        self._told = ""
        self._last: list[Usage] = []  # one place for all that `with_brief` made of this model

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r})"

    @property
    def usage(self) -> Usage | None:
        """Of the last reply that came whole; it costs nothing."""
        return self._last[0] if self._last else None

    @property
    def label(self) -> str:
        """For the person, beside each reply."""
        return f"{provider.label(self.name)}, a small local model"

    def with_brief(self, brief: Callable[[], Brief], notify: Notify) -> LocalModel:
        """The same model for one conversation; see `lmc_jupyter.models.brief.Briefed`."""
        told = copy.copy(self)
        told._brief, told._notify, told._cancel = brief, notify, Cancel()
        return told

    def stop(self) -> None:
        """End the reply that is being given, and any later one, with `Stopped`."""
        self._cancel.set()

    def respond(self, messages: list[Message]) -> Pieces:
        """Answer the end of the conversation: code, or words."""
        turn = prompts.read(messages)
        namespace = self._brief().namespace
        if not turn.rounds:
            if prompts.wants_talk(turn.question, prompts.names(namespace)):
                yield from self._words(prompts.talk(turn), TALK_TOKENS)
            else:
                yield from self._code(
                    turn, namespace, lambda begun: prompts.code(turn, namespace, begun)
                )
            return
        yield from self._next(turn, namespace)

    def _next(self, turn: prompts.Turn, namespace: str) -> Pieces:
        """After code: close, mend, or say why not."""
        last = turn.rounds[-1]
        if last.declined is not None:
            if not prompts.wants_change(last.declined):
                yield _say(
                    "I did not run this code. Tell me what should be different, or press Run."
                )
                return
            reason = last.declined
            yield from self._code(
                turn, namespace, lambda begun: prompts.change(turn, reason, namespace, begun)
            )
        elif not last.error:
            yield from self._words(prompts.answer(turn), ANSWER_TOKENS)
        elif last.error.startswith("KeyboardInterrupt"):
            yield _say("The code was interrupted.")
        elif sum(bool(each.error) for each in turn.rounds) > REPAIRS:
            yield _say(
                f"The code failed again ({last.error}). I am a small model and stop here: "
                "ask in other words or in smaller steps, or choose a larger model."
            )
        else:
            yield from self._code(
                turn, namespace, lambda begun: prompts.repair(turn, namespace, begun)
            )

    def _code(
        self, turn: prompts.Turn, namespace: str, request: Callable[[str], prompts.Chat]
    ) -> Pieces:
        """One block of code, statement by statement."""
        names = {
            *prompts.names(namespace),
            *(prompts.likely(turn.question) if not namespace else ()),
        }
        for each in turn.rounds:
            names |= bound(each.code)
        draft = Draft(names, defines=prompts.wants_definition(turn.question))
        options: dict[str, Any] = {}
        for attempt in range(RESAMPLES + 1):
            self._tell("writing code" if not attempt else f"writing it anew: {draft.problem}")
            draft.again()
            stream = self._texts(request(draft.text), CODE_TOKENS, stop=[prompts.FENCE], **options)
            try:
                for text in stream:
                    for statement in draft.feed(text):
                        yield _piece(statement)
                    if draft.problem:
                        break
            finally:
                stream.close()
            for statement in draft.finish():
                yield _piece(statement)
            if not draft.problem:
                break
            # the same seed each time a question is asked: the answer to it stays the same
            options = {"temperature": RESAMPLE_TEMPERATURE, "seed": attempt + 1}
        if draft.text.strip():
            if draft.problem:
                yield _piece(f"# The model could not write the rest: {draft.problem}.\n")
            yield Chunk("assistant", "code", "python", end=True)
        else:
            yield _say(
                f"I could not write code for this ({draft.problem}). Please ask in other words."
            )

    def _words(self, chat: prompts.Chat, tokens: int) -> Pieces:
        self._tell("writing")
        stream = self._texts(chat, tokens)
        try:
            for text in stream:
                yield _say(text)
        finally:
            stream.close()

    def _texts(self, chat: prompts.Chat, tokens: int, **options: Any) -> Generator[str, None, None]:
        """The text of a reply as it comes; closing it stops the model."""
        worker = provider.worker_of(self.name)
        worker.start()  # the weights load while LiteLLM does
        litellm.load(self._tell, provider.register, cancel=self._cancel)
        worker.ready(self._tell)
        request = {
            "temperature": 0,
            # the limit is ours (a cut reply is an error to others), so the worker's is above it
            "max_tokens": 2 * tokens,
            # with its cache the last bits of the numbers depend on what was asked before, and
            # so would the code; a short prompt costs little to read again
            "cache_prompt": False,
            **self.options,
            **options,
        }
        stream = litellm.stream(
            self._tell,
            model=f"{provider.PROVIDER}/{self.name}",
            messages=chat,
            cancel=self._cancel,
            **request,
        )
        begun = chat[-1]["content"] if chat[-1]["role"] == "assistant" else ""
        try:
            yield from islice(_without(begun, self._read(stream)), tokens)
        finally:
            stream.close()

    def _read(self, stream: Generator[Delta, None, None]) -> Iterator[str]:
        for delta in stream:
            if delta.text:
                yield delta.text
            if delta.usage is not None:
                self._last[:] = [replace(delta.usage, cost=0.0)]

    def _tell(self, text: str) -> None:
        """Say what is being waited for; every wait comes by here, so Stop ends it here too."""
        if self._cancel.is_set:
            raise Stopped("stopped")
        if text != self._told:
            self._told = text
            self._notify(text)


def _without(begun: str, texts: Iterator[str]) -> Generator[str, None, None]:
    """The texts without the beginning that we gave, which some versions of the runtime repeat."""
    held = ""
    for text in texts:
        if begun:
            held += text
            if begun.startswith(held):
                continue
            text, begun = held.removeprefix(begun), ""
        if text:
            yield text
    if begun and held != begun:
        yield held


def _piece(code: str) -> Chunk:
    return Chunk("assistant", "code", "python", code)


def _say(text: str) -> Chunk:
    return Chunk("assistant", "message", content=text)
