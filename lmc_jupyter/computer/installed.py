"""Languages that are installed beside ours: Jupyter kernels, and packages with an entry point.

One rule: a language that is there already stays, unless it gives way; a warning names one that
cannot be loaded, and the others still work.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Generator, Iterator, Mapping
from importlib import metadata

from lmc_jupyter.computer import Availability, Language, check_language
from lmc_jupyter.errors import ComputerError
from lmc_jupyter.lmc import Chunk, canonical

GROUP = "lmc_jupyter.languages"
"""The group of entry points; each is a class (or function) that makes a `Language`."""


class InstalledLanguages:
    """A search for `Computer`. It reads the entry points once."""

    def __init__(self) -> None:
        self._read_packages = False

    def __call__(
        self, there: Mapping[str, Language], gives_way: Collection[str]
    ) -> Iterator[Language]:
        """Yield the languages that are new since the last call.

        Parameters
        ----------
        there : every word for a language -> the language
        gives_way : the names of languages that a kernel replaces
        """
        words = dict(there)
        if not self._read_packages:
            self._read_packages = True
            for language in self._of_packages(words, gives_way):
                words.update(dict.fromkeys((language.name, *language.aliases), language))
                yield language
        from lmc_jupyter.computer.languages.subkernel import SubKernel, kernelspecs

        for word, name in kernelspecs().items():
            other = words.get(word)
            if other is not None and other.name not in gives_way:
                continue
            aliases = () if other is None else other.aliases
            if name not in words:
                aliases = (*aliases, name)
            language = SubKernel(name, word if other is None else other.name, aliases)
            words.update(dict.fromkeys((language.name, *aliases), language))
            yield language

    def _of_packages(
        self, there: Mapping[str, Language], gives_way: Collection[str]
    ) -> Iterator[Language]:
        for point in metadata.entry_points(group=GROUP):
            try:
                language = check_language(point.load()())
            except Exception as error:  # noqa: BLE001 - the border to code of others
                package = point.dist.name if point.dist is not None else "a package"
                why = (
                    f"the entry point {point.name!r} ({point.value}) of {package} is broken: "
                    f"{type(error).__name__}: {error}; update or uninstall {package}"
                )
                warnings.warn(f"a language is left out: {why}", RuntimeWarning, stacklevel=2)
                if canonical(point.name) not in there:
                    yield _BrokenLanguage(point.name, why)
                continue
            other = there.get(canonical(language.name))
            if other is None or other.name in gives_way:
                yield language
            else:
                warnings.warn(
                    f"a language is left out: the entry point {point.name!r} ({point.value}) is "
                    f"for {other.name}, which is there already; to use it instead, register it: "
                    "current_session().computer.register(...)",
                    RuntimeWarning,
                    stacklevel=2,
                )


class _BrokenLanguage:
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
