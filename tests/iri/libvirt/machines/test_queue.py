"""Who is tended when: one turn that breaks ends no other's."""

from __future__ import annotations

import threading

import pytest

from iri.libvirt.machines.queue import Queue

pytestmark = pytest.mark.clock


def test_turn_that_breaks_ends_no_others() -> None:
    """With one thread, which nobody would be left without."""
    tended = threading.Event()

    def tend(id: str) -> float | None:
        if id == "broken":
            raise KeyError(id)
        tended.set()
        return None

    queue = Queue(tend, 1)
    queue.wake("broken")
    queue.wake("well", 0.01)
    queue.start()
    try:
        assert tended.wait(60)
    finally:
        queue.close()
