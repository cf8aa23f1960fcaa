"""What a small model is asked: short prompts, made from the last question and what came of it.

One rule: pure functions from a task to a request; nothing here knows how it is sent. The
wording is measured (docs/local-model.md): every further sentence of instructions, and every
example, made a model of this size worse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lmc_jupyter.content import columns, shorten
from lmc_jupyter.models.local.task import Task

FENCE = "```"
OPENING = f"{FENCE}python\n"
"""The reply is begun for the model, so that it writes code and nothing before it."""

CODE = "You are a Python assistant inside a Jupyter notebook. Answer with one ```python code block."

BRINGS_CODE = re.compile(r"^\s*(?:async )?(?:def|class) .*:|^```\w", re.M)
"""In a question that has code in it, not tables. There the model writes better code by its own
first message than by ours: it solves 27 instead of 23 of HumanEval's first 32."""

ANSWER = (
    "You are a Python assistant inside a Jupyter notebook. The code you wrote has run and its "
    "output is given. Tell the user the answer in one short sentence, using the numbers and names "
    "from the output. Do not write code."
)

TALK = (
    "You are a friendly Python assistant inside a Jupyter notebook. "
    "Answer in a few short sentences."
)

OUTPUT = 600
"""Characters of output that the model is shown; reading is what takes it long."""

Chat = list[dict[str, str]]
"""Messages as chat models take them."""


# Talk or code -------------------------------------------------------------------------------------

GREETING = re.compile(
    r"(hello|hi|hey|hallo|good (morning|afternoon|evening|night)|bye|goodbye|thanks|thank you"
    r"|thx|great|nice|cool|well done|ok|okay|yes|no|sorry|help)\b",
    re.I,
)
"""Ways to begin that are all there is to a short message."""

