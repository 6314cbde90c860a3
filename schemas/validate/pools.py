"""Pins and selectors must fit the declared pools. Poollets may announce more pools, so most findings are warnings.

Nothing here is a decision of the scheduler: pools change between a commit and a placement. On the target branch only the
existence of a pinned pool is checked, because objects there are placed already, under the labels and taints of that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from schemas.kinds import Kind
from schemas.model import Machine, MachinePool, Toleration, Volume, VolumePool, VolumeSpec
from schemas.problem import Severity
from schemas.validate.finding import Finding
from schemas.validate.inputs import ValidationPolicy
from schemas.validate.labels import missing_label, untolerated_taint
from schemas.validate.names import NameHints
from schemas.validate.tree import AnyDeclaration, Declaration, SpecSource, Tree


class PoolRequest(NamedTuple):
    """What one machine or volume requires of its pool."""

    entry: AnyDeclaration
    kind: Kind  # of pool
    pointer: str  # of the spec
    class_name: str
    pool: str  # pinned; empty when the reconciler chooses
    selector: Mapping[str, str]
    tolerations: Sequence[Toleration]

    @property
    def pin(self) -> str:
        """Pointer to the pin."""
        field = "machinePoolRef" if self.kind is Kind.MACHINE_POOL else "volumePoolRef"
        return f"{self.pointer}/{field}/name"


def findings(tree: Tree, policy: ValidationPolicy) -> Iterator[Finding]:
    """GV312 to GV317."""
    names = NameHints(tree)
    matching: dict[tuple[Kind, tuple[tuple[str, str], ...]], bool] = {}
    for request in pool_requests(tree):
        if request.pool:
            yield from of_pin(tree, request, policy, names)
        elif request.selector and not policy.has_open_pools:
            question = (request.kind, tuple(sorted(request.selector.items())))
            if question not in matching:
                matching[question] = any(
                    not missing_label(request.selector, pool.object.metadata.labels)
                    for pool in tree.by_kind[request.kind].values()
                )
            if not matching[question]:
                yield unmatched_selector(request)
    yield from of_reach(tree)


def pool_requests(tree: Tree) -> Iterator[PoolRequest]:
    """What machines and volumes require, if they pin or select pools."""
    for machine in tree.of(Machine).values():
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


def volume_pool_request(source: SpecSource[VolumeSpec]) -> PoolRequest:
    """The same for one volume."""
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


def of_pin(tree: Tree, request: PoolRequest, policy: ValidationPolicy, names: NameHints) -> Iterator[Finding]:
    """GV312 to GV315: the pinned pool is declared, and has the labels, taints and classes for the object."""
    pool: Declaration[MachinePool] | Declaration[VolumePool] | None = tree.by_kind[request.kind].get(
        ("", request.pool)
    )
    if pool is None:
        if not names.is_refused(request.kind, "", request.pool):
            yield undeclared_pool(request, policy, names)
        return
    if policy.is_target:  # already placed, under the rules of that time
        return
    if missing := missing_label(request.selector, pool.object.metadata.labels):
        message = (
            f"{request.kind} {request.pool} does not have the label {missing} that the selector requires"
        )
        yield pin_warning(
            request, "GV314", message, f"remove the pin or the selector, or label {pool.path}", pool
        )
    if taint := untolerated_taint(pool.object.spec.taints, request.tolerations):
        message = f"{request.kind} {request.pool} has the taint {taint}, which is not tolerated"
        yield pin_warning(request, "GV315", message, "add a toleration, or choose another pool", pool)
    offered = offered_classes(pool.object)
    if offered and request.class_name and request.class_name not in offered:
        message = f"{request.kind} {request.pool} does not offer class {request.class_name}, only {', '.join(offered)}"
        yield pin_warning(request, "GV313", message, "choose another pool or class", pool)


def undeclared_pool(request: PoolRequest, policy: ValidationPolicy, names: NameHints) -> Finding:
    """GV312. An error only if undeclared pools are not accepted."""
    hint = names.hint(request.kind, "", request.pool)
    if not policy.has_open_pools:
        severity, fault = Severity.ERROR, "is not declared, and this fleet only accepts declared pools"
    elif hint.startswith("did you mean"):
        severity, fault = Severity.WARNING, "is not declared in any file"
    else:
        severity, fault = Severity.NOTICE, "is not declared in any file; a poollet has to announce it"
    return request.entry.finding(
        "GV312", request.pin, f"{request.kind} {request.pool} {fault}", hint, severity
    )


def pin_warning(request: PoolRequest, code: str, message: str, hint: str, pool: AnyDeclaration) -> Finding:
    """A warning, because the pool may change before the object is placed."""
    found = request.entry.finding(code, request.pin, message, hint, Severity.WARNING)
    return found._replace(also=(pool.path,))


def offered_classes(pool: MachinePool | VolumePool) -> list[str]:
    """The classes that the pool reports, or none before its first report."""
    if isinstance(pool, MachinePool):
        return [offered.name for offered in pool.status.available_machine_classes]
    return [offered.name for offered in pool.status.available_volume_classes]


def unmatched_selector(request: PoolRequest) -> Finding:
    """GV316: no declared pool matches, and others are not accepted."""
    field = "machinePoolSelector" if request.kind is Kind.MACHINE_POOL else "volumePoolSelector"
    labels = ", ".join(f"{key}={value}" for key, value in sorted(request.selector.items()))
    return request.entry.finding(
        "GV316",
        f"{request.pointer}/{field}",
        f"no {request.kind} of this repo has the labels {labels}",
        "correct the selector, or label a pool",
        Severity.WARNING,
    )


def of_reach(tree: Tree) -> Iterator[Finding]:
    """If machine and volume are both pinned to declared pools, the volume pool must serve the machine pool."""
    for machine in tree.of(Machine).values():
        pin = machine.object.spec.machine_pool_ref
        pool = tree.of(MachinePool).get(("", pin.name)) if pin else None
        if pool is None:
            continue
        for position, entry in enumerate(machine.object.spec.volumes):
            volume = (
                tree.of(Volume).get((machine.key.namespace, entry.volume_ref.name))
                if entry.volume_ref
                else None
            )
            where = volume.object.spec.volume_pool_ref if volume else None
            store = tree.of(VolumePool).get(("", where.name)) if where else None
            if store and missing_label(
                store.object.spec.machine_pool_selector or {}, pool.object.metadata.labels
            ):
                yield machine.finding(
                    "GV317",
                    f"/spec/volumes/{position}/volumeRef/name",
                    f"the volume is pinned to VolumePool {store.key.name}, which MachinePool {pool.key.name} cannot reach",
                    f"remove one of the pins, or extend machinePoolSelector in {store.path}",
                )._replace(also=(store.path, pool.path))
