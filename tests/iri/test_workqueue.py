"""The work queue: one thread per key, no wake is lost, and no key's bug ends the work on others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from iri.backoff import ExponentialDelay
from iri.workqueue import WorkQueue
from tests.iri.contract.subject import eventually

pytestmark = pytest.mark.clock

SECONDS = 60.0


def running(work: Callable[[str], float | None], threads: int, *keys: str) -> WorkQueue[str]:
    queue = WorkQueue(work, threads, "test")
    for key in keys:
        queue.wake(key)
    queue.start()
    return queue


def test_work_that_raises_ends_no_work_on_other_keys() -> None:
    """With one thread, which an exception would end."""
    worked = threading.Event()

    def work(key: str) -> float | None:
        if key == "broken":
            raise KeyError(key)
        worked.set()
        return None

    queue = running(work, 1, "broken")
    queue.wake("well", 0.01)
    assert worked.wait(SECONDS)
    queue.close()


def test_key_woken_while_it_is_busy_runs_again_and_never_twice_at_a_time() -> None:
    runs: list[str] = []
    at_work = threading.Lock()
    may_end = threading.Event()

    def work(key: str) -> None:
        is_alone = at_work.acquire(blocking=False)
        runs.append(key if is_alone else f"{key} on two threads")
        may_end.wait(SECONDS)
        if is_alone:
            at_work.release()

    queue = running(work, 4, "a")
    eventually(lambda: len(runs), lambda n: n == 1, SECONDS, "begin")
    queue.wake("a")
    queue.wake("a")
    may_end.set()
    eventually(lambda: len(runs), lambda n: n == 2, SECONDS, "run again")
    queue.close()
    assert runs == ["a", "a"]


def test_delay_that_the_work_returns_is_cut_short_by_a_wake() -> None:
    runs: list[float] = []

    def work(key: str) -> float:
        runs.append(time.monotonic())
        return 3600.0

    queue = running(work, 1, "a")
    eventually(lambda: len(runs), lambda n: n == 1, SECONDS, "begin")
    queue.wake("a")
    eventually(lambda: len(runs), lambda n: n == 2, SECONDS, "run again")
    queue.close()


def test_later_wake_does_not_put_off_an_earlier_one() -> None:
    worked = threading.Event()
    queue = WorkQueue[str](lambda key: worked.set(), 1, "test")
    queue.wake("a", 0.01)
    queue.wake("a", 3600.0)
    queue.start()
    assert worked.wait(SECONDS)
    queue.close()


def test_keys_run_in_the_order_of_their_times() -> None:
    runs: list[str] = []
    queue = WorkQueue[str](runs.append, 1, "test")
    for number, key in enumerate(("third", "second", "first")):
        queue.wake(key, 0.2 - 0.05 * number)
    queue.start()
    eventually(lambda: len(runs), lambda n: n == 3, SECONDS, "run all")
    queue.close()
    assert runs == ["first", "second", "third"]


def test_due_key_waits_for_no_thread_that_is_busy_with_another() -> None:
    """Each thread that takes a key leaves another one to wait for the next."""
    is_held, may_end, worked = threading.Event(), threading.Event(), threading.Event()

    def work(key: str) -> None:
        if key == "slow":
            is_held.set()
            may_end.wait(SECONDS)
        else:
            worked.set()

    queue = running(work, 2)
    queue.wake("quick", 0.1)
    queue.wake("slow")
    assert is_held.wait(SECONDS)
    assert worked.wait(SECONDS), "a free thread sleeps while a key is due"
    may_end.set()
    queue.close()


def test_close_waits_for_the_run_under_way_but_no_longer_than_it_may() -> None:
    started, may_end = threading.Event(), threading.Event()

    def work(key: str) -> None:
        started.set()
        may_end.wait(SECONDS)

    queue = running(work, 1, "a")
    assert started.wait(SECONDS)
    queue.close(wait_seconds=0.01)
    may_end.set()
    queue.close()


@pytest.mark.parametrize(
    ("attempts", "want"), [(0, 1.0), (1, 2.0), (2, 4.0), (5, 32.0), (6, 60.0), (10**9, 60.0)]
)
def test_delay_doubles_with_each_attempt_up_to_the_longest(attempts: int, want: float) -> None:
    assert ExponentialDelay(1.0, 60.0).delay(attempts) == want
