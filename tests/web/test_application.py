"""The application of ``bayeskit serve``, asked as a server asks it: what it answers, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import (
    AODE,
    TAN,
    BernoulliNB,
    CategoricalNB,
    MultinomialNB,
    NaiveBayes,
    TextBayes,
    load,
)
from bayeskit._web.application import MOST_STATES, Access, Application, Limits
from bayeskit._web.served_model import ModelFile
from bayeskit.decision import decide
from bayeskit.errors import DataError, SettingError
from refusals import refuses, unnamed

TOKEN = "a-token-for-the-tests"
FRAME = pd.DataFrame(
    {
        "sky": ["red", "blue", "red", "grey", None, "blue"],
        "rows": ["a", "b", "a", "a", "b", "b"],  # a column named as the wrapper of rows
        "n": [1.0, 2.0, np.nan, 3.5, 4.0, 1.5],
        "flag": [True, False, True, True, False, True],
    }
)
LABELS = ["yes", "no", "yes", "no", "no", "yes"]
ROW = {"sky": "red", "rows": "a", "n": 1.5, "flag": True}


def application(
    model: Any, lang: str = "en", loss: Any = None, reject: float | None = None, **limits: Any
) -> Any:
    models = ModelFile(lambda: (model, loss), lambda: 0, reject)
    return Application(models, Access(TOKEN), Limits(**limits), lang=lang)


def ask(
    app: Any,
    path: str,
    body: Any = None,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    parts: list[bytes] | None = None,
) -> tuple[int, Any, dict[str, str]]:
    """Send a request to an application; bytes are sent as they are, anything else as JSON."""
    given = {
        "host": "127.0.0.1:8000",
        "authorization": f"Bearer {TOKEN}",
        "content-type": "application/json",
        **(headers or {}),
    }
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    pieces = list(parts if parts is not None else [content])
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(k.encode("latin-1"), v.encode("latin-1")) for k, v in given.items() if v is not None],
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not pieces:
            await asyncio.sleep(3600)
        part = pieces.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(pieces) or parts is not None}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    found = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
    text = sent[1]["body"].decode()
    return sent[0]["status"], json.loads(text) if text else None, found


@pytest.fixture(scope="module")
def model() -> Any:
    return NaiveBayes().fit(FRAME, LABELS)


@pytest.fixture(scope="module")
def app(model: Any) -> Any:
    return application(model)


def refused(app: Any, status: int, kind: str, *names: object, path: str = "/predict", **asked: Any) -> str:
    found, said, headers = ask(app, path, **asked)
    assert (found, said["error"]) == (status, kind), (found, said)
    assert not (lacking := unnamed(said["message"], *names)), (lacking, said)
    assert headers["content-type"] == "application/json" and headers["content-language"] in ("en", "zh")
    return str(said["message"])


MODELS = {
    "nb": lambda: NaiveBayes().fit(FRAME, LABELS),
    "whole classes": lambda: NaiveBayes().fit(FRAME, [1, 0, 1, 0, 0, 1]),
    "tan": lambda: TAN().fit(FRAME[["sky", "rows", "flag"]], LABELS),
    "aode": lambda: AODE().fit(FRAME[["sky", "rows"]], LABELS),
    "array": lambda: NaiveBayes().fit(FRAME[["n"]].fillna(0).to_numpy(), LABELS),
    "mixed array": lambda: NaiveBayes().fit(FRAME[["sky", "n"]].to_numpy(object), LABELS),
    "codes": lambda: CategoricalNB().fit(np.array([[0, 1], [1, 0], [2, 1]]), ["a", "b", "a"]),
    "words": lambda: MultinomialNB().fit(np.array([[1, 0, 2], [0, 3, 1]]), ["a", "b"]),
    "named counts": lambda: BernoulliNB().fit(pd.DataFrame({"u": [1, 0], "v": [0, 1]}), ["a", "b"]),
    "cut": lambda: TAN(numeric="mdl").fit(FRAME, LABELS),
    "texts": lambda: TextBayes(text=["t"]).fit(
        pd.DataFrame({"t": ["good fine", "bad", "good ok", "bad poor"], "n": [1.0, 2, 3, 4]}), [0, 1, 0, 1]
    ),
}
ROWS = {
    "tan": [{"sky": "red", "flag": False}, {}, {"rows": "b", "sky": "mauve"}],
    "aode": [{"sky": "red"}, {}, {"rows": "b", "sky": None}],
    "array": [{"x0": 1.5}, {}, {"x0": None}],
    "mixed array": [{"x0": "red", "x1": 2}, {}, {"x0": None, "x1": None}],
    "codes": [{"x0": 2, "x1": 1}, {}, {"x0": 9}],
    "words": [{"0": 3, "2": 1}, {}, {"1": 2.5}],
    "named counts": [{"u": 1}, {}, {"v": True}],
    "texts": [{"t": "good", "n": 1}, {}, {"t": None}],
}


@pytest.mark.parametrize("name", MODELS)
def test_one_row_and_many_are_answered_as_python_answers(name: str) -> None:
    fitted = MODELS[name]()
    app = application(fitted)
    rows = ROWS.get(name, [ROW, {}, {"sky": "mauve", "n": 2}])
    _, many, _ = ask(app, "/predict_proba", rows)
    assert many["classes"] == fitted.classes_.tolist()
    shares = np.array(many["probabilities"])
    assert shares.shape == (3, len(fitted.classes_)) and np.allclose(shares.sum(axis=1), 1)
    for i, row in enumerate(rows):
        status, one, _ = ask(app, "/predict_proba", row)
        assert status == 200 and np.allclose(one["probabilities"], shares[i], atol=1e-12)
        best = fitted.classes_.tolist()[int(np.argmax(shares[i]))]
        assert ask(app, "/predict", row)[1] == {"prediction": best}
        page = ask(app, "/explain", row)[1]
        assert page["prediction"] == best
    assert len(ask(app, "/predict", rows)[1]["predictions"]) == 3
    assert [page["prediction"] for page in ask(app, "/explain", rows)[1]["explanations"]] == ask(
        app, "/predict", rows
    )[1]["predictions"]
    if name == "nb":
        direct = fitted.predict_proba(pd.DataFrame([ROW]))
        assert np.allclose(shares[0], direct[0], atol=1e-12)
    assert ask(app, "/schema", method="GET")[1]["components"]["schemas"]["Row"]["properties"].keys() >= {
        key for row in rows for key in row
    }


def test_decisions_follow_the_loss_of_the_request_or_of_the_server(model: Any, app: Any) -> None:
    posterior = np.array(ask(app, "/predict_proba", ROW)[1]["probabilities"])
    loss = {"go": {"yes": 0, "no": 4}, "stay": {"no": 0, "yes": 1}}
    # The posterior has the order no, yes.
    expected = decide(posterior, [[4, 0], [0, 1]], 0.3, ["go", "stay", "reject"])
    for asked, served in (
        ({"rows": ROW, "loss": loss, "reject": 0.3}, app),
        (ROW, application(model, loss=loss, reject=0.3)),
    ):
        status, found, _ = ask(served, "/decide", asked)
        assert status == 200 and found["action"] == expected.actions
        assert np.isclose(found["risk"], expected.risk) and np.allclose(found["risks"], expected.risks)
    status, found, _ = ask(
        app, "/decide", {"rows": [ROW, {}], "reject": 0.0, "actions": ["no", "yes", "ask"]}
    )
    assert [each["action"] for each in found["decisions"]] == ["ask", "ask"]
    whole = application(NaiveBayes().fit(FRAME, [1, 0, 1, 0, 0, 1]))
    asked = {"rows": {}, "loss": {"a": {"0": 0, "1": 9}, "b": {"0": 1, "1": 1}}}
    assert ask(whole, "/decide", asked)[1]["action"] == "b"
    assert ask(app, "/explain", {"rows": ROW, "loss": loss})[0] == 200


def test_missing_is_null_nan_or_absent(app: Any) -> None:
    answers = [
        ask(app, "/predict_proba", body)[1]
        for body in (
            b'{"sky": "red"}',
            b'{"sky": "red", "n": null, "flag": null}',
            b'{"sky": "red", "n": NaN}',
        )
    ]
    assert answers[0] == answers[1] == answers[2]
    assert ask(app, "/predict_proba", {"sky": "red", "y": "no"})[1] == answers[0]  # its known class
    for body in (b'{"n": Infinity}', b'{"n": -Infinity}', b'{"n": 1e999}', b'{"n": 1' + b"0" * 400 + b"}"):
        refused(app, 422, "InfiniteValue", "n", body=body)
        refused(app, 422, "InfiniteValue", "n", 1, body=b"[{}, " + body + b"]")


def test_bad_rows_are_told_in_both_languages(app: Any, model: Any) -> None:
    message = refused(app, 422, "ColumnError", "skye", "sky", body={"skye": "red"})
    chinese = refused(
        app,
        422,
        "ColumnError",
        "skye",
        "sky",
        body={"skye": "red"},
        headers={"accept-language": "zh-CN, en;q=0.5"},
    )
    assert message.isascii() and not chinese.isascii()
    assert refused(application(model, lang="zh"), 422, "ColumnError", body={"x": 1}).isascii() is False
    english = {"accept-language": "fr, en;q=0.8, zh;q=0.1"}
    assert refused(
        application(model, lang="zh"), 422, "ColumnError", body={"x": 1}, headers=english
    ).isascii()
    refused(app, 422, "DataTypeError", "sky", body={"sky": ["red"]})
    refused(app, 422, "DataTypeError", "n", 1, body=[{}, {"n": {"a": 1}}])
    refused(app, 422, "DataTypeError", 1, body=[{}, 7])
    refused(app, 422, "ColumnError", "n", body={"n": "many"})
    strict = application(NaiveBayes(unseen="error").fit(FRAME, LABELS))
    refused(strict, 422, "UnseenState", "sky", "mauve", body={"sky": "mauve"})
    refused(strict, 422, "UnseenState", "mauve", 1, body=[{"sky": "red"}, {"sky": "mauve"}])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe{}", 400),
        (b"[" * 100_000, 400),
        (b"1" * 5000, 400),
        (b'{"sky": "red", "sky": "blue"}', 422),
        (b"[]", 422),
        (b"null", 422),
        (b"7", 422),
        (b'"red"', 422),
        (b'{"rows": []}', 422),
        (b'{"rows": {}, "loss": 1}', 422),
        (b'{"sky": "\\ud800"}', 200),
        (b'{"\\ud800": 1}', 422),
    ],
)
def test_bodies_that_are_no_rows(app: Any, body: bytes, status: int) -> None:
    found, said, _ = ask(app, "/predict", body)
    assert found == status, said


@pytest.mark.parametrize(
    "more",
    [
        {"loss": 7},
        {"loss": "a"},
        {"loss": {}},
        {"loss": {"go": 1}},
        {"loss": {"go": {"maybe": 1}}},
        {"loss": {"go": {"yes": 1}}},
        {"loss": {"go": {"yes": "a", "no": {}}}},
        {"loss": [[1, 2, 3]]},
        {"loss": [[10**400, 2]]},
        {"reject": "a"},
        {"reject": True},
        {"reject": 10**400},
        {"actions": [1, 2]},
        {"actions": ["a"]},
        {"actions": "ab"},
        {"sink": "/etc/passwd"},
    ],
)
def test_settings_that_make_no_decision(app: Any, more: Any) -> None:
    found, said, _ = ask(app, "/decide", {"rows": ROW, **more})
    assert found == 422, said


cells = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from([*ROW, "rows", "loss", "reject", "actions"]) | st.text(max_size=3)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["/predict", "/predict_proba", "/explain", "/decide"]), st.data())
def test_no_body_is_a_fault_of_the_server(path: str, data: st.DataObject) -> None:
    app = _fuzzed()
    row = st.dictionaries(names, cells, max_size=5)
    body = data.draw(row | st.lists(row | cells, max_size=3) | cells)
    status, _, _ = ask(app, path, json.dumps(body).encode())
    assert status in (200, 400, 422)
    assert ask(app, path, data.draw(st.binary(max_size=20)))[0] in (200, 400, 422)


def _fuzzed(made: dict[str, Any] = {}) -> Any:  # noqa: B006  made once
    if not made:
        made["app"] = application(NaiveBayes().fit(FRAME, LABELS))
    return made["app"]


def test_who_may_ask(app: Any) -> None:
    assert ask(app, "/health", method="GET")[0] == 200
    for header in (None, "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer \xff"):
        status, said, headers = ask(app, "/health", method="GET", headers={"authorization": header})
        assert (status, headers["www-authenticate"]) == (401, "Bearer") and TOKEN not in said["message"]
    for host in (
        None,
        "",
        "evil.example",
        "evil.example:8000",
        "10.0.0.1",
        "localhost.evil.example",
        "[::2]:80",
    ):
        assert ask(app, "/health", method="GET", headers={"host": host})[0] == 400, host
    for host in ("localhost", "LOCALHOST:8000", "127.0.0.1", "[::1]:8000"):
        assert ask(app, "/health", method="GET", headers={"host": host})[0] == 200, host
    anywhere = Access(TOKEN, frozenset({"shop.example"}), any_address=True)
    assert (
        anywhere.knows_host("10.0.0.1:80")
        and anywhere.knows_host("[fe80::1]")
        and anywhere.knows_host("shop.example")
    )
    assert not anywhere.knows_host("evil.example")


def test_paths_methods_and_kinds_of_bodies(app: Any) -> None:
    refused(app, 404, "UsageError", path="/../etc/passwd", body=ROW)
    refused(app, 404, "UsageError", path="/", method="GET")
    _, _, headers = ask(app, "/predict", method="GET")
    assert headers["allow"] == "POST"
    refused(app, 405, "UsageError", "GET", path="/health", body=ROW)
    status, nothing, headers = ask(app, "/health", method="HEAD")
    assert status == 200 and nothing is None and int(headers["content-length"]) > 10
    for kind in ("text/plain", "application/x-www-form-urlencoded", None):
        refused(app, 415, "DataTypeError", body=ROW, headers={"content-type": kind})
    refused(app, 415, "DataTypeError", body=ROW, headers={"content-encoding": "gzip"})
    assert ask(app, "/predict", ROW, headers={"content-type": "application/json; charset=utf-8"})[0] == 200


def test_limits_of_length_are_counted_as_the_body_comes(model: Any) -> None:
    small = application(model, body=100)
    refused(small, 413, "DataError", 100, body=b"[" + b" " * 200)
    refused(small, 413, "DataError", 100, body=b"{}", headers={"content-length": "1000000"})
    # The body has no end: it is refused when it is too long, not when it has come.
    assert ask(small, "/predict", parts=[b" " * 60, b" " * 60])[0] == 413


def test_limits_of_time(model: Any) -> None:
    status, said, headers = ask(application(model, seconds=0.05), "/predict", parts=[b"{"])
    assert (status, headers["connection"]) == (408, "close") and "0.05" in said["message"]
    ticks = iter(range(1000))
    slow = application(model, seconds=3, clock=lambda: float(next(ticks)))
    refused(slow, 413, "DataError", 3, path="/explain", body=[{}] * 20)
    assert ask(slow, "/explain", [{}] * 2)[0] == 200


def test_too_many_that_wait_are_told_to_come_back(app: Any, model: Any) -> None:
    crowded = application(model, threads=1)
    crowded._waiting = 1000
    status, _, headers = ask(crowded, "/predict", [ROW, ROW])
    assert (status, headers["retry-after"]) == (429, "1")


def test_a_newer_file_is_taken_and_a_broken_one_is_not(tmp_path: Any, model: Any) -> None:
    path = tmp_path / "m.bayes"
    model.save(path)
    models = ModelFile(lambda: (load(path), None), lambda: path.stat().st_mtime_ns)
    app = Application(models, Access(TOKEN))
    before = ask(app, "/predict_proba", ROW)[1]
    assert not models.look()
    good = path.read_bytes()
    path.write_bytes(good[: len(good) // 2])
    assert not models.look() and not models.look()
    health = ask(app, "/health", method="GET")[1]
    assert health["status"] == "stale" and health["problem"] and ask(app, "/predict_proba", ROW)[1] == before
    chinese = ask(app, "/health", method="GET", headers={"accept-language": "zh"})[1]["problem"]
    assert not chinese.isascii()
    path.unlink()
    assert not models.look() and ask(app, "/health", method="GET")[1]["status"] == "stale"
    TAN().fit(FRAME[["sky", "rows"]], ["p", "q", "r"] * 2).save(path)
    assert models.look()
    health = ask(app, "/health", method="GET")[1]
    assert (health["status"], health["model"], health["classes"]) == ("ok", "TAN", ["p", "q", "r"])
    assert health["problem"] is None
    refused(app, 422, "ColumnError", "n", body=ROW)


def test_a_new_model_that_does_not_fit_the_loss_is_not_taken(model: Any) -> None:
    loss, newest = {"go": {"yes": 0, "no": 4}}, [model]
    models = ModelFile(lambda: (newest[-1], loss), lambda: len(newest))
    newest.append(NaiveBayes().fit(FRAME, ["p", "q"] * 3))
    assert not models.look() and models.problem is not None and models.served.model is model
    with refuses((DataError, SettingError), "p"):
        ModelFile(lambda: (newest[-1], loss), lambda: 0)


def test_many_threads_share_one_model(app: Any, model: Any) -> None:
    rows = [{"sky": sky, "n": n / 7} for sky in ("red", "blue", "grey") for n in range(10)]
    expected = [ask(app, "/predict_proba", row)[1] for row in rows]
    wrong: list[Any] = []

    def work() -> None:
        for row, right in zip(rows * 3, expected * 3, strict=True):
            if ask(app, "/predict_proba", row)[1] != right:
                wrong.append(row)
            if ask(app, "/predict_proba", [row, row])[1]["probabilities"][1] != right["probabilities"]:
                wrong.append(row)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_schema_describes_the_row(app: Any) -> None:
    found = ask(app, "/schema", method="GET")[1]
    row = found["components"]["schemas"]["Row"]["properties"]
    assert row["n"] == {"type": ["number", "null"]} and row["sky"]["examples"] == ["blue", "grey", "red"]
    assert row["flag"]["type"] == ["boolean", "null"]
    assert set(found["paths"]) == {"/predict", "/predict_proba", "/explain", "/decide", "/health", "/schema"}
    wide = NaiveBayes().fit(pd.DataFrame({"id": [f"s{i}" for i in range(500)]}), ["a", "b"] * 250)
    listed = ask(application(wide), "/schema", method="GET")[1]["components"]["schemas"]["Row"]["properties"][
        "id"
    ]
    assert len(listed["examples"]) == MOST_STATES
