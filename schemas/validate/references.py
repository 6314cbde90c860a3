"""What objects refer to by name: that it exists, and that a volume is not smaller than the snapshot it is restored from.

Pins to pools have rules of their own, in pools.py. `ReferenceIndex` has the references in reverse, for the rules about
changed and removed objects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from schemas.kinds import Key, Kind
from schemas.model import Machine, NetworkInterface, Secret, Volume, VolumeSnapshot, VolumeSpec
from schemas.model.defaults import ENCRYPTION_KEY
from schemas.problem import Severity
from schemas.spelling import nearest
from schemas.validate.finding import Finding, shorten_list
from schemas.validate.inputs import EarlierRevision
from schemas.validate.names import NameHints
from schemas.validate.tree import AnyDeclaration, Declaration, Tree, volumes_of


class Reference(msgspec.Struct, frozen=True, gc=False):
    """A struct without garbage collection, because there are hundreds of thousands of references."""

    pointer: str
    kind: Kind
    namespace: str
    name: str
    secret_key: str = ""  # the key that the Secret must have


def references(entry: AnyDeclaration) -> Iterator[Reference]:
    """Everything that must exist for the object to work. A pin to a pool does not count: a poollet may announce the pool."""
    namespace = entry.key.namespace
    match entry.object:
        case Machine() as machine:
            yield from of_machine(machine, namespace)
        case Volume() as volume:
            yield from of_volume(volume.spec, "/spec", namespace)
        case VolumeSnapshot() as snapshot:
            yield Reference("/spec/volumeRef/name", Kind.VOLUME, namespace, snapshot.spec.volume_ref.name)
        case NetworkInterface() as interface:
            yield Reference("/spec/networkRef/name", Kind.NETWORK, namespace, interface.spec.network_ref.name)
        case _:
            pass


def of_machine(machine: Machine, namespace: str) -> Iterator[Reference]:
    """Class, volumes, interfaces and ignition Secret."""
    spec = machine.spec
    yield Reference("/spec/machineClassRef/name", Kind.MACHINE_CLASS, "", spec.machine_class_ref.name)
    for position, volume in enumerate(spec.volumes):
        pointer = f"/spec/volumes/{position}"
        if volume.volume_ref:
            yield Reference(f"{pointer}/volumeRef/name", Kind.VOLUME, namespace, volume.volume_ref.name)
        elif volume.ephemeral:
            template = volume.ephemeral.volume_template.spec
            yield from of_volume(template, f"{pointer}/ephemeral/volumeTemplate/spec", namespace)
    for position, entry in enumerate(spec.network_interfaces):
        pointer = f"/spec/networkInterfaces/{position}"
        if entry.network_interface_ref:
            name = entry.network_interface_ref.name
            yield Reference(f"{pointer}/networkInterfaceRef/name", Kind.NETWORK_INTERFACE, namespace, name)
        elif entry.ephemeral:
            name = entry.ephemeral.network_interface_template.spec.network_ref.name
            pointer += "/ephemeral/networkInterfaceTemplate/spec/networkRef/name"
            yield Reference(pointer, Kind.NETWORK, namespace, name)
    if ignition := spec.ignition_ref:
        yield Reference("/spec/ignitionRef/name", Kind.SECRET, namespace, ignition.name, ignition.key)


def of_volume(spec: VolumeSpec, pointer: str, namespace: str) -> Iterator[Reference]:
    """Class, encryption Secret and snapshot. Also for the template of an ephemeral volume."""
    if spec.volume_class_ref:
        yield Reference(f"{pointer}/volumeClassRef/name", Kind.VOLUME_CLASS, "", spec.volume_class_ref.name)
    if spec.encryption:
        name = spec.encryption.secret_ref.name
        yield Reference(f"{pointer}/encryption/secretRef/name", Kind.SECRET, namespace, name, ENCRYPTION_KEY)
    if spec.data_source and spec.data_source.volume_snapshot_ref:
        name = spec.data_source.volume_snapshot_ref.name
        yield Reference(f"{pointer}/dataSource/volumeSnapshotRef/name", Kind.VOLUME_SNAPSHOT, namespace, name)


def findings(tree: Tree) -> Iterator[Finding]:
    """GV310 and GV311: what an object refers to exists, and a Secret has the key that is needed of it.

    References stay within a namespace, apart from those to classes and pools, which have none.
    """
    names = NameHints(tree)
    by_kind = tree.by_kind
    for entry in tree.entries:
        for reference in references(entry):
            found = by_kind[reference.kind].get((reference.namespace, reference.name))
            if found is None:
                yield from missing(entry, reference, names)
            elif reference.secret_key and reference.secret_key not in found.object.keys:
                yield without_key(entry, reference, found)


def missing(entry: AnyDeclaration, reference: Reference, names: NameHints) -> Iterator[Finding]:
    """GV310, unless the document exists and is invalid, which is reported already."""
    if names.is_refused(reference.kind, reference.namespace, reference.name):
        return
    # A snapshot may outlive its volume: the volume can be restored from it.
    is_snapshot = entry.key.kind is Kind.VOLUME_SNAPSHOT
    place = f" in namespace {reference.namespace}" if reference.namespace else ""
    yield entry.finding(
        "GV310",
        reference.pointer,
        f'there is no {reference.kind} "{reference.name}"{place}',
        names.hint(reference.kind, reference.namespace, reference.name),
        Severity.WARNING if is_snapshot else Severity.ERROR,
    )


def without_key(entry: AnyDeclaration, reference: Reference, secret: Declaration[Secret]) -> Finding:
    """GV311: the Secret does not have the required key."""
    known = sorted(secret.object.keys)
    meant = nearest(reference.secret_key, known)
    has = f"it has {shorten_list(known)}" if known else "it is empty"
    return entry.finding(
        "GV311",
        reference.pointer,
        f'Secret "{reference.name}" has no key "{reference.secret_key}"; {has}',
        f'did you mean "{meant}"?' if meant else f"add the key in {secret.path}",
    )._replace(also=(secret.path,))


def restored_too_small(tree: Tree) -> Iterator[Finding]:
    """GV351: a volume is at least as large as the volume of its snapshot."""
    for source in tree.volume_sources:
        spec = source.spec
        if not (spec.data_source and spec.data_source.volume_snapshot_ref and spec.resources):
            continue
        namespace = source.entry.key.namespace
        snapshot = tree.of(VolumeSnapshot).get((namespace, spec.data_source.volume_snapshot_ref.name))
        origin = tree.of(Volume).get((namespace, snapshot.object.spec.volume_ref.name)) if snapshot else None
        if snapshot is None or origin is None or origin.object.spec.resources is None:
            continue
        need, have = origin.object.spec.resources.storage, spec.resources.storage
        if have < need:
            yield source.entry.finding(
                "GV351",
                f"{source.pointer}/resources/storage",
                f"{have} is too small for snapshot {snapshot.key.name} of volume {origin.key.name}, which has {need}",
                f"request at least {need}",
            )._replace(also=(snapshot.path, origin.path))


class ReferenceIndex:
    """Which objects refer to a given one. Built at the first lookup: most revisions change no object that others use."""

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
    """Objects that used the given one before too. A user that is new in this revision cannot be broken by the change.

    Returned as text for a message; empty if there is none.
    """
    users = []
    for user in uses.of(key):
        before = past.before(user)
        if before is not None and key in referenced_keys(before):
            users.append(str(user.key))
    return shorten_list(users)
