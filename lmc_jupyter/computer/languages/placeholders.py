"""Programs that are on the PATH and cannot work: what they need is not installed.

One rule: files are looked at, nothing is started; what is not known to be missing is taken to work.
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
    """What a program lacks and how to get it; "" where nothing is known to lack.

    Parameters
    ----------
    program : a name that is on the PATH
    """
    found = which(program)
    if found is None:
        return ""
    if program == "rustc":
        return _of_rustup(Path(found))
    if sys.platform == "darwin" and Path(found).parent == _APPLES_JAVA.parent:
        if program in _OF_XCODE and not any(each.exists() for each in _XCODE):
            return f"{found} only stands for a compiler: run `xcode-select --install`"
        if program in ("java", "javac") and not any(_JAVA_OF_APPLE.glob("*")):
            return f"{found} only stands for Java: install a JDK"
    return ""


def _of_rustup(rustc: Path) -> str:
    """rustup puts itself in the place of every program of a toolchain, also where there is none."""
    rustup = rustc.with_name(f"rustup{rustc.suffix}")
    if not rustup.exists() or not rustc.samefile(rustup):
        return ""
    home = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    chosen = os.environ.get("RUSTUP_TOOLCHAIN") or _default_toolchain(home / "settings.toml")
    names = [each.parents[1].name for each in home.glob(f"toolchains/*/bin/{rustc.name}")]
    if any(name == chosen or name.startswith(f"{chosen}-") for name in names if chosen):
        return ""
    return "rustc is there, but rustup has no toolchain for it: run `rustup default stable`"


def _default_toolchain(settings: Path) -> str:
    try:
        written = settings.read_text(encoding="utf-8")
    except OSError:  # nobody has chosen one
        return ""
    found = re.search(r'^default_toolchain\s*=\s*"(.*)"', written, re.M)
    return found[1] if found else ""
