"""The checks of notebooks 02, 03, 05, 06, 07, 09 and 10: whoever did something else is told what,
and never meets an exception."""

from __future__ import annotations

import asyncio
import base64
import re
import sys
import threading
import time
from pathlib import Path

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from lmc_jupyter import Chunk, Message
from lmc_jupyter.computer import Availability, Computer
from lmc_jupyter.computer.tools.catalogue import Server
from lmc_jupyter.context.parts import Part, to_extra

sys.path.insert(0, str(Path(__file__).parents[1] / "notebooks"))
import agents_and_tools
import every_language
import exercises
import explore_data
import images_and_html
import lmc_messages
import tide_server
import what_the_model_sees
import your_own_language
from exercises import Checks

pytestmark = pytest.mark.long


def user(text, **more):
    return Message("user", "message", content=text, **more)


def code(text="1 + 1", language="python", **extra):
    return Message("assistant", "code", language, text).marked(**extra)


def console(text, recipient=None):
    return Message("computer", "console", "output", text, recipient)


def picture(data=b"\x89PNG\r\n\x1a\n..."):
    content = base64.b64encode(data).decode()
    return Message("computer", "image", "base64.png", content)


NO = console("This code was not run: the user declined.")


@pytest.fixture
def verdict(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def of(check, exercise, *messages, **given):
        class Talk:
            pass

        talk = Talk()
        talk.messages = list(messages)
        for module in (agents_and_tools, exercises, images_and_html):
            monkeypatch.setattr(module, "current_session", lambda: talk)
        check(exercise, **given)
        return " ".join(capsys.readouterr().out.split())

    return of


# What all checks share ----------------------------------------------------------------------------


def test_an_unknown_exercise_is_named():
    with pytest.raises(ValueError, match="no exercise 'juggle': choose one of rarest"):
        explore_data.check("juggle")


def test_whatever_a_learner_made_never_ends_in_an_exception(verdict):
    check = Checks()

    @check.exercise("odd", "fine")
    def _odd(value):
        return "" if value > 3 else "too small"

    assert verdict(check, "odd", value=4) == "✓ fine"
    assert verdict(check, "odd", value=1) == "✗ too small"
    assert "ended with TypeError" in verdict(check, "odd", value="x")


@pytest.mark.parametrize(
    ("check", "exercise"),
    [
        (explore_data.check, "means"),
        (explore_data.check, "picture"),
        (images_and_html.check, "decode"),
        (images_and_html.check, "attach"),
        (images_and_html.check, "blocked"),
        (images_and_html.check, "recipient"),
        (every_language.check, "plot"),
        (your_own_language.check, "model"),
    ],
)
def test_who_has_not_asked_is_told_to(verdict, check, exercise):
    assert "You have not asked yet" in verdict(check, exercise, user("hello"))


# Explore data -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rarest", "says"),
    [
        ("", "Write the name of a species"),
        (68, "Write the name of a species"),
        ("Emperor", "no species of the table"),
        ("Gentoo", "There are 124 Gentoo"),
        (" chinstrap", "✓"),
    ],
)
def test_rarest(verdict, rarest, says):
    assert says in verdict(explore_data.check, "rarest", rarest=rarest)


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        (None, "in place of None"),
        ("2", "must be a whole number"),
        (11, "the column `sex`"),
        (7, "It is not 7"),
        (2, "✓"),
    ],
)
def test_missing(verdict, missing, says):
    assert says in verdict(explore_data.check, "missing", missing_weights=missing)


RIGHT = {"Adelie": 3700.7, "Chinstrap": 3733.1, "Gentoo": 5076.0}


@pytest.mark.parametrize(
    ("messages", "means", "says"),
    [
        ([], None, "wrote no code"),
        ([code(), NO], None, "press Edit instead"),
        ([code()], None, "no variable `means` yet"),
        ([code()], None, "add the two lines"),
        ([code()], 4201.75, "one number, 4202"),
        ([code()], "Gentoo", "a number for each species"),
        ([code()], {"Adelie": 3700.7}, "nothing for Chinstrap"),
        ([code()], {**RIGHT, "Gentoo": 1.0}, "1 g for Gentoo: the table says 5076 g"),
        ([code()], RIGHT, "✓"),
    ],
)
def test_means(verdict, messages, means, says):
    asked = user("What is the mean of body_mass_g for each species in the table birds?")
    assert says in verdict(explore_data.check, "means", asked, *messages, means=means)


