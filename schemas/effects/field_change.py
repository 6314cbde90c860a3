"""The fields in which two documents differ, with the value before and after. Pure.

A path has a segment for each level: `("spec", "volumes[root]", "localDisk", "sizeLimit")`. Entries of lists with names are matched by
name, so a disk that only changed its place in the list is not a change; every other list is one value. A field that is written in another
way and means the same (10240Mi, a default, a former name) is not a change either. Where one side lacks a mapping, the mapping is one
change if it has a rule of its own, and otherwise each of its fields is.

Must never happen: a value of a Secret is in a FieldChange, because plans and comments print it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from schemas.kinds import Kind
from schemas.model import defaults
from schemas.model.quantity import QuantityError, parse

Path: TypeAlias = tuple[str, ...]
Value: TypeAlias = Any  # a plain value of a document; None where the field is absent

NAMED_LISTS = frozenset({"volumes", "networkInterfaces", "efiVars"})
HIDDEN = "(hidden)"
SECRET_FIELDS = frozenset({"data", "stringData", "sops"})
AMOUNTS = frozenset({"sizeLimit", "storage", "capabilities", "hard", "reserved"})
DEFAULTS: Mapping[tuple[Kind, Path], object] = {
    (Kind.MACHINE, ("spec", "power")): defaults.POWER,
    (Kind.MACHINE, ("spec", "onPoolLost")): defaults.ON_POOL_LOST,
    (Kind.MACHINE, ("spec", "priority")): 0,
    (Kind.MACHINE, ("spec", "ignitionRef", "key")): defaults.IGNITION_KEY,
    (Kind.VOLUME_CLASS, ("resizePolicy",)): defaults.RESIZE_POLICY,
    (Kind.MACHINE_POOL, ("spec", "unschedulable")): False,
    (Kind.VOLUME_POOL, ("spec", "unschedulable")): False,
    (Kind.VOLUME, ("spec", "unclaimable")): False,
    (Kind.NETWORK, ("spec", "ipv4", "dhcp")): True,
    (Kind.NETWORK, ("spec", "ipv4", "nat")): False,
}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field. `entry` is the list entry that it belongs to as it was, and `new_entry` as it is."""

    kind: Kind
    path: Path
    old: Value
    new: Value
    entry: Mapping[str, Value] | None = None
    new_entry: Mapping[str, Value] | None = None

    @property
    def field(self) -> str:
        """`spec.volumes[root].localDisk.sizeLimit`"""
        return ".".join(self.path)

    @property
    def pattern(self) -> Path:
        """The path without the names of entries: `spec.volumes[].localDisk.sizeLimit`."""
        return tuple(drop_name(segment) for segment in self.path)


def drop_name(segment: str) -> str:
    """`volumes[root]` → `volumes[]`; also in labels, whose keys never have brackets."""
    return f"{segment.partition('[')[0]}[]" if segment.endswith("]") else segment


HasRule: TypeAlias = Callable[[Kind, Path], bool]


def list_field_changes(
    kind: Kind, before: Mapping[str, Value], after: Mapping[str, Value], has_rule: HasRule
) -> Iterator[FieldChange]:
    """In the order of names. `status` is passed over: the reconciler never reads it from the source. `has_rule` says whether a
    mapping that one side lacks is one change."""
    differ = _Differ(kind, has_rule)
    old, new = normalize(kind, before), normalize(kind, after)
    for name in sorted(old.keys() | new.keys()):
        if name != "status":
            yield from differ.compare((name,), old.get(name), new.get(name))


def normalize(kind: Kind, body: Mapping[str, Value]) -> Mapping[str, Value]:
    """The document with its present names for former ones, and with the device of each disk."""
    spec = body.get("spec")
    if not isinstance(spec, Mapping):
        return body
    if kind is Kind.MACHINE and isinstance(disks := spec.get("volumes"), list | tuple):
        devices = defaults.devices(disk.get("device") or "" for disk in disks)
        renamed = [
            {"localDisk" if key == "emptyDisk" else key: value for key, value in disk.items()}
            | {"device": device}
            for disk, device in zip(disks, devices, strict=True)
        ]
        return {**body, "spec": {**spec, "volumes": renamed}}
    if kind is Kind.VOLUME and spec.get("image"):
        image = {"osImage": {"image": spec["image"]}}
        rest = {key: value for key, value in spec.items() if key != "image"}
        return {**body, "spec": {"dataSource": image, **rest}}
    return body


@dataclass(frozen=True, slots=True)
class _Differ:
    """One comparison. A class, because kind and rules are the same at every level."""

    kind: Kind
    has_rule: HasRule

    def compare(
        self, path: Path, old: Value, new: Value, entries: tuple[Value, Value] = (None, None)
    ) -> Iterator[FieldChange]:
        if old == new:
            return
        is_listed = path[-1] in NAMED_LISTS and len(path) == 2
        if is_listed and (isinstance(old, list | tuple) or isinstance(new, list | tuple)):
            yield from self.compare_entries(path, old or (), new or ())
        elif is_mapping(old) and is_mapping(new) and (None not in (old, new) or self.descends(path)):
            old, new = old or {}, new or {}
            for name in sorted(old.keys() | new.keys()):
                yield from self.compare((*path, name), old.get(name), new.get(name), entries)
        elif not self.is_same(path, old, new):
            default = DEFAULTS.get((self.kind, path))
            shown = (default if old is None else old, default if new is None else new)
            if self.kind is Kind.SECRET and path[0] in SECRET_FIELDS:
                shown = (old and HIDDEN, new and HIDDEN)
            yield FieldChange(self.kind, path, *shown, *entries)

    def descends(self, path: Path) -> bool:
        """Whether a mapping that one side lacks is compared field by field."""
        return not self.has_rule(self.kind, tuple(drop_name(segment) for segment in path))

    def compare_entries(self, path: Path, old: Any, new: Any) -> Iterator[FieldChange]:
        """By name, those of the earlier list first."""
        before = {entry.get("name"): entry for entry in old}
        after = {entry.get("name"): entry for entry in new}
        for name in [*before, *(name for name in after if name not in before)]:
            at = (*path[:-1], f"{path[-1]}[{name}]")
            pair = (before.get(name), after.get(name))
            if None in pair:
                yield FieldChange(self.kind, at, *pair, *pair)
            else:
                yield from self.compare(at, *pair, pair)

    def is_same(self, path: Path, old: Value, new: Value) -> bool:
        """Whether two values that are written in different ways mean the same."""
        default = DEFAULTS.get((self.kind, path))
        if default is not None and (default if old is None else old) == (default if new is None else new):
            return True
        if not AMOUNTS.isdisjoint(path):
            return bool(amount_of(path, old) == amount_of(path, new))
        return not old and not new and not isinstance(old, bool) and not isinstance(new, bool)


def is_mapping(value: Value) -> bool:
    return value is None or isinstance(value, Mapping)


def amount_of(path: Path, value: Value) -> Value:
    """The amount of a quantity in billionths; a local disk without a size has the default one."""
    if value is None and path[-1] == "sizeLimit":
        return defaults.LOCAL_DISK_BYTES * 10**9
    try:
        return parse(value).nano
    except QuantityError:
        return value
