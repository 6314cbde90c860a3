"""Tokens for new hosts: each refusal, with real keys; and that no other signature counts for one."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from reconciler.gitstore.signatures.join_token import (
    CLAIM_TRAILER,
    JOIN_NAMESPACE,
    LONGEST,
    PREFIX,
    SECRET_TRAILER,
    SIGNATURE_TRAILER,
    JoinClaim,
    JoinFacts,
    JoinFault,
    JoinRefused,
    create_token,
    judge_token,
    list_evidence,
    make_claim,
    read_token,
)
from reconciler.gitstore.signatures.signers import parse_signers
from reconciler.gitstore.signatures.signing import SshSigner
from reconciler.gitstore.signatures.verifier import Verifier

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
FLEET, OTHER = "3c0f3b4e-58b5-4b7e-9f51-4a4a9f8d8f10", "0b1cbd1c-6d2c-4b6e-9b5e-0c5f6a1e3f00"
LINK = "ab" * 32
FACTS = JoinFacts(FLEET, (LINK,), ("rack-a1",), (), NOW)


@dataclass(frozen=True)
class Keys:
    """An operator, whose key the fleet lists, and a stranger."""

    folder: Path

    def public(self, name: str) -> str:
        return (self.folder / f"{name}.pub").read_text().strip()

    def sign(self, name: str, namespace: str = JOIN_NAMESPACE) -> SshSigner:
        return SshSigner(self.folder / name, os.environ, namespace)

    def verifier(self, *lines: str) -> Verifier:
        return Verifier(parse_signers(lines or (self.public("operator"),)), os.environ)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("operator", "stranger"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)], check=True
        )
    return Keys(folder)


def claim(minutes: float = 15, *, fleet: str = FLEET, link: str = LINK, name: str = "rack-a7") -> JoinClaim:
    return make_claim(fleet, link, name, (name,), NOW + timedelta(minutes=minutes))


def test_a_signed_token_gives_back_what_the_operator_allowed(keys: Keys) -> None:
    made = claim()
    text = create_token(made, keys.sign("operator"))
    assert text == text.strip()
    assert text.isascii()
    assert judge_token(f" {text}\n", "rack-a7", FACTS, keys.verifier()) == made
    found = read_token(text)
    assert found is not None
    assert found[1].link == LINK
    assert "PRIVATE KEY" not in base64.urlsafe_b64decode(text.removeprefix(PREFIX) + "==").decode()


def test_each_token_has_a_nonce_of_its_own() -> None:
    assert len({claim().nonce for _ in range(100)}) == 100


REFUSED: list[tuple[str, JoinClaim, str, JoinFacts, JoinFault]] = [
    ("another fleet", claim(fleet=OTHER), "rack-a7", FACTS, JoinFault.OTHER_FLEET),
    ("another server", claim(link="cd" * 32), "rack-a7", FACTS, JoinFault.OTHER_LINK),
    ("another name", claim(), "rack-a8", FACTS, JoinFault.OTHER_NAME),
    ("a longer name", claim(), "rack-a7-b", FACTS, JoinFault.OTHER_NAME),
    ("over", claim(-1), "rack-a7", FACTS, JoinFault.EXPIRED),
    ("over now", claim(0), "rack-a7", FACTS, JoinFault.EXPIRED),
    ("too long", claim(61), "rack-a7", FACTS, JoinFault.LONG),
    ("for years", claim(600_000), "rack-a7", FACTS, JoinFault.LONG),
    ("the name of a host", claim(name="rack-a1"), "rack-a1", FACTS, JoinFault.TAKEN),
]


@pytest.mark.parametrize(
    ("made", "wanted_name", "facts", "fault"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_token_that_does_not_fit_is_refused_with_its_reason(
    keys: Keys, made: JoinClaim, wanted_name: str, facts: JoinFacts, fault: JoinFault
) -> None:
    found = judge_token(create_token(made, keys.sign("operator")), wanted_name, facts, keys.verifier())
    assert isinstance(found, JoinRefused)
    assert found.fault is fault
    assert found.message
    assert found.cure


def test_a_token_counts_once(keys: Keys) -> None:
    made = claim()
    text = create_token(made, keys.sign("operator"))
    used = JoinFacts(FLEET, (LINK,), (), (made.nonce,), NOW)
    found = judge_token(text, "rack-a7", used, keys.verifier())
    assert isinstance(found, JoinRefused)
    assert found.fault is JoinFault.USED


def test_a_token_of_exactly_an_hour_counts(keys: Keys) -> None:
    made = claim(LONGEST / timedelta(minutes=1))
    assert judge_token(create_token(made, keys.sign("operator")), "rack-a7", FACTS, keys.verifier()) == made


def encode(claim_text: str, signature: str, secret: str = "", **more: str) -> str:
    data = msgspec.json.encode({"claim": claim_text, "secret": secret, "signature": signature, **more})
    return PREFIX + base64.urlsafe_b64encode(data).decode().rstrip("=")


def forge(keys: Keys, change: Callable[[str], str]) -> str:
    """A signed token whose claim was changed afterwards."""
    found = read_token(create_token(claim(), keys.sign("operator")))
    assert found is not None
    return encode(change(found[0].claim), found[0].signature, found[0].secret)


def publish(keys: Keys, secret: str) -> str:
    """A token of what its commit says, with a secret that a reader made up."""
    found = read_token(create_token(claim(), keys.sign("operator")))
    assert found is not None
    known = dict(list_evidence(found[0]))
    signature = f"-----BEGIN SSH SIGNATURE-----\n{known[SIGNATURE_TRAILER]}\n-----END SSH SIGNATURE-----\n"
    return encode(known[CLAIM_TRAILER], signature, secret or known[SECRET_TRAILER])


FORGED: list[tuple[str, Callable[[Keys], str], JoinFault]] = [
    ("signed by a stranger", lambda keys: create_token(claim(), keys.sign("stranger")), JoinFault.UNSIGNED),
    ("signed for a commit", lambda keys: create_token(claim(), keys.sign("operator", "git")), JoinFault.UNSIGNED),
    ("not signed", lambda _: create_token(claim(), lambda _: ""), JoinFault.UNSIGNED),
    ("a damaged signature", lambda _: create_token(claim(), lambda _: "-----BEGIN SSH SIGNATURE-----\nx"), JoinFault.UNSIGNED),
    ("another name afterwards", lambda keys: forge(keys, lambda text: text.replace("rack-a7", "rack-a8")), JoinFault.UNSIGNED),
    ("a blank afterwards", lambda keys: forge(keys, lambda text: text.replace(":", ": ", 1)), JoinFault.UNSIGNED),
    ("what the commit says", lambda keys: publish(keys, ""), JoinFault.UNSIGNED),
    ("what the commit says, with another secret", lambda keys: publish(keys, "0" * 64), JoinFault.UNSIGNED),
    ("a field twice", lambda keys: forge(keys, lambda text: text.replace("{", '{"name":"x",', 1)), JoinFault.UNSIGNED),
    ("unknown field", lambda keys: forge(keys, lambda text: text.replace("{", '{"more":1,', 1)), JoinFault.MALFORMED),
    ("a field of the token", lambda _: encode("{}", "", more="x"), JoinFault.MALFORMED),
    ("no secret", lambda _: PREFIX + base64.urlsafe_b64encode(b'{"claim":"{}","signature":""}').decode(), JoinFault.MALFORMED),
    ("two lines", lambda keys: forge(keys, lambda text: text.replace(",", ",\n", 1)), JoinFault.MALFORMED),
    ("two blanks", lambda keys: forge(keys, lambda text: text.replace(",", ",  ", 1)), JoinFault.MALFORMED),
    ("no claim", lambda _: encode("", ""), JoinFault.MALFORMED),
    ("no time", lambda keys: forge(keys, lambda text: text.replace('"expires":', '"expires":9999999999')), JoinFault.MALFORMED),
    ("empty", lambda _: "", JoinFault.MALFORMED),
    ("another text", lambda _: "hunter2", JoinFault.MALFORMED),
    ("cut off", lambda keys: create_token(claim(), keys.sign("operator"))[:-20], JoinFault.MALFORMED),
    ("no prefix", lambda keys: create_token(claim(), keys.sign("operator")).removeprefix(PREFIX), JoinFault.MALFORMED),
    ("endless", lambda _: PREFIX + "A" * 1_000_000, JoinFault.MALFORMED),
    ("not ASCII", lambda _: PREFIX + "ä" * 8, JoinFault.MALFORMED),
]  # fmt: skip


@pytest.mark.parametrize(("forged", "fault"), [row[1:] for row in FORGED], ids=[row[0] for row in FORGED])
def test_what_no_signer_signed_is_refused(
    keys: Keys, forged: Callable[[Keys], str], fault: JoinFault
) -> None:
    for wanted_name in ("rack-a7", "rack-a8", "x"):
        found = judge_token(forged(keys), wanted_name, FACTS, keys.verifier())
        assert isinstance(found, JoinRefused)
        assert found.fault is fault


def test_a_fleet_without_signers_accepts_no_token(keys: Keys) -> None:
    text = create_token(claim(), keys.sign("operator"))
    found = judge_token(text, "rack-a7", FACTS, Verifier(parse_signers(()), os.environ))
    assert isinstance(found, JoinRefused)
    assert found.fault is JoinFault.UNSIGNED


def test_a_signer_who_is_not_valid_any_more_does_not_count(keys: Keys) -> None:
    text = create_token(claim(), keys.sign("operator"))
    line = f'operator valid-before="20291231Z" {keys.public("operator")}'
    found = judge_token(text, "rack-a7", FACTS, keys.verifier(line))
    assert isinstance(found, JoinRefused)
    assert found.fault is JoinFault.UNSIGNED
    assert "not valid now" in found.message


def test_an_unknown_signer_learns_nothing_from_the_answers(keys: Keys) -> None:
    """Whatever such a token claims, the answer is the same."""
    claims = (claim(), claim(fleet=OTHER), claim(-5), claim(name="rack-a1"), claim(link="cd" * 32))
    answers = {
        judge_token(create_token(each, keys.sign("stranger")), "rack-a7", FACTS, keys.verifier())
        for each in claims
    }
    assert len(answers) == 1


def test_a_signature_for_a_token_does_not_count_for_a_commit(keys: Keys) -> None:
    payload = b"tree 0\nauthor a <a> 0 +0000\n\nmessage\n"
    lines = keys.sign("operator")(payload).rstrip("\n").replace("\n", "\n ")
    head, _, body = payload.partition(b"\n\n")
    commit = head + f"\ngpgsig {lines}".encode() + b"\n\n" + body
    assert "Bad" in type(keys.verifier().verify(commit, NOW)).__name__
    good = keys.sign("operator", "git")(payload).rstrip("\n").replace("\n", "\n ")
    signed = head + f"\ngpgsig {good}".encode() + b"\n\n" + body
    assert "Good" in type(keys.verifier().verify(signed, NOW)).__name__
