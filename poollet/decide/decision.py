"""The inputs of a decision, with the facts about the host beside the objects on it, and its result.

Values only; `decide` turns inputs into the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from poollet.decide.actions import EventText, ExecutorState, ObjectAction, Ref
from poollet.decide.gates import OPEN, HostPermissions
from poollet.decide.memory import Entry, Memory
from poollet.runtimes.runtime_lists import RuntimeLists
from poollet.sync.live_view import LiveView
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Secret
from schemas.model.capacity import Vector

if TYPE_CHECKING:  # it is made of the types of this module
    from poollet.decide.host_room import HostRoom

Name = tuple[str, ...]
AnyEntry = TypeVar("AnyEntry", report.MachineReport, report.VolumeReport, report.SnapshotReport)
POWER_OFF_SECONDS = 60


@dataclass(frozen=True)
class PoolFacts:
    """`classes` are those that the runtime offers with the capabilities on `live`. Without `allocatable` the capacity is unknown, and
    nothing is admitted. `shares` is for pools that only report class counts: what one machine of each class takes of the host.
    """

    runtime: str
    classes: frozenset[str] = frozenset()
    allocatable: Vector | None = None
    shares: Mapping[str, int] | None = None


class UnreadableSecret(NamedTuple):
    """Why an encrypted Secret of `live` cannot be opened here: a reason for the condition, and file, key and cause for people."""

    reason: str
    message: str


OpenResult = Mapping[str, bytes] | UnreadableSecret


class SecretOpener(Protocol):
    """Opens encrypted Secrets of `live`; `poollet.decryption` has the keys. Equal Secrets give equal results."""

    def open(self, secret: Secret) -> OpenResult: ...


class NoOpener:
    """Of a host without keys."""

    def open(self, secret: Secret) -> OpenResult:
        return UnreadableSecret("SecretNotReadable", f"{secret.key}: this host has no private key")


NO_OPENER = NoOpener()


@dataclass(frozen=True, repr=False)
class HostSecrets:
    """The operator's secrets file: values by key, by namespace and name; and what opens encrypted Secrets of `live`. Two of them are equal
    if they give equal values: with other keys the opener is another one. Values never appear in a text made of this."""

    by_name: Mapping[tuple[str, str], Mapping[str, bytes]] = field(default_factory=dict)
    opener: SecretOpener = NO_OPENER

    def get(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """All values of one entry; None where the file has none of that name."""
        return self.by_name.get((namespace, name))

    def __repr__(self) -> str:
        return f"HostSecrets({sorted(self.by_name)})"


@dataclass(frozen=True)
class PoolletFacts:
    """`pools` are this poollet's own pools; `providers` are the names that runtimes give themselves, by runtime."""

    fleet: str
    pools: Mapping[tuple[Kind, str], PoolFacts] = field(default_factory=dict)
    providers: Mapping[str, str] = field(default_factory=dict)
    secrets: HostSecrets = field(default_factory=HostSecrets)
    plain_secrets: bool = False  # the fleet allows plain text in Secrets
    power_off_seconds: int = POWER_OFF_SECONDS  # for a guest to power off before its machine is removed
    host_id: str = ""  # that `live` grants pools to

    @property
    def machine_runtimes(self) -> frozenset[str]:
        """Runtimes that may have machines of this poollet."""
        return frozenset(
            known.runtime for (kind, _), known in self.pools.items() if kind is Kind.MACHINE_POOL
        )


@dataclass(frozen=True)
class DecisionInput:
    """`now_ms` is a moment of a clock that never jumps. `view` is None while `live` is not applied; `host` says which gates are
    closed for everything on this host."""

    view: LiveView | None
    observed: RuntimeLists
    executor: ExecutorState
    memory: Memory
    facts: PoolletFacts
    now_ms: int
    host: HostPermissions = OPEN
    # What the provider of an object that waits said last of it. For people: nothing is decided by it.
    explanations: Mapping[Ref, EventText] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """`actions` in the order to begin them. `recheck_at_ms`: look at fresh lists by then, though nothing else happens. `room` is what offers
    are judged by; None while no orders are known."""

    actions: tuple[ObjectAction, ...] = ()
    machines: Mapping[Name, report.MachineReport] = field(default_factory=dict)
    volumes: Mapping[Name, report.VolumeReport] = field(default_factory=dict)
    snapshots: Mapping[Name, report.SnapshotReport] = field(default_factory=dict)
    orphans: tuple[report.Orphan, ...] = ()
    memory: Memory = field(default_factory=Memory)
    recheck_at_ms: int | None = None
    room: HostRoom | None = None


def by_name(entries: Mapping[Key, Entry], kind: type[AnyEntry]) -> dict[Name, AnyEntry]:
    """The entries of a kind, as the report has them."""
    return {
        (key.namespace, key.name): entry for key, entry in sorted(entries.items()) if isinstance(entry, kind)
    }
