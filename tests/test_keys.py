"""Keys: 25 shapes of them, given in each way, are in no place where text leaves us."""

from __future__ import annotations

import html
import json
import logging
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, NoKeyringError
from model_server import ModelServer, Refusal, Turn, text, tool
from panel_view import Records
from sampling import LONG, sample

from lmc_jupyter import current_session, formats, keys
from lmc_jupyter.errors import LMCError, ModelError
from lmc_jupyter.frontends.cell.html import code_html, console_html, markdown
from lmc_jupyter.frontends.config.settings import LMC
from lmc_jupyter.frontends.panel.batch import Batch
from lmc_jupyter.frontends.panel.mirror import Mirror
from lmc_jupyter.keys import Secret, address, known_secrets, redact
from lmc_jupyter.session import Session

SHAPES = {
    "openai": "sk-Qa1Ws2Ed3Rf4Tg5Yh6Uj7Ik8Ol9Pz0",
    "openai project": "sk-proj-Qa1Ws2Ed3Rf4_Tg5Yh6Uj7Ik8-Ol9Pz0",
    "anthropic": "sk-ant-api03-Qa1Ws2Ed3Rf4Tg5Yh6-Uj7Ik8Ol9Pz0AA",
    "openrouter": "sk-or-v1-0123456789abcdef0123456789abcdef",
    "google": "AIzaSyQa1Ws2Ed3Rf4Tg5Yh6Uj7Ik8Ol9Pz0x",
    "aws id": "AKIAQA1WS2ED3RF4TG5Y",
    "aws secret": "Qa1Ws2/Ed3Rf4Tg5+Yh6Uj7Ik8Ol9Pz0Xs2Cd3V/",
    "groq": "gsk_Qa1Ws2Ed3Rf4Tg5Yh6Uj7Ik8Ol9Pz0",
    "hugging face": "hf_QaWsEdRfTgYhUjIkOlPzXsCdVf",
    "xai": "xai-Qa1Ws2Ed3Rf4Tg5Yh6Uj7Ik8Ol9Pz0",
    "replicate": "r8_Qa1Ws2Ed3Rf4Tg5Yh6Uj7Ik8Ol9Pz0",
    "github": "ghp_Qa1Ws2Ed3Rf4Tg5Yh6Uj7Ik8Ol9Pz0",
    "github fine": "github_pat_11QA1WS2Y0_Qa1Ws2Ed3Rf4Tg5Yh6Uj7Ik8",
    "gitlab": "glpat-Qa1Ws2Ed3Rf4Tg5Yh6Uj",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJRYTFXczJFZDMifQ.Qa1Ws2Ed3Rf4Tg5Yh6Uj7Ik8Ol9Pz0",
    "azure": "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "perplexity": "pplx-Qa1Ws2Ed3Rf4Tg5Yh6Uj7Ik8Ol9Pz0",
    "nvidia": "nvapi-Qa1Ws2Ed3Rf4-Tg5Yh6Uj7Ik8_Ol9Pz0",
    "uuid": "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed",
    "newline at its end": "Qn1Ws2Ed3Rf4Tg5Yh6Uj7Ik8Ol9Pz0\n",
    "unicode quotes": "\u201csk-Uq1Ws2Ed3Rf4Tg5Yh6Uj7Ik8\u201d",
    "marks of html and json": "Q<a>&1\"Ws2'Ed3\\Rf4Tg5Yh6Uj7Ik8Ol",
    "marks of addresses": "Qa%1?Ws2=Ed3&Rf4#Tg5Yh6Uj7Ik8/Ol+9",
    "base64": "UWExV3MyRWQzUmY0VGc1WWg2VWo3SWs4T2w5UHowUWExV3MyRWQzUmY0VGc1WWg2VWo3SWs4T2w5UA==",
    "short": "Qx1Ws2Ed3Rf4",
}
WAYS = ("option", "environment", "keyring")
PAIRS = [
    (shape, way)
    for at, shape in enumerate(sample(SHAPES, 12))
    for way in (WAYS if LONG else (WAYS[at % len(WAYS)],))
]
"""By day each drawn shape is given in one of the ways, in turn."""


