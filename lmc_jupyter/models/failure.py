"""What can go wrong with a provider: whether to try again, and the sentence for the person.

One rule: the status of an error, and the names of its classes and those of its causes, decide. A
`Problem` is a plain value: the error was raised in the worker, the sentence is made in the kernel.
A sentence is not redacted here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit


class NotWhole(Exception):  # noqa: N818 - not an error of ours to show
    """The stream ended, but the provider did not say that it was the end."""


class TooLong(Exception):  # noqa: N818
    """The provider sent nothing for as long as we wait."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The facts of an error, as plain values.

    Parameters
    ----------
    kinds : the names of its class, and of the classes of its causes
    text, detail : its whole text; the provider's own part of it, short
    status : of HTTP
    after : seconds until the next try, as the provider asks for; None where it does not
    """

    kinds: tuple[str, ...]
    text: str
    detail: str
    status: int | None = None
    after: float | None = None

    @classmethod
    def of(cls, error: BaseException) -> Problem:
        """The facts of this error."""
        kinds = tuple(type(each).__name__ for each in _chain(error))
        if "Connect call failed" in str(error):
            kinds += ("ConnectionRefusedError",)
        status = getattr(error, "status_code", None)
        status = status if isinstance(status, int) else None
        return cls(kinds, str(error), _detail(error), status, _retry_after(error))

    @property
    def kind(self) -> str:
        """The name of its class."""
        return self.kinds[0]

    def has(self, names: set[str]) -> bool:
        """Whether one of these is its class, or the class of one of its causes."""
        return not names.isdisjoint(self.kinds)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """The problem of a dict by `to_dict`."""
        return cls(**{**data, "kinds": tuple(data["kinds"])})


def lacks_key(problem: Problem) -> bool:
    """Whether the error's text speaks of a missing or refused key."""
    return _KEYLESS.search(problem.text) is not None


_KEYLESS = re.compile(r"api[ _]key|credential|unauthorized|authenticat", re.IGNORECASE)


def over_window(problem: Problem) -> bool:
    """Whether the provider refused because the conversation is longer than the model reads."""
    return problem.has({"ContextWindowExceededError"}) or (
        problem.status in (400, 413, 422) and _OVER_WINDOW.search(problem.text) is not None
    )


def refuses_tools(problem: Problem) -> bool:
    """Whether the server's refusal names the tools that it was sent."""
    status = problem.status
    may_name_tools = status in (400, 404, 422) or (status is not None and 500 <= status < 502)
    return may_name_tools and _TOOLS.search(problem.text) is not None


def wants_reasoning(problem: Problem) -> bool:
    """Whether the server misses what the model thought with a call."""
    return problem.status in (400, 422) and _REASONING.search(problem.text) is not None


_REASONING = re.compile(r"reasoning_content.{0,80}(?:passed back|missing|required)", re.DOTALL)
_TOOLS = re.compile(r"\btools?\b|tool[_ -]choice|function[_ ]call", re.IGNORECASE)
_OVER_WINDOW = re.compile(
    r"context[ _](?:length|window|size|limit)|maximum context|prompt is too long|too many tokens"
    r"|(?:input|prompt|request).{0,40}(?:exceed|too large|longer).{0,60}(?:token|context)",
    re.IGNORECASE,
)
_LIMITS = (
    r"maximum context length (?:is|of) (\d[\d,]*)",
    r"> (\d[\d,]*)(?: maximum)?",
    r"(?:tokens allowed|context (?:size|length|window|limit)|n_ctx|limit is|with)"
    r"\D{0,20}?(\d[\d,]*)",
)
_IN_THE_MESSAGES = re.compile(r"(\d[\d,]*)(?: tokens)? (?:in|from) the (?:messages|prompt|input)")
_NUMBER = re.compile(r"\d[\d,]*\d\d")


def read_window(text: str) -> tuple[int | None, int | None]:
    """(the window, the length of the request) in tokens; None for what the text does not say."""
    window = None
    for pattern in _LIMITS:
        match = re.search(pattern, text, re.IGNORECASE)
        if match is not None and (number := int(match.group(1).replace(",", ""))) >= 100:
            window = number
            break
    if window is None:
        return None, None
    in_messages = _IN_THE_MESSAGES.search(text)  # without the tokens for the answer
    if in_messages is not None:
        return window, int(in_messages.group(1).replace(",", ""))
    others = [int(each.replace(",", "")) for each in _NUMBER.findall(text)]
    longer = [each for each in others if window < each < 100 * window]
    return window, max(longer, default=None)


