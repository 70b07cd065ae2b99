"""explain: the prediction of one row step by step, or what to ask before deciding; inspect: what a saved model is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.options import Common, FileUse, Loss, MaybeOutput, ModelFile, Reading
from bayeskit._cli.output import Ask, Cost, Form, FormOption

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier


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
