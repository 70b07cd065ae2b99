"""A file's tables together: as many cells as its bytes allow, refused before anything is allocated."""

from __future__ import annotations

import gzip
import json
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import read_network
from bayeskit._io.networks import assembly as module
from bayeskit._io.networks.assembly import Budget
from bayeskit._io.networks.registry import FORMATS, read_model
from bayeskit.errors import ModelFormatError, SettingError
from bayeskit.networks import Deterministic
from format_networks import GOLDEN
from refusals import refuses

MIB = 2**20


def bif_bomb(n_nodes=12, n_parents=25):
    """A few kB whose default rows stand for ``n_nodes`` tables of 2^(n_parents + 1) cells."""
    names = [f"p{k}" for k in range(n_parents)]
    nodes = [f"n{k}" for k in range(n_nodes)]
    lines = ["network n { }", *(f"variable {v} {{ type discrete [2] {{ s, t }}; }}" for v in names + nodes)]
    lines += [f"probability ({v}) {{ table .5, .5; }}" for v in names]
    lines += [f"probability ({v} | {', '.join(names)}) {{ default .5, .5; }}" for v in nodes]
    return "\n".join(lines) + "\n"


def dsc_bomb():
    names = [f"p{k}" for k in range(21)]
    nodes = [f"n{k}" for k in range(12)]
    lines = [
        'belief network "n"',
        *(f'node {v} {{ type: discrete[2] = {{ "s", "t" }}; }}' for v in names + nodes),
    ]
    lines += [f"probability({v}) {{ .5, .5; }}" for v in names]
    lines += [f"probability({v} | {', '.join(names)}) {{ default: .5, .5; }}" for v in nodes]
    return "\n".join(lines) + "\n"


def fg_bomb():
    """Factors over 23 binary variables, one cell of each named."""
    factor = f"23\n{' '.join(map(str, range(23)))}\n{'2 ' * 23}\n1\n0 1\n"
    return "12\n\n" + "\n".join([factor] * 12)


def net_bomb(size=1_500):
    """For each state of d v has a coefficient of every continuous parent, named or not: the square of what is said."""
    names = [f"x{k}" for k in range(size)]
    states = " ".join(f'"{k}"' for k in range(size))
    lines = [
        "net { }",
        f"node d {{ states = ({states}); }}",
        *(f"continuous node {v} {{ }}" for v in [*names, "v"]),
    ]
    lines += [f"potential (d) {{ data = ({f'{1 / size} ' * size}); }}"]
    lines += [f"potential ({v}) {{ data = normal (0, 1); }}" for v in names]
    lines += [f"potential (v | d {' '.join(names)}) {{ data = ({'normal (0, 1) ' * size}); }}"]
    return "\n".join(lines) + "\n"


BOMBS = {
    "n.bif": (bif_bomb(), "n0"),
    "slow.bif": (bif_bomb(n_nodes=40, n_parents=17), "n15"),
    "n.dsc": (dsc_bomb(), "n0"),
    "n.fg": (fg_bomb(), "factor 0"),
}


def peak(call):
    """Return what a call returns or raises, and the most memory that was held meanwhile."""
    read_network(GOLDEN / "asia.bif")  # what is imported at the first call is not counted
    tracemalloc.start()
    try:
        found = call()
    except ModelFormatError as error:
        found = error
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found, most


@pytest.mark.parametrize("name", BOMBS)
def test_a_few_words_do_not_fill_the_memory(name, tmp_path):
    text, node = BOMBS[name]
    path = tmp_path / name
    path.write_text(text)
    error, most = peak(lambda: read_network(path))
    assert isinstance(error, ModelFormatError), error
    allowed = max(2**22, 64 * len(text))
    assert str(allowed) in error.what and node in error.what and "max_memory=" in error.what
    assert error.path == path and error.line is not None and error.column is not None
    # Of the tables only those that were allowed are made; a text of a few kB takes little itself.
    assert most < (2 * 8 * allowed if name == "slow.bif" else 2 * MIB)


def test_coefficients_that_a_file_does_not_write_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CELLS_A_BYTE", 4)
    monkeypatch.setattr(module, "LEAST_CELLS", 2**10)
    path = tmp_path / "n.net"
    path.write_text(net_bomb())
    error, most = peak(lambda: read_network(path))
    assert isinstance(error, ModelFormatError) and error.line is not None
    assert "'v'" in error.what and str(1_500 * 1_502) in error.what
    assert most < 8 * 1_500**2


