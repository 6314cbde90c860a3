"""What a pool offers, given what people declare and what its poollet announces. Pure.

Who wins where both speak:

    people          cordon, taints, labels of the same name, what is kept back (spec), which machine pools a volume pool serves
    the host        capacity, classes that it offers, its state, labels that people do not set
    the reconciler  the grant

`why_not_ready` is empty when new objects may go there, and otherwise the first reason, in the order of the function below. It
is never a reason to touch what is on the pool. An announcement that is remembered from `live` (last_known_pool.py) goes the
same way as a fresh one, but never gives the pool more room than `live` already said it had.

Must never happen: a pool that no host serves looks ready; a class counts as offered of which the host
reported neither the name nor an equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from msgspec import structs

from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.pools.grants import Grant, grant_for, grant_on_live
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.status_update import READY, amounts
from schemas.kinds import Key, Kind
from schemas.live_layout import SHARE
from schemas.model import (
    MachineClass,
    MachinePool,
    MachinePoolSpec,
    MachinePoolStatus,
    VolumeClass,
    VolumePool,
    VolumePoolStatus,
)
from schemas.model.capacity import CPU, MEMORY, STORAGE, WHOLE_HOST, class_count, share, stocks
from schemas.model.charge import MACHINE, VOLUME, pool_allocatable
from schemas.model.quantity import Quantity
from schemas.report import objects as report
from schemas.validate.labels import OURS, TWIN


@dataclass(frozen=True, slots=True)
class Announcement:
    """The announcement of a pool by its owner, and how reliable that report is.

    `silence` is why its host cannot be asked now: then the announcement is what live has, nothing new is placed there, and nothing
    else changes.
    `host` is empty unless it is what that host's report says. `epoch` is the highest one of reports and assignments, for a pool that
    is granted to no host.
    """

    poollet: str
    pool: report.PoolReport | report.VolumePoolReport
    heartbeat: Heartbeat
    silence: str = ""
    is_remembered: bool = False
    host: str = ""
    other_host: str = ""
    epoch: int = 0
    is_rewound: bool = False  # live has an older grant than the one that `epoch` was reported under
    held: str = ""  # why nothing new is placed there, whatever the host reports
    asks: str = ""  # as the host reports it


@dataclass(slots=True)
class Offer:
    """The declared classes of one kind of pools, by name and by capabilities: a pool that offers one offers its equals.

    Equal are two classes with the same amounts of the same capabilities. Changed by `update/account.py` alone.
    """

    classes: dict[str, MachineClass | VolumeClass] = field(default_factory=dict)
    equals: dict[frozenset[tuple[str, int]], list[str]] = field(default_factory=dict)

    def set(self, name: str, found: MachineClass | VolumeClass | None) -> None:
        before = self.classes.pop(name, None)
        if before is not None:
            self.equals[_capabilities(before)].remove(name)
        if found is not None:
            self.classes[name] = found
            self.equals.setdefault(_capabilities(found), []).append(name)

    def like(self, name: str) -> Iterable[str]:
        """The class itself, known or not, and those that are the same by other names."""
        known = self.classes.get(name)
        return {name, *self.equals[_capabilities(known)]} if known is not None else (name,)


def pool_state(
    key: Key, known: ObjectState | None, announced: Announcement | None, offer: Offer, fault: str = ""
) -> PoolState:
    """The pool as one value. Either of `known` and `announced` may be None, not both: then there is no such pool. `fault` is why the report
    of its poollet cannot be read."""
    declaring = (Origin.DECLARED, Origin.FROZEN, Origin.LEAVING)
    is_declared = known is not None and known.origin in declaring
    pool = announced.pool if announced else None
    names = _offered_classes(pool)
    grant = grant_on_live(known)
    if announced is not None and announced.host:
        grant = grant_for(
            known, announced.host, announced.epoch, announced.heartbeat, is_rewound=announced.is_rewound
        )
    object = known.object if known is not None else None
    plain = PoolState(
        key=key,
        is_declared=is_declared,
        poollet=announced.poollet if announced else "",
        host=announced.host if announced else "",
        grant=grant,
        other_host=announced.other_host if announced else "",
        asks=announced.asks if announced and announced.host == grant.host else "",
        heartbeat=announced.heartbeat if announced else None,
        announced=pool,
        is_remembered=announced is not None and announced.is_remembered,
        why_not_ready=why_not_ready(known, announced, fault) or why_not_granted(grant, announced),
        is_destroyed=not grant.host and was_destroyed(known),
        report_fault=fault,
        labels=_labels(known if is_declared else None, pool),
        taints=object.spec.taints if isinstance(object, MachinePool | VolumePool) else (),
        is_cordoned=isinstance(object, MachinePool | VolumePool) and object.spec.unschedulable,
        classes=frozenset(like for name in names for like in offer.like(name)),
    )
    if key.kind is Kind.VOLUME_POOL:
        return _volume_room(plain, object if isinstance(object, VolumePool) else None)
    room = _machine_room(plain, object if isinstance(object, MachinePool) else None, offer)
    return _no_roomier(room, known) if room.is_remembered and known is not None else room


def without_declaration(known: ObjectState) -> ObjectState:
    """A pool that no file declares any more, in a fleet where its host's announcement is enough: nothing that the file said holds, and
    `decide` writes so in this very tick. One that is ordered gone stays as it is. Only for a certain absence: what may still be declared
    stays as it was."""
    object = known.object
    if known.origin is not Origin.LEAVING or known.record.is_deleting:
        return known
    if not isinstance(object, MachinePool | VolumePool):
        return known
    bare = type(object)(
        api_version=object.api_version, metadata=object.metadata
    )  # its spec is the default one
    return structs.replace(known, origin=Origin.ANNOUNCED, object=bare)


def why_not_ready(known: ObjectState | None, announced: Announcement | None, fault: str = "") -> str:
    """The first reason against new objects there, by what is declared and what is announced; empty when there is none.

    The last check carries a start over: a pool that was not ready stays so until its report is seen to change.
    """
    if known is None:
        return "the pool is not declared, and this fleet accepts declared pools only"
    if not known.is_active:
        return "the pool is being removed"
    if announced is None:
        return fault or "no poollet announces the pool"
    if announced.heartbeat is Heartbeat.LEFT:
        return f"its poollet {announced.poollet} has left"
    if announced.heartbeat is Heartbeat.EXPIRED:
        return fault or f"the report of {announced.poollet} has not changed within the heartbeat timeout"
    if announced.silence or announced.held:
        return announced.silence or announced.held
    state = announced.pool.status.state
    if state not in ("Ready", "Available"):
        return f"its poollet reports the state {state}"
    before = known.record.condition(READY)
    if announced.heartbeat is Heartbeat.UNCONFIRMED and before is not None and before.status != "True":
        return f"the pool was not ready ({before.status}) when last reported, and its report has not changed since"
    return ""


def why_not_granted(grant: Grant, announced: Announcement | None) -> str:
    """A pool without a grant takes nothing, since no host could act on the assignment.

    Excepted is a remembered pool that never had an epoch: a live that was written before there were grants, in a checkout.
    """
    if grant.host or (announced is not None and announced.is_remembered and not grant.epoch):
        return ""
    return "no host has the grant of this pool; the next host that reports it gets it"


def was_destroyed(known: ObjectState | None, host: str = "") -> bool:
    """Whether `Pool-Destroyed` was followed for the pool, and for that host where one is named. Once another host has the grant that says
    nothing about the pool any more."""
    status = known.record.status if known is not None else None
    request = status.destroyed if isinstance(status, MachinePoolStatus | VolumePoolStatus) else None
    return request is not None and request.state == "Followed" and host in ("", request.host)


def _offered_classes(pool: report.PoolReport | report.VolumePoolReport | None) -> tuple[str, ...]:
    match pool:
        case report.PoolReport():
            return tuple(each.name for each in pool.status.available_machine_classes)
        case report.VolumePoolReport():
            return tuple(each.name for each in pool.status.available_volume_classes)
        case None:
            return ()


def _labels(
    declared: ObjectState | None, pool: report.PoolReport | report.VolumePoolReport | None
) -> Mapping[str, str]:
    """Declared labels win over announced ones. The two prefixes of topology labels mean the same, so each label is kept under both."""
    labels = dict(pool.labels) if pool else {}
    labels |= declared.object.metadata.labels if declared else {}
    for key, value in tuple(labels.items()):
        for one, other in ((OURS, TWIN), (TWIN, OURS)):
            if key.startswith(one):
                labels.setdefault(other + key.removeprefix(one), value)
    return labels


def host_capacity(announced: report.PoolReport | report.VolumePoolReport | None) -> Mapping[str, Quantity]:
    """The amounts that the host offers: allocatable, without its operator's reserve, where it reports that; else its capacity."""
    return amounts(announced.status.capacity | announced.status.allocatable) if announced else {}


