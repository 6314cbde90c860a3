"""When two values are the same value: unlike `==`, 1 is neither true nor 1.0, and not-a-number equals itself."""

from __future__ import annotations

import msgspec

_canonical = msgspec.msgpack.Encoder(order="deterministic").encode


def is_alike(one: object, other: object) -> bool:
    try:
        if _canonical(one) == _canonical(other):
            return True
    except (OverflowError, TypeError, UnicodeEncodeError, RecursionError):
        pass  # integers beyond 64 bits, maps as keys, half of a surrogate pair, depth
    return _is_alike(one, other)


def _is_alike(one: object, other: object) -> bool:
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, dict) and isinstance(right, dict):
            typed = {(type(key), key): value for key, value in right.items()}
            if len(left) != len(right) or any((type(key), key) not in typed for key in left):
                return False
            pairs.extend((value, typed[type(key), key]) for key, value in left.items())
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif left != right and not (left != left and right != right):
            return False
    return True
