"""What one document says against itself, beyond its schema, and what only gitvirt writes and people wrote all the same.

Needs no other document, so it runs where that was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schemas.model import Machine, MachinePool, Taint, Toleration, Volume, VolumePool
from schemas.problem import Severity
from schemas.validate.finding import Finding
from schemas.validate.inputs import ValidationPolicy
from schemas.validate.tree import AnyDeclaration


def findings(entry: AnyDeclaration, body: Mapping[str, Any], policy: ValidationPolicy) -> Iterator[Finding]:
    yield from of_object(entry)
    yield from of_reserved_fields(entry, body, policy)


def of_object(entry: AnyDeclaration) -> Iterator[Finding]:
    match entry.object:
        case Machine():
            yield from of_machine(entry, entry.object)
        case Volume():
            yield from of_tolerations(entry, "/spec/tolerations", entry.object.spec.tolerations)
        case MachinePool() | VolumePool():
            yield from of_taints(entry, entry.object.spec.taints)


def of_machine(entry: AnyDeclaration, machine: Machine) -> Iterator[Finding]:
    spec = machine.spec
    yield from of_variables(entry, machine)
    yield from of_tolerations(entry, "/spec/tolerations", spec.tolerations)
    for position, volume in enumerate(spec.volumes):
        if volume.ephemeral:
            pointer = f"/spec/volumes/{position}/ephemeral/volumeTemplate/spec/tolerations"
            yield from of_tolerations(entry, pointer, volume.ephemeral.volume_template.spec.tolerations)
    yield from of_selectors(entry, machine)


def of_variables(entry: AnyDeclaration, machine: Machine) -> Iterator[Finding]:
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
    for position, toleration in enumerate(tolerations):
        wrong = ""
        if toleration.operator == "Exists" and toleration.value:
            wrong, field = "operator Exists looks at the key alone, so a value has no meaning", "value"
        elif toleration.operator != "Exists" and not toleration.key:
            wrong, field = (
                "without a key only operator Exists has a meaning: it tolerates everything",
                "operator",
            )
        elif toleration.toleration_seconds is not None and toleration.effect not in ("NoExecute", ""):
            wrong, field = "tolerationSeconds concerns effect NoExecute only", "tolerationSeconds"
        else:
            continue
        yield entry.finding("GV332", f"{pointer}/{position}/{field}", wrong, "remove what does not belong")


def of_taints(entry: AnyDeclaration, taints: Sequence[Taint]) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        if (taint.key, taint.effect) in seen:
            message = f"the pool already has a taint {taint.key} with effect {taint.effect}"
            yield entry.finding("GV333", f"/spec/taints/{position}", message, "remove one of them")
        seen.add((taint.key, taint.effect))


def of_selectors(entry: AnyDeclaration, machine: Machine) -> Iterator[Finding]:
    rules = {"spread": machine.spec.spread, "antiAffinity": machine.spec.anti_affinity}
    for field, rule in rules.items():
        if rule is not None and not rule.label_selector.selector.matches(machine.metadata.labels):
            yield entry.finding(
                "GV334",
                f"/spec/{field}/labelSelector",
                f"{field} counts machines that this one is not among",
                "give the machine the labels, or correct the selector",
                Severity.WARNING,
            )


FIELDS = (
    ("metadata", "uid"),
    ("metadata", "deletionTimestamp"),
    ("spec", "claimRef"),
    ("spec", "machineRef"),
)


def of_reserved_fields(
    entry: AnyDeclaration, body: Mapping[str, Any], policy: ValidationPolicy
) -> Iterator[Finding]:
    """Looks at the document as it was written: the model leaves out what gitvirt does not act on."""
    if policy.is_target:
        return
    if body.get("status"):
        yield entry.finding(
            "GV362",
            "/status",
            "status is reported by hosts; what stands here is ignored",
            "remove it, or leave it: it does no harm",
            Severity.NOTICE,
        )
    for part, field in FIELDS:
        if (body.get(part) or {}).get(field):
            yield entry.finding(
                "GV363",
                f"/{part}/{field}",
                f"{field} is recorded by the reconciler; what stands here is ignored",
                "remove it",
                Severity.NOTICE,
            )
