"""Images: scaled as models take them, upright, on white, and only what is plainly an image."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib
from typing import Any

import pytest
from PIL import Image, ImageDraw, PngImagePlugin

from lmc_jupyter.content import images
from lmc_jupyter.content.images import (
    LONG_EDGE,
    MAX_PNG,
    MAX_STORED,
    ImageError,
    describe,
    for_history,
    for_model,
    from_svg,
    kind,
)

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 40 30">{}</svg>'


def packed(image: Image.Image, format_: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, format_, **options)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def noise(width: int, height: int) -> Image.Image:
    """What no png makes small, as a photo is."""
    return Image.effect_noise((width, height), 90).convert("RGB")


def chunk(name: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(name + data))
    return struct.pack(">I", len(data)) + name + data + check


def bomb(width: int, height: int) -> bytes:
    """A png of a few bytes that says it is so large."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_what_fits_stays_byte_for_byte():
    for format_ in ("PNG", "JPEG"):
        data = packed(Image.new("RGB", (640, 480), "red"), format_)
        assert for_model(data).data == data
        assert for_history(data).data == data


def test_what_could_be_transparent_and_is_not_stays_too():
    """As matplotlib's figures are."""
    data = packed(Image.new("RGBA", (640, 480), (1, 2, 3, 255)), "PNG")
    assert for_model(data).data == data


@pytest.mark.parametrize(("width", "height"), [(4000, 1000), (1000, 4000), (1569, 1569)])
@pytest.mark.parametrize("format_", ["PNG", "JPEG"])
def test_the_long_edge_is_bounded_and_the_shape_stays(width, height, format_):
    found = for_model(packed(Image.new("RGB", (width, height), "blue"), format_))
    image = opened(found.data)
    assert max(image.size) == LONG_EDGE
    assert image.width / image.height == pytest.approx(width / height, rel=0.01)
    assert found.kind == kind(found.data) == format_.lower()


def test_a_chart_stays_a_png_and_a_photo_becomes_a_jpeg():
    chart = Image.new("RGB", (2400, 1600), "white")
    ImageDraw.Draw(chart).line((0, 0, 2400, 1600), "black", 5)
    assert for_model(packed(chart, "PNG")).kind == "png"
    photo = packed(noise(1200, 1000), "PNG")
    assert len(photo) > MAX_PNG
    found = for_model(photo)
    assert found.kind == "jpeg"
    assert opened(found.data).size == (1200, 1000)


@pytest.mark.parametrize("format_", ["GIF", "WEBP", "BMP", "TIFF"])
def test_other_formats_are_converted(format_):
    data = packed(Image.new("RGB", (30, 20), (255, 0, 0)), format_)
    assert kind(data) == format_.lower()
    for found in (for_model(data), for_history(data)):
        assert found.kind == kind(found.data) == "png"
        image = opened(found.data).convert("RGB")
        assert image.size == (30, 20)
        assert image.getpixel((5, 5))[0] > 240


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_on_white(mode):
    image = Image.new("RGBA", (30, 20), (0, 0, 0, 0))
    ImageDraw.Draw(image).rectangle((0, 0, 9, 9), (0, 0, 0, 255))
    if mode == "P":
        image = image.quantize()
    found = opened(for_model(packed(image.convert(mode), "PNG")).data)
    assert found.mode in ("L", "RGB")
    assert found.convert("RGB").getpixel((20, 15)) == (255, 255, 255)
    assert found.convert("RGB").getpixel((3, 3)) == (0, 0, 0)


