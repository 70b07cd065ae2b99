"""All pages by name, and those that can be made of any small table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayeskit._report.textbook import (
    dependence_pages,
    estimate_pages,
    fraction_pages,
    joint_pages,
    melon_pages,
    network_pages,
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
    "spam": fraction_pages.spam_page,
    "melon8": melon_pages.eight_melons_page,
    "melon3": melon_pages.first_melon_page,
    "lihang": fraction_pages.rows_page,
    "grass": joint_pages.grass_page,
    "structures": joint_pages.structures_page,
    "em": fraction_pages.coins_page,
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
