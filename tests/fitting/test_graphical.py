"""A network is a form: equal to the network fitted, to enumeration, to TAN; exact without a row and in pieces."""

from __future__ import annotations

import copy
import itertools
import pickle
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import KDB, TAN, BayesianNetwork
from bayeskit._classifiers.answer_rows import draw_codes
from bayeskit._classifiers.as_network import network_of_model
from bayeskit._classifiers.explain_rows import drawable_model
from bayeskit._conditionals.posterior_draws import Draws
from bayeskit._counting.backend import count_rows
from bayeskit._data.encode import encode
from bayeskit._data.table import open_table
from bayeskit._fitting import graph_sums as sums
from bayeskit._fitting.graphical import Graphical, as_graph, class_node
from bayeskit._fitting.leave_one_out import LeaveOneOut, by_refit
from bayeskit._fitting.model import estimate
from bayeskit._graphs.dag import Dag
from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._io.trial import check_held
from bayeskit._report.contributions import separate_logs
from bayeskit.errors import CyclicGraph, InfiniteValue, ModelFormatError, SettingError
from bayeskit.explanations import explain, one_row
from bayeskit.extending import ModelSpec
from bayeskit.priors import MAP, MLE, BackOff, BDeu, Dirichlet, Laplace, MEstimate, Smoothing, WittenBell
from bayeskit.statistics import Schema, Variable
from refusals import refuses

PRIORS = [BDeu(1.0), BDeu(10.0), Laplace(), MEstimate(2.0), MAP(Dirichlet(2))]


class Case:
    """A random graph over the class and columns, and rows with holes."""

    def __init__(self, seed, n_discrete=4, n_numeric=0, n=40, holes=0.2, roots=False):
        rng = self.rng = np.random.default_rng(seed)
        names = [f"d{j}" for j in range(n_discrete)] + [f"z{j}" for j in range(n_numeric)]
        sizes = rng.integers(2, 4, n_discrete)
        order = [str(name) for name in rng.permutation(names[:n_discrete])]
        order.insert(0 if roots else int(rng.integers(0, n_discrete + 1)), "y")
        parents = {}
        for i, name in enumerate([*order, *names[n_discrete:]]):
            before = [*order, *names[n_discrete:]][:i]
            # Numbers in many configurations would have cells of one row, which are steep: they magnify rounding.
            most = 3 if name not in names[n_discrete:] else 2
            k = int(rng.integers(0, min(most, len(before)) + 1))
            parents[name] = tuple(str(p) for p in rng.permutation(before)[:k])
        attributes = (
            *(Variable(f"d{j}", "categorical", tuple("abc"[:size])) for j, size in enumerate(sizes)),
            *(Variable(f"z{j}", "numeric") for j in range(n_numeric)),
        )
        self.schema = Schema(attributes, Variable("y", "categorical", ("no", "perhaps", "yes")))
        self.dag = Dag.of(parents, ["y", *names])
        self.y = np.array(["no", "perhaps", "yes"], object)[rng.integers(0, 3, n)]
        self.X = {}
        for j, size in enumerate(sizes):
            column = np.array([*"abc"], object)[rng.integers(0, size, n)]
            self.X[f"d{j}"] = np.where(rng.random(n) < holes, None, column)
        for j in range(n_numeric):
            column = rng.normal(size=n) + (self.y == "yes") + 0.5 * j
            self.X[f"z{j}"] = np.where(rng.random(n) < holes, np.nan, column)
        self.weights = rng.choice([1.0, 2.0, 0.5], n)

    def encoded(self, rows=slice(None), weights=True):
        X = {name: column[rows] for name, column in self.X.items()}
        weight = self.weights[rows] if weights else None
        return encode(open_table(X), self.schema, "ignore", y=self.y[rows], weights=weight, with_target=True)

    def spec(self, prior=None, **more):
        prior = prior or BDeu(1.0)
        plain = Laplace() if isinstance(prior, (BackOff, WittenBell)) else prior
        return ModelSpec(
            form=Graphical(self.dag), smoothing=Smoothing(prior, {}), class_smoothing=plain, **more
        )

    def statistics(self, spec, rows=slice(None), **more):
        encoded = self.encoded(rows, **more)
        return count_rows(encoded, spec.form.plan(self.schema, spec))

    def network(self, prior):
        variables = {v.name: v for v in (*self.schema.attributes, self.schema.target)}
        nodes = tuple(
            Node(
                discrete(name, variables[name].states)
                if variables[name].kind == "categorical"
                else continuous(name),
                parents,
            )
            for name, parents in zip(self.dag.nodes, self.dag.parents, strict=True)
        )
        made = BayesianNetwork._of(Network(nodes))
        return made.fit({**self.X, "y": self.y}, smoothing=prior, sample_weight=self.weights)


