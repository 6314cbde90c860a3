"""What a change of a Volume, a VolumeSnapshot, or a class of volumes does.

field of a Volume                effect on a volume that exists
-------------------------------  ----------------------------------------------------------------------
volumeClassRef, encryption       refused
resources.storage                grows now, if its class allows that; a smaller size is refused, if the
                                 volume has grown beyond it
volumePoolRef                    another pool is refused: the data stays; a new pin counts at the next placement
dataSource, image                none: a volume is filled once
deletionPolicy                   counts when the volume is removed
everything else                  next placement, or recorded
"""

from __future__ import annotations

from schemas.effects.context import EffectContext
from schemas.effects.effect import AppliedNow, AtNextPlacement, Effect, NeedsRecreation, Recorded, Refused
from schemas.effects.field_change import FieldChange
from schemas.effects.rule import Rules
from schemas.model.quantity import QuantityError, parse

COPY = "restore the field, or declare a new volume and copy the data"


def of_class(change: FieldChange, _context: EffectContext) -> Effect:
    message = f"the class of a volume cannot change: {change.old or 'none'} -> {change.new or 'none'}"
    return Refused("GV404", message, COPY)


def of_pool(change: FieldChange, _context: EffectContext) -> Effect:
    """Data stays on its pool, whatever the pin says."""
    if not change.old or not change.new:
        return AtNextPlacement()
    message = f"the data of the volume stays on {change.old}; the pin to {change.new} does not move it"
    return Refused("GV412", message, "restore the pin, or declare a new volume and copy the data")


def of_size(change: FieldChange, context: EffectContext) -> Effect:
    """A class that is unknown does not forbid to grow: its absence is an error of its own.

    A growth may be taken back as long as the host reports a size that is not larger than the new one: no data is there yet. Should the
    volume grow at that very moment, it stays as large as it is: no host ever makes one smaller.
    """
    try:
        was, now = parse(change.old), parse(change.new)
    except QuantityError:
        return Recorded()  # a volume that exists outside of gitvirt has no size
    actual = context.actual_bytes
    if now < was and actual is not None and actual <= now.ceil():
        return Recorded(f"the volume has not grown to {was} yet")
    if now < was:
        message = f"the volume cannot shrink, that would cut off data: {was} -> {now}"
        return Refused("GV405", message, "restore the size, or copy the data to a new volume")
    policy = context.volume_classes.get(context.volume_class)
    if policy is not None and policy.resize_policy != "ExpandOnly":
        message = f"the volume cannot grow, its class {context.volume_class} is Static: {was} -> {now}"
        hint = f"restore the size, or set resizePolicy: ExpandOnly in {policy.path}"
        return Refused("GV406", message, hint)
    return AppliedNow("the guest has to enlarge its file system")


def of_deletion_policy(change: FieldChange, _context: EffectContext) -> Effect:
    if change.new == "Delete":
        return Recorded("its data is destroyed when the volume is removed")
    return Recorded("its data stays when the volume is removed")


def of_snapshot_source(change: FieldChange, _context: EffectContext) -> Effect:
    message = f"the volume of a snapshot cannot change: {change.old} -> {change.new}"
    return Refused("GV410", message, "declare a new snapshot")


REFUSED_ENCRYPTION = Refused("GV407", "the encryption of a volume cannot change", COPY)
FILLED_ONCE = NeedsRecreation("a volume is filled once, at its creation", is_volume=True)

VOLUME_RULES: Rules = {
    ("spec", "volumeClassRef", "name"): of_class,
    ("spec", "volumePoolSelector"): AtNextPlacement(),
    ("spec", "volumePoolRef", "name"): of_pool,
    ("spec", "resources", "storage"): of_size,
    ("spec", "tolerations"): AtNextPlacement(),
    ("spec", "encryption"): REFUSED_ENCRYPTION,
    ("spec", "dataSource"): FILLED_ONCE,
    ("spec", "image"): FILLED_ONCE,
    ("spec", "claimRef"): Recorded("the reconciler decides who may attach the volume"),
    ("spec", "unclaimable"): Recorded("counts when a machine asks for the volume next"),
    ("spec", "deletionPolicy"): of_deletion_policy,
}

SNAPSHOT_RULES: Rules = {("spec", "volumeRef", "name"): of_snapshot_source}
