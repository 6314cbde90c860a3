"""A profile says what kind of host is simulated: its capacity, its classes, how long each step takes.

A JSON document whose keys are public. It is decoded strictly: an unknown key is an error that names it. A profile may be
changed while the host runs; existing objects keep what they have.

Limits: a profile decides only what begins from now on. Sizes, classes and due times of what exists are in the records, and a
capacity that is lowered below what is promised takes nothing away: it only refuses more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from iri.errors import InvalidArgument
from iri.host import HostAddress, RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.simulated.provider_quirks import build_quirks
from iri.simulated.seeded_random import DurationRange

GIB = 1 << 30


class Times(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long each step takes, in seconds of the host's clock. Names are public: profiles use them."""

    boot: DurationRange = DurationRange(0.5, 1.0, 3.0)
    stop: DurationRange = DurationRange(0.5, 1.0, 3.0)  # of a guest that answers the power button
    forced_stop: DurationRange = DurationRange(10.0, 10.0, 10.0)  # of a guest that does not answer
    attach: DurationRange = DurationRange(0.1, 0.2, 0.5)
    detach: DurationRange = DurationRange(0.1, 0.2, 0.5)
    pull: DurationRange = DurationRange(0.5, 1.0, 3.0)  # of an image, once a host
    clone: DurationRange = DurationRange(0.2, 0.5, 1.0)  # of an image or a snapshot into a volume
    prepare: DurationRange = DurationRange(0.1, 0.2, 0.5)  # of an empty volume
    expand: DurationRange = DurationRange(0.1, 0.2, 0.5)
    snapshot: DurationRange = DurationRange(0.2, 0.5, 1.0)
    remove: DurationRange = DurationRange(0.1, 0.2, 0.5)  # of anything that is at rest


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The default profile is a host that is large enough for a demo."""

    host: str = "simulated"
    architecture: str = "x86_64"
    labels: Mapping[str, str] = {}
    hardware_id: str = ""  # another one where the host's disk was copied to another machine
    addresses: tuple[HostAddress, ...] = (HostAddress(type="InternalIP", address="127.0.0.1"),)
    capacity: Mapping[str, int] = msgspec.field(
        default_factory=lambda: {"cpu": 64, "memory": 256 * GIB, "storage": 4096 * GIB}
    )
    overcommit: Mapping[str, float] = {}
    classes: RuntimeClasses = RuntimeClasses(
        machines=(
            RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": 1 * GIB}),
            RuntimeMachineClass(name="medium", resources={"cpu": 2, "memory": 4 * GIB}),
            RuntimeMachineClass(name="large", resources={"cpu": 8, "memory": 32 * GIB}),
        ),
        volumes=(RuntimeVolumeClass(name="standard", tps=100 << 20, iops=1000),),
    )
    class_policy: Literal["any", "fixed"] = "any"  # fixed: these classes, and no others can be set
    times: Times = Times()
    local_disk_bytes: int = 10 * GIB  # of a local disk that names no size
    unavailable_images: tuple[str, ...] = ()  # that cannot be pulled; one that is a path is refused at once
    unavailable_networks: tuple[str, ...] = ()  # that the host should have and does not have at present
    behavior: str = "gitvirt"
    behavior_flags: Mapping[str, bool] = {}

    def __post_init__(self) -> None:
        """Refused here, not in the middle of a later call. Decoding turns the ValueError into InvalidArgument."""
        if any(total < 0 for total in self.capacity.values()):
            raise ValueError("capacity is not negative")
        if any(factor < 1 for factor in self.overcommit.values()):
            raise ValueError("an overcommit factor is 1 or more")
        build_quirks(self.behavior, self.behavior_flags)

    def limit(self, resource: str) -> int:
        """How much of the resource may be promised: capacity times overcommit."""
        return int(self.capacity.get(resource, 0) * self.overcommit.get(resource, 1))


def parse_profile(document: bytes, onto: Profile | None = None) -> Profile:
    """`onto` with the fields that the document names changed. InvalidArgument names a wrong field."""
    try:
        changes = msgspec.json.decode(document)
        if not isinstance(changes, dict):
            raise InvalidArgument("a profile is a JSON object")
        whole = merge_settings(msgspec.to_builtins(onto or Profile()), changes)
        return msgspec.convert(whole, Profile)
    except msgspec.MsgspecError as error:
        raise InvalidArgument(f"invalid profile: {error}") from None


def format_profile(profile: Profile) -> bytes:
    """Every key with its present value, so that the document can be edited and given back."""
    return msgspec.json.format(msgspec.json.encode(profile), indent=2)


def merge_settings(whole: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merges mappings of settings; a mapping whose keys are names, such as capacity, is replaced whole."""
    result = dict(whole)
    for key, change in changes.items():
        old = result.get(key)
        is_nested = isinstance(old, dict) and isinstance(change, dict) and key in ("times", "classes")
        result[key] = merge_settings(old, change) if is_nested and isinstance(old, dict) else change
    return result
