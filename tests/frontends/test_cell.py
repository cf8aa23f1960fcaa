"""The cell view, drawn on a page that only remembers: what a person would see at each moment."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import pytest
from scripted import ScriptedModel, code, line, picture, printed, said

from lmc_jupyter.computer import Computer
from lmc_jupyter.computer.languages.html import Browser, Html
from lmc_jupyter.context.parts import Part
from lmc_jupyter.context.question import Companions, Unseen
from lmc_jupyter.conversation.history import History
from lmc_jupyter.errors import ModelError, Stopped
from lmc_jupyter.frontends.cell import asking
from lmc_jupyter.frontends.cell.card import Card
from lmc_jupyter.frontends.cell.cell import CellView
from lmc_jupyter.frontends.cell.html import names_html
from lmc_jupyter.frontends.cell.painter import Painter
from lmc_jupyter.frontends.screen import CellScreen
from lmc_jupyter.frontends.view import play
from lmc_jupyter.kernel.changes import Changes
from lmc_jupyter.kernel.runner import run_blocking
from lmc_jupyter.lmc import Chunk, Message
from lmc_jupyter.models.request import Request
from lmc_jupyter.session import Session
from lmc_jupyter.turn import turns


class Page:
    """A display that remembers what stands where, and every state that it had."""

    shows_updates = True
    repeats_updates = False

    def __init__(self) -> None:
        self.bundles: dict[str, dict[str, Any]] = {}
        self.history: list[str] = []
        self.changed = threading.Condition()

    def show(self, data, display_id):
        assert display_id not in self.bundles, "shown twice"
        self._put(data, display_id)

    def flush(self): ...

    def update(self, data, display_id):
        assert display_id in self.bundles, "updated before it was shown"
        self._put(data, display_id)

    def _put(self, data, display_id):
        with self.changed:
            self.bundles[display_id] = data
            self.history.append(self.text())
            self.changed.notify_all()

    def html(self) -> str:
        return "\n".join(bundle.get("text/html", "") for bundle in self.bundles.values())

    def text(self) -> str:
        """What a reader sees: the tags and the style taken off."""
        without_style = re.sub(r"<style>.*?</style>", "", self.html(), flags=re.S)
        return re.sub(r"<[^>]+>", " ", without_style)

    def plain(self) -> str:
        return "\n".join(str(bundle["text/plain"]) for bundle in self.bundles.values())


class Language:
    """Says prepared pieces; `native` as the live python is, whose output the kernel shows."""

    aliases = ()

    def __init__(self, name: str, *pieces: Chunk, native: bool = False) -> None:
        self.name, self.pieces, self.native = name, pieces, native

    def run(self, code: str) -> Generator[Chunk, None, None]:
        yield from self.pieces

    def close(self) -> None: ...


def answer(model, *languages, ask=None, auto_run=False, fails=None):
    session = Session(model=model, computer=Computer(*languages), auto_run=auto_run)
    page = Page()
    view = CellView(session, page, ask=ask)
    if fails is None:
        play(session.ask("Go."), view)
    else:
        with pytest.raises(fails):
            play(session.ask("Go."), view)
    return page, session


PYTHON = Language("python", line(1), printed("42\n"), native=True)


class Paper(Page):
    """A console: what was printed stays, and no update of it is shown."""

    shows_updates = False

    def __init__(self) -> None:
        super().__init__()
        self.printed: list[str] = []

    def show(self, data, display_id):
        super().show(data, display_id)
        self.printed.append(str(data["text/plain"]))


def test_where_updates_are_not_known_to_be_seen_every_message_is_shown_once_and_whole(monkeypatch):
    model = ScriptedModel(
        [said("I "), said("add."), code("x = 1\n"), code("y = 2\n"), code("x + y")],
        [said("It "), said("is 3.")],
    )
    session = Session(model=model, computer=Computer(PYTHON))
    page, asked = Paper(), []

    def ask(_question):
        asked.append("\n".join(page.printed))
        return "y"

    monkeypatch.setattr(asking, "HELLO_SECONDS", 0.0)  # nobody has said hello in time
    person = FakePerson()
    view = CellView(session, page, lambda _wake: person, ask)
    play(session.ask("Go."), view)
    (before,) = asked
    assert before.count("I add.") == before.count("x = 1\ny = 2\nx + y") == 1
    shown = "\n".join(page.printed)
    assert shown.count("x + y") == shown.count("It is 3.") == 1
    assert shown.splitlines()[-1].startswith("[Done")


def test_words_that_came_before_a_front_end_said_hello_are_drawn_when_it_does():
    come, go_on = threading.Event(), threading.Event()

    class Pausing:
        def respond(self, _messages):
            yield said("Half ")
            yield said("a sentence")
            come.set()
            go_on.wait(30)

    session = Session(model=Pausing(), computer=Computer(PYTHON))
    page, person = Paper(), FakePerson()
    view = CellView(session, page, lambda wake: setattr(person, "wake", wake) or person)
    worker = threading.Thread(target=play, args=(session.ask("Go."), view))
    worker.start()
    assert come.wait(30)
    assert "Half" not in page.plain()  # a console would keep half a sentence
    person.here.set()
    person.says("bar", {"kind": "ready", "id": "r"})
    with page.changed:
        assert page.changed.wait_for(lambda: "Half a sentence" in page.plain(), timeout=30)
    go_on.set()
    worker.join(30)
    assert not worker.is_alive()


def test_text_is_drawn_and_the_record_says_done():
    page, _ = answer(ScriptedModel([said("The **an"), said("swer**.")]), PYTHON)
    assert "<strong>answer</strong>" in page.html()
    assert "Done" in page.text()
    assert "The **answer**." in page.plain()


def test_what_is_put_into_the_conversation_before_the_answer_is_no_part_of_its_cell():
    session = Session(model=ScriptedModel([said("Seen.")]), computer=Computer(PYTHON))
    page = Page()
    view = CellView(session, page)
    earlier = [
        Message("user", "message", content="Look."),
        Message("computer", "console", "output", "41"),
    ]
    play(session.ask([*earlier, Message("user", "message", content="And now?")]), view)
    assert "Seen." in page.text()
    assert "41" not in page.text()


class Paid(ScriptedModel):
    """A scripted model whose requests take tokens and cost; one that fails was not sent."""

    usage = None

    def with_record(self, record: Any) -> Paid:
        self.record = record
        return self

    def respond(self, messages: Any) -> Generator[Chunk, None, None]:
        pieces = list(super().respond(messages))
        request = Request("m", {})
        self.record(request)
        yield from pieces
        request.end(1000, 200, 0.00002)
        self.usage = request


def test_the_record_says_what_all_requests_of_the_answer_took():
    model = Paid([code("1", end=True)], [said("Done.")], [ModelError("no")])
    page, session = answer(model, PYTHON, ask=lambda _: "y")
    assert "2,400 tokens (counted) · $0.000040" in page.text()
    again = Page()
    with pytest.raises(ModelError):
        play(session.ask("Go."), CellView(session, again))
    assert "Failed" in again.text()
    assert "tokens" not in again.text()


def test_code_that_was_let_run_says_so_and_python_output_is_left_to_the_kernel():
    model = ScriptedModel([code("6*7")], [said("It is 42.")])
    page, session = answer(model, PYTHON, ask=lambda _: "y")
    assert "you ran this" in page.text()
    assert session.messages[2].content == "42\n"
    assert ">42" not in page.html()
    assert "It is 42." in page.text()


def test_where_a_page_takes_the_style_away_no_two_words_stand_as_one():
    """An untrusted notebook, such as somebody else's, is shown without it."""
    page, _ = answer(ScriptedModel([code("6*7")], [said("It is 42.")]), PYTHON, ask=lambda _: "y")
    words = re.sub("<style>.*?</style>|<[^>]+>", "", page.html(), flags=re.DOTALL)
    assert "python you ran this" in words
    assert re.search(r"\bDone \d", words)
    chips = names_html(Changes(new=("df",), changed=("x", "y")))
    assert re.sub("<[^>]+>", "", chips) == "+ df ~ x ~ y"


