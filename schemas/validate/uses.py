"""References in reverse: which objects refer to a given one. Needed only for changed and removed objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from schemas.kinds import Key, Kind
from schemas.model import Machine
from schemas.validate.finding import shorten_list
from schemas.validate.inputs import EarlierRevision
from schemas.validate.references import references
from schemas.validate.tree import AnyDeclaration, Tree, volumes_of


class ReferenceIndex:
    """Built at the first lookup: most revisions change no object that others use."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.index: dict[Key, list[AnyDeclaration]] | None = None

    def of(self, key: Key) -> list[AnyDeclaration]:
        """The objects that refer to this one."""
        if self.index is None:
            self.index = defaultdict(list)
            for entry in self.tree.entries:
                for used in set(referenced_keys(entry)):
                    self.index[used].append(entry)
        return self.index.get(key, [])


def referenced_keys(entry: AnyDeclaration) -> Iterator[Key]:
    """Keys that the object refers to. A snapshot may outlive its volume, so it does not count as its user."""
    if entry.key.kind is not Kind.VOLUME_SNAPSHOT:
        for reference in references(entry):
            yield Key(reference.kind, reference.namespace, reference.name)
    if isinstance(entry.object, Machine) and entry.object.spec.machine_pool_ref:
        yield Key(Kind.MACHINE_POOL, "", entry.object.spec.machine_pool_ref.name)
    for source in volumes_of(entry):
        if source.spec.volume_pool_ref:
            yield Key(Kind.VOLUME_POOL, "", source.spec.volume_pool_ref.name)


def continued_users(key: Key, uses: ReferenceIndex, past: EarlierRevision) -> str:
    """Objects that used the given one before too. A user that is new in this revision cannot be broken by the change."""
    users = []
    for user in uses.of(key):
        before = past.before(user)
        if before is not None and key in referenced_keys(before):
            users.append(str(user.key))
    return shorten_list(users)
