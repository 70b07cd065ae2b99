"""The EM code shared by all mixtures: settings, the run, the fitted attributes, the warnings."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from bayeskit._classifiers.summary import changed_parameters
from bayeskit._data.source import thread_count
from bayeskit._display_table import MOST_ROWS, DisplayTable
from bayeskit._fitting.em import EmResult, Problem, StoppingRule, run_em_from_starts
from bayeskit._fitting.long_runs import progress_of
from bayeskit._fitting.mixtures.components import Components, GaussianSums
from bayeskit._messages import Joined, Message, listed
from bayeskit._random_state import refused_random_state
from bayeskit._report.summary_page import Summary, number, pairs_section, summary_words
from bayeskit._visible import plain
from bayeskit.errors import NotConverged, SettingError, SuspectResult
from bayeskit.typing import Seed

P = TypeVar("P")
# If reg_covar exceeds this share of a variance, a warning is given.
_MOST_RIDGE = 0.1


def random_state_of(random_state: Seed) -> np.random.RandomState:
    """Return a legacy generator of NumPy, which gives the same draws as scikit-learn."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    try:
        return check_random_state(random_state)  # type: ignore[no-any-return]
    except ValueError:
        raise refused_random_state(random_state) from None


class MixtureNotConverged(NotConverged, ConvergenceWarning):
    """EM for a mixture reached its maximum number of steps, or its time limit, before it converged."""


@dataclass(frozen=True)
class MixtureEmSettings:
    """The EM settings of a mixture; ``tol`` is a gain per row."""

    tol: float
    max_iter: int
    n_init: int
    time_limit: float | None
    accelerate: bool
    verbose: int
    verbose_interval: int
    progress: bool


def read_settings(mixture: Any) -> MixtureEmSettings:
    """Check the settings of an estimator that has them all as attributes (and ``hard`` and ``n_jobs``).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> names = dict(tol=1e-3, max_iter=100, n_init=1, time_limit=None, accelerate=False, verbose=0,
    ...              verbose_interval=10, progress=False, hard=False, n_jobs=None)
    >>> read_settings(SimpleNamespace(**names)).max_iter
    100
    """
    thread_count(mixture.n_jobs)
    truth("hard", mixture.hard)
    limit = mixture.time_limit
    return MixtureEmSettings(
        tol=real("tol", mixture.tol, 0.0),
        max_iter=whole("max_iter", mixture.max_iter, 0),
        n_init=whole("n_init", mixture.n_init, 1),
        time_limit=None if limit is None else real("time_limit", limit, 0.0),
        accelerate=truth("accelerate", mixture.accelerate),
        verbose=whole(
            "verbose", int(mixture.verbose) if isinstance(mixture.verbose, bool) else mixture.verbose, 0
        ),
        verbose_interval=whole("verbose_interval", mixture.verbose_interval, 1),
        progress=truth("progress", mixture.progress),
    )


def whole(name: str, value: object, least: int) -> int:
    """Read a setting that is an integer."""
    if not (type(value) is int or isinstance(value, np.integer)) or value < least:
        raise SettingError(
            "{name} is {value!r}; give a whole number of at least {least}.",
            name=name,
            value=value,
            least=least,
        )
    return int(value)


def real(name: str, value: Any, least: float) -> float:
    """Read a setting that is a finite number."""
    known = type(value) in (int, float) or isinstance(value, (np.integer, np.floating))
    number = value.item() if isinstance(value, np.generic) else value
    if not known or not least <= number <= sys.float_info.max:
        raise SettingError(
            "{name} is {value!r}; give a number of at least {least:g}.", name=name, value=value, least=least
        )
    return float(value)


