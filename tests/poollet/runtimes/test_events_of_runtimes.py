"""Which runtimes are asked for events, and how often."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from iri.errors import Internal, Unimplemented
from iri.runtime import RuntimeEvent
from iri.simulated.faults.fault_injection import FaultInjectingRuntime
from iri.simulated.runtime import SimulatedRuntime
from poollet.runtimes.runtime_client import RuntimeClient
from tests.iri.quick_host import PROFILE, quick_host
from tests.poollet.runtimes.test_runtime_poller import FailingCalls, client, create_machine


class CountedRuntime(FaultInjectingRuntime):
    """Notes from which second on it was asked."""

    def __init__(self, below: SimulatedRuntime, failing: FailingCalls) -> None:
        super().__init__(below, failing.around)
        self.calls_since: list[int] = []

    def events(self, since: int = 0) -> Sequence[RuntimeEvent]:
        self.calls_since.append(since)
        return super().events(since)


def stand(behavior: str) -> tuple[RuntimeClient, CountedRuntime, FailingCalls, SimulatedRuntime]:
    failing, below = FailingCalls(), SimulatedRuntime(quick_host(replace(PROFILE, behavior=behavior)))
    runtime = CountedRuntime(below, failing)
    return client(runtime), runtime, failing, below


def test_no_events_are_listed_of_a_runtime_with_the_host_service() -> None:
    one, runtime, _, below = stand("gitvirt")
    create_machine(below)
    one.probe()
    one.fetch_lists()
    assert (runtime.calls_since, one.events) == ([], ())


def test_events_of_a_stock_provider_are_listed_from_the_newest_known_one_on() -> None:
    one, runtime, _, below = stand("stock-libvirt")
    create_machine(below)
    one.probe()
    assert one.fetch_lists()
    first = one.events
    assert "Created" in [event.reason for event in first]
    one.fetch_lists()
    create_machine(below, "m2")
    one.fetch_lists()
    assert runtime.calls_since[:2] == [0, first[-1].time]
    assert one.events[: len(first)] == first
    assert len({event.id for event in one.events}) == 2
    assert len(set(map(repr, one.events))) == len(one.events)


def test_a_provider_without_events_is_tried_again_only_after_it_was_away() -> None:
    one, runtime, failing, _ = stand("stock-libvirt")
    failing.fails, failing.error = {"ListEvents"}, Unimplemented
    one.probe()
    for _ in range(3):
        one.fetch_lists()
    assert len(runtime.calls_since) == 1
    failing.fails = {"Status"}
    one.probe()
    failing.fails = set()
    one.probe()
    one.fetch_lists()
    assert len(runtime.calls_since) == 2


def test_events_that_cannot_be_listed_make_no_runtime_unreachable() -> None:
    one, runtime, failing, below = stand("stock-libvirt")
    failing.fails, failing.error = {"ListEvents"}, Internal
    create_machine(below)
    one.probe()
    one.fetch_lists()
    assert one.is_answering
    failing.fails = set()
    one.fetch_lists()
    assert len(runtime.calls_since) == 2
    assert one.events
