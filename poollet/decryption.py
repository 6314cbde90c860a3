"""Opens the encrypted Secrets of `live` with this host's private keys. The only place of a host that decrypts.

Theory of operation. The key files are read at the start, and again when one of them changes. A file that poollet.yaml names must be usable, or
the process does not start; of the usual ones (the keys of `repo`) those count that are keys for Secrets. A file that turns bad later leaves the
keys that were read last in use, and the log says why.

What was opened is kept in memory, by Secret, until its text or the keys change: a pass asks for it each time. A Secret that cannot be opened
is asked once as well.

Must never happen: a value or a key in a log, an error or a text made of these types; a key file that others may read; a value on a disk.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from poollet.decide.decision import HostSecrets, OpenResult, UnreadableSecret
from poollet.host_secrets import HostSecretsError, SecretsFile, check_rights, read_stamp
from poollet.sync.sealed_secret import SealedSecret
from schemas.encryption.age_armor import Identities, IdentityError, parse_identities
from schemas.encryption.open_secret import open_secret
from schemas.encryption.sealed_error import SealedError, SealedReason
from schemas.kinds import Key
from schemas.model import Secret
from schemas.settings.host import PoolletSettings

log = logging.getLogger(__name__)

Stamps = tuple[tuple[int, ...] | None, ...]
NO_KEYS = "this host has no private key; name one under decryptionKeys in poollet.yaml"


class Decryption:
    """Opens Secrets with one set of keys, and remembers the answers. Two of them are equal only if they are the same."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities
        self._opened: dict[Key, tuple[SealedSecret, OpenResult]] = {}

    def open(self, secret: Secret) -> OpenResult:
        """The values by key, or why not. Called in the thread of the passes."""
        if not isinstance(secret, SealedSecret):
            return UnreadableSecret("SecretMalformed", "its text is not known")
        known = self._opened.get(secret.key)
        if known is not None and known[0] is secret:
            return known[1]
        found = self._try(secret)
        self._opened[secret.key] = (secret, found)
        return found

    def _try(self, secret: SealedSecret) -> OpenResult:
        """Decrypts. A refusal is an answer like any other: it is kept, and asked again when the text or the keys change."""
        try:
            return open_secret(secret.documents, secret.number, self._identities)
        except SealedError as error:
            return explain(secret, error, bool(self._identities))

    def __repr__(self) -> str:
        return f"Decryption({sorted(map(str, self._opened))})"


def explain(secret: SealedSecret, error: SealedError, has_keys: bool) -> UnreadableSecret:
    """With file, key and cause, and the command that helps."""
    name = f"{secret.namespace}/{secret.name}"
    match error.reason:
        case SealedReason.NO_KEY:
            cure = f"run `gitvirt secret rekey {name}`" if has_keys else NO_KEYS
            return UnreadableSecret("SecretNotReadable", f"{secret.path}: {error}; {cure}")
        case SealedReason.TAMPERED:
            return UnreadableSecret(
                "SecretTampered", f"{secret.path}: {error}; restore the file from its history"
            )
        case SealedReason.MALFORMED | SealedReason.UNSUPPORTED:
            return UnreadableSecret("SecretMalformed", f"{secret.path}: {error}; encrypt it again")


class KeyFiles:
    """`current` opens Secrets with the keys as they are on disk now."""

    def __init__(self, named: Sequence[Path] | None, usual: Sequence[Path]) -> None:
        """Raises HostSecretsError where a named file cannot be used."""
        self._paths, self._is_named = (named, True) if named is not None else (usual, False)
        self._last: dict[Path, Identities] = {}
        self._seen = self._stamps()
        self._decryption = Decryption(self._load())

    def current(self) -> Decryption:
        """Called in each pass: files are opened only when one of them changed."""
        stamps = self._stamps()
        if stamps != self._seen:
            self._seen = stamps
            try:
                self._decryption = Decryption(self._load())
            except HostSecretsError as error:
                log.warning("private keys cannot be read, the last ones stay cause=%s", error.cause)
        return self._decryption

    def _load(self) -> Identities:
        """The keys of all files. One of the usual files may be an RSA key or have a passphrase: it opens nothing, which is not a fault.
        One that poollet.yaml names is there to open something. A usual file that gave keys before and fails now keeps them."""
        found = Identities()
        for path in self._paths:
            try:
                self._last[path] = load_keys(path)
            except HostSecretsError as error:
                if self._is_named:
                    raise
                if path in self._last:
                    log.warning("private key cannot be read, the last one stays cause=%s", error.cause)
                else:
                    log.info("not a key for Secrets path=%s cause=%s", path, error.cause)
            found += self._last.get(path, Identities())
        return found

    def _stamps(self) -> Stamps:
        """None for a file that is missing: when it appears, it is read."""
        stamps: list[tuple[int, ...] | None] = []
        for path in self._paths:
            try:
                stamps.append(read_stamp(path))
            except HostSecretsError:
                stamps.append(None)
        return tuple(stamps)


def load_keys(path: Path) -> Identities:
    """Raises HostSecretsError: no file, rights for others, or not a key for Secrets."""
    check_rights(path)
    try:
        return parse_identities(path.read_bytes())
    except OSError as error:
        raise HostSecretsError(f"cannot read {path}: {error.strerror}", "name a file that exists") from None
    except IdentityError as error:
        raise HostSecretsError(f"{path}: {error.cause}", error.cure) from None


def key_files(settings: PoolletSettings) -> KeyFiles:
    """As poollet.yaml has them. A signing key may also be an OpenPGP fingerprint, which is not the name of a file."""
    named = settings.decryption_keys
    usual = (settings.repo.signing_key, settings.repo.identity)
    return KeyFiles(
        [Path(text) for text in named] if named is not None else None,
        [Path(text) for text in usual if text and Path(text).is_absolute()],
    )


def host_secrets(settings: PoolletSettings) -> Callable[[], HostSecrets]:
    """What a pass asks for: the operator's file and the keys, as they are then. Raises HostSecretsError where either cannot be used now."""
    file = SecretsFile(Path(settings.volume_secrets_file) if settings.volume_secrets_file else None)
    keys = key_files(settings)
    return lambda: HostSecrets(file.current().by_name, keys.current())
