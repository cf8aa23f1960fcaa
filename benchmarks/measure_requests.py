"""What goes to strict providers in a talk of ten questions, and what of it they had before.

The talk has the sizes of a day's work of a data scientist with a strong model: four frames that
their own cells made, blocks of 18 lines, tables of 14, an answer of three sentences.

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
from lmc_jupyter.models.openai.provider import without_thoughts

CACHED = 0.1
"""The price of a cached token over that of another one, as most providers have it."""

CELLS = (
    """\
import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
rows = 4000
carriers = ["UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E", "WN", "VX", "FL", "AS", "F9", "YV"]
flights = pd.DataFrame({
    "year": 2013, "month": rng.integers(1, 13, rows), "day": rng.integers(1, 29, rows),
    "dep_time": rng.integers(0, 2400, rows), "sched_dep_time": rng.integers(0, 2400, rows),
    "dep_delay": rng.normal(12, 40, rows).round(1), "arr_delay": rng.normal(7, 44, rows).round(1),
    "carrier": rng.choice(carriers, rows), "flight": rng.integers(1, 6000, rows),
    "tailnum": rng.choice(["N10156", "N102UW", "N103US", "N104UW"], rows),
    "origin": rng.choice(["EWR", "JFK", "LGA"], rows), "dest": rng.choice(["IAH", "MIA"], rows),
    "air_time": rng.integers(20, 600, rows), "distance": rng.integers(80, 4900, rows),
    "hour": rng.integers(5, 24, rows), "minute": rng.integers(0, 60, rows),
})
flights.head(12)
""",
    """\
airlines = pd.DataFrame({"carrier": carriers, "name": [f"The airline {each}" for each in carriers]})
airlines
""",
    """\
weather = pd.DataFrame({
    "origin": rng.choice(["EWR", "JFK", "LGA"], 900), "month": rng.integers(1, 13, 900),
    "day": rng.integers(1, 29, 900), "hour": rng.integers(0, 24, 900),
    "temp": rng.normal(55, 17, 900).round(1), "dewp": rng.normal(41, 19, 900).round(1),
    "humid": rng.normal(62, 19, 900).round(1), "wind_dir": rng.integers(0, 360, 900),
    "wind_speed": rng.normal(10, 5, 900).round(1), "precip": rng.exponential(0.01, 900).round(3),
    "pressure": rng.normal(1017, 7, 900).round(1), "visib": rng.normal(9, 2, 900).round(1),
})
weather.describe()
""",
    """\
planes = pd.DataFrame({
    "tailnum": ["N10156", "N102UW", "N103US", "N104UW"], "year": [2004, 1998, 1999, 1999],
    "type": "Fixed wing multi engine", "engines": 2, "seats": [55, 182, 182, 182],
})
clip_delay = flights["dep_delay"].clip(-30, 300)
clip_delay.describe()
""",
)
"""What the person's own cells ran before the talk."""

BLOCK = """\
# Delays by carrier in month {month}, with the number of flights and the share that is late
_of_month = flights[flights["month"] == {month}]
_of_month = _of_month.dropna(subset=["dep_delay", "arr_delay", "distance"])
{name} = (
    _of_month.groupby("carrier")
    .agg(
        flights=("flight", "size"),
        mean_delay=("dep_delay", "mean"),
        median_delay=("dep_delay", "median"),
        late=("arr_delay", lambda delays: (delays > 15).mean()),
        distance=("distance", "mean"),
    )
    .join(airlines.set_index("carrier"))
    .sort_values("mean_delay", ascending=False)
)
# What is rare says little: mark it, so that nobody reads a mean of three flights
{name}["is_rare"] = {name}["flights"] < 20
print({name}.round(2).to_string())
"""

WORDS = (
    "I compare the delays of the carriers in one month, and mark those with few flights, because "
    "a mean of a few flights says little."
)
ANSWER = (
    "The carriers differ by less than their months do: the largest mean delay is 18 minutes, and "
    "the smallest 6. Of the 14 carriers five have fewer than 20 flights in this month, so I would "
    "not rank these. That the late ones fly shorter distances is what the table suggests; I have "
    "not checked whether the origin explains it."
)


class Day(Talk):  # type: ignore[misc]  # the tests have no types
    """The talk with blocks, tables and answers of the sizes of a day's work."""

    def _script(self, number: int, first: str = "", more: int = 2) -> None:
        names = [f"{'abc'[each]}_{number}" for each in range(more)]
        codes = [first] if first else []
        codes += [BLOCK.format(name=name, month=number % 12 + 1) for name in names]
        self.wire.steps = iter([*((WORDS, code) for code in codes), (ANSWER, None)])

    def edit(self, number: int) -> str:
        """The first block, with another bound for what is rare."""
        return BLOCK.format(name=f"a_{number}", month=number % 12 + 1).replace("< 20", "< 30")


def run_cells() -> None:
    """Run the cells of the person, whose history a conversation sees."""
    for cell in CELLS:
        get_ipython().run_cell(cell, store_history=True)


def talk(of: str) -> dict[str, float]:
    """The figures of one of these wires: `share` of what is sent that its cache has, `saving` of
    the price of the input by it, `characters`, those of `thoughts` among them; and the same of a
    chat written anew each time, the names in its system message.
    """
    anew: list[Any] = []
    request = Sent.request

    def hear(self: Sent, messages: Any, brief: Any, abilities: Any, selection: Any = None) -> Any:
        chat = request(self, messages, brief, abilities, selection)
        anew.append({"tools": self.tools, "messages": to_chat(
            messages, brief, tools=abilities.tools, vision=abilities.vision
        )})  # fmt: skip
        return chat

    run_cells()
    Sent.request = hear  # type: ignore[method-assign]
    try:
        with ModelServer() as server:
            made = Day(server, of)
            whole(made, _forget)
    finally:
        Sent.request = request  # type: ignore[method-assign]
    if made.wire.refusals:
        raise RuntimeError(f"{of} refused a request: {made.wire.refusals[0]}")
    ours = _figures([*map(made.wire.text, made.wire.bodies)])
    if of == "DeepSeek":
        bare = [{**body, "messages": [*map(without_thoughts, body["messages"])]}
                for body in made.wire.bodies]  # fmt: skip
        ours["thoughts"] = ours["characters"] - _figures([*map(made.wire.text, bare)])["characters"]
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
