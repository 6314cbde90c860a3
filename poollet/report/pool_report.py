"""What a host reports about its pools: classes by name and equal capabilities, capacity, addresses, conditions. Pure.

A runtime that does not answer leaves its pool as it was last reported, with the reason. Use is never subtracted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from iri import host as iri
from poollet.decide.decision import PoolFacts
from poollet.runtimes.runtime_client import RuntimeState
from poollet.sync.live_sync import LiveProblem
from schemas import report
from schemas.live_layout import MAX_TEXT, SHARE
from schemas.model import MachineClass, MachinePool, MachinePoolSpec, VolumeClass
from schemas.model.capacity import (
    CPU,
    MEMORY,
    STORAGE,
    WHOLE_HOST,
    Vector,
    allocatable,
    class_count,
    needs,
    share,
)
from schemas.model.charge import MACHINE, VOLUME, class_counts, format_vector, pool_allocatable
from schemas.model.quantity import Quantity, parse
from schemas.settings.host import PoolSettings as Configured

READY, FOLLOWS, MATCHED = "Ready", "FollowsLive", "ClassesMatch"
ADDRESS_TYPES = ("Hostname", "InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS")
LONGEST_WORD = 253
MILLIS = 1000


@dataclass(frozen=True, slots=True)
class DeclaredClasses:
    """The classes on `live`."""

    machine_classes: tuple[MachineClass, ...] = ()
    volume_classes: tuple[VolumeClass, ...] = ()


def classes(wanted: DeclaredClasses) -> iri.RuntimeClasses:
    """The classes as a runtime gets them, in one order."""
    machines = sorted(wanted.machine_classes, key=lambda one: one.name)
    volumes = sorted(wanted.volume_classes, key=lambda one: one.name)
    return iri.RuntimeClasses(
        machines=tuple(
            iri.RuntimeMachineClass(name=one.name, resources=_whole(one.capabilities)) for one in machines
        ),
        volumes=tuple(iri.RuntimeVolumeClass(name=one.name, tps=one.tps, iops=one.iops) for one in volumes),
    )


def machine_pool(
    configured: Configured,
    runtime_state: RuntimeState,
    wanted: DeclaredClasses,
    live: MachinePool | None,
    last: report.PoolReport | None,
) -> tuple[report.PoolReport, PoolFacts]:
    """The pool's entry without conditions of the whole host, and what admission goes by."""
    runtime, about = configured.runtime or "", runtime_state.about
    if about is None or runtime_state.offers is None:
        return _unknown_machine_pool(configured, runtime_state, live, last)
    offered = {offer.machine_class.name: offer for offer in runtime_state.offers.machines}
    names, unlike = _match_classes(
        ((one.name, _whole(one.capabilities)) for one in wanted.machine_classes),
        {name: offer.machine_class.resources for name, offer in offered.items()},
    )
    counts = {class_count(MACHINE, name): offered[name].quantity for name in names}
    stock = _stock(about.host.capacity)
    given = allocatable(stock, needs(_reserve(configured)), {})
    free = _counts_left(counts, given, {one.name: one for one in wanted.machine_classes}, configured)
    status = report.ReportedPoolStatus(
        state="Error" if runtime_state.error else "Ready",
        conditions=(*_unreachable(runtime_state), *_unlike(unlike)),
        available_machine_classes=tuple(report.ObjectRef(name) for name in names),
        addresses=_addresses(about.host.addresses),
        capacity=_format(stock | counts),
        allocatable=_format(given | free),
        node_info=_node_info(about),
    )
    labels = _labels(about.host.labels) | configured.labels
    entry = report.PoolReport(status=status, uid=_uid(live), labels=labels, runtime=runtime)
    return entry, _facts(runtime, names, given | free, live)


