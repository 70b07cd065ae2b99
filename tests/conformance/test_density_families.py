"""Every family of numbers runs the same list, also one from outside: a class, and one line that registers it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bayeskit import Batches, LatentClass, NaiveBayes, load
from bayeskit._conditionals import density
from bayeskit._conditionals.density import families, family_names, family_of
from bayeskit._messages import text_in
from bayeskit.errors import NotSupported, SettingError
from bayeskit.extending import FamilyWords, register_family
from cli_run import done
from refusals import refuses

FAMILIES = [*family_names(), "exponential"]
HIDDEN = [name for name in FAMILIES if name not in ("student", "kernel")]
NAMES = ["calls", "minutes", "plan"]


@pytest.fixture(autouse=True, scope="module")
def _outsider() -> Iterator[None]:
    register_family("exponential", "toy_density:Exponential")
    register_family("plain-exponential", "toy_density:Plain")
    yield
    for name in ("exponential", "plain-exponential"):
        del density._HOMES[name]


def rows(n: int = 60, seed: int = 0) -> tuple[dict[str, Any], list[str]]:
    """Counts that vary much, with holes, beside a column of labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    mean = np.array([2.0, 5.0, 12.0])[y]
    calls = rng.poisson(rng.gamma(1.5, mean / 1.5)).astype(float)
    minutes = rng.poisson(rng.gamma(0.8, mean[::-1] / 0.8)).astype(float)
    calls[rng.random(n) < 0.15] = np.nan
    plan = np.array(["a", "b"], dtype=object)[rng.integers(0, 2, n)]
    return {"calls": calls, "minutes": minutes, "plan": plan}, [f"class {c}" for c in y]


def some(columns: dict[str, Any], labels: list[str], part: slice) -> tuple[dict[str, Any], list[str]]:
    return {name: values[part] for name, values in columns.items()}, labels[part]


def table(columns: dict[str, Any], labels: list[str]) -> dict[str, Any]:
    return {**columns, "y": np.array(labels, dtype=object)}


@pytest.mark.parametrize("missing", ["ignore", "state"])
@pytest.mark.parametrize("family", FAMILIES)
def test_table_lazy_batches_merging_forgetting_and_fading_agree(family: str, missing: str) -> None:
    X, y = rows()
    model = NaiveBayes(numeric=family, missing=missing).fit(X, y)
    wanted = model.predict_proba(X)
    assert np.isfinite(wanted).all() and wanted.std() > 0.01
    first, second = some(X, y, slice(0, 23)), some(X, y, slice(23, None))

    def new() -> Any:
        return NaiveBayes(numeric=family, missing=missing)

    np.testing.assert_allclose(new().lazy(table(X, y), "y").predict_proba(X), wanted, rtol=1e-9)
    batches = new().fit(Batches(lambda: iter([table(*first), table(*second)])), target="y")
    np.testing.assert_allclose(batches.predict_proba(X), wanted, rtol=1e-9)
    grown = new().partial_fit(*first).partial_fit(*second)
    np.testing.assert_allclose(grown.predict_proba(X), wanted, rtol=1e-9)
    np.testing.assert_allclose(
        new().fit(*first).merge(new().fit(*second)).predict_proba(X), wanted, rtol=1e-9
    )
    np.testing.assert_allclose(
        grown.forget(*first).predict_proba(X), new().fit(*second).predict_proba(X), rtol=1e-8
    )
    halved = new().fit(X, y, np.full(len(y), 0.5))
    np.testing.assert_allclose(model.fade(0.5).predict_proba(X), halved.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"smoothing": 0.5, "variance": "unbiased"}, {"missing": "state"}])
