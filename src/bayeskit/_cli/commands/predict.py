"""predict: the classes of rows, probabilities, the best action; explain: one row step by step; inspect: a model."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.options import Common, Data, FileUse, Loss, MaybeOutput, ModelFile, Reading, Spreadsheet
from bayeskit._cli.output import Ask, Cost, Form, FormOption
from bayeskit._messages import WordList
from bayeskit._on_demand import Program
from bayeskit.errors import BayeskitError, UsageError

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
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
    from bayeskit._data.batches import with_progress

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


# explain: the prediction of one row step by step, or what to ask before deciding; inspect: what a saved model is.


def explain(
    model: ModelFile,
    reading: Reading,
    common: Common,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="The table that contains the row."), FileUse.read
    ] = None,
    row: Annotated[int | None, typer.Option("--row", min=1, help="The row of DATA; the first is 1.")] = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="COL=VALUE", help="The value of a column; other columns are missing."),
    ] = None,
    loss: Loss = None,
    reject: Annotated[
        float | None,
        typer.Option("--reject", metavar="COST", help="The cost of rejecting a row instead of deciding."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also show attributes that favour no class.")
    ] = False,
    ask: Ask = False,
    cost: Cost = None,
    form: FormOption = Form.text,
    output: MaybeOutput = None,
) -> None:
    """Show the arithmetic behind the prediction of one row.

    For every class: the prior times the likelihoods, with the counts as fractions, the largest contribution first.
    With --loss or --reject: the risk of each action. The row is taken from a table (DATA --row 17) or given with
    --set COL=VALUE ...

    --ask ranks the missing values worth observing instead: by information in bits or, with --loss, by the risk
    saved.
    """
    from bayeskit._cli.output import read_prices, refuse_strays, write_page
    from bayeskit._cli.saved_models import open_classifier
    from bayeskit._cli.table_rows import read_losses

    form = Form.json if common.as_json else form
    refuse_strays(ask, form, cost, reject)
    _refuse_no_row(data, row, values, ask)
    estimator = open_classifier(model)
    cells = _cells(estimator, data, row, values, reading)
    costs = None if loss is None else read_losses(loss, estimator.classes_.tolist())
    lang = common.lang.value
    if ask:
        attributes = {str(v.name): v.name for v in estimator.schema_.attributes}
        prices = {attributes[name]: price for name, price in read_prices(cost, attributes).items()}
        questions = estimator.ask_next(cells, costs=prices, loss=costs, lang=lang)
        write_page(questions, questions.page().title, form, output)
        return
    page = estimator.explain(cells, lang=lang, loss=costs, reject=reject, all=everything)
    write_page(page, page.page().title, form, output)


def _refuse_no_row(data: str | None, row: int | None, values: list[str] | None, ask: bool) -> None:
    """Raise an error unless there is one row, or --ask, which may have none."""
    from bayeskit.errors import UsageError

    by_hand, from_table = bool(values), data is not None and row is not None
    stray = by_hand and (data is not None or row is not None)
    nothing = data is None and row is None and not by_hand
    if stray or not (by_hand or from_table or (ask and nothing)):
        raise UsageError("Give a row of a table (DATA --row 17), or one by hand (--set COL=VALUE ...).")


def _cells(
    estimator: CountClassifier,
    data: str | None,
    row: int | None,
    values: Sequence[str] | None,
    reading: Reading,
) -> Any:
    from bayeskit._cli.table_rows import opened
    from bayeskit._cli.typed_values import row_by_hand, row_of

    if data is not None:
        with opened(data, reading, str(estimator.schema_.target.name), estimator.reading_) as rows:
            return row_of(estimator, rows, row or 1)
    return row_by_hand(estimator, values) if values else None


def inspect(
    model: ModelFile,
    reading: Reading,
    common: Common,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="The training table; the output then also shows how well the model fits.",
        ),
        FileUse.read,
    ] = None,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="Write the page as HTML."),
        FileUse.written,
    ] = None,
) -> None:
    """Describe a saved model and what it has learned.

    The output shows data, parameters, classes, attributes by importance, and warnings. With --data, each row is
    predicted from all others, and the output also shows the fit and the calibration.
    """
    from bayeskit._cli.output import html_page, opened_text, print_json, show
    from bayeskit._cli.saved_models import open_classifier, rows_as_learned
    from bayeskit._cli.table_rows import opened

    estimator = open_classifier(model)
    lang = common.lang.value
    if data is None:
        page = estimator.summary(lang=lang)
    else:
        target = str(estimator.schema_.target.name)
        with opened(data, reading, target, estimator.reading_) as rows:
            known = rows_as_learned(estimator, rows).for_learning()
            page = estimator.summary(known, target=target, lang=lang)
    if html is not None:
        with opened_text(html) as stream:
            stream.write(html_page(page.title, page.to_html(), lang) + "\n")
    if common.as_json:
        print_json(page.to_dict())
    elif html is None:
        show(str(page))
    else:
        show(common.say("Written to {path}.", path=html))
