"""How every edit is verified: the new text is read back, and its value must be the desired one and nothing else.

Equality here is stricter than `==`: 1 is neither true nor 1.0, and not-a-number equals itself. Python takes `1 == True` for
the same, but a manifest in which `1` became `true` has another meaning. Two bodies are compared by their canonical
encoding, which is in C and nearly always decides; the slow comparison settles what MessagePack cannot encode.

Limits: knows no edit, no field and no position. What it compares with is computed in `steps`, from values alone.
"""

from __future__ import annotations

from typing import cast

import msgspec

from schemas.edit.fields import Body
from schemas.reader import Unreadable, read

_NEIGHBOR = "---\n"


def read_body(text: str, is_followed: bool = False) -> Body | Unreadable:
    """The value of one document's text, or why it is not one document with a mapping.

    If another document follows in the file, the text is read with one: how it ends can depend on that.
    """
    documents = read(text + _NEIGHBOR if is_followed else text)
    if isinstance(documents, Unreadable):
        return documents
    if len(documents) == 1 + is_followed and isinstance(documents[0], dict):
        return cast("Body", documents[0])
    return Unreadable("GV701", "the document is not a mapping of fields")


_canonical = msgspec.msgpack.Encoder(order="deterministic").encode


def is_same_value(one: object, other: object) -> bool:
    """Whether both values are written alike. A canonical encoding in C decides nearly always."""
    try:
        if _canonical(one) == _canonical(other):
            return True
    except (OverflowError, TypeError, UnicodeEncodeError, RecursionError):
        pass  # integers beyond 64 bits, maps as keys, half of a surrogate pair, depth
    return _is_alike(one, other)


def _is_alike(one: object, other: object) -> bool:
    """The same in Python, without recursion, for values that the encoding refuses."""
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
