"""A repository on each forge that is set up as docs/forges.md says, with two hosts: nothing is allowed there."""

from __future__ import annotations

from tests.servers.forge_rules import (
    RulesForge,
    gitea_rule,
    gitea_tags,
    gitlab_branch,
    gitlab_levels,
    installations,
    pull_request_rule,
    ruleset,
)

GITEA, GITHUB, GITLAB = "/api/v1/repos/ops/fleet", "/repos/ops/fleet", "/projects/ops%2Ffleet"
REPORTS = "gitvirt/poollets/"
WORDS = {
    "gitea": "--kind gitea --reconciler robot --host rack-a --host rack-b=robot-b --people ann --people bob",
    "github": "--kind github --reconciler app:100 --host rack-a=app:1 --host rack-b=app:2 --people role:4",
    "gitlab": "--kind gitlab --reconciler key:robot --host rack-a=key:rack-a --host rack-b=key:rack-b --people role:40",
}
PEOPLE = ["ann", "bob"]


def gitea_own(host: str, account: str, number: int) -> dict[str, object]:
    return gitea_rule(
        f"{REPORTS}{host}", number, enable_push=True, enable_push_whitelist=True, push_whitelist_usernames=[account],
        enable_force_push=True, enable_force_push_allowlist=True, force_push_allowlist_usernames=[account],
        enable_merge_whitelist=True,
    )  # fmt: skip


def set_up_gitea(forge: RulesForge) -> None:
    main = gitea_rule(
        "main", 1, required_approvals=1, enable_merge_whitelist=True, merge_whitelist_usernames=PEOPLE,
        enable_approvals_whitelist=True, approvals_whitelist_username=PEOPLE, dismiss_stale_approvals=True,
    )  # fmt: skip
    live = gitea_rule(
        "live", 2, enable_push=True, enable_push_whitelist=True, push_whitelist_usernames=["robot"], enable_merge_whitelist=True,
    )  # fmt: skip
    rest = gitea_rule(
        "**", 9, enable_push=True, enable_push_whitelist=True, push_whitelist_usernames=PEOPLE,
        enable_merge_whitelist=True, merge_whitelist_usernames=PEOPLE,
    )  # fmt: skip
    rules = [main, live, gitea_own("rack-a", "rack-a", 3), gitea_own("rack-b", "robot-b", 4), rest]
    forge.answers = {
        f"{GITEA}/branch_protections": rules,
        f"{GITEA}/tag_protections": [gitea_tags("/.*/", "ann")],
    }
    for name in ("robot", "rack-a", "robot-b"):
        answer = {"permission": "write", "role_name": "write", "user": {"login": name}}
        forge.answers[f"{GITEA}/collaborators/{name}/permission"] = answer


def set_up_github(forge: RulesForge) -> None:
    writer = [{"actor_id": 4, "actor_type": "RepositoryRole", "bypass_mode": "always"}]
    own = [f"refs/heads/{REPORTS}rack-a", f"refs/heads/{REPORTS}rack-b"]
    listed = [
        ruleset(1, "refs/heads/main", "deletion non_fast_forward", rules=[pull_request_rule()]),
        ruleset(2, "refs/heads/live", "creation update deletion non_fast_forward", 100),
        ruleset(3, own[0], "creation update deletion", 1),
        ruleset(4, own[1], "creation update deletion", 2),
        ruleset(
            5, "~ALL", "creation update deletion", actors=writer, exclude=["refs/heads/main", "refs/heads/live", *own]
        ),
        ruleset(6, "~ALL", "creation update deletion", target="tag"),
    ]  # fmt: skip
    forge.answers = {
        GITHUB: {"id": 1, "full_name": "ops/fleet", "default_branch": "main"},
        f"{GITHUB}/rulesets": listed,
    }
    forge.answers |= {f"{GITHUB}/rulesets/{each['id']}": each for each in listed}
    contents = {"contents": "write", "metadata": "read"}
    forge.answers["/orgs/ops/installations"] = installations(app_100=contents, app_1=contents, app_2=contents)


def set_up_gitlab(forge: RulesForge) -> None:
    none, maintainers = gitlab_levels(0), gitlab_levels(40)
    forge.answers = {
        f"{GITLAB}/protected_branches": [
            gitlab_branch("main", none, maintainers),
            gitlab_branch("live", gitlab_levels("key:10"), none),
            gitlab_branch(f"{REPORTS}rack-a", gitlab_levels("key:11"), none, force=True),
            gitlab_branch(f"{REPORTS}rack-b", gitlab_levels("key:12"), none, force=True),
            gitlab_branch("*", maintainers, none),
        ],
        f"{GITLAB}/deploy_keys": [
            {"id": id, "title": title, "key": "ssh-ed25519 A", "created_at": "x", "can_push": True}
            for id, title in ((10, "robot"), (11, "rack-a"), (12, "rack-b"))
        ],
        f"{GITLAB}/members/all": [{"id": 7, "username": "ann", "access_level": 40}],
        f"{GITLAB}/protected_tags": [{"name": "*", "create_access_levels": maintainers}],
        f"{GITLAB}/approvals": {"reset_approvals_on_push": True, "merge_requests_author_approval": False},
        f"{GITLAB}/approval_rules": [
            {
                "id": 1, "name": "people", "rule_type": "regular", "approvals_required": 1, "users": [], "groups": [],
                "eligible_approvers": [{"id": 7, "username": "ann"}], "protected_branches": [],
                "applies_to_all_protected_branches": True,
            }
        ],
    }  # fmt: skip