def truth(name: str, value: object) -> bool:
    """Read a setting that is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise SettingError("{name} is {value!r}; give True or False.", name=name, value=value)
    return bool(value)


def run_mixture_em(
    problem: Problem[P, Any], starts: Sequence[Callable[[], P]], settings: MixtureEmSettings, total: float
) -> tuple[EmResult[P], list[float]]:
    """Run EM from every start for a few steps, then from the best to the end.

    Parameters
    ----------
    problem : Problem
    starts : callables that make parameters
    settings : MixtureEmSettings
    total : float
        The weight of all rows. ``settings.tol`` is a gain per row, but the objective of EM is a total.

    Returns
    -------
    result : EmResult
    reached : list of float
        The value that each start reached.
    """
    how = StoppingRule(
        settings.tol * total, settings.max_iter, settings.time_limit, settings.accelerate, one_more=True
    )
    with progress_of(settings.progress, "steps") as show:
        printer = _ProgressPrinter(settings, total, show)
        makers = [printer.announced(place, make) for place, make in enumerate(starts)]
        result, reached = run_em_from_starts(problem, makers, how, printer)
    if settings.verbose:
        print(f"Initialization {'converged' if result.converged else 'did not converge'}.")
    return result, reached


class _ProgressPrinter:
    """Prints the progress of EM in scikit-learn's words, and moves the progress bar."""

    def __init__(self, settings: MixtureEmSettings, total: float, show: Callable[[int], None] | None) -> None:
        self.settings, self.total, self.show = settings, total, show
        self.before, self.steps = math.nan, 0

    def announced(self, place: int, make: Callable[[], P]) -> Callable[[], P]:
        def start() -> P:
            if self.settings.verbose:
                print(f"Initialization {place}")
            self.before = math.nan
            return make()

        return start

    def __call__(self, step: int, value: float) -> None:
        self.steps += 1
        if self.show is not None:
            self.show(self.steps)
        if self.settings.verbose and step % self.settings.verbose_interval == 0:
            gain = (
                f"\t ll change {(value - self.before) / self.total:.5f}" if self.settings.verbose > 1 else ""
            )
            print(f"  Iteration {step}{gain}")
        self.before = value


def store_em_result(mixture: Any, result: EmResult[Any], reached: Sequence[float], total: float) -> None:
    """Set the fitted attributes of an estimator after EM.

    ``history_`` is a total over rows, at the start and after every step. The others follow scikit-learn: a
    mean over rows, taken before each step.
    """
    history = np.array(result.history)
    mixture.history_ = history
    mixture.starts_ = np.array(reached)
    mixture.fell_ = result.fell
    mixture.converged_ = result.converged
    mixture.n_iter_ = result.n_iter
    mixture.lower_bounds_ = (history[:-1] / total).tolist()
    mixture.lower_bound_ = float(history[max(len(history) - 2, 0)] / total)


def warn_not_converged(
    result: EmResult[Any], settings: MixtureEmSettings, total: float, stacklevel: int = 3
) -> None:
    """Warn that EM stopped before it converged, unless no step was requested."""
    if result.converged or settings.max_iter == 0:
        return
    steps = {"n": result.n_iter, "_s": "" if result.n_iter == 1 else "s"}
    why = {
        "time": Message(
            "its time_limit of {seconds} seconds is over after {n} step{_s}",
            seconds=settings.time_limit,
            **steps,
        ),
        "interrupt": Message("it was interrupted after {n} step{_s}", **steps),
    }.get(result.stopped or "", Message("it has made the {n} step{_s} that max_iter allows", **steps))
    gain = (result.history[-1] - result.history[-2]) / total
    warnings.warn(
        MixtureNotConverged(
            "EM did not converge: {why}, and the last one gained {gain:.3g} per row (tol is {tol:g}). The best "
            "result is kept, and history_ contains the value after every step. Raise max_iter or tol, try "
            "accelerate=True or other starts (n_init, random_state), or look for columns that are constant or copies "
            "of others.",
            why=why,
            gain=gain,
            tol=settings.tol,
        ),
        stacklevel=stacklevel,
    )


def warn_of_collapse(collapsed: Sequence[int], constant: Sequence[Any] = (), stacklevel: int = 3) -> None:
    """Warn of components without rows or without spread; ``constant`` names constant columns."""
    if not collapsed:
        return
    one = len(collapsed) == 1
    which = listed(map(str, collapsed), 12)
    why = Message(" Constant columns: {names}.", names=Joined(map(repr, constant[:5]))) if constant else ""
    warnings.warn(
        SuspectResult(
            "Component{_s} {which} collapsed: without rows, or without spread in some direction, "
            "{_its} likelihood has no bound, and only what is added to variances keeps it finite."
            "{why} Ask for fewer components, a simpler covariance_type, a larger reg_covar or more starts (n_init), or "
            "leave out columns that are constant or determined by others.",
            _s="" if one else "s",
            which=which,
            _its="its" if one else "their",
            why=why,
        ),
        stacklevel=stacklevel,
    )


def warn_of_ridge(
    components: Components, reg_covar: float, labels: Sequence[Any], stacklevel: int = 3
) -> None:
    """Warn if ``reg_covar`` is more than a tenth of a variance. Collapsed components have their own warning."""
    before = np.maximum(components.variances - reg_covar, 0.0)
    before[list(components.collapsed)] = np.inf
    k, column = divmod(int(before.argmin()), before.shape[1])
    least = float(before[k, column])
    if reg_covar <= _MOST_RIDGE * least:
        return
    fitting = (
        Message("reg_covar={value:.0e}", value=1e-3 * least)
        if least > 0.0
        else Message("a smaller reg_covar")
    )
    warnings.warn(
        SuspectResult(
            "reg_covar={reg_covar:g} is added to every variance, and that of {label!r} in component {k} was "
            "only {least:.3g}: the component looks wider than it is. Pass {fitting}, or scale the columns.",
            reg_covar=reg_covar,
            label=labels[column],
            k=k,
            least=least,
            fitting=fitting,
        ),
        stacklevel=stacklevel,
    )


