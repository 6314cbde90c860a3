"""What a failed git command means: the kind of error, and what cures it. Pure.

Git has one exit status for all failures, so its words are read here, for cause and cure only. No decision about data
rests on them: whether a ref moved is found out by reading the ref.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from reconciler.gitstore.remote.transport import RemoteErrorKind, RemoteUnavailable

NETWORK, AUTH, PROTOCOL, SERVER, MIRROR = RemoteErrorKind


class Symptom(NamedTuple):
    pattern: str
    kind: RemoteErrorKind
    cure: str


KEY_CURE = "compare the remote's host key, then add it to the known_hosts file: see docs/git.md"
CA_CURE = "name the CA that signed it (GITVIRT_CA_FILE or caFile); the check cannot be turned off"
LOGIN_CURE = "check user name and token, and that the token has not expired"
RIGHTS_CURE = "grant this account the right to it on the server: see docs/git.md"
WAIT_CURE = "check the network; a reconciler or poollet retries by itself"
SERVER_CURE = "read the server's log; a reconciler or poollet retries by itself"
MIRROR_CURE = "free space or repair the disk; you can delete the mirror at any time, gitvirt creates it again"

# The first that matches decides. Lines that the server wrote (`remote: ...`) are looked at by SERVER_SYMPTOMS only.
SYMPTOMS = (
    Symptom(r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed", AUTH, KEY_CURE),
    Symptom(r"No \S+ host key is known for", AUTH, KEY_CURE),
    Symptom(r"certificate required|bad certificate", AUTH, "give a client certificate the server accepts"),
    Symptom(
        r"could not load PEM client certificate|unable to set private key file|SSL_CERTIFICATE",
        AUTH,
        "check the files of the client certificate and its key; the key must not be encrypted",
    ),
    Symptom(
        r"certificate problem|certificate verification failed|certificate subject name|"
        r"CAfile|certificate verify locations",
        AUTH,
        CA_CURE,
    ),
    Symptom(
        r"code 407 from proxy|tunnel failed, response 407|Proxy Authentication Required",
        AUTH,
        "check user and password of the proxy",
    ),
    Symptom(
        r"Could not resolve proxy|[Pp]roxy CONNECT aborted|from proxy after CONNECT|CONNECT tunnel failed",
        NETWORK,
        "check the proxy",
    ),
    Symptom(
        r"Authentication failed for|could not read (Username|Password)|returned error: 401", AUTH, LOGIN_CURE
    ),
    Symptom(r"returned error: 403|DENIED by|dubious ownership", AUTH, RIGHTS_CURE),
    Symptom(
        r"Permission denied \(|Load key|no mutual signature|Too many authentication failures",
        AUTH,
        "check the ssh key: the server must know its public half, and only its owner may read the private one",
    ),
    Symptom(
        r"returned error: 400",
        PROTOCOL,
        "the server rejected the request; it may require a client certificate",
    ),
    Symptom(r"(returned error:|RPC failed; HTTP) (408|429|5\d\d)\b", SERVER, SERVER_CURE),
    Symptom(
        r"repository '.*' not found|does not appear to be a git repository|does not exist|returned error: 404",
        PROTOCOL,
        "check the address and the rights of this account: servers hide repos that an account may not read",
    ),
    Symptom(
        r"mismatched algorithms|unknown object format",
        PROTOCOL,
        "the remote stores objects by SHA-256, which is not supported yet; use a SHA-1 repo",
    ),
    Symptom(
        r"unknown repository extension|refstorage|reftable",
        PROTOCOL,
        "the remote may store refs as a reftable, which this git does not know; upgrade git, or: git refs migrate --ref-format=files",
    ),
    Symptom(
        r"shallow update not allowed|shallow roots are not allowed|shallow file has changed",
        PROTOCOL,
        "the remote is a shallow clone; run `git fetch --unshallow` there",
    ),
    Symptom(r"does not support --atomic", PROTOCOL, "the server must support atomic pushes; upgrade it"),
    Symptom(r"redirect", PROTOCOL, "the repo has moved; use its new address"),
    Symptom(
        r"Could not resolve|Failed to connect|Couldn't connect|Connection refused|Connection timed out|"
        r"Operation timed out|Network is unreachable|No route to host|Connection reset|Connection closed|Operation too slow|"
        r"early EOF|bytes of body are still expected|unexpected disconnect|hung up unexpectedly|transfer closed|Empty reply|Broken pipe|"
        r"Recv failure|Send failure|GnuTLS recv error|unexpected eof|timeout, server",
        NETWORK,
        WAIT_CURE,
    ),
    Symptom(
        r"No space left on device|Read-only file system|cannot lock ref|unable to create|unable to write|cannot store|"
        r"not a git repository|does not match any|bad object|Disk quota exceeded|Input/output error|Permission denied",
        MIRROR,
        MIRROR_CURE,
    ),
)
SERVER_SYMPTOMS = (
    Symptom(
        r"No space left on device|Disk quota exceeded|Read-only file system|Input/output error",
        SERVER,
        "free space or repair the disk of the server",
    ),
    Symptom(r"fatal: unable to|insufficient permission|unpack-objects abnormal exit", SERVER, SERVER_CURE),
)
# What git adds of its own where ssh ended, whatever the server wrote before it.
ABOUT_SSH = (
    "fatal: Could not read from remote repository.",
    "Please make sure you have the correct access rights",
    "and the repository exists.",
)
ADDRESS_CURE = (
    "check the address and the rights of this account: servers hide repos that an account may not read"
)
CHECKED_OUT = "branch is currently checked out"  # git's reason for a branch of a repo that is not bare
NOT_BARE_CURE = (
    "use a bare repo (`git clone --bare`), or there: git config receive.denyCurrentBranch updateInstead"
)
WORDS_AT_MOST = 300
NOISE = re.compile(r"^(fatal|error|warning|ssh|ERROR|FATAL): ")


def diagnose(words: str) -> RemoteUnavailable:
    """`words` are cleaned already: what git wrote to its error output."""
    lines = [line for line in words.splitlines() if line.strip() not in ABOUT_SSH]
    has_ssh_ended = ABOUT_SSH[0] in words
    ours = [line for line in lines if not line.startswith("remote: ")]
    theirs = [line.removeprefix("remote: ") for line in lines if line.startswith("remote: ")]
    for symptoms, written in ((SERVER_SYMPTOMS, theirs), (SYMPTOMS, ours)):
        for symptom in symptoms:
            if match := next((line for line in written if re.search(symptom.pattern, line)), None):
                return RemoteUnavailable(symptom.kind, _with_words(match, theirs), symptom.cure)
    written = [line for line in [*theirs, *ours] if line.strip(" =-#*")]
    last = (written[:1] if has_ssh_ended else written[-1:]) or ["git failed without a message"]
    cure = ADDRESS_CURE if has_ssh_ended else "see the list of errors in docs/git.md"
    return RemoteUnavailable(PROTOCOL, _plain(last[0]), cure)


def _with_words(match: str, theirs: list[str]) -> str:
    """With what the server says to people, such as that the repo is archived: git itself names only the number of the error."""
    message = " ".join(_plain(line) for line in theirs if line.strip() and line.strip() != match.strip())
    return f"{_plain(match)}: {message[:WORDS_AT_MOST]}" if message else _plain(match)


def server_words(words: str, reasons: list[str]) -> str:
    """What a refusing server wants people to read: its own lines, and the reason it gave for each ref."""
    theirs = [
        line.removeprefix("remote:").strip() for line in words.splitlines() if line.startswith("remote:")
    ]
    if is_checked_out(reasons):
        theirs = []  # git's own lines about it are a page of advice
    return "\n".join(line for line in [*theirs, *dict.fromkeys(reasons)] if line)


def is_checked_out(reasons: Sequence[str]) -> bool:
    """Whether git refused a branch because the remote is not bare and has it checked out."""
    return CHECKED_OUT in reasons


def _plain(line: str) -> str:
    while found := NOISE.match(line):
        line = line[found.end() :]
    return line.strip()
