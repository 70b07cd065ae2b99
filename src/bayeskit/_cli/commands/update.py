"""update: add rows to a saved model or a store; forget: remove rows exactly, as if they had never been added."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.options import Common, Data, FileUse, Reading
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._data.file_rows import FileRows

WORDS = WordList(
    {
        "update": "{n:,} rows added; {model} now rests on {total:g}.",
        "forget": "{n:,} rows forgotten; {model} now rests on {total:g}.",
        "known": "{batch!r} was counted before: nothing changed; {model} rests on {total:g}.",
        "written": "Written to {path}.",
    }
)
Batch = Annotated[
    str | None,
    typer.Option(
        "--batch", metavar="ID", help="For a store: the id of this change, which is made only once."
    ),
]
MaybeElsewhere = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write here; without it MODEL itself changes."),
    FileUse.written,
]
ChangedModel = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A model saved by 'fit', or the directory of a store."),
    FileUse.changed,
]


def update(
    model: ChangedModel,
    data: Data,
    reading: Reading,
    common: Common,
    output: MaybeElsewhere = None,
    batch: Batch = None,
) -> None:
    """Add the rows of a table to a saved model or a store.

    New values and new classes enlarge it. What was chosen from rows (cut points, a structure) stays as it is.
    """
    change("update", model, data, reading, common, output, batch)


def change(
    verb: str,
    model: str,
    data: str,
    reading: Reading,
    common: Common,
    output: str | None,
    batch: str | None,
) -> None:
    """Add rows to a saved model or a store, or remove them: all or none."""
    from bayeskit._classifiers.tally_store import is_store
    from bayeskit._cli.row_writing import replaced
    from bayeskit._cli.saved_models import open_classifier
    from bayeskit._cli.table_rows import opened
    from bayeskit.errors import UsageError

    if is_store(model):
        _change_store(verb, model, data, reading, common, output, batch)
        return
    if batch is not None:
        raise UsageError(
            "{model!r} is not a store, and a model on file does not know which batches it has learned. "
            "Leave --batch out.",
            model=model,
        )
    estimator = open_classifier(model)
    before = _weight(estimator)
    with opened(data, reading, str(estimator.schema_.target.name), estimator.reading_) as rows:
        known = _as_learned(estimator, rows)
        target = str(estimator.schema_.target.name)
        (estimator.partial_fit if verb == "update" else estimator.forget)(known.for_learning(), target=target)
    total = _weight(estimator)
    with replaced(output or model) as temporary:
        estimator.save(temporary)
    _print_result(verb, estimator, abs(total - before), total, output or model, common)


def _change_store(
    verb: str,
    model: str,
    data: str,
    reading: Reading,
    common: Common,
    output: str | None,
    batch: str | None,
) -> None:
    """Make a change to a store exactly once."""
    from bayeskit._classifiers.tally_store import TallyStore
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.table_rows import opened
    from bayeskit.errors import UsageError

    if batch is None or output is not None:
        raise UsageError(
            "{model!r} is a store, which counts each change once and changes in its place. Give --batch ID, and no -o.",
            model=model,
        )
    with ExitStack() as stack:
        store = stack.enter_context(TallyStore[Any](model))
        estimator = store.model()
        target = str(estimator.schema_.target.name)
        rows = stack.enter_context(opened(data, reading, target, estimator.reading_))
        before = _weight(estimator)
        known = _as_learned(estimator, rows)
        changed = (store.append if verb == "update" else store.forget)(
            batch, known.for_learning(), target=target
        )
        estimator = store.model()
    total = _weight(estimator)
    if changed:
        _print_result(verb, estimator, abs(total - before), total, model, common)
    elif common.as_json:
        print_json({"model": type(estimator).__name__, verb: 0, "rows": total, "written": None})
    else:
        show(common.say(WORDS["known"], batch=batch, model=type(estimator).__name__, total=total))


def _as_learned(estimator: CountClassifier, rows: FileRows) -> Any:
    """Return the columns of the model and its target, each read as in training."""
    from bayeskit._cli.saved_models import as_learned
    from bayeskit._data.file_rows import kinds_of, learned_columns

    schema = estimator.schema_
    target = str(schema.target.name)
    rows.need(target)
    if not hasattr(estimator, "feature_names_in_"):
        return rows
    names = [str(name) for name in estimator.feature_names_in_]
    kinds = kinds_of((*learned_columns(estimator), schema.target))
    # A new class may be a word even if the others are numbers, so only text is enforced.
    kinds = {k: v for k, v in kinds.items() if k != target or v == "str"}
    return as_learned(rows, estimator.reading_, [*names, target], kinds)


def _weight(estimator: CountClassifier) -> float:
    return float(estimator.statistics_.class_counts.sum())


def _print_result(
    verb: str, estimator: CountClassifier, n: float, total: float, path: str, common: Common
) -> None:
    from bayeskit._cli.output import print_json, show

    name = type(estimator).__name__
    if common.as_json:
        print_json({"model": name, verb: n, "rows": total, "written": path})
        return
    show(common.say(WORDS[verb], n=round(n), model=name, total=total))
    show(common.say(WORDS["written"], path=path))


def forget(
    model: ChangedModel,
    data: Data,
    reading: Reading,
    common: Common,
    output: MaybeElsewhere = None,
    batch: Batch = None,
) -> None:
    """Take the rows of a table away from a saved model or a store.

    Rows that cannot have been learned, because some count would fall below zero, are refused.
    """
    change("forget", model, data, reading, common, output, batch)
