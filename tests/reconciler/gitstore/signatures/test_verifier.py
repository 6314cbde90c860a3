"""Commits signed and checked with real keys of ssh-keygen and gpg; git itself is asked whether it agrees."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.cli.codes import CODES
from reconciler.gitstore.objects.commit import Commit, encode_commit
from reconciler.gitstore.repo import Identity
from reconciler.gitstore.signatures.signers import Signers, SignersError, parse_signers
from reconciler.gitstore.signatures.signing import GpgSigner, SigningError, SshSigner
from reconciler.gitstore.signatures.verifier import (
    KEEPS,
    BadSignature,
    GoodSignature,
    SignatureFault,
    SignedText,
    Verifier,
    split_commit,
)
from tests.servers import repository
from tests.servers.agent import ssh_agent
from tests.servers.keys import Keyring, keyring
from tests.servers.sshd import new_key

NOW = datetime.now(UTC).replace(microsecond=0)
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
HERE = dict(os.environ)


@pytest.fixture(scope="module")
def ring(short_folder: Path) -> Iterator[Keyring]:
    with keyring(short_folder / f"gpg{os.getpid()}") as made:
        yield made


@pytest.fixture(scope="module")
def ann(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_key(tmp_path_factory.mktemp("keys") / "ann", "ann@example.org")


@pytest.fixture(scope="module")
def gpg_ann(ring: Keyring) -> str:
    return ring.new("ann")


def signed_commit(sign: Callable[[bytes], str] | None, message: str = "change\n\nAs wanted: é.") -> bytes:
    return encode_commit(Commit(EMPTY_TREE, (), Identity("Ann", "ann@example.org"), NOW, message), sign)


def public(key: Path) -> str:
    return key.with_suffix(".pub").read_text().strip()


def ssh_verifier(*lines: str) -> Verifier:
    return Verifier(parse_signers(lines), HERE)


def fault(verdict: GoodSignature | BadSignature) -> SignatureFault | None:
    return verdict.fault if isinstance(verdict, BadSignature) else None


def test_good_by_ssh_and_git_agrees(ann: Path, tmp_path: Path) -> None:
    data = signed_commit(SshSigner(ann, HERE))
    assert ssh_verifier(public(ann)).verify(data, NOW) == GoodSignature("ann@example.org")
    allowed = tmp_path / "allowed"
    allowed.write_text(f"ann@example.org {public(ann)}\n")
    repo = repository.bare(tmp_path / "repo")
    (tmp_path / "commit").write_bytes(data)
    name = repository.git(repo, "hash-object", "-w", "-t", "commit", str(tmp_path / "commit"))
    repository.git(repo, "-c", f"gpg.ssh.allowedSignersFile={allowed}", "verify-commit", name)


def test_a_commit_that_git_signed_is_good(ann: Path, tmp_path: Path) -> None:
    repo = repository.bare(tmp_path / "repo")
    by = ("-c", "gpg.format=ssh", "-c", f"user.signingKey={ann}")
    repository.git(repo, "mktree")
    name = repository.git(repo, *by, "commit-tree", "-S", "-m", "by git", EMPTY_TREE)
    data = (repository.git(repo, "cat-file", "commit", name) + "\n").encode()
    assert ssh_verifier(public(ann)).verify(data, NOW) == GoodSignature("ann@example.org")


@pytest.mark.parametrize("kind", ["rsa", "ecdsa", "ed25519"])
def test_every_kind_of_ssh_key(tmp_path: Path, kind: str) -> None:
    key = new_key(tmp_path / "key", "host-1", kind)
    assert ssh_verifier(public(key)).verify(signed_commit(SshSigner(key, HERE)), NOW) == GoodSignature(
        "host-1"
    )


def test_a_key_that_an_agent_holds(ann: Path, short_folder: Path) -> None:
    with ssh_agent(short_folder / f"sign{os.getpid()}", ann) as socket:
        sign = SshSigner(ann.with_suffix(".pub"), HERE | {"SSH_AUTH_SOCK": str(socket)})
        assert fault(ssh_verifier(public(ann)).verify(signed_commit(sign), NOW)) is None


def test_unsigned(ann: Path) -> None:
    assert fault(ssh_verifier(public(ann)).verify(signed_commit(None), NOW)) is SignatureFault.UNSIGNED


def test_unknown_signer(ann: Path, gpg_ann: str, ring: Keyring, tmp_path: Path) -> None:
    unknown = new_key(tmp_path / "stranger", "stranger")
    verdict = ssh_verifier(public(ann)).verify(signed_commit(SshSigner(unknown, HERE)), NOW)
    assert isinstance(verdict, BadSignature)
    assert verdict.fault is SignatureFault.UNKNOWN_SIGNER
    assert "SHA256:" in verdict.words
    by_gpg = signed_commit(GpgSigner(gpg_ann, HERE, ring.home))
    assert fault(ssh_verifier(public(ann)).verify(by_gpg, NOW)) is SignatureFault.UNKNOWN_SIGNER
    assert (
        fault(Verifier(parse_signers(["0" * 40]), HERE, ring.home).verify(by_gpg, NOW))
        is SignatureFault.UNKNOWN_SIGNER
    )


@pytest.mark.parametrize("name", ["ssh", "gpg"])
@pytest.mark.parametrize("what", [b"As wanted", b"tree 4b825dc", b"Ann <ann@"])
def test_tampered(ann: Path, gpg_ann: str, ring: Keyring, name: str, what: bytes) -> None:
    sign = SshSigner(ann, HERE) if name == "ssh" else GpgSigner(gpg_ann, HERE, ring.home)
    data = signed_commit(sign).replace(what, what[:-1] + bytes([what[-1] ^ 1]))
    verifier = Verifier(parse_signers([public(ann), gpg_ann]), HERE, ring.home)
    assert fault(verifier.verify(signed_commit(sign), NOW)) is None
    assert fault(verifier.verify(data, NOW)) is SignatureFault.TAMPERED


def test_a_signature_of_something_else(ann: Path) -> None:
    class ForMail:
        def __call__(self, payload: bytes) -> str:
            return SshSigner(ann, HERE)(b"another text")

    assert fault(ssh_verifier(public(ann)).verify(signed_commit(ForMail()), NOW)) is SignatureFault.TAMPERED


def test_an_ssh_key_counts_within_its_time(ann: Path) -> None:
    data = signed_commit(SshSigner(ann, HERE))
    line = f'valid-after="20200101",valid-before="20300601" {public(ann)}'
    verifier = ssh_verifier(line)
    assert fault(verifier.verify(data, datetime(2025, 1, 1, tzinfo=UTC))) is None
    for wrong in (datetime(2019, 12, 31, 23, tzinfo=UTC), datetime(2030, 6, 1, tzinfo=UTC)):
        assert fault(ssh_verifier(line).verify(data, wrong)) is SignatureFault.EXPIRED


def test_good_by_gpg(gpg_ann: str, ring: Keyring) -> None:
    data = signed_commit(GpgSigner(gpg_ann, HERE, ring.home))
    assert Verifier(parse_signers([gpg_ann.lower()]), HERE, ring.home).verify(data, NOW) == GoodSignature(
        gpg_ann
    )


def test_an_openpgp_key_that_expired(ring: Keyring) -> None:
    old = ring.new("old", expires="20d")
    data = signed_commit(GpgSigner(old, HERE, ring.home))
    verifier = Verifier(parse_signers([old]), HERE, ring.home)
    assert fault(verifier.verify(data, NOW + timedelta(seconds=1))) is None
    assert fault(verifier.verify(data, NOW + timedelta(days=21))) is SignatureFault.EXPIRED


def test_an_openpgp_key_that_was_revoked(ring: Keyring) -> None:
    gone = ring.new("gone")
    data = signed_commit(GpgSigner(gone, HERE, ring.home))
    verifier = Verifier(parse_signers([gone]), HERE, ring.home)
    assert fault(verifier.verify(data, NOW)) is None
    ring.revoke(gone)
    assert fault(verifier.verify(data, NOW + KEEPS)) is SignatureFault.REVOKED


def test_a_keyring_without_the_key(gpg_ann: str, ring: Keyring, short_folder: Path) -> None:
    data = signed_commit(GpgSigner(gpg_ann, HERE, ring.home))
    with keyring(short_folder / f"empty{os.getpid()}") as empty:
        assert (
            fault(Verifier(parse_signers([gpg_ann]), HERE, empty.home).verify(data, NOW))
            is SignatureFault.UNKNOWN_SIGNER
        )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.replace(b"gpgsig -----BEGIN SSH", b"gpgsig -----BEGIN OTHER"),
        lambda data: data.replace(b"SSH SIGNATURE-----\n U1NI", b"SSH SIGNATURE-----\n !!!!"),
        lambda data: data.replace(b"SSH SIGNATURE-----\n U1NI", b"SSH SIGNATURE-----\n AAAA"),
        lambda data: data.replace(b"gpgsig ", b"gpgsig one\ngpgsig "),
        lambda data: data.replace(b"gpgsig ", b"gpgsig-sha256 x\ngpgsig "),
    ],
    ids=["another kind", "no base64", "another magic", "two", "another hash"],
)
def test_a_signature_that_cannot_be_checked_is_not_good(ann: Path, spoil: Callable[[bytes], bytes]) -> None:
    data = signed_commit(SshSigner(ann, HERE))
    assert spoil(data) != data
    assert fault(ssh_verifier(public(ann)).verify(spoil(data), NOW)) is SignatureFault.UNREADABLE


def test_without_the_programs_nothing_is_good(ann: Path, gpg_ann: str, ring: Keyring) -> None:
    signers = parse_signers([public(ann), gpg_ann])
    nowhere = Verifier(signers, {"PATH": "/nonexistent"}, ring.home)
    for sign in (SshSigner(ann, HERE), GpgSigner(gpg_ann, HERE, ring.home)):
        assert fault(nowhere.verify(signed_commit(sign), NOW)) is SignatureFault.UNREADABLE


def test_signing_says_why_it_cannot(ann: Path, ring: Keyring, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.write_text("not a key")
    locked.chmod(0o600)
    for sign, words in (
        (SshSigner(tmp_path / "gone", HERE), "gone"),
        (SshSigner(locked, HERE), "locked"),
        (GpgSigner("0" * 40, HERE, ring.home), "0" * 40),
        (SshSigner(ann, {"PATH": "/nonexistent"}), "ssh-keygen"),
    ):
        with pytest.raises(SigningError, match=words) as caught:
            sign(b"text")
        assert caught.value.cure
        assert caught.value.code in CODES


def test_a_full_disk_leaves_no_lasting_verdict(
    ann: Path, gpg_ann: str, ring: Keyring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = (tmp_path / "gone", Path(tempfile.gettempdir()))
    verifier = Verifier(parse_signers([public(ann), gpg_ann]), HERE, ring.home)
    for sign in (SshSigner(ann, HERE), GpgSigner(gpg_ann, HERE, ring.home)):
        data = signed_commit(sign)
        for folder, want in zip(kept, (SignatureFault.UNREADABLE, None), strict=True):
            monkeypatch.setattr(tempfile, "tempdir", str(folder))
            assert fault(verifier.verify(data, NOW)) is want


def test_a_verdict_is_kept_for_a_while_only(ann: Path, tmp_path: Path) -> None:
    path = dict(HERE)
    verifier = Verifier(parse_signers([public(ann)]), path)
    data = signed_commit(SshSigner(ann, HERE))
    assert fault(verifier.verify(data, NOW)) is None
    path["PATH"] = "/nonexistent"
    assert fault(verifier.verify(data, NOW + KEEPS / 2)) is None
    assert fault(verifier.verify(data, NOW + KEEPS)) is SignatureFault.UNREADABLE
    assert fault(verifier.verify(data, NOW - KEEPS)) is SignatureFault.UNREADABLE


def test_taken_apart_gives_back_what_was_signed() -> None:
    assert split_commit(signed_commit(lambda payload: "-----BEGIN X\nline\n-----END X\n")) == SignedText(
        signed_commit(None), "-----BEGIN X\nline\n-----END X\n"
    )


def test_every_fault_has_a_code() -> None:
    assert {each.code for each in SignatureFault} <= set(CODES)
    assert len({each.code for each in SignatureFault}) == len(SignatureFault)


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgM="


def test_how_signers_are_written() -> None:
    signers = parse_signers(
        [
            "# people",
            "",
            KEY,
            f"{KEY} ann@example.org",
            f"bob@example.org {KEY} laptop",
            f'eve@example.org namespaces="git",valid-before="20300601Z" {KEY}',
            "0123456789abcdef0123456789abcdef01234567",
        ]
    )
    assert [key.name for key in signers.ssh] == [
        "ssh-ed25519",
        "ann@example.org",
        "bob@example.org",
        "eve@example.org",
    ]
    assert signers.ssh[3].valid_before == datetime(2030, 6, 1, tzinfo=UTC)
    assert signers.fingerprints == {"0123456789ABCDEF0123456789ABCDEF01234567"}
    assert parse_signers([]) == Signers()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ann@example.org", "not a signer"),
        ("0123456789ABCDEF", "not a signer"),
        (f"{KEY[:-2]} ann", "damaged"),
        (f"ann cert-authority {KEY}", "cert-authority"),
        (f'ann namespaces="file" {KEY}', "namespaces"),
        (f'ann valid-before="soon" {KEY}', "not a time"),
        (f'ann valid-before="20301399" {KEY}', "not a time"),
        (f'ann from="10.0.0.1" {KEY}', "from="),
    ],
)
def test_a_signer_that_is_misread_is_an_error(line: str, words: str) -> None:
    with pytest.raises(SignersError, match=words) as caught:
        parse_signers([line])
    assert caught.value.code in CODES
