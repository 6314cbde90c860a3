"""What may not change from one revision to the next, for objects that are in both, and what may not be removed.

Theory of operation. A tree that is right by itself can still be wrong as the next one: a volume cannot shrink, whatever its
document says. So these rules get two revisions and compare objects of the same identity. Paths do not matter: an object
that moved to another file is the same one.

    object in            rule
    both, equal          none
    both, different      by kind: what its host cannot change afterwards (GV401 to GV412, GV414, GV415)
    the earlier only     GV413, if objects of the new revision still refer to it
    the new only         none: everything about a new object may be chosen

Only files that differ are compared (`EarlierRevision`), so the cost is that of the change and not of the repository.

A change of something shared (a class, a network) concerns its users, not itself. It is reported only for users that are in
both revisions: in a pull request that adds the first user of a class, the class may still be changed.

Must never happen: an object counts as removed because its file cannot be read. Objects that an unreadable or invalid
document may still declare are left out, and files that could not be read at the earlier revision are named (GV420): absent
and unknown are two things here as everywhere.
"""

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
from schemas.validate.finding import Finding, shorten_list
from schemas.validate.inputs import EarlierRevision
from schemas.validate.references import ReferenceIndex, continued_users
from schemas.validate.tree import AnyDeclaration, Tree, interfaces_of, volumes_of

MACHINE_PIN = "/spec/machinePoolRef"
DISK_HINT = "restore the disk, or delete and recreate the machine"


def findings(tree: Tree, past: EarlierRevision) -> Iterator[Finding]:
    """GV401 to GV420: for objects that are in both revisions and differ, then for removed ones."""
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
                    message = f"the volume of a snapshot cannot change: {was} -> {now}"
                    yield new.finding("GV410", "/spec/volumeRef/name", message, "declare a new snapshot")
            case _:
                pass
    yield from of_removed(tree, past, uses)


def of_removed(tree: Tree, past: EarlierRevision, uses: ReferenceIndex) -> Iterator[Finding]:
    """GV413 for removed objects in use, GV420 for files that could not be compared.

    The finding belongs to the file that declared the object, though that file may be gone: there is no better place, and it
    has no line. `also` names the files of the users, which can fix it just as well.
    """
    unreadable = frozenset(tree.unreadable)
    for path in past.unreadable:
        message = f"this file could not be parsed at {past.revision}, so its objects there are unknown"
        yield Finding(path, None, "", "", "GV420", message, severity=Severity.NOTICE)
    for old in past.by_key.values():
        is_there = tree.find(old.key.kind, old.key.namespace, old.key.name) is not None
        if is_there or old.key in tree.invalid or old.path in unreadable:
            continue
        if users := uses.of(old.key):
            names = shorten_list([str(user.key) for user in users])
            message = f"{old.key} was removed since {past.revision}, but {names} still refer to it"
            hint = "restore the object, or remove the references to it in the same change"
            files = tuple(sorted({user.path for user in users}))
            yield Finding(old.path, None, str(old.key), "", "GV413", message, hint, also=files)


def of_machine(new: AnyDeclaration, before: Machine, after: Machine) -> Iterator[Finding]:
    """Resize (GV401), pin (GV412), host name (GV409) and disks (GV408)."""
    was, now = before.spec.machine_class_ref.name, after.spec.machine_class_ref.name
    if was != now:
        message = f"the machine is resized: class {was} -> {now}"
        hint = "the size of the running machine changes where the runtime can do that, otherwise at its next boot"
        yield new.finding("GV401", "/spec/machineClassRef/name", message, hint, Severity.NOTICE)
    pins = before.spec.machine_pool_ref, after.spec.machine_pool_ref
    yield from of_pin(new, MACHINE_PIN, *(pin.name if pin else "" for pin in pins))
    if before.hostname != after.hostname:
        pointer = "/spec/guestConfig/hostname" if after.spec.guest_config.hostname else "/spec"
        message = f"the host name cannot change after the first boot: {before.hostname} -> {after.hostname}"
        hint = "restore it and change the name inside the guest, or recreate the machine"
        yield new.finding("GV409", pointer, message, hint)
    yield from of_disks(new, before, after)


def of_pin(new: AnyDeclaration, pointer: str, was: str, now: str) -> Iterator[Finding]:
    """GV412: a new pin moves a machine and never a volume, so the message depends on the kind."""
    if was and now and was != now and pointer == MACHINE_PIN:
        message = f"the machine is STOPPED on {was} and placed on {now} as soon as that pool has room"
        hint = "restore the pin to keep the machine there; a machine with local data waits for approval"
        yield new.finding("GV412", f"{pointer}/name", message, hint, Severity.WARNING)
    elif was and now and was != now:
        message = f"the data of the volume stays on {was}; the pin to {now} does not move it"
        hint = "restore the pin, or declare a new volume and copy the data"
        yield new.finding("GV412", f"{pointer}/name", message, hint)
    elif now and not was:
        message = f"the pin to {now} takes effect at the next placement; it does not move a running machine"
        yield new.finding("GV412", f"{pointer}/name", message, severity=Severity.NOTICE)


def of_volumes(tree: Tree, old: AnyDeclaration, new: AnyDeclaration) -> Iterator[Finding]:
    """Declared volumes, and the volumes of a machine's ephemeral entries.

    Matched by the volume's name. So a renamed ephemeral entry is another volume, which may have any size and class.
    """
    before = {source.name: source.spec for source in volumes_of(old)}
    for source in volumes_of(new):
        if source.name in before and before[source.name] != source.spec:
            yield from of_volume(tree, new, source.pointer, before[source.name], source.spec)


