"""What a small model is asked: short prompts, made from the end of the conversation.

One rule: pure functions from messages to a request; nothing here knows how it is sent. The
wording is measured (docs/local-model.md): every further sentence of instructions, and every
example, made a model of this size worse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from lmc_jupyter.lmc import Message

FENCE = "```"
OPENING = f"{FENCE}python\n"
"""The reply is begun for the model, so that it writes code and nothing before it."""

CODE = "You are a Python assistant inside a Jupyter notebook. Answer with one ```python code block."

ANSWER = (
    "You are a Python assistant inside a Jupyter notebook. The code you wrote has run and its "
    "output is given. Tell the user the answer in one short sentence, using the numbers and names "
    "from the output. Do not write code."
)

TALK = "You are a friendly Python assistant inside a Jupyter notebook. Answer in a few short sentences."

OUTPUT = 600
"""Characters of output that the model is shown; reading is what takes it long."""

ERROR = re.compile(
    r"^(?:\w+\.)*(\w*(?:Error|Exception|Interrupt|Warning|Exit|Iteration))\b(?::[^\n]*)?$", re.M
)
"""The last line of a traceback."""

DECLINED = re.compile(r"^This code was not run: (.*?)\.?$", re.S)

Chat = list[dict[str, str]]
"""Messages as chat models take them."""


@dataclass(frozen=True)
class Round:
    """One block of code and what came of it."""

    code: str
    output: str = ""
    figures: int = 0

    @property
    def error(self) -> str:
        """The line that says what failed, or ""."""
        if "Traceback" not in self.output:
            return ""
        found = [match.group(0) for match in ERROR.finditer(self.output)]
        return found[-1] if found else ""

    @property
    def declined(self) -> str | None:
        """Why it was not run; None when it was."""
        found = DECLINED.match(self.output.strip())
        return found.group(1) if found else None


@dataclass(frozen=True)
class Turn:
    """A question, and what was done about it so far; `previous` is the exchange before."""

    question: str
    rounds: tuple[Round, ...] = ()
    previous: Turn | None = field(default=None, repr=False)


def read(messages: Iterable[Message]) -> Turn:
    """The last question and the one before it, as text; what is meant for the person is left out."""
    turns: list[Turn] = []
    questions: list[str] = []
    rounds: list[Round] = []

    def close() -> None:
        if questions or rounds:
            turns.append(Turn("\n".join(questions), tuple(rounds)))

    answered = True
    for message in messages:
        if message.recipient == "user":
            continue
        if message.role == "user":
            if answered:
                close()
                questions, rounds, answered = [], [], False
            if isinstance(message.content, str) and message.type in ("message", "code"):
                questions.append(message.content.strip())
            continue
        answered = True
        if message.role == "assistant" and message.type == "code":
            rounds.append(Round(message.content))
        elif message.role == "computer" and rounds:
            rounds[-1] = _more(rounds[-1], message)
    close()
    if not turns:
        return Turn("")
    last = turns[-1]
    return Turn(last.question, last.rounds, turns[-2] if len(turns) > 1 else None)


def _more(before: Round, message: Message) -> Round:
    if message.type == "image":
        return Round(before.code, before.output, before.figures + 1)
    if message.type in ("console", "code") and isinstance(message.content, str):
        return Round(before.code, before.output + message.content, before.figures)
    return before


# Talk or code -------------------------------------------------------------------------------------

GREETING = re.compile(
    r"(hello|hi|hey|hallo|good (morning|afternoon|evening|night)|bye|goodbye|thanks|thank you|thx|great"
    r"|nice|cool|well done|ok|okay|yes|no|sorry|help)\b",
    re.I,
)
"""Ways to begin that are all there is to a short message."""

TALKING = re.compile(
    r"(please )?((can|could|would) you )?(please )?"
    r"(explain|why\b|who (are|is|was|made|wrote)|what are you|what can you|what do you|what does .* (mean|do)\b"
    r"|what('s| is) (your|the (meaning|purpose|point|idea|difference))\b|how are you|how (do|does) .* work"
    r"|when (should|would)|should i|tell me (about|a (joke|story|poem))|do you|are you"
    r"|write (me )?a (short )?(poem|story|joke|haiku|limerick|letter|email)"
    r"|describe (what|how|why)|what is an? (?!.*\bof\b))",
    re.I,
)
"""Ways to ask for words."""

WORKING = re.compile(r"\d\s*[-+*/%^]\s*\d|\b(plot|draw|chart|compute|calculate|print)\b", re.I)
"""What only code can do, whatever the sentence begins with."""


def wants_talk(question: str, names: Iterable[str] = ()) -> bool:
    """Whether words are wanted, and not code: a greeting, thanks, an explanation.

    A question that has a sum in it, asks for a figure, or names a variable of the notebook is
    for the computer, unless it begins with "explain".
    """
    text = question.strip()
    if not text or WORKING.search(text):
        return not text
    if GREETING.match(text):
        rest = text[GREETING.match(text).end() :].strip(" ,.!?:;-")  # type: ignore[union-attr]
        return len(rest.split()) <= 3 or wants_talk(rest, names)
    if not TALKING.match(text):
        return False
    return text.lower().startswith("explain") or not mentioned(text, names)


def mentioned(question: str, names: Iterable[str]) -> list[str]:
    """Which of the names stand in the question as words."""
    words = set(re.findall(r"\w+", question))
    return [name for name in names if name in words]


CHANGE = re.compile(
    r"\b(use|make|change|add|remove|instead|with|without|rather|should|please|not?|don't|only|want|print|show)\b",
    re.I,
)
"""Words of a reason that asks for other code."""

NO_REASON = re.compile(
    r"the user declined|nobody answered|it was empty|.*\b(policy|denied|limit|expired)\b", re.I
)
"""Reasons that are not the person's words."""


