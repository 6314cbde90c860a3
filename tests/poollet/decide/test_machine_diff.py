"""The difference between a machine on the host and its desired state, case by case."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    RuntimeChange,
    UpdateVolume,
)
from iri.machine import (
    AttachmentStatus,
    Disk,
    Image,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeMachineStatus,
    RuntimeNetworkInterface,
    VolumeConnection,
)
from poollet.decide.dependencies import MachineDependencies
from poollet.decide.machine.diff import diff_disks, diff_interfaces, find_volumes_in_use
from poollet.decide.secrets import NotReady

GIB = 1 << 30
WAIT = NotReady("VolumeNotReady", "not yet")


def disk(handle: str = "h1", name: str = "data", **more: object) -> Disk:
    connection = VolumeConnection(driver="rbd", handle=handle, effective_storage_bytes=GIB)
    return replace(Disk(name=name, device="oda", connection=connection), **more)


def access(of: Disk, **more: object) -> Disk:
    assert of.connection is not None
    return replace(of, connection=replace(of.connection, **more))


def local(name: str = "data", size: int = GIB, image: str = "", device: str = "oda") -> Disk:
    found = RuntimeLocalDisk(size_bytes=size, image=Image(image=image) if image else None)
    return Disk(name=name, device=device, local_disk=found)


def nic(name: str = "lan", network: str = "n1", **more: object) -> RuntimeNetworkInterface:
    return replace(RuntimeNetworkInterface(name=name, network_id=network), **more)


def needing(
    disks: tuple[tuple[str, Disk | NotReady], ...] = (),
    interfaces: tuple[tuple[str, RuntimeNetworkInterface | NotReady], ...] = (),
) -> MachineDependencies:
    return MachineDependencies(dict(disks), dict(interfaces), {}, b"", None)


def there(*disks: Disk, leaving: tuple[str, ...] = ()) -> RuntimeMachine:
    attached = tuple(AttachmentStatus(name=name) for name in (*(one.name for one in disks), *leaving))
    return RuntimeMachine(
        id="m1", spec=RuntimeMachineSpec(volumes=disks), status=RuntimeMachineStatus(volumes=attached)
    )


def with_interfaces(*interfaces: RuntimeNetworkInterface, leaving: tuple[str, ...] = ()) -> RuntimeMachine:
    attached = tuple(AttachmentStatus(name=name) for name in (*(one.name for one in interfaces), *leaving))
    return RuntimeMachine(
        id="m1",
        spec=RuntimeMachineSpec(network_interfaces=interfaces),
        status=RuntimeMachineStatus(network_interfaces=attached),
    )


Disks = tuple[tuple[str, Disk | NotReady], ...]
Holders = Mapping[str, set[str]]
FORMER, LATER = {"encryptionKey": b"former"}, {"encryptionKey": b"later"}
DATA: Disks = (("data", disk()),)

# desired disks, the machine, who has which handle, the changes, the reasons of what is blocked
DISKS: dict[str, tuple[Disks, RuntimeMachine, Holders, tuple[RuntimeChange, ...], tuple[str, ...]]] = {
    "nothing": ((), there(), {}, (), ()),
    "as desired": (DATA, there(disk()), {"h1": {"m1"}}, (), ()),
    "missing": (DATA, there(), {}, (AttachVolume(disk()),), ()),
    "missing, and this machine has its handle": (DATA, there(), {"h1": {"m1"}}, (AttachVolume(disk()),), ()),
    "missing, and another machine has its handle": (DATA, there(), {"h1": {"m2"}}, (), ("VolumeHeld",)),
    "missing, and two machines have its handle": (DATA, there(), {"h1": {"m1", "m2"}}, (), ("VolumeHeld",)),
    "missing, and another handle is held": (DATA, there(), {"h2": {"m2"}}, (AttachVolume(disk()),), ()),
    "still being detached": (DATA, there(leaving=("data",)), {}, (), ("Detaching",)),
    "still being detached, and held": (DATA, there(leaving=("data",)), {"h1": {"m2"}}, (), ("Detaching",)),
    "another one is still being detached": (DATA, there(leaving=("old",)), {}, (AttachVolume(disk()),), ()),
    "not desired": ((), there(disk()), {}, (DetachVolume("data"),), ()),
    "not desired, a local disk": ((), there(local()), {}, (DetachVolume("data"),), ()),
    "not ready, and attached": ((("data", WAIT),), there(disk()), {}, (), ()),
    "not ready, and missing": ((("data", WAIT),), there(), {}, (), ()),
    "not ready, a local disk": ((("data", WAIT),), there(local()), {}, (), ()),
    "another handle": ((("data", disk("h2")),), there(disk("h1")), {}, (DetachVolume("data"),), ()),
    "another driver": (
        (("data", access(disk(), driver="file")),),
        there(disk()),
        {},
        (DetachVolume("data"),),
        (),
    ),
    "a volume in the place of a local disk": (DATA, there(local()), {}, (DetachVolume("data"),), ()),
    "a local disk in the place of a volume": (
        (("data", local()),),
        there(disk()),
        {},
        (DetachVolume("data"),),
        (),
    ),
    "another device": (
        (("data", disk(device="odb")),),
        there(disk()),
        {},
        (UpdateVolume(disk(device="odb")),),
        (),
    ),
    "a larger volume": (
        (("data", access(disk(), effective_storage_bytes=2 * GIB)),),
        there(disk()),
        {},
        (UpdateVolume(access(disk(), effective_storage_bytes=2 * GIB)),),
        (),
    ),
    "a larger volume, and the provider drops the size": (
        (("data", access(disk(), effective_storage_bytes=2 * GIB)),),
        there(access(disk(), effective_storage_bytes=0)),
        {},
        (),
        (),
    ),
    "another key": (
        (("data", access(disk(), secret_data={"key": b"new"})),),
        there(access(disk(), secret_data={"key": b"old"})),
        {},
        (UpdateVolume(access(disk(), secret_data={"key": b"new"})),),
        (),
    ),
    "another passphrase of an encrypted volume": (
        (("data", access(disk(), encryption_data=LATER)),),
        there(access(disk(), encryption_data=FORMER)),
        {},
        (),
        ("EncryptionKeyDiffers",),
    ),
    "another passphrase, and other attributes": (
        (("data", access(disk(), encryption_data=LATER, attributes={"monitors": "b"})),),
        there(access(disk(), encryption_data=FORMER)),
        {},
        (UpdateVolume(access(disk(), encryption_data=FORMER, attributes={"monitors": "b"})),),
        ("EncryptionKeyDiffers",),
    ),
    "no passphrase any more": (
        DATA,
        there(access(disk(), encryption_data=FORMER)),
        {},
        (),
        ("EncryptionKeyDiffers",),
    ),
    "another value beside the passphrase": (
        (("data", access(disk(), encryption_data={**FORMER, "note": b"x"})),),
        there(access(disk(), encryption_data=FORMER)),
        {},
        (),
        (),
    ),
    "a passphrase that the host does not have": (
        (("data", access(disk(), encryption_data=LATER)),),
        there(disk()),
        {},
        (UpdateVolume(access(disk(), encryption_data=LATER)),),
        (),
    ),
    "another passphrase for another volume": (
        (("data", access(disk("h2"), encryption_data=LATER)),),
        there(access(disk(), encryption_data=FORMER)),
        {},
        (DetachVolume("data"),),
        (),
    ),
    "other attributes": (
        (("data", access(disk(), attributes={"monitors": "b"})),),
        there(access(disk(), attributes={"monitors": "a"})),
        {},
        (UpdateVolume(access(disk(), attributes={"monitors": "b"})),),
        (),
    ),
    "a local disk as desired": ((("data", local()),), there(local()), {}, (), ()),
    "a local disk is missing": ((("data", local()),), there(), {}, (AttachVolume(local()),), ()),
    "a local disk of another size": (
        (("data", local(size=2 * GIB)),),
        there(local()),
        {},
        (),
        ("LocalDiskDiffers",),
    ),
    "a local disk with another image": (
        (("data", local(image="b")),),
        there(local(image="a")),
        {},
        (),
        ("LocalDiskDiffers",),
    ),
    "a local disk at another device": ((("data", local(device="odb")),), there(local()), {}, (), ()),
    "detach comes before attach": (
        (("new", disk("h2", "new")), ("data", disk("h3"))),
        there(disk("h1"), disk("h4", "old")),
        {},
        (DetachVolume("old"), DetachVolume("data"), AttachVolume(disk("h2", "new"))),
        (),
    ),
    "a disk that moves makes room for the next one": (
        (("new", disk("h2", "new")), ("data", disk(device="odb"))),
        there(disk()),
        {},
        (UpdateVolume(disk(device="odb")), AttachVolume(disk("h2", "new"))),
        (),
    ),
    "disks that move one after the other": (
        (("a", disk("h1", "a", device="odb")), ("b", disk("h2", "b", device="odc"))),
        there(disk("h1", "a"), disk("h2", "b", device="odb")),
        {},
        (UpdateVolume(disk("h2", "b", device="odc")), UpdateVolume(disk("h1", "a", device="odb"))),
        (),
    ),
    "disks that change places": (
        (("a", disk("h1", "a", device="odb")), ("b", disk("h2", "b"))),
        there(disk("h1", "a"), disk("h2", "b", device="odb")),
        {},
        (),
        ("DeviceInUse", "DeviceInUse"),
    ),
    "the device is that of a disk that is not ready": (
        (("new", disk("h2", "new")), ("data", WAIT)),
        there(disk()),
        {},
        (),
        ("DeviceInUse",),
    ),
    "the device is that of a local disk, which stays at it": (
        (("new", disk("h2", "new")), ("data", local(device="odb"))),
        there(local()),
        {},
        (),
        ("DeviceInUse",),
    ),
    "disks without devices share none": (
        (("new", disk("h2", "new", device="")), ("data", disk(device=""))),
        there(disk(device="")),
        {},
        (AttachVolume(disk("h2", "new", device="")),),
        (),
    ),
    "one is blocked, the other attached": (
        (("data", disk()), ("more", disk("h2", "more"))),
        there(),
        {"h1": {"m2"}},
        (AttachVolume(disk("h2", "more")),),
        ("VolumeHeld",),
    ),
}


@pytest.mark.parametrize(
    ("desired", "machine", "holders", "changes", "blocked"), DISKS.values(), ids=DISKS.keys()
)
def test_disks_become_as_desired(
    desired: Disks,
    machine: RuntimeMachine,
    holders: Holders,
    changes: tuple[RuntimeChange, ...],
    blocked: tuple[str, ...],
) -> None:
    found = diff_disks(needing(desired), machine, holders)
    assert found.changes == changes
    assert tuple(one.reason for one in found.blocked) == blocked


Interfaces = tuple[tuple[str, RuntimeNetworkInterface | NotReady], ...]
LAN: Interfaces = (("lan", nic()),)

# desired interfaces, the machine, the changes, the reasons of what is blocked
INTERFACES: dict[str, tuple[Interfaces, RuntimeMachine, tuple[RuntimeChange, ...], tuple[str, ...]]] = {
    "nothing": ((), with_interfaces(), (), ()),
    "as desired": (LAN, with_interfaces(nic()), (), ()),
    "missing": (LAN, with_interfaces(), (AttachInterface(nic()),), ()),
    "not desired": ((), with_interfaces(nic()), (DetachInterface("lan"),), ()),
    "another network": (LAN, with_interfaces(nic(network="n2")), (DetachInterface("lan"),), ()),
    "another address": (LAN, with_interfaces(nic(ips=("10.0.0.1",))), (DetachInterface("lan"),), ()),
    "another MAC": (LAN, with_interfaces(nic(attributes={"mac": "x"})), (DetachInterface("lan"),), ()),
    "still being detached": (LAN, with_interfaces(leaving=("lan",)), (), ("Detaching",)),
    "another one is still being detached": (
        LAN,
        with_interfaces(leaving=("old",)),
        (AttachInterface(nic()),),
        (),
    ),
    "not ready, and attached": ((("lan", WAIT),), with_interfaces(nic()), (), ()),
    "not ready, and missing": ((("lan", WAIT),), with_interfaces(), (), ()),
    "detach comes before attach": (
        (("new", nic("new")), ("lan", nic(network="n2"))),
        with_interfaces(nic()),
        (DetachInterface("lan"), AttachInterface(nic("new"))),
        (),
    ),
}


@pytest.mark.parametrize(
    ("desired", "machine", "changes", "blocked"), INTERFACES.values(), ids=INTERFACES.keys()
)
def test_interfaces_become_as_desired(
    desired: Interfaces,
    machine: RuntimeMachine,
    changes: tuple[RuntimeChange, ...],
    blocked: tuple[str, ...],
) -> None:
    found = diff_interfaces(needing(interfaces=desired), machine)
    assert found.changes == changes
    assert tuple(one.reason for one in found.blocked) == blocked


# desired disks of a machine that is not created yet, who has which handle, the names in the messages
IN_USE: dict[str, tuple[Disks, Holders, tuple[str, ...]]] = {
    "free": (DATA, {}, ()),
    "another handle is held": (DATA, {"h2": {"m2"}}, ()),
    "held": (DATA, {"h1": {"m2"}}, ("volume data is still attached to m2",)),
    "held by two": (DATA, {"h1": {"m3", "m2"}}, ("volume data is still attached to m2",)),
    "not ready": ((("data", WAIT),), {"h1": {"m2"}}, ()),
    "a local disk": ((("data", local()),), {"": {"m2"}}, ()),
    "one of two": (
        (*DATA, ("more", disk("h2", "more"))),
        {"h2": {"m2"}},
        ("volume more is still attached to m2",),
    ),
}


@pytest.mark.parametrize(("desired", "holders", "messages"), IN_USE.values(), ids=IN_USE.keys())
def test_a_machine_is_not_created_with_a_volume_that_another_machine_has(
    desired: Disks, holders: Holders, messages: tuple[str, ...]
) -> None:
    assert tuple(one.message for one in find_volumes_in_use(needing(desired), holders)) == messages
