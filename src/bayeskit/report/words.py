"""The words of a report, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from bayeskit.errors import SettingError

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "{target} is {label} with probability {p}",
        "value": "value",
        "prior": "P({target})",
        "prior_given": "P({target}), as given",
        "prior_unused": "P({target}), not used",
        "log_odds": "log-odds",
        "log_odds_note": "log-odds: ln of the factor of {a} over that of {b}; they add up to the last one.",
        "joint": "product",
        "evidence": "sum of products",
        "posterior": "posterior",
        "left_out": "Left out: {names} ({why}).",
        "missing": "missing",
        "missing_why": "missing in this row",
        "unseen_why": "a value never learned",
        "constant_why": "the same in every row learned",
        "treated": "{value} (as missing)",
        "present": "{n} of {width} columns",
        "impossible": "Every class has a product of 0, so the answer is the class prior.",
        "others": "Other classes: {list}.",
        "tables": "(n+a)/(N+A): n of N rows of the class have the value; a and A are the prior's imaginary rows.",
        "gaussian": "N(x; μ, σ²) is the normal density.",
        "student": "t(x; ν, μ, s) is Student's density.",
        "kernel": "kernel(x; h) is a kernel density of bandwidth h.",
        "poisson": "Pois(x; λ) is the Poisson probability.",
        "density_note": "Densities may exceed 1.",
        "separator": ", ",
        "gap": " ",
    },
    "zh": {
        "title": "{target} 为 {label}，概率 {p}",
        "value": "取值",
        "prior": "P({target})",
        "prior_given": "P({target})（给定）",
        "prior_unused": "P({target})（未用）",
        "log_odds": "对数几率",
        "log_odds_note": "对数几率：ln（{a} 的因子 / {b} 的因子），相加即得最后一行。",
        "joint": "乘积",
        "evidence": "乘积之和",
        "posterior": "后验概率",
        "left_out": "未计入：{names}（{why}）。",
        "missing": "缺失",
        "missing_why": "此样本缺失",
        "unseen_why": "训练中未见过的取值",
        "constant_why": "训练中取值恒定",
        "treated": "{value}（按缺失）",
        "present": "{width} 列中的 {n} 列",
        "impossible": "每一类的乘积都为 0，因此给出类先验。",
        "others": "其他类：{list}。",
        "tables": "(n+a)/(N+A)：该类 N 个样本中有 n 个取此值；a 与 A 是先验带来的虚拟样本数。",
        "gaussian": "N(x; μ, σ²) 为正态密度。",
        "student": "t(x; ν, μ, s) 为 t 分布密度。",
        "kernel": "kernel(x; h) 为带宽 h 的核密度。",
        "poisson": "Pois(x; λ) 为泊松概率。",
        "density_note": "密度可大于 1。",
        "separator": "、",
        "gap": "",
    },
}


def words_of(lang: str) -> Mapping[str, str]:
    """Return the words of a language.

    Examples
    --------
    >>> words_of("zh")["posterior"]
    '后验概率'
    """
    try:
        return WORDS[lang]
    except (KeyError, TypeError):
        raise SettingError(f"lang is {lang!r}; choose from {', '.join(map(repr, WORDS))}.") from None