@pytest.mark.parametrize(
    ("signs", "says"),
    [
        ("+", "must stay a dictionary"),
        ({"Adelie": "+", "Chinstrap": "", "Gentoo": "+"}, 'Write "+" or "-" for Chinstrap'),
        ({"Adelie": "+", "Chinstrap": "+", "Gentoo": "-"}, 'You say "-" for Gentoo'),
        ({"Adelie": "+", "Chinstrap": "+", "Gentoo": "+"}, "✓"),
    ],
)
def test_signs(verdict, signs, says):
    assert says in verdict(explore_data.check, "signs", signs=signs)


@pytest.mark.parametrize(
    ("question", "messages", "says"),
    [
        ("How many birds?", [code(), console("344")], "asks for no picture"),
        ('Draw ... of birds["..."].', [code(), picture()], "dots and all"),
        ('Draw a histogram of birds["..."].', [code(), picture()], "dots and all"),
        ('Plot birds["year"]...', [code(), picture()], "✓"),
        ('Plot birds["year"].', [], "wrote no code"),
        ('Plot birds["year"].', [code(), NO], "press Run"),
        ('Plot birds["year"].', [code(), console("ValueError")], "no picture came"),
        ('Plot birds["year"].', [code(), picture()], "✓"),
    ],
)
def test_picture(verdict, question, messages, says):
    assert says in verdict(explore_data.check, "picture", user(question), *messages)


# Images and HTML ----------------------------------------------------------------------------------


def test_decode(verdict, tmp_path):
    def said(*messages):
        asked = user("Plot sin(x) from 0 to 10.")
        return verdict(images_and_html.check, "decode", asked, *messages)

    shown, file = picture(), tmp_path / "wave.png"
    assert "No picture came" in said(code())
    assert "There is no file" in said(code(), shown)
    for data, says in [
        (b"", "is empty"),
        (shown.content.encode(), "the letters themselves"),
        (b"GIF89a", "is no PNG picture"),
        (b"\x89PNG\r\n\x1a\nanother", "not the one of the last answer"),
        (base64.b64decode(shown.content), "✓"),
    ]:
        file.write_bytes(data)
        assert says in said(code(), shown)


@pytest.mark.parametrize(
    ("it_got", "sent", "says"),
    [
        ("", "…", 'Write "picture" or "sentence"'),
        (True, "…", 'Write "picture" or "sentence"'),
        ("picture", "(A figure was shown.)", "no data:image"),
        ("sentence", '"url": "data:image/png;base64,iVBOR"', "the picture itself"),
        ("sentence", "(A figure was shown.)", "✓"),
        ("Picture", '"url": "data:image/png;base64,iVBOR"', "✓"),
    ],
)
def test_sees(verdict, it_got, sent, says):
    assert says in verdict(images_and_html.check, "sees", it_got=it_got, sent=sent)


def test_attach(verdict):
    asked = user("What is in this picture?")
    image = Message("user", "image", "path", "wave.png")
    assert "no picture went along" in verdict(images_and_html.check, "attach", asked)
    assert "✓" in verdict(images_and_html.check, "attach", image, asked)


BLOCKED = console("Looking…\nblocked: https://example.org/cat.png (img-src; no network)\n")


@pytest.mark.parametrize(
    ("messages", "address", "says"),
    [
        ([code()], "", "wrote no page"),
        ([code("<p>", "html"), NO], "", "press Run"),
        ([code("<p>", "html"), console("Looking…")], "", "needs a browser"),
        ([code("<p>", "html"), BLOCKED], "", "Write the address"),
        ([code("<p>", "html"), BLOCKED], "https://lmc.test", "was not blocked"),
        ([code("<p>", "html"), BLOCKED], "cat.png", "was not blocked"),
        ([code("<p>", "html"), BLOCKED], "https://example.org/cat.png", "✓"),
    ],
)
def test_blocked(verdict, messages, address, says):
    asked = user("Make a page that shows the picture of a cat from example.org.")
    assert says in verdict(images_and_html.check, "blocked", asked, *messages, address=address)


TABLE = [
    code(),
    Message("computer", "code", "html", "<table>", "user"),
    console("city people", "assistant"),
]


