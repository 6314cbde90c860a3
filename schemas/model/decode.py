"""From a document's plain values to its frozen object. The document has passed its schema; nothing is checked here.

Conversion cannot fail for a document that its schema accepts, and a test holds that for every kind. So there is no error
to handle after validation: a ValidationError from here is a defect, and must not be caught as if a user had caused it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, get_args

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

TYPES: dict[Kind, type[Object]] = {form.KIND: form for form in get_args(Object)}

for _type in TYPES.values():
    # msgspec examines a type at its first use, and two threads that do so at once crash the process. So it happens here.
    msgspec.json.Decoder(_type)


def decode(kind: Kind, body: Mapping[str, object]) -> Object:
    """The object of a valid document, with defaults. Fields that the model does not use are left out."""
    form = TYPES[kind]
    try:
        return _convert(body, form)
    except msgspec.ValidationError:
        # JSON Schema allows null for a missing field, and counts 1e300 as an integer. Few documents contain either.
        return _convert(_simplify(body), form)


def _convert(body: object, form: type[Object]) -> Object:
    # Not strict, because JSON Schema counts 1.0 as an integer.
    return msgspec.convert(body, form, strict=False, dec_hook=_convert_value)


def _convert_value(form: type, value: object) -> Any:
    """Values that msgspec does not know: quantities and exact factors.

    A factor goes through its text, because a Fraction of the float 1.1 is not 11/10.
    """
    if form is Quantity:
        return parse(value)
    if form is Fraction:
        return Fraction(str(value))
    raise TypeError(f"the model cannot read a {form.__name__}")


def _simplify(value: object) -> object:
    """A document's values as the model wants them: a null means that the field was left out, and 2.0 is the integer 2. Only the
    object is made of this; the file keeps what people wrote."""
    if isinstance(value, Mapping):
        return {
            key: _simplify(inner)
            for key, inner in value.items()
            if inner is not None and isinstance(key, str)
        }
    if isinstance(value, list | tuple):
        return [_simplify(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
