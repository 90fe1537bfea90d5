"""Settings of Sphinx, which makes pages of the Markdown and of the docstrings.

    sphinx-build -W --keep-going -n docs FOLDER

The pages need no network to be read. `fastact` is the one that is installed.
"""

from __future__ import annotations

import fastact

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
