"""warmup: compile the kernels now, so that the next command need not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bayeskit._cli.options import Common
from bayeskit._messages import WordList

WORDS = WordList(
    {
        "step": "{name}: {seconds:.1f} s",
        "done": "All loops are compiled ({seconds:.1f} s of CPU time) and kept in {folder}.",
    }
)


def warmup(common: Common) -> None:
    """Compile all loops now, and keep them for later processes."""
    import time

    from bayeskit._cli.commands.doctor import cache_folder
    from bayeskit._cli.output import note, print_json, show
    from bayeskit._numba import compiling

    took: dict[str, float] = {}
    for name, run in steps():
        begin = time.process_time()
        with compiling():
            run()
        took[name] = time.process_time() - begin
        note(common.say(WORDS["step"], name=name, seconds=took[name]))
    total, folder = sum(took.values()), str(cache_folder())
    if common.as_json:
        print_json({"cpu_seconds": total, "steps": took, "cache": folder})
    else:
        show(common.say(WORDS["done"], seconds=total, folder=folder))


def steps() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield tasks that use the kernels: every model on a small table, and queries to a network."""
    from bayeskit import datasets, learn_network
    from bayeskit._comparison.candidates import MODELS, make_model
    from bayeskit._networks.examples import wet_grass

    table = datasets.load_dataset("melon3")
    columns = {name: table.columns[name] for name in table.attributes}

    def model(name: str) -> None:
        # No column of the table looks like free text, so name one.
        settings: dict[str, Any] = {"text": table.attributes[0]} if name == "text" else {}
        fitted = make_model(name, settings).fit({**columns, table.target: table.y}, target=table.target)
        fitted.predict_proba(columns)
        fitted.explain({name: column[0] for name, column in columns.items()})
        if name != "net":
            fitted.partial_fit({**columns, table.target: table.y}, target=table.target)
            fitted.forget({**columns, table.target: table.y}, target=table.target)
            fitted.predict(columns)

    def network() -> None:
        grass = wet_grass()
        seen: dict[Any, Any] = {"wet": "yes"}
        grass.query("rain", evidence=seen)
        grass.posteriors(seen)
        grass.mpe(seen)
        rows = grass.sample(200, random_state=0, evidence=seen, as_codes=True)
        grass.predict_proba(rows, "rain")
        learn_network({name: rows[:, j].astype(str) for j, name in enumerate(grass.nodes)})

    for name in MODELS:
        yield name, partial(model, name)
    yield "network", network
