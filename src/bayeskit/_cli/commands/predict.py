"""predict: predict the class of every row, its probabilities, and the best action under a loss."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.options import Common, Data, FileUse, Loss, MaybeOutput, Reading, Spreadsheet
from bayeskit._messages import WordList
from bayeskit._on_demand import Program
from bayeskit.errors import BayeskitError, UsageError

if TYPE_CHECKING:
    from bayeskit._cli.saved_models import SavedPredictor
    from bayeskit._data.file_rows import FileRows
    from bayeskit._data.table import ColumnBatch
    from bayeskit.typing import Floats, LossLike

WORDS = WordList(
    {
        "done": "{n:,} rows predicted: {counts}. Written to {path}.",
    }
)


def predict(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A saved model, or a network (with --target)."),
        FileUse.read,
    ],
    data: Data,
    reading: Reading,
    common: Common,
    output: MaybeOutput = None,
    proba: Annotated[bool, typer.Option("--proba", help="Print the probability of every class.")] = False,
    loss: Loss = None,
    reject: Annotated[
        float | None,
        typer.Option("--reject", metavar="COST", help="The cost of rejecting a row instead of deciding."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="NODE", help="The node of a network to predict.")
    ] = None,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Predict every row of a table, in batches.

    Each row of the result has its number (from 1) and the most probable class. With --proba it also has the
    probability of each class; with --loss or --reject, the action with the lowest risk and its risk. Output is JSON
    if FILE ends in .json or .jsonl, Parquet with the columns 'prediction' and 'p_CLASS' if it ends in .parquet, and
    CSV otherwise.
    """
    from bayeskit._cli.output import RowWriter, form_of, opened_text, print_json, show
    from bayeskit._cli.saved_models import open_model
    from bayeskit._cli.table_rows import opened, read_losses

    Program.only_asks = Program.is_command
    form = form_of(output, common.as_json, spreadsheet)
    predictor = open_model(model, target)
    decides = loss is not None or reject is not None
    if output is not None and output.lower().endswith(".parquet"):
        _write_parquet(predictor, data, reading, common, output, plain=not (decides or spreadsheet))
        return
    costs = None if loss is None else read_losses(loss, predictor.classes)
    header = ["row", predictor.target]
    header += [f"P({label})" for label in predictor.classes] if proba else []
    header += ["action", "risk"] if decides else []
    by_answer: Counter[str] = Counter()
    with opened(data, reading, predictor.target, predictor.reading) as rows:
        known = predictor.columns_of(rows)  # raises an error before anything is written
        with opened_text(output) as stream:
            writer = RowWriter(stream, header, form, spreadsheet)
            first = 1
            for batch in _shown(known, output):
                try:
                    found = predictor.predict_proba(batch)
                except BayeskitError as error:
                    error.move_rows(first - 1)
                    raise
                lines = _lines(found, predictor.classes, first, proba, decides, costs, reject)
                written = list(lines)
                by_answer.update(str(line[-2] if decides else line[1]) for line in written)
                writer.write(written)
                first += len(found)
            writer.close()
    if output is None or output == "-":
        return
    n = sum(by_answer.values())
    if common.as_json:
        print_json({"rows": n, "counts": dict(by_answer), "written": output})
    else:
        counts = common.listed(f"{label} {count:,}" for label, count in by_answer.most_common())
        show(common.say(WORDS["done"], n=n, counts=counts, path=output))


def _write_parquet(
    predictor: SavedPredictor, data: str, reading: Reading, common: Common, output: str, *, plain: bool
) -> None:
    """Write ``prediction`` and ``p_<class>``, as ``predict(sink=)`` does."""
    from bayeskit._classifiers.row_sink import write_batches
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.table_rows import opened

    if not plain:
        raise UsageError("Parquet holds predictions and probabilities. For decisions write CSV or JSON.")
    with opened(data, reading, predictor.target, predictor.reading) as rows:
        batches = _shown(predictor.columns_of(rows), output)
        written = write_batches(predictor.predict_proba, predictor.classes, batches, output)
    if common.as_json:
        print_json({"rows": written.rows, "counts": written.counts, "written": output})
    else:
        counts = common.listed(f"{label} {count:,}" for label, count in written.most_common())
        show(common.say(WORDS["done"], n=written.rows, counts=counts, path=output))


def _shown(rows: FileRows, output: str | None) -> Iterator[ColumnBatch]:
    """Return the batches of rows; where they are written to a file, a terminal shows how far they have come."""
    from bayeskit._data.row_progress import with_progress

    batches = rows.batches()
    if output in (None, "-") or not sys.stderr.isatty():
        return batches
    return with_progress(batches, lambda batch: batch.n_rows, rows.known_rows)


def _lines(
    found: Floats,
    classes: tuple[Any, ...],
    first: int,
    proba: bool,
    decides: bool,
    costs: LossLike,
    reject: float | None,
) -> Iterator[list[Any]]:
    """Yield the cells of each row: its number, its class, and what the options request."""
    from bayeskit._decision.choice import prepare, settle
    from bayeskit._decision.loss import read_loss

    best = found.argmax(axis=1).tolist()
    if decides:
        table, label = prepare(read_loss(costs, len(classes), list(classes)), reject, None)
        decision = settle(found, table, reject, label)
        more = list(zip(decision.actions.tolist(), decision.risk.tolist(), strict=True))
    for i, (k, row) in enumerate(zip(best, found.tolist(), strict=True)):
        yield [first + i, classes[k], *(row if proba else ()), *(more[i] if decides else ())]
