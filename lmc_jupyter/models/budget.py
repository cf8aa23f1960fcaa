"""What of a long conversation is sent, so that it fits the model's window: filled by rank.

1. The last question, and the last step of its answer.
2. The person's cells that made a name which is still there, newest first.
3. Turns, and steps of the answer, newest first: long results as their head and tail, images,
   sounds and files as a sentence.
4. These as they were, newest first; what the person attached before what code put out.

One rule: pure functions of messages and numbers. A decision is a value (`Omission`), an argument of
the next decision: what was left out stays left out until the conversation is too long once more,
so that a provider's prompt cache works. The history keeps every message whole, and the last
question is always sent whole.

The file is long because the ranks need one measure (what a message takes when it is sent) and give
one report (what was left out, how full the window is): who changes one reads all three.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice, pairwise, takewhile

from lmc_jupyter.content import shorten
from lmc_jupyter.context.parts import Part, of_question, text_of, to_extra
from lmc_jupyter.errors import ModelError
from lmc_jupyter.keys import Redactor
from lmc_jupyter.lmc import FIGURE_OF, Message, is_proposal, is_written_code

Count = Callable[[Sequence[str]], Sequence[int]]
"""Takes texts, returns the tokens of each, at most: one request to a tokenizer elsewhere."""

DEFAULT_WINDOW = 32_000
"""Tokens, where the model's window is not known: most models of today read as much."""

SHORT = 1_000
"""Characters that are left of a long output."""

FILL = 0.75
"""The share of the window that is full after something was left out: the next turns still fit."""

IMAGE_TOKENS = 1_600
"""Tokens of an image as we send it (1,568 pixels at most), by the providers' documentation."""

SOUND_TOKENS = 35
"""Tokens of a second of sound, for a model that takes sound."""

AROUND, AROUND_OUTPUT = 12, 50
"""Tokens around a message; and around an output, which stands between delimiters."""

MAX_TITLES = 120
"""Characters of the names of cells in that line."""

NOTES = 200
"""Tokens kept free for the line on what is left out, and around the cells that stay."""

MAX_ANSWER = 4_096
"""Tokens kept free for the answer where no limit is set for it."""


@dataclass(frozen=True, slots=True)
class Window:
    """How many tokens a model reads and writes in one request, and the source of that number.

    Parameters
    ----------
    source : "said" (by the person), "known" (of LiteLLM's list), "server" (its own word), "learned"
        (the provider refused more) or "default"
    answer : how many of these stay free for the answer
    """

    tokens: int
    source: str
    answer: int

    @property
    def label(self) -> str:
        """The window in a sentence: "the model's window of 8,192 tokens"."""
        if self.source == "default":
            return f"a window of {self.tokens:,} tokens (the model's own is not known)"
        reason = {
            "learned": " (as its provider says)",
            "server": " (as its server says)",
            "said": " (as you set it)",
        }
        return f"the model's window of {self.tokens:,} tokens{reason.get(self.source, '')}"


