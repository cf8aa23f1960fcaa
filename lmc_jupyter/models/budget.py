"""What of a long conversation is sent, so that it fits the model's window, by three rules.

1. Outputs before the last step become their head and tail; images, sounds and files a sentence.
2. Where that is not enough, whole turns are left out, the oldest first; and then whole steps of
   the answer that is being given.
3. One line says how many messages were left out.

One rule: pure functions of messages and numbers. A decision is a value (`Cut`) that is handed back
in: what was left out stays left out until the conversation has grown too long once more, so that a
provider's prompt cache works. The history keeps every message whole, and the last question is
always sent whole.

The file is long because the three rules need one measure (what a message takes when it is sent)
and give one report (what was left out, how full the window is): who changes one reads all three.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from lmc_jupyter.content import shorten
from lmc_jupyter.errors import ModelError
from lmc_jupyter.keys import Redactor
from lmc_jupyter.lmc import Message

Count = Callable[[Sequence[str]], Sequence[int]]
"""Takes texts, returns how many tokens each has at most: a tokenizer elsewhere is asked once."""

DEFAULT_WINDOW = 32_000
"""Tokens, where nobody knows the model's window: most models of today read as much."""

SHORT = 1_000
"""Characters that are left of a long output."""

FILL = 0.75
"""How full the window is after something was left out, so that the next turns go in unchanged."""

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


