"""compare: every model that suits a table, on the same folds; which to take, and what to type next."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated, Any

import typer

from bayeskit.cli.completing import columns, model_lists
from bayeskit.cli.options import Common, Data, Drop, FileUse, Loss, Reading

WORDS = {
    "reading": ("reading {path}", "读取 {path}"),
    "unit": (
        "Column {name!r} is read as names: its numbers have a unit behind them ({cell!r}). Take the unit out of the "
        "file to have them measured.",
        "列 {name!r} 未按数值读取：数字后面带有单位（{cell!r}）。如要按数值处理，请在文件中去掉单位。",
    ),
    "word": (
        "Column {name!r} is read as names because of {cell!r}; all its other cells are numbers. If that means missing, "
        "say --missing {cell!r}.",
        "列 {name!r} 未按数值读取：其中有 {cell!r}，其余都是数字。如果它表示缺失，请加 --missing {cell!r}。",
    ),
    "compiling": (
        "compiling, once: the loops are kept for the next time",
        "正在编译（仅此一次）：编译结果会保存备用",
    ),
    "rare": (
        "{labels}: fewer rows than folds, so some folds learn nothing about it.",
        "{labels}：样本数少于折数，有些折学不到该类。",
    ),
    "writing": ("writing {path}", "写入 {path}"),
}


def compare(
    data: Data,
    target: Annotated[
        str,
        typer.Option("--target", metavar="COL", autocompletion=columns, help="The column to predict."),
    ],
    reading: Reading,
    common: Common,
    drop: Drop = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", metavar="COL", autocompletion=columns, help="Use a column that would be left out."
        ),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            metavar="LIST",
            autocompletion=model_lists,
            help="Of nb,kernel,tan,aode,a2de,kdb,skdb,weighted,auto,spode,net; those that suit if not given.",
        ),
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Try scikit-learn's models, too.")
    ] = True,
    test: Annotated[
        str | None,
        typer.Option("--test", metavar="FILE", help="Judge on these rows, not by folds."),
        FileUse.read,
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, max=100, help="How many folds.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="How rows are dealt.")] = 0,
    loss: Loss = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Write a page of HTML about it."),
        FileUse.written,
    ] = None,
    save: Annotated[
        str | None,
        typer.Option("--save", metavar="FILE", help="Save the model to take, fitted to all rows."),
        FileUse.written,
    ] = None,
) -> None:
    """Compare all models that suit a table.

    Columns that name the row, dates, constants and copies of the target are left out, and it is said so. Every model,
    and four of scikit-learn's to measure them by, is judged on rows that it had not seen; those that a paired test
    cannot tell from the best are called ties. With --loss the cost of the decisions decides, else the error.
    """
    from bayeskit.cli.comparing.findings import found_by
    from bayeskit.cli.comparing.next import Asked, next_lines, typed
    from bayeskit.cli.comparing.run import Run, Settings
    from bayeskit.cli.comparing.show import print_comparison, progress
    from bayeskit.cli.comparing.table import load
    from bayeskit.cli.losses import read_losses
    from bayeskit.cli.output import note, noting_compilation, print_json
    from bayeskit.cli.writing import replaced
    from bayeskit.report.comparison_report.page import as_page
    from bayeskit.report.comparison_report.verdict import verdict

    asked = Asked(
        data, target, reading, tuple(drop or ()), tuple(keep or ()), models, test, folds, seed, loss, report,
        save, baselines, common.lang.value,
    )  # fmt: skip
    written = [path for path in (report, save) if path is not None]
    with ExitStack() as stack:
        # The outputs come first: who cannot write there should not learn so after the work.
        paper = None if report is None else stack.enter_context(replaced(report))
        store = None if save is None else stack.enter_context(replaced(save))
        loaded = load(data, target, asked.drop, asked.keep, test, reading)
        for name, (kind, cell) in loaded.hints.items():
            note(common.say(WORDS[kind], name=name, cell=cell))
        stack.enter_context(noting_compilation(common.say(WORDS["compiling"])))
        run = Run(loaded, target, Settings(models, baselines, folds, seed, common.lang.value))
        losses = None if loss is None else read_losses(loss, run.classes.tolist())
        _note_rare(run, common)
        with progress(common, len(run.contenders), len(run.judged.parts)) as begun:
            found = run.compare(losses, begun)
        doubtful = int(found.held.rows[found.held.posterior.max(axis=1).argmin()])
        left_out = [column.name for column in found.columns if column.left_out is not None]
        lines = next_lines(asked, found.pick, left_out, doubtful, found.table.unlabelled > 0)
        if store is not None:
            run.fitted(found.pick).save(store)
        if paper is not None:
            findings = found_by(run, found, typed(asked), lines, loss)
            paper.write_text(as_page(findings), encoding="utf-8")
        for path in written:
            note(common.say(WORDS["writing"], path=path))
    if common.as_json:
        more: dict[str, Any] = {"verdict": verdict(found), "next": list(lines), "written": written}
        print_json(found.to_dict() | more)
    else:
        print_comparison(found, lines, written, common)


def _note_rare(run: Any, common: Common) -> None:
    from collections import Counter

    from bayeskit.cli.output import note

    counts = Counter(run.loaded.y[: run.loaded.n_learned].tolist())
    rare = [label for label, n in counts.items() if n < len(run.judged.parts)]
    if rare:
        note(common.say(WORDS["rare"], labels=common.listed(rare[:8])))
