"""Keys are taken out of what code puts out, however it is cut into pieces."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import line, picture, printed

from lmc_jupyter.history.scrub import Pieces, Scrub
from lmc_jupyter.lmc import Chunk
from lmc_jupyter.models.keys import Secret
from lmc_jupyter.redaction import without_keys

KEY = "abcabcabd-0123456789"


@pytest.fixture(autouse=True)
def key():
    held = Secret(KEY, "MY_KEY")
    yield
    assert held.reveal() == KEY, "it is known while somebody holds it"


def pieces(chunks: Iterable[Chunk | BaseException]) -> Generator[Chunk, None, None]:
    for chunk in chunks:
        if isinstance(chunk, BaseException):
            raise chunk
        yield chunk


def text(chunks: Iterable[Chunk]) -> str:
    return "".join(c.content for c in chunks if c.format == "output")


@given(st.lists(st.sampled_from([KEY, "abc", "ab", "x", "\n", KEY[:5], KEY[1:]]), max_size=8),
       st.data())  # fmt: skip
def test_however_it_is_cut(words, data):
    whole = "".join(words)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    parts = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True) if a < b]
    held = Secret(KEY, "MY_KEY")
    found = text(without_keys(pieces(printed(part) for part in parts)))
    assert KEY not in found
    assert found.replace("[redacted: MY_KEY]", held.reveal()) == whole


def test_what_is_no_beginning_of_a_key_is_shown_at_once():
    shown = without_keys(pieces([printed("Working"), printed("... done\n")]))
    assert next(shown).content == "Working"
    shown.close()


def test_lines_and_pictures_pass_and_pages_are_cleaned():
    page = Chunk("computer", "code", "html", f"<p>{KEY}</p>", end=True)
    found = list(without_keys(pieces([printed("abc"), line(3), picture(), page])))
    assert [c.type for c in found] == ["console", "console", "image", "code"]
    assert found[0].format == "active_line"
    assert found[1].content == "abc"
    assert found[3].content == "<p>[redacted: MY_KEY]</p>"


def test_an_error_keeps_what_had_come():
    shown = without_keys(pieces([printed("fine abca"), KeyboardInterrupt()]))
    found = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(iter(lambda: next(shown), None))
    assert [next_.content for next_ in found] == ["fine ", "abca"]


def test_closing_closes_the_code():
    closed = []

    def endless() -> Generator[Chunk, None, None]:
        try:
            while True:
                yield printed("la ")
        finally:
            closed.append(1)

    shown = without_keys(endless())
    next(shown)
    shown.close()
    assert closed == [1]


PEM = """\
-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkq/hkiG9w0BAQEF
AASCBKcwggSj+AgEAAoIBAQC7
Qx9=a1
-----END PRIVATE KEY-----"""


@pytest.mark.parametrize(
    "secret", ["hunter2!", "s3cr3t", "pAssWord", "12345678", "a-b_c1d2e3f", PEM]
)
@pytest.mark.parametrize("name", ["MY_KEY", "APP_TOKEN", "APP_SECRET", "DB_PASSWORD"])
def test_a_short_secret_and_each_line_of_a_long_one_are_taken_out(monkeypatch, name, secret):
    monkeypatch.setenv(name, secret)
    scrub = Scrub(())
    parts = [each for each in secret.split("\n") if not each.startswith("-----")]
    for whole in (secret, *parts):
        said = f"it is {whole}\n" * 2
        for size in (1, 3, 50):
            cut = [said[at : at + size] for at in range(0, len(said), size)]
            shown = text(without_keys(pieces(printed(each) for each in cut)))
            written = "".join(map(Pieces(scrub).feed, cut))
            assert "[redacted:" in shown
            assert not [each for each in parts if each in shown or each in written]
        assert not [each for each in parts if each in scrub.text(said)]


@pytest.mark.parametrize(
    "word", ["true", "None", "DEFAULT", "postgres", "x", "100000", "3.14159", "1,5", "", "a1"]
)
def test_words_and_numbers_are_no_secrets(monkeypatch, word):
    monkeypatch.setenv("APP_TOKEN", word)
    monkeypatch.setenv("KEY_LINES", f"-----BEGIN X-----\n{word}\n-----END X-----")
    assert (
        Scrub(()).text(f"-----BEGIN X-----\nIt is {word}, {word}.")
        == f"-----BEGIN X-----\nIt is {word}, {word}."
    )
