"""A comparison, run: every model on the same folds, who won, and whether that is certain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.cli.comparing import models as models
from bayeskit.cli.comparing.columns import is_present
from bayeskit.cli.comparing.scores import RowScores, by_fold, measures, row_scores
from bayeskit.cli.comparing.size import size_of
from bayeskit.cli.comparing.table import Loaded
from bayeskit.cli.comparing.ties import LEVEL, corrected_t_test, paired_test
from bayeskit.cli.comparing.tried import Contender, Floats, Trial, as_matrix, folds_of, tried
from bayeskit.cli.door import one_line
from bayeskit.cli.language import said
from bayeskit.decision.risk import bayes_risk
from bayeskit.errors import BayeskitError
from bayeskit.report.comparison_report.comparison import Column, Comparison, Held, Standing

# Loops are compiled on so many rows, so that no model is charged for it.
WARM = 500
# Posteriors of all models are kept up to so many bytes; beyond that the winner is asked again.
MOST_KEPT = 400_000_000
# The models of all folds together are kept up to so many bytes, to explain rows with; larger ones are fitted again.
MOST_MODEL = 20_000_000
TOO_LARGE = (
    "its counts would take {size}; --models tries it all the same",
    "计数表需 {size}；仍要试请用 --models",
)


@dataclass(frozen=True)
class Settings:
    """What was asked for."""

    models: str | None = None
    baselines: bool = True
    folds: int = 5
    seed: int = 0
    lang: str = "en"


@dataclass(frozen=True, eq=False)
class _Judged:
    """Which rows are judged in which fold, and what is true of them."""

    parts: list[tuple[NDArray[np.intp], NDArray[np.intp]]]
    rows: NDArray[np.intp]
    truth: NDArray[np.intp]
    places: list[NDArray[np.intp]]


class Run:
    """The models of one comparison, tried one after the other."""

    def __init__(self, loaded: Loaded, target: str, settings: Settings) -> None:
        from bayeskit import NaiveBayes

        self.loaded, self.target, self.settings = loaded, target, settings
        self.classes = np.unique(loaded.y)
        learned_y = loaded.y[: loaded.n_learned]
        self.first = NaiveBayes().fit({**loaded.learned, target: learned_y}, target=target)
        self.shape = self._shape()
        numeric = {list(loaded.columns)[j] for j in self.shape.numeric}
        self.matrix = as_matrix(loaded.columns, numeric) if settings.baselines else np.zeros((0, 0))
        self.judged = self._judged()
        keys, self.too_large = models.chosen(settings.models, self.shape)
        self.fold_models: dict[str, tuple[Any, ...]] = {}
        self.contenders: list[tuple[str, Contender]] = [(key, models.ours(key)) for key in keys]
        if settings.baselines:
            sticks = models.YARDSTICKS
            self.contenders += [(k, models.yardstick(k, self.shape, settings.seed)) for k in sticks]

    def _shape(self) -> models.Shape:
        kinds = {str(v.name): v for v in self.first.schema_.attributes}
        numeric = [j for j, name in enumerate(self.loaded.columns) if kinds[name].kind == "numeric"]
        others = [
            (j, kinds[name].size) for j, name in enumerate(self.loaded.columns) if j not in set(numeric)
        ]
        return models.Shape(
            tuple(numeric), tuple(j for j, _ in others), tuple(n for _, n in others), len(self.classes)
        )

    def _judged(self) -> _Judged:
        n, y = self.loaded.n_learned, self.loaded.y
        if self.loaded.test is not None:
            parts = [(np.arange(n), np.arange(n, len(y)))]
        else:
            parts = folds_of(y, self.settings.folds, self.settings.seed, keep=True)
        rows = np.sort(np.concatenate([test for _, test in parts]))
        places = [np.searchsorted(rows, test) for _, test in parts]
        return _Judged(parts, rows, np.searchsorted(self.classes, y[rows]), places)

    def fold_model(self, key: str, fold: int) -> Any:
        """Return one of our models as it learned in a fold."""
        if key in self.fold_models:
            return self.fold_models[key][fold]
        train = self.judged.parts[fold][0]
        columns = {name: column[train] for name, column in self.loaded.columns.items()}
        rows = {**columns, self.target: self.loaded.y[train]}
        return models.ours(key).make().fit(rows, target=self.target)

    def fitted(self, key: str) -> Any:
        """Fit one of our models to all rows that are learned from."""
        rows = {**self.loaded.learned, self.target: self.loaded.y[: self.loaded.n_learned]}
        return models.ours(key).make().fit(rows, target=self.target)

    def try_one(self, contender: Contender, after_fold: Callable[[], None] = lambda: None) -> Trial:
        """Fit and ask a model in every fold."""
        loaded, parts = self.loaded, self.judged.parts
        return tried(
            contender, loaded.columns, self.matrix, loaded.y, parts, self.classes,
            target=self.target, most_warm=WARM, after_fold=after_fold,
        )  # fmt: skip

    def compare(
        self, losses: dict[str, dict[Any, float]] | None, begun: Callable[[str], Callable[[], None]]
    ) -> Comparison:
        """Try every model; ``begun(name)`` is told of each, and returns what to call after each fold."""
        costs = None
        if losses is not None:
            costs = np.array([[row[c] for c in self.classes.tolist()] for row in losses.values()])
        judged, kept, scored, failed = self.judged, _Kept(), {}, []
        standings: list[Standing] = []
        for key, contender in self.contenders:
            try:
                trial = self.try_one(contender, begun(contender.name))
            except (BayeskitError, ValueError, MemoryError) as error:
                failed.append((key, contender.name, error))
                continue
            posterior = trial.posterior[judged.rows]
            kept.add(key, posterior)
            scores = row_scores(posterior, judged.truth, costs)
            scored[key] = scores.decisive
            standings.append(self._standing(key, contender, trial, scores, posterior))
            if standings[-1].ours and standings[-1].size * len(trial.models) <= MOST_MODEL:
                self.fold_models[key] = trial.models
        if not any(s.ours for s in standings):
            raise failed[0][2]
        standings = self._ranked(standings, scored)
        pick = self._pick([s for s in standings if s.ours], scored)
        sharp = min(standings, key=lambda s: s.log_loss.value).key
        by_key = dict(self.contenders)

        def posterior_of(key: str) -> Floats:
            found = kept.get(key)
            return self.try_one(by_key[key]).posterior[judged.rows] if found is None else found

        loaded = self.loaded
        counts = np.bincount(
            np.searchsorted(self.classes, loaded.y[: loaded.n_learned]), minlength=len(self.classes)
        )
        told = TOO_LARGE[self.settings.lang == "zh"]
        too_large = [(models.ours(k).name, told.format(size=s)) for k, s in self.too_large.items()]
        return Comparison(
            table=loaded.table,
            test=loaded.test,
            target=self.target,
            classes=tuple(self.classes.tolist()),
            class_counts=tuple(counts.tolist()),
            columns=self._columns(),
            folds=len(judged.parts),
            seed=self.settings.seed,
            standings=tuple(standings),
            pick=pick,
            ceiling=bayes_risk(posterior_of(sharp)),
            ceiling_by=sharp,
            held=Held(loaded.numbers[judged.rows], judged.truth, posterior_of(pick)),
            losses=losses,
            uncounted_pairs=self.shape.uncounted_pairs(pick),
            failed=(*((name, said(one_line(error))) for _, name, error in failed), *too_large),
            lang=self.settings.lang,
        )

    def _standing(
        self, key: str, contender: Contender, trial: Trial, scores: RowScores, posterior: Floats
    ) -> Standing:
        judged, ours = self.judged, contender.takes_table
        found: dict[str, Any] = measures(scores, posterior, judged.truth, judged.places)
        folds = by_fold(scores.decisive, judged.places) if len(judged.places) > 1 else ()
        size = size_of(trial.models[-1], ours)
        return Standing(
            key, contender.name, ours, by_fold=folds, cpu_seconds=trial.seconds, size=size, **found
        )

    def _p(self, one: Floats, other: Floats) -> float:
        places = self.judged.places
        if len(places) == 1:
            return paired_test(one - other)
        k = len(places)
        return corrected_t_test(np.subtract(by_fold(one, places), by_fold(other, places)), 1.0 / (k - 1))

    def _ranked(self, standings: list[Standing], scored: dict[str, Floats]) -> list[Standing]:
        order = sorted(standings, key=_rank)
        best = order[0].key
        tested = [(s, None if s.key == best else self._p(scored[s.key], scored[best])) for s in order]
        return [replace(s, p=p, tied=p is None or p >= LEVEL) for s, p in tested]

    def _pick(self, ours: Sequence[Standing], scored: dict[str, Floats]) -> str:
        best = ours[0]
        tied = [s for s in ours if s is best or self._p(scored[s.key], scored[best.key]) >= LEVEL]
        return min(tied, key=lambda s: s.log_loss.value).key

    def _columns(self) -> tuple[Column, ...]:
        loaded, families = self.loaded, self.first.families_
        found = []
        for name in loaded.order:
            if name in loaded.left_out:
                found.append(Column(name, "", 0, 0, loaded.left_out[name]))
                continue
            choice = families[name]
            missing = int((~is_present(loaded.columns[name][: loaded.n_learned])).sum())
            size = self.first.schema_[name].size
            found.append(Column(name, choice.family, size, missing, None, choice.suggestion))
        return tuple(found)


class _Kept:
    """Posteriors by model, as long as there is room."""

    def __init__(self) -> None:
        self.held: dict[str, Floats] = {}
        self.bytes = 0

    def add(self, key: str, posterior: Floats) -> None:
        if self.bytes + posterior.nbytes <= MOST_KEPT:
            self.held[key] = posterior
            self.bytes += posterior.nbytes

    def get(self, key: str) -> Floats | None:
        return self.held.get(key)


def _rank(standing: Standing) -> tuple[float, float]:
    return standing.decisive.value, standing.log_loss.value
