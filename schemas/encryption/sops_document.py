"""Documents with `sops:` metadata → their values, with the MAC verified. Also who can open them, without any key.

    data key      32 bytes, wrapped for each age recipient (`sops.age[].enc`)
    values        those below keys that `encrypted_regex` matches, by the data key and their path
    MAC           SHA-512 over all values in their order, the readable ones too, encrypted by the data key with the time of the change

The MAC covers all documents of a file, so a file is opened as a whole. It covers values and not the names of readable keys; a manifest's
schema refuses names that are not its own. The version and the texts of recipients are not covered either, and decide nothing here.

Must never happen: a value leaves here before the MAC was compared; a pattern of a stranger takes time out of proportion.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.encryption.age_armor import Identities
from schemas.encryption.recipients import parse_recipient
from schemas.encryption.sealed_error import (
    SealedError,
    SealedReason,
    report_malformed,
    report_tampered,
    report_unsupported,
)
from schemas.encryption.sops_values import KEY_BYTES, START, Plain, open_value, plain_of

METADATA = "sops"
ENCRYPTED_REGEX = "^(data|stringData)$"
# What a MAC of the encrypted values alone begins with; it is a constant of the format.
_MAC_ONLY = hashlib.sha256(b"sops").digest()
_OTHER_KEYS = ("kms", "gcp_kms", "azure_kv", "hc_vault", "pgp", "hckms")
_UNSUPPORTED = ("key_groups", "shamir_threshold", "unencrypted_comment_regex", "encrypted_comment_regex")
_MAX_PATTERN, _MAX_REPEATS = 200, 2
_REPEATS = re.compile(r"[*+?{]")
_REFUSED = re.compile(r"\)[*+?{]|\(\?|\\[0-9]")
MAX_DEPTH = 100

Body = Mapping[str, Any]
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SopsMetadata:
    """What the key `sops` says. `wrapped` has the armored data key by recipient."""

    wrapped: tuple[tuple[str, str], ...]
    mac: str
    modified: str
    is_encrypted: Callable[[Path], bool]
    mac_only_encrypted: bool
    other_keys: tuple[str, ...]

    @property
    def recipients(self) -> tuple[str, ...]:
        """In their one spelling; a text that is not a recipient stays as it is written."""
        return tuple(parse_recipient(one) or one for one, _ in self.wrapped)


@dataclass(frozen=True, repr=False)
class OpenedDocuments:
    """Values by path, for each document, and the data key. A path of a list is that of the list, as in SOPS."""

    data_key: bytes
    documents: tuple[tuple[tuple[Path, Plain], ...], ...] = field(default=())

    def values(self, document: int, section: str) -> dict[str, Plain]:
        """The values directly below one key of a document."""
        found = self.documents[document]
        return {path[1]: plain for path, plain in found if len(path) == 2 and path[0] == section}


def is_sealed(body: Body) -> bool:
    """Whether SOPS encrypted the document."""
    return isinstance(body.get(METADATA), Mapping)


def read_metadata(body: Body) -> SopsMetadata:
    """Raises SealedError."""
    found = body.get(METADATA)
    if not isinstance(found, Mapping):
        raise report_malformed("it has no metadata", METADATA)
    for name in _UNSUPPORTED:
        if found.get(name):
            raise report_unsupported("gitvirt does not read it", f"{METADATA}.{name}")
    return SopsMetadata(
        wrapped=tuple(_read_wrapped(found.get("age"))),
        mac=_text(found, "mac"),
        modified=_text(found, "lastmodified"),
        is_encrypted=_selection(found),
        mac_only_encrypted=found.get("mac_only_encrypted") is True,
        other_keys=tuple(name for name in _OTHER_KEYS if found.get(name)),
    )


def unwrap(metadata: SopsMetadata, identities: Identities) -> bytes:
    """The data key. Of several recipients the first that opens counts; one that is damaged does not hide another."""
    if not metadata.wrapped:
        raise SealedError(SealedReason.NO_KEY, "it has no recipient of age", f"{METADATA}.age")
    fault: SealedError | None = None
    for number, (_, armor) in enumerate(metadata.wrapped):
        try:
            key = identities.open(armor)
        except SealedError as error:
            if fault is None or fault.reason is SealedReason.NO_KEY:
                fault = SealedError(error.reason, error.cause, f"{METADATA}.age[{number}].enc")
            continue
        if len(key) != KEY_BYTES:
            raise report_tampered("it is not a key of SOPS", f"{METADATA}.age[{number}].enc")
        return key
    assert fault is not None
    raise fault


def open_documents(bodies: Sequence[Body], identities: Identities) -> OpenedDocuments:
    """All documents of one file. Raises SealedError; nothing is returned unless the MAC is right."""
    metadata = read_metadata(bodies[0])
    if any(body.get(METADATA) != bodies[0].get(METADATA) for body in bodies[1:]):
        raise report_malformed("the documents of the file do not have the same metadata", METADATA)
    return open_with_key(bodies, metadata, unwrap(metadata, identities))


def open_with_key(bodies: Sequence[Body], metadata: SopsMetadata, key: bytes) -> OpenedDocuments:
    """As `open_documents`, with the data key."""
    documents = tuple(tuple(_open_values(body, metadata, key)) for body in bodies)
    found = mac_of(documents, metadata.is_encrypted, metadata.mac_only_encrypted)
    try:
        expected = open_value(metadata.mac, key, metadata.modified).data
    except SealedError as error:
        raise SealedError(error.reason, "the MAC was changed", f"{METADATA}.mac") from None
    if not hmac.compare_digest(expected, found.encode()):
        raise report_tampered(
            "the MAC differs: a value was changed, added or removed by hand; "
            "restore the file, and use `gitvirt secret edit` or sops",
            f"{METADATA}.mac",
        )
    return OpenedDocuments(key, documents)


def mac_of(
    documents: Sequence[Sequence[tuple[Path, Plain]]],
    is_encrypted: Callable[[Path], bool],
    mac_only_encrypted: bool = False,
) -> str:
    """As SOPS computes it."""
    digest = hashlib.sha512(_MAC_ONLY if mac_only_encrypted else b"")
    for document in documents:
        for path, plain in document:
            if not mac_only_encrypted or is_encrypted(path):
                digest.update(plain.data)
    return digest.hexdigest().upper()


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each scalar of a document with its path, in its order, without the metadata and what is null."""
    if len(path) > MAX_DEPTH:
        raise report_malformed("it is nested too deep")
    if isinstance(value, Mapping):
        for key, below in value.items():
            if path or key != METADATA:
                yield from walk(below, (*path, str(key)))
    elif isinstance(value, list):
        for below in value:
            yield from walk(below, path)
    elif value is not None:
        yield path, value


