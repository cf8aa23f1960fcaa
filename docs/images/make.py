"""The pictures of the README, taken in a real JupyterLab; `make screenshots`.

    python docs/images/make.py [--only WORD] [--to FOLDER]

One rule: at most the model's words are prepared, and then its name says so. The code, the table,
the figure and the buttons are what a person gets: real kernel, real panel, real Chromium; in the
first notebook the embedded model, too.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

HERE = Path(__file__).parent
TESTS = HERE.parents[1] / "tests"
sys.path[:0] = [str(TESTS / "browser"), str(TESTS)]

from conftest import jupyter, launch, visit  # noqa: E402 - tests/browser
from panel_page import Panel, show  # noqa: E402

FIRST = HERE.parents[1] / "notebooks" / "01-first-conversation.ipynb"
SCALE = 2
WIDE, HIGH = 1120, 890
WIDTH = 420  # of the sidebar, in CSS pixels
MOST = 200_000  # bytes of a picture

SALES = """import pandas as pd

sales = pd.DataFrame({
    "month": ["Jan", "Feb", "Mar", "Apr", "May", "Jun",
              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    "orders": [212, 198, 240, 251, 263, 249,
               230, 221, 268, 274, 391, 352],
    "revenue": [8480, 7722, 9840, 10040, 10783, 9711,
                9200, 8619, 10988, 11508, 17595, 2816],
})
sales.tail(3)"""

MODEL = """
from scripted import ScriptedModel, code, said
from lmc_jupyter import current_session
%load_ext lmc_jupyter
class Prepared(ScriptedModel):
    label = "prepared answers"
current_session().choose_model(Prepared(*{replies}))
"""

PLOT = """import matplotlib.pyplot as plt

sales["per_order"] = sales.revenue / sales.orders
sales.plot.bar("month", "revenue", legend=False, figsize=(6, 2.05), color="#1976d2")
plt.xlabel("")
plt.ylabel("revenue")
print(sales.tail(3).round(2).to_string(index=False))"""

BEST = """**November** sold best, and December looks odd:

| month | orders | revenue | per order |
|:--|--:|--:|--:|
| Nov | 391 | 17,595 | 45.00 |
| Oct | 274 | 11,508 | 42.00 |
| Dec | 352 | 2,816 | 8.00 |"""

CHECK = """typical = sales.per_order.median()
odd = sales[sales.per_order < typical / 2]
print(odd.to_string(index=False))
print(f"a typical order: {typical:.2f}")"""

PANEL = f"""[
    [said("I add the value of an order, and plot the revenue of each month."),
     code({PLOT!r}, end=True)],
    [said({BEST!r})],
    [said("I compare each month with a typical one:"), code({CHECK!r}, end=True)],
]"""

CELL = """[
    [said("I look at the orders and at what each of them brought in."),
     code(\"\"\"per_order = (sales.revenue / sales.orders).round(2)
odd = sales[per_order < per_order.median() / 2]
odd.assign(per_order=per_order)\"\"\", end=True)],
]"""


class Pictures:
    """One JupyterLab and one Chromium for all of them."""

    def __init__(self, lab: Any, chromium: Browser, folder: Path) -> None:
        self._lab, self._chromium, self._folder = lab, chromium, folder

    @contextmanager
    def page(self, width: int, height: int, name: str, *cells: Any) -> Iterator[tuple[Page, Any]]:
        """A notebook, new with these cells or as it is, and little else of JupyterLab."""
        context = self._chromium.new_context(
            viewport={"width": width, "height": height}, device_scale_factor=SCALE
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        try:
            if cells:
                self._lab.write(name, *cells)
            notebook = visit(page, self._lab, name)
            notebook.command("application:toggle-left-area")
            expect(page.locator("#jp-left-stack")).to_be_hidden()
            yield page, notebook
        finally:
            context.close()
            for session in self._lab.api("GET", "sessions"):
                self._lab.api("DELETE", f"sessions/{session['id']}")

    def sidebar(self, page: Page, notebook: Any, width: int) -> Panel:
        """Our panel, so wide."""
        panel = show(page, notebook)
        box = panel.root.bounding_box()
        assert box is not None
        edge = page.locator("#jp-main-split-panel > .lm-SplitPanel-handle:visible").last
        handle = edge.bounding_box()
        assert handle is not None
        x, y = handle["x"] + handle["width"] / 2, handle["y"] + 300
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - (width - box["width"]), y, steps=8)
        page.mouse.up()
        page.mouse.move(700, 8)
        return panel

    def save(self, name: str, shot: bytes) -> None:
        """As a PNG of few colours: text stays sharp, and the repository small."""
        picture = Image.open(BytesIO(shot)).convert("RGB")
        for colours in (256, 192, 128):
            out = BytesIO()
            few(picture, colours).save(out, "PNG", optimize=True)
            if out.tell() <= MOST:
                break
        else:
            raise RuntimeError(f"{name} is {out.tell():,} bytes: take less into the picture")
        (self._folder / name).write_bytes(out.getvalue())
        print(f"{name}  {picture.width} x {picture.height}, {out.tell() / 1000:.0f} kB")

    # The pictures ---------------------------------------------------------------------------------

    def first_conversation(self) -> None:
        """The first notebook, answered by the embedded model."""
        shutil.copy(FIRST, self._lab.root)
        with self.page(1000, 1255, FIRST.name) as (page, notebook):
            theme(page, "JupyterLab Light")
            notebook.run_code(0)
            notebook.wait_done(0)
            notebook.run_code(1)
            cell = notebook.cell(1)
            cell.locator("[data-proposal][data-ready]").wait_for(timeout=300_000)
            cell.get_by_role("button", name="Run", exact=True).click()
            notebook.wait_done(1)
            expect(cell).to_contain_text("Done")
            cell.evaluate("cell => cell.previousElementSibling.scrollIntoView()")
            settled(page)
            self.save("first-conversation.png", page.screenshot())

    def panel(self) -> None:
        """A conversation in the sidebar: a figure, a table, code that waits; light and dark."""
        with self.page(WIDE, HIGH, "sales.ipynb", SALES) as (page, notebook):
            panel = self.asked(page, notebook)
            self.save("panel-light.png", page.screenshot())
            theme(page, "JupyterLab Dark")
            settled(page)
            panel.card.and_(page.locator("[data-ready]")).wait_for()  # it has moved a little
            settled(page)
            self.save("panel-dark.png", page.screenshot(clip=panel.root.bounding_box()))

    def asked(self, page: Page, notebook: Any) -> Panel:
        """A question that was answered, and one whose code waits."""
        theme(page, "JupyterLab Light")
        notebook.run(0)
        notebook.wait_done(0)
        panel = self.sidebar(page, notebook, WIDTH)
        panel.do(MODEL.format(replies=PANEL))
        panel.ask("Which month sold best? Show me the year.")
        panel.press("Run")
        panel.state("done")
        expect(panel.record("image").locator("img")).to_be_visible()
        panel.ask("Why is December so low?")
        panel.card.and_(page.locator("[data-ready]")).wait_for()
        settled(page)
        return panel

    def cell(self) -> None:
        """A `%%lmc` cell that waits for a decision."""
        ask = "%%lmc\nIs there a month in sales that looks odd?"
        with self.page(940, 900, "cell.ipynb", SALES, ask) as (page, notebook):
            theme(page, "JupyterLab Light")
            notebook.run(0)
            notebook.wait_done(0)
            page.evaluate(DO, MODEL.format(replies=CELL))
            notebook.run(1)
            cell = notebook.cell(1)
            cell.locator("[data-proposal][data-ready]").wait_for()
            settled(page)
            box = cell.bounding_box()
            assert box is not None
            self.save("cell-buttons.png", page.screenshot(clip=padded(box, 8)))

    def first_run(self) -> None:
        """The panel of a fresh kernel, before anything was chosen."""
        with self.page(WIDE, HIGH, "new.ipynb", "") as (page, notebook):
            theme(page, "JupyterLab Light")
            panel = self.sidebar(page, notebook, WIDTH)
            expect(panel.panel.get_by_text("Try one of these")).to_be_visible()
            settled(page)
            self.save("first-run.png", page.screenshot(clip=panel.root.bounding_box()))


def few(picture: Image.Image, colours: int) -> Image.Image:
    """With so many colours: the most frequent exactly, so that no surface gets a tint; others
    as the nearest of these and of some that are far from each other."""
    pixels = np.asarray(picture)
    packed = pixels.astype(np.uint32) @ np.array([65536, 256, 1], dtype=np.uint32)
    each, place, count = np.unique(packed, return_inverse=True, return_counts=True)
    seen = np.stack([each >> 16, each >> 8 & 255, each & 255], axis=1).astype(np.int32)
    order = np.argsort(-count, kind="stable")
    exact, others = seen[order[: colours // 2]], seen[order[colours // 2 :]]
    palette = exact
    if len(others):
        strip = Image.fromarray(others[None].astype(np.uint8))
        spread = strip.quantize(colours - len(exact), Image.Quantize.MAXCOVERAGE)
        rest = np.array(spread.getpalette(), dtype=np.int32).reshape(-1, 3)
        palette = np.concatenate([exact, rest])[:colours]
    nearest = np.concatenate(
        [
            ((part[:, None] - palette[None]) ** 2).sum(2).argmin(1)
            for part in np.array_split(seen, max(1, len(seen) // 1000))
        ]
    )
    made = Image.fromarray(nearest[place].reshape(packed.shape).astype(np.uint8), "P")
    made.putpalette(palette.astype(np.uint8).tobytes())
    return made


def padded(box: Any, by: int) -> Any:
    """The box, with so many pixels around it."""
    return {
        "x": box["x"] - by,
        "y": box["y"] - by,
        "width": box["width"] + 2 * by,
        "height": box["height"] + 2 * by,
    }


def theme(page: Page, name: str) -> None:
    """Another theme of JupyterLab, which it keeps."""
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name
    )
    page.locator(f"body[data-jp-theme-name='{name}']").wait_for(state="attached")


DO = """async code => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const { content } = await kernel.requestExecute({ code, store_history: false }).done;
  if (content.status !== 'ok') throw new Error(content.traceback.join('\\n'));
}"""


def settled(page: Page) -> None:
    """No focus, no pointer over anything, all images and fonts there, a frame drawn."""
    page.evaluate("() => document.activeElement?.blur()")
    page.mouse.move(700, 8)
    page.evaluate(
        """async () => {
          await document.fonts.ready;
          await Promise.all([...document.images].map(image => image.decode().catch(() => 0)));
          await Promise.all(document.getAnimations().map(one =>
            one.effect.getTiming().iterations === Infinity ? 0 : one.finished.catch(() => 0)));
          for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
        }"""
    )


def main() -> int:
    """Take them; 0 when all are there."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="the pictures whose name has this word")
    options.add_argument("--to", type=Path, default=HERE, help="the folder that they go to")
    chosen = options.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="lmc-") as folder,
        jupyter(Path(folder), "jupyterlab", "LabApp") as lab,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        pictures = Pictures(lab, browser, chosen.to)
        every: list[Callable[[], None]] = [
            pictures.first_conversation,
            pictures.panel,
            pictures.cell,
            pictures.first_run,
        ]
        for take in every:
            if chosen.only in take.__name__:
                take()
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
