"""One comparison: its folds and models, their results one after another, and the models fitted again."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._comparison import candidates
from bayeskit._comparison.loading import LabelledRows
from bayeskit._comparison.resources import Estimate, Work, most_telling
from bayeskit._comparison.trials import (
    LEVEL,
    Contender,
    Folds,
    Rows,
    RowScores,
    Trial,
    as_matrix,
    by_fold,
    corrected_t_test,
    difference,
    folds_of,
    measures,
    paired_test,
    row_scores,
    size_of,
    try_model,
)
from bayeskit._data.suspect_columns import is_present
from bayeskit._decision.choice import bayes_risk
from bayeskit._fitting.long_runs import Deadline, never
from bayeskit._messages import text_in
from bayeskit._report.comparison_report.comparison import (
    Column,
    Comparison,
    Difference,
    JudgedRows,
    Losses,
    ModelStanding,
    SimplerModel,
)
from bayeskit._report.explanation import Explanation
from bayeskit._schema import Name
from bayeskit.errors import BayeskitError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._report.comparison_report.comparison_page import Findings

# Kernels are compiled on this many rows first, so that compilation is not part of any model's time.
WARM = 500
# Posteriors of all models are stored up to this many bytes; beyond that the winner predicts again.
MOST_KEPT = 400_000_000
# The models of all folds are stored up to this many bytes, to explain rows; larger ones are fitted again.
MOST_MODEL = 20_000_000
TOO_LARGE = "its counts would take {size}; name it in models= to try it anyway"
NO_MEMORY = "There is not enough memory for this. Use fewer columns (exclude=), or fewer rows."
# Why a model was not finished.
UNFINISHED = {
    "interrupt": "Ctrl-C came before it was finished",
    "time": "the time limit came before it was finished",
    "skipped": "it would have taken longer than the time limit left",
}


def unheard() -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class ComparisonSettings:
    """The settings of a comparison. If ``models`` is None, the table determines the models.

    ``time_limit`` is in seconds. Models that are not finished by then are left out.
    """

    models: candidates.ModelRequest | None = None
    baselines: bool = True
    folds: int = 5
    seed: int = 0
    lang: str = "en"
    time_limit: float | None = None


@dataclass(frozen=True, eq=False)
class _JudgedFolds:
    """Which rows are evaluated in which fold, and their true classes."""

    parts: Folds
    rows: Rows
    truth: Rows
    places: list[Rows]


class _TimeOver(Exception):
    """The time limit is reached before a model is finished."""


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Let Ctrl-C end the model at hand. The flag is set where a library swallows the exception."""
    flag = threading.Event()
    ignored = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)
    if ignored or threading.current_thread() is not threading.main_thread():
        yield flag
        return

    def press(number: int, frame: FrameType | None) -> None:
        flag.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, press)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)


