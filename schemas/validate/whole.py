"""A whole tree at once, for those who have all its files at hand: texts in, Problems out.

What is too large for that, or known from before, goes the same way piece by piece: parse, `within`, `between`, place.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas import manifest
from schemas.manifest import Manifest
from schemas.model import decode
from schemas.problem import Problem
from schemas.validate.files import findings as of_names
from schemas.validate.files import is_read
from schemas.validate.finding import Finding
from schemas.validate.finding import problems as placed
from schemas.validate.inputs import Past, Policy
from schemas.validate.rules import between, within
from schemas.validate.tree import AnyEntry, Entry, Tree


def validate(
    files: Mapping[str, bytes], policy: Policy, against: Mapping[str, bytes] | None = None
) -> tuple[Problem, ...]:
    """All problems by place. `files` are those that are not ignored, `against` those of an earlier revision."""
    manifests = [manifest.parse(path, data) for path, data in files.items() if is_read(path, policy)]
    tree = Tree(
        tuple(entry for each in manifests for entry in entries(each)),
        frozenset(key for each in manifests for key in each.refused),
        unreadable(manifests),
    )
    past = None if against is None else past_of(against, files, policy)
    findings: list[Finding] = [*of_names(files, policy), *between(tree, policy, past)]
    bodies = (document.body for each in manifests for document in each.documents)
    for entry, body in zip(tree.entries, bodies, strict=True):
        findings += within(entry, body, policy)

    def text_of(path: str) -> str | None:
        return files[path].decode("utf-8", "replace") if path in files else None

    problems = (problem for each in manifests for problem in each.problems)
    return tuple(sorted((*problems, *placed(findings, text_of))))


def past_of(then: Mapping[str, bytes], now: Mapping[str, bytes], policy: Policy) -> Past:
    same = frozenset(path for path, data in then.items() if now.get(path) == data)
    differing = [path for path in then if path not in same and is_read(path, policy)]
    manifests = [manifest.parse(path, then[path]) for path in differing]
    known = tuple(entry for each in manifests for entry in entries(each))
    return Past("the earlier revision", known, same, unreadable(manifests))


def entries(found: Manifest) -> list[AnyEntry]:
    return [
        Entry(document.path, document.index, document.key, decode(document.kind, document.body))
        for document in found.documents
    ]


def unreadable(manifests: list[Manifest]) -> tuple[str, ...]:
    """Files that may hold anything."""
    return tuple(each.path for each in manifests if each.is_malformed and not each.refused)
