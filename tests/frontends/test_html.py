import re
from html import unescape as text_of
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_all_lexers

from lmc_jupyter.content.html import MOST_TABLE
from lmc_jupyter.frontends.cell import html

ALLOWED = {
    *("p", "br", "em", "strong", "s", "del", "code", "pre", "ul", "ol", "li", "blockquote", "hr"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "a", "table", "thead", "tbody", "tr", "th", "td"),
}

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](data:text/html,<script>alert(1)</script>)",
    "[click](vbscript:x)",
    "[click](/lab?reset)",
    "[click](//evil.example)",
    '[click](http://a.example "onmouseover=alert(1)")',
    "![picture](http://evil.example/p.png?secret)",
    "![picture](data:image/svg+xml;base64,PHN2Zz4=)",
    "<a href='javascript:alert(1)'>x</a>",
    "<button data-commandlinker-command='x'>y</button>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<style>*{display:none}</style>",
    "<form action=http://evil.example><input></form>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "`<script>alert(1)</script>`",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "| <img src=x onerror=alert(1)> |\n|---|\n| <script>alert(1)</script> |",
    "# <img src=x onerror=alert(1)>",
    "<http://a.example/'onmouseover=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "[a][1]\n\n[1]: javascript:alert(1)",
]


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def tags_of(text: str) -> list[tuple[str, dict[str, str | None]]]:
    seen = _Seen()
    seen.feed(text)
    return seen.tags


def assert_harmless(rendered: str) -> None:
    for tag, attributes in tags_of(rendered):
        assert tag in ALLOWED
        assert set(attributes) <= {"href", "title", "rel", "target", "start", "align"}
        if href := attributes.get("href"):
            assert href.lower().startswith(("http://", "https://", "mailto:"))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_becomes_harmless_html(text):
    assert_harmless(html.markdown(text))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_is_harmless_at_every_moment_of_its_stream(text):
    stream = html.MarkdownStream()
    for end in range(1, len(text) + 1):
        assert_harmless(stream.html(text[:end]))


def test_the_harmless_check_sees_a_naive_renderer_fail():
    naive = "".join(HOSTILE)
    with pytest.raises(AssertionError):
        assert_harmless(naive)


def test_a_remote_image_becomes_a_link_and_is_never_fetched():
    rendered = html.markdown("![a plot](https://host.example/p.png)")
    assert "<img" not in rendered
    assert 'href="https://host.example/p.png"' in rendered
    assert "image: a plot" in rendered


def test_prose_tables_and_lists_keep_their_shape():
    rendered = html.markdown("**a** `b`\n\n| x | y |\n|---|--:|\n| 1 | 2 |\n\n1. one\n2. two\n")
    for tag in ("<strong>a</strong>", "<code>b</code>", "<table>", "<td>1</td>", "<ol>"):
        assert tag in rendered


DOCUMENT = """# Title

A paragraph with *emphasis* and [a link](https://x.example).

```python
def f():

    return 1
```

- one

  still one
- two

| a | b |
|---|---|
| 1 | 2 |

~~~
``` not the end

~~~

> quote

The end.
"""


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1000])
def test_a_markdown_stream_gives_what_one_full_rendering_gives(size):
    stream = html.MarkdownStream()
    for end in range(0, len(DOCUMENT), size):
        stream.html(DOCUMENT[:end])
    assert stream.html(DOCUMENT).split() == html.markdown(DOCUMENT).split()


FORMULA = re.compile(r'<span class="mathjax_process tex2jax_process">(.*?)</span>', re.S)


@pytest.mark.parametrize(
    "formula",
    [
        *(
            r"$\{1, 2\}$",
            "$a*b*c$",
            "$x_1 + y_1$",
            "$a<b$",
            r"$\$5$",
            r"\(x^2\)",
            r"\[ \frac{1}{2} \]",
        ),
        r"$$\begin{pmatrix}1 & 2\\ 3 & 4\end{pmatrix}$$",
        "$$\n\\begin{aligned}\na &= b \\\\\n= c\n\\end{aligned}\n$$",
    ],
)
@pytest.mark.parametrize(
    "around", ["{}", "So {} it *is*.", "text\n{}\ntext", "- {}", "> {}", "**so {}**"]
)
def test_a_formula_stays_as_it_was_written(formula, around):
    shown = html.markdown(around.format(formula))
    assert [text_of(found) for found in FORMULA.findall(shown)] == [formula]


def test_a_formula_on_lines_of_its_own_holds_no_list():
    formula = "$$\nx\n- y\n+ z\n$$"
    shown = html.markdown(f"text\n{formula}\ntext")
    assert FORMULA.findall(shown) == [formula]
    assert "<li>" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 or $6.",
        "from $5 to $ 6",
        r"\$x\$",
        "`$x$`",
        "```\n$$x$$\n```",
        r"\\(x\\)",
        "$$ x",
    ],
)
def test_money_and_code_are_no_formula(text):
    assert not FORMULA.search(html.markdown(text))


def test_jupyter_is_told_to_typeset_formulas_only():
    assert '<div class="lmc-output mathjax_ignore tex2jax_ignore">' in html.page("")
    only_ours = html.markdown('<span class="mathjax_process tex2jax_process">$5 or $6</span>')
    assert "<span" not in only_ours


def test_settled_blocks_are_not_rendered_again(monkeypatch):
    sizes = []
    plain = html.markdown
    monkeypatch.setattr(html, "markdown", lambda text: sizes.append(len(text)) or plain(text))
    stream = html.MarkdownStream()
    for paragraphs in range(200):
        stream.html("A paragraph of some words.\n\n" * paragraphs)
    assert max(sizes) < 200


