"""Programs that are on the PATH and lack what they need."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lmc_jupyter.computer import Computer
from lmc_jupyter.computer.languages import placeholders
from lmc_jupyter.computer.languages.oneshot import TABLE
from lmc_jupyter.errors import UnknownLanguageError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="its programs are scripts of POSIX")


def program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\nexit 1\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_rust_is_not_offered_before_rustup_has_a_toolchain(
    link: object, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "rustup"
    monkeypatch.setenv("RUSTUP_HOME", str(home))
    monkeypatch.delenv("RUSTUP_TOOLCHAIN", raising=False)
    link(program(path / "rustup"), path / "rustc")  # type: ignore[operator]
    computer = Computer(TABLE["rust"]())
    assert "rust" not in computer.words()
    assert "rustup default stable" in computer.availability()["rust"].missing
    with pytest.raises(UnknownLanguageError, match="rustup has no toolchain"):
        computer.run("rust", "fn main() {}")
    program(home / "toolchains" / "stable-x86_64-unknown-linux-gnu" / "bin" / "rustc")
    assert "rust" not in computer.words()  # it is there, and nobody has chosen it
    (home / "settings.toml").write_text('default_toolchain = "stable-x86_64-unknown-linux-gnu"\n')
    assert "rust" in computer.words()
    monkeypatch.setenv("RUSTUP_TOOLCHAIN", "nightly")
    assert "rust" not in computer.words()
    monkeypatch.setenv("RUSTUP_TOOLCHAIN", "stable")
    assert "rust" in computer.words()


def test_a_rustc_of_its_own_needs_no_rustup(path: Path) -> None:
    program(path / "rustc")
    assert TABLE["rust"]().availability()


def test_java_is_not_offered_where_there_is_a_runtime_and_no_compiler(path: Path) -> None:
    program(path / "java")
    assert "no javac on the PATH" in TABLE["java"]().availability().missing


def test_apples_placeholders_are_no_compilers(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cc", "c++", "swift", "java", "javac"):
        program(path / name)
    assert TABLE["c"]().availability()
    tools, java = tmp_path / "CommandLineTools", tmp_path / "JavaVirtualMachines"
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(placeholders, "_XCODE", (tools,))
    monkeypatch.setattr(placeholders, "_JAVA_OF_APPLE", java)
    monkeypatch.setattr(placeholders, "_APPLES_JAVA", path / "java")
    for name in ("c", "cpp", "swift"):
        assert "xcode-select --install" in TABLE[name]().availability().missing
    assert "install a JDK" in TABLE["java"]().availability().missing
    tools.mkdir()
    (java / "jdk-21.jdk").mkdir(parents=True)
    for name in ("c", "cpp", "swift", "java"):
        assert TABLE[name]().availability()


def test_another_compiler_that_works_is_taken(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(path / "cc")
    own = program(tmp_path / "own" / "gcc-14").parent
    program(own / "gcc")
    monkeypatch.setenv("PATH", f"{path}{os.pathsep}{own}")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(placeholders, "_XCODE", ())
    monkeypatch.setattr(placeholders, "_APPLES_JAVA", path / "java")
    assert TABLE["c"]().availability().how.startswith("gcc")
