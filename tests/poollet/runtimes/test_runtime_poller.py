"""Polls of a runtime: at once when the runtime announces a change; a list that failed is unknown and never empty."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from iri.errors import IRIError, Unavailable, Unimplemented
from iri.host import RuntimeClasses, RuntimeMachineClass
from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine, RuntimeMachineSpec
from iri.runtime import Runtime, Subscription
from iri.server.call_handlers import CallWrapper
from iri.simulated.faults.fault_injection import FaultInjectingRuntime
from iri.simulated.runtime import SimulatedRuntime
from iri.volume import RuntimeSnapshot
from poollet.clock import Clock
from poollet.runtimes import runtime_poller
from poollet.runtimes.runtime_client import MACHINE_KINDS, VOLUME_KINDS, RuntimeClient
from poollet.runtimes.runtime_lists import ListFailed, Listing, ListKey
from poollet.runtimes.runtime_poller import RuntimePoller, rest_seconds
from tests.iri.quick_host import PROFILE, quick_host

pytestmark = pytest.mark.clock

MACHINES = ListKey("r1", RuntimeMachine)
SMALL = RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": 1 << 30})


class FailingCalls:
    """Calls by name that fail."""

    def __init__(self) -> None:
        self.fails: set[str] = set()
        self.error: type[IRIError] = Unavailable
        self.calls: list[str] = []

    @contextmanager
    def around(self, call: str) -> Iterator[None]:
        self.calls.append(call)
        if call in self.fails:
            raise self.error(f"{call}: no answer")
        yield


def client(runtime: Runtime) -> RuntimeClient:
    return RuntimeClient("r1", runtime, (*MACHINE_KINDS, *VOLUME_KINDS), lambda: 5)


def create_machine(runtime: SimulatedRuntime, uid: str = "m1") -> None:
    runtime.create(
        RuntimeMachine(labels={UID_LABELS[RuntimeMachine]: uid}, spec=RuntimeMachineSpec(class_name="small"))
    )


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_lists_are_numbered_and_a_failed_list_is_not_an_empty_one() -> None:
    failing, below = FailingCalls(), SimulatedRuntime(quick_host())
    one = client(FaultInjectingRuntime(below, failing.around))
    create_machine(below)
    assert one.fetch_lists()
    failing.fails = {"ListMachines", "ListVolumes"}
    failing.calls.clear()
    assert one.fetch_lists()
    found = one.lists[MACHINES]
    assert isinstance(found, ListFailed)
    assert found.last is not None
    assert (found.last.number, len(found.last.objects)) == (1, 1)
    # A server that failed for volumes is not asked for snapshots as well.
    assert "ListVolumeSnapshots" not in failing.calls
    failing.fails = set()
    one.fetch_lists()
    again = one.lists[MACHINES]
    assert isinstance(again, Listing)
    assert again.number == 2


@pytest.mark.parametrize("is_known", [False, True])
def test_another_server_behind_the_socket_is_a_failed_list_and_not_an_empty_one(is_known: bool) -> None:
    failing, below = FailingCalls(), SimulatedRuntime(quick_host())
    one = client(FaultInjectingRuntime(below, failing.around))
    create_machine(below)
    if is_known:
        one.fetch_lists()
    failing.error = Unimplemented
    failing.fails = {"ListMachines", "ListVolumes"}
    one.fetch_lists()
    assert all(isinstance(found, ListFailed) for found in one.lists.values())


def test_a_runtime_without_a_snapshot_service_has_an_empty_list_of_snapshots() -> None:
    failing = FailingCalls()
    one = client(FaultInjectingRuntime(SimulatedRuntime(quick_host()), failing.around))
    failing.error = Unimplemented
    failing.fails = {"ListVolumeSnapshots"}
    one.fetch_lists()
    found = one.lists[ListKey("r1", RuntimeSnapshot)]
    assert isinstance(found, Listing)
    assert not found.objects


def test_a_runtime_is_configured_with_the_classes_until_it_offers_them() -> None:
    below = SimulatedRuntime(quick_host())
    one = client(below)
    wanted = RuntimeClasses(
        machines=(RuntimeMachineClass(name="huge", resources={"cpu": 2, "memory": 1 << 30}),)
    )
    assert one.configure(wanted)
    assert one.needs_probe
    assert one.probe()
    assert not one.configure(wanted)
    offers = one.state.offers
    assert offers is not None
    assert [offer.machine_class.name for offer in offers.machines] == ["huge"]
    below.set_classes(RuntimeClasses(machines=(SMALL,)))  # the runtime restarted and forgot its classes
    one.probe()
    assert one.state.offers == offers


def test_a_runtime_that_refuses_classes_is_configured_once() -> None:
    failing = FailingCalls()
    profile = type(PROFILE)(classes=PROFILE.classes, times=PROFILE.times, class_policy="fixed")
    one = client(FaultInjectingRuntime(SimulatedRuntime(quick_host(profile)), failing.around))
    one.configure(RuntimeClasses(machines=(SMALL,)))
    for _ in range(3):
        one.probe()
    assert failing.calls.count("SetClasses") == 1
    assert one.state.is_known


def test_a_brief_probe_asks_for_more_only_when_the_offers_changed() -> None:
    failing, below = FailingCalls(), SimulatedRuntime(quick_host())
    one = client(FaultInjectingRuntime(below, failing.around))
    one.configure(RuntimeClasses(machines=(SMALL,)))
    assert one.probe(is_brief=True), "nothing was known yet"
    failing.calls.clear()
    assert not one.probe(is_brief=True)
    assert set(failing.calls) == {"Status"}
    offers = one.state.offers
    below.set_classes(RuntimeClasses())  # the runtime restarted and forgot its classes
    assert not one.probe(is_brief=True)
    assert one.state.offers == offers == below.offers()
    failing.fails = {"Status"}
    assert one.probe(is_brief=True)
    failing.fails = {"Version"}
    one.probe(is_brief=True)
    assert one.state.error, "after an error the probe is a full one"


class WatchedRuntime(FaultInjectingRuntime):
    """`is_watched` is set once a client has subscribed to its changes."""

    def __init__(self, runtime: Runtime, around: CallWrapper) -> None:
        super().__init__(runtime, around)
        self.is_watched = threading.Event()

    def watch(self) -> Subscription:
        found = super().watch()
        self.is_watched.set()
        return found


@contextmanager
def poll(
    runtime: Runtime, seconds: float, on_change: Callable[[], None] = lambda: None
) -> Iterator[RuntimeClient]:
    one = client(runtime)
    poller = RuntimePoller(one, seconds, on_change)
    poller.start()
    try:
        until(lambda: bool(one.lists) and one.state.is_known)
        yield one
    finally:
        poller.stop()
        poller.join(60)


def test_a_change_that_the_runtime_announces_is_listed_at_once() -> None:
    below = SimulatedRuntime(quick_host())
    runtime = WatchedRuntime(below, FailingCalls().around)
    with poll(runtime, 3600) as one:
        assert runtime.is_watched.wait(60)
        create_machine(below)
        until(lambda: len(getattr(one.lists[MACHINES], "objects", ())) == 1)


def test_a_runtime_that_does_not_answer_is_reported_before_its_lists_are_fetched() -> None:
    """Each list may hang for as long as a call may."""
    failing, below = FailingCalls(), SimulatedRuntime(quick_host())
    last: list[str] = []
    with poll(
        FaultInjectingRuntime(below, failing.around), 0.05, lambda: last.append(failing.calls[-1])
    ) as one:
        failing.fails = {"Version"}
        until(lambda: bool(one.state.error) and "Version" in last)


@pytest.mark.parametrize(
    ("spent", "is_answered", "want"),
    [
        pytest.param(0.1, True, 5.0, id="a quick one"),
        pytest.param(2.0, True, 8.0, id="a busy host"),
        pytest.param(20.0, True, 30.0, id="never for long"),
        pytest.param(20.0, False, 5.0, id="no answer"),
    ],
)
def test_slow_lists_are_followed_by_a_long_rest(spent: float, is_answered: bool, want: float) -> None:
    assert rest_seconds(5.0, spent, is_answered=is_answered) == want


@pytest.mark.parametrize("fails", ["Version", "ListMachines", "ListVolumeSnapshots"])
def test_a_runtime_that_fails_one_call_is_not_answering(fails: str) -> None:
    failing = FailingCalls()
    one = client(FaultInjectingRuntime(SimulatedRuntime(quick_host()), failing.around))
    for failing.fails in (set(), {fails}, set()):
        one.probe()
        one.fetch_lists()
        assert one.is_answering is not bool(failing.fails)


def test_a_runtime_without_change_events_is_listed_at_each_interval() -> None:
    host = quick_host()
    host.set_profile(replace(PROFILE, behavior="stock-libvirt"))
    failing = FailingCalls()
    failing.fails = {"WatchEvents"}
    below = SimulatedRuntime(host)
    with poll(FaultInjectingRuntime(below, failing.around), 0.05) as one:
        create_machine(below)
        until(lambda: len(getattr(one.lists[MACHINES], "objects", ())) == 1)


def test_a_runtime_is_probed_although_lists_are_requested_all_the_time() -> None:
    failing, below = FailingCalls(), SimulatedRuntime(quick_host())
    one = client(FaultInjectingRuntime(below, failing.around))
    pollers: list[RuntimePoller] = []
    # Each change requests the next list at once.
    poller = RuntimePoller(one, 0.1, lambda: pollers[0].request_list())
    pollers.append(poller)
    poller.start()
    try:
        poller.request_list()
        until(lambda: one.state.about is not None)
        failing.fails = {"Version"}
        until(lambda: bool(one.state.error))
    finally:
        poller.stop()
        poller.join(60)


def test_a_requested_list_begins_after_the_moment_of_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of the millisecond in which an action ended may be older than the action's effect, so it does not count; no other one would follow."""
    monkeypatch.setattr(runtime_poller, "BURST_SECONDS", 0.0)
    now_ms = Clock().moment_ms
    one = RuntimeClient("r1", SimulatedRuntime(quick_host()), (RuntimeMachine,), now_ms)
    poller = RuntimePoller(one, 3600, lambda: None)
    poller.start()
    try:
        for _ in range(20):
            requested_ms = now_ms()
            poller.request_list()
            until(lambda: getattr(one.lists.get(MACHINES), "started_ms", -1) > requested_ms)  # noqa: B023
    finally:
        poller.stop()
        poller.join(60)


def is_preliminary(found: RuntimeClient) -> bool:
    return found.state.is_preliminary


def test_an_answer_from_before_the_classes_were_known_is_preliminary() -> None:
    failing = FailingCalls()
    runtime = FaultInjectingRuntime(SimulatedRuntime(quick_host()), failing.around)
    found = client(runtime)
    assert not is_preliminary(found), "no answer yet"
    found.probe()
    assert is_preliminary(found)
    wanted = RuntimeClasses(machines=(SMALL,))
    found.configure(wanted)
    failing.fails = {"Status"}
    found.probe()
    assert not is_preliminary(found), "the error counts"
    failing.fails = set()
    found.probe()
    assert found.state.configured_classes == wanted
    assert not is_preliminary(found)
    found.configure(RuntimeClasses())
    assert not is_preliminary(found), "the last classes still hold"
