"""Judges by a forge's rules which of the known attacks a host's credentials allow. Pure.

Theory of operation
-------------------
Each attack is judged for each host, since an allow-list may name one of them. The worst answer counts:

    allowed        a host, or every account with the right to write, may do it
    cannot tell    the rules could not be read, or allow an account or group that nothing names as host, reconciler or person
    refused        all that are allowed are known, and none of them is a host

Must never happen: "refused" for something that was not read. A new field of a forge, a group, or an answer of another form is "cannot tell".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from reconciler.cli.forge.access import BranchAccess, Fleet, Forge, Writers

# Names that no rule was written for: of a person's branch, and of the report of a host that is not set up yet.
OTHER_BRANCH = "a-branch-of-a-person"
NEW_HOST = "a-host-without-a-rule"
FAR_MONTH = "9999-12"  # of inputs: a rule for one month alone ends with it
ONLY_BRANCHES = "rules of this forge cover branches and tags only"


class Verdict(StrEnum):
    """The better ones first."""

    REFUSED = "refused"
    UNKNOWN = "cannot tell"
    ALLOWED = "allowed"


@dataclass(frozen=True, slots=True)
class AttackResult:
    """`attack` is a stable id; `what` says it in words. `cure` is empty where it is refused."""

    attack: str
    what: str
    verdict: Verdict
    why: str
    cure: str = ""


def judge(forge: Forge, fleet: Fleet) -> tuple[AttackResult, ...]:
    """All attacks, in the order of their damage."""
    return tuple(
        AttackResult(each.attack, each.what, each.verdict, each.why, _cure(forge, fleet, each))
        for each in _results(forge, fleet)
    )


def _cure(forge: Forge, fleet: Fleet, found: AttackResult) -> str:
    if found.verdict is Verdict.REFUSED:
        return ""
    branch = {
        "live": fleet.target,
        "main": fleet.source,
        "report": fleet.report_branches and f"{fleet.report_branches}{next(iter(fleet.hosts))}",
        "nested": f"refs/heads/{fleet.target}",
        "audit": fleet.audit_branches and f"{fleet.audit_branches}*",
    }.get(found.attack.partition("-")[0], "")
    return forge.cure(found.attack, branch)


def _results(forge: Forge, fleet: Fleet) -> Iterator[AttackResult]:
    live, main, other = (forge.branch(name) for name in (fleet.target, fleet.source, OTHER_BRANCH))
    hosts = fleet.accounts
    yield _judge(fleet, "live-push", f"a host pushes to {fleet.target}", live.push, hosts, live.rule)
    yield _judge(
        fleet, "live-merge", f"a host merges a pull request into {fleet.target}", live.merge, hosts, live.rule
    )
    yield _judge(fleet, "live-force", f"a host force-pushes {fleet.target}", live.force, hosts, live.rule)
    robots = hosts | {fleet.reconciler}
    yield _judge(
        fleet, "main-push", f"a host or the reconciler pushes to {fleet.source}", main.push, robots, main.rule
    )
    yield _judge(fleet, "main-force", f"a host force-pushes {fleet.source}", main.force, hosts, main.rule)
    yield _pair(fleet, main)
    yield _stale(fleet, main, other)
    yield from _reports(forge, fleet)
    if fleet.audit:
        yield from _audit(forge, fleet)
    yield _judge(
        fleet, "other-branches", "a host writes another branch, such as a person's", other.push.union(other.force),
        hosts, other.rule,
    )  # fmt: skip
    nested = forge.branch(f"refs/heads/{fleet.target}")
    what = f"a host creates refs/heads/refs/heads/{fleet.target}"
    yield _judge(fleet, "nested-ref", what, nested.push.union(nested.merge), hosts, nested.rule)
    yield _judge(fleet, "tags", "a host creates tags", forge.tags(), hosts, "the rules of tags")
    admins = forge.administrators(sorted(robots))
    yield _judge(
        fleet, "administrator", "a host or the reconciler may change these rules", admins, robots, "its role"
    )


def _judge(
    fleet: Fleet, attack: str, what: str, who: Writers, robots: Iterable[str], rule: str
) -> AttackResult:
    """`robots` are the accounts that must not be able to."""
    found, by = sorted(who.names & frozenset(robots)), f" ({rule})" if rule else ""
    if found:
        return AttackResult(attack, what, Verdict.ALLOWED, f"{', '.join(found)} may{by}")
    if who.is_every_writer:
        why = f"every account with the right to write may{by}" if rule else "no rule covers it"
        return AttackResult(attack, what, Verdict.ALLOWED, why)
    if who.unknown:
        return AttackResult(attack, what, Verdict.UNKNOWN, who.unknown)
    known = fleet.people | fleet.accounts | {fleet.reconciler}
    if others := sorted(who.names - known):
        why = f"{', '.join(others)} may{by}: name it with --people if no host is in it"
        return AttackResult(attack, what, Verdict.UNKNOWN, why)
    who_may = f"only {', '.join(sorted(who.names))}" if who.names else "no account"
    return AttackResult(attack, what, Verdict.REFUSED, f"{who_may} may{by}")


def _pair(fleet: Fleet, main: BranchAccess) -> AttackResult:
    """One host opens a pull request, another one approves it, and one of them merges. With no approval needed one host is enough."""
    attack, what = "main-pair", f"two hosts open, approve and merge a pull request into {fleet.source}"
    merge = _judge(fleet, attack, what, main.merge, fleet.accounts, main.rule)
    if merge.verdict is Verdict.REFUSED:
        return merge
    needs = main.review
    if needs.approvals == 0 and not needs.approvers.unknown:
        return AttackResult(attack, what, merge.verdict, f"{merge.why}; no approval is required")
    approve = _judge(fleet, attack, what, needs.approvers, fleet.accounts, f"approvals of {fleet.source}")
    if approve.verdict is Verdict.REFUSED:
        return AttackResult(attack, what, Verdict.REFUSED, f"approvals: {approve.why}")
    worst = min(merge, approve, key=lambda each: list(Verdict).index(each.verdict))
    return AttackResult(attack, what, worst.verdict, f"merge: {merge.why}; approvals: {approve.why}")


def _stale(fleet: Fleet, main: BranchAccess, other: BranchAccess) -> AttackResult:
    """A host pushes onto a person's pull request after its approval."""
    attack, what = "main-stale", "a host pushes onto an approved pull request, and the approval stays"
    if main.review.keeps_stale is False and main.review.approvals:
        return AttackResult(attack, what, Verdict.REFUSED, "a push ends the approvals")
    push = _judge(fleet, attack, what, other.push, fleet.accounts, other.rule)
    if push.verdict is Verdict.REFUSED:
        return AttackResult(attack, what, Verdict.REFUSED, f"branches of people: {push.why}")
    if main.review.keeps_stale is None:
        return AttackResult(
            attack, what, Verdict.UNKNOWN, "whether a push ends the approvals could not be read"
        )
    why = "approvals outlive a push" if main.review.approvals else "no approval is required"
    return AttackResult(attack, what, push.verdict, f"{why}; branches of people: {push.why}")


