"""Sphinx: the site, from the same Markdown that the repository shows (`make site`).

One rule: a page loads nothing from another address; a test of the site looks at every file.
"""

from __future__ import annotations

from pygments.lexers.data import JsonLexer
from sphinx.highlighting import lexers

from lmc_jupyter import __version__

project = "lmc-jupyter"
author = "The lmc-jupyter developers"
copyright = "The lmc-jupyter developers"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_llms_txt",
]
exclude_patterns = ["_build"]
suppress_warnings = [
    "mystnb.unknown_mime_type",  # text stands beside each of them
    "ref.python",  # two classes may have an attribute of one name
]
lexers["jsonl"] = JsonLexer()

nb_execution_mode = "off"  # run_notebooks.py has run them
nb_merge_streams = True
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "attrs_inline"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False

html_theme = "pydata_sphinx_theme"
html_title = "lmc-jupyter"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = True  # llms.txt is made of it
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "api": []}
copybutton_exclude = ".linenos, .gp"

llms_txt_title = "lmc-jupyter"
llms_txt_summary = (
    "A Language Model Computer inside the live Jupyter kernel: ask in a %%lmc cell or in the chat "
    "panel, read the exact code, press Run; it runs in the notebook's own kernel."
)
llms_txt_exclude = ["genindex", "search"]