def volume_pool(
    configured: Configured,
    runtime_state: RuntimeState,
    wanted: DeclaredClasses,
    reachable_from: tuple[str, ...] | None,
    last: report.VolumePoolReport | None,
) -> tuple[report.VolumePoolReport, PoolFacts]:
    runtime, about = configured.runtime or "", runtime_state.about
    if about is None or runtime_state.offers is None:
        return _unknown_volume_pool(configured, runtime_state, reachable_from, last)
    offered = {offer.volume_class.name: offer for offer in runtime_state.offers.volumes}
    names, unlike = _match_classes(
        ((one.name, {"tps": one.tps, "iops": one.iops}) for one in wanted.volume_classes),
        {
            name: {"tps": offer.volume_class.tps, "iops": offer.volume_class.iops}
            for name, offer in offered.items()
        },
    )
    total = max((offer.quantity for offer in offered.values()), default=0)
    stock = {STORAGE: about.host.capacity.get(STORAGE, total)}
    given = allocatable(stock, needs(_reserve(configured)), {})
    kept = stock[STORAGE] - given[STORAGE]
    counts = {class_count(VOLUME, name): offered[name].quantity for name in names}
    free = {name: max(0, count - kept) for name, count in counts.items()}
    status = report.ReportedVolumePoolStatus(
        state="Unavailable" if runtime_state.error else "Available",
        conditions=(*_unreachable(runtime_state), *_unlike(unlike)),
        available_volume_classes=tuple(report.ObjectRef(name) for name in names),
        capacity=_format(stock | counts),
        allocatable=_format(given | free),
        reachable_from=reachable_from,
    )
    labels = _labels(about.host.labels) | configured.labels
    entry = report.VolumePoolReport(status=status, labels=labels, runtime=runtime)
    return entry, PoolFacts(runtime, frozenset(names), given | free)


def _unknown_machine_pool(
    configured: Configured,
    runtime_state: RuntimeState,
    live: MachinePool | None,
    last: report.PoolReport | None,
) -> tuple[report.PoolReport, PoolFacts]:
    """As it was reported last; nothing is admitted."""
    runtime = configured.runtime or ""
    known = last.status if last else report.ReportedPoolStatus(state="Pending")
    state: Literal["Pending", "Error"] = "Pending" if known.state == "Pending" else "Error"
    status = replace(known, state=state, conditions=_unreachable(runtime_state))
    labels = (last.labels if last else {}) | configured.labels
    return report.PoolReport(status=status, uid=_uid(live), labels=labels, runtime=runtime), PoolFacts(
        runtime
    )


def _unknown_volume_pool(
    configured: Configured,
    runtime_state: RuntimeState,
    reachable_from: tuple[str, ...] | None,
    last: report.VolumePoolReport | None,
) -> tuple[report.VolumePoolReport, PoolFacts]:
    runtime = configured.runtime or ""
    known = (
        last.status
        if last
        else report.ReportedVolumePoolStatus(state="Pending", reachable_from=reachable_from)
    )
    state: Literal["Pending", "Unavailable"] = "Pending" if known.state == "Pending" else "Unavailable"
    status = replace(known, state=state, conditions=_unreachable(runtime_state))
    labels = (last.labels if last else {}) | configured.labels
    return report.VolumePoolReport(status=status, labels=labels, runtime=runtime), PoolFacts(runtime)


def of_host(pool: report.PoolReport, matter: LiveProblem | None, leaving: str | None) -> report.PoolReport:
    """The pool with what holds for all pools of the host."""
    status = pool.status
    state = status.state
    if leaving == "leaving":
        state = "Offline"
    elif matter is not None and matter.is_held and state == "Ready":
        state = "Error"
    return replace(
        pool, status=replace(status, state=state, conditions=(*status.conditions, _following(matter)))
    )


def of_host_volumes(
    pool: report.VolumePoolReport, matter: LiveProblem | None, leaving: str | None
) -> report.VolumePoolReport:
    status = pool.status
    is_out = leaving == "leaving" or (matter is not None and matter.is_held)
    state = "Unavailable" if is_out and status.state == "Available" else status.state
    return replace(
        pool, status=replace(status, state=state, conditions=(*status.conditions, _following(matter)))
    )


def _following(matter: LiveProblem | None) -> report.ReportedCondition:
    """Whether the head of `live` is applied."""
    if matter is None:
        return report.ReportedCondition(type=FOLLOWS, status="True", reason="Following")
    status: Literal["True", "False"] = "False" if matter.is_held else "True"
    return report.ReportedCondition(
        type=FOLLOWS, status=status, reason=matter.reason, message=matter.message[:MAX_TEXT]
    )


