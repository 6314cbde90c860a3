"""Documents of a request put in the place of those that declare the same objects, in whatever files these are. Pure, but for reading the files.

No byte of another document changes. The result is read back: a file that would not declare the same objects in the same order is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

import grpc

from reconciler.cli.controller.manifest import ClientManifest
from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.mutate.change import read_text
from reconciler.cli.mutate.output import FileEdit
from reconciler.link.client_calls import CallRefusedError
from reconciler.query.inventory import InventoryItem
from reconciler.write.yaml_documents import cut_document
from schemas import manifest
from schemas.edit.document_spans import document_spans
from schemas.kinds import Key
from schemas.manifest import Document

MARKER = "---\n"


def rewrite_files(
    fleet: FleetRepo, sent: ClientManifest, items: Mapping[Key, InventoryItem]
) -> tuple[FileEdit, ...]:
    """The files that change. `items` has each object of the manifest, as the source has it."""
    by_path: dict[str, dict[int, Document]] = {}
    for document in sent.documents:
        item = items[document.key]
        by_path.setdefault(item.path, {})[item.index] = document
    edits = []
    for path, replaced in sorted(by_path.items()):
        before = read_text(fleet, next(items[each.key] for each in replaced.values()))
        after = replace_documents(before, {at: cut(sent.data, each) for at, each in replaced.items()})
        keys = [[each.key for each in manifest.parse(path, text).documents] for text in (before, after)]
        if keys[0] != keys[1] and keys[1]:
            words = (
                f"{path} could not be rewritten without a change of other objects; change it by pull request"
            )
            raise CallRefusedError(grpc.StatusCode.FAILED_PRECONDITION, words)
        if after != before:
            edits.append(FileEdit(path, before, after))
    return tuple(edits)


def cut(data: bytes, document: Document) -> str:
    return cut_document(data, document.index).decode()


def replace_documents(before: bytes, replaced: Mapping[int, str]) -> bytes:
    text = before.decode()
    spans = document_spans(text)
    for index in sorted(replaced, reverse=True):
        start, end = spans[index]
        marker = MARKER if text[start:end].startswith("---") else ""
        text = text[:start] + marker + replaced[index] + text[end:]
    return text.encode()
