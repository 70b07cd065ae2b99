"""What methods of other libraries are called here, for those who type them out of habit."""

from __future__ import annotations

from typing import Any, NoReturn

from bayeskit._messages import Joined, Message

# Name in pgmpy, pyAgrum, bnlearn or networkx → what answers it here.
NAMES: dict[str, tuple[str, ...]] = {
    "H": ("entropy",),
    "I": ("mutual_information",),
    "active_trail_nodes": ("why_independent",),
    "add": ("add_node",),
    "addArc": ("add_arc",),
    "addEvidence": ("query",),
    "add_cpds": ("set_cpt",),
    "add_edge": ("add_arc",),
    "add_edges_from": ("add_arc",),
    "add_nodes_from": ("add_node",),
    "argmaxPosterior": ("map",),
    "causalImpact": ("effect",),
    "cpds": ("cpt",),
    "dim": ("n_parameters",),
    "edges": ("arcs",),
    "erase": ("remove_node",),
    "eraseArc": ("remove_arc",),
    "evidenceProbability": ("log_probability",),
    "fit_update": ("partial_fit",),
    "forward_sample": ("sample",),
    "generateSample": ("sample",),
    "get_all_backdoor_adjustment_sets": ("adjustment_sets",),
    "get_all_frontdoor_adjustment_sets": ("front_door_sets",),
    "get_ancestors": ("ancestors",),
    "get_cardinality": ("states",),
    "get_children": ("children",),
    "get_cpds": ("cpt",),
    "get_descendants": ("descendants",),
    "get_independencies": ("independent", "why_independent"),
    "get_markov_blanket": ("markov_blanket",),
    "get_parents": ("parents",),
    "get_state_probability": ("log_probability",),
    "isIndependent": ("independent",),
    "is_dconnected": ("independent",),
    "local_independencies": ("independent", "why_independent"),
    "makeInference": ("query", "posteriors"),
    "map_query": ("map", "mpe"),
    "markovBlanket": ("markov_blanket",),
    "max_marginal": ("map",),
    "moralGraph": ("moral_graph",),
    "moralize": ("moral_graph",),
    "names": ("nodes",),
    "posterior": ("query", "posteriors"),
    "predict_probability": ("predict_proba",),
    "remove_edge": ("remove_arc",),
    "save": ("write",),
    "saveBIF": ("write",),
    "setEvidence": ("query",),
    "simulate": ("sample",),
    "to_pdag": ("cpdag",),
    "variable": ("states",),
}


def refuse_attribute(owner: object, name: str) -> NoReturn:
    """Raise the error for an attribute that is not there, with what it is called here."""
    if hasattr(type(owner), name):
        object.__getattribute__(owner, name)  # a property that raised this error itself raises it again
    kind = type(owner).__name__
    here = [each for each in NAMES.get(name, ()) if hasattr(type(owner), each)]
    message: Any = Message("{kind!r} object has no attribute {name!r}", kind=kind, name=name)
    if here:
        message = Message(
            "{kind!r} object has no attribute {name!r}. Here it is called {here}.",
            kind=kind,
            name=name,
            here=Joined(here, " or "),
        )
    raise AttributeError(str(message), name=name, obj=owner)
