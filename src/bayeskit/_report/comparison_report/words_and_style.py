"""The words of the comparison report, by language; and its look, beyond that of every page: a grid, sortable tables."""

from __future__ import annotations

from bayeskit._markup import CODE_FONT, FONT, elements, variables
from bayeskit._messages import WordList
from bayeskit._report.charts.axis import COLOURS

WORDS = WordList(
    {
        "title": "Which model predicts {target}?",
        "subtitle": "{path}: {rows} rows, {used} attributes used, {classes} classes",
        "card_model": "Recommended",
        "card_of": "of {n} models compared",
        "card_error": "Error on unseen rows",
        "card_cost": "Cost of a row",
        "card_lift": "Improvement over the majority class",
        "card_against": "Always predicting {label}: error {base}.",
        "interval": "95% interval {low} to {high}.",
        "warnings": "Warnings",
        "kind_leak": "leak?",
        "kind_perfect": "too good?",
        "kind_useless": "no gain?",
        "kind_never": "class never predicted",
        "kind_rare": "rare class",
        "kind_few": "few test rows",
        "kind_folds": "small folds",
        "kind_too_sure": "overconfident",
        "kind_too_doubtful": "underconfident",
        "kind_uneven": "probabilities off",
        "kind_sample": "sample",
        "kind_interrupt": "stopped early",
        "kind_time": "stopped early",
        "kind_screened": "fewer columns",
        "next": "What to type next",
        "read": "What was read",
        "read_text": "{rows} rows with a value of {target}: {counts}.",
        "count": "{label}: {n}",
        "unlabelled": "{n} rows without a value were left out.",
        "tested": "Every model was trained on these rows and evaluated on {path} ({rows} rows).",
        "folded": "Every model was evaluated on the same {k} folds{fn}: each row is predicted by a model that was "
        "not trained on it.",
        "column": "column",
        "understood": "read as",
        "missing": "missing",
        "suggestion": "might also suit",
        "left_out": "Left out",
        "marks": "taken as missing",
        "why": "why",
        "states": "{n} values",
        "table": "categories",
        "bernoulli": "yes or no",
        "words": "words of a text",
        "identifier": "differs in (almost) every row: it identifies the row and carries no information about "
        "others",
        "constant": "has one value only: it carries no information",
        "copy": "is a copy of {target}: with it, nothing is left to predict",
        "date": "contains dates: new rows have new dates",
        "dropped": "was dropped as asked",
        "unfold": "All {n} columns",
        "keep": "To use one anyway, name it in keep=.",
        "none_left_out": "No column was left out.",
        "compare": "The models compared",
        "chart_error": "Error on held-out rows, ± standard deviation",
        "chart_cost": "Cost per row on held-out rows, ± standard deviation",
        "chart_note": "Filled: not significantly different from the best.",
        "chart_ceiling": "Dashed: the estimated lowest possible error of any model ({value}).",
        "model": "model",
        "error": "error",
        "cost": "cost",
        "log_loss": "log-loss{fn}",
        "brier": "Brier{fn}",
        "auc": "AUC{fn}",
        "seconds": "CPU s",
        "size": "size",
        "p": "p{fn}",
        "behind": "behind the best{fn}",
        "is_best": "best",
        "is_tied": "tied",
        "failed": "Not compared: {name} ({why}).",
        "confusion": "Confusion matrix",
        "confusion_text": "Held-out predictions of {pick}. Rows: true class. Columns: predicted class.",
        "truth": "truth",
        "said": "predicted class",
        "others": "other classes",
        "by_class": "Class by class",
        "by_class_text": "Held-out predictions of {pick}, with 95% intervals.",
        "class": "class",
        "test_rows": "test rows",
        "taken": "predicted rows",
        "recall": "recall{fn}",
        "precision": "precision{fn}",
        "f1": "F1{fn}",
        "finding": "The rarest class, {label}, at every threshold",
        "thresholds_text": "The threshold for predicting {label} depends on the cost ratio of a miss to a false "
        "alarm: it is 1/(1 + ratio). Costs are per row; a false alarm costs 1.",
        "ratio": "miss : false alarm",
        "from_p": "predicted if P ≥",
        "taken_share": "rows predicted",
        "found_share": "recall",
        "right_share": "precision",
        "half_cost": "cost if P ≥ 0.5",
        "reliability": "Are the probabilities calibrated?",
        "attributes": "The most informative attributes",
        "attributes_text": "Mutual information{fn} between each attribute and {target}, in nats, corrected for "
        "chance. The entropy of {target} is {entropy}.",
        "importance_of": "importance",
        "attribute": "attribute",
        "adds": "log-loss if shuffled",
        "importance_text": "Importance of each column in {pick}{fn}: how much the log-loss on held-out rows "
        "increases if the column is shuffled (± standard deviation over folds). Next to it: the information in "
        "the column alone.",
        "profiles": "The columns, one by one",
        "profiles_text": "Values of {rows} rows by class. Hover over a bar to read it.",
        "values_by_class": "values by class",
        "distinct": "distinct",
        "typical": "min … median … max, or most frequent",
        "others_short": "all others",
        "relation": "shared information",
        "relations_text": "Pairs of columns with the most information about each other, regardless of class. 100% "
        "means that one determines the other. Corrected for chance.",
        "no_relations": "No two columns have much information about each other.",
        "information": "information in nats",
        "of_all": "share of the entropy",
        "structure": "What depends on what",
        "structure_own": "The arcs of {pick}. {target} is a parent of every attribute and is not drawn.",
        "structure_tree": "{pick} has no arcs between attributes. The arcs shown are those of "
        'TAN(criterion="bic"): each attribute has as parent the attribute with the most information about it '
        "given {target}, if that is more than chance. {target} is a parent of all attributes and is not drawn.",
        "structure_network": "The network learned by {pick}, including {target}.",
        "structure_less": "The {n} most informative attributes are drawn.",
        "structure_none": "No dependence between attributes was found, given {target}.",
        "structure_others": "No dependence between the other attributes was found, given {target}.",
        "structure_some": "No dependence between the examined attributes was found, given {target}.",
        "structure_single": "There is one attribute, so there are no arcs between attributes.",
        "structure_uncut": "Arcs to and from {n} numeric columns were not examined, because no cut point is "
        "informative about {target}: {names}.",
        "structure_uncut_one": "Arcs to and from one numeric column were not examined, because no cut point is "
        "informative about {target}: {names}.",
        "rows": "Three rows explained",
        "rows_text": "Each is predicted by {pick}, trained without it.",
        "surest": "Most certain: row {row} is {truth}; predicted {said} with probability {p}",
        "doubtful": "Least certain: row {row} is {truth}; predicted {said} with probability {p}",
        "worst": "Worst error: row {row} is {truth}, to which the model gave {p}; predicted {said}",
        "no_mistake": "There were no errors.",
        "decisions": "Decisions under three losses",
        "decisions_text": "The posteriors are the same; each time, the action with the lowest risk{fn} is taken. "
        "Costs are those that actually occurred.",
        "loss": "loss",
        "done": "actions",
        "mean_cost": "cost per row",
        "fixed_cost": "best constant action",
        "likely_cost": "most probable class",
        "loss_01": "every error costs 1",
        "loss_rare": "missing {label} costs 5, any other error 1",
        "loss_given": "the loss of {path}",
        "loss_reject": "every error costs 1, rejecting the row 0.2",
        "reject": "rejected",
        "reproduce": "How to reproduce this page",
        "command": "command",
        "seed": "seed",
        "hash": "SHA-256 of {path}",
        "versions": "versions",
        "glossary": "Glossary",
        "separator": ", ",
    }
)

