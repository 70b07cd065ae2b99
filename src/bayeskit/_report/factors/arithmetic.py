"""The explanation of one row, computed from the model and its statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit._conditionals.averaged import SuperParentAverage
from bayeskit._conditionals.categorical import TableConditional
from bayeskit._conditionals.class_prior import class_factors
from bayeskit._conditionals.complement import WordScore
from bayeskit._conditionals.family_tries import FamilyTries
from bayeskit._conditionals.log_linear import LogLinearScore
from bayeskit._conditionals.one_parent import OneParent
from bayeskit._data.encode import Policy, encode
from bayeskit._data.encoded import Chunk
from bayeskit._data.table import Table
from bayeskit._fitting.graph_factors import GraphFactors
from bayeskit._fitting.model import Model, ModelSpec
from bayeskit._fitting.stack import StackedPosterior
from bayeskit._report.explanation import Attribute, Explanation, Form, OmittedAttribute, PageFactor
from bayeskit._report.factors.average import Average
from bayeskit._report.factors.combined_items import average_of, log_linear_items, word_items
from bayeskit._report.factors.dependence import Item, dependent_items, shares, with_workings
from bayeskit._report.factors.items import ClassFactor, NumericItems, family_items, graph_items
from bayeskit._report.fractions import short
from bayeskit._report.row import CodedRow
from bayeskit._report.words import words_of
from bayeskit._schema import Name, Variable
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataError
from bayeskit.priors import one_more_cell
from bayeskit.typing import Floats

Factors = tuple[PageFactor, ...]


def evidence_of(
    model: Model, row: CodedRow
) -> tuple[Floats, dict[Any, Attribute | OmittedAttribute], Factors]:
    r"""Leave out one value at a time.

    .. math:: \frac{P(c, x)}{P(c, x_{-j})} = P(x_j \mid c, x_{-j})

    Returns
    -------
    log P(c) of a row without values, the items by name, and the rest: the factor between the product of the prior and
    the factors, and P(c, x).
    """
    codes, values = row.chunk.codes, row.chunk.values
    sizes = np.array([v.size for v in row.schema.categorical], dtype=np.int64)
    d = len(sizes)
    places = [j for j in range(d) if codes[0, j] != sizes[j]]
    numeric = [m for m in range(values.shape[1]) if not np.isnan(values[0, m])]
    n = 2 + len(places) + len(numeric)
    all_codes, all_values = np.repeat(codes, n, axis=0), np.repeat(values, n, axis=0)
    all_codes[1], all_values[1] = sizes, np.nan
    for r, j in enumerate(places, 2):
        all_codes[r, j] = sizes[j]
    for r, m in enumerate(numeric, 2 + len(places)):
        all_values[r, m] = np.nan
    joint = model.joint_chunk(Chunk(n, np.ascontiguousarray(all_codes), np.ascontiguousarray(all_values)))
    items: dict[Any, Attribute | OmittedAttribute] = {}
    for r, j in enumerate(places, 2):
        items[row.schema.categorical[j].name] = _item(
            row.schema.categorical[j].name, row.value(j), joint[0], joint[r]
        )
    for r, m in enumerate(numeric, 2 + len(places)):
        name = row.schema.numeric[m].name
        items[name] = _item(name, float(values[0, m]), joint[0], joint[r])
    for j in sorted(set(range(d)) - set(places)):
        items[row.schema.categorical[j].name] = row.left_out(j)
    for m in sorted(set(range(values.shape[1])) - set(numeric)):
        items[row.schema.numeric[m].name] = OmittedAttribute(row.schema.numeric[m].name, None, "missing")
    said = joint[1].copy()
    for item in items.values():
        if isinstance(item, Attribute):
            said += [factor.log for factor in item.factors]
    return joint[1], items, tuple(map(PageFactor, _difference(joint[0], said).tolist()))


def _item(name: Name, value: object, whole: Floats, without: Floats) -> Attribute:
    return Attribute(name, value, "evidence", tuple(map(PageFactor, _difference(whole, without).tolist())))


def _difference(whole: Floats, part: Floats) -> Floats:
    """Return whole − part of logarithms, or 0 if the part is already impossible."""
    known = part > -np.inf
    return np.where(known, whole - np.where(known, part, 0.0), 0.0)


def explain(
    model: Model,
    statistics: Statistics,
    spec: ModelSpec,
    table: Table,
    labels: Any = None,
    *,
    threshold: float | None = None,
    lang: str = "en",
    by_value: bool = False,
) -> Explanation:
    """Explain the prediction of one row as a product of factors.

    Parameters
    ----------
    model : Model
        As estimated from ``statistics`` with ``spec``.
    statistics : Statistics
        The raw counts, for the fractions.
    spec : ModelSpec
    table : Table
        One row, its columns in the order of the schema.
    labels : sequence, optional
        The names of the classes. By default, the states of the target.
    threshold : float, optional
        The threshold between present and absent in a block of words.
    lang : "en" or "zh"
    by_value : bool
        Leave out one value at a time, even if the model can explain its factors.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> from bayeskit.explanations import one_row
    >>> nb = NaiveBayes().fit([["a"], ["b"], ["a"]], ["yes", "no", "yes"])
    >>> page = explain(nb._model, nb.statistics_, nb._fitted.spec, one_row(["a"]))
    >>> [f.working for f in page.prior], [f.working for f in page.attributes[0].factors]
    (['(1+1)/(3+2)', '(2+1)/(3+2)'], ['(0+1)/(1+2)', '(2+1)/(2+2)'])
    """
    words_of(lang)
    if table.n_rows != 1:
        raise DataError("One row is explained at a time, not {n_rows}.", n_rows=table.n_rows)
    schema = model.schema
    policy: Policy = spec.unseen
    chunk = encode(table, schema, policy, threshold=threshold).chunk(0, 1)
    weights = class_factors(spec.class_weight, statistics.class_counts, schema.target)
    if weights is not None:
        statistics = statistics.scale(weights)
    row = CodedRow(schema, table.select(schema.order_of(table.names)), chunk)
    apart = _apart(model, statistics, spec, row, by_value)
    places = {v.name: i for i, v in enumerate(schema.attributes)}
    ordered = [item for _, item in sorted(apart.items.items(), key=lambda i: places.get(i[0], len(places)))]
    states = schema.target.states if labels is None else labels
    return Explanation(
        target=schema.target.name,
        classes=tuple(s.item() if isinstance(s, np.generic) else s for s in states),
        prior=apart.prior.factors,
        attributes=tuple(item for item in ordered if isinstance(item, Attribute)),
        left_out=tuple(item for item in ordered if isinstance(item, OmittedAttribute)),
        prior_source=apart.prior.source,
        lang=lang,
        form=apart.form,
        average=apart.average,
        rest=apart.rest,
        fallback=tuple(model.log_prior.tolist()),
        prior_given=apart.prior.given,
    )


@dataclass(frozen=True)
class _Decomposition:
    """The decomposition of a model for one row: the factor of the class, the items by name, and how they combine."""

    prior: ClassFactor
    items: dict[Any, Item]
    form: Form = "product"
    average: Average | None = None
    rest: tuple[PageFactor, ...] | None = None


def _apart(
    model: Model, statistics: Statistics, spec: ModelSpec, row: CodedRow, by_value: bool
) -> _Decomposition:
    if row.schema.block is not None and row.schema.vocabulary is None:
        item = _block(model, row.chunk, row.schema.block, spec)
        return _Decomposition(_prior(model, statistics, spec, model.adds_prior), {item.name: item})
    if not by_value and all(conditional.supports("explain") for conditional in model.conditionals):
        page = _Items(statistics, spec, row)
        for conditional in model.conditionals:
            conditional.explain(row.chunk, page)
        prior = page.prior or _prior(model, statistics, spec, model.adds_prior or page.form == "alone")
        return _Decomposition(prior, page.all_items(), page.form, page.average, page.rest)
    # A model that is not a product of factors is explained by leaving out values.
    nothing, items, rest = evidence_of(model, row)
    prior = _prior(model, statistics, spec, model.adds_prior)
    if not np.array_equal(nothing, [factor.log for factor in prior.factors]):
        prior = ClassFactor(tuple(PageFactor(float(log)) for log in nothing), "nothing known", ())
    return _Decomposition(prior, items, "evidence", rest=rest)


class _Items(NumericItems):
    """All attributes of a row, from its conditionals."""

    def __init__(self, statistics: Statistics, spec: ModelSpec, row: CodedRow) -> None:
        super().__init__(statistics, spec, row)
        self.discrete: dict[Any, Item] = {}
        self.prior: ClassFactor | None = None
        self.in_graph: set[Any] = set()
        self.form: Form = "product"
        self.average: Average | None = None
        self.rest: tuple[PageFactor, ...] | None = None
        self.words: dict[Any, Item] = {}
        self.power = 1.0

    def all_items(self) -> dict[Any, Item]:
        """Return the items of all attributes.

        A numeric attribute of a graph may have two: its density, and the probability that it is present. If a numeric
        attribute has no factor besides an average, it is part of the average. The terms of a log-linear model, and the
        models of a stack, are the only items.
        """
        if self.form in ("log-linear", "stack"):
            return self.discrete
        if self.average is not None:
            there = {name: item for name, item in self.items().items() if isinstance(item, Attribute)}
            return self.discrete | there
        names = {
            name: item
            for name, item in self.items().items()
            if name not in self.in_graph or isinstance(item, Attribute)
        }
        for name, item in self.discrete.items():
            beside = names.get(name)
            if not isinstance(beside, Attribute):
                names[name] = item
            elif isinstance(item, Attribute):
                logs = [a.log + b.log for a, b in zip(beside.factors, item.factors, strict=True)]
                names[name] = replace(item, factors=tuple(map(PageFactor, logs)))
        return {name: _raised(item, self.power) for name, item in names.items()} | self.words

    def raise_columns(self, power: float) -> None:
        self.power = power

    def add_tables(self, tables: TableConditional) -> None:
        self.discrete |= _tables(tables, self.row, self.statistics, self.spec)

    def add_pairs(self, pairs: OneParent) -> None:
        self.discrete |= dependent_items(pairs, self.row)

    def add_families(self, families: FamilyTries) -> None:
        counted: Any = self.statistics.parts["families"]
        self.discrete |= family_items(families, counted, self.row)

    def add_average(self, average: SuperParentAverage) -> None:
        found = average_of(average, self.row)
        if found is not None:
            self.form, (self.average, self.discrete) = "average", found
            return
        self.form = "alone"
        for conditional in average.in_its_place():
            conditional.explain(self.row.chunk, self)

    def add_log_linear(self, score: LogLinearScore) -> None:
        self.form, (self.discrete, self.rest) = "log-linear", log_linear_items(score, self.row)

    def add_words(self, score: WordScore) -> None:
        self.form, (self.words, self.rest) = "words", word_items(score, self.row)

    def add_stack(self, stack: StackedPosterior) -> None:
        self.form, (self.discrete, self.rest) = "stack", stack_items(stack, self.row)

    def add_graph(self, graph: GraphFactors) -> None:
        found = graph_items(graph, self.statistics, self.row)
        self.discrete |= found.items
        self.prior = found.prior
        self.in_graph = set(self.row.schema.position)
        for column, (logs, workings, given) in found.numbers.items():
            self.given[column] = given
            self._add(column, "gaussian", logs, workings)


def _raised(item: Item, power: float) -> Item:
    """Raise the factors of an attribute to a power."""
    if power == 1.0 or isinstance(item, OmittedAttribute):
        return item
    factors = tuple(
        PageFactor(power * log, f"({working})^{short(power)}" if working else "")
        for log, working in item.factors
    )
    return replace(item, factors=factors)


def stack_items(stack: StackedPosterior, row: CodedRow) -> tuple[dict[Any, Item], tuple[PageFactor, ...]]:
    """Return a factor p^w for each model of a stack, the most informative first, and the factor added by mixing."""
    found = []
    total = np.zeros((1, row.schema.n_classes))
    stack.add_log_prob(row.chunk, total)
    rest = total[0]
    for voter in stack.voters:
        logs = voter.log_posterior(row.chunk)[0]
        weighed = voter.member.weight * logs
        rest = rest - weighed
        workings = (f"{short(float(np.exp(log)))}^{short(voter.member.weight)}" for log in logs)
        factors = tuple(PageFactor(float(log), text) for log, text in zip(weighed, workings, strict=True))
        name, weight = voter.member.name, voter.member.weight
        found.append((float(np.ptp(weighed)), Attribute(name, float(short(weight)), "stack", factors)))
    found.sort(key=lambda pair: -pair[0])
    # Use keys that are not column names, so that the models keep their order.
    return {("member", item.name): item for _, item in found}, tuple(map(PageFactor, rest.tolist()))


def _prior(model: Model, statistics: Statistics, spec: ModelSpec, is_added: bool) -> ClassFactor:
    k = len(model.log_prior)
    if not is_added:
        return ClassFactor((PageFactor(0.0),) * k, "unused", ())
    if spec.class_prior is not None:
        return ClassFactor(tuple(PageFactor(float(log)) for log in model.log_prior), "given", ())
    counts = statistics.class_counts
    imaginary = spec.class_smoothing.cells(model.schema.target, 1)
    workings = shares(counts, imaginary, np.full(k, counts.sum()), float(imaginary.sum()), k)
    return ClassFactor(with_workings(model.log_prior, workings), "counts", ())


def _tables(
    conditional: TableConditional, row: CodedRow, statistics: Statistics, spec: ModelSpec
) -> dict[Any, Item]:
    schema = statistics.schema
    items: dict[Any, Item] = {}
    for i, variable in enumerate(schema.categorical):
        code = row.code(i)
        logs = conditional.log_table[int(conditional.offsets[i]) + code]
        if code >= variable.size and not logs.any():
            items[variable.name] = row.left_out(i)
            continue
        start, stop = int(schema.offsets[i]), int(schema.offsets[i + 1])
        workings = _cell_shares(statistics.tables.counts[start:stop], variable, code, schema.n_classes, spec)
        factors = with_workings(logs, workings)
        items[variable.name] = Attribute(variable.name, row.value(i), "table", factors, row.is_unknown(i))
    return items


def _cell_shares(counts: Floats, variable: Variable, code: int, n_classes: int, spec: ModelSpec) -> list[str]:
    """Write P(code | c) for each class, from n(v, c) with the missing ones in the last row."""
    prior = spec.smoothing.of(variable)
    imaginary, one_more = prior.cells(variable, n_classes), one_more_cell(prior, variable, n_classes)
    total, prior_total = counts[:-1].sum(axis=0), float(imaginary.sum())
    if spec.missing == "state" and counts[-1].any():
        total, prior_total = total + counts[-1], prior_total + one_more
    if spec.unseen == "smooth":
        prior_total += one_more
    real = counts[code] if code <= variable.size else np.zeros(n_classes)
    added = imaginary[code] if code < variable.size else one_more
    return shares(real, np.full(n_classes, added), total, prior_total, variable.size)


def _block(model: Model, chunk: Chunk, variable: Variable, spec: ModelSpec) -> Attribute:
    out = np.zeros((1, len(model.log_prior)))
    for conditional in model.conditionals:
        conditional.add_log_prob(chunk, out)
    present = int(chunk.block.nnz if hasattr(chunk.block, "nnz") else np.count_nonzero(chunk.block))
    factors = tuple(PageFactor(float(log)) for log in out[0])
    return Attribute(variable.name, f"{present}/{variable.width}", spec.block_family, factors)
