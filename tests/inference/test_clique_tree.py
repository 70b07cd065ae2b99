"""A tree of cliques and its layout, against what sets and NumPy's own indexing say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._inference.clique_tree import make_tree, shape_tree
from bayeskit._inference.kernels.tree_layout import (
    BLOCK,
    CELLS,
    CHILD,
    EACH,
    MAP,
    PARENT,
    PARENT_CLIQUE,
    RUN,
    RUNS,
    SEPARATOR,
    WALKS,
)
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.triangulation import make_problem, triangulate
from engine_twin import cells_of, eliminate_by_sets, log_joint, neighbours, random_evidence, random_field
from network_twin import random_network


class Made:
    """A random field or network, some of it observed, and its tree with some variable on top."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        self.p = (
            random_field(rng, n=n, max_states=4, n_factors=int(rng.integers(0, 9)), most_scope=4)
            if seed % 2
            else Potentials.of(random_network(rng, n, 3, 4))
        )
        self.evidence = random_evidence(rng, self.p, 0.2)
        self.problem = make_problem(self.p, self.evidence.codes, None)
        self.triangulation = triangulate(self.problem)
        m = len(self.problem.sizes)
        self.root = int(rng.integers(-1, m)) if m else -1
        self.shape = shape_tree(self.problem, self.triangulation, self.root)
        self.tree = make_tree(self.shape)

    def axes(self, c):
        return self.tree.axes_of(c)

    def table_shape(self, c):
        return [int(self.problem.sizes[v]) for v in self.axes(c)]

    def separator(self, c):
        return self.axes(c)[: int(self.shape.separated[c])]


seeds = given(st.integers(0, 2**32 - 1))


@seeds
def test_cliques_are_the_maximal_ones(seed):
    made = Made(seed)
    steps = [frozenset(c) for c in eliminate_by_sets(neighbours(made.problem), made.triangulation.order)]
    maximal = {c for c in steps if not any(c < other for other in steps)}
    cliques = [frozenset(made.axes(c)) for c in range(made.shape.n_cliques)]
    assert len(cliques) == len(set(cliques)) and set(cliques) == maximal
    for v in range(len(made.problem.sizes)):
        assert steps[made.shape.when[v]] <= cliques[made.shape.owner[made.shape.when[v]]]


@seeds
def test_neighbours_share_what_they_have_in_common_and_nobody_is_cut_off(seed):
    """The running intersection: the cliques that hold a variable are connected, so they have one top."""
    made = Made(seed)
    shape = made.shape
    for c in range(shape.n_cliques):
        p = int(shape.parent[c])
        assert set(made.separator(c)) == (set(made.axes(c)) & set(made.axes(p)) if p >= 0 else set())
    for v in range(len(made.problem.sizes)):
        holding = [c for c in range(shape.n_cliques) if v in made.axes(c)]
        assert sum(v not in made.separator(c) for c in holding) == 1
    sequence = shape.sequence.tolist()
    assert sorted(sequence) == list(range(shape.n_cliques))
    for c in sequence:
        assert shape.parent[c] < 0 or sequence.index(int(shape.parent[c])) < sequence.index(c)
    assert made.tree.down.tolist() == [c for c in sequence if shape.parent[c] >= 0]
    assert made.tree.up.tolist() == made.tree.down.tolist()[::-1]
    assert made.tree.roots.tolist() == [c for c in sequence if shape.parent[c] < 0]
    assert [sorted(made.tree.children[c]) for c in range(shape.n_cliques)] == [
        [d for d in range(shape.n_cliques) if shape.parent[d] == c] for c in range(shape.n_cliques)
    ]


@seeds
def test_the_variable_asked_for_is_on_top(seed):
    made = Made(seed)
    if made.root >= 0:
        assert made.shape.parent[made.shape.owner[made.shape.when[made.root]]] == -1


@seeds
def test_every_factor_fits_its_clique(seed):
    made = Made(seed)
    for f in np.flatnonzero(made.problem.kept).tolist():
        free = [int(made.problem.place[v]) for v in made.p.scope_of(f) if made.problem.place[v] >= 0]
        free = [v for v in free if made.problem.sizes[v] > 1]
        if free:
            assert set(free) <= set(made.axes(int(made.shape.owner[made.shape.when[free].min()])))


@seeds
def test_separators_are_prefixes_in_the_order_of_the_parent(seed):
    made = Made(seed)
    for c in made.tree.down.tolist():
        of_parent = made.axes(int(made.shape.parent[c]))
        assert made.separator(c) == [v for v in of_parent if v in made.separator(c)]


