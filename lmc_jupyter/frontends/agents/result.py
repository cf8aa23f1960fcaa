"""What an agent gets back of its block: text as the person's own model gets it, images, and data.

One rule: values in, values out; keys are redacted by the caller's function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from lmc_jupyter.content.remarks import NOT_RUN
from lmc_jupyter.conversation.names import Names
from lmc_jupyter.frontends.cell.html import visible
from lmc_jupyter.lmc import EDITED, Message, clean
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.openai.messages import to_chat

_ERROR = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit)\b(?::.*)?")
_FAILED = "The computer failed: "
"""As `lmc_jupyter.agent` says it."""
_DATA_URL = re.compile(r"data:(image/\w+);base64,(.*)", re.DOTALL)
_NOT_RUN = re.compile(rf"{NOT_RUN}: (.*)\.", re.DOTALL)

Result = dict[str, Any]
"""text, images (each with `mime` and base64 `data`), data, and failed."""


def refused(reason: str) -> Result:
    """Nothing ran, or nothing was read, and why."""
    sentence = reason if reason.endswith((".", "!", "?")) else f"{reason}."
    return {"text": clean(sentence), "images": [], "data": {}, "failed": True}


def not_run(reason: str) -> Result:
    """A block did not run, and why."""
    reason = reason.rstrip(".")
    text = f"{NOT_RUN}: {reason}."
    return {**refused(text), "data": {"ran": False, "reason": clean(reason)}}


def answer(text: str, **data: Any) -> Result:
    """What was asked for."""
    return {"text": clean(text), "images": [], "data": data, "failed": False}


def of_block(
    messages: Sequence[Message],
    fate: str | None,
    names: Names | None,
    max_output: int,
    redact: Callable[[str], str],
) -> Result:
    """What became of a block.

    Parameters
    ----------
    messages : the code, and what it put out
    fate : as `events.Fate`; "ran", "edited" and "stopped" have run
    max_output : characters of the text, of which the head and the tail are given
    """
    code, *output = messages
    if fate not in ("ran", "ran unasked", "edited", "stopped"):
        text = "".join(str(each.content) for each in output if each.type == "console")
        found = _NOT_RUN.search(text)
        return not_run(redact(found[1] if found else text.strip() or "its person stopped it"))
    chat = to_chat(messages, Brief(max_output=max_output), tools=True, vision=True)
    text = next((str(each["content"]) for each in chat if each["role"] == "tool"), "")
    data: Result = {"ran": True}
    if code.extra.get(EDITED):
        data["code"] = redact(clean(str(code.content)))
        text = f"{text}\nThe code that ran, as the person edited it:\n{data['code']}"
    if names is not None:
        changes = {"new": names.new, "changed": names.changed, "removed": names.removed}
        data["names"] = {
            change: [redact(visible(clean(name))) for name in found]
            for change, found in changes.items()
        }
        lines = [f"{change} names: {', '.join(n)}" for change, n in data["names"].items() if n]
        text = "\n".join([text, *lines])
    error = _error(output) if fate != "stopped" else "it was stopped while it ran"
    if error:
        data["error"] = redact(clean(error))
    if fate == "stopped":
        text += "\nIt was stopped before its end."
    images = [image for each in chat for image in _images(each["content"])]
    if images:
        text += f"\nIt ran; {len(images)} image{'s' * (len(images) > 1)}."
    return {
        "text": redact(clean(text)),
        "images": images,
        "data": data,
        "failed": bool(error),
    }


def _error(output: Sequence[Message]) -> str:
    """The last line of the output where it reads as an error; "" where it does not."""
    texts = [each.content for each in output if each.type == "console"]
    lines = "".join(map(str, texts)).rstrip().splitlines()
    is_error = bool(lines) and (_ERROR.fullmatch(lines[-1]) or lines[-1].startswith(_FAILED))
    return lines[-1] if is_error else ""


def _images(content: Any) -> list[dict[str, str]]:
    parts = content if isinstance(content, list) else []
    urls = [str(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]
    found = [_DATA_URL.fullmatch(url) for url in urls]
    return [{"mime": each[1], "data": each[2]} for each in found if each]
