"""Profiles: files of settings, to change from one set of settings to another by a name.

One rule: a profile applies whole or not at all. One in the person's own folder may set any setting,
but no key; one in the working directory may come from anybody, and only makes settings stricter.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import platformdirs
from traitlets import TraitError

from lmc_jupyter.errors import FormatError, GateError
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.keys import is_secret, redact
from lmc_jupyter.limits import Policy
from lmc_jupyter.lmc import canonical
from lmc_jupyter.turn.options import AGENTS, LEVELS, context_level

IN_FOLDER = "lmc.yaml"
"""The profile of a working directory."""

MAX_BYTES = 100_000

Values = dict[str, Any]
"""Names of settings -> their values."""


def folder() -> Path:
    """Where the person's profiles are; it need not be there."""
    return platformdirs.user_config_path("lmc-jupyter") / "profiles"


def names() -> list[str]:
    """The person's profiles."""
    try:
        return sorted(path.stem for path in folder().glob("*.yaml") if path.is_file())
    except OSError:
        return []


def profile(name: str) -> Values:
    """The settings of a profile of the person's own.

    Raises
    ------
    FormatError
        When there is none of that name, or something in it is no setting.
    """
    there = names()
    if name not in there:
        hint = f"there are {', '.join(there)}" if there else "there is none yet"
        raise FormatError(f"there is no profile {name!r:.60} in {folder()}: {hint}")
    return read(folder() / f"{name}.yaml", f"the profile {name!r}")


def of_folder(where: Path) -> Values | None:
    """The settings that the profile of a working directory asks for; None where there is none.

    Raises
    ------
    FormatError
        As `profile`.
    """
    path = where / IN_FOLDER
    return read(path, f"{IN_FOLDER} in this folder") if path.is_file() else None


def read(path: Path, what: str) -> Values:
    """The settings of a file, each a value that it can have.

    Parameters
    ----------
    what : what it is, to begin a sentence

    Raises
    ------
    FormatError
        For a file that cannot be read, a name that is no setting, a value that it cannot have,
        or a key: none of its settings apply then.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FormatError(
            f"{what} cannot be read: {error.strerror}: none of its settings apply"
        ) from None
    if len(data) > MAX_BYTES:
        raise FormatError(f"{what} has more than {MAX_BYTES:,} bytes: that is no profile")
    from lmc_jupyter.formats.strict_yaml import load  # YAML comes with the first profile

    values = load(data.decode("utf-8", "replace"), what)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise FormatError(
            f"{what} must hold settings, such as `max_turns: 5`; it holds {values!r:.60}"
        )
    return check(values, what)


_LLM = {
    "model": "model",
    "api_base": "api_base",
    "supports_vision": "vision",
    "supports_functions": "tools",
    "max_tokens": "options",
    "context_window": "options",
    "temperature": "options",
    "api_version": "options",
}
"""`llm` of Open Interpreter's profiles, key by key -> the setting that it is here."""
_OPTIONS = ("temperature", "api_version")
"""Those of them that may stand at the top of a profile too."""


def _translate(values: Mapping[Any, Any], what: str) -> dict[Any, Any]:
    """The same profile with our names, where it has those of Open Interpreter's profiles.

    Source: Open Interpreter's "0.2.0 Migration Guide", section New Parameters.
    """
    llm = values.get("llm")
    if llm is None:
        llm = {}
    if not isinstance(llm, Mapping):
        raise _refuse(
            f"{what} sets llm to {llm!r:.60}: it must be settings of the model, such as "
            "`llm: {model: openai/m}`."
        )
    own = {name: each for name, each in values.items() if name not in ("llm", *_OPTIONS)}
    theirs = [(f"llm.{name}", name, each) for name, each in llm.items()]
    theirs += [(name, name, values[name]) for name in _OPTIONS if name in values]
    options = dict(own["options"]) if isinstance(own.get("options"), Mapping) else {}
    for label, name, value in theirs:
        if value is None or (name == "api_key" and value == ""):
            continue
        if _holds_key(name, value):
            raise _key(what, label)
        setting = _LLM.get(name)
        if setting is None:
            raise _refuse(
                f"{what} names {label!r:.60}, which is no setting of a model: there are "
                f"{', '.join(_LLM)}."
            )
        into, key = (options, name) if setting == "options" else (own, setting)
        if into.setdefault(key, value) != value:
            raise _refuse(
                f"{what} says {key} twice, {into[key]!r:.60} and {value!r:.60}: say it once."
            )
    return {**own, "options": options} if options else own


