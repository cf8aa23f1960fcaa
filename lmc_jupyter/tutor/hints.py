"""Hints: a ladder of four steps about one fault, in our own words.

One rule: a hint is one step, of 20 to 160 words, and holds nothing of the solution: what it shows
of code is the pupil's own line, or an example on other data.
"""

from __future__ import annotations

from typing import NamedTuple

from lmc_jupyter.tutor.attempt import Attempt
from lmc_jupyter.tutor.faults import Fault, Kind

LEVELS = ("a question", "where to look", "the idea", "an example")
"""Of the ladder, the first one first."""
MAX_LINE = 60
"""Characters of a line of the pupil's that a hint shows."""


class Hint(NamedTuple):
    """A hint.

    Parameters
    ----------
    level : 1 to 4, see `LEVELS`
    line : of the cell that it is about; 0 for none
    """

    text: str
    level: int
    line: int


class _Ladder(NamedTuple):
    question: str
    where: str
    idea: str
    example: str


_LADDERS: dict[Kind, _Ladder] = {
    "nothing yet": _Ladder(
        "Before you write code: say in your own words what goes in, and what has to come out. "
        "Which of the two do you know already, and which has to be made from the other?",
        "Begin with the smallest case that you can do by hand, such as one or two values. What "
        "do you do with them, step by step? Write each step as a comment of its own into the cell.",
        "Most such tasks have three parts: get the values ready, do the same thing with each of "
        "them or with all of them at once, and give the result back. Write a line for the first "
        "part only, and run it.",
        "For another task, to count the long words of a text, the steps are: split the text into "
        "words; begin with a count of zero; look at each word and add one where it is long; give "
        "the count back. Write your own steps in the same way.",
    ),
    "syntax": _Ladder(
        "Python could not read the cell, so nothing of it ran. What does the last line of the "
        "error say, and to which sign in your code does its arrow point?",
        "Look at line {line} (`{text}`). Look at the end of the line before it, too: an open "
        "bracket, a missing colon or a quotation mark that nobody closed is often found only one "
        "line later.",
        "Each bracket and each quotation mark that opens has to close. A line that begins a block "
        "ends with a colon, and what belongs to the block stands four blanks further to the "
        "right. Compare line {line} with that.",
        "As an example, `if age > 17` is not whole: the colon at its end is missing, and Python "
        "complains about it where the next line begins. Look for a sign like that around line "
        "{line} of your own cell.",
    ),
    "error": _Ladder(
        "The code ended with a {error}. What does this word mean, and which of your values could "
        "be other than you think at that moment: its type, its size, or whether it is there?",
        "The error came up in line {line} (`{text}`). Print the values that this line uses, one by "
        "one, just before it, and compare them with what you expected.",
        "Python says: {message}. It is about the kind of a value, and not about the task. Ask of "
        "each name in line {line} what it holds there, and which of them cannot do what the line "
        "wants of it.",
        "As an example, `'3' + 4` ends with a TypeError: one is a text and the other a number, and "
        "the two cannot be added. To make a number of the text first would be one step. Which "
        "step is missing before line {line}?",
    ),
    "earlier cell": _Ladder(
        "This cell rests on one further above, and that one fails when it runs in a fresh place. "
        "Does the notebook run from its top to here if you restart the kernel and run all cells?",
        "Look at the cells above that make the names which you use here. One of them ends with a "
        "{error}: run it alone, and read what it says, before you go on with this one.",
        "A cell that worked once may rest on something that is gone: a name that you deleted, a "
        "file that moved, a cell that you changed later. Run the cells above in their order, and "
        "see which one stops.",
        "As an example, a cell that reads `petals` works as long as some other cell has made that "
        "name; if that cell was changed, a fresh kernel does not find it. Which of your names "
        "could be like that?",
    ),
    "endless": _Ladder(
        "The code did not come to an end. Which loop can run for ever, and what would have to "
        "change in each round so that it stops some time?",
        "Look at the loop in line {line} (`{text}`). Follow by hand what its condition says after "
        "the first round, the second and the third. Does it come any closer to its end?",
        "A loop that goes on while something holds needs a line in its body that changes just "
        "that. Find the name in the condition of line {line}, and look where the body gives it "
        "another value.",
        "As an example, a loop that counts down from ten has to take one away in each round; "
        "without that the number stays ten for ever. What is the line in your loop that brings "
        "it closer to its end?",
    ),
    "missing name": _Ladder(
        "The tests look for something called `{name}`, and the cell does not make it. Does the "
        "task ask for a function or for a value of that name, and where would it be made?",
        "There is no `{name}` anywhere in the cell. Read the task again: which of its sentences "
        "speaks of `{name}`, and what does it say that it should hold or do?",
        "A name exists from the line on that binds it: `def` for a function, `=` for a value, and "
        "only at the left margin is it seen from outside. Make `{name}` there, even if it is not "
        "right yet.",
        "As an example, if a task asks for `petals`, a line that begins with `petals =` at the "
        "left margin makes it, and a line within a function does not: such a name is gone when the "
        "function ends. What about `{name}`?",
    ),
    "wrong name": _Ladder(
        "The tests look for `{name}`, and do not find it. Compare letter by letter: is there "
        "something in your cell that should have this name, and has another one?",
        "Look at line {line} (`{text}`). You called it `{other}`, and the task calls it by another "
        "name. Read the task again: how exactly does it want it to be called?",
        "Names are exact for Python: capital letters, underlines and the plural count. What you "
        "wrote may be right but for its name. Change `{other}` wherever it stands for what the "
        "task asks for.",
        "As an example, `Petal`, `petal` and `petals` are three different names, and who asks for "
        "one of them does not get another. Compare `{other}` with the name in the task in the "
        "same way.",
    ),
    "prints": _Ladder(
        "The function shows something, and whoever calls it gets nothing. What is the difference "
        "between a value that is seen on the screen and a value that can be used afterwards?",
        "Look at line {line} (`{text}`). It writes to the screen. What does the function give to "
        "the code that called it, after this line has run?",
        "To print is for people who read; to give a value back is for the code that goes on. The "
        "tests can only look at what comes back. One word of line {line} has to be another one.",
        "As an example, a calculator that only shows 12 on its display is of no use to a second "
        "machine that needs the 12 to go on. A function hands its value over with a statement of "
        "its own. Which one?",
    ),
    "no value": _Ladder(
        "The function does its work, and then nothing comes back from it: the tests got None. "
        "Which of your names holds the result at the end, and who gets it?",
        "Look at the end of the function that begins in line {line} (`{text}`). Follow each way "
        "that leads out of it. Is there one on which no value is handed over?",
        "A function without a statement that hands a value over gives None. That statement has to "
        "be reached, so it stands behind the work, and not inside of a loop that may never run.",
        "As an example, a function that adds up a list in `petals` and then just ends has done the "
        "work for nobody. One more line at its end would hand `petals` to the caller. What would "
        "be yours?",
    ),
    "wrong type": _Ladder(
        "The tests got a {name}, and expected a {other}. What kind of value does the task ask "
        "for, and where in your code does the value get its kind?",
        "Look at line {line} (`{text}`). What is the type of the value there? Print `type(...)` of "
        "it, and compare it with what the task asks for.",
        "Values of different types are never equal, even if they look alike on the screen: the "
        "number 3 and the text '3' are two things. Find the line where a {name} comes up, and "
        "think about what would make a {other}.",
        "As an example, to divide two whole numbers gives a number with a decimal point, and to "
        "ask a person for a number gives a text. Each time one more step makes the kind that is "
        "wanted. Which step is it here?",
    ),
    "off by one": _Ladder(
        "The result is wrong by exactly one, or one element is too many or missing. Where does "
        "your counting begin, and is the last one meant to be in it?",
        "Look at line {line} (`{text}`). Write down by hand the first and the last value that it "
        "takes. Are both of them what the task wants?",
        "Python counts from zero, and where it goes from one number to another the last one is "
        "left out. So one step too many or too few is made at the border. Try the smallest case "
        "and look at both ends.",
        "As an example, a fence of ten metres with a post at each metre has eleven posts and not "
        "ten. Whoever counts spaces in place of posts is wrong by one. What do you count in line "
        "{line}, and from where to where?",
    ),
    "missing case": _Ladder(
        "{passed} of the tests pass, so the idea is right for some values. For which values does "
        "it not hold: an empty list, zero, a negative number, two that are equal?",
        "The test that fails says: {message}. Look at line {line} (`{text}`). What does it do with "
        "just that case, if you follow it by hand?",
        "Code that is right for the usual values often lacks a case at the border. Write down "
        "the kinds of values that can come, and say for each what should come out. For one of "
        "them your code does something else.",
        "As an example, who counts how many of ten games a team has won has to think of the team "
        "that has not played yet: for it the question needs an answer of its own. Which case needs "
        "one in your code?",
    ),
    "wrong value": _Ladder(
        "The code runs, and its result is another one than the task wants. Take the smallest "
        "example that you can do by hand: what should come out, and what comes out of your code?",
        "Look at line {line} (`{text}`). What is the value there in your small example, and is it "
        "what you need at this point? Print it to see.",
        "The test says: {message}. Go through your code from its beginning with one example, and "
        "write down each value. At the first one that is not what you expected lies the mistake, "
        "near line {line}.",
        "As an example, who wants to know how much is left of 20 after 6 are gone takes them "
        "away; who adds them gets a number too, and a wrong one. Check the step of line {line} in "
        "this way, with small numbers.",
    ),
    "passed": _Ladder(
        "All tests pass. Read your code once more as somebody who has never seen it: which name "
        "does not say what it holds, and which line would you have to explain?",
        "All tests pass. Is there a value that you compute twice, or a name that you use only "
        "once? Take one such place, change it, and run the tests again.",
        "All tests pass. Good code says what it does without a comment. Choose the line that is "
        "the hardest to read, and give one part of it a name of its own.",
        "All tests pass. As an example, a bare 0.19 in a line is easier to read if it has a name, "
        "such as the rate of a tax. Is there a number or a step in your code that deserves one?",
    ),
}


def template(attempt: Attempt, fault: Fault, level: int) -> Hint:
    """The hint of this level in our own words; no model is asked.

    Parameters
    ----------
    level : 1 to 4
    """
    lines = attempt.code.splitlines()
    own = lines[fault.line - 1].strip() if 0 < fault.line <= len(lines) else ""
    values = {
        "line": fault.line or "the cell",
        "text": own[:MAX_LINE].replace("`", "'"),
        "name": fault.name,
        "other": fault.other,
        "error": attempt.error,
        "message": attempt.message.strip().rstrip(".") or "the result is not the one wanted",
        "passed": attempt.passed,
    }
    return Hint(_LADDERS[fault.kind][level - 1].format(**values), level, fault.line)
