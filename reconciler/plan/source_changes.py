"""What people changed in the source, and when that takes effect on what runs. Pure: two versions of a document in.

`gitvirt plan` prints this, so that the author of a pull request learns that a field alone does not restart or move a machine. It is
information: no decision depends on it. What the host really does with a changed field is decided by the poollet, which compares
desired and observed state (`poollet.decide`); the table here must agree with that, and a field without an entry takes effect live.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from schemas.kinds import Key, Kind


class Effect(StrEnum):
    """Of several changes to one object the last named here counts. The order is that of patience: at once, when the scheduler next
    chooses a pool, when the guest next boots, never for this object (it must be recreated)."""

    LIVE = "live"
    NEXT_PLACEMENT = "next placement"
    NEXT_BOOT = "next boot"
    RECREATE = "recreate"


@dataclass(frozen=True, slots=True)
class SourceChange:
    """One object that was added, changed or taken out. `fields` are dotted paths; of an added or removed one there are none."""

    key: Key
    is_added: bool = False
    is_gone: bool = False
    fields: tuple[str, ...] = ()
    effect: Effect = Effect.LIVE


_WHEN: dict[Kind, dict[Effect, tuple[str, ...]]] = {
    Kind.MACHINE: {
        Effect.NEXT_PLACEMENT: (
            "spec.machinePoolRef",
            "spec.machinePoolSelector",
            "spec.spread",
            "spec.antiAffinity",
            "spec.priority",
        ),
        Effect.NEXT_BOOT: ("spec.machineClassRef", "spec.efiVars"),
        Effect.RECREATE: ("spec.ignitionRef", "spec.guestConfig"),
    },
    Kind.VOLUME: {
        Effect.NEXT_PLACEMENT: ("spec.volumePoolRef", "spec.volumePoolSelector"),
        Effect.RECREATE: ("spec.volumeClassRef", "spec.dataSource", "spec.image", "spec.encryption"),
    },
}


Documents = Mapping[Key, Mapping[str, object]]


def compare_sources(before: Documents, after: Documents) -> tuple[SourceChange, ...]:
    """Documents of the source as they were reconciled last, and as they are now. Sorted by key.

    `status` at the top is passed over: people may leave a copy of it in their file, and the reconciler never reads it from there."""
    found: list[SourceChange] = []
    for key in sorted(before.keys() | after.keys()):
        if key not in before:
            found.append(SourceChange(key, is_added=True))
        elif key not in after:
            found.append(SourceChange(key, is_gone=True))
        elif fields := tuple(_differing(before[key], after[key])):
            found.append(SourceChange(key, fields=fields, effect=effect(key.kind, fields)))
    return tuple(found)


def effect(kind: Kind, fields: Sequence[str]) -> Effect:
    """The one that takes longest to come true."""
    concerned = [
        when
        for when, paths in _WHEN.get(kind, {}).items()
        if any(field == path or field.startswith(f"{path}.") for field in fields for path in paths)
    ]
    return max(concerned, key=list(Effect).index, default=Effect.LIVE)


def _differing(before: object, after: object, path: str = "") -> Iterator[str]:
    """Mappings are compared field by field; a list is one value, because its items have no names to print."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted(before.keys() | after.keys()):
            if path or name != "status":
                yield from _differing(before.get(name), after.get(name), f"{path}.{name}" if path else name)
    elif before != after:
        yield path
