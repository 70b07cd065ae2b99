"""All pages by name, and those that can be made of any small table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayeskit._report.textbook import (
    dependence_pages,
    em_page,
    estimate_pages,
    grass,
    lihang,
    melon3,
    melon8,
    network_pages,
    spam,
    structure_page,
    table_pages,
)
from bayeskit._report.textbook.sheet import Sheet

# Pages of a table: the function takes a lesson as well, and has a table of its own.
OF_TABLES: Mapping[str, Callable[..., Sheet]] = {
    "nb": table_pages.naive_page,
    "laplace": table_pages.laplace_page,
    "risk": table_pages.risk_page,
    "mle": table_pages.likelihood_page,
    "spode": dependence_pages.spode_page,
    "tan": dependence_pages.tan_page,
    "aode": dependence_pages.aode_page,
}
PAGES: Mapping[str, Callable[[str], Sheet]] = {
    "spam": spam.page,
    "melon8": melon8.page,
    "melon3": melon3.page,
    "lihang": lihang.page,
    "grass": grass.page,
    "structures": structure_page.page,
    "em": em_page.page,
    **OF_TABLES,
    "bayes-estimate": estimate_pages.prior_page,
    "bernoulli": estimate_pages.bernoulli_page,
    "multinomial": estimate_pages.multinomial_page,
    "gaussian2": estimate_pages.covariance_page,
    "lda": estimate_pages.discriminant_page,
    "bic": estimate_pages.bic_page,
    "underflow": estimate_pages.underflow_page,
    "melonnet": network_pages.melon_page,
    "seven": network_pages.seven_page,
    "lazy": network_pages.lazy_page,
    "incremental": network_pages.incremental_page,
    "gibbs": network_pages.gibbs_page,
}
