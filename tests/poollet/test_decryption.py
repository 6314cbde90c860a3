"""Encrypted Secrets of `live` on a host: opened with its own keys, refused with file, key and cause, and never shown."""

from __future__ import annotations

import logging
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from poollet.decide.decision import UnreadableSecret
from poollet.decryption import Decryption, KeyFiles, key_files
from poollet.host_secrets import HostSecretsError
from poollet.sync.sealed_secret import SealedSecret, read_objects
from schemas.encryption.age_armor import Identities, seal
from schemas.encryption.sops_text import seal_text
from schemas.manifest import parse
from schemas.model import Secret
from schemas.settings.host import PoolletSettings, RepoSettings
from tests.schemas.encryption.keys import (
    ADMIN,
    ADMIN_PUBLIC,
    AGE_KEY,
    HOST,
    HOST_KEY,
    HOST_PUBLIC,
    VALUES,
    golden,
    seal_with_document,
)

PLAIN = (
    "apiVersion: v1\nkind: Secret\nmetadata: {name: boot}\nstringData:\n  a: swordfish\ndata:\n  b: AAH/\n"
)
FOREIGN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop, labels: {size: large}}\n"
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def read_secrets(text: str) -> list[Secret]:
    found = parse("secrets/boot.yaml", text.encode())
    assert not found.is_malformed
    return [each for each in read_objects(found, text.encode()) if isinstance(each, Secret)]


def read_one(text: str) -> Secret:
    (found,) = read_secrets(text)
    return found


def write(path: Path, data: bytes, mode: int = 0o600) -> Path:
    path.touch(mode)
    path.write_bytes(data)
    path.chmod(mode)
    return path


def test_the_host_opens_what_is_encrypted_for_it() -> None:
    secret = read_one(seal_text(PLAIN, [ADMIN_PUBLIC, HOST_PUBLIC], NOW))
    assert isinstance(secret, SealedSecret)
    assert Decryption(HOST).open(secret) == {"a": b"swordfish", "b": b"\x00\x01\xff"}
    assert "swordfish" not in f"{secret!r} {Decryption(HOST)!r}"


def test_files_of_sops_open_with_all_their_documents() -> None:
    first, second = read_secrets(golden("documents"))
    for secret in (first, second):
        values = Decryption(ADMIN).open(secret)
        assert isinstance(values, dict)
        assert {key: values[key] for key in VALUES if key != "flag"} == {
            key: value for key, value in VALUES.items() if key != "flag"
        }
        assert (values["flag"], values["token"]) == (b"true", b"hello world")


def test_a_file_of_sops_with_a_document_of_another_tool_opens() -> None:
    """The MAC is over that document too, and an empty one before it changes nothing."""
    text = f"---\n---\n{seal_with_document(PLAIN, FOREIGN)}"
    (secret,) = read_secrets(text)
    assert Decryption(HOST).open(secret) == {"a": b"swordfish", "b": b"\x00\x01\xff"}
    refused = Decryption(HOST).open(read_one(text.replace("large", "small")))
    assert isinstance(refused, UnreadableSecret)
    assert refused.reason == "SecretTampered"


def test_values_in_armor_open_one_by_one() -> None:
    armor = "".join(f"    {line}\n" for line in seal(b"swordfish", [HOST_PUBLIC]).splitlines())
    secret = read_one(f"apiVersion: v1\nkind: Secret\nmetadata: {{name: boot}}\nstringData:\n  a: |\n{armor}")
    assert Decryption(HOST).open(secret) == {"a": b"swordfish"}
    refused = Decryption(ADMIN).open(secret)
    assert isinstance(refused, UnreadableSecret)
    assert refused.message.startswith("secrets/boot.yaml: stringData.a: ")


def test_plain_secrets_are_left_as_they_are() -> None:
    assert type(read_one(PLAIN)) is Secret


