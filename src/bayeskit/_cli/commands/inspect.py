"""inspect: show what a saved model is and what it has learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayeskit._cli.options import Common, ModelFile
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier

WORDS = WordList(
    {
        "title": "{model}, {rows:g} rows, target {target}",
        "parameters": "Set: {list}",
        "held": "Chosen from rows and held: {list}",
        "class": "class",
        "rows": "rows",
        "prior": "share",
        "attribute": "attribute",
        "kind": "kind",
        "values": "values",
        "categorical": "categories",
        "numeric": "numbers",
        "intervals": "intervals",
        "block": "counts",
        "text": "text",
        "words": "{n:,} words",
    }
)
# The maximum number of values of an attribute to list.
MOST_VALUES = 6


def inspect(model: ModelFile, common: Common) -> None:
    """Show the classes, attributes and parameters of a model."""
    from bayeskit._cli.output import print_json
    from bayeskit._cli.saved_models import open_classifier

    found = described(open_classifier(model))
    if common.as_json:
        print_json(found)
    else:
        _print(found, common)


def described(estimator: CountClassifier) -> dict[str, Any]:
    """Return the content as plain values."""
    from bayeskit._visible import plain

    schema = estimator.schema_
    counts = estimator.statistics_.class_counts.tolist()
    defaults = type(estimator)().get_params(deep=False)
    changed = {k: v for k, v in estimator.get_params(deep=False).items() if repr(v) != repr(defaults.get(k))}
    return {
        "model": type(estimator).__name__,
        "target": plain(schema.target.name),
        "rows": sum(counts),
        "classes": [
            {"label": plain(c), "rows": n} for c, n in zip(estimator.classes_.tolist(), counts, strict=True)
        ],
        "parameters": {
            name: value if isinstance(value, dict) else plain(value) for name, value in changed.items()
        },
        "held": sorted(estimator.held_),
        "attributes": [
            {
                "name": plain(v.name),
                "kind": "intervals" if v.cuts is not None else "text" if v.vocabulary is not None else v.kind,
                "values": plain(v.states),
                **({} if v.vocabulary is None else {"words": v.width}),
            }
            for v in schema.attributes
        ],
    }


def _print(found: dict[str, Any], common: Common) -> None:
    from bayeskit._cli.output import console, show, table

    show(common.say(WORDS["title"], **{key: found[key] for key in ("model", "rows", "target")}))
    if found["parameters"]:
        parameters = common.listed(f"{name}={value!r}" for name, value in found["parameters"].items())
        show(common.say(WORDS["parameters"], list=parameters))
    if found["held"]:
        show(common.say(WORDS["held"], list=common.listed(name.replace("_", " ") for name in found["held"])))
    total = found["rows"] or 1.0
    classes = [(str(c["label"]), f"{c['rows']:g}", f"{c['rows'] / total:.1%}") for c in found["classes"]]
    headers = [common.say(WORDS[key]) for key in ("class", "rows", "prior")]
    screen = console()
    screen.print(table(headers, classes, 1))
    rows = []
    for attribute in found["attributes"]:
        values = attribute["values"]
        more = "…" if len(values) > MOST_VALUES else ""
        spelt = common.listed([*values[:MOST_VALUES], *([more] if more else [])])
        if "words" in attribute:
            spelt = common.say(WORDS["words"], n=attribute["words"])
        rows.append((str(attribute["name"]), common.say(WORDS[attribute["kind"]]), spelt))
    screen.print(table([common.say(WORDS[key]) for key in ("attribute", "kind", "values")], rows, 3))
