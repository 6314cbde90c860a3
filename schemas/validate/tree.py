"""All declarations of one revision, by kind and name, and the volumes and interfaces they generate. Checks nothing.

Ephemeral entries count as volumes and interfaces from the moment when a machine is declared, although the reconciler
writes their documents later: a rule must say the same before and after that. `_sources` therefore leaves out an entry
whose document has been generated, which would otherwise be counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import Machine, NetworkInterface, NetworkInterfaceSpec, Object, Volume, VolumeSpec
from schemas.problem import Severity
from schemas.validate.finding import Finding

T = TypeVar("T", bound=Object)
T_co = TypeVar("T_co", bound=Object, covariant=True)
S_co = TypeVar("S_co", VolumeSpec, NetworkInterfaceSpec, covariant=True)
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


class SpecSource(NamedTuple, Generic[S_co]):
    """The spec of a declared volume or network interface, or of the one that a machine's ephemeral entry becomes."""

    entry: AnyDeclaration
    pointer: str  # of the spec
    name: str
    spec: S_co


@dataclass(frozen=True)
class Tree:
    """All declarations of a revision. `by_kind` has the first one of each identity, `entries` also the duplicates.

    `invalid` and `unreadable` say what is unknown. A rule that finds nothing under a name has to ask them before it reports
    that the object is missing.
    """

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

    def of(self, form: type[T]) -> dict[Name, Declaration[T]]:
        """The first declaration of each identity, for the kind of this type."""
        return self.by_kind[form.KIND]

    def find(self, kind: Kind, namespace: str, name: str) -> AnyDeclaration | None:
        """The declaration with this identity. The namespace of cluster-wide kinds is ignored."""
        return self.by_kind[kind].get((namespace if kind.is_namespaced else "", name))

    @cached_property
    def volume_sources(self) -> list[SpecSource[VolumeSpec]]:
        """All volumes: declared ones and those of ephemeral entries."""
        return self._sources(Kind.VOLUME, volumes_of)

    @cached_property
    def interface_sources(self) -> list[SpecSource[NetworkInterfaceSpec]]:
        """All network interfaces: declared ones and those of ephemeral entries."""
        return self._sources(Kind.NETWORK_INTERFACE, interfaces_of)

    def _sources(
        self, kind: Kind, sources_of: Callable[[AnyDeclaration], Iterator[SpecSource[S_co]]]
    ) -> list[SpecSource[S_co]]:
        """Without an entry whose document the reconciler has already generated: that one is declared."""
        declared = self.by_kind[kind]
        found = [source for entry in declared.values() for source in sources_of(entry)]
        for machine in self.of(Machine).values():
            for source in sources_of(machine):
                same = declared.get((machine.key.namespace, source.name))
                if same is None or not same.path.startswith(live_layout.GENERATED):
                    found.append(source)
        return found


def volumes_of(entry: AnyDeclaration) -> Iterator[SpecSource[VolumeSpec]]:
    """The volume that an object is, or the volumes of its ephemeral entries."""
    if isinstance(entry.object, Volume):
        yield SpecSource(entry, "/spec", entry.key.name, entry.object.spec)
    elif isinstance(entry.object, Machine):
        for position, volume in enumerate(entry.object.spec.volumes):
            if volume.ephemeral:
                pointer = f"/spec/volumes/{position}/ephemeral/volumeTemplate/spec"
                name = derived_name(entry.object, volume.name)
                yield SpecSource(entry, pointer, name, volume.ephemeral.volume_template.spec)


def interfaces_of(entry: AnyDeclaration) -> Iterator[SpecSource[NetworkInterfaceSpec]]:
    """The network interface that an object is, or those of its ephemeral entries."""
    if isinstance(entry.object, NetworkInterface):
        yield SpecSource(entry, "/spec", entry.key.name, entry.object.spec)
    elif isinstance(entry.object, Machine):
        for position, interface in enumerate(entry.object.spec.network_interfaces):
            if interface.ephemeral:
                pointer = f"/spec/networkInterfaces/{position}/ephemeral/networkInterfaceTemplate/spec"
                name = derived_name(entry.object, interface.name)
                yield SpecSource(entry, pointer, name, interface.ephemeral.network_interface_template.spec)


def derived_name(machine: Machine, entry: str) -> str:
    """The name of the object that a machine's ephemeral entry generates."""
    return f"{machine.name}-{entry}"
