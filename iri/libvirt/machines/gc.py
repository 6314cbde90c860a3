"""Garbage collection: repeats work that failed or was missed, on a timer.

Theory of operation. Every removal is tried once at its time. What failed then, or was never reported by libvirt, is found again
here every 15 seconds, by comparing what libvirt has with what machines need:

    kind                              removed when
    networks made on demand           no machine's spec needs the network and no running guest uses it
    DHCP reservations                 no machine's interface has that address
    secrets of a machine, and its     the machine is neither known here nor defined in libvirt
      boot data made of them
    domains with our metadata         never; an unknown one is added to the machines and reconciled

Must never happen: something of a machine is removed because its metadata cannot be read, or because libvirt did not answer; a
volume or a local disk is deleted here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from iri.errors import IRIError, NotFound
from iri.libvirt.machines.deps import MachineDeps

log = logging.getLogger(__name__)
PERIOD_SECONDS = 15.0


def collect_garbage(deps: MachineDeps, wake: Callable[[str], None]) -> float:
    """Returns the seconds until the next collection. One that fails is repeated then; nothing depends on a single one.

    `wake(id)` has a machine reconciled."""
    try:
        deps.interfaces.prune(deps.desired_interfaces)
        deps.disks.wake_waiting()
        for id in deps.store.recover():
            wake(id)
        drop_orphaned_secrets(deps)
    except IRIError as error:
        log.info("garbage collection failed, next one in %.0fs error=%s", PERIOD_SECONDS, error)
    return PERIOD_SECONDS


def drop_orphaned_secrets(deps: MachineDeps) -> None:
    """Drops the secrets of machines that are gone, and what was made of them for a guest to read. A machine with unreadable metadata is not gone, and neither is one that libvirt
    defined without reporting it: both are looked up before anything is dropped."""
    for owner in deps.machine_secrets.owners() - deps.store.ids():
        with deps.store.lock(owner):
            if deps.store.find(owner) is None and not is_defined(deps, owner):
                deps.seeds.forget(owner)
                deps.machine_secrets.put(owner, b"")


def is_defined(deps: MachineDeps, id: str) -> bool:
    """Asks libvirt. Any other error than NotFound is raised: it proves nothing."""
    try:
        deps.domains.observe(id)
    except NotFound:
        return False
    return True
