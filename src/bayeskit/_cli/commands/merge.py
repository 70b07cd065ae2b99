"""merge: merge several saved models into one."""

from __future__ import annotations

from typing import Annotated

import typer

from bayeskit._cli.options import Common, FileUse, Output
from bayeskit._messages import WordList

WORDS = WordList(
    {
        "merged": "{n} models merged: {model} has {total:g} rows. Written to {path}.",
    }
)


def merge(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL MODEL...", help="Models saved by 'fit'."), FileUse.read
    ],
    output: Output,
    common: Common,
) -> None:
    """Merge saved models into one.

    It is the same as one model fitted to the rows of all.

    They must have the same parameters and columns, and hold the same cut points and structure.
    """
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.row_writing import replaced
    from bayeskit._cli.saved_models import open_classifier
    from bayeskit.errors import UsageError

    if len(models) < 2:
        raise UsageError("One model alone cannot be merged. Give two or more, then -o FILE.")
    first, *others = (open_classifier(model) for model in models)
    for other in others:
        first.merge(other)
    with replaced(output) as temporary:
        first.save(temporary)
    name, total = type(first).__name__, float(first.statistics_.class_counts.sum())
    if common.as_json:
        print_json({"model": name, "merged": models, "rows": total, "written": output})
    else:
        show(common.say(WORDS["merged"], n=len(models), model=name, total=total, path=output))
