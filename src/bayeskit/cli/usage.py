"""Arguments that cannot be understood: what Typer says of them, as templates and values.

Typer says it in finished sentences, and its releases use different ones. They are read back here, so that a catalogue
can be asked for them like for any message of our own.
"""

from __future__ import annotations

import re
from functools import cache

from bayeskit.messages import Joined, Message, fields_of

TEMPLATES = (
    "Missing argument {name}.",
    "Missing option {name}.",
    "Missing command.",
    "No such option: {name} (Possible options: {names}).",
    "No such option: {name} Did you mean {other}?",
    "No such option: {name}.",
    "No such option {name}. (Did you mean one of: {names}?).",
    "No such option {name}. Did you mean {other}?",
    "No such option {name}.",
    "No such command {name}. Did you mean {names}?",
    "No such command {name}.",
    "Option {name} requires an argument.",
    "Option {name} does not take a value.",
    "Got unexpected extra argument(s) ({extra}).",
    "Got unexpected extra argument ({extra}).",
    "Got unexpected extra arguments ({extra}).",
    "Invalid value for {name}: {value} is not one of {names}.",
    "Invalid value for {name}: Input should be a valid integer, unable to parse string as an integer.",
    "Invalid value for {name}: Input should be a valid number, unable to parse string as a number.",
    "Invalid value for {name}: Input should be greater than or equal to {least}.",
    "Invalid value for {name}: Input should be less than or equal to {most}.",
    "Invalid value for {name}: {value} is not a valid integer.",
    "Invalid value for {name}: {value} is not a valid integer range.",
    "Invalid value for {name}: {value} is not a valid float.",
    "Invalid value for {name}: {value} is not in the range {range}.",
)
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""


def read_usage(sentence: str) -> Message:
    """Return what Typer says as a message: a template and values, where it is known.

    Examples
    --------
    >>> read_usage("Missing option '--target'")
    Message('Missing option {name}.', name="'--target'")
    """
    # Some of Typer's messages end without a stop, and some tell whose error it is.
    text = sentence.replace(": Value error, ", ": ").rstrip(".")
    text += "" if text.endswith("?") else "."
    for template in TEMPLATES:
        if found := re.fullmatch(_pattern(template), text):
            values = {
                k: Joined(re.split(", | or ", v)) if k == "names" else v for k, v in found.groupdict().items()
            }
            return Message(template, **values)
    return Message(text)


@cache
def _pattern(template: str) -> str:
    pattern = re.escape(template)
    for name, _, _ in fields_of(template):
        pattern = pattern.replace(re.escape(f"{{{name}}}"), f"(?P<{name}>{_QUOTED}|.+?)")
    return pattern
