"""Languages whose blocks are programs of their own: no state goes from one to the next.

One rule: a language is one row of a table: how its code becomes a file and which programs run it.
It is available where its programs are on the PATH and can work.

To add one from a notebook::

    computer.register(OneShot("tcl", ["tclsh", "{file}"], ".tcl"))
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmc_jupyter.computer import Availability
from lmc_jupyter.computer.lookups import which
from lmc_jupyter.computer.process.engine import Patience
from lmc_jupyter.computer.process.program import ProgramLanguage, Step
from lmc_jupyter.lmc import LANGUAGES

_PLAIN_RUBY = Path(__file__).with_name("drivers") / "plain.rb"


@dataclass(frozen=True)
class Source:
    """A whole program for a block of code.

    Parameters
    ----------
    code : the text of the program, in which each line of the block keeps its number
    stem : the name of its file without the suffix
    entry : the name that starts the program, such as Java's class with its package
    """

    code: str
    stem: str = "main"
    entry: str = "main"


class OneShot(ProgramLanguage):
    """Runs each block by a program of its own.

    Parameters
    ----------
    language : the word for code of that language
    argv : the program and its arguments
        In each, "{file}" is the file with the code, "{program}" the file of a compiler, "{entry}"
        see `Source`, "{directory}" their folder, which is removed after the block. Without
        "{file}" the file comes last. The program may be the first of several that is on the PATH:
        "cc|gcc|clang".
    suffix : of the file with the code; "" means that the code goes to stdin, without a file
    aliases : other words for the language
    build : argv of a program that runs first, such as a compiler
    write : makes a whole program of the code
    encoding : of the file
    get : a sentence that says how to get the program
    patience : how long a program that was stopped may take to end
    """

    hint = "each block is a whole program of its own"

    def __init__(
        self,
        language: str,
        argv: Sequence[str],
        suffix: str = "",
        aliases: Sequence[str] = (),
        *,
        build: Sequence[str] = (),
        write: Callable[[str], Source] = Source,
        encoding: str = "utf-8",
        get: str = "install it",
        patience: Patience | None = None,
    ) -> None:
        super().__init__(patience)
        self.name, self.aliases = language, tuple(aliases)
        self._argv, self._build, self._suffix = list(argv), list(build), suffix
        self._write, self._encoding, self._get = write, encoding, get

    def availability(self) -> Availability:
        """Whether its programs are on the PATH."""
        used = [argv[0] for argv in (self._build, self._argv) if argv and "{" not in argv[0]]
        paths = {words: find_program(words) for words in used}
        missing = [words for words, program in paths.items() if program is None]
        if missing:
            names = " and ".join(" or ".join(words.split("|")) for words in missing)
            why = f"there is no {names} on the PATH: {self._get}"
            return Availability(used[-1].split("|")[0], why)
        programs = " and ".join(filter(None, paths.values()))
        return Availability(f"{programs}, each block a program of its own")

    def _steps(self, code: str, directory: Path) -> list[Step]:
        source = self._write(code)
        file = directory / f"{source.stem}{self._suffix}"
        if self._suffix:
            file.write_text(source.code, encoding=self._encoding)
        names = {
            "{file}": str(file),
            "{directory}": str(directory),
            "{program}": str(directory / "program"),
            "{entry}": source.entry,
        }
        stdin = None if self._suffix else source.code
        steps = []
        for argv in (self._build, self._argv):
            if argv:
                words = [_fill(word, names) for word in argv]
                if self._suffix and argv is self._argv and not self._build:
                    words += [] if any("{file}" in word for word in argv) else [str(file)]
                words[0] = find_program(words[0]) or words[0]
                steps.append(Step(words, stdin if argv is self._argv else None))
        return steps


def find_program(words: str) -> str | None:
    """The first of these programs ("cc|gcc|clang") that is on the PATH; None where none is."""
    return next(filter(which, words.split("|")), None)


def _fill(word: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        word = word.replace(name, value)
    return word


# How code becomes a program -----------------------------------------------------------------------


def _php(code: str) -> Source:
    return Source(code if "<?" in code else f"<?php {code}")


def _go(code: str) -> Source:
    whole = re.search(r"^\s*package\s+\w", code, re.M) is not None
    return Source(code if whole else f"package main; {code}")


def _rust(code: str) -> Source:
    whole = re.search(r"\bfn\s+main\s*\(", code) is not None
    return Source(code if whole else f"fn main() {{ {code}\n}}")


_JAVA_TYPE = re.compile(r"\b(?:class|interface|enum|record)\s+(\w+)")
_JAVA_MAIN = re.compile(r"\bstatic\s+(?:final\s+)?void\s+main\s*\(")
_JAVA_IMPORT = re.compile(r"^[ \t]*import\s+[\w.* ]+;[ \t]*", re.M)


def _java(code: str) -> Source:
    """A program of Java, which needs the name of the public class, and of the class with `main`."""
    bare = _without_java_texts(code)
    main = _JAVA_MAIN.search(bare)
    if main is None and not _JAVA_TYPE.search(bare):  # only statements
        imports = " ".join(match.strip() for match in _JAVA_IMPORT.findall(code))
        body = _JAVA_IMPORT.sub("", code)
        before = "public class Main { public static void main(String[] args) throws Exception {"
        return Source(f"{imports} {before} {body}\n}}}}", "Main", "Main")
    public = re.search(r"\bpublic\s+(?:\w+\s+)*?(?:class|interface|enum|record)\s+(\w+)", bare)
    before = bare[: main.start()] if main is not None else bare
    outer = [
        match[1]
        for match in _JAVA_TYPE.finditer(before)
        if before.count("{", 0, match.start()) == before.count("}", 0, match.start())
    ]
    entry = outer[-1] if outer else "Main"
    package = re.search(r"^\s*package\s+([\w.]+)\s*;", bare, re.M)
    stem = public[1] if public is not None else entry
    return Source(code, stem, f"{package[1]}.{entry}" if package is not None else entry)


def _without_java_texts(code: str) -> str:
    """The code without its comments and strings."""
    pattern = r'/\*.*?\*/|//[^\n]*|"""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, " ", code, flags=re.S)


