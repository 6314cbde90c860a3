"""How objects of each kind look in a row: one list of columns for each kind, and the state, reason and message that
all verbs show alike.

`get`, `describe`, `tree`, `top`, `wait` and the demo take state and reason from here, so no two of them disagree. A
state is what the host reports, unless the object is being deleted, is retained, or its host's heartbeat expired:
then that is more important than an old report. Reads only the object, never another one, so a row costs the same in
a large fleet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from reconciler.cli.output import Column
from reconciler.cli.terminal import TextStyle
from reconciler.query.inventory import InventoryItem
from reconciler.world.record import (
    ACCEPTED,
    DELETION_HELD,
    FROZEN,
    HOST_MISMATCH,
    REPORT_UNREADABLE,
    moment,
)
from schemas import live_layout
from schemas.kinds import Kind
from schemas.model import Condition
from schemas.model.quantity import Quantity
from schemas.settings.duration import format_duration

GOOD = frozenset({"Running", "Ready", "Available", "Attached"})
POOLS = (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
BAD = frozenset({"Error", "Failed", "Offline", "Unavailable", "Terminated", "Unknown"})


def columns(
    kind: Kind, *, with_namespace: bool, is_wide: bool, with_kind: bool = False
) -> list[Column[InventoryItem]]:
    """The columns of a kind, in their order. `-A` adds the namespace, `-o wide` those that are too wide for most
    terminals. With its kind a name can be pasted after any verb."""
    namespace = Column[InventoryItem]("NAMESPACE", lambda item: item.key.namespace)
    before = f"{kind.value.lower()}/" if with_kind else ""
    name = Column[InventoryItem]("NAME", lambda item: before + item.key.name)
    file = Column[InventoryItem]("FILE", lambda item: item.path, is_wide=True)
    age = [] if kind is Kind.SECRET else [AGE._replace(is_wide=kind in POOLS)]  # the table of pools is full
    rows = [*([namespace] if with_namespace else []), name, *BY_KIND[kind], *age, file]
    rows.sort(key=lambda column: column is MESSAGE)  # the longest comes last
    return [column for column in rows if is_wide or not column.is_wide]


class ShownState(NamedTuple):
    """The one word that `--for state=` and `--field state=` compare, and what people must know beside it."""

    word: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.word} ({', '.join(self.details)})" if self.details else self.word


DELETED, DELETING, RETAINED = "Deleted", "Deleting", "Retained"
UNKNOWN, PAUSED = "Unknown", "Paused"
HELD = "held"


def state(item: InventoryItem) -> str:
    """What the object is, or on its way to be, as tables show it."""
    return str(shown_state(item))


def shown_state(item: InventoryItem) -> ShownState:
    """The word of the most important fact, with the last known state of an object that cannot be observed now."""
    paused = (PAUSED,) if is_paused(item) else ()
    if item.object.metadata.is_deleting:
        return ShownState(DELETING, paused)
    if item.is_retained:
        return ShownState(RETAINED)
    is_held = (waiting := awaiting_approval(item)) is not None and waiting.type == DELETION_HELD
    status: Any = getattr(item.object, "status", None)
    undo = getattr(status, "undo", None)
    if undo is not None and not undo.is_returning:
        held = (HELD,) if is_held else ()
        return ShownState(DELETED, (f"undo until {show_end(undo.until, datetime.now(UTC))}", *held, *paused))
    if is_held:
        return ShownState(DELETING, (HELD, *paused))
    reported = str(getattr(status, "state", ""))
    if find_unknown(item) is None:
        return ShownState(reported or "Pending", paused)
    has_been = reported not in ("", "Pending") and item.key.kind not in POOLS
    return ShownState(UNKNOWN, ((f"was {reported}",) if has_been else ()) + paused)


def show_end(until: str, now: datetime) -> str:
    """When a wait ends, in UTC as all times are; the time of day alone, if that is today."""
    ends = moment(until)
    if ends is None:
        return until
    is_today = ends.date() == now.astimezone(UTC).date()
    return ends.strftime("%H:%MZ" if is_today else "%Y-%m-%dT%H:%MZ")


def find_unknown(item: InventoryItem) -> Condition | None:
    """The condition that says that the present state is unknown: its host does not report, or cannot observe it."""
    return next((each for each in conditions(item) if each.type == "Ready" and each.status == UNKNOWN), None)


def is_frozen(item: InventoryItem) -> bool:
    """Whether its file in the source has a newer text that the reconciler does not apply."""
    return any(each.type == ACCEPTED and each.reason == FROZEN for each in conditions(item))


def is_paused(item: InventoryItem) -> bool:
    """Whether people asked that nothing is done to it, as the shown document has it: a `pause` that is not on `live` yet does not count."""
    return item.object.metadata.annotations.get(live_layout.PAUSED) == "true"


def style(item: InventoryItem) -> TextStyle:
    """Green where nothing is to be done, red where a person should look, yellow for what changes or waits."""
    found = shown_state(item).word
    if is_paused(item):
        return TextStyle.YELLOW
    if found in GOOD:
        return TextStyle.GREEN
    return TextStyle.RED if found in BAD else TextStyle.YELLOW


def conditions(item: InventoryItem) -> Sequence[Condition]:
    """The conditions in the order of the document; none for a kind that has no status."""
    status: Any = getattr(item.object, "status", None)
    return getattr(status, "conditions", ())


def awaiting_approval(item: InventoryItem) -> Condition | None:
    """It left the source and its deletion waits, or a second host wants to serve the pool: both wait for a person."""
    waiting = (DELETION_HELD, HOST_MISMATCH)
    return next((each for each in conditions(item) if each.type in waiting and each.status == "True"), None)


def first_unmet(item: InventoryItem) -> Condition | None:
    """Why it is not as it should be: that its deletion is held, that it cannot be observed, or that its host's report cannot be read; else the
    first condition that is not met."""
    return (
        awaiting_approval(item)
        or find_unknown(item)
        or next((each for each in conditions(item) if each.type == REPORT_UNREADABLE), None)
        or next((each for each in conditions(item) if each.status != "True" and each.reason), None)
    )


def reason(item: InventoryItem) -> str:
    found = first_unmet(item)
    return "" if found is None else found.reason


def reason_cell(item: InventoryItem) -> str:
    """The reason for a table: of an object that cannot be observed, with the moment from which on its state is unknown."""
    found = first_unmet(item)
    if found is None or found is not find_unknown(item) or not found.last_transition_time:
        return reason(item)
    return f"{found.reason} since {found.last_transition_time}"


def message(item: InventoryItem) -> str:
    found = first_unmet(item)
    return "" if found is None else found.message


def of(get: Callable[[Any], object]) -> Callable[[InventoryItem], str]:
    """The cell of a value of the object; a field that is not there is empty."""

    def cell(item: InventoryItem) -> str:
        found = get(item.object)
        return "" if found is None else str(found)

    return cell


STATE = Column[InventoryItem]("STATE", state, style)
REASON = Column[InventoryItem]("REASON", reason_cell)
MESSAGE = Column[InventoryItem]("MESSAGE", message, is_wide=True)
HOST = Column[InventoryItem](
    "HOST", of(lambda pool: pool.status.host.id if pool.status.host else ""), is_wide=True
)
UID = Column[InventoryItem]("UID", of(lambda each: each.metadata.uid), is_wide=True)


def creation_time(item: InventoryItem) -> datetime | None:
    """When the reconciler first saw the object. None for what has no identity on the target branch, such as an announced pool, and for an
    object that was taken over from a host's report after `live` was lost: then the moment is unknown."""
    return moment(item.object.metadata.creation_timestamp)


