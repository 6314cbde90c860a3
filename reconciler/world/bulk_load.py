"""Loading very much at once without the garbage collector looking through all of it again and again.

Used by `World.advance` for the first update alone, which allocates every object of the fleet. Later updates are small, and
run with the collector as it is. Changes nothing but the speed: with the collector off from the start it does nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def bulk(is_much: bool) -> Iterator[None]:
    """Runs the load without the collector, and then freezes the loaded objects: later collections skip them too. They are not searched
    for garbage before, which would take a tenth of a start and would find a few dozen objects.

    The collector is on again afterwards, also after an exception; then nothing is frozen, since the State is dropped.
    """
    if not is_much or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
