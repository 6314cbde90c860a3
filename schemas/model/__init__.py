"""The typed model: one frozen type for each kind, made of the parts that the JSON Schemas describe.

`decode` turns a valid document into its object, with `defaults` filled in. `quantity` and `selector` are values inside
objects; `capacity` and `charge` compute what objects need and what pools have. The model decides nothing, and knows
neither files nor text.
"""

from schemas.model.compute import (
    AntiAffinity,
    EFIVar,
    EphemeralNetworkInterface,
    EphemeralVolume,
    GuestConfig,
    IgnitionRef,
    LocalDisk,
    Machine,
    MachineClass,
    MachineNetworkInterface,
    MachineNetworkInterfaceStatus,
    MachinePool,
    MachinePoolSpec,
    MachinePoolStatus,
    MachineSpec,
    MachineStatus,
    MachineVolume,
    MachineVolumeStatus,
    Overcommit,
    PoolAddress,
    Spread,
)
from schemas.model.core import (
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceQuotaStatus,
    ScopeRequirement,
    ScopeSelector,
    Secret,
)
from schemas.model.decode import TYPES, Object, decode
from schemas.model.networking import (
    InterfaceIP,
    IPv4,
    Network,
    NetworkInterface,
    NetworkInterfaceSpec,
    NetworkInterfaceStatus,
    NetworkInterfaceTemplate,
    NetworkSpec,
    NetworkStatus,
)
from schemas.model.part import (
    Assignment,
    ClaimRef,
    Condition,
    DestroyRequest,
    Evict,
    GrantedHost,
    LabelSelector,
    Metadata,
    MoveRequest,
    NameRef,
    OwnerReference,
    Rejection,
    Requirement,
    Taint,
    TemplateMetadata,
    Toleration,
)
from schemas.model.resource import Resource
from schemas.model.storage import (
    DataSource,
    Encryption,
    OSImage,
    Volume,
    VolumeAccess,
    VolumeClass,
    VolumePool,
    VolumePoolSpec,
    VolumePoolStatus,
    VolumeResources,
    VolumeSnapshot,
    VolumeSnapshotSpec,
    VolumeSnapshotStatus,
    VolumeSpec,
    VolumeStatus,
    VolumeTemplate,
)
