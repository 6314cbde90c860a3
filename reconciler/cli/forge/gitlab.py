"""GitLab: protected branches, protected tags, and the approvals of merge requests.

All rules that match a branch add up: who may push by one of them, may push. An entry of a list of access levels is

    user_id, group_id, deploy_key_id    that user, group or key alone
    access_level 0                      no one
    access_level 30, 40, 60             every member with that role or a higher one: `role:30`, ...

A branch without a rule may be written by every developer and every deploy key with write access. Approval rules are a paid feature: where
GitLab answers 404 for them no approval can be required.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from reconciler.cli.forge.access import (
    EVERY_WRITER,
    NO_WRITER,
    UNPROTECTED,
    BranchAccess,
    Review,
    Writers,
    unknown_access,
)
from reconciler.cli.forge.api import Api, MissingError, UnreadableError, read_field
from reconciler.cli.forge.cures import GITLAB, describe_cure
from reconciler.cli.forge.patterns import matches

DEVELOPER, MAINTAINER = 30, 40
ENTRIES = {"user_id": "user", "group_id": "group", "deploy_key_id": "key"}


@dataclass
class GitLab:
    """One project. `path` is `/projects/{id}`. Hosts are deploy keys (`key:<title>`) or users."""

    api: Api
    path: str
    hosts: tuple[str, ...]  # with the reconciler: accounts whose role has to be known
    covers_other_refs: bool = False
    _rules: list[Any] = field(default_factory=list, init=False)
    _trouble: str = field(default="", init=False)
    _names: dict[str, str] = field(default_factory=dict, init=False)  # user:7 -> ann, key:3 -> key:rack-a1
    _roles: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        try:
            self._rules = self.api.get_list(f"{self.path}/protected_branches")
            for key in self.api.get_list(f"{self.path}/deploy_keys"):
                self._names[f"key:{read_field(key, 'id', int)}"] = f"key:{read_field(key, 'title', str)}"
            for member in self.api.get_list(f"{self.path}/members/all"):
                name = read_field(member, "username", str)
                self._names[f"user:{read_field(member, 'id', int)}"] = name
                self._roles[name] = read_field(member, "access_level", int)
        except UnreadableError as error:
            self._trouble = str(error)

    def branch(self, name: str) -> BranchAccess:
        try:
            if self._trouble:
                raise UnreadableError(self._trouble)
            rules = [each for each in self._rules if matches(read_field(each, "name", str), name, "gitlab")]
            return self._access(rules) if rules else UNPROTECTED
        except UnreadableError as error:
            return unknown_access(str(error))

    def tags(self) -> Writers:
        try:
            rules = self.api.get_list(f"{self.path}/protected_tags")
            if not any(read_field(each, "name", str) == "*" for each in rules):
                return EVERY_WRITER
            return self._select_writers(rules, "create_access_levels")
        except UnreadableError as error:
            return Writers(unknown=str(error))

    def administrators(self, hosts: Iterable[str]) -> Writers:
        """Maintainers may change the rules. A deploy key has no API. An account that is not found may have another name."""
        if self._trouble:
            return Writers(unknown=self._trouble)
        named = tuple(hosts)
        known = self._names.values()
        unknown = ", ".join(host for host in named if host not in known)
        why = f"no deploy key or member is called {unknown}" if unknown else ""
        return Writers(
            frozenset(each for each in named if self._roles.get(each, 0) >= MAINTAINER), unknown=why
        )

    def cure(self, attack: str, branch: str) -> str:
        return describe_cure(GITLAB, attack, self.path, branch)

    def _access(self, rules: list[Any]) -> BranchAccess:
        push = self._select_writers(rules, "push_access_levels")
        merge = self._select_writers(rules, "merge_access_levels")
        may_force = any([read_field(each, "allow_force_push", bool) for each in rules])
        named = ", ".join(read_field(each, "name", str) for each in rules)
        return BranchAccess(
            f"rules {named}", push, merge, push if may_force else NO_WRITER, self._review(rules)
        )

    def _select_writers(self, rules: Iterable[Any], name: str) -> Writers:
        """By all rules together. A role is replaced by those of our accounts that have it, and by its own name, which stands for people."""
        found: set[str] = set()
        for entry in (entry for rule in rules for entry in read_field(rule, name, list)):
            kind = next(
                (each for each in ENTRIES if isinstance(entry, Mapping) and entry.get(each) is not None), ""
            )
            if kind:
                id = f"{ENTRIES[kind]}:{read_field(entry, kind, int)}"
                found.add(self._names.get(id, id))
            elif (level := read_field(entry, "access_level", int)) > 0:
                found.add(f"role:{level}")
                found.update(host for host in self.hosts if self._roles.get(host, 0) >= level)
        return Writers(frozenset(found))

    def _review(self, rules: Iterable[Any]) -> Review:
        """By the approval rules for all branches, for all protected ones, or for one of these."""
        named = {read_field(each, "name", str) for each in rules}
        try:
            listed = self.api.get_list(f"{self.path}/approval_rules")
            settings = self.api.get(f"{self.path}/approvals")
        except MissingError:
            return Review(0, NO_WRITER, True)
        except UnreadableError as error:
            return Review(0, Writers(unknown=str(error)), None)
        count, approvers = 0, NO_WRITER
        for each in listed:
            branches = {read_field(one, "name", str) for one in read_field(each, "protected_branches", list)}
            if branches and not branches & named and not each.get("applies_to_all_protected_branches"):
                continue
            count = max(count, read_field(each, "approvals_required", int))
            if each.get("rule_type") == "any_approver":
                approvers = approvers.union(self._developers())
            eligible = read_field(each, "eligible_approvers", list)
            approvers = approvers.union(
                Writers(frozenset(read_field(one, "username", str) for one in eligible))
            )
        return Review(count, approvers, not read_field(settings, "reset_approvals_on_push", bool))

    def _developers(self) -> Writers:
        members = (name for name, level in self._roles.items() if level >= DEVELOPER and name in self.hosts)
        return Writers(frozenset(members))


def project_path(name: str) -> str:
    """`group/project` as GitLab's API takes it."""
    return f"/projects/{quote(name, safe='')}"
