"""The versions of the libvirt library and, where a libvirtd answers soon, of the daemon and its hypervisor.

For `gitvirt version`, which runs beside a runtime or without one: it opens a connection of its own, read-only, and needs no event
loop.
"""

from __future__ import annotations

import threading

import libvirt

from iri.libvirt.connect.event_callbacks import ignore_error

SECONDS = 3.0  # a running daemon answers in milliseconds


def library() -> str:
    """Of the library that this process has loaded, whatever daemon it speaks to."""
    return format_version(libvirt.getVersion())


def daemon(uri: str, seconds: float = SECONDS) -> tuple[str, str] | None:
    """The versions of libvirtd and of its hypervisor. A call into libvirt has no deadline, so a thread makes it and may be abandoned."""
    found: list[tuple[str, str]] = []
    asking = threading.Thread(target=_ask, args=(uri, found), name="libvirt-version", daemon=True)
    asking.start()
    asking.join(seconds)
    return found[0] if found else None


def _ask(uri: str, found: list[tuple[str, str]]) -> None:
    """Appends both versions to `found`, or nothing: a libvirtd that does not answer has no version to show."""
    libvirt.registerErrorHandler(ignore_error, None)  # it would print every error that is also raised
    try:
        raw = libvirt.openReadOnly(uri)
        try:
            found.append((format_version(raw.getLibVersion()), format_version(raw.getVersion())))
        finally:
            raw.close()
    except libvirt.libvirtError:
        return


def format_version(number: int) -> str:
    """libvirt counts 9.0.0 as 9000000, for itself and for QEMU."""
    return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"
