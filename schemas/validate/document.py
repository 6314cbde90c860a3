"""Rules for one document beyond its schema: contradictions inside it, and fields that only gitvirt may write.

They need no other document, so they run where the document is read. What JSON Schema can express belongs into the schema,
where editors show it too; a value that is wrong by itself belongs into `manifest.value_rules`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schemas import live_layout
from schemas.model import (
    Machine,
    MachinePool,
    Network,
    NetworkSpec,
    Taint,
    Toleration,
    Volume,
    VolumePool,
)
from schemas.problem import Severity
from schemas.spelling import nearest
from schemas.validate import guest_config
from schemas.validate.finding import Finding
from schemas.validate.inputs import ValidationPolicy
from schemas.validate.tree import AnyDeclaration


def findings(entry: AnyDeclaration, body: Mapping[str, Any], policy: ValidationPolicy) -> Iterator[Finding]:
    """All rules for one document."""
    yield from of_object(entry)
    yield from of_reserved_fields(entry, body, policy)
    if not policy.is_target:
        yield from of_annotations(entry)


def of_object(entry: AnyDeclaration) -> Iterator[Finding]:
    """Rules by kind. Other kinds have none beyond their schema."""
    match entry.object:
        case Machine():
            yield from of_machine(entry, entry.object)
            yield from guest_config.findings(entry, entry.object)
        case Volume():
            yield from of_tolerations(entry, "/spec/tolerations", entry.object.spec.tolerations)
            yield from of_volume_without_class(entry, entry.object)
        case Network():
            yield from of_peerings(entry, entry.object)
            yield from of_network(entry, entry.object.spec)
        case MachinePool() | VolumePool():
            yield from of_taints(entry, entry.object.spec.taints)


def of_machine(entry: AnyDeclaration, machine: Machine) -> Iterator[Finding]:
    """Firmware variables, tolerations and selectors."""
    spec = machine.spec
    yield from of_variables(entry, machine)
    yield from of_tolerations(entry, "/spec/tolerations", spec.tolerations)
    for position, volume in enumerate(spec.volumes):
        if volume.ephemeral:
            pointer = f"/spec/volumes/{position}/ephemeral/volumeTemplate/spec/tolerations"
            yield from of_tolerations(entry, pointer, volume.ephemeral.volume_template.spec.tolerations)
    yield from of_selectors(entry, machine)


def of_variables(entry: AnyDeclaration, machine: Machine) -> Iterator[Finding]:
    """GV330: name and uuid identify a variable."""
    seen: set[tuple[str, str]] = set()
    for position, variable in enumerate(machine.spec.efi_vars):
        identity = (variable.name, variable.uuid.lower())
        if identity in seen:
            message = f"the machine already has an EFI variable {variable.name} of that uuid"
            yield entry.finding("GV330", f"/spec/efiVars/{position}/name", message, "remove one of them")
        seen.add(identity)


def of_tolerations(
    entry: AnyDeclaration, pointer: str, tolerations: Sequence[Toleration]
) -> Iterator[Finding]:
    """GV332: combinations of fields that have no effect."""
    for position, toleration in enumerate(tolerations):
        if toleration.operator == "Exists" and toleration.value:
            wrong, field = "operator Exists only compares the key, so value has no effect", "value"
        elif toleration.operator != "Exists" and not toleration.key:
            wrong = "without a key only operator Exists is possible, which tolerates every taint"
            field = "operator"
        elif toleration.toleration_seconds is not None and toleration.effect not in ("NoExecute", ""):
            wrong, field = "tolerationSeconds applies only to effect NoExecute", "tolerationSeconds"
        else:
            continue
        yield entry.finding("GV332", f"{pointer}/{position}/{field}", wrong, f"remove or correct {field}")


def of_taints(entry: AnyDeclaration, taints: Sequence[Taint]) -> Iterator[Finding]:
    """GV333: key and effect identify a taint."""
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        if (taint.key, taint.effect) in seen:
            message = f"the pool already has a taint {taint.key} with effect {taint.effect}"
            yield entry.finding("GV333", f"/spec/taints/{position}", message, "remove one of them")
        seen.add((taint.key, taint.effect))


def of_volume_without_class(entry: AnyDeclaration, volume: Volume) -> Iterator[Finding]:
    """GV331: such a volume exists outside of gitvirt, so nothing ever fills it."""
    if volume.spec.volume_class_ref is None and volume.spec.data_source is not None:
        message = "a volume without volumeClassRef exists already, so its dataSource has no effect"
        yield entry.finding("GV331", "/spec", message, "add volumeClassRef, or remove dataSource")


def of_peerings(entry: AnyDeclaration, network: Network) -> Iterator[Finding]:
    """GV345: a peering joins two different networks, once."""
    own = (entry.key.namespace, entry.key.name)
    seen: set[tuple[str, str]] = set()
    names: set[str] = set()
    for position, peering in enumerate(network.spec.peerings):
        pointer = f"/spec/peerings/{position}"
        other = (peering.network_ref.namespace or entry.key.namespace, peering.network_ref.name)
        if other == own:
            yield entry.finding(
                "GV345", f"{pointer}/networkRef", "the network is peered with itself", "remove the peering"
            )
        elif other in seen:
            message = f"the network is already peered with {'/'.join(other)}"
            yield entry.finding("GV345", f"{pointer}/networkRef", message, "remove one of them")
        elif peering.name in names:
            message = f"the network already has a peering {peering.name}"
            yield entry.finding("GV345", f"{pointer}/name", message, "rename one of them")
        seen.add(other)
        names.add(peering.name)


def of_network(entry: AnyDeclaration, spec: NetworkSpec) -> Iterator[Finding]:
    """GV347 and GV348: a gateway that guests reach, and a VLAN where there can be one."""
    if spec.ipv4 is not None and spec.gateway and ":" not in spec.gateway:
        within, gateway = ipaddress.IPv4Network(spec.ipv4.cidr), ipaddress.IPv4Address(spec.gateway)
        hint = f"choose one from {within[0]} to {within[-1]}"
        if gateway not in within:
            message = f"gateway {gateway} is not in the network's range {within}, so guests cannot reach it"
            yield entry.finding("GV347", "/spec/gateway", message, hint)
        elif within.prefixlen < 31 and gateway in (within[0], within[-1]):
            what = "the address of the network itself" if gateway == within[0] else "the broadcast address"
            yield entry.finding("GV347", "/spec/gateway", f"gateway {gateway} is {what}", hint)
    if spec.vlan and (not spec.provider_id or spec.provider_id.startswith("libvirt:")):
        where = spec.provider_id or "an isolated network"
        message = f"vlan has no effect on {where}: only a bridge of the host has VLANs"
        hint = "name the bridge (`providerID: bridge:<name>`), or remove vlan"
        yield entry.finding("GV348", "/spec/vlan", message, hint)


def of_selectors(entry: AnyDeclaration, machine: Machine) -> Iterator[Finding]:
    """GV334: a rule that does not count its own machine is probably a mistake."""
    rules = {"spread": machine.spec.spread, "antiAffinity": machine.spec.anti_affinity}
    for field, rule in rules.items():
        if rule is not None and not rule.label_selector.selector.matches(machine.metadata.labels):
            message = f"labelSelector of {field} does not match the labels of its own machine"
            hint = "give the machine the labels, or correct the selector"
            yield entry.finding("GV334", f"/spec/{field}/labelSelector", message, hint, Severity.WARNING)


FIELDS = (
    ("metadata", "uid"),
    ("metadata", "creationTimestamp"),
    ("metadata", "deletionTimestamp"),
    ("spec", "claimRef"),
    ("spec", "machineRef"),
)


def of_reserved_fields(
    entry: AnyDeclaration, body: Mapping[str, Any], policy: ValidationPolicy
) -> Iterator[Finding]:
    """Examines the written document, because the model leaves out the fields that gitvirt ignores."""
    if policy.is_target:
        return
    if body.get("status"):
        message = "hosts report status; gitvirt ignores the status in this file"
        hint = "remove it, or leave it: it has no effect"
        yield entry.finding("GV362", "/status", message, hint, Severity.NOTICE)
    for part, field in FIELDS:
        if (body.get(part) or {}).get(field):
            message = f"the reconciler records {field}; gitvirt ignores the value in this file"
            yield entry.finding("GV363", f"/{part}/{field}", message, "remove the field", Severity.NOTICE)


ANNOTATIONS = (
    live_layout.PAUSED,
    live_layout.RESTART,
    live_layout.RECREATE,
    live_layout.MOVE_CONSENT,
)
TRUTHS = ("true", "yes", "on", "1")


def of_annotations(entry: AnyDeclaration) -> Iterator[Finding]:
    """GV364: one that is nearly an annotation of gitvirt, or a pause in other words. Nothing reads it, and no output would say so."""
    domain = live_layout.PAUSED.partition("/")[0] + "/"
    for name, value in entry.object.metadata.annotations.items():
        pointer = "/metadata/annotations/" + name.replace("~", "~0").replace("/", "~1")
        if name == live_layout.PAUSED and value != "true" and value.lower() in TRUTHS:
            message = f'{name} pauses the object only if it is "true", not "{value}"'
            yield entry.finding("GV364", pointer, message, 'write "true"', Severity.WARNING)
        if not name.startswith(domain) or name in ANNOTATIONS:
            continue
        if meant := nearest(name.removeprefix(domain), (each.removeprefix(domain) for each in ANNOTATIONS)):
            message = f"gitvirt has no annotation {name}, so it has no effect"
            yield entry.finding("GV364", pointer, message, f"did you mean {domain}{meant}?", Severity.WARNING)
