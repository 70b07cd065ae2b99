"""One word for one thing: over every name, method and parameter of the public interface."""

import importlib
import inspect
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import bayeskit
from bayeskit import (
    BayesNetClassifier,
    GaussianMixture,
    HiddenMarkov,
    LatentClass,
    NaiveBayes,
    compare,
    learn_network,
)
from bayeskit.errors import SettingError
from bayeskit.networks import arc_strengths, wet_grass
from refusals import refuses

MODULES = ("bayeskit", *(f"bayeskit.{name}" for name in bayeskit._MODULES), "bayeskit.charts")

# What a parameter was once called, or might be called by someone who does not know the other places.
OTHER_WORDS = {
    "random_state": {"seed", "rng", "random_seed"},
    "significance": {"p_value", "sig", "significance_level"},
    "criterion": {"score", "scoring", "metric", "penalty"},
    "n_samples": {"n_drawn", "draws", "samples", "size"},
    "max_iter": {"iterations", "n_iter", "max_steps"},
    "tol": {"tolerance", "epsilon"},
    "sample_weight": {"sample_weights", "row_weights"},
    "level": {"mass", "confidence", "coverage"},
    "n_bins": {"bins"},
    "most": {"top", "limit"},
    "exclude": {"drop", "leave_out", "without"},
    "lang": {"language", "locale"},
    "path": {"file", "filename"},
    "max_memory": {"memory", "cache_bytes", "memory_limit"},
}

# The same word for another thing: the strength of a penalty; bytes of a model, the number of states, pixels.
OTHER_THINGS = {
    ("LogLinearBayes", "penalty"),
    *((name, "size") for name in ("ModelStanding", "Deterministic", "Curve", "Points")),
}

# Letters of the books and of scikit-learn: nowhere but in a prior's own constructor and in scikit-learn's twins.
ONLY_IN = {
    "alpha": {
        "BernoulliNB",
        "CategoricalNB",
        "ComplementNB",
        "MultinomialNB",
        "Lidstone",
        "NormalInverseGamma",
        "ParameterSensitivity",  # (alpha x + beta) / (gamma x + delta), as the papers write it
    },
    "fit_prior": {"BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB"},
    "priors": {"GaussianNB"},
}


def public_objects():
    """Yield (module, name, object) of everything that stands in an ``__all__``, or is defined in a public module."""
    for place in MODULES:
        module = importlib.import_module(place)
        names = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items() if getattr(value, "__module__", None) == place
        ]
        for name in names:
            if not name.startswith("_"):
                yield place, name, getattr(module, name)


def documented_objects():
    """Yield (module, name, object) of every class and function that the reference describes."""
    page = Path(__file__).parents[1] / "docs" / "guide" / "api.md"
    for called in re.findall(r"auto(?:class|function):: (\S+)", page.read_text("utf-8")):
        place, _, name = called.rpartition(".")
        yield place, name, getattr(importlib.import_module(place), name)


def described_in(page: str) -> set[str]:
    """Return the full names that a page of the reference describes (English) or links to (Chinese)."""
    text = (Path(__file__).parents[1] / "docs" / page).read_text("utf-8")
    names = set(re.findall(r"^\.\. (?:auto)?(?:class|function|data):: (\S+)", text, re.MULTILINE))
    for module, members in re.findall(r"automodule:: (\S+)\n   :members:(.*)", text):
        defined = (name for place, name, _ in public_objects() if place == module)
        names |= {f"{module}.{name.strip()}" for name in (members.split(",") if members.strip() else defined)}
    return names | set(re.findall(r"\{py:obj\}`~([\w.]+)`", text))


def public_callables():
    """Yield (what it is called, function) of every public function, constructor and method of ours."""
    for place, name, value in public_objects():
        if place == "bayeskit.extending":
            continue  # what classes of one's own are handed by the library: a generator is rng there
        if inspect.isfunction(value):
            yield f"{place}.{name}", value
        elif inspect.isclass(value):
            for key in ("__init__", *(k for k in dir(value) if not k.startswith("_"))):
                member = inspect.getattr_static(value, key)
                member = getattr(member, "__func__", member)
                if inspect.isfunction(member) and member.__module__.startswith("bayeskit"):
                    yield f"{place}.{name}.{key}", member


def test_no_name_means_two_things():
    means = defaultdict(dict)
    for place, name, value in (*public_objects(), *documented_objects()):
        means[name].setdefault(id(value), place)
    assert not {name: [*places.values()] for name, places in means.items() if len(places) > 1}


@pytest.mark.parametrize("page", ["guide/api.md", "zh-CN/guide/api.md"])
def test_the_reference_describes_every_public_name(page):
    """Under one of its names: ``bayeskit.TAN`` and ``bayeskit.classifiers.TAN`` are the same class."""
    if not (Path(__file__).parents[1] / "docs").is_dir():
        pytest.skip("the documentation is not part of this copy")
    described = described_in(page)
    under = defaultdict(set)
    for place, name, value in public_objects():
        under[id(value)].add(f"{place}.{name}")
    assert not [sorted(names) for names in under.values() if not names & described]


def test_the_pages_for_users_name_nothing_private():
    pages = [*Path(__file__).parents[1].glob("README*.md"), *Path(__file__).parents[1].glob("docs/**/*.md")]
    private = re.compile(r"\bbayeskit(?:\.\w+)*\._\w+")
    found = {p.name: private.findall(p.read_text("utf-8")) for p in pages if "notes" not in p.parts}
    assert not {name: names for name, names in found.items() if names}