@pytest.mark.parametrize("size", [(60, 40), (3000, 2000)])
def test_a_photo_stands_as_the_camera_was_held(size):
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle((0, 0, size[0] // 2, size[1] // 2), "black")
    exif = image.getexif()
    exif[0x0112] = 6  # turned by a quarter, clockwise
    found = opened(for_model(packed(image, "JPEG", exif=exif)).data)
    assert found.width < found.height
    assert found.getexif().get(0x0112, 1) == 1
    corner = found.convert("L").getpixel((found.width - 3, 2))
    assert corner < 60, "the black quarter is not where it belongs"


@pytest.mark.parametrize("mode", ["1", "L", "P", "I;16", "CMYK"])
def test_every_mode_is_taken(mode):
    format_ = "JPEG" if mode == "CMYK" else "PNG"
    image = Image.new("L", (2000, 100), 255)
    wide = Image.new(mode, (2000, 100), 65535) if mode == "I;16" else image.convert(mode)
    found = opened(for_model(packed(wide, format_)).data).convert("L")
    assert found.size == (LONG_EDGE, 78)
    assert found.getpixel((10, 10)) >= 250


def test_of_a_film_the_first_picture_is_taken():
    frames = [Image.new("RGB", (9, 9), color) for color in ("red", "blue")]
    data = packed(frames[0], "GIF", save_all=True, append_images=frames[1:])
    found = opened(for_model(data).data).convert("RGB").getpixel((1, 1))
    assert found[0] > 200
    assert found[2] < 50


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "not a png"),
        (b"<svg onload=alert(1)>", "not a png"),
        (b"%!PS-Adobe", "not a png"),
        (b"BM is how this text begins", "not a png"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "broken"),
        (b"\xff\xd8\xff rest", "broken"),
        (b"GIF89a" + bytes(10), "broken"),
        (packed(noise(300, 300), "PNG")[:50_000], "broken or cut off"),
        (packed(noise(300, 300), "JPEG")[:5_000], "broken or cut off"),
        (bomb(9_000, 9_000), "9000 x 9000"),
        (bomb(11_000, 11_000), "pixels"),
        (bomb(60_000, 60_000), "pixels"),
    ],
)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_what_is_no_sound_image_is_refused_with_a_sentence(data, sentence):
    for take in (for_model, for_history):
        with pytest.raises(ImageError, match=sentence) as refused:
            take(data, "the file 'x.png'")
        assert str(refused.value).startswith("the file 'x.png' ")


def test_control_pillow_alone_unpacks_one(record_property):
    size = 9_000
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    lines = zlib.compressobj(9)
    row = bytes(1 + 3 * size)
    data = b"".join([*(lines.compress(row) for _ in range(size)), lines.flush()])
    whole = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    image = opened(whole)  # it does not even warn
    assert image.size == (size, size)
    with pytest.raises(ImageError, match="9000 x 9000"):
        for_model(whole)
    record_property(
        "figure",
        f"Pillow alone unpacks {len(whole):,} bytes to {3 * size * size / 1_000_000:.0f} MB",
    )


def test_a_bomb_is_refused_too_where_warnings_are_errors():
    with pytest.raises(ImageError, match="pixels"):
        for_model(bomb(11_000, 11_000))


def test_the_history_keeps_an_image_of_some_size_and_scales_a_larger_one():
    some = packed(noise(800, 800), "PNG")
    assert MAX_PNG < len(some) <= MAX_STORED
    assert for_history(some).data == some
    large = packed(noise(1800, 1200), "PNG")
    assert len(large) > MAX_STORED
    assert len(for_history(large).data) <= MAX_STORED


def test_an_image_is_described_without_being_unpacked():
    info = PngImagePlugin.PngInfo()
    info.add_text("Title", "Prices of tea")
    data = packed(Image.new("RGB", (64, 48)), "PNG", pnginfo=info)
    assert describe(data) == "png, 64 x 48 pixels, titled 'Prices of tea'"
    assert describe(packed(Image.new("RGB", (7, 8)), "JPEG")) == "jpeg, 7 x 8 pixels"
    assert describe(b"text") == describe(b"\x89PNG\r\n\x1a\nrest") == ""


def test_pillow_is_not_imported_before_the_first_image():
    names = "lmc_jupyter.content.images, lmc_jupyter.models.openai"
    code = f"import {names}, sys; print('PIL' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# SVG ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "size"),
    [("40", (40, 30)), ("40px", (40, 30)), ("30pt", (40, 30)), ("4000", (LONG_EDGE, 1176))],
)
def test_an_svg_is_drawn_on_white_and_not_too_large(width, size):
    number, unit = float(width.rstrip("pxt")), width.lstrip("0123456789")
    data = from_svg(SVG.format(width, f"{number * 0.75:g}{unit}", '<rect width="20" height="30"/>'))
    image = opened(data).convert("RGB")
    assert image.size == pytest.approx(size, abs=1)
    assert image.getpixel((2, 2)) == (0, 0, 0)
    assert image.getpixel((image.width - 3, 3)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("root", "scale"),
    [
        ('<svg width="1e6" height="10"', LONG_EDGE / 1e6),
        ("<svg width='1568' height='1568'", 1.0),
        ("<s:svg xmlns:s='http://www.w3.org/2000/svg' width='15680' height='1'", 0.1),
        ("<svg a='>' b=' width=\"1\"' width='15680' height='1'", 0.1),
        ("<svg width='&#49;5680' height='1'", 0.1),
        ("<svg width='100%' viewBox='0 0 15680 3'", 0.1),
        ("<svg viewBox='0,0 , 15680 3'", 0.1),
        ("<svg height='15680'", 0.1),
        ("<svg height='15680' viewBox='0 0 3 3'", 0.1),
        ("<svg", 1.0),
    ],
)
def test_however_an_svg_says_its_size_it_is_bounded(monkeypatch, root, scale):
    scales = []
    draw = lambda svg, sides, scale: scales.append(scale) or b""  # noqa: E731
    monkeypatch.setattr(images, "_CONVERTERS", {"json": draw})
    from_svg(f"<?xml version='1.0'?>{root} />")
    assert scales == [pytest.approx(scale)]


