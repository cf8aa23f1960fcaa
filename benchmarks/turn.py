"""CPU seconds of one turn after so many messages, with its processes: ours and its neighbours'.

    python benchmarks/turn.py ours|litellm|open-interpreter BASE SIZE...

One rule: all three ask the same server the same question behind the same conversation, keep what
they keep on disk by default, and are run in a process of their own, each by its own Python. The
first turn of a process, and the first behind each conversation, are not counted.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

GROUP = (
    {"role": "user", "type": "message", "content": "Add one, and tell me what x is."},
    {"role": "assistant", "type": "code", "format": "python", "content": "x += 1\nprint(x)"},
    {"role": "computer", "type": "console", "format": "output", "content": "2\n"},
    {"role": "assistant", "type": "message", "content": "Now x is 2, as it should be."},
)
WINDOW, ANSWER = 1_000_000, 4_096
LONG = 5.0
"""A turn that takes so many seconds is measured once and not again."""

Ask = Callable[[], None]


def conversation(size: int) -> list[dict[str, Any]]:
    return [dict(GROUP[at % len(GROUP)]) for at in range(size)]


def ours(base: str) -> Callable[[int], Ask]:
    from lmc_jupyter import OpenInterpreter

    return _interpreter(OpenInterpreter(), base)


def open_interpreter(base: str) -> Callable[[int], Ask]:
    from interpreter import OpenInterpreter

    made = OpenInterpreter(
        disable_telemetry=True,
        offline=True,
        conversation_history=True,
        conversation_history_path=tempfile.mkdtemp(),
    )
    made.llm.vision_renderer = None
    return _interpreter(made, base)


def _interpreter(made: Any, base: str) -> Callable[[int], Ask]:
    made.llm.model, made.llm.api_base, made.llm.api_key = "openai/m", base, "none"
    made.llm.supports_functions, made.llm.supports_vision = True, False
    made.llm.context_window, made.llm.max_tokens = WINDOW, ANSWER

    def after(size: int) -> Ask:
        made.messages = conversation(size)

        def ask() -> None:
            said = "".join(
                chunk.get("content", "")
                for chunk in made.chat("Go on.", display=False, stream=True)
            )
            assert said == "I do.", said

        return ask

    return after


def litellm(base: str) -> Callable[[int], Ask]:
    from litellm import completion

    def after(size: int) -> Ask:
        messages: list[dict[str, Any]] = []
        for each in conversation(size):
            if each["type"] == "code":
                function = {"name": "execute", "arguments": json.dumps(each)}
                calls = [{"id": str(len(messages)), "type": "function", "function": function}]
                messages.append({"role": "assistant", "content": "", "tool_calls": calls})
            elif each["type"] == "console":
                call = messages[-1]["tool_calls"][0]["id"]
                messages.append({"role": "tool", "tool_call_id": call, "content": each["content"]})
            else:
                messages.append({"role": each["role"], "content": each["content"]})

        def ask() -> None:
            asked = [*messages, {"role": "user", "content": "Go on."}]
            for _ in completion("openai/m", asked, api_base=base, api_key="none", stream=True):
                pass

        return ask

    return after


KINDS = {"ours": ours, "litellm": litellm, "open-interpreter": open_interpreter}


def timed(ask: Ask) -> float:
    begun = time.process_time()  # of all its threads; what a busy machine does is not counted
    ask()
    return time.process_time() - begun


def of_children() -> float:
    """CPU seconds of the processes that this one has started, in steps of some 10 ms."""
    times = [each.cpu_times() for each in psutil.Process().children(recursive=True)]
    return float(sum(each.user + each.system for each in times))


def main(kind: str, base: str, *sizes: str) -> None:
    os.environ["DISABLE_TELEMETRY"] = os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp()
    here = str(Path(__file__).parent)
    sys.path[:] = [each for each in sys.path if each not in ("", here)]  # this is `litellm` there
    sys.path.insert(0, str(Path(here).parent))
    after = KINDS[kind](base)
    after(0)()
    seconds = {}
    for size in sizes:
        ask = after(int(size))
        times = [timed(ask)]
        beside = of_children()
        if times[0] < LONG:
            times = [timed(ask) for _ in range(9)]
        seconds[size] = statistics.median(times) + (of_children() - beside) / len(times)
    print(json.dumps(seconds), flush=True)
    os._exit(0)  # Open Interpreter's threads would keep it for seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