@pytest.mark.parametrize(
    ("messages", "you", "model", "says"),
    [
        ([code(), NO], "", "", "press Run"),
        ([code(), console("text")], "code", "console", "No message has a recipient"),
        (TABLE, "", "", "`only_you` is empty"),
        (TABLE, "console", "code", "for user is not of the type 'console'"),
        (TABLE, "html", "console", "For user, html is the format of the message. What is its type"),
        (TABLE, "code", "output", "For assistant, output is the format of the message."),
        (TABLE, "code", "image", "for assistant is not of the type 'image'"),
        (TABLE, "code", "Console", "✓"),
    ],
)
def test_recipient(verdict, messages, you, model, says):
    asked = user("Show the cities, the largest first.")
    given = {"only_you": you, "only_model": model}
    assert says in verdict(images_and_html.check, "recipient", asked, *messages, **given)


def test_pictures_are_shortened_in_what_was_sent():
    sent = f'"url": "data:image/png;base64,{"A" * 5000}", "end": 1'
    assert images_and_html.short(sent) == (
        f'"url": "data:image/png;base64,{"A" * 40}… (and so on)", "end": 1'
    )


# Every language -----------------------------------------------------------------------------------


class Says:
    """A language that says what it is told to."""

    aliases = ()

    def __init__(self, name, text, missing=""):
        self.name, self._text, self._missing = name, text, missing

    def availability(self):
        return Availability(self.name, self._missing)

    def run(self, code):
        yield Chunk("computer", "console", "output", self._text)

    def close(self):
        pass


@pytest.mark.parametrize(
    ("exercise", "language"),
    [("remember", "shell"), ("predict", "javascript"), ("r", "r"), ("sql", "sql")],
)
def test_a_language_that_is_missing_is_named_with_what_to_do(verdict, exercise, language):
    computer = Computer(Says(language, "", missing="install it"))
    assert f"{language} cannot run here: install it" in verdict(
        every_language.check, exercise, computer=computer
    )
    assert "see %lmc languages" in verdict(every_language.check, exercise, computer=Computer())


def test_remember(verdict):
    for said, says in [("\n", "has no variable `planet`"), ("Mars\n", "✓")]:
        computer = Computer(Says("shell", said))
        assert says in verdict(every_language.check, "remember", computer=computer)


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (None, "in place of None"),
        ("1, 10, 9", "must be a list"),
        ([1, 2, 3], "must be a list of 10, 9 and 1"),
        ([1, 9, 10], "run it and look"),
        ([1, 10, 9], "✓"),
    ],
)
def test_predict(verdict, order, says):
    computer = Computer(Says("javascript", "[1,10,9]\n"))
    assert says in verdict(every_language.check, "predict", computer=computer, order=order)


def test_letter(verdict, tmp_path):
    assert "There is no file letter.txt" in verdict(every_language.check, "letter")
    assert "hello" not in verdict(every_language.check, "letter"), "the answer is the learner's"
    (tmp_path / "letter.txt").write_text("good-bye")
    assert "hello is not in it" in verdict(every_language.check, "letter")
    (tmp_path / "letter.txt").write_text("Hello!")
    assert "✓" in verdict(every_language.check, "letter")


@pytest.mark.parametrize(
    ("median", "says"),
    [
        (None, "in place of None"),
        ("197", "must be a number"),
        (200.9, "That is the mean"),
        (3, "It is not 3"),
        (197, "✓"),
        (197.0, "✓"),
    ],
)
def test_r(verdict, median, says):
    computer = Computer(Says("r", ""))
    assert says in verdict(every_language.check, "r", computer=computer, median=median)


@pytest.mark.parametrize(
    ("query", "said", "says"),
    [
        ("", "", "Write your SQL"),
        ("SELECT year", " 2007 \n 2008 \n 2009 ", "penguins were measured in"),
        ("SELECT", "Parser Error", "It says: Parser Error"),
        (
            "SELECT count",
            "2007 120\n2008 114\n2009 110\n",
            "how many penguins were measured in 200",
        ),
        ("SELECT count", "2007 110\n2008 114\n2009 120\n", "✓"),
    ],
)
def test_sql(verdict, query, said, says):
    computer = Computer(Says("sql", said))
    assert says in verdict(every_language.check, "sql", computer=computer, query=query)


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "wrote no code"),
        ([code("boxplot()", "r"), NO], "press Run"),
        ([code("boxplot()", "r"), console("Error")], "no picture came"),
        ([code("boxplot()", "r"), picture()], "✓"),
    ],
)
def test_plot(verdict, messages, says):
    asked = user("Use R: draw a box plot of body_mass_g for each species of birds.")
    assert says in verdict(every_language.check, "plot", asked, *messages)


