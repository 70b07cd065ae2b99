"""network explain: explain a posterior of a network step by step, or rank what to observe next."""

from __future__ import annotations

from typing import Annotated

import typer

from bayeskit._cli.completion import nodes
from bayeskit._cli.options import Common, Given, Loss, MaybeOutput, NetworkFile
from bayeskit._cli.page_files import Ask, Cost, Form, FormOption


def explain(
    net: NetworkFile,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", autocompletion=nodes, help="The node to ask for.")
    ],
    common: Common,
    given: Given = None,
    ask: Ask = False,
    cost: Cost = None,
    loss: Loss = None,
    form: FormOption = Form.text,
    output: MaybeOutput = None,
) -> None:
    """Show how the probabilities of a node come about.

    The factors that take part, the sums one after the other, the normaliser: exact, in fractions.

    --ask lists instead which node is most worth observing next, in bits or, with --loss, in what it saves.
    """
    from bayeskit._cli.page_files import read_prices, refuse_strays, write_page
    from bayeskit._cli.saved_models import variables_of
    from bayeskit._cli.table_rows import read_losses
    from bayeskit._cli.typed_values import named, open_network, read_given
    from bayeskit.errors import UsageError

    form = Form.json if common.as_json else form
    refuse_strays(ask, form, cost)
    if loss is not None and not ask:
        raise UsageError("--loss is for --ask only. Add --ask, or leave it out.")
    network = open_network(net)
    name, evidence, lang = named(network, target), read_given(network, given), common.lang.value
    if not ask:
        page = network.explain(name, evidence, lang=lang)
        write_page(page, f"P({name})", form, output)
        return
    variables = variables_of(network)
    prices = {variables[node].name: price for node, price in read_prices(cost, variables).items()}
    costs = None if loss is None else read_losses(loss, variables[target].states)
    questions = network.ask_next(name, evidence, costs=prices, loss=costs, lang=lang)
    write_page(questions, questions.page().title, form, output)
