"""network mpe: the most probable states of all nodes together."""

from __future__ import annotations

from bayeskit.cli.options import Common, Given, NetworkFile

WORDS = {
    "node": ("node", "结点"),
    "state": ("most probable", "最可能取值"),
    "observed": ("observed", "观测"),
    "probability": ("Probability of all this together: {p}", "以上全部成立的概率：{p}"),
}


def mpe(net: NetworkFile, common: Common, given: Given = None) -> None:
    """Find the most probable states of all nodes together, given what was observed."""
    from bayeskit.cli.evidence import open_network, read_given
    from bayeskit.cli.output import console, print_json, show, table
    from bayeskit.report.fractions import magnitude
    from bayeskit.visible import plain

    network = open_network(net)
    evidence = read_given(network, given)
    best = network.mpe(evidence)
    if common.as_json:
        states = {str(name): plain(state) for name, state in best.items()}
        print_json({"given": list(given or ()), "states": states, "log_probability": best.log_probability})
        return
    mark = common.say(WORDS["observed"])
    rows = [(str(name), str(state), mark if name in evidence else "") for name, state in best.items()]
    console().print(table([common.say(WORDS["node"]), common.say(WORDS["state"]), ""], rows, 3))
    show(common.say(WORDS["probability"], p=magnitude(best.log_probability)))
