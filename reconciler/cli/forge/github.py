"""GitHub: rulesets, and the older branch protection. A push or merge has to pass both, and each of several rulesets.

    rule of a ruleset            refuses, but for its bypass list
    update, creation             every change of the ref, by push or by merge
    pull_request                 pushes without a pull request; asks for reviews
    non_fast_forward             force pushes

Actors of a bypass list are `app:<id>`, `team:<id>`, `role:<id>`, `user:<id>`, `deploy keys`, `organization owners`. One with the mode
`pull_request` may only merge. GitHub prints bypass lists only to those who may edit the ruleset: without a list it is not known.

The rules of branch protection can be read for a branch that exists; its patterns for others cannot be read over REST, so only
rulesets are taken to protect those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from reconciler.cli.forge.access import (
    EVERY_WRITER,
    NO_WRITER,
    BranchAccess,
    Review,
    Writers,
    unknown_access,
)
from reconciler.cli.forge.api import Api, MissingError, UnreadableError, read_field
from reconciler.cli.forge.cures import GITHUB, describe_cure
from reconciler.cli.forge.patterns import matches

ACTORS = {"Integration": "app", "Team": "team", "RepositoryRole": "role", "User": "user"}
GROUPS = {
    "DeployKey": "deploy keys",
    "OrganizationAdmin": "organization owners",
    "EnterpriseOwner": "enterprise owners",
}


@dataclass
class GitHub:
    """One repository. `path` is `/repos/{owner}/{repo}`. Hosts are GitHub Apps (`app:<id>`)."""

    api: Api
    path: str
    covers_other_refs: bool = False
    _rulesets: list[Any] = field(default_factory=list, init=False)
    _default: str = field(default="", init=False)
    _trouble: str = field(default="", init=False)
    _permissions: dict[str, Mapping[str, Any]] | str = field(default="", init=False)

    def __post_init__(self) -> None:
        try:
            self._default = read_field(self.api.get(self.path), "default_branch", str)
            for each in self.api.get_list(f"{self.path}/rulesets?includes_parents=true"):
                if read_field(each, "enforcement", str) == "active":
                    self._rulesets.append(self.api.get(f"{self.path}/rulesets/{read_field(each, 'id', int)}"))
        except UnreadableError as error:
            self._trouble = str(error)
        self._permissions = self._read_permissions()

    def branch(self, name: str) -> BranchAccess:
        try:
            rules = self._matching("branch", f"refs/heads/{name}")
            return _both(_of_rulesets(rules, self._approvers()), self._protection(name), self._approvers())
        except UnreadableError as error:
            return unknown_access(str(error))

    def tags(self) -> Writers:
        """A name without and one with a slash: patterns may cover only one of them."""
        try:
            found = NO_WRITER
            for name in ("refs/tags/x", "refs/tags/x/y"):
                created = _select_writers(self._matching("tag", name), "creation")
                found = found.union(created)
            return found
        except UnreadableError as error:
            return Writers(unknown=str(error))

    def administrators(self, hosts: Iterable[str]) -> Writers:
        return self._with_permission("administration", hosts)

    def cure(self, attack: str, branch: str) -> str:
        return describe_cure(GITHUB, attack, self.path, branch)

    def _matching(self, target: str, ref: str) -> list[Any]:
        if self._trouble:
            raise UnreadableError(self._trouble)
        return [each for each in self._rulesets if _applies(each, target, ref, f"refs/heads/{self._default}")]

    def _protection(self, branch: str) -> Any:
        """None: the branch is not protected in the older way, or does not exist."""
        try:
            return self.api.get(f"{self.path}/branches/{quote(branch, safe='')}/protection")
        except MissingError:
            return None

    def _approvers(self) -> Writers:
        """An App may approve only with the permission for pull requests."""
        names = list(self._permissions) if isinstance(self._permissions, dict) else []
        return self._with_permission("pull_requests", names)

    def _with_permission(self, name: str, apps: Iterable[str]) -> Writers:
        if isinstance(self._permissions, str):
            return Writers(unknown=f"permissions of Apps: {self._permissions}")
        found = NO_WRITER
        for app in apps:
            if app not in self._permissions:
                why = (
                    f"{app} is not installed in this organization"
                    if app.startswith("app:")
                    else f"{app} is not an App"
                )
                found = found.union(Writers(unknown=why))
            elif self._permissions[app].get(name) in ("write", "admin"):
                found = found.union(Writers(frozenset({app})))
        return found

    def _read_permissions(self) -> dict[str, Mapping[str, Any]] | str:
        """Of the Apps that are installed in the organization; only its owners may list them. The answer is an object with pages of 100."""
        owner = self.path.split("/")[2]
        found: dict[str, Mapping[str, Any]] = {}
        try:
            for page in range(1, 101):
                answer = self.api.get(f"/orgs/{owner}/installations?per_page=100&page={page}")
                listed = read_field(answer, "installations", list)
                for each in listed:
                    found[f"app:{read_field(each, 'app_id', int)}"] = read_field(each, "permissions", dict)
                if len(found) >= read_field(answer, "total_count", int) or not listed:
                    return found
        except UnreadableError as error:
            return str(error)
        return "too many installations"


def _applies(ruleset: Any, target: str, ref: str, default: str) -> bool:
    if read_field(ruleset, "target", str) != target:
        return False
    names = read_field(read_field(ruleset, "conditions", dict), "ref_name", dict)

    def is_in(listed: str) -> bool:
        return any(
            each == "~ALL" or (each == "~DEFAULT_BRANCH" and ref == default) or matches(each, ref, "github")
            for each in read_field(names, listed, list)
        )

    return is_in("include") and not is_in("exclude")


def _bypass(ruleset: Any, *modes: str) -> Writers:
    """Those who may pass the ruleset in one of these modes. An App that is exempt passes always."""
    names = set()
    for actor in read_field(ruleset, "bypass_actors", list):
        kind, mode = read_field(actor, "actor_type", str), read_field(actor, "bypass_mode", str)
        if mode not in ("always", "pull_request", "exempt"):
            raise UnreadableError(f"the bypass mode {mode} is not known")
        if mode in modes:
            names.add(GROUPS[kind] if kind in GROUPS else f"{ACTORS.get(kind, kind)}:{actor.get('actor_id')}")
    return Writers(frozenset(names))


def _rules(ruleset: Any, type: str) -> list[Any]:
    return [each for each in read_field(ruleset, "rules", list) if read_field(each, "type", str) == type]


def _select_writers(rulesets: Iterable[Any], type: str, *modes: str) -> Writers:
    """Who may do what this type of rule refuses: those in the bypass list of each ruleset that has it."""
    found = EVERY_WRITER
    for each in rulesets:
        if _rules(each, type):
            found = found.intersection(_bypass(each, *(modes or ("always", "exempt"))))
    return found


def _of_rulesets(rulesets: list[Any], approvers: Writers) -> BranchAccess:
    named = ", ".join(re.sub(r"\s+", " ", read_field(each, "name", str)) for each in rulesets)
    update = _select_writers(rulesets, "update")
    create = _select_writers(rulesets, "creation")
    # A branch with one of the two rules may be created, or deleted and created again, or updated.
    push = update.union(create).intersection(_select_writers(rulesets, "pull_request"))
    merge = _select_writers(rulesets, "update", "always", "exempt", "pull_request")
    review = Review(0, EVERY_WRITER, True)
    for ruleset in rulesets:
        for rule in _rules(ruleset, "pull_request"):
            given = read_field(rule, "parameters", dict)
            ends = read_field(given, "dismiss_stale_reviews_on_push", bool) or read_field(
                given, "require_last_push_approval", bool
            )
            count = read_field(given, "required_approving_review_count", int)
            review = _stricter(review, Review(count, approvers, not ends))
    force = push.intersection(_select_writers(rulesets, "non_fast_forward"))
    return BranchAccess(f"ruleset {named}" if named else "", push, merge, force, review)


def _stricter(one: Review, other: Review) -> Review:
    """Of two that both apply."""
    approvers = other.approvers if one.approvals == 0 else one.approvers
    return Review(max(one.approvals, other.approvals), approvers, bool(one.keeps_stale and other.keeps_stale))


def _both(rules: BranchAccess, protection: Any, approvers: Writers) -> BranchAccess:
    """What rulesets and the older protection of a branch allow together."""
    if protection is None:
        return rules
    listed = _actors(protection["restrictions"]) if protection.get("restrictions") else EVERY_WRITER
    reviews = protection.get("required_pull_request_reviews")
    review, push, merge = rules.review, listed, listed
    if reviews:
        push = listed.intersection(_actors(reviews.get("bypass_pull_request_allowances") or {}))
        ends = read_field(reviews, "dismiss_stale_reviews", bool) or bool(
            reviews.get("require_last_push_approval")
        )
        count = read_field(reviews, "required_approving_review_count", int)
        review = _stricter(review, Review(count, approvers, not ends))
    may_force = read_field(read_field(protection, "allow_force_pushes", dict), "enabled", bool)
    force = push if may_force else NO_WRITER
    return BranchAccess(
        ", ".join(part for part in (rules.rule, "branch protection") if part),
        rules.push.intersection(push),
        rules.merge.intersection(merge),
        rules.force.intersection(force),
        review,
    )


def _actors(value: Any) -> Writers:
    """Of an object with `users`, `teams` and `apps`; one that is missing is empty."""
    names = [f"user:{read_field(each, 'login', str)}" for each in value.get("users", [])]
    names += [f"team:{read_field(each, 'slug', str)}" for each in value.get("teams", [])]
    names += [f"app:{read_field(each, 'id', int)}" for each in value.get("apps", [])]
    return Writers(frozenset(names))
