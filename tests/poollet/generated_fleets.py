"""Fleets and changes of them by chance: the documents that people declare, and edits that toggle one thing each.

A machine is a set of traits and of disks, so every edit of it is "toggle this": it is short to read where a law is broken, and its
reverse is the edit itself.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tests.poollet.effects_bench import (
    COMPUTE,
    NETWORKING,
    STORAGE,
    Documents,
    document,
    local,
    machine,
    nic,
    volume,
)
from tests.poollet.fleet import FLEET

Edit: TypeAlias = tuple[str, ...]
Change: TypeAlias = tuple[Edit, ...]
HOSTS = ("host-1", "host-2", "host-3")
MACHINES = ("m1", "m2", "m3", "m4", "m5", "m6")
NEW = ("n1", "n2")
VOLUMES = ("v1", "v2", "v3")
SNAPSHOTS = tuple(f"daily-{name}" for name in VOLUMES)
SETTINGS, QUOTA = "gitvirt", "quota"
IN_X = {"labelSelector": {"matchLabels": {"app": "x"}}}

SPECS: Mapping[str, dict[str, Any]] = {
    "off": {"power": "Off"},
    "replace": {"onPoolLost": "Replace"},
    "large": {"machineClassRef": {"name": "large"}},
    "huge": {"machineClassRef": {"name": "huge"}},
    "zone a": {"machinePoolSelector": {"zone": "a"}},
    "apart": {"antiAffinity": IN_X},
    "spread": {"spread": {"topologyKey": "zone", **IN_X}},
    "pin 1": {"machinePoolRef": {"name": "host-1"}},
    "pin 2": {"machinePoolRef": {"name": "host-2"}},
    "tolerant": {"tolerations": [{"key": "upkeep", "operator": "Exists"}]},
    "urgent": {"priority": 9},
    "named": {"guestConfig": {"hostname": "other"}},
    "first boot": {"ignitionRef": {"name": "boot"}},
}
LABELS: Mapping[str, dict[str, str]] = {"app x": {"app": "x"}}
ANNOTATIONS: Mapping[str, dict[str, str]] = {
    "paused": {"gitvirt.dev/paused": "true"},
    "restart": {"gitvirt.dev/restart": "1"},
}
TRAITS = (*SPECS, *LABELS, *ANNOTATIONS)
OWN_SPEC = {"volumeClassRef": {"name": "standard"}, "resources": {"storage": "1Gi"}}
DISKS: Mapping[str, dict[str, Any]] = {
    "root": local("root", "10Gi"),
    "scratch": local("scratch"),
    "own": {"name": "own", "ephemeral": {"volumeTemplate": {"spec": OWN_SPEC}}},
    "kept": {"name": "kept", "ephemeral": {"volumeTemplate": {"spec": {**OWN_SPEC, "deletionPolicy": "Retain"}}}},
    **{name: {"name": name, "volumeRef": {"name": name}} for name in VOLUMES},
}  # fmt: skip
ADDRESSES = {name: f"10.0.0.{number}" for number, name in enumerate((*MACHINES, *NEW), 10)}
# What a document of another kind can have besides: kind of document, name of the trait, field, value.
VOLUME_TRAITS: Mapping[str, dict[str, Any]] = {
    "larger": {"resources": {"storage": "2Gi"}},
    "smaller": {"resources": {"storage": "512Mi"}},
    "Delete": {"deletionPolicy": "Delete"},
    "Retain": {"deletionPolicy": "Retain"},
    "pin 1": {"volumePoolRef": {"name": "host-1"}},
}
POOL_TRAITS: Mapping[str, dict[str, Any]] = {
    "cordoned": {"unschedulable": True},
    "drained": {"unschedulable": True, "taints": [{"key": "upkeep", "effect": "NoExecute"}]},
    "busy": {"taints": [{"key": "upkeep", "effect": "NoSchedule"}]},
    "reserved": {"reserved": {"cpu": "4"}},
}


def settings(undo: str = "0s") -> dict[str, Any]:
    """Also what a fleet of one gitvirt.yaml reads as: JSON is YAML."""
    return {
        "fleet": {"id": FLEET},
        "secrets": {"plain": "allow"},
        "limits": {"undo": undo, "delete": {"count": 100, "percent": 100}},
    }


def base() -> Documents:
    """What every fleet has: classes, pools with zones, a network and the data of first boots."""
    pools = {}
    for number, host in enumerate(HOSTS):
        pools[f"pool-{host}"] = document("MachinePool", COMPUTE, host)
        pools[f"pool-{host}"]["metadata"]["labels"] = {"zone": "ab"[number % 2]}
    standard = document("VolumeClass", STORAGE, "standard")
    del standard["spec"]
    standard |= {"capabilities": {"tps": "1Mi", "iops": 100}, "resizePolicy": "ExpandOnly"}
    boot = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "boot"}}
    return {
        SETTINGS: settings(),
        "small": machine_class("small", 1),
        "large": machine_class("large", 2),
        "huge": machine_class("huge", 200),
        "standard": standard,
        "boot": {**boot, "stringData": {"ignition.yaml": "one"}},
        "lan": document("Network", NETWORKING, "lan"),
        **pools,
    }


def machine_class(name: str, cpu: int) -> dict[str, Any]:
    body = {"apiVersion": COMPUTE, "kind": "MachineClass", "metadata": {"name": name}}
    return {**body, "capabilities": {"cpu": str(cpu), "memory": f"{cpu}Gi"}}


def declare(objects: Documents, edits: Change) -> Documents:
    """The documents after the edits; one that concerns what is not there does nothing."""
    made = copy.deepcopy(objects)
    for what, *of in edits:
        EDITS[what](made, *of)
    return made


def add(objects: Documents, name: str) -> None:
    if name in VOLUMES:
        objects.setdefault(name, volume(name))
    else:
        objects.setdefault(name, machine(name))


def remove(objects: Documents, name: str) -> None:
    objects.pop(name, None)


def rename(objects: Documents, name: str, to: str) -> None:
    if name in objects and to not in objects:
        objects[to] = {**objects.pop(name), "metadata": {"name": to}}


def toggle(objects: Documents, name: str, trait: str) -> None:
    """One trait of a machine, a volume or a pool."""
    body = objects.get(name)
    if body is None:
        return
    specs = VOLUME_TRAITS if name in VOLUMES else POOL_TRAITS if name.startswith("pool-") else SPECS
    if trait in specs:
        toggle_fields(
            body["spec"],
            specs[trait],
            {"machineClassRef": {"name": "small"}, "resources": {"storage": "1Gi"}},
        )
    elif name in (*MACHINES, *NEW):
        kind, fields = ("labels", LABELS) if trait in LABELS else ("annotations", ANNOTATIONS)
        toggle_fields(body["metadata"].setdefault(kind, {}), fields[trait], {})


def toggle_fields(body: dict[str, Any], fields: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    has = all(body.get(key) == value for key, value in fields.items())
    for key, value in fields.items():
        if has:
            body.pop(key)
            body |= {key: defaults[key]} if key in defaults else {}
        else:
            body[key] = copy.deepcopy(value)


def toggle_disk(objects: Documents, name: str, disk: str) -> None:
    if name in objects:
        disks = objects[name]["spec"].setdefault("volumes", [])
        found = [each for each in disks if each["name"] == disk]
        disks.remove(found[0]) if found else disks.append(copy.deepcopy(DISKS[disk]))


def toggle_interface(objects: Documents, name: str) -> None:
    if name in objects:
        spec = objects[name]["spec"]
        spec["networkInterfaces"] = [] if spec.get("networkInterfaces") else [nic("a", ADDRESSES[name])]


def set_quota(objects: Documents, cpu: str) -> None:
    quota = {"apiVersion": "core.ironcore.dev/v1alpha1", "kind": "ResourceQuota", "metadata": {"name": QUOTA}}
    objects[QUOTA] = {**quota, "spec": {"hard": {"requests.cpu": cpu}}}


def set_undo(objects: Documents, undo: str) -> None:
    objects[SETTINGS] = settings(undo)


def snapshot(objects: Documents, name: str) -> None:
    made = f"daily-{name}"
    objects.setdefault(made, document("VolumeSnapshot", STORAGE, made, volumeRef={"name": name}))


EDITS: dict[str, Callable[..., None]] = {
    "add": add,
    "remove": remove,
    "rename": rename,
    "toggle": toggle,
    "disk": toggle_disk,
    "interface": toggle_interface,
    "quota": set_quota,
    "undo": set_undo,
    "snapshot": snapshot,
}


def edit(machines: tuple[str, ...]) -> st.SearchStrategy[Edit]:
    """What one commit does to one object."""
    names, all_names = st.sampled_from(machines), st.sampled_from((*machines, *VOLUMES, *SNAPSHOTS, QUOTA))
    return st.one_of(
        st.tuples(st.just("toggle"), names, st.sampled_from(TRAITS)),
        st.tuples(st.just("disk"), names, st.sampled_from(tuple(DISKS))),
        st.tuples(st.just("remove"), all_names),
        st.tuples(st.just("rename"), names, st.sampled_from(NEW)),
        st.tuples(st.just("add"), st.sampled_from((*machines, *NEW, *VOLUMES))),
        st.tuples(st.just("toggle"), st.sampled_from(VOLUMES), st.sampled_from(tuple(VOLUME_TRAITS))),
        st.tuples(
            st.just("toggle"),
            st.sampled_from([f"pool-{host}" for host in HOSTS]),
            st.sampled_from(tuple(POOL_TRAITS)),
        ),
        st.tuples(st.just("interface"), names),
        st.tuples(st.just("quota"), st.sampled_from(["3", "6"])),
        st.tuples(st.just("undo"), st.sampled_from(["0s", "10m"])),
        st.tuples(st.just("snapshot"), st.sampled_from(VOLUMES)),
    )


@st.composite
def fleets(draw: st.DrawFn) -> Change:
    """The edits that make a fleet of the base: machines with traits and disks, volumes, and how pools are."""
    count = draw(st.integers(2, len(MACHINES)))
    made: list[Edit] = [("add", name) for name in (*VOLUMES, *MACHINES[:count])]
    traits = st.sets(st.sampled_from(TRAITS), max_size=3)
    disks = st.sets(st.sampled_from(tuple(DISKS)), max_size=2)
    for name in MACHINES[:count]:
        made += [("toggle", name, trait) for trait in sorted(draw(traits)) if trait not in ANNOTATIONS]
        made += [("disk", name, disk) for disk in sorted(draw(disks))]
        made += [("interface", name)] if draw(st.booleans()) else []
    for name in VOLUMES:
        made += [
            ("toggle", name, trait)
            for trait in draw(st.sets(st.sampled_from(["Delete", "Retain"]), max_size=1))
        ]
    # Of several the deletion of one is not held, as that of all of a kind is.
    made += [("snapshot", name) for name in VOLUMES[: draw(st.sampled_from([0, 2, 3]))]]
    made += draw(
        st.lists(edit(MACHINES).filter(lambda each: each[0] in ("quota", "undo", "snapshot")), max_size=2)
    )
    return tuple(made)


def changes(most: int) -> st.SearchStrategy[Change]:
    """What one merge changes."""
    return st.lists(edit(MACHINES), min_size=1, max_size=most).map(tuple)