def warn_of_equals(start: str, stacklevel: int = 3) -> None:
    """Warn that all components are equal; ``start`` is the setting for another start."""
    warnings.warn(
        SuspectResult(
            "All components are the same, up to their weights: EM never leaves equal components, or the "
            "rows have only one kind. Use another start ({start}=None, other random_state), or one "
            "component.",
            start=start,
        ),
        stacklevel=stacklevel,
    )


def mixture_summary(mixture: Any, components: DisplayTable, weights: Sequence[float], lang: str) -> Summary:
    """Return a page about a fitted mixture: its data, how EM ended, and its components."""
    words = summary_words(lang)
    changed = changed_parameters(mixture)
    rows = getattr(mixture, "rows_seen_", None)
    likelihood, converged = getattr(mixture, "lower_bound_", None), getattr(mixture, "converged_", None)
    said = words["separator"].join(f"{name}={value!r}" for name, value in changed.items())
    facts = [
        (words["rows"], "" if rows is None else number(float(rows))),
        (words["parameters"], said or words["all_default"]),
        (words["log_likelihood"], "" if likelihood is None else f"{likelihood:.4f}".replace("-", "−")),
        (words["iterations"], str(getattr(mixture, "n_iter_", ""))),
        (words["converged"], "" if converged is None else words["yes" if converged else "no"]),
    ]
    collapsed = list(getattr(mixture, "collapsed_", ()))
    warned = [words["not_converged"]] if converged is False else []
    if collapsed:
        warned.append(words["collapsed"].format(names=words["separator"].join(map(str, collapsed))))
    values = {
        "model": type(mixture).__name__,
        "rows": plain(rows),
        "parameters": changed,
        "components": [{"weight": float(weight)} for weight in weights],
        "attributes": int(mixture.n_features_in_),
        "log_likelihood": plain(likelihood),
        "iterations": plain(getattr(mixture, "n_iter_", None)),
        "converged": plain(converged),
        "warnings": warned,
    }
    sizes = {"components": len(weights), "attributes": values["attributes"]}
    title = words["title_mixture"].format(model=type(mixture).__name__, **sizes)
    shown = replace(components, title=words["components"], rows=components.rows[:MOST_ROWS])
    return Summary(title, (pairs_section(words["data"], facts), shown), tuple(warned), values, lang)


# Any exponent above 1/2 and up to 1 converges; the smaller it is, the faster early batches fade.
EXPONENT = 0.6


def step_size(seen: float, batch: float) -> float:
    r"""Return the step size of a batch, from the weight of the rows before it and its own weight.

    Online EM takes one step for each batch, and reads no row twice:

    .. math:: S \leftarrow (1 - \gamma)\, S + \gamma\, s, \qquad \gamma = (t + 2)^{-0.6}

    with S the sums of the model and s the expected sums of the batch, both per row, and t the number of earlier
    batches of this weight. The expectations of early batches used outdated parameters, so their weight decays.
    The likelihood may decrease from one batch to the next.

    References
    ----------
    Cappé, Moulines (2009), On-line expectation-maximization algorithm for latent data models. Liang, Klein (2009),
    Online EM for unsupervised models.

    Examples
    --------

    >>> round(step_size(200.0, 100.0), 4)
    0.4353
    """
    return float((seen / batch + 2.0) ** -EXPONENT)


def sums_of(components: Components, total: float, reg_covar: float) -> GaussianSums:
    """Return the sums that would give these components as estimates, for a given number of rows."""
    weight = total * components.weights
    d = components.means.shape[1]
    if components.matrices:
        spread = components.full_covariances - reg_covar * np.eye(d)
        second = weight[:, None, None] * spread
    else:
        second = weight[:, None] * (components.variances - reg_covar)
    return GaussianSums(
        components.means.copy(), weight, weight.copy(), np.zeros_like(components.means), second
    )


def mix_in(model: GaussianSums, seen: float, batch: GaussianSums, weight: float) -> GaussianSums:
    """Return the sums of a model after a batch, as those of all rows so far."""
    share, total = step_size(seen, weight), seen + weight
    return model.scale((1.0 - share) * total / seen).merge(batch.scale(share * total / weight))
