"""The words of the comparison report, by language."""

from __future__ import annotations

from bayeskit._messages import WordList

WORDS = WordList(
    {
        "title": "Which model predicts {target}?",
        "subtitle": "{path}: {rows} rows, {used} attributes used, {classes} classes",
        "next": "What to type next",
        "read": "What was read",
        "read_text": "{rows} rows with a value of {target}: {counts}.",
        "count": "{label}: {n}",
        "unlabelled": "{n} rows without one were left out.",
        "tested": "Every model learned from these and was judged on {path} ({rows} rows).",
        "folded": "Every model was judged on the same {k} folds{fn}: each row by a model that had not seen it.",
        "column": "column",
        "understood": "understood as",
        "missing": "missing",
        "suggestion": "might also suit",
        "left_out": "Left out",
        "why": "why",
        "states": "{n} values",
        "table": "categories",
        "bernoulli": "yes or no",
        "words": "words of a text",
        "identifier": "differs in (almost) every row: it names the row and tells nothing about others",
        "constant": "has one value: it tells nothing",
        "copy": "stands for {target} one to one: with it, nothing is left to predict",
        "date": "holds dates: new rows have new ones",
        "dropped": "was dropped as asked",
        "more_columns": "{n} more columns",
        "keep": "To use one all the same, name it with keep=.",
        "none_left_out": "No column was left out.",
        "compare": "The models compared",
        "chart_error": "Error on unseen rows, ± deviation",
        "chart_cost": "Cost a row on unseen rows, ± deviation",
        "chart_note": "Filled: cannot be told from the best.",
        "chart_ceiling": "Dashed: the least error that any model could have, by estimate ({value}).",
        "model": "model",
        "error": "error",
        "cost": "cost",
        "log_loss": "log-loss{fn}",
        "brier": "Brier{fn}",
        "auc": "AUC{fn}",
        "seconds": "CPU s",
        "size": "size",
        "p": "p{fn}",
        "is_best": "best",
        "is_tied": "tied",
        "failed": "Not compared: {name} ({why}).",
        "confusion": "What was taken for what",
        "confusion_text": "Rows of {pick}'s held-out answers. Down: the truth. Across: what was said.",
        "truth": "truth",
        "said": "said",
        "others": "other classes",
        "right": "found",
        "reliability": "Do the probabilities keep their word?",
        "attributes": "The attributes that tell most",
        "attributes_text": "Mutual information{fn} of each attribute and {target}, in nats, less what an "
        "attribute that knows nothing would seem to tell by chance; {target} itself has {entropy}.",
        "attribute": "attribute",
        "information": "tells, in nats",
        "of_all": "of all there is to know",
        "structure": "What depends on what",
        "structure_own": "The arcs of {pick}. {target} is a parent of every attribute and is not drawn.",
        "structure_tree": '{pick} has no arcs of its own to draw. These are those that TAN(criterion="bic") '
        "finds: of each attribute the one other that tells most about it once {target} is known, where it tells "
        "more than chance would. {target} is a parent of all and is not drawn.",
        "structure_network": "The network that {pick} found, {target} in it.",
        "structure_less": "The {n} most telling attributes are drawn.",
        "structure_none": "No attribute was found to depend on another once {target} is known.",
        "structure_others": "Of the other attributes none was found to depend on another once {target} is known.",
        "structure_single": "There is one attribute, so there are no arcs between attributes.",
        "structure_uncut": "Arcs to and from {n} columns of numbers were not looked at: no cut point in them "
        "tells about {target}, so each was one interval: {names}.",
        "rows": "Three rows explained",
        "rows_text": "Each as {pick} saw it without having learned it.",
        "surest": "The surest: row {row} is {truth}; {said} was given {p}",
        "doubtful": "The most doubtful: row {row} is {truth}; {said} was given {p}",
        "worst": "The worst mistake: row {row} is {truth}, which was given {p}; {said} was said",
        "no_mistake": "There was no mistake.",
        "decisions": "What to do: three losses",
        "decisions_text": "The same posteriors, the action of least risk{fn} each time; costs are those that "
        "came true.",
        "loss": "loss",
        "done": "what is done",
        "mean_cost": "cost a row",
        "fixed_cost": "the same action always",
        "likely_cost": "the most probable class",
        "loss_01": "every mistake costs 1",
        "loss_rare": "to miss {label} costs 5, any other mistake 1",
        "loss_given": "the loss of {path}",
        "loss_reject": "every mistake costs 1, to leave the row to somebody else 0.2",
        "reject": "somebody else",
        "reproduce": "How to get this page again",
        "command": "command",
        "seed": "seed",
        "hash": "SHA-256 of {path}",
        "versions": "versions",
        "glossary": "Words",
        "separator": ", ",
    }
)

# In the order of their first use on the page.
GLOSSARY = WordList(
    {
        "folds": "The rows are dealt into parts with the classes in the same proportions; each part is judged by a "
        "model that learned from all the others.",
        "log_loss": "The mean of −log P(what was true). 0 is perfect; to be sure and wrong costs most.",
        "brier": "The mean of Σ (P(c) − 1 if c was true, else 0)². From 0, perfect, to 2.",
        "auc": "Of two rows, one of the class and one not: how often the first has the higher probability. 0.5 is "
        "chance. With several classes the mean over them, each against the rest.",
        "p": "How often chance alone would make a difference from the best at least this large: by folds the corrected "
        "resampled t-test of Nadeau and Bengio (2003), by rows a paired z-test. From 0.05 on it is called a tie.",
        "information": "How much knowing the attribute lessens the uncertainty about the class.",
        "risk": "The costs of an action under each class, weighed by the posterior.",
    }
)
