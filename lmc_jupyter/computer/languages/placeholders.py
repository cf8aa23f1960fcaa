"""Programs that are on the PATH and cannot work: something that they need is not installed.

One rule: these checks read files and start nothing; a program works unless a check says no.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from lmc_jupyter.computer.lookups import which

_OF_XCODE = ("cc", "gcc", "clang", "c++", "g++", "clang++", "swift")
_XCODE = (Path("/var/db/xcode_select_link"), Path("/Library/Developer/CommandLineTools"))
_APPLES_JAVA = Path("/usr/bin/java")
_JAVA_OF_APPLE = Path("/Library/Java/JavaVirtualMachines")


def why_it_cannot_work(program: str) -> str:
    """A sentence on what a program lacks and how to get it; "" where no check says so.

    Parameters
    ----------
    program : a name that is on the PATH
    """
    path = which(program)
    if path is None:
        return ""
    if program == "rustc":
        return _of_rustup(Path(path))
    if sys.platform == "darwin" and Path(path).parent == _APPLES_JAVA.parent:
        if program in _OF_XCODE and not any(each.exists() for each in _XCODE):
            return f"{path} only stands for a compiler: run `xcode-select --install`"
        if program in ("java", "javac") and not any(_JAVA_OF_APPLE.glob("*")):
            return f"{path} only stands for Java: install a JDK"
    return ""


def _of_rustup(rustc: Path) -> str:
    """The same for rustup, which stands in for every program of a toolchain, also without one."""
    rustup = rustc.with_name(f"rustup{rustc.suffix}")
    if not rustup.exists() or not rustc.samefile(rustup):
        return ""
    home = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    toolchain = os.environ.get("RUSTUP_TOOLCHAIN") or _default_toolchain(home / "settings.toml")
    names = [each.parents[1].name for each in home.glob(f"toolchains/*/bin/{rustc.name}")]
    if any(name == toolchain or name.startswith(f"{toolchain}-") for name in names if toolchain):
        return ""
    return "rustc is there, but rustup has no toolchain for it: run `rustup default stable`"


def _default_toolchain(settings: Path) -> str:
    try:
        text = settings.read_text(encoding="utf-8")
    except OSError:  # there is no default
        return ""
    match = re.search(r'^default_toolchain\s*=\s*"(.*)"', text, re.M)
    return match[1] if match else ""
