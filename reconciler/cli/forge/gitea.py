"""Gitea and Forgejo: the rules of branch and tag protection, as `/repos/{owner}/{repo}/branch_protections` and `tag_protections` list them.

Only the first rule that matches a branch applies. Gitea since 1.23 orders rules by `priority`, and then, as Forgejo and older versions do,
plain names before patterns and older rules before newer ones.

    list                  when it is off                         field
    push                  every writer pushes                    enable_push, enable_push_whitelist
    merge                 every writer merges                    enable_merge_whitelist
    approvals             approvals of every writer count        enable_approvals_whitelist
    force pushes          all who may push                       enable_force_push, enable_force_push_allowlist

Without `enable_force_push` (Forgejo, Gitea before 1.23) a rule refuses all force pushes. `unprotected_file_patterns` lets every writer push
commits that change only such files.
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
from reconciler.cli.forge.api import Api, UnreadableError, read_field, read_names
from reconciler.cli.forge.cures import GITEA, describe_cure
from reconciler.cli.forge.patterns import is_plain, matches

DEPLOY_KEYS = "deploy keys"  # named only as a whole
EVERY_TAG = ("*", "**", "/.*/", "/^.*$/")


@dataclass
class Gitea:
    """One repository. `path` is `/repos/{owner}/{repo}`."""

    api: Api
    path: str
    covers_other_refs: bool = False
    _rules: list[Any] = field(default_factory=list, init=False)
    _trouble: str = field(default="", init=False)

    def __post_init__(self) -> None:
        try:
            self._rules = sorted(self.api.get_list(f"{self.path}/branch_protections"), key=_rank)
        except UnreadableError as error:
            self._trouble = str(error)

    def branch(self, name: str) -> BranchAccess:
        try:
            if self._trouble:
                raise UnreadableError(self._trouble)
            rule = next((each for each in self._rules if matches(_name(each), name, "gitea")), None)
            return UNPROTECTED if rule is None else _access(rule)
        except UnreadableError as error:
            return unknown_access(str(error))

    def tags(self) -> Writers:
        try:
            rules = self.api.get_list(f"{self.path}/tag_protections")
            if not any(read_field(each, "name_pattern", str) in EVERY_TAG for each in rules):
                return EVERY_WRITER
            allowed = NO_WRITER
            for each in rules:
                teams = read_names(each, "whitelist_teams")
                allowed = allowed.union(_name_writers(read_names(each, "whitelist_usernames"), teams))
            return allowed
        except UnreadableError as error:
            return Writers(unknown=str(error))

    def administrators(self, hosts: Iterable[str]) -> Writers:
        found = NO_WRITER
        for host in hosts:
            try:
                answer = self.api.get(f"{self.path}/collaborators/{quote(host, safe='')}/permission")
                if read_field(answer, "permission", str) in ("admin", "owner"):
                    found = found.union(Writers(frozenset({host})))
            except UnreadableError as error:
                found = found.union(Writers(unknown=f"the role of {host}: {error}"))
        return found

    def cure(self, attack: str, branch: str) -> str:
        return describe_cure(GITEA, attack, self.path, branch)


def _name(rule: Any) -> str:
    """`branch_name` is the older name of `rule_name`."""
    has_new = isinstance(rule, Mapping) and rule.get("rule_name")
    return read_field(rule, "rule_name" if has_new else "branch_name", str)


def _rank(rule: Any) -> tuple[int, bool, str]:
    """The order in which rules are tried. Without `priority` all have the same."""
    has_priority = isinstance(rule, Mapping) and "priority" in rule
    priority = read_field(rule, "priority", int) if has_priority else 0
    return priority, not is_plain(_name(rule)), read_field(rule, "created_at", str)


def _name_writers(names: Iterable[str], teams: Iterable[str], *more: str) -> Writers:
    return Writers(frozenset([*names, *(f"team:{team}" for team in teams), *more]))


def _access(rule: Any) -> BranchAccess:
    push = _push(rule)
    return BranchAccess(f"rule {_name(rule)}", push, _merge(rule), _force(rule, push), _review(rule))


def _push(rule: Any) -> Writers:
    if read_field(rule, "unprotected_file_patterns", str).strip():
        return EVERY_WRITER
    if not read_field(rule, "enable_push", bool):
        return NO_WRITER
    if not read_field(rule, "enable_push_whitelist", bool):
        return EVERY_WRITER
    keys = [DEPLOY_KEYS] if read_field(rule, "push_whitelist_deploy_keys", bool) else []
    return _name_writers(
        read_names(rule, "push_whitelist_usernames"), read_names(rule, "push_whitelist_teams"), *keys
    )


def _merge(rule: Any) -> Writers:
    if not read_field(rule, "enable_merge_whitelist", bool):
        return EVERY_WRITER
    return _name_writers(
        read_names(rule, "merge_whitelist_usernames"), read_names(rule, "merge_whitelist_teams")
    )


def _force(rule: Any, push: Writers) -> Writers:
    """Only those who may push, too."""
    if "enable_force_push" not in rule or not read_field(rule, "enable_force_push", bool):
        return NO_WRITER
    if not read_field(rule, "enable_force_push_allowlist", bool):
        return push
    keys = [DEPLOY_KEYS] if read_field(rule, "force_push_allowlist_deploy_keys", bool) else []
    users, teams = (read_names(rule, f"force_push_allowlist_{kind}") for kind in ("usernames", "teams"))
    return push.intersection(_name_writers(users, teams, *keys))


def _review(rule: Any) -> Review:
    """`ignore_stale_approvals` does not count an approval after a push, `dismiss_stale_approvals` ends it."""
    approvers = EVERY_WRITER
    if read_field(rule, "enable_approvals_whitelist", bool):
        users, teams = (
            read_names(rule, "approvals_whitelist_username"),
            read_names(rule, "approvals_whitelist_teams"),
        )
        approvers = _name_writers(users, teams)
    is_ignored = "ignore_stale_approvals" in rule and read_field(rule, "ignore_stale_approvals", bool)
    keeps = not read_field(rule, "dismiss_stale_approvals", bool) and not is_ignored
    return Review(read_field(rule, "required_approvals", int), approvers, keeps)