def needle(key: str) -> str:
    """The part of a key that is the same in whatever form it is written."""
    return max(re.findall(r"[A-Za-z0-9]+", key), key=len)


def forms(key: str) -> list[str]:
    """How a program, a page, a file or an address would write it."""
    bare = key.strip()
    return [
        key, bare, repr(key), json.dumps({"key": key}), html.escape(bare), repr(bare.encode()),
        f"Authorization: Bearer {bare}", f"https://host/v1?key={quote(bare, safe='')}&x=1",
        f"\u201c{bare}\u201d",
    ]  # fmt: skip


class Ring(KeyringBackend):
    """A keyring in memory, or one that fails."""

    priority = 1  # type: ignore[assignment]

    def __init__(self, failure: Exception | None = None) -> None:
        self.held: dict[tuple[str, str], str] = {}
        self.failure = failure
        self.asked: list[str] = []

    def get_password(self, service: str, username: str) -> str | None:
        self.asked.append(username)
        if self.failure is not None:
            raise self.failure
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.failure is not None:
            raise self.failure
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.failure is not None:
            raise self.failure
        del self.held[service, username]


@pytest.fixture
def ring(monkeypatch):
    """A keyring in place of the machine's; and nothing that another test has looked up."""
    before, mine = keyring.get_keyring(), Ring()
    monkeypatch.setattr(keys.keyring, "_secrets", {})
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


# The matrix ---------------------------------------------------------------------------------------