@seeds
def test_tables_lie_side_by_side(seed):
    made = Made(seed)
    shape, edge = made.shape, made.shape.edge
    spans = []
    for c in range(shape.n_cliques):
        assert shape.table_cells[c] == cells_of(made.axes(c), made.problem.sizes)
        spans.append((int(shape.offset[c]), int(shape.table_cells[c])))
        if shape.parent[c] >= 0:
            assert edge[c, CELLS] == cells_of(made.separator(c), made.problem.sizes)
            assert edge[c, CELLS] * edge[c, EACH] == shape.table_cells[c]
            assert edge[c, CHILD] == shape.offset[c]
            assert edge[c, PARENT_CLIQUE] == shape.parent[c]
            assert edge[c, PARENT] == shape.offset[shape.parent[c]]
            spans.append((int(edge[c, SEPARATOR]), int(edge[c, CELLS])))
    at = 0
    for start, cells in sorted(spans):
        assert start == at
        at += cells
    assert at == shape.cells
    assert shape.widest == max([1, *(int(edge[c, CELLS]) for c in made.tree.down)])


@seeds
def test_maps_are_numpy_s_own_indices(seed):
    """For every cell of the parent the cell of the separator, counted from the run and block of the record."""
    made = Made(seed)
    for c in made.tree.down.tolist():
        record = made.shape.edge[c]
        of_parent, between = made.axes(int(made.shape.parent[c])), made.separator(c)
        cells = np.arange(record[CELLS]).reshape([int(made.problem.sizes[v]) for v in between])
        seen = cells.reshape([int(made.problem.sizes[v]) if v in between else 1 for v in of_parent])
        wanted = np.broadcast_to(seen, made.table_shape(int(made.shape.parent[c]))).ravel()
        begins = made.tree.maps[record[MAP] : record[MAP] + record[RUNS]]
        block, run = int(record[BLOCK]), int(record[RUN])
        walk = np.tile(np.arange(run), block) if record[WALKS] else np.repeat(np.arange(block), run)
        assert (begins[:, None] + walk).ravel().tolist() == wanted.tolist()
    entries = sum(int(made.shape.edge[c, RUNS]) for c in made.tree.down)
    assert len(made.tree.maps) == made.shape.entries == entries


@seeds
def test_variables_sit_and_are_read_where_tables_are_smallest(seed):
    made = Made(seed)
    shape, tree, sizes = made.shape, made.tree, made.problem.sizes
    tables = {int(shape.offset[c]): made.axes(c) for c in range(shape.n_cliques)}
    between = {int(shape.edge[c, SEPARATOR]): made.separator(c) for c in tree.down.tolist()}
    for v in range(len(sizes)):
        for records, places in ((tree.seat, tables), (tree.home, {**tables, **between})):
            start, cells, stride, size = records[v].tolist()
            axes = places[start]
            assert v in axes and size == sizes[v] and cells == cells_of(axes, sizes)
            assert stride == cells_of(axes[axes.index(v) + 1 :], sizes)
            assert cells == min(cells_of(other, sizes) for other in places.values() if v in other)
        assert made.axes(int(tree.seat_clique[v])) == tables[int(tree.seat[v, 0])]
        top = int(shape.owner[shape.when[v]])
        start, cells, stride, size = tree.root_place(v).tolist()
        assert tables[start] == made.axes(top) and size == sizes[v]
    assert tree.start.tolist() == [int(sizes[:v].sum()) for v in range(len(sizes) + 1)]


@seeds
def test_filled_tables_multiply_to_the_whole(seed):
    """The product of the cliques' tables and of what was taken out is the product of the factors, observed."""
    made = Made(seed)
    tables, bound, taken = made.tree.tables(made.p, made.evidence.codes)
    sliced = log_joint(made.p)[tuple(slice(None) if c < 0 else c for c in made.evidence.codes.tolist())]
    total = np.full(sliced.shape, taken)
    m = len(made.problem.sizes)
    for c in range(made.shape.n_cliques):
        axes, start = made.axes(c), int(made.shape.offset[c])
        table = tables[start : start + int(made.shape.table_cells[c])]
        assert table.max() <= 1 + 1e-12 and table.min() >= np.exp(bound[c]) * (1 - 1e-9)
        turned = np.log(table.reshape(made.table_shape(c))).transpose(np.argsort(axes))
        total = total + turned.reshape([sliced.shape[v] if v in axes else 1 for v in range(m)])
    assert total == pytest.approx(sliced, abs=1e-11)


def test_what_keeping_a_tree_costs_is_counted():
    made = Made(3)
    arrays = [*vars(made.shape).values(), *vars(made.problem).values(), *vars(made.tree).values()]
    assert made.tree.nbytes == sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))
    assert made.tree.maps.nbytes == made.shape.bytes_of_maps


def test_nothing_has_an_empty_tree():
    p = Potentials.laid_out([], [], [], [], ())
    problem = make_problem(p, Evidence.nothing(0).codes, None)
    tree = make_tree(shape_tree(problem, triangulate(problem)))
    assert tree.shape.n_cliques == tree.shape.cells == tree.n_marginals == 0
