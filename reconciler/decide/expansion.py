"""What a machine's ephemeral entries become: documents of volumes and network interfaces that exist on `live` alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from schemas.edit.fields import Value
from schemas.kinds import DOMAINS, Key, Kind, api_version
from schemas.model import Machine, NetworkInterfaceTemplate, VolumeTemplate
from schemas.validate.tree import derived_name


class Expansion(NamedTuple):
    """One generated object: its identity, and the document without anything of the reconciler's record."""

    key: Key
    entry: str  # of the machine
    body: Mapping[str, Value]


def expansions(machine: Machine, owner_uid: str) -> Iterator[Expansion]:
    """In the order of the machine's entries."""
    for disk in machine.spec.volumes:
        if disk.ephemeral is not None:
            yield expansion(machine, owner_uid, Kind.VOLUME, disk.name, disk.ephemeral.volume_template)
    for interface in machine.spec.network_interfaces:
        if interface.ephemeral is not None:
            template = interface.ephemeral.network_interface_template
            yield expansion(machine, owner_uid, Kind.NETWORK_INTERFACE, interface.name, template)


def expansion(
    machine: Machine,
    owner_uid: str,
    kind: Kind,
    entry: str,
    template: VolumeTemplate | NetworkInterfaceTemplate,
) -> Expansion:
    name = derived_name(machine, entry)
    metadata: dict[str, Value] = {"name": name, "namespace": machine.namespace}
    for field, values in (
        ("labels", template.metadata.labels),
        ("annotations", template.metadata.annotations),
    ):
        if values:
            metadata[field] = dict(sorted(values.items()))
    metadata["ownerReferences"] = [
        {
            "apiVersion": machine.api_version,
            "kind": Kind.MACHINE.value,
            "name": machine.name,
            "uid": owner_uid,
            "controller": True,
        }
    ]
    body: dict[str, Value] = {
        "apiVersion": api_version(kind, domain_of(machine)),
        "kind": kind.value,
        "metadata": metadata,
        "spec": plain(template.spec),
    }
    return Expansion(Key(kind, machine.namespace, name), entry, body)


def domain_of(machine: Machine) -> str:
    """A repo keeps to one of the two spellings of the groups, and so does what is made of it."""
    written = machine.api_version.lower()
    return next((domain for domain in DOMAINS if domain in written), DOMAINS[0])


def plain(part: object) -> Any:
    """As a manifest writes it; what was not written is left out."""
    return msgspec.json.decode(msgspec.json.encode(part, enc_hook=str))
