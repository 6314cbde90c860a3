"""What a deleted machine that is kept, or whose deletion is held, shares with others: classes, Secrets, pools and addresses."""

from __future__ import annotations

import pytest

from reconciler.gitstore.approval import TRAILER
from schemas.kinds import Key, Kind
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_undo import LOCAL, condition, fleet, identity, run_until_over
from tests.reconciler.world.scene import LAN, SETTINGS, SMALL, attach_interface, interface, machine, pool

SECRET = 'apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {ignition.yaml: "{}"}\n'
SPARES = {f"key{number}": SECRET.replace("key", f"key{number}") for number in range(2)}
IGNITION = "  ignitionRef: {name: key}\n"
MAC = "52:54:00:00:00:05"
ALLOW = f"{SETTINGS}limits: {{undo: 1m}}\nsecrets: {{plain: allow}}\n"


def is_deleting(world: Fleet, *kinds: Kind) -> set[Key]:
    return {key for _, key, found in world.documents() if key.kind in kinds and found.metadata.is_deleting}


@pytest.mark.parametrize("is_approved", [False, True], ids=["reverted", "approved"])
def test_what_machines_need_whose_deletion_is_held_waits_with_them(is_approved: bool) -> None:
    names = [f"web{number}" for number in range(6)]
    files = {name: machine(name, f"{LOCAL}{IGNITION}", size="big") for name in names}
    files |= {"big": SMALL.replace("small", "big"), "key": SECRET}
    world = fleet(Host("a", machines=20), **files, **SPARES, gitvirt=ALLOW)
    before = [identity(world, name) for name in names]
    world.source({f"{name}.yaml": None for name in files})
    world.settle()
    assert not is_deleting(world, *Kind)
    (pending,) = world.plans[-1].pending_approvals
    assert {key.name for key in pending.keys} == {*names}
    if is_approved:
        world.source({"note.txt": "x"}, **{TRAILER: pending.trailer.split()[-1]})
        world.settle()
        assert not is_deleting(world, Kind.MACHINE_CLASS, Kind.SECRET)
        run_until_over(world)
        assert not {f"{name}.yaml" for name in files} & world.texts().keys()
    else:
        world.source({f"{name}.yaml": text for name, text in files.items()})
        world.settle()
        assert [identity(world, name) for name in names] == before
        assert {world.machine(name).status.state for name in names} == {"Running"}


def test_a_secret_and_a_pool_wait_with_a_kept_machine() -> None:
    pinned = machine("web", f"{LOCAL}{IGNITION}  machinePoolRef: {{name: a}}\n")
    files = {"web": pinned, "key": SECRET, "a": pool("a")}
    world = fleet(Host("a"), Host("b"), **files, **SPARES, b=pool("b"), c=pool("c"), gitvirt=ALLOW)
    before = identity(world)
    world.source({f"{name}.yaml": None for name in files})
    world.settle()
    assert world.machine("web").status.undo is not None
    assert not is_deleting(world, *Kind)
    world.source({f"{name}.yaml": text for name, text in files.items()})
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.state == "Running"


@pytest.mark.parametrize("other", ["other", "quay"])  # before and after `port`
def test_a_mac_address_that_another_machine_needs_goes_to_it(other: str) -> None:
    web = {
        "web": machine("web", f"{LOCAL}{attach_interface('port')}"),
        "port": interface("port", "10.0.0.5", MAC),
    }
    new = {
        "new": machine("new", attach_interface(other)),
        other: interface(other, "10.0.0.6", MAC),
    }
    world = fleet(**web, lan=LAN)
    before = identity(world)
    world.source({f"{name}.yaml": None for name in web})
    world.source({f"{name}.yaml": text for name, text in new.items()})
    world.settle()
    assert world.machine("new").status.state == "Running"
    world.source({f"{name}.yaml": text for name, text in web.items()})
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.undo is not None
    assert condition(world, "web", "Accepted") == ("False", "GV343")
    assert world.machine("new").status.state == "Running"
    world.source({f"{name}.yaml": None for name in new})
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.undo is None
