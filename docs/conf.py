# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How Sphinx builds the site from the pages of this folder; `make docs` runs it, without network."""

import itertools
from typing import Any

import phalanx

project = "Phalanx"
author = "The Phalanx developers"
project_copyright = "2026 The Phalanx developers"
version = release = phalanx.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_*"]
nitpicky = False

# Pages are Markdown as the code hosts show it; headings can be linked to.
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 3

# Docstrings are short prose with names in backticks and arrays by shape.
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
add_module_names = False

html_theme = "furo"
html_title = "Phalanx"
html_static_path = ["_static"]
html_css_files = ["phalanx.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    # One colour for both modes: the darker blue of the figures.
    "light_css_variables": {"color-brand-primary": "#0b5a8f", "color-brand-content": "#0b5a8f"},
    "dark_css_variables": {"color-brand-primary": "#6cb6e8", "color-brand-content": "#6cb6e8"},
}


def tables_as_lists(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Markdown tables in docstrings, which are read as reStructuredText, become its list tables."""
    made: list[str] = []
    for is_table, run in itertools.groupby(lines, key=lambda line: line.startswith("|")):
        rows = list(run)
        if not is_table:
            made += rows
            continue
        made += [".. list-table::", "   :header-rows: 1", ""]
        for row in (row.strip("| ").split(" | ") for row in rows if not row.startswith("|-")):
            made += [f"   {'* -' if k == 0 else '  -'} {cell}" for k, cell in enumerate(row)]
        made.append("")
    lines[:] = made


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", tables_as_lists)
