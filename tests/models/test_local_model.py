"""The small model's part in the loop: with a scripted stream, and with the real weights."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from sampling import amount

from lmc_jupyter.agent import respond
from lmc_jupyter.errors import ModelError, Stopped
from lmc_jupyter.gate import Decision
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models import get_model, weights
from lmc_jupyter.models.brief import Brief, Briefable, Stoppable
from lmc_jupyter.models.local import LocalModel, model, process, prompts
from lmc_jupyter.models.values import Delta
from lmc_jupyter.stream import Assembler, delimit

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from model_tasks import TASKS, Seen
from task_notebook import Notebook

Request = tuple[prompts.Chat, dict[str, Any]]


class Scripted(LocalModel):
    """The real profile over replies that are written down, a character at a time."""

    def __init__(self, *replies: str) -> None:
        super().__init__()
        self.replies = list(replies)
        self.asked: list[Request] = []
        self.most: list[int] = []
        self.closed = 0

    def _texts(self, chat: prompts.Chat, tokens: int, **options: Any) -> Generator[str, None, None]:
        self.asked.append((chat, options))
        self.most.append(tokens)
        try:
            yield from self.replies.pop(0)
        finally:
            self.closed += 1


def user(text: str) -> Message:
    return Message("user", "message", content=text)


def code(text: str) -> Message:
    return Message("assistant", "code", "python", text)


def output(text: str) -> Message:
    return Message("computer", "console", "output", text)


def whole(scripted: LocalModel, *messages: Message) -> list[tuple[str, str | None, str]]:
    """Type, format and content of each message of the reply."""
    assembler, found = Assembler(), []
    for chunk in delimit(scripted.respond(list(messages))):
        message = assembler.feed(chunk)
        if message is not None:
            found.append((message.type, message.format, message.content))
    return found


def test_it_is_a_briefed_and_stoppable_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMC_LOCAL_MODEL", raising=False)
    local = LocalModel()
    assert isinstance(local, Briefable)
    assert isinstance(local, Stoppable)
    assert local.label == "Qwen2.5-Coder 0.5B, a small local model"
    assert LocalModel("qwen2.5-coder-1.5b").label == "Qwen2.5-Coder 1.5B, a small local model"


def test_a_file_of_the_users_own_is_labelled_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMC_LOCAL_MODEL", "/models/mine.gguf")
    assert LocalModel().label == "mine.gguf, a small local model"


def test_it_is_made_by_its_name() -> None:
    made = get_model("local/qwen2.5-coder-1.5b")
    assert isinstance(made, LocalModel)
    assert made.name == "qwen2.5-coder-1.5b"


def test_a_question_gets_one_block_of_code() -> None:
    scripted = Scripted("print(2380 * 3875)\n")
    assert whole(scripted, user("What is 2380*3875?")) == [("code", "python", "print(2380 * 3875)")]
    [(chat, options)] = scripted.asked
    assert chat[-1] == {"role": "assistant", "content": "```python\n"}
    assert options["stop"] == ["```"]


@pytest.mark.parametrize(
    ("lines", "most"), [(0, model.CODE_TOKENS), (40, 500), (9_000, model.MOST_TOKENS)]
)
def test_code_that_the_question_brings_may_be_written_again(lines: int, most: int) -> None:
    function = "def area(side):\n" + lines * "    # 4 bytes\n"
    scripted = Scripted("x = 1\n")
    whole(scripted, user("Double 3." if not lines else f"Complete this.\n\n{function}"))
    assert scripted.most == [pytest.approx(most, abs=150)]
    assert (scripted.most[0] > model.CODE_TOKENS) == bool(lines)


def test_two_requests_get_one_block_that_does_both() -> None:
    scripted = Scripted("2380 * 3875", "import math\nprint(math.pi)")
    [(_, _, content)] = whole(scripted, user("What is 2380*3875? Then print pi."))
    assert content == "print(2380 * 3875)\n\n# print pi.\nimport math\nprint(math.pi)"


def test_a_greeting_gets_words_and_no_code() -> None:
    scripted = Scripted("Hello! How can I help?")
    assert whole(scripted, user("Hello")) == [("message", None, "Hello! How can I help?")]
    assert scripted.asked[0][0][-1]["role"] == "user"


def test_words_stream_as_they_come() -> None:
    pieces = list(Scripted("Hello").respond([user("Hi")]))
    assert [piece.content for piece in pieces] == list("Hello")


def test_code_comes_statement_by_statement() -> None:
    pieces = list(Scripted("x = 1\nprint(x)\n").respond([user("Compute x")]))
    assert [piece.content for piece in pieces] == ["x = 1", "\nprint(x)", None]
    assert pieces[-1].end


def test_a_statement_that_cannot_work_is_written_anew_from_the_sound_ones() -> None:
    scripted = Scripted("x = 1\nprint(y)\nprint('never read')\n", "print(x)\n")
    assert whole(scripted, user("Compute 1+1")) == [("code", "python", "x = 1\nprint(x)")]
    chat, options = scripted.asked[1]
    assert chat[-1]["content"] == "```python\nx = 1\n"
    assert options["temperature"] == model.RESAMPLE_TEMPERATURE
    assert scripted.closed == 2


def test_what_cannot_be_mended_is_said_in_the_code() -> None:
    scripted = Scripted("x = 1\nprint(y)\n", *["print(y)\n"] * model.RESAMPLES)
    [(_, _, content)] = whole(scripted, user("Compute 1+1"))
    assert content == "x = 1\n# The model could not write the rest: there is no name 'y'."


def test_code_that_is_not_whole_is_not_closed_as_if_it_were() -> None:
    scripted = Scripted()
    part = code("import math\n# The model could not write the rest: there is no name 'y'.\n")
    [(kind, _, content)] = whole(scripted, user("Compute 1+1"), part, output(""))
    assert kind == "message"
    assert "could not do all of this: there is no name 'y'" in content
    assert scripted.asked == []


def test_without_any_code_it_says_so_in_words() -> None:
    scripted = Scripted(*[""] * (model.RESAMPLES + 1))
    [(kind, _, content)] = whole(scripted, user("Compute 1+1"))
    assert kind == "message"
    assert "could not write code" in content


def test_names_of_the_notebook_are_known_to_the_check() -> None:
    scripted = Scripted("print(prices)\n").with_brief(
        lambda: Brief(namespace="prices: list, 3 items"), lambda _: None
    )
    assert whole(scripted, user("Show prices"))[0][2] == "print(prices)"


def test_names_of_the_question_may_be_used_when_nothing_is_told_of_the_notebook() -> None:
    assert whole(Scripted("print(my_list)\n"), user("Show my_list"))[0][2] == "print(my_list)"


TABLE = """\
   city  population