def additional_data(path: Path) -> str:
    """What binds a value to its place."""
    return ":".join(path) + ":"


def _open_values(body: Body, metadata: SopsMetadata, key: bytes) -> Iterator[tuple[Path, Plain]]:
    for path, value in walk(body):
        if not metadata.is_encrypted(path):
            yield path, plain_of(value)
            continue
        name = ".".join(path)
        if not isinstance(value, str):
            raise report_malformed("the value is not encrypted", name)
        try:
            plain = open_value(value, key, additional_data(path))
        except SealedError as error:
            raise SealedError(error.reason, error.cause, name) from None
        if plain.type != "comment":
            yield path, plain


def _read_wrapped(found: object) -> Iterator[tuple[str, str]]:
    """The recipients with what is wrapped for each."""
    if found is None:
        return
    if not isinstance(found, list):
        raise report_malformed("it is not a list", f"{METADATA}.age")
    for number, entry in enumerate(found):
        values = entry if isinstance(entry, Mapping) else {}
        recipient, armor = values.get("recipient"), values.get("enc")
        if not isinstance(recipient, str) or not isinstance(armor, str):
            raise report_malformed("it lacks recipient or enc", f"{METADATA}.age[{number}]")
        yield recipient, armor


def _text(found: Body, name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value:
        raise report_malformed("it is missing", f"{METADATA}.{name}")
    if name == "mac" and not value.startswith(START):
        raise report_malformed("it is not encrypted", f"{METADATA}.{name}")
    return value


def _selection(found: Body) -> Callable[[Path], bool]:
    """Which paths are encrypted. SOPS' own default is all but those that end with `_unencrypted`."""
    names = ("encrypted_regex", "unencrypted_regex", "encrypted_suffix", "unencrypted_suffix")
    given = [(name, found[name]) for name in names if found.get(name)]
    if len(given) > 1 or not all(isinstance(value, str) for _, value in given):
        raise report_malformed("it has more than one rule of what is encrypted", METADATA)
    name, value = given[0] if given else ("unencrypted_suffix", "_unencrypted")
    fits: Callable[[str], object] = lambda key: key.endswith(value)  # noqa: E731
    if name.endswith("regex"):
        fits = _pattern(value, f"{METADATA}.{name}").search
    is_positive = name.startswith("encrypted")
    return lambda path: any(fits(key) for key in path) is is_positive


def _pattern(text: str, key: str) -> re.Pattern[str]:
    """A pattern that Go and Python read alike, and that cannot take long: few repeats, and none of a group."""
    if len(text) > _MAX_PATTERN or len(_REPEATS.findall(text)) > _MAX_REPEATS or _REFUSED.search(text):
        raise report_unsupported(f"the pattern is too elaborate; write {ENCRYPTED_REGEX}", key)
    try:
        return re.compile(text)
    except (re.error, OverflowError):
        raise report_malformed("it is not a regular expression", key) from None