@pytest.mark.parametrize("name", BOMBS)
def test_packing_does_not_buy_cells(name, tmp_path):
    """A packed file has the cells of four times its bytes: padding packs 1:200, and honest text about 1:4."""
    text, _ = BOMBS[name]
    padding = "\n" * (180 * len(gzip.compress(text.encode())))
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress((text + padding).encode()))
    error, most = peak(lambda: read_model(path))
    assert isinstance(error, ModelFormatError)
    allowed = max(2**22, 64 * 4 * path.stat().st_size)
    assert str(allowed) in error.what
    assert most < 8 * allowed * 30


def test_a_noisy_node_of_many_states_needs_no_square_of_them():
    size = 5_000
    states = "".join(f'<state id="s{k}"/>' for k in range(size))
    row = " ".join(["0"] * (size - 1) + ["1"])
    text = (
        '<smile id="n"><nodes><cpt id="a"><state id="x"/><probabilities>1</probabilities></cpt>'
        f'<noisymax id="b">{states}<parents>a</parents><parameters>{row} {row}</parameters></noisymax>'
        "</nodes></smile>"
    )
    network, most = peak(lambda: FORMATS["xdsl"].read(text.encode(), "n.xdsl", False))
    assert network["b"].distribution.leak[-1] == 1.0
    assert most < 8 * size * size / 4
    table, most = peak(lambda: Deterministic(np.array([3, size - 1]), size).table())
    assert table.shape == (2, size) and np.array_equal(np.argwhere(table), [[0, 3], [1, size - 1]])
    assert most < 8 * size * size / 4


SPELLED_OUT = sorted(path.name for path in GOLDEN.iterdir() if path.suffix not in (".md",))


@pytest.mark.filterwarnings("ignore::bayeskit.errors.SourceNote")
@pytest.mark.parametrize("name", SPELLED_OUT)
def test_every_reader_asks_for_every_cell(name, monkeypatch):
    """All tables of a file are counted: with a byte less than they need it is refused, with no byte less it loads."""
    asked = []
    take = Budget.take
    monkeypatch.setattr(Budget, "take", lambda self, *rest: asked.append(self) or take(self, *rest))
    network = read_model(GOLDEN / name)
    total = asked[0].taken
    assert len(set(map(id, asked))) == 1 and total == sum(cells_of(network))
    read_model(GOLDEN / name, max_memory=8 * total)
    with refuses(ModelFormatError, total, f"max_memory={8 * total}") as caught:
        read_model(GOLDEN / name, max_memory=8 * total - 1)
    assert caught.value.path == GOLDEN / name
    assert caught.value.line is not None or name.endswith(".json")


def cells_of(network):
    """How many numbers the tables of a network hold."""
    if hasattr(network, "factors"):
        return [factor.values.size for factor in network.factors]
    kinds = [node.distribution for node in network.nodes]
    parts = [
        [d.values] if hasattr(d, "values") else [*d.causes, d.leak] if hasattr(d, "causes")
        else [d.outcome] if hasattr(d, "outcome") else [d.intercept, d.coefficients, d.variance]
        for d in kinds
    ]  # fmt: skip
    return [part.size for several in parts for part in several]


