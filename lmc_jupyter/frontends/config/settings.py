"""The settings, as traits with help: `%config LMC.model = "..."`, or `c.LMC.model` in a file.

One rule: nothing below the session reads them; whoever makes a session hands the values down.
Keys are not settings: they stay in the environment (LMC_API_KEY, or the provider's own name).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from traitlets import (
    Bool,
    Dict,
    Float,
    Integer,
    List,
    TraitError,
    TraitType,
    Unicode,
    Union,
    validate,
)
from traitlets.config import Config, SingletonConfigurable

from lmc_jupyter.errors import LMCError, SessionError
from lmc_jupyter.turn import course
from lmc_jupyter.turn.options import NAMES, Options, agents_level, ask_level, context_level

_OF_TRAIT = re.compile(r"The (?:value of the )?'(\w+)' trait of an? LMC instance")
"""How traitlets names a setting in its own sentences."""


OF_MODEL = frozenset({"vision", "tools", "transcription_model"})
"""Settings of the model that stay with a notebook's choice of one, beside `options`."""


def _is_plain(value: object) -> bool:
    """Whether JSON holds it, and no key is in it."""
    from lmc_jupyter.keys import Secret

    if isinstance(value, Secret):
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, int, float))


def _hide(options: dict[str, Any]) -> dict[str, Any]:
    if not options:
        return options
    from lmc_jupyter.keys import hide  # at the first option

    return hide(options)


def _most_dollars(default: float | None, of: str) -> Any:
    trait = Float(default, min=0, allow_none=True, help=f"US dollars that {of}")
    return trait.tag(config=True, stricter="smaller")


class Level(TraitType[str, "str | bool"]):
    """A setting that is one of some words; True and False are the first and the last of them.

    Parameters
    ----------
    read : gives the word that a value means, or raises SessionError
    """

    def __init__(self, read: Callable[[object], str], **more: Any) -> None:
        super().__init__(**more)
        self._read = read

    def validate(self, obj: Any, value: Any) -> str:  # noqa: ARG002
        try:
            return self._read(value)
        except SessionError as error:
            raise TraitError(str(error)) from None


