"""A model around another one that takes no sound: it adds transcripts to recordings.

One rule: the model that answers knows nothing of it. It gets the sound where it takes sound, else
the recording with its transcript; each recording is transcribed once.
"""

from __future__ import annotations

import base64
import copy
import hashlib
from collections.abc import Callable, Generator
from typing import Any

from lmc_jupyter.errors import ModelError
from lmc_jupyter.keys import Secret
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models.brief import Brief, Notify, Preloadable
from lmc_jupyter.models.budget import Tokens
from lmc_jupyter.models.cancel import Cancel, ignore
from lmc_jupyter.models.litellm import access, catalogue
from lmc_jupyter.models.litellm.completion import CompletionCall
from lmc_jupyter.models.offers import OWN_SERVERS
from lmc_jupyter.models.openai.files import Roots
from lmc_jupyter.models.openai.sounds import Recording, is_recording, remark, wav_of
from lmc_jupyter.models.request import Record, Request
from lmc_jupyter.models.values import Facts, NetworkLimits


class TranscribingModel:
    """A model and, where it takes no sound, another one that transcribes recordings.

    Parameters
    ----------
    model : one of ours, such as `LiteLLMModel`
    transcriber : LiteLLM's name of the model that transcribes. Where both are of one provider it
        has the same address and the same key.
    """

    def __init__(self, model: Any, transcriber: str) -> None:
        self.model, self.transcriber = model, transcriber
        self._brief: Callable[[], Brief] = Brief
        self._notify: Notify = ignore
        self._record: Record | None = None
        self._cancel = Cancel()
        self._failures: set[bytes] = set()
        self._words: dict[bytes, str] = {}  # shared by all that `with_brief` makes of this model

    def __repr__(self) -> str:
        return repr(self.model)

    @property
    def name(self) -> str:
        return str(self.model.name)

    @property
    def label(self) -> str:
        return str(self.model.label)

    @property
    def usage(self) -> Any:
        """See `LiteLLMModel.usage`."""
        return self.model.usage

    def preload(self) -> None:
        """Have the model that answers begin to load; see `Preloadable`."""
        if isinstance(self.model, Preloadable):
            self.model.preload()

    def vision(self) -> str:
        """See `Choice.vision`."""
        return str(self.model.vision())

    def tokens(self, messages: list[Message], brief: Brief) -> Tokens:
        """How many tokens the next request would take; see `Countable`."""
        tokens: Tokens = self.model.tokens(messages, brief)
        return tokens

    def with_brief(self, brief: Callable[[], Brief], notify: Notify) -> TranscribingModel:
        """The same two models; recordings that failed before are tried again. See `Briefable`."""
        clone = copy.copy(self)
        clone.model = self.model.with_brief(brief, notify)
        clone._brief, clone._notify, clone._cancel = brief, notify, Cancel()
        clone._failures = set()
        return clone

    def with_record(self, record: Record) -> TranscribingModel:
        """The same two models, giving each request to `record`; see `Recordable`."""
        clone = copy.copy(self)
        clone.model, clone._record = self.model.with_record(record), record
        return clone

    def stop(self) -> None:
        """End the current reply, and any later one, with `Stopped`."""
        self._cancel.set()
        self.model.stop()

    def respond(self, messages: list[Message]) -> Generator[Chunk, None, None]:
        """Yield remarks on the recordings for the person, then the reply of the model."""
        if any(map(is_recording, messages)) and not self.model.hears():
            read = []
            for each in messages:
                read.append((yield from self._transcribe(each)) if is_recording(each) else each)
            messages = read
        yield from self.model.respond(messages)

    def _transcribe(self, message: Message) -> Generator[Chunk, None, Message]:
        """The message with its transcript, "" where it has none; a remark says why."""
        wav = wav_of(message, Roots.of(self._brief()))
        if isinstance(wav, str):
            return Recording.of(message, "")  # the conversion tells the model why
        mark = hashlib.sha256(wav).digest()
        if mark not in self._words and mark not in self._failures:
            try:
                self._words[mark] = words = self._ask(wav)
                yield remark(f"Transcribed by {self.transcriber}: “{words}”")
            except ModelError as error:
                self._failures.add(mark)
                yield remark(f"The recording was not transcribed: {error}.")
        return Recording.of(message, self._words.get(mark, ""))

    def _ask(self, wav: bytes) -> str:
        provider = catalogue.facts(self.transcriber, self._notify, self._cancel).provider
        self._notify(f"{self.transcriber} transcribes the recording")
        base = key = None
        access_ = getattr(self.model, "access", None)
        if access_ and provider == catalogue.facts(self.name).provider:
            base, key = access_()
        return transcript(
            self.transcriber,
            wav,
            self._notify,
            api_base=base,
            api_key=key or access.stored_keys(self.transcriber, base).get("api_key"),
            limits=getattr(self.model, "limits", None),
            cancel=self._cancel,
            record=self._record,
        )


def transcript(
    model: str,
    wav: bytes,
    notify: Notify,
    *,
    api_base: str | None = None,
    api_key: str | Secret | None = None,
    limits: NetworkLimits | None = None,
    cancel: Cancel | None = None,
    record: Record | None = None,
) -> str:
    """The transcript of a recording, by a model such as `whisper-1`.

    Raises
    ------
    ModelError
        When it could not be transcribed, or has no words.
    Stopped
        `cancel` was set.
    """
    cancel = cancel or Cancel()
    key = access.sendable(api_key)
    call = CompletionCall(
        {"model": model}, api_base, key, limits or NetworkLimits(), notify, cancel
    )
    price = _price(catalogue.facts(model, notify, cancel), wav)
    entry = Request(model, {"model": model, "file": f"a wav of {len(wav):,} bytes"}, [key])
    entry.most = lambda: price
    entry.cost_so_far = lambda: 0.0  # it counts once the transcript has come
    if record is not None:
        record(entry)
    text = base64.b64encode(wav).decode()
    try:
        words = "".join(each.text for each in call.deltas(entry, "transcribe", wav=text)).strip()
        entry.end(cost=price)
    finally:
        entry.end()
    if not words:
        raise ModelError(f"{model} found no words in it")
    return words


def _price(facts: Facts, wav: bytes) -> float | None:
    """US dollars for a recording; None where the price is not known, or is not by the second."""
    if facts.provider in OWN_SERVERS:
        return 0.0
    rate = int.from_bytes(wav[28:32], "little")  # bytes a second, by the header of the wav
    return facts.second * len(wav) / rate if facts.second is not None and rate else None
