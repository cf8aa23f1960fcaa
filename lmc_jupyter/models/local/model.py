"""The small model's part in the loop: one question, one block of code, one closing sentence.

One rule: every reply is either words or one block of code, and a rule of ours decides which, before
the request: a model of this size does not decide it well itself.

The code passes statement by statement (`draft`), not token by token: the model rewrites a statement
that cannot work, at a higher temperature, from the end of the sound ones. For that the code comes a
few tokens later, and `notify` reports the work.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from lmc_jupyter.content.tokens import estimate
from lmc_jupyter.errors import ModelError, Stopped
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models import budget, openai, weights
from lmc_jupyter.models.brief import Brief, Notify
from lmc_jupyter.models.budget import Tokens, Window, WindowError
from lmc_jupyter.models.cancel import Cancel
from lmc_jupyter.models.local import process, prompts
from lmc_jupyter.models.local.client import NoAnswer, encode, stream
from lmc_jupyter.models.local.draft import Draft, bound
from lmc_jupyter.models.local.task import GAP, Task, read
from lmc_jupyter.models.request import Record, Request
from lmc_jupyter.models.values import Delta, Usage

CODE_TOKENS = 400
MOST_TOKENS = 1_200  # of code, where the question brings some
ANSWER_TOKENS, TALK_TOKENS = 90, 300

RESAMPLES = 3
"""How often the model rewrites a statement that cannot work."""

CLOSINGS = 2
"""How often the model tries a closing sentence, before a sentence of ours takes its place."""

RESAMPLE_TEMPERATURE = 0.7

REPAIRS = 1
"""How often the model rewrites code that failed; more does not help a small model."""

ENDING_SECONDS = 1.0
"""Seconds that a worker whose reply broke off may take to end."""

Pieces = Generator[Chunk, None, None]

_OF_OTHERS = (
    "api_base",
    "api_key",
    "cache_read_input_token_cost",
    "context_window",
    "free",
    "input_cost_per_token",
    "output_cost_per_token",
    "tools",
    "vision",
)
"""Options of other models, which this one ignores."""


class LocalModel:
    """The embedded model of that name; a `Model` that is `Briefable` and `Stoppable`.

    Parameters
    ----------
    name : a key of `weights.CATALOGUE`
    **options : sent with each request (temperature, max_tokens, seed, grammar, ...)

    `respond` raises a `ModelError` that says what to do, when the weights or the runtime are not
    here; it never fetches them.
    """

    reads_notebook = False
    """It gets only the cell that a question points at: more would confuse it."""
    rephrases = False
    """It repeats a hint or loses its sense (docs/teaching.md), and takes seconds for that."""

    def __init__(self, name: str = weights.DEFAULT, **options: Any) -> None:
        self.name = name.removeprefix("local/")
        self.options = {key: value for key, value in options.items() if key not in _OF_OTHERS}
        self._brief: Callable[[], Brief] = Brief
        self._notify: Notify = lambda _: None
        self._record: Record | None = None
        self._cancel = Cancel()
        self._last_notice = self._left_out = ""
        self._last: list[Usage] = []  # one place for all that `with_brief` made of this model

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r})"

    @property
    def usage(self) -> Usage | None:
        """The tokens and time of the last reply that came whole; it costs nothing."""
        return self._last[0] if self._last else None

    def vision(self) -> str:
        """See `Choice.vision`."""
        return "no"

    def hears(self) -> bool:
        """It reads text only."""
        return False

    @property
    def label(self) -> str:
        """The model's name as the person reads it beside each reply."""
        return f"{weights.title(self.name)}, a small local model"

    def with_brief(self, brief: Callable[[], Brief], notify: Notify) -> LocalModel:
        """The same model for one conversation; see `lmc_jupyter.models.brief.Briefable`."""
        clone = copy.copy(self)
        clone._brief, clone._notify, clone._cancel = brief, notify, Cancel()
        return clone

    def with_record(self, record: Record) -> LocalModel:
        """The same model, giving each request to `record`; see `Recordable`."""
        clone = copy.copy(self)
        clone._record = record
        return clone

    def stop(self) -> None:
        """End the current reply, and any later one, with `Stopped`."""
        self._cancel.set()

    def preload(self) -> None:
        """Begin to load the weights, where they are here; see `Preloadable`."""
        with suppress(ModelError, OSError):  # the reply reports it
            _worker(self.name).start()

    def respond(self, messages: list[Message]) -> Pieces:
        """Answer the end of the conversation: code, or words."""
        self._last_notice = ""
        self._left_out = "" if _was_said(messages) else _left_out(messages)
        task = read(openai.in_words(messages))
        yield from openai.unheard(messages, "the embedded model")
        if not task.question and not task.rounds:
            yield _say("I can read text only: type your question, or choose a larger model.")
            return
        brief = self._brief()
        namespace = brief.namespace
        if brief.only_words:
            yield from self._words(prompts.talk(task, brief.instructions), TALK_TOKENS)
        elif task.rounds:
            yield from self._next(task, namespace)
        elif prompts.wants_talk(task.question, prompts.names(namespace)):
            yield from self._words(prompts.talk(task), TALK_TOKENS)
        else:
            yield from self._code(task, namespace, prompts.requests(task, namespace))

    def tokens(self, messages: list[Message], brief: Brief) -> Tokens:
        """How many tokens the next request would take; see `Countable`. It counts itself."""
        task = read(messages)
        request = prompts.requests(task, brief.namespace)[0].before
        of_ours = [estimate(each["content"]) for each in request if each["role"] == "system"]
        whole = sum(estimate(each["content"]) for each in request)
        window = Window(process.CONTEXT, "known", CODE_TOKENS)
        how = "by a cautious estimate"
        return Tokens(window, sum(of_ours), 0, 0, whole - sum(of_ours), how, _left_out(messages))

    def _next(self, task: Task, namespace: str) -> Pieces:
        """The reply after code: a closing sentence, corrected code, or the reason for neither."""
        last = task.rounds[-1]
        if last.refusal is not None:
            if not prompts.wants_change(last.refusal):
                yield _say("This code was not run. Tell me what should be different, or ask again.")
                return
            yield from self._code(task, namespace, [prompts.change(task, last.refusal, namespace)])
        elif last.gap:
            yield _say(f"I could not do all of this: {last.gap}. Please rephrase the question.")
        elif not last.error:
            yield _say(self._closing(task))
        elif last.error.startswith("KeyboardInterrupt"):
            yield _say("The code was interrupted.")
        elif sum(bool(each.error) for each in task.rounds) > REPAIRS:
            yield _say(
                f"The code failed again ({last.error}). I am a small model and stop here: "
                "rephrase the question, ask in smaller steps, or choose a larger model."
            )
        else:
            yield from self._code(task, namespace, [prompts.repair(task, namespace)])

    def _code(self, task: Task, namespace: str, requests: list[prompts.CodeRequest]) -> Pieces:
        """One block of code for all that was requested, without the end of its last line."""
        end = ""
        with closing(self._lines(task, namespace, requests)) as pieces:
            for piece in pieces:
                if piece.type == "code" and piece.content:
                    text = end + piece.content
                    end = text[len(text.rstrip("\n")) :]
                    piece = replace(piece, content=text.removesuffix(end))
                if piece.content != "":
                    yield piece

    def _lines(self, task: Task, namespace: str, requests: list[prompts.CodeRequest]) -> Pieces:
        """The same, in whole lines."""
        names = prompts.names(namespace)
        draft = Draft(
            {*names, *prompts.likely(task.question, namespace)}.union(
                *(bound(each.code) for each in task.rounds)
            ),
            protected=prompts.find_mentions(task.question, names),
        )
        for number, request in enumerate(requests, 1):
            yield from _code(draft.begin(request.prefix))
            if number > 1:
                yield from _code(draft.lead(request.part))
            yield from self._part(draft, request, more=number < len(requests))
            if draft.problem:
                break
        if not draft.text.strip():
            yield _say(
                f"I could not write code for this ({draft.problem}). Please rephrase the question."
            )
            return
        if draft.problem:
            yield from _code([f"# {GAP}{draft.problem}.\n"])
        yield Chunk("assistant", "code", "python", end=True)

    def _part(self, draft: Draft, request: prompts.CodeRequest, *, more: bool) -> Pieces:
        """Write the code of this request; rewrite it from the end of the sound statements."""
        start, most = draft.text, CODE_TOKENS
        if prompts.BRINGS_CODE.search(request.part):  # the model writes it again, and goes on
            most = min(most + estimate(request.part), MOST_TOKENS)
        for attempt in range(RESAMPLES + 1):
            # the same seeds each time: a question asked again gets the same answer
            options = {"temperature": RESAMPLE_TEMPERATURE, "seed": attempt} if attempt else {}
            self._tell(f"rewriting the code: {draft.problem}" if draft.problem else "writing code")
            yield from _code(draft.again())
            chat = request.chat(draft.text)
            with closing(self._texts(chat, most, stop=[prompts.FENCE], **options)) as stream:
                reply = ""
                for text in stream:
                    reply += text
                    yield from _code(draft.feed(text))
                    if draft.problem:
                        break
            if not reply.strip() and draft.text == start:
                draft.problem = "nothing came"
            yield from _code(draft.finish(more=more))
            if not draft.problem:
                return

    def _closing(self, task: Task) -> str:
        """One sentence with the answer, said whole: a number in it that nobody printed is a lie.

        It takes seconds, and what has streamed cannot be taken back.
        """
        for attempt in range(CLOSINGS if prompts.wants_summary(task) else 0):
            self._tell("summarising the result")
            options = {"temperature": RESAMPLE_TEMPERATURE, "seed": attempt} if attempt else {}
            stop = ["\n", prompts.FENCE]
            with closing(
                self._texts(prompts.answer(task), ANSWER_TOKENS, stop=stop, **options)
            ) as stream:
                sentence = prompts.tidy("".join(stream))
            if sentence.endswith(":"):  # it would copy the output
                break
            if sentence and prompts.is_grounded(sentence, task):
                return sentence
        return prompts.plain(task)

    def _words(self, chat: prompts.Chat, tokens: int) -> Pieces:
        self._tell("writing")
        with closing(self._texts(chat, tokens)) as stream:
            for text in stream:
                yield _say(text)

    def _texts(self, chat: prompts.Chat, tokens: int, **options: Any) -> Generator[str, None, None]:
        """Yield the text of a reply as it comes; closing the generator stops the model."""
        worker = _worker(self.name)
        worker.ready(self._tell)
        options = {
            "temperature": 0,
            # the limit is ours (a cut reply is an error to others), so the worker's is above it
            "max_tokens": 2 * tokens,
            # with its cache the last bits of the numbers depend on what was asked before, and
            # so would the code; a short prompt costs little to read again
            "cache_prompt": False,
            **self.options,
            **options,
        }
        extra = options.pop("extra_body", None) or {}
        body = {
            "model": self.name,
            "messages": chat,
            **options,
            **extra,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        data, request = encode(body), self._record_request(body)
        prefix = chat[-1]["content"] if chat[-1]["role"] == "assistant" else ""
        try:
            with closing(self._deltas(worker, data)) as deltas:
                yield from islice(_without(prefix, self._read(deltas, request)), tokens)
        finally:
            request.end()

    def _deltas(self, worker: process.LocalWorker, data: bytes) -> Generator[Delta, None, None]:
        """Yield the deltas of a reply; one more try where the worker dies before its beginning."""
        for last in (False, True):
            endpoint = worker.ready(self._tell)
            try:
                return (yield from stream(worker.title, endpoint, data, self._cancel))
            except WindowError:  # it has read nothing
                raise
            except ModelError as error:
                has_ended = worker.has_ended(ENDING_SECONDS)  # so that the next one is a new one
                if last or not has_ended or not isinstance(error, NoAnswer):
                    raise

    def _record_request(self, body: dict[str, Any]) -> Request:
        """A new `Request`, also given to the record where there is one."""
        request = Request(f"local/{self.name}", body)
        request.left_out, request.free = self._left_out, True
        request.most = request.cost_so_far = lambda: 0.0
        if self._record is not None:
            self._record(request)
        return request

    def _read(self, deltas: Iterator[Delta], request: Request) -> Iterator[str]:
        for delta in deltas:
            if delta.text:
                yield delta.text
            if delta.usage is not None:
                used = delta.usage
                request.end(used.prompt_tokens, used.completion_tokens, used.cost)
                self._last[:] = [used]

    def _tell(self, text: str) -> None:
        """Tell the person what the answer waits for; Stop ends the reply here, too."""
        if self._cancel.is_set:
            raise Stopped("stopped")
        if text != self._last_notice:
            self._last_notice = text
            self._notify(text)


def _worker(name: str) -> process.LocalWorker:
    """The worker for a model's name; a `ModelError` says how to get weights that are not here."""
    process.runtime()  # without it the weights are of no use
    path = weights.locate(name)
    if path is None:
        raise ModelError(
            "No model can answer yet. Choose one with `%lmc model NAME`, or run `%lmc model "
            f"local`, which asks before it fetches the embedded one. {weights.consent_text(name)}"
        )
    return process.worker(path, weights.title(name))


def _left_out(messages: list[Message]) -> str:
    """A sentence on messages that the question refers to and the model does not get, or ""."""
    questions = [
        message.content
        for message in messages
        if message.role == "user" and message.type == "message" and message.recipient != "user"
    ]
    starts = budget.turns(messages)
    if len(starts) < 3 or not prompts.LEANING.search(questions[-1] if questions else ""):
        return ""
    return (
        f"This small model reads the last question and the one before it: the {starts[-2]:,} "
        "messages before them were left out."
    )


def _was_said(messages: list[Message]) -> bool:
    """Whether an earlier question of the conversation was met with that sentence: once will do."""
    return any(_left_out(messages[:end]) for end in budget.turns(messages)[3:])


def _without(prefix: str, texts: Iterator[str]) -> Generator[str, None, None]:
    """Yield the texts without our prefix, which some versions of the runtime repeat."""
    buffer = ""
    for text in texts:
        if prefix:
            buffer += text
            if prefix.startswith(buffer):
                continue
            text, prefix = buffer.removeprefix(prefix), ""
        if text:
            yield text
    if prefix and buffer != prefix:
        yield buffer


def _code(statements: Iterable[str]) -> Iterator[Chunk]:
    for statement in statements:
        yield Chunk("assistant", "code", "python", statement)


def _say(text: str) -> Chunk:
    return Chunk("assistant", "message", content=text)
