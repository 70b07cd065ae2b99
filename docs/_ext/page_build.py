"""What the pages need of Sphinx: formulas as MathML, search in Chinese, links between the two trees of pages.

All of it works without a network and without a further package. Browsers draw MathML themselves, so no script and no
font is bundled. Chinese is indexed by pairs of characters, because Sphinx splits it into words only with a dictionary.
"""

from __future__ import annotations

import os
import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.search import languages
from sphinx.search.zh import SearchChinese
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

_RUN = re.compile("[\u3400-\u9fff]+")
# What authors write and the converter of docutils does not know → what it knows.
_SPELLED = {
    r"\\dots(?![a-zA-Z])": r"\\ldots ",
    r"\\[bB]ig(?![a-zA-Z])": r"\\Bigl",
    "…": r"\\ldots ",
    "·": r"\\cdot ",
}


def mathml(formula: str, as_block: bool = False) -> str:
    """Return a formula in LaTeX as MathML."""
    for written, known in _SPELLED.items():
        formula = re.sub(written, known, formula)
    return tex2mathml(formula, as_block=as_block)


def _converted(node: nodes.Element, as_block: bool = False) -> str:
    """Convert the formula of a node; one that cannot be converted is a warning that names it."""
    try:
        return mathml(node.astext(), as_block)
    except (MathError, AttributeError) as error:  # the latter where a bracket or a command has no partner
        logging.getLogger(__name__).warning("formula %r: %s", node.astext(), error, location=node)
        return ""


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_converted(node))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="eqno">({number})</span>')
    writer.body.append(_converted(node, as_block=True))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def pairs(run: str) -> list[str]:
    """Return the pairs of neighbouring characters, or the one character that there is."""
    return [run[i : i + 2] for i in range(max(len(run) - 1, 1))]


class ChineseSearch(SearchChinese):
    """Index pairs and single characters; split a query into pairs in the same way."""

    js_splitter_code = r"""
var splitQuery = (query) =>
  (query.match(/[\u3400-\u9fff]+|[A-Za-z0-9_]+/g) || []).flatMap((part) => {
    if (!/[\u3400-\u9fff]/.test(part) || part.length < 2) return [part];
    return Array.from({ length: part.length - 1 }, (_, i) => part.slice(i, i + 2));
  });
"""

    def split(self, input: str) -> list[str]:
        runs = _RUN.findall(input)
        chinese = [part for run in runs for part in (*pairs(run), *run)]
        return [*chinese, *super().split(_RUN.sub(" ", input))]

    def word_filter(self, stemmed_word: str) -> bool:
        return bool(_RUN.match(stemmed_word)) or super().word_filter(stemmed_word)


class LinkToOtherTree(SphinxTransform):
    """Let a link to a page of the other language lead to the built page, which lies at the same relative path."""

    default_priority = 200

    def apply(self, **options: Any) -> None:
        folder = (self.env.srcdir / self.env.docname).parent
        for link in list(self.document.findall(addnodes.pending_xref)):
            page = self.env.srcdir / f"{link['reftarget']}.md"
            if (
                link.get("refdomain") != "doc"
                or link["reftarget"] in self.env.found_docs
                or not page.exists()
            ):
                continue
            place = os.path.relpath(page.with_suffix(".html"), folder) + (
                f"#{link['reftargetid']}" if link.get("reftargetid") else ""
            )
            link.replace_self(nodes.reference("", "", *link.children, refuri=place))


# Two words far apart, or a rule: a line of a printed table.
_ALIGNED = re.compile(r"\S {2,}\S|-{9}|─{9}")


class PrintedTables(SphinxTransform):
    """Mark blocks of code that print a table, whose lines must not wrap, and leave out their empty last lines."""

    default_priority = 900

    def apply(self, **_: Any) -> None:
        for node in self.document.findall(nodes.literal_block):
            code = node.astext().rstrip("\n")
            node.rawsource = code
            node.children = [nodes.Text(code)]
            printed = [line for line in code.split("\n") if not line.startswith((">>>", "...", "$"))]
            if any(_ALIGNED.search(line) for line in printed) and len(printed) < code.count("\n") + 1:
                node["classes"].append("printed")


class PlainTypes(SphinxTransform):
    """Write "name" in the type of a parameter as a word: it means any name, not the attribute ``name`` of networks."""

    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        """Replace the references of a page to it by their words."""
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node.get("refdomain") == "py" and node["reftarget"] == "name":
                node.replace_self(node.children)


def setup(app: Sphinx) -> dict[str, int]:
    """Register all of it with Sphinx."""
    app.add_transform(LinkToOtherTree)
    app.add_transform(PrintedTables)
    app.add_transform(PlainTypes)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    languages["zh"] = ChineseSearch
    return {"env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
