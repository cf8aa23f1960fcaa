"""Files of a notebook's folder: each name, as each kind of file that somebody may have put there.

Nothing is waited for: a pipe without a writer blocks whoever opens it, and the time limit of the
tests would end it.
"""

from __future__ import annotations

import ast
import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import platformdirs
import pytest

import lmc_jupyter
from lmc_jupyter import current_session
from lmc_jupyter.content.folder_file import read_file
from lmc_jupyter.errors import FormatError
from lmc_jupyter.frontends.config import profiles, traces
from lmc_jupyter.frontends.config.place import Place
from lmc_jupyter.frontends.config.tool_files import ToolFiles

pytestmark = pytest.mark.skipif(os.name != "posix", reason="named pipes, sockets and links")

GOOD = {
    "mcp.json": json.dumps({"mcpServers": {"demo": {"command": "no-such-program"}}}),
    ".mcp.json": json.dumps({"mcpServers": {"demo": {"command": "no-such-program"}}}),
    "lmc.yaml": "max_turns: 3\n",
    "AGENTS.md": "canary\n",
}


READERS = ("place.py", "profiles.py", "tool_files.py")
"""The modules that read them."""
WRITES = "folder.py"
"""Writes the settings of the pupils' folder."""


def test_every_name_of_a_file_of_the_folder_is_tried_and_read_by_the_one_function():
    assert set(GOOD) == {traces.IN_FOLDER, traces.INSTRUCTIONS, *traces.TOOLS}
    package = Path(lmc_jupyter.__file__).parent
    for file in package.rglob("*.py"):
        code = ast.parse(file.read_text("utf-8"))
        texts = {each.value for each in ast.walk(code) if isinstance(each, ast.Constant)}
        names = {
            each.name
            for node in ast.walk(code)
            if isinstance(node, ast.ImportFrom) and node.module == traces.__name__
            for each in node.names
        }
        if texts & set(GOOD) or names & {"IN_FOLDER", "INSTRUCTIONS", "TOOLS"}:
            assert file.name in {*READERS, "traces.py", WRITES}, (
                f"{file} names a file of the folder"
            )
    for name in READERS:
        source = (Path(traces.__file__).parent / name).read_text("utf-8")
        assert "read_file(" in source
        assert not re.search(r"\bopen\(|read_text|read_bytes", source), f"{name} reads by itself"


def socket_at(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def link_out(path: Path) -> None:
    outside = path.parent.parent / "outside"
    outside.write_text(GOOD[path.name])
    path.symlink_to(outside)


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "is a named pipe, not a file"),
    "a socket": (socket_at, "is a socket, not a file"),
    "a folder": (Path.mkdir, "is a folder, not a file"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "outside its folder"),
    "a link out": (link_out, "outside its folder"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "cannot be read"),
    "too large": (lambda path: path.write_text(GOOD[path.name] + " " * 200_000), "more than"),
    "binary": (lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff"), "not text in UTF-8"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    for name in ("user_config_path", "user_data_path"):
        monkeypatch.setattr(platformdirs, name, lambda *_, **__: tmp_path / "person")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder


def sentence_on(name: str, folder: Path) -> str:
    """What the person reads of this file, and nothing of it counts."""
    if name == "AGENTS.md":
        place = Place(folder)
        assert place.text() == ""
        return place.offer()
    if name == "lmc.yaml":
        with pytest.raises(FormatError) as error:
            profiles.of_folder(folder)
        return str(error.value)
    files = ToolFiles(folder, lambda _: None)
    assert files.begin() == []
    assert files._here().servers == ()
    assert files.offer() in files.show()
    return files.offer()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GOOD)
def test_what_is_no_file_of_the_folder_is_a_sentence(folder, name, kind):
    make, words = KINDS[kind]
    make(folder / name)
    sentence = sentence_on(name, folder)
    assert name in sentence
    assert words in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("name", GOOD)
def test_a_file_and_a_link_within_the_folder_are_read(folder, name):
    (folder / "real").write_text(GOOD[name])
    (folder / name).symlink_to("real")
    for _ in range(2):
        assert read_file(folder / name, 1_000, inside=folder) == GOOD[name].encode()
        (folder / name).unlink()
        (folder / name).write_text(GOOD[name])


def test_no_file_is_none(folder):
    (folder / "lmc.yaml").symlink_to("nowhere")
    assert read_file(folder / "lmc.yaml", 10) is None
    assert read_file(folder / "nothing", 10) is None
    (folder / "text").write_text("a text")
    assert read_file(folder / "text" / "below", 10) is None


def test_a_file_of_the_person_s_own_may_be_a_link_but_no_device(folder, tmp_path):
    (tmp_path / "dotfiles").write_text("mine")
    (folder / "own").symlink_to(tmp_path / "dotfiles")
    assert read_file(folder / "own", 10) == b"mine"
    (folder / "endless").symlink_to("/dev/zero")
    with pytest.raises(FormatError, match="is a device, not a file"):
        read_file(folder / "endless", 10)


@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a folder", "a link out"])
def test_the_extension_loads_beside_them_and_names_each(folder, shell, capsys, monkeypatch, kind):
    monkeypatch.delenv("LMC_MODEL", raising=False)
    for name in ("mcp.json", "lmc.yaml", "AGENTS.md"):
        KINDS[kind][0](folder / name)
    shell.extension_manager.load_extension("lmc_jupyter")
    try:
        assert current_session().max_turns == 20
        shown = capsys.readouterr().out
        assert [name for name in ("mcp.json", "lmc.yaml", "AGENTS.md") if name not in shown] == []
        assert "canary" not in shown
    finally:
        shell.extension_manager.unload_extension("lmc_jupyter")