def wants_change(reason: str) -> bool:
    """Whether the reason why code was not run asks for other code."""
    return bool(CHANGE.search(reason)) and not NO_REASON.match(reason)


def wants_definition(question: str) -> bool:
    """Whether a definition alone is an answer: a function or class that is not called yet."""
    return bool(re.search(r"\b(function|def|class|method|decorator|generator)\b", question, re.I))


# The namespace ------------------------------------------------------------------------------------


def names(namespace: str) -> dict[str, str]:
    """The brief's lines ("df: DataFrame, 4 rows") -> name: what it is."""
    pairs = (line.partition(":") for line in namespace.splitlines() if ":" in line)
    return {name.strip(): rest.strip() for name, _, rest in pairs if name.strip().isidentifier()}


def likely(question: str) -> set[str]:
    """Words of the question that can only be variables, for when nothing is told of them: df, x_1."""
    return {
        word
        for word in re.findall(r"[A-Za-z_]\w*", question)
        if re.search(r"[_\d]|^(df|x|y)$", word)
    }


def _variables(question: str, namespace: str) -> str:
    """A line about the variables that matter: those named in the question, else the tables."""
    known = names(namespace)
    chosen = (
        mentioned(question, known) or [n for n, what in known.items() if "DataFrame" in what][:2]
    )
    if not chosen:
        return ""
    return "\n\nVariables in the notebook: " + "; ".join(f"{n} ({known[n]})" for n in chosen[:5])


# The requests -------------------------------------------------------------------------------------

LEANING = re.compile(
    r"\b(it|its|that|this|these|those|them|they|again|instead|same|also|too|now|another|previous|result"
    r"|the (plot|figure|chart|code|list|numbers?|column|table|function|values?))\b",
    re.I,
)
"""Words by which a question leans on the one before."""


def code(turn: Turn, namespace: str = "", begun: str = "") -> Chat:
    """Ask for code; `begun` is how far it has been written."""
    question = turn.question + _variables(turn.question, namespace)
    chat = [{"role": "system", "content": CODE}]
    before = turn.previous
    if before is not None and before.rounds and LEANING.search(turn.question):
        chat += [
            {"role": "user", "content": before.question},
            {
                "role": "assistant",
                "content": OPENING + before.rounds[-1].code.strip() + f"\n{FENCE}",
            },
        ]
    return [*chat, {"role": "user", "content": question}, _opening(begun)]


def repair(turn: Turn, namespace: str = "", begun: str = "") -> Chat:
    """Ask for the code again, with the error that it gave."""
    last = turn.rounds[-1]
    told = f"This code failed with: {last.error}"
    if last.error.startswith("KeyError"):
        columns = [f"{n}: {what}" for n, what in names(namespace).items() if "column" in what]
        told += "".join(
            f"\n{line}" for line in columns if re.search(rf"\b{line.split(':')[0]}\b", last.code)
        )
    return [
        {"role": "system", "content": CODE},
        {"role": "user", "content": turn.question + _variables(turn.question, namespace)},
        {"role": "assistant", "content": OPENING + last.code.strip() + f"\n{FENCE}"},
        {"role": "user", "content": f"{told}\nWrite the corrected code."},
        _opening(begun),
    ]


def change(turn: Turn, reason: str, namespace: str = "", begun: str = "") -> Chat:
    """Ask for other code, because the person wants it otherwise."""
    chat = repair(turn, namespace, begun)
    chat[3] = {"role": "user", "content": f"{reason}\nWrite the changed code."}
    return chat


def answer(turn: Turn) -> Chat:
    """Ask for the sentence that closes a turn whose code has run."""
    last = turn.rounds[-1]
    output = cut(last.output.strip()) or "(nothing was printed)"
    if last.figures:
        output += (
            "\n(A figure was shown.)"
            if last.figures == 1
            else f"\n({last.figures} figures were shown.)"
        )
    return [
        {"role": "system", "content": ANSWER},
        {"role": "user", "content": f"{turn.question}\n\nOutput:\n{output}"},
    ]


def talk(turn: Turn) -> Chat:
    """Ask for words."""
    chat = [{"role": "system", "content": TALK}]
    before = turn.previous
    if before is not None and before.rounds and LEANING.search(turn.question):
        chat += [
            {"role": "user", "content": before.question},
            {
                "role": "assistant",
                "content": OPENING + before.rounds[-1].code.strip() + f"\n{FENCE}",
            },
        ]
    return [*chat, {"role": "user", "content": turn.question}]


def cut(output: str, limit: int = OUTPUT) -> str:
    """Head and tail of a long output, with what was left out between them."""
    if len(output) <= limit:
        return output
    half = limit // 2
    return f"{output[:half]}\n… ({len(output) - 2 * half} characters left out) …\n{output[-half:]}"


def _opening(begun: str) -> dict[str, str]:
    return {"role": "assistant", "content": OPENING + begun}
