"""Demonstrations of one page: two networks, a decision, a mixture; the page as a value, and its printing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from bayeskit._cli.demos.stories import WORDS
from bayeskit._cli.output import note, noting_compilation
from bayeskit._messages import text_in

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork


@dataclass(frozen=True)
class DemoSection:
    """A heading, a table under it, and lines under that."""

    heading: str
    lines: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    right: int = 1
    """The first column that contains numbers."""


@dataclass(frozen=True)
class DemoPage:
    """A demonstration: its sections to read, its numbers for programs, and lines to continue with."""

    name: str
    title: str
    parts: tuple[DemoSection, ...]
    next_lines: tuple[str, ...]
    data: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"demo": self.name, "title": self.title, **self.data, "next": list(self.next_lines)}


def print_page(page: DemoPage, lang: str) -> None:
    """Print all parts."""
    from bayeskit._cli.demos.stories import WORDS
    from bayeskit._cli.output import console, table

    screen = console()
    screen.print(page.title, style="bold")
    for part in page.parts:
        screen.print(f"\n{part.heading}", style="bold cyan")
        if part.rows:
            screen.print(table(part.header, part.rows, part.right))
        for line in part.lines:
            screen.print(line)
    screen.print(f"\n{WORDS.of(lang)['next']}", style="bold")
    for line in page.next_lines:
        screen.print(f"  {line}", soft_wrap=True)  # never broken, so that it can be copied


Seen = Mapping[Any, Any]


def posteriors(network: BayesianNetwork, nodes: Sequence[str], steps: Sequence[Seen]) -> list[dict[str, Any]]:
    """Return P(node = yes | seen) of each node, for each set of findings.

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> found = posteriors(wet_grass(), ["rain"], [{}, {"wet": "yes"}])
    >>> [round(each["rain"], 4) for each in found]
    [0.2, 0.7353]
    """
    return [
        {"given": dict(seen)}
        | {node: float(network.query(node, evidence=dict(seen))["yes"]) for node in nodes}
        for seen in steps
    ]


def posterior_part(
    heading: str, nothing: str, found: Sequence[Mapping[str, Any]], lines: tuple[str, ...]
) -> DemoSection:
    """Draw the posteriors as a table."""
    nodes = [key for key in found[0] if key != "given"]
    rows = []
    for each in found:
        seen = ", ".join(f"{node} = {state}" for node, state in each["given"].items())
        rows.append((seen or nothing, *(f"{each[node]:.4f}" for node in nodes)))
    return DemoSection(heading, lines, ("", *(f"P({node} = yes)" for node in nodes)), tuple(rows))


def why(
    network: BayesianNetwork, a: str, b: str, given: Sequence[str], lang: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return whether two nodes are independent and by which paths, as values and as lines."""
    found = network.why_independent(a, b, list(given))
    plain = [{"path": str(path), "blocked": path.blocked} for path in found.paths]
    data = {"a": a, "b": b, "given": list(given), "independent": found.independent, "paths": plain}
    return data, tuple(found.outline(lang))


def asia_page(lang: str) -> DemoPage:
    """Return the demonstration in a language."""
    from bayeskit._networks.examples import asia

    say, network = partial(text_in, lang), asia()
    xray: dict[Any, Any] = {"xray": "yes"}
    both = {**xray, "asia": "yes"}
    found = posteriors(network, ("tub", "lung", "bronc"), ({}, xray, both, {**both, "smoke": "no"}))
    apart, apart_lines = why(network, "asia", "lung", (), lang)
    joined, joined_lines = why(network, "asia", "lung", ("xray",), lang)
    findings = network.sensitivity_to_findings("lung", both)
    ranked = [{"node": str(row.node), "information": float(row.mutual_information)} for row in findings.rows]
    return DemoPage(
        "asia",
        say("The chest clinic of Lauritzen and Spiegelhalter: an abnormal X-ray, and a visit to Asia"),
        (
            posterior_part(
                say("1. As findings come in"),
                say("a patient comes in"),
                found,
                (
                    say(
                        "A visit to Asia alone is no evidence about cancer. But it makes tuberculosis more "
                        "probable, and tuberculosis explains the X-ray: P(lung) falls from {a:.1%} to {b:.1%}."
                    ).format(a=found[1]["lung"], b=found[2]["lung"]),
                ),
            ),
            DemoSection(say("2. Why: the paths between them"), apart_lines + joined_lines),
            DemoSection(
                say("3. What to ask next about lung cancer"),
                (
                    say(
                        "In nats, given the X-ray and the visit. 'either' is not a test: it only says that one of "
                        "the two diseases is present."
                    ),
                ),
                (say("node"), say("information")),
                tuple((str(each["node"]), f"{each['information']:.4f}") for each in ranked),
            ),
        ),
        (
            "python -c \"from bayeskit._networks.examples import asia; asia().write('asia.bif')\"",
            "bayeskit network query asia.bif lung --given xray=yes --given asia=yes",
            "bayeskit network independent asia.bif asia lung --given xray",
        ),
        {"posteriors": found, "independence": [apart, joined], "ask_next": ranked},
    )


