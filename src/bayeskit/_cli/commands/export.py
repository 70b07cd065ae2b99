"""export: write a saved model as SQL, ONNX or JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bayeskit._cli.options import Common, MaybeOutput, ModelFile
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier

WORDS = WordList({"written": "{model} as {language}, written to {path}."})


class Language(StrEnum):
    """What a model is written in."""

    sql = "sql"
    onnx = "onnx"
    json = "json"


def export(
    model: ModelFile,
    to: Annotated[Language, typer.Option("--to", help="The export format.")],
    common: Common,
    dialect: Annotated[
        str | None, typer.Option("--dialect", help="The SQL dialect: duckdb (default), sqlite, postgres, …")
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="The table whose rows SQL predicts; t by default."),
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="COL", help="A column that SQL also returns.")
    ] = None,
    output: MaybeOutput = None,
) -> None:
    """Export a model for use without Python.

    SQL returns the key, the prediction and the probability of each class; ONNX is a file for ONNX Runtime; JSON
    contains the tables. All give the same results as 'predict'.
    """
    from bayeskit._cli.output import opened_text, print_json, replaced, show
    from bayeskit._cli.saved_models import open_classifier
    from bayeskit.errors import UsageError

    if to is not Language.sql and (dialect is not None or table is not None or key):
        raise UsageError("--dialect, --table and --key are for --to sql. Leave them out.")
    to_file = output not in (None, "-")
    if to is Language.onnx and not to_file:
        raise UsageError("ONNX is not text: name a file with -o FILE.")
    estimator = open_classifier(model)
    if to is Language.onnx:
        content = estimator.to_onnx().SerializeToString()
        with replaced(str(output)) as temporary:
            temporary.write_bytes(content)
    else:
        text = estimator.to_json(2) if to is Language.json else _sql(estimator, dialect, table, key)
        with opened_text(output) as stream:
            stream.write(text.rstrip("\n") + "\n")
    if not to_file:
        return
    name = type(estimator).__name__
    if common.as_json:
        print_json({"model": name, "to": to.value, "written": output})
    else:
        show(common.say(WORDS["written"], model=name, language=to.value.upper(), path=output))


def _sql(estimator: CountClassifier, dialect: str | None, table: str | None, key: list[str] | None) -> str:
    """Return all statements, each with its semicolon."""
    found = estimator.to_sql(dialect or "duckdb", table or "t", key or None)
    return f"{found};" if type(found) is str else str(found)