@pytest.mark.parametrize("word", OTHER_WORDS)
def test_one_word_for_one_thing(word):
    found = {
        f"{called}({other}=)"
        for called, function in public_callables()
        for other in OTHER_WORDS[word] & inspect.signature(function).parameters.keys()
        if (called.split(".")[-2], other) not in OTHER_THINGS
    }
    assert not found


@pytest.mark.parametrize("letter", ONLY_IN)
def test_a_letter_stays_where_its_book_is(letter):
    found = {
        called
        for called, function in public_callables()
        if letter in inspect.signature(function).parameters and called.split(".")[-2] not in ONLY_IN[letter]
    }
    assert not found


ROWS = {"a": ["x", "y"] * 10, "b": ["x", "x", "y", "y"] * 5}
PLANE = np.random.default_rng(0).normal(size=(30, 2))


def sampled(random_state):
    return wet_grass().sample(20, random_state, as_codes=True)


def of_classifier(verb):
    model = NaiveBayes().fit(list(zip(ROWS["a"])), ROWS["b"])
    return lambda random_state: verb(model, random_state)


DRAWS = {
    "network.sample": sampled,
    "network.approximate": lambda r: (
        wet_grass().approximate("rain", method="likelihood weighting", random_state=r, n_samples=50).values
    ),
    "learn_network": lambda r: learn_network(ROWS, "hill-climbing", restarts=2, random_state=r).arcs,
    "network.fit": lambda r: (
        wet_grass().fit({"wet": ["yes", "no"] * 5}, method="em", n_init=2, random_state=r).cpt("rain").values
    ),
    "arc_strengths": lambda r: arc_strengths(ROWS, 3, random_state=r).frequencies,
    "classifier.sample": of_classifier(lambda model, r: model.sample(20, random_state=r)[1]),
    "classifier.novelty": of_classifier(lambda model, r: model.novelty([["x"]], 20, random_state=r).share),
    "classifier.predict_interval": of_classifier(
        lambda model, r: model.predict_interval([["x"]], n_samples=20, random_state=r).lower
    ),
    "BayesNetClassifier": lambda r: (
        BayesNetClassifier("hill-climbing", random_state=r).fit(list(zip(ROWS["a"])), ROWS["b"]).classes_
    ),
    "compare": lambda r: (
        compare(ROWS, "b", models="nb", baselines=False, folds=2, random_state=r).random_state
    ),
    "GaussianMixture": lambda r: GaussianMixture(2, random_state=r).fit(PLANE).means_,
    "LatentClass": lambda r: LatentClass(2, random_state=r).fit(ROWS).weights_,
    "HiddenMarkov": lambda r: HiddenMarkov(2, random_state=r).fit(ROWS["b"]).emissionprob_,
    "HiddenMarkov.sample": lambda r: HiddenMarkov(2).fit(ROWS["b"]).sample(20, random_state=r)[1],
    "LatentClass.sample": lambda r: LatentClass(2).fit(ROWS).sample(20, random_state=r)[1],
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("place", DRAWS)
def test_a_random_state_is_a_number_a_generator_or_none(place):
    draw = DRAWS[place]
    for make in (lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)):
        np.testing.assert_array_equal(draw(make()), draw(make()))
    draw(None)
    for wrong in (-1, "x", 0.5):
        with refuses(SettingError, "random_state", repr(wrong)):
            draw(wrong)


def test_an_edit_returns_none_and_a_copy_stays_as_it_was():
    network = wet_grass()
    before = network.copy()
    edits = [
        network.set_states("rain", ["dry", "wet"]),
        network.rename({"joe": "neighbour"}),
        network.add_node("cat", ["in", "out"]),
        network.add_arc("rain", "cat"),
        network.set_cpt("cat", [[0.5, 0.5], [1, 0]]),
        network.set_deterministic("cat", lambda rain: "in"),
        network.set_noisy_max("cat", {"rain": {"wet": [0.5, 0.5]}}),
        network.set_noisy_or("cat", {"rain": 0.5}),
        network.remove_arc("rain", "cat"),
        network.remove_node("cat"),
    ]
    assert edits == [None] * len(edits)
    assert before == wet_grass() != network


@pytest.mark.parametrize("kind", ["BayesianNetwork", "MarkovNetwork"])
def test_questions_are_asked_alike(kind):
    """A node or a list of nodes, then the evidence; all else by its name."""
    network = getattr(bayeskit, kind)
    for verb in ("query", "map", "approximate"):
        _, targets, evidence, *rest = inspect.signature(getattr(network, verb)).parameters.values()
        assert (targets.name, evidence.name, evidence.default) == ("targets", "evidence", None)
        assert targets.kind is evidence.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        assert {each.kind for each in rest} == {inspect.Parameter.KEYWORD_ONLY}
    grass = wet_grass() if kind == "BayesianNetwork" else bayeskit.MarkovNetwork.of(wet_grass())
    for targets in ("rain", ["rain", "joe"], ("joe", "rain")):
        best = grass.map(targets, {"wet": "yes"})
        names = (targets,) if isinstance(targets, str) else tuple(targets)
        answer = grass.query(targets, {"wet": "yes"})
        assert answer.names == names == tuple(best)[: len(names)]
        assert answer[tuple(best[name] for name in names)] == answer.values.max()
