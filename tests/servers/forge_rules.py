"""A forge as far as its protection rules go: the published answers of Gitea, GitHub and GitLab, over real HTTP.

The bodies have the fields of `modules/structs/repo_branch.go` and `repo_tag.go` (Gitea), of GitHub's OpenAPI description (`repository-ruleset`,
`branch-protection`, `installation`) and of GitLab's pages "Protected branches API", "Protected tags API", "Merge request approvals API".
Lists come in pages with a `Link` header, as all three send it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "an-admins-t0ken"
Body = dict[str, Any] | list[Any]


@dataclass
class RulesForge:
    """`answers` has the body of each path; any other path is a 404. `statuses` has errors, one for each call, oldest first: a status and its
    headers. `page_size` is the most that a page has, whatever is asked for."""

    url: str = ""
    answers: dict[str, Body | str] = field(default_factory=dict)
    statuses: dict[str, list[tuple[int, dict[str, str]]]] = field(default_factory=dict)
    page_size: int = 100
    calls: list[str] = field(default_factory=list)
    has_pages: bool = True

    def answer(self, target: str, tokens: set[str]) -> tuple[int, dict[str, str], str]:
        parts = urlsplit(target)
        self.calls.append(parts.path)
        if TOKEN not in tokens:
            return 401, {}, '{"message": "Bad credentials"}'
        if waiting := self.statuses.get(parts.path):
            status, headers = waiting.pop(0) if len(waiting) > 1 or waiting[0][0] == 429 else waiting[0]
            return status, headers, '{"message": "no"}'
        body = self.answers.get(parts.path)
        if body is None:
            return 404, {}, '{"message": "Not Found"}'
        if isinstance(body, str):
            return 200, {}, body
        if isinstance(body, dict) or not self.has_pages:
            return 200, {}, json.dumps(body)
        query = parse_qs(parts.query)
        page, size = int(query.get("page", ["1"])[0]), self.page_size
        headers = {}
        if page * size < len(body):
            headers["Link"] = (
                f'<{self.url}{parts.path}?per_page=100&page={page + 1}>; rel="next", <x>; rel="last"'
            )
        return 200, headers, json.dumps(body[(page - 1) * size : page * size])


@contextmanager
def rules_forge() -> Iterator[RulesForge]:
    state = RulesForge()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = [self.headers.get("Authorization") or "", self.headers.get("PRIVATE-TOKEN") or ""]
            tokens = {each.rpartition(" ")[2] for each in given}
            status, headers, text = state.answer(self.path, tokens)
            data = text.encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Tests say what went wrong."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def gitea_rule(name: str, number: int = 1, **fields: object) -> dict[str, Any]:
    """A rule as Gitea creates it from a name alone: it refuses pushes, and lets every writer merge."""
    lists = (
        "push_whitelist_usernames", "push_whitelist_teams", "force_push_allowlist_usernames", "force_push_allowlist_teams",
        "merge_whitelist_usernames", "merge_whitelist_teams", "approvals_whitelist_username", "approvals_whitelist_teams",
        "status_check_contexts",
    )  # fmt: skip
    flags = (
        "enable_push", "enable_push_whitelist", "push_whitelist_deploy_keys", "enable_force_push", "enable_force_push_allowlist",
        "force_push_allowlist_deploy_keys", "enable_merge_whitelist", "enable_status_check", "enable_approvals_whitelist",
        "block_on_rejected_reviews", "block_on_official_review_requests", "block_on_outdated_branch", "dismiss_stale_approvals",
        "ignore_stale_approvals", "require_signed_commits", "block_admin_merge_override",
    )  # fmt: skip
    created = f"2026-05-04T12:00:{number:02}Z"
    rule: dict[str, Any] = {
        "branch_name": name,
        "rule_name": name,
        "priority": number,
        "required_approvals": 0,
    }
    rule |= dict.fromkeys(flags, False) | {each: [] for each in lists}
    rule |= {
        "protected_file_patterns": "",
        "unprotected_file_patterns": "",
        "created_at": created,
        "updated_at": created,
    }
    assert fields.keys() <= rule.keys(), "a field that Gitea does not have"
    return rule | fields


def gitea_tags(pattern: str, *names: str) -> dict[str, Any]:
    times = dict.fromkeys(("created_at", "updated_at"), "2026-05-04T12:00:00Z")
    return {
        "id": 1,
        "name_pattern": pattern,
        "whitelist_usernames": list(names),
        "whitelist_teams": [],
        **times,
    }


def ruleset(
    id: int, include: str, types: str, *apps: int, target: str = "branch", **more: Any
) -> dict[str, Any]:
    """An active ruleset of GitHub; `types` are those of its rules, and those apps are in its bypass list."""
    actors = [{"actor_id": app, "actor_type": "Integration", "bypass_mode": "always"} for app in apps]
    return {
        "id": id,
        "name": f"rules {id}",
        "target": target,
        "source_type": "Repository",
        "source": "ops/fleet",
        "enforcement": "active",
        "bypass_actors": actors + more.pop("actors", []),
        "current_user_can_bypass": "never",
        "conditions": {"ref_name": {"include": [include], "exclude": more.pop("exclude", [])}},
        "rules": [{"type": each} for each in types.split()] + more.pop("rules", []),
        **more,
    }


def pull_request_rule(**parameters: object) -> dict[str, Any]:
    """Of a ruleset of GitHub, with its defaults."""
    found: dict[str, Any] = {
        "required_approving_review_count": 1,
        "dismiss_stale_reviews_on_push": True,
        "require_code_owner_review": False,
        "require_last_push_approval": False,
        "required_review_thread_resolution": False,
    }
    assert parameters.keys() <= found.keys(), "a parameter that GitHub does not have"
    return {"type": "pull_request", "parameters": found | parameters}


def branch_protection(**fields: object) -> dict[str, Any]:
    """GitHub's older protection of a branch, without restrictions of who may push."""
    found: dict[str, Any] = {
        "url": "x",
        "required_pull_request_reviews": {
            "url": "x",
            "dismiss_stale_reviews": True,
            "require_code_owner_reviews": False,
            "required_approving_review_count": 1,
            "require_last_push_approval": False,
        },
        "required_signatures": {"url": "x", "enabled": False},
        "enforce_admins": {"url": "x", "enabled": True},
        "required_linear_history": {"enabled": False},
        "allow_force_pushes": {"enabled": False},
        "allow_deletions": {"enabled": False},
        "block_creations": {"enabled": False},
        "required_conversation_resolution": {"enabled": False},
        "lock_branch": {"enabled": False},
        "allow_fork_syncing": {"enabled": False},
    }
    return found | fields