def grass_page(lang: str) -> DemoPage:
    """Return the demonstration in a language."""
    from bayeskit._networks.examples import wet_grass

    say, network = partial(text_in, lang), wet_grass()
    wet: dict[Any, Any] = {"wet": "yes"}
    found = posteriors(network, ("rain", "sprinkler"), ({}, wet, {**wet, "joe": "yes"}, {"joe": "yes"}))
    apart, apart_lines = why(network, "joe", "sprinkler", (), lang)
    joined, joined_lines = why(network, "joe", "sprinkler", ("wet",), lang)
    seen, done = (
        float(n.query("joe", evidence=e)["yes"]) for n, e in ((network, wet), (network.do(wet), {}))
    )
    return DemoPage(
        "grass",
        say("Wet grass: did it rain, or was the sprinkler left on?"),
        (
            posterior_part(
                say("1. What the lawns tell"),
                say("nothing is known"),
                found,
                (
                    say(
                        "Joe's lawn alone is no evidence about our sprinkler. But if our lawn is wet, it lowers "
                        "the sprinkler's probability from {a:.4f} to {b:.4f}: it is evidence for rain, and rain "
                        "explains our wet lawn away."
                    ).format(a=found[1]["sprinkler"], b=found[2]["sprinkler"]),
                ),
            ),
            DemoSection(say("2. Why: the paths between them"), apart_lines + joined_lines),
            DemoSection(
                say("3. Seeing is not doing"),
                (
                    say(
                        "P(joe = yes) is {seen:.4f} if we see that our lawn is wet, and {done:.4f} if we wet it "
                        "with a hose."
                    ).format(seen=seen, done=done),
                ),
            ),
        ),
        (
            "bayeskit textbook grass",
            "python -c \"from bayeskit._networks.examples import wet_grass; wet_grass().write('grass.bif')\"",
            "bayeskit network query grass.bif sprinkler --given wet=yes",
        ),
        {"posteriors": found, "independence": [apart, joined], "joe": {"seen": seen, "done": done}},
    )


PRIOR = {"spam": 0.7, "ham": 0.3}
# P(word | class).
LIKELIHOODS = {"free": (0.9, 0.01), "offer": (0.3, 0.02), "account": (0.2, 0.05), "meeting": (0.05, 0.4)}
LOSS = {"delete": {"spam": 0.0, "ham": 20.0}, "keep": {"spam": 1.0, "ham": 0.0}}
ASKING = 0.5


def spam_page(lang: str) -> DemoPage:
    """Return the demonstration in a language."""
    from bayeskit._decision.choice import decide
    from bayeskit._decision.posterior import bayes_rule

    say = partial(text_in, lang)
    found, rows = [], []
    for word, (in_spam, in_ham) in LIKELIHOODS.items():
        posterior = bayes_rule(PRIOR, {"spam": in_spam, "ham": in_ham})
        choice = decide(posterior, LOSS)
        careful = decide(posterior, LOSS, reject=ASKING, actions=["delete", "keep", "ask"])
        risks = dict(zip(map(str, choice.names), map(float, choice.risks), strict=True))
        spam = float(posterior["spam"])
        found.append(
            {"word": word, "spam": spam, "risks": risks}
            | {"action": str(choice.actions), "action_if_one_may_ask": str(careful.actions)}
        )
        actions = (say(name) for name in (str(choice.actions), str(careful.actions)))
        rows.append((say(word), f"{spam:.4f}", *(f"{risk:.3f}" for risk in risks.values()), *actions))
    bound = LOSS["delete"]["ham"] / (LOSS["delete"]["ham"] + LOSS["keep"]["spam"])
    header = (
        say("the word"),
        say("P(spam | word)"),
        say("risk of deleting"),
        say("risk of keeping"),
        say("action"),
        say("if one may ask"),
    )
    return DemoPage(
        "spam",
        say("One word in a message, and what to do with the message"),
        (
            DemoSection(
                say("1. What is at stake"),
                (
                    say(
                        "70% of the messages are spam. Deleting a real message costs 20, reading a spam message "
                        "costs 1, and asking costs 0.5."
                    ),
                ),
            ),
            DemoSection(
                say("2. Bayes' rule, then the lowest risk"),
                (
                    say(
                        "Deleting has the lower risk only above P(spam) = 20/21 = {bound:.4f}. So a message that "
                        "is probably spam is still kept."
                    ).format(bound=bound),
                ),
                header,
                tuple(rows),
            ),
        ),
        (
            "bayeskit bayes --prior spam=0.7,ham=0.3 --likelihood spam=0.9,ham=0.01",
            "bayeskit textbook spam",
            "bayeskit demo melon",
        ),
        {"prior": PRIOR, "loss": LOSS, "asking": ASKING, "bound": bound, "words": found},
    )