def joint(case, spec, rows=slice(None)):
    model = estimate(case.statistics(spec), spec)
    return model.joint(case.encoded(rows))


def close(a, b, within=1e-12):
    np.testing.assert_array_equal(np.isneginf(a), np.isneginf(b))
    np.testing.assert_allclose(a, b, rtol=within, atol=within)


seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=25, deadline=None)
@given(seeds, st.sampled_from(PRIORS), st.sampled_from([(5, 0), (0, 4), (3, 3)]), st.booleans())
def test_equal_to_the_network_that_was_fitted(seed, prior, shape, roots):
    case = Case(seed, *shape, n=200, roots=roots)
    found = joint(case, case.spec(prior))
    network = case.network(prior)
    known = {name: np.repeat(column, 3) for name, column in case.X.items()}
    known["y"] = np.tile(case.schema.target.states, 200)
    close(found, network.log_prob(known).reshape(200, 3), 1e-9)
    shares = np.exp(found - np.logaddexp.reduce(found, axis=1)[:, None])
    gentle = np.abs(found).max(axis=1) < 1e3
    wanted = network.predict_proba(case.X, "y")
    np.testing.assert_allclose(shares[gentle], wanted[gentle], rtol=0, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(seeds, st.sampled_from([*PRIORS, MLE()]), st.booleans())
def test_equal_to_enumeration(seed, prior, few):
    case = Case(seed, 4, n=25, holes=0.35)
    spec = case.spec(prior)
    # By exact inference, whatever there is to sum over; or one by one.
    with mock.patch.object(sums, "MANY_ROWS", 0 if few else sums.MANY_ROWS):
        found = joint(case, spec)
    close(found, enumerated(case, prior), 1e-11)


def enumerated(case, prior):
    """Sum the product of all tables over all states of what is missing, in plain loops."""
    network = case.network(prior)._network
    nodes = case.dag.nodes
    tables = [node.distribution.table() for node in network.nodes]
    codes = {v.name: v.codes for v in (*case.schema.attributes, case.schema.target)}
    out = np.zeros((len(case.y), 3))
    for i in range(len(case.y)):
        for c in range(3):
            options = []
            for name in nodes:
                value = None if name == "y" else case.X[name][i]
                size = len(codes[name])
                options.append([c] if name == "y" else range(size) if value is None else [codes[name][value]])
            for states in itertools.product(*options):
                state = dict(zip(nodes, states, strict=True))
                p = 1.0
                for name, table, parents in zip(nodes, tables, case.dag.parents, strict=True):
                    p *= table[(*(state[u] for u in parents), state[name])]
                out[i, c] += p
    with np.errstate(divide="ignore"):
        return np.log(out)


# -- without a row ---------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(
    seeds,
    st.sampled_from([BDeu(1.0), Laplace(), MLE(), BackOff(), BackOff([1, 3]), WittenBell()]),
    st.sampled_from([(4, 0), (0, 3), (3, 2)]),
    st.sampled_from([{}, {"class_weight": {"yes": 3.0}}, {"class_weight": "balanced"}]),
    st.sampled_from(["ignore", "state"]),
)
def test_leave_one_out_is_a_fit_without_the_row(seed, prior, shape, more, missing):
    case = Case(seed, *shape, n=14)
    spec = case.spec(prior, missing=missing, **more)
    statistics, encoded = case.statistics(spec), case.encoded()
    chunk = encoded.chunk(0, encoded.n_rows)
    left_out = LeaveOneOut(statistics, spec)
    assert left_out.fast
    for own in (case.weights, 0.5 * case.weights):
        found = left_out.scores(chunk, own)
        wanted = by_refit(statistics, left_out.spec, chunk, own)
        for a, b in zip(found, wanted, strict=True):
            close(a, b, 1e-9)


