"""What a manifest means where it says nothing. The JSON Schemas tell people the same values; this is what the code uses."""

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

# A local disk that names no size is charged and made with this one: capacity cannot count what has no size.
LOCAL_DISK_BYTES = 10 * 2**30

DEVICE_PREFIX = "od"


def device_names() -> Iterator[str]:
    """oda ... odz, odaa ... odzz."""
    for letter in ascii_lowercase:
        yield DEVICE_PREFIX + letter
    for first, second in product(ascii_lowercase, repeat=2):
        yield DEVICE_PREFIX + first + second


def devices(written: Iterable[str]) -> tuple[str, ...]:
    """Every disk's device: what is written stays, an empty one gets the first name that nobody has, in order."""
    wanted = tuple(written)
    taken = set(wanted)
    free = (name for name in device_names() if name not in taken)
    return tuple(device or next(free) for device in wanted)
