"""Languages whose blocks are programs of their own: nothing is kept from one to the next.

One rule: a language is one row of a table: how its code is written down and which programs run
it. It is there where its programs are found on the PATH, and can work.

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
from lmc_jupyter.computer.languages.placeholders import why_it_cannot_work
from lmc_jupyter.computer.lookups import which
from lmc_jupyter.computer.process.engine import Patience
from lmc_jupyter.computer.process.program import ProgramLanguage, Step
from lmc_jupyter.lmc import LANGUAGES

_PLAIN_RUBY = Path(__file__).with_name("drivers") / "plain.rb"


@dataclass(frozen=True)
class Written:
    """Code as it is written down: a whole program.

    Parameters
    ----------
    code : the program; where something was put around it, its lines keep their numbers
    stem : the name of its file without the suffix
    entry : what the program is called from outside, such as Java's class with its package
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
        In each "{file}" is the file with the code, "{program}" a file for what is built, "{entry}"
        see `Written`, "{directory}" where they are; it goes when the block has ended. Without
        "{file}" the file comes last. The program may be one of several, the first that is found:
        "cc|gcc|clang".
    suffix : of the file with the code; "" hands the code over on stdin, without a file
    aliases : other words for the language
    build : argv of a program that comes before, such as a compiler
    write : makes a whole program of the code
    encoding : of the file
    get : what a person does who lacks the program
    patience : with a program that is to end
    """

    hint = "each block is a whole program, without the variables of another"

    def __init__(
        self,
        language: str,
        argv: Sequence[str],
        suffix: str = "",
        aliases: Sequence[str] = (),
        *,
        build: Sequence[str] = (),
        write: Callable[[str], Written] = Written,
        encoding: str = "utf-8",
        get: str = "install it",
        patience: Patience | None = None,
    ) -> None:
        super().__init__(patience)
        self.name, self.aliases = language, tuple(aliases)
        self._argv, self._build, self._suffix = list(argv), list(build), suffix
        self._write, self._encoding, self._get = write, encoding, get

    def availability(self) -> Availability:
        """Whether its programs are on the PATH, and can work."""
        used = [argv[0] for argv in (self._build, self._argv) if argv and "{" not in argv[0]]
        found = {words: found_program(words) for words in used}
        missing = [words for words, program in found.items() if program is None]
        if missing:
            names = " and ".join(" or ".join(words.split("|")) for words in missing)
            broken = [why_it_cannot_work(word) for words in missing for word in words.split("|")]
            why = next(filter(None, broken), f"there is no {names} on the PATH: {self._get}")
            return Availability(used[-1].split("|")[0], why)
        programs = " and ".join(filter(None, found.values()))
        return Availability(f"{programs}, each block a program of its own")

    def _steps(self, code: str, directory: Path) -> list[Step]:
        written = self._write(code)
        file = directory / f"{written.stem}{self._suffix}"
        if self._suffix:
            file.write_text(written.code, encoding=self._encoding)
        names = {
            "{file}": str(file),
            "{directory}": str(directory),
            "{program}": str(directory / "program"),
            "{entry}": written.entry,
        }
        stdin = None if self._suffix else written.code
        steps = []
        for argv in (self._build, self._argv):
            if argv:
                words = [_filled(word, names) for word in argv]
                if self._suffix and argv is self._argv and not self._build:
                    words += [] if any("{file}" in word for word in argv) else [str(file)]
                words[0] = found_program(words[0]) or words[0]
                steps.append(Step(words, stdin if argv is self._argv else None))
        return steps


def found_program(words: str) -> str | None:
    """The first of these programs ("cc|gcc|clang") that is on the PATH and can work."""
    for word in words.split("|"):
        if which(word) and not why_it_cannot_work(word):
            return word
    return None


def _filled(word: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        word = word.replace(name, value)
    return word


# How code becomes a program -----------------------------------------------------------------------


def _php(code: str) -> Written:
    return Written(code if "<?" in code else f"<?php {code}")


def _go(code: str) -> Written:
    whole = re.search(r"^\s*package\s+\w", code, re.M) is not None
    return Written(code if whole else f"package main; {code}")


def _rust(code: str) -> Written:
    whole = re.search(r"\bfn\s+main\s*\(", code) is not None
    return Written(code if whole else f"fn main() {{ {code}\n}}")


_JAVA_TYPE = re.compile(r"\b(?:class|interface|enum|record)\s+(\w+)")
_JAVA_MAIN = re.compile(r"\bstatic\s+(?:final\s+)?void\s+main\s*\(")
_JAVA_IMPORT = re.compile(r"^[ \t]*import\s+[\w.* ]+;[ \t]*", re.M)


def _java(code: str) -> Written:
    """Java wants its file named as the public class, and to be told which class has `main`."""
    bare = _without_java_texts(code)
    main = _JAVA_MAIN.search(bare)
    if main is None and not _JAVA_TYPE.search(bare):  # only statements
        imports = " ".join(found.strip() for found in _JAVA_IMPORT.findall(code))
        body = _JAVA_IMPORT.sub("", code)
        before = "public class Main { public static void main(String[] args) throws Exception {"
        return Written(f"{imports} {before} {body}\n}}}}", "Main", "Main")
    public = re.search(r"\bpublic\s+(?:\w+\s+)*?(?:class|interface|enum|record)\s+(\w+)", bare)
    before = bare[: main.start()] if main is not None else bare
    outer = [
        found[1]
        for found in _JAVA_TYPE.finditer(before)
        if before.count("{", 0, found.start()) == before.count("}", 0, found.start())
    ]
    entry = outer[-1] if outer else "Main"
    package = re.search(r"^\s*package\s+([\w.]+)\s*;", bare, re.M)
    stem = public[1] if public is not None else entry
    return Written(code, stem, f"{package[1]}.{entry}" if package is not None else entry)


def _without_java_texts(code: str) -> str:
    """The code without what stands in comments and strings."""
    pattern = r'/\*.*?\*/|//[^\n]*|"""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, " ", code, flags=re.S)


def _cmd(code: str) -> Written:
    lines = "\r\n".join(code.splitlines())
    return Written(f"@echo off\r\nchcp 65001 >nul\r\n{lines}\r\n")


def _powershell(code: str) -> Written:
    return Written(f"[Console]::OutputEncoding = [Text.Encoding]::UTF8; {code}")


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
        encoding="utf-8-sig",  # else Windows' own one reads it in the old code page
    ),
    "applescript": lambda: OneShot(
        "applescript",
        ["osascript", "-"],
        aliases=LANGUAGES["applescript"],
        get="AppleScript runs on macOS only; use another language",
    ),
    "cmd": lambda: OneShot("cmd", ["cmd", "/d", "/c", "{file}"], ".bat", ["bat"], write=_cmd),
}
"""Language -> what makes it. Nothing is looked for before it is asked for."""


def one_shots() -> list[OneShot]:
    """Every language of the table, whether it can run here or not; cmd is a part of Windows."""
    return [make() for name, make in TABLE.items() if name != "cmd" or os.name == "nt"]
