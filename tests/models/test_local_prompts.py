"""What a small model is asked, for each state of a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from lmc_jupyter.lmc import Message
from lmc_jupyter.models.local import prompts, task

FRAME = "df: DataFrame, 5 rows, columns city (object), area (float64)\nlimit: int = 3"


def user(text: str, **more: Any) -> Message:
    return Message("user", "message", content=text, **more)


def code(text: str) -> Message:
    return Message("assistant", "code", "python", text)


def output(text: str) -> Message:
    return Message("computer", "console", "output", text)


def said(text: str) -> Message:
    return Message("assistant", "message", content=text)


FIGURE = Message("computer", "image", "base64.png", "aGVsbG8=")


FUNCTION = "Complete this function:\n\ndef mean(values: list) -> float:\n    '''The mean.'''"
TABLE = "Keep the large ones, as in this example:\n```\n| a | b |\n| 1 | 2 |\n```"
OTHERS = (
    "What is the mean of df.a?", "Write def and class in capitals", "x: def", "import: why?", TABLE
)  # fmt: skip


def test_code_in_a_question_is_answered_by_the_models_own_first_message():
    """Measured: ours makes it solve fewer of HumanEval's problems, and more with tables."""
    block = task.read([user("Mend this:\n\n```python\nx = [1\n```")])
    assert prompts.requests(block)[0].before[0]["role"] == "user"
    turn = task.read([user(FUNCTION)])
    failed = task.read([user(FUNCTION), code("mean = 1"), output("Error: no")])
    for request in (*prompts.requests(turn), prompts.repair(failed), prompts.change(failed, "No")):
        assert [each["role"] for each in request.before][:1] == ["user"]
    for question in OTHERS:
        [request] = prompts.requests(task.read([user(question)]))
        assert request.before[0] == {"role": "system", "content": prompts.CODE}


@pytest.mark.parametrize(
    "question",
    [
        "hello",
        "Hi!",
        "Hello there",
        "Thanks!",
        "thank you very much",
        "Who are you?",
        "What can you do?",
        "Explain what a for loop does.",
        "please explain list comprehensions",
        "Why is Python slow?",
        "What is a decorator?",
        "What is the difference between a list and a tuple?",
        "How does a dictionary work?",
        "What does this code mean?",
        "Tell me a joke",
        "Hi, who are you?",
        "",
    ],
)
def test_words_are_wanted(question: str) -> None:
    assert prompts.wants_talk(question, ["df"])


@pytest.mark.parametrize(
    "question",
    [
        "What is 2380*3875?",
        "What is 2380*3875? Then plot sin(x) from 0 to 10.",
        "Hello! What is 2+3?",
        "Hi, plot sin(x)",
        "What is the average of temperatures?",
        "What is the median of 12, 7 and 3?",
        "What is a tenth of 250?",
        "How many days are between 2024-01-15 and 2024-07-04?",
        "How do I read a csv file?",
        "Which city in df has the largest population?",
        "Why is df empty?",
        "Can you explain what df is?",
        "Is 'rotator' a palindrome?",
        "Show the longest line in notes.txt.",
        "Write 156 in binary.",
        "help me plot a parabola",
    ],
)
def test_code_is_wanted(question: str) -> None:
    assert not prompts.wants_talk(question, ["df"])


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What is 2*3? Then plot sin(x).", ["What is 2*3?", "plot sin(x)."]),
        ("Compute the mean, and then draw a bar chart", ["Compute the mean", "draw a bar chart"]),
        (
            "How long is 'abc'? And write it backwards.",
            ["How long is 'abc'?", "write it backwards."],
        ),
        ("Read data.csv and show the average", ["Read data.csv and show the average"]),
        ("What is 2*3?", ["What is 2*3?"]),
        ("Sort it, then.", ["Sort it, then."]),
        ("a = 1\nthen print it", ["a = 1\nthen print it"]),
    ],
)
def test_a_question_is_taken_apart_where_it_asks_for_more_than_one_thing(
    question: str, parts: list[str]
) -> None:
    assert prompts.parts(question) == parts


