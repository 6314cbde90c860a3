"""What a plan prints is what a real libvirt does with QEMU guests: each kind of change of a field, merged and compared."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.settings import Settings
from tests.iri.libvirt.world import MIB, micro_settings, running_runtime
from tests.poollet.effects_bench import (
    NETWORKING,
    STORAGE,
    Checked,
    Documents,
    check,
    document,
    local,
    machine,
    nic,
    volume,
)
from tests.poollet.fleet import SETTINGS, machine_class
from tests.poollet.libvirt_bench import LibvirtBench
from tests.servers.libvirtd import Libvirtd

OWN = {
    "name": "own",
    "ephemeral": {
        "volumeTemplate": {"spec": {"volumeClassRef": {"name": "plain"}, "resources": {"storage": "1Mi"}}}
    },
}
FIXED = {
    "gitvirt.yaml": f"{SETTINGS}limits: {{undo: 0s}}\n",
    "small.yaml": machine_class(memory="8Mi"),
    "large.yaml": machine_class("large", "2", "16Mi"),
    "huge.yaml": machine_class("huge", "2", "10Ti"),
    "plain.yaml": (
        f"apiVersion: {STORAGE}\nkind: VolumeClass\nmetadata: {{name: plain}}\n"
        "capabilities: {tps: 100Mi, iops: 1000}\nresizePolicy: ExpandOnly\n"
    ),
    "pool.yaml": (
        "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata: {name: host-1}\n"
        'spec: {overcommit: {cpu: "16"}}\n'
    ),
}
PLAIN = {"volumeClassRef": {"name": "plain"}, "resources": {"storage": "1Mi"}}
VARIABLE = {"name": "Test", "uuid": "2b6a1ee7-5a5a-4a3c-9a8e-000000000001", "value": "x"}


def network(name: str, cidr: str) -> dict[str, Any]:
    return document("Network", NETWORKING, name, ipv4={"cidr": cidr})


def secret(text: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "boot"},
        "stringData": {"ignition.yaml": text, "other": text},
    }


def use_volume(name: str, volume: str) -> dict[str, Any]:
    return {"name": name, "volumeRef": {"name": volume}}


def snapshot(name: str, of: str) -> dict[str, Any]:
    return document("VolumeSnapshot", STORAGE, name, volumeRef={"name": of})


OBJECTS: Documents = {
    "lan": network("lan", "10.44.0.0/24"),
    "wan": network("wan", "10.45.0.0/24"),
    "boot": secret("#cloud-config\n"),
    "power": machine("power"),
    "resized": machine("resized"),
    "too-large": machine("too-large"),
    "named": machine("named"),
    "sized": machine("sized", local("root", "1Mi")),
    "imaged": machine("imaged", local("root", "1Mi")),
    "booted": machine("booted", ignitionRef={"name": "boot"}),
    "efi": machine("efi"),
    "labelled": machine("labelled"),
    "grows": machine("grows", local("root", "1Mi"), local("scratch", "1Mi"), OWN),
    "shrinks": machine(
        "shrinks",
        use_volume("data", "data"),
        use_volume("more", "cache"),
        networkInterfaces=[nic("a", "10.44.0.6")],
    ),
    "routed": machine("routed", networkInterfaces=[nic("a", "10.45.0.5", "wan")]),
    **{name: volume(name, **PLAIN) for name in ("data", "spare", "extra")},
    "cache": volume("cache", **PLAIN, deletionPolicy="Delete"),
    "daily": snapshot("daily", "data"),
}


def edit(objects: Documents) -> None:
    """One commit of many kinds of change."""
    spec = {name: body.get("spec", {}) for name, body in objects.items()}
    spec["power"]["power"] = "Off"
    spec["resized"]["machineClassRef"] = {"name": "large"}
    spec["too-large"]["machineClassRef"] = {"name": "huge"}
    spec["named"]["guestConfig"] = {"hostname": "x"}
    spec["sized"]["volumes"] = [local("root", "2Mi")]
    spec["imaged"]["volumes"] = [{"name": "root", "localDisk": {"sizeLimit": "1Mi", "image": "x"}}]
    objects["boot"] = secret("#cloud-config\n# another\n")
    spec["efi"]["efiVars"] = [VARIABLE]
    objects["labelled"]["metadata"]["labels"] = {"a": "b"}
    spec["grows"]["volumes"] += [local("new", "1Mi"), use_volume("extra", "extra")]
    spec["grows"]["networkInterfaces"] = [nic("a", "10.44.0.5")]
    spec["shrinks"]["volumes"] = [use_volume("data", "spare"), use_volume("more", "cache")]
    spec["wan"]["ipv4"] = {"cidr": "10.45.0.0/25"}
    spec["cache"]["resources"] = {"storage": "2Mi"}


def edit_again(objects: Documents) -> None:
    spec = {name: body.get("spec", {}) for name, body in objects.items()}
    del spec["power"]["power"]
    objects["resized"]["metadata"]["annotations"] = {"gitvirt.dev/restart": "1"}
    objects["restored"] = volume("restored", **PLAIN, dataSource={"volumeSnapshotRef": {"name": "daily"}})
    spec["shrinks"]["volumes"] = [use_volume("data", "restored"), use_volume("more", "cache")]
    spec["shrinks"]["networkInterfaces"] = []
    spec["grows"]["volumes"] = [local("root", "1Mi"), local("new", "1Mi")]
    spec["grows"]["networkInterfaces"] = [nic("a", "10.44.0.9")]
    spec["booted"]["ignitionRef"] = {"name": "boot", "key": "other"}
    objects["spare"]["spec"]["dataSource"] = {"osImage": {"image": "x"}}
    for name in ("too-large", "named", "sized", "imaged"):
        objects[name] = copy.deepcopy(OBJECTS[name])


def remove(objects: Documents) -> None:
    for name in ("grows", "shrinks", "cache"):
        del objects[name]


@pytest.fixture(scope="module")
def settings(libvirtd: Libvirtd) -> Settings:
    return micro_settings(libvirtd)


@pytest.fixture(scope="module")
def runtime(libvirtd: Libvirtd, settings: Settings) -> Iterator[LibvirtRuntime]:
    with running_runtime(settings) as made:
        yield made


def merge(bench: LibvirtBench, edit: Callable[[Documents], None]) -> Checked:
    """With one edit more. `check` compares boots, uids, ids and what is destroyed; here devices and sizes of each guest are compared."""
    objects = copy.deepcopy(bench.objects)
    edit(objects)
    found = check(bench, objects)
    for name, effects in found.effects.items():
        if (was := found.before.machines.get(name)) is None or (
            now := found.after.machines.get(name)
        ) is None:
            continue
        if "now" in effects:
            assert now.shape != was.shape, f"{name}: nothing has changed"
        elif effects <= {"next boot", "recreate", "refused", "recorded"}:
            assert now.shape == was.shape, f"{name} has changed"
    return found


@pytest.mark.timeout(900)
def test_a_plan_prints_what_libvirt_does(
    libvirtd: Libvirtd, settings: Settings, runtime: LibvirtRuntime
) -> None:
    bench = LibvirtBench(libvirtd, settings, runtime, FIXED, copy.deepcopy(OBJECTS))
    first = merge(bench, edit)
    assert first.effects == {
        "power": {"power"}, "resized": {"next boot"}, "too-large": {"next boot"}, "boot": {"recorded"}, "efi": {"recreate"},
        "labelled": {"recorded"}, "grows": {"now"}, "shrinks": {"now"}, "wan": {"now"}, "cache": {"now"},
    }  # fmt: skip
    blocked = "\n".join(line for line in first.printed if "blocked: " in line)
    for text in ("named.yaml", "sized.yaml", "imaged.yaml", "its pool does not offer class huge"):
        assert text in blocked
    assert "does NOT fit" not in "\n".join(first.printed), "the one that is blocked takes no room"
    unchanged = (
        "named",
        "sized",
        "imaged",
        "booted",
    )  # refused, or made with a secret that is another one now
    assert all(first.after.machines[name] == first.before.machines[name] for name in unchanged)
    assert first.after.machines["routed"].shape != first.before.machines["routed"].shape
    assert not first.after.machines["power"].is_on
    assert bench.disk_bytes("shrinks", "vdb") == 2 * MIB, "the guest sees the volume grow"

    second = merge(bench, edit_again)
    assert {name: second.effects[name] for name in ("power", "resized", "booted", "spare")} == {
        "power": {"power"}, "resized": {"power"}, "booted": {"recreate"}, "spare": {"recreate"},
    }  # fmt: skip
    assert {"named", "sized", "imaged"}.isdisjoint(second.effects), "what was refused is restored"
    assert "16384" in second.after.machines["resized"].shape, "the boot brings the larger class"
    assert not any("not possible" in line for line in second.lines)
    merge(bench, remove)
