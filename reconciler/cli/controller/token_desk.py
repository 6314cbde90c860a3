"""Judges the tokens of hosts that join, and commits their entries: the desk behind the port of `gitvirt run --join`.

Theory of operation
-------------------
Each request is judged from a snapshot of its own, and becomes one write of two commits, or none:

    a token by a stranger   is refused by the signers of the last tick, before the Git server is asked anything
    settings that judge     those of the source commit that `live` was made of last. A head that is not reconciled yet, or whose commits do
                            not count, changes neither signers nor certificates of the link
    names that are taken    of these settings, and of the head of the source branch, whether it is reconciled or not
    keys that are taken     of the same two (join_keys.py)
    tokens that were used   of the record (join_record.py)
    the write               the entry, on a branch of its own or on the source branch, and the record, all or nothing

    the token asks for      and                                                    the entry is
    -                                                                              on the branch join/NAME-<start of the nonce>
    merge                   the server may push to the source branch,              on the source branch
                            and its commit would count there
    merge                   it may not, or its commit would not count              on the branch; the answer says why

    the push                the host gets
    accepted                branch and commit
    lost to another writer  everything is judged again, TRIES times. If the other writer was a server with the same token, it is used now
    without an answer       UNAVAILABLE. It may have landed: the same host asks again, and gets branch and commit from the record

Both commits say what the operator signed (`Gitvirt-Join:`), so who reviews the entry can check who allowed it. The secret of the token is in
neither: every reader of the repo sees them, and a Git server that is restored to before the join knows nothing of the use.

A stranger, whose token does not count, gets the same words whatever the state of the repo: what went wrong is in the log of the server.

Must never happen: an entry without its record; an entry for a name that has one; a token that counts by settings that do not; a commit that is enough to join.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import assert_never

import grpc

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import JoinRequest, JoinResponse
from reconciler.cli.access.settings_text import change_settings
from reconciler.cli.controller.commit_signing import find_reconciled, refuse_unsigned
from reconciler.cli.controller.join_keys import refuse_listed_keys
from reconciler.cli.controller.join_record import JOINS_REF, JoinRecord, RecordedJoin
from reconciler.cli.controller.join_request import JoiningHost, read_join_request
from reconciler.cli.exits import CommandError
from reconciler.cli.fleet_repo import HEADS, FleetRepo, Location, NoAnswerError, check_settings, open_fleet
from reconciler.cli.mutate.change import PAUSE_SECONDS, TRIES
from reconciler.cli.terminal import printable
from reconciler.gitstore.effective_settings import read_effective_settings
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.commit import Sign
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Identity, Pushed, Unchanged
from reconciler.gitstore.signatures.join_token import (
    JoinClaim,
    JoinFacts,
    JoinFault,
    JoinRefused,
    judge_signature,
    judge_token,
    list_evidence,
    read_token,
)
from reconciler.gitstore.signatures.signers import parse_signers
from reconciler.gitstore.signatures.verifier import Verifier
from reconciler.link.client_calls import CallRefusedError
from reconciler.link.join_desk import JoinRefusal, JoinRefusedError
from schemas.backoff import jitter
from schemas.edit import Value
from schemas.settings.certificate import Certificate, read_certificate
from schemas.settings.fleet import PATH, FleetSettings

log = logging.getLogger(__name__)

AUTHOR = Identity("gitvirt", "gitvirt@localhost")
DIGITS = 8
RIGHTS = f"let the reconciler's key push to join/* and {JOINS_REF} (docs/git.md)"
REASONS = {fault: JoinRefusal[fault.name] for fault in JoinFault}


@dataclass(frozen=True, slots=True)
class JoinProposal:
    """One entry that is allowed, and where it is to be committed. `reason` says why not on the source branch, where the token asks for it."""

    host: JoiningHost
    claim: JoinClaim
    ref: str
    reason: str = ""


class TokenDesk:
    """A JoinDesk of reconciler.link. Opens the fleet for each request. `location` and `environment` are those of the process."""

    def __init__(
        self,
        location: Location,
        environment: Mapping[str, str],
        sign: Sign | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._location, self._sign, self._clock = location, sign, clock
        self._signers: tuple[str, ...] | None = None  # of the last tick; None before the first one
        self._environment = {"GITVIRT_GIT_CONFIG": "none", **environment}

    def follow(self, settings: FleetSettings) -> None:
        self._signers = settings.signatures.signers

    def join(self, request: JoinRequest, server: str) -> JoinResponse:
        host = read_join_request(request, server, self._clock())
        with hide_errors():
            self._refuse_unsigned_token(host)
            return self._propose(host)

    def _propose(self, host: JoiningHost) -> JoinResponse:
        with open_fleet(
            self._location, self._environment, with_reports=False, sign=self._sign, one_ref=JOINS_REF
        ) as fleet:
            for turn in range(TRIES):
                found = self._attempt(fleet, host)
                if found is not None:
                    return found
                time.sleep(jitter(PAUSE_SECONDS * 2**turn, random.Random()))  # noqa: S311 - it spreads tries
                fleet = fleet.again()
        cause = f"{TRIES} pushes in a row lost to other writers of the repo"
        raise JoinRefusedError(JoinRefusal.FAILED, cause, "join again", status=grpc.StatusCode.ABORTED)

    def _refuse_unsigned_token(self, host: JoiningHost) -> None:
        """A flood of tokens that no signer signed must not become a flood of calls to the Git server."""
        if self._signers is None:
            return
        verifier = Verifier(parse_signers(self._signers), self._environment)
        judged = judge_signature(host.token, self._clock(), verifier)
        if isinstance(judged, JoinRefused):
            raise JoinRefusedError(REASONS[judged.fault], judged.message, judged.cure)

    def _attempt(self, fleet: FleetRepo, host: JoiningHost) -> JoinResponse | None:
        """None for a lost race."""
        record, now = JoinRecord.of(fleet), self._clock()
        in_force = read_settings_in_force(fleet)
        proposed = read_effective_settings(fleet.repo, fleet.snapshot.source).settings
        known = tuple(each for each in (in_force, proposed) if each is not None)
        names = frozenset(name for each in known for name in each.poollets)
        links = tuple(list_identities(in_force))
        facts = JoinFacts(in_force.fleet.id, links, names, record.list_nonces(), now)
        verifier = Verifier(parse_signers(in_force.signatures.signers), self._environment)
        judged = judge_token(host.token, host.name, facts, verifier)
        if isinstance(judged, JoinRefused):
            return answer_again(record, host, judged)
        check_settings(fleet, changes=True)
        refuse_listed_keys(host, known)
        log.info("a host joins name=%s certificate=%s", host.name, host.identity)
        reason = ""
        if judged.merge:
            reason = self._why_not_merge(fleet)
            if not reason:
                made = self._push(
                    fleet, record, JoinProposal(host, judged, fleet.refs.source or ""), is_last=False
                )
                if not isinstance(made, PushRefused):
                    return made
                reason = f"the Git server refused the commit: {join_lines(made.words)}"
        branch = f"{HEADS}join/{host.name}-{judged.nonce[:DIGITS]}"
        made = self._push(fleet, record, JoinProposal(host, judged, branch, reason), is_last=True)
        assert not isinstance(made, PushRefused), "the last push raises"
        return made

    def _why_not_merge(self, fleet: FleetRepo) -> str:
        """Empty where a commit of this server would count on the source branch."""
        try:
            refuse_unsigned(fleet, self._sign, self._environment)
        except CallRefusedError as refused:
            return refused.words
        return ""

    def _push(
        self, fleet: FleetRepo, record: JoinRecord, made: JoinProposal, *, is_last: bool
    ) -> JoinResponse | PushRefused | None:
        now = self._clock()
        branch, is_merged = made.ref.removeprefix(HEADS), made.ref == fleet.refs.source
        entered = RecordedJoin(
            made.host.name, made.host.identity, branch, is_merged, made.reason, made.claim.expires
        )
        recorded = record.draft(made.claim.nonce, entered, made.ref, AUTHOR, now)
        drafts = (draft_entry(fleet, made, now), recorded)
        evidence = prove_consent(made.host.token)
        match fleet.repo.write([replace(each, trailers=evidence) for each in drafts]):
            case Pushed(commits):
                return to_response(entered, commits[made.ref])
            case PushConflict(refs):
                if not is_merged and refs.get(made.ref) and refs.get(JOINS_REF) == record.head:
                    cause = f"the branch {branch} exists already, and no server of the link made it"
                    raise JoinRefusedError(JoinRefusal.FAILED, cause, "create a new token")
                return None
            case PushRefused() as refused if not is_last:
                return refused
            case PushRefused(_, words):
                cause = f"the Git server refused the commit: {join_lines(words)}"
                raise JoinRefusedError(JoinRefusal.FAILED, cause, RIGHTS)
            case RemoteUnavailable(_, cause, cure):
                raise unavailable(f"{cause}; {cure}")
            case Unchanged():
                raise AssertionError("the nonce is new, so its record is")
            case other:
                assert_never(other)


def read_settings_in_force(fleet: FleetRepo) -> FleetSettings:
    good = find_reconciled(fleet)
    found = read_effective_settings(fleet.repo, good).settings if good is not None else None
    if found is None:
        cause = "the fleet has no settings in force yet"
        raise JoinRefusedError(JoinRefusal.FAILED, cause, "join again once the reconciler has written `live`")
    return found


def list_identities(settings: FleetSettings) -> Iterator[str]:
    """Of the certificates of the link."""
    for pem in settings.link.certificates:
        if isinstance(found := read_certificate(pem), Certificate):
            yield found.identity


def answer_again(record: JoinRecord, host: JoiningHost, refused: JoinRefused) -> JoinResponse:
    """What the host was answered before, where it is the one that used the token; else the refusal."""
    found = read_token(host.token) if refused.fault is JoinFault.USED else None
    nonce = found[1].nonce if found is not None else ""
    earlier = record.read(nonce) if nonce else None
    if earlier is not None and earlier.identity == host.identity:
        return to_response(earlier, record.find_commit(nonce))
    message = refused.message
    if earlier is not None:
        message += f": its entry is on the branch {earlier.branch}, with certificate {earlier.identity[:12]}"
    raise JoinRefusedError(REASONS[refused.fault], message, refused.cure)


def to_response(entered: RecordedJoin, commit: str) -> JoinResponse:
    return JoinResponse(
        branch=entered.branch, commit=commit, is_merged=entered.is_merged, reason=entered.reason
    )


def draft_entry(fleet: FleetRepo, made: JoinProposal, now: datetime) -> Draft:
    """gitvirt.yaml of the source branch with the entry, and no other change. Raises CommandError where the file would have a problem."""
    source = fleet.snapshot.source
    file = fleet.repo.file(source, PATH) if source is not None else None
    assert file is not None, "its settings were read"
    text = change_settings(fleet.repo.read(file.id), {("poollets", made.host.name): build_entry(made)})
    is_new = made.ref != fleet.refs.source
    return Draft(
        ref=made.ref,
        expected=None if is_new else source,
        base=source,
        edits={PATH: text},
        message=f"poollets: {made.host.name} joins\n\nWith certificate SHA-256 {made.host.identity}.",
        author=AUTHOR,
        time=now,
        parent=source,
    )


def prove_consent(text: str) -> tuple[tuple[str, str], ...]:
    found = read_token(text)
    assert found is not None, "it was judged"
    return list_evidence(found[0])


def build_entry(made: JoinProposal) -> dict[str, Value]:
    """The pools are those of the token, whatever the host has."""
    keys: dict[str, Value] = {}
    if made.host.signer:
        keys["signers"] = [made.host.signer]
    if made.host.recipients:
        keys["age"] = list(made.host.recipients)
    pools: dict[str, Value] = {
        "pools": list(made.claim.pools),
        "volumePools": list(made.claim.volume_pools),
    }
    return {**pools, **keys, "certificates": [made.host.certificate]}


@contextmanager
def hide_errors() -> Iterator[None]:
    """Errors of the repo name its address and more: they go to the log, and the host gets words that say what to do."""
    try:
        yield
    except NoAnswerError as error:
        raise unavailable(f"{error.cause}; {error.cure}") from None
    except CommandError as error:
        cause = "the entry cannot be committed: the log of the reconciler says why"
        detail = f"{error.cause}; {error.cure}"
        raise JoinRefusedError(JoinRefusal.FAILED, cause, "ask the operator", detail=detail) from None
    except RepoError as error:
        raise unavailable(f"{error.cause}; {error.cure}") from None


def unavailable(detail: str) -> JoinRefusedError:
    cause = "the reconciler cannot use the fleet's repo now: its log says why"
    cure = "call again with the same token: if the entry was committed, you get the answer"
    return JoinRefusedError(
        JoinRefusal.FAILED, cause, cure, detail=detail, status=grpc.StatusCode.UNAVAILABLE
    )


def join_lines(words: str) -> str:
    return "; ".join(map(printable, words.splitlines()))
