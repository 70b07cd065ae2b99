"""The description of the server's paths and of the model's rows, as OpenAPI."""

from __future__ import annotations

from typing import Any

from bayeskit._schema import Variable
from bayeskit._version import __version__
from bayeskit._visible import plain
from bayeskit._web.served_model import ServedModel, takes_numbers

# States of one column that are listed; a column of a million names would make a page of them.
MOST_STATES = 100


def description_of(served: ServedModel, most_bytes: int) -> dict[str, Any]:
    """Describe what a server answers, for people and for programs that write clients."""
    rows = {"oneOf": [_ref("Row"), {"type": "array", "items": _ref("Row"), "minItems": 1}]}
    label = {"type": _types_of(served.classes), "enum": list(served.classes)}
    numbers = {"type": "array", "items": {"type": "number"}}
    n = len(served.classes)
    shares = {"type": "array", "items": {"type": "number"}, "minItems": n, "maxItems": n}
    decision = _object(action={}, risk={"type": "number"}, risks=numbers)
    probabilities = {"oneOf": [shares, {"type": "array", "items": shares}]}
    settings = {"reject": {"type": "number"}, "loss": {"type": ["object", "array"]}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"{served.kind}: {served.target}",
            "version": __version__,
            "description": f"Bodies have at most {most_bytes} bytes. A column that is not named is missing.",
        },
        "security": [{"token": []}],
        "paths": {
            "/predict": _post(
                "The most probable class",
                rows,
                _either(_object(prediction=label), _object(predictions={"type": "array", "items": label})),
            ),
            "/predict_proba": _post(
                "The posterior of each class",
                rows,
                _object(classes={"const": list(served.classes)}, probabilities=probabilities),
            ),
            "/explain": _post(
                "The arithmetic behind the answer", _with_settings(rows, settings), {"type": "object"}
            ),
            "/decide": _post(
                "The action of least risk",
                _with_settings(rows, {**settings, "actions": {"type": "array", "items": {"type": "string"}}}),
                _either(decision, _object(decisions={"type": "array", "items": decision})),
            ),
            "/health": {"get": _operation("What is served", {"type": "object"})},
            "/schema": {"get": _operation("This description", {"type": "object"})},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Row": {
                    "type": "object",
                    "properties": {name: _column(v) for name, v in served.columns.items()},
                },
                "Error": _object(error={"type": "string"}, message={"type": "string"}),
            },
        },
    }


def _column(variable: Variable) -> dict[str, Any]:
    if takes_numbers(variable):
        return {"type": ["number", "null"]}
    if variable.vocabulary is not None:
        return {"type": ["string", "null"]}
    states = plain(list(variable.states[:MOST_STATES]))
    return {"type": [*_types_of(variable.states), "null"], "examples": states}


def _types_of(labels: tuple[Any, ...]) -> list[str]:
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return sorted({names.get(type(label), "string") for label in labels}) or ["string"]


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _either(*schemas: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": list(schemas)}


def _with_settings(rows: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    wrapped = {"type": "object", "properties": {"rows": rows, **settings}, "required": ["rows"]}
    return {"anyOf": [rows, wrapped]}


def _post(title: str, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    operation = _operation(title, answer)
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return {"post": operation}


def _operation(title: str, answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "summary": title,
        "responses": {
            "200": {"description": title, "content": {"application/json": {"schema": answer}}},
            "4XX": {
                "description": "What is wrong with the request",
                "content": {"application/json": {"schema": _ref("Error")}},
            },
        },
    }
