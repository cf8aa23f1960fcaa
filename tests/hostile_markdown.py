"""Texts that load something from `{at}` where a reader of Markdown lets them.

One rule: each asks for an address of its own number, so that a test can name what got through.
"""

from __future__ import annotations

_HTML = [
    "<img src={at}>",
    '<IMG\nSRC="{at}">',
    "<img src={at} ",
    "a<img src={at}>b",
    "\\\\<img src={at}>",
    "\\\\\\\\<img src={at}>",
    "<svg><image href='{at}'/></svg>",
    "<style>@import '{at}';</style>",
    "<link rel=stylesheet href={at}>",
    "<video poster={at} src={at}></video>",
    "<audio src={at} autoplay></audio>",
    "<picture><source srcset={at}><img></picture>",
    "<object data={at}></object><embed src={at}>",
    "<iframe src={at}></iframe>",
    "<input type=image src={at}>",
    "<table background={at}><tr><td>x</table>",
    "<body background={at}>",
    "<details open><summary>x</summary><img src={at}></details>",
    'A <span style="background:url({at})">word</span>',
    "A <b style=\"background-image: url('{at}')\">word</b>",
    "<p style='background:url({at})'>x</p>",
    "- <i style='list-style-image:url({at})'>x</i>",
    "| a |\n|---|\n| <u style='background:url({at})'>x</u> |",
    "<div>\n```\n\n<img src={at}>\n\n```\n</div>",
    "<pre>\n```\n</pre>\n<img src={at}>\n```",
    "<!--\n```\n-->\n<img src={at}>\n```",
    "<?x\n```\n?>\n<img src={at}>\n```",
    "<!X\n```\n>\n<img src={at}>\n```",
    "<![CDATA[\n```\n]]>\n<img src={at}>\n```",
    "<a href='x' title='<img src={at}>'>x</a>",
]
_IMAGES = [
    "![x]({at})",
    "![x](<{at}>)",
    '![x]({at} "title")',
    "![x][a]\n\n[a]: {at}",
    "![a][]\n\n[a]: {at}",
    "![a]\n\n[a]: {at}",
    "\\\\![x]({at})",
    "[![x]({at})](y)",
    "# ![x]({at})",
    "![x\n]({at})",
    "![`](`)![x]({at})",
    "[image1]: {at}\n[image-1]: {at}\n[image--1]: {at}",
    "[\u0131mage1]: {at}\n\n![\u0131mage1]",
]
_FENCES = [
    "```\n   ```\n![x]({at})\n```",
    "   ```\n    ```\n![x]({at})\n   ```",
    "~~~\r~~~\r![x]({at})\n~~~",
    "``` a`b\n![x]({at})\n```",
    "```\n![x]({at})",
    "````\n```\n````\n![x]({at})\n```",
    "- ```\n![x]({at})\n  ```",
    "1. ```\n   a\n\n![x]({at})\n   ```",
    "> ```\n![x]({at})\n> ```",
    "> ```\n> a\n\n```\n\n![x]({at})\n\n```",
    "- a\n\n      ```\n  ![x]({at})\n      ```",
    "    ```\n![x]({at})\n    ```",
    "\t```\n![x]({at})\n\t```",
    " \u00a0```\n![x]({at})\n```",
    "a\n\x0c```\n![x]({at})\n```",
    "```\u2028```\n![x]({at})\n```",
    "```\x0b\n```\x0b\n![x]({at})\n```",
    "```\x85```\n<img src={at}>\n```",
    "[a]:\n```\n![x]({at})\n```",
    "| a |\n|---|\n```\n![x]({at})\n```",
    "`a\n```\nb`\n![x]({at})\n```",
    "   ```\n   a\n   ```\n\n```html\n<img src={at}>\n```",
    "``\n<img src={at}>",
    "`a\n\n`<img src={at}>`",
    "```\n```html\n<img src={at}>\n```\n![x]({at})",
]
_MATHEMATICS = [
    "a $\n```\n$ x\n<img src={at}>\n```",
    "a $\n   ```\n   $ x\n   ```\n\n````html\n```\n<img src={at}>\n```\n````",
    "$$\n\n```\n$$\n<img src={at}>\n```",
    "\\begin{x}\n```\n\\end{x}\n<img src={at}>\n```",
    "\\\\(\n```\n\\\\)\n<img src={at}>\n```",
    '[x](y "$" style="background:url({at})" x="$")',
    '[x](y$"style="background:url({at})"$)',
    'http://127.0.0.1/$"style="background:url({at})"$',
    "[x](y '$\" style=background:url({at}) $')",
    '![x](y "$" onerror="fetch(`{at}`)" x="$")',
    "$<img src={at}>$",
    "$`$<img src={at}>`",
    "$\\style{background:url({at})}{x}$",
    "$\\require{{at}}$ $\\href{{at}}{x}$ $\\class{x}{\\includegraphics{{at}}}$",
    "@@0@@ $<img src={at}>$ @@1@@",
]
_DIAGRAMS = [
    '```mermaid\nflowchart TD\n A@{ img: "{at}", label: "x", w: 60, h: 60 }\n```',
    "~~~ mermaid \nflowchart TD\n A[\"<img src='{at}'>\"]\n~~~",
    '- ```mermaid\n  flowchart TD\n   A@{ img: "{at}", label: "x" }\n  ```',
    '> ```mermaid\n> flowchart TD\n>  A@{ img: "{at}", label: "x" }\n> ```',
    '   ```mer\\maid\n   flowchart TD\n   A@{ img: "{at}", label: "x" }\n   ```',
    '> - ```mermaid\n>   flowchart TD\n>    A@{ img: "{at}", label: "x" }',
    '```&#109;ermaid\nflowchart TD\n A@{ img: "{at}", label: "x" }\n```',
]
_AFTER_AN_ADDRESS = [  # which many readers find in bare text, and which may take a backslash
    "see http://a.example/<img src={at}>",
    "see https://a.example/x<b style='background:url({at})'>x</b>",
    "http://a.example/\\<img src={at}>",
    "www.a.example/<img src={at}>",
    "www.a.example<svg><image href='{at}'/></svg>",
    "me@a.example<img src={at}>",
    "mailto:me@a.example\\<img src={at}>",
    "http://a.example/![x]({at})",
    "http://a.example/\\![x]({at})",
    "www.a.example/![x]({at})",
    "me@a.example![x][a]\n\n[a]: {at}",
    "$http://a.example/<img src={at}>$",
    'http://a.example/$ "t" style=background:url({at}) $',
    "| a |\n|---|\n| http://a.example/<img src={at}> |",
]
SHAPES = [*_HTML, *_IMAGES, *_FENCES, *_MATHEMATICS, *_DIAGRAMS, *_AFTER_AN_ADDRESS]


def shapes(at: str) -> list[str]:
    """Each shape with its own address below `at`."""
    return [shape.replace("{at}", f"{at}/{number}") for number, shape in enumerate(SHAPES)]


def names(at: str) -> list[str]:
    """Titles, names of models and files, and dates that are one of them."""
    found = ("![x]({at}/t0)", "<img src={at}/t1>", "a <b style='background:url({at}/t2)'>x</b>",
             "*![x]({at}/t3)*", "\\![x]({at}/t4)", "![x](/t5)", "`<img src={at}/t6>",
             "http://a.example/<img src={at}/t8>", "www.a.example/![x]({at}/t9)",
             '$x$ [x](y "$" style="background:url({at}/t7)" x="$")')  # fmt: skip
    return [each.replace("{at}", at) for each in found]