@pytest.mark.parametrize("family", FAMILIES)
def test_leave_one_out_equals_fits_without_the_row(family: str, settings: dict[str, Any]) -> None:
    X, y = rows(36)
    weights = np.random.default_rng(1).choice([1.0, 2.0, 0.5], len(y))
    got = NaiveBayes(numeric=family, **settings).fit(X, y, weights).leave_one_out(X, y, weights)
    for i in range(0, len(y), 5):
        kept = np.arange(len(y)) != i
        rest = {name: values[kept] for name, values in X.items()}
        labels = [label for label, keep in zip(y, kept, strict=True) if keep]
        without = NaiveBayes(numeric=family, **settings).fit(rest, labels, weights[kept])
        one = {name: values[i : i + 1] for name, values in X.items()}
        np.testing.assert_allclose(got[i], without.predict_proba(one)[0], rtol=1e-9)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_is_explained_in_every_form(family: str, lang: str) -> None:
    X, y = rows()
    model = NaiveBayes(numeric=family).fit(X, y)
    one = {name: values[3:4] for name, values in X.items()}
    page = model.explain({name: values[3] for name, values in X.items()}, lang=lang)
    np.testing.assert_allclose(page.posterior, model.predict_proba(one)[0], rtol=1e-9)
    legend = family_of(family).words.legend
    symbol = legend.split("(")[0]
    assert text_in(lang, legend) in str(page)
    assert f"{symbol}(" in page.to_html()
    latex = page.to_latex()
    assert (f"{symbol}(" if len(symbol) == 1 else rf"\mathrm{{{symbol}}}(") in latex
    told = json.loads(page.to_json())
    assert {a["family"] for a in told["attributes"]} == {family, "table"}
    assert model.nomogram() is not None


@pytest.mark.parametrize("family", FAMILIES)
def test_contributions_add_up(family: str) -> None:
    X, y = rows()
    model = NaiveBayes(numeric=family).fit(X, y)
    logs = np.asarray(model.contributions(X).logs).sum(axis=1)
    posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(posterior, model.predict_proba(X), rtol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_drawn_have_the_means_of_their_class(family: str) -> None:
    X, y = rows(300)
    model = NaiveBayes(numeric=family, smoothing=0.0).fit(X, y)
    drawn, classes = model.sample(6_000, random_state=0, given_class="class 2")
    assert set(classes) == {"class 2"}
    mine = X["minutes"][np.array(y) == "class 2"]
    got = np.asarray(drawn["minutes"], dtype=float)
    assert got.mean() == pytest.approx(mine.mean(), abs=6 * mine.std() / np.sqrt(6_000) + 0.15 * mine.std())


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_hold_the_posterior_or_are_refused_by_name(family: str) -> None:
    X, y = rows()
    model = NaiveBayes(numeric=family).fit(X, y)
    if family == "kernel":
        with refuses(NotSupported, "predict_interval", "kernel", 'families={...: "gaussian"}'):
            model.predict_interval(X)
        return
    found = model.predict_interval(X, n_samples=400)
    posterior = model.predict_proba(X)
    inside = (found.lower <= posterior) & (posterior <= found.upper)
    assert inside.mean() > 0.8
    assert (found.upper - found.lower).mean() > 0.01


def test_more_rows_make_intervals_of_a_negative_binomial_narrower() -> None:
    X, y = rows(60)
    many, labels = rows(3_000)
    few, lot = (
        NaiveBayes(numeric="negative-binomial").fit(a, b).predict_interval(X, n_samples=200)
        for a, b in ((X, y), (many, labels))
    )
    assert (lot.upper - lot.lower).mean() < 0.3 * (few.upper - few.lower).mean()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_model_predicts_the_same(family: str, tmp_path: Any) -> None:
    X, y = rows()
    model = NaiveBayes(families={"calls": family}).fit(X, y)
    model.save(tmp_path / "model.bayes")
    again = load(tmp_path / "model.bayes")
    assert again.families_["calls"].family == family
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(
        again.forget(*some(X, y, slice(0, 9))).predict_proba(X),
        NaiveBayes(families={"calls": family}).fit(*some(X, y, slice(9, None))).predict_proba(X),
        rtol=1e-8,
    )


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("family", HIDDEN)
def test_hidden_classes_have_the_family(family: str, hard: bool, tmp_path: Any) -> None:
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1], 60)
    counts = rng.poisson(np.array([2.0, 30.0])[truth]).astype(float)
    counts[::17] = np.nan
    X = {"calls": counts, "plan": np.where(rng.random(120) < 0.2 + 0.6 * truth, "a", "b").astype(object)}
    model = LatentClass(2, families={"calls": family}, smoothing=0.5, hard=hard, n_init=4).fit(X)
    found = model.predict(X)
    there = ~np.isnan(counts)
    agreement = (found == truth)[there].mean()
    assert max(agreement, 1.0 - agreement) > 0.8
    joint = model.score_samples(X)
    assert np.isfinite(joint).all()
    # What was climbed is the likelihood of these very answers, and the prior.
    if not hard:
        flat = LatentClass(2, families={"calls": family}, n_init=2, accelerate=False).fit(X)
        assert flat.history_.max() == pytest.approx(flat.score_samples(X).sum(), rel=1e-6)
    profile = model.profiles_["calls"]
    assert profile.family == family and np.isfinite(profile.values).all()
    assert model.n_parameters_ == 1 + 2 * (1 + (2 if family in ("gaussian", "negative-binomial") else 1))
    model.save(tmp_path / "model.bayes")
    again = load(tmp_path / "model.bayes")
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    drawn, _ = model.sample(50, random_state=0)
    assert np.isfinite(np.asarray(drawn["calls"], dtype=float)).all()
    model.partial_fit({name: values[:40] for name, values in X.items()})
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("family", ["student", "kernel"])
def test_a_family_that_no_hidden_class_can_have_is_refused(family: str) -> None:
    with refuses(SettingError, "negative-binomial"):
        LatentClass(2, families={"calls": family}).fit(rows()[0])


