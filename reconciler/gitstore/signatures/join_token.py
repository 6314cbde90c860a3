"""Tokens with which a new host joins the fleet unattended: made and signed by an operator, judged where the host presents one. Pure, but for
ssh-keygen, which signs and proves.

Theory of operation. An operator allows one host, by name and with these pools, to be proposed within the hour. The token holds the claim, byte for
byte as it was signed, and the signature of an ssh key that `signatures.signers` of gitvirt.yaml lists. Whoever has it first can use it: that is
why it is short-lived, names its host, and counts once.

    part         is                                                    published
    claim        what the operator allows                              with the commit of the entry
    secret       random, and of this token alone                       never: its SHA-256 is
    signature    over the claim and the SHA-256 of the secret          with the commit

So the commit proves for good who allowed what, and cannot be used as a token: not even for a Git server that was restored to before the host joined, and so
knows nothing of its use.

    judged in this order   refused as     because
    form                   MALFORMED      a token that was cut off, or is none
    signature              UNSIGNED       no ssh signature by a signer over these bytes, made for this purpose
    fleet                  OTHER_FLEET    a token of another fleet, which has the same signers
    server                 OTHER_LINK     the host would not connect to this server: the token names another certificate of the link
    name                   OTHER_NAME     the host asks for another name than the operator allowed
    time                   EXPIRED, LONG  it is over, or it would last longer than LONGEST
    use                    USED           a proposal with its nonce is recorded already
    owner                  TAKEN          the name has an entry: a token never takes over the place of a host

The signature is judged before anything that the claim says, so a stranger learns nothing about the fleet from the answers.

Must never happen: a signature that was made for a Git commit counts for a token, or one for a token counts for a commit; what is judged differs
from what was signed; the secret of a token is published.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import msgspec

from reconciler.gitstore.objects.commit import Sign
from reconciler.gitstore.signatures.verifier import BadSignature, Verifier

PREFIX = "gitvirt-join."
# The namespace of ssh signatures. A signature is good for what it was made for alone.
JOIN_NAMESPACE = "gitvirt-join@gitvirt.dev"
LONGEST = timedelta(hours=1)
CLOCKS_DIFFER = timedelta(seconds=30)  # that of the operator may be ahead
NONCE_BYTES = 16
SECRET_BYTES = 32
NONCE = re.compile(r"[0-9a-f]{32}")  # names a file and a part of a branch
MOST_CHARACTERS = 16 * 1024
CLAIM_TRAILER, SECRET_TRAILER, SIGNATURE_TRAILER = (
    "Gitvirt-Join",
    "Gitvirt-Join-Secret-SHA256",
    "Gitvirt-Join-Signature",
)


class JoinFault(StrEnum):
    MALFORMED = "malformed"
    UNSIGNED = "not signed by a signer"
    OTHER_FLEET = "another fleet"
    OTHER_LINK = "another server"
    OTHER_NAME = "another name"
    EXPIRED = "expired"
    LONG = "valid for too long"
    USED = "used already"
    TAKEN = "the name is taken"


class JoinClaim(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What the operator allows. `link` is the identity of the link's certificate, so that the host authenticates the server too; `expires`
    counts seconds since 1970. With `merge` no person has to merge the entry."""

    fleet: str
    link: str
    name: str
    pools: tuple[str, ...]
    expires: int
    nonce: str
    volume_pools: tuple[str, ...] = ()
    merge: bool = False

    @property
    def expiry(self) -> datetime:
        return datetime.fromtimestamp(self.expires, UTC)


class JoinToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`claim` is part of the text that was signed, and is never encoded again. What is published is in a commit message: its blanks must stay."""

    claim: str
    secret: str
    signature: str

    @property
    def secret_digest(self) -> str:
        return hashlib.sha256(self.secret.encode()).hexdigest()

    @property
    def signed_text(self) -> bytes:
        return f"{self.claim}\n{self.secret_digest}".encode()


@dataclass(frozen=True, slots=True)
class JoinRefused:
    fault: JoinFault
    message: str
    cure: str


@dataclass(frozen=True, slots=True)
class JoinFacts:
    """What a token is judged against: the fleet, the certificates of its link, names that have an entry, nonces that were used, and the
    time."""

    fleet: str
    links: Collection[str]
    names: Collection[str]
    used: Collection[str]
    now: datetime


def make_claim(
    fleet: str,
    link: str,
    name: str,
    pools: tuple[str, ...],
    expires: datetime,
    *,
    volume_pools: tuple[str, ...] = (),
    merge: bool = False,
) -> JoinClaim:
    """With a nonce that occurs once."""
    nonce = secrets.token_hex(NONCE_BYTES)
    return JoinClaim(fleet, link, name, pools, int(expires.timestamp()), nonce, volume_pools, merge)


def create_token(claim: JoinClaim, sign: Sign) -> str:
    """One line that survives a terminal, an e-mail and a cloud-config. `sign` must sign for JOIN_NAMESPACE. Raises SigningError."""
    unsigned = JoinToken(msgspec.json.encode(claim).decode(), secrets.token_hex(SECRET_BYTES), "")
    token = msgspec.structs.replace(unsigned, signature=sign(unsigned.signed_text))
    return PREFIX + base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def list_evidence(token: JoinToken) -> tuple[tuple[str, str], ...]:
    """Trailers that prove who allowed what, and with which no reader can join. docs/link.md says how to check them."""
    signature = "".join(line for line in token.signature.splitlines() if not line.startswith("-----"))
    return (
        (CLAIM_TRAILER, token.claim),
        (SECRET_TRAILER, token.secret_digest),
        (SIGNATURE_TRAILER, signature),
    )


def read_token(text: str) -> tuple[JoinToken, JoinClaim] | None:
    """Its parts, unjudged; None for any other text. A host reads the link's identity from it."""
    body = text.strip().removeprefix(PREFIX)
    if not text.strip().startswith(PREFIX) or len(body) > MOST_CHARACTERS:
        return None
    try:
        data = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        token = msgspec.json.decode(data, type=JoinToken)
        claim = msgspec.json.decode(token.claim, type=JoinClaim)
        _ = claim.expiry  # raises for a number beyond all times
    except (binascii.Error, ValueError, OverflowError, OSError):
        return None
    is_one_line = token.claim.isprintable() and token.claim == " ".join(token.claim.split())
    return (token, claim) if NONCE.fullmatch(claim.nonce) and is_one_line else None


def judge_token(text: str, name: str, facts: JoinFacts, verifier: Verifier) -> JoinClaim | JoinRefused:
    """The claim, if the host that asks for the name `name` may be proposed. The caller records its nonce with the proposal."""
    claim = judge_signature(text, facts.now, verifier)
    if isinstance(claim, JoinRefused):
        return claim
    return _judge_claim(claim, name, facts) or claim


def judge_signature(text: str, now: datetime, verifier: Verifier) -> JoinClaim | JoinRefused:
    """The first half of that: form and signature. It needs nothing but the signers, so a stranger costs little."""
    found = read_token(text)
    if found is None:
        return JoinRefused(
            JoinFault.MALFORMED, "this is not a token", "copy the whole line, from gitvirt-join. on"
        )
    token, claim = found
    verdict = verifier.verify_text(token.signed_text, token.signature, JOIN_NAMESPACE, now)
    if isinstance(verdict, BadSignature):
        cure = "sign it with a key that signatures.signers of gitvirt.yaml lists"
        return JoinRefused(JoinFault.UNSIGNED, f"the token does not count: {verdict.words}", cure)
    return claim


def _judge_claim(claim: JoinClaim, name: str, facts: JoinFacts) -> JoinRefused | None:
    new = "create a new token"
    if claim.fleet != facts.fleet:
        return JoinRefused(
            JoinFault.OTHER_FLEET, f"the token is for fleet {claim.fleet}, this is {facts.fleet}", new
        )
    if claim.link not in facts.links:
        message = (
            f"the token is for a link with certificate {claim.link[:12]}, which this fleet does not list"
        )
        return JoinRefused(JoinFault.OTHER_LINK, message, new)
    if claim.name != name:
        message = f"the token is for the name {claim.name}, not for {name}"
        return JoinRefused(JoinFault.OTHER_NAME, message, f"join as {claim.name}, or {new}")
    left = claim.expiry - facts.now
    if left <= timedelta(0):
        return JoinRefused(
            JoinFault.EXPIRED, f"the token expired at {claim.expiry.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", new
        )
    if left > LONGEST + CLOCKS_DIFFER:
        message = f"the token is valid until {claim.expiry.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}; at most one hour is allowed"
        return JoinRefused(JoinFault.LONG, message, f"{new}; compare the clocks of both machines")
    if claim.nonce in facts.used:
        message = f"the token for {claim.name} was used already"
        return JoinRefused(JoinFault.USED, message, f"{new}, and find out who used this one")
    if claim.name in facts.names:
        message = f"gitvirt.yaml has an entry poollets.{claim.name} already"
        return JoinRefused(JoinFault.TAKEN, message, "choose another name, or remove the entry first")
    return None
