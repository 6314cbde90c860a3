"""What of a Secret stays readable beside its values, and whether a value is in it.

Readable are comments above the first of `data` and `stringData`, and all values outside of the two. A person who turns a key into a comment,
or copies a value, would publish it without a sign. So a comment below the start of a section is encrypted or refused, and a readable text
that contains a value is refused. What was readable in the encrypted file before is in Git already and refuses nothing: else no person could
close such a file to a reader.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from schemas.encryption.sealed_error import report_unsupported
from schemas.encryption.secret_layout import SECTIONS, SecretLayout
from schemas.encryption.sops_document import walk

_NAMES = (("metadata", "name"), ("metadata", "namespace"))
# Shorter values are words that a comment or a label may have for other reasons.
_MIN_IN_COMMENT, _MIN_IN_VALUE = 8, 16

Path = tuple[str, ...]


def read_readable(text: str, layout: SecretLayout, body: Mapping[str, Any]) -> frozenset[str]:
    """Comments and values of a text with its values decrypted that are readable when it is encrypted."""
    return frozenset(
        (*(text[start:end] for start, end in layout.comments), *(one for _, one in _outside(body)))
    )


def refuse_readable(
    text: str,
    layout: SecretLayout,
    body: Mapping[str, Any],
    values: Collection[tuple[Path, bytes]],
    known: Collection[str],
) -> None:
    """`values` are those to hide, by path; `known` is what was readable before. Raises SealedError with the place, never with the text."""
    parts = [(path, part) for path, value in values for part in _parts(path, value)]
    for start, end in layout.comments:
        comment = text[start:end]
        if comment in known:
            continue
        line = text.count("\n", 0, start) + 1
        if start > layout.section:
            raise report_unsupported(
                f"everyone could read the comment of line {line}: write it on a line of its own, indented like the keys, or remove it"
            )
        _refuse_parts(comment, f"the comment of line {line}", parts, _MIN_IN_COMMENT)
    for path, found in _outside(body):
        if found not in known and path not in _NAMES:
            _refuse_parts(found, ".".join(path), parts, _MIN_IN_VALUE)


def _refuse_parts(readable: str, place: str, parts: Collection[tuple[Path, str]], least: int) -> None:
    for path, part in parts:
        if len(part) >= least and part in readable:
            raise report_unsupported(
                f"{place} has the value of {'.'.join(path)}, and everyone could read it: remove it there"
            )


def _outside(body: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Values that are not encrypted."""
    return ((path, str(value)) for path, value in walk(body) if path[0] not in SECTIONS)


def _parts(path: Path, value: bytes) -> Iterator[str]:
    """A value and its lines, as they may be copied; of base64 also what it encodes."""
    texts = [value]
    if path[:1] == ("data",):
        with contextlib.suppress(binascii.Error, ValueError):  # what is not base64 has a rule of its own
            texts.append(base64.b64decode(b"".join(value.split()), validate=True))
    for text in texts:
        for line in text.decode("utf-8", "replace").splitlines():
            yield line.strip()
