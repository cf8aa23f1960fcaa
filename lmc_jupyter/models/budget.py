"""What of a long conversation is sent, so that it fits the model's window.

One rule: pure functions of messages and numbers; nothing here asks a model, and a decision is
a value (`Cut`) that is handed back in. What was left out stays left out until the conversation
has grown too long once more, so that a provider's prompt cache works. No message is changed in
the history: the person keeps everything.

In this order, oldest first: long outputs become head and tail; images, sounds and files a
sentence; whole turns a line of a summary; then steps of the answer that is being given. The last
question is always whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Message, clean
from lmc_jupyter.models.keys import known, without_known

Count = Callable[[str], int]
"""Takes a text, returns how many tokens it has at most."""

DEFAULT_WINDOW = 32_000
"""Tokens, where nobody knows the model's window: most models of today read as much."""

SHORT, TINY = 1_000, 200
"""Characters of a long output that are left, and of one in the last step when all else is gone."""

FILL = 0.75
"""How full the window is after something was left out, so that the next turns go in unchanged."""

SUMMARY_SHARE = 1 / 6
"""The part of the room that a summary may take."""

MAX_SUMMARY = 6_000
"""Characters of a summary."""

LINE = 160
"""Characters of a question, a result or an answer in a summary."""

IMAGE_TOKENS = 1_600
"""Of an image as we send it (1,568 pixels at most): what the providers' documentation charges."""

SOUND_TOKENS = 35
"""Of a second of sound, for a model that hears."""

AROUND, AROUND_OUTPUT = 12, 50
"""Tokens that go around a message; and around an output, which stands between delimiters."""

MAX_ANSWER = 4_096
"""Tokens kept free for the answer where nobody said how long it may be."""


def estimate(text: str) -> int:
    """Tokens of a text by a cautious rule, for models whose tokenizer is not here.

    By what its bytes are: a token for 3.5 small letters, for each digit, capital or sign a
    little less than one. English prose, code, figures, JSON and base64 come out at 1 to 1.6 times
    what cl100k counts, other scripts at up to 3.6 times.
    """
    data = text.encode("utf-8", "surrogatepass")

    def count(of: bytes) -> int:
        return len(data) - len(data.translate(None, of))

    small, capitals, digits, blanks = (count(each) for each in _CLASSES)
    high = count(_HIGH)
    signs = len(data) - small - capitals - digits - blanks - high
    return int(small / 3.5 + 0.9 * capitals + digits + blanks / 8 + 0.8 * signs + high / 2) + 1


