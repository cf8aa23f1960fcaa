"""The settings and parts of Open Interpreter that are not here.

One rule: a value that changes nothing is accepted, so that a program runs unchanged; any other is
refused with a sentence, when it is set or called.
"""

from __future__ import annotations

from typing import Any, ClassVar

from lmc_jupyter.errors import SessionError

NO_TOOLS = "code that you or the model write uses the packages that you have"
NO_SKILLS = "put functions into your namespace, and name them in `session.functions`"


class Strict:
    """Refuses a name that it has not: setting it would do nothing.

    `_shown_name` is how a program names it.
    """

    _shown_name: ClassVar[str]

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not hasattr(type(self), name):
            raise AttributeError(self._unknown(name))
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        return f"{self._shown_name} has no {name!r}: docs/open-interpreter.md lists what there is"


class Unused:
    """A setting of Open Interpreter's.

    Parameters
    ----------
    default : its value until it is set
    *values : the other values that it may have
    instead : what to do where another value was wanted
    """

    def __init__(self, default: Any, *values: Any, instead: str = "") -> None:
        self.default, self._values, self._instead = default, (default, *values), instead
        self.__doc__ = "A setting of Open Interpreter's that changes nothing here."

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, holder: Any, owner: type | None = None) -> Any:
        return self if holder is None else vars(holder).get(f"_unused_{self._name}", self.default)

    def __set__(self, holder: Any, value: Any) -> None:
        if value is not None and not any(value is one or value == one for one in self._values):
            raise SessionError(f"{self._name} = {value!r:.60} has no meaning here: {self._instead}")
        vars(holder)[f"_unused_{self._name}"] = value


def switch(default: bool = False) -> Unused:
    """A setting that may be on or off, of a part that is not here."""
    return Unused(default, not default)


class MissingPart:
    """A part of Open Interpreter that is not here: whatever is asked of it is refused.

    Parameters
    ----------
    name : as a program writes it
    instead : what to use
    """

    def __init__(self, name: str, instead: str) -> None:
        self.__dict__["_why"] = f"{name} of Open Interpreter is not part of lmc-jupyter: {instead}"

    def __repr__(self) -> str:
        return f"<{self._why}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python itself looks for such names, to copy or to draw it
            raise AttributeError(self._why)
        raise SessionError(self._why)

    def __set__(self, holder: Any, value: Any) -> None:
        raise SessionError(self._why)

    def __setattr__(self, name: str, value: Any) -> None:
        raise SessionError(self._why)

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise SessionError(self._why)