def test_output_that_the_kernel_does_not_show_is_drawn():
    shell = Language("shell", line(1), printed("<b>files</b>\n"), picture(), printed("more"))
    model = ScriptedModel([code("ls", "shell")], [said("Done.")])
    page, _ = answer(model, shell, ask=lambda _: "yes")
    assert "&lt;b&gt;files&lt;/b&gt;" in page.html()
    assert "data:image/png;base64," in page.html()
    assert "more" in page.text()


def test_code_that_was_declined_says_so_and_why():
    model = ScriptedModel([code("rm -rf")], [said("Fine.")])
    page, session = answer(model, PYTHON, ask=lambda _: "it deletes files")
    assert "not run" in page.text()
    assert "it deletes files" in page.text()
    assert session.messages[2].content == "This code was not run: it deletes files."
    assert '<div class="lmc-note">Not run: it deletes files.' in page.html()


def test_where_nobody_can_be_asked_nothing_runs_and_the_output_says_so():
    page, session = answer(ScriptedModel([code("6*7")], [said("Well.")]), PYTHON)
    assert "nobody can be asked here" in page.text()
    assert "--auto-run" in page.text()
    assert not any(message.content == "42\n" for message in session.messages)


def test_auto_run_asks_nobody_and_says_so():
    asked = []
    model = ScriptedModel([code("6*7")], [said("42.")])
    page, _ = answer(model, PYTHON, ask=asked.append, auto_run=True)
    assert asked == []
    assert "ran without asking" in page.text()