def _cmd(code: str) -> Source:
    lines = "\r\n".join(code.splitlines())
    return Source(f"@echo off\r\nchcp 65001 >nul\r\n{lines}\r\n")


def _powershell(code: str) -> Source:
    return Source(f"[Console]::OutputEncoding = [Text.Encoding]::UTF8; {code}")


# The table ----------------------------------------------------------------------------------------

TABLE: dict[str, Callable[[], OneShot]] = {
    "ruby": lambda: OneShot("ruby", ["ruby", "-r", str(_PLAIN_RUBY), "-"], aliases=["rb"]),
    "perl": lambda: OneShot("perl", ["perl", "-"], aliases=["pl"]),
    "lua": lambda: OneShot("lua", ["lua|lua5.4|lua5.3|luajit", "-"]),
    "php": lambda: OneShot("php", ["php", "{file}"], ".php", write=_php),
    "java": lambda: OneShot(
        "java",
        [
            "java",
            "-Dfile.encoding=UTF-8",
            "-Dstdout.encoding=UTF-8",
            "-cp",
            "{directory}",
            "{entry}",
        ],
        ".java",
        build=["javac", "-encoding", "UTF-8", "-d", "{directory}", "{file}"],
        write=_java,
    ),
    "go": lambda: OneShot("go", ["go", "run", "{file}"], ".go", ["golang"], write=_go),
    "c": lambda: OneShot(
        "c", ["{program}"], ".c", build=["cc|gcc|clang", "-o", "{program}", "{file}", "-lm"]
    ),
    "cpp": lambda: OneShot(
        "cpp",
        ["{program}"],
        ".cpp",
        ["c++", "cxx"],
        build=["c++|g++|clang++", "-o", "{program}", "{file}", "-lm"],
    ),
    "rust": lambda: OneShot(
        "rust",
        ["{program}"],
        ".rs",
        ["rs"],
        build=["rustc", "--edition", "2021", "-o", "{program}", "{file}"],
        write=_rust,
    ),
    "fortran": lambda: OneShot(
        "fortran",
        ["{program}"],
        ".f90",
        ["f90"],
        build=["gfortran|flang", "-o", "{program}", "{file}"],
    ),
    "julia": lambda: OneShot("julia", ["julia", "{file}"], ".jl", ["jl"]),
    "octave": lambda: OneShot(
        "octave", ["octave-cli|octave", "--quiet", "{file}"], ".m", ["matlab"]
    ),
    "swift": lambda: OneShot("swift", ["swift", "{file}"], ".swift"),
    "powershell": lambda: OneShot(
        "powershell",
        [
            "pwsh|powershell",
            *("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", "{file}"),
        ],
        ".ps1",
        ["pwsh", "ps1"],
        write=_powershell,
        encoding="utf-8-sig",  # else Windows' own PowerShell reads it in the old code page
    ),
    "applescript": lambda: OneShot(
        "applescript",
        ["osascript", "-"],
        aliases=LANGUAGES["applescript"],
        get="AppleScript runs on macOS only; use another language",
    ),
    "cmd": lambda: OneShot("cmd", ["cmd", "/d", "/c", "{file}"], ".bat", ["bat"], write=_cmd),
}
"""Language -> a function that makes it. The search for its programs begins with its first use."""


def one_shots() -> list[OneShot]:
    """Every language of the table, whether it can run here or not; cmd is a part of Windows."""
    return [make() for name, make in TABLE.items() if name != "cmd" or os.name == "nt"]
