"""Whom the host resembles. Existing providers have oddities that a caller must live with; each is a flag here.

`gitvirt` has none of them: it keeps every promise of the runtime protocol.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import fields, replace


class ProviderQuirks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    duplicates: bool = False  # a create with a uid label that exists makes another object
    attaches_twice: bool = False  # an attachment name that exists is attached once more
    ignores_power: bool = False  # a machine boots whatever its power says, and is never switched off
    restarts_guests: bool = False  # a guest that switches itself off is booted again
    counts_no_generations: bool = False  # generation and observed generation stay 0
    says_internal_for_unknown_ids: bool = False
    says_internal_for_unknown_classes: bool = False
    drops_effective_size: bool = False  # effective_storage_bytes of a connection does not come back
    ignores_volume_updates: bool = False
    rounds_to_gib: bool = False  # volumes of a GiB and more come in whole ones
    has_no_console: bool = False
    has_no_host_service: bool = False
    gives_no_reasons: bool = (
        False  # a network or an image that is not there is an internal error, in words alone
    )


STOCK = ProviderQuirks(
    duplicates=True, counts_no_generations=True, has_no_host_service=True, gives_no_reasons=True
)
PROVIDERS: Mapping[str, ProviderQuirks] = {
    "gitvirt": ProviderQuirks(),
    "stock-libvirt": replace(
        STOCK,
        attaches_twice=True,
        ignores_power=True,
        restarts_guests=True,
        says_internal_for_unknown_classes=True,
    ),
    "stock-ceph": replace(
        STOCK,
        says_internal_for_unknown_ids=True,
        says_internal_for_unknown_classes=True,
        rounds_to_gib=True,
        has_no_console=True,
    ),
    "stock-cloud-hypervisor": replace(
        STOCK,
        attaches_twice=True,
        drops_effective_size=True,
        ignores_volume_updates=True,
        has_no_console=True,
    ),
}


def list_flags(behaviour: ProviderQuirks) -> dict[str, bool]:
    return {field.name: getattr(behaviour, field.name) for field in fields(behaviour)}


def build_quirks(name: str, changes: Mapping[str, bool]) -> ProviderQuirks:
    """A named behaviour with single flags changed. A ValueError names what is not known."""
    if name not in PROVIDERS:
        raise ValueError(f"no behaviour is called {name!r}; there are {', '.join(PROVIDERS)}")
    unknown = changes.keys() - list_flags(PROVIDERS[name]).keys()
    if unknown:
        known = ", ".join(list_flags(PROVIDERS[name]))
        raise ValueError(f"no behaviour flag is called {min(unknown)!r}; there are {known}")
    return replace(PROVIDERS[name], **changes)
