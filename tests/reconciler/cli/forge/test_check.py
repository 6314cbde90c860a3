"""Which attacks each forge's rules allow: none as the guides set them up, and with each gap exactly those of that gap."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.reconciler.cli.forge.checks import SET_UPS, Capture, check, judge, with_verdict
from tests.reconciler.cli.forge.sites import (
    GITEA,
    GITHUB,
    GITLAB,
    REPORTS,
    set_up_gitea,
    set_up_github,
    set_up_gitlab,
)
from tests.servers.forge_rules import (
    RulesForge,
    branch_protection,
    gitea_rule,
    gitea_tags,
    gitlab_branch,
    gitlab_levels,
    pull_request_rule,
)

Change = Callable[[RulesForge], object]
ALL = {
    "live-push", "live-merge", "live-force", "main-push", "main-force", "main-pair", "main-stale", "report-push", "report-merge",
    "report-new", "report-own", "other-branches", "nested-ref", "tags", "administrator",
}  # fmt: skip


@pytest.mark.parametrize("kind", SET_UPS)
def test_a_repository_as_the_guides_set_it_up_refuses_everything(
    forge: RulesForge, capsys: Capture, kind: str
) -> None:
    SET_UPS[kind](forge)
    code, found = judge(forge, kind, capsys)
    assert (with_verdict(found, "refused"), code) == (ALL, Exit.OK), found
    assert not any(each["cure"] for each in found.values())
    assert check(forge, kind) == Exit.OK
    assert "every known attack is refused" in capsys.readouterr().out


def gitea_rules(forge: RulesForge) -> dict[str, dict[str, Any]]:
    listed = forge.answers[f"{GITEA}/branch_protections"]
    assert isinstance(listed, list)
    return {each["rule_name"]: each for each in listed}


def change_gitea(name: str, **fields: object) -> Change:
    return lambda forge: gitea_rules(forge)[name].update(fields)


def drop_gitea(*names: str) -> Change:
    def drop(forge: RulesForge) -> None:
        kept = [rule for name, rule in gitea_rules(forge).items() if name not in names]
        forge.answers[f"{GITEA}/branch_protections"] = kept

    return drop


GITEA_GAPS: dict[str, tuple[Change, set[str]]] = {
    "the merge list of live is off": (change_gitea("live", enable_merge_whitelist=False), {"live-merge"}),
    "the push list of live is off": (change_gitea("live", enable_push_whitelist=False), {"live-push"}),
    "live has files without protection": (change_gitea("live", unprotected_file_patterns="*.md"), {"live-push"}),
    "live may be force-pushed": (
        change_gitea("live", enable_push_whitelist=False, enable_force_push=True), {"live-push", "live-force"},
    ),
    "a host pushes to main": (
        change_gitea("main", enable_push=True, enable_push_whitelist=True, push_whitelist_usernames=["rack-a"]), {"main-push"},
    ),
    "the reconciler pushes to main": (
        change_gitea("main", enable_push=True, enable_push_whitelist=True, push_whitelist_usernames=["robot"]), {"main-push"},
    ),
    "both lists of main are off": (
        change_gitea("main", enable_merge_whitelist=False, enable_approvals_whitelist=False), {"main-pair"},
    ),
    "the merge list of main is off, and no approval is needed": (
        change_gitea("main", enable_merge_whitelist=False, required_approvals=0), {"main-pair"},
    ),
    "stale approvals count, and hosts push everywhere": (
        lambda forge: [change_gitea("main", dismiss_stale_approvals=False)(forge), drop_gitea("**")(forge)],
        {"main-stale", "other-branches", "nested-ref", "report-new"},
    ),
    "no rule for the rest": (drop_gitea("**"), {"other-branches", "nested-ref", "report-new"}),
    "the rule for the rest does not cross folders": (
        change_gitea("**", rule_name="*"), {"nested-ref", "report-new"},
    ),
    "a host's report has no rule, nor has the rest": (
        drop_gitea("**", f"{REPORTS}rack-a"),
        {"other-branches", "nested-ref", "report-new", "report-push", "report-merge"},
    ),
    "the merge list of a report is off": (
        change_gitea(f"{REPORTS}rack-b", enable_merge_whitelist=False), {"report-merge"},
    ),
    "another host is on the list of a report": (
        change_gitea(f"{REPORTS}rack-b", push_whitelist_usernames=["rack-a", "robot-b"]), {"report-push"},
    ),
    "the rule for the rest comes first": (change_gitea("**", priority=0), {"report-own"}),
    "a host came later, and ranks below the rest": (
        change_gitea(f"{REPORTS}rack-b", priority=99), {"report-own"},
    ),
    "no rule for tags": (lambda forge: forge.answers.update({f"{GITEA}/tag_protections": []}), {"tags"}),
    "a rule for some tags": (
        lambda forge: forge.answers.update({f"{GITEA}/tag_protections": [gitea_tags("v*", "ann")]}), {"tags"},
    ),
    "a host administers": (
        lambda forge: forge.answers.update({f"{GITEA}/collaborators/rack-a/permission": {"permission": "admin"}}),
        {"administrator"},
    ),
    "a repository without any rule": (
        lambda forge: forge.answers.update({f"{GITEA}/branch_protections": [], f"{GITEA}/tag_protections": []}),
        ALL - {"administrator", "report-own"},
    ),
    "one as the guide was before": (
        lambda forge: forge.answers.update({
            f"{GITEA}/branch_protections": [
                gitea_rule("main", 1, required_approvals=1),
                gitea_rule("live", 2, enable_push=True, enable_push_whitelist=True, push_whitelist_usernames=["robot"]),
                *(gitea_rules(forge)[f"{REPORTS}{name}"] | {"enable_merge_whitelist": False} for name in ("rack-a", "rack-b")),
            ],
            f"{GITEA}/tag_protections": [],
        }),
        {"live-merge", "report-merge", "main-stale", "main-pair", "nested-ref", "tags", "other-branches", "report-new"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "want"), GITEA_GAPS.values(), ids=GITEA_GAPS)
def test_each_gap_on_gitea_allows_its_attacks(
    forge: RulesForge, capsys: Capture, change: Change, want: set[str]
) -> None:
    set_up_gitea(forge)
    change(forge)
    code, found = judge(forge, "gitea", capsys)
    assert (with_verdict(found, "allowed"), code) == (want, Exit.PROBLEMS)
    assert with_verdict(found, "cannot tell") == set()
    for attack in want:
        assert found[attack]["cure"].startswith(("PATCH /repos/ops/fleet/", "POST /repos/", "PUT /repos/"))


def rulesets(forge: RulesForge, number: int) -> dict[str, Any]:
    found = forge.answers[f"{GITHUB}/rulesets/{number}"]
    assert isinstance(found, dict)
    return found


def change_github(number: int, **fields: object) -> Change:
    return lambda forge: rulesets(forge, number).update(fields)


def rules_of(number: int, types: str) -> Change:
    return change_github(number, rules=[{"type": each} for each in types.split()])


def drop_github(*numbers: int) -> Change:
    def drop(forge: RulesForge) -> None:
        listed = forge.answers[f"{GITHUB}/rulesets"]
        assert isinstance(listed, list)
        forge.answers[f"{GITHUB}/rulesets"] = [each for each in listed if each["id"] not in numbers]

    return drop


def permit(app: int, **permissions: str) -> Change:
    def change(forge: RulesForge) -> None:
        answer = forge.answers["/orgs/ops/installations"]
        assert isinstance(answer, dict)
        next(each for each in answer["installations"] if each["app_id"] == app)["permissions"] |= permissions

    return change


def app(number: int, mode: str = "always") -> dict[str, object]:
    return {"actor_id": number, "actor_type": "Integration", "bypass_mode": mode}


def pull_requests(forge: RulesForge) -> None:
    permit(1, pull_requests="write")(forge)


def keep_stale(**more: object) -> Change:
    found = [{"type": "non_fast_forward"}, pull_request_rule(dismiss_stale_reviews_on_push=False, **more)]
    return lambda forge: [change_github(1, rules=found)(forge), drop_github(5)(forge)]


GITHUB_GAPS: dict[str, tuple[Change, set[str]]] = {
    "no ruleset for live": (
        lambda forge: [drop_github(2)(forge), rulesets(forge, 5).update(bypass_actors=[app(1)])],
        {"live-push", "live-merge", "live-force", "other-branches", "nested-ref", "report-new"},
    ),
    "live may be created again": (rules_of(2, "update deletion non_fast_forward"), {"live-push"}),
    "updates of live are not restricted": (rules_of(2, "creation non_fast_forward"), {"live-push", "live-merge"}),
    "a host may bypass live by pull requests": (
        change_github(2, bypass_actors=[app(100), app(2, "pull_request")]), {"live-merge"},
    ),
    "the ruleset of live is only tried": (
        lambda forge: [each.update(enforcement="evaluate") for each in list(forge.answers[f"{GITHUB}/rulesets"])[1:2]],
        {"live-push", "live-merge", "live-force"},
    ),
    "a host may approve, and the other one merges": (
        pull_requests, {"main-pair"},
    ),
    "no approval is needed": (
        change_github(1, rules=[{"type": "non_fast_forward"}, pull_request_rule(required_approving_review_count=0)]),
        {"main-pair"},
    ),
    "approvals outlive a push, and hosts push everywhere": (
        keep_stale(), {"main-stale", "other-branches", "nested-ref", "report-new"},
    ),
    "a second look at the last push helps": (
        keep_stale(require_last_push_approval=True), {"other-branches", "nested-ref", "report-new"},
    ),
    "the rest is covered by one level only": (
        change_github(5, conditions={"ref_name": {"include": ["refs/heads/*"], "exclude": ["refs/heads/main", "refs/heads/live"]}}),
        {"nested-ref", "report-new"},
    ),
    "one App for all hosts": (
        lambda forge: rulesets(forge, 4).update(bypass_actors=[app(1), app(2)]), {"report-push", "report-merge"},
    ),
    "no ruleset for tags": (drop_github(6), {"tags"}),
    "a ruleset for tags without a slash": (
        change_github(6, conditions={"ref_name": {"include": ["refs/tags/*"], "exclude": []}}), {"tags"},
    ),
    "a host administers": (permit(2, administration="write"), {"administrator"}),
}  # fmt: skip


@pytest.mark.parametrize(("change", "want"), GITHUB_GAPS.values(), ids=GITHUB_GAPS)
def test_each_gap_on_github_allows_its_attacks(
    forge: RulesForge, capsys: Capture, change: Change, want: set[str]
) -> None:
    set_up_github(forge)
    change(forge)
    code, found = judge(forge, "github", capsys)
    assert (with_verdict(found, "allowed") - {"report-merge"}, code) == (
        want - {"report-merge"},
        Exit.PROBLEMS,
    )
    assert all(found[attack]["cure"] for attack in want)


def test_the_older_protection_of_a_branch_counts_on_github(forge: RulesForge, capsys: Capture) -> None:
    set_up_github(forge)
    drop_github(1)(forge)
    assert {"main-push", "main-pair", "main-force"} <= with_verdict(
        judge(forge, "github", capsys)[1], "allowed"
    )
    path = f"{GITHUB}/branches/main/protection"
    forge.answers[path] = branch_protection()
    assert judge(forge, "github", capsys)[0] == Exit.OK
    forge.answers[path] = branch_protection(allow_force_pushes={"enabled": True})
    assert judge(forge, "github", capsys)[0] == Exit.OK, "only those who may push"
    forge.answers[path] = branch_protection(required_pull_request_reviews=None)
    found = judge(forge, "github", capsys)[1]
    assert {"main-push", "main-pair"} <= with_verdict(found, "allowed")
    apps = {"users": [], "teams": [], "apps": [{"id": 1, "slug": "rack-a"}]}
    forge.answers[path] = branch_protection(required_pull_request_reviews=None, restrictions=apps)
    assert judge(forge, "github", capsys)[1]["main-push"]["why"] == "app:1 may (branch protection)"


def in_turn(*changes: Change) -> Change:
    return lambda forge: [each(forge) for each in changes]


def gitlab_rules(forge: RulesForge, *changed: dict[str, Any], without: tuple[str, ...] = ()) -> None:
    listed = forge.answers[f"{GITLAB}/protected_branches"]
    assert isinstance(listed, list)
    known = {each["name"]: each for each in listed} | {each["name"]: each for each in changed}
    forge.answers[f"{GITLAB}/protected_branches"] = [
        each for name, each in known.items() if name not in without
    ]


NONE = gitlab_levels(0)
KEY = gitlab_levels("key:10")


def add_member(forge: RulesForge, level: int) -> None:
    """rack-a's key is replaced by a user of that role."""
    members = forge.answers[f"{GITLAB}/members/all"]
    assert isinstance(members, list)
    members.append({"id": 8, "username": "key:rack-a", "access_level": level})