SEXES = {0: "female", 1: "male"}
UNKNOWN = 170.0


def mixture_page(lang: str) -> DemoPage:
    """Return the demonstration in a language."""
    import numpy as np

    from bayeskit import GaussianMixture, datasets
    from bayeskit._mixtures.component_choice import match_labels

    say, data = partial(text_in, lang), datasets.load_dataset("height-weight")
    X = np.column_stack([data.columns[name] for name in data.attributes]).astype(float)
    model = GaussianMixture(2, n_init=10, tol=1e-6, max_iter=1000, random_state=0).fit(X)
    matched: Any = match_labels(model.predict(X), data.y)
    groups = []
    for k, sex in matched.items():
        truth = X[data.y == sex].mean(axis=0)
        groups.append(
            {"component": int(k), "sex": int(sex), "weight": float(model.weights_[k])}
            | {"mean": model.means_[k].tolist(), "mean_of_the_sex": truth.tolist()}
        )
    shares = model.predict_proba([[UNKNOWN, np.nan]])[0].tolist()
    male = next(shares[each["component"]] for each in groups if each["sex"] == 1)
    names = {sex: say(name) for sex, name in SEXES.items()}
    rows = [
        (
            f"{each['component']} → {names[each['sex']]}",
            f"{each['weight']:.3f}",
            *("{:.1f} cm, {:.1f} kg".format(*each[key]) for key in ("mean", "mean_of_the_sex")),
        )
        for each in groups
    ]
    agreed = round(matched.accuracy * len(data))
    return DemoPage(
        "mixture",
        say("Height and weight of 114 simulated students; the model does not see their sex"),
        (
            DemoSection(
                say("1. Two Gaussians by EM, matched with the sexes"),
                (
                    say(
                        "{agreed} of {n} students are assigned to the component of their sex. EM only maximises "
                        "the likelihood of the rows; that a component corresponds to a sex is an assumption."
                    ).format(agreed=agreed, n=len(data)),
                ),
                (
                    say("component"),
                    say("weight"),
                    say("estimated"),
                    say("of the sex"),
                ),
                tuple(rows),
            ),
            DemoSection(
                say("2. A cell is missing"),
                (
                    say(
                        "For a person of 170 cm and unknown weight, P({name}) = {p:.3f}. Nothing was imputed."
                    ).format(name=names[1], p=male),
                ),
            ),
        ),
        (
            "from bayeskit import GaussianMixture, datasets",
            'X = datasets.load_dataset("height-weight").X; model = GaussianMixture("bic", random_state=0).fit(X)',
            "print(model.choice_); print(model.describe())",
        ),
        {"groups": groups, "rows": len(data), "agreed": agreed, "p_male_at_170_cm": male}
        | {"log_likelihood": float(model.history_[-1])},
    )


# The demonstration of texts: three kinds of naive Bayes on docstrings, and the most informative words.

# The first texts of the table are for training.
TRAINING, MOST_WORDS = 800, 8
# A word in every second text is not informative, one in a single text cannot be checked.
LEAST_TEXTS, LARGEST_SHARE = 2, 0.5


