"""What the operator says of the host itself. Frozen; sizes are bytes, cpu is whole cores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from iri.host import HostAddress, RuntimeMachineClass, RuntimeVolumeClass
from iri.libvirt.domain.traits import ClassTraits

GIB = 1 << 30
Accelerator = Literal["auto", "kvm", "tcg"]


class OfferedClasses(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`policy` fixed: these and no others, whatever a poollet says."""

    policy: Literal["any", "fixed"] = "any"
    machines: tuple[RuntimeMachineClass, ...] = ()
    volumes: tuple[RuntimeVolumeClass, ...] = ()


class HostSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`reserved` is kept back for the host. `overcommit` says how many times over guests may be promised the rest.

    `traits` says by class how its machines are built. `accelerator` auto is kvm where a guest has been seen to boot with it.
    """

    id: str = ""  # empty: of the machine and the libvirt on it
    accelerator: Accelerator = "auto"
    reserved: Mapping[str, int] = msgspec.field(default_factory=lambda: {"memory": GIB})
    overcommit: Mapping[str, float] = {}
    classes: OfferedClasses = OfferedClasses()
    traits: Mapping[str, ClassTraits] = {}
    labels: Mapping[str, str] = {}
    addresses: tuple[HostAddress, ...] = ()  # empty: the host's name and the address that it is reached by

    def __post_init__(self) -> None:
        for resource, count in self.reserved.items():
            if count < 0:
                raise ValueError(f"reserved.{resource} is not negative")
        for resource, factor in self.overcommit.items():
            if factor < 1:
                raise ValueError(f"overcommit.{resource} is 1 or more")
