"""Whose keys can open Secrets, and who owns a pool, by gitvirt.yaml alone."""

from __future__ import annotations

import random

import pytest

from schemas.settings.fleet import FleetIdentity, FleetSettings, PoolletEntry, SecretSettings
from schemas.settings.secret_keys import read_secret_keys
from tests.schemas.encryption.keys import ADMIN_PUBLIC, HOST_PUBLIC

RSA = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ== who"


def fleet(**poollets: PoolletEntry | None) -> FleetSettings:
    entries = {name.replace("_", "-"): entry for name, entry in poollets.items()}
    return FleetSettings(
        fleet=FleetIdentity("x"), poollets=entries, secrets=SecretSettings(admins=(ADMIN_PUBLIC,))
    )


@pytest.mark.parametrize(
    ("entry", "want"),
    [
        (PoolletEntry(age=(f"{HOST_PUBLIC} root@a",)), {HOST_PUBLIC}),
        (PoolletEntry(age=(ADMIN_PUBLIC,), signers=(HOST_PUBLIC,)), {ADMIN_PUBLIC}),
        (PoolletEntry(signers=(f"{HOST_PUBLIC} who", RSA, "A" * 40)), {HOST_PUBLIC}),
        (PoolletEntry(signers=(f'who valid-after="20260101" {HOST_PUBLIC}',)), {HOST_PUBLIC}),
        (PoolletEntry(signers=(f"who cert-authority {HOST_PUBLIC}",)), set()),
        (PoolletEntry(), set()),
        (None, set()),
    ],
)
def test_the_keys_of_a_host(entry: PoolletEntry | None, want: set[str]) -> None:
    keys = read_secret_keys(fleet(a=entry))
    assert keys.hosts == {"a": frozenset(want)}
    assert keys.admins == {ADMIN_PUBLIC}


def test_a_key_of_an_admin_is_an_admins_wherever_else_it_is() -> None:
    keys = read_secret_keys(fleet(a=PoolletEntry(age=(ADMIN_PUBLIC,)), b=PoolletEntry(age=(HOST_PUBLIC,))))
    assert keys.holders == {ADMIN_PUBLIC: "", HOST_PUBLIC: "b"}


def test_the_owner_of_a_pool_is_who_may_report_it() -> None:
    """As `FleetSettings.owns`, which asks one poollet at a time."""
    chance = random.Random(7)
    names = ["a", "a-b", "a-b-c", "b", "b-a", "c"]
    patterns = ["*", "a*", "a-*", "a-b", "a-b-*", "b", "b-a*", "c-1", "x"]
    pools = ["a", "a-b", "a-b-c", "a-b-c-1", "b", "b-a-1", "c-1", "c", "x", "y"]
    for _ in range(300):
        poollets: dict[str, PoolletEntry | None] = {}
        for name in chance.sample(names, chance.randint(1, len(names))):
            listed = tuple(chance.sample(patterns, chance.randint(0, 3))) if chance.random() < 0.6 else None
            poollets[name] = chance.choice(
                [PoolletEntry(pools=listed, volume_pools=listed), PoolletEntry(), None]
            )
        settings = fleet(**poollets)
        keys = read_secret_keys(settings)
        for pool in pools:
            owners = [name for name in poollets if settings.owns(name, pool)]
            assert [keys.pools.owner(pool)] == (owners or [""]), (poollets, pool)
            owners = [name for name in poollets if settings.owns_volumes(name, pool)]
            assert [keys.volume_pools.owner(pool)] == (owners or [""])