def answer_share(window: int, most: int | None = None) -> int:
    """Tokens to keep free for the answer; `most` is the limit that the person set for one."""
    return max(1, min(most, window * 3 // 4) if most else min(MAX_ANSWER, window // 4))


# How long a message is ----------------------------------------------------------------------------


class TokenCounts:
    """How many tokens each message takes when it is sent; counted once for each.

    Parameters
    ----------
    count : the model's tokenizer, or `estimate`
    vision, hears : whether images and sounds are sent as such
    max_output : characters of one output that are sent
    """

    def __init__(self, count: Count, *, vision: bool, hears: bool, max_output: int) -> None:
        self.count, self.vision, self.hears, self.max_output = count, vision, hears, max_output
        # by the id of the object; the message stands beside, so that no other object gets this id
        self._sizes: dict[int, tuple[Message, int]] = {}
        self._short: dict[int, tuple[Message, Message]] = {}
        self._begins: Message | None = None

    def size(self, message: Message) -> int:
        """Tokens of this message, with what goes around it."""
        entry = self._sizes.get(id(message))
        if entry is None:
            self.prepare([message])
            entry = self._sizes[id(message)]
        return entry[1]

    def prepare(self, messages: Iterable[Message]) -> None:
        """Count the messages that were not counted yet, in one call of the tokenizer."""
        new = {id(each): each for each in messages if id(each) not in self._sizes}
        parts = [(each, *self._parts(each)) for each in new.values()]
        counts = iter(self.count([piece for _, _, text in parts for piece in _pieces(text)]))
        for message, around, text in parts:
            tokens = around + sum(islice(counts, len(_pieces(text))))
            self._sizes[id(message)] = message, tokens

    def total(self, messages: Sequence[Message], most: int) -> int:
        """Tokens of these messages; above `most` the oldest ones are not counted."""
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
        """The message with the head and tail of its text, or with a sentence in place of its data.

        A message that is neither long nor heavy stays itself. The result is the same object each
        time.
        """
        entry = self._short.get(id(message))
        if entry is None:
            short = message
            if self._is_heavy(message):
                short = replace_by_sentence(message)
            elif _is_output(message) and len(message.content) > SHORT + shorten.GAIN:
                short = _shorten(message)
            entry = self._short[id(message)] = message, short
        return entry[1]

    def _is_heavy(self, message: Message) -> bool:
        if message.recipient == "user" or message.role == "assistant":
            return False
        return (
            message.type == "file"
            or (message.type == "image" and self.vision)
            or (message.type == "audio" and self.hears)
        )

    def _parts(self, message: Message) -> tuple[int, str]:
        """(tokens that need no tokenizer, the text for the tokenizer)."""
        if message.format == "active_line" or message.type == "confirmation":
            return 0, ""
        if message.recipient == "user" and not is_proposal(message):
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
        if is_written_code(message):
            return 2 * AROUND, json.dumps(content, ensure_ascii=False)
        if message.type == "message":
            if parts := of_question(message):
                return AROUND + AROUND_OUTPUT, f"{text_of(parts)}\n{content}"
            return AROUND_OUTPUT if message.role == "computer" else AROUND, content
        return AROUND_OUTPUT, shorten.middle(content, self.max_output)


AT_ONCE = 64
"""Messages in one call of the tokenizer, from the newest on: the oldest may not matter."""

_PIECE = 4_000
"""Characters in one piece of a text: some tokenizers are slow with long words."""


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


def _is_output(message: Message) -> bool:
    return (
        (message.type == "console" or (message.type == "code" and message.role == "computer"))
        and message.format != "active_line"
        and message.recipient != "user"
        and isinstance(message.content, str)
    )


def _shorten(message: Message) -> Message:
    # no redactor recognises a key that is cut in two
    message = replace(message, content=Redactor(shapes=False).text(message.content))
    if message.type == "code":  # a page that is cut in two is no page: its text stays
        from lmc_jupyter.content.html import html_text

        text = html_text(message.content) if message.format == "html" else message.content
        page = f"({message.format or 'code'} was shown:)\n{text}"
        return replace(
            message, type="console", format="output", content=shorten.middle(page, SHORT, seen=True)
        )
    return replace(message, content=shorten.middle(message.content, SHORT, seen=True))


def replace_by_sentence(message: Message) -> Message:
    """The message as a sentence that says what was here."""
    what = {"image": "An image", "audio": "A recording"}.get(message.type, "A file")
    if (cell := message.extra.get(FIGURE_OF)) and message.type == "image":
        what = f"A figure of {str(cell)[:40]}"
    if message.type == "file" or message.format == "path":
        what += f" ({message.content[:200]!r})"
    sentence = f"({what} was here; to save room it is not sent again.)"
    if message.role == "user":
        return replace(message, type="message", format=None, content=sentence)
    return replace(message, type="console", format="output", content=f"{sentence}\n")


# What is left out ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Omission:
    """What a request leaves out of a conversation that begins with `prefix`.

    Parameters
    ----------
    head : the messages that are sent in place of `prefix`
    omissions : the number of messages that are left out
    cells : the number of the person's cells that are left out with them
    excerpts, images : the numbers of others that are shortened, or a sentence
    """

    prefix: list[Message] = field(default_factory=list)
    head: list[Message] = field(default_factory=list)
    omissions: int = 0
    cells: int = 0
    excerpts: int = 0
    images: int = 0

    @property
    def counts(self) -> list[int]:
        """The numbers of what is left out, for a journal."""
        return [self.omissions, self.cells, self.excerpts, self.images]

    def begins(self, messages: Sequence[Message]) -> bool:
        """Whether the conversation still begins so."""
        start = messages[: len(self.prefix)]
        return (start if isinstance(start, list) else list(start)) == self.prefix


@dataclass(frozen=True, slots=True)
class Selection:
    """The messages to send, the decision behind them, and their tokens."""

    messages: list[Message]
    cut: Omission | None
    tokens: int


class WindowError(ModelError):
    """The last question alone does not fit the model's window; nothing was sent."""


def fit(
    messages: Sequence[Message],
    room: int,
    measure: TokenCounts,
    before: Omission | None = None,
    window: Window | None = None,
    living: frozenset[str] = frozenset(),
) -> Selection:
    """The messages of the conversation that a request sends.

    Parameters
    ----------
    room : tokens for them
    before : the decision at the request before; it stands while all fits
    living : the names that are in the notebook now

    Raises
    ------
    WindowError
        When the last question alone does not fit.
    """
    if before is not None and before.begins(messages):
        request = [*before.head, *messages[len(before.prefix) :]]
        measure.prepare(request)
        total = sum(map(measure.size, request))
        if total <= room:
            return Selection(request, before, total)
    elif (total := measure.total(messages, room)) <= room:
        return Selection(list(messages), None, total)
    selection = _cut(list(messages), room, measure, living)
    if selection.tokens > room:
        raise WindowError(_too_long(selection.tokens, room, window))
    return selection


def _too_long(tokens: int, room: int, window: Window | None) -> str:
    where = f"in {window.label}" if window is not None else "for it"
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


def _cut(
    messages: list[Message], room: int, measure: TokenCounts, living: frozenset[str]
) -> Selection:
    """A new selection, by rank; where nothing fits, the question alone."""
    first, end = question(messages)
    steps, full = _steps(messages, end), len(messages)
    last = steps[-1] if steps else end
    asked = messages[first:end]
    sent = {at: messages[at] for at in range(last, full)}
    for less in ({at: measure.short(each) for at, each in sent.items()}, {}):
        if sum(map(measure.size, [*asked, *sent.values()])) > room:
            sent = less
    free = room - sum(map(measure.size, [*asked, *sent.values()]))
    free = min(int(FILL * free), free - NOTES)  # the next turns still fit

    cells = _choose_cells(messages[:first], living, free, measure)
    free -= sum(tokens for _, _, tokens in cells)
    begin = counted = last if sent else full
    without_steps = not sent and full > end  # there is no room for the last
    starts = [*dict.fromkeys([0, *turns(messages[:first]), first])]
    for at, stop in reversed([*pairwise(starts), *(pairwise(steps) if sent else ())]):
        if at < counted:  # in one call of the tokenizer
            counted = max(0, at - AT_ONCE)
            measure.prepare(map(measure.short, messages[counted:stop]))
        size = sum(measure.size(measure.short(each)) for each in messages[at:stop])
        size -= sum(tokens for place, _, tokens in cells if at <= place < stop)
        if size > free:
            break
        free, begin = free - size, at
    older = [at for at in range(begin, last) if at < first or (at >= end and not without_steps)]
    sent = {at: measure.short(messages[at]) for at in older} | sent

    measure.prepare(messages[at] for at in older)
    for at in sorted(older, key=lambda at: (asks(messages[at]), at), reverse=True):
        free -= measure.size(messages[at]) - measure.size(sent[at])
        if free < 0:
            break
        sent[at] = messages[at]

    stay = [part for place, part, _ in cells if place < begin]
    gone = [messages[at] for at in range(full) if at not in sent and not first <= at < end]
    titles = [part.title for each in gone for part in _cells_of(each) if part not in stay]
    line = [_line(len(gone), titles)] if gone else []
    turn, step = ([sent[at] for at in sent if (at < first) is old] for old in (True, False))
    is_behind = without_steps or begin > end  # what is left out stood behind the question
    rest = [*turn, *asked, *line] if is_behind else [*line, *turn, *asked]
    request = [*_cells_message(stay), *rest, *step]
    if sum(map(measure.size, request)) > room:  # there is no room for the line
        request = [each for each in request if each not in line] or messages
    # what comes from here on is sent whole, and is no part of the decision
    is_whole = all(sent.get(at) is messages[at] for at in range(last, full))
    upto = full if not is_whole else first if last == end else last
    types = [messages[at].type in _HEAVY for at in sent if sent[at] is not messages[at]]
    head = request[: len(request) - (full - upto)]
    cut = Omission(
        messages[:upto], head, len(gone), len(titles), types.count(False), types.count(True)
    )
    return Selection(request, cut, sum(map(measure.size, request)))


def _choose_cells(
    messages: Sequence[Message], living: frozenset[str], room: int, measure: TokenCounts
) -> list[tuple[int, Part, int]]:
    """The newest of the cells with these messages that made a name which is still there: (place of
    the message, cell, tokens), the newest first.
    """
    found = {
        part.content: (at, part)
        for at, each in enumerate(messages)
        for part in _cells_of(each)
        if living.intersection(part.makes)
    }
    some = [*reversed(found.values())][:AT_ONCE] if room > 0 else []
    counts = measure.count([part.content for _, part in some])
    totals = accumulate(tokens + 2 for tokens in counts)
    fits = takewhile(lambda each: each[0] <= room, zip(totals, some, counts, strict=True))
    return [(at, part, tokens + 2) for _, (at, part), tokens in fits]


def _cells_of(message: Message) -> list[Part]:
    return [each for each in of_question(message) if each.kind == "cell"]


def _cells_message(cells: Sequence[Part]) -> list[Message]:
    """The message with the cells that stay of turns that are left out."""
    note = Part("note", "", "Cells of before that made names which are still there:")
    extra = to_extra([note, *reversed(cells)])
    return [Message("user", "message", content="", extra=extra)] if cells else []


def _line(count: int, cells: Sequence[str]) -> Message:
    """The message that tells the model how many messages are missing, and which cells."""
    much = "1 older message" if count == 1 else f"{count:,} older messages"
    some = shorten.line(", ".join(dict.fromkeys(cells)), MAX_TITLES)
    which = f", with cells of the person: {some}" if cells else ""
    text = f"({much} of this conversation left out here{which}: there is no room for more.)\n"
    return Message("computer", "console", "output", text, "assistant")


_HEAVY = ("image", "audio", "file")


def left_out(cut: Omission | None, window: Window) -> str:
    """A sentence for the person on what was shortened or left out; "" where nothing was."""
    if cut is None:
        return ""
    parts: list[str] = []
    for count, one, many, verb in (
        (cut.omissions, "oldest message", "oldest messages", "left out"),
        (cut.excerpts, "long output", "long outputs", "shortened"),
        (cut.images, "image or file", "images or files", "left out"),
    ):
        if not count:
            continue
        what = one if count == 1 else f"{count:,} {many}"
        was = "" if parts else ("was " if count == 1 else "were ")
        if verb == "left out" and cut.cells and not parts and cut.omissions:
            verb += f" with {cut.cells:,} of your cells"
        the = "the " if count == 1 or many.startswith("oldest") else ""
        parts.append(f"{the}{what} {was}{verb}")
    if not parts:
        return ""
    text = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    return f"{text[0].upper()}{text[1:]}, so that the conversation fits {window.label}."


# What a request takes -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tokens:
    """How many tokens the next request would take, by part; `str` is for the person.

    Parameters
    ----------
    window : of the model
    instructions : of the system prompt, and of the tool
    names : of the names in the notebook's namespace
    files : of images, recordings and files
    conversation : of all other messages
    how : how they were counted
    left_out : a sentence on what would be shortened or left out
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
        """The tokens of all parts together."""
        return self.instructions + self.names + self.files + self.conversation

    @property
    def free(self) -> int:
        """The tokens that stay free for the answer."""
        return max(0, self.window.tokens - self.used)

    def __str__(self) -> str:
        lines = [
            f"The next request takes about {self.used:,} tokens of {self.window.label}:",
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
    measure: TokenCounts,
    window: Window,
    instructions: int,
    names: int,
    how: str,
    before: Omission | None = None,
    living: frozenset[str] = frozenset(),
) -> Tokens:
    """The tokens that a request with this conversation would take, by part."""
    room = window.tokens - window.answer - instructions - names
    try:
        selection = fit(messages, room, measure, before, window, living)
        request, note = selection.messages, left_out(selection.cut, window)
    except WindowError as error:
        request, note = list(messages), f"It would not be sent: {error}."
    files = sum(measure.size(each) for each in request if each.type in _HEAVY)
    others = sum(measure.size(each) for each in request if each.type not in _HEAVY)
    return Tokens(window, instructions, names, files, others, how, note)


# The conversation and its parts -------------------------------------------------------------------


def asks(message: Message) -> bool:
    """Whether it is part of a question to the model."""
    return message.role == "user" and message.recipient != "user"


def question(messages: Sequence[Message]) -> tuple[int, int]:
    """The index where the last question begins, attachments included, and that of its end.

    (0, 0) without a question.
    """
    end = len(messages)
    while end > 0 and not asks(messages[end - 1]):
        end -= 1
    first = end
    while first > 0 and asks(messages[first - 1]):
        first -= 1
    return first, end


def turns(messages: Sequence[Message]) -> list[int]:
    """The index of each turn's first message, which is its question."""
    return [
        at
        for at, message in enumerate(messages)
        if asks(message) and (at == 0 or not asks(messages[at - 1]))
    ]


def _steps(messages: Sequence[Message], start: int) -> list[int]:
    """The index of each reply's first message: the assistant's words behind a result."""
    return [
        at
        for at in range(start, len(messages))
        if at == start or (messages[at].role == "assistant" and messages[at - 1].role == "computer")
    ]
