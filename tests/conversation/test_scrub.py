"""No key is written down, in whatever pieces it comes."""

from __future__ import annotations

import os
import random

import pytest
from scripted import Machine, ScriptedModel, code, printed, said
from test_conversations import drive, file_of

from lmc_jupyter import Session
from lmc_jupyter.conversation.scrub import Scrub
from lmc_jupyter.gate import Decision
from lmc_jupyter.keys import Secret
from lmc_jupyter.lmc import Message

OWN = "my own key, with blanks 12"
KEYS = {
    "openai": "sk-proj-Ab12Cd34Ef56Gh78Ij90",
    "google": "AIzaSyA1234567890abcdefghijklmnopqrstu",
    "github": "ghp_0123456789abcdefghijABCDEFGHIJ456789",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijk",
    "environment": "correct-horse-battery-staple",
    "held": OWN,
}


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", str(tmp_path))
    monkeypatch.setenv("SOME_SERVICE_TOKEN", KEYS["environment"])


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_no_key_is_in_any_file_whatever_the_pieces(key):
    dice, seen = random.Random(key), []
    for _ in range(30):
        text = f"The key is {key} and no other; see {key}."
        cuts = sorted(dice.sample(range(1, len(text)), dice.randint(1, 12)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        scrub = Scrub([Secret(OWN)]).stream()
        written = ""
        for piece in pieces:
            written += scrub.feed(piece)
            assert key not in written
            assert key[:8] not in written
        seen.append(written)
    assert all(each.startswith("The key is ") for each in seen)
    assert any("and no other" in each for each in seen)


def test_text_without_a_key_does_not_wait():
    scrub = Scrub([Secret(OWN)]).stream()
    for piece in (
        "skill",
        " sk",
        "y is",
        " eye",
        " my",
        " Bear",
        "er of ",
        "a",
        "AI",
        "za",
    ):
        assert scrub.feed(piece) == piece


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_conversation_about_a_key_is_kept_without_it(key):
    machine = Machine(printed(f"token={key[:5]}"), printed(f"{key[5:]} was printed\n"))
    model = ScriptedModel([said(f"Use {key}"), code(f"use({key!r})")], [said("Ok.")])
    it = Session(model=model, computer=machine, api_key=OWN)
    it.conversation.rename(f"About {key}")
    picture = Message("user", "image", "path", f"https://host/a.png?key={key}")
    drive(it.ask(f"Is {key} mine?", attachments=[picture]), Decision(False, reason=f"no {key}"))
    drive(it.ask(Message("user", "message", content="x").marked(note={"a": [key], key: 1})))
    files = b"".join(p.read_bytes() for p in file_of(it).parent.iterdir() if p.is_file())
    assert key.encode() not in files
    assert b"redacted" in files
    assert key in it.messages[1].content  # what is shown is the person's affair
    id_ = it.journal.id
    it.reset()
    it.conversation.open(id_)
    assert key not in str(it.messages)


def test_an_image_is_written_as_it_is():
    data = "sk-proj-Ab12Cd34Ef56Gh78Ij90"
    it = Session(model=ScriptedModel([said("Seen.")]))
    drive(it.ask("?", attachments=[Message("user", "image", "base64.png", data)]))
    assert it.journal.conversations.read(it.journal.id).messages[0].content == data
    assert os.environ["SOME_SERVICE_TOKEN"] == KEYS["environment"]


def test_a_word_that_a_server_takes_for_a_key_is_not_redacted():
    scrub = Scrub([Secret("x"), Secret("none")])
    assert scrub.text("none of the six experts") == "none of the six experts"
    assert scrub.stream().feed("none of the six experts") == "none of the six experts"
