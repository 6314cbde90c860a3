"""What cannot be read or understood is "cannot tell", never "refused"; and the token stays where it belongs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reconciler.cli import main
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.forge.api import Api, MissingError, UnreadableError
from reconciler.cli.forge.patterns import matches
from tests.reconciler.cli.forge.checks import SET_UPS, Capture, check, judge, with_verdict
from tests.reconciler.cli.forge.sites import GITEA, GITHUB, GITLAB
from tests.reconciler.cli.forge.test_check import gitea_rules, rulesets
from tests.servers.forge_rules import TOKEN, RulesForge

RULES = {
    "gitea": f"{GITEA}/branch_protections",
    "github": f"{GITHUB}/rulesets",
    "gitlab": f"{GITLAB}/protected_branches",
}
TAGS = {"gitea": f"{GITEA}/tag_protections", "gitlab": f"{GITLAB}/protected_tags"}


@pytest.mark.parametrize("status", [301, 401, 403, 404, 418, 500, 503])
@pytest.mark.parametrize("kind", RULES)
def test_rules_that_cannot_be_read_are_not_refusals(
    forge: RulesForge, capsys: Capture, kind: str, status: int
) -> None:
    SET_UPS[kind](forge)
    forge.statuses[RULES[kind]] = [
        (status, {"Location": "https://evil.example.org/"} if status == 301 else {})
    ]
    code, found = judge(forge, kind, capsys)
    assert code == Exit.FAILED
    refused = with_verdict(found, "refused")
    assert refused <= (
        {"tags", "administrator"} if kind == "gitea" else {"tags"} if kind == "gitlab" else {"administrator"}
    )
    assert str(status) in found["live-merge"]["why"]
    assert found["live-merge"]["cure"]


@pytest.mark.parametrize("kind", TAGS)
def test_tags_that_cannot_be_read_are_not_refused(forge: RulesForge, capsys: Capture, kind: str) -> None:
    SET_UPS[kind](forge)
    forge.statuses[TAGS[kind]] = [(403, {})]
    code, found = judge(forge, kind, capsys)
    assert (with_verdict(found, "cannot tell"), code) == ({"tags"}, Exit.FAILED)


@pytest.mark.parametrize("body", ["", "not json", "{}", "[1]", '["x"]', "[{}]", '[{"rule_name": 7}]', "null"])
@pytest.mark.parametrize("kind", RULES)
def test_an_answer_of_another_form_is_not_a_refusal(
    forge: RulesForge, capsys: Capture, kind: str, body: str
) -> None:
    SET_UPS[kind](forge)
    forge.answers[RULES[kind]] = body
    code, found = judge(forge, kind, capsys)
    assert code == Exit.FAILED
    assert "live-merge" in with_verdict(found, "cannot tell")


GITEA_FIELDS = [
    "enable_push", "enable_push_whitelist", "push_whitelist_usernames", "push_whitelist_teams", "push_whitelist_deploy_keys",
    "enable_merge_whitelist", "merge_whitelist_usernames", "merge_whitelist_teams", "required_approvals",
    "enable_approvals_whitelist", "dismiss_stale_approvals", "unprotected_file_patterns", "created_at",
]  # fmt: skip


@pytest.mark.parametrize("name", GITEA_FIELDS)
def test_a_field_that_gitea_does_not_send_is_not_taken_for_false(
    forge: RulesForge, capsys: Capture, name: str
) -> None:
    SET_UPS["gitea"](forge)
    del gitea_rules(forge)["live"][name]
    found = judge(forge, "gitea", capsys)[1]
    assert {"live-push", "live-merge", "live-force"} <= with_verdict(found, "cannot tell")


HIDDEN: dict[str, Callable[[RulesForge], object]] = {
    "the bypass list": lambda forge: rulesets(forge, 2).pop("bypass_actors"),
    "a bypass mode": lambda forge: rulesets(forge, 2)["bypass_actors"][0].update(bypass_mode="sometimes"),
    "the rules": lambda forge: rulesets(forge, 2).pop("rules"),
    "a condition": lambda forge: rulesets(forge, 2).update(conditions={"repository_name": {}}),
    "a pattern": lambda forge: rulesets(forge, 2)["conditions"]["ref_name"].update(
        include=["refs/heads/{live,x}"]
    ),
}


@pytest.mark.parametrize("change", HIDDEN.values(), ids=HIDDEN)
def test_what_github_hides_is_not_a_refusal(
    forge: RulesForge, capsys: Capture, change: Callable[[RulesForge], object]
) -> None:
    SET_UPS["github"](forge)
    change(forge)
    code, found = judge(forge, "github", capsys)
    assert "live-merge" in with_verdict(found, "cannot tell")
    assert code == Exit.FAILED


def test_permissions_of_apps_that_cannot_be_read_are_not_none(forge: RulesForge, capsys: Capture) -> None:
    SET_UPS["github"](forge)
    forge.statuses["/orgs/ops/installations"] = [(403, {})]
    code, found = judge(forge, "github", capsys)
    assert (with_verdict(found, "cannot tell"), code) == ({"administrator", "main-pair"}, Exit.FAILED)


@pytest.mark.parametrize("kind", SET_UPS)
def test_an_account_that_the_forge_does_not_know_is_not_harmless(
    forge: RulesForge, capsys: Capture, kind: str
) -> None:
    SET_UPS[kind](forge)
    account = {"gitea": "robby", "github": "app:9", "gitlab": "key:robby"}[kind]
    found = judge(forge, kind, capsys, "--host", f"rack-a={account}")[1]
    assert found["administrator"]["verdict"] == "cannot tell"


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "1"}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, {}]
)
def test_a_rate_limit_is_waited_for(forge: RulesForge, headers: dict[str, str]) -> None:
    forge.answers["/x"] = {"a": 1}
    forge.statuses["/x"] = [(429, headers), (429, headers)]
    waits: list[float] = []
    api = Api(forge.url, ("Authorization", f"token {TOKEN}"), waits.append)
    assert api.get("/x") == {"a": 1}
    assert waits == [1.0, 1.0]


def test_a_rate_limit_of_an_hour_is_an_error(forge: RulesForge) -> None:
    forge.statuses["/x"] = [(403, {"Retry-After": "3600"})]
    api = Api(forge.url, ("Authorization", f"token {TOKEN}"), lambda _: pytest.fail("it waits"))
    with pytest.raises(UnreadableError, match="limits the rate of calls"):
        api.get("/x")


def test_a_missing_answer_is_another_error_than_a_refused_one(forge: RulesForge) -> None:
    api = Api(forge.url, ("Authorization", f"token {TOKEN}"))
    with pytest.raises(MissingError, match="GET /x: 404"):
        api.get("/x")
    with pytest.raises(UnreadableError, match="401"):
        Api(forge.url, ("Authorization", "token other")).get("/x")


@pytest.mark.parametrize("kind", SET_UPS)
def test_the_token_is_in_no_output(forge: RulesForge, capsys: Capture, kind: str) -> None:
    SET_UPS[kind](forge)
    for path in list(forge.answers):
        forge.statuses[path] = [(403, {})]
    assert check(forge, kind) == Exit.FAILED
    shown = capsys.readouterr()
    assert TOKEN not in shown.out + shown.err
    assert "cannot tell" in shown.out


def test_the_token_goes_to_no_other_machine_in_plain_text() -> None:
    with pytest.raises(CommandError, match="is not an https address"):
        Api("http://git.example.org/api/v1", ("Authorization", "token x"))


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("https://git.example.org/ops/fleet", "the kind of forge at git.example.org is not known"),
        ("https://ann:s3cret@github.com/ops/fleet", "not the page of a repository"),
        ("https://github.com/ops", "not the page of a repository"),
        ("https://github.com/ops/fleet --host robot", "robot is the reconciler and a host"),
        ("https://github.com/ops/fleet --token-file missing", "cannot read missing"),
        ("https://github.com/ops/fleet", "there is no token"),
    ],
)
def test_wrong_arguments_are_named(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, words: str, cause: str
) -> None:
    monkeypatch.setenv("GITVIRT_FORGE_TOKEN", "x" if "token" not in cause else "")
    assert main(["forge", "check", *words.split(), "--reconciler", "robot", "--host", "a"]) != Exit.OK
    shown = capsys.readouterr().err
    assert cause in shown
    assert "s3cret" not in shown


PATTERNS = [
    ("gitea", "**", "refs/heads/live", True), ("gitea", "*", "refs/heads/live", False), ("gitea", "*", "live", True),
    ("gitea", "LIVE", "live", True), ("gitea", "g/**", "g/a/b", True), ("gitea", "g?", "g/", False),
    ("github", "refs/heads/**/*", "refs/heads/a/b", True), ("github", "refs/heads/*", "refs/heads/a/b", False),
    ("github", "refs/heads/**/*", "refs/heads/a", True), ("github", "refs/heads/Live", "refs/heads/live", False),
    ("gitlab", "*", "a/b", True), ("gitlab", "g/*", "g/a/b", True), ("gitlab", "*-x", "a-y", False), ("gitlab", "a?", "ab", False),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "pattern", "name", "want"), PATTERNS)
def test_patterns_are_those_of_the_forge(kind: str, pattern: str, name: str, want: bool) -> None:
    assert matches(pattern, name, kind) is want


@pytest.mark.parametrize("pattern", ["{a,b}", "[a-c]", "a\\*", "!a"])
def test_a_pattern_that_is_not_understood_is_an_error(pattern: str) -> None:
    for kind in SET_UPS:
        with pytest.raises(UnreadableError):
            matches(pattern, "a", kind)