def _reports(forge: Forge, fleet: Fleet) -> Iterator[AttackResult]:
    """Every host against the report of every other one; and whether each can write its own."""
    if not fleet.report_branches:
        what = f"a host writes another host's report ({fleet.reports})"
        if forge.covers_other_refs:
            yield AttackResult("report-push", what, Verdict.UNKNOWN, f"no rules of {fleet.reports} were read")
        else:
            yield AttackResult("report-push", what, Verdict.ALLOWED, ONLY_BRANCHES)
        return
    own = {name: forge.branch(fleet.report_branches + name) for name in fleet.hosts}
    for attack, what in (("report-push", "pushes to"), ("report-merge", "merges a pull request into")):
        yield _worst(
            _judge(
                fleet,
                attack,
                f"a host {what} another host's report",
                each.push.union(each.force) if attack == "report-push" else each.merge,
                _others(fleet, name),
                each.rule or f"of {name}, without a rule",
            )
            for name, each in own.items()
        )
    new = forge.branch(fleet.report_branches + NEW_HOST)
    what = "a host writes the report of a host that has no rule yet"
    yield _judge(fleet, "report-new", what, new.push.union(new.merge), fleet.accounts, new.rule)
    yield _own_report(fleet, own)


def _others(fleet: Fleet, name: str) -> frozenset[str]:
    """Accounts of the other hosts. One that a host shares with this one is among them."""
    return frozenset(account for other, account in fleet.hosts.items() if other != name)


def _own_report(fleet: Fleet, own: dict[str, BranchAccess]) -> AttackResult:
    """Not an attack, but what a wrong order of rules breaks first: a host must be able to replace its own report."""
    attack, what = "report-own", "a rule keeps a host from replacing its own report"
    unread = next((each.force.unknown for each in own.values() if each.force.unknown), "")
    for name, each in own.items():
        may = each.force.is_every_writer or fleet.hosts[name] in each.force.names
        if not may and not each.force.unknown:
            why = f"{fleet.hosts[name]} may not force-push {fleet.report_branches}{name} ({each.rule})"
            return AttackResult(attack, what, Verdict.ALLOWED, why)
    verdict = Verdict.UNKNOWN if unread else Verdict.REFUSED
    return AttackResult(attack, what, verdict, unread or "each host may force-push its own report")


def _audit(forge: Forge, fleet: Fleet) -> Iterator[AttackResult]:
    """Who writes inputs can make `gitvirt audit verify` believe what the reconciler never read; no decision reads them."""
    what = f"a host writes inputs of the audit trail ({fleet.audit})"
    if not fleet.audit_branches:
        verdict = Verdict.UNKNOWN if forge.covers_other_refs else Verdict.ALLOWED
        why = f"no rules of {fleet.audit} were read" if forge.covers_other_refs else ONLY_BRANCHES
        yield AttackResult("audit-push", what, verdict, why)
        return
    month = forge.branch(fleet.audit_branches + FAR_MONTH)
    yield _judge(fleet, "audit-push", what, month.push.union(month.force), fleet.accounts, month.rule)
    what = "a host merges a pull request into inputs of the audit trail"
    yield _judge(fleet, "audit-merge", what, month.merge, fleet.accounts, month.rule)
    yield _own_inputs(fleet, month)


def _own_inputs(fleet: Fleet, month: BranchAccess) -> AttackResult:
    """Not an attack: where the reconciler may not push its inputs, nothing is recorded."""
    attack, what = "audit-own", "a rule keeps the reconciler from recording inputs"
    if month.push.is_every_writer or fleet.reconciler in month.push.names:
        return AttackResult(attack, what, Verdict.REFUSED, f"{fleet.reconciler} may push them")
    if month.push.unknown:
        return AttackResult(attack, what, Verdict.UNKNOWN, month.push.unknown)
    why = f"{fleet.reconciler} may not push {fleet.audit_branches}{FAR_MONTH} ({month.rule})"
    return AttackResult(attack, what, Verdict.ALLOWED, why)


def _worst(findings: Iterable[AttackResult]) -> AttackResult:
    return max(findings, key=lambda each: list(Verdict).index(each.verdict))
