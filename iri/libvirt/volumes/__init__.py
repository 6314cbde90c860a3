"""Volumes and snapshots in libvirt storage pools, and the disks that machines attach. What a volume is lies beside its data."""
