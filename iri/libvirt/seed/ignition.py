"""Ignition data as guests read it: JSON. Pure; who reads YAML is handed in, for this package knows none."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from iri.errors import InvalidArgument

# The one value of a text in YAML, or None when it is no such text.
Reader = Callable[[bytes], object]


def no_yaml(data: bytes) -> None:
    """The reader of who has none."""
    del data


def ignition(data: bytes, read: Reader) -> bytes:
    """A configuration in YAML becomes JSON. All else stays as it is: the guest knows best what is wrong with it."""
    if data.lstrip()[:1] == b"{":
        return data
    value = read(data)
    if not isinstance(value, dict):
        return data
    if "variant" in value and "ignition" not in value:
        raise InvalidArgument(
            "the ignition data is written for Butane: translate it with `butane --strict` first"
        )
    return msgspec.json.encode(value) if isinstance(value.get("ignition"), dict) else data
