"""Builds the site in .cache/site/html: `make site`.

One rule: the pages are the repository's own Markdown and notebooks. They are copied beside each
other as they lie in the repository, so that a link leads to the same place here and there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILT = ROOT / ".cache" / "site"
SOURCE, RAN, HTML = BUILT / "source", BUILT / "notebooks", BUILT / "html"
PAGES = [
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "PRIVACY.md", "AGENTS.md",
    "CODE_OF_CONDUCT.md",
]  # fmt: skip
INDEX = "index.md"
"""The page of a folder."""
LINK = re.compile(r"(?<!!)\[([^][]*)\]\(([^()\s#]*)(#[^()\s]*)?\)")
OUTSIDE = re.compile(
    rb"""(?:<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc
         |<link\b[^>]*?\srel=["']?(?:stylesheet|preload|icon|preconnect|dns-prefetch)[^>]*?\shref
         |<link\b[^>]*?\shref)=["']?(?:https?:)?//
         |@import\s+["'](?:https?:)?//|url\(["']?(?:https?:)?//""",
    re.VERBOSE,
)
"""What a browser fetches as it draws a page. (A link that a person follows is none.)"""


def copy_sources() -> None:
    """Lay the pages out as they lie in the repository."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    (SOURCE / "docs" / "images").mkdir(parents=True)
    for name in PAGES:
        shutil.copy(ROOT / name, SOURCE)
    for path in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "images").glob("*.png")]:
        shutil.copy(path, SOURCE / path.parent.relative_to(ROOT))
    shutil.copytree(RAN, SOURCE / "notebooks")
    shutil.copytree(ROOT / "notebooks" / "pictures", SOURCE / "notebooks" / "pictures")
    shutil.copy(HERE / "notebooks.md", SOURCE / "notebooks" / INDEX)
    for path in HERE.glob("*.md"):
        if path.name != "notebooks.md":
            shutil.copy(path, SOURCE)
    for path in [*SOURCE.rglob("*.md"), *SOURCE.rglob("*.ipynb")]:
        path.write_text(LINK.sub(partial(_fit, path), path.read_text("utf-8")), "utf-8")


def _fit(path: Path, link: re.Match[str]) -> str:
    """The link as it is here: to a folder's page, and a file that is no page is its name alone."""
    text, target, part = link.groups(default="")
    here, there = path.parent / target, ROOT / path.parent.relative_to(SOURCE) / target
    if "://" in target or not target or here.is_file() or not there.exists():
        return link[0]  # what is nowhere is an error of the build
    if not (here / INDEX).is_file():
        return text
    return f"[{text}]({target.rstrip('/')}/{INDEX}{part})"


def build() -> None:
    """A link between pages that leads nowhere is an error."""
    shutil.rmtree(HTML, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "dirhtml"]
    subprocess.run([*command, "-c", str(HERE), str(SOURCE), str(HTML)], check=True)


def outside() -> list[str]:
    """What a page would fetch from another address."""
    found = []
    for path in sorted(HTML.rglob("*")):
        if path.suffix in (".html", ".css"):
            for match in OUTSIDE.finditer(path.read_bytes()):
                found.append(f"{path.relative_to(HTML)}: {match[0][-80:].decode(errors='replace')}")
    return found


def main() -> None:
    fresh = "--keep-notebooks" not in sys.argv
    if fresh:
        shutil.rmtree(RAN, ignore_errors=True)
    subprocess.run([sys.executable, HERE / "run_notebooks.py", RAN], check=True)
    copy_sources()
    build()
    if found := outside():
        sys.exit("These pages load something from another address:\n" + "\n".join(found))
    sys.stdout.write(f"{HTML.relative_to(ROOT)}/index.html\n")


if __name__ == "__main__":
    main()
