"""Defaults of manifests. The JSON Schemas document the same values for users; the code uses these.

A test compares both. A default must never change the meaning of an existing manifest, because objects get it at each read:
a new default would change every running machine whose manifest does not set the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from string import ascii_lowercase
from typing import Final

from schemas.kinds import DEFAULT_NAMESPACE

NAMESPACE = DEFAULT_NAMESPACE
POWER: Final = "On"
IGNITION_KEY = "ignition.yaml"
ENCRYPTION_KEY = "encryptionKey"
TOLERATION_OPERATOR: Final = "Equal"
RESIZE_POLICY: Final = "Static"
ON_POOL_LOST: Final = "Keep"
OVERCOMMIT = Fraction(1)
MAX_SKEW = 1
WHEN_UNSATISFIABLE: Final = "DoNotSchedule"

# A local disk without a size is created and charged with this one, because capacity cannot count an unknown size.
LOCAL_DISK_BYTES = 10 * 2**30

DEVICE_PREFIX = "od"


def device_names() -> Iterator[str]:
    """oda ... odz, odaa ... odzz."""
    for letter in ascii_lowercase:
        yield DEVICE_PREFIX + letter
    for first, second in product(ascii_lowercase, repeat=2):
        yield DEVICE_PREFIX + first + second


def devices(written: Iterable[str]) -> tuple[str, ...]:
    """The device of every disk: a written one stays, an empty one gets the first unused name, in order."""
    desired = tuple(written)
    used = set(desired)
    free = (name for name in device_names() if name not in used)
    return tuple(device or next(free) for device in desired)
