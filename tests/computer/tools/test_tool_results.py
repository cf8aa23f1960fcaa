"""Results of tools as values of Python."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from lmc_jupyter.computer.tools.namespace import result_of


def picture(kind: str, mime: str) -> tuple[bytes, object]:
    """A picture of this format, and what a tool that returns it gives."""
    file = io.BytesIO()
    Image.new("RGB", (4, 3), "red").save(file, kind)
    data = base64.b64encode(file.getvalue()).decode()
    content = [{"type": "image", "mimeType": mime, "data": data}]
    return file.getvalue(), result_of({"content": content})


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_picture_of_a_plain_format_is_opened(kind):
    _, value = picture(kind, f"image/{kind.lower()}")
    assert isinstance(value, Image.Image)
    assert value.size == (4, 3)


@pytest.mark.parametrize("kind", ["EPS", "PPM", "TIFF", "BMP"])
@pytest.mark.parametrize("mime", ["image/png", "image/x-other"])
def test_a_picture_of_any_other_format_is_not_opened(kind, mime):
    data, value = picture(kind, mime)
    assert not isinstance(value, Image.Image)
    assert value == data or getattr(value, "data", None) == data
