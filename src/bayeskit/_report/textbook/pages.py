"""All pages by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayeskit._report.textbook import em_page, grass, lihang, melon3, melon8, spam, structure_page
from bayeskit._report.textbook.sheet import Sheet

PAGES: Mapping[str, Callable[[str], Sheet]] = {
    "spam": spam.page,
    "melon8": melon8.page,
    "melon3": melon3.page,
    "lihang": lihang.page,
    "grass": grass.page,
    "structures": structure_page.page,
    "em": em_page.page,
}
