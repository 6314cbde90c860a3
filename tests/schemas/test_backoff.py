"""Waits between tries: growing, bounded, spread by chance."""

from __future__ import annotations

import random

import pytest

from schemas.backoff import Backoff, exponential, jitter


@pytest.mark.parametrize(
    ("doublings", "want"), [(-1, 5), (0, 5), (1, 10), (2, 20), (5, 160), (6, 300), (7, 300), (10**6, 300)]
)
def test_a_wait_doubles_up_to_its_bound(doublings: int, want: float) -> None:
    assert exponential(5, 300, doublings) == want


def test_backoff_doubles_to_its_bound_and_starts_over() -> None:
    backoff = Backoff(1, 60, least_share=1)
    assert [backoff.next() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    for _ in range(5000):
        assert backoff.next() == 60
    backoff.reset()
    assert backoff.next() == 1


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_rivals_do_not_come_back_together(share: float) -> None:
    chance = random.Random(7)
    waits = sorted(Backoff(8, 8, share, chance).next() for _ in range(1000))
    assert 8 * share <= waits[0] < 8 * share + 0.1
    assert 7.9 < waits[-1] <= 8
    assert waits[500] == pytest.approx(4 + 4 * share, rel=0.1)


def test_an_interval_is_kept_give_or_take_a_fifth() -> None:
    chance = random.Random(7)
    waits = [jitter(10, chance) for _ in range(1000)]
    assert 8 <= min(waits) < 8.1
    assert 11.9 < max(waits) <= 12
