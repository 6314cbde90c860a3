"""What a host reports about its pools: classes by name and equal capabilities, capacity, addresses, conditions. Pure.

Theory of operation. What the runtime has, and what of that may be used:

    capacity      what the runtime states: the host's vector, and how many machines of each class
    allocatable   capacity without the reserve of poollet.yaml
    classes       those on `live` that the runtime offers under the same name with equal capabilities

Use is never subtracted here: the reconciler charges what it assigned, and the host's own admission what it
lists. A class that has the same name and other capabilities is not offered, and a condition names it: a
machine of it would be smaller or larger than people ordered.

    the runtime                 state of a machine pool     of a volume pool
    --------------------------  --------------------------  ------------------
    answers                     Ready                       Available
    never answered              Pending                     Pending
    answered before, not now    Error, the rest as it was   Unavailable, the rest as it was
    answers, `live` is held     Error                       Unavailable
    any, the host leaves        Offline                     Unavailable where it was Available

Must never happen: a pool that was known reports no capacity because its runtime does not answer now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from iri import host as iri
from poollet.decide.decision import PoolFacts
from poollet.report.conditions import READY, condition
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

FOLLOWS, MATCHED = "FollowsLive", "ClassesMatch"
ADDRESS_TYPES = ("Hostname", "InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS")
LONGEST_WORD = 253
MILLIS = 1000
DRIFT_SHARE = 50  # a change of at most a 50th, 2%, is drift
MARGIN_SHARE = 100  # what is kept back of a count that drifts
AnyPool = TypeVar("AnyPool", bound=report.PoolReport | report.VolumePoolReport)
# The state of a pool that may not be used, by its state otherwise.
OUT_OF_SERVICE = {"Ready": "Error", "Available": "Unavailable"}


@dataclass(frozen=True, slots=True)
class DeclaredClasses:
    """The classes on `live`."""

    machine_classes: tuple[MachineClass, ...] = ()
    volume_classes: tuple[VolumeClass, ...] = ()


def classes(declared_classes: DeclaredClasses) -> iri.RuntimeClasses:
    """The classes as a runtime gets them, in one order."""
    machines = sorted(declared_classes.machine_classes, key=lambda one: one.name)
    volumes = sorted(declared_classes.volume_classes, key=lambda one: one.name)
    return iri.RuntimeClasses(
        machines=tuple(
            iri.RuntimeMachineClass(name=one.name, resources=_whole(one.capabilities)) for one in machines
        ),
        volumes=tuple(iri.RuntimeVolumeClass(name=one.name, tps=one.tps, iops=one.iops) for one in volumes),
    )


def machine_pool(
    configured: Configured,
    runtime_state: RuntimeState,
    declared_classes: DeclaredClasses,
    live: MachinePool | None,
    last: report.PoolReport | None,
) -> tuple[report.PoolReport, PoolFacts]:
    """The pool's entry without conditions of the whole host, and what admission goes by."""
    uid = (live.metadata.uid or None) if live else None
    pending = report.ReportedPoolStatus(state="Pending")
    entry = report.PoolReport(
        status=pending, uid=uid, labels=configured.labels, runtime=configured.runtime or ""
    )
    about = runtime_state.about
    if about is None or runtime_state.offers is None:
        return _unknown_pool(entry, runtime_state, last)
    offered = {offer.machine_class.name: offer for offer in runtime_state.offers.machines}
    names, unlike = _match_classes(
        ((one.name, _whole(one.capabilities)) for one in declared_classes.machine_classes),
        {name: offer.machine_class.resources for name, offer in offered.items()},
    )
    counts = {class_count(MACHINE, name): offered[name].quantity for name in names}
    stock = _stock(about.host.capacity)
    given = allocatable(stock, needs(_reserve(configured)), {})
    free = _counts_left(
        counts, given, {one.name: one for one in declared_classes.machine_classes}, configured
    )
    status = report.ReportedPoolStatus(
        state="Error" if runtime_state.error else "Ready",
        conditions=(_answering(runtime_state), *_unlike(unlike)),
        available_machine_classes=tuple(report.ObjectRef(name) for name in names),
        addresses=_addresses(about.host.addresses),
        capacity=dict(format_vector(stock | counts)),
        allocatable=dict(format_vector(given | free)),
        node_info=_node_info(about),
    )
    entry = replace(entry, status=status, labels=_labels(about.host.labels) | configured.labels)
    return entry, _facts(entry.runtime, names, given | free, live)


