"""What may not change from one revision to the next, for objects that are in both, and what may not be removed.

Theory of operation. A tree that is right by itself can still be wrong as the next one: a volume cannot shrink, whatever its
document says. So these rules get two revisions and compare objects of the same identity. Paths do not matter: an object
that moved to another file is the same one.

    object in            rule
    both, equal          none
    both, different      the effect of each changed field (`schemas.effects`): GV401 to GV412, GV414, GV415, GV417 to GV419
    the earlier only     GV413, if objects of the new revision still refer to it
    the new only         none: everything about a new object may be chosen

Only files that differ are compared (`EarlierRevision`), so the cost is that of the change and not of the repository.

    effect of a change                    finding
    refused                               an error with the code of the effect
    moves a machine                       GV412, a warning
    destroys data, of a machine that stays   GV418, a warning
    none, the first boot has read it      GV419, a warning; of a volume, which is filled once, GV414
    interfaces of a network reattached    GV415, a warning
    at the next boot                      GV401, a notice
    everything else                       none

A change of something shared (a class, a network) concerns its users, not itself. It is reported only for users that are in
both revisions: in a pull request that adds the first user of a class, the class may still be changed.

Must never happen: an object counts as removed because its file cannot be read. Objects that an unreadable or invalid
document may still declare are left out, and files that could not be read at the earlier revision are named (GV420): absent
and unknown are two things here as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from schemas.effects.context import EffectContext, VolumeClassPolicy
from schemas.effects.effect import (
    AppliedNow,
    AtNextBoot,
    AtNextPlacement,
    Effect,
    Moves,
    NeedsRecreation,
    Recreates,
    Refused,
)
from schemas.effects.field_change import FieldChange
from schemas.effects.machine_rules import DISK_HINT
from schemas.effects.removal import list_local_disks, losses_of_machine
from schemas.effects.rules import compare_documents, effect_of
from schemas.effects.volume_rules import COPY
from schemas.effects.words import describe_change, describe_effect
from schemas.kinds import Kind
from schemas.model import Machine, Object, Volume, VolumeClass
from schemas.problem import Severity
from schemas.validate.finding import Finding, shorten_list
from schemas.validate.inputs import EarlierRevision
from schemas.validate.references import ReferenceIndex, continued_users
from schemas.validate.tree import AnyDeclaration, Tree

SHARED = frozenset({Kind.MACHINE_CLASS, Kind.VOLUME_CLASS, Kind.NETWORK})
RECREATE_HINT = "restore the field, or recreate the machine after the merge: `gitvirt replace`"


def findings(tree: Tree, past: EarlierRevision) -> Iterator[Finding]:
    """GV401 to GV420: for objects that are in both revisions and differ, then for removed ones."""
    uses = ReferenceIndex(tree)
    for old in past.by_key.values():
        new = tree.find(old.key.kind, old.key.namespace, old.key.name)
        if new is None or new.object == old.object:
            continue
        users = continued_users(new.key, uses, past) if new.key.kind in SHARED else ""
        for finding in of_changed(tree, old, new, users):
            is_known = past.knows_status or new.key.kind is not Kind.VOLUME
            yield finding if is_known or finding.code != "GV405" else of_unknown_size(finding)
    yield from of_removed(tree, past, uses)


def of_unknown_size(shrinks: Finding) -> Finding:
    """A volume that did not grow yet may be as small as before, and files alone do not tell. The reconciler, which knows, refuses the rest."""
    message = (
        f"{shrinks.message}; the size counts only if the volume has not grown beyond it: `gitvirt plan` knows"
    )
    return shrinks._replace(message=message, severity=Severity.WARNING)


def of_changed(tree: Tree, old: AnyDeclaration, new: AnyDeclaration, users: str) -> Iterator[Finding]:
    """One object: what each changed field does, each finding once."""
    before, after = to_document(old.object), to_document(new.object)
    context = make_context(tree, old.object, new.object, users)
    found: dict[tuple[str, str], Finding] = {}
    for change in compare_documents(new.key.kind, before, after):
        for each in of_field(new, change, effect_of(change, context), find_pointer(after, change)):
            found.setdefault((each.code, each.message), each)
    yield from found.values()


def to_document(object: Object) -> Mapping[str, Any]:
    """The object as plain values, without what is at its default."""
    document: Mapping[str, Any] = msgspec.to_builtins(object, enc_hook=str)
    return document


def make_context(tree: Tree, before: Object, after: Object, users: str) -> EffectContext:
    """What two revisions say of one object, and the classes of the later one. Whether it exists on a host is unknown here: it is assumed."""
    classes = {
        key[1]: VolumeClassPolicy(entry.object.resize_policy, entry.path)
        for key, entry in tree.of(VolumeClass).items()
    }
    if isinstance(before, Machine) and isinstance(after, Machine):
        return EffectContext(
            name=before.name,
            is_running=before.spec.power == "On",
            losses=losses_of_machine(before),
            local_disks=list_local_disks(before),
            accepts_data_loss=after.spec.on_pool_lost == "Replace",
            volume_classes=classes,
        )
    if isinstance(after, Volume):
        name = after.spec.volume_class_ref.name if after.spec.volume_class_ref else ""
        return EffectContext(
            before.name, volume_class=name, volume_classes=classes, actual_bytes=read_actual_bytes(before)
        )
    return EffectContext(before.name, is_used=bool(users) or after.KIND not in SHARED, users=users)


def read_actual_bytes(before: Object) -> int | None:
    """The reported size of a volume as it was; None where that is unknown, as in a revision of the source."""
    found = before.status.resources.get("storage") if isinstance(before, Volume) else None
    return None if found is None else found.ceil()


def of_field(new: AnyDeclaration, change: FieldChange, effect: Effect, pointer: str) -> Iterator[Finding]:
    """What is impossible is an error; what stops or destroys something, or has no effect, a warning; what waits a notice."""
    message = f"{describe_change(change)}: {describe_effect(effect)}"
    match effect:
        case Refused(code, message, hint):
            yield new.finding(code, pointer, message, hint)
        case Moves():
            hint = "restore the pin to keep the machine where it is"
            yield new.finding("GV412", pointer, message, hint, Severity.WARNING)
        case AtNextPlacement() if change.path[-2:] == ("volumePoolRef", "name") and change.new:
            message = f"the pin to {change.new} takes effect at the next placement; it does not move the data"
            yield new.finding("GV412", pointer, message, severity=Severity.NOTICE)
        case NeedsRecreation(is_volume=True, why=why):
            yield new.finding("GV414", pointer, f"{why}; this change has no effect", COPY, Severity.WARNING)
        case NeedsRecreation():
            yield new.finding("GV419", pointer, message, RECREATE_HINT, Severity.WARNING)
        case AppliedNow(losses=losses) if losses:
            yield new.finding("GV418", pointer, message, DISK_HINT, Severity.WARNING)
        case Recreates(losses=losses) if losses:
            hint = "remove the annotation to keep the machine as it is"
            yield new.finding("GV418", pointer, message, hint, Severity.WARNING)
        case AppliedNow() if change.kind is Kind.NETWORK:
            yield new.finding("GV415", pointer, message, severity=Severity.WARNING)
        case AtNextBoot():
            yield new.finding("GV401", pointer, message, severity=Severity.NOTICE)
        case _:
            pass


def find_pointer(document: Mapping[str, Any], change: FieldChange) -> str:
    """The place of the field in the later document, or of what is nearest to it there."""
    value: Any = document
    pointer = ""
    for segment in change.path:
        name, _, entry = segment.partition("[") if segment.endswith("]") else (segment, "", "")
        if not isinstance(value, Mapping) or name not in value:
            break
        pointer, value = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}", value[name]
        if entry:
            places = [place for place, each in enumerate(value) if each.get("name") == entry[:-1]]
            if not places:
                break
            pointer, value = f"{pointer}/{places[0]}", value[places[0]]
    return pointer


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
            names, verb = (
                shorten_list([str(user.key) for user in users]),
                "refers" if len(users) == 1 else "refer",
            )
            message = f"{old.key} was removed since {past.revision}, but {names} still {verb} to it"
            hint = "restore the object, or remove the references to it in the same change"
            files = tuple(sorted({user.path for user in users}))
            yield Finding(old.path, None, str(old.key), "", "GV413", message, hint, also=files)
