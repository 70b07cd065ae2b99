"""A comparison: every model on the same folds, with a paired test against the best."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._comparison import candidates
from bayeskit._comparison.comparison_run import ComparisonRun, ComparisonSettings, unheard
from bayeskit._comparison.loading import FileTableSource, load, open_rows
from bayeskit._comparison.resources import Estimate
from bayeskit._decision.loss import read_loss
from bayeskit._messages import Joined
from bayeskit._random_state import seed_of
from bayeskit._report.comparison_report.comparison import Comparison, Losses
from bayeskit._report.words import words_of
from bayeskit._schema import Label, Name
from bayeskit.errors import SettingError, SourceNote, SuspectResult
from bayeskit.typing import LossLike, Seed

if TYPE_CHECKING:
    from bayeskit._comparison.candidates import ModelsLike
    from bayeskit._data.file_options import MarksLike
    from bayeskit.typing import LabelsLike, RowSource

# Tables of more rows are compared on a random sample of so many; the recommended model is fitted to all of them.
MANY_ROWS, SAMPLE = 50_000, 10_000
# A comparison that takes longer, by estimate, is announced.
LONG = 60.0
TEXTS = "{names}: free text. TextBayes learns its words; the other models leave it out."
HINTS = {
    "unit": "Column {name!r} is read as categories, because its numbers have a unit ({cell!r}). Remove the unit "
    "to read them as numbers.",
    "word": "Column {name!r} is read as categories because of {cell!r}; all other cells are numbers. If this "
    "means missing, make it a missing cell.",
}


class Watcher:
    """Receives the progress of a comparison. This base class only warns about suspect data."""

    def read(self, hints: Mapping[Name, tuple[str, str]]) -> None:
        """Called with columns that look numeric but are read as categories: {column: ("unit" or "word", a
        cell)}."""
        for name, (kind, cell) in hints.items():
            warnings.warn(SourceNote(HINTS[kind], name=name, cell=cell), stacklevel=3)

    def texts(self, names: Sequence[Name]) -> None:
        """Called with the columns of free text, if there are any."""
        told = Joined(map(repr, names))
        warnings.warn(SourceNote(TEXTS, names=told), stacklevel=3)

    def sampled(self, rows: int, of: int) -> None:
        """Called if models are compared on a random sample of the rows."""
        warnings.warn(
            SourceNote(
                "Models are compared on {rows:,} of {of:,} rows, drawn at random, and the recommended one is fitted to "
                "all. full=True compares them on all rows.",
                rows=rows,
                of=of,
            ),
            stacklevel=3,
        )

    def estimated(self, estimate: Estimate) -> None:
        """Called before the start with the CPU seconds that the models take, by estimate.

        ``estimate.seconds`` is their sum, ``estimate.compiling`` the part that a first run in an installation takes
        to compile loops, ``estimate.range`` the limits between which the time is expected.
        """
        if estimate.seconds > LONG:
            least, most = estimate.range
            warnings.warn(
                SourceNote(
                    "This will take about {least:.0f} to {most:.0f} minutes of CPU time. time_limit= ends it sooner, "
                    "and so does Ctrl-C: the models that are finished by then are reported.",
                    least=max(1.0, least / 60.0),
                    most=max(2.0, most / 60.0),
                ),
                stacklevel=3,
            )

    def begin(self, models: int, folds: int, rare: Sequence[Any]) -> None:
        """Called at the start, with the amount of work and the classes that have fewer rows than folds."""
        if rare:
            told = Joined(map(repr, rare[:8]))
            warnings.warn(
                SuspectResult(
                    "{told}: fewer rows than folds, so in some folds it does not occur in training. Use fewer "
                    "folds=.",
                    told=told,
                ),
                stacklevel=3,
            )

    def trying(self, name: str) -> Callable[[], None]:
        """Called before each model; returns the function to call after each of its folds."""
        return unheard


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
    most_rows: int | None = None,
    full: bool = False,
    time_limit: float | None = None,
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
    most_rows : int, optional
        Use only so many rows, drawn at random.
    full : bool, default False
        Compare on all rows. By default, if there are more than 50,000, models are compared on a random sample of
        10,000, in which classes keep their shares, and ``fitted()`` fits the recommended one to all rows.
    time_limit : float, optional
        Seconds after which models that are not finished are left out. Ctrl-C does the same. At least one model is
        always finished.
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
    if most_rows is not None and (
        isinstance(most_rows, bool) or not isinstance(most_rows, (int, np.integer)) or most_rows < 1
    ):
        raise SettingError(
            "{setting}={value!r} must be a whole number, at least {least}.",
            setting="most_rows",
            value=most_rows,
            least=1,
        )
    if time_limit is not None and (isinstance(time_limit, bool) or not time_limit > 0):
        raise SettingError("time_limit={value!r} must be a number of seconds above 0.", value=time_limit)
    seed = seed_of(random_state)
    named, watcher = candidates.read_models(models), Watcher() if watcher is None else watcher
    given, name = open_rows(data, target, y, encoding, missing)
    judged = None
    if test is not None:
        rows, labels = test if isinstance(test, tuple) and y is not None else (test, None)
        judged, _ = open_rows(rows, target, labels, encoding, missing)
    if most_rows is not None:
        given = given.drawn(int(most_rows), seed)
        judged = None if judged is None else judged.drawn(int(most_rows), seed)
    loaded = load(given, name, _names(exclude), _names(keep), judged)
    watcher.read(loaded.hints)
    if loaded.texts:
        watcher.texts(loaded.texts)
    settings = ComparisonSettings(named, baselines, int(folds), seed, lang, time_limit)
    if full or len(loaded.y) <= MANY_ROWS:
        run = ComparisonRun(loaded, settings)
    else:
        run = ComparisonRun(loaded.sampled(SAMPLE, seed, int(folds)), settings, loaded)
        watcher.sampled(run.loaded.n_learned, loaded.n_learned)
    counts = Counter(run.loaded.y[: run.loaded.n_learned].tolist())
    rare = [label for label, n in counts.items() if n < len(run.judged.parts)]
    losses = _losses(loss, run.classes)
    watcher.estimated(sum(run.estimates.values(), Estimate(0.0, 0.0)))
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
