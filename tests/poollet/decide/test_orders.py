"""What counts as an order: only what `live` says, and nothing by its absence."""

from __future__ import annotations

from dataclasses import replace as with_changes

import pytest
from msgspec.structs import replace

from iri.machine import RuntimeMachine
from iri.simulated.faults.fault_rules import FaultEffect, FaultRule
from iri.volume import RuntimeVolume
from poollet.decide.assignments import Ensure, Intent, Retain, Skip, Withdraw, list_orders
from poollet.decide.gates import HostPermissions
from poollet.decide.memory import Memory
from poollet.sync.live_view import LiveDocument, OrphanOrder
from schemas.kinds import Key, Kind
from schemas.live_layout import SHARE
from schemas.model.capacity import WHOLE_HOST, share
from schemas.report import MachineReport
from tests.poollet.documents import document, machine, uid_of, volume
from tests.poollet.site import DISKS, A, Site, kinds_of, runner, site, with_allocatable

WEB = ("default", "web")
WEB_UID = uid_of(Kind.MACHINE, "web")
USES = {"volumes": [{"name": "data", "volumeRef": {"name": "data"}}]}
PAUSED = {"gitvirt.dev/paused": "true"}

INTENTS = {
    "assigned": (machine(), Ensure()),
    "deleted": (machine(going=True), Withdraw("deleted")),
    "evicted": (machine(evicted=True), Withdraw("drained")),
    "evicted from an older assignment": (
        machine(status={"evict": {"assignment": "0" * 8, "reason": "old"}}),
        Ensure(),
    ),
    "retained": (volume(going=True, path=".gitvirt/retained/Volume/default/data.yaml"), Retain()),
    "paused": (
        machine(annotations=PAUSED, going=True),
        Skip("Paused", "paused by the annotation gitvirt.dev/paused; changes wait for `gitvirt resume`"),
    ),
    "paused, with another value": (machine(annotations={"gitvirt.dev/paused": "false"}), Ensure()),
}


@pytest.mark.parametrize(("order", "intent"), INTENTS.values(), ids=INTENTS.keys())
def test_each_document_gives_its_intent(order: LiveDocument, intent: Intent) -> None:
    here = site(order)
    (found,) = list_orders(here.view, here.facts)
    assert found.intent == intent


NOT_ORDERED = {
    "a pin by people": document(
        Kind.MACHINE,
        "web",
        spec={"machineClassRef": {"name": "small"}, "machinePoolRef": {"name": "a"}},
        metadata={"uid": WEB_UID},
    ),
    "another pool": machine(pool="b"),
    "a machine on a volume pool": machine(pool="disks"),
    "no uid yet": document(
        Kind.MACHINE,
        "web",
        spec={"machineClassRef": {"name": "small"}},
        status={"assignment": {"pool": "a", "id": WEB_UID}},
    ),
}


@pytest.mark.parametrize("given", NOT_ORDERED.values(), ids=NOT_ORDERED.keys())
def test_documents_without_an_assignment_here_order_nothing(given: LiveDocument) -> None:
    here = site(given)
    assert here.settle().machines == {}
    assert here.calls == []


def test_a_removal_comes_before_the_object_that_takes_its_name() -> None:
    here = site(machine())
    here.settle()
    old = machine(going=True, path=".gitvirt/deleting/Machine/default/web.yaml")
    here.documents = [machine(turn=1), old]
    decision = here.settle()
    assert (decision.machines[WEB].uid, decision.machines[WEB].phase) == (WEB_UID, "gone")
    assert here.machines() == {}
    here.documents = [machine(turn=1)]
    decision = here.settle()
    assert (decision.machines[WEB].uid, decision.machines[WEB].phase) == (
        uid_of(Kind.MACHINE, "web", 1),
        "present",
    )


def test_one_uid_in_two_documents_is_left_alone() -> None:
    here = site(machine())
    here.settle()
    here.calls.clear()
    here.put(machine(going=True, path="elsewhere.yaml"))
    decision = here.settle()
    conditions = {one.type: one.reason for one in decision.machines[WEB].status.conditions}  # type: ignore[union-attr]
    assert (here.calls, conditions["UpToDate"]) == ([], "Contradictory")


