"""Which existing provider the host imitates. Each deviation of a provider from the runtime protocol is a flag here.

The provider `gitvirt` has no flag set: it keeps every promise of iri.runtime. The others are IronCore's providers as
their code behaves today; docs/iri.md lists what that means for a caller. A flag never changes how a host works inside,
only what a caller can see of it, so that a caller can be tested against each deviation alone.

A deviation is one `if` where the promise is kept otherwise. Must never happen: a flag makes the host break a promise to itself, such as
a record that a restart would read differently.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace


class ProviderQuirks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One flag per deviation; all False is a runtime that keeps the protocol. Field names are public: profiles use them."""

    duplicates: bool = False  # a create with a uid label that exists creates another object
    attaches_twice: bool = False  # an attachment name that exists is attached once more
    ignores_power: bool = False  # a machine boots whatever its power says, and is never switched off
    restarts_guests: bool = False  # a guest that switches itself off is booted again
    has_no_generations: bool = False  # generation and observed generation stay 0
    answers_internal_for_unknown_ids: bool = False
    answers_internal_for_unknown_classes: bool = False
    drops_effective_size: bool = False  # effective_storage_bytes of a connection does not come back
    ignores_volume_updates: bool = False
    rounds_to_gib: bool = False  # volumes of a GiB and more come in whole ones
    has_no_console: bool = False
    # A console that was left is free again only when Ctrl-] was typed there; the runtime has the name `libvirt-provider`.
    keeps_consoles: bool = False
    has_no_host_service: bool = False
    # A missing network or image is an internal error whose cause is only in the message.
    gives_no_reasons: bool = False


# What IronCore's providers have in common.
STOCK = ProviderQuirks(
    duplicates=True, has_no_generations=True, has_no_host_service=True, gives_no_reasons=True
)
PROVIDERS: Mapping[str, ProviderQuirks] = {
    "gitvirt": ProviderQuirks(),
    "stock-libvirt": replace(
        STOCK,
        attaches_twice=True,
        ignores_power=True,
        restarts_guests=True,
        keeps_consoles=True,
        answers_internal_for_unknown_classes=True,
    ),
    "stock-ceph": replace(
        STOCK,
        answers_internal_for_unknown_ids=True,
        answers_internal_for_unknown_classes=True,
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


def build_quirks(name: str, changes: Mapping[str, bool]) -> ProviderQuirks:
    """The quirks of a provider with single flags changed. A ValueError lists the known names."""
    if name not in PROVIDERS:
        raise ValueError(f"unknown behavior {name!r}; there are {', '.join(PROVIDERS)}")
    known = ProviderQuirks.__struct_fields__
    unknown = changes.keys() - set(known)
    if unknown:
        raise ValueError(f"unknown behavior flag {min(unknown)!r}; there are {', '.join(known)}")
    return replace(PROVIDERS[name], **changes)
