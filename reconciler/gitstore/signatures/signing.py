"""Signs commits with the programs people sign with, ssh-keygen and gpg. Owns no key and never asks for a passphrase.

A signature is made after the commit's bytes are final and becomes a header of it, so a signed commit has an id of its own each time. If it cannot be made, nothing
is written: a fleet that requires signatures must not get an unsigned commit because an agent was away for a moment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reconciler.gitstore import process
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.commit import Sign
from reconciler.gitstore.redaction import Redactor
from schemas.settings.duration import format_duration

SIGN_SECONDS = 30.0
FINGERPRINT = re.compile(r"[0-9A-Fa-f]{40}")
# ssh signatures name what they are for; git's is this.
NAMESPACE = "git"


class SigningError(RepoError):
    code = "GV822"


@dataclass(frozen=True, slots=True)
class SshSigner:
    """`key` is a private key file without a passphrase, or a public one whose private half an agent holds."""

    key: Path
    ambient: Mapping[str, str]
    namespace: str = NAMESPACE

    def __call__(self, payload: bytes) -> str:
        arguments = ["ssh-keygen", "-q", "-Y", "sign", "-n", self.namespace, "-f", str(self.key)]
        return _sign(arguments, self.ambient, payload, f"the ssh key {self.key}")


@dataclass(frozen=True, slots=True)
class GpgSigner:
    """`fingerprint` names a secret key of the keyring in `home`, or of the account's own."""

    fingerprint: str
    ambient: Mapping[str, str]
    home: Path | None = None

    def __call__(self, payload: bytes) -> str:
        arguments = [
            "gpg",
            *gpg_options(self.home),
            "--detach-sign",
            "--armor",
            "--local-user",
            self.fingerprint,
        ]
        return _sign(arguments, self.ambient, payload, f"the OpenPGP key {self.fingerprint}")


def load_signer(key: str, ambient: Mapping[str, str]) -> Sign | None:
    """By what names the key: a fingerprint, else a file; nothing signs nothing."""
    if not key:
        return None
    return GpgSigner(key, ambient) if FINGERPRINT.fullmatch(key) else SshSigner(Path(key), ambient)


def gpg_options(home: Path | None) -> list[str]:
    options = ["--batch", "--no-tty", "--quiet", "--no-options", "--disable-dirmngr", "--no-auto-key-locate"]
    return [*options, "--homedir", str(home)] if home else options


def signing_environment(ambient: Mapping[str, str]) -> dict[str, str]:
    passes = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "GNUPGHOME")
    return {name: ambient[name] for name in passes if name in ambient} | {"LC_ALL": "C"}


def _sign(arguments: list[str], ambient: Mapping[str, str], payload: bytes, key: str) -> str:
    cure = "the key must be readable without a passphrase, or held by an agent: see docs/git.md"
    match process.run(arguments, signing_environment(ambient), SIGN_SECONDS, payload):
        case process.Exited(0, output, _) if output.startswith(b"-----BEGIN "):
            return output.decode("ascii")
        case process.Exited(_, _, _) as ended:
            words = Redactor().clean(ended.words).splitlines()[-1:] or [
                f"{arguments[0]} failed without a message"
            ]
            raise SigningError(f"cannot sign with {key}: {words[0]}", cure)
        case process.ProgramTimedOut(seconds, _):
            raise SigningError(
                f"cannot sign with {key}: no signature within {format_duration(int(seconds))}", cure
            )
        case process.CannotRun(reason):
            raise SigningError(reason, f"install {arguments[0]}")
