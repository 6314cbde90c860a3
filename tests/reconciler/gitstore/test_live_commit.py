"""A reconciler's commit on `live` is told from a forge's merge by its form."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from reconciler.gitstore.live_commit import reconciled_source, why_foreign
from reconciler.gitstore.objects.commit import Commit, decode_commit, encode_commit
from reconciler.gitstore.repo import Identity

OWN, SOURCE, BRANCH = "1" * 40, "2" * 40, "3" * 40
NAMES, REPLACES = f"Source-Commit: {SOURCE}", f"Replaced-Commit: {BRANCH}"
TIME = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def commit(parents: tuple[str, ...], *trailers: str) -> Commit:
    message = "\n\n".join(part for part in ("subject", "\n".join(trailers)) if part)
    return Commit("4" * 40, parents, Identity("gitvirt", "gitvirt@localhost"), TIME, message)


@pytest.mark.parametrize(
    ("parents", "trailers"),
    [
        pytest.param((OWN,), (NAMES,), id="a change"),
        pytest.param((OWN, SOURCE), (NAMES, "Reconciler: a"), id="a source commit is merged"),
        pytest.param((SOURCE,), (NAMES,), id="the first commit"),
        pytest.param((OWN, BRANCH), (NAMES, REPLACES), id="a foreign commit is replaced"),
        pytest.param((OWN, SOURCE, BRANCH), (NAMES, REPLACES), id="and a source commit is merged"),
    ],
)
def test_a_reconcilers_commit_names_its_source(parents: tuple[str, ...], trailers: tuple[str, ...]) -> None:
    found = commit(parents, *trailers)
    assert (reconciled_source(found), why_foreign(found)) == (SOURCE, "")


@pytest.mark.parametrize(
    ("parents", "trailers", "why"),
    [
        pytest.param((OWN, BRANCH), (), "it names no Source-Commit", id="a merge"),
        pytest.param((OWN,), (), "it names no Source-Commit", id="a push or a squash"),
        pytest.param(
            (OWN, BRANCH), (NAMES,), "it merges a commit that it does not name", id="a merge with a trailer"
        ),
        pytest.param((OWN,), (NAMES, NAMES), "it names several Source-Commit", id="two trailers"),
    ],
)
def test_a_commit_of_others_does_not(parents: tuple[str, ...], trailers: tuple[str, ...], why: str) -> None:
    found = commit(parents, *trailers)
    assert (reconciled_source(found), why_foreign(found)) == (None, why)


@pytest.mark.parametrize(
    "person",
    [b"GitHub <noreply@github.com> 1777896000 +0000", b"gitvirt <gitvirt@localhost> 1777896001 +0000"],
)
def test_a_commit_of_two_persons_or_times_is_a_forges(person: bytes) -> None:
    data = encode_commit(commit((OWN,), NAMES))
    assert reconciled_source(decode_commit(data)) == SOURCE
    head, _, rest = data.partition(b"\ncommitter ")
    found = decode_commit(head + b"\ncommitter " + person + rest[rest.index(b"\n") :])
    assert (reconciled_source(found), why_foreign(found)) == (None, "its author is not its committer")