def make_orphan() -> Site:
    """A machine and a volume whose documents have left the target branch without a word."""
    here = site(machine(), volume())
    here.settle()
    here.documents = []
    here.calls.clear()
    return here


def test_an_orphan_is_reported_and_charged_and_left_alone() -> None:
    here = make_orphan()
    decision = here.settle()
    assert (here.calls, decision.machines) == ([], {})
    assert [(one.kind, one.pool, one.uid, one.name, one.charge) for one in decision.orphans] == [
        ("Machine", "a", WEB_UID, "web", {"cpu": "1", "memory": "1Gi"}),
        ("Volume", "disks", uid_of(Kind.VOLUME, "data"), "data", {"storage": "1Gi"}),
    ]
    here.facts = with_allocatable(here.facts, cpu=1000)
    here.put(machine("new"))
    assert here.settle().machines[("default", "new")].phase == "rejected"


def test_an_orphan_is_reported_with_the_volumes_that_it_has_attached() -> None:
    """Machines on other hosts reach the storage too, and nothing else says that this one may write to it."""
    uses = {"volumes": [{"name": "data", "volumeRef": {"name": "data"}}]}
    here = site(volume(claim="web"), machine(spec=uses))
    here.settle()
    (there,) = here.machines().values()
    (disk,) = there.spec.volumes
    assert disk.connection is not None
    here.documents = []
    found = {one.kind: one.handles for one in here.settle().orphans}
    assert found == {"Machine": (disk.connection.handle,), "Volume": ()}


def test_an_orphan_is_removed_only_by_its_file_on_live() -> None:
    here = make_orphan()
    for order in (OrphanOrder(WEB_UID, "elsewhere"), OrphanOrder(uid_of(Kind.MACHINE, "x"), "a")):
        here.orphan_orders = (order,)
        here.settle()
        assert here.calls == []
    here.orphan_orders = (OrphanOrder(WEB_UID, "a"),)
    here.unread = ("machines/broken.yaml",)
    here.settle()
    assert here.calls == []
    here.unread = ()
    decision = here.settle()
    assert kinds_of(here.calls) == ["SetPower", "Remove"]
    assert [one.kind for one in decision.orphans] == ["Volume"]


def test_an_orphan_file_does_not_remove_an_assigned_object() -> None:
    here = site(machine())
    here.orphan_orders = (OrphanOrder(WEB_UID, "a"),)
    here.settle()
    here.settle()
    assert len(here.machines()) == 1


def test_an_orphan_stays_reported_while_its_runtime_fails_or_lacks_it_once() -> None:
    here = make_orphan()
    before = here.settle().orphans
    here.sim.faults.add(FaultRule(call="ListMachines", code="UNAVAILABLE", times=2))
    here.sim.faults.add(FaultRule(call="ListVolumes", code="UNAVAILABLE", times=2))
    assert here.round().orphans == before
    here.restart()
    assert here.round().orphans == before
    here.tamper = lambda _place, _objects: {}
    assert here.round().orphans == before
    assert here.rounds(6, 3).orphans == ()


def test_an_orphan_that_is_assigned_again_is_adopted_as_it_is() -> None:
    here = make_orphan()
    here.settle()
    here.put(machine(round=1))
    decision = here.settle()
    assert (here.calls, decision.machines[WEB].phase) == ([], "present")
    assert [one.kind for one in decision.orphans] == ["Volume"]


def test_foreign_objects_are_charged_but_never_touched_or_reported() -> None:
    here = site()
    labels = {"machinepoollet.ironcore.dev/machine-uid": WEB_UID}
    for fleet in ({}, {"gitvirt.dev/fleet": "another"}):
        spec = RuntimeMachine().spec
        here.sim.runtime.create(
            RuntimeMachine(labels={**labels, **fleet}, spec=replace(spec, class_name="small"))
        )
        labels = {}
    here.sim.runtime.create(RuntimeVolume(spec=replace(RuntimeVolume().spec, class_name="standard")))
    here.facts = with_allocatable(here.facts, cpu=2500)
    here.orphan_orders = (OrphanOrder(WEB_UID, "a"),)
    here.put(machine("new"))
    decision = here.settle()
    assert (here.calls, decision.orphans, decision.machines[("default", "new")].phase) == ([], (), "rejected")


