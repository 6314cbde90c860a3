"""What validation holds against objects, asked only about those that a change can concern. Pure.

The same rules that `gitvirt validate` has; here they see an object, what it refers to, and who else refers to that. Which
objects must be seen together is said twice, and both must agree: `keys_concerned` names whose findings a change can alter,
`find_errors` gathers around each what its rules look at. A rule of schemas.validate that looks further needs both extended;
the law "small updates give what one update gives" fails otherwise.

Only declared and generated objects are judged: what is frozen or leaving stays as it was accepted. An error blocks its own
object, in `decide`; it never freezes a file and never takes an assignment away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.relations import POOL_OF, Relations, pin_of
from reconciler.world.source.tree_index import TreeIndex
from schemas.kinds import Key, Kind
from schemas.problem import Severity
from schemas.validate import AnyDeclaration, Declaration, Tree, ValidationPolicy, check_tree
from schemas.validate.finding import Finding
from schemas.validate.identity import duplicate_finding

OWN = (Kind.VOLUME, Kind.NETWORK_INTERFACE)  # one machine at a time may have it
JUDGED = frozenset({Origin.DECLARED, Origin.GENERATED})
GUESSING = ("GV310", "GV312")
ON_TARGET = ValidationPolicy(is_target=True)


def keys_concerned(
    changed: Iterable[Key], known: Mapping[Key, ObjectState], relations: Relations
) -> set[Key]:
    """Those whose findings a change of these objects can alter."""
    found: set[Key] = set()
    for key in changed:
        found.add(key)
        found.update(relations.users.get(key))
        if key.kind is Kind.MACHINE and key in known:
            for used in relations.uses.get(key, ()):
                if used.kind in OWN:
                    found.update(relations.users.get(used))
    return found


def find_errors(
    keys: Collection[Key], known: Mapping[Key, ObjectState], relations: Relations, source: TreeIndex
) -> dict[Key, tuple[Finding, ...]]:
    """Errors only, by the object that has them; sorted, so that equal findings compare equal. A key without any is left out."""
    judged = {key: known[key] for key in keys if key in known and known[key].origin in JUDGED}
    around = dict(judged)
    for one in judged.values():
        for used in (*relations.uses.get(one.key, ()), *_pinned_pools(one)):
            if used in known:
                around[used] = known[used]
            if used.kind in OWN:
                around.update({user: known[user] for user in relations.users.get(used) if user in known})
    found: dict[str, list[Finding]] = {}
    tree = Tree(tuple(_entries(around)))
    for finding in check_tree(tree, ON_TARGET):
        if finding.severity is Severity.ERROR:
            # What else a name may have meant is for those to say who see all of them: gitvirt validate.
            plain = finding._replace(hint="") if finding.code in GUESSING else finding
            found.setdefault(finding.object, []).append(plain)
    by_key = {}
    for key, one in judged.items():
        own = tuple(sorted((*found.get(str(key), ()), *_within(one, source), *_twice(one, source))))
        if own:
            by_key[key] = own
    return by_key


def _pinned_pools(known: ObjectState) -> tuple[Key, ...]:
    """A pin is not among the references of an object, and a rule asks whether the pool is declared."""
    pin = pin_of(known.object)
    return (Key(POOL_OF[known.key.kind], "", pin),) if pin else ()


def _entries(around: Mapping[Key, ObjectState]) -> Iterable[AnyDeclaration]:
    """Sorted so that what is placed already comes first: of two machines that want one volume, the placed one has it, and the
    other one has the error.
    """
    for known in sorted(around.values(), key=_order):
        entry = _entry(known)
        if entry is not None:
            yield entry


def _entry(known: ObjectState) -> AnyDeclaration | None:
    place = known.source if known.origin is Origin.DECLARED else known.live
    return Declaration(place.path, place.index, known.key, known.object) if place is not None else None


def _twice(known: ObjectState, source: TreeIndex) -> Iterable[Finding]:
    """Every further document of an identity is held against it; what else these say does not count."""
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
    """What was found in its own document when its file was parsed."""
    place = known.source
    contents = source.problem_files.get(place.path) if place else None
    if contents is None or place is None or known.origin is not Origin.DECLARED:
        return ()
    return (each for each in contents.findings if each.document == place.index)
