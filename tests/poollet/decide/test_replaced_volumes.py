"""A disk entry that names another volume than before: how long the former one stays attached, and what the report says meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from iri.identity import UID_LABELS
from iri.volume import RuntimeVolume
from poollet.decide.decision import Decision
from poollet.sync.live_view import LiveDocument
from schemas.kinds import Kind
from tests.poollet.documents import machine, uid_of, volume
from tests.poollet.site import Site, kinds_of, site

RELEASED = "1" * 40
OF_WEB: dict[str, str] = {"claim": "web", "released": RELEASED}
OF_DB: dict[str, str] = {"claim": "db", "released": RELEASED}


def with_disk(name: str, of: str, **more: Any) -> LiveDocument:
    """A machine whose disk `data` is that volume."""
    return machine(name, spec={"volumes": [{"name": "data", "volumeRef": {"name": of}}]}, **more)


def with_access(here: Site, name: str, **more: Any) -> LiveDocument:
    """A volume, with the access data that its host has reported."""
    uid = uid_of(Kind.VOLUME, name)
    (found,) = [one for one in here.volumes().values() if one.labels[UID_LABELS[RuntimeVolume]] == uid]
    access = found.status.access
    assert access is not None
    status = {"state": "Available", "access": {"driver": access.driver, "handle": access.handle}}
    return volume(name, status=status, **more)


def pair() -> Site:
    """Machine web has volume one, machine db has volume two."""
    here = site(
        with_disk("web", "one"), with_disk("db", "two"), volume("one", claim="web"), volume("two", claim="db")
    )
    here.settle()
    here.put(with_access(here, "one", claim="web"), with_access(here, "two", claim="db"))
    here.settle()
    here.calls.clear()
    return here


def disks(decision: Decision, name: str) -> list[tuple[str, str, str]]:
    """Entry, volume and state of the disks that the report has of a machine."""
    status = decision.machines["default", name].status
    assert status is not None
    return [(one.name, one.volume_ref.name if one.volume_ref else "", one.state) for one in status.volumes]


def list_attached(here: Site) -> dict[str, str]:
    """Volume by machine."""
    names = {
        volume.status.access.handle: volume for volume in here.volumes().values() if volume.status.access
    }
    uids = {uid_of(kind, name): name for kind in Kind for name in ("web", "db", "app", "one", "two")}
    return {
        uids[machine.labels[UID_LABELS[type(machine)]]]: uids[
            names[disk.handle].labels[UID_LABELS[RuntimeVolume]]
        ]
        for machine in here.machines().values()
        for disk in machine.status.volumes
    }


def test_machines_that_swap_their_volumes_both_detach_the_former_one() -> None:
    here = pair()
    here.put(
        with_disk("web", "two"),
        with_disk("db", "one"),
        with_access(here, "one", **OF_WEB),
        with_access(here, "two", **OF_DB),
    )
    decision = here.settle()
    assert kinds_of(here.calls) == ["DetachVolume", "DetachVolume"]
    assert disks(decision, "web") == [("data", "two", "Pending")]
    assert disks(decision, "db") == [("data", "one", "Pending")]
    here.put(with_access(here, "one", claim="db"), with_access(here, "two", claim="web"))
    decision = here.settle()
    assert list_attached(here) == {"web": "two", "db": "one"}
    assert disks(decision, "web") == [("data", "two", "Attached")]


# who else names volume `one`, its claim, whether web detaches it while its new volume is db's
FORMER: dict[str, tuple[LiveDocument | None, dict[str, str], bool]] = {
    "no machine waits for it": (None, OF_WEB, False),
    "another machine waits for it": (with_disk("app", "one"), OF_WEB, True),
    "another machine has its claim": (with_disk("app", "one"), {"claim": "app"}, True),
    "the claim is not released yet": (with_disk("app", "one"), {"claim": "web"}, False),
    "it has no claim": (with_disk("app", "one"), {}, False),
    "the other machine is to be deleted": (with_disk("app", "one", going=True), OF_WEB, False),
    "the other machine is kept for an undo": (
        with_disk("app", "one", status={"undo": {"until": "2026-03-01T12:10:00Z"}}),
        OF_WEB,
        False,
    ),
}


@pytest.mark.parametrize(("other", "claim", "detaches"), FORMER.values(), ids=FORMER.keys())
def test_the_former_volume_stays_until_another_machine_waits_for_it(
    other: LiveDocument | None, claim: dict[str, str], detaches: bool
) -> None:
    here = pair()
    here.put(with_disk("web", "two"), with_access(here, "one", **claim), *([other] if other else []))
    decision = here.rounds(8, 2.5)
    changes = [kind for kind in kinds_of(here.calls) if kind.endswith("Volume")]
    assert changes == (["DetachVolume"] if detaches else [])
    assert list_attached(here).get("web") == (None if detaches else "one")
    assert disks(decision, "web") == [("data", "two", "Pending") if detaches else ("data", "one", "Attached")]


def test_a_volume_that_another_entry_of_the_machine_names_is_attached_once() -> None:
    here = pair()
    both = [{"name": "data", "volumeRef": {"name": "two"}}, {"name": "more", "volumeRef": {"name": "one"}}]
    here.put(machine("web", spec={"volumes": both}), with_access(here, "one", claim="web"))
    decision = here.rounds(8, 2.5)
    changes = [kind for kind in kinds_of(here.calls) if kind.endswith("Volume")]
    assert changes == ["DetachVolume", "AttachVolume"]
    assert disks(decision, "web") == [("data", "two", "Pending"), ("more", "one", "Attached")]


def test_a_volume_that_the_machine_gets_is_attached_before_the_former_one_is_missed() -> None:
    """The new one is ready: as without another machine."""
    here = pair()
    here.put(with_disk("web", "new"), volume("new", claim="web"), with_access(here, "one", **OF_WEB))
    here.settle()
    changes = [kind for kind in kinds_of(here.calls) if kind.endswith("Volume")]
    assert changes == ["DetachVolume", "AttachVolume"]