def age_cell(item: InventoryItem) -> str:
    """How long it exists, by the clock of this computer."""
    since = creation_time(item)
    return "" if since is None else format_duration(int((datetime.now(UTC) - since).total_seconds()))


AGE = Column[InventoryItem]("AGE", age_cell)


def size_cell(item: InventoryItem) -> str:
    """The size that a volume has; where it is to have another one, both, and why it does not have it yet."""
    volume: Any = item.object
    desired = volume.spec.resources.storage if volume.spec.resources is not None else None
    has = volume.status.resources.get("storage")
    if has is None or desired is None or has == desired:
        return "" if desired is None else str(desired)
    return f"{has} -> {desired}{why_pending(item)}"


def class_cell(item: InventoryItem) -> str:
    """The class of a machine; where its host has it as another one, both, and why it is not the new one yet."""
    machine: Any = item.object
    ordered, has = machine.spec.machine_class_ref.name, ref(machine.status.machine_class_ref)
    return ordered if has in ("", ordered) else f"{has} -> {ordered}{why_pending(item)}"


def why_pending(item: InventoryItem) -> str:
    """The reason why the host does not bring it up to date; empty where it does."""
    unmet = (each for each in conditions(item) if each.type == "UpToDate" and each.status != "True")
    return next((f": {each.reason}" for each in unmet), "")


def claim_cell(item: InventoryItem) -> str:
    """The machine that may attach a volume; of a retained one, whose machine may be gone, the one that had it last."""
    volume: Any = item.object
    name = ref(volume.spec.claim_ref)
    return f"was {name}" if name and item.is_retained else name


