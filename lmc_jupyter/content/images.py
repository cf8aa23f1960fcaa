"""Images as models and conversations take them: png or jpeg, not too large, and sound.

One rule: pure functions from bytes to bytes; whatever is not plainly an image of a known format
is refused with a sentence. Pillow is imported at the first image, because it takes a while.

Limits: "Vision" of the providers' documentation (a long edge of 1568 pixels, 5 MB an image).
"""

from __future__ import annotations

import base64
import importlib
import importlib.util
import io
import re
from dataclasses import dataclass
from typing import Any

from lmc_jupyter.errors import LMCError

LONG_EDGE = 1568
"""Pixels of the longer side; providers scale down what is larger, at the sender's cost."""
MAX_PNG = 1_000_000
"""Bytes of what a model is sent as it is; a larger png becomes a jpeg, as photos should be."""
MAX_STORED = 2_000_000
"""Bytes of an image that a conversation keeps as it is; a larger one is scaled down."""
MAX_PIXELS = 50_000_000
"""Pixels of an image that is unpacked: that many take about 200 MB of memory."""
MAX_SVG = 5_000_000
"""Characters of an SVG that is drawn."""
MAX_HEAD = 100_000
"""Characters of an SVG in which its first tag must end."""
QUALITY = 85

_FIRST_BYTES = (
    ("png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("jpeg", re.compile(rb"\xff\xd8\xff")),
    ("gif", re.compile(rb"GIF8[79]a")),
    ("webp", re.compile(rb"RIFF.{4}WEBP", re.DOTALL)),
    ("bmp", re.compile(rb"BM.{12}[\x0c\x28\x6c\x7c]\0\0\0", re.DOTALL)),
    ("tiff", re.compile(rb"II\*\0|MM\0\*")),
)
"""What Pillow may open here: some of its other formats start programs of the system."""


class ImageError(LMCError):
    """Data that cannot be taken as an image; the sentence says why."""


@dataclass(frozen=True)
class Picture:
    """An image: `kind` is "png" or "jpeg"."""

    kind: str
    data: bytes

    @property
    def format(self) -> str:
        """The format of LMC's image messages."""
        return f"base64.{self.kind}"

    @property
    def text(self) -> str:
        """The data in base64."""
        return base64.b64encode(self.data).decode("ascii")


def kind(data: bytes) -> str | None:
    """png, jpeg, gif, webp, bmp or tiff, by the first bytes; None if it is none of them."""
    return next((name for name, first in _FIRST_BYTES if first.match(data)), None)


def for_model(data: bytes, name: str = "the image") -> Picture:
    """The image as models take it: scaled down, upright, on white where it is transparent.

    What fits is given back as it is. Of a film it is the first picture.

    Raises
    ------
    ImageError
        When it is no image, is broken, or would take too much memory.
    """
    format_ = kind(data)
    with _open(data, name) as image:
        fits = max(image.size) <= LONG_EDGE and len(data) <= MAX_PNG
        if format_ == "jpeg" and not fits:
            image.draft(None, (LONG_EDGE, LONG_EDGE))  # unpacks it at a half or a quarter already
        _load(image, name)
        is_rotated = image.getexif().get(_ORIENTATION, 1) != 1
        if format_ in ("png", "jpeg") and fits and not (is_rotated or _is_clear(image)):
            return Picture(format_, data)
        result = _flat(image)
        result.thumbnail((LONG_EDGE, LONG_EDGE))
        if is_rotated:
            result = _pillow("ImageOps").exif_transpose(result)
        return _encode(result, "jpeg" if format_ == "jpeg" else "png")


def for_history(data: bytes, name: str = "the image") -> Picture:
    """The image as a conversation keeps it: a png or jpeg of at most `MAX_STORED` bytes, or scaled.

    Raises
    ------
    ImageError
        As `for_model`.
    """
    format_ = kind(data)
    if format_ not in ("png", "jpeg") or len(data) > MAX_STORED:
        return for_model(data, name)
    with _open(data, name) as image:
        _load(image, name)
    return Picture(format_, data)


def describe(data: bytes) -> str:
    """A description: "png, 640 x 480 pixels, titled 'Prices'"; "" if it is no image."""
    try:
        with _open(data, "") as image:
            (width, height), title = image.size, image.info.get("Title")
    except ImageError:
        return ""
    text = f"{kind(data)}, {width} x {height} pixels"
    if isinstance(title, str) and title.strip():
        text += f", titled {title.strip()[:200]!r}"
    return text


# Pillow -------------------------------------------------------------------------------------------

_ORIENTATION = 0x0112
"""The tag of EXIF that says how the camera was held."""


def _pillow(module: str) -> Any:
    return importlib.import_module(f"PIL.{module}")


def _open(data: bytes, name: str) -> Any:
    """Pillow's image; its pixels are not unpacked yet."""
    format_ = kind(data)
    if format_ is None:
        raise ImageError(f"{name} is not a png, jpeg, gif, webp, bmp or tiff image")
    pillow = _pillow("Image")
    try:
        image = pillow.open(io.BytesIO(data), formats=(format_.upper(),))
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        raise ImageError(
            f"{name} has more pixels than the {MAX_PIXELS:,} that are unpacked: make it smaller"
        ) from None
    except Exception as error:
        raise _broken_error(name, format_) from error
    width, height = image.size
    if width * height > MAX_PIXELS:
        image.close()
        raise ImageError(
            f"{name} is {width} x {height} pixels, more than the {MAX_PIXELS:,} that are "
            "unpacked: make it smaller"
        )
    return image


def _load(image: Any, name: str) -> None:
    try:
        image.load()
    except Exception as error:
        raise _broken_error(name, image.format) from error


def _broken_error(name: str, format_: str) -> ImageError:
    return ImageError(
        f"{name} begins as a {format_.lower()} image, but its data are broken or cut off"
    )


def _is_clear(image: Any) -> bool:
    """Whether anything shows through it; a figure of matplotlib only could."""
    if not image.has_transparency_data:
        return False
    return image.mode not in ("RGBA", "LA") or image.getchannel("A").getextrema()[0] < 255


def _flat(image: Any) -> Any:
    """Grey or colour of 8 bits, on white where it is transparent."""
    if _is_clear(image):
        image = image.convert("RGBA")
        white = _pillow("Image").new("RGBA", image.size, "white")
        white.alpha_composite(image)
        white.info.update(image.info)
        return white.convert("RGB")
    if image.mode.startswith(("I", "F")):  # 16 bits and more: Pillow would cut them off
        low, high = image.convert("F").getextrema()
        if image.mode.startswith("I;16") or low < 0 or high > 255:
            low, high = (0, 65535) if image.mode.startswith("I;16") else (low, high)
            scale = 255 / ((high - low) or 1)
            return image.convert("F").point(lambda value: value * scale - low * scale).convert("L")
        return image.convert("L")
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _encode(image: Any, format_: str) -> Picture:
    out = io.BytesIO()
    if format_ == "png":
        image.save(out, "PNG")
        if out.tell() <= MAX_PNG:
            return Picture("png", out.getvalue())
        out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY)
    return Picture("jpeg", out.getvalue())


