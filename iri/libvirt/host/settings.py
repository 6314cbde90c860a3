"""What the operator says of the host itself. Frozen; sizes are bytes, cpu is whole cores.

Every field has a default that suits a host with nothing else on it: one GiB is kept for the host, nothing is promised twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from iri.host import HostAddress, RuntimeMachineClass, RuntimeVolumeClass
from iri.libvirt.domain.traits import ClassTraits

GIB = 1 << 30
Accelerator = Literal["auto", "kvm", "tcg"]


class OfferedClasses(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`policy` fixed: these classes and no others, whatever a poollet sets."""

    policy: Literal["any", "fixed"] = "any"
    machines: tuple[RuntimeMachineClass, ...] = ()
    volumes: tuple[RuntimeVolumeClass, ...] = ()


class HostSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`reserved`: kept for the host. `overcommit`: how many times the rest may be promised to guests.

    `traits`: how machines of a class are built. `accelerator` auto: kvm where a probe guest boots with it.
    """

    id: str = ""  # empty: derived from the machine and its libvirtd
    accelerator: Accelerator = "auto"
    reserved: Mapping[str, int] = msgspec.field(default_factory=lambda: {"memory": GIB})
    overcommit: Mapping[str, float] = {}
    classes: OfferedClasses = OfferedClasses()
    traits: Mapping[str, ClassTraits] = {}
    labels: Mapping[str, str] = {}
    addresses: tuple[HostAddress, ...] = ()  # empty: the host's name and its address on the default route

    def __post_init__(self) -> None:
        for resource, count in self.reserved.items():
            if count < 0:
                raise ValueError(f"reserved.{resource} must not be negative")
        for resource, factor in self.overcommit.items():
            if factor < 1:
                raise ValueError(f"overcommit.{resource} must be 1 or more")