@settings(max_examples=15, deadline=None)
@given(seeds, st.sampled_from([(4, 0), (0, 3), (3, 3)]), st.integers(1, 39))
def test_pieces_and_what_is_forgotten(seed, shape, cut):
    case = Case(seed, *shape)
    spec = case.spec()
    whole = joint(case, spec)
    a, b = (case.statistics(spec, rows) for rows in (slice(cut), slice(cut, None)))
    close(estimate(a + b, spec).joint(case.encoded()), whole, 1e-10)
    alone = estimate((a + b) - b, spec).joint(case.encoded())
    close(alone, estimate(a, spec).joint(case.encoded()), 1e-9)


@pytest.mark.parametrize("shape", [(4, 0), (2, 3)])
def test_threads_do_not_change_a_bit(shape):
    case = Case(3, *shape, n=150_000, holes=0.05)
    spec = case.spec()
    plan, encoded = spec.form.plan(case.schema, spec), case.encoded()
    one, four = (count_rows(encoded, plan, n_jobs) for n_jobs in (1, 4))
    for kind, part in one.parts.items():
        for name, array in part.arrays().items():
            np.testing.assert_array_equal(array, four.parts[kind].arrays()[name], err_msg=f"{kind}/{name}")
    some = replace(encoded, n_rows=70_000)
    answers = [estimate(one, spec).joint(some, n_jobs) for n_jobs in (1, 4)]
    np.testing.assert_array_equal(*answers)


# -- the same model as others ----------------------------------------------------------------------


def semi_naive(cls, seed, holes=0.15, **settings):
    case = Case(seed, 5, n=60, holes=holes)
    return case, cls(**settings).fit(case.X, case.y, sample_weight=case.weights)


@settings(max_examples=12, deadline=None)
@given(
    seeds,
    st.sampled_from([None, "laplace", "bdeu", "witten-bell", BackOff([2, 5])]),
    st.sampled_from(["ignore", "state"]),
    st.sampled_from([(TAN, {}), (KDB, {"k": 2}), (KDB, {"k": 1})]),
)
def test_a_graph_of_tan_or_kdb_is_tan_or_kdb(seed, smoothing, missing, made):
    cls, more = made
    case, model = semi_naive(cls, seed, smoothing=smoothing, missing=missing, **more)
    schema, fitted = model.schema_, model._fitted
    names = [v.name for v in schema.attributes]
    given = {name: ("y", *parents) for name, parents in model.structure_.items()}
    settled = fitted.spec.form.settled(fitted.statistics, fitted.spec)
    constants = None if settled.constants is None else (settled.constants, settled.constants)
    form = Graphical(Dag.of(given, ["y", *names]), constants)
    spec = replace(fitted.spec, form=form)
    encoded = encode(open_table(case.X), schema, "ignore", y=case.y, weights=case.weights, with_target=True)
    statistics = count_rows(encoded, form.plan(schema, spec))
    close(estimate(statistics, spec).joint(encoded), model.predict_joint_log_proba(case.X), 1e-11)
    chunk = encoded.chunk(0, encoded.n_rows)
    mine = LeaveOneOut(statistics, spec).scores(chunk, case.weights)[0]
    close(mine, LeaveOneOut(fitted.statistics, fitted.spec).scores(chunk, case.weights)[0], 1e-9)


# -- what else is done with it ---------------------------------------------------------------------


def made(case, spec, **more):
    statistics = case.statistics(spec, **more)
    model = estimate(statistics, spec)
    return statistics, model, model.conditionals[0]