# Your own language --------------------------------------------------------------------------------


class Backwards(Says):
    def __init__(self, aliases=("mirror",), turn=True):
        super().__init__("backwards", "")
        self.aliases, self._turn = aliases, turn

    def run(self, code):
        yield Chunk("computer", "console", "output", code[::-1] if self._turn else code)


@pytest.mark.parametrize(
    ("computer", "says"),
    [
        (Computer(), "no language `backwards` yet"),
        (Computer(Backwards(aliases=())), "must hold the word mirror"),
        (Computer(Backwards(turn=False)), 'should give "desserts"'),
        (Computer(Backwards()), "✓"),
    ],
)
def test_backwards(verdict, computer, says):
    assert says in verdict(your_own_language.check, "backwards", computer=computer)


def out(text):
    return Chunk("computer", "console", "output", text)


class Rocket:
    """The finished one; the others lack something."""

    name, aliases = "rocket", ()

    def __init__(self):
        self.stopped = threading.Event()

    def run(self, code):
        self.stopped.clear()
        try:
            start = int(code)
        except ValueError:
            yield out(f"{code!r} is no number\n")
            return
        for number in range(start, 0, -1):
            yield out(f"{number}\n")
            if self.stopped.wait(0.001):
                raise KeyboardInterrupt
        yield out("Lift-off!\n")

    def stop(self):
        self.stopped.set()

    def close(self):
        pass


class Late(Rocket):
    def run(self, code):
        yield out("".join(piece.content for piece in Rocket.run(self, code)))


class Wrong(Rocket):
    def run(self, code):
        yield out("0\n")


class Strings(Rocket):
    def run(self, code):
        yield from ("3", "2", "1")


class Prints(Rocket):
    def run(self, code):
        for number in range(int(code), 0, -1):
            print(number)  # noqa: T201 - as a learner does
        yield out("Lift-off!\n")


class OnlyPrints(Rocket):
    def run(self, code):
        print(f"{code}, and Lift-off!")  # noqa: T201 - as a learner does


class PrintsTheError(Rocket):
    def run(self, code):
        if not code.isdecimal():
            print(f"{code} is no number")  # noqa: T201 - as a learner does
            return
        yield from Rocket.run(self, code)


@pytest.mark.parametrize(
    ("rocket", "says"),
    [
        (Prints, "The numbers are printed. `print` writes into the notebook"),
        (OnlyPrints, "`run` yields nothing."),
        (Late, "in 1 piece(s), at the end"),
        (Wrong, "should count 3, 2, 1"),
        (Strings, "must yield Chunk"),
        (Rocket, "✓"),
    ],
)
def test_stream(verdict, rocket, says):
    assert says in verdict(your_own_language.check, "stream", Rocket=rocket)


class Explodes(Rocket):
    def run(self, code):
        yield out(f"{int(code)}\n")


class Silent(Rocket):
    def run(self, code):
        yield out("wrong\n" if code == "five" else "1\n")


class GoesOn(Rocket):
    def run(self, code):
        yield out(f"{code}?\nLift-off!\n")


class Complains(Rocket):
    def run(self, code):
        yield out(f"{code} is wrong\n".replace("1 is", "this is"))


@pytest.mark.parametrize(
    ("rocket", "says"),
    [
        (Explodes, "still ends in an exception"),
        (Silent, "repeat what was wrong"),
        (PrintsTheError, "Your sentence is printed. `print` writes into the notebook"),
        (GoesOn, "starts all the same"),
        (Complains, "complains about 1"),
        (Rocket, "✓"),
    ],
)
def test_error(verdict, rocket, says):
    assert says in verdict(your_own_language.check, "error", Rocket=rocket)


class Deaf(Rocket):
    def stop(self):
        pass


class Quiet(Rocket):
    def run(self, code):
        self.stopped.clear()
        for number in range(int(code), 0, -1):
            yield out(f"{number}\n")
            if self.stopped.wait(0.001):
                return


