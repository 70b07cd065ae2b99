"""compare: compare all suitable models on the same folds, and recommend one."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer

from bayeskit._cli.completion import columns, model_lists
from bayeskit._cli.options import Common, Data, Drop, FileUse, Keep, Loss, SampledReading
from bayeskit._messages import WordList

WORDS = WordList(
    {
        "reading": "reading {path}",
        "compiling": "compiling {model} once; the compiled loops are cached ('bayeskit warmup' compiles all "
        "models in advance)",
        "writing": "writing {path}",
    }
)


def compare(
    data: Data,
    target: Annotated[
        str,
        typer.Option("--target", metavar="COL", autocompletion=columns, help="The column to predict."),
    ],
    reading: SampledReading,
    common: Common,
    drop: Drop = None,
    keep: Keep = None,
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            metavar="LIST",
            autocompletion=model_lists,
            help="Of nb,kernel,tan,aode,a2de,kdb,skdb,weighted,auto,trees,loglinear,text,spode,net; by default "
            "all suitable ones.",
        ),
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Also compare scikit-learn models.")
    ] = True,
    test: Annotated[
        str | None,
        typer.Option("--test", metavar="FILE", help="Evaluate on these rows instead of by cross-validation."),
        FileUse.read,
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, max=100, help="Number of folds.")] = 5,
    random_state: Annotated[
        int, typer.Option("--random-state", min=0, max=2**32 - 1, help="Random seed of the folds.")
    ] = 0,
    loss: Loss = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Compare on all rows. By default, above 50,000 rows a sample of 10,000 is used."
        ),
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0.001,
            help="Leave out models that have not finished by then.",
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Write an HTML report."),
        FileUse.written,
    ] = None,
    save: Annotated[
        str | None,
        typer.Option("--save", metavar="FILE", help="Save the recommended model, fitted to all rows."),
        FileUse.written,
    ] = None,
) -> None:
    """Compare all models that are suitable for a table.

    Identifiers, dates, constants and copies of the target are left out, with a note. TextBayes learns the words of
    free text; the other models leave it out. Every model, and four scikit-learn models for comparison, is evaluated
    on held-out rows. Models that do not differ significantly from the best are called tied. Models are ranked by
    error, or with --loss by the cost of their decisions. After Ctrl-C, the models that have finished are reported.
    """
    from bayeskit._cli.comparison_screen import WORDS as SCREEN_WORDS
    from bayeskit._cli.comparison_screen import (
        CompareRequest,
        ProgressScreen,
        next_lines,
        print_comparison,
        typed,
    )
    from bayeskit._cli.output import note, noting_compilation, print_json, replaced
    from bayeskit._cli.table_rows import opened, read_losses
    from bayeskit._comparison.loading import FileTableSource
    from bayeskit._comparison.run import compare
    from bayeskit._report.comparison_report.verdict import verdict

    request = CompareRequest(
        data, target, reading, tuple(drop or ()), tuple(keep or ()), models, test, folds, random_state, loss, report,
        save, baselines, common.lang.value, full, time_limit,
    )  # fmt: skip
    written = [path for path in (report, save) if path is not None]
    with ExitStack() as stack:
        # The outputs are checked first: an error should come before the work, not after it.
        paper = None if report is None else stack.enter_context(replaced(report))
        store = None if save is None else stack.enter_context(replaced(save))
        whole = replace(reading, limit=None)  # rows are drawn at random from the whole file
        rows = stack.enter_context(opened(data, whole, target))
        others = None if test is None else stack.enter_context(opened(test, whole, target))
        stack.enter_context(noting_compilation(common.say(WORDS["compiling"], model=models or "nb, tan, …")))
        with ExitStack() as bar:
            found = compare(
                FileTableSource(rows, rows.shown if data == "-" else data),
                target,
                models=models,
                baselines=baselines,
                test=None if others is None else FileTableSource(others, str(test)),
                exclude=request.drop,
                keep=request.keep,
                folds=folds,
                random_state=random_state,
                loss=None if loss is None else partial(read_losses, loss),
                most_rows=reading.limit,
                full=full,
                time_limit=time_limit,
                lang=common.lang.value,
                watcher=ProgressScreen(common, bar),
            )
        if found.stopped is not None:
            note(common.say(SCREEN_WORDS[found.stopped]))
        doubtful = int(found.held.rows[found.held.posterior.max(axis=1).argmin()])
        left_out = [column.name for column in found.columns if column.left_out is not None]
        lines = next_lines(request, found.pick, left_out, doubtful, found.table.unlabelled > 0)
        if store is not None:
            found.fitted().save(store)
        if paper is not None:
            page = found.page(command=typed(request), next_lines=lines, loss_path=loss)
            paper.write_text(page, encoding="utf-8")
        for path in written:
            note(common.say(WORDS["writing"], path=path))
    if common.as_json:
        more: dict[str, Any] = {"verdict": verdict(found), "next": list(lines), "written": written}
        print_json(found.to_dict() | more)
    else:
        print_comparison(found, lines, written, common)
