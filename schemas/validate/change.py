"""What may not change from one revision to the next, for objects that are in both."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.model import (
    Machine,
    MachineClass,
    MachinePool,
    Network,
    VolumeClass,
    VolumePool,
    VolumeSnapshot,
    VolumeSpec,
)
from schemas.problem import Severity
from schemas.validate.finding import Finding
from schemas.validate.inputs import EarlierRevision
from schemas.validate.tree import AnyDeclaration, Tree, interfaces_of, volumes_of
from schemas.validate.uses import ReferenceIndex, continued_users

MACHINE_PIN = "/spec/machinePoolRef"
DISK_HINT = "restore it, or declare a new machine"


def findings(tree: Tree, past: EarlierRevision) -> Iterator[Finding]:
    uses = ReferenceIndex(tree)
    for old in past.by_key.values():
        new = tree.find(old.key.kind, old.key.namespace, old.key.name)
        if new is None or new.object == old.object:
            continue
        yield from of_volumes(tree, old, new)
        yield from of_interfaces(old, new)
        match old.object, new.object:
            case Machine() as before, Machine() as after:
                yield from of_machine(new, before, after)
            case (MachineClass() | VolumeClass()) as before, (MachineClass() | VolumeClass()) as after:
                if before.capabilities != after.capabilities:
                    yield from in_use(new, "GV402", "/capabilities", uses, past)
            case (MachinePool() | VolumePool()) as before, (MachinePool() | VolumePool()) as after:
                yield from provider(new, before.spec.provider_id, after.spec.provider_id)
            case Network() as before, Network() as after:
                yield from provider(new, before.spec.provider_id, after.spec.provider_id)
                was = before.spec.ipv4.cidr if before.spec.ipv4 else ""
                if was and was != (after.spec.ipv4.cidr if after.spec.ipv4 else ""):
                    yield from in_use(new, "GV415", "/spec/ipv4/cidr", uses, past)
            case VolumeSnapshot() as before, VolumeSnapshot() as after:
                was, now = before.spec.volume_ref.name, after.spec.volume_ref.name
                if was != now:
                    message = f"the snapshot was taken of volume {was}, not of {now}"
                    yield new.finding("GV410", "/spec/volumeRef/name", message, "declare a new snapshot")
            case _:
                pass


def of_machine(new: AnyDeclaration, before: Machine, after: Machine) -> Iterator[Finding]:
    was, now = before.spec.machine_class_ref.name, after.spec.machine_class_ref.name
    if was != now:
        message = f"the machine is resized from {was} to {now}"
        hint = "it applies live where the runtime can, else at the next boot"
        yield new.finding("GV401", "/spec/machineClassRef/name", message, hint, Severity.NOTICE)
    pins = before.spec.machine_pool_ref, after.spec.machine_pool_ref
    yield from of_pin(new, MACHINE_PIN, *(pin.name if pin else "" for pin in pins))
    if before.hostname != after.hostname:
        pointer = "/spec/guestConfig/hostname" if after.spec.guest_config.hostname else "/spec"
        message = f"the guest was made with the host name {before.hostname}, which does not change to {after.hostname}"
        yield new.finding("GV409", pointer, message, "restore it; change the name within the guest")
    yield from of_disks(new, before, after)


def of_pin(new: AnyDeclaration, pointer: str, was: str, now: str) -> Iterator[Finding]:
    if was and now and was != now and pointer == MACHINE_PIN:
        message = f"it is stopped on {was} and placed anew on {now}, once that can take it"
        hint = "restore the pin if it is to stay; with data on its host it waits for consent"
        yield new.finding("GV412", f"{pointer}/name", message, hint, Severity.WARNING)
    elif was and now and was != now:
        message = f"its data stays on {was}; to pin it to {now} does not move it"
        hint = "restore the pin, or declare a new volume and copy the data"
        yield new.finding("GV412", f"{pointer}/name", message, hint)
    elif now and not was:
        message = f"the pin to {now} takes effect when it is placed; where it runs already, it stays"
        yield new.finding("GV412", f"{pointer}/name", message, severity=Severity.NOTICE)


def of_volumes(tree: Tree, old: AnyDeclaration, new: AnyDeclaration) -> Iterator[Finding]:
    """Declared volumes, and those that a machine's ephemeral entries became."""
    before = {source.name: source.spec for source in volumes_of(old)}
    for source in volumes_of(new):
        if source.name in before and before[source.name] != source.spec:
            yield from of_volume(tree, new, source.pointer, before[source.name], source.spec)