class LMC(SingletonConfigurable):
    """What every `%%lmc` cell of this kernel starts from."""

    profile = Unicode(
        None,
        allow_none=True,
        help="The profile in use: a file of settings in your folder of profiles. "
        "`%lmc profile` lists them.",
    ).tag(config=True)
    model = Unicode(
        None,
        allow_none=True,
        help="The model: any LiteLLM name, `local`, or `replay/PATH`. "
        "Default: LMC_MODEL of the environment, else the embedded model.",
    ).tag(config=True)
    api_base = Unicode(
        None,
        allow_none=True,
        help="The address of an OpenAI-compatible server, such as http://127.0.0.1:1234/v1.",
    ).tag(config=True)
    options = Dict(
        help="More options of the model, as LiteLLM names them: "
        "{'temperature': 0, 'max_tokens': 2000}."
    ).tag(config=True)
    transcription_model = Unicode(
        None,
        allow_none=True,
        help="The model that transcribes your recordings for models that take no sound: any "
        "LiteLLM name, such as whisper-1. Default: none; your recordings then go to no other "
        "model.",
    ).tag(config=True)
    vision = Bool(
        None,
        allow_none=True,
        help="Whether the model sees images: True sends them, False describes them. "
        "Default: what LiteLLM knows of the model; of one at your own address it knows nothing.",
    ).tag(config=True)
    tools = Bool(
        None,
        allow_none=True,
        help="Whether the model writes code as calls of a tool: True, or False for code blocks. "
        "Default: what LiteLLM knows of the model; at your own address a tool is tried first.",
    ).tag(config=True)
    start_worker = Bool(
        True,
        help="Start the process that speaks to the models as soon as the extension is loaded, or "
        "such a model is chosen: it takes seconds to be ready. False starts it at your first "
        "question. The embedded model needs none.",
    ).tag(config=True)
    # Options of a session: each is a field of `Options`, which has its default. `stricter` says
    # which values a profile in a working directory may set, see `profiles.stricter`.

    ask = Level(
        ask_level,
        default_value=Options.ask,
        help="When you are asked before code runs: 'always'; 'changes' lets Python run unasked "
        "that only reads and makes new names, as far as can be seen, and asks for all else; "
        "'never' is the same as auto_run = True.",
    ).tag(config=True, stricter="asks")
    auto_run = Union(
        [Bool(), List(Unicode())],
        default_value=Options.auto_run,
        help="Run code without asking: True for every language, or a list of languages. "
        "Code runs with your rights, so think before you turn this on.",
    ).tag(config=True, stricter="fewer")
    deny = List(
        Unicode(),
        default_value=list(Options.deny),
        help="Languages that must never run, such as ['shell'].",
    ).tag(config=True, stricter="more")
    context = Level(
        context_level,
        default_value=Options.context,
        help="What the model gets of the notebook: 'notebook' sends the cells that ran since your "
        "last question, with their output, and the names, types and shapes of your variables; "
        "'names' the names alone; 'none' nothing.",
    ).tag(config=True, stricter="level")
    context_values = Bool(
        Options.context_values,
        help="Also send the values of short variables and the first rows of frames. They leave "
        "this machine if the model does not run on it.",
    ).tag(config=True, stricter="off")
    system_message = Unicode(
        Options.system_message,
        allow_none=True,
        help="Instructions to the model that replace the default ones.",
    ).tag(config=True)
    custom_instructions = Unicode(
        Options.custom_instructions, help="Instructions to the model that follow the others."
    ).tag(config=True)
    receipts = Bool(
        Options.receipts,
        help="Underline the numbers in the model's closing words that stand in no output, cell or "
        "value; the others lead to where they stand.",
    ).tag(config=True)
    max_turns = Integer(
        Options.max_turns,
        min=1,
        help="The most replies to one question; then the answer stops and says so.",
    ).tag(config=True, stricter="smaller")
    max_cost = _most_dollars(
        Options.max_cost, "one question may cost. A request that might cost more is not made."
    )
    max_session_cost = _most_dollars(Options.max_session_cost, "one conversation may cost.")
    max_day_cost = _most_dollars(
        Options.max_day_cost, "all your sessions of a day may cost, in every notebook."
    )
    agents = Level(
        agents_level,
        default_value=Options.agents,
        help="What other agents may do that reach this notebook through `lmc-jupyter mcp`: 'ask' "
        "shows you each block of theirs and runs it if you say so, whatever auto_run is; 'off' "
        "refuses them everything.",
    ).tag(config=True, stricter="shut")

    tutor = Level(
        course.read_mode,
        default_value=Options.tutor,
        help="For a course: 'hints' lets no model answer: whatever is asked, one step about an "
        "exercise comes; 'off' gives no hints either. A file of the folder that sets it cannot "
        "be made looser.",
    ).tag(config=True, stricter="course")

    floor: Mapping[str, Any] = {}
    """What the administrator has set: nothing makes it looser."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._hold_keys()

    @validate("model", "api_base", *NAMES)
    def _is_as_strict(self, proposal: dict[str, Any]) -> Any:
        """What the administrator has set may be made stricter."""
        try:
            self.check_floor(proposal["trait"].name, proposal["value"])
        except SessionError as error:
            raise TraitError(str(error)) from None
        return proposal["value"]

    def check_floor(self, name: str, value: Any) -> None:
        """Raise a SessionError for a value that is looser than the administrator's."""
        if name not in self.floor:
            return
        from lmc_jupyter.frontends.config.profiles import stricter  # it imports us

        floor = self.floor[name]
        is_other = name in ("model", "api_base") and value != floor
        if is_other or stricter({name: value}, {name: floor})[0]:
            raise SessionError(f"your administrator has set {name} to {floor!r:.80}")

    @validate("options")
    def _no_key_is_shown(self, proposal: dict[str, Any]) -> dict[str, Any]:
        """A key belongs in the environment; where one is given here, `%config` must not show it."""
        return _hide(proposal["value"])

    def update_config(self, config: Config) -> None:
        """Take these values, as `%config` gives them; one that is refused leaves nothing behind.

        The person reads why. What is raised here IPython would log, as `ERROR:root:…`.
        """
        try:
            super().update_config(config)
        except (TraitError, LMCError) as error:
            self._take_back(config)
            sentence = _OF_TRAIT.sub(r"\1", str(error)).rstrip(".")
            end = "" if sentence.endswith("?") else "."
            sys.stderr.write(f"{sentence}{end} Nothing was changed.\n")
        finally:
            self._hold_keys()

    def _take_back(self, config: Config) -> None:
        """`%config` gives the shell too what it gives us, and it would count at a new load."""
        of_shell = {} if self.parent is None else self.parent.config.get("LMC", {})
        ours = self.config.get("LMC", {})
        for name in list(config.get("LMC", {})):  # it may be the shell's own
            of_shell.pop(name, None)
            if name in ours:
                of_shell[name] = ours[name]

    def _hold_keys(self) -> None:
        """Nor must the configuration show it, which a crash report of IPython holds."""
        shells = [] if self.parent is None else [self.parent.config]
        for config in (self.config, *shells):
            section = config.get("LMC")
            if section is not None and isinstance(section.get("options"), dict):
                section["options"] = _hide(section["options"])

    def model_options(self) -> dict[str, Any]:
        """The options of the model: `options`, and each setting of the model that was set."""
        others = {"profile", "model", "options", "start_worker"}
        names = self.class_own_traits(config=True).keys() - NAMES - others
        values = {name: getattr(self, name) for name in sorted(names)}
        return {**self.options, **{n: v for n, v in values.items() if v not in (None, "")}}

    def saved_options(self) -> dict[str, Any]:
        """What goes with the notebook's model over a restart: without keys, and without what no
        file of JSON can hold."""
        values = {name: getattr(self, name) for name in OF_MODEL}
        plain = {name: each for name, each in self.options.items() if _is_plain(each)}
        values = {name: each for name, each in values.items() if each is not None}
        return {**values, **({"options": plain} if plain else {})}

    def take_saved(self, values: Mapping[str, Any]) -> None:
        """Let these values count that `saved_options` gave.

        Raises
        ------
        SessionError
            Where a value is not allowed, as in a file that was written by something else.
        """
        options = values.get("options", {})
        try:
            for name in OF_MODEL & values.keys():
                setattr(self, name, values[name])
            self.options = {**self.options, **options}
        except (TraitError, TypeError) as error:
            raise SessionError(
                f"the settings of the chosen model cannot be read ({error})"
            ) from None

    def session_options(self) -> dict[str, Any]:
        """What these settings say of `Options`, field by field."""
        values = {name: getattr(self, name) for name in NAMES}
        return {n: list(v) if isinstance(v, list) else v for n, v in values.items()}

    def session_arguments(self) -> dict[str, Any]:
        """The keyword arguments of a `Session` that these settings mean."""
        return {"model": self.model, **self.session_options(), **self.model_options()}
