"""Errors between objects come and go with either of them, and a World that is brought up to date has those that a new one has."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from reconciler.world.world import World
from tests.reconciler.world.scene import (
    LAN,
    RESTORED,
    SNAPSHOT,
    Scene,
    attach_interface,
    ephemeral,
    interface,
    machine,
    pool,
    using,
    volume,
    volume_pool,
)

Codes = dict[str, list[str]]

QUOTA = "apiVersion: core.ironcore.dev/v1alpha1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {requests.cpu: 3}}\n"
MAC = "02:00:00:00:00:01"
PINNED = f"{using('data')}  machinePoolRef: {{name: pool-a}}\n"


def codes(world: World) -> Codes:
    return {key.name: [each.code for each in found] for key, found in world.faults.items()}


class Change(NamedTuple):
    id: str
    files: dict[str, str]
    before: Codes
    change: dict[str, str | None]
    after: Codes


STORED = {"data": volume("data", "  volumePoolRef: {name: store-a}\n"), "web": machine("web", PINNED)}

CHANGES = [
    Change(
        "the volume is released by the machine that had it first",
        {"a": machine("a", using("data")), "b": machine("b", using("data")), "data": volume("data")},
        {"b": ["GV320"]},
        {"a": machine("a")},
        {},
    ),
    Change(
        "the machine that had the volume first is removed",
        {"a": machine("a", using("data")), "b": machine("b", using("data")), "data": volume("data")},
        {"b": ["GV320"]},
        {"a": None},
        {},
    ),
    Change(
        "the interface is released by the machine that had it first",
        {"lan": LAN, "x": interface("x"), "a": machine("a", attach_interface("x")), "b": machine("b", attach_interface("x"))},
        {"b": ["GV321"]},
        {"a": machine("a")},
        {},
    ),
    Change("an address is used again", {"lan": LAN, "x": interface("x")}, {}, {"y": interface("y")}, {"y": ["GV341"]}),
    Change(
        "the first user of an address gets another one",
        {"lan": LAN, "x": interface("x"), "y": interface("y")},
        {"y": ["GV341"]},
        {"x": interface("x", "10.0.0.6")},
        {},
    ),
    Change(
        "the first user of a MAC address is removed",
        {"lan": LAN, "x": interface("x", "", MAC), "y": interface("y", "", MAC.upper())},
        {"y": ["GV343"]},
        {"x": None},
        {},
    ),
    Change(
        "an ephemeral interface gets the address of a declared one",
        {"lan": LAN, "x": interface("x"), "a": machine("a", ephemeral("10.0.0.6"))},
        {},
        {"a": machine("a", ephemeral("10.0.0.5"))},
        {"a": ["GV341"]},
    ),
    Change(
        "a declared interface leaves its address to an ephemeral one",
        {"lan": LAN, "x": interface("x"), "a": machine("a", ephemeral("10.0.0.5"))},
        {"a": ["GV341"]},
        {"x": interface("x", "10.0.0.6")},
        {},
    ),
    Change(
        "a restored volume is made smaller than the one of its snapshot",
        {"data": volume("data"), "snap": SNAPSHOT, "copy": volume("copy", RESTORED)},
        {},
        {"copy": volume("copy", RESTORED, "5Gi")},
        {"copy": ["GV351"]},
    ),
    Change(
        "the volume of the snapshot is made as small as the restored one",
        {"data": volume("data"), "snap": SNAPSHOT, "copy": volume("copy", RESTORED, "5Gi")},
        {"copy": ["GV351"]},
        {"data": volume("data", size="5Gi")},
        {},
    ),
    Change(
        "the volume pool of a pin is opened to the machine pool",
        {**STORED, "a": pool("pool-a", labels="{rack: b}"), "store": volume_pool("a")},
        {"web": ["GV317"]},
        {"store": volume_pool("b")},
        {},
    ),
    Change(
        "the volume pool of a pin is closed to the machine pool",
        {**STORED, "a": pool("pool-a", labels="{rack: b}"), "store": volume_pool("b")},
        {},
        {"store": volume_pool("a")},
        {"web": ["GV317"]},
    ),
    Change(
        "the machine pool of a pin gets the label that the volume pool asks for",
        {**STORED, "a": pool("pool-a", labels="{rack: b}"), "store": volume_pool("a")},
        {"web": ["GV317"]},
        {"a": pool("pool-a", labels="{rack: a}")},
        {},
    ),
    Change(
        "the machine changes while its pins do not fit",
        {**STORED, "a": pool("pool-a", labels="{rack: b}"), "store": volume_pool("a")},
        {"web": ["GV317"]},
        {"web": machine("web", f"{PINNED}  power: Off\n")},
        {"web": ["GV317"]},
    ),
    Change(
        "a volume is pinned to a volume pool that its machine's pin cannot reach",
        {**STORED, "data": volume("data"), "a": pool("pool-a"), "store": volume_pool("a")},
        {},
        {"data": STORED["data"]},
        {"web": ["GV317"]},
    ),
    # Over all of a namespace: for the scheduler, which asks the ledger, and for `gitvirt validate`.
    Change("a namespace declares more than its quota", {"q": QUOTA, "a": machine("a")}, {}, {"b": machine("b")}, {}),
]  # fmt: skip


@pytest.mark.parametrize("each", CHANGES, ids=[each.id for each in CHANGES])
def test_an_error_comes_and_goes_with_each_object_that_takes_part(each: Change) -> None:
    scene = Scene({f"{name}.yaml": text for name, text in each.files.items()})
    world = scene.world()
    assert codes(world) == each.before
    scene.source({f"{name}.yaml": text for name, text in each.change.items()})
    dirty = {key.name for key in scene.step(world).dirty}
    assert codes(world) == each.after
    assert {name for name in each.before.keys() ^ each.after.keys()} <= dirty
    assert world.faults == scene.world().faults
