"""All rules: those for one document, and those between all documents of a tree. Called here, and written in the others.

The order below is the order of the reports only: no rule sees another one's findings, and each may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schemas.validate import (
    change,
    document,
    identity,
    network,
    pools,
    quota,
    references,
    secret_readers,
    secrets,
    spread,
    usage,
)
from schemas.validate.finding import Finding
from schemas.validate.inputs import EarlierRevision, ValidationPolicy
from schemas.validate.tree import AnyDeclaration, Tree


def check_document(
    entry: AnyDeclaration, body: Mapping[str, Any], policy: ValidationPolicy
) -> Iterator[Finding]:
    """All rules of gitvirt that need only this document. `body` is the same document as written, without defaults, and fits the
    JSON Schema of its kind already: what does not is a Violation of `schemas.manifest`, and no rule sees it.

    Called where a document is read, by `gitvirt validate` and by the reconciler. The result depends on the document and the
    policy alone, so a caller may keep it as long as neither changes. A rule here never looks at another document.
    """
    yield from document.findings(entry, body, policy)
    yield from secrets.findings(entry, policy)


def check_tree(
    tree: Tree, policy: ValidationPolicy, past: EarlierRevision | None = None
) -> Iterator[Finding]:
    """All rules between documents; with `past` also those about changes.

    On the target branch, objects whose deletion is ordered do not count: they are on their way out, and what replaces them
    may already have their names, volumes and addresses.
    """
    if policy.is_target:
        tree = tree.without_deleting()
    yield from identity.findings(tree)
    yield from references.findings(tree)
    yield from pools.findings(tree, policy)
    yield from usage.findings(tree)
    yield from spread.findings(tree, policy)
    yield from network.findings(tree)
    yield from references.restored_too_small(tree)
    yield from quota.findings(tree)
    yield from secret_readers.findings(tree, policy)
    if past is not None:
        yield from change.findings(tree, past)