def of_volume(
    tree: Tree, new: AnyDeclaration, pointer: str, before: VolumeSpec, after: VolumeSpec
) -> Iterator[Finding]:
    """Class (GV404), encryption (GV407), initial content (GV414), pin (GV412) and size (GV405, GV406)."""
    was, now = (spec.volume_class_ref.name if spec.volume_class_ref else "" for spec in (before, after))
    copy = "restore the field, or declare a new volume and copy the data"
    if was != now:
        place = f"{pointer}/volumeClassRef/name" if now else pointer
        message = f"the class of a volume cannot change: {was or 'none'} -> {now or 'none'}"
        yield new.finding("GV404", place, message, copy)
    if before.encryption != after.encryption:
        place = f"{pointer}/encryption" if after.encryption else pointer
        yield new.finding("GV407", place, "the encryption of a volume cannot change", copy)
    if before.data_source != after.data_source:
        place = f"{pointer}/dataSource" if after.data_source else pointer
        message = "a volume is filled once, at its creation; this change has no effect"
        yield new.finding("GV414", place, message, copy, Severity.WARNING)
    pins = before.volume_pool_ref, after.volume_pool_ref
    yield from of_pin(new, f"{pointer}/volumePoolRef", *(pin.name if pin else "" for pin in pins))
    if before.resources and after.resources and was == now:
        yield from of_size(tree, new, pointer, before, after)


def of_size(
    tree: Tree, new: AnyDeclaration, pointer: str, before: VolumeSpec, after: VolumeSpec
) -> Iterator[Finding]:
    """GV405 and GV406: a volume never shrinks, and grows only if its class allows that.

    Without a rule where the class changed as well: that is refused (GV404), and makes the size meaningless. A class that is not
    declared says nothing about growing, and its absence is reported by `references`.
    """
    if before.resources is None or after.resources is None or after.volume_class_ref is None:
        return
    was, now, place = before.resources.storage, after.resources.storage, f"{pointer}/resources/storage"
    if now < was:
        message = f"the volume cannot shrink, that would cut off data: {was} -> {now}"
        yield new.finding("GV405", place, message, "restore the size, or copy the data to a new volume")
    elif now > was:
        volume_class = tree.of(VolumeClass).get(("", after.volume_class_ref.name))
        if volume_class and volume_class.object.resize_policy != "ExpandOnly":
            message = f"the volume cannot grow, its class {volume_class.key.name} is Static: {was} -> {now}"
            hint = f"restore the size, or set resizePolicy: ExpandOnly in {volume_class.path}"
            yield new.finding("GV406", place, message, hint)


def of_interfaces(old: AnyDeclaration, new: AnyDeclaration) -> Iterator[Finding]:
    """GV411: the network of an interface, declared or ephemeral."""
    before = {source.name: source.spec.network_ref.name for source in interfaces_of(old)}
    for source in interfaces_of(new):
        was, now = before.get(source.name, ""), source.spec.network_ref.name
        if was and was != now:
            message = f"the network of an interface cannot change: {was} -> {now}"
            hint = "restore networkRef, or declare a new interface under another name"
            yield new.finding("GV411", f"{source.pointer}/networkRef/name", message, hint)


def provider(new: AnyDeclaration, was: str, now: str) -> Iterator[Finding]:
    """GV403: the providerID of a pool or a network, once set, is neither changed nor removed: another id is another thing."""
    if was and was != now:
        pointer = "/spec/providerID" if now else ""
        message = f"providerID cannot be changed after creation: {was} -> {now or 'none'}"
        yield new.finding("GV403", pointer, message, "restore the value, or declare a new object")


def in_use(
    new: AnyDeclaration, code: str, pointer: str, uses: ReferenceIndex, past: EarlierRevision
) -> Iterator[Finding]:
    """A change of a class (GV402) or a network (GV415) that objects use in both revisions."""
    users = continued_users(new.key, uses, past)
    if not users:
        return
    if code == "GV402":
        hint = "declare a new class and move the objects to it"
        yield new.finding(code, pointer, f"capabilities cannot change while {users} use the class", hint)
    else:
        hint = "they keep their addresses until they restart"
        message = f"{users} use the network"
        yield new.finding(code, pointer, message, hint, Severity.WARNING)


def of_disks(new: AnyDeclaration, before: Machine, after: Machine) -> Iterator[Finding]:
    """GV408: a local disk with an image is neither removed nor given another image.

    Such a disk holds the system of the guest. Disks without an image may come and go.
    """
    now = {volume.name: (position, volume) for position, volume in enumerate(after.spec.volumes)}
    for volume in before.spec.volumes:
        if volume.local_disk is None or not volume.local_disk.image:
            continue
        if volume.name not in now:
            message = f"disk {volume.name} has an image with the machine's system, so it cannot be removed"
            yield new.finding("GV408", "/spec/volumes" if now else "/spec", message, DISK_HINT)
            continue
        position, found = now[volume.name]
        image = found.local_disk.image if found.local_disk else None
        if image != volume.local_disk.image:
            pointer = f"/spec/volumes/{position}" + ("/localDisk/image" if image else "")
            message = f"the image of disk {volume.name} cannot change: {volume.local_disk.image} -> {image or 'none'}"
            yield new.finding("GV408", pointer, message, DISK_HINT)