@settings(max_examples=15, deadline=None)
@given(seeds, st.sampled_from([(5, 0), (3, 3), (1, 4), (0, 4)]), st.sampled_from(["ignore", "state"]))
def test_an_explanation_adds_up_to_the_answer(seed, shape, missing):
    case = Case(seed, *shape, n=30)
    spec = case.spec(missing=missing)
    statistics, model, _ = made(case, spec)
    wanted = model.joint(case.encoded())
    for i in range(6):
        row = {name: column[i] for name, column in case.X.items()}
        page = explain(model, statistics, spec, one_row(row))
        logs = np.array([f.log for f in page.prior])
        for attribute in page.attributes:
            logs = logs + [f.log for f in attribute.factors]
        apart = wanted[i] - logs
        np.testing.assert_allclose(apart, apart[0], atol=1e-9 + 1e-14 * np.abs(wanted[i]).max())
        assert str(page)


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_an_explanation_shows_the_fractions(seed):
    case = Case(seed, 5, n=30, holes=0.0)
    spec = case.spec(Laplace())
    statistics, model, _ = made(case, spec)
    weights = case.weights
    for i in range(5):
        row = {name: column[i] for name, column in case.X.items()}
        for attribute in explain(model, statistics, spec, one_row(row)).attributes:
            parents = case.dag.parents_of(attribute.name)
            for label, factor in zip(case.schema.target.states, attribute.factors, strict=True):
                there = np.ones(30, bool)
                for parent in parents:
                    there &= case.y == label if parent == "y" else case.X[parent] == row[parent]
                n = weights[there].sum()
                mine = weights[there & (case.X[attribute.name] == row[attribute.name])].sum()
                size = case.schema[attribute.name].size
                assert factor.working == f"({mine:g}+1)/({n:g}+{size})"


@settings(max_examples=15, deadline=None)
@given(seeds, st.sampled_from([(5, 0), (3, 3), (0, 3)]), st.sampled_from(["ignore", "state"]))
def test_contributions_add_up_to_the_answer(seed, shape, missing):
    case = Case(seed, *shape, n=12)
    spec = case.spec(missing=missing)
    _, model, factors = made(case, spec)
    chunk = case.encoded().chunk(0, 12)
    model = replace(model, conditionals=(factors,))  # whether a number is missing has a factor of its own
    close(separate_logs(model, chunk).sum(axis=1), model.joint_chunk(chunk), 1e-9)


@settings(max_examples=15, deadline=None)
@given(seeds, st.sampled_from([(5, 0), (0, 4), (3, 3)]), st.sampled_from(PRIORS))
def test_the_network_of_the_model_is_the_network_that_was_fitted(seed, shape, prior):
    case = Case(seed, *shape)
    found = network_of_model(made(case, case.spec(prior))[1])
    wanted = case.network(prior)._network
    assert found.dag.as_mapping() == wanted.dag.as_mapping()
    for node in found.nodes:
        other = wanted[node.name]
        assert node.variable.states == other.variable.states
        if node.is_discrete:
            close(node.distribution.table(), other.distribution.table())
        else:
            for name in ("intercept", "coefficients", "variance"):
                close(getattr(node.distribution, name), getattr(other.distribution, name), 1e-10)


@pytest.mark.parametrize("shape", [(4, 0), (3, 2), (0, 3)])
@pytest.mark.parametrize("seed", [1, 2, 5])
@pytest.mark.parametrize("given_class", [None, "yes"])
def test_rows_that_are_drawn_have_the_distribution(shape, seed, given_class):
    case = Case(seed, *shape, holes=0.0)
    _, model, _ = made(case, case.spec(Laplace()))
    n = 20_000
    classes, codes, values = draw_codes(model, n, np.random.default_rng(0), given_class)
    network = BayesianNetwork._of(network_of_model(model))
    evidence = {} if given_class is None else {"y": given_class}
    if given_class is None:
        share = np.bincount(classes, minlength=3) / n
        np.testing.assert_allclose(share, network.query("y").values, atol=0.02)
    else:
        assert set(classes.tolist()) == {2}
    for j, variable in enumerate(case.schema.categorical):
        share = np.bincount(codes[:, j], minlength=variable.size) / n
        np.testing.assert_allclose(share, network.query(variable.name, evidence=evidence).values, atol=0.02)
    for j, variable in enumerate(case.schema.numeric):
        wanted = network.query(variable.name, evidence=evidence)
        assert values[:, j].mean() == pytest.approx(wanted.mean, abs=0.05 * np.sqrt(wanted.variance))