REFUSED = {
    "for others": (seal_text(PLAIN, [ADMIN_PUBLIC], NOW), HOST, "SecretNotReadable", "sops.age[0].enc", "gitvirt secret rekey default/boot"),
    "without a key": (seal_text(PLAIN, [HOST_PUBLIC], NOW), Identities(), "SecretNotReadable", "sops.age", "decryptionKeys in poollet.yaml"),
    "another name": (seal_text(PLAIN, [HOST_PUBLIC], NOW).replace("name: boot", "name: other"), HOST, "SecretTampered", "sops.mac", "restore the file"),
    "a value of another key": (seal_text(PLAIN, [HOST_PUBLIC], NOW).replace("  a: ENC", "  c: ENC"), HOST, "SecretTampered", "stringData.c", ""),
    "without metadata": (seal_text(PLAIN, [HOST_PUBLIC], NOW).partition("sops:")[0], HOST, "SecretMalformed", "data.b", "encrypt it again"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_open_names_file_key_and_cause(name: str) -> None:
    text, keys, reason, key, cure = REFUSED[name]
    refused = Decryption(keys).open(read_one(text))
    assert isinstance(refused, UnreadableSecret)
    assert refused.reason == reason
    assert refused.message.startswith("secrets/boot.yaml: ")
    assert key in refused.message
    assert cure in refused.message
    assert "swordfish" not in refused.message


def test_an_answer_is_kept_until_the_text_or_the_keys_change() -> None:
    text = seal_text(PLAIN, [HOST_PUBLIC], NOW)
    secret, decryption = read_one(text), Decryption(HOST)
    first = decryption.open(secret)
    assert decryption.open(secret) is first
    changed = read_one(seal_text(PLAIN.replace("swordfish", "trout"), [HOST_PUBLIC], NOW))
    assert decryption.open(changed) == {"a": b"trout", "b": b"\x00\x01\xff"}
    assert Decryption(HOST) != Decryption(HOST)


def test_keys_are_those_that_are_named_else_those_of_the_repo(tmp_path: Path) -> None:
    secret = read_one(seal_text(PLAIN, [HOST_PUBLIC], NOW))
    host, admin = write(tmp_path / "host", HOST_KEY), write(tmp_path / "admin", AGE_KEY)

    def opens(identity: Path | str, named: tuple[str, ...] | None = None) -> bool:
        repo = RepoSettings(url="x", identity=str(identity))
        settings = PoolletSettings(name="a", repo=repo, decryption_keys=named)
        return isinstance(key_files(settings).current().open(secret), dict)

    assert opens(host)
    assert not opens(host, (str(admin),))
    assert opens(admin, (str(admin), str(host)))
    assert not opens(host, ())
    assert not opens("A" * 40)  # an OpenPGP fingerprint


def test_a_named_file_that_cannot_be_used_ends_the_start(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "pass phrase", "-f", locked], check=True)
    open_to_others = write(tmp_path / "open", HOST_KEY, 0o644)
    for path, words in (
        (locked, "cannot be used"),
        (open_to_others, "others may read"),
        (tmp_path / "none", "cannot read"),
    ):
        with pytest.raises(HostSecretsError, match=words) as refused:
            KeyFiles([path], [])
        assert "PRIVATE" not in f"{refused.value} {refused.value.cure}"
        assert not KeyFiles(None, [path]).current()._identities


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "usual"])
def test_a_new_key_is_used_at_once_and_a_broken_one_leaves_the_last(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, is_named: bool
) -> None:
    path = write(tmp_path / "key", AGE_KEY)
    keys = KeyFiles([path] if is_named else None, [path])
    secret = read_one(seal_text(PLAIN, [HOST_PUBLIC], NOW))
    assert isinstance(keys.current().open(secret), UnreadableSecret)
    write(tmp_path / "new", HOST_KEY).replace(path)
    assert isinstance(keys.current().open(secret), dict)
    write(tmp_path / "new", b"broken").replace(path)
    with caplog.at_level(logging.WARNING):
        assert isinstance(keys.current().open(secret), dict)
    assert re.search("the last ones? stay", caplog.text)
    path.unlink()
    assert isinstance(keys.current().open(secret), dict)
    write(path, AGE_KEY)
    assert isinstance(keys.current().open(secret), UnreadableSecret)
