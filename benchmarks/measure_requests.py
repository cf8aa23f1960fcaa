"""What goes to strict providers in a talk of ten questions, and what of it they had before.

One rule: it is measured on what the stand-ins of `tests/strict_wires.py` received, and every one of
them has to accept all of the talk of `tests/strict_talk.py`.
"""

from __future__ import annotations

from itertools import pairwise
from os.path import commonprefix
from typing import Any

from IPython import get_ipython
from model_server import ModelServer
from strict_talk import WIRES, Talk, whole

from lmc_jupyter.models.openai import Sent, to_chat

CACHED = 0.1
"""The price of a cached token over that of another one, as most providers have it."""


def talk(of: str) -> dict[str, float]:
    """The figures of one of these wires: `share` of what is sent that its cache has, `saving` of
    the price of the input by it, `characters`; and the same of a chat written anew each time.
    """
    anew: list[Any] = []
    request = Sent.request

    def hear(self: Sent, messages: Any, brief: Any, abilities: Any, selection: Any = None) -> Any:
        chat = request(self, messages, brief, abilities, selection)
        anew.append({"tools": self.tools, "messages": to_chat(
            messages, brief, tools=abilities.tools, vision=abilities.vision
        )})  # fmt: skip
        return chat

    Sent.request = hear  # type: ignore[method-assign]
    try:
        with ModelServer() as server:
            made = Talk(server, of)
            whole(made, _forget)
    finally:
        Sent.request = request  # type: ignore[method-assign]
    if made.wire.refusals:
        raise RuntimeError(f"{of} refused a request: {made.wire.refusals[0]}")
    ours = _figures([*map(made.wire.text, made.wire.bodies)])
    if of != "DeepSeek":
        return ours
    other = _figures([*map(made.wire.text, anew)])
    return {**ours, **{f"{name}_anew": value for name, value in other.items()}}


def wires(count: int) -> dict[str, dict[str, float]]:
    """The figures of so many wires, DeepSeek's first."""
    names = ["DeepSeek", *(each for each in WIRES if each != "DeepSeek")]
    return {of: talk(of) for of in names[:count]}


def _forget() -> None:
    """What a restart takes: the names that the talk made."""
    names = get_ipython().user_ns
    for name in [each for each in names if each[1:2] == "_" and each[2:].isdigit()]:
        del names[name]


def _figures(texts: list[str]) -> dict[str, float]:
    total = sum(map(len, texts))
    pairs = map(list, pairwise(texts))
    same = sum(len(commonprefix(pair)) for pair in pairs)  # noqa: RUF071 - of characters
    saving = (1 - CACHED) * same / total
    return {"share": same / total, "saving": saving, "characters": total}
