"""Settings of Sphinx, which makes pages of the Markdown and of the docstrings.

    sphinx-build -W --keep-going -n docs FOLDER

The pages need no network to be read. `fastact` is the one that is installed.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

import fastact

HERE = Path(__file__).resolve().parent
LINK = re.compile(r"\[([^]]*)\]\(([^)#:]+)[^)]*\)")

project = "fastact"
author = copyright = "The fastact developers"
version = release = fastact.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
html_theme = "furo"
html_title = f"{project} {version}"
html_copy_source = False

# `name` in a docstring is a link where there is something of that name.
default_role = "autolink"
# The docstrings say what the types are, and their sections how members are called.
autodoc_typehints = "none"
numpydoc_show_class_members = False
autodoc_default_options = {"members": True, "member-order": "bysource"}
# Nor is it an error where there is not: arguments, and what other packages have.
nitpick_ignore_regex = [("py:obj", ".*")]
# The anchors of headings, as a code host makes them.
myst_heading_anchors = 3


def unlink(app: Sphinx, page: str, source: list[str]) -> None:
    """Leave but the text of a link to a folder, or to Markdown that is no page here."""
    folder = app.env.doc2path(page).parent

    def text(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        outside = target.suffix == ".md" and HERE not in target.parents
        return link[1] if target.is_dir() or outside else link[0]

    source[0] = LINK.sub(text, source[0])


def setup(app: Sphinx) -> None:
    """Read the pages as they are written for a code host."""
    app.connect("source-read", unlink)
