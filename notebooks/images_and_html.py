"""The checks of the notebook `05-images-and-html`, and the shortening of what was sent.

One rule: that of `exercises`: look, change nothing, and say what to do.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

from exercises import Answer, Checks, code, declined, images, printed

from lmc_jupyter import current_session

check = Checks()

PNG = b"\x89PNG\r\n\x1a\n"
"""The first bytes of every PNG file."""


def short(text: str) -> str:
    """The text with all but the first letters of each picture in it left out."""
    return re.sub(r"(base64,[\w+/=]{40})[\w+/=]+", r"\1… (and so on)", text)


@check.exercise("decode", "The letters were a picture all along.", words="sin(x)")
def _decode(answer: Answer, name: str = "wave.png") -> str:
    shown = images(answer)
    if not shown:
        return "No picture came: run the %%lmc cell above again, and let the code run."
    file = Path(name)
    if not file.exists():
        return f"There is no file {name} yet: run the cell above."
    data = file.read_bytes()
    if not data:
        return f"{name} is empty: write base64.b64decode(image.content) in place of b''."
    if data == str(shown[-1].content).encode():
        return f"{name} holds the letters themselves: turn them back with base64.b64decode first."
    if not data.startswith(PNG):
        return f"{name} is no PNG picture: it begins with {data[:8]!r} instead of {PNG!r}."
    if data != base64.b64decode(shown[-1].content):
        return f"{name} is a picture, but not the one of the last answer: run both cells again."
    return ""


@check.exercise("sees", "That is what the model got. Whether a model sees is a fact to look up.")
def _sees(it_got: Any = "", sent: str = "") -> str:
    said = str(it_got).strip().lower()
    if said not in ("picture", "sentence"):
        return 'Write "picture" or "sentence": which of the two stands in the request above?'
    right = "picture" if "data:image" in sent else "sentence"
    if said == right:
        return ""
    if right == "sentence":
        return "Look again: there is no data:image in the request, only words about a figure."
    return "Look again: the request holds data:image/png;base64, which is the picture itself."


@check.exercise("attach", "Your picture went along with the question.", words="in this picture")
def _attach(answer: Answer) -> str:
    messages = current_session().messages
    at = next(i for i, each in enumerate(messages) if each is answer[0])
    before = messages[at - 1] if at else None
    if before is None or before.role != "user" or before.type != "image":
        return "You asked, but no picture went along: begin the cell with `%%lmc --image wave.png`."
    return ""


@check.exercise("blocked", "Right: it asked, and nobody answered.", words="picture of a cat")
def _blocked(answer: Answer, address: Any = "") -> str:
    if not code(answer, "html"):
        return "The model wrote no page this time: run the %%lmc cell again."
    if declined(answer):
        return "The page was not shown: run the %%lmc cell again, and press Run."
    lines = [line for line in printed(answer).splitlines() if line.startswith("blocked: ")]
    if not lines:
        return (
            "The page said nothing of a blocked request. It needs a browser to be shown in: open "
            "this notebook in JupyterLab, and run the %%lmc cell again."
        )
    if not isinstance(address, str) or not address.strip():
        return "Write the address between the quotation marks: it stands behind `blocked:`."
    if any(address.strip().rstrip("/") in line for line in lines) and "://" in address:
        return ""
    return f"{address!r:.60} was not blocked. The page's console says: {lines[0][:120]}"


@check.exercise("recipient", "Each gets the form it can read.", words="show the cities")
def _recipient(answer: Answer, only_you: Any = "", only_model: Any = "") -> str:
    if declined(answer):
        return "The code was not run: run the %%lmc cell again, and press Run."
    for name, said, recipient in (
        ("only_you", only_you, "user"),
        ("only_model", only_model, "assistant"),
    ):
        sent = [each for each in answer if each.recipient == recipient]
        right = {each.type for each in sent}
        if not right:
            return "No message has a recipient here: run the %%lmc cell and the list again."
        if not isinstance(said, str) or not said.strip():
            return (
                f"`{name}` is empty: find the message for {recipient} in the list above, and write "
                "its type, such as message or image."
            )
        wanted = said.strip().lower()
        if wanted not in right and any(each.format == wanted for each in sent):
            return f"For {recipient}, {wanted} is the format of the message. What is its type?"
        if wanted not in right:
            return (
                f"The message for {recipient} is not of the type {said.strip()!r:.40}: look again."
            )
    return ""
