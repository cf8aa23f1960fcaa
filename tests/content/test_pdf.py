"""PDFs: a file for a model that reads such, their text for any other; hostile ones are bounded."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pypdf
import pytest
from model_server import ModelServer, Turn, text
from scripted import drive
from watcher import Watcher

from lmc_jupyter.content import pdf
from lmc_jupyter.lmc import Message
from lmc_jupyter.models.brief import Brief
from lmc_jupyter.models.openai import to_chat
from lmc_jupyter.session import Session


def made(*pages: str) -> bytes:
    """A PDF with these lines, one on each page."""
    writer = pypdf.PdfWriter()
    font = pypdf.generic.DictionaryObject(
        {
            pypdf.generic.NameObject("/Type"): pypdf.generic.NameObject("/Font"),
            pypdf.generic.NameObject("/Subtype"): pypdf.generic.NameObject("/Type1"),
            pypdf.generic.NameObject("/BaseFont"): pypdf.generic.NameObject("/Helvetica"),
        }
    )
    for line in pages:
        page = writer.add_blank_page(300, 300)
        stream = pypdf.generic.DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({line}) Tj ET".encode())
        page[pypdf.generic.NameObject("/Contents")] = writer._add_object(stream)
        fonts = pypdf.generic.DictionaryObject({pypdf.generic.NameObject("/F1"): font})
        page[pypdf.generic.NameObject("/Resources")] = pypdf.generic.DictionaryObject(
            {pypdf.generic.NameObject("/Font"): fonts}
        )
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(path: str) -> list[Message]:
    """The guide's line, with a question behind it."""
    file = {"role": "user", "type": "file", "content": path}
    question = {"role": "user", "type": "message", "content": "What does it say?"}
    return [Message.from_dict(each).stamped() for each in (file, question)]


def sent(path: str, **more: Any) -> str:
    return str(to_chat(asked(path), Brief(), tools=True, vision=False, **more))


def test_the_text_of_a_pdf_reaches_a_model_that_reads_none(folder: Path) -> None:
    (folder / "file.pdf").write_bytes(made("The mean is 42.", "The end."))
    chat = sent("file.pdf")
    assert "The file 'file.pdf', a PDF; its text (2 pages):" in chat
    assert "The mean is 42." in chat
    assert "The end." in chat


def test_a_pdf_is_a_file_for_a_model_that_reads_such(folder: Path) -> None:
    data = made("The mean is 42.")
    (folder / "file.pdf").write_bytes(data)
    chat = to_chat(asked("file.pdf"), Brief(), tools=True, vision=False, reads_pdf=True)
    part = chat[-1]["content"][0]
    assert part["type"] == "file"
    assert part["file"]["filename"] == "file.pdf"
    kind, _, said = part["file"]["file_data"].partition(",")
    assert (kind, base64.b64decode(said)) == ("data:application/pdf;base64", data)


class Notes(Watcher):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def noted(self, text: str) -> None:
        self.notes.append(text)


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "how"),
    [
        ("openai/gpt-4o", "'file.pdf' is sent as a PDF file."),
        (
            "openai/nobody-knows-it",
            "'file.pdf' is sent as its text (1 page), without its layout and figures.",
        ),
    ],
)
def test_which_it_is_is_said_to_the_person_and_in_the_record(
    model_server: ModelServer, folder: Path, model: str, how: str
) -> None:
    (folder / "file.pdf").write_bytes(made("The mean is 42."))
    model_server.turns = [Turn(text("42."))]
    here = Session(model, api_base=model_server.base, api_key="sk-test", keep=False)
    notes = Notes()
    here.history.subscribe(notes)
    drive(here.ask(asked("file.pdf")))
    assert how in notes.notes
    content = str(model_server.requests[0].body["messages"][-1]["content"])
    as_file = how.endswith("PDF file.")
    assert ("application/pdf;base64" in content) is as_file
    assert ("The mean is 42." in content) is not as_file
    [turn] = here.turns
    assert turn.left_out == ("" if as_file else how)
    record = turn.requests[0].body
    assert ('"filename": "file.pdf"' if as_file else "a PDF; its text (1 page)") in record
    here.close()


def test_a_scan_says_that_it_has_no_text(folder: Path) -> None:
    (folder / "scan.pdf").write_bytes(made(""))
    assert "a PDF document of 1 page without text, perhaps a scan" in sent("scan.pdf")


def test_a_locked_pdf_says_so() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(made("Secret.")))
    writer.encrypt("password", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    assert pdf.text_of(out.getvalue()) == "it is locked with a password"


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.4 data",
        b"%PDF-1.7\n\xff\x00",
        made("x")[:200],
        b"%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 1 0 R >> endobj\ntrailer << /Root 1 0 R >>",
        b"%PDF-1.4\n" + b"[" * 200_000,
    ],
)
def test_a_broken_pdf_is_a_sentence(data: bytes) -> None:
    found = pdf.text_of(data)
    assert not isinstance(found, pdf.Pdf) or found.text == ""


def test_a_broken_pdf_is_named_to_the_model_with_its_size_and_the_reason(folder: Path) -> None:
    (folder / "a.pdf").write_bytes(b"%PDF-1.7\n\xff\x00")
    assert "(The file 'a.pdf': a PDF document, 11 bytes, not read: it is broken" in sent("a.pdf")


def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = made("One.", "Two.", "Three.")
    monkeypatch.setattr(pdf, "MAX_PAGES", 2)
    found = pdf.text_of(data)
    assert isinstance(found, pdf.Pdf)
    assert (found.pages, found.read) == (3, 2)
    assert "Three." not in found.text
    monkeypatch.setattr(pdf, "MAX_CHARS", 3)
    assert pdf.text_of(data) == pdf.Pdf(3, 1, "One")
    monkeypatch.setattr(pdf, "MAX_SECONDS", 0.001)
    assert pdf.text_of(data) == "reading it takes more than 0.001 s"
    monkeypatch.setattr(pdf, "MAX_BYTES", 10)
    assert "more than the 10 that are read" in str(pdf.text_of(data))


def test_nothing_of_the_working_directory_is_imported(folder: Path) -> None:
    (folder / "pypdf.py").write_text("open('ran', 'w')")
    (folder / "json.py").write_text("open('ran', 'w')")
    assert isinstance(pdf.text_of(made("x")), pdf.Pdf)
    assert not (folder / "ran").exists()
