"""The typed model: one frozen type for each kind, made of the parts that the JSON Schemas describe.

`decode` turns a valid document into its object, with `defaults` filled in. `quantity` is their amounts;
`capacity` and `charge` compute what objects need and what pools have.

The schema is what users see of a field, the type is what the code sees, and a test compares the two. A field that gitvirt
ignores is in the schema alone; the document keeps it.

Limits: the model decides nothing and checks nothing, and knows neither files nor text. It has no clock, so an object says
the same at any time. Objects of the runtime and of reports have types of their own (`iri`, `schemas.report`).
"""

from schemas.model.compute import (
    EphemeralNetworkInterface,
    GuestConfig,
    GuestUser,
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
    PoolAddress,
)
from schemas.model.core import (
    ResourceQuota,
    ResourceQuotaStatus,
    ScopeRequirement,
    Secret,
)
from schemas.model.decode import TYPES, Object, decode
from schemas.model.networking import (
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
    Metadata,
    MoveRequest,
    NameRef,
    OwnerReference,
    PreviousAssignment,
    Rejection,
    Taint,
    Toleration,
    Undo,
)
from schemas.model.storage import (
    Volume,
    VolumeAccess,
    VolumeClass,
    VolumePool,
    VolumePoolStatus,
    VolumeSnapshot,
    VolumeSnapshotStatus,
    VolumeSpec,
    VolumeStatus,
    VolumeTemplate,
)
