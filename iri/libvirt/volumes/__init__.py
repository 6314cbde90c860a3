"""Volumes and snapshots in libvirt storage pools, and the disks that machines attach. Data passes through in this order:

    volumes            calls come in; `validate_request` turns each into a record, or refuses it
    backends, backend  the storage pool of the volume's class: `file_backend` (dir, netfs) or `ceph_backend`; `pool_marker` proves
                       that the pool's disk is mounted
    record             what a volume is, stored beside its data: `record_files`, or image metadata in Ceph
    record_writer      writes a changed record, then the catalog, then notifies watchers
    volume_reconciler  one step of one object towards its record: create, grow, copy, delete
    catalog            all objects as the runtime lists them
    disks              volumes and local disks as machines attach them; `volume_access` parses what a spec says

Helpers: `storage_xml`, `disk_files`, `rbd`, `secrets`, `names`, `settings`; `bootstrap` builds the package from the settings.
"""
