"""`gitvirt secret rekey`: encrypt for those who have to read each Secret now: the admins, and the hosts where what uses it may be placed.

    who comes         what changes
    more readers      the data key is wrapped for them; no value changes
    fewer readers     a new data key, so that what is written from now on is closed to who lost the right
    the same          nothing

Who lost the right still has what it could read: the value itself is to be changed, where it is valid and with `gitvirt secret edit`. The verb
names each such reader. While a file cannot be read, it is unknown who needs a Secret, and no reader loses a right.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from datetime import UTC, datetime

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.mutate.output import FileEdit, MutationResult, ObjectChange
from reconciler.cli.secret import files
from reconciler.cli.secret.files import SecretFiles
from reconciler.cli.secret.private_keys import read_keys
from reconciler.cli.secret.sealing import describe, keys_of, refuse_other_keys, warn_former
from reconciler.cli.terminal import err, printable
from reconciler.query.fleet_secrets import locks_of
from schemas.encryption.age_armor import Identities
from schemas.encryption.sealed_error import SealedError
from schemas.encryption.sops_text import open_text, rewrap_text, seal_text
from schemas.kinds import Key
from schemas.model import Secret
from schemas.validate.secret_readers import required_recipients
from schemas.validate.tree import AnyDeclaration


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """One Secret encrypted again. `gone` could read it until now."""

    key: Key
    edit: FileEdit
    came: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def sentence(self) -> str:
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
    identities = read_keys(arguments)
    gone: list[Rekeyed] = []

    def compute(found: SecretFiles) -> MutationResult:
        if not found.secrets.is_complete:
            broken = ", ".join(map(printable, found.secrets.tree.unreadable)) or "some objects"
            raise CommandError(
                f"{broken} cannot be read, so it is unknown who needs which Secret",
                "run `gitvirt validate` first",
            )
        entries = [found.find(key) for key in named] if named else list(found.secrets.secrets.values())
        made = [
            one for entry in entries if (one := rekey(found, entry, identities, is_forced=arguments.force))
        ]
        gone[:] = [one for one in made if one.gone]
        changed = {one.key: one for one in made}
        objects = [
            ObjectChange(key, changed[key].sentence, changed[key].edit.path)
            if key in changed
            else ObjectChange(key, "encrypted for the right readers already", "")
            for key in (entry.key for entry in entries)
            if key in changed or named
        ]
        return files.edit_result("rekey", objects, [one.edit for one in made])

    result = files.apply(arguments, compute)
    if not result.objects:
        err().line("every Secret is encrypted for those who have to read it: nothing to change")
    for one in gone:
        warn_former(one.key, one.gone, result.commit)
    return Exit.OK


def rekey(
    found: SecretFiles, entry: AnyDeclaration, identities: Identities, *, is_forced: bool
) -> Rekeyed | None:
    """None where nothing is to change, and for what is not a file of SOPS."""
    secret, keys = entry.object, found.secrets.keys
    assert isinstance(secret, Secret)
    assert keys is not None, "the settings were checked"
    if not secret.sops:
        if locks_of(entry):
            note = "has values in armor of age; encrypt them again with age, or move them to a file of `gitvirt secret create`"
            err().line(f"note: {entry.key} {note}")
        return None
    locks = locks_of(entry)
    if isinstance(locks, SealedError):
        raise describe(entry.path, locks)
    before = locks[0].recipients
    recipients = required_recipients(found.secrets.use((entry.key.namespace, entry.key.name)), keys, before)
    came, gone = set(recipients) - before, before - set(recipients)
    if not came and not gone and not is_forced:
        return None
    keys_of(found)
    if gone or is_forced:
        refuse_other_keys(entry.path, locks[0].other_keys)
    text = found.text(entry.path)
    try:
        after = encrypt_again(text, recipients, identities, has_new_key=bool(gone) or is_forced)
    except SealedError as error:
        raise describe(entry.path, error) from None
    edit = FileEdit(entry.path, text.encode(), after.encode())
    return Rekeyed(entry.key, edit, found.name_holders(came), found.name_holders(gone))


def encrypt_again(
    text: str, recipients: tuple[str, ...], identities: Identities, *, has_new_key: bool
) -> str:
    if not has_new_key:
        return rewrap_text(text, recipients, identities)
    opened = open_text(text, identities)
    return seal_text(opened.text, recipients, datetime.now(UTC), opened, has_new_key=True)
