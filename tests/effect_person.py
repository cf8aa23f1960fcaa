"""The names and files of the person whose notebook the blocks of `effect_control.py` run in."""

from __future__ import annotations

import sqlite3
import zipfile
from pathlib import Path

CELLS = """
import os, sys, json, math, re, time, random, datetime, itertools, functools, collections
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
from pathlib import Path

df = pd.DataFrame({
    "city": ["Oslo", "Bergen", "Oslo", "Tromso", "Bergen", "Oslo"],
    "year": [2021, 2021, 2022, 2022, 2023, 2023],
    "sales": [10.5, 8.0, 12.25, 3.5, 9.75, 14.0],
    "units": [5, 4, 6, 2, 5, 7],
})
costs = pd.DataFrame({"city": ["Oslo", "Bergen", "Tromso"], "rent": [30.0, 22.0, 15.0]})
daily = pd.Series([3.0, 5.0, None, 8.0, 13.0], name="daily",
                  index=pd.date_range("2024-01-01", periods=5))
prices = {"apple": 3, "pear": 4, "fig": 7}
ships = ["Vega", "Lyra", "Orion"]
scores = [71, 88, 64, 93, 55]
arr = np.array([4.0, 2.0, 9.0, 1.0, 7.0])
grid = np.arange(12).reshape(3, 4)
tags = {"red", "green", "blue"}
queue = collections.deque(["a", "b", "c"], maxlen=5)
counts = collections.Counter("mississippi")
groups = collections.defaultdict(list, {"north": ["Oslo"]})
settings = {"plot": {"color": "navy", "size": 4}, "paths": ["raw", "clean"]}
buffer = bytearray(b"hello")
text = "The quick brown fox jumps over the lazy dog. The dog sleeps."
threshold = 9.0
total = 58
lines = iter(["first", "second", "third"])
fig, ax = plt.subplots()
ax.plot([1, 2, 3], [2, 4, 3], label="trend")


class Account:
    bank = "Nordic"

    def __init__(self, owner, balance=0):
        self.owner, self.balance, self.history = owner, balance, []

    def deposit(self, amount):
        self.balance += amount
        self.history.append(amount)

    def report(self):
        return f"{self.owner}: {self.balance}"


account = Account("Ida", 100)
accounts = {"ida": Account("Ida", 5), "ola": Account("Ola", 7)}


def summarize(frame):
    return frame.groupby("city")["sales"].sum()


def add_margin(frame):
    frame["margin"] = frame["sales"] * 0.2
    return frame


def remember(name, seen=[]):
    seen.append(name)
    return len(seen)


def bump():
    global total
    total += 1
    return total
"""
"""What the person's own cells were."""

HELPERS = """
import pathlib

RATE = 0.25

def tax(amount):
    return amount * RATE

def save(frame, name="saved.csv"):
    frame.to_csv(name)

def wipe():
    for each in pathlib.Path("old").glob("*.txt"):
        each.unlink()

def reset(mapping):
    mapping.clear()
"""


def make_files(folder: Path) -> None:
    """What is in the folder of the notebook."""
    (folder / "sales.csv").write_text("city,sales\nOslo,3\nBergen,5\nOslo,8\n")
    (folder / "notes.txt").write_text("buy milk\ncall Ida\n")
    (folder / "config.json").write_text('{"alpha": 0.1, "steps": 5}')
    (folder / "helpers.py").write_text(HELPERS)
    (folder / "report_job.py").write_text("open('job.txt', 'w').write('done')\n")
    (folder / "old").mkdir()
    (folder / "old" / "a.txt").write_text("a")
    (folder / "old" / "b.txt").write_text("b")
    (folder / "empty").mkdir()
    with zipfile.ZipFile(folder / "raw.zip", "w") as archive:
        archive.writestr("inside.txt", "inside")
    with sqlite3.connect(folder / "shop.db") as database:
        database.execute("create table items (name text, price real)")
        database.execute("insert into items values ('tea', 2.5), ('milk', 1.5)")
    database.close()
