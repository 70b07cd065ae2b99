"""Methods of other libraries, typed out of habit, are answered with what they are called here."""

import copy
import pickle

import pytest

from bayeskit import BayesianNetwork, MarkovNetwork, set_language
from bayeskit._networks.arguments import NAMES
from bayeskit.networks import wet_grass


class Raising(BayesianNetwork):
    @property
    def value(self):
        raise AttributeError("told by the property")


def test_every_name_is_another_and_leads_to_a_method():
    for name, here in NAMES.items():
        assert not hasattr(BayesianNetwork, name)
        assert all(callable(getattr(BayesianNetwork, each)) or each in dir(BayesianNetwork) for each in here)


@pytest.mark.parametrize(("name", "here"), [("add_edge", "add_arc"), ("map_query", "mpe"), ("edges", "arcs")])
def test_the_error_says_what_it_is_called_here(name, here):
    for lang in ("en", "zh"):
        set_language(lang)
        try:
            with pytest.raises(AttributeError) as caught:
                getattr(wet_grass(), name)
        finally:
            set_language(None)
        assert name in str(caught.value) and here in str(caught.value)


def test_other_names_and_other_networks_are_ordinary_errors():
    markov = MarkovNetwork({"a": ["x", "y"]}, [(["a"], [1, 3])])
    for network, name in ((wet_grass(), "nothing_like_it"), (markov, "add_cpds"), (markov, "__nothing__")):
        assert not hasattr(network, name)
        with pytest.raises(AttributeError) as caught:
            getattr(network, name)
        assert "set_cpt" not in str(caught.value)


def test_copies_pickles_and_errors_of_properties_are_as_before():
    network = wet_grass()
    assert pickle.loads(pickle.dumps(network)) == network == copy.deepcopy(network)
    with pytest.raises(AttributeError) as caught:
        _ = Raising({"a": []}).value
    assert str(caught.value) == "told by the property"
