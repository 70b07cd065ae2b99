"""update: add rows to a saved model or a store; forget: remove rows exactly; merge: add several saved models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from bayeskit._cli.options import Common, Data, FileUse, Output, Reading
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._classifiers.tally_store import TallyStore
    from bayeskit.typing import RowSource

WORDS = WordList(
    {
        "update": "{n:,} rows added; {model} now has {total:g}.",
        "forget": "{n:,} rows forgotten; {model} now has {total:g}.",
        "known": "{batch!r} was already counted, so nothing changed; {model} has {total:g} rows.",
        "written": "Written to {path}.",
    }
)
Batch = Annotated[
    str | None,
    typer.Option(
        "--batch",
        metavar="ID",
        help="For a store: the id of this change. A change with the same id is made only once.",
    ),
]
MaybeElsewhere = Annotated[
    str | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write to this file; by default MODEL itself is changed."
    ),
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

    New values and classes are added to the model. Choices made from rows (cut points, a structure) do not change.
    """
    change("update", model, data, reading, common, output, batch)


class Changeable(Protocol):
    """A saved model or a store, to which rows are added and from which rows are removed; ``path`` is what changes."""

    path: str

    def classifier(self) -> CountClassifier:
        """Return the model as it is now."""
        ...

    def change(self, verb: str, rows: RowSource, target: str) -> bool:
        """Add or remove rows, all of them or none. Return False if this change was made before."""
        ...


class SavedModel:
    """A saved model, whose file is replaced."""

    def __init__(self, model: str, output: str | None) -> None:
        from bayeskit._cli.saved_models import open_classifier

        self.path = output or model
        self._classifier: CountClassifier = open_classifier(model)

    def classifier(self) -> CountClassifier:
        return self._classifier

    def change(self, verb: str, rows: RowSource, target: str) -> bool:
        from bayeskit._cli.output import replaced

        model = self._classifier
        (model.partial_fit if verb == "update" else model.forget)(rows, target=target)
        with replaced(self.path) as temporary:
            model.save(temporary)
        return True


class Store:
    """A store, which counts each batch once."""

    def __init__(self, path: str, store: TallyStore[Any], batch: str) -> None:
        self.path, self._store, self._batch = path, store, batch

    def classifier(self) -> CountClassifier:
        found: CountClassifier = self._store.model()
        return found

    def change(self, verb: str, rows: RowSource, target: str) -> bool:
        act = self._store.append if verb == "update" else self._store.forget
        return bool(act(self._batch, rows, target=target))


@contextmanager
def changeable(model: str, output: str | None, batch: str | None) -> Iterator[Changeable]:
    """Open a saved model or a store."""
    from bayeskit._classifiers.tally_store import TallyStore, is_store
    from bayeskit.errors import UsageError

    if not is_store(model):
        if batch is not None:
            raise UsageError(
                "{model!r} is not a store, and a model on file does not know which batches it has learned. "
                "Leave --batch out.",
                model=model,
            )
        yield SavedModel(model, output)
        return
    if batch is None or output is not None:
        raise UsageError(
            "{model!r} is a store, which counts each change once and is changed in place. Give --batch ID, and no "
            "-o.",
            model=model,
        )
    with TallyStore[Any](model) as store:
        yield Store(model, store, batch)


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
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.saved_models import rows_as_learned
    from bayeskit._cli.table_rows import opened

    with changeable(model, output, batch) as place:
        estimator = place.classifier()
        target = str(estimator.schema_.target.name)
        before = _weight(estimator)
        with opened(data, reading, target, estimator.reading_) as rows:
            changed = place.change(verb, rows_as_learned(estimator, rows).for_learning(), target)
        estimator = place.classifier()
    total, name = _weight(estimator), type(estimator).__name__
    n, written = (abs(total - before), place.path) if changed else (0, None)
    if common.as_json:
        print_json({"model": name, verb: n, "rows": total, "written": written})
    elif changed:
        show(common.say(WORDS[verb], n=round(n), model=name, total=total))
        show(common.say(WORDS["written"], path=place.path))
    else:
        show(common.say(WORDS["known"], batch=batch, model=name, total=total))


def _weight(estimator: CountClassifier) -> float:
    return float(estimator.statistics_.class_counts.sum())


def forget(
    model: ChangedModel,
    data: Data,
    reading: Reading,
    common: Common,
    output: MaybeElsewhere = None,
    batch: Batch = None,
) -> None:
    """Remove the rows of a table from a saved model or a store.

    Rows that cannot have been learned are rejected: some count would fall below zero.
    """
    change("forget", model, data, reading, common, output, batch)


MERGE_WORDS = WordList(
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

    The result equals one model fitted to all rows.

    The models must have the same parameters, columns, cut points and structure.
    """
    from bayeskit._cli.output import print_json, replaced, show
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
        show(common.say(MERGE_WORDS["merged"], n=len(models), model=name, total=total, path=output))