def test_the_question_on_the_keyboard_comes_after_the_code_is_on_the_page():
    seen = []
    page = Page()
    session = Session(model=ScriptedModel([code("6*7")], [said("42.")]), computer=Computer(PYTHON))

    def ask(question: str) -> str:
        seen.append(page.text())
        assert "python" in question
        return "y"

    play(session.ask("Go."), CellView(session, page, ask=ask))
    assert len(seen) == 1
    assert "6" in seen[0]
    assert "Waiting for your decision" in seen[0]


def test_an_error_of_the_model_keeps_the_partial_text_and_says_failed():
    model = ScriptedModel([said("Half a sen"), ModelError("the connection broke")])
    page, session = answer(model, PYTHON, fails=ModelError)
    assert "Half a sen" in page.text()
    assert "Failed" in page.text()
    assert session.messages[-1].extra == {"partial": True}


def test_code_that_broke_off_is_shown_and_not_offered():
    model = ScriptedModel([code("import o"), ModelError("the connection broke")])
    page, session = answer(model, PYTHON, ask=lambda _: "y", fails=ModelError)
    assert "import" in page.text()
    assert "not run" in page.text()
    assert session.pending is None


def test_the_active_line_is_marked_while_code_runs_and_not_in_the_record():
    marked = threading.Event()

    class Slow(Language):
        def run(self, code):
            yield line(2)
            with page.changed:
                assert page.changed.wait_for(lambda: 'lmc-now">' in page.html(), timeout=30)
            marked.set()

    model = ScriptedModel([code("a = 1\nb = 2\nc = 3")], [said("ok")])
    page = Page()
    session = Session(model=model, computer=Computer(Slow("python", native=True)))
    play(session.ask("Go."), CellView(session, page, ask=lambda _: "y"))
    assert marked.is_set()
    assert 'lmc-now">' not in page.html()


def test_what_changes_while_a_card_is_drawn_for_the_last_time_is_in_the_record(monkeypatch):
    session, page = Session(model=ScriptedModel()), Page()
    painter = Painter(session, page, None)
    card = Card(Message("assistant", "code", "python", "6*7"), session.history)
    card.over = True
    painter.cards.append(card)
    usual = Card.render

    def render(card):
        drawn = usual(card)
        if not card.status:
            card.status = "a late word"
            painter.soil(card)
        return drawn

    monkeypatch.setattr(Card, "render", render)
    painter.flush(card)
    assert "a late word" not in page.text()
    painter._is_closed = True  # its thread ends before it has drawn once more
    painter.start(lambda: None, lambda _: None)
    painter.close()
    assert "a late word" in page.text()


def test_thoughts_are_folded_and_what_is_for_the_model_too():
    model = ScriptedModel(
        [said("hm hm", recipient="user"), said("Yes."), said("to itself", recipient="assistant")]
    )
    page, _ = answer(model, PYTHON)
    assert "<details><summary>Thoughts</summary>" in page.html()
    assert re.search(r"<details><summary>For the model</summary><p>to itself", page.html())