@settings(max_examples=6, deadline=None)
@given(seeds, st.sampled_from([(4, 0), (2, 3)]))
def test_the_draws_of_a_row_are_its_own(seed, shape):
    case = Case(seed, *shape, n=60, holes=0.1)
    spec = case.spec(Laplace())
    drawn = drawable_model(case.statistics(spec), spec, "a graph")
    n = 600
    chunk = case.encoded().chunk(0, 20)
    logs = drawn.log_posteriors(chunk, Draws(0, n))
    assert logs.shape == (20, n, 3)
    np.testing.assert_allclose(np.exp(logs).sum(axis=2), 1.0, atol=1e-9)
    alone = drawn.log_posteriors(chunk.take(np.array([7])), Draws(0, n))
    np.testing.assert_allclose(alone[0], logs[7], atol=1e-10)


def test_what_smoothing_adds_is_the_sum_of_imaginary_logs():
    case = Case(4, 4, holes=0.0)
    prior = MEstimate(3.0)
    factors = made(case, case.spec(prior))[2]
    wanted = 0.0
    for node in factors.network.nodes:
        if node.name != "y" or node.parents:
            table = node.distribution.table()
            wanted += 3.0 / table.shape[-1] * np.log(table).sum()
    assert factors.log_prior(np.empty(0), 1.0) == pytest.approx(wanted)


def test_tables_are_told_with_the_counts_behind_them():
    case = Case(2, 4)
    spec = case.spec(Laplace())
    statistics, _, factors = made(case, spec)
    assert factors.members() == [0, 1, 2, 3]
    for j in factors.members():
        parents = factors.parents_of(j)
        counts = factors.counts_of(statistics, j)
        table = factors.table_of(j, parents, [factors.codes_of(i) for i in (*parents, j)])
        assert counts.shape == table.shape
        size = counts.shape[-2]
        wanted = (counts + 1.0) / (counts.sum(axis=-2, keepdims=True) + size)
        close(table, wanted)


# -- refusals and corners --------------------------------------------------------------------------


def test_graphs_that_are_none_of_these_columns_are_refused():
    schema = Case(0, 2, 1).schema
    for parents, nodes, named in (
        ({"d0": ()}, ["d0"], "y"),
        ({"y": (), "q": ("y",)}, ["y", "q"], "q"),
        ({"y": ("z0",), "z0": ()}, ["y", "z0"], "z0"),
        ({"d0": ("z0",), "z0": ("y",)}, ["y", "d0", "z0"], "d0"),
    ):
        with refuses(SettingError, named):
            Graphical(Dag.of(parents, nodes)).plan(schema, ModelSpec())


def test_a_file_may_hold_a_graph_and_nothing_that_is_none():
    schema = Case(0, 2, 1).schema
    check_held({"structure": {"y": ("d0",), "d0": (), "z0": ("y", "d0")}}, schema)
    for graph in (
        {"y": ["d0"], "d0": ()},
        {"y": (), "q": ()},
        {"y": ("q",)},
        {"y": ("d0",), "d0": ("y",)},
        {"y": ("z0",), "z0": ()},
        [("y", ())],
    ):
        with pytest.raises((ModelFormatError, SettingError, CyclicGraph)):
            check_held({"structure": graph}, schema)


def test_a_class_prior_has_no_place_where_the_class_has_parents():
    case = Case(0, 2, n=10)
    form = Graphical(Dag.of({"y": ("d0",)}, ["y", "d0"]))
    spec = replace(case.spec(), form=form, class_prior="uniform")
    with pytest.raises(SettingError, match="'d0'"):
        made(case, spec)
    root = Graphical(Dag.of({"d0": ("y",)}, ["y", "d0"]))
    _, model, _ = made(case, replace(spec, form=root))
    np.testing.assert_allclose(np.exp(model.log_prior), 1 / 3)


