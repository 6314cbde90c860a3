"""Links lead to the forge's page of a file, whatever forge the job runs on."""

from __future__ import annotations

import pytest

from reconciler.cli.plans.file_links import FileLinks, forge_bases
from reconciler.cli.plans.outline import FilePlace

ACTIONS = {"GITHUB_SERVER_URL": "https://forge.example", "GITHUB_REPOSITORY": "me/fleet", "GITHUB_SHA": "new"}


@pytest.mark.parametrize(
    ("environment", "want"),
    [
        pytest.param({}, ("", ""), id="no job"),
        pytest.param(
            ACTIONS,
            ("https://forge.example/me/fleet/blob/new/", "https://forge.example/me/fleet/blob/old/"),
            id="GitHub",
        ),
        pytest.param(
            ACTIONS | {"GITEA_ACTIONS": "true"},
            (
                "https://forge.example/me/fleet/src/commit/new/",
                "https://forge.example/me/fleet/src/commit/old/",
            ),
            id="Gitea and Forgejo",
        ),
        pytest.param(
            {"CI_PROJECT_URL": "https://lab.example/g/p", "CI_COMMIT_SHA": "new"},
            ("https://lab.example/g/p/-/blob/new/", "https://lab.example/g/p/-/blob/old/"),
            id="GitLab",
        ),
        pytest.param({"CI_PROJECT_URL": "javascript:x", "CI_COMMIT_SHA": "n"}, ("", ""), id="no web address"),
    ],
)
def test_each_forge_has_its_addresses(environment: dict[str, str], want: tuple[str, str]) -> None:
    assert forge_bases(environment, "old") == want


def test_a_link_has_the_line_of_the_document_or_of_the_field() -> None:
    text = "a: 1\n---\nb: 1\nspec:\n  power: Off\n"
    links = FileLinks("N/", "O/", lambda place: "" if place.is_old else text)
    assert links.link(FilePlace("m x.yaml", 0)) == "N/m%20x.yaml"
    assert links.link(FilePlace("m.yaml", 1)) == "N/m.yaml#L3"
    assert links.link(FilePlace("m.yaml", 1), "/spec/power") == "N/m.yaml#L5"
    assert links.link(FilePlace("m.yaml", 7, is_old=True)) == "O/m.yaml"
