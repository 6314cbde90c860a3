"""Joining with a token over real TLS, onto a repo on disk: what is committed, what is refused, and that a token counts once."""

from __future__ import annotations

import base64
import itertools
import logging
import os
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import grpc
import msgspec
import pytest

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import JoinRequest, JoinResponse
from reconciler.gitstore.signatures.join_token import (
    CLAIM_TRAILER,
    PREFIX,
    SECRET_TRAILER,
    SIGNATURE_TRAILER,
    JoinClaim,
    JoinToken,
    read_token,
)
from reconciler.link import join_port
from reconciler.link.join_desk import JoinRefusal, JoinRefusedError
from reconciler.link.server_key import LinkSetupError
from schemas.settings.certificate import LINK_NAME
from tests.reconciler.link.client import status_of
from tests.reconciler.link.http2 import call_status
from tests.reconciler.link.joining import JOIN, JoiningSite, joining_site, send, sign_request
from tests.reconciler.link.serving import PATIENCE, raw_host, serving, wait_for
from tests.reconciler.loop.fleet import FLEET
from tests.servers.link_certificates import make_certificate
from tests.servers.repository import git, hook

OWN, OTHER = make_certificate("rack-a7"), make_certificate("rack-a7")
GUIDE = Path(__file__).parents[3] / "docs" / "link.md"
DENIED, EXISTS = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.ALREADY_EXISTS
MALFORMED, FAILED = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JoiningSite]:
    """For requests that are refused: they change nothing."""
    with joining_site(tmp_path_factory.mktemp("shared")) as found:
        yield found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[JoiningSite]:
    with joining_site(tmp_path) as found:
        yield found


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the test of the limit."""
    monkeypatch.setattr(join_port, "CALLS_AT_ONCE", 10_000.0)


def test_the_entry_is_proposed_on_a_branch_with_what_the_operator_signed(site: JoiningSite) -> None:
    main, claim = site.head("refs/heads/main"), site.claim()
    token = site.token(claim)
    key, age = site.public("server"), site.public("server").rsplit(" ", 1)[0]
    answer = site.send(site.request(token, OWN, ssh_public_key=key, age=[age]))
    assert answer == JoinResponse(
        branch=f"join/rack-a7-{claim.nonce[:8]}", commit=site.head(f"refs/heads/{answer.branch}")
    )
    assert site.head("refs/heads/main") == main
    assert git(site.remote, "rev-parse", f"{answer.commit}^") == main
    assert git(site.remote, "log", "-1", "--format=%s", answer.commit) == "poollets: rack-a7 joins"
    entry = site.settings(answer.branch).poollets["rack-a7"]
    assert entry is not None
    assert (entry.pools, entry.volume_pools) == (("rack-a7",), ("ssd-a7",))
    assert entry.certificates == (OWN.pem,)
    assert (entry.signers, entry.age) == ((f"{age} rack-a7",), (age,))
    evidence = read_trailers(site, answer.commit)
    assert list(evidence) == ["Gitvirt-Join", "Gitvirt-Join-Secret-SHA256", "Gitvirt-Join-Signature"]
    assert msgspec.json.decode(evidence["Gitvirt-Join"], type=JoinClaim) == claim
    assert read_trailers(site, "refs/gitvirt/joins") == {**evidence, "Proposal-Commit": answer.commit}
    opened = read_token(token)
    assert opened is not None
    for commit in (answer.commit, "refs/gitvirt/joins"):
        assert opened[0].secret not in git(site.remote, "cat-file", "-p", commit)
    assert site.served.count("gitvirt_link_joins_total") == 1


def test_a_merged_entry_lets_the_host_connect(site: JoiningSite) -> None:
    answer = site.send(site.request(site.token(), OWN))
    git(site.remote, "update-ref", "refs/heads/main", answer.commit)
    site.site.tick()
    with raw_host(site.served, OWN) as host:
        host.hello("rack-a7", fleet=FLEET)
        assert host.next().HasField("welcome")


def test_with_merge_no_person_has_to_merge(site: JoiningSite) -> None:
    token = site.token(site.claim(merge=True))
    answer = site.send(site.request(token, OWN))
    assert (answer.branch, answer.is_merged, answer.reason) == ("main", True, "")
    assert answer.commit == site.head("refs/heads/main")
    assert site.list_branches() == []
    wait_for(lambda: not site.served.wakes.empty())  # the reconciler reads it at once
    site.site.tick()
    with raw_host(site.served, OWN) as host:
        host.hello("rack-a7", fleet=FLEET)
        assert host.next().HasField("welcome")
    assert site.send(site.request(token, OWN)) == answer


def read_trailers(site: JoiningSite, commit: str) -> dict[str, str]:
    lines = git(site.remote, "log", "-1", "--format=%(trailers)", commit).splitlines()
    return {name: value for name, _, value in (line.partition(": ") for line in lines)}


def test_the_commands_of_the_guide_name_the_key_that_allowed_the_host(site: JoiningSite) -> None:
    commit = site.send(site.request(site.token(), OWN)).commit
    (page,) = re.findall(
        r"^```bash\ncommit=\S+\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    names = {"GIT_DIR": str(site.remote), "commit": commit, "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["bash", "-euc", page], env=names, cwd=site.folder, capture_output=True, text=True, check=False
    )
    operator = subprocess.run(
        ["ssh-keygen", "-lf", site.folder / "operator.pub"], capture_output=True, text=True, check=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('Good "gitvirt-join@gitvirt.dev" signature')
    assert operator.stdout.split()[1] in done.stdout


def test_with_what_is_in_the_repo_no_reader_joins_where_the_git_server_was_restored(
    site: JoiningSite,
) -> None:
    """To before the join: the restored server knows neither the use nor the entry."""
    main, token = site.head("refs/heads/main"), site.token(site.claim(merge=True))
    known = read_trailers(site, site.send(site.request(token, OWN)).commit)
    git(site.remote, "update-ref", "refs/heads/main", main)
    git(site.remote, "update-ref", "-d", "refs/gitvirt/joins")
    signature = f"-----BEGIN SSH SIGNATURE-----\n{known[SIGNATURE_TRAILER]}\n-----END SSH SIGNATURE-----\n"
    for secret in (known[SECRET_TRAILER], ""):
        made = msgspec.json.encode(JoinToken(known[CLAIM_TRAILER], secret, signature))
        copied = PREFIX + base64.urlsafe_b64encode(made).decode().rstrip("=")
        status, words = site.refused(site.request(copied, OTHER))
        assert (status, "does not count" in words) == (DENIED, True)
    assert site.head("refs/heads/main") == main
    assert site.send(site.request(token, OWN)).is_merged


PROTECTED = (
    "#!/bin/sh\nwhile read _ _ ref; do case $ref in {}) echo 'protected branch' >&2; exit 1;; esac; done\n"
)


def test_a_protected_source_branch_gets_a_proposal_that_says_why(site: JoiningSite) -> None:
    main = site.head("refs/heads/main")
    hook(site.remote, "pre-receive", PROTECTED.format("refs/heads/main"))
    answer = site.send(site.request(site.token(site.claim(merge=True)), OWN))
    assert (answer.is_merged, [answer.branch]) == (False, site.list_branches())
    assert "protected branch" in answer.reason
    assert site.head("refs/heads/main") == main


@pytest.mark.parametrize("ref", ["refs/gitvirt/joins", "refs/heads/join/*"])
def test_without_the_rights_nothing_is_committed_and_the_host_learns_which(
    site: JoiningSite, ref: str
) -> None:
    hook(site.remote, "pre-receive", PROTECTED.format(ref))
    for merge in (False, True) if "joins" in ref else (False,):
        status, answer = site.refused(site.request(site.token(site.claim(merge=merge)), OWN))
        assert status is FAILED
        assert "protected branch" in answer
        assert "push to join/* and refs/gitvirt/joins" in answer
    assert site.list_branches() == []
    assert site.head("refs/gitvirt/joins") == ""


def test_where_only_signed_commits_count_an_unsigned_one_is_not_merged(site: JoiningSite) -> None:
    site.more = "  mode: enforce\n"
    site.write_settings()
    site.site.tick()
    answer = site.send(site.request(site.token(site.claim(merge=True)), OWN))
    assert not answer.is_merged
    assert "this server has no key to sign" in answer.reason


def test_where_only_signed_commits_count_a_signed_one_is_merged(tmp_path: Path) -> None:
    with joining_site(tmp_path, "server") as site:
        site.signers = (site.public("operator"), site.public("server"))
        site.more = "  mode: enforce\n"
        site.write_settings()
        site.site.tick()
        answer = site.send(site.request(site.token(site.claim(merge=True)), OWN))
        assert (answer.branch, answer.reason) == ("main", "")
        site.site.tick()
        with raw_host(site.served, OWN) as host:
            host.hello("rack-a7", fleet=FLEET)
            assert host.next().HasField("welcome")


REFUSED: list[tuple[str, Callable[[JoiningSite], JoinRequest], grpc.StatusCode, str, JoinRefusal]] = [
    ("expired", lambda site: site.request(site.token(site.claim(minutes=-1)), OWN), DENIED, "the token expired at", JoinRefusal.EXPIRED),
    ("too long", lambda site: site.request(site.token(site.claim(minutes=90)), OWN), DENIED, "at most one hour", JoinRefusal.LONG),
    ("another fleet", lambda site: site.request(site.token(site.claim(fleet="0" * 8)), OWN), DENIED, "is for fleet", JoinRefusal.OTHER_FLEET),
    ("another link", lambda site: site.request(site.token(site.claim(link="ab" * 32)), OWN), DENIED, "abababababab", JoinRefusal.OTHER_LINK),
    ("a stranger", lambda site: site.request(site.token(by="stranger"), OWN), DENIED, "not a signer", JoinRefusal.UNSIGNED),
    ("renamed", lambda site: site.request(site.token(), OWN, "rack-a8"), DENIED, "for the name rack-a7, not for rack-a8", JoinRefusal.OTHER_NAME),
    ("garbage", lambda site: site.request("gitvirt-join.hunter2", OWN), MALFORMED, "not a token", JoinRefusal.MALFORMED),
    ("another text", lambda site: site.request("hunter2", OWN), MALFORMED, "not a token", JoinRefusal.MALFORMED),
    ("no token", lambda site: site.request("", OWN), MALFORMED, "not a token", JoinRefusal.MALFORMED),
    ("no name", lambda site: site.request(site.token(), OWN, ""), MALFORMED, "names no poollet", JoinRefusal.MALFORMED),
    ("a name that is no ref", lambda site: site.request(site.token(), OWN, "a..b"), MALFORMED, "names no poollet", JoinRefusal.MALFORMED),
    ("a name with a line", lambda site: site.request(site.token(), OWN, "a\nb"), MALFORMED, "names no poollet", JoinRefusal.MALFORMED),
    ("a proof for another server", lambda site: sign_request(site.token(), OWN, "cd" * 32), DENIED, "does not prove", JoinRefusal.PROOF),
    ("the certificate of another host", lambda site: swap(site.request(site.token(), OWN), site.request(site.token(), OTHER)), DENIED, "does not prove", JoinRefusal.PROOF),
    ("another token", lambda site: retoken(site.request(site.token(), OWN), site.token()), DENIED, "does not prove", JoinRefusal.PROOF),
    ("an expired certificate", lambda site: site.request(site.token(), make_certificate("x", seconds=(-90, -30))), MALFORMED, "not valid now", JoinRefusal.MALFORMED),
    ("two ssh keys", lambda site: site.request(site.token(), OWN, ssh_public_key=site.public("server") + "\n" + site.public("stranger")), MALFORMED, "not one line", JoinRefusal.MALFORMED),
    ("an ssh key with options", lambda site: site.request(site.token(), OWN, ssh_public_key="* cert-authority " + site.public("server")), MALFORMED, "not one line", JoinRefusal.MALFORMED),
    ("no age key", lambda site: site.request(site.token(), OWN, age=["age1x"]), MALFORMED, "keys for Secrets", JoinRefusal.MALFORMED),
]  # fmt: skip


def swap(request: JoinRequest, other: JoinRequest) -> JoinRequest:
    """A request that was seen on the way, with the certificate of who saw it."""
    request.certificate = other.certificate
    return request


def retoken(request: JoinRequest, token: str) -> JoinRequest:
    request.token = token
    return request


@pytest.mark.parametrize(
    ("make", "status", "words", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_request_that_does_not_count_is_refused_with_its_reason(
    shared: JoiningSite,
    make: Callable[[JoiningSite], JoinRequest],
    status: grpc.StatusCode,
    words: str,
    reason: JoinRefusal,
) -> None:
    before = shared.served.count("gitvirt_link_joins_refused_total", reason=reason.value)
    refs = git(shared.remote, "for-each-ref")
    found, answer = shared.refused(make(shared))
    assert (found, words in answer) == (status, True), answer
    assert shared.served.count("gitvirt_link_joins_refused_total", reason=reason.value) == before + 1
    assert git(shared.remote, "for-each-ref") == refs


def test_a_certificate_without_ecdsa_is_refused(shared: JoiningSite) -> None:
    request = shared.request(shared.token(), OWN)
    request.certificate = b"\x30\x03\x02\x01\x00"
    assert shared.refused(request)[0] is MALFORMED


def test_a_name_with_an_entry_is_taken_also_where_the_entry_is_not_reconciled(site: JoiningSite) -> None:
    site.write_settings("rack-a7")
    for _ in range(2):  # at the head of the source alone; then in force as well
        status, words = site.refused(site.request(site.token(), OWN))
        assert (status, "poollets.rack-a7" in words) == (EXISTS, True)
        site.site.tick()
    assert site.list_branches() == []


@pytest.mark.parametrize("field", ["signers", "age"])
@pytest.mark.parametrize("where", ["signatures.signers", "secrets.admins", "rack-b1.signers", "rack-b1.age"])
def test_a_key_of_another_owner_is_refused(site: JoiningSite, where: str, field: str) -> None:
    key = " ".join(site.public("server").split()[:2])
    asked = {"ssh_public_key": key} if field == "signers" else {"age": [key]}
    if where == "signatures.signers":
        site.signers += (f'ann valid-after="20200101" {key} her laptop',)
    elif where == "secrets.admins":
        site.more = f"secrets:\n  admins:\n  - {key} bob\n"
    else:
        site.more = f"poollets:\n  rack-b1:\n    {where.partition('.')[2]}: [{key}]\n"
    site.write_settings()
    for _ in range(2):  # at the head of the source alone; then in force as well
        status, words = site.refused(site.request(site.token(site.claim(merge=True)), OWN, **asked))
        assert (status, f"...{key[-8:]} under " in words, f"{where} already" in words) == (EXISTS, True, True)
        site.site.tick()
    assert site.served.count("gitvirt_link_joins_refused_total", reason="key_taken") == 2
    assert site.list_branches() == []


def test_a_key_of_age_that_another_host_has_is_refused_and_its_own_is_not(site: JoiningSite) -> None:
    key = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    site.more = f"poollets: {{rack-b1: {{age: [{key}]}}}}\n"
    site.write_settings()
    status, words = site.refused(site.request(site.token(), OWN, age=[key]))
    assert (status, "lists the key age1ql3z...ac8p under poollets.rack-b1.age" in words) == (EXISTS, True)
    site.more = ""
    site.write_settings()
    site.site.tick()
    assert site.send(site.request(site.token(), OWN, age=[key])).branch


def test_signers_count_from_the_commit_that_is_reconciled(site: JoiningSite) -> None:
    site.signers = (site.public("stranger"),)
    site.write_settings()
    assert site.refused(site.request(site.token(by="stranger"), OWN))[0] is DENIED
    site.site.tick()
    status, words = site.refused(site.request(site.token(), OWN))
    assert (status, "not a signer" in words) == (DENIED, True)
    assert site.send(site.request(site.token(by="stranger"), OWN)).branch


def test_a_head_that_does_not_count_changes_no_signers(site: JoiningSite) -> None:
    site.more = "  mode: enforce\n"
    site.write_settings()
    site.site.tick()
    site.signers = (site.public("stranger"),)
    site.write_settings()  # unsigned
    site.site.tick()
    assert site.refused(site.request(site.token(by="stranger"), OWN))[0] is DENIED
    assert site.send(site.request(site.token(), OWN)).branch


def test_a_used_token_is_refused_for_another_host_and_answered_again_for_the_same(site: JoiningSite) -> None:
    token = site.token()
    answer = site.send(site.request(token, OWN))
    status, words = site.refused(site.request(token, OTHER))
    assert (status, answer.branch in words, OWN.identity[:12] in words) == (EXISTS, True, True)
    assert site.send(site.request(token, OWN)) == answer


def test_a_token_is_used_after_its_branch_was_deleted_and_every_server_lost_its_disk(
    site: JoiningSite,
) -> None:
    token = site.token()
    answer = site.send(site.request(token, OWN))
    git(site.remote, "update-ref", "-d", f"refs/heads/{answer.branch}")
    desk, server = site.new_desk("restarted"), site.served.link.identity
    with pytest.raises(JoinRefusedError) as found:
        desk.join(site.request(token, OTHER), server)
    assert found.value.reason is JoinRefusal.USED
    assert desk.join(site.request(token, OWN), server) == answer
    assert site.list_branches() == []


def test_another_token_for_the_name_is_another_proposal(site: JoiningSite) -> None:
    first, second = (site.send(site.request(site.token(), each)) for each in (OWN, OTHER))
    assert sorted(site.list_branches()) == sorted((first.branch, second.branch))
    assert len(git(site.remote, "ls-tree", "--name-only", "refs/gitvirt/joins").splitlines()) == 2


def test_of_two_servers_with_one_token_one_proposes(site: JoiningSite) -> None:
    token, server = site.token(), site.served.link.identity
    barrier = threading.Barrier(2)

    def wait_for_the_other() -> Callable[[], datetime]:
        """A clock that is asked for the second time when the desk has its snapshot: then both have one without the token."""
        calls = itertools.count(1)

        def read() -> datetime:
            if next(calls) == 2:
                barrier.wait(30)
            return datetime.now(UTC)

        return read

    desks = [site.new_desk(name, wait_for_the_other()) for name in ("one", "two")]

    def ask(number: int) -> JoinResponse | JoinRefusedError:
        request = site.request(token, (OWN, OTHER)[number])
        try:
            return desks[number].join(request, server)
        except JoinRefusedError as refused:
            return refused

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(ask, range(2)))
    (lost,) = (each for each in found if isinstance(each, JoinRefusedError))
    (won,) = (each for each in found if isinstance(each, JoinResponse))
    assert (lost.reason, won.branch in lost.cause) == (JoinRefusal.USED, True)
    assert site.list_branches() == [won.branch]


def test_a_branch_of_that_name_is_not_written(site: JoiningSite) -> None:
    claim, main = site.claim(), site.head("refs/heads/main")
    git(site.remote, "update-ref", f"refs/heads/join/rack-a7-{claim.nonce[:8]}", main)
    status, words = site.refused(site.request(site.token(claim), OWN))
    assert (status, "exists already, and no server of the link made it" in words) == (FAILED, True)
    assert site.head("refs/gitvirt/joins") == ""


def test_a_record_that_is_over_is_forgotten(site: JoiningSite) -> None:
    old = site.claim(minutes=-60 * 30)
    text = f'{{"name":"x","identity":"","branch":"","isMerged":false,"reason":"","expires":{old.expires}}}'
    blob = git(site.remote, "hash-object", "-w", "--stdin", given=text)
    entries = f"100644 blob {blob}\t{old.nonce}.json\n100644 blob {blob}\t{'0' * 30}.txt\n"
    tree = git(site.remote, "mktree", given=entries)
    commit = git(site.remote, "commit-tree", tree, "-m", "x")
    git(site.remote, "update-ref", "refs/gitvirt/joins", commit)
    site.send(site.request(site.token(), OWN))
    assert old.nonce not in git(site.remote, "ls-tree", "--name-only", "refs/gitvirt/joins")


def test_what_happens_to_the_repo_is_no_business_of_strangers(
    site: JoiningSite, caplog: pytest.LogCaptureFixture
) -> None:
    request = site.request(site.token(), OWN)
    hidden = site.remote.rename(site.remote.with_name("hidden.git"))
    with caplog.at_level(logging.WARNING):
        status, words = site.refused(request)
    hidden.rename(site.remote)
    assert status in (grpc.StatusCode.UNAVAILABLE, FAILED)
    assert str(site.remote) not in words
    assert str(site.remote) in caplog.text
    assert request.token not in caplog.text
    assert site.send(request).branch


def test_a_stranger_causes_no_call_to_the_git_server(site: JoiningSite) -> None:
    request = site.request(site.token(by="stranger"), OWN)
    hidden = site.remote.rename(site.remote.with_name("hidden.git"))
    status, words = site.refused(request)
    hidden.rename(site.remote)
    assert (status, "not a signer" in words) == (DENIED, True)


def test_a_message_that_is_too_large_is_not_read(shared: JoiningSite) -> None:
    status, _ = shared.refused(JoinRequest(token="x" * 70_000))
    assert status is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("method", ["Agent/Connect", "Agent/Pipe", "Controller/ListNodes"])
def test_nothing_but_join_is_served_on_the_port(shared: JoiningSite, method: str) -> None:
    port = shared.served.server.join_port
    assert port is not None
    with pytest.raises(grpc.RpcError) as found:
        send(port.address, shared.served.link, JoinRequest(), f"/gitvirt.link.v1alpha1.{method}")
    assert status_of(found.value)[0] is grpc.StatusCode.UNIMPLEMENTED


def test_the_link_itself_takes_no_call_of_join(shared: JoiningSite) -> None:
    with pytest.raises(grpc.RpcError) as found:
        send(shared.served.server.address, shared.served.link, shared.request(shared.token(), OWN))
    assert status_of(found.value)[0] is grpc.StatusCode.UNAVAILABLE  # the handshake fails


def test_tls_1_2_is_refused(shared: JoiningSite) -> None:
    port = shared.served.server.join_port
    assert port is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=shared.served.link.pem)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    host, _, number = port.address.rpartition(":")
    with (
        socket.create_connection((host, int(number)), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname=LINK_NAME) as connection,
    ):
        status = call_status(connection, JOIN, has_message=True)
    assert status == grpc.StatusCode.UNAUTHENTICATED.value[0]
    assert shared.served.count("gitvirt_link_joins_refused_total", reason="old_tls") == 1


def test_an_address_in_use_is_an_error_at_the_start(shared: JoiningSite, tmp_path: Path) -> None:
    port = shared.served.server.join_port
    assert port is not None
    number = int(port.address.rpartition(":")[2])
    setup = join_port.JoinSetup(("127.0.0.1", number), shared.new_desk("other"))
    with pytest.raises(LinkSetupError, match="is the address in use"), serving(tmp_path, join=setup):
        pass


def test_strangers_are_slowed_down_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(join_port, "CALLS_AT_ONCE", 5.0)
    monkeypatch.setattr(join_port, "CALLS_PER_SECOND", 0.01)
    with joining_site(tmp_path) as site, caplog.at_level(logging.WARNING):
        found = [site.refused(site.request("hunter2", OWN))[0] for _ in range(8)]
        assert found == [MALFORMED] * 5 + [grpc.StatusCode.RESOURCE_EXHAUSTED] * 3
        lines = [each.getMessage() for each in caplog.records if "refused to let a host" in each.getMessage()]
        assert [each.split("reason=")[1].split()[0] for each in lines] == ["malformed", "too_many"]
        assert site.served.count("gitvirt_link_joins_refused_total", reason="too_many") == 3


def test_the_port_uses_another_pair_as_soon_as_the_link_does(site: JoiningSite) -> None:
    new = make_certificate("link", is_link=True)
    new.write(site.folder, "link")

    def is_new() -> bool:
        try:
            site.served.link = new
            return site.refused(site.request(site.token(), OWN))[0] is DENIED
        except AssertionError:
            return False

    wait_for(is_new)
