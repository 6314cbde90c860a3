"""Who may write the inputs of the audit trail, by the rules of each forge: only the reconciler, as the guide sets it up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.forge.checks import SET_UPS, Capture, judge, with_verdict
from tests.reconciler.cli.forge.sites import (
    GITEA,
    GITHUB,
    GITLAB,
    set_up_gitea,
    set_up_github,
    set_up_gitlab,
)
from tests.servers.forge_rules import (
    RulesForge,
    gitea_rule,
    gitlab_branch,
    gitlab_levels,
    ruleset,
)

INPUTS = "refs/heads/gitvirt/inputs/"
RULE = "gitvirt/inputs/*"
ATTACKS = {"audit-push", "audit-merge", "audit-own"}


def protect_gitea(forge: RulesForge, name: str = RULE, account: str = "robot", **more: Any) -> None:
    set_up_gitea(forge)
    lists = {"enable_push_whitelist": True, "push_whitelist_usernames": [account]}
    rule = gitea_rule(name, 5, enable_push=True, **{**lists, "enable_merge_whitelist": True, **more})
    rules = forge.answers[f"{GITEA}/branch_protections"]
    assert isinstance(rules, list)
    rules.append(rule)


def protect_github(forge: RulesForge, name: str = RULE, account: int = 100, types: str = "creation update deletion") -> None:  # fmt: skip
    """With the same name left out of the ruleset for the rest."""
    set_up_github(forge)
    made = ruleset(7, f"refs/heads/{name}", f"{types} non_fast_forward", account)
    listed = forge.answers[f"{GITHUB}/rulesets"]
    assert isinstance(listed, list)
    listed.append(made)
    forge.answers[f"{GITHUB}/rulesets/7"] = made
    listed[4]["conditions"]["ref_name"]["exclude"].append(f"refs/heads/{RULE}")


def protect_gitlab(forge: RulesForge, name: str = RULE, key: str = "key:10", merge: int = 0) -> None:
    set_up_gitlab(forge)
    rules = forge.answers[f"{GITLAB}/protected_branches"]
    assert isinstance(rules, list)
    rules.append(gitlab_branch(name, gitlab_levels(key), gitlab_levels(merge)))


PROTECT: dict[str, Callable[[RulesForge], None]] = {
    "gitea": protect_gitea,
    "github": protect_github,
    "gitlab": protect_gitlab,
}


@pytest.mark.parametrize("kind", PROTECT)
def test_inputs_that_have_the_rule_of_live_are_the_reconcilers(
    forge: RulesForge, capsys: Capture, kind: str
) -> None:
    PROTECT[kind](forge)
    code, found = judge(forge, kind, capsys, "--audit", INPUTS)
    assert code == Exit.OK, found
    assert {each["verdict"] for attack, each in found.items() if attack in ATTACKS} == {"refused"}
    assert found.keys() >= ATTACKS


@pytest.mark.parametrize("kind", PROTECT)
def test_inputs_beside_branches_can_be_written_by_every_host(
    forge: RulesForge, capsys: Capture, kind: str
) -> None:
    """No forge has rules for such refs. Nothing else is judged of them."""
    PROTECT[kind](forge)
    code, found = judge(forge, kind, capsys, "--audit", "refs/gitvirt/inputs/")
    assert (with_verdict(found, "allowed"), code) == ({"audit-push"}, Exit.PROBLEMS)
    assert "refs/heads/gitvirt/inputs/" in found["audit-push"]["cure"]
    assert not found.keys() & {"audit-merge", "audit-own"}


@pytest.mark.parametrize("kind", PROTECT)
def test_without_a_rule_of_their_own_the_reconciler_cannot_record(
    forge: RulesForge, capsys: Capture, kind: str
) -> None:
    """The rule for the rest keeps all robots away."""
    SET_UPS[kind](forge)
    code, found = judge(forge, kind, capsys, "--audit", INPUTS)
    assert (with_verdict(found, "allowed"), code) == ({"audit-own"}, Exit.PROBLEMS)
    assert RULE in found["audit-own"]["cure"]


GAPS: dict[str, tuple[str, Callable[[RulesForge], None], set[str]]] = {
    "Gitea: the merge list is off": ("gitea", lambda forge: protect_gitea(forge, enable_merge_whitelist=False), {"audit-merge"}),
    "Gitea: the push list is off": ("gitea", lambda forge: protect_gitea(forge, enable_push_whitelist=False), {"audit-push"}),
    "Gitea: a host is on the list": ("gitea", lambda forge: protect_gitea(forge, account="rack-a"), {"audit-push", "audit-own"}),
    "Gitea: a rule for one month": ("gitea", lambda forge: protect_gitea(forge, "gitvirt/inputs/2026-11"), {"audit-own"}),
    "Gitea: the rule for the rest comes first": ("gitea", lambda forge: protect_gitea(forge, priority=10), {"audit-own"}),
    "GitHub: a host's App": ("github", lambda forge: protect_github(forge, account=1), {"audit-push", "audit-merge", "audit-own"}),
    "GitHub: a ruleset for one month": (
        "github", lambda forge: protect_github(forge, "gitvirt/inputs/2026-11"), {"audit-push", "audit-merge"},
    ),
    "GitHub: updates are not restricted": (
        "github", lambda forge: protect_github(forge, types="creation deletion"), {"audit-push", "audit-merge"},
    ),
    "GitLab: a host's key": ("gitlab", lambda forge: protect_gitlab(forge, key="key:11"), {"audit-push", "audit-own"}),
    "GitLab: a rule for one month": ("gitlab", lambda forge: protect_gitlab(forge, "gitvirt/inputs/2026-11"), {"audit-own"}),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "want"), GAPS.values(), ids=GAPS)
def test_each_gap_allows_its_attacks_and_has_a_cure(
    forge: RulesForge, capsys: Capture, kind: str, change: Callable[[RulesForge], None], want: set[str]
) -> None:
    change(forge)
    code, found = judge(forge, kind, capsys, "--audit", INPUTS)
    assert (with_verdict(found, "allowed"), code) == (want, Exit.PROBLEMS)
    assert all("gitvirt/inputs/*" in found[attack]["cure"] for attack in want)


def test_inputs_are_not_judged_where_nothing_is_recorded(forge: RulesForge, capsys: Capture) -> None:
    set_up_gitea(forge)
    assert not judge(forge, "gitea", capsys, "--audit", "")[1].keys() & ATTACKS
