"""Whose keys can open Secrets, and which host serves a pool, by gitvirt.yaml alone.

A host's keys are those of `poollets.NAME.age`, else the ssh-ed25519 keys that sign its reports: such a key is an age recipient itself.
An admin can read every Secret. What a key is for decides its place in gitvirt.yaml; a key that is not there is *stale*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from schemas.encryption.recipients import SSH_TYPE, parse_recipient
from schemas.settings.fleet import FleetSettings, PoolletEntry, prefixes

Field = Literal["pools", "volume_pools"]


@dataclass(frozen=True)
class PoolOwners:
    """The poollet of each pool, as `FleetSettings.owns` says among the poollets that gitvirt.yaml names, at the cost of the name's length."""

    exact: Mapping[str, str]
    starts: Mapping[str, str]
    named: frozenset[str]

    def owner(self, pool: str) -> str:
        """Empty where gitvirt.yaml names none."""
        if pool in self.exact:
            return self.exact[pool]
        lengths = range(len(pool), -1, -1)
        listed = next((self.starts[pool[:end]] for end in lengths if pool[:end] in self.starts), None)
        if listed is not None:
            return listed
        return max((name for name in prefixes(pool) if name in self.named), key=len, default="")


@dataclass(frozen=True)
class SecretKeys:
    """Recipients in their one spelling: of the admins, and of each poollet; those without a key are in `hosts` too."""

    admins: frozenset[str]
    hosts: Mapping[str, frozenset[str]]
    pools: PoolOwners
    volume_pools: PoolOwners
    lists_volume_pools: frozenset[str] = field(default=frozenset())  # poollets that name volume pools

    @cached_property
    def holders(self) -> Mapping[str, str]:
        """Who has a key: the name of a host, or empty for an admin."""
        found = {key: name for name, keys in self.hosts.items() for key in keys}
        return found | dict.fromkeys(self.admins, "")


def read_secret_keys(settings: FleetSettings) -> SecretKeys:
    """Of settings that were checked."""
    entries = {name: entry or PoolletEntry() for name, entry in settings.poollets.items()}
    return SecretKeys(
        admins=_recipients(settings.secrets.admins),
        hosts={name: host_recipients(entry) for name, entry in entries.items()},
        pools=_owners(entries, "pools"),
        volume_pools=_owners(entries, "volume_pools"),
        lists_volume_pools=frozenset(name for name, entry in entries.items() if entry.volume_pools),
    )


def host_recipients(entry: PoolletEntry) -> frozenset[str]:
    """A signer may be a line of an allowed_signers file, whose options and names come before the key; a certificate authority signs for
    others, and opens nothing."""
    if entry.age:
        return _recipients(entry.age)
    lines = [line for line in entry.signers if SSH_TYPE in line and "cert-authority" not in line]
    return _recipients(tuple(line[line.index(f"{SSH_TYPE} ") :] for line in lines if f"{SSH_TYPE} " in line))


def _recipients(texts: tuple[str, ...]) -> frozenset[str]:
    found = (parse_recipient(text) for text in texts)
    return frozenset(one for one in found if one is not None)


def _owners(entries: Mapping[str, PoolletEntry], name: Field) -> PoolOwners:
    """Of two equal patterns the first name counts, as in `FleetSettings.owns`."""
    exact: dict[str, str] = {}
    starts: dict[str, str] = {}
    named = set()
    for poollet in sorted(entries):
        patterns: tuple[str, ...] | None = getattr(entries[poollet], name)
        if patterns is None:
            named.add(poollet)
        for pattern in patterns or ():
            place = starts if pattern.endswith("*") else exact
            place.setdefault(pattern.removesuffix("*"), poollet)
    return PoolOwners(exact, starts, frozenset(named))
