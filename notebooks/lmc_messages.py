"""The checks of the notebook `04-lmc-messages`, and a stream that shows pictures.

One rule: that of `exercises`: what a learner wrote is tried out on streams of our own, and what is
wrong with it is said in a sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from exercises import Checks

from lmc_jupyter import Assembler, Chunk, LMCError, Message

check = Checks()

Dict = dict[str, Any]

DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one dot, as a png in base64."""

PICTURES: list[Dict] = [
    {"role": "computer", "type": "console", "start": True},
    {"role": "computer", "type": "console", "format": "active_line", "content": 1},
    {"role": "computer", "type": "console", "format": "output", "content": "here "},
    {"role": "computer", "type": "console", "format": "active_line", "content": 2},
    {"role": "computer", "type": "console", "format": "output", "content": "they are"},
    {"role": "computer", "type": "console", "end": True},
    *(
        {"role": "computer", "type": "image", "format": "base64.png", **more}
        for more in ({"start": True}, {"content": DOT}, {"end": True}) * 2
    ),
    {"role": "computer", "type": "console", "start": True},
    {"role": "computer", "type": "console", "format": "active_line", "content": None},
    {"role": "computer", "type": "console", "end": True},
]
"""What a block sends that prints a little and shows two pictures."""


def _message(given: object) -> tuple[Message | None, str]:
    """The message of a learner's dict, and what is wrong with it."""
    try:
        return Message.from_dict(given), ""  # type: ignore[arg-type]  # that is what it looks at
    except LMCError as error:
        return None, str(error)


_SUMS = (
    *(ast.Module, ast.Expr, ast.Call, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.USub, ast.UAdd),
)
"""What a sum is made of: no power, which may take for ever."""


def _sum(code: str) -> str | None:
    """What one sum of numbers shows, with `print` or without; None for any other code."""
    try:
        tree = ast.parse(code.strip())
    except SyntaxError:
        return None
    match tree.body:
        case (
            [ast.Expr(ast.Call(func=ast.Name("print"), args=[value], keywords=[]))]
            | [ast.Expr(value)]  # the computer shows the last value, as a cell does
        ):
            pass
        case _:
            return None
    nodes = list(ast.walk(value))
    numbers = [each.value for each in nodes if isinstance(each, ast.Constant)]
    if not all(isinstance(each, _SUMS) for each in nodes) or any(
        isinstance(each, ast.Name | ast.Call) for each in nodes
    ):
        return None
    if not all(type(each) in (int, float) for each in numbers):
        return None
    try:
        return str(eval(compile(ast.Expression(value), "sum", "eval"), {}))
    except ArithmeticError:
        return None


def _looks(wanted: str, message: Message) -> str:
    found = f"{message.role}/{message.type}"
    return "" if found == wanted else f"is {found}, and should be {wanted}"


@check.exercise("by hand", "Three messages, three voices: this is a whole conversation.")
def _by_hand(conversation: Any) -> str:
    if not isinstance(conversation, list) or len(conversation) != 3:
        return "`conversation` must be a list of three messages: question, code, output."
    parts = ("user/message", "assistant/code", "computer/console")
    for number, (given, wanted) in enumerate(zip(conversation, parts, strict=True), 1):
        message, wrong = _message(given)
        wrong = wrong if message is None else _looks(wanted, message)
        if wrong:
            return f"Message {number}: {wrong}."
    code, output = conversation[1], conversation[2]
    if code.get("format") != "python":
        return "Message 2 is code, but of which language? Its format is missing: python."
    if output.get("format") != "output":
        return 'Message 3 needs the format "output": a console shows other things, too.'
    if not str(output["content"]).strip():
        return "Message 3 is empty: what does the code print?"
    printed = _sum(str(code["content"]))
    if printed is not None and str(output["content"]).strip() != printed:
        return (
            f"Message 3 says {str(output['content']).strip()!r:.40}, but the code shows {printed}:"
            " the computer says what is so."
        )
    return ""


@check.exercise("mend", "All three are valid now. You read error messages: that is half the job.")
def _mend(broken: list[Dict]) -> str:
    for number, given in enumerate(broken, 1):
        _, wrong = _message(given)
        if wrong:
            return f"Message {number} is still refused: {wrong}."
    if [each["content"] for each in broken] != ["Good morning.", "print('hi')", "hi"]:
        return "The contents were fine: mend the other keys, and leave the contents as they were."
    return ""


@check.exercise("join", "It joins what it has never seen before, the pictures included.")
def _join(join: Callable[[list[Dict]], Any], chunks: list[Dict]) -> str:
    for stream in (chunks, PICTURES):
        wrong = _joined(join, stream)
        if wrong:
            return wrong
    return ""


def _joined(join: Callable[[list[Dict]], Any], stream: list[Dict]) -> str:
    try:
        found = join([dict(each) for each in stream])
    except TypeError as error:
        return (
            f"`join` ended with TypeError ({error}): the content of an active line is a number or "
            "None, and cannot be added to text. Add nothing where the format is active_line."
        )
    assembler = Assembler()
    whole = [message for each in stream if (message := assembler.feed(Chunk.from_dict(each)))]
    if not isinstance(found, list) or len(found) != len(whole):
        return (
            f"This stream holds {len(whole)} messages, and `join` made "
            f"{len(found) if isinstance(found, list) else repr(found)[:40]}: one for each start."
        )
    for made, right in zip(found, whole, strict=True):
        content = made.get("content")
        if content == right.content:
            continue
        if not isinstance(content, str):
            return (
                f"One {right.type} has the content {content!r:.40}, which is no text: an active "
                "line is a mark on the code, and no part of the message."
            )
        if right.content.endswith(content):
            return (
                f"One {right.type} is {content!r:.40}, and should be {right.content!r:.60}: each "
                "piece replaces the one before. Add it instead."
            )
        return f"One {right.type} is {content!r:.60}, and should be {right.content!r:.60}."
    return ""


@check.exercise("computer", "You were the computer, and the model never knew.")
def _computer(agent: Any) -> str:
    messages = agent.messages
    asked = [
        i
        for i, each in enumerate(messages)
        if each["role"] == "user" and "spiders" in str(each["content"])
    ]
    if not asked:
        return "The model was not asked yet: run the cell with the spiders."
    answer = messages[asked[-1] + 1 :]
    code = next((i for i, each in enumerate(answer) if each["type"] == "code"), None)
    if code is None:
        return "The model wrote no code: run the cell with the spiders again."
    after = answer[code + 1 :]
    if not after:
        return (
            "The code still waits for its computer. Append a message of the role computer, the "
            "type console and the format output, then run `agent.chat(messages, display=False)`."
        )
    if "was not run" in str(after[0]["content"]):
        return "The code was left behind by the next question. Ask again, then answer it."
    if after[0]["role"] != "computer" or "56" not in str(after[0]["content"]):
        return (
            f"print(7 * 8) prints 56, but you said {after[0]['content']!r:.40}. Change it in the "
            "cell above, and run that cell again, then this one."
        )
    if after[-1]["role"] != "assistant":
        return "The model has not answered yet: run `agent.chat(messages, display=False)`."
    return ""
