"""A neighbour of the speed table, in a process of its own, by its own Python.

    python benchmarks/peer.py openai|litellm|open-interpreter

It takes one line of JSON for each question, `{"base": address, "words": count}`, and prints one
for each answer: `begun` (time.monotonic() of the question), `first` (seconds to the first text),
`wall` and `cpu` (seconds in all), `text`, `pieces` (how many came).

One rule: it is the plainest program that asks this question by that library, as a person would
write it; it keeps its client for the next question.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

QUESTION = "Go on."

Ask = Callable[[str, int], Iterator[str]]


def openai() -> Ask:
    import openai

    clients: dict[str, Any] = {}

    def ask(base: str, words: int) -> Iterator[str]:
        if base not in clients:
            clients[base] = openai.OpenAI(base_url=base, api_key="none")
        said = [{"role": "user", "content": QUESTION}]
        for part in clients[base].chat.completions.create(
            model="bench", messages=said, stream=True, max_tokens=words
        ):
            if part.choices and part.choices[0].delta.content:
                yield part.choices[0].delta.content

    return ask


def litellm() -> Ask:
    import litellm

    def ask(base: str, words: int) -> Iterator[str]:
        said = [{"role": "user", "content": QUESTION}]
        for part in litellm.completion(
            "openai/bench", said, api_base=base, api_key="none", stream=True, max_tokens=words
        ):
            if part.choices and part.choices[0].delta.content:
                yield part.choices[0].delta.content

    return ask


def open_interpreter() -> Ask:
    from interpreter import OpenInterpreter

    made = OpenInterpreter(
        disable_telemetry=True,
        offline=True,
        auto_run=True,
        conversation_history=True,
        conversation_history_path=tempfile.mkdtemp(),
    )
    made.llm.model, made.llm.api_key = "openai/bench", "none"
    made.llm.supports_functions, made.llm.supports_vision = True, False
    made.llm.vision_renderer = None

    def ask(base: str, words: int) -> Iterator[str]:
        made.llm.api_base, made.messages = base, []
        made.llm.context_window, made.llm.max_tokens = 100_000, words
        for chunk in made.chat(QUESTION, display=False, stream=True):
            if chunk["type"] in ("message", "console") and isinstance(chunk.get("content"), str):
                yield chunk["content"]

    return ask


KINDS: dict[str, Callable[[], Ask]] = {
    "openai": openai,
    "litellm": litellm,
    "open-interpreter": open_interpreter,
}


def answer(ask: Ask, base: str, words: int) -> dict[str, Any]:
    begun, cpu, first, pieces = time.monotonic(), time.process_time(), 0.0, []
    for piece in ask(base, words):
        first = first or time.monotonic() - begun
        pieces.append(piece)
    wall = time.monotonic() - begun
    return {
        "begun": begun,
        "first": first,
        "wall": wall,
        "cpu": time.process_time() - cpu,
        "text": "".join(pieces),
        "pieces": len(pieces),
    }


def main(kind: str) -> None:
    os.environ["DISABLE_TELEMETRY"] = os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    here = str(Path(__file__).parent)
    sys.path[:] = [each for each in sys.path if each not in ("", here)]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    ask = KINDS[kind]()
    for line in sys.stdin:
        asked = json.loads(line)
        answers.write(json.dumps(answer(ask, asked["base"], asked["words"])) + "\n")
        answers.flush()
    os._exit(0)  # Open Interpreter's threads would keep it for seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
