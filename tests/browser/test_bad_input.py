"""Attachments, and what cannot be taken or shown: a sentence, and the conversation goes on."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from model_server import Turn, text
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def png(width: int, height: int, color: int = 128) -> bytes:
    """A grey image."""

    def part(name: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + bytes([color]) * width for _ in range(min(height, 64))))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", rows) + part(b"IEND", b"")


def last(chat):
    """The answer's last words."""
    return chat.record("message", "assistant").last


def goes_on(chat) -> None:
    """The conversation goes on."""
    chat.do("script([said('All is well.')])")
    chat.ask("And now?")
    expect(last(chat)).to_have_text("All is well.")
    chat.state("done")


FILES = """([how, name, type, data]) => {
  const bytes = Uint8Array.from(atob(data), one => one.charCodeAt(0));
  window.attaching = new DataTransfer();
  window.attaching.items.add(new File([bytes], name, { type }));
}"""


def drop(chat, name: str, type_: str, data: bytes) -> None:
    """Drag a file of the person's onto the panel."""
    chat.page.evaluate(FILES, ["drop", name, type_, base64.b64encode(data).decode()])
    drop_what_is_held(chat)


def drop_what_is_held(chat) -> None:
    transfer = chat.page.evaluate_handle("() => window.attaching")
    for event in ("dragenter", "dragover", "drop"):
        chat.panel.dispatch_event(event, {"dataTransfer": transfer})


# Attachments --------------------------------------------------------------------------------------


@pytest.mark.day
def test_an_image_is_picked_pasted_or_dropped_and_the_model_gets_it(chat, tmp_path):
    images = [png(4, 3, color) for color in (10, 20, 30)]
    chat.do("model = script([said('I see.')])")
    picked = tmp_path / "picked.png"
    picked.write_bytes(images[0])
    with chat.page.expect_file_chooser() as chooser:
        chat.button("Attach images or files").click()
    chooser.value.set_files(picked)
    chips = chat.panel.get_by_role("list", name="Attached").get_by_role("listitem")
    expect(chips).to_have_count(1)

    chat.page.evaluate(
        """async data => {
          const bytes = Uint8Array.from(atob(data), one => one.charCodeAt(0));
          const blob = new Blob([bytes], { type: 'image/png' });
          await navigator.clipboard.write([new ClipboardItem({ 'image/png': blob })]);
        }""",
        base64.b64encode(images[1]).decode(),
    )
    chat.composer.press("Control+v")
    expect(chips).to_have_count(2)

    drop(chat, "dropped.png", "image/png", images[2])
    expect(chips).to_have_count(3)
    drop(chat, "notes.csv", "text/csv", b"x,y\n1,2\n")
    expect(chips).to_have_count(4)
    drop(chat, "again.png", "image/png", images[2])
    chat.button("Remove again.png").click()
    expect(chips).to_have_count(4)

    chat.ask("What are these?")
    chat.state("done")
    expect(chips).to_have_count(0)
    expect(chat.record("image", "user").locator("img")).to_have_count(3)
    expect(chat.record("file", "user")).to_contain_text("notes.csv")
    got = chat.value("[(m.type, m.format, m.content) for m in model.seen[0]]")
    assert [(type_, format_) for type_, format_, _ in got] == [
        *[("image", "base64.png")] * 3,
        ("file", "path"),
        ("message", None),
    ]
    assert base64.b64decode(got[0][2]) == images[0]
    assert base64.b64decode(got[2][2]) == images[2]
    # the browser writes what is pasted anew: the same picture, in other bytes
    assert base64.b64decode(got[1][2])[16:24] == images[1][16:24]
    assert chat.value(f"open({got[3][2]!r}).read()") == "x,y\n1,2\n"


def test_what_cannot_be_attached_is_said_and_the_rest_is_kept(chat, tmp_path):
    chips = chat.panel.get_by_role("list", name="Attached").get_by_role("listitem")
    chat.composer.fill("Look at this.")
    drop(chat, "good.png", "image/png", png(4, 3))
    expect(chips).to_have_count(1)
    drop(chat, "empty.csv", "text/csv", b"")
    expect(chat.notice).to_contain_text("“empty.csv” is empty")
    drop(chat, "large.png", "image/png", png(4, 3) + bytes(7_100_000))
    expect(chat.notice).to_contain_text("“large.png” is 7.1 MB")

    gone = tmp_path / "gone.csv"
    gone.write_bytes(b"x,y\n1,2\n")
    chat.page.evaluate(
        "() => document.body.append(Object.assign(document.createElement('input'), "
        "{ type: 'file', id: 'held', hidden: true }))"
    )
    chat.page.locator("#held").set_input_files(gone)
    chat.page.evaluate(
        """() => {
          const held = document.querySelector('#held');
          window.attaching = new DataTransfer();
          window.attaching.items.add(held.files[0]);
        }"""
    )
    gone.unlink()
    drop_what_is_held(chat)
    expect(chat.notice).to_contain_text("“gone.csv” could not be read")

    # what looks right here and is refused by the kernel stays here, with its question
    drop(chat, "fake.webp", "image/webp", b"no image at all")
    expect(chips).to_have_count(2)
    chat.do("model = script([said('I see.')])")
    chat.composer.press("Enter")
    expect(chat.notice).to_contain_text("'fake.webp'")
    expect(chips).to_have_count(2)
    expect(chat.composer).to_have_value("Look at this.")
    assert chat.messages() == []
    chat.button("Remove fake.webp").click()
    chat.composer.press("Enter")
    chat.state("done")
    assert [m["type"] for m in chat.messages()] == ["image", "message", "message"]
    goes_on(chat)


