"""Why an object cannot go on as it is declared. Pure; each reason is one word and a sentence.

In this order: what validation finds wrong with it, a reference to an object that does not exist, a secret that cannot be decrypted;
for a volume that was not made yet the snapshot that it is to be of, when that lost its data; and for machines a volume that another machine holds, a retained volume that comes back first, a name that is taken.

An obstacle keeps an unplaced object from being placed. A placed one runs on; it does not get what it cannot have. Obstacles never delete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from reconciler.decide.deletion import was_made
from reconciler.decide.expansion import expansions
from reconciler.decide.placement.requests import locks_of
from reconciler.decide.pool_requests import judge_requests
from reconciler.decide.references import owner_of, volumes_of
from reconciler.decide.removal.retained import is_being_restored
from reconciler.decide.volume_claim import claim_conflict
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import pool_of
from reconciler.world.record import LOST
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import Machine, Secret, Volume
from schemas.validate.references import Reference, references
from schemas.validate.tree import Declaration

VOLUME_IN_USE = "VolumeInUse"
# Who came first is told from the claims on live, not from the order of files.
DECIDED_HERE = frozenset({"GV320"})


class Obstacle(NamedTuple):
    """`reason` is a word for programs, or the code of a problem; `message` is a sentence for people."""

    reason: str
    message: str


def first_obstacle(view: View, known: ObjectState) -> Obstacle | None:
    """The one that conditions show. The others appear when it is gone."""
    return next(obstacles(view, known), None)


def obstacles(view: View, known: ObjectState) -> Iterator[Obstacle]:
    """All of them, the one to show first. Lazy, because most callers want one."""
    for fault in view.faults.get(known.key, ()):
        if fault.code not in DECIDED_HERE:
            yield Obstacle(fault.code, fault.message)
    reported = {fault.pointer for fault in view.faults.get(known.key, ()) if fault.code == "GV310"}
    needed = tuple(references(Declaration("", 0, known.key, known.object)))
    yield from missing_references(view, known, needed, reported)
    yield from sealed_secrets(view, known, needed)
    if isinstance(known.object, Volume):
        yield from lost_snapshots(view, known, known.object)
    if isinstance(known.object, Machine):
        if reason := claim_conflict(view, known):
            yield Obstacle(VOLUME_IN_USE, reason)
        for key in volumes_of(known.object):
            if is_being_restored(view, key):
                yield Obstacle(
                    "RestoringRetainedVolume", f"waiting for retained volume {key.name} to be restored"
                )
        yield from taken_names(view, known, known.object)


def missing_references(
    view: View, known: ObjectState, needed: Collection[Reference], reported: Collection[str]
) -> Iterator[Obstacle]:
    """Validation ignores what a file that cannot be read may declare; it is missing all the same. What it has `reported`,
    by the place in the document, is not reported twice."""
    if known.key.kind is Kind.VOLUME_SNAPSHOT:
        return  # which may outlive its volume
    for each in needed:
        if each.pointer not in reported and Key(each.kind, each.namespace, each.name) not in view.objects:
            yield Obstacle("Missing", f"{each.kind} {each.name} does not exist")


def sealed_secrets(view: View, known: ObjectState, needed: Collection[Reference]) -> Iterator[Obstacle]:
    """Secrets that no host can open: encrypted by OpenPGP or a cloud's keys, or malformed. Which host can open one is asked of each pool
    (`SecretNotReadable`)."""
    for name in sorted({each.name for each in needed if each.kind is Kind.SECRET}):
        found = view.objects.get(Key(Kind.SECRET, known.key.namespace, name))
        if found is None or not isinstance(found.object, Secret) or not found.object.is_encrypted:
            continue
        if not (locks := locks_of(found.object)) or not all(lock.can_open for lock in locks):
            cure = "encrypt it with `gitvirt secret create`, or with sops and age"
            yield Obstacle(
                "SecretEncrypted", f"Secret {name} is encrypted in a form that no host can open; {cure}"
            )


def lost_snapshots(view: View, known: ObjectState, volume: Volume) -> Iterator[Obstacle]:
    """The snapshot that its data comes from, when the data of that is gone. Without it the volume waits for ever, and no host says why.

    A volume that was made has its data. `live` does not have yet what a host takes along that is destroyed in this tick.
    """
    source, cleared = volume.spec.data_source, judge_requests(view).cleared_pools
    if source is None or source.volume_snapshot_ref is None:
        return
    if was_made(known.record.status) and pool_of(known) not in cleared:
        return
    name = source.volume_snapshot_ref.name
    snapshot = view.objects.get(Key(Kind.VOLUME_SNAPSHOT, known.key.namespace, name))
    ready = snapshot.record.condition("Ready") if snapshot is not None else None
    if snapshot is not None and ((ready and ready.reason == LOST) or pool_of(snapshot) in cleared):
        message = f"the data of VolumeSnapshot {name} is lost; declare a volume from another snapshot"
        yield Obstacle("SnapshotLost", message)


def taken_names(view: View, known: ObjectState, machine: Machine) -> Iterator[Obstacle]:
    """Names of its generated objects that another object has.

    An object of another owner is never taken over; one of an earlier life of this machine must be gone first.
    """
    for each in expansions(machine, known.record.uid):
        there = view.objects.get(each.key)
        if there is None:
            continue
        if owner_of(there) != known.key:
            yield Obstacle("NameTaken", f"{each.key} exists already and does not belong to this machine")
        elif not there.is_active and there.record.is_deleting:
            yield Obstacle("PreviousObjectDeleting", f"a previous {each.key} is still being deleted")