@pytest.mark.parametrize("size", ["1e5em", "calc(1px)", "-3", "1.2.3", "nan", ""])
def test_an_svg_of_unknown_size_is_not_drawn(monkeypatch, size):
    monkeypatch.setattr(images, "_CONVERTERS", {"json": lambda *_: b"png"})
    with pytest.raises(ImageError, match="cannot be drawn"):
        from_svg(f'<svg width="{size}" height="3"/>')


def test_each_converter_is_called_with_the_same(monkeypatch):
    """Stand-ins, so that the order and the way to each is seen wherever this runs."""
    calls = []

    class Module:
        def __init__(self, name):
            self.name = name

        def __getattr__(self, what):
            return lambda *a, **k: calls.append((self.name, what)) or b"png"

    there = {"resvg_py": 0, "vl_convert": 0, "cairosvg": 0}
    monkeypatch.setattr(images, "_is_there", lambda name: name in there)
    monkeypatch.setattr(images.importlib, "import_module", Module)
    while there:
        assert from_svg(SVG.format(4, 3, "")) == b"png"
        del there[next(iter(there))]
    assert calls == [
        ("resvg_py", "svg_to_bytes"),
        ("vl_convert", "svg_to_png"),
        ("cairosvg", "svg2png"),
    ]
    assert from_svg(SVG.format(4, 3, "")) is None


@pytest.mark.parametrize(
    "inner",
    [
        '<image href="/etc/passwd"/>',
        '<image xlink:href="file:///etc/passwd"/>',
        "<image href='http://x/y.png'/>",
        '<image href="&#104;ttp://x"/>',
        '<image href = "x.png"/>',
        '<image href="data:image/svg+xml;base64,AAAA"/>',
        '<style>@import "x.css";</style>',
        '<style>rect { fill: url("http://x/y") }</style>',
        '<rect style="fill:u\\72l(http://x)"/>',
        "<script>1</script>",
        "<foreignObject/>",
        '<!ENTITY x SYSTEM "/etc/passwd">',
    ],
)
def test_an_svg_that_refers_to_something_else_is_refused(inner):
    with pytest.raises(ImageError, match="outside of it"):
        from_svg(SVG.format(40, 30, inner))
    with pytest.raises(ImageError, match="outside of it"):
        from_svg(f'<!DOCTYPE svg [<!ENTITY x "{inner}">]>' + SVG.format(40, 30, ""))


def test_an_svg_that_cannot_be_drawn_says_so(monkeypatch):
    def fails(svg, sides, scale):
        raise ValueError("no root node\nand many more lines")

    monkeypatch.setattr(images, "_CONVERTERS", {"json": fails})
    with pytest.raises(ImageError, match=r"cannot be drawn: no root node$"):
        from_svg("<svg/>")
    monkeypatch.setattr(images, "_CONVERTERS", {"json": lambda *_: b"png"})
    for svg in ("", "text", "<svg", "<html/>", '<svg width="1" width="2"/>'):
        with pytest.raises(ImageError, match="cannot be drawn"):
            from_svg(svg)
    with pytest.raises(ImageError, match="characters"):
        from_svg("<svg>" + " " * images.MAX_SVG)


def test_what_an_svg_has_of_its_own_is_no_reference(monkeypatch):
    monkeypatch.setattr(images, "_CONVERTERS", {"json": lambda svg, sides, scale: svg.encode()})
    doctype = '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/svg11.dtd">'
    inner = '<!-- made by <x href="y"> --><use xlink:href="#a"/><rect fill="url(#b)"/>'
    inner += '<style><![CDATA[ rect { fill: url("#c") } ]]></style>'
    inner += '<image href="data:image/png;base64,AAAA"/>'
    drawn = from_svg(doctype + SVG.format(4, 3, inner)).decode()
    assert "DOCTYPE" not in drawn
    assert "made by" not in drawn
