"""What has to be right before a Secret is encrypted again, and what a reader that goes means for its values.

`create`, `edit` and `rekey` ask alike, so that none of them writes what the other refuses.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from reconciler.cli.exits import CommandError
from reconciler.cli.secret.files import SecretFiles
from reconciler.cli.terminal import err, printable
from schemas.encryption.sealed_error import SealedError, SealedReason
from schemas.kinds import Key
from schemas.settings.secret_keys import SecretKeys


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
    cure = "name another private key with --key, or see `gitvirt secret check` for who can open it"
    return CommandError(f"{printable(path)} cannot be opened: {error}", cure)


def warn_former(key: Key, readers: Collection[str], commit: str) -> None:
    """Encryption takes nothing back."""
    if readers:
        until = f"commit {commit[:10]}" if commit else "this change"
        name, shown = f"{key.namespace}/{key.name}", ", ".join(map(printable, readers))
        err().line(
            f"rotate the value of {name}: {shown} could read it until {until}; `gitvirt secret edit {name}`"
        )
