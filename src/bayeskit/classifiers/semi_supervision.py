"""Learning from rows without a class, for every classifier: by EM, or by self-training where there is no P(x)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from bayeskit.classifiers.state import State
from bayeskit.data.encoded import Encoded
from bayeskit.data.missing_labels import MissingLabels, check_missing_label
from bayeskit.data.source import Rows, Source
from bayeskit.errors import DataError, InfiniteValue, NotConverged, SettingError, SuspectResult, UsageError
from bayeskit.learning.em import Climb
from bayeskit.learning.fitted import Fitted
from bayeskit.learning.recipe import RowChoice
from bayeskit.learning.unlabelled.semi_supervised import Parted
from bayeskit.learning.unlabelled.unlabelled_weight import Weighed, check_weight, weigh


class SemiSupervision(State):
    """The part of ``fit`` that unlabelled rows have, and what is told of it."""

    semi_supervised: bool = False
    unlabelled_weight: float | str = 1.0
    missing_label: Any = None

    @property
    def history_(self) -> list[float]:
        """log P(c, x) of labelled rows + λ log P(x) of unlabelled ones, summed, at the start and after every step.

        Where a prior is imaginary rows, and no attribute has a parent, these are in it. The start may be −inf: under
        maximum likelihood an unlabelled row may be impossible by the labelled rows alone.

        ComplementNB, WeightedNB and AutoBayes have no P(x). They are self-trained, which is no EM and guarantees
        nothing: this is then log P(c | x) of the labelled rows, summed; a step after which it falls is the last.

        The model kept is that of the step with the largest value, the start apart: where smoothing follows the counts
        (back-off) the value may fall at once, and the unlabelled rows would never take part.
        """
        return list(self._completion("history"))

    @property
    def converged_(self) -> bool:
        """Whether the last step gained next to nothing; in self-training, whether shares were still or it lost."""
        return bool(self._completion("converged"))

    @property
    def n_iter_(self) -> int:
        """How many steps were made."""
        return max(len(self._completion("history")) - 1, 0)

    @property
    def em_fell_(self) -> bool:
        """Whether some step lost more than rounding.

        That can happen where the estimate is not the one of maximum likelihood or posterior (back-off, averages of
        models, kernel and Student densities, class weights, unbiased variances), and at the first step with
        ``missing="state"``, where only unlabelled rows miss a value; self-training (see ``history_``) often loses. The
        best of all steps is kept; the start is none.
        """
        return bool(self._completion("fell"))

    @property
    def unlabelled_weight_(self) -> float:
        """λ: what an unlabelled row weighs beside a labelled one."""
        return float(self._completion("weight"))

    @property
    def unlabelled_losses_(self) -> dict[float, float]:
        """The leave-one-out log-loss of the labelled rows under each λ that was tried; empty where it was given."""
        return dict(self._completion("losses"))

    def _completion(self, key: str) -> Any:
        found = self.held_.get("completion")
        if found is None:
            raise AttributeError(
                f"This {type(self).__name__} was not fitted with semi_supervised=True, so it has nothing to tell of "
                "unlabelled rows."
            )
        return found[key]

    def _parted(self, source: Source) -> tuple[Source, Source | None]:
        """Part a source into its labelled and its unlabelled rows; all rows are labelled unless it is asked for."""
        if not self.semi_supervised:
            return source, None
        source.need_many_passes(f"{type(self).__name__}(semi_supervised=True)")
        rule = MissingLabels.found(source, self.missing_label)
        if not source.in_memory:
            labelled, unlabelled = replace(source, keep=rule.labelled), replace(source, keep=rule.unlabelled)
            known = next(iter(labelled), None)
        else:
            batch = next(iter(source))
            known, rest = rule.labelled(batch), rule.unlabelled(batch)
            if rest is None:
                _warn_all_labelled()
            labelled, unlabelled = replace(source, keep=lambda _: known), replace(source, keep=lambda _: rest)
        if known is None:
            raise DataError(
                "No row has a label, so there are no classes to learn. Label a few rows of each class, or look for "
                "groups with LatentClass."
            )
        return labelled, unlabelled

    @contextmanager
    def _numbering(self, source: Source) -> Iterator[None]:
        """Let errors name a row by its number in the source, not among the labelled or the unlabelled rows."""
        try:
            yield
        except InfiniteValue as error:
            table = next(iter(source)).table if self.semi_supervised and source.in_memory else None
            if table is None or error.column not in table.names:
                raise
            numbers = table.numbers(table.names.index(error.column))
            row = int(np.isinf(numbers).argmax())
            raise InfiniteValue(error.column, row, float(numbers[row])) from None

    def _complete(self, fitted: Fitted, kept: list[Encoded], unlabelled: Source) -> None:
        """Let unlabelled rows take part in what was counted from the labelled ones."""
        rows = Parted.of(fitted, kept, unlabelled)
        if rows is None:
            if not unlabelled.in_memory:  # else it was said when the rows were parted
                _warn_all_labelled()
            found = Weighed(0.0 if isinstance(self.unlabelled_weight, str) else self.unlabelled_weight, None)
        else:
            found = weigh(rows, self.unlabelled_weight)
        climb = found.climb
        if climb is not None:
            fitted.complete(climb.parameters.statistics)
            if not climb.converged and climb.stopped is None:
                warnings.warn(
                    f"The shares of the unlabelled rows were still moving after {climb.n_iter} steps (see history_). "
                    "The model is that of the best step; a smaller unlabelled_weight often settles sooner.",
                    NotConverged,
                    stacklevel=3,
                )
        self._held = {**self._held, "completion": completion_of(found.weight, climb, found.losses)}

    def _label_source(self, y: Any) -> Any:
        """What tells the dtype of the classes: None, so that the classes do, where y holds missing labels too."""
        found = np.asarray(y) if isinstance(y, (list, tuple)) else y
        mixed = self.semi_supervised and getattr(getattr(found, "dtype", None), "kind", "O") == "O"
        return None if mixed else y

    def _all_labelled(self, source: Source) -> Source:
        """Refuse rows without a class where they would have to be completed in one pass."""
        if not self.semi_supervised:
            return source

        def refuse(batch: Rows) -> Rows:
            rule = MissingLabels.found([batch], self.missing_label)
            missing = int(rule.rows(batch.y, batch.table.n_rows).sum())
            if missing:
                raise UsageError(
                    f"{missing} row{'s have' if missing > 1 else ' has'} no label. partial_fit adds labelled rows "
                    "only; unlabelled ones are gone over many times: give them to fit, with the labelled rows."
                )
            return batch

        return replace(source, keep=refuse)

    def _row_choices(self) -> list[RowChoice]:
        completed = [RowChoice("semi_supervised=True", "Learn from the labelled rows alone.")]
        return super()._row_choices() + (completed if self.semi_supervised else [])

    def _check_settings(self) -> None:
        super()._check_settings()
        if not isinstance(self.semi_supervised, (bool, np.bool_)):
            raise SettingError(f"semi_supervised is {self.semi_supervised!r}; it is True or False.")
        check_weight(self.unlabelled_weight)
        check_missing_label(self.missing_label)
        if not self.semi_supervised:
            told = ["unlabelled_weight"] * (self.unlabelled_weight != 1.0)
            for name in told + ["missing_label"] * (self.missing_label is not None):
                raise SettingError(
                    f"{name}={getattr(self, name)!r} is about rows without a label, which take no part. Pass "
                    f"semi_supervised=True too, or leave {name} out."
                )


def _warn_all_labelled() -> None:
    warnings.warn(
        "semi_supervised=True, and no row (of any weight) is without a label. None and NaN are missing labels, −1 is "
        "where all labels are whole numbers; name another value with missing_label=.",
        SuspectResult,
        stacklevel=4,
    )


def completion_of(
    weight: float | str, climb: Climb[Any] | None, losses: dict[float, float] | None = None
) -> dict[str, Any]:
    """Return what is held of how unlabelled rows took part; ``climb`` is None where none did."""
    return {
        "weight": float(weight),
        "losses": losses or {},
        "history": () if climb is None else climb.history,
        "converged": climb is None or climb.converged,
        "fell": climb is not None and climb.fell,
    }
