"""`gitvirt secret edit`: one Secret in the person's editor. Values that stay keep their encrypted text.

It is encrypted for those who have to read it now. If a reader lost the right, there is a new data key, and the value that it could read
is to be changed: the verb says so.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.mutate.output import FileEdit, MutationResult, ObjectChange
from reconciler.cli.secret import files
from reconciler.cli.secret.files import SecretFiles
from reconciler.cli.secret.private_keys import read_keys
from reconciler.cli.secret.readable import check_readable, edit_readable
from reconciler.cli.secret.sealing import (
    describe,
    keys_of,
    note_keyless,
    refuse_errors,
    refuse_other_keys,
    warn_former,
)
from reconciler.cli.terminal import printable
from reconciler.query.fleet_secrets import is_plain
from schemas.encryption.age_armor import Identities
from schemas.encryption.sealed_error import SealedError
from schemas.encryption.sops_text import RevealedSecret, open_text, seal_text
from schemas.kinds import Key
from schemas.validate.secret_readers import required_recipients
from schemas.validate.secret_uses import SecretUse
from schemas.validate.tree import AnyDeclaration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files.add_name(parser)


@dataclass(frozen=True, slots=True)
class EditedSecret:
    """`gone` are keys that could read it until now; `has_same_value`: a value that they could read is in it still."""

    data: bytes
    gone: frozenset[str]
    has_same_value: bool


def run(arguments: argparse.Namespace) -> int:
    key, identities = files.read_key(arguments, arguments.name), read_keys(arguments)
    with files.open_files(arguments) as found:
        entry = found.find(key)
        refuse_plain(entry)
        path = entry.path
        before = found.text(path)
        opened = reveal(before, path, identities)
        refuse_other_keys(path, opened.other_keys)
        keys_of(found)
        files.refuse_changes(found, arguments)

    def check(after: str) -> None:
        if after != opened.text:
            check_readable(after, key)
            data = seal_edited(found, key, after, opened).data
            with files.open_files(arguments) as newest:  # the editor may have been open for hours
                refuse_errors(newest, path, data)

    def use(after: str) -> None:
        write(arguments, key, FileEdit(path, before.encode(), after.encode()), opened)

    edit_readable(path, opened.text, os.environ, check, use)
    return Exit.OK


def refuse_plain(entry: AnyDeclaration) -> None:
    """A CommandError for a Secret in plain text, which `gitvirt edit` opens: this verb would encrypt its old values without a word."""
    if is_plain(entry):
        name = f"{entry.key.namespace}/{entry.key.name}"
        cure = f"`gitvirt secret rekey {name}` encrypts it; then edit it, with new values: Git keeps the old ones"
        raise CommandError(f"{entry.key} is in plain text: {printable(entry.path)}", cure)


def write(arguments: argparse.Namespace, key: Key, edit: FileEdit, opened: RevealedSecret) -> None:
    """The text after the edit, encrypted for those who have to read it by the newest source."""
    assert edit.before is not None, "the file is there"
    assert edit.after is not None, "it stays"
    before, after, path = edit.before.decode(), edit.after.decode(), edit.path
    former: list[str] = []
    use = SecretUse()

    def compute(newest: SecretFiles) -> MutationResult:
        if newest.text(path) != before:
            raise CommandError(f"{printable(path)} changed meanwhile; nothing was changed", "edit it again")
        if after == opened.text:
            return files.edit_result("edit", [ObjectChange(key, "as it was", "")], [])
        nonlocal use
        use = newest.secrets.use((key.namespace, key.name))
        note_keyless(newest, key)
        made = seal_edited(newest, key, after, opened)
        gone = newest.name_holders(made.gone)
        former[:] = gone if made.has_same_value else ()
        sentence = f"is changed and is closed to {', '.join(gone)}" if gone else "is changed"
        return files.edit_result(
            "edit", [ObjectChange(key, sentence, path)], [replace(edit, after=made.data)]
        )

    result = files.apply(arguments, compute)
    warn_former(key, former, result.commit, has_passphrase=use.has_passphrase)


def reveal(text: str, path: str, identities: Identities) -> RevealedSecret:
    """A CommandError with file, key and cause."""
    try:
        return open_text(text, identities)
    except SealedError as error:
        raise describe(path, error) from None


def seal_edited(found: SecretFiles, key: Key, text: str, opened: RevealedSecret) -> EditedSecret:
    """For those who have to read it now; while it is unknown who that is, no reader loses the right."""
    refuse_other_keys(found.find(key).path, opened.other_keys)
    keys = keys_of(found)
    recipients = required_recipients(
        found.secrets.use((key.namespace, key.name)), keys, tuple(opened.wrapped)
    )
    if not found.secrets.is_complete:
        recipients = tuple(dict.fromkeys((*opened.wrapped, *recipients)))
    try:
        sealed = seal_text(text, recipients, datetime.now(UTC), opened).encode()
    except SealedError as error:
        raise CommandError(f"{key} cannot be encrypted: {error}", "correct the text") from None
    return EditedSecret(sealed, frozenset(opened.wrapped) - set(recipients), opened.shares_value(text))
