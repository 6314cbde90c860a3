"""What validation holds against objects, asked only about those that a change can concern. Pure.

The same rules that `gitvirt validate` has; here they see an object, what it refers to, and who else refers to that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from reconciler.world.branch import Branch
from reconciler.world.known import Known, Standing
from reconciler.world.relations import Relations, uses
from schemas.kinds import Key, Kind
from schemas.model import Machine, Volume
from schemas.problem import Severity
from schemas.validate import AnyEntry, Entry, Policy, Tree, between
from schemas.validate.finding import Finding

OWN = (Kind.VOLUME, Kind.NETWORK_INTERFACE)  # one machine at a time may have it
JUDGED = frozenset({Standing.DECLARED, Standing.GENERATED})
ON_TARGET = Policy(is_target=True)


def concerned(changed: Iterable[Key], known: Mapping[Key, Known], relations: Relations) -> set[Key]:
    """Those whose findings a change of these objects can alter."""
    found: set[Key] = set()
    for key in changed:
        found.add(key)
        found.update(relations.users.get(key))
        if key.kind is Kind.MACHINE and key in known:
            for used in uses(known[key]):
                if used.kind in OWN:
                    found.update(relations.users.get(used))
    return found


def faults(
    keys: Collection[Key], known: Mapping[Key, Known], relations: Relations, source: Branch
) -> dict[Key, tuple[Finding, ...]]:
    """Errors only, by the object that has them."""
    judged = {key: known[key] for key in keys if key in known and known[key].standing in JUDGED}
    around = dict(judged)
    for one in judged.values():
        for used in _looked_at(one):
            if used in known:
                around[used] = known[used]
            if used.kind in OWN:
                around.update({user: known[user] for user in relations.users.get(used) if user in known})
    found: dict[str, list[Finding]] = {}
    tree = Tree(tuple(_entries(around, source)))
    for finding in between(tree, ON_TARGET):
        if finding.severity is Severity.ERROR:
            found.setdefault(finding.object, []).append(finding)
    by_key = {}
    for key, one in judged.items():
        own = tuple(sorted((*found.get(str(key), ()), *_within(one, source))))
        if own:
            by_key[key] = own
    return by_key


def _looked_at(known: Known) -> set[Key]:
    found, object = uses(known), known.object
    if isinstance(object, Machine) and object.spec.machine_pool_ref:
        found.add(Key(Kind.MACHINE_POOL, "", object.spec.machine_pool_ref.name))
    if isinstance(object, Volume) and object.spec.volume_pool_ref:
        found.add(Key(Kind.VOLUME_POOL, "", object.spec.volume_pool_ref.name))
    return found


def _entries(around: Mapping[Key, Known], source: Branch) -> Iterable[AnyEntry]:
    """Whoever is placed already comes first: of two that want one volume, it has it."""
    ordered = sorted(around.values(), key=_order)
    for known in ordered:
        place = known.source if known.standing is Standing.DECLARED else known.live
        if place is not None:
            yield Entry(place.path, place.index, known.key, known.object)
    for known in ordered:
        for doc in source.docs(known.key):
            if known.standing is Standing.DECLARED and doc.place != known.source and doc.object is not None:
                yield Entry(doc.place.path, doc.place.index, doc.key, doc.object)


def _order(known: Known) -> tuple[bool, str, int]:
    place = known.source or known.live
    return not known.record.pool, place.path if place else "", place.index if place else 0


def _within(known: Known, source: Branch) -> Iterable[Finding]:
    place = known.source
    contents = source.odd.get(place.path) if place else None
    if contents is None or place is None or known.standing is not Standing.DECLARED:
        return ()
    return (each for each in contents.findings if each.document == place.index)
