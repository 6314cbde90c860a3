"""The text of a Secret ↔ the same text encrypted, as SOPS writes it: values and comments below `data` and `stringData`.

All else stays byte for byte: order, indentation, comments outside. A value that did not change keeps its encrypted text while the data key
is the same, so that a diff shows what changed.

When a data key is new: for a new Secret, when a recipient goes, and on request. A recipient that goes knows the old one, and would open
with it what is written later. When recipients only come, it is wrapped for them and nothing else changes.

Must never happen: a text is returned that does not open to the values it was made of (`seal_text` reads it back).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from schemas.encryption import age_armor
from schemas.encryption.age_armor import Identities
from schemas.encryption.readable_text import read_readable, refuse_readable
from schemas.encryption.recipients import parse_recipient
from schemas.encryption.sealed_error import SealedError, report_malformed, report_tampered, report_unsupported
from schemas.encryption.secret_layout import SECTIONS, SecretLayout, Span, read_layout
from schemas.encryption.sops_document import (
    ENCRYPTED_REGEX,
    METADATA,
    SopsMetadata,
    additional_data,
    mac_of,
    open_with_key,
    read_metadata,
    unwrap,
    walk,
)
from schemas.encryption.sops_values import (
    KEY_BYTES,
    NONCE_BYTES,
    Plain,
    nonce_of,
    open_value,
    plain_of,
    seal_value,
)
from schemas.encryption.value_text import block_text, scalar_text
from schemas.reader import Unreadable, read

VERSION = "3.10.2"  # of the format; SOPS only compares it
_SEALED_DEPTH = 2  # a value of a section: its name, and the key

Random = Callable[[int], bytes]


@dataclass(frozen=True, repr=False)
class RevealedSecret:
    """The readable text, and what is needed to encrypt what did not change as it was. `readable` are the texts that were not encrypted."""

    text: str
    data_key: bytes
    wrapped: Mapping[str, str]
    sealed: Mapping[tuple[tuple[str, ...], bytes], str]
    readable: frozenset[str] = frozenset()
    other_keys: tuple[str, ...] = ()

    def shares_value(self, text: str) -> bool:
        """Whether a text after an edit has one of the values."""
        before = {data for path, data in self.sealed if len(path) > 1 and data}
        return any(data in before for _, data in _values_of(read_body(text), None))


def open_text(text: str, identities: Identities) -> RevealedSecret:
    """Decrypts values and comments where they are, and removes the metadata. Raises SealedError."""
    body = read_body(text)
    metadata = read_metadata(body)
    key = unwrap(metadata, identities)
    opened = open_with_key((body,), metadata, key)
    layout = read_layout(text)
    plains = {path: plain for path, plain in opened.documents[0] if metadata.is_encrypted(path)}
    _refuse_other_rules(plains, layout)
    sealed: dict[tuple[tuple[str, ...], bytes], str] = {}
    edits = [(*layout.metadata, "")]
    for span in layout.spans:
        written = text[span.start : span.end].strip()
        if span.is_comment:
            plain = _open_comment(written, key, span.path)
            if plain is None:
                continue
            new = plain.data.decode("utf-8", "replace")
        elif span.path in plains:
            plain = plains[span.path]
            written = str(body[span.path[0]][span.path[1]])
            new = scalar_text(plain.text, plain.type, span.indent)
        else:
            continue
        sealed[span.path, plain.data] = written
        edits.append((span.start, span.end, new))
    readable = read_readable(text, layout, body)
    return RevealedSecret(
        _splice(text, edits), key, wrapped_by_recipient(metadata), sealed, readable, metadata.other_keys
    )


def _refuse_other_rules(paths: Collection[tuple[str, ...]], layout: SecretLayout) -> None:
    """A value that another rule encrypted, such as an annotation: its text belongs to the data key, which does not outlive an edit."""
    known = {span.path for span in layout.spans if not span.is_comment}
    for path in paths:
        if path not in known:
            raise report_unsupported(
                f"it is encrypted, and gitvirt encrypts {' and '.join(SECTIONS)} alone; change the file with sops",
                ".".join(path),
            )


def seal_text(
    text: str,
    recipients: Sequence[str],
    now: datetime,
    before: RevealedSecret | None = None,
    random: Random = secrets.token_bytes,
    has_new_key: bool = False,
) -> str:
    """Encrypts the text of a Secret. With `before`, its data key stays if all its recipients do. Raises SealedError, ValueError; a
    SealedError also where a comment or a value would be readable that was not before."""
    body = read_body(text)
    if METADATA in body:
        raise report_unsupported("it is encrypted already", METADATA)
    keeps_key = before is not None and set(before.wrapped) <= set(recipients) and not has_new_key
    kept = before if keeps_key else None
    key = kept.data_key if kept is not None else random(KEY_BYTES)
    known = kept.sealed if kept is not None else {}
    layout = read_layout(text)
    refuse_readable(text, layout, body, _values_of(body, before), before.readable if before else ())
    edits = []
    for span in layout.spans:
        plain = _plain_at(text, span, body)
        nonce = nonce_of(known.get((span.path, plain.data), "")) or random(NONCE_BYTES)
        sealed = seal_value(plain, key, additional_data(span.path), nonce) or (
            "" if span.is_comment else '""'
        )
        is_block = text[span.start : span.start + 1] in ("|", ">") and not span.is_comment
        edits.append((span.start, span.end, sealed + "\n" if is_block else sealed))
    modified = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    plains = [(path, plain_of(value)) for path, value in walk(body)]
    mac = seal_value(Plain(mac_of([plains], lambda _: True).encode()), key, modified, random(NONCE_BYTES))
    metadata = {
        "age": _wrap(key, recipients, kept.wrapped if kept is not None else {}),
        "lastmodified": modified,
        "mac": mac,
        "encrypted_regex": ENCRYPTED_REGEX,
        "version": VERSION,
    }
    sealed_text = _splice(text, edits).rstrip("\n") + "\n" + block_text({METADATA: metadata})
    _verify(sealed_text, body, key)
    return sealed_text


def rewrap_text(text: str, recipients: Sequence[str], identities: Identities) -> str:
    """The same values and data key, for more recipients. Those that were there keep what was wrapped for them. Raises SealedError."""
    body = read_body(text)
    metadata = read_metadata(body)
    if not set(metadata.recipients) <= set(recipients):
        raise ValueError("a recipient that goes needs a new data key: open the text, and seal it")
    key = unwrap(metadata, identities)
    open_with_key((body,), metadata, key)  # a file with a wrong MAC is not passed on
    age = _wrap(key, recipients, wrapped_by_recipient(metadata))
    start, end = read_layout(text).metadata
    new = block_text({METADATA: {**body[METADATA], "age": age}})
    result = text[:start] + new + text[end:]
    if read_body(result) != {**body, METADATA: {**body[METADATA], "age": age}}:
        raise report_unsupported("its metadata cannot be edited in place; use `sops updatekeys`", METADATA)
    return result


def read_body(text: str) -> dict[str, Any]:
    """The one document of a text. Raises SealedError."""
    values = read(text)
    if isinstance(values, Unreadable):
        raise report_malformed(f"line {values.line}: {values.message}")
    if len(values) != 1 or not isinstance(values[0], dict):
        raise report_unsupported("the file has to be one Secret and nothing else")
    return {str(key): value for key, value in values[0].items()}


def _values_of(
    body: Mapping[str, Any], before: RevealedSecret | None
) -> tuple[tuple[tuple[str, ...], bytes], ...]:
    """The values by path, those before an edit too."""
    now = ((path, plain_of(value).data) for path, value in walk(body) if path[0] in SECTIONS)
    return (*now, *(each for each in before.sealed if len(each[0]) > 1)) if before else tuple(now)


def _plain_at(text: str, span: Span, body: Mapping[str, Any]) -> Plain:
    if span.is_comment:
        return Plain(text[span.start : span.end].encode(), "comment")
    value = body[span.path[0]][span.path[1]]
    if value is None:
        raise report_unsupported("the key has no value", ".".join(span.path))
    return plain_of(value)


def _open_comment(written: str, key: bytes, path: tuple[str, ...]) -> Plain | None:
    """None for a comment that is not encrypted: SOPS leaves such ones where older versions wrote them."""
    try:
        return open_value(written, key, additional_data(path))
    except SealedError:
        return None


def wrapped_by_recipient(metadata: SopsMetadata) -> dict[str, str]:
    """The armored data key by recipient."""
    return dict(zip(metadata.recipients, (armor for _, armor in metadata.wrapped), strict=True))


def _wrap(key: bytes, recipients: Sequence[str], before: Mapping[str, str]) -> list[dict[str, str]]:
    """The data key for each recipient by itself, as SOPS does; what was wrapped before stays."""
    known = [parse_recipient(one) for one in recipients]
    if not known or None in known:
        raise ValueError("every recipient is a public key of age or ssh-ed25519, and there is at least one")
    return [{"recipient": one, "enc": before.get(one) or age_armor.seal(key, (one,))} for one in known if one]


def _splice(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """From the end to the start, so that positions hold."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _verify(sealed_text: str, body: Mapping[str, Any], key: bytes) -> None:
    """What was written opens to the values that it was made of, and shows none of them."""
    again = read_body(sealed_text)
    opened = open_with_key((again,), read_metadata(again), key)
    values = [(path, plain_of(value).data) for path, value in walk(body)]
    if [(path, plain.data) for path, plain in opened.documents[0]] != values:
        raise report_tampered("the encrypted text does not open to the same values; nothing was written")
    for section in SECTIONS:
        if any(
            isinstance(value, str) and value and not value.startswith("ENC[")
            for value in (again.get(section) or {}).values()
        ):
            raise report_tampered("a value was not encrypted; nothing was written", section)
