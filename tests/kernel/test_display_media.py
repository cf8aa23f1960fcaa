"""Figures, pictures and tables in a real kernel: what the person sees, and what the model gets."""

from __future__ import annotations

import base64
import io
import re

import pytest
from display_sides import both_sides
from PIL import Image

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

DRAW = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(); ax.plot([1, 2])\n"


@pytest.fixture(scope="module")
def inline(frontend):
    frontend.run("%matplotlib inline")
    return frontend


def opened(chunk) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(chunk["content"])))


@pytest.mark.parametrize("end", ["", "fig", "plt.show()"])
def test_matplotlib(inline, end):
    """A figure that is also the last value is shown twice, and is one image for the model."""
    found = both_sides(inline, f"{DRAW}{end}")
    assert set(found.person) - {"text/plain"} == {"image/png"}
    (image,) = found.images
    assert opened(image).format == "PNG"


def test_matplotlib_as_jpeg(inline):
    found = both_sides(
        inline,
        "%config InlineBackend.figure_formats = ['jpeg']\n"
        f"{DRAW}plt.show()\n%config InlineBackend.figure_formats = ['png']",
    )
    assert found.person == ["image/jpeg"]
    (image,) = found.images
    assert image["format"] == "base64.jpeg"
    assert opened(image).format == "JPEG"


def test_two_figures_are_two_images(inline):
    found = both_sides(inline, "for n in (1, 2):\n    plt.plot([n]); plt.show()")
    assert len(found.person) == len(found.images) == 2


def test_pil(inline):
    found = both_sides(inline, "from PIL import Image\nImage.new('RGB', (12, 8), 'red')")
    assert found.person == ["image/png"]
    assert opened(found.images[0]).size == (12, 8)


@pytest.mark.long
def test_an_image_that_is_too_large_to_keep_is_shown_as_it_is_and_kept_smaller(inline):
    found = both_sides(inline, "Image.effect_noise((2000, 1500), 90).convert('RGB')")
    assert found.person == ["image/png"]
    assert found.sizes[0] > 2_000_000
    (image,) = found.images
    assert opened(image).size == (1568, 1176)
    assert len(image["content"]) < 2_000_000


@pytest.mark.parametrize("kind", ["gif", "webp", "jpeg", "png"])
def test_an_image_of_ipython(inline, kind):
    found = both_sides(
        inline,
        "import io\nfrom IPython import display as d\nout = io.BytesIO()\n"
        f"Image.new('RGB', (12, 8), 'red').save(out, {kind!r})\n"
        f"d.Image(data=out.getvalue(), format={kind!r})",
    )
    assert found.person == [f"image/{kind}"]
    (image,) = found.images
    assert image["format"] == ("base64.jpeg" if kind == "jpeg" else "base64.png")
    assert opened(image).size == (12, 8)


def test_an_image_of_a_file_and_one_with_an_address(inline, tmp_path):
    Image.new("RGB", (12, 8), "red").save(tmp_path / "a.gif")
    found = both_sides(inline, f"d.Image(filename={str(tmp_path / 'a.gif')!r})")
    assert opened(found.images[0]).size == (12, 8)
    found = both_sides(inline, "d.Image(url='http://127.0.0.1:9/a.png')")
    assert found.person == ["text/html"]
    assert found.images == []
    assert found.told == "(An image was shown, from http://127.0.0.1:9/a.png)\n"


def test_a_display_that_is_updated(inline):
    found = both_sides(
        inline,
        "handle = d.display(Image.new('RGB', (4, 4), 'red'), display_id=True)\n"
        "handle.update(Image.new('RGB', (8, 8), 'blue'))",
    )
    assert found.kinds == ["display_data", "update_display_data"]
    assert [opened(each).size for each in found.images] == [(4, 4), (8, 8)]


def test_a_table_is_html_for_the_person_and_text_for_the_model(inline):
    found = both_sides(inline, "import pandas as pd\npd.DataFrame({'a': range(500), 'b': 'x'})")
    assert found.person == ["text/html"]
    assert "<table" in found.html
    assert found.chunk("code")["recipient"] == "user"
    assert found.chunk("console")["recipient"] == "assistant"
    assert "[500 rows x 2 columns]" in found.told
    assert "<" not in found.told


def test_a_wide_table_without_end_is_short_for_the_model(inline):
    found = both_sides(
        inline,
        "with pd.option_context('display.max_rows', None):\n"
        "    d.display(pd.DataFrame({'a': range(5_000)}))",
    )
    assert len(found.told) < 9_000
    assert "lines left out" in found.told
    assert found.told.endswith("4999\n")


def test_styled_html_and_a_page(inline):
    found = both_sides(inline, "d.HTML('<h1>Tea</h1><p>is <b>good</b></p>')")
    assert found.person == ["text/html"]
    assert found.html == "<h1>Tea</h1><p>is <b>good</b></p>"
    assert "recipient" not in found.chunk("code")  # the model reads its text: see the conversion


def test_displays_without_end_are_bounded_and_counted(inline):
    found = both_sides(inline, "for n in range(260):\n    d.display(d.HTML(f'<p>{n}</p>'))")
    assert len(found.person) == 260
    assert sum(each["type"] == "code" for each in found.chunks) == 200
    assert "60 more images or displays were shown and not saved" in found.told


@pytest.mark.long
def test_printing_without_end_is_bounded_and_counted(inline):
    found = both_sides(inline, "for n in range(200_000):\n    print(n)")
    printed = sum(len(f"{n}\n") for n in range(200_000))
    (note,) = re.findall(r"\n… [\d,]+ characters were shown and not saved …\n", found.told)
    lost = int(note.split()[1].replace(",", ""))
    assert found.told.startswith("0\n1\n")
    assert found.told.endswith("199999\n")
    assert len(found.told) < 1_100_000
    assert len(found.told) - len(note) + lost == printed