def _key(what: str, name: object) -> FormatError:
    return _refuse(
        f"{what} holds a key ({name}): keys belong in the environment or the keyring "
        "(`%lmc key NAME --keep`); take it out."
    )


def _refuse(sentence: str) -> FormatError:
    return FormatError(f"{sentence} None of its settings apply")


def check(values: Mapping[str, Any], what: str) -> Values:
    """The values as the settings take them; raises as `read`."""
    values = _translate(values, what)
    traits = LMC.class_own_traits(config=True)
    for name, value in values.items():
        if _holds_key(name, value):
            raise _key(what, name)
        if name not in traits or name == "profile":
            near = difflib.get_close_matches(str(name), list(traits), 1)
            hint = f"did you mean {near[0]}?" if near else "`%lmc config` lists them"
            raise _refuse(f"{what} names {name!r:.60}, which a profile cannot set: {hint}")
    trial = LMC()
    for name, value in values.items():
        try:
            setattr(trial, name, value)
        except TraitError as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise _refuse(f"{what} cannot set {name} to {value!r:.80}: {reason}.") from None
    try:  # the languages' spelling
        Policy.of(trial.auto_run, trial.deny)
    except GateError as error:
        raise _refuse(f"{what}: {error}") from None
    return {name: getattr(trial, name) for name in values}


def apply(settings: LMC, values: Mapping[str, Any]) -> None:
    """Set all of these, or, when one is refused, none; raises what refused it."""
    before = {name: getattr(settings, name) for name in values}
    changes: list[str] = []
    try:
        for name, value in values.items():
            changes.append(name)
            setattr(settings, name, value)
    except Exception:
        for name in reversed(changes):
            setattr(settings, name, before[name])
        raise


def stricter(current: Mapping[str, Any], wishes: Mapping[str, Any]) -> tuple[Values, list[str]]:
    """The wishes that make settings stricter, and the names of the others.

    Parameters
    ----------
    current : every setting as it is
    wishes : settings as somebody wishes them who may only make things stricter

    Returns
    -------
    The settings that change, each at least as strict as it is; and, in the order of the wishes,
    those that ask for more than there is.
    """
    changes: Values = {}
    beyond: list[str] = []
    traits = LMC.class_own_traits(config=True)
    for name, value in wishes.items():
        now, kind = current[name], traits[name].metadata.get("stricter", "")
        if kind == "level":
            now, value = context_level(now), context_level(value)
        new = _STRICTER[kind](now, value)
        if new != now:
            changes[name] = new
        if kind != "more" and _words(new) != _words(value):
            beyond.append(name)
    return changes, beyond


def _words(value: Any) -> Any:
    """A value as it is compared: languages in one spelling and any order, False for none."""
    if isinstance(value, list) or value is False:
        return frozenset(map(canonical, value or ()))
    return value


def _more(now: list[str], value: list[str]) -> list[str]:
    return [*now, *(word for word in value if canonical(word) not in _words(now))]


def _fewer(now: bool | list[str], value: bool | list[str]) -> bool | list[str]:
    """The languages that both let run unasked; True and "*" are all of them."""
    for one, other in ((now, value), (value, now)):
        if one is True or "*" in _words(one):
            return other
    if isinstance(now, bool):
        return now
    return [word for word in now if canonical(word) in _words(value)]


def _smaller(now: float | None, value: float | None) -> float | None:
    return min((each for each in (now, value) if each is not None), default=None)


_STRICTER: dict[str, Callable[[Any, Any], Any]] = {
    "more": _more,
    "fewer": _fewer,
    "smaller": _smaller,
    "off": lambda now, value: now and value,
    "level": lambda now, value: max(now, value, key=LEVELS.index),
    "shut": lambda now, value: max(now, value, key=AGENTS.index),
    "": lambda now, value: now,  # noqa: ARG005 - a profile in a working directory cannot set it
}
"""What `stricter` of a trait means: (value now, value wished) -> the stricter of both."""


def _holds_key(name: object, value: object) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_key(key, each) for key, each in value.items())
    if isinstance(value, list):
        return any(_holds_key(name, each) for each in value)
    if isinstance(value, str) and redact(value) != value:
        return True
    return isinstance(name, str) and is_secret(name, value)
