"""A manifest that a client sends: its documents, and what a client may send at all. Pure.

A client works in its namespaces. So only kinds that belong to a namespace and that machines need are taken: no class, no pool, no quota, and
never gitvirt.yaml. Its commits must say nothing to the reconciler but what is in the manifest: a subject is one line and not a
trailer, and a path is a manifest outside of folders that begin with a dot, where approvals are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import grpc

from reconciler.cli.import_objects import path_of
from reconciler.link.client_calls import CallRefusedError
from schemas import manifest
from schemas.kinds import Key, Kind
from schemas.manifest import Document
from schemas.manifest.ignore import is_manifest
from schemas.problem import Problem, Severity

KINDS = frozenset(
    (Kind.MACHINE, Kind.VOLUME, Kind.VOLUME_SNAPSHOT, Kind.NETWORK, Kind.NETWORK_INTERFACE, Kind.SECRET)
)
STREAM = "<manifest>"
LONGEST_SUBJECT, LONGEST_PATH = 120, 200
PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]*")
REQUEST_KEY = re.compile(r"[A-Za-z0-9._:-]{1,128}")
TRAILER = re.compile(r"[A-Za-z0-9-]+\s*:\s.*")
MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class ClientManifest:
    data: bytes
    documents: tuple[Document, ...]

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(each.key for each in self.documents)

    @property
    def namespaces(self) -> set[str]:
        return {key.namespace for key in self.keys}

    @property
    def machines(self) -> tuple[Key, ...]:
        return tuple(key for key in self.keys if key.kind is Kind.MACHINE)


def read_manifest(data: bytes) -> ClientManifest:
    """Raises CallRefusedError for one that has errors by itself, declares nothing, or has what a client may not send."""
    found = manifest.parse(STREAM, data)
    refuse_problems(found.problems)
    if found.foreign or not found.documents:
        cause = "has a document of a kind that gitvirt does not have" if found.foreign else "declares nothing"
        raise refuse(f"the manifest {cause}; send documents of {list_kinds()}")
    for each in found.documents:
        if each.kind not in KINDS:
            words = f"{each.key} is not for a client to write: it concerns more than its namespaces"
            raise CallRefusedError(
                grpc.StatusCode.PERMISSION_DENIED,
                f"{words}; clients write {list_kinds()}, and people the rest by pull request",
            )
    return ClientManifest(data, found.documents)


def list_kinds() -> str:
    *first, last = sorted(kind.value for kind in KINDS)
    return f"{', '.join(first)} and {last}"


def refuse(words: str) -> CallRefusedError:
    return CallRefusedError(grpc.StatusCode.INVALID_ARGUMENT, words)


def refuse_problems(problems: Iterable[Problem]) -> None:
    """INVALID_ARGUMENT with each error, as `gitvirt validate` words it. Warnings and notices refuse nothing."""
    errors = [each for each in sorted(problems) if each.severity is Severity.ERROR]
    if not errors:
        return
    lines = [describe(each) for each in errors[:MOST_PROBLEMS]]
    if len(errors) > MOST_PROBLEMS:
        lines.append(f"and {len(errors) - MOST_PROBLEMS} more")
    raise refuse("\n".join(lines))


def describe(problem: Problem) -> str:
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part)
    hint = f"; {problem.hint}" if problem.hint else ""
    return f"{place}: {problem.severity} {problem.code} {problem.message}{hint}"


def check_subject(subject: str) -> None:
    """One line, and not a trailer: what approves a deletion must not come from a client."""
    if len(subject) > LONGEST_SUBJECT or not subject.isprintable() or subject != subject.strip():
        raise refuse(f"the subject is not one line of at most {LONGEST_SUBJECT} characters; shorten it")
    if TRAILER.fullmatch(subject) and subject.lower().startswith(("gitvirt-", "pool-", "source-")):
        raise refuse("the subject has the form of a trailer that the reconciler reads; write it otherwise")


def check_request_key(key: str) -> None:
    if key and not REQUEST_KEY.fullmatch(key):
        raise refuse("request_key is not 1 to 128 letters, digits, '.', '_', ':' or '-'; a UUID is one")


def check_path(path: str) -> None:
    is_plain = PATH.fullmatch(path) is not None and len(path) <= LONGEST_PATH and "//" not in path
    if not is_plain or not is_manifest(path) or any(part.startswith(".") for part in path.split("/")):
        words = "is not the path of a manifest, such as machines/web-1.yaml"
        raise refuse(f"{path[:LONGEST_PATH]!r} {words}; leave it empty, and one is chosen")


def choose_path(found: ClientManifest, taken: Iterable[str]) -> str:
    """By the first machine, else by the first object; with a number where that file is there already."""
    key = next(iter(found.machines), found.keys[0])
    first = path_of(key) if key.kind is not Kind.SECRET else f"secrets/{key.namespace}/{key.name}.yaml"
    path, number, paths = first, 2, set(taken)
    while path in paths:
        path, number = f"{first.removesuffix('.yaml')}.{number}.yaml", number + 1
    return path
