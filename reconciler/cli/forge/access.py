"""What a forge's rules allow, in words that all forges share. Pure.

A forge module reads the rules and answers three questions: who may write a branch (`BranchAccess`), who may write tags, and which of the hosts'
accounts administer the repository. `attacks` judges the answers, and knows no forge.

Must never happen: an answer that was not read, or not understood, counts as a refusal. So `Writers` says in a field why it is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Writers:
    """Who may do one thing. `names` are accounts as the forge calls them, and groups of which the members are not known (`team:x`).
    `is_every_writer` means each account and key with the right to write. `unknown` says why this could not be read."""

    names: frozenset[str] = frozenset()
    is_every_writer: bool = False
    unknown: str = ""

    def union(self, other: Writers) -> Writers:
        return Writers(
            self.names | other.names,
            self.is_every_writer or other.is_every_writer,
            self.unknown or other.unknown,
        )

    def intersection(self, other: Writers) -> Writers:
        """Who is in both. What is not known stays so, unless no name can be in it."""
        if self == NO_WRITER or other == NO_WRITER:
            return NO_WRITER
        if self.is_every_writer:
            return other if not self.unknown else Writers(other.names, other.is_every_writer, self.unknown)
        names = self.names if other.is_every_writer else self.names & other.names
        return Writers(names, False, self.unknown or other.unknown)


NO_WRITER = Writers()
EVERY_WRITER = Writers(is_every_writer=True)


@dataclass(frozen=True, slots=True)
class Review:
    """What a merge into the branch needs. `keeps_stale` says whether an approval still counts after another push; None is not known."""

    approvals: int
    approvers: Writers
    keeps_stale: bool | None


NO_REVIEW = Review(0, EVERY_WRITER, True)


@dataclass(frozen=True, slots=True)
class BranchAccess:
    """`rule` names the rules that apply; empty, there is none. `merge` is by a pull request, through the forge's API or pages."""

    rule: str
    push: Writers
    merge: Writers
    force: Writers
    review: Review = NO_REVIEW


UNPROTECTED = BranchAccess("", EVERY_WRITER, EVERY_WRITER, EVERY_WRITER)


def unknown_access(why: str) -> BranchAccess:
    """Of a branch whose rules could not be read."""
    unread = Writers(unknown=why)
    return BranchAccess("", unread, unread, unread, Review(0, unread, None))


class Forge(Protocol):
    """The rules of one repository. Reading them may fail in part; what failed is in the answers."""

    covers_other_refs: bool  # whether its rules cover refs beside branches and tags

    def branch(self, name: str) -> BranchAccess: ...

    def tags(self) -> Writers: ...

    def administrators(self, hosts: Iterable[str]) -> Writers:
        """Which of these accounts may change the rules."""

    def cure(self, attack: str, branch: str) -> str:
        """The change that refuses the attack, as a call of the forge's API where it has one."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Who is who on the forge. `hosts` maps poollets to accounts; `people` are accounts and groups that may merge. `audit` is empty where
    nothing is recorded."""

    hosts: Mapping[str, str]
    reconciler: str
    people: frozenset[str] = frozenset()
    source: str = "main"
    target: str = "live"
    reports: str = "refs/heads/gitvirt/poollets/"
    audit: str = ""
    accounts: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "accounts", frozenset(self.hosts.values()))

    @property
    def report_branches(self) -> str:
        """The beginning of the names of report branches; empty where reports are other refs."""
        return branch_prefix(self.reports)

    @property
    def audit_branches(self) -> str:
        """The same for inputs of the audit trail."""
        return branch_prefix(self.audit)


def branch_prefix(ref: str) -> str:
    """What names of branches below a ref begin with; empty where it holds no branches."""
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else ""
