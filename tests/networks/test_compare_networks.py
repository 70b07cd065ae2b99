"""Two networks compared: arithmetic by hand, laws over all small graphs, tables and pictures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import BayesianNetwork, learn_network
from bayeskit._graphs.dag import Dag
from bayeskit._report.network_comparison import compare_graphs, comparison_scene
from bayeskit._report.scene import Line, Rectangle
from bayeskit.errors import DataTypeError, Incompatible, SettingError
from bayeskit.networks import compare_networks, cpdag, plot_comparison, score, shd, wet_grass
from graph_twin import all_dags, dags
from refusals import refuses

SVG = "{http://www.w3.org/2000/svg}"

TRUTH = BayesianNetwork([("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")])
LEARNED = BayesianNetwork([("a", "c"), ("c", "b"), ("c", "d"), ("a", "e")])


def test_worked_by_hand() -> None:
    """Truth: a → c ← b is compelled, and so is c → d → e. Learned: no v-structure, so no arc has a direction."""
    found = compare_networks(LEARNED, TRUTH)
    assert (found.skeleton.found, found.skeleton.expected, found.skeleton.shared) == (4, 4, 3)
    assert found.skeleton.precision == found.skeleton.recall == found.skeleton.f1 == 0.75
    assert (found.arcs.shared, found.arcs.precision, found.arcs.f1) == (0, 0.0, 0.0)
    assert found.dag_arcs is not None
    assert (found.dag_arcs.shared, found.dag_arcs.precision) == (2, 0.5)  # a → c and c → d
    assert (found.missing, found.extra) == ((("d", "e"),), (("a", "e"),))
    assert set(found.turned) == {("a", "c"), ("c", "b"), ("c", "d")}
    assert (found.shd, found.dag_shd) == (5, 3)


def test_a_network_and_itself() -> None:
    same = compare_networks(TRUTH, TRUTH)
    assert (same.shd, same.dag_shd) == (0, 0)
    assert same.missing == same.extra == same.turned == ()
    for agreement in (same.skeleton, same.arcs, same.dag_arcs):
        assert agreement is not None
        assert agreement.precision == agreement.recall == agreement.f1 == 1.0


def test_no_arcs_at_all() -> None:
    empty = BayesianNetwork({node: [] for node in "abcde"})
    found = compare_networks(empty, TRUTH)
    assert (found.skeleton.precision, found.skeleton.recall, found.skeleton.f1) == (1.0, 0.0, 0.0)
    assert compare_networks(empty, empty).arcs.f1 == 1.0


def test_laws_over_all_pairs_of_small_graphs() -> None:
    graphs = [*all_dags(3)]
    for one, other in product(graphs, graphs):
        there, back = compare_graphs(one, other), compare_graphs(other, one)
        assert there.shd == shd(one, other) == len(there.missing) + len(there.extra) + len(there.turned)
        assert there.dag_arcs is not None and there.dag_shd == shd(one, other, dag=True)
        neighbours = [{frozenset(arc) for arc in graph.arcs} for graph in (one, other)]
        assert there.skeleton.shared == len(neighbours[0] & neighbours[1])
        assert there.dag_arcs.shared == len(set(one.arcs) & set(other.arcs))
        for mine, its in ((there.skeleton, back.skeleton), (there.arcs, back.arcs)):
            assert (mine.precision, mine.recall, mine.f1) == (its.recall, its.precision, its.f1)
        assert there.arcs.shared <= there.skeleton.shared
        if there.shd == 0:
            assert cpdag(one) == cpdag(other)


def test_classes_are_compared_without_directions_of_their_own() -> None:
    found = compare_networks(cpdag(LEARNED), TRUTH)
    assert found.dag_arcs is None and found.dag_shd is None
    assert found.shd == 5
    assert "as directed" not in str(found)


def test_scores_are_those_of_each_graph() -> None:
    truth = wet_grass()
    rows = truth.sample(1_000, random_state=1)
    learned = learn_network(rows, method="hill-climbing")
    found = compare_networks(learned, truth, rows)
    assert list(found.scores) == ["loglik", "aic", "bic", "bdeu"]
    for name, (mine, true) in found.scores.items():
        assert mine == pytest.approx(score(learned, rows, name), rel=1e-12)
        assert true == pytest.approx(score(truth, rows, name), rel=1e-12)
        assert found.score_differences[name] == mine - true
    numbers = {"p": [0.1, 1.2, 2.0, 3.3, 4.1, 4.9], "q": [0.0, 1.0, 2.1, 3.0, 4.0, 5.2]}
    gaussian = compare_networks(BayesianNetwork([("p", "q")]), BayesianNetwork({"p": [], "q": []}), numbers)
    assert list(gaussian.scores) == ["loglik", "aic", "bic"]
    assert gaussian.score_differences["bic"] > 0
    declared = compare_networks(learned, truth, rows, states={"rain": ["no", "yes", "snow"]})
    assert declared.scores["bic"][1] < found.scores["bic"][1]


def test_text_and_page() -> None:
    text = str(compare_networks(LEARNED, TRUTH))
    line = next(line for line in text.splitlines() if line.startswith("neighbours"))
    assert line.split() == ["neighbours", "4", "4", "3", "0.750", "0.750", "0.750"]
    assert re.search(r"SHD of the classes +5\n", text)
    assert "Scores" not in text
    odd = BayesianNetwork([("<b>", "c")])
    page = compare_networks(odd, odd, {"<b>": ["u", "v"], "c": ["u", "v"]})._repr_html_()
    ET.fromstring(f"<div>{page}</div>")
    assert page.count("<table>") == 2 and "<th>bic</th>" in page


def test_what_cannot_be_compared() -> None:
    with refuses(Incompatible, "e", "graph"):
        compare_networks(BayesianNetwork([("a", "c"), ("b", "c"), ("c", "d")]), TRUTH)
    with refuses(DataTypeError, "str", "BayesianNetwork"):
        compare_networks("a → b", TRUTH)
    with refuses(DataTypeError, "class", "Dags"):
        compare_networks(cpdag(TRUTH), TRUTH, {"a": ["u"]})
    with refuses(DataTypeError, "class", "Dags"):
        plot_comparison(cpdag(TRUTH), TRUTH)
    with pytest.raises(Incompatible):
        plot_comparison(BayesianNetwork([("a", "b")]), TRUTH)
    with refuses(SettingError, "titles", "both", "('learned', 'true')"):
        plot_comparison(LEARNED, TRUTH, titles="both")


@settings(max_examples=60)
@given(
    dags(least=1, most=6).flatmap(lambda d: st.tuples(st.just(d), dags(len(d.nodes), len(d.nodes)))),
    st.booleans(),
)
def test_arrows_lead_from_box_to_box_in_both_panels(graphs: tuple[Dag, Dag], as_directed: bool) -> None:
    scene = comparison_scene(*graphs, as_directed=as_directed)
    boxes = [g for g in scene.groups if isinstance(g.marks[0], Rectangle)]
    n = len(graphs[0].nodes)
    assert len(boxes) == 2 * n
    panels = [{g.title: g.marks[0] for g in boxes[:n]}, {g.title: g.marks[0] for g in boxes[n:]}]
    shift = {panels[1][name].x - panels[0][name].x for name in panels[0]}
    assert max(shift) - min(shift) < 1e-6  # every node in the same place
    assert all(panels[1][name].y == panels[0][name].y for name in panels[0])
    arrows = [g for g in scene.groups if " → " in g.title]
    assert len(arrows) == sum(len(graph.arcs) for graph in graphs)
    drawn = iter(arrows)
    for graph, panel in zip(graphs, panels, strict=True):
        for parent, child in graph.arcs:
            group = next(drawn)
            assert group.title.startswith(f"{parent} → {child} (")
            line, head = group.marks
            assert isinstance(line, Line) and isinstance(head, Line)
            for (x, y), box in (
                (head.steps[0][1][0], panel[str(child)]),
                (line.steps[0][1][0], panel[str(parent)]),
            ):
                assert box.x <= x <= box.x + box.width
                assert min(abs(y - box.y), abs(y - box.y - box.height)) < 1e-6
    distance = shd(*graphs, dag=as_directed)
    coloured = [g.marks[0].style for g in arrows]
    assert distance == (
        coloured.count("arc-extra") + coloured.count("arc-missing") + coloured.count("arc-turned") / 2
    )
    for group in scene.groups:  # nothing leaves the page
        for mark in group.marks:
            points = [p for _, at in mark.steps for p in at] if isinstance(mark, Line) else [(mark.x, mark.y)]
            assert all(0 <= x <= scene.width and 0 <= y <= scene.height for x, y in points)


def test_the_picture(tmp_path: Path) -> None:
    picture = plot_comparison(LEARNED, TRUTH, path=tmp_path / "two.svg")
    assert (tmp_path / "two.svg").read_text(encoding="utf-8") == str(picture)
    root = ET.fromstring(str(picture))
    styles = [path.get("class") for path in root.iter(f"{SVG}path")]
    assert [styles.count(f"head-{kind}") for kind in ("extra", "missing", "turned")] == [1, 1, 6]
    assert picture.scene.title == "learned and true: 0 arcs in both, 1 extra, 1 missing, 3 directions differ"
    assert picture.scene.description.startswith("Extra: a → e. Missing: d → e. Turned: ")
    sheet = root.find(f"{SVG}style")
    assert sheet is not None and sheet.text is not None
    for style in {s for s in styles if s}:
        assert sheet.text.count(f".{style}{{") == 2  # light and dark
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"learned", "true", "in both", "direction differs"} <= set(words)
    assert "1 directions differ" in plot_comparison(LEARNED, TRUTH, dag=True).scene.title
    with refuses(SettingError, "two.png"):
        picture.save(tmp_path / "two.png")


def test_the_picture_of_a_plain_network_is_as_before() -> None:
    before = str(TRUTH.plot())
    plot_comparison(LEARNED, TRUTH)
    assert str(TRUTH.plot()) == before and "arc-extra" not in before
