"""From a document's plain values to its frozen object. The document fits its schema already; this does not check it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec

from schemas.kinds import Kind
from schemas.model.compute import Machine, MachineClass, MachinePool
from schemas.model.core import ResourceQuota, Secret
from schemas.model.networking import Network, NetworkInterface
from schemas.model.quantity import Quantity, parse
from schemas.model.storage import Volume, VolumeClass, VolumePool, VolumeSnapshot

Object = (
    MachineClass
    | MachinePool
    | Machine
    | VolumeClass
    | VolumePool
    | Volume
    | VolumeSnapshot
    | Network
    | NetworkInterface
    | Secret
    | ResourceQuota
)

TYPES: dict[Kind, type[Object]] = {
    Kind.MACHINE_CLASS: MachineClass,
    Kind.MACHINE_POOL: MachinePool,
    Kind.MACHINE: Machine,
    Kind.VOLUME_CLASS: VolumeClass,
    Kind.VOLUME_POOL: VolumePool,
    Kind.VOLUME: Volume,
    Kind.VOLUME_SNAPSHOT: VolumeSnapshot,
    Kind.NETWORK: Network,
    Kind.NETWORK_INTERFACE: NetworkInterface,
    Kind.SECRET: Secret,
    Kind.RESOURCE_QUOTA: ResourceQuota,
}

for _type in TYPES.values():
    # What msgspec knows of a type it makes at the first use, and two threads that do so at once crash the process.
    msgspec.json.Decoder(_type)


def decode(kind: Kind, body: Mapping[str, object]) -> Object:
    """The object that a schema-valid document declares, defaults applied. What the model does not act on is left out."""
    wanted = TYPES[kind]
    try:
        return _converted(body, wanted)
    except msgspec.ValidationError:
        # A field that is there and empty means as much as one that is not there, and 1e300 is a whole number to JSON
        # Schema; only few documents have either.
        return _converted(_plainer(body), wanted)


def _converted(body: object, wanted: type[Object]) -> Object:
    # Not strict, since JSON Schema counts 1.0 among the integers.
    return msgspec.convert(body, wanted, strict=False, dec_hook=_of_text)


def _of_text(wanted: type, value: object) -> Any:
    if wanted is Quantity:
        return parse(value)
    if wanted is Fraction:
        return Fraction(str(value))
    raise TypeError(f"the model has no way to read a {wanted.__name__}")


def _plainer(value: object) -> object:
    if isinstance(value, Mapping):
        return {
            key: _plainer(inner) for key, inner in value.items() if inner is not None and isinstance(key, str)
        }
    if isinstance(value, list | tuple):
        return [_plainer(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