KINDS = [
    ("message", None, "some words"),
    ("console", "output", "some words\n"),
    ("code", "python", "some_words"),
    ("code", "html", "<b>some words</b>"),
    ("image", "base64.png", "iVBORw0KGgo="),
    ("file", "path", "/some/words.csv"),
    ("audio", "wav", "/some/words.wav"),
    ("audio", "wav", "UklGRiQAAABXQVZF" * 1000),
]


@pytest.mark.parametrize(("type_", "format_", "content"), KINDS)
def test_every_kind_is_folded_when_it_is_for_the_model_and_shown_when_for_the_person(
    type_, format_, content
):
    for recipient in ("assistant", "user"):
        shown = Language("shell", Chunk("computer", type_, format_, content, recipient, end=True))
        model = ScriptedModel([code("go", "shell")], [said("Done.")])
        page, session = answer(model, shown, ask=lambda _: "y")
        of_it = [each for each in page.bundles.values() if "For the model" in str(each)]
        assert len(of_it) == (recipient == "assistant")
        html = page.html()
        word = {"image": "data:image/png", "code": "some"}.get(type_, "words")
        assert (word if len(content) < 1000 else "wav, 12 kB") in html
        assert ("<iframe" in html) == (format_ == "html" and recipient == "user")
        told = [message for message in session.messages if message.recipient == recipient]
        assert [message.type for message in told] == [type_]


def test_nothing_in_the_record_is_script_style_or_markdown_of_the_model():
    model = ScriptedModel([said("<script>x</script>![i](http://e.example/i.png)<img src=x>")])
    page, _ = answer(model, PYTHON)
    assert "<script" not in page.html()
    assert "<img" not in page.html()
    for bundle in page.bundles.values():
        assert set(bundle) == {"text/html", "text/plain"}


def test_a_stop_while_it_waits_runs_nothing_and_keeps_the_code_to_be_asked_again():
    session = Session(model=ScriptedModel([code("6*7")]), computer=Computer(PYTHON))
    page = Page()
    person = FakePerson()
    view = CellView(session, page, lambda wake: person.waking(wake))
    worker = threading.Thread(target=_played, args=(session, view))
    worker.start()
    with page.changed:
        assert page.changed.wait_for(lambda: person.asked_on(page), timeout=30)
    person.says("bar", {"kind": "stop", "id": "1"})
    worker.join(30)
    assert session.pending is not None
    assert "Stopped" in page.text()
    assert "not run" in page.text()


def test_a_stop_from_elsewhere_ends_the_question_on_the_keyboard_and_runs_nothing():
    session = Session(model=ScriptedModel([code("6*7")]), computer=Computer(PYTHON))
    page, asked = Page(), threading.Event()

    def ask(_question):
        asked.set()
        threading.Event().wait(30)  # the input of a kernel ends by an interrupt alone
        return "y"

    def stop():
        assert asked.wait(30)
        session.stop()

    threading.Thread(target=stop).start()
    view = CellView(session, page, ask=ask)
    with pytest.raises(Stopped):
        run_blocking(lambda: play(session.ask("Go."), view), stop=session.stop)
    assert session.pending is not None
    assert "Stopped" in page.text()
    assert "not run" in page.text()


def test_a_stop_from_elsewhere_ends_the_wait_for_a_line_that_code_asks_for():
    session, asked = Session(model=ScriptedModel()), threading.Event()
    view = CellView(session, Page())

    def read():
        asked.set()
        threading.Event().wait(30)
        return "typed"

    def stop():
        assert asked.wait(30)
        session.stop()

    threading.Thread(target=stop).start()
    with pytest.raises(KeyboardInterrupt):
        run_blocking(lambda: view.read_line(read), stop=session.stop)
    with pytest.raises(KeyboardInterrupt):
        view.read_line(lambda: "after the stop")
    view.close()


def test_a_stop_just_before_the_question_on_the_keyboard_asks_nobody():
    class Stopping(Page):
        def _put(self, data, display_id):
            super()._put(data, display_id)
            if "Waiting for your decision" in self.text() and not session.stopped:
                session.stop()

    session = Session(model=ScriptedModel([code("6*7")]), computer=Computer(PYTHON))
    asked = []
    with pytest.raises(Stopped):
        play(session.ask("Go."), CellView(session, Stopping(), ask=asked.append))
    assert asked == []


