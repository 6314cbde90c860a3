"""Whether a commit is signed by one of the signers. Asks ssh-keygen and gpg; a commit that they cannot judge is not good.

Owns a cache of verdicts. Knows single commits only; trust.py decides which of them must be signed.

For ssh, the key in the signature is looked up among the signers first, and ssh-keygen is then asked with that one key: it proves the signature, and this module
decides whose it is and whether the key is valid at the given time. For OpenPGP, gpg answers both; its exit status is not read, but its
status lines are, which are made for programs.

Verdicts are kept for minutes, not for ever, because keys expire and are revoked. A verdict of "could not be checked here" is never kept.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeAlias

from reconciler.gitstore import process
from reconciler.gitstore.signatures.signers import Signers, SshSignerKey
from reconciler.gitstore.signatures.signing import NAMESPACE, gpg_options, signing_environment

VERIFY_SECONDS = 30.0
# Keys expire and are revoked while we run, so no verdict is for ever.
KEEPS = timedelta(minutes=10)
MOST_KEPT = 20_000
SSH_BEGIN, SSH_END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
PGP_BEGIN = "-----BEGIN PGP SIGNATURE-----"


class SignatureFault(StrEnum):
    UNSIGNED = "unsigned"
    UNKNOWN_SIGNER = "unknown signer"
    EXPIRED = "expired"
    REVOKED = "revoked"
    TAMPERED = "tampered"
    UNREADABLE = "unreadable"  # or it could not be checked here

    @property
    def code(self) -> str:
        return f"GV{830 + list(SignatureFault).index(self)}"


@dataclass(frozen=True, slots=True)
class GoodSignature:
    signer: str


@dataclass(frozen=True, slots=True)
class BadSignature:
    fault: SignatureFault
    words: str


Verdict: TypeAlias = GoodSignature | BadSignature


class CommitVerifier(Protocol):
    """What trust asks: the Verifier, or who has its verdicts of before (signature_record.py)."""

    def verify(self, commit: bytes, at: datetime) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class SignedText:
    """What was signed, and the signature. ssh signatures name what they are for: that of a commit is git's."""

    payload: bytes
    signature: str
    namespace: str = NAMESPACE


@dataclass(frozen=True)
class Verifier:
    """`gpg_home` is the keyring with the signers' public keys; None is the account's own."""

    signers: Signers
    ambient: Mapping[str, str]
    gpg_home: Path | None = None
    _kept: dict[bytes, tuple[datetime, Verdict]] = field(default_factory=dict, repr=False)

    def verify(self, commit: bytes, at: datetime) -> Verdict:
        """`at` is now: a key that has expired since can be in anybody's hands, and a commit's own date is only a claim."""
        name = hashlib.sha256(commit).digest()
        when, verdict = self._kept.get(name, (None, None))
        if verdict is None or when is None or not timedelta(0) <= at - when < KEEPS:
            verdict = self._verify(commit, at)
            # What could not be checked here may be a disk that is full for a moment: it is looked at again.
            if not (isinstance(verdict, BadSignature) and verdict.fault is SignatureFault.UNREADABLE):
                self._keep(name, at, verdict)
        return verdict

    def verify_text(self, text: bytes, signature: str, namespace: str, at: datetime) -> Verdict:
        """Whether a signer's ssh key signed this text for this purpose. Not kept: such a text is judged once."""
        if not signature.startswith(SSH_BEGIN):
            return _unreadable("its signature is not one of ssh")
        try:
            return self._verify_ssh(SignedText(text, signature, namespace), at)
        except OSError as error:
            return _unreadable(f"its signature cannot be checked here: {error.strerror}")

    def _keep(self, name: bytes, at: datetime, verdict: Verdict) -> None:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[name] = (at, verdict)

    def _verify(self, commit: bytes, at: datetime) -> Verdict:
        signed = split_commit(commit)
        if isinstance(signed, BadSignature):
            return signed
        try:
            if signed.signature.startswith(SSH_BEGIN):
                return self._verify_ssh(signed, at)
            if signed.signature.startswith(PGP_BEGIN):
                return self._verify_gpg(signed, at)
        except OSError as error:
            return _unreadable(f"its signature cannot be checked here: {error.strerror}")
        return _unreadable("its signature is neither ssh nor OpenPGP")

    def _verify_ssh(self, signed: SignedText, at: datetime) -> Verdict:
        blob = read_public_key(signed.signature)
        if blob is None:
            return _unreadable("its ssh signature is damaged")
        keys = [key for key in self.signers.ssh if key.blob == blob]
        if not keys:
            return BadSignature(
                SignatureFault.UNKNOWN_SIGNER,
                f"signed by the ssh key {_fingerprint(blob)}, which is not a signer",
            )
        valid = [key for key in keys if key.is_valid(at)]
        if not valid:
            return BadSignature(
                SignatureFault.EXPIRED, f"signed by {keys[0].name}, whose key is not valid now"
            )
        return self._ask_ssh(signed, valid[0])

    def _ask_ssh(self, signed: SignedText, key: SshSignerKey) -> Verdict:
        with tempfile.TemporaryDirectory(prefix="gitvirt-") as folder:
            allowed, signature = Path(folder) / "allowed", Path(folder) / "signature"
            allowed.write_text(f"signer {key.type} {base64.b64encode(key.blob).decode()}\n", "utf-8")
            signature.write_text(signed.signature, "utf-8")
            arguments = ["ssh-keygen", "-Y", "verify", "-n", signed.namespace, "-I", "signer"]
            arguments += ["-f", str(allowed), "-s", str(signature)]
            done = self._run(arguments, signed.payload)
        if done.status == 0:
            return GoodSignature(key.name)
        return BadSignature(
            SignatureFault.TAMPERED, f"its signature by {key.name} does not match its content"
        )

    def _verify_gpg(self, signed: SignedText, at: datetime) -> Verdict:
        if not self.signers.fingerprints:
            return BadSignature(
                SignatureFault.UNKNOWN_SIGNER, "signed by an OpenPGP key, but no OpenPGP key is a signer"
            )
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="gitvirt-", suffix=".asc"
        ) as signature:
            signature.write(signed.signature)
            signature.flush()
            arguments = ["gpg", *gpg_options(self.gpg_home), "--no-autostart", "--trust-model", "always"]
            # A signer's clock may be ahead of ours; that a key is older than its signature proves nothing.
            arguments += ["--ignore-time-conflict", "--ignore-valid-from"]
            arguments += ["--faked-system-time", str(int(at.timestamp())), "--status-fd", "1"]
            arguments += ["--verify", signature.name, "-"]
            done = self._run(arguments, signed.payload)
        return _gpg_verdict(done.output.decode("utf-8", "replace"), self.signers.fingerprints)

    def _run(self, arguments: list[str], payload: bytes) -> process.Exited:
        return process.run_to_end(arguments, signing_environment(self.ambient), VERIFY_SECONDS, payload)


