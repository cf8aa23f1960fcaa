"""Where the settings of a kernel come from beside its configuration: an administrator's `lmc.yaml`,
the chosen profile, that of the working directory, and the model chosen in this notebook or for all.

One rule: a file of a folder makes settings stricter, and nothing else; the person reads which. The
administrator's sets the model, too, and nobody who works by settings and magics makes its settings
looser. Code in a kernel has its person's rights: what must hold against that, such as a budget,
belongs in the server of models (docs/hub.md).
"""

from __future__ import annotations

import os
from pathlib import Path

from lmc_jupyter.content.cell import mode_of
from lmc_jupyter.content.notebook_file import read_tags
from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.frontends.config import profiles, saved_model, traces
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.turn import course

_OF_MODEL = ("model", "api_base")


def begin(settings: LMC, notebook: str) -> list[str]:
    """Apply them all; returns sentences for the person on where the settings come from.

    Parameters
    ----------
    notebook : its path; "" where it is not known
    """
    lines = _begin_with_the_administrators(settings) + _begin_with_profiles(settings)
    if "model" not in settings.floor:
        lines += _begin_with_the_chosen_model(settings, notebook)
    is_marked = bool(notebook) and traces.may_have_a_mode(notebook)
    if is_marked and (mode := mode_of(read_tags(notebook))):
        course.require(mode)
        lines.append(f"The tags of this notebook set tutor = {mode!r}.")
    return lines


def _begin_with_the_administrators(settings: LMC) -> list[str]:
    """Apply the files in Jupyter's configuration of the system and of the environment, which are
    for every kernel that runs there; returns sentences on what they set.

    Source: https://jupyter.readthedocs.io/en/latest/use/jupyter-directories.html
    """
    lines: list[str] = []
    for folder in traces.administrators():
        what = f"your administrator's {profiles.IN_FOLDER}"
        try:
            found = profiles.of_folder(folder)
            if found is None:
                continue
            values, problems = found
            if problems:
                lines.append(profiles.name_problems(what, problems))
            current = {name: getattr(settings, name) for name in values}
            changes, _ = profiles.stricter(current, values)
            chosen = {n: v for n, v in values.items() if n in _OF_MODEL and n not in settings.floor}
            profiles.apply(settings, {**changes, **chosen})
            limits = {n: v for n, v in values.items() if settings.trait_metadata(n, "stricter")}
            both, _ = profiles.stricter({**limits, **settings.floor}, limits)
            settings.floor = {**limits, **settings.floor, **both, **chosen}
            course.require(settings.floor.get("tutor", ""))
            names = ", ".join([*limits, *chosen]) or "nothing"
            lines.append(f"{what[0].upper()}{what[1:]} sets {names}, and nothing makes it looser.")
        except (LMCError, OSError) as error:
            lines.append(f"{error}.")
    return lines


def _begin_with_profiles(settings: LMC) -> list[str]:
    """Apply the chosen profile, then that of the working directory; returns remarks on both."""
    lines: list[str] = []
    if settings.profile is not None:
        what = f"the profile {settings.profile!r}"
        try:
            values, problems = profiles.read_profile(settings.profile)
            if problems:
                lines.append(
                    f"{profiles.name_problems(what, problems)} {_only_stricter(settings, values)}"
                )
            else:
                profiles.apply(settings, values)
        except LMCError as error:
            lines.append(f"{error}.")
    what = f"{profiles.IN_FOLDER} in this folder"
    try:
        found = profiles.of_folder(Path.cwd())
        if found is None:
            return lines
        values, problems = found
        if problems:
            lines.append(profiles.name_problems(what, problems))
        changes, beyond = _make_stricter(settings, values)
        course.require(settings.tutor if "tutor" in values else "")
    except (LMCError, OSError) as error:
        return [*lines, f"{error}."]
    line = (
        f"{what} makes these settings stricter: {', '.join(changes)}."
        if changes
        else f"{what} changes nothing."
    )
    if beyond:
        line += f" Ignored (a folder can only make settings stricter): {', '.join(beyond)}."
    return [*lines, line]


def _make_stricter(settings: LMC, values: profiles.Values) -> tuple[profiles.Values, list[str]]:
    """Apply what makes the settings stricter; returns it, and the names of the others."""
    current = {name: getattr(settings, name) for name in settings.trait_names(config=True)}
    changes, beyond = profiles.stricter(current, values)
    profiles.apply(settings, changes)
    return changes, beyond


def _only_stricter(settings: LMC, values: profiles.Values) -> str:
    """Apply what of a profile with mistakes makes the settings stricter; a sentence on it."""
    changes, _ = _make_stricter(settings, values)
    if not changes:
        return "None of its settings apply."
    return f"Of its settings only those apply that make yours stricter: {', '.join(changes)}."


def _begin_with_the_chosen_model(settings: LMC, notebook: str) -> list[str]:
    """Take the model that the person chose for this notebook, else the one for all of theirs.

    What a configuration or a variable of the environment says comes before the one for all.
    """
    where = "for this notebook"
    try:
        choice = saved_model.of_notebook(notebook)
        if choice is None and settings.model is None and not os.environ.get("LMC_MODEL"):
            choice, where = saved_model.of_all(), "for all notebooks"
    except SessionError as error:
        return [f"{error}: choose it again with `%lmc model NAME`."]
    if choice is None:
        return []
    try:
        settings.take_saved(choice.settings)
    except SessionError as error:
        return [f"{error}: choose it again with `%lmc model NAME`."]
    if (choice.model, choice.api_base) == (settings.model, settings.api_base):
        return []
    settings.model, settings.api_base = choice.model, choice.api_base
    return [f"Model: {choice.model} (remembered {where})."]
