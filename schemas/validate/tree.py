"""All declarations of one revision, by kind and name, and the volumes and interfaces they generate. Checks nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import (
    Machine,
    MachineClass,
    MachinePool,
    Network,
    NetworkInterface,
    NetworkInterfaceSpec,
    Object,
    ResourceQuota,
    Volume,
    VolumeClass,
    VolumePool,
    VolumeSnapshot,
    VolumeSpec,
)
from schemas.problem import Severity
from schemas.validate.finding import Finding

T_co = TypeVar("T_co", bound=Object, covariant=True)
Name: TypeAlias = tuple[str, str]  # namespace, empty for cluster-wide kinds; name


class Declaration(NamedTuple, Generic[T_co]):
    """One object, and the file and document that declare it."""

    path: str
    document: int  # index in the file
    key: Key
    object: T_co

    def finding(
        self, code: str, pointer: str, message: str, hint: str = "", severity: Severity = Severity.ERROR
    ) -> Finding:
        """A finding about this object."""
        return Finding(self.path, self.document, str(self.key), pointer, code, message, hint, severity)


AnyDeclaration: TypeAlias = Declaration[Object]
Declarations: TypeAlias = dict[Name, Declaration[T_co]]


class VolumeSource(NamedTuple):
    """A declared volume, or the volume of a machine's ephemeral entry."""

    entry: AnyDeclaration
    pointer: str  # of the spec
    name: str
    spec: VolumeSpec


class InterfaceSource(NamedTuple):
    """The same for a network interface."""

    entry: AnyDeclaration
    pointer: str
    name: str
    spec: NetworkInterfaceSpec


@dataclass(frozen=True)
class Tree:
    """All declarations of a revision. `by_kind` has the first one of each identity, `entries` also the duplicates."""

    entries: tuple[AnyDeclaration, ...]
    invalid: frozenset[Key] = frozenset()  # identities of declared documents that are invalid
    unreadable: tuple[str, ...] = ()  # files that may declare any object

    @cached_property
    def by_kind(self) -> dict[Kind, dict[Name, Any]]:
        """The first declaration of each identity, by kind, namespace and name."""
        by_kind: dict[Kind, dict[Name, Any]] = {kind: {} for kind in Kind}
        for entry in self.entries:
            key = entry.key
            by_kind[key.kind].setdefault((key.namespace, key.name), entry)
        return by_kind

    @property
    def duplicates(self) -> Iterator[AnyDeclaration]:
        """Declarations whose identity an earlier declaration has."""
        if len(self.entries) == sum(map(len, self.by_kind.values())):
            return
        for entry in self.entries:
            if entry is not self.find(entry.key.kind, entry.key.namespace, entry.key.name):
                yield entry

    def without_deleting(self) -> Tree:
        """Without objects whose deletion is ordered: their names, volumes and addresses are free for others."""
        staying = tuple(entry for entry in self.entries if not entry.object.metadata.is_deleting)
        return self if len(staying) == len(self.entries) else replace(self, entries=staying)

    @property
    def machine_classes(self) -> Declarations[MachineClass]:
        return self.by_kind[Kind.MACHINE_CLASS]

    @property
    def machine_pools(self) -> Declarations[MachinePool]:
        return self.by_kind[Kind.MACHINE_POOL]

    @property
    def machines(self) -> Declarations[Machine]:
        return self.by_kind[Kind.MACHINE]

    @property
    def volume_classes(self) -> Declarations[VolumeClass]:
        return self.by_kind[Kind.VOLUME_CLASS]

    @property
    def volume_pools(self) -> Declarations[VolumePool]:
        return self.by_kind[Kind.VOLUME_POOL]

    @property
    def volumes(self) -> Declarations[Volume]:
        return self.by_kind[Kind.VOLUME]

    @property
    def snapshots(self) -> Declarations[VolumeSnapshot]:
        return self.by_kind[Kind.VOLUME_SNAPSHOT]

    @property
    def networks(self) -> Declarations[Network]:
        return self.by_kind[Kind.NETWORK]

    @property
    def interfaces(self) -> Declarations[NetworkInterface]:
        return self.by_kind[Kind.NETWORK_INTERFACE]

    @property
    def quotas(self) -> Declarations[ResourceQuota]:
        return self.by_kind[Kind.RESOURCE_QUOTA]

    def find(self, kind: Kind, namespace: str, name: str) -> AnyDeclaration | None:
        """The declaration with this identity. The namespace of cluster-wide kinds is ignored."""
        return self.by_kind[kind].get((namespace if kind.is_namespaced else "", name))

    @cached_property
    def ephemeral_volumes(self) -> list[VolumeSource]:
        """Volumes of ephemeral entries, unless the reconciler has already generated their documents."""
        machines = self.machines.values()
        sources = (source for each in machines for source in ephemeral_volumes(each, each.object))
        return [source for source in sources if not self.is_generated(Kind.VOLUME, source)]

    @cached_property
    def ephemeral_interfaces(self) -> list[InterfaceSource]:
        machines = self.machines.values()
        sources = (source for each in machines for source in ephemeral_interfaces(each, each.object))
        return [source for source in sources if not self.is_generated(Kind.NETWORK_INTERFACE, source)]

    def is_generated(self, kind: Kind, source: VolumeSource | InterfaceSource) -> bool:
        """Whether the reconciler has already written the document of this entry."""
        declared = self.by_kind[kind].get((source.entry.key.namespace, source.name))
        return declared is not None and declared.path.startswith(live_layout.GENERATED)

    @cached_property
    def volume_sources(self) -> list[VolumeSource]:
        """All volumes: declared ones and those of ephemeral entries."""
        declared = [
            VolumeSource(each, "/spec", each.object.name, each.object.spec) for each in self.volumes.values()
        ]
        return declared + self.ephemeral_volumes

    @cached_property
    def interface_sources(self) -> list[InterfaceSource]:
        """All network interfaces: declared ones and those of ephemeral entries."""
        declared = [
            InterfaceSource(each, "/spec", each.object.name, each.object.spec)
            for each in self.interfaces.values()
        ]
        return declared + self.ephemeral_interfaces