def test_max_memory_raises_the_limit_and_lowers_it(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LEAST_CELLS", 2**10)
    path = tmp_path / "n.bif"
    path.write_text(bif_bomb(1, 17))
    # 17 parents of two cells each, and a table of 2^18.
    needed = 8 * (2**18 + 2 * 17)
    with refuses(ModelFormatError, 64 * path.stat().st_size):
        read_network(path)
    with refuses(ModelFormatError, needed // 8):
        read_network(path, max_memory=needed - 1)
    for enough in (needed, math.inf, np.float64(2**40)):
        assert read_network(path, max_memory=enough).cpt("n0").values.shape == (2,) * 18
    for wrong in (0, -1, math.nan, "1 GiB", True):
        with refuses(SettingError, "max_memory", repr(wrong)):
            read_network(path, max_memory=wrong)


def test_a_packed_file_loads_as_it_does_unpacked(tmp_path):
    text = bif_bomb(1, 16).encode()
    for name, data in (("n.bif", text), ("n.bif.gz", gzip.compress(text))):
        (tmp_path / name).write_bytes(data)
    assert read_model(tmp_path / "n.bif.gz") == read_model(tmp_path / "n.bif")


@given(st.integers(0, 200), st.lists(st.lists(st.integers(1, 5), max_size=4), max_size=12))
def test_what_is_taken_never_exceeds_the_budget(cells, tables):
    budget = Budget(0, max_memory=8 * cells + 7)
    for number, sizes in enumerate(tables):
        before, size = budget.taken, math.prod(sizes)
        if before + size <= cells:
            assert budget.take(sizes, number) == size
            assert budget.taken == before + size
        else:
            with refuses(ModelFormatError, before + size, f"max_memory={8 * (before + size)}"):
                budget.take(sizes, number)
            assert budget.taken == before


def test_a_table_of_too_many_axes_is_refused_whatever_memory_there_is():
    with refuses(ModelFormatError, "a", 40, 32):
        Budget(10, max_memory=math.inf).take([1] * 40, "a")
    assert Budget(10).take([], "a") == 1


def test_a_number_of_cells_that_python_would_not_print_is_refused_as_any_other():
    with refuses(ModelFormatError, "a", "10^6021", 4_194_304) as caught:
        Budget(10).take([2] * 20_000, "a")
    assert "max_memory" not in str(caught.value)  # no memory would do


@pytest.mark.parametrize("form", ["bif", "net", "xmlbif", "xdsl", "deterministic", "dsl", "dsc", "json"])
def test_twenty_thousand_parents_are_refused(form):
    """In every format, with a table of two numbers for what would be 10^6021 cells."""
    names = [f"p{k}" for k in range(20_000)]
    with refuses(ModelFormatError, "z", "parents") as caught:
        FORMATS["xdsl" if form == "deterministic" else form].read(
            wide(form, names).encode(), "n", False, None
        )
    assert "10^602" in str(caught.value) and "max_memory" not in str(caught.value)


def wide(form, names):
    """A file with one child, z, of all these binary nodes."""
    if form == "bif":
        lines = [f"variable {v} {{ type discrete [2] {{ s, t }}; }}" for v in [*names, "z"]]
        return "\n".join(["network n { }", *lines, f"probability (z | {' '.join(names)}) {{ table .5 .5; }}"])
    if form == "dsc":
        lines = [f'node {v} {{ type: discrete[2] = {{ "s", "t" }}; }}' for v in [*names, "z"]]
        return "\n".join(
            ['belief network "n"', *lines, f"probability(z | {', '.join(names)}) {{ default: .5, .5; }}"]
        )
    if form == "net":
        lines = [f'node {v} {{ states = ("s" "t"); }}' for v in [*names, "z"]]
        lines += [f"potential ({v}) {{ data = (.5 .5); }}" for v in names]
        return "\n".join(["net { }", *lines, f"potential (z | {' '.join(names)}) {{ data = (.5 .5); }}"])
    if form == "dsl":
        table = "DEFINITION = { NAMESTATES = (s, t); PROBABILITIES = (.5, .5); };"
        lines = [f"node {v} {{ TYPE = CPT; PARENTS = (); {table} }};" for v in names]
        return "\n".join(
            ["net n {", *lines, f"node z {{ TYPE = CPT; PARENTS = ({' '.join(names)}); {table} }};", "};"]
        )
    if form == "xmlbif":
        outcomes = "<OUTCOME>s</OUTCOME><OUTCOME>t</OUTCOME>"
        lines = [f"<VARIABLE><NAME>{v}</NAME>{outcomes}</VARIABLE>" for v in [*names, "z"]]
        given = "".join(f"<GIVEN>{v}</GIVEN>" for v in names)
        lines += [f"<DEFINITION><FOR>z</FOR>{given}<TABLE>.5 .5</TABLE></DEFINITION>"]
        return "\n".join(["<BIF><NETWORK>", *lines, "</NETWORK></BIF>"])
    if form == "json":
        table = {"kind": "table", "rows": [[0.5, 0.5]]}
        nodes = [
            {"name": v, "states": ["s", "t"], "parents": [], "distribution": table} for v in [*names, "z"]
        ]
        nodes[-1]["parents"] = names
        return json.dumps(
            {"format": "bayeskit network", "version": 1, "kind": "bayesian", "name": "", "nodes": nodes}
        )
    states = '<state id="s"/><state id="t"/>'
    lines = [f'<cpt id="{v}">{states}<probabilities>.5 .5</probabilities></cpt>' for v in names]
    tag, inner = ("cpt", "probabilities") if form == "xdsl" else ("deterministic", "resultingstates")
    lines += [f'<{tag} id="z">{states}<parents>{" ".join(names)}</parents><{inner}>.5 .5</{inner}></{tag}>']
    return "\n".join(["<smile><nodes>", *lines, "</nodes></smile>"])