def test_the_first_part_is_asked_alone_and_the_next_with_all() -> None:
    turn = task.read([user("What is 2*3? Then plot sin(x).")])
    first, second = prompts.requests(turn)
    assert first.chat("")[-2:] == [
        {"role": "user", "content": "What is 2*3?"},
        {"role": "assistant", "content": "```python\n"},
    ]
    assert second.part == "plot sin(x)."
    assert second.chat("print(6)\n")[-2:] == [
        {"role": "user", "content": "What is 2*3? Then plot sin(x)."},
        {"role": "assistant", "content": "```python\nprint(6)\n"},
    ]


def test_only_the_variables_that_matter_are_told() -> None:
    def asked(question: str) -> str:
        [request] = prompts.requests(task.read([user(question)]), FRAME)
        return request.chat("")[-2]["content"]

    assert asked("Square limit") == "Variables in the notebook: limit (int = 3)\n\nSquare limit"
    assert "df (DataFrame, 5 rows" in asked("Show the largest city")
    assert "limit" not in asked("Show the largest city")


def test_only_the_last_exchange_is_told_and_only_when_the_question_leans_on_it() -> None:
    messages = [
        user("What is 1+1?"), code("1+1"), output("2"), said("It is 2."),
        user("Plot sin(x)"), code("plot()"), FIGURE, said("Done."),
    ]  # fmt: skip
    [leaning] = prompts.requests(task.read([*messages, user("Make it red")]))
    assert [m["content"] for m in leaning.chat("")[1:3]] == [
        "Plot sin(x)",
        "```python\nplot()\n```",
    ]
    [alone] = prompts.requests(task.read([*messages, user("What is 7 factorial?")]))
    assert len(alone.chat("")) == 3


def test_what_is_for_the_person_alone_is_left_out() -> None:
    turn = task.read([user("What is 1+1?"), user("secret", recipient="user")])
    assert turn.question == "What is 1+1?"


def test_rounds_hold_code_output_and_figures() -> None:
    turn = task.read([user("q"), code("a"), output("1\n"), FIGURE, output("2\n"), code("b")])
    assert turn.rounds == (task.Round("a", "1\n2\n", 1), task.Round("b"))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Traceback (most recent call last):\n  line 2\n    1/0\nZeroDivisionError: zero\n",
         "ZeroDivisionError: zero"),
        ("  This code, line 1\n    x =\nSyntaxError: invalid syntax\n",
         "SyntaxError: invalid syntax"),
        ("KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("1\n2\n", ""),
        ("The ValueError: was seen\nand all is well\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_errors_are_told_from_output(text: str, error: str) -> None:
    assert task.Round("x", text).error == error


def test_code_that_failed_is_asked_for_again_from_the_statement_that_failed() -> None:
    written = "x = 1\nprint(x)\ny = df['Area']\nprint(y)\n"
    failed = (
        "1\nTraceback (most recent call last):\n  line 3\n    y = df['Area']\nKeyError: 'Area'\n"
    )
    request = prompts.repair(task.read([user("q"), code(written), output(failed)]), FRAME)
    assert request.prefix == "x = 1\nprint(x)\n"
    reply = request.chat(request.prefix)[-1]["content"]
    assert reply.startswith("```python\nx = 1\nprint(x)\n# y = df['Area']\n# KeyError: 'Area'\n")
    assert "columns city (object), area" in reply
    assert "#" not in request.chat("x = 1\nprint(x)\ny = 2\n")[-1]["content"]


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("use numpy instead", True),
        ("without a loop, please", True),
        ("the user declined", False),
        ("nobody answered", False),
        ("nobody can be asked here; `%%lmc --auto-run` lets the code run unasked", False),
        ("your policy forbids python", False),
    ],
)
def test_a_reason_may_ask_for_other_code(reason: str, change: bool) -> None:
    declined = task.Round("x", f"This code was not run: {reason}.").refusal
    assert declined == reason
    assert prompts.wants_change(reason) is change


def test_the_answer_is_asked_from_question_and_output_alone() -> None:
    long = "a" * 2000
    chat = prompts.answer(task.read([user("q?"), code("secret = 1"), output(long), FIGURE]))
    assert len(chat) == 2
    assert "secret" not in chat[1]["content"]
    assert len(chat[1]["content"]) < 750
    assert "1,400 characters left out" in chat[1]["content"]
    assert chat[1]["content"].endswith("(A figure was shown.)")


