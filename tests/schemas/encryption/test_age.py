"""Armor of age, both ways with Debian's program; recipients and private keys of people, with their mistakes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from schemas.encryption.age_armor import (
    Identities,
    IdentityError,
    is_armor,
    parse_identities,
    public_half,
    seal,
    stanza_types,
)
from schemas.encryption.recipients import parse_recipient, ssh_tag
from schemas.encryption.sealed_error import SealedError, SealedReason
from tests.schemas.encryption.keys import ADMIN, ADMIN_PUBLIC, AGE_KEY, HOST, HOST_KEY, HOST_PUBLIC

VALUE = b"swordfish\x00\xff"


def age(*words: str, data: bytes) -> bytes:
    return subprocess.run(["age", *words], input=data, capture_output=True, check=True).stdout


@pytest.fixture(params=["age", "ssh"])
def key(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str, Identities]:
    data, public, identities = {
        "age": (AGE_KEY, ADMIN_PUBLIC, ADMIN),
        "ssh": (HOST_KEY, HOST_PUBLIC, HOST),
    }[request.param]
    file = tmp_path / "key"
    file.touch(0o600)
    file.write_bytes(data)
    return file, public, identities


def test_the_program_age_opens_what_is_written_here(key: tuple[Path, str, Identities]) -> None:
    file, public, _ = key
    assert age("-d", "-i", str(file), data=seal(VALUE, [public]).encode()) == VALUE


def test_what_the_program_age_writes_opens_here(key: tuple[Path, str, Identities]) -> None:
    _, public, identities = key
    assert identities.open(age("-a", "-r", public, data=VALUE).decode()) == VALUE


def test_several_recipients_open_one_armor_and_others_do_not() -> None:
    armor = seal(VALUE, [ADMIN_PUBLIC, HOST_PUBLIC])
    assert ADMIN.open(armor) == HOST.open(armor) == VALUE
    with pytest.raises(SealedError) as refused:
        HOST.open(seal(VALUE, [ADMIN_PUBLIC]))
    assert refused.value.reason is SealedReason.NO_KEY
    with pytest.raises(SealedError) as refused:
        Identities().open(armor)
    assert refused.value.reason is SealedReason.NO_KEY


def test_the_header_names_ssh_recipients_alone() -> None:
    types = stanza_types(seal(VALUE, [ADMIN_PUBLIC, HOST_PUBLIC]))
    assert ("ssh-ed25519", ssh_tag(HOST_PUBLIC)) in {words[:2] for words in types}
    assert "X25519" in {words[0] for words in types}
    assert ssh_tag(ADMIN_PUBLIC) == ""


def test_each_character_of_armor_counts() -> None:
    """A line break or a blank may change where armor allows it; the bytes are then the same."""
    armor = seal(VALUE, [ADMIN_PUBLIC])
    for at, letter in enumerate(armor):
        changed = armor[:at] + chr(ord(letter) ^ 1) + armor[at + 1 :]
        if letter == "\n" and at == len(armor) - 1:
            continue
        with pytest.raises(SealedError):
            ADMIN.open(changed)


@pytest.mark.parametrize(
    ("written", "want"),
    [
        (ADMIN_PUBLIC, ADMIN_PUBLIC),
        (f"  {ADMIN_PUBLIC}\n", ADMIN_PUBLIC),
        (HOST_PUBLIC, HOST_PUBLIC),
        (f"{HOST_PUBLIC} root@rack-a1 and more", HOST_PUBLIC),
        (ADMIN_PUBLIC[:-1] + "q", None),
        (ADMIN_PUBLIC.upper(), None),
        (ADMIN_PUBLIC + "q", None),
        ("age1", None),
        ("", None),
        (HOST_PUBLIC[:-2], None),
        ("ssh-ed25519", None),
        ("ssh-ed25519 AAAA", None),
        ("ssh-ed25519 !!!!", None),
        (HOST_PUBLIC.replace("ssh-ed25519", "ssh-rsa"), None),
        (f"ssh-rsa {'A' * 100}", None),
        (f"{ADMIN_PUBLIC} {ADMIN_PUBLIC}", None),
    ],
)
def test_a_recipient_has_one_spelling(written: str, want: str | None) -> None:
    assert parse_recipient(written) == want


def test_what_is_no_recipient_encrypts_nothing() -> None:
    for recipients in ([], ["age1"], [ADMIN_PUBLIC, ""]):
        with pytest.raises(ValueError, match="every recipient"):
            seal(VALUE, recipients)


def test_private_keys_that_cannot_be_used_are_refused_without_quoting_them(tmp_path: Path) -> None:
    def make(*words: str) -> bytes:
        file = tmp_path / "other"
        file.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-f", file, *words], check=True)
        return file.read_bytes()

    locked = make("-t", "ed25519", "-N", "pass phrase")
    elliptic = make("-t", "ecdsa", "-N", "")
    key = AGE_KEY.splitlines()[-1]
    for data in (
        locked,
        elliptic,
        b"",
        b"# nothing\n",
        key[:-3],
        key + b"\nother\n",
        HOST_KEY[:200],
        b"\xff\xfe",
    ):
        for read in (parse_identities, public_half):
            with pytest.raises(IdentityError) as refused:
                assert bool(read(data)) is not None
            assert refused.value.cure
            assert "AGE-SECRET" not in f"{refused.value}{refused.value.cure}"


def test_what_is_no_armor_has_no_recipients() -> None:
    for text in ("", "x", "-----BEGIN AGE ENCRYPTED FILE-----\n!\n-----END AGE ENCRYPTED FILE-----"):
        with pytest.raises(SealedError):
            stanza_types(text)
    assert not is_armor("-----BEGIN AGE ENCRYPTED FILE-----")
