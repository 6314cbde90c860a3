"""The typed model: one frozen type for each kind, made of the parts that the JSON Schemas describe.

`decode` turns a valid document into its object, with `defaults` filled in. `quantity` is their amounts;
`capacity` and `charge` compute what objects need and what pools have. The model decides nothing, and knows
neither files nor text.
"""

from schemas.model.compute import (
    EphemeralNetworkInterface,
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
    Rejection,
    Taint,
    Toleration,
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