# In the order of their first use on the page.
GLOSSARY = WordList(
    {
        "folds": "The rows are divided into parts with the same class proportions. Each part is predicted by a "
        "model that was trained on all other parts.",
        "log_loss": "The mean of −log P(true class). 0 is perfect; confident errors cost most.",
        "brier": "The mean of Σ (P(c) − [c is the true class])². From 0 (perfect) to 2.",
        "auc": "The probability that a random row of the class gets a higher probability than a random other row. "
        "0.5 is chance. With several classes: the mean over the classes, each against the rest.",
        "p": "The probability of a difference from the best at least this large by chance alone. For folds: the "
        "corrected resampled t-test of Nadeau and Bengio (2003); for test rows: a paired z-test. From 0.05 on, "
        "the models are called tied.",
        "behind": "The difference from the best model and its 95% interval: errors in percentage points, costs as "
        "numbers. If the interval contains 0, either model may be better.",
        "recall": "Of the rows of the class, the share that is predicted as this class.",
        "precision": "Of the rows predicted as the class, the share that belongs to it.",
        "f1": "The harmonic mean of recall and precision.",
        "importance": "Permutation importance. If two columns are redundant, neither seems important, because the "
        "other remains.",
        "information": "How much knowing the attribute reduces the uncertainty about the class.",
        "risk": "The costs of an action under each class, weighted by the posterior.",
    }
)


