"""The words of explanations and of charts by language, and the check of the language setting."""

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
        "risk_note": "R(a | x): the cost of a in each class times the posterior, summed; the action with the "
        "lowest risk is chosen.",
        "left_out": "Left out: {names} ({why}).",
        "summed": "Summed over (Σ): {names} ({why}).",
        "summed_why": "missing in this row, but others depend on it",
        "unused_why": "not taken into the model",
        "same_why": "its factor is the same in every class",
        "general_why": "follows from another value of the row",
        "missing": "missing",
        "missing_why": "missing in this row",
        "unseen_why": "a value never learned",
        "constant_why": "the same in every training row",
        "treated": "{value} (as missing)",
        "present": "{n} of {width} columns",
        "impossible": "The product of every class is 0, so the prediction is the class prior.",
        "others": "Other classes: {list}.",
        "tables": "(n+a)/(N+A): n of N rows of the class have the value; a and A are the prior's imaginary rows.",
        "back_off": "(n+c·p)/(N+c): p is the estimate with one parent less (or 1 over the number of states), c "
        "its weight.",
        "given": "v | u=w: n and N count only rows with u=w.",
        "average": "Each block is P(c, x_i) ∏ P(x_j | c, x_i) with another x_i; share: of the sum of the first class.",
        "weights": "Each block is multiplied by its weight before they are added.",
        "folded": "Blocks shown without their factors: {n}; explanation.average.super_parents has all.",
        "folded_attributes": "… {n:,} attributes",
        "folded_models": "… {n:,} models",
        "neither_named": "{name} favour neither class; their factors are multiplied: {names}. all=True shows them.",
        "neither": "{name}: attributes that favour neither class; their factors are multiplied. all=True shows "
        "them.",
        "none_named": "{name} favour no class; their factors are multiplied: {names}. all=True shows them.",
        "none": "{name}: attributes that favour no class; their factors are multiplied. all=True shows them.",
        "steps": "The factors, the strongest first",
        "alone": "No value was seen often enough for its attribute to be a super-parent, so naive Bayes is used.",
        "by_value": "Each factor is P(c, x) with the value divided by that without it; together: the remaining "
        "joint effect.",
        "log_linear": "r^w: r is P(x | c) of one attribute, or how much more often values meet in the class than their "
        "parts say, the mean over the views; w is the weight of the term. together: the bias of the class.",
        "words": "A word's value is its weight in the text; its factor is relative to the mean over the classes. "
        "…: the other words. together: the product of these means, and the bias of the class.",
        "stack": "p^w: p is the posterior of one model, w its weight (its value here). together: normalising, and the "
        "share that every class has. The page of one model: members_[name].explain(row).",
        "density_note": "Densities may exceed 1.",
        "information_title": "Information about {target} in the attributes",
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


CHART_WORDS = WordList(
    {
        "reliability_title": "Reliability of P({label})",
        "reliability_top": "Reliability of the predicted class",
        "reliability_note": "On the diagonal, 70% of the rows predicted at 70% are {label}. Bars: 95% intervals.",
        "reliability_note_top": "On the diagonal, 70% of the rows predicted at 70% are correct. Bars: 95% intervals.",
        "reliability_gap": "Mean distance from the diagonal (ECE): {gap}; {n} rows.",
        "predicted": "predicted",
        "observed": "share of rows",
        "rows": "rows",
        "reject_title": "Error if the least certain rows are rejected",
        "reject_note": "{n} rows; without rejection {error} are wrong. Numbers at dots: the lowest "
        "posterior that is accepted.",
        "rejected": "share of rows rejected",
        "error": "share of wrong predictions",
        "cost": "mean cost per row",
        "cost_title": "Cost of errors about {label}",
        "cost_note": "A false alarm costs 2c, a miss 2(1 − c), so {label} is predicted if P ≥ c. The area under the "
        "curve is the Brier score, {brier}.",
        "cost_model": "this model",
        "cost_always": "always {label}",
        "cost_never": "never {label}",
        "cost_best": "best threshold in hindsight",
        "cost_axis": "c: relative cost of a false alarm",
        "roc_title": "{label}: ROC curve",
        "roc_note": "Area under the curve (AUC): {area}, 95% interval {low} to {high}. Dashed: chance.",
        "roc_x": "false positive rate",
        "roc_y": "true positive rate (recall)",
        "precision_recall_title": "{label}: precision–recall curve",
        "precision_recall_note": "Average precision: {area}, 95% interval {low} to {high}. Dashed: chance, {share}.",
        "precision_recall_x": "recall: share of its rows that are found",
        "precision_recall_y": "precision: share of predictions that are correct",
        "lift_title": "{label}: lift",
        "lift_note": "The 10% of rows with the highest probability hold {lift} "
        "times as many as 10% drawn at random. Dashed: chance.",
        "lift_x": "share of rows, most probable first",
        "lift_y": "lift: times as many as by chance",
        "regions_title": "The most probable {target} by {x} and {y}",
        "regions_note": "The stronger the colour, the more certain.",
        "regions_given": "Given: {given}.",
        "regions_missing": "All other attributes unknown.",
        "regions_dots": "{n} rows as dots, in the colour of their class.",
        "profile_title": "Each attribute by {target}",
        "profile_note": "The attributes that tell the classes apart most come first.",
        "profile_more": "{n} more attributes are not shown.",
        "profile_classes": "{n} rarer classes are not shown.",
        "others": "{n} others",
        "nomogram_title": "P({target} = {label}) from points",
        "nomogram_note": "Find the points of each value on the scale, add them up, and read the probability below.",
        "nomogram_rest": "{label} against all other classes, taken as one.",
        "nomogram_pair": "{label} against {against}.",
        "nomogram_more": "{n} more attributes are not shown; unknown ones add nothing to the odds.",
        "nomogram_row": "The dots are one row: {total} points.",
        "points": "points",
        "total": "total points",
        "probability": "P({label})",
        "waterfall_title": "Evidence for and against {a}",
        "waterfall_note": "P({a}) goes from {before} (prior) to {after} (posterior). The log-odds add up.",
        "waterfall_axis": "log-odds",
        "waterfall_total": "posterior",
        "waterfall_for": "for {label}",
        "mixture_title": "{many} over {x} and {y}",
        "component": "1 component",
        "components": "{n} components",
        "mixture_note": "The inner ellipse of a component holds half of it, the outer one 95%.",
        "mixture_component": "component {k}: {share}",
        "mixture_more": "and {n} more",
        "mixture_holes": "Rows with missing values, left out: {n}.",
        "mixture_thinned": "Rows drawn: {n} of {whole}.",
        "choice_title": "{criterion} by number of components: lowest for {best} ({value})",
        "choice_best": "{many}, {kind}",
        "choice_note": "Lower is better.",
        "choice_axis": "components",
    }
)


def chart_words(lang: str) -> WordList:
    """Return the words of charts in a language.

    Examples
    --------
    >>> chart_words("zh")["total"]
    '总分'
    """
    return words_of(lang, CHART_WORDS)
