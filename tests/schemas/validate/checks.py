"""What `validate` does with files, without any file: the way from texts to findings that the tests share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schemas import manifest
from schemas.model import decode
from schemas.problem import Problem
from schemas.validate import Entry, Past, Policy, Tree, between, within
from schemas.validate.finding import Finding
from schemas.validate.placement import problems as placed
from schemas.validate.tree import AnyEntry


def checked(files: Mapping[str, str], policy: Policy, past: Past | None = None) -> list[Problem]:
    entries, problems, findings, unreadable = read(files, policy)
    refused = frozenset(
        key for path, text in files.items() for key in manifest.parse(path, text.encode()).refused
    )
    tree = Tree(tuple(entries), refused, tuple(unreadable))
    findings += between(tree, policy, past)
    return sorted([*problems, *placed(findings, files.get)])


def read(
    files: Mapping[str, str], policy: Policy
) -> tuple[list[AnyEntry], list[Problem], list[Finding], list[str]]:
    entries: list[AnyEntry] = []
    problems: list[Problem] = []
    findings: list[Finding] = []
    unreadable: list[str] = []
    for path, text in files.items():
        found = manifest.parse(path, text.encode())
        problems += found.problems
        if found.is_malformed and not found.refused:
            unreadable.append(path)
        for document in found.documents:
            entry = Entry(path, document.index, document.key, decode(document.kind, document.body))
            entries.append(entry)
            findings += within(entry, document.body, policy)
    return entries, problems, findings, unreadable


def past_of(before: Mapping[str, str], after: Mapping[str, str]) -> Past:
    same = frozenset(path for path, text in before.items() if after.get(path) == text)
    entries, _, _, unreadable = read(
        {path: text for path, text in before.items() if path not in same}, Policy()
    )
    return Past("main", tuple(entries), same, tuple(unreadable))


def told(problems: Iterable[Problem]) -> set[str]:
    return {f"{each.code} {each.severity} {each.file} {each.pointer}" for each in problems}
