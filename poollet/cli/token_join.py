"""`gitvirt poollet join --token-file`: the host proposes its entry through a server of the link, and needs no right to push any branch.

Theory of operation
-------------------
    the token is read       it says for whom it is, and which certificate the server has. Its signature is judged by the server alone
    compared                with name and pools of poollet.yaml, before anything is sent
    the server              shows its certificate. Its SHA-256 must be that of the token, or nothing is sent: a token is worth something
    Join                    over a connection that trusts this one certificate, with the proof that the host has its key
    the answer              says where the entry is

    what goes wrong                             then
    another name, a pool that is not allowed    nothing is made, and nothing is sent
    another certificate of the server           keys are made, and nothing is sent. Either the address is wrong, or the token is from before a
                                                rotation of the link, or another one answers in the place of the server
    refused by the server                       its words, which name the cure. The keys stay for the next token
    no answer                                   the entry may be there. The same call again gets the answer, because the certificate is the same

The signature of the token is not judged here: the host has no copy of the settings that list signers, and none that it could believe. What protects
it is the operator, who gave it the token, and with it the certificate of the server.

Must never happen: the token is sent to another server, or printed; a private key leaves its file.
"""

from __future__ import annotations

import argparse
import hashlib
import socket
import ssl
import sys
import time
from pathlib import Path
from typing import Any

import grpc
from cryptography.hazmat.primitives.asymmetric import ec

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import JoinRequest, JoinResponse
from poollet.cli.join import (
    find_files,
    find_key,
    find_recipients,
    list_pools,
    note_keyless,
    only_host,
    show_certificate,
    show_key,
)
from reconciler.cli.access.key_pair import PairFiles, read_key
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import out, printable
from reconciler.gitstore.signatures.join_proof import proof_text, sign_proof
from reconciler.gitstore.signatures.join_token import MOST_CHARACTERS, PREFIX, JoinClaim, read_token
from reconciler.gitstore.signatures.signing import FINGERPRINT
from schemas.backoff import Backoff
from schemas.settings.certificate import LINK_NAME
from schemas.settings.host import PoolletSettings
from schemas.settings.link import ANSWER_METADATA

DIAL_SECONDS, JOIN_SECONDS = 15.0, 180.0
BETWEEN_SECONDS = (2.0, 15.0)
JOIN = "/gitvirt.link.v1alpha1.Agent/Join"
AGAIN = "call the same command again: it gets the answer if the entry was committed"


def run(arguments: argparse.Namespace) -> int:
    """Makes key and certificate as without a token, and has the server propose the entry.

    What the token allows is compared first: a host that is not the one it is for should have no new files afterwards. Existing keys are used
    again, so a call that was interrupted is simply repeated.
    """
    one, terminal = only_host(arguments), out()
    token = read_argument(arguments)
    claim = check_token(token, one)
    key = find_key(arguments, one)
    files = find_files(one, key)
    if files is None:
        cause = "no file is named for the certificate of this host"
        raise CommandError(cause, "add `link` to poollet.yaml, or --key FILE", Exit.USAGE)
    if key is not None:
        show_key(terminal, key, one)
    show_certificate(terminal, files, one)
    recipients = find_recipients(one)
    if not recipients:
        note_keyless(terminal, key)
    request = JoinRequest(ssh_public_key=read_signer(one), age=recipients)
    join(token, claim, arguments.link, files, request)
    return Exit.OK


def read_argument(arguments: argparse.Namespace) -> str:
    """The token of the file. An argument could not hold it: all accounts of the machine see those. Raises CommandError for options that do not go together."""
    if arguments.token_file is None:
        cure = "add --token-file FILE, or - for the standard input"
        raise CommandError("--link goes with a token", cure, Exit.USAGE)
    if arguments.branch is not None or arguments.dry_run:
        cause = "--branch and --dry-run do not go with a token: the server proposes the entry"
        raise CommandError(cause, "leave them out", Exit.USAGE)
    if arguments.link is None:
        cure = "add --link HOST:PORT, the address of `gitvirt run --join`"
        raise CommandError("a token needs the address of the server", cure, Exit.USAGE)
    return read_file(arguments.token_file)


def read_file(path: Path) -> str:
    """`-` is the standard input. More than a token can have is not read: the file may be any."""
    try:
        with sys.stdin.buffer if path == Path("-") else path.open("rb") as file:
            return file.read(2 * MOST_CHARACTERS).decode("ascii", "replace").strip()
    except OSError as error:
        cause = f"cannot read the token from {path}: {error.strerror}"
        raise CommandError(printable(cause), "name another file, or - for the standard input") from None


def check_token(token: str, one: PoolletSettings) -> JoinClaim:
    """What the token says, if it is for this host. Raises CommandError."""
    found = read_token(token)
    if found is None:
        raise CommandError("this is not a token", f"copy the whole line, from {PREFIX} on", Exit.USAGE)
    claim = found[1]
    if claim.name != one.name:
        cause = f"the token is for {claim.name}, and this host is {one.name}"
        cure = "create a token for this name, or set `name` of poollet.yaml"
        raise CommandError(printable(cause), cure, Exit.PROBLEMS)
    # More than the host has is fine: the token is one for hosts of a kind, and a pool that is not announced is nothing.
    machines, volumes = list_pools(one)
    for kind, allowed, announced in (
        ("machine", claim.pools, machines),
        ("volume", claim.volume_pools, volumes),
    ):
        beyond = [each for each in announced if not any(is_match(each, pattern) for pattern in allowed)]
        if beyond:
            cause = f"this host has the {kind} pool {beyond[0]}, and the token allows {', '.join(allowed) or 'none'}"
            cure = "create a token with --pools and --volume-pools of this host, or change `pools` of poollet.yaml"
            raise CommandError(printable(cause), cure, Exit.PROBLEMS)
    return claim