def volumes_of(entry: AnyDeclaration) -> Iterator[VolumeSource]:
    """The volume that an object is, or the volumes of its ephemeral entries."""
    if isinstance(entry.object, Volume):
        yield VolumeSource(entry, "/spec", entry.key.name, entry.object.spec)
    elif isinstance(entry.object, Machine):
        yield from ephemeral_volumes(entry, entry.object)


def interfaces_of(entry: AnyDeclaration) -> Iterator[InterfaceSource]:
    """The network interface that an object is, or those of its ephemeral entries."""
    if isinstance(entry.object, NetworkInterface):
        yield InterfaceSource(entry, "/spec", entry.key.name, entry.object.spec)
    elif isinstance(entry.object, Machine):
        yield from ephemeral_interfaces(entry, entry.object)


def ephemeral_volumes(entry: AnyDeclaration, machine: Machine) -> Iterator[VolumeSource]:
    """The volumes of a machine's ephemeral entries."""
    for position, volume in enumerate(machine.spec.volumes):
        if volume.ephemeral:
            pointer = f"/spec/volumes/{position}/ephemeral/volumeTemplate/spec"
            name = derived_name(machine, volume.name)
            yield VolumeSource(entry, pointer, name, volume.ephemeral.volume_template.spec)


def ephemeral_interfaces(entry: AnyDeclaration, machine: Machine) -> Iterator[InterfaceSource]:
    for position, interface in enumerate(machine.spec.network_interfaces):
        if interface.ephemeral:
            pointer = f"/spec/networkInterfaces/{position}/ephemeral/networkInterfaceTemplate/spec"
            name = derived_name(machine, interface.name)
            yield InterfaceSource(entry, pointer, name, interface.ephemeral.network_interface_template.spec)


def derived_name(machine: Machine, entry: str) -> str:
    """The name of the object that a machine's ephemeral entry generates."""
    return f"{machine.name}-{entry}"
