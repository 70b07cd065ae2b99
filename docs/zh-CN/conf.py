"""How Sphinx builds the Chinese pages: ``sphinx-build -W -b html docs/zh-CN docs/_build/html/zh-CN``.

Build the English pages first, into the folder above: names of the interface lead to their descriptions there.
"""

import runpy
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import _ as in_sphinx

globals().update(runpy.run_path(str(Path(__file__).resolve().parent.parent / "conf.py")))

language = "zh_CN"
copyright = "bayeskit 开发者"
html_title = f"bayeskit {globals()['release']} 文档"
extensions = ["myst_parser", "page_build", "sphinx.ext.intersphinx"]
exclude_patterns = []

# What the theme says itself and Sphinx does not translate.
_OF_THEME = {
    "Next": "下一页",
    "Previous": "上一页",
    "Back to top": "回到顶部",
    "On this page": "本页内容",
    "Made with ": "制作：",
}


def _name_english_pages(app: Sphinx, config: Config) -> None:
    config.intersphinx_mapping = {"en": ("..", str(Path(app.outdir).parent / "objects.inv"))}


def _translate_theme(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    def translated(text: str) -> str:
        return _OF_THEME.get(text) or str(in_sphinx(text))

    context["_"] = context["gettext"] = translated


def setup(app: Sphinx) -> None:
    """Translate the theme; say where the English pages are before intersphinx reads it."""
    app.connect("html-page-context", _translate_theme)
    app.connect("config-inited", _name_english_pages, priority=1)
