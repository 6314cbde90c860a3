"""A guest's serial console through libvirt, as bytes. One at a time: libvirt hands it to nobody else meanwhile."""

from __future__ import annotations

import contextlib
import threading

import libvirt

from iri.errors import FailedPrecondition
from iri.libvirt.connect.link import Link

PIECE_BYTES = 65536
HELD_BYTES = 1 << 20  # unread output; more makes the guest's port wait
STOPS = libvirt.VIR_STREAM_EVENT_ERROR | libvirt.VIR_STREAM_EVENT_HANGUP


def open_console(link: Link, domain_id: str) -> GuestConsole:
    """FailedPrecondition when it is taken, or the guest is not running."""

    def opened(raw: libvirt.virConnect) -> libvirt.virStream:
        domain = raw.lookupByUUIDString(domain_id)
        stream = raw.newStream(libvirt.VIR_STREAM_NONBLOCK)
        domain.openConsole(None, stream, libvirt.VIR_DOMAIN_CONSOLE_SAFE)
        return stream

    try:
        return GuestConsole(link.call(opened, "opening the console"))
    except FailedPrecondition as error:
        if "Active console session" in str(error):
            raise FailedPrecondition(
                f"somebody else is at the console of machine {domain_id}: one at a time"
            ) from None
        raise


class GuestConsole:
    """Implements iri.runtime.Console. The event thread fills it, its user's threads read and write."""

    def __init__(self, stream: libvirt.virStream) -> None:
        self._stream = stream
        self._output = bytearray()
        self._changed = threading.Condition()
        self._has_ended = False
        self._can_write = False
        self._watch(is_writing=False, is_new=True)

    def read(self, size: int) -> bytes:
        with self._changed:
            self._changed.wait_for(lambda: self._output or self._has_ended)
            was_full = len(self._output) >= HELD_BYTES
            piece = bytes(self._output[:size])
            del self._output[:size]
            if was_full and not self._has_ended:
                self._watch(is_writing=False)
            return piece

    def write(self, data: bytes) -> None:
        rest = data
        while rest:
            with self._changed:
                if self._has_ended:
                    return
                try:
                    sent = self._stream.send(rest)
                except libvirt.libvirtError:
                    self._end()
                    return
                if sent == -2:  # libvirt's word for "not now"
                    self._can_write = False
                    self._watch(is_writing=True)
                    self._changed.wait_for(lambda: self._can_write or self._has_ended)
                    continue
            rest = rest[sent:]

    def resize(self, columns: int, rows: int) -> None:
        """A serial line has no size."""

    def close(self) -> None:
        with self._changed:
            self._end()

    def exit_status(self) -> int | None:
        return None

    def _watch(self, *, is_writing: bool, is_new: bool = False) -> None:
        events = libvirt.VIR_STREAM_EVENT_READABLE | STOPS
        if is_writing:
            events |= libvirt.VIR_STREAM_EVENT_WRITABLE
        with contextlib.suppress(libvirt.libvirtError):
            if is_new:
                self._stream.eventAddCallback(events, self._happened, None)
            else:
                self._stream.eventUpdateCallback(events)

    def _happened(self, stream: libvirt.virStream, events: int, opaque: object) -> None:
        del stream, opaque
        with self._changed:
            if self._has_ended:
                return
            if events & libvirt.VIR_STREAM_EVENT_WRITABLE:
                self._can_write = True
                self._watch(is_writing=False)
            if events & libvirt.VIR_STREAM_EVENT_READABLE:
                self._take()
            if events & STOPS:
                self._end()
            self._changed.notify_all()

    def _take(self) -> None:
        while len(self._output) < HELD_BYTES:
            try:
                piece = self._stream.recv(PIECE_BYTES)
            except libvirt.libvirtError:
                self._end()
                return
            if piece == -2:
                return
            if not piece:
                self._end()
                return
            self._output += piece
        with contextlib.suppress(libvirt.libvirtError):
            self._stream.eventUpdateCallback(STOPS)  # until somebody reads

    def _end(self) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        with contextlib.suppress(libvirt.libvirtError):
            self._stream.eventRemoveCallback()
        with contextlib.suppress(libvirt.libvirtError):
            self._stream.abort()
        self._changed.notify_all()