def volume_pool(
    configured: Configured,
    runtime_state: RuntimeState,
    declared_classes: DeclaredClasses,
    last: report.VolumePoolReport | None,
) -> tuple[report.VolumePoolReport, PoolFacts]:
    """As machine_pool, for storage. A runtime that states no storage has as much as its largest class can
    still get."""
    pending = report.ReportedVolumePoolStatus(state="Pending", reachable_from=configured.reachable_from)
    entry = report.VolumePoolReport(
        status=pending, labels=configured.labels, runtime=configured.runtime or ""
    )
    about = runtime_state.about
    if about is None or runtime_state.offers is None:
        return _unknown_pool(entry, runtime_state, last)
    offered = {offer.volume_class.name: offer for offer in runtime_state.offers.volumes}
    names, unlike = _match_classes(
        ((one.name, {"tps": one.tps, "iops": one.iops}) for one in declared_classes.volume_classes),
        {
            name: {"tps": offer.volume_class.tps, "iops": offer.volume_class.iops}
            for name, offer in offered.items()
        },
    )
    stock, counts = _volume_stock(about.host.capacity, offered, names, last)
    given = allocatable(stock, needs(_reserve(configured)), {})
    kept = stock[STORAGE] - given[STORAGE]
    free = {name: max(0, count - kept) for name, count in counts.items()}
    status = report.ReportedVolumePoolStatus(
        state="Unavailable" if runtime_state.error else "Available",
        conditions=(_answering(runtime_state), *_unlike(unlike)),
        available_volume_classes=tuple(report.ObjectRef(name) for name in names),
        capacity=dict(format_vector(stock | counts)),
        allocatable=dict(format_vector(given | free)),
        reachable_from=configured.reachable_from,
    )
    entry = replace(entry, status=status, labels=_labels(about.host.labels) | configured.labels)
    return entry, PoolFacts(entry.runtime, frozenset(names), given | free)


def _volume_stock(
    capacity: Mapping[str, int],
    offered: Mapping[str, iri.VolumeOffer],
    names: Iterable[str],
    last: report.VolumePoolReport | None,
) -> tuple[dict[str, int], dict[str, int]]:
    """The storage of a pool, and how much of it each class can get. Only counts that stand for a capacity drift."""
    counts = {class_count(VOLUME, name): offered[name].quantity for name in names}
    if STORAGE in capacity:
        return {STORAGE: capacity[STORAGE]}, counts
    stock = {STORAGE: max((offer.quantity for offer in offered.values()), default=0)}
    return (stock, counts) if last is None else (_steady(stock, last), _steady(counts, last))


def _steady(counts: Vector, last: report.VolumePoolReport) -> dict[str, int]:
    """Counts of a provider that derives them from the fill of its disks, so that they drift: without the drift. Each report that differs is a commit.

        reported last    counted now                  reported
        ---------------  ---------------------------  ------------------------------
        no such count    any                          as counted
        less             up to 2% more                as last
        less             more than that               as counted
        more             down to 2% less              1% less than counted, as a margin for further drift
        more             less than that               as counted

    Never more than the provider counts: what is reported can be had.
    """
    known = {resource: parse(str(written)).ceil() for resource, written in last.status.capacity.items()}
    return {
        resource: _steady_count(known[resource], count) if resource in known else count
        for resource, count in counts.items()
    }


def _steady_count(last: int, count: int) -> int:
    if abs(last - count) > count // DRIFT_SHARE:
        return count
    return last if last <= count else count - count // MARGIN_SHARE


