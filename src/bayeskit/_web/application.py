"""The answers of ``bayeskit serve``: what a request must look like, which method of the model answers it, and its
OpenAPI description.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from bayeskit._schema import Variable
from bayeskit._version import __version__
from bayeskit._visible import json_text, plain
from bayeskit._web.json_server import (
    CLOSE,
    LOOPBACK_NAMES,
    Access,
    Content,
    JsonServer,
    Limits,
    Receive,
    RequestError,
    log,
    parsed,
)
from bayeskit._web.served_model import Check, ModelFile, Row, ServedModel, json_kind, takes_numbers
from bayeskit.errors import DataError, DataTypeError, SettingError, UsageError

__all__ = ["LOOPBACK_NAMES", "Access", "Application", "Limits"]

# Longer bodies are parsed by a thread of the pool, so that others need not wait.
SHORT_BODY = 2**16
POSTED = ("predict", "predict_proba", "explain", "decide")
# What a body may hold beside its rows.
SETTINGS: dict[str, frozenset[str]] = {
    "predict": frozenset(),
    "predict_proba": frozenset(),
    "explain": frozenset({"loss", "reject"}),
    "decide": frozenset({"loss", "reject", "actions"}),
}
GOTTEN = ("health", "schema")


@dataclass(frozen=True)
class RequestRows:
    """The rows of a body, and what it says beside them."""

    rows: list[Row]
    single: bool
    settings: Mapping[str, Any]


class Application(JsonServer):
    """Answers requests with the newest model of a file.

    Parameters
    ----------
    models : ModelFile
    access : Access
    limits : Limits
    lang : "en" or "zh"
        Of messages and explanations, where Accept-Language names neither.
    look_every : float
        Seconds between two looks at the file.
    """

    mend_host = "Allow a name with --allow-host."
    mend_length = "Send fewer rows at a time, or start the server with --max-body."

    def __init__(
        self,
        models: ModelFile,
        access: Access,
        limits: Limits | None = None,
        *,
        lang: str = "en",
        look_every: float = 1.0,
    ) -> None:
        super().__init__(access, limits, lang=lang)
        self.models, self.look_every = models, look_every

    async def _answer(
        self, scope: dict[str, Any], headers: dict[bytes, bytes], receive: Receive, lang: str
    ) -> Content:
        return Content(await self._text(scope, headers, receive, lang))

    async def _text(
        self, scope: dict[str, Any], headers: dict[bytes, bytes], receive: Receive, lang: str
    ) -> str:
        path = self._admitted(scope, headers)
        if path == "health":
            return json_text(self.models.health(lang))
        served = self.models.served  # one model for the whole request, whatever comes meanwhile
        if path == "schema":
            return json_text(description_of(served, self.limits.body))
        body = await self._body(headers, receive)
        check = self._deadline()
        if len(body) <= SHORT_BODY:
            asked = _asked(body, served, path)
            if asked.single and served.quick and path != "explain":
                return self._answered(path, served, asked, lang, check)
            return await self._in_pool(self._answered, path, served, asked, lang, check)
        return await self._in_pool(self._parsed_and_answered, body, path, served, lang, check)

    def _admitted(self, scope: dict[str, Any], headers: dict[bytes, bytes]) -> str:
        """Return the path that is asked for, or refuse the request before its body is read."""
        self._need_host(headers)
        if not self.access.knows_token(headers.get(b"authorization", b"")):
            raise RequestError(
                401,
                UsageError("The token is missing or wrong. Send the header Authorization: Bearer TOKEN."),
                (b"www-authenticate", b"Bearer"),
                CLOSE,
            )
        path = self._need_path(scope, GOTTEN, POSTED)
        if path in POSTED:
            self._need_json(headers)
        return path

    def _deadline(self) -> Check:
        """Return what refuses a request that takes too long, asked between slices of its rows."""
        clock, seconds = self.limits.clock, self.limits.seconds
        end = clock() + seconds

        def check(done: int) -> None:
            if clock() > end:
                raise RequestError(
                    413,
                    DataError(
                        "After {seconds} seconds {done} rows were answered. Send fewer rows at a time.",
                        seconds=seconds,
                        done=done,
                    ),
                )

        return check

    def _parsed_and_answered(
        self, body: bytes, path: str, served: ServedModel, lang: str, check: Check
    ) -> str:
        return self._answered(path, served, _asked(body, served, path), lang, check)

    def _answered(self, path: str, served: ServedModel, asked: RequestRows, lang: str, check: Check) -> str:
        """Return the answer to a request for rows, as JSON."""
        rows, said = asked.rows, asked.settings
        if path == "predict":
            predictions = served.predictions(rows, check)
            content = {"prediction": predictions[0]} if asked.single else {"predictions": predictions}
            return json_text(content)
        if path == "predict_proba":
            found = served.posteriors(rows, check).tolist()
            shown = found[0] if asked.single else found
            return json_text({"classes": served.classes, "probabilities": shown})
        loss, reject = said.get("loss", served.loss), said.get("reject", served.reject)
        if path == "explain":
            pages = served.explanations(rows, check, lang, loss, reject)
            return json_text(pages[0] if asked.single else {"explanations": pages})
        decisions = served.decisions(rows, check, loss, reject, said.get("actions"))
        return json_text(decisions[0] if asked.single else {"decisions": decisions})

    def _works(self) -> list[Coroutine[Any, Any, None]]:
        return [self._watch()]

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self.look_every)
            try:
                await loop.run_in_executor(None, self.models.look)
            except Exception:  # whatever is wrong with a new file, the model of before answers
                log.exception("The file could not be looked at.")


def _asked(body: bytes, served: ServedModel, path: str) -> RequestRows:
    """Read a body: a row, a list of rows, or {"rows": either of these, …} with what a path takes beside rows."""
    content = parsed(body)
    settings: dict[str, Any] = {}
    # No cell is a list or an object, so this is no row of a model with a column "rows".
    if isinstance(content, dict) and isinstance(content.get("rows"), (list, dict)):
        settings = {name: value for name, value in content.items() if name != "rows" and value is not None}
        content = content["rows"]
        for name in settings:
            if name not in SETTINGS[path]:
                raise SettingError(
                    "/{path} takes no {name!r} next to its rows.",
                    path=path,
                    name=name,
                )
        _check_settings(settings)
    single = isinstance(content, dict)
    if not single and not isinstance(content, list):
        raise DataTypeError(
            "The body is {kind}. Send a row as an object, or a list of rows.", kind=json_kind(content)
        )
    if not content and not single:
        raise DataError("The list of rows is empty. Send at least one.")
    return RequestRows(served.read_rows([content] if single else content), single, settings)


def _check_settings(settings: Mapping[str, Any]) -> None:
    actions = settings.get("actions", [])
    if not (isinstance(actions, list) and all(isinstance(name, str) for name in actions)):
        raise SettingError("actions: give a list of texts.")


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
