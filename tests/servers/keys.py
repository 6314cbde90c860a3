"""Keys made for a test: ssh pairs, and a GnuPG home with good, expired and revoked keys."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

QUIET = ("gpg", "--batch", "--no-tty", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "")


@dataclass(frozen=True)
class Keyring:
    """A GnuPG home; its path must be short, for the agent's socket."""

    home: Path

    def new(self, name: str, expires: str = "never", made: str = "") -> str:
        """A signing key; its fingerprint. `made` is a time in the past, as YYYYMMDDTHHMMSS."""
        when = ("--faked-system-time", f"{made}!") if made else ()
        self.gpg(*when, "--quick-generate-key", f"{name} <{name}@example.org>", "ed25519", "sign", expires)
        listed = self.gpg("--with-colons", "--list-keys", f"={name} <{name}@example.org>")
        return next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))

    def revoke(self, fingerprint: str) -> None:
        """By the certificate that gpg made along with the key, whose first line guards against doing it by accident."""
        made = self.home / "openpgp-revocs.d" / f"{fingerprint}.rev"
        armed = self.home / "armed.rev"
        armed.write_text(made.read_text().replace(":-----BEGIN", "-----BEGIN"))
        self.gpg("--import", str(armed))

    def gpg(self, *arguments: str) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LC_ALL": "C"}
        done = subprocess.run(
            (*QUIET, "--homedir", str(self.home), *arguments),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextlib.contextmanager
def keyring(home: Path) -> Iterator[Keyring]:
    home.mkdir(mode=0o700)
    try:
        yield Keyring(home)
    finally:
        subprocess.run(("gpgconf", "--homedir", str(home), "--kill", "all"), capture_output=True, check=False)
