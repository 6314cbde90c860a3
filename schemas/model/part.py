"""The base of all types of the model, and the parts that several kinds share. Knows no kind.

The reconciler's orders are types here as well (`Assignment`, `Evict`, `DestroyRequest`, `MoveRequest`): they are fields of an
object's status on the target branch, which is how a poollet learns of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from schemas.model import defaults

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Frozen. Fields have the manifest's names in Python's spelling. Fields at their default are left out when written.

    Frozen, because one object is used in many places at once: a change is a new object (`msgspec.structs.replace`).
    """


class NameRef(Part, frozen=True):
    """Another object, by name, in the same namespace."""

    name: str


class ClaimRef(Part, frozen=True):
    """The object that holds a volume: the reconciler writes it, and only its poollet attaches the volume.

    It counts under `assignment` of the holder alone. `released` is the commit of live on which its release was decided: from then on no host
    attaches the volume.
    """

    name: str
    uid: str = ""
    assignment: str = ""
    released: str = ""


class OwnerReference(Part, frozen=True):
    """An object together with which this one is deleted."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class Metadata(Part, frozen=True):
    """Identity and notes of an object. The object fills in `namespace` of a namespaced kind."""

    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    uid: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def is_deleting(self) -> bool:
        """Whether the object's deletion is ordered."""
        return self.deletion_timestamp != ""


class TemplateMetadata(Part, frozen=True):
    """Labels and annotations of a generated object."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Taint(Part, frozen=True):
    """Excludes objects from a pool, unless they tolerate it."""

    key: str
    effect: Effect
    value: str = ""


class Toleration(Part, frozen=True):
    """An empty key means every key, an empty effect every effect."""

    key: str = ""
    operator: Literal["Equal", "Exists", ""] = "Equal"
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute", ""] = ""
    toleration_seconds: int | None = None

    def __post_init__(self) -> None:
        if self.operator == "":
            msgspec.structs.force_setattr(self, "operator", defaults.TOLERATION_OPERATOR)

    def tolerates(self, taint: Taint) -> bool:
        """Whether key, effect and value match the taint."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or self.value == taint.value


class Requirement(Part, frozen=True, order=True):
    """One condition on a label."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """As in Kubernetes, NotIn also matches labels without the key."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels


class Selector(NamedTuple):
    """What a label selector matches, frozen and hashable, so that objects with equal selectors form one group.

    All labels and requirements must match; an empty selector matches everything.
    """

    labels: tuple[tuple[str, str], ...] = ()
    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return all(labels.get(key) == value for key, value in self.labels) and all(
            requirement.matches(labels) for requirement in self.requirements
        )


class LabelSelector(Part, frozen=True):
    """A label selector in the manifest's form; `selector` is the form that matches labels."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()

    @property
    def selector(self) -> Selector:
        """Sorted, so that selectors with the same meaning are equal."""
        requirements = (
            msgspec.structs.replace(each, values=tuple(sorted(each.values)))
            for each in self.match_expressions
        )
        return Selector(tuple(sorted(self.match_labels.items())), tuple(sorted(requirements)))


class Condition(Part, frozen=True):
    """One aspect of an object's state. `last_transition_time` changes only together with `status`.

    `reason` is for programs and `message` for people: no code decides by the words of a message.
    """

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None
    last_update_time: str = ""
    last_transition_time: str = ""


class Assignment(Part, frozen=True):
    """The reconciler's order that binds an object to a pool; a pool reference without it is a pin by people.

    `host` and `epoch` name the grant of the pool that it was made under: no other host may act on it, under no other epoch.
    `id` tells two placements on the same pool apart, so that a late report about the first one does not count for the second.
    `accepted`: the host was asked before, and had room. For people: nothing is decided by it.
    """

    pool: str
    id: str
    host: str = ""
    epoch: int = 0
    accepted: bool = False


class PreviousAssignment(Part, frozen=True):
    """The last assignment under which a pool had the object; on `live` until the next pool reports that it has it."""

    pool: str
    id: str


class GrantedHost(Part, frozen=True):
    """The host that a pool is granted to, by its hostID. Its epoch is a field beside it, and grows with each grant. `answered` is what the
    host asked for when it had lost its local state: it acts by this `live`."""

    id: str
    answered: str = ""


RequestState = Literal["Waiting", "Fenced", "Followed", "Void"]


class DestroyRequest(Part, frozen=True):
    """A person's statement that `host`, which has the grant of this pool, is gone with all that it holds.

    `commit` states it; `report_commit` is the host's report as it was then: a later one makes the request void.
    """

    commit: str
    host: str
    state: RequestState
    report_commit: str = ""


class MoveRequest(Part, frozen=True):
    """A person's order to move the grant of this pool from one host to another. `commit` and `report_commit`: as above."""

    commit: str
    host: str
    state: RequestState
    from_host: str = msgspec.field(name="from", default="")
    report_commit: str = ""


class Undo(Part, frozen=True):
    """The reconciler's order to stop a machine that left the source, and to keep it with its disks until then.

    `is_returning`: it is declared again, and waits for room, a volume or an address.
    """

    until: str
    is_returning: bool = False


class Evict(Part, frozen=True):
    """The reconciler's order to end an assignment: the pool removes the object and reports it as gone.

    It names the assignment's id. So the order cannot hit a later placement of the same object on the same pool.
    """

    assignment: str
    reason: str = ""


class Rejection(Part, frozen=True):
    """A pool's refusal of an object: which pool, for which assignment, and how many times so far."""

    pool: str
    assignment: str = ""
    reason: str = ""
    message: str = ""
    count: int = 1
    time: str = ""
