"""Errors that validation finds between objects, for the objects that a change can concern. Pure.

The same rules that `gitvirt validate` has; here they see an object, what it refers to, and who else refers to that. Which
objects must be seen together is said twice, and both must agree: `find_concerned_keys` names whose findings a change can alter,
`find_compared_keys` what its rules look at. A rule of schemas.validate that looks further needs both extended; otherwise the error of one
object remains after people corrected another one, until the process starts again.

Only declared and generated objects are judged: what is frozen or leaving stays as it was accepted. A machine that is kept for an undo comes
last, with its interfaces: declared objects may have its addresses once it is off (`stopped`). An error blocks its own
object, in `decide`; it never freezes a file and never takes an assignment away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.relations import Relations, addresses, pinned_pool, uses
from reconciler.world.source.tree_index import TreeIndex
from schemas.kinds import Key, Kind
from schemas.problem import Severity
from schemas.validate import AnyDeclaration, Declaration, Tree, ValidationPolicy, check_tree
from schemas.validate.finding import Finding
from schemas.validate.identity import duplicate_finding

OWN = (Kind.VOLUME, Kind.NETWORK_INTERFACE)  # one machine at a time may have it
JUDGED = frozenset({Origin.DECLARED, Origin.GENERATED})
GUESSING = ("GV310", "GV312")
# Of all that a namespace declares, which no change may cost. The ledger counts what is placed, and the scheduler asks that.
OF_NAMESPACES = ("GV501",)
# What one object at a time may have, and another one has until it is gone: volume, interface, address, MAC address.
TEMPORARY = frozenset({"GV320", "GV321", "GV341", "GV343"})
OWNING = frozenset({Kind.MACHINE.value})
POOLS = (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
ON_TARGET = ValidationPolicy(is_target=True)


def find_concerned_keys(
    touched: Iterable[Key],
    changed: Mapping[Key, tuple[ObjectState | None, ObjectState | None]],
    relations: Relations,
) -> set[Key]:
    """The keys whose findings between objects a change can alter; the update validates these again, and no others.

    `touched` are the keys with another document or report. `changed` has those whose state differs, as it was and as it is, None
    for absent: what an object no longer uses is free for others. `relations` has the new state already, and users of a key that is gone.
    Cost follows the change: asks the indexes of `relations`, and never visits all objects.
    """
    keys: set[Key] = set()
    for key in {*touched, *changed}:
        keys.add(key)
        for user in relations.users.get(key):
            keys.add(user)
            # A volume that is restored from it is compared with this one.
            if user.kind is Kind.VOLUME_SNAPSHOT:
                keys.update(relations.users.get(user))
    for key, (before, after) in changed.items():
        if key.kind in POOLS and (before is None or after is None or before.object != after.object):
            for pinned in relations.pinned.get(key):
                keys.add(pinned)
                keys.update(relations.users.get(pinned))
        if before != after:
            if before is not None:
                keys.update(find_rivals(before, uses(before), relations))
            if after is not None:
                keys.update(find_rivals(after, relations.uses.get(key, ()), relations))
    return keys


def find_rivals(known: ObjectState, used_keys: Iterable[Key], relations: Relations) -> Iterator[Key]:
    """Other objects with the same volume, interface or address, which only one object may have."""
    if known.key.kind is Kind.MACHINE:
        for used in used_keys:
            if used.kind in OWN:
                yield from relations.users.get(used)
    for address in addresses(known):
        yield from relations.at_address.get(address)


def find_compared_keys(
    one: ObjectState, known: Mapping[Key, ObjectState], relations: Relations
) -> Iterator[Key]:
    """The objects that rules read when they judge one object: those that it uses, those to compare with, and its rivals."""
    pin = pinned_pool(one)
    if pin is not None:
        yield pin
    for used in relations.uses.get(one.key, ()):
        yield used
        if used in known and (pin := pinned_pool(known[used])) is not None:
            yield pin
        if used.kind is Kind.VOLUME_SNAPSHOT:
            yield from relations.uses.get(used, ())
    for rival in find_rivals(one, relations.uses.get(one.key, ()), relations):
        yield rival
        # An ephemeral entry counts only until its object was generated.
        yield from (used for used in relations.uses.get(rival, ()) if used.kind in OWN)


def find_errors(
    keys: Collection[Key],
    known: Mapping[Key, ObjectState],
    relations: Relations,
    source: TreeIndex,
    stopped: Collection[Key] = (),
) -> dict[Key, tuple[Finding, ...]]:
    """Errors, by the object that has them; sorted, so that equal findings compare equal. A key without any is left out.

    An error that ends when others are gone which the source removes already (a rename that takes over an address) is a notice: it blocks
    the object, and people have nothing to correct.
    """
    free = {key for key in stopped if key in known and not known[key].is_active}
    free |= {owned for key in free for owned in relations.owned.get(key)}
    judged = {
        key: known[key] for key in keys if key in known and key not in free and known[key].origin in JUDGED
    }
    around = dict(judged)
    for one in judged.values():
        near = (key for key in find_compared_keys(one, known, relations) if key in known and key not in free)
        around.update({key: known[key] for key in near})
    found: dict[str, list[Finding]] = {}
    kept = {*relations.kept, *(part for key in relations.kept for part in parts_of_kept(key, relations))}
    staying = {key: each for key, each in around.items() if not is_leaving(each, known)}
    errors = tuple(_errors(around, kept))
    lasting = errors if len(staying) == len(around) else frozenset(_errors(staying, kept))
    for finding in errors:
        # What else a name may have meant is for those to say who see all of them: gitvirt validate.
        plain = finding._replace(hint="") if finding.code in GUESSING else finding
        if finding.code in TEMPORARY and finding not in lasting:
            hint = "this ends once the host has removed what the source no longer declares"
            plain = finding._replace(severity=Severity.NOTICE, hint=hint)
        found.setdefault(finding.object, []).append(plain)
    by_key = {}
    for key, one in judged.items():
        own = tuple(sorted((*found.get(str(key), ()), *_within(one, source), *_twice(one, source))))
        if own:
            by_key[key] = own
    return by_key


def parts_of_kept(machine: Key, relations: Relations) -> Iterator[Key]:
    """What it generated, and the declared interfaces that no other machine uses."""
    yield from relations.owned.get(machine)
    for used in relations.uses.get(machine, ()):
        if used.kind is Kind.NETWORK_INTERFACE and relations.kept.issuperset(relations.users.get(used)):
            yield used


def is_leaving(one: ObjectState, known: Mapping[Key, ObjectState]) -> bool:
    """Whether the source removes the object, or the machine that an entry of generated it for."""
    owners = (
        Key(Kind(each.kind), one.key.namespace, each.name)
        for each in one.record.owners
        if each.kind in OWNING
    )
    states = [one, *(known[owner] for owner in owners if owner in known)]
    return any(each.origin is Origin.LEAVING for each in states)


def _errors(around: Mapping[Key, ObjectState], kept: Collection[Key]) -> Iterator[Finding]:
    """The errors between these objects."""
    for finding in check_tree(Tree(tuple(_entries(around, kept))), ON_TARGET):
        if finding.severity is Severity.ERROR and finding.code not in OF_NAMESPACES:
            yield finding


def _entries(around: Mapping[Key, ObjectState], kept: Collection[Key]) -> Iterable[AnyDeclaration]:
    """Sorted so that what is placed already comes first: of two machines that want one volume, the placed one has it, and the
    other one has the error. One that is `kept` for an undo has it again once no other one does.
    """
    for known in sorted(around.values(), key=lambda each: (each.key in kept, _order(each))):
        entry = _entry(known)
        if entry is not None:
            yield entry


def _entry(known: ObjectState) -> AnyDeclaration | None:
    place = known.source if known.origin is Origin.DECLARED else known.live
    return Declaration(place.path, place.index, known.key, known.object) if place is not None else None


def _twice(known: ObjectState, source: TreeIndex) -> Iterable[Finding]:
    """A finding for every further document with the same key. The content of further documents does not count."""
    docs = source.docs(known.key)
    entry = _entry(known)
    if len(docs) < 2 or entry is None or known.origin is not Origin.DECLARED:
        return
    tree = Tree((entry,))
    for doc in docs:
        if doc.place != known.source and doc.object is not None:
            yield from duplicate_finding(
                tree, Declaration(doc.place.path, doc.place.index, doc.key, doc.object)
            )


def _order(known: ObjectState) -> tuple[bool, str, int]:
    place = known.source or known.live
    return not known.record.pool, place.path if place else "", place.index if place else 0


def _within(known: ObjectState, source: TreeIndex) -> Iterable[Finding]:
    """The errors of its own document, found when its file was parsed."""
    place = known.source
    contents = source.problem_files.get(place.path) if place else None
    if contents is None or place is None or known.origin is not Origin.DECLARED:
        return ()
    return (each for each in contents.findings if each.document == place.index)