def _played(session, view):
    try:
        play(session.ask("Go."), view)
    except Stopped:
        return


class FakeWidget:
    def __init__(self, kind: str) -> None:
        self.kind, self.sent = kind, []
        self.heard = threading.Condition()

    def bundle(self):
        return {"application/vnd.jupyter.widget-view+json": self.kind, "text/plain": self.kind}

    def send(self, content):
        with self.heard:
            self.sent.append(content)
            self.heard.notify_all()

    def page(self):
        with self.heard:
            assert self.heard.wait_for(lambda: self.sent, timeout=30)
        return self.sent[0]

    def question(self):
        with self.heard:
            assert self.heard.wait_for(
                lambda: any(m["kind"] == "ask" for m in self.sent), timeout=30
            )
        return next(m for m in self.sent if m["kind"] == "ask")


class FakePerson:
    """Somebody with buttons, whose clicks come as the front end would send them."""

    def __init__(self) -> None:
        self.here = threading.Event()
        self.will_answer = False
        self.inbox: list[tuple[str, dict[str, Any]]] = []
        self.bar, self.ask = FakeWidget("bar"), FakeWidget("ask")
        self.pages: list[FakeWidget] = []
        self.closed = False

    def waking(self, wake):
        self.wake = wake
        self.here.set()
        return self

    def page(self):
        self.pages.append(FakeWidget("page"))
        self.pages[-1].model_id = f"page {len(self.pages)}"
        return self.pages[-1]

    def renew(self):
        self.ask = FakeWidget("ask again")
        return self.ask

    def says(self, kind, content):
        self.inbox.append((kind, content))
        self.wake()

    def asked_on(self, page):
        kinds = [b.get("application/vnd.jupyter.widget-view+json") for b in page.bundles.values()]
        return "ask" in kinds

    def close(self):
        self.closed = True


def pressed(decision_of, model=None):
    """Play an answer whose question is answered by `decision_of(question)` clicks."""
    model = model or ScriptedModel([code("6*7")], [said("ok")])
    session = Session(model=model, computer=Computer(PYTHON))
    page, person = Page(), FakePerson()
    view = CellView(session, page, person.waking)
    worker = threading.Thread(target=play, args=(session.ask("Go."), view))
    worker.start()
    with page.changed:
        assert page.changed.wait_for(lambda: person.asked_on(page), timeout=30)
    person.says("ask", {"kind": "ready", "id": "r"})
    question = person.ask.question()
    for click in decision_of(question):
        person.says("ask", click)
    worker.join(30)
    assert not worker.is_alive()
    return page, session, question, person


def click(question, **more):
    return {
        "kind": "decision",
        "id": "c",
        "proposal": question["proposal"],
        "digest": question["digest"],
        **more,
    }


def test_buttons_that_no_page_could_draw_are_made_anew(monkeypatch):
    monkeypatch.setattr(asking, "DRAWN_SECONDS", (0.01,), raising=False)
    session = Session(model=ScriptedModel([code("6*7")], [said("ok")]), computer=Computer(PYTHON))
    page, person = Page(), FakePerson()
    view = CellView(session, page, person.waking)
    worker = threading.Thread(target=play, args=(session.ask("Go."), view), daemon=True)
    worker.start()

    def shows_new_buttons():
        return "ask again" in [
            bundle.get("application/vnd.jupyter.widget-view+json")
            for bundle in page.bundles.values()
        ]

    with page.changed:  # the first ones say "hello", and are never "ready"
        assert page.changed.wait_for(shows_new_buttons, timeout=10)
    person.says("ask", {"kind": "ready", "id": "r"})
    person.says("ask", click(person.ask.question(), decision="run"))
    worker.join(30)
    assert not worker.is_alive()
    assert any(message.content == "42\n" for message in session.messages)


def test_a_click_on_run_runs_the_exact_code_that_was_sent_to_be_shown():
    page, session, question, person = pressed(lambda q: [click(q, decision="run")])
    assert question["code"] == "6*7"
    assert "".join(text for row in question["lines"] for _, text in row) == "6*7"
    assert session.messages[2].content == "42\n"
    assert "you ran this" in page.text()
    assert person.closed
    assert not any("widget" in key for bundle in page.bundles.values() for key in bundle)


