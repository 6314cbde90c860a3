"""The effect of a change, by kind and field: `effect_of` is the one function that validation, plans, the reconciler and poollets ask.

The longest path of the kind's table that the field begins with decides. So a table names a whole where all of its fields have one
effect, and a field that is added to a schema without a rule is found by the test that walks all schemas, not by a user.

An ephemeral entry of a machine is a volume or an interface of its own: its template has the rules of that kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from schemas.effects import machine_rules
from schemas.effects.context import EffectContext
from schemas.effects.effect import (
    AppliedNow,
    AtCreation,
    AtNextPlacement,
    Effect,
    MayEvict,
    Recorded,
    Refused,
)
from schemas.effects.field_change import FieldChange, Path, list_field_changes
from schemas.effects.machine_rules import REATTACHED, UNUSED
from schemas.effects.rule import Rule, Rules
from schemas.effects.volume_rules import SNAPSHOT_RULES, VOLUME_RULES
from schemas.kinds import Kind

TEMPLATES: Mapping[Path, Kind] = {
    ("spec", "volumes[]", "ephemeral", "volumeTemplate"): Kind.VOLUME,
    ("spec", "networkInterfaces[]", "ephemeral", "networkInterfaceTemplate"): Kind.NETWORK_INTERFACE,
}
TEMPLATE_DEPTH = 4


def of_provider(change: FieldChange, _context: EffectContext) -> Effect:
    """Another id is another thing, so it is neither changed nor removed."""
    if not change.old:
        return Recorded()
    message = f"providerID cannot be changed after creation: {change.old} -> {change.new or 'none'}"
    return Refused("GV403", message, "restore the value, or declare a new object")


def of_capability(_change: FieldChange, context: EffectContext) -> Effect:
    """What is created of a class has its size."""
    if not context.is_used:
        return Recorded()
    message = f"capabilities cannot change while {context.users} use the class"
    return Refused("GV402", message, "declare a new class and move the objects to it")


def of_network_range(_change: FieldChange, context: EffectContext) -> Effect:
    return AppliedNow(f"interfaces in it are {REATTACHED}") if context.is_used else Recorded()


def of_interface(_change: FieldChange, context: EffectContext) -> Effect:
    """A runtime has no call to change an interface in place. Validation knows no users, and says what a used one does."""
    return AppliedNow(REATTACHED) if context.is_used else Recorded()


def of_interface_addresses(_change: FieldChange, context: EffectContext) -> Effect:
    """A server of the host gives the new address. A static one is first-boot data."""
    note = f"{REATTACHED}; a guest without DHCP keeps its addresses until `gitvirt replace` recreates it"
    return AppliedNow(note) if context.is_used else Recorded()


def of_interface_network(change: FieldChange, _context: EffectContext) -> Effect:
    message = f"the network of an interface cannot change: {change.old} -> {change.new}"
    return Refused("GV411", message, "restore networkRef, or declare a new interface under another name")


FIRST_BOOT_DATA = Recorded("machines that exist keep the data of their first boot")
GUEST_NETWORK = Recorded(
    "guests have read it at their first boot: machines that exist keep the old one until `gitvirt replace` recreates them"
)
COMMON: Rules = {
    ("apiVersion",): Recorded(),
    ("kind",): Recorded(),
    ("metadata",): Recorded(),
}
PAUSABLE: Rules = {("metadata", "annotations", machine_rules.PAUSED): machine_rules.of_annotation}
POOL: Rules = {
    ("metadata", "labels"): AtNextPlacement(),
    ("spec", "providerID"): of_provider,
    ("spec", "taints"): AtNextPlacement(),
    ("spec", "unschedulable"): AtNextPlacement(),
}
RULES: Mapping[Kind, Rules] = {
    Kind.MACHINE: machine_rules.RULES,
    Kind.MACHINE_CLASS: {("capabilities",): of_capability},
    Kind.MACHINE_POOL: {
        **POOL,
        ("spec", "taints"): MayEvict(),
        ("spec", "overcommit"): AtNextPlacement(),
        ("spec", "reserved"): AtNextPlacement(),
    },
    Kind.VOLUME: VOLUME_RULES,
    Kind.VOLUME_CLASS: {
        ("capabilities",): of_capability,
        ("resizePolicy",): Recorded("says whether volumes of the class may grow"),
    },
    Kind.VOLUME_POOL: {**POOL, ("spec", "machinePoolSelector"): AtNextPlacement()},
    Kind.VOLUME_SNAPSHOT: SNAPSHOT_RULES,
    Kind.NETWORK: {
        ("spec", "providerID"): of_provider,
        ("spec", "ipv4"): of_network_range,
        ("spec", "vlan"): of_network_range,
        ("spec", "gateway"): GUEST_NETWORK,
        ("spec", "dns"): GUEST_NETWORK,
        ("spec", "peerings"): UNUSED,
        ("spec", "incomingPeerings"): UNUSED,
    },
    Kind.NETWORK_INTERFACE: {
        ("spec", "networkRef", "name"): of_interface_network,
        ("spec", "ips"): of_interface_addresses,
        ("spec", "macAddress"): of_interface,
        ("spec", "attributes"): of_interface,
        ("spec", "providerID"): UNUSED,
        ("spec", "ipFamilies"): UNUSED,
        ("spec", "machineRef"): UNUSED,
        ("spec", "prefixes"): UNUSED,
        ("spec", "virtualIP"): UNUSED,
    },
    Kind.SECRET: {
        ("data",): FIRST_BOOT_DATA,
        ("stringData",): FIRST_BOOT_DATA,
        ("type",): Recorded(),
        ("immutable",): Recorded(),
        ("sops",): Recorded(),
    },
    Kind.RESOURCE_QUOTA: {("spec", "hard"): AtNextPlacement(), ("spec", "scopeSelector"): AtNextPlacement()},
}


def effect_of(change: FieldChange, context: EffectContext) -> Effect:
    """What the change does to the object, and what it destroys. Raises KeyError for a field that no schema has."""
    if not context.is_created:
        return AtCreation()
    if context.is_paused and change.path[-1] != machine_rules.PAUSED:
        return Recorded("applied once it is no longer paused")
    template = TEMPLATES.get(change.pattern[:TEMPLATE_DEPTH]) if change.kind is Kind.MACHINE else None
    if template is not None:
        path = change.path[TEMPLATE_DEPTH:]
        nested = replace(context, volume_class=class_of_template(change.new_entry))
        return effect_of(FieldChange(template, path, change.old, change.new), nested)
    rule = find_rule(change.kind, change.pattern)
    return rule(change, context) if callable(rule) else rule


def class_of_template(entry: Mapping[str, Any] | None) -> str:
    """The class of the volume that an entry generates; empty for one without."""
    template = ((entry or {}).get("ephemeral") or {}).get("volumeTemplate") or {}
    return str(((template.get("spec") or {}).get("volumeClassRef") or {}).get("name") or "")


def find_rule(kind: Kind, pattern: Path) -> Rule:
    """That of the longest path in the table of the kind that the pattern begins with."""
    for table in (RULES[kind], PAUSABLE, COMMON):
        for length in range(len(pattern), 0, -1):
            if (rule := table.get(pattern[:length])) is not None:
                return rule
    raise KeyError(f"no effect is known for {kind} {'.'.join(pattern)}")


def has_own_rule(kind: Kind, pattern: Path) -> bool:
    """Whether a table names this very field."""
    return pattern in RULES[kind] or pattern in COMMON


def compare_documents(
    kind: Kind, before: Mapping[str, object], after: Mapping[str, object]
) -> Iterator[FieldChange]:
    """The fields in which two documents of one object differ."""
    return list_field_changes(kind, before, after, has_own_rule)
