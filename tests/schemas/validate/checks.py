"""What the tests of `validate` share: texts in, Problems out, and each Problem as one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from schemas import manifest
from schemas.manifest import Manifest
from schemas.model import decode
from schemas.problem import Problem
from schemas.validate import (
    AnyDeclaration,
    Declaration,
    EarlierRevision,
    Finding,
    Tree,
    ValidationPolicy,
    check_document,
    check_tree,
    emptied,
)
from schemas.validate import files as file_names
from schemas.validate.files import is_declaring
from schemas.validate.finding import to_problems


def check(
    files: Mapping[str, str], policy: ValidationPolicy, against: Mapping[str, str] | None = None
) -> tuple[Problem, ...]:
    return check_files(encode(files), policy, None if against is None else encode(against))


def encode(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


def summarize(problems: Iterable[Problem]) -> set[str]:
    return {f"{each.code} {each.severity} {each.file} {each.pointer}" for each in problems}


def check_files(
    files: Mapping[str, bytes], policy: ValidationPolicy, against: Mapping[str, bytes] | None
) -> tuple[Problem, ...]:
    """All problems by place. `files` are those that are not ignored, `against` those of an earlier revision."""
    manifests = [manifest.parse(path, data) for path, data in files.items() if is_declaring(path, policy)]
    tree = Tree(
        tuple(entry for each in manifests for entry in entries(each)),
        frozenset(key for each in manifests for key in each.invalid),
        unreadable(manifests),
    )
    past = None if against is None else past_of(against, files, policy)
    findings: list[Finding] = [*file_names.findings(files, policy), *check_tree(tree, policy, past)]
    if past is not None and against is not None:
        findings += emptied.findings(
            tree,
            past,
            files,
            lambda path: path not in against,
            lambda path: files[path] == against.get(path),
            _text_of(files),
        )
    bodies = (document.body for each in manifests for document in each.documents)
    for entry, body in zip(tree.entries, bodies, strict=True):
        findings += check_document(entry, body, policy)

    problems = (problem for each in manifests for problem in each.problems)
    return tuple(sorted((*problems, *to_problems(findings, _text_of(files)))))


def _text_of(files: Mapping[str, bytes]) -> Callable[[str], str]:
    """Of a file that is gone the findings are about the file as a whole."""
    return lambda path: files.get(path, b"").decode("utf-8", "replace")


def past_of(then: Mapping[str, bytes], now: Mapping[str, bytes], policy: ValidationPolicy) -> EarlierRevision:
    same = frozenset(path for path, data in then.items() if now.get(path) == data)
    differing = [path for path in then if path not in same and is_declaring(path, policy)]
    manifests = [manifest.parse(path, then[path]) for path in differing]
    known = tuple(entry for each in manifests for entry in entries(each))
    return EarlierRevision("the earlier revision", known, same, unreadable(manifests), knows_status=False)


def entries(found: Manifest) -> list[AnyDeclaration]:
    return [
        Declaration(document.path, document.index, document.key, decode(document.kind, document.body))
        for document in found.documents
    ]


def unreadable(manifests: list[Manifest]) -> tuple[str, ...]:
    """Files that may hold anything."""
    return tuple(each.path for each in manifests if each.is_malformed and not each.invalid)
