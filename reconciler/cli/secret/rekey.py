"""`gitvirt secret rekey`: encrypt for those who have to read each Secret now: the admins, and the hosts where what uses it may be placed.

    who comes         what changes
    more readers      the data key is wrapped for them; no value changes
    fewer readers     a new data key, so that what is written from now on is closed to who lost the right
    the same          nothing
    all (plain text)  encrypted, if the call names the Secret; else a note, unless secrets.plain allows it

Who lost the right still has what it could read: the value itself is to be changed, where it is valid and with `gitvirt secret edit`. The verb
names each such reader. While a file cannot be read, it is unknown who needs a Secret, and no reader loses a right.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.mutate.output import FileEdit, MutationResult, ObjectChange
from reconciler.cli.secret import files
from reconciler.cli.secret.files import SecretFiles
from reconciler.cli.secret.private_keys import read_keys
from reconciler.cli.secret.sealing import (
    EVERYONE,
    describe,
    describe_readers,
    keys_of,
    note_keyless,
    note_unplaced,
    refuse_errors,
    refuse_other_keys,
    refuse_without_hosts,
    warn_former,
)
from reconciler.cli.terminal import err, printable
from reconciler.query.fleet_secrets import is_plain, locks_of
from schemas.encryption.age_armor import Identities
from schemas.encryption.sealed_error import SealedError
from schemas.encryption.sops_text import open_text, rewrap_text, seal_text
from schemas.kinds import Key
from schemas.model import Secret
from schemas.validate.secret_readers import required_recipients
from schemas.validate.tree import AnyDeclaration

ARMOR = "has values in armor of age; encrypt them again with age, or move them to a file of `gitvirt secret create`"


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """One Secret encrypted again. `gone` could read it until now."""

    key: Key
    edit: FileEdit
    came: tuple[str, ...]
    gone: tuple[str, ...]
    was_plain: bool = False
    has_passphrase: bool = False  # of a volume

    @property
    def sentence(self) -> str:
        if self.was_plain:
            return f"is encrypted for {', '.join(self.came)}; its values stay readable in the history of Git"
        parts = [f"is encrypted for {', '.join(self.came)} too"] if self.came else []
        if self.gone:
            parts.append(f"is closed to {', '.join(self.gone)}")
        return " and ".join(parts) or "is encrypted again"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="[NAMESPACE/]NAME", help="these Secrets alone (default: all)"
    )
    parser.add_argument(
        "--force", action="store_true", help="a new data key for each, also where the readers stay"
    )
    files.add_namespace(parser)


def run(arguments: argparse.Namespace) -> int:
    named = [files.read_key(arguments, name) for name in arguments.names]
    identities = cache(lambda: read_keys(arguments))
    gone: list[Rekeyed] = []

    def compute(found: SecretFiles) -> MutationResult:
        if not found.secrets.is_complete:
            broken = ", ".join(map(printable, found.secrets.tree.unreadable)) or "some objects"
            raise CommandError(
                f"{broken} cannot be read, so it is unknown who needs which Secret",
                "run `gitvirt validate` first",
            )
        entries = [found.find(key) for key in named] if named else list(found.secrets.secrets.values())
        plain = [entry for entry in entries if is_plain(entry)]
        if not named:
            note_plain(found, plain)
        made = [encrypt_plain(found, entry) for entry in plain] if named else []
        sealed = [entry for entry in entries if is_sealed(entry)]
        made += [
            one for entry in sealed if (one := rekey(found, entry, identities, is_forced=arguments.force))
        ]
        gone[:] = [one for one in made if one.gone]
        changed = {one.key: one for one in made}
        objects = [
            ObjectChange(key, changed[key].sentence, changed[key].edit.path)
            if key in changed
            else ObjectChange(key, describe_unchanged(entry), "")
            for entry in entries
            if (key := entry.key) in changed or named
        ]
        return files.edit_result("rekey", objects, [one.edit for one in made])

    result = files.apply(arguments, compute)
    if not result.objects:
        err().line("every Secret is encrypted for those who have to read it: nothing to change")
    for one in gone:
        warn_former(one.key, one.gone, result.commit, has_passphrase=one.has_passphrase)
    return Exit.OK


def note_plain(found: SecretFiles, plain: Sequence[AnyDeclaration]) -> None:
    """A call without names leaves them: their manifests may be written by another tool."""
    if plain and not found.secrets.allows_plain:
        names = " ".join(f"{entry.key.namespace}/{entry.key.name}" for entry in plain)
        err().line(f"note: in plain text: {names}; `{found.command('rekey')} {names}` encrypts them")


def encrypt_plain(found: SecretFiles, entry: AnyDeclaration) -> Rekeyed:
    """A Secret that everyone could read, encrypted in its file for those who have to read it. A CommandError where none of the hosts that could
    read it has a key."""
    recipients = required_recipients(found.secrets.use((entry.key.namespace, entry.key.name)), keys_of(found))
    refuse_without_hosts(found, entry.key, recipients)
    describe_readers(found, entry.key)
    text = found.text(entry.path)
    try:
        after = seal_text(text, recipients, datetime.now(UTC))
    except SealedError as error:
        raise CommandError(
            f"{printable(entry.path)} cannot be encrypted: {error}", "correct the text"
        ) from None
    refuse_errors(found, entry.path, after.encode())
    edit = FileEdit(entry.path, text.encode(), after.encode())
    has_passphrase = found.secrets.use((entry.key.namespace, entry.key.name)).has_passphrase
    came = found.name_holders(recipients)
    return Rekeyed(entry.key, edit, came, (EVERYONE,), was_plain=True, has_passphrase=has_passphrase)


def is_sealed(entry: AnyDeclaration) -> bool:
    """Whether SOPS encrypted it. What age encrypted value by value is left, with a note."""
    assert isinstance(entry.object, Secret)
    if not entry.object.sops and locks_of(entry):
        err().line(f"note: {entry.key} {ARMOR}")
    return bool(entry.object.sops)


def describe_unchanged(entry: AnyDeclaration) -> str:
    assert isinstance(entry.object, Secret)
    if entry.object.sops:
        return "encrypted for the right readers already"
    return "is left as it is: this verb changes files of SOPS, and encrypts what is in plain text"


def rekey(
    found: SecretFiles, entry: AnyDeclaration, identities: Callable[[], Identities], *, is_forced: bool
) -> Rekeyed | None:
    """None where nothing is to change. The private keys are read where they are needed."""
    locks, keys = locks_of(entry), found.secrets.keys
    assert keys is not None, "the settings were checked"
    if isinstance(locks, SealedError):
        raise describe(entry.path, locks)
    before = locks[0].recipients
    recipients = required_recipients(found.secrets.use((entry.key.namespace, entry.key.name)), keys, before)
    came, gone = set(recipients) - before, before - set(recipients)
    note_unplaced(found, entry.key, recipients)
    if not came and not gone and not is_forced:
        return None
    keys_of(found)
    if gone or is_forced:
        refuse_other_keys(entry.path, locks[0].other_keys)
    note_keyless(found, entry.key)
    text = found.text(entry.path)
    try:
        after = encrypt_again(text, recipients, identities(), has_new_key=bool(gone) or is_forced)
    except SealedError as error:
        raise describe(entry.path, error) from None
    edit = FileEdit(entry.path, text.encode(), after.encode())
    has_passphrase = found.secrets.use((entry.key.namespace, entry.key.name)).has_passphrase
    names = (found.name_holders(came), found.name_holders(gone))
    return Rekeyed(entry.key, edit, *names, has_passphrase=has_passphrase)


def encrypt_again(
    text: str, recipients: tuple[str, ...], identities: Identities, *, has_new_key: bool
) -> str:
    if not has_new_key:
        return rewrap_text(text, recipients, identities)
    opened = open_text(text, identities)
    return seal_text(opened.text, recipients, datetime.now(UTC), opened, has_new_key=True)
