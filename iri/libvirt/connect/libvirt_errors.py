"""Translates libvirt's errors into those of the runtime interface: what a caller does next decides the class.

Only `link` translates, once for each call. So no other package sees an exception of the library, and each message begins with what
the runtime was doing. A broken connection is Unavailable whatever its code says: `link` checks that first.

The message keeps libvirt's own words: they name the file, the device or the permission, which no class can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import libvirt

from iri.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    IRIError,
    NotFound,
    ResourceExhausted,
    TimedOut,
    Unavailable,
    Unimplemented,
)

T = TypeVar("T")
D = TypeVar("D")
# By what a caller does next: gone, wrong for ever, not on this host, maybe later, or after something has been freed.
MEANINGS: dict[int, type[IRIError]] = {
    libvirt.VIR_ERR_NO_DOMAIN: NotFound,
    libvirt.VIR_ERR_NO_DOMAIN_METADATA: NotFound,
    libvirt.VIR_ERR_NO_NETWORK: NotFound,
    libvirt.VIR_ERR_NO_SECRET: NotFound,
    libvirt.VIR_ERR_NO_STORAGE_POOL: NotFound,
    libvirt.VIR_ERR_NO_STORAGE_VOL: NotFound,
    libvirt.VIR_ERR_DEVICE_MISSING: NotFound,
    libvirt.VIR_ERR_DOM_EXIST: AlreadyExists,
    libvirt.VIR_ERR_NETWORK_EXIST: AlreadyExists,
    libvirt.VIR_ERR_STORAGE_VOL_EXIST: AlreadyExists,
    libvirt.VIR_ERR_INVALID_ARG: InvalidArgument,
    libvirt.VIR_ERR_XML_ERROR: InvalidArgument,
    libvirt.VIR_ERR_XML_DETAIL: InvalidArgument,
    libvirt.VIR_ERR_XML_INVALID_SCHEMA: InvalidArgument,
    libvirt.VIR_ERR_NO_SUPPORT: Unimplemented,
    libvirt.VIR_ERR_CONFIG_UNSUPPORTED: Unimplemented,
    libvirt.VIR_ERR_ARGUMENT_UNSUPPORTED: Unimplemented,
    libvirt.VIR_ERR_OPERATION_UNSUPPORTED: Unimplemented,
    libvirt.VIR_ERR_OPERATION_TIMEOUT: TimedOut,
    libvirt.VIR_ERR_AGENT_UNRESPONSIVE: TimedOut,
    libvirt.VIR_ERR_AGENT_UNSYNCED: TimedOut,
    libvirt.VIR_ERR_NO_CONNECT: Unavailable,
    libvirt.VIR_ERR_INVALID_CONN: Unavailable,
    libvirt.VIR_ERR_RPC: Unavailable,
    libvirt.VIR_ERR_NO_MEMORY: ResourceExhausted,
}
# libvirt has no code for these.
EXHAUSTED = ("No space left", "Cannot allocate memory", "not enough space", "cannot set up guest memory")


def default_if_missing(code: int, default: D, call: Callable[..., T], *arguments: object) -> T | D:
    """What the call returns, or `default` when libvirt answers with that error: the object may be gone since it was listed."""
    try:
        return call(*arguments)
    except libvirt.libvirtError as error:
        if error.get_error_code() != code:
            raise
        return default


def translate_error(error: libvirt.libvirtError, doing: str) -> IRIError:
    """Errors without an entry mean the object's present state: QEMU's own refusals have no code that says more."""
    text = error.get_error_message() or str(error)
    if any(sign in text for sign in EXHAUSTED):
        return ResourceExhausted(f"{doing}: {text}")
    return MEANINGS.get(error.get_error_code(), FailedPrecondition)(f"{doing}: {text}")
