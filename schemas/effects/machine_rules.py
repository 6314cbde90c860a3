"""What a change of a Machine does. The table is in the order of the schema; a rule is an Effect, or a function of change and context.

field                                    effect on a machine that exists
---------------------------------------  -----------------------------------------------------------------
metadata                                 recorded; the annotation for restarts restarts the guest, the one
                                         for recreations recreates the machine, and destroys its local disks
machineClassRef                          next boot; what the running guest allows, at once; not while its pool lacks the class
machinePoolRef                           moves the machine; local disks are destroyed, after consent
selectors, spread, antiAffinity, ...     next placement
tolerations                              may evict
power                                    starts or stops the guest
volumes: added, removed, another volume  now; a local disk or generated volume that is removed is destroyed
volumes: size or image of a local disk   refused
networkInterfaces                        now; a changed interface is detached and attached again
ignitionRef, efiVars, guestConfig        none: the first boot has read them; `gitvirt replace` recreates the machine
guestConfig.hostname                     refused
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas import live_layout
from schemas.effects.context import EffectContext
from schemas.effects.effect import (
    AppliedNow,
    AtNextBoot,
    AtNextPlacement,
    Effect,
    Loss,
    LossKind,
    MayEvict,
    Moves,
    NeedsRecreation,
    Recorded,
    Recreates,
    Refused,
    SwitchesPower,
)
from schemas.effects.field_change import FieldChange, amount_of
from schemas.effects.rule import Rules
from schemas.model import defaults
from schemas.model.quantity import NANO, QuantityError, parse, units

DISK_HINT = "restore the disk, or delete and recreate the machine"
FIRST_BOOT = "the guest has read it at its first boot"
PAUSED = live_layout.PAUSED
UNUSED = Recorded("gitvirt does not use this field")
ATTACHED = "attached while the guest runs"
REATTACHED = "detached and attached again while the guest runs"


def of_annotation(change: FieldChange, context: EffectContext) -> Effect:
    """A new restart token restarts a machine that is on; other annotations of ours say what the reconciler may do."""
    match change.path[-1]:
        case live_layout.RESTART if change.new and context.is_running:
            return SwitchesPower("Restart")
        case live_layout.RECREATE if change.new and context.assignment in ("", change.new):
            return Recreates(context.local_disks)
        case live_layout.RECREATE if change.new:
            return Recorded("names an assignment that has ended: nothing is recreated")
        case live_layout.PAUSED if change.new == "true":
            return Recorded("nothing about the object is changed while it is paused")
        case live_layout.PAUSED:
            return Recorded("changes are applied again")
        case _:
            return Recorded()


def of_class(change: FieldChange, context: EffectContext) -> Effect:
    """A machine that is off has the new size when it starts; a running one when it boots. One that has that class still is as it is."""
    if change.new and change.new == context.actual_class:
        return Recorded(f"the machine has not been resized to {change.old} yet")
    if context.class_obstacle:
        return AtNextBoot(context.name, obstacle=context.class_obstacle)
    return AtNextBoot(context.name, is_partly_now=True) if context.is_running else AppliedNow("it is off")


def of_pool(change: FieldChange, context: EffectContext) -> Effect:
    """A new pin is an order to move; without one the machine stays where it is."""
    if not change.new or change.new == context.pool:
        return AtNextPlacement() if not change.new else Recorded("it is on that pool already")
    source = context.pool or (change.old if isinstance(change.old, str) else "")
    has_data = bool(context.local_disks) or context.leaves_data
    awaits = has_data and not context.accepts_data_loss
    return Moves(change.new, source, context.local_disks, awaits, context.pin_obstacle)


def of_power(change: FieldChange, _context: EffectContext) -> Effect:
    return SwitchesPower("Off" if change.new == "Off" else "On")


def of_disk(change: FieldChange, context: EffectContext) -> Effect:
    """A disk that was added or removed, or whose source is of another type now. What the old source leaves behind decides."""
    old, new = change.entry or {}, change.new_entry or {}
    local = old.get("localDisk")
    if local is not None and new.get("localDisk") is None:
        if local.get("image"):
            message = (
                f"disk {old.get('name')} has an image with the machine's system, so it cannot be removed"
            )
            return Refused("GV408", message, DISK_HINT)
        if change.old is not None:
            return AppliedNow("detached", losses_of_entry(old, context))
    if old.get("ephemeral") is not None and new.get("ephemeral") is None and change.old is not None:
        return AppliedNow("detached", losses_of_entry(old, context))
    if change.old is None:
        return AppliedNow(ATTACHED)
    return AppliedNow("detached while the guest runs; the volume stays")


def losses_of_entry(entry: Mapping[str, Any], context: EffectContext) -> tuple[Loss, ...]:
    """As `removal.losses_of_disk`, of an entry as plain values."""
    name = str(entry.get("name"))
    if (local := entry.get("localDisk")) is not None:
        size = local_disk_bytes(local.get("sizeLimit"))
        return (Loss(LossKind.LOCAL_DISK, name, context.name, size),)
    template = entry.get("ephemeral", {}).get("volumeTemplate", {}).get("spec", {})
    if template.get("deletionPolicy") == "Retain":
        return ()
    size = bytes_of((template.get("resources") or {}).get("storage"))
    return (Loss(LossKind.VOLUME, f"{context.name}-{name}", size_bytes=size),)


def local_disk_bytes(limit: object) -> int:
    """A disk without a size, or with a zero, has the default one."""
    return (bytes_of(limit) if limit is not None else 0) or defaults.LOCAL_DISK_BYTES


def bytes_of(value: object) -> int:
    try:
        return parse(value).ceil()
    except QuantityError:
        return 0


def of_disk_size(change: FieldChange, _context: EffectContext) -> Effect:
    """The runtime creates a local disk once, and has no call to change it."""
    was, now = (amount_of(change.path, value) // NANO for value in (change.old, change.new))
    if (was or defaults.LOCAL_DISK_BYTES) == (now or defaults.LOCAL_DISK_BYTES):
        return Recorded("the size stays the same")
    name = change.entry.get("name") if change.entry else ""
    shown = " -> ".join(str(units(each or defaults.LOCAL_DISK_BYTES)) for each in (was, now))
    message = f"the size of local disk {name} cannot change: {shown}"
    hint = "restore the size, use a volume for data that grows, or delete and recreate the machine"
    return Refused("GV417", message, hint)


def of_disk_image(change: FieldChange, _context: EffectContext) -> Effect:
    name = change.entry.get("name") if change.entry else ""
    message = f"the image of disk {name} cannot change: {change.old or 'none'} -> {change.new or 'none'}"
    return Refused("GV408", message, DISK_HINT)


def of_device(change: FieldChange, _context: EffectContext) -> Effect:
    """Only a volume moves to another device; a local disk keeps the one that it was created with."""
    if (change.new_entry or {}).get("localDisk") is not None:
        return Recorded("a local disk keeps the device that it was created with")
    return AppliedNow(REATTACHED)


def of_first_boot(_change: FieldChange, context: EffectContext) -> Effect:
    return NeedsRecreation(FIRST_BOOT, context.local_disks, machine=context.name)


def of_hostname(change: FieldChange, context: EffectContext) -> Effect:
    """An empty host name is the machine's name."""
    was, now = (each or context.name for each in (change.old, change.new))
    if was == now:
        return Recorded("the host name stays the same")
    message = f"the host name cannot change after the first boot: {was} -> {now}"
    return Refused(
        "GV409", message, "restore it and change the name inside the guest, or recreate the machine"
    )