def docstrings_page(lang: str) -> DemoPage:
    """Return the demonstration in a language."""
    from bayeskit import datasets

    say, words = partial(text_in, lang), WORDS.of(lang)
    note(words["reading"].format(name="docstrings"))
    data = datasets.load_dataset("docstrings")
    texts, y = data.columns["text"], data.y
    other = len(y) - TRAINING
    with noting_compilation(words["compiling"].format(model="MultinomialNB, …")):
        scores = [_score(name, make, texts, y, words) for name, make in _models().items()]
        model, vocabulary = _fitted(_models()["MultinomialNB()"](), texts[:TRAINING], y[:TRAINING])
    telling = _telling(model, vocabulary)
    best = min(scores, key=lambda score: float(score["error"]))
    named = [(words.get(str(s["model"]), str(s["model"])), s) for s in scores]
    return DemoPage(
        "docstrings",
        say(data.title),
        (
            DemoSection(
                say("1. {n} docstrings for training, {other} for testing").format(n=TRAINING, other=other),
                (
                    say(
                        "{model} makes the fewest errors ({error:.1%}). Of its {errors} errors, {between} confuse "
                        "NumPy with SciPy, which use similar words."
                    ).format(**best | {"model": words.get(str(best["model"]), best["model"])}),
                ),
                (words["model"], words["error"], words["cpu"]),
                tuple((name, f"{s['error']:.1%}", f"{s['cpu_seconds']:.2f}") for name, s in named),
            ),
            DemoSection(
                say("2. The most informative words of each library"),
                (),
                (say("library"), say("words")),
                tuple((library, " ".join(found)) for library, found in telling.items()),
                right=2,
            ),
        ),
        (
            "from bayeskit import MultinomialNB, datasets; from sklearn.feature_extraction.text import "
            "CountVectorizer",
            'data = datasets.load_dataset("docstrings"); X = '
            'CountVectorizer(stop_words="english").fit_transform(data.columns["text"])',
            "print(MultinomialNB().fit(X[:800], data.y[:800]).score(X[800:], data.y[800:]))",
        ),
        {"source": data.source, "licence": data.licence, "rows": len(data), "trained_on": TRAINING}
        | {"models": scores, "telling_words": telling},
    )


def _models() -> dict[str, Any]:
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression

    from bayeskit import BernoulliNB, ComplementNB, MultinomialNB

    return {
        "MultinomialNB()": MultinomialNB,
        "ComplementNB()": ComplementNB,
        "BernoulliNB()": BernoulliNB,
        "logistic regression": lambda: LogisticRegression(max_iter=1000),
        "majority class": lambda: DummyClassifier(strategy="prior"),
    }


def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(stop_words="english", min_df=LEAST_TEXTS, max_df=LARGEST_SHARE)


def _fitted(model: Any, texts: NDArray[Any], y: NDArray[Any]) -> tuple[Any, Any]:
    vectorizer = _vectorizer()
    model.fit(vectorizer.fit_transform(texts), y)
    return model, vectorizer.get_feature_names_out()


def _score(
    name: str, make: Callable[[], Any], texts: NDArray[Any], y: NDArray[Any], words: Mapping[str, str]
) -> dict[str, Any]:
    note(words["training"].format(n=TRAINING) + f": {words.get(name, name)}")
    vectorizer = _vectorizer()  # its words are those of the training texts only
    X, unseen = vectorizer.fit_transform(texts[:TRAINING]), vectorizer.transform(texts[TRAINING:])
    if name.endswith("NB()"):  # loops are compiled before the clock runs
        make().fit(X, y[:TRAINING]).predict(unseen[:1])
    begin = time.process_time()
    found = make().fit(X, y[:TRAINING]).predict(unseen).tolist()
    seconds = time.process_time() - begin
    wrong = [{truth, said} for truth, said in zip(y[TRAINING:].tolist(), found, strict=True) if truth != said]
    between = wrong.count({"NumPy", "SciPy"})
    content = {"model": name, "error": len(wrong) / len(found), "errors": len(wrong)}
    return content | {"between": between, "cpu_seconds": seconds}


def _telling(model: Any, vocabulary: NDArray[Any]) -> dict[str, list[str]]:
    """The words of largest P(w | c)·log(P(w | c)/P(w)) for each library."""
    import numpy as np

    logs = model.feature_log_prob_
    lift = logs - np.log(np.exp(logs).mean(axis=0))
    # A rare word may have a large lift by chance, so multiply it by the word's share.
    weight = lift * np.exp(logs)
    best = np.argsort(-weight, axis=1)[:, :MOST_WORDS]
    return {
        str(library): vocabulary[places].tolist()
        for library, places in zip(model.classes_, best, strict=True)
    }