def read_signer(one: PoolletSettings) -> str:
    """The public half of the key that signs the reports; empty where none does, or it is one of OpenPGP. A key that only logs in to the Git
    server is not sent: with it as a signer, the reports of this host would be refused, because it does not sign them."""
    signing_key = one.repo.signing_key or ""
    if not signing_key or FINGERPRINT.fullmatch(signing_key):
        return ""
    public = Path(signing_key.removesuffix(".pub") + ".pub")
    try:
        return public.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        cure = "create it again with `ssh-keygen -y`: the entry lists the key that signs the reports"
        raise CommandError(f"cannot read {public}", cure) from None


def is_match(pool: str, pattern: str) -> bool:
    """As gitvirt.yaml compares them: a pattern may end in `*`, for any rest."""
    return pool.startswith(pattern[:-1]) if pattern.endswith("*") else pool == pattern


def join(token: str, claim: JoinClaim, address: str, files: PairFiles, request: JoinRequest) -> None:
    """`request` has the public keys of the host. Prints where the entry is, and what a person has to do before the host can work: of the
    entry alone it cannot read the repo."""
    server = fetch_certificate(address, claim.link)
    key = read_key(files.key)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        cause = f"{files.key} is not an ECDSA key, which a token needs"
        raise CommandError(cause, "name other files under `link` of poollet.yaml: a key is made there")
    certificate = ssl.PEM_cert_to_DER_cert(files.certificate.read_text("ascii"))
    # As the file has it, not as the library would encode it: its SHA-256 is what gitvirt.yaml will know the host by.
    request.token, request.poollet, request.certificate = token, claim.name, certificate
    request.proof = sign_proof(key, proof_text(token, claim.link, certificate))
    answer = call(address, server, request)
    line = out().line
    if answer.is_merged:
        line(printable(f"the entry is on {answer.branch} ({answer.commit[:10]})"))
        line("next: start the poollet; the link lets it in as soon as the reconciler has read the commit")
        return
    line(printable(f"the entry is on the branch {answer.branch} ({answer.commit[:10]})"))
    if answer.reason:
        line(printable(f"not merged, although the token asks for it: {answer.reason}"))
    line("next: a person merges the branch; then start the poollet")


def fetch_certificate(address: str, identity: str) -> str:
    """The certificate of the server in PEM, if it is the one of the token. Raises CommandError before anything was sent.

    A connection of its own, because gRPC trusts by roots and would want to know the certificate beforehand. What the second connection meets is
    compared again, by TLS: its only root is this certificate.
    """
    host, _, port = address.rpartition(":")
    # The certificate is compared as a whole, which says more than names and issuers do.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])  # gRPC accepts no other
    cure = "check the address, that `gitvirt run --join` serves it, and the firewall in between"
    try:
        with (
            socket.create_connection((host.strip("[]"), int(port)), DIAL_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=LINK_NAME) as secure,
        ):
            der = secure.getpeercert(binary_form=True) or b""
    except OSError as error:
        cause = f"the server at {address} does not answer: {error.strerror or error}"
        raise CommandError(printable(cause), cure) from None
    found = hashlib.sha256(der).hexdigest()
    if found != identity:
        cause = (
            f"the server at {address} has the certificate {found[:12]}, and the token is for {identity[:12]}"
        )
        cure = "check the address; if the certificate of the link was replaced, create a new token. Nothing was sent"
        raise CommandError(printable(cause), cure)
    return ssl.DER_cert_to_PEM_cert(der)


def call(address: str, server: str, request: JoinRequest) -> JoinResponse:
    """Raises CommandError with the words of the server.

    A server with too many calls is asked again for JOIN_SECONDS, because many hosts may be installed at once, and no person is there to repeat it. Any
    other outcome is shown at once.
    """
    # No certificate of the host: the port asks for none, and the proof in the request says more.
    credentials = grpc.ssl_channel_credentials(server.encode())
    options = (("grpc.ssl_target_name_override", LINK_NAME), ("grpc.enable_retries", 0))
    with grpc.secure_channel(address, credentials, options) as channel:
        send: grpc.UnaryUnaryMultiCallable[JoinRequest, JoinResponse] = channel.unary_unary(
            JOIN,
            request_serializer=JoinRequest.SerializeToString,
            response_deserializer=JoinResponse.FromString,
        )
        backoff, deadline = Backoff(*BETWEEN_SECONDS), time.monotonic() + JOIN_SECONDS
        while True:
            try:
                answer: JoinResponse = send(request, timeout=JOIN_SECONDS)
                return answer
            except grpc.RpcError as error:
                if not is_busy(error) or time.monotonic() > deadline:
                    raise describe_refusal(error, address) from None
            time.sleep(backoff.next())


def is_busy(error: Any) -> bool:
    """Whether the server did not look at the request because of others, or lost the race against other writers again and again."""
    busy = (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED)
    return error.code() in busy and is_answer(error)


def is_answer(error: Any) -> bool:
    """The server marks what it says itself. Anything else is what gRPC says of a connection, and leaves open whether the call arrived."""
    return any(key == ANSWER_METADATA for key, _ in error.trailing_metadata() or ())


def describe_refusal(error: Any, address: str) -> CommandError:
    words = printable(error.details() or "")
    if is_answer(error):
        cause, _, cure = words.partition("; ")
        return CommandError(f"the server refused the host: {cause}", cure)
    return CommandError(f"the server at {printable(address)} gave no answer: {words}", AGAIN)