def estimates(texts: Sequence[str]) -> list[int]:
    """What `estimate` makes of each text."""
    return [estimate(each) for each in texts]


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
        # by the message's id; the message stands beside, so that no other one gets its id
        self._sizes: dict[int, tuple[Message, int]] = {}
        self._short: dict[int, tuple[Message, Message]] = {}
        self._begins: Message | None = None

    def size(self, message: Message) -> int:
        """Tokens of this message, with what goes around it."""
        found = self._sizes.get(id(message))
        if found is None:
            self.prepare([message])
            found = self._sizes[id(message)]
        return found[1]

    def prepare(self, messages: Iterable[Message]) -> None:
        """Count these, as far as that was not done yet, in one go."""
        new = {id(each): each for each in messages if id(each) not in self._sizes}
        parts = [(each, *self._parts(each)) for each in new.values()]
        counted = iter(self.count([piece for _, _, text in parts for piece in _pieces(text)]))
        for message, around, text in parts:
            tokens = around + sum(islice(counted, len(_pieces(text))))
            self._sizes[id(message)] = message, tokens

    def total(self, messages: Sequence[Message], most: int) -> int:
        """Tokens of these; where they are more than `most`, the oldest are not counted."""
        if messages and messages[0] is not self._begins:  # another conversation
            self._sizes, self._short, self._begins = {}, {}, messages[0]
        total = 0
        for at in range(len(messages), 0, -AT_ONCE):
            some = messages[max(0, at - AT_ONCE) : at]
            self.prepare(some)
            for message in reversed(some):
                total += self.size(message)
                if total > most:
                    return total
        return total

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return sum(self.count(_pieces(text)))

    def short(self, message: Message) -> Message:
        """Its head and tail, or a sentence in its place; itself where it is neither long nor heavy.

        It is the same object each time.
        """
        found = self._short.get(id(message))
        if found is None:
            short = message
            if self._is_heavy(message):
                short = _replace_by_sentence(message)
            elif _is_output(message) and len(message.content) > SHORT + _GAIN:
                short = _shorten(message)
            found = self._short[id(message)] = message, short
        return found[1]

    def _is_heavy(self, message: Message) -> bool:
        if message.recipient == "user" or message.role == "assistant":
            return False
        return (
            message.type == "file"
            or (message.type == "image" and self.vision)
            or (message.type == "audio" and self.hears)
        )

    def _parts(self, message: Message) -> tuple[int, str]:
        """Tokens that are known without counting, and the text that is to be counted."""
        if message.format == "active_line" or message.type == "confirmation":
            return 0, ""
        if message.recipient == "user":
            return AROUND, ""  # it may be the answer that says that code has run
        if message.type == "image":
            return (IMAGE_TOKENS if self.vision else 0) + AROUND_OUTPUT, ""
        if message.type == "audio":
            # base64 of 16 kHz: 2 bytes a sample; a transcript is shorter
            return int(SOUND_TOKENS * len(message.content) / 42_000) + AROUND_OUTPUT, ""
        if message.type == "file":
            most = max(IMAGE_TOKENS if self.vision else 0, self.max_output // 2)
            return most + AROUND_OUTPUT, ""
        content = message.content if isinstance(message.content, str) else str(message.content)
        if message.role == "assistant" and message.type == "code":
            return 2 * AROUND, json.dumps(content, ensure_ascii=False)
        if message.type == "message":
            return AROUND_OUTPUT if message.role == "computer" else AROUND, content
        return AROUND_OUTPUT, shorten.middle(content, self.max_output)


AT_ONCE = 64
"""Messages that are counted in one go, from the newest on: the oldest may not be needed."""

_PIECE = 4_000
"""Characters: some tokenizers are slow with long words, so a text is counted in pieces."""


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


_GAIN = 200
"""An output that is longer by less than this is left as it is."""


def _is_output(message: Message) -> bool:
    return (
        (message.type == "console" or (message.type == "code" and message.role == "computer"))
        and message.format != "active_line"
        and message.recipient != "user"
        and isinstance(message.content, str)
    )


def _shorten(message: Message) -> Message:
    # a key that is cut in two would be known by nobody
    message = replace(message, content=Redactor(shapes=False).text(message.content))
    if message.type == "code":  # a page that is cut in two is no page: its words are kept
        from lmc_jupyter.content.html import html_text

        text = html_text(message.content) if message.format == "html" else message.content
        said = f"({message.format or 'code'} was shown:)\n{text}"
        return replace(
            message, type="console", format="output", content=shorten.middle(said, SHORT)
        )
    return replace(message, content=shorten.middle(message.content, SHORT))


def _replace_by_sentence(message: Message) -> Message:
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
    """What is left out of a conversation that begins with `seen`.

    Parameters
    ----------
    head : what is sent in place of `seen`
    tokens : how many it has
    dropped : so many messages are left out
    shortened, images : so many others are shortened, or a sentence
    """

    seen: list[Message] = field(default_factory=list)
    head: list[Message] = field(default_factory=list)
    tokens: int = 0
    dropped: int = 0
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
    found = _cut(list(messages), room, measure)
    if found.tokens > room:
        raise WindowError(_too_long(found.tokens, room, window))
    return found


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


def _cut(messages: list[Message], room: int, measure: Measure) -> Fitted:
    """A new decision; where nothing fits, the question alone."""
    first, end = question(messages)
    steps, full = _steps(messages, end), len(messages)
    last = steps[-1] if steps else end
    starts = [0, *(at for at in turns(messages) if 0 < at <= first), *steps[1:]]
    # at last what belongs to the last step is shortened too, and then left out
    for most, is_last in (int(FILL * room), False), (room, False), (room, True):
        whole = full if is_last else last
        newest = _newest(messages, range(first, end), whole, most, measure)
        begin = full - len(newest)
        for at in [*starts, full] if is_last else starts:
            if at < begin:
                continue
            asked = messages[first:end] if at > first else []
            gone = at - len(asked)
            sent = [*asked, *([_line(gone)] if gone else []), *newest[at - begin :]]
            if sum(map(measure.size, sent)) <= most:
                # what comes from here on is sent whole, and is no part of the decision
                upto = full if is_last else first if last == end else last
                return _decide(messages, sent, at, gone, upto, measure)
    alone = messages[first:end] or messages
    return _decide(messages, alone, full, full - len(alone), full, measure)


def _newest(
    messages: list[Message], asked: range, whole: int, most: int, measure: Measure
) -> list[Message]:
    """As many of the newest messages as have `most` tokens, shortened before the place `whole`."""
    found: list[Message] = []
    for at in range(len(messages), 0, -AT_ONCE):
        some = [
            messages[each] if each >= whole or each in asked else measure.short(messages[each])
            for each in range(at - 1, max(0, at - AT_ONCE) - 1, -1)
        ]
        measure.prepare(some)
        for message in some:
            found.append(message)
            most -= measure.size(message)
            if most < 0:
                return found[-2::-1]
    return found[::-1]


def _decide(
    messages: list[Message], sent: list[Message], at: int, gone: int, upto: int, measure: Measure
) -> Fitted:
    """What is sent (its end is the messages from `at` on); a decision on those before `upto`."""
    old = messages[at:]
    new = sent[len(sent) - len(old) :]
    changed = [each.type in _HEAVY for each, by in zip(old, new, strict=True) if by is not each]
    head = sent[: len(sent) - (len(messages) - upto)]
    size, tokens = (sum(map(measure.size, each)) for each in (head, sent))
    images = sum(changed)
    return Fitted(
        sent, Cut(messages[:upto], head, size, gone, len(changed) - images, images), tokens
    )


def _line(count: int) -> Message:
    """What the model is told in place of so many messages."""
    much = "1 older message" if count == 1 else f"{count:,} older messages"
    text = f"({much} of this conversation left out here: there is no room for more.)\n"
    return Message("computer", "console", "output", text, "assistant")


_HEAVY = ("image", "audio", "file")


def left_out(cut: Cut | None, window: Window) -> str:
    """A sentence for the person on what was not sent as it is; "" where nothing was."""
    if cut is None:
        return ""
    parts: list[str] = []
    for count, one, many, verb in (
        (cut.dropped, "oldest message", "oldest messages", "left out"),
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


def asks(message: Message) -> bool:
    """Whether it is part of a question to the model."""
    return message.role == "user" and message.recipient != "user"


def question(messages: Sequence[Message]) -> tuple[int, int]:
    """Where the last question begins, with what is attached to it, and ends; (0, 0) without."""
    end = len(messages)
    while end > 0 and not asks(messages[end - 1]):
        end -= 1
    first = end
    while first > 0 and asks(messages[first - 1]):
        first -= 1
    return first, end


def turns(messages: Sequence[Message]) -> list[int]:
    """Where each turn begins: at its question."""
    return [
        at
        for at, message in enumerate(messages)
        if asks(message) and (at == 0 or not asks(messages[at - 1]))
    ]


def _steps(messages: Sequence[Message], start: int) -> list[int]:
    """Where each reply of a turn begins: at the assistant's words behind a result."""
    return [
        at
        for at in range(start, len(messages))
        if at == start or (messages[at].role == "assistant" and messages[at - 1].role == "computer")
    ]