TALKING = re.compile(
    r"(please )?((can|could|would) you )?(please )?"
    r"(explain|why\b|who (are|is|was|made|wrote)|what are you|what can you|what do you"
    r"|what does .* (mean|do)\b"
    r"|what('s| is) (your|the (meaning|purpose|point|idea|difference))\b"
    r"|how are you|how (do|does) .* work"
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
    return text.lower().startswith("explain") or not find_mentions(text, names)


def find_mentions(question: str, names: Iterable[str]) -> list[str]:
    """Those of the names that are words of the question."""
    words = set(re.findall(r"\w+", question))
    return [name for name in names if name in words]


CHANGE = re.compile(
    r"\b(use|make|change|add|remove|instead|with|without|rather|should|please|not?|don't|only|want|print|show)\b",
    re.I,
)
"""Words of a reason that asks for other code."""

NO_REASON = re.compile(
    r"the user declined|nobody|it was empty|.*\b(policy|denied|limit|expired)\b", re.I
)
"""Reasons that are not the person's words."""


def wants_change(reason: str) -> bool:
    """Whether the reason why code was not run asks for other code."""
    return bool(CHANGE.search(reason)) and not NO_REASON.match(reason)


# The namespace ------------------------------------------------------------------------------------


MAX_LINE = 200
"""Characters of what is said of one variable."""


def names(namespace: str) -> dict[str, str]:
    """Name -> description, of the lines of a brief: "df: DataFrame, 4 rows"."""
    pairs = (line.partition(":") for line in namespace.splitlines() if ":" in line)
    return {name.strip(): rest.strip() for name, _, rest in pairs if name.strip().isidentifier()}


def likely(question: str, namespace: str) -> set[str]:
    """Words of the question that can only be variables: df, x_1.

    For a brief without a namespace; where it has a part of it, any word may be a variable.
    """
    words = set(re.findall(r"[A-Za-z_]\w*", question))
    if "… and " in namespace:
        return words
    return set() if namespace else {w for w in words if re.search(r"[_\d]|^(df|x|y)$", w)}


TABLES = re.compile(r"\b(data\w*|df|frames?|tables?|rows?|columns?|records?|csv)\b", re.I)
"""Words that make a question one about a table."""


def _with_variables(question: str, namespace: str) -> str:
    """The question, and before it a line about the variables in it, or else about its table.

    A table without a link to the question is left out: a small model uses what it reads in every
    answer.
    """
    variables = names(namespace)
    relevant = find_mentions(question, variables)
    if not relevant:
        tables = [name for name, what in variables.items() if "DataFrame" in what]
        stems = _stems(question)
        about = [name for name in tables if stems & _stems(f"{name} {variables[name]}")]
        relevant = (about or (tables if TABLES.search(question) else []))[-1:]
    if not relevant:
        return question
    text = "; ".join(
        f"{name} ({columns.fit(variables[name], MAX_LINE, question)})" for name in relevant[:5]
    )
    return f"Variables in the notebook: {text}\n\n{question}"


_OF_EVERY_TABLE = {"dataf", "row", "colum", "int64", "float", "objec", "str", "bool", "and", "more"}


def _stems(text: str) -> set[str]:
    """The beginnings of the words, so that `cities` is `city`, and `populous` `population`."""
    words = (re.sub(r"ies$", "y", word) for word in re.findall(r"[a-z]{3,}\d*", text.lower()))
    return {word.removesuffix("s")[:5] for word in words} - _OF_EVERY_TABLE


PARTS = re.compile(
    r"(?:(?<=[.?!;])\s+|,?\s+)(?:and\s+)?(?:then|afterwards|after that|finally)\b,?\s+"
    r"|(?<=[.?!;])\s+(?:and|also|next)\b,?\s+",
    re.I,
)
"""The text between two requests in one question."""


def parts(question: str) -> list[str]:
    """The requests in a question: "What is 2*3? Then plot sin(x)." has two."""
    texts = [part.strip() for part in PARTS.split(question)]
    whole = all(len(part.split()) > 1 for part in texts)
    return texts if whole and len(texts) <= MOST_PARTS and "\n" not in question else [question]


MOST_PARTS = 4


# The requests -------------------------------------------------------------------------------------

LEANING = re.compile(
    r"\b(it|its|that|this|these|those|them|they|again|instead|same|also|too|now|another|previous|result"
    r"|the (plot|figure|chart|code|list|numbers?|column|table|function|values?))\b",
    re.I,
)
"""Words of a question that refers to the one before."""


@dataclass(frozen=True)
class CodeRequest:
    """A request for a part of the code.

    Parameters
    ----------
    part : its text as a comment in the code
    before : the messages before the reply
    prefix : code that the reply begins with
    aside : a comment behind it that only the model gets
    """

    part: str
    before: Chat
    prefix: str = ""
    aside: str = ""

    def chat(self, code: str) -> Chat:
        """The messages of the request, with the code so far as the beginning of the reply."""
        reply = code + self.aside if code == self.prefix else code
        return [*self.before, {"role": "assistant", "content": OPENING + reply}]


def requests(task: Task, namespace: str = "") -> list[CodeRequest]:
    """A request for each part of the question, the first on its own.

    Of two things asked at once a small model does one, or mixes them. So it is asked for the
    first alone, then for all, with the code begun and the next part as a comment at its end.
    """
    tasks = parts(task.question)
    texts = [tasks[0]] + [task.question] * (len(tasks) - 1)
    return [
        CodeRequest(
            part,
            [
                *_head(_code(task), task),
                {"role": "user", "content": _with_variables(text, namespace)},
            ],
        )
        for part, text in zip(tasks, texts, strict=True)
    ]


def repair(task: Task, namespace: str = "") -> CodeRequest:
    """Ask for the code again, from the statement that failed; its error is noted for the model.

    Shown its whole code and the error as messages, a small model writes the same code again.
    """
    last = task.rounds[-1]
    good, bad = last.failure
    note = "".join(f"# {line}\n" for line in [*bad.strip().splitlines(), last.error[:200]])
    if last.error.startswith("KeyError"):
        variables = names(namespace)
        note += "".join(
            f"# {name}: {columns.fit(variables[name], MAX_LINE, bad)}\n"
            for name in find_mentions(bad, variables)
        )
    head = [
        *_system(_code(task)),
        {"role": "user", "content": _with_variables(task.question, namespace)},
    ]
    return CodeRequest(task.question, head, good, f"{note}# Corrected:\n")


def change(task: Task, reason: str, namespace: str = "") -> CodeRequest:
    """Ask for other code, because the person wants it otherwise."""
    return CodeRequest(
        reason,
        [
            *_system(_code(task)),
            {"role": "user", "content": _with_variables(task.question, namespace)},
            {"role": "assistant", "content": _block(task.rounds[-1].code)},
            {"role": "user", "content": f"{reason}\nWrite the changed code."},
        ],
    )


EXPLAINING = re.compile(
    r"\b(explain|describe|why|interpret|summari[sz]e|conclu\w+|what (do|does) .* mean)\b", re.I
)
"""Words by which a question that code answers asks for words, too."""

LINE = 200
"""Characters of the longest line that is read at a glance."""


def wants_summary(task: Task) -> bool:
    """Whether the model is asked for a sentence after the output: it is more than one line.

    One line is the answer itself, and a figure is not seen by this model: it can only repeat
    them, which took half of its time and was at times wrong beside a right output.
    """
    output = task.rounds[-1].output.strip()
    return "\n" in output or len(output) > LINE or bool(EXPLAINING.search(task.question))


def answer(task: Task) -> Chat:
    """Ask for the sentence that closes a task whose code has run."""
    last = task.rounds[-1]
    output = cut(last.output.strip()) or ("" if last.figures else "(nothing was printed)")
    if last.figures:
        output += (
            "\n(A figure was shown.)"
            if last.figures == 1
            else f"\n({last.figures} figures were shown.)"
        )
    return [
        {"role": "system", "content": ANSWER},
        {"role": "user", "content": f"{task.question}\n\nOutput:\n{output}"},
    ]


def talk(task: Task, instructions: str = TALK) -> Chat:
    """Ask for words."""
    return [*_head(instructions, task), {"role": "user", "content": task.question}]


def _head(system: str, task: Task) -> Chat:
    """The system's message, and the last exchange where the question leans on it."""
    before = task.previous
    if before is None or not before.rounds or not LEANING.search(task.question):
        return _system(system)
    return [
        *_system(system),
        {"role": "user", "content": before.question},
        {"role": "assistant", "content": _block(before.rounds[-1].code)},
    ]


def _code(task: Task) -> str:
    """What the model is told where code is wanted; "" for its own first message."""
    return "" if BRINGS_CODE.search(task.question) else CODE


def _system(text: str) -> Chat:
    return [{"role": "system", "content": text}] if text else []


def _block(code: str) -> str:
    return f"{OPENING}{code.strip()}\n{FENCE}"


def tidy(sentence: str) -> str:
    """The sentence without brackets of LaTeX."""
    return re.sub(r"\\[()\[\]]\s?", "", sentence).strip()


QUOTE = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|`([^`\n]+)`")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?")


def is_grounded(sentence: str, task: Task) -> bool:
    """Whether every number and every quoted word of the sentence was asked about or printed."""
    last = task.rounds[-1]
    source = f"{task.question}\n{last.output}"
    # 100,200 may be one number or two
    there = {_number(match) for match in [*NUMBER.findall(source), *GROUPS.findall(source)]}
    numbers = {_number(match) for match in GROUPS.findall(sentence)}
    numbers |= {_number(match) for match in NUMBER.findall(GROUPS.sub(" ", sentence))}
    numbers -= {
        n
        for n in numbers
        if any(n == round(each, places) for each in there for places in (0, 1, 2, 3))
    }
    quotes = (next(filter(None, match)) for match in QUOTE.findall(sentence))
    return not numbers and all(each.strip(" .,") in source for each in quotes)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


NUMPY = re.compile(r"\bnp\.\w+\(([^()]*)\)")
"""The repr of a single value of NumPy: np.float64(2.5)."""

SENTENCE = re.compile(r"[A-Z][\w']*:? ")
"""How a printed line begins that needs no words around it: "The mean is 2", "Mean: 2"."""


def plain(task: Task) -> str:
    """The sentence that needs no model."""
    last = task.rounds[-1]
    output = NUMPY.sub(r"\1", last.output.strip())
    if output and "\n" not in output and len(output) <= LINE:
        whole = f"{literal(output)}{'' if output[-1] in '.!?' else '.'}"
        return whole if SENTENCE.match(output) else f"The result is {whole}"
    if output or last.figures:
        return "The result is shown above."
    return "The code has run; it printed nothing."


def literal(text: str) -> str:
    """The text in a form that Markdown shows unchanged."""
    if not re.search(r"[\\`*_~<>\[\]{}&$|#]", text):
        return text
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def cut(output: str, limit: int = OUTPUT) -> str:
    """Head and tail of a long output, with a count of the characters between them."""
    return shorten.middle(output, limit)
