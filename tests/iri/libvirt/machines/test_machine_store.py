"""Machines without their libvirt secrets: unreadable, unless their deletion was cut off after it had deleted the secrets."""

from __future__ import annotations

import time
from typing import cast

import pytest

from iri.journal import Journal
from iri.libvirt.connect.domains import LibvirtDomains
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.connect.machine_secrets import MachineSecrets
from iri.libvirt.domain.record import MachineRecord
from iri.libvirt.machines.machine_store import MachineStore


class EmptySecrets:
    """libvirt has none of the machine's secrets."""

    def get(self, id: str) -> bytes:
        return b""


@pytest.fixture
def store() -> MachineStore:
    domains = LibvirtDomains(LibvirtLink("test:///default"))
    return MachineStore(domains, cast(MachineSecrets, EmptySecrets()), Journal(time.time_ns))


def test_machine_without_its_secrets_is_unreadable(store: MachineStore) -> None:
    with pytest.raises(ValueError, match="its libvirt secrets are missing"):
        store.load_secrets("1", MachineRecord(has_secrets=True))


def test_machine_under_deletion_needs_no_secrets(store: MachineStore) -> None:
    record = MachineRecord(has_secrets=True, deleted_at=1)
    assert store.load_secrets("1", record) is record
