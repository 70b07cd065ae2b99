"""Words that need explaining: numbered where they are first used, told at the end."""

from __future__ import annotations

from bayeskit.report.comparison_report.markup import Html, tag
from bayeskit.report.comparison_report.words import GLOSSARY


class Footnotes:
    """The footnotes of one page.

    Examples
    --------
    >>> notes = Footnotes("en")
    >>> _, again = notes.mark("brier"), notes.mark("brier")
    >>> again
    '<sup><a href="#word-brier">1</a></sup>'
    """

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.used: list[str] = []

    def mark(self, key: str) -> Html:
        """Return the number that leads to a word."""
        if key not in self.used:
            self.used.append(key)
        return Html(f'<sup><a href="#word-{key}">{self.used.index(key) + 1}</a></sup>')

    def listed(self) -> Html:
        """Return all words that were used."""
        told = GLOSSARY[self.lang]
        items = (tag("li", told[key], attributes=f'id="word-{key}"') for key in self.used)
        return tag("ol", *items, cls="words")
