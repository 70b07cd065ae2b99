"""How much an unlabelled row weighs beside a labelled one: λ, as given or chosen by leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.learning.calibration import spread_left_out
from bayeskit.learning.em import Climb
from bayeskit.learning.leave_one_out import LeftOut, mean_loss
from bayeskit.learning.rows_again import chunks_with_weight
from bayeskit.learning.unlabelled.self_training import self_train
from bayeskit.learning.unlabelled.semi_supervised import Completed, Parted, complete
from bayeskit.statistics import Statistics

# The weights that are tried. Unlabelled rows are many, so small weights differ more than large ones.
CANDIDATES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
# Where leaving a row out takes an estimate anew, milliseconds each, so many labelled rows judge each weight.
MOST_REFITS = 300


@dataclass(frozen=True)
class Weighed:
    """What was learned under one weight.

    Attributes
    ----------
    weight : float
    climb : Climb, or None where the weight is 0 and the labelled rows alone tell
    losses : mapping from weight to log-loss
        Of all candidates, where the weight was chosen.
    """

    weight: float
    climb: Climb[Completed] | None
    losses: dict[float, float] = field(default_factory=dict)


def check_weight(weight: object) -> None:
    """Refuse what is no weight of unlabelled rows."""
    number = weight if isinstance(weight, (int, float, np.integer, np.floating)) else np.nan
    if weight != "loo" if isinstance(weight, str) else isinstance(weight, bool) or not 0.0 <= number <= 1.0:
        raise SettingError(
            f'unlabelled_weight is {weight!r}; it must be a number from 0 to 1, or "loo" to choose one by '
            "leave-one-out."
        )


def weigh(rows: Parted, weight: float | str) -> Weighed:
    """Learn under a weight, or under each of the candidates, of which the one with the least log-loss is taken.

    The loss is that of the labelled rows, each left out of the counts. The expected counts of the unlabelled rows are
    held while a row is left out, although its label had a part in them: an approximation, which spares as many climbs
    as there are labelled rows. Of equal losses the smaller weight is taken.

    Learning is EM where the model has a P(x), else self-training.
    """
    learn = complete if rows.start.model.is_distribution else self_train
    if not isinstance(weight, str):
        return Weighed(float(weight), learn(rows, float(weight)) if weight > 0 else None)
    losses: dict[float, float] = {}
    best: Weighed | None = None
    for candidate in CANDIDATES:
        climb = learn(rows, candidate) if candidate > 0 else None
        statistics = rows.statistics if climb is None else climb.parameters.statistics
        losses[candidate] = left_out_loss(rows, statistics)
        # Rounding alone does not choose.
        if best is None or losses[candidate] < losses[best.weight] * (1.0 - 1e-12):
            best = Weighed(candidate, climb, losses)
    assert best is not None
    return best


def left_out_loss(rows: Parted, statistics: Statistics) -> float:
    """Return the mean log-loss of the labelled rows under statistics that hold them, each left out.

    Where each takes an estimate anew (covariances, kernel densities), 300 of them, spread evenly.
    """
    chunks = (chunk for piece in rows.labelled for chunk in chunks_with_weight(piece))
    left_out = LeftOut(statistics, rows.recipe)
    return mean_loss(*spread_left_out(left_out, chunks, None if left_out.fast else MOST_REFITS), "log-loss")