def test_code_of_an_earlier_answer_is_asked_about_by_buttons_in_the_cell_that_goes_on():
    session = Session(ScriptedModel([code("6*7")], [said("ok")]), computer=Computer(PYTHON))
    reply = session.ask("Go.")
    while next(reply).type != "confirmation":
        pass
    reply.close()
    page, person = Page(), FakePerson()
    worker = threading.Thread(
        target=play, args=(session.ask(), CellView(session, page, person.waking))
    )
    worker.start()
    with page.changed:
        assert page.changed.wait_for(lambda: person.asked_on(page), timeout=30)
    person.says("ask", {"kind": "ready", "id": "r"})
    person.says("ask", click(person.ask.question(), decision="run"))
    worker.join(30)
    assert not worker.is_alive()
    assert session.messages[2].content == "42\n"
    assert "you ran this" in page.text()


def test_an_edit_runs_and_is_kept_as_an_edit():
    page, session, _, _ = pressed(lambda q: [click(q, decision="run", code="7*6")])
    assert session.messages[1].content == "7*6"
    assert session.messages[1].extra == {"edited": True}
    assert "you edited and ran this" in page.text()


def test_a_click_on_dont_run_tells_the_model_why():
    page, session, _, _ = pressed(lambda q: [click(q, decision="decline", reason="too slow")])
    assert session.messages[2].content == "This code was not run: too slow."
    assert "not run" in page.text()


@pytest.mark.parametrize(
    "forged",
    [
        {"proposal": "0" * 32},
        {"digest": "0" * 64},
        {"digest": None},
        {"decision": "yes"},
        {"decision": "run", "code": 7},
        {"decision": "decline", "reason": ["x"]},
    ],
)
def test_a_click_that_does_not_fit_the_question_decides_nothing(forged):
    def clicks(question):
        yield click(question, **{"decision": "run", **forged})
        yield click(question, decision="decline", reason="the right one")

    _, session, _, _ = pressed(clicks)
    assert session.messages[2].content == "This code was not run: the right one."


def test_a_second_click_changes_nothing():
    def clicks(question):
        yield click(question, decision="run")
        yield click(question, decision="decline")

    _, session, _, _ = pressed(clicks)
    assert session.messages[2].content == "42\n"


def test_two_answers_to_one_question_are_no_answer_to_the_next():
    """Buttons pressed in two tabs, or again after the kernel was slow to hear."""
    model = ScriptedModel([code("first")], [code("second")], [said("ok")])
    ran = []

    class Remembers(Language):
        def run(self, code):
            ran.append(code)
            yield from super().run(code)

    session = Session(model=model, computer=Computer(Remembers("python", line(1), native=True)))
    page, person = Page(), FakePerson()
    worker = threading.Thread(
        target=_played, args=(session, CellView(session, page, person.waking))
    )
    worker.start()
    with page.changed:
        assert page.changed.wait_for(lambda: person.asked_on(page), timeout=30)
    person.says("ask", {"kind": "ready", "id": "r"})
    both = click(person.ask.question(), decision="run")
    person.inbox += [("ask", {**both, "id": "1"}), ("ask", {**both, "id": "2"})]
    person.wake()
    with page.changed:  # the second question stands there, and only a stop ends it
        assert page.changed.wait_for(
            lambda: person.asked_on(page) and len(model.seen) == 2, timeout=30
        )
    person.says("bar", {"kind": "stop", "id": "3"})
    worker.join(30)
    assert not worker.is_alive()
    assert ran == ["first"]
    assert session.pending is not None


class Careful(Language):
    """Python whose `!` is shell, as the live one's is."""

    def uses(self, code):
        return {"shell"} if code.startswith("!") else set()


