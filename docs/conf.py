"""How Sphinx builds these pages: ``sphinx-build -W -b html docs docs/_build/html``."""

from bayeskit import __version__

project = "bayeskit"
author = "the bayeskit developers"
copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "deflist"]
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