def test_infinity_is_refused_by_name_and_row():
    case = Case(0, 1, 2, n=10, holes=0.0)
    spec = replace(case.spec(), form=Graphical(Dag.of({"z1": ("y", "z0")}, ["y", "z0", "z1"])))
    _, model, _ = made(case, spec)
    chunk = case.encoded().chunk(0, 10)
    for hole in (False, True):
        chunk.values[:] = 0.0
        chunk.values[4, 1] = np.inf
        if hole:
            chunk.values[:, 0] = np.nan
        with pytest.raises(InfiniteValue, match="'z1'"):
            model.joint_chunk(chunk)


def test_a_column_without_a_value_is_no_part_of_the_graph():
    schema = Schema(
        (Variable("a", "categorical", (0, 1)), Variable("b", "categorical"), Variable("u", "numeric")),
        Variable("y", "categorical", (0, 1)),
    )
    graph = Dag.of({"y": ("b", "a"), "a": ("b",), "u": ("b", "y")}, ["y", "a", "b", "u"])
    without = Dag.of({"y": ("a",), "u": ("y",)}, ["y", "a", "u"])
    X = {"a": [0, 1, 1, 0, 1], "b": [None] * 5, "u": [0.5, 1.0, np.nan, 2.0, 4.0]}
    encoded = encode(open_table(X), schema, "ignore", y=[0, 1, 1, 0, 0], with_target=True)
    answers = []
    for dag in (graph, without):
        spec = ModelSpec(form=Graphical(dag))
        statistics = count_rows(encoded, spec.form.plan(schema, spec))
        model = estimate(statistics, spec)
        answers.append(model.joint(encoded))
        chunk = encoded.chunk(0, 5)
        answers.append(LeaveOneOut(statistics, spec).scores(chunk, np.ones(5))[0])
    np.testing.assert_array_equal(answers[0], answers[2])
    np.testing.assert_array_equal(answers[1], answers[3])


def test_the_class_is_called_otherwise_where_a_column_has_its_name():
    schema = Schema((Variable("y", "categorical", (0, 1)),), Variable("y", "categorical", (0, 1)))
    assert class_node(schema) == "class"
    held = {"class": ("y",), "y": ()}
    assert as_graph(held, schema).as_mapping() == held


@pytest.mark.parametrize("numeric", [0, 2])
def test_many_missing_states_are_summed_by_inference(numeric):
    """More joint states than are gone through: the same answers, and without a row the same as a refit."""
    case = Case(11, 6, numeric, n=20, holes=0.5)
    spec = case.spec()
    statistics, model, _ = made(case, spec)
    chunk = case.encoded().chunk(0, 20)
    wanted = model.joint_chunk(chunk)
    left = LeaveOneOut(statistics, spec).scores(chunk, case.weights)[0]
    with mock.patch.multiple(sums, MOST_STATES=1, MOST_MIXED_STATES=1, MOST_LEFT_OUT=1):
        close(estimate(statistics, spec).joint_chunk(chunk), wanted, 1e-10)
        close(LeaveOneOut(statistics, spec).scores(chunk, case.weights)[0], left, 1e-9)


def test_a_model_that_has_inferred_can_be_copied_and_pickled():
    case = Case(11, 6, n=20, holes=0.5)
    _, model, factors = made(case, case.spec())
    with mock.patch.object(sums, "MANY_ROWS", 0):
        wanted = model.joint(case.encoded())
    assert "exact" in factors.__dict__  # engines have locks
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        with mock.patch.object(sums, "MANY_ROWS", 0):
            np.testing.assert_array_equal(other.joint(case.encoded()), wanted)


def test_states_never_seen_are_one_more_state():
    case = Case(3, 4, n=40, holes=0.0)
    spec = case.spec(Laplace(), unseen="smooth")
    _, model, factors = made(case, spec)
    chunk = case.encoded().chunk(0, 40)
    total = np.full((40, 3), -np.inf)
    for code in factors.codes_of(1):
        chunk.codes[:, 1] = code
        total = np.logaddexp(total, model.joint_chunk(chunk))
    chunk.codes[:, 1] = case.schema.categorical[1].size
    close(model.joint_chunk(chunk), total, 1e-10)