def of_pool_loss(change: FieldChange, _context: EffectContext) -> Effect:
    if change.new == "Replace":
        return Recorded(
            "from now on local data may be lost where its pool is lost, drained or no longer pinned"
        )
    return Recorded("from now on the machine keeps its pool, and its local data")


RULES: Rules = {
    ("apiVersion",): Recorded(),
    ("kind",): Recorded(),
    ("metadata",): Recorded(),
    ("metadata", "labels"): Recorded("selectors and spread rules count it from now on"),
    ("metadata", "annotations", live_layout.RESTART): of_annotation,
    ("metadata", "annotations", live_layout.PAUSED): of_annotation,
    ("metadata", "annotations", live_layout.RECREATE): of_annotation,
    ("spec", "machineClassRef"): of_class,
    ("spec", "machinePoolSelector"): AtNextPlacement(),
    ("spec", "machinePoolRef", "name"): of_pool,
    ("spec", "power"): of_power,
    ("spec", "volumes[]"): of_disk,
    ("spec", "volumes[]", "name"): Recorded(),
    ("spec", "volumes[]", "device"): of_device,
    ("spec", "volumes[]", "volumeRef"): of_disk,
    ("spec", "volumes[]", "volumeRef", "name"): AppliedNow(
        "the old volume is detached and stays, the new one is attached while the guest runs"
    ),
    ("spec", "volumes[]", "localDisk"): of_disk,
    ("spec", "volumes[]", "localDisk", "sizeLimit"): of_disk_size,
    ("spec", "volumes[]", "localDisk", "image"): of_disk_image,
    ("spec", "volumes[]", "emptyDisk"): of_disk,
    ("spec", "volumes[]", "ephemeral"): of_disk,
    ("spec", "networkInterfaces[]"): AppliedNow("attached or detached while the guest runs"),
    ("spec", "networkInterfaces[]", "name"): Recorded(),
    ("spec", "networkInterfaces[]", "networkInterfaceRef"): AppliedNow(REATTACHED),
    ("spec", "networkInterfaces[]", "ephemeral"): AppliedNow(REATTACHED),
    ("spec", "ignitionRef"): of_first_boot,
    ("spec", "tolerations"): MayEvict(),
    ("spec", "guestConfig", "hostname"): of_hostname,
    ("spec", "guestConfig", "sshAuthorizedKeys"): of_first_boot,
    ("spec", "guestConfig", "users"): of_first_boot,
    ("spec", "guestConfig", "packages"): of_first_boot,
    ("spec", "guestConfig", "runCommands"): of_first_boot,
    ("spec", "guestConfig", "userData"): of_first_boot,
    ("spec", "guestConfig", "timezone"): of_first_boot,
    ("spec", "efiVars"): of_first_boot,
    ("spec", "efiVars[]"): of_first_boot,
    ("spec", "spread"): AtNextPlacement(),
    ("spec", "antiAffinity"): AtNextPlacement(),
    ("spec", "priority"): AtNextPlacement(),
    ("spec", "onPoolLost"): of_pool_loss,
    ("spec", "image"): UNUSED,
}