GITLAB_GAPS: dict[str, tuple[Change, set[str]]] = {
    "another key may push to live": (
        lambda forge: gitlab_rules(forge, gitlab_branch("live", gitlab_levels("key:10", "key:12"), NONE)), {"live-push"},
    ),
    "rules add up": (
        lambda forge: gitlab_rules(forge, gitlab_branch("l*", gitlab_levels("key:11"), NONE)), {"live-push"},
    ),
    "developers merge into live, and a host is one": (
        in_turn(lambda forge: gitlab_rules(forge, gitlab_branch("live", KEY, gitlab_levels(30))), lambda forge: add_member(forge, 30)), {"live-merge"},
    ),
    "live may be force-pushed by a host": (
        lambda forge: gitlab_rules(forge, gitlab_branch("live", gitlab_levels("key:11"), NONE, force=True)),
        {"live-push", "live-force"},
    ),
    "no rule for the rest": (
        lambda forge: gitlab_rules(forge, without=("*",)), {"other-branches", "nested-ref", "report-new"},
    ),
    "approvals outlive a push, and hosts push everywhere": (
        in_turn(
            lambda forge: gitlab_rules(forge, without=("*",)),
            lambda forge: forge.answers.update({f"{GITLAB}/approvals": {"reset_approvals_on_push": False}}),
        ),
        {"other-branches", "nested-ref", "report-new", "main-stale"},
    ),
    "no rule for a report, nor for the rest": (
        lambda forge: gitlab_rules(forge, without=("*", f"{REPORTS}rack-a")),
        {"other-branches", "nested-ref", "report-new", "report-push", "report-merge"},
    ),
    "a report cannot be replaced": (
        lambda forge: gitlab_rules(forge, gitlab_branch(f"{REPORTS}rack-a", gitlab_levels("key:11"), NONE)), {"report-own"},
    ),
    "no rule for tags": (lambda forge: forge.answers.update({f"{GITLAB}/protected_tags": []}), {"tags"}),
    "a host may create tags": (
        lambda forge: forge.answers.update({f"{GITLAB}/protected_tags": [{"name": "*", "create_access_levels": gitlab_levels("key:11")}]}),
        {"tags"},
    ),
    "a host is a maintainer": (lambda forge: add_member(forge, 40), {"administrator", "live-push", "main-push"}),
}  # fmt: skip