def _unreadable(words: str) -> BadSignature:
    return BadSignature(SignatureFault.UNREADABLE, words)


def split_commit(commit: bytes) -> SignedText | BadSignature:
    """Strictly: two signatures, or one for another hash, would leave open what was signed."""
    head, separator, body = commit.partition(b"\n\n")
    payload: list[bytes] = []
    signature: list[bytes] = []
    found, is_inside = 0, False
    for line in head.split(b"\n"):
        if line.startswith(b"gpgsig-"):
            return _unreadable("it has a signature for another hash")
        if line.startswith(b"gpgsig "):
            found, is_inside = found + 1, True
            signature.append(line.removeprefix(b"gpgsig "))
        elif is_inside and line.startswith(b" "):
            signature.append(line[1:])
        else:
            is_inside = False
            payload.append(line)
    if not found:
        return BadSignature(SignatureFault.UNSIGNED, "it is not signed")
    if found > 1:
        return _unreadable("it has several signatures")
    text = b"\n".join(signature).decode("ascii", "replace") + "\n"
    return SignedText(b"\n".join(payload) + separator + body, text)


def read_public_key(signature: str) -> bytes | None:
    """Which key says that it signed; ssh-keygen then proves or disproves it."""
    armour = signature.strip().removeprefix(SSH_BEGIN).partition(SSH_END)[0]
    try:
        data = base64.b64decode("".join(armour.split()), validate=True)
        magic, _, length = struct.unpack_from(">6sII", data)
    except (binascii.Error, struct.error):
        return None
    blob = data[14 : 14 + length]
    return blob if magic == b"SSHSIG" and len(blob) == length else None


def _fingerprint(blob: bytes) -> str:
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


# The first that gpg names decides.
_GPG_FAULTS = (
    ("BADSIG", SignatureFault.TAMPERED, "its signature by the OpenPGP key {key} does not match its content"),
    ("REVKEYSIG", SignatureFault.REVOKED, "signed by the OpenPGP key {key}, which is revoked"),
    ("EXPKEYSIG", SignatureFault.EXPIRED, "signed by the OpenPGP key {key}, which has expired"),
    ("EXPSIG", SignatureFault.EXPIRED, "signed by the OpenPGP key {key}, which has expired"),
)


def _gpg_verdict(status: str, fingerprints: frozenset[str]) -> Verdict:
    keywords: dict[str, list[str]] = {}
    for line in status.splitlines():
        words = line.removeprefix("[GNUPG:] ").split()
        if line.startswith("[GNUPG:] ") and words:
            if words[0] == "NEWSIG" and words[0] in keywords:
                return _unreadable("it has several signatures")
            keywords[words[0]] = words[1:]
    # VALIDSIG names the key that signed first and the key it belongs to last.
    valid = keywords.get("VALIDSIG", [])
    is_signer = bool(valid) and bool({valid[0], valid[-1]} & fingerprints)
    judged = ("GOODSIG", "EXPKEYSIG", "REVKEYSIG", "BADSIG", "ERRSIG")
    key = next((keywords[word][0] for word in judged if keywords.get(word)), "")
    for word, fault, text in _GPG_FAULTS:
        if word in keywords:
            return BadSignature(fault, text.format(key=key))
    if "GOODSIG" in keywords and is_signer:
        return GoodSignature(valid[-1])
    if "GOODSIG" in keywords or "ERRSIG" in keywords:
        return BadSignature(
            SignatureFault.UNKNOWN_SIGNER,
            f"signed by the OpenPGP key {key}, which is not a signer or not in the keyring",
        )
    return _unreadable("its OpenPGP signature is damaged")
