"""fit: train a model on a table and save it; discretize: cut the numeric columns of a table into intervals."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.completion import columns, models
from bayeskit._cli.options import Common, Data, Drop, Keep, MaybeOutput, Output, Reading, Spreadsheet
from bayeskit._messages import WordList
from bayeskit.errors import SettingError

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._data.file_rows import FileRows


# So many classes are listed with their rows.
MOST_CLASSES = 12
WORDS = WordList(
    {
        "learned": "{model} was fitted to {n:,} rows of {data}: {d} attributes, {k} classes of {target} "
        "({counts}).",
        "written": "Written to {path}.",
        "next": "next: ",
        "words": "{names}: free text. TextBayes learns its words together with the other columns. To read it as "
        "categories, use --categorical COL; to leave it out, --drop COL.",
        "no_words": "{names}: free text, which {model} cannot read. It is left out; --model text learns its words.",
        "compiling": "compiling {model} once; the compiled loops are cached ('bayeskit warmup' compiles all "
        "models in advance)",
    }
)


def fit(
    data: Data,
    target: Annotated[
        str,
        typer.Option("--target", metavar="COL", autocompletion=columns, help="The column to predict."),
    ],
    output: Output,
    reading: Reading,
    common: Common,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            autocompletion=models,
            help="nb, spode, tan, aode, a2de, kdb, skdb, weighted, auto, trees, loglinear, text or net.",
        ),
    ] = "nb",
    smoothing: Annotated[
        str | None,
        typer.Option(
            "--smoothing", metavar="NUMBER", help="Imaginary rows in each cell (1: Laplace), or a name."
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", metavar="NAME=VALUE", help="Any other parameter, such as k=3 or numeric=kernel."
        ),
    ] = None,
    drop: Drop = None,
    keep: Keep = None,
) -> None:
    """Fit a classifier to a table and save it.

    Identifiers, dates, constants and copies of the target are left out, with a note; --keep uses such a column
    anyway. Numbers have a normal density (nb) or are cut into intervals (other models), text has a probability
    table, and missing cells are not counted. If a column is free text, nb becomes TextBayes, which learns its
    words; a note says so. --model net learns a network; 'bayeskit network' shows and queries it.
    """
    from bayeskit._cli.output import note, replaced
    from bayeskit._cli.saved_models import refuse_network_suffix
    from bayeskit._cli.table_rows import opened
    from bayeskit._comparison.candidates import make_model

    parameters = parameters_of(param, smoothing)
    make_model(model, parameters)  # wrong names are told before any work is done
    if model == "net":
        refuse_network_suffix(output)
    # The output is checked first: an error should come before the work, not after it.
    with replaced(output) as temporary, opened(data, reading, target) as rows:
        estimator, rows = learn_rows(rows, target, model, parameters, reading, drop, keep, common)
        estimator.save(temporary)
    _print_result(estimator, estimator.statistics_.class_counts.tolist(), rows.shown, common, output)
    if data != "-" and not common.as_json:
        command = shlex.join(["bayeskit", "explain", str(output), data, "--row", "1"])
        note(common.say(WORDS["next"]) + command)


def learn_rows(
    rows: FileRows,
    target: str,
    model: str,
    parameters: dict[str, Any],
    reading: Reading,
    drop: list[str] | None,
    keep: list[str] | None,
    common: Common,
) -> tuple[CountClassifier, FileRows]:
    """Return a classifier of the rows, and the columns that it was learned from."""
    from bayeskit._cli.output import noting_compilation
    from bayeskit._cli.table_rows import screened
    from bayeskit._comparison.candidates import make_model

    estimator = make_model(model, parameters)
    rows.need(target)
    rows.need_classes(target)
    rows, read = screened(rows, target, drop, keep)
    texts = rows.free_texts({target, *(reading.categorical or ())})
    if texts and "text" not in parameters:
        estimator, rows = _with_texts(model, parameters, texts, rows, common)
    with noting_compilation(common.say(WORDS["compiling"], model=type(estimator).__name__)):
        # A search over networks needs all rows at once.
        by_batch = model != "net"
        shown = by_batch and sys.stderr.isatty()
        estimator.fit(rows.for_learning() if by_batch else rows.columns(), target=target, progress=shown)
    used = {*rows.names}
    estimator.reading_ = replace(read, kinds={n: kind for n, kind in read.kinds.items() if n in used})
    return estimator, rows


def _with_texts(
    model: str, parameters: dict[str, Any], texts: tuple[str, ...], rows: FileRows, common: Common
) -> tuple[CountClassifier, FileRows]:
    """Learn words where the model can, or leave columns of free text out, and say so."""
    from bayeskit import TextBayes
    from bayeskit._cli.output import note
    from bayeskit._comparison.candidates import make_model

    names = common.listed(map(repr, texts))
    if model == "text" or (model == "nb" and set(parameters) <= set(TextBayes().get_params())):
        if model != "text":
            note(common.say(WORDS["words"], names=names))
        return make_model("text", {"text": list(texts), **parameters}), rows
    estimator = make_model(model, parameters)
    note(common.say(WORDS["no_words"], names=names, model=type(estimator).__name__))
    return estimator, rows.without(texts)


def _print_result(
    estimator: CountClassifier, counts: list[float], shown: str, common: Common, output: str
) -> None:
    from bayeskit._cli.output import print_json, show
    from bayeskit._visible import plain

    schema = estimator.schema_
    by_class = dict(zip(estimator.classes_.tolist(), counts, strict=True))
    if common.as_json:
        classes = [{"label": plain(label), "rows": count} for label, count in by_class.items()]
        print_json(
            {"model": type(estimator).__name__, "target": str(schema.target.name), "rows": sum(counts)}
            | {"attributes": [str(v.name) for v in schema.attributes], "classes": classes, "written": output}
        )
        return
    by_label = common.listed((f"{label} {count:g}" for label, count in by_class.items()), MOST_CLASSES)
    values = {"model": type(estimator).__name__, "n": int(sum(counts)), "data": shown}
    values |= {
        "d": len(schema.attributes),
        "k": len(counts),
        "target": schema.target.name,
        "counts": by_label,
    }
    show(common.say(WORDS["learned"], **values))
    show(common.say(WORDS["written"], path=output))


def parameters_of(given: Sequence[str] | None, smoothing: str | None) -> dict[str, Any]:
    """Read ``NAME=VALUE``: a value is JSON where it can be read so, else a word.

    Examples
    --------
    >>> parameters_of(["k=3", "numeric=gaussian"], "0.5")
    {'smoothing': 0.5, 'k': 3, 'numeric': 'gaussian'}
    """
    found: dict[str, Any] = {} if smoothing is None else {"smoothing": _value(smoothing)}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise SettingError("--param {text!r} is not NAME=VALUE, such as --param k=3.", text=text)
        if name in found:
            raise SettingError("The parameter {name!r} is given twice. Give it once.", name=name)
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


CUT_WORDS = WordList(
    {
        "column": "column",
        "cuts": "cut points",
        "none": "none: one interval",
        "written": "{n:,} rows written to {path}.",
    }
)


class Method(StrEnum):
    """Where to cut."""

    mdl = "mdl"
    frequency = "frequency"
    width = "width"
    proportional = "proportional"


def discretize(
    data: Data,
    reading: Reading,
    common: Common,
    output: MaybeOutput = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COL",
            autocompletion=columns,
            help="The class column. mdl needs it; it is never cut.",
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option("--method", help="By class (mdl), equal frequency, equal width, or √n intervals."),
    ] = Method.mdl,
    bins: Annotated[
        int, typer.Option("--bins", help="The number of intervals for 'frequency' and 'width'.")
    ] = 5,
    codes: Annotated[bool, typer.Option("--codes", help="Write 0, 1, … instead of '(0.4, 0.6]'.")] = False,
    drop: Drop = None,
    keep: Keep = None,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Cut the numbers of a table into intervals.

    Text columns are unchanged. Identifiers, dates, constants and copies of the target are left out, with a note.

    With -o, the cut points are printed; otherwise, the table is.
    """
    from bayeskit._cli.output import form_of
    from bayeskit._cli.table_rows import cut_points, opened, screened, write_cut
    from bayeskit.errors import UsageError

    if method is Method.mdl and target is None:
        raise UsageError(
            "--method mdl cuts where the class changes. Name the class column with --target COL."
        )
    form = form_of(output, common.as_json, spreadsheet)
    with opened(data, reading, target) as rows:
        rows.need(*([target] if target else []))
        if target is not None and method is Method.mdl:
            rows.need_classes(target)
        rows, _ = screened(rows, target, drop, keep)
        points = cut_points(rows, target, method.value, bins)
        n = write_cut(rows, points, codes, output, form, spreadsheet)
    if output not in (None, "-"):
        _print_points(points, n, str(output), common)


def _print_points(points: dict[str, Any], n: int, path: str, common: Common) -> None:
    from bayeskit._cli.output import console, print_json, show, table
    from bayeskit._report.fractions import short

    if common.as_json:
        cuts = {name: cuts.tolist() for name, cuts in points.items()}
        print_json({"cut_points": cuts, "rows": n, "written": path})
        return
    none = common.say(CUT_WORDS["none"])
    lines = [(name, common.listed(map(short, cuts.tolist())) or none) for name, cuts in points.items()]
    console().print(table([common.say(CUT_WORDS["column"]), common.say(CUT_WORDS["cuts"])], lines, 2))
    show(common.say(CUT_WORDS["written"], n=n, path=path))
