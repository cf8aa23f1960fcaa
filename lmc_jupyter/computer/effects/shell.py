"""The effects of shell code: files that it writes and deletes, the network, and its programs.

One rule: it reads words and operators, and expands nothing. A program that is in none of the tables
is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from lmc_jupyter.content.effect import Effect, EffectKind

_TOKEN = re.compile(
    r"""(?P<space>[ \t]+|\\\n)
    |(?P<comment>\#[^\n]*)
    |(?P<heredoc><<-?[ \t]*(?P<quote>['"]?)(?P<mark>\w+)(?P=quote))
    |(?P<redirect>\d*(?:>>|>\||>&|<<<|<&|<>|<|>)|&>>?)
    |(?P<operator>\|\||&&|;;|\|&|[;&|()\n])
    |(?P<word>(?:\\.|'[^']*(?:'|\Z)|"(?:\\.|[^"\\])*(?:"|\Z)|\$\((?:[^()]|\([^()]*\))*\)
        |\$\{[^{}\n]*\}|`[^`]*(?:`|\Z)|[^\s;&|<>()'"\\`])+)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_INSIDE = re.compile(r"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`")
_QUOTES = re.compile(r"\\(.)|'([^']*)'|\"((?:\\.|[^\"\\])*)\"", re.DOTALL)
_VARIABLE = re.compile(r"[A-Za-z_]\w*\+?=")
_KEYWORDS = {"then", "do", "else", "elif", "if", "while", "until", "{", "}", "!", "fi", "done",
             "esac", "time"}  # fmt: skip
_BEFORE = {"sudo", "nohup", "env", "command", "exec", "nice", "xargs", "builtin"}
"""Words before a program that is the one to look at."""
_HARMLESS = {
    "alias", "awk", "basename", "bc", "cal", "cat", "cd", "clear", "cmp", "column", "comm", "cut",
    "date", "declare", "df", "diff", "dirname", "du", "echo", "exit", "export", "expr", "false",
    "file", "find", "fold", "free", "function", "getconf", "grep", "egrep", "fgrep", "rg", "head",
    "help", "history", "hostname", "id", "join", "jobs", "jq", "less", "let", "local", "locale",
    "ls", "lscpu", "lsblk", "md5sum", "more", "nl", "nproc", "nvidia-smi", "od", "paste", "popd",
    "printenv", "printf", "ps", "pushd", "pwd", "read", "readlink", "realpath", "return", "rev",
    "sed", "seq", "set", "sha256sum", "shopt", "sleep", "sort", "stat", "strings", "tac", "tail",
    "test", "top", "tr", "tree", "true", "type", "ulimit", "umask", "uname", "uniq", "unset",
    "uptime", "wait", "wc", "which", "whereis", "who", "whoami", "xxd", "yes", "zcat", "[", "[[",
    ":", "for", "case", "in", "select",
}  # fmt: skip
_REMOVE = {"rm", "rmdir", "unlink", "shred"}
_WRITE = {"touch", "mkdir", "tee", "truncate"}
"""Programs that write each of their arguments."""
_COPY = {"cp", "mv", "ln", "install", "rsync", "scp"}
"""Programs that write the last of their arguments."""
_NETWORK = {"curl", "wget", "ssh", "scp", "rsync", "sftp", "ftp", "nc", "telnet", "ping", "aws",
            "gsutil", "gcloud", "kaggle", "dig", "nslookup"}  # fmt: skip
_BY_SUBCOMMAND = {"pip", "pip3", "uv", "conda", "mamba", "micromamba", "git", "npm", "npx", "yarn",
                  "apt", "apt-get", "brew", "docker", "cargo", "go", "systemctl", "jupyter",
                  "dvc", "huggingface-cli", "make"}  # fmt: skip
_GIT_NETWORK = {"clone", "pull", "push", "fetch"}
_LOOKS = {
    "git": {"status", "log", "diff", "show", "branch", "blame", "remote", "rev-parse", "describe"},
    "pip": {"list", "show", "freeze", "--version", "check"},
    "conda": {"list", "info", "--version"},
    "npm": {"list", "ls", "--version"},
    "docker": {"ps", "images", "logs"},
    "jupyter": {"--version", "--paths", "kernelspec"},
}
"""Subcommands that change nothing."""
_NOWHERE = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/\d+)$|&?\d$|&?-$")


def shell_effects(code: str, *, every: bool = False) -> tuple[Effect, ...]:
    """What the code will do.

    Parameters
    ----------
    every : whether programs that change nothing are named too, as in a `!` line of Python
    """
    found: dict[tuple[EffectKind, str], Effect] = {}
    for effect in _effects(code, every, 0):
        found.setdefault((effect.kind, effect.name), effect)
    return tuple(found.values())


def _effects(code: str, every: bool, depth: int) -> Iterator[Effect]:
    for words, targets in _commands(code):
        for target in targets:
            if not _NOWHERE.match(target):
                yield Effect("writes", _plain(target))
        yield from _of_command(words, every)
        for word in (*words, *targets):
            if depth < 5 and not word.startswith("'"):
                for match in _INSIDE.finditer(word):
                    yield from _effects(match[1] or match[2] or "", every, depth + 1)


def _commands(code: str) -> Iterator[tuple[list[str], list[str]]]:
    """(words, files that output goes to) of each command."""
    words: list[str] = []
    targets: list[str] = []
    marks: list[str] = []  # of heredocs, whose text begins on the next line
    is_target, at = "", 0
    while at < len(code):
        token = _TOKEN.match(code, at)
        assert token is not None, "any character is a token"
        at, kind, text = token.end(), token.lastgroup, token[0]
        if kind == "comment" and token.start() and code[token.start() - 1] not in " \t\n;&|(":
            kind = "word"  # `a#b`
        if kind == "heredoc" or token["mark"]:
            marks.append(token["mark"])
        elif kind == "redirect":
            is_target = "out" if ">" in text else "in"
        elif kind in ("word", "other"):
            if is_target:
                if is_target == "out":
                    targets.append(text)
                is_target = ""
            else:
                words.append(text)
        elif kind == "operator":
            if words or targets:
                yield words, targets
            words, targets, is_target = [], [], ""
            if text == "\n":
                for mark in marks:
                    end = re.compile(rf"^[ \t]*{re.escape(mark)}[ \t]*$", re.MULTILINE)
                    found = end.search(code, at)
                    at = len(code) if found is None else found.end()
                marks = []
    if words or targets:
        yield words, targets


def _of_command(words: list[str], every: bool, *, inside: bool = False) -> Iterator[Effect]:
    """What a command does; `inside` the `-exec` of a `find`."""
    while words and (words[0] in _KEYWORDS or _VARIABLE.match(words[0])):
        words = words[1:]
    while words and words[0] in _BEFORE:
        words = words[1:]
        while words and (words[0].startswith("-") or _VARIABLE.match(words[0])):
            words = words[1:]
    if not words or words[0] in ("for", "case", "select", "in") or words[0].endswith("()"):
        return
    program = _plain(words[0]).rpartition("/")[2] or _plain(words[0])
    arguments = [_plain(word) for word in words[1:]]
    plain = [word for word in arguments if not word.startswith("-")]
    if program == "find" and "-exec" in arguments and not inside:
        yield from _of_command(arguments[arguments.index("-exec") + 1 :], every, inside=True)
        return
    specific = list(_of_program(program, arguments, plain))
    yield from specific
    if specific:
        return
    if program in _BY_SUBCOMMAND:
        subcommand = next(iter(plain), "") or next(iter(arguments), "")
        if every or subcommand not in _LOOKS.get(program.removesuffix("3"), ()):
            yield Effect("shell", f"{program} {subcommand}".strip())
    elif program.startswith("python") and arguments[:2] == ["-m", "pip"]:
        yield Effect("shell", " ".join(["pip", *arguments[2:3]]))
    elif program.startswith(("python", "bash", "sh", "Rscript", "node", "perl", "ruby")):
        yield Effect("shell", f"{program} {next(iter(plain), '')}".strip())
    elif every or program not in _HARMLESS:
        yield Effect("shell", program)


def _of_program(program: str, arguments: list[str], plain: list[str]) -> Iterator[Effect]:
    """What is known of this program."""
    if program in _REMOVE:
        yield from (Effect("removes", each) for each in plain)
    elif program == "find" and "-delete" in arguments:
        yield Effect("removes", f"what find finds in {next(iter(plain), '.')}")
    elif program in _WRITE:
        yield from (Effect("writes", each) for each in plain)
    elif program in _COPY and len(plain) > 1:
        if program == "mv":
            yield from (Effect("renames", each, plain[-1]) for each in plain[:-1])
        else:
            yield Effect("writes", plain[-1])
    elif program == "sed" and any(re.match(r"-\w*i|--in-place", each) for each in arguments):
        yield Effect("writes", plain[-1] if plain else "")
    elif program == "dd":
        yield from (Effect("writes", each[3:]) for each in arguments if each.startswith("of="))
    elif program in ("curl", "wget"):
        output = _option(arguments, "-o" if program == "curl" else "-O", "--output")
        if not output and (program == "wget" or "-O" in arguments):
            output = next((each.rpartition("/")[2] for each in plain if "://" in each), "")
        if output not in ("", "-"):
            yield Effect("writes", output)
    elif program in ("tar", "unzip", "gunzip", "gzip", "zip", "7z"):
        yield from _of_archive(program, arguments, plain)
    if program in _NETWORK:
        yield Effect("network", program)
    elif program == "git" and plain[:1] and plain[0] in _GIT_NETWORK:
        yield Effect("network", f"git {plain[0]}")
        if plain[0] == "clone" and len(plain) > 1:
            yield Effect("writes", plain[-1].rpartition("/")[2].removesuffix(".git"))


def _of_archive(program: str, arguments: list[str], plain: list[str]) -> Iterator[Effect]:
    flags = arguments[0].lstrip("-") if arguments else ""
    if program == "tar" and "c" in flags and "t" not in flags:
        yield Effect("writes", plain[1] if flags == plain[0] and len(plain) > 1 else plain[0])
    elif program == "tar" and "x" in flags:
        yield Effect("writes", _option(arguments, "-C", "--directory") or ".")
    elif program == "unzip" and not any("l" in each for each in arguments if each[0] == "-"):
        yield Effect("writes", _option(arguments, "-d", "--directory") or ".")
    elif program == "zip" and plain:
        yield Effect("writes", plain[0])
    elif program in ("gzip", "gunzip") and not {"-c", "--stdout"} & set(arguments):
        for each in plain:
            to = f"{each}.gz" if program == "gzip" else each.removesuffix(".gz")
            yield Effect("writes", to)
            if not {"-k", "--keep"} & set(arguments):
                yield Effect("removes", each)


def _option(arguments: list[str], *names: str) -> str:
    for word, value in pairwise(arguments):
        if word in names:
            return value
    return ""


def _plain(word: str) -> str:
    """A word without its quotes."""
    return _QUOTES.sub(lambda match: next(filter(None, match.groups()), ""), word)