@pytest.mark.parametrize(("change", "want"), GITLAB_GAPS.values(), ids=GITLAB_GAPS)
def test_each_gap_on_gitlab_allows_its_attacks(
    forge: RulesForge, capsys: Capture, change: Change, want: set[str]
) -> None:
    set_up_gitlab(forge)
    change(forge)
    code, found = judge(forge, "gitlab", capsys)
    assert want <= with_verdict(found, "allowed")
    if "administrator" not in want:
        assert with_verdict(found, "allowed") == want
    assert code == Exit.PROBLEMS
    assert all(found[attack]["cure"] for attack in want)


def test_the_calls_of_the_guide_for_gitea_refuse_everything(forge: RulesForge, capsys: Capture) -> None:
    """Their fields are Gitea's, and what they leave out is as Gitea creates it."""
    page = (Path(__file__).parents[4] / "docs/forges.md").read_text()
    bodies = [
        json.loads(found) for found in re.findall(r"^rule '(\{.*?\})'$", page, re.MULTILINE | re.DOTALL)
    ]
    (tags,) = (json.loads(found) for found in re.findall(r"-d '(\{\"name_pattern.*?\})'", page))
    set_up_gitea(forge)
    rules = [gitea_rule(each.pop("rule_name"), number, **each) for number, each in enumerate(bodies, start=1)]
    assert [each["rule_name"] for each in rules] == ["main", "live", f"{REPORTS}rack-a1", "**"]
    forge.answers |= {
        f"{GITEA}/branch_protections": rules,
        f"{GITEA}/tag_protections": [gitea_tags(tags["name_pattern"], *tags["whitelist_usernames"])],
    }
    for name in ("gitvirt", "rack-a1"):
        forge.answers[f"{GITEA}/collaborators/{name}/permission"] = {"permission": "write"}
    words = f"forge check {forge.url}/ops/fleet --kind gitea --token-file token --reconciler gitvirt --host rack-a1 --people ann --people bob"
    assert main(words.split()) == Exit.OK, capsys.readouterr().out