def test_objects_of_an_unreadable_file_are_reported_unknown_and_kept() -> None:
    here = site(machine())
    here.settle()
    here.calls.clear()
    here.documents, here.unread = [], ("machines/web.yaml",)
    decision = here.settle()
    assert (here.calls, decision.machines[WEB].phase) == ([], "unknown")


def test_a_target_branch_that_is_not_to_be_obeyed_orders_nothing() -> None:
    here = site(machine())
    before = here.settle()
    here.calls.clear()
    here.host = HostPermissions(is_live_applied=False)
    here.documents = [machine(going=True), machine("new")]
    decision = here.rounds(5)
    assert here.calls == []
    assert (decision.machines, decision.orphans) == (before.machines, ())
    here.sim.runtime.remove(RuntimeMachine, WEB_UID)
    assert here.rounds(3).machines[WEB].status.state == "Terminating"  # type: ignore[union-attr]


def test_running_objects_are_reported_before_any_order_is_known() -> None:
    here = site(machine())
    here.settle()
    here.restart()
    here.memory = Memory()
    here.host = HostPermissions(is_live_applied=False)
    decision = here.rounds(2)
    assert [(one.uid, one.name) for one in decision.orphans] == [(WEB_UID, "web")]


def test_what_was_created_late_is_reported_with_its_disks_while_no_orders_are_known() -> None:
    """The creation was not answered before `live` was rewound. Another machine would get the volume meanwhile."""
    here = site(volume(claim="web"), machine(spec=USES))
    there = here.settle()
    entry = there.machines[WEB]
    assert entry.status is not None
    early = replace(entry, status=replace(entry.status, machine_id="", state="Pending", volumes=()))
    here.memory = replace_entry(here.memory, early)
    here.host = HostPermissions(is_live_applied=False)
    found = here.rounds(2).machines[WEB].status
    assert found is not None
    assert (found.machine_id, found.state) == (entry.status.machine_id, "Running")
    assert [each.handle for each in found.volumes] == [each.handle for each in entry.status.volumes] != []


def test_a_host_that_asks_accepts_no_order_and_forgets_no_answer() -> None:
    """Its assignments may be those of an old `live`."""
    here = site(machine(), machine("full"), machine("new"))
    here.facts = with_allocatable(here.facts, A, cpu=1000)
    found = here.settle().machines
    refused = {name: entry for name, entry in found.items() if entry.phase == "rejected"}
    there = {name for name, entry in found.items() if entry.phase == "present"}
    assert refused
    assert there
    here.calls.clear()
    here.put(machine("late"))
    here.host = HostPermissions(is_confirmed=False)
    found = here.rounds(4).machines
    assert here.calls == []
    assert {name: found[name] for name in refused} == refused
    assert found.keys() == refused.keys() | there
    here.host = HostPermissions()
    found = here.settle().machines
    assert {name: found[name] for name in refused} == refused, "it is never created under this assignment"


def replace_entry(memory: Memory, entry: MachineReport) -> Memory:
    return with_changes(memory, entries={**memory.entries, Key(Kind.MACHINE, *WEB): entry})


def test_orders_for_pools_of_another_poollet_are_ignored() -> None:
    here = site(machine())
    here.settle()
    here.facts = with_changes(here.facts, pools={DISKS: here.facts.pools[DISKS]})
    here.calls.clear()
    decision = here.settle()
    assert (here.calls, decision.machines, decision.orphans) == ([], {}, ())


ROOM = {
    "fits": ({"cpu": 2000}, ["present", "present"]),
    "one too many": ({"cpu": 1000}, ["present", "rejected"]),
    "no memory": ({"memory": 0}, ["rejected", "rejected"]),
    "only so many of a class": ({"class/machine.small": 1}, ["present", "rejected"]),
}


