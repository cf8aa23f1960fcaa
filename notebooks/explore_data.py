"""The checks of the notebook `02-explore-data`.

One rule: that of `exercises`: look, change nothing, and say what to do. What is right is worked
out from the data, never written down here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from exercises import Answer, Checks, code, declined, images
from palmerpenguins import load_penguins

check = Checks()


@check.exercise("rarest", "Right. A number in a table, read by you: that is half of data science.")
def _rarest(rarest: Any = "") -> str:
    counts = load_penguins()["species"].value_counts()
    if not isinstance(rarest, str) or not rarest.strip():
        return 'Write the name of a species between the quotation marks, such as "Adelie".'
    named = rarest.strip().lower()
    found = next((name for name in counts.index if name.lower() == named), None)
    if found is None:
        return f"{rarest!r:.40} is no species of the table: it has {', '.join(counts.index)}."
    if found != counts.idxmin():
        return f"There are {counts[found]} {found} penguins, and of one species there are fewer."
    return ""


@check.exercise(
    "missing",
    "Right: the code had it, and the sentence did not. You read both, which is the trick.",
)
def _missing(missing_weights: Any = None) -> str:
    gaps = load_penguins().isna().sum()
    if missing_weights is None:
        return "Write a number in place of None: how many weights (body_mass_g) are missing?"
    if not isinstance(missing_weights, int) or isinstance(missing_weights, bool):
        return f"`missing_weights` must be a whole number, not {missing_weights!r:.40}."
    if missing_weights == gaps["body_mass_g"]:
        return ""
    if missing_weights == gaps["sex"]:
        return (
            f"{missing_weights} is what is missing in the column `sex`, and what the model may "
            "have told you. Look at what its code printed, in the line body_mass_g."
        )
    return f"It is not {missing_weights}: look at the line body_mass_g of what the code printed."


@check.exercise("means", "Your lines ran: three species, three means.", words="mean of body_mass_g")
def _means(answer: Answer, means: Any = None) -> str:
    if not code(answer):
        return "The model wrote no code this time. Run the %%lmc cell again."
    if declined(answer):
        return "The code was not run. Run the %%lmc cell again, and press Edit instead."
    if means is None:
        return (
            "There is no variable `means` yet: run the %%lmc cell again, press Edit, add the "
            "two lines at the end of the code, and press Run edited."
        )
    right = load_penguins().groupby("species")["body_mass_g"].mean()
    if isinstance(means, (int, float)):
        return (
            f"`means` is one number, {means:.0f}: the mean of all penguins together. "
            'Group them first: birds.groupby("species")["body_mass_g"].mean()'
        )
    if not isinstance(means, (pd.Series, Mapping)):
        return f"`means` must hold a number for each species, not {means!r:.60}."
    for species, mean in right.items():
        if species not in means:
            return (
                f"`means` has nothing for {species}: it must hold all of {', '.join(right.index)}."
            )
        if abs(float(means[species]) - mean) > 0.5:
            return f"`means` has {means[species]:.0f} g for {species}: the table says {mean:.0f} g."
    return ""


@check.exercise(
    "signs",
    "Right: within every species a longer bill is a deeper one. The minus came from mixing them.",
)
def _signs(signs: Any = None) -> str:
    birds = load_penguins()
    if not isinstance(signs, Mapping):
        return f'`signs` must stay a dictionary, such as {{"Adelie": "+"}}, not {signs!r:.60}.'
    for species, rows in birds.groupby("species"):
        said = str(signs.get(species, "")).strip()
        if said not in ("+", "-"):
            return f'Write "+" or "-" for {species}: is its correlation above zero, or below?'
        found = rows["bill_length_mm"].corr(rows["bill_depth_mm"])
        if (said == "+") != (found > 0):
            return (
                f'You say "{said}" for {species}. Ask for it: take only the rows of {species} '
                "first, as the cell above does for adelie."
            )
    return ""


@check.exercise("picture", "A picture of your own, of real data, in one sentence.", words="birds")
def _picture(answer: Answer) -> str:
    question = str(answer[0].content)
    if "draw ..." in question.lower() or '["..."]' in question:
        return (
            f"You asked {question[:60]!r}, dots and all: put what you want to see and a column in "
            'their place, for instance "Draw a histogram of birds["year"].", and run it again.'
        )
    if not any(word in question.lower() for word in _DRAWING):
        return (
            f"Your last question about birds was {question[:60]!r}, and it asks for no picture: "
            'say which one you want, for instance "Draw a histogram of birds["year"]."'
        )
    if not code(answer):
        return "The model wrote no code this time: ask again, in other words."
    if declined(answer):
        return "The code was not run: ask again, read it, and press Run."
    if not images(answer):
        return (
            "The code ran, but no picture came. Small models trip over long wishes: ask for one "
            'simple picture of one or two columns, and write the name birds["..."] out.'
        )
    return ""


_DRAWING = ("draw", "plot", "histogram", "chart", "picture", "scatter", "figure", "graph")