# SVG ----------------------------------------------------------------------------------------------

_DOCTYPE = re.compile(r"<!DOCTYPE\b[^<>\[]*>", re.IGNORECASE)
_REFERENCE = re.compile(
    r"""\b(?:href|src)\s*=\s*(["'])(?!\s*\#|\s*data:image/(?:png|jpeg|gif|webp);base64,)"""
    r"""|url\(\s*["']?(?!\#)\s*[^\s"')]"""
    r"""|@import|<!|<\?xml-stylesheet|<\w*:?(?:script|foreignObject)\b|\\""",
    re.IGNORECASE,
)
"""What makes a converter read another file, or could."""
_COMMENT = re.compile(r"<!--(?:.*?-->|.*)|<!\[CDATA\[|\]\]>", re.DOTALL)
_UNITS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78}


def from_svg(svg: str, name: str = "the SVG") -> bytes | None:
    """A png of it on white; None where no converter is installed (resvg_py, vl_convert, cairosvg).

    Raises
    ------
    ImageError
        When it refers to anything outside of itself, or cannot be drawn.
    """
    if len(svg) > MAX_SVG:
        raise ImageError(f"{name} has {len(svg):,} characters; at most {MAX_SVG:,} are drawn")
    bare = _DOCTYPE.sub("", _COMMENT.sub("", svg), count=1)
    match = _REFERENCE.search(bare)
    if match is not None:
        raise ImageError(f"{name} refers to something outside of it ({match.group(0)[:40]!r}…)")
    draw = next((draw for module, draw in _CONVERTERS.items() if _is_there(module)), None)
    if draw is None:
        return None
    try:
        sides = _sides(bare)
        return draw(bare, sides, _scale(sides))
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise ImageError(f"{name} cannot be drawn: {reason[:200]}") from error


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # it was put into sys.modules without a spec
        return True


