"""The administrator's file: `lmc.yaml` in Jupyter's configuration of the system or of the
environment, for every kernel that runs there.

One rule: its settings are made stricter by anybody, and looser by nobody who works by settings and
magics. It sets the model, too. Code in a kernel has its person's rights: what must hold against
that, such as a budget, belongs in the server of models (docs/hub.md).

Source: https://jupyter.readthedocs.io/en/latest/use/jupyter-directories.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmc_jupyter.errors import LMCError
from lmc_jupyter.frontends.config import profiles
from lmc_jupyter.frontends.config.traces import administrators
from lmc_jupyter.turn import course

if TYPE_CHECKING:
    from lmc_jupyter.frontends.config.settings import LMC

OF_MODEL = ("model", "api_base")


def begin(settings: LMC) -> list[str]:
    """Apply the files; returns sentences for the person on what they set."""
    lines: list[str] = []
    for folder in administrators():
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
            chosen = {n: v for n, v in values.items() if n in OF_MODEL and n not in settings.floor}
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