@given(st.text())
def test_code_is_shown_character_for_character(code):
    shown = "\n".join("".join(text for _, text in line) for line in html.highlight(code, "python"))
    for char in shown:
        assert char == "\n" or char == "\t" or ord(char) >= 32
    if all("\x20" <= char < "\x7f" or char in "\n\t" for char in code):
        assert shown == code


def test_hidden_characters_of_code_are_marked():
    rendered = html.code_html("x = 1 # \u202e ko\rimport os", "python")
    assert rendered.count('class="h"') == 2
    assert "U+202E" in rendered
    assert "U+000D" in rendered


def test_code_is_escaped_and_the_active_line_is_marked():
    rendered = html.code_html("a\n'<b>'\nc", "python", 2)
    assert "&lt;b&gt;" in rendered
    assert '<span class="lmc-now"><span class="s">' in rendered


SESSIONS = [
    "import os\nos.remove('x')\n",
    ">>> f()\nhidden()\n>>> g()\n... h()",
    "$ ls\nrm -rf ~\n$ pwd\n# id",
    "In [1]: f()\nOut[1]: 2\nsecret()\n   ...: x",
    "PS C:\\> dir\nC:\\>del x\n>> x\n",
    "> 1\n+ 2\n[1] 3\n sqlite> x;\nirb(main):001:0> x\n=> nil",
    "--\nx\n\n\nHTTP/1.1 200 OK\nA: b\n\n<p>\n",
]


@pytest.mark.long
@pytest.mark.parametrize("code", SESSIONS)
def test_every_lexer_shows_the_whole_code(code):
    for name, aliases, *_ in get_all_lexers(plugins=False):
        language = aliases[0] if aliases else name
        lines = html.highlight(code, language)
        shown = "\n".join("".join(text for _, text in line) for line in lines)
        assert shown == code, language


def test_an_unknown_language_is_shown_without_colours():
    assert html.code_html("a < b", "cobolette") == "<pre><code>a &lt; b</code></pre>"


def test_a_console_is_shown_without_escapes():
    assert html.console_html("\x1b[31m<b>\x1b[0m\x1b]0;title\x07") == "<pre>&lt;b&gt;</pre>"


def test_a_long_console_keeps_head_and_tail_and_counts_the_middle():
    text = html.console_html("\n".join(str(n) for n in range(1000)))
    assert text.startswith("<pre>0\n")
    assert text.endswith("\n999</pre>")
    assert "\n199\n… 600 lines left out …\n800\n" in text


def test_an_image_that_is_not_base64_is_said_and_not_drawn():
    assert "<img" not in html.image_html('x" onerror="alert(1)', "base64.png")
    assert html.image_html("aGk=", "base64.jpeg").startswith(
        '<img alt="image" src="data:image/jpeg'
    )


@given(st.text())
def test_console_text_is_always_escaped(text):
    assert [tag for tag, _ in tags_of(html.console_html(text))] == ["pre"]


def test_long_code_has_no_colours_and_every_character():
    assert any(css for css, _ in html.highlight("x = 1", "python")[0])
    assert any(css for css, _ in html.highlight("x <- 'a'", "r")[0])
    for code, language in (
        ("x = 1\n" * 10_000, "python"),
        ('x = "' + "\\" * 100_000, "r"),  # with colours, minutes
    ):
        lines = html.highlight(code, language)
        assert {css for line in lines for css, _ in line} == {""}
        assert "\n".join("".join(text for _, text in line) for line in lines) == code
    marked = html.highlight("x\u202e" * 20_000, "python")
    assert {css for css, _ in marked[0]} == {"", "h"}


TABLE = """<table border="0" class="dataframe">
  <thead><tr style="text-align: right;"><th>city</th><th>n</th></tr></thead>
  <tbody><tr><td>Graz &lt;AT&gt;</td><td colspan="2">5</td></tr></tbody>
</table>"""


def test_a_plain_table_needs_no_frame():
    drawn = html.table_html(TABLE)
    assert "<td>Graz &lt;AT&gt;</td>" in drawn
    assert '<td colspan="2">5</td>' in drawn
    assert "style" not in drawn.replace("lmc-table", "")


@pytest.mark.parametrize(
    "more",
    [
        "<script>1</script>",
        "<style>td { color: red }</style>",
        '<td style="color: red">1</td>',
        "<td style=background:red>1</td>",
        "<img src=x>",
        "<button>1</button>",
        "<!-- [if IE] -->",
        "<p>" + "x" * MOST_TABLE,
    ],
)
def test_what_is_more_than_a_table_needs_a_frame(more):
    assert html.table_html(TABLE.replace("<tbody>", f"<tbody>{more}")) is None
    assert html.table_html(more) is None


def test_what_is_left_of_a_hostile_table_does_nothing():
    drawn = html.table_html(
        '<table><tr><td onclick="alert(1)" class="jp-Dialog">x</td></tr></table>'
    )
    assert "<td>x</td>" in drawn
    assert html.table_html("<p>no table</p>") is None


def test_the_record_has_no_style_for_anything_but_itself():
    for selectors in re.findall(r"^([^@{}][^{}]*)\{", html.style(), re.MULTILINE):
        for selector in selectors.split(","):
            assert re.search(r"(?:^|[ +>])\.lmc-output\b", selector.strip())


def test_html_and_css_have_colours():
    ((tag, attribute),) = [
        [css for css, text in line if text in ("p", "class")]
        for line in html.highlight('<p class="x">', "html")
    ]
    assert (tag, attribute) == ("k", "f")
