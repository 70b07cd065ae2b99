"""inspect: show what a saved model is and what it has learned."""

from __future__ import annotations

from typing import Annotated

import typer

from bayeskit._cli.options import Common, FileUse, ModelFile, Reading


def inspect(
    model: ModelFile,
    reading: Reading,
    common: Common,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="FILE", help="The table the model was fitted to: tells how well it fits, too."
        ),
        FileUse.read,
    ] = None,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="Write the page as HTML."),
        FileUse.written,
    ] = None,
) -> None:
    """Show what a model is and what it has learned.

    Its data, parameters, classes, attributes by importance, and warnings; with --data how well it fits, each row
    predicted from all others, and how well its probabilities are calibrated.
    """
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.page_files import html_page
    from bayeskit._cli.row_writing import opened_text
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
