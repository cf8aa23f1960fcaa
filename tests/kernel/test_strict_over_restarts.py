"""A talk with strict providers in real kernels, which goes on in the next one from the journal.

One rule: what the provider refused stands in the wire; a request after the restart is the one
before it, and what is new behind it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from model_server import ModelServer
from strict_talk import FIGURE, WIRES
from test_kept_over_restarts import SET_UP, of_own

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel, pytest.mark.long]

FIRST: list[list[str]] = [["a = 1", "b = a + 1"], [FIGURE], ["c = [a, b]\nprint('c', len(c))"]]
THEN: list[list[str]] = [["d = 4"], ["e = d + 1", "print('e', e)"]]
"""By question the code of its blocks, which a last reply follows."""


def restarted(lab: Any, start: Callable[[], Any]) -> Any:
    lab.restart()
    lab.run(SET_UP)
    return lab


def of_another_server(lab: Any, start: Callable[[], Any]) -> Any:
    id_ = lab.value("session.journal.id")
    lab.close()
    other = start()
    other.run(SET_UP)
    other.run(f"%lmc open {id_}")
    return other


NEXT: list[tuple[Callable[[Any, Callable[[], Any]], Any], str]] = [
    (restarted, "The kernel was restarted: your variables are gone"),
    (of_another_server, "This conversation goes on in another kernel"),
]


@pytest.mark.parametrize(("next_kernel", "words"), NEXT)
@pytest.mark.parametrize("of", WIRES)
def test_the_next_kernel_goes_on_with_the_request_of_the_one_before(
    make_frontend: Callable[..., Any],
    model_server: ModelServer,
    tmp_path: Any,
    of: str,
    next_kernel: Callable[[Any, Callable[[], Any]], Any],
    words: str,
) -> None:
    make, name, end, more = WIRES[of]
    wire = make([])
    model_server.answer = wire.answer
    options = {
        "api_base": model_server.root + end, "api_key": "none", "tools": True, "vision": True,
        **more,
    }  # fmt: skip

    def start() -> Any:
        return make_frontend(env=of_own(tmp_path, "work/a.ipynb"))

    def ask(question: str, codes: list[str]) -> None:
        wire.steps = iter([*((f"I run {code[:9]}.", code) for code in codes), ("Done.", None)])
        lab.run(f"%%lmc --auto-run\n{question}")

    lab = start()
    lab.run(SET_UP)
    lab.run(f"session.choose_model({name!r}, **{options!r})")
    for codes in FIRST:
        ask("Go.", codes)
    before = wire.count
    lab = next_kernel(lab, start)
    lab.run(f"session.choose_model({name!r}, **{options!r})")
    for codes in THEN:
        ask("Go on.", codes)

    assert wire.refusals == []
    assert wire.count == len(wire.bodies) == sum(len(codes) + 1 for codes in FIRST + THEN)
    texts = [*map(wire.text, wire.bodies)]
    assert [now.startswith(then) for then, now in pairwise(texts)] == [True] * (wire.count - 1)
    news = texts[before].removeprefix(texts[before - 1])
    assert news.index(words) < news.index("Go on.")
    assert "Names that are gone: " in news
    last = json.dumps(wire.bodies[-1])
    assert all(thought in last for thought in wire.thoughts[:-1] if thought)
    assert lab.value("(d, e, 'a' in globals())") == (4, 5, False)