@pytest.mark.parametrize(
    ("sentence", "true"),
    [
        ("2380 times 3875 is 9,222,500.", True),
        ("2380 times 3875 is 852000.", False),
        ("The product is 9222500.0.", True),
        ("The sum of [3, 5, 8] is 9222500.", True),
        ("The sum of [3, 5, 9] is 9222500.", False),
        ("The word 'abc' becomes 'cba'.", True),
        ("The word 'abc' becomes 'bca'.", False),
        ("About 1.67 of it.", True),
        ("The figure is shown.", True),
    ],
)
def test_a_sentence_with_numbers_or_quotes_that_nobody_printed_is_not_grounded(
    sentence: str, true: bool
) -> None:
    turn = task.Task(
        "What is 2380*3875, and 'abc' [3,5,8]?", (task.Round("", "9222500\ncba 1.6667"),)
    )
    assert prompts.is_grounded(sentence, turn) is true


def test_plain_sentences_say_only_what_is_there() -> None:
    def plain(*rounds: task.Round) -> str:
        return prompts.plain(task.Task("q", rounds))

    assert plain(task.Round("x", "42\n")) == "The result is 42."
    assert plain(task.Round("x", "1\n2\n")) == "The result is shown above."
    assert plain(task.Round("x", "", 1)) == "The result is shown above."
    assert plain(task.Round("x")) == "The code has run; it printed nothing."


def plain(output: str) -> str:
    return prompts.plain(task.Task("q", (task.Round("x", output),)))


def test_a_printed_sentence_is_said_as_it_is() -> None:
    assert plain("The mean is 5.2\n") == "The mean is 5.2."
    assert plain("It is at position 3.") == "It is at position 3."
    assert plain("Mean: 5.2") == "Mean: 5.2."
    assert plain("Sunday") == "The result is Sunday."


def test_a_value_of_numpy_is_said_as_its_number() -> None:
    assert plain("np.float64(7440000.0)") == "The result is 7440000.0."
    assert plain("(np.float64(5.2), np.int64(3))") == "The result is (5.2, 3)."


def test_markdown_in_the_output_is_said_as_it_was_printed() -> None:
    assert plain("['a', 'b']") == "The result is `['a', 'b']`."
    assert plain("__main__ <b> *x*") == "The result is `__main__ <b> *x*`."
    assert plain("a ` b `` c") == "The result is ``` a ` b `` c ```."


@pytest.mark.parametrize(
    ("question", "output", "wanted"),
    [
        ("What is 2*3?", "6\n", False),
        ("What is 2*3? Explain it.", "6\n", True),
        ("What does 2*3 mean?", "6\n", True),
        ("Plot it.", "", False),
        ("Show df.", "  a\n0 1\n", True),
        ("List the primes.", "2, " * 100, True),
    ],
)
def test_a_summary_is_wanted_of_what_is_longer_than_a_line_or_to_be_explained(
    question: str, output: str, wanted: bool
) -> None:
    turn = task.Task(question, (task.Round("x", output, 1),))
    assert prompts.wants_summary(turn) is wanted


def test_a_long_conversation_is_read_from_its_end():
    def exchange(n):
        return [
            Message("user", "message", content=f"Question {n}?"),
            Message("assistant", "code", "python", f"print({n})"),
            Message("computer", "console", "output", f"{n}\n"),
        ]

    long = [message for n in range(500) for message in exchange(n)]
    assert task.read(long) == task.read(long[-6:])
    assert task.read(long).previous.question == "Question 498?"


def test_a_file_that_goes_with_a_question_is_named_in_it() -> None:
    turn = task.read(
        [
            Message("user", "file", "path", "/data/tea.csv"),
            Message("user", "image", "base64.png", "AAAA"),
            Message("user", "message", content="What is the mean of a?"),
        ]
    )
    assert turn.question == "File: /data/tea.csv\nWhat is the mean of a?"


def test_of_html_the_text_is_told() -> None:
    page = "<style>p {}</style><p>Tea</p><p>3.50</p>"
    turn = task.read(
        [
            Message("user", "message", content="Show it."),
            Message("assistant", "code", "python", "page"),
            Message("computer", "code", "html", page),
            Message("computer", "console", "output", "done\n"),
            Message("computer", "code", "html", "<p>only for the person</p>", "user"),
        ]
    )
    assert turn.rounds[0].output == "Tea\n3.50\ndone\n"
