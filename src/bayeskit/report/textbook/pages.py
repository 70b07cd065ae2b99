"""All pages by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayeskit.report.textbook import em, grass, lihang, melon3, melon8, spam, structures
from bayeskit.report.textbook.sheet import Sheet

PAGES: Mapping[str, Callable[[str], Sheet]] = {
    "spam": spam.page,
    "melon8": melon8.page,
    "melon3": melon3.page,
    "lihang": lihang.page,
    "grass": grass.page,
    "structures": structures.page,
    "em": em.page,
}
