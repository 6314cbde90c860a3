"""Volumes in a real Ceph keep the promises about volumes."""

from __future__ import annotations

from tests.iri.contract.volumes import VolumePromises


class TestCephVolumes(VolumePromises):
    pass
