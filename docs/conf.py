"""How Sphinx builds the English pages: ``sphinx-build -W -b html docs docs/_build/html``.

The Chinese pages are a tree of their own with the same settings (``zh-CN/conf.py``), built after these into
``docs/_build/html/zh-CN``.
"""

import sys
from pathlib import Path

from bayeskit import __version__

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "bayeskit"
author = "the bayeskit developers"
copyright = author
release = version = __version__

extensions = ["myst_parser", "page_build", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_ext", "zh-CN"]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3

# scikit-learn gives every estimator methods whose texts refer to its own manual.
_SKLEARN = [
    "get_metadata_routing",
    "get_params",
    "set_params",
    "set_fit_request",
    "set_partial_fit_request",
    "set_predict_request",
    "set_predict_proba_request",
    "set_score_request",
]
autodoc_default_options = {"exclude-members": ", ".join(_SKLEARN)}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"bayeskit {release}"
html_show_sourcelink = False
html_math_renderer = "mathml"
html_static_path = [str(DOCS / "_static")]
html_css_files = ["pages.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2a63a8", "color-brand-content": "#2a63a8"},
    "dark_css_variables": {"color-brand-primary": "#8ab4e8", "color-brand-content": "#8ab4e8"},
}
