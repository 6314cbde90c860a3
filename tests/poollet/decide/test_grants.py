"""The fence on the host: it acts on assignments that name it and the epoch of its pool's grant, and on no others."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from iri.machine import Power, RuntimeMachine
from iri.simulated.profile import Profile
from poollet.decide.gates import HostPermissions
from poollet.decide.memory import Memory
from poollet.sync.live_view import OrphanOrder, PoolGrant, PoolId
from schemas.kinds import Kind
from tests.poollet.documents import EPOCH, HOST, machine, snapshot, uid_of, volume
from tests.poollet.site import CLASSES_THERE, DISKS, A, Site, kinds_of, site

WEB = ("default", "web")
OTHER = "another host"
OURS = {A: PoolGrant(HOST, EPOCH), DISKS: PoolGrant(HOST, EPOCH)}
Grants = Mapping[PoolId, PoolGrant]

# What the assignment names, what `live` grants, whether `live` is applied: whether it is created; and if it is here, whether it runs on.
CASES: dict[str, tuple[str, int, Grants, bool, bool, bool]] = {
    "own host and epoch": (HOST, EPOCH, OURS, True, True, True),
    "other host, our grant": (OTHER, EPOCH, OURS, True, False, False),
    "other host, its grant": (OTHER, EPOCH, {A: PoolGrant(OTHER, EPOCH)}, True, False, False),
    "own host, granted to another": (HOST, EPOCH, {A: PoolGrant(OTHER, EPOCH + 1)}, True, False, False),
    "older epoch": (HOST, EPOCH - 1, OURS, True, False, True),
    "newer epoch": (HOST, EPOCH + 1, OURS, True, False, True),
    "not granted": (HOST, EPOCH, {}, True, False, True),
    "no host": ("", EPOCH, OURS, True, False, True),
    "no host and no epoch": ("", 0, OURS, True, False, True),
    "other host, not granted": (OTHER, EPOCH, {}, True, False, False),
    "live not applied": (HOST, EPOCH, OURS, False, False, True),
    "other host, live not applied": (OTHER, EPOCH, OURS, False, False, True),
}


def scene(grants: Grants, is_applied: bool) -> Site:
    here = site()
    here.grants = dict(grants)
    here.host = HostPermissions(is_live_applied=is_applied)
    return here


@pytest.mark.parametrize(
    ("host", "epoch", "grants", "is_applied", "is_created", "_runs_on"), CASES.values(), ids=CASES.keys()
)
def test_only_what_is_granted_is_created(
    host: str, epoch: int, grants: Grants, is_applied: bool, is_created: bool, _runs_on: bool
) -> None:
    here = scene(grants, is_applied)
    here.put(
        machine(host=host, epoch=epoch), volume(host=host, epoch=epoch), snapshot(host=host, epoch=epoch)
    )
    decision = here.settle()
    count = 1 if is_created else 0
    assert (len(here.machines()), len(decision.machines)) == (count, count)
    disks = count if DISKS in grants else 0
    assert (len(here.volumes()), len(decision.volumes), len(decision.snapshots)) == (disks, disks, disks)


@pytest.mark.parametrize(
    ("host", "epoch", "grants", "is_applied", "is_ours", "runs_on"), CASES.values(), ids=CASES.keys()
)
@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_is_here_is_never_removed_and_powered_off_where_another_host_may_run_it(
    host: str,
    epoch: int,
    grants: Grants,
    is_applied: bool,
    is_ours: bool,
    runs_on: bool,
    is_restarted: bool,
) -> None:
    here = site(machine())
    here.settle()
    here.calls.clear()
    here.grants, here.host = dict(grants), HostPermissions(is_live_applied=is_applied)
    here.put(machine(host=host, epoch=epoch))
    if is_restarted:
        here.memory = Memory()
    decision = here.settle()
    (there,) = here.machines().values()
    assert (there.spec.power is Power.ON) is runs_on
    assert kinds_of(here.calls) == ([] if runs_on else ["SetPower"])
    is_known = is_ours or (not is_applied and not is_restarted)
    assert (WEB in decision.machines) is is_known
    assert len(decision.orphans) == (0 if is_known else 1)
    if not runs_on:
        assert f"to host {OTHER}" in decision.orphans[0].reason


FENCED_TOO = {
    "paused": {"annotations": {"gitvirt.dev/paused": "true"}},
    "ordered to go": {"going": True},
    "on another pool": {"pool": "b"},
    "aside, on its way out": {"path": ".gitvirt/deleting/Machine/default/web.yaml", "going": True},
}


@pytest.mark.parametrize("more", FENCED_TOO.values(), ids=FENCED_TOO.keys())
def test_a_fence_counts_whatever_else_live_says_of_the_object(more: dict[str, object]) -> None:
    here = site(machine())
    here.settle()
    here.drop(machine())
    here.put(machine(host=OTHER, **more))  # type: ignore[arg-type]
    decision = here.settle()
    (there,) = here.machines().values()
    assert there.spec.power is Power.OFF
    assert "Fenced" in here.events
    assert decision.machines == {}


@pytest.mark.parametrize(
    "host",
    [HostPermissions(has_lease=False), HostPermissions(has_landed=False)],
    ids=["candidate", "nothing landed"],
)
def test_a_host_without_the_lease_or_a_report_fences_and_does_nothing_else(host: HostPermissions) -> None:
    here = site(machine("db"), machine())
    here.settle()
    here.calls.clear()
    here.host = host
    here.put(machine("new"), machine("db", going=True), machine(host=OTHER))
    here.settle()
    assert kinds_of(here.calls) == ["SetPower"]
    powers = {
        one.labels["machinepoollet.ironcore.dev/machine-name"]: one.spec.power
        for one in here.machines().values()
    }
    assert powers == {"db": Power.ON, "web": Power.OFF}


def test_a_fence_says_why_for_the_log() -> None:
    here = site(machine())
    here.settle()
    here.put(machine(host=OTHER))
    (action,) = here.decide().actions
    assert (
        action.why
        == f"powered off: `live` assigns it to host {OTHER}; it does not run here, and its data is kept"
    )


def test_what_is_fenced_stays_off_and_comes_back_with_its_assignment() -> None:
    here = site(machine())
    here.settle()
    here.put(machine(host=OTHER))
    here.settle()
    here.put(machine(round=1))
    decision = here.settle()
    (there,) = here.machines().values()
    assert there.spec.power is Power.ON
    assert decision.orphans == ()
    assert decision.machines[WEB].phase == "present"


def test_what_is_fenced_goes_by_its_orphan_file_once_it_is_off() -> None:
    """A host that people took for destroyed is back: its copies stay until a person deletes each."""
    here = site(machine(), volume())
    here.settle()
    here.calls.clear()
    here.put(machine(host=OTHER), volume(host=OTHER))
    here.orphan_orders = (OrphanOrder(uid_of(Kind.MACHINE, "web"), "elsewhere"),)
    here.settle()
    assert (kinds_of(here.calls), len(here.machines()), len(here.volumes())) == (["SetPower"], 1, 1)
    here.orphan_orders = (
        OrphanOrder(uid_of(Kind.MACHINE, "web"), "a"),
        OrphanOrder(uid_of(Kind.VOLUME, "data"), "disks"),
    )
    decision = here.settle()
    assert (here.machines(), here.volumes(), decision.orphans) == ({}, {}, ())


@pytest.mark.parametrize(
    "host",
    [HostPermissions(has_lease=False), HostPermissions(has_landed=False)],
    ids=["candidate", "nothing landed"],
)
def test_a_candidate_removes_nothing_that_it_fenced(host: HostPermissions) -> None:
    here = site(machine())
    here.settle()
    here.calls.clear()
    here.host = host
    here.put(machine(host=OTHER))
    here.orphan_orders = (OrphanOrder(uid_of(Kind.MACHINE, "web"), "a"),)
    here.settle()
    assert (kinds_of(here.calls), len(here.machines())) == (["SetPower"], 1)


def test_data_of_another_host_is_kept_and_reported() -> None:
    here = site(volume())
    here.settle()
    here.calls.clear()
    here.put(volume(host=OTHER))
    decision = here.settle()
    assert (here.calls, len(here.volumes())) == ([], 1)
    assert [(one.kind, one.uid, one.reason) for one in decision.orphans] == [
        ("Volume", uid_of(Kind.VOLUME, "data"), f"`live` assigns it to host {OTHER}; its data here is kept")
    ]


def test_all_objects_of_a_uid_assigned_to_another_host_are_powered_off() -> None:
    profile = Profile(classes=CLASSES_THERE, behavior_flags={"duplicates": True})
    here = site(machine(), profile=profile)
    here.settle()
    (there,) = here.machines().values()
    here.sim.runtime.create(RuntimeMachine(labels=there.labels, spec=there.spec))
    here.calls.clear()
    here.put(machine(host=OTHER))
    here.settle()
    assert kinds_of(here.calls) == ["SetPower", "SetPower"]
    assert [one.spec.power for one in here.machines().values()] == [Power.OFF, Power.OFF]
