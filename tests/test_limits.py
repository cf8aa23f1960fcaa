"""What a conversation holds code to: each limit by itself, in the loop, and two together."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import (
    EchoComputer,
    ScriptedModel,
    assert_stream,
    code,
    drive,
    printed,
    question,
    said,
)

from lmc_jupyter.agent import respond
from lmc_jupyter.errors import GateError, ModelError, ProtocolError
from lmc_jupyter.gate import Decision, Gate
from lmc_jupyter.limits import (
    MAX_BUFFER,
    MAX_MARK,
    Atomic,
    Guard,
    Limits,
    Policy,
    is_mark,
    quantity,
    tokens,
)
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.stream import Assembler, delimit

YES = Decision(run=True)


def answer(limits: Limits, *replies, gate: Gate | None = None):
    """(chunks, messages, code that ran) of an answer under these limits, with every yes given."""
    messages, computer = [question()], EchoComputer()
    model = ScriptedModel(*replies)
    chunks = drive(respond(messages, model, computer, gate=gate, limits=limits), *[YES] * 9)
    assert_stream(chunks)
    return chunks, messages, [ran for _, ran in computer.ran]


def notes(messages: list[Message]) -> list[str]:
    return [each.content for each in messages if "was not run" in str(each.content)]


def test_no_code_runs_where_the_conversation_lets_none_run() -> None:
    chunks, messages, ran = answer(Limits(run=False), [code("1")], [said("Well.")])
    assert ran == []
    assert not [each for each in chunks if each.type == "confirmation"], "and nobody is asked"
    assert "function_calls.enabled" in notes(messages)[0]
    assert "current_session().limits = None" in notes(messages)[0], "what to do is said"


def test_a_reply_runs_so_many_blocks_and_no_more() -> None:
    reply = [code("1"), code("2", start=True), code("3", start=True)]
    _, messages, ran = answer(Limits(max_blocks=2), reply, [said("Well.")])
    assert ran == ["1", "2"]
    assert "2 blocks" in notes(messages)[0]


def test_control_without_a_limit_all_of_them_run(record_property) -> None:
    reply = [code("1"), code("2", start=True), code("3", start=True)]
    _, messages, ran = answer(Limits(), reply, [said("Well.")])
    assert ran == ["1", "2", "3"]
    assert notes(messages) == []
    record_property("figure", "3 of 3 blocks run where the limit would be 2")


def test_the_next_reply_has_its_own_count() -> None:
    _, messages, ran = answer(Limits(max_blocks=1), [code("1")], [code("2")], [said("Well.")])
    assert ran == ["1", "2"]
    assert notes(messages) == []


def test_a_longer_block_is_refused_and_both_are_told() -> None:
    fits, longer = "x" * 40, "x" * 41
    _, messages, ran = answer(Limits(max_block_tokens=10), [code(longer)], [code(fits)])
    assert ran == [fits]
    assert "about 11 tokens" in notes(messages)[0]
    assert messages[2].recipient is None, "the model is told too"


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éé", 1)]
)
def test_tokens_are_bytes_by_four(text: str, count: int) -> None:
    assert tokens(text) == count


def test_a_limit_refuses_what_policy_lets_run() -> None:
    gate = Gate(Policy(allow=frozenset({"*"})))
    _, _, ran = answer(Limits(run=False), [code("1")], gate=gate)
    assert ran == []


numbers = st.none() | st.integers(0, 9)
limits = st.builds(
    Limits,
    numbers,
    numbers,
    st.booleans(),
    st.booleans(),
    st.just((("$$", "$$"),)),
    st.just(("f",)),
)


@given(limits, limits, st.text(max_size=60), st.integers(0, 9))
def test_two_limits_refuse_whatever_one_of_them_refuses(one, other, block, before) -> None:
    both = one.stricter(other)
    assert both == other.stricter(one)
    each = one.refuses(block, before), other.refuses(block, before)
    assert bool(both.refuses(block, before)) == any(each)
    assert both.ask_always == (one.ask_always or other.ask_always)


@pytest.mark.parametrize(
    ("wrong", "value"),
    [
        ({"max_blocks": -1}, "-1"),
        ({"max_blocks": True}, "True"),
        ({"atomic_sequences": (("", "a"),)}, "''"),
        ({"atomic_sequences": ("$$",)}, "'[$][$]'"),
        ({"atomic_sequences": (("a", "b", "c"),)}, "'c'"),
    ],
)
def test_a_limit_that_is_none_is_refused(wrong, value) -> None:
    with pytest.raises(ProtocolError, match=value):
        Limits(**wrong)


def test_what_runs_unasked_may_use_what_it_was_granted_and_nothing_new() -> None:
    guard = Guard(Policy(), lambda language, code: ())
    granted = frozenset({"python", "shell"})
    pieces = guard.watch([printed("1")], "allow", granted)
    next(pieces)
    guard.check(granted)
    with pytest.raises(GateError, match="about julia and r: write that word itself"):
        guard.check({"python", "r", "julia"})
    pieces.close()
    guard.check({"r"})


def test_a_policy_made_of_words_may_let_run_what_changes_nothing() -> None:
    assert Policy.of(run=False, deny=(), changes=True).asks_for_changes
    assert not Policy.of(run=False, deny=()).asks_for_changes


# Atomic sequences ---------------------------------------------------------------------------------

PAIRS = (("$$", "$$"), ("$", "$"), ("\\[", "\\]"), ("<<", ">"), ("ab", "ba"))


def sequences(text: str, pairs=PAIRS) -> list[tuple[int, int]]:
    """Where the sequences of a whole text are, in the words of the rule."""
    found, at = [], 0
    while at < len(text):
        begins = [pair for pair in pairs if text.startswith(pair[0], at)]
        begin, end = max(begins, key=lambda pair: len(pair[0]), default=("", ""))
        stop = text.find(end, at + len(begin), at + len(begin) + MAX_BUFFER) if begin else -1
        if stop < 0:
            at += len(begin) or 1
        else:
            found.append((at, stop + len(end)))
            at = stop + len(end)
    return found


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in pairwise(places)]


texts = st.text("$ab<>\\[]x", max_size=40)


@given(texts, st.lists(st.integers(0, 60)))
def test_a_sequence_is_one_chunk_however_the_text_was_cut(text: str, cuts: list[int]) -> None:
    parts = [each.content for each in Atomic(PAIRS).of(said(part) for part in pieces(text, cuts))]
    assert "".join(parts) == text
    places, at = [], 0
    for part in parts:
        places.append((at, at + len(part)))
        at += len(part)
    assert set(sequences(text)) <= set(places)


@given(texts, st.integers(1, 30), st.lists(st.integers(0, 9_000)))
def test_a_beginning_without_end_is_text_after_a_while(text, times, cuts) -> None:
    whole = "<<" + "x" * (MAX_BUFFER - times) + text + "x" * (2 * times) + text
    atomic = Atomic(PAIRS)
    told, held, parts = "", 0, []
    for part in pieces(whole, cuts):
        parts += [each.content for each in atomic._feed(said(part))]
        told = "".join(parts)
        held = 0 if atomic.buffer is None else len(atomic.buffer.content)
        assert held <= MAX_BUFFER + max(len(begin) for begin, _ in PAIRS)
    assert told + (atomic.buffer.content if held else "") == whole
    parts += [each.content for each in atomic._release()]
    ends = {sum(map(len, parts[: n + 1])) for n in range(len(parts))} | {0}
    for begin, end in sequences(whole):
        assert begin in ends
        assert end in ends


def test_text_that_begins_nothing_goes_on_at_once() -> None:
    feed = Atomic((("$$", "$$"),)).of(iter([said("It is "), said("$"), said("5."), said(" Good.")]))
    assert [each.content for each in feed] == ["It is ", "$5.", " Good."]


def read(*made: Chunk, pairs=PAIRS[:2]) -> list[tuple]:
    """(type, content, start, end) of what comes of these chunks."""
    return [(each.type, each.content, each.start, each.end) for each in Atomic(pairs).of(made)]


def test_of_two_that_begin_alike_the_longer_counts() -> None:
    assert [each[1] for each in read(said("$$a$b$$c"), pairs=PAIRS[1::-1])] == ["$$a$b$$", "c"]
    cut = said("ab", start=True), said("c1x")
    assert [each[1] for each in read(*cut, pairs=(("a", "b"), ("abc", "x")))] == ["abc1x"]


def test_only_the_first_chunk_opens_a_message_and_only_the_last_ends_it() -> None:
    whole = said("a$$b$$c$$", start=True, end=True)
    assert read(code("1"), whole, said("$$d", start=True), code("$$2"), said("e")) == [
        ("code", "1", False, False),
        ("message", "", False, False),  # what came before ends here, though no text is sure yet
        ("message", "a", True, False),
        ("message", "$$b$$", False, False),
        ("message", "c$$", False, False),
        ("message", None, False, True),
        ("message", "$$d", True, False),
        ("code", "$$2", False, False),
        ("message", "", False, False),
        ("message", "e", False, False),
    ]


def test_no_sequence_goes_over_the_border_of_two_messages() -> None:
    two = said("$$a", start=True), said("b$$", start=True)
    assert [each[1] for each in read(*two)] == ["$$a", "b", "$$"]


def test_what_is_not_said_by_the_model_is_not_cut() -> None:
    by_user = Chunk("user", "message", content="a $$b")
    for each in (printed("a $$b"), by_user, code("a = '$$'")):
        assert list(Atomic(PAIRS).of([each])) == [each]


def test_what_was_not_yet_read_is_in_the_buffer() -> None:
    atomic = Atomic(PAIRS[:1])
    parts = atomic._feed(said("a$$b$$c$$d$$e$$", start=True))
    assert next(parts).content == "a"
    assert atomic.buffer == said("$$b$$c$$d$$e$$")
    assert next(parts).content == "$$b$$"
    assert atomic.buffer == said("c$$d$$e$$")


def test_a_beginning_is_text_when_its_end_can_no_longer_come() -> None:
    atomic = Atomic(PAIRS[:1])
    text = "$$" + "x" * MAX_BUFFER
    assert [each.content for each in atomic._feed(said(text))] == [text]
    assert list(atomic._feed(said("$$" + "x" * (MAX_BUFFER - 1)))) == []


def test_flags_of_the_model_stay_where_they_were() -> None:
    made = [said("$$a", start=True), said("$$", end=True), said("b $"), code("1"), said("$$c")]
    messages, assembler = [], Assembler()
    for chunk in delimit(Atomic(PAIRS[:1]).of(made)):
        whole = assembler.feed(chunk)
        messages += [whole.content] if whole else []
    assert messages == ["$$a$$", "b $", "1", "$$c"]


@pytest.mark.parametrize("fails", [True, False])
def test_what_is_held_back_is_kept_when_the_model_fails_or_is_stopped(fails: bool) -> None:
    limits = Limits(atomic_sequences=(("$$", "$$"),))
    messages = [question()]
    model = ScriptedModel([said("So $$x"), ModelError("broken")])
    answering = respond(messages, model, EchoComputer(), limits=limits)
    if fails:
        with pytest.raises(ModelError):
            drive(answering)
    else:
        shown = [next(answering), next(answering)]
        assert shown[1].content == "So "
        answering.close()
    assert messages[-1].content == "So $$x"
    assert messages[-1].extra["partial"]


def test_code_is_offered_before_what_is_held_behind_it() -> None:
    limits = Limits(atomic_sequences=(("$$", "$$"),))
    messages = [question()]
    model = ScriptedModel([code("1"), said("$$x")])  # code without an end: the text is its end
    answering = respond(messages, model, EchoComputer(), limits=limits)
    assert next(chunk for chunk in answering if chunk.type == "confirmation")
    answering.close()
    assert [each.content for each in messages[1:]] == ["1"]


def test_code_and_text_behind_it_are_kept_when_the_model_is_stopped() -> None:
    limits = Limits(atomic_sequences=(("$$", "$$"),))
    messages = [question()]
    model = ScriptedModel([code("1"), said("$$x"), KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        drive(respond(messages, model, EchoComputer(), limits=limits), Decision(False))
    assert [each.content for each in messages if each.role == "assistant"] == ["1", "$$x"]


class Silent:
    """A model that says the beginning of a formula and is then closed."""

    def respond(self, messages):
        yield said("So ")
        yield said("$$x", start=False)
        yield code("never")


def test_a_formula_that_was_cut_off_is_in_the_history() -> None:
    limits = Limits(atomic_sequences=(("$$", "$$"),))
    messages, chunks = [question()], []
    answering = respond(messages, Silent(), EchoComputer(), limits=limits)
    for chunk in answering:
        chunks.append(chunk)
        if chunk.content == "$$x":
            break
    answering.close()
    assert messages[-1].content == "So $$x"
    assert Chunk("assistant", "message", content="$$x") in chunks


def test_a_mark_may_be_as_long_as_the_bound_and_no_longer():
    assert is_mark("x" * MAX_MARK)
    assert not is_mark("x" * (MAX_MARK + 1))
    assert not is_mark("")


def test_a_number_of_things_is_a_phrase():
    assert [quantity(n, "block") for n in (0, 1, 2, 1_000)] == [
        "no block", "1 block", "2 blocks", "1,000 blocks",
    ]  # fmt: skip
