"""The order of a tick: what is evaluated, how each edit begins, how many machines are evicted, and what is shown besides."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from reconciler.decide.decide import (
    QUEUED,
    affected_keys,
    annotate,
    decide_needs,
    is_evicted,
    is_released,
    make_plan,
    observe,
    order_evictions,
    pool_fact,
    start_edit,
    why_frozen,
)
from reconciler.decide.ephemeral import differs, new_object, owned_objects
from reconciler.decide.expansion import expansions
from reconciler.decide.interface import cards, update_interface
from reconciler.decide.need import Blocked, Drain, Keep, Need, Place, Remove
from reconciler.decide.object_edit import ObjectEdit, make_uid
from reconciler.decide.pool_requests import NO_REQUESTS, PoolRequests
from reconciler.plan.types import Action
from reconciler.world.changes import WorldChanges
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.record import ACCEPTED, CLAIM_REFUSED, empty_status
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.source.rules import Rules
from schemas.kinds import Key, Kind
from schemas.model import (
    Machine,
    MachineNetworkInterfaceStatus,
    MachineStatus,
    NameRef,
    NetworkInterfaceStatus,
    Rejection,
)
from schemas.report import objects as report
from tests.reconciler.decide.small import (
    DRAIN,
    FLEET,
    NOW,
    SOURCE,
    Small,
    machine,
    make_object,
    order_eviction,
    uid_of,
    volume,
)

WEB, DATA = Key(Kind.MACHINE, "default", "web"), Key(Kind.VOLUME, "default", "data")
SCRATCH, PORT = Key(Kind.VOLUME, "default", "web-scratch"), Key(Kind.NETWORK_INTERFACE, "default", "web-lan")
POOL, STORE = Key(Kind.MACHINE_POOL, "", "a"), Key(Kind.VOLUME_POOL, "", "a")
EPHEMERAL: dict[str, Any] = {
    "volumes": [
        {
            "name": "scratch",
            "ephemeral": {
                "volumeTemplate": {
                    "spec": {"volumeClassRef": {"name": "fast"}, "resources": {"storage": "1Gi"}}
                }
            },
        }
    ],
    "networkInterfaces": [
        {
            "name": "lan",
            "ephemeral": {"networkInterfaceTemplate": {"spec": {"networkRef": {"name": "office"}}}},
        }
    ],
}
USES_DATA = {"volumes": [{"name": "data", "volumeRef": {"name": "data"}}]}
OFFICE = make_object(Kind.NETWORK, "office", {})
OWNER = {
    "apiVersion": "compute.ironcore.dev/v1alpha1",
    "kind": "Machine",
    "name": "web",
    "uid": uid_of("web"),
}


def key(name: str) -> Key:
    return Key(Kind.MACHINE, "default", name)


def world(*objects: ObjectState) -> Small:
    return Small().pool("a").volume_pool("a").add(OFFICE, *objects)


def edit_of(known: ObjectState) -> ObjectEdit:
    status = known.record.status or empty_status(known.key.kind)
    return ObjectEdit(known, msgspec.structs.replace(known.record, status=status), NOW)


def names(keys: set[Key]) -> set[str]:
    return {each.name for each in keys}


AFFECTED: dict[str, tuple[Callable[[], Small], set[Key], set[Key], set[str]]] = {
    "nothing": (lambda: world(machine("web")), set(), set(), set()),
    "a machine alone": (lambda: world(machine("web"), machine("b")), {WEB}, set(), {"web"}),
    "a machine with its volume": (
        lambda: world(machine("web", spec=USES_DATA), volume("data")),
        {WEB},
        set(),
        {"web", "data"},
    ),
    "a volume with its machine": (
        lambda: world(machine("web", spec=USES_DATA), volume("data")),
        {DATA},
        set(),
        {"web", "data"},
    ),
    "a machine with what its entries generate": (
        lambda: world(machine("web", spec=EPHEMERAL)),
        {WEB},
        set(),
        {"web", "web-scratch", "web-lan"},
    ),
    "a key that is not known": (lambda: world(), {WEB}, set(), {"web"}),
    "all that is absent": (
        lambda: world(machine("web"), machine("b")).leave_source(key("b")),
        {WEB},
        set(),
        {"web", "b"},
    ),
    "all on a pool whose grant ends": (
        lambda: world(machine("web", on="a"), machine("b", on="b"), volume("data", on="a")),
        set(),
        {POOL},
        {"web"},
    ),
    "volumes on a volume pool whose grant ends": (
        lambda: world(machine("web", on="a"), volume("data", on="a")),
        set(),
        {STORE},
        {"data"},
    ),
    "all on a drained pool when a machine that leaves it changes": (
        lambda: world(order_eviction(machine("web", on="a")), machine("b", on="a")).pool("a", taints=(DRAIN,)),
        {WEB},
        set(),
        {"web", "b"},
    ),
    "only the machine that leaves when its pool has no such taint": (
        lambda: world(order_eviction(machine("web", on="a")), machine("b", on="a")),
        {WEB},
        set(),
        {"web"},
    ),
    "only a machine that does not leave its drained pool": (
        lambda: world(machine("web", on="a"), machine("b", on="a")).pool("a", taints=(DRAIN,)),
        {WEB},
        set(),
        {"web"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "dirty", "ended", "want"), AFFECTED.values(), ids=AFFECTED)
def test_what_is_decided_together_is_evaluated_together(
    make: Callable[[], Small], dirty: set[Key], ended: set[Key], want: set[str]
) -> None:
    assert names(affected_keys(make(), dirty, ended)) == want


STARTS: dict[str, tuple[ObjectState, str, str]] = {
    "a new machine": (machine("web", is_new=True), make_uid(FLEET, WEB, SOURCE), "Pending"),
    "a machine on live": (machine("web"), uid_of("web"), "Pending"),
    "a placed machine keeps the state that was reported": (machine("web", on="a"), uid_of("web"), ""),
    "a new frozen machine gets no uid": (machine("web", is_new=True, origin=Origin.FROZEN), "", "Pending"),
}


@pytest.mark.parametrize(("known", "uid", "state"), STARTS.values(), ids=STARTS)
def test_each_edit_begins_with_an_identity_and_a_status(known: ObjectState, uid: str, state: str) -> None:
    edit = start_edit(world(), known, NOW, NO_REQUESTS)
    assert isinstance(edit.record.status, MachineStatus)
    assert (edit.record.uid, edit.record.status.state) == (uid, state)


def test_a_need_of_a_destroyed_host_is_released_before_any_other_rule() -> None:
    found = world(machine("web", on="a")).pool("a", heartbeat=Heartbeat.EXPIRED).confirm_destroyed("a")
    needs = {need.key: need for need in decide_needs(found, set(), NOW)}
    assert isinstance(needs[WEB], Place), "although nothing but the pool is dirty"
    assert needs[WEB].record.assignment is None


def test_a_snapshot_that_outlives_its_volume_is_released_with_its_destroyed_host() -> None:
    """Nothing else of the tick concerns it: its volume is gone, and no host reports it."""
    daily = make_object(Kind.VOLUME_SNAPSHOT, "daily", {"volumeRef": {"name": "data"}}, on="a")
    found = world(daily).volume_pool("a", heartbeat=Heartbeat.EXPIRED).confirm_destroyed("a")
    needs = {need.key: need for need in decide_needs(found, set(), NOW)}
    assert needs[daily.key].record.assignment is None
    assert (needs[daily.key].record.pool, daily.record.pool) == ("", "a")


def test_room_that_a_destroyed_host_leaves_is_offered_to_what_waits_in_the_same_tick() -> None:
    found = world(machine("web", on="a"), machine("waiting"))
    found.pool("a", heartbeat=Heartbeat.EXPIRED).confirm_destroyed("a")
    assert key("waiting") in {need.key for need in decide_needs(found, set(), NOW)}
    still = world(machine("web", on="a"), machine("waiting"))
    assert key("waiting") not in {need.key for need in decide_needs(still, {WEB}, NOW)}


def test_one_key_has_one_need_and_keys_are_sorted() -> None:
    found = world(machine("web", on="a", spec=EPHEMERAL), machine("b", spec=USES_DATA), volume("data"))
    keys = [need.key for need in decide_needs(found, {*found.objects}, NOW)]
    assert keys == sorted(set(keys))


RUNNING = report.ReportedMachineStatus(machine_id="sim://1", state="Running")


@pytest.mark.parametrize(
    ("phase", "is_released_now", "want"),
    [
        ("present", False, "Running"),
        ("unknown", False, "Running"),
        ("gone", False, ""),
        ("rejected", False, ""),
        ("present", True, "Pending"),
        ("", False, ""),
    ],
)
def test_a_deletion_observes_only_what_the_present_assignment_reports(
    phase: str, is_released_now: bool, want: str
) -> None:
    found = world(machine("web", on="a"))
    if phase:
        found.with_report(WEB, phase, status=RUNNING)
    edit = edit_of(found.objects[WEB])
    edit = edit.unassign() if is_released_now else edit
    assert is_released(edit) is is_released_now
    assert getattr(observe(found, edit).record.status, "state", "") == want


FACTS: dict[str, tuple[Callable[[], Small], bool]] = {
    "alive": (lambda: world(), False),
    "unconfirmed": (lambda: world().pool("a", heartbeat=Heartbeat.UNCONFIRMED), False),
    "expired": (lambda: world().pool("a", heartbeat=Heartbeat.EXPIRED), True),
    "not announced": (lambda: world().pool("a", heartbeat=None), True),
    "left": (lambda: world().pool("a", heartbeat=Heartbeat.LEFT), False),
    "unknown": (lambda: Small(), True),
}


@pytest.mark.parametrize(("make", "is_lost"), FACTS.values(), ids=FACTS)
def test_a_pool_is_lost_when_it_does_not_report_or_is_unknown(
    make: Callable[[], Small], is_lost: bool
) -> None:
    requests = PoolRequests(ended=frozenset({STORE}))
    fact = pool_fact(make(), edit_of(machine("web", on="a")), requests)
    assert (fact.is_lost, fact.ended) == (is_lost, requests.ended)
    assert not pool_fact(make(), edit_of(machine("web")), requests).is_lost


def due(name: str, is_due: bool = True) -> Drain:
    known = machine(name, on="a")
    return Drain(**edit_of(known).need_fields(), reason="drained", is_ordered=False, is_due=is_due)


def leaving(*names: str) -> list[ObjectState]:
    return [order_eviction(machine(name, on="a")) for name in names]


# machines with an order on live, needs of this tick, limits (new, old) -> machines that get an order
EVICTIONS: dict[str, tuple[list[str], list[str], tuple[int, int], set[str]]] = {
    "fewer than the limit": ([], ["a", "b"], (5, 5), {"a", "b"}),
    "as many as the limit": ([], ["a", "b"], (2, 2), {"a", "b"}),
    "more than the limit": ([], ["a", "b", "c"], (2, 2), {"a", "b"}),
    "those on live count": (["x"], ["a", "b"], (2, 2), {"a"}),
    "those on live use up the limit": (["x", "y"], ["a", "b"], (2, 2), set()),
    "more on live than a limit that was lowered": (["x", "y", "z"], ["a"], (2, 2), set()),
    "a limit that the same commit raised": ([], ["a", "b"], (9, 1), {"a"}),
    "a limit that the same commit lowered": ([], ["a", "b"], (1, 9), {"a"}),
}


@pytest.mark.parametrize(("ordered", "names", "limits", "want"), EVICTIONS.values(), ids=EVICTIONS)
def test_no_more_machines_leave_at_once_than_both_limits_allow(
    ordered: list[str], names: list[str], limits: tuple[int, int], want: set[str]
) -> None:
    found = world(*leaving(*ordered), *(machine(name, on="a") for name in names))
    settings = found.rules.settings
    new, old = (
        msgspec.structs.replace(settings, limits=msgspec.structs.replace(settings.limits, evict=count))
        for count in limits
    )
    found.rules = Rules(new, before=old)
    needs = {need.key.name: need for need in order_evictions(found, [due(name) for name in names], NOW)}
    assert {name for name, need in needs.items() if is_evicted(need)} == want
    for name, need in needs.items():
        assert need.is_ordered is (name in want)
        assert need.due == (None if name in want else NOW + QUEUED)
        assert need.record.pool == "a", "the assignment stays until its pool reports the end"


def test_an_order_that_ends_in_this_tick_lets_another_machine_leave() -> None:
    found = world(*leaving("x"), machine("a", on="a"))
    settings = found.rules.settings
    one = msgspec.structs.replace(settings, limits=msgspec.structs.replace(settings.limits, evict=1))
    found.rules = Rules(one, before=one)
    ended = Place(**edit_of(found.objects[key("x")]).unassign().need_fields())
    (need,) = order_evictions(found, [ended, due("a")], NOW)
    assert is_evicted(need)


def test_only_machines_that_are_due_get_an_order() -> None:
    found = world(machine("a", on="a"))
    assert list(order_evictions(found, [due("a", is_due=False)], NOW)) == []


def test_the_machine_of_least_priority_leaves_first_and_then_the_first_by_name() -> None:
    found = world(
        *(machine(name, on="a", spec={"priority": weight}) for name, weight in (("a", 9), ("b", 1), ("c", 1)))
    )
    order = [need.key.name for need in order_evictions(found, [due("c"), due("a"), due("b")], NOW)]
    assert order == ["b", "c", "a"]


ANNOTATIONS: dict[str, tuple[Origin, tuple[str, ...], set[str], set[str]]] = {
    "nothing to show": (Origin.DECLARED, (), set(), set()),
    "a frozen file": (Origin.FROZEN, (), set(), {ACCEPTED}),
    "a refused claim": (Origin.DECLARED, ("c reports it",), set(), {CLAIM_REFUSED}),
    "both": (Origin.FROZEN, ("c reports it",), set(), {ACCEPTED, CLAIM_REFUSED}),
    "a refused claim that ended": (Origin.DECLARED, (), {CLAIM_REFUSED}, set()),
    "a frozen file, and a refused claim that ended": (Origin.FROZEN, (), {CLAIM_REFUSED}, {ACCEPTED}),
}


@pytest.mark.parametrize(("origin", "refused", "before", "want"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_a_frozen_file_and_a_refused_claim_are_shown_whatever_the_need(
    origin: Origin, refused: tuple[str, ...], before: set[str], want: set[str]
) -> None:
    found = world(machine("web", on="a", origin=origin))
    found.refused[WEB] = refused
    edit = edit_of(found.objects[WEB])
    for type in before:
        edit = edit.set_condition(type, "True", "NotPoolOwner", "c reported it")
    need = annotate(found, Keep(**edit.need_fields()), NOW)
    assert {type for type in (ACCEPTED, CLAIM_REFUSED) if need.record.condition(type)} == want
    assert need.record.assignment == found.objects[WEB].record.assignment
    again = annotate(found, need, NOW)
    assert (again.record, again.change_reasons) == (need.record, need.change_reasons)


def test_three_refused_claims_are_shown_in_their_order() -> None:
    found = world(machine("web", on="a"))
    found.refused[WEB] = ("d", "b", "c", "a")
    need = annotate(found, Keep(**edit_of(found.objects[WEB]).need_fields()), NOW)
    shown = need.record.condition(CLAIM_REFUSED)
    assert shown is not None
    assert shown.message == "a; b; c"


def test_an_object_without_a_known_problem_is_frozen_with_its_file() -> None:
    message = "its file in the source cannot be used; the last good version is kept"
    assert why_frozen(world(), machine("web")) == message


def test_a_need_of_an_object_that_the_world_does_not_have_yet_is_not_annotated() -> None:
    need = Keep(**edit_of(machine("web", is_new=True)).need_fields())
    assert annotate(world(), need, NOW) is need


def generate_objects(found: Small) -> dict[Key, Need]:
    return {need.key: need for need in decide_needs(found, {WEB}, NOW) if need.key != WEB}


def test_the_entries_of_a_machine_generate_their_objects_with_the_machine() -> None:
    needs = generate_objects(world(machine("web", spec=EPHEMERAL)))
    assert needs.keys() == {SCRATCH, PORT}
    for need in needs.values():
        assert (need.before, need.body is not None) == (None, True)
        assert need.record.uid == make_uid(FLEET, need.key, SOURCE)
        assert [each.uid for each in need.record.owners] == [uid_of("web")]
        assert Action.GENERATE in {each.action for each in need.change_reasons}


GENERATORS: dict[str, tuple[ObjectState, bool]] = {
    "an unplaced machine": (machine("web", spec=EPHEMERAL), True),
    "a placed machine": (machine("web", on="a", spec=EPHEMERAL), True),
    "a blocked machine on no pool": (
        machine("web", spec=EPHEMERAL | {"ignitionRef": {"name": "none"}}),
        False,
    ),
    "a blocked machine that is placed": (
        machine("web", on="a", spec=EPHEMERAL | {"ignitionRef": {"name": "none"}}),
        True,
    ),
    "a machine that left the source": (
        machine("web", spec=EPHEMERAL, origin=Origin.LEAVING),
        False,
    ),
}


@pytest.mark.parametrize(("owner", "want"), GENERATORS.values(), ids=GENERATORS)
def test_only_a_machine_that_goes_on_generates_objects(owner: ObjectState, want: bool) -> None:
    assert (generate_objects(world(owner)).keys() >= {SCRATCH}) is want


def test_a_blocked_machine_has_no_owned_objects_before_it_is_placed() -> None:
    known = machine("web", spec=EPHEMERAL)
    blocked = Blocked(**edit_of(known).need_fields(), reason="Missing")
    assert list(owned_objects(world(), blocked, known, NOW)) == []
    assert (
        list(owned_objects(world(), Keep(**edit_of(volume("data")).need_fields()), volume("data"), NOW)) == []
    )


def test_an_ordered_deletion_of_a_machine_generates_nothing_and_takes_its_objects_along() -> None:
    scratch = volume("web-scratch", on="a", origin=Origin.GENERATED, ownerReferences=[OWNER])
    found = world(machine("web", on="a", spec=EPHEMERAL), scratch).order_deletion(WEB)
    found.relations.absent.add(SCRATCH)
    needs = generate_objects(found)
    assert isinstance(needs[SCRATCH], Remove)
    assert PORT not in needs


def scratch(known: ObjectState | None = None, size: str = "1Gi", **changes: Any) -> bool:
    """Whether the document of the generated volume has to be written."""
    entry = EPHEMERAL["volumes"][0]
    spec = {"volumeClassRef": {"name": "fast"}, "resources": {"storage": size}}
    template = {"name": entry["name"], "ephemeral": {"volumeTemplate": {"spec": spec, **changes}}}
    owner = machine("web", spec={"volumes": [template]})
    assert isinstance(owner.object, Machine)
    (expansion,) = expansions(owner.object, uid_of("web"))
    return differs(known if known is not None else new_object(world(), expansion, NOW), expansion)


ON_LIVE = volume("web-scratch", origin=Origin.GENERATED, ownerReferences=[OWNER])
DIFFERENCES: dict[str, tuple[bool, bool]] = {
    "new": (scratch(), True),
    "as it is on live": (scratch(ON_LIVE), False),
    "another size": (scratch(ON_LIVE, "2Gi"), True),
    "another label": (scratch(ON_LIVE, metadata={"labels": {"tier": "db"}}), True),
    "the reconciler wrote its pool": (
        scratch(volume("web-scratch", on="a", spec={"volumePoolRef": {"name": "a"}}, ownerReferences=[OWNER])),
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "want"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_a_generated_document_is_written_only_when_the_entry_changed(found: bool, want: bool) -> None:
    assert found is want


def card(ref: str | None = "web-lan", state: Any = "Attached") -> MachineNetworkInterfaceStatus:
    reference = NameRef(name=ref) if ref is not None else None
    return MachineNetworkInterfaceStatus(
        name="lan", state=state, ips=("10.0.0.7",), network_interface_ref=reference
    )


def with_card(*shown: MachineNetworkInterfaceStatus) -> ObjectState:
    known = machine("web", on="a", spec=EPHEMERAL)
    return msgspec.structs.replace(known, record=edit_of(known).with_status(network_interfaces=shown).record)


INTERFACES: dict[str, tuple[tuple[ObjectState, ...], str, tuple[str, ...]]] = {
    "no machine": ((), "", ()),
    "a machine that reports nothing of it": ((with_card(),), "", ()),
    "attached": ((with_card(card()),), "Available", ("10.0.0.7",)),
    "not attached yet": ((with_card(card(state="Pending")),), "Pending", ("10.0.0.7",)),
    "another interface": ((with_card(card("other")),), "", ()),
    "an interface without a name": ((with_card(card(None)),), "", ()),
}


@pytest.mark.parametrize(("machines", "state", "ips"), INTERFACES.values(), ids=INTERFACES)
def test_an_interface_repeats_what_its_machine_reports(
    machines: tuple[ObjectState, ...], state: str, ips: tuple[str, ...]
) -> None:
    lan = make_object(Kind.NETWORK_INTERFACE, "web-lan", {"networkRef": {"name": "office"}})
    found = world(lan, *machines)
    edit = update_interface(found, edit_of(lan), {})
    status = edit.record.status
    assert isinstance(status, NetworkInterfaceStatus)
    assert (status.state, status.ips) == (state, ips)
    assert bool(edit.change_reasons) is (state != "")
    again = update_interface(found, msgspec.structs.replace(edit, change_reasons=()), {})
    assert again.change_reasons == ()


def test_an_interface_shows_what_this_tick_makes_of_its_machine() -> None:
    lan = make_object(Kind.NETWORK_INTERFACE, "web-lan", {"networkRef": {"name": "office"}})
    needs = {WEB: Keep(**edit_of(with_card(card())).need_fields())}
    after = update_interface(world(lan, with_card()), edit_of(lan), needs).record.status
    assert getattr(after, "state", "") == "Available"
    assert cards(volume("data").record, PORT) == ()


def test_an_end_of_an_assignment_keeps_rejections_own_conditions_and_nothing_reported() -> None:
    known = order_eviction(machine("web", on="a"))
    refused = (Rejection(pool="b", count=2, time="2026-03-01T12:00:00Z"),)
    edit = edit_of(known).with_status(machine_id="sim://1", state="Running", rejections=refused, restart="r1")
    edit = edit.set_condition("Scheduled", "True", "Placed").set_condition("Ready", "True", "Running")
    after = edit.unassign()
    status = after.record.status
    assert isinstance(status, MachineStatus)
    assert (after.record.pool, status.assignment, status.evict, status.machine_id) == ("", None, None, "")
    assert (status.state, status.rejections, status.restart) == ("Pending", refused, "r1")
    assert [each.type for each in status.conditions] == ["Scheduled"]
    assert edit_of(OFFICE).unassign().record == edit_of(OFFICE).record


def test_the_earliest_moment_to_look_again_counts() -> None:
    early, late = NOW + timedelta(seconds=1), NOW + timedelta(seconds=9)
    edit = edit_of(machine("web"))
    assert edit.recheck_by(None).due is None
    assert edit.recheck_by(late).recheck_by(early).due == early
    assert edit.recheck_by(early).recheck_by(late).recheck_by(None).due == early


def test_a_condition_that_is_cleared_and_set_in_one_tick_keeps_its_transition_time() -> None:
    written = edit_of(machine("web")).set_condition("Accepted", "False", "Missing", "one").record
    known = msgspec.structs.replace(machine("web"), record=written)
    later = ObjectEdit(known, written, NOW + timedelta(hours=1))
    same = later.clear_condition("Accepted").set_condition("Accepted", "False", "Missing", "two")
    other = later.clear_condition("Accepted").set_condition("Accepted", "True", "Fine", "three")
    before, after, moved = (each.condition("Accepted") for each in (edit_of(known), same, other))
    assert before is not None
    assert after is not None
    assert moved is not None
    assert after.last_transition_time == before.last_transition_time
    assert moved.last_transition_time > before.last_transition_time


def test_a_plan_asks_the_scheduler_only_when_something_needs_a_pool() -> None:
    idle = world(machine("web", on="a"))
    assert make_plan(idle, WorldChanges(), NOW).changes == ()
    plan = make_plan(world(machine("web")), WorldChanges(dirty=frozenset({WEB})), NOW)
    assert [each.key for each in plan.unschedulable] == [WEB]
    assert [(change.key, change.action) for change in plan.changes] == [(WEB, Action.UNSCHEDULABLE)]
