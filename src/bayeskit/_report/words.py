"""The words of explanations by language, and the check of the language setting."""

from __future__ import annotations

from bayeskit._messages import LANGUAGES, Joined, WordList
from bayeskit.errors import SettingError

WORDS = WordList(
    {
        "title": "{target} is {label} with probability {p}",
        "value": "value",
        "prior": "P({target})",
        "prior_given": "P({target}), as given",
        "prior_unused": "P({target}), not used",
        "prior_nothing": "nothing known",
        "share": "share",
        "super_parent": "all given {name}",
        "super_parent_weighed": "all given {name}, weight {weight}",
        "log_odds": "log-odds",
        "log_odds_note": "log-odds: ln of the factor of {a} over that of {b}; they add up to the last one.",
        "log_odds_only": "log-odds: ln of the number of {a} over that of {b}; within a block they add up.",
        "joint": "product",
        "sum": "sum of blocks",
        "rest": "together",
        "evidence": "sum of products",
        "posterior": "posterior",
        "calibrated": "calibrated",
        "risk": "R({action} | x)",
        "decision": "decision",
        "rejected": "{action}, at the cost of {cost}",
        "risk_note": "R(a | x): the cost of a in each class times the posterior, summed; the least is taken.",
        "left_out": "Left out: {names} ({why}).",
        "summed": "Summed over (Σ): {names} ({why}).",
        "summed_why": "not known in this row, but others depend on it",
        "unused_why": "not taken into the model",
        "same_why": "its factor is the same in every class",
        "general_why": "follows from another value of the row",
        "missing": "missing",
        "missing_why": "missing in this row",
        "unseen_why": "a value never learned",
        "constant_why": "the same in every row learned",
        "treated": "{value} (as missing)",
        "present": "{n} of {width} columns",
        "impossible": "Every class has a product of 0, so the answer is the class prior.",
        "others": "Other classes: {list}.",
        "tables": "(n+a)/(N+A): n of N rows of the class have the value; a and A are the prior's imaginary rows.",
        "back_off": "(n+c·p)/(N+c): p is the estimate with a parent less (or 1 over the states), c its weight.",
        "given": "v | u=w: n and N count rows that have w, too.",
        "average": "Each block is P(c, x_i) ∏ P(x_j | c, x_i) with another x_i; share: of the sum of the first class.",
        "weights": "Each block is multiplied by its weight before they are added.",
        "folded": "Blocks shown without their factors: {n}; explanation.average.super_parents has all.",
        "folded_attributes": "… {n:,} attributes",
        "folded_models": "… {n:,} models",
        "neither_named": "{name} speak for neither class, their factors multiplied: {names}. all=True shows them.",
        "neither": "{name}: attributes that speak for neither class, their factors multiplied. all=True shows them.",
        "none_named": "{name} speak for no class, their factors multiplied: {names}. all=True shows them.",
        "none": "{name}: attributes that speak for no class, their factors multiplied. all=True shows them.",
        "steps": "The factors, the strongest first",
        "alone": "No value was seen often enough for its attribute to be a super-parent, so naive Bayes is used.",
        "by_value": "Each factor is P(c, x) with the value over that without it; together: what they say beyond that.",
        "log_linear": "r^w: r is P(x | c) of one attribute, or how much more often values meet in the class than their "
        "parts say, the mean over the views; w is the weight of the term. together: the bias of the class.",
        "words": "A word's value is its weight in the text, its factor relative to the mean of the classes; …: the "
        "other words. together: the product of these means, and the bias of the class.",
        "stack": "p^w: p is the posterior of one model, w its weight (its value here). together: normalising, and the "
        "share that every class has. The page of one model: members_[name].explain(row).",
        "density_note": "Densities may exceed 1.",
        "information_title": "What the attributes tell about {target}",
        "attribute": "attribute",
        "states": "states",
        "number": "number",
        "of_entropy": "of H(Y)",
        "nats": "Entropies and information in nats, each over the rows where the attribute is present.",
        "separator": ", ",
    }
)


def words_of(lang: str, words: WordList = WORDS) -> WordList:
    """Return words in a language: those of explanations, or others.

    Examples
    --------
    >>> words_of("zh")["posterior"]
    '后验概率'
    """
    if not isinstance(lang, str) or lang not in LANGUAGES:
        raise SettingError(
            "lang is {lang!r}; choose from {names}.", lang=lang, names=Joined(map(repr, LANGUAGES))
        )
    return words.of(lang)