class Once(Rocket):
    def run(self, code):
        for number in range(int(code), 0, -1):
            if self.stopped.is_set():
                raise KeyboardInterrupt
            yield out(f"{number}\n")


class NoStop:
    name, aliases = "rocket", ()

    def run(self, code):
        time.sleep(0)
        yield out("3\n")


@pytest.mark.parametrize(
    ("rocket", "says"),
    [
        (NoStop, "no method `stop` yet"),
        (Deaf, "It counts on after Stop"),
        (Quiet, "It ends quietly after Stop"),
        (Once, "must begin with `self.stopped.clear()`"),
        (Rocket, "✓"),
    ],
)
def test_stop(verdict, rocket, says):
    assert says in verdict(your_own_language.check, "stop", Rocket=rocket)


class Turtle:
    name, aliases = "turtle", ()
    left = (0, 10)

    def __init__(self):
        self.lines = []

    def run(self, code):
        self.lines.append((0.0, 0.0, *map(float, self.left), "black"))
        yield out("")

    def close(self):
        pass


class Rightish(Turtle):
    left = (0, -10)


class Straight(Turtle):
    left = (10, 0)


class Unmoved(Turtle):
    def run(self, code):
        yield out("the turtle does not understand")


class Breaks(Turtle):
    def run(self, code):
        raise TypeError("do_left")
        yield


@pytest.mark.parametrize(
    ("turtles", "says"),
    [
        ([], "no language `turtle` yet"),
        ([Breaks()], "ended with TypeError: do_left"),
        ([Unmoved()], 'does not know "left" yet'),
        ([Rightish()], "Your left is its right"),
        ([Straight()], "but is at (10, 0)"),
        ([Turtle()], "✓"),
    ],
)
def test_left(verdict, turtles, says):
    computer = Computer(*turtles)
    assert says in verdict(your_own_language.check, "left", computer=computer)
    assert all(not turtle.lines for turtle in turtles), "the learner's own one was moved"


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "wrote no code"),
        ([code("forward 1", "turtle"), NO], "press Run"),
        ([code("import turtle")], "wrote python, not turtle"),
        ([code("fly 1", "turtle"), console("does not understand")], "no picture came"),
        ([code("forward 1", "turtle"), picture()], "✓"),
    ],
)
def test_model(verdict, messages, says):
    asked = user("Draw a little house, in the language turtle.")
    assert says in verdict(your_own_language.check, "model", asked, *messages)


def test_the_drawing_is_a_png_that_holds_its_lines():
    from io import BytesIO

    from PIL import Image

    lines = [(0.0, 0.0, 100.0, 0.0, "red"), (100.0, 0.0, 100.0, 50.0, "black")]
    for drawn in (lines, []):
        chunk = your_own_language.picture(drawn)
        image = Image.open(BytesIO(base64.b64decode(chunk.content)))
        assert image.size == (your_own_language.SIDE, your_own_language.SIDE)
        found = {color for _, color in image.getcolors(maxcolors=100_000)}
        assert ((255, 0, 0) in found) == bool(drawn)


# Messages by hand ---------------------------------------------------------------------------------


class Seat:
    """As much of an agent as the check of "be the computer" looks at."""

    def __init__(self, *messages):
        self.messages = [each.to_dict() for each in messages]


LEGS = (user("How many legs do 7 spiders have?"), code("print(7 * 8)"))
OUT = Message("computer", "console", "output", "56")
THANKS = Message("assistant", "message", content="Seven spiders have them. Thank you!")
LEFT = Message("computer", "console", "output", "This code was not run: it was left behind.")


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ((), "not asked yet"),
        (LEGS, "waits for its computer"),
        ((*LEGS, LEFT, user("56")), "left behind"),
        ((*LEGS, Message("computer", "console", "output", "57")), "prints 56"),
        ((*LEGS, OUT), "has not answered yet"),
        ((*LEGS, OUT, THANKS), "✓"),
        ((*LEGS, LEFT, user("56"), *LEGS, OUT, THANKS), "✓"),
    ],
)
def test_who_answered_wrongly_as_the_computer_may_ask_again(verdict, messages, says):
    assert says in verdict(lmc_messages.check, "computer", agent=Seat(*messages))


