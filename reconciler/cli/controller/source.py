"""One call's view of the fleet's repo, and its commit on the source branch.

    the push                     the client gets
    accepted                     the commit
    lost to another writer       the whole change is computed again from the newest source, TRIES times; then ABORTED
    refused by the server        FAILED_PRECONDITION, with the server's words
    without an answer            UNAVAILABLE: the commit may be there; with a request key the call may be repeated

A request key is found again in the history of the source branch, where the trailer of its commit says it: no state is kept anywhere else. The
newest SEARCHED commits are looked at.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TypeVar, assert_never

import grpc

from reconciler.cli.controller.commit_signing import refuse_unsigned
from reconciler.cli.exits import CommandError
from reconciler.cli.fleet_repo import FleetRepo, Location, NoAnswerError, check_settings, open_fleet
from reconciler.cli.mutate.change import PAUSE_SECONDS, TRIES
from reconciler.cli.mutate.output import FileEdit
from reconciler.cli.terminal import printable
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.commit import Sign, decode_commit, parse_trailers
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Identity, Pushed, Unchanged
from reconciler.link.client_calls import CallRefusedError
from schemas.backoff import jitter

T = TypeVar("T")

CLIENT_TRAILER, REQUEST_TRAILER = "Gitvirt-Client", "Gitvirt-Request"
SEARCHED = 5_000
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
FAILED = grpc.StatusCode.FAILED_PRECONDITION
PROTECTED = "let the reconciler's key push to it, or commit the change by pull request: the API writes no other branch"


@dataclass(frozen=True, slots=True)
class RequestKey:
    """The client's own name for a request. `digest` tells another request under the same key apart."""

    client: str
    key: str
    digest: str

    @classmethod
    def of(cls, client: str, key: str, content: bytes) -> RequestKey:
        return cls(client, key, hashlib.sha256(content).hexdigest()[:16])

    def __str__(self) -> str:
        return f"{self.client}/{self.key} {self.digest}"


@dataclass(frozen=True, slots=True)
class SourceCommit:
    """A commit to be: in whose name, and what the reconciler's words for it are."""

    client: str
    message: str
    edits: Sequence[FileEdit]
    request: RequestKey | None = None


class SourceBranch:
    """Opens the fleet for each call. `location` and `environment` are those of the process."""

    def __init__(self, location: Location, environment: Mapping[str, str], sign: Sign | None = None) -> None:
        self._location, self._sign = location, sign
        # As the loop does, and not as verbs of a person: no account's own Git configuration counts.
        self._environment = {"GITVIRT_GIT_CONFIG": "none", **environment}

    def change(self, attempt: Callable[[FleetRepo], T | None], *, with_reports: bool = False) -> T:
        """What `attempt` returns for the newest source; None is a lost race, and it is called again."""
        with (
            translate_errors(),
            open_fleet(
                self._location, self._environment, with_reports=with_reports, sign=self._sign
            ) as fleet,
        ):
            check_settings(fleet, changes=True)
            for turn in range(TRIES):
                refuse_unsigned(fleet, self._sign, self._environment)
                found = attempt(fleet)
                if found is not None:
                    return found
                time.sleep(jitter(PAUSE_SECONDS * 2**turn, random.Random()))  # noqa: S311 - it spreads tries
                fleet = fleet.again()
        words = f"{TRIES} pushes in a row lost to other writers of the source branch; call again"
        raise CallRefusedError(grpc.StatusCode.ABORTED, words)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Errors of verbs and of the repo as statuses."""
    try:
        yield
    except CommandError as error:
        words = "; ".join(part for part in (error.cause, error.cure) if part)
        raise CallRefusedError(UNAVAILABLE if isinstance(error, NoAnswerError) else FAILED, words) from None
    except RepoError as error:
        raise CallRefusedError(UNAVAILABLE, f"{error.cause}; {error.cure}") from None


def push_commit(fleet: FleetRepo, made: SourceCommit) -> str | None:
    """The commit; None for a lost race. Empty where nothing changes."""
    source = fleet.refs.source or ""
    trailers = [(CLIENT_TRAILER, made.client)]
    if made.request is not None:
        trailers.append((REQUEST_TRAILER, str(made.request)))
    draft = Draft(
        ref=source,
        expected=fleet.snapshot.source,
        base=fleet.snapshot.source,
        edits={each.path: each.after for each in made.edits},
        message=made.message,
        author=Identity(made.client, f"{made.client}@clients.gitvirt"),
        time=datetime.now().astimezone(),
        trailers=trailers,
    )
    match fleet.repo.write([draft]):
        case Pushed(commits):
            return commits[source]
        case Unchanged():
            return ""
        case PushConflict():
            return None
        case PushRefused(_, words):
            refusal = "; ".join(map(printable, words.splitlines()))
            raise CallRefusedError(FAILED, f"the Git server refused the commit: {refusal}; {PROTECTED}")
        case RemoteUnavailable(_, cause, cure, is_unknown):
            again = "; the commit may have landed: call again with the same request_key" if is_unknown else ""
            raise CallRefusedError(UNAVAILABLE, f"{cause}; {cure}{again}")
        case other:
            assert_never(other)


def find_request(fleet: FleetRepo, request: RequestKey | None) -> str:
    """The commit that was made for it before; empty if there is none. Raises CallRefusedError where the key was used for something else."""
    source = fleet.snapshot.source
    if request is None or source is None:
        return ""
    start = f"{request.client}/{request.key} "
    for id in islice(fleet.repo.commits(source, None), SEARCHED):
        for name, value in parse_trailers(decode_commit(fleet.repo.read(id)).message):
            if name == REQUEST_TRAILER and value.startswith(start):
                if value == str(request):
                    return id
                words = f"request_key {request.key} was used for another request (commit {id[:12]}); choose a new one"
                raise CallRefusedError(FAILED, words)
    return ""
