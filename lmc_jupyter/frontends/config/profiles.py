"""Profiles: files of settings, to change from one set of settings to another by a name.

One rule: nothing gets looser by a mistake. A profile of the person's own may set any setting, but
no key, and is chosen whole or not at all. One in the working directory may come from anybody: it
only makes settings stricter, and those that can be understood count beside others that cannot.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import platformdirs
from traitlets import Bool, Dict, Float, Integer, List, TraitError, TraitType, Unicode, Union

from lmc_jupyter.content.folder_file import read_file
from lmc_jupyter.errors import FormatError, GateError
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.config.traces import IN_FOLDER as IN_FOLDER
from lmc_jupyter.keys import is_secret, redact
from lmc_jupyter.limits import Policy
from lmc_jupyter.lmc import canonical
from lmc_jupyter.turn import course
from lmc_jupyter.turn.options import AGENTS, ASK, LEVELS, SWITCH, context_level

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
        When there is none of that name, or something in it cannot be understood.
    """
    values, problems = read_profile(name)
    if problems:
        named = name_problems(f"the profile {name!r}", problems)
        raise FormatError(f"{named} None of its settings apply")
    return values


def read_profile(name: str) -> tuple[Values, list[str]]:
    """The same, but what cannot be understood is named beside the settings that can.

    Returns
    -------
    The settings, and what is wrong with others, each in the words behind "it": "cannot set …".
    """
    there = names()
    if name not in there:
        hint = f"there are {', '.join(there)}" if there else "there is none yet"
        raise FormatError(f"there is no profile {name!r:.60} in {folder()}: {hint}")
    found = _read(folder() / f"{name}.yaml", f"the profile {name!r}")
    return ({}, []) if found is None else found


def name_problems(what: str, problems: list[str]) -> str:
    """A sentence on all that cannot be understood in a profile."""
    text = f"{what} {'; it '.join(problems)}"
    return text if text.endswith("?") else f"{text}."


def of_folder(where: Path) -> tuple[Values, list[str]] | None:
    """What the profile of a working directory asks for, as `read_profile`; None where there is
    none.

    Raises
    ------
    FormatError
        For a file that holds no settings at all.
    """
    return _read(where / IN_FOLDER, f"{IN_FOLDER} in this folder", inside=where)


def _read(path: Path, what: str, inside: Path | None = None) -> tuple[Values, list[str]] | None:
    """The settings of a file, and what is wrong with others; None where there is no file."""
    try:
        data = read_file(path, MAX_BYTES, inside=inside)
    except FormatError as error:
        raise FormatError(f"{error}, so it is no profile: none of its settings apply") from None
    if data is None:
        return None
    from lmc_jupyter.formats.strict_yaml import load  # YAML comes with the first profile

    try:
        values = load(data.decode("utf-8-sig"), what)
        if values is not None and not isinstance(values, dict):
            raise FormatError(
                f"{what} must hold settings, such as `max_turns: 5`; it holds {values!r:.60}"
            )
    except FormatError as error:
        raise FormatError(f"{error}: none of its settings apply") from None
    return check(values or {})


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


def _translate(values: Mapping[Any, Any], problems: list[str]) -> dict[Any, Any]:
    """The same profile with our names, where it has those of Open Interpreter's profiles.

    Source: Open Interpreter's "0.2.0 Migration Guide", section New Parameters.
    """
    llm = values.get("llm")
    if llm is None:
        llm = {}
    if not isinstance(llm, Mapping):
        problems.append(
            f"sets llm to {llm!r:.60}: it must be settings of the model, such as "
            "`llm: {model: openai/m}`"
        )
        llm = {}
    own = {name: each for name, each in values.items() if name not in ("llm", *_OPTIONS)}
    theirs = [(f"llm.{name}", name, each) for name, each in llm.items()]
    theirs += [(name, name, values[name]) for name in _OPTIONS if name in values]
    options = dict(own["options"]) if isinstance(own.get("options"), Mapping) else {}
    for label, name, value in theirs:
        if value is None or (name == "api_key" and value == ""):
            continue
        setting = _LLM.get(name)
        if _holds_key(name, value):
            problems.append(_key(label))
        elif setting is None:
            problems.append(
                f"names {label!r:.60}, which is no setting of a model: there are {', '.join(_LLM)}"
            )
        else:
            into, key = (options, name) if setting == "options" else (own, setting)
            if into.setdefault(key, value) != value:
                problems.append(
                    f"says {key} twice, {into[key]!r:.60} and {value!r:.60}: say it once"
                )
    return {**own, "options": options} if options else own


def _key(name: object) -> str:
    return (
        f"holds a key ({name}): keys belong in the environment or the keyring "
        "(`%lmc key NAME --keep`), take it out"
    )


def check(values: Mapping[Any, Any]) -> tuple[Values, list[str]]:
    """The values as the settings take them, and what is wrong with others, as `read_profile`."""
    problems: list[str] = []
    trial, good = LMC(), {}
    for name, value in _translate(values, problems).items():
        if _holds_key(name, value):
            problems.append(_key(name))
            continue
        traits = LMC.class_own_traits(config=True)
        if name not in traits or name == "profile":
            near = difflib.get_close_matches(str(name), list(traits), 1)
            hint = f"did you mean {near[0]}?" if near else "`%lmc config` lists them"
            problems.append(f"names {name!r:.60}, which a profile cannot set: {hint}")
            continue
        try:
            setattr(trial, name, _mean(traits[name], value))
        except TraitError as error:
            problems.append(f"cannot set {name} to {value!r:.80}: {_reason(traits[name], error)}")
            continue
        good[name] = getattr(trial, name)
        if name in ("auto_run", "deny") and isinstance(good[name], list):
            good[name] = [word for word in good[name] if _is_language(name, word, problems)]
    return good, problems


def _mean(trait: TraitType[Any, Any], value: Any) -> Any:
    """What a word such as `off`, which YAML reads as False, means for this setting."""
    kind = trait.metadata.get("stricter", "")
    if isinstance(value, str) and (isinstance(trait, Bool) or kind in ("fewer", "more", "smaller")):
        value = SWITCH.get(value.strip().lower(), value)
        if isinstance(value, str) and kind in ("fewer", "more"):
            return [value]
    if value is False and kind == "more":
        return []
    if isinstance(value, bool) and kind == "smaller":
        if value is False and trait.allow_none:
            return None  # no limit
        raise TraitError(f"{value} is no number")
    return value


def _reason(trait: TraitType[Any, Any], error: TraitError) -> str:
    """Why this setting cannot have a value."""
    for kind, words in _KINDS.items():
        if isinstance(trait, kind):
            least = getattr(trait, "min", None)
            words += f" of at least {least}" if least is not None else ""
            return f"it must be {words}"
    return str(error).partition("\n")[0].rstrip(".")


_KINDS: dict[type[TraitType[Any, Any]], str] = {
    Integer: "a whole number",
    Float: "a number",
    Bool: "yes or no",
    Union: "yes, no or a list of languages",
    List: "a list of languages",
    Dict: "names and values",
    Unicode: "a text",
}


def _is_language(name: str, word: str, problems: list[str]) -> bool:
    try:
        Policy.of(False, [word])
    except GateError as error:
        problems.append(f"cannot have {word!r:.60} in {name}: {error}")
        return False
    return True


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
    "asks": lambda now, value: max(now, value, key=ASK.index),
    "course": lambda now, value: max(now, value, key=course.MODES.index),
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
