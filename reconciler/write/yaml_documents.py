"""Documents cut out of files and put together again. Pure: text in, text out; nothing inside a document changes.

Where a document begins and ends is the reader's judgement (`schemas.edit.document_spans`), so an index here is the index of the same document
there. Line ends stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from schemas.edit.document_spans import document_spans

_START = "---\n"


def cut_document(data: bytes, index: int) -> bytes:
    """One document as a file of its own."""
    text = data.decode()
    start, end = document_spans(text)[index]
    return _without_marker(text[start:end]).encode()


def remove_documents(data: bytes, indexes: Collection[int]) -> bytes | None:
    """The text of a manifest without some of its documents, by their index; no byte of the others changes. None when none is left: the
    file is then deleted."""
    text = data.decode()
    spans = document_spans(text)
    if len(indexes) >= len(spans):
        return None
    for index in sorted(indexes, reverse=True):
        start, end = spans[index]
        text = text[:start] + text[end:]
    return text.encode()


def join_documents(yaml_documents: Sequence[bytes]) -> bytes:
    """Several documents in one file."""
    first, *others = yaml_documents
    return first + b"".join(each if each.startswith(b"---") else _START.encode() + each for each in others)


def _without_marker(text: str) -> str:
    """Without the marker that only parted it from the one before, and with a line end."""
    text = text.removeprefix("---\r\n").removeprefix(_START)
    return text if text.endswith(("\n", "\r")) else text + "\n"
