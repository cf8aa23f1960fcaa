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
from lmc_jupyter.content.effect import Effect, EffectKind

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
_OPTION = re.compile(r"[A-Za-z_]\w*\+?=|-")
_NOWHERE = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/\d+)$|\d$|-$")
_BEFORE = words("""
then do else elif if while until { } ! fi done esac time sudo nohup env command exec nice xargs
builtin
""")
"""Words before a program that is the one to look at; variables and options stand there too."""
_HARMLESS = words("""
alias awk basename bc cal cat cd clear cmp comm cut date declare df diff dirname du echo exit export
expr false file fold free getconf grep egrep fgrep rg head help history hostname id jobs jq less let
local ls lscpu lsblk md5sum nl nproc nvidia-smi paste popd printenv printf ps pushd pwd readlink
realpath return rev sed seq set sha256sum sleep sort stat tac tail test top tr tree true type ulimit
uname uniq unset uptime wait wc which whereis who whoami xxd zcat
for case select in [ [[ :
git:status git:log git:diff git:show git:branch git:remote pip:list pip:show pip:freeze pip:check
conda:list conda:info npm:list docker:ps docker:images
""")
"""Programs, and subcommands, that change nothing."""
_WRITES: dict[str, EffectKind] = {
    **dict.fromkeys(words("rm rmdir unlink shred"), "removes"),
    **dict.fromkeys(words("touch mkdir tee truncate"), "writes"),
}
"""Program -> what it does to each of its arguments."""
_COPY = words("cp ln install rsync scp")
"""Programs that write the last of their arguments."""
_NETWORK = words("curl wget ssh scp rsync sftp ftp nc telnet ping aws gsutil gcloud kaggle dig")
_BY_SUBCOMMAND = words("""
pip pip3 uv conda mamba git npm npx yarn apt apt-get brew docker cargo go systemctl jupyter dvc
huggingface-cli make python python3 bash sh Rscript node perl ruby
""")
"""Programs that are named with their first argument."""


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
    while command and (command[0] in _BEFORE or _OPTION.match(command[0])):
        command = command[1:]
    if not command:
        return
    program, arguments = command[0].rpartition("/")[2] or command[0], command[1:]
    if arguments[:2] == ["-m", "pip"]:
        program, arguments = "pip", arguments[2:]
    plain = [word for word in arguments if not word.startswith("-")]
    known = list(_of_program(program, arguments, plain))
    yield from known
    name = " ".join([program, *plain[:1]]) if program in _BY_SUBCOMMAND else program
    if not known and (every or name.replace(" ", ":") not in _HARMLESS):
        yield Effect("shell", name)


def _of_program(program: str, arguments: list[str], plain: list[str]) -> Iterator[Effect]:
    """What is known of this program."""
    last = plain[-1] if plain else ""
    if program in _WRITES:
        yield from (Effect(_WRITES[program], each) for each in plain)
    elif program == "mv":
        yield from (Effect("renames", each, last) for each in plain[:-1])
    elif (program in _COPY and len(plain) > 1) or (
        program == "sed" and any(re.match(r"-\w*i|--in-place", each) for each in arguments)
    ):
        yield Effect("writes", last)
    elif program in ("curl", "wget"):
        options = (value for word, value in pairwise(arguments) if word in ("-o", "-O", "--output"))
        output = next(options, last if program == "wget" else "")
        output = output.rpartition("/")[2] if "://" in output else output
        if output not in ("", "-"):
            yield Effect("writes", output)
    if program in _NETWORK:
        yield Effect("network", program)
    elif program == "git" and plain[:1] and plain[0] in ("clone", "pull", "push", "fetch"):
        yield Effect("network", f"git {plain[0]}")


# Magics -------------------------------------------------------------------------------------------

_SHELLS = {"sx", "system", "bash", "sh", "cmd", "!"}
_PACKAGES = {"pip", "conda", "mamba", "uv"}
_PYTHON = {"time", "capture", "prun", "memit", "mprun", "lprun", "debug", "timeit"}
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
    if method in ("system", "getoutput", "getoutput_assign"):
        add_shell(walk, first)
    elif method in ("run_line_magic", "run_cell_magic"):
        _read_magic(walk, first, second, third if method == "run_cell_magic" else None)
    else:
        walk.add("unknown", f"get_ipython().{method}()")


def _read_magic(walk: Walk, name: str, line: str, cell: str | None) -> None:
    """Find the effects of `%name line`, or of `%%name line` over a cell."""
    sign = "%" if cell is None else "%%"
    rest = [word for word in line.split() if not word.startswith("-")]
    if name in _SHELLS or name in _PACKAGES:
        add_shell(walk, cell or (line if name in _SHELLS else f"{name} {line}"))
    elif name in _PYTHON:
        if name == "capture":
            for word in rest:
                walk.bind_name(word, walk.module)
        else:
            walk.read_more(_OPTIONS.sub("", line, count=1), apart=name == "timeit")
        walk.read_more(cell or "", apart=name == "timeit")
    elif name in ("writefile", "file"):
        walk.add("writes", rest[-1] if rest else f"{sign}{name}")
    elif name == "reset":
        walk.add("deletes", "", "all your variables")
    elif name not in _QUIET:
        walk.add("unknown", f"{sign}{name}", "may do more")
