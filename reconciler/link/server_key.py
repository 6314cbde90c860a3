"""The server's own key and certificate: two files, read at the start and again when they change.

    the files                              the server
    are as before                          goes on
    are another pair that fits             uses it for each connection from then on; open ones go on
    do not fit, cannot be read             goes on with the pair that it has, and says so once if that lasts

Two files cannot be replaced at one moment, so between the first and the second one a pair does not fit. That is no error yet.

Must never happen: the key in a log or an error; a server without a usable pair, because a new one was not good.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from schemas.settings.certificate import LINK_NAME, Certificate, RefusedCertificate, read_certificate

log = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=10)  # until a pair that does not fit is an error
FileState = tuple[int, int, int]


class LinkSetupError(Exception):
    """The link cannot be served here. `cure` says what to do."""

    def __init__(self, cause: str, cure: str) -> None:
        super().__init__(cause)
        self.cause, self.cure = cause, cure


@dataclass(frozen=True, repr=False)
class KeyPair:
    """The server's own. It prints as nothing, because of the key."""

    key: bytes
    pem: bytes
    certificate: Certificate


def read_key_pair(key: Path, certificate: Path) -> KeyPair:
    """Raises LinkSetupError; no text of a file is in it."""
    texts = []
    for path in (key, certificate):
        try:
            texts.append(path.read_bytes())
        except OSError as error:
            raise LinkSetupError(
                f"{path} cannot be read: {error.strerror}", "name a file that this account may read"
            ) from None
    if b"PRIVATE KEY-----" not in texts[0]:
        raise LinkSetupError(f"{key} has no private key in PEM", "docs/link.md shows how to make one")
    found = read_certificate(texts[1].decode("utf-8", "replace"))
    if isinstance(found, RefusedCertificate):
        raise LinkSetupError(f"{certificate}: {found.message}", found.hint)
    if LINK_NAME not in found.names:
        cause = f"{certificate}: the certificate is not for the name {LINK_NAME}, which hosts expect"
        raise LinkSetupError(cause, "docs/link.md shows how to make one")
    try:
        # Without a password: a key that has one would be asked for at a terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except ssl.SSLError:
        cause = f"{key} is not the private key of {certificate}, or needs a password"
        raise LinkSetupError(cause, "name the two files that `gitvirt link init` made together") from None
    return KeyPair(texts[0], texts[1], found)


class ServerKey:
    """Of one server. `look` is cheap while nothing changes, and is called by one thread."""

    def __init__(self, key: Path, certificate: Path, clock: Callable[[], datetime]) -> None:
        """Raises LinkSetupError where there is no pair to begin with."""
        self._files, self._clock = (key, certificate), clock
        self._seen = self._read_state()
        self.pair = read_key_pair(key, certificate)
        self._wrong_since: datetime | None = None
        self._is_reported = False

    def look(self) -> bool:
        """Whether there is another pair since the last look."""
        now = self._read_state()
        if now == self._seen and self._wrong_since is None:
            return False
        try:
            found = read_key_pair(*self._files)
        except LinkSetupError as error:
            self._note(error)
            self._seen = now
            return False
        self._seen, self._wrong_since, self._is_reported = now, None, False
        if (found.key, found.pem) == (self.pair.key, self.pair.pem):
            return False
        self.pair = found
        log.info("using another certificate of the link certificate=%s", found.certificate.identity)
        return True

    def _note(self, error: LinkSetupError) -> None:
        """Once, and not for the moment between two files."""
        now = self._clock()
        self._wrong_since = self._wrong_since or now
        if now - self._wrong_since >= PATIENCE and not self._is_reported:
            self._is_reported = True
            identity = self.pair.certificate.identity
            log.error(
                "going on with the former certificate %s of the link: %s; %s", identity, error, error.cure
            )

    def _read_state(self) -> tuple[FileState | None, ...]:
        return tuple(read_state(path) for path in self._files)


def read_state(path: Path) -> FileState | None:
    """What differs when a file is replaced or written; None while there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
