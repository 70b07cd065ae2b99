"""The commands to type next, filled in."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bayeskit.cli.comparing.models import fit_flags
from bayeskit.cli.options import Reading


@dataclass(frozen=True)
class Asked:
    """What was typed."""

    data: str
    target: str
    reading: Reading
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    models: str | None = None
    test: str | None = None
    folds: int = 5
    seed: int = 0
    loss: str | None = None
    report: str | None = None
    save: str | None = None
    baselines: bool = True
    lang: str = "en"


def reading_flags(reading: Reading) -> list[str]:
    """Return the flags that a table was read with.

    Examples
    --------
    >>> reading_flags(Reading(sep=";", missing=["?"]))
    ['--sep', ';', '--missing', '?']
    """
    found = []
    for name in ("sep", "encoding", "limit"):
        value = getattr(reading, name)
        found += [f"--{name}", str(value)] if value is not None else []
    for name in ("missing", "categorical", "numeric"):
        found += [part for value in getattr(reading, name) or () for part in (f"--{name}", value)]
    return found


def typed(asked: Asked) -> str:
    """Return the command itself, every choice spelt out."""
    words = ["bayeskit", "compare", asked.data, "--target", asked.target, *reading_flags(asked.reading)]
    words += [part for name in asked.drop for part in ("--drop", name)]
    words += [part for name in asked.keep for part in ("--keep", name)]
    for name in ("models", "test", "loss"):
        value = getattr(asked, name)
        words += [f"--{name}", value] if value is not None else []
    if asked.test is None:
        words += ["--folds", str(asked.folds)]
    words += ["--seed", str(asked.seed), *([] if asked.baselines else ["--no-baselines"])]
    words += ["--report", asked.report] if asked.report else []
    words += ["--save", asked.save] if asked.save else []
    words += ["--lang", asked.lang] if asked.lang != "en" else []
    return shlex.join(words)


def next_lines(
    asked: Asked, pick: str, left_out: Sequence[str], row: int, unlabelled: bool = False
) -> tuple[str, ...]:
    """Return three commands: keep the model (or see it all on a page), explain a doubtful row, predict.

    Parameters
    ----------
    pick : the key of the model to take
    left_out : columns that are not used
    row : the number of a row worth looking at
    unlabelled : whether rows without a class were left out, which ``fit`` does not do
    """
    model = asked.save or "best.bayes"
    flags = reading_flags(asked.reading)
    data = "rows.csv" if asked.data == "-" else asked.data
    drops = [part for name in left_out for part in ("--drop", name)]
    if asked.save is None and unlabelled:
        alone = replace(asked, data=data, models=pick, baselines=False, test=None, save=model)
        return (typed(alone), *_using(model, asked, data, flags, row))
    if asked.save is None:
        first = ["fit", data, "--target", asked.target, *fit_flags(pick), *drops, *flags, "-o", model]
    elif asked.report is None:
        return (
            typed(replace(asked, data=data, report="report.html")),
            *_using(model, asked, data, flags, row),
        )
    else:
        first = ["inspect", model]
    return (shlex.join(["bayeskit", *first]), *_using(model, asked, data, flags, row))


def _using(model: str, asked: Asked, data: str, flags: list[str], row: int) -> tuple[str, str]:
    rows = asked.test or data
    loss = ["--loss", asked.loss] if asked.loss else []
    explain = ["bayeskit", "explain", model, rows, "--row", str(row), *flags]
    predict = ["bayeskit", "predict", model, rows, "--proba", *loss, *flags, "-o", "predictions.csv"]
    return shlex.join(explain), shlex.join(predict)