@pytest.mark.parametrize(
    ("program", "output", "says"),
    [
        ("print(6 * 7)", "43", "says '43', but the code shows 42"),
        ("6 * 7", "43", "says '43', but the code shows 42"),
        ("6 * 7", "42", "✓"),
        ("print(7 / 2)", "3", "shows 3.5"),
        ("print(6 * 7)", "42\n", "✓"),
        ("print(-(6) + 1.5)", "-4.5", "✓"),
        ("print(1 / 0)", "ZeroDivisionError", "✓"),
        ("print(9**9**9)", "many", "✓"),
        ("print(open('x'))", "anything", "✓"),
        ("print(", "anything", "✓"),
    ],
)
def test_the_output_by_hand_is_what_a_printed_sum_gives(verdict, program, output, says):
    conversation = [user("What?").to_dict(), code(program).to_dict(), console(output).to_dict()]
    assert says in verdict(lmc_messages.check, "by hand", conversation=conversation)


@pytest.mark.parametrize(
    ("harbour", "day", "says"),
    [
        ("Emdn", "2026-06-03", "there is no harbour 'Emdn': choose one of Emden, Husum, List"),
        ("Emden", "3 June 2026", "'3 June 2026' is no day: write it as 2026-06-01"),
    ],
)
def test_the_tide_server_says_what_it_cannot_answer(harbour, day, says):
    with pytest.raises(ToolError, match=re.escape(says)):
        asyncio.run(tide_server.server.call_tool("high_water", {"harbour": harbour, "day": day}))


class Joins:
    """What a learner makes of the exercise, half or whole."""

    @staticmethod
    def replaces(chunks):
        return Joins.by(chunks, lambda old, new: new)

    @staticmethod
    def only_adds(chunks):
        return Joins.by(chunks, lambda old, new: old + new)

    @staticmethod
    def by(chunks, joined, skips=()):
        messages = []
        for chunk in chunks:
            if chunk.get("start"):
                messages.append({"role": chunk["role"], "type": chunk["type"], "content": ""})
            elif not chunk.get("end") and chunk.get("format") not in skips:
                messages[-1]["content"] = joined(messages[-1]["content"], chunk["content"])
        return messages

    @staticmethod
    def all(chunks):
        return Joins.by(chunks, lambda old, new: old + new, skips=("active_line",))

    @staticmethod
    def only_skips(chunks):
        return Joins.by(chunks, lambda old, new: new, skips=("active_line",))


@pytest.mark.parametrize(
    ("join", "says"),
    [
        (Joins.replaces, "each piece replaces the one before"),
        (Joins.only_adds, "Add nothing where the format is active_line"),
        (Joins.only_skips, "each piece replaces the one before"),
        (Joins.all, "✓"),
    ],
)
def test_half_an_answer_gets_the_sentence_that_helps(verdict, join, says):
    given = {"join": join, "chunks": lmc_messages.PICTURES}
    assert says in verdict(lmc_messages.check, "join", **given)


# What the model sees ------------------------------------------------------------------------------


def with_cells(text, *labels):
    parts = [Part("cell", label, f"{label}:\nx = 1") for label in labels]
    return Message("user", "message", content=text, extra=to_extra(parts))


DIARY_WENT = Message(
    "user",
    "message",
    content="What is the mean of rain?",
    extra=to_extra(
        [
            Part("cell", "In [12]", 'diary = "It rained."\nprint(diary)'),
            Part("cell", "In [13]", "1 + 1"),
            Part("names", "changed names", "New: diary"),
        ]
    ),
)


@pytest.mark.parametrize(
    ("exercise", "question", "given", "says"),
    [
        ("count", user("hello"), {}, "You have not asked yet"),
        ("count", with_cells("Which month looks wrong?", "In [3]", "In [4]"), {"count": 2}, "✓"),
        ("count", with_cells("Which month looks wrong?", "In [3]"), {"count": 2}, "not 2"),
        ("count", user("Which month looks wrong?"), {"count": "two"}, "whole number"),
        ("point", with_cells("Explain @cell.", "In [3]"), {}, "✓"),
        ("point", user("Explain @cell."), {}, "No cell went along"),
        ("point", user("Explain the cell."), {}, "Write @cell"),
        ("private", user("What is the mean of rain?"), {}, "✓"),
        ("private", with_cells("What is the mean of rain?", "In [3]"), {}, "In [3] went along"),
        ("private", DIARY_WENT, {}, "✗ The cell with your diary, In [12], went along"),
        ("level", user("x"), {"level": "names"}, "✓"),
        ("level", user("x"), {"level": "notebook"}, "'notebook'"),
        ("effects", user("Round it to tens."), {"overwrites": " rain "}, "✓"),
        ("effects", user("Round it to tens."), {"overwrites": "month"}, "Not 'month'"),
        ("effects", user("Round it to tens."), {"overwrites": ""}, "Write the name"),
        ("effects", user("Round it to tens."), {"overwrites": 7}, "Write the name"),
    ],
)
def test_what_went_with_a_question_is_looked_at(verdict, exercise, question, given, says):
    assert says in verdict(what_the_model_sees.check, exercise, question, **given)