def test_an_edit_that_policy_denies_is_said_to_be_not_run():
    model = ScriptedModel([code("1")], [said("ok")])
    session = Session(model, Computer(Careful("python", line(1), native=True)), deny=["shell"])
    page, person = Page(), FakePerson()
    worker = threading.Thread(
        target=_played, args=(session, CellView(session, page, person.waking))
    )
    worker.start()
    with page.changed:
        assert page.changed.wait_for(lambda: person.asked_on(page), timeout=30)
    person.says("ask", {"kind": "ready", "id": "r"})
    person.says("ask", click(person.ask.question(), decision="run", code="!ls"))
    worker.join(30)
    assert "Not run: your policy forbids shell." in page.text()
    assert "running" not in page.text()
    assert "you edited" not in page.text()


def test_the_record_of_code_that_was_stopped_does_not_say_that_it_runs():
    class Stops(Language):
        def run(self, code):
            yield line(1)
            raise KeyboardInterrupt

    model = ScriptedModel([code("1")], [said("ok")])
    page, _ = answer(model, Stops("python", native=True), auto_run=True, fails=KeyboardInterrupt)
    assert "running" not in page.text()
    assert "ran without asking · stopped after" in page.text()
    assert len(re.findall(r"\d s\b", page.text())) == 1, "one time, that of the block"


TRACEBACK = "Traceback (most recent call last):\nZeroDivisionError: division by zero\n"


@pytest.mark.parametrize(
    ("output", "seconds", "words"),
    [
        ("42\n", 0.049, "[python, ran without asking]"),
        ("42\n", 0.05, "[python, ran without asking · 0.1 s]"),
        (TRACEBACK, 0.049, "[python, ran without asking · failed]"),
        (TRACEBACK, 7.0, "[python, ran without asking · failed after 7.0 s]"),
    ],
)
def test_how_long_code_ran_is_said_where_that_is_a_time_to_a_person(
    output, seconds, words, monkeypatch
):
    now = [1.0]

    class Takes(Language):
        def run(self, code):
            yield line(1)
            now[0] += seconds
            yield printed(output)

    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: now[0]))
    page, _ = answer(ScriptedModel([code("1")], [said("ok")]), Takes("python"), auto_run=True)
    assert words in page.plain().splitlines()


def test_the_plain_text_of_the_record_holds_no_control_characters():
    escape = "\x1b]0;title\x07\x1b[2J"
    model = ScriptedModel([said(f"Hi{escape}!")], [code(f"1 # {escape}", f"py{escape}")])
    page, _ = answer(model, PYTHON)
    assert "\x1b" not in page.plain()
    assert "\x07" not in page.plain()


# HTML that the computer shows ---------------------------------------------------------------------


def shown(source, language, *reports):
    """Play an answer that shows this, to somebody whose browser says so of it."""
    session = Session(
        model=ScriptedModel([code(source, language)], [said("ok")]),
        computer=Computer(Html(), Browser()),
        auto_run=True,
    )
    page, person = Page(), FakePerson()
    view = CellView(session, page, person.waking)
    session.computer.screen = CellScreen(view.pages, view.has_browser, None)
    worker = threading.Thread(target=play, args=(session.ask("Go."), view))
    worker.start()
    with page.changed:
        assert page.changed.wait_for(lambda: _holds(page, "page"), timeout=30)
    (widget,) = person.pages
    person.says(widget.model_id, {"kind": "ready", "id": "r"})
    sent = widget.page()
    person.says(widget.model_id, {"kind": "stop", "id": "s"})  # a page stops nothing
    for report in reports:
        person.says(widget.model_id, {"kind": "page", "id": "p", "at": -1, "page": report})
    worker.join(60)
    assert not worker.is_alive()
    assert not _holds(page, "page")
    assert not any("widget" in key for bundle in page.bundles.values() for key in bundle)
    return page, session, sent


def _holds(page, kind):
    view = "application/vnd.jupyter.widget-view+json"
    return kind in [bundle.get(view) for bundle in page.bundles.values()]


def test_html_is_live_while_the_cell_runs_and_a_frame_without_network_after_it():
    source = "<p title='x'>Sales & \"more\"</p>"
    report = {"lines": ["error: no"], "text": "Sales", "width": 500, "height": 123}
    page, session, sent = shown(source, "html", {"lines": 7}, report)
    assert sent == {"kind": "page", "language": "html", "code": source}
    assert [m.content for m in session.messages[2:4]] == [source, "error: no\n"]
    assert 'style="height:123px"' in page.html()
    assert page.html().count('<iframe sandbox="allow-scripts"') == 1
    assert "allow-same-origin" not in page.html()
    assert "HTML source" in page.text()
    assert source in page.plain()


