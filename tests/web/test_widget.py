"""The explorer in a notebook: evidence set from Python and from the page. Needs anywidget."""

from __future__ import annotations

import json
import sys
import types
from typing import Any

import pytest

from bayeskit import BayesianNetwork, NaiveBayes
from bayeskit._web.explorer import EDITS, POSTED
from bayeskit._web.standalone import explorer_widget, is_notebook
from bayeskit.errors import BayeskitError, ImpossibleEvidence
from bayeskit.networks import Not, asia
from explorer_browser import name_of, row, when_found
from refusals import refuses

pytest.importorskip("anywidget", reason='the widget needs anywidget: pip install "bayeskit[notebook]"')
NAMES = list(asia().nodes)
XRAY, LUNG = NAMES.index("xray"), NAMES.index("lung")


def widget(network: Any = None) -> Any:
    return explorer_widget()((network or asia())._explored())


def asked(made: Any, path: str, body: Any, lang: str = "en") -> dict[str, Any]:
    """Send a message as the page does, and return the answer."""
    sent: list[dict[str, Any]] = []
    made.send = sent.append
    made._handle_custom_msg({"id": 7, "path": path, "lang": lang, "body": body}, [])
    (answer,) = sent
    assert answer["id"] == 7
    json.dumps(answer)
    return answer


def test_evidence_is_set_and_read_from_both_sides() -> None:
    made = widget()
    seen: list[Any] = []
    made.observe(lambda change: seen.append(change["new"]), "evidence")
    made.evidence = {"xray": "yes", "dysp": Not("no")}
    assert made._findings == [{"node": XRAY, "state": 0}, {"node": NAMES.index("dysp"), "not": [1]}]
    made.soft = {"bronc": [1, 3]}
    assert made._findings[2] == {"node": NAMES.index("bronc"), "likelihood": [1, 3]}
    # A click in the page arrives as a new state of the trait.
    made.set_state({"_findings": [{"node": LUNG, "state": 1}]})
    assert made.evidence == {"lung": "no"} and made.soft == {}
    made.set_state({"_findings": [{"node": LUNG, "likelihood": [2, 1]}]})
    assert made.evidence == {} and made.soft == {"lung": [2, 1]}
    assert seen == [{"xray": "yes", "dysp": Not("no")}, {"lung": "no"}, {}]


def test_numbers_and_posteriors() -> None:
    network = BayesianNetwork({"sex": [], "height": ["sex"]}, {"sex": ["f", "m"], "height": float})
    network.set_cpt("sex", [0.5, 0.5])
    network.set_gaussian("height", {"f": (165.0, 36.0), "m": (178.0, 49.0)})
    made = widget(network)
    made.evidence = {"height": 180}
    assert made._findings == [{"node": 1, "value": 180.0}]
    assert made.posteriors["sex"] == pytest.approx(network.posteriors({"height": 180.0})["sex"])
    assert asked(made, "posteriors", {"findings": made._findings})["content"]["beliefs"][0] == pytest.approx(
        made.posteriors["sex"].tolist()
    )


def test_what_is_impossible_or_unknown_changes_nothing() -> None:
    made = widget()
    made.evidence = {"lung": "yes"}
    with pytest.raises(ImpossibleEvidence):
        made.evidence = {"lung": "yes", "either": "no"}
    with refuses(BayeskitError, "nobody"):
        made.evidence = {"nobody": "yes"}
    with refuses(BayeskitError, "maybe"):
        made.evidence = {"lung": "maybe"}
    assert made.evidence == {"lung": "yes"} and made._findings == [{"node": LUNG, "state": 0}]


def test_the_page_asks_the_kernel() -> None:
    made = widget()
    found = asked(made, "why", {"node": LUNG, "findings": [{"node": XRAY, "state": 0}]}, "zh")
    assert found["ok"] and "/" in found["content"]["text"]
    clash = [{"node": LUNG, "state": 0}, {"node": NAMES.index("either"), "state": 1}]
    found = asked(made, "posteriors", {"findings": clash})
    assert not found["ok"] and set(found["content"]["conflict"]) == {LUNG, NAMES.index("either")}
    for path in ("layout", "build", "../etc/passwd", None, 3):
        assert not asked(made, path, {})["ok"]
    for body in (None, [], {"findings": 1}, {"findings": [], "more": 1}):
        assert not asked(made, "posteriors", body)["ok"]
    made._handle_custom_msg("no message", [])


@pytest.mark.parametrize("path", sorted(EDITS))
def test_edits_are_refused_in_a_notebook(path: str) -> None:
    answer = asked(widget(), path, {name: {} for name in POSTED[path]})
    assert not answer["ok"] and answer["content"]["error"] == "UsageError"


def test_explore_returns_it_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_notebook()
    shell = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    made = asia().explore(lang="zh")
    assert isinstance(made, explorer_widget()) and made._network["lang"] == "zh"
    model = NaiveBayes().fit({"x": ["a", "b", "a"]}, ["yes", "no", "yes"])
    assert model.explore()._network["classifier"]["target"] == 0


# A model as notebooks have it, whose messages go to Python.
MODEL = """
window.state = %s;
const heard = {};
window.hear = (event, content) => (heard[event] ?? []).forEach((done) => done(content));
window.model = {
  get: (name) => window.state[name],
  set: (name, value) => { window.state[name] = value; },
  save_changes: () => window.toPython({ state: { _findings: window.state._findings } }),
  send: (content) => window.toPython({ content }),
  on: (event, done) => (heard[event] ??= []).push(done),
  off: (event, done) => { heard[event] = heard[event].filter((each) => each !== done); },
};
"""


@pytest.mark.web
def test_clicks_in_the_page_and_evidence_from_python_meet(browser: Any) -> None:
    made = widget()
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    answers: list[Any] = []
    made.send = answers.append

    def to_python(message: dict[str, Any]) -> list[Any]:
        if "state" in message:
            made.set_state(message["state"])
        else:
            made._handle_custom_msg(message["content"], [])
        found = list(answers)
        answers.clear()
        return found

    page.expose_function("askPython", to_python)
    page.goto("about:blank")
    state = {name: getattr(made, name) for name in ("_network", "_page", "_layout", "_findings", "height")}
    page.evaluate(MODEL % json.dumps(state))
    page.evaluate(
        "() => { window.toPython = async (message) => {"
        " for (const answer of await window.askPython(message)) window.hear('msg:custom', answer) } }"
    )
    page.evaluate(
        "async (code) => { const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));"
        " (await import(url)).default.render({ model: window.model, el: document.body }) }",
        explorer_widget()._esm,
    )
    frame = page.frame_locator("iframe")
    row(frame, "xray", "yes").click()
    when_found(frame, 1)
    assert name_of(frame, "lung", "yes") == "lung, yes, 48.9%, up from 5.5"
    assert made.evidence == {"xray": "yes"}
    made.evidence = {"xray": "yes", "asia": "yes"}
    page.evaluate(
        "(findings) => { window.state._findings = findings; window.hear('change:_findings') }", made._findings
    )
    when_found(frame, 2)
    assert "37.1%" in name_of(frame, "lung", "yes")
    assert made.evidence == {"xray": "yes", "asia": "yes"}
    assert faults == []
    page.close()