def test_gitlab_without_approval_rules_relies_on_who_may_merge(forge: RulesForge, capsys: Capture) -> None:
    """They are a paid feature, and a 404 elsewhere."""
    set_up_gitlab(forge)
    del forge.answers[f"{GITLAB}/approvals"], forge.answers[f"{GITLAB}/approval_rules"]
    assert judge(forge, "gitlab", capsys)[0] == Exit.OK


@pytest.mark.parametrize("kind", SET_UPS)
def test_reports_in_other_refs_are_not_covered_by_rules(
    forge: RulesForge, capsys: Capture, kind: str
) -> None:
    SET_UPS[kind](forge)
    code, found = judge(forge, kind, capsys, "--reports", "refs/poollets/")
    assert (with_verdict(found, "allowed"), code) == ({"report-push"}, Exit.PROBLEMS)
    assert "poollets.<name>.signers" in found["report-push"]["cure"]


def test_a_group_that_is_not_named_as_people_is_not_taken_for_them(
    forge: RulesForge, capsys: Capture
) -> None:
    set_up_gitea(forge)
    change_gitea("main", merge_whitelist_teams=["ops"], approvals_whitelist_teams=["ops"])(forge)
    code, found = judge(forge, "gitea", capsys)
    assert (with_verdict(found, "cannot tell"), code) == ({"main-pair"}, Exit.FAILED)
    assert "team:ops may (rule main): name it with --people if no host is in it" in found["main-pair"]["why"]
    assert judge(forge, "gitea", capsys, "--people", "team:ops")[0] == Exit.OK


def test_gitea_before_1_23_and_forgejo_have_neither_priority_nor_force_pushes(
    forge: RulesForge, capsys: Capture
) -> None:
    set_up_gitea(forge)
    for rule in gitea_rules(forge).values():
        del rule["priority"], rule["enable_force_push"]
    rules = list(gitea_rules(forge).values())
    forge.answers[f"{GITEA}/branch_protections"] = [*reversed(rules)]
    found = judge(forge, "gitea", capsys)[1]
    assert with_verdict(found, "allowed") == {"report-own"}, "plain names come before patterns"


def test_lists_are_read_page_by_page(forge: RulesForge, capsys: Capture) -> None:
    for kind, set_up in SET_UPS.items():
        set_up(forge)
        forge.page_size = 2
        assert judge(forge, kind, capsys)[0] == Exit.OK, kind
    forge.has_pages = False
    set_up_gitea(forge)
    assert judge(forge, "gitea", capsys)[0] == Exit.OK