def installations(**permissions: dict[str, str]) -> dict[str, Any]:
    """GitHub's Apps of an organization, by id: `app_101`."""
    listed = [
        {"id": number, "app_id": int(name.removeprefix("app_")), "app_slug": name, "permissions": given}
        for number, (name, given) in enumerate(permissions.items(), start=1)
    ]
    return {"total_count": len(listed), "installations": listed}


def gitlab_levels(*entries: int | str) -> list[dict[str, Any]]:
    """Access levels of GitLab: a number is a role, `key:3` and `user:7` are a deploy key and a user."""
    found = []
    for number, entry in enumerate(entries, start=1):
        kind, _, id = str(entry).partition(":")
        level = entry if isinstance(entry, int) else 40
        given: dict[str, Any] = {"id": number, "access_level": level, "access_level_description": "x"}
        given |= {"user_id": None, "group_id": None, "deploy_key_id": None}
        if isinstance(entry, str):
            given["deploy_key_id" if kind == "key" else f"{kind}_id"] = int(id)
        found.append(given)
    return found


def gitlab_branch(
    name: str, push: list[dict[str, Any]], merge: list[dict[str, Any]], *, force: bool = False
) -> dict[str, Any]:
    return {
        "id": 1,
        "name": name,
        "push_access_levels": push,
        "merge_access_levels": merge,
        "unprotect_access_levels": gitlab_levels(40),
        "allow_force_push": force,
        "code_owner_approval_required": False,
        "inherited": False,
    }