# The look of the report: that of every page, a grid, and tables that can be sorted.
#
# A page is complete without scripts; the one here sorts a table by the column whose heading is pressed.

_LIGHT = f"{variables(0)};--hit:42,102,171;--miss:194,87,26"
_DARK = f"{variables(1)};--hit:130,180,238;--miss:240,160,106"


def _classes(shade: int) -> str:
    return ";".join(f"--c{k}:{pair[shade]}" for k, pair in enumerate(COLOURS[:4]))


STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT};{_classes(0)}}}
@media(prefers-color-scheme:dark){{:root{{{_DARK};{_classes(1)}}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;max-width:84rem;padding:1.5rem 1.25rem 4rem;color:var(--ink);background:var(--page);
font:16px/1.55 {FONT};overflow-wrap:anywhere}}
h1{{font-size:1.7rem;line-height:1.25;margin:.5rem 0 .2rem}}
h2{{font-size:1.15rem;line-height:1.3;margin:0 0 .5rem}}
h3{{font-size:1rem;margin:1.2rem 0 .3rem}}
p{{margin:.4rem 0;max-width:52rem}}
.faint,caption,small{{color:var(--faint)}}
.cards,.grid{{display:grid;gap:1rem;margin:1rem 0}}
.cards{{grid-template-columns:repeat(auto-fit,minmax(min(10rem,100%),1fr))}}
.grid{{grid-template-columns:repeat(auto-fit,minmax(min(34rem,100%),1fr));align-items:start}}
.grid>*{{min-width:0}}.figure>svg{{height:auto;width:max(440px,min(100%,32rem))}}.grid>div>:first-child{{margin-top:0}}
.card,section,.verdict{{background:var(--card);border:1px solid var(--line);border-radius:10px;min-width:0}}
.card{{padding:.8rem 1rem}}
.card>*{{display:block}}
small.below{{display:block}}
.card small{{font-size:.82rem;line-height:1.4}}
.card b{{font-size:1.65rem;line-height:1.25;font-variant-numeric:tabular-nums;font-weight:650}}
.card b.name{{font-size:1.25rem;line-height:1.65rem;white-space:normal}}
.card.warn{{background:var(--warn-card);border-color:var(--warn)}}.card.warn b{{color:var(--warn)}}
section{{padding:1rem 1.1rem 1.1rem;margin:1rem 0}}.grid>section{{margin:0}}.grid>div>:last-child{{margin-bottom:0}}
.verdict{{font-size:1.1rem;padding:.9rem 1.1rem;margin:1rem 0;border-left:4px solid var(--accent);max-width:none}}
.verdict p{{max-width:70rem}}.verdict p+p{{font-size:.95rem;color:var(--faint)}}
ul.warnings{{list-style:none;margin:0;padding:0}}
ul.warnings li{{padding:.5rem .8rem;margin:.4rem 0;background:var(--warn-card);border-left:4px solid var(--warn);
border-radius:6px}}
.wide{{overflow-x:auto;margin:.6rem 0}}.tall{{max-height:36rem;border:1px solid var(--line)}}
.wide p{{color:var(--faint);font-size:.88rem}}
{elements()}
th,td{{overflow-wrap:normal}}tbody tr:hover>*{{background:rgba(var(--hit),.08)}}
.name{{white-space:nowrap}}
.wide th:first-child,.wide td:first-child{{min-width:6.5em}}.wide td:nth-child(2){{min-width:6em}}
.matrix th,.matrix td{{padding:.4rem .7rem;border:1px solid var(--line);text-align:right}}
.matrix tbody tr:hover>.hit{{background:rgba(var(--hit),var(--share))}}
.matrix tbody tr:hover>.miss{{background:rgba(var(--miss),var(--share))}}
.hit{{background:rgba(var(--hit),var(--share))}}.miss{{background:rgba(var(--miss),var(--share))}}
.meter{{display:block;width:8rem;max-width:26vw;height:.7rem;background:var(--line);border-radius:3px;margin-top:.35rem}}
.grid .meter{{width:5.5rem}}.meter>span{{display:block;height:100%;background:var(--accent);border-radius:3px}}
.spark{{display:inline-flex;gap:3px;height:2.1rem;align-items:flex-end}}
.spark>span{{display:inline-flex;gap:1px;height:100%;align-items:flex-end;border-bottom:1px solid var(--line)}}
.spark>span>span{{width:5px;min-height:1px;border-radius:1px 1px 0 0}}
.key{{margin-right:1rem;white-space:nowrap}}
.key>span{{display:inline-block;width:.7rem;height:.7rem;border-radius:2px;margin-right:.35rem}}
.c0{{background:var(--c0)}}.c1{{background:var(--c1)}}.c2{{background:var(--c2)}}.c3{{background:var(--c3)}}
code,pre{{font:.86rem/1.5 {CODE_FONT}}}
td code{{overflow-wrap:anywhere}}
details{{margin:.5rem 0}}
pre{{margin:.4rem 0;padding:.7rem .9rem;overflow-x:auto;white-space:pre-wrap;border:1px solid var(--line);
border-radius:6px}}
svg{{max-width:100%;height:auto;display:block}}.wide svg{{max-width:none}}
sup{{line-height:0}}ol.words{{padding-left:1.4rem;font-size:.92rem;max-width:52rem}}
th[aria-sort]{{cursor:pointer}}th[aria-sort=ascending]::after{{content:" ▴"}}
th[aria-sort=descending]::after{{content:" ▾"}}
@media(max-width:30rem){{body{{padding:1rem .6rem 3rem}}
section,.card,.verdict{{padding-left:.8rem;padding-right:.8rem}}
.figure{{margin:0 -.8rem}}}}
@page{{size:A4;margin:15mm}}
@media print{{:root{{{_LIGHT};--page:#fff}}body{{padding:0;font-size:10pt;max-width:none;
-webkit-print-color-adjust:exact;print-color-adjust:exact}}
.grid{{display:block}}section{{margin:.6rem 0}}
.wide,.figure,pre{{overflow:visible;max-height:none}}
.wide svg,.figure>svg{{max-width:100%}}table{{font-size:8pt}}th,td{{padding-right:.5rem}}
h2,h3,.faint,caption,thead{{break-after:avoid}}tr,svg,.verdict,.card,li{{break-inside:avoid}}
.name,.n{{white-space:normal}}}}
"""

# Sorts by the first number of a cell, else by its text. A third press is as good as the first.
SCRIPT = """
document.querySelectorAll("table").forEach(function (table) {
  var head = table.tHead, body = table.tBodies[0];
  if (!head || !body || body.rows.length < 3 || table.classList.contains("matrix")) return;
  Array.prototype.forEach.call(head.rows[0].cells, function (cell, column) {
    cell.setAttribute("aria-sort", "none");
    cell.setAttribute("tabindex", "0");
    function value(row) {
      var text = row.cells[column] ? row.cells[column].textContent.trim() : "";
      var number = parseFloat(text.replace(/,/g, "").replace("\\u2212", "-").replace(/^[<+]\\s*/, ""));
      return isNaN(number) ? text : number;
    }
    function sort() {
      var down = cell.getAttribute("aria-sort") === "ascending";
      Array.prototype.forEach.call(head.rows[0].cells, function (each) { each.setAttribute("aria-sort", "none"); });
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      Array.prototype.slice.call(body.rows).sort(function (a, b) {
        var one = value(a), other = value(b);
        var order = typeof one === typeof other ? (one > other) - (one < other) : typeof one === "number" ? -1 : 1;
        return down ? -order : order;
      }).forEach(function (row) { body.appendChild(row); });
    }
    cell.addEventListener("click", function (event) { if (event.target.tagName !== "A") sort(); });
    cell.addEventListener("keydown", function (event) { if (event.key === "Enter") sort(); });
  });
});
window.addEventListener("beforeprint", function () {
  document.querySelectorAll("details").forEach(function (each) { each.open = true; });
});
"""
