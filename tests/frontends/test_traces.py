"""What of before makes loading do more than register."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmc_jupyter.conversation.of_kernel import OfKernel
from lmc_jupyter.frontends.config import saved_model
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.config.traces import has_instructions, has_traces

NOTEBOOK = "/there/it is.ipynb"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a notebook, with nothing in it or in the person's own folders."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    folder = tmp_path / "above" / "folder"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def test_a_new_notebook_in_an_empty_folder_has_none(folder: Path) -> None:
    connection = folder / "kernel-1.json"
    assert not has_traces(LMC(), folder, NOTEBOOK, str(connection))
    assert not has_traces(LMC(model="openai/gpt-5"), folder, "", None)
    assert not has_traces(LMC(), None, "", None)


@pytest.mark.parametrize("name", ["lmc.yaml", "mcp.json", ".mcp.json"])
def test_a_file_of_the_folder_is_one(folder: Path, name: str) -> None:
    (folder / name).write_text("")
    assert has_traces(LMC(), folder, NOTEBOOK, None)


@pytest.mark.parametrize("name", ["AGENTS.md", "../AGENTS.md"])
def test_instructions_are_none_and_may_be_near(folder: Path, name: str) -> None:
    assert not has_instructions(folder)
    (folder / name).write_text("")
    assert has_instructions(folder)
    assert not has_traces(LMC(), folder, NOTEBOOK, None)
    assert not has_instructions(None)


@pytest.mark.parametrize("notebook", [NOTEBOOK, ""])
def test_a_model_that_was_chosen_is_one(folder: Path, notebook: str) -> None:
    saved_model.remember(notebook, saved_model.SavedModel("openai/gpt-5"))
    assert has_traces(LMC(), folder, NOTEBOOK, None)
    assert has_traces(LMC(), folder, "/another.ipynb", None) is (notebook == "")


def test_the_conversation_of_a_kernel_that_was_restarted_is_one(folder: Path) -> None:
    connection = folder / "kernel-1.json"
    OfKernel(connection).id = "c1"
    assert has_traces(LMC(), folder, NOTEBOOK, str(connection))


@pytest.mark.parametrize("settings", [{"deny": ["shell"]}, {"auto_run": True}, {"max_turns": 3}])
def test_a_setting_of_the_session_is_one(folder: Path, settings: dict[str, object]) -> None:
    assert has_traces(LMC(**settings), folder, NOTEBOOK, None)


def test_the_folder_is_that_of_the_load_whatever_directory_the_person_goes_to(
    folder: Path, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run_line_magic("load_ext", "lmc_jupyter")
    try:
        (elsewhere := folder / "elsewhere").mkdir()
        (elsewhere / "mcp.json").write_text('{"mcpServers": {"theirs": {"command": "x"}}}')
        monkeypatch.chdir(elsewhere)
        assert shell.magics_manager.registry["LMCMagics"].tool_files.offer_once() == ""
    finally:
        shell.run_line_magic("unload_ext", "lmc_jupyter")
