"""Volumes, their classes, pools and snapshots."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from schemas.kinds import Kind
from schemas.model import defaults
from schemas.model.part import (
    Assignment,
    ClaimRef,
    Condition,
    DestroyRequest,
    Evict,
    GrantedHost,
    MoveRequest,
    NameRef,
    Part,
    Rejection,
    Taint,
    TemplateMetadata,
    Toleration,
)
from schemas.model.quantity import Quantity
from schemas.model.resource import Resource


class VolumeClass(Resource, frozen=True):
    """Performance of volumes, and whether they can grow."""

    KIND: ClassVar[Kind] = Kind.VOLUME_CLASS

    capabilities: dict[str, Quantity]
    resize_policy: Literal["Static", "ExpandOnly"] = defaults.RESIZE_POLICY

    @property
    def tps(self) -> int:
        """Bytes a second."""
        return self.capabilities["tps"].ceil()

    @property
    def iops(self) -> int:
        """Operations a second."""
        return self.capabilities["iops"].ceil()


class VolumePoolSpec(Part, frozen=True):
    """Desired state of a volume pool."""

    provider_id: str = msgspec.field(name="providerID", default="")
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    machine_pool_selector: dict[str, str] | None = None


class VolumePoolStatus(Part, frozen=True):
    """Observed state of a volume pool, on the target branch only.

    `reachable_from` are the machine pools whose machines can use its volumes, if it is local to a host; None for a pool that
    machines of any host reach.
    """

    state: Literal["Available", "Pending", "Unavailable", ""] = ""
    conditions: tuple[Condition, ...] = ()
    available_volume_classes: tuple[NameRef, ...] = ()
    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    reachable_from: tuple[str, ...] | None = None
    host: GrantedHost | None = None
    epoch: int = 0
    destroyed: DestroyRequest | None = None
    move: MoveRequest | None = None


class VolumePool(Resource, frozen=True):
    """Storage for volumes."""

    KIND: ClassVar[Kind] = Kind.VOLUME_POOL

    spec: VolumePoolSpec = VolumePoolSpec()
    status: VolumePoolStatus = VolumePoolStatus()


class VolumeResources(Part, frozen=True):
    """The size of a volume."""

    storage: Quantity


class Encryption(Part, frozen=True):
    """The Secret with the key that encrypts a volume."""

    secret_ref: NameRef


class OSImage(Part, frozen=True):
    """An operating system image as initial content."""

    image: str
    architecture: str | None = None


class DataSource(Part, frozen=True):
    """Exactly one of the two. IronCore's API server writes an empty one into what it exports, which means none."""

    os_image: OSImage | None = None
    volume_snapshot_ref: NameRef | None = None


class VolumeSpec(Part, frozen=True):
    """`image` is the former name of `data_source.os_image`: it is moved to the data source, and empty afterwards."""

    volume_class_ref: NameRef | None = None
    volume_pool_selector: dict[str, str] = {}
    volume_pool_ref: NameRef | None = None
    resources: VolumeResources | None = None
    tolerations: tuple[Toleration, ...] = ()
    encryption: Encryption | None = None
    data_source: DataSource | None = None
    image: str = ""
    claim_ref: ClaimRef | None = None
    unclaimable: bool = False
    deletion_policy: Literal["Retain", "Delete"] | None = None

    def __post_init__(self) -> None:
        if self.data_source == DataSource():
            msgspec.structs.force_setattr(self, "data_source", None)
        if self.image:
            source = self.data_source or DataSource(os_image=OSImage(image=self.image))
            msgspec.structs.force_setattr(self, "data_source", source)
            msgspec.structs.force_setattr(self, "image", "")

    @property
    def storage_bytes(self) -> int:
        """Zero for a volume that exists outside of gitvirt."""
        return self.resources.storage.ceil() if self.resources else 0


class VolumeTemplate(Part, frozen=True):
    """What the generated volume of an ephemeral entry gets."""

    spec: VolumeSpec
    metadata: TemplateMetadata = TemplateMetadata()


class VolumeAccess(Part, frozen=True):
    """How a machine reaches the volume, as its runtime reported."""

    driver: str = ""
    handle: str = ""
    volume_attributes: dict[str, str] = {}
    secret_ref: NameRef | None = None


class VolumeStatus(Part, frozen=True):
    """Observed state of a volume, and the reconciler's orders about it."""

    volume_id: str = msgspec.field(name="volumeID", default="")
    state: Literal["Pending", "Available", "Error", ""] = ""
    last_state_transition_time: str = ""
    access: VolumeAccess | None = None
    resources: dict[str, Quantity] = {}
    conditions: tuple[Condition, ...] = ()
    assignment: Assignment | None = None
    evict: Evict | None = None
    rejections: tuple[Rejection, ...] = ()


class Volume(Resource, frozen=True):
    """A disk that exists independently of a machine."""

    KIND: ClassVar[Kind] = Kind.VOLUME

    spec: VolumeSpec
    status: VolumeStatus = VolumeStatus()


class VolumeSnapshotSpec(Part, frozen=True):
    """The volume of the snapshot, which cannot change."""

    volume_ref: NameRef


class VolumeSnapshotStatus(Part, frozen=True):
    """Observed state of a snapshot."""

    snapshot_id: str = msgspec.field(name="snapshotID", default="")
    state: Literal["Pending", "Ready", "Failed", ""] = ""
    last_state_transition_time: str = ""
    size: Quantity | None = None
    conditions: tuple[Condition, ...] = ()
    assignment: Assignment | None = None


class VolumeSnapshot(Resource, frozen=True):
    """The content of a volume at one time."""

    KIND: ClassVar[Kind] = Kind.VOLUME_SNAPSHOT

    spec: VolumeSnapshotSpec
    status: VolumeSnapshotStatus = VolumeSnapshotStatus()
