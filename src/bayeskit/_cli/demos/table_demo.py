"""The demonstration on a bundled table: columns, comparison, one row explained, a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit import datasets
from bayeskit._cli.demos.stories import WORDS, Story, story_of
from bayeskit._cli.output import console, note, noting_compilation, noting_warnings, table
from bayeskit._comparison.trials import (
    LEAST_PROBABILITY,
    Columns,
    Contender,
    Folds,
    Rows,
    as_matrix,
    folds_of,
    try_model,
)
from bayeskit._conditionals.density import family_of
from bayeskit._decision.choice import decide
from bayeskit._display_table import as_rich
from bayeskit._messages import WordList, text_in
from bayeskit._report.explanation import Explanation
from bayeskit._report.fractions import number, share
from bayeskit._report.page import page_of
from bayeskit._schema import Label
from bayeskit._visible import plain
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from rich.console import Console

    from bayeskit._classifiers.count_classifier import CountClassifier

# With this many rows a comparison takes seconds, and a first one needs few compiled kernels. A larger table is sampled.
MOST_ROWS = 1_600
# The explained row is one for which the model is fairly but not completely certain, so that the costs matter.
SURE = 0.75


@dataclass(frozen=True)
class ColumnNote:
    """How one column was read."""

    name: str
    family: str
    states: int
    missing: int
    suggestion: str | None

    def to_dict(self) -> dict[str, Any]:
        return {k: plain(v) for k, v in vars(self).items()}


@dataclass(frozen=True)
class Score:
    """One model's figures over all folds.

    Attributes
    ----------
    error : float
        The share of rows whose most probable class is wrong.
    log_loss : float
        −mean log P(truth | x).
    brier : float
        The mean of Σ_c (P(c | x) − [c is the truth])²: from 0 to 2.
    cpu_seconds : float
        For fitting and predicting, all folds together.
    """

    model: str
    error: float
    log_loss: float
    brier: float
    cpu_seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Verdict:
    """The decision for the row explained: the risk of each action, and which was taken."""

    actions: tuple[Any, ...]
    costs: tuple[tuple[float, ...], ...]
    risks: tuple[float, ...]
    taken: Any
    reject: float | None

    def to_dict(self) -> dict[str, Any]:
        return {k: plain(v) for k, v in vars(self).items()}


@dataclass(frozen=True)
class Demo:
    """Everything that the demonstration found."""

    data: datasets.Dataset
    lang: str
    story: Story
    rows_used: int
    columns: tuple[ColumnNote, ...]
    folds: int
    scores: tuple[Score, ...]
    row: Any
    truth: Any
    explanation: Explanation
    verdict: Verdict

    @property
    def next_lines(self) -> tuple[str, ...]:
        """Three lines of Python to continue with."""
        states = "states=data.states" if self.data.states else ""
        return (
            "from bayeskit import NaiveBayes, datasets",
            f'data = datasets.load_dataset("{self.data.name}"); model = NaiveBayes({states}).fit(data.X, data.y)',
            'print(model.explain(data.X[:1]))  # your own table: NaiveBayes().fit("file.csv", target="class")',
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain values."""
        data = self.data
        return {
            "data": {"name": data.name, "title": data.title, "source": data.source, "licence": data.licence}
            | {"target": data.target, "rows": len(data), "rows_used": self.rows_used}
            | {"left_out": list(self.story.exclude)},
            "columns": [column.to_dict() for column in self.columns],
            "comparison": {"folds": self.folds, "models": [score.to_dict() for score in self.scores]},
            "row": plain(self.row),
            "truth": plain(self.truth),
            "explanation": self.explanation.to_dict(),
            "decision": self.verdict.to_dict(),
            "next": list(self.next_lines),
        }


def run(table: str, lang: str) -> Demo:
    """Train, compare, explain and decide; progress goes to standard error."""
    words, story = WORDS.of(lang), story_of(table)
    note(words["reading"].format(name=table))
    from bayeskit import NaiveBayes

    data = datasets.load_dataset(table)
    rows = _sampled(len(data))
    columns: Columns = {
        name: data.columns[name][rows] for name in data.attributes if name not in story.exclude
    }
    y = data.y[rows]
    with noting_compilation(words["compiling"].format(model="NaiveBayes, TAN, …")), noting_warnings():
        note(words["training"].format(n=len(rows)))
        states: dict[Any, Any] = dict(data.states)
        model = NaiveBayes(states=states).fit({**columns, data.target: y}, target=data.target)
        folds, scores = _compared(model, columns, y, data.states, words)
        place = _telling_row(model.predict_proba(columns), model.classes_, story)
        row = {name: column[place] for name, column in columns.items()}
        explanation = model.explain(row, lang=lang)
    return Demo(
        data=data,
        lang=lang,
        story=story,
        rows_used=len(rows),
        columns=_column_notes(model, columns),
        folds=folds,
        scores=scores,
        row=data.index[rows[place]],
        truth=y[place],
        explanation=explanation,
        verdict=_decided(explanation, story),
    )


def _sampled(n: int) -> NDArray[np.intp]:
    if n <= MOST_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_ROWS, replace=False))


