"""Keys are taken out of what code puts out, however it is cut into pieces."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import line, picture, printed

from lmc_jupyter.conversation.scrub import Scrub
from lmc_jupyter.keys import Redactor, Secret, known_secrets
from lmc_jupyter.keys.redactor import _SHAPES, redact_output
from lmc_jupyter.lmc import Chunk

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
    found = text(redact_output(pieces(printed(part) for part in parts)))
    assert KEY not in found
    assert found.replace("[redacted: MY_KEY]", held.reveal()) == whole


@given(st.from_regex(_SHAPES.pattern.replace("(?<=Bearer )", "Bearer ")).filter(_SHAPES.search))
def test_every_shape_of_a_key_is_taken_out(text):
    """The quick look that comes before the search for shapes leaves out none of them."""
    assert "[redacted]" in Redactor().text(text)


def test_what_is_no_beginning_of_a_key_is_shown_at_once():
    shown = redact_output(pieces([printed("Working"), printed("... done\n")]))
    assert next(shown).content == "Working"
    shown.close()


def test_lines_and_pictures_pass_and_pages_are_cleaned():
    page = Chunk("computer", "code", "html", f"<p>{KEY}</p>", end=True)
    found = list(redact_output(pieces([printed("abc"), line(3), picture(), page])))
    assert [c.type for c in found] == ["console", "console", "image", "code"]
    assert found[0].format == "active_line"
    assert found[1].content == "abc"
    assert found[3].content == "<p>[redacted: MY_KEY]</p>"


def test_an_error_keeps_what_had_come():
    shown = redact_output(pieces([printed("fine abca"), KeyboardInterrupt()]))
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

    shown = redact_output(endless())
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
            shown = text(redact_output(pieces(printed(each) for each in cut)))
            written = "".join(map(scrub.stream().feed, cut))
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


ORDINARY = [
    ("PRIMARY_KEY", "user_id"),
    ("SORT_KEY", "created_at2"),
    ("APP_PUBLIC_KEY", "abc123def"),
    ("TOKENIZER", "gpt-4o"),
    ("TOKEN", "python3.11"),
    ("KEY_FORMAT", "%Y-%m-%d"),
    ("DATE_KEY", "%Y-%m-%d"),
    ("TOX_TESTENV_PASSENV", "OPENBLAS_*"),
    ("SECRET_NAME", "OPENAI_API_KEY"),
    ("KEY_ID", "20241101"),
    ("APP_KEY", "created_at"),
    ("APP_KEY", "/srv/a/b"),
    ("KUBE_SECRET", "apiVersion: v1\nkind: Secret\nmetadata:\n"),
    ("GCP_KEY", '{\n  "type": "service_account",\n  "uri": "https://a.example/token"\n}'),
    ("BASH_FUNC_getkey%%", "() {  local x=1;\n    return 0;\n    echo done;\n}"),
]


@pytest.mark.parametrize(("name", "value"), ORDINARY)
def test_what_other_text_has_as_well_is_no_secret(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    for each in [value] if "\n" not in value else value.split("\n"):
        said = f"It is {each} and\n{each}\n"
        assert Scrub(()).text(said) == said


@pytest.mark.parametrize(
    "name", ["KEY", "PGPASSWORD", "DB_PASS", "apiKey", "APP_TOKEN_2", "SECRETS"]
)
@pytest.mark.parametrize(
    "secret", ["hunter2x", "s3cr3t!", "abc123def", "p@ssword", "only_lower_words"]
)
def test_a_secret_whose_name_says_so_is_taken_out(monkeypatch, name, secret):
    monkeypatch.setenv(name, secret)
    assert Scrub(()).text(f"It is {secret}.") == f"It is [redacted: {name}]."


def test_the_value_in_a_line_of_a_secret_is_taken_out(monkeypatch):
    monkeypatch.setenv("KUBE_SECRET", "kind: Secret\npassword: hunter2x\n")
    assert Scrub(()).text("kind: Secret or hunter2x") == "kind: Secret or [redacted: KUBE_SECRET]"


LAPPING = {"CLIENT_KEY": "abc123def", "AUTH_TOKEN": "abc123def:supersecret9", "MY_PASS": "3def:su!"}


PARTS = [*LAPPING.values(), "abc123", "def", ":supersecret", "3", "9", " "]


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=6), st.data())
def test_secrets_that_begin_or_end_one_another_are_taken_out_however_they_are_cut(words, data):
    whole = "".join(words)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    parts = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True) if a < b]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LAPPING.items():
            patch.setenv(name, value)
        scrub = Scrub(())
        clean = Redactor(shapes=False).text(whole)
        assert text(redact_output(pieces(map(printed, parts)))) == clean
        to_file = scrub.stream()
        written = "".join(map(to_file.feed, [*parts, "\n\n"]))
        for each in (*LAPPING.values(), "def:supersecret9", "supersecret9", "def:su!"):
            assert each not in written or each in clean


def test_a_key_that_looks_like_an_id_is_taken_out_where_it_is_the_whole_text(monkeypatch):
    monkeypatch.setenv("APP_KEY", "0123456789abcdef" * 2)
    assert Scrub(()).text("0123456789abcdef" * 2) == "[redacted: APP_KEY]"
    assert Scrub(()).text("0123456789abcdee" * 2) == "0123456789abcdee" * 2


def test_of_a_very_long_value_few_lines_are_looked_for(monkeypatch):
    monkeypatch.setenv("BIG_KEY", "\n".join(f"v{number * 7919}x" for number in range(9000)))
    assert len(known_secrets()) < 1000
