"""`mcp.json`: what is read of it, what is said of a mistake, and what is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lmc_jupyter.computer.tools.config import ServerConfig, read
from lmc_jupyter.keys import redact

FILE = Path("/config/mcp.json")
TOKEN = "tok-91f0c7a2b6de"


def one(entry: Any, name: str = "demo") -> ServerConfig:
    found, sentences = read(json.dumps({"mcpServers": {name: entry}}).encode(), FILE)
    assert sentences == []
    (server,) = found
    return server


def mistake(entry: Any, name: str = "demo") -> str:
    servers = {name: entry, "good": {"command": "true"}}
    found, (sentence,) = read(json.dumps({"mcpServers": servers}).encode(), FILE)
    assert [each.name for each in found] == ["good"], "a wrong server takes no other away"
    return sentence


def test_a_program_and_an_address_are_read():
    server = one({"command": "npx", "args": ["-y", "pkg"], "env": {"A": "b"}, "cwd": "/tmp"})
    assert server.plain_spec() == {
        "command": "npx", "args": ["-y", "pkg"], "env": {"A": "b"}, "cwd": "/tmp"
    }  # fmt: skip
    assert server.shown == "A=b npx -y pkg (in /tmp)"
    assert one({"command": "x"}).plain_spec()["cwd"] == "/config", "where the file is"
    assert one({"command": "x", "cwd": "sub"}).plain_spec()["cwd"] == "/config/sub"
    server = one({"type": "http", "url": "https://a.example/mcp?key=x"})
    assert server.plain_spec() == {"url": "https://a.example/mcp?key=x", "headers": {}}
    assert server.shown == "https://a.example/mcp?key=…"


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        ({"args": ["-c", "echo harmless #\ntouch X"]}, "x -c 'echo harmless #⟨line break⟩touch X'"),
        ({"args": ["a b", "", "it's"]}, "x 'a b' '' 'it'\"'\"'s'"),
        ({"args": ["$HOME;rm", "*.py", "a&b"]}, "x '$HOME;rm' '*.py' 'a&b'"),
        ({"args": ["--dir=${HERE:-/tmp}/x"]}, "x --dir=${HERE:-/tmp}/x"),
        ({"args": ["a     b", "c\td", "e\r\nf\rg\u2028h"]},
         "x 'a⟨5 blanks⟩b' 'c⟨tab⟩d' 'e⟨line break⟩f⟨line break⟩g⟨line break⟩h'"),
        ({"args": ["a\u202eb", "\x1b[2J", "c\u00a0d"]},
         "x 'a⟨U+202E⟩b' '⟨U+001B⟩[2J' 'c⟨U+00A0⟩d'"),
        ({"cwd": "/a  b\n"}, "x (in '/a⟨2 blanks⟩b⟨line break⟩')"),
        ({"env": {"A": "b\nc  d", "B C": "d"}}, "A='b⟨line break⟩c⟨2 blanks⟩d' 'B C'=d x"),
        ({"env": {"GIT_ASKPASS": "./evil"}}, "GIT_ASKPASS=./evil x"),
        ({"env": {"A_TOKEN": "x; touch X"}}, "A_TOKEN='x; touch X' x"),
        ({"env": {"A_TOKEN": "k5-33"}}, "A_TOKEN=… x"),
    ],
)  # fmt: skip
def test_a_command_is_shown_as_a_shell_would_need_it(monkeypatch, entry, shown):
    assert one({"command": "x", **entry}).shown == shown


def test_headers_and_addresses_show_line_breaks_and_what_is_no_key(monkeypatch):
    monkeypatch.setenv("TOKEN", "t")
    headers = {"Accept": "a\nb", "Authorization": "Bearer ${TOKEN}", "X-Key": "abc-1"}
    shown = one({"url": "https://a.example/m\n  n?key=x", "headers": headers}).shown
    assert shown == (
        "'https://a.example/m⟨line break⟩⟨2 blanks⟩n?key=…' with Accept: 'a⟨line break⟩b', "
        "Authorization: 'Bearer ${TOKEN}', X-Key: …"
    )


def test_variables_stand_for_their_values_and_are_named(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    monkeypatch.delenv("NOT_SET", raising=False)
    server = one(
        {
            "url": "${NOT_SET:-https://a.example}/mcp",
            "headers": {"Authorization": "Bearer ${MY_TOKEN}"},
        }
    )
    assert server.plain_spec()["url"] == "https://a.example/mcp"
    assert server.plain_spec()["headers"] == {"Authorization": f"Bearer {TOKEN}"}
    assert server.variables == ("NOT_SET", "MY_TOKEN"), "set or not"


def test_keys_are_shown_nowhere(monkeypatch):
    server = one({"command": "x", "env": {"A_TOKEN": TOKEN, "DATABASE": "postgres://u:pw12@h/d1"}})
    texts = [repr(server), str(server), server.shown, redact(f"{TOKEN} {server.plain_spec()}")]
    assert TOKEN not in str(texts)
    assert "pw12" not in str(texts)
    folder = one({"command": "x", "env": {"FOLDER": "/home/ana/data"}})
    assert redact("/home/ana/data") == "/home/ana/data", "what is no key stays as it is"
    assert "/home/ana/data" in folder.shown


def test_arguments_that_may_be_keys_are_redacted_and_no_others(monkeypatch):
    monkeypatch.setenv("DB_CRED", "cred-55aa66bb77cc")
    keys = ["cred-55aa66bb77cc", "hunters", "literal-hunter2-Xy77", "tokens/of/mine"]
    plain = ["--password", "-y", "@scope/server-2", "pkg@1.2.3", "/home/ana2/d4", "--port=8080"]
    options = ["--password", "${DB_CRED}", "--api-key=hunters", keys[2], "-e", f"A_TOKEN={keys[3]}"]
    server = one({"command": "x", "args": [*plain[1:], *options]})
    text = redact(" ".join([*plain, *keys]), server.secrets())
    assert [each for each in keys if each in text] == []
    assert [each for each in plain if each not in text] == []


def test_one_that_is_switched_off_is_left_out():
    data = json.dumps({"mcpServers": {"demo": {"command": "x", "disabled": True}}}).encode()
    assert read(data, FILE) == ([], [])


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (3, "is '3': it must be an object with a command or a url"),
        ({}, 'must have either a "command" or a "url"'),
        ({"command": "x", "url": "https://a"}, 'must have either a "command" or a "url"'),
        ({"command": 3}, "has the \"command\" '3': it must be a text"),
        ({"command": " "}, "has the \"command\" '': it must be a text"),
        ({"command": "x", "args": "-y"}, "has the \"args\" '-y': it must be a list of texts"),
        ({"command": "x", "env": {"A": 3}}, 'has an "env" that is no object of texts'),
        ({"url": "ftp://a"}, "has the url 'ftp://a': it must begin with https://"),
        ({"type": "sse", "url": "https://a"}, 'has the type \'sse\': "stdio" and "http" can'),
        ({"command": "${NOT_SET_HERE}"}, "needs the variable NOT_SET_HERE of the environment"),
    ],
)
def test_a_mistake_is_a_sentence_with_file_server_and_value(entry, words):
    sentence = mistake(entry)
    assert sentence.startswith("/config/mcp.json: the server 'demo' ")
    assert words in sentence


def test_a_name_with_hidden_characters_is_refused():
    assert "'de⟨U+202E⟩mo' needs a name of" in mistake({"command": "x"}, "de\u202emo")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b"[" * 100_000, "is no JSON|has more"),
        (b"[]", 'has no object "mcpServers"'),
        (b'{"servers": {}}', 'has no object "mcpServers"'),
        (json.dumps({"mcpServers": {str(n): {} for n in range(99)}}).encode(), "99 servers"),
    ],
)
def test_a_file_that_is_none_is_a_sentence(data, words):
    found, (sentence,) = read(data, FILE)
    assert found == []
    assert re.search(words, sentence)
