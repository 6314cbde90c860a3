"""What has to be right before a Secret is encrypted again, and what a reader that goes means for its values.

    asked                                                       by
    secrets.admins has a key                                    all
    hosts that may need it have one (notes)                     all, where they encrypt
    no reader by PGP or a KMS would be closed out               edit, rekey
    no error of `gitvirt validate` comes to the source branch   create, edit, rekey of plain text: other calls of it change no value
    a host can open what a machine could read until now         rekey of plain text: the others close it to no host that has a key

A checkout may have several changes under way, so there people ask `gitvirt validate` themselves.
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
from schemas.validate.finding import shorten_list
from schemas.validate.secret_readers import DECLARE_A_PLACE, NEW_VOLUME
from schemas.validate.secret_uses import consumer_keys

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


def describe_readers(found: SecretFiles, key: Key) -> None:
    """Who cannot read it yet, as notes."""
    if not found.secrets.use((key.namespace, key.name)).consumers:
        note = f"nothing uses it yet, so only admins can open it; after what uses it is declared, run `{found.command('rekey')}`"
        err().line(f"note: {note}")
    note_unplaced(found, key, ())
    note_keyless(found, key)


def note_keyless(found: SecretFiles, key: Key) -> None:
    """The hosts that may need it and have no key."""
    for name in list_keyless(found, key):
        err().line(
            f"note: {printable(name)} has no key in gitvirt.yaml (poollets.NAME.age), and cannot open it"
        )


def note_unplaced(found: SecretFiles, key: Key, recipients: Collection[str]) -> None:
    """That no host could open it, where no file says which hosts have a pool for what uses it."""
    use, hosts = found.secrets.use((key.namespace, key.name)), keys_of(found).hosts
    is_open = any(set(hosts.get(name, ())) & set(recipients) for name in use.hosts.unknown)
    if use.consumers and not use.hosts.known and not is_open:
        users = shorten_list([str(each) for each in consumer_keys(use)])
        err().line(f"note: no host can open {key} for {users}: no file says which hosts have a pool for it")
        err().line(f"  {DECLARE_A_PLACE}; then run `{found.command('rekey', key)}`")


def list_keyless(found: SecretFiles, key: Key) -> list[str]:
    hosts = keys_of(found).hosts
    return [
        name
        for name in sorted(found.secrets.use((key.namespace, key.name)).hosts.known)
        if not hosts.get(name)
    ]


def refuse_without_hosts(found: SecretFiles, key: Key, recipients: Collection[str]) -> None:
    """A CommandError for a Secret that is in use, and that no host could open any more: what uses it could not be placed."""
    use, hosts = found.secrets.use((key.namespace, key.name)), keys_of(found).hosts
    may_need = use.hosts.known | use.hosts.unknown
    if not use.consumers or any(set(hosts.get(name, ())) & set(recipients) for name in may_need):
        return
    users, keyless = shorten_list([str(each) for each in consumer_keys(use)]), list_keyless(found, key)
    why, cure = "", f"{DECLARE_A_PLACE}; then call it again"
    if keyless:
        why = f" ({shorten_list(keyless)}: no key in gitvirt.yaml)"
        cure = f"add poollets.{keyless[0]}.age to gitvirt.yaml, then call it again"
    raise CommandError(
        f"no host could open {key} for {users}{printable(why)}; nothing was changed",
        printable(cure),
        Exit.PROBLEMS,
    )


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


def warn_former(key: Key, readers: Collection[str], commit: str, *, has_passphrase: bool) -> None:
    """Encryption takes nothing back. A passphrase stays with its volume."""
    if readers:
        until = f"commit {commit[:10]}" if commit else "this change"
        name, shown = f"{key.namespace}/{key.name}", ", ".join(map(printable, readers))
        what = f"rotate the value of {name}: {shown} could read it until {until}"
        cure = f"`gitvirt secret edit {name}`"
        if has_passphrase:
            what, cure = f"{shown} could read {name} until {until}", f"{NEW_VOLUME}; rotate its other values"
        err().line(f"{what}; {cure}")