2  Turin     1841000
1   Oslo      709000
"""


def test_after_several_lines_there_is_one_closing_sentence() -> None:
    scripted = Scripted("Turin and Oslo are the largest.")
    messages = [user("Show the two largest cities."), code("df.nlargest(2)"), output(TABLE)]
    assert whole(scripted, *messages) == [("message", None, "Turin and Oslo are the largest.")]
    assert scripted.asked[0][1]["stop"] == ["\n", "```"]


def test_after_one_line_or_a_figure_the_model_is_not_asked_for_a_sentence() -> None:
    scripted = Scripted()
    messages = [user("What is 2380*3875?"), code("2380*3875"), output("9222500\n")]
    assert whole(scripted, *messages) == [("message", None, "The result is 9222500.")]
    figure = Message("computer", "image", "base64.png", "AAAA")
    assert whole(scripted, *messages, figure) == [("message", None, "The result is 9222500.")]
    drawn = [user("Plot sin(x)."), code("plt.plot(x)"), figure]
    assert whole(scripted, *drawn) == [("message", None, "The result is shown above.")]
    assert scripted.asked == []


def test_a_question_for_words_gets_them_after_one_line_too() -> None:
    scripted = Scripted("4 is the number in the middle.")
    messages = [user("Compute the median and explain it."), code("m"), output("4\n")]
    assert whole(scripted, *messages)[0][2] == "4 is the number in the middle."


def test_a_closing_sentence_with_an_invented_number_is_asked_again_then_replaced() -> None:
    messages = [user("What is 2380*3875?"), code("x"), output("2380*3875\n9222500\n")]
    scripted = Scripted("It is 852000.", "It is 9222500.")
    assert whole(scripted, *messages)[0][2] == "It is 9222500."
    scripted = Scripted("It is 852000.", "It is 852001.")
    assert whole(scripted, *messages)[0][2] == "The result is shown above."


def test_a_closing_sentence_that_would_copy_the_output_is_not_broken_off() -> None:
    scripted = Scripted("The two largest cities are:")
    messages = [user("Show the two largest cities."), code("df.nlargest(2)"), output(TABLE)]
    assert whole(scripted, *messages)[0][2] == "The result is shown above."
    assert len(scripted.asked) == 1


ERROR = """\
Traceback (most recent call last):
  line 2
    print(y)