def close_names(model: str, catalogue: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """At most three names of models that an unknown name may mean, the closest first.

    Parameters
    ----------
    catalogue : name of a model -> its entry in LiteLLM's list
    """
    if model in catalogue:
        return []
    provider, _, name = model.rpartition("/")
    names: dict[str, str] = {}
    for each in sorted(catalogue, key=lambda each: each.count("/")):  # "gpt-5" before "azure/gpt-5"
        about, short = catalogue[each], each.rpartition("/")[2]
        if about.get("mode") in ("chat", "responses") and (
            not provider or about.get("litellm_provider") == provider
        ):
            names.setdefault(short.lower(), f"{provider}/{short}" if provider else each)
    if name.lower() in names:
        return []
    return [names[each] for each in get_close_matches(name.lower(), names, 3, 0.75)]


def did_you_mean(names: list[str]) -> str:
    """The question that offers these names to the person; "" without names."""
    return f"did you mean {' or '.join(names)}?" if names else ""


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with a call of a model, and the facts of the call.

    Parameters
    ----------
    base : the address of its server, where the person chose one
    has_begun : whether a part of the reply had come
    missing : variables of the environment that would have its key, where it lacks one
    first_byte, idle : the seconds that we waited
    keyring : why the keyring could not be read; "" where it could
    key_hint : how to give a key to the server of a request without one; "" where it had one
    suggest : a question that offers models with a similar name, or ""
    """

    problem: Problem
    model: str
    base: str | None
    has_begun: bool
    missing: list[str]
    first_byte: float
    idle: float
    keyring: str = ""
    key_hint: str = ""
    suggest: Callable[[], str] = str

    @property
    def _key(self) -> str:
        return next((name for name in self.missing if "KEY" in name), "NAME")

    def sentence(self) -> str:
        """The sentence for the person. The provider may have put the key into it: redact it."""
        problem, name = self.problem, self.label
        interruption = (
            f"the reply of {name} stopped before its end: the part that arrived is here; "
            "ask it to continue"
        )
        if problem.kind == TooLong.__name__:
            return f"{name} did not answer within {self.first_byte:.0f} s: try again"
        if problem.kind == NotWhole.__name__:
            return interruption
        if problem.kind == "Timeout" or problem.has({"ReadTimeout", "SocketTimeoutError"}):
            if self.has_begun:
                return f"{name} sent nothing for {self.idle:.0f} s: {interruption}"
            return f"{name} did not answer within {self.idle:.0f} s: try again"
        if self.has_begun or problem.kind == "MidStreamFallbackError":
            return f"{interruption} ({problem.detail})"
        if self.missing:
            return (
                f"there is no API key for {self.model}: set {' and '.join(self.missing)} or "
                f"LMC_API_KEY in the environment, or type it with `%lmc key {self._key}` (--keep "
                "puts it into your system's keyring), or choose another model with %lmc model NAME "
                f"({'; '.join(filter(None, [self.keyring, problem.detail]))})"
            )
        if problem.has(_CONNECTION_ERRORS):
            return (
                f"{name} cannot be reached: check the network"
                f"{' and that a server runs there' if self.base else ''}, or choose another "
                f"model with %lmc model NAME ({problem.detail})"
            )
        return self._refusal(problem.kind, problem.status, problem.detail)

    @property
    def label(self) -> str:
        """The model's name, with its address where the person chose one."""
        return f"{self.model} at {_host(self.base)}" if self.base else self.model

    def _refusal(self, kind: str, status: int | None, detail: str) -> str:
        """The sentence for an error with which the provider answered."""
        name = self.label
        if self.key_hint and (kind == "AuthenticationError" or status in (401, 403)):
            return f"{name} wants an API key, and none was given: {self.key_hint} ({detail})"
        if kind == "AuthenticationError" or status == 401:
            return f"the API key for {name} was refused (401): check it ({detail})"
        if kind == "PermissionDeniedError" or status == 403:
            return f"the key is not allowed to use {name} (403): {detail}"
        if kind == "RateLimitError" or status == 429:
            seconds = self.problem.after
            wait = f"wait {seconds:.0f} s" if seconds else "wait a moment"
            return f"{name} accepts no more requests now (429): {wait}, then ask again ({detail})"
        if over_window(self.problem):
            return (
                f"the conversation is longer than {self.model} can read: begin a new one with "
                "%lmc reset, take back the last question with %lmc undo, or say how many tokens "
                f"it reads with the option context_window ({detail})"
            )
        if kind == "ContentPolicyViolationError":
            return f"the provider's content filter refused the question: rephrase it ({detail})"
        if "LLM Provider NOT provided" in self.problem.text:
            return f"unknown model {self.model!r}: {self.suggest() or _FORM}"
        if kind == "NotFoundError" or status == 404:
            return (
                f"there is no model {name} (404): {self.suggest() or 'check its name'} ({detail})"
            )
        if status is not None and status >= 500:
            return f"the server of {name} failed ({status}): try again later ({detail})"
        return f"{name} refused the request ({kind}): {detail}"


_FORM = (
    "write it as provider/name, such as openai/gpt-5-mini, ollama_chat/qwen2.5-coder:7b or local"
)


def pause(problem: Problem, tries: int, jitter: float, longest: float) -> float | None:
    """Seconds until the next try; None where another try would not help.

    Full jitter: a random share (0 to 1) of a doubling span, so that many clients do not come back
    at once.
    """
    status = problem.status
    is_lost = problem.has(_CONNECTION_ERRORS | {NotWhole.__name__}) and not problem.has(
        _UNREACHABLE
    )
    if not is_lost and not (status in (409, 429) or (status is not None and status >= 500)):
        return None
    if problem.has(_UNREACHABLE) or (status == 429 and "quota" in problem.text.lower()):
        return None
    if problem.after is not None:
        return problem.after if problem.after <= longest else None
    return jitter * min(8.0, 0.5 * 2.0**tries)


def _retry_after(error: BaseException) -> float | None:
    """The seconds of the provider's Retry-After; None without one."""
    for each in _chain(error):
        response = getattr(each, "response", None)
        for headers in (
            getattr(response, "headers", None),
            getattr(each, "litellm_response_headers", None),
            getattr(each, "headers", None),
        ):
            if isinstance(headers, Mapping) and (value := headers.get("retry-after")):
                return _seconds(str(value))
    return None


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        try:
            when: datetime = parsedate_to_datetime(value)
            seconds = (when - datetime.now(timezone.utc)).total_seconds()
        except (TypeError, ValueError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


_UNREACHABLE = {"ConnectionRefusedError", "gaierror", "ClientConnectorDNSError", "InvalidURL"}
_CONNECTION_ERRORS = _UNREACHABLE | {
    "ConnectError",
    "ConnectTimeout",
    "ClientConnectorError",
    "ServerDisconnectedError",
    "RemoteProtocolError",
    "ReadError",
    "WriteError",
    "ConnectionResetError",
    "APIConnectionError",
    "ClientOSError",
    "ClientPayloadError",
}


def _chain(error: BaseException) -> list[BaseException]:
    """The error and its causes, each once."""
    chain: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo and len(chain) < 30:
        each = todo.pop(0)
        if each is not None and each not in chain:
            chain.append(each)
            todo += [each.__cause__, each.__context__, getattr(each, "original_exception", None)]
    return chain


def _host(base: str | None) -> str:
    parts = urlsplit(base or "")
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or str(base)


def _detail(error: BaseException) -> str:
    """The provider's own text, short, without the class names that LiteLLM puts before it."""
    inner = getattr(error, "original_exception", None)
    if isinstance(error, Exception) and isinstance(inner, Exception) and str(inner).strip():
        error = inner
    text = " ".join(str(error).split())
    while (match := _PREFIX.match(text)) is not None:
        text = text[match.end() :]
    return text[:300] or type(error).__name__


_PREFIX = re.compile(r"(?:[\w.]*(?:Error|Exception|Timeout)\s*(?::|-)\s*)")
