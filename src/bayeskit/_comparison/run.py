"""A comparison: every model on the same folds, with a paired test against the best."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._comparison import candidates
from bayeskit._comparison.loading import FileTableSource, LabelledRows, load, open_rows
from bayeskit._comparison.scoring import (
    LEVEL,
    RowScores,
    by_fold,
    corrected_t_test,
    measures,
    paired_test,
    row_scores,
)
from bayeskit._comparison.trials import Contender, Folds, Rows, Trial, as_matrix, folds_of, size_of, try_model
from bayeskit._data.suspect_columns import is_present
from bayeskit._decision.loss import read_loss
from bayeskit._decision.risk import bayes_risk
from bayeskit._messages import Joined, text_in
from bayeskit._random_state import seed_of
from bayeskit._report.comparison_report.comparison import (
    Column,
    Comparison,
    JudgedRows,
    Losses,
    ModelStanding,
)
from bayeskit._report.explanation import Explanation
from bayeskit._report.words import words_of
from bayeskit._schema import Label, Name
from bayeskit.errors import BayeskitError, SettingError, SourceNote, SuspectResult
from bayeskit.typing import Floats, LossLike, Seed

if TYPE_CHECKING:
    from bayeskit._comparison.candidates import ModelsLike
    from bayeskit._data.missing_marks import MarksLike
    from bayeskit._report.comparison_report.comparison_page import Findings
    from bayeskit.typing import LabelsLike, RowSource

# Kernels are compiled on this many rows first, so that compilation is not part of any model's time.
WARM = 500
# Posteriors of all models are stored up to this many bytes; beyond that the winner predicts again.
MOST_KEPT = 400_000_000
# The models of all folds are stored up to this many bytes, to explain rows; larger ones are fitted again.
MOST_MODEL = 20_000_000
TOO_LARGE = "its counts would take {size}; models= tries it all the same"
NO_MEMORY = "There is not enough memory for this. Use fewer columns (exclude=), or fewer rows."
TEXTS = "{names}: free text. TextBayes learns its words; the other models leave it out."
HINTS = {
    "unit": "Column {name!r} is read as names: its numbers have a unit behind them ({cell!r}). Take the unit out to "
    "have them measured.",
    "word": "Column {name!r} is read as names because of {cell!r}; all its other cells are numbers. Make it a missing "
    "cell if it means that.",
}


class Watcher:
    """Receives the progress of a comparison. This base class only warns about suspect data."""

    def read(self, hints: Mapping[Name, tuple[str, str]]) -> None:
        """Called with columns that look numeric but are read as categories: {column: ("unit" or "word", a
        cell)}."""
        for name, (kind, cell) in hints.items():
            warnings.warn(SourceNote(HINTS[kind], name=name, cell=cell), stacklevel=4)

    def texts(self, names: Sequence[Name]) -> None:
        """Called with the columns of free text, if there are any."""
        told = Joined(map(repr, names))
        warnings.warn(SourceNote(TEXTS, names=told), stacklevel=4)

    def begin(self, models: int, folds: int, rare: Sequence[Any]) -> None:
        """Called at the start, with the amount of work and the classes that have fewer rows than folds."""
        if rare:
            told = Joined(map(repr, rare[:8]))
            warnings.warn(
                SuspectResult(
                    "{told}: fewer rows than folds, so some folds learn nothing about it. Use fewer folds=.",
                    told=told,
                ),
                stacklevel=4,
            )

    def trying(self, name: str) -> Callable[[], None]:
        """Called before each model; returns the function to call after each of its folds."""
        return unheard


def unheard() -> None:
    """Ignore the progress."""


def compare(
    data: RowSource | FileTableSource,
    target: Name | None = None,
    *,
    y: LabelsLike | None = None,
    models: ModelsLike | None = None,
    baselines: bool = True,
    test: RowSource | FileTableSource | tuple[RowSource, LabelsLike] | None = None,
    exclude: Sequence[Name] = (),
    keep: Sequence[Name] = (),
    folds: int = 5,
    random_state: Seed = 0,
    loss: LossLike | Callable[[Sequence[Label]], LossLike] = None,
    encoding: str | None = None,
    missing: MarksLike = (),
    lang: str = "en",
    watcher: Watcher | None = None,
) -> Comparison:
    """Compare models on the same rows: which is best, which are tied with it, and which to choose.

    Every model, and four scikit-learn baselines, is evaluated on held-out rows. Models that a paired test
    cannot distinguish from the best are tied with it. Identifiers, dates, constants and copies of the target
    are left out, and the result lists them. ``bayeskit compare`` is this function on the command line.

    Parameters
    ----------
    data : frame, array, mapping of columns, or path of a CSV or Parquet file
    target : column name, optional
        The column of the class. Rows without a class are left out.
    y : array of shape (n,), optional
        The classes, if they are not a column of ``data``.
    models : str, estimator, list of these, or {name: estimator}, optional
        Keys of models of bayeskit ("nb", "kernel", "tan", "aode", "a2de", "kdb", "skdb", "weighted", "auto", "trees",
        "loglinear", "text", "spode", "net"; several in one string, separated by commas), and your own unfitted
        estimators with ``fit``, ``predict_proba`` and ``classes_``. Your estimators get the rows as given, without the
        columns that are left out: a frame stays a frame, an array an array; a file or a mapping becomes a
        frame. By default, the models of bayeskit that suit the table. "text" is :class:`~bayeskit.TextBayes`,
        which learns the words of columns of free text; the other models leave these columns out.
    baselines : bool, default True
        Whether to include the majority class, logistic regression, a random forest and gradient boosting.
    test : like ``data``, or (X, y) if ``y`` is given, optional
        Evaluate on these rows instead of by cross-validation.
    exclude, keep : sequence of column names
        Columns to leave out, and columns to use that would otherwise be left out.
    folds : int, default 5
    random_state : int, numpy Generator or None, default 0
        For the assignment of rows to folds, and for the baselines. The result contains the number that was
        used.
    loss : {action: {class: cost}}, array of shape (actions, K), or callable, optional
        If given, models are ranked by the cost of their decisions. A callable gets the classes and returns
        one of the other forms.
    encoding, missing : str, texts or {column: texts}, optional
        For files: the encoding, and the texts that mean a missing cell, in place of the usual ones.
    lang : "en" or "zh"
        The language of the result.
    watcher : Watcher, optional
        Receives the progress.

    Returns
    -------
    Comparison
        Prints as a table. ``pick`` is the recommended model, ``fitted()`` returns that model fitted to all
        rows, ``to_frame()`` the figures, and ``page()`` an HTML report.

    References
    ----------
    Nadeau C., Bengio Y., Inference for the generalization error, Machine Learning 52, 2003.

    Examples
    --------
    >>> from bayeskit import NaiveBayes, compare, datasets
    >>> melons = datasets.load_dataset("melon3")
    >>> own = {"flat prior": NaiveBayes(class_prior="uniform"), "smooth": NaiveBayes(smoothing=5.0)}
    >>> found = compare(melons.frame, "好瓜", models=own, baselines=False, folds=4)
    >>> found.pick, round(found.best.error.value, 3), [standing.name for standing in found.standings]
    ('smooth', 0.353, ['smooth', 'flat prior'])
    """
    words_of(lang)  # raises an error for an unknown language
    if isinstance(folds, bool) or not isinstance(folds, (int, np.integer)) or folds < 2:
        raise SettingError(
            "{setting}={value!r} must be a whole number, at least {least}.",
            setting="folds",
            value=folds,
            least=2,
        )
    seed = seed_of(random_state)
    named, watcher = candidates.read_models(models), Watcher() if watcher is None else watcher
    given, name = open_rows(data, target, y, encoding, missing)
    judged = None
    if test is not None:
        rows, labels = test if isinstance(test, tuple) and y is not None else (test, None)
        judged, _ = open_rows(rows, target, labels, encoding, missing)
    loaded = load(given, name, _names(exclude), _names(keep), judged)
    watcher.read(loaded.hints)
    if loaded.texts:
        watcher.texts(loaded.texts)
    run = ComparisonRun(loaded, ComparisonSettings(named, baselines, int(folds), seed, lang))
    counts = Counter(loaded.y[: loaded.n_learned].tolist())
    rare = [label for label, n in counts.items() if n < len(run.judged.parts)]
    losses = _losses(loss, run.classes)
    watcher.begin(len(run.contenders), len(run.judged.parts), rare)
    return run.compare(losses, watcher.trying)


def _names(given: Sequence[Name]) -> tuple[Name, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _losses(loss: LossLike | Callable[[Sequence[Label]], LossLike], classes: NDArray[Any]) -> Losses | None:
    if callable(loss):
        loss = loss(classes.tolist())
    if loss is None:
        return None
    table = read_loss(loss, len(classes), classes)
    costs = [dict(zip(classes.tolist(), row, strict=True)) for row in table.values.tolist()]
    return dict(zip(table.labels.tolist(), costs, strict=True))


@dataclass(frozen=True)
class ComparisonSettings:
    """The settings of a comparison. If ``models`` is None, the table determines the models."""

    models: candidates.ModelRequest | None = None
    baselines: bool = True
    folds: int = 5
    seed: int = 0
    lang: str = "en"


@dataclass(frozen=True, eq=False)
class _JudgedFolds:
    """Which rows are evaluated in which fold, and their true classes."""

    parts: Folds
    rows: Rows
    truth: Rows
    places: list[Rows]


class ComparisonRun:
    """One comparison: evaluates its models one after the other."""

    def __init__(self, loaded: LabelledRows, settings: ComparisonSettings) -> None:
        from bayeskit import NaiveBayes

        self.loaded, self.target, self.settings = loaded, loaded.target, settings
        self.classes = np.unique(loaded.y)
        # If all attributes are text, there are no columns for naive Bayes.
        self.first: NaiveBayes | None = None
        if loaded.tabular:
            self.first = NaiveBayes(states=loaded.states or None).fit(
                self._learned(False), target=self.target
            )
        self.shape = self._shape()
        numeric = {list(loaded.tabular)[j] for j in self.shape.numeric}
        made = settings.baselines and bool(loaded.tabular)
        self.matrix = as_matrix(loaded.tabular, numeric) if made else np.zeros((len(loaded.y), 1))
        self.judged = self._judged()
        self.fold_models: dict[str, tuple[Any, ...]] = {}
        self.contenders, self.too_large = self._contenders()

    def _learned(self, texts: bool) -> dict[Name, NDArray[Any]]:
        rows = slice(self.loaded.n_learned)
        return {**self.loaded.take(rows, texts), self.target: self.loaded.y[rows]}

    def _contenders(self) -> tuple[dict[str, Contender], dict[str, str]]:
        request, large = self.settings.models, dict[str, str]()
        keys: Sequence[str]
        if request is None:
            suitable, large = candidates.suitable(self.shape) if self.first is not None else ([], {})
            keys = [*([candidates.TEXT] if self.loaded.texts else []), *suitable]
        else:
            keys = request.keys
        found = {key: self._ours(key) for key in keys}
        if request is not None:
            found |= {name: candidates.own(name, estimator) for name, estimator in request.own.items()}
        if self.settings.baselines:
            keys = candidates.BASELINES if self.first is not None else candidates.BASELINES[:1]
            made = (candidates.baseline(k, self.shape, self.settings.seed) for k in keys)
            found |= {each.name: each for each in made}
        return found, large

    def _ours(self, key: str) -> Contender:
        if key == candidates.TEXT:
            return candidates.of_texts(self.loaded.texts)
        return candidates.ours(key, self.loaded.states)

    def _shape(self) -> candidates.TableShape:
        kinds = {} if self.first is None else {v.name: v for v in self.first.schema_.attributes}
        columns = self.loaded.tabular
        numeric = [j for j, name in enumerate(columns) if kinds[name].kind == "numeric"]
        others = [(j, kinds[name].size) for j, name in enumerate(columns) if j not in set(numeric)]
        return candidates.TableShape(
            tuple(numeric), tuple(j for j, _ in others), tuple(n for _, n in others), len(self.classes)
        )

    def _judged(self) -> _JudgedFolds:
        n, y = self.loaded.n_learned, self.loaded.y
        parts: Folds
        if self.loaded.test is not None:
            parts = [(np.arange(n), np.arange(n, len(y)))]
        else:
            parts = folds_of(y, self.settings.folds, self.settings.seed, keep=True)
        rows = np.sort(np.concatenate([test for _, test in parts]))
        places = [np.searchsorted(rows, test) for _, test in parts]
        return _JudgedFolds(parts, rows, np.searchsorted(self.classes, y[rows]), places)

    def fold_model(self, key: str, fold: int) -> Any:
        """Return one of our models as fitted in a fold."""
        if key in self.fold_models:
            return self.fold_models[key][fold]
        train = self.judged.parts[fold][0]
        contender = self.contenders[key]
        rows = {**self._take(contender, train), self.target: self.loaded.y[train]}
        return contender.make().fit(rows, target=self.target)

    def fitted(self, key: str) -> Any:
        """Fit a model to all training rows: any of ours, even if it was not part of the comparison."""
        contender = self.contenders[key] if key in self.contenders else self._ours(key)
        if contender.kind == "ours":
            model = contender.make().fit(self._learned(contender.reads_texts), target=self.target)
            model.reading_ = self.loaded.given.reading(self.loaded.left_out, self.target)
            return model
        rows = np.arange(self.loaded.n_learned)
        return contender.make().fit(self._take(contender, rows), self.loaded.y[rows])

    def explained(self, key: str, place: int, losses: Losses | None) -> Explanation | None:
        """Explain the held-out prediction of one row; None if the model cannot do that."""
        if self.contenders[key].kind != "ours":
            return None
        row = int(self.judged.rows[place])
        fold = next(f for f, (_, test) in enumerate(self.judged.parts) if row in test)
        one = self._take(self.contenders[key], np.array([row]))
        cells = {name: column[0] for name, column in one.items()}
        page: Explanation = self.fold_model(key, fold).explain(cells, lang=self.settings.lang, loss=losses)
        return page

    def findings(
        self, found: Comparison, command: str, next_lines: Sequence[str], loss_path: str | None
    ) -> Findings:
        """Collect the content of the report."""
        from bayeskit._comparison.report_data import findings_of

        return findings_of(self, found, command, next_lines, loss_path)

    def _take(self, contender: Contender, rows: Rows) -> Any:
        if contender.kind == "baseline":
            return self.matrix[rows]
        if contender.kind == "own":
            return self.loaded.as_given(rows)
        return self.loaded.take(rows, contender.reads_texts)

    def try_one(self, contender: Contender, after_fold: Callable[[], None] = unheard) -> Trial:
        """Fit and evaluate a model in every fold."""
        return try_model(
            contender, lambda rows: self._take(contender, rows), self.loaded.y, self.judged.parts, self.classes,
            target=self.target, most_warm=WARM, after_fold=after_fold,
        )  # fmt: skip

    def compare(self, losses: Losses | None, begun: Callable[[str], Callable[[], None]]) -> Comparison:
        """Evaluate every model. ``begun(name)`` is called for each and returns what to call after each fold."""
        costs = None
        if losses is not None:
            costs = np.array([[row[c] for c in self.classes.tolist()] for row in losses.values()])
        judged, kept, scored, failed = self.judged, _PosteriorStore(), {}, []
        standings: list[ModelStanding] = []
        for key, contender in self.contenders.items():
            # A user's own estimator may raise any error, which must not discard the results of the other models.
            foreseen = Exception if contender.kind == "own" else (BayeskitError, ValueError, MemoryError)
            try:
                trial = self.try_one(contender, begun(contender.name))
            except foreseen as error:
                failed.append((contender, error))
                continue
            posterior = trial.posterior[judged.rows]
            kept.add(key, posterior)
            scores = row_scores(posterior, judged.truth, costs)
            scored[key] = scores.decisive
            standings.append(self._standing(key, contender, trial, scores, posterior))
            if contender.kind == "ours" and (standings[-1].size or 0) * len(trial.models) <= MOST_MODEL:
                self.fold_models[key] = trial.models
        if not any(s.ours for s in standings):
            raise failed[0][1]
        standings = self._ranked(standings, scored)
        pick = self._pick([s for s in standings if s.ours], scored)
        sharp = min(standings, key=lambda s: s.log_loss.value).key

        def posterior_of(key: str) -> Floats:
            found = kept.get(key)
            return self.try_one(self.contenders[key]).posterior[judged.rows] if found is None else found

        loaded = self.loaded
        counts = np.bincount(
            np.searchsorted(self.classes, loaded.y[: loaded.n_learned]), minlength=len(self.classes)
        )
        reason = text_in(self.settings.lang, TOO_LARGE)
        too_large = [(self._ours(k).name, reason.format(size=s)) for k, s in self.too_large.items()]
        return Comparison(
            table=loaded.table,
            test=loaded.test,
            target=str(self.target),
            classes=tuple(self.classes.tolist()),
            class_counts=tuple(counts.tolist()),
            columns=self._columns(),
            folds=len(judged.parts),
            random_state=self.settings.seed,
            standings=tuple(standings),
            pick=pick,
            ceiling=bayes_risk(posterior_of(sharp)),
            ceiling_by=sharp,
            held=JudgedRows(loaded.numbers[judged.rows], judged.truth, posterior_of(pick)),
            losses=losses,
            uncounted_pairs=self.shape.uncounted_pairs(pick),
            failed=(*((contender.name, _why(contender, error)) for contender, error in failed), *too_large),
            lang=self.settings.lang,
            run=self,
        )

    def _standing(
        self, key: str, contender: Contender, trial: Trial, scores: RowScores, posterior: Floats
    ) -> ModelStanding:
        judged = self.judged
        found: dict[str, Any] = measures(scores, posterior, judged.truth, judged.places)
        folds = by_fold(scores.decisive, judged.places) if len(judged.places) > 1 else ()
        return ModelStanding(
            key,
            contender.name,
            contender.kind != "baseline",
            by_fold=folds,
            cpu_seconds=trial.seconds,
            size=size_of(trial.models[-1], contender.kind == "ours"),
            own=contender.kind == "own",
            **found,
        )

    def _p(self, one: Floats, other: Floats) -> float:
        places = self.judged.places
        if len(places) == 1:
            return paired_test(one - other)
        k = len(places)
        return corrected_t_test(np.subtract(by_fold(one, places), by_fold(other, places)), 1.0 / (k - 1))

    def _ranked(self, standings: list[ModelStanding], scored: dict[str, Floats]) -> list[ModelStanding]:
        order = sorted(standings, key=_rank)
        best = order[0].key
        tested = [(s, None if s.key == best else self._p(scored[s.key], scored[best])) for s in order]
        return [replace(s, p=p, tied=p is None or p >= LEVEL) for s, p in tested]

    def _pick(self, ours: Sequence[ModelStanding], scored: dict[str, Floats]) -> str:
        best = ours[0]
        tied = [s for s in ours if s is best or self._p(scored[s.key], scored[best.key]) >= LEVEL]
        return min(tied, key=lambda s: s.log_loss.value).key

    def _columns(self) -> tuple[Column, ...]:
        loaded, families = self.loaded, {} if self.first is None else self.first.families_
        found = []
        for name in loaded.order:
            if name in loaded.left_out:
                found.append(Column(str(name), "", 0, 0, loaded.left_out[name]))
                continue
            missing = int((~is_present(loaded.columns[name][: loaded.n_learned])).sum())
            if name in loaded.texts or self.first is None:
                found.append(Column(str(name), "words", 0, missing))
                continue
            choice, size = families[name], self.first.schema_[name].size
            found.append(Column(str(name), choice.family, size, missing, None, choice.suggestion))
        return tuple(found)


class _PosteriorStore:
    """The posteriors of models, stored up to a memory limit."""

    def __init__(self) -> None:
        self.held: dict[str, Floats] = {}
        self.bytes = 0

    def add(self, key: str, posterior: Floats) -> None:
        if self.bytes + posterior.nbytes <= MOST_KEPT:
            self.held[key] = posterior
            self.bytes += posterior.nbytes

    def get(self, key: str) -> Floats | None:
        return self.held.get(key)


def _rank(standing: ModelStanding) -> tuple[float, float]:
    return standing.decisive.value, standing.log_loss.value


def _why(contender: Contender, error: BaseException) -> str:
    """Return in one line why a model failed."""
    if isinstance(error, MemoryError):
        return NO_MEMORY
    text = " ".join(str(error).split())
    unforeseen = contender.kind == "own" and not isinstance(error, BayeskitError)
    return f"{type(error).__name__}: {text}" if unforeseen else text
