"""forget: take rows away from a saved model, exactly as if it had never seen them."""

from __future__ import annotations

from bayeskit.cli.commands.update import ChangedModel, MaybeElsewhere, change
from bayeskit.cli.options import Common, Data, Reading


def forget(
    model: ChangedModel, data: Data, reading: Reading, common: Common, output: MaybeElsewhere = None
) -> None:
    """Take the rows of a table away from a saved model.

    Rows that cannot have been learned, because some count would fall below zero, are refused.
    """
    change("forget", model, data, reading, common, output)