_CLASSES = (b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789", b" ")
_HIGH = bytes(range(128, 256))


@dataclass(frozen=True, slots=True)
class Window:
    """How many tokens a model reads and writes in one request, and how that is known.

    Parameters
    ----------
    source : "said" (by the person), "known" (of LiteLLM's list), "learned" (the provider refused
        more) or "default"
    answer : of these so many are kept free for the answer
    """

    tokens: int
    source: str
    answer: int

    @property
    def named(self) -> str:
        """For a sentence: "the model's window of 8,192 tokens"."""
        if self.source == "default":
            return f"a window of {self.tokens:,} tokens (the model's own is not known)"
        said = {"learned": " (as its provider says)", "said": " (as you set it)"}
        return f"the model's window of {self.tokens:,} tokens{said.get(self.source, '')}"


def answer_share(window: int, most: int | None = None) -> int:
    """Tokens to keep free for the answer; `most` is the limit that the person set for one."""
    return max(1, min(most, window * 3 // 4) if most else min(MAX_ANSWER, window // 4))


def fewer_names(namespace: str, most: int) -> str:
    """The newest lines of the names in the notebook, as long as `most` tokens; others counted."""
    if estimate(namespace) <= most:
        return namespace
    lines, left, dropped = namespace.splitlines(), most - AROUND, 0
    kept: list[str] = []
    for line in reversed(lines):
        left -= estimate(line) + 1
        counted = _MORE_NAMES.fullmatch(line)
        if left < 0 or dropped or counted is not None:
            dropped += int(counted.group(1)) if counted is not None else 1
        else:
            kept.append(line)
    return "\n".join([f"… and {dropped} more names", *reversed(kept)])


_MORE_NAMES = re.compile(r"… and (\d{1,9}) more names")


# How long a message is ----------------------------------------------------------------------------


class Measure:
    """How many tokens each message takes when it is sent; counted once for each.

    Parameters
    ----------
    count : the model's tokenizer, or `estimate`
    vision, hears : whether images and sounds are sent as such
    max_output : characters of one output that are sent
    """

    def __init__(self, count: Count, *, vision: bool, hears: bool, max_output: int) -> None:
        self.count, self.vision, self.hears, self.max_output = count, vision, hears, max_output
        self._sizes: dict[int, tuple[Message, int]] = {}
        self._shorter: dict[tuple[int, int], tuple[Message, Message]] = {}
        self._instead: dict[int, tuple[Message, Message]] = {}
        self._whole: list[Message] = []
        self._tokens = 0

    def size(self, message: Message) -> int:
        """Tokens of this message, with what goes around it."""
        found = self._sizes.get(id(message))
        if found is None or found[0] is not message:
            found = self._sizes[id(message)] = message, self._size(message)
        return found[1]

    def total(self, messages: Sequence[Message], most: int) -> int:
        """Tokens of these; where they are more than `most`, the rest is not counted."""
        known = len(self._whole)
        if messages[:known] != self._whole:
            self.forget()
            known = 0
        if not known:
            total = 0
            for message in reversed(messages):
                total += self.size(message)
                if total > most:
                    return total
        else:
            total = self._tokens + sum(map(self.size, messages[known:]))
        self._whole, self._tokens = list(messages), total
        return total

    def forget(self) -> None:
        """The conversation is another one: let go of the messages of the one before."""
        for each in (self._sizes, self._shorter, self._instead):
            each.clear()
        self._whole, self._tokens = [], 0

    def text(self, text: str) -> int:
        """Tokens of a text; in pieces, because some tokenizers are slow with long words."""
        if len(text) <= _PIECE:
            return self.count(text) if text else 0
        return sum(self.count(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))

    def shorter(self, message: Message, limit: int = SHORT) -> Message:
        """Its head and tail where it is a long output; the same object each time."""
        if not _is_output(message) or len(message.content) <= limit + _GAIN:
            return message
        return self._kept(message, limit, lambda: _shortened(message, limit))

    def blind(self, message: Message) -> Message:
        """A sentence in place of an image, a sound or a file; the same object each time."""
        if not self._is_heavy(message):
            return message
        return self._kept(message, 0, lambda: _named(message))

    def _kept(self, message: Message, key: int, make: Callable[[], Message]) -> Message:
        found = self._shorter.get((id(message), key))
        if found is None or found[0] is not message:
            found = self._shorter[id(message), key] = message, make()
            self._instead[id(found[1])] = found
        return found[1]

    def replaced(self, message: Message) -> Message | None:
        """What this stands in place of; None where it is a message of the conversation itself."""
        found = self._instead.get(id(message))
        return found[0] if found is not None and found[1] is message else None

    def _is_heavy(self, message: Message) -> bool:
        if message.recipient == "user" or message.role == "assistant":
            return False
        return (
            message.type == "file"
            or (message.type == "image" and self.vision)
            or (message.type == "audio" and self.hears)
        )

    def _size(self, message: Message) -> int:
        if message.format == "active_line" or message.type == "confirmation":
            return 0
        if message.recipient == "user":
            return AROUND  # it may be the answer that says that code has run
        if message.type == "image":
            return IMAGE_TOKENS + AROUND_OUTPUT if self.vision else AROUND_OUTPUT
        if message.type == "audio":
            # base64 of 16 kHz: 2 bytes a sample; a transcript is shorter
            return int(SOUND_TOKENS * len(message.content) / 42_000) + AROUND_OUTPUT
        if message.type == "file":
            return max(IMAGE_TOKENS if self.vision else 0, self.max_output // 2) + AROUND_OUTPUT
        content = message.content if isinstance(message.content, str) else str(message.content)
        if message.role == "assistant" and message.type == "code":
            return self.text(json.dumps(content, ensure_ascii=False)) + 2 * AROUND
        if message.type == "message":
            return self.text(content) + (AROUND_OUTPUT if message.role == "computer" else AROUND)
        return self.text(cut(content, self.max_output)) + AROUND_OUTPUT


_PIECE = 4_000
_GAIN = 200
"""An output that is longer by less than this is left as it is."""


def cut(text: str, limit: int) -> str:
    """Head and tail of a long text, with the words between them counted."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 2], text[len(text) - (limit - limit // 2) :]
    words = len(text[limit // 2 : len(text) - (limit - limit // 2)].split())
    return f"{head}\n… {words:,} {'word' if words == 1 else 'words'} left out …\n{tail}"


def _is_output(message: Message) -> bool:
    return (
        (message.type == "console" or (message.type == "code" and message.role == "computer"))
        and message.format != "active_line"
        and message.recipient != "user"
        and isinstance(message.content, str)
    )


def _shortened(message: Message, limit: int) -> Message:
    # a key that is cut in two would be known by nobody
    message = replace(message, content=without_known(message.content, known()))
    if message.type == "code":  # a page that is cut in two is no page: its words are kept
        from lmc_jupyter.content.html import html_text

        text = html_text(message.content) if message.format == "html" else message.content
        said = f"({message.format or 'code'} was shown:)\n{text}"
        return replace(message, type="console", format="output", content=cut(said, limit))
    return replace(message, content=cut(message.content, limit))


def _named(message: Message) -> Message:
    what = {"image": "An image", "audio": "A recording"}.get(message.type, "A file")
    if message.type == "file" or message.format == "path":
        what += f" ({message.content[:200]!r})"
    said = f"({what} was here; to save room it is not sent again.)"
    if message.role == "user":
        return replace(message, type="message", format=None, content=said)
    return replace(message, type="console", format="output", content=f"{said}\n")


# What is left out ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left out of a conversation that begins with `seen`, and what stands in its place.

    Parameters
    ----------
    head : what is sent in place of `seen`
    tokens : how many it has
    summarised : so many messages stand in summaries
    shortened, images : so many others are shortened, or a sentence
    """

    seen: list[Message] = field(default_factory=list)
    head: list[Message] = field(default_factory=list)
    tokens: int = 0
    summarised: int = 0
    shortened: int = 0
    images: int = 0

    def begins(self, messages: Sequence[Message]) -> bool:
        """Whether the conversation still begins so."""
        begun = messages[: len(self.seen)]
        return (begun if isinstance(begun, list) else list(begun)) == self.seen


@dataclass(frozen=True, slots=True)
class Fitted:
    """What to send, the decision behind it, and how many tokens it has."""

    messages: list[Message]
    cut: Cut | None
    tokens: int


class WindowError(ModelError):
    """The last question alone does not fit the model's window; nothing was sent."""


def fit(
    messages: Sequence[Message],
    room: int,
    measure: Measure,
    before: Cut | None = None,
    window: Window | None = None,
) -> Fitted:
    """What of the conversation is sent.

    Parameters
    ----------
    room : tokens for it
    before : what was decided at the request before; it stands while all fits

    Raises
    ------
    WindowError
        When the last question alone does not fit.
    """
    if before is not None and before.begins(messages):
        rest = list(messages[len(before.seen) :])
        total = before.tokens + sum(map(measure.size, rest))
        if total <= room:
            return Fitted([*before.head, *rest], before, total)
    elif (total := measure.total(messages, room)) <= room:
        return Fitted(list(messages), None, total)
    made = _Cutting(list(messages), room, measure)
    fitted = made.cut()
    if fitted.tokens > room:
        raise WindowError(_too_long(fitted.tokens, room, window))
    return fitted


def _too_long(tokens: int, room: int, window: Window | None) -> str:
    where = f"in {window.named}" if window is not None else "for it"
    if room <= 0:
        return (
            f"there is no room {where} for a question: the instructions, the names of your "
            "variables and the space kept for the answer take it all. Set context=False or a "
            "smaller max_tokens, or choose a model with a larger window with %lmc model NAME"
        )
    return (
        f"your question has about {tokens:,} tokens and {room:,} are left {where} beside the "
        "instructions and the answer: nothing was sent. Ask a shorter question, put the data into "
        "a variable or a file, or choose a model with a larger window with %lmc model NAME"
    )


class _Cutting:
    """One decision about one conversation."""

    def __init__(self, messages: list[Message], room: int, measure: Measure) -> None:
        self.messages, self.room, self.measure = messages, room, measure
        self.target = int(FILL * room)
        self.asked = question(messages)
        self.turns = turns(messages)
        steps = _steps(messages, self.asked[1])
        self.last = steps[-1] if steps else self.asked[1]
        """Where the last step begins: what is in it is shortened only when all else is gone."""
        self.bounds = [at for at in self.turns if 0 < at <= self.asked[0]]
        self.bounds += [at for at in steps if at > self.asked[1]]

    def cut(self) -> Fitted:
        short, blind = self.measure.shorter, self.measure.blind
        size = self.measure.size
        old = self.messages[: self.last]
        rest = [self.messages[at] for at in range(self.last, len(self.messages))]
        kept = sum(map(size, rest))
        asked = range(*self.asked)
        plain = [m if i in asked else short(m) for i, m in enumerate(old)]
        if self._most(plain, kept):
            return self._part(old, plain, kept, rest)
        bare = [m if i in asked else blind(m) for i, m in enumerate(plain)]
        if self._most(bare, kept):
            return self._part(plain, bare, kept, rest)
        return self._summed(bare, rest)

    def _most(self, messages: list[Message], kept: int) -> bool:
        """Whether these and `kept` tokens more are within the target."""
        total = kept
        for message in reversed(messages):
            total += self.measure.size(message)
            if total > self.target:
                return False
        return total <= self.target

    def _part(
        self,
        full: list[Message],
        less: list[Message],
        kept: int,
        rest: list[Message],
    ) -> Fitted:
        """The oldest of `less` and the newest of `full`: as few as it takes."""
        size = self.measure.size
        total, at = kept + sum(map(size, full)), 0
        while total > self.target and at < len(full):
            total += size(less[at]) - size(full[at])
            at += 1
        sent = [*less[:at], *full[at:], *rest]
        return self._fitted(sent, 0)

    def _summed(self, bare: list[Message], rest: list[Message]) -> Fitted:
        """The oldest turns, and then the oldest steps of the last one, as a summary."""
        size = self.measure.size
        after = sum(map(size, rest))
        # tokens from each place on, newest first, no further than is of use
        share = int(SUMMARY_SHARE * self.room)
        sizes: dict[int, int] = {len(bare): after}
        total = after
        for at in range(len(bare) - 1, -1, -1):
            total += size(bare[at])
            sizes[at] = total
            if total > self.room:
                break
        first, end = self.asked
        question_size = sum(map(size, self.messages[first:end]))
        for limit, least in ((self.target, share), (self.room, share), (self.room, 0)):
            for at in self.bounds:
                if at not in sizes:
                    continue
                tokens = sizes[at] + (question_size if at > first else 0)
                if tokens + least > limit:
                    continue
                found = self._with_summary(bare, rest, at, limit - tokens)
                if found.tokens <= limit:
                    return found
        return self._least(bare, rest)

    def _with_summary(
        self, bare: list[Message], rest: list[Message], at: int, left: int, tiny: bool = False
    ) -> Fitted:
        first, end = self.asked
        share = max(0, min(int(SUMMARY_SHARE * self.room), left) - AROUND_OUTPUT)
        sent: list[Message] = []
        stop = min(at, first) if end > first else at
        if stop > 0:
            share_old = share if at <= first else share // 2
            sent += self._summary(0, stop, share_old)
        if at > first and end > first:
            sent += self.messages[first:end]
            if at > end:
                sent += self._summary(end, at, share - share // 2)
        summarised = stop + max(0, at - end if end > first else 0)
        last = [self.measure.shorter(m, TINY) for m in rest] if tiny else rest
        last = [self.measure.blind(m) for m in last] if tiny else last
        sent += [*bare[at:], *last] if at <= self.last else []
        return self._fitted(sent, summarised)

    def _least(self, bare: list[Message], rest: list[Message]) -> Fitted:
        """When even that is too much: the last step cut short, then the question alone."""
        best = self._with_summary(bare, rest, max(self.last, self.asked[1]), self.room // 6, True)
        if best.tokens <= self.room:
            return best
        first, end = self.asked
        sent = self.messages[first:end] if end > first else []
        gone = len(self.messages) - (end - first)
        alone = self._fitted(sent, gone)
        if alone.tokens <= self.room and len(self.messages) > end:
            left = self.room - alone.tokens - AROUND_OUTPUT
            more = self._fitted([*sent, *self._summary(end, len(self.messages), left)], gone)
            if more.tokens <= self.room and more.messages:
                return more
        return alone if alone.messages else best

    def _summary(self, start: int, stop: int, share: int) -> list[Message]:
        """One message for all of these, as long as `share` tokens; none where nothing fits."""
        text = summary(self.messages, start, stop, self.turns, share, self.measure.text)
        return [Message("computer", "console", "output", text, "assistant")] if text else []

    def _fitted(self, sent: list[Message], summarised: int) -> Fitted:
        instead = [old for new in sent if (old := self.measure.replaced(new)) is not None]
        images = sum(old.type in _HEAVY for old in instead)
        tokens = sum(map(self.measure.size, sent))
        # the question, and what follows it, is no part of the decision where it is sent as it is
        tail = self.messages[self.asked[0] :]
        asked = len(sent) - len(tail)
        is_as_it_is = asked >= 0 and all(a is b for a, b in zip(sent[asked:], tail, strict=True))
        seen, head = self.messages, sent
        if is_as_it_is and summarised <= self.asked[0]:
            seen, head = self.messages[: self.asked[0]], sent[:asked]
        size = sum(map(self.measure.size, head))
        cut = Cut(seen, head, size, summarised, len(instead) - images, images)
        return Fitted(list(sent), cut, tokens)


_HEAVY = ("image", "audio", "file")


def left_out(cut: Cut | None, window: Window) -> str:
    """A sentence for the person on what was not sent as it is; "" where nothing was."""
    if cut is None:
        return ""
    parts: list[str] = []
    for count, one, many, verb in (
        (cut.summarised, "oldest message", "oldest messages", "summarised"),
        (cut.shortened, "long output", "long outputs", "shortened"),
        (cut.images, "image or file", "images or files", "left out"),
    ):
        if not count:
            continue
        what = one if count == 1 else f"{count:,} {many}"
        was = "" if parts else ("was " if count == 1 else "were ")
        the = "the " if count == 1 or many.startswith("oldest") else ""
        parts.append(f"{the}{what} {was}{verb}")
    if not parts:
        return ""
    said = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    return f"{said[0].upper()}{said[1:]}, so that the conversation fits {window.named}."


# What a request takes -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tokens:
    """How many tokens the next request would take, by part; `str` is for the person.

    Parameters
    ----------
    window : of the model
    instructions : what it is told of itself, and of the tool
    names : the names in the notebook's namespace
    files : images, recordings and files
    conversation : everything else that was said
    how : how they were counted
    left_out : what would not be sent, or be shortened
    """

    window: Window
    instructions: int
    names: int
    files: int
    conversation: int
    how: str
    left_out: str = ""

    @property
    def used(self) -> int:
        """All together."""
        return self.instructions + self.names + self.files + self.conversation

    @property
    def free(self) -> int:
        """What is left for the answer."""
        return max(0, self.window.tokens - self.used)

    def __str__(self) -> str:
        lines = [
            f"The next request takes about {self.used:,} tokens of {self.window.named}:",
            *(
                f"  {name:<17}{number:>9,}"
                for name, number in (
                    ("instructions", self.instructions),
                    ("names", self.names),
                    ("files and images", self.files),
                    ("conversation", self.conversation),
                    ("left free", self.free),
                )
            ),
            f"Counted {self.how}.",
        ]
        if self.window.source == "default":
            lines.append("Say how many it reads: %lmc config options {'context_window': 128000}")
        return "\n".join([*lines, *([self.left_out] if self.left_out else [])])


def tokens(
    messages: Sequence[Message],
    measure: Measure,
    window: Window,
    instructions: int,
    names: int,
    how: str,
    before: Cut | None = None,
) -> Tokens:
    """What a request with this conversation would take."""
    room = window.tokens - window.answer - instructions - names
    try:
        fitted = fit(messages, room, measure, before, window)
        sent, said = fitted.messages, left_out(fitted.cut, window)
    except WindowError as error:
        sent, said = list(messages), f"It would not be sent: {error}."
    files = sum(measure.size(each) for each in sent if each.type in _HEAVY)
    others = sum(measure.size(each) for each in sent if each.type not in _HEAVY)
    return Tokens(window, instructions, names, files, others, how, said)


# The conversation and its parts -------------------------------------------------------------------


def _asks(message: Message) -> bool:
    return message.role == "user" and message.recipient != "user"


def question(messages: Sequence[Message]) -> tuple[int, int]:
    """Where the last question begins, with what is attached to it, and ends; (0, 0) without."""
    end = len(messages)
    while end > 0 and not _asks(messages[end - 1]):
        end -= 1
    first = end
    while first > 0 and _asks(messages[first - 1]):
        first -= 1
    return first, end


def turns(messages: Sequence[Message]) -> list[int]:
    """Where each turn begins: at its question."""
    return [
        at
        for at, message in enumerate(messages)
        if _asks(message) and (at == 0 or not _asks(messages[at - 1]))
    ]


def _steps(messages: Sequence[Message], start: int) -> list[int]:
    """Where each reply of a turn begins: at the assistant's words behind a result."""
    return [
        at
        for at in range(start, len(messages))
        if at == start or (messages[at].role == "assistant" and messages[at - 1].role == "computer")
    ]


def summary(
    messages: Sequence[Message],
    start: int,
    stop: int,
    starts: Sequence[int],
    most: int,
    count: Count,
) -> str:
    """These messages by rule: a line a turn, the newest lines that fit into `most` tokens.

    Parameters
    ----------
    starts : where turns begin; what is within one turn is told a line a step
    """
    edges = [at for at in starts if start < at < stop]
    if not edges and not any(_asks(each) for each in messages[start:stop]):
        edges = [at for at in _steps(messages, start) if start < at < stop]
    edges = [start, *edges]
    much = stop - start
    head = (
        f"({much:,} older {'message' if much == 1 else 'messages'} of this conversation, "
        "summarised because there is no room for them:"
    )
    left = most - count(head) - AROUND
    if left <= 0:
        return ""
    lines: list[str] = []
    characters = 0
    for at in range(len(edges) - 1, -1, -1):
        line = _line(messages[edges[at] : edges[at + 1] if at + 1 < len(edges) else stop])
        if not line:
            continue
        left -= count(line) + 2
        characters += len(line)
        if left < 0 or characters > MAX_SUMMARY:
            lines.append(f"- … before that {at + 1:,} more …")
            break
        lines.append(line)
    return "\n".join([head, *reversed(lines)]) + ")"


def _line(messages: Sequence[Message]) -> str:
    """One turn: what was asked, what ran, what came of it, what was answered."""
    ran: dict[str, int] = {}
    asked = code = result = answer = ""
    secrets = known()  # before anything is cut: half a key would be known by nobody
    for message in messages:
        text = message.content if isinstance(message.content, str) else ""
        text = text if message.type in _HEAVY else without_known(text, secrets)
        if message.recipient == "user" or message.format == "active_line":
            continue
        if message.role == "user":
            asked = asked or (_first(text) if message.type == "message" else "")
        elif message.role == "assistant" and message.type == "code":
            language = message.format or "text"
            ran[language] = ran.get(language, 0) + 1
            code = _first(text)
        elif message.role == "assistant" and message.type == "message":
            answer = _sentence(text) or answer
        elif message.role == "computer":
            result = _result(message, text) or result
    parts = [f"Asked: {asked}"] if asked else []
    if ran:
        blocks = ", ".join(f"{name} ({n} blocks)" if n > 1 else name for name, n in ran.items())
        parts.append(f"Code: {blocks}" if asked else f"Code: {blocks}: {code}")
    parts += [f"Result: {result}"] if result else []
    parts += [f"Answer: {answer}"] if answer else []
    return f"- {' | '.join(parts)}" if parts else ""


def _first(text: str) -> str:
    """The first line that has words in it, as long as a summary has room for."""
    lines = (" ".join(line.split()) for line in text[: 20 * LINE].splitlines())
    found = next((line for line in lines if any(map(str.isalnum, line))), "")
    return clean(found if len(found) <= LINE else f"{found[: LINE - 2]} …")


def _sentence(text: str) -> str:
    return _first(_SENTENCE.split(text[: 20 * LINE].strip(), maxsplit=1)[0])


_SENTENCE = re.compile(r"(?<=[.!?…])\s+(?=\S)|\n\s*\n")
_FAILED = re.compile(r"^[\w.]*(?:Error|Exception|Interrupt)\b.*$", re.MULTILINE)


def _result(message: Message, text: str) -> str:
    """Of an output its first line; of an error the line that names it."""
    if message.type in _HEAVY:
        return f"({message.type})"
    if message.type == "code":
        return f"({message.format or 'code'} was shown)"
    failed = _FAILED.findall(text[-20 * LINE :])
    return _first(failed[-1] if failed else text)
