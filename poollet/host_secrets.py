"""The operator's file of access data on the host: read, checked, and read again when it changes.

Theory of operation. At the start a file that cannot be used ends the process, with the cure. Later it does
not: the content that was read last stays in use and the log says why, so that a slip of the editor
detaches no volume. Each pass asks for the content; the file is opened only when its stamp (time, size,
inode, mode) differs.

A file that the group or others may access is refused, whatever it contains.

Must never happen: a value of the file in an error, a log or a report.
"""

from __future__ import annotations

import base64
import binascii
import logging
import stat
from pathlib import Path

from poollet.decide.decision import HostSecrets
from schemas.reader import Unreadable, read

log = logging.getLogger(__name__)

FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
FORM = "it is {namespace/name: {key: base64}}"


class HostSecretsError(Exception):
    """`code` is explained in docs/problems.md."""

    code = "GV617"

    def __init__(self, cause: str, cure: str) -> None:
        super().__init__(cause)
        self.cause, self.cure = cause, cure


class SecretsFile:
    """`current` is the content of the file; while it cannot be used, the content that was read last."""

    def __init__(self, path: Path | None) -> None:
        """Raises HostSecretsError when there is a path and nothing usable there."""
        self._path = path
        self._seen: tuple[int, ...] | None = None
        self._secrets = HostSecrets()
        if path is not None:
            self._seen, self._secrets = read_stamp(path), load(path)

    def current(self) -> HostSecrets:
        """The content in use. Called in each pass, so it opens the file only when it changed. A file that
        turned bad is tried again when its stamp differs once more."""
        if self._path is None:
            return self._secrets
        try:
            seen = read_stamp(self._path)
            if seen != self._seen:
                self._seen = seen
                self._secrets = load(self._path)
        except HostSecretsError as error:
            log.warning(
                "volume secrets cannot be read, the last ones stay path=%s cause=%s", self._path, error.cause
            )
        return self._secrets


def load(path: Path) -> HostSecrets:
    """Raises HostSecretsError: no file, rights for others, or not the form of FORM."""
    check_rights(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise HostSecretsError(f"cannot read {path}: {error.strerror}", "name a file that exists") from None
    return parse_secrets(path, data)


def check_rights(path: Path) -> None:
    """Raises HostSecretsError where the file is missing, or others may access it."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise HostSecretsError(f"cannot read {path}: {error.strerror}", "name a file that exists") from None
    if mode & FOR_OTHERS:
        raise HostSecretsError(f"others may read {path}", f"chmod 600 {path}")


def parse_secrets(path: Path, data: bytes) -> HostSecrets:
    """The file's form is {namespace/name: {key: base64}}. Errors name the entry and the key, never the value."""
    values = read(data.decode("utf-8", "replace"))
    if isinstance(values, Unreadable):
        raise HostSecretsError(f"{path}:{values.line}: {values.message}", FORM)
    body = values[0] if values else {}
    if len(values) > 1 or not isinstance(body, dict):
        raise HostSecretsError(f"{path} is not a mapping", FORM)
    found: dict[tuple[str, str], dict[str, bytes]] = {}
    for name, secret in body.items():
        namespace, slash, rest = str(name).partition("/")
        if not slash or not rest or not isinstance(secret, dict):
            raise HostSecretsError(f"{path}: the entry {name!r} is not namespace/name with a mapping", FORM)
        found[namespace, rest] = {
            str(key): _plain(path, f"{name}.{key}", value) for key, value in secret.items()
        }
    return HostSecrets(found)


def _plain(path: Path, where: str, value: object) -> bytes:
    """The value, decoded. `validate` refuses characters that a lenient decoder would skip in silence."""
    try:
        return base64.b64decode(str(value), validate=True)
    except binascii.Error:
        raise HostSecretsError(f"{path}: {where} is not base64", FORM) from None


def read_stamp(path: Path) -> tuple[int, ...]:
    """What differs when the file was edited, replaced by rename, or got other rights."""
    try:
        found = path.stat()
    except OSError as error:
        raise HostSecretsError(f"cannot read {path}: {error.strerror}", "name a file that exists") from None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode
