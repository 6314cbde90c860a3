"""Pins and selectors against the pools that are declared. Others may be announced, so most of this is a warning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from schemas.kinds import Kind
from schemas.model import MachinePool, Toleration, VolumePool
from schemas.problem import Severity
from schemas.validate.finding import Finding
from schemas.validate.inputs import ValidationPolicy
from schemas.validate.labels import missing_label, untolerated_taint
from schemas.validate.names import NameHints
from schemas.validate.tree import AnyDeclaration, Declaration, Tree, VolumeSource


class PoolRequest(NamedTuple):
    """What one machine or volume asks of the pool it lands on."""

    entry: AnyDeclaration
    kind: Kind  # of pool
    pointer: str  # of the spec
    class_name: str
    pool: str  # pinned; empty when the reconciler chooses
    selector: Mapping[str, str]
    tolerations: Sequence[Toleration]

    @property
    def pin(self) -> str:
        field = "machinePoolRef" if self.kind is Kind.MACHINE_POOL else "volumePoolRef"
        return f"{self.pointer}/{field}/name"


def findings(tree: Tree, policy: ValidationPolicy) -> Iterator[Finding]:
    names = NameHints(tree)
    matching: dict[tuple[Kind, tuple[tuple[str, str], ...]], bool] = {}
    for wish in pool_requests(tree):
        if wish.pool:
            yield from of_pin(tree, wish, policy, names)
        elif wish.selector and not policy.has_open_pools:
            asked = (wish.kind, tuple(sorted(wish.selector.items())))
            if asked not in matching:
                matching[asked] = any(
                    not missing_label(wish.selector, pool.object.metadata.labels)
                    for pool in tree.by_kind[wish.kind].values()
                )
            if not matching[asked]:
                yield unmatched_selector(wish)
    yield from of_reach(tree)


def pool_requests(tree: Tree) -> Iterator[PoolRequest]:
    for machine in tree.machines.values():
        spec = machine.object.spec
        if spec.machine_pool_ref or spec.machine_pool_selector:
            pool = spec.machine_pool_ref.name if spec.machine_pool_ref else ""
            selector = spec.machine_pool_selector
            class_name = spec.machine_class_ref.name
            yield PoolRequest(
                machine, Kind.MACHINE_POOL, "/spec", class_name, pool, selector, spec.tolerations
            )
    for source in tree.volume_sources:
        if source.spec.volume_pool_ref or source.spec.volume_pool_selector:
            yield volume_pool_request(source)


def volume_pool_request(source: VolumeSource) -> PoolRequest:
    spec = source.spec
    return PoolRequest(
        source.entry,
        Kind.VOLUME_POOL,
        source.pointer,
        spec.volume_class_ref.name if spec.volume_class_ref else "",
        spec.volume_pool_ref.name if spec.volume_pool_ref else "",
        spec.volume_pool_selector,
        spec.tolerations,
    )


def of_pin(tree: Tree, wish: PoolRequest, policy: ValidationPolicy, names: NameHints) -> Iterator[Finding]:
    pool: Declaration[MachinePool] | Declaration[VolumePool] | None = tree.by_kind[wish.kind].get(
        ("", wish.pool)
    )
    if pool is None:
        if not names.is_refused(wish.kind, "", wish.pool):
            yield undeclared_pool(wish, policy, names)
        return
    if policy.is_target:  # placed there already, under the rules of that time
        return
    if missing := missing_label(wish.selector, pool.object.metadata.labels):
        said = f"{wish.kind} {wish.pool} lacks the label {missing} that the selector asks for"
        yield pin_warning(wish, "GV314", said, f"remove the pin or the selector, or label {pool.path}", pool)
    if taint := untolerated_taint(pool.object.spec.taints, wish.tolerations):
        said = f"{wish.kind} {wish.pool} has the taint {taint}, which is not tolerated"
        yield pin_warning(wish, "GV315", said, "add a toleration, or choose another pool", pool)
    offered = offered_classes(pool.object)
    if offered and wish.class_name and wish.class_name not in offered:
        said = (
            f"{wish.kind} {wish.pool} does not offer class {wish.class_name}; it offers {', '.join(offered)}"
        )
        yield pin_warning(wish, "GV313", said, "choose another pool or class", pool)


def undeclared_pool(wish: PoolRequest, policy: ValidationPolicy, names: NameHints) -> Finding:
    hint = names.hint(wish.kind, "", wish.pool)
    if not policy.has_open_pools:
        severity, said = Severity.ERROR, "stands in no file, and this fleet takes declared pools only"
    elif hint.startswith("did you mean"):
        severity, said = Severity.WARNING, "stands in no file"
    else:
        severity, said = Severity.NOTICE, "stands in no file; a poollet has to announce it"
    return wish.entry.finding("GV312", wish.pin, f"{wish.kind} {wish.pool} {said}", hint, severity)


def pin_warning(wish: PoolRequest, code: str, message: str, hint: str, pool: AnyDeclaration) -> Finding:
    found = wish.entry.finding(code, wish.pin, message, hint, Severity.WARNING)
    return found._replace(also=(pool.path,))


def offered_classes(pool: MachinePool | VolumePool) -> list[str]:
    if isinstance(pool, MachinePool):
        return [offered.name for offered in pool.status.available_machine_classes]
    return [offered.name for offered in pool.status.available_volume_classes]


def unmatched_selector(wish: PoolRequest) -> Finding:
    field = "machinePoolSelector" if wish.kind is Kind.MACHINE_POOL else "volumePoolSelector"
    asked = ", ".join(f"{key}={value}" for key, value in sorted(wish.selector.items()))
    return wish.entry.finding(
        "GV316",
        f"{wish.pointer}/{field}",
        f"no {wish.kind} of this repo has the labels {asked}",
        "correct the selector, or label a pool",
        Severity.WARNING,
    )


def of_reach(tree: Tree) -> Iterator[Finding]:
    """Machine and volume both pinned to declared pools: does the one reach the other?"""
    for machine in tree.machines.values():
        pin = machine.object.spec.machine_pool_ref
        pool = tree.machine_pools.get(("", pin.name)) if pin else None
        if pool is None:
            continue
        for position, entry in enumerate(machine.object.spec.volumes):
            volume = (
                tree.volumes.get((machine.key.namespace, entry.volume_ref.name)) if entry.volume_ref else None
            )
            where = volume.object.spec.volume_pool_ref if volume else None
            store = tree.volume_pools.get(("", where.name)) if where else None
            if store and missing_label(
                store.object.spec.machine_pool_selector or {}, pool.object.metadata.labels
            ):
                yield machine.finding(
                    "GV317",
                    f"/spec/volumes/{position}/volumeRef/name",
                    f"the volume is on VolumePool {store.key.name}, which MachinePool {pool.key.name} does not reach",
                    f"remove one of the pins, or extend machinePoolSelector in {store.path}",
                )._replace(also=(store.path, pool.path))