NameError: name 'y' is not defined
"""


def test_code_that_failed_is_mended_once() -> None:
    scripted = Scripted("print(x)\n")
    messages = [user("Compute 1+1"), code("x = 1\nprint(y)\n"), output(ERROR)]
    assert whole(scripted, *messages) == [("code", "python", "x = 1\nprint(x)")]
    assert "# NameError" in scripted.asked[0][0][-1]["content"]


def test_code_that_failed_twice_is_given_up_in_words() -> None:
    failed = [code("x = 1\nprint(y)\n"), output(ERROR)]
    scripted = Scripted()
    [(kind, _, content)] = whole(scripted, user("Compute 1+1"), *failed, *failed)
    assert kind == "message"
    assert "NameError: name 'y' is not defined" in content
    assert scripted.asked == []


def test_an_interrupt_is_not_mended() -> None:
    scripted = Scripted()
    messages = [user("Wait"), code("wait()"), output("KeyboardInterrupt\n")]
    assert whole(scripted, *messages)[0][0] == "message"
    assert scripted.asked == []


def test_declined_code_gets_a_short_sentence() -> None:
    scripted = Scripted()
    note = output("This code was not run: the user declined.")
    [(kind, _, content)] = whole(scripted, user("Compute 1+1"), code("1+1"), note)
    assert kind == "message"
    assert "not run" in content
    assert scripted.asked == []


def test_a_reason_that_asks_for_a_change_gets_other_code() -> None:
    scripted = Scripted("print(sum([1, 1]))\n")
    note = output("This code was not run: use sum instead.")
    [(kind, _, _)] = whole(scripted, user("Compute 1+1"), code("1+1"), note)
    assert kind == "code"
    assert scripted.asked[0][0][-2]["content"].startswith("use sum instead")


def test_closing_the_reply_closes_the_stream() -> None:
    scripted = Scripted("x = 1\ny = 2\n")
    reply = scripted.respond([user("Compute 1+1")])
    next(reply)
    reply.close()
    assert scripted.closed == 1


def test_stop_ends_this_reply_and_later_ones_of_the_same_brief_only() -> None:
    scripted = Scripted("Hello", "Hello", "Hello")
    briefed = scripted.with_brief(Brief, lambda _: None)
    briefed.stop()
    with pytest.raises(Stopped):
        list(briefed.respond([user("Hi")]))
    assert whole(scripted, user("Hi"))[0][2] == "Hello"


def test_what_is_waited_for_is_told_once_each() -> None:
    told: list[str] = []
    scripted = Scripted("print(z)\n", "print(1)\n").with_brief(Brief, told.append)
    list(scripted.respond([user("Compute 1+1")]))
    assert told == ["writing code", "rewriting the code: there is no name 'z'"]


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["```python\n", "1+1"], "1+1"),
        (["```", "python\n1", "+1"], "1+1"),
        (["1", "+1"], "1+1"),
        (["``", "x"], "``x"),
        (["```python\n"], ""),
        ([], ""),
    ],
)
def test_the_beginning_that_we_gave_is_not_repeated(pieces: list[str], text: str) -> None:
    assert "".join(model._without("```python\n", iter(pieces))) == text


# The tasks ----------------------------------------------------------------------------------------


def test_the_tasks_are_many_and_in_two_parts() -> None:
    assert len({task.name for task in TASKS}) == len(TASKS) >= 40
    parts = [sum(task.split == split for task in TASKS) for split in ("tune", "kept")]
    assert min(parts) >= 20
    assert sum(parts) == len(TASKS)


@pytest.mark.long
def test_every_reference_satisfies_its_checker_and_an_empty_reply_none() -> None:
    wrong = []
    for task in TASKS:
        with Notebook() as notebook:
            if task.setup:
                assert not notebook.cell(task.setup)["error"]
            list(notebook.run("python", task.reference))
            if not task.check(notebook.seen) or task.check(Seen()):
                wrong.append((task.name, notebook.seen, notebook.errors))
    assert wrong == []


def test_a_notebook_shows_what_a_person_would_see() -> None:
    with Notebook() as notebook:
        assert notebook.cell("x = 1")["error"] == ""
        assert [piece.content for piece in notebook.run("python", "print('a')\nx + 1")] == [
            "a\n2\n"
        ]
        assert "x: int" in notebook.names()
        list(notebook.run("python", "1/0"))
        assert "ZeroDivisionError" in notebook.errors[0]
        assert notebook.seen.text == "a\n2\n\n"


# The real weights ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def local() -> Iterator[LocalModel]:
    if weights.locate("qwen2.5-coder-0.5b") is None:
        pytest.fail("the weights are not here: run `make weights`")
    yield LocalModel()
    process.close_all()


@pytest.mark.local_model
@pytest.mark.parametrize("again", range(amount(1, 3)))
def test_the_first_question_is_answered_in_the_real_loop(local: LocalModel, again: int) -> None:
    messages = [user("What is 2380*3875? Then plot sin(x) from 0 to 10.")]
    with Notebook() as notebook:
        reply: Generator[Chunk, Decision | None, None] = respond(messages, local, notebook)
        decision: Decision | None = None
        while True:
            try:
                chunk = reply.send(decision)
            except StopIteration:
                break
            decision = Decision(run=True) if chunk.type == "confirmation" else None
        [task] = [task for task in TASKS if task.name == "product-and-sine"]
        assert notebook.errors == []
        assert task.check(notebook.seen)
    assert messages[-1].type == "message"
    assert "9222500" in messages[-1].content.replace(",", "")


@pytest.mark.local_model
def test_the_real_model_streams_words_and_counts_them(local: LocalModel) -> None:
    pieces = [piece.content for piece in local.respond([user("Explain what a for loop does.")])]
    assert len(pieces) > 10
    assert "loop" in "".join(pieces)
    assert local.usage is not None
    assert (local.usage.completion_tokens or 0) >= len(pieces)


@pytest.mark.local_model
def test_the_real_model_stops_when_its_reply_is_closed(local: LocalModel) -> None:
    reply = local.respond([user("Explain in great detail how lists and dicts differ.")])
    next(reply)
    reply.close()
    # had it gone on, this short reply would have to wait for some hundred words
    told: list[str] = []
    other = local.with_brief(Brief, told.append)
    assert "9222500" not in "".join(p.content for p in other.respond([user("Hello!")]))
    assert local.usage is not None
    assert (local.usage.completion_tokens or 0) < 100


@pytest.mark.local_model
def test_the_real_model_is_stopped_from_another_thread(local: LocalModel) -> None:
    briefed = local.with_brief(Brief, lambda _: None)
    reply = briefed.respond([user("Explain in great detail how lists and dicts differ.")])
    next(reply)
    threading.Thread(target=briefed.stop).start()
    with pytest.raises(Stopped):
        list(reply)


@pytest.mark.local_model
def test_the_real_worker_is_started_again_after_a_crash(local: LocalModel) -> None:
    list(local.respond([user("Hello!")]))
    [worker] = process._workers.values()
    child = psutil.Process(worker.pid)
    child.kill()
    child.wait(30)
    assert "".join(p.content for p in local.respond([user("Hello!")]))
    assert worker.pid != child.pid


@pytest.mark.local_model
def test_a_file_that_is_no_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF but not really")
    monkeypatch.setenv("LMC_LOCAL_MODEL", str(path))
    with pytest.raises(ModelError, match=r"broken\.gguf could not be loaded"):
        list(LocalModel().respond([user("Hello!")]))


# Long conversations -------------------------------------------------------------------------------


def test_what_a_leaning_question_is_not_told_of_is_said():
    messages = [user("What is 2?"), code("2"), output("2"), user("Now add 3 to it.")]
    assert model._left_out(messages) == ""
    more = [user("What is 1+1?"), code("1 + 1"), output("2"), *messages]
    assert model._left_out(more) == (
        "This small model reads the last question and the one before it: the 3 messages before "
        "them were left out."
    )
    assert model._left_out([*more[:-1], user("What is 5*5?")]) == ""


def test_what_is_left_out_is_said_once_in_a_conversation():
    turns = [each for text in "123456" for each in (user(text), code(text), output(text))]
    first = [*turns[:9], user("Now add 3 to it.")]
    assert not model._was_said(first)
    assert model._left_out(first)
    later = [*first, code("3"), output("3"), *turns[9:12], user("Now add 4 to it.")]
    assert model._was_said(later)
    assert not model._was_said([*turns, user("Now add 4 to it.")])


def test_of_two_replies_one_says_what_is_left_out(monkeypatch):
    class Worker:
        title = "stand-in"

        def ready(self, tell):
            return ""

    def stream(*_):
        yield Delta("print(1)")

    monkeypatch.setattr(model, "_worker", lambda _: Worker())
    monkeypatch.setattr(model, "stream", stream)
    requests: list[Any] = []
    local = LocalModel().with_record(requests.append)
    talk = [each for text in "123" for each in (user(text), code(text), output(text))]
    said = []
    for question in ("Now add 3 to it.", "Now add 4 to it."):
        talk.append(user(question))
        before = len(requests)
        list(local.respond(talk))
        said.append({each.left_out for each in requests[before:]})
        talk += [code("print(1)"), output("1")]
    first, second = said
    assert [each.partition(":")[2] for each in first] == [
        " the 6 messages before them were left out."
    ]
    assert second == {""}


def test_how_full_its_window_is():
    found = LocalModel().tokens([user("What is 2380*3875?")], Brief())
    assert found.window.tokens == process.CONTEXT
    assert 0 < found.conversation < 50
    assert found.free > 3_000


@pytest.mark.local_model
def test_a_question_that_is_too_long_is_refused_by_its_own_count():
    words = "Compute the sum of " + " ".join(map(str, range(6_000)))
    with pytest.raises(
        ModelError, match=r"have 2\d,\d{3} tokens, and this small model reads 4,096"
    ):
        list(LocalModel().respond([user(words)]))
