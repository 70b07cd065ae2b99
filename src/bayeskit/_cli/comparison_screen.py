"""A comparison in the terminal: progress, columns, the table, the verdict, the next command."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bayeskit._cli.options import Common, Reading
from bayeskit._cli.output import console, note, table
from bayeskit._comparison.candidates import OURS
from bayeskit._comparison.comparison_run import unheard
from bayeskit._comparison.resources import Estimate
from bayeskit._comparison.run import Watcher
from bayeskit._conditionals.density import family_of
from bayeskit._data.suspect_columns import reason_text
from bayeskit._messages import WordList
from bayeskit._report.comparison_report.comparison import Column, Comparison, Measure
from bayeskit._report.comparison_report.verdict import WORDS as NAMES
from bayeskit._report.comparison_report.verdict import (
    ceiling_text,
    name_of,
    rule_text,
    simpler_text,
    size_text,
    uncounted_text,
    verdict,
)
from bayeskit._schema import Name

if TYPE_CHECKING:
    from rich.console import Console

WORDS = WordList(
    {
        "rows": "{path}: {n:,} rows, {d} attributes used; target: {target} ({counts})",
        "count": "{label}: {n:,}",
        "unlabelled": "{n:,} rows without a value of {target} are left out.",
        "columns": "How the columns were read",
        "column": "column",
        "read_as": "read as",
        "suggestion": "might also suit",
        "missing": "missing",
        "states": "{n:,} values",
        "table": "categories",
        "gaussian": "numbers",
        "bernoulli": "yes or no",
        "words": "words of a text",
        "left_out": "left out: {why}",
        "kept": "{why} (--keep to use it)",
        "more": "{n} more columns of categories or numbers",
        "folds": "Models on the same {k} folds: each row is predicted by a model that was not trained on it (± "
        "standard deviation over folds)",
        "test": "Models trained on {a}, evaluated on {b}: {n:,} rows (± standard error)",
        "model": "model",
        "cost": "cost",
        "error": "error",
        "log_loss": "log-loss",
        "brier": "Brier",
        "auc": "AUC",
        "cpu": "CPU s",
        "size": "size",
        "p": "p",
        "is_best": "best",
        "is_tied": "tied",
        "tie_note": "tied: a paired test cannot distinguish it from the best (p ≥ 0.05).",
        "failed": "Not compared: {name}: {why}",
        "next": "next:",
        "warnings": "Warnings ({n})",
        "written": "Written: {paths}.",
        "validating": "trying {model}",
        "unit": "Column {name!r} is read as categories, because its numbers have a unit ({cell!r}). Remove the "
        "unit from the file to read them as numbers.",
        "word": "Column {name!r} is read as categories because of {cell!r}; all other cells are numbers. If this "
        "means missing, use --missing {cell!r}.",
        "texts": "{names}: free text. TextBayes learns its words; the other models leave it out.",
        "rare": "{labels}: fewer rows than folds, so some folds learn nothing about it.",
        "sampled": "Models are compared on {rows:,} of {of:,} rows, drawn at random, and the recommended one is fitted "
        "to all; --full compares them on all rows.",
        "seconds": "about {least:.0f} to {most:.0f} s of CPU time; after Ctrl-C, the models that have finished are "
        "reported",
        "minutes": "about {least:.0f} to {most:.0f} min of CPU time; after Ctrl-C or --time-limit, the models that "
        "have finished are reported",
        "to_compile": "about {n:.0f} s of it to compile loops, only this time: they are kept on disk (bayeskit warmup "
        "compiles them beforehand)",
        "interrupt": "Stopped. Only the models that have finished are reported.",
        "time": "The time limit is reached. Only the models that have finished are reported.",
    }
)
# The maximum number of columns to list. Of the columns in use, the first ones are listed.
MOST_COLUMNS = 40
# So many seconds of compiling are told.
WORTH_TELLING = 2.0


class ProgressScreen(Watcher):
    """Shows the progress of a comparison on standard error; ``stack`` closes what it opens."""

    def __init__(self, common: Common, stack: ExitStack) -> None:
        self._common, self._stack = common, stack
        self._begun: Callable[[str], Callable[[], None]] = super().trying

    def read(self, hints: Mapping[Name, tuple[str, str]]) -> None:
        for name, (kind, cell) in hints.items():
            note(self._common.say(WORDS[kind], name=name, cell=cell))

    def texts(self, names: Sequence[Name]) -> None:
        note(self._common.say(WORDS["texts"], names=self._common.listed(map(repr, names))))

    def sampled(self, rows: int, of: int) -> None:
        note(self._common.say(WORDS["sampled"], rows=rows, of=of))

    def estimated(self, estimate: Estimate) -> None:
        least, most = estimate.range
        if most < 120.0:
            note(self._common.say(WORDS["seconds"], least=max(least, 1.0), most=max(most, 2.0)))
        else:
            note(self._common.say(WORDS["minutes"], least=max(least / 60.0, 1.0), most=most / 60.0))
        if estimate.compiling >= WORTH_TELLING:
            note(self._common.say(WORDS["to_compile"], n=estimate.compiling))

    def begin(self, models: int, folds: int, rare: Sequence[object]) -> None:
        if rare:
            note(self._common.say(WORDS["rare"], labels=self._common.listed(rare[:8])))
        self._begun = self._stack.enter_context(progress(self._common, models, folds))

    def trying(self, name: str) -> Callable[[], None]:
        return self._begun(name)


@contextmanager
def progress(common: Common, contenders: int, folds: int) -> Iterator[Callable[[str], Callable[[], None]]]:
    """Show the progress on standard error: a bar on a terminal, otherwise a line for each model."""
    from rich.console import Console

    screen = Console(stderr=True)
    names = NAMES.of(common.lang.value)
    if not screen.is_terminal:

        def announce(name: str) -> Callable[[], None]:
            note(common.say(WORDS["validating"], model=names.get(name, name)))
            return unheard

        yield announce
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=contenders * folds)
        begun = iter(range(contenders + 1))

        def advance(name: str) -> Callable[[], None]:
            # Each model starts where the ones before should have ended, so that a failed model leaves no gap.
            bar.update(task, completed=next(begun) * folds, description=names.get(name, name))
            return lambda: bar.advance(task)

        yield advance


def print_comparison(
    found: Comparison, next_lines: Sequence[str], written: Sequence[str], common: Common
) -> None:
    """Print all of it."""
    say, screen = common.say, console()
    counts = common.listed(
        say(WORDS["count"], label=label, n=n)
        for label, n in zip(found.classes, found.class_counts, strict=True)
    )
    values = {"path": found.table.path, "n": found.table.rows, "d": found.attributes, "target": found.target}
    screen.print(say(WORDS["rows"], counts=counts, **values), style="bold")
    if found.table.unlabelled:
        screen.print(say(WORDS["unlabelled"], n=found.table.unlabelled, target=found.target))
    _section(screen, say(WORDS["columns"]))
    screen.print(_columns(found, common))
    if found.test is None:
        _section(screen, say(WORDS["folds"], k=found.folds))
    else:
        values = {"a": found.table.path, "b": found.test.path, "n": found.test.rows}
        _section(screen, say(WORDS["test"], **values))
    screen.print(_standings(found, common))
    if any(s.tied and s.p is not None for s in found.standings):
        screen.print(say(WORDS["tie_note"]), style="dim")
    for name, why in found.failed:
        screen.print(say(WORDS["failed"], name=name, why=why))
    screen.print(f"\n{verdict(found)}", style="bold")
    screen.print(ceiling_text(found))
    screen.print(rule_text(found))
    screen.print(simpler_text(found))
    if found.uncounted_pairs is not None:
        screen.print(uncounted_text(found))
    if found.cautions:
        _section(screen, say(WORDS["warnings"], n=len(found.cautions)))
    for each in found.cautions:
        screen.print(f"! {each.text}")
    if written:
        screen.print(say(WORDS["written"], paths=common.listed(written)))
    screen.print(f"\n{say(WORDS['next'])}", style="bold")
    for line in next_lines:
        screen.print(f"  {line}", soft_wrap=True)  # never broken, so that it can be copied


def _section(screen: Console, title: str) -> None:
    screen.print(f"\n{title}", style="bold cyan")


def _columns(found: Comparison, common: Common) -> Any:
    say = common.say
    left = [column for column in found.columns if column.left_out is not None]
    room = max(MOST_COLUMNS - len(left), 8)
    used = [column for column in found.columns if column.left_out is None]
    shown = {column.name for column in (*used[:room], *left[:MOST_COLUMNS])}
    rows = [_column(column, found.target, common) for column in found.columns if column.name in shown]
    if len(shown) < len(found.columns):
        rows.append(("…", say(WORDS["more"], n=len(found.columns) - len(shown)), "", ""))
    headers = [say(WORDS[key]) for key in ("column", "read_as", "suggestion", "missing")]
    kept = [j for j in range(4) if j < 2 or any(row[j] for row in rows)]
    return table([headers[j] for j in kept], [[row[j] for j in kept] for row in rows], 3 if 2 in kept else 2)


def _column(column: Column, target: str, common: Common) -> tuple[str, str, str, str]:
    say = common.say
    if column.left_out is not None:
        why = reason_text(column.left_out, target).in_language(common.lang.value)
        if column.left_out in ("identifier", "copy", "date"):
            why = say(WORDS["kept"], why=why)
        return column.name, say(WORDS["left_out"], why=why), "", ""
    states = say(WORDS["states"], n=column.states) if column.states else ""
    read_as = common.listed(filter(None, (_family(column.family, common), states)))
    suggestion = _family(column.suggestion, common) if column.suggestion else ""
    return column.name, read_as, suggestion, f"{column.missing:,}" if column.missing else ""


def _family(family: str, common: Common) -> str:
    """Return the words of a numeric family, which defines its own."""
    if family in WORDS:
        return common.say(WORDS[family])
    return common.say(family_of(family).words.read_as)


def _standings(found: Comparison, common: Common) -> Any:
    say, has_cost = common.say, found.best.cost is not None
    # If models are ranked by cost, it replaces the Brier score here. The report and --json have both.
    keys = ["model", *(["cost"] if has_cost else []), "error", "log_loss"]
    keys += [*([] if has_cost else ["brier"]), "auc", "p", "cpu", "size"]
    rows = []
    for s in found.standings:
        chance = say(WORDS["is_best" if s.p is None else "is_tied"]) if s.tied else _p(s.p or 0.0)
        cells = [name_of(s, common.lang.value), *([_close(s.cost)] if s.cost is not None else [])]
        cells += [_percent(s.error), _close(s.log_loss), *([] if has_cost else [_close(s.brier)])]
        cells += ["–" if s.auc is None else _close(s.auc), chance]
        rows.append([*cells, f"{s.cpu_seconds:.2f}", size_text(s)])
    return table([say(WORDS[key]) for key in keys], rows, 1)


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.0005 else "<.001"


def _percent(measure: Measure) -> str:
    spread = "" if measure.deviation is None else f"±{100 * measure.deviation:.1f}"
    return f"{100 * measure.value:.1f}{spread}%"


def _close(measure: Measure) -> str:
    """Write a number and its spread in a few characters, so that all columns fit on one line.

    >>> _close(Measure(0.3141, 0.002)), _close(Measure(1.5))
    ('0.314±.002', '1.500')
    """
    if measure.deviation is None:
        return f"{measure.value:.3f}"
    return f"{measure.value:.3f}±{measure.deviation:.3f}".replace("±0.", "±.")


@dataclass(frozen=True)
class CompareRequest:
    """The arguments of the command."""

    data: str
    target: str
    reading: Reading
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    models: str | None = None
    test: str | None = None
    folds: int = 5
    random_state: int = 0
    loss: str | None = None
    report: str | None = None
    save: str | None = None
    baselines: bool = True
    lang: str = "en"
    full: bool = False
    time_limit: float | None = None


def reading_flags(reading: Reading) -> list[str]:
    """Return the flags that a table was read with, apart from how many rows were drawn.

    Examples
    --------
    >>> reading_flags(Reading(sep=";", missing=["?"]))
    ['--sep', ';', '--missing', '?']
    """
    found = []
    for name in ("sep", "encoding"):
        value = getattr(reading, name)
        found += [f"--{name}", str(value)] if value is not None else []
    for name in ("missing", "categorical", "numeric"):
        found += [part for value in getattr(reading, name) or () for part in (f"--{name}", value)]
    return found


def typed(request: CompareRequest) -> str:
    """Return the command itself, with every choice explicit."""
    words = ["bayeskit", "compare", request.data, "--target", request.target, *reading_flags(request.reading)]
    words += [part for name in request.drop for part in ("--drop", name)]
    words += [part for name in request.keep for part in ("--keep", name)]
    for name in ("models", "test", "loss"):
        value = getattr(request, name)
        words += [f"--{name}", value] if value is not None else []
    words += [] if request.reading.limit is None else ["--limit", str(request.reading.limit)]
    if request.test is None:
        words += ["--folds", str(request.folds)]
    words += ["--full"] if request.full else []
    words += [] if request.time_limit is None else ["--time-limit", f"{request.time_limit:g}"]
    words += ["--random-state", str(request.random_state), *([] if request.baselines else ["--no-baselines"])]
    words += ["--report", request.report] if request.report else []
    words += ["--save", request.save] if request.save else []
    words += ["--lang", request.lang] if request.lang != "en" else []
    return shlex.join(words)


def next_lines(
    request: CompareRequest, pick: str, left_out: Sequence[str], row: int, unlabelled: bool = False
) -> tuple[str, ...]:
    """Return three commands: keep the model (or see it all on a page), explain a doubtful row, predict.

    Parameters
    ----------
    pick : the key of the model to take
    left_out : columns that are not used
    row : the number of an interesting row
    unlabelled : whether rows without a class were left out, which ``fit`` does not do
    """
    model = request.save or "best.bayes"
    flags = reading_flags(request.reading)
    data = "rows.csv" if request.data == "-" else request.data
    drops = [part for name in left_out for part in ("--drop", name)]
    if request.save is None and unlabelled:
        alone = replace(request, data=data, models=pick, baselines=False, test=None, save=model)
        return (typed(alone), *_using(model, request, data, flags, row))
    if request.save is None:
        first = ["fit", data, "--target", request.target, *_fit_flags(pick), *drops, *flags, "-o", model]
    elif request.report is None:
        return (
            typed(replace(request, data=data, report="report.html")),
            *_using(model, request, data, flags, row),
        )
    else:
        first = ["inspect", model]
    return (shlex.join(["bayeskit", *first]), *_using(model, request, data, flags, row))


def _using(model: str, request: CompareRequest, data: str, flags: list[str], row: int) -> tuple[str, str]:
    rows = request.test or data
    loss = ["--loss", request.loss] if request.loss else []
    explain = ["bayeskit", "explain", model, rows, "--row", str(row), *flags]
    predict = ["bayeskit", "predict", model, rows, "--proba", *loss, *flags, "-o", "predictions.csv"]
    return shlex.join(explain), shlex.join(predict)


def _fit_flags(key: str) -> Sequence[str]:
    """Return the command that fits a model.

    Examples
    --------
    >>> _fit_flags("kernel")
    ['--model', 'nb', '--param', 'numeric=kernel']
    """
    model, parameters = OURS[key]
    more = [text for name, value in parameters.items() for text in ("--param", f"{name}={value}")]
    return ["--model", model, *more]