def ref(found: Any) -> str:
    return "" if found is None else str(found.name)


def amounts(resources: Mapping[str, Quantity]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in sorted(resources.items()))


def ips(machine: Any) -> str:
    return ",".join(ip for interface in machine.status.network_interfaces for ip in interface.ips)


def names(refs: Sequence[Any]) -> str:
    return ",".join(each.name for each in refs)


def disks(machine: Any) -> str:
    """How many disks of a machine are attached, of how many that its spec has."""
    attached = sum(disk.state == "Attached" for disk in machine.status.volumes)
    return f"{attached}/{len(machine.spec.volumes)}"


def flag(spec: Any) -> str:
    """What keeps machines off a pool: the cordon and each taint with its effect. The value of a taint is left out."""
    taints = [f"{taint.key}:{taint.effect}" for taint in spec.taints]
    return ",".join((["cordoned"] if spec.unschedulable else []) + taints)


BY_KIND: Mapping[Kind, list[Column[InventoryItem]]] = {
    Kind.MACHINE: [
        STATE,
        Column("POOL", of(lambda each: ref(each.spec.machine_pool_ref))),
        Column("CLASS", class_cell),
        Column("POWER", of(lambda each: each.spec.power)),
        Column("IPS", of(lambda each: ips(each))),
        REASON,
        Column("VOLUMES", of(lambda each: disks(each)), is_wide=True),
        UID,
        MESSAGE,
    ],
    Kind.MACHINE_CLASS: [
        Column("CPU", of(lambda each: each.capabilities["cpu"])),
        Column("MEMORY", of(lambda each: each.capabilities["memory"])),
        Column("ALL", of(lambda each: amounts(each.capabilities)), is_wide=True),
    ],
    Kind.MACHINE_POOL: [
        STATE,
        Column("CLASSES", of(lambda each: names(each.status.available_machine_classes))),
        Column("CPU", of(lambda each: each.status.allocatable.get("cpu"))),
        Column("MEMORY", of(lambda each: each.status.allocatable.get("memory"))),
        Column("FLAGS", of(lambda each: flag(each.spec))),
        REASON,
        Column(
            "ADDRESSES",
            of(lambda each: ",".join(one.address for one in each.status.addresses)),
            is_wide=True,
        ),
        HOST,
        MESSAGE,
    ],
    Kind.VOLUME: [
        STATE,
        Column("SIZE", size_cell),
        Column("POOL", of(lambda each: ref(each.spec.volume_pool_ref))),
        Column("CLASS", of(lambda each: ref(each.spec.volume_class_ref))),
        Column("CLAIMED-BY", claim_cell),
        REASON,
        UID,
        MESSAGE,
    ],
    Kind.VOLUME_CLASS: [
        Column("TPS", of(lambda each: each.capabilities["tps"])),
        Column("IOPS", of(lambda each: each.capabilities["iops"])),
        Column("RESIZE", of(lambda each: each.resize_policy)),
    ],
    Kind.VOLUME_POOL: [
        STATE,
        Column("CLASSES", of(lambda each: names(each.status.available_volume_classes))),
        Column("STORAGE", of(lambda each: each.status.allocatable.get("storage"))),
        Column("FLAGS", of(lambda each: flag(each.spec))),
        REASON,
        HOST,
        MESSAGE,
    ],
    Kind.VOLUME_SNAPSHOT: [
        STATE,
        Column("VOLUME", of(lambda each: each.spec.volume_ref.name)),
        Column("SIZE", of(lambda each: each.status.size)),
        REASON,
        MESSAGE,
    ],
    Kind.NETWORK: [
        Column("PROVIDER", of(lambda each: each.spec.provider_id)),
        Column("CIDR", of(lambda each: (ipv4 := each.spec.ipv4) and ipv4.cidr)),
        Column("VLAN", of(lambda each: each.spec.vlan or "")),
        REASON,
    ],
    Kind.NETWORK_INTERFACE: [
        STATE,
        Column("NETWORK", of(lambda each: each.spec.network_ref.name)),
        Column("IPS", of(lambda each: ",".join(each.status.ips))),
        Column("MAC", of(lambda each: each.status.mac_address)),
        REASON,
    ],
    Kind.SECRET: [
        Column("TYPE", of(lambda each: each.type)),
        Column("KEYS", of(lambda each: ",".join(sorted(each.keys)))),
        Column("ENCRYPTED", of(lambda each: "yes" if each.is_encrypted else "no")),
    ],
    Kind.RESOURCE_QUOTA: [
        Column("HARD", of(lambda each: amounts(each.spec.hard))),
        Column("USED", of(lambda each: amounts(each.status.used))),
    ],
}
