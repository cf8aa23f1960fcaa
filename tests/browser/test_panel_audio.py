"""The microphone of the panel: a real recording of Chromium's own fake microphone, which beeps."""

from __future__ import annotations

import array
import base64
import io
import wave

import pytest
from conftest import launch
from model_server import Turn, text
from panel_page import SparePages
from playwright.sync_api import expect
from test_accessible import themes
from test_bad_input import drop

pytestmark = pytest.mark.browser

PLAYED = """audio => new Promise((done, fail) => {
  if (audio.readyState > 0) return done(audio.duration);
  audio.addEventListener('loadedmetadata', () => done(audio.duration));
  audio.addEventListener('error', () => fail(new Error('it cannot be played')));
})"""


@pytest.fixture(scope="module")
def spare(playwright, request):
    """Pages of a browser that has a microphone."""
    browser = launch(
        playwright, "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"
    )
    yield SparePages(browser, lambda: request.session.testsfailed)
    browser.close()


def choose(chat, server, **abilities: bool) -> None:
    chat.do(
        f"current_session().choose_model('openai/some', api_base={server.base!r}, "
        f"api_key='none', **{abilities!r})"
    )


def record(chat, seconds: float = 1.0) -> None:
    """Record for this long by the panel's own clock, and attach it."""
    chat.button("Record your voice").click()
    row = chat.panel.get_by_role("group", name="Recording")
    expect(row).to_be_visible()
    chat.page.wait_for_function(
        "s => parseFloat(document.querySelector('.lmc-recording .lmc-bar-time').textContent) >= s",
        arg=seconds,
    )
    row.get_by_role("button", name="Stop and attach").click()
    expect(row).to_have_count(0)


def wav(seconds: float) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(bytes(2 * int(16_000 * seconds)))
    return out.getvalue()


def test_what_is_recorded_reaches_a_model_that_hears_as_a_wav_of_16_khz(chat, model_server):
    model_server.turns = [Turn(text("You beeped."))]
    choose(chat, model_server, hears=True)
    record(chat, 3.0)  # on a busy machine the first sound comes late, and some is lost
    chip = chat.panel.locator(".lmc-chip audio")
    expect(chip).to_have_count(1)
    assert chip.evaluate(PLAYED) >= 0.9
    expect(chat.composer).to_be_focused()
    chat.ask("What do you hear?")
    chat.state("done")
    expect(chip).to_have_count(0)

    (content,) = (
        message["content"]
        for message in model_server.requests[-1].body["messages"]
        if message["role"] == "user"
    )
    (sent,) = (part["input_audio"] for part in content if part["type"] == "input_audio")
    assert sent["format"] == "wav"
    with wave.open(io.BytesIO(base64.b64decode(sent["data"]))) as heard:
        assert (heard.getnchannels(), heard.getsampwidth(), heard.getframerate()) == (1, 2, 16_000)
        assert heard.getnframes() >= 0.9 * 16_000
        samples = array.array("h", heard.readframes(heard.getnframes()))
    assert max(samples) > 1_000  # it beeps
    assert min(samples) < -1_000

    first, *_ = chat.messages()
    assert (first["role"], first["type"], first["format"]) == ("user", "audio", "wav")
    player = chat.record("audio", "user").locator("audio")
    assert player.evaluate(PLAYED) >= 0.9
    assert player.evaluate("audio => audio.paused && !audio.autoplay")
    assert player.bounding_box()["width"] > 150  # its controls have room


def test_a_recording_alone_is_a_question_too(chat, model_server):
    model_server.turns = [Turn(text("Yes."))]
    choose(chat, model_server, hears=True)
    record(chat)
    chat.button("Send").click()
    chat.state("done")
    assert [message["type"] for message in chat.messages()] == ["audio", "message"]


def test_a_discarded_one_is_gone_and_the_microphone_is_let_go(chat):
    chat.page.evaluate(
        """() => {
          const media = navigator.mediaDevices;
          const usual = media.getUserMedia.bind(media);
          window.heard = [];
          media.getUserMedia = async wanted => {
            const stream = await usual(wanted);
            window.heard.push(...stream.getTracks());
            return stream;
          };
        }"""
    )
    chat.button("Record your voice").click()
    row = chat.panel.get_by_role("group", name="Recording")
    expect(row.get_by_role("button", name="Stop and attach")).to_be_focused()
    assert chat.page.evaluate("() => window.heard.map(track => track.readyState)") == ["live"]
    row.get_by_role("button", name="Discard").click()
    expect(row).to_have_count(0)
    expect(chat.panel.locator(".lmc-chip")).to_have_count(0)
    assert chat.page.evaluate("() => window.heard.map(track => track.readyState)") == ["ended"]


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [
        ("NotAllowedError", "The browser did not allow the microphone"),
        ("NotFoundError", "No microphone was found"),
    ],
)
def test_what_is_in_the_way_is_said(chat, trouble, sentence):
    chat.page.evaluate(
        """name => {
          const usual = navigator.mediaDevices.getUserMedia;
          navigator.mediaDevices.getUserMedia = () => {
            navigator.mediaDevices.getUserMedia = usual;
            return Promise.reject(new DOMException('no', name));
          };
        }""",
        trouble,
    )
    chat.button("Record your voice").click()
    expect(chat.notice).to_contain_text(sentence)
    expect(chat.button("Record your voice")).to_be_enabled()


def test_a_wav_that_is_dropped_is_heard_and_another_sound_is_a_file(chat, model_server):
    model_server.turns = [Turn(text("Silence."))]
    choose(chat, model_server, hears=True)
    drop(chat, "silence.wav", "audio/wav", wav(0.5))
    expect(chat.panel.locator(".lmc-chip audio")).to_have_count(1)
    drop(chat, "song.mp3", "audio/mpeg", b"ID3\x04" + bytes(100))
    expect(chat.panel.locator(".lmc-chip")).to_have_count(2)
    chat.ask("And these?")
    chat.state("done")
    assert [message["type"] for message in chat.messages()][:3] == ["audio", "file", "message"]
    assert "input_audio" in str(model_server.requests[-1].body)


def test_axe_finds_nothing_while_it_records_and_where_a_sound_is_attached(chat):
    drop(chat, "silence.wav", "audio/wav", wav(0.5))
    expect(chat.panel.locator(".lmc-chip audio")).to_have_count(1)
    chat.button("Record your voice").click()
    expect(chat.panel.get_by_role("group", name="Recording")).to_be_visible()
    themes(chat, "#lmc-sidebar")
    chat.button("Discard").click()
    chat.button("Remove silence.wav").click()