def test_an_attached_file_that_is_gone_later_is_said_to_the_model_or_the_person(chat, model_server):
    model_server.turns = [Turn(text("I see."))]
    chat.do(
        f"current_session().choose_model('openai/some', api_base={model_server.base!r}, "
        "api_key='none')"
    )
    drop(chat, "notes.txt", "text/plain", b"remember the milk")
    chat.ask("What does it say?")
    chat.state("done")
    assert "remember the milk" in str(model_server.requests[-1].body)
    chat.do("Path(current_session().messages[0].content).unlink()")
    model_server.asked.clear()
    model_server.turns = [Turn(text("I look again."))]
    chat.button("Ask again").click()
    assert model_server.asked.wait(60)
    expect(chat.record("message", "assistant").last).to_have_text("I look again.")
    chat.state("done")
    said = str(model_server.requests[-1].body)
    assert "notes.txt" in said
    assert "remember the milk" not in said
    goes_on(chat)


# What cannot be shown -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("this is no base64!", "its data are not base64"),
        (base64.b64encode(b"no image at all").decode(), "its data are no png"),
        (base64.b64encode(png(4, 3)[:20]).decode(), "broken or cut off"),
        (
            base64.b64encode(png(30_000, 20_000)).decode(),
            "30,000 \N{MULTIPLICATION SIGN} 20,000 pixels",
        ),
        ("", "The image is empty"),
    ],
    ids=["no base64", "no image", "cut off", "too large", "empty"],
)
def test_an_image_that_cannot_be_shown_is_a_sentence(chat, data, sentence):
    image = {"role": "computer", "type": "image", "format": "base64.png", "content": data}
    chat.do(f"current_session().messages = [{image!r}]")
    expect(chat.record("image")).to_contain_text(sentence)
    goes_on(chat)


def test_a_broken_image_that_code_shows_is_a_sentence(chat):
    chat.do(
        "source = 'from IPython.display import display\\n"
        'display({"image/png": "no base64!"}, raw=True)\''
    )
    chat.do("script([code(source, end=True)], [said('Was it shown?')])")
    chat.ask()
    chat.press("Run")
    chat.state("done")
    expect(last(chat)).to_have_text("Was it shown?")
    expect(chat.log).to_contain_text("image")
    goes_on(chat)


def test_a_line_of_5_mb_is_bounded_and_the_panel_stays_usable(chat):
    chat.do(
        "script([code('print(\"x\" * 5_000_000)', end=True)], [said('y' * 5_000_000)],"
        " [said('Still here.')])"
    )
    chat.ask()
    chat.press("Run")
    chat.state("done")
    expect(chat.record("console")).to_contain_text("characters left out")
    chat.ask("Are you there?")
    expect(last(chat)).to_have_text("Still here.")
    chat.state("done")
    goes_on(chat)


FUTURE = """
from lmc_jupyter.frontends.panel.panel import the_panel
from lmc_jupyter.frontends.panel.records import Record
def tell(*events):
    batch = the_panel()._batch
    with batch.lock:
        for event in events:
            batch.add(event)
def hologram():
    'A record of a type that this page does not know, as a newer kernel would have it.'
    message = {"role": "computer", "type": "hologram", "format": "beam"}
    message["content"] = "<img src=x onerror=alert(1)>"
    made = Record(note={"message": message})
    with the_panel()._batch.lock:
        the_panel()._mirror._records.add(made)
"""


def test_what_a_newer_kernel_tells_is_shown_as_such_and_hurts_nothing(chat):
    chat.do(FUTURE)
    chat.do("script([said('Hello.')])")
    chat.ask()
    chat.state("done")
    chat.do("hologram()")
    expect(chat.record("hologram")).to_contain_text("unknown type 'hologram'")
    expect(chat.record("hologram")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(chat.record("hologram").locator("img")).to_have_count(0)
    state = {"state": "dreaming", "note": "", "elapsed": 1, "where": "panel"}
    chat.do(f"tell({{'weather': 'sunny'}}, {{'state': {state}}})")
    chat.state("dreaming")
    chat.do(f"tell({{'state': {state | {'state': 'idle'}}}})")
    chat.do("the_panel()._send({'kind': 'weather', 'sunny': True})")
    expect(last(chat)).to_have_text("Hello.")
    goes_on(chat)


def test_an_event_that_fits_nothing_is_mended_from_the_kernels_own(chat):
    chat.do(FUTURE)
    chat.do("script([said('Hello.')])")
    chat.ask()
    chat.state("done")
    chat.do("tell({'became': {'at': 99, 'fate': 'ran'}})")
    goes_on(chat)
    expect(chat.notice).to_have_count(0)
    kinds = [(one["role"], one["type"]) for one in chat.shown()]
    assert kinds == [(m["role"], m["type"]) for m in chat.messages()]
