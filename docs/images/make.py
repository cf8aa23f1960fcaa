"""The pictures of the README, taken in a real JupyterLab; `make screenshots`.

    python docs/images/make.py [--only WORD] [--to FOLDER]

One rule: only the model's words are prepared, and its name says so. The code, the table, the
figure and the buttons are what a person gets: real kernel, real panel, real Chromium.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TESTS = HERE.parents[1] / "tests"
sys.path[:0] = [str(TESTS / "browser"), str(TESTS)]

from conftest import jupyter, launch, visit  # noqa: E402 - tests/browser
from panel_page import Panel, show  # noqa: E402
from PIL import Image  # noqa: E402
from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

SCALE = 2
MOST = 200_000  # bytes of a picture

SALES = """import pandas as pd

sales = pd.DataFrame({
    "month": ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    "orders": [212, 198, 240, 251, 263, 249, 230, 221, 268, 274, 391, 352],
    "revenue": [8480, 7722, 9840, 10040, 10783, 9711, 9200, 8619, 10988, 11508, 17595, 2816],
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
sales.plot.bar("month", "revenue", legend=False, figsize=(6, 2.3), color="#1976d2")
plt.xlabel("")
plt.ylabel("revenue")
print(sales.nlargest(3, "revenue").round(2).to_string(index=False))"""

BEST = """**November** sold best:

| month | orders | revenue | per order |
|:--|--:|--:|--:|
| Nov | 391 | 17,595 | 45.00 |
| Oct | 274 | 11,508 | 42.00 |
| Sep | 268 | 10,988 | 41.00 |

December looks odd: 352 orders, but only 8.00 an order."""

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
        """A notebook with these cells, and nothing else of JupyterLab in the way."""
        context = self._chromium.new_context(
            viewport={"width": width, "height": height}, device_scale_factor=SCALE
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        try:
            notebook = visit(page, self._lab, self._lab.write(name, *cells))
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
        page.mouse.move(200, 600)
        return panel

    def save(self, name: str, shot: bytes) -> None:
        """As a PNG of 256 colours: text stays sharp, and the repository small."""
        picture = Image.open(BytesIO(shot)).convert("RGB")
        for colours in (256, 160, 96):
            few = picture.quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            out = BytesIO()
            few.save(out, "PNG", optimize=True)
            if out.tell() <= MOST:
                break
        else:
            raise RuntimeError(f"{name} is {out.tell():,} bytes: take less into the picture")
        (self._folder / name).write_bytes(out.getvalue())
        print(f"{name}  {picture.width} x {picture.height}, {out.tell() / 1000:.0f} kB")

    # The pictures ---------------------------------------------------------------------------------

    def panel(self) -> None:
        """A conversation in the sidebar: a figure, a table, code that waits; light and dark."""
        with self.page(1240, 860, "sales.ipynb", SALES) as (page, notebook):
            notebook.run(0)
            notebook.wait_done(0)
            panel = self.sidebar(page, notebook, 420)
            panel.do(MODEL.format(replies=PANEL))
            panel.ask("Which month sold best? Show me the year.")
            panel.press("Run")
            panel.state("done")
            expect(panel.record("image").locator("img")).to_be_visible()
            panel.ask("Why is December so low?")
            panel.card.and_(page.locator("[data-ready]")).wait_for()
            settled(page)
            self.save("panel-light.png", page.screenshot())
            page.evaluate(
                "() => window.jupyterapp.commands.execute("
                "'apputils:change-theme', {theme: 'JupyterLab Dark'})"
            )
            page.locator("body[data-jp-theme-light=false]").wait_for(state="attached")
            settled(page)
            self.save("panel-dark.png", page.screenshot())

    def cell(self) -> None:
        """A `%%lmc` cell that waits for a decision."""
        ask = "%%lmc\nIs there a month in sales that looks odd?"
        with self.page(1000, 900, "cell.ipynb", SALES, ask) as (page, notebook):
            notebook.run(0)
            notebook.wait_done(0)
            page.evaluate(DO, MODEL.format(replies=CELL))
            notebook.run(1)
            cell = notebook.cell(1)
            cell.locator("[data-proposal][data-ready]").wait_for()
            settled(page)
            box = cell.bounding_box()
            assert box is not None
            self.save("cell-buttons.png", page.screenshot(clip=box))

    def first_run(self) -> None:
        """The panel of a fresh kernel, before anything was chosen."""
        with self.page(1000, 760, "new.ipynb", "") as (page, notebook):
            panel = self.sidebar(page, notebook, 420)
            expect(panel.panel.get_by_text("Try one of these")).to_be_visible()
            settled(page)
            box = panel.root.bounding_box()
            assert box is not None
            self.save("first-run.png", page.screenshot(clip=box))


DO = """async code => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const { content } = await kernel.requestExecute({ code, store_history: false }).done;
  if (content.status !== 'ok') throw new Error(content.traceback.join('\\n'));
}"""


def settled(page: Page) -> None:
    """No focus, no pointer over anything, all images and fonts there, a frame drawn."""
    page.evaluate("() => document.activeElement?.blur()")
    page.mouse.move(300, 700)
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
        every: list[Callable[[], None]] = [pictures.panel, pictures.cell, pictures.first_run]
        for take in every:
            if chosen.only in take.__name__:
                take()
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