@pytest.mark.parametrize(("room", "phases"), ROOM.values(), ids=ROOM.keys())
def test_a_pool_admits_what_fits_by_priority(room: dict[str, int], phases: list[str]) -> None:
    here = site(machine("a-low"), machine("b-high", spec={"priority": 5}))
    here.facts = with_allocatable(here.facts, A, **room)
    decision = here.settle()
    assert [decision.machines[("default", name)].phase for name in ("b-high", "a-low")] == phases
    assert [step for step in here.calls if kinds_of([step]) != ["Create"]] == []


def test_pools_that_only_count_classes_are_charged_by_share() -> None:
    here = site(machine("a"), machine("b"), machine("c", class_name="medium"))
    counted = with_changes(
        here.facts.pools[A], allocatable={SHARE: WHOLE_HOST}, shares={"small": share(2), "medium": share(1)}
    )
    here.facts = with_changes(here.facts, pools={A: counted})
    phases = [one.phase for one in here.settle().machines.values()]
    assert phases == ["present", "present", "rejected"]


def test_a_rejection_is_final_for_its_assignment_and_for_no_other() -> None:
    here = site(machine())
    here.facts = with_allocatable(here.facts, cpu=500)
    rejected = here.settle().machines[WEB]
    assert (rejected.phase, rejected.reasons[0].message) == ("rejected", "cpu: 1 needed, 500m left")
    here.facts = with_allocatable(here.facts, cpu=5000)
    here.restart()
    assert here.settle().machines[WEB] == rejected
    assert here.calls == []
    here.put(machine(round=1))
    assert here.settle().machines[WEB].phase == "present"


def test_a_rejection_survives_a_file_that_is_unreadable_for_a_while() -> None:
    here = site(machine())
    here.facts = with_allocatable(here.facts, cpu=500)
    rejected = here.settle().machines[WEB]
    here.documents, here.unread = [], ("machines/web.yaml",)
    here.restart()
    assert here.settle().machines[WEB] == rejected
    here.facts = with_allocatable(here.facts, cpu=5000)
    here.documents, here.unread = [machine()], ()
    assert here.settle().machines[WEB] == rejected
    assert here.calls == []


def test_a_rejected_machine_that_exists_is_an_orphan() -> None:
    """The runtime said no and made it all the same, which shows only later."""
    here = site(machine())
    here.sim.faults.add(
        FaultRule(call="CreateMachine", effect=FaultEffect.AFTER, code="RESOURCE_EXHAUSTED", times=1)
    )
    here.tamper = lambda _place, _objects: {}
    assert here.rounds(4).machines[WEB].phase == "rejected"
    here.tamper = lambda _place, objects: objects
    decision = here.settle()
    assert decision.machines[WEB].phase == "rejected"
    assert [one.uid for one in decision.orphans] == [WEB_UID]
    assert len(here.machines()) == 1
    here.put(machine(round=1))
    assert here.settle().orphans == ()


def test_a_pool_of_unknown_capacity_admits_nothing_and_rejects_nothing() -> None:
    here = site(machine())
    unknown = with_changes(here.facts.pools[A], allocatable=None)
    here.facts = with_changes(here.facts, pools={A: unknown})
    decision = here.settle()
    status = decision.machines[WEB].status
    assert status is not None
    conditions = {one.type: one.reason for one in status.conditions if one.status == "False"}
    assert (here.calls, conditions["ClassReady"]) == ([], "PoolUnknown")


def test_each_runtime_gets_only_the_calls_of_its_own_pools() -> None:
    here = site(machine(), machine("db", pool="b"), volume())
    other = with_changes(here.facts.pools[A], runtime="other")
    b = (Kind.MACHINE_POOL, "b")
    here.facts = with_changes(here.facts, pools={**here.facts.pools, b: other})
    here.grants[b] = here.grants[A]
    here.runners["other"] = runner(lambda: here.now_ms, seed=2)
    here.settle()
    assert (list(here.machines()), list(here.machines("other"))) == ([WEB_UID], [uid_of(Kind.MACHINE, "db")])
    here.runners["other"].faults.add(FaultRule(code="UNAVAILABLE"))
    here.put(machine(spec={"power": "Off"}), machine("db", pool="b", spec={"power": "Off"}))
    decision = here.settle()
    assert decision.machines[WEB].status.state == "Shutdown"  # type: ignore[union-attr]
    assert decision.machines[("default", "db")].phase == "unknown"
