"""`gitvirt secret check`: who can open each Secret, who has to, and who could before. Changes nothing.

Needs no private key; with one it verifies the MAC of what the key opens, and tells which values that a former reader could open are still in
use. It says of which Secrets that could not be verified. Exit code 3 where something is to be done.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.cli.exits import Exit
from reconciler.cli.output import Column, is_value, show_table, show_value
from reconciler.cli.secret import files
from reconciler.cli.secret.files import SecretFiles
from reconciler.cli.secret.private_keys import try_keys
from reconciler.cli.secret.sealing import EVERYONE
from reconciler.cli.terminal import TextStyle, err, out, printable
from reconciler.query.fleet_secrets import is_plain, locks_of
from reconciler.query.secret_history import (
    ANYONE,
    FormerReader,
    SecretPlace,
    list_former_readers,
    read_bodies,
    read_names,
)
from schemas.encryption.age_armor import Identities
from schemas.encryption.open_secret import open_secret
from schemas.encryption.recipients import shorten
from schemas.encryption.sealed_error import SealedError, SealedReason
from schemas.kinds import Key
from schemas.model.defaults import ENCRYPTION_KEY
from schemas.validate.secret_readers import NEW_VOLUME, ReaderReport
from schemas.validate.secret_uses import consumer_keys
from schemas.validate.tree import AnyDeclaration, Name


@dataclass(frozen=True)
class CheckedSecret:
    """What is known of one Secret. `fault` is why it cannot be opened at all."""

    key: Key
    path: str
    readers: ReaderReport
    users: tuple[Key, ...]
    fault: str = ""
    is_plain: bool = False
    may_be_plain: bool = False  # secrets.plain is `allow`
    has_passphrase: bool = False  # of a volume
    is_verified: bool = False  # a key opened it, and the MAC is right
    former: tuple[tuple[str, FormerReader], ...] = field(default=())

    @property
    def problems(self) -> tuple[str, ...]:
        found = self.readers
        return (
            *((self.fault,) if self.fault else ()),
            *(("plain text",) if self.is_plain and not self.may_be_plain else ()),
            *((f"missing: {', '.join(found.missing)}",) if found.missing else ()),
            *((f"surplus: {', '.join(found.surplus)}",) if found.surplus else ()),
            *((f"stale: {', '.join(map(shorten, found.stale))}",) if found.stale else ()),
            *(("no host can open it",) if found.can_none and not (found.missing or found.keyless) else ()),
            *((f"without a key: {', '.join(found.keyless)}",) if found.keyless else ()),
            *dict.fromkeys(
                text
                for name, one in self.former
                if one.same_keys != ()
                for text in describe_former(name, one, has_passphrase=self.has_passphrase)
            ),
        )

    @property
    def is_unverified(self) -> bool:
        """Encrypted, and nothing says whether the text is as it was written."""
        return not (self.is_plain or self.is_verified or self.fault)

    @property
    def advice(self) -> str:
        if self.is_plain and not self.problems:
            return "plain text, which secrets.plain allows"
        unverified = ("not verified: no private key opens it",) if self.is_unverified else ()
        return "; ".join((*(self.problems or (("readers ok",) if unverified else ("ok",))), *unverified))


def describe_former(name: str, one: FormerReader, *, has_passphrase: bool) -> Iterator[str]:
    """What is to be done. A host that had several keys gives the same text for each of them."""
    until = f"{name} could read it until {one.commit[:10]}"
    kept = has_passphrase and (one.same_keys is None or ENCRYPTION_KEY in one.same_keys)
    others = [key for key in one.same_keys or () if not (kept and key == ENCRYPTION_KEY)]
    if kept:
        yield f"{NEW_VOLUME}: {until}"
    if others or one.same_keys is None:
        values = ", ".join(others) or ("all other values" if kept else "all values")
        yield f"rotate {values}: {until}"


COLUMNS = (
    Column[CheckedSecret]("SECRET", lambda each: f"{each.key.namespace}/{each.key.name}"),
    Column[CheckedSecret]("READERS", lambda each: ", ".join(each.readers.readers) or "-"),
    Column[CheckedSecret]("USED BY", lambda each: ", ".join(map(str, each.users[:3])) or "-"),
    Column[CheckedSecret](
        "STATE",
        lambda each: printable(each.advice),
        lambda each: (
            TextStyle.RED if each.problems else TextStyle.YELLOW if each.is_unverified else TextStyle.GREEN
        ),
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="[NAMESPACE/]NAME", help="these Secrets alone (default: all)"
    )
    files.add_namespace(parser)


def run(arguments: argparse.Namespace) -> int:
    named = [files.read_key(arguments, name) for name in arguments.names]
    identities = try_keys(arguments)
    with files.open_files(arguments) as found:
        entries = [found.find(key) for key in named] if named else list(found.secrets.secrets.values())
        checked = [check(found, entry, identities) for entry in entries]
    if is_value(arguments.output):
        show_value(out(), arguments.output, [value(one) for one in checked])
    elif arguments.output == "name":
        for one in checked:
            out().line(str(one.key))
    else:
        show_table(out(), COLUMNS, checked)
    note_unverified(checked)
    return Exit.PROBLEMS if any(one.problems for one in checked) else Exit.OK


def note_unverified(checked: Sequence[CheckedSecret]) -> None:
    """What the table cannot say of Secrets that no key opened."""
    count = sum(one.is_unverified for one in checked)
    if count:
        fact = f"without a private key for {count} of {len(checked)} Secrets, it is unknown whether they were tampered with"
        former = ", and each value that a former reader could read counts as unchanged"
        err().line(
            f"note: {fact}{former if any(one.former for one in checked) else ''}; name a key with --key FILE"
        )


def check(found: SecretFiles, entry: AnyDeclaration, identities: Identities) -> CheckedSecret:
    users = tuple(consumer_keys(found.secrets.use((entry.key.namespace, entry.key.name))))
    locks = locks_of(entry)
    if isinstance(locks, SealedError):
        return CheckedSecret(entry.key, entry.path, ReaderReport(), users, fault=str(locks))
    if not locks:
        return CheckedSecret(
            entry.key,
            entry.path,
            ReaderReport(),
            users,
            fault=""
            if is_plain(entry)
            else "it has no value that gitvirt can open: encrypt it with SOPS or age",
            is_plain=is_plain(entry),
            may_be_plain=found.secrets.allows_plain,
        )
    readers = found.secrets.compare((entry.key.namespace, entry.key.name), locks)
    text = found.text(entry.path)
    try:
        is_verified = (
            bool(identities)
            and open_values(text, (entry.key.namespace, entry.key.name), identities) is not None
        )
    except SealedError as error:
        return CheckedSecret(entry.key, entry.path, readers, users, fault=str(error))
    former = tuple(list_former(found, entry, text, identities))
    return CheckedSecret(
        entry.key,
        entry.path,
        readers,
        users,
        has_passphrase=found.secrets.use((entry.key.namespace, entry.key.name)).has_passphrase,
        is_verified=is_verified,
        former=former,
    )


def list_former(
    found: SecretFiles, entry: AnyDeclaration, text: str, identities: Identities
) -> list[tuple[str, FormerReader]]:
    """By the name that the key has in gitvirt.yaml, else the end of the key. Files on disk have no history here."""
    if found.fleet is None or found.fleet.snapshot.source is None:
        return []
    name = (entry.key.namespace, entry.key.name)

    def open(text: str) -> Mapping[str, bytes] | None:
        try:
            return open_values(text, name, identities) if identities else None
        except SealedError:
            return None

    places = [SecretPlace(found.fleet.snapshot.source, entry.path), *found.removed_places.get(name, ())]
    former = list_former_readers(found.fleet.repo, places, name, text, open)
    return [
        (EVERYONE if one.recipient == ANYONE else found.name_holder(one.recipient), one) for one in former
    ]


def open_values(text: str, name: Name, identities: Identities) -> Mapping[str, bytes] | None:
    """Of the Secret in the text of its file. None where no key opens it. Raises SealedError for what is damaged."""
    bodies = read_bodies(text)
    numbers = [number for number, body in enumerate(bodies) if name in read_names((body,))]
    try:
        return open_secret(bodies, numbers[0], identities) if numbers else None
    except SealedError as error:
        if error.reason in (SealedReason.NO_KEY, SealedReason.UNSUPPORTED):
            return None
        raise


def value(one: CheckedSecret) -> dict[str, object]:
    return {
        "object": str(one.key),
        "file": one.path,
        "usedBy": [str(key) for key in one.users],
        "readers": list(one.readers.readers),
        "missing": list(one.readers.missing),
        "surplus": list(one.readers.surplus),
        "stale": list(one.readers.stale),
        "withoutKey": list(one.readers.keyless),
        "noHostCanOpen": one.readers.can_none,
        "isPlain": one.is_plain,
        "isVerified": one.is_verified,
        "error": one.fault,
        "formerReaders": [former_value(name, each) for name, each in one.former],
    }


def former_value(name: str, one: FormerReader) -> dict[str, object]:
    return {
        "reader": name,
        "recipient": one.recipient,
        "until": one.commit,
        "time": one.time.isoformat(),
        "hasSameValue": None if one.same_keys is None else bool(one.same_keys),
        "sameKeys": None if one.same_keys is None else list(one.same_keys),
    }
