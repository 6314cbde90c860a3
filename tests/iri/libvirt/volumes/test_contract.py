"""Volumes on real libvirt keep the promises about volumes."""

from __future__ import annotations

from tests.iri.contract.volumes import VolumePromises


class TestLibvirtVolumes(VolumePromises):
    pass