def _machine_room(state: PoolState, declared: MachinePool | None, offer: Offer) -> PoolState:
    """Allocatable amounts without the declared reserve, if the host reports CPU and memory. Otherwise shares, from its counts of classes."""
    capacity = host_capacity(state.announced)
    stock = stocks(capacity)
    if CPU in stock and MEMORY in stock:
        spec = declared.spec if declared else MachinePoolSpec()
        return replace(state, allocatable=pool_allocatable(spec, capacity))
    # Class counts alone: machines of each class take their share of one whole host.
    prefix = class_count(MACHINE, "")
    counts = {name.removeprefix(prefix): count for name, count in stock.items() if name.startswith(prefix)}
    shares = {like: share(count) for name, count in counts.items() for like in offer.like(name)}
    return replace(state, allocatable={SHARE: WHOLE_HOST}, shares=shares)


def _no_roomier(state: PoolState, known: ObjectState) -> PoolState:
    """Limits each amount to the one on live, which already lacks the host's own reserve and what people reserved then."""
    status = known.record.status
    if not isinstance(status, MachinePoolStatus) or SHARE in state.allocatable:
        return state
    reported = stocks(status.allocatable)
    return replace(
        state,
        allocatable={
            name: min(count, reported.get(name, count)) for name, count in state.allocatable.items()
        },
    )


def _volume_room(state: PoolState, declared: VolumePool | None) -> PoolState:
    """Every class that is offered gets its count of bytes, so that one charge fits pools that count classes and others."""
    stock = stocks(host_capacity(state.announced))
    counted = sum(count for name, count in stock.items() if name.startswith(class_count(VOLUME, "")))
    whole = stock.get(STORAGE, counted)
    room = {STORAGE: whole} | {
        class_count(VOLUME, name): stock.get(class_count(VOLUME, name), whole) for name in state.classes
    }
    announced = state.announced.status if isinstance(state.announced, report.VolumePoolReport) else None
    reachable = announced.reachable_from if announced else None
    selector = declared.spec.machine_pool_selector if declared else None
    return replace(
        state,
        allocatable=room,
        reachable_from=None if reachable is None else frozenset(reachable),
        machine_pool_selector=tuple(sorted((selector or {}).items())),
    )


def _capabilities(found: MachineClass | VolumeClass) -> frozenset[tuple[str, int]]:
    return frozenset((name, amount.nano) for name, amount in found.capabilities.items())
