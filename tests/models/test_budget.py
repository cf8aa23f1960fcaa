"""What of a long conversation is sent: within the window, whole pairs, the question whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from model_server import ModelServer, Refusal, Request, Turn, text
from strict_provider import assert_acceptable

from lmc_jupyter.content.cell import Cell
from lmc_jupyter.content.tokens import estimate, estimates
from lmc_jupyter.context import names
from lmc_jupyter.context.cells import make_parts
from lmc_jupyter.context.parts import Part, of_question, to_extra
from lmc_jupyter.errors import ModelError
from lmc_jupyter.lmc import Message
from lmc_jupyter.models import budget
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.budget import TokenCounts, Window, WindowError, fit, left_out
from lmc_jupyter.models.litellm import LiteLLMModel
from lmc_jupyter.models.litellm.worker import loading
from lmc_jupyter.models.openai import Abilities, Exchanges, Sent, to_chat
from lmc_jupyter.models.request import Request as Sending
from lmc_jupyter.session import Session

WINDOW = Window(8_192, "known", 1_000)


def asks(words: str) -> Message:
    return Message("user", "message", content=words)


def says(words: str) -> Message:
    return Message("assistant", "message", content=words)


def code(words: str) -> Message:
    return Message("assistant", "code", "python", words)


def out(words: str) -> Message:
    return Message("computer", "console", "output", words)


def image(role: Any = "computer") -> Message:
    return Message(role, "image", "base64.png", "iVBORw0KGgo=")


def measure(**more: Any) -> TokenCounts:
    return TokenCounts(estimates, **{"vision": True, "hears": False, "max_output": 8_000, **more})


def long(words: int) -> str:
    return " ".join(f"word{n}" for n in range(words))


def turn(n: int, output: str = "") -> list[Message]:
    return [
        asks(f"Question {n}: what is in the table? And more."),
        code(f"print(table[{n}])"),
        out(output or f"row {n}\n"),
        says(f"It is row {n}. That was all."),
    ]


def chat_of(messages: list[Message]) -> list[dict[str, Any]]:
    return to_chat(messages, Brief(), tools=True, vision=False)


# In which order -----------------------------------------------------------------------------------


def test_what_fits_is_sent_as_it_is():
    messages = [*turn(1), *turn(2), asks("Last?")]
    fitted = fit(messages, 10_000, measure())
    assert fitted.messages == messages
    assert fitted.cut is None
    assert left_out(fitted.cut, WINDOW) == ""


def test_outputs_older_than_the_last_question_are_shortened_first_the_oldest_of_them():
    messages = [m for n in range(6) for m in turn(n, long(1_500))] + [asks("Last?")]
    size = measure().size(messages[2])
    fitted = fit(messages, 5 * size, measure())
    short = [i for i, m in enumerate(fitted.messages) if "characters left out" in str(m.content)]
    assert short == [2, 6, 10]
    for i, message in enumerate(messages):
        assert i in short or fitted.messages[i] is message
    first = fitted.messages[2].content
    assert first.startswith("word0 word1 ")
    assert first.endswith(" word1499")
    assert (
        f"… {len(messages[2].content) - budget.SHORT:,} characters left out, which the person saw …"
        in first
    )
    assert left_out(fitted.cut, WINDOW).startswith("3 long outputs were shortened, so that")


def test_older_images_are_a_sentence():
    messages = [m for n in range(8) for m in [asks(f"{n}?"), code("plot()"), image(), says("So.")]]
    messages += [image("user"), asks("Last?")]
    fitted = fit(messages, 4 * budget.IMAGE_TOKENS + 2_000, measure())
    assert [m.type for m in fitted.messages].count("image") == 3, "the two newest of code"
    assert fitted.messages[-2:] == messages[-2:], "what is attached to the question stays"
    assert "image" in fitted.messages[2].content
    assert fitted.messages[2].role == "computer"
    assert left_out(fitted.cut, WINDOW) == (
        "6 images or files were left out, so that the conversation fits the "
        "model's window of 8,192 tokens."
    )


def with_cell(question: Message, number: int, source: str) -> Message:
    cell = Cell(number, source, "1\n")
    return replace(question, extra=to_extra(make_parts([cell]), until=number, kernel="k"))


def cells_in(messages: list[Message]) -> list[str]:
    return [part.title for each in messages for part in of_question(each) if part.title]


def test_long_results_of_the_models_blocks_go_before_the_persons_cells():
    messages = [m for n in range(6) for m in turn(n, long(1_500))] + [asks("Last?")]
    for n in range(6):
        messages[4 * n] = with_cell(messages[4 * n], n + 1, f"df{n} = load({n})\n" * 20)
    fitted = fit(messages, 4 * measure().size(messages[2]), measure())
    assert fitted.cut is not None
    assert fitted.cut.excerpts > 2
    assert cells_in(fitted.messages) == [f"In [{n + 1}]" for n in range(6)]


def test_of_turns_that_are_left_out_the_cells_stay_whose_names_are_there():
    messages = [m for n in range(60) for m in turn(n, long(100))] + [asks("Last?")]
    messages[0] = with_cell(messages[0], 1, "import os\nflights = load()")
    messages[4] = with_cell(messages[4], 2, "print(flights)")
    messages[8] = with_cell(messages[8], 3, "for k in range(3):\n    gone = k")
    messages[12] = with_cell(messages[12], 4, "def clip(x): return x")
    messages[-5] = with_cell(messages[-5], 9, "late = flights.delay")
    living = frozenset({"flights", "clip", "k", "late"})
    fitted = fit(messages, 3_000, measure(), living=living)
    assert cells_in(fitted.messages) == ["In [1]", "In [4]", "In [9]"]
    assert fitted.tokens == sum(map(measure().size, fitted.messages)) <= 3_000
    said = json.dumps(chat_of(fitted.messages))
    assert "flights = load()" in said
    assert said.index("flights = load()") < said.index("late = flights.delay")
    gone = len(messages) - len(fitted.messages) + 2
    assert (
        f"({gone} older messages of this conversation left out here, with cells of the person: "
        "In [2], In [3]: there is no room for more.)"
    ) in said
    assert left_out(fitted.cut, WINDOW).startswith(
        f"The {gone} oldest messages were left out with 2 of your cells, so that"
    )
    assert_acceptable(chat_of(fitted.messages))


def test_the_cells_that_stay_are_the_newest_and_the_last_to_go():
    messages = [m for n in range(40) for m in turn(n)] + [asks("Last?")]
    for n in range(40):
        messages[4 * n] = with_cell(messages[4 * n], n + 1, f"name{n} = {n}  # {long(60)}")
    living = frozenset(f"name{n}" for n in range(40))
    fitted = fit(messages, 3_000, measure(), living=living)
    stay = cells_in(fitted.messages)
    assert stay == [f"In [{n}]" for n in range(41 - len(stay), 41)]
    assert len(stay) >= 8
    assert fitted.tokens <= 3_000
    assert fitted.messages[-1] is messages[-1]


def test_a_figure_of_the_person_is_a_sentence_with_its_cell():
    figure = replace(image("user"), extra={"figure_of": "In [9]"})
    messages = [m for n in range(8) for m in [figure, asks(f"{n}?"), says("So.")]]
    fitted = fit([*messages, asks("Last?")], 3_000, measure())
    assert fitted.messages[0].content.startswith("(A figure of In [9] was here")


def test_an_image_that_is_said_in_words_anyway_is_not_left_out():
    messages = [m for n in range(8) for m in [asks(f"{n}?"), code("plot()"), image(), says("So.")]]
    fitted = fit([*messages, asks("Last?")], 1_500, measure(vision=False))
    assert fitted.cut is None or not fitted.cut.images


def test_then_the_oldest_turns_are_left_out_and_one_line_says_how_much():
    messages = [m for n in range(60) for m in turn(n)] + [asks("Last?")]
    fitted = fit(messages, 2_000, measure())
    line, *rest = fitted.messages
    assert rest == messages[-len(rest) :]
    assert rest[0].role == "user"
    assert len(rest) > 40
    gone = len(messages) - len(rest)
    assert line.role == "computer", "its words are data to the model"
    assert line.content.startswith(f"({gone} older messages of this conversation left out here")
    assert left_out(fitted.cut, WINDOW) == (
        f"The {gone} oldest messages were left out, so that the conversation fits the model's "
        "window of 8,192 tokens."
    )
    assert_acceptable(chat_of(fitted.messages))


def test_the_sentence_names_all_that_was_left_out():
    cut = budget.Omission(omissions=14, excerpts=3)
    assert left_out(cut, WINDOW) == (
        "The 14 oldest messages were left out and 3 long outputs shortened, so that the "
        "conversation fits the model's window of 8,192 tokens."
    )
    cut = budget.Omission(omissions=1, excerpts=1, images=1)
    assert left_out(cut, Window(9_000, "learned", 1)) == (
        "The oldest message was left out, the long output shortened and the image or file left "
        "out, so that the conversation fits the model's window of 9,000 tokens (as its provider "
        "says)."
    )
    assert left_out(budget.Omission(images=2), Window(32_000, "default", 1)) == (
        "2 images or files were left out, so that the conversation fits a window of 32,000 tokens "
        "(the model's own is not known)."
    )


def test_of_one_long_turn_the_oldest_steps_are_left_out_and_the_question_is_whole():
    question = asks("Do this. " + long(50))
    steps = [m for n in range(80) for m in (code(f"step({n})"), out(f"did {n}\n"))]
    fitted = fit([*turn(0), question, *steps], 2_000, measure())
    asked, line, *rest = fitted.messages
    assert asked is question
    assert line.content.startswith(f"({164 - len(rest)} older messages")
    assert rest == steps[-len(rest) :]
    assert rest[0].type == "code"
    assert fitted.cut is not None
    assert fitted.cut.omissions == 164 - len(rest)
    assert_acceptable(chat_of(fitted.messages))


def test_of_one_long_turn_what_the_last_step_put_out_stays_whole():
    steps = [m for n in range(4) for m in (code(f"step({n})"), out(long(1_000)))]
    size = measure().size(steps[1])
    fitted = fit([asks("Do this."), *steps], 2 * size, measure())
    short = ["characters left out" in str(m.content) for m in fitted.messages[2::2]]
    assert short == [True, True, True, False]


def test_in_the_extreme_only_the_question_is_sent():
    question = asks(long(300))
    messages = [*turn(0), question, code("x = '''" + long(2_000) + "'''"), out(long(3_000))]
    room = measure().size(question) + 150
    fitted = fit(messages, room, measure())
    assert question in fitted.messages
    assert all(m.role in ("user", "computer") for m in fitted.messages)
    assert fitted.tokens <= room


def test_a_question_that_does_not_fit_is_said_with_figures():
    question = asks(long(5_000))
    with pytest.raises(WindowError) as raised:
        fit([*turn(0), question], 2_000, measure(), None, WINDOW)
    tokens = measure().size(question)
    assert str(raised.value).startswith(
        f"your question has about {tokens:,} tokens and 2,000 are left in the model's window of "
        "8,192 tokens beside the instructions and the answer: nothing was sent."
    )
    with pytest.raises(WindowError, match="there is no room in the model's window"):
        fit([question], -5, measure(), None, WINDOW)


def test_a_key_at_the_edge_of_a_cut_is_not_sent_by_half(monkeypatch):
    key = "sk-" + "q7" * 30
    monkeypatch.setenv("SOME_API_KEY", key)
    for before in (0, 480, 497, 120, 155):
        output = "x" * before + key + " " + long(2_000)
        messages = [m for n in range(8) for m in turn(n, output)] + [asks("Last?")]
        for room in (1_500, 6_000):
            fitted = fit(messages, room, measure())
            assert fitted.cut is not None
            said = json.dumps(chat_of(fitted.messages))
            assert "q7q7q7" not in said
            assert before or "SOME_API_KEY" in said


# What was left out stays left out -----------------------------------------------------------------


def test_what_was_cut_stays_cut_until_it_is_too_long_again():
    messages = [m for n in range(40) for m in turn(n)]
    meter, cut, heads = measure(), None, []
    for n in range(40, 200):
        messages += turn(n)
        fitted = fit([*messages, asks("And?")], 3_000, meter, cut)
        assert fitted.tokens <= 3_000
        cut = fitted.cut
        assert cut is not None
        heads.append(fitted.messages[0].content)
    changes = sum(a != b for a, b in pairwise(heads))
    assert 0 < changes < len(heads) / 5


def test_a_prompt_cache_finds_the_same_beginning_again():
    messages = [m for n in range(60) for m in turn(n, long(300))]
    meter, sent = measure(), Sent()

    def chat() -> list[dict[str, Any]]:
        nonlocal cut
        fitted = fit(messages, 4_000, meter, cut)
        cut = fitted.cut
        return sent.request(messages, Brief(), Abilities(tools=True, vision=False), fitted)

    cut = None
    messages.append(asks("And?"))
    before = chat()
    messages += [says("Nothing."), asks("And then?")]
    assert chat()[: len(before)] == before


def test_what_was_cut_stays_cut_when_a_setting_changes():
    model = LiteLLMModel("openai/m", api_base="http://127.0.0.1:9/v1", context_window=6_000)
    messages = [m for n in range(60) for m in turn(n, long(100))] + [asks("Last?")]
    before, _ = model._window.fit(messages, Brief(), True, True, False)
    assert before.cut is not None
    for brief, tools, vision in ((Brief(), True, False), (Brief(max_output=900), False, True)):
        again, _ = model._window.fit(messages, brief, tools, vision, False)
        assert again.cut is before.cut


def test_when_the_conversation_is_another_one_it_is_cut_anew():
    meter = measure()
    first = fit([m for n in range(60) for m in turn(n)], 2_000, meter)
    other = [m for n in range(100, 103) for m in turn(n)]
    again = fit(other, 2_000, meter, first.cut)
    assert again.cut is None
    assert again.messages == other


def test_each_message_is_counted_once():
    counted: list[str] = []

    def count(texts: Sequence[str]) -> list[int]:
        counted.extend(texts)
        return estimates(texts)

    meter = TokenCounts(count, vision=False, hears=False, max_output=8_000)
    messages = [m for n in range(100) for m in turn(n)]
    cut = fit(messages, 2_000, meter).cut
    for n in range(5):
        messages += turn(1_000 + n)
        before = len(counted)
        cut = fit(messages, 100_000, meter, cut).cut
        assert len(counted) - before <= 5


def test_of_a_long_history_only_what_may_fit_is_counted():
    counted: list[str] = []

    def count(texts: Sequence[str]) -> list[int]:
        counted.extend(texts)
        return estimates(texts)

    meter = TokenCounts(count, vision=False, hears=False, max_output=8_000)
    fit([m for n in range(5_000) for m in turn(n)], 2_000, meter)
    assert len(counted) < 1_000


# Whatever the conversation ------------------------------------------------------------------------

WORDS = st.one_of(st.text(max_size=80), st.integers(1, 3_000).map(long))
MESSAGE = st.one_of(
    st.builds(asks, WORDS),
    st.builds(says, WORDS),
    st.builds(code, WORDS),
    st.builds(out, WORDS),
    st.builds(image, st.sampled_from(["user", "computer"])),
    st.builds(
        lambda words, to: Message("computer", "console", "output", words, to),
        WORDS,
        st.sampled_from(["user", "assistant"]),
    ),
    st.builds(lambda words: Message("computer", "code", "html", f"<p>{words}</p>"), WORDS),
    st.just(FILE := Message("user", "file", "path", "notes.txt")),
)


def test_where_the_last_step_has_no_room_no_step_is_sent():
    steps = [says(long(44)), out("0000"), code(long(71))]
    messages, meter = [FILE, says(""), FILE, *steps], measure()
    room = meter.size(FILE) + meter.size(steps[-1]) - 1
    sent = fit(messages, room, meter)
    assert sent.tokens <= room
    assert not [each for each in steps if each in sent.messages]
    assert [each.content for each in sent.messages if "left out here" in each.content]


@given(st.lists(MESSAGE, max_size=25), st.integers(300, 12_000), st.booleans(), st.booleans())
@example([FILE, says(""), FILE, says(long(44)), out("0000"), code(long(71))], 4297, False, False)
def test_whatever_is_sent_fits_is_whole_and_has_the_question(messages, room, tools, vision):
    meter = measure(vision=vision)
    try:
        fitted = fit(messages, room, meter)
    except WindowError:
        first, end = budget.question(messages)
        assert first == end or sum(map(meter.size, messages[first:end])) > room
        return
    assert fitted.tokens == sum(map(meter.size, fitted.messages)) <= room
    images = sum(each.type == "image" and each.recipient != "user" for each in fitted.messages)
    assert not vision or fitted.tokens >= images * budget.IMAGE_TOKENS
    first, end = budget.question(messages)
    asked = messages[first:end]
    if not asked:
        return
    at = [i for i in range(len(fitted.messages)) if fitted.messages[i : i + len(asked)] == asked]
    assert at, "the last question is whole"
    chat = to_chat(fitted.messages, Brief(), tools=tools, vision=vision)
    assert_acceptable(chat)
    size = sum(estimate(json.dumps(each, ensure_ascii=False)) for each in chat)
    assert size <= 1.5 * room + 400  # JSON's own signs are counted here too
    assert fit(messages, room, measure(vision=vision)).messages == fitted.messages
    if fitted.cut is not None:
        more = [*messages, asks("x")]
        try:
            again = fit(more, room, meter, fitted.cut)
        except WindowError:
            return
        assert again.tokens <= room


@given(st.lists(MESSAGE, min_size=2, max_size=25), st.integers(500, 6_000))
def test_a_conversation_that_grows_is_always_acceptable(messages, room):
    meter, sent, cut = measure(vision=False), Sent(), None
    for upto in range(1, len(messages) + 1):
        try:
            fitted = fit(messages[:upto], room, meter, cut)
        except WindowError:
            continue
        cut = fitted.cut
        assert fitted.tokens <= room
        chat = sent.request(messages[:upto], Brief(), Abilities(True, False), fitted)
        assert_acceptable(chat)


@given(st.text())
def test_an_estimate_is_never_nothing(words):
    assert estimate(words) >= 1


# With a model -------------------------------------------------------------------------------------


def next_request(session: Session) -> budget.Tokens:
    """What the next request of this session would take."""
    return session.choice.tokens(session.messages, session.brief())


def tokens_of(body: dict[str, Any]) -> int:
    """How the server counts: a token is four bytes of what it got."""
    return len(json.dumps([body["messages"], body.get("tools")], ensure_ascii=False).encode()) // 4


class SmallWindow(ModelServer):
    """A server that refuses what is longer than its window, by counting."""

    window = 4_000
    words = "This model's maximum context length is {window} tokens. However, you sent {sent}."

    def _pick(self, request: Request) -> Any:
        sent = tokens_of(request.body)
        if sent > self.window:
            said = self.words.format(window=self.window, sent=sent)
            return Refusal(400, said, code="context_length_exceeded")
        return super()._pick(request)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallWindow]:
    for name in ("OPENAI_API_KEY", "LMC_API_BASE", "LMC_API_KEY", "LMC_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with SmallWindow() as server:
        server.turns = [Turn(text("So it is."))]
        yield server


def hundreds(turns: int = 150) -> list[Message]:
    return [m.stamped() for n in range(turns) for m in turn(n, long(40))]


def test_hundreds_of_messages_go_to_a_small_window(small):
    session = Session(model="openai/m", api_base=small.base, tools=True, context_window=4_000)
    session.messages = hundreds()
    for n in range(12):
        for _ in session.ask(f"And {n}?"):
            pass
        body = small.requests[-1].body
        assert tokens_of(body) <= small.window
        assert body["messages"][-1]["content"].endswith(f"And {n}?")
        assert_acceptable(body["messages"])
        assert next_request(session).left_out == session.turns[-1].left_out
        assert session.turns[-1].left_out.startswith("The ")
        assert session.turns[-1].left_out.endswith(
            " oldest messages were left out, so that the conversation fits the model's window "
            "of 4,000 tokens (as you set it)."
        ), session.turns[-1].left_out
    assert len(small.requests) == 12, "none was refused"
    assert len(session.messages) == 4 * 150 + 2 * 12, "the history keeps everything"


def test_a_window_that_nobody_knew_is_learned_from_the_refusal(small):
    session = Session(model="openai/m", api_base=small.base, tools=True)
    session.messages = hundreds()
    notes: list[str] = []
    session.notify = notes.append
    for _ in session.ask("And now?"):
        pass
    assert [tokens_of(each.body) > small.window for each in small.requests] == [True, False]
    assert "openai/m reads only 4,000 tokens: sending a shorter request" in notes
    turn_ = session.turns[-1]
    assert len(turn_.requests) == 2
    assert turn_.left_out.endswith("the model's window of 4,000 tokens (as its provider says).")
    for _ in session.ask("And then?"):
        pass
    assert len(small.requests) == 3, "it is known now"
    assert session.messages[-1].content == "So it is."


def test_what_was_cut_stays_cut_over_a_restart_of_the_kernel(small):
    records: list[dict[str, Any]] = []
    messages = [*hundreds(), asks("And now?").stamped()]

    def ask(exchanges: Exchanges) -> dict[str, Any]:
        model = LiteLLMModel("openai/m", api_base=small.base, tools=True, context_window=4_000)
        brief = Brief("Answer.", exchanges=exchanges)
        seen: list[Sending] = []
        told = model.with_brief(lambda: brief, lambda _: None).with_record(seen.append)
        for _ in told.respond(messages):
            pass
        assert "oldest messages were left out" in seen[0].left_out
        return {"chat": small.requests[-1].body["messages"], "renewal": seen[0].renewal}

    first = ask(Exchanges(lambda record: records.append(json.loads(json.dumps(record)))))
    assert first["renewal"] == "" or "full" in first["renewal"]
    messages += [says("So it is.").stamped(), asks("And then?").stamped()]
    again = Exchanges()
    again.begin(records, messages)
    second = ask(again)
    assert second["chat"][: len(first["chat"])] == first["chat"]
    assert second["renewal"] == ""


def test_a_refusal_without_figures_is_followed_by_one_shorter_request(small):
    small.words = "The context length is exceeded."
    small.window = 5_000
    session = Session(model="openai/m", api_base=small.base, tools=True)
    session.messages = hundreds(60)
    for _ in session.ask("And now?"):
        pass
    sizes = [tokens_of(each.body) for each in small.requests]
    assert len(sizes) == 2
    assert sizes[1] < 0.8 * sizes[0]


def test_a_server_that_refuses_everything_is_asked_twice(small):
    small.window = 10
    session = Session(model="openai/m", api_base=small.base, tools=True)
    with pytest.raises(ModelError):
        for _ in session.ask("And now?"):
            pass
    assert len(small.requests) <= 2
    assert session.messages[-1].content == "And now?"


def test_a_question_longer_than_the_window_is_not_sent(small):
    session = Session(model="openai/m", api_base=small.base, tools=True, context_window=4_000)
    with pytest.raises(ModelError, match=r"your question has about [\d,]+ tokens and [\d,]+ are"):
        for _ in session.ask(long(9_000)):
            pass
    assert small.requests == []


@pytest.mark.parametrize(
    ("said", "window", "was"),
    [
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted "
            "in 9021 tokens.",
            8192,
            9021,
        ),
        ("prompt is too long: 215133 tokens > 200000 maximum", 200_000, 215_133),
        (
            "input length and `max_tokens` exceed context limit: 198500 + 4096 > 200000, decrease "
            "input length",
            200_000,
            None,
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed "
            "(1048576).",
            1_048_576,
            1_200_000,
        ),
        ("the request exceeds the available context size (4096 tokens), try more", 4_096, None),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000 "
            "tokens (4000 in the messages, 5000 in the completion).",
            8_192,
            4_000,
        ),
        ("Current length is 9000 while limit is 8192", 8_192, 9_000),
        ("It is too long.", None, None),
    ],
)
def test_what_a_refusal_says_of_the_window(said, window, was):
    from lmc_jupyter.models.failure import read_window

    assert read_window(said) == (window, was)


# What is said of it -------------------------------------------------------------------------------


def test_the_tokens_of_a_conversation_by_part(small):
    session = Session(model="openai/m", api_base=small.base, tools=True, vision=True)
    session.messages = [*turn(1), image("user"), asks("What is that?")]
    found = next_request(session)
    assert found.window.tokens == budget.DEFAULT_WINDOW
    assert found.window.source == "default"
    assert found.files >= budget.IMAGE_TOKENS
    assert found.instructions > 200
    assert 20 < found.conversation < 400
    assert found.free == found.window.tokens - found.used
    said = str(found)
    assert "a window of 32,000 tokens (the model's own is not known)" in said
    assert "estimate" in said
    assert "context_window" in said
    assert small.requests == []


@pytest.mark.parametrize(
    ("name", "tokens", "counted"),
    [
        ("gpt-4o", 128_000, "by LiteLLM's tokenizer"),
        ("anthropic/claude-sonnet-4-5", 200_000, "for Claude"),
        ("ollama_chat/qwen2.5-coder", 4_096, "estimate"),
    ],
)
def test_the_window_of_a_model_that_litellm_knows(name, tokens, counted, monkeypatch):
    monkeypatch.delenv("OLLAMA_CONTEXT_LENGTH", raising=False)
    found = next_request(Session(model=name, context=False))
    assert (found.window.tokens, found.window.source) == (tokens, "known")
    assert counted in found.how


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # as the worker does
def test_by_the_tokenizer_itself_it_fits_too():
    litellm = loading.load()
    model = LiteLLMModel("gpt-4o", context_window=6_000)
    window = model._window
    messages = [m for n in range(200) for m in turn(n, long(n))] + [asks("Last?")]
    brief = Brief("Answer.", "df: DataFrame")
    fitted, room = window.fit(messages, brief, True, False, False)
    chat = to_chat(fitted.messages, brief, tools=True, vision=False)
    counted = litellm.token_counter(model="gpt-4o", messages=chat)
    assert fitted.cut is not None
    assert 0.5 * room.tokens < counted <= room.tokens + room.overhead
    assert counted <= 6_000 - room.window.answer


def test_a_small_window_is_told_the_newest_names_only(small):
    told = [f"name_{n}: int, {n}" for n in range(300)]
    lines = "\n".join(["… and 7 more names (a, b, …)", *told])
    brief = Brief("Answer.", lines)
    model = LiteLLMModel("openai/m", api_base=small.base, tools=True, context_window=2_000)
    for _ in model.with_brief(lambda: brief, lambda _: None).respond([asks("Now?")]):
        pass
    said = small.requests[0].body["messages"][-1]["content"]
    told = [line for line in said.splitlines() if line.startswith("name_")]
    assert told[-1] == "name_299: int, 299"
    assert 10 < len(told) < 100
    first = 300 - len(told)
    gone = f"… and {first + 7} more names (name_{first - 1}, name_{first - 2}, "
    assert gone in said
    assert f", …)\n{told[0]}" in said
    assert names.fewer_names(lines, 100_000) is lines


def test_a_frame_takes_a_fiftieth_of_the_window_with_the_columns_that_the_question_names(small):
    labels = ", ".join(f"sensor_{n}" for n in range(400))
    brief = Brief("Answer.", f"a: int\nfl: DataFrame, 4 rows, columns int64: {labels}")
    model = LiteLLMModel("openai/m", api_base=small.base, tools=True, context_window=16_000)
    question = asks("Is sensor_7 broken?")
    for _ in model.with_brief(lambda: brief, lambda _: None).respond([question]):
        pass
    said = small.requests[0].body["messages"][-1]["content"]
    line = next(each for each in said.splitlines() if each.startswith("fl: "))
    assert "int64: sensor_7, " in line
    assert "sensor_399" in line
    assert "sensor_100," not in line
    assert 0.01 * 16_000 < estimate(line) <= 0.02 * 16_000 * 1.1
    assert names.fewer_columns(brief.namespace, 10_000, [question]) is brief.namespace


def test_columns_that_the_last_cells_name_come_first_too():
    labels = ", ".join(f"sensor_{n}" for n in range(400))
    namespace = f"a: int\nfl: DataFrame, 4 rows, columns int64: {labels}"
    cell = Part("cell", "In [9]", "In [9]:\nfl.sensor_123.plot()")
    asked = [
        Message("user", "message", content=each, extra=to_extra(parts))
        for each, parts in (("Plot it.", [cell]), ("Is it broken?", []))
    ]
    line = names.fewer_columns(namespace, 320, asked).splitlines()[1]
    assert "sensor_123," in line
    assert "sensor_124," not in line
    assert "sensor_123," not in names.fewer_columns(namespace, 320, asked[1:])


def test_ollama_reads_what_it_is_told_to():
    found = next_request(Session(model="ollama_chat/x", num_ctx=16_384, context=False))
    assert found.window.tokens == 16_384


@pytest.mark.parametrize("value", [0, -1, 12.5, "8k", True])
def test_a_window_that_is_no_number_of_tokens_is_refused(value):
    with pytest.raises(ModelError, match="context_window"):
        LiteLLMModel("openai/m", context_window=value)


def test_a_request_says_what_was_left_out(small):
    model = LiteLLMModel("openai/m", api_base=small.base, tools=True, context_window=4_000)
    seen: list[Sending] = []
    told = model.with_brief(Brief, lambda _: None).with_record(seen.append)
    for _ in told.respond([*hundreds(), asks("Now?")]):
        pass
    assert "oldest messages were left out" in seen[0].left_out
    for _ in told.respond([asks("Now?")]):
        pass
    assert seen[1].left_out == ""


@pytest.mark.parametrize("key", ["max_model_len", "context_length", "loaded_context_length"])
def test_a_server_of_ones_own_is_asked_how_much_it_reads(
    model_server: ModelServer, key: str
) -> None:
    model_server.models = [{"id": "other", key: 7}, {"id": "mine/m", key: 131_072}]
    model = LiteLLMModel("openai/mine/m", api_base=model_server.base, api_key="sk-1", tools=True)
    model_server.turns = [Turn(text("Yes."))]
    for _ in range(2):
        list(model.respond([asks("Now?")]))
    said = model.tokens([asks("Now?")], Brief())
    assert said.window.tokens == 131_072
    assert "as its server says" in said.window.label
    assert len(model_server.lookups) == 1
    assert model_server.lookups[0].headers["authorization"] == "Bearer sk-1"


def test_llama_cpp_says_it_in_its_properties_and_who_does_not_say_reads_the_default(
    model_server: ModelServer,
) -> None:
    model = LiteLLMModel("openai/m", api_base=model_server.base, tools=True)
    assert model.tokens([asks("Now?")], Brief()).window.source == "default"
    model_server.props = {"default_generation_settings": {"n_ctx": 16_384}}
    model = LiteLLMModel("openai/m", api_base=model_server.base, tools=True)
    assert model.tokens([asks("Now?")], Brief()).window.tokens == 16_384