def of_volume(
    tree: Tree, new: AnyDeclaration, pointer: str, before: VolumeSpec, after: VolumeSpec
) -> Iterator[Finding]:
    was, now = (spec.volume_class_ref.name if spec.volume_class_ref else "" for spec in (before, after))
    copy = "restore it, or declare a new volume and copy the data"
    if was != now:
        place = f"{pointer}/volumeClassRef/name" if now else pointer
        yield new.finding("GV404", place, f"the volume is of class {was or 'none'}, and stays it", copy)
    if before.encryption != after.encryption:
        place = f"{pointer}/encryption" if after.encryption else pointer
        yield new.finding("GV407", place, "encryption is decided when a volume is made", copy)
    if before.data_source != after.data_source:
        place = f"{pointer}/dataSource" if after.data_source else pointer
        message = "a volume is filled once, when it is made; this changes nothing"
        yield new.finding("GV414", place, message, copy, Severity.WARNING)
    pins = before.volume_pool_ref, after.volume_pool_ref
    yield from of_pin(new, f"{pointer}/volumePoolRef", *(pin.name if pin else "" for pin in pins))
    if before.resources and after.resources and was == now:
        yield from of_size(tree, new, pointer, before, after)


def of_size(
    tree: Tree, new: AnyDeclaration, pointer: str, before: VolumeSpec, after: VolumeSpec
) -> Iterator[Finding]:
    if before.resources is None or after.resources is None or after.volume_class_ref is None:
        return
    was, now, place = before.resources.storage, after.resources.storage, f"{pointer}/resources/storage"
    if now < was:
        message = f"the volume would shrink from {was} to {now}, which cuts off data"
        yield new.finding("GV405", place, message, "restore the size, or copy the data to a new volume")
    elif now > was:
        volume_class = tree.volume_classes.get(("", after.volume_class_ref.name))
        if volume_class and volume_class.object.resize_policy != "ExpandOnly":
            message = (
                f"class {volume_class.key.name} is Static, so the volume does not grow from {was} to {now}"
            )
            hint = f"restore the size, or set resizePolicy: ExpandOnly in {volume_class.path}"
            yield new.finding("GV406", place, message, hint)


def of_interfaces(old: AnyDeclaration, new: AnyDeclaration) -> Iterator[Finding]:
    before = {source.name: source.spec.network_ref.name for source in interfaces_of(old)}
    for source in interfaces_of(new):
        was, now = before.get(source.name, ""), source.spec.network_ref.name
        if was and was != now:
            message = f"the interface is in network {was}, and stays there"
            hint = "restore it, or declare a new interface under another name"
            yield new.finding("GV411", f"{source.pointer}/networkRef/name", message, hint)


def provider(new: AnyDeclaration, was: str, now: str) -> Iterator[Finding]:
    if was and was != now:
        pointer = "/spec/providerID" if now else ""
        message = f"providerID is {was}, and is set once"
        yield new.finding("GV403", pointer, message, "restore it, or declare a new object")


def in_use(
    new: AnyDeclaration, code: str, pointer: str, uses: ReferenceIndex, past: EarlierRevision
) -> Iterator[Finding]:
    users = continued_users(new.key, uses, past)
    if not users:
        return
    if code == "GV402":
        hint = "declare a new class and move its users there"
        yield new.finding(code, pointer, f"the class is used by {users}, so it does not change", hint)
    else:
        hint = "they keep their addresses until they boot anew"
        message = f"the network is used by {users}"
        yield new.finding(code, pointer, message, hint, Severity.WARNING)


def of_disks(new: AnyDeclaration, before: Machine, after: Machine) -> Iterator[Finding]:
    now = {volume.name: (position, volume) for position, volume in enumerate(after.spec.volumes)}
    for volume in before.spec.volumes:
        if volume.local_disk is None or not volume.local_disk.image:
            continue
        if volume.name not in now:
            message = f"disk {volume.name} was made from an image and may not be removed"
            yield new.finding("GV408", "/spec/volumes" if now else "/spec", message, DISK_HINT)
            continue
        position, found = now[volume.name]
        image = found.local_disk.image if found.local_disk else None
        if image != volume.local_disk.image:
            pointer = f"/spec/volumes/{position}" + ("/localDisk/image" if image else "")
            message = f"disk {volume.name} was made from {volume.local_disk.image} and is not made anew"
            yield new.finding("GV408", pointer, message, DISK_HINT)