def _compared(
    model: CountClassifier,
    columns: Columns,
    y: NDArray[Any],
    states: Mapping[str, Sequence[Label]],
    words: Mapping[str, str],
) -> tuple[int, tuple[Score, ...]]:
    kinds = {variable.name: variable.kind for variable in model.schema_.attributes}
    numeric = {name for name in columns if kinds[name] == "numeric"}
    places = [
        [j for j, name in enumerate(columns) if (name in numeric) is wanted] for wanted in (True, False)
    ]
    matrix, folds = as_matrix(columns, numeric), folds_of(y)
    classes, scores = np.unique(y), []
    for contender in contenders(places[0], places[1], states):
        note(words["validating"].format(model=words.get(contender.name, contender.name)))
        scores.append(cross_validate(contender, columns, matrix, y, folds, classes))
    return len(folds), tuple(scores)


def contenders(
    numeric: list[int], categorical: list[int], states: Mapping[str, Sequence[Label]]
) -> list[Contender]:
    """List the models of the demonstration: ours on the table as it is, the baselines on an encoded matrix.

    Parameters
    ----------
    numeric, categorical : places of the columns in the matrix of `as_matrix`
    states : mapping
        The states that the table declares.
    """
    from bayeskit import AODE, TAN, AutoBayes, NaiveBayes
    from bayeskit._comparison.candidates import forest, logistic, majority

    found = [Contender("NaiveBayes()", lambda: NaiveBayes(states=states))]
    if numeric:
        kernel = 'NaiveBayes(numeric="kernel")'
        found.append(Contender(kernel, lambda: NaiveBayes(states=states, numeric="kernel")))
    return [
        *found,
        Contender("TAN()", lambda: TAN(states=states)),
        Contender("AODE()", lambda: AODE(states=states)),
        Contender('AutoBayes(effort="fast")', lambda: AutoBayes(effort="fast", states=states)),
        Contender("logistic regression", lambda: logistic(numeric, categorical), "baseline"),
        Contender("random forest", lambda: forest(0), "baseline"),
        Contender("majority class", majority, "baseline"),
    ]


def cross_validate(
    contender: Contender,
    columns: Columns,
    matrix: Floats,
    y: NDArray[Any],
    folds: Folds,
    classes: NDArray[Any],
) -> Score:
    """Score one model on held-out rows."""

    def take(rows: Rows) -> Any:
        ours = contender.kind == "ours"
        return {name: column[rows] for name, column in columns.items()} if ours else matrix[rows]

    trial = try_model(contender, take, y, folds, classes)
    return Score(contender.name, *figures(trial.posterior, np.searchsorted(classes, y)), trial.seconds)


def figures(posterior: Floats, truth: NDArray[np.intp]) -> tuple[float, float, float]:
    """Return the error, the log-loss and the Brier score of posteriors (n, K) against the classes' places.

    Examples
    --------
    >>> [round(f, 4) for f in figures(np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([0, 1]))]
    [0.5, 0.4904, 0.3125]
    """
    rows = np.arange(len(truth))
    log_loss = -np.log(np.maximum(posterior[rows, truth], LEAST_PROBABILITY)).mean()
    target = np.zeros_like(posterior)
    target[rows, truth] = 1.0
    brier = ((posterior - target) ** 2).sum(axis=1).mean()
    return float((posterior.argmax(axis=1) != truth).mean()), float(log_loss), float(brier)


def _column_notes(model: CountClassifier, columns: Columns) -> tuple[ColumnNote, ...]:
    notes = []
    for name, choice in model.families_.items():
        missing = sum(value is None or value != value for value in columns[name].tolist())
        notes.append(ColumnNote(name, choice.family, model.schema_[name].size, missing, choice.suggestion))
    return tuple(notes)


def _telling_row(posterior: NDArray[np.float64], classes: NDArray[Any], story: Story) -> int:
    """Return the row whose highest posterior is closest to the target certainty."""
    distance = np.abs(posterior.max(axis=1) - SURE)
    if story.likely in classes.tolist():
        likely = posterior.argmax(axis=1) == classes.tolist().index(story.likely)
        distance = np.where(likely, distance, distance + 1.0)
    return int(distance.argmin())


def _decided(explanation: Explanation, story: Story) -> Verdict:
    posterior = dict(zip(explanation.classes, explanation.posterior, strict=True))
    decision = decide(posterior, story.loss, reject=story.reject)
    if story.loss is None:
        costs = tuple(tuple(float(a != c) for c in explanation.classes) for a in decision.names)
    else:
        costs = tuple(
            tuple(float(story.loss[str(a)][c]) for c in explanation.classes) for a in decision.names
        )
    return Verdict(decision.names, costs, tuple(decision.risks.tolist()), decision.actions, story.reject)


