"""The order in which the tests are handed out: those that take long first, so that the run does not end with one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def hand_out(early: Sequence[Item], others: Sequence[Item], workers: int) -> list[Item]:
    """Each worker of pytest-xdist begins with its share of the early ones: it is sent a run of them all, a quarter of an equal share."""
    first = max((len(early) + len(others)) // workers // 4, 2)
    order: list[Item] = []
    left = list(others)
    for worker in range(workers):
        share = [*early[worker::workers]]
        filling = max(first - len(share), 0)
        order += [*share, *left[:filling]]
        del left[:filling]
    return order + left