@pytest.mark.parametrize("family", ["negative-binomial", "exponential"])
def test_leave_one_out_chooses_the_family_that_the_rows_came_from(family: str) -> None:
    rng = np.random.default_rng(7)
    y = np.arange(900) % 2
    mean = np.array([2.0, 9.0])[y]
    if family == "exponential":
        x = rng.exponential(mean)
    else:
        x = rng.poisson(rng.gamma(0.5, mean / 0.5)).astype(float)
    model = NaiveBayes(families="auto").fit({"x": x}, y)
    assert model.families_["x"].family == family
    assert model.held_["families"] == {"x": family}


def test_a_family_that_cannot_have_the_values_is_not_chosen() -> None:
    x = np.random.default_rng(0).normal(0.0, 1.0, 200)
    assert NaiveBayes(families="auto").fit({"x": x}, x > 0.3).families_["x"].family in ("gaussian", "kernel")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_command_line_fits_and_explains(family: str, tmp_path: Any) -> None:
    X, y = rows()
    path = tmp_path / "calls.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, "y"])
        for i in range(len(y)):
            cells = ["" if X[name][i] != X[name][i] else X[name][i] for name in NAMES]
            writer.writerow([*cells, y[i]])
    model = tmp_path / "model.bayes"
    done("fit", path, "--target", "y", "--param", f"numeric={family}", "-o", model)
    printed = done("explain", model, path, "--row", 3)
    legend = family_of(family).words.legend
    assert " ".join(legend.split()) in " ".join(printed.split())
    assert "class" in done("predict", model, path)


def test_a_family_with_no_more_than_it_must_have_says_what_it_has_not() -> None:
    X, y = rows(30)
    model = NaiveBayes(numeric="plain-exponential").fit(X, y)
    left_out = NaiveBayes(numeric="exponential").fit(X, y).leave_one_out(X, y)
    np.testing.assert_allclose(model.leave_one_out(X, y), left_out, rtol=1e-9)
    with refuses(NotSupported, "plain-exponential"):
        model.predict_interval(X)
    with refuses(NotSupported, "calls", "minutes", 'numeric="gaussian"'):
        _ = model.network_


def test_a_name_is_registered_once() -> None:
    register_family("poisson", "bayeskit._conditionals.poisson:Poisson")
    with refuses(SettingError, "poisson", "bayeskit._conditionals.poisson:Poisson"):
        register_family("poisson", "toy_density:Exponential")
    with refuses(SettingError, "weibull", "gaussian"):
        family_of("weibull")
    with refuses(SettingError, "weibull", "negative-binomial"):
        NaiveBayes(numeric="weibull").fit(*rows())


def test_every_family_has_words_in_both_languages() -> None:
    for family in families():
        for text in (family.words.read_as, family.words.column, family.words.legend):
            assert text and text_in("zh", text) != text


def test_a_family_from_outside_brings_its_words_in_both_languages(tmp_path: Any) -> None:
    X, y = rows()
    model = NaiveBayes(numeric="exponential").fit(X, y)
    words = {
        lang: str(model.explain({name: X[name][1] for name in NAMES}, lang=lang)) for lang in ("en", "zh")
    }
    assert "the exponential density" in words["en"] and "指数分布" not in words["en"]
    assert "指数分布的概率密度" in words["zh"] and "exponential density" not in words["zh"]
    with refuses(SettingError, "fr", "zh"):
        FamilyWords("a", "b", "c", translations={"fr": FamilyWords("un", "deux", "trois")})


def test_the_library_keeps_its_own_words() -> None:
    before = text_in("zh", "a Poisson count")
    FamilyWords(
        "a Poisson count", "b", "c", translations={"zh": FamilyWords("其他", "乙", "丙")}
    ).add_translations()
    assert text_in("zh", "a Poisson count") == before != "其他"
