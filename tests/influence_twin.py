"""Influence diagrams by enumeration, slow and obvious; and random ones to try it on."""

from __future__ import annotations

from itertools import product

import numpy as np

from bayeskit._graphs.dag import ancestors
from bayeskit._graphs.network import Diagram, Utility
from bayeskit.errors import UnorderedDecisions
from network_twin import random_network


def spread(values, scope, sizes):
    """Return a table with an axis for every variable, in long double."""
    order = np.argsort(scope)
    table = np.asarray(values, np.longdouble).transpose(order)
    return table.reshape([sizes[v] if v in scope else 1 for v in range(len(sizes))])


def chances(diagram, tables=None):
    """Return P(chance nodes | decisions), an axis for each node; ``tables``: other tables of some chance nodes."""
    network, place = diagram.network, diagram.network.dag.position
    sizes = network.sizes_of(network.dag.nodes)
    joint = np.ones(sizes, np.longdouble)
    for node in network.nodes:
        if node.name not in diagram.decisions:
            scope = [*(place[p] for p in node.parents), place[node.name]]
            table = (tables or {}).get(node.name)
            joint = joint * spread(node.distribution.table() if table is None else table, scope, sizes)
    return joint


def gains(diagram):
    """Return the sum of the utilities, an axis for each node."""
    network, place = diagram.network, diagram.network.dag.position
    sizes = network.sizes_of(network.dag.nodes)
    total = np.zeros(sizes, np.longdouble)
    for utility in diagram.utilities:
        total = total + spread(utility.values, [place[p] for p in utility.parents], sizes)
    return total


def enumerated(diagram, evidence=None, tables=None):
    """Return the largest expected utility and P(evidence), by sums and maxima over the whole table in time order.

    ``evidence``: {node: code}, nothing in it depends on an open decision.
    """
    network, place = diagram.network, diagram.network.dag.position
    evidence = evidence or {}
    joint, total = chances(diagram, tables), gains(diagram)
    cut = tuple(evidence.get(name, slice(None)) for name in network.dag.nodes)
    free = [place[name] for name in network.dag.nodes if name not in evidence]
    joint, weighted = joint[cut], (joint * total)[cut]
    axes = list(free)

    def drop(variables, how):
        nonlocal weighted
        for v in variables:
            weighted = how(weighted, axis=axes.index(v))
            axes.remove(v)

    left = set(free)
    for decision in reversed(diagram.order):
        if decision in evidence:
            continue
        past = {place[name] for name in diagram.past(decision)}
        drop([v for v in left if v not in past and v != place[decision]], np.sum)
        drop([place[decision]], np.max)
        left &= past
    drop(sorted(left), np.sum)
    # The evidence does not depend on open decisions: any choice of them gives its probability.
    first = tuple(0 if network.dag.nodes[v] in diagram.decisions else slice(None) for v in free)
    p = joint[first].sum()
    return (weighted / p if p > 0 else np.longdouble(0)), p


def value_of(diagram, policies, tables=None):
    """Return the expected utility of policies: {decision: (observed nodes, array of codes)}."""
    network, place = diagram.network, diagram.network.dag.position
    sizes = network.sizes_of(network.dag.nodes)
    joint = chances(diagram, tables)
    for decision, (given, choice) in policies.items():
        table = np.eye(sizes[place[decision]])[choice]
        joint = joint * spread(table, [*(place[name] for name in given), place[decision]], sizes)
    return (joint * gains(diagram)).sum()


def best_of_all_policies(diagram, most=20_000):
    """Return the largest expected utility over every policy of every decision, one by one; None if too many."""
    network = diagram.network
    spaces, n = [], 1
    for decision in diagram.order:
        past = diagram.past(decision)
        shape = network.sizes_of(past)
        size = network[decision].variable.size
        n *= size ** int(np.prod(shape))
        spaces.append((decision, past, shape, size))
        if n > most:
            return None
    every = [product(range(size), repeat=int(np.prod(shape))) for _, _, shape, size in spaces]
    best = None
    for chosen in product(*map(list, every)):
        policies = {
            decision: (past, np.reshape(codes, shape).astype(np.int64))
            for (decision, past, shape, _), codes in zip(spaces, chosen, strict=True)
        }
        value = value_of(diagram, policies)
        best = value if best is None or value > best else best
    return best


def random_diagram(rng, n_nodes=6, n_decisions=2, n_utilities=2, max_states=3, zeros=0.0):
    """Return a random diagram whose decisions have an order; zeros, one-state nodes and unused nodes occur."""
    while True:
        network = random_network(rng, n_nodes, 3, max_states, zeros)
        names = list(network.dag.nodes)
        chosen = [str(name) for name in rng.choice(names, n_decisions, replace=False)]
        nodes = []
        for node in network.nodes:
            if node.name not in chosen:
                nodes.append(node)
                continue
            earlier = [d for d in chosen if d in ancestors(network.dag, node.name)]
            seen = dict.fromkeys([*node.parents, *rng.permutation(earlier).tolist()])
            nodes.append(type(node)(node.variable, tuple(seen)))
        utilities = []
        for k in range(n_utilities):
            scope = [
                str(x) for x in rng.choice(names, int(rng.integers(0, min(4, n_nodes + 1))), replace=False)
            ]
            shape = [network[name].variable.size for name in scope]
            utilities.append(Utility(f"u{k}", tuple(scope), rng.normal(0, 10, shape)))
        try:
            return Diagram(type(network)(tuple(nodes)), tuple(chosen), tuple(utilities))
        except UnorderedDecisions:
            continue


def random_evidence(rng, diagram):
    """Return codes of some nodes, none of which depends on an open decision."""
    dag, network = diagram.network.dag, diagram.network
    made = [d for d in diagram.order if rng.random() < 0.3]
    opened = {d for d in diagram.order if d not in made}
    allowed = [n for n in dag.nodes if n not in opened and not opened & set(ancestors_of(diagram, n, made))]
    allowed = [n for n in allowed if n in made or rng.random() < 0.3]
    return {n: int(rng.integers(network[n].variable.size)) for n in allowed}


def ancestors_of(diagram, name, made):
    """Return the ancestors of a node when the arcs into made decisions are cut."""
    found, waiting = set(), [name]
    while waiting:
        node = waiting.pop()
        for parent in () if node in made else diagram.network[node].parents:
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found