def _unknown_pool(
    entry: AnyPool, runtime_state: RuntimeState, last: AnyPool | None
) -> tuple[AnyPool, PoolFacts]:
    """As it was reported last; nothing is admitted. A pool that was never known stays Pending."""
    known = (last or entry).status
    out_of_service = "Error" if isinstance(known, report.ReportedPoolStatus) else "Unavailable"
    state = known.state if known.state == "Pending" else out_of_service
    status = replace(known, state=state, conditions=(_answering(runtime_state),))
    labels = (last.labels if last else {}) | entry.labels
    return replace(entry, status=status, labels=labels), PoolFacts(entry.runtime)


def of_host(pool: AnyPool, problem: LiveProblem | None, leaving: str | None) -> AnyPool:
    """The pool with what holds for all pools of the host: whether it leaves, and whether the head of `live` is applied."""
    state: str = pool.status.state
    if leaving == "leaving" and isinstance(pool, report.PoolReport):
        state = "Offline"
    elif leaving == "leaving" or (problem is not None and problem.is_held):
        state = OUT_OF_SERVICE.get(state, state)
    following = condition(FOLLOWS, True, "Following")
    if problem is not None:
        following = condition(FOLLOWS, not problem.is_held, problem.reason, problem.message)
    conditions = (*pool.status.conditions, following)
    return replace(pool, status=replace(pool.status, state=state, conditions=conditions))


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
    declared: Iterable[tuple[str, Mapping[str, int]]], offered: Mapping[str, Mapping[str, int]]
) -> tuple[list[str], list[str]]:
    """Names that both have with equal capabilities, and those that both have and mean differently."""
    equal: list[str] = []
    unlike: list[str] = []
    for name, capabilities in sorted(declared, key=lambda one: one[0]):
        if name in offered:
            (equal if dict(offered[name]) == dict(capabilities) else unlike).append(name)
    return equal, unlike


def _whole(capabilities: Mapping[str, Quantity]) -> dict[str, int]:
    """As the runtime interface counts: whole cores, bytes, devices; rounded up."""
    return {name: quantity.ceil() for name, quantity in capabilities.items()}


def _stock(capacity: Mapping[str, int]) -> dict[str, int]:
    """The runtime's numbers in the units of a pool: whole cores become thousandths."""
    return {name: count * MILLIS if name == CPU else count for name, count in capacity.items()}


def _reserve(configured: Configured) -> dict[str, Quantity]:
    """What poollet.yaml keeps back of this pool for the host itself."""
    return {name: parse(value) for name, value in configured.reserved.items()}


def _answering(runtime_state: RuntimeState) -> report.ReportedCondition:
    """Whether the runtime of the pool answers."""
    if runtime_state.error:
        return condition(READY, False, "RuntimeUnreachable", runtime_state.error)
    if not runtime_state.is_known:
        return condition(READY, False, "RuntimePending", "the runtime has not answered yet")
    return condition(READY, True, "RuntimeReady")


def _unlike(names: list[str]) -> tuple[report.ReportedCondition, ...]:
    """Reported only while there are such classes."""
    if not names:
        return ()
    message = f"{', '.join(names)}: the capabilities on live and those that the runtime offers differ"
    return (condition(MATCHED, False, "CapabilitiesDiffer", message),)


def _addresses(addresses: Iterable[iri.HostAddress]) -> tuple[report.ReportedAddress, ...]:
    """Those of a known type that a report can carry."""
    return tuple(
        report.ReportedAddress(one.type, one.address)
        for one in addresses
        if one.type in ADDRESS_TYPES and 0 < len(one.address) <= LONGEST_WORD
    )


def _node_info(about: iri.RuntimeInfo) -> dict[str, str]:
    """What people see about the host; empty values are left out."""
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
    """A value of more than 63 characters is left out: cut, it would be another value."""
    return {name: value for name, value in labels.items() if len(value) <= 63}


def of_runtime(state: RuntimeState) -> report.RuntimeReport:
    """The runtime's entry in poollet.json. One that never answered is Unreachable, as one that stopped answering."""
    about = state.about
    return report.RuntimeReport(
        state="Unreachable" if state.error or about is None else "Ready",
        name=about.name if about else "",
        version=about.version if about else "",
        message=state.error[:MAX_TEXT],
    )
