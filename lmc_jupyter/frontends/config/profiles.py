"""Profiles: files of settings, to go from one set of them to another at a word.

One rule: a profile is all or nothing. Those in the person's own folder may set whatever a setting
can be, but no key; one that lies in the working directory may come from anybody, and only makes
things stricter.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import platformdirs
from traitlets import TraitError

from lmc_jupyter.errors import FormatError, GateError
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.keys import is_secret, redact
from lmc_jupyter.limits import Policy
from lmc_jupyter.lmc import canonical

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
    """What a profile of the person's own sets.

    Raises
    ------
    FormatError
        When there is none of that name, or something in it is no setting.
    """
    there = names()
    if name not in there:
        known = f"there are {', '.join(there)}" if there else "there is none yet"
        raise FormatError(f"there is no profile {name!r:.60} in {folder()}: {known}")
    return read(folder() / f"{name}.yaml", f"the profile {name!r}")


def of_folder(where: Path) -> Values | None:
    """What the profile of a working directory asks for; None where there is none.

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
    return checked(values, what)


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


def _translated(values: Mapping[Any, Any], what: str) -> dict[Any, Any]:
    """The same profile with our names, where it has those of Open Interpreter's profiles.

    Source: the seed document "0.2.0 Migration Guide", section New Parameters.
    """
    llm = values.get("llm")
    if llm is None:
        llm = {}
    if not isinstance(llm, Mapping):
        raise FormatError(
            f"{what} sets llm to {llm!r:.60}: it must be settings of the model, such as "
            "`llm: {model: openai/m}`. None of its settings apply"
        )
    found = {name: each for name, each in values.items() if name not in ("llm", *_OPTIONS)}
    theirs = [(f"llm.{name}", name, each) for name, each in llm.items()]
    theirs += [(name, name, values[name]) for name in _OPTIONS if name in values]
    options = dict(found["options"]) if isinstance(found.get("options"), Mapping) else {}
    for said, name, value in theirs:
        if value is None or (name == "api_key" and value == ""):
            continue
        if _holds_key(name, value):
            raise _key(what, said)
        setting = _LLM.get(name)
        if setting is None:
            raise FormatError(
                f"{what} names {said!r:.60}, which is no setting of a model: there are "
                f"{', '.join(_LLM)}. None of its settings apply"
            )
        into, key = (options, name) if setting == "options" else (found, setting)
        if into.setdefault(key, value) != value:
            raise FormatError(
                f"{what} says {key} twice, {into[key]!r:.60} and {value!r:.60}: say it once. "
                "None of its settings apply"
            )
    return {**found, "options": options} if options else found


def _key(what: str, name: object) -> FormatError:
    return FormatError(
        f"{what} holds a key ({name}): keys belong in the environment or the keyring "
        "(`%lmc key NAME --keep`); take it out. None of its settings apply"
    )


def checked(values: Mapping[str, Any], what: str) -> Values:
    """The values as the settings take them; raises as `read`."""
    values = _translated(values, what)
    traits = LMC.class_own_traits(config=True)
    for name, value in values.items():
        if _holds_key(name, value):
            raise _key(what, name)
        if name not in traits or name == "profile":
            near = difflib.get_close_matches(str(name), list(traits), 1)
            meant = f"did you mean {near[0]}?" if near else "`%lmc config` lists them"
            raise FormatError(
                f"{what} names {name!r:.60}, which a profile cannot set: {meant} "
                "None of its settings apply"
            )
    taken = LMC()
    for name, value in values.items():
        try:
            setattr(taken, name, value)
        except TraitError as error:
            raise FormatError(
                f"{what} cannot set {name} to {value!r:.80}: {_said(error)}. "
                "None of its settings apply"
            ) from None
    try:  # the languages' spelling
        Policy.of(taken.auto_run, taken.deny)
    except GateError as error:
        raise FormatError(f"{what}: {error} None of its settings apply") from None
    return {name: getattr(taken, name) for name in values}


def apply(settings: LMC, values: Mapping[str, Any]) -> None:
    """Set all of these, or, when one is refused, none; raises what refused it."""
    before = {name: getattr(settings, name) for name in values}
    done: list[str] = []
    try:
        for name, value in values.items():
            done.append(name)
            setattr(settings, name, value)
    except Exception:
        for name in reversed(done):
            setattr(settings, name, before[name])
        raise


def stricter(current: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[Values, list[str]]:
    """What of these wishes makes things stricter, and the names of those that do not.

    Parameters
    ----------
    current : every setting as it is
    wanted : settings as somebody wishes them who may only make things stricter

    Returns
    -------
    The settings that change, each at least as strict as it is; and, in the order of the wishes,
    those that ask for more than there is.
    """
    changes: Values = {}
    beyond: list[str] = []
    traits = LMC.class_own_traits(config=True)
    for name, value in wanted.items():
        now: Any = current[name]
        compare = _STRICTER.get(traits[name].metadata.get("stricter", ""), _unchanged)
        new, more = compare(now, value)
        if new != now:
            changes[name] = new
        if more:
            beyond.append(name)
    return changes, beyond


def _unchanged(now: Any, value: Any) -> tuple[Any, bool]:
    return now, value != now


def _off(now: bool, value: bool) -> tuple[bool, bool]:
    return now and value, value and not now


def _more_denied(now: Collection[str], value: Collection[str]) -> tuple[list[str], bool]:
    known = {canonical(word) for word in now}
    return [*now, *(word for word in value if canonical(word) not in known)], False


def _less_unasked(now: bool | list[str], value: bool | list[str]) -> tuple[Any, bool]:
    """Those that both let run unasked; whether the second lets run more than the first."""
    if isinstance(now, bool):
        return (value, False) if now else (False, bool(value))
    if isinstance(value, bool):
        return (now, True) if value else (False, False)
    both = {canonical(word) for word in value}
    mine = {canonical(word) for word in now}
    if "*" in mine:
        return value, False
    if "*" in both:
        return now, True
    return [word for word in now if canonical(word) in both], not both <= mine


def _smaller(now: float | None, value: float | None) -> tuple[float | None, bool]:
    if value is None:
        return now, now is not None
    return (value, False) if now is None or value <= now else (now, True)


_STRICTER: dict[str, Callable[[Any, Any], tuple[Any, bool]]] = {
    "more": _more_denied,
    "fewer": _less_unasked,
    "smaller": _smaller,
    "off": _off,
}
"""What `stricter` of a trait means: (value now, value wished) -> (new value, whether the wish asks
for more than there is). Without it, a profile in a working directory cannot set the setting."""


def _holds_key(name: object, value: object) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_key(key, each) for key, each in value.items())
    if isinstance(value, list):
        return any(_holds_key(name, each) for each in value)
    if isinstance(value, str) and redact(value) != value:
        return True
    return isinstance(name, str) and is_secret(name, value)


def _said(error: TraitError) -> str:
    return str(error).partition("\n")[0].rstrip(".")
