"""`%%lmc --image plot.png --file data.csv`: what the person names goes with the question."""

from __future__ import annotations

import base64
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from model_server import Turn
from model_server import text as words
from PIL import Image
from scripted import said
from test_magic import notebook  # noqa: F401  # the fixture

from lmc_jupyter.content import images
from lmc_jupyter.models.openai import to_chat

ROOT = Path(__file__).parents[2]
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    here = tmp_path / "work"
    for each in (home, here):
        each.mkdir()
    Image.new("RGB", (8, 6), "red").save(here / "plot.png")
    Image.new("RGB", (8, 6), "red").save(here / "a b.webp")
    (here / "data.csv").write_text("a,b\n1,2\n")
    (here / "say.wav").write_bytes(WAV)
    (here / "notes.png").write_text("no image")
    (here / "x.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>')
    (home / "far.txt").write_text("far away")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.chdir(here)
    return here


def chat(notebook) -> str:  # noqa: F811
    return str(
        to_chat(notebook.session.messages, notebook.session.brief(), tools=True, vision=True)
    )


def test_they_go_before_the_question_in_the_same_step(notebook, folder):  # noqa: F811
    model = notebook.model([said("I see.")])
    notebook.cell(
        '%%lmc --image plot.png --image "a b.webp" --file data.csv --audio say.wav\nWhat?'
    )
    assert notebook.error is None
    (seen,) = model.seen
    assert [(m.role, m.type, m.format) for m in seen] == [
        ("user", "image", "base64.png"),
        ("user", "image", "base64.png"),
        ("user", "file", "path"),
        ("user", "audio", "wav"),
        ("user", "message", None),
    ]
    assert Image.open(io.BytesIO(base64.b64decode(seen[1].content))).format == "PNG"
    assert seen[2].content == str(folder / "data.csv")
    assert base64.b64decode(seen[3].content) == WAV
    assert "a,b\\n1,2" in chat(notebook)


def test_they_may_be_all_that_is_asked(notebook, folder):  # noqa: F811
    notebook.model([said("A red one.")])
    notebook.cell("%%lmc --image plot.png\n \n")
    assert notebook.error is None
    assert [m.type for m in notebook.session.messages] == ["image", "message"]


def test_a_file_elsewhere_may_be_read_when_it_was_named_and_no_other(notebook, folder):  # noqa: F811
    notebook.model([said("Yes.")], [said("Yes.")])
    (folder.parent / "home" / "secret.txt").write_text("not for you")
    notebook.cell("%%lmc --file ~/far.txt\nRead it.")
    assert notebook.error is None
    assert "far away" in chat(notebook)
    notebook.session.messages.append(
        type(notebook.session.messages[0])(
            "user", "file", "path", str(folder.parent / "home" / "secret.txt")
        )
    )
    assert "not for you" not in chat(notebook)
    notebook.cell("%%lmc --new\nWhat?")
    assert notebook.session.brief().files == ()


def test_what_is_named_is_named_for_this_conversation_when_it_begins_anew(notebook, folder):  # noqa: F811
    notebook.model([said("Yes.")])
    notebook.cell("%%lmc --new --file ~/far.txt\nRead it.")
    assert "far away" in chat(notebook)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--image nothing.png", "there is no file 'nothing.png' in"),
        ("--file nothing.csv", "there is no file 'nothing.csv' in"),
        ("--file .", "'.' is a folder"),
        ("--image notes.png", "'notes.png' is not a png, jpeg"),
        ("--image data.csv", "'data.csv' is not a png, jpeg"),
        ("--audio plot.png", "'plot.png' is not a wav"),
        ("--image plot.png --file nothing.csv", "nothing.csv"),
        ("--file ~nobody-of-that-name/x", "cannot be read"),
        ("--file", "expected one argument"),
    ],
)
def test_what_cannot_be_taken_is_said_before_anything_is_asked(
    notebook,  # noqa: F811
    folder,
    options,
    sentence,
):
    model = notebook.model([said("Earlier.")])
    notebook.cell("%%lmc\nFirst.")
    assert sentence in notebook.refuses(f"%%lmc --new {options}\nWhat?")
    assert len(model.seen) == 1
    assert len(notebook.session.messages) == 2
    assert notebook.session.brief().files == ()


def test_an_svg_is_drawn_or_the_person_is_told_what_to_install(notebook, folder, monkeypatch):  # noqa: F811
    model = notebook.model([said("A square.")])
    monkeypatch.setattr(images, "_CONVERTERS", {})
    assert "%pip install resvg_py" in notebook.refuses("%%lmc --image x.svg\nWhat?")
    png = (folder / "plot.png").read_bytes()
    monkeypatch.setattr(images, "_CONVERTERS", {"json": lambda svg, sides, scale: png})
    notebook.cell("%%lmc --image x.svg\nWhat?")
    assert base64.b64decode(model.seen[0][0].content) == png


def test_a_command_takes_no_files(notebook, folder):  # noqa: F811
    assert "--file" in notebook.refuses("%lmc state --file data.csv")


def test_paths_are_completed_behind_the_options(notebook, folder):  # noqa: F811
    """IPython does it by itself; this is to notice if it stops."""
    for text, wanted in (("%%lmc --image pl", "plot.png"), ("%%lmc --file da", "data.csv")):
        with provisionalcompleter():
            found = [each.text for each in notebook.shell.Completer.completions(text, len(text))]
        assert wanted in found


def test_loading_the_extension_imports_no_pillow(tmp_path):
    told = (
        "import sys; from IPython.core.interactiveshell import InteractiveShell as S; "
        "S.instance().extension_manager.load_extension('lmc_jupyter'); print('PIL' in sys.modules)"
    )
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", told], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stdout.strip() == "False", done.stdout + done.stderr


def test_an_image_that_only_its_description_is_sent_of_is_said_so_and_is_sent_by_a_setting(
    notebook,  # noqa: F811
    folder,
    model_server,
    monkeypatch,
):
    monkeypatch.setenv("LMC_API_KEY", "sk-not-a-real-key")
    model_server.turns = [Turn(words("A picture."))]
    notebook.cell(f"%config LMC.api_base = '{model_server.base}'\n%config LMC.model='openai/mine'")
    shown = notebook.cell("%%lmc --image plot.png\nWhat is this?")
    assert "openai/mine is not known to see images." in shown
    assert "image_url" not in str(model_server.requests[-1].body)
    assert model_server.requests[-1].body["tools"]  # at an own address they are tried
    notebook.cell(re.search(r"%lmc config \S+ \S+|%config \S+ ?= ?\w+", shown)[0])  # as it says
    notebook.cell("%lmc config tools no")
    shown = notebook.cell("%%lmc --new --image plot.png\nWhat is this?")
    assert "images" not in shown
    assert "image_url" in str(model_server.requests[-1].body)
    assert "tools" not in model_server.requests[-1].body
    notebook.cell("%config LMC.vision = False")
    assert "openai/mine does not see images." in notebook.cell("%%lmc --image plot.png\nAnd this?")
