"""Loading very much at once without the garbage collector looking through all of it again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def bulk(is_much: bool) -> Iterator[None]:
    """What was loaded stays: it is not looked at by later collections either. Nor is it looked through for garbage before, which
    would take a tenth of a start and finds a few dozen objects.
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
