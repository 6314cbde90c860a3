"""What a commit's signature costs: to make, to check, and to check again within the minutes that a verdict is kept."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from bench.measure import figure, seconds
from reconciler.gitstore.objects.commit import Commit, Sign, encode_commit
from reconciler.gitstore.repo import Identity
from reconciler.gitstore.signatures.signers import parse_signers
from reconciler.gitstore.signatures.signing import GpgSigner, SshSigner
from reconciler.gitstore.signatures.verifier import Verifier
from tests.servers.keys import keyring
from tests.servers.sshd import new_key

NOW = datetime.now(UTC)
TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
COMMITS = 20


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="gv-") as folder, keyring(Path(folder) / "gpg") as ring:
        key = new_key(Path(folder) / "key", "host-1")
        fingerprint = ring.new("ann")
        signers = parse_signers([key.with_suffix(".pub").read_text(), fingerprint])
        ways: dict[str, Sign] = {
            "ssh": SshSigner(key, os.environ),
            "OpenPGP": GpgSigner(fingerprint, os.environ, ring.home),
        }
        for name, sign in ways.items():
            took = seconds(lambda sign=sign: sign_commits(sign)) / COMMITS * 1000  # type: ignore[misc]
            commits = sign_commits(sign)
            verifier = Verifier(signers, os.environ, ring.home)
            fresh = seconds(lambda: check(verifier, commits), repeat=1) / COMMITS * 1000  # noqa: B023
            again = seconds(lambda: check(verifier, commits)) / COMMITS * 1000  # noqa: B023
            figure(f"{name}: sign a commit", f"{took:.1f} ms")
            figure(f"{name}: check a commit", f"{fresh:.1f} ms")
            figure(f"{name}: check it again within ten minutes", f"{again * 1000:.0f} us")


def sign_commits(sign: Sign) -> list[bytes]:
    who = Identity("Ann", "ann@example.org")
    return [encode_commit(Commit(TREE, (), who, NOW, f"commit {number}"), sign) for number in range(COMMITS)]


def check(verifier: Verifier, commits: list[bytes]) -> None:
    for commit in commits:
        verifier.verify(commit, NOW)


if __name__ == "__main__":
    main()