def _facts(runtime: str, names: list[str], given: Vector, live: MachinePool | None) -> PoolFacts:
    """Settings of the pool on `live` count for admission on the host as they do for the scheduler."""
    if CPU in given and MEMORY in given:
        quantities = {name: parse(value) for name, value in format_vector(given).items()}
        spec = live.spec if live else MachinePoolSpec()
        return PoolFacts(runtime, frozenset(names), pool_allocatable(spec, quantities))
    shares = {name: share(given[class_count(MACHINE, name)]) for name in names}
    return PoolFacts(runtime, frozenset(names), {SHARE: WHOLE_HOST}, shares)


def _counts_left(
    counts: Vector, given: Vector, classes: Mapping[str, MachineClass], configured: Configured
) -> dict[str, int]:
    """What a runtime counts it counts for the bare host; a reserve makes it fewer where the vector says how many."""
    if not configured.reserved or CPU not in given or MEMORY not in given:
        return dict(counts)
    left = class_counts(given, {name: needs(one.capabilities) for name, one in classes.items()})
    return {name: min(count, left.get(name, 0)) for name, count in counts.items()}


def _match_classes(
    wanted: Iterable[tuple[str, Mapping[str, int]]], offered: Mapping[str, Mapping[str, int]]
) -> tuple[list[str], list[str]]:
    """Names that both have with equal capabilities, and those that both have and mean differently."""
    equal: list[str] = []
    unlike: list[str] = []
    for name, capabilities in sorted(wanted, key=lambda one: one[0]):
        if name in offered:
            (equal if dict(offered[name]) == dict(capabilities) else unlike).append(name)
    return equal, unlike


def _whole(capabilities: Mapping[str, Quantity]) -> dict[str, int]:
    """As the runtime interface counts: whole cores, bytes, devices; rounded up."""
    return {name: quantity.ceil() for name, quantity in capabilities.items()}


def _stock(capacity: Mapping[str, int]) -> dict[str, int]:
    return {name: count * MILLIS if name == CPU else count for name, count in capacity.items()}


def _reserve(configured: Configured) -> dict[str, Quantity]:
    return {name: parse(value) for name, value in configured.reserved.items()}


def _format(vector: Vector) -> dict[str, str | int]:
    return dict(format_vector(vector))


def _unreachable(runtime_state: RuntimeState) -> tuple[report.ReportedCondition, ...]:
    if runtime_state.error:
        message = runtime_state.error[:MAX_TEXT]
        return (
            report.ReportedCondition(
                type=READY, status="False", reason="RuntimeUnreachable", message=message
            ),
        )
    if not runtime_state.is_known:
        message = "the runtime has not answered yet"
        return (
            report.ReportedCondition(type=READY, status="False", reason="RuntimePending", message=message),
        )
    return (report.ReportedCondition(type=READY, status="True", reason="RuntimeReady"),)


def _unlike(names: list[str]) -> tuple[report.ReportedCondition, ...]:
    if not names:
        return ()
    message = f"{', '.join(names)}: the capabilities on live and those that the runtime offers differ"
    return (
        report.ReportedCondition(
            type=MATCHED, status="False", reason="CapabilitiesDiffer", message=message[:MAX_TEXT]
        ),
    )


def _addresses(addresses: Iterable[iri.HostAddress]) -> tuple[report.ReportedAddress, ...]:
    return tuple(
        report.ReportedAddress(one.type, one.address)
        for one in addresses
        if one.type in ADDRESS_TYPES and 0 < len(one.address) <= LONGEST_WORD
    )


def _node_info(about: iri.RuntimeInfo) -> dict[str, str]:
    node = about.host.node_info
    info = {
        "architecture": node.architecture,
        "operatingSystem": node.operating_system,
        "kernelVersion": node.kernel_version,
        "cpuModel": node.cpu_model,
        "hypervisor": node.hypervisor,
        "hypervisorVersion": node.hypervisor_version,
        "runtime": about.name,
        "runtimeVersion": about.version,
        "hostID": about.host.id,
        "hostName": next((one.address for one in about.host.addresses if one.type == "Hostname"), ""),
    }
    return {name: value[:LONGEST_WORD] for name, value in sorted(info.items()) if value}


def _labels(labels: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if len(value) <= 63}


def _uid(live: MachinePool | None) -> str | None:
    return (live.metadata.uid or None) if live else None
