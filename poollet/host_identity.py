"""Which host this is: from the machine-id, and from the hardware where a runtime can read its id.

Theory of operation. A disk that is copied to another machine has the same machine-id there. So the hardware id (of the DMI tables, which
only the runtime may read) tells the two apart. It is remembered beside the hostID, in the report and in a file beside the mirror, and
compared at each start:

    remembered of this machine-id        hardware now          hostID
    `hostID` is in poollet.yaml          (not asked)           that one
    a hostID, with the same hardware id  the same              the remembered one
    a hostID, without a hardware id      any                   the remembered one, so that a host of an earlier version stays itself
    a hostID, with a hardware id         unknown               the remembered one
    a hostID, with another hardware id   known                 one of machine-id and hardware: this disk is a copy
    nothing                              known                 one of machine-id and hardware
    nothing                              unknown               one of the machine-id alone

The report comes before the file. What belongs to another machine-id does not count.

Must never happen: a host becomes another one because it was upgraded, or because its runtime does not answer.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from iri.errors import IRIError
from iri.runtime import Runtime
from schemas.report import PoolletReport

log = logging.getLogger(__name__)

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
HARDWARE_SECONDS, PAUSE_SECONDS = (
    30.0,
    0.5,
)  # for a runtime to answer, where its hardware id has to be compared
HOST_NAMESPACE = uuid.UUID("b1c7a2f4-5d0e-5f7a-9c39-1a2f3b4c5d6e")


class HostIdentity(msgspec.Struct, frozen=True, rename="camel"):
    """`hardware_id` is empty where it is not known."""

    host_id: str
    hardware_id: str = ""


def derive_host_id(machine_id: str, hardware_id: str = "") -> str:
    """Does not reveal the machine-id. Without a hardware id it is the one of earlier versions."""
    return str(uuid.uuid5(HOST_NAMESPACE, f"{machine_id} {hardware_id}" if hardware_id else machine_id))


def is_of_machine(found: HostIdentity, machine_id: str) -> bool:
    """Whether it was derived from this machine-id."""
    derived = {derive_host_id(machine_id), derive_host_id(machine_id, found.hardware_id)}
    return found.host_id in derived


def resolve_identity(
    machine_id: str, hardware_id: str, remembered: Iterable[HostIdentity | None]
) -> HostIdentity:
    """By the table above. `remembered`: from the report, then from the file."""
    for one in remembered:
        if one is None or not is_of_machine(one, machine_id):
            continue
        if not hardware_id or one.hardware_id in ("", hardware_id):
            return HostIdentity(one.host_id, hardware_id or one.hardware_id)
        break
    return HostIdentity(derive_host_id(machine_id, hardware_id), hardware_id)


def identify(
    machine_id: str, file: Path, reported: PoolletReport | None, runtimes: Sequence[Runtime]
) -> HostIdentity:
    """Which host this is, and its hardware. Remembered for the next start."""
    report = HostIdentity(reported.host_id, reported.hardware_id) if reported is not None else None
    remembered = (report, read_identity(file))
    is_compared = any(one is not None and one.hardware_id for one in remembered)
    hardware_id = read_hardware_id(runtimes, HARDWARE_SECONDS if is_compared else 0.0)
    found = resolve_identity(machine_id, hardware_id, remembered)
    if found.hardware_id and found != remembered[1]:
        write_identity(file, found)
    return found


def read_hardware_id(runtimes: Sequence[Runtime], seconds: float) -> str:
    """As the first runtime that knows it says; empty where none does, or none answers in time."""
    deadline = time.monotonic() + seconds
    while True:
        is_silent = False
        for runtime in runtimes:
            try:
                if found := runtime.about().host.hardware_id:
                    return found
            except IRIError:
                is_silent = True
        if not is_silent or time.monotonic() >= deadline:
            return ""
        time.sleep(PAUSE_SECONDS)


def read_boot_id(path: Path = BOOT_ID) -> str:
    """Of the running kernel: two machines never have the same one. Empty where there is none."""
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def read_identity(path: Path) -> HostIdentity | None:
    """None where there is no file, or one that cannot be read: the report has the same."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=HostIdentity)
    except (OSError, msgspec.MsgspecError):
        return None


def write_identity(path: Path, identity: HostIdentity) -> None:
    """Complete or absent. A folder that cannot be written must not keep the host from reporting."""
    try:
        partial = path.with_suffix(".partial")
        partial.write_bytes(msgspec.json.encode(identity))
        partial.replace(path)
    except OSError as error:
        log.warning("cannot remember the hardware id path=%s error=%s", path, error)
