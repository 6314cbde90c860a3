"""What has to be right before a Secret is encrypted again, and what a reader that goes means for its values.

`create`, `edit` and `rekey` ask alike, so that none of them writes what the other refuses. On the source branch nothing is written that
`gitvirt validate` would refuse; a checkout may have several changes under way, so there people ask it themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.plans.manifest_errors import find_manifest_errors
from reconciler.cli.secret.files import SecretFiles
from reconciler.cli.terminal import err, printable
from reconciler.query.check import CheckRequest
from reconciler.query.scope import Scope
from reconciler.query.source import OverlaySource
from schemas.encryption.sealed_error import SealedError, SealedReason
from schemas.kinds import Key
from schemas.manifest import too_large
from schemas.settings.secret_keys import SecretKeys

# The reader of a value in plain text.
EVERYONE = "everyone who can read the repository"
# Recipients: the verbs encrypt for all that are known, and say whose key is missing.
_NOTED = ("GV512",)


def keys_of(found: SecretFiles) -> SecretKeys:
    """The keys of gitvirt.yaml. A CommandError without admins: then no person could read or change what is written."""
    keys = found.secrets.keys
    assert keys is not None, "the settings were checked"
    if not keys.admins:
        cause = "gitvirt.yaml has no secrets.admins, so no person could read or change it"
        raise CommandError(
            cause, "list your public key there: `age-keygen -y FILE`, or your ssh-ed25519 .pub line"
        )
    return keys


def refuse_errors(found: SecretFiles, path: str, data: bytes) -> None:
    """A CommandError for an error that the source branch would have with this file and does not have without it, such as a key that a
    machine refers to and that is not in it any more. Hosts without a key are the caller's note."""
    if (large := too_large(path, len(data))) is not None:
        raise CommandError(
            f"{printable(path)}: {large.message}", "keep large values outside of the repository"
        )
    if found.fleet is None:
        return
    after = find_manifest_errors(CheckRequest(Scope(Path(), ""), OverlaySource(found.source, path, data)))
    errors = [each for each in after if each.code not in _NOTED]
    if not errors:
        return
    before = find_manifest_errors(CheckRequest(Scope(Path(), ""), found.source))
    known = {(each.file, each.code, each.object, each.message) for each in before}
    for each in errors:
        if (each.file, each.code, each.object, each.message) not in known:
            cause = f"{printable(each.file)}: {printable(each.message)} ({each.code}); nothing was changed"
            raise CommandError(
                cause, each.hint or f"`gitvirt help {each.code}` says how to correct it", Exit.PROBLEMS
            )


def refuse_other_keys(path: str, other_keys: Sequence[str]) -> None:
    """A CommandError for a file with readers by PGP or a KMS: gitvirt cannot wrap a data key for them, and would close it to them."""
    if other_keys:
        cause = (
            f"{printable(path)} is encrypted for {', '.join(other_keys)} too, which gitvirt cannot do again"
        )
        raise CommandError(cause, "change it with sops, or remove those with `sops rotate`")


def describe(path: str, error: SealedError) -> CommandError:
    """With file, key and cause."""
    if error.reason is SealedReason.UNSUPPORTED:
        return CommandError(f"{printable(path)}: {error}", "use sops for this file, and name the others here")
    if error.reason is SealedReason.NO_KEY:
        cure = "name another private key with --key, or see `gitvirt secret check` for who can open it"
    else:
        cure = "restore the file from its history (`git log -p -- FILE`), and rotate its values if a stranger could push"
    return CommandError(f"{printable(path)} cannot be opened: {error}", cure)


def warn_former(key: Key, readers: Collection[str], commit: str) -> None:
    """Encryption takes nothing back."""
    if readers:
        until = f"commit {commit[:10]}" if commit else "this change"
        name, shown = f"{key.namespace}/{key.name}", ", ".join(map(printable, readers))
        err().line(
            f"rotate the value of {name}: {shown} could read it until {until}; `gitvirt secret edit {name}`"
        )
