"""The words on charts, by language."""

from __future__ import annotations

from bayeskit._messages import WordList
from bayeskit._report.words import words_of

WORDS = WordList(
    {
        "reliability_title": "Reliability of P({label})",
        "reliability_top": "Reliability of the class chosen",
        "reliability_note": "On the diagonal, of rows given 70% as many are {label}. Bars: 95% of the share seen.",
        "reliability_note_top": "On the diagonal, of rows given 70% as many are right. Bars: 95% of the share seen.",
        "reliability_gap": "Mean distance from the diagonal (ECE): {gap}; {n} rows.",
        "predicted": "predicted",
        "observed": "share of rows",
        "rows": "rows",
        "reject_title": "Errors where the least sure rows are left to somebody else",
        "reject_note": "{n} rows; with none rejected {error} are wrong. Numbers at dots: the posterior asked for.",
        "rejected": "share of rows rejected",
        "error": "share of wrong answers",
        "cost": "mean cost of a row",
        "cost_title": "What mistakes about {label} cost",
        "cost_note": "A false alarm costs 2c, a miss 2(1 − c), so {label} is said from P ≥ c on. Area under the "
        "curve: the Brier score, {brier}.",
        "cost_model": "this model",
        "cost_always": "always {label}",
        "cost_never": "never {label}",
        "cost_best": "best threshold in hindsight",
        "cost_axis": "c, the part of the cost that a false alarm has",
        "roc_title": "{label}: found against false alarms (ROC)",
        "roc_note": "Area under the curve (AUC): {area}, 95% interval {low} to {high}. Dashed: chance.",
        "roc_x": "share of other rows taken for it",
        "roc_y": "share of its rows found",
        "precision_recall_title": "{label}: precision against recall",
        "precision_recall_note": "Average precision: {area}, 95% interval {low} to {high}. Dashed: chance, {share}.",
        "precision_recall_x": "recall: share of its rows found",
        "precision_recall_y": "precision: share of answers that are right",
        "lift_title": "{label}: lift",
        "lift_note": "The likeliest tenth of the rows holds {lift} times as many as any tenth would. Dashed: chance.",
        "lift_x": "share of rows, the likeliest first",
        "lift_y": "times as many as by chance",
        "regions_title": "The most probable {target} by {x} and {y}",
        "regions_note": "The stronger the colour, the surer.",
        "regions_given": "Given: {given}.",
        "regions_missing": "All other attributes unknown.",
        "regions_dots": "{n} rows as dots, in the colour of their class.",
        "profile_title": "Each attribute by {target}",
        "profile_note": "The attributes that tell the classes apart most come first.",
        "profile_more": "{n} more attributes are not shown.",
        "profile_classes": "{n} rarer classes are not shown.",
        "others": "{n} others",
        "nomogram_title": "P({target} = {label}), read off points",
        "nomogram_note": "Find the points of each value on the scale, add them up, and read the probability below.",
        "nomogram_rest": "{label} against all other classes, taken as one.",
        "nomogram_pair": "{label} against {against}.",
        "nomogram_more": "{n} more attributes are not shown; unknown ones add nothing to the odds.",
        "nomogram_row": "The dots are one row: {total} points.",
        "points": "points",
        "total": "total points",
        "probability": "P({label})",
        "waterfall_title": "What speaks for {a}, and what against it",
        "waterfall_note": "P({a}) goes from {before} by the prior to {after} with this row. The log-odds add up.",
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
        "choice_title": "{criterion} by number of components: least for {best} ({value})",
        "choice_best": "{many}, {kind}",
        "choice_note": "The lower the better.",
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
    return words_of(lang, WORDS)
