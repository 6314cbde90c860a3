"""The change that refuses an attack, for each forge, as a call of its API. Data; what a rule means is in the forge's own module.

PATH stands for the repository or project below the API's address, BRANCH for the branch that the rule is for. Words in capitals are for
people to fill in. A call shows the fields that matter; the fields that it leaves out keep their values in a PATCH.
"""

from __future__ import annotations

from collections.abc import Mapping

_NO_RULES_FOR_REFS = (
    "sign reports (signingKey in poollet.yaml) and set poollets.<name>.signers in gitvirt.yaml; or use branches, reports: "
    "{ref: refs/heads/gitvirt/poollets/}, with a rule for each host"
)

_NO_RULES_FOR_INPUTS = (
    "set audit: {ref: refs/heads/gitvirt/inputs/} in gitvirt.yaml, with a rule for gitvirt/inputs/* like that of live; or keep it, and trust only "
    "reports that hosts sign (poollets.<name>.signers): then inputs that others forge do not verify"
)

_GITEA_RULE = (
    "PATCH PATH/branch_protections/BRANCH (POST PATH/branch_protections with rule_name for a new rule) "
)
_GITEA_REST = (
    'POST PATH/branch_protections {"rule_name": "**", "enable_push": true, "enable_push_whitelist": true, '
    '"push_whitelist_usernames": [PEOPLE], "enable_merge_whitelist": true, "merge_whitelist_usernames": [PEOPLE]}, '
    "and keep it last: POST PATH/branch_protections/priority"
)
_GITEA_REPORT = (
    _GITEA_RULE
    + '{"enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": [HOST], "enable_force_push": true, '
    '"enable_force_push_allowlist": true, "force_push_allowlist_usernames": [HOST], "enable_merge_whitelist": true, '
    '"merge_whitelist_usernames": []}: one rule for each host, before the rule **'
)
_GITEA_INPUTS = (
    _GITEA_RULE
    + '{"enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": [RECONCILER], "enable_force_push": false, '
    '"enable_merge_whitelist": true, "merge_whitelist_usernames": []}, before the rule **'
)
GITEA = {
    "live-push": _GITEA_RULE
    + '{"enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": [RECONCILER], '
    '"push_whitelist_teams": [], "push_whitelist_deploy_keys": false, "unprotected_file_patterns": ""}',
    "live-merge": _GITEA_RULE
    + '{"enable_merge_whitelist": true, "merge_whitelist_usernames": [], "merge_whitelist_teams": []}',
    "live-force": _GITEA_RULE + '{"enable_force_push": false}',
    "main-push": _GITEA_RULE + '{"enable_push": false, "unprotected_file_patterns": ""}',
    "main-force": _GITEA_RULE + '{"enable_force_push": false}',
    "main-pair": _GITEA_RULE
    + '{"required_approvals": 1, "enable_merge_whitelist": true, "merge_whitelist_usernames": [PEOPLE], '
    '"enable_approvals_whitelist": true, "approvals_whitelist_username": [PEOPLE]}',
    "main-stale": _GITEA_RULE + '{"required_approvals": 1, "dismiss_stale_approvals": true}',
    "report-push": _GITEA_REPORT,
    "report-merge": _GITEA_RULE
    + '{"enable_merge_whitelist": true, "merge_whitelist_usernames": [], "merge_whitelist_teams": []}',
    "report-own": _GITEA_REPORT + "; force pushes to protected branches need Gitea 1.23",
    "report-new": _GITEA_REST,
    "audit-push": _GITEA_INPUTS,
    "audit-merge": _GITEA_INPUTS,
    "audit-own": _GITEA_INPUTS,
    "other-branches": _GITEA_REST,
    "nested-ref": _GITEA_REST,
    "tags": 'POST PATH/tag_protections {"name_pattern": "/.*/", "whitelist_usernames": [PEOPLE]}',
    "administrator": 'PUT PATH/collaborators/ACCOUNT {"permission": "write"}, and no team or ownership that gives more',
}