class Places:
    """Every text that has left us, and where it went."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}

    def add(self, place: str, what: object) -> None:
        said = what.decode("utf-8", "replace") if isinstance(what, bytes) else str(what)
        self.found.setdefault(place, []).append(said)

    def must_not_hold(self, part: str) -> None:
        leaks = [place for place, texts in self.found.items() if any(part in t for t in texts)]
        assert leaks == [], f"{part} is in {leaks}"


def give(way: str, key: str, monkeypatch: Any, ring: Ring, shell: Any) -> None:
    if way == "environment":
        monkeypatch.setenv("LMC_API_KEY", key)
    elif way == "keyring":
        ring.held["lmc-jupyter", "LMC_API_KEY"] = key
    else:
        shell.run_line_magic("config", f"LMC.options = {{'api_key': {key!r}, 'temperature': 0}}")


def watch(session: Session, places: Places) -> Callable[[], None]:
    """What a panel would get: every event, and at the end a snapshot."""
    batch = Batch(lambda content: places.add("panel events", json.dumps(content)))
    mirror = Mirror(session, batch, lambda: {"model": str(session.choice.spec)})
    batch.snapshot(mirror.snapshot)

    def end() -> None:
        batch.flush()
        view = Records()
        last = Batch(view.take)
        last.snapshot(mirror.snapshot)
        places.add("panel snapshot", json.dumps(view.records) + json.dumps(view.turns))
        for turn in session.turns:
            places.add("what was sent", "".join(request.body for request in turn.requests))
            places.add("vars of requests", "".join(str(vars(r)) for r in turn.requests))
        mirror.close()

    return end


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("shape", "way"), PAIRS)
def test_no_key_is_in_any_place(
    shape, way, ring, shell, model_server: ModelServer, tmp_path: Path, monkeypatch, capsys, caplog
):
    key, places = SHAPES[shape], Places()
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    shell.extension_manager.load_extension("lmc_jupyter")
    try:
        give(way, key, monkeypatch, ring, shell)
        drive(key, places, shell, model_server, tmp_path, capsys)
    finally:
        shell.extension_manager.unload_extension("lmc_jupyter")
    places.add("logging", "\n".join(each.getMessage() for each in caplog.records))
    if key.strip().isascii():  # else no request can carry it
        assert "request bodies" in places.found
    assert {"journal", "saved: lmc", "terminal", "panel events", "%config",
            "verbose traceback", "pickle", "cell html"} <= set(places.found)  # fmt: skip
    assert places.found["saw"] == ["True"], "the key was where it could have leaked"
    places.must_not_hold(needle(key))


def test_control_without_the_redactor_a_key_is_in_many_places(
    ring, shell, model_server: ModelServer, tmp_path, monkeypatch, capsys, record_property
):
    monkeypatch.setattr(keys.Redactor, "text", lambda _, text: text)
    monkeypatch.setattr(keys.Redactor, "safe_length", lambda _, text: len(text))
    monkeypatch.chdir(tmp_path)
    key, places = SHAPES["openai"], Places()
    shell.extension_manager.load_extension("lmc_jupyter")
    try:
        give("option", key, monkeypatch, ring, shell)
        with pytest.raises(AssertionError, match="redacted"):  # what the person asks about an error
            drive(key, places, shell, model_server, tmp_path, capsys)
    finally:
        shell.extension_manager.unload_extension("lmc_jupyter")
    leaks = [place for place, texts in places.found.items() if any(needle(key) in t for t in texts)]
    assert len(leaks) > 2
    record_property("figure", f"the key is in {', '.join(leaks)}")


def drive(key: str, places: Places, shell: Any, server: ModelServer, folder: Path, capsys) -> None:
    """Whatever a session does with a key, and all that comes of it."""
    session, magics = current_session(), shell.magics_manager.registry["LMCMagics"]
    hidden = folder / "leak.txt"
    hidden.write_text("\n".join(forms(key)), "utf-8")
    end = watch(session, places)
    settings = LMC.instance()
    for line in ("model = 'openai/m'", f"api_base = {server.base!r}"):
        shell.run_line_magic("config", f"LMC.{line}")
    server.turns = [Turn(text("Hello."))]
    shell.run_cell("%%lmc\nHello.")  # a key of the keyring is known from here on
    session.reset()
    shell.user_ns["mine"] = key
    quiet = "from pathlib import Path; [Path('leak.txt').read_text()[:0]]"
    server.turns = [
        Turn(tool("shell", "cat leak.txt")),
        Turn(tool("python", f"{quiet}; kept = len(mine)")),
        Turn(text("Done.")),
    ]
    capsys.readouterr()

    def run(cell: str) -> str:
        result = shell.run_cell(cell, store_history=False)
        out = capsys.readouterr()
        places.add("terminal", out.out + out.err)
        error = result.error_in_exec or result.error_before_exec
        if error is not None:
            places.add("error messages", f"{error} {error!r} {error.args}")
        return out.out

    shown = run("%%lmc --auto-run\nShow me the file and @mine.")
    answered = any(each.content == "Done." for each in session.messages)
    sendable = key.strip().isascii()
    assert answered == sendable, shown
    places.add("saw", str(any(needle(key) in str(r.headers) for r in server.requests) == sendable))
    # a provider that sends the key back; over all shapes, in each of its forms
    written, turn = forms(key), sum(map(ord, key))
    for said in (written[turn % len(written)], written[(turn + 4) % len(written)]):
        server.first = [Refusal(401, f"Incorrect API key provided: {said}")]
        run("%%lmc\nAgain.")
    run("%xmode Verbose")
    server.first = [Refusal(400, f"Wrong: {key}")]
    run("%%lmc\nAgain.")
    server.first = [Refusal(400, f"Wrong: {key}")]
    try:
        for _ in session.ask("From Python."):
            pass
    except LMCError:
        shell.showtraceback()
    out = capsys.readouterr()
    places.add("verbose traceback", out.out + out.err)
    run("%tb")
    run("%xmode Context")
    shell.run_cell("raise ValueError('bad key: ' + mine)", store_history=True)
    capsys.readouterr()  # a cell of the person's own
    run("%lmc fix")
    run("%lmc explain mine")
    assert "bad key: [redacted" in str(session.messages)
    for line in ("%config LMC", "%config LMC.options", "%lmc", "%lmc config", "%lmc config options",
                 "%lmc history", "%lmc cost", "%lmc tokens", "%lmc profile"):  # fmt: skip
        places.add("%config", run(line))
    for request in server.requests:
        headers = {k: v for k, v in request.headers.items() if k.lower() != "authorization"}
        places.add("request bodies", f"{request.path} {headers} {json.dumps(request.body)}")
    end()
    things: list[Any] = [session, settings, magics, session.model, session.computer, session.gate,
                         *session.turns]  # fmt: skip
    for thing in things:
        places.add("repr and vars", f"{thing!r} {vars(thing)} {dict(vars(type(thing)))}")
        try:
            places.add("pickle", pickle.dumps(thing))
        except Exception as error:
            places.add("pickle", f"{error} {error!r}")
    places.add("configuration", f"{shell.config} {settings.config} {settings.trait_values()}")
    for message in session.messages:
        places.add("messages", json.dumps(message.to_dict()))
        said = str(message.content)
        places.add("cell html", markdown(said) + console_html(said) + code_html(said, "python"))
    for name, module in formats.formats().items():
        if hasattr(module, "write"):
            path = folder / f"talk.{name}"
            session.save(path, name)
            places.add(f"saved: {name}", path.read_bytes())
    session.conversation.rename("A title")
    hidden.unlink()
    assert session.journal.conversations is not None
    for path in session.journal.conversations.folder.rglob("*"):
        if path.is_file():
            places.add("journal", path.read_bytes())


# Where keys come from -----------------------------------------------------------------------------


def asked_with(server: ModelServer, **options: Any) -> str:
    """The key that came with a question."""
    server.turns = [Turn(text("Hi."))]
    session = Session("openai/m", keep=False, api_base=server.base, **options)
    for _ in session.ask("Go."):
        pass
    return server.requests[-1].headers["authorization"].removeprefix("Bearer ")


def test_an_option_counts_before_the_environment_and_that_before_the_keyring(
    model_server, ring, monkeypatch
):
    ring.held["lmc-jupyter", "LMC_API_KEY"] = "of-the-keyring"
    assert asked_with(model_server) == "of-the-keyring"
    monkeypatch.setenv("LMC_API_KEY", "of-the-environment")
    assert asked_with(model_server) == "of-the-environment"
    assert asked_with(model_server, api_key="of-the-option") == "of-the-option"


def test_a_provider_s_own_key_of_the_keyring_goes_to_the_provider_only(
    model_server, ring, monkeypatch
):
    from lmc_jupyter.models.litellm import access

    ring.held["lmc-jupyter", "OPENAI_API_KEY"] = "of-openai"
    assert asked_with(model_server) == access.PLACEHOLDER
    assert access.stored_keys("openai/m", None)["api_key"].reveal() == "of-openai"
    assert access.stored_keys("openai/m", "https://api.openai.com/v1") != {}
    assert access.stored_keys("openai/m", "https://api.openai.com.evil/v1") == {}
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    assert access.stored_keys("openai/m", None) == {}


def test_both_keys_of_a_provider_that_has_two(ring, monkeypatch):
    from lmc_jupyter.models.litellm import access

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
        ring.held["lmc-jupyter", name] = name.lower()
    found = access.stored_keys("bedrock/anthropic.claude-v2", None)
    assert {name: key.reveal() for name, key in found.items()} == {
        "aws_access_key_id": "aws_access_key_id", "aws_secret_access_key": "aws_secret_access_key"
    }  # fmt: skip


def test_the_keyring_is_asked_once(model_server, ring):
    asked_with(model_server)
    asked_with(model_server)
    assert ring.asked == ["LMC_API_KEY"]


@pytest.mark.parametrize(
    ("failure", "words"),
    [(NoKeyringError("no backend"), ""), (KeyringLocked("locked"), "the keyring cannot be read"),
     (RuntimeError("dbus"), "the keyring cannot be read")],
)  # fmt: skip
def test_a_keyring_that_fails_is_no_failure_of_a_call(model_server, ring, failure, words):
    ring.failure = failure
    assert asked_with(model_server) == "none"
    assert words in keys.problem()


def test_without_a_key_the_sentence_names_the_ways(model_server, ring, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ring.failure = KeyringLocked("locked")
    session = Session("openai/gpt-4o", keep=False)
    with pytest.raises(ModelError) as error:
        for _ in session.ask("Go."):
            pass
    for word in ("OPENAI_API_KEY", "LMC_API_KEY in the environment", "`%lmc key OPENAI_API_KEY`",
                 "keyring", "locked"):  # fmt: skip
        assert word in str(error.value)


@pytest.fixture
def cell(shell, capsys, monkeypatch):
    """Runs a line; what it wrote, or the sentence of its error."""
    shell.extension_manager.load_extension("lmc_jupyter")
    typed: list[str] = []
    monkeypatch.setattr("getpass.getpass", lambda prompt: typed.pop(0))

    def run(line: str, *answers: str) -> str:
        typed[:] = answers
        capsys.readouterr()
        result = shell.run_cell(line)
        error = result.error_in_exec
        shown = capsys.readouterr()
        assert not any(each in shown.out + shown.err for each in answers if each.strip())
        return shown.out if error is None else str(error)

    yield run
    shell.extension_manager.unload_extension("lmc_jupyter")


def test_a_key_is_typed_kept_and_forgotten(cell, ring):
    assert "in memory until this kernel ends" in cell("%lmc key SOME_API_KEY", "typed-1234567")
    assert keys.look_up("SOME_API_KEY").reveal() == "typed-1234567"
    assert ring.held == {}
    assert "in your keyring now" in cell("%lmc key SOME_API_KEY --keep", " kept-1234567\n")
    assert ring.held == {("lmc-jupyter", "SOME_API_KEY"): "kept-1234567"}
    assert "was removed" in cell("%lmc key SOME_API_KEY --forget")
    assert ring.held == {}
    assert keys.look_up("SOME_API_KEY") is None
    assert "There is no key" in cell("%lmc key SOME_API_KEY --forget")
    assert "Nothing was changed" in cell("%lmc key SOME_API_KEY", "  ")


def test_the_name_of_the_key_is_that_of_the_model(cell, ring, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert "needs no key" in cell("%lmc key")
    cell("%lmc model anthropic/claude-sonnet-5")
    assert "ANTHROPIC_API_KEY stays in memory" in cell("%lmc key", "typed-1234567")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-the-environment")
    assert "takes precedence" in cell("%lmc key ANTHROPIC_API_KEY")


@pytest.mark.parametrize("word", ["sk-1234567890abcdefghijkl", "a b", "lower_case", "X"])
def test_a_key_in_place_of_its_name_is_a_sentence_without_it(cell, word):
    shown = cell(f"%lmc key {word!r}")
    assert "name of the key, not the key itself" in shown
    assert word not in shown or len(word) < 4


@pytest.mark.parametrize("failure", [NoKeyringError("none"), RuntimeError("typed-1234567")])
def test_a_keyring_that_does_not_take_it_is_a_sentence(cell, ring, failure):
    ring.failure = failure
    assert "not saved" in cell("%lmc key SOME_API_KEY --keep", "typed-1234567")
    assert keys.look_up("SOME_API_KEY").reveal() == "typed-1234567"


def test_a_key_that_no_request_can_carry_is_a_sentence(model_server, ring):
    with pytest.raises(ModelError, match="holds characters that no key has") as error:
        asked_with(model_server, api_key=SHAPES["unicode quotes"])
    assert needle(SHAPES["unicode quotes"]) not in str(error.value)
    assert model_server.requests == []


# What is a key, and what is none ------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "sk_logistic_regression_model", "pk_customer_orders_table", "hf_hub_download_file",
        "sk-learn-contrib-project", "rk_integration_of_order_four", "gsk_market_share_by_year",
        "fw_forward_pass_hidden_state", "r8_double_precision", "github_pat", "Bearer of bad news",
        "eyJust.kidding.here", "token = tokenizer.encode(text)", "xai-explain-these-things-please",
    ],
)  # fmt: skip
def test_names_of_programs_are_no_keys(name):
    assert redact(name) == name


MAKERS = re.compile("sk-|AIza|AKIA|gsk_|hf_|xai|r8_|gh|gl|eyJ|pplx|nv")


@pytest.mark.parametrize("shape", [each for each, key in SHAPES.items() if MAKERS.match(key)])
def test_keys_of_known_makers_are_known_by_their_shape(shape):
    assert needle(SHAPES[shape])[-10:] not in redact(f"the key {SHAPES[shape]}.")


def test_a_key_is_known_while_somebody_holds_it():
    secret = Secret("held-by-somebody", "MY_KEY")
    assert redact("x=held-by-somebody") == "x=[redacted: MY_KEY]"
    assert "held-by-somebody" in known_secrets()
    del secret
    assert "held-by-somebody" not in known_secrets()


def test_a_word_that_a_server_takes_for_a_key_is_only_a_word():
    held = Secret("lm-studio")
    assert redact("Start lm-studio first") == "Start lm-studio first"
    assert held.reveal() == "lm-studio"


def test_keys_in_options_are_held_however_deep():
    options = {"headers": {"Authorization": "Bearer abc", "X": "1"}, "n": [1], "api_key": "k"}
    held = keys.hide(options)
    assert "abc" not in repr(held)
    assert "'k'" not in repr(held)
    assert keys.reveal(held) == options


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1"),
        ("https://me:secret@host/v1", "https://host/v1"),
        ("https://host/v1?key=secret&x=1#part", "https://host/v1?key=…&x=…#part"),
    ],
)
def test_an_address_is_shown_without_what_is_secret(url, shown):
    assert address(url) == shown


def test_there_are_25_shapes_and_each_can_be_told_apart():
    assert len(SHAPES) == 25
    assert all(len(needle(key)) >= 8 for key in SHAPES.values())


def test_a_server_that_was_asked_without_a_key_is_no_wrong_key(model_server, ring, monkeypatch):
    model_server.turns = [Refusal(401, "Missing API key")]
    with pytest.raises(ModelError) as error:
        asked_without_script(model_server)
    assert "wants an API key, and none was given" in str(error.value)
    assert "LMC_API_KEY" in str(error.value)
    assert "%lmc key LMC_API_KEY" in str(error.value)
    monkeypatch.setenv("LMC_API_BASE", "http://127.0.0.1:1/other")
    with pytest.raises(ModelError, match="set LMC_API_BASE to this address"):
        asked_without_script(model_server)
    monkeypatch.delenv("LMC_API_BASE")
    monkeypatch.setenv("LMC_API_KEY", "sk-of-somebody-else")
    with pytest.raises(ModelError, match="was refused"):
        asked_without_script(model_server)


def asked_without_script(server: ModelServer) -> None:
    for _ in Session("openai/m", keep=False, api_base=server.base).ask("Go."):
        pass


def test_a_key_that_a_cell_sets_counts_for_the_next_question(model_server, ring, monkeypatch):
    model_server.turns = [Turn(text("Hi."))]
    session = Session("openai/m", keep=False, api_base=model_server.base)
    for key in ("first-of-a-cell", "second-of-a-cell"):
        monkeypatch.setenv("LMC_API_KEY", key)
        for _ in session.ask("Go."):
            pass
        assert model_server.requests[-1].headers["authorization"] == f"Bearer {key}"


def test_beside_a_variable_it_is_said_which_key_counts(cell, ring, monkeypatch):
    monkeypatch.setenv("LMC_API_KEY", "of-the-environment")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    said = cell("%lmc key OPENAI_API_KEY")
    assert "LMC_API_KEY is in the environment, and takes precedence" in said
    assert 'del os.environ["LMC_API_KEY"]' in said
    assert "%lmc key OPENAI_API_KEY" in said
