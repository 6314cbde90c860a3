"""`gitvirt comment`: one comment on the pull request of this CI job, replaced at each run.

It finds its own comment by a marker in an HTML comment at the start of the text; several markers keep several
comments. It changes no comment without that marker, and writes nothing if the text is the same. The environment
says which forge it is, which pull request, and with which token; nothing is configured.

Exit codes: 0 when the comment is as the file says, 1 if the file cannot be read or the forge refuses, 2 outside of
a CI job that it knows. Must never happen: the token is printed. It is in a header, never in an address, and errors quote the
address and the forge's answer.

Limits: it imports no Git and reads no repo. The file is Markdown of `gitvirt plan -o markdown`, or of any other
program.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import out, printable

EXAMPLES = """examples:
  gitvirt plan -o markdown > plan.md; gitvirt comment plan.md

The CI in which it runs decides where the comment goes:
  GitHub, Gitea and Forgejo Actions    GITHUB_TOKEN (permission pull-requests: write)
  GitLab CI                            GITVIRT_COMMENT_TOKEN, an access token with the scope api
In another CI, print the file into the log."""

LONGEST = 60_000  # characters; forges refuse more than some 65,000
PAGE = 100
SECONDS = 30.0
CURES = {
    401: "check that the token may write comments; see --help",
    403: "the forge says why; if it is about rights, check that the token may write comments; see --help",
    404: "check that the token may read this repository and write comments; see --help",
}


@dataclass(frozen=True, slots=True)
class CommentTarget:
    """The comments of one pull request. `one` is where a single comment is changed, by its id."""

    all: str
    one: str
    header: tuple[str, str]
    change: str  # the method that changes a comment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the text, in markdown; - is standard input")
    parser.add_argument(
        "--marker",
        default="gitvirt plan",
        metavar="NAME",
        help="name of the comment to replace (default: gitvirt plan)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Creates the comment, updates it, or leaves it. A text that forges would refuse for its length is cut: a cut
    plan is better than none."""
    marker = f"<!-- {arguments.marker} -->"
    body = f"{marker}\n{text_of(arguments.file)}"
    if len(body) > LONGEST:
        body = f"{body[:LONGEST]}\n\n(the rest is in the log of this job)\n"
    place = find_target(os.environ)
    mine = next((comment for comment in comments(place) if comment["body"].startswith(marker)), None)
    if mine is None:
        call(place, "POST", place.all, {"body": body})
        out().line("created the comment")
    elif mine["body"].strip() == body.strip():
        out().line("the comment is up to date")
    else:
        call(place, place.change, place.one.format(mine["id"]), {"body": body})
        out().line("updated the comment")
    return Exit.OK


def text_of(file: str) -> str:
    """The text of a file or of standard input."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        cause = f"cannot read {printable(file)}: {why}"
        raise CommandError(cause, "`gitvirt plan -o markdown > FILE` writes it") from None


def find_target(environment: Mapping[str, str]) -> CommentTarget:
    """Where the comment goes, by the environment of the job. GitLab is asked first; Gitea and Forgejo set GitHub's
    variables themselves."""
    if environment.get("GITLAB_CI"):
        return gitlab_target(environment)
    if environment.get("GITHUB_ACTIONS"):
        return github_target(environment)
    cure = "run it in the Actions of GitHub, Gitea or Forgejo, or in GitLab CI; gitvirt recognizes each by its environment variables"
    raise CommandError("this is not a CI job that gitvirt can comment from", cure, Exit.USAGE)


def github_target(environment: Mapping[str, str]) -> CommentTarget:
    """The comments of the pull request that GitHub's event file names. A job for a push has none, which is wrong
    usage: the cure is the trigger of the job."""
    token = require_variable(environment, "GITHUB_TOKEN", "env: GITHUB_TOKEN: ${{ github.token }}")
    api = require_variable(environment, "GITHUB_API_URL")
    repo = require_variable(environment, "GITHUB_REPOSITORY")
    event = json.loads(Path(require_variable(environment, "GITHUB_EVENT_PATH")).read_text("utf-8"))
    number = event.get("pull_request", {}).get("number")
    if number is None:
        raise CommandError("this job does not run for a pull request", "on: pull_request", Exit.USAGE)
    base = f"{api}/repos/{quote(repo)}/issues"
    return CommentTarget(
        f"{base}/{number}/comments", f"{base}/comments/{{}}", ("Authorization", f"Bearer {token}"), "PATCH"
    )


def gitlab_target(environment: Mapping[str, str]) -> CommentTarget:
    """The notes of the merge request. The job's own token of GitLab may not write notes, so an access token of its
    own is needed."""
    token = require_variable(
        environment,
        "GITVIRT_COMMENT_TOKEN",
        "create a project access token with the scope api, and a masked CI variable with its value",
    )
    api = require_variable(environment, "CI_API_V4_URL")
    project = require_variable(environment, "CI_PROJECT_ID")
    request = require_variable(
        environment, "CI_MERGE_REQUEST_IID", "rules: - if: $CI_PIPELINE_SOURCE == 'merge_request_event'"
    )
    base = f"{api}/projects/{quote(project, safe='')}/merge_requests/{request}/notes"
    return CommentTarget(base, f"{base}/{{}}", ("PRIVATE-TOKEN", token), "PUT")


def require_variable(environment: Mapping[str, str], name: str, cure: str = "a CI job sets it") -> str:
    if found := environment.get(name):
        return found
    raise CommandError(f"{name} is not set", cure, Exit.USAGE)


def comments(place: CommentTarget) -> Iterator[Mapping[str, Any]]:
    """All comments of the pull request, page by page. Forges name the size of a page differently, so both names are
    sent. Gitea and Forgejo do not page comments, and answer each page with all of them: a page without a new comment is the end."""
    page, known = 1, set[object]()
    while True:
        found: list[Mapping[str, Any]] = call(
            place, "GET", f"{place.all}?per_page={PAGE}&limit={PAGE}&page={page}"
        )
        fresh = [comment for comment in found if comment["id"] not in known]
        yield from fresh
        if len(found) < PAGE or not fresh:
            return
        known.update(comment["id"] for comment in fresh)
        page += 1


def server_words(answer: bytes) -> str:
    """What the forge says about an error: the message in its JSON, or else the beginning of the text."""
    text = answer.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except ValueError:
        return text[:300]
    words = [found.get(name) for name in ("message", "error")] if isinstance(found, dict) else []
    return "; ".join(str(each) for each in words if each)[:1000] or text[:300]


def call(place: CommentTarget, method: str, url: str, body: Mapping[str, str] | None = None) -> Any:
    """One request to the forge; the decoded answer. It is not repeated: a request to create that seems to fail may
    have succeeded."""
    if not url.startswith(("https://", "http://")):
        raise CommandError(f"{printable(url)} is not a web address", "the CI sets it; see --help")
    name, value = place.header
    headers = {
        name: value,
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": "gitvirt",
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - looked at above
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            return json.load(answer)
    except urllib.error.HTTPError as error:
        answer = server_words(error.read(4000))
        cure = CURES.get(error.code, "try again")
        raise CommandError(f"{method} {url}: {error.code} {printable(answer)}", cure) from None
    except (OSError, ValueError) as error:
        raise CommandError(f"{method} {url}: {error}", "try again") from None