def _scale(sides: list[float]) -> float:
    """How much smaller it is drawn, so that neither side is longer than `LONG_EDGE`."""
    longest = max(sides, default=0.0)
    return min(1.0, LONG_EDGE / longest) if longest > 0 else 1.0


def _sides(svg: str) -> list[float]:
    """Width and height in pixels, as it says itself; [] where it does not.

    Raises
    ------
    ValueError
        When it says it in a way that is not known here: it could be a picture of any size.
    """
    from xml.etree.ElementTree import XMLPullParser  # at the first SVG

    parser: Any = XMLPullParser(["start"])
    parser.feed(svg[:MAX_HEAD])
    for _, root in parser.read_events():
        if root.tag.rpartition("}")[2] != "svg":
            raise ValueError(f"it begins with <{root.tag[:40]}>")
        box = [float(each) for each in re.split(r"[\s,]+", root.get("viewBox", "").strip()) if each]
        sides = []
        for index, name in enumerate(("width", "height"), 2):
            side = _length(root.get(name, "100%").strip())
            sides += [side] if side is not None else box[index : index + 1]
        return sides
    raise ValueError("it does not begin with <svg>")


def _length(text: str) -> float | None:
    """In pixels; None for a part of the page that it stands on."""
    if text.endswith("%"):
        return None
    match = re.fullmatch(r"([\d.]+(?:[eE][-+]?\d+)?)\s*([a-z]*)", text)
    if match is None or match.group(2) not in _UNITS:
        raise ValueError(f"its size is {text[:40]!r}")
    return float(match.group(1)) * _UNITS[match.group(2)]


def _by_resvg(svg: str, sides: list[float], scale: float) -> bytes:
    resvg: Any = importlib.import_module("resvg_py")
    size = {}
    if scale < 1:
        size = {
            name: max(1, round(side * scale))
            for name, side in zip(("width", "height"), sides, strict=True)
        }
    return bytes(resvg.svg_to_bytes(svg_string=svg, background="#ffffff", dpi=96, **size))


def _by_vl_convert(svg: str, _: list[float], scale: float) -> bytes:
    vl_convert: Any = importlib.import_module("vl_convert")
    return bytes(vl_convert.svg_to_png(svg, scale=scale))


def _by_cairo(svg: str, _: list[float], scale: float) -> bytes:
    cairosvg: Any = importlib.import_module("cairosvg")
    return bytes(cairosvg.svg2png(svg.encode(), scale=scale, background_color="white"))


_CONVERTERS = {"resvg_py": _by_resvg, "vl_convert": _by_vl_convert, "cairosvg": _by_cairo}
"""By what they take: the smallest first."""
