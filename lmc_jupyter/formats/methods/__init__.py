"""Who wrote and ran the code of a notebook: what is known, and three ways to write it down."""

from lmc_jupyter.formats.methods.findings import Methods, find
from lmc_jupyter.formats.methods.pages import html, markdown

__all__ = ["Methods", "find", "html", "markdown"]