class ComparisonRun:
    """One comparison: evaluates its models one after the other.

    ``loaded`` holds the rows that are compared on, ``whole`` all rows, to which models are fitted in the end.
    """

    def __init__(
        self, loaded: LabelledRows, settings: ComparisonSettings, whole: LabelledRows | None = None
    ) -> None:
        from bayeskit import NaiveBayes

        self.whole = loaded if whole is None else whole
        self.loaded, self.target, self.settings = loaded, loaded.target, settings
        self.classes = np.unique(loaded.y)
        # If all attributes are text, there are no columns for naive Bayes.
        self.first: NaiveBayes | None = None
        if loaded.tabular:
            self.first = NaiveBayes(states=loaded.states or None).fit(
                self._learned(loaded, False), target=self.target
            )
        self.shape = self._shape()
        self._numeric = {list(loaded.tabular)[j] for j in self.shape.numeric}
        made = settings.baselines and bool(loaded.tabular)
        self.matrix = as_matrix(loaded.tabular, self._numeric) if made else np.zeros((len(loaded.y), 1))
        self.judged = self._judged()
        self.fold_models: dict[str, tuple[Any, ...]] = {}
        self.contenders, self.too_large = self._contenders()

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """How long each model will take, by estimate."""
        train, test = self.judged.parts[0]
        words, numbers = len(self.shape.categorical), len(self.shape.numeric)
        work = Work(len(train), len(test), len(self.judged.parts), words, numbers, len(self.classes))
        return dict(zip(self.contenders, work.estimates(self.contenders.values()), strict=True))

    def _learned(self, loaded: LabelledRows, texts: bool) -> dict[Name, NDArray[Any]]:
        rows = slice(loaded.n_learned)
        return {**loaded.take(rows, texts), self.target: loaded.y[rows]}

    def _contenders(self) -> tuple[dict[str, Contender], dict[str, str]]:
        request, large = self.settings.models, dict[str, str]()
        keys: Sequence[str]
        if request is None:
            suitable, large = candidates.suitable(self.shape) if self.first is not None else ([], {})
            keys = [*([candidates.TEXT] if self.loaded.texts else []), *suitable]
        else:
            keys = request.keys
        # The baseline that takes no time comes first: whatever stops the comparison, models are measured by it.
        baselines = candidates.BASELINES if self.first is not None else candidates.BASELINES[:1]
        made = [candidates.baseline(k, self.shape, self.settings.seed) for k in baselines]
        found = {each.name: each for each in made[:1]} if self.settings.baselines else {}
        found |= {key: self._ours(key, request is None) for key in keys}
        if request is not None:
            found |= {name: candidates.own(name, estimator) for name, estimator in request.own.items()}
        if self.settings.baselines:
            found |= {each.name: each for each in made[1:]}
        return found, large

    def _ours(self, key: str, screened: bool = False) -> Contender:
        """Return one of our models, on fewer attributes if ``screened`` and its counts do not fit."""
        if key == candidates.TEXT:
            return candidates.of_texts(self.loaded.texts)
        order = candidates.order_of(key)
        return candidates.ours(key, self.loaded.states, screened and order > 1 and not self.shape.fits(order))

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
        return self._fit(contender, self.taken(contender, train), self.loaded.y[train])

    def _fit(self, contender: Contender, rows: dict[Name, Any], y: NDArray[Any]) -> Any:
        (learned,) = contender.narrowed(rows, y)
        return contender.make().fit({**learned, self.target: y}, target=self.target)

    def fitted(self, key: str, *, sample: bool = False) -> Any:
        """Fit a model to all training rows: any of ours, even if it was not part of the comparison.

        With ``sample``, to those that were compared on.
        """
        contender = self.contenders[key] if key in self.contenders else self._ours(key, True)
        loaded = self.loaded if sample else self.whole
        rows = np.arange(loaded.n_learned)
        if contender.kind == "ours":
            table = loaded.take(slice(loaded.n_learned), contender.reads_texts)
            model = self._fit(contender, table, loaded.y[rows])
            model.reading_ = loaded.given.reading(loaded.screening, self.target)
            return model
        if contender.kind == "own":
            return contender.make().fit(loaded.as_given(rows), loaded.y[rows])
        matrix = self.matrix if loaded is self.loaded else as_matrix(loaded.tabular, self._numeric)
        return contender.make().fit(matrix[rows], loaded.y[rows])

    def explained(self, key: str, place: int, losses: Losses | None) -> Explanation | None:
        """Explain the held-out prediction of one row; None if the model cannot do that."""
        if self.contenders[key].kind != "ours":
            return None
        row = int(self.judged.rows[place])
        fold = next(f for f, (_, test) in enumerate(self.judged.parts) if row in test)
        one = self.taken(self.contenders[key], np.array([row]))
        model = self.fold_model(key, fold)
        looked_at = set(model.feature_names_in_)
        cells = {name: column[0] for name, column in one.items() if name in looked_at}
        page: Explanation = model.explain(cells, lang=self.settings.lang, loss=losses)
        return page

    def findings(
        self, found: Comparison, command: str, next_lines: Sequence[str], loss_path: str | None
    ) -> Findings:
        """Collect the content of the report."""
        from bayeskit._comparison.report_data import findings_of

        return findings_of(self, found, command, next_lines, loss_path)

    def taken(self, contender: Contender, rows: Rows) -> Any:
        """Return some rows in the form that a model accepts."""
        if contender.kind == "baseline":
            return self.matrix[rows]
        if contender.kind == "own":
            return self.loaded.as_given(rows)
        return self.loaded.take(rows, contender.reads_texts)

    def try_one(self, contender: Contender, after_fold: Callable[[], None] = unheard) -> Trial:
        """Fit and evaluate a model in every fold."""
        return try_model(
            contender, lambda rows: self.taken(contender, rows), self.loaded.y, self.judged.parts, self.classes,
            target=self.target, most_warm=WARM, after_fold=after_fold,
        )  # fmt: skip

    def compare(self, losses: Losses | None, begun: Callable[[str], Callable[[], None]]) -> Comparison:
        """Evaluate every model. ``begun(name)`` is called for each and returns what to call after each fold.

        Ctrl-C and the time limit end it early, once one of our models is finished.
        """
        costs = None
        if losses is not None:
            costs = np.array([[row[c] for c in self.classes.tolist()] for row in losses.values()])
        judged, kept = self.judged, _PosteriorStore()
        scored: dict[str, RowScores] = {}
        failed: list[tuple[Contender, BaseException]] = []
        standings: list[ModelStanding] = []
        unfinished: list[tuple[Contender, str]] = []
        stopped, deadline, estimates = None, Deadline.after(self.settings.time_limit), self.estimates
        with _interruptible() as interrupted:
            for key, contender in self.contenders.items():
                is_needed = not any(s.ours for s in standings)
                left = deadline.end - time.monotonic()
                if stopped == "interrupt" or (not is_needed and estimates[key].seconds > left):
                    unfinished.append((contender, stopped or "skipped"))
                    stopped = stopped or "time"
                    continue
                # A user's own estimator may raise any error, which must not discard the results of the other models.
                foreseen = Exception if contender.kind == "own" else (BayeskitError, ValueError, MemoryError)
                limit = never if is_needed else deadline
                try:
                    trial = self.try_one(contender, _hurried(begun(contender.name), limit, len(judged.parts)))
                    posterior = trial.posterior[judged.rows]
                    scores = row_scores(posterior, judged.truth, costs)
                    standing = self._standing(key, contender, trial, scores, posterior)
                except _TimeOver:
                    stopped = "time"
                    unfinished.append((contender, stopped))
                    continue
                except KeyboardInterrupt:
                    if is_needed:
                        raise
                    stopped = "interrupt"
                    unfinished.append((contender, stopped))
                    continue
                except foreseen as error:
                    failed.append((contender, error))
                else:
                    kept.add(key, posterior)
                    scored[key] = scores
                    standings.append(standing)
                    if contender.kind == "ours" and (standing.size or 0) * len(trial.models) <= MOST_MODEL:
                        self.fold_models[key] = trial.models
                if interrupted.is_set():  # a library swallowed it
                    if not any(s.ours for s in standings):
                        raise KeyboardInterrupt
                    stopped = "interrupt"
        if not any(s.ours for s in standings):
            raise failed[0][1]
        standings = self._ranked(standings, scored)
        qualified = self._qualified([s for s in standings if s.ours], scored)
        pick = min(qualified, key=lambda s: s.log_loss.value).key
        loaded = self.whole
        sharp = min(standings, key=lambda s: s.log_loss.value).key

        def posterior_of(key: str) -> Floats:
            found = kept.get(key)
            return self.try_one(self.contenders[key]).posterior[judged.rows] if found is None else found

        counts = np.bincount(
            np.searchsorted(self.classes, loaded.y[: loaded.n_learned]), minlength=len(self.classes)
        )
        # A model that looked at fewer attributes has no arcs between the others.
        whole = self.contenders[pick].looked_at is None
        uncounted = self.shape.uncounted_pairs(pick if whole else "")
        say = partial(text_in, self.settings.lang)
        reasons = [(self._ours(k).name, say(TOO_LARGE).format(size=s)) for k, s in self.too_large.items()]
        reasons += [(each.name, say(UNFINISHED[why])) for each, why in unfinished]
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
            held=JudgedRows(self.loaded.numbers[judged.rows], judged.truth, posterior_of(pick)),
            losses=losses,
            uncounted_pairs=uncounted,
            looked_at=None if uncounted is None else self._looked_at(),
            failed=(*((contender.name, _why(contender, error)) for contender, error in failed), *reasons),
            lang=self.settings.lang,
            run=self,
            sample=self.loaded.n_learned if self.loaded is not self.whole else None,
            stopped=stopped,
            qualified=tuple(s.key for s in qualified),
            unfinished=tuple(contender.name for contender, _ in unfinished),
            screened=tuple(
                s.key for s in standings if s.ours and self.contenders[s.key].looked_at is not None
            ),
            lift=self._lift(scored[pick], pick, costs),
            simpler=self._simpler(pick, standings, scored),
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

    def _looked_at(self) -> int:
        """Return how many attributes are looked at for dependence if their counts do not fit; 0 if none."""
        if not self.shape.fits_in_part(2):
            return 0
        rows = slice(self.loaded.n_learned)
        return len(most_telling(self.loaded.take(rows, False), self.loaded.y[rows], 2, self.loaded.states))

    def _lift(self, picked: RowScores, pick: str, costs: Floats | None) -> Difference:
        """Return what the model saves against one decision for all rows: the most frequent class, or the cheapest."""
        judged, n = self.judged, self.loaded.n_learned
        shares = (
            np.bincount(np.searchsorted(self.classes, self.loaded.y[:n]), minlength=len(self.classes)) / n
        )
        if costs is None:
            fixed = (judged.truth != shares.argmax()).astype(np.float64)
        else:
            fixed = costs[int((costs @ shares).argmin()), judged.truth]
        return difference(fixed, picked.decisive, judged.places)

    def _simpler(
        self, pick: str, standings: Sequence[ModelStanding], scored: dict[str, RowScores]
    ) -> SimplerModel | None:
        """Return the best of the models that are simpler than the recommended one; None if there is none."""
        order = candidates.BY_COMPLEXITY
        if pick not in order:
            return None
        fewer = [s for s in standings if s.ours and s.key in order[: order.index(pick)]]
        if not fewer:
            return None
        best, places = min(fewer, key=_rank), self.judged.places
        more = difference(scored[best.key].decisive, scored[pick].decisive, places)
        return SimplerModel(
            best.key, more, difference(scored[best.key].log_loss, scored[pick].log_loss, places)
        )

    def _p(self, one: Floats, other: Floats) -> float:
        places = self.judged.places
        if len(places) == 1:
            return paired_test(one - other)
        k = len(places)
        return corrected_t_test(np.subtract(by_fold(one, places), by_fold(other, places)), 1.0 / (k - 1))

    def _ranked(self, standings: list[ModelStanding], scored: dict[str, RowScores]) -> list[ModelStanding]:
        order = sorted(standings, key=_rank)
        best = scored[order[0].key].decisive
        found = [replace(order[0], p=None, tied=True)]
        for s in order[1:]:
            own = scored[s.key].decisive
            p = self._p(own, best)
            found.append(replace(s, p=p, tied=p >= LEVEL, behind=difference(own, best, self.judged.places)))
        return found

    def _qualified(self, ours: Sequence[ModelStanding], scored: dict[str, RowScores]) -> list[ModelStanding]:
        """Return the models that cannot be distinguished from the best of ours."""
        best = scored[ours[0].key].decisive
        return [s for s in ours if s is ours[0] or self._p(scored[s.key].decisive, best) >= LEVEL]

    def _columns(self) -> tuple[Column, ...]:
        loaded, families = self.whole, {} if self.first is None else self.first.families_
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
            told = loaded.telling.get(name)
            found.append(Column(str(name), choice.family, size, missing, None, choice.suggestion, told))
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


def _hurried(after_fold: Callable[[], None], deadline: Deadline, folds: int) -> Callable[[], None]:
    """Return what to call after each fold: it ends a model that has folds left when the time is over."""
    left = folds

    def fold_done() -> None:
        nonlocal left
        left -= 1
        after_fold()
        if left and deadline():
            raise _TimeOver

    return fold_done


def _rank(standing: ModelStanding) -> tuple[float, float]:
    return standing.decisive.value, standing.log_loss.value


def _why(contender: Contender, error: BaseException) -> str:
    """Return in one line why a model failed."""
    if isinstance(error, MemoryError):
        return NO_MEMORY
    text = " ".join(str(error).split())
    unforeseen = contender.kind == "own" and not isinstance(error, BayeskitError)
    return f"{type(error).__name__}: {text}" if unforeseen else text
