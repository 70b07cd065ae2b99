"""Work on what a stranger sent, in a process of its own with limits of time and memory.

The process gets a function of ours and values as JSON, never code, and its answer is JSON. If it uses too much, it
ends, and nothing else does.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from contextlib import suppress
from typing import Any

from bayeskit._visible import json_text
from bayeskit.errors import BayeskitError, DataError, UsageError

SECONDS = 28.0
MEMORY = 4 * 2**30


def run_limited(
    function: str, said: dict[str, Any], lang: str, *, seconds: float = SECONDS, memory: int = MEMORY
) -> Any:
    """Call a function, named ``module:name``, with keyword arguments in a limited process.

    Raises
    ------
    DataError
        What the function raised, in its words.
    UsageError
        It took too long, or too much memory.
    """
    words = [
        sys.executable,
        "-m",
        "bayeskit._web.limited",
        function,
        lang,
        str(memory),
        str(int(seconds) + 1),
    ]
    try:
        done = subprocess.run(
            words, input=json.dumps(said).encode(), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            "This took longer than {seconds:g} seconds and was ended. Send less.", seconds=seconds
        ) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise UsageError(
            "This needed more memory or time than it may have ({memory:,.0f} MiB) and was ended. Send less.",
            memory=memory / 2**20,
        ) from None
    if "message" in answer:
        raise DataError("{message}", message=answer["message"])
    return answer["found"]


def _limit(memory: int, seconds: int) -> None:
    with suppress(ImportError):  # Windows has no such limits; the time is still limited from outside
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def main() -> None:
    """Read values from standard input, call the function, and print what it returns."""
    function, lang, memory, seconds = sys.argv[1:]
    module, _, name = function.partition(":")
    call = getattr(importlib.import_module(module), name)
    said = json.load(sys.stdin)
    _limit(int(memory), int(seconds))
    try:
        found: dict[str, Any] = {"found": call(**said)}
    except BayeskitError as error:
        found = {"message": error.message.in_language(lang)}
    print(json_text(found))


if __name__ == "__main__":
    main()
