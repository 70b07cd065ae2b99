"""Ctrl-C as a flag: what is being learned ends at the next step, with the best so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Turn Ctrl-C into a flag, so that it never strikes in the middle of a step; the second one strikes."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def note(number: int, frame: FrameType | None) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        # None: the handler was not set by Python, and cannot be put back by it.
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)
