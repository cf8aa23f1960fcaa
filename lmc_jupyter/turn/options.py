"""The options of a session: what settings, profiles and the arguments of `Session` fill.

One rule: values only. The part that reads a value gives it its effect; its trait in
`frontends/config/settings.py` has its help and the values that it can have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from lmc_jupyter.errors import SessionError
from lmc_jupyter.turn import course

if TYPE_CHECKING:
    from lmc_jupyter.limits import Limits
    from lmc_jupyter.turn.prompt import Prompt
    from lmc_jupyter.turn.rules import Rules


LEVELS = ("notebook", "names", "none")
"""What a model may get of the notebook, from most to least."""

ASK = ("never", "changes", "always")
"""What the person is asked about before code runs, from least to most."""

AGENTS = ("ask", "off")
"""What agents outside the notebook may do, from most to least."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a session answers; each counts from the next question on.

    Parameters
    ----------
    ask : when the person is asked before code runs: "always"; "changes", which lets Python run
        unasked that only reads and makes new names, as far as can be seen; or "never", which is
        the same as `auto_run=True`
    auto_run : whether code runs unasked: True for every language, or the languages that may
    deny : languages that never run, by any of their names; "*" is every language
    context : what the model gets of the notebook: "notebook" (the cells that ran, with their
        output, and the names), "names" (names, types and shapes of variables) or "none". True
        means "notebook", False "none"
    context_values : whether it gets their values too: short ones, the first rows of frames
    system_message : instructions to the model that replace the default ones
    custom_instructions : instructions to the model that follow the others, whosever they are
    receipts : whether the numbers of closing words are looked up in outputs, cells and values
    max_turns : replies to one question before the answer stops and says so
    max_cost, max_session_cost, max_day_cost : US dollars; None is no limit
    agents : what agents outside the notebook may do: "ask" (each block waits for the person) or
        "off" (nothing). True means "ask", False "off"
    tutor : for a course: "" (a model answers), "hints" (`%lmc hint` alone) or "off" (not even that)
    """

    ask: str = "always"
    auto_run: bool | Collection[str] = False
    deny: Collection[str] = ()
    context: str | bool = "notebook"
    context_values: bool = False
    system_message: str | None = None
    custom_instructions: str = ""
    receipts: bool = True
    max_turns: int = 20
    max_cost: float | None = None
    max_session_cost: float | None = None
    max_day_cost: float | None = None
    agents: str | bool = "ask"
    tutor: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", context_level(self.context))
        object.__setattr__(self, "agents", agents_level(self.agents))
        object.__setattr__(self, "ask", ask_level(self.ask))
        object.__setattr__(self, "tutor", course.mode(self.tutor))

    def with_changes(self, changes: Mapping[str, Any]) -> Options:
        """These options with others in the place of some.

        Raises
        ------
        SessionError
            For a name that is no option.
        """
        if strange := [name for name in changes if name not in NAMES]:
            raise SessionError(
                f"a session has no option {strange[0]!r:.60}: it has {', '.join(sorted(NAMES))}"
            )
        return replace(self, **changes)


def context_level(value: object) -> str:
    """One of `LEVELS`; True and False are the first and the last of them.

    Raises
    ------
    SessionError
        For anything else.
    """
    return _level("context", value, LEVELS)


def agents_level(value: object) -> str:
    """One of `AGENTS`, in the same way."""
    return _level("agents", value, AGENTS)


def ask_level(value: object) -> str:
    """One of `ASK`; there is no word for on or off.

    Raises
    ------
    SessionError
        For anything else.
    """
    if value not in ASK:
        words = '"always", "changes" or "never"'
        raise SessionError(f"ask must be {words}, not {value!r:.60}")
    return str(value)


SWITCH = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}
"""Words that mean one or the other where a setting has no such word of its own."""


def _level(name: str, value: object, words: tuple[str, ...]) -> str:
    if isinstance(value, str) and value not in words:
        value = SWITCH.get(value.strip().lower(), value)
    if isinstance(value, bool):
        return words[0] if value else words[-1]
    if value not in words:
        *others, last = (f'"{word}"' for word in words)
        raise SessionError(f"{name} must be {', '.join(others)} or {last}, not {value!r:.60}")
    return str(value)


NAMES = frozenset(field.name for field in fields(Options))
"""The names of all options."""

_Value = TypeVar("_Value")


class _Configurable(Protocol):
    @property
    def options(self) -> Options: ...

    def configure(self, **changes: Any) -> None: ...


class Option(Generic[_Value]):
    """An attribute of a session that is one of its options.

    Parameters
    ----------
    name : of the option, where the attribute has another one
    """

    def __init__(self, doc: str, name: str = "") -> None:
        self.__doc__, self._name = doc, name

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    @overload
    def __get__(self, session: None, owner: type) -> Option[_Value]: ...

    @overload
    def __get__(self, session: _Configurable, owner: type) -> _Value: ...

    def __get__(self, session: _Configurable | None, owner: type) -> Option[_Value] | _Value:
        return self if session is None else getattr(session.options, self._name)

    def __set__(self, session: _Configurable, value: _Value) -> None:
        session.configure(**{self._name: value})


class WithOptions:
    """What the person sets in a session: an attribute for each option, the limits, functions.

    The class has `configure`, its rules and its prompt.
    """

    _rules: Rules
    prompt: Prompt

    asks = Option[str]('When the person is asked: "always", "changes" or "never".', "ask")
    auto_run = Option[bool | Collection[str]]("Which code runs unasked.")
    deny = Option[Collection[str]]('Languages that never run; "*" is every language.')
    context = Option[str | bool]('What it gets of the notebook: "notebook", "names" or "none".')
    context_values = Option[bool]("Whether it gets short values and first rows too.")
    system_message = Option[str | None]("Instructions that replace the default ones.")
    custom_instructions = Option[str]("Instructions to the model that follow the others.")
    receipts = Option[bool]("Whether numbers of its closing words are looked up.")
    max_turns = Option[int]("Replies to one question before it stops and says so.")
    max_cost = Option[float | None]("US dollars that one question may cost; None: no limit.")
    max_session_cost = Option[float | None]("US dollars that this conversation may cost.")
    max_day_cost = Option[float | None]("US dollars that all sessions of a day may cost.")
    tutor = Option[str]('What a course lets a pupil have: "", "hints" or "off".')
    agents = Option[str | bool]('What agents outside the notebook may do: "ask" or "off".')

    @property
    def options(self) -> Options:
        """Everything that `configure` changes."""
        return self._rules.options

    @property
    def runs_unasked(self) -> bool:
        """Whether any code runs unasked now: `limits` may be stricter than `auto_run`."""
        return self._rules.runs_unasked

    @property
    def asks_now(self) -> str:
        """When the person is asked now, one of `ASK`: `auto_run` and `limits` have a part in it."""
        return self._rules.asks

    @property
    def limits(self) -> Limits:
        """The limits on code of a model beside the policy: yours, and those of the conversation's
        file, whichever is stricter. Assigning removes the file's; None is no limit.
        """
        return self._rules.limits

    @limits.setter
    def limits(self, value: Limits | None) -> None:
        self._rules.limits = value

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """Functions that a model may call through code, by name: it gets their signatures and
        their help. Assign a list of functions, or a dict where a name should be another.
        """
        return dict(self.prompt.functions)

    @functions.setter
    def functions(
        self, value: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]]
    ) -> None:
        self.prompt.give(value)