def print_demo(demo: Demo) -> None:
    """Print all sections."""
    words, screen = WORDS.of(demo.lang), console()
    data, separator = demo.data, text_in(demo.lang, ", ")
    screen.print(text_in(demo.lang, data.title), style="bold")
    screen.print(words["rows"].format(n=len(data), d=len(data.attributes), target=data.target))
    if demo.rows_used < len(data):
        screen.print(words["sampled"].format(used=demo.rows_used, n=len(data)))
    if demo.story.exclude:
        why = text_in(demo.lang, demo.story.why_left_out)
        screen.print(words["not_used"].format(names=separator.join(demo.story.exclude), why=why))
    _section(screen, words["columns"])
    screen.print(_columns(demo, words))
    _section(screen, words["compare"].format(k=demo.folds))
    screen.print(_scores(demo, words))
    screen.print(winner(demo.scores, words, separator))
    _section(screen, words["explain"].format(row=demo.row, truth=demo.truth))
    screen.print(as_rich(page_of(demo.explanation)))
    _section(screen, words["decide"])
    _print_verdict(screen, demo, words)
    screen.print(f"\n{words['next']}", style="bold")
    for line in demo.next_lines:
        screen.print(f"  {line}", soft_wrap=True)  # never broken, so that it can be copied


def _section(screen: Console, title: str) -> None:
    screen.print(f"\n{title}", style="bold cyan")


def _family(family: str, words: WordList, lang: str) -> str:
    """Return the words of a numeric family, which defines its own."""
    return words[family] if family in words else text_in(lang, family_of(family).words.read_as)


def _columns(demo: Demo, words: WordList) -> Any:
    rows = []
    for column in demo.columns:
        states = words["states"].format(n=column.states)
        read_as = _family(column.family, words, demo.lang) + (
            f"{text_in(demo.lang, ', ')}{states}" if column.states else ""
        )
        suggestion = _family(column.suggestion, words, demo.lang) if column.suggestion else ""
        rows.append((column.name, read_as, suggestion, str(column.missing or "")))
    headers = [words[key] for key in ("column", "read_as", "suggestion", "missing")]
    kept = [j for j in range(4) if j < 2 or any(row[j] for row in rows)]
    return table([headers[j] for j in kept], [[row[j] for j in kept] for row in rows], 3 if 2 in kept else 2)


def _scores(demo: Demo, words: WordList) -> Any:
    rows = [
        (_name(s, words), f"{s.error:.1%}", f"{s.log_loss:.3f}", f"{s.brier:.3f}", f"{s.cpu_seconds:.2f}")
        for s in demo.scores
    ]
    return table([words[key] for key in ("model", "error", "log_loss", "brier", "cpu")], rows, 1)


def _name(score: Score, words: WordList) -> str:
    return words.get(score.model, score.model)


def winner(scores: Sequence[Score], words: WordList, separator: str = ", ") -> str:
    """Return which models have the lowest error, which has the best probabilities, and the rank of ours."""
    least = min(s.error for s in scores)
    best = sorted((s for s in scores if s.error == least), key=lambda s: s.log_loss)
    names = [_name(s, words) for s in best]
    key = "winner" if len(best) == 1 else "winners"
    said = words[key].format(model=names[0], models=separator.join(names), error=f"{least:.1%}")
    sharp = min(scores, key=lambda s: s.log_loss)
    end = "winner_other" if sharp not in best else "winner_same" if len(best) > 1 else "winner_too"
    said += words[end].format(model=_name(sharp, words), loss=sharp.log_loss)
    ours = min((s for s in scores if s.model.startswith("NaiveBayes")), key=lambda s: (s.error, s.log_loss))
    ratio = best[0].cpu_seconds / max(ours.cpu_seconds, 1e-9)
    if ours not in best and ratio >= 2.0:
        error = f"{ours.error:.1%}"
        said += words["ours"].format(model=ours.model, error=error, ratio=ratio, best=names[0])
    know_nothing = next(s for s in scores if s.model == "majority class")
    if ours.log_loss > know_nothing.log_loss:
        said += words["too_sure"].format(model=ours.model)
    return said[0].upper() + said[1:]


def _print_verdict(screen: Console, demo: Demo, words: WordList) -> None:
    verdict, e = demo.verdict, demo.explanation
    # Without a loss the actions are the classes, whose names are the table's.
    named = str if demo.story.loss is None else partial(text_in, demo.lang)
    shown = [share(p, sum(q for j, q in enumerate(e.posterior) if j != k)) for k, p in enumerate(e.posterior)]
    rows = []
    for action, costs, risk in zip(verdict.actions, verdict.costs, verdict.risks, strict=True):
        terms = " + ".join(
            f"{number(cost)} · {_bracketed(p)}" for cost, p in zip(costs, shown, strict=True) if cost
        )
        rows.append((named(str(action)), f"{terms or '0'} = {risk:.4g}"))
    screen.print(text_in(demo.lang, demo.story.stake))
    screen.print(table([words["action"], words["risk"]], rows, 2))
    if verdict.reject is not None and min(verdict.risks) > verdict.reject:
        text = words["rejected"].format(label=e.prediction, risk=min(verdict.risks), reject=verdict.reject)
    else:
        taken = named(str(verdict.taken))
        text = words["most_probable"].format(label=e.prediction, action=taken)
    screen.print(text)


def _bracketed(probability: str) -> str:
    return f"({probability})" if " " in probability else probability
