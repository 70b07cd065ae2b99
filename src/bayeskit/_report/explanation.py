"""The explanation of one prediction as a product of factors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bayeskit._markup import framed
from bayeskit._report.fractions import short
from bayeskit._schema import Label, Name
from bayeskit._visible import json_text
from bayeskit.typing import LossLike

if TYPE_CHECKING:
    from bayeskit._report.charts.waterfall import Waterfall
    from bayeskit._report.factors.average import Average
    from bayeskit._report.row_figures import Risks

Reason = Literal["missing", "unseen", "constant", "summed", "general", "unused", "same"]
PriorSource = Literal["counts", "given", "unused", "nothing known"]
Form = Literal["product", "average", "alone", "evidence", "log-linear", "words", "stack"]


class PageFactor(NamedTuple):
    """One factor of the product, stored as its logarithm, with its arithmetic.

    Attributes
    ----------
    log : float
    working : str
        The arithmetic, such as ``(3+1)/(8+2)``; empty if there is none.
    """

    log: float
    working: str = ""

    @property
    def probability(self) -> float:
        """The factor itself: a probability, or the density of a numeric attribute."""
        return _exp(self.log)


@dataclass(frozen=True)
class Attribute:
    """The factors of one attribute, one for each class.

    Attributes
    ----------
    name : hashable, or a tuple of names if attributes share a factor
    value : the value in the row; None if missing is a state
    family : str
    factors : tuple of PageFactor, in the order of the classes
    as_missing : bool
        The factor is that of a missing value (with ``missing="state"``).
    given : tuple of (name, value)
        The parents other than the class.
    summed : tuple of names
        The unknown attributes that are summed out in the factor.
    """

    name: Hashable
    value: Any
    family: str
    factors: tuple[PageFactor, ...]
    as_missing: bool = False
    given: tuple[tuple[Hashable, Any], ...] = ()
    summed: tuple[Hashable, ...] = ()


@dataclass(frozen=True)
class OmittedAttribute:
    """An attribute without a factor of its own, and the reason.

    The reason is one of:

    - "missing", "unseen" or "constant";
    - "summed": it is unknown and summed out in the factors of its children;
    - "general": it is implied by another value of the row;
    - "unused": it is not in the model;
    - "same": its factor is the same in every class.
    """

    name: Hashable
    value: Any
    reason: Reason


@dataclass(frozen=True)
class Explanation:
    r"""The explanation of P(c | x) for one row, step by step. Print it or show it in a notebook.

    .. math:: P(c \mid x) = \frac{P(c) \prod_i P(x_i \mid c)}{\sum_{c'} P(c') \prod_i P(x_i \mid c')}

    Attributes
    ----------
    target : hashable
        The name of the class column.
    classes : tuple of labels
        The order of all per-class values.
    prior : tuple of PageFactor
    attributes : tuple of Attribute
    left_out : tuple of OmittedAttribute
    prior_source : "counts", "given", "unused" or "nothing known"
        "nothing known" is the posterior of a row without values.
    lang : "en" or "zh"
        The language of the page.
    form : "product", "average", "alone", "evidence", "log-linear", "words" or "stack"
        How the factors combine. An "average" includes P(c). "alone": an average without a super-parent in
        this row, so that naive Bayes is used. "evidence": the factor of an attribute is P(c, x) divided by
        P(c, x) without the attribute's value; these factors give the posterior only together with ``rest``.
        "log-linear": factors of sets of attributes, each raised to its weight; ``rest`` is what each class
        gets in addition. "words": a product with a factor for each word of a text, relative to the mean of the
        classes; ``rest`` is the product of these means, and what each class gets in addition. "stack": factors of
        models, each a posterior raised to the weight of the model; ``rest`` is the share that every class has.
    average : Average, optional
    rest : tuple of PageFactor, optional
        The factor that is missing between the product of the factors and P(c, x).
    fallback : tuple of float, optional
        log P(c), the result for a row that is impossible in every class, if P(c) is not a factor.
    prior_given : tuple of (name, value)
        The parents of the class, if it has some in a network.
    calibrated : tuple of float, optional
        The posterior after ``calibration``.
    risks : Risks, optional
        The risk of each action, if a loss was given.
    all : bool
        Whether the page shows attributes with the same factor in every class, too. Otherwise they are multiplied into
        one line.

    Examples
    --------
    >>> half = (PageFactor(math.log(0.5), "2/4"), PageFactor(math.log(0.5), "2/4"))
    >>> foul = (PageFactor(math.log(0.75), "3/4"), PageFactor(math.log(0.25), "1/4"))
    >>> odour = Attribute("odour", "foul", "table", foul)
    >>> explanation = Explanation("class", ("poisonous", "edible"), half, (odour,), ())
    >>> explanation.prediction, round(explanation.posterior[0], 6)
    ('poisonous', 0.75)
    """

    target: Hashable
    classes: tuple[Any, ...]
    prior: tuple[PageFactor, ...]
    attributes: tuple[Attribute, ...]
    left_out: tuple[OmittedAttribute, ...]
    prior_source: PriorSource = "counts"
    lang: str = "en"
    form: Form = "product"
    average: Average | None = None
    rest: tuple[PageFactor, ...] | None = None
    fallback: tuple[float, ...] | None = None
    prior_given: tuple[tuple[Hashable, Any], ...] = ()
    calibrated: tuple[float, ...] | None = None
    risks: Risks | None = None
    all: bool = False

    @cached_property
    def log_joint(self) -> tuple[float, ...]:
        """log P(c, x) of each class: the sum of the logarithms of its factors."""
        return tuple(_sum(_factors(self, k)) for k in range(len(self.classes)))

    @property
    def joint(self) -> tuple[float, ...]:
        """P(c, x) of each class: the product; 0.0 if it underflows."""
        return tuple(map(_exp, self.log_joint))

    @cached_property
    def log_evidence(self) -> float:
        """log P(x), the sum of the products."""
        best = max(self.log_joint)
        if math.isinf(best):
            return best
        return best + math.log(math.fsum(math.exp(log - best) for log in self.log_joint))

    @property
    def evidence(self) -> float:
        """P(x), the normaliser; 0.0 if it underflows."""
        return _exp(self.log_evidence)

    @property
    def impossible(self) -> bool:
        """Whether every class has a product of zero; the posterior is then the class prior."""
        return max(self.log_joint) == -math.inf

    @cached_property
    def posterior(self) -> tuple[float, ...]:
        """P(c | x) of each class."""
        logs = self._scores
        best = max(logs)
        weights = [math.exp(log - best) for log in logs]
        total = math.fsum(weights)
        return tuple(weight / total for weight in weights)

    @property
    def _scores(self) -> tuple[float, ...]:
        if not self.impossible:
            return self.log_joint
        return self.fallback or tuple(f.log for f in self.prior)

    @cached_property
    def ranking(self) -> tuple[int, ...]:
        """The indices of the classes, the most probable first. Ties keep the class order."""
        scores = self._scores
        return tuple(sorted(range(len(scores)), key=lambda k: (-scores[k], k)))

    @property
    def prediction(self) -> Any:
        """The most probable class."""
        return self.classes[self.ranking[0]]

    @property
    def runner_up(self) -> Any:
        """The second most probable class; None if there is only one class."""
        return self.classes[self.ranking[1]] if len(self.classes) > 1 else None

    @property
    def prior_log_odds(self) -> float | None:
        """What the class prior adds to the log-odds of the prediction against the runner-up."""
        return self.odds_of(self.prior)

    @property
    def attribute_log_odds(self) -> tuple[float | None, ...]:
        """What each attribute adds to the log-odds of the prediction against the runner-up.

        None if there is no runner-up; NaN if both classes have a factor of zero.
        """
        return tuple(self.odds_of(attribute.factors) for attribute in self.attributes)

    @property
    def by_weight(self) -> tuple[Attribute, ...]:
        """The attributes, the largest contribution to the log-odds first, whatever its sign. Ties keep their order."""
        return tuple(sorted(self.attributes, key=self.weight_of, reverse=True))

    def weight_of(self, attribute: Attribute) -> float:
        """Return the size of an attribute's contribution to the log-odds; infinite if it rules a class out."""
        odds = self.odds_of(attribute.factors)
        return 0.0 if odds is None else math.inf if math.isnan(odds) else abs(odds)

    def waterfall(self, most: int = 12) -> Waterfall:
        """Return the chart that leads from the prior to the posterior, one bar for each contribution to the log-odds.

        Parameters
        ----------
        most : int
            The number of attributes to draw, the strongest first; the others are one bar.

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> chart = NaiveBayes().fit([["a"], ["b"], ["a"]], ["yes", "no", "yes"]).explain(["a"]).waterfall()
        >>> [(step.name, round(step.log_odds, 3)) for step in chart.steps]
        [('P(y)', 0.405), ('x0 = a', 0.811)]
        """
        from bayeskit._report.charts.waterfall import waterfall_of

        return waterfall_of(self, most)

    @property
    def log_odds(self) -> float | None:
        """log P(prediction | x) − log P(runner-up | x), the sum of all contributions."""
        return self.odds_of(tuple(PageFactor(log) for log in self.log_joint))

    def odds_of(self, factors: tuple[PageFactor, ...]) -> float | None:
        """Return the contribution of factors, one for each class, to the log-odds."""
        if len(self.ranking) < 2:
            return None
        a, b = (factors[k].log for k in self.ranking[:2])
        return math.nan if a == b == -math.inf else a - b

    def with_loss(
        self, loss: LossLike = None, reject: float | None = None, actions: Sequence[Label] | None = None
    ) -> Explanation:
        """Return the explanation with the risk of each action added.

        The loss is as in :func:`bayeskit.decision.decide`. The risks use the calibrated posterior if there is one.

        Examples
        --------
        >>> even = (PageFactor(math.log(0.5)), PageFactor(math.log(0.5)))
        >>> coin = Explanation("coin", ("head", "tail"), even, (), ())
        >>> coin.with_loss([[0, 3], [1, 0]]).risks.risks
        (1.5, 0.5)
        """
        from bayeskit._report.row_figures import risks_of

        return replace(
            self, risks=risks_of(self.calibrated or self.posterior, self.classes, loss, reject, actions)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON, with infinite numbers as "inf" and "-inf"."""
        from bayeskit._report.explanation_dict import explanation_to_dict

        return explanation_to_dict(self)

    def to_json(self, indent: int | None = None) -> str:
        """Return :meth:`to_dict` as JSON."""
        return json_text(self.to_dict(), indent)

    def to_html(self) -> str:
        """Return the explanation as HTML without scripts: the waterfall, and the table with all attributes.

        A notebook shows only the most influential of hundreds of attributes.
        """
        from bayeskit._report.page import explanation_html

        return framed(explanation_html(self, whole=True))

    def to_latex(self, document: bool = False) -> str:
        r"""Return the explanation as LaTeX, with fractions as ``\frac``.

        Parameters
        ----------
        document : bool
            Return a complete document instead of a table. Chinese needs XeLaTeX or LuaLaTeX.
        """
        from bayeskit._report.latex_table import explanation_latex

        return explanation_latex(self, document)

    def page(self) -> Any:
        """Return the explanation as a table for display."""
        from bayeskit._report.page import page_of

        return page_of(self)

    def __str__(self) -> str:
        from bayeskit._display_table import as_text

        return as_text(self.page())

    def _repr_html_(self) -> str:
        from bayeskit._report.page import explanation_html

        return framed(explanation_html(self))


def _factors(explanation: Explanation, k: int) -> list[float]:
    e = explanation
    more = [e.average.factors[k].log] if e.average is not None else []
    more += [e.rest[k].log] if e.rest is not None else []
    return [e.prior[k].log, *(a.factors[k].log for a in e.attributes), *more]


def _sum(logs: list[float]) -> float:
    return -math.inf if -math.inf in logs else math.fsum(logs)


def _exp(log: float) -> float:
    return math.exp(log) if log < 709.0 else math.inf


def weigh(explanation: Explanation, weights: Mapping[Name, float]) -> Explanation:
    """Return the explanation with each attribute's factors raised to its weight; 0⁰ is 1.

    Examples
    --------
    >>> import math
    >>> from bayeskit.explanations import Attribute
    >>> odour = Attribute("odour", "foul", "table", (PageFactor(math.log(0.64), "64/100"),))
    >>> page = weigh(Explanation("class", ("poisonous",), (PageFactor(0.0),), (odour,), ()), {"odour": 0.5})
    >>> page.attributes[0].factors[0].working, round(page.attributes[0].factors[0].probability, 6)
    ('(64/100)^0.5', 0.8)
    """
    attributes = tuple(
        replace(a, factors=tuple(_raised(factor, weights[a.name]) for factor in a.factors))
        for a in explanation.attributes
    )
    return replace(explanation, attributes=attributes)


def _raised(factor: PageFactor, weight: float) -> PageFactor:
    log = factor.log * weight if weight > 0.0 else 0.0
    plain = weight == 1.0 or not factor.working
    return PageFactor(log, factor.working if plain else f"({factor.working})^{short(weight)}")