def test_of_html_with_a_script_the_cell_keeps_how_it_looked_until_it_is_run_again():
    looked = "<html><body><p>drawn</p></body></html>"
    report = {"lines": [], "text": "drawn", "width": 500, "height": 100, "picture": looked}
    page, _, _ = shown("<script>draw()</script>", "html", report)
    record = html.unescape(page.html())
    assert '"isStill": true' in record
    assert f'"picture": {json.dumps(looked)}'.replace("<", "\\u003c") in record
    assert 'style="height:128px"' in record  # with its button


def test_a_script_that_shows_nothing_leaves_its_source_only():
    report = {"lines": ["42"], "text": "", "width": 500, "height": 0}
    page, session, sent = shown("6*7", "browser", report)
    assert sent == {"kind": "page", "language": "javascript", "code": "6*7"}
    assert session.messages[3].content == "42\n"
    assert "<iframe" not in page.html()
    assert "JavaScript source" in page.text()


def test_html_that_is_out_of_sight_has_no_height_and_stays_all_the_same():
    report = {"lines": [], "text": "Sales", "width": 0, "height": 0}
    page, session, _ = shown("<p>Sales</p>", "html", report)
    assert page.html().count('srcdoc="') == 1
    assert 'style="height:320px"' in page.html()
    assert "out of sight now. Its text:)\nSales" in session.messages[3].content


def test_html_that_did_not_finish_is_not_loaded_again():
    report = {"lines": ["It had not finished"], "text": "", "width": 0, "height": 0}
    page, _, _ = shown("<script>for(;;);</script>", "html", report)
    assert "<iframe" not in page.html()
    assert "This HTML did not finish loading." in page.text()


def test_without_a_browser_html_is_a_frame_and_javascript_its_source():
    model = ScriptedModel(
        [code("<b>it</b>", "html")], [code("alert(1)", "browser")], [said("Done.")]
    )
    page, session = answer(model, Html(), Browser(), auto_run=True)
    assert page.html().count('srcdoc="') == 1
    assert "no browser is open" in session.messages[3].content
    assert "alert(1)" in page.plain()


def test_html_is_bounded_in_the_record():
    large = Language("html", Chunk("computer", "code", "html", "x" * 1_500_000, end=True))
    page, _ = answer(ScriptedModel([code("1", "html")], [said("k")]), large, auto_run=True)
    assert "1,500,000 characters of HTML are not saved here" in page.text()
    assert len(page.html()) < 150_000


def test_a_decision_is_none_for_the_policy_to_answer_where_nothing_is_pending():
    session = Session(model=ScriptedModel([]), computer=Computer(PYTHON))
    view = CellView(session, Page())
    assert view.confirm(Chunk("computer", "confirmation", "execution", _ASKED)) is None
    view.close()


_ASKED = {"type": "code", "format": "python", "content": "1"}


def test_a_table_is_drawn_and_is_text_where_nothing_is_drawn():
    table = "<table>\n<tr>\n<td>Graz</td>\n<td>5</td></tr></table>"
    shown = Chunk("computer", "code", "html", table, "user", end=True)
    model = ScriptedModel([code("FROM x", "sql")], [said("Well.")])
    page, _ = answer(model, Language("sql", shown), auto_run=True)
    assert "<td>Graz</td>" in page.html()
    assert "iframe" not in page.html()
    assert "\nGraz 5\n" in page.plain()


def test_a_figure_that_was_not_sent_is_named_below_the_question_with_the_words_to_type():
    unseen = Unseen((13,), "strong-<1> is not known to see images", can_go=True)
    companions = Companions((Part("cell", "In [13]", "In [13]:\nplot()"),), unseen=unseen)
    asked = companions.into(Message("user", "message", content="What is on it?"))
    drawings = Card(asked, History()).render()
    assert "<1>" not in drawings[0]
    for drawn in drawings:
        said = html.unescape(drawn)
        assert "figure of In [13]" in said
        assert unseen.why in said
        assert "`%config LMC.vision = True`" in said
        assert "@cell 13" in said
