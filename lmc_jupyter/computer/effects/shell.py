"""The effects of shell code: files that it writes and deletes, the network, and its programs; those
of IPython's magics.

One rule: it reads words and operators, and expands nothing. A program that is in none of the tables
is named; a magic that is in none may do more.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from lmc_jupyter.computer.effects.tables import words
from lmc_jupyter.content.effect import Effect

if TYPE_CHECKING:
    from lmc_jupyter.computer.effects.walk import Walk

_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*)\n(?:.*\n)*?[ \t]*\2[ \t]*$", re.MULTILINE)
_NOT_READ = re.compile(
    r"\\\n|(?<=[\s;])\d(?=[<>])|(?:^|(?<=[\s;(]))#.*|('[^']*'|\"(?:\\.|[^\"\\])*\")", re.MULTILINE
)
"""Continued lines, the numbers of streams, comments; or a text in quotes, which is no operator."""
_OPERATORS = "();<>|&\n"
_HIDE = {ord(each): 0xE000 + ord(each) for each in _OPERATORS}
_SHOW = {hidden: each for each, hidden in _HIDE.items()}
_INSIDE = re.compile(r"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`")
_VARIABLE = re.compile(r"[A-Za-z_]\w*\+?=")
_NOWHERE = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/\d+)$|\d$|-$")
_KEYWORDS = words("then do else elif if while until { } ! fi done esac time")
_LOOPS = words("for case select in")
_BEFORE = words("sudo nohup env command exec nice xargs builtin")
"""Words before a program that is the one to look at."""
_HARMLESS = words("""
alias awk basename bc cal cat cd clear cmp column comm cut date declare df diff dirname du echo exit
export expr false file find fold free function getconf grep egrep fgrep rg head help history
hostname id join jobs jq less let local locale ls lscpu lsblk md5sum more nl nproc nvidia-smi od
paste popd printenv printf ps pushd pwd read readlink realpath return rev sed seq set sha256sum
shopt sleep sort stat strings tac tail test top tr tree true type ulimit umask uname uniq unset
uptime wait wc which whereis who whoami xxd yes zcat [ [[ :
""")
_REMOVE = words("rm rmdir unlink shred")
_WRITE = words("touch mkdir tee truncate")
"""Programs that write each of their arguments."""
_COPY = words("cp ln install rsync scp")
"""Programs that write the last of their arguments."""
_NETWORK = words(
    "curl wget ssh scp rsync sftp ftp nc telnet ping aws gsutil gcloud kaggle dig nslookup"
)
_INTERPRETERS = ("python", "bash", "sh", "Rscript", "node", "perl", "ruby")
_BY_SUBCOMMAND = words("""
pip pip3 uv conda mamba micromamba git npm npx yarn apt apt-get brew docker cargo go systemctl
jupyter dvc huggingface-cli make
""")
_LOOKS = words("""
git:status git:log git:diff git:show git:branch git:blame git:remote git:rev-parse git:describe
pip:list pip:show pip:freeze pip:--version pip:check conda:list conda:info conda:--version npm:list
npm:ls npm:--version docker:ps docker:images docker:logs jupyter:--version jupyter:--paths
jupyter:kernelspec
""")
"""Subcommands that change nothing."""


def shell_effects(code: str, *, every: bool = False) -> tuple[Effect, ...]:
    """What the code will do.

    Parameters
    ----------
    every : whether programs that change nothing are named too, as in a `!` line of Python
    """
    try:
        found = {(each.kind, each.name): each for each in _effects(code, every, 0)}
    except ValueError:  # a quote that is never closed
        return (Effect("unknown", "", "the shell code cannot be read"),)
    return tuple(found.values())


def _effects(code: str, every: bool, depth: int) -> Iterator[Effect]:
    for command, targets in _commands(code):
        yield from (Effect("writes", each) for each in targets if not _NOWHERE.match(each))
        yield from _of_command(command, every)
        for match in _INSIDE.finditer(" ".join([*command, *targets])):
            if depth < 5:
                yield from _effects(match[1] or match[2] or "", every, depth + 1)


def _commands(code: str) -> Iterator[tuple[list[str], list[str]]]:
    """(words, files that output goes to) of each command."""
    code = _NOT_READ.sub(
        lambda match: (match[1] or " ").translate(_HIDE), _HEREDOC.sub(r"\3", code)
    )
    lexer = shlex.shlex(code, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    command: list[str] = []
    targets: list[str] = []
    redirect = ""
    for token in lexer:
        is_operator = token and not set(token) - set(_OPERATORS)
        if is_operator and set(token) & set("<>") and not set(token) & set("();\n"):
            redirect = token
        elif is_operator:
            yield command, targets
            command, targets, redirect = [], [], ""
        elif not redirect:
            command.append(token.translate(_SHOW))
        else:
            targets += [token.translate(_SHOW)] if ">" in redirect else []
            redirect = ""
    yield command, targets


def _of_command(command: list[str], every: bool) -> Iterator[Effect]:
    while command and (command[0] in _KEYWORDS or _VARIABLE.match(command[0])):
        command = command[1:]
    while command and command[0] in _BEFORE:
        command = command[1:]
        while command and (command[0].startswith("-") or _VARIABLE.match(command[0])):
            command = command[1:]
    if not command or command[0] in _LOOPS:
        return
    program, arguments = command[0].rpartition("/")[2] or command[0], command[1:]
    plain = [word for word in arguments if not word.startswith("-")]
    if program == "find" and "-exec" in arguments:
        yield from _of_command(arguments[arguments.index("-exec") + 1 :], every)
        return
    specific = list(_of_program(program, arguments, plain))
    yield from specific
    if specific:
        return
    first = next(iter(plain), "")
    if program.startswith("python") and arguments[:2] == ["-m", "pip"]:
        yield Effect("shell", " ".join(["pip", *arguments[2:3]]))
    elif program in _BY_SUBCOMMAND:
        first = first or next(iter(arguments), "")
        if every or f"{program.removesuffix('3')}:{first}" not in _LOOKS:
            yield Effect("shell", f"{program} {first}".strip())
    elif program.startswith(_INTERPRETERS):
        yield Effect("shell", f"{program} {first}".strip())
    elif every or program not in _HARMLESS:
        yield Effect("shell", program)


def _of_program(program: str, arguments: list[str], plain: list[str]) -> Iterator[Effect]:
    """What is known of this program."""
    last = plain[-1] if plain else ""
    if program in _REMOVE:
        yield from (Effect("removes", each) for each in plain)
    elif program == "find" and "-delete" in arguments:
        yield Effect("removes", f"what find finds in {next(iter(plain), '.')}")
    elif program in _WRITE:
        yield from (Effect("writes", each) for each in plain)
    elif program == "mv":
        yield from (Effect("renames", each, last) for each in plain[:-1])
    elif (program in _COPY and len(plain) > 1) or (
        program == "sed" and any(re.match(r"-\w*i|--in-place", each) for each in arguments)
    ):
        yield Effect("writes", last)
    elif program in ("curl", "wget"):
        output = _option(arguments, "-o" if program == "curl" else "-O", "--output")
        if not output and (program == "wget" or "-O" in arguments):
            output = next((each.rpartition("/")[2] for each in plain if "://" in each), "")
        if output not in ("", "-"):
            yield Effect("writes", output)
    if program in _NETWORK:
        yield Effect("network", program)
    elif program == "git" and plain[:1] and plain[0] in ("clone", "pull", "push", "fetch"):
        yield Effect("network", f"git {plain[0]}")
        if plain[0] == "clone" and len(plain) > 1:
            yield Effect("writes", last.rpartition("/")[2].removesuffix(".git"))


def _option(arguments: list[str], *names: str) -> str:
    return next((value for word, value in pairwise(arguments) if word in names), "")


# Magics -------------------------------------------------------------------------------------------

_SHELLS = {"!", "sx", "system", "bash", "sh", "cmd"}
_METHODS = {"system", "getoutput", "getoutput_assign", "system_raw", "system_piped"}
_PACKAGES = {"pip", "conda", "mamba", "micromamba", "uv"}
_PYTHON = {"time", "capture", "prun", "memit", "mprun", "lprun", "debug"}
_QUIET = words("""
matplotlib who who_ls whos pwd pinfo pinfo2 psource pdoc pdef pfile history hist lsmagic magic
quickref precision autosave dirs ls ll xmode colors page latex markdown svg SVG html HTML
""")
_OPTIONS = re.compile(r"(?:-{1,2}\w+(?:[ =]?\d+)?[ \t]+)*")


def add_shell(walk: Walk, code: str) -> None:
    """The effects of shell code within Python, every program named."""
    for effect in shell_effects(code, every=True):
        walk.add(effect.kind, effect.name, effect.detail)


def shell_object(walk: Walk, method: str, texts: list[str]) -> None:
    """`get_ipython().run_line_magic(…)`: a magic or a `!` line, as IPython has read it."""
    first, second, third, *_ = *texts, "", "", ""
    if method in _METHODS:
        add_shell(walk, first)
    elif method in ("run_line_magic", "run_cell_magic"):
        _read_magic(walk, first, second, third if method == "run_cell_magic" else None)
    else:
        walk.add("unknown", f"get_ipython().{method}()")


def _read_magic(walk: Walk, name: str, line: str, cell: str | None) -> None:
    """Find the effects of `%name line`, or of `%%name line` over a cell."""
    sign = "%" if cell is None else "%%"
    rest = [word for word in line.split() if name != "capture" or not word.startswith("-")]
    if name in _SHELLS:
        add_shell(walk, cell or line)
    elif name in _PACKAGES:
        walk.add("shell", " ".join([name, *rest[:1]]))
    elif name == "script":
        walk.add("shell", rest[0] if rest else "script")
    elif name == "timeit" or name in _PYTHON:
        if name == "capture":
            for word in rest:
                walk.bind_name(word, walk.module)
        else:
            walk.read_more(_OPTIONS.sub("", line, count=1), apart=name == "timeit")
        walk.read_more(cell or "", apart=name == "timeit")
    elif name in ("writefile", "file"):
        walk.add("writes", rest[-1] if rest else f"{sign}{name}")
    elif name in ("cd", "pushd", "popd"):
        walk.add("unknown", f"%{name}", "changes the folder in which code runs")
    elif name == "reset":
        walk.add("deletes", "", "all your variables")
    elif name == "xdel" and rest:
        walk.unbind(rest[-1])
    elif name not in _QUIET and not (name in ("env", "config") and not line.strip()):
        walk.add("unknown", f"{sign}{name}", "may do more")
