"""What git, libcurl, OpenSSH and gitolite say, and what it is taken for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.gitstore.remote.git_errors import CHECKED_OUT, diagnose, is_checked_out, server_words
from reconciler.gitstore.remote.transport import RemoteErrorKind

URL = "unable to access 'https://h/f.git/': "


@pytest.mark.parametrize(
    ("words", "trouble", "cause", "cure"),
    [
        (f"fatal: {URL}Could not resolve host: h", RemoteErrorKind.NETWORK, "resolve host", "retries"),
        (
            "ssh: Could not resolve hostname h: Name or service not known",
            RemoteErrorKind.NETWORK,
            "h:",
            "retries",
        ),
        (
            f"fatal: {URL}Failed to connect to h port 443 after 3 ms: Couldn't connect",
            RemoteErrorKind.NETWORK,
            "443",
            "retries",
        ),
        (
            "ssh: connect to host h port 22: Connection timed out",
            RemoteErrorKind.NETWORK,
            "timed out",
            "retries",
        ),
        (
            "kex_exchange_identification: read: Connection reset by peer",
            RemoteErrorKind.NETWORK,
            "reset",
            "retries",
        ),
        (
            "error: RPC failed; curl 18 transfer closed with outstanding data",
            RemoteErrorKind.NETWORK,
            "transfer",
            "retries",
        ),
        (
            "error: 516 bytes of body are still expected\nfetch-pack: unexpected disconnect",
            RemoteErrorKind.NETWORK,
            "516",
            "",
        ),
        ("fatal: the remote end hung up unexpectedly", RemoteErrorKind.NETWORK, "hung up", "retries"),
        (
            f"fatal: {URL}Operation too slow. Less than 1 bytes/sec transferred",
            RemoteErrorKind.NETWORK,
            "slow",
            "retries",
        ),
        (
            f"fatal: {URL}Received HTTP code 407 from proxy after CONNECT",
            RemoteErrorKind.AUTH,
            "407",
            "proxy",
        ),
        (
            f"fatal: {URL}Received HTTP code 502 from proxy after CONNECT",
            RemoteErrorKind.NETWORK,
            "502",
            "proxy",
        ),
        (f"fatal: {URL}Proxy CONNECT aborted", RemoteErrorKind.NETWORK, "Proxy", "proxy"),
        (
            "fatal: Authentication failed for 'https://h/f.git/'",
            RemoteErrorKind.AUTH,
            "Authentication",
            "token",
        ),
        (
            "fatal: could not read Username for 'https://h': terminal prompts disabled",
            RemoteErrorKind.AUTH,
            "",
            "token",
        ),
        (f"fatal: {URL}The requested URL returned error: 403", RemoteErrorKind.AUTH, "403", "right"),
        (f"fatal: {URL}The requested URL returned error: 429", RemoteErrorKind.SERVER, "429", "retries"),
        (f"fatal: {URL}The requested URL returned error: 503", RemoteErrorKind.SERVER, "503", "retries"),
        ("error: RPC failed; HTTP 504 curl 22", RemoteErrorKind.SERVER, "504", "retries"),
        (
            f"fatal: {URL}server certificate verification failed. CAfile: none",
            RemoteErrorKind.AUTH,
            "CAfile",
            "CA",
        ),
        (
            f"fatal: {URL}SSL certificate problem: self-signed certificate",
            RemoteErrorKind.AUTH,
            "self-signed",
            "CA",
        ),
        (
            f"fatal: {URL}SSL: no alternative certificate subject name matches target",
            RemoteErrorKind.AUTH,
            "subject",
            "CA",
        ),
        ("git@h: Permission denied (publickey).", RemoteErrorKind.AUTH, "publickey", "ssh key"),
        ('Load key "/k": error in libcrypto', RemoteErrorKind.AUTH, "/k", "ssh key"),
        (
            "Host key verification failed.\nfatal: Could not read from remote",
            RemoteErrorKind.AUTH,
            "Host key",
            "known_hosts",
        ),
        (
            "No ED25519 host key is known for h and you have requested",
            RemoteErrorKind.AUTH,
            "ED25519",
            "known_hosts",
        ),
        ("FATAL: R any fleet ann DENIED by fallthru", RemoteErrorKind.AUTH, "R any fleet", "right"),
        ("fatal: detected dubious ownership in repository at '/r'", RemoteErrorKind.AUTH, "dubious", "right"),
        ("fatal: repository 'https://h/f.git/' not found", RemoteErrorKind.PROTOCOL, "not found", "address"),
        ("fatal: '/f' does not appear to be a git repository", RemoteErrorKind.PROTOCOL, "/f", "address"),
        ("fatal: unknown repository extension found:", RemoteErrorKind.PROTOCOL, "extension", "reftable"),
        (
            "fatal: mismatched algorithms: client sha1; server sha256",
            RemoteErrorKind.PROTOCOL,
            "sha256",
            "SHA-1",
        ),
        (
            "fatal: the receiving end does not support --atomic push",
            RemoteErrorKind.PROTOCOL,
            "atomic",
            "atomic",
        ),
        (
            "fatal: unable to update url base from redirection:",
            RemoteErrorKind.PROTOCOL,
            "redirection",
            "moved",
        ),
        ("fatal: write error: No space left on device", RemoteErrorKind.MIRROR, "No space", "mirror"),
        ("remote: fatal: write error: No space left on device", RemoteErrorKind.SERVER, "No space", "server"),
        ("error: cannot lock ref 'refs/heads/main': File exists", RemoteErrorKind.MIRROR, "main", "mirror"),
        ("fatal: not a git repository: '/m'", RemoteErrorKind.MIRROR, "/m", "mirror"),
        ("fatal: something new under the sun", RemoteErrorKind.PROTOCOL, "something new", "docs/git.md"),
        ("", RemoteErrorKind.PROTOCOL, "without a message", "docs/git.md"),
        (
            f"remote: Repository is archived, it is read-only.\nfatal: {URL}The requested URL returned error: 403",
            RemoteErrorKind.AUTH,
            "returned error: 403: Repository is archived, it is read-only.",
            "right",
        ),
        (
            "ERROR: Repository not found.\nfatal: Could not read from remote repository.\n\n"
            "Please make sure you have the correct access rights\nand the repository exists.\n",
            RemoteErrorKind.PROTOCOL,
            "Repository not found.",
            "check the address and the rights",
        ),
        (
            "remote: \nremote: ====================\nremote: \nremote: ERROR: The project could not be found.\nremote: \n"
            "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\n"
            "and the repository exists.\n",
            RemoteErrorKind.PROTOCOL,
            "The project could not be found.",
            "check the address and the rights",
        ),
    ],
)
def test_words(words: str, trouble: RemoteErrorKind, cause: str, cure: str) -> None:
    diagnosis = diagnose(words)
    assert (diagnosis.kind, cause in diagnosis.cause, cure in diagnosis.cure) == (trouble, True, True), (
        diagnosis
    )
    assert not diagnosis.cause.startswith(("fatal:", "error:", "remote:"))
    assert not diagnosis.is_unknown


@pytest.mark.parametrize("lie", ["Could not resolve host", "Authentication failed for", "cannot lock ref"])
def test_errors_of_the_server_are_not_taken_for_our_own(lie: str) -> None:
    assert (
        diagnose(f"remote: {lie}\nfatal: the remote end hung up unexpectedly").kind is RemoteErrorKind.NETWORK
    )


@given(st.text())
def test_any_words_give_a_cause_and_a_cure(words: str) -> None:
    diagnosis = diagnose(words)
    assert diagnosis.cure
    assert "\n" not in diagnosis.cause


def test_the_servers_words_come_first_and_the_reason_last() -> None:
    words = "remote: main is protected        \nremote:\nerror: failed to push some refs"
    assert (
        server_words(words, ["pre-receive hook declined"]) == "main is protected\npre-receive hook declined"
    )


def test_a_branch_that_is_checked_out_is_one_line_without_gits_page_of_advice() -> None:
    words = "remote: error: refusing to update checked out branch: refs/heads/main\nremote: error: By default, updating"
    assert server_words(words, [CHECKED_OUT]) == CHECKED_OUT
    assert is_checked_out([CHECKED_OUT])