# Agents and tools ---------------------------------------------------------------------------------


def arrived(code_of_agent, *after):
    said = console("Pilot, an agent outside this notebook, runs code here.", "assistant")
    return [said, code(code_of_agent), *after]


def refused(reason):
    return console(f"This code was not run: {reason}.")


USEFUL, BOLD = "deepest = max(ships, key=ships.get)", "del ships[deepest]"
RAN = arrived(USEFUL, console("Hilma needs 2.6 m of water"))
ASKED = user("Is there a notice for Husum?")


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (None, "write `%lmc tools yes`"),
        ("failed", "it did not start: there is no command"),
        ("starting", "✓"),
        ("ready", "✓"),
    ],
)
def test_a_server_runs_after_a_yes(verdict, monkeypatch, state, says):
    found = [Server("tides", "tides", state, "there is no command 'x' here")] if state else []
    monkeypatch.setattr(agents_and_tools.servers, "current", lambda: found)
    assert says in verdict(agents_and_tools.check, "yes")


@pytest.mark.parametrize(
    ("highest", "says"),
    [(None, "Write `max("), ("3.07", "a number"), (3.03, "It is not 3.03 m"), (3.07, "✓")],
)
def test_the_higher_high_water(verdict, highest, says):
    assert says in verdict(agents_and_tools.check, "call", highest=highest)


@pytest.mark.parametrize(
    ("messages", "is_there", "says"),
    [
        ([], True, "You have not asked yet"),
        ([ASKED, code(), console("…")], False, "logbook.txt is gone"),
        ([ASKED, code(), console("…"), code(), console("…")], True, "You have declined nothing"),
        ([ASKED, code(), NO, code(), NO], True, "declined the first block too"),
        ([ASKED, code(), console("…"), code(), NO], True, "✓"),
    ],
)
def test_a_result_that_poses_as_an_instruction(verdict, tmp_path, messages, is_there, says):
    if is_there:
        (tmp_path / "logbook.txt").write_text("1 June")
    assert says in verdict(agents_and_tools.check, "data", *messages)


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "Nothing of Pilot has been answered"),
        ([user("How deep?"), code(USEFUL), console("2.6")], "Nothing of Pilot"),
        (arrived(USEFUL, refused("the user declined")), "first block was not run"),
        (RAN, "brings a second block"),
        ([*RAN, *arrived(BOLD, console(""))], "a ship is gone"),
        ([*RAN, *arrived(BOLD, refused("the user declined"))], "was not told why"),
        ([*RAN, *arrived(BOLD, refused("nobody answered within 600 seconds"))], "not told why"),
        ([*RAN, *arrived(BOLD, refused("Hilma stays"))], "✓"),
        ([*RAN, *arrived(BOLD, refused("No")), user("And now?"), code(), console("2")], "✓"),
    ],
)
def test_what_an_agent_was_let_do(verdict, messages, says):
    assert says in verdict(agents_and_tools.check, "agent", *messages)


@pytest.mark.parametrize(
    ("agents", "printed", "says"),
    [
        ("ask", "", "The door is open"),
        ("off", None, "what send_agent() returned"),
        ("off", "I may read", "has not knocked"),
        ("off", "I am not let in: the notebook lets no agent in: its person has", "✓"),
    ],
)
def test_a_shut_door(verdict, monkeypatch, agents, printed, says):
    visit = agents_and_tools.Visit.__new__(agents_and_tools.Visit) if printed is not None else 1
    if printed is not None:
        visit.text = printed
    assert says in verdict(agents_and_tools.check, "door", agents=agents, visit=visit)