_GITHUB_RULESET = (
    'POST PATH/rulesets {"name": NAME, "target": "branch", "enforcement": "active", "conditions": {"ref_name": {"include": ["refs/heads/BRANCH"], '
    '"exclude": []}}, "bypass_actors": [ACTORS], "rules": [RULES]} with '
)
_GITHUB_WRITES = '{"type": "creation"}, {"type": "update"}, {"type": "deletion"}'
_GITHUB_LIVE = (
    _GITHUB_RULESET
    + _GITHUB_WRITES
    + ', {"type": "non_fast_forward"} and {"actor_type": "Integration", "actor_id": APP-OF-THE-RECONCILER, '
    '"bypass_mode": "always"} alone'
)
_GITHUB_MAIN = (
    _GITHUB_RULESET
    + '{"type": "deletion"}, {"type": "non_fast_forward"}, {"type": "pull_request", "parameters": {"required_approving_review_count": 1, '
    '"dismiss_stale_reviews_on_push": true, "require_code_owner_review": false, "require_last_push_approval": false, '
    '"required_review_thread_resolution": false}} and no App as actor'
)
_GITHUB_REPORT = (
    _GITHUB_RULESET
    + _GITHUB_WRITES
    + ' and {"actor_type": "Integration", "actor_id": APP-OF-THE-HOST, "bypass_mode": "always"} alone; '
    "one ruleset and one App for each host"
)
_GITHUB_REST = (
    _GITHUB_RULESET
    + _GITHUB_WRITES
    + ', "include": ["~ALL"], main, live and the reports of hosts under "exclude", and the role of people as actor'
)
_GITHUB_INPUTS = _GITHUB_LIVE + '; and the same name under "exclude" of the ruleset for the rest'
GITHUB = {
    "live-push": _GITHUB_LIVE,
    "live-merge": _GITHUB_LIVE,
    "live-force": _GITHUB_LIVE,
    "main-push": _GITHUB_MAIN,
    "main-force": _GITHUB_MAIN,
    "main-pair": _GITHUB_MAIN + "; and give the Apps of hosts only the permissions Contents and Metadata",
    "main-stale": _GITHUB_MAIN,
    "report-push": _GITHUB_REPORT,
    "report-merge": _GITHUB_REPORT,
    "report-own": _GITHUB_REPORT,
    "report-new": _GITHUB_REST,
    "audit-push": _GITHUB_INPUTS,
    "audit-merge": _GITHUB_INPUTS,
    "audit-own": _GITHUB_INPUTS,
    "other-branches": _GITHUB_REST,
    "nested-ref": _GITHUB_REST,
    "tags": _GITHUB_RULESET + _GITHUB_WRITES + ', "target": "tag" and "include": ["~ALL"]',
    "administrator": "in the settings of the App: no repository permission Administration. Only an organization's owner can read permissions of Apps",
}

_GITLAB_RULE = (
    "DELETE PATH/protected_branches/BRANCH, then POST PATH/protected_branches with name=BRANCH and "
)
_GITLAB_LIVE = (
    _GITLAB_RULE
    + "allowed_to_push[][deploy_key_id]=KEY-OF-THE-RECONCILER, merge_access_level=0, allow_force_push=false"
)
_GITLAB_MAIN = _GITLAB_RULE + "push_access_level=0, merge_access_level=40, allow_force_push=false"
_GITLAB_REPORT = (
    _GITLAB_RULE
    + "allowed_to_push[][deploy_key_id]=KEY-OF-THE-HOST, merge_access_level=0, allow_force_push=true; one rule for each host"
)
_GITLAB_REST = (
    "POST PATH/protected_branches with name=*, push_access_level=40, merge_access_level=0, allow_force_push=false. Rules add up, so no rule may name "
    "more than it is meant for"
)
GITLAB = {
    "live-push": _GITLAB_LIVE,
    "live-merge": _GITLAB_LIVE,
    "live-force": _GITLAB_LIVE,
    "main-push": _GITLAB_MAIN,
    "main-force": _GITLAB_MAIN,
    "main-pair": _GITLAB_MAIN
    + "; hosts as deploy keys, which neither approve nor merge; and where the plan has it POST PATH/approval_rules with "
    "approvals_required=1, user_ids[]=PERSON, applies_to_all_protected_branches=true",
    "main-stale": "POST PATH/approvals with reset_approvals_on_push=true; and " + _GITLAB_REST,
    "report-push": _GITLAB_REPORT,
    "report-merge": _GITLAB_REPORT,
    "report-own": _GITLAB_REPORT,
    "report-new": _GITLAB_REST,
    "audit-push": _GITLAB_LIVE,
    "audit-merge": _GITLAB_LIVE,
    "audit-own": _GITLAB_LIVE,
    "other-branches": _GITLAB_REST,
    "nested-ref": _GITLAB_REST,
    "tags": "POST PATH/protected_tags with name=*, create_access_level=40",
    "administrator": "give hosts deploy keys, or at most the role Developer; check the names after --host and --reconciler",
}


def describe_cure(table: Mapping[str, str], attack: str, path: str, branch: str) -> str:
    """Reports and inputs without a branch are refs that no forge has rules for."""
    if attack == "report-push" and not branch:
        return _NO_RULES_FOR_REFS
    if attack == "audit-push" and not branch:
        return _NO_RULES_FOR_INPUTS
    return table[attack].replace("PATH", path).replace("BRANCH", branch)
