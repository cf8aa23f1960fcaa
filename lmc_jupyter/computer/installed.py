"""Languages that are installed beside ours: Jupyter kernels, and packages with an entry point.

One rule: what is there already stays, unless it gives way; what is broken is said, and breaks
nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Generator, Iterator, Mapping
from importlib import metadata

from lmc_jupyter.computer import Availability, Language, checked
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import Chunk, canonical

GROUP = "lmc_jupyter.languages"
"""The entry points of this group are classes (or functions) that give a `Language`."""


class Installed:
    """Finds them; see `Computer`. The entry points are read once."""

    def __init__(self) -> None:
        self._read_packages = False

    def __call__(
        self, there: Mapping[str, Language], gives_way: Collection[str]
    ) -> Iterator[Language]:
        """What has come since the last time.

        Parameters
        ----------
        there : every word that is known -> its language
        gives_way : the names of languages whose place a kernel takes
        """
        words = dict(there)
        if not self._read_packages:
            self._read_packages = True
            for language in self._of_packages(words, gives_way):
                words.update(dict.fromkeys((language.name, *language.aliases), language))
                yield language
        from lmc_jupyter.computer.languages.subkernel import SubKernel, kernelspecs

        for spoken, name in kernelspecs().items():
            found = words.get(spoken)
            if found is not None and found.name not in gives_way:
                continue
            aliases = () if found is None else found.aliases
            if name not in words:
                aliases = (*aliases, name)
            language = SubKernel(name, spoken if found is None else found.name, aliases)
            words.update(dict.fromkeys((language.name, *aliases), language))
            yield language

    def _of_packages(
        self, there: Mapping[str, Language], gives_way: Collection[str]
    ) -> Iterator[Language]:
        for point in metadata.entry_points(group=GROUP):
            try:
                language = checked(point.load()())
            except Exception as error:  # noqa: BLE001 - the border to code of others
                package = point.dist.name if point.dist is not None else "a package"
                why = (
                    f"the entry point {point.name!r} ({point.value}) of {package} is broken: "
                    f"{type(error).__name__}: {error}; update or uninstall {package}"
                )
                warnings.warn(f"a language is left out: {why}", RuntimeWarning, stacklevel=2)
                if canonical(point.name) not in there:
                    yield _Broken(point.name, why)
                continue
            found = there.get(canonical(language.name))
            if found is None or found.name in gives_way:
                yield language
            else:
                warnings.warn(
                    f"a language is left out: the entry point {point.name!r} ({point.value}) is "
                    f"for {found.name}, which is there already; to use it instead, register it: "
                    "current_session().computer.register(...)",
                    RuntimeWarning,
                    stacklevel=2,
                )


class _Broken:
    """Stands for a language that could not be loaded."""

    def __init__(self, name: str, why: str) -> None:
        self.name, self._why = name, why
        self.aliases: tuple[str, ...] = ()

    def availability(self) -> Availability:
        return Availability("by another package", self._why)

    def run(self, code: str) -> Generator[Chunk, None, None]:  # noqa: ARG002
        raise ComputerError(self._why)

    def close(self) -> None:
        """There is nothing to end."""
